# Plans for workers that lead others. SPDX-License-Identifier: MIT
load helper

TREE=docs/guide/platforms/tree.yaml

@test "plan load shows how many workers leaders lead and which they leave out" {
    cleave 0 plan load -p $TREE -l 100 --no-gantt
    [[ $output == *$'\nleaders   lead 3 workers; they leave out slow\n'* ]]
    [[ $output == *"bound     9.4636 s (tree)"* ]]
}

@test "plan load --json lists the units of every worker of a tree" {
    cleave 0 plan load -p $TREE -l 100 --json
    printf '%s' "$output" | python3 -c '
import json, sys
plan = json.load(sys.stdin)
led = plan["led"]
assert [w["worker"] for w in led] == ["near", "head", "node", "slow"]
assert [w["leader"] for w in led] == [None, None, "head", "head"]
assert [w["count"] for w in led] == [1, 1, 2, 1]
assert led[3]["units"] == 0 and abs(sum(w["units"] for w in led) - 100) < 1e-6
assert plan["optimal"] is False
assert {"tree", "relaxed"} <= {b["name"] for b in plan["bounds"]}'
}

@test "plan load --json without leaders has no field led" {
    cleave 0 plan load -p docs/guide/platforms/four.yaml -l 100 --json
    [[ $output != *'"led"'* ]]
}

@test "--via of plan load makes leaders of a file without them" {
    cleave 0 plan load -p docs/guide/platforms/four.yaml -l 100 --no-gantt --via quick:far
    [[ $output == *"leaders   lead 1 worker"* ]]
}

@test "a plan for a tree ends when a simulated run ends" {
    cleave 0 plan load -p $TREE -l 100 --policy leaders --json
    planned=$(printf '%s' "$output" | python3 -c 'import json, sys; print(json.load(sys.stdin)["makespan"])')
    cleave 0 simulate load -p $TREE -l 100 --policy leaders --json
    printf '%s' "$output" | python3 -c '
import json, sys
run = json.load(sys.stdin)
makespan = run["makespan"]
makespan = makespan["mean"] if isinstance(makespan, dict) else makespan
assert abs(makespan / float(sys.argv[1]) - 1) < 1e-9' "$planned"
}

@test "leaders are refused with items, --then-reduce and a deadline" {
    refuses "--then-reduce: expected workers that lead no others (via:)" \
        plan load -p $TREE -l 100 --then-reduce transfer=1,compute=1
    printf '1\n2\n3\n' >"$BATS_TEST_TMPDIR/sizes"
    cleave 2 plan items -p $TREE --sizes "$BATS_TEST_TMPDIR/sizes"
    [[ $stderr == *"worker 'head' leads others (via:)"* ]]
    sed 's/speed: 2,/speed: 2, cost: 1,/' $TREE >"$BATS_TEST_TMPDIR/cost.yaml"
    cleave 2 plan load -p "$BATS_TEST_TMPDIR/cost.yaml" -l 100 --deadline 20
    [[ $stderr == *"not with leaders (via:)"* ]]
}
