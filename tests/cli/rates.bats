# rates.bats -- rests of workers, rates and limits (docs/guide/rates.md). SPDX-License-Identifier: MIT
load helper
load job

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
}

# once -- a script: the first start with an argument asks to be run later, the next one prints it.
once() {
    cat >later.sh <<'END'
#!/bin/sh
if mkdir "seen.$1" 2>/dev/null; then
    echo "Retry-After: 0.01" >&2
    exit 75
fi
echo "done $1"
END
    chmod +x later.sh
}

# --- later -------------------------------------------------------------------------------------

@test "status 75 of items is neither a failure nor a retry, here and on hosts" {
    prepare
    once
    hosts 'name: a, slots: 2' 'name: b' >h.yaml
    local how
    for how in '-j 1' '-j 3' '-j 3 --retries 1' '--hosts h.yaml' '-j 2 --group' '-j 3 --policy items-list'; do
        rm -rf seen.*
        # shellcheck disable=SC2086
        run --separate-stderr timeout "$LONG" "$CLEAVE" run $how --json -o out -- ./later.sh {} ::: 1 2 3 4 5
        [ "$status" -eq 0 ]
        [ "$(sort out)" = "$(printf 'done %d\n' 1 2 3 4 5)" ]
        has '"later": 5'
        has '"retries": 0'
        has '"failed_chunks": 0'
    done
}

@test "status 75 of chunks is neither a failure nor a retry, here and on hosts" {
    prepare
    seq 1 20000 >in
    cat >later.sh <<'END'
#!/bin/sh
cat >part.$$
if mkdir "seen.$(head -c 20 part.$$ | cksum | tr ' ' .)" 2>/dev/null; then
    echo "Retry-After: 0.01" >&2
    exit 75
fi
cat part.$$
END
    chmod +x later.sh
    hosts 'name: a, slots: 2' 'name: b' >h.yaml
    local how
    for how in '-j 1' '-j 3' '--hosts h.yaml' '-j 3 --block 5k' '-j 3 --policy self --block 5k' '-j 2 --unordered'; do
        rm -rf seen.*
        # shellcheck disable=SC2086
        run --separate-stderr timeout "$LONG" "$CLEAVE" run $how --json -i in -o out -- ./later.sh
        [ "$status" -eq 0 ]
        sort -n out | cmp in
        [[ $output =~ '"later": '[1-9] ]]
        has '"failed_chunks": 0'
    done
}

@test "a worker without a rest does the work of a resting worker" {
    prepare
    # shellcheck disable=SC2016
    cleave 0 run --json -o out -j 'a,b' -- sh -c '[ "$CLEAVE_WORKER" = a ] && exit 75; echo {}' ::: 1 2 3 4 5 6
    [ "$(xargs <out)" = "1 2 3 4 5 6" ]
    [[ $output =~ '"name": "a", "chunks": 0, "units": 0, "failed": 0, "rests": 0, "later": '[1-9] ]]
    [[ $output =~ '"name": "b", "chunks": 6' ]]
}

@test "a worker that has rested gets other records while its own runs elsewhere" {
    prepare
    # The first record asks to be run later once, then it ends when all others have ended.
    cat >command <<'END'
#!/bin/sh
read -r x
if [ "$x" = 1 ] && ! mkdir asked 2>/dev/null; then
    until [ "$(ls done | wc -l)" -eq 7 ]; do sleep 0.05; done
elif [ "$x" = 1 ]; then
    echo "Retry-After: 0.01" >&2
    exit 75
fi
touch "done/$x"
echo "$x"
END
    chmod +x command
    seq 8 >in
    local how
    for how in '-N 1' '-N 1 --weight 1' '-L 1 --policy learn --param most=1'; do
        rm -rf asked done
        mkdir done
        job -i in $how -j 2 -- ./command
        cmp in out
    done
}

@test "a trace shows the rest of a worker" {
    prepare
    once
    job -j 1 --trace trace.jsonl -- ./later.sh {} ::: 1
    grep -q '"event":"came","worker":"w0","start":0.*"end":' trace.jsonl
    timeout "$LONG" "$CLEAVE" report trace.jsonl >report.txt
}

@test "--later names other statuses or none, and --ok wins" {
    prepare
    fails_with 1 -j 1 --later none -- sh -c 'exit 75' {} ::: 1
    job -j 1 --ok 0,75 -- sh -c 'echo {}; [ {} = 2 ] || exit 75' ::: 1 2
    [ "$(xargs <out)" = "1 2" ]
    job -j 1 --later 9 -- sh -c 'mkdir seen && exit 9; echo {}' ::: 1
    [ "$(cat out)" = 1 ]
    fails_with 1 -j 1 --later 9 -- sh -c 'exit 75' {} ::: 1
    refuses "--later: expected exit statuses from 0 to 255, as '0,1' or '0-3', got 'often'" \
        run --later often -- cat
    refuses "--later: status 0 is success; expected others, as '75', or none" run --later 0-9 -- cat
}

# --- rates -------------------------------------------------------------------------------------

# most PERIOD LOG [WORKER] -- the most starts of a job log in any window. Times in a job log are cut
# to milliseconds, two of which can be 1 ms nearer to each other than the starts.
most() {
    tail -n +2 "$2" | awk -v worker="${3:-}" 'index($2, worker) == 1 { print $3 }' | sort -n |
        awk -v period="$1" '{ at[NR] = $1 } END {
            for (i = 1; i <= NR; i++) {
                for (k = i; k <= NR && at[k] - at[i] < period - 0.0015; k++) continue
                if (k - i > most) most = k - i
            }
            print most + 0 }'
}

@test "no window of a rate has more starts than the rate, by the clock of the commands too" {
    prepare
    seq 1 24 >list
    # shellcheck disable=SC2016
    job -a list -j 'a*3@4/500ms:env A=1,b' --joblog log -- sh -c 'date +%s.%N >at.{}; sleep 0.02; echo {}'
    cmp list out
    [ "$(most 0.5 log a)" -le 4 ]
    [ "$(tail -n +2 log | cut -f 2 | grep -c '^a')" -ge 4 ]
    # A command runs after its start: later than the start four places before, and the period.
    tail -n +2 log | awk '$2 ~ /^a/ { print $3, $1 }' | sort -n >starts
    awk '{ if ((getline line < ("at." $2)) != 1) exit 1; at[NR] = $1
           if (NR > 4 && line < at[NR - 4] + 0.4985) { print "too early: " $0; exit 1 } }' starts
}

@test "weights of items that start in a window are at most the rate" {
    prepare
    seq 1 40 | awk '{ print $1 "\t" 1 + ($1 * 7) % 13 }' >list
    job -a list -j '3@60w/400ms' --colsep '\t' --weight 2 --joblog log -- echo {1} {2}
    tr '\t' ' ' <list | cmp - out
    tail -n +2 log | awk '{ print $3, 1 + ($1 * 7) % 13 }' | sort -n | awk '{ at[NR] = $1; weight[NR] = $2 } END {
        for (i = 1; i <= NR; i++) {
            sum = 0
            for (k = i; k <= NR && at[k] - at[i] < 0.3985; k++) sum += weight[k]
            if (sum > 60) { print sum; exit 1 }
        } }'
    run --separate-stderr timeout "$LONG" "$CLEAVE" run -j '3@10w/s' -a list --colsep '\t' --weight 2 -- echo
    [ "$status" -eq 2 ]
    [ "$stderr" = "cleave: --workers: expected at least 11 in 1 s, which item 7 weighs, got 10" ]
    # All items weigh the same.
    job -j '2@8w/100ms' --colsep , --weight 2 -- echo {1} ::: a,4 b,4 c,4 d,4 e,4
    [ "$(xargs <out)" = "a b c d e" ]
}

@test "a worker without a rate does the items that a rate delays" {
    prepare
    seq 1 12 >list
    local how
    for how in '' '--policy items-list' '--many' '--backups on'; do
        # shellcheck disable=SC2086
        job -a list -j 'slow*2@1/h,quick' $how --joblog log -- echo {}
        cmp list <(xargs -n 1 <out)
        [ "$(most 3600 log slow)" -le 1 ]
    done
}

@test "more workers than a rate has starts take turns" {
    prepare
    local i how
    for i in 1 2 3 4 5 6 7 8; do echo "$i $((i * 3))"; done >list
    for how in '-j 10@2/100ms' '-j 10@2/100ms --weight 2' '-j 10@30w/100ms --weight 2' '-j a*6@2/100ms,b --weight 2'; do
        # shellcheck disable=SC2086
        job -a list --colsep ' ' $how -- echo {1} {2}
        cmp list out
    done
}

@test "a rate counts the records of chunks, in files and pipes" {
    prepare
    seq 1 40 >in
    # A chunk is a record.
    job -i in -N 1 -j 'a*2@10/400ms' --joblog log -- cat
    cmp in out
    [ "$(most 0.4 log)" -le 10 ]
    # A chunk has several: the output is their number, the log the time when it began.
    local how
    for how in "" "--block 3" "--policy self" "--unordered"; do
        # shellcheck disable=SC2086
        job -i in -j 1@10/200ms $how --joblog log -- wc -l
        [ "$(awk '{ n += $1 } $1 > 10 { exit 1 } END { print n }' out)" = 40 ]
        tail -n +2 log | cut -f 3 | paste - out | awk '{ at[NR] = $1; records[NR] = $2 } END {
            for (i = 1; i <= NR; i++) {
                sum = 0
                for (k = i; k <= NR && at[k] - at[i] < 0.1985; k++) sum += records[k]
                if (sum > 10) { print sum; exit 1 }
            } }'
    done
    { head -n 5 in; sleep 0.1; tail -n +6 in; } | job -j 'a*2@15/100ms,b@20/100ms' -- cat
    cmp in out
    { echo n; cat in; } | job --header --split csv --header-out -j 3@8/50ms -- cat
    { echo n; cat in; } | cmp - out
    job -i in -j 'a*2@15/100ms,b' --retries 3 -- 'mkdir once 2>/dev/null && exit 1; cat'
    cmp in out
}

@test "a rate counts the weights of records" {
    prepare
    seq 1 40 | awk '{ print $1 "\t" 1 + ($1 * 7) % 13 }' >in
    # A chunk is a record: the output has its number in the log and its weight.
    # shellcheck disable=SC2016
    job -i in --split lines --weight 2 --block 1 -j 3@60w/300ms --joblog log -- 'read -r id weight; echo "$CLEAVE_CHUNK $weight"'
    [ "$(cut -d ' ' -f 2 out)" = "$(cut -f 2 in)" ]
    tail -n +2 log | awk '{ print $1, $3 }' | sort | join - <(sort out) | sort -n -k 2 | cut -d ' ' -f 2- | awk '{ at[NR] = $1; weight[NR] = $2 } END {
        for (i = 1; i <= NR; i++) {
            sum = 0
            for (k = i; k <= NR && at[k] - at[i] < 0.2985; k++) sum += weight[k]
            if (sum > 60) { print sum; exit 1 }
        } }'
    job -i in --split lines --weight 2 -j '2@100w/100ms' --unordered -- cat
    sort -n out | cmp in -
    # The rate counts records, and --weight their size.
    job -i in --split lines --weight 2 -j 'a*2@15/100ms' -- cat
    cmp in out
    job -j 2@20w/100ms --split lines --weight 2 -- cat <in
    cmp in out
    fails_with 2 -i in --split lines --weight 2 -j 3@10w/s -- cat
    says "--workers: expected at least 13 in 1 s, which a record takes, got 10"
    fails_with 2 -i in -N 8 -j 3@5/s -- cat
    says "--workers: expected at least 8 in 1 s, which a chunk takes, got 5"
}

@test "a rate counts the records of persistent commands and windows" {
    prepare
    command -v python3 >/dev/null || skip "python3 is not there"
    seq -f 'line %.0f' 1 40 >in
    tr a-z A-Z <in >upper
    local how
    for how in "-j a*2@10/300ms" "--window 4 -j a*2@10/300ms" "--window 16 -j a@10/300ms,b@5/100ms"; do
        # shellcheck disable=SC2086
        job --persistent -N 1 $how -i in --joblog log -- "$CLEAVE_SOURCE_DIR/examples/window.py"
        cmp upper out
        [ "$(most 0.3 log a)" -le 10 ]
    done
    job --persistent --window 4 -j 2@20/100ms -i in -- "$CLEAVE_SOURCE_DIR/examples/window.py"
    cmp upper out
    # Commands that load for longer than the period find one record each, not all that the rate
    # has allowed meanwhile.
    cat >loads.py <<'END'
import os, sys, time
time.sleep(1)
log = os.open("reads", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while head := sys.stdin.buffer.read(8):
    chunk = sys.stdin.buffer.read(int.from_bytes(head, "big"))
    os.write(log, b"%f\n" % time.time())
    sys.stdout.buffer.write(head + chunk)
    sys.stdout.buffer.flush()
END
    job --persistent --window 16 -N 1 -j 2@5/300ms -i in --joblog loads.log -- python3 loads.py
    cmp in out
    [ "$(wc -l <reads)" = 40 ]
    # Times in a job log are cut to milliseconds.
    tail -n +2 loads.log | cut -f 3 |
        awk -v first="$(sort -n reads | head -n 1)" '$1 < first - 0.002 { found++ } END { exit found < 1 || found > 2 }'
}

@test "a platform file has rates of workers here and on hosts" {
    prepare
    seq 1 40 >in
    printf '%s\n' 'port: multi' 'workers:' '  - {name: a, slots: 2, speed: 1e6, bandwidth: 1e8, rate: 10/400ms}' \
        '  - {name: b, count: 2, speed: 1e6, bandwidth: 1e8, rate: "@10/400ms"}' >h.yaml
    fails_with 2 --hosts h.yaml -i in -- cat
    says "cleave: h.yaml: worker 'b': expected a rate such as 60/min or 9000w/h, got '@10/400ms'"
    sed -i 's/"@\(.*\)"/\1/' h.yaml
    local how
    for how in "-i in -N 1" "-a in"; do
        # shellcheck disable=SC2086
        job --hosts h.yaml $how --joblog log -- $([[ $how = *-a* ]] && echo echo || echo cat)
        cmp in out
        [ "$(most 0.4 log a)" -le 10 ]
        [ "$(most 0.4 log b)" -le 10 ]
    done
    job --hosts h.yaml -i in -- cat
    cmp in out
}

@test "a command that always asks for a pause ends the run with --halt later" {
    prepare
    seq 1 9 >in
    local how
    for how in "-j 2" "-i in -N 1 -j 2" "-j 2@100/s"; do
        # shellcheck disable=SC2086
        run --separate-stderr timeout "$LONG" "$CLEAVE" run $how --halt soon,later=5 -- \
            sh -c 'echo "Retry-After: 0.01" >&2; exit 75' $([[ $how = *-i* ]] || echo ::: 1 2 3)
        [ "$status" -eq 1 ]
        [[ $stderr = *"cleave: halted: "[56]" commands in a row asked to be run later"* ]]
    done
    # A success in between begins the count again.
    once
    job -j 1 --halt now,later=2 -- ./later.sh {} ::: 1 2 3 4
    [ "$(xargs <out)" = "done 1 done 2 done 3 done 4" ]
    refuses "--halt: expected never, now,fail=N, soon,fail=N or N%, or success=, done= or later= instead of fail=, got 'now,later=5%'" \
        run --halt now,later=5% -- cat
}

@test "a rate, later and a worker that is slow for a while" {
    prepare
    seq 1 100 >list
    cat >service <<'END'
#!/bin/sh
# One of twenty requests is refused; worker b.0 stands still for its first item.
if [ $(($1 % 20)) -eq 7 ] && mkdir "seen.$1" 2>/dev/null; then
    echo "Retry-After: 0.05" >&2
    exit 75
fi
[ "$CLEAVE_WORKER" = b.0 ] && mkdir stood 2>/dev/null && sleep 0.5
echo "$1"
END
    chmod +x service
    run --separate-stderr timeout "$LONG" "$CLEAVE" run --json -a list -j 'a*2@20/500ms,b*2@10/500ms' --joblog log -o out -- ./service {}
    [ "$status" -eq 0 ]
    cmp list out
    has '"later": 5'
    has '"retries": 0'
    [ "$(most 0.5 log a)" -le 20 ]
    [ "$(most 0.5 log b)" -le 10 ]
}

@test "the summary of a run with rates has the bound and the limit of the time" {
    prepare
    cleave 0 run --json -o out -j 4@4/500ms -- echo {} ::: 1 2 3 4 5 6 7 8 9
    [[ $output =~ '"bound_s": '[1-9].*'"unlimited_s": '[0-9].*'"limited_by": "'(rates|workers|tail|waiting|one\ worker)'"' ]]
    cleave 0 run -o out -j 4@4/500ms -- echo {} ::: 1 2 3 4 5 6 7 8 9
    [[ $stderr =~ '; at least '[1-9][.][0-9]+' s, limited by ' ]]
    cleave 0 run --summary -o out -j 4@4/500ms -- echo {} ::: 1 2 3 4 5 6 7 8 9
    [[ $stderr =~ ' times the bound, '[1-9][.0-9]*' s: ' ]]
    cleave 0 run --json -o out -j 4 -- echo {} ::: 1 2 3
    has '"limited_by": null'
}

@test "rates that cannot be are refused in one line" {
    prepare
    local rate
    for rate in '@' '@0/min' '@60/fortnight' '@-1/s' '@nan/s' '@5' '@5/' '@/s' '@w/s' '@5x/s' '@5/0s' '@5/-1s' '@1e999/s' '@60/min@2/s'; do
        refuses "--workers: expected a rate such as '@60/min', '@5/10s' or '@9000w/h', got '$rate'" \
            run -j "a*2$rate" -- echo {} ::: 1
    done
    refuses "--workers: expected a rate such as '@60/min', '@5/10s' or '@9000w/h', got '@2'" run -j 4@2 -- echo {} ::: 1
    refuses "--workers: '@0.5/s' allows no start at all; expected a longer period, such as '@1/10s'" \
        run -j 4@0.5/s -- echo {} ::: 1
    refuses "--workers: expected 1 to 4096, +N, -N, N%, 0, or names such as 'fast,slow:nice -n 19', got '60/min'" \
        run -j 60/min -- echo {} ::: 1
    refuses "--workers: expected 1 to 4096, +N, -N, N%, 0, or names such as 'fast,slow:nice -n 19', got ''" \
        run -j @60/min -- echo {} ::: 1
    refuses "--workers: a rate counts records, which --fetch does not know; expected files or a pipe" \
        run -j 2@60/min -i x --fetch 'cat {}' --size 3 -- cat
    refuses "--workers: with hosts a rate belongs to a host, as in --hosts 'a:4@60/min', got '2@60/min'" \
        run --hosts a,b -j 2@60/min -- cat
    refuses "--workers: 'w' in a rate counts weights; expected --weight COLUMN or --weight COMMAND" \
        run -j 2@60w/min -- echo {} ::: 1
}

@test "simulate items --rates keeps the rate and counts it in the bound" {
    prepare
    printf '%s\n' 'port: multi' 'workers:' '  - {name: a, count: 4, speed: 100, bandwidth: 1e9}' \
        '  - {name: b, count: 2, speed: 10, bandwidth: 1e9}' >p.yaml
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo 1; done >sizes
    cleave 0 simulate items --platform p.yaml --sizes sizes --rates 'a@5/s,b@1/s' --param trust=0 --trace t.jsonl
    has 'bound     3.0000 s (rates)'
    has 'makespan  3.0100 s'
    # Starts on a: at most five in a second.
    sed -n 's/.*"done","worker":"a.*"start":\([0-9.e-]*\),.*/\1/p' t.jsonl | sort -g | awk '{ at[NR] = $1 } END {
        for (i = 6; i <= NR; i++) if (at[i] - at[i - 5] < 1 - 1e-6) { print at[i]; exit 1 } }'
    # The costs of workers are not known at first.
    cleave 0 simulate items --platform "$CLEAVE_SOURCE_DIR/examples/equal.yaml" --costs "$CLEAVE_SOURCE_DIR/examples/jobs.log" \
        --rates '*@2/min' --param trust=0
    cleave 0 simulate items --platform p.yaml --sizes sizes --rates '*@5w/s' --policy items-list --stalls 60s,1s --runs 3
    has 'bound     3.0000 s (rates)'
    local rate
    for rate in a a@ a@0/s a@0.5/s @ a@5/fortnight; do
        refuses "--rates: expected NAME@N/TIME such as 'api@60/min', got '$rate'" \
            simulate items --platform p.yaml --sizes sizes --rates "$rate"
    done
    refuses "--rates: no worker without a rate is called 'c'" simulate items --platform p.yaml --sizes sizes --rates c@5/s
    refuses "--rates: no worker without a rate is called 'a'" simulate items --platform p.yaml --sizes sizes --rates 'a@5/s,a@6/s'
    refuses "expected at least 1 in 1 s, the size of item 1, got 0.5" \
        simulate items --platform p.yaml --sizes sizes --rates a@0.5w/s
}

# --- limits of keys ----------------------------------------------------------------------------

# A list of 8 items for x, 4 for y and 1 for z, and a command that counts those of its key.
keyed() {
    prepare
    { echo host,id; for i in 1 2 3 4 5 6 7 8; do echo "x,$i"; done; for i in 9 10 11 12; do echo "y,$i"; done; echo z,13; } >list
    tail -n +2 list | tr , ' ' >expected
    cat >service <<'END'
#!/bin/sh
# Take one of two places of the key; note a third command.
if mkdir "place.$1.1" 2>/dev/null; then place=1; elif mkdir "place.$1.2" 2>/dev/null; then place=2; else echo "$1" >>over; exit 1; fi
sleep 0.03
echo "$1 $place" >>taken
rmdir "place.$1.$place"
if [ -n "${3:-}" ] && mkdir "seen.$2" 2>/dev/null; then exit "$3"; fi
echo "$1 $2"
END
    chmod +x service
}

@test "--limit runs K items of a key at a time, others overtake them, and the order is kept" {
    keyed
    hosts 'name: a, slots: 3' 'name: b, slots: 3' >h.yaml
    local how
    for how in '-j 6' '-j 6 --weight 2' '-j 6 --policy items-list' '-j 6@1000/s' '-j 6 --backups on' '--hosts h.yaml' \
        '-j 6 --journal j.db' '-j 6 --limit id=1'; do
        rm -rf over taken place.*
        # shellcheck disable=SC2086
        job --header : --colsep , -a list --limit host=2 $how -- "$PWD/service" {1} {2}
        cmp expected out
        [ ! -e over ]
        grep -q 'x 2' taken
    done
}

@test "items that are tried again keep their --limit" {
    keyed
    local how
    for how in '1 --retries 3' '75 --later 75' '75 --retries 1'; do
        rm -rf over taken place.* seen.*
        # shellcheck disable=SC2086
        set -- $how
        job --header : --colsep , -a list --limit 1=2 -j 6 "${@:2}" -- \
            sh -c "./service {1} {2} $1 || { s=\$?; sleep 0.01; [ \$s != 75 ] || echo 'Retry-After: 0.02' >&2; exit \$s; }"
        cmp expected out
        [ ! -e over ]
    done
}

@test "limits that cannot be are refused in one line" {
    keyed
    local limit
    for limit in host host=0 host=x host=-1 host=2= 1=99999999999 =; do
        refuses "--limit: expected KEY=K such as 'host=2' or '1=3', got '$limit'" \
            run --header : --colsep , -a list --limit "$limit" -- echo
    done
    refuses "--limit: expected COLUMN=K, .FIELD=K or NAME=K, with the names of --header :, got 'port=2'" \
        run --header : --colsep , -a list --limit port=2 -- echo
    refuses "--limit: item 1 has no column 3; --colsep sets the separator" \
        run --header : --colsep , -a list --limit 3=2 -- echo
    refuses "--limit: a command gets several items, which may have several keys; expected -n 1" \
        run --limit 1=2 -n 2 -- echo ::: a b
    refuses "--limit: item 2: expected a JSON object with .h, got '{}'" run --limit .h=2 -- echo ::: '{"h": 1}' '{}'
}
