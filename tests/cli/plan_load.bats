# cleave plan load. SPDX-License-Identifier: MIT
load helper

@test "text: umr on unequal workers" {
    cleave 0 plan load --platform $LAB --load 2000 --policy umr
    golden plan-umr.txt
    [ -z "$stderr" ]
}

@test "text: what auto picks, and why" {
    for file in $LAB $RACK; do
        cleave 0 plan load --platform $file --load 2000
        [[ $output =~ policy\ +[a-z-]+,\ picked\ by\ auto:\ .*workers ]]
        cleave 0 plan load --platform $file --load 2000 --json
        has '"policy": "auto"'
        [[ $output =~ \"picked\":\ \"[a-z-]+\" ]]
        [[ $output =~ \"why\":\ \".+(schedule|simulated) ]]
    done
}

@test "text: a worker that is not worth using is left out, with the reason" {
    for policy in umr auto; do
        cleave 0 plan load --platform $LAB --load 2000 --policy $policy
        has "8 of 9 workers"
        [[ $output == *"left out"*"home "*link* ]]
    done
}

@test "text: equal workers, every chunk, no chart" {
    cleave 0 plan load -p $RACK -l 1000 --policy xmi --rounds 2 --chunks --no-gantt
    golden plan-chunks.txt
}

@test "text: blocks when the locale is UTF-8, by name alone" {
    export LC_ALL=xx_YY.UTF-8
    cleave 0 plan load -p $LAB -l 2000 --policy umr
    golden plan-utf8.txt
    export LC_ALL= LANG=C.utf8
    local blocks=$output
    cleave 0 plan load -p $LAB -l 2000 --policy umr
    [ "$output" = "$blocks" ]
}

@test "text: numbers do not depend on the locale" {
    cleave 0 plan load -p $LAB -l 2000.5 --policy umr --no-gantt
    local plain=$output
    for locale in de_DE.UTF-8 fr_FR tr_TR.UTF-8 no-such-locale; do
        export LC_ALL=$locale LC_NUMERIC=$locale
        cleave 0 plan load -p $LAB -l 2000.5 --policy umr --no-gantt
        [ "$output" = "$plain" ]
    done
}

@test "text: the chart is as wide as COLUMNS or --width say" {
    for width in 40 60 132; do
        cleave 0 plan load -p $LAB -l 2000 --policy umr --width $width
        [ "$(printf '%s\n' "$output" | awk '/^  (port|old.0) +[-=#+]/ { if (length > m) m = length }
            END { print m }')" -eq $((width - 1)) ]
    done
    export COLUMNS=120
    cleave 0 plan load -p $LAB -l 2000 --policy umr
    local wide=$output
    unset COLUMNS
    cleave 0 plan load -p $LAB -l 2000 --policy umr --width 120
    [ "$(printf '%s\n' "$output" | grep '^  old.0 [#+]')" = \
        "$(printf '%s\n' "$wide" | grep '^  old.0 [#+]')" ]
}

@test "text: lists of many workers and many rounds are cut short, with an option for all" {
    "$CLEAVE" platform --workers 50 --latency 1ms --compute-latency 1ms >"$BATS_TEST_TMPDIR/p"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/p" -l 5000 --policy factoring
    has "more workers; --all-workers lists them"
    has "more rounds; --chunks lists every chunk"
    has "more workers are not drawn"
    [ "$(printf '%s\n' "$output" | grep -c '^  w[0-9]* *[-#+]')" -eq 16 ]
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/p" -l 5000 --policy factoring --all-workers \
        --no-gantt
    lacks "--all-workers"
    [ "$(printf '%s\n' "$output" | grep -c '^  w[0-9]* ')" -eq 50 ]
}

@test "text: large amounts are shown with a prefix" {
    "$CLEAVE" platform --workers 4 --speed 5MB/s --bandwidth 100MB/s >"$BATS_TEST_TMPDIR/p"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/p" -l 3GB --policy umr
    has "3G units on 4 workers"
    [[ $output =~ w0\ +[0-9]{3}\.[0-9]+M\  ]]
}

@test "on a terminal: colours, and the terminal's width; NO_COLOR turns colours off" {
    on_terminal plan load -p $LAB -l 2000 --policy umr
    [ "$status" -eq 0 ]
    has $'\033[1m'
    has $'\033[32m'
    export NO_COLOR=1
    on_terminal plan load -p $LAB -l 2000 --policy umr
    lacks $'\033['
    [ "$(printf '%s\n' "$output" | tr -d '\r' |
        awk '/^  old.0 [#+-]/ { print length }')" -eq 99 ]
}

@test "json: the fields" {
    cleave 0 plan load -p $LAB -l 2000 --policy umr --rounds 3 --json
    valid_json
    [ "$(json_keys)" = "policy picked why load seed makespan utilisation rounds bound \
over_bound optimal proved_among bounds method chunks left_out " ]
    has '"policy": "umr"'
    has '"picked": null'
    has '"load": 2000,'
    has '"rounds": 3,'
    has '"bound": {"name": "'
    has '{"worker": "home", "reason": "'
    [ -z "$stderr" ]
    printf '%s\n' "$output" | grep '"worker": "old.0", "round": 0,' | grep -q '"units": .*"send_start": 0, "send_end": .*"compute_start": .*"compute_end": .*"return_start": null, "return_end": null}'
}

@test "json: chunks sum to the load and end with the makespan" {
    cleave 0 plan load -p $LAB -l 2000 --json
    near "$(printf '%s\n' "$output" | sed -n 's/.*"units": \([-0-9.e+]*\),.*/\1/p' |
        awk '{ s += $1 } END { printf "%.17g", s }')" 2000 1e-12
    near "$(printf '%s\n' "$output" | sed -n 's/.*"compute_end": \([-0-9.e+]*\),.*/\1/p' |
        sort -g | tail -n 1)" "$(number makespan)" 1e-15
    # 17 digits bring the same number back.
    [ "$(number makespan | tr -d . | sed 's/^0*//' | wc -c)" -ge 16 ]
}

@test "--rounds is --param rounds" {
    cleave 0 plan load -p $RACK -l 2000 --policy umr --rounds 4 --json
    local plan=$output
    has '"rounds": 4,'
    cleave 0 plan load -p $RACK -l 2000 --policy umr --param rounds=4 --json
    [ "$output" = "$plan" ]
    refuses "parameter 'rounds' is given twice" \
        plan load -p $RACK -l 5 --policy umr --rounds 4 --param rounds=4
    cleave 2 plan load -p $RACK -l 2000 --policy self --rounds 4
    [[ $stderr == "cleave: policy 'self' has no parameter 'rounds'"* ]]
}

@test "unknown parameters and bad values" {
    refuses "--param: expected KEY=VALUE, got 'rounds'" \
        plan load -p $LAB -l 5 --policy umr --param rounds
    refuses "--param: expected KEY=VALUE, got '=4'" \
        plan load -p $LAB -l 5 --policy umr --param =4
    refuses "policy 'umr' has no parameter 'rouds'; did you mean 'rounds'?" \
        plan load -p $LAB -l 5 --policy umr --param rouds=4
    cleave 2 plan load -p $LAB -l 5 --policy umr --param rounds=x
    [[ $stderr == *"'rounds': expected a whole number from "*", got 'x'" ]]
}

@test "parameters that are amounts take a prefix, others do not" {
    cleave 0 plan load -p $RACK -l 2M --policy self --param chunk=100000 --json
    local plan=$output
    cleave 0 plan load -p $RACK -l 2M --policy self --param chunk=100k --json
    [ "$output" = "$plan" ]
    for setting in first=1k least=1kB most=600k; do
        cleave 0 plan load -p $RACK -l 2M --policy learn --param $setting
    done
    cleave 0 plan load -p $RACK -l 2M --policy guided --param least=1k
    refuses "policy 'learn': parameter 'most': expected a number from 0 to 1e+300, got '600x'" \
        plan load -p $RACK -l 2M --policy learn --param most=600x
    refuses "policy 'learn': parameter 'growth': expected a number from 1 to 100, got '0.002k'" \
        plan load -p $RACK -l 2M --policy learn --param growth=0.002k
}

@test "policies: unknown, and unsuitable for the job" {
    cleave 2 plan load -p $LAB -l 5 --policy umrr
    [[ $stderr == "cleave: unknown policy 'umrr'; did you mean 'umr'"* ]]
    cleave 2 plan load -p $LAB -l 5 --policy mi
    [[ $stderr == *"needs equal workers"*"'old.0' and 'new.0' differ in speed"* ]]
}

@test "platform files: missing, wrong, from standard input" {
    cleave 2 plan load -p no-such-file -l 5
    [[ $stderr == "cleave: no-such-file: "*"No such file or directory" ]]
    cleave 2 plan load -p examples -l 5
    printf 'workers:\n  - speed: -2\n' >"$BATS_TEST_TMPDIR/bad.yaml"
    cleave 2 plan load -p "$BATS_TEST_TMPDIR/bad.yaml" -l 5
    [[ $stderr == "cleave: $BATS_TEST_TMPDIR/bad.yaml:2:"*"workers[0].speed: expected "*"got '-2'" ]]
    cleave 0 plan load -p $LAB -l 50 --policy umr
    local plan=$output
    run "$CLEAVE" plan load -p - -l 50 --policy umr <$LAB
    [ "$output" = "$plan" ]
}

@test "--trace writes what happened" {
    local trace=$BATS_TEST_TMPDIR/trace
    echo old >"$trace"
    cleave 0 plan load -p $LAB -l 2000 --policy umr --rounds 2 --trace "$trace" --json
    [[ $(head -n 1 "$trace") == *'"policy":"umr"'*'"load":2000'* ]]
    [ "$(grep -c '"event":"done"' "$trace")" -eq "$(printf '%s\n' "$output" | grep -c '"round":')" ]
    cleave 2 plan load -p $LAB -l 5 --trace "$BATS_TEST_TMPDIR/no/such"
    [[ $stderr == "cleave: --trace: cannot write "*"No such file or directory" ]]
}

@test "workers that get faster do not beat the bound" {
    cat >"$BATS_TEST_TMPDIR/faster.yaml" <<'END'
port: one
workers:
  - { name: a, speed: 1, bandwidth: 10, profile: [[0, 1], [2, 3]] }
  - { name: b, speed: 1, bandwidth: 10 }
END
    for policy in umr self one-round; do
        cleave 0 plan load -p "$BATS_TEST_TMPDIR/faster.yaml" -l 100 --policy $policy
        [[ $output =~ makespan\ +([0-9.]+)\ s,\ ([0-9.]+)%\ over ]]
        lacks "below the bound"
    done
}

@test "one unit is one unit" {
    cleave 0 plan load -p $RACK -l 1
    [ "${lines[0]}" = "1 unit on 10 workers" ]
    cleave 0 plan load -p $RACK -l 1.5
    [ "${lines[0]}" = "1.5 units on 10 workers" ]
}

@test "a load that is tiny compared to the latencies is still planned" {
    local alike='{name: a, speed: 1e9, bandwidth: 1e9, compute_latency: 1000, count: 2}'
    local policy
    for policy in one-round umr umr-plus xmi xmi-k auto; do
        cleave 0 plan load -p - -l 1e-5 --policy $policy --json <<<"workers: [$alike]"
        has '"makespan": 1000,'
    done
}

@test "times above the largest number are refused" {
    local slow='{name: slow, speed: 1e-300, bandwidth: 1}'
    local fast='{name: fast, speed: 1, bandwidth: 1}' verb
    for verb in "plan load" "simulate load --noise gamma:0.1 --runs 2"; do
        refuses "1e+12 units take these workers longer than can be counted" \
            $verb -p - -l 1e12 --policy self <<<"workers: [$slow]"
        refuses "what worker 'slow' is sent takes longer than can be counted: expected \
a smaller load, or a worker or link that is faster" \
            $verb -p - -l 1e12 --policy chunks --param chunk-order=0:1 <<<"workers: [$slow, $fast]"
    done
    cleave 0 plan load -p - -l 1e12 --json <<<"workers: [$slow, $fast]"
    has '"worker": "fast"'
}

@test "costs at the end of what numbers can say: bounds hold, and are found" {
    local fast='{name: fast, speed: 1.7e308, bandwidth: 1e-6}'
    local slow='{name: slow, speed: 1e-12, bandwidth: 1e3, memory: 842}'
    cleave 0 plan load -p - -l 1e15 --policy guided --json <<<"workers: [$fast, $slow]"
    awk -v over="$(number over_bound)" 'BEGIN { exit !(over >= 0) }'
    cleave 0 plan load -p - -l 1e-300 --policy links --result-ratio 1 --json \
        <<<"{port: multi, workers: [{name: one, speed: 1, bandwidth: 1}]}"
    near "$(number makespan)" 1e-300 0.02
}

@test "umr: the published formulas, with all workers" {
    "$CLEAVE" platform -w 4 --speed 2 --compute-latency 300ms --bandwidth 20 --latency 200ms >"$BATS_TEST_TMPDIR/four"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/four" -l 100 --policy umr --json
    valid_json
    # Ex = (W + M a) / sigma + (rho t_0 + kappa) / 2, where t_0 is what the first chunk takes.
    near "$(number expected)" "$(awk -v x="$(number first_chunk)" 'BEGIN { print (100 + 3 * 2.4) / 8 + (0.4 * (x / 2 + 0.3) + 0.68) / 2 }')" 1e-5
    awk -v m="$(number real_rounds)" 'BEGIN { exit !(m > 2 && m < 4) }'
    cleave 0 plan load -p $LAB -l 2000 --policy umr --param select=0 --json
    has '"left_out": []'
    has '"expected": null'
    near "$(number makespan)" 1173.867 1e-6
}

@test "learn keeps to the memory of workers, also with open chunks" {
    printf 'workers: [{name: a, speed: 1, bandwidth: 9, memory: 10}, {name: b, speed: 2, bandwidth: 9, memory: 3}]\n' >"$BATS_TEST_TMPDIR/m"
    most() { grep "\"worker\": \"$1\", \"round\"" <<<"$output" | sed 's/.*"units": \([0-9.e+-]*\),.*/\1/' | sort -g | tail -1; }
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/m" -l 100 --policy learn --json
    awk -v a="$(most a)" -v b="$(most b)" 'BEGIN { exit !(a > 3 && a <= 10 && b > 2 && b <= 3) }'
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/m" -l 100 --policy learn --reads stream --json
    awk -v a="$(most a)" -v b="$(most b)" 'BEGIN { exit !(a <= 3 * (1 + 1e-9) && b <= 3 * (1 + 1e-9)) }'
}

@test "bytes on a platform that counts in something larger are doubted, in a line" {
    cleave 0 plan load -p $LAB -l 2GB --json
    valid_json
    [ "$(number load)" = 2e9 ] || [ "$(number load)" = 2000000000 ]
    [ "$stderr" = "cleave: --load is in bytes, and no worker of $LAB computes more than 16 a second; speeds without a unit are units a second. If a unit is a megabyte, write 'speed: 16MB/s' there, or give the load in units" ]
    cleave 0 simulate load -p $LAB -l 2GB --policy guided
    [[ "$stderr" == *"--load is in bytes"* ]]
    # Units of any kind, and rates that may well be bytes, are not.
    cleave 0 plan load -p $LAB -l 2k
    [ -z "$stderr" ]
    printf 'workers: [{name: a, speed: 4MB/s, bandwidth: 110e6}]\n' >"$BATS_TEST_TMPDIR/m"
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/m" -l 2GB
    [ -z "$stderr" ]
}
