#!/bin/sh
# bench_arrivals.sh -- reductions of MPI programs under patterns of arrival, beside the MPI library's
# own. SPDX-License-Identifier: MIT
#
# usage: bench_arrivals.sh [BUILD]. Few cells unless you say which: set FLAVOURS ("openmpi mpich"),
# CALLS ("reduce allreduce"), ARRIVALS ("one random"; also linear, bimodal, and files of traced
# delays: bench/mpi_arrivals.h), SIZES ("65536"), COSTS ("0 4"; of the operator, as in bench_mpi.sh),
# RANKS ("4", and 2 where MPICH would have to spin), SECONDS_EACH (0.3) and LAUNCHES (1).
# ROWS=FILE keeps what was measured, and adds to what is there.
#
# A ratio is MPI's time, from the last arrival to the (last) result, by the contender's: above 1 is
# faster than MPI. "again" is MPI a second time: what is within its reach is chance. adapt and han are
# components of Open MPI. Of auto, calls from which it learns are not counted.
build=${1:-build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
rows=${ROWS:-$work/rows}
launch=$(dirname "$0")/../tests/mpi/launch.sh

# measure FLAVOUR RANKS CALL ARRIVALS BYTES COST
measure()
{
    program=$build/bench-$1/mpi_reduce
    dynamic=tree-dyn components='' more='' all=''
    test "$6" -lt 0 && dynamic=ordered-tree-dyn
    test "$3" = allreduce && all=--all
    if [ "$1" = openmpi ]; then
        components="adapt han" more="--mca coll_adapt_priority 1 --mca coll_han_priority 1"
    fi
    # shellcheck disable=SC2086
    sh "$launch" "$1" "$2" $more "$program" $all --arrivals "$4" "${SECONDS_EACH:-0.3}" "$5" "$6" \
        mpi again $components $dynamic greedy auto >"$work/new" || return 1
    sed "s/^/$1,/" "$work/new" >>"$rows"
}

test -x "$build/bench-openmpi/mpi_reduce" || test -x "$build/bench-mpich/mpi_reduce" || {
    echo "bench_arrivals.sh: no mpi_reduce in $build: ninja -C $build benches-mpi" >&2
    exit 77
}
for launch_number in $(seq "${LAUNCHES:-1}"); do
    for flavour in ${FLAVOURS:-openmpi mpich}; do
        test -x "$build/bench-$flavour/mpi_reduce" || continue
        ranks=${RANKS:-4}
        test "$flavour" = mpich && test "$(nproc)" -lt 4 && ranks=${RANKS:-2}
        for call in ${CALLS:-reduce allreduce}; do
            for arrivals in ${ARRIVALS:-one random}; do
                for bytes in ${SIZES:-65536}; do
                    for cost in ${COSTS:-0 4}; do
                        for n in $ranks; do
                            measure "$flavour" "$n" "$call" "$arrivals" "$bytes" "$cost" ||
                                echo "launch $launch_number: $flavour $n $call $arrivals $bytes $cost failed" >&2
                        done
                    done
                done
            done
        done
    done
done
test -s "$rows" || exit 1

awk -F, '
{
    key = $1 "," $10 "," $11 "," $2 "," $3 "," $5 "," $4
    if (!(key in seen)) { order[++n] = key; seen[key] = 1 }
    name = $6 == "tree-dyn" || $6 == "ordered-tree-dyn" ? "dynamic" : $6
    time[key, name] += $8
    product[key, name] += log($9)
    count[key, name]++
}
function show(key, name) {
    return count[key, name] ? sprintf("%7.2f", exp(product[key, name] / count[key, name])) : "      -"
}
function note(what, key) {
    sum[what] += product[key, "auto"] / count[key, "auto"]
    rows[what]++
}
END {
    printf "%-8s %-9s %-8s %5s %8s %4s %4s %9s %7s %7s %7s %7s %7s %7s\n", "MPI", "call", "arrivals",
        "ranks", "bytes", "cost", "skew", "MPI, us", "again", "adapt", "han", "dynamic", "greedy", "auto"
    for (i = 1; i <= n; i++) {
        key = order[i]
        split(key, part, ",")
        printf "%-8s %-9s %-8s %5d %8d %4d %4d %9.1f", part[1], part[2], part[3], part[4], part[5],
            part[6], part[7], time[key, "mpi"] / count[key, "mpi"] * 1e6
        print " " show(key, "again") " " show(key, "adapt") " " show(key, "han") " " \
            show(key, "dynamic") " " show(key, "greedy") " " show(key, "auto")
        if (part[7] == 0) note("balanced, " part[2], key)
        if (part[7] >= 4 && part[5] >= 65536) note("skew 4 and 16, from 64 KiB, " part[2], key)
    }
    print "\nauto, geometric mean:"
    for (what in rows)
        printf "  %-40s %.2f (%d rows)\n", what, exp(sum[what] / rows[what]), rows[what]
}' "$rows"
