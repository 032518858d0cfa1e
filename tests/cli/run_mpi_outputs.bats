# cleave run --mpi with large outputs, with each MPI that is here.
# SPDX-License-Identifier: MIT
load helper
load mpi

setup_file() {
    setup_ranks 1500000
}

# ranks FLAVOUR ARGUMENT... -- cleave run --mpi on 5 ranks, or skip where there is no such
# MPI.
ranks() {
    local flavour=$1
    shift
    needs "$flavour"
    timeout 200 "mpirun.$flavour" -n 5 "$CLEAVE" run --mpi -q -i "$NUMBERS" "$@"
}

# In memory, and with most of it on disk; of chunks that are cut as they come, and of many.
written() {
    local out=$BATS_TEST_TMPDIR/out
    ranks "$1" -o "$out" -- tr 0-4 A-E
    same
    ranks "$1" -o "$out" --memory 500kB -- tr 0-4 A-E
    same
    ranks "$1" -o "$out" --block 100kB -- tr 0-4 A-E
    same
    ranks "$1" -- tr 0-4 A-E >"$out"
    same
    # To a pipe whose reader takes its time.
    ranks "$1" --block 300kB -- tr 0-4 A-E | { sleep 0.5; cat >"$out"; }
    same
    # In any order, nothing is lost.
    ranks "$1" -o "$out" --unordered --block 300kB -- tr 0-4 A-E
    cmp <(sort "$out") <(sort "$BATS_FILE_TMPDIR/expected")
}

# Outputs that come by bits, with a pause, and go on when the command has ended.
slow() {
    local out=$BATS_TEST_TMPDIR/out
    ranks "$1" -o "$out" --block 4MB \
        -- sh -c 'awk "{ print; fflush() } NR == 400000 { system(\"sleep 0.02\") }"; (sleep 0.05; echo end) &'
    [ "$(grep -c '^end$' "$out")" -ge 2 ]
    cmp <(grep -v '^end$' "$out") "$NUMBERS"
}

@test "openmpi: large outputs that come by bits" { slow openmpi; }
@test "mpich: large outputs that come by bits" { slow mpich; }

@test "openmpi: large outputs are written in their turn" { written openmpi; }
@test "mpich: large outputs are written in their turn" { written mpich; }

# Who else has to do with outputs.
used() {
    local out=$BATS_TEST_TMPDIR/out
    ranks "$1" -o "$out" --reduce 'cat {1} {2}' --block 1MB -- tr 0-4 A-E
    same
    ranks "$1" -o "$out" --journal "$BATS_TEST_TMPDIR/journal" --memory 1MB -- tr 0-4 A-E
    same
    ranks "$1" -o "$out" --journal "$BATS_TEST_TMPDIR/journal" --resume -- tr 0-4 A-E
    same
}

@test "openmpi: large outputs are reduced and remembered" { used openmpi; }
@test "mpich: large outputs are reduced and remembered" { used mpich; }

# What does not fit into the memory of rank 0 goes where it should.
spilled() {
    local out=$BATS_TEST_TMPDIR/out none=$BATS_TEST_TMPDIR/none
    mkdir "$none"
    ranks "$1" -o "$out" --memory 500kB --tmpdir "$none" -- tr 0-4 A-E
    same
    rmdir "$none"
    run --separate-stderr ranks "$1" -o "$out" --memory 500kB --tmpdir "$none" -- tr 0-4 A-E
    [ "$status" = 2 ]
    [[ $stderr == *"--tmpdir: cannot write to '$none'"* ]]
}

@test "openmpi: large outputs go to --tmpdir" { spilled openmpi; }
@test "mpich: large outputs go to --tmpdir" { spilled mpich; }

@test "openmpi: ranks write the files of their chunks" {
    cd "$BATS_TEST_TMPDIR"
    ranks openmpi --block 100kB -o 'ranks/{chunk}' --shared-output --trace t.jsonl -- cat
    cat ranks/* | cmp - "$NUMBERS"
    [ "$(ls -A ranks | grep -c '^\.')" -eq 0 ]
    run ! grep '"returned"' t.jsonl
}
