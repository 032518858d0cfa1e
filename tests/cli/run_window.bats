# run_window.bats -- cleave run --persistent --window. SPDX-License-Identifier: MIT
load helper
load job

setup_file() {
    command -v python3 >/dev/null || skip "python3 is not there"
    cat >"$BATS_FILE_TMPDIR/command.py" <<'END'
"""Holds up to CLEAVE_WINDOW chunks and answers the last one first. The first word is what it does
with a chunk that says "bad"; LOG gets its process and each chunk that it was asked."""
import os, select, signal, sys, time
how, window = sys.argv[1], int(os.environ["CLEAVE_WINDOW"])
log = os.open(os.environ["LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
source, held, number = sys.stdin.buffer.raw, [], 0

def get(length):
    data = b""
    while len(data) < length and (part := source.read(length - len(data))):
        data += part
    return data

def put(kind, number, data=b"", value=None):
    head = bytes([0x80 | kind]) + (number % 65536).to_bytes(2, "big")
    value = len(data) if value is None else value
    sys.stdout.buffer.write(head + value.to_bytes(5, "big") + data)
    sys.stdout.buffer.flush()

def answer_all():
    while held:
        number, chunk = held.pop()
        put(0, number, chunk.upper())

def misbehave(number, chunk):
    if how == "refuse": put(1, number)
    if how == "exit": os._exit(3)
    if how == "kill": os.kill(os.getpid(), signal.SIGKILL)
    if how == "hang": time.sleep(1000)
    if how == "wrong": put(0, number + 1000, chunk)
    if how == "twice": put(0, number, chunk.upper()); put(0, number, chunk.upper())
    if how == "long": put(0, number, b"short", 1000); os._exit(0)
    if how == "text": os.write(1, b"hello, world\n")
    if how == "lose" and not os.path.exists(os.environ["LOG"] + ".lost"):
        open(os.environ["LOG"] + ".lost", "w")
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)
    if how == "lose": held.append((number, chunk))
    if how == "later":
        if os.path.exists(os.environ["LOG"] + ".later"): held.append((number, chunk))
        else: open(os.environ["LOG"] + ".later", "w"); put(2, number, value=50)

while head := get(8):
    chunk = get(int.from_bytes(head, "big"))
    os.write(log, b"%d %s\n" % (os.getpid(), chunk.strip()))
    if b"bad" in chunk:
        answer_all()
        misbehave(number, chunk)
    else:
        held.append((number, chunk))
    number += 1
    if len(held) >= window or not select.select([0], [], [], 0.01)[0]: answer_all()
answer_all()
END
}

# prepare -- a folder for the files of a test: `in` has 61 records, one of which is "bad".
prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export LOG=$BATS_TEST_TMPDIR/log
    { seq -f 'line %.0f' 1 30 && echo bad && seq -f 'line %.0f' 31 60; } >in
    tr a-z A-Z <in >expected
    grep -v BAD expected >others
}

# window STATUS HOW OPTION... -- the run, whose output is in out.
window() {
    local expected=$1 how=$2
    shift 2
    rm -f log log.later
    fails_with "$expected" --persistent --window 4 -N 1 -j 2 -i in "$@" -- \
        python3 "$BATS_FILE_TMPDIR/command.py" "$how"
}

# asked TEXT -- how often it was asked this record.
asked() {
    grep -cE "^[0-9]+ $1\$" log
}

@test "examples in C, Python and sh answer chunks in any order, with and without a window" {
    prepare
    ${CC:-cc} -O1 -o window "$CLEAVE_SOURCE_DIR/examples/window.c"
    for command in ./window "$CLEAVE_SOURCE_DIR/examples/window.py"; do
        for option in "" "--window 1" "--window 7"; do
            job --persistent $option -N 1 -j 2 -i in -- "$command"
            cmp expected out
        done
    done
    command -v flock >/dev/null || skip "flock is not there"
    job --persistent --window 7 -N 1 -j 2 -i in -- "$CLEAVE_SOURCE_DIR/examples/window.sh"
    cmp expected out
}

@test "a command that knows no windows answers in the order of its input" {
    prepare
    job --persistent --window 5 -N 1 -j 2 -i in -- sh -c 'unset CLEAVE_WINDOW; exec "$0"' \
        "$CLEAVE_SOURCE_DIR/examples/window.py"
    job --persistent --window 5 -N 1 -j 2 -i in -- "$CLEAVE_SOURCE_DIR/examples/persistent.py"
    [ "$(cat out)" = "$(yes 1 | head -61)" ]
}

@test "outputs keep the order of the input, and each command holds several chunks" {
    prepare
    seq -f 'line %.0f' 1 600 >in
    tr a-z A-Z <in >expected
    window 0 none
    cmp expected out
    [ "$(wc -l <log)" = 600 ]
    [ "$(cut -d ' ' -f 1 log | sort -u | wc -l)" = 2 ]
    window 0 none --unordered
    sort out | cmp - <(sort expected)
    # Each of 16 commands and more has its own window.
    window 0 none -j 17 --window 8
    cmp expected out
}

@test "chunks of many bytes go both ways" {
    prepare
    for size in 16383 16384 100000 3000000; do
        printf '%*s\n' $size x >>in
    done
    tr a-z A-Z <in | grep -v BAD >others
    window 1 refuse --window 3
    cmp others out
}

@test "a bad record fails alone and is asked once" {
    prepare
    window 1 refuse
    cmp others out
    [ "$(wc -l <log)" = 61 ]
    grep -q "(records 31 to 31): the command said that it failed" err
    window 1 refuse --retries 3
    cmp others out
    [ "$(asked bad)" = 3 ]
    [ "$(wc -l <log)" = 63 ]
}

@test "a command that ends with chunks held fails with the chunk that ends it alone" {
    prepare
    for how in exit kill long text wrong; do
        window 1 $how -j 1
        cmp others out
        [ "$(asked bad)" -le 2 ]
        # Only chunks that were held are asked again: at most the window, once.
        [ "$(wc -l <log)" -le 65 ]
        [ "$(sort log | cut -d ' ' -f 2- | sort | uniq -d | wc -l)" -le 4 ]
        grep -q "(records 31 to 31)" err
    done
    grep -q "while it held [2-4] chunks; each is given again, alone" err
}

@test "a chunk that is answered twice was answered, and the command is started again" {
    prepare
    window 0 twice -j 1
    cmp expected out
    [ "$(asked bad)" -le 2 ]
}

@test "a command that hangs fails with its late chunk only" {
    prepare
    window 1 hang -j 1 --timeout 5
    cmp others out
    [ "$(asked bad)" = 1 ]
    grep -q "(records 31 to 31): the command took longer than 5 s" err
}

@test "an answer 'later' lets the chunk be asked again and is not a failure" {
    prepare
    window 0 later
    cmp expected out
    [ "$(asked bad)" = 2 ]
    [ "$(wc -l <log)" = 62 ]
    grep -q "rests for 0.05 s: the command asked to be run later (its answer)" err
    # Other halves of the pair: no window, an answer without a number.
    cat >later.py <<'END'
import os, sys
source, sink = sys.stdin.buffer, sys.stdout.buffer
while head := source.read(8):
    chunk = source.read(int.from_bytes(head, "big"))
    if chunk == b"bad\n" and not os.path.exists("asked"):
        open("asked", "w")
        sink.write(b"\2" + (20).to_bytes(7, "big"))
    else:
        sink.write(len(chunk).to_bytes(8, "big") + chunk.upper())
    sink.flush()
END
    job --persistent -N 1 -j 2 -i in -- python3 later.py
    cmp expected out
    rm asked
    job --persistent --window 3 -N 1 -j 2 -i in -- python3 later.py
    cmp expected out
}

@test "hosts have windows, too" {
    prepare
    hosts 'name: a, slots: 1' 'name: b, slots: 2, command: env' >h.yaml
    for how in none later; do
        sed -i 's/^bad$/fine/' in
        tr a-z A-Z <in >expected
        job --persistent --window 4 -N 1 -i in --hosts h.yaml --env "LOG=$LOG" -- \
            python3 "$BATS_FILE_TMPDIR/command.py" $how
        cmp expected out
    done
    # Three commands: slots of a host that share one are no more processes.
    [ "$(cut -d ' ' -f 1 log | sort -u | wc -l)" -le 6 ]
    # Fewer records than a command could hold: it ends all the same.
    head -n 2 in >few
    job --persistent --window 4 -N 1 -i few --hosts h.yaml --env "LOG=$LOG" -- \
        python3 "$BATS_FILE_TMPDIR/command.py" none
    cmp <(head -n 2 expected) out
    prepare
    for how in refuse exit; do
        rm -f log
        fails_with 1 --persistent --window 4 -N 1 -i in --hosts h.yaml --env "LOG=$LOG" -- \
            python3 "$BATS_FILE_TMPDIR/command.py" $how
        cmp others out
    done
    rm -f log log.later
    job --persistent --window 4 -N 1 -i in --hosts h.yaml --env "LOG=$LOG" -- \
        python3 "$BATS_FILE_TMPDIR/command.py" later
    cmp expected <(sed 's/FINE/BAD/' out)
    [ "$(asked bad)" = 2 ]
}

@test "hosts named on the command line have windows, and chunks of a lost host go to others" {
    prepare
    # A stand-in for ssh: the host is the first word after the options.
    cat >ssh <<'END'
#!/bin/sh
while :; do case $1 in -o | -p | -l) shift 2 ;; -*) shift ;; *) break ;; esac; done
shift
exec sh -c "$*"
END
    chmod +x ssh
    for hosts in a:2,b a:1,:; do
        touch log.lost
        job --persistent --window 4 -N 1 -i in --hosts "$hosts" --ssh "$PWD/ssh" --remote "$CLEAVE" \
            --env "LOG=$LOG" -- python3 "$BATS_FILE_TMPDIR/command.py" lose
        cmp expected out
    done
    rm -f log log.lost
    job --persistent --window 4 -N 1 -i in --hosts a:2,b:1 --ssh "$PWD/ssh" --remote "$CLEAVE" \
        --env "LOG=$LOG" -- python3 "$BATS_FILE_TMPDIR/command.py" lose
    cmp expected out
    says "lost, its chunks go elsewhere"
    [ "$(asked bad)" = 2 ]
    refuses "host 'a' leads others (--via), which it cannot with --window: leave --via out, so that all are reached from here" \
        run --persistent --window 4 -N 1 -i in --hosts a,b --via a:b --ssh "$PWD/ssh" -- cat
}

@test "after kill -9 at most the window of each command is asked again" {
    prepare
    seq -f 'line %.0f' 1 400 >in
    tr a-z A-Z <in >expected
    "$CLEAVE" run -q --persistent --window 4 -N 1 -j 2 -i in --journal j.db -- \
        python3 "$BATS_FILE_TMPDIR/command.py" none >out 2>err &
    pid=$!
    until [ "$(wc -l <log 2>/dev/null || echo 0)" -ge 60 ]; do sleep 0.02; done
    kill -9 $pid
    wait $pid || true
    # Commands end by themselves; what they were asked is in the log.
    until ! pgrep -f "$BATS_FILE_TMPDIR/command.py none" >/dev/null; do sleep 0.02; done
    job --persistent --window 4 -N 1 -j 2 -i in --journal j.db --resume -- \
        python3 "$BATS_FILE_TMPDIR/command.py" none
    cmp expected out
    [ "$(cut -d ' ' -f 2- log | sort -u | wc -l)" = 400 ]
    [ "$(cut -d ' ' -f 2- log | sort | uniq -d | wc -l)" -le 8 ]
    [ "$(wc -l <log)" -le 408 ]
}

@test "--isolate finds bad records of larger chunks" {
    prepare
    fails_with 1 --persistent --window 4 --block 90 --isolate -j 2 -i in -- \
        python3 "$BATS_FILE_TMPDIR/command.py" refuse
    cmp others out
    grep -q "(records 31 to 31)" err
}

@test "bad options are refused" {
    refuses "--window is for a command that stays: expected --persistent as well" \
        run --window 3 -i examples/jobs.log -- cat
    cleave 2 run --persistent --window 0 -i examples/jobs.log -- cat
    [[ $stderr == *"--window"*"1"* ]]
    cleave 2 run --persistent --window 2000 -i examples/jobs.log -- cat
    [[ $stderr == *"--window"*"1024"* ]]
    cleave 2 run --persistent --window 2 --backups on -i examples/jobs.log -- cat
    [[ $stderr == *"--window: cannot be combined with --backups"* ]]
    cleave 2 run --persistent --window 2 --framed -- cat
    cleave 2 run -q --persistent --window 2 -i examples/jobs.log -- sh -c 'echo hello, world'
    [[ $stderr == *"expected the length of an answer, got 'hello, w'"* ]]
}
