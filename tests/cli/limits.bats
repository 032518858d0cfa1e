# limits.bats -- --limit for the records of an input (docs/guide/endpoints.md). SPDX-License-Identifier: MIT
load helper
load job

# A command for a chunk of records "KEY<tab>ID<tab>GROUP" that notes when it begins and ends and with which keys, and
# the same for a window, in which chunks end in another order.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    cat >service <<'END_OF_SERVICE'
#!/bin/sh
part=$T/part.$$
cat >"$part"
keys=$(cut -f 1 "$part" | sort -u | tr '\n' ' ')
echo "begin $keys" >>"$T/log"
sleep "${PAUSE:-0.01}"
echo "end $keys" >>"$T/log"
if [ -n "${ONCE:-}" ] && mkdir "$T/seen.$(cksum <"$part" | tr ' ' .)" 2>/dev/null; then
    [ "$ONCE" != 75 ] || echo "Retry-After: 0.01" >&2
    exit "$ONCE"
fi
cat "$part"
END_OF_SERVICE
    cat >window.py <<'END_OF_WINDOW'
#!/usr/bin/env python3
import os, random, sys, threading, time
window, lock = int(os.environ.get("CLEAVE_WINDOW", 0)), threading.Lock()
log = os.open(os.environ["T"] + "/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def work(number, chunk):
    keys = b" ".join(sorted({line.split(b"\t")[0] for line in chunk.splitlines()}))
    os.write(log, b"begin " + keys + b"\n")
    time.sleep(0.02 * random.random())
    os.write(log, b"end " + keys + b"\n")
    head = (0x80 << 56 | number % 65536 << 40 if window else 0) | len(chunk)
    with lock:
        sys.stdout.buffer.write(head.to_bytes(8, "big") + chunk)
        sys.stdout.buffer.flush()

number, chunks = 0, sys.stdin.buffer
while head := chunks.read(8):
    chunk = chunks.read(int.from_bytes(head, "big"))
    if window:
        threading.Thread(target=work, args=(number, chunk)).start()
    else:
        work(number, chunk)
    number += 1
END_OF_WINDOW
    chmod +x service window.py
    export T
}

# draw SEED -- random records in `in`: 20 to 150 of them, with 1 to 12 keys, sorted or not.
draw() {
    awk -v seed="$1" 'BEGIN {
        srand(seed); n = 20 + int(130 * rand()); keys = 1 + int(12 * rand()); run = rand() < 0.5 ? 1 : 7
        for (i = 0; i < n; i++) { if (i % run == 0) k = int(keys * rand() * rand()); print "k" k "\t" i "\t" int(i / 4) }
    }' >in
    rm -rf log seen.* j.db
}

# kept K -- no key was in more than K commands at a time, and `most` is the largest number of them.
kept() {
    awk -v k="$1" '{ for (i = 2; i <= NF; i++) { n[$i] += $1 == "begin" ? 1 : -1; if (n[$i] > most) most = n[$i] } }
        END { print most; exit most > k }' log >most
}

@test "a chunk starts only if each of its keys is in fewer than K others" {
    prepare
    hosts 'name: a, slots: 8' 'name: b, slots: 8' >h.yaml
    local how k=1 seed=0
    for how in '-j 16' '-j 16 -N 1' '-j 16 -N 3' '-j 16 --block 5 --backups on' '-j 16 --unordered' '-j 16 --weight 2 --weight-default 1' \
        '-j 16 --journal j.db' '-j 16 --policy factoring' '-j 16 --policy one-round' '-j 16 --together 3' '--hosts h.yaml' \
        '--hosts h.yaml -N 1' '-j 16@1000/s' '-j 16 --limit 2=1'; do
        draw $((seed += 1))
        # shellcheck disable=SC2086
        PAUSE=0.01 job -i in --limit 1=$k $how -- ./service
        [ "$(LC_ALL=C sort in)" = "$(LC_ALL=C sort out)" ]
        [[ $how = *unordered* ]] || cmp in out
        kept $k
        k=$((k % 3 + 1))
    done
}

@test "a stream and persistent commands keep limits, with and without windows" {
    prepare
    hosts 'name: a, slots: 2' 'name: b, slots: 2' >h.yaml
    local how k=1 seed=20
    for how in '-j 16' '-j 4 --window 4 -N 1' '-j 4 --window 4' '--hosts h.yaml' '--hosts h.yaml --window 4 -N 2'; do
        draw $((seed += 1))
        # shellcheck disable=SC2086
        job -i in --persistent --limit 1=$k $how -- ./window.py
        cmp in out
        kept $k
        rm log
        # shellcheck disable=SC2086
        job -i - --persistent --limit 1=$k $how -- ./window.py < <(cat in)
        cmp in out
        kept $k
        k=$((k % 3 + 1))
    done
}

@test "later records overtake those whose key is in use, and a free key is used" {
    prepare
    { for i in $(seq 20); do echo "x	$i"; done; echo "y	21"; } >in
    PAUSE=0.05 job -i in -N 1 -j 4 --limit 1=2 -- ./service
    cmp in out
    kept 2
    [ "$(cat most)" -eq 2 ]
    head -n 6 log | grep -q y
}

@test "a group waits for the keys of all its records" {
    prepare
    for i in $(seq 20); do printf 'k%d\tx\t%d\na\ty\t%d\n' "$i" "$i" "$i"; done >in
    job -i in --together 3 --block 1 -j 4 --limit 1=1 -- ./service
    cmp in out
    kept 1
}

@test "chunks that are tried again, and those of a run that is resumed, keep limits" {
    prepare
    draw 31
    ONCE=1 job -i in --limit 1=2 --retries 2 -j 16 -- ./service
    cmp in out
    kept 2
    draw 32
    ONCE=75 job -i in --limit 1=2 -N 1 -j 16 -- ./service
    cmp in out
    kept 2
    draw 33
    ONCE=1 fails_with 1 -i in --limit 1=1 -N 2 -j 16 --journal j.db -- ./service
    job -i in --limit 1=1 -N 2 -j 16 --journal j.db --resume -- ./service
    cmp in out
    kept 1
}

@test "keys are fields of JSON, columns, and names of csv" {
    prepare
    for i in 1 2 3 4 5 6 7 8; do echo "{\"h\": {\"n\": \"a$((i % 2))\"}, \"i\": $i}"; done >j.jsonl
    { echo host,id; for i in 1 2 3 4 5 6; do echo "a$((i % 2)),$i"; done; } >c.csv
    job -i j.jsonl -j 4 -N 1 --limit .h.n=1 -- cat
    cmp j.jsonl out
    job -i c.csv -j 4 --limit host=1 -- cat
    cmp c.csv out
    refuses "c.csv: --limit: no column 'port' in the header" run -q -i c.csv --limit port=1 -- cat
    refuses "j.jsonl: record 1: expected a key in .n for --limit, got none" run -q -i j.jsonl --limit .n=1 -- cat
    refuses "--limit: expected a key such as .host of JSON, column 2, or a name in csv, got 'n'" \
        run -q -i j.jsonl --limit n=1 -- cat
    local limit
    for limit in .h .h=0 .h=x =2; do
        refuses "--limit: expected KEY=K such as 'host=2' or '1=3', got '$limit'" run -i j.jsonl --limit $limit -- cat
    done
    refuses "with --limit a chunk ends where a key is in use: expected --records or --block, got both" \
        run -i j.jsonl --limit .i=1 -N 2 --block 3 -- cat
    refuses "--limit: expected files or a pipe, as --fetch does not know the records" \
        run -i j.jsonl --limit .i=1 --fetch cat -- cat
    refuses "host 'a' leads others (--via), which it cannot with --limit: leave --via out, so that all are reached from here" \
        run -i j.jsonl --limit .i=1 --hosts a,b --via a:b -- cat
}
