# cleave plan reduce. SPDX-License-Identifier: MIT
load helper

COSTS=examples/costs.json

@test "text: the greedy tree, drawn" {
    cleave 0 plan reduce --nodes 16 --transfer 1 --compute 500ms
    golden plan-reduce.txt
    [ -z "$stderr" ]
}

@test "text: blocks when the locale is UTF-8, an explanation" {
    export LC_ALL=C.UTF-8
    cleave 0 plan reduce --costs $COSTS --explain
    golden plan-reduce-utf8.txt
}

@test "text: a tree too large to draw is summed up" {
    cleave 0 plan reduce -N 1000 -d 1 -c 1 --max-transfers 100
    golden plan-reduce-large.txt
    cleave 0 plan reduce -N 16 -d 1 -c 1 --no-tree
    lacks "sending"
    lacks "partials received"
}

@test "json: the fields" {
    cleave 0 plan reduce -N 9 -d 1 -c 1 --json
    valid_json
    [ "$(json_keys)" = "policy nodes length root lower_bound upper_bound optimum ratio degree depth degree_bound depth_bound parent \
start " ]
    has '"policy": "greedy"'
    has '"nodes": 9,'
    has '"length": 6,'
    has '"optimum": 6,'
    has '"ratio": 1,'
    has '"parent": [-1, '
    has '"start": [null, '
    cleave 0 plan reduce -N 9 -d 1 -c 1 --ordered --json
    valid_json
    has '"intervals": [null, [1, 1], '
    has '"length": 6,'
    cleave 0 plan reduce -N 9 -d 1 -c 1 --policy binomial --explain --json
    valid_json
    has '"explanation": "'
}

@test "json: one node has nothing to do" {
    cleave 0 plan reduce -N 1 -d 1 -c 1 --json
    valid_json
    has '"length": 0,'
    has '"parent": [-1]'
    has '"start": [null]'
    cleave 0 plan reduce -N 1 -d 1 -c 1
    has "1 node, transfer 1"
    cleave 0 plan reduce -N 1 -d 1 -c 1 --policy tree-dyn --explain
    has "nothing to combine"
}

@test "json: a million nodes" {
    cleave 0 plan reduce -N 1e6 -d 1 -c 0.3 --json
    [ "$(number nodes)" = 1000000 ]
    near "$(number length)" 23.4 1e-9
    [ "$(printf '%s\n' "$output" | sed -n 's/^  "parent"//p' | tr -cd , | wc -c)" -eq 1000000 ]
}

@test "options stand for parameters" {
    cleave 0 plan reduce -N 50 -d 1 -c 2 --max-transfers 3 --json
    local limited=$output
    cleave 0 plan reduce -N 50 -d 1 -c 2 --param max_transfers=3 --json
    [ "$output" = "$limited" ]
    cleave 0 plan reduce -N 50 -d 1000ms -c const:2 --max-transfers=3 --json
    [ "$output" = "$limited" ]
    cleave 0 plan reduce -N 50 -d gamma:1,3 -c exp:2 --max-transfers=3 --json
    [ "$output" = "$limited" ]
    cleave 0 plan reduce -N 50 -d 1 -c 2 --max-reducers 3 --json
    [ "$output" != "$limited" ]
    refuses "parameter 'max_transfers' is given twice" \
        plan reduce -N 50 -d 1 -c 2 --max-transfers 3 --param max_transfers=3
    cleave 2 plan reduce -N 50 -d 1 -c 2 --max-transfers 3 --max-reducers 3
    [[ $stderr == *"not both" ]]
    cleave 2 plan reduce -N 50 -d 1 -c 2 --policy tree-dyn --max-transfers 3
    [[ $stderr == "cleave: policy 'tree-dyn' has no parameter 'max_transfers'"* ]]
}

@test "every policy makes a plan; the greedy one is not beaten" {
    cleave 0 plan reduce -N 33 -d 1 -c 0.5 --json
    local best
    best=$(number length)
    "$CLEAVE" policies --json | sed -n '/"name"/{N;/"task": "reduce"/s/^.*"name": "\([a-z-]*\)".*/\1/p}' \
        >"$BATS_TEST_TMPDIR/names"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -ge 7 ]
    while read -r policy; do
        cleave 0 plan reduce -N 33 -d 1 -c 0.5 --policy "$policy" --json
        valid_json
        awk -v a="$(number length)" -v b="$best" 'BEGIN { exit !(a >= b - 1e-9) }'
        cleave 0 plan reduce -N 33 -d 1 -c 0.5 --policy "$policy" --explain
        has "policy    $policy"
    done <"$BATS_TEST_TMPDIR/names"
}

@test "--length-only counts" {
    cleave 0 plan reduce -N 1e18 -d 1 -c 0.3 --length-only
    golden plan-reduce-length.txt
    cleave 0 plan reduce -N 1000000000000000000 -d 1 -c 0.3 --length-only --json
    valid_json
    [ "$(json_keys)" = "policy nodes length lower_bound upper_bound optimum ratio " ]
    has '"nodes": 1000000000000000000,'
    cleave 0 plan reduce -N 777 -d 2 -c 0.7 --json
    local length
    length=$(number length)
    cleave 0 plan reduce -N 777 -d 2 -c 0.7 --length-only --json
    near "$(number length)" "$length" 1e-12
    refuses "--length-only does not go with costs that differ; leave out --costs" \
        plan reduce --costs $COSTS --length-only
    refuses "--length-only does not go with another policy than greedy" \
        plan reduce -N 5 -d 1 -c 1 --length-only --policy binomial
    refuses "--length-only does not go with a limit; leave out --max-transfers and \
--max-reducers" plan reduce -N 5 -d 1 -c 1 --length-only --max-reducers 2
    refuses "--nodes: expected at most 4294967294 nodes; only 'cleave plan reduce \
--length-only' takes more" plan reduce -N 1e10 -d 1 -c 1
}

@test "missing options, and options that exclude each other" {
    refuses "--nodes N is required, or --costs FILE" plan reduce -d 1 -c 1
    refuses "--transfer TIME is required, or --costs FILE" plan reduce -N 5 -c 1
    refuses "--compute TIME is required, or --costs FILE" plan reduce -N 5 -d 1
    refuses "--nodes N is required" plan reduce -d 1 -c 1 --length-only
    refuses "--compute TIME is required" plan reduce -N 5 -d 1 --length-only
    refuses "--costs: the file has all costs; leave out --nodes" \
        plan reduce --costs $COSTS --nodes 6
    refuses "--costs: the file has all costs; leave out --compute" \
        plan reduce --costs $COSTS --compute 1
    for bad in 0 -1 1.5 x 1e19 1e 1e1e1 1e1000 5q ''; do
        refuses "--nodes: expected a whole number from 1 to 1000000000000000000, got '$bad'" \
            plan reduce "--nodes=$bad" -d 1 -c 1
    done
    for bad in -1 nan 5MB gamma:1 gamma:1,x fast: exp:-1 uniform:2,1; do
        cleave 2 plan reduce -N 5 -d $bad -c 1
        [[ $stderr == "cleave: --transfer: "*"got '"* ]]
        cleave 2 plan reduce -N 5 -d 1 -c $bad --length-only
        [[ $stderr == "cleave: --compute: "*"got '"* ]]
    done
}

@test "policies of another task or of no name" {
    refuses "policy 'umr' is for a load, not for a reduction" \
        plan reduce -N 5 -d 1 -c 1 --policy umr
    refuses "policy 'greedy' is for a reduction, not for a load" \
        plan load -p $LAB -l 5 --policy greedy
    cleave 2 plan reduce -N 5 -d 1 -c 1 --policy gredy
    [[ $stderr == "cleave: unknown policy 'gredy'; did you mean 'greedy' or 'ready'?" ]]
}

@test "bad files of costs are refused with their place" {
    printf '{"transfer": [[0, 1],\n  [1, -2, 0]]}\n' >"$BATS_TEST_TMPDIR/costs.json"
    cd "$BATS_TEST_TMPDIR"
    refuses "costs.json:2:11: transfer[1][2]: expected the end of a row of 2, as the first, \
got '0'" plan reduce --costs costs.json
    refuses "nowhere.json: cannot open: No such file or directory" \
        plan reduce --costs nowhere.json
}

@test "costs from standard input" {
    run --separate-stderr bash -c "\"\$CLEAVE\" plan reduce --costs - --json <$COSTS"
    [ "$status" -eq 0 ]
    local piped=$output
    cleave 0 plan reduce --costs $COSTS --json
    [ "$output" = "$piped" ]
    run --separate-stderr bash -c "echo '[' | \"\$CLEAVE\" plan reduce --costs -"
    [ "$status" -eq 2 ]
    [[ $stderr == "cleave: <stdin>:"* ]]
}

@test "--trace writes every event and order" {
    cleave 0 plan reduce -N 5 -d 1 -c 1 --trace "$BATS_TEST_TMPDIR/trace"
    head -n 1 "$BATS_TEST_TMPDIR/trace" >"$BATS_TEST_TMPDIR/head"
    [[ $(cat "$BATS_TEST_TMPDIR/head") == \
        '{"format":"cleave-trace-1","policy":"greedy","task":"reduce","nodes":5,"about":{'* ]]
    [ "$(grep -c '"order":"combine"' "$BATS_TEST_TMPDIR/trace")" -eq 4 ]
    [ "$(grep -c '"event":"combined"' "$BATS_TEST_TMPDIR/trace")" -eq 4 ]
    cleave 2 plan reduce -N 5 -d 1 -c 1 --trace /no/such/folder/trace
    [[ $stderr == "cleave: --trace: cannot write '/no/such/folder/trace': "* ]]
}

@test "the drawing is as wide as --width says, and a chain is drawn without a chart" {
    for width in 40 60 132; do
        cleave 0 plan reduce -N 9 -d 1 -c 1 --width $width
        [ "$(printf '%s\n' "$output" | awk '/^  0 +[-=#+]/ { print length }')" -eq $((width - 1)) ]
    done
    cleave 0 plan reduce -N 20 -d 1 -c 0 --max-reducers 1 --width 40
    has '`- '
}

@test "a terminal gets colours" {
    on_terminal plan reduce -N 5 -d 1 -c 1
    [ "$status" -eq 0 ]
    has $'\033[1m5 nodes'
    has $'\033[36m'
}

@test "strategies that ignore the costs, degree and depth" {
    cleave 0 plan reduce --nodes 11 --transfer 1 --compute 3 --param strategy=binomial --json
    valid_json
    [ "$(number degree)" = 4 ] && [ "$(number depth)" = 3 ]
    near "$(number degree_bound)" 13 1e-12
    near "$(number depth_bound)" 12 1e-12
    binomial=$(number length)
    cleave 0 plan reduce --nodes 11 --transfer 1 --compute 3 --param strategy=fibonacci --json
    fibonacci=$(number length)
    cleave 0 plan reduce --nodes 11 --transfer 1 --compute 3 --json
    # Neither beats the optimum, both keep their guarantees, and these trees differ.
    awk -v o="$(number length)" -v b="$binomial" -v f="$fibonacci" \
        'BEGIN { exit !(b >= o && f >= o && b <= (1 + 1 / 3) * o && f <= 2 * o && b != f) }'
    # Each is optimal for its own costs.
    for costs in "1 0 binomial" "1 1 fibonacci"; do
        read -r d c name <<<"$costs"
        cleave 0 plan reduce --nodes 23 --transfer "$d" --compute "$c" --param strategy="$name" --json
        near "$(number length)" "$(number optimum)" 1e-12
    done
    cleave 0 plan reduce --nodes 11 --transfer 1 --compute 3 --param strategy=binomial --explain
    has "takes at most 1.3333 times the optimum: 1 + min(d, c) / max(d, c)"
    refuses "policy 'greedy': parameter 'strategy': expected binomial or fibonacci, got 'chain'" \
        plan reduce --nodes 11 --transfer 1 --compute 3 --param strategy=chain
    refuses "policy 'greedy' takes a strategy or a limit, not both" \
        plan reduce --nodes 11 --transfer 1 --compute 3 --param strategy=binomial --max-transfers 2
}
