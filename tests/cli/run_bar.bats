# run_bar.bats -- what cleave run --bar draws. SPDX-License-Identifier: MIT
load helper
load drawn

# A file of 10 MB and a command that reads 3 MB of them, waits for the file `go` and then
# reads the rest: more than a pipe holds.
prepare() {
    in_own_folder
    yes 123456789 | head -n 1000000 >in
    printf '#!/bin/sh\nhead -c 3000000 >/dev/null\nwhile [ ! -e %s/go ]; do sleep 0.02; done\ncat >/dev/null\n' "$T" >some
    chmod +x some
}

# draws COLUMNS TEXT ARGUMENT... -- cleave run --bar on a terminal so wide: see drawn.bash.
draws() {
    local columns=$1
    shift
    draws_on "cols $columns rows 40" --bar "$@"
}

@test "the bar shows what commands have read" {
    prepare
    draws 100 ' 30%  ' -i in -j 1 --block 20M -- ./some
    # A bar of '#', as wide as the terminal leaves it.
    grep -qE '^#{8}\.{21}  30%  [0-9.]+s, [0-9.]+s to go  3\.0 MB of 10\.0 MB  0 chunks  1 of 1 busy$' lines ||
        grep -qE '^#{8}\.{21}  30%  [0-9.]+s  3\.0 MB of 10\.0 MB  0 chunks  1 of 1 busy$' lines
    # It never fills the last column, in which some terminals begin a new line.
    [ "$(grep '%  ' lines | awk '{ print length }' | sort -n | tail -n 1)" -le 99 ]
}

@test "--progress json writes objects for programs" {
    prepare
    "$CLEAVE" run -q -i in -j 1 --block 20M --progress json -o out -- ./some 2>err &
    until grep -q '"done":3000000,' err; do sleep 0.02; done
    touch go
    wait $!
    grep -qE '^\{"progress":\{"elapsed_s":[0-9.e-]+,"left_s":([0-9.e-]+|null),"done":3000000,"total":10000000,"failed":0,"text":"[0-9.]+s.*  3\.0 MB of 10\.0 MB  0 chunks  1 of 1 busy"\}\}$' err
    run ! grep -v '^{"progress":{"elapsed_s":.*}}$' err
}

@test "the bar of a resume covers the remaining input" {
    prepare
    # shellcheck disable=SC2016
    local job=(-i in -j 1 --block 5M --journal j --retries 1 -- sh -c '[ "$CLEAVE_BEGIN" = 0 ] || { [ -e again ] && ./some; }')
    cleave 1 run -q "${job[@]}"
    touch again
    draws 100 ' 60%  ' --resume "${job[@]}"
    grep -qE ' 3\.0 MB of 5\.0 MB  0 chunks ' lines
}

@test "the bar is of blocks where there is UTF-8" {
    prepare
    export LC_ALL=C.UTF-8
    draws 100 ' 30%  ' -i in -j 1 --block 20M -- ./some
    grep -qE '^████████(▋|▊)░+  30%' lines
}

@test "a narrow terminal gets what matters, a stream no part of the whole" {
    prepare
    draws 40 ' 30%  ' -i in -j 1 --block 20M -- ./some
    grep -qE '^  30%  [0-9.]+s' lines
    [ "$(grep '%  ' lines | awk '{ print length }' | sort -n | tail -n 1)" -le 39 ]
    mkfifo pipe
    { cat in; until [ -e go ]; do sleep 0.02; done; } >pipe &
    draws 100 'chunk' -i pipe -j 1 -- cat
    grep -qE '^[0-9.]+s  [0-9.]+ [kM]?B  [0-9]+ chunks?  [0-9] of 1 busy$' lines
    run ! grep -q 'to go' lines
    wait
}

@test "outputs on the same screen begin where the bar was" {
    prepare
    local option
    for option in --bar --live; do
        rm -f go drawn
        # shellcheck disable=SC2016
        TERM=xterm timeout 200 script -qec "stty cols 100 rows 40; '$CLEAVE' run -q $option -j 1 \
            'until [ -e go ]; do sleep 0.02; done; echo written {}' ::: 1 2" /dev/null >drawn 2>&1 3>&- &
        for _ in $(seq 3000); do
            ! grep -qF ' 0 of 2 commands' drawn || break
            sleep 0.02
        done
        touch go
        wait
        grep -qF ' 0 of 2 commands' drawn
        grep -qE $'\r\033\\[[JK]written 1' drawn
    done
}

@test "standard error of commands begins where the bar was" {
    prepare
    # shellcheck disable=SC2016
    draws 100 ' 0 of 1 commands' -j 1 'until [ -e go ]; do sleep 0.02; done; echo failed {} >&2' ::: 1
    grep -qE $'\r\033\\[Kfailed 1' drawn
}

# in_terminal FILE TERM OPTION... -- a run on a terminal in the background that waits for `go`; FILE is
# what it draws.
in_terminal() {
    local file=$1 term=$2
    shift 2
    TERM=$term timeout 200 script -qec "stty cols 100 rows 40; $(printf '%q ' "$CLEAVE" run -j 1 "$@") \
        'echo written {}; until [ -e go ]; do sleep 0.02; done' ::: 1 2" /dev/null >"$file" 2>&1 3>&- &
}

@test "a bar is drawn by default after a while, unless it would be in the way" {
    prepare
    in_terminal default xterm -o out1
    in_terminal quiet xterm -q -o out2
    in_terminal none xterm --progress none -o out3
    in_terminal dumb dumb -o out4
    in_terminal outputs xterm --line-buffer
    # A shell with job control runs it in the background.
    TERM=xterm timeout 200 script -qec "bash -mc '\"$CLEAVE\" run -o out5 \"until [ -e go ]; do sleep 0.02; done; : {}\" ::: 1 & wait'" /dev/null >back 2>&1 3>&- &
    for _ in $(seq 3000); do
        ! grep -qF ' 0 of 2 commands' default || break
        sleep 0.02
    done
    sleep 0.3
    touch go
    wait
    grep -qE '\.  +0%  [0-9.]+s  0 of 2 commands' default
    run ! grep -F ' busy' quiet none dumb outputs back
    grep -qF 'written 2' outputs
}

@test "nothing is drawn where there is no terminal" {
    prepare
    touch go
    "$CLEAVE" run -q --bar -i in -o out -- ./some 2>err
    [ ! -s err ]
}
