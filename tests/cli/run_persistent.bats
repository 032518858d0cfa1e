# run_persistent.bats -- cleave run --persistent. SPDX-License-Identifier: MIT
load helper

# persistent_command LINE... -- command.py, which runs these lines for each `chunk`; they
# have to set `answer`, or exit.
persistent_command() {
    command -v python3 >/dev/null || skip "python3 is not there"
    {
        printf '%s\n' 'import os, sys, time' 'source, sink = sys.stdin.buffer, sys.stdout.buffer'
        printf '%s\n' 'while True:' '    head = source.read(8)' '    if not head: break'
        printf '%s\n' '    chunk = source.read(int.from_bytes(head, "big"))'
        printf '    %s\n' "$@"
        printf '%s\n' '    sink.write(len(answer).to_bytes(8, "big") + answer)' '    sink.flush()'
    } >"$BATS_TEST_TMPDIR/command.py"
}

@test "the example in C answers in order, started once per worker" {
    example=$CLEAVE_BUILD_DIR/examples/persistent
    [ -x "$example" ] || skip "the examples are not built"
    seq -f 'line %.0f' 1 3000 >"$BATS_TEST_TMPDIR/in"
    cleave 0 run -q --persistent --block 1 -j 2 -i "$BATS_TEST_TMPDIR/in" -- "$example"
    [ "$output" = "$(seq -f 'LINE %.0f' 1 3000)" ]
    [ -z "$stderr" ]
}

@test "the example in Python counts lines" {
    command -v python3 >/dev/null || skip "python3 is not there"
    seq 1 3000 >"$BATS_TEST_TMPDIR/in"
    cleave 0 run -q --persistent -j 2 -i "$BATS_TEST_TMPDIR/in" -- examples/persistent.py
    [ "$(printf '%s\n' "$output" | awk '{ n += $1 } END { print n }')" = 3000 ]
}

@test "a stream is taken, too, and --header comes with every chunk" {
    persistent_command 'answer = chunk.replace(b"name\n", b"")'
    { echo name; seq 1 500; } >"$BATS_TEST_TMPDIR/in"
    cat "$BATS_TEST_TMPDIR/in" | "$CLEAVE" run -q --persistent --header -j 2 -- \
        python3 "$BATS_TEST_TMPDIR/command.py" >"$BATS_TEST_TMPDIR/out"
    seq 1 500 | cmp - "$BATS_TEST_TMPDIR/out"
}

@test "the same bytes as without --persistent, by a journal that was interrupted" {
    persistent_command 'answer = chunk.upper()' \
        'if b"777\n" in chunk and os.path.exists(os.environ["STOP"]): sys.exit(1)'
    seq 1 1000 >"$BATS_TEST_TMPDIR/in"
    export STOP=$BATS_TEST_TMPDIR/stop
    touch "$STOP"
    cleave 1 run -q --persistent --halt now,fail=1 --journal "$BATS_TEST_TMPDIR/j.db" \
        --block 10 -j 2 -i "$BATS_TEST_TMPDIR/in" -- python3 "$BATS_TEST_TMPDIR/command.py"
    rm "$STOP"
    cleave 0 run -q --persistent --resume --journal "$BATS_TEST_TMPDIR/j.db" \
        --block 10 -j 2 -i "$BATS_TEST_TMPDIR/in" -- python3 "$BATS_TEST_TMPDIR/command.py"
    [ "$output" = "$(seq 1 1000)" ]
}

@test "a command that dies fails its chunk, and a new one is started" {
    persistent_command 'answer = chunk' 'if chunk == b"5\n": os._exit(7)'
    seq 1 9 >"$BATS_TEST_TMPDIR/in"
    cleave 1 run -q --persistent --block 1 -j 1 --joblog "$BATS_TEST_TMPDIR/log" \
        -i "$BATS_TEST_TMPDIR/in" -- python3 "$BATS_TEST_TMPDIR/command.py"
    [ "$output" = "$(seq 1 9 | grep -v 5)" ]
    [[ $stderr == *"the command exited with status 7"* ]]
    [ "$(awk -F '\t' 'NR > 1 { print $7 }' "$BATS_TEST_TMPDIR/log" | sort | uniq -c | tr -s ' ')" = \
        "$(printf ' 8 0\n 1 7')" ]
}

@test "a status other than 0 at the end is a failure, although all has been written" {
    persistent_command 'answer = chunk'
    echo 'sys.exit(4)' >>"$BATS_TEST_TMPDIR/command.py"
    seq 1 9 >"$BATS_TEST_TMPDIR/in"
    cleave 1 run -q --persistent -j 1 -i "$BATS_TEST_TMPDIR/in" -- \
        python3 "$BATS_TEST_TMPDIR/command.py"
    [ "$output" = "$(seq 1 9)" ]
    [[ $stderr == *"the command exited with status 4 after its last chunk"* ]]
}

@test "a command that knows no frames is refused" {
    seq 1 9 >"$BATS_TEST_TMPDIR/in"
    cleave 2 run -q --persistent -j 1 -i "$BATS_TEST_TMPDIR/in" -- \
        sh -c 'echo hello, world; cat >/dev/null'
    [[ $stderr == "cleave: expected the length of an answer, got 'hello, w': is 'sh' made to be persistent?" ]]
}

@test "a signal ends commands that stay" {
    persistent_command 'answer = chunk' 'time.sleep(60)'
    seq 1 9 >"$BATS_TEST_TMPDIR/in"
    "$CLEAVE" run -q --persistent --block 1 -j 2 -i "$BATS_TEST_TMPDIR/in" -- \
        sh -c "echo \$\$ >>$BATS_TEST_TMPDIR/pids; exec python3 $BATS_TEST_TMPDIR/command.py" &
    pid=$!
    until [ "$(cat "$BATS_TEST_TMPDIR/pids" 2>/dev/null | wc -l)" = 2 ]; do sleep 0.05; done
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    [ "$status" = 143 ]
    while read -r command; do
        run kill -0 "$command"
        [ "$status" -ne 0 ]
    done <"$BATS_TEST_TMPDIR/pids"
}
