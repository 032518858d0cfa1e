# helper.bash -- what the tests of the command line share. SPDX-License-Identifier: MIT
#
# $CLEAVE is the program, $CLEAVE_SOURCE_DIR the top of the source tree. With
# CLEAVE_ACCEPT=1 expected texts in golden/ are written instead of compared.
bats_require_minimum_version 1.5.0

# What a hung run would take, in seconds; nothing depends on how long things last.
LONG=200

setup() {
    cd "$CLEAVE_SOURCE_DIR" || return 1
    unset NO_COLOR COLUMNS LC_CTYPE LANG
    export LC_ALL=C
    LAB=examples/unequal.yaml
    RACK=examples/equal.yaml
}

# cleave STATUS ARGUMENT... -- run it; $output is stdout, $stderr is stderr.
cleave() {
    local expected=$1
    shift
    run --separate-stderr "$CLEAVE" "$@"
    if [ "$status" -ne "$expected" ]; then
        echo "cleave $*: exit status $status, expected $expected"
        echo "stdout: $output"
        echo "stderr: $stderr"
        return 1
    fi
}

# refuses TEXT ARGUMENT... -- bad usage: exit status 2, nothing on stdout, and on stderr
# the one line "cleave: TEXT".
refuses() {
    local text=$1
    shift
    cleave 2 "$@" || return 1
    if [ -n "$output" ] || [ "$stderr" != "cleave: $text" ]; then
        echo "expected: cleave: $text"
        echo "stderr:   $stderr"
        echo "stdout:   $output"
        return 1
    fi
}

# golden NAME -- $output must be what golden/NAME holds.
golden() {
    local file=$CLEAVE_SOURCE_DIR/tests/cli/golden/$1
    if [ "${CLEAVE_ACCEPT:-}" = 1 ]; then
        printf '%s\n' "$output" >"$file"
    fi
    printf '%s\n' "$output" | diff -u "$file" -
}

# has TEXT -- $output must hold it.
has() {
    case $output in
    *"$1"*) ;;
    *)
        echo "expected to find: $1"
        echo "in: $output"
        return 1
        ;;
    esac
}

# lacks TEXT -- $output must not hold it.
lacks() {
    case $output in
    *"$1"*)
        echo "expected not to find: $1"
        echo "in: $output"
        return 1
        ;;
    esac
}

# valid_json -- $output must be JSON, where python3 can tell.
valid_json() {
    if python3 -c '' 2>/dev/null; then
        printf '%s' "$output" | python3 -m json.tool >/dev/null
    fi
}

# json_keys -- the keys of $output's outermost object, on one line.
json_keys() {
    printf '%s\n' "$output" | sed -n 's/^  "\([a-z0-9_]*\)":.*/\1/p' | tr '\n' ' '
}

# near A B TOLERANCE -- two numbers, compared relative to the second.
near() {
    awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN {
        d = a - b; if (d < 0) d = -d; m = b < 0 ? -b : b
        if (d > t * m) { print "expected " b ", got " a; exit 1 }
    }'
}

# number KEY -- the first number behind "KEY": in $output.
number() {
    printf '%s\n' "$output" | sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p" | head -n 1
}

# hosts LINE... -- a platform file of hosts, each with its fields.
hosts() {
    echo "port: multi"
    echo "workers:"
    local line
    for line in "$@"; do
        echo "  - {speed: 1e7, bandwidth: 1e8, $line}"
    done
}

# on_terminal ARGUMENT... -- run with stdout and stderr on a terminal of 100 columns;
# $output is what both wrote.
on_terminal() {
    command -v script >/dev/null || skip "script(1) is not there"
    local command
    command="stty cols 100 rows 40; $(printf '%q ' "$CLEAVE" "$@")"
    run env TERM=xterm script -qec "$command" /dev/null
}

# says TEXT -- the file err, standard error of a run, must hold it.
says() {
    grep -qF -- "$1" err || {
        echo "expected to read: $1"
        cat err
        return 1
    }
}

# appears FILE -- wait until it is there.
appears() {
    for _ in $(seq 3000); do
        [ -e "$1" ] && return 0
        sleep 0.02
    done
    echo "$1 did not appear"
    return 1
}

# slow_command SECONDS -- makes $T/slow, a tr that takes its time. Its first run on a worker
# leaves the worker's pid in $T/parent.WORKER, which is whole as soon as it is there.
slow_command() {
    cat >"$T/slow" <<END
#!/bin/sh
note="$T/parent.\$CLEAVE_WORKER"
[ -e "\$note" ] || { echo \$PPID >"\$note.\$\$" && mv "\$note.\$\$" "\$note"; }
sleep $1
exec tr 0-9 a-j
END
    chmod +x "$T/slow"
}

# meeting_command WORKER... -- makes $T/meet, a tr that goes on when all these workers have
# been given a chunk, so that a run cannot end before the last of them is there.
meeting_command() {
    {
        printf '#!/bin/sh\ntouch "%s/here.$CLEAVE_WORKER"\n' "$T"
        printf "while [ ! -e '$T/here.%s' ]; do sleep 0.02; done\n" "$@"
        echo 'exec tr 0-9 a-j'
    } >"$T/meet"
    chmod +x "$T/meet"
}
