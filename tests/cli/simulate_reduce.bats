# cleave simulate reduce. SPDX-License-Identifier: MIT
load helper

COSTS=examples/costs.json

@test "text: many runs" {
    cleave 0 simulate reduce -N 64 -d gamma:1,0.5 -c exp:1 --policy tree-dyn --seed 7
    golden simulate-reduce.txt
    [ -z "$stderr" ]
}

@test "text: one exact instance" {
    cleave 0 simulate reduce --costs $COSTS --policy ordered-tree-dyn
    has "6 nodes, costs from a file"
    has "order is kept"
    has "sending"
}

@test "json: the fields" {
    cleave 0 simulate reduce -N 20 -d gamma:1,0.5 -c 5ms --runs 200 --json
    valid_json
    [ "$(json_keys)" = "policy nodes runs seed transfer compute compute_model engine mean stddev \
stderr q10 median q90 min max lower_bound over_bound " ]
    has '"policy": "tree-adapt"'
    has '"nodes": 20,'
    has '"runs": 200,'
    has '"seed": 1,'
    has '"transfer": "gamma:1,0.5"'
    has '"compute": "5ms"'
    has '"compute_model": "fresh"'
    has '"engine": "native"'
}

@test "json: with --costs the tree that came about" {
    cleave 0 simulate reduce --costs $COSTS --policy ordered-tree-dyn --json
    valid_json
    [ "$(json_keys)" = "policy nodes runs seed transfer compute compute_model engine length mean \
stddev stderr q10 median q90 min max root lower_bound upper_bound optimum ratio parent start \
intervals " ]
    has '"runs": 1,'
    [ "$(number length)" = "$(number mean)" ]
    has "null"
    cleave 0 simulate reduce --costs $COSTS --policy tree-dyn --json
    valid_json
    local length
    length=$(number length)
    cleave 0 plan reduce --costs $COSTS --policy tree-dyn --json
    [ "$(number length)" = "$length" ]
}

@test "laws without spread give the plan" {
    for policy in greedy binomial fibonacci tree-dyn ordered-tree-dyn; do
        cleave 0 plan reduce -N 21 -d 1 -c 0.3 --policy $policy --json
        local length
        length=$(number length)
        cleave 0 simulate reduce -N 21 -d 1 -c const:0.3 --policy $policy --runs 20 --json
        near "$(number min)" "$length" 1e-12
        near "$(number max)" "$length" 1e-12
    done
}

@test "the mean of exponential transfers is the known one" {
    # H(n / 2) + H((n - 1) / 2) for tree-dyn, rounded down: 8.0857 for 64 nodes.
    cleave 0 simulate reduce -N 64 -d exp:1 -c 0 --policy tree-dyn --runs 20000 --json
    near "$(number mean)" 8.0857 0.01
}

@test "runs: 1000 unless asked for others" {
    cleave 0 simulate reduce -N 4 -d exp:1 -c 1 --json
    has '"runs": 1000,'
    cleave 0 simulate reduce -N 4 -d exp:1 -c 1 --runs 2e3 --json
    has '"runs": 2000,'
    refuses "--runs: expected a whole number from 1 to 100000000, got '0'" \
        simulate reduce -N 4 -d 1 -c 1 --runs 0
    refuses "--runs: the costs of a file do not vary, so that all runs are the same; leave out \
--runs" simulate reduce --costs $COSTS --runs 10
    cleave 0 simulate reduce --costs $COSTS --runs 1 --json
}

@test "the result depends on the seed, not on the threads" {
    cleave 0 simulate reduce -N 64 -d gamma:1,1 -c exp:1 --threads 1 --json
    local one=$output
    cleave 0 simulate reduce -N 64 -d gamma:1,1 -c exp:1 --threads 5 --json
    [ "$output" = "$one" ]
    cleave 0 simulate reduce -N 64 -d gamma:1,1 -c exp:1 --seed 2 --json
    [ "$output" != "$one" ]
}

@test "--compute-model: fresh or fixed" {
    cleave 0 simulate reduce -N 64 -d 1 -c gamma:1,1 --json
    local fresh
    fresh=$(number mean)
    cleave 0 simulate reduce -N 64 -d 1 -c gamma:1,1 --compute-model fixed --json
    has '"compute_model": "fixed"'
    [ "$(number mean)" != "$fresh" ]
    cleave 0 simulate reduce -N 64 -d 1 -c gamma:1,1 --compute-model fixed
    has "drawn once per node and run"
    refuses "--compute-model: expected fresh or fixed, got 'frozen'" \
        simulate reduce -N 64 -d 1 -c 1 --compute-model frozen
}

@test "--trace writes the first run" {
    cleave 0 simulate reduce -N 8 -d exp:1 -c exp:1 --runs 50 --trace "$BATS_TEST_TMPDIR/trace"
    [ "$(grep -c '"order":"combine"' "$BATS_TEST_TMPDIR/trace")" -eq 7 ]
}

@test "engines" {
    CLEAVE_LIBEXEC=/nowhere cleave 3 simulate reduce -N 4 -d 1 -c 1 --engine simgrid
    [ "$stderr" = "cleave: engine 'simgrid' is missing: CLEAVE_LIBEXEC names the folder \
/nowhere, which has no cleave-simgrid" ]
    cleave 2 simulate reduce -N 4 -d 1 -c 1 --engine natve
}

@test "a bar while it runs, on a terminal only" {
    on_terminal simulate reduce -N 256 -d exp:1 -c exp:1 --runs 2000
    [ "$status" -eq 0 ]
    has "simulating ["
    cleave 0 simulate reduce -N 256 -d exp:1 -c exp:1 --runs 2000
    [ -z "$stderr" ]
}
