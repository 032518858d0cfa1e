# lines.bash -- lines of outputs that are read while commands run. SPDX-License-Identifier: MIT
#
# A command says a line and waits until the test has read it: nothing here depends on how long
# things last. `in` has a number on each line, `go` is a pipe, $LONG the seconds that a run may take.

AS_THEY_COME=--line-buffer

# begin ARGUMENT... -- cleave run with lines as they come; what it writes is read from descriptor 7, its
# status is in the file status when it has ended.
begin() {
    rm -f status
    exec 7< <(
        got=0
        timeout $LONG "$CLEAVE" run $AS_THEY_COME "$@" 2>err 3>&- || got=$?
        echo "status $got" >status
    )
}

reads() {
    local line
    read -r line <&7
    [ "$line" = "$1" ] || {
        echo "expected '$1', got '$line'"
        return 1
    }
}

# ended STATUS -- nobody reads any more, and that is how it ended.
ended() {
    exec 7<&-
    appears status || return 1
    [ "$(cat status)" = "status $1" ]
}

# front_lines ARGUMENT... -- lines of the chunk in front are written as they come: its command waits
# until its first one has been seen, and with it the others' turn.
front_lines() {
    begin -q -i in "$@" -- \
        sh -c 'read x; echo $x; if [ $x = 1 ]; then printf 2; read y <go; read z; echo; fi; cat'
    reads 1 || return 1
    echo >go
    cmp <(sed 1d in) <(cat <&7) || return 1
    ended 0
}

# failed_lines ARGUMENT... -- what was written of a chunk stands when its command fails, and the
# chunk is not tried again.
failed_lines() {
    rm -f tries
    begin -i in --block 1k "$@" -- \
        sh -c 'read x; echo $x; [ $x != 1 ] || { echo 1 >>tries; read y <go; printf 2; exit 3; }; cat'
    reads 1 || return 1
    echo >go
    cat <&7 >rest
    ended 1 || return 1
    [ "$(cat tries)" = 1 ] || return 1
    grep -q '^cleave: in: bytes 0 to 10[0-9]* (records 1 to [0-9]*): the command exited with status 3$' err || return 1
    [[ "$(cat rest)" =~ ^2[1-9][0-9]+$'\n' ]] || return 1
    tail -n 500 rest | cmp - <(tail -n 500 in)
}
