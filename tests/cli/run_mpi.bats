# cleave run --mpi, with each MPI that is here. SPDX-License-Identifier: MIT
load helper
load mpi

setup_file() {
    setup_ranks 100000
}

# ranks FLAVOUR STATUS ARGUMENT... -- cleave run --mpi on 5 ranks; $output is stdout and
# $stderr is stderr.
ranks() {
    local flavour=$1 expected=$2
    shift 2
    run --separate-stderr timeout 200 "mpirun.$flavour" -n "${RANKS:-5}" \
        "$CLEAVE" run --mpi "$@"
    if [ "$status" -ne "$expected" ]; then
        echo "cleave run --mpi $*: exit status $status, expected $expected"
        echo "stderr: $stderr"
        return 1
    fi
}

plain() {
    needs "$1"
    ranks "$1" 0 -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --json -- tr 0-4 A-E
    same
    [ "$(number input_bytes)" = 588895 ]
    # Four workers, and none of them is rank 0.
    [ "$(printf '%s\n' "$output" | grep -c '"name": ".*:[1-4]"')" = 4 ]
    # Without --output, to what mpirun passes on.
    ranks "$1" 0 -q -i "$NUMBERS" -- wc -l
    [ "$(printf '%s\n' "$output" | awk '{n += $1} END {print n}')" = 100000 ]
}

@test "openmpi: outputs in order" { plain openmpi; }
@test "mpich: outputs in order" { plain mpich; }

by_lines() {
    needs "$1"
    RANKS=3 ranks "$1" 0 -q --line-buffer -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --block 100k -- tr 0-4 A-E
    same
    RANKS=3 ranks "$1" 0 -q --line-buffer --tag 'echo x; : {}; echo y' ::: a b c
    [ "$(sort <<<"$output")" = "$(printf '%s\t%s\n' a x a y b x b y c x c y)" ]
}

@test "openmpi: lines as they come" { by_lines openmpi; }
@test "mpich: lines as they come" { by_lines mpich; }

two_files() {
    needs "$1"
    printf 'x\ny' >"$BATS_TEST_TMPDIR/one"
    printf 'z\n' >"$BATS_TEST_TMPDIR/two"
    for more in "" --shared-input; do
        RANKS=3 ranks "$1" 0 -q $more -i "$BATS_TEST_TMPDIR/one" -i "$BATS_TEST_TMPDIR/two" -- cat
        [ "$output" = "$(printf 'x\ny\nz')" ]
    done
}

@test "openmpi: a file boundary is a record boundary" { two_files openmpi; }
@test "mpich: a file boundary is a record boundary" { two_files mpich; }

stay_open() {
    needs "$1"
    ranks "$1" 0 -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --trace "$BATS_TEST_TMPDIR/t" -- tr 0-4 A-E
    same
    grep -q '"order":"open"' "$BATS_TEST_TMPDIR/t"
    run ! grep '"order":"send"' "$BATS_TEST_TMPDIR/t"
}

@test "openmpi: chunks stay open" { stay_open openmpi; }
@test "mpich: chunks stay open" { stay_open mpich; }

reduced() {
    needs "$1"
    # The order matters: partials are put one behind the other, on whatever rank.
    ranks "$1" 0 --summary -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --reduce cat -- tr 0-4 A-E
    same
    [[ $stderr == *" folds"* ]]
    # Several at a time: 72 chunks are folded by fewer calls than two at a time would be.
    ranks "$1" 0 -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --json --block 8KiB \
        --reduce cat -- tr 0-4 A-E
    same
    [ "$(number chunks)" -ge 70 ]
    [ "$(number folds)" -gt 1 ] && [ "$(number folds)" -lt $(($(number chunks) - 1)) ]
    # It does not: sums.
    ranks "$1" 0 -q -i "$NUMBERS" --commutative \
        --reduce "awk '{s += \$1} END {printf \"%.0f\\n\", s}'" \
        -- awk '{s += $1} END {printf "%.0f\n", s}'
    [ "$output" = 5000050000 ]
    # By name, on rank 0.
    ranks "$1" 0 -q -i "$NUMBERS" --reduce sum -- awk '{s += $1} END {printf "%.0f\n", s}'
    [ "$output" = 5000050000 ]
    ranks "$1" 0 -q -i "$NUMBERS" --reduce tail:1 -- cat
    [ "$output" = 100000 ]
    # As files, more than two at a time.
    ranks "$1" 0 -q -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --block 8KiB \
        --reduce 'cat {}' -- tr 0-4 A-E
    same
    # What is folded grows, in order or not.
    shuf --random-source="$NUMBERS" "$NUMBERS" >"$BATS_TEST_TMPDIR/mixed"
    ranks "$1" 0 -q -i "$BATS_TEST_TMPDIR/mixed" -o "$BATS_TEST_TMPDIR/sorted" \
        --reduce 'sort -n' -- sort -n
    cmp "$BATS_TEST_TMPDIR/sorted" "$NUMBERS"
    ranks "$1" 0 -q -i "$BATS_TEST_TMPDIR/mixed" -o "$BATS_TEST_TMPDIR/sorted" \
        --commutative --reduce 'sort -n' -- sort -n
    cmp "$BATS_TEST_TMPDIR/sorted" "$NUMBERS"
    # As files, on the ranks as well: those of rank 0 would say so.
    ranks "$1" 0 -q -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --block 8KiB \
        --reduce "echo \$OMPI_COMM_WORLD_RANK\$PMI_RANK >>'$BATS_TEST_TMPDIR/who'; cat {1} {2}" \
        -- tr 0-4 A-E
    same
    [ "$(wc -l <"$BATS_TEST_TMPDIR/who")" -ge 70 ]
    run ! grep -qx 0 "$BATS_TEST_TMPDIR/who"
    ranks "$1" 0 -q -i "$BATS_TEST_TMPDIR/mixed" -o "$BATS_TEST_TMPDIR/sorted" \
        --commutative --reduce 'sort -m -n {1} {2}' -- sort -n
    cmp "$BATS_TEST_TMPDIR/sorted" "$NUMBERS"
    ranks "$1" 2 -q -i "$NUMBERS" --reduce 'cat {1}' -- cat
    [[ $stderr == *"expected {1} and {2}, or {}, or none of them in the command that reduces, got 'cat {1}'"* ]]
    # With a journal: on rank 0.
    ranks "$1" 0 -q -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --reduce cat \
        --journal "$BATS_TEST_TMPDIR/journal" -- tr 0-4 A-E
    same
}

@test "openmpi: reduced from rank to rank" { reduced openmpi; }
@test "mpich: reduced from rank to rank" { reduced mpich; }

# A command that fails the first time it sees the record 50000.
flaky() {
    cat >"$BATS_TEST_TMPDIR/flaky" <<'SCRIPT'
#!/bin/sh
cat >"$1.$$"
if grep -qx 50000 "$1.$$" && mkdir "$1.seen" 2>/dev/null; then
    [ "$2" = kill ] && kill -9 $$
    exit 3
fi
tr 0-4 A-E <"$1.$$"
rm -f "$1.$$"
SCRIPT
    chmod +x "$BATS_TEST_TMPDIR/flaky"
}

failures() {
    needs "$1"
    flaky
    ranks "$1" 0 -q -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --retries 2 \
        -- "$BATS_TEST_TMPDIR/flaky" "$BATS_TEST_TMPDIR/a" exit
    same
    ranks "$1" 0 -q -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --retries 2 --reduce cat \
        -- "$BATS_TEST_TMPDIR/flaky" "$BATS_TEST_TMPDIR/b" kill
    same
    # A rank on which all commands fail costs nothing.
    # shellcheck disable=SC2016
    ranks "$1" 0 -q -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" \
        -- sh -c '[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 1 ] && tr 0-4 A-E'
    same
    # Whether it is rested depends on whether it had a chunk before the others had done all.
    [[ $stderr != *": bytes "* ]]
    # Without retries and backups it is the work that has failed, not the job: no rank is left running.
    ranks "$1" 1 -q -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --retries 1 --backups off \
        -- "$BATS_TEST_TMPDIR/flaky" "$BATS_TEST_TMPDIR/c" exit
    [[ $stderr == *"the command exited with status 3"* ]]
    [[ $stderr != *MPI_ABORT* && $stderr != *"without calling"* ]]
}

@test "openmpi: commands that fail, retries" { failures openmpi; }
@test "mpich: commands that fail, retries" { failures mpich; }

ends() {
    needs "$1"
    ranks "$1" 1 -q -i "$NUMBERS" --reduce 'cat >/dev/null; exit 5' --retries 2 -- cat
    [[ $stderr =~ "the command that reduces exited with status 5 on "[0-9]+" partial results, also when tried again" ]]
    ranks "$1" 1 -q -i "$NUMBERS" --halt now,fail=1 -- false
    [[ $stderr == *"halted after"* ]]
    ranks "$1" 2 -i "$NUMBERS" --workers 3 -- cat
    [[ $stderr == *"with --mpi the ranks are the workers"* ]]
    ranks "$1" 2 -i "$BATS_TEST_TMPDIR/none" -- cat
    RANKS=1 ranks "$1" 2 -i "$NUMBERS" -- cat
    [[ $stderr == *"expected 2 ranks or more, got 1"* ]]
}

@test "openmpi: failures end all ranks" { ends openmpi; }
@test "mpich: failures end all ranks" { ends mpich; }

resumed() {
    needs "$1"
    local journal=$BATS_TEST_TMPDIR/journal
    ranks "$1" 1 -q -i "$NUMBERS" --journal "$journal" -o "$BATS_TEST_TMPDIR/out" \
        -- sh -c 'if grep -qx 70000; then exit 1; fi'
    flaky
    mkdir "$BATS_TEST_TMPDIR/d.seen"
    ranks "$1" 0 -i "$NUMBERS" --journal "$journal" --overwrite --json \
        -o "$BATS_TEST_TMPDIR/out" -- "$BATS_TEST_TMPDIR/flaky" "$BATS_TEST_TMPDIR/d" exit
    same
    ranks "$1" 0 -i "$NUMBERS" --journal "$journal" --resume --json \
        -o "$BATS_TEST_TMPDIR/out" -- "$BATS_TEST_TMPDIR/flaky" "$BATS_TEST_TMPDIR/d" exit
    same
    [ "$(number chunks)" = 0 ] || [ "$(number resumed)" -gt 0 ]
}

@test "openmpi: a journal, and resuming" { resumed openmpi; }
@test "mpich: a journal, and resuming" { resumed mpich; }

# What cleave tells MPI on one machine is nothing that commands see, and what the user has
# told it stays.
environment() {
    needs "$1"
    cp "$NUMBERS" "$BATS_TEST_TMPDIR/some"
    UCX_LOG_LEVEL=error OMPI_MCA_coll_base_verbose=0 ranks "$1" 0 -q \
        -i "$BATS_TEST_TMPDIR/some" -- sh -c 'cat >/dev/null; env'
    [[ $output == *UCX_LOG_LEVEL=error* && $output == *OMPI_MCA_coll_base_verbose=0* ]]
    for name in OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_coll MPIR_CVAR_NOLOCAL UCX_TLS \
        HWLOC_PLUGINS_PATH HWLOC_COMPONENTS; do
        run ! grep "^$name=" <<<"$output"
    done
    UCX_TLS=all OMPI_MCA_coll=^sm HWLOC_COMPONENTS=-gl ranks "$1" 0 -q \
        -i "$BATS_TEST_TMPDIR/some" -- sh -c 'cat >/dev/null; env'
    [[ $output == *UCX_TLS=all* && $output == *OMPI_MCA_coll=^sm* ]]
    [[ $output == *HWLOC_COMPONENTS=-gl* ]]
}

@test "openmpi: the environment of commands" { environment openmpi; }
@test "mpich: the environment of commands" { environment mpich; }

# Without the variables that say so, nobody knows that all ranks are on one machine.
apart() {
    needs "$1"
    run --separate-stderr timeout 200 "mpirun.$1" -n 5 \
        env -u OMPI_COMM_WORLD_LOCAL_SIZE -u MPI_LOCALNRANKS \
        "$CLEAVE" run --mpi -i "$NUMBERS" -o "$BATS_TEST_TMPDIR/out" --reduce cat \
        -- tr 0-4 A-E
    [ "$status" = 0 ] || { echo "$stderr"; false; }
    same
}

@test "openmpi: ranks as on several machines" { apart openmpi; }
@test "mpich: ranks as on several machines" { apart mpich; }

@test "a stream, by Open MPI" {
    needs openmpi
    timeout 200 mpirun.openmpi -n 4 "$CLEAVE" run --mpi -q -o "$BATS_TEST_TMPDIR/out" \
        -- tr 0-4 A-E <"$NUMBERS"
    same
}

# other FLAVOUR TEXT WORD... -- rank 2 of 4 is started with other words than the rest.
other() {
    local flavour=$1 text=$2
    shift 2
    run --separate-stderr timeout 200 "mpirun.$flavour" \
        -n 2 "$CLEAVE" run --mpi -q -i "$NUMBERS" -- sed p : \
        -n 1 "$CLEAVE" run --mpi "$@" : \
        -n 1 "$CLEAVE" run --mpi -q -i "$NUMBERS" -- sed p
    [ "$status" = 2 ] || { echo "status $status: $stderr"; false; }
    [ -z "$output" ]
    [ "$(grep -c '^cleave: ' <<<"$stderr")" = 1 ]
    [[ $stderr == *"cleave: --mpi: expected the same words on all ranks, got others on rank 2: $text"* ]] ||
        { echo "$stderr"; false; }
    [[ $stderr != *"signal "* ]]
}

differing() {
    needs "$1"
    local long
    long=$(printf '%2000s' x)
    other "$1" "word 7 after 'run' is 'd' and not 'p'" -q -i "$NUMBERS" -- sed d
    other "$1" "there are 6 words after 'run' and not 7" -q -i "$NUMBERS" -- sed
    other "$1" "word 2 after 'run' is '-i' and not '-q'" -i "$NUMBERS" -- sed p
    # What is too long to be sent along is compared all the same.
    run --separate-stderr timeout 200 "mpirun.$1" \
        -n 2 "$CLEAVE" run --mpi -q -i "$NUMBERS" -- echo "${long}1" : \
        -n 1 "$CLEAVE" run --mpi -q -i "$NUMBERS" -- echo "${long}2"
    [ "$status" = 2 ]
    [[ $stderr == *"on rank 2: the words after 'run' are equal up to word "* ]]
}

@test "openmpi: ranks with other words" { differing openmpi; }
@test "mpich: ranks with other words" { differing mpich; }

# A call of MPI that fails in the middle, of rank 0 and of a worker: all is done by others,
# or it is said that it is not.
refused() {
    needs "$1"
    local library out=$BATS_TEST_TMPDIR/out case
    library=$(dirname "$CLEAVE")/tests/mpi/refusing_mpi.so
    [ -e "$library" ] || skip "$library is not there"
    if grep -q __asan_init "$CLEAVE" || grep -q __tsan_init "$CLEAVE"; then
        skip "a sanitizer has to be loaded first"
    fi
    for case in $(refusals); do
        rm -f "$out"
        run --separate-stderr timeout 200 "mpirun.$1" -n 3 env LD_PRELOAD="$library" \
            REFUSE="${case%@*}" REFUSE_RANK="${case#*@}" "$CLEAVE" run --mpi -q \
            -i "$NUMBERS" -o "$out" --block 50k -- tr 0-4 A-E
        echo "$case: status $status, $stderr"
        [ "$status" != 124 ]
        if [ "$status" = 0 ]; then
            same
            continue
        fi
        # Without an end in order it is mpirun that complains.
        [[ $case == MPI_Finalize:* ]] || grep -q 'cleave: ' <<<"$stderr"
        # A worker that cannot go on says so.
        [[ $case != *@1 || $case == MPI_Finalize:* || $case == MPI_Cancel:* ]] ||
            [[ $stderr == *"--mpi: rank 1: MPI"* ]]
    done
}

# refusals -- NAME:N@RANK: the N-th call of that name fails there. CLEAVE_FAULTS=all: more of them,
# which takes minutes.
refusals() {
    local name n
    if [ "${CLEAVE_FAULTS:-}" != all ]; then
        echo MPI_Isend:3@0 MPI_Isend:3@1 MPI_Irecv:9@1 MPI_Testsome:30@0 MPI_Testsome:30@1 MPI_Ibarrier:1@1 \
            MPI_Wait:1@1 MPI_Test:1@0 MPI_Get_count:2@0 MPI_Get_count:1@1 MPI_Ireduce_scatter_block:1@1 \
            MPI_Request_free:1@0 MPI_Comm_size:1@1 MPI_Iallgather:1@1 MPI_Init_thread:1@1
        return
    fi
    for name in Init_thread Isend Irecv Test Testsome Wait Cancel Request_free Get_count Ibarrier Ireduce_scatter_block \
        Finalize Comm_rank Comm_size Comm_set_errhandler Get_processor_name Iallgather; do
        for n in 1 2 5 20; do
            echo MPI_$name:$n@0 MPI_$name:$n@1
        done
    done
}

@test "openmpi: a call of MPI that fails" { refused openmpi; }
@test "mpich: a call of MPI that fails" { refused mpich; }

# A rank is killed, and mpirun ends the others: no command goes on, wherever it ran.
orphans() {
    needs "$1"
    local pid
    cd "$BATS_TEST_TMPDIR"
    timeout 200 "mpirun.$1" -n 3 "$CLEAVE" run --mpi -q -i "$NUMBERS" --block 100k \
        -- sh -c 'echo $$ $PPID >$CLEAVE_WORKER.new; mv $CLEAVE_WORKER.new self.${CLEAVE_WORKER#*:}; exec sleep 300' \
        >out 2>err 3>&- &
    appears self.1
    appears self.2
    read -r _ pid <self.1
    kill -9 "$pid"
    for r in 1 2; do
        read -r pid _ <self.$r
        for _ in $(seq 3000); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.02
        done
        run kill -0 "$pid"
        [ "$status" -ne 0 ]
    done
    wait
}

@test "openmpi: commands end with a rank that is killed" { orphans openmpi; }
@test "mpich: commands end with a rank that is killed" { orphans mpich; }

@test "not started by mpirun, or without a library for it" {
    unset OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK
    cleave 2 run --mpi -i "$NUMBERS" -- cat
    [[ $stderr == *"was not started by mpirun: expected mpirun -n 9 "* ]]
    [[ $stderr == *"srun --mpi=pmix (Open MPI) or srun --mpi=pmi2 (MPICH)"* ]]
    [ "$(wc -l <<<"$stderr")" = 1 ]
    cleave 2 run --mpi --mpi-library lam -i "$NUMBERS" -- cat
    [[ $stderr == *"expected openmpi or mpich, got 'lam'"* ]]
    cleave 2 run --mpi-library mpich -i "$NUMBERS" -- cat
    [[ $stderr == *"--mpi-library needs --mpi"* ]]
    cleave 2 run --leaders node -i "$NUMBERS" -- cat
    [[ $stderr == *"--leaders needs --mpi; for hosts, name leaders with --via HOST"* ]]
    cp "$CLEAVE" "$BATS_TEST_TMPDIR/cleave"
    OMPI_COMM_WORLD_RANK=0 run --separate-stderr "$BATS_TEST_TMPDIR/cleave" run --mpi \
        -i "$NUMBERS" -- cat
    [ "$status" = 3 ]
    [[ $stderr == *"built without Open MPI: install libopenmpi-dev"* ]]
    OMPI_COMM_WORLD_RANK=2 run --separate-stderr "$BATS_TEST_TMPDIR/cleave" run --mpi \
        -i "$NUMBERS" -- cat
    [ "$status" = 3 ]
    # Rank 0 tells it first, if it meets it, too, and the others end.
    [[ $stderr == "cleave: --mpi: rank 2: this cleave was built without Open MPI: "* ]]
    # The mpirun of MPICH has to be told that nobody is to wait for this rank.
    CLEAVE_MPI_LIBRARY=/dev/null PMI_RANK=0 PMI_FD=9 run --separate-stderr "$CLEAVE" run --mpi \
        -i "$NUMBERS" -- cat 9>"$BATS_TEST_TMPDIR/told"
    [ "$status" = 3 ]
    [[ $stderr == *"cannot load the library for MPICH"* ]]
    [ "$(cat "$BATS_TEST_TMPDIR/told")" = "cmd=abort exitcode=3" ]
    PMI_RANK=1 PMI_FD=9 run "$CLEAVE" run --mpi --bad -i "$NUMBERS" -- cat 9>"$BATS_TEST_TMPDIR/told"
    [ "$status" = 2 ]
    [ "$(cat "$BATS_TEST_TMPDIR/told")" = "cmd=abort exitcode=2" ]
    PMI_RANK=1 PMI_FD=9 run "$CLEAVE" run --bad -i "$NUMBERS" -- cat --mpi 9>"$BATS_TEST_TMPDIR/told"
    [ "$status" = 2 ]
    [ ! -s "$BATS_TEST_TMPDIR/told" ]
}

items() {
    needs "$1"
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir there
    echo 1 >one
    echo 2 >two
    RANKS=3 ranks "$1" 0 -q --workdir "$PWD/there" --transfer --return {}.n --cleanup 'cat {}; wc -c <{} >{}.n' ::: one two
    [ "$output" = $'1\n2' ]
    [ "$(cat one.n two.n)" = $'2\n2' ]
    [ -z "$(ls there)" ]
}

@test "openmpi: items with their files" { items openmpi; }
@test "mpich: items with their files" { items mpich; }

led() {
    needs "$1"
    T=$BATS_TEST_TMPDIR
    # Two leaders of two ranks each: four commands are at work at the same time.
    meeting_command rank1.0 rank1.1 rank3.0 rank3.1
    sed -i 's/tr 0-9 a-j/tr 0-4 A-E/' "$T/meet"
    ranks "$1" 0 --leaders 2 -i "$NUMBERS" -o "$T/out" --block 200000 --json -- "$T/meet"
    same
    [ "$(number input_bytes)" = 588895 ]
    [[ $output == *'"host": "'*':1", "leads": ["'*':2"]'* ]]
    [[ $output == *'"host": "'*':3", "leads": ["'*':4"]'* ]]
    [ "$(printf '%s\n' "$output" | grep -c '"name": ".*:[1-4]"')" = 2 ]
    # Results are folded by leaders first, then from rank to rank: both have some, and the second
    # one so much that others come to it.
    rm "$T"/here.*
    sed -i 's/^exec tr/case $CLEAVE_WORKER in rank3*) head -c 3000000 \/dev\/zero | tr "\\0" x ;; esac\nexec tr/' "$T/meet"
    ranks "$1" 0 -q --leaders 2 -i "$NUMBERS" -o "$T/out" --block 200000 --reduce 'tr -d x' -- "$T/meet"
    same
    [[ $stderr != *lost* ]]
    # One of them leads nobody.
    RANKS=4 ranks "$1" 0 -q --leaders 2 -i "$NUMBERS" -o "$T/out" --block 100000 --reduce cat -- tr 0-4 A-E
    same
    RANKS=3 ranks "$1" 1 -q --leaders node -i "$NUMBERS" -- false
    ranks "$1" 2 --leaders 1 -i "$NUMBERS" -- cat
    [[ $stderr == *"--leaders: expected node, or how many ranks of a machine one leads"*"got '1'"* ]]
    [ "$(grep -c -- --leaders <<<"$stderr")" = 1 ]
    ranks "$1" 2 --leaders node -- echo {} ::: a b
    [[ $stderr == *"leads others (--leaders), which it cannot with items: leave --leaders out"* ]]
}

@test "openmpi: ranks lead others" { led openmpi; }
@test "mpich: ranks lead others" { led mpich; }
