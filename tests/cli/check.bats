# cleave check. SPDX-License-Identifier: MIT
load helper

prepare() {
    cd "$BATS_TEST_TMPDIR"
    mkdir tmp
    export TMPDIR=$PWD/tmp
    awk 'BEGIN { for (i = 1; i <= 3000; i++) print (i * 7919) % 3001, "w" (i % 13) }' >n
}

# verdict STATUS EXPECTED WORD... -- the verdict of `cleave check -i n -- WORD...`; no file is left.
verdict() {
    local status=$1 expected=$2
    shift 2
    cleave "$status" check -i n -- "$@"
    [ "$output" = "$expected" ] || {
        echo "$*: expected '$expected', got '$output'"
        echo "$stderr"
        return 1
    }
    [ -z "$(ls -A tmp)" ]
}

@test "commands for each record can run on pieces" {
    prepare
    verdict 0 records cat
    verdict 0 records tr 0-9 a-j
    verdict 0 records awk '{ print $2 }'
    verdict 0 records grep 77
    verdict 0 records sh -c 'sort /dev/null; sed s/w/v/'
}

@test "the reduction that makes one result is named" {
    prepare
    verdict 0 "reduce sum" wc
    verdict 0 "reduce sum" awk '{ s += $1 } END { print s }'
    verdict 0 "reduce sum" awk '{ s += $1 } END { printf "%d", s }'
    verdict 0 "reduce sum" grep -c 7
    verdict 0 "reduce max" awk '$1 > m { m = $1 } END { print m }'
    verdict 0 "reduce min" sh -c 'sort -n | head -n 1'
    verdict 0 "reduce first" awk 'NR == 1'
    verdict 0 "reduce last" tail -n 1
    verdict 0 "reduce head:10" head
    verdict 0 "reduce tail:3" sh -c 'tail -n 3'
    verdict 0 "reduce uniq" uniq
    verdict 0 "reduce counts" sh -c 'sort | uniq -c'
    verdict 0 "reduce sort:-k2 -n" sort -k2 -n
    verdict 0 "reduce sort:-r" sh -c 'sort -r'
    # What it says can be pasted.
    cleave 0 check -i n -- wc -w
    [[ $stderr == *"cleave: to run it: cleave run -i n --reduce sum -- wc -w" ]]
    [ "$("$CLEAVE" run -q -i n --block 1k --reduce sum -- wc -w)" = 6000 ]
}

@test "a sorted sample gives the same verdict" {
    prepare
    seq 3000 >n
    verdict 0 "reduce first" awk 'NR == 1'
    verdict 0 "reduce max" awk '$1 > m { m = $1 } END { print m }'
    verdict 0 "reduce uniq" uniq
    verdict 1 no awk '!seen[$0]++'
}

@test "the smallest example of a difference is shown" {
    prepare
    seq 3000 >n
    verdict 1 no cat -n
    [[ $stderr == *"cleave: records 1 to 2: together '     1\\t1\\n     2\\t2\\n', one after the other '     1\\t1\\n     1\\t2\\n'" ]]
    verdict 1 no sed 1d
    verdict 1 no tac
    verdict 1 no md5sum
    verdict 1 no awk 'NR % 7 == 0'
    [[ $stderr == *"cleave: records "*" together '7\\n', one after the other ''" ]]
    verdict 1 no sh -c 'awk "{ n++ } END { if (n > 500) print n }"'
    [[ $stderr == *" to 501: together '501\\n', one after the other ''" ]]
    verdict 1 no awk '!seen[$0]++'
    [[ $stderr == *"cleave: records 1501, then 1501: together '1501\\n', one after the other '1501\\n1501\\n'" ]]
    # A command that fails on a piece.
    verdict 1 no sh -c 'cat >all; [ $(wc -l <all) -gt 40 ] || exit 3; cat all'
    [[ $stderr == *"one after the other the command exited with status 3" ]]
    verdict 1 no sh -c 'cat; date +%N'
    [[ $stderr == *"cleave: the command writes something else when it runs again on the same input" ]]
}

@test "inputs are cut as by cleave run" {
    prepare
    awk 'BEGIN { for (i = 0; i < 60; i++) printf "@r%d\nACGT\n+\nIIII\n", i }' >r.fastq
    cleave 0 check -i r.fastq --split fastq -- awk 'NR % 4 == 2'
    [ "$output" = records ]
    cleave 1 check -i r.fastq --split lines -- awk 'NR % 4 == 2'
    [ "$output" = no ]
    { echo "[1"; for i in $(seq 30); do echo ",$i"; done; echo "]"; } >a.json
    cleave 0 check -i a.json --split json -- grep -o '[0-9]*'
    [ "$output" = records ]
    { echo a,b; seq 100 | sed 's/$/,x/'; } >t.csv
    cleave 1 check -i t.csv --split csv -- awk -F, 'NR > 1 { print $1 }'
    cleave 0 check -i t.csv --split csv --header -- awk -F, 'NR > 1 { print $1 }'
    [ "$output" = records ]
    [[ $stderr == *"cleave run -i t.csv --split csv --header -- awk"* ]]
    cleave 0 check -i t.csv --split csv --header -- cat
    [[ $stderr == *"cleave run -i t.csv --split csv --header -- cat" ]]
    "$CLEAVE" run -q -i t.csv --block 50 --split csv --header -- cat | cmp - t.csv
    # By its name it is CSV with a header. The line that is printed works.
    for words in "cat" "wc -l" "awk -F, {s+=\$2}END{print+s}"; do
        # shellcheck disable=SC2086
        cleave 0 check -i t.csv -- $words
        told=${stderr##*to run it: cleave run}
        # shellcheck disable=SC2086
        bash -c "$CLEAVE run -q --block 50 $told" | cmp - <($words <t.csv)
    done
    # Compressed, and from a pipe.
    gzip -k n
    cleave 0 check -i n.gz -- wc -l
    [ "$output" = "reduce sum" ]
    output=$("$CLEAVE" check -q -- wc -l <n)
    [ "$output" = "reduce sum" ]
    output=$(cat n | "$CLEAVE" check -q -- wc -l)
    [ "$output" = "reduce sum" ]
}

@test "files of the user are not touched, and a program in their directory is found" {
    prepare
    mkdir here
    cp n here
    cd here
    printf '#!/bin/sh\npwd >>%s/where\ntouch made; cat\n' "$BATS_TEST_TMPDIR" >prog
    chmod +x prog
    printf '{ print $1 }\n' >p.awk
    before=$(ls -lA --time-style=full-iso)
    cleave 0 check -i n -- ./prog
    [ "$output" = records ]
    cleave 0 check -i n -- awk -f p.awk
    [ "$output" = records ]
    [ "$(ls -lA --time-style=full-iso)" = "$before" ]
    [ -z "$(ls -A ../tmp)" ]
    [ "$(sort -u ../where | sed 's/\.[^.]*$//')" = "$TMPDIR/cleave-check" ]
}

@test "the result as JSON" {
    prepare
    cleave 0 check -q -i n --json -- wc -l
    valid_json
    [ -z "$stderr" ]
    has '"verdict": "reduce"'
    has '"reduce": "sum"'
    has '"counterexample": null'
    [ "$(number cuts)" -ge 8 ]
    [ "$(number sample_bytes)" -eq "$(wc -c <n)" ]
    cleave 0 check -q -i n --json -- cat
    has '"verdict": "records"'
    has '"reduce": null'
    cleave 1 check -q -i n --json -- cat -n
    has '"verdict": "no"'
    has "\"counterexample\": {\"begin\": 0, \"end\": $(head -n 2 n | wc -c)}"
}

@test "a sample, and a limit of time" {
    prepare
    cleave 0 check -i n --sample 100 --json -- cat
    bytes=$(number sample_bytes)
    [ "$bytes" -ge 100 ] && [ "$bytes" -lt 120 ]
    cleave 1 check -i n --timeout 0.3 -- sleep 60
    [[ $stderr == *"cleave: the command took too long for one cut: --sample with less, or --timeout with more" ]]
    # The cuts that were made decide.
    : >count
    cleave 0 check -q -i n --timeout 1 -- sh -c "echo >>$PWD/count; [ \$(wc -l <$PWD/count) -lt 9 ] || sleep 60; cat"
    [ "$output" = records ]
}

@test "a signal leaves nothing" {
    prepare
    "$CLEAVE" check -q -i n -- sh -c "echo \$\$ >>$PWD/pids; exec sleep 60" 3>&- &
    pid=$!
    until [ -s pids ] || ! kill -0 $pid; do sleep 0.05; done
    kill -TERM $pid
    got=0
    wait $pid || got=$?
    [ "$got" -eq 143 ]
    run ! kill -0 "$(head -n 1 pids)"
    [ -z "$(ls -A tmp)" ]
    # While it waits for its input.
    mkfifo fifo
    "$CLEAVE" check -q -i fifo -- cat 3>&- &
    pid=$!
    exec 4>fifo
    until [ -n "$(ls -A tmp)" ] || ! kill -0 $pid; do sleep 0.05; done
    kill -INT $pid
    got=0
    wait $pid || got=$?
    exec 4>&-
    [ "$got" -eq 130 ]
    [ -z "$(ls -A tmp)" ]
}

@test "bad use is refused" {
    prepare
    : >empty
    echo one >one
    refuses "expected at least 2 records, got no input" check -q -i empty -- cat
    refuses "expected at least 2 records in the sample of one, got 1" check -q -i one -- cat
    refuses "cannot run 'no-such-program': not found in PATH" check -q -i n -- no-such-program
    refuses "--sample: expected 1 byte to 16 MB, got 1e+09 bytes" check -i n --sample 1GB -- cat
    refuses "--timeout: expected a time above 0 such as 30s or 2min, got 'x'" check -i n --timeout x -- cat
    refuses "--pairs is not for check: give the input with -i FILE" check -i n --pairs n -- cat
    cleave 2 check -i n
    [[ $stderr == "cleave: expected a command: cleave check -i FILE COMMAND"* ]]
    cleave 2 check -i nowhere -- cat
    cleave 1 check -q -i n -- sh -c 'exit 4'
    [ "$stderr" = "cleave: the command exited with status 4 on the sample; it ran in an empty directory: are files named by absolute paths?" ]
}
