# run_summary.bats -- where the time of a run went, in words and as JSON.
# SPDX-License-Identifier: MIT
load helper

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
}

# lines LENGTH... -- a file of lines so long, so that chunks of one line differ in size.
lines() {
    for length; do printf "%0${length}d\n" 0; done >in
}

# adds_up WORKERS -- the parts in $output are all of the time of so many workers.
adds_up() {
    awk -v elapsed="$(number elapsed_s)" -v connecting="$(number connecting_s)" -v made="$(number makespan_s)" \
        -v blocked="$(number blocked_s)" -v work="$(number work_s)" -v starts="$(number starts_s)" -v folds="$(number folds_s)" \
        -v waiting="$(number waiting_s)" -v workers="$1" 'BEGIN {
        d = connecting + made - elapsed; e = work + starts + folds + waiting - workers * made
        if (d * d > 1e-12 || e * e > 1e-12 || waiting < 0 || work < 0) {
            print "the parts do not add up: " d " s and " e " s over"; exit 1 }
    }'
}

# holds CONDITION -- what is in err of a run with --json, for awk.
holds() {
    output=$(cat err)
    awk -v elapsed="$(number elapsed_s)" -v input="$(number input_s)" -v alone="$(number alone_s)" \
        -v blocked="$(number blocked_s)" -v work="$(number work_s)" -v starts="$(number starts_s)" -v first="$(number input_first_s)" "BEGIN { exit !($1) }" || {
        cat err
        return 1
    }
}

@test "a run slower than one worker alone prints that, with the reason" {
    prepare
    lines 10 9000 30 20000 10 15000
    "$CLEAVE" run --summary -i in -j 2 --backups off --block 1 -- sh -c 'sleep 0.2; cat' >out 2>err
    cmp in out
    grep -qE '^cleave: 44\.1 kB in [0-9.]+ s, 6 chunks$' err
    grep -qE '^cleave: of the time of 2 workers: work [0-9.]+%, starts [0-9.]+%, waiting [0-9.]+%$' err
    grep -qE '^cleave: slower than one worker alone, about [0-9.]+ s: starting the command 6 times took [0-9.]+ s in all; larger chunks \(--block SIZE\), ' err
    # Starts are the larger part by far.
    sed -n 's/.*: work \([0-9.]*\)%, starts \([0-9.]*\)%.*/\1 \2/p' err | awk '{ exit !($1 < $2) }'
    # Larger chunks do not help files that are small.
    mkdir small
    for i in 1 2 3 4 5 6; do echo $i >small/$i; done
    "$CLEAVE" run --summary -i 'small/*' -j 2 -- sh -c 'sleep 0.2; cat' >out 2>err
    grep -qE "^cleave: slower than one worker alone, about [0-9.]+ s: every file has its own command, and starting 6 of them took [0-9.]+ s in all; for small files: 'cat FILE\.\.\. \| cleave run \.\.\.'" err
    # In no time at all it does not matter what it was spent on.
    seq 100 | "$CLEAVE" run --summary -j 2 -- cat >out 2>err
    if grep -qE '^cleave: 292 B in 0\.0' err; then run ! grep -q 'starting the command' err; fi
}

@test "the summary is one line with the speed-up, and none for a short run" {
    prepare
    seq 100 >in
    # As long as two chunks of 2 s by one worker.
    "$CLEAVE" run -i in -j 2 --block 146 -- sh -c 'cat; sleep 2' >out 2>err
    grep -qE '^cleave: 292 B in [0-9.]+ s on 2 workers, (at most )?[0-9]\.[0-9] times one worker$' err
    [ "$(wc -l <err)" -eq 1 ]
    # Slower than one worker; where the time went is in the full summary.
    "$CLEAVE" run -i in -j 2 --block 146 -- sh -c 'sleep 0.5; cat' >out 2>err
    grep -qE '^cleave: 292 B in [0-9.]+ s on 2 workers, ((at most )?[0-9.]+ times one worker|0\.[0-9] times one worker \(--summary: why\))$' err
    "$CLEAVE" run -q -t 'sleep 0.6; : {}' ::: 1 2>err
    [ "$(cat err)" = 'sleep 0.6; : 1' ]
    "$CLEAVE" run -q --summary echo ::: 1 >out 2>err
    grep -qE '^cleave: of the time of [0-9]+ workers?: ' err
    # A busy machine may need more than 0.5 s for nothing.
    for _ in 1 2 3 4 5 6; do
        "$CLEAVE" run echo ::: 1 >out 2>err
        [ -s err ] || break
    done
    [ ! -s err ]
    # What failed or is left is reported in any case.
    "$CLEAVE" run -j 1 --halt now,fail=1 -- 'exit {}' ::: 3 0 2>err || true
    grep -qE '^cleave: 1 command in [0-9.]+ s on 1 worker, 1 failed$' err
    grep -qF 'left undone: 1 item (2 to 2)' err
}

@test "one worker alone would have waited for the input, too" {
    prepare
    seq 400000 >in
    # Before the first byte, before the end, between records.
    { sleep 0.5 && cat in; } | "$CLEAVE" run -j 2 --json -- cat >out 2>err
    cmp in out
    holds 'input > 0 && alone >= input && first > 0 && alone >= first + work'
    # Little of it, and far longer than commands take to end on a busy machine.
    { head -n 4000 in && sleep 3; } | "$CLEAVE" run --summary -j 2 -- cat >out 2>err
    grep -qE '^cleave: one worker alone would have taken about [0-9.]+ s, too: so long all of the input took to arrive$' err
    for i in 1 2 3; do echo "$i" && sleep 0.4; done | "$CLEAVE" run -j 2 --json -- cat >out 2>err
    seq 3 | cmp - out
    # What a command waited for is not its start.
    holds 'alone >= input && alone > 2 * work && starts < 0.3 * elapsed'
    # Nor if it is given a processor a little later than its input.
    late='$in = ""; vec($in, 0, 1) = 1; select $in, undef, undef, undef; select undef, undef, undef, 0.01; print while <STDIN>'
    for i in 1 2 3; do echo "$i" && sleep 0.4; done | "$CLEAVE" run -j 2 --json -- perl -e "$late" >out 2>err
    seq 3 | cmp - out
    holds 'starts < 0.3 * elapsed'
    { sleep 0.5 && seq 100000 && sleep 1 && cat in; } | "$CLEAVE" run -j 2 --json -- cat >out 2>err
    { seq 100000 && cat in; } | cmp - out
    holds 'starts < 0.3 * elapsed'
    # Nor would it have been done before somebody takes its output.
    "$CLEAVE" run -i in -j 2 --json -- cat 2>err | { sleep 1 && cat >out; }
    cmp in out
    holds 'blocked > 0 && alone >= blocked'
    # A file is there, and so is who takes all at once.
    "$CLEAVE" run -i in -j 2 --json -- cat >out 2>err
    holds 'input == 0 && blocked == 0'
}

@test "the parts are all of the time, too, where commands fail" {
    prepare
    seq 4000 >in
    # Some that are done in halves, which wait for each other, and one that is tried again by others.
    "$CLEAVE" run -i in -j 2 --block 4k --isolate --json -- sh -c 'sleep 0.01; ! grep -qx "[0-9]*[05]00"' >out 2>err || [ $? -eq 1 ]
    output=$(sed -n '/^{/,$p' err)
    [ "$(number failed_chunks)" -eq 8 ]
    adds_up 2
    "$CLEAVE" run -i in -j 2 --block 4k --retries 3 --json -- sh -c 'sleep 0.05; ! grep -qx 777' >out 2>err || [ $? -eq 1 ]
    output=$(sed -n '/^{/,$p' err)
    [ "$(number retries)" -eq 2 ]
    adds_up 2
}

@test "a worker that starts while it waits for its part has started and worked" {
    prepare
    seq 100 >in
    # 1 s of work at least, and starts of 0.6 s: three of four start while the first one is tested.
    "$CLEAVE" run -i in -j 4 --json -- sh -c 'sleep 0.6; while read -r x; do sleep 0.01; done' 2>err
    output=$(sed -n '/^{/,$p' err)
    adds_up 4
    holds 'work > 0.8 && starts > 0.9 && alone > 1.2'
}

@test "a faster run prints the estimated time of one worker" {
    prepare
    seq 100 >in
    # So long that what a busy machine takes to start them is little.
    "$CLEAVE" run --summary -i in -j 2 --block 146 -- sh -c 'cat; sleep 2' >out 2>err
    grep -qE '^cleave: one worker alone would have taken (at most )?about [1-9]' err
    run ! grep -q slower err
    # Chunks of one size do not tell what a start takes: that is not shown as nothing.
    if ! grep -qE '^cleave: of the time of 2 workers: work [0-9.]+%, starts [0-9.]+%, waiting' err; then
        grep -qE '^cleave: of the time of 2 workers: work and starts [0-9]+%, waiting' err
        grep -qE '^  w0 .* -$' err
    fi
    # One worker cannot gain; a part of a run says nothing of the whole.
    "$CLEAVE" run --summary -i in -j 1 --block 1k -- sh -c 'cat; sleep 0.2' >out 2>err
    run ! grep -q 'alone' err
    { sleep 0.3; cat in; } | "$CLEAVE" run --summary -j 1 -- cat >out 2>err # nor be slower, while it waits
    run ! grep -q 'alone' err
    "$CLEAVE" run --summary -i in -j 2 --block 146 -- sh -c 'cat; sleep 0.2; false' >out 2>err || status=$?
    run ! grep -q 'alone' err
}

@test "the parts of the time are all of it" {
    prepare
    lines 10 9000 30 20000 10 15000
    cleave 0 run -i in -j 3 --block 1 --json -o out -- sh -c 'sleep 0.05; cat'
    adds_up 3
    awk -v folds="$(number folds_s)" 'BEGIN { exit folds != 0 }'
    cleave 0 run -i in -j 2 --block 1 --json -o out --reduce 'sleep 0.1; cat' -- cat
    adds_up 2
    awk -v folds="$(number folds_s)" 'BEGIN { exit !(folds >= 0.1) }'
    printf 'workers:\n  - {name: a, slots: 2, speed: 1e6, bandwidth: 1e9}\n' >hosts.yaml
    cleave 0 run -i in --hosts hosts.yaml --block 1 --json -o out -- sh -c 'sleep 0.05; cat'
    adds_up 2
    awk -v connecting="$(number connecting_s)" 'BEGIN { exit !(connecting > 0) }'
    # One start and all the work.
    awk -v alone="$(number alone_s)" -v work="$(number work_s)" -v starts="$(number starts_s)" \
        'BEGIN { d = work + starts / 6 - alone; exit d * d > 1e-12 }'
}

@test "start times are measured, also for a single chunk" {
    prepare
    seq 1000 >in
    cleave 0 run -i in -j 1 --json -o out -- sh -c 'sleep 0.3; cat'
    adds_up 1
    awk -v starts="$(number starts_s)" -v each="$(number compute_latency)" 'BEGIN { exit !(starts >= 0.3 && each >= 0.3) }'
    "$CLEAVE" run --summary -i in -j 1 -- sh -c 'sleep 0.3; cat' >out 2>err
    grep -qE '^cleave: of the time of 1 worker: work [0-9.]+%, starts [0-9]+%' err
}

@test "a reduction that costs more than it gains is named" {
    prepare
    seq 100 >in
    "$CLEAVE" run --summary -i in -j 2 --block 146 --reduce 'sleep 2; cat' -- cat >out 2>err
    grep -qE '^cleave: slower than one worker alone, .*: the command that reduces took [0-9.]+ s in all$' err
    grep -qE ', folds [0-9]+%, ' err
}

@test "JSON names the command and its machines" {
    prepare
    seq 10 >in
    seq 5 >'a "b"'
    cleave 0 run -i in -i 'a "b"' -j 1 --json -o out -- sh -c 'cat; :' 'x y'
    valid_json
    [ "$(echo "$output" | tr -d '\n ' | grep -o '"command":\[[^]]*\]')" = '"command":["sh","-c","cat;:","xy"]' ]
    [ "$(echo "$output" | tr -d '\n' | grep -o '"inputs": *\[[^]]*\]' | tr -d ' ')" = '"inputs":["in","a\"b\""]' ]
    # What was asked for is written; only the summary for people is not.
    cleave 0 run -q -i in -j 1 --json -o out -- cat
    valid_json
    [ -z "$stderr" ]
    seq 3 | "$CLEAVE" run -j 1 --json -o out cat >json
    grep -q '"inputs": \[\],' json
}

@test "a prediction that was wrong is explained" {
    prepare
    seq 100 >in
    printf 'workers:\n  - {name: a, speed: 1e9, bandwidth: 1e12}\n  - {name: b, speed: 1e9, bandwidth: 1e12}\n' >fast.yaml
    "$CLEAVE" run --summary -i in --hosts fast.yaml --block 146 -- sh -c 'sleep 0.1; cat' >out 2>err
    grep -qE '^cleave: [0-9.e+]+ times as long as predicted: commands took [0-9.e+]+ times as long as the platform file says$' err
    # Less than the file says: 10 s for each start.
    printf 'workers:\n  - {name: a, slots: 1, speed: 1e9, compute_latency: 10s, bandwidth: 1e9}\n' >slow.yaml
    "$CLEAVE" run --summary -i in --hosts slow.yaml --block 1k -- cat >out 2>err
    grep -qE '^cleave: 292 B in [0-9.]+ s, 1 chunk, [0-9.]+ s to connect and [0-9.]+ s from then on, predicted 10\.[0-9]{3} s$' err
    grep -qE '^cleave: [0-9]+% less than predicted: commands took [0-9]+% less than the platform file says(, links .*)?$' err
    # It contains the time to connect.
    cleave 0 run -i in --hosts slow.yaml --block 1k --json -o out -- cat
    awk -v predicted="$(number predicted_s)" -v connecting="$(number connecting_s)" \
        'BEGIN { exit !(predicted - connecting > 9.999 && predicted - connecting < 10.001 && connecting > 0) }'
    # Of what failed nothing was predicted.
    "$CLEAVE" run --summary -i in --hosts slow.yaml --block 1k -- false >out 2>err || status=$?
    run ! grep -q 'than predicted' err
}

@test "a plan of learn keeps chunks open where a run does" {
    prepare
    seq 100 >in
    printf 'workers:\n  - {name: a, speed: 100, bandwidth: 1e12, compute_latency: 2s}\n  - {name: b, speed: 100, bandwidth: 1e12, compute_latency: 2s}\n' >two.yaml
    cleave 0 run --dry-run -i in --hosts two.yaml -- cat
    has "chunks    2 in 1 round"
    cleave 0 run --dry-run -i in --hosts two.yaml --persistent -- cat
    lacks "chunks    2 in 1 round"
    sed 's/name: a,/name: a, slots: 1,/' two.yaml >away.yaml
    cleave 0 run --dry-run -i in --hosts away.yaml -- cat
    lacks "chunks    2 in 1 round"
}
