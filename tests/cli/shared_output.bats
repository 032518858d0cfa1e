# shared_output.bats -- cleave run --shared-output: hosts write the files of chunks themselves.
# SPDX-License-Identifier: MIT
#
# The hosts are processes of this machine; what they send is kept in a file, and counted.
load helper
load job

# prepare -- a directory for the files of a test, with hosts a and b; `in` has 20000 lines.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 20000 >in
    printf '#!/bin/bash\n"$@" | tee "sent.$$"\n' >tell
    chmod +x tell
    hosts "name: a, slots: 1, command: $PWD/tell" "name: b, slots: 2, command: $PWD/tell" >h.yaml
}

# sent -- the bytes that the hosts have sent since the last call.
sent() {
    cat sent.* | wc -c
    rm sent.*
}

# nothing_hidden DIR -- it has no temporary file.
nothing_hidden() {
    [ -z "$(find "$1" -name '.*' -type f)" ]
}

@test "the files are the same as without it, and their bytes do not cross the link" {
    prepare
    # Output that links cannot compress.
    cat >noise <<'EOF'
#!/bin/sh
cat
head -c 20000 /dev/urandom | base64
EOF
    for how in '' --shared-output; do
        rm -rf parts
        job -i in --hosts h.yaml --block 10k -o 'parts/part-{chunk}' $how -- sh noise
        [ "$(cat parts/part-* | wc -c)" -gt 300000 ]
        echo "${how:-without}: $(cat sent.* | wc -c) bytes"
        if [ -z "$how" ]; then [ "$(sent)" -gt 250000 ]; else [ "$(sent)" -lt 20000 ]; fi
    done
    # From files and pipes, for commands that stay, without output, and with
    # workers of this machine.
    hosts 'name: here, command: nice' "name: b, slots: 2, command: $PWD/tell" >mixed.yaml
    for more in '-i in' '' '-i in --journal j.db --overwrite' '-i in --shared-input'; do
        for to in one "$PWD/two"; do
            job $more --hosts mixed.yaml --block 10k -o "$to/{chunk}.txt" \
                $([ $to = one ] || echo --shared-output) -- sed 's/^/x/' <in
        done
        cat two/* | cmp - <(cat one/*)
        nothing_hidden two
        rm -r one two
    done
    job -i in --hosts h.yaml --persistent -o 'stay/{chunk}' --shared-output -- \
        python3 -c '
import sys
while head := sys.stdin.buffer.read(8):
    sys.stdout.buffer.write(head + sys.stdin.buffer.read(int.from_bytes(head, "big")))
    sys.stdout.buffer.flush()'
    cat stay/* | cmp - in
    job -i in --hosts h.yaml --block 20k -o 'empty/{chunk}' --shared-output -- true
    [ "$(find empty -type f -size 0 | wc -l)" -ge 5 ]
    job -i in -j 2 --block 20k -o 'here/{chunk}' --shared-output -- cat
    cat here/* | cmp - in
    nothing_hidden here
}

@test "bytes are counted, but not as returned" {
    prepare
    job -i in --hosts h.yaml --block 10k -o 'parts/{chunk}' --shared-output --joblog log \
        --trace t.jsonl --journal j.db -- sed 's/^/x/'
    bytes=$(cat parts/* | wc -c)
    [ "$(awk -F '\t' 'NR > 1 { n += $6 } END { print n }' log)" -eq "$bytes" ]
    run ! grep '"returned"' t.jsonl
    "$CLEAVE" report -o page.html t.jsonl
    run "$CLEAVE" replay t.jsonl
    [ "$status" -eq 0 ]
    command -v sqlite3 >/dev/null || skip "sqlite3 is not there"
    [ "$(sqlite3 j.db 'select sum(output_bytes) from chunk')" -eq "$bytes" ]
    [ "$(sqlite3 j.db 'select count(*) from output')" -eq 0 ]
}

@test "a host that cannot write to the directory is left out before it gets a chunk" {
    prepare
    # On this host the directory is another one: the file of the run is not in it.
    printf '#!/bin/bash\nrm -f "%s"/parts/.*[0-9a-f].txt\nexec "$@"\n' "$T" >blind
    chmod +x blind
    hosts 'name: here, command: nice' "name: far, slots: 1, command: $PWD/blind" >b.yaml
    job -i in --hosts b.yaml --block 10k -o 'parts/{chunk}.txt' --shared-output --joblog log -- cat
    says "cleave: far: left out: cannot write outputs to '$T/parts/': No such file or directory; without --shared-output they are sent"
    cat parts/* | cmp - in
    run ! grep -w far log
    nothing_hidden parts
    # Without another worker it is the end, and nothing was done.
    hosts "name: far, slots: 1, command: $PWD/blind" >b.yaml
    rm -r parts
    fails_with 3 -i in --hosts b.yaml -o 'parts/{chunk}.txt' --shared-output -- cat
    says "cannot write outputs to '$T/parts/'"
    [ -z "$(ls -A parts)" ]
}

@test "a host whose disk is full loses its chunk to another one" {
    prepare
    printf '#!/bin/bash\ntrap "" XFSZ\nulimit -f 100\nexec "$@"\n' >full
    chmod +x full
    hosts 'name: here, command: nice' "name: far, slots: 1, command: $PWD/full" >f.yaml
    meeting_command here far
    sed -i 's/^exec .*/cat; seq -f x%g 100000/' meet # more than the limit
    job -i in --hosts f.yaml --shared-input --block 20k -o 'parts/{chunk}' --shared-output --journal j.db -- "$T/meet"
    says "far: lost, its chunks go elsewhere: cannot write the output '$T/parts/."
    says "File too large"
    cat parts/* | grep -v x | cmp - in
    nothing_hidden parts
}

@test "a failed chunk has no file; the other chunks have files" {
    prepare
    fails_with 1 -i in --hosts h.yaml --block 20k --halt never -o 'parts/{chunk}' --shared-output -- \
        sh -c 'x=$(cat; echo .); printf %s "${x%.}"; case $x in *"
10000
"*) exit 3 ;; esac'
    [ "$(cat parts/* | wc -l)" -gt 10000 ]
    [ "$(cat parts/* | wc -l)" -lt 20000 ]
    run ! grep -qx 10000 parts/*
    nothing_hidden parts
}

@test "two attempts of a chunk leave one file" {
    prepare
    # The first chunk of host b hangs until another attempt has ended.
    cat >filter <<'EOF'
#!/bin/sh
in=$(mktemp in.XXXXXX)
cat >"$in"
case $CLEAVE_WORKER in b*) if mkdir taken 2>/dev/null; then
    until grep -q "^$(head -n 1 "$in")$" parts/[0-9]*; do sleep 0.05; done
fi ;; esac
cat "$in"
EOF
    job -i in --hosts h.yaml --block 20k --backups on --json -o 'parts/{chunk}' --shared-output --journal j.db -- sh ./filter
    grep -q '"backups": [1-9]' out
    cat parts/[0-9]* | cmp - in
    nothing_hidden parts
}

@test "a killed run leaves complete files, and a resumed one does the rest" {
    prepare
    mkdir started
    cat >slow <<'EOF'
x=$(mktemp started/XXXXXX)
[ "$(ls started | wc -l)" -lt 6 ] || [ -e continue ] || { touch wait; exec sleep 1000; }
exec cat
EOF
    words="run -q -i in --hosts h.yaml --block 10k -o parts/{chunk} --shared-output --journal j.db"
    timeout $LONG "$CLEAVE" $words -- sh slow &
    until [ -e wait ] && [ "$(ls parts | wc -l)" -ge 2 ]; do sleep 0.05; done
    kill -9 "$(pgrep -P $! | head -n 1)"
    wait $! || true
    for file in parts/*; do
        at=$(basename "$file" | sed 's/^0*//')
        tail -c +$((${at:-0} + 1)) in | head -c "$(stat -c %s "$file")" | cmp - "$file"
        [ "$(tail -c 1 "$file")" = '' ]
    done
    # The hidden file of the killed run tells another one that the directory is in use.
    [ "$(find parts -name '.*' -type f | wc -l)" -ge 1 ]
    rm -f started/*
    touch continue
    done_before=$(ls parts | wc -l)
    timeout $LONG "$CLEAVE" $words --resume -- sh slow
    cat parts/* | cmp - in
    nothing_hidden parts
    [ "$(ls started | wc -l)" -le $(($(ls parts | wc -l) - done_before + 1)) ]
}

@test "a resumed run does chunks again whose file is missing or was changed" {
    prepare
    job -i in --hosts h.yaml --block 20k -o 'parts/{chunk}' --shared-output --journal j.db -- cat
    cp -r parts saved
    again() {
        job -i in --hosts h.yaml --block 20k -o 'parts/{chunk}' --journal j.db --resume --joblog log "$@" -- cat
        cat parts/* | cmp - in
        nothing_hidden parts
    }
    again --shared-output
    [ ! -e log ] || [ "$(wc -l <log)" -eq 1 ]
    first=$(ls parts | head -n 1)
    last=$(ls parts | tail -n 1)
    rm "parts/$first"
    sed -i 's/^19999$/99999/' "parts/$last"
    echo old >"parts/000000000000001"
    again --shared-output
    says "cleave: j.db: the journal or a file of an output was changed: 2 of its $(ls parts | wc -l) finished chunks are not as written and are done again"
    [ "$(wc -l <log)" -eq 3 ]
    diff -r saved parts
    # A journal with outputs goes on with --shared-output, and the other way round.
    rm "parts/$first"
    again
    rm "parts/$last"
    rm log
    again --shared-output
    diff -r saved parts
    rm -r parts
    again --shared-output
}

@test "options that do not go with it" {
    prepare
    refuses "--shared-output needs a file for each chunk, as in -o 'DIR/part-{chunk}'" \
        run -i in --shared-output -- cat
    refuses "--shared-output needs a file for each chunk, as in -o 'DIR/part-{chunk}'" \
        run -i in --shared-output -o out -- cat
    refuses "--output with {chunk} writes a file for each chunk: expected no --reduce" \
        run -q -i in --shared-output -o 'parts/{chunk}' --reduce sum -- cat
    fails_with 1 -i in --hosts h.yaml --shared-output -o 'parts/{chunk}.gz' -- cat
    says "--shared-output compresses nothing: let the command do it, or omit '.gz'"
    [ -z "$(ls -A parts)" ]
    job -i in --hosts h.yaml --shared-output -o 'gz/{chunk}.gz' -- gzip -c
    gzip -dc gz/*.gz | cmp - in
    job -i in --hosts h.yaml --shared-output -o 'dry/{chunk}' --dry-run -- cat
    [ ! -e dry ]
}

@test "leaders let their hosts write the files" {
    prepare
    hosts 'name: l, slots: 1, command: env' 'name: f, slots: 2, via: l, command: env' >led.yaml
    job -i in --hosts led.yaml --block 10k -o 'led/{chunk}' --shared-output -- cat
    cat led/* | cmp - in
    nothing_hidden led
}
