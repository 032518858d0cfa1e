#!/bin/sh
# bench_smpi.sh -- the reductions of libcleave-mpi on simulated platforms, beside every reduce
# algorithm that SMPI offers. SPDX-License-Identifier: MIT
#
# usage: bench_smpi.sh [BUILD]. Set NETS ("star fat-tree dragonfly"), RANKS ("64 256"; 1024 too), SIZES,
# SKEWS, FLOPS (0.5 per byte), ROUNDS (3, or 1 where a simulation takes long), THEIRS and OURS
# (algorithms) and LIMIT, the seconds that one simulation may take (60), to change what is simulated;
# DETAILS=1 prints the time of every algorithm as well.
#
# On the star links are unequal by a factor of ten, machines by a factor of eight; on the others all
# are equal, 1.25 GB/s and 1 us each. Times are simulated, from the last arrival to the result; skew is
# how late ranks come at most, in times that the best of SMPI's algorithms takes when all come
# together. Each row has the best algorithm of SMPI, its time, and how many times as fast ours are:
# above 1 is faster than the best of all of them. Of tree-replan and auto, which learn, LEARNING (10)
# times as many calls are counted, from the first one on. Where ours leave a call to MPI_Reduce, that is
# the algorithm that was best when all come together. Each simulation is a process of its own.
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
ours=${OURS:-"tree-replan tree-dyn ordered-tree-dyn greedy binomial fibonacci"}

smpicc -std=gnu11 -O2 -D_GNU_SOURCE -I"$source/include" -I"$source/src" "$source"/src/mpi/memory/*.c "$source"/src/mpi/plan/*.c \
    "$source"/src/mpi/reduce/*.c \
    "$source/bench/smpi_reduce.c" "$build/lib/libcleave.a" -lm -lpthread -o "$work/reduce" || exit 1

# star RANKS -- machines around a switch, the same ones each time.
star()
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
    }'
}

# cluster RANKS TOPOLOGY PARAMETERS
cluster()
{
    cat <<END
<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<cluster id="all" prefix="h" suffix="" radical="0-$(($1 - 1))" speed="4Gf" bw="1.25GBps" lat="1us"
    topology="$2" topo_parameters="$3"/>
</platform>
END
}

# platform NET RANKS -- into $work/platform.xml.
platform()
{
    case $1,$2 in
    star,*) star "$2" ;;
    fat-tree,64) cluster "$2" FAT_TREE '2;8,8;1,4;1,2' ;;
    fat-tree,256) cluster "$2" FAT_TREE '2;16,16;1,8;1,2' ;;
    fat-tree,1024) cluster "$2" FAT_TREE '2;32,32;1,16;1,2' ;;
    dragonfly,64) cluster "$2" DRAGONFLY '4,2;2,2;4,1;2' ;;
    dragonfly,256) cluster "$2" DRAGONFLY '4,4;4,4;4,2;4' ;;
    dragonfly,1024) cluster "$2" DRAGONFLY '8,4;4,4;8,2;4' ;;
    *)
        echo "bench_smpi.sh: expected star, or fat-tree or dragonfly with 64, 256 or 1024 ranks," \
            "got $1 with $2" >&2
        exit 2
        ;;
    esac >"$work/platform.xml"
    awk -v n="$2" 'BEGIN { for (i = 0; i < n; i++) print "h" i }' >"$work/hosts"
}

# simulate RANKS ALGORITHM BYTES SKEW_S POLICY -- the time, "late" or "-" if it fails. A window is
# made with an MPI_Allgather; SMPI's default for it takes minutes to simulate for 256 ranks. An MPI_Test
# takes 0.1 us for each request, not 0.1 ms and more each time.
simulate()
{
    calls=$rounds
    case $5 in tree-replan | auto) calls=$((rounds * ${LEARNING:-10})) ;; esac
    time=$(timeout "$limit" smpirun -np "$1" -platform "$work/platform.xml" \
        -hostfile "$work/hosts" --cfg=smpi/simulate-computation:no --cfg=smpi/reduce:"$2" \
        --cfg=smpi/allgather:bruck --cfg=smpi/test:1e-7 --cfg=smpi/grow-injected-times:no \
        --log=root.thres:critical "$work/reduce" "$calls" "$3" "$4" "$5" "$flops" 2>/dev/null)
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
    awk -v net="$1" -v ranks="$2" -v bytes="$3" -v skew="$4" -v details="${DETAILS:-}" -v limit="$limit" '
        $1 == "smpi" && $3 + 0 == 0 { lost = lost " " $2 ($3 == "late" ? " (over " limit " s)" : " (fails)") }
        $1 == "smpi" && $3 + 0 > 0 && (!best || $3 < best) { best = $3; which = $2 }
        $1 == "cleave" { name[++n] = $2; time[n] = $3 }
        { all[NR] = $0 }
        END {
            printf "%-9s %5d %8d %4d  %-22s %10.3f", net, ranks, bytes, skew, which, best * 1e3
            for (i = 1; i <= n; i++)
                if (time[i] + 0 > 0) printf " %16.2f", best / time[i]
                else printf " %16s", time[i] == "late" ? "over " limit " s" : "fails"
            print ""
            for (i = 1; details && i <= NR; i++) {
                split(all[i], f, " ")
                printf("      %-6s %-22s %s\n", f[1], f[2],
                    f[3] + 0 > 0 ? sprintf("%10.3f ms", f[3] * 1e3) : f[3])
            }
            if (lost) print "      not among them:" lost
        }' "$work/rows"
}

# one_net NET RANKS BYTES -- a row for every skew.
one_net()
{
    rounds=${ROUNDS:-3}
    test -z "$ROUNDS" && test $(($2 * $3)) -gt 100000000 && rounds=1
    best= own=default
    for skew in ${SKEWS:-0 4 16}; do
        late=$(awk -v s="$skew" -v b="${best:-0}" 'BEGIN { print s * b }')
        for name in $theirs; do
            echo "smpi $name $(simulate "$2" "$name" "$3" "$late" mpi)"
        done >"$work/rows"
        if [ -z "$best" ]; then
            read -r best own <<END
$(awk '$3 + 0 > 0 && (!b || $3 < b) { b = $3; w = $2 } END { print b, w }' "$work/rows")
END
        fi
        for name in $ours; do
            echo "cleave $name $(simulate "$2" "$own" "$3" "$late" "$name")"
        done >>"$work/rows"
        row "$1" "$2" "$3" "$skew"
    done
}

printf '%-9s %5s %8s %4s  %-22s %10s' net ranks bytes skew "best of SMPI" ms
for name in $ours; do printf ' %16s' "$name"; done
echo
for net in ${NETS:-star fat-tree dragonfly}; do
    for ranks in ${RANKS:-64 256}; do
        platform "$net" "$ranks"
        for bytes in $sizes; do
            one_net "$net" "$ranks" "$bytes"
        done
    done
done
