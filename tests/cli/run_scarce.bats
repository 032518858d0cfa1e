# run_scarce.bats -- no room for another process, or for its descriptors. SPDX-License-Identifier: MIT
#
# Whatever cannot be started now is started when something has ended: commands on chunks that stay
# open (the way of a file), commands that stay, commands that fold, here and on hosts.
load helper

# Somebody who has no processes, also while other tests do the same.
OTHER=$((50000 + $$ % 10000))

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 100000 >many
    echo 5000050000 >sum
    chmod a+rx . && chmod a+r many sum
}

# files N ARGUMENT... -- cleave run -q with so many descriptors, which must succeed.
files() {
    local most=$1
    shift
    (ulimit -n "$most" && timeout $LONG "$CLEAVE" run -q "$@" >out 2>err 3>&-) || { cat err; return 1; }
}

# processes N ARGUMENT... -- the same with so many processes of a user who has no others.
processes() {
    local most=$1
    shift
    timeout $LONG prlimit --nproc="$most" setpriv --reuid $OTHER --clear-groups "$CLEAVE" run -q "$@" \
        >out 2>err 3>&- || { cat err; return 1; }
}

may_be_another() {
    [ "$(id -u)" -eq 0 ] || skip "it takes a user without other processes"
    command -v setpriv prlimit >/dev/null || skip "setpriv or prlimit is not there"
    setpriv --reuid $OTHER --clear-groups env "$CLEAVE" version >/dev/null 2>&1 || skip "others may not run $CLEAVE"
}

# waited -- a line says once that commands had to wait, and why; there may have been no room for their
# guard either, which is said, too.
waited() {
    [ "$(grep -c 'commands wait until others have ended$' err)" -eq 1 ] || { cat err; return 1; }
    run ! grep -v -e 'commands wait until' -e 'commands will continue if this process is killed' err
}

# Answers each frame with itself, and ends after so many.
STAYS='
import sys
read, write = sys.stdin.buffer, sys.stdout.buffer
for _ in range(int(sys.argv[1])):
    length = read.read(8)
    if len(length) < 8:
        break
    write.write(length + read.read(int.from_bytes(length, "big")))
    write.flush()
'
SUM='{ s += $1 } END { printf "%.0f\n", s }'

# --- open files ----------------------------------------------------------------------------

@test "few open files: chunks that stay open wait" {
    prepare
    for most in 18 24 30; do
        files $most -j 8 -i many -- sh -c 'sleep 0.02; cat'
        cmp many out
        waited
        grep -q 'ulimit -n' err
    done
}

@test "few open files: commands that stay wait" {
    prepare
    for most in 18 24 30; do
        files $most -j 8 --block 5k -i many --persistent -- python3 -c "$STAYS" 1000000
        cmp many out
        waited
    done
}

@test "few open files: folds wait" {
    prepare
    for most in 18 24; do
        files $most -j 8 --block 5k -i many --reduce "awk '$SUM'" -- awk "$SUM"
        cmp sum out
        files $most -j 8 -i many --reduce "awk '$SUM'" -- awk "$SUM"
        cmp sum out
    done
    # Each result is a file that is open.
    for most in 28 30 32; do
        files $most -j 8 --block 5k -i many --reduce 'sort -m {1} {2}' -- sort
        sort many | cmp - out
    done
}

# --- processes -----------------------------------------------------------------------------

@test "few processes: chunks that stay open wait" {
    prepare
    may_be_another
    for most in 3 5; do
        processes $most -j 8 -i many -- cat
        cmp many out
        waited
        grep -q "cannot run 'cat': too many processes (see: ulimit -u)" err
    done
    # What waited was sent when it was begun, and not each time that there was no room.
    mkdir -m 777 theirs
    processes 3 -j 8 -i many --trace theirs/trace -- cat
    waited
    [ -z "$(sed -n 's/^{"event":"sent".*"chunk":\([0-9]*\).*/\1/p' theirs/trace | sort | uniq -d)" ]
    # Of a stream as well.
    processes 4 -j 8 -- cat <many
    cmp many out
}

@test "few processes: persistent commands wait, and an ended one restarts" {
    prepare
    may_be_another
    for answers in 1000000 2; do
        processes 4 -j 8 --block 5k -i many --persistent -- python3 -c "$STAYS" $answers
        cmp many out
        waited
    done
}

@test "few processes: folds wait" {
    prepare
    may_be_another
    for most in 3 5; do
        processes $most -j 8 --block 5k -i many --reduce "exec awk '$SUM'" -- awk "$SUM"
        cmp sum out
        waited
        # Two files for each.
        processes $most -j 8 --block 5k -i many --reduce "exec sort -m {1} {2}" -- sort
        sort many | cmp - out
    done
}

@test "few processes: hosts wait as well" {
    prepare
    may_be_another
    printf 'workers:\n  - {name: h, slots: 6, speed: 1e6, bandwidth: 1e9}\n' >h.yaml
    processes 8 --hosts h.yaml -i many -- cat
    cmp many out
    processes 8 --hosts h.yaml --block 5k -i many --persistent -- python3 -c "$STAYS" 1000000
    cmp many out
    processes 8 --hosts h.yaml --block 20k -i many --reduce "exec awk '$SUM'" -- awk "$SUM"
    cmp sum out
}

# packed -- `many.xz` and `many.bgz`, of several blocks each, hold `all`.
packed() {
    local i form
    for i in $(seq 300); do seq 3000; done >all
    for form in xz bgz; do
        for i in $(seq 300); do cat "$CLEAVE_SOURCE_DIR/tests/packed/seq.$form"; done >many.$form
    done
    printf 'workers:\n  - {name: h, slots: 6, speed: 1e6, bandwidth: 1e9}\n' >h.yaml
    chmod a+r all many.* h.yaml
}

@test "few processes: input is decoded without a thread if none can start" {
    prepare
    may_be_another
    packed
    for form in xz bgz; do
        for most in 5 8; do
            processes $most -j 4 -i many.$form -- cat
            cmp all out
        done
        for how in "" --shared-input "--policy guided"; do
            # shellcheck disable=SC2086
            processes 8 --hosts h.yaml $how -i many.$form -- cat
            cmp all out
        done
    done
}

# --- not even for one ----------------------------------------------------------------------

# A chunk takes a command, one that fetches, and a thread; to cut the input takes one that fetches as well.
@test "few processes: fetched input waits for its command" {
    prepare
    may_be_another
    fetches='exec dd if=many iflag=skip_bytes,count_bytes skip={begin} count={length} bs=64k status=none'
    size=$(stat -c %s many)
    for most in 5 6 8 12; do
        processes $most -j 8 -i many --fetch "$fetches" --size "$size" -- cat
        cmp many out
        processes $most -j 8 -i many --fetch "$fetches" --size "$size" --block 20k -- cat
        cmp many out
    done
    # A header is there already.
    for most in 5 6 8; do
        processes $most -j 8 -i many --fetch "$fetches" --size "$size" --header -- tail -n +2
        tail -n +2 many | cmp - out
    done
    # What follows one that a pipe does not hold is fetched when its command has begun to read: the run, its
    # guard, the commands, and two for that.
    { head -c 100000 /dev/zero | tr '\0' x && echo && cat many; } >long
    for most in 5 6 8; do
        processes $most -j $((most - 4)) -i long --fetch "${fetches/many/long}" --size "$((size + 100001))" --header -- tail -n +2
        cmp many out
    done
}

@test "too few processes for one command: the run ends, and names the limit" {
    prepare
    may_be_another
    # All at once, as each of them hopes for a while; each of another user, as one process is all there may be.
    for how in --block=5k --persistent --reduce=cat --policy=learn; do
        mkdir ./$how
        OTHER=$((OTHER + 10000))
        (cd ./$how && ! processes 1 -j 2 -i ../many $how -- cat) >/dev/null 3>&- &
    done
    wait
    for how in --block=5k --persistent --reduce=cat --policy=learn; do
        [ ! -s ./$how/out ]
        grep -q 'too many processes (see: ulimit -u)$' ./$how/err
    done
}
