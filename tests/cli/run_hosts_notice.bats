# run_hosts_notice.bats -- hosts that are told to end: their own notice. SPDX-License-Identifier: MIT
#
# The hosts are processes of this machine. The parent of a command is its worker: a command tells
# it to end, as a scheduler would.
load helper
load job

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 1 20000 >in
    tr 0-9 a-j <in >expected
    hosts 'name: a, slots: 1' 'name: b, slots: 1' >h.yaml
    # b waits until a has begun; what is begun is noted. $1 is what the first command of a does.
    cat >work <<END
#!/bin/sh
echo "\$CLEAVE_BEGIN \$CLEAVE_WORKER" >>"$T/begun"
if [ \$CLEAVE_WORKER = a ]; then
    touch "$T/here.a"
    $1
else
    while [ ! -e "$T/here.a" ]; do sleep 0.02; done
fi
exec tr 0-9 a-j
END
    chmod +x work
    rm -f begun here.a
}

# once -- every chunk was begun once.
once() {
    cut -d ' ' -f 1 begun | grep . | sort | uniq -d >twice # those without a piece have no number
    [ ! -s twice ] || {
        cat begun err
        return 1
    }
}

# leaves -- that a leaves is all that was said.
leaves() {
    [ "$(cat err)" = "cleave: a: was told to end (SIGTERM): it gets nothing new, and leaves within $1 s (--grace)" ] || {
        cat err
        return 1
    }
}

@test "a host that gets SIGTERM finishes its started chunks, and gives back the rest" {
    # Not before the master has said what comes of it: chunks that were sent ahead are given back.
    for policy in "--block 2000" "--policy learn" "--policy factoring"; do
        prepare 'kill -TERM $PPID; while [ ! -s '"$BATS_TEST_TMPDIR"'/err ]; do sleep 0.02; done'
        # shellcheck disable=SC2086
        timeout $LONG "$CLEAVE" run -i in --hosts h.yaml --grace 60 --backups off $policy --json -o result -- "$T/work" >out 2>err
        cmp expected result
        once
        leaves 60
        [ "$(grep -c ' a$' begun)" -eq 1 ]
        grep -q '"lost": 0,' out
        tr -d ' \n' <out | grep -qF '"left_out":[{"host":"a","reason":"itwastoldtoend(SIGTERM)"}]'
    done
}

@test "items are given back, too" {
    prepare 'kill -TERM $PPID; while [ ! -s '"$BATS_TEST_TMPDIR"'/err ]; do sleep 0.02; done'
    sed -i 's/^exec.*/echo $1/; s/CLEAVE_BEGIN/CLEAVE_CHUNK/' work
    job --hosts h.yaml --grace 60 "$T/work" {} ::: {1..40}
    seq 1 40 | cmp - out
    once
    leaves 60
}

@test "a command that is ended with its host is done by another" {
    local told='while [ ! -s '"$BATS_TEST_TMPDIR"'/err ]; do sleep 0.02; done'
    for how in 'kill -TERM $PPID; kill -TERM $$; sleep 60' \
        'setsid sh -c "kill -TERM $$; sleep 0.1; kill -TERM $PPID" & sleep 60' "kill -TERM \$PPID; $told; exit 7"; do
        prepare "$how"
        job -i in --hosts h.yaml --grace 60 --block 2000 -- "$T/work"
        cmp expected out
        leaves 60
        # What was begun by a, and by nobody else but a, is the one that was done again.
        [ "$(grep -c ' a$' begun)" -eq 1 ]
        [ "$(cut -d ' ' -f 1 begun | sort | uniq -d | wc -l)" -eq 1 ]
    done
}

@test "unfinished chunks after the notice move to other hosts; a second signal ends at once" {
    prepare 'kill -TERM $PPID; exec sleep 1000'
    job -i in --hosts h.yaml --grace 0.2 --block 2000 -- "$T/work"
    cmp expected out
    grep -q 'a: was told to end (SIGTERM): it gets nothing new, and leaves within 0.2 s (--grace)' err
    grep -q 'a: lost, its chunks go elsewhere: it had to leave, and its notice has ended' err
    prepare 'kill -TERM $PPID; while [ ! -s '"$BATS_TEST_TMPDIR"'/err ]; do sleep 0.02; done; kill -TERM $PPID; exec sleep 1000'
    job -i in --hosts h.yaml --grace 60 --block 2000 -- "$T/work"
    cmp expected out
    grep -q 'a: lost, its chunks go elsewhere' err
    # SIGINT is no notice.
    prepare 'kill -INT $PPID; exec sleep 1000'
    sed -i "s|^if.*|if [ \$CLEAVE_WORKER = a ] \&\& [ ! -e $BATS_TEST_TMPDIR/here.a ]; then|" work
    job -i in --hosts h.yaml --grace 60 --block 2000 -- "$T/work"
    cmp expected out
    run ! grep -q 'told to end' err
}

@test "when all hosts were told to end, that is why the run ends" {
    prepare 'kill -TERM $PPID'
    sed -i '/name: b/d' h.yaml
    fails_with 1 -i in --hosts h.yaml --grace 60 --block 2000 -- "$T/work"
    grep -q 'cleave: all hosts are lost; the last one: a: it was told to end (SIGTERM)' err
}

@test "a machine that has joined leaves in order when its process is told to end" {
    prepare 'true'
    sed -i "s|^if.*|if [ \$CLEAVE_WORKER = join1 ]; then echo x >>$T/joined; while [ ! -e $T/told ]; do sleep 0.02; done; fi; if false; then|; s|^else|else :; fi; if [ \$CLEAVE_WORKER = b ]; then|" work
    sed -i "s|here.a|joined|" work
    sed -i '/name: a/d' h.yaml
    timeout $LONG "$CLEAVE" run -q -i in --hosts h.yaml --join-socket s --block 2000 --grace 60 -- "$T/work" >out 2>err 3>&- &
    job_pid=$!
    appears s
    "$CLEAVE" join -j 1 s 2>join_err 3>&- &
    join_pid=$!
    appears joined
    kill -TERM $join_pid
    touch told
    wait $join_pid
    wait $job_pid
    cmp expected out
    once
    grep -q 'join1: was told to end (SIGTERM)' err
    run ! grep -q 'lost' err
}
