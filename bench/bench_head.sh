# bench_head.sh -- what benches with a folder of their own begin with. SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # for who takes it in
#
# usage: . "$(dirname "$0")/bench_head.sh" BUILD [bed]
#
# Sets build, cleave and top, and goes to a folder of its own, `folder`, that is removed in the end;
# with bed also the hosts of tools/testbed that are below folder/bed by then. Ends with status 77 where
# there can be none. Whoever goes to hosts beside GNU parallel calls open_masters first.
set -u
export LC_ALL=C
build=$(cd "$1" && pwd)
cleave=$build/cleave
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bed=$top/tools/testbed

say() {
    echo "$(basename "$0" .sh): $*" >&2
}

# field NAME -- the value of a field of the summary.
field() {
    sed -n "s/^ *\"$1\": \([^,]*\),*\$/\1/p" summary | head -n 1
}

[ -x "$cleave" ] || { say "$cleave is not there: make"; exit 2; }
[ "${2:-}" != bed ] || "$bed" check || exit $?
folder=$(mktemp -d "${TMPDIR:-/tmp}/cleave-bench.XXXXXX") || exit 2
trap '[ ! -e "$folder/bed" ] || "$bed" down "$folder/bed" 2>/dev/null; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
cd "$folder" || exit 2

# open_masters HOST... -- open a connection to each host of the testbed, which every later one uses
# (ControlMaster): GNU parallel connects for each of its jobs, and would be measured by that else. `masters` is
# the ssh that does.
open_masters() {
    {
        printf 'ControlMaster auto\nControlPath %s/mux-%%n\nControlPersist 300\n' "$folder"
        cat bed/ssh_config
    } >masters
    masters="ssh -F $folder/masters"
    for host; do $masters "$host" true </dev/null || exit 2; done
}
