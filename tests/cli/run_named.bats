# cleave run --reduce NAME. SPDX-License-Identifier: MIT
load helper
load job

# Lines as reductions have to take them: signs, blank lines, carriage returns, a very long line
# and no newline at the end.
make_lines() {
    cd "$BATS_TEST_TMPDIR"
    awk 'BEGIN { for (i = 1; i <= 4000; i++) {
        print (i * 7919) % 3001 - 1500, "x"
        if (i % 5 == 0) print (i * 7919) % 3001 - 1500, "x"
        if (i % 700 == 0) print ""
        if (i % 900 == 0) printf "%d x\r\n", i
    } }' >lines
    printf '%0200000d x\n-7 x\n-7 x' 1 >>lines
}

# serial NAME -- what the reduction has to give for the lines of standard input.
serial() {
    case $1 in
    sum) awk '{ s += $1 } END { print s " x" }' ;;
    count) awk 'END { print NR }' ;;
    min) awk 'NF && (!any++ || $1 < m) { m = $1; l = $0 } END { print l }' ;;
    max) awk 'NF && (!any++ || $1 > m) { m = $1; l = $0 } END { print l }' ;;
    sort:*) sort ${1#sort:} ;;
    uniq) uniq ;;
    first) head -n 1 ;;
    last) tail -n 1 ;;
    head:*) head -n "${1#head:}" ;;
    tail:*) tail -n "${1#tail:}" ;;
    esac
}

@test "each name equals the serial command with any number of workers" {
    make_lines
    for name in sum count min max sort:-n "sort:-k2 -nr" sort:-u uniq first last head:300 tail:300; do
        serial "$name" <lines >expected
        for more in "-j 1" "-j 1 --block 10M" "-j 2 --block 2k" "-j 16 --block 500"; do
            # shellcheck disable=SC2086
            "$CLEAVE" run -q -i lines $more --reduce "$name" -- cat >got
            cmp expected got || { echo "$name $more"; return 1; }
        done
        "$CLEAVE" run -q -j 3 --reduce "$name" -- cat <lines >got
        cmp expected got
    done
}

@test "each name gives the same result on hosts" {
    make_lines
    hosts 'name: a, slots: 1' 'name: b, slots: 3, command: env' >h.yaml
    for name in sum count min sort:-n uniq last head:300; do
        serial "$name" <lines >expected
        "$CLEAVE" run -q -i lines --hosts h.yaml --block 4k --reduce "$name" -- cat >got
        cmp expected got
    done
}

@test "a command that reduces each chunk gives the result of the whole input" {
    cd "$BATS_TEST_TMPDIR"
    awk 'BEGIN { for (i = 1; i <= 3000; i++) print (i * 7919) % 97 }' >n
    for reduce in "sum:wc -l" "max:wc -L" "sum:wc" "sum:grep -c 7" "sort -n:sort -n" "uniq:uniq" \
        "head:head" "tail:5:tail -n 5" "counts:sort | uniq -c" "max:sort -n | tail -n 1"; do
        name=${reduce%:*} line=${reduce##*:}
        [ "$name" != "sort -n" ] || name=sort:-n
        # shellcheck disable=SC2002 # wc looks at the size of a file
        cat n | sh -c "$line" >expected
        "$CLEAVE" run -q -i n --block 700 -j 3 --reduce "$name" -- sh -c "$line" >got
        cmp expected got || { echo "$reduce"; return 1; }
    done
}

@test "sums are exact" {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' 9223372036854775807 9223372036854775807 2 -1 >n
    cleave 0 run -q -i n --block 10 --reduce sum -- cat
    [ "$output" = 18446744073709551615 ]
    awk 'BEGIN { for (i = 0; i < 1000; i++) print "0.1" }' >n
    cleave 0 run -q -i n --block 100 --reduce sum -- cat
    [ "$output" = 100 ]
}

@test "bytes of any kind are kept" {
    cd "$BATS_TEST_TMPDIR"
    printf 'a\0b\na\0b\na\0c\n\377\n\377\n' >bytes
    for name in uniq last tail:3 first sort:-r; do
        serial "$name" <bytes >expected
        "$CLEAVE" run -q -i bytes --block 4 --reduce "$name" -- cat >got
        cmp expected got
    done
    [ "$("$CLEAVE" run -q -i bytes --block 4 --reduce count -- cat)" = 5 ]
    sort bytes | uniq -c >expected
    "$CLEAVE" run -q -i bytes --block 4 --reduce counts -- uniq -c >got
    cmp expected got
}

@test "outputs and inputs that are empty" {
    cd "$BATS_TEST_TMPDIR"
    seq 1000 >n
    for name in sum count; do
        [ "$("$CLEAVE" run -q -i n --block 500 --reduce $name -- sed d)" = 0 ]
        [ "$("$CLEAVE" run -q --reduce $name -- cat </dev/null)" = 0 ]
        [ "$("$CLEAVE" run -q --reduce $name -a /dev/null -- echo {})" = 0 ]
    done
    for name in min max uniq counts first last head tail sort; do
        [ -z "$("$CLEAVE" run -q -i n --block 500 --reduce $name -- sed d)" ]
        [ -z "$("$CLEAVE" run -q --reduce $name -- cat </dev/null)" ]
    done
    # Chunks without an output between others.
    [ "$("$CLEAVE" run -q -i n --block 100 --reduce last -- sed -n /7/p)" = 997 ]
}

@test "outputs of items are reduced, too" {
    cleave 0 run -q --reduce sum echo ::: 1 2 3
    [ "$output" = 6 ]
    cleave 0 run -q --reduce last echo ::: a
    [ "$output" = a ]
}

@test "an output that cannot be reduced ends the run with the reason" {
    cd "$BATS_TEST_TMPDIR"
    printf '1\nabc\n2\n' >n
    cleave 1 run -q -i n --retries 3 -o out --reduce sum -- cat
    [ "$stderr" = "cleave: sum: expected a number in column 1, got 'abc'" ]
    [ ! -e out ]
    cleave 1 run -q -i n --block 2 --reduce counts -- cat
    has_line="cleave: counts: expected a count and a key, as 'uniq -c' writes, got 'abc'"
    [ "$stderr" = "$has_line" ]
}

@test "a journal keeps outputs, not results of reductions" {
    cd "$BATS_TEST_TMPDIR"
    seq 1000 >n
    cleave 0 run -q -i n --block 500 --journal j --reduce sum -- cat
    [ "$output" = 500500 ]
    cleave 0 run -q -i n --block 500 --journal j --resume --reduce count -- cat
    [ "$output" = 1000 ]
}

@test "{} is the files of all partials at hand" {
    cd "$BATS_TEST_TMPDIR"
    seq 3000 | sort >n
    sort -n n >expected
    "$CLEAVE" run -q -i n --block 500 -j 2 --reduce 'sort -n -m {}' -- sort -n >got
    cmp expected got
    # More than two at a time; braces inside a word are no place for files.
    "$CLEAVE" run -q -i n --block 500 -j 2 \
        --reduce "echo {} | wc -w >>many; cat {} | awk '{ s += \$1 } END{} END { print s }'" \
        -- awk '{ s += $1 } END { print s }' >got
    [ "$(cat got)" = 4501500 ]
    [ "$(sort -n many | tail -n 1)" -gt 2 ]
}

@test "bad names are refused, and a name that is also a program is reported" {
    refuses "expected head:N with 1 or more lines, got 'head:x'" run --reduce head:x -- cat
    refuses "expected sum without ':', got 'sum:2'" run --reduce sum:2 -- cat
    refuses "sort: expected short options of sort(1) out of -bdfghiMnrsuVz, -kKEY, -tCHAR, -SSIZE and -TDIR, got '-o'" \
        run --reduce sort:-o -- cat
    refuses "expected {1} and {2}, or {}, or none of them in the command that reduces, got 'cat {1} {}'" \
        run --reduce 'cat {1} {}' -- cat
    refuses "--commutative is for --reduce CMD; with --reduce sum leave it out" \
        run --commutative --reduce sum -- cat
    # coreutils has a program of this name
    printf '1\n2\n' >"$BATS_TEST_TMPDIR/n"
    cleave 0 run -i "$BATS_TEST_TMPDIR/n" --reduce sum -- cat
    [ "$output" = 3 ]
    [[ $stderr == "cleave: --reduce sum is a reduction of cleave, not the program sum; for the program: --reduce 'command sum'"* ]]
    cleave 0 run -q -i "$BATS_TEST_TMPDIR/n" --block 1 --reduce 'command sum' -- cat
    [ "$output" = "$(sum <"$BATS_TEST_TMPDIR/n")" ]
    for name in sort uniq head count; do
        cleave 0 run -i "$BATS_TEST_TMPDIR/n" --reduce $name -- cat
        [[ $stderr != *"reduction of cleave"* ]]
    done
}
