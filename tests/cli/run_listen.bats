# run_listen.bats -- cleave run --listen, cleave join --key, cleave keygen. SPDX-License-Identifier: MIT
load helper

teardown() {
    local pid
    # What a test that failed has left.
    for pid in ${run-} ${worker-}; do kill "$pid" 2>/dev/null || true; done
}

# begin ADDRESS [OPTION...] -- a run there in the background, whose commands wait for a file `go`:
# $run is its process, $at and $port are where it listens.
begin() {
    local address=$1
    shift
    cd "$BATS_TEST_TMPDIR" || return 1
    [ -e key ] || "$CLEAVE" keygen key
    seq 1 50000 >in
    tr 0-9 a-j <in >expected
    timeout $LONG "$CLEAVE" run -q -i in -j 1 --listen "$address" --key key --block 20k --joblog log "$@" -- \
        sh -c 'while [ ! -e go ]; do sleep 0.02; done; tr 0-9 a-j' >out 2>err 3>&- &
    run=$!
    tells 'workers can join at '
    at=$(sed -n 's/.*workers can join at //p' err)
    port=${at##*:}
}

# tells TEXT -- wait until the run has printed it.
tells() {
    local tries
    for tries in $(seq 1000); do
        grep -qF -- "$1" err && return 0
        kill -0 $run || break
        sleep 0.02
    done
    cat err
    return 1
}

# joins ADDRESS [OPTION...] -- a worker in the background; $worker is its process.
joins() {
    timeout $LONG "$CLEAVE" join "$1" --key key -j 1 "${@:2}" 2>join.err 3>&- &
    worker=$!
}

# ends -- let commands end; the run succeeds with the right output.
ends() {
    touch go
    wait $run
    cmp expected out
}

@test "a worker with the key joins over TLS and ends with the run" {
    begin 0
    # A port alone is one of this machine.
    [[ "$at" = 127.0.0.1:* ]]
    joins "$port"
    tells 'join1: '
    ends
    wait $worker
    [ ! -s join.err ]
    cut -f 2 log | grep -qx join1
}

@test "IPv6, and all addresses, if they are named" {
    grep -q '^00000000000000000000000000000001 ' /proc/net/if_inet6 2>/dev/null || skip "no IPv6 here"
    begin '[::1]:0'
    [[ "$at" = '[::1]:'* ]]
    joins "$at"
    tells 'join1: '
    ends
    wait $worker
    rm go
    begin 0.0.0.0:0
    joins "127.0.0.1:$port"
    tells 'join1: '
    ends
    wait $worker
}

@test "silent connections and garbage keep no worker out, and are not answered before the key" {
    begin 127.0.0.1:0
    local i silent=() odd
    for i in $(seq 16); do
        exec {odd}<>"/dev/tcp/127.0.0.1/$port"
        silent+=("$odd")
    done
    exec {odd}<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET / HTTP/1.0\r\n\r\n' >&"$odd"
    # The connection ends without a byte.
    [ "$(timeout $LONG cat <&"$odd" 2>/dev/null | wc -c)" -eq 0 ]
    exec {odd}>&-
    tells 'a connection from 127.0.0.1 did not show the key; later ones are not reported'
    # So do silent connections: nothing has been sent to them.
    run ! read -r -t 0.01 -N 1 -u "${silent[0]}"
    joins "$at"
    tells 'join1: '
    for i in "${silent[@]}"; do exec {i}>&-; done
    ends
    wait $worker
}

@test "another key is refused on both sides" {
    begin 0
    "$CLEAVE" keygen other
    refuses "cannot join 127.0.0.1 port $port: the run there has another key" join "$at" --key other
    tells 'a connection from 127.0.0.1 did not show the key'
    ends
    # A listener that knows nothing of TLS is not a run.
    cleave 3 join 127.0.0.1:1 --key key --connect-timeout 0.3
    [ "$stderr" = "cleave: cannot join 127.0.0.1 port 1: Connection refused" ]
}

@test "a worker that is killed loses nothing, and another one joins" {
    begin 0
    joins "$at"
    tells 'join1: '
    kill -KILL "$(pgrep -P $worker)"
    tells 'join1: lost, its chunks go elsewhere'
    joins "$at"
    tells 'join2: '
    ends
    wait $worker
}

@test "a worker that is told to end leaves in order, though the signal reaches its link" {
    begin 0 --grace 60
    joins "$at"
    tells "join1: $(uname -n) has joined"
    for pid in $(pgrep -P $worker) $(pgrep -P "$(pgrep -P $worker)" cleave-tls); do
        kill -TERM "$pid"
    done
    tells 'join1: was told to end (SIGTERM)'
    ends
    wait $worker
    run ! grep 'lost' err
}

@test "a worker that begins before the run waits for it" {
    cd "$BATS_TEST_TMPDIR"
    "$CLEAVE" keygen key
    # A port that is free now.
    begin 0
    ends
    rm go
    joins "$port"
    begin "$port"
    tells 'join1: '
    ends
    wait $worker
    # One line, if it was there first.
    cat join.err
    run ! grep -v "^cleave: cannot join 127.0.0.1 port $port: .*; tried again for 60 s$" join.err
    [ "$(wc -l <join.err)" -le 1 ]
}

@test "keygen makes a key that only its owner can read, and replaces none" {
    cd "$BATS_TEST_TMPDIR"
    umask 000
    cleave 0 keygen key
    [ "$(stat -c %a key)" = 600 ]
    grep -qxE '[0-9a-f]{64}' key
    refuses "key: exists; a key is not replaced" keygen key
    cleave 0 keygen
    [[ "$output" =~ ^[0-9a-f]{64}$ && "$output" != "$(cat key)" ]]
    ln -s nowhere link
    cleave 2 keygen link
    cleave 2 keygen none/key
    [ "$stderr" = "cleave: none/key: cannot make: No such file or directory" ]
}

@test "keys that others can read, files without a key and odd addresses are refused" {
    begin 0
    cp key open
    chmod 640 open
    local text="open: others may open this key: expected mode 0600, got 0640"
    refuses "$text" join "$at" --key open
    head -c 30 key >short
    { cat key && echo; cat key; } >two
    echo 'correct horse battery staple, thirty-two' >words
    chmod 600 short two words
    for file in short two words; do
        refuses "$file: expected a key of 32 to 128 hexadecimal digits, as 'cleave keygen' makes one" join "$at" --key $file
    done
    refuses "none: cannot read: No such file or directory" join "$at" --key none
    for address in here: :7 ::1:7 here:port 65536 '[]:7'; do
        refuses "expected an address HOST:PORT, or PORT of this machine, got '$address'" join "$address" --key key
    done
    refuses "$at: expected --key FILE with an address" join "$at"
    refuses "$text" run -i in --listen 0 --key open -- cat
    refuses "cannot listen on port $port of 127.0.0.1: Address already in use" run -i in --listen "$port" --key key -- cat
    refuses "expected both --listen and --key, got one of them" run -i in --listen 0 -- cat
    refuses "expected both --listen and --key, got one of them" run -i in --key key -- cat
    refuses "no host can join a run of policy 'umr': expected learn or self" run -i in --policy umr --listen 0 --key key -- cat
    mkdir empty
    CLEAVE_LIBEXEC=$PWD/empty cleave 3 run -i in --listen 0 --key key -- cat
    [ "$stderr" = "cleave: TLS is missing: CLEAVE_LIBEXEC names the folder $PWD/empty, which has no cleave-tls" ]
    ends
}
