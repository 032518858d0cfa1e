# run_decode.bats -- compressed inputs. SPDX-License-Identifier: MIT
load helper
load job

FORMS="gz bgz zst xz bz2 lz4"

# Compressed files of `seq 3000`, made by the tools of each form: $P/seq.FORM.
prepare() {
    T=$BATS_TEST_TMPDIR
    P=$CLEAVE_SOURCE_DIR/tests/packed
    cd "$T" || return 1
    seq 3000 >seq
}

# says TEXT -- the last run wrote this one line to standard error, and nothing else.
says() {
    printf '%s\n' "$1" | diff - err
}

@test "every format is decoded, from a file, standard input and a pipe" {
    prepare
    for form in $FORMS; do
        job -i "$P/seq.$form" --block 1k -- cat
        cmp seq out
        job --block 1k -- cat <"$P/seq.$form"
        cmp seq out
        job -i - --block 1k -- cat < <(cat "$P/seq.$form")
        cmp seq out
    done
    job -i "$P/seq-unsized.zst" -- cat
    cmp seq out
    job -i "$P/seq.bz2" --decode bzip2 -- cat
    cmp seq out
    fails_with 2 -i seq --decode xz -- cat
    says "cleave: seq: expected xz (--decode xz), got other bytes"
    fails_with 2 --decode xz -- cat < <(cat seq)
    says "cleave: standard input: expected xz (--decode xz), got other bytes"
}

@test "concatenated members, empty members and zeros at the end are one input" {
    prepare
    cat seq seq seq >thrice
    for form in $FORMS; do
        cat "$P/seq.$form" "$P/seq.$form" "$P/seq.$form" >many
        for input in "-i many" ""; do
            job $input -- cat < <(cat many)
            cmp thrice out
        done
    done
    : | gzip >none.gz
    cat none.gz "$P/seq.gz" none.gz none.gz "$P/seq.bgz" >many
    head -c 700 /dev/zero >>many
    job -i many -- cat
    cat seq seq | cmp - out
    cat "$P/seq.bgz" "$P/seq.gz" >many
    job -i many -- cat
    cat seq seq | cmp - out
    job -i none.gz -- cat
    [ ! -s out ]
    : >empty
    job -i empty --decode gzip -- cat
    [ ! -s out ]
}

@test "bytes after the last member are an error, and all input before is done" {
    prepare
    for form in $FORMS; do
        { cat "$P/seq.$form"; echo more; } >behind
        size=$(wc -c <"$P/seq.$form")
        for input in "-i behind" ""; do
            fails_with 2 $input -- cat < <(cat behind)
            cmp seq out
            grep -Eq ": expected [a-z0-9]+ or the end at byte $size of the file, got bytes that are neither; 13893 bytes were decoded before" err
        done
    done
}

@test "truncated input is an error with its place, and complete records before are done" {
    prepare
    for form in $FORMS; do
        size=$(wc -c <"$P/seq.$form")
        { cat "$P/seq.$form"; head -c $((size - 9)) "$P/seq.$form"; } >short
        for input in "-i short" ""; do
            fails_with 2 $input -- cat < <(cat short)
            grep -Eq ": (cut short: the file ends at byte $((2 * size - 9)), inside what begins as [a-z0-9]+ at byte [0-9]+|damaged at about byte [0-9]+ of the file: .*); [0-9]+ bytes were decoded before" err
            cat seq seq >twice
            # Not less than the first, and of the second a part, in whole lines.
            [ "$(wc -c <out)" -ge "$(wc -c <seq)" ]
            cmp -n "$(wc -c <out)" out twice
            tail -c 1 out | od -An -c | grep -q '\\n'
        done
    done
}

@test "a stream that breaks off within a record: that record is not done" {
    prepare
    # Enough that some of it is decoded before the end is seen, which is inside a line.
    seq 200000 | gzip >whole.gz
    for size in 300000 300001 300002 300003; do
        head -c $size whole.gz >short.gz
        fails_with 2 -- cat < <(cat short.gz)
        [ -s out ]
        cmp -n "$(wc -c <out)" out <(seq 200000)
        tail -c 1 out | od -An -c | grep -q '\\n'
    done
}

@test "a damaged block is an error with its place" {
    prepare
    for form in $FORMS; do
        size=$(wc -c <"$P/seq.$form")
        cat "$P/seq.$form" "$P/seq.$form" "$P/seq.$form" >bad
        printf 'XXXX' | dd of=bad bs=1 seek=$((size + size / 2)) conv=notrunc status=none
        fails_with 2 -i bad -- cat
        [ "$(wc -l <err)" = 1 ]
        grep -q "^cleave: bad: damaged at about byte" err
        [ "$(wc -c <out)" -ge "$(wc -c <seq)" ]
        cmp -n "$(wc -c <seq)" out seq
    done
}

@test "splitters, headers and record numbers use decoded bytes" {
    prepare
    { echo id,text; seq 500 | sed 's/.*/&,"a\n""&"""/'; } >in.csv
    gzip -k in.csv
    job -i in.csv.gz --split csv --header --block 500 -- cat
    grep -vx id,text out | cmp - <(tail -n +2 in.csv)
    seq 300 | sed 's/.*/@r&\nACGT\n+\n@@@@/' >in.fq
    gzip -k in.fq
    zcat in.fq.gz | job -j 1 --split fastq --block 100 -- md5sum
    cp out expected
    job -j 1 -i in.fq.gz --split fastq --block 100 -- md5sum
    cmp expected out
    fails_with 1 -i "$P/seq.gz" --block 100 -- sh -c '! grep -x 2000'
    grep -q 'record' err
}

@test "a run on a compressed input is resumed" {
    prepare
    touch fail
    fails_with 1 -i "$P/seq.gz" --block 2k --journal j --halt never -- sh -c 'tee x.$$ | cat; ! { [ -e fail ] && grep -qx 2500 x.$$; }'
    rm fail
    job -i "$P/seq.gz" --block 2k --journal j --resume -- sh -c 'tee x.$$ | cat; ! { [ -e fail ] && grep -qx 2500 x.$$; }'
    cmp seq out
    job -i "$P/seq.gz" --block 2k --journal j --resume -- sh -c 'tee x.$$ | cat; ! { [ -e fail ] && grep -qx 2500 x.$$; }'
    cmp seq out
}

@test "an input that is no more wanted stops its decoder" {
    prepare
    mkfifo slow
    { cat "$P/seq.gz"; exec sleep 100; } >slow &
    writer=$!
    fails_with 1 -i slow --block 1k --halt now,fail=1 -- false
    kill $writer
}

# blocks FORM -- a file `many.FORM` of several blocks that holds `many`, with records that cross them.
blocks() {
    for i in 1 2 3 4 5 6 7 8; do cat seq; done >many
    for i in 1 2 3 4 5 6 7 8; do cat "$P/seq.$1"; done >many.$1
}

@test "each worker decodes its own blocks, at any cuts of pieces" {
    prepare
    for form in bgz zst xz; do
        blocks $form
        for how in "--block 900" "-j 3 --policy umr" "--persistent --block 5k"; do
            job -i many.$form -j 2 $how -- cat
            cmp many out
        done
        job -i many.$form --split 'regex:.*7$' --block 3k -- cat
        cmp many out
        job -i many.$form --split fixed:3 --decode "$(case $form in bgz) echo bgzf ;; zst) echo zstd ;; *) echo $form ;; esac)" --block 1k -- cat
        cmp many out
        timeout $LONG "$CLEAVE" run --summary -i many.$form --block 10k -- cat 2>err >/dev/null
        grep -q '^cleave: 111.1 kB in' err
        "$CLEAVE" run --dry-run -i many.$form -- cat >plan 2>&1
    done
}

@test "a compressed input is not cut into records of a fixed size unless that is asked for" {
    prepare
    head -c 4000 "$P/seq.gz" >four.gz
    for in in "-i four.gz" ""; do
        fails_with 2 $in --split fixed:4 -- cat <four.gz
        grep -q ': expected --decode gzip, or --decode none to cut the bytes without decoding: they begin like gzip$' err
        [ ! -s out ]
        job $in --split fixed:4 --decode none -- cat <four.gz
        cmp four.gz out
    done
}

@test "compressed and plain inputs may be mixed, with their own headers and positions" {
    prepare
    printf 'id\n' | cat - seq >plain
    gzip -c plain >a.gz
    job -i a.gz -i plain -i "$P/seq.xz" -i "$P/seq.bgz" -- cat
    cat plain plain seq seq | cmp - out
    job -i a.gz -i plain --header --block 2k -- sh -c 'read -r head; echo $head >&2; cat'
    grep -vx id out | cmp - <(cat seq seq)
    [ "$(sort -u err)" = id ]
    mkdir f
    fails_with 1 -i plain -i a.gz --block 1k --failed f --halt never -- sh -c '! grep -qx 1234'
    [ "$(ls f | grep -c '^a.gz')" = 1 ]
    grep -qx 1234 f/a.gz*
    printf 'no end' | gzip >one.gz
    job -i one.gz -i plain -- cat
    { echo no end; cat plain; } | cmp - out
    # What is damaged is seen before anything runs where all of it has to be decoded first.
    head -c 4000 "$P/seq.gz" >short.gz
    fails_with 2 -i plain -i short.gz -- cat
    grep -q '^cleave: short.gz: cut short: the file ends at byte 4000' err
    [ ! -s out ]
}

@test "pairs of compressed files are cut after the same records" {
    prepare
    seq 400 | sed 's/.*/@r&\nACGT\n+\n@@@@/' >one.fq
    seq 400 | sed 's/.*/@r&\nACGTTGCA\n+\n@@@@IIII/' >two.fq
    gzip -k one.fq two.fq
    job -i one.fq --pairs two.fq --split fastq --block 2k -- sh -c 'paste - - - - | cut -f1 >a.$$; paste - - - - <&3 | cut -f1 | cmp - a.$$; cat a.$$'
    cp out expected
    for pair in "one.fq.gz two.fq.gz" "one.fq two.fq.gz" "one.fq.gz two.fq"; do
        job -i ${pair% *} --pairs ${pair#* } --split fastq --block 2k -- sh -c 'paste - - - - | cut -f1 >a.$$; paste - - - - <&3 | cut -f1 | cmp - a.$$; cat a.$$'
        cmp expected out
    done
}

@test "nothing is done of a small block whose check does not fit" {
    prepare
    # The last bytes of a frame and of a block are its check; behind a block is an empty one.
    for case in zst-2 bgz-33; do
        form=${case%-*}
        blocks $form
        size=$(wc -c <"$P/seq.$form")
        cp many.$form bad
        printf X | dd of=bad bs=1 seek=$((5 * size - ${case#*-})) conv=notrunc status=none
        for how in "--block 2k" "--block 100k" "-j 3"; do
            fails_with 2 -i bad $how -- cat
            head -c $((4 * 13893)) many | cmp - out
            grep -q "^cleave: bad: damaged at about byte .*; $((4 * 13893)) bytes were decoded before" err
        done
    done
}

@test "a damaged block: input before it is done, input after it is left" {
    prepare
    for form in bgz zst xz; do
        blocks $form
        size=$(wc -c <"$P/seq.$form")
        for bad in 1 4 7; do
            cp many.$form bad
            printf 'XXXX' | dd of=bad bs=1 seek=$((bad * size + size / 2)) conv=notrunc status=none
            for how in "--block 2k" "-j 3" "--persistent --block 5k"; do
                fails_with 2 -i bad $how -- cat
                head -c $((bad * 13893)) many | cmp - out
                grep -q "^cleave: bad: damaged at about byte .*; $((bad * 13893)) bytes were decoded before" err
            done
        done
        fails_with 2 -i bad --block 2k --journal j.$form -- cat
        cp many.$form bad
        job -i bad --block 2k --journal j.$form --resume -- cat
        cmp many out
    done
}

# sent RELATION BYTES -- what the last run, with --json in `json`, has sent to hosts.
sent() {
    local bytes
    bytes=$(grep -o "\"sent_bytes\": *[0-9]*" json | grep -o "[0-9]*$")
    [ "$bytes" "$1" "$2" ]
}

@test "block formats go to other machines compressed, and are decoded there" {
    prepare
    hosts 'name: a, slots: 2' >h.yaml
    for form in bgz zst xz; do
        blocks $form
        # Open chunks, closed ones, and half blocks. All of it goes at most twice, for blocks that two need.
        for how in "" "--policy guided" "--block 20k --header 1"; do
            timeout $LONG "$CLEAVE" run -i many.$form --hosts h.yaml $how --json -o out -- \
                sh -c 'test -n "$CLEAVE_CHUNK" && cat' >json 2>err
            if [ -z "${how##*header*}" ]; then
                awk '!/^1$/' many | diff -q - <(awk '!/^1$/' out)
            else
                cmp many out
            fi
            # Who is recalled may have been sent what others are sent again.
            if [ $form = xz ] || [ -n "${how##*header*}" ] || [ -z "$how" ]; then sent -lt 111144; fi
        done
    done
    # With a journal, what the host decoded is known again.
    blocks zst
    job -i many.zst --hosts h.yaml --policy guided --journal j -- sh -c 'echo >>ran; cat'
    rm ran
    job -i many.zst --hosts h.yaml --policy guided --journal j --resume -- sh -c 'echo >>ran; cat'
    cmp many out
    [ ! -e ran ]
}

@test "a host that sees a compressed file decodes its blocks from there, and only ranges travel" {
    prepare
    hosts 'name: a, slots: 2' 'name: b, slots: 1' >h.yaml
    for form in bgz zst lz4 xz; do
        blocks $form
        if [ $form = lz4 ]; then # with its size in front
            command -v lz4 >/dev/null || continue
            for i in 1 2 3 4 5 6 7 8; do lz4 -q -c --content-size seq; done >many.lz4
        fi
        # Open chunks, closed ones, and half blocks with a header, which is sent.
        for how in "" "--policy guided" "--block 20k" "--block 20k --header 1" "--header 1"; do
            give=cat
            # The header is there before what is decoded.
            [ "$how" = "${how%--header 1}" ] || give='IFS= read -r first && test "$first" = 1 && cat'
            # shellcheck disable=SC2086
            timeout $LONG "$CLEAVE" run -i many.$form --shared-input --hosts h.yaml $how --json -o out -- \
                sh -c 'test -n "$CLEAVE_CHUNK" && '"$give" >json 2>err
            if [ "$give" != cat ]; then
                tail -n +2 many | cmp - out
                sent -lt 200
            else
                cmp many out
                sent -eq 0
            fi
        done
    done
    # A header that comes in several frames: nothing is decoded before all of it is there.
    { head -c 5000000 /dev/zero | tr '\0' x; echo; cat many; } >long
    xz -0 --block-size=200000 <long >long.xz
    for how in "long.xz --shared-input" long.xz long; do
        # shellcheck disable=SC2086
        timeout $LONG "$CLEAVE" run -i $how --hosts h.yaml --max-record 8M --header 1 -o out -- \
            awk 'NR == 1 { if (length($0) != 5000000) exit 3; next } 1' 2>err
        cmp many out
    done
    # A command that is slow has its chunk cut, open or not, after it has begun.
    for how in "" "--policy guided"; do
        # shellcheck disable=SC2086
        timeout $LONG "$CLEAVE" run -i many.xz --shared-input --hosts h.yaml $how --json -o out -- \
            sh -c 'if [ $CLEAVE_WORKER = b ]; then sleep 0.5; fi; cat' >json 2>err
        cmp many out
        sent -eq 0
    done
    # One that does not see it is sent the blocks, and that is said.
    if unshare --mount true 2>/dev/null; then
        mkdir data other
        mv many.xz data
        printf '#!/bin/sh\nmount --bind other data\nexec "$@"\n' >elsewhere
        chmod +x elsewhere
        sed "s|name: b, slots: 1|name: b, slots: 1, command: 'unshare --mount ./elsewhere'|" h.yaml >blind.yaml
        timeout $LONG "$CLEAVE" run -i data/many.xz --shared-input --hosts blind.yaml --block 10k --json -o out -- \
            sh -c 'echo $CLEAVE_WORKER >>who; cat' >json 2>err
        cmp many out
        grep -q 'b: does not see the input, which is sent there: .*many.xz' err
        if grep -qx b who; then sent -gt 0; fi
    fi
    # With a journal, what the host decoded is known again.
    blocks zst
    job -i many.zst --shared-input --hosts h.yaml --policy guided --journal seen.j -- sh -c 'echo >>ran; cat'
    rm ran
    job -i many.zst --shared-input --hosts h.yaml --policy guided --journal seen.j --resume -- sh -c 'echo >>ran; cat'
    cmp many out
    [ ! -e ran ]
}

@test "a block that cannot be decoded at a host is named as it would be here" {
    prepare
    hosts 'name: a, slots: 1' >h.yaml
    for form in bgz zst xz; do
        blocks $form
        size=$(stat -c %s many.$form)
        printf 'XXXX' | dd of=many.$form bs=1 seek=$((size * 5 / 8 + 1000)) conv=notrunc 2>dd
        for how in "" "--policy guided" "--shared-input" "--shared-input --policy guided"; do
            fails_with 2 -i many.$form --hosts h.yaml $how -- cat
            grep -q "^cleave: many.$form: damaged at about byte .*; 69465 bytes were decoded before" err
            run ! grep 'lost' err
        done
    done
}

@test "stream formats are decoded here for other machines" {
    prepare
    hosts 'name: a, slots: 2' >h.yaml
    blocks xz
    timeout $LONG "$CLEAVE" run -i "$P/seq.gz" --hosts h.yaml --json -o out -- cat >json 2>err
    cmp seq out
    sent -ge 13893
    timeout $LONG "$CLEAVE" run -i many.xz --persistent --hosts h.yaml --json -o out -- \
        cat >json 2>err
    sent -ge 111144
    job -i many.xz -i "$P/seq.gz" --hosts h.yaml --shared-input --block 5k -- cat
    cat many seq | cmp - out
}

@test "a record that fails is found in compressed pieces, here and at other machines" {
    prepare
    hosts 'name: a, slots: 2' >h.yaml
    for where in "xz -j 2" "zst --hosts h.yaml"; do
        blocks "${where%% *}"
        fails_with 1 -i "many.${where%% *}" ${where#* } --isolate --block 50k -- \
            awk '{ print } $1 == 1777 { exit 1 }'
        [ "$(grep -c 'records \([0-9]*\) to \1): the command exited with status 1' err)" -eq 8 ]
        grep -q ' (records 4777 to 4777): ' err
        grep -v -x 1777 many | cmp - out
    done
}

@test "a command that takes too long on a compressed piece is ended, here and at other machines" {
    prepare
    hosts 'name: a, slots: 2' >h.yaml
    for where in "xz -j 2" "bgz --hosts h.yaml"; do
        blocks "${where%% *}"
        # It reads but the first byte of it: what feeds it is ended with it.
        fails_with 1 -i "many.${where%% *}" ${where#* } --timeout 3 --block 60k -- \
            sh -c 'test "$CLEAVE_CHUNK" -gt 1 && exec cat; head -c 1 >head; exec sleep 600'
        grep -q 'the command took longer than 3 s' err
        tail -c 60 many | cmp - <(tail -c 60 out)
    done
}

@test "unsupported formats in a row are named, and so is a missing dictionary" {
    prepare
    size=$(wc -c <"$P/seq.zst")
    cat "$P/seq.zst" "$P/seq.bz2" >joined
    for input in "-i joined" ""; do
        fails_with 2 $input -- cat < <(cat joined)
        cmp seq out
        grep -q ": expected zstd or the end at byte $size of the file, got bzip2; 13893 bytes were decoded before" err
    done
    command -v zstd >/dev/null || skip "zstd is not installed"
    seq 100000 >many
    zstd -q --train many -B1024 --maxdict=4096 -o dictionary
    zstd -q -D dictionary -c seq >seq.zst
    for input in "-i seq.zst" ""; do
        fails_with 2 $input -- cat < <(cat seq.zst)
        [ ! -s out ]
        grep -q ": what begins as zstd at byte 0 of the file cannot be decoded without the dictionary that it was compressed with; type 'zstd -dc -D DICTIONARY FILE | cleave ...'" err
    done
}

@test "BGZF without its last block is done, and said to lack it" {
    prepare
    head -c -28 $P/seq.bgz >short.bgz
    job -i short.bgz -- cat
    cmp seq out
    says "cleave: short.bgz: its BGZF EOF block is missing: the file may be truncated"
    "$CLEAVE" split -q -i seq -n 3 -o 'b-{}.bgz'
    cp b-001.bgz whole.bgz
    for name in b-*.bgz; do truncate -s -28 $name; done
    job -i whole.bgz -i b-001.bgz -i b-002.bgz -i b-003.bgz -- cat
    says "cleave: b-001.bgz: its BGZF EOF block is missing (and of 2 others): the file may be truncated"
    job -i whole.bgz -i $P/seq.bgz -i seq -- cat
    [ ! -s err ]
    "$CLEAVE" split -q -i short.bgz -n 2 -o 'again-{}' 2>err
    cat again-* | cmp - seq
    says "cleave: short.bgz: its BGZF EOF block is missing: the file may be truncated"
}

@test "a large input of one block is said to be one, and one of two is not" {
    prepare
    command -v xz >/dev/null || skip "xz is not installed"
    head -c 4500000 /dev/urandom | base64 >noise
    xz -0 -T1 -c noise >one.xz
    xz -0 -T1 --block-size=4MiB -c noise >two.xz
    job -i one.xz -- cat
    cmp noise out
    says "cleave: one.xz: one block of xz, which one core decodes: 'xz -T0' writes blocks that are decoded side by side"
    job -i two.xz -- cat
    cmp noise out
    [ ! -s err ]
    command -v zstd >/dev/null || skip "zstd is not installed"
    zstd -q -1 noise
    job -i noise.zst -- cat
    cmp noise out
    says "cleave: noise.zst: one frame of zstd, which one core decodes: 'pzstd' writes frames that are decoded side by side"
}
