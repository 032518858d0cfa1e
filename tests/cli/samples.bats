# samples.bats -- the files of examples/samples are what the documents say.
# SPDX-License-Identifier: MIT
load helper

# same SPLIT FILE [OPTION...] -- chunks of the file, one behind the other, are the file.
same() {
    local split=$1 file=$2
    shift 2
    "$CLEAVE" run -q -i "$file" --split "$split" --block 2k "$@" -- cat | cmp - "$file"
}

@test "samples can be cut by every splitter they are for" {
    cd "$BATS_TEST_TMPDIR"
    run "$CLEAVE_SOURCE_DIR/examples/samples" some 500
    [ "$status" -eq 0 ]
    [ "$output" = "some: access.log big.gz numbers paragraphs.txt reads.fasta reads.fastq records.jsonl table.csv" ]
    cd some
    same lines access.log
    same lines numbers
    same csv table.csv
    same jsonl records.jsonl
    same fasta reads.fasta
    same fastq reads.fastq
    same paragraph paragraphs.txt
    # As in the README.
    [ "$("$CLEAVE" run -q -i access.log -j 1 --block 20k -- grep -c ' 404 ' | awk '{ s += $1 } END { print s }')" -eq "$(grep -c ' 404 ' access.log)" ]
    "$CLEAVE" run -q -i numbers --reduce 'sort -m {1} {2}' -- sort >sorted
    sort numbers | cmp - sorted
    "$CLEAVE" run -q -i big.gz -j 2 --block 5k -- cat | cmp - records.jsonl
    "$CLEAVE" run -q -- gzip -nk {} ::: *.log
    gzip -dc access.log.gz | cmp - access.log
    "$CLEAVE" split -i reads.fastq --split fastq -n 4 -o r-{}.fastq
    cat r-*.fastq | cmp - reads.fastq
    # The same each time, and nothing is overwritten.
    cd ..
    "$CLEAVE_SOURCE_DIR/examples/samples" again 500
    diff -r -x sorted -x access.log.gz -x 'r-*' some again
    run "$CLEAVE_SOURCE_DIR/examples/samples" again
    [ "$status" -ne 0 ]
    run "$CLEAVE_SOURCE_DIR/examples/samples"
    [ "$status" -eq 2 ]
}
