# Reductions whose partials become ready at different times. SPDX-License-Identifier: MIT
load helper

# What went wrong was said.
err_has() {
    [[ $stderr == *"$1"* ]] || {
        echo "expected: $1"
        echo "got: $stderr"
        return 1
    }
}

# Six times in a file, which a test calls $READY.
times() {
    READY=$BATS_TEST_TMPDIR/ready
    printf '0 3 1\n8 2 5\n' > "$READY"
}

@test "plan: policy ready, an optimal tree, and the bound" {
    times
    cleave 0 plan reduce --ready "$READY" -d 2 -c 1 --explain
    golden plan-reduce-ready.txt
}

@test "plan: every model, and the order kept" {
    times
    cleave 0 plan reduce --ready "$READY" -d 2 -c 1 --json
    valid_json
    [ "$(json_keys)" = "policy nodes length root lower_bound upper_bound optimum ratio \
degree depth degree_bound depth_bound ready_model kraft_bound parent start " ]
    has '"policy": "ready"'
    has '"nodes": 6,'
    has '"length": 12,'
    has '"optimum": 12,'
    has '"lower_bound": 11,'
    has '"ready_model": "absent"'
    cleave 0 plan reduce --ready "$READY" -d 2 -c 1 --ready-model early --json
    has '"length": 10,'
    cleave 0 plan reduce --ready "$READY" -d 2 -c 1 --ready-model merge --json
    has '"length": 14,'
    cleave 0 plan reduce --ready "$READY" -d 2 -c 1 --ordered --json
    has '"length": 13,'
    has '"intervals": ['
    cleave 0 plan reduce --ready "$READY" -d 2 -c 1 --root 3 --json
    has '"root": 3,'
}

@test "files: lists in JSON, commas, units, standard input" {
    times
    echo '[0, 3000ms, 1,8 , 2,5]' > "$READY.json"
    cleave 0 plan reduce --ready "$READY.json" -N 6 -d 2 -c 1 --json
    has '"length": 12,'
    run --separate-stderr "$CLEAVE" plan reduce --ready - -d 2 -c 1 --json < "$READY"
    [ "$status" = 0 ]
    has '"length": 12,'
}

@test "compare: all policies meet the same times" {
    times
    cleave 0 compare reduce --ready "$READY" -d 2 -c 1 --json
    valid_json
    has '"ready_model": "absent"'
    has '"policy": "ready"'
    [ "$(grep -c '"policy"' <<< "$output")" -ge 8 ]
    has '"not_applicable": []'
    cleave 0 compare reduce -N 16 -d 1 -c 1 --ready uniform:0,4 --runs 50
    has "50 runs of each policy, 16 nodes, transfer 1, compute 1, ready uniform:0,4 (absent)"
    # Knowing the times is worth something, and no bound is beaten.
    [[ $output != *" -"[0-9]*"%"* ]]
    [[ $output == *"  ready "*" 0.00% "* ]]
}

@test "simulate: random ready times, the same for any number of threads" {
    times
    cleave 0 simulate reduce -N 20 -d exp:1 -c 1 --ready exp:3 --runs 64 -j 1 --json
    one=$output
    has '"ready": "exp:3"'
    cleave 0 simulate reduce -N 20 -d exp:1 -c 1 --ready exp:3 --runs 64 -j 3 --json
    [ "$output" = "$one" ]
    cleave 0 simulate reduce --costs examples/costs.json --ready uniform:0,1 --runs 20 --json
    has '"runs": 20,'
}

@test "trace: partials have ready times, and replay accepts them" {
    times
    cleave 0 plan reduce --ready "$READY" -d 2 -c 1 --policy tree-adapt \
        --trace "$BATS_TEST_TMPDIR/t.jsonl" --json
    [ "$(grep -c '"event": *"ready"' "$BATS_TEST_TMPDIR/t.jsonl")" = 6 ]
    cleave 0 replay "$BATS_TEST_TMPDIR/t.jsonl"
    cleave 0 plan reduce --ready "$READY" -d 2 -c 1 --ready-model early \
        --trace "$BATS_TEST_TMPDIR/t.jsonl" --json
    cleave 0 replay "$BATS_TEST_TMPDIR/t.jsonl"
}

@test "mistakes" {
    times
    cleave 2 plan reduce --ready "$READY" -N 5 -d 2 -c 1
    err_has "--ready: the file has 6 times, but there are 5 nodes"
    cleave 2 plan reduce --ready uniform:4,0 -N 5 -d 2 -c 1
    err_has "--ready: uniform:LOW,HIGH: expected LOW at most HIGH, got 'uniform:4,0'"
    cleave 2 plan reduce --ready-model early -N 5 -d 2 -c 1
    err_has "--ready-model goes with --ready FILE or --ready LAW"
    cleave 2 plan reduce --ready "$READY" -d 2 -c 1 --ready-model soon
    err_has "--ready-model: expected absent, early or merge, got 'soon'"
    cleave 2 plan reduce --ready "$READY" -d 2 -c 1 --root 6
    err_has "policy 'ready': expected a root below 6, got 6"
    cleave 2 plan reduce --ready "$READY" -d 2 -c 1 --root 1 --ordered
    err_has "policy 'ready' takes root or ordered, not both"
    cleave 2 plan reduce --ready "$READY" -d 2 -c 1 --length-only
    err_has "--length-only does not go with ready times; leave out --ready"
    cleave 2 compare reduce --ready "$READY" -d 2 -c 1 --sweep compute=1:2:1
    err_has "--sweep: compares without ready times; leave out --ready"
    printf '1\n2\n-3\n' > "$READY"
    cleave 2 plan reduce --ready "$READY" -d 2 -c 1
    err_has "$READY:3:1: expected a time from 0 to 1e100, got '-3'"
    printf '[1, 2' > "$READY"
    cleave 2 plan reduce --ready "$READY" -d 2 -c 1
    err_has "$READY:1:6: expected ']'"
    printf '1 2] 3' > "$READY"
    cleave 2 plan reduce --ready "$READY" -d 2 -c 1
    err_has "$READY:1:4: expected a time"
    : > "$READY"
    cleave 2 plan reduce --ready "$READY" -d 2 -c 1
    err_has "$READY:1:1: expected a time per node"
}
