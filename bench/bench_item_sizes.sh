#!/bin/bash
# bench_item_sizes.sh -- files of very different sizes on workers 4:1, against what nobody can
# beat. SPDX-License-Identifier: MIT
#
# usage: bench/bench_item_sizes.sh [FILES [SECONDS [BUILD]]]     2000 files, about 30 s, build
#
# Sizes follow a Pareto law (shape 1.2, the same draws each time); two workers are four times as fast as the
# other two. Commands sleep as long as their file takes on their worker, so that processors
# do not matter. First simulated, then really done by cleave run (told the sizes, and not), by xargs -P and by GNU
# parallel, whose slots 3 and 4 are the slow ones. What starting a command takes is measured before and part of
# the bound, which is that of cleave plan items. CSV: how, tool, seconds, times the bound.
set -u
export LC_ALL=C
files=${1:-2000}
seconds=${2:-30}
build=$(cd "${3:-build}" && pwd)
cleave=$build/cleave

[ -x "$cleave" ] || { echo "bench_item_sizes: $cleave is not there: make" >&2; exit 2; }
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
# work NAME SECONDS SECONDS-OF-A-SLOW-ONE, on a worker whose PACE is fast or slow.
printf '#!/bin/sh\nif [ "$PACE" = slow ]; then exec sleep "$3"; fi\nexec sleep "$2"\n' >work
# either SLOT ...: slots 3 and 4 of another tool are slow.
printf '#!/bin/sh\nif [ "$1" -gt 2 ]; then export PACE=slow; fi\nshift\n. ./work\n' >either
chmod +x work either

now() {
    date +%s.%N
}
since() { # BEGIN: seconds from then on
    awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.3f", b - a }'
}

# The least of several: this machine may do other things.
start=$(for _ in $(seq 10); do
    began=$(now)
    for _ in $(seq 20); do ./work x 0 0; done
    since "$began"
    echo
done | awk 'NR == 1 || $1 < least { least = $1 } END { printf "%.5f", least / 20 }')
for kind in 'fast 1' 'slow 0.25'; do
    read -r name speed <<<"$kind"
    echo "  - {name: $name, count: 2, speed: $speed, compute_latency: $start, bandwidth: 1G, latency: 0}"
done | { echo 'port: multi'; echo 'workers:'; cat; } >platform.yaml
bound=$("$cleave" plan items --sizes sizes -p platform.yaml --json |
    sed -n 's/.*"bound": {"name": "[a-z]*", "value": \([0-9.]*\)}.*/\1/p')

row() { # HOW TOOL SECONDS
    echo "$1,$2,$3,$(awk -v t="$3" -v b="$bound" 'BEGIN { printf "%.4f", t / b }')"
}
echo "how,tool,seconds,over"
row bound "" "$bound"
for policy in items items-list; do
    row simulated $policy "$("$cleave" plan items --sizes sizes -p platform.yaml --policy $policy --json |
        sed -n 's/^  "makespan": \([0-9.]*\),/\1/p')"
done
for param in 1 0; do
    row simulated "items trust=$param sizes off by half" "$("$cleave" simulate items --sizes sizes -p platform.yaml \
        --noise gamma:0.5 --runs 20 --param trust=$param --json | sed -n 's/^    "mean": \([0-9.]*\),/\1/p')"
done

crew='f1:env PACE=fast,f2:env PACE=fast,s1:env PACE=slow,s2:env PACE=slow'
began=$(now)
"$cleave" run -q -j "$crew" -C ' ' --weight 2 -a list -- ./work {1} {2} {3} || exit 1
row real "cleave run --weight" "$(since "$began")"
began=$(now)
"$cleave" run -q -j "$crew" -C ' ' -a list -- ./work {1} {2} {3} || exit 1
row real "cleave run" "$(since "$began")"
began=$(now)
xargs -P 4 -L 1 --process-slot-var=SLOT sh -c 'exec ./either $((SLOT + 1)) "$@"' sh <list || exit 1
row real "xargs -P" "$(since "$began")"
if command -v parallel >/dev/null; then
    began=$(now)
    parallel --will-cite -j 4 -C ' ' ./either {%} {1} {2} {3} <list || exit 1
    row real "GNU parallel" "$(since "$began")"
fi
