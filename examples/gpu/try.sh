#!/bin/bash
# try.sh -- share numbers out over cores and a GPU, and say how near to all busy that ends.
# SPDX-License-Identifier: MIT
#
#     CPUS=15 GPUS=1 RECORDS=20000000 ROUNDS=200000 REPEATS=3 examples/gpu/try.sh
#
# CLEAVE is the program (default: build/cleave of this source, else that of PATH). KEEP names a
# folder for the summaries and for a page of what every worker did when; CSV=1 prints a table.
# Needs a GPU and nvcc (NVCC names another one; NVCC= is none), and ARCH for one that `native` does
# not find. (What nvcc makes could also be loaded by the driver's own interface, libcuda; this small
# example does not.)
# Without them a core stands in for the GPU, asleep: FASTER (330) times as fast as the others, which do PACE (1000) numbers
# a second each, and with a start of START (0.3) seconds. Then RECORDS is 4000000 and ROUNDS 1.
#
# "All busy" is the time at which all would have ended, had everyone worked from beginning to end as
# fast as it did while it had something to do; a start is work. Each way is run REPEATS times, and of
# the percentages the one in the middle is printed, which should be 3 at most with a command that stays and 7 with
# one for each chunk.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
CPUS=${CPUS:-15} GPUS=${GPUS:-1} REPEATS=${REPEATS:-3}
FASTER=${FASTER:-330} PACE=${PACE:-1000} START=${START:-0.3}
cleave=${CLEAVE:-$here/../../build/cleave}
[ -x "$cleave" ] || cleave=$(command -v cleave)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

nvcc=${NVCC-nvcc}
if command -v "$nvcc" >/dev/null && { [ -e /dev/nvidia0 ] || nvidia-smi -L >/dev/null 2>&1; }; then
    RECORDS=${RECORDS:-20000000} ROUNDS=${ROUNDS:-200000}
    gpu='CUDA_VISIBLE_DEVICES={i}' core='CUDA_VISIBLE_DEVICES=' what="a GPU"
    "$nvcc" -O3 "-arch=${ARCH:-native}" -x cu -o "$folder/either" "$here/either.c"
else
    RECORDS=${RECORDS:-4000000} ROUNDS=${ROUNDS:-1}
    gpu="CUDA_VISIBLE_DEVICES={i} EITHER_PACE=$((FASTER * PACE)) EITHER_START=$START"
    core="CUDA_VISIBLE_DEVICES= EITHER_PACE=$PACE"
    what="what stands in for a GPU"
    echo "no GPU or no nvcc here: gpu0 is a core that sleeps less than the others" >&2
    "${CC:-cc}" -O2 -o "$folder/either" "$here/either.c"
fi
workers="gpu[0-$((GPUS - 1))]:env $gpu,cpu*$CPUS:env $core"
seq "$RECORDS" >"$folder/numbers"

# field NAME FILE -- the value of a field of a summary.
field() {
    sed -n "s/^ *\"$1\": \([^,]*\),*\$/\1/p" "$2" | head -n 1
}

# faster FILE -- how many times as fast a worker gpu was as a worker cpu in a summary, starts included.
faster() {
    sed -n 's/^ *{"name": "\(...\).*"units": \([^,]*\),.*"busy_s": \([^,]*\),.*/\1 \2 \3/p' "$1" |
        awk '{ units[$1] += $2; busy[$1] += $3 }
            END {
                if (units["cpu"] > 0 && busy["gpu"] > 0)
                    times = units["gpu"] / busy["gpu"] * busy["cpu"] / units["cpu"]
                print times + 0
            }'
}

# share NAME WANTED WORD... -- run it some times, and print one line of what came of it.
share() {
    local name=$1 wanted=$2 json=$folder/$1.json
    shift 2
    for _ in $(seq "$REPEATS"); do
        "$cleave" run -i "$folder/numbers" -o "$folder/$name.out" --json \
            --trace "$folder/$name.trace" -j "$workers" "$@" >"$json"
        awk -v took="$(field makespan_s "$json")" -v bound="$(field bound_s "$json")" \
            -v chunks="$(field chunks "$json")" -v times="$(faster "$json")" \
            'BEGIN { print 100 * (took / bound - 1), took, bound, chunks, times }'
    done | sort -g | sed -n "$(((REPEATS + 1) / 2))p" >"$folder/middle"
    awk -v name="$name" -v wanted="$wanted" -v csv="${CSV:-}" '{
        if (csv != "")
            printf "%s,%.3f,%.3f,%.1f,%d,%d,at most %d\n", name, $2, $3, $1, $4, $5, wanted
        else
            printf "%-10s %8.3f s, all busy %8.3f s, %5.1f %% over, wanted %d; %d chunks, gpu0 %d times as fast as a core\n",
                   name, $2, $3, $1, wanted, $4, $5 }' "$folder/middle"
}

if [ -n "${CSV:-}" ]; then
    echo "what,seconds,all_busy_s,over_percent,chunks,times_as_fast,wanted"
else
    echo "$RECORDS records of $ROUNDS rounds, $GPUS with $what and $CPUS cores"
fi
share persistent 3 --persistent -- "$folder/either" "$ROUNDS" stay
share per-chunk 7 -- "$folder/either" "$ROUNDS"
cmp "$folder/persistent.out" "$folder/per-chunk.out"
# What a core makes of the first numbers is what is there.
head -n 1000 "$folder/numbers" | CUDA_VISIBLE_DEVICES='' "$folder/either" "$ROUNDS" |
    cmp - <(head -n 1000 "$folder/persistent.out")
if [ -n "${KEEP:-}" ]; then
    cp "$folder"/*.json "$KEEP"
    for name in persistent per-chunk; do
        "$cleave" report "$folder/$name.trace" -o "$KEEP/$name.html"
    done
fi
