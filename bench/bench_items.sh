#!/bin/bash
# bench_items.sh -- items of random lengths by cleave and by xargs -P, in turns.
# SPDX-License-Identifier: MIT
#
# usage: bench/bench_items.sh [MIXES [SEED [BUILD]]]     20, 1, build
#
# A mix is a number of workers, 2 to 8, and 2 to 8 sleeps for each of them. The law of the sleeps is drawn as well:
# uniform, lognormal, or short ones with a few long ones, in all about one second for each worker. By turns cleave is
# first or second. SLOW=8 makes the first worker of both 8 times as slow. WEIGHT=1 tells cleave how long items
# take (policy items). A line for each mix: workers, items, seconds of xargs, seconds of cleave, their ratio; then
# mean, 95th percentile and worst ratio. Sleeps need no processor, but what else the machine does shows.
set -u
export LC_ALL=C
mixes=${1:-20}
seed=${2:-1}
cleave=${3:-build}/cleave
slow=${SLOW:-1}
[ -x "$cleave" ] || { echo "bench_items: $cleave is not there: make build" >&2; exit 2; }
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
weight=()
[ -z "${WEIGHT:-}" ] || weight=(--weight cat)

# draw MIX -- the number of workers, then the sleeps of a mix in milliseconds.
draw() {
    awk -v seed="$((seed * 100003 + $1))" 'BEGIN {
        srand(seed)
        for (i = 0; i < 5; i++) rand()
        workers = 2 + int(7 * rand())
        items = workers * (2 + int(7 * rand()))
        law = int(3 * rand())
        for (i = 0; i < items; i++) {
            normal = sqrt(-2 * log(1 - rand())) * cos(6.283185 * rand())
            t[i] = law == 0 ? rand() : law == 1 ? exp(normal) : rand() < 0.85 ? 0.05 + 0.1 * rand() : 1 + rand()
            sum += t[i]
        }
        print workers
        for (i = 0; i < items; i++) printf "%d\n", 1 + 1000 * t[i] * workers / sum
    }'
}

# The sleep of a worker: SLOT MILLISECONDS. xargs counts slots from 0, cleave from 1.
cat >"$folder/work" <<'WORK'
#!/bin/sh
[ "$1" != 1 ] || set -- 1 $(($2 * SLOW))
exec sleep $(($2 / 1000)).$(printf %03d $(($2 % 1000)))
WORK
chmod +x "$folder/work"
export SLOW=$slow

by_xargs() {
    # shellcheck disable=SC2016 # the inner shell reads it
    xargs -P "$1" -n 1 -a "$2" --process-slot-var=SLOT \
        sh -c 'exec "$0" $((SLOT + 1)) "$1"' "$folder/work"
}
by_cleave() {
    "$cleave" run -q -j "$1" -a "$2" "${weight[@]}" -- "$folder/work" '{%}' '{}'
}
seconds() { # COMMAND...
    local begin=$EPOCHREALTIME
    "$@" >/dev/null || { echo "bench_items: $* failed" >&2; exit 1; }
    awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", b - a }'
}

for ((mix = 1; mix <= mixes; mix++)); do
    draw "$mix" >"$folder/all"
    workers=$(head -n 1 "$folder/all")
    tail -n +2 "$folder/all" >"$folder/list"
    if ((mix % 2 == 0)); then
        theirs=$(seconds by_xargs "$workers" "$folder/list") || exit
        ours=$(seconds by_cleave "$workers" "$folder/list") || exit
    else
        ours=$(seconds by_cleave "$workers" "$folder/list") || exit
        theirs=$(seconds by_xargs "$workers" "$folder/list") || exit
    fi
    echo "$workers $(wc -l <"$folder/list") $theirs $ours"
done | awk '
    { ratio[NR] = $4 / $3; sum += ratio[NR]; print $0, sprintf("%.3f", ratio[NR]) }
    END {
        for (i = 2; i <= NR; i++)
            for (k = i; k > 1 && ratio[k] < ratio[k - 1]; k--) { x = ratio[k]; ratio[k] = ratio[k - 1]; ratio[k - 1] = x }
        p = int(0.95 * NR + 0.999)
        printf "cleave / xargs over %d mixes: mean %.3f, p95 %.3f, worst %.3f\n", NR, sum / NR, ratio[p], ratio[NR]
    }'
