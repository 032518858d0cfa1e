# Results that cannot be written. SPDX-License-Identifier: MIT
load helper

@test "a full disk is told, status 1" {
    [ -c /dev/full ] || skip "/dev/full is not there"
    for words in "plan load -p $LAB -l 2000" "plan load -p $LAB -l 2000 --json" \
        "simulate load -p $LAB -l 2000 --runs 2" "compare load -p $LAB -l 2000 --policies umr" \
        "plan reduce -N 50 -d 1 -c 1" "plan reduce -N 5000 -d 1 -c 1 --json" \
        "simulate reduce -N 8 -d exp:1 -c 1 --runs 5" "compare reduce -N 8 -d 1 -c 1 --csv" \
        "compare reduce -N 8 -d 1 -c 1 --json" policies "policies --json" engines version "version --json" help \
        "platform -w 10000" "plan load --help" "help --man"; do
        echo "cleave $words"
        run bash -c "\"\$CLEAVE\" $words 2>&1 >/dev/full"
        [ "$status" -eq 1 ]
        [ "$output" = "cleave: cannot write to standard output: No space left on device" ]
    done
}

@test "a full disk behind --trace and -o" {
    [ -c /dev/full ] || skip "/dev/full is not there"
    cleave 1 plan load -p $LAB -l 2000 --trace /dev/full
    [[ $stderr == "cleave: --trace: "*"No space left on device" ]]
    cleave 1 plan reduce -N 2000 -d 1 -c 1 --trace /dev/full
    [[ $stderr == "cleave: --trace: "*"No space left on device" ]]
    cleave 1 platform -w 10000 -o /dev/full
    [[ $stderr == "cleave: --output: "*"No space left on device" ]]
}

@test "a closed stdout is told, and no file takes its place" {
    run bash -c "\"\$CLEAVE\" plan load -p $LAB -l 20 --trace $BATS_TEST_TMPDIR/trace 2>&1 >&-"
    [ "$status" -eq 1 ]
    [ "$output" = "cleave: cannot write to standard output: Bad file descriptor" ]
    run ! grep -q ^makespan "$BATS_TEST_TMPDIR/trace"
    run bash -c "\"\$CLEAVE\" plan load -p $LAB --polcy x 2>&-"
    [ "$status" -eq 2 ]
    [ -z "$output" ]
}

@test "a reader that goes away: no message" {
    run bash -c "\"\$CLEAVE\" platform -w 100000 2>&1 >&3 3>&- | cat; exit \${PIPESTATUS[0]}" \
        3> >(head -n 1 >/dev/null)
    [ -z "$output" ]
    [ "$status" -ne 0 ]
    # The same where the signal is ignored and the write fails instead.
    run bash -c "trap '' PIPE; { \"\$CLEAVE\" platform -w 100000; echo \$? >&2; } | head -n 1 >/dev/null"
    [ "$output" = 1 ]
}
