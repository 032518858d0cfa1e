#!/bin/sh
# bench_mpi.sh -- reductions of MPI programs beside the MPI library's own and coll/adapt.
# SPDX-License-Identifier: MIT
#
# usage: bench_mpi.sh [BUILD]. Set ROUNDS (100), RANKS ("4 8"), SIZES and COSTS to change what
# is measured. Times are medians from the last arrival to the result, in microseconds; skew is
# how late ranks come at most, in balanced MPI_Reduce. A ratio above 1 is faster than MPI_Reduce.
build=${1:-build}
rounds=${ROUNDS:-100}
program=$build/bench-openmpi/mpi_reduce
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
command -v mpirun.openmpi >/dev/null || { echo "mpirun.openmpi is not here" >&2; exit 77; }

# run RANKS [OPTION...] -- PROGRAM...
run()
{
    ranks=$1
    shift
    mpirun.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$@"
}

for cost in ${COSTS:-0 20 -1}; do
    dynamic=tree-dyn
    test "$cost" -lt 0 && dynamic=ordered-tree-dyn
    for ranks in ${RANKS:-4 8}; do
        for bytes in ${SIZES:-8 512 4096 65536 262144 1048576 4194304}; do
            # Other costs than that of a sum matter where there is something to combine.
            test "$cost" -ne 0 && test "$bytes" -lt 65536 && continue
            times=$rounds
            test "$bytes" -ge 1048576 && times=$((rounds / 3 + 1))
            run "$ranks" "$program" "$times" "$bytes" "$cost" 0 mpi $dynamic greedy auto \
                >"$work/rows" || exit 1
            balanced=$(awk -F, '$3 == 0 && $5 == "mpi" { print $6 }' "$work/rows")
            cat "$work/rows" >>"$work/all"
            run "$ranks" --mca coll_adapt_priority 100 "$program" "$times" "$bytes" "$cost" \
                "$balanced" mpi | sed 's/,mpi,/,adapt,/' >>"$work/all"
        done
    done
done

awk -F, '
{
    key = $1 "," $2 "," $3 "," $4
    if (!(key in seen)) { order[++rows] = key; seen[key] = 1 }
    time[key, $5] = $6
}
function ratio(key, policy) { return time[key, policy] > 0 ? time[key, "mpi"] / time[key, policy] : 0 }
function note(name, value) { sum[name] += log(value); count[name]++
    if (!(name in least) || value < least[name]) least[name] = value }
function show(name, text) { if (count[name])
    printf "%s: mean %.2f, least %.2f\n", text, exp(sum[name] / count[name]), least[name] }
END {
    printf "%5s %5s %8s %5s %10s %16s %16s %16s %16s\n", "ranks", "cost", "bytes", "skew",
        "MPI_Reduce", "coll/adapt", "dynamic", "greedy", "auto"
    for (i = 1; i <= rows; i++) {
        key = order[i]
        split(key, part, ",")
        dynamic = part[4] < 0 ? "ordered-tree-dyn" : "tree-dyn"
        printf "%5d %5d %8d %5d %10.1f", part[1], part[4], part[2], part[3], time[key, "mpi"] * 1e6
        split("adapt " dynamic " greedy auto", names, " ")
        for (p = 1; p <= 4; p++)
            printf " %9.1f (%.2f)", time[key, names[p]] * 1e6, ratio(key, names[p])
        printf "\n"
        if (part[2] >= 65536 && part[3] >= 4) {
            kind = part[4] == 0 ? "sum" : part[4] < 0 ? "order" : "cost"
            note("dynamic " kind, ratio(key, dynamic))
            note("auto " kind, ratio(key, "auto"))
            if (time[key, "adapt"] > 0)
                note("adapt " kind, time[key, "adapt"] / time[key, dynamic])
        }
        if (part[3] == 0)
            note("balanced", ratio(key, "auto"))
    }
    print ""
    show("dynamic sum", "from 64 KiB at skew >= 4, MPI_SUM: MPI_Reduce / tree-dyn")
    show("auto sum", "  MPI_Reduce / auto")
    show("adapt sum", "  coll/adapt / tree-dyn")
    show("dynamic cost", "from 64 KiB at skew >= 4, a slow operator: MPI_Reduce / tree-dyn")
    show("auto cost", "  MPI_Reduce / auto")
    show("adapt cost", "  coll/adapt / tree-dyn")
    show("dynamic order", "from 64 KiB at skew >= 4, in order: MPI_Reduce / ordered-tree-dyn")
    show("auto order", "  MPI_Reduce / auto")
    show("balanced", "balanced: MPI_Reduce / auto")
}' "$work/all"
