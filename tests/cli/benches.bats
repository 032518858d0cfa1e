# benches.bats -- benches that compare with others are fair to them. SPDX-License-Identifier: MIT
load helper

# Stands in for the testbed, for ssh, which notes whom it connected to and does it here, and for GNU
# parallel, which notes the ssh that it was given, as the real one understands it.
stand_ins() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir bin tools
    cp -r "$CLEAVE_SOURCE_DIR/bench" .
    cat >tools/testbed <<'S'
#!/bin/bash
case $1 in up) mkdir "$3" && sed 's/\([^ ]*\).*/Host \1\n  HostName 198.19.1.1/' "$2" >"$3/ssh_config" ;; esac
S
    cat >bin/ssh <<S
#!/bin/bash
echo "ssh \$*" >>"$PWD/log"
exec sh -c "\${@: -1}"
S
    cat >bin/parallel <<S
#!/bin/bash
while [ \$# -gt 0 ]; do
    case \$1 in --ssh) how=\$2 ;; -a) input=\$2 ;; esac
    shift
done
{ echo parallel \$how; $(command -v ssh) -G -F "\${how##* }" h01; } >>"$PWD/log"
exec tr 0-9 a-j <"\$input"
S
    chmod +x tools/testbed bin/*
}

@test "GNU parallel has connections that are open, as cleave has" {
    command -v ssh >/dev/null || skip "ssh is not there"
    command -v cc >/dev/null || skip "no compiler"
    stand_ins
    PATH=$PWD/bin:$PATH BENCH_REPEATS=1 BENCH_KINDS=equal bench/bench_ssh.sh 64 "$(dirname "$CLEAVE")" >out
    grep -q '^equal parallel at best by cleave,' out
    # Each host was connected to before, by the settings that parallel had; and cleave had them too.
    config=$(sed -n 's/^parallel ssh -F //p' log | sort -u)
    [ -n "$config" ] && [ "$(wc -l <<<"$config")" -eq 1 ]
    sed '/^parallel/,$d' log >before
    sed '1,/^parallel/d' log >after
    [ "$(grep -c "^ssh -F $config h[0-9][0-9] true\$" before)" -eq 16 ]
    [ "$(grep "^ssh -F $config .* worker" after | grep -o ' h[0-9][0-9] ' | sort -u | wc -l)" -eq 16 ]
    [ "$(grep -c '^controlmaster auto' log)" -eq "$(grep -c '^parallel' log)" ]
    [ "$(grep -c '^controlpath .*/mux-' log)" -eq "$(grep -c '^parallel' log)" ]
    # Nor does another bench make parallel connect for each job.
    run grep -nE '^ *(parallel|par) .*(--ssh|-S) ' "$CLEAVE_SOURCE_DIR"/bench/*.sh
    [ "$status" -eq 0 ]
    run grep -vF -- '--ssh "$masters"' <<<"$output"
    [ -z "$output" ]
}

@test "stand_in of bench-scenes returns its input, and sums lines" {
    command -v cc >/dev/null || skip "no compiler"
    cd "$BATS_TEST_TMPDIR"
    cc -o stand_in "$CLEAVE_SOURCE_DIR/bench/stand_in.c" -lm
    printf '%s\n' 100 20 '{"cost": 3}' 'none' >in
    printf 4 >>in
    for kind in stream count slurp late; do
        ./stand_in $kind 0.01 @ <in | cmp - in
        SLOWS=1,5 CLEAVE_SLOT=2 ./stand_in $kind 0 0.001 <in | cmp - in
        [ -z "$(./stand_in $kind 0 @ </dev/null)" ]
    done
    [ "$(./stand_in sum 0 @ <in)" = 5 ]
    "$CLEAVE" run -q --persistent -j 2 -i in -- ./stand_in persistent 0 @ | cmp - in
    # HANG_AFTER stops it, SIGCONT continues it.
    HANG_AFTER=2 ./stand_in stream 0 @ <in >out &
    until grep -q '^State:.T' /proc/$!/status; do :; done
    kill -CONT $!
    wait $!
    cmp in out
}

@test "bench-scenes compares contenders, and notices a wrong output" {
    command -v python3 >/dev/null || skip "no Python"
    command -v cc >/dev/null || skip "no compiler"
    cd "$BATS_TEST_TMPDIR"
    cat >loses <<'S'
#!/bin/bash
"$CLEAVE" "$@"
while [ "$1" != -o ]; do shift; done
sed -i '$d' "$2"
S
    chmod +x loses
    run "$CLEAVE_SOURCE_DIR/bench/bench-scenes" --only '^small-5' --rounds 2 --busy 1 --json runs \
        --contender "one=$CLEAVE --policy learn" --contender "two=$PWD/loses"
    [ "$status" -eq 0 ]
    [ "$(grep -c '"contender": "one".*"wrong": null' runs)" -eq 2 ]
    [ "$(grep -c '"contender": "two".*"wrong": "wrong output"' runs)" -eq 2 ]
    [[ $output == *"one: 1 scenes,"*"wrong 0"*"two: 1 scenes,"*"wrong 2"* ]]
    # The same seed draws the same scenes, another seed others.
    for seed in 1 1 2; do
        "$CLEAVE_SOURCE_DIR/bench/bench-scenes" --contender "one=$CLEAVE" --draw $seed --count 5 --list >>drawn
    done
    [ "$(sort -u drawn | wc -l)" -eq 10 ]
    run -2 "$CLEAVE_SOURCE_DIR/bench/bench-scenes" --contender "one=./missing"
}

@test "the table of speed has a ratio for each row, and marks those above their goals" {
    command -v cc >/dev/null && command -v gzip >/dev/null || skip "no compiler or no gzip"
    python3 -c '' || skip "python3 is not there"
    run "$CLEAVE_SOURCE_DIR/bench/bench-table" --build "$(dirname "$CLEAVE")" --rounds 1 --megabytes 1 \
        --only '^(gzip, wc|1 MB|--records)' --out "$BATS_TEST_TMPDIR/table.tsv"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/table.tsv")" = $'what\tpeer\tours s\tpeer s\tratio\tgoal\t' ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/table.tsv")" -eq 4 ]
    awk -F '\t' 'NR > 1 && ($3 <= 0 || $4 <= 0 || ($6 != "" && ($5 > $6) != ($7 == "*"))) { exit 1 }' "$BATS_TEST_TMPDIR/table.tsv"
    # A command that fails is no measurement.
    mkdir "$BATS_TEST_TMPDIR/build"
    printf '#!/bin/sh\nexit 3\n' >"$BATS_TEST_TMPDIR/build/cleave"
    chmod +x "$BATS_TEST_TMPDIR/build/cleave"
    run "$CLEAVE_SOURCE_DIR/bench/bench-table" --build "$BATS_TEST_TMPDIR/build" --rounds 1 --megabytes 1 --only '1 MB'
    [ "$status" -eq 1 ]
    [[ $output == *"bench-table: status 3 of: "* ]]
}
