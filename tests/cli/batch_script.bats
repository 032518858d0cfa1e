# batch_script.bats -- cleave batch-script. SPDX-License-Identifier: MIT
#
# The batch systems are scripts here, which run everything on this machine. Slurm is in slurm.bats.
load helper

# prepare -- a folder with a job, commands of batch systems, and a command that ends when a worker
# has joined.
prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 1 20000 >in
    tr 0-9 a-j <in >expected
    mkdir bin
    printf '#!/bin/sh\necho 127.0.0.1\n' >bin/hostname
    for name in pbs_tmrsh qrsh blaunch; do
        printf '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\necho "$1" >>started\nshift\ncd / && exec "$@"\n' >bin/$name
    done
    cat >work <<END
#!/bin/sh
cd "$PWD"
case \$CLEAVE_WORKER in join1*) echo "\$OLDPWD" >>here ;; esac
while [ ! -e here ]; do sleep 0.02; done
exec tr 0-9 a-j
END
    chmod +x bin/* work
    export PATH=$PWD/bin:$PATH
}

# script SYSTEM [OPTION...] -- make the script of a job, and try its words.
script() {
    local system=$1
    shift
    "$CLEAVE" batch-script "$@" "$system" cleave run -q -i in -o out --block 2k -- "$PWD/work" >job
    bash -n job
}

# runs -- the job has the right output, and leaves no key.
runs() {
    timeout $LONG bash job 2>err 3>&- || {
        cat err
        return 1
    }
    cmp out expected
    run ! ls .cleave-*
    sort -u here >where
    rm out here out.journal
}

@test "pbs, sge and lsf: the first node runs, each other one joins" {
    prepare
    printf '%s\n' other 127.0.0.1 other 127.0.0.1 >nodes
    export PBS_O_WORKDIR=$PWD PBS_JOBID=17.server PBS_NODEFILE=$PWD/nodes NCPUS=2
    script pbs -N 2 -c 2 -t 2:00:00 -p fast --submit='-l place=scatter'
    [ "$(sed '/^$/,$d' job)" = "#!/bin/bash
#PBS -N cleave
#PBS -l select=2:ncpus=2
#PBS -l walltime=2:00:00
#PBS -q fast
#PBS -l place=scatter
#PBS -r y" ]
    runs
    [ "$(cat started)" = other ]
    # Commands run in the folder of the job, whatever the batch system begins with.
    [ "$(cat where)" = "$PWD" ]

    printf '%s\n' '127.0.0.1 1 all.q UNDEFINED' 'other 2 all.q UNDEFINED' >hosts
    export JOB_ID=18 PE_HOSTFILE=$PWD/hosts
    script sge -n 3 -J try
    grep -qx '#\$ -N try' job
    grep -qx '#\$ -pe mpi 3' job
    runs

    export LSB_JOBID=19 LSB_MCPU_HOSTS='127.0.0.1 1 other 2'
    script lsf -n 3 -t 30
    grep -qx '#BSUB -n 3' job
    grep -qx '#BSUB -W 30' job
    runs
    [ "$(wc -l <started)" -eq 3 ]
}

@test "a job that begins again uses its journal and a new key" {
    prepare
    export JOB_ID=20 PE_HOSTFILE=$PWD/hosts
    echo '127.0.0.1 1' >hosts
    echo 'other 1' >>hosts
    echo old >.cleave-20.key
    script sge
    timeout $LONG bash job 3>&-
    cmp out expected
    # Nothing is done again.
    echo 'exit 1' >work
    touch here
    runs
}

@test "htcondor: each worker is a job that gets program and key" {
    prepare
    cat >bin/condor_submit <<'END'
#!/bin/sh
sed -n 's/^transfer_input_files = //p;s/^arguments = "\(.*\)"$/\1/p;s/^queue //p;s/^request/&/p' >submitted
mkdir box
for file in $(sed -n 2p submitted | tr , ' '); do cp "$file" box; done
chmod 644 box/.cleave-*
(cd box && eval "exec /bin/sh $(sed -n 1p ../submitted)") >box.log 2>&1 &
echo 7.0 - 7.0
END
    printf '#!/bin/sh\necho "$@" >removed\n' >bin/condor_rm
    chmod +x bin/*
    script htcondor -N 1 -c 2 --submit 'requirements = Arch == "X86_64"'
    runs
    [ "$(cat removed)" = 7 ]
    grep -qx 1 submitted
    grep -qx 'request_cpus = 2' submitted
    grep -qx 'requirements = Arch == "X86_64"' job
}

@test "options that a batch system does not have are refused" {
    refuses "expected slurm, pbs, sge, lsf or htcondor, got ''" batch-script
    refuses "expected slurm, pbs, sge, lsf or htcondor, got 'run'" batch-script run -i in -o out wc
    refuses "--nodes: a script for sge has no such option; --submit takes the system's own" \
        batch-script -N 2 sge run -i in -o out wc
    refuses "--time: a script for htcondor has no such option; --submit takes the system's own" \
        batch-script -t 30 htcondor run -i in -o out wc
    refuses "--submit: expected an option as '--mem=64G'" batch-script --submit mem sge run -i in -o out wc
    refuses "expected --output FILE after 'cleave run': the standard output of a job is its log" \
        batch-script sge run -i in wc
    cleave 0 batch-script -n 4 slurm cleave run -i in -o out wc
    local new=$output
    cleave 0 slurm-script -n 4 cleave run -i in -o out wc
    [ "$output" = "$new" ]
}
