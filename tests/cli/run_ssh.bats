# run_ssh.bats -- cleave run on hosts reached by ssh, made by tools/testbed.
# SPDX-License-Identifier: MIT
#
# Skipped, with the reason, where the kernel refuses what the test bed needs.
load helper

setup_file() {
    export BED=$BATS_FILE_TMPDIR/bed
    # Another one for whoever does the same beside it.
    export TESTBED_NET=198.18.$((80 + $$ % 170))
    local reason=0
    printf '%s\n' 'fast 200mbit 0.5' 'slow 50mbit 0.25' 'thin 20mbit 0.5' >"$BATS_FILE_TMPDIR/hosts"
    # The test bed goes with the process that made it: that is the one that runs this file.
    "$CLEAVE_SOURCE_DIR/tools/testbed" up "$BATS_FILE_TMPDIR/hosts" "$BED" \
        2>"$BATS_FILE_TMPDIR/reason" 3>&- || reason=$?
    if [ "$reason" -eq 77 ]; then
        touch "$BATS_FILE_TMPDIR/skip"
        return 0
    fi
    [ "$reason" -eq 0 ] || {
        cat "$BATS_FILE_TMPDIR/reason"
        return 1
    }
    export SSH="ssh -F $BED/ssh_config"
    # Hosts of the test bed share the file system: commands find cleave where it is.
    export REMOTE=$CLEAVE
}

teardown_file() {
    [ -e "$BATS_FILE_TMPDIR/skip" ] || "$CLEAVE_SOURCE_DIR/tools/testbed" down "$BED"
}

prepare() {
    [ ! -e "$BATS_FILE_TMPDIR/skip" ] || skip "$(cat "$BATS_FILE_TMPDIR/reason")"
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 1 400000 >in
    tr 0-9 a-j <in >expected
    "$CLEAVE_SOURCE_DIR/tools/testbed" hosts "$BED" >h.yaml
}

bed() {
    "$CLEAVE_SOURCE_DIR/tools/testbed" "$@"
}

# job ARGUMENT... -- on the hosts; its output is in out, the status must be 0.
job() {
    timeout $LONG "$CLEAVE" run -q -i in --hosts h.yaml --ssh "$SSH" --remote "$REMOTE" "$@" >out 2>err || {
        echo "cleave run $*: exit status $?"
        cat err
        return 1
    }
}

@test "by ssh, the output is the same as here" {
    prepare
    meeting_command fast slow thin
    job --joblog log -- "$T/meet"
    cmp expected out
    for name in fast slow thin; do
        awk -F '\t' -v name=$name '$2 == name { found = 1 } END { exit !found }' log
    done
    # It is there that commands run.
    job --block 100000 -- sh -c 'cat >/dev/null; echo "$CLEAVE_WORKER $(hostname)"'
    awk '$1 != $2 { exit 1 }' out
    job --reduce 'awk "{ s += \$1 } END { printf \"%.0f\\n\", s }"' -- awk '{ s += $1 } END { printf "%.0f\n", s }'
    [ "$(cat out)" = 80000200000 ]
}

@test "a host that does not answer, or has no cleave, is left out" {
    prepare
    bed unplug "$BED" thin
    sed -i 's/^workers:/workers:\n  - {name: nowhere, ssh: no-such-host, speed: 1e6, bandwidth: 1e6}/' h.yaml
    job --connect-timeout 5 -- tr 0-9 a-j
    bed plug "$BED" thin
    cmp expected out
    says "thin: left out:"
    says "nowhere: left out:"
    REMOTE=/no/such/cleave
    status=0
    timeout $LONG "$CLEAVE" run -q -i in --hosts h.yaml --ssh "$SSH" --remote "$REMOTE" -- cat >out 2>err || status=$?
    [ "$status" -eq 3 ]
    says "is there a cleave? --push brings one"
}

@test "a link that is unplugged in the middle of a transfer loses nothing" {
    prepare
    seq 1 3000000 >in
    tr 0-9 a-j <in >expected
    # Its first command waits for the link to go while the next chunks are on their way.
    cat >held <<END
#!/bin/sh
if [ \$CLEAVE_WORKER = thin ]; then
    touch "$T/began"
    while [ ! -e "$T/unplugged" ]; do sleep 0.02; done
fi
exec tr 0-9 a-j
END
    chmod +x held
    (
        appears began
        bed unplug "$BED" thin
        touch unplugged
    ) 3>&- &
    job --backups off --host-timeout 6 --block 1000000 -- "$T/held"
    wait
    bed plug "$BED" thin
    cmp expected out
    says "thin: lost, its chunks go elsewhere: it sent nothing for 6 s"
}

@test "a worker that gets SIGTERM gives back chunks it has not begun, and lines come by ssh" {
    prepare
    slow_command 0.05
    (
        appears parent.fast
        kill -TERM "$(cat parent.fast)"
    ) 3>&- &
    job --block 30000 --grace 60 -- "$T/slow"
    wait
    cmp expected out
    says "fast: was told to end (SIGTERM): it gets nothing new, and leaves within 60 s (--grace)"
    run ! grep -q lost err
    # The first line is read while the command that wrote it waits for that.
    mkfifo go
    exec 7< <(timeout $LONG "$CLEAVE" run -q -i in --hosts h.yaml --ssh "$SSH" --remote "$REMOTE" --line-buffer -- \
        sh -c "read x; echo \$x; if [ \$x = 1 ]; then read y <'$T/go'; fi; cat" 2>err 3>&-)
    read -r line <&7
    [ "$line" = 1 ]
    echo >go
    cmp <(sed 1d in) <(cat <&7)
    exec 7<&-
}

@test "a killed worker, a hanging worker, and a killed master" {
    prepare
    slow_command 0.1
    for signal in KILL STOP; do
        rm -f parent.*
        (
            appears parent.fast
            kill -$signal "$(cat parent.fast)"
        ) 3>&- &
        job --backups off --host-timeout 6 --block 30000 -- "$T/slow"
        wait
        cmp expected out
        says "fast: lost, its chunks go elsewhere"
    done
    kill -KILL "$(cat parent.fast)" 2>/dev/null || true
    rm -f parent.*
    timeout $LONG "$CLEAVE" run -q -i in --hosts h.yaml --ssh "$SSH" --remote "$REMOTE" --block 30000 \
        --journal j --joblog first -- "$T/slow" >out 2>err 3>&- &
    pid=$!
    appears first
    until [ "$(wc -l <first)" -ge 5 ]; do sleep 0.02; done
    kill -KILL "$(pgrep -P $pid)"
    wait $pid || true
    job --block 30000 --journal j --resume --joblog log -- "$T/slow"
    cmp expected out
    [ "$(wc -l <log)" -lt 90 ]
}

@test "--push takes a copy there, which is checked and used again" {
    prepare
    mkdir home
    printf '#!/bin/sh\nexport HOME="%s/home"\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n' "$T" >in-home
    chmod +x in-home
    cp "$BED/authorized_keys" keys.before
    sed "s#^#command=\"$T/in-home\" #" keys.before >"$BED/authorized_keys"
    push() {
        timeout $LONG "$CLEAVE" run -q -i in --hosts h.yaml --ssh "$SSH" --push --connect-timeout 1min -- tr 0-9 a-j >out 2>err
    }
    sed -i '/slow\|thin/d' h.yaml
    push || { cat err; cp keys.before "$BED/authorized_keys"; return 1; }
    cmp expected out
    says "fast: gets a copy of cleave"
    copy=$(echo home/.cache/cleave/*/cleave)
    cmp "$copy" "$CLEAVE-portable" || cmp "$copy" "$CLEAVE"
    # It is there now.
    push
    cmp expected out
    ! grep -q "gets a copy" err
    # One that is damaged is replaced.
    cp "$copy" damaged
    printf 'x' | dd of=damaged bs=1 seek=$(($(stat -c %s damaged) - 1)) conv=notrunc 2>/dev/null
    mv damaged "$copy" # the one before may still be running
    push || { cat err; cp keys.before "$BED/authorized_keys"; return 1; }
    cmp expected out
    says "fast: gets a copy of cleave"
    cp keys.before "$BED/authorized_keys"
}

@test "--shared-input sends nothing" {
    prepare
    job --shared-input --joblog log -- tr 0-9 a-j
    cmp expected out
    awk -F '\t' 'NR > 1 && $5 != 0 { exit 1 }' log
}

@test "hosts in words, lists and files, by ssh" {
    prepare
    seq 1 20000 >in
    tr 0-9 a-j <in >expected
    # The hosts of the test bed once more, with names that make a range.
    awk -v n=0 '/^Host / { $0 = sprintf("Host node%02d", ++n) } { print }' "$BED/ssh_config" |
        cat - "$BED/ssh_config" >config
    # words NAME... -- HOSTS...: a run whose workers, by these names, have all begun before any goes on.
    words() {
        local names=()
        while [ "$1" != -- ]; do names+=("$1") && shift; done
        shift
        rm -f here.*
        meeting_command "${names[@]}"
        timeout $LONG "$CLEAVE" run -q -i in --ssh "ssh -F $T/config" --remote "$REMOTE" --connect-timeout 60 \
            --block 10k "$@" -- "$T/meet" >out
        cmp expected out
    }
    words fast here slow thin -- --hosts 'fast:1,::1,root@slow:1,thin:1'
    words node01 node02 -- --hosts 'node[01-02]:1'
    words fast thin.0 thin.1 -- -S 1/fast -S "2/ssh -F $T/config thin"
    printf '%s\n' '# as MPI and GNU parallel write them' 'fast slots=1' '1/slow' 'node[03]:1' ':' >list
    words fast here.0 here.1 node03 slow -- --hosts-file list -j 2
    # Who does not say is asked, and has as many slots as cores that it may use.
    words "fast.$(($(nproc) - 1))" -- --hosts fast
}

@test "a host that only its leader reaches" {
    prepare
    {
        echo 'port: multi'
        echo 'workers:'
        echo '  - {name: lead, ssh: fast, slots: 1, speed: 1e6, bandwidth: 1e6}'
        echo '  - {name: s, ssh: slow, slots: 2, via: lead, speed: 1e6, bandwidth: 1e6}'
        echo '  - {name: t, ssh: thin, slots: 1, via: lead, speed: 1e6, bandwidth: 1e6}'
    } >h.yaml
    meeting_command lead s.0 s.1 t
    job --backups off --block 3M -- "$T/meet"
    cmp expected out
}

# login SHELL [LINE]... -- an sshd more on `fast`, where the user's login shell and .bashrc are these; a
# greeting comes before both. The job must succeed, or fail with the status in $wanted.
login() {
    local got=0
    mkdir -p home
    printf 'Only for those\nwho may\n' >banner
    sed "s|^root:.*|root:x:0:0:root:$T/home:$1|" /etc/passwd >passwd
    shift
    printf '%s\n' "$@" >home/.bashrc
    sed -e 's/^Port 22$/Port 2222/' -e "s|^PidFile .*|PidFile $T/pid|" -e '/^SetEnv/d' "$BED/sshd_fast" >conf
    echo "Banner $T/banner" >>conf
    bed exec "$BED" fast unshare -m sh -c "mount --bind '$T/passwd' /etc/passwd && /usr/sbin/sshd -f '$T/conf'"
    until [ -s pid ]; do sleep 0.02; done
    timeout $LONG "$CLEAVE" run -q -i in --hosts fast:1 --ssh "$SSH -o LogLevel=INFO -p 2222" --remote "$REMOTE" --connect-timeout ${patience:-60} -- \
        tr 0-9 a-j >out 2>err || got=$?
    kill "$(cat pid)"
    while [ -s pid ]; do sleep 0.02; done
    [ "$got" -eq "${wanted:-0}" ] || {
        echo "$*: exit status $got"
        cat err
        return 1
    }
    [ "${wanted:-0}" -ne 0 ] || cmp expected out
}

@test "logins of all kinds: shells, greetings, scripts that wait, end or read" {
    prepare
    seq 1 20000 >in
    tr 0-9 a-j <in >expected
    login /bin/bash
    [ "$(cat err)" = "cleave: fast: said before it was ready: 'Only for those', and 1 more line" ]
    for shell in fish zsh dash; do
        [ -z "$(command -v $shell)" ] || login "$(command -v $shell)"
    done
    login /bin/bash 'echo hello' 'echo there are news >&2' 'sleep 2' 'set -e'
    login /bin/bash 'exec 2>&-'
    wanted=3
    login /bin/bash 'set -eu' 'echo $NO_SUCH_NAME'
    says "NO_SUCH_NAME: unbound variable"
    login /bin/bash 'set -e' 'false'
    grep -q "fast: left out: the connection was closed; 'ssh' exited with status 1: Only for those; who may" err
    login /usr/sbin/nologin
    says "This account is currently not available."
    patience=3
    login /bin/bash 'echo "Which project?"' 'read -r -d "" project'
    grep -q "fast: left out: " err
}
