#!/bin/bash
# bench_slots.sh -- one master and a thousand slots. SPDX-License-Identifier: MIT
#
# usage: bench/bench_slots.sh [HOSTS [SLOTS [BUILD]]]     64, 16, build
#
# The hosts are workers on this machine, each over a link of its own; their commands stay and do
# next to nothing, so that what is measured is the master: small chunks of one size (--block
# BENCH_BLOCK, 200 bytes), and what `learn` makes of the same input. A line of CSV for each: how
# long connecting took, how many chunks a second there were in all, and the most memory that the
# master had. Masters and hosts share the processors of this machine, so with few of them there
# are more chunks a second than it shows. The output has to be the input in upper case.
hosts=${1:-64}
slots=${2:-16}
. "$(dirname "$0")/bench_head.sh" "${3:-build}"
"${CC:-cc}" -O2 -o upper "$top/examples/persistent.c" || exit 2
seq "${BENCH_LINES:-2000000}" >input
{
    echo "port: multi"
    echo "workers:"
    for ((i = 0; i < hosts; i++)); do
        echo "  - {name: h$i, slots: $slots, speed: 1e6, bandwidth: 1e9}"
    done
} >hosts.yaml

echo "policy,hosts,slots,chunks,connect_s,seconds,chunks_per_s,memory_kb"
for policy in self learn; do
    option=
    [ "$policy" = learn ] || option="--block ${BENCH_BLOCK:-200}"
    # shellcheck disable=SC2086
    "$cleave" run --json -i input -o output --hosts hosts.yaml $option --persistent ./upper \
        >summary &
    pid=$!
    memory=0
    while kill -0 $pid 2>/dev/null; do
        now=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null)
        memory=${now:-$memory}
        sleep 0.05
    done
    wait $pid || { say "$policy failed"; exit 1; }
    cmp -s input output || { say "$policy: the output is wrong"; exit 1; }
    awk -v chunks="$(field chunks)" -v connect="$(field connecting_s)" \
        -v took="$(field makespan_s)" -v memory="$memory" \
        -v head="$policy,$hosts,$slots" 'BEGIN {
        printf "%s,%d,%.3f,%.3f,%.0f,%d\n", head, chunks, connect, took, chunks / took, memory }'
done
