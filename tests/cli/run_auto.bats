# run_auto.bats -- the format of the input is chosen, a header is written once, and outputs that cannot
# be concatenated are refused. SPDX-License-Identifier: MIT

load helper
load job

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
}

# says TEXT -- the last run wrote this line to standard error.
says() {
    grep -qxF "cleave: $1" err
}

# Names of columns, quoted ends of lines, and rows that repeat.
table() {
    echo 'id,name,amount'
    seq "$1" | awk '{ printf "%d,\"row %d,\nof %d\",%d.5\n", $1, $1, $1 % 3, $1 % 7 }'
}

# serial FILE LINE -- runs of a line for a shell equal the line alone: from files and pipes, with few
# and many workers, and chunks of any size.
serial() {
    local how status=0
    sh -c "$2" <"$1" >expected
    for how in '-j 2' '-j 16' '-j 2 --block 300' '-j 3 --records 7'; do
        job -i "$1" $how -- sh -c "$2"
        cmp expected out || status=1
        job $how -- sh -c "$2" < <(cat "$1")
        cmp expected out || status=1
    done
    return $status
}

filter='import csv, sys
rows = csv.DictReader(sys.stdin)
out = csv.DictWriter(sys.stdout, ["name", "twice"], lineterminator="\n")
out.writeheader()
for row in rows:
    if row["amount"] > "3":
        out.writerow({"name": row["name"], "twice": 2 * float(row["amount"])})'

@test "--split auto gives serial output for commands that work record by record" {
    prepare
    table 400 >t.csv
    printf '%s\n' "$filter" >filter.py
    for line in cat 'grep -v 3 || [ $? = 1 ]' 'cut -d, -f2' 'sed s/row/line/' 'sed 1d' 'tail -n +2' \
        "awk -F, '{ print \$1 \",\" NF }'" "awk -F, 'NR == 1 { print \$0 \",new\" } NR > 1 { print \$0 \",1\" }'" \
        'head -n 1' 'tr a-z A-Z' "awk 'NR > 1'" 'python3 filter.py' 'cat >/dev/null'; do
        serial t.csv "$line" || {
            echo "$line"
            return 1
        }
    done
}

@test "a file without a header gives the same as well" {
    prepare
    # The first record is taken for a header.
    seq 400 | awk '{ print "x" $1 % 3 ",y," $1 }' >t.csv
    tr , '\t' <t.csv >t.tsv
    for line in cat 'sed /5$/d' 'cut -c 2-' "awk '{ print \$1, 1 }'" 'sed s/x/z/' 'cat >/dev/null'; do
        serial t.csv "$line"
        serial t.tsv "$line"
    done
    # If it matters, it can be said.
    job -i t.csv --no-header --block 500 -j 2 -- sed 1d
    [ "$(wc -l <out)" -lt 399 ]
    job -i t.csv --split lines --block 500 -j 2 -- cat
    cmp t.csv out
}

@test "several files have one header, or it has to be decided" {
    prepare
    table 50 >a.csv
    table 40 >b.csv
    for how in '-j 2' '-j 16 --block 200'; do
        job -i a.csv -i b.csv $how -- cat
        { cat a.csv && tail -n +2 b.csv; } | cmp - out
    done
    # A first record of numbers may be the same by chance: nothing of it is lost.
    printf '1,2\n3,4\n' >a.csv
    printf '1,2\n5,6\n' >b.csv
    fails_with 2 -i a.csv -i b.csv -- cat
    says 'the first record of several files has no names of columns: say --header, if it is a header, or --no-header'
    job -i a.csv -i b.csv --no-header -- cat
    cat a.csv b.csv | cmp - out
    job -i a.csv -i b.csv --header -- cat
    printf '1,2\n3,4\n5,6\n' | cmp - out
    tail -n 1 b.csv >c.csv
    fails_with 2 -i a.csv -i c.csv -- cat
    says "c.csv: expected the header '1,2' of a.csv, got '5,6': --no-header if they are records"
}

@test "--split auto recognizes formats in files and pipes, and reports them" {
    prepare
    for i in $(seq 300); do printf '@r%d\nACGT\n+\n@III\n' $i; done >a.fastq
    for i in $(seq 300); do printf '>r%d\nACGTACGTACGT\nACGT\n' $i; done >a.fasta
    table 300 >a.csv
    seq 300 | awk 'BEGIN { print "id\tname" } { print $1 "\t" $1 % 5 }' >a.tsv
    seq 300 | sed 's/.*/{"a": &}/' >a.jsonl
    seq 300 | sed 's/.*/{\n  "a": &\n}/' >a.json
    { printf '##fileformat=VCFv4.2\n#CHROM\tPOS\n' && seq 300; } >a.vcf
    { printf '@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n' && seq 300; } >a.sam
    for i in $(seq 30); do printf 'WARC/1.0\r\nContent-Length: 5\r\n\r\nWARC/\r\n\r\n'; done >a.warc
    local file what name
    while IFS=' ' read -r file what; do
        gzip -k $file
        for name in $file $file.gz; do
            for workers in 2 16; do
                timeout $LONG "$CLEAVE" run -i $name -j $workers --block 200 -- cat >out 2>err
                cmp $file out
                says "$name is $what"
                timeout $LONG "$CLEAVE" run -j $workers --block 200 -- cat >out 2>err < <(cat $name)
                cmp $file out
                says "standard input is $what"
            done
        done
    done <<'END'
a.fastq FASTQ: --split lines if not
a.fasta FASTA: --split lines if not
a.csv CSV with a header: --no-header or --split lines if not
a.tsv TSV with a header: --no-header or --split lines if not
a.jsonl JSON lines: --split lines if not
a.json JSON values: --split lines if not
a.vcf VCF with a header: --no-header or --split lines if not
a.sam SAM with a header: --no-header or --split lines if not
a.warc WARC: --split lines if not
END
    # Nothing is reported with -q, of lines, and if it was said. Other lines are lines.
    for how in '-q -i a.csv' '-i a.csv --split lines' '-i a.fastq --split fastq' '-i a.txt'; do
        seq 300 >a.txt
        "$CLEAVE" run $how -j 2 -- cat >out 2>err
        ! grep -q ' is ' err
    done
    # It can be asked for, and records are whole.
    job -i a.fastq --split auto --block 100 -j 2 -- awk 'NR == 1 && !/^@r/ { exit 1 } { print }'
    cmp a.fastq out
    "$CLEAVE" split -i a.fastq -n 7 -o 'p-{}' 2>err
    says 'a.fastq is FASTQ: --split lines if not'
    for piece in p-*; do [[ "$(head -n 1 $piece)" == @r* ]]; done
}

@test "a slow pipe gives the same choice as a fast one" {
    prepare
    { printf 'id,na'; sleep 0.1; printf 'me\n1,a\n'; sleep 0.1; printf '2,"b\n'; sleep 0.1; printf 'c"\n3,d\n4,e\n'; } |
        "$CLEAVE" run -j 2 -- cat >out 2>err
    says 'standard input is CSV with a header: --no-header or --split lines if not'
    printf 'id,name\n1,a\n2,"b\nc"\n3,d\n4,e\n' | cmp - out
    # Lines do not wait for more of them.
    mkfifo pipe
    "$CLEAVE" run -q -i pipe -j 2 --line-buffer -- cat >out &
    exec 7>pipe
    echo first >&7
    for i in $(seq 100); do
        [ -s out ] && break
        sleep 0.1
    done
    [ "$(cat out)" = first ]
    exec 7>&-
    wait
}

@test "a name and first bytes that disagree are an error, and so are files of several formats" {
    prepare
    printf '@r\nAC\n+\nII\n' >a.csv
    table 3 >b.csv
    cp b.csv b.fastq
    printf '<?xml version="1.0"?>\n<a/>\n' >a.xml
    fails_with 2 -i a.csv -- cat
    says 'a.csv: by its name CSV, by its first bytes FASTQ: choose with --split csv or --split fastq'
    fails_with 2 -i b.fastq -- cat
    says 'b.fastq: by its name FASTQ, by its first bytes lines: choose with --split fastq or --split lines' ||
        says 'b.fastq: by its name FASTQ, by its first bytes CSV: choose with --split fastq or --split csv'
    fails_with 2 -i b.csv -i a.csv -- cat
    [ ! -s out ]
    mv a.csv a.txt
    fails_with 2 -i b.csv -i a.txt -- cat
    says 'a.txt: expected CSV as in b.csv, got FASTQ: choose for all with --split'
    fails_with 2 -i a.xml -- cat
    says 'a.xml: XML: name the element that is a record with --split xml:ELEMENT, or --split lines'
    fails_with 2 -- cat < <(cat a.xml)
    says 'standard input: XML: name the element that is a record with --split xml:ELEMENT, or --split lines'
    job -i a.xml --split lines -- cat
    cmp a.xml out
    # What does not hold later is an error, too.
    { for i in $(seq 2000); do printf '@r%d\nAC\n+\nII\n' $i; done; seq 100; } >bad.fastq
    fails_with 2 -i bad.fastq --block 100 -- cat
    { for i in $(seq 2000); do echo "$i,x"; done; echo '1,"x'; seq 9; } >bad.csv
    fails_with 2 -i bad.csv --block 100 -- cat
    says 'bad.csv: the last record, from byte 12893 on, is cut short by the end'
}

@test "commands that read more than one record at a time are refused before a wrong output" {
    prepare
    table 100 >t.csv
    fails_with 1 -i t.csv -j 2 --block 500 -o none -- wc -l
    grep -q "^cleave: for the header alone the command writes '1', and an output begins with '[0-9]*': it does not work record by record: use --no-header$" err
    [ ! -e none ]
    fails_with 1 -i t.csv -j 2 --block 500 -o none -- sort
    fails_with 1 -i t.csv -j 2 --block 500 -o none -- gzip
    job -i t.csv -j 2 --block 500 --no-header -- wc -l
    [ "$(awk '{ n += $1 } END { print n }' out)" = "$(wc -l <t.csv)" ]
    job -i t.csv -j 2 --block 500 --no-header -- gzip
    zcat out | cmp t.csv -
    # With a reduction and lines as they come the header has to be decided.
    fails_with 2 -i t.csv -j 2 --reduce 'sort -m {1} {2}' -- sort
    says '--reduce: the input has a header: say --header, so that every command gets it, or --no-header, if it is a record'
    job -i t.csv -j 2 --block 500 --no-header --reduce 'LC_ALL=C sort -m {1} {2}' -- sh -c 'LC_ALL=C sort'
    LC_ALL=C sort t.csv | cmp - out
    job -i t.csv -j 2 --header --reduce "awk '{ n += \$1 } END { print n }'" -- sh -c 'tail -n +2 | wc -l'
    [ "$(cat out)" = 200 ]
    fails_with 2 -i t.csv -j 2 --line-buffer -- cat
    says '--line-buffer: the header of outputs cannot be written once: say --no-header, or --header-out 0, if each may have it'
    job -i t.csv -j 1 --block 100000 --line-buffer --header-out 0 -- cat
    cmp t.csv out
    fails_with 2 -i t.csv --header --no-header -- cat
    says 'expected --header or --no-header, got both'
}

@test "a header that comes with records only is an error that names both ways out" {
    prepare
    table 100 >t.csv
    # As mlr 6.6: nothing without a record.
    local late='NR == 1 { head = $0; next } NR == 2 { print head } { print }'
    fails_with 1 -i t.csv -j 2 --block 500 -o none -- awk "$late"
    says "every output begins with 'id,name,amount', but the command writes nothing for the header alone: --header-out writes it once, --header-out 0 each time"
    job -i t.csv -j 2 --block 500 --header-out -- awk "$late"
    cmp t.csv out
    job -i t.csv -j 2 --block 500 --header-out 0 -- awk "$late"
    [ "$(grep -c '^id,name' out)" -gt 1 ]
    # Data that repeat are no header.
    job -i t.csv -j 2 --block 500 -- sh -c 'sed 1d | sed "s/.*/same,line/"'
    [ "$(grep -cvx same,line out)" = 0 ]
}

@test "a command that fails for the header alone is reported, and nothing is removed" {
    prepare
    table 100 >t.csv
    "$CLEAVE" run -i t.csv -j 2 --block 500 -- grep -c row >out 2>err
    says 'for the header alone the command exited with status 1: each output is written with its own header, if it has one'
    [ "$(awk '{ n += $1 } END { print n }' out)" = 100 ]
    # It is tried as often as a chunk: which command is the one that fails does not change the output.
    job -i t.csv -j 1 --block 500 --retries 2 -- sh -c '[ -e once ] || ! touch once || exit 1; cat'
    cmp t.csv out
    # That it was killed says nothing of the size of chunks.
    rm -rf once
    job -i t.csv -j 2 --block 500 -- sh -c 'echo >>calls; mkdir once 2>/dev/null && kill -9 $$; cat'
    cmp t.csv out
    [ "$(wc -l <calls)" -lt 20 ]
    # If there is nothing but a header, it is the input.
    echo a,b >t.csv
    fails_with 1 -i t.csv -- false
    job -i t.csv -- cat
    cmp t.csv out
    : >t.csv
    job -i t.csv -- cat
    [ ! -s out ]
}

@test "unordered, with a journal, on hosts and by persistent commands the header is written once" {
    prepare
    table 500 >t.csv
    job -i t.csv -u -j 4 --block 500 -- cat
    [ "$(head -n 1 out)" = id,name,amount ]
    [ "$(sort out | cksum)" = "$(sort t.csv | cksum)" ]
    job -i t.csv --journal j.db --block 500 -o a -- cat
    job -i t.csv --journal j.db --resume -o b -- cat
    cmp t.csv a
    cmp t.csv b
    cat t.csv | job --journal k.db --block 500 -o c -- cat
    cat t.csv | job --journal k.db --resume -o d -- cat
    cmp t.csv c
    cmp t.csv d
    fails_with 2 -i t.csv --journal j.db --resume --header-out 0 -- cat
    says "j.db: the journal belongs to another run: expected a header: 'written once', got 'yes'"
    hosts 'name: a, slots: 2' >h.yaml
    job -i t.csv --hosts h.yaml --block 1000 -- cat
    cmp t.csv out
    job -i t.csv --persistent -j 2 --block 1000 -- cat # frames come back unchanged
    cmp t.csv out
}

@test "outputs that are files of a format with an end are refused before the second" {
    prepare
    seq 1000 >in
    local status
    while IFS=' ' read -r name bytes; do
        fails_with 1 -i in -j 2 --block 500 -o none -- sh -c "cat >/dev/null; printf '$bytes'"
        grep -qF "cleave: each output is $name, and several cannot be concatenated: --reduce makes one of them, or " err
        [ ! -e none ]
        # To a pipe nothing of the second is written; one is no mistake.
        "$CLEAVE" run -q -i in -j 2 --block 500 -- sh -c "cat >/dev/null; printf '$bytes'" 2>err | cat >out || true
        printf "$bytes" | cmp - out
        job -i in -j 1 --block 1M -- sh -c "cat >/dev/null; printf '$bytes'"
        printf "$bytes" | cmp - out
    done <<'END'
zip PK\003\004\024\000\000\000
Parquet PAR1\025\004PAR1
SQLite SQLite\040format\0403\000x
PDF %%PDF-1.7\012
PNG \211PNG\015\012\032\012
END
    # Frames of compressors can be concatenated.
    for tool in gzip bzip2 xz zstd lz4; do
        command -v $tool >found || continue
        job -i in -j 2 --block 500 -- $tool -c
        $tool -dc <out | cmp in -
    done
    # Items are written one after the other, as by a shell.
    printf 'PK\003\004\024\000\000\000' >z
    job -j 2 cat ::: z z
    cat z z | cmp - out
}

@test "BAM in and BAM out is one file" {
    prepare
    command -v samtools >found || skip "samtools is not installed"
    { printf '@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:200000\n'
        awk 'BEGIN { for (i = 1; i <= 3000; i++)
            printf "r%d\t0\tchr1\t%d\t%d\t8M\t*\t0\t0\tACGTACGT\tIIIIIIII\n", i, i * 7, i % 60 }'; } >in.sam
    samtools view -b --no-PG -o in.bam in.sam
    samtools view -h --no-PG -q 30 in.sam >expected
    for how in '-j 2' '-j 16' '-j 2 --block 20k' '-u -j 1 --block 20k'; do
        for input in in.bam in.sam; do
            job -i $input $how -- samtools view -b --no-PG -q 30 -
            samtools quickcheck out
            samtools view -h --no-PG out | cmp - expected
            [ "$(od -An -v -tx1 out | tr -d ' \n' | grep -o '1f8b08040000000000ff0600424302001b0003000000000000000000' | wc -l)" = 1 ]
            job $how -- samtools view -b --no-PG -q 30 - < <(cat $input)
            samtools view -h --no-PG out | cmp - expected
        done
        job -i in.bam $how -- samtools view -h --no-PG -q 30 -
        cmp expected out
    done
    fails_with 1 -i in.bam -j 2 --block 20k --header-out 0 -o none -- samtools view -b --no-PG -
    grep -q '^cleave: each output is BAM, and several cannot be concatenated' err
    # Another header in each.
    fails_with 1 -i in.bam -j 2 --block 20k -o none -- samtools view -c -
    grep -q 'it does not work record by record: use --header-out 0 for outputs unchanged$' err
}

@test "nothing to do is not success if a file was meant" {
    prepare
    seq 9 >in
    fails_with 2 -- grep 5 in </dev/null
    says "standard input was empty, and 'in' is an argument of the command; if it is the input: -i in"
    fails_with 2 -o none -- wc -l in in < <(true)
    says 'standard input was empty, and 2 files are arguments of the command; to run it for each of them: ... ::: in ...'
    [ ! -e none ]
    fails_with 2 -i 'no-*.csv' -- cat
    says "--input: 'no-*.csv' matches no file"
    # A program is no input.
    for command in 'awk -f in' 'python3 in' 'cat'; do
        job -- $command </dev/null
    done
}
