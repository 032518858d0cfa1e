# run_messages.bats -- what cleave run says, word by word. SPDX-License-Identifier: MIT
load helper

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

@test "equal failures are printed ten times, then counted" {
    prepare
    job 1 -q -i in -j 2 --split fixed:1 --block 1 --retries 1 --halt never --joblog log -- false
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

@test "different failures are all printed" {
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

@test "a policy that needs equal workers names them" {
    prepare
    printf 'workers:\n  - {name: alpha, speed: 1e6, bandwidth: 1e9}\n  - {name: beta, speed: 2e6, bandwidth: 1e9}\n' >two.yaml
    refuses "policy 'mi' needs equal workers, but 'alpha' and 'beta' differ in speed; umr-plus and auto take unequal ones" \
        run -i in --hosts two.yaml --policy mi --param rounds=2 cat
}

# --- a signal -----------------------------------------------------------------------------

# stop SIGNAL ARGUMENT... -- send it to cleave run, which has begun the second of two chunks.
stop() {
    local signal=$1
    shift
    rm -f here
    # shellcheck disable=SC2016
    env --default-signal=INT "$CLEAVE" run -q -i in -j 1 --block 146 "$@" -- \
        sh -c 'read -r n; [ "$n" = 1 ] || { touch here; exec sleep 1000; }; cat' >out 2>err 3>&- &
    local master=$!
    appears here
    kill "-$signal" $master
    status=0
    wait $master || status=$?
}

@test "a stopped run prints its progress and the command to continue" {
    prepare
    [ "$(wc -c <in)" -eq 292 ]
    stop INT
    [ "$status" -eq 130 ]
    [ "$(cat err)" = "cleave: stopped by SIGINT: 1 chunk done, 147 B of 292 B. None of it is kept for another run; --journal FILE would have done so" ]
    stop TERM --journal j
    [ "$status" -eq 143 ]
    [ "$(cat err)" = "cleave: stopped by SIGTERM: 1 chunk done, 147 B of 292 B. The journal holds them: the same command with --resume does the rest" ]
}

@test "a signal that was ignored at the start does not stop the run" {
    prepare
    printf 'workers:\n  - {name: a, slots: 1, speed: 1e6, bandwidth: 1e9}\n' >hosts.yaml
    for how in "-j 1" "--hosts hosts.yaml"; do
        rm -f here go
        # shellcheck disable=SC2016,SC2086
        env --ignore-signal=HUP,INT "$CLEAVE" run -q -i in $how --block 1k -- \
            sh -c 'touch here; until [ -e go ]; do sleep 0.02; done; cat' >out 2>err 3>&- &
        local master=$!
        appears here
        # As of a terminal that is closed: all of them get it.
        # shellcheck disable=SC2046
        kill -HUP $master $(pgrep -P $master -f 'cleave worker')
        # shellcheck disable=SC2046
        kill -INT $master $(pgrep -P $master -f 'cleave worker')
        touch go
        wait $master
        cmp in out
        [ ! -s err ]
    done
}

@test "after a signal no host is said to be lost" {
    prepare
    printf 'workers:\n  - {name: a, slots: 1, speed: 1e6, bandwidth: 1e9}\n' >hosts.yaml
    env --default-signal=INT "$CLEAVE" run -q -i in --hosts hosts.yaml --block 1k -- sh -c "touch $T/here; trap '' TERM; sleep 1000; :" >out 2>err 3>&- &
    local master=$!
    appears here
    # As of a terminal: all of them get it.
    kill -INT $master "$(pgrep -P $master -f 'cleave worker')"
    status=0
    wait $master || status=$?
    [ "$status" -eq 130 ]
    says "stopped by SIGINT"
    silent "go elsewhere"
}

# in_writes ARGUMENT... -- run cleave with a socket of datagrams as standard error, so that the file
# writes has a line "LENGTH TEXT" for each write, with its ends of line as |.
in_writes() {
    perl -MSocket -e '
        socketpair my $in, my $out, AF_UNIX, SOCK_DGRAM, 0 or die;
        my $pid = fork;
        if (!$pid) { close $in; open STDERR, ">&", $out or die; exec @ARGV or die }
        close $out;
        while (1) {
            vec(my $ready = "", fileno $in, 1) = 1;
            my $come = select $ready, undef, undef, waitpid($pid, 1) ? 0 : 0.02;
            next if !$come && $pid && kill 0, $pid;
            last if !$come;
            recv $in, my $text, 1 << 20, 0;
            $text =~ s/\n/|/g;
            print "$text\n";
        }' "$CLEAVE" run "$@" >writes
}

@test "every message is one write, and so is the summary" {
    prepare
    in_writes --summary -o out -i in -j 2 --block 146 -- sh -c 'cat; exit 3'
    [ "$(wc -l <writes)" -ge 3 ]
    run ! grep -v '|$' writes
    grep -qE '^cleave: .* 2 failed\|cleave: of the time of 2 workers: [^|]*\|.*\|  w1 [^|]*\|$' writes
    in_writes --json -i in cat
    [ "$(grep -c '^{|.*|}|$' writes)" -eq 1 ]
    in_writes -o out --halt now,fail=1 -j 1 'exit {}' ::: 3 0
    run ! grep -v '|$' writes
    grep -qE '^cleave: 1 command in .* 1 failed\|cleave: left undone: 1 item \(2 to 2\)\|$' writes
}

@test "lines of commands on standard error are complete, and lines of an item stay together" {
    prepare
    "$CLEAVE" run -q -j 4 'for k in 1 2 3; do printf "%s " "item {}"; sleep 0.01; echo part $k; done >&2' ::: 1 2 3 4 5 6 7 8 2>err
    [ "$(wc -l <err)" -eq 24 ]
    [ "$(awk '{ print $2 }' err | uniq | wc -l)" -eq 8 ]
    "$CLEAVE" run -q -j 4 -i in --block 20 -- sh -c 'for i in 1 2 3; do printf "a "; sleep 0.005; echo b; done >&2; cat >/dev/null' 2>err
    [ -s err ]
    run ! grep -vx 'a b' err
    # Each of many short commands, of which some processes are made ahead.
    seq 400 | "$CLEAVE" run -q -j 2 -a - 'echo {} >&2' 2>err
    sort -n err | cmp - <(seq 400)
    # A line without its end gets one; a command may open it by its name.
    "$CLEAVE" run -q -j 1 'printf {} >/dev/stderr; printf b >/dev/stderr' ::: 1 2 2>err
    [ "$(cat err)" = $'1b\n2b' ]
    # More than a pipe holds.
    "$CLEAVE" run -q -j 2 'seq 100000 >&2; : {}' ::: 1 2 2>err
    [ "$(wc -l <err)" -eq 200000 ]
}

@test "lines on standard error come while a chunk's command runs, for items with --line-buffer" {
    prepare
    local options
    for options in "-i in --" "--line-buffer -a one"; do
        echo 1 >one
        rm -f go
        # shellcheck disable=SC2086
        timeout $LONG "$CLEAVE" run -q -j 1 $options 'echo begun >&2; until [ -e go ]; do sleep 0.02; done; true' >out 2>err 3>&- &
        for _ in $(seq 3000); do
            ! grep -q begun err || break
            sleep 0.02
        done
        grep -qx begun err
        touch go
        wait $!
    done
}

# --- the summary --------------------------------------------------------------------------

@test "the summary can be read at once" {
    prepare
    job 0 --summary -i in -j 2 --block 1k -- sh -c 'cat; sleep 0.1'
    grep -qE '^cleave: 292 B in [0-9.]+ s, 1 chunk$' err
    grep -qE '^cleave: of the time of 2 workers: work (and starts )?[0-9.]+%, .*waiting [0-9.]+%$' err
    # Slow commands have a speed that is no power of ten.
    grep -qE '^  worker  chunks  bytes +busy +k?B/s  start ms$' err
    run ! grep -qE '[0-9]e[-+][0-9]' err
    job 0 -v -i in -j 2 --block 146 -- cat
    grep -q '^cat$' err
    grep -q ', 2 chunks$' err
    job 0 --summary -i in -j 1 --block 146 --reduce cat -- cat
    grep -q ', 1 fold$' err
    # shellcheck disable=SC2016
    job 0 --summary -i in -j 1 --block 1k --retries 2 -- sh -c '[ -e tried ] || { touch tried; exit 1; }; cat'
    grep -q ', 1 retry$' err
    job 1 -q -i in -j 1 --block 1k --halt now,fail=1 -- false
    says "cleave: halted after 1 failed chunk"
    [ "$(tail -n 1 err)" = "cleave: halted after 1 failed chunk" ]
}

@test "nothing done: nothing to sum up" {
    prepare
    job 2 -i in --split fixed:0 -- cat
    [ "$(wc -l <err)" -eq 1 ]
    job 2 -i in -- no-such-program
    [ "$(wc -l <err)" -eq 1 ]
    job 0 --summary -i /dev/null -- cat
    says "cleave: 0 B in "
    # Of many workers those that did nothing need no row.
    job 0 --summary -i in -j 40 --block 1k -- cat
    [ "$(grep -c '^  ' err)" -eq 2 ]
}

@test "--dry-run has no times without declared costs" {
    prepare
    cleave 0 run --dry-run -i in -j 2 cat
    has "chunks    as policy learn decides while it runs"
    has "times     not known; "
    lacks makespan
    [ "${#lines[@]}" -eq 5 ]
    printf 'workers:\n  - {name: a, speed: 1e6, bandwidth: 1e9}\n' >one.yaml
    cleave 0 run --dry-run --hosts one.yaml -i in cat
    lacks "not known"
    has "times     by the costs that the platform file declares"
    cleave 0 calibrate -i in -j 2 -o two.yaml -- cat
    cleave 0 run --dry-run --hosts two.yaml -i in cat
    lacks "not known"
    has "times     by the costs that 'cleave calibrate' has measured"
}

@test "--dry-run shows the command and the first chunks" {
    prepare
    seq 5 >more
    cleave 0 run --dry-run -i in -i more -j 'a,b:nice -n 19' --block 30 -- sh -c 'cat; :'
    [ "${lines[0]}" = "command   sh -c 'cat; :'" ]
    [ "${lines[1]}" = "  b: nice -n 19 sh -c 'cat; :'" ]
    [ "${lines[2]}" = "input     in and 1 more, cut at the records of its format" ]
    [ "${lines[3]}" = "workers   2" ]
    [ "${lines[4]}" = "chunks    about 11 of 30 bytes" ]
    lacks "starts s"
    cleave 0 run --dry-run -i in -j 1 --block 200 --split paragraph -- cat
    has "cut at paragraph"
    # With declared costs the plan has times; few chunks are all shown.
    printf 'workers:\n  - {name: a, speed: 1e6, bandwidth: 1e9}\n' >costs.yaml
    cleave 0 run --dry-run -i in -i more --hosts costs.yaml --block 30 -- cat
    has "  chunk  worker  about bytes  starts s  ends s"
    [ "$(grep -cE '^ +[1-6]  a +30 ' <<<"$output")" -eq 6 ]
    has "  and 5 more; all have 2 to 30 bytes"
    cleave 0 run --dry-run -i in --hosts costs.yaml --block 200 -- cat
    lacks " more"
    [ "$(grep -cE '^ +[12]  a ' <<<"$output")" -eq 2 ]
    # Nothing was made or run.
    cleave 0 run --dry-run -i in -o out -- touch ran
    [ ! -e out ]
    [ ! -e ran ]
}
