# run_leaders_lines.bats -- lines of outputs from behind leaders. SPDX-License-Identifier: MIT
#
# The hosts are processes of this machine, reached through pipes. A command says a line and waits
# until the test has read it: nothing here depends on how long things last.
load helper
load job
load lines

# prepare -- l leads f and g; in `deep` g leads another, in `two` m leads others beside it.
prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 1 1000 >in
    mkfifo go
    hosts 'name: l, slots: 1, command: env' 'name: f, slots: 2, via: l, command: env' \
        'name: g, slots: 1, via: l, command: env' >h.yaml
    { cat h.yaml && hosts 'name: x, slots: 1, via: g, command: env' | tail -n 1; } >deep.yaml
    { cat h.yaml && hosts 'name: m, slots: 1, command: env' 'name: n, slots: 2, via: m, command: env' | tail -n 2; } >two.yaml
}

@test "lines of the chunk in front come from behind leaders while its command runs" {
    prepare
    # A leader's first chunk may be one line: what is half of one is written by itself.
    for AS_THEY_COME in --line-buffer ""; do
        for how in "h.yaml" "h.yaml --block 1k" "deep.yaml" "two.yaml --block 1k"; do
            # shellcheck disable=SC2086
            begin -q -i in --hosts $how -- sh -c 'read x; echo $x; [ $x != 1 ] || { printf ha; read y <go; echo lf; }; cat'
            reads 1
            echo >go
            cmp <(echo half && sed 1d in) <(cat <&7)
            ended 0
        done
    done
}

@test "lines from led workers are complete, and none is missing" {
    prepare
    seq 1 300000 >many
    for hosts in h.yaml deep.yaml two.yaml; do
        job --hosts $hosts --line-buffer -i many --block 100k -- cat
        cmp many out
        job --hosts $hosts --line-buffer -i many -- cat
        cmp many out
    done
    # In any order, but no line in another.
    job --hosts two.yaml --line-buffer -u -i many --block 100k -- cat
    sort -n out | cmp - many
    # Of one line without an end nothing comes before its command has ended.
    job --hosts h.yaml --line-buffer -i in -- sh -c 'cat >/dev/null; head -c 3000000 /dev/zero'
    [ $(($(wc -c <out) % 3000000)) -eq 0 ]
    job --hosts h.yaml --line-buffer -i in -- sh -c 'cat >/dev/null'
    [ ! -s out ]
}

@test "a slow or stopped reader of lines does not block the run forever" {
    prepare
    # Nothing is read before the last command has begun to write: far more than all pipes hold.
    begin -q -i in --hosts two.yaml --block 1k -- \
        sh -c 'read x; yes $x | head -n 400000; cat; [ ! -e begun ] && touch begun; true'
    appears begun
    cat <&7 >rest
    ended 0
    uniq rest | sort -n | cmp - in
    [ "$(uniq -d rest | wc -l)" -gt 1 ]
    # Nobody reads any more.
    timeout $LONG "$CLEAVE" run -q --hosts two.yaml --line-buffer -i in -- yes 2>err 3>&- | head -n 1 >out
    [ "$(cat out)" = y ]
    # A leader that is stopped before it is ready may write that.
    [ -z "$(grep -vx 'cleave: stopped by a signal' err)" ]
}

@test "lines from below a leader before a failure are kept, and the chunk is not repeated" {
    prepare
    begin -i in --hosts h.yaml -- \
        sh -c 'read x; echo $x; [ $x != 1 ] || { echo 1 >>tries; read y <go; exit 3; }; cat'
    reads 1
    echo >go
    cat <&7 >rest
    ended 1
    [ "$(cat tries)" = 1 ]
    grep -q '^cleave: in: bytes 0 to [0-9]* (records 1 to [0-9]*): ' err
}

# noted -- each host of the file writes down its process when it is reached.
noted() {
    printf '#!/bin/sh\nname=$1; shift\necho $$ >>"%s/$name.pids"\nexec "$@"\n' "$PWD" >note
    chmod +x note
    sed -i "s|name: \(.\), \(.*\)command: env|name: \1, \2command: $PWD/note \1|" "$1"
    grep -q note "$1"
}

@test "a leader that is killed after lines of its chunk were written has failed with it" {
    prepare
    noted two.yaml
    begin -i in --hosts two.yaml --block 1k --host-timeout 10 -- \
        sh -c 'read x; [ $x != 1 ] || echo $CLEAVE_WORKER >>tries; echo $x; [ $x != 1 ] || read y <go; cat'
    reads 1
    grep -q '[lfg]' tries && leader=l || leader=m
    kill -9 "$(head -n 1 $leader.pids)"
    cat <&7 >rest
    ended 1
    [ "$(wc -l <tries)" -eq 1 ]
    grep -q '^cleave: in: bytes 0 to [0-9]* (records 1 to [0-9]*): the command was lost with its host after lines of it had been written$' err
    # All the rest is there, once.
    last=$(sed -n 's/.*(records 1 to \([0-9]*\)):.*/\1/p' err)
    cmp rest <(sed "1,${last}d" in)
}

@test "by default a new attempt continues the written lines of a killed leader's chunk" {
    prepare
    noted two.yaml
    AS_THEY_COME="--backups off" # a late chunk is run once more
    begin -i in --hosts two.yaml --block 1k --host-timeout 10 -- \
        sh -c 'read x; [ $x != 1 ] || echo $CLEAVE_WORKER >>tries; echo $x; [ $x != 1 ] || [ "$(wc -l <tries)" -gt 1 ] || read y <go; cat'
    reads 1
    grep -q '[lfg]' tries && leader=l || leader=m
    kill -9 "$(head -n 1 $leader.pids)"
    cmp <(sed 1d in) <(cat <&7)
    ended 0
    [ "$(wc -l <tries)" -eq 2 ]
}

@test "a leader that is killed before lines of its chunk were written costs nothing" {
    prepare
    noted two.yaml
    # Whoever leads another chunk than the one in front is killed when a line of it is on its way.
    cat >say <<'END'
read x
echo $x
if [ $x = 1 ]; then
    case $CLEAVE_WORKER in [lfg]*) echo m ;; *) echo l ;; esac >other
    read y <go
else
    while [ ! -s other ]; do sleep 0.02; done
    case $CLEAVE_WORKER in [lfg]*) mine=l ;; *) mine=m ;; esac
    if [ $mine = $(cat other) ] && mkdir killed 2>/dev/null; then
        kill -9 $(head -n 1 $mine.pids)
        sleep 60
    fi
fi
cat
END
    begin -i in --hosts two.yaml --block 1k --host-timeout 10 -- sh "$PWD/say"
    reads 1
    # Before that is heard of, the chunk in front must not end.
    for _ in $(seq 1500); do grep -q ': lost, its chunks go elsewhere' err || sleep 0.05; done
    echo >go
    cmp <(sed 1d in) <(cat <&7)
    ended 0
}

@test "a host behind a leader that is lost after lines of it were written fails its leader's chunk" {
    prepare
    noted h.yaml
    begin -i in --hosts h.yaml --host-timeout 10 -- \
        sh -c 'read x; echo $x; [ $x != 1 ] || { echo $CLEAVE_WORKER >>tries; read y <go; kill -9 $PPID; sleep 60; }; cat'
    reads 1
    echo >go
    cat <&7 >rest
    ended 1
    [ "$(wc -l <tries)" -eq 1 ]
    grep -q '^cleave: in: bytes 0 to [0-9]* (records 1 to [0-9]*): ' err
}
