# run_formats.bats -- inputs whose records are no lines, and what commands get of them.
# SPDX-License-Identifier: MIT
load helper
load job

# What a hung run would take; nothing here depends on how long things last.
LONG=60

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

@test "--split json: pieces of an array are arrays, of files, streams and hosts" {
    prepare
    printf ' [1, "a,b" ,\n{"c": [2,3]}]\n' >in
    printf '%s\n' ' [1]' ' [ "a,b" ]' ' [' '{"c": [2,3]}]' >expected
    job -i in --split json --block 1 -j 2 -- cat
    cmp expected out
    cat in | job --split json --block 1 -j 2 -- cat
    cmp expected out
    printf 'port: multi\nworkers:\n  - {name: a, speed: 1e7, bandwidth: 1e8, slots: 2}\n' >h.yaml
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

@test "--split json: a journal, halves of what failed, and what is kept of it" {
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

@test "--split json: values one after the other, and what is no JSON" {
    prepare
    printf '{"a":\n1} {"b": 2}\n[3,\n4]\n5 6 "x y"' >in
    job -i in --split json --block 1 -j 2 -- sh -c 'tr "\n" " "; echo'
    printf '%s\n' '{"a": 1} ' '{"b": 2} ' '[3, 4] ' '5 ' '6 ' '"x y"' >expected
    cmp expected out
    printf '[1]\n[2]\n' >in
    fails_with 2 -i in --split json --block 1 -- cat
    says "cleave: in: byte 4: expected the end of the input behind its array (json:values: arrays are values), got '['"
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
