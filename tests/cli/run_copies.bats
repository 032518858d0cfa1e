#!/usr/bin/env bats
# run_copies.bats -- chunks that are late are run by a second worker as well.
# SPDX-License-Identifier: MIT

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq -w 1 40000 >numbers
    # The first chunk of worker w1 is the victim. Its command does what the first argument says,
    # and a copy of it what the second argument says.
    cat >filter <<'END'
#!/bin/sh
in=$(mktemp in.XXXXXX)
cat >"$in"
if [ "$CLEAVE_WORKER" = w1 ] && mkdir taken 2>/dev/null; then
    head -n 1 "$in" >victim
    eval "$1"
elif [ -e victim ] && [ "$(head -n 1 "$in")" = "$(cat victim)" ]; then
    echo >>copies
    eval "$2"
fi
cat "$in"
END
    chmod +x filter
    HANGS='kill -STOP $$'
    # The job log has a row for an attempt as soon as it has ended.
    OTHER_DROPPED='until grep -q "dropped$" log; do sleep 0.05; done'
    COPIED='until [ -e copies ]; do sleep 0.05; done'
}

# again -- forget the victim of the last run.
again() {
    rm -rf taken victim copies in.* log t out
}

# copied OPTION... -- run it on three workers, one of which hangs: another one does its chunk.
copied() {
    again
    timeout "$LONG" "$CLEAVE" run --json -j 3 --joblog log --trace t "$@" -- ./filter "$HANGS" >out 2>json
    cmp numbers out
    backups=$(sed -n 's/.*"backups": \([0-9]*\),/\1/p' json)
    [ "$backups" -ge 1 ]
    grep -q '"order":"copy","worker":"w[02]","peer":"w1"' t
    [ "$(grep -c '	dropped$' log)" -eq "$backups" ]
    grep -q '	w1	.*	dropped$' log
    run "$CLEAVE" replay t
    [ "$status" -eq 0 ]
    [[ $output == "the same: "* ]]
}

@test "a command that hangs is run by another worker as well, whatever the policy" {
    for policy in learn self factoring umr; do
        echo "$policy"
        copied -i numbers --policy "$policy"
    done
    copied -i numbers --block 80k
}

@test "learn copies by its own rule" {
    # It needs to see that others took some time.
    sed -i 's/^cat "\$in"$/sleep 0.3; &/' filter
    copied -i numbers --policy learn
}

@test "the bytes of a pipe are kept until the copy of their chunk is done" {
    copied --policy learn < <(cat numbers)
    copied --block 80k < <(cat numbers)
    gzip -k numbers
    copied --block 80k -i numbers.gz
    copied --block 80k < <(cat numbers.gz)
}

@test "backups go with -o, -u, --group, --reduce, --retries, --isolate, --failed and --timeout" {
    local options
    for options in --group "--reduce=cat" "--retries 3" --isolate "--failed bad" "--timeout 100"; do
        # shellcheck disable=SC2086
        copied -i numbers --block 80k $options
    done
    again
    "$CLEAVE" run -q -j 3 -i numbers --block 80k -o made -- ./filter "$HANGS"
    cmp numbers made
    again
    "$CLEAVE" run -q -j 3 -i numbers --block 80k -u -- ./filter "$HANGS" | sort | cmp numbers -
}

@test "a journal has the chunk once, and --resume redoes nothing" {
    copied -i numbers --block 80k --journal j
    again
    "$CLEAVE" run -q -j 3 -i numbers --block 80k --journal j --resume --joblog log -- \
        ./filter "$HANGS" >out
    cmp numbers out
    [ ! -e taken ]
    [ ! -e log ] || [ "$(wc -l <log)" -eq 1 ]
}

@test "a persistent command that hangs is replaced" {
    cat >stays <<'END'
import os, signal, struct, sys
while head := sys.stdin.buffer.read(8):
    chunk = sys.stdin.buffer.read(struct.unpack(">Q", head)[0])
    if os.environ["CLEAVE_WORKER"] == "w1":
        try:
            os.mkdir("taken")
            os.kill(os.getpid(), signal.SIGSTOP)
        except FileExistsError:
            pass
    sys.stdout.buffer.write(head + chunk)
    sys.stdout.buffer.flush()
END
    for options in "--block 80k" "--policy learn"; do
        again
        # shellcheck disable=SC2086
        "$CLEAVE" run --json -j 3 -i numbers $options --persistent -- python3 stays >out 2>json
        cmp numbers out
        grep -q '"backups": [1-9]' json
    done
}

@test "an original that fails while its copy runs does not count" {
    "$CLEAVE" run --json -j 3 -i numbers --block 80k --joblog log -- \
        ./filter "$COPIED; exit 3" "$OTHER_DROPPED" >out 2>json
    cmp numbers out
    grep -q '"failed_chunks": 0,' json
    grep -q '	w1	.*	3	0	.*	dropped$' log
}

@test "an original continues if its copy fails, and no second copy starts" {
    "$CLEAVE" run --json -j 3 -i numbers --block 80k --joblog log -- \
        ./filter "$OTHER_DROPPED; sleep 2" "exit 3" >out 2>json
    cmp numbers out
    grep -q '"backups": [1-9]' json
    grep -q '"failed_chunks": 0,' json
    [ "$(wc -l <copies)" -eq 1 ]
    grep -q '	w[02]	.*	3	0	.*	dropped$' log
}

@test "a chunk fails if both attempts fail, and is retried like others" {
    run "$CLEAVE" run --json -j 3 -i numbers --block 80k --joblog log -- \
        ./filter "$COPIED; exit 3" "$OTHER_DROPPED; exit 4"
    [ "$status" -eq 1 ]
    [[ $output == *'"failed_chunks": 1,'* ]]
    [ "$(grep -c '	[34]	0	' log)" -ge 2 ]
    again
    "$CLEAVE" run --json -j 3 -i numbers --block 80k --joblog log --retries 2 -- \
        ./filter "$COPIED; exit 3" "$OTHER_DROPPED; [ \$(wc -l <copies) -gt 1 ] || exit 4" >out 2>json
    cmp numbers out
    grep -q '"retries": 1,' json
    [ "$(wc -l <copies)" -eq 2 ]
}

@test "lines that were written early are not written again" {
    mkfifo pipe
    tee out <pipe >/dev/null &
    "$CLEAVE" run -q -j 3 -i numbers --block 80k -- \
        ./filter 'head -n 2 "$in"; kill -STOP $$' 'until grep -qxf victim out; do sleep 0.05; done' >pipe
    wait $!
    cmp numbers out
}

@test "a copy that differs from lines that were written is dropped" {
    mkfifo pipe
    tee out <pipe >/dev/null &
    "$CLEAVE" run -q -j 3 -i numbers --block 80k --joblog log -- \
        ./filter "echo other; $OTHER_DROPPED" 'until grep -q other out; do sleep 0.05; done' >pipe
    wait $!
    grep -v other out | cmp numbers -
    grep -q '	w[02]	.*	dropped$' log
}

@test "standard error of a copy is shown if the copy counts" {
    "$CLEAVE" run -q -j 3 -i numbers --block 80k -- \
        ./filter "echo original >&2; $HANGS" 'echo copy >&2' >out 2>errors
    cmp numbers out
    [ "$(sort errors)" = "copy
original" ]
    again
    "$CLEAVE" run -q -j 3 -i numbers --block 80k -- \
        ./filter "echo original >&2; $COPIED" 'echo copy >&2; kill -STOP $$' >out 2>errors
    cmp numbers out
    [ "$(cat errors)" = original ]
}

@test "items are copied only with --backups on" {
    cat >item <<'END'
#!/bin/sh
for item; do
    echo "error $item" >&2
    if [ "$item" = 3 ] && mkdir taken 2>/dev/null; then
        [ -e ends ] || kill -STOP $$
        sleep 2
    fi
    echo "item $item"
done
END
    chmod +x item
    for options in "" "-n 2" --shuf --many; do
        rm -rf taken
        # shellcheck disable=SC2086
        "$CLEAVE" run --json -j 3 --backups on $options ./item {} ::: 1 2 3 4 5 >out 2>json
        [ "$(sort out)" = "$(printf 'item %s\n' 1 2 3 4 5)" ]
        grep -q '"backups": [1-9]' json
    done
    rm -rf taken
    "$CLEAVE" run -q -j 3 --backups on --results r.csv ./item {} ::: 1 2 3 4
    [ "$(grep -c 'error 3' r.csv)" -eq 1 ]
    rm -rf taken
    touch ends
    "$CLEAVE" run --json -j 3 ./item {} ::: 1 2 3 4 5 >out 2>json
    grep -q '"backups": 0,' json
}

@test "nothing is copied with --backups off or --line-buffer" {
    for options in "--backups off --policy learn" "--backups off --block 80k" "--line-buffer --block 80k"; do
        again
        # shellcheck disable=SC2086
        "$CLEAVE" run --json -j 3 -i numbers $options -- ./filter "sleep 2" 'exit 3' >out 2>json
        grep -q '"backups": 0,' json
        cmp numbers out
    done
}

@test "--backups on is refused where outputs are not collected" {
    refuses "--backups: cannot be combined with --line-buffer" run --backups on --line-buffer -i numbers cat
    refuses "--backups: cannot be combined with --ungroup" run --backups on --ungroup echo {} ::: 1
    refuses "--backups: expected auto, on or off, got 'maybe'" run --backups maybe -i numbers cat
}

@test "the summary and the report show backups" {
    "$CLEAVE" run --summary -j 3 -i numbers --block 80k --trace t -- ./filter "$HANGS" 2>errors >out
    grep -q ', 1 backup' errors
    "$CLEAVE" report t --force -o page.html
    grep -q 'dropped: another worker ran the chunk as well' page.html
}
