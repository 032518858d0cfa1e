#!/bin/bash
# bench_split.sh -- how fast records are found, by each splitter, and pieces written as files.
# SPDX-License-Identifier: MIT
#
# usage: bench/bench_split.sh [MEGABYTES [BUILD]]     200 MB of each kind, build
#
# `cleave split --records 100000 --index` goes through all records of a file by one thread and writes next to nothing;
# the least processor time of five runs counts, which a machine that does other things changes little. Then pieces of
# a log by `cleave split` and `split -n l/40`, of FASTQ by `cleave split` and `seqkit split2`, in turn, files removed
# in between, by the clock. What is not installed is left out. CSV: what, how, bytes, seconds, GB/s.
megabytes=${1:-200}
TIMEFORMAT='%R %U %S'

. "$(dirname "$0")/bench_head.sh" "${2:-build}"

# fill FILE FORMAT: records of the format, with two numbers in the place of %d, as many as so many megabytes hold.
fill() {
    seq 100000000 | awk -v format="$2" -v most="${megabytes}000000" '
        { record = sprintf(format, $1, $1 * 7919 % 1000003); bytes += length(record); if (bytes > most) exit }
        { printf "%s", record }' >"$1"
}

# row WHAT HOW FILE SECONDS...
row() {
    local what=$1 how=$2 bytes
    bytes=$(stat -c %s "$3")
    awk -v what="$what" -v how="$how" -v bytes="$bytes" '
        NR == 1 || $1 < least { least = $1 }
        END { printf "%s,%s,%d,%.3f,%.2f\n", what, how, bytes, least, (least > 0 ? bytes / 1e9 / least : 0) }'
}

# find_records FILE HOW...: seconds of processors.
find_records() {
    local file=$1
    shift
    "$cleave" split -q -i "$file" "$@" --index --force || return
    for _ in 1 2 3 4 5; do
        { time "$cleave" split -q -i "$file" "$@" --index --force >/dev/null 2>&1; } 2>&1 | awk '{ print $2 + $3 }'
    done | row "$file" "$*" "$file"
    rm -f ./*.cleave-index
}

# in_turn FILE WAY...: functions of these names, by the clock.
in_turn() {
    local file=$1
    shift
    for _ in 1 2 3 4 5 6 7; do
        for way in "$@"; do
            rm -rf parts && mkdir parts
            { time "$way" "$file" >/dev/null 2>&1; } 2>&1 | sed "s/ .*//" >>"$way.seconds"
        done
    done
    for way in "$@"; do row "$file" "$way" "$file" <"$way.seconds"; done
}
pieces_of_lines() { "$cleave" split -q -i "$1" -n 40 -o 'parts/x-{}'; }
split() { command split -n l/40 "$1" parts/x; }
pieces_of_fastq() { "$cleave" split -q -i "$1" --split fastq -n 40 -o 'parts/x-{}.fastq'; }
seqkit_split2() { seqkit split2 -j 2 -p 40 -O parts "$1"; }

fill log '%d 10.0.0.1 - - "GET /item/%d HTTP/1.1" 200 512\n'
fill table.csv '%d,"name %d, and more",0.5,"he said ""x"""\n'
bases=ACGTTGCAAGGCTTAGCCATACGTTGCAAGGCTTAGCCATACGTTGCAAGGCTTAGCCAT
fill reads.fastq "@r%d %d\\n$bases\\n+\\n${bases//[ACGT]/F}\\n"
fill values '  { "id": %d, "text": "a \\"quoted\\" word", "at": { "x": %d, "tags": ["a", "b"] } },\n'
{ echo '['; cat values; echo '  {} ]'; } >array.json && rm values

echo 'what,how,bytes,seconds,GB/s'
find_records log --records 100000
find_records log --split 'regex:^[0-9]*7 ' --records 10000
find_records table.csv --split csv --records 100000
find_records table.csv --split csv --together 3
find_records reads.fastq --split fastq --records 100000
find_records array.json --split json --records 100000
in_turn log split pieces_of_lines
command -v seqkit >/dev/null && in_turn reads.fastq seqkit_split2 pieces_of_fastq
exit 0
