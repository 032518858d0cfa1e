#!/bin/bash
# bench_ssh.sh -- sixteen hosts by ssh, against GNU parallel. SPDX-License-Identifier: MIT
#
# usage: bench/bench_ssh.sh [LINES [BUILD]]     40000, build
#
# The hosts are those of tools/testbed, with an sshd each, on this machine. The command takes a
# millisecond for each line, asleep, and 20 ms for its start, so that the processors here are not
# what is measured; `quarter` is the same with one host that takes four. Both are given connections
# of ssh that are open (ControlMaster); cleave is told nothing else, GNU parallel has the best of several
# block sizes. `connecting` is cleave with connections of its own. All are done BENCH_REPEATS (3)
# times, and the best counts.
# Prints CSV: what, seconds, and for cleave how long after the command line its first command
# began. Exit status 77: this machine cannot make such hosts.
set -u
export LC_ALL=C
lines=${1:-40000}
build=$(cd "${2:-build}" && pwd)
cleave=$build/cleave
top=$(cd "$(dirname "$0")/.." && pwd)
bed=$top/tools/testbed
repeats=${BENCH_REPEATS:-3}
hosts=$(seq -f 'h%02.0f' 1 16)

say() {
    echo "bench_ssh: $*" >&2
}

[ -x "$cleave" ] || { say "$cleave is not there: make"; exit 2; }
command -v parallel >/dev/null || { say "GNU parallel is not there"; exit 77; }
"$bed" check || exit $?
folder=$(mktemp -d "${TMPDIR:-/tmp}/cleave-bench.XXXXXX") || exit 2
trap '"$bed" down "$folder/bed" 2>/dev/null; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder" || exit 2

# --- the hosts and the work --------------------------------------------------------------------

for host in $hosts; do echo "$host"; done >list
"$bed" up list bed || exit $?
{
    printf 'ControlMaster auto\nControlPath %s/mux-%%n\nControlPersist 300\n' "$folder"
    cat bed/ssh_config
} >masters
for host in $hosts; do ssh -F masters "$host" true </dev/null || exit 2; done
yes "$(printf '%099d' 0)" | head -n "$lines" >input
cat >work <<END
#!/bin/sh
date +%s.%N >>"$folder/begun"
n=\$(tee "$folder/in.\$\$" | wc -l)
slow=1
[ "\$1" = quarter ] && [ "\$(hostname)" = h16 ] && slow=4
sleep "\$(echo "\$n \$slow" | awk '{ print 0.02 + \$1 * \$2 / 1000 }')"
tr 0-9 a-j <"$folder/in.\$\$"
rm "$folder/in.\$\$"
END
chmod +x work
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

# ours KIND CONFIG -- sets took and first.
ours() {
    local from
    rm -f begun
    from=$(now)
    "$cleave" run -q -i input -o out --hosts "$(echo "$hosts" | sed 's/$/:1/' | paste -sd ,)" \
        --ssh "ssh -F $folder/$2" --remote "$cleave" -- "$folder/work" "$1" || exit 1
    took=$(minus "$(now)" "$from")
    first=$(minus "$(sort -g begun | head -n 1)" "$from")
    cmp -s out expected || { say "outputs differ"; exit 1; }
}

# theirs KIND BLOCK -- sets took.
theirs() {
    local from
    from=$(now)
    parallel --will-cite -k --pipepart -a input --block "$2" --ssh "ssh -F $folder/masters" \
        -S "$(echo "$hosts" | sed 's/^/1\//' | paste -sd ,)" "$folder/work" "$1" >out 2>/dev/null </dev/null ||
        { say "parallel failed"; exit 1; }
    took=$(minus "$(now)" "$from")
    cmp -s out expected || { say "outputs of parallel differ"; exit 1; }
}

echo "what,seconds,first_s"
bytes=$(stat -c %s input)
for kind in equal quarter; do
    for config in bed/ssh_config masters; do
        times='' firsts=''
        for _ in $(seq "$repeats"); do
            ours $kind $config
            times="$times $took" firsts="$firsts $first"
        done
        mine=$(least $times)
        [ $config = masters ] && what=cleave || what='cleave, connecting'
        echo "$kind ${what/,/},$mine,$(least $firsts)"
    done
    best=''
    for parts in 16 32 64 128; do
        times=''
        for _ in $(seq "$repeats"); do
            theirs $kind $((bytes / parts + 100))
            times="$times $took"
        done
        echo "$kind parallel in $parts blocks,$(least $times),"
        best=$(least $best $(least $times))
    done
    echo "$kind parallel at best by cleave,$(awk -v a="$best" -v b="$mine" 'BEGIN { printf "%.2f", a / b }'),"
done
