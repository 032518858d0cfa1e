# job.bash -- runs whose output is a file; no longer than $LONG. SPDX-License-Identifier: MIT

# job ARGUMENT... -- cleave run -q; its output is in out, the status must be 0.
job() {
    timeout $LONG "$CLEAVE" run -q "$@" >out 2>err || {
        echo "cleave run $*: exit status $?"
        cat err
        return 1
    }
}

# fails_with STATUS ARGUMENT... -- the same with another status.
fails_with() {
    local expected=$1 got=0
    shift
    timeout $LONG "$CLEAVE" run -q "$@" >out 2>err || got=$?
    if [ "$got" -ne "$expected" ]; then
        echo "cleave run $*: exit status $got, expected $expected"
        cat err
        return 1
    fi
}
