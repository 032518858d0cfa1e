# mpi.bash -- what tests of cleave run --mpi share. SPDX-License-Identifier: MIT

# setup_ranks LINES -- for setup_file: $NUMBERS has so many lines, and `expected` beside it
# what comes of them.
setup_ranks() {
    export NUMBERS=$BATS_FILE_TMPDIR/numbers
    seq 1 "$1" >"$NUMBERS"
    tr 0-4 A-E <"$NUMBERS" >"$BATS_FILE_TMPDIR/expected"
    # More ranks than cores; in a container everybody is root.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_rmaps_base_oversubscribe=1
}

# needs FLAVOUR -- skip, with the reason, unless this MPI can be used.
needs() {
    command -v "mpirun.$1" >/dev/null || skip "mpirun.$1 is not there"
    [ -e "$(dirname "$CLEAVE")/lib/$1/libcleave-mpi.so" ] ||
        skip "cleave was built without $1"
}

# same -- what was written to $BATS_TEST_TMPDIR/out is what it should be.
same() {
    cmp "$BATS_TEST_TMPDIR/out" "$BATS_FILE_TMPDIR/expected"
}
