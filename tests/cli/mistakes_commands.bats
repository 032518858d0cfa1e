# mistakes_commands.bats -- commands and names that cannot be taken as they were typed, and results
# that are not what was meant: it is said what to type.
# SPDX-License-Identifier: MIT
load helper

setup() {
    unset NO_COLOR COLUMNS LC_CTYPE LANG
    export LC_ALL=C
    cd "$BATS_TEST_TMPDIR"
    seq 2000 >numbers
}

# told STATUS TYPE ARGUMENT... -- it ends so, and says what to type.
told() {
    local expected=$1 type=$2
    shift 2
    run --separate-stderr timeout 30 "$CLEAVE" "$@" </dev/null
    [[ $stderr == *"$type"* && $status -eq $expected ]] || {
        echo "cleave $*: exit status $status, expected $expected and: $type"
        echo "$stderr"
        return 1
    }
}

@test "programs that cannot be run" {
    mkdir folder bin
    printf '#!/no/such/interpreter -x\n' >other
    printf '#!/bin/sh\r\nwc -l\r\n' >windows
    printf '\x7fELF of another processor' >elf
    printf '#!/bin/sh\ncat\n' >bin/sort-of
    chmod +x other windows elf bin/sort-of
    told 2 "; its first line asks for '/no/such/interpreter'" run -i numbers -- ./other
    told 2 "; its first line ends in a carriage return, as on Windows: sed -i 's/\\r\$//' ./windows" run -i numbers -- ./windows
    told 2 "it was made for another processor than $(uname -m)" run -i numbers -- ./elf
    told 2 "it was made for another processor than" run ./elf ::: one
    told 2 "it is a folder. If it is the input: -i folder --recursive" run folder wc
    told 2 "if it is an alias of your shell, type what it stands for" run -i numbers -- ll
    PATH=$PWD/bin:$PATH told 2 "not found in PATH; did you mean 'sort-of'?" run -i numbers -- sotr-of
    told 2 "cannot run './nothing': No such file or directory" run ./nothing ::: one
    count() { wc -l; }
    export -f count
    told 2 "it is a function of bash, which knows it: bash -c 'count \"\$@\"' count" run -i numbers -- count
    run -0 --separate-stderr "$CLEAVE" run -q -i numbers -j 1 --block 1M -- bash -c 'count "$@"' count
    [ "$output" = 2000 ]
    seq 40000 >long
    told 2 "one argument has room for 128 KiB" run -d , -a long wc -l
}
