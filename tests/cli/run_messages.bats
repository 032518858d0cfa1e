# run_messages.bats -- what cleave run says, word by word. SPDX-License-Identifier: MIT
load helper

# What a hung run would take; nothing here depends on how long things last.
LONG=60

# T -- a folder for the files of a test.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 100 >in
}

# job STATUS ARGUMENT... -- cleave run, its output in $T/out, what it says in $T/err; the
# status must be that.
job() {
    local expected=$1 got=0
    shift
    timeout $LONG "$CLEAVE" run "$@" >"$T/out" 2>"$T/err" 3>&- || got=$?
    if [ "$got" -ne "$expected" ]; then
        echo "cleave run $*: exit status $got, expected $expected"
        cat "$T/err"
        return 1
    fi
}

# silent TEXT -- standard error does not have it.
silent() {
    if grep -F -- "$1" err; then
        echo "expected not to read: $1"
        return 1
    fi
}

# --- failures -----------------------------------------------------------------------------

@test "equal failures are told ten times, then counted" {
    prepare
    job 1 -q -i in -j 2 --split fixed:1 --block 1 --joblog log -- false
    [ "$(grep -c 'the command exited with status 1$' err)" -eq 11 ]
    says "cleave: 282 more chunks failed: the command exited with status 1"
    says "cleave: all chunks failed: does the command read standard input?"
    [ "$(wc -l <err)" -eq 12 ]
    [ "$(tail -n +2 log | wc -l)" -eq 292 ]
    # One more is one chunk.
    seq 11 >in
    job 1 -q -i in -j 1 --block 1 -- false
    says "cleave: 1 more chunk failed: the command exited with status 1"
}

@test "other failures are told as well" {
    prepare
    # shellcheck disable=SC2016
    job 1 -q -i in -j 1 --block 1 -- sh -c 'read -r n; [ "$n" -le 50 ] || kill -SEGV $$; [ "$n" -gt 20 ] || exit 1; [ "$n" -gt 32 ] || exit 2; echo "$n"'
    [ "$(grep -c 'records [0-9]* to [0-9]*): the command exited with status 1$' err)" -eq 10 ]
    [ "$(grep -c 'records [0-9]* to [0-9]*): the command exited with status 2$' err)" -eq 10 ]
    [ "$(grep -c 'records [0-9]* to [0-9]*): the command was ended by SIGSEGV (segmentation fault)$' err)" -eq 10 ]
    says "cleave: 10 more chunks failed: the command exited with status 1"
    says "cleave: 2 more chunks failed: the command exited with status 2"
    says "cleave: 40 more chunks failed: the command was ended by SIGSEGV (segmentation fault)"
    silent "all chunks failed"
    seq 33 50 | cmp - out
    # More kinds than anybody wants to read of.
    seq 30 >in
    # shellcheck disable=SC2016
    job 1 -q -i in -j 1 --block 1 -- sh -c 'read -r n; exit "$n"'
    [ "$(grep -c '(records ' err)" -lt 30 ]
    says "cleave: 13 more chunks failed: the command failed in other ways"
}

@test "signals have their names" {
    prepare
    for signal in SEGV:'segmentation fault' KILL:killed ABRT:aborted BUS:'bus error' XCPU:'CPU time limit exceeded'; do
        # shellcheck disable=SC2016
        job 1 -q -i in -j 1 --block 1k -- sh -c 'ulimit -c 0; kill -$0 $$' "${signal%%:*}"
        says "the command was ended by SIG${signal%%:*} (${signal#*:})"
    done
    # One that has none.
    # shellcheck disable=SC2016
    job 1 -q -i in -j 1 --block 1k -- sh -c 'kill -40 $$'
    says "the command was ended by signal 40"
}
