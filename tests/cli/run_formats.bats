# run_formats.bats -- inputs whose records are no lines, and what commands get of them.
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

# An array of COUNT objects over many lines.
array() {
    echo '['
    seq "$1" | sed -e 's/.*/  {"id": &,\n   "text": "],[ \\"x\\"",\n   "list": [1, {"a": []}]}/' -e '$!s/$/,/' |
        sed 's/}$/}/'
    echo ']'
}

# --- JSON -------------------------------------------------------------------------------------

@test "--split json: pieces of an array are arrays, from files, streams and hosts" {
    prepare
    printf ' [1, "a,b" ,\n{"c": [2,3]}]\n' >in
    printf '%s\n' ' [1]' ' [ "a,b" ]' ' [' '{"c": [2,3]}]' >expected
    job -i in --split json --block 1 -j 2 -- cat
    cmp expected out
    cat in | job --split json --block 1 -j 2 -- cat
    cmp expected out
    hosts 'name: a, slots: 2' >h.yaml
    job -i in --split json --block 1 --hosts h.yaml -- cat
    cmp expected out
    job -i in --split json --block 1 --hosts h.yaml --shared-input -- cat
    cmp expected out
    job -i in --split json --block 1 -j 1 --persistent -- cat
    cmp expected out
    # A whole one is given as it is, and so is what has no values.
    job -i in --split json --block 1k -- cat
    cmp in out
    printf '[ ]' >in
    job -i in --split json --block 1 -- cat
    cmp in out
}

@test "--split json: a large array, cut anywhere, has the same values" {
    prepare
    array 3000 >in
    for how in '--block 1k' '--block 50k' '-j 2' '--policy guided'; do
        job -i in --split json -j 3 $how -- sed 's/^\[//; s/^]$//; s/^, *//; s/}\]$/}/; s/,$//'
        [ "$(grep -o '"id": [0-9]*' out)" = "$(grep -o '"id": [0-9]*' in)" ]
    done
    # Every chunk has one bracket at its start and one at its end that belongs to it.
    job -i in --split json -j 2 --block 5k -- sh -c 'tr -d "\n " | sed "s/^\[{.*}\]$/good/; s/good/good\n/"'
    [ "$(sort -u out)" = good ]
    [ "$(wc -l <out)" -gt 10 ]
}

@test "--split json: a journal, halves of failed chunks, and their kept input" {
    prepare
    array 300 >in
    job -i in --split json --block 2k --journal j.db --joblog one -- grep -c '"id"'
    [ "$(($(paste -sd+ out)))" -eq 300 ]
    job -i in --split json --journal j.db --resume --joblog two -- grep -c '"id"'
    [ "$(($(paste -sd+ out)))" -eq 300 ]
    [ "$(wc -l <two)" -eq 1 ]
    # The bad record alone is left, as an array.
    printf '[1, 2, 3, "bad", 4, 5, 6]\n' >in
    fails_with 1 -i in --split json -j 1 --block 1k --isolate --failed kept -- sh -c 'sed "/bad/Q3"'
    [ "$(cat kept/*)" = '[ "bad"]' ]
}

@test "--split json: concatenated values, and invalid JSON" {
    prepare
    printf '{"a":\n1} {"b": 2}\n[3,\n4]\n5 6 "x y"' >in
    job -i in --split json --block 1 -j 2 -- sh -c 'tr "\n" " "; echo'
    printf '%s\n' '{"a": 1} ' '{"b": 2} ' '[3, 4] ' '5 ' '6 ' '"x y"' >expected
    cmp expected out
    printf '[1]\n[2]\n' >in
    fails_with 2 -i in --split json --block 1 -- cat
    says "cleave: in: byte 4: expected the end of the input after its array (json:values: arrays are values), got '['"
    job -i in --split json:values --block 1 -- cat
    cmp in out
    # Several files are values of their own; one that is cut short is an error.
    job -i in -i in --split json:values --block 1 -- cat
    cat in in | cmp - out
    printf '[1, {"a": 2' >in
    fails_with 2 -i in --split json -- cat
    says "cleave: in: the last record, from byte 2 on, is cut short by the end"
    fails_with 2 -i in --split json --header -- cat
    says "cleave: --header: expected records with a header, but json has none"
}

# --- records that stay together ---------------------------------------------------------------

@test "--records N: chunks of N records, from files, streams and with a header" {
    prepare
    seq 10 >in
    job -i in --records 4 -j 2 -- sh -c 'tr "\n" " "; echo'
    printf '1 2 3 4 \n5 6 7 8 \n9 10 \n' | cmp - out
    cat in | job --records 4 -j 2 -- sh -c 'tr "\n" " "; echo'
    printf '1 2 3 4 \n5 6 7 8 \n9 10 \n' | cmp - out
    # A header is none of them, and every file begins anew.
    { echo h; seq 3; } >a
    { echo h; seq 4 6; } >b
    job -i a -i b --header --header-out 0 --records 2 -j 2 -- sh -c 'tr "\n" " "; echo'
    printf 'h 1 2 \nh 3 \nh 4 5 \nh 6 \n' | cmp - out
    cat a | job --header --header-out 0 --records 2 -j 2 -- sh -c 'tr "\n" " "; echo'
    printf 'h 1 2 \nh 3 \n' | cmp - out
    # With --block, a multiple of them.
    seq 1000 1999 >in
    job -i in --records 7 --block 100 -j 2 -- sh -c 'wc -l'
    [ "$(sed '$d' out | while read -r n; do echo $((n % 7)); done | sort -u)" = 0 ]
    [ "$(wc -l <out)" -lt 100 ]
    fails_with 2 -i in --records 0 -- cat
    fails_with 2 -i in --records 3 --together 1 -- cat
    says "cleave: expected --records or --together, got both"
}

@test "--together: neighbours with the same key are in one chunk" {
    prepare
    for key in a bb a c c2; do
        for i in 1 2 3 4 5; do printf '%s\t%s\n' $key $i; done
    done >in
    job -i in --together 1 --block 1 -j 2 -- sh -c 'cut -f 1 | uniq -c'
    printf '      5 a\n      5 bb\n      5 a\n      5 c\n      5 c2\n' | cmp - out
    cat in | job --together 1 --block 1 -j 2 -- sh -c 'cut -f 1 | uniq -c'
    printf '      5 a\n      5 bb\n      5 a\n      5 c\n      5 c2\n' | cmp - out
    job -i in --together '^[a-z]' --block 1 -j 2 -- wc -l
    [ "$(tr '\n' ' ' <out)" = '5 5 5 10 ' ]
    # Whatever the policy, uniq -c over chunks is that of the whole.
    seq 5000 | sed 's/..$//' | sort | sed 's/.*/"x,&",y/' >in.csv
    for how in '--block 200' '-j 3' '--policy factoring'; do
        job -i in.csv --split csv --no-header --together 1 $how -- uniq -c
        uniq -c in.csv | cmp - out
    done
    fails_with 2 -i in --together '(' -- cat
    grep -q "^cleave: --together: expected a column or an extended regular expression, got '(': " err
    fails_with 2 -i in --split fixed:3 --together 1 -- cat
}

# --- web archives -----------------------------------------------------------------------------

@test "--split warc: records of archives, whatever their blocks look like" {
    prepare
    for i in 1 2 3 4; do
        printf 'WARC/1.0\r\nX-Number: %s\r\nContent-Length: 12\r\n\r\nWARC/1.0\r\n%s\n\r\n\r\n' $i $i
    done >in
    job -i in --split warc --block 1 -j 2 -- grep -c Number
    [ "$(tr '\n' ' ' <out)" = '1 1 1 1 ' ]
    cat in | job --split warc --block 1 -j 2 -- cat
    cmp in out
    job -i in --split warc --header --header-out 0 --block 1 -j 2 -- grep -c Number
    [ "$(tr '\n' ' ' <out)" = '2 2 2 ' ]
    head -c 100 in >short
    fails_with 2 -i short --split warc -- cat
    says "cleave: short: the last record, from byte 61 on, is cut short by the end"
    echo 2 >none
    fails_with 2 -i none --split warc --block 1 -- cat
    says "cleave: none: byte 0: expected 'WARC/' at the start of a record, got '2'"
}

# --- tar and BAM ------------------------------------------------------------------------------

@test "--split tar: chunks are archives of some members, from files, streams and compressed ones" {
    prepare
    mkdir -p m/sub
    for i in $(seq 12); do seq $((i * 100)) >m/f$i; done
    long=$(printf 'x%.0s' $(seq 150))
    seq 50 >m/sub/$long
    ln -s f1 m/link
    for format in gnu pax; do
        tar --format=$format -cf in.tar m
        tar -tf in.tar >names
        tar -xOf in.tar >held
        job -i in.tar --split tar --records 1 -j 2 -- tar -tf -
        cmp names out
        job -i in.tar --split tar --records 1 -- sh -c 'cat >/dev/null; echo one'
        [ "$(wc -l <out)" -eq "$(wc -l <names)" ]
        cat in.tar | job --split tar --block 9k -j 2 -- tar -xO
        cmp held out
        job -i in.tar --split tar --block 9k -- cat
        cmp in.tar out
    done
    gzip -k in.tar
    job -i in.tar.gz --split tar --block 9k -- tar -xO
    cmp held out
    head -c 3000 in.tar >short.tar
    fails_with 2 -i short.tar --split tar -- cat
    grep -q '^cleave: short.tar: the last record, from byte [0-9]* on, is cut short by the end$' err
    fails_with 2 -i names --split tar -- cat
    says "cleave: names: the last record, from byte 0 on, is cut short by the end"
    seq 1000 >lines
    fails_with 2 -i lines --split tar -- cat
    says "cleave: lines: byte 0: expected a head of tar, got bytes that do not fit their sum"
}

# le NUMBER -- four bytes, the least first.
le() {
    printf "\\$(printf %03o $(($1 % 256)))\\$(printf %03o $(($1 / 256)))\\0\\0"
}

@test "--split bam: every chunk has the head, and whole records" {
    prepare
    { printf 'BAM\001' && le 6 && printf '@HD\tx\n' && le 1 && le 5 && printf 'chr1\0' && le 1000; } >head
    for i in $(seq 40); do le $((32 + i)) && head -c $((32 + i)) /dev/zero | tr '\0' "\\$(printf %03o $((64 + i)))"; done >records
    cat head records >in
    job -i in --split bam --block 300 -j 2 -- sh -c 'head -c 31 | cmp - head && cat'
    cmp records out
    # Nothing is put behind a file that another one follows.
    job -i in -i in --split bam --block 900 -j 2 -- sh -c 'head -c 31 | cmp - head && cat'
    cat records records | cmp - out
    bytes=$(wc -c <records)
    gzip -c in >in.bam
    for input in '-i in.bam' ''; do
        job $input --split bam --header-out 0 --records 10 -- wc -c < <(cat in.bam)
        [ "$(wc -l <out)" -eq 4 ]
        [ "$(awk '{ sum += $1 } END { print sum }' out)" -eq $((bytes + 4 * 31)) ]
    done
    head -c 1000 in >short
    fails_with 2 -i short --split bam --block 300 -- cat
    grep -q '^cleave: short: the last record, from byte [0-9]* on, is cut short by the end$' err
    seq 100 >lines
    fails_with 2 -i lines --split bam -- cat
    says "cleave: lines: expected BAM (--split bam), got other bytes"
    fails_with 2 --split bam -- cat < <(cat lines)
    grep -q 'byte 0: expected the first bytes of BAM, got' err
}

# be NUMBER -- the same, the greatest first.
be() {
    printf "\\0\\0\\$(printf %03o $(($1 / 256)))\\$(printf %03o $(($1 % 256)))"
}

# capture ORDER MAGIC -- head and packets, whose lengths would be others in the other order.
capture() {
    { printf "$2" && $1 2 && $1 4 && $1 0 && $1 65535 && $1 1; } >head
    for i in $(seq 30); do $1 1 && $1 $i && $1 $((250 + i)) && $1 1500 && head -c $((250 + i)) /dev/zero; done >packets
    cat head packets >in
}

@test "--split pcap: every chunk is a capture, in either order of bytes" {
    prepare
    for form in 'le \xd4\xc3\xb2\xa1' 'be \xa1\xb2\x3c\x4d'; do
        capture $form
        for input in '-i in' ''; do
            job $input --split pcap --block 900 -j 2 -- sh -c 'head -c 24 | cmp - head && cat' < <(cat in)
            cmp packets out
        done
        job -i in --split pcap --header-out 0 --records 10 -- wc -c
        [ "$(wc -l <out)" -eq 3 ]
    done
    "$CLEAVE" split -q --index -i in --split pcap
    job -i in --split pcap --block 900 -j 2 -- sh -c 'head -c 24 | cmp - head && cat'
    cmp packets out
    head -c 5000 in >short
    fails_with 2 -i short --split pcap --block 900 -- cat
    grep -q '^cleave: short: the last record, from byte [0-9]* on, is cut short by the end$' err
    fails_with 2 -i in -- cat
    says "cleave: in: expected text records, got pcap: type 'tcpdump -nr in | cleave run ...', or say --split pcap to share out its packets"
    printf '\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a' >in.pcapng
    fails_with 2 -i in.pcapng --split pcap -- cat
    says "cleave: in.pcapng: expected pcap (--split pcap), got pcapng: type 'editcap -F pcap in.pcapng - | cleave run ...' with --split pcap"
}

# --- XML --------------------------------------------------------------------------------------

@test "--split xml: chunks are documents, from files, streams and as pieces" {
    prepare
    printf '%s\n' '<?xml version="1.0"?>' '<a x="<p>"><b>' '<p>1</p>' '<!-- <p> -->' \
        '<p n="2"/>' '<p><p>3</p></p>' '</b></a>' >in
    for i in 1 2 3; do
        printf '%s\n' '<?xml version="1.0"?>' '<a x="<p>"><b>'
        case $i in
        1) printf '%s\n' '<p>1</p>' '<!-- <p> -->' '</b></a>' ;;
        2) printf '%s\n' '<p n="2"/>' '</b></a>' ;;
        3) printf '%s\n' '<p><p>3</p></p>' '</b></a>' ;;
        esac
    done >expected
    job -i in --split xml:p --block 1 -j 2 -- cat
    cmp expected out
    cat in | job --split xml:p --block 1 -j 2 -- cat
    cmp expected out
    job -i in --split xml:p --block 1 -j 1 --persistent -- cat
    cmp expected out
    "$CLEAVE" split -q -i in --split xml:p --size 1 -o 'p-{}'
    cat p-001 p-002 p-003 | cmp expected
    job -i in --split xml:p --block 1k -- cat
    cmp in out
    fails_with 2 -i in --split xml:pp -- cat
    says "cleave: in: expected elements of the name 'pp', got none"
    hosts 'name: a, slots: 2' >h.yaml
    fails_with 2 -i in --split xml:p --hosts h.yaml -- cat
    says "cleave: --split xml:p: cannot be combined with --hosts: the end of the document is not sent (cleave split writes files for hosts)"
}
