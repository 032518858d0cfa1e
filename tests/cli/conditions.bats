# What happens in simulated runs and is not declared. SPDX-License-Identifier: MIT
load helper

setup() {
    unset NO_COLOR COLUMNS LC_CTYPE LANG
    export LC_ALL=C
    cd "$BATS_TEST_TMPDIR" || return
    cat >two.yaml <<'END'
port: multi
workers:
  - { name: a, speed: 10, compute_latency: 1, bandwidth: 1e300 }
  - { name: b, speed: 10, compute_latency: 1, bandwidth: 1e300 }
END
    printf '20\n20\n' >sizes
}

@test "--answers delays the end of a run by the time of an answer" {
    cleave 0 simulate load -p two.yaml -l 40 --policy umr --rounds 1 --runs 3 --json
    [ "$(number mean)" = 3 ]
    cleave 0 simulate load -p two.yaml -l 40 --policy umr --rounds 1 --answers 250ms --runs 3 --json
    [ "$(number mean)" = 3.25 ]
    has '"conditions": "answers after 0.2500 s"'
}

@test "--hang costs the timeout and the work of another worker" {
    cleave 0 simulate load -p two.yaml -l 40 --policy umr --rounds 1 --hang a@2 --host-timeout 3s --runs 3 --json
    [ "$(number mean)" = 8 ]
    cleave 0 simulate items --sizes sizes -p two.yaml --hang 1@2 --host-timeout 3s --runs 3 --json
    [ "$(number mean)" = 8 ]
    cleave 0 simulate load -p two.yaml -l 40 --policy umr --rounds 1 --hang a@2 --runs 3 --json
    [ "$(number mean)" = 15 ]
}

@test "every policy ends when a worker hangs and others stall" {
    for policy in self umr xmi guided factoring weighted-factoring as4dr learn; do
        cleave 0 simulate load -p two.yaml -l 40 --policy $policy --hang a@2 --stalls 5s,1s \
            --cost-law gamma:1 --answers 80ms --copies --runs 20 --json
    done
    cleave 0 simulate items --sizes sizes -p two.yaml --hang a@2 --stalls 5s,1s --cost-law gamma:1 \
        --policy items-list --runs 20 --json
}

@test "the number of threads changes nothing" {
    for law in gamma:1 lognormal:2,5 pareto:1.5; do
        cleave 0 simulate load -p two.yaml -l 40 --policy guided --cost-law $law --stalls 3s,1s \
            --runs 200 -j 1 --json
        one=$output
        cleave 0 simulate load -p two.yaml -l 40 --policy guided --cost-law $law --stalls 3s,1s \
            --runs 200 -j 4 --json
        [ "$output" = "$one" ]
    done
}

@test "compare makes one run where nothing is drawn, and many where something is" {
    cleave 0 compare load -p two.yaml -l 40 --policies umr,guided --hang a@2 --json
    has '"runs": 1,'
    has '"conditions": "hang a@2"'
    cleave 0 compare load -p two.yaml -l 40 --policies umr,guided --cost-law gamma:1 --runs 30 --json
    has '"runs": 30,'
    cleave 0 compare items --sizes sizes -p two.yaml --stalls 5s,1s --runs 30
    [[ $output == *"stalls 5s,1s"* ]]
}

@test "bad conditions are refused" {
    local of='simulate load -p two.yaml -l 40'
    refuses "--hang: expected WORKER@TIME, got 'a'" $of --hang a
    refuses "--hang: expected the name of a worker or its number from 0 to 1 before the @, got 'c@3'" \
        $of --hang c@3
    refuses "--hang: expected the name of a worker or its number from 0 to 1 before the @, got '2@3'" \
        $of --hang 2@3
    refuses "expected a worker that does not hang, got none of 2" $of --hang a@1 --hang b@2
    refuses "--host-timeout: --hang WORKER@TIME is required with it" $of --host-timeout 3s
    refuses "--stalls: expected two times above 0, as in 60s,2s: from stall to stall, and of a stall, got '5s'" \
        $of --stalls 5s
    refuses "--cost-law: expected gamma:CV, lognormal:CV or pareto:ALPHA, got 'uniform:1'" \
        $of --cost-law uniform:1
    refuses "--cost-law: expected an exponent above 1 and up to 100 after 'pareto:', then perhaps a comma and \
the units of a record, got '1'" $of --cost-law pareto:1
    refuses "expected at most 1e+07 records whose costs are drawn, got 1e+09 of 1 units: larger records are fewer" \
        simulate load -p two.yaml -l 1G --cost-law gamma:1
    refuses "--then-reduce does not go with --hang" $of --then-reduce transfer=1,compute=1 --hang a@2
}
