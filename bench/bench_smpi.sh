#!/bin/sh
# bench_smpi.sh -- the reductions of libcleave-mpi on simulated platforms, beside every reduce
# algorithm that SMPI offers. SPDX-License-Identifier: MIT
#
# usage: bench_smpi.sh [BUILD]. Set RANKS ("64 256"), SIZES, SKEWS, FLOPS (0.5 per byte), ROUNDS (3,
# or 1 where a simulation takes long), THEIRS and OURS (algorithms) and LIMIT, the seconds that one
# simulation may take (60), to change what is simulated; DETAILS=1 prints the time of every
# algorithm as well.
#
# Links are unequal by a factor of ten, machines by a factor of eight. Times are simulated, from
# the last arrival to the result; skew is how late ranks come at most, in times that the best of
# SMPI's algorithms takes when all come together. Each row has the best algorithm of SMPI, its
# time, and how many times as fast ours are: above 1 is faster than the best of all of them. Each
# simulation is a process of its own.
build=${1:-build}
sizes=${SIZES:-65536 1048576}
flops=${FLOPS:-0.5}
limit=${LIMIT:-60}
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
command -v smpicc >/dev/null || { echo "smpicc (SimGrid) is not here" >&2; exit 77; }

theirs=${THEIRS:-"default arrival_pattern_aware binomial flat_tree NTSL scatter_gather ompi ompi_chain
    ompi_pipeline ompi_basic_linear ompi_in_order_binary ompi_binary ompi_binomial mpich mvapich2
    mvapich2_knomial mvapich2_two_level impi rab automatic"}
ours=${OURS:-"tree-dyn ordered-tree-dyn greedy binomial fibonacci"}

files=
for file in "$source"/src/mpi/reduce/*.c; do
    case $file in
    */preload*) ;;
    *) files="$files $file" ;;
    esac
done
# shellcheck disable=SC2086
smpicc -std=gnu11 -O2 -D_GNU_SOURCE -I"$source/include" -I"$source/src" $files \
    "$source/bench/smpi_reduce.c" "$build/lib/libcleave.a" -lm -lpthread -o "$work/reduce" || exit 1

# platform RANKS -- machines around a switch, the same ones each time.
platform()
{
    awk -v n="$1" 'BEGIN {
        srand(7)
        print "<?xml version=\"1.0\"?>"
        print "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
        print "<platform version=\"4.1\"><zone id=\"all\" routing=\"Floyd\">"
        for (i = 0; i < n; i++)
            printf "<host id=\"h%d\" speed=\"%.3fGf\"/>" \
                "<link id=\"l%d\" bandwidth=\"%.3fMBps\" latency=\"%.1fus\"/>\n",
                i, exp(rand() * log(8)), i, 125 * exp(rand() * log(10)), 5 + 45 * rand()
        print "<router id=\"switch\"/>"
        for (i = 0; i < n; i++)
            printf "<route src=\"h%d\" dst=\"switch\"><link_ctn id=\"l%d\"/></route>\n", i, i
        print "</zone></platform>"
    }' >"$work/platform.xml"
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "h" i }' >"$work/hosts"
}

# simulate RANKS ALGORITHM BYTES SKEW_S POLICY -- the time, "late" or "-" if it fails. A window is
# made with an MPI_Allgather; SMPI's default for it takes minutes to simulate for 256 ranks.
simulate()
{
    time=$(timeout "$limit" smpirun -np "$1" -platform "$work/platform.xml" \
        -hostfile "$work/hosts" --cfg=smpi/simulate-computation:no --cfg=smpi/reduce:"$2" \
        --cfg=smpi/allgather:bruck --log=root.thres:critical \
        "$work/reduce" "$rounds" "$3" "$4" "$5" "$flops" 2>/dev/null)
    status=$?
    time=$(echo "$time" | tail -1)
    case $time,$status in
    [0-9]*.[0-9]*,0) echo "$time" ;;
    *,124) echo late ;;
    *) echo - ;;
    esac
}

# One line of the table from "whose name time"; the time is "late" or "-" if there is none.
row()
{
    awk -v ranks="$1" -v bytes="$2" -v skew="$3" -v details="${DETAILS:-}" -v limit="$limit" '
        $1 == "smpi" && $3 + 0 == 0 { lost = lost " " $2 ($3 == "late" ? " (over " limit " s)" : " (fails)") }
        $1 == "smpi" && $3 + 0 > 0 && (!best || $3 < best) { best = $3; which = $2 }
        $1 == "cleave" { name[++n] = $2; time[n] = $3 }
        { all[NR] = $0 }
        END {
            printf "%5d %8d %4d  %-22s %10.3f", ranks, bytes, skew, which, best * 1e3
            for (i = 1; i <= n; i++)
                if (time[i] + 0 > 0) printf " %16.2f", best / time[i]
                else printf " %16s", time[i] == "late" ? "over " limit " s" : "fails"
            print ""
            for (i = 1; details && i <= NR; i++) {
                split(all[i], f, " ")
                printf "      %-6s %-22s %s\n", f[1], f[2],
                    f[3] + 0 > 0 ? sprintf("%10.3f ms", f[3] * 1e3) : f[3]
            }
            if (lost) print "      not among them:" lost
        }' "$work/rows"
}

printf '%5s %8s %4s  %-22s %10s' ranks bytes skew "best of SMPI" ms
for name in $ours; do printf ' %16s' "$name"; done
echo
for ranks in ${RANKS:-64 256}; do
    platform "$ranks"
    for bytes in $sizes; do
        rounds=${ROUNDS:-3}
        test -z "$ROUNDS" && test $((ranks * bytes)) -gt 100000000 && rounds=1
        best=
        for skew in ${SKEWS:-0 4 16}; do
            late=$(awk -v s="$skew" -v b="${best:-0}" 'BEGIN { print s * b }')
            for name in $theirs; do
                echo "smpi $name $(simulate "$ranks" "$name" "$bytes" "$late" mpi)"
            done >"$work/rows"
            test -n "$best" || best=$(awk '$3 + 0 > 0 && (!b || $3 < b) { b = $3 } END { print b }' \
                "$work/rows")
            for name in $ours; do
                echo "cleave $name $(simulate "$ranks" default "$bytes" "$late" "$name")"
            done >>"$work/rows"
            row "$ranks" "$bytes" "$skew"
        done
    done
done
