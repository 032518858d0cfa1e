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

@test "the command begins at the first word that is not an option" {
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

@test "options after the command belong to the command" {
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
    refuses "'b' would be the command, because it is the first word that is not an option. If it is an input: -i b; if it is the command, put '--' before it" \
        run -i a b -- wc -l
    refuses "'b' would be the command, because it is the first word that is not an option, but it is not executable. If it is an input: -i b" \
        run -i a b wc -l
    # As the shell passes on -i *.
    cp a c
    refuses "'b' would be the command, because it is the first word that is not an option. If it is an input: -i b, and for a pattern -i 'PATTERN', in quotes; if it is the command, put '--' before it" \
        run -i a b c -- wc -l
    refuses "'b' would be the command, because it is the first word that is not an option, but it is not executable. If it is an input: -i b, and for a pattern -i 'PATTERN', in quotes" \
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
    refuses "'$2' in the command is a placeholder, but there are no items: add them after the command (... {} ::: *.txt), or --each for records, or --literal" \
        run -i a -- echo "$1"
    cleave 0 run -q -i a --block 1k --literal -- echo "$1"
    [ "$output" = "$1" ]
}

@test "placeholders for items are refused, with the command to type" {
    prepare
    for form in {} {.} {/} {//} {/.} {1} {12} {-1} {1.} {2//}; do
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

# --- a line or words ----------------------------------------------------------------------

@test "one word that is not a program is a shell line, for chunks and for items" {
    prepare
    cleave 0 run -q -i a -j 1 --block 1M 'grep 4 | wc -l'
    [ "$output" = "$(grep 4 <a | wc -l)" ]
    cleave 0 run -q -i a -j 1 --block 1M "awk '{ print \$1 * 2 }' | tail -n 1"
    [ "$output" = 100 ]
    cleave 0 run -q 'grep -c 4 {} | sed s/^/n/' ::: a b
    [ "$output" = "$(for f in a b; do grep -c 4 $f | sed s/^/n/; done)" ]
    # Without anything for a shell it is split at blanks, and no shell is started.
    cleave 0 run -q -i a -j 1 --block 1M ' wc  -l '
    [ "$output" = 50 ]
    cleave 0 run -q -i a -j 1 --block 1M 'readlink /proc/self/exe'
    [ "$output" = "$(readlink -f "$(command -v readlink)")" ]
    # A program may have such a name.
    mkdir bin
    printf '#!/bin/sh\necho odd\n' >'bin/a | b'
    chmod +x 'bin/a | b'
    PATH=$PWD/bin:$PATH cleave 0 run -q -i a -j 1 --block 1M 'a | b'
    [ "$output" = odd ]
    # A mistake in its first word is found before anything runs.
    refuses "cannot run 'no-such-program': not found in PATH" run -i a 'no-such-program -l | sort'
    refuses "cannot run 'no-such-program': not found in PATH" run 'no-such-program {} | sort' ::: a b
    refuses "cannot run 'wc -l': not found in PATH; a line for a shell is one word: quotes around all of it" run -i a -- 'wc -l' -w
}

@test "several words stay words, as with xargs" {
    prepare
    printf 'p q\nr s\n' >'t 1'
    for words in "awk '{print \$1}'" "sh -c 'cat \"\$1\"; true' sh" "grep -e 'p  q' -e 's'" "printf '%s|%s\\n' 'x  y'"; do
        eval "printf '%s\\0' 't 1' | xargs -0 -n 1 $words" >theirs
        eval "\"\$CLEAVE\" run -q $words {} ::: 't 1'" >ours
        cmp theirs ours
        eval "printf '%s\\0' 't 1' | \"\$CLEAVE\" run -q -0 $words" >ours
        cmp theirs ours
    done
    for words in "sh -c 'echo {}; true'" "bash -c 'for x in {} z; do echo \$x; done'" "sh -c '{}'" "awk 'BEGIN { print \"{}\" }'"; do
        eval "seq 3 | sed 's/^/echo /' | xargs -I{} $words" >theirs
        eval "seq 3 | sed 's/^/echo /' | \"\$CLEAVE\" run -q -j 2 -I{} $words" >ours
        cmp theirs ours
    done
    # An empty word stays, one for a missing value does not.
    cleave 0 run -q -N 2 printf '<%s>' '' {1} {2} ::: x
    [ "$output" = '<><x>' ]
}

@test "a sign between words makes a line of them, as an argument it stays" {
    prepare
    printf 'a|b\nc|d\n' >bars
    printf '>x\nAC\n>y\nG\n' >fasta
    cleave 0 run -q -i a -j 1 --block 1M grep 4 '|' wc -l
    [ "$output" = "$(grep 4 <a | wc -l)" ]
    cleave 0 run -q -i a -j 1 --block 1M -- awk '{ print $1, "a  b" }' '|' tail -n 1 ';' echo 'c  d' '&&' echo '$HOME'
    [ "$output" = $'50 a  b\nc  d\n$HOME' ]
    cleave 0 run -q echo 'x  y' {} '|' tr x z ::: "it's  1"
    [ "$output" = "z  y it's  1" ]
    cleave 0 run -q cat {} none '2>/dev/null' '||' echo not all ::: a
    [ "$output" = "$(cat a)"$'\nnot all' ]
    cleave 0 run -q wc -l '<' {} '>' {}.count ::: a b
    [ "$(cat a.count b.count)" = $'50\n60' ]
    cleave 0 run -q -i bars -j 1 cut -d '|' -f 2
    [ "$output" = $'b\nd' ]
    cleave 0 run -q -i bars -j 1 tr '|' ';'
    [ "$output" = $'a;b\nc;d' ]
    cleave 0 run -q -i bars -j 1 awk -F '|' '{ print $2 }'
    [ "$output" = $'b\nd' ]
    cleave 0 run -q -i fasta -j 1 grep -c '>'
    [ "$output" = 2 ]
    cleave 0 run -q grep -c '>' ::: fasta
    [ "$output" = 2 ]
    cleave 0 run -q -i bars -j 1 --quote printf '%s.' '|' cat
    [ "$output" = '|.cat.' ]
    cleave 0 run -q --quote printf '%s.' '|' cat {} ::: 1
    [ "$output" = '|.cat.1.' ]
    # --cat and --persistent have the same rule.
    cleave 0 run -q -i a -j 1 --block 1M --cat awk '{ n++ } END { print n }' {} '|' sed 's/$/ x/'
    [ "$output" = "50 x" ]
}

@test "a sign that would overwrite the input, or one file from all commands, is refused" {
    prepare
    cp a fasta
    refuses "'>' '{}': every command would overwrite its item: name a file after the item, as '{.}.out'; if '>' is an argument: --quote" \
        run grep -c '>' {} ::: fasta
    cmp a fasta
    cleave 1 run -q --quote grep -c '>' {} ::: fasta
    refuses "'>' 'all': every command would overwrite the same file: name a file after the item, as '{.}.out'; if '>' is an argument: --quote" \
        run wc -l {} '>' all ::: a b
    refuses "'>' 'fasta': every command would overwrite the same file: -o FILE takes all outputs, '>>' appends; if '>' is an argument: --quote" \
        run -i a grep '>' fasta
    refuses "'<' 'b': a chunk comes on standard input; if '<' is an argument: --quote" run -i a wc -l '<' b
    cmp a fasta
    [ ! -e all ]
    cleave 0 run -q -i a -j 1 --block 1M wc -l '>>' all
    [ "$(cat all)" = 50 ]
    cleave 0 run -q echo {} '>' x.{#} ::: a b
    [ "$(cat x.1 x.2)" = $'a\nb' ]
}

@test "exported functions and builtins of the shell are commands, also for chunks" {
    prepare
    doubled() { sed "s/\$/${1:-}/; s/.*/&&/"; }
    export -f doubled
    head -n 3 a >few
    for words in doubled 'doubled' 'doubled | cat'; do
        run -0 "$CLEAVE" run -q -i few -j 1 "$words"
        [ "$output" = "$(doubled <few)" ]
    done
    run -0 "$CLEAVE" run -q -i few -j 1 doubled ' x'
    [ "$output" = "$(doubled ' x' <few)" ]
    run -0 "$CLEAVE" run -q -i few -j 1 'doubled x'
    [ "$output" = "$(doubled x <few)" ]
    shown() { echo "<$1>"; }
    export -f shown
    run -0 "$CLEAVE" run -q shown {} ::: 'a  b'
    [ "$output" = '<a  b>' ]
    run -0 "$CLEAVE" run -q -i few -j 1 read -r x
    added() { awk '{ s += $1 } END { print s }'; }
    export -f added
    run -0 "$CLEAVE" run -q -i a -j 2 --block 20 --reduce added added
    [ "$output" = 1275 ]
    fetched() { tail -c +$(($1 + 1)) a | head -c "$2"; }
    export -f fetched
    run -0 "$CLEAVE" run -q -j 1 --fetch 'fetched {begin} {length}' --size 6 cat
    [ "$output" = $'1\n2\n3' ]
}

# --- lists on standard input --------------------------------------------------------------

@test "a pipe is a list for a command with a place, and with options of lists" {
    prepare
    [ "$(seq 3 | "$CLEAVE" run -q echo x{}y)" = $'x1y\nx2y\nx3y' ]
    [ "$(seq 3 | "$CLEAVE" run -q 'echo {.} | cat')" = $'1\n2\n3' ]
    [ "$("$CLEAVE" run -q wc -l {} < <(printf 'a\nb\n'))" = $'50 a\n60 b' ]
    [ "$(printf 'x y\0z' | "$CLEAVE" run -q -0 echo)" = "$(printf 'x y\0z' | xargs -0 -n 1 echo)" ]
    for option in '-n 2' '-L 2' '-N 2'; do
        [ "$(seq 5 | "$CLEAVE" run -q $option echo)" = "$(seq 5 | xargs -n 2 echo)" ]
    done
    [ "$(seq 5 | "$CLEAVE" run -q -j 1 -X echo)" = "1 2 3 4 5" ]
    [ "$(seq 5 | "$CLEAVE" run -q -j 1 -m echo)" = "1 2 3 4 5" ]
    [ "$(seq 2 | "$CLEAVE" run -q -I, echo a,b)" = $'a1b\na2b' ]
    [ "$(printf '1,2\n' | "$CLEAVE" run -q --colsep , echo {2} {1})" = "2 1" ]
    [ "$(printf 'n,m\n1,2\n' | "$CLEAVE" run -q --header : --colsep , echo {m})" = 2 ]
    [ "$(printf 'n\n1\n' | "$CLEAVE" run -q --header : echo {n})" = 1 ]
    [ "$(printf 'a,b' | "$CLEAVE" run -q -d , echo)" = $'a\nb' ]
    [ "$(seq 2 | "$CLEAVE" run -q --tag echo)" = $'1\t1\n2\t2' ]
    [ "$(printf '>a\nC\n>b\nG\n' | "$CLEAVE" run -q --split fasta printf '%s.' {})" = $'>a\nC.>b\nG.' ]
    # A pipe is data without them, and with -i -.
    [ "$(seq 3 | "$CLEAVE" run -q cat)" = $'1\n2\n3' ]
    run -2 --separate-stderr bash -c 'seq 3 | "$CLEAVE" run -q -i - echo {}'
    [[ $stderr == *"'{}' in the command is a placeholder, but there are no items"* ]]
    [ "$(seq 3 | "$CLEAVE" run -q -j 1 --literal echo {})" = "{}" ]
    # Nothing comes: it says so.
    run -2 --separate-stderr bash -c '"$CLEAVE" run -q echo {} </dev/null'
    [[ $stderr == *"is a placeholder, but there are no items"* ]]
}

# --- how many workers ---------------------------------------------------------------------

# workers WORD -- prints how many workers --workers WORD makes.
workers() {
    "$CLEAVE" run -i a -j "$1" --json --block 1k -- cat 2>&1 >/dev/null | grep -c '"name":'
}

@test "counts mean the same as with GNU parallel" {
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

@test "a word that is neither a count nor a name is refused" {
    prepare
    for bad in 4097 99999999999999999999 1.5 3x 0% -50% +50% + - 1e3 '3 4' -q '+a'; do
        refuses "--workers: expected 1 to 4096, +N, -N, N%, 0, or names such as 'fast,slow:nice -n 19', got '$bad'" \
            run -i a "--workers=$bad" wc
    done
    for word in auto max all cores cpus nproc auto:nice max,b; do
        refuses "--workers: '${word%%[:,]*}' is neither a number of workers nor a name: 100% is one for each core, 0 as many as possible" \
            run -i a -j "$word" wc
    done
    for list in a,1 'a:taskset -c 0,1' '1,a' 'a,+1' 'a,50%' '2,2' 'a,1:nice'; do
        cleave 2 run -i a -j "$list" wc
        [[ $stderr == "cleave: --workers: '"*"' in a list is not a name. A comma in the words of a worker is written '\,', as in 'a:taskset -c 0\,1'" ]]
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
