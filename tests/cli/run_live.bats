# run_live.bats -- what cleave run --live draws. SPDX-License-Identifier: MIT
load helper
load drawn

# A file of 1 MB, and a command that waits for the file `go`.
prepare() {
    in_own_folder
    yes 123456789 | head -n 100000 >in
    printf '#!/bin/sh\ncat >/dev/null\nwhile [ ! -e %s/go ]; do sleep 0.02; done\n' "$T" >some
    chmod +x some
}

# draws ROWS TEXT ARGUMENT... -- cleave run --live on a terminal of so many rows: see drawn.bash.
draws() {
    local rows=$1
    shift
    draws_on "cols 100 rows $rows" --live "$@"
}

@test "every worker has a line with its activity, or the reason why it waits" {
    prepare
    draws 40 'waits for the others: all is given out' -i in -j 'one,other' --block 20M -- ./some
    grep -qE '^  worker  chunks      bytes      MB/s$' lines
    grep -qE '^  (one   |other ) +0 +0 B +-  waits for the others: all is given out$' lines
    grep -qE '^  (one   |other ) +0 +.* -  works$' lines
    # All is taken away at the end.
    tail -c 4 drawn | grep -q "$(printf '\033\\[J')"
}

@test "workers of a stream wait for input" {
    prepare
    mkfifo pipe
    # The run begins with the first line, by which the format of the input is known.
    (head -n 1 in; until [ -e go ]; do sleep 0.02; done; tail -n +2 in) >pipe 3>&- &
    draws 40 'waits for input' -i pipe -j 1 -- cat
    cmp in out
}

@test "items are counted, and bytes are not" {
    prepare
    draws 40 '  works' -j 2 -- ./some ::: a b c
    grep -qE '^  worker    done$' lines
    grep -qE '^  w0 +0  works$' lines
}

@test "a low terminal shows as many workers as it has room for" {
    prepare
    draws 6 '  and 7 more' -i in -j 10 --block 20M -- ./some
    [ "$(grep -c '^  w3 ' lines)" -eq 0 ]
    grep -q '^  w2 ' lines
}

@test "--live without a terminal prints a note" {
    prepare
    refuses "--progress live: needs a terminal on standard error that is not dumb; --progress plain writes lines for a log" \
        run --live -i in -- cat
}

@test "a slow worker has a rate" {
    prepare
    head -n 1000 in >few
    draws 40 ' MB/s' -i few -j 'one*1' --block 1k -- sh -c 'sleep 0.1; cat'
    grep -qE '^  one +[0-9]+ .* 0\.0[0-9]+  works$' lines
}

# first_piece -- bytes that the first command was to be given, by the trace.
first_piece() {
    sed -n 's/^{"order":"open".*"units":\([0-9.]*\).*/\1/p' trace | head -n 1
}

@test "a stream that has ended is shared as a file is" {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 1000 >in
    mkfifo pipe
    # All of it is there, and its end.
    exec 9<>pipe 8<pipe
    cat in >&9
    exec 9>&-
    "$CLEAVE" run -q -j 4 --trace trace -- cat <&8 3>&- 8<&- | cmp - in
    exec 8<&-
    local of_ended
    of_ended=$(first_piece)
    "$CLEAVE" run -q -j 4 --trace trace -i in -- cat 3>&- | cmp - in
    [ "$of_ended" = "$(first_piece)" ]
    # All of it is there, but nobody knows.
    exec 9<>pipe 8<pipe
    cat in >&9
    "$CLEAVE" run -q -j 4 --trace trace -- sh -c 'read x; echo $x; touch here; cat' <&8 >out 3>&- 8<&- 9>&- &
    local id=$!
    appears here
    exec 9>&- 8<&-
    wait $id
    cmp in out
    local of_stream
    of_stream=$(first_piece)
    [ "${of_stream%.*}" -le 65536 ]
}
