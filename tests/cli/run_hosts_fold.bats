# run_hosts_fold.bats -- hosts reduce their outputs before they send them. SPDX-License-Identifier: MIT
#
# The hosts are processes of this machine; what they send is kept in a file, and counted.
load helper
load job

# prepare -- a folder for the files of a test, with hosts a and b, and `in`, whose 60000 words are 500.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    printf '#!/bin/bash\n"$@" | tee "sent.$$"\n' >tell
    chmod +x tell
    hosts "name: a, slots: 2, command: $PWD/tell" "name: b, slots: 3, command: $PWD/tell" >h.yaml
    awk 'BEGIN { for (i = 0; i < 60000; i++) print "word" i * 7919 % 500 }' >in
    COUNT='awk "{ n = NF > 1 ? \$1 : 1; c[\$NF] += n } END { for (w in c) print c[w], w }"'
    eval "$COUNT" <in | sort >expected
}

# sent -- the bytes that the hosts have sent since the last call.
sent() {
    cat sent.* | wc -c
    rm sent.*
}

@test "a host reduces its outputs, and sends one" {
    prepare
    job -i in --hosts h.yaml --block 6000 --commutative --reduce "$COUNT" --json -- sh -c "$COUNT"
    sort out | cmp - expected
    folded=$(sent)
    # With a journal, each output comes here. Each has all the words.
    job -i in --hosts h.yaml --block 6000 --commutative --reduce "$COUNT" --journal j -- sh -c "$COUNT"
    sort out | cmp - expected
    all=$(sent)
    echo "folded $folded, all $all"
    [ "$((6 * folded))" -lt "$all" ]
    job -i in --hosts h.yaml --block 6000 --commutative --reduce "$COUNT" --journal j --resume -- sh -c "$COUNT"
    sort out | cmp - expected
}

@test "named reductions, with any policy and open chunks" {
    prepare
    sort in | uniq -c >counted
    for how in '--block 6000' '--policy guided' ''; do
        job -i in --hosts h.yaml $how --reduce counts -- sh -c 'sort | uniq -c'
        awk '{ print $1, $2 }' out | cmp - <(awk '{ print $1, $2 }' counted)
        job -i in --hosts h.yaml $how --reduce sort -- sort
        sort in | cmp - out
        job -i in --hosts h.yaml $how --reduce sum -- wc -l
        [ "$(cat out)" = 60000 ]
    done
    rm sent.*
    job -i in --hosts h.yaml --block 3000 --reduce counts -- sh -c 'sort | uniq -c'
    [ "$(sent)" -lt 120000 ]
}

@test "the order is kept, and what cannot get smaller is sent at once" {
    prepare
    for reduce in cat 'cat {}' 'cat {1} {2}'; do
        job -i in --hosts h.yaml --block 6000 --reduce "$reduce" -- cat
        cmp in out
    done
    job -i in --hosts h.yaml --block 6000 --reduce tail:7 -- cat
    tail -n 7 in | cmp - out
    job -i in --hosts h.yaml --block 6000 --reduce first -- cat
    head -n 1 in | cmp - out
    job --hosts h.yaml --block 6000 --reduce cat -- cat <in
    cmp in out
    cat in | job --hosts h.yaml --block 6000 --reduce cat -- cat
    cmp in out
}

@test "workers here and on hosts" {
    prepare
    sed -i 's/^workers:/workers:\n  - {name: here.0, speed: 1e6, bandwidth: 1e6}/' h.yaml
    job -i in --hosts h.yaml --block 6000 --commutative --reduce "$COUNT" -- sh -c "$COUNT"
    sort out | cmp - expected
    job -i in --hosts h.yaml --block 6000 --reduce cat -- cat
    cmp in out
}

@test "a command that reduces gets the variables of the hosts, and one that fails there runs here" {
    prepare
    sed -i '2s/^/export THERE=yes\n/' tell
    job -i in --hosts h.yaml --block 6000 --env KEY=some --commutative \
        --reduce "[ -z \"\$THERE\" ] || echo \"\$KEY\" >>told; $COUNT" -- sh -c "$COUNT"
    sort out | cmp - expected
    grep -qx some told
    timeout $LONG "$CLEAVE" run -i in --hosts h.yaml --block 6000 --commutative \
        --reduce "[ -z \"\$THERE\" ] || exit 3; $COUNT" -- sh -c "$COUNT" >out 2>err
    sort out | cmp - expected
    grep -q 'exited with status 3: its results are reduced here' err
    fails_with 1 -i in --hosts h.yaml --block 6000 --commutative --reduce 'exit 3' -- sh -c "$COUNT"
}

# losing HOST N -- the command of the N-th chunk on that host ends its worker.
losing() {
    cat >lose <<END
#!/bin/bash
if [ "\$CLEAVE_WORKER" = $1.0 ]; then
    echo >>begun
    if [ "\$(wc -l <begun)" = $2 ] && mkdir lost; then
        kill -9 \$PPID
        sleep 100
    fi
fi
exec sh -c "\$COUNT"
END
    chmod +x lose
    export COUNT
    rm -rf begun lost
}

@test "a host that dies loses what it has not sent, and others do it again" {
    prepare
    for n in 1 3 6; do
        losing b $n
        job -i in --hosts h.yaml --block 3000 --commutative --reduce "$COUNT" -- ./lose
        sort out | cmp - expected
        [ -d lost ]
        losing b $n
        job -i in --hosts h.yaml --block 3000 --reduce "$COUNT" -- ./lose
        sort out | cmp - expected
        losing b $n
        job -i in --hosts h.yaml --reduce "$COUNT" -- ./lose
        sort out | cmp - expected
    done
}
