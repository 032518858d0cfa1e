# part_files.bats -- cleave run -o 'DIR/part-{chunk}': a file for each chunk.
# SPDX-License-Identifier: MIT
load helper

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 20000 >in
}

@test "each chunk has a file, and their names are in the order of the input" {
    prepare
    cleave 0 run -q -i in -j 4 --block 20k -o 'new/dir/part-{chunk}.txt' -- sed 's/^/x/'
    [ -z "$output" ]
    cat new/dir/part-*.txt | cmp - <(sed 's/^/x/' in)
    [ "$(find new/dir -type f | wc -l)" -ge 5 ]
    # The name is the first byte of the chunk.
    for file in new/dir/*; do
        at=$(basename "$file" .txt | sed 's/part-0*//')
        [ "$(head -n 1 "$file")" = "x$(tail -c "+$((${at:-0} + 1))" in | head -n 1)" ]
    done
    # From a pipe, on several inputs, without output, in the current directory.
    "$CLEAVE" run -q -j 2 --block 20k -o 'pipe/{chunk}' -- cat <in
    cat pipe/* | cmp - in
    cleave 0 run -q -i in -i in -j 2 --block 20k -o 'two/{chunk}' -- cat
    cat two/* | cmp - <(cat in in)
    cleave 0 run -q -i in --block 20k -o 'empty/{chunk}' -- true
    [ "$(find empty -type f -size 0 | wc -l)" -ge 5 ]
    cleave 0 run -q -i in --block 20k -o '{chunk}.here' -- cat
    cat ./*.here | cmp - in
}

@test "each file has its header, and may be of a format that cannot be concatenated" {
    prepare
    { echo id,value && sed 's/$/,1/' in; } >in.csv
    cleave 0 run -q -i in.csv -j 2 --block 20k -o 'csv/{chunk}.csv' -- cat
    for file in csv/*; do [ "$(head -n 1 "$file")" = id,value ]; done
    tail -q -n +2 csv/* | cmp - <(tail -n +2 in.csv)
    cleave 0 run -q -i in --block 20k -o 'pdf/{chunk}.pdf' -- sh -c 'echo %PDF-1.4; cat'
    tail -q -n +2 pdf/* | cmp - in
}

@test "files are compressed as their names say" {
    prepare
    cleave 0 run -q -i in --block 20k -j 2 -o 'gz/{chunk}.gz' -- cat
    gzip -dc gz/*.gz | cmp - in
    for file in gz/*; do gzip -t "$file"; done
    cleave 0 run -q -i in --block 20k -o 'packed/{chunk}.gz' -- gzip -c
    gzip -dc packed/*.gz | cmp - in
}

@test "a failed chunk has no file; the other chunks have files" {
    prepare
    cleave 1 run -q -i in --block 20k -j 2 --halt never -o 'out/{chunk}' -- \
        sh -c 'x=$(cat; echo .); case $x in *"
10000
"*) exit 3 ;; esac; printf %s "${x%.}"'
    [ "$(cat out/* | wc -l)" -gt 10000 ]
    [ "$(cat out/* | wc -l)" -lt 20000 ]
    run ! grep -qx 10000 out/*
    [ -z "$(find out -name '.*' -type f)" ]
}

@test "files of another run are refused, and a resumed run ends with its own alone" {
    prepare
    cleave 0 run -q -i in --block 20k -o 'out/{chunk}' --journal j.db -- cat
    refuses "--output: 'out/$(ls -U out | head -n 1)' exists: expected a directory without files of another run; --journal FILE --resume continues that run" \
        run -i in -o 'out/{chunk}' -- cat
    cat out/* | cmp - in
    # A file that is missing is written again, one that no chunk has is removed.
    rm "out/$(ls out | tail -n 1)"
    echo old >out/000000000000001
    echo mine >out/notes
    cleave 0 run -q -i in --block 20k -o 'out/{chunk}' --journal j.db --resume -- cat
    cat out/0* | cmp - in
    [ "$(cat out/notes)" = mine ]
    # Killed when half of the chunks are done.
    mkdir -p started
    cat >slow <<'END'
x=$(mktemp started/XXXXXX)
[ "$(ls started | wc -l)" -lt 4 ] || [ -e continue ] || { touch wait; exec sleep 1000; }
exec cat
END
    timeout $LONG "$CLEAVE" run -q -i in --block 20k -j 2 -o 'half/{chunk}' --journal k.db -- sh slow &
    until [ -e wait ] && [ "$(ls half | wc -l)" -ge 2 ]; do sleep 0.05; done
    kill -9 "$(pgrep -P $! | head -n 1)"
    wait $! || true
    touch continue
    cleave 0 run -q -i in --block 20k -j 2 -o 'half/{chunk}' --journal k.db --resume -- sh slow
    cat half/* | cmp - in
}

@test "places of {chunk} and options that do not go with it" {
    prepare
    refuses "--output: expected {chunk} once and in the last name, as in DIR/part-{chunk}, got '{chunk}/x'" \
        run -i in -o '{chunk}/x' -- cat
    refuses "--output: expected {chunk} once and in the last name, as in DIR/part-{chunk}, got '{chunk}{chunk}'" \
        run -i in -o '{chunk}{chunk}' -- cat
    refuses "--output with {chunk} is for chunks of an input; of items, --results 'DIR/{#}' writes a file for each" \
        run -o 'x/{chunk}' echo {} ::: a
    for more in "--reduce sum" --line-buffer --header-out; do
        # shellcheck disable=SC2086
        refuses "--output with {chunk} writes a file for each chunk: expected no ${more%% *}" \
            run -q -i in -o 'x/{chunk}' $more -- cat
    done
    touch file
    refuses "--output: cannot read the directory 'file/': Not a directory" run -i in -o 'file/{chunk}' -- cat
    [ ! -e x ]
}
