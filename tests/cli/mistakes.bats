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
    run --separate-stderr timeout 30 "$CLEAVE" "$@" </dev/null
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
    mistake 0 "if it is the input: -i numbers" run -q wc -l numbers
    mistake 2 "as a line for a shell it is sh -c 'sort | uniq -c'" run -i numbers 'sort | uniq -c'
    mistake 2 "without quotes it is a command and its arguments" run -i numbers 'wc -l'
    # Not a mistake: with --cat it is a line for a shell.
    run -0 "$CLEAVE" run -q -i numbers --cat 'sort {} | uniq -c >/dev/null'
    mistake 1 "sh -c 'grep ... || [ \$? = 1 ]' is content with it" run -q -i numbers -- grep none
    mistake 2 "cannot run 'sotr': not found in PATH" run -i numbers -- sotr
}

@test "items: braces without any, and their options" {
    mistake 2 "as in ... {} ::: *.txt, or --each for the records of the input" run -i numbers -- wc -l {}
    mistake 2 "as in ... {} ::: *.txt" run -n 2 -i numbers -- wc
}

@test "options of others, mistyped ones, and arguments that are missing" {
    mistake 2 "instead: nothing: without items, commands get their chunk on standard input" \
        run --pipe -i numbers -- wc
    mistake 2 "did you mean '--retries'?" run --retires 3 -i numbers -- wc
    mistake 2 "--reduce: needs an argument: CMD" run -i numbers --reduce -- sort
    mistake 2 "such as 0.5, 500ms or 2min" run -i numbers --timeout 5x -- wc
    mistake 2 "unknown command 'rnu'; did you mean 'run'?" rnu -i numbers -- wc
    mistake 2 "did you mean 'csv'?" run -i table.csv --split CSV -- cat
    mistake 2 "did you mean 'learn'?" run -i numbers --policy leran -- wc
    mistake 2 "--resume and --overwrite need --journal FILE" run -i numbers --resume -- wc
    mistake 2 "--progress plain writes lines for a log" run -i numbers --live -- wc
    mistake 2 "did you mean 'access.log'?" sample acess.log
    mistake 2 "as in part-{}, got 'part'" split -i numbers -n 3 -o part
    mistake 2 "expected --load AMOUNT, or --lifespan TIME" plan load -p examples/unequal.yaml
}

@test "files: the input as output, a folder, what is compressed, what exists" {
    cp numbers before
    mistake 2 "--output: 'numbers' is the same file as --input 'numbers'" run -i numbers -o numbers -- sort
    cmp numbers before
    mistake 2 "--recursive: all files below it" run -i logs -- wc
    mistake 2 "use --force to replace it, or -o DIR to write elsewhere" sample
    # Not a mistake: it is decoded.
    gzip -k text.txt
    "$CLEAVE" run -q -i text.txt.gz -- cat | cmp - text.txt
}

@test "a platform file is answered with its place" {
    printf 'workers:\n  - name: a\n    bandwith: 5\n' >p.yaml
    mistake 2 "p.yaml:3:5: workers[0]: unknown field 'bandwith'; did you mean 'bandwidth'?" \
        plan load -p p.yaml -l 5
}
