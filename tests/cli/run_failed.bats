# run_failed.bats -- cleave run --failed: inputs of failed chunks, each in a file of its own.
# SPDX-License-Identifier: MIT
load helper

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir a b
    printf '1\n2\n3\n' >a/x
    printf '4\n5\n6\n' >b/x
    printf '7\n8\n9\n' >y
}

@test "inputs of the same name in different folders do not meet" {
    prepare
    cleave 1 run -q -i a/x -i b/x -i y -j 2 --block 100 --failed bad -- false
    [ "$(ls bad | xargs)" = "a%x.0-6 b%x.0-6 y.0-6" ]
    cmp a/x bad/a%x.0-6
    cmp b/x bad/b%x.0-6
    cmp y bad/y.0-6
    # The same one twice: the same bytes.
    cleave 1 run -q -i y -i y -j 2 --block 100 --failed twice -- false
    [ "$(ls twice | xargs)" = "y.0-6 y.0-6.2" ]
    cmp y twice/y.0-6.2
    cleave 1 run -q -i "$PWD/a/x" -i b/../b/x --block 100 --failed far -- false
    [ "$(cat far/b%..%b%x.0-6 | xargs)" = "4 5 6" ]
    [ "$(ls far | wc -l)" -eq 2 ]
}

@test "--failed keeps existing files" {
    prepare
    umask 000
    cleave 1 run -q -i y -j 1 --block 2 --failed bad -- false
    echo mine >bad/y.0-2
    cleave 1 run -q -i y -j 1 --block 2 --failed bad -- false
    [ "$(ls bad | xargs)" = "y.0-2 y.0-2.2 y.2-4 y.2-4.2 y.4-6 y.4-6.2" ]
    [ "$(cat bad/y.0-2)" = mine ]
    [ "$(cat bad/y.0-2.2)" = 7 ]
    [ "$(stat -c %a bad/y.2-4 bad/y.2-4.2 | sort -u)" = 600 ]
}

@test "links in the way are not followed" {
    prepare
    mkdir bad
    echo victim >victim
    ln -s ../victim bad/y.0-6
    ln -s ../fresh bad/y.0-6.2
    cleave 1 run -q -i y --block 100 --failed bad -- false
    [ "$(cat victim)" = victim ]
    [ ! -e fresh ]
    cmp y bad/y.0-6.3
    [ "$(readlink bad/y.0-6)" = ../victim ]
}

@test "mates go with their chunk" {
    prepare
    printf '@r\nAC\n+\nII\n' >one.fq
    printf '@r\nGT\n+\nJJ\n' >two.fq
    mkdir bad
    echo other >bad/one.fq.0-11.mates
    cleave 1 run -q -i one.fq --pairs two.fq --split fastq --failed bad -- false
    [ "$(ls bad | xargs)" = "one.fq.0-11.2 one.fq.0-11.2.mates one.fq.0-11.mates" ]
    cmp one.fq bad/one.fq.0-11.2
    cmp two.fq bad/one.fq.0-11.2.mates
    [ "$(stat -c %a bad/one.fq.0-11.2.mates)" = 600 ]
}

@test "long names are cut, and what cannot be kept ends the run" {
    prepare
    local long
    long=$(printf 'n%.0s' $(seq 255))
    cp y "$long"
    cleave 1 run -q -i "$long" --block 100 --failed bad -- false
    cmp y bad/*.0-6
    cleave 1 run -q -i y --failed late -- sh -c 'touch late; false'
    [ "${stderr_lines[-1]}" = "cleave: late: cannot keep the input of a failed chunk: Not a directory" ]
    # Half of a chunk is not kept.
    seq 1000 >big
    run bash -c 'ulimit -f 1; "$CLEAVE" run -q -i big -j 1 --block 3k --failed bad -- false 2>&1'
    [ "$status" -eq 1 ]
    [[ $output == *"cleave: bad: cannot keep the input of a failed chunk: File too large"* ]]
    [ ! -e bad/big.0-3000 ]
    [ -z "$(ls bad | grep big)" ]
    # Its bytes are left, and so it is not counted as failed.
    run bash -c 'ulimit -f 1; "$CLEAVE" run -i big -j 1 --block 3k --retries 1 --failed bad --json -- false 2>&1'
    [[ $output == *'"failed_chunks": 0,'* ]]
    [[ $output == *'{"input": "big", "begin": 0, "end": 3893}'* ]]
}

@test "a --failed directory that cannot be made is reported before anything runs" {
    prepare
    touch file
    cleave 2 run -q -i y --failed file -- touch ran
    [ "$stderr" = "cleave: --failed: expected a directory, got 'file'" ]
    cleave 2 run -q -i y --failed no/such -- touch ran
    [ "$stderr" = "cleave: --failed: cannot make the folder 'no/such': No such file or directory" ]
    cleave 2 run -q -i y --failed file/such -- touch ran
    [ "$stderr" = "cleave: --failed: cannot write in 'file/such': Not a directory" ]
    [ ! -e ran ]
    # One that would do is made when something is put into it.
    mkdir there
    cleave 0 run -q -i y --failed there/new// -- cat
    [ ! -e there/new ]
    cleave 1 run -q -i y --block 100 --failed there/new// -- false
    cmp y there/new/y.0-6
}
