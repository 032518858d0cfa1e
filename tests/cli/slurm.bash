# slurm.bash -- a Slurm of its own for tests: slurmctld and three slurmd on this machine.
# SPDX-License-Identifier: MIT
#
# No service of the system is touched. $BED is its folder, which holds a file `skip` with the
# reason where it cannot be started.

# bed_config PORT -- nodes n1 to n3 of four processors; partition high takes them from low.
bed_config() {
    local here
    here=$(hostname -s)
    cat <<END
ClusterName=bed
SlurmctldHost=$here(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$(($1 + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$BED/munge.sock
CredType=cred/munge
StateSaveLocation=$BED/state
SlurmdSpoolDir=$BED/spool.%n
SlurmctldPidFile=$BED/slurmctld.pid
SlurmdPidFile=$BED/slurmd.%n.pid
SlurmctldLogFile=$BED/log/slurmctld
SlurmdLogFile=$BED/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
KillWait=3
SchedulerParameters=sched_min_interval=10000,sched_interval=1,requeue_delay=0,bf_interval=1,permit_job_expansion
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
SlurmdParameters=config_overrides
TmpFS=$BED/tmp.%n
NodeName=n[1-3] NodeHostname=$here NodeAddr=127.0.0.1 Port=[$(($1 + 2))-$(($1 + 4))] CPUs=4 RealMemory=4000
PartitionName=low Nodes=n[1-3] Default=YES PriorityTier=1 State=UP
PartitionName=high Nodes=n[1-3] PriorityTier=10 State=UP
END
}

# nodes_are STATE -- wait until all three are; false after a minute.
nodes_are() {
    local tries
    for tries in $(seq 600); do
        [ "$(sinfo -h -N -p low -o %t 2>/dev/null | sort | uniq -c | xargs)" = "3 $1" ] && return 0
        sleep 0.1
    done
    return 1
}

bed_start() {
    local i port tries
    for i in munged slurmctld slurmd srun; do
        PATH=$PATH:/usr/sbin command -v $i >/dev/null || {
            echo "$i is not there (Debian packages slurm-wlm, munge)" >"$BED/skip"
            return 1
        }
    done
    mkdir "$BED/log" "$BED/state" "$BED"/spool.n{1,2,3} "$BED"/tmp.n{1,2,3}
    head -c 1024 /dev/urandom >"$BED/munge.key"
    chmod 400 "$BED/munge.key"
    munged --force --key-file="$BED/munge.key" --socket="$BED/munge.sock" --pid-file="$BED/munge.pid" \
        --log-file="$BED/log/munge" --seed-file="$BED/munge.seed" || return 1
    echo 'CgroupPlugin=cgroup/v1' >"$BED/cgroup.conf"
    for tries in 1 2 3; do # somebody may have the ports
        port=$((20000 + RANDOM % 10000))
        bed_config $port >"$BED/slurm.conf"
        slurmctld -c || continue
        for i in 1 2 3; do slurmd -N n$i || return 1; done
        nodes_are idle && return 0
        bed_kill slurmctld.pid slurmd.n1.pid slurmd.n2.pid slurmd.n3.pid
    done
    return 1
}

# bed_up -- for setup_file: start it, or say in $BED/skip why not.
bed_up() {
    export BED=$BATS_FILE_TMPDIR/bed SLURM_CONF=$BATS_FILE_TMPDIR/bed/slurm.conf
    export PATH=$PATH:/usr/sbin
    mkdir "$BED"
    (umask 022 && bed_start) >"$BED/words" 2>&1 3>&- || {
        [ -e "$BED/skip" ] || echo "Slurm cannot be started: $(tail -n 1 "$BED/words")" >"$BED/skip"
        bed_down
    }
}

# bed_kill FILE... -- end the daemons whose numbers are in these files; nobody needs what they
# would save.
bed_kill() {
    local file
    for file; do
        [ ! -s "$BED/$file" ] || kill -9 "$(cat "$BED/$file")" 2>/dev/null || true
    done
}

bed_down() {
    local tries
    # What a test that failed has left does not outlive it.
    for tries in $(seq 100); do
        [ ! -e "$BED/skip" ] && [ -n "$(squeue -h 2>/dev/null)" ] || break
        scancel -u "$(id -un)" >/dev/null 2>&1 || true
        sleep 0.1
    done
    bed_kill slurmd.n1.pid slurmd.n2.pid slurmd.n3.pid slurmctld.pid munge.pid
}
