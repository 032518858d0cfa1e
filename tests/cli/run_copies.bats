#!/usr/bin/env bats
# run_copies.bats -- chunks that are late are run by a second worker as well.
# SPDX-License-Identifier: MIT

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq -w 1 40000 >numbers
    cat >filter <<'END'
#!/bin/sh
# Reads all first. On worker w1 it does what the first argument says, the first time.
cat >"in.$$"
if [ "$CLEAVE_WORKER" = w1 ] && mkdir taken 2>/dev/null; then
    case $1 in
    hangs) kill -STOP $$ ;;
    fails) sleep 60; exit 3 ;;
    esac
fi
sleep 0.3
cat "in.$$"
END
    chmod +x filter
}

@test "a command that hangs is run by another worker as well" {
    "$CLEAVE" run -q -j 3 -i numbers --policy learn-2 --trace t -- ./filter hangs >out
    cmp numbers out
    grep -q '"order":"copy","worker":"w[02]","peer":"w1"' t
    [ "$(grep -c '"order":"copy"' t)" -eq 1 ]
    run "$CLEAVE" replay t
    [ "$status" -eq 0 ]
    [[ $output == "the same: "* ]]
}

@test "a copy that is first keeps a failure that would come later from counting" {
    "$CLEAVE" run -q -j 3 -i numbers --policy learn-2 --joblog log -- ./filter fails >out
    cmp numbers out
}

@test "nothing is copied if lines are written as they come" {
    run timeout 3 "$CLEAVE" run -q -j 3 -i numbers --policy learn-2 --line-buffer --unordered -- ./filter hangs
    [ "$status" -eq 124 ]
}
