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
    near "$(number gain)" 0.224 0.01
    # Nothing to reduce: the same as one round alone.
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=0,compute=0 --json
    near "$(number gain)" 0 1
    awk -v a="$(number makespan)" -v b="$tree" 'BEGIN { exit !(a < b) }'
}

@test "plan: the best worker alone, and the makespan with a worker that is left out" {
    cleave 0 plan load -p - -l 2 --then-reduce transfer=2,compute=0.5,at=master \
        <<<"{port: one, workers: [{name: fast, speed: 2, bandwidth: 5}, {name: slow, speed: 0.5, bandwidth: 6}]}"
    has "makespan  3.4000 s with 1 worker"
    has "bound     3.4000 s (one round and its reduction), 0.00% below"
    has "left out  slow: with it the makespan would be 4.8939 s"
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=2,compute=1
    has "left out  home: a chunk for it would end too late"
}

@test "plan: nothing is sent before the beginning" {
    cleave 0 plan load -p - -l 0.5 --then-reduce transfer=1,compute=3 --json \
        <<<"workers: [{name: a, speed: 1e9, bandwidth: 0.5, latency: 1e-6, compute_latency: 1e-9}]"
    has '"send_start": 0,'
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
    has "22.40%"
}

@test "any policy, and then the reduction" {
    # All end together and are reduced along the shortest tree, or at the master: apart.
    for at in transfer=2,compute=1 transfer=8,compute=2,at=master; do
        cleave 0 simulate load -p $LAB -l 2000 --then-reduce $at --policy one-round -n 1 --json
        valid_json
        [ "$(json_keys)" = "policy picked load then_reduce makespan bound over_bound joint over_joint \
apart apart_workers apart_all gain runs seed noise times utilisation chunks " ]
        near "$(number makespan)" "$(number apart_all)" 1e-9
        near "$(number mean)" "$(number apart_all)" 1e-9
        # Who is told what follows ends when the plan for both does.
        cleave 0 simulate load -p $LAB -l 2000 --then-reduce $at --policy joint -n 1 --json
        near "$(number makespan)" "$(number joint)" 1e-9
    done
    cleave 0 simulate load -p $LAB -l 2000 --then-reduce transfer=2,compute=1,model=early \
        --policy joint -n 1 --json
    near "$(number makespan)" "$(number joint)" 1e-9
    # Several rounds are another matter: the first partials are there early.
    cleave 0 simulate load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --policy umr -n 40 \
        --error 0.1 -j 2
    has "planned   38.083 s, 16.96% shorter than planned as one, 45.859 s"
    has "apart     48.003 s with 9 workers, 48.003 s with 9 workers"
    cleave 0 simulate load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --policy umr -n 40 \
        --error 0.1 -j 1 --json
    near "$(number makespan)" 38.08324034 1e-9
}

@test "compare: all policies, some, in csv and for many values" {
    cleave 0 compare load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --json
    valid_json
    [ "$(json_keys)" = "policy load then_reduce makespan rounds bound over_bound workers_used \
apart apart_workers apart_all gain runs seed noise load_bound rows not_applicable " ]
    [ "$(grep -c '"policy": ' <<<"$output")" -gt 15 ]
    cleave 0 compare load -p $LAB -l 2000 --then-reduce transfer=8,compute=2,at=master \
        --policies one-round,umr,joint --csv
    [[ ${lines[1]} == joint,66.2307* ]]
    [[ ${lines[3]} == one-round,113.0027* ]]
    cleave 0 compare load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 \
        --policies one-round,umr --error 0.1 -n 20 --sweep workers=2:4:2
    has "mean makespan in s for 2 values of workers"
    cleave 2 compare load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --sweep budget=1:2:1
    [[ $stderr == "cleave: --then-reduce does not go with a --sweep of budget or result-ratio"* ]]
}

@test "the policy joint hands out the sizes that are planned for the master" {
    cleave 0 plan load -p $LAB -l 2000 --then-reduce transfer=8,compute=2,at=master --json
    units=$(grep -o '"units": [0-9.]*' <<<"$output" | awk '{ printf "%.9g\n", $2 }')
    [ "$(wc -l <<<"$units")" -eq 5 ]
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
    [[ $stderr == "cleave: --then-reduce: the plan is made for both; leave out --policy"* ]]
    cleave 2 simulate load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --rounds 2
    [[ $stderr == "cleave: --then-reduce: --rounds is about a policy: add --policy NAME"* ]]
    cleave 2 simulate load -p $LAB -l 2000 --then-reduce transfer=2,compute=1 --policy links
    [[ $stderr == "cleave: policy 'links' needs a master with port: multi"* ]]
    # What the formulas do not know is not passed over.
    local words="--then-reduce: expected workers that are always there, do not change and take any chunk"
    local some='{name: a, speed: 1, bandwidth: 9}' verb
    for verb in plan simulate compare; do
        refuses "$words, but 'b' has a profile" $verb load -p - -l 20 --then-reduce transfer=1,compute=1 \
            <<<"workers: [$some, {name: b, speed: 1, bandwidth: 9, until: 40}]"
        refuses "$words, but 'b' has a memory" $verb load -p - -l 20 --then-reduce transfer=1,compute=1 \
            <<<"workers: [$some, {name: b, speed: 1, bandwidth: 9, memory: 2}]"
    done
}
