# run_hosts_lines.bats -- lines of outputs as they come from hosts. SPDX-License-Identifier: MIT
#
# The hosts are processes of this machine, reached through pipes. A command says a line and waits
# until the test has read it: nothing here depends on how long things last.
load helper
load job
load lines

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 1 1000 >in
    mkfifo go
    hosts 'name: a, slots: 1, command: env' 'name: b, slots: 2, command: env' >h.yaml
}

@test "lines of the chunk in front are written as they come from hosts" {
    prepare
    for how in "" "--block 1k"; do
        front_lines --hosts h.yaml $how
    done
    # The whole output, with much of it before a command has ended.
    seq 1 300000 >many
    job --hosts h.yaml --line-buffer -i many --block 100k -- cat
    cmp many out
    job --hosts h.yaml --line-buffer -i many -- sh -c 'cat; printf end'
    tr -d '\n' <out | sed 's/end//g' | cmp - <(tr -d '\n' <many)
    job --hosts h.yaml --line-buffer -u -i many --block 100k -- cat
    sort -n out | cmp - many
    # Of one line without an end nothing comes before its command has ended.
    job --hosts h.yaml --line-buffer -i in -- sh -c 'cat >/dev/null; head -c 3000000 /dev/zero'
    [ $(($(wc -c <out) % 3000000)) -eq 0 ]
}

@test "lines of a host before its command failed are kept, and the chunk is not tried again" {
    prepare
    failed_lines --hosts h.yaml
}

@test "a chunk whose host is lost after lines of it were written has failed" {
    prepare
    # Its parent is the worker.
    begin --hosts h.yaml -i in --block 1k --joblog log -- \
        sh -c 'read x; echo $x; [ $x != 1 ] || { echo 1 >>tries; read y <go; kill -9 $PPID; sleep 60; }; cat'
    reads 1
    echo >go
    cat <&7 >rest
    exec 7<&-
    [ "$(cat tries)" = 1 ]
    grep -q '^cleave: in: bytes 0 to 10[0-9]* (records 1 to [0-9]*): the command was lost with its host after lines of it had been written$' err
    last=$(sed -n 's/.*(records 1 to \([0-9]*\)):.*/\1/p' err)
    cmp rest <(sed "1,${last}d" in)
    appears status
    [ "$(cat status)" = "status 1" ]
    # Of a chunk that is not in front nothing was written: it is done again, and all is there.
    rm -f status tries
    begin --hosts h.yaml -q -i in --block 1k -- \
        sh -c 'read x; echo $x; if [ $x = 1 ]; then read y <go; elif [ ! -e once ]; then touch once; kill -9 $PPID; sleep 60; fi; cat'
    reads 1
    appears once
    echo >go
    cmp <(sed 1d in) <(cat <&7)
    exec 7<&-
    appears status
    [ "$(cat status)" = "status 0" ]
}

@test "complete lines of items come from hosts with their tags" {
    prepare
    mkfifo on
    for more in "" "--tag"; do
        begin --hosts h.yaml -q $more 'if [ {} = 1 ]; then echo first; printf half; read x <go; echo " line"; else read x <on; echo between; fi' ::: 1 2
        reads "${more:+1	}first"
        echo >on
        reads "${more:+2	}between"
        echo >go
        reads "${more:+1	}half line"
        exec 7<&-
    done
    # Workers of this machine write with them, and no line is in another.
    sed 's/name: a, slots: 1, command: env/name: a/' h.yaml >mixed.yaml
    job --hosts mixed.yaml --line-buffer --tag 'seq {} 20000' ::: 1 2 3 4 5 6
    for i in 1 2 3 4 5 6; do
        cmp <(sed -n "s/^$i	//p" out) <(seq $i 20000)
    done
    job --hosts mixed.yaml --line-buffer -u -i in --block 200 -- \
        sh -c '>here.$CLEAVE_WORKER; until [ -e here.a ] && ls here.b* >/dev/null 2>&1; do sleep 0.02; done; sed s/^/$CLEAVE_WORKER./'
    grep -q ^a out
    grep -q ^b out
    sed 's/.*\.//' out | sort -n | cmp - in
    # One that fails is not tried again when something of it was seen.
    fails_with 1 --hosts h.yaml --line-buffer --retries 3 'echo x >>tries; echo {}; exit 1' ::: 1
    [ "$(cat out)" = 1 ]
    [ "$(wc -l <tries)" -eq 1 ]
    # Nobody reads any more.
    timeout $LONG "$CLEAVE" run -q --hosts h.yaml --line-buffer yes ::: 1 2>err 3>&- | head -n 1 >out
    [ "$(cat out)" = 1 ]
    [ ! -s err ]
}

@test "output before the first input is sent after the input" {
    cd "$BATS_TEST_TMPDIR"
    seq 20000 >in
    printf 'port: multi\nworkers:\n  - {name: a, slots: 2, speed: 1e7, bandwidth: 1e8}\n' >h.yaml
    printf '  - {name: b, slots: 2, speed: 1e7, bandwidth: 1e8}\n' >>h.yaml
    timeout 200 "$CLEAVE" run -q -i in --hosts h.yaml --line-buffer -o out -- sh -c 'echo first; sleep 0.2; cat' 2>err 3>&- ||
        { cat err; return 1; }
    grep -vx first out | cmp in -
    grep -qx first out
    [ ! -s err ]
}
