# run_host_cuts.bats -- conversations with a host that end anywhere. SPDX-License-Identifier: MIT
#
# `ssh` here is a script that passes on so many bytes, in one direction, and no more. The other host comes
# when that one has gone, a second later; that is noted before the end is seen, as who is lost may be killed. Two chunks are some 1300 bytes in each direction.
load helper

LONG=200

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 300 >in
    tr 0-9 a-j <in >expected
    cat >ssh <<'END'
#!/bin/sh
while [ "$1" != -- ]; do shift; done
case $2 in
from)
    [ ! -e dead ] || exit 1
    mkfifo fifo && exec 3<&0
    sh -c "$3" <&3 >fifo &
    exec 3<&- <fifo
    dd bs=1 count="$BYTES" status=none
    : >dead
    ;;
to)
    [ ! -e dead ] || exit 1
    { dd bs=1 count="$BYTES" status=none && : >dead; } | sh -c "$3"
    ;;
*)
    until [ -e dead ]; do sleep 0.02; done
    sleep 1
    exec sh -c "$3"
    ;;
esac
END
    chmod +x ssh
}

# cut DIRECTION BYTES -- in a folder of its own: nothing is lost, and nobody is to blame but the host.
cut_at() {
    mkdir "$1.$2" && cd "$1.$2" || return 1
    BYTES=$2 timeout $LONG "$CLEAVE" run -q -i ../in --ssh "$BATS_TEST_TMPDIR/ssh" --remote "$CLEAVE" --hosts "$1:1,good:1" \
        --block 700 -- tr 0-9 a-j >out 2>err 3>&- && cmp ../expected out && : >well
}

# cuts DIRECTION -- at bytes of all frames that there are, 16 runs at a time.
cuts() {
    local at
    for at in $(seq 0 31 1400); do
        cut_at "$1" "$at" &
        [ $((at / 31 % 16)) -ne 15 ] || wait
    done
    wait
    for at in $(seq 0 31 1400); do
        [ -e "$1.$at/well" ] || { echo "$1 $at" && cat "$1.$at/err" && return 1; }
    done
}

@test "a host's frames may end at any byte" {
    prepare
    cuts from
    # Where READY ends it has been there, and is gone before anybody has begun: the other one is waited for.
    # Two heads, three numbers and two texts have arrived by then.
    version=$("$CLEAVE" version | sed -n '1s/^cleave //p')
    host=$(uname -n)
    ready=$((2 * 48 + 3 * 8 + ${#version} + ${#host}))
    (cut_at from $ready) || { cat "from.$ready/err" && return 1; }
    grep -q '^cleave: from: lost, its chunks go elsewhere: the connection was closed' "from.$ready/err"
    # And within a frame.
    grep -q '^cleave: from: lost, its chunks go elsewhere: the connection ended within a frame' from.*/err
}

@test "a master's frames may end at any byte" {
    prepare
    cuts to
    grep -q '^cleave: to: lost, its chunks go elsewhere: the connection ended within a frame' to.*/err
}
