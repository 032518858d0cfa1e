# chaos.bats -- the program that makes faults happen sees what is wrong. SPDX-License-Identifier: MIT
#
# `make chaos` tries cleave; here are programs that do what cleave must never do.
load helper

setup_file() {
    export CHAOS=$CLEAVE_BUILD_DIR/chaos
    [ -x "$CHAOS" ]
}

# stand_in LINE... -- $bad is a shell script of these lines; $CLEAVE is the real one.
stand_in() {
    bad=$BATS_TEST_TMPDIR/bad
    printf '%s\n' '#!/bin/sh' "$@" >"$bad"
    chmod +x "$bad"
}

# notices TEXT ARGUMENT... -- some faults of $bad are told so.
notices() {
    local text=$1
    shift
    run "$CHAOS" --cleave "$bad" --tmp "$BATS_TEST_TMPDIR" -j 2 -n 6 "$@"
    [ "$status" -eq 1 ]
    [[ $output == *"$text"* ]]
}

@test "a line that is missing" {
    stand_in '"$CLEAVE" "$@" | sed "\$d"' 'exit 0'
    notices "status 0 and a wrong output" --fault none -n 12
}

@test "a byte that is another" {
    stand_in '"$CLEAVE" "$@" | sed "3s/[a-z]/#/"' 'exit 0'
    notices "status 0 and a wrong output" --fault none -n 12
}

@test "chunks that failed and were not told" {
    stand_in '"$CLEAVE" "$@"' 'exit 0'
    notices "status 0, this cannot have worked" --fault poison
}

@test "failures without a reason, and without a word" {
    stand_in 'exit 1'
    notices "status 1, this should have worked" --fault none
    notices "status 1 without a word" --fault poison
    stand_in 'echo no >&2' 'exit 5'
    notices "status 5" --fault poison
}

@test "crashes" {
    stand_in 'kill -SEGV $$'
    notices "signal 11 ended it" --fault poison
}

@test "processes and files that are left" {
    stand_in 'sleep 50 </dev/null >/dev/null 2>&1 &' 'exec "$CLEAVE" "$@"'
    notices "left a process: S sleep 50" --fault none --grace 1
    stand_in 'touch "$TMPDIR/scratch"' 'exec "$CLEAVE" "$@"'
    notices "left a file/tmp/scratch" --fault none
    stand_in 'touch core' 'exec "$CLEAVE" "$@"'
    notices "left a file/core" --fault none
}

@test "runs that do not end" {
    stand_in 'exec sleep 100'
    notices "did not end in 1 s: S sleep 100" --fault none --limit 1 -n 2
}

@test "cleave-chaos detects an overwritten old file" {
    stand_in 'for word; do case $last in -o) : >"$word" ;; esac; last=$word; done' \
        '"$CLEAVE" "$@"' 'status=$?' \
        'last=; for word; do case $last in -o) [ $status = 0 ] || : >"$word" ;; esac; last=$word; done' \
        'exit $status'
    notices "the old file has gone" --fault poison -n 12
}

@test "cleave-chaos detects missing journals" {
    # What a run that was killed had finished is done again, and once too often.
    stand_in 'case "$*" in *--resume*) "$CLEAVE" "$@" | sed p ;; *) exec "$CLEAVE" "$@" ;; esac'
    notices "status 0 and a wrong output" --fault kill-master -n 30
}

@test "hosts that go down, are full, far or slow lose nothing" {
    for fault in host-down full-host link-far link-slow; do
        run "$CHAOS" --cleave "$CLEAVE" --tmp "$BATS_TEST_TMPDIR" -j 2 -n 4 --fault $fault
        echo "$output"
        [ "$status" -eq 0 ]
    done
}

@test "and the real one passes" {
    run "$CHAOS" --cleave "$CLEAVE" --tmp "$BATS_TEST_TMPDIR" -j 2 -n 12 --fault none
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"chaos: 12 faults"* ]]
    # The same fault again, by its name.
    run "$CHAOS" --cleave "$CLEAVE" --tmp "$BATS_TEST_TMPDIR" --only 1:3 -v
    [ "$status" -eq 0 ]
    [[ $output == *"1:3 "*"the folder is "* ]]
    run "$CHAOS" --cleave /nowhere
    [ "$status" -eq 2 ]
    [[ $output == *"/nowhere is no program"* ]]
}
