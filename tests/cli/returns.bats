# Results that come back: plan, simulate and compare load. SPDX-License-Identifier: MIT
load helper

# Two workers whose shares are known: tau = 1 and 2, R = 4, delta = 0.5.
pair() {
    cat <<END
port: $1
workers:
  - {name: a, speed: 0.25, bandwidth: 1}
  - {name: b, speed: 0.25, bandwidth: 0.5}
END
}

@test "text: orders, shares and the bound" {
    cleave 0 plan load -p $LAB --lifespan 2min --result-ratio 0.5 --policy best-orders
    golden plan-best-orders.txt
}

@test "text: every chunk with its return" {
    cleave 0 plan load -p $LAB -l 2000 --result-ratio 0.2 --policy lifo --chunks --no-gantt
    golden plan-lifo-chunks.txt
}

@test "json: a lifespan gives work instead of load, and ends at it" {
    pair duplex >"$BATS_TEST_TMPDIR/pair.yaml"
    for policy in fifo lifo small-results best-orders rounds auto one-round umr; do
        cleave 0 plan load -p "$BATS_TEST_TMPDIR/pair.yaml" --lifespan 10 \
            --result-ratio 0.5 --policy $policy --json
        has '"lifespan": 10,'
        [[ $output =~ \"work\":\ [0-9] ]]
        [[ ! $output =~ \"load\" ]]
        [[ $output =~ \"makespan\":\ (10|10\.000000000|9\.9999999)[0-9]*, ]]
    done
}

# number KEY [N] -- the value of KEY in the JSON of $output, where it stands for the N-th time.
number() {
    grep -o "\"$1\": [-0-9.e+]*" <<<"$output" | sed -n "${2:-1}s/.*: //p"
}

# holds EXPRESSION -- what awk makes of it is true.
holds() {
    awk "function near(x, y) { d = x - y; return d < 1e-9 && d > -1e-9 }
        BEGIN { exit !($1) }" || { echo "false: $1"; return 1; }
}

@test "json: FIFO and LIFO shares agree with the closed forms" {
    pair duplex >"$BATS_TEST_TMPDIR/pair.yaml"
    local job="plan load -p $BATS_TEST_TMPDIR/pair.yaml --lifespan 10 --result-ratio 0.5"
    cleave 0 $job --policy fifo --json
    local a=$(number units 1) b=$(number units 2)
    holds "near(6 * $b, 4.5 * $a)"
    holds "near($a + 4 * $a + 0.5 * $a + 0.5 * 2 * $b, 10)"
    holds "$(number return_end 1) <= $(number return_start 2) + 1e-9"
    holds "$(number value) >= $(number work) * (1 - 1e-9)"
    cleave 0 $job --policy lifo --json
    a=$(number units 1) b=$(number units 2)
    holds "near(7 * $b, 4 * $a) && near(5.5 * $a, 10)"
    holds "$(number return_end 2) <= $(number return_start 1) + 1e-9"
}

@test "packing makes workers slower: R = rho + (1 + delta) pi" {
    pair duplex >"$BATS_TEST_TMPDIR/pair.yaml"
    pair duplex | sed 's/speed: 0.25/speed: 0.18181818181818182/' \
        >"$BATS_TEST_TMPDIR/slow.yaml"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/pair.yaml" -l 3 --result-ratio 0.5 \
        --packaging 1 --policy fifo --no-gantt
    local packed=$output
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/slow.yaml" -l 3 --result-ratio 0.5 \
        --policy fifo --no-gantt
    [ "$output" = "$packed" ]
}

@test "one port and duplex give different answers" {
    pair one | sed 's/speed: 0.25/speed: 5/' >"$BATS_TEST_TMPDIR/one.yaml"
    pair duplex | sed 's/speed: 0.25/speed: 5/' >"$BATS_TEST_TMPDIR/duplex.yaml"
    local job="plan load -l 3 --result-ratio 0.5 --policy fifo --json"
    cleave 0 $job -p "$BATS_TEST_TMPDIR/one.yaml"
    local one=$(number makespan)
    cleave 0 $job -p "$BATS_TEST_TMPDIR/duplex.yaml"
    holds "$one > $(number makespan) * 1.01"
}

@test "plans are called optimal only if proved" {
    pair one >"$BATS_TEST_TMPDIR/pair.yaml"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/pair.yaml" -l 3 --result-ratio 0.5 \
        --policy best-orders --json
    has '"optimal": true'
    has '"proved_among": "all schedules of one round"'
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/pair.yaml" -l 3 --result-ratio 0.5 \
        --policy fifo --json
    has '"proved_among": "schedules that return in the order of sending"'
}

@test "orders: given orders are kept, bad ones are refused" {
    local job="plan load -p $LAB -l 2000 --result-ratio 0.3 --policy orders"
    cleave 0 $job --send-order 4,5,6,0 --return-order 0,6,5,4 --json
    [ "$(grep -c '"worker": ' <<<"$output")" -eq 9 ] # four chunks, five left out
    refuses "policy 'orders' needs a send-order, such as 2,0,1: workers by number, the \
first of the platform is 0" $job
    refuses "policy 'orders': parameter 'return-order': expected each worker from 0 to 8 \
at most once, got 9" $job --send-order 1,2 --return-order 1,9
    refuses "policy 'orders': parameter 'send-order': expected each worker from 0 to 8 \
at most once, got 1 twice" $job --send-order 1,1 --return-order 1,2
    refuses "policy 'orders': parameter 'send-order': expected numbers of workers with \
commas between, such as 2,0,1, got '1,,2'" $job --send-order 1,,2 --return-order 1,2
    refuses "policy 'orders': worker 3 returns a result but is sent nothing" \
        $job --send-order 1,2 --return-order 1,3
    refuses "policy 'orders': worker 2 is sent work but does not return" \
        $job --send-order 1,2 --return-order 1
}

@test "bad values" {
    refuses "--result-ratio: expected a number from 0 to 1e+09, got '-1'" \
        plan load -p $LAB -l 5 --result-ratio -1
    refuses "--lifespan: expected a time of 0 or more such as 0.5, 500ms or 2min, got \
'soon'" plan load -p $LAB --lifespan soon
    refuses "expected a longer lifespan: nothing ends within 1e-06 s" \
        plan load -p $LAB --lifespan 1us --result-ratio 1 --policy lifo
    refuses "expected a longer lifespan: nothing ends within 1e-06 s" \
        plan load -p $LAB --lifespan 1us
    refuses "expected a shorter lifespan: no number holds what ends within 1e+200 s" \
        plan load -p $LAB --lifespan 1e200
    pair multi >"$BATS_TEST_TMPDIR/multi.yaml"
    refuses "policy 'fifo' is about a port that links share, but this master has port: \
multi; links and auto plan for that" plan load -p "$BATS_TEST_TMPDIR/multi.yaml" -l 5 --result-ratio 1 --policy fifo
    printf 'workers: [{name: a, speed: 2, bandwidth: 9}, {name: b, speed: 3, bandwidth: 9, memory: 2}]\n' >"$BATS_TEST_TMPDIR/small.yaml"
    cleave 2 plan load -p "$BATS_TEST_TMPDIR/small.yaml" -l 60 --result-ratio 1 --policy lifo
    [[ $stderr == "cleave: policy 'lifo' sends "*" units to worker 1 at once, which has memory for 2; auto picks who keeps to that" ]]
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/small.yaml" -l 60 --result-ratio 1 --no-gantt
}

@test "simulate: results come back in every run" {
    cleave 0 simulate load -p $LAB -l 2000 --result-ratio 0.5 --policy fifo --error 0.1 \
        --runs 100 --json
    has '"result_ratio": 0.5'
    cleave 0 simulate load -p $LAB --lifespan 60 --result-ratio 0.5 --policy lifo \
        --noise gamma:0.1 --runs 100
    has "units as planned"
}

@test "compare: policies about returns take part when something returns" {
    cleave 0 compare load -p $LAB -l 2000 --result-ratio 0.5
    golden compare-results.txt
    cleave 0 compare load -p $LAB --lifespan 60 --result-ratio 0.5 --json
    has '"lifespan": 60'
    cleave 0 compare load -p $LAB -l 2000
    has "  fifo            it orders the return of results: see --result-ratio"
}

@test "trace: returns are recorded and can be read again" {
    cleave 0 plan load -p $LAB -l 2000 --result-ratio 0.5 --policy lifo --no-gantt \
        --trace "$BATS_TEST_TMPDIR/trace.jsonl"
    [ "$(grep -c '"event": *"returned"' "$BATS_TEST_TMPDIR/trace.jsonl")" -eq \
        "$(grep -c '"order": *"return"' "$BATS_TEST_TMPDIR/trace.jsonl")" ]
    grep -q '"event": *"returned"' "$BATS_TEST_TMPDIR/trace.jsonl"
}

@test "workers that differ in the way back only are equal unless something comes back" {
    cat >"$BATS_TEST_TMPDIR/back.yaml" <<'YAML'
workers:
  - {name: a, speed: 1, bandwidth: 20, return_bandwidth: 20}
  - {name: b, speed: 1, bandwidth: 20, return_bandwidth: 5}
YAML
    for policy in mi xmi xmi-k; do
        cleave 0 plan load -p "$BATS_TEST_TMPDIR/back.yaml" -l 100 --policy $policy
        refuses "policy '$policy' needs equal workers, but 'a' and 'b' differ in \
return_bandwidth; umr-plus and auto take unequal ones" \
            plan load -p "$BATS_TEST_TMPDIR/back.yaml" -l 100 --policy $policy --result-ratio 0.5
    done
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/back.yaml" -l 100 --policy auto --result-ratio 0.5
}

@test "rounds: plans, simulates and runs again; thorough is no worse; other efforts are refused" {
    cleave 0 plan load -p $LAB -l 2000 --result-ratio 0.5 --policy rounds --json \
        --trace "$BATS_TEST_TMPDIR/rounds.jsonl"
    fast=$(number makespan)
    awk -v t="$fast" -v b="$(number value)" 'BEGIN { exit !(t <= 29.2 && b >= 28.99 && b <= t) }'
    has '"bound": {"name": "rounds"'
    cleave 0 replay "$BATS_TEST_TMPDIR/rounds.jsonl"
    has 'the same'
    cleave 0 plan load -p $LAB -l 2000 --result-ratio 0.5 --policy rounds --param effort=thorough --json
    awk -v t="$(number makespan)" -v f="$fast" 'BEGIN { exit !(t <= f && t <= 29.2) }'
    cleave 0 simulate load -p $LAB -l 2000 --result-ratio 0.5 --policy rounds --noise normal:0.2 --runs 5
    refuses "policy 'rounds': parameter 'effort': expected fast or thorough, got 'long'" \
        plan load -p $LAB -l 2000 --result-ratio 0.5 --policy rounds --param effort=long
}

@test "rounds: one worker with duplex is planned to the optimum, as with multi" {
    local one="workers: [{name: a, speed: 0.64, bandwidth: 0.30467, latency: 1.194, return_bandwidth: 0.60946, return_latency: 0.516}]"
    cleave 0 plan load -p - -l 17.84 --result-ratio 0.5 --json <<<"{port: duplex, $one}"
    near "$(number makespan)" 65.787 0.0001
    near "$(number value)" "$(number makespan)" 1e-6
    has '"name": "rounds"'
}

@test "rounds: separate links are planned to the optimum, and chunks fit little memory" {
    local time bound
    cat >"$BATS_TEST_TMPDIR/multi.yaml" <<END
port: multi
workers:
  - {name: a, speed: 2, bandwidth: 10, compute_latency: 0.3, latency: 0.2}
  - {name: b, speed: 1, bandwidth: 6, compute_latency: 0.1, latency: 0.4, memory: 8}
END
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/multi.yaml" -l 100 --result-ratio 0.5 --policy rounds --json \
        --trace "$BATS_TEST_TMPDIR/multi.jsonl"
    time=$(number makespan)
    bound=$(number value)
    awk -v t="$time" -v b="$bound" 'BEGIN { exit !(b > 0 && b <= t && t <= 1.0000001 * b) }'
    cleave 0 replay "$BATS_TEST_TMPDIR/multi.jsonl"
    has 'the same'
    cleave 0 compare load -p "$BATS_TEST_TMPDIR/multi.yaml" -l 100 --result-ratio 0.5 --json
    awk -v t="$time" -v b="$(number best)" 'BEGIN { exit !(b == "" || t <= 1.0000001 * b) }'
    # Without results, too: links, best where nothing limits chunks, would wait for its own latencies.
    sed 's/memory: 8/memory: 2/; s/compute_latency: 0.1/compute_latency: 3/' "$BATS_TEST_TMPDIR/multi.yaml" >"$BATS_TEST_TMPDIR/little.yaml"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/little.yaml" -l 100 --policy rounds --json
    time=$(number makespan)
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/little.yaml" -l 100 --json
    awk -v t="$time" -v a="$(number makespan)" 'BEGIN { exit !(a <= 1.0000001 * t) }'
    sed -i 's/multi/one/' "$BATS_TEST_TMPDIR/multi.yaml"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/multi.yaml" -l 100 --result-ratio 0.5 --policy rounds --json
    [ "$(grep -c '"worker": "b", "round"' <<<"$output")" -gt 1 ]
    sed -n 's/.*"worker": "b", "round": [0-9]*, "units": \([^,]*\),.*/\1/p' <<<"$output" | awk '$1 > 8.0001 { exit 1 }'
}

@test "sends overtake results that wait, unless they go in turn; a replay knows which" {
    cleave 0 plan load -p $LAB -l 2000 --result-ratio 0.5 --policy umr-plus --json \
        --trace "$BATS_TEST_TMPDIR/first.jsonl"
    first=$(number makespan)
    cleave 0 plan load -p $LAB -l 2000 --result-ratio 0.5 --policy umr-plus --in-turn --json \
        --trace "$BATS_TEST_TMPDIR/turn.jsonl"
    awk -v f="$first" -v t="$(number makespan)" 'BEGIN { exit !(f < 33 && t > 35) }'
    for trace in first turn; do
        cleave 0 replay "$BATS_TEST_TMPDIR/$trace.jsonl"
        has 'the same'
    done
    grep -q '"sends_first": *true' "$BATS_TEST_TMPDIR/first.jsonl"
    [ "$(grep -c '"sends_first"' "$BATS_TEST_TMPDIR/turn.jsonl")" -eq 0 ]
}

@test "results come right before the next round, if that is asked for; a replay knows it" {
    local turn
    cleave 0 plan load -p $LAB -l 2000 --result-ratio 0.5 --policy umr --in-turn --json
    turn=$(number makespan)
    cleave 0 plan load -p $LAB -l 2000 --result-ratio 0.5 --policy umr --before-round --json \
        --trace "$BATS_TEST_TMPDIR/before.jsonl"
    awk -v b="$(number makespan)" -v t="$turn" 'BEGIN { exit !(b > 1.001 * t || b < t / 1.001) }'
    grep -q '"before_round": *true' "$BATS_TEST_TMPDIR/before.jsonl"
    cleave 0 replay "$BATS_TEST_TMPDIR/before.jsonl"
    has 'the same'
    cleave 0 compare load -p $LAB -l 2000 --result-ratio 0.5 --before-round --policies auto,umr-plus,learn,rounds
    refuses '--before-round: not with --in-turn: results come back in one way' plan load -p $LAB -l 2000 --result-ratio 0.5 --before-round --in-turn
}

@test "the best of one round is not called optimal next to a bound for any number of rounds" {
    printf 'workers: [{name: a, count: 4, speed: 1, bandwidth: 6, compute_latency: 0.5, latency: 0.2}]\n' >"$BATS_TEST_TMPDIR/p.yaml"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/p.yaml" -l 100 --policy best-orders --json
    has '"optimal": false'
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/p.yaml" -l 100 --policy best-orders --result-ratio 0.3 --json
    has '"optimal": true'
}

@test "proved facts of FIFO and LIFO are printed with plans" {
    local best sure
    "$CLEAVE" platform -w 5 --latency 0 --compute-latency 0 --heterogeneity 4 --bandwidth 3 >"$BATS_TEST_TMPDIR/five"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/five" -l 100 --result-ratio 0.5 --policy best-orders --json
    best=$(number makespan)
    for order in fifo lifo; do
        cleave 0 plan load -p "$BATS_TEST_TMPDIR/five" -l 100 --result-ratio 0.5 --policy $order --json
        valid_json
        sure=$(number sure_$order)
        awk -v m="$(number makespan)" -v b="$best" -v s="$sure" 'BEGIN { exit !(s > 0.4 && s <= 1 && s * m <= b * (1 + 1e-9)) }'
    done
    # Nothing is proved with latencies.
    cleave 0 plan load -p $LAB -l 100 --result-ratio 0.5 --policy fifo --json
    lacks '"method"'
}

@test "small-results takes as many workers with latencies as it can choose from" {
    "$CLEAVE" platform -w 129 --latency 0.01 >"$BATS_TEST_TMPDIR/many.yaml"
    refuses "policy 'small-results' takes up to 128 workers that have latencies, got 129; \
fifo, lifo and rounds take more" \
        plan load -p "$BATS_TEST_TMPDIR/many.yaml" -l 100 --result-ratio 0.5 --policy small-results
    "$CLEAVE" platform -w 129 --latency 0 --compute-latency 0 >"$BATS_TEST_TMPDIR/many.yaml"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/many.yaml" -l 100 --result-ratio 0.5 --policy small-results
}

@test "a comparison with policies of several rounds has no bound of one round" {
    "$CLEAVE" platform -w 129 --latency 0.01 --bandwidth 500 >"$BATS_TEST_TMPDIR/many.yaml"
    cleave 0 compare load -p "$BATS_TEST_TMPDIR/many.yaml" -l 1000 --result-ratio 0.5 --policies lifo
    has "bound     11.055 s (prefix, one round)"
    cleave 0 compare load -p "$BATS_TEST_TMPDIR/many.yaml" -l 1000 --result-ratio 0.5 --policies lifo,rounds
    has "bound     11.304 s (rounds)"
}

@test "rounds respects the times of workers" {
    local port ratio pair=$BATS_TEST_TMPDIR/pair.yaml
    for port in one duplex multi; do
        cat >"$pair" <<END
port: $port
workers:
  - {name: a, speed: 1, bandwidth: 1e9}
  - {name: b, speed: 1, bandwidth: 1e9, from: 50}
END
        for ratio in 0 0.5; do
            cleave 0 plan load -p "$pair" -l 100 --result-ratio $ratio --policy rounds --no-gantt
            has "makespan  75.000 s"
        done
        # Who is away does not hold up the port.
        sed -i 's/from: 50/latency: 0.1, profile: [[0, 1], [1, 0], [40, 1]]/' "$pair"
        cleave 0 plan load -p "$pair" -l 100 --result-ratio 0.5 --policy rounds --json
        awk -v t="$(number makespan)" 'BEGIN { exit !(t < 71) }'
    done
    # Who leaves for good, and would leave something undone, takes no part.
    cat >"$pair" <<END
workers:
  - {name: a, speed: 1, bandwidth: 10, latency: 0.1, compute_latency: 0.1, until: 5}
  - {name: b, speed: 1, bandwidth: 10, latency: 0.1, compute_latency: 0.1}
END
    cleave 0 plan load -p "$pair" -l 100 --policy rounds --no-gantt
    has "makespan  100.49 s"
    refuses "worker 'a' is absent for good while it is sent or computes a chunk: expected a policy \
that knows its last moment, such as umr-plus" \
        plan load -p "$pair" -l 100 --policy self
}

@test "auto tries policies that decide during the run with messages in turn, too" {
    local file=$BATS_TEST_TMPDIR/five.yaml job turn first
    cleave 0 platform -w 5 --heterogeneity 8 --seed 1 --bandwidth 8 --latency 0.3 --compute-latency 0.5 --port one
    echo "$output" >"$file"
    job="-p $file -l 300 --reads stream --hold 100 --result-ratio 1 --json"
    cleave 0 plan load $job --policy learn
    first=$(number makespan)
    cleave 0 plan load $job --policy learn --in-turn
    turn=$(number makespan)
    awk -v turn="$turn" -v first="$first" 'BEGIN { exit !(turn < first) }'
    cleave 0 plan load $job --trace "$BATS_TEST_TMPDIR/auto.jsonl"
    has '; messages keep their order"'
    near "$(number makespan)" "$turn" 1e-9
    cleave 0 replay "$BATS_TEST_TMPDIR/auto.jsonl"
    has "the same"
}
