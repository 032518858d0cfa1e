#!/bin/bash
# try.sh -- share numbers out over cores and a GPU, and say how near to all busy that ends.
# SPDX-License-Identifier: MIT
#
#     CPUS=15 GPUS=1 RECORDS=20000000 ROUNDS=200000 examples/gpu/try.sh
#
# CLEAVE is the program (default: build/cleave of this source, else that of PATH). KEEP names a
# folder for the summaries and for a page of what every worker did when.
# Needs nvcc for the GPU (NVCC names another one; NVCC= is none). Without it the worker called gpu0 computes on a core as all others do:
# the script still runs, and says so. (What nvcc makes could also be loaded by the driver's own
# interface, libcuda; this small example does not.)
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
CPUS=${CPUS:-15} GPUS=${GPUS:-1} RECORDS=${RECORDS:-20000000} ROUNDS=${ROUNDS:-200000}
cleave=${CLEAVE:-$here/../../build/cleave}
[ -x "$cleave" ] || cleave=$(command -v cleave)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

nvcc=${NVCC-nvcc}
if command -v "$nvcc" >/dev/null; then
    "$nvcc" -O3 "-arch=${ARCH:-native}" -x cu -o "$folder/either" "$here/either.c"
else
    echo "no nvcc here: the worker gpu0 computes on a core"
    "${CC:-cc}" -O2 -o "$folder/either" "$here/either.c"
fi
seq "$RECORDS" >"$folder/numbers"

# field NAME FILE -- the value of a field of a summary.
field() {
    sed -n "s/^ *\"$1\": \([^,]*\),*\$/\1/p" "$2" | head -n 1
}

# share NAME WORD... -- run it, and print one line of what came of it.
share() {
    local name=$1 json=$folder/$1.json
    shift
    "$cleave" run -i "$folder/numbers" -o "$folder/$name.out" --json \
        --trace "$folder/$name.trace" "$@" >"$json"
    awk -v name="$name" -v took="$(field makespan_s "$json")" \
        -v bound="$(field bound_s "$json")" -v chunks="$(field chunks "$json")" 'BEGIN {
        printf "%-10s %8.3f s, all busy %8.3f s, %5.1f %% over, %d chunks\n",
               name, took, bound, 100 * (took / bound - 1), chunks }'
}

workers="gpu[0-$((GPUS - 1))]:env CUDA_VISIBLE_DEVICES={i},cpu*$CPUS:env CUDA_VISIBLE_DEVICES="
echo "$RECORDS records of $ROUNDS rounds, $GPUS with a GPU and $CPUS cores"
share persistent -j "$workers" --persistent -- "$folder/either" "$ROUNDS" stay
share per-chunk -j "$workers" -- "$folder/either" "$ROUNDS"
cmp "$folder/persistent.out" "$folder/per-chunk.out"
# What a core makes of the first numbers is what is there.
head -n 1000 "$folder/numbers" | CUDA_VISIBLE_DEVICES= "$folder/either" "$ROUNDS" |
    cmp - <(head -n 1000 "$folder/persistent.out")
if [ -n "${KEEP:-}" ]; then
    cp "$folder"/*.json "$KEEP"
    for name in persistent per-chunk; do
        "$cleave" report "$folder/$name.trace" -o "$KEEP/$name.html"
    done
fi
