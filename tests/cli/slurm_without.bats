# slurm_without.bats -- jobs of a Slurm that is not all there. SPDX-License-Identifier: MIT
#
# `srun` here is a script, on a path that has nothing else of Slurm.
load helper

LONG=200

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 3000 >in
    mkdir bin
    ln -s "$(command -v sh)" "$(command -v cat)" bin
    cat >bin/srun <<'END'
#!/bin/sh
while [ "$1" != --nodelist ]; do shift; done
case $2 in
bad) echo "srun: error: Unable to create step for job 1: Node is down" >&2 && exit 1 ;;
esac
shift 2
exec "$@"
END
    chmod +x bin/srun
    export SLURM_JOB_ID=1 SLURM_JOB_NODELIST=bad,good SLURM_NTASKS=2 SLURM_TASKS_PER_NODE='1(x2)'
}

# slurm ARGUMENT... -- a run in that job.
slurm() {
    PATH=$PWD/bin "$(command -v timeout)" $LONG "$CLEAVE" run -q --slurm -i in "$@" -- cat >out 2>err 3>&-
}

@test "a node whose step cannot start is left out, with what srun says; scontrol need not be there" {
    prepare
    slurm
    cmp in out
    grep -q "^cleave: bad: left out: .*: srun: error: Unable to create step for job 1: Node is down$" err
    run ! grep -q scontrol err
}

@test "srun variables for other steps do not affect the run's steps" {
    prepare
    sed -i '2i [ -z "$SRUN_CPUS_PER_TASK$SLURM_EXACT$SLURM_EXCLUSIVE$SLURM_NO_KILL$SLURM_LABELIO$SLURM_DEBUG" ] || exit 9' bin/srun
    export SLURM_JOB_NODELIST=good,well SRUN_CPUS_PER_TASK=2 SLURM_EXACT=1 SLURM_EXCLUSIVE=yes SLURM_NO_KILL=1 SLURM_LABELIO=1 SLURM_DEBUG=2
    slurm
    cmp in out
    run ! grep -q "left out" err
}

@test "a missing --slurm in a job of several nodes causes a note" {
    prepare
    export SLURM_JOB_NUM_NODES=2
    local text="cleave: this Slurm job has 2 nodes, and only this machine works: --slurm lets all of them; -j N says that it is meant so"
    "$CLEAVE" run -i in -- cat >out 2>err
    cmp in out
    [ "$(grep -c -Fx "$text" err)" -eq 1 ]
    local words
    for words in "-j 2" -q --slurm; do
        PATH=$PWD/bin "$CLEAVE" run $words -i in -- cat >out 2>err
        run ! grep -q "only this machine" err
    done
    SLURM_STEP_ID=0 "$CLEAVE" run -i in -- cat >out 2>err
    run ! grep -q "only this machine" err
    SLURM_JOB_NUM_NODES=1 "$CLEAVE" run -i in -- cat >out 2>err
    run ! grep -q "only this machine" err
}

@test "without srun a note is printed, once" {
    prepare
    rm bin/srun
    run slurm
    [ "$status" -eq 3 ]
    [ "$(cat err)" = "cleave: --slurm: nodes are reached by srun: cannot run 'srun': not found in PATH" ]
}
