# cleave platform. SPDX-License-Identifier: MIT
load helper

@test "a platform that plan can read, the same for the same seed" {
    cleave 0 platform --workers 5 --heterogeneity 3 --seed 7 --port multi
    has "port: multi"
    has "  - name: w4"
    lacks "w5"
    [ "$(printf '%s\n' "$output" | grep -c '^    speed: [0-9.]*$')" -eq 5 ]
    local first=$output
    cleave 0 platform --workers 5 --heterogeneity 3 --seed 7 --port multi
    [ "$output" = "$first" ]
    printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/p"
    cleave 0 platform --workers 5 --heterogeneity 3 --seed 8 --port multi
    [ "$output" != "$first" ]
    cleave 0 plan load -p "$BATS_TEST_TMPDIR/p" -l 100
}

@test "the command in its comment makes it again" {
    cleave 0 platform -w 4 --heterogeneity 2.5 --speed 5MB/s --bandwidth 100MB/s --latency 5ms \
        --compute-latency 20ms --port duplex --seed 12
    local first=$output
    run eval "\"\$CLEAVE\" $(printf '%s\n' "$first" |
        sed -n '2,3s/^# *//p' | sed 's/^cleave //; s/\\$//' | tr '\n' ' ')"
    [ "$output" = "$first" ]
}

@test "-o writes a file and never replaces one without --force" {
    local file=$BATS_TEST_TMPDIR/lab.yaml
    cleave 0 platform -w 2 -o "$file"
    [ -z "$output" ]
    grep -q '^workers:' "$file"
    cp "$file" "$file.first"
    cleave 2 platform -w 3 -o "$file"
    [[ $stderr == "cleave: --output: '"*"exists; use --force to replace it" ]]
    cmp "$file" "$file.first"
    cleave 0 platform -w 3 --output="$file" --force
    run ! cmp -s "$file" "$file.first"
    cleave 2 platform -o "$BATS_TEST_TMPDIR/no/such"
}

@test "values out of range" {
    refuses "--workers: expected a whole number from 1 to 10000000, got '0'" platform -w 0
    refuses "--speed: expected a positive rate such as 20, 10 MB/s or 600/min, got '0'" \
        platform --speed 0
    refuses "--latency: expected a time of 0 or more such as 0.5, 500ms or 2min, got '-1s'" \
        platform --latency -1s
    refuses "--heterogeneity: expected a number from 1 to 1e+06, got '0.9'" \
        platform --heterogeneity 0.9
    refuses "--port: unknown rule 'on'; did you mean 'one'?" platform --port on
    cleave 0 platform --latency 0 --compute-latency 0
}

@test "the published kinds of workers and their profiles" {
    cleave 0 platform --population table1 --workers 30 --drop 0.5 --until 1000
    printf '%s\n' "$output" >"$BATS_TEST_TMPDIR/t1"
    [ "$(grep -c 'speed: 1000$' "$BATS_TEST_TMPDIR/t1")" = 6 ]
    [ "$(grep -c 'profile: \[\[0, 0.5\], \[50, 1\], \[100, 0.5\]' "$BATS_TEST_TMPDIR/t1")" = 10 ]
    [ "$(grep -c 'profile: ' "$BATS_TEST_TMPDIR/t1")" = 30 ]
    cleave 0 plan streams -p "$BATS_TEST_TMPDIR/t1" --period 5 --json
    # 3 workers of each kind: speed (1 - 2 latency / period) in all.
    near "$(number throughput)" "$(awk 'BEGIN { print 3 * (1 * (1 - .004) + 100 * (1 - .04) * 2 + 10 * (1 - .0004) + 1000 * (1 - .004) * 2 + (1 - .0004) * 2 + 10 * (1 - .00004) + 100 * (1 - .004)) }')" 0.2
    refuses "--population: expected table1, got 'table2'" platform --population table2
    refuses "--drop: --population table1 is required with it" platform --drop 0.5
    refuses "--population: its numbers are given; leave out means, --heterogeneity and --seed" \
        platform --population table1 --speed 3
}
