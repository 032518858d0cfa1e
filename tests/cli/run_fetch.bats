# run_fetch.bats -- inputs that a command gives by ranges. SPDX-License-Identifier: MIT
load helper
load job

# A file of some records, and the command that cuts it.
prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 60000 >seq
    CUT='tail -c +$(({begin} + 1)) {} | head -c {length}'
    SIZE='wc -c <{}'
}

# says TEXT -- the last run wrote this one line to standard error, and nothing else.
says() {
    printf '%s\n' "$1" | diff - err
}

@test "a command gives ranges of the input, and others are cut as files are" {
    prepare
    job -i seq --fetch "$CUT" --size "$SIZE" --block 50k -- cat
    cmp seq out
    job -i seq --fetch 'dd if={} bs=1 skip={begin} count=$(({end} - {begin} + 1)) 2>/dev/null' \
        --size 20 -- cat
    head -c 20 seq | cmp - out
    (echo head && seq 50000) >one.csv
    (echo head && seq 7) >'two 2.csv'
    job -i one.csv -i 'two 2.csv' --fetch "$CUT" --size "$SIZE" --split csv --header \
        --block 40k -- sed 1d
    (seq 50000 && seq 7) | cmp - out
    # The header is kept, and not fetched for each of seven chunks: what begins there is looked at, read
    # for it, and the first chunk.
    job -i one.csv --fetch "echo {begin} >>begins; $CUT" --size "$SIZE" --header --block 40k -- sed 1d
    seq 50000 | cmp - out
    [ "$(wc -l <begins)" -gt 7 ]
    [ "$(grep -cx 0 begins)" -le 3 ]
    job --fetch 'seq 20 | tail -c +$(({begin} + 1)) | head -c {length}' \
        --size 'echo HTTP/1.1 302; echo "Content-Length: 7"; echo; echo "content-length:  51"' \
        -- cat
    seq 20 | cmp - out
    job --fetch "$CUT" --size 0 -- cat
    [ ! -s out ]
}

@test "a fetch that fails is begun again where it broke off" {
    prepare
    job -i seq --size "$SIZE" --block 100k --fetch "if mkdir begun-\$(({begin} / 150000)) 2>no
        then $CUT | head -c 70000; exit 7; fi; $CUT" -- cat
    cmp seq out
    # Where the last chunk begins depends on who is free first: the short one may be before it.
    [ -d begun-0 ] && [ -d begun-1 ]
    # A page about an error is no part of the input, though its command ends well.
    job -i seq --size "$SIZE" --block 100k --fetch "if mkdir page-\$(({begin} / 150000)) 2>no
        then echo 503 sorry; else $CUT; fi" -- cat
    cmp seq out
    job -i seq --size 'mkdir asked 2>no && exit 1; wc -c <{}' --fetch "$CUT" -- cat
    cmp seq out
}

@test "a failed fetch, and a wrong length, are reported with their place" {
    prepare
    fails_with 2 -i seq --fetch "echo >>tries; exit 3; {begin}{end}" --size 9 -- cat
    says "cleave: seq: cannot be fetched from byte 0 on: the command ended with status 3"
    [ "$(wc -l <tries)" -eq 4 ]
    fails_with 2 -i seq --fetch "cat {} # {begin}{end}" --size 9 -- cat
    says "cleave: seq: fetched from byte 0: expected 9 bytes, got more: does who answers know ranges?"
    fails_with 2 -i seq --fetch "$CUT" --size 348895 -- cat
    grep -q "^cleave: seq: fetched from byte [0-9]*: expected [0-9]* bytes, got [0-9]*: is --size right?$" err
    gzip -c seq >seq.gz
    fails_with 2 -i seq.gz --fetch "$CUT" --size "$SIZE" -- cat
    says "cleave: seq.gz: expected text records, got gzip, whose ranges cannot be decoded: fetch all of it, as 'curl -sf URL | cleave run ...', or set --decode none to cut the bytes without decoding"
    job -i seq.gz --fetch "$CUT" --size "$SIZE" --decode none --split fixed:1 -- cat
    cmp seq.gz out
}

@test "a command of --size that tells nothing is an error" {
    prepare
    fails_with 2 -i seq --fetch "$CUT" --size 'echo much' -- cat
    says "cleave: seq: expected its size from the command of --size, as a number or a line Content-Length: N, got 'much'"
    fails_with 2 -i seq --fetch "$CUT" --size 'exit 4' -- cat
    says "cleave: seq: its size is unknown: the command of --size ended with status 4"
    refuses "--size: expected a number of bytes or a command that writes it, got '5k'" \
        run -i seq --fetch "$CUT" --size 5k -- cat
}

@test "--fetch is refused with options that need the bytes" {
    prepare
    refuses "--fetch: expected a command with {begin} and {end} (or {length}), as 'curl -sfr {begin}-{end} URL', got 'cat {}'" \
        run -i seq --fetch 'cat {}' --size 9 -- cat
    refuses "--fetch: expected --size BYTES, or --size with a command that writes it, as 'curl -sI URL'" \
        run -i seq --fetch "$CUT" -- cat
    refuses "--size: expected --fetch as well" run -i seq --size 9 -- cat
    refuses "--size: expected a command that writes the size of each of several inputs, as 'curl -sI {}', got '9'" \
        run -i seq -i seq --fetch "$CUT" --size 9 -- cat
    refuses "--fetch: expected neither --pairs nor --decode: fetched input is not decoded and has no mates" \
        run -i seq --fetch "$CUT" --size 9 --decode gzip -- cat
}

@test "a run that fetches can be resumed, and stopped while it waits" {
    prepare
    job -i seq --fetch "$CUT" --size "$SIZE" --block 100k --journal j -- cat
    job -i seq --fetch "$CUT" --size "$SIZE" --block 100k --journal j --resume -- cat
    cmp seq out
    fails_with 130 --fetch 'echo $$ >pid; kill -INT $PPID; exec sleep 1000; {begin}{end}' \
        --size 9 -- cat
    run ! kill -0 "$(cat pid)"
}

@test "hosts fetch their chunks, and another host retries a failed fetch" {
    prepare
    hosts 'name: a, slots: 1, command: env AT=a' 'name: b, slots: 1, command: env AT=b' >h.yaml
    # Only a header goes over the link; what else is fetched says who did it.
    (echo head && seq 50000) >in
    timeout $LONG "$CLEAVE" run -i in --fetch "echo \$AT >>who; $CUT" --size "$SIZE" --header \
        --block 40k --hosts h.yaml --json -o out -- sed 1d >json 2>err
    seq 50000 | cmp - out
    grep -q '"sent_bytes": [1-9][0-9]\{0,1\},$' json
    grep -qx a who
    # There is nothing to share.
    rm who
    job --fetch "echo \$AT >>who; ${CUT/\{\}/seq}" --size 'wc -c <seq' --hosts h.yaml --shared-input -- cat
    cmp seq out
    grep -qx '[ab]' who
    # Of two hosts, one cannot.
    job -i seq --fetch "[ \"\$AT\" != a ] && $CUT" --size "$SIZE" --block 100k --retries 2 --hosts h.yaml -- cat
    cmp seq out
    # With a journal, what was fetched there is known again.
    job -i seq --fetch "$CUT" --size "$SIZE" --journal j --hosts h.yaml --policy guided -- sh -c 'echo >>ran; cat'
    rm ran
    job -i seq --fetch "$CUT" --size "$SIZE" --journal j --resume --hosts h.yaml --policy guided -- sh -c 'echo >>ran; cat'
    cmp seq out
    [ ! -e ran ]
    # None can.
    fails_with 1 -i seq --fetch "test -z \"\$AT\" && $CUT" --size "$SIZE" --block 200k --retries 1 --hosts h.yaml -- cat
    grep -q 'the command lacks input: cannot be fetched from byte .*: the command ended with status 1' err
}
