# mutants.bats -- tools/mutants looks at its lists.
# SPDX-License-Identifier: MIT

# A tree with one source and the list on standard input.
setup()
{
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree/tools" "$tree/tests/mutants" "$tree/src"
    cp "$CLEAVE_SOURCE_DIR/tools/mutants" "$tree/tools"
    printf 'one\n    two\nthree\none\n' >"$tree/src/x.c"
}

block()
{
    printf '== %s\nfile src/x.c\ntests unit/test_x\n%s\n\n' "$1" "$2" >>"$tree/tests/mutants/x.txt"
}

complains()
{
    run sh "$tree/tools/mutants" -n
    [ "$status" -eq 2 ]
    [[ $output == *"$1"* ]]
}

@test "lists that fit the code are counted" {
    block two $'-     two\n- three\n+     2'
    block three $'- thr\n+'
    run sh "$tree/tools/mutants" -n
    [ "$output" = "2 mutants in 1 list" ]
    [ "$status" -eq 0 ]
}

@test "the old text is there exactly once" {
    block twice $'- one\n+ 1'
    complains "twice: src/x.c has the old text 2 times"
    rm "$tree/tests/mutants/x.txt"
    block gone $'- four\n+ 4'
    complains "gone: src/x.c has the old text 0 times"
}

@test "names are there once, and all parts of a block" {
    block two $'- two\n+ 2'
    block two $'- three\n+ 3'
    complains "two: also at tests/mutants/x.txt:1"
    rm "$tree/tests/mutants/x.txt"
    block half $'- two'
    complains 'half: no line "+ TEXT"'
    printf '== none\nfile src/y.c\n- two\n+ 2\n' >"$tree/tests/mutants/x.txt"
    complains 'none: no line "tests REGEX"'
    complains "none: no file src/y.c"
}

@test "a missing list, and no list, are reported" {
    rm -r "$tree/tests/mutants"
    complains "no list"
    run sh "$tree/tools/mutants" -n other
    [ "$status" -eq 2 ]
    [[ $output == *"no list tests/mutants/other.txt"* ]]
}
