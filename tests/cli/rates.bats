# rates.bats -- rests of workers, rates and limits (docs/guide/rates.md). SPDX-License-Identifier: MIT
load helper
load job

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
}

# once -- a script: the first start with an argument asks to be run later, the next one prints it.
once() {
    cat >later.sh <<'END'
#!/bin/sh
if mkdir "seen.$1" 2>/dev/null; then
    echo "Retry-After: 0.01" >&2
    exit 75
fi
echo "done $1"
END
    chmod +x later.sh
}

# --- later -------------------------------------------------------------------------------------

@test "status 75 of items is neither a failure nor a retry, here and on hosts" {
    prepare
    once
    hosts 'name: a, slots: 2' 'name: b' >h.yaml
    local how
    for how in '-j 1' '-j 3' '-j 3 --retries 1' '--hosts h.yaml' '-j 2 --group' '-j 3 --policy items-list'; do
        rm -rf seen.*
        # shellcheck disable=SC2086
        run --separate-stderr timeout "$LONG" "$CLEAVE" run $how --json -o out -- ./later.sh {} ::: 1 2 3 4 5
        [ "$status" -eq 0 ]
        [ "$(sort out)" = "$(printf 'done %d\n' 1 2 3 4 5)" ]
        has '"later": 5'
        has '"retries": 0'
        has '"failed_chunks": 0'
    done
}

@test "status 75 of chunks is neither a failure nor a retry, here and on hosts" {
    prepare
    seq 1 20000 >in
    cat >later.sh <<'END'
#!/bin/sh
cat >part.$$
if mkdir "seen.$(head -c 20 part.$$ | cksum | tr ' ' .)" 2>/dev/null; then
    echo "Retry-After: 0.01" >&2
    exit 75
fi
cat part.$$
END
    chmod +x later.sh
    hosts 'name: a, slots: 2' 'name: b' >h.yaml
    local how
    for how in '-j 1' '-j 3' '--hosts h.yaml' '-j 3 --block 5k' '-j 3 --policy self --block 5k' '-j 2 --unordered'; do
        rm -rf seen.*
        # shellcheck disable=SC2086
        run --separate-stderr timeout "$LONG" "$CLEAVE" run $how --json -i in -o out -- ./later.sh
        [ "$status" -eq 0 ]
        sort -n out | cmp in
        [[ $output =~ '"later": '[1-9] ]]
        has '"failed_chunks": 0'
    done
}

@test "another worker does the work of one that rests" {
    prepare
    # shellcheck disable=SC2016
    cleave 0 run --json -o out -j 'a,b' -- sh -c '[ "$CLEAVE_WORKER" = a ] && exit 75; echo {}' ::: 1 2 3 4 5 6
    [ "$(xargs <out)" = "1 2 3 4 5 6" ]
    [[ $output =~ '"name": "a", "chunks": 0, "units": 0, "failed": 0, "rests": 0, "later": '[1-9] ]]
    [[ $output =~ '"name": "b", "chunks": 6' ]]
}

@test "a trace shows the rest of a worker" {
    prepare
    once
    job -j 1 --trace trace.jsonl -- ./later.sh {} ::: 1
    grep -q '"event":"came","worker":"w0","start":0.*"end":' trace.jsonl
    timeout "$LONG" "$CLEAVE" report trace.jsonl >report.txt
}

@test "--later names other statuses or none, and --ok wins" {
    prepare
    fails_with 1 -j 1 --later none -- sh -c 'exit 75' {} ::: 1
    job -j 1 --ok 0,75 -- sh -c 'echo {}; [ {} = 2 ] || exit 75' ::: 1 2
    [ "$(xargs <out)" = "1 2" ]
    job -j 1 --later 9 -- sh -c 'mkdir seen && exit 9; echo {}' ::: 1
    [ "$(cat out)" = 1 ]
    fails_with 1 -j 1 --later 9 -- sh -c 'exit 75' {} ::: 1
    refuses "--later: expected exit statuses from 0 to 255, as '0,1' or '0-3', got 'often'" \
        run --later often -- cat
    refuses "--later: status 0 is success; expected others, as '75', or none" run --later 0-9 -- cat
}
