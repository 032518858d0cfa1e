# MPICH's tests under the preload: the tool, with a suite of two programs.
# SPDX-License-Identifier: MIT
load helper

setup() {
    [ -z "$CLEAVE_SANITIZE" ] || skip "a sanitizer would have to come before the preload"
    command -v mpicc.openmpi >/dev/null && [ -d "$CLEAVE_BUILD_DIR/lib/openmpi" ] ||
        skip "Open MPI is not here"
    suite=$BATS_TEST_TMPDIR/suite
    mkdir -p "$suite"/test/mpi/{coll,util,include} "$BATS_TEST_TMPDIR/b/lib"
    ln -s "$CLEAVE_BUILD_DIR/lib/openmpi" "$BATS_TEST_TMPDIR/b/lib/openmpi"
    cat >"$suite/test/mpi/include/mpitest.h" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mpitestconf.h"
int run(const char *arg);
void MTest_Init(int *argc, char ***argv);
void MTest_Finalize(int errors);
int MTestReturnValue(int errors);
END
    cat >"$suite/test/mpi/util/mtest.c" <<'END'
#include "mpitest.h"
void MTest_Init(int *argc, char ***argv) { MPI_Init(argc, argv); }
int MTestReturnValue(int errors) { return errors != 0; }
void MTest_Finalize(int errors)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && errors == 0)
        puts(" No Errors");
    MPI_Finalize();
}
END
    cat >"$suite/test/mpi/coll/sums.c" <<'END'
#include "mpitest.h"
int run(const char *arg)
{
    int one = 1, sum = 0, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum != ranks || strcmp(arg, "-a -b") != 0;
}
END
    echo 'int main(void) { MPI_Reduce; return no such thing; }' >"$suite/test/mpi/coll/none.c"
    printf 'sums 2 arg=-a arg=-b\nsums 200\nnone 2\n# sums 2\n' >"$suite/test/mpi/coll/testlist.in"
    export FLAVOURS=openmpi POLICIES="tree-dyn fixed"
}

@test "passing programs are counted, programs that do not compile are reported" {
    run "$CLEAVE_SOURCE_DIR/tools/check-mpich-suite" "$suite" "$BATS_TEST_TMPDIR/b"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "MPI      policy            2 ranks    runs  failed   again" ]]
    [[ ${lines[1]} == "openmpi  plain                   1       1       0       0" ]]
    [[ ${lines[3]} == "openmpi  fixed                   1       1       0       0" ]]
    [[ ${lines[4]} == "2 runs preloaded, 0 failed that pass plain (0 were tried again); 0 fail plain, 1 programs do not compile"* ]]
}

@test "at other numbers of ranks than the lists say, each line once" {
    sed -i 's/sums 200/sums 3 arg=-a arg=-b/' "$suite/test/mpi/coll/testlist.in"
    AT="1 2" POLICIES=fixed run "$CLEAVE_SOURCE_DIR/tools/check-mpich-suite" "$suite" "$BATS_TEST_TMPDIR/b"
    [ "$status" -eq 0 ]
    [[ ${lines[3]} == "2 runs preloaded, 0 failed that pass plain"* ]]
    run grep '^== ' "$BATS_TEST_TMPDIR/b/mpich-suite/log"
    [[ $output == *"openmpi fixed 1 "*"openmpi fixed 2 "* ]]
    [[ $output != *"fixed 3 "* ]]
}

@test "a program that passes plain only is a failure" {
    sed -i 's/return sum/return getenv("LD_PRELOAD") != NULL || sum/' "$suite/test/mpi/coll/sums.c"
    POLICIES=fixed run "$CLEAVE_SOURCE_DIR/tools/check-mpich-suite" "$suite" "$BATS_TEST_TMPDIR/b"
    [ "$status" -eq 1 ]
    [[ ${lines[0]} == "openmpi fixed: coll/sums, 2 ranks -a -b" ]]
    [[ ${lines[3]} == "openmpi  fixed                1 -1       1       1       0" ]]
    [[ ${lines[4]} == "1 runs preloaded, 1 failed"* ]]
    run "$CLEAVE_SOURCE_DIR/tools/check-mpich-suite" "$BATS_TEST_TMPDIR"
    [ "$status" -eq 2 ]
    [[ $output == "check-mpich-suite: expected a source tree of MPICH"* ]]
}

@test "CONTINUE skips programs that have run" {
    SECONDS_ALL=0 run "$CLEAVE_SOURCE_DIR/tools/check-mpich-suite" "$suite" "$BATS_TEST_TMPDIR/b"
    [ "$status" -eq 1 ] # no time for anything
    echo 'openmpi plain 2 passed coll/sums -a -b' >"$BATS_TEST_TMPDIR/b/mpich-suite/results"
    CONTINUE=1 SECONDS_ALL=0 run "$CLEAVE_SOURCE_DIR/tools/check-mpich-suite" "$suite" "$BATS_TEST_TMPDIR/b"
    [ "$status" -eq 3 ]
    [[ $output == *"0 runs preloaded"*"time was up; CONTINUE=1 goes on" ]]
    CONTINUE=1 run "$CLEAVE_SOURCE_DIR/tools/check-mpich-suite" "$suite" "$BATS_TEST_TMPDIR/b"
    [ "$status" -eq 0 ]
    [[ ${lines[4]} == "2 runs preloaded, 0 failed"* ]]
    run grep -c '^== ' "$BATS_TEST_TMPDIR/b/mpich-suite/log"
    [ "$output" -eq 2 ] # the plain one was known
}
