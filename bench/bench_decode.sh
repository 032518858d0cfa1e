#!/bin/bash
# bench_decode.sh -- compressed inputs counted by lines, against the tool of each form.
# SPDX-License-Identifier: MIT
#
# usage: bench/bench_decode.sh [MEGABYTES [WORKERS [BUILD]]]     200 MB of text, 2 workers, build
#
# `TOOL -dc | wc -l` and `cleave run -j WORKERS -- wc -l` of the same file, in turn, five times; the
# least of each counts, in seconds and in seconds of processors, which a machine that does other things
# does not change. Then `cleave split` and `split -n l/40`. What is not installed is left out. CSV: what, tool,
# seconds, seconds of processors, times as fast as the tool.
set -u
export LC_ALL=C
megabytes=${1:-200}
workers=${2:-2}
build=$(cd "${3:-build}" && pwd)
cleave=$build/cleave
TIMEFORMAT='%R %U %S'

[ -x "$cleave" ] || { echo "bench_decode: $cleave is not there: make" >&2; exit 2; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/cleave-bench.XXXXXX") || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder" || exit 2

seq 100000000 | awk '{ print $1, $1 * 7919 % 1000003, "GET /index.html" }' |
    head -c "${megabytes}000000" >text

# least COMMAND...: the least wall time, and processor time, of five.
least() {
    for _ in 1 2 3 4 5; do
        { time "$@" >/dev/null 2>&1; } 2>&1
    done | awk 'NR == 1 || $1 < wall { wall = $1 }
                NR == 1 || $2 + $3 < busy { busy = $2 + $3 }
                END { printf "%.3f %.3f", wall, busy }'
}

# row WHAT TOOL ARGUMENT: the tool, then cleave, by functions of these names.
row() {
    local theirs ours
    theirs=$(least "$2" "$3")
    ours=$(least "by_$1" "$3")
    echo "$3,${2#with_},${theirs/ /,},1"
    echo "$3,cleave,${ours/ /,},$(awk -v a="${theirs% *}" -v b="${ours% *}" 'BEGIN { printf "%.2f", a / b }')"
}

with_bgzip() { bgzip -dc "$1" | wc -l; }
with_zstd() { zstd -dcq "$1" | wc -l; }
with_xz() { xz -dc "$1" | wc -l; }
with_lz4() { lz4 -dcq "$1" | wc -l; }
with_gzip() { gzip -dc "$1" | wc -l; }
by_count() { "$cleave" run -q -j "$workers" -i "$1" -- wc -l; }
with_split() { rm -rf parts && mkdir parts && split -n l/40 "$1" parts/x; }
by_split() { rm -rf parts && "$cleave" split -q -i "$1" -n 40 -o 'parts/x-{}'; }

has() { command -v "$1" >/dev/null; }

echo 'what,tool,seconds,processor seconds,times'
"$cleave" split -q -i text --size 4M -o 'frames/f-{}.zst' && cat frames/*.zst >frames.zst
has bgzip && bgzip -c text >blocks.bgz && row count with_bgzip blocks.bgz
has zstd && row count with_zstd frames.zst
has xz && xz -T2 -1 --block-size=8MiB -c text >blocks.xz && row count with_xz blocks.xz
has lz4 && "$cleave" split -q -i text -n 1 -o 'l-{}.lz4' && row count with_lz4 l-001.lz4
has gzip && gzip -1 -c text >one.gz && row count with_gzip one.gz
row split with_split text
exit 0
