# same_file.bats -- no call reads and writes one file, by whatever names.
# SPDX-License-Identifier: MIT
load helper

prepare() {
    mkdir "$BATS_TEST_TMPDIR/here"
    cp "$CLEAVE_SOURCE_DIR/$LAB" "$BATS_TEST_TMPDIR/here/f"
    cd "$BATS_TEST_TMPDIR/here" || return 1
    cp f g
    cp f sum
    ln f hard
    ln -s f soft
    mkdir sub
    ln -s ../none sub/early
    ls -A >before
    ls -A >before # with itself
}

# untouched -- f is what it was, and no other file has come.
untouched() {
    cmp f sum
    ls -A | diff before -
}

# same A B ARGUMENT... -- refused, as A is the same file as B.
same() {
    local one=$1 other=$2
    shift 2
    refuses "$one is the same file as $other: write to another" "$@" || return 1
    untouched
}

@test "run: the input is not written, whatever it is called" {
    prepare
    for name in f ./f soft hard sub/../f "$PWD/f" /dev/fd/9; do
        same "--output: '$name'" "--input 'f'" run -i g -i f -o "$name" -- cat 9<>f
        same "--trace: '$name'" "--input 'f'" run -i f --trace "$name" -- cat 9<>f
        same "--joblog: '$name'" "--input 'f'" run -i f --joblog "$name" -- cat 9<>f
        same "--journal: '$name'" "--input 'f'" run -i f --journal "$name" -- cat 9<>f
        same "--output: '$name'" "standard input" run -o "$name" -- cat 9<>f <f
        same "--output: '$name'" "standard input" run -i - -o "$name" -- cat 9<>f <f
    done
    run bash -c '"$CLEAVE" run -q -i f -- cat 2>&1 >>f'
    [ "$status" -eq 2 ]
    [ "$output" = "cleave: --input: 'f' is the same file as standard output: write to another" ]
    untouched
    run bash -c '"$CLEAVE" run -q -- cat 2>&1 <f >>f'
    [ "$status" -eq 2 ]
    [ "$output" = "cleave: standard input is the same file as standard output: write to another" ]
    untouched
}

@test "run: other files that are read" {
    prepare
    same "--output: 'f'" "--hosts 'soft'" run -i g --hosts soft -o f -- cat
    same "--output: 'f'" "--pairs 'hard'" run -i g --split fastq --pairs hard -o f -- cat
    cp /bin/cat own
    cleave 2 run -i g -o own -- ./own
    [ "$stderr" = "cleave: --output: 'own' is the same file as the command './own': write to another" ]
    cmp own /bin/cat
}

@test "run: lists of items, and rows that are made of them" {
    prepare
    for option in --output --joblog --trace --journal; do
        same "$option: 'hard'" ":::: 'f'" run $option hard -- echo {} :::: g f
        same "$option: 'f'" "--arg-file 'soft'" run $option f -a soft -- echo {}
    done
    # Of lists that are linked, and behind others.
    same "--output: 'f'" ":::: 'f'" run -o f -- echo {1} {2} ::: a b ::::+ f
    # What only looks like one is none.
    cleave 0 run -q -o new -- echo {} ::: f
    rm new
    cp f rows.csv
    ls -A >before
    same "--results: 'rows.csv'" "--arg-file 'rows.csv'" run --results rows.csv -a rows.csv -- echo {}
    same "--results: 'rows.csv'" ":::: 'rows.csv'" run --results rows.csv -- echo {} :::: rows.csv
    same "--joblog: 'rows.csv'" "--results 'rows.csv'" run --results rows.csv --joblog rows.csv -- echo {} ::: a
    cmp f rows.csv
    refuses "--results: cannot write 'no/such.csv': No such file or directory" run --results no/such.csv -- echo ::: a
}

@test "run: a journal's companion files cannot be other files" {
    prepare
    for suffix in wal shm journal; do
        cp f j-$suffix
        ls -A >before
        same "--journal: 'j-$suffix'" "--input 'j-$suffix'" run -i j-$suffix --journal j -- cat
        same "--journal: './j-$suffix'" "--input 'j-$suffix'" run -i g -i j-$suffix --journal ./j -- cat
        cmp f j-$suffix
        rm j-$suffix
        ls -A >before
        for option in --output --joblog --trace; do
            run --separate-stderr "$CLEAVE" run -i g --journal j $option j-$suffix -- cat
            [ "$status" -eq 2 ]
            [[ $stderr == "cleave: --"*": 'j-$suffix' is the same file as --"*" 'j-$suffix': write to another" ]]
            untouched
        done
    done
}

@test "run: two that are written" {
    prepare
    for pair in "--output --joblog" "--output --trace" "--output --journal" "--trace --joblog" \
        "--joblog --journal" "--trace --journal"; do
        set -- $pair
        for name in none sub/../none sub/early; do
            run --separate-stderr "$CLEAVE" run -i g $1 none $2 $name -- cat
            [ "$status" -eq 2 ]
            [[ $stderr == "cleave: --"*": '"*"' is the same file as --"*" '"*"': write to another" ]]
            untouched
        done
        run --separate-stderr "$CLEAVE" run -i g $1 f $2 hard -- cat
        [ "$status" -eq 2 ]
        untouched
    done
}

@test "run: files that may be named twice" {
    prepare
    cleave 0 run -q -i /dev/null -o /dev/null --joblog /dev/null --trace /dev/null -- cat
    "$CLEAVE" run -q -i g --joblog /dev/stdout -- cat >all
    [ "$(wc -l <all)" -gt "$(wc -l <g)" ]
    cleave 0 run -q -i g -i g -o both -- cat
    cat g g | cmp - both
    "$CLEAVE" run -q -i g -o /dev/stderr --joblog /dev/stderr -- cat 2>all
    [ "$(wc -l <all)" -gt "$(wc -l <g)" ]
    # The old result as an argument: it is there until the new one is whole.
    cleave 0 run -q -i g -o both -- sh -c 'cat >/dev/null; wc -c <both'
}

@test "other verbs: no file that is read is written" {
    prepare
    same "--trace: 'f'" "--platform 'soft'" plan load -p soft -l 20 --trace f
    same "--trace: 'hard'" "--platform 'f'" simulate load -p f -l 20 --trace hard
    same "--trace: 'f'" "--platform 'f'" simulate streams -p f -T 5 --trace f
    same "--output: 'f'" "--platform 'f'" compare load -p f -l 20 -o f --force
    same "--trace: 'f'" "--costs 'f'" plan reduce --costs f --trace f
    same "--output: 'f'" "--costs 'f'" compare reduce --costs f -o f --force
    same "--output: 'f'" "TRACE 'f'" report f -o f --force
    same "--output: 'f'" "--predicted 'soft'" report g --predicted soft -o f --force
    same "--output: 'f'" "--input 'f'" calibrate -i f -o f -- cat
    same "--output: 'f'" "--hosts 'f'" calibrate -i g --hosts f -o f -- cat
    same "--output: 'f'" "--topology 'f'" calibrate --topology f -o f
    same "--trace: 'f'" "standard input" plan load -p - -l 20 --trace f <f
}

@test "a file that cannot be made is reported before the work" {
    prepare
    for words in "simulate load -p f -l 2000 --runs 100000000 --trace no/such" \
        "simulate reduce -N 1000 -d exp:1 -c 1 --runs 100000000 --trace no/such"; do
        run --separate-stderr timeout 60 "$CLEAVE" $words
        [ "$status" -eq 2 ]
        [ "$stderr" = "cleave: --trace: cannot write 'no/such': No such file or directory" ]
        untouched
    done
    touch out
    run --separate-stderr timeout 60 "$CLEAVE" compare load -p f -l 2000 --error 0.3 --runs 100000000 -o out
    [ "$status" -eq 2 ]
    [ "$stderr" = "cleave: --output: 'out' exists; use --force to replace it" ]
    [ ! -s out ]
}
