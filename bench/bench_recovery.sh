#!/bin/bash
# bench_recovery.sh -- what it costs that one of four hosts dies. SPDX-License-Identifier: MIT
#
# usage: bench/bench_recovery.sh [LINES [BUILD]]     40000, build
#
# Four hosts of this machine have two slots each. Commands sleep for 1 ms per line (`work`), which
# BENCH_WORK_US changes. At 25, 50 and 75 % of the time of an undisturbed run, the worker of one host gets
# SIGKILL, and the host does not return. The other three have to do what was left of it, so a run that loses
# nothing else takes longer by a third of the rest: `share_s`. `lost_s` is the measured difference; what
# it has above the share is the work that was lost with the host, and the end of the run. Each case is run
# BENCH_REPEATS (3) times, and the median is printed, as CSV:
#   open   the default: chunks stay open, so a slot has given nothing back before its end
#   block  chunks of --block BYTES/100: what has arrived is kept
#   reduce the same with --reduce: outputs stay on their host until its end
lines=${1:-40000}
work_us=${BENCH_WORK_US:-1000}
. "$(dirname "$0")/bench_head.sh" "${2:-build}"
cat >work.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Sleep for each line that is read, and print how many there were. */
int main(int argc, char **argv)
{
    static char bytes[1 << 12];
    long lines = 0;

    for (ssize_t got; argc == 2 && (got = read(0, bytes, sizeof bytes)) > 0;) {
        long more = 0;

        for (ssize_t i = 0; i < got; i++)
            more += bytes[i] == '\n';
        usleep((useconds_t)(more * atol(argv[1])));
        lines += more;
    }
    return printf("%ld\n", lines) < 0;
}
EOF
"${CC:-cc}" -O2 -D_GNU_SOURCE -o work work.c || exit 2
cat >host <<'EOF'
#!/bin/bash
[ ! -e "dead.$1" ] || exit 1
echo $$ >"pid.$1"
shift
exec "$@"
EOF
chmod +x host
yes 'one line of forty bytes, without a change' | head -n "$lines" >input
{
    printf 'port: multi\nworkers:\n'
    for i in 1 2 3 4; do
        echo "  - {name: h$i, slots: 2, speed: 1e6, bandwidth: 1e8, command: '$folder/host h$i'}"
    done
} >hosts.yaml

# once HOW SECONDS -- run it; after SECONDS, unless 0, host h2 dies. Prints how long the run took.
once() {
    local options=() killer=
    [ "$1" = open ] || options=(--block "$(($(stat -c %s input) / 100))")
    [ "$1" != reduce ] || options+=(--commutative --reduce "awk '{ n += \$1 } END { print n }'")
    rm -f dead.* pid.*
    if [ "$2" != 0 ]; then
        (sleep "$2"; : >dead.h2; kill -9 "$(cat pid.h2)") &
        killer=$!
    fi
    "$cleave" run --json -i input -o output --hosts hosts.yaml "${options[@]}" -- ./work "$work_us" >summary 2>notes ||
        { say "$1 failed: $(cat notes)"; exit 1; }
    [ -z "$killer" ] || wait "$killer"
    [ "$2" = 0 ] || grep -q 'h2: lost' notes || { say "$1: h2 was not lost"; exit 1; }
    [ "$(awk '{ n += $1 } END { print n }' output)" -eq "$lines" ] || { say "$1: lines are missing"; exit 1; }
    field makespan_s
}

# median HOW SECONDS -- of some runs.
median() {
    for _ in $(seq "${BENCH_REPEATS:-3}"); do once "$1" "$2"; done | sort -g |
        awk '{ t[NR] = $1 } END { if (NR == 0) exit 1; print t[int((NR + 1) / 2)] }'
}

echo "chunks,killed_at,seconds,lost_s,share_s"
for how in open block reduce; do
    whole=$(median $how 0) || exit 1
    awk -v how=$how -v t="$whole" 'BEGIN { printf "%s,never,%.2f,0,0\n", how, t }'
    for at in 25 50 75; do
        when=$(awk -v t="$whole" -v p=$at 'BEGIN { print t * p / 100 }')
        seconds=$(median $how "$when") || exit 1
        awk -v how=$how -v p=$at -v t="$whole" -v s="$seconds" \
            'BEGIN { printf "%s,%d%%,%.2f,%.2f,%.2f\n", how, p, s, s - t, t * (1 - p / 100) / 3 }'
    done
done
