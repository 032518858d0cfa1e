#!/bin/bash
# bench_starts.sh -- what starting a command costs, beside xargs and a bare posix_spawn loop.
# SPDX-License-Identifier: MIT
#
# usage: bench/bench_starts.sh [COUNT [AT_ONCE [BUILD]]]     20000, all cores, build
#
# Starts true COUNT times, AT_ONCE at a time, once for each line of a list: by cleave (items, and
# chunks of one record), by xargs and by posix_spawn in a loop (bench_bare_spawn), in one process and in
# AT_ONCE processes side by side, which is what starts cost without anything else. All in turns, so
# that what else the machine does hits all of them; the best of the rounds counts. Ratios say more than
# times: machines that are called alike differ by a third. Then, where there are perf or strace:
# processor time and calls of the system of the thread that starts them all. Bars are for 16 cores and
# 16 at a time.
# shellcheck disable=SC2317 # functions are called through each()
set -u
export LC_ALL=C
count=${1:-20000}
at_once=${2:-$(nproc)}
build=${3:-build}
rounds=${BENCH_REPEATS:-5}
cleave=$build/cleave

for need in "$cleave" "$build/bench_bare_spawn"; do
    [ -x "$need" ] || { echo "bench_starts: $need is not there: make benches" >&2; exit 2; }
done
list=$(mktemp) || exit 2
trap 'rm -f "$list" "$list.calls"' EXIT
trap 'exit 130' INT TERM
seq "$count" >"$list"

by_items() { "$cleave" run -q -j "$at_once" -a "$list" -- "$@"; }
by_records() { "$cleave" run -q -j "$at_once" -i "$list" --block 1 -- true; }
by_twice() { "$cleave" run -q -j $((2 * at_once)) -a "$list" -- true; }
by_xargs() { xargs -P "$at_once" -n 1 -a "$list" /bin/true; }
by_xargs_twice() { xargs -P $((2 * at_once)) -n 1 -a "$list" /bin/true; }

# each NAME COMMAND... -- microseconds for one start are kept in best[NAME], if they are the least.
declare -A best
each() {
    local name=$1 begin end us
    shift
    begin=$EPOCHREALTIME
    "$@" >/dev/null 2>&1 || { echo "bench_starts: $* failed" >&2; exit 1; }
    end=$EPOCHREALTIME
    us=$(awk -v a="$begin" -v b="$end" -v n="$count" 'BEGIN { printf "%.2f", 1e6 * (b - a) / n }')
    keep "$name" "$us"
}
keep() {
    best[$1]=$(awk -v a="${best[$1]:-1e9}" -v b="$2" 'BEGIN { print b + 0 < a + 0 ? b : a }')
}
# The bare loop takes its own time, six times over.
bare() {
    keep bare "$("$build/bench_bare_spawn" "$count" "$at_once" 1 |
        awk '{ for (i = 2; i <= NF; i++) if ($i == "ms") { print 1e3 * $(i - 1); exit } }')"
}

# Each of the processes has its part of the starts, six times over.
by_processes() {
    local i
    for ((i = 0; i < at_once; i++)); do
        "$build/bench_bare_spawn" $((count / at_once)) 1 1 &
    done
    wait
}
bare_processes() {
    local begin=$EPOCHREALTIME
    by_processes >/dev/null
    keep processes "$(awk -v a="$begin" -v b="$EPOCHREALTIME" -v n=$((count / at_once * at_once * 6)) \
        'BEGIN { printf "%.2f", 1e6 * (b - a) / n }')"
}

for ((i = 0; i < rounds; i++)); do
    each items by_items true
    each path by_items /bin/true
    each records by_records
    each xargs by_xargs
    each twice by_twice
    each xargs2 by_xargs_twice
    bare_processes
    [ "$i" -eq 0 ] && bare
done

row() { # TEXT NAME [BAR]
    local text=$1 us=${best[$2]}
    printf '%-42s %9.1f us %7.2f %7.2f   %s\n' "$text" "$us" \
        "$(awk -v a="$us" -v b="${best[bare]}" 'BEGIN { print a / b }')" \
        "$(awk -v a="$us" -v b="${best[xargs]}" 'BEGIN { print a / b }')" "${3:-}"
}
met() { # A BAR
    awk -v a="$1" -v b="$2" 'BEGIN { print (a + 0 <= b + 0 ? "met" : "MISSED") }'
}
over() { awk -v a="${best[$1]}" -v b="${best[$2]}" 'BEGIN { print a / b }'; }

echo "$(nproc) cores, $count starts, $at_once at a time, best of $rounds; load before: $(cut -d' ' -f1 /proc/loadavg)"
printf '%-42s %12s %7s %7s   %s\n' "" "each" "/bare" "/xargs" bar
row "cleave run -- true ::: ..." items \
    "<= 50 us $(met "${best[items]}" 50), $(over items processes) of bare processes"
row "cleave run -- /bin/true ::: ..." path \
    "<= 1.2 of bare $(met "$(over path bare)" 1.2), <= xargs $(met "$(over path xargs)" 1)"
row "cleave run --block 1 -- true" records
row "cleave run, twice as many at a time" twice
row "bare posix_spawn" bare
row "bare posix_spawn, $at_once processes" processes
row "xargs -n 1 /bin/true" xargs
row "xargs, twice as many at a time" xargs2

if command -v perf >/dev/null; then
    perf stat --no-inherit -e task-clock,context-switches -o "$list.calls" \
        "$cleave" run -q -j "$at_once" -a "$list" -- true &&
        awk -v n="$count" '/task-clock/ { gsub(",", ""); printf "the master: %.1f us of processor time", 1e3 * $1 / n }
            /context-switches/ { gsub(",", ""); printf ", %.2f switches for each\n", $1 / n }' "$list.calls"
fi
if command -v strace >/dev/null; then
    head -n 2000 "$list" >"$list.calls" && mv "$list.calls" "$list"
    strace -c -o "$list.calls" "$cleave" run -q -j "$at_once" -a "$list" -- true &&
        awk -v n="$(wc -l <"$list")" '$1 ~ /^[0-9.]+$/ && $NF != "total" { calls += $4 }
            END { printf "the master: %.1f calls of the system for each\n", calls / n }' "$list.calls"
fi
exit 0
