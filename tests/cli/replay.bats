# replay.bats -- asking the policy of a trace again. SPDX-License-Identifier: MIT
load helper

# same ORDERS TRACE -- all its orders are found again, at least so many.
same() {
    cleave 0 replay "$2"
    [[ $output == "the same: "*" orders of policy "* ]]
    [ -z "$stderr" ]
    local count=${output#the same: }
    [ "${count%% *}" -ge "$1" ] || { echo "$output"; return 1; }
    [ "${count%% *}" -eq "$(grep -c '^{"order"' "$2")" ]
}

@test "simulated loads order the same again" {
    cd "$BATS_TEST_TMPDIR"
    lab=$CLEAVE_SOURCE_DIR/examples/unequal.yaml
    for policy in auto umr-plus rumr self guided factoring learn fifo; do
        "$CLEAVE" simulate load -p "$lab" -l 2000 --policy $policy --noise normal:0.3 --error 0.3 \
            --runs 2 --seed 7 --trace $policy.trace >/dev/null
        same 9 $policy.trace
    done
    # Parameters and everything else that a plan depends on is in the trace.
    "$CLEAVE" plan load -p "$lab" -l 700 --policy self --param chunk=3.5 --trace chunks >/dev/null
    same 200 chunks
    "$CLEAVE" plan load -p "$lab" --lifespan 40 --result-ratio 0.5 --trace lifespan >/dev/null
    same 9 lifespan
    "$CLEAVE" plan load -p "$lab" -l 700 --result-ratio 0.3 --packaging 0.01 --trace results >/dev/null
    same 9 results
}

@test "reductions and streams order the same again" {
    cd "$BATS_TEST_TMPDIR"
    for policy in greedy binomial fibonacci tree-dyn ordered-tree-dyn tree-adapt ordered-adapt; do
        "$CLEAVE" simulate reduce -N 25 -d gamma:1,0.5 -c gamma:1,0.4 --policy $policy --runs 2 \
            --trace $policy.trace >/dev/null
        same 24 $policy.trace
    done
    "$CLEAVE" plan reduce --costs "$CLEAVE_SOURCE_DIR/examples/costs.json" --trace exact >/dev/null
    same 5 exact
    "$CLEAVE" simulate streams -p "$CLEAVE_SOURCE_DIR/examples/streams.yaml" -T 10 \
        --trace streams >/dev/null
    same 50 streams
}

@test "real runs order the same again" {
    cd "$BATS_TEST_TMPDIR"
    seq 1 200000 >in
    "$CLEAVE" run -q -i in -j 3 --trace learn -- cat >/dev/null
    same 3 learn
    "$CLEAVE" run -q -i in -j 3 --block 50k --trace block -- cat >/dev/null
    same 20 block
    "$CLEAVE" run -q -i in -j 2 --policy factoring --trace factoring -- cat >/dev/null
    same 3 factoring
    (cat in; sleep 0.2; cat in) | "$CLEAVE" run -q -j 2 --trace stream -- cat >/dev/null
    same 3 stream
    grep -q '^{"event":"ended"' stream
    grep -q '^{"event":"done".*"left":' block
    # Hosts, with places that nobody took.
    printf 'port: multi\nworkers:\n  - {speed: 1e7, bandwidth: 1e8, name: %s, slots: 2, command: env}\n' \
        a >hosts.yaml
    "$CLEAVE" run -q -i in --hosts hosts.yaml --trace hosts -- cat >/dev/null
    same 2 hosts
    # Stopped in the middle: as far as it came.
    mkfifo hold
    : >begun
    "$CLEAVE" run -q -i in -j 1 --block 50k --trace stopped -- \
        sh -c 'cat; echo >>begun; read -r line <hold' >/dev/null 2>&1 &
    local pid=$! got=0
    for chunk in 1 2 3; do
        # Not before it is there: the one before may still hold the pipe, and take both words.
        until [ "$(wc -l <begun)" -ge $chunk ]; do sleep 0.01; done
        echo go >hold
    done
    kill -TERM $pid
    wait $pid || got=$?
    [ "$got" -eq 143 ]
    same 3 stopped
}

@test "unordered work of a run is counted" {
    cd "$BATS_TEST_TMPDIR"
    seq 1 20000 >in
    "$CLEAVE" run -q -i in -j 2 --block 20k --trace t -- cat >/dev/null
    local size
    size=$(wc -c <in)
    sed "1s/\"load\":$size/\"load\":$((size + 1234))/" t >more
    cleave 0 replay more
    [[ ${lines[0]} == "the same: "* ]]
    [ "${lines[1]}" = "not in the trace: 1234 bytes that were left over when hosts were lost, and shared out by the run itself" ]
    cleave 0 replay --json more
    has '"unrecorded": 1234'
    cleave 0 replay --json t
    has '"unrecorded": 0'
    # Of a plan all is known.
    "$CLEAVE" plan load -p "$CLEAVE_SOURCE_DIR/examples/unequal.yaml" -l 100 --policy self --trace p >/dev/null
    cleave 0 replay --json p
    has '"unrecorded": 0'
}

@test "an order that was changed is named" {
    cd "$BATS_TEST_TMPDIR"
    "$CLEAVE" plan load -p "$CLEAVE_SOURCE_DIR/examples/unequal.yaml" -l 100 --policy self \
        --param chunk=5 --trace t >/dev/null
    same 20 t
    local line order worker
    line=$(grep -n '^{"order"' t | sed -n 12p | cut -d: -f1)
    order=$(sed -n "${line}p" t)
    worker=$(printf '%s\n' "$order" | sed 's/.*"worker":"\([^"]*\)".*/\1/')
    sed "${line}s/\"units\":5/\"units\":4.5/" t >changed
    cleave 1 replay changed
    [ "${lines[0]%, at *}" = "different: order 12 of policy self" ]
    [[ ${lines[0]} == *"(line $line)" ]]
    [ "${lines[1]}" = "  recorded: send 4.5 units to $worker" ]
    [ "${lines[2]}" = "  now:      send 5 units to $worker" ]
    # Its time is that of the event before.
    local time
    time=$(head -n "$line" t | grep '^{"event"' | tail -n 1 | sed 's/.*"end":\([^,}]*\).*/\1/')
    near "$(printf '%s\n' "${lines[0]}" | sed 's/.*, at \([^ ]*\) s .*/\1/')" "$time" 1e-5
    # One that is missing, and one too many.
    sed "${line}d" t >missing
    cleave 1 replay missing
    has "different: order 12 of policy self"
    sed "${line}p" t >more
    cleave 1 replay more
    has "different: order 13 of policy self"
    has "recorded: send 5 units to $worker"
}

@test "another order of a reduction, a changed policy and JSON" {
    cd "$BATS_TEST_TMPDIR"
    "$CLEAVE" simulate reduce -N 8 -d gamma:1,0.5 -c 0.3 --policy tree-dyn --runs 1 --trace t >/dev/null
    sed '1s/"policy":"tree-dyn"/"policy":"greedy"/' t >other
    cleave 1 replay other
    has "different: order "
    has "of policy greedy"
    cleave 1 replay --json other
    valid_json
    [ "$(json_keys)" = "policy same orders unrecorded difference " ]
    has '"same": false'
    has '"recorded": {"order": "combine", "worker": '
    cleave 0 replay --json t
    valid_json
    has '"same": true'
    has '"orders": 7'
    has '"difference": null'
}

@test "replay reports the reason of a trace that cannot be replayed" {
    cd "$BATS_TEST_TMPDIR"
    "$CLEAVE" plan load -p "$CLEAVE_SOURCE_DIR/examples/unequal.yaml" -l 100 --policy self \
        --param chunk=5 --trace t >/dev/null
    sed '1s/,"about":.*/}/' t >old
    cleave 2 replay old
    [ "$stderr" = "cleave: old: the trace (of cleave 0.1.0 or before) has no events of its policy; traces of runs with this version have them, unless the plan was given" ]
    sed '1s/"policy":"self"/"policy":"selv"/' t >unknown
    cleave 2 replay unknown
    [[ $stderr == "cleave: unknown: unknown policy 'selv'"* ]]
    sed '1s/"chunk":"5"/"chunk":"-5"/' t >bad
    cleave 2 replay bad
    [[ $stderr == *"policy 'self': parameter 'chunk'"* ]]
    # Events that nobody can have told: a chunk that was never ordered, and one done twice.
    local line
    line=$(grep -n '^{"event":"done"' t | head -n 1 | cut -d: -f1)
    sed "${line}s/\"chunk\":[0-9]*/\"chunk\":99/" t >stray
    cleave 2 replay stray
    [ "$stderr" = "cleave: stray: entry $((line - 2)) of the trace has a chunk that was not ordered" ]
    awk -v n="$line" '{ print } NR == n { again = $0 } NR == n + 1 { print again }' t >twice
    cleave 2 replay twice
    [ "$stderr" = "cleave: twice: entry $line of the trace has a chunk that an earlier event named" ]
    refuses "expected the file of a trace, as --trace writes it" replay
    cleave 2 replay t.chrome.json
    [[ $stderr == *"a trace for other viewers cannot be read back"* ]]
}

@test "traces hold profiles and memory: who planned with them is asked again" {
    printf 'port: one\nworkers: [{name: a, speed: 2, bandwidth: 9, compute_latency: 0.1, profile: [[3, 0.5], [9, 1]]}, {name: b, speed: 3, bandwidth: 9, from: 4, memory: 5}]\n' >"$BATS_TEST_TMPDIR/p"
    for policy in auto umr-plus learn self; do
        cleave 0 plan load -p "$BATS_TEST_TMPDIR/p" -l 60 --policy $policy --trace "$BATS_TEST_TMPDIR/t" --no-gantt
        cleave 0 replay "$BATS_TEST_TMPDIR/t"
        has "the same"
    done
    grep -q '"profiles":\[\[3,0.5,9,1\],\[0,0,4,1\]\],"memory":\[0,5\]' "$BATS_TEST_TMPDIR/t"
    # What no platform file could say is refused.
    for wrong in 's/"memory":\[0,5\]/"memory":[5]/' 's/\[3,0.5,9,1\]/[3,0.5,9]/' 's/\[3,0.5,9,1\]/[9,0.5,3,1]/' 's/\[3,0.5,9,1\],//' 's/\[3,0.5/[-3,0.5/'; do
        sed "1 $wrong" "$BATS_TEST_TMPDIR/t" >"$BATS_TEST_TMPDIR/wrong"
        cleave 2 replay "$BATS_TEST_TMPDIR/wrong"
        [[ $stderr == *": expected "* ]]
    done
}

@test "traces hold how commands read: who tried others with such commands is asked again" {
    for more in '' '--hold 5'; do
        # shellcheck disable=SC2086
        cleave 0 plan load -p "$CLEAVE_SOURCE_DIR/examples/unequal.yaml" -l 60 --reads late $more --trace "$BATS_TEST_TMPDIR/t" --no-gantt
        grep -q '"reads":"late","supply":60' "$BATS_TEST_TMPDIR/t"
        cleave 0 replay "$BATS_TEST_TMPDIR/t"
        has "the same"
    done
    sed '1 s/"reads":"late"/"reads":"soon"/' "$BATS_TEST_TMPDIR/t" >"$BATS_TEST_TMPDIR/wrong"
    cleave 2 replay "$BATS_TEST_TMPDIR/wrong"
    [[ $stderr == *"expected commands that read as stream, count, slurp, late or mix do, got 'soon'"* ]]
}

@test "replay reads the words of traces of 0.2" {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' 'port: multi' 'workers:' '  - {name: a, speed: 10, bandwidth: 1e9}' \
        '  - {name: b, speed: 1, bandwidth: 1e9}' >two.yaml
    cleave 0 simulate load -p two.yaml -l 1000 --policy learn --reads stream --runs 1 --trace new
    grep -q '^{"order":"query"' new
    grep -q '^{"event":"progress"' new
    sed 's/^{"order":"query"/{"order":"look"/; s/^{"event":"progress"/{"event":"seen"/' new >old
    same 3 old
    ! cmp -s new old
}
