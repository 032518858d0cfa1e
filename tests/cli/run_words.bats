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
    refuses "'$2' in the command would be passed on as it is: a command gets its chunk on standard input. One command for each line of the input: cleave run ... -- xargs -I{} COMMAND {}. --literal passes braces on" \
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
    refuses "':::' in the command would be passed on as it is: items are lines of the input here, as in: printf '%s\n' a b c | cleave run -- xargs -n 1 COMMAND. --literal passes it on" \
        run -- gzip {} ::: a b c
    for mark in :::: :::+ ::::+; do
        cleave 2 run -i a -- gzip $mark list
        [[ $stderr == "cleave: '$mark' in the command would "* ]]
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
