# run_words.bats -- where a command begins and what its words may be. SPDX-License-Identifier: MIT
load helper

# T -- a folder for the files of a test.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 50 >a
    seq 60 >b
}

# --- where the command begins -------------------------------------------------------------

@test "the command begins at the first word that is no option" {
    prepare
    cleave 0 run -q -i a --block 1k wc -l
    [ "$output" = 50 ]
    cleave 0 run -qia --block=1k -j2 wc -l
    [ "$output" = 50 ]
    cleave 0 run -q -i a --block 1k -- wc -l
    [ "$output" = 50 ]
    run --separate-stderr bash -c '"$CLEAVE" run -q wc -l <a'
    [ "$status" -eq 0 ]
    cleave 0 run -q -i a --block 1k grep -c -- 5
    [ "$output" = 6 ]
}

@test "options behind the command are the command's" {
    prepare
    cleave 0 run -q -i a --block 1k cat -n
    has "    50	50"
    cleave 0 run -q -i a --block 1k printf '%s,' -q -i --no-such-option --help -h
    [ "$output" = "-q,-i,--no-such-option,--help,-h," ]
    cleave 0 run -q -i a --block 1k -- printf '%s,' -- -q
    [ "$output" = "--,-q," ]
    cleave 0 calibrate -i a cat -u
    has "workers"
    # An argument is no command: -i names a file.
    cleave 0 run -j 1 -i a -h
    has "Usage: cleave run"
    cleave 0 run -i -h
    has "Usage: cleave run"
    refuses "unknown option '--inputs'; did you mean '--input'?" run --inputs a wc
    refuses "--help: takes no argument" run --help=foo
    refuses "--help: takes no argument" plan load --help=
}

@test "an input without its -i is not run" {
    prepare
    refuses "'b' would be the command, because it is the first word that is no option. If it is an input: -i b; if it is the command, put '--' before it" \
        run -i a b -- wc -l
    refuses "'b' would be the command, because it is the first word that is no option, but it is a file that cannot be run. If it is an input: -i b" \
        run -i a b wc -l
    # As the shell passes on -i *.
    cp a c
    refuses "'b' would be the command, because it is the first word that is no option. If it is an input: -i b, and for a pattern -i 'PATTERN', in quotes; if it is the command, put '--' before it" \
        run -i a b c -- wc -l
    refuses "'b' would be the command, because it is the first word that is no option, but it is a file that cannot be run. If it is an input: -i b, and for a pattern -i 'PATTERN', in quotes" \
        run -i a b c wc -l
    # One that can be run as well as read.
    printf '#!/bin/sh\necho "$@"\n' >both
    chmod +x both
    cleave 2 run -i a ./both -- wc
    [[ $stderr == *"put '--' before it" ]]
    cleave 0 run -q -i a --block 1k -- ./both -- wc
    [ "$output" = "-- wc" ]
    cleave 0 run -q -i a --block 1k ./both wc
    [ "$output" = "wc" ]
    # A file that has the name of a program is not in its way.
    : >wc
    cleave 0 run -q -i a --block 1k wc -l
    [ "$output" = 50 ]
    refuses "expected a command: cleave run -i FILE COMMAND [ARG]..." run -i a
    refuses "expected a command: cleave run -i FILE COMMAND [ARG]..." run -i a --
    # Nothing has been touched by then.
    echo kept >log
    cleave 2 run -i a --joblog log -o log2
    [ "$(cat log)" = kept ]
    [ ! -e log2 ]
}

# --- places for items ---------------------------------------------------------------------

# place WORD WHAT -- a command with this word is refused, because of WHAT in it.
place() {
    refuses "'$2' in the command stands for an item, and there are none: say which behind the command, as in ... {} ::: *.txt, or --each for the records of the input. A chunk comes on standard input. --literal passes braces on" \
        run -i a -- echo "$1"
    cleave 0 run -q -i a --block 1k --literal -- echo "$1"
    [ "$output" = "$1" ]
}

@test "places for items are refused, with what to type" {
    prepare
    for form in {} {.} {/} {//} {/.} {#} {%} {1} {12} {-1} {1.} {2//}; do
        place "$form" "$form"
    done
    place 'x {} > {.}.png' '{}'
    place 'out/{/.}.txt' '{/.}'
    for mark in ::: :::: :::+ ::::+; do
        cleave 2 run -i a -- gzip $mark list
        [[ $stderr == "cleave: expected items or an input, got both"* ]]
    done
    [ ! -e a.gz ]
    cleave 0 run -q -i a --block 1k --literal -- echo ::: x
    [ "$output" = "::: x" ]
}

@test "other braces pass" {
    prepare
    cleave 0 run -q -i a --block 1k -- awk '{ s += $1 } END { print s }'
    [ "$output" = 1275 ]
    cleave 0 run -q -i a --block 1k -- grep -cE '^[0-9]{2}$'
    [ "$output" = 41 ]
    cleave 0 run -q -i a --block 1k -- sh -c 'echo ${#} $# {a,b} { } {x} {1..3} {:}' sh 1
    # shellcheck disable=SC2016
    has "1 1 {a,b}"
    # Whoever fills them himself may have them.
    cleave 0 run -q -i a --block 1k -- xargs -n 1 -I{} echo 'x{}'
    [ "$(printf '%s\n' "$output" | tail -n 1)" = x50 ]
    cleave 0 run -q -i a --block 1k -- sh -c 'xargs -I{} echo "<{}>"'
    has "<50>"
    cleave 0 run -q -i a --block 1k -- find a -exec echo {} ';'
    [ "$output" = a ]
    # Those of --reduce have a meaning.
    cleave 0 run -q -i a --block 20 --reduce 'cat {1} {2} | awk "{ s += \$1 } END { print s }"' -- awk '{ s += $1 } END { print s }'
    [ "$output" = 1275 ]
}

# --- how many workers ---------------------------------------------------------------------

# workers WORD -- prints how many workers --workers WORD makes.
workers() {
    "$CLEAVE" run -i a -j "$1" --json --block 1k -- cat 2>&1 >/dev/null | grep -c '"name":'
}

@test "counts are those of GNU parallel" {
    prepare
    # As many cores as any machine has, whatever it has.
    pin=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
    taskset -pc "$pin" $$ >/dev/null
    [ "$(workers 3)" -eq 3 ]
    [ "$(workers +2)" -eq 3 ]
    [ "$(workers +0)" -eq 1 ]
    [ "$(workers -0)" -eq 1 ]
    [ "$(workers -1)" -eq 1 ]
    [ "$(workers -7)" -eq 1 ]
    [ "$(workers 100%)" -eq 1 ]
    [ "$(workers 10%)" -eq 1 ]
    [ "$(workers 350%)" -eq 3 ]
    [ "$(ulimit -n 104 && workers 0)" -eq 10 ]
    [ "$(ulimit -n 1200 && workers 0)" -eq 256 ]
    cleave 0 run -q -i a -j -1 --block 1k wc -l
    cleave 0 run -q -i a -j-1 --block 1k wc -l
    cleave 0 run -q -i a --workers=+1 --block 1k wc -l
    [ "$output" = 50 ]
}

@test "what is no count and no name is refused" {
    prepare
    for bad in 4097 99999999999999999999 1.5 3x 0% -50% +50% + - 1e3 '3 4' -q '+a'; do
        refuses "--workers: expected 1 to 4096, +N, -N, N%, 0, or names such as 'fast,slow:nice -n 19', got '$bad'" \
            run -i a "--workers=$bad" wc
    done
    for word in auto max all cores cpus nproc auto:nice max,b; do
        refuses "--workers: '${word%%[:,]*}' is no number of workers and cannot be a name: 100% is one for each core, 0 as many as possible" \
            run -i a -j "$word" wc
    done
    for list in a,1 'a:taskset -c 0,1' '1,a' 'a,+1' 'a,50%' '2,2' 'a,1:nice'; do
        cleave 2 run -i a -j "$list" wc
        [[ $stderr == "cleave: --workers: '"*"' in a list is no name. A comma in the words of a worker is written '\,', as in 'a:taskset -c 0\,1'" ]]
    done
}

@test "a comma in the words of a worker" {
    prepare
    cleave 0 run -q -i a --block 1k -j 'a:echo 0\,1\,x' wc -l
    [ "$output" = "0,1,x wc -l" ]
    cleave 0 run -i a --block 1k --json -o out -j 'a:echo 0\,1,b:echo \d\,' wc
    has '"name": "a"'
    has '"name": "b"'
    cleave 0 run -q -i a --block 1k -j 'b:echo \d\,' wc
    [ "$output" = '\d, wc' ]
}

@test "k and K are the same" {
    prepare
    seq 100000 >in
    cleave 0 run -q -i in -j 1 --block 64K wc -c
    local large=$output
    cleave 0 run -q -i in -j 1 --block 64k wc -c
    [ "$output" = "$large" ]
    cleave 0 run -q -i in -j 1 --block 64Ki wc -c
    [ "$output" != "$large" ]
}
