# reads.bats -- loads of commands that are fed as they read. SPDX-License-Identifier: MIT
load helper

@test "reads: a plan that opens no chunk takes as long as before, whatever commands read" {
    cleave 0 plan load -p $LAB -l 2000 --policy umr-plus --no-gantt
    plain=$(grep makespan <<<"$output" | cut -d, -f1)
    [ -n "$plain" ]
    for kind in stream count slurp late mix; do
        cleave 0 plan load -p $LAB -l 2000 --policy umr-plus --no-gantt --reads $kind
        [ "$(grep makespan <<<"$output" | cut -d, -f1)" = "$plain" ]
    done
}

@test "reads: replay finds the orders in the trace, for a file and for a stream" {
    cd "$BATS_TEST_TMPDIR"
    lab=$CLEAVE_SOURCE_DIR/examples/unequal.yaml
    for kind in stream slurp; do
        for more in "" "--hold 500"; do
            "$CLEAVE" simulate load -p "$lab" -l 2000 --policy learn --reads $kind $more \
                --noise gamma:0.3 --runs 1 --trace t >/dev/null
            grep -q '"opens":true' t
            cleave 0 replay t
            [[ $output == "the same: "*" orders of policy "* ]]
            cleave 0 report t --force -o t.html
        done
    done
}

@test "reads: all of a stream is done, and policies that need its length refuse it" {
    cleave 0 plan load -p $LAB -l 2000 --policy learn --reads mix --hold 300 --json
    [ "$(number load)" = 2000 ]
    refuses "policy 'umr' needs a load of known size; as4dr takes streams" \
        plan load -p $LAB -l 2000 --policy umr --reads mix --hold 300
}

@test "reads: the bound supposes that starts are hidden behind links, or cost nothing" {
    bound() { sed -n 's/^bound *\([0-9.]*\) s.*/\1/p' <<<"$output"; }
    cleave 0 plan load -p $RACK -l 200 --policy umr --no-gantt
    closed=$(bound)
    cleave 0 plan load -p $RACK -l 200 --policy umr --no-gantt --reads stream
    awk -v a="$(bound)" -v b="$closed" 'BEGIN { exit !(a > 0 && a < b) }'
}

@test "reads: SimGrid takes as long" {
    [ -x "$(dirname "$CLEAVE")/cleave-simgrid" ] || skip "cleave-simgrid is missing"
    for more in "" "--hold 200"; do
        cleave 0 simulate load -p $LAB -l 500 --policy learn --reads mix --runs 1 $more
        native=$(grep makespan <<<"$output")
        cleave 0 simulate load -p $LAB -l 500 --policy learn --reads mix --runs 1 $more --engine simgrid
        [ "$(grep makespan <<<"$output")" = "$native" ]
    done
}

@test "reads: what cannot be is refused" {
    refuses "expected commands that read as stream, count, slurp, late or mix do, got 'fast'" \
        plan load -p $LAB -l 2000 --reads fast
    refuses "--hold: --reads KIND is required with it" plan load -p $LAB -l 2000 --hold 30
    refuses "expected a stream or a lifespan, got both" \
        plan load -p $LAB --lifespan 20 --reads stream --hold 30 --policy learn
}

@test "reads: later additions to a chunk are drawn, and counted, as sending" {
    cleave 0 plan load -p $RACK -l 200 --policy learn --reads stream --trace "$BATS_TEST_TMPDIR/t"
    grep -q '^{"event":"extended".*"units":[1-9]' "$BATS_TEST_TMPDIR/t"
    cleave 0 report "$BATS_TEST_TMPDIR/t" -o "$BATS_TEST_TMPDIR/t.html"
    [[ $(grep -o 'Port busy</dt><dd[^>]*>[0-9]*' "$BATS_TEST_TMPDIR/t.html") == *">"[1-9][0-9] ]]
}

@test "reads: a worker with a slow link does not block the port, nor an order that it cannot begin" {
    seconds() { sed -n 's/^makespan *\([0-9.]*\) s.*/\1/p' <<<"$output"; }
    cleave 0 simulate load -p $LAB -l 500 --policy learn --runs 1
    closed=$(seconds)
    cleave 0 simulate load -p $LAB -l 500 --policy learn --runs 1 --reads stream
    awk -v a="$(seconds)" -v b="$closed" 'BEGIN { exit !(a > 0 && a < 1.1 * b) }'
}

@test "auto takes streams: what ends first of those that do" {
    "$CLEAVE" platform -w 3 --seed 1 --heterogeneity 2 --compute-latency 0.1 --latency 0.01 --bandwidth 12 --port duplex >"$BATS_TEST_TMPDIR/three"
    for on in "$LAB -l 2000 --reads stream --hold 200" "$BATS_TEST_TMPDIR/three -l 500 --reads slurp --hold 23"; do
        cleave 0 compare load -p $on --policies auto,learn,as4dr --json
        [ "$(grep -c '"over_best": 0,$' <<<"$output")" = 2 ] # auto, and the one that it picks
        grep -o '"picked": "[a-z0-9]*"' <<<"$output" | sort -u >>"$BATS_TEST_TMPDIR/picked"
    done
    [ "$(sort -u "$BATS_TEST_TMPDIR/picked" | wc -l)" = 2 ]
    cleave 0 plan load -p $LAB -l 2000 --reads stream --hold 200 --error 0.2 --no-gantt
    has "picked by auto: least mean of 2 policies simulated with error"
}

@test "results come back where chunks stay open and sends overtake" {
    for kind in stream slurp; do
        cleave 0 plan load -p $LAB -l 2000 --reads $kind --result-ratio 0.5 --policy learn --json
        lacks '"return_end": null'
    done
    cleave 0 plan load -p $LAB -l 2000 --reads stream --hold 100 --result-ratio 0.5 --policy learn --no-gantt
    has "policy    learn"
}

@test "learn: a stream whose input all waits with an absent worker" {
    printf 'port: one\nworkers: [{name: a, speed: 3, bandwidth: 6.6}, {name: b, speed: 5, bandwidth: 17, profile: [[0, 0], [0.3, 1]]}]\n' >"$BATS_TEST_TMPDIR/away"
    for hold in 1 3; do
        cleave 0 plan load -p "$BATS_TEST_TMPDIR/away" -l 30 --reads slurp --hold $hold --policy learn --json
        near "$(number load)" 30 1e-9
    done
}

@test "learn ends where next to nothing of a stream may wait" {
    for hold in 0.2 1; do
        cleave 0 simulate load -p examples/unequal.yaml --load 30 --reads stream --hold $hold --policy learn
    done
}
