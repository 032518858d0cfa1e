#!/bin/bash
# bench_ssh.sh -- sixteen hosts by ssh, against GNU parallel. SPDX-License-Identifier: MIT
#
# usage: bench/bench_ssh.sh [LINES [BUILD]]     40000, build
#
# The hosts are those of tools/testbed, with an sshd each, on this machine. The command takes a
# millisecond for each line, asleep, and 20 ms for its start, so that the processors here are not
# what is measured; `quarter` is the same with one host that takes four. Both are given connections
# of ssh that are open (ControlMaster); cleave is told nothing else, GNU parallel has the best of several
# block sizes, which are tried first. Then both are done BENCH_REPEATS (3) times in turn, so that whatever
# else runs here is met by both, and the middle one of the ratios counts. `connecting` is cleave with
# connections of its own, and `declared` with a file of hosts that knows what they cost: by how much
# the summary's prediction is off, connecting apart. `all busy` is what GNU parallel takes by what the work
# takes if every host is busy from the first moment to the last with one command: no ratio can be larger. BENCH_KINDS="equal" or "quarter" is one of the two.
# Prints CSV: what, seconds, how long after the command line its first command began, and what is
# wanted. Exit status 77: this machine cannot make such hosts.
lines=${1:-40000}
repeats=${BENCH_REPEATS:-3}
hosts=$(seq -f 'h%02.0f' 1 16)
. "$(dirname "$0")/bench_head.sh" "${2:-build}" bed
command -v parallel >/dev/null || { say "GNU parallel is not there"; exit 77; }

# --- the hosts and the work --------------------------------------------------------------------

for host in $hosts; do echo "$host"; done >list
"$bed" up list bed || exit $?
# shellcheck disable=SC2086 # a list of names
open_masters $hosts
yes "$(printf '%099d' 0)" | head -n "$lines" >input
cat >work.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* One process, so that a busy machine matters as little as can be: when it began goes to BEGUN, then
 * it sleeps for what it has read, and writes that with other digits. */
int main(int argc, char **argv)
{
    size_t length = 0, room = 1 << 20;
    char *bytes = malloc(room), host[64] = "";
    FILE *begun = fopen(BEGUN, "a");
    struct timespec now;
    double ms = 0;

    clock_gettime(CLOCK_REALTIME, &now);
    if (begun == NULL || bytes == NULL || gethostname(host, sizeof host - 1) != 0)
        return 1;
    fprintf(begun, "%ld.%09ld\n", (long)now.tv_sec, now.tv_nsec);
    fclose(begun);
    for (ssize_t got; (got = read(0, bytes + length, room - length)) > 0;) {
        length += (size_t)got;
        if (length == room && (bytes = realloc(bytes, room *= 2)) == NULL)
            return 1;
    }
    for (size_t i = 0; i < length; i++)
        if (bytes[i] == '\n')
            ms++;
        else if (bytes[i] >= '0' && bytes[i] <= '9')
            bytes[i] = (char)(bytes[i] - '0' + 'a');
    ms = 20 + ms * (argc > 1 && strcmp(argv[1], "quarter") == 0 && strcmp(host, "h16") == 0 ? 4 : 1);
    usleep((useconds_t)(ms * 1000));
    return fwrite(bytes, 1, length, stdout) != length || fflush(stdout) != 0;
}
END
"${CC:-cc}" -O2 -D_GNU_SOURCE -DBEGUN="\"$folder/begun\"" -o work work.c || exit 2
tr 0-9 a-j <input >expected

# --- runs --------------------------------------------------------------------------------------

now() {
    date +%s.%N
}

# took SECONDS... -- the least of them.
least() {
    printf '%s\n' "$@" | sort -g | head -n 1
}

minus() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a - b }'
}

# ours KIND SSH -- sets took and first.
ours() {
    local from
    rm -f begun
    from=$(now)
    "$cleave" run -q -i input -o out --hosts "$(echo "$hosts" | sed 's/$/:1/' | paste -sd ,)" \
        --ssh "$2" --remote "$cleave" -- "$folder/work" "$1" || exit 1
    took=$(minus "$(now)" "$from")
    first=$(minus "$(sort -g begun | head -n 1)" "$from")
    cmp -s out expected || { say "outputs differ"; exit 1; }
}

# theirs KIND BLOCK -- sets took.
theirs() {
    local from
    from=$(now)
    parallel --will-cite -k --pipepart -a input --block "$2" --ssh "$masters" \
        -S "$(echo "$hosts" | sed 's/^/1\//' | paste -sd ,)" "$folder/work" "$1" >out 2>/dev/null </dev/null ||
        { say "parallel failed"; exit 1; }
    took=$(minus "$(now)" "$from")
    cmp -s out expected || { say "outputs of parallel differ"; exit 1; }
}

# middle NUMBER... -- the one in the middle.
middle() {
    printf '%s\n' "$@" | sort -g | sed -n "$(((${#} + 1) / 2))p"
}

# over A B -- their ratio.
over() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'
}

# declared KIND -- prints by what part of the time a run took longer than was predicted.
declared() {
    {
        printf 'port: multi\nworkers:\n'
        for host in $hosts; do
            [ "$1" = quarter ] && [ "$host" = h16 ] && speed=25e3 || speed=1e5
            echo "  - {name: $host, ssh: $host, slots: 1, speed: $speed, compute_latency: 20ms, bandwidth: 1e9}"
        done
    } >hosts.yaml
    "$cleave" run --json -i input -o out --hosts hosts.yaml --ssh "$masters" \
        --remote "$cleave" -- "$folder/work" "$1" >summary || exit 1
    cmp -s out expected || { say "outputs differ"; exit 1; }
    awk -v a="$(sed -n 's/^ *"makespan_s": \([^,]*\),*$/\1/p' summary | head -n 1)" \
        -v b="$(sed -n 's/^ *"predicted_s": \([^,]*\),*$/\1/p' summary | head -n 1)" \
        'BEGIN { printf "%.3f", a / b - 1 }'
}

echo "what,seconds,first_s,wanted"
bytes=$(stat -c %s input)
for kind in ${BENCH_KINDS:-equal quarter}; do
    times='' firsts='' off=''
    for _ in $(seq "$repeats"); do
        ours $kind "ssh -F $folder/bed/ssh_config"
        times="$times $took" firsts="$firsts $first"
    done
    echo "$kind cleave connecting,$(least $times),$(least $firsts),first_s at most 1"
    best='' block=''
    for parts in 16 32 64 128; do
        theirs $kind $((bytes / parts + 100))
        echo "$kind parallel in $parts blocks,$took,,"
        [ "$(least $took $best)" = "$took" ] && best=$took block=$((bytes / parts + 100))
    done
    times='' firsts='' ratios=''
    for _ in $(seq "$repeats"); do
        ours $kind "$masters"
        mine=$took times="$times $took" firsts="$firsts $first"
        theirs $kind $block
        ratios="$ratios $(over "$(least "$took" "$best")" "$mine")"
        off="$off $(declared $kind)"
    done
    echo "$kind cleave,$(least $times),$(least $firsts),first_s at most 1"
    [ $kind = equal ] && wanted=1.3 || wanted=2
    echo "$kind parallel at best by all busy,$(awk -v best="$best" -v lines="$lines" -v kind="$kind" \
        'BEGIN { printf "%.3f", best / (0.02 + lines / 1000 / (kind == "quarter" ? 15.25 : 16)) }'),,"
    echo "$kind parallel at best by cleave,$(middle $ratios),,at least $wanted"
    echo "$kind off the prediction,$(middle $off),,at most 0.05"
done
