# run_hosts_early.bats -- lines of the chunk in front come from hosts before it is done.
# SPDX-License-Identifier: MIT
#
# The hosts are processes of this machine, reached through pipes. A command says a line and waits
# until the test has read it: nothing here depends on how long things last.
load helper
load job
load lines

LONG=200
AS_THEY_COME=

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 1 1000 >in
    mkfifo go
    hosts 'name: a, slots: 1, command: env' 'name: b, slots: 2, command: env' >h.yaml
}

@test "lines of the chunk in front are written while a host works on it" {
    local how
    for how in "" "--block 1k"; do
        front_lines --hosts h.yaml $how
    done
    # The whole output, with much of it before a command has ended.
    seq 1 300000 >many
    timeout $LONG "$CLEAVE" run -q --hosts h.yaml -i many --block 100k -- sh -c 'sleep 0.2; cat' 2>err 3>&- | cmp - many
    # The last line need not end, and one without an end is no line.
    timeout $LONG "$CLEAVE" run -q --hosts h.yaml -i many -- sh -c 'cat; sleep 0.3; printf end' 2>err 3>&- |
        tr -d '\n' | sed 's/end//g' | cmp - <(tr -d '\n' <many)
    [ $(($(timeout $LONG "$CLEAVE" run -q --hosts h.yaml -i in -- \
        sh -c 'cat >/dev/null; head -c 3000000 /dev/zero; sleep 0.3' 3>&- | wc -c) % 3000000)) -eq 0 ]
}

@test "with --group nothing is seen of it" {
    exec 6> >(exec cat >seen)
    timeout $LONG "$CLEAVE" run -q -i in --hosts h.yaml --block 2k --group -- \
        sh -c 'read x; echo $x; [ $x != 1 ] || { sleep 0.3; touch here; read y <go; }; cat' >&6 2>err 3>&- 6>&- &
    local id=$!
    exec 6>&-
    appears here
    sleep 0.3
    [ ! -s seen ]
    timeout $LONG sh -c 'echo >go'
    wait $id
}

# lost STATUS COMMAND -- one host is lost after the first line of its chunk was read; what came behind
# that line is in rest.
lost() {
    begin -i in --hosts h.yaml --block 1k -- sh -c "$2"
    reads 1 || return 1
    timeout $LONG sh -c 'echo >go' || return 1
    cat <&7 >rest
    ended $1
}

@test "a chunk whose host is lost after lines of it were written is done again" {
    # Its parent is the worker.
    lost 0 'read x; echo $x; [ $x != 1 ] || { echo 1 >>tries; [ -e once ] || { touch once; read y <go; kill -9 $PPID; sleep 60; }; }; cat'
    cmp rest <(sed 1d in)
    [ "$(wc -l <tries)" -eq 2 ]
    grep -q ': lost, its chunks go elsewhere' err
    # The same with a chunk that stays open.
    rm -f once tries
    begin -q -i in --hosts h.yaml -- \
        sh -c 'read x; echo $x; [ $x != 1 ] || [ -e once ] || { touch once; read y <go; kill -9 $PPID; sleep 60; }; cat'
    reads 1
    timeout $LONG sh -c 'echo >go'
    cmp <(sed 1d in) <(cat <&7)
    ended 0
}

@test "another output of it is a failure, and said" {
    lost 1 'read x; echo $x; [ $x != 1 ] || { [ -e once ] && echo other || { touch once; echo same; read y <go; kill -9 $PPID; sleep 60; }; }; cat'
    grep -q '^cleave: in: bytes 0 to 10[0-9]* (records 1 to [0-9]*): the command gave another output than the one already written (see --group)$' err
    [ "$(head -n 1 rest)" = same ]
    [ -z "$(grep -x other rest)" ]
    tail -n 100 rest | cmp - <(tail -n 100 in)
}

@test "a chunk that fails for good on a host keeps its complete lines" {
    hosts 'name: a, slots: 1, command: env' >h.yaml # nobody else is asked
    lost 1 'read x; echo $x; if [ $x = 1 ]; then [ -e once ] || { touch once; read y <go; }; echo two; printf three; exit 3; fi; cat'
    [ "$(head -n 1 rest)" = two ]
    [[ "$(sed -n 2p rest)" =~ ^[0-9]+$ ]]
    grep -q '^cleave: in: bytes 0 to 10[0-9]* (records 1 to [0-9]*): the command exited with status 3$' err
    tail -n 100 rest | cmp - <(tail -n 100 in)
}
