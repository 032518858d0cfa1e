#!/bin/bash
# bench_run.sh -- cleave run beside what people use, in one run. SPDX-License-Identifier: MIT
#
# usage: bench/bench_run.sh [MEGABYTES [BUILD [PARTS]]]     2000 MB, build, all parts:
#        lines bytes small_chunks start_up unequal memory files
#
# Everything is measured on the same file in the page cache, with two workers, tool after
# tool, the best of a few repeats each. Figures vary with the machine and with what else it
# does: the ratios count. A row gives what a tool comes to, cleave as a multiple of it (for
# times: how much shorter cleave takes), and where there is one, the bar for that multiple.
# Tools that are not installed are left out.
set -u
export LC_ALL=C
megabytes=${1:-2000}
build=${2:-build}
cleave=$build/cleave
repeats=${BENCH_REPEATS:-3}

say() {
    echo "bench_run: $*" >&2
}

have() {
    command -v "$1" >/dev/null 2>&1
}

for need in "$cleave" "$build/bench_bare_splice" "$build/bench_bare_spawn"; do
    [ -x "$need" ] || { say "$need is not there: make benches"; exit 2; }
done
gnu_parallel=
if have parallel && parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
    gnu_parallel=1
fi
par() {
    parallel --will-cite -j 2 "$@"
}

# --- files --------------------------------------------------------------------------------

# room FOLDER -- megabytes free there.
room() {
    df -Pm "$1" 2>/dev/null | awk 'NR == 2 { print $4 }'
}

folder=
for place in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm .; do
    if [ -w "$place" ] && [ "$(room "$place")" -gt $((megabytes + 200)) ]; then
        folder=$(mktemp -d "$place/cleave-bench.XXXXXX") && break
    fi
done
[ -n "$folder" ] || { say "no folder with $megabytes MB to spare"; exit 2; }
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
big=$folder/text

# A megabyte of text again and again; what it says does not matter, where lines end does.
awk 'BEGIN {
    srand(7); for (i = 0; i < 2000; i++) { w = ""; n = 2 + int(rand() * 9)
        for (k = 0; k < n; k++) w = w sprintf("%c", 97 + int(rand() * 26)); word[i] = w }
    for (bytes = 0; bytes < 1000000; bytes += length(line) + 1) {
        line = word[int(rand() * 2000)]; n = int(rand() * 20)
        for (k = 0; k < n; k++) line = line " " word[int(rand() * 2000)]
        print line }
}' >"$folder/megabyte"
for ((i = 0; i < 10; i++)); do cat "$folder/megabyte"; done >"$folder/ten"
for ((i = 0; i < megabytes / 10; i++)); do cat "$folder/ten"; done >"$big"
cat "$big" >/dev/null
bytes=$(stat -c %s "$big")
lines=$(wc -l <"$big")

# --- measuring ------------------------------------------------------------------------------

# best COMMAND... -- seconds, the least of the repeats; what it prints is dropped.
best() {
    local least='' begin end i
    for ((i = 0; i < repeats; i++)); do
        begin=$EPOCHREALTIME
        "$@" >/dev/null 2>&1 || { echo nan; return; }
        end=$EPOCHREALTIME
        least=$(awk -v a="$begin" -v b="$end" -v l="${least:-1e9}" \
            'BEGIN { d = b - a; printf "%.6f", d < l ? d : l }')
    done
    echo "$least"
}

# with_input FILE COMMAND...
with_input() {
    local file=$1
    shift
    "$@" <"$file"
}

header() {
    printf '\n%-46s %14s %9s   %s\n' "$1" "$2" "cleave/it" bar
}

# row NAME VALUE RATIO [BAR [MET]]
row() {
    printf '%-46s %14s %9s   %s\n' "$1" "$2" "$3" "${4:-}${5:+  $5}"
}

# rate NAME SECONDS [BAR] -- a row of throughput; the ratio is to $ours, in seconds. BAR is
# the least ratio wanted.
rate() {
    [ "$2" = nan ] && { row "$1" failed -; return; }
    row "$1" "$(awk -v b="$bytes" -v s="$2" 'BEGIN { printf "%.2f GB/s", b / s / 1e9 }')" \
        "$(ratio "$2" "$ours")" "${3:+>= $3}" "${3:+$(met "$2" "$ours" "$3")}"
}

ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'
}

# met A B BAR -- is A / B at least BAR?
met() {
    awk -v a="$1" -v b="$2" -v bar="$3" 'BEGIN { print (a / b >= bar ? "met" : "MISSED") }'
}

# --- throughput -----------------------------------------------------------------------------

pipe_run() {
    # shellcheck disable=SC2002 # a pipe is what is measured
    cat "$big" | "$cleave" run -q -j 2 -- "$@"
}
pipe_parallel() {
    local block=$1
    shift
    # shellcheck disable=SC2002
    cat "$big" | par --pipe --block "$block" "$@"
}
# Ranges of a megabyte, not cut between lines.
ranges() {
    # shellcheck disable=SC2016 # for the inner shell
    seq 0 $((megabytes - 1)) | xargs -P 2 -I {} sh -c \
        'dd if="$0" bs=1M skip="$1" count=1 2>/dev/null | eval "$2"' "$big" {} "$1"
}
# The bare program prints its own best rate; as seconds.
bare_splice() {
    "$build/bench_bare_splice" "$big" "$@" 2>/dev/null |
        awk -v b="$bytes" '{ for (i = 2; i <= NF; i++) if ($i ~ /^GB\/s/) { print b / 1e9 / $(i - 1); exit } }'
}

# throughput NAME TEXT COMMAND... -- TEXT is the command for a shell.
throughput() {
    local name=$1 text=$2 fastest=1e9 seconds
    shift 2
    header "$name, from a file" throughput
    ours=$(best "$cleave" run -q -i "$big" -j 2 -- "$@")
    rate "cleave run" "$ours"
    seconds=$(bare_splice "$@")
    [ -n "$seconds" ] && rate "bare splice, two feeders" "$seconds" 0.6
    if [ -n "$gnu_parallel" ]; then
        for block in 1M 10M 100M -1; do
            seconds=$(best par -a "$big" --pipepart --block $block "$text")
            fastest=$(awk -v a="$fastest" -v b="$seconds" 'BEGIN { print b < a ? b : a }')
            rate "parallel --pipepart --block $block" "$seconds"
        done
        rate "parallel --pipepart, its best" "$fastest" 1.5
        rate "parallel --pipe --block 1M" "$(best pipe_parallel 1M "$text")" 20
        rate "parallel --pipe --block 10M" "$(best pipe_parallel 10M "$text")"
    fi
    have xargs && rate "xargs -P 2, dd of 1 MB" "$(best ranges "$text")"
    have split && rate "split -n l/2 --filter" "$(best split -n l/2 --filter="$text" "$big")"
    header "$name, from a pipe" throughput
    ours=$(best pipe_run "$@")
    rate "cat | cleave run" "$ours"
    rate "cat | wc -c" "$(best sh -c "cat '$big' | wc -c")" 0.6
    [ -n "$gnu_parallel" ] &&
        rate "cat | parallel --pipe --block 1M" "$(best pipe_parallel 1M "$text")" 10
    have split && rate "cat | split -n r/2 --filter" \
        "$(best sh -c "cat '$big' | split -n r/2 --filter='$text'")"
}

# --- small chunks -----------------------------------------------------------------------------

# each NAME SECONDS [BAR [COUNT]] -- a row of time per chunk.
each() {
    [ "$2" = nan ] && { row "$1" failed -; return; }
    row "$1" "$(awk -v s="$2" -v n="${4:-2000}" 'BEGIN { printf "%.1f us", 1e6 * s / n }')" \
        "$(ratio "$2" "$ours")" "${3:+>= $3}" "${3:+$(met "$2" "$ours" "$3")}"
}

small_chunks() {
    local seconds repeats=7
    seq 2000 >"$folder/records"
    header "2000 chunks of one record, /bin/true" "time each"
    ours=$(best "$cleave" run -q -i "$folder/records" -j 2 --block 1 -- /bin/true)
    each "cleave run --block 1" "$ours"
    seconds=$("$build/bench_bare_spawn" 2000 2 | awk '/ms each/ { for (i = 2; i <= NF; i++) if ($i == "ms") { print 2 * $(i - 1); exit } }')
    each "bare posix_spawn, two at once" "$seconds" 0.77
    have xargs && each "xargs -P 2 -n 1" \
        "$(best xargs -P 2 -n 1 -a "$folder/records" /bin/true)" 1
    [ -n "$gnu_parallel" ] && each "parallel -j 2 -n 1" \
        "$(repeats=1 best par -n 1 -a "$folder/records" /bin/true)"
    header "2000 items, /bin/true" "time each"
    ours=$(best "$cleave" run -q -j 2 -a "$folder/records" -- /bin/true)
    each "cleave run -a" "$ours"
    seconds=$("$build/bench_bare_spawn" 2000 2 1234 | awk '/ms each/ { for (i = 2; i <= NF; i++) if ($i == "ms") { print 2 * $(i - 1); exit } }')
    each "bare posix_spawn, two at once" "$seconds" 0.83
    have xargs && each "xargs -P 2 -n 1" \
        "$(best xargs -P 2 -n 1 -a "$folder/records" /bin/true)" 1
    seq 200000 >"$folder/records"
    # cat gives each frame back as it came.
    ours=$(best "$cleave" run -q -i "$folder/records" -j 2 --block 1 --persistent -- \
        cat)
    header "200000 chunks of one record, --persistent" "time each"
    each "cleave run --persistent --block 1" "$ours" "" 200000
    row "" "" "" "<= 30 us" "$(met 6 "$ours" 1)"
}

start_up() {
    echo one >"$folder/record"
    local repeats=15
    header "One record, /bin/true, from start to end" time
    ours=$(best "$cleave" run -q -i "$folder/record" -j 2 -- /bin/true)
    row "cleave run" "$(awk -v s="$ours" 'BEGIN { printf "%.1f ms", 1e3 * s }')" 1.00 "<= 10 ms" \
        "$(met 0.010 "$ours" 1)"
    have xargs && each_ms xargs "$(best xargs -P 2 -n 1 -a "$folder/record" /bin/true)"
    repeats=3
    [ -n "$gnu_parallel" ] && each_ms parallel "$(best par -n 1 -a "$folder/record" /bin/true)"
}
each_ms() {
    row "$1" "$(awk -v s="$2" 'BEGIN { printf "%.1f ms", 1e3 * s }')" "$(ratio "$2" "$ours")"
}

# --- unequal workers ---------------------------------------------------------------------------

# A command bound by the processor; on the second worker every line takes four times as
# long. Each tool says in the environment which worker a command is on.
unequal() {
    local part=$folder/part alone ideal block slow
    # shellcheck disable=SC2016 # for awk
    slow='{ n = worker == "slow" ? 40 : 10; for (i = 0; i < n; i++) h = (h * 31 + length($0) * i) % 65521 } END { print h }'
    head -n 400000 "$big" >"$part"
    printf '%s\n' "$slow" >"$folder/slow.awk"
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\nw=${CLEAVE_WORKER:-fast}\n[ "${PARALLEL_JOBSLOT:-$SLOT}" = "$TWO" ] && w=slow\nexec awk -v worker=$w -f "%s/slow.awk"\n' \
        "$folder" >"$folder/slow"
    chmod +x "$folder/slow"
    local repeats=3
    # What the two do at the same time: all on the fast one beside a quarter on the slow one.
    head -n 100000 "$big" >"$folder/quarter"
    alone=$(TWO=none SLOT='' best both_at_once "$part" "$folder/quarter" "$folder/slow")
    ideal=$(awk -v a="$alone" 'BEGIN { print a / 1.25 }')
    header "Two workers, one at a quarter of the speed" "time / least"
    over "cleave run" "$(TWO=none SLOT='' best "$cleave" run -q -i "$part" -j fast,slow -- "$folder/slow")" 1.05
    if [ -n "$gnu_parallel" ]; then
        for block in 100k 1M 10M; do
            over "parallel --pipe --block $block" \
                "$(TWO=2 SLOT='' best with_input "$part" par --pipe --block $block "$folder/slow")"
        done
        over "parallel --pipepart --block -1" \
            "$(TWO=2 SLOT='' best par -a "$part" --pipepart --block -1 "$folder/slow")"
    fi
    if have xargs; then
        # shellcheck disable=SC2016
        over "xargs -P 2, dd of 1 MB" "$(TWO=1 best sh -c 'seq 0 $(($(stat -c %s "$0") / 1000000)) |
            xargs -P 2 --process-slot-var=SLOT -I {} sh -c '\''dd if="$0" bs=1000000 skip={} count=1 2>/dev/null | "$1"'\'' "$0" "$1"' \
            "$part" "$folder/slow")"
    fi
}
both_at_once() {
    CLEAVE_WORKER=slow "$3" <"$2" &
    "$3" <"$1"
    wait
}
over() {
    [ "$2" = nan ] && { row "$1" failed -; return; }
    row "$1" "$(ratio "$2" "$ideal")" "" "${3:+<= $3}" "${3:+$(met "$3" "$(ratio "$2" "$ideal")" 1)}"
}

# --- memory -----------------------------------------------------------------------------------

# peak COMMAND... -- most megabytes resident, looked at now and then.
peak() {
    local most=0 now
    "$@" >/dev/null 2>&1 &
    while now=$(awk '/^VmHWM/ { print $2 }' "/proc/$!/status" 2>/dev/null) && [ -n "$now" ]; do
        [ "$now" -gt "$most" ] && most=$now
        sleep 0.01
    done
    wait
    awk -v k="$most" 'BEGIN { printf "%.1f", k / 1024 }'
}
memory() {
    header "Most memory of the master" resident
    local name mb
    for name in "a file" "a pipe"; do
        if [ "$name" = "a file" ]; then
            mb=$(peak "$cleave" run -q -i "$big" -j 2 -- cat)
        else
            mkfifo "$folder/pipe"
            cat "$big" >"$folder/pipe" &
            mb=$(peak "$cleave" run -q -i "$folder/pipe" -j 2 -- cat)
        fi
        row "cleave run -- cat, from $name" "$mb MB" "" "<= 64 MB" "$(met 64 "$mb" 1)"
    done
}

# --- pieces as files ----------------------------------------------------------------------------

# in_pieces COMMAND... -- in a folder of its own, which is emptied before.
in_pieces() {
    rm -rf "$folder/pieces"
    mkdir "$folder/pieces" && (cd "$folder/pieces" && "$@")
}
files() {
    local program
    program=$(realpath "$cleave")
    header "40 files, cut between lines" throughput
    ours=$(best in_pieces "$program" split -q -i "$big" -n 40 -o 'p-{}')
    rate "cleave split -n 40" "$ours"
    have split && rate "split -n l/40" "$(best in_pieces split -n l/40 "$big")" 3
    have split && rate "split -C, bytes / 40" "$(best in_pieces split -C $((bytes / 40)) "$big")"
    ours=$(best in_pieces "$program" split -q -i "$big" --records $((lines / 40)) -o 'p-{}')
    rate "cleave split --records" "$ours"
    have split && rate "split -l" "$(best in_pieces split -l $((lines / 40)) "$big")" 3
    rm -rf "$folder/pieces"
}

# --- all ---------------------------------------------------------------------------------------

"$cleave" version | head -n 1
uname -srm
echo "$(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg); $bytes bytes, $lines lines, best of $repeats"
counted=$("$cleave" run -q -i "$big" -j 2 -- wc -l | awk '{ s += $1 } END { print s }')
[ "$counted" = "$lines" ] || { say "cleave counts $counted lines, wc $lines"; exit 1; }
for part in ${3:-lines bytes small_chunks start_up unequal memory files}; do
    case $part in
    lines) throughput "wc -l" "wc -l" wc -l ;;
    bytes) throughput "cat >/dev/null" "cat >/dev/null" sh -c 'exec cat >/dev/null' ;;
    small_chunks | start_up | unequal | memory | files) $part ;;
    *) say "expected lines, bytes, small_chunks, start_up, unequal, memory or files, got '$part'"; exit 2 ;;
    esac
done
