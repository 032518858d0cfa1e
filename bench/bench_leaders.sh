#!/bin/bash
# bench_leaders.sh -- sixteen hosts, by one master and behind four leaders. SPDX-License-Identifier: MIT
#
# usage: bench/bench_leaders.sh [LINES [BUILD]]     60000, build
#
# The hosts are workers of this machine with four slots each, beyond links of BENCH_RATE (4000000) bytes a
# second in all and BENCH_DELAY (20) ms each way (tests/relay.c): sixteen of them, a sixteenth of the rate
# each, to the master; or four to leaders, a quarter each, with three more hosts behind every one of these at
# no cost. Commands take 20 ms and a millisecond for each line, asleep; each line has 100 bytes. Both are
# done BENCH_REPEATS (3) times in turn, so that whatever else runs here is met by both.
# Prints CSV: what, the least seconds, the least processor time of the master, and chunks that it gave out.
lines=${1:-60000}
rate=${BENCH_RATE:-4000000}
delay=${BENCH_DELAY:-20}
. "$(dirname "$0")/bench_head.sh" "${2:-build}"
"${CC:-cc}" -O2 -o relay "$top/tests/relay.c" -lm || exit 2
cat >work.c <<'END'
#include <stdio.h>
#include <unistd.h>

/* Sleep for what it reads, and say how many lines there were. */
int main(void)
{
    static char bytes[1 << 16];
    long lines = 0;

    for (ssize_t got; (got = read(0, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < got; i++)
            lines += bytes[i] == '\n';
    usleep((useconds_t)(20000 + lines * 1000));
    return printf("%ld\n", lines) < 0;
}
END
"${CC:-cc}" -O2 -D_GNU_SOURCE -o work work.c || exit 2
# Random digits, so that links cannot make them much less.
head -c $((lines * 80)) /dev/urandom | base64 -w 99 | head -n "$lines" >input

# line NAME RATE MORE -- a host of the platform file; without a rate it costs nothing to reach.
line() {
    local through="$folder/relay --rate $2 --delay $delay --"
    [ "$2" != - ] || through="env"
    echo "  - {name: $1, slots: 4, ${3}speed: 1e5, bandwidth: 1e6, command: '$through'}"
}

{
    printf 'port: multi\nworkers:\n'
    for i in $(seq 16); do line "h$i" $((rate / 16)) ''; done
} >master.yaml
{
    printf 'port: multi\nworkers:\n'
    for i in $(seq 0 3); do
        line "h$((i * 4 + 1))" $((rate / 4)) ''
        for k in 2 3 4; do line "h$((i * 4 + k))" - "via: h$((i * 4 + 1)), "; done
    done
} >leaders.yaml

for _ in $(seq "${BENCH_REPEATS:-3}"); do
    for what in master leaders; do
        "$cleave" run --json -i input -o output --hosts $what.yaml -- ./work >summary ||
            { say "$what failed"; exit 1; }
        [ "$(awk '{ n += $1 } END { print n }' output)" -eq "$lines" ] || { say "$what: lines are missing"; exit 1; }
        echo "$what,$(field makespan_s),$(field master_s),$(field chunks)" >>all
    done
done
echo "what,seconds,master_s,chunks"
for what in master leaders; do
    grep "^$what," all | sort -t , -k 2g | head -n 1
done
