# Results that cannot be written. SPDX-License-Identifier: MIT
load helper

@test "a full disk is reported with status 1" {
    [ -c /dev/full ] || skip "/dev/full is not there"
    "$CLEAVE" plan load -p $LAB -l 200 --trace "$BATS_TEST_TMPDIR/trace" >/dev/null
    for words in "plan load -p $LAB -l 2000" "plan load -p $LAB -l 2000 --json" \
        "simulate load -p $LAB -l 2000 --runs 2" "compare load -p $LAB -l 2000 --policies umr" \
        "plan reduce -N 50 -d 1 -c 1" "plan reduce -N 5000 -d 1 -c 1 --json" \
        "simulate reduce -N 8 -d exp:1 -c 1 --runs 5" "compare reduce -N 8 -d 1 -c 1 --csv" \
        "compare reduce -N 8 -d 1 -c 1 --json" policies "policies --json" engines version "version --json" help \
        "platform -w 10000" "plan load --help" "help --man" "completions bash" "figures --list" \
        "plan items --sizes examples/files.txt -p examples/two-kinds.yaml" "plan streams -p examples/streams.yaml" "simulate streams -p examples/streams.yaml -T 5" \
        "report $BATS_TEST_TMPDIR/trace -o -" "replay $BATS_TEST_TMPDIR/trace" \
        "compare load -p $LAB -l 200 --policies umr -o -" "calibrate -j 1 -i $LAB -- wc -l" \
        "run -q -i $LAB -- cat" "run -q -i $LAB -o - -- cat" "run --json -i $LAB -o /dev/null -- cat" \
        "run --dry-run -i $LAB -- cat"; do
        echo "cleave $words"
        run bash -c "\"\$CLEAVE\" $words 2>&1 >/dev/full"
        [ "$status" -eq 1 ]
        # What calibrate says of a machine that is busy is another matter.
        output=$(grep -vE ': (this machine was busy|w0: measurements differ)' <<<"$output")
        [ "$output" = "cleave: cannot write to standard output: No space left on device" ]
    done
}

@test "a full disk below --trace and -o" {
    [ -c /dev/full ] || skip "/dev/full is not there"
    cleave 1 plan load -p $LAB -l 2000 --trace /dev/full
    [[ $stderr == "cleave: --trace: "*"No space left on device" ]]
    cleave 1 plan reduce -N 2000 -d 1 -c 1 --trace /dev/full
    [[ $stderr == "cleave: --trace: "*"No space left on device" ]]
    cleave 1 platform -w 10000 -o /dev/full
    [[ $stderr == "cleave: --output: "*"No space left on device" ]]
    cleave 1 run -q -i $LAB -o /dev/full -- cat
    [ "$stderr" = "cleave: cannot write to /dev/full: No space left on device" ]
    # The work is done all the same.
    cleave 1 run -q -i $LAB -j 2 --block 100 --joblog /dev/full -- cat
    [ "$stderr" = "cleave: --joblog: cannot write '/dev/full': No space left on device" ]
    [ "$output" = "$(cat $LAB)" ]
    cleave 1 run -q -i $LAB --trace /dev/full -- cat
    [[ $stderr == "cleave: --trace: "*"No space left on device" ]]
    [ "$output" = "$(cat $LAB)" ]
}

@test "a limit on file sizes is reported, and commands do not inherit it" {
    cd "$BATS_TEST_TMPDIR"
    run bash -c 'ulimit -f 1; "$CLEAVE" platform -w 1000 2>&1 >file'
    [ "$status" -eq 1 ]
    [ "$output" = "cleave: cannot write to standard output: File too large" ]
    run bash -c 'ulimit -f 1; echo | "$CLEAVE" run -q --joblog log -- sh -c "head -c 5000 /dev/zero >file" 2>&1'
    [ "$status" -eq 1 ]
    [ "$(tail -n 1 log | cut -f 7)" = 153 ] # by the shell: 128 and SIGXFSZ
}

@test "failed rows of results are reported by name" {
    cd "$BATS_TEST_TMPDIR"
    mkdir small
    mount -t tmpfs -o size=64k none small 2>/dev/null || skip "may not mount a small disk"
    run "$CLEAVE" run -q --results small/rows.csv -- 'seq 20000; : {}' ::: a
    umount small
    [ "$status" -eq 1 ]
    [ "${lines[0]}" = "cleave: cannot write to small/rows.csv: No space left on device" ]
    [[ ${lines[1]} == "cleave: 'small/rows.csv' was not made; the incomplete file is: small/.rows.csv.part-"* ]]
}

@test "a directory removed during a run: its files fail, the rest is done" {
    cd "$BATS_TEST_TMPDIR"
    seq 5 >in
    for option in --joblog --trace; do
        mkdir gone
        cleave 1 run -q -i in $option gone/file -- sh -c 'rm -rf gone; cat'
        [ "$output" = "$(seq 5)" ]
        [ "$stderr" = "cleave: $option: cannot write 'gone/file': No such file or directory" ]
    done
    mkdir gone
    cleave 1 run -q -i in -o gone/file -- sh -c 'rm -rf gone; cat'
    [ "$stderr" = "cleave: --output: cannot write 'gone/file': No such file or directory" ]
    mkdir gone
    cleave 1 run -q -i in --memory 1 --tmpdir gone -- sh -c 'rm -rf gone; cat'
    [ "$stderr" = "cleave: cannot keep output in 'gone': No such file or directory" ]
}

@test "a closed stdout is reported, and no file takes its descriptor" {
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
