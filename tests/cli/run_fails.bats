# run_fails.bats -- cleave run with workers and records that make commands fail.
# SPDX-License-Identifier: MIT
load helper
load job

# What a hung run would take; nothing here depends on how long things last.
LONG=100

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 1 50000 >in
}

# --- workers that fail ------------------------------------------------------------------------

@test "a worker that only fails costs nothing, under any policy" {
    prepare
    local how names
    for how in '' '--block 20k' '--policy self' '--policy factoring' '--policy umr' '--policy one-round' '--retries 2'; do
        for names in 'good,bad:false' 'bad:false,good' 'bad:false,good,worse:false'; do
            # shellcheck disable=SC2086
            job -i in -j "$names" $how -- cat
            cmp in out
            says 'cleave: bad: was rested: '
            says ' succeeded elsewhere'
        done
    done
    # A stream, and by what the environment says.
    # shellcheck disable=SC2016
    job -j good,bad -- sh -c '[ "$CLEAVE_WORKER" != bad ] && cat' <in
    cmp in out
    # A command that stays.
    job -i in -j 'good,bad:false' --persistent -- cat
    cmp in out
}

@test "a host that lacks something costs nothing" {
    prepare
    printf '%s\n' 'port: multi' 'workers:' \
        '  - {name: a, slots: 2, speed: 1e7, bandwidth: 1e8, command: env HAS=1}' \
        '  - {name: b, slots: 3, speed: 1e7, bandwidth: 1e8, command: env}' >h.yaml
    local how
    for how in '' '--block 20k' '--policy umr'; do
        # shellcheck disable=SC2016,SC2086
        job -i in --hosts h.yaml $how -- sh -c '[ -n "$HAS" ] && cat'
        cmp in out
        says 'cleave: b: was rested: '
    done
    # shellcheck disable=SC2016
    cleave 0 run -i in -o out --hosts h.yaml --json -- sh -c '[ -n "$HAS" ] && cat'
    [[ $output =~ '"name": "b.0", '[^}]*'"rests": '[1-9] ]]
}

@test "a chunk is tried again by another worker first" {
    prepare
    # shellcheck disable=SC2016
    job -i in -j a,b --block 1M --retries 2 --joblog log -- sh -c '[ -e tried ] || { touch tried; exit 1; }; cat'
    cmp in out
    [ "$(tail -n +2 log | cut -f 2 | sort | xargs)" = "a b" ]
    # Where there is no other, by the same.
    rm tried
    # shellcheck disable=SC2016
    job -i in -j a --block 1M --retries 2 --joblog log -- sh -c '[ -e tried ] || { touch tried; exit 1; }; cat'
    cmp in out
    # Not even once, if one run is what was asked for.
    rm tried
    # shellcheck disable=SC2016
    fails_with 1 -i in -j a,b --block 1M --retries 1 --joblog log -- sh -c '[ -e tried ] || { touch tried; exit 1; }; cat'
    [ "$(wc -l <log)" -eq 2 ]
}

@test "a command that always fails ends the run soon, and it is said" {
    prepare
    fails_with 1 -i in -j 2 --block 1 --joblog log -- false
    says 'chunks failed and none succeeded: does the command read standard input? (--halt never: do the rest all the same)'
    [ "$(wc -l <log)" -lt 200 ]
    head -n 300 in >few
    fails_with 1 -i few -j 2 --block 1 --halt never -- false
    says 'cleave: all chunks failed: does the command read standard input?'
    # One that succeeds now and then goes on.
    # shellcheck disable=SC2016
    fails_with 1 -i few -j 2 --block 1 -- sh -c 'read -r n; echo "$n"; [ "$n" -eq 1 ]'
    [ "$(cat out)" = 1 ]
    [[ $(cat err) != *halted* ]]
}
