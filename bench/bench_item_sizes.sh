#!/bin/bash
# bench_item_sizes.sh -- files of very different sizes on workers 4:1, against what nobody can
# beat. SPDX-License-Identifier: MIT
#
# usage: bench/bench_item_sizes.sh [FILES [SECONDS [BUILD]]]     2000 files, about 60 s, build
#
# Sizes follow a Pareto law (shape 1.2, the same draws each time); two workers are four times as fast as the
# other two. Commands sleep as long as their file takes on their worker (bench_sleep), so that processors
# do not matter. First simulated, then really done by cleave run (told the sizes, and not), by xargs -P and by GNU
# parallel, whose slots 3 and 4 are the slow ones; BENCH_REPEATS times in turns, of which the least counts. What
# starting a command takes is measured before and part of the bound, which is that of cleave plan items. A row: how, tool,
# seconds, times the bound. A machine that does much else delays starts and the ends of sleeps: then more SECONDS help.
# shellcheck disable=SC2317 # functions are called through least()
set -u
export LC_ALL=C
files=${1:-2000}
seconds=${2:-60}
build=$(cd "${3:-build}" && pwd)
cleave=$build/cleave

sleeper=$build/bench_sleep
rounds=${BENCH_REPEATS:-1}

for need in "$cleave" "$sleeper"; do
    [ -x "$need" ] || { echo "bench_item_sizes: $need is not there: make benches" >&2; exit 2; }
done
folder=$(mktemp -d "${TMPDIR:-/tmp}/cleave-bench.XXXXXX") || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder" || exit 2

# Seconds of a fast worker: name, time there, time on a slow one.
awk -v n="$files" -v seconds="$seconds" 'BEGIN {
    x = 20260101
    for (i = 0; i < n; i++) {
        x = (x * 16807) % 2147483647
        s[i] = (1 - x / 2147483647) ^ (-1 / 1.2)
        sum += s[i]
    }
    for (i = 0; i < n; i++) { t = s[i] / sum * seconds * 2.5; printf "f%d %.4f %.4f\n", i, t, 4 * t }
}' >list
cut -d ' ' -f 1,2 list | tr ' ' '\t' >sizes
now() {
    date +%s.%N
}
since() { # BEGIN: seconds from then on
    awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.3f", b - a }'
}

# The least of several: this machine may do other things.
start=$(for _ in $(seq 10); do
    began=$(now)
    for _ in $(seq 20); do "$sleeper" x 0 0; done
    since "$began"
    echo
done | awk 'NR == 1 || $1 < least { least = $1 } END { printf "%.5f", least / 20 }')
for kind in 'fast 1' 'slow 0.25'; do
    read -r name speed <<<"$kind"
    echo "  - {name: $name, count: 2, speed: $speed, compute_latency: $start, bandwidth: 1G, latency: 0}"
done | { echo 'port: multi'; echo 'workers:'; cat; } >platform.yaml
bound=$("$cleave" plan items --sizes sizes -p platform.yaml --json |
    sed -n 's/.*"bound": {"name": "[a-z]*", "value": \([0-9.]*\)}.*/\1/p')

row() { # HOW TOOL SECONDS [BAR]
    awk -v how="$1" -v tool="$2" -v t="$3" -v b="$bound" -v bar="${4:-0}" 'BEGIN {
        printf "%-10s %-40s %9.3f s %7.4f%s\n", how, tool, t, t / b,
            (bar > 0 ? sprintf("   <= %s %s", bar, (t / b <= bar ? "met" : "MISSED")) : "") }'
}
echo "$files files, load before: $(cut -d' ' -f1 /proc/loadavg)"
row bound "" "$bound"
for policy in items items-list; do
    row simulated $policy "$("$cleave" plan items --sizes sizes -p platform.yaml --policy $policy --json |
        sed -n 's/^  "makespan": \([0-9.]*\),/\1/p')"
done
for param in 1 0; do
    row simulated "items trust=$param sizes off by half" "$("$cleave" simulate items --sizes sizes -p platform.yaml \
        --noise gamma:0.5 --runs 20 --param trust=$param --json | sed -n 's/^    "mean": \([0-9.]*\),/\1/p')"
done


# least NAME COMMAND... -- the seconds it takes are kept in least[NAME], if there are none that are less.
declare -A least
least() {
    local name=$1 began took
    shift
    began=$(now)
    "$@" || exit 1
    took=$(since "$began")
    least[$name]=$(awk -v a="${least[$name]:-1e9}" -v b="$took" 'BEGIN { print b + 0 < a + 0 ? b : a }')
}
by_xargs() {
    xargs -P 4 -L 1 --process-slot-var=SLOT "$sleeper" <list
}
by_parallel() {
    parallel --will-cite -j 4 -C ' ' "$sleeper" '{1}' '{2}' '{3}' <list
}
for ((i = 0; i < rounds; i++)); do
    least weight "$cleave" run -q -j f1,f2,s1,s2 -C ' ' --weight 2 -a list -- "$sleeper" '{1}' '{2}' '{3}'
    least order "$cleave" run -q -j f1,f2,s1,s2 -C ' ' -a list -- "$sleeper" '{1}' '{2}' '{3}'
    least xargs by_xargs
    command -v parallel >/dev/null && least parallel by_parallel
done
row real "cleave run --weight" "${least[weight]}" 1.03
row real "cleave run, in the order of the list" "${least[order]}"
row real "xargs -P" "${least[xargs]}"
[ -n "${least[parallel]:-}" ] && row real "GNU parallel" "${least[parallel]}"
exit 0
