#!/bin/bash
# bench_mpi_run.sh -- cleave run --mpi beside workers of the same process.
# SPDX-License-Identifier: MIT
#
# usage: bench/bench_mpi_run.sh [MEGABYTES [BUILD [RANKS]]]     1000 MB, build, 5 ranks
#        BENCH_ROWS="wc md5sum reduced gzip tr"                  only some of them
#
# The same command over the same file in the page cache: by as many local workers as there
# are ranks but one, and by the ranks of each MPI that is here, one after the other in
# turns, all with their start. The best of the repeats of each counts, and the ratio to the
# local one; the bar is 1.2. Beside it, what cleave itself says that the work took, without
# the start of mpirun, and the seconds of processor time: where other programs run, too,
# those say more. Before that, what mpirun takes to start as many processes that do nothing,
# and cleave without any input: of the latter, no less would do for any program that uses
# MPI.
set -u
export LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
megabytes=${1:-1000}
cleave=${2:-build}/cleave
ranks=${3:-5}
repeats=${BENCH_REPEATS:-5}
rows=" ${BENCH_ROWS:-start wc md5sum reduced gzip tr} "

[ -x "$cleave" ] || { echo "bench_mpi_run: $cleave is not there: make" >&2; exit 2; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/cleave-bench.XXXXXX") || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
seq 1000000 9999999 | head -c 1000000 >"$folder/part"
for ((i = 0; i < megabytes; i++)); do
    cat "$folder/part"
done >"$folder/text"
: >"$folder/empty"

engines=local
for flavour in openmpi mpich; do
    if command -v "mpirun.$flavour" >/dev/null &&
        [ -e "$(dirname "$cleave")/lib/$flavour/libcleave-mpi.so" ]; then
        engines="$engines $flavour"
    fi
done

input=text

# alone ENGINE -- seconds of its mpirun with processes that do nothing.
alone() {
    TIMEFORMAT='%R 0 %U %S'
    { time "mpirun.$1" -n "$ranks" true; } 2>&1 |
        awk '{ printf "%.3f 0 %.3f\n", $1, $3 + $4 }'
}

# once ENGINE OPTION... -- seconds in all, those that cleave says, and of the processors.
once() {
    local engine=$1 run
    shift
    run=("$cleave" run -j $((ranks - 1)))
    [ "$engine" = local ] || run=("mpirun.$engine" -n "$ranks" "$cleave" run --mpi)
    rm -f "$folder/out" # else the time to empty it counts, which the file system takes
    TIMEFORMAT='%R %U %S'
    { time "${run[@]}" --json -i "$folder/$input" -o "$folder/out" "$@" >"$folder/json" \
        2>"$folder/err"; } 2>"$folder/time" ||
        { echo "bench_mpi_run: $engine failed: $(cat "$folder/err")" >&2; exit 1; }
    awk '/"makespan_s":/ { gsub(/[^0-9.e+-]/, "", $2); own = $2 }
        NF == 3 && FILENAME ~ /time$/ { all = $1; busy = $2 + $3 }
        END { printf "%.3f %.3f %.3f\n", all, own, busy }' "$folder/json" "$folder/time"
}

# compare NAME OPTION... -- all engines in turns; a row for each.
compare() {
    local name=$1 engine
    shift
    rm -f "$folder"/times.*
    for ((r = 0; r <= repeats; r++)); do
        for engine in $engines; do
            once "$engine" "$@" >>"$folder/times.$engine"
            [ "$engine" = local ] && sha1sum <"$folder/out" >"$folder/local.sum"
            # wc and the like say something for each chunk: their sum must be the same.
            if [[ $name == *reduced* || $name == tr* ]]; then
                sha1sum <"$folder/out" | cmp -s - "$folder/local.sum" ||
                    { echo "bench_mpi_run: $engine: another output" >&2; exit 1; }
            fi
        done
    done
    for engine in $engines; do
        # The first repeat is for the caches.
        sed 1d "$folder/times.$engine" | awk -v name="$name" -v engine="$engine" \
            -v file="$folder/best" '
            NR == 1 || $1 < all { all = $1 }
            NR == 1 || $2 < own { own = $2 }
            NR == 1 || $3 < busy { busy = $3 }
            END {
                if (engine == "local") { print all, own, busy >file; close(file) }
                getline line <file; split(line, best)
                printf "%s,%s,%.3f,%.2f,%.3f,%.2f,%.3f,%.2f\n", name, engine, all,
                    all / best[1], own, (best[2] > 0 ? own / best[2] : 0), busy, busy / best[3]
            }'
    done
}

# start -- a row for each mpirun alone, and for runs without work.
start() {
    local engine
    for engine in ${engines#local}; do
        for ((r = 0; r <= repeats; r++)); do
            alone "$engine"
        done | sed 1d | sort -n | awk -v engine="$engine" 'NR == 1 {
            printf "mpirun alone,%s,%.3f,,,,%.3f,\n", engine, $1, $3 }'
    done
    input=empty
    compare "no input" -- wc -l
    input=text
}

# wanted NAME -- whether it was asked for.
wanted() {
    [[ $rows == *" $1 "* ]]
}

echo "command,engine,seconds,ratio,work_seconds,work_ratio,cpu_seconds,cpu_ratio"
wanted start && start
wanted wc && compare "wc -l" -- wc -l
wanted md5sum && compare "md5sum" -- md5sum
wanted reduced && compare "wc -l reduced" \
    --reduce "awk '{ n += \$1 } END { printf \"%.0f\\n\", n }'" -- wc -l
wanted gzip && compare "gzip -1" -- gzip -1
wanted tr && compare "tr (all bytes come back)" -- tr 0-4 A-E
exit 0
