# A load and the reduction of its results as one plan. SPDX-License-Identifier: MIT
load helper

@test "plan: sizes, tree, gain and bound" {
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=2,compute=1
    golden plan-load-then-reduce.txt
}

@test "plan: json, along a tree and at the master" {
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --json
    valid_json
    [ "$(json_keys)" = "policy load then_reduce makespan rounds bound over_bound workers_used \
apart apart_workers apart_all gain chunks left_out " ]
    has '"policy": "joint"'
    has '"sends_to": null'
    tree=$(number makespan)
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=8,compute=2,at=master --json
    valid_json
    has '"at": "master", "model": null'
    has '"sends_to": "master"'
    near "$(number gain)" 0.369 0.01
    # Nothing to reduce: the same as one round alone.
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=0,compute=0 --json
    near "$(number gain)" 0 1
    awk -v a="$(number makespan)" -v b="$tree" 'BEGIN { exit !(a < b) }'
}

@test "simulate and compare" {
    cleave 0 simulate load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 -n 40 --json
    valid_json
    near "$(number mean)" "$(number makespan)" 1e-9
    cleave 0 simulate load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 -n 40 \
        --error 0.2 -j 1 --json
    one=$output
    cleave 0 simulate load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 -n 40 \
        --error 0.2 -j 2 --json
    [ "$output" = "$one" ]
    cleave 0 compare load -p $LAB -l 2000 --then-reduce transfer=8,compute=2,at=master
    has "apart, best number of workers"
    has "36.90%"
}

@test "the policy joint hands out the sizes that are planned for the master" {
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=8,compute=2,at=master --json
    units=$(grep -o '"units": [0-9.]*' <<<"$output" | awk '{ printf "%.9g\n", $2 }')
    [ "$(wc -l <<<"$units")" -eq 7 ]
    cleave 0 plan load -p $LAB -l 2000 --policy joint --param transfer=8 --param compute=2 --json
    [ "$(grep -o '"units": [0-9.]*' <<<"$output" | awk '{ printf "%.9g\n", $2 }')" = "$units" ]
    # Along a tree among the workers.
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=8,compute=2 --json
    units=$(grep -o '"units": [0-9.]*' <<<"$output" | awk '{ printf "%.9g\n", $2 }')
    cleave 0 plan load -p $LAB -l 2000 --policy joint --param transfer=8 --param compute=2 --param tree=1 --json
    [ "$(grep -o '"units": [0-9.]*' <<<"$output" | awk '{ printf "%.9g\n", $2 }')" = "$units" ]
    # Nothing to reduce: one round.
    cleave 0 plan load -p $LAB -l 2000 --policy one-round --json
    alone=$(number makespan)
    cleave 0 plan load -p $LAB -l 2000 --policy joint --json
    near "$(number makespan)" "$alone" 1e-9
}

@test "mistakes" {
    # In a real run: of what is not known nothing can be planned.
    cleave 2 run -q -j 2 -i $LAB --policy joint --param compute=1 --reduce 'cat {1} {2}' -- cat
    [[ $stderr == "cleave: joint: expected workers whose costs are known"* ]]
    cleave 2 plan load -p $LAB -l 2000 --then-reduce transfer=2
    [[ $stderr == "cleave: --then-reduce: expected transfer=TIME,compute=TIME[,at=master]"* ]]
    cleave 2 plan load -p $LAB -l 2000 --then-reduce transfer=2,compute=1,at=home
    [[ $stderr == *"got 'at=home'"* ]]
    cleave 2 plan load -p $LAB -l 2000 --then-reduce transfer=2,compute=-1
    [[ $stderr == "cleave: --then-reduce: expected a time from 0 to 1e100, got '-1'"* ]]
    cleave 2 plan load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --policy umr
    [[ $stderr == "cleave: --then-reduce does not go with --policy"* ]]
    cleave 2 compare load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --error 0.1
    [[ $stderr == *"leave out --error"* ]]
}
