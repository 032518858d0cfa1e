#!/bin/sh
# death.sh -- when a rank dies the program ends, and says so. SPDX-License-Identifier: MIT
#
# usage: death.sh FLAVOUR RANKS, in the environment of the tests.
here=$CLEAVE_SOURCE_DIR/tests/mpi
program=$CLEAVE_BUILD_DIR/tests/mpi-$1/death

for policy in tree-dyn ordered-tree-dyn tree-replan greedy auto; do
    timeout 60 sh "$here/launch.sh" "$1" "$2" "$program" "$policy" >/dev/null 2>&1
    status=$?
    test $status -eq 77 && { echo "mpirun.$1 is not here" >&2; exit 77; }
    test $status -eq 124 && { echo "$policy: the others wait for ever" >&2; exit 1; }
    test $status -eq 0 && { echo "$policy: nobody noticed" >&2; exit 1; }
done
exit 0
