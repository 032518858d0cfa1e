# What plans cost, and plans for a deadline or a budget. SPDX-License-Identifier: MIT
load helper

PRICED=examples/priced.yaml

# Sum of cost x (last end - first send) of each worker, from the chunks; without results.
paid() {
    grep '"send_start"' <<<"$output" | sed 's/[",{}:]/ /g' | awk '{
        w = $2; sub(/\..*/, "", w); rate = w == "own" ? 0.01 : w == "spot" ? 0.05 : 0.3
        if (!($2 in from)) { from[$2] = $8; cost[$2] = rate }
        end[$2] = $14
    } END { for (w in from) sum += cost[w] * (end[w] - from[w]); printf "%.12g\n", sum }'
}

@test "a plan prints its price" {
    cleave 0 plan load -p $PRICED -l 2000 --no-gantt
    has "cost      21.495"
    cleave 0 plan load -p $PRICED -l 2000 --json
    valid_json
    near "$(number cost)" "$(paid)" 1e-9
    has '"costs": ['
    # Nothing costs anything here.
    cleave 0 plan load -p $LAB -l 2000 --json
    lacks '"cost"'
}

@test "the cheapest plan for a deadline, the fastest for a budget" {
    local cost time
    cleave 0 plan load -p $PRICED -l 2000 --deadline 1min --json
    valid_json
    near "$(number cost)" "$(paid)" 1e-9
    near "$(number makespan)" 60 1e-9
    near "$(number cost)" 12.006 1e-3
    has '"deadline": 60'
    has '"cost_bound": {"name": "deadline", "value": 11.05'
    has '"worker": "large.0", "reason": "not paid for'
    cost=$(number cost)
    # Twice the time costs less, half of it more.
    cleave 0 plan load -p $PRICED -l 2000 --deadline 120 --json
    awk -v a="$(number cost)" -v b="$cost" 'BEGIN { exit !(a < 0.85 * b) }'
    # What costs so much can be bought for it.
    cleave 0 plan load -p $PRICED -l 2000 --budget "$cost" --json
    near "$(number makespan)" 60 1e-4
    has '"budget": '
    cleave 0 plan load -p $PRICED -l 2000 --budget 10 --policy umr-plus --no-gantt
    has "policy    umr-plus"
    has " of 10"
}

@test "results, and a trace of paid workers" {
    cleave 0 plan load -p $PRICED -l 2000 --result-ratio 0.3 --deadline 1min --trace "$BATS_TEST_TMPDIR/t" --json
    valid_json
    awk -v a="$(number makespan)" 'BEGIN { exit !(a <= 60) }'
    cleave 0 plan load -p $PRICED -l 2000 --deadline 1min --trace "$BATS_TEST_TMPDIR/t" --no-gantt
    has "policy    chunks"
    cleave 0 replay "$BATS_TEST_TMPDIR/t"
    has "the same"
}

@test "impossible limits are refused in one line with the best possible value" {
    refuses "--deadline: no plan was found that ends by 20 s: the fastest takes 27.7766 s, and none can take less than 27.3527 s" \
        plan load -p $PRICED -l 2000 --deadline 20
    refuses "--budget: no plan was found that costs 3 or less: the cheapest costs 5.0151, and none can cost less than 5.00505" \
        plan load -p $PRICED -l 2000 --budget 3
    refuses "--budget: no worker of the platform has a cost, such as 'cost: 0.5' per second" \
        plan load -p $LAB -l 2000 --budget 3
    refuses "expected --deadline or --budget, got both" \
        plan load -p $PRICED -l 2000 --budget 3 --deadline 4
    refuses "--budget: expected more than 0" plan load -p $PRICED -l 2000 --budget 0
    refuses "--budget: a deadline or a budget is for a load of known size: not with a lifespan" \
        plan load -p $PRICED --lifespan 20 --budget 3
    refuses "--sweep: a budget is for exact plans of a load; leave out --noise, --error, --lifespan and what happens in runs" \
        compare load -p $PRICED -l 2000 --policies auto --sweep budget=12:20:8 --error 0.1
}

@test "time against money" {
    cleave 0 compare load -p $PRICED -l 2000 --policies auto,one-round --sweep budget=4:20:8
    grep -q '^  4 *- *- *-$' <<<"$output"
    grep -q '^  12 *60[.]16' <<<"$output"
    cleave 0 compare load -p $PRICED -l 2000 --policies auto --sweep budget=12:20:8 --json
    valid_json
    near "$(number makespan)" 60.159 1e-3
    near "$(number cost)" 12 1e-6
}

@test "a sweep keeps the memory of workers" {
    printf 'workers: [{name: a, speed: 1, bandwidth: 9, memory: 10}]\n' >"$BATS_TEST_TMPDIR/m"
    cleave 0 compare load -p "$BATS_TEST_TMPDIR/m" -l 100 --policies one-round --sweep latency=0:1:1 --json
    [ "$(grep -c '"chunks": 10$' <<<"$output")" = 2 ]
}

@test "policy chunks: the ordered chunks" {
    cleave 0 plan load -p $PRICED -l 200 --policy chunks --param chunk-order=0:1,2:3 --json
    [ "$(grep -c '"units": 50,\|"units": 150,' <<<"$output")" = 2 ]
    for list in 9:1 0:x 0:0 0, 0:1,,1; do
        cleave 2 plan load -p $PRICED -l 200 --policy chunks --param "chunk-order=$list"
        [[ $stderr == *"parameter 'chunk-order': expected "* ]]
    done
    cleave 2 plan load -p $PRICED -l 200 --policy chunks
    [[ $stderr == *"needs a chunk-order, such as"* ]]
}
