# run_host_logins.bats -- what logins of other machines do to those who come. SPDX-License-Identifier: MIT
#
# `ssh` here is a script that lets the login shell of the host, by its name, read the line, as sshd does.
load helper
load job

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 1 50000 >in
    tr 0-9 a-j <in >expected
    mkdir home
    cat >ssh <<'END'
#!/bin/sh
here=${0%/*}
while [ "$1" != -- ]; do shift; done
# Nothing of standard error comes before a command has run; late-old has a worker that writes no mark.
late() {
    until [ -e "$here/begun" ]; do sleep 0.02; done
    printf 'tput: No value for $TERM\nwhat now? ' >&2
    while read -r line; do
        case $1:$line in late-old:'[cleave worker '*) continue ;; esac
        echo "$line" >&2
        case $line in "a command "*) : >"$here/said" ;; esac
    done
}
export HOME="$here/home"
case $2 in
fish*) exec fish -c "$3" ;;
dash*) exec dash -c "$3" ;;
greets*) echo "Welcome, dear user. CLV" && echo "There are news." && exec sh -c "$3" ;;
talks*) yes "There are news." | head -n 100000 && exec sh -c "$3" ;;
waits*) echo "Which terminal is this?" && exec sleep 100 ;;
closed*) echo "This account is not available." && exit 1 ;;
gone*) printf 'ssh: connect to host %s port 22: Connection refused\r\n' "$2" >&2 && exit 255 ;;
new*) printf "Warning: Permanently added '%s' (ED25519) to the list of known hosts.\r\n" "$2" >&2 && exec sh -c "$3" ;;
scolds*) printf '\n***\ntput: No value for $TERM\nand so on\n' >&2 && exec sh -c "$3" ;;
mocks*) echo "this is $2" >&2 && exec sh -c "$3" ;;
changed*) cat "$here/changed" >&2 && echo 'Host key verification failed.' >&2 && exit 255 ;;
trusts*) cat "$here/changed" >&2 && exec sh -c "$3" ;;
ends*) exit 1 ;;
reads*) read -r project && exec sh -c "$3" ;;
late*)
    mkfifo "$here/$2" && exec 4<>"$here/$2" 5<"$here/$2"
    late "$2" <&5 >/dev/null 4<&- &
    exec sh -c "$3" 2>"$here/$2" 4<&- 5<&-
    ;;
debug*) echo "debug1: Authentication succeeded" >&2 && exec sh -c "$3" ;;
readonly*) HOME=/proc/self exec sh -c "$3" ;;
*) exec sh -c "$3" ;;
esac
END
    chmod +x ssh
    # As ssh says it, but for names and most of it.
    cat >changed <<'END'
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Offending ED25519 key in /home/me/.ssh/known_hosts:3
  remove with:
  ssh-keygen -f "/home/me/.ssh/known_hosts" -R "changed"
END
}

says() {
    grep -qF -- "$1" err || {
        echo "expected: $1"
        cat err
        return 1
    }
}

# by HOSTS ARGUMENT... -- a job over them, by that ssh.
by() {
    job -i in --ssh "$T/ssh" --hosts "$@" -- tr 0-9 a-j
    cmp expected out
}

# by_all N HOSTS ARGUMENT... -- the same, and no command goes on before N hosts have one: on a busy machine some would
# come when the others had done all, which is said.
by_all() {
    local n=$1
    shift
    rm -f came.*
    # shellcheck disable=SC2016
    job -i in --ssh "$T/ssh" --block 5k --connect-timeout 50 --hosts "$@" -- sh -c '
        touch "$0/came.$CLEAVE_WORKER"
        for i in $(seq 600); do
            [ "$(ls "$0" | grep -c came)" -lt "$1" ] || break
            sleep 0.1
        done
        exec tr 0-9 a-j' "$T" "$n"
    cmp expected out
}

# leads HOST -- a platform file in which one leads another, whose name has quotes.
leads() {
    printf 'port: multi\nworkers: # it'"'"'s two\n'
    printf '  - {name: l, ssh: %sl, slots: 1, speed: 1e6, bandwidth: 1e7}\n' "$1"
    printf '  - {name: "f!", ssh: %sf, via: l, slots: 1, speed: 1e6, bandwidth: 1e7}\n' "$1"
}

@test "login shells other than bash start workers, copies and leaders" {
    prepare
    for shell in dash fish plain; do
        [ $shell = plain ] || command -v $shell >/dev/null || continue
        by $shell:1 --remote "$CLEAVE"
        [ ! -s err ]
        rm -rf home/.cache
        by $shell:1 --push
        [ "$(cat err)" = "cleave: $shell: gets a copy of cleave" ]
        leads $shell >h.yaml
        by h.yaml --remote "$CLEAVE"
        [ ! -s err ]
    done
}

@test "output of login scripts is skipped; a message instead of a worker is shown" {
    prepare
    by greets:1 --remote "$CLEAVE"
    [ ! -s err ]
    by greets --remote "$CLEAVE"
    by greets1:1,greets2:1 --via greets1 --remote "$CLEAVE"
    by closed:1,plain:1 --remote "$CLEAVE"
    says "closed: left out: expected a frame of cleave, got 'This account is not available.\\x0a'; '$T/ssh' exited with status 1"
    # More than anybody greets with is something else, and so is who waits for an answer.
    by talks:1,plain:1 --remote "$CLEAVE"
    says "talks: left out: expected a frame of cleave, got 'There are news."
    fails_with 3 -i in --ssh "$T/ssh" --hosts waits:1 --connect-timeout 1 --remote "$CLEAVE" -- cat
    says "; its message is 'Which terminal is this?\\x0a'"
}

@test "join by ssh skips output of login scripts" {
    prepare
    mkfifo go
    timeout $LONG "$CLEAVE" run -q -i in --join-socket sock -j 1 --block 10k -- sh -c 'echo $CLEAVE_WORKER >>begun; cat go; tr 0-9 a-j' >out 2>err 3>&- &
    run=$!
    appears begun
    timeout $LONG "$CLEAVE" join --ssh "$T/ssh" --remote "$CLEAVE" -j 1 "greets:$T/sock" >joined 2>&1 3>&- &
    join=$!
    until grep -q join begun; do
        sleep 0.02
        kill -0 $join
    done
    (while :; do : >go; done) 2>/dev/null 3>&- &
    feeder=$!
    wait $run
    kill $feeder
    cmp expected out
    wait $join
    [ ! -s joined ]
}

@test "if no copy of cleave can be put, the message names the place and the command to type" {
    prepare
    by readonly:1,plain:1 --push
    says "readonly: left out: cannot put a copy of cleave there, into ~/.cache/cleave: the command that does it failed; --remote FILE names an installed one"
}

@test "many hosts that are not there are counted, not named" {
    prepare
    by "gone[1-40]:1,plain:1" --remote "$CLEAVE"
    [ "$(grep -c "left out: the connection was closed; '$T/ssh' exited with status 255: ssh: connect to host gone[0-9]* port 22: Connection refused\$" err)" -eq 5 ]
    says "35 more hosts are left out, the last of them gone"
    [ "$(wc -l <err)" -eq 6 ]
    by "gone[1-6]:1,plain:1" --remote "$CLEAVE"
    says "1 more host is left out, the last of them gone"
    by "gone[1-5]:1,plain:1" --remote "$CLEAVE"
    [ "$(wc -l <err)" -eq 5 ]
    timeout $LONG "$CLEAVE" run --json -i in -o out --ssh "$T/ssh" --remote "$CLEAVE" --hosts 'gone[1-9]:1,plain:1' -- cat >json 2>err
    [ "$(grep -c '"host": "gone' json)" -eq 9 ]
}

@test "messages of ssh and login scripts for joining hosts are printed once, not per host" {
    prepare
    by_all 8 'new[1-8]:1' --remote "$CLEAVE"
    [ ! -s err ]
    by_all 8 'scolds[1-8]:1' --remote "$CLEAVE"
    [ "$(wc -l <err)" -eq 1 ]
    grep -Eq '^cleave: scolds[1-8]: said before it was ready: .tput: No value for \$TERM., and 1 more line$' err
    by_all 9 'mocks[1-8]:1,scolds:1' --remote "$CLEAVE"
    [ "$(grep -c ': said before it was ready: ' err)" -eq 1 ]
    says "cleave: 8 more hosts said something before they were ready"
    by debug:1 --remote "$CLEAVE"
    [ "$(cat err)" = "debug1: Authentication succeeded" ]
}

# Standard error comes behind the frames, so that only the mark of the worker tells whose it is.
@test "a login message is quoted, and messages of commands are passed on, even late" {
    prepare
    cat >says <<'END'
#!/bin/sh
tr 0-9 a-j
echo "a command says this" >&2
: >begun
until [ -e said ]; do sleep 0.02; done
END
    chmod +x says
    by_late() { # HOST
        rm -f begun said
        job -i in --ssh "$T/ssh" --hosts "$1:1" --block 1M --remote "$CLEAVE" -- "$T/says"
        cmp expected out
    }
    by_late late
    [ "$(cat err)" = "cleave: late: said before it was ready: 'tput: No value for \$TERM', and 1 more line
a command says this" ]
    # Without a mark all of it is there in the end, as it came.
    by_late late-old
    [ "$(cat err)" = 'tput: No value for $TERM
what now? a command says this' ]
}

@test "a login script that ends, or reads its input, is named as a possible cause" {
    prepare
    fails_with 3 -i in --ssh "$T/ssh" --remote "$CLEAVE" --hosts ends:1 -- cat
    says "ends: left out: the connection was closed; '$T/ssh' exited with status 1; no message came: does a login script there end it?"
    # A frame need not hold the end of a line: one that says which command does.
    fails_with 3 -i in --ssh "$T/ssh" --remote "$CLEAVE" --hosts reads:1 -- sh -c '
        tr 0-9 a-j'
    says "; does a login script there read standard input? It must not"
}

@test "a host with a changed key is named, even if other hosts are absent" {
    prepare
    by 'gone[1-20]:1,changed:1,plain:1' --remote "$CLEAVE"
    says 'changed: left out: the connection was closed'
    says 'its HOST KEY HAS CHANGED: it was installed again, or the connection is intercepted; if you know that it was, this forgets the old one: ssh-keygen -f "/home/me/.ssh/known_hosts" -R "changed"'
    says "15 more hosts are left out"
    [ "$(wc -l <err)" -eq 7 ]
    by trusts:1 --remote "$CLEAVE"
    [ "$(cat err)" = "cleave: trusts: its HOST KEY HAS CHANGED, and ssh continued as configured: another machine may intercept the connection" ]
}

# Some fifty chunks; who does the first one says more than two pipes hold.
@test "a reader that does not read errors of hosts delays no worker" {
    prepare
    mkfifo said
    timeout $LONG "$CLEAVE" run -q -i in --ssh "$T/ssh" --remote "$CLEAVE" --hosts 'plain1:1,plain2:1' --block 6k -- sh -c '
        tr 0-9 a-j >"$PWD/$$"; case $(head -n 1 "$$") in b) yes loud | head -c 300000 >&2 ;; esac; cat "$$"; mv "$$" "done.$$"' >out 2>said 3>&- &
    run=$!
    exec 4<said
    until [ "$(find . -name "done.*" | wc -l)" -ge 40 ]; do
        sleep 0.02
        kill -0 $run
    done
    cat <&4 >err &
    reader=$!
    exec 4<&-
    wait $run
    wait $reader
    cmp expected out
    [ "$(wc -c <err)" -eq 300000 ]
}

@test "two names of one machine whose cores are counted are noted, once" {
    prepare
    by plain1,plain2,plain3 --remote "$CLEAVE"
    grep -Eq "^cleave: plain[123]: calls itself '$(uname -n)', as plain[123] does: if that is one machine, its cores are used twice; name it once, or with slots, as in plain[123]:2$" err
    [ "$(wc -l <err)" -eq 1 ]
    by :,plain1 --remote "$CLEAVE"
    says "plain1: calls itself '$(uname -n)', as this machine does"
    # Who says how many slots knows.
    by plain1:1,plain2:2,::1 --remote "$CLEAVE"
    [ ! -s err ]
}
