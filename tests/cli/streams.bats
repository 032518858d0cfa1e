# cleave plan streams and simulate streams. SPDX-License-Identifier: MIT
load helper

CAMERAS=examples/streams.yaml

# A platform of Table 1 of the paper on streams: 100 workers of each of ten kinds.
table1() {
    {
        echo 'port: duplex'
        echo 'workers:'
        local kind=0 row
        for row in '1 1e-2 1e6 1e-2' '100 1e-1 1e7 1e-3' '10 1e-3 1e8 1.5e-2' \
            '1000 1e-2 1e9 1e-2' '1 1e-3 1e6 1e-2' '100 1e-1 1e7 1e-3' \
            '10 1e-4 1e8 1e-2' '1000 1e-2 1e9 1e-2' '1 1e-3 1e6 1e-3' '100 1e-2 1e7 1e-2'; do
            read -r speed start bandwidth latency <<<"$row"
            echo "  - {name: s$kind, count: $1, speed: $speed, compute_latency: $start," \
                "bandwidth: $bandwidth, latency: $latency}"
            kind=$((kind + 1))
        done
    } >"$BATS_TEST_TMPDIR/table1.yaml"
}

@test "plan, text: workers of each stream in order, and workers left out" {
    cleave 0 plan streams --platform $CAMERAS --streams 2 --result-ratio 0.1
    golden plan-streams.txt
    [ -z "$stderr" ]
    cleave 0 plan streams -p $CAMERAS --period 300ms --result-ratio 0.1
    golden plan-streams-short.txt
    has "board     its two latencies of computing take 6 s of a round of 0.3 s"
    cleave 0 plan streams -p $CAMERAS -t 0.3 --result-ratio 0.1 --weights ring
    golden plan-streams-ring.txt
}

@test "plan, json: the fields" {
    cleave 0 plan streams -p $CAMERAS -M 2 -t 0.5 --json
    valid_json
    [ "$(json_keys)" = "period period_chosen streams margin theta result_ratio weights \
throughput upper_bound over_bound optimal selected least_share clusters shares workers " ]
    has '"period": 0.5,'
    has '"period_chosen": false,'
    has '"streams": 2,'
    has '"optimal": true,'
    has '"selected": 13,'
    has '"weights": "own",'
    has '"name": "board", "delay": null, "start": null, "throughput": 0, "theta": 0.5, "cluster": null, '
    [ "$(printf '%s\n' "$output" | grep -c '"reason": null')" -eq 13 ]
    [ "$(printf '%s\n' "$output" | grep -c '"demand": 1, ')" -eq 2 ]
    cleave 0 plan streams -p $CAMERAS -M 2 --json
    has '"period_chosen": true,'
}

@test "plan: the paper's own table, and what the order of service adds" {
    table1 100
    cleave 0 plan streams -p "$BATS_TEST_TMPDIR/table1.yaml" -t 10 --result-ratio 1 \
        --weights ring --json
    near "$(number throughput)" 212814 1e-9
    [ "$(number selected)" = 333 ]
    has '"optimal": true'
    for tau in 1 2; do
        cleave 0 plan streams -p "$BATS_TEST_TMPDIR/table1.yaml" -M 2 -t $tau \
            --result-ratio 1 --weights ring --json
        local ring
        ring=$(number throughput)
        cleave 0 plan streams -p "$BATS_TEST_TMPDIR/table1.yaml" -M 2 -t $tau \
            --result-ratio 1 --json
        awk -v own="$(number throughput)" -v ring="$ring" 'BEGIN { exit !(own > 1.4 * ring) }'
        awk -v own="$(number throughput)" -v most="$(number upper_bound)" \
            'BEGIN { exit !(own <= most && own > 0.99 * most) }'
    done
}

@test "plan: demands are met where that costs nothing" {
    cleave 0 plan streams -p $CAMERAS -M 2 -t 2 --json
    local all
    all=$(number throughput)
    awk -v s="$(number least_share)" 'BEGIN { exit !(s > 0.97 && s <= 1) }'
    cleave 0 plan streams -p $CAMERAS -M 2 -t 2 --demand 3,1 --json
    near "$(number throughput)" "$all" 1e-12
    awk -v s="$(number least_share)" 'BEGIN { exit !(s > 0.95 && s <= 1) }'
    has '"demand": 3, '
    cleave 0 plan streams -p $CAMERAS -M 2 -t 2 --demand any --json
    near "$(number throughput)" "$all" 1e-12
}

@test "plan: margins, ports, effort" {
    cleave 0 plan streams -p $CAMERAS -t 0.5 --margin 0 --json
    local sure
    sure=$(number throughput)
    cleave 0 plan streams -p $CAMERAS -t 0.5 --margin 1 --json
    awk -v a="$(number throughput)" -v b="$sure" 'BEGIN { exit !(a < b) }'
    sed 's/^port: duplex/port: multi/' $CAMERAS >"$BATS_TEST_TMPDIR/multi.yaml"
    cleave 0 plan streams -p "$BATS_TEST_TMPDIR/multi.yaml" -t 0.5 --json
    has '"selected": 13,'
    has '"optimal": true,'
    sed 's/^port: duplex/port: one/' $CAMERAS >"$BATS_TEST_TMPDIR/one.yaml"
    cleave 0 plan streams -p "$BATS_TEST_TMPDIR/one.yaml" -t 0.5 --result-ratio 1 --json
    awk -v a="$(number throughput)" -v b="$sure" 'BEGIN { exit !(a < b) }'
    cleave 0 plan streams -p $CAMERAS -M 2 -t 0.5 --effort 0.001
}

@test "plan: the platform from standard input" {
    run --separate-stderr bash -c "\"\$CLEAVE\" plan streams -p - -M 2 --json <$CAMERAS"
    [ "$status" -eq 0 ]
    local piped=$output
    cleave 0 plan streams -p $CAMERAS -M 2 --json
    [ "$output" = "$piped" ]
}

@test "plan: no worker is sent more than its memory holds" {
    local small='{port: duplex, workers: [{name: small, speed: 10, bandwidth: 100, memory: 2}]}' verb
    for verb in plan "simulate -T 20"; do
        set -- $verb
        refuses "worker 'small' is to be sent 10 units at once in rounds of 2 s, and has memory \
for 2: expected a shorter period" "$1" streams -p - "${@:2}" -t 2 <<<"$small"
        cleave 0 "$1" streams -p - "${@:2}" -t 0.4 <<<"$small"
    done
}

@test "plan: bad input is reported in one line" {
    refuses "--platform FILE is required" plan streams -M 2
    refuses "nowhere.yaml: cannot open: No such file or directory" plan streams -p nowhere.yaml
    for bad in 0 -1 x 5MB nan inf; do
        refuses "--period: expected a positive time such as 5 or 500ms, or auto, got '$bad'" \
            plan streams -p $CAMERAS --period=$bad
    done
    refuses "--streams: expected a whole number from 1 to 1000000, got '0'" \
        plan streams -p $CAMERAS -M 0
    refuses "--theta: expected a number from 0.05 to 0.95, got '1'" \
        plan streams -p $CAMERAS --theta 1
    refuses "--weights: expected own or ring, got 'rings'" \
        plan streams -p $CAMERAS --weights rings
    refuses "--demand: expected one number per stream, 2 in all, got 3" \
        plan streams -p $CAMERAS -M 2 --demand 3,1,1
    for bad in 1,x 1, ,1 1,-1 0,1 1,1k; do
        refuses "--demand: expected positive numbers such as 3,1,1, or any, got '$bad'" \
            plan streams -p $CAMERAS -M 2 --demand=$bad
    done
    printf 'workers: [{name: far, speed: 10, bandwidth: 5, latency: 1}]\n' \
        >"$BATS_TEST_TMPDIR/far.yaml"
    refuses "no worker can be served in rounds of any length: messages take longer than \
computing" plan streams -p "$BATS_TEST_TMPDIR/far.yaml"
    cleave 0 plan streams -p "$BATS_TEST_TMPDIR/far.yaml" --period 3
    has "used        0 of 1 worker"
}

@test "simulate, text" {
    cleave 0 simulate streams -p $CAMERAS -M 2 -T 600 --period 2 --result-ratio 0.1
    golden simulate-streams.txt
    [ -z "$stderr" ]
    cleave 0 simulate streams -p $CAMERAS -M 2 -T 600 --result-ratio 0.1 --all-workers
    has "for the choice of workers, then as measured"
    has "  remote.1 "
}

@test "simulate, json: the fields" {
    cleave 0 simulate streams -p $CAMERAS -M 2 -T 200 -t 2 --json
    valid_json
    [ "$(json_keys)" = "period period_chosen streams horizon rest_s result_ratio \
declared_factor planned_throughput selected units throughput cpu_efficiency busy end \
throughput_in_time window contentions wait_send_s wait_return_s idle_s chunks events rounds \
per_stream workers " ]
    has '"horizon": 200,'
    has '"selected": 13,'
    has '"mean_sigma": '
    [ "$(printf '%s\n' "$output" | grep -c '"cluster": ')" -eq 13 ]
    awk -v useful="$(number cpu_efficiency)" -v busy="$(number busy)" \
        'BEGIN { exit !(useful > 0.9 && useful < busy && busy <= 1) }'
}

@test "simulate: steady streams follow the plan" {
    sed '/profile:/d' $CAMERAS >"$BATS_TEST_TMPDIR/steady.yaml"
    for port in duplex one multi; do
        sed "s/^port: duplex/port: $port/" "$BATS_TEST_TMPDIR/steady.yaml" \
            >"$BATS_TEST_TMPDIR/$port.yaml"
        cleave 0 simulate streams -p "$BATS_TEST_TMPDIR/$port.yaml" -M 2 -T 100 -t 2 \
            --window 40,100 --result-ratio 0.1 --json
        local planned
        planned=$(number planned_throughput)
        printf '%s\n' "$output" | sed -n 's/.*"window": .*"throughput": \([0-9.]*\),.*/\1/p' \
            >"$BATS_TEST_TMPDIR/window"
        near "$(cat "$BATS_TEST_TMPDIR/window")" "$planned" 1e-6
    done
}

@test "simulate: wrong declared speeds are made up for" {
    cleave 0 simulate streams -p $CAMERAS -M 2 -T 600 -t 2 --json
    local right
    right=$(number throughput)
    for factor in 0.5 0.8 1.5; do
        cleave 0 simulate streams -p $CAMERAS -M 2 -T 600 -t 2 --declared-error $factor --json
        has "\"declared_factor\": $factor"
        near "$(number throughput)" "$right" 0.02
    done
}

@test "simulate: the end of a stream, rules and services are parameters" {
    cleave 0 simulate streams -p $CAMERAS -T 303 -t 5 --rest 5 --json
    local taper
    taper=$(number cpu_efficiency)
    cleave 0 simulate streams -p $CAMERAS -T 303 -t 5 --param end=none --json
    awk -v a="$taper" -v b="$(number cpu_efficiency)" 'BEGIN { exit !(a > b) }'
    for setting in rule=deadbeat rule=pll rule=periodic post=spaced service=rr service=edf \
        start=spread end=spread; do
        cleave 0 simulate streams -p $CAMERAS -T 100 -t 2 --rest 2 --result-ratio 0.1 \
            --param $setting --json
        valid_json
        awk -v useful="$(number cpu_efficiency)" 'BEGIN { exit !(useful > 0.8) }'
    done
}

@test "simulate: the result does not depend on the number of threads" {
    cleave 0 simulate streams -p $CAMERAS -M 3 -T 100 --json --threads 1
    local one=$output
    cleave 0 simulate streams -p $CAMERAS -M 3 -T 100 --json --threads 7
    [ "$output" = "$one" ]
}

@test "simulate: --trace writes every event and order of one stream" {
    cleave 0 simulate streams -p $CAMERAS -T 20 -t 2 --result-ratio 0.1 --json \
        --trace "$BATS_TEST_TMPDIR/trace"
    [ "$(grep -c '"order":"send"' "$BATS_TEST_TMPDIR/trace")" -eq "$(number chunks)" ]
    [ "$(grep -c '"event":"done"' "$BATS_TEST_TMPDIR/trace")" -eq "$(number chunks)" ]
    [ "$(grep -c '"event":"returned"' "$BATS_TEST_TMPDIR/trace")" -eq "$(number chunks)" ]
    grep -q '"worker":"remote.1"' "$BATS_TEST_TMPDIR/trace"
    refuses "--trace: expected one stream, got 2" \
        simulate streams -p $CAMERAS -M 2 -T 20 --trace "$BATS_TEST_TMPDIR/trace"
    cleave 2 simulate streams -p $CAMERAS -T 5 --trace /no/such/folder/trace
    [[ $stderr == "cleave: --trace: cannot write '/no/such/folder/trace': "* ]]
}

@test "simulate: bad input is reported in one line" {
    refuses "--horizon TIME is required" simulate streams -p $CAMERAS
    refuses "--horizon: expected a positive time, got 0" simulate streams -p $CAMERAS -T 0
    refuses "--declared-error: expected a number from 0.001 to 1000, got '0'" \
        simulate streams -p $CAMERAS -T 10 --declared-error 0
    refuses "policy 'as4dr' has no parameter 'rulex'; did you mean 'rule'?" \
        simulate streams -p $CAMERAS -T 10 --param rulex=1
    refuses "policy 'as4dr': parameter 'end': expected taper, spread or none, got 'stop'" \
        simulate streams -p $CAMERAS -T 10 --param end=stop
    refuses "parameter 'period' is given twice" \
        simulate streams -p $CAMERAS -T 10 -t 2 --param period=3
    for bad in 5 5,3 a,b 1,2,3 -1,2; do
        refuses "--window: expected two times in seconds, the second the later one, such as \
100,400, got '$bad'" simulate streams -p $CAMERAS -T 10 --window=$bad
    done
    refuses "no worker can serve a stream in rounds of 0.001 s; see 'cleave plan streams'" \
        simulate streams -p $CAMERAS -T 10 -t 1ms
    cleave 2 simulate streams -p $CAMERAS -T 10 --engine nativ
    cleave 2 simulate streams -p $CAMERAS -T 10 --horizn 5
}

@test "figures of the paper on streams, quick" {
    cleave 0 figures streams-fig4 --quick --json
    valid_json
    [ "$(printf '%s\n' "$output" | grep -c '"holds": true')" -eq 3 ]
    lacks '"holds": false'
}

@test "a terminal gets colours" {
    on_terminal plan streams -p $CAMERAS
    [ "$status" -eq 0 ]
    has $'\033[1m1 stream on 14 workers'
}

@test "a plan has the theta of its run, which moves it, and its delays" {
    local parts=$BATS_TEST_TMPDIR/parts
    cleave 0 plan streams -p $CAMERAS -t 2 --theta 0.9 --result-ratio 0.4 --json
    sed -n 's/.*"name": "\([^"]*\)".*"start": [0-9].*"theta": \([0-9.]*\).*/\1 \2/p' <<<"$output" |
        awk '{ printf "%s %.6f\n", $1, $2 }' | sort >"$parts.plan"
    # It would idle with 0.9. Its own first result counts in its delay.
    grep -q '^remote.0 0.786803$' "$parts.plan"
    has '"name": "remote.0", "delay": 0.18190319101123595, "start": 0.43470319101123589,'
    cleave 0 simulate streams -p $CAMERAS -t 2 -T 20 --theta 0.9 --result-ratio 0.4 \
        --trace "$BATS_TEST_TMPDIR/trace"
    # The first two messages to a worker are the two parts of its first round.
    awk -F'"' '/"event":"sent"/ {
        split($0, a, "\"units\":")
        if (++n[$8] == 1) first[$8] = a[2] + 0
        if (n[$8] == 2) printf "%s %.6f\n", $8, first[$8] / (first[$8] + a[2])
    }' "$BATS_TEST_TMPDIR/trace" | sort >"$parts.run"
    [ "$(wc -l <"$parts.run")" -eq 13 ]
    diff "$parts.plan" "$parts.run"
    grep -m 1 '"event":"sent","worker":"remote.0"' "$BATS_TEST_TMPDIR/trace" |
        grep -q '"start":0.434703191'
}

@test "the shortest round for one master leaves out a slow starter, and margins may differ" {
    local one period
    cleave 0 plan streams -p $CAMERAS --cip --json
    valid_json
    # The delays of all fit into the round.
    period=$(number period)
    has '"name": "board", "theta": null, "first_load": null, "delay": null, "reason": "its two latencies'
    sum=$(sed -n 's/.*"delay": \([-0-9.e+]*\).*/\1/p' <<<"$output" | awk '{ s += $1 } END { print s }')
    awk -v s="$sum" -v p="$period" 'BEGIN { exit !(s > 0 && p < 2 && s <= p * (1 + 1e-5)) }'
    # A longer round has work for all.
    cleave 0 plan streams -p $CAMERAS --cip --margin 0.5
    has "one stream, 14 of 14 workers"
    cleave 0 plan streams -p $CAMERAS --cip
    has "one stream, 13 of 14 workers"
    has "board     its two latencies of computing take 6 s, a round of the others lasts"
    refuses "--cip: is about one stream and all workers; leave out --period" \
        plan streams -p $CAMERAS --cip --period 2
    cleave 0 plan streams -p $CAMERAS --period 2 --margin 0.1 --json
    one=$output
    cleave 0 plan streams -p $CAMERAS --period 2 --margin 0.1,card.1=0.1 --json
    [ "$output" = "$one" ]
    cleave 0 plan streams -p $CAMERAS --period 2 --margin 0.1,card.1=0.9 --json
    has '"margin": 0.9'
    [ "$output" != "$one" ]
    refuses "--margin: no worker is called 'nobody'" plan streams -p $CAMERAS --margin 0.1,nobody=2
    for bad in x -1 card.1=0.1 0.1,,card.1=2 0.1,card.1=x 0.1,0.2; do
        refuses "--margin: expected a number from 0 to 1000, and others for some workers, such as 0.1,far=0.3, got '$bad'" \
            plan streams -p $CAMERAS --margin=$bad
    done
}
