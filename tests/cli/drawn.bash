# drawn.bash -- what cleave run draws on a terminal while its command waits. SPDX-License-Identifier: MIT

# in_own_folder -- go there; without script(1) there is no terminal, and the test is skipped.
in_own_folder() {
    command -v script >/dev/null || skip "script(1) is not there"
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
}

# draws_on SIZE OPTION TEXT ARGUMENT... -- cleave run OPTION on a terminal of that size, as stty is
# told it, shows the text before the file `go` is there, for which commands wait; all that it drew is
# in the file drawn, and in lines, as lines without the signs that move the cursor.
draws_on() {
    local size=$1 option=$2 text=$3 command
    shift 3
    rm -f go drawn
    command="stty $size; $(printf '%q ' "$CLEAVE" run -q "$option" -o out "$@")"
    TERM=xterm timeout 200 script -qec "$command" /dev/null >drawn 2>&1 3>&- &
    local job=$!
    for _ in $(seq 3000); do
        ! grep -qF -- "$text" drawn || break
        sleep 0.02
    done
    touch go
    wait $job
    tr '\r' '\n' <drawn | sed 's/\x1b\[[0-9]*[AJK]//g' >lines
    grep -F -- "$text" lines || {
        echo "expected to see: $text"
        tail -n 9 lines
        return 1
    }
}
