# run_trickle.bats -- cleave run on a stream that comes little by little. SPDX-License-Identifier: MIT
#
# Commands wait for a file, and the stream for what they have begun: nothing depends on how long
# things last.
load helper

LONG=200

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkfifo pipe
    mkdir begun
    id=
}

# A run that waits for a test that has failed would hold it up.
teardown() {
    [ -z "$id" ] || kill "$id" 2>/dev/null || true
}

# begin ARGUMENT... -- a run whose input is written to descriptor 6.
begin() {
    timeout $LONG "$CLEAVE" run -q -i pipe "$@" >out 2>err 3>&- &
    id=$!
    exec 6>pipe
}

# How many commands have begun with a record.
busy() {
    find begun -type f | wc -l
}

# trickle COUNT -- records one by one, until so many commands are busy.
trickle() {
    local n=0
    for n in $(seq 1 2000); do
        [ "$(busy)" -lt "$1" ] || break
        echo "$n"
        sleep 0.05
    done >&6
    records=$n
    [ "$(busy)" -ge "$1" ]
}

@test "every worker gets a record of a slow stream, even if others are busy" {
    # The first record of each command is named, and no command ends before `go` is there.
    cat >slow <<'END'
#!/bin/sh
read x && touch begun/$x && until [ -e go ]; do sleep 0.02; done && echo $x && cat
END
    chmod +x slow
    begin -j 4 -- ./slow
    trickle 4
    # Who is busy may have one more record each, that it was given before anybody knew.
    [ "$records" -le 16 ]
    touch go
    exec 6>&-
    wait $id
    id=
    cmp out <(seq 1 "$(tail -n 1 out)")
}

@test "input that arrives at once is shared among all idle workers" {
    cat >slow <<'END'
#!/bin/sh
read x && touch begun/$x && until [ -e go ]; do sleep 0.02; done && echo $x && cat
END
    chmod +x slow
    begin -j 4 -- ./slow
    seq 1 100 >&6
    for _ in $(seq 1 2000); do
        [ "$(busy)" -lt 4 ] || break
        sleep 0.05
    done
    [ "$(busy)" -eq 4 ]
    touch go
    exec 6>&-
    wait $id
    id=
    cmp out <(seq 1 100)
}

@test "the output for a record arrives while the stream continues, and the command runs to its end" {
    cat >keeps <<'END'
#!/bin/sh
lines=$(cat) && echo "$lines"
END
    chmod +x keeps
    begin -j 2 -- ./keeps
    local n
    for n in 1 2 3; do
        echo $n >&6
        for _ in $(seq 1 2000); do
            [ "$(tail -n 1 out)" != $n ] || break
            sleep 0.05
        done
        [ "$(tail -n 1 out)" = $n ]
    done
    exec 6>&-
    wait $id
    id=
    cmp out <(seq 1 3)
}
