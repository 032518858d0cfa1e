# relay.bats -- tests/relay.c is a link that delays, limits, loses and ends. SPDX-License-Identifier: MIT
load helper

setup_file() {
    command -v "${CC:-cc}" >/dev/null || skip "no compiler"
    export RELAY=$BATS_FILE_TMPDIR/relay
    ${CC:-cc} -O1 -o "$RELAY" "$CLEAVE_SOURCE_DIR/tests/relay.c" -lm
    head -c 3000000 /dev/urandom >"$BATS_FILE_TMPDIR/in"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    ln -s "$BATS_FILE_TMPDIR/in" in
    mkfifo open
    exec 9<>open # an input that stays open
}

# at_least SECONDS COMMAND... -- the command succeeds and does not take less than that.
at_least() {
    local least=$1 began=$EPOCHREALTIME
    shift
    "$@"
    awk -v a="$began" -v b="$EPOCHREALTIME" -v least="$least" 'BEGIN { exit !(b - a >= least) }'
}

# carried OPTION... -- both ways carry the input through a command that reads and writes at the same time.
carried() {
    "$RELAY" "$@" -- cat <in | cmp - in
}

@test "relay carries both ways unchanged, with and without a delay and a rate" {
    carried --delay 0
    at_least 0.1 carried --delay 50
    at_least 0.3 carried --rate 10000000
    at_least 0.4 carried --rate 10000000 --delay 50
}

@test "relay --stall holds bytes back until the stall ends" {
    at_least 0.6 carried --stall 0:0.3 --stall 0.3:0.3
}

# ends STATUS OPTION... -- relay ends with this status although its input stays open.
ends() {
    local expected=$1 got=0
    shift
    "$RELAY" "$@" <open >out || got=$?
    [ "$got" -eq "$expected" ]
}

@test "relay returns the status of its command" {
    ends 0 -- true
    ends 3 -- sh -c 'exit 3'
    ends 3 -- sh -c 'exec <&-; exit 3'
    ends 3 --delay 20 -- sh -c 'echo last; exit 3'
    [ "$(cat out)" = last ]
    ends 137 -- sh -c 'kill -9 $$'
    ends 127 -- ./does-not-exist
}

@test "relay --cut and --cut-after end the connection with status 0" {
    at_least 0.2 ends 0 --cut 0.2 -- cat
    ends 0 --cut-after 1000 -- cat in
    cmp out <(head -c 1000 in)
    # The command sees the end of its input.
    mkfifo ended
    "$RELAY" --cut 0.1 -- sh -c 'cat; echo ended >ended' <open >out &
    [ "$(cat ended)" = ended ]
}

@test "relay --loss-after loses all bytes, both ways, and ends with its command" {
    "$RELAY" --loss-after 1000 -- sh -c 'head -c 1000 in; head -c 1 in; sleep 0.1; cat >got' <in >out
    cmp out <(head -c 1000 in)
    ends 4 --loss-after 1000 -- sh -c 'cat in; exit 4'
    cmp out <(head -c 1000 in)
}

@test "relay --flip damages one byte, --once only in the first connection" {
    "$RELAY" --flip 5000 --once mark -- cat in >out
    [ "$(cmp -l in out | awk '{ print $1 }')" = 5000 ]
    "$RELAY" --flip 5000 --once mark -- cat in >out
    cmp in out
}

@test "relay takes in no more than it has room for, and stops with its reader" {
    (ulimit -v 80000 && head -c 100000000 /dev/zero | "$RELAY" --delay 1 -- cat | wc -c >out)
    [ "$(cat out)" -eq 100000000 ]
    yes | "$RELAY" -- cat | head -n 2 >out
    [ "$(cat out)" = $'y\ny' ]
}

@test "relay refuses bad options" {
    for bad in "--delay x -- true" "--rate 0 -- true" "--stall 1 -- true" "--sideways 1 -- true" "--delay 1 --" ""; do
        # shellcheck disable=SC2086
        ends 2 $bad 2>err
        [ -s err ]
    done
}

@test "a host is reached through relay" {
    printf 'port: multi\nworkers:\n  - {name: near, slots: 1, speed: 1, bandwidth: 1e9}\n' >hosts.yaml
    printf '  - {name: far, slots: 1, speed: 1, bandwidth: 1e9, command: %s --delay 20 --}\n' "$RELAY" >>hosts.yaml
    base64 in >text
    "$CLEAVE" run -q -i text --hosts hosts.yaml -o upper -- tr a-z A-Z
    cmp upper <(tr a-z A-Z <text)
}
