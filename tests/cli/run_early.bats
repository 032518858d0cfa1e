# run_early.bats -- cleave run: lines of the chunk in front are there before it is done.
# SPDX-License-Identifier: MIT
load helper
load lines

LONG=200

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 1 1000 >in
    mkfifo go
    AS_THEY_COME=
    id=
}

# A run that waits for a test that has failed would hold it up.
teardown() {
    [ -z "$id" ] || kill "$id" 2>/dev/null || true
}

@test "lines of the chunk in front are written while it runs, unless it is to be as a whole" {
    front_lines -j 2
    local whole n=0
    for whole in --group -u '-o out' '--retries 2' --isolate '--journal j' ''; do
        # Nothing of the first chunk is seen while its command waits for the second to begin.
        rm -f here out j
        n=$((n + 1))
        if [ -n "$whole" ]; then
            exec 6> >(exec cat >seen.$n)
        else
            exec 6>seen.$n # a file is for later
        fi
        "$CLEAVE" run -q -i in -j 2 --block 2k $whole -- sh -c '
            read x; echo $x
            if [ $x = 1 ]; then
                sleep 0.3; read y <go; cat; exit
            fi
            cat; [ -e here ] || touch here' >&6 2>err 3>&- 6>&- &
        id=$!
        exec 6>&-
        appears here
        sleep 0.5
        case $whole in
            -o*) [ ! -e out ] ;;
            *) [ -z "$(cat seen.$n | grep -x 1)" ] ;;
        esac
        timeout $LONG sh -c 'echo >go'
        wait $id
        id=
    done
}

# failing STATUS ARGUMENT... -- workers named bad fail after their first line was seen.
failing() {
    local status=$1
    shift
    begin -q -i in "$@"
    reads 1 || return 1
    timeout $LONG sh -c 'echo >go' || return 1
    cat <&7 >rest
    ended $status
}

@test "a chunk with written lines is done again by another worker" {
    failing 0 --backups off --workers 'bad:env BAD=1,good' -- \
        sh -c 'read x; echo $x; if [ "$BAD" ]; then [ $x != 1 ] || read y <go; exit 3; fi; cat'
    sed 1d in | cmp - rest
}

@test "another output than was written is a failure, and said" {
    failing 1 --workers 'bad:env BAD=1,good' --block 1k -- \
        sh -c 'read x; if [ "$BAD" ]; then echo $x; [ $x != 1 ] || read y <go; exit 3; fi; echo $x again; cat'
    grep -q '^cleave: in: bytes 0 to 10[0-9]* (records 1 to [0-9]*): the command gave another output than the one already written (see --group)$' err
    # The others are there, and nothing of it but what was written.
    [ -z "$(grep '^1 again$' rest)" ]
    tail -n 100 rest | cmp - <(tail -n 100 in)
}

@test "a chunk that fails for good keeps its complete lines" {
    failing 1 -j 1 --block 1k -- \
        sh -c 'read x; echo $x; if [ $x = 1 ]; then read y <go; echo two; printf three; exit 3; fi; cat'
    [ "$(head -n 1 rest)" = two ]
    [[ "$(sed -n 2p rest)" =~ ^[0-9]+$ ]]
    grep -q '^cleave: in: bytes 0 to 10[0-9]* (records 1 to [0-9]*): the command exited with status 3$' err
    tail -n 100 rest | cmp - <(tail -n 100 in)
}

@test "an exited reader ends the run soon" {
    seq 1 100000 >in
    {
        timeout $LONG "$CLEAVE" run -i in -j 2 -- \
            sh -c 'read x; echo $x; sleep 0.3; echo more; exec sleep 600' 2>err 3>&- || echo $? >status
    } | head -n 1 >seen
    [ "$(cat seen)" = 1 ]
    appears status
    [ "$(cat status)" = 141 ] || {
        cat status err
        false
    }
}

@test "as a whole or as it comes" {
    refuses "expected --group, for outputs as a whole, or --line-buffer, got both" run -i in --group --line-buffer -- cat
    refuses "expected --group, for outputs as a whole, or --ungroup, got both" run --group --ungroup echo ::: a
    [ "$("$CLEAVE" run -q --group echo {} ::: a b)" = $'a\nb' ]
}
