# run_commands.bats -- when a command is over, and what ends it. SPDX-License-Identifier: MIT
load helper

# T -- a folder for the files of a test.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 5 >in
}

# job STATUS ARGUMENT... -- cleave run -q, its output in $T/out; the status must be that.
job() {
    local expected=$1 got=0
    shift
    timeout $LONG "$CLEAVE" run -q "$@" >"$T/out" 2>"$T/err" 3>&- || got=$?
    if [ "$got" -ne "$expected" ]; then
        echo "cleave run $*: exit status $got, expected $expected"
        cat "$T/err"
        return 1
    fi
}

# gone PID -- that process is no more, soon at the latest.
gone() {
    for _ in $(seq 1000); do
        if ! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; then
            return 0
        fi
        sleep 0.02
    done
    echo "still there: $(tr '\0' ' ' <"/proc/$1/cmdline")"
    return 1
}

# --- when it is over ----------------------------------------------------------------------

@test "output is read to its end, though the command has ended" {
    prepare
    for command in 'cat > >(sleep 1.5; wc -l)' '{ sleep 1.5; echo 5; } & cat >/dev/null'; do
        job 0 -j 1 --block 1k -i in -- bash -c "$command"
        [ "$(cat out)" = 5 ]
    done
    # One in another session is waited for as well.
    job 0 -j 1 --block 1k -i in -- setsid sh -c 'sleep 0.3; wc -l'
    [ "$(cat out)" = 5 ]
}

@test "a command is waited for, though it has closed its output" {
    run "$CLEAVE" run -j 2 -- 'exec >&-; sleep 0.03; exit {}' ::: 0 7 0
    [ "$status" -eq 1 ]
    [[ "$output" == *"exited with status 7"*"3 commands in "*", 1 failed"* ]]
    # longer than nothing but its output is watched, and with children that have it
    run "$CLEAVE" run -q -j 1 -- '(sleep 0.05; echo late) & : {}' ::: a
    [ "$status" -eq 0 ]
    [ "$output" = late ]
}

@test "input is given to its end, though the command has ended" {
    prepare
    seq 400000 >in
    job 0 -j 1 --block 1G -i in -- sh -c 'exec 3<&0; { sleep 0.3; wc -l; } <&3 & exit 0'
    [ "$(cat out)" = 400000 ]
    # Also when its reader writes elsewhere.
    job 0 -j 1 --block 1G -i in -- sh -c 'exec 3<&0; { sleep 0.3; wc -l; } <&3 >lines 2>&1 & exit 0'
    appears lines
    for _ in $(seq 1000); do
        [ -s lines ] && break
        sleep 0.02
    done
    [ "$(cat lines)" = 400000 ]
    [ ! -s out ]
    # Whoever reads no more is not waited for.
    job 0 -j 1 --block 1G -i in -- sh -c 'exec 3<&0; { sleep 0.1; exec head -n 1; } <&3 & exit 0'
    [ "$(cat out)" = 1 ]
    job 0 -j 1 --block 1G -i in -- true
}

@test "a run that waits for children of a command prints one note" {
    prepare
    # shellcheck disable=SC2016
    "$CLEAVE" run -q -j a,b --block 2 -i in -- sh -c '{ while [ ! -e go ]; do sleep 0.05; done; echo late; } & cat' >out 2>err 3>&- &
    local master=$!
    for _ in $(seq 1500); do
        [ -s err ] && break
        sleep 0.02
    done
    touch go
    wait $master
    grep -qE '^cleave: [ab]: the command has ended, but its children hold its output or input; waiting for them \(--timeout limits this\)$' err
    [ "$(wc -l <err)" -eq 1 ]
    [ "$(grep -c late out)" -eq 5 ]
    grep -v late out | cmp - in
}

@test "background processes of a successful command are left alone" {
    prepare
    job 0 -j 1 --block 1k -i in -- sh -c 'sh -c "echo \$\$ >pid; exec sleep 1000" >/dev/null 2>&1 & cat'
    cmp in out
    appears pid
    kill "$(cat pid)"
}

@test "children of a command that failed are killed" {
    prepare
    # It holds the output, and is not waited for.
    job 1 -j 1 --block 1k -i in -- sh -c 'sh -c "trap \"\" TERM; echo \$\$ >pid; while :; do sleep 1000; done" & while [ ! -s pid ]; do sleep 0.02; done; exit 3'
    grep -q 'the command exited with status 3$' err
    gone "$(cat pid)"
    # It does not.
    rm pid
    job 1 -j 1 --block 1k -i in -- sh -c 'sh -c "echo \$\$ >pid; exec sleep 1000" >/dev/null 2>&1 & while [ ! -s pid ]; do sleep 0.02; done; exit 3'
    gone "$(cat pid)"
}

@test "ends of commands are noticed, also if the parent ignores SIGCHLD" {
    prepare
    run env --ignore-signal=CHLD "$CLEAVE" run -q -j 1 --block 1k -i in wc -l
    [ "$status" -eq 0 ]
    [ "$output" = 5 ]
}

@test "a command that turns to the terminal is not stopped and waited for" {
    prepare
    command -v script >/dev/null || skip "script is not there"
    # A run that hangs would be ended by then.
    local how
    for how in 'stty -echo </dev/tty' 'read -r x </dev/tty || exit 3'; do
        # shellcheck disable=SC2016
        timeout 200 script -qec "'$CLEAVE' run -q -j 2 --block 1k -i in -- sh -c '$how; wc -l'" /dev/null >out 2>&1 3>&- || [ $? -ne 124 ]
        cat out
    done
    grep -q 'the command exited with status 3' out
}

# --- --timeout and signals ----------------------------------------------------------------

# A command that ends while another session holds its output.
ESCAPED='setsid sh -c "echo \$\$ >pid.new; mv pid.new pid; exec sleep 1000" & while [ ! -e pid ]; do sleep 0.02; done'

@test "--timeout holds for children, also where no signal reaches them" {
    prepare
    job 1 -j 1 --block 1k -i in --timeout 0.3 -- sh -c 'sleep 1000 & cat'
    grep -q 'the command took longer than 0.3 s$' err
    [ ! -s out ]
    job 1 -j 1 --block 1k -i in --timeout 3 -- sh -c "$ESCAPED; cat"
    grep -q 'the command took longer than 3 s$' err
    [ ! -s out ]
    kill "$(cat pid)"
    rm pid
    job 1 -j 1 --block 1k -i in --timeout 3 --reduce "$ESCAPED; cat" --block 2 -- cat
    grep -q 'took longer than 3 s' err
    kill "$(cat pid)"
}

@test "--timeout: time in which the run itself is stopped is not held against a command that has ended" {
    prepare
    seq 10000 >many
    "$CLEAVE" run -q -j 2 --block 25k -i many --timeout 8 --retries 1 -o out -- \
        sh -c 'cat >in.$CLEAVE_SLOT; touch begun.$CLEAVE_SLOT; until [ -e go ]; do sleep 0.02; done
               cat in.$CLEAVE_SLOT' 2>err 3>&- &
    local master=$!
    appears begun.1
    appears begun.2
    kill -STOP $master
    touch go
    sleep 8.5
    kill -CONT $master
    wait $master || { cat err; return 1; }
    cmp many out
}

@test "SIGTERM ends the run, even if another process holds an output" {
    prepare
    "$CLEAVE" run -q -j 1 --block 1k -i in -- sh -c "$ESCAPED; sleep 1000" >out 2>err 3>&- &
    local master=$!
    appears pid
    kill $master
    gone $master
    status=0
    wait $master || status=$?
    [ "$status" -eq 143 ]
    kill "$(cat pid)"
}

# --- SIGKILL ------------------------------------------------------------------------------

# A command that says who it and its parent are, and does not notice that nobody is left.
SLEEPER='echo $$ >self.$CLEAVE_WORKER.new; echo $PPID >parent.$CLEAVE_WORKER; mv self.$CLEAVE_WORKER.new self.$CLEAVE_WORKER; sleep 1000 >/dev/null; :'

# begin ARGUMENT... -- cleave run in the background, as $MASTER.
begin() {
    "$CLEAVE" run -q "$@" >out 2>err 3>&- &
    MASTER=$!
}

# guarded PID -- wait until its guard has begun.
guarded() {
    for _ in $(seq 1000); do
        pgrep -P "$1" -x cleave-guard >/dev/null && return 0
        sleep 0.02
    done
    echo "$1 has no guard"
    return 1
}

@test "commands end when the run is killed" {
    prepare
    begin -j a,b --block 2 -i in -- sh -c "$SLEEPER"
    appears self.a
    appears self.b
    guarded $MASTER
    kill -9 $MASTER
    gone "$(cat self.a)"
    gone "$(cat self.b)"
    rm self.*
    # Also those that stay, and those that reduce.
    begin -j 'a*1' --persistent -i in -- sh -c "$SLEEPER"
    appears self.a
    guarded $MASTER
    kill -9 $MASTER
    gone "$(cat self.a)"
    rm self.*
    begin -j 'a*1' --block 2 -i in --reduce "$SLEEPER" -- cat
    appears self.a
    guarded $MASTER
    kill -9 $MASTER
    gone "$(cat self.a)"
}

@test "commands on a host end when the run or the worker there is killed" {
    prepare
    printf 'workers:\n  - {name: a, slots: 1, speed: 1e6, bandwidth: 1e9}\n' >hosts.yaml
    begin --hosts hosts.yaml -i in --block 1k -- sh -c "$SLEEPER"
    appears self.a
    kill -9 $MASTER
    gone "$(cat self.a)"
    rm self.*
    begin --hosts hosts.yaml -i in --block 1k -- sh -c "$SLEEPER"
    appears self.a
    local self
    self=$(cat self.a)
    guarded "$(cat parent.a)"
    kill -9 "$(cat parent.a)"
    gone "$self"
    kill -9 $MASTER
    appears self.a
    gone "$(cat self.a)"
}

@test "every command gets the position of its chunk" {
    cd "$BATS_TEST_TMPDIR"
    seq 10 >ten
    tell='echo $CLEAVE_CHUNK $CLEAVE_BEGIN-$CLEAVE_END $CLEAVE_RECORD $CLEAVE_INPUT'
    # Of what a run around this one has said, nothing is left.
    export CLEAVE_RECORD=x CLEAVE_CHUNK=x
    cleave 0 run -q -j 1 -i ten --block 6 -- sh -c "$tell"
    [ "$output" = $'1 0-6 1 ten\n2 6-12 4 ten\n3 12-18 7 ten\n4 18-21 10 ten' ]
    cleave 0 run -q -j 1 -i ten --split fixed:7 --block 7 -- sh -c "$tell"
    [ "$output" = $'1 0-7 1 ten\n2 7-14 2 ten\n3 14-21 3 ten' ]
    output=$(cat ten | timeout 200 "$CLEAVE" run -q -j 1 --block 12 -- sh -c "$tell" 3>&-)
    [ "$output" = $'1 0-12 1 standard input\n2 12-21 7 standard input' ]
    # Whoever decides, chunks that are still open are not begun then.
    cleave 0 run -q -j 2 -i ten -- env
    [ "$(grep -c ^CLEAVE_END= <<<"$output")" -eq "$(grep -c ^CLEAVE_BEGIN= <<<"$output")" ]
    has CLEAVE_RECORD=1
    run ! grep -x 'CLEAVE_[A-Z]*=x' <<<"$output"
    cleave 0 run -q -j 2 -- 'echo $CLEAVE_CHUNK {#}, $CLEAVE_SLOT $CLEAVE_BEGIN' ::: a b c
    [[ $output == $'1 1, '?$'\n2 2, '?$'\n3 3, '? ]]
}

@test "a chunk as a file" {
    prepare
    mkdir tmp
    export TMPDIR=$T/tmp
    seq 1000 >many
    # As often as one likes, whatever quotes are around it, and nothing else to read.
    job 0 -j 1 -i many --block 1000 --cat 'head -n 1 {}; tail -n 1 '"'{}'"'; wc -c; wc -l <"{}"'
    cmp out <(split -C 1003 many part.; for f in part.*; do head -n 1 $f; tail -n 1 $f; echo 0; wc -l <$f; done)
    # Behind the command, if it is not said where; signs make a line of the words.
    job 0 -i in --cat tr 1 x '<' {} '|' cat
    [ "$(cat out)" = $'x\n2\n3\n4\n5' ]
    job 0 -i in --cat cat
    cmp out in
    # Its status, and what is left of it: nothing.
    job 1 -i in --cat 'exit 3'
    grep -q "exited with status 3" err
    job 1 -i in --timeout 0.3 --cat 'sleep 50; :'
    [ -z "$(ls tmp)" ]
    mkdir 'od d'
    TMPDIR="$T/od d" job 1 -i in --cat cat
    grep -q "expected a TMPDIR of letters" err
    [ -z "$(ls 'od d')" ]
    job 2 -i in --cat --persistent cat
    grep -q "expected --cat or --persistent, got both" err
}

# --- where there is no room for one ---------------------------------------------------------

@test "open files that do not suffice for all workers: commands wait for others" {
    prepare
    seq 2000 >many
    (ulimit -n 20 && job 0 -j 8 --block 100 -i many -- cat)
    cmp many out
    says "too few open files for 8 workers (see: ulimit -n): commands wait until others have ended"
    [ "$(wc -l <err)" -eq 1 ]
    (ulimit -n 24 && job 0 -j 30 -- 'echo {}' ::: $(seq 100))
    seq 100 | cmp - out
    (ulimit -n 28 && job 0 -j 8 --block 500 -i many --journal j --joblog l --retries 1 -- cat)
    cmp many out
    [ "$(tail -n +2 l | cut -f 7 | sort -u)" = 0 ]
    # Not even for one.
    (ulimit -n 10 && job 1 -j 2 --block 100 -i many -- cat)
    says "Too many open files (see: ulimit -n)"
}

@test "too many processes: commands wait for others" {
    prepare
    [ "$(id -u)" -eq 0 ] || skip "it takes a user without other processes"
    command -v setpriv prlimit >/dev/null || skip "setpriv or prlimit is not there"
    setpriv --reuid 42473 --clear-groups env "$CLEAVE" version >/dev/null 2>&1 || skip "others may not run $CLEAVE"
    seq 2000 >many
    prlimit --nproc=4 setpriv --reuid 42473 --clear-groups timeout $LONG "$CLEAVE" run -q -j 8 --block 100 \
        -- cat <many >out 2>err 3>&-
    cmp many out
    says "cannot run 'cat': too many processes (see: ulimit -u): commands wait until others have ended"
    # On hosts, too.
    printf 'workers:\n  - {name: h, slots: 8, speed: 1e6, bandwidth: 1e9}\n' >h.yaml
    prlimit --nproc=8 setpriv --reuid 42473 --clear-groups timeout $LONG "$CLEAVE" run -q --hosts h.yaml --block 100 \
        -- sleep 0.05 <many >out 2>err 3>&-
    run ! grep 'did not start' err
}

@test "a program that is just being written: its commands wait" {
    prepare
    cp "$(command -v cat)" program
    seq 2000 >many
    exec 8>>program
    "$CLEAVE" run -q -j 2 --block 1k -i many -o out --retries 1 -- ./program 2>err 3>&- 8>&- &
    local master=$!
    for _ in $(seq 3000); do
        [ ! -s err ] || break
        sleep 0.02
    done
    exec 8>&-
    wait $master || { cat err; return 1; }
    cmp many out
    [ "$(cat err)" = "cleave: cannot run './program': Text file busy: commands wait until others have ended" ]
}
