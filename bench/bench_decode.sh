#!/bin/bash
# bench_decode.sh -- compressed inputs counted by lines, against the tool of each form.
# SPDX-License-Identifier: MIT
#
# usage: bench/bench_decode.sh [MEGABYTES [WORKERS [BUILD]]]     200 MB of text, 2 workers, build
#
# `TOOL -dc | wc -l`, `cleave run -j WORKERS -- wc -l` and, where an input can be cut in two, two such pipes of the tool
# at once on its halves, in turn, seven times; the least of each counts, in seconds and in seconds of processors, which
# a machine that does other things changes little. A pipe of the tool keeps more than one core busy, as `wc` counts
# while it decodes: two on halves say what two cores can give. What is not installed is
# left out. CSV: what, tool, seconds, seconds of processors, times as fast as the tool.
megabytes=${1:-200}
workers=${2:-2}
TIMEFORMAT='%R %U %S'

. "$(dirname "$0")/bench_head.sh" "${3:-build}"

seq 100000000 | awk '{ print $1, $1 * 7919 % 1000003, "GET /index.html" }' |
    head -c "${megabytes}000000" >text

# Run each of these commands in turn, seven times: a line for each with the least wall time, and processor time.
least() {
    for _ in 1 2 3 4 5 6 7; do
        for way in "$@"; do
            { time $way >/dev/null 2>&1; } 2>&1 | sed "s/^/${way%% *} /"
        done
    done | awk '!($1 in wall) { order[++ways] = $1 }
                !($1 in wall) || $2 < wall[$1] { wall[$1] = $2 }
                !($1 in busy) || $3 + $4 < busy[$1] { busy[$1] = $3 + $4 }
                END { for (i = 1; i <= ways; i++)
                          printf "%s %.3f %.3f\n", order[i], wall[order[i]], busy[order[i]] }'
}

# row WHAT TOOL ARGUMENT [HALF HALF]: the tool, then cleave, by functions of these names, then two of the tool.
row() {
    local ways=("$2 $3" "by_$1 $3")
    [ $# -lt 5 ] || ways+=("two $2 $4 $5")
    least "${ways[@]}" | awk -v what="$3" -v tool="${2#with_}" '
        NR == 1 { first = $2 }
        { name = $1 == "two" ? "two of " tool : $1 ~ /^by_/ ? "cleave" : tool
          printf "%s,%s,%s,%s,%.2f\n", what, name, $2, $3, first / $2 }'
}

# Two at once.
two() {
    "$1" "$2" &
    "$1" "$3" &
    wait
}

with_bgzip() { bgzip -dc "$1" | wc -l; }
with_zstd() { zstd -dcq "$1" | wc -l; }
with_xz() { xz -dc "$1" | wc -l; }
with_lz4() { lz4 -dcq "$1" | wc -l; }
with_bzip2() { bzip2 -dc "$1" | wc -l; }
with_gzip() { gzip -dc "$1" | wc -l; }
with_igzip() { igzip -dc "$1" | "$cleave" run -q -j "$workers" -i - -- wc -l; }
by_count() { "$cleave" run -q -j "$workers" -i "$1" -- wc -l; }
has() { command -v "$1" >/dev/null; }

echo 'what,tool,seconds,processor seconds,times'
split -n l/2 text half-
# pack NAME COMMAND...: the text and its halves, packed.
pack() {
    local name=$1
    shift
    "$@" <text >"$name" && "$@" <half-aa >"1-$name" && "$@" <half-ab >"2-$name"
}
frames() { "$cleave" split -q -i - --size 4M -o 'frames/f-{}.zst' && cat frames/*.zst && rm -r frames; }
unsized() { split -b 4M --filter 'zstd -cq' -; }

pack frames.zst frames
has bgzip && pack blocks.bgz bgzip -c && row count with_bgzip blocks.bgz 1-blocks.bgz 2-blocks.bgz
has zstd && row count with_zstd frames.zst 1-frames.zst 2-frames.zst
has zstd && pack unsized.zst unsized && row count with_zstd unsized.zst 1-unsized.zst 2-unsized.zst
has xz && pack blocks.xz xz -T2 -1 --block-size=8MiB -c && row count with_xz blocks.xz 1-blocks.xz 2-blocks.xz
has bzip2 && pack blocks.bz2 bzip2 -c && row count with_bzip2 blocks.bz2 1-blocks.bz2 2-blocks.bz2
has lz4 && "$cleave" split -q -i text -n 1 -o 'l-{}.lz4' && row count with_lz4 l-001.lz4
has gzip && gzip -1 -c text >one.gz && row count with_gzip one.gz
# One decoder in front of a run, and the run's own: by several threads from three cores on, two by taskset -c 0,1.
has gzip && has igzip && row count with_igzip one.gz && gzip -6 -c text >six.gz && row count with_igzip six.gz
exit 0
