# run_resume.bats -- journals that are damaged, those of others, and who may read them.
# SPDX-License-Identifier: MIT
load helper

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq -f 'line %g of the input' 300 >in
}

# overwrite FILE TEXT BYTES -- put BYTES where TEXT is found last.
overwrite() {
    local at
    at=$(grep -abo -- "$2" "$1" | tail -n 1 | cut -d: -f1)
    [ -n "$at" ] || return 1
    printf '%s' "$3" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}

@test "a damaged output is reported in one line, and done again" {
    prepare
    cleave 0 run -q -i in --block 500 -j 2 --journal j.db -- cat
    # Every chunk that can be reached: the output stays right, and it is said once.
    for n in 7 77 177 277; do overwrite j.db "line $n of" "LINE"; done
    cleave 0 run -q -i in --block 500 -j 2 --journal j.db --resume -- cat
    [ "$output" = "$(cat in)" ]
    [[ $stderr == "cleave: j.db: the journal is damaged: 4 of its "*" finished chunks are not as written and are done again" ]]
    # Then nothing is wrong any more.
    cleave 0 run -q -i in --journal j.db --resume -- cat
    [ "$output" = "$(cat in)" ]
    [ -z "$stderr" ]
}

@test "damage to the database itself: one line, and what to do" {
    prepare
    cleave 0 run -q -i in --block 500 --journal j.db -- cat
    cp j.db good.db
    overwrite j.db "CREATE TABLE chunk" "CREATE TABLE chuck"
    cleave 2 run -q -i in --journal j.db --resume -- cat
    [ -z "$output" ]
    [[ $stderr == "cleave: j.db: "*"damaged"*"; use --overwrite or another journal" ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    dd if=/dev/zero of=good.db bs=1 seek=100 count=20000 conv=notrunc status=none
    cleave 2 run -q -i in --journal good.db --resume -- cat
    [[ $stderr == "cleave: good.db: "*"use --overwrite or another journal" ]]
    cleave 0 run -q -i in --journal good.db --overwrite -- cat
    [ "$output" = "$(cat in)" ]
    cleave 0 run -q -i in --journal good.db --resume -- cat
    [ "$output" = "$(cat in)" ]
}

@test "the journal of another command: the words as a shell takes them" {
    prepare
    cleave 0 run -q -i in --journal j.db -- awk '{ print "a" }'
    cleave 2 run -q -i in --journal j.db --resume -- awk '{ print "b" }' x
    [ "$stderr" = "cleave: j.db: the journal belongs to another run: expected the command awk '{ print \"a\" }', got awk '{ print \"b\" }' x" ]
    # Words that would make one text if they were put one after the other.
    cleave 0 run -q -i in --journal k.db -- echo $'a\x1fb'
    cleave 2 run -q -i in --journal k.db --resume -- echo a b
    [ "$stderr" = "cleave: k.db: the journal belongs to another run: expected the command echo \$'a\\037b', got echo a b" ]
    # A command that stays is another one.
    cleave 2 run -q -i in --persistent --journal k.db --resume -- echo $'a\x1fb'
    [[ $stderr == *"expected a persistent command: 'no', got 'yes'" ]]
}

@test "a changed script is noticed by a resumed run, which keeps finished outputs" {
    prepare
    printf '#!/bin/sh\nexec sed "s/^/old /"\n' >my-filter
    chmod +x my-filter
    PATH=$PATH:$PWD
    for words in ./my-filter "sh my-filter" "cat | ./my-filter" my-filter "env -i ./my-filter"; do
        sed -i s/new/old/ my-filter
        # shellcheck disable=SC2086
        case $words in *'|'*) set -- "$words" ;; *) set -- $words ;; esac
        rm -f j.db
        cleave 0 run -q -i in --journal j.db -- "$@"
        cleave 0 run -i in --journal j.db --resume -- "$@"
        [ -z "$stderr" ]
        sed -i s/old/new/ my-filter
        cleave 0 run -i in --journal j.db --resume -- "$@"
        [ "$output" = "$(sed 's/^/old /' in)" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ $stderr == "cleave: '"*"my-filter' was changed since the first run of this journal: finished chunks keep their output; --overwrite does all of it again" ]]
    done
    # Items, and a file that no longer exists.
    rm j.db
    cleave 0 run -q --journal j.db ./my-filter {} ::: a
    echo >>my-filter
    cleave 0 run --journal j.db --resume ./my-filter {} ::: a
    [[ $stderr == *"'./my-filter' was changed"* ]]
    rm j.db
    cleave 0 run -q --journal j.db cat my-filter ::: /dev/null
    rm my-filter
    cleave 0 run --journal j.db --resume cat my-filter ::: /dev/null
    [[ $stderr == *"'my-filter' was changed"* ]]
    # A large file counts by its size and time.
    truncate -s 2M large
    rm j.db
    cleave 0 run -q -i in --journal j.db -- sh -c 'cat; : "$1"' sh large
    cleave 0 run -i in --journal j.db --resume -- sh -c 'cat; : "$1"' sh large
    [ -z "$stderr" ]
    truncate -s 3M large
    cleave 0 run -i in --journal j.db --resume -- sh -c 'cat; : "$1"' sh large
    [[ $stderr == *"'large' was changed"* ]]
}

@test "long commands are shown by their difference" {
    prepare
    long=$(printf 'x%.0s' {1..400})
    cleave 0 run -q -i in --journal j.db -- echo "$long" one
    cleave 2 run -q -i in --journal j.db --resume -- echo "$long" two
    [[ $stderr == *"expected the command ..."*"x one, got ..."*"x two" ]]
}

@test "a journal is for its owner alone" {
    prepare
    umask 000
    cleave 0 run -q -i in --journal j.db -- cat
    [ "$(stat -c %a j.db)" = 600 ]
    chmod 666 j.db
    cleave 2 run -q -i in --journal j.db --resume -- cat
    [[ $stderr == "cleave: j.db: others may write to the journal (mode 666): "* ]]
    chmod go-w j.db
    cleave 0 run -q -i in --journal j.db --resume -- cat
    ln -s j.db link.db
    cleave 2 run -q -i in --journal link.db --resume -- cat
    [[ $stderr == "cleave: link.db: "*"symbolic link"* ]]
}

@test "a file with the name of a journal's companion is not lost" {
    prepare
    for suffix in wal shm journal; do
        cp in j.db-$suffix
        chmod 600 j.db-$suffix
        cleave 2 run -q -i in --journal j.db -- cat
        [ "$stderr" = "cleave: j.db: a file with this name and the suffix -$suffix exists, is not part of a journal and would be lost: use another journal" ]
        cmp in j.db-$suffix
        rm j.db-$suffix
    done
    # One that was killed as it opened the journal leaves three bytes that nobody has written.
    printf '\0\0\0' >j.db-shm
    chmod 600 j.db-shm
    rm -f j.db
    cleave 0 run -q -i in --journal j.db -- cat
    # What a run that was killed has left there is read.
    rm j.db
    local command='read -r x; echo "$x"; cat; case $x in "line 1"??" "*) mkdir killed 2>/dev/null && kill -9 $PPID;; esac; :'
    timeout 200 "$CLEAVE" run -q -i in -j 1 --block 500 --journal j.db -- sh -c "$command" >out 2>&1 || true
    [ -s j.db-wal ]
    cleave 0 run -q -i in -j 1 --block 500 --journal j.db --resume --joblog log -- sh -c "$command"
    [ "$output" = "$(cat in)" ]
    [ "$(wc -l <log)" -lt 13 ]
}

@test "SIGUSR1 ends with 75 if the journal has got further, else as any signal" {
    prepare
    # The first chunk is done, the second tells the run that its time is up.
    cat >command <<'END'
#!/bin/sh
if [ "$1" -gt 0 ] && [ -e pid ]; then
    until [ -s pid ]; do sleep 0.05; done
    run=$(cat pid)
    rm pid # before it is stopped itself
    kill -USR1 "$run"
    exec sleep 60
fi
exec cat
END
    chmod +x command
    noticed() {
        : >pid
        timeout 200 sh -c 'echo $$ >pid; exec "$@"' sh "$CLEAVE" run -q -j 1 --block 2k -i in -o out "$@" -- \
            sh -c './command $CLEAVE_BEGIN' 2>err
    }
    run noticed --journal j.db
    [ "$status" -eq 75 ]
    grep -q '^cleave: stopped by SIGUSR1: 1 chunk done' err
    [ ! -e out ]
    [ -z "$(find . -name '.out.part-*')" ]
    cleave 0 run -q -j 1 --block 2k -i in -o out --journal j.db --resume -- sh -c './command $CLEAVE_BEGIN'
    cmp out in
    run noticed
    [ "$status" -eq 138 ]
}

@test "a journal that is removed during the run holds nothing, and the partial result stays" {
    prepare
    cat >command <<'END'
#!/bin/sh
if [ "$1" -gt 3000 ]; then
    until [ -s pid ]; do sleep 0.05; done
    rm -f j.db*
    kill -USR1 "$(cat pid)"
    exec sleep 60
fi
exec cat
END
    chmod +x command
    run timeout 200 sh -c 'echo $$ >pid; exec "$@"' sh "$CLEAVE" run -q -j 1 --block 2k -i in -o out --journal j.db -- \
        sh -c './command $CLEAVE_BEGIN'
    [ "$status" -eq 138 ]
    [[ ${lines[0]} == "cleave: stopped by SIGUSR1: "*". The journal that held them was removed meanwhile: none of it is kept for another run" ]]
    cmp -n 2000 in .out.part-*
}

@test "start times of commands are in the journal, and a first estimate for learn" {
    cd "$BATS_TEST_TMPDIR"
    seq 2000 >in
    seq 100 >more
    # It is seen to read before it ends.
    local command='sleep 0.3; read -r line; echo "$line"; sleep 0.2; exec cat'
    cleave 0 run -q -i in -j 2 --journal j -- sh -c "$command"
    cleave 0 run -i in -i more -j 2 --journal j --resume -o out -- sh -c "$command"
    [[ "$stderr" =~ 'cleave: by the journal a command takes '[0-9.]+' s to start' ]]
    cat in more | cmp - out
}

@test "speeds of workers in the journal are a start for learn" {
    cd "$BATS_TEST_TMPDIR"
    seq 2000 >in
    seq 100 >more
    local command='[ $CLEAVE_WORKER = fast ] || sleep 0.3; cat'
    cleave 0 run -q -i in -j fast,slow --block 500 --journal j -- sh -c "$command"
    # What nobody asks for is not said: another policy, no other input, costs that were given.
    cp j again
    cleave 0 run -i in -j fast,slow --journal again --resume -- sh -c "$command"
    [[ "$stderr" != *'by the journal'* ]]
    cleave 0 run -i in -i more -j fast,slow --block 500 --journal again --resume -- sh -c "$command"
    [[ "$stderr" != *'by the journal'* ]]
    cleave 0 run -i in -i more -j fast,slow --journal j --resume -- sh -c "$command"
    [[ "$stderr" =~ 'cleave: by the journal fast is '[0-9.e+]+' times as fast as slow: first shares go by that' ]]
    [ "$output" = "$(cat in more)" ]
}

# --- what was done before is not forgotten ------------------------------------------------

# half [OPTION]... -- a run of 292 bytes in two chunks, of which the first is done and the other fails.
half() {
    # shellcheck disable=SC2016
    run "$CLEAVE" run -i in -j 1 --block 146 --journal j --retries 1 "$@" -- \
        sh -c 'read -r n; [ "$n" = 1 ] || exit 3; echo "$n"; cat'
}

@test "a resume whose remaining chunks all fail does not report that all failed" {
    cd "$BATS_TEST_TMPDIR"
    seq 100 >in
    # Two chunks are left, as two failing ones are said to be all.
    # shellcheck disable=SC2016
    local command='read -r n; [ "$n" = 1 ] || exit 3; cat'
    run "$CLEAVE" run --summary -i in -j 1 --block 98 --journal j --retries 1 -- sh -c "$command"
    [ "$status" -eq 1 ]
    [[ $output == *"3 chunks, 2 failed"* ]]
    run "$CLEAVE" run --summary -i in -j 1 --block 98 --journal j --resume --retries 1 -- sh -c "$command"
    [ "$status" -eq 1 ]
    [[ $output == *"2 chunks, 1 chunk from the journal, 2 failed"* ]]
    [[ $output != *"all chunks"* ]]
}

@test "the summary of a resume gives the bytes from the journal" {
    cd "$BATS_TEST_TMPDIR"
    seq 100 >in
    half -q
    [ "$status" -eq 1 ]
    half --resume --json -q -o out
    [ "$status" -eq 1 ]
    grep -q '"input_bytes": 145,' <<<"$output"
    grep -q '"resumed_bytes": 147,' <<<"$output"
}

@test "a stopped resume counts finished chunks of earlier runs, and not failed ones" {
    cd "$BATS_TEST_TMPDIR"
    seq 100 >in
    # The first chunk is done, the second fails, the third is stopped: by turns.
    cat >command <<'END'
#!/bin/sh
read -r n
case $n in
1) echo 1; exec cat ;;
6? | 7?) touch here; exec sleep 1000 ;;
esac
exit 3
END
    chmod +x command
    for how in "" --resume; do
        rm -f here
        # shellcheck disable=SC2086
        env --default-signal=TERM "$CLEAVE" run -q -i in -j 1 --block 98 --retries 1 --journal j $how -- ./command >out 2>err 3>&- &
        local master=$!
        appears here
        kill -TERM $master
        status=0
        wait $master || status=$?
        [ "$status" -eq 143 ]
        grep -q 'stopped by SIGTERM: 1 chunk done, 99 B of 292 B. The journal' err
    done
}
