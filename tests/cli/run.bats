# run.bats -- cleave run, as its user sees it. SPDX-License-Identifier: MIT
load helper

# T -- a folder for the files of a test.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
}

# job ARGUMENT... -- cleave run -q, its output in $T/out; the status must be 0.
job() {
    timeout $LONG "$CLEAVE" run -q "$@" >"$T/out" 2>"$T/err" || {
        echo "cleave run $*: exit status $?"
        cat "$T/err"
        return 1
    }
}

# fails_with STATUS ARGUMENT... -- the same with another status.
fails_with() {
    local expected=$1 got=0
    shift
    timeout $LONG "$CLEAVE" run -q "$@" >"$T/out" 2>"$T/err" || got=$?
    if [ "$got" -ne "$expected" ]; then
        echo "cleave run $*: exit status $got, expected $expected"
        cat "$T/err"
        return 1
    fi
}

# chunks -- how many commands the job log of the last run tells of, without those that a backup copy beat.
chunks() {
    tail -n +2 "$T/log" | grep -vc '	dropped$'
}

# nobody NAME -- no process has NAME on its command line, soon at the latest.
nobody() {
    for _ in $(seq 3000); do
        pgrep -f "$1" >/dev/null || return 0
        sleep 0.02
    done
    echo "still there: $(pgrep -af "$1")"
    return 1
}

# in_background ARGUMENT... -- start cleave run; its id is $PID. Shells let what they start
# in the background ignore SIGINT; here it must not.
in_background() {
    env --default-signal=INT "$CLEAVE" run -q "$@" <&0 >"$T/out" 2>"$T/err" 3>&- &
    PID=$!
}

# asleep ID -- the process waits for something: it has been asleep at ten looks in a row.
asleep() {
    local times=0
    for _ in $(seq 6000); do
        if grep -q '^State:.S' "/proc/$1/status"; then times=$((times + 1)); else times=0; fi
        [ $times -ge 10 ] && return 0
        sleep 0.01
    done
    return 1
}

# --- input and output ---------------------------------------------------------------------

@test "outputs come in the order of the input" {
    prepare
    seq 5000 >in
    for more in "-j 4" "-j 3 --block 1k" "-j 1" "-k -j 2 --policy factoring" "-j 2 --policy guided"; do
        # shellcheck disable=SC2086 # words
        job -i in $more -- awk 'NR == 1 && $1 % 3 == 0 { system("sleep 0.02") } { print }'
        cmp in out
    done
}

@test "--unordered writes all, in whatever order" {
    prepare
    seq 3000 >in
    job -i in -u -j 3 --block 1k -- cat
    sort -n out | cmp - in
    # The first chunk waits until another has been written: that did not wait for it.
    job -i in -u -j 2 --block 8k -- awk 'NR == 1 && $1 == 1 { system("until [ -s out ]; do sleep 0.02; done") } { print }'
    [ "$(head -n 1 out)" != 1 ]
    sort -n out | cmp - in
}

@test "standard input, a pipe and a file are the same" {
    prepare
    seq 40000 >in
    job -i in -j 2 -- sed 's/^/x/'
    cp out expected
    job -j 2 -- sed 's/^/x/' <in
    cmp expected out
    cat in | job -j 2 -- sed 's/^/x/'
    cmp expected out
    cat in | job -j 2 --block 10k -- sed 's/^/x/'
    cmp expected out
    job -i - -j 2 -- sed 's/^/x/' <in
    cmp expected out
    (sed -n 1,100p in; sleep 0.2; sed -n '101,$p' in) | job -j 2 -- sed 's/^/x/'
    cmp expected out
}

# splits HOW RECORDS -- $T/in has so many records: every chunk can be as small as one, and
# all together are the input, from a file and from a pipe.
splits() {
    job --split "$1" -i in --block 1 -j 2 --joblog log -- cat
    cmp in out
    if [ "$(chunks)" -ne "$2" ]; then
        echo "$1: $(chunks) chunks, expected $2"
        return 1
    fi
    cat in | job --split "$1" --block 1 -j 2 --joblog log -- cat
    cmp in out
    [ "$(chunks)" -eq "$2" ] || echo "$1, pipe: $(chunks) chunks, expected $2"
    for size in 7 100; do
        job --split "$1" -i in --block $size -j 3 -- cat
        cmp in out
    done
}

@test "blocks of a pipe are as large as was asked for" {
    prepare
    yes 0123456789 | head -c 55000000 | job -j 2 --block 25M -- wc -c
    [ "$(cat out)" = "$(printf '25000008\n25000008\n4999984')" ]
}

@test "each splitter cuts between records" {
    prepare
    printf '1\n22\n\n4444\r\n5' >in
    splits lines 5
    printf 'a\0b\nb\0\0d' >in
    splits nul 4
    printf 'a,b\n1,"x\ny"\n2,"say ""\n"""\n3,5" pipe\n' >in
    splits csv 4
    printf '{"a": 1}\n{"a": "\\n"}\n[]\n' >in
    splits jsonl 3
    printf '>one\nACGT\nAC\n>two\n>three\nGG\n' >in
    splits fasta 3
    printf '@r1\nACGT\n+\n@@@@\n@r2\nAC\nGT\n+r2\n@I\n+I\n' >in
    splits fastq 2
    printf 'a\nb\n\nc\n\n\nd\ne\n' >in
    splits paragraph 3
    printf 'aaaabbbbccccdddd' >in
    splits fixed:4 4
    printf 'x\nBEGIN 1\na\nBEGIN 2\nb\n BEGIN no\n' >in
    splits 'regex:BEGIN [0-9]' 2
}

@test "--header gives the first record to every command" {
    prepare
    { echo 'name,"two
lines"'; for i in $(seq 20); do echo "row$i,$i"; done; } >in
    job -i in --split csv --header --header-out 0 --block 30 -j 2 --joblog log -- head -n 2
    [ "$(chunks)" -gt 3 ]
    [ "$(grep -c '^name,' out)" -eq "$(chunks)" ]
    job -i in --split csv --header --block 30 -j 2 -- tail -n +3
    cmp out <(tail -n +3 in)
    cat in | job --split csv --header --block 30 -j 2 -- tail -n +3
    cmp out <(tail -n +3 in)
}

@test "empty input: nothing runs, nothing comes out" {
    prepare
    : >in
    for command in "cat" "touch ran"; do
        # shellcheck disable=SC2086 # words
        job -i in -- $command
        [ ! -s out ]
        # shellcheck disable=SC2086
        job -- $command </dev/null
        [ ! -s out ]
        # shellcheck disable=SC2086
        true | job -- $command
        [ ! -s out ]
    done
    [ ! -e ran ]
    cleave 0 run --summary -i in -- cat
    [[ $stderr == *"cleave: 0 B in "* ]]
}

@test "a missing last newline stays missing" {
    prepare
    printf 'a\nb\nc' >in
    job -i in --block 1 -j 2 -- cat
    cmp in out
    cat in | job -j 2 -- cat
    cmp in out
}

@test "a record larger than any chunk" {
    prepare
    { echo first; head -c 3000000 /dev/zero | tr '\0' x; echo; echo last; } >in
    job -i in --block 1000 -j 2 -- cat
    cmp in out
    cat in | job --block 1000 -j 2 -- cat
    cmp in out
    head -c 2000000 /dev/zero >in
    job -i in -j 2 -- wc -c
    [ "$(cat out)" -eq 2000000 ]
}

@test "any bytes pass unchanged" {
    prepare
    head -c 400000 /dev/urandom >in
    for how in lines nul fixed:1000 paragraph; do
        job -i in --split $how -j 2 -- cat
        cmp in out
        cat in | job --split $how -j 2 -- cat
        cmp in out
    done
}

@test "several files are read one after the other" {
    prepare
    seq 100 >"a file"
    printf '' >nothing
    printf 'no newline' >b
    seq 200 >c
    job -i "a file" -i nothing -i b -i c -j 2 --joblog log -- cat
    awk 1 "a file" nothing b c | cmp - out # which ends the last line of b
    # A chunk is of one file.
    job -i "a file" -i b -i c -j 2 --block 10M --joblog log -- cat
    [ "$(chunks)" -eq 3 ]
    grep -q '	a file:0-292$' log
    grep -q '	b:0-10$' log
}

@test "-o writes a file and --json the summary to standard output" {
    prepare
    seq 1000 >in
    cleave 0 run -i in -o result --json -j 2 -- cat
    cmp in result
    valid_json
    for field in command inputs input_bytes output_bytes sent_bytes chunks elapsed_s connecting_s makespan_s input_s input_first_s blocked_s alone_s bound_s retries failed resumed \
        workers name units busy_s idle_s speed; do
        has "\"$field\":"
    done
    has '"input_bytes": 3893,'
    has '"output_bytes": 3893,'
    # Without -o the output is there, so the summary goes to standard error.
    cleave 0 run -i in --json -j 2 -- cat
    [ "$output" = "$(cat in)" ]
    output=$stderr
    valid_json
}

@test "a summary on standard error, unless --quiet" {
    prepare
    seq 1000 >in
    cleave 0 run --summary -i in -j 2 -- cat
    [[ $stderr == "cleave: 3.9 kB in "* ]]
    [[ $stderr == *" w0 "*" w1 "* ]]
    cleave 0 run -i in -q -- cat
    [ -z "$stderr" ]
}

@test "workers with names and words before the command" {
    prepare
    seq 400 >in
    job -i in -j 'fast,slow:nice -n 19' --backups off --block 100 -- sh -c 'cat >/dev/null; echo "$CLEAVE_WORKER $(nice)"'
    [ "$(sort -u out | grep -c '^fast')" -eq 1 ]
    grep -q '^slow 19$' out
    job -i in -j 12 --block 1 -- sh -c 'cat >/dev/null; sleep 0.01; echo "$CLEAVE_WORKER"'
    [ "$(sort -u out | tr '\n' ' ')" = "w0 w1 w10 w11 w2 w3 w4 w5 w6 w7 w8 w9 " ]
}

@test "--trace is readable, one JSON object a line" {
    prepare
    seq 3000 >in
    job -i in -j 2 --trace trace -- cat
    head -n 1 trace | grep -q '^{"format":"cleave-trace-1"'
    grep -q '"event":"done"' trace
    head -n 1 trace | grep -q '"policy":"learn"'
    job -i in -j 2 --block 1k --trace equal -- cat
    head -n 1 equal | grep -q '"policy":"self"'
    if python3 -c '' 2>/dev/null; then
        python3 - <<'PYTHON'
import json
lines = [json.loads(line) for line in open('trace')]
done = sum(line['units'] for line in lines if line.get('event') == 'done')
assert done == 13893, done
times = [line['end'] for line in lines if 'event' in line]
assert times == sorted(times)
PYTHON
    fi
}

@test "--joblog has the columns of GNU parallel" {
    prepare
    seq 100 >in
    fails_with 1 -i in -j 2 --backups off --retries 1 --block 100 --joblog log -- sh -c 'read -r x; cat >/dev/null; echo "$x"; [ "$x" = 1 ] && exit 7; [ "$x" -gt 50 ] && kill -9 $$; exit 0'
    head -n 1 log | grep -qx 'Seq	Host	Starttime	JobRuntime	Send	Receive	Exitval	Signal	Command'
    awk -F '\t' 'NF != 9 { exit 1 }' log
    awk -F '\t' 'NR > 1 { sent += $5 } END { exit sent != 292 }' log
    grep -q '	7	0	in:0-' log
    grep -q '	0	9	in:' log
}

# --- commands that misbehave ----------------------------------------------------------------

@test "a command that reads nothing, stops early or prints nothing" {
    prepare
    seq 300000 >in
    job -i in -j 2 -- true
    [ ! -s out ]
    cat in | job -j 2 -- true
    [ ! -s out ]
    job -i in -j 2 --block 500k --joblog log -- head -n 1
    [ "$(wc -l <out)" -eq "$(chunks)" ]
    [ "$(head -n 1 out)" = 1 ]
    job -i in -j 2 -- sh -c 'cat >/dev/null'
    [ ! -s out ]
}

@test "a command that prints much more than memory may hold" {
    prepare
    seq 4 >in
    mkdir spill
    job -i in -j 2 --block 1 --memory 1M --tmpdir spill -- sh -c 'read -r n; head -c 25000000 /dev/zero | tr "\0" "$n"'
    [ "$(wc -c <out)" -eq 100000000 ]
    [ "$(tr -s 1234 <out)" = 1234 ]
    [ -z "$(ls -A spill)" ]
}

@test "a command that hangs and ignores SIGTERM is killed after --timeout" {
    prepare
    seq 3 >in
    fails_with 1 -i in -j 3 --block 1 --timeout 3 -- sh -c 'read -r n; [ "$n" = 2 ] || exec echo "$n"; trap "" TERM; while :; do sleep 9871; done'
    grep -q '^cleave: in: bytes 2 to 4 (records 2 to 2): the command took longer than 3 s$' err
    printf '1\n3\n' | cmp - out
    nobody 'sleep 9871'
}

@test "no descriptor of ours reaches a command" {
    prepare
    seq 20 >in
    list='cat >/dev/null; echo /proc/self/fd/*'
    job -i in -j 2 --block 10 --journal j.db -- sh -c "$list"
    # Those that whoever started us left open are theirs.
    [ "$(sort -u out)" = "$(sh -c "$list" </dev/null)" ]
}

@test "a missing command, and a command without execute permission" {
    prepare
    seq 5 >in
    cleave 2 run -i in -- ./no-such-command
    [ "$stderr" = "cleave: cannot run './no-such-command': No such file or directory" ]
    : >plain
    cleave 2 run -i in -- ./plain
    [ "$stderr" = "cleave: cannot run './plain': Permission denied; if it is a script, chmod +x ./plain" ]
}

@test "an input that changes while its last chunk is worked on is an error" {
    prepare
    seq 100 >in
    fails_with 2 -i in -j 1 --block 1k -- sh -c 'cat; echo more >>in'
    grep -qx 'cleave: in: changed while it was in use: 292 bytes at first, now 297' err
    [ ! -s out ]
}

# --- failures -------------------------------------------------------------------------------

@test "a failed chunk: status 1, said by bytes and records, its output left out" {
    prepare
    seq 9 >in
    fails_with 1 -i in -j 2 --block 6 -- sh -c 'x=$(cat); echo "$x"; case $x in 4*) exit 3 ;; esac'
    [ "$(cat err)" = "cleave: in: bytes 6 to 12 (records 4 to 6): the command exited with status 3" ]
    printf '1\n2\n3\n7\n8\n9\n' | cmp - out
    fails_with 1 -i in -j 2 --block 6 -- sh -c 'x=$(cat); echo "$x"; case $x in 4*) kill -9 $$ ;; esac'
    [ "$(cat err)" = "cleave: in: bytes 6 to 12 (records 4 to 6): the command was ended by SIGKILL (killed)" ]
}

@test "--retries tries again, and only output that counts is written" {
    prepare
    seq 9 >in
    job -i in -j 2 --block 6 --retries 3 --joblog log -- sh -c '
        x=$(cat); echo "$x"; name=tried${x%%[!0-9]*}
        if [ ! -e "$name" ]; then touch "$name"; [ "$name" = tried4 ] && kill -15 $$; exit 5; fi'
    cmp in out
    [ "$(chunks)" -eq 6 ]
    rm -f tried*
    cleave 1 run -i in -j 2 --block 6 --retries 3 --joblog log --json -o out -- false
    has '"retries": 6,'
    has '"failed_chunks": 3,'
    [ "$(chunks)" -eq 9 ]
    [[ $stderr == *"the command exited with status 1, also when tried again"* ]]
    # As GNU parallel counts: it is the number of runs, and 1 is one.
    cleave 1 run -i in -j 2 --block 6 --retries 1 --joblog log --json -o out -- false
    has '"retries": 0,'
    [ "$(chunks)" -eq 3 ]
    cleave 2 run -i in --retries 0 -- false
    [[ $stderr == *"--retries: expected"*"from 1"* ]]
}

@test "--failed keeps the input of chunks that failed for good" {
    prepare
    { echo 'head,er'; seq 9; } >in
    fails_with 1 -i in --split csv --header -j 2 --block 6 --failed bad -- sh -c 'case $(cat) in *4*) exit 1 ;; esac'
    [ "$(ls bad)" = "in.14-20" ]
    printf 'head,er\n4\n5\n6\n' | cmp - bad/in.14-20
    seq 9 | fails_with 1 -j 2 --block 6 --failed bad -- sh -c 'case $(cat) in *4*) exit 1 ;; esac'
    printf '4\n5\n6\n' | cmp - bad/stdin.6-12
}

@test "--halt soon starts nothing new, --halt now stops what runs" {
    prepare
    seq 100 >in
    fails_with 1 -i in -j 1 --block 1 --halt soon,fail=2 --joblog log -- sh -c 'read -r n; echo "$n"; [ "$n" -lt 10 ]'
    [ "$(tail -n 1 err)" = "cleave: halted after 2 failed chunks" ]
    [ "$(chunks)" -eq 11 ]
    seq 9 | cmp - out
    fails_with 1 -i in -j 2 --block 1 --halt now,fail=1 -- sh -c 'read -r n; [ "$n" -ne 1 ] || exec sleep 9874; [ "$n" -lt 20 ]'
    [ "$(tail -n 1 err)" = "cleave: halted after 1 failed chunk" ]
    nobody 'sleep 9874'
    # A fifth of them fails, which is fewer than half; nobody else is asked to try them.
    fails_with 1 -i in -j 2 --block 1 --retries 1 --halt soon,fail=50% --joblog log -- sh -c 'read -r n; [ $((n % 5)) -ne 4 ]'
    [ "$(chunks)" -eq 100 ]
}

@test "interrupted: status 130 and 143, nothing is left" {
    prepare
    seq 100 >in
    for signal in INT TERM; do
        rm -f began
        in_background -i in -j 2 --block 10 -- sh -c 'touch began; exec sleep 9875'
        appears began
        kill -$signal "$PID"
        status=0
        wait "$PID" || status=$?
        [ "$status" -eq "$([ $signal = INT ] && echo 130 || echo 143)" ]
        nobody 'sleep 9875'
    done
}

@test "interrupted before the first input byte, also with --resume" {
    prepare
    mkfifo in
    in_background -i in -- cat
    asleep "$PID"
    kill -TERM "$PID"
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 143 ]
    (printf '1\n2\n3\n' >in) &
    job -i in -j 1 --block 2 --journal j -- sh -c 'touch ran; cat'
    [ "$(cat out)" = "1
2
3" ]
    rm ran
    in_background -i in -j 1 --block 2 --journal j --resume -- sh -c 'touch ran; cat'
    asleep "$PID"
    kill -TERM "$PID"
    status=0
    wait "$PID" || status=$?
    [ "$status" -eq 143 ]
    (printf '1\n2\n3\n' >in) &
    job -i in -j 1 --block 2 --journal j --resume -- sh -c 'touch ran; cat'
    [ "$(cat out)" = "1
2
3" ]
    [ ! -e ran ]
}

@test "a closed output: status 141, without a message" {
    prepare
    seq 500000 >in
    run bash -c "timeout $LONG \"\$CLEAVE\" run -i in -j 2 -- cat 2>err | head -n 1; echo \${PIPESTATUS[0]}"
    [ "$output" = "1
141" ]
    [ ! -s err ]
}

@test "a full disk below the output: status 1" {
    [ -c /dev/full ] || skip "/dev/full is not there"
    prepare
    seq 1000 >in
    cleave 1 run -q -i in -o /dev/full -- cat
    [ "$stderr" = "cleave: cannot write to /dev/full: No space left on device" ]
    run bash -c "\"\$CLEAVE\" run -q -i in -- cat 2>&1 >/dev/full"
    [ "$status" -eq 1 ]
    [ "$output" = "cleave: cannot write to standard output: No space left on device" ]
}

@test "a full disk below spilled output and below the journal: status 1" {
    prepare
    mkdir small
    mount -t tmpfs -o size=1m none small 2>/dev/null || skip "may not mount a small disk"
    seq 4 >in
    # Later outputs have to wait for the first, and do not fit.
    fails_with 1 -i in -j 2 --block 1 --memory 100k --tmpdir small -- sh -c 'read -r n; [ "$n" = 1 ] && sleep 0.3; head -c 3000000 /dev/zero' || failed=1
    spill=$(cat err)
    rm -rf small/*
    fails_with 1 -i in -j 2 --block 1 --journal small/j.db -- head -c 3000000 /dev/zero || failed=1
    journal=$(cat err)
    umount small
    [ -z "${failed:-}" ]
    [[ $spill == "cleave: "*"No space left on device"* ]]
    [ "$journal" = "cleave: small/j.db: cannot write the journal: no space left on the disk" ]
}

@test "as4dr finds out what starting a command costs" {
    prepare
    seq 3000000 >in
    cat in | job -j 2 --policy as4dr --joblog log -- sh -c 'sleep 0.1; cat'
    cmp in out
    # Were it not known, chunks would get smaller and smaller, and be ten times as many.
    [ "$(chunks)" -lt 150 ]
}

# --- journals -------------------------------------------------------------------------------

@test "--resume does nothing again, whatever the workers and sizes" {
    prepare
    seq 2000 >in
    fails_with 1 -i in -j 2 --block 500 --journal j.db -- sh -c 'x=$(cat); echo "$x"; case $x in *1500*) exit 1 ;; esac; echo x >>ran'
    before=$(wc -l <ran)
    [ "$before" -gt 3 ]
    rm ran
    # The command has to be the same.
    cleave 2 run -q -i in --journal j.db --resume -- cat
    [[ $stderr == "cleave: j.db: the journal belongs to another run: expected the command "* ]]
    cleave 2 run -q -i in --journal j.db -- cat
    [[ $stderr == "cleave: j.db: "* ]]
    [ ! -e ran ]
    sed 's/1500/x/' in >in2
    fails_with 1 -i in -j 1 --block 100 --journal j.db --resume -- sh -c 'x=$(cat); echo "$x"; case $x in *1500*) exit 1 ;; esac; echo x >>ran'
    # Only the chunk that had failed was done again, in smaller ones.
    [ "$(wc -l <ran)" -le 5 ]
    [ "$(wc -l <out)" -gt 1900 ]
    job -i in --journal j.db --overwrite -- cat
    cmp in out
}

@test "kill -9 at any moment, then --resume: the same bytes" {
    prepare
    seq 3000 >in
    command=(sh -c 'sleep 0.05; cat; echo x >>ran')
    for pause in 0.02 0.09 0.13 0.17 0.05; do
        in_background -i in -j 3 --block 500 --journal j.db --resume -- "${command[@]}"
        sleep $pause
        kill -9 "$PID" || true # or it has ended
        wait "$PID" 2>/dev/null || true
    done
    job -i in -j 2 --block 2k --journal j.db --resume -- "${command[@]}"
    cmp in out
    before=$(wc -l <ran)
    # Now nothing is left to do, and the output is the same again.
    job -i in -j 1 --journal j.db --resume -- "${command[@]}"
    cmp in out
    [ "$(wc -l <ran)" -eq "$before" ]
}

@test "kill -9 of a run on a pipe, then --resume" {
    prepare
    seq 3000 >in
    in_background -j 2 --block 500 --journal j.db -- sh -c 'sleep 0.05; cat' < <(cat in)
    sleep 0.2
    kill -9 "$PID" || true
    wait "$PID" 2>/dev/null || true
    cat in | job -j 3 --block 700 --journal j.db --resume -- sh -c 'sleep 0.05; cat'
    cmp in out
}

@test "a changed input is noticed and said, a grown one is not done again" {
    prepare
    seq 1000 >in
    command=(sh -c 'cat; echo x >>ran')
    job -i in -j 2 --block 500 --journal j.db -- "${command[@]}"
    rm ran
    seq 1100 >in
    job -i in -j 2 --block 1M --journal j.db --resume -- "${command[@]}"
    cmp in out
    [ ! -s err ]
    [ "$(wc -l <ran)" -le 2 ]
    rm ran
    sed -i '5s/5/6/' in
    job -i in -j 2 --journal j.db --resume --block 1M -- "${command[@]}"
    cmp in out
    grep -q '^cleave: .*bytes 0 to .* have changed since they were done' err
    [ "$(wc -l <ran)" -le 2 ]
}

# --- usage ----------------------------------------------------------------------------------

@test "mistakes are one line each, status 2" {
    prepare
    seq 5 >in
    refuses "expected a command: cleave run -i FILE COMMAND [ARG]..." run -i in
    refuses "no-file: cannot read: No such file or directory" run -i no-file -- cat
    refuses ".: expected a file, got a directory (--recursive: all files below it)" run -i . -- cat
    refuses "--output: cannot write 'no/where': No such file or directory" run -i in -o no/where -- cat
    refuses "--workers: expected 1 to 4096, +N, -N, N%, 0, or names such as 'fast,slow:nice -n 19', got '2x'" run -i in -j 2x -- cat
    refuses "--workers: expected 1 to 4096, +N, -N, N%, 0, or names such as 'fast,slow:nice -n 19', got ''" run -i in -j a,:nice -- cat
    refuses "--workers: expected a list of workers, got nothing" run -i in -j , -- cat
    refuses "--workers: duplicate name 'a'" run -i in -j a,b,a:nice -- cat
    refuses "--workers: expected a name of 1 to 64 bytes without spaces, got ' b'" run -i in -j 'a, b' -- cat
    refuses "--workers: expected a name of 1 to 64 bytes without spaces, got 'a\\x01'" run -i in -j $'a\x01' -- cat
    refuses "--halt: expected never, now,fail=N, soon,fail=N or N%, or success=, done= or later= instead of fail=, got 'later'" run -i in --halt later -- cat
    refuses "--halt: expected never, now,fail=N, soon,fail=N or N%, or success=, done= or later= instead of fail=, got 'now,fail=99999999999999999999'" run -i in --halt now,fail=99999999999999999999 -- cat
    refuses "--progress: expected bar, live, plain, json or none, got 'x'" run -i in --progress=x -- cat
    refuses "--resume and --overwrite need --journal FILE" run -i in --resume -- cat
    refuses "expected --policy or --block, got --policy umr and --block" run -i in --block 1k --policy umr -- cat
    refuses "parameter 'chunk' is given twice" run -i in --block 1k --param chunk=5 -- cat
    cleave 2 run -i in --block 1k --param nonsense=1 -- cat
    [[ $stderr == "cleave: "*"nonsense"* ]]
    cleave 2 run -i in --block 0 -- cat
    [[ $stderr == "cleave: --block: expected a positive amount"*", got '0'" ]]
    cleave 2 run -i in --split lins -- cat
    [[ $stderr == "cleave: "*"'lins'"*"lines"* ]]
    cleave 2 run -i in --split 'regex:(' -- cat
    [[ $stderr == "cleave: "* ]]
    cleave 2 run -i in --split fixed:0 -- cat
    [[ $stderr == "cleave: "* ]]
    cleave 2 run -i in --policy lern -- cat
    [[ $stderr == "cleave: "*"'lern'"*"learn"* ]]
    cleave 2 run -i in --param nonsense=1 -- cat
    [[ $stderr == "cleave: "*"nonsense"* ]]
    cleave 2 run -i in --no-such-option -- cat
    [[ $stderr == "cleave: "*"--no-such-option"* ]]
    [ "${#lines[@]}" -eq 0 ]
}

@test "--progress=plain and --bar say nothing to a pipe in a short run" {
    prepare
    seq 100 >in
    cleave 0 run -q -i in --progress=plain --bar -- cat
    [ "$output" = "$(cat in)" ]
    [[ $stderr != *$'\r'* ]]
}

@test "plans made before take input as it is cut" {
    seq 300000 >"$BATS_TEST_TMPDIR/numbers"
    for port in one duplex multi; do
        cat >"$BATS_TEST_TMPDIR/two.yaml" <<END
port: $port
workers:
  - { name: a, speed: 20 MB/s, bandwidth: 2 GB/s, compute_latency: 3ms }
  - { name: b, speed: 10 MB/s, bandwidth: 2 GB/s, compute_latency: 3ms }
END
        for policy in umr umr-plus one-round rumr factoring; do
            cleave 0 run -q --hosts "$BATS_TEST_TMPDIR/two.yaml" --policy $policy \
                -i "$BATS_TEST_TMPDIR/numbers" -o "$BATS_TEST_TMPDIR/out" -- cat
            cmp "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/numbers"
        done
    done
}
