# run_headers.bats -- headers of several records, of lines that begin alike, and of outputs.
# SPDX-License-Identifier: MIT

load helper
load job

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# says TEXT -- the last run wrote this one line to standard error, and nothing else.
says() {
    printf '%s\n' "$1" | diff - err
}

# What every command got, with a dot behind each chunk, on one line.
shown() {
    tr '\n' ' ' <out
}

@test "--header N: the first N records, from files and streams" {
    prepare
    printf 'a\n"b\nc"\nd\n1\n2\n3\n' >in
    job -i in --split csv --header 3 --block 1 -j 2 --header-out 0 -- sh -c 'cat; echo .'
    [ "$(shown)" = 'a "b c" d 1 . a "b c" d 2 . a "b c" d 3 . ' ]
    cat in | job --split csv --header=3 --block 1 -j 2 --header-out 0 -- sh -c 'cat; echo .'
    [ "$(shown)" = 'a "b c" d 1 . a "b c" d 2 . a "b c" d 3 . ' ]
    # One that comes slowly is waited for.
    { echo a; sleep 0.1; echo b; sleep 0.1; echo c; echo d; } |
        job --header 2 --block 1 -j 2 --header-out 0 -- sh -c 'cat; echo .'
    [ "$(shown)" = 'a b c . a b d . ' ]
    # A file that has no more than its header is one chunk.
    printf 'a\nb\n' >short
    job -i short --header 5 --block 1 --header-out 0 -- sh -c 'cat; echo .'
    [ "$(shown)" = 'a b . ' ]
    # Without a number it is one record, and the command is a command.
    job -i in --header --block 100 -- head -n 1
    [ "$(shown)" = 'a ' ]
    fails_with 2 -i in --header 0 -- cat
    says "cleave: --header: expected a number of records from 1 to 1000000, or how its lines begin, as '#', got '0'"
}

@test "--header '#': all lines at the start that begin so, whatever is in them" {
    prepare
    printf '# a,"quote\n## b\n1,"x\ny"\n2,#\n3,z\n' >in
    job -i in --split csv --header '#' --block 1 -j 2 --header-out 0 -- sh -c 'cat; echo .'
    [ "$(shown)" = '# a,"quote ## b 1,"x y" . # a,"quote ## b 2,# . # a,"quote ## b 3,z . ' ]
    cat in | job --split csv --header '#' --block 1 -j 2 --header-out 0 -- sh -c 'cat; echo .'
    [ "$(shown)" = '# a,"quote ## b 1,"x y" . # a,"quote ## b 2,# . # a,"quote ## b 3,z . ' ]
    # A quote in a comment cuts no last record short, and lines without one have no header.
    job -i in --split csv --header '#' --header-out '#' -- cat
    cmp in out
    printf '1\n2\n' >in
    job -i in --header '#' --block 1 -j 1 --header-out 0 -- sh -c 'cat; echo .'
    [ "$(shown)" = '1 . 2 . ' ]
    fails_with 2 -i in --split fixed:2 --header '#' -- cat
    says "cleave: --header: expected lines that begin with '#', but fixed has no such lines"
}

@test "--header '#': files have the same, or the first line that differs is shown" {
    prepare
    printf '#v\n#a\n1\n' >one
    printf '#v\n#a\n2\n' >two
    printf '#v\n#b\n3\n' >three
    job -i one -i two --header '#' --block 1 --header-out 0 -- sh -c 'cat; echo .'
    [ "$(shown)" = '#v #a 1 . #v #a 2 . ' ]
    fails_with 2 -i one -i two -i three --header '#' -- cat
    says "cleave: three: expected the header '#a' of one, got '#b'"
}

@test "--header-out: the header of outputs is written once" {
    prepare
    { echo k,v; seq -f '%.0f,x' 2000; } >in
    job -i in --split csv --header --header-out --block 500 -j 2 -- cat
    cmp in out
    job -i in --split csv --header --header-out --block 500 -j 2 -u -- cat
    [ "$(sort out)" = "$(sort in)" ]
    [ "$(head -n 1 out)" = k,v ]
    # Through a pipe, and with a journal that is resumed.
    "$CLEAVE" run -q -i in --split csv --header --header-out --block 500 -j 2 -- cat | cmp in
    job -i in --split csv --header --header-out --block 500 --journal j.db -- cat
    job -i in --split csv --header --header-out --journal j.db --resume -- cat
    cmp in out
    # Of lines that begin alike, and outputs without bytes have none.
    seq 100 >numbers
    job -i numbers --header-out '@' --block 30 -j 2 -- \
        sh -c 'grep 7 >k.$$; [ -s k.$$ ] && { echo @a; echo @b; cat k.$$; }; rm k.$$'
    { echo @a; echo @b; grep 7 numbers; } | cmp - out
    # Alone it means what --header does.
    { echo '#a'; echo '#b'; seq 200; } >in
    job -i in --header '#' --header-out --block 100 -j 2 -- cat
    cmp in out
    job -i in --header 2 --header-out --block 100 -j 2 -- cat
    cmp in out
    job -i in --header : --header-out --block 100 -j 2 -- cat
    cmp in out
}

@test "--header-out: hosts give the same; another header is an error that shows both" {
    prepare
    { echo k,v; seq -f '%.0f,x' 2000; } >in
    hosts 'name: a, slots: 2' >h.yaml
    job -i in --header --header-out --block 2k --hosts h.yaml -- cat
    cmp in out
    fails_with 1 -i in --split lines --header-out --block 2k -j 1 -- head -n 1
    grep -q "^cleave: --header-out: expected the header 'k,v', as in the first output, got '" err
    [ "$(head -n 1 out)" = k,v ]
    fails_with 2 -i in --header-out --reduce 'sort -m {1} {2}' -- cat
    says "cleave: --header-out: cannot be combined with --reduce, which gets the headers of all outputs"
}

@test "--header-out: a long line shows its difference, and the option for lines that differ each time" {
    prepare
    seq 1000 >in
    cat >each <<'END'
#!/bin/sh
read -r first
printf '%s\n' "##same" "$1$first$2" "#CHROM"
END
    chmod +x each
    long=$(printf 'x%.0s' $(seq 120))
    fails_with 1 -i in --header-out '#' --block 1k -j 1 -- ./each "##$long Date=" ' end'
    says "cleave: --header-out: expected the header '...$(printf 'x%.0s' $(seq 24)) Date=1 end', as in the first output, got '...$(printf 'x%.0s' $(seq 24)) Date=278 end'"
    fails_with 1 -i in --header-out '#' --block 1k -j 1 -- ./each '##bcftools_viewCommand=view; Date=' ''
    says "cleave: --header-out: expected the header '##bcftools_viewCommand=view; Date=1', as in the first output, got '##bcftools_viewCommand=view; Date=278'; bcftools writes the time into it: type 'bcftools COMMAND --no-version'"
    fails_with 1 -i in --header-out '#' --block 1k -j 1 -- ./each '##bcftools=' ''
    says "cleave: --header-out: expected the header '##bcftools=1', as in the first output, got '##bcftools=278'"
    sed -i 's/"##same" //; s/"#CHROM"/@CO/' each
    fails_with 1 -i in --header-out '@' --block 1k -j 1 -- ./each "$(printf '@PG\tID:samtools\tPN:samtools\tCL:samtools view -o ')" ''
    grep -q "view -o 278'; samtools writes its command into it: type 'samtools COMMAND --no-PG'" err
}

@test "outputs that each have a header, or more than is written once, cause a note" {
    prepare
    printf 'id,n\n1,2\n3,4\n5,6\n' >in.csv
    # told TEXT ARGUMENT... -- the run says this line, beside its summary.
    told() {
        local text=$1
        shift
        "$CLEAVE" run -j 2 --block 1 "$@" >out 2>err
        grep -qxF "cleave: $text" err
    }
    told "every output begins with 'id,n': if that is a header, --header-out writes it once" \
        -i in.csv --header-out 0 -- cat
    told "every output begins with '@HD': if that is a header, --header-out '@' writes it once" \
        -i in.csv --split lines -- sh -c 'printf "@HD\tVN\n@SQ\n"; cat'
    told "after the header that is written once, outputs have more lines that begin with @: --header-out '@' removes all of them" \
        -i in.csv --split lines --header-out -- sh -c 'printf "@HD\tVN\n@SQ\n"; cat'
    # Nothing is said where there is nothing to say.
    silent() {
        "$CLEAVE" run -j 2 --block 1 "$@" >out 2>err
        run ! grep -qE 'every output|after the header' err
    }
    silent -i in.csv --header --header-out 0 -- wc -l
    silent -i in.csv --split csv --header -- sed 1d
    silent -i in.csv --split csv --header --header-out -- cat
    silent -i in.csv --split lines --header-out '@' -- sh -c 'printf "@HD\tVN\n@SQ\n"; cat'
    silent -i in.csv --split lines -- tr a-z A-Z
    silent -q -i in.csv --header-out 0 -- cat
    # Nor of one output, be it that others are empty.
    silent -i in.csv --header-out 0 -- awk -F , '/^3/ { print "id,n"; print }'
    [ "$(wc -l <out)" = 2 ]
}

@test "a journal of another header is another run's" {
    prepare
    seq 10 >in
    job -i in --header 2 --journal j.db -- cat
    fails_with 2 -i in --header 3 --journal j.db --resume -- cat
    says "cleave: j.db: the journal belongs to another run: expected the splitter 'lines --header 2', got 'lines --header 3'"
}
