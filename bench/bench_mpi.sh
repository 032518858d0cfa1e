#!/bin/sh
# bench_mpi.sh -- reductions of MPI programs beside the MPI library's own and coll/adapt.
# SPDX-License-Identifier: MIT
#
# usage: bench_mpi.sh [BUILD]. Set RANKS ("4 8"), SIZES, COSTS (of the operator: 0 is MPI_SUM, others
# go over each value that often, negative ones do not commute), ROW_SECONDS (1) and LAUNCHES
# (2) to change what is measured. ROWS=FILE keeps what was measured, and adds to what is there.
#
# Times are medians from the last arrival to the result, in microseconds; skew is how late ranks
# come at most, in balanced MPI_Reduce. All contenders take turns within one run. A ratio is the
# median over the rounds of MPI_Reduce's time by the contender's, and the geometric mean over the
# launches, because where the kernel puts the ranks makes a difference: above 1 is faster than
# MPI_Reduce. "again" is MPI_Reduce a second time: what is within its reach is chance.
build=${1:-build}
program=$build/bench-openmpi/mpi_reduce
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
rows=${ROWS:-$work/rows}
command -v mpirun.openmpi >/dev/null || { echo "mpirun.openmpi is not here" >&2; exit 77; }

# measure RANKS BYTES COST -- again, twice at most, if something else went on meanwhile: MPI_Reduce
# is far from itself then.
measure()
{
    dynamic=tree-dyn
    test "$3" -lt 0 && dynamic=ordered-tree-dyn
    for attempt in 1 2 3; do
        mpirun.openmpi --allow-run-as-root --oversubscribe -n "$1" --mca coll_adapt_priority 1 \
            "$program" "${ROW_SECONDS:-1}" "$2" "$3" mpi again adapt $dynamic greedy auto \
            >"$work/new" || exit 1
        awk -F, '$5 == "again" && ($8 < 0.85 || $8 > 1.18) { bad = 1 } END { exit bad }' "$work/new" &&
            break
        test $attempt -lt 3 && echo "$1 ranks, $2 bytes, cost $3: disturbed, once more" >&2
    done
    cat "$work/new" >>"$rows"
}

launch=0
while [ "$launch" -lt "${LAUNCHES:-2}" ]; do
    launch=$((launch + 1))
    for cost in ${COSTS:-0 4 20 -1}; do
        # Other costs than that of a sum matter where there is something to combine, and take long.
        case $cost in
        0) sizes="8 512 4096 65536 262144 1048576 4194304" ;;
        20) sizes="65536" ;;
        *) sizes="65536 1048576" ;;
        esac
        for ranks in ${RANKS:-4 8}; do
            for bytes in ${SIZES:-$sizes}; do
                measure "$ranks" "$bytes" "$cost"
            done
        done
    done
done

awk -F, '
{
    key = $1 "," $2 "," $3 "," $4
    if (!(key in seen)) { order[++rows] = key; seen[key] = 1 }
    name = $5 == "tree-dyn" || $5 == "ordered-tree-dyn" ? "dynamic" : $5
    time[key, name] += $7
    product[key, name] += log($8)
    launches[key, name]++
}
function ratio(key, name) { return exp(product[key, name] / launches[key, name]) }
function note(what, value) { sum[what] += log(value); count[what]++
    if (!(what in least) || value < least[what]) least[what] = value
    if (!(what in most) || value > most[what]) most[what] = value }
function show(what, text) { if (count[what])
    printf "%-58s %.2f (%.2f to %.2f, %d rows)\n", text, exp(sum[what] / count[what]),
        least[what], most[what], count[what] }
END {
    printf "%5s %4s %8s %4s %11s %7s %7s %7s %7s %7s\n", "ranks", "cost", "bytes", "skew",
        "MPI_Reduce", "again", "adapt", "dynamic", "greedy", "auto"
    for (i = 1; i <= rows; i++) {
        key = order[i]
        split(key, part, ",")
        printf "%5d %4d %8d %4d %11.1f", part[1], part[4], part[2], part[3],
            time[key, "mpi"] / launches[key, "mpi"] * 1e6
        for (p = split("again adapt dynamic greedy auto", names, " "); p > 0; p--)
            value[p] = ratio(key, names[p])
        for (p = 1; p <= 5; p++)
            printf " %7.2f", value[p]
        printf "\n"
        if (part[2] >= 65536 && part[3] >= 4) {
            kind = part[4] == 0 ? "sum" : part[4] < 0 ? "order" : "cost"
            note("dynamic " kind, value[3])
            note("auto " kind, value[5])
            note("adapt " kind, value[3] / value[2])
            note("all auto", value[5])
        }
        if (part[3] == 0) {
            note("balanced", value[5])
            note("chance", value[1])
        }
    }
    print "\nMPI_Reduce by ... from 64 KiB, skew 4 and 16; geometric mean"
    show("dynamic sum", "  tree-dyn, MPI_SUM")
    show("auto sum", "  auto, MPI_SUM")
    show("dynamic cost", "  tree-dyn, slow operators")
    show("auto cost", "  auto, slow operators")
    show("dynamic order", "  ordered-tree-dyn, in order")
    show("auto order", "  auto, in order")
    show("all auto", "  auto, all of these")
    print "coll/adapt by ..., the same rows"
    show("adapt sum", "  tree-dyn, MPI_SUM")
    show("adapt cost", "  tree-dyn, slow operators")
    show("adapt order", "  ordered-tree-dyn, in order")
    print "MPI_Reduce by ..., balanced, all sizes"
    show("balanced", "  auto")
    show("chance", "  itself")
}' "$rows"
