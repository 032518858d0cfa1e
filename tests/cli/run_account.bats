# run_account.bats -- every byte of the input is done, failed or left, and said to be.
# SPDX-License-Identifier: MIT
load helper

# prepare -- a folder with a and b, 3,000 lines each, of which some say "bad".
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 1 3000 | sed 's/.*77$/bad/' >a
    seq 3001 6000 | sed 's/.*777$/bad/' >b
    # Fails where the input has a bad line, and puts the lines out otherwise.
    printf '#!/bin/sh\nx=$(cat; echo .)\ncase $x in *bad*) exit 3 ;; esac\nprintf %%s "${x%%.}"\n' >work
    chmod +x work
}

# ranges NAME -- those of a list in the JSON file `said`, as "begin end input".
ranges() {
    sed -n "/^  \"$1\": \[/,/^  ]/p" said |
        sed -n 's/^ *{"input": "\(.*\)", "begin": \([0-9]*\), "end": \([0-9]*\)}.*/\2 \3 \1/p'
}

# sum LIST -- bytes of it.
sum() {
    ranges "$1" | awk '{ n += $2 - $1 } END { print n + 0 }'
}

# field NAME -- a number of `said`.
field() {
    sed -n "s/^  \"$1\": \([0-9]*\),*\$/\1/p" said
}

# account STATUS ARGUMENT... -- a run with this exit status, whose summary is in `said`.
account() {
    local expected=$1
    shift
    local status=0
    timeout $LONG "$CLEAVE" run --json "$@" >out 2>said </dev/null || status=$?
    if [ "$status" -ne "$expected" ] || [ "$(field exit_status)" != "$expected" ]; then
        echo "cleave run $*: exit status $status, said $(field exit_status), expected $expected"
        cat said
        return 1
    fi
}

# without LIST FILE -- the file without the ranges that the list has of it.
without() {
    local at=0 begin end name
    while read -r begin end name; do
        [ "$name" = "$2" ] || continue
        tail -c +$((at + 1)) "$2" | head -c $((begin - at))
        at=$end
    done < <(ranges "$1")
    tail -c +$((at + 1)) "$2"
}

@test "a run that does all leaves nothing and fails nothing" {
    prepare
    account 0 -i a -i b -j 2 --block 1k -- cat
    cmp <(cat a b) out
    [ "$(field input_bytes)" -eq "$(cat a b | wc -c)" ]
    [ "$(ranges failed)" = "" ]
    [ "$(ranges left)" = "" ]
}

@test "failed ranges are listed by file and bytes, and are missing from the output" {
    prepare
    for options in "" "--unordered" "--split nul"; do
        # shellcheck disable=SC2086
        account 1 -i a -i b -j 3 --block 700 $options -- ./work
        [ "$(field failed_chunks)" -gt 0 ]
        [ "$(sum left)" -eq 0 ]
        [ "$(ranges failed | sort -u | wc -l)" -eq "$(ranges failed | wc -l)" ]
        [ "$options" = "" ] || continue
        { without failed a && without failed b; } | cmp - out
        [ "$(($(wc -c <out) + $(sum failed)))" -eq "$(cat a b | wc -c)" ]
    done
}

@test "a halted run lists unread ranges, and writes the rest" {
    prepare
    account 1 -i a -i b -j 1 --block 700 --halt soon,fail=1 -- ./work
    [ "$(sum left)" -gt 0 ]
    [ "$(field failed_chunks)" -eq 1 ]
    [ "$(($(wc -c <out) + $(sum failed) + $(sum left)))" -eq "$(cat a b | wc -c)" ]
    # The same in words.
    run -1 --separate-stderr "$CLEAVE" run -i a -i b -j 1 --block 700 --halt soon,fail=1 -- ./work
    [[ $stderr == *"cleave: left undone: $(sum left) bytes (a: $(ranges left | awk 'NR == 1 { print $1 " to " $2 }'), b: 0 to $(wc -c <b))"* ]]
    # A list that is long is cut.
    account 1 -i a -j 4 --block 20 --halt now,fail=1 -- ./work
    [ "$(($(field input_bytes) + $(sum left)))" -eq "$(wc -c <a)" ]
}

@test "a stopped run lists unread ranges" {
    prepare
    account 143 -i a -i b -j 1 --block 4k -- sh -c 'cat; [ -e go ] && kill -TERM $PPID; touch go'
    [ "$(sum left)" -gt 0 ]
    [ "$(($(field input_bytes) + $(sum left)))" -eq "$(cat a b | wc -c)" ]
    # Of a stream, what had come.
    rm -f go
    (cat a; until [ -e stop ]; do sleep 0.05; done) |
        (timeout $LONG "$CLEAVE" run -j 1 --block 4k -- sh -c 'cat; kill -TERM $PPID' >out 2>err || true; touch stop)
    grep -q '^cleave: left undone: [0-9]* bytes (standard input: [0-9]* to [0-9]*), and the input that was not read$' err
}

@test "a stopped run leaves chunks that are done if their output was not written" {
    prepare
    # The first chunk waits until three others are done.
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' 'read -r first; echo "$first"; cat' \
        'if [ "$first" = 1 ]; then until [ "$(wc -l <ends)" -ge 3 ]; do sleep 0.02; done; kill -TERM $PPID; sleep 60; fi' \
        'echo >>ends' >slow
    chmod +x slow
    for options in "" "--group" "--reduce cat"; do
        : >ends
        # shellcheck disable=SC2086
        account 143 -i a -j 2 --block 700 --backups off $options -- ./slow
        [ "$(field unwritten)" -ge 2 ]
        [ "$(field chunks)" -eq 0 ]
        [ "$(field input_bytes)" -eq 0 ]
        [ "$(ranges left)" = "0 $(wc -c <a) a" ]
        [ "$(field cut_bytes)" -eq "$(wc -c <out)" ]
        [[ $(cat said) == *"stopped by SIGTERM: 0 chunks done, 0 "*" of "*"; the output of "*" more was not written. "* ]]
    done
    # Without an order they are written.
    : >ends
    account 143 -i a -j 2 --block 700 --backups off --unordered -- ./slow
    [ "$(field unwritten)" -eq 0 ]
    [ "$(field input_bytes)" -eq "$(wc -c <out)" ]
}

@test "all modes account for the whole input" {
    prepare
    local all
    all=$(cat a b | wc -c)
    # A stream.
    cat a b | { timeout $LONG "$CLEAVE" run --json -j 2 -- cat >out 2>said; }
    [ "$(field input_bytes)" -eq "$all" ]
    cmp <(cat a b) out
    # With a header, from two files.
    (echo head; cat a) >c
    (echo head; cat b) >d
    account 0 -i c -i d -j 2 --header --block 1k -- tail -n +2
    cmp <(cat a b) out
    # Pairs.
    sed 's/.*/@&\nACGT\n+\nIIII/' a >e.fq
    sed 's/.*/@&\nTGCA\n+\nFFFF/' b >f.fq
    account 0 -i e.fq --pairs f.fq --split fastq -j 2 --block 9k -- sh -c 'cat; cat <&3 >/dev/null'
    cmp e.fq out
    # Reduced, in order and in any order, with a failed chunk among them.
    account 0 -i a -i b -j 2 --block 1k --reduce 'cat' -- cat
    cmp <(cat a b) out
    account 0 -i a -i b -j 2 --block 1k --reduce "awk '{ n += \$1 } END { print n }'" --commutative -- wc -l
    [ "$(cat out)" -eq 6000 ]
    account 1 -i a -i b -j 2 --block 1k --reduce 'cat' -- ./work
    { without failed a && without failed b; } | cmp - out
    account 1 -i a -i b -j 2 --block 1k --reduce "awk '{ n += \$1 } END { print n }'" --commutative --ok 0 -- sh -c './work | wc -l | grep -v "^0\$"'
    [ "$(cat out)" -eq "$({ without failed a && without failed b; } | wc -l)" ]
    # Resumed.
    account 1 -i a -i b -j 2 --block 1k --journal j -- ./work
    printf '#!/bin/sh\ncat\n' >work
    account 0 -i a -i b -j 2 --block 1k --journal j --resume -- ./work
    cmp <(cat a b) out
    [ "$(sum failed)" -eq 0 ]
    # On hosts.
    printf 'workers:\n  - {name: %s, slots: 1, speed: 1e7, bandwidth: 1e8}\n' one >h.yaml
    printf '  - {name: %s, slots: 2, speed: 1e7, bandwidth: 1e8}\n' two >>h.yaml
    account 0 -i a -i b --hosts h.yaml --block 1k -- cat
    cmp <(cat a b) out
}

@test "chunks that would have no end are refused in one line" {
    prepare
    refuses "policy 'self': parameter 'chunk': expected at least 1, so that chunks have an end, got 1e-308" \
        run -i a --policy self --param chunk=1e-308 -- cat
    refuses "policy 'learn': parameter 'most': expected at least 1, so that chunks have an end, got 0.5" \
        run -i a --param most=0.5 -- cat
    refuses "policy 'learn': parameter 'first': expected at least 1, so that chunks have an end, got 1e-300" \
        run -i a --param first=1e-300 --param growth=1 -- cat
    refuses "--block: expected at least 1 byte, got 0.5" run -i a --block 0.5 -- cat
    cd "$CLEAVE_SOURCE_DIR"
    refuses "policy 'self': parameter 'chunk': expected at least 0.0002, so that chunks have an end, got 1e-308" \
        simulate load -p $LAB -l 2000 --policy self --param chunk=1e-308
    refuses "policy 'learn': parameter 'most': expected at least 0.0002, so that chunks have an end, got 1e-09" \
        simulate load -p $LAB -l 2000 --policy learn --param most=1e-9
}
