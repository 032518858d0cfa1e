# split.bats -- cleave split: an input as files. SPDX-License-Identifier: MIT
load helper

# What a hung call would take; nothing here depends on how long things last.
prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# cut ARGUMENT... -- cleave split -q; the status must be 0.
cut_up() {
    timeout $LONG "$CLEAVE" split -q "$@" >out 2>err || {
        echo "cleave split $*: exit status $?"
        cat err
        return 1
    }
}

# refuses STATUS TEXT ARGUMENT... -- it ends so, with this one line.
refuses() {
    local expected=$1 text=$2 got=0
    shift 2
    timeout $LONG "$CLEAVE" split -q "$@" >out 2>err || got=$?
    printf 'cleave: %s\n' "$text" | diff - err
    [ "$got" -eq "$expected" ]
}

@test "concatenated pieces are the input, with every splitter" {
    prepare
    seq 2000 >in
    for how in '-n 7' '--size 1k' '--records 123' '--size 100 --records 7' '-n 40 --together .$' \
        '-n 3 --split paragraph' '-n 5 --split fixed:3'; do
        rm -rf parts
        mkdir parts
        head -c 8892 in >cut
        cut_up -i cut $how -o 'parts/p-{}.txt'
        cat parts/* | cmp - cut
    done
    rm -rf parts
    mkdir parts
    cut_up -i in -n 7 -o 'parts/p-{}'
    [ "$(ls parts | tr '\n' ' ')" = 'p-001 p-002 p-003 p-004 p-005 p-006 p-007 ' ]
    # About as many bytes each, and whole lines.
    [ "$(wc -c parts/p-* | sort -n | sed -n '1s/ p.*//p')" -gt 1200 ]
    for part in parts/*; do [ "$(tail -c 1 "$part" | od -An -c | tr -d ' ')" = '\n' ]; done
    # More pieces than records: some are empty.
    printf 'a\nb\n' >two
    cut_up -i two -n 5 -o 't-{}'
    [ "$(cat t-* | tr '\n' ' ')" = 'a b ' ]
    [ "$(ls t-* | wc -l)" -eq 5 ]
}

@test "a stream is cut by bytes, records and keys" {
    prepare
    seq 2000 >in
    cat in | cut_up --records 600 -o 'r-{}'
    [ "$(wc -l <r-000004)" -eq 200 ]
    cat r-* | cmp - in
    cat in | cut_up --size 3k -o 's-{}'
    [ "$(ls s-* | wc -l)" -eq 3 ]
    cat s-* | cmp - in
    cat in | cut_up --together '^.' -o 'k-{}'
    cat k-* | cmp - in
    [ "$(ls k-* | wc -l)" -eq 29 ]
    text="-n: expected a file of known length, got a stream, or a compressed file without its length (--size or --records)"
    refuses 2 "$text" -n 3 -o 'n-{}' < <(cat in)
    # What needs a frame of its own for each piece is held in memory, so that a piece of any size cannot be.
    head -c 5000000 /dev/urandom | base64 | sed 's/.*/"&"/' | gzip -1 -c >in.gz
    refuses 2 "$text" -i in.gz --split json -n 3 -o 'n-{}'
}

@test "with --header every piece has its own header, for one input or several" {
    prepare
    { echo id; seq 100; } >a
    { echo id; seq 101 200; } >b
    cut_up -i a -i b --split csv --header -n 3 -o 'h-{}.csv'
    for part in h-*; do
        [ "$(head -n 1 "$part")" = id ]
        [ "$(grep -c id "$part")" -eq 1 ]
    done
    grep -hv id h-* | cmp - <(seq 200)
    cat a | cut_up --header --records 30 -o 'g-{}'
    [ "$(wc -l g-* | tr -s ' \n' ' ')" = ' 31 g-000001 31 g-000002 31 g-000003 11 g-000004 104 total ' ]
    # Pieces of an array are arrays.
    printf '[1, 2,\n3]\n' >in.json
    cut_up -i in.json --split json --size 1 -o 'j-{}'
    [ "$(cat j-* | tr '\n' ' ')" = '[1] [ 2] [ 3] ' ]
    # The end of a file is the end of a record.
    printf 'x\ny' >one
    printf 'z\n' >two
    cut_up -i one -i two -n 1 -o 'e-{}'
    [ "$(cat e-001)" = "$(printf 'x\ny\nz')" ]
}

@test "files that exist, inputs, and what cannot be written are refused" {
    prepare
    seq 100 >in
    echo old >p-002
    refuses 2 "cannot write 'p-002': it exists; use --force to replace it" -i in -n 2 -o 'p-{}'
    [ "$(cat p-002)" = old ]
    [ ! -e p-001 ]
    cut_up -i in -n 2 -o 'p-{}' --force
    cat p-001 p-002 | cmp - in
    refuses 2 "cannot write 'p-002': it is an input" -i p-002 -n 2 -o 'p-{}' --force
    [ "$(ls -A | grep -c part)" -eq 0 ]
    refuses 2 "--output: expected a name with one {}, where the number goes, as in part-{}, got 'p'" -i in -n 2 -o p
    refuses 2 "--output: cannot write 'p-{}.zip': .zip is not written, but .gz, .bgz, .zst, .xz, .bz2 and .lz4; another program can read standard output" \
        -i in -n 2 -o 'p-{}.zip'
    refuses 2 "expected --number, --size, --records or --together: how large are pieces?" -i in -o 'p-{}'
    refuses 2 "expected --number or --size, got both" -i in -n 2 --size 3 -o 'p-{}'
    refuses 2 "cannot write 'in/deep/p-001': cannot make the folder 'in/deep': Not a directory" \
        -i in -n 1 -o 'in/deep/p-{}'
    cut_up -i in -n 2 -o 'new/deep/p-{}' # folders that are not there are made
    cat new/deep/p-001 new/deep/p-002 | cmp - in
    printf 'a,"b\n' >torn
    refuses 2 "torn: the last record, from byte 0 on, is cut short by the end" -i torn --split csv -n 1 -o 'torn-{}'
}

@test "pieces are compressed if their name ends so, and --json lists them" {
    prepare
    seq 3000 >in
    cut_up -i in -n 3 -o 'z-{}.zst'
    for part in z-*; do [ "$(head -c 4 "$part" | od -An -tx1 | tr -d ' ')" = 28b52ffd ]; done
    [ "$(cat z-* | wc -c)" -lt 9000 ]
    # Whatever the form, pieces are decoded to the input, by others too; and so is none of it.
    for form in gz:gzip bgz:gzip zst:zstd xz:xz bz2:bzip2 lz4:lz4; do
        cut_up -i in -n 3 -o "f-{}.${form%:*}"
        timeout $LONG "$CLEAVE" run -q -i "f-*.${form%:*}" --decode "${form#*:}" -- cat | cmp - in
    done
    gzip -dc f-*.gz | cmp - in
    [ "$(head -c 4 f-001.gz | od -An -tx1 | tr -d ' ')" = 1f8b0804 ]
    printf '' >none
    cut_up -i none -n 1 -o 'e-{}.gz'
    [ "$(gzip -dc e-001.gz | wc -c)" -eq 0 ]
    printf 'a\n' >one
    timeout $LONG "$CLEAVE" split -i one -n 1 -o 'o-{}' --json >json
    [ "$(tr -d ' \n' <json)" = '{"pieces":[{"name":"o-001","begin":0,"end":2,"bytes":2}],"input_bytes":2,"bytes":2,"done":true}' ]
    timeout $LONG "$CLEAVE" split -i in -n 3 -o 'j-{}' --json >json # each piece on a line
    [ "$(grep -c '^    {"name": "j-00[123]", .*}' json)" -eq 3 ]
    timeout $LONG "$CLEAVE" split -i in -n 2 -o 'q-{}' 2>err
    [ "$(cat err)" = '13893 bytes in 2 pieces' ]
}

@test "small files of any format are cut by number, with one block or none" {
    prepare
    seq 3000 >in
    : >empty
    for form in gz bgz zst xz bz2 lz4; do
        rm -rf parts
        cut_up -i "$CLEAVE_SOURCE_DIR/tests/packed/seq.$form" -n 3 -o 'parts/p-{}'
        [ "$(ls parts | wc -l)" -eq 3 ]
        cat parts/* | cmp - in
        cut_up -i empty -n 1 -o "empty-{}.$form"
        rm -rf parts
        cut_up -i empty-001.$form -n 2 -o 'parts/p-{}'
        [ "$(ls parts)" = "$(printf 'p-001\np-002')" ]
        [ -z "$(cat parts/*)" ]
    done
}

@test "large files of one member are cut by number, decoded twice but no more" {
    prepare
    { echo head; head -c 6000000 /dev/urandom | base64 -w 60; } >in
    gzip -1 -c in >in.gz
    for how in '-n 1' '-n 7' '-n 7 --header' '-n 40 --together ^.'; do
        rm -rf parts whole
        cut_up -i in.gz $how -o 'parts/p-{}'
        cut_up -i in $how -o 'whole/p-{}'
        diff <(ls parts) <(ls whole)
        cat parts/* | cmp - <(cat whole/*)
        # About as many bytes each.
        for part in parts/*; do
            [ $(($(stat -c %s $part) - $(stat -c %s whole/${part#*/}))) -lt 4000 ]
            [ $(($(stat -c %s whole/${part#*/}) - $(stat -c %s $part))) -lt 4000 ]
        done
    done
    # Records that are longer than a piece: some files are empty.
    { seq 10; head -c 6000000 /dev/urandom | base64 -w 0; echo; } | gzip -1 -c >long.gz
    rm -rf parts
    cut_up -i long.gz -n 5 -o 'parts/p-{}'
    [ "$(ls parts | wc -l)" -eq 5 ]
    cat parts/* | cmp - <(gzip -dc long.gz)
    # One that is damaged is told before anything is written.
    rm -rf parts
    head -c -100 in.gz >cut.gz
    ! "$CLEAVE" split -q -i cut.gz -n 5 -o 'parts/p-{}' 2>err
    grep -q "^cleave: cut.gz: cut short: " err
    [ ! -e parts ]
}

@test "several frames of zstd have a table at their end, in the seekable format" {
    prepare
    seq 1300000 >in
    cut_up -i in -n 1 -o 'z-{}.zst'
    [ "$(tail -c 9 z-001.zst | od -An -tx1 | tr -d ' ')" = 0300000000b1ea928f ]
    timeout $LONG "$CLEAVE" run -q -i z-001.zst -j 2 -- cat | cmp - in
    ! command -v zstd >/dev/null || zstd -dc z-001.zst | cmp - in
    # One that is damaged is not believed: the frames are walked over.
    size=$(wc -c <z-001.zst)
    { head -c $((size - 10)) z-001.zst; tail -c 10 z-001.zst | tr '\0' '\1'; } >bad.zst
    timeout $LONG "$CLEAVE" run -q -i bad.zst -j 2 -- cat | cmp - in
    # One that is wrong is an error, here and where hosts decode: the first frame has 7 bytes less than it says.
    cp z-001.zst lie.zst
    printf '\007' | dd of=lie.zst bs=1 seek=$((size - 29)) conv=notrunc status=none
    hosts 'name: a, slots: 2' >h.yaml
    run -2 timeout $LONG "$CLEAVE" run -q -i lie.zst -j 2 -- wc -c
    run -1 timeout $LONG "$CLEAVE" run -q -i lie.zst --block 4300000 --hosts h.yaml -- wc -c
}

@test "compressed inputs are cut by their contents" {
    prepare
    for form in gz bgz zst xz bz2 lz4; do
        rm -f p-*
        timeout $LONG "$CLEAVE" run -q -i "$CLEAVE_SOURCE_DIR/tests/packed/seq.$form" -- cat >expected
        cut_up -i "$CLEAVE_SOURCE_DIR/tests/packed/seq.$form" --records 100 -o 'p-{}'
        cat p-* | cmp - expected
        [ "$(wc -l <p-000002)" -eq 100 ]
    done
    # Of several blocks, in parallel: what they hold is written, not what they are.
    seq 100000 >in
    for form in gz zst bgz; do
        rm -f p-* q-*
        cut_up -i in --size 200k -o "q-{}.$form"
        cat q-* >many
        cut_up -i many -n 5 -o 'p-{}'
        cat p-* | cmp - in
        cut_up -i many -i in -n 2 -o 'p-{}.gz'
        timeout $LONG "$CLEAVE" run -q -i 'p-*.gz' -- cat | cmp - <(cat in in)
    done
    head -c 3000 "$CLEAVE_SOURCE_DIR/tests/packed/seq.gz" >cut.gz
    run timeout $LONG "$CLEAVE" split -q -i cut.gz --records 100 -o 'c-{}'
    [ "$status" -eq 2 ]
    [[ $output == "cleave: cut.gz: "* ]]
    refuses 2 "--decode: expected auto, none, gzip, bgzf, zstd, xz, bzip2, lz4, got 'arj'" -i cut.gz --decode arj -n 1 -o 'c-{}'
}

@test "--index keeps where records begin, for the next run" {
    prepare
    for i in 1 2 3 4 5 6; do head -c 102400 /dev/zero >m$i; done
    tar -cf in.tar m?
    job() { timeout $LONG "$CLEAVE" run -q -i in.tar --split tar --block 140k "$@" -- cat >out 2>err; }
    touch -d @1000000000 in.tar
    cut_up -i in.tar --split tar --index
    job
    cmp in.tar out
    # It is used: without it the head of each member would be looked at.
    printf 'x' | dd of=in.tar bs=1 seek=102912 conv=notrunc 2>no
    touch -d @1000000000 in.tar
    job
    cmp in.tar out
    cut_up -i in.tar --split tar -n 2 -o 'p-{}'
    cat p-001 p-002 | cmp - in.tar
    run ! job --records 1 # another way to cut: it is of no use
    grep -q 'byte 102912: expected a head of tar' err
    # It must be of this file, as it is now, and whole.
    touch -d @1000000001 in.tar
    run timeout $LONG "$CLEAVE" run -q -i in.tar --split tar -- cat
    [ "$status" -eq 2 ]
    [[ $output == *"in.tar.cleave-index: the file has changed since it was made: make it again by cleave split with --index and --force, or remove it" ]]
    touch -d @1000000000 in.tar
    sed -i 's/^205824/205825/' in.tar.cleave-index
    run timeout $LONG "$CLEAVE" run -q -i in.tar --split tar -- cat
    [ "$status" -eq 2 ]
    [[ $output == *"in.tar.cleave-index: damaged, or no index: make it again by cleave split with --index and --force, or remove it" ]]
    timeout $LONG "$CLEAVE" run -q -i in.tar --split fixed:512 -- cat | cmp - in.tar # needs none
}

@test "--index does not overwrite an input, and does not wait for input" {
    cd "$BATS_TEST_TMPDIR"
    seq 1000 | sed 's/$/,x/' >a.csv
    cp a.csv b.csv
    cp a.csv kept
    ln -s a.csv a.csv.cleave-index
    refuses 2 "cannot write '$PWD/a.csv.cleave-index': it is an input" --index --force --split csv -i a.csv
    cmp a.csv kept
    # Nor that of another one; and nothing is made before that is known.
    ln -sf a.csv b.csv.cleave-index
    rm a.csv.cleave-index
    refuses 2 "cannot write '$PWD/b.csv.cleave-index': it is an input" --index --force --split csv -i a.csv -i b.csv
    cmp a.csv kept
    [ ! -e a.csv.cleave-index ]
    mkfifo a.csv.cleave-index
    run timeout -k 5 200 "$CLEAVE" run -q -i a.csv --split csv -- cat
    [ "$status" -eq 2 ]
    [[ $output == *"a.csv.cleave-index: "*": make it again by "* ]]
}

@test "--index of compressed files, and formats that need no index" {
    prepare
    seq 50000 >in
    cut_up -i in -n 1 -o 'in-{}.gz'
    timeout $LONG "$CLEAVE" split -i in-001.gz --records 7000 --index 2>err
    [ "$(cat err)" = '288894 bytes, 5 places noted where a record begins' ]
    timeout $LONG "$CLEAVE" run -q -i in-001.gz --records 7000 -- wc -l >out
    [ "$(sort out | uniq -c | tr -s ' \n' ' ')" = ' 1 1000 7 7000 ' ]
    refuses 2 "cannot write '$PWD/in-001.gz.cleave-index': it exists; use --force to replace it" \
        -i in-001.gz --records 7000 --index
    refuses 2 "--index: expected records that are found from the start of a file, as with csv or --records; records of lines are found anywhere" -i in --index
    refuses 2 "--index: expected files that can be read at any offset, got a stream" --split csv --index < <(cat in)
    refuses 2 "--index: expected neither --number, --size, --output nor --json: no pieces are written" -i in --index -n 3
    refuses 2 "--output NAME is required, or --index" -i in -n 3
}

@test "pieces of megabytes are the input, and a failed write is reported" {
    prepare
    { echo head; seq 2000000; } >in
    for how in '-n 1' '-n 5' '--size 3M' '-n 4 --header'; do
        rm -rf parts
        cut_up -i in $how -o 'parts/p-{}'
        { echo head; cat parts/* | grep -v head; } | cmp - in
    done
    rm -rf parts
    status=0
    (ulimit -f 2000; exec timeout $LONG "$CLEAVE" split -q -i in -n 4 -o 'parts/p-{}' 2>err) || status=$?
    [ "$status" -eq 1 ]
    grep -Eqx "cleave: cannot write 'parts/p-00[1-4]': File too large" err
    [ -z "$(ls -A parts)" ]
}
