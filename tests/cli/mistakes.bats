# mistakes.bats -- what people get wrong at first is answered with what to type.
# SPDX-License-Identifier: MIT
load helper

setup() {
    unset NO_COLOR COLUMNS LC_CTYPE LANG
    export LC_ALL=C
    mkdir "$BATS_TEST_TMPDIR/here"
    cd "$BATS_TEST_TMPDIR/here"
    "$CLEAVE" sample --records 200 >/dev/null
}

# mistake STATUS TYPE ARGUMENT... -- it ends so, says what to type, and nothing was damaged.
mistake() {
    local expected=$1 type=$2
    shift 2
    run --separate-stderr timeout 200 "$CLEAVE" "$@" </dev/null
    case $stderr in
    *"$type"*) ;;
    *)
        echo "cleave $*: expected to be told: $type"
        echo "$stderr"
        return 1
        ;;
    esac
    [ "$status" -eq "$expected" ] || {
        echo "cleave $*: exit status $status, expected $expected"
        return 1
    }
}

@test "the command: forgotten, quoted, an input, a search that finds nothing" {
    mistake 2 "expected a command: cleave run -i FILE COMMAND [ARG]..." run -i numbers
    mistake 2 "If it is an input: -i numbers" run numbers wc -l
    mistake 2 "if it is the input: -i numbers" run -q wc -l numbers
    # Not a mistake: with --cat it is a line for a shell.
    run -0 "$CLEAVE" run -q -i numbers --cat 'sort {} | uniq -c >/dev/null'
    mistake 2 "cannot run 'sotr': not found in PATH" run -i numbers -- sotr
    mistake 2 "the one in this folder is ./count" run -i numbers -- count
    mistake 2 "it is a word of the shell: sh -c 'cd ...'" run -i numbers --quote -- cd
    mistake 2 "'nodes' would be the command: expected --pin=nodes, or '--' before it" run -i numbers --pin nodes wc -l
    mistake 2 "to set a variable: env GPU=0 COMMAND" run -i numbers -j 'gpu[0-1]:GPU={i}' -- wc
    mistake 2 "if it is a script, chmod +x ./numbers" run -i numbers -- ./numbers
    mistake 2 "to run sort on an input: cleave run -i FILE sort [ARG]..." sort numbers
    mistake 0 "base64 has written one output for each of" run -i numbers --block 1k -- base64
    mistake 2 "to run it for each item: cleave run sort ... ::: ITEM..." sort -n ::: numbers
    mistake 2 "if it is an input: cleave run -i numbers COMMAND" numbers sort
    mistake 1 "'|' was an argument of the command; a line for a shell is one word: quotes around all of it" \
        run -q -i numbers -- wc -l '|' no-such-program
    mistake 1 "all chunks failed: does the command read standard input?" run -q -i numbers --block 1k -- false
    mistake 1 "all chunks failed" run -q -i numbers --block 1k -- grep -c
}

@test "an input: nothing there, nothing said, a name that is nearly right" {
    mistake 2 "nubmers: cannot read: No such file or directory; did you mean 'numbers'?" run -i nubmers -- wc
    mistake 2 "did you mean 'sat.log'" run -i logs/sta.log -- wc
    cp numbers 'my numbers'
    mistake 2 "did you mean 'my numbers'? Spaces need the quotes" run -i my numbers -- wc
    mistake 2 "nothing.like.it: cannot read: No such file or directory" run -i nothing.like.it -- wc
    [[ $stderr != *"did you mean"* && $stderr != *known* ]]
    mistake 2 "--input: expected FILE, got '': is a variable of the shell not set?" run -i "" -- wc
    mistake 0 "standard input was empty; an input is -i FILE" run -- wc -l
    mistake 2 "and 7 files are arguments of the command; to run it for each of them: ... ::: logs/fri.log ..." \
        run gzip -k logs/*.log
    mistake 2 "put cleave's options before the command" run wc -l -i numbers logs/fri.log
    mistake 2 "if it is the input: -i numbers" run wc -l numbers none
    mistake 0 "" run -q -- wc -l
    [ -z "$stderr" ]
    mistake 2 "unexpected argument 'numbers'; if it is an input: -i numbers" split numbers -n 3
}

@test "a terminal as input gets a note that cleave waits for it" {
    command -v script >/dev/null || skip "script is not there"
    printf 'one\n\004' | script -qec "$CLEAVE run -- wc -l" /dev/null >seen
    grep -qF 'the input is what you type, to its end (Ctrl-D); of a file: -i FILE' seen
    printf 'one\n\004' | script -qec "$CLEAVE run -q -- wc -l" /dev/null >seen
    run -1 grep -F 'what you type' seen
}

@test "items: braces without any, and their options" {
    mistake 2 "(... {} ::: *.txt), or --each for records, or --literal" run -i numbers -- wc -l {}
    mistake 2 "as in ... {} ::: *.txt" run -n 2 -i numbers -- wc
}

@test "options of others, mistyped ones, and arguments that are missing" {
    run -0 "$CLEAVE" run -q --pipe -i numbers -j 1 -- wc -l
    mistake 2 "did you mean '--retries'?" run --retires 3 -i numbers -- wc
    mistake 2 "unknown option '--verbatim'; --help lists those that there are" run --verbatim -i numbers -- wc
    mistake 2 "--workers: 'auto' is neither a number of workers nor a name: 100% is one for each core" \
        run -j auto -i numbers -- wc
    mistake 2 "--workers: expected a number in digits, as -j 2, got 'two'; to give one worker this name: 'two*1'" \
        run -j two -i numbers -- wc
    mistake 2 "--header: expected no argument, or [N], got 'true'; a command of this name: -- true" \
        run --header=true -i numbers -- wc
    mistake 2 "--header: expected no argument, or [N], got 'yes'; a command of this name: -- yes" \
        run -i numbers --header yes wc -l
    run -0 "$CLEAVE" run -q -i numbers --header -- true
    mistake 2 "'b' would be the command; several hosts are one word: --hosts a,b" run --hosts a b -- wc
    mistake 2 "--workers: expected 1 to 4096, +N, -N, N%, 0, or names" run -j 2.5 -i numbers -- wc
    mistake 2 "--block: expected a positive amount such as 2000, 10k or 3 GB" run --block -1 -i numbers -- wc
    mistake 2 "--failed: expected a directory, got 'numbers'" run --failed numbers -i numbers -- wc
    mistake 2 "--reduce: needs an argument: NAME|CMD" run -i numbers --reduce -- sort
    mistake 2 "such as 0.5, 500ms, 2min or 1h30m" run -i numbers --timeout 5x -- wc
    mistake 2 "unknown command 'rnu'; did you mean 'run'?" rnu -i numbers -- wc
    mistake 2 "did you mean 'csv'?" run -i table.csv --split CSV -- cat
    mistake 2 "did you mean 'learn'?" run -i numbers --policy leran -- wc
    mistake 2 "--resume and --overwrite need --journal FILE" run -i numbers --resume -- wc
    mistake 2 "--progress plain writes lines for a log" run -i numbers --live -- wc
    mistake 2 "did you mean 'access.log'?" sample acess.log
    mistake 2 "as in part-{}, got 'part'" split -i numbers -n 3 -o part
    mistake 2 "expected --load AMOUNT, or --lifespan TIME" plan load -p examples/unequal.yaml
}

@test "files: the input as output, a directory, a compressed file, an existing file" {
    cp numbers before
    mistake 2 "--output: 'numbers' is the same file as --input 'numbers': write to another" run -i numbers -o numbers -- sort
    cmp numbers before
    mistake 2 "--recursive: all files below it" run -i logs -- wc
    mistake 2 "use --force to replace it, or -o DIR to write elsewhere" sample
    # Not a mistake: it is decoded.
    gzip -k text.txt
    mistake 1 "compressed inputs are decoded, so omit zcat; --decode none passes the compressed bytes" \
        run -q -i text.txt.gz -- zcat
    mistake 1 "so omit zcat" run -q -i text.txt.gz -- sh -c 'zcat | wc -l; exit 1'
    mistake 0 "" run -q -i numbers --journal j -o out -- cat
    mistake 2 "--resume continues it, --overwrite empties it" run -q -i numbers --journal j -o out -- cat
    mistake 2 "cannot write 'no/such': No such file or directory" run -i numbers -o no/such -- wc
    if [ "$(id -u)" -ne 0 ]; then
        chmod 000 numbers
        mistake 2 "numbers: cannot read: Permission denied" run -i numbers -- wc
        chmod 600 numbers
    fi
    "$CLEAVE" run -q -i text.txt.gz -- cat | cmp - text.txt
}

@test "a platform file is answered with its place" {
    printf 'workers:\n  - name: a\n    bandwith: 5\n' >p.yaml
    mistake 2 "p.yaml:3:5: workers[0]: unknown field 'bandwith'; did you mean 'bandwidth'?" \
        plan load -p p.yaml -l 5
}
