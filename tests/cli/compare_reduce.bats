# cleave compare reduce. SPDX-License-Identifier: MIT
load helper

COSTS=examples/costs.json

@test "text: exact costs" {
    cleave 0 compare reduce --costs $COSTS --policies greedy,binomial,tree-dyn
    golden compare-reduce-costs.txt
    [ -z "$stderr" ]
}

@test "text: costs that vary" {
    cleave 0 compare reduce -N 64 -d gamma:1,0.5 -c gamma:1,0.5 --runs 200 \
        --policies binomial,fibonacci,tree-dyn
    golden compare-reduce.txt
}

@test "text: a sweep" {
    cleave 0 compare reduce -N 64 -d gamma:1,1 -c 0 --sweep cv=0.01:1:log:3 --runs 50 \
        --policies binomial,tree-dyn,ordered-tree-dyn
    golden compare-reduce-sweep.txt
}

@test "all policies for reductions, and no others" {
    cleave 0 compare reduce -N 20 -d 1 -c 1
    for name in greedy binomial fibonacci tree-dyn ordered-tree-dyn tree-adapt ordered-adapt; do
        has "  $name "
    done
    lacks "umr"
    cleave 0 compare reduce -N 20 -d 1 -c 1 --max-transfers 2
    has "  greedy"
    has "does not apply"
    has "has no parameter 'max_transfers'"
}

@test "json: the fields, sorted by length" {
    cleave 0 compare reduce -N 20 -d gamma:1,1 -c 0.1 --runs 50 --json
    valid_json
    [ "$(json_keys)" = "nodes transfer compute compute_model runs seed lower_bound rows \
not_applicable " ]
    has '"runs": 50,'
    local times
    times=$(printf '%s\n' "$output" | sed -n 's/^      "mean": \(.*\),/\1/p')
    [ "$(printf '%s\n' "$times" | sort -g)" = "$times" ]
    [ "$(printf '%s\n' "$times" | wc -l)" -ge 7 ]
    for key in policy mean stddev stderr q10 median q90 min max over_bound over_best; do
        [ "$(printf '%s\n' "$output" | grep -c "^      \"$key\": ")" -eq \
            "$(printf '%s\n' "$times" | wc -l)" ]
    done
}

@test "json: a sweep" {
    cleave 0 compare reduce -N 20 -d gamma:1,1 -c gamma:1,1 --runs 50 --json \
        --sweep cv=0.1:10:log:3 --policies binomial,tree-dyn
    valid_json
    [ "$(json_keys)" = "nodes transfer compute compute_model runs seed sweep rows " ]
    has '"sweep": "cv"'
    [ "$(printf '%s\n' "$output" | sed -n 's/^      "cv": \(.*\),/\1/p' | tr '\n' ' ')" = \
        "0.10000000000000001 1 10 " ]
    [ "$(printf '%s\n' "$output" | grep -c '"policy": "tree-dyn"')" -eq 3 ]
    cleave 0 compare reduce -d 1 -c 1 --sweep nodes=16:64:16 --policies greedy --json
    valid_json
    [ "$(printf '%s\n' "$output" | sed -n 's/^      "nodes": \(.*\),/\1/p' | tr '\n' ' ')" = \
        "16 32 48 64 " ]
}

@test "csv" {
    cleave 0 compare reduce -N 20 -d 1 -c 0.1 --policies greedy,binomial --csv
    [ "${lines[0]}" = "policy,mean,over_bound,over_best,stddev,stderr,q10,median,q90" ]
    [[ ${lines[1]} == greedy,* ]]
    [ "${#lines[@]}" -eq 3 ]
    cleave 0 compare reduce -N 20 -d 1 --sweep compute=0:1:250ms --policies greedy,binomial --csv
    [ "${lines[0]}" = "compute,lower_bound,greedy,binomial,greedy_stderr,binomial_stderr" ]
    [[ ${lines[2]} == 0.25,* ]]
    [ "${#lines[@]}" -eq 6 ]
    refuses "--json and --csv cannot both be written" \
        compare reduce -N 20 -d 1 -c 0.1 --json --csv
}

@test "a row of compare reduce agrees with simulate and plan" {
    cleave 0 compare reduce -N 30 -d exp:1 -c 1 --policies tree-dyn --runs 60 --json
    local mean
    mean=$(number mean)
    cleave 0 simulate reduce -N 30 -d exp:1 -c 1 --policy tree-dyn --runs 60 --json
    [ "$(number mean)" = "$mean" ]
    cleave 0 compare reduce -N 30 -d exp:9 -c 1 --policies tree-dyn --runs 60 --json \
        --sweep transfer=1:2:1
    [ "$(number mean)" = "$mean" ]
    cleave 0 compare reduce --costs $COSTS --policies tree-dyn --json
    mean=$(number mean)
    cleave 0 plan reduce --costs $COSTS --policy tree-dyn --json
    [ "$(number length)" = "$mean" ]
}

@test "sweeps that cannot be" {
    for bad in cv cv= cv=1 cv=1:2 cv=1:2:3:4:5 speed=1:2:1 =1:2:1; do
        refuses "--sweep: expected cv, transfer, compute or nodes with FROM:TO:STEP or \
FROM:TO:log[:POINTS], such as cv=0.01:10:log, got '$bad'" \
            compare reduce -N 5 -d gamma:1,1 -c gamma:1,1 --sweep "$bad"
    done
    refuses "--sweep: expected a number from 0 to 100, got 'x'" \
        compare reduce -N 5 -d gamma:1,1 -c 0 --sweep cv=x:2:1
    refuses "--sweep: expected an end above the begin, got '1'" \
        compare reduce -N 5 -d gamma:1,1 -c 0 --sweep cv=1:1:1
    refuses "--sweep: log needs to begin above 0" \
        compare reduce -N 5 -d gamma:1,1 -c 0 --sweep cv=0:1:log
    refuses "--sweep: expected log or a step above 0, got '0'" \
        compare reduce -N 5 -d gamma:1,1 -c 0 --sweep cv=0:1:0
    refuses "--sweep: expected at most 1000 values" \
        compare reduce -N 5 -d gamma:1,1 -c 0 --sweep cv=0:1:0.0001
    refuses "--sweep: expected from 2 to 1000 points, got '1'" \
        compare reduce -N 5 -d gamma:1,1 -c 0 --sweep cv=1:2:log:1
    refuses "--sweep: cv needs laws gamma:MEAN,CV, but --compute is 'exp:1'" \
        compare reduce -N 5 -d gamma:1,1 -c exp:1 --sweep cv=1:2:1
    refuses "--sweep: transfer needs a law with a mean (const, exp, gamma or lognormal), but it \
is 'uniform:1,2'" compare reduce -N 5 -d uniform:1,2 -c 1 --sweep transfer=1:2:1
    refuses "--sweep: the costs of a file do not vary; leave out --costs" \
        compare reduce --costs $COSTS --sweep cv=1:2:1
    refuses "--nodes N is required, or --costs FILE" \
        compare reduce -d gamma:1,1 -c 0 --sweep cv=1:2:1
}

@test "a policy that is named must exist, apply and be named once" {
    cleave 2 compare reduce -N 5 -d 1 -c 1 --policies greedy,tree-dny
    [[ $stderr == "cleave: --policies: unknown policy 'tree-dny'; did you mean 'tree-dyn'"* ]]
    refuses "--policies: policy 'umr' is for a load, not for a reduction" \
        compare reduce -N 5 -d 1 -c 1 --policies umr
    refuses "--policies: 'greedy' is named twice" \
        compare reduce -N 5 -d 1 -c 1 --policies greedy,greedy
    refuses "--policies: expected names such as greedy,tree-dyn" \
        compare reduce -N 5 -d 1 -c 1 --policies ,
    cleave 2 compare reduce -N 5 -d 1 -c 1 --policies greedy,tree-dyn --max-transfers 2
    [[ $stderr == *"'tree-dyn' has no parameter 'max_transfers'"* ]]
    [ -z "$output" ]
    cleave 2 compare reduce -N 5 -d 1 -c 1 --param no-such=3
    [[ $stderr == "cleave: no policy applies: "*"no-such"* ]]
}

@test "engines are checked here too" {
    CLEAVE_LIBEXEC=/nowhere cleave 3 compare reduce -N 5 -d 1 -c 1 --engine simgrid
    [ "$stderr" = "cleave: engine 'simgrid' is missing: CLEAVE_LIBEXEC names the folder \
/nowhere, which has no cleave-simgrid" ]
}
