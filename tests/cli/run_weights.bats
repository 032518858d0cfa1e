# run_weights.bats -- cleave run --weight: chunks are sized by the cost of records.
# SPDX-License-Identifier: MIT
load helper
load job

# prepare -- a folder with in.jsonl, 200 objects, of which each tenth is heavy.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    awk 'BEGIN { for (i = 1; i <= 200; i++)
        printf "{\"id\": %d, \"usage\": {\"tokens\": %d}, \"text\": \"%0*d\"}\n",
            i, i % 10 == 0 ? 900 : i % 7 + 1, i % 30 + 1, 0 }' >in.jsonl
}

# limited WEIGHT -- each line of out has the tokens of a chunk of several records, or of one record:
# the former weigh at most WEIGHT.
limited() {
    awk -v most="$1" '$1 > 1 && $2 > most { print "chunk of " $2; exit 1 }' out
}

# What a chunk has: records and tokens.
SUM="awk -F'[:,}]' '{ n++; t += \$5 } END { print n, t }'"

@test "a field of JSON limits the weight of chunks" {
    prepare
    job -i in.jsonl --weight .usage.tokens --block 100 -j 3 -- "$SUM"
    limited 100
    [ "$(awk '{ n += $1; t += $2 } END { print n, t }' out)" = "200 18715" ]
    # Twenty heavy records are alone, the others are in chunks between them.
    [ "$(grep -c '^1 900$' out)" -eq 20 ]
    [ "$(wc -l <out)" -eq 40 ]
}

@test "files, pipes and several files keep order and bytes" {
    prepare
    job -i in.jsonl --weight .usage.tokens -j 3 -- cat
    cmp in.jsonl out
    cat in.jsonl | job --weight .usage.tokens -j 3 -- cat
    cmp in.jsonl out
    { head -n 3 in.jsonl; sleep 0.1; tail -n +4 in.jsonl; } | job --weight .usage.tokens -j 3 --block 50 -- "$SUM"
    limited 50
    head -c -1 in.jsonl >torn.jsonl
    job -i torn.jsonl -i in.jsonl --weight .usage.tokens -j 3 -- cat
    cat in.jsonl in.jsonl | cmp - out
    gzip -k in.jsonl
    job -i in.jsonl.gz --weight .usage.tokens -j 3 -- cat
    cmp in.jsonl out
}

@test "with --unordered heavy records start first" {
    prepare
    job -i in.jsonl --weight .usage.tokens --unordered --block 900 -j 1 -- "$SUM"
    [ "$(head -n 20 out | sort -u)" = "1 900" ]
    [ "$(awk '{ n += $1 } END { print n }' out)" -eq 200 ]
    job -i in.jsonl --weight .usage.tokens --unordered -j 3 -- cat
    sort in.jsonl >sorted
    sort out | cmp sorted -
}

@test "with -N a chunk has N records, whatever they weigh" {
    prepare
    # Also if all weigh less than 1 together.
    sed 's/"tokens": /"tokens": 0.0000/' in.jsonl >light.jsonl
    for file in in light; do
        for n in 1 3; do
            job -i $file.jsonl --weight .usage.tokens -N $n -j 3 -- wc -l
            [ "$(grep -cx $n out)" -eq $((200 / n)) ]
            [ "$(wc -l <out)" -eq $(((200 + n - 1) / n)) ]
            cat $file.jsonl | job --weight .usage.tokens -N $n -j 3 -i - -- wc -l
            [ "$(wc -l <out)" -eq $(((200 + n - 1) / n)) ]
        done
    done
    job -i in.jsonl --weight .usage.tokens -N 1 --unordered -j 1 -- "$SUM"
    [ "$(head -n 20 out | sort -u)" = "1 900" ]
    # With a size, chunks are multiples.
    job -i in.jsonl --weight .usage.tokens -L 5 -j 3 -- wc -l
    [ -z "$(awk '$1 % 5' out)" ]
}

@test "a column of csv has a number or a name, that of lines a number" {
    prepare
    { echo 'id,text,cost'; seq 50 | awk '{ print $1 ",\"a,b\"," $1 * 0.001 }'; } >in.csv
    for how in 3 cost "cut -d, -f4"; do
        job -i in.csv --weight "$how" -j 3 -- cat
        cmp in.csv out
    done
    cat in.csv | job --weight cost --split csv --header -j 3 -- cat
    cmp in.csv out
    job -i in.csv -i in.csv --weight cost --unordered -j 3 -- tail -n +2
    { tail -n +2 in.csv; tail -n +2 in.csv; } | sort >sorted
    sort out | cmp sorted -
    # A file with a header and nothing else, alone and between others.
    head -n 1 in.csv >head.csv
    job -i head.csv --split csv --header --weight cost -- cat
    cmp head.csv out
    cat head.csv | job --split csv --header --weight cost -- cat
    cmp head.csv out
    job -i in.csv -i head.csv -i in.csv --weight cost -j 3 -- cat
    { cat in.csv; tail -n +2 in.csv; } | cmp - out
    seq 50 | sed 's/.*/a\t&/' >in.tsv
    job -i in.tsv --split lines --weight 2 --block 100 -j 2 -- "awk '{ n++; t += \$2 } END { print n, t }'"
    limited 100
    # Groups are not torn.
    job -i in.tsv --split lines --weight 2 --together 1 --unordered -j 2 -- wc -l
    [ "$(cat out)" = 50 ]
}

@test "a command weighs records of any format" {
    prepare
    awk 'BEGIN { for (i = 1; i <= 40; i++) { print ">s" i; for (k = 0; k < i % 9 + 1; k++) print "ACGT" } }' >in.fa
    job -i in.fa --weight "awk '/^>/ { if (NR > 1) print l; l = 0; next } { l += length } END { print l }'" \
        --block 20 -j 2 -- "awk '/^>/ { n++; next } { t += length } END { print n, t }'"
    limited 20
    [ "$(awk '{ n += $1 } END { print n }' out)" -eq 40 ]
    # More bytes than pipes hold, in both directions.
    seq 200000 >many
    job -i many --weight "sed s/.*/1/" -j 2 -- cat
    cmp many out
    job -i many --weight "cat" --unordered -j 2 -- cat
    sort -n out | cmp - many
    # A pipe is read to its end first.
    { head -n 1000 many; sleep 0.1; tail -n +1001 many; } | job --weight "cat" --unordered -j 2 -- cat
    sort -n out | cmp - many
    gzip <in.fa | job --split fasta --weight "awk '/^>/ { if (NR > 1) print 1 } END { print 1 }'" --block 2 -j 2 -- grep -c '>'
    [ "$(sort -u out)" = 2 ]
    gzip -k in.fa
    job -i in.fa.gz --weight "awk '/^>/ { print 1 }'" --block 2 -j 2 -- grep -c '>'
    [ "$(sort -u out)" = 2 ]
}

@test "records without a weight have the default" {
    prepare
    sed -i 's/"usage": {"tokens": 900}/"usage": {"tokens": null}/' in.jsonl
    fails_with 2 -i in.jsonl --weight .usage.tokens -- cat
    says "in.jsonl: record 10: no weight in .usage.tokens; --weight-default sets one for such records"
    job -i in.jsonl --weight .usage.tokens --weight-default 1k --block 100 -j 2 -- "$SUM"
    [ "$(grep -c '^1 0$' out)" -eq 20 ]
    [ "$(wc -l <out)" -eq 40 ]
}

@test "bad weights end the run before a command starts" {
    prepare
    started() { fails_with 2 "$@" -- 'touch started; cat' && [ ! -e started ]; }
    for bad in -1 nan '"12"' 1e999 true '[1]'; do
        sed "77s/\"tokens\": [0-9]*/\"tokens\": $bad/" in.jsonl >bad.jsonl
        started -i bad.jsonl --weight .usage.tokens
        says "bad.jsonl: record 77: expected a weight of 0 or more from .usage.tokens, got '"
    done
    sed '77s/.*/no JSON/' in.jsonl >bad.jsonl
    started -i bad.jsonl --split lines --weight .usage.tokens
    says "bad.jsonl: record 77: expected a JSON object with .usage.tokens, got 'no JSON"
    started -i in.jsonl --weight 'echo 1'
    says "in.jsonl: --weight: expected a number for each of 200 records from 'echo 1', got fewer"
    started -i in.jsonl --weight 'cat; seq 3'
    says "in.jsonl: record 1: expected a weight of 0 or more from cat; seq 3, got '{"
    started -i in.jsonl --weight 'seq 201'
    says "in.jsonl: --weight: expected a number for each of 200 records from 'seq 201', got more"
    started -i in.jsonl --weight 'cat >/dev/null; exit 3'
    says "--weight: 'cat >/dev/null; exit 3' failed with status 3"
    started -i in.jsonl --weight no-such-program
    says "--weight: expected .FIELD of JSON, a column or a command, got 'no-such-program', which is not a program"
    started -i in.jsonl --weight .usage.
    says "--weight: expected a field such as .tokens or .usage.tokens, got '.usage.'"
    started -i in.jsonl --weight 0
    says "--weight: expected a column from 1 to 9999, got '0'"
    printf 'a,b\n1,2\n' >in.csv
    started -i in.csv --split csv --header --weight c
    says "in.csv: --weight: no column 'c' in the header (a command needs a blank or a slash: './c')"
    # A bad record of a pipe ends the run when it arrives.
    sed '77s/"tokens": [0-9]*/"tokens": -1/' in.jsonl >bad.jsonl
    cat bad.jsonl | fails_with 2 --weight .usage.tokens -- cat
    says "standard input: record 77: expected a weight of 0 or more from .usage.tokens, got '-1'"
    cat in.jsonl | started --weight 'echo 1'
    says "standard input: --weight: expected a number for each of 200 records from 'echo 1', got fewer"
    mkfifo pipe
    cat in.jsonl >pipe &
    started -i pipe --weight 'cut -c1'
    says "--weight: a command weighs files, got a stream; expected .FIELD or a column"
}

@test "options that do not go with weights are refused" {
    refuses "--weight: expected files or a pipe, as --fetch does not know the records" run --weight 1 --fetch 'cat' -- cat
    prepare
    refuses "with --limit and --weight a chunk ends where a key is in use or by its weight: expected --block, got --records" \
        run -i in.jsonl --weight .id --limit .id=1 -N 1 -- cat
    refuses "--weight-default needs --weight" run --weight-default 3 -- cat
}

@test "weights of 0 lose no record" {
    prepare
    sed -i 's/"tokens": [0-9]*/"tokens": 0/' in.jsonl
    for order in "" --unordered; do
        job -i in.jsonl --weight .usage.tokens $order -j 3 -- cat
        sort in.jsonl >sorted
        sort out | cmp sorted -
    done
}

@test "failed chunks, a journal and bisection work with weights" {
    prepare
    printf '%s\n' 'f=$(mktemp -p .); cat >$f; s=0; [ -e good ] || ! grep -q "\"id\": 1[23]0," $f || s=1' \
        '[ $s = 1 ] || cat $f; rm $f; exit $s' >flaky.sh
    for order in "" --unordered; do
        rm -f good j*
        fails_with 1 -i in.jsonl --weight .usage.tokens -j 2 $order --isolate --journal j -- sh flaky.sh
        says "(records 120 to 120)"
        says "(records 130 to 130)"
        touch good
        job -i in.jsonl --weight .usage.tokens -j 2 $order --journal j --resume -- sh flaky.sh
        sort in.jsonl >sorted
        sort out | cmp sorted -
    done
    # The journal has ranges of bytes: the weights may be others.
    rm -f good j*
    fails_with 1 -i in.jsonl --weight .usage.tokens -j 2 --journal j -- sh flaky.sh
    touch good
    job -i in.jsonl --weight .id -j 2 --journal j --resume -- sh flaky.sh
    cmp in.jsonl out
    rm -f good j*
    cat in.jsonl | fails_with 1 --weight .id -j 2 --journal j -- sh flaky.sh
    touch good
    cat in.jsonl | job --weight .id -j 2 --journal j --resume -- sh flaky.sh
    cmp in.jsonl out
}

@test "hosts and persistent commands get chunks by weight" {
    prepare
    hosts 'name: a, slots: 2' 'name: b, slots: 1' >h.yaml
    for order in "" --unordered; do
        job -i in.jsonl --weight .usage.tokens --hosts h.yaml $order -- cat
        sort in.jsonl >sorted
        sort out | cmp sorted -
    done
    command -v python3 >/dev/null || skip "python3 is not there"
    cat >command.py <<'P'
import sys
source, sink = sys.stdin.buffer, sys.stdout.buffer
while head := source.read(8):
    answer = source.read(int.from_bytes(head, "big"))
    sink.write(head + answer)
    sink.flush()
P
    for order in "" --unordered; do
        job -i in.jsonl --weight .usage.tokens --persistent -j 3 $order -- python3 command.py
        sort out | cmp sorted -
    done
    job -i in.jsonl --weight .usage.tokens --persistent --hosts h.yaml -- python3 command.py
    cmp in.jsonl out
}

@test "the summary has the weight, the bound and what limited the run" {
    prepare
    cleave 0 run -q --json -i in.jsonl --weight .usage.tokens -j 2 -o out -- cat
    valid_json
    [ "$(number weight)" = 18715 ]
    [ "$(number heaviest)" = 900 ]
    has '"limited_by"'
    [ "$(printf '%s\n' "$output" | sed -n 's/.*"units": \([0-9]*\).*/\1/p' | awk '{ t += $1 } END { print t }')" = 18715 ]
    cleave 0 run -q --json -i in.jsonl -j 2 -o out -- cat
    lacks '"weight"'
    printf '{"t": 1000}\n{"t": 1}\n' >two.jsonl
    cleave 0 run --summary -i two.jsonl --weight .t --block 1 -j 2 -o out -- 'grep -q 1000 && sleep 0.5; true'
    [[ $stderr = *" times the bound, "*": the heaviest record alone (weight 1000) takes that long"* ]]
    [[ $stderr = *"chunks  weight"* ]]
}

@test "a trace of a run with weights can be replayed and reported" {
    prepare
    job -i in.jsonl --weight .usage.tokens -j 3 --trace t.jsonl -- cat
    cleave 0 replay t.jsonl
    cleave 0 report t.jsonl -o t.html
    head -n 1 t.jsonl | grep -q '"load":18715,'
}

@test "items: a field of JSON, and a default" {
    prepare
    head -n 12 in.jsonl >few.jsonl
    job -a few.jsonl --weight .usage.tokens -j 1 -- 'printf "%s\n" {} >>order'
    head -n 1 order | cmp - <(sed -n 10p few.jsonl)
    rm order
    fails_with 2 -a few.jsonl --weight .usage.cost -j 1 -- echo
    says "--weight: item 1: "
    job -a few.jsonl --weight .usage.cost --weight-default 3 -j 1 -- echo
    fails_with 2 --weight .a -j 1 -- echo ::: x
    says "--weight: item 1: expected a JSON object with .a, got 'x'"
    job -C , --weight 2 --weight-default 2 -j 1 -- 'echo {1} >>order' ::: a,1 b c,3
    [ "$(tr '\n' ' ' <order)" = "c b a " ]
}

@test "600 requests of lognormal cost on 14 unequal workers: all are done, the fast ones do most" {
    prepare
    command -v cc >/dev/null || skip "no compiler"
    cc -O1 -o stand_in "$CLEAVE_SOURCE_DIR/bench/stand_in.c" -lm
    awk 'BEGIN { srand(7); for (i = 0; i < 600; i++) {
        c = exp(0.83 * sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()))
        printf "{\"cost_us\": %d, \"prompt\": \"%0*d\"}\n", 2000 * c + 1, int(300 * rand()) + 1, 0 } }' >in.jsonl
    workers='a*2:env SLOW=1,b*4:env SLOW=4,c*8:env SLOW=16'
    sort in.jsonl >sorted
    for order in "" --unordered; do
        cleave 0 run -q --json -i in.jsonl --persistent --weight .cost_us -j "$workers" $order -o out -- \
            "$T/stand_in" persistent 0.01 @
        sort out | cmp sorted -
        [ -n "$order" ] || cmp in.jsonl out
        total=$(awk -F'[:,]' '{ t += $2 } END { print t }' in.jsonl)
        [ "$(number weight)" = "$total" ]
        # What the two fastest workers did is most of what the other twelve could have.
        printf '%s\n' "$output" | sed -n 's/.*"name": "\([abc]\).*"units": \([0-9.]*\).*/\1 \2/p' |
            awk '{ t[$1] += $2 } END { exit !(t["a"] > t["c"]) }'
    done
}
