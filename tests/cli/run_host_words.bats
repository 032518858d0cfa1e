# run_host_words.bats -- hosts that are named in words. SPDX-License-Identifier: MIT
#
# `ssh` here is a script that runs what it is told on this machine and keeps the words that it
# was given; real hosts are in run_ssh.bats.
load helper
load job

# prepare -- a folder for the files of a test, and an ssh that reaches this machine.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 1 50000 >in
    tr 0-9 a-j <in >expected
    cat >ssh <<'END'
#!/bin/sh
echo "$*" >>"${0%/*}/words"
while [ "$1" != -- ]; do shift; done
case $2 in
*narrow) exec taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" sh -c "$3" ;;
*) exec sh -c "$3" ;;
esac
END
    chmod +x ssh
    : >words
}

# far ARGUMENT... -- a job on hosts of that ssh.
far() {
    job -i in --ssh "$T/ssh" --remote "$CLEAVE" "$@"
}

# workers ARGUMENT... -- the names of the workers of such a run, sorted, on a line.
workers() {
    timeout $LONG "$CLEAVE" run -i in -o out --ssh "$T/ssh" --remote "$CLEAVE" --json "$@" -- \
        tr 0-9 a-j 2>err | sed -n 's/.*"name": "\([^"]*\)".*/\1/p' | sort | tr '\n' ' '
}

# reached -- the hosts that ssh was asked for, sorted, on a line.
reached() {
    sed 's/.* -- \([^ ]*\) .*/\1/' words | sort | tr '\n' ' '
}

@test "hosts are named on the command line, and do the same as this machine" {
    prepare
    far --hosts 'a:1,b:2,me@c:1,n[08-10]:1' --policy self -- tr 0-9 a-j
    cmp expected out
    [ "$(reached)" = "a b me@c n08 n09 n10 " ]
    [ "$(workers --hosts 'a:1,b:2,me@c:1,n[08-10]:1')" = "a b.0 b.1 c n08 n09 n10 " ]
    cmp expected out
}

@test "a host that does not say its slots has one for each core that it may use" {
    prepare
    # As many as workers here, whatever grants them; of a host that has one core, one.
    cores=$("$CLEAVE" run -i in -o out --json -- tr 0-9 a-j | grep -c '"name"')
    [ "$(workers --hosts a --policy self | wc -w)" -eq "$cores" ]
    cmp expected out
    if command -v taskset >/dev/null; then
        [ "$(workers --hosts narrow,b:1)" = "b narrow " ]
        cmp expected out
    fi
    # With a policy that plans ahead, too, and where it is said for all.
    [ "$(workers --hosts a,b -j 2)" = "a.0 a.1 b.0 b.1 " ]
    [ "$(workers --hosts a,b:1 -j 2)" = "a.0 a.1 b " ]
    [ "$(workers --hosts a --policy umr | wc -w)" -eq "$cores" ]
    cmp expected out
}

@test "this machine is ':', with others or alone" {
    prepare
    [ "$(workers --hosts ::2,a:1)" = "a here.0 here.1 " ]
    [ "$(reached)" = "a " ]
    cmp expected out
    job -i in -S 2/: --block 50000 --joblog log -- tr 0-9 a-j
    run ! grep -v 'here\.[01]' <(tail -n +2 log)
    cmp expected out
}

@test "-S as GNU parallel spells it, several times, with another ssh" {
    prepare
    ln -s ssh other-ssh
    [ "$(workers -S 2/a,me@b -S "1/$T/other-ssh -p 2222 c" -j 1)" = "a.0 a.1 b c " ]
    cmp expected out
    [ "$(reached)" = "a c me@b " ]
    grep -q '^-p 2222 -T .* -- c ' words
}

@test "addresses of IPv6 and ssh:// reach their hosts, behind leaders too" {
    prepare
    [ "$(workers --hosts '4/a,[::1]:1,me@[fe80::2]:1,ssh://me@b:2222' -j 1)" = "::1 a.0 a.1 a.2 a.3 b fe80::2 " ]
    cmp expected out
    [ "$(reached)" = "::1 a me@fe80::2 ssh://me@b:2222 " ]
    : >words
    far --hosts '[::1]:1,ssh://b:22,c:1' --via '[::1]:b,c' -j 1 -- tr 0-9 a-j
    cmp expected out
    for host in ::1 c ssh://b:22; do
        grep -qF -- " -- $host " words
    done
    fails_with 2 -i in --hosts me@a:/tmp -- cat
    says "--hosts: me@a:/tmp: No such file or directory: expected a platform file, or hosts as in a,b:4,me@c"
}

@test "files of hosts: GNU parallel's, MPI's and that of PBS" {
    prepare
    printf '# ours\n2/a\nme@b slots=1 # one\n\nc:1\nn[1-2]:1\n' >list
    [ "$(workers --hosts-file list)" = "a.0 a.1 b c n1 n2 " ]
    cmp expected out
    for name in --sshloginfile --slf; do
        [ "$(workers $name list)" = "a.0 a.1 b c n1 n2 " ]
    done
    [ "$(workers --hosts-file list --hosts x:1)" = "a.0 a.1 b c n1 n2 x " ]
    printf 'a\nb\na\n' >nodes
    [ "$(workers --hosts-file nodes)" = "a.0 a.1 b " ]
    printf 'a\nb\n' >nodes
    export PBS_NODEFILE=nodes
    [ "$(workers --hosts-file nodes)" = "a b " ]
    cmp expected out
}

@test "the name of a file is a platform file" {
    prepare
    printf 'workers:\n  - {name: w, slots: 1, speed: 1e7, bandwidth: 1e8}\n' >plain
    cp plain p.yaml
    for file in plain ./plain p.yaml; do
        job -i in --hosts $file -- tr 0-9 a-j
        cmp expected out
    done
    [ "$(reached)" = "" ]
    for file in ./none none.yaml dir/none; do
        fails_with 2 -i in --hosts $file -- cat
        says "$file: "
        says "No such file"
    done
    fails_with 2 -i in --hosts p.yaml -S a -- cat
    says "--hosts p.yaml is a platform file: expected neither --hosts-file nor --sshlogin"
}

@test "bad words are refused in one line, and no host is reached" {
    prepare
    while IFS='|' read -r options text; do
        # shellcheck disable=SC2086
        fails_with 2 -i in --ssh "$T/ssh" $options -- cat
        [ "$(cat err)" = "cleave: $text" ] || {
            cat err
            return 1
        }
    done <<'END'
--hosts a,,b|--hosts: expected a host before and after each comma, got ',b'
--hosts a:x|--hosts: expected a number of slots, 1 to 4096, after the ':', or neither for all its cores, got 'a:x'
--hosts n[3-1]|--hosts: expected ranges that count up, got 'n[3-1]'
--hosts me@a,a|hosts: host 'a' is named twice and reached in different ways
-S a:22|--sshlogin: expected N/host for slots, 'ssh -p PORT host' for a port, and no password, got 'a:22'
-S ..|--sshlogin: expected a host; files are named by --hosts-file, such as ~/.parallel/sshloginfile, got '..'
--hosts a -j +1|--workers: with hosts, expected the slots of each, 1 to 4096, or 100%, got '+1'
END
    echo 'a b' >list
    fails_with 2 -i in --hosts-file list -- cat
    says "list:1: expected one host, or 'ssh' and its options before it, got 'a b'"
    echo '# nobody' >list
    fails_with 2 -i in --hosts-file list -- cat
    says "list: expected hosts, got none"
    [ "$(reached)" = "" ]
}

@test "costs are learnt, and nothing is predicted from words" {
    prepare
    cleave 0 run -i in -o out --ssh "$T/ssh" --remote "$CLEAVE" --hosts a:1,b:1 --json -- cat
    has '"predicted_s": null'
    cleave 0 run -i in --dry-run --hosts a,b:2 -- cat
    has "one for each host that does not say its slots; a run asks it for its cores"
    has "times     not known"
}

# begin ARGUMENT... -- such a job in the background; $pid is that of cleave.
begin() {
    timeout $LONG "$CLEAVE" run -q -i in --ssh "$T/ssh" --remote "$CLEAVE" "$@" >out 2>err &
    job_pid=$!
    appears "$T/here.a"
    pid=$(pgrep -P $job_pid)
}

# tells TEXT -- wait until the job has said so.
tells() {
    for _ in $(seq 3000); do
        grep -qF "$1" err && return 0
        sleep 0.02
    done
    echo "it did not say: $1"
    cat err
    return 1
}

@test "many slots join at once, and unused places get nothing" {
    prepare
    echo a:1 >list
    meeting_command a n1.0 n3.11
    begin --hosts-file list --block 2000 --joblog log --trace t.jsonl -- "$T/meet"
    echo 'n[1-3]:12' >>list
    kill -HUP "$pid"
    wait $job_pid
    cmp expected out
    run ! grep -q spare log t.jsonl
    # With learn as well, be chunks open or, where records are counted, not.
    for words in "" ': $CLEAVE_RECORD; '; do
        rm -f here.*
        echo a:1 >list
        meeting_command a n1.0 n1.2
        begin --hosts-file list --policy learn --param most=5000 -- sh -c "$words exec '$T/meet'"
        echo 'n1:3' >>list
        kill -HUP "$pid"
        wait $job_pid
        cmp expected out
    done
}

@test "thousands of slots can join" {
    prepare
    printf '#!/bin/sh\ntouch "%s/here.$CLEAVE_WORKER"\nwhile [ ! -e "%s/go" ]; do sleep 0.05; done\nexec tr 0-9 a-j\n' "$T" "$T" >wait
    chmod +x wait
    begin --hosts a:1 --join-socket s --block 100000 -- "$T/wait"
    for _ in 1 2; do
        timeout $LONG "$CLEAVE" join -j 3000 s 2>>joined 3>&- &
    done
    tells "join1: $(uname -n) has joined, with 3000 slots"
    tells "join2: $(uname -n) has joined, with 3000 slots"
    touch go
    wait $job_pid
    cmp expected out
}

@test "the file of hosts is watched: added hosts join, removed hosts finish and leave" {
    prepare
    echo a:1 >list
    # Nobody goes on before b is there; what a has then ends only when it has been told to go.
    meeting_command a b
    sed -i '2,$s|exec tr|[ $CLEAVE_WORKER != a ] \|\| while ! grep -q "a: has to leave" err; do sleep 0.02; done\nexec tr|' meet
    begin --hosts-file list --grace 60 --backups off --block 2000 --joblog log -- "$T/meet"
    echo b:1 >>list
    appears here.b
    echo b:1 >list.new
    mv list.new list
    wait $job_pid
    cmp expected out
    grep -q 'a: has to leave, and has 60 s to finish its chunks' err
    grep -q 'a: has left' err
    # What it had counts as done, and nothing was done twice.
    cut -f 2 log | grep -qx a
    [ "$(cut -f 2 log | grep -cx b)" -gt 100 ]
    run ! grep -q 'lost' err
}

@test "a host that does not finish within its notice gives its chunk back" {
    prepare
    printf 'a:1\nb:1\n' >list
    for policy in "--block 2000" "--policy learn"; do
        rm -f here.*
        printf 'a:1\nb:1\n' >list
        # The commands of a never end.
        printf '#!/bin/sh\ntouch "%s/here.$CLEAVE_WORKER"\n[ $CLEAVE_WORKER = b ] || exec sleep 1000\n' "$T" >meet
        echo 'while [ ! -e here.a ]; do sleep 0.02; done; exec tr 0-9 a-j' >>meet
        chmod +x meet
        # shellcheck disable=SC2086
        begin --hosts-file list --grace 0.2 --backups off $policy --workdir "$T" -- "$T/meet"
        echo b:1 >list
        kill -HUP "$pid"
        wait $job_pid
        cmp expected out
        grep -q 'a: lost, its chunks go elsewhere: it had to leave, and its notice has ended' err
    done
}

@test "a host that is named again stays, or comes back" {
    prepare
    printf 'a:1\nb:1\n' >list
    # a ends when it has been told that it stays.
    meeting_command a b
    sed -i '2,$s|exec tr|[ $CLEAVE_WORKER != a ] \|\| while ! grep -q "a: stays" err; do sleep 0.02; done\n[ $CLEAVE_WORKER != b ] \|\| while [ ! -e '"$T"'/again ]; do sleep 0.02; done\nexec tr|' meet
    begin --hosts-file list --grace 60 --backups off --block 2000 --joblog log -- "$T/meet"
    echo b:1 >list
    kill -HUP "$pid"
    tells 'a: has to leave'
    printf 'a:1\nb:1\n' >list
    kill -HUP "$pid"
    tells 'a: stays'
    echo b:1 >list
    kill -HUP "$pid"
    tells 'a: has left'
    rm here.a
    printf 'a:1\nb:1\n' >list
    kill -HUP "$pid"
    appears here.a
    touch again
    wait $job_pid
    cmp expected out
}

@test "cleave join takes part in a run by its socket, here and through ssh" {
    prepare
    meeting_command a join1.0 join1.1 join2
    begin --hosts a:1 --join-socket s --block 2000 --joblog log -- "$T/meet"
    appears s
    # Nobody else may open it.
    [ "$(stat -c %a s)" = 600 ]
    timeout $LONG "$CLEAVE" join -j 2 s 2>join1 3>&- &
    first=$!
    tells 'join1: '
    timeout $LONG "$CLEAVE" join -j 1 --ssh "$T/ssh" --remote "$CLEAVE" "me@far:$T/s" 2>join2 3>&- &
    second=$!
    wait $job_pid
    cmp expected out
    wait $first
    wait $second
    tells "join1: $(uname -n) has joined, with 2 slots"
    tells "join2: $(uname -n) has joined, with 1 slot"
    grep -q -- "-T -o BatchMode=yes -- me@far exec $CLEAVE join --pump -- $T/s" words
    cut -f 2 log | grep -qx join1.1
    cut -f 2 log | grep -qx join2
    # It goes with the run.
    [ ! -e s ]
}

@test "a joiner that is killed loses nothing, and this machine can be joined, too" {
    prepare
    meeting_command w0 join2
    sed -i '2s|$|\n[ $CLEAVE_WORKER != join1 ] \|\| exec sleep 1000|' meet
    timeout $LONG "$CLEAVE" run -q -i in -j 1 --join-socket s --policy learn -- "$T/meet" >out 2>err &
    job_pid=$!
    appears here.w0
    timeout $LONG "$CLEAVE" join -j 1 s 2>/dev/null 3>&- &
    first=$!
    appears here.join1
    kill -KILL "$(pgrep -P $first)"
    tells 'join1: lost, its chunks go elsewhere'
    timeout $LONG "$CLEAVE" join -j 1 s 3>&- &
    second=$!
    wait $job_pid
    cmp expected out
    wait $second
}

@test "a bad socket is reported" {
    prepare
    echo precious >s
    fails_with 2 -i in --join-socket s -- cat
    says "s: exists and is not a socket"
    [ "$(cat s)" = precious ]
    fails_with 2 -i in --join-socket other --policy umr -- cat
    says "no host can join a run of policy 'umr': expected learn or self"
    fails_with 2 -i in --join-socket "$(printf '%0200d' 0)" -- cat
    says "expected the name of a socket, of at most 107 bytes"
    rm s
    # One that a killed run has left is replaced.
    timeout $LONG "$CLEAVE" run -q -i in --join-socket s -- sh -c 'sleep 1000' 3>&- &
    job_pid=$!
    appears s
    fails_with 2 -i in --join-socket s -- cat
    says "s: belongs to another run"
    kill -9 "$(pgrep -P $job_pid)"
    wait $job_pid || true
    [ -e s ]
    cleave 3 join s
    [ "$stderr" = "cleave: s: cannot join: the run has ended" ]
    job -i in --join-socket s -- tr 0-9 a-j
    cmp expected out
    [ ! -e s ]
    cleave 3 join nowhere
    cleave 2 join
    [ "$stderr" = "cleave: expected the socket of a run, [HOST:]PATH, or ADDRESS and --key" ]
    cleave 2 join -- -x:s
    cleave 3 join --ssh false me@far:s
    [ "$stderr" = "cleave: join: 'false' exited with status 1" ]
}

@test "--slurm takes the list of nodes apart itself" {
    cd "$BATS_TEST_TMPDIR"
    seq 1 2000 >in
    mkdir bin
    printf '#!/bin/sh\nwhile [ "$1" != --nodelist ]; do shift; done\nshift 2\nexec "$@"\n' >bin/srun
    printf '#!/bin/sh\n[ "$2" = config ]\n' >bin/scontrol # which is asked for nothing else
    chmod +x bin/srun bin/scontrol
    PATH=$PWD/bin:$PATH SLURM_JOB_ID=7 SLURM_JOB_NODELIST='n[09-10],login' \
        SLURM_NTASKS=4 SLURM_TASKS_PER_NODE='1(x2),2' \
        timeout 200 "$CLEAVE" run --slurm --json -i in -o out -- tr 0-9 a-j >words
    tr 0-9 a-j <in | cmp - out
    [[ $(cat words) = *'"n09"'*'"n10"'*'"login.0"'*'"login.1"'* ]]
}

# --- copies for other processors --------------------------------------------------------------

# elsewhere PROCESSOR -- an ssh to a machine of that processor, with a home of its own. Copies for
# it run there: what is started in their place is the program under test.
elsewhere() {
    mkdir -p bin home
    printf '#!/bin/sh\necho %s\n' "$1" >bin/uname
    cat >ssh <<END
#!/bin/sh
while [ "\$1" != -- ]; do shift; done
line=\$(echo "\$3" | sed 's# "\$p" worker --hash \$h# "$T/bin/emulate" "\$p"#')
HOME="$T/home" PATH="$T/bin:\$PATH" exec sh -c "\$line"
END
    # A damaged copy ends as `worker --hash` does.
    printf '#!/bin/sh\n! grep -q damage "$1" || exit 113\nexec "%s" worker\n' "$CLEAVE" >bin/emulate
    chmod +x bin/uname bin/emulate ssh
}

# copy_for NUMBER FILE -- a program for the processor that ELF has this number for.
copy_for() {
    { printf '\177ELF\002\001\001'; head -c 9 /dev/zero; printf '\002\000'; printf "$1"; seq 1000; } >"$2"
}

# pushed FILE -- whether it is what the host got.
pushed() {
    cmp "$1" home/.cache/cleave/*/cleave
}

@test "--push takes the copy for the processor of the host, from a file or a folder" {
    prepare
    mkdir named release release/x86_64 release/riscv64
    copy_for '\363\000' riscv
    copy_for '\363\000' named/cleave-riscv64
    copy_for '\363\000' release/riscv64/cleave-portable
    copy_for '\076\000' release/x86_64/cleave-portable
    elsewhere riscv64
    local from
    for from in riscv named release; do
        rm -rf home/.cache
        job -i in --ssh "$T/ssh" --hosts a:1 --push-from $from -- tr 0-9 a-j
        cmp expected out
        says "a: gets a copy of cleave"
        pushed riscv
    done
    # It is there now, under its own hash.
    job -i in --ssh "$T/ssh" --hosts a:1 --push --push-from riscv -- tr 0-9 a-j
    cmp expected out
    [[ "$(cat err)" != *"gets a copy"* ]]
    # A damaged one, is replaced by its like.
    echo damage >>"$(echo home/.cache/cleave/*/cleave)"
    job -i in --ssh "$T/ssh" --hosts a:1 --push-from release -- tr 0-9 a-j
    cmp expected out
    pushed riscv
    elsewhere x86_64
    rm -rf home/.cache
    job -i in --ssh "$T/ssh" --hosts a:1 --push-from release -- tr 0-9 a-j
    pushed release/x86_64/cleave-portable
}

@test "--push looks next to the program, and prints the command to type if no copy is found" {
    prepare
    elsewhere s390x
    fails_with 3 -i in --ssh "$T/ssh" --hosts a:1 --push -- cat
    says "--push has no copy for its processor, s390x: put one next to this program as cleave-s390x, or name it with --push-from FILE; 'make release' makes the copies"
    [ ! -e home/.cache ]
    ln "$(readlink -f "$CLEAVE")" bin/cleave || cp "$CLEAVE" bin/cleave
    { printf '\177ELF\002\002\001'; head -c 9 /dev/zero; printf '\000\002\000\026'; seq 1000; } >bin/cleave-s390x
    CLEAVE=$T/bin/cleave job -i in --ssh "$T/ssh" --hosts a:1 --push -- tr 0-9 a-j
    cmp expected out
    pushed bin/cleave-s390x
    elsewhere pdp11
    fails_with 3 -i in --ssh "$T/ssh" --hosts a:1 --push -- cat
    says "--push does not know its processor (uname -m): install cleave there, and omit --push"
}

@test "--push-from takes programs of one processor each, and nothing else" {
    prepare
    copy_for '\363\000' one
    copy_for '\363\000' cleave-x86_64
    mkdir empty
    gzip -k in
    local path expected
    while IFS='|' read -r path expected; do
        fails_with 2 -i in --hosts a:1 $path -- cat
        says "--push-from: $expected"
    done <<END
--push-from none|cannot read none: No such file or directory
--push-from in|expected a program for Linux on x86_64, aarch64, riscv64, ppc64le, s390x or loongarch64, or a folder of such, got in
--push-from in.gz|expected a program for Linux on x86_64, aarch64, riscv64, ppc64le, s390x or loongarch64, or a folder of such, got in.gz, which is compressed: unpack it first
--push-from empty|expected a folder with cleave-x86_64 or the like, or one that 'make release' has made, got empty
--push-from .|expected ./cleave-x86_64 to be a program for x86_64, it is for riscv64
--push-from one --push-from cleave-x86_64|expected one program for each processor, got one and cleave-x86_64, both for riscv64
END
    fails_with 2 -i in --push-from one -- cat
    says "need --hosts with other machines"
}

# most PERIOD FILE -- the most starts in any window, of lines "WEIGHT TIME"; times were cut to milliseconds.
most() {
    sort -n -k 2 "$2" | awk -v period="$1" '{ weight[NR] = $1; at[NR] = $2 } END {
        for (i = 1; i <= NR; i++) {
            sum = 0
            for (k = i; k <= NR && at[k] - at[i] < period - 0.0015; k++) sum += weight[k]
            if (sum > most) most = sum
        }
        print most + 0 }'
}

# rated SEED ARGUMENT... -- random rates of two hosts, one with its cores, in a random spelling: no window of a
# host has more records than its rate, and all records are done.
rated() {
    local seed=$1 n m period list host
    shift
    read -r n m period list <<<"$(awk -v seed="$seed" 'BEGIN {
        srand(seed); n = 2 + int(9 * rand()); m = 1 + int(5 * rand()); t = 100 + int(200 * rand())
        printf "%d %d 0.%03d ", n, m, t
        printf rand() < 0.5 ? "--hosts=a@%d/%dms,me@b:2@%d/%dms,c:1" : "--sshlogin=a@%d/%dms,2/me@b@%d/%dms,1/c", n, t, m, t }')"
    job --ssh "$T/ssh" --remote "$CLEAVE" "$list" --joblog log "$@"
    cmp in out
    for host in "a $n" "b $m"; do
        tail -n +2 log | awk -F '\t' -v host="${host% *}" 'index($2, host) == 1 { print 1, $3 }' >starts
        [ "$(most "$period" starts)" -le "${host#* }" ] || { echo "$seed: $list $*"; return 1; }
    done
}

@test "hosts that are named in words have rates, which no window exceeds" {
    prepare
    local seed=0 how
    seq 1 40 >in
    for how in '-N 1 -i in -- cat' '-a in -- echo' '-i in -- cat'; do
        for _ in 1 2; do
            # shellcheck disable=SC2086
            rated $((seed += 1)) $how
        done
    done
}

@test "a rate of a host counts weights, and chunks that are tried again" {
    prepare
    seq 1 9 | awk '{ for (i = 0; i < 5; i++) print $1 "\t" i }' >in
    job --ssh "$T/ssh" --remote "$CLEAVE" --hosts 'a:2@20w/300ms,b:1@9w/300ms' -a in --colsep '\t' --weight 1 \
        --joblog log -- printf '%s\t%s\n' {1} {2}
    cmp in out
    for host in 'a 20' 'b 9'; do
        tail -n +2 log | awk -F '\t' -v host="${host% *}" 'index($2, host) == 1 { print 1 + int(($1 - 1) / 5), $3 }' >starts
        [ "$(most 0.3 starts)" -le "${host#* }" ]
    done
    far --hosts 'a:2@5/200ms,b:2@5/200ms' -N 1 --retries 2 --joblog log -- sh -c 'read -r x y; mkdir "$0/seen.$x.$y" 2>/dev/null && exit 1; echo "$x	$y"' "$T"
    cmp in out
    for host in a b; do
        tail -n +2 log | awk -F '\t' -v host="$host" 'index($2, host) == 1 { print 1, $3 }' >starts
        [ "$(most 0.2 starts)" -le 5 ]
    done
}

@test "rates of hosts that cannot be are refused in one line" {
    prepare
    refuses "--hosts: expected a rate such as @60/min or @9000w/h after the host, got 'a:2@60/fortnight'" \
        run --hosts a:2@60/fortnight -i in -- cat
    refuses "hosts: host 'a' is named twice, and not with the same rate" run --hosts a:1@5/s,a:1 -i in -- cat
    refuses "--workers: with hosts a rate belongs to a host, as in --hosts 'a:4@60/min', got '4@5/s'" \
        run --hosts a,b -j 4@5/s -i in -- cat
    refuses "host 'b' has a rate, which a leader (--via) does not keep: leave --via out" \
        run --hosts a,b@5/s --via a:b -i in -- cat
    refuses "--via: 'b' is named elsewhere too: expected its rate there" run --hosts a,b --via a:b@5/s -i in -- cat
    hosts 'name: a, slots: 1, rate: 5/s' 'name: b, slots: 1, via: a' >v.yaml
    refuses "host 'a' has a rate, which a leader (via:) does not keep: leave via: out" run --hosts v.yaml -i in -- cat
    hosts 'name: a, slots: 1' 'name: b, slots: 1, rate: 5/s, via: a' >v.yaml
    refuses "host 'b' has a rate, which a leader (via:) does not keep: leave via: out" run --hosts v.yaml -i in -- cat
}
