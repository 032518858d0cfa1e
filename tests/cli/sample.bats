# sample.bats -- the files of cleave sample are what the documents say.
# SPDX-License-Identifier: MIT
load helper

setup() {
    mkdir "$BATS_TEST_TMPDIR/here"
    cd "$BATS_TEST_TMPDIR/here"
}

# same SPLIT FILE [OPTION...] -- chunks of the file, one behind the other, are the file.
same() {
    local split=$1 file=$2
    shift 2
    "$CLEAVE" run -q -i "$file" --split "$split" --block 2k "$@" -- cat | cmp - "$file"
}

@test "samples can be cut by every splitter they are for" {
    cleave 0 sample -o some/where --records 500
    [[ $output == "47 files of "*" MB in all, in some/where" ]]
    cd some/where
    same lines access.log
    same lines numbers
    same lines text.txt
    same csv table.csv
    same jsonl records.jsonl
    same fasta reads.fasta
    same fastq reads.fastq
    same paragraph paragraphs.txt
    [ "$(wc -l <access.log)" -eq 500 ]
    [ "$(wc -l <logs/thu.log)" -eq 250 ]
    # What is compressed is the same, and in more than one frame if it is long.
    "$CLEAVE" run -q -i records.jsonl.zst -j 2 --block 5k -- cat | cmp - records.jsonl
    "$CLEAVE" split -q -i dump.json --split json -n 3 -o d-{}.json
    [ "$(cat d-*.json | grep -c '"id"')" -eq 250 ]
    [ "$(grep -c '^@read' reads_1.fastq)" -eq "$(grep -c '^@read' reads_2.fastq)" ]
    for command in annotate count filter parse score; do
        ./$command <records.jsonl >/dev/null
    done
}

@test "samples are the same each time, alone or together, and another seed makes others" {
    cleave 0 sample -o one --records 300
    cleave 0 sample -o two --records 300 table.csv logs/fri.log annotate
    [ "$(find two -type f | wc -l)" -eq 3 ]
    cmp one/table.csv two/table.csv
    cmp one/logs/fri.log two/logs/fri.log
    cmp one/annotate two/annotate
    cleave 0 sample -o three --records 300 --seed 2 table.csv
    run ! cmp -s one/table.csv three/table.csv
    # Known once and for all.
    [ "$(head -n 2 one/table.csv | tail -n 1)" = '1,hold 663,"one line"' ]
}

@test "the files of examples are carried along to the byte" {
    cleave 0 sample --records 1
    count=0
    for file in examples/*; do
        cmp "$file" "$CLEAVE_SOURCE_DIR/$file"
        count=$((count + 1))
    done
    [ $count -ge 12 ]
    [ -x examples/persistent.py ]
    [ -x annotate ]
    [ ! -x examples/unequal.yaml ]
}

@test "an existing file prevents all writing, and is not overwritten" {
    echo mine >text.txt
    refuses "--output: 'text.txt' exists; use --force to replace it, or -o DIR to write elsewhere" sample
    [ "$(ls)" = text.txt ]
    [ "$(cat text.txt)" = mine ]
    cleave 0 sample --force --records 5 text.txt
    [ "$(wc -l <text.txt)" -eq 5 ]
    refuses "no sample 'acess.log'; did you mean 'access.log'?" sample acess.log
    cleave 2 sample -o text.txt/below numbers
    [ "$stderr" = "cleave: --output: cannot make the folder 'text.txt/below': Not a directory" ]
}

@test "the list names every sample, and JSON has their sizes" {
    cleave 0 sample --list
    has "records.jsonl.zst"
    [ -z "$(ls)" ]
    cleave 0 sample --json -o x --records 10 numbers score
    valid_json
    has '{"name": "numbers", "what": "lines: a number each", "bytes": '"$(stat -c %s x/numbers)}"
    has '"name": "score"'
    cleave 0 sample --list --json
    valid_json
    lacks '"bytes"'
}
