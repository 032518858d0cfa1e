# cleave run --reduce. SPDX-License-Identifier: MIT
load helper

SUM='awk "{ s += \$1 } END { print s }"'
COUNT='awk "{ n[\$2] += \$1 } END { for (w in n) print n[w], w }"'

# An input of numbered lines with a few words.
numbers() {
    INPUT=$BATS_TEST_TMPDIR/input
    awk 'BEGIN { for (i = 1; i <= 3000; i++) print (i * 7919) % 3001, "w" (i % 13) }' >"$INPUT"
}

# equal FILE -- $output must be what the file holds.
equal() {
    printf '%s\n' "$output" | diff "$1" - >&2
}

@test "sums, with and without an order" {
    numbers
    awk '{ s += $1 } END { print s }' "$INPUT" >"$BATS_TEST_TMPDIR/expected"
    for more in "" --commutative "--unordered" "-j 1" "--block 500 -j 3"; do
        # shellcheck disable=SC2086
        cleave 0 run -q -i "$INPUT" $more --reduce "$SUM" -- sh -c "$SUM"
        equal "$BATS_TEST_TMPDIR/expected"
    done
}

@test "sorted files are merged two by two" {
    numbers
    sort -n "$INPUT" >"$BATS_TEST_TMPDIR/expected"
    for more in "" --commutative "--block 1k -j 3" "--block 1k --memory 2k"; do
        # shellcheck disable=SC2086
        cleave 0 run -q -i "$INPUT" $more --reduce 'sort -n -m {1} {2}' -- sort -n
        equal "$BATS_TEST_TMPDIR/expected"
    done
}

@test "word counts are merged" {
    numbers
    count="awk '{ n[\$2]++ } END { for (w in n) print n[w], w }'"
    sh -c "$count" <"$INPUT" | sort >"$BATS_TEST_TMPDIR/expected"
    cleave 0 run -q -i "$INPUT" --block 1k -j 3 --reduce "$COUNT" -- sh -c "$count"
    output=$(printf '%s\n' "$output" | sort)
    equal "$BATS_TEST_TMPDIR/expected"
}

@test "order is kept, also from a pipe and with workers of unequal speed" {
    numbers
    cat "$INPUT" "$INPUT" >"$BATS_TEST_TMPDIR/twice"
    for reduce in cat 'cat {1} {2}'; do
        cleave 0 run -q -i "$INPUT" --block 150 -j 3 --reduce "$reduce" -- cat
        equal "$INPUT"
        run --separate-stderr sh -c \
            "cat '$BATS_TEST_TMPDIR/twice' | '$CLEAVE' run -q -j 2 --reduce '$reduce' -- cat"
        [ "$status" -eq 0 ]
        equal "$BATS_TEST_TMPDIR/twice"
        cleave 0 run -q -i "$INPUT" --block 1500 --reduce "$reduce" \
            -j 'fast,slow:nice -n 5' -- sh -c '[ $CLEAVE_WORKER = fast ] || sleep 0.1; cat'
        equal "$INPUT"
    done
}

@test "many chunks take few commands, two at a time take one less than there are" {
    numbers
    cleave 0 run -i "$INPUT" --block 150 -j 2 --json -o "$BATS_TEST_TMPDIR/out" \
        --reduce cat -- cat
    chunks=$(number chunks)
    [ "$chunks" -ge 150 ]
    [ "$(number folds)" -lt $((chunks - 1)) ]
    cleave 0 run -i "$INPUT" --block 150 -j 2 --json -o "$BATS_TEST_TMPDIR/out" \
        --reduce 'cat {1} {2}' -- cat
    [ "$(number folds)" -eq $(($(number chunks) - 1)) ]
}

@test "results of hosts are reduced while other hosts compute if the plan counts on it" {
    numbers
    cd "$BATS_TEST_TMPDIR"
    # The first two hosts, whose links are the narrowest, end when something was reduced.
    { echo "port: multi"; echo "workers:"
      printf '  - {name: %s, slots: 1, speed: 1e5, bandwidth: %s, command: env}\n' \
          late.0 1e6 late.1 1e6 soon.0 1e7 soon.1 1e7; } >h.yaml
    awk '{ s += $1 } END { print s }' "$INPUT" >expected
    cleave 0 run -q -i "$INPUT" --hosts h.yaml --workdir "$PWD" --commutative \
        --policy joint --param compute=0.01 --joblog log --retries 1 --halt now,fail=1 \
        --reduce 'touch folded; awk "{ s += \$1 } END { print s }" {1} {2}' -- sh -c '
        case $CLEAVE_WORKER in late*)
            for i in $(seq 600); do [ -e folded ] && break; sleep 0.1; done
            [ -e folded ] || exit 1 ;;
        esac
        awk "{ s += \$1 } END { print s }"'
    equal expected
    [ "$(grep -c late log)" -eq 2 ]
}

@test "--reduce copies a single output and writes nothing for empty input" {
    cleave 0 run --summary -i examples/equal.yaml --block 1M --reduce 'echo reduced' -- wc -l
    [ "$output" -eq "$(wc -l <examples/equal.yaml)" ]
    case $stderr in *folds*) return 1 ;; esac
    cleave 0 run -q -i /dev/null --reduce 'echo reduced' -- wc -l
    [ -z "$output" ]
}

@test "a command that fails ends the run" {
    numbers
    cleave 1 run -q -i "$INPUT" --block 1k --reduce 'exit 3' -- cat
    [ -z "$output" ]
    case $stderr in
    "cleave: the command that reduces exited with status 3 on "*" partial results") ;;
    *) return 1 ;;
    esac
    cleave 1 run -q -i "$INPUT" --block 1k --retries 3 --reduce 'kill -9 $$' -- cat
    case $stderr in
    *"was ended by SIGKILL (killed) on "*" partial results, also when tried again") ;;
    *) return 1 ;;
    esac
}

@test "--reduce retries a fold that fails at first" {
    numbers
    cleave 0 run -q -i "$INPUT" --block 1k --retries 2 -- cat
    equal "$INPUT"
    cleave 0 run --summary -i "$INPUT" --block 1k --retries 2 -j 2 \
        --reduce "mkdir '$BATS_TEST_TMPDIR/once' 2>&- && exit 1; cat {1} {2}" -- cat
    equal "$INPUT"
    case $stderr in *", 1 retry"*) ;; *) return 1 ;; esac
}

@test "a journal keeps the outputs, folding is done again" {
    numbers
    journal=$BATS_TEST_TMPDIR/journal.db
    cleave 1 run -q -i "$INPUT" --block 150 --journal "$journal" \
        --reduce 'sleep 0.1; exit 1' -- cat
    for reduce in cat 'cat {1} {2}'; do
        cleave 0 run --summary -i "$INPUT" --block 150 --journal "$journal" --resume \
            --reduce "$reduce" -- cat
        equal "$INPUT"
        case $stderr in *"chunks from the journal"*) ;; *) return 1 ;; esac
    done
    cleave 0 run -q -i "$INPUT" --journal "$journal" --resume -- cat
    equal "$INPUT"
}

@test "few descriptors are enough for many chunks" {
    numbers
    journal=$BATS_TEST_TMPDIR/journal.db
    for more in --overwrite --resume; do
        run --separate-stderr bash -c 'ulimit -n 80; exec "$@"' limited "$CLEAVE" run -q \
            -i "$INPUT" --block 30 -j 2 --journal "$journal" $more \
            --reduce 'cat {1} {2}' -- cat
        [ "$status" -eq 0 ]
        equal "$INPUT"
    done
}

@test "a signal stops what folds" {
    numbers
    "$CLEAVE" run -q -i "$INPUT" --block 1k -j 2 -o "$BATS_TEST_TMPDIR/out" \
        --reduce "echo \$\$ >>'$BATS_TEST_TMPDIR/pids'; exec sleep 100" -- cat 3>&- &
    pid=$!
    until [ -s "$BATS_TEST_TMPDIR/pids" ] || ! kill -0 $pid; do sleep 0.05; done
    kill -TERM $pid
    got=0
    wait $pid || got=$?
    [ "$got" -eq 143 ]
    while read -r folding; do
        ! kill -0 "$folding" 2>/dev/null
    done <"$BATS_TEST_TMPDIR/pids"
    [ ! -s "$BATS_TEST_TMPDIR/out" ]
}

@test "--reduce refuses bad combinations of options" {
    refuses "--commutative needs --reduce CMD" run --commutative -- cat
    refuses "--reduce: expected NAME|CMD, got '': is a variable of the shell not set?" run --reduce '' -- cat
    refuses "expected {1} and {2}, or {}, or none of them in the command that reduces, got 'cat {1}'" \
        run --reduce 'cat {1}' -- cat </dev/null
}

@test "folds are in the trace and in the report, and a policy is asked again without them" {
    local trace=$BATS_TEST_TMPDIR/folds.jsonl
    seq 1 20000 >"$BATS_TEST_TMPDIR/numbers"
    for more in "--block 8k" ""; do
        cleave 0 run -q -i "$BATS_TEST_TMPDIR/numbers" $more -j 3 --reduce "$SUM" \
            --trace "$trace" -- sh -c "$SUM"
        [ "$output" = 200010000 ]
        cleave 0 replay "$trace"
        has "the same: "
    done
    cleave 0 run -q -i "$BATS_TEST_TMPDIR/numbers" --block 8k -j 3 --reduce "$SUM" \
        --trace "$trace" -- sh -c "$SUM"
    # All partials but one are gone in the end: each fold makes one of so many.
    chunks=$(grep -c '"event":"done"' "$trace")
    sed -n 's/.*"event":"folded".*"units":\([0-9]*\),.*/\1/p' "$trace" |
        awk -v chunks="$chunks" '{ gone += $1 - 1 }
            END { if (gone != chunks - 1) { print gone " of " chunks; exit 1 } }'
    cleave 0 report "$trace" -o "$BATS_TEST_TMPDIR/folds.html"
    grep -q "folding partial results" "$BATS_TEST_TMPDIR/folds.html"
}
