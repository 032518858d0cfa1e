#!/bin/bash
# bench_hosts.sh -- cleave run on four unequal hosts by ssh. SPDX-License-Identifier: MIT
#
# usage: bench/bench_hosts.sh [MEGABYTES [BUILD]]     60 MB, build
#
# The hosts are those of tools/testbed: links of 100, 50, 10 and 2 Mbit/s, and 1, 1/2, 1/4 and
# 1 of what BENCH_CPU (0.5) says of a processor. The command takes lines and works on each
# for a while. A third of the input is used to calibrate; `cleave plan` then says how long all
# of it takes at best, and what no schedule can beat; `cleave run` is measured against both,
# from when its hosts are ready: of connecting plans know nothing. The output has to be that of a run on this machine,
# byte by byte. Then cleave and GNU parallel do the same over the same hosts, by connections that are open.
#
# Everything shares the processors of this machine: with less than two that are idle the
# hosts do not get what they should, and figures say little; so it is done BENCH_REPEATS (3)
# times. Exit status 77: this machine cannot make such hosts.
megabytes=${1:-60}
cpu=${BENCH_CPU:-0.5}
. "$(dirname "$0")/bench_head.sh" "${2:-build}" bed

# --- the work ----------------------------------------------------------------------------------

# Lines of 100 bytes that do not compress well.
head -c $((megabytes * 750000)) /dev/urandom | base64 -w 99 | head -c $((megabytes * 1000000)) >input
head -c $((megabytes * 1000000 / 3)) input | sed '$d' >sample
cat >work.awk <<'END'
{ s = length($0); for (i = 1; i < 300; i++) s = (s * 31 + i) % 65521; print s, NF }
END
bytes=$(stat -c %s input)

# --- the hosts ---------------------------------------------------------------------------------

awk -v cpu="$cpu" 'BEGIN {
    print "h1 100mbit", cpu; print "h2 50mbit", cpu / 2; print "h3 10mbit", cpu / 4; print "h4 2mbit", cpu }' >hosts
"$bed" up hosts bed || exit $?
"$bed" hosts bed >hosts.yaml
ssh="ssh -F $folder/bed/ssh_config"

number() {
    sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" "$2" | head -n 1
}

seconds() {
    awk -v t="$1" 'BEGIN { printf "%.2f", t }'
}

ratio() {
    awk -v a="$1" -v b="$2" -v bar="$3" 'BEGIN {
        printf "%.3f%s", a / b, bar == "" ? "" : sprintf(" (bar %s: %s)", bar, a / b <= bar ? "met" : "MISSED") }'
}

say "input of $bytes bytes; load of this machine: $(cut -d ' ' -f 1-3 /proc/loadavg)"
"$cleave" run -q -i input -o expected -- awk -f work.awk || exit 1
ratios=
for repeat in $(seq "${BENCH_REPEATS:-3}"); do
    "$cleave" calibrate -i sample --hosts hosts.yaml --ssh "$ssh" --remote "$cleave" -o measured.yaml -- \
        awk -f "$folder/work.awk" || exit 1
    "$cleave" plan load --platform measured.yaml --load "$bytes" --json >plan || exit 1
    planned=$(number makespan plan)
    bound=$(awk '/"bound"/ { f = 1 } f' plan | sed -n 's/.*"value": \([-0-9.e+]*\).*/\1/p' | head -n 1)
    "$cleave" run -i input -o output --hosts measured.yaml --ssh "$ssh" --remote "$cleave" --json -- \
        awk -f "$folder/work.awk" >summary || exit 1
    took=$(number makespan_s summary)
    cmp expected output || { say "the output is not that of a local run"; exit 1; }
    echo "run $repeat: host       bytes  link MB/s    MB/s"
    sed -n 's/.*"name": "\([^"]*\)".*"units": \([0-9.e+]*\).*"speed": \([0-9.e+]*\).*"bandwidth": \([0-9.e+]*\).*/\1 \2 \4 \3/p' summary |
        awk '{ printf "       %-4s %11.0f %10.2f %7.2f\n", $1, $2, $3 / 1e6, $4 / 1e6 }'
    echo "planned   $(seconds "$planned") s, bound $(seconds "$bound") s"
    echo "cleave    $(seconds "$took") s, and $(seconds "$(number connecting_s summary)") s to connect; output identical"
    echo "          $(ratio "$took" "$planned" 1.10) of the plan"
    echo "          $(ratio "$took" "$bound" 1.15) of the bound of the plan"
    echo "          $(ratio "$took" "$(number bound_s summary)" 1.15) of the printed bound, by what was measured in this run"
    ratios="$ratios $(awk -v a="$took" -v b="$planned" 'BEGIN { print a / b }')"
done
# shellcheck disable=SC2086
echo "median    $(printf '%s\n' $ratios | sort -g | awk '{ r[NR] = $1 } END { printf "%.3f", r[int((NR + 1) / 2)] }') of the plan"

# --- GNU parallel ------------------------------------------------------------------------------

if command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
    open_masters h1 h2 h3 h4
    "$cleave" run -i input -o output --hosts measured.yaml --ssh "$masters" --remote "$cleave" --json -- \
        awk -f "$folder/work.awk" >summary || exit 1
    whole=$(number elapsed_s summary)
    for block in 1M 4M; do
        began=$(date +%s.%N)
        parallel --will-cite --ssh "$masters" -S 1/h1,1/h2,1/h3,1/h4 --pipe -k --block $block \
            awk -f "$folder/work.awk" <input >other 2>/dev/null
        other=$(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')
        same=identical
        cmp -s expected other || same="NOT the same"
        echo "parallel  $(seconds "$other") s with blocks of $block; output $same; cleave takes $(ratio "$whole" "$other" '') of it"
    done
else
    say "GNU parallel is not there"
fi
