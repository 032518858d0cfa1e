# slurm.bats -- cleave run --slurm in a real Slurm of three nodes. SPDX-License-Identifier: MIT
#
# Skipped, with the reason, where Slurm cannot be started.
load helper
load slurm
load mpi

setup_file() {
    bed_up
}

teardown_file() {
    bed_down
}

prepare() {
    [ ! -e "$BED/skip" ] || skip "$(cat "$BED/skip")"
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 1 200000 >in
    tr 0-9 a-j <in >expected
}

# allot OPTION... -- COMMAND...: run it inside an allocation; the status must be 0.
allot() {
    timeout $LONG salloc -Q "$@" >words 2>err || {
        echo "salloc $*: exit status $?"
        cat err
        return 1
    }
}

@test "the tasks of an allocation are the workers, one step for each node" {
    prepare
    # Commands wait for a worker of each node.
    cat >command <<'END'
#!/bin/sh
touch "at.$SLURMD_NODENAME"
until [ -e at.n1 ] && [ -e at.n2 ] && [ -e at.n3 ]; do sleep 0.05; done
printf "%s " "$SLURM_STEP_ID" >&2
exec tr 0-9 a-j
END
    chmod +x command
    allot -N 3 -n 5 "$CLEAVE" run --slurm -q -i in -o out --block 20k --joblog log -- ./command
    cmp out expected
    # Three nodes, n1 with three tasks, are five workers; but three steps.
    [ "$(tail -n +2 log | cut -f 2 | sed 's/\..*//' | sort -u | tr '\n' ' ')" = "n1 n2 n3 " ]
    [ "$(tr ' ' '\n' <err | grep -c '^[0-9]')" -gt 20 ]
    [ "$(tr ' ' '\n' <err | grep '^[0-9]' | sort -u | wc -l)" -le 3 ]
}

@test "without tasks, slots are processors, or the number of --cpus-per-task" {
    prepare
    allot -N 2 --exclusive "$CLEAVE" run --slurm --json -i in -o out -- wc -l
    [[ "$(cat words)" = *'"n1.3"'*'"n2.3"'* ]]
    allot -N 2 --exclusive -c 2 "$CLEAVE" run --slurm --json -i in -o out -- wc -l
    [[ "$(cat words)" = *'"n1.1"'*'"n2.1"'* && "$(cat words)" != *'"n1.2"'* ]]
    # Four, four and one.
    allot -n 9 "$CLEAVE" run --slurm --json -i in -o out -- wc -l
    [[ "$(cat words)" = *'"n1.3"'*'"n2.0"'*'"n2.3"'*'"n3"'* ]]
}

@test "exported processors of a task for other steps do not reduce the nodes" {
    prepare
    allot -N 2 -n 4 env SRUN_CPUS_PER_TASK=4 SLURM_NO_KILL=1 SLURM_DEBUG=2 \
        "$CLEAVE" run --slurm -i in -o out --block 100k -- tr 0-9 a-j
    cmp out expected
    [ -z "$(grep 'left out' err)" ]
}

@test "the parts of a heterogeneous job together" {
    prepare
    allot -n 1 -w n1 : -n 3 -w n3 "$CLEAVE" run --slurm --json -i in -o out -- tr 0-9 a-j
    cmp out expected
    [[ "$(cat words)" = *'"n1"'*'"n3.0"'*'"n3.2"'* && "$(cat words)" != *'n2'* ]]
}

@test "any bytes pass, also from nodes that cannot call back" {
    prepare
    head -c 3000000 /dev/urandom >bytes
    allot -N 3 sh -c 'cat bytes | "$CLEAVE" run --slurm -q --split fixed:1 -o out -- cat'
    cmp out bytes
    [ ! -s err ] || {
        cat err
        false
    }
    # 240.0.0.0 is nobody's.
    printf '%s\n' '#!/bin/sh' 'export SLURM_LAUNCH_NODE_IPADDR=240.0.0.1' 'exec "$CLEAVE" "$@"' >far
    chmod +x far
    allot -N 1 sh -c 'cat bytes | "$CLEAVE" run --slurm --remote "$PWD/far" -q --split fixed:1 -o out -- cat'
    cmp out bytes
    [[ "$(cat err)" = "cleave: worker: cannot join 240.0.0.1 port "*"; bytes go through srun, which is slower" ]]
}

@test "workers that srun starts join a run that listens" {
    prepare
    "$CLEAVE" keygen key
    # Commands wait for a worker of each node.
    cat >command <<'END'
#!/bin/sh
touch "at.${SLURMD_NODENAME:-here}"
until [ -e at.n2 ] && [ -e at.n3 ]; do sleep 0.05; done
exec tr 0-9 a-j
END
    chmod +x command
    allot -N 2 -w n2,n3 sh -c '
        env -u SLURM_JOB_ID "$CLEAVE" run -q -j 1 --listen 0 --key key -i in -o out --block 20k -- ./command 2>run.err &
        until grep -q "can join at" run.err; do sleep 0.05; done
        srun -Q --mpi=none "$CLEAVE" join "$(sed -n "s/.*join at //p" run.err)" --key key -j 1
        wait $!'
    cmp out expected
}

@test "a hosts file may say command: srun" {
    prepare
    printf '%s\n' 'workers:' '  - name: far' '    slots: 2' '    command: srun -N 1 -n 1 -w n2' \
        '    speed: 1e6' '    bandwidth: 1e7' >h.yaml
    timeout $LONG "$CLEAVE" run -q --hosts h.yaml -i in -o out -- tr 0-9 a-j
    cmp out expected
}

@test "a drained node continues, a node with dead daemons is left out" {
    prepare
    scontrol update nodename=n2 state=drain reason=test
    # The first command on n3 takes its node down; the others wait for it, as starting up may take any time.
    cat >command <<'END'
#!/bin/sh
if [ "$SLURMD_NODENAME" = n3 ]; then
    touch down
    kill -9 $(cat "$BED/slurmd.n3.pid")
    kill -9 $(ps -o ppid= -p "$SLURM_TASK_PID")
    kill -9 "$SLURM_TASK_PID"
fi
until [ -e down ]; do sleep 0.05; done
exec tr 0-9 a-j
END
    chmod +x command
    scontrol update nodename=n2 state=resume
    # salloc ends with the status of the command, but says that its job ended with a signal
    timeout $LONG salloc -Q --no-kill -N 3 sh -c 'scontrol update nodename=n2 state=drain reason=test
        "$CLEAVE" run --slurm -q -i in -o out --block 100k --joblog log --connect-timeout 60 -- ./command
        echo $? >status' 2>err || true
    scontrol update nodename=n2 state=resume
    rm "$BED/slurmd.n3.pid"
    slurmd -N n3 3>&-
    [ "$(cat status)" -eq 0 ]
    cmp out expected
    grep -q 'n3: lost, its chunks go elsewhere' err
    [[ "$(cut -f 2 log)" = *n2* ]]
    nodes_are idle
}

@test "a node that is set down is lost with its commands, which have not failed" {
    prepare
    cat >command <<'END'
#!/bin/sh
if [ "$SLURMD_NODENAME" = n3 ] && mkdir down 2>/dev/null; then
    scontrol update nodename=n3 state=down reason=test
    sleep 60
fi
until [ -e down ]; do sleep 0.05; done
exec tr 0-9 a-j
END
    chmod +x command
    timeout $LONG salloc -Q --no-kill -N 3 sh -c '"$CLEAVE" run --slurm -q -i in -o out --block 100k \
        --backups off --connect-timeout 60 -- ./command
        echo $? >status' 2>err || true
    scontrol update nodename=n3 state=idle
    [ "$(cat status)" -eq 0 ]
    cmp out expected
    grep -q 'n3: lost, its chunks go elsewhere' err
    nodes_are idle
}

@test "srun starts the ranks of an MPI job" {
    prepare
    needs mpich
    timeout $LONG srun -Q --mpi=pmi2 -N 3 -n 4 "$CLEAVE" run --mpi -q -i in -o out -- tr 0-9 a-j
    cmp out expected
    rm out
    needs openmpi
    timeout $LONG srun -Q --mpi=pmix -N 1 -n 3 "$CLEAVE" run --mpi -q -i in -o out -- tr 0-9 a-j
    cmp out expected
}

@test "several that know nothing of each other say it once" {
    prepare
    run timeout $LONG srun -Q -n 3 "$CLEAVE" run --mpi -i in -- wc -l </dev/null
    [ "$status" -eq 2 ]
    [ "$(grep -c 'srun --mpi=pmi2 (MPICH), or without MPI cleave run --slurm$' <<<"$output")" -eq 1 ]
    run timeout $LONG srun -Q -n 3 "$CLEAVE" run -i in -- wc -l </dev/null
    [ "$status" -eq 2 ]
    [ "$(grep -c "^cleave: srun has started 3 copies" <<<"$output")" -eq 1 ]
}

@test "a relay passes on the bytes of the caller that has its key" {
    cd "$BATS_TEST_TMPDIR" || return 1
    export TLS=${CLEAVE%/*}/cleave-tls
    cat >command <<'END'
read -r port key <<<"$CLEAVE_CALL"
export SLURM_LAUNCH_NODE_IPADDR=127.0.0.1
CLEAVE_CALL="$port ${key//[0-7]/8}" "$TLS" call </dev/null >refused
mkfifo in out
"$TLS" call <in >out &
exec 4>in 5<out
read -r -N 1 answer <&5
[ "$answer" = + ] || exit 8
read -r line <&5
echo "got $line" >&4
exec 4>&-
wait
exit 7
END
    echo hello >words
    run timeout $LONG "$TLS" relay bash command <words
    [ "$status" -eq 7 ]
    [ "$output" = "got hello" ]
    grep -qE '^!cannot join 127.0.0.1 port [0-9]+: the run there has another key$' refused
}

@test "outside a job the message prints the command to type" {
    unset SLURM_JOB_ID
    refuses "--slurm: not inside a Slurm job; type 'salloc -N 2 cleave run --slurm ...', or use 'cleave batch-script slurm'" \
        run --slurm -i "$LAB" -- cat
    export SLURM_JOB_ID=1
    refuses "with --slurm the tasks of the job are the workers: expected none of --workers, --hosts and --mpi" \
        run --slurm -j 2 -i "$LAB" -- cat
    refuses "with --slurm nodes are reached by srun: expected neither --ssh nor --push, but --remote PROGRAM where cleave has another place on the nodes" \
        run --slurm --push -i "$LAB" -- cat
}

@test "several copies from srun are offered both ways to be one run" {
    export SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3
    local text="srun has started 3 copies, and each would do all of the work: type 'cleave run --slurm' without srun, or 'srun --mpi=pmi2 cleave run --mpi' (MPICH; --mpi=pmix: Open MPI), or --workers N if each copy has its own input"
    refuses "$text" run -i "$LAB" -- cat </dev/null
    refuses "$text" run --slurm -i "$LAB" -- cat </dev/null
    cleave 0 run -q -j 1 -i "$LAB" -- true </dev/null
    export SLURM_STEP_NUM_TASKS=1
    cleave 0 run -q -i "$LAB" -- true </dev/null
}

# --- jobs that are interrupted ----------------------------------------------------------------

# written BYTES -- wait until the run that is under way has written so much beside its result.
written() {
    local tries
    for tries in $(seq 1000); do
        [ "$(stat -c %s .out.part-* 2>/dev/null | sort -n | tail -n 1)" -ge "$1" ] 2>/dev/null && return 0
        sleep 0.1
    done
    tail log.job
    grep -v _slurm_rpc_update_job "$BED/log/slurmctld" | tail
    return 1
}

# state JOB -- as squeue has it, empty when it is over.
state() {
    squeue -h -j "$1" -o %t 2>/dev/null || true
}

# restarts JOB -- how often it has gone back to the queue.
restarts() {
    scontrol show job "$1" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p'
}

@test "a job that is preempted and given notice five times ends with the same output" {
    prepare
    seq 1000000 1002499 >in # 8 bytes each
    tr 0-9 a-j <in >expected
    # Commands wait until it is their turn: so each part of the job gets a little further.
    cat >command <<'END'
#!/bin/sh
read -r first
until [ "$first" -lt "$(cat limit)" ]; do sleep 0.05; done
{ echo "$first" && cat; } | tr 0-9 a-j && echo "$first" >>finished
END
    chmod +x command
    echo 1000375 >limit
    "$CLEAVE" slurm-script -N 3 -n 3 -t 10 --sbatch=--output=log.job --notice 30s \
        cleave run -q -i in -o out --block 1000 -- ./command >script
    bash -n script
    job=$(sbatch --parsable script)
    for i in 1 2 3 4 5; do
        written $((3000 * i))
        if [ $((i % 2)) -eq 1 ]; then
            timeout $LONG srun -Q -p high -N 3 --exclusive true
        else
            scancel --batch --signal=USR1 "$job"
        fi
        # It would begin again in two minutes. In the second in which it ended nodes refuse it:
        # its credential has just been revoked.
        for tries in $(seq 1000); do
            [ "$(restarts "$job")" -lt $i ] || [ "$(state "$job")" != PD ] || break
            sleep 0.1
        done
        echo $((1000000 + 375 * (i + 1))) >new && mv new limit
        sleep 1.1
        for tries in $(seq 1000); do
            [ "$(state "$job")" != R ] || break
            scontrol update JobId="$job" StartTime=now 2>/dev/null || true
            sleep 0.1
        done
    done
    echo 2000000 >new && mv new limit
    for tries in $(seq 1000); do
        [ -n "$(state "$job")" ] || break
        sleep 0.1
    done
    tail log.job
    cmp out expected
    # What was finished was not done again, and nothing is left lying about.
    [ -z "$(sort finished | uniq -d)" ]
    [ "$(find . -name '.out.part-*')" = "" ]
    [ "$(grep -c 'stopped by SIGTERM' log.job)" -ge 3 ]
    [ "$(grep -c 'stopped by SIGUSR1' log.job)" -eq 2 ]
}

@test "the script of a job is checked before it is queued" {
    refuses "expected 'cleave run', its options and a command, got 'wc'" slurm-script wc
    refuses "expected 'cleave run', its options and a command, got nothing" slurm-script
    refuses "expected a command after 'cleave run'" slurm-script run -i in -o out
    refuses "unknown option '--blok'; did you mean '--block' or '--ok'?" slurm-script run -i in -o out --blok 3 wc
    refuses "there is no option '--mem' here; instead: --sbatch=--mem=SIZE" slurm-script --mem=4G run -i in -o out wc
    refuses "there is no option '-A' here; instead: --sbatch=--account=NAME" slurm-script -A me run -i in -o out wc
    refuses "--time: expected minutes, 2:00:00 or 1-12:00:00 (days), got '2h'" slurm-script -t 2h run -i in -o out wc
    for time in 30 2:00:00 1-12 1-12:00:00 UNLIMITED; do
        cleave 0 slurm-script -t $time run -i in -o out wc
        has "#SBATCH --time=$time"
    done
    refuses "expected --input FILE after 'cleave run': the standard input of a job is empty" \
        slurm-script run -o out -- wc
    refuses "expected --output FILE after 'cleave run': the standard output of a job is its log" \
        slurm-script run -i in -- wc
    refuses "the tasks of the job are the workers: expected none of --workers, --hosts and --mpi after 'cleave run'" \
        slurm-script run -j 3 -i in -o out -- wc
    refuses "--overwrite would forget what the job had done before it was interrupted" \
        slurm-script run --journal j --overwrite -i in -o out -- wc
    refuses "--submit: expected an option as '--mem=64G'" slurm-script --sbatch mem=64G run -i in -o out wc
    cleave 0 slurm-script -n 4 --sbatch=--mem=64G run --slurm --resume --journal j -i 'a b' -o out -- wc -l
    bash -n <<<"$output"
    [[ "$output" = *$'\n#SBATCH --ntasks=4\n#SBATCH --mem=64G\n#SBATCH --signal=B:USR1@60\n'* ]]
    [[ "$output" = *"$CLEAVE run --slurm --resume --journal j -i 'a b' -o out -- wc -l &"* ]]
    [[ "$output" != *--exclusive* ]]
}

@test "a SIGHUP lets the run see which nodes the job has now" {
    prepare
    # Commands wait until n3 has been taken from the job; those on n2 until the others have begun.
    cat >command <<'END'
#!/bin/sh
touch "at.$SLURMD_NODENAME"
until [ -e taken ]; do
    [ "$SLURMD_NODENAME" = n2 ] && [ -e at.n1 ] && [ -e at.n3 ] && break
    sleep 0.05
done
exec tr 0-9 a-j
END
    chmod +x command
    timeout $LONG salloc -Q --no-kill -N 3 -n 3 sh -c '
        "$CLEAVE" run --slurm -q -i in -o out --block 100k -- ./command &
        run=$!
        until [ -e at.n3 ] && [ -e at.n1 ] || ! kill -0 "$run"; do sleep 0.05; done
        scontrol update JobId="$SLURM_JOB_ID" NumNodes=2
        kill -HUP "$run"
        until grep -q "n3: " err || ! kill -0 "$run"; do sleep 0.05; done
        touch taken
        wait "$run"
        echo $? >status' >words 2>err || true
    cat err >&2
    [ "$(cat status)" -eq 0 ]
    cmp out expected
}

@test "nodes added to the job join after SIGHUP" {
    prepare
    # Commands wait until one runs on a node that the job did not begin with.
    cat >command <<'END'
#!/bin/sh
touch "at.$SLURMD_NODENAME"
until [ -e at.n3 ]; do sleep 0.05; done
exec tr 0-9 a-j
END
    # A job of its own gives its node to the other one.
    cat >grow <<'END'
#!/bin/sh
scontrol update JobId="$SLURM_JOB_ID" NumNodes=0
END
    chmod +x command grow
    timeout $LONG salloc -Q -N 2 -n 2 --exclusive -w n1,n2 sh -c '
        "$CLEAVE" run --slurm -q -i in -o out --block 100k --joblog log -- ./command &
        run=$!
        until [ -e at.n1 ] && [ -e at.n2 ] || ! kill -0 "$run"; do sleep 0.05; done
        env -i PATH="$PATH" SLURM_CONF="$SLURM_CONF" salloc -Q -N 1 -n 1 --exclusive -w n3 \
            --dependency=expand:"$SLURM_JOB_ID" ./grow
        scontrol update JobId="$SLURM_JOB_ID" NumNodes=ALL
        kill -HUP "$run"
        wait "$run"
        echo $? >status' >words 2>err || true
    cat words err >&2
    [ "$(cat status)" -eq 0 ]
    cmp out expected
    [[ "$(cut -f 2 log)" = *n3* ]]
}
