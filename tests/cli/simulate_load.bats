# cleave simulate load. SPDX-License-Identifier: MIT
load helper

@test "text: runs with an expected error" {
    cleave 0 simulate load -p $LAB -l 2000 --policy umr --error 0.2 --seed 7
    golden simulate-umr.txt
    [ -z "$stderr" ]
}

@test "json: the fields" {
    cleave 0 simulate load -p $LAB -l 2000 --policy factoring --noise gamma:0.3 --runs 200 --json
    valid_json
    [ "$(json_keys)" = "policy picked load runs seed noise engine makespan utilisation chunks \
bound over_bound " ]
    has '"policy": "factoring"'
    has '"runs": 200,'
    has '"seed": 1,'
    has '"noise": "gamma:0.3"'
    has '"engine": "native"'
    for key in mean stddev stderr q10 median q90 min max; do
        [ -n "$(number $key)" ]
    done
}

@test "runs: 1000 unless asked for others" {
    cleave 0 simulate load -p $LAB -l 100 --policy umr --json
    has '"runs": 1000,'
    refuses "--runs: expected a whole number from 1 to 100000000, got '0'" \
        simulate load -p $LAB -l 5 --runs 0
    refuses "--runs: expected a whole number from 1 to 100000000, got '1e9'" \
        simulate load -p $LAB -l 5 --runs 1e9
    cleave 0 simulate load -p $LAB -l 100 --policy umr --runs 1e2 --json
    has '"runs": 100,'
}

@test "without noise every run is the plan" {
    cleave 0 plan load -p $LAB -l 2000 --policy factoring --json
    local makespan
    makespan=$(number makespan)
    cleave 0 simulate load -p $LAB -l 2000 --policy factoring --runs 20 --json
    has '"noise": "none"'
    near "$(number mean)" "$makespan" 1e-12
    near "$(number q90)" "$makespan" 1e-12
    cleave 0 simulate load -p $LAB -l 2000 --policy factoring --error 0.2 --noise none --runs 20 \
        --json
    near "$(number max)" "$makespan" 1e-12
}

@test "--error alone draws normal noise of that spread" {
    cleave 0 simulate load -p $LAB -l 2000 --policy umr --error 0.2 --runs 100 --json
    has '"noise": "normal:0.2"'
    local drawn
    drawn=$(number mean)
    cleave 0 simulate load -p $LAB -l 2000 --policy umr --error 0.2 --noise normal:0.2 --runs 100 \
        --json
    [ "$(number mean)" = "$drawn" ]
}

@test "the result depends on the seed, not on the threads" {
    cleave 0 simulate load -p $LAB -l 2000 --policy self --error 0.3 --runs 500 --threads 1 --json
    local one=$output
    cleave 0 simulate load -p $LAB -l 2000 --policy self --error 0.3 --runs 500 --threads 5 --json
    [ "$output" = "$one" ]
    cleave 0 simulate load -p $LAB -l 2000 --policy self --error 0.3 --runs 500 -j 3 --seed 2 --json
    [ "$(number mean)" != "$(output=$one number mean)" ]
}

@test "missing engines and unknown noise" {
    CLEAVE_LIBEXEC=/nowhere cleave 3 simulate load -p $LAB -l 5 --engine simgrid
    [ "$stderr" = "cleave: engine 'simgrid' is missing: CLEAVE_LIBEXEC names the folder \
/nowhere, which has no cleave-simgrid" ]
    [ -z "$output" ]
    refuses "--engine: unknown engine 'natve'; did you mean 'native'?" \
        simulate load -p $LAB -l 5 --engine natve
    for bad in gama:0.3 gamma gamma: gamma:x gamma:-1 normal:nan none:1 0.3; do
        cleave 2 simulate load -p $LAB -l 5 --noise $bad
        [[ $stderr == "cleave: --noise: expected "* ]]
        [ -z "$output" ]
    done
}

@test "--trace writes the first run" {
    cleave 0 simulate load -p $LAB -l 200 --policy self --error 0.2 --runs 3 \
        --trace "$BATS_TEST_TMPDIR/trace"
    [[ $(head -n 1 "$BATS_TEST_TMPDIR/trace") == *'"policy":"self"'* ]]
    [ "$(grep -c '"event":"start"' "$BATS_TEST_TMPDIR/trace")" -eq 1 ]
}

@test "on a terminal: a bar that goes away; elsewhere none" {
    on_terminal simulate load -p $LAB -l 2000 --policy umr --error 0.2 --runs 100000
    has "simulating ["
    has "100000 runs of 2000 units"
    cleave 0 simulate load -p $LAB -l 2000 --policy umr --error 0.2 --runs 3000
    [ -z "$stderr" ]
}

@test "auto: a limit too short for all keeps a worker that takes the load" {
    for reads in stream count slurp late; do
        cleave 0 simulate load -p "$CLEAVE_SOURCE_DIR/examples/unequal.yaml" -l 2000 --hold 50 --reads $reads \
            --policy auto --param limit=1e-6 --runs 3
        has ', picked by auto'
    done
}
