# run_inputs.bats -- what cleave run takes for its input, and what it refuses.
# SPDX-License-Identifier: MIT
load helper
load job

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
}

# says TEXT -- the last run wrote this one line to standard error, and nothing else.
says() {
    printf '%s\n' "$1" | diff - err
}

# --- where one file ends and the next begins --------------------------------------------------

# joined HOW FIRST SECOND EXPECTED -- two files, written by printf, and what cat makes of them.
joined() {
    printf "$2" >one
    printf "$3" >two
    printf "$4" >expected
    job -i one -i two --split "$1" --no-header -- cat
    cmp expected out || {
        echo "$1: $(od -c out)"
        return 1
    }
}

@test "a file boundary is a record boundary, for every splitter" {
    prepare
    joined lines 'x\ny' 'z\n' 'x\ny\nz\n'
    joined jsonl '{"a":1}' '[2]' '{"a":1}\n[2]'
    joined nul 'x\0y' 'z' 'x\0y\0z'
    joined csv 'a,"b\nc"' 'd,e\n' 'a,"b\nc"\nd,e\n'
    joined csv:tab 'a\tb' 'd\n' 'a\tb\nd\n'
    joined fasta '>a\nAC' '>b\nGT\n' '>a\nAC\n>b\nGT\n'
    joined fastq '@a\nAC\n+\nII' '@b\nG\n+\nI' '@a\nAC\n+\nII\n@b\nG\n+\nI'
    joined paragraph 'a\nb' 'c\n' 'a\nb\n\nc\n'
    joined paragraph 'a\n' 'c\n' 'a\n\nc\n'
    joined paragraph 'a\r\n\r\n' 'c\n' 'a\r\n\r\nc\n'
    joined 'regex:[a-z]' 'a 1' 'b 2' 'a 1\nb 2'
    joined fixed:2 'abcd' 'ef' 'abcdef'
}

@test "nothing is put where nothing is missing: ends, empty files, the last file" {
    prepare
    joined lines 'x\r\ny\r\n' 'z' 'x\r\ny\r\nz'
    joined lines '\n' 'z' '\nz'
    joined lines '' 'z' 'z'
    joined lines 'x' '' 'x'
    joined nul '\0' 'z\0' '\0z\0'
    # A mark at the start of the second file is of its bytes, and so is half a line end.
    joined lines 'x\r' '\357\273\277z\n' 'x\r\n\357\273\277z\n'
    printf 'x' >one
    : >none
    printf 'z' >two
    job -i none -i one -i none -i none -i two -i none -- cat
    [ "$(od -An -c out | tr -d ' ')" = 'x\nz' ]
    # What a command was given is kept with it; positions are those of the files.
    fails_with 1 -i one -i two --failed bad -- false
    [ "$(cat bad/*one*0-1 | od -An -c | tr -d ' ')" = 'x\n' ]
    [ "$(cat bad/*two*0-1)" = z ]
}

@test "a command that stays, and hosts, get the same end of a file" {
    prepare
    printf 'x\ny' >one
    printf 'z\n' >two
    printf 'x\ny\nz\n' >expected
    job -i one -i two --persistent -j 1 -- cat # frames come back as they are
    cmp expected out
    hosts 'name: a, slots: 1' >h.yaml
    job -i one -i two --hosts h.yaml -- cat
    cmp expected out
    job -i one -i two --hosts h.yaml --shared-input --journal j.db -- cat
    cmp expected out
    # What was hashed over there is what is hashed here.
    job -i one -i two --journal j.db --resume --joblog log -- cat
    cmp expected out
    [ "$(wc -l <log)" -eq 1 ]
}

@test "a resumed run repeats a chunk whose end changed with the following files" {
    prepare
    printf 'x\ny' >one
    : >two
    job -i one -i two --journal j.db -- cat
    [ "$(od -An -c out | tr -d ' ')" = 'x\ny' ]
    printf 'z\n' >two
    job -i one -i two --journal j.db --resume -- cat
    [ "$(cat out)" = "$(printf 'x\ny\nz')" ]
}

# --- headers ----------------------------------------------------------------------------------

@test "--header: every command gets one header, and files have the same" {
    prepare
    printf 'a,"b\nc"\n1,2\n3,4\n' >one
    # A mark, other line ends, a file of nothing else, one without its end: all the same.
    printf '\357\273\277a,"b\nc"\r\n5,6\r\n' >two
    printf 'a,"b\nc"' >only
    : >none
    job -i none -i one -i only -i two --split csv --header --header-out 0 --block 1 -j 2 --joblog log -- \
        sh -c 'cat; echo .'
    [ "$(tail -n +2 log | wc -l)" -eq 4 ]
    [ "$(tr '\r\n' '  ' <out)" = "$(printf 'a,"b c" 1,2 . a,"b c" 3,4 . a,"b c" . \357\273\277a,"b c"  5,6  . ')" ]
}

@test "--header: files whose headers differ are refused, with both headers" {
    prepare
    printf 'a,b\n1,2\n' >one
    printf 'b,a\n3,4\n' >two
    fails_with 2 -i one -i one -i two --split csv --header -- cat
    says "cleave: two: expected the header 'a,b' of one, got 'b,a'"
    [ ! -s out ]
    # One that merely begins alike; the end of a line is no part of it, a space is.
    printf 'a,b,c\n3,4\n' >two
    fails_with 2 -i one -i two --header -- cat
    says "cleave: two: expected the header 'a,b' of one, got 'a,b,c'"
    printf 'a,b \n' >two
    fails_with 2 -i one -i two --header -- cat
    # Long ones are cut, and what does not show is written out.
    { head -c 1000 /dev/zero | tr '\0' x; echo; } >one
    printf 'a\033[31mb\n' >two
    fails_with 2 -i one -i two --header -- cat
    [ "$(wc -c <err)" -lt 250 ]
    grep -q 'got .a\\x1b\[31mb' err
    # Without --header, all lines are records.
    job -i one -i two -- wc -l
}

# --- records that are cut short ---------------------------------------------------------------

@test "a record that the end of the input cuts short is an error" {
    prepare
    printf '@1\nA\n+\nI\n@2\nAC\n+\nI' >reads
    fails_with 2 -i reads --split fastq -- cat
    says "cleave: reads: the last record, from byte 9 on, is cut short by the end"
    [ ! -s out ] # it is seen before anything runs
    fails_with 2 --split fastq -- cat < <(cat reads)
    says "cleave: standard input: the last record, from byte 9 on, is cut short by the end"
    cmp reads out # which comes too late for that
    printf 'a,b\n1,"2\n' >table
    printf 'a,b\n' >more
    for files in '-i table' '-i table -i more' '-i more -i table'; do
        fails_with 2 $files --split csv -- cat
        says "cleave: table: the last record, from byte 4 on, is cut short by the end"
    done
    fails_with 2 --split csv -- cat <table
    printf 'abcdefg' >seven
    fails_with 2 -i more -i seven --split fixed:4 -- cat
    says "cleave: seven: expected records of 4 bytes, got 7 bytes, which end in a record cut short (fixed:1 cuts anywhere)"
    [ ! -s out ]
    fails_with 2 --split fixed:4 -- cat < <(cat seven)
    says "cleave: standard input: the last record, from byte 4 on, is cut short by the end"
    job -i seven --split fixed:7 -- cat
    cmp seven out
}

@test "pairs with unequal numbers of records: both are named" {
    prepare
    printf '@1\nA\n+\nI\n@2\nA\n+\nI\n@3\nA\n+\nI\n' >three
    head -n 8 three >two
    fails_with 2 -i three --pairs two --split fastq -- cat
    says "cleave: two: expected 3 records, as many as three has, got 2"
    fails_with 2 -i two --pairs three --split fastq -- cat
    says "cleave: three: expected 2 records, as many as two has, got 3"
    head -n 11 three >torn
    fails_with 2 -i three --pairs torn --split fastq -- cat
    says "cleave: torn: the last record, from byte 18 on, is cut short by the end"
}

# --- expressions ------------------------------------------------------------------------------

@test "--split regex: what never can match is refused" {
    prepare
    printf 'a\nb\na\nb\n' >in
    fails_with 2 -i in --split 'regex:\d' -- wc -l
    job -i in --split 'regex:a$' --block 1 -- wc -l
    [ "$(tr '\n' ' ' <out)" = '2 2 ' ]
    # Over lines: as \n, and as it is.
    printf 'a\nb\na\nc\na\nb\n' >in
    job -i in --split 'regex:a\nb' --block 1 -- wc -l
    [ "$(tr '\n' ' ' <out)" = '4 2 ' ]
    cat in | job --split 'regex:a
b' --block 1 -- wc -l
    [ "$(tr '\n' ' ' <out)" = '4 2 ' ]
}

# --- what is no text --------------------------------------------------------------------------

@test "archives and formats without a decoder are refused, with the command to type" {
    prepare
    seq 1 1000 >in
    printf 'LZIP\001' >in.lz
    fails_with 2 -i in -i in.lz -- wc -l
    says "cleave: in.lz: expected text records, got lzip: type 'lzip -dc in.lz | cleave run ...', or say --decode none to cut the bytes without decoding"
    [ ! -s out ]
    cp in.lz 'a name'
    fails_with 2 -i 'a name' -- wc -l
    says "cleave: a name: expected text records, got lzip: type 'lzip -dc FILE | cleave run ...', or say --decode none to cut the bytes without decoding"
    tar cf in.tar in
    for how in lines nul csv jsonl fasta paragraph 'regex:x'; do
        fails_with 2 -i in.tar --split $how -- wc -l
        says "cleave: in.tar: expected text records, got tar: type 'tar -xOf in.tar | cleave run ...', or say --split tar to share out its members"
    done
    printf '@a\nA\n+\nI\n' >reads
    fails_with 2 -i reads --pairs in.lz --split fastq -- cat
    grep -q '^cleave: in.lz: expected text records, got lzip' err
    # What it says works.
    tar -xOf in.tar | job -- cat
    cmp in out
    # The same inside something that is decoded.
    gzip in.tar
    fails_with 2 -i in.tar.gz -- cat
    says "cleave: in.tar.gz: expected text records inside gzip, got tar: type 'zcat in.tar.gz | tar -xO | cleave run ...', or say --split tar to share out its members"
    fails_with 2 -- cat < <(cat in.tar.gz)
    says "cleave: standard input: expected text records inside gzip, got tar: type 'zcat | tar -xO | cleave run ...', or say --split tar to share out its members"
    printf 'BAM\001' | gzip >in.bam
    fails_with 2 -i in.bam --split lines -- cat
    grep -q "got BAM: type 'samtools view in.bam | cleave run ...', or say --split bam to share out its records" err
}

@test "standard input is looked at, too, however slowly it comes" {
    prepare
    printf 'LZIP\001' >in.lz
    fails_with 2 -- wc -l <in.lz
    says "cleave: standard input: expected text records, got lzip: put 'lzip -dc |' before cleave run, or say --decode none to cut the bytes without decoding"
    fails_with 2 -- wc -l < <(printf 'L'; sleep 0.1; printf 'ZIP'; sleep 0.1; printf '\001\n')
    grep -q 'got lzip' err
    seq 1 1000 | gzip >in.gz
    job -- cat < <(head -c 1 in.gz; sleep 0.1; tail -c +2 in.gz | head -c 1; sleep 0.1; tail -c +3 in.gz)
    seq 1 1000 | cmp - out
    seq 1 100 >in
    tar cf in.tar in
    fails_with 2 --split nul -- wc -l < <(head -c 120 in.tar; sleep 0.1; tail -c +121 in.tar)
    grep -q 'got tar' err
    # What only begins like it is passed on whole.
    for text in '\037' 'P' 'PK\n' 'SQLite format\n' 'a\0\0\0'; do
        printf "$text" >begins
        job -- cat < <(cat begins)
        cmp begins out
    done
}

@test "an input without line ends goes to one worker, with a note" {
    prepare
    local line='no line ends in its first MiB, and one worker had all of it; it seems to be'
    { printf '['; seq -s, 300000 | tr -d '\n'; printf ']'; } >array.json
    seq 300000 | tr '\n' '\r' >returns
    head -c 2000000 /dev/zero | tr '\0' x >long
    # A small one is told too, but not a record of several.
    printf '[{"a": 1}, {"a": 2}]\n' >small.json
    "$CLEAVE" run -j 2 -i small.json -- cat 2>err >out
    grep -qFx "cleave: small.json is one JSON array, for one worker: --split json to share out its elements, --split lines if not" err
    printf '[1, 2]\n[3]\n' >several.jsonl
    "$CLEAVE" run -j 2 -i several.jsonl -- cat 2>err >out
    grep -qFx "cleave: several.jsonl is JSON lines: --split lines if not" err
    "$CLEAVE" run -j 2 -i array.json -- cat 2>err >out
    grep -qFx "cleave: array.json is one JSON array, for one worker: --split json to share out its elements, --split lines if not" err
    "$CLEAVE" run -j 2 -- cat 2>err >out < <(cat array.json)
    grep -qFx "cleave: standard input is one JSON array, for one worker: --split json to share out its elements, --split lines if not" err
    "$CLEAVE" run -j 2 -i returns -- cat 2>err >out
    grep -qFx "cleave: returns: $line text whose lines end in CR: put \"tr '\\r' '\\n'\" before it" err
    "$CLEAVE" run -j 2 -i long -- cat 2>err >out
    grep -qFx "cleave: long: $line one line: --split sets other ends of records" err
    # Not where nobody asks, where it was said how to cut, for one worker, or where lines follow.
    local how
    for how in '-j 2 -q' '-j 2 --split lines' '-j 2 --split json' '-j 1'; do
        "$CLEAVE" run $how -i array.json -- cat 2>err >out
        ! grep -q 'no line ends' err
    done
    { cat long; echo; seq 300000; } >mixed
    "$CLEAVE" run -j 2 --block 100k -i mixed -- cat 2>err >out
    ! grep -q 'no line ends\|seems to be' err
    head -c 1000000 long >short
    "$CLEAVE" run -j 2 -i short -- cat 2>err >out
    ! grep -q 'no line ends' err
}

@test "input that is cut between lines, and seems to be something else, is reported" {
    prepare
    for i in $(seq 40); do printf 'LOCUS       L%d\nDEFINITION  d\nACGT\n//\n' $i; done >genes.txt
    local line="is cut between lines; it seems to be GenBank: --split 'regex:LOCUS '. --split lines, if that is right"
    "$CLEAVE" run --block 100 -- cat <genes.txt >out 2>err
    grep -qFx "cleave: standard input $line" err
    "$CLEAVE" run --block 100 -- cat < <(cat genes.txt) >out 2>err
    grep -qFx "cleave: standard input $line" err
    gzip -k genes.txt
    "$CLEAVE" run -i genes.txt.gz --block 100 -- cat >out 2>err
    grep -qFx "cleave: genes.txt.gz $line" err
    cmp genes.txt out
    "$CLEAVE" split --size 100 -o p-{} <genes.txt 2>err
    grep -qFx "cleave: standard input $line" err
    # Not if a splitter was given, and not of one chunk.
    "$CLEAVE" run -i genes.txt --block 100 --split lines -- cat 2>err >out
    ! grep -q 'is cut between lines' err
    "$CLEAVE" run -i genes.txt --block 1M -- cat 2>err >out
    ! grep -q 'is cut between lines' err
    # Bytes that no text has.
    { printf 'a\0\n'; seq 100; } >binary
    "$CLEAVE" run -i binary --block 100 -- cat 2>err >out
    grep -qF 'binary is cut between lines; it seems to be no text, as it has zero bytes: --split nul' err
    "$CLEAVE" run -i binary --block 100 --decode none -- cat 2>err >out
    ! grep -q 'is cut between lines' err
}

@test "--decode none takes any bytes, also as records of a fixed size" {
    prepare
    seq 1 1000 >in
    gzip -k in
    size=$(wc -c <in.gz)
    for input in "-i in.gz" ""; do
        job $input --decode none -- cat < <(cat in.gz)
        cmp in.gz out
        job $input --decode none --split fixed:$size -- cat < <(cat in.gz)
        cmp in.gz out
        job $input --decode auto -- cat < <(cat in.gz)
        cmp in out
        # Asked for, it is decoded for them as well.
        job $input --decode gzip --split fixed:1 -- cat < <(cat in.gz)
        cmp in out
    done
    fails_with 2 -i in.gz --decode zip -- cat
    says "cleave: --decode: expected auto, none, gzip, bgzf, zstd, xz, bzip2, lz4, got 'zip'"
}

# --- records without end ----------------------------------------------------------------------

@test "a record longer than --max-record is an error, in a file and in a stream" {
    prepare
    fails_with 2 -i /dev/zero --max-record 3M -- cat
    says "cleave: /dev/zero: the record from byte 0 on is longer than 3000000 bytes (is it split as it should be? --max-record allows more)"
    [ ! -s out ]
    printf '12345\n1234567\n12345\n' >in
    for input in '-i in' ''; do
        fails_with 2 $input --max-record 7 -j 1 --block 1 -- cat < <(cat in)
        grep -q 'the record from byte 6 on is longer than 7 bytes' err
        job $input --max-record 8 -- cat < <(cat in)
        cmp in out
    done
    fails_with 2 -i in --split fixed:20 --max-record 19 -- cat
    says "cleave: expected records of at most 19 bytes (--max-record), got fixed:20"
}

@test "a file without an end of a record: said soon, and a signal ends the search for one" {
    prepare
    truncate -s 1T large
    # To read all of it would take an hour.
    run timeout 200 "$CLEAVE" run -q -i large --max-record 1M -- cat
    [ "$status" -eq 2 ]
    [[ $output =~ ^"cleave: large: the record that byte "[0-9]+" is in is longer than 1000000 bytes (is it split as it should be? --max-record allows more)"$ ]]
    "$CLEAVE" run -q -i large --max-record 900G -- sh -c 'touch ran' 2>err 3>&- &
    local master=$!
    # It reads, and nothing has been begun.
    for _ in $(seq 3000); do
        [ "$(awk '/^rchar/ { print $2 }' /proc/$master/io)" -gt 50000000 ] && break
        sleep 0.02
    done
    kill -TERM $master
    for _ in $(seq 3000); do
        grep -q '^State:.[RSDt]' /proc/$master/status 2>/dev/null || break
        sleep 0.02
    done
    kill -9 $master 2>/dev/null || true
    status=0
    wait $master || status=$?
    [ "$status" -eq 143 ]
    [ ! -e ran ]
}

@test "a file of /sys has fewer bytes than it says" {
    prepare
    local file=/sys/kernel/uevent_seqnum
    [ -r $file ] && [ "$(wc -c <$file)" -lt "$(stat -c %s $file)" ] || skip "there is no /sys as it usually is"
    job -i $file -- cat
    [ -s out ]
    job -- cat <$file
    [ -s out ]
}

@test "a file of /proc has bytes, whatever it says of its size" {
    prepare
    [ -r /proc/self/mounts ] && [ ! -s /proc/version ] && [ -n "$(cat /proc/version)" ] ||
        skip "there is no /proc as it usually is"
    job -i /proc/version -- cat
    cmp /proc/version out
    job -- cat </proc/version
    cmp /proc/version out
}

# --- inputs that change -----------------------------------------------------------------------

@test "an input that is written to while its last chunk is worked on is an error" {
    prepare
    hosts 'name: a, slots: 1' >h.yaml
    for more in '-j 1' '--hosts h.yaml' '--hosts h.yaml --shared-input'; do
        seq 100 >in
        touch -d @1000000000 in
        # As many bytes as before: only when they were written tells.
        fails_with 2 -i in $more --block 1k -- sh -c "cat; seq 100 >$T/in"
        says "cleave: in: changed while it was in use: written to"
        [ ! -s out ]
    done
}

@test "a rewritten input with its old size and time is detected" {
    prepare
    hosts 'name: a, slots: 1' >h.yaml
    for more in '-j 1' '--hosts h.yaml --shared-input'; do
        seq 100 >in
        cp -p in before
        job -i in $more --block 1k -- sh -c "cat; seq 100 | tr 1 2 >$T/in; touch -r $T/before $T/in"
        cmp before out
        [ "$(grep -c 'in: something of it was changed while it was in use, but neither its size nor its time' err)" -eq 1 ]
    done
    # Once for many chunks; and not because it was read.
    seq 1000 >in
    job -i in -j 2 --block 500 -- sh -c "cat; chmod 600 $T/in"
    [ "$(grep -c 'in: something of it was changed' err)" -eq 1 ]
    job -i in -j 2 --block 500 -- cat
    [ ! -s err ]
}

# --- many files -------------------------------------------------------------------------------

@test "patterns and folders stand for files, in the order of their names" {
    prepare
    mkdir -p d/b d/e
    echo 2 >d/b/x
    echo 1 >d/a
    echo 3 >d/c
    ln -s "$PWD/d/a" d/link
    job -i 'd/[ac]*' -i d/b/x -- cat
    [ "$(tr '\n' ' ' <out)" = '1 3 2 ' ]
    job -i d --recursive -- cat
    [ "$(tr '\n' ' ' <out)" = '1 2 3 ' ]
    says "cleave: d: 'd/link' is a link or no file, and is not read"
    mkfifo d/pipe
    job -i d --recursive -- cat
    says "cleave: d: 'd/link' and 1 more are links or no files, and are not read"
    rm d/pipe
    job -i d/c -i 'd/*' --recursive -- cat
    [ "$(tr '\n' ' ' <out)" = '3 1 2 3 1 ' ] || { cat out; false; }
    # A file of that name is that file.
    echo 4 >'d/?'
    job -i 'd/?' -- cat
    [ "$(cat out)" = 4 ]
    fails_with 2 -i 'no-*' -- cat
    says "cleave: --input: 'no-*' matches no file"
    fails_with 2 -i d/e --recursive -- cat
    says "cleave: d/e: expected files below it, got none"
    fails_with 2 -i 'd/*' -- cat
    says "cleave: d/b: expected a file, got a directory (--recursive: all files below it)"
    # What is written is none of them.
    fails_with 2 -i 'd/[ac]*' -o d/c -- cat
    says "cleave: --output: 'd/c' is the same file as --input 'd/c': write to another"
}

@test "thousands of files with a few descriptors" {
    prepare
    mkdir many
    seq 3000 | split -a 4 -l 1 - many/f
    ulimit -n 64
    job -i many --recursive --persistent -j 2 -- cat
    seq 3000 | cmp - out
}
