# cleave plan loads, simulate loads and compare loads. SPDX-License-Identifier: MIT
load helper

LOADS=examples/loads.yaml
EQUAL=examples/equal.yaml

# jobs TEXT -- a jobs file for two workers.
jobs() {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' "$1" >jobs.yaml
    printf '{"workers": [{"name": "a", "speed": 1, "bandwidth": 1}, {"name": "b", "speed": 1, "bandwidth": 1}]}\n' >two.json
}

# refuses TEXT MESSAGE -- the jobs file is refused with one line of at most 120 characters.
refuses() {
    jobs "$1"
    cleave 2 plan loads -p two.json --jobs jobs.yaml
    [ "$stderr" = "cleave: jobs.yaml:$2" ] || { echo "$stderr" && return 1; }
    [ "${#stderr}" -le 120 ]
    [ -z "$output" ]
}

@test "plan, text: loads, workers, bounds and phases, a letter for each load" {
    cleave 0 plan loads --platform $EQUAL --jobs $LOADS --explain
    golden plan-loads.txt
    [ -z "$stderr" ]
}

@test "plan, json: the fields, phases and chunks of each load" {
    cleave 0 plan loads -p $EQUAL --jobs $LOADS --goal weighted --json
    valid_json
    [ "$(json_keys)" = "policy picked why goal value bound over_bound optimal seed makespan \
in_turn utilisation chunk_s bounds loads phases chunks " ]
    has '"goal": "weighted",'
    has '"name": "urgent",'
    has '"load": "copy",'
    printf '%s' "$output" | python3 -c '
import json, sys
plan = json.load(sys.stdin)
assert plan["value"] >= plan["bound"]["value"] > 0
for load in plan["loads"]:
    chunks = [c for c in plan["chunks"] if c["load"] == load["name"]]
    assert abs(sum(load["units"]) - sum(c["units"] for c in chunks)) < 1e-6
    assert load["ends"] == max(c["compute_end"] for c in chunks)
    assert min(c["send_start"] for c in chunks) >= load["release"]
    assert abs(load["stretch"] - (load["ends"] - load["release"]) / load["alone"]) < 1e-9
assert len(plan["phases"]) == 4 and len(plan["phases"][0]["quota"]) == 10
value = sum(l["weight"] * l["ends"] for l in plan["loads"])
assert abs(value - plan["value"]) < 1e-6
'
}

@test "plan: each policy, and an unknown one" {
    for policy in plan online johnson smith one-by-one equal apart; do
        cleave 0 plan loads -p $EQUAL --jobs $LOADS --no-gantt --policy $policy
        has "policy    "
    done
    cleave 2 plan loads -p $EQUAL --jobs $LOADS --policy smth
    [[ $stderr == *"unknown policy 'smth'"*smith* ]]
    cleave 2 plan loads -p $EQUAL --jobs $LOADS --policy umr
    [[ $stderr == *"policy 'umr' is for a load, not for several loads"* ]]
    cleave 2 plan load -p $EQUAL -l 10 --policy smith
    [[ $stderr == *"policy 'smith' is for several loads, not for a load"* ]]
}

@test "plan: --param chunk sets the size of chunks" {
    cleave 0 plan loads -p $EQUAL --jobs $LOADS --policy online --param chunk=5 --json
    has '"chunk_s": 5,'
}

@test "one load is a plan as well" {
    jobs 'loads: [{name: all, units: 10}]'
    cleave 0 plan loads -p two.json --jobs - <jobs.yaml
    has "1 load of 10 units in all on 2 workers"
    has "bound     10.000 s"
}

@test "simulate: noise spreads the value, the seed decides" {
    cleave 0 simulate loads -p $EQUAL --jobs $LOADS --noise gamma:0.3 --runs 20 --json
    valid_json
    has '"value": {'
    first=$output
    cleave 0 simulate loads -p $EQUAL --jobs $LOADS --noise gamma:0.3 --runs 20 --json --threads 1
    [ "$output" = "$first" ]
    cleave 0 simulate loads -p $EQUAL --jobs $LOADS --goal stretch --policy online --runs 5
    has "stretch   "
}

@test "compare: mixing ends before one after the other, equal shares and loads apart" {
    cleave 0 compare loads -p $EQUAL --jobs $LOADS
    golden compare-loads.txt
    cleave 0 compare loads -p $EQUAL --jobs $LOADS --goal stretch --policies plan,equal --csv
    [ "${lines[0]}" = "policy,mean,over_bound,over_best,stddev,stderr,q10,median,q90" ]
}

@test "compare: a sweep, as text and as a page" {
    cd "$BATS_TEST_TMPDIR"
    cleave 0 compare loads -p "$CLEAVE_SOURCE_DIR/$EQUAL" --jobs "$CLEAVE_SOURCE_DIR/$LOADS" \
        --policies smith,equal --sweep latency-factor=1:10:log:2
    has "makespan in s for 2 values of latency-factor"
    cleave 0 compare loads -p "$CLEAVE_SOURCE_DIR/$EQUAL" --jobs "$CLEAVE_SOURCE_DIR/$LOADS" \
        --policies smith,equal --sweep workers=5:10:5 -o page.html
    grep -q "</html>" page.html
    cleave 2 compare loads -p "$CLEAVE_SOURCE_DIR/$EQUAL" --jobs "$CLEAVE_SOURCE_DIR/$LOADS" --sweep load=1:2:1
    [[ $stderr == *"--sweep: expected "*"or workers with FROM:TO:STEP"* ]]
}

@test "options: a goal, a file of jobs, and what loads cannot have" {
    cleave 2 plan loads -p $EQUAL --jobs $LOADS --goal soon
    [ "$stderr" = "cleave: --goal: expected makespan, weighted or stretch, got 'soon'" ]
    cleave 2 plan loads -p $EQUAL
    [ "$stderr" = "cleave: --jobs FILE is required, with 'loads: [{name: a, units: 100}]'" ]
    cleave 2 plan loads -p examples/leaders.yaml --jobs $LOADS
    [[ $stderr == *"leads others (via:): expected workers without leaders for several loads"* ]]
    cleave 2 plan loads -p - --jobs - </dev/null
    [ "$stderr" = "cleave: expected - for --jobs or for --platform, got both" ]
}

@test "mistakes of the jobs file: one line with file, line, field and the expected value" {
    refuses '' " expected a mapping with the field 'loads', got an empty file"
    refuses 'jobs: []' "1:1: unknown field 'jobs'; known: loads"
    refuses 'loads: []' "1:8: loads: expected a list of loads, got an empty list"
    refuses 'loads: 5' "1:8: loads: expected a list of loads, got '5'"
    refuses 'loads: [5]' "1:9: loads[0]: expected a mapping with the fields of a load, got '5'"
    refuses 'loads: [{name: a}]' "1:9: loads[0]: required field 'units' is missing"
    refuses 'loads: [{units: 1}]' "1:9: loads[0]: required field 'name' is missing"
    refuses 'loads: [{name: a, units: -2}]' \
        "1:26: loads[0].units: expected a positive number, got '-2'"
    refuses 'loads: [{name: a, units: 1, weight: 0}]' \
        "1:37: loads[0].weight: expected a positive number, got '0'"
    refuses 'loads: [{name: a, units: 1, release: -1s}]' \
        "1:38: loads[0].release: expected a number of at least 0, got '-1s'"
    refuses 'loads: [{name: a, units: 1, compute: [1, 2, 3]}]' \
        "1:45: loads[0].compute[2]: expected one number per worker, no more, got '3'"
    refuses 'loads: [{name: a, units: 1, compute: [1]}]' \
        "1:38: loads[0].compute: expected one number, or 2: one per worker; got 1"
    refuses 'loads: [{name: a, units: 1, transfer: x}]' \
        "1:39: loads[0].transfer: expected a number, got 'x'"
    refuses 'loads: [{name: a, units: 1}, {name: a, units: 1}]' \
        "1:37: loads[1].name: expected another name: 'a' is the load of line 1"
    refuses 'loads: [{name: a, units: 1, wieght: 2}]' \
        "1:29: loads[0]: unknown field 'wieght'; did you mean 'weight'?"
    cleave 2 plan loads -p two.json --jobs nothing.yaml
    [[ $stderr == "cleave: nothing.yaml: cannot "* ]]
}
