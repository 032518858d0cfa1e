#!/bin/sh
# preload.sh -- programs that know nothing of cleave, with libcleave-mpi-preload.
# SPDX-License-Identifier: MIT
#
# usage: preload.sh FLAVOUR RANKS, in the environment of the tests.
flavour=$1 ranks=$2
here=$CLEAVE_SOURCE_DIR/tests/mpi
library=$CLEAVE_BUILD_DIR/lib/$flavour/libcleave-mpi-preload.so
programs=$CLEAVE_BUILD_DIR/tests/mpi-$flavour
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail()
{
    echo "$1" >&2
    cat "$work"/out "$work"/err >&2
    exit 1
}

# with SETTINGS PROGRAM ARGUMENT... -- run it; output in $work/out and $work/err.
with()
{
    settings=$1
    shift
    LAUNCH_ENV="CLEAVE_MPI=$settings LD_PRELOAD=$library" \
        sh "$here/launch.sh" "$flavour" "$ranks" "$@" >"$work/out" 2>"$work/err"
}

sh "$here/launch.sh" "$flavour" 1 true 2>/dev/null
test $? -eq 77 && { echo "mpirun.$flavour is not here" >&2; exit 77; }

# Short vectors as well, also where ranks share processors.
for policy in auto tree-dyn,least=1 ordered-tree-dyn,least=1 tree-replan,least=1 greedy,least=1 binomial \
    fibonacci mpi greedy,transfer=20us,combine=10us,least=1; do
    with "$policy" "$programs/plain" 12 200 || fail "$policy failed"
    grep -q ' 0 wrong' "$work/out" || fail "$policy is wrong"
    with "$policy" "$programs/calls" || fail "$policy failed, by other calls"
    grep -qx '0 wrong' "$work/out" || fail "$policy is wrong, by other calls"
done

# What is shorter than said is left to MPI, but not by a policy that promises a tree.
with tree-dyn,least=1GiB,verbose "$programs/plain" 2 || fail "tree-dyn failed, leaving all to MPI"
grep -q 'policy tree-dyn, 0 reductions' "$work/err" || fail "least=1GiB: tree-dyn does it all the same"
with fixed,least=1GiB,verbose "$programs/plain" 2 || fail "fixed failed"
grep -q 'policy fixed, 0 reductions' "$work/err" && fail "least=1GiB: fixed leaves it to MPI"

# Ranks of one machine meet in memory, unless they are told not to.
with tree-dyn,least=1,verbose "$programs/plain" 2 || fail "tree-dyn failed, in memory"
grep -q 'reductions in memory that all share' "$work/err" || fail "tree-dyn does not use memory that all share"
with tree-dyn,least=1,share=1,verbose "$programs/plain" 2 || fail "tree-dyn failed, by messages"
grep -q 'in memory that all share' "$work/err" && fail "share=1: memory is used all the same"

# Who combines what takes less than a transfer meets the next one before; else not.
if test "$ranks" -ge 4; then
    for policy in tree-dyn ordered-tree-dyn; do
        with $policy,transfer=1s,least=1,share=1,verbose "$programs/plain" 12 200 || fail "$policy failed, meeting ahead"
        grep -q ' 0 wrong' "$work/out" || fail "$policy is wrong, meeting ahead"
        grep -q 'rank 0 met the next [1-9][0-9]* times while it combined' "$work/err" || fail "$policy: nobody met ahead"
    done
    with tree-dyn,least=1,share=1,verbose "$programs/plain" 2 || fail "tree-dyn failed"
    grep -q 'while it combined' "$work/err" && fail "met ahead, and knew no costs"
fi

# Ranks of one machine first, where two in a row are said to be on one.
if test "$ranks" -ge 4; then
    for policy in tree-dyn ordered-tree-dyn tree-replan; do
        with "$policy,machine=2,least=1,verbose" "$programs/calls" || fail "$policy failed, by machines"
        grep -qx '0 wrong' "$work/out" || fail "$policy is wrong, by machines"
        grep -q "communicator of $ranks ranks on $((ranks / 2)) machines" "$work/err" ||
            fail "$policy took no notice of machines"
    done
    with "tree-replan,slices=17" "$programs/plain" 2 && fail "17 slices were taken"
    grep -q "expected a number of ranks, 1 to 16, in 'slices=17'" "$work/err" ||
        fail "it does not say how many slices there may be"
    with "tree-dyn,machine=2.5" "$programs/plain" 2 && fail "half a rank was taken"
    grep -q "expected a number of ranks, 1 to 1000000, in 'machine=2.5'" "$work/err" ||
        fail "half a rank is not told"
fi

# Sessions: until there is a world, MPI does it all.
with mpi "$programs/sessions"
sessions=$?
if test $sessions -ne 77; then
    test $sessions -eq 0 || fail "sessions fail, whoever reduces"
    for case in auto:2 auto:5 tree-dyn:2 tree-dyn:8 ordered-tree-dyn:3 fixed:2 greedy:2; do
        policy=${case%:*} ranks=${case#*:}
        with "$policy,least=1" "$programs/sessions" || fail "$policy failed with a session"
        grep -qx '0 wrong' "$work/out" || fail "$policy is wrong with a session"
        test "$ranks" -eq 2 || continue
        with "$policy,least=1,verbose" "$programs/sessions" both ||
            fail "$policy failed with a session beside the world"
        grep -qx '0 wrong' "$work/out" || fail "$policy is wrong beside the world"
        grep -q "cleave: policy $policy, [1-9]" "$work/err" ||
            fail "$policy was passed by beside the world"
    done
    with tree-din "$programs/sessions" both && fail "a misspelt policy was taken"
    grep -q "expected a setting or a policy, got 'tree-din'" "$work/err" ||
        fail "a misspelt policy is not told"
    ranks=$2
fi

# A program may want most of the communicators that there are, and nothing is left of those that it freed.
for settings in tree-dyn,least=1:1 tree-replan,least=1:1 auto,least=1:5 fixed:1; do
    at_once=1500
    test "$ranks" -gt 2 && at_once=300
    with "${settings%:*}" "$programs/many" "$at_once" 60 "${settings#*:}" || fail "$settings: failed with many communicators"
    grep -qx '0 wrong' "$work/out" || fail "$settings: wrong, or leaves something behind, with many communicators"
done
# Nor is there an error where it has taken all of them.
if test "$flavour" = mpich; then
    for policy in fixed auto; do
        with "$policy,least=1" "$programs/many" 2035 10 5 1 || fail "$policy: failed where no communicator is left"
        grep -qx '0 wrong' "$work/out" || fail "$policy: wrong where no communicator is left"
    done
fi
with tree-dyn,least=1,verbose "$programs/many" 1 200 || fail "tree-dyn failed with many communicators in turn"
test "$(grep -c 'reductions in memory that all share' "$work/err")" -eq 202 ||
    fail "communicators that were freed count"

# The same bits, whoever is late.
with fixed "$programs/plain" 12 0 || fail "fixed failed"
cp "$work/out" "$work/before"
for late in 300 50; do
    with fixed "$programs/plain" 12 "$late" || fail "fixed failed"
    cmp -s "$work/before" "$work/out" || fail "fixed has other bits"
done

with auto,verbose "$programs/plain" 40 100 || fail "auto,verbose failed"
grep -q 'cleave: policy auto, [0-9]* reductions, [0-9]* left to MPI' "$work/err" ||
    fail "verbose says nothing"
grep -q "cleave: communicator of $ranks ranks.*:\$" "$work/err" ||
    fail "verbose does not tell what was chosen"

with tree-din,verbose "$programs/plain" 2 && fail "a misspelt policy was taken"
test "$(grep -c "cleave: CLEAVE_MPI: expected a setting or a policy, got 'tree-din'; did you mean 'tree-dyn'" \
    "$work/err")" -eq 1 || fail "a misspelt policy is not told once"
with tree-dyn,greedy "$programs/plain" 2 && fail "two policies were taken"

compiler=$(command -v "mpifort.$flavour") || {
    echo "no mpifort.$flavour: the Fortran program is left out" >&2
    exit 0
}
sed 's/use mpi$/use mpi_f08/; s/, code)$/)/' "$here/plain.f90" >"$work/f08.f90"
for source in "$here/plain.f90" "$work/f08.f90"; do
    "$compiler" "$source" -o "$work/fortran" >"$work/out" 2>"$work/err" ||
        fail "the Fortran program does not compile: $source"
    with ordered-tree-dyn,least=1,verbose "$work/fortran" || fail "Fortran failed: $source"
    grep -q 'fortran is right' "$work/out" || fail "Fortran is wrong: $source"
    grep -q 'policy ordered-tree-dyn, 2 reductions' "$work/err" ||
        fail "Fortran was passed by: $source"
done
