# run_slots.bats -- workers that have things of their own. SPDX-License-Identifier: MIT
load helper

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 50 >a
}

# --- names with numbers -------------------------------------------------------------------

@test "a count after a name makes that many workers, with the number in their words" {
    prepare
    cleave 0 run --dry-run -i a -j 'gpu[0-1]:env D={i} P={%},cpu*2' wc
    has "  gpu0: env D=0 P=1 wc"
    has "  gpu1: env D=1 P=2 wc"
    cleave 0 run --dry-run -i a -j 'x,n[08-10,2]:env D={i}' wc
    has "  n08: env D=08 wc"
    has "  n10: env D=10 wc"
    has "  n2: env D=2 wc"
    cleave 0 run --dry-run -i a -j 'c*3:env D={i}\,{%} E={j}' wc
    has "  c.0: env D=0,1 E={j} wc"
    has "  c.2: env D=2,3 E={j} wc"
    cleave 0 run --dry-run -i a -j 'one*1:env D={i}' wc
    has "  one: env D=0 wc"
}

@test "commands of such workers get their slot and their number" {
    prepare
    cleave 0 run -q -j 'gpu[0-1]:env D={i} P={%},cpu*2:env D= P={%}' -- \
        'echo "$CLEAVE_WORKER $D $CLEAVE_SLOT $P"; sleep 0.02; : {}' ::: a b c d e f g h
    [ "${#lines[@]}" -eq 8 ]
    for line in "${lines[@]}"; do
        case $line in
        "gpu0 0 1 1" | "gpu1 1 2 2" | "cpu.0  3 3" | "cpu.1  4 4") ;;
        *) echo "$line" && return 1 ;;
        esac
    done
}

@test "commands that stay, and those on hosts, know their slot" {
    prepare
    cat >stays <<'S'
#!/usr/bin/env python3
import os, sys
while head := sys.stdin.buffer.read(8):
    sys.stdin.buffer.read(int.from_bytes(head, "big"))
    answer = f"{os.environ['CLEAVE_WORKER']} {os.environ['CLEAVE_SLOT']}\n".encode()
    sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
    sys.stdout.buffer.flush()
S
    chmod +x stays
    cleave 0 run -q -i a -j 'only*1' --block 1k --persistent ./stays
    [ "$output" = "only 1" ]
    printf 'workers:\n  - {name: here, speed: 1e6, bandwidth: 1e9, count: 2}\n' >p.yaml
    printf '  - {name: h, slots: 2, speed: 1e6, bandwidth: 1e9}\n' >>p.yaml
    cleave 0 run -q -i a --hosts p.yaml --block 20 -- \
        sh -c 'cat >/dev/null; echo "$CLEAVE_WORKER $CLEAVE_SLOT"'
    for line in "${lines[@]}"; do
        case $line in
        "here.0 1" | "here.1 2" | "h.0 3" | "h.1 4") ;;
        *) echo "$line" && return 1 ;;
        esac
    done
    # Those that stay elsewhere count the slots of their machine.
    printf 'workers:\n  - {name: %s, slots: 2, speed: 1e6, bandwidth: 1e9}\n' g h | sed 3d >p.yaml
    cleave 0 run -q -i a --hosts p.yaml --block 20 --persistent ./stays
    [ "${#lines[@]}" -gt 1 ]
    for line in "${lines[@]}"; do
        [[ $line == [gh]".0 1" || $line == [gh]".1 2" ]]
    done
}

@test "bad counts of workers are refused" {
    prepare
    for bad in 'g[0-' 'g[]' 'g[1-0]' 'g[a]' 'g[0,2]x' 'g[0-1'; do
        refuses "--workers: expected numbers such as 'g[0-3]' or 'g[0,2-3]', got '$bad'" \
            run -i a -j "$bad" wc
    done
    for bad in 'g*0' 'g*x' 'g*' 'g*1234567'; do
        refuses "--workers: expected 'g*N' with N of 1 to 4096, got '$bad'" \
            run -i a -j "$bad" wc
    done
    refuses "--workers: expected at most 4096, got more" run -i a -j 'g*4096,h' wc
    refuses "--workers: duplicate name 'g1'" run -i a -j 'g[0-1],g1' wc
    refuses "--workers: {i} is the number of one of several workers, as in 'g[0-3]:...' or 'g*4:...'" \
        run -i a -j 'g:env D={i}' wc
}

# --- GPUs of platform files ---------------------------------------------------------------

# gpus FIELDS -- p.yaml has a worker g with these fields.
gpus() {
    printf 'workers:\n  - {name: g, speed: 1e6, bandwidth: 1e9, %s}\n' "$1" >p.yaml
}

@test "gpus: makes a worker for each, who sees only that one" {
    prepare
    unset CUDA_VISIBLE_DEVICES
    gpus 'gpus: 2, command: nice -n 1'
    cleave 0 run --dry-run -i a --hosts p.yaml wc
    has "  g.0: env CUDA_VISIBLE_DEVICES=0 nice -n 1 wc"
    has "  g.1: env CUDA_VISIBLE_DEVICES=1 nice -n 1 wc"
    gpus 'gpus: 2, count: 2'
    cleave 0 run --dry-run -i a --hosts p.yaml wc
    has "  g.2: env CUDA_VISIBLE_DEVICES=0  wc"
    has "  g.3: env CUDA_VISIBLE_DEVICES=1  wc"
    # Those that somebody else has given us.
    export CUDA_VISIBLE_DEVICES=3,GPU-5a
    gpus 'gpus: auto'
    cleave 0 run --dry-run -i a --hosts p.yaml wc
    has "  g.0: env CUDA_VISIBLE_DEVICES=3  wc"
    has "  g.1: env CUDA_VISIBLE_DEVICES=GPU-5a  wc"
    lacks g.2
    cleave 0 calibrate -i a --hosts p.yaml -o measured.yaml -- wc
    grep -q 'gpus: 2' measured.yaml
    run ! grep count: measured.yaml
}

@test "gpus: auto counts the GPUs, and none is an error" {
    prepare
    unset CUDA_VISIBLE_DEVICES
    gpus 'gpus: auto'
    if [ ! -e /dev/nvidia0 ]; then
        mkdir bin
        printf '#!/bin/sh\necho "GPU 0: a (UUID: b)"\necho "  MIG 1"\necho "GPU 1: a (UUID: c)"\n' >bin/nvidia-smi
        chmod +x bin/nvidia-smi
        PATH=$PWD/bin:$PATH cleave 0 run --dry-run -i a --hosts p.yaml wc
        has "  g.1: env CUDA_VISIBLE_DEVICES=1  wc"
        lacks g.2
    fi
    for none in '' -1 -1,0; do
        export CUDA_VISIBLE_DEVICES=$none
        refuses "p.yaml: worker 'g': gpus: auto finds no GPU on this machine: neither /dev/nvidia0 nor nvidia-smi, or CUDA_VISIBLE_DEVICES lists none" \
            run -i a --hosts p.yaml wc
    done
    export CUDA_VISIBLE_DEVICES=7
    gpus 'gpus: 2'
    refuses "CUDA_VISIBLE_DEVICES is '7', which has no GPU number 1" \
        run -i a --hosts p.yaml wc
    gpus 'ssh: far, gpus: auto'
    refuses "p.yaml: host 'g': gpus: auto counts the GPUs of this machine; set the number; to count them: ssh far nvidia-smi -L" \
        run -i a --hosts p.yaml wc
}

@test "slots of a host see a GPU each" {
    prepare
    # What stands for ssh: it runs the last word here.
    printf '#!/bin/bash\nCUDA_VISIBLE_DEVICES=4,6 exec sh -c "${@: -1}"\n' >ssh
    chmod +x ssh
    gpus 'ssh: far, gpus: 2'
    seq 4000 >b
    cleave 0 run -q -i b --hosts p.yaml --ssh ./ssh --remote "$CLEAVE" --block 1k -- \
        sh -c 'cat >/dev/null; echo "$CLEAVE_WORKER $CUDA_VISIBLE_DEVICES"'
    [ "${#lines[@]}" -gt 5 ]
    for line in "${lines[@]}"; do
        [[ $line == "g.0 4" || $line == "g.1 6" ]]
    done
}

# --- processors ---------------------------------------------------------------------------

@test "--pin keeps the commands of each worker on one processor" {
    prepare
    [ "$(nproc)" -gt 1 ] || skip "one processor"
    many=$(($(nproc) + 1))
    cat >where <<'S'
#!/bin/bash
while read -r name list; do
    [ "$name" != Cpus_allowed_list: ] || echo "$CLEAVE_SLOT $list"
done </proc/self/status
sleep 0.02
S
    chmod +x where
    # More workers than processors: each has one, and the last the same as the first.
    cleave 0 run -q -j "$many" --pin ./where ::: $(seq "$many") $(seq "$many")
    sort -u <<<"$output" >pins
    [ "$(wc -l <pins)" -eq "$(cut -d' ' -f1 pins | sort -u | wc -l)" ]
    [ "$(cut -d' ' -f2 pins | grep -c '^[0-9]*$')" -eq "$(wc -l <pins)" ]
    [ "$(sort -u -k2,2 pins | wc -l)" -gt 1 ]
    # Elsewhere too, where slots are counted anew.
    printf 'workers:\n  - {name: h, slots: %s, speed: 1e6, bandwidth: 1e9}\n' "$many" >p.yaml
    cleave 0 run -q -i a --hosts p.yaml --pin --block 1 -- ./where
    sort -u <<<"$output" >pins
    [ "$(cut -d' ' -f2 pins | grep -c '^[0-9]*$')" -eq "$(wc -l <pins)" ]
    # Not unless asked for; and never on others than those of this process.
    cleave 0 run -q -j 1 ./where ::: a
    [[ $output == *[-,]* ]]
    first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    run --separate-stderr taskset -c "$first" "$CLEAVE" run -q -j 2 --pin=nodes ./where ::: a
    [[ $output == [12]" $first" ]]
}

@test "--pin expects cores or nodes" {
    prepare
    refuses "--pin: expected cores or nodes, got 'socket'" run -i a --pin=socket wc
    refuses "--pin: expected cores or nodes, got 'socket'" worker --pin=socket
}

# --- many slots ---------------------------------------------------------------------------

@test "a thousand slots: all of the input, and what the master took" {
    prepare
    {
        echo "port: one"
        echo "workers:"
        for i in {1..20}; do
            echo "  - {name: h$i, slots: 50, speed: 1e6, bandwidth: 1e9}"
        done
    } >many.yaml
    seq 2000 >numbers
    cleave 0 run --json -i numbers -o copy --hosts many.yaml --block 20 cat
    cmp numbers copy
    grep -q '"port_s": [0-9]' <<<"$output"
    grep -q '"master_s": [0-9]' <<<"$output"
    [ "$(grep -c '"name": "h' <<<"$output")" -eq 1000 ]
    cleave 0 run --json -i a -o copy -j 1 cat
    grep -q '"port_s": null' <<<"$output"
}

# --- leaders ------------------------------------------------------------------------------

@test "leaders are planned as one worker; in a run each is one machine" {
    prepare
    printf 'workers:\n  - {name: l, count: 2, speed: 1, bandwidth: 100}\n' >p.yaml
    printf '  - {name: w, via: l, count: 3, speed: 1, bandwidth: 100}\n' >>p.yaml
    cleave 0 plan load --platform p.yaml --load 100 --no-gantt
    has "100 units on 2 workers"
    has "leaders   lead 6 workers"
    refuses "p.yaml: worker 'l' leads other workers (via:) and has count: 2; in a run a leader is one machine: write one entry per leader" \
        run -i a --hosts p.yaml wc
    sed -i 's/count: 2/count: 1/' p.yaml
    refuses "p.yaml: worker 'l' leads others (via:): in a run it has to be a host, with ssh: or slots:" \
        run -i a --hosts p.yaml wc
}

# --- workers that are not alike ------------------------------------------------------------

@test "chunks stay open unless some workers have a GPU and some have none" {
    prepare
    seq 20000 >in
    for words in 'w*2' 'a,b:nice' 'w[1-2]:env CUDA_VISIBLE_DEVICES={i}' 'w*2:env CUDA_VISIBLE_DEVICES='; do
        cleave 0 run -q -i in -o out -j "$words" --trace t -- cat
        cmp in out
        grep -q '"order":"open"' t
    done
    for words in 'gpu[0-0]:env CUDA_VISIBLE_DEVICES={i},cpu*2:env CUDA_VISIBLE_DEVICES=' \
        'cpu,gpu:env HIP_VISIBLE_DEVICES=0' 'gpu:env ZE_AFFINITY_MASK=0,cpu'; do
        cleave 0 run -q -i in -o out -j "$words" --trace t -- cat
        cmp in out
        run grep -c '"order":"open"' t
        [ "$output" = 0 ]
    done
}

@test "unread input of an overdue chunk goes to a free worker" {
    prepare
    seq 3000000 >in
    # The first one reads all before it works, and so all are thought to; the others begin when it has done so,
    # and stand still until it is given what comes before the last it was given: what one of them had to give back.
    cleave 0 run -q -i in -o out -j 3 --trace t -- sh -c '
        if [ $CLEAVE_WORKER = w0 ]; then
            cat >w0.in
            first=$(head -n 1 w0.in)
            [ ! -s last ] || [ "$first" -gt "$(cat last)" ] || touch go
            echo "$first" >last
            sleep 0.1
            cat w0.in
            touch first_done
            exit
        fi
        for i in $(seq 3000); do [ -e first_done ] || sleep 0.02; done
        sleep 0.4
        head -c 1000
        for i in $(seq 3000); do [ -e go ] || sleep 0.02; done
        touch go
        exec cat'
    cmp in out
    grep '"event":"recalled","worker":"w[12]"' t | grep -qv '"units":0,'
}

# --- the example --------------------------------------------------------------------------

@test "the example with a GPU also runs on cores, and makes its pages" {
    mkdir "$BATS_TEST_TMPDIR/kept"
    NVCC='' CPUS=2 RECORDS=2500 ROUNDS=100 KEEP=$BATS_TEST_TMPDIR/kept \
        run "$CLEAVE_SOURCE_DIR/examples/gpu/try.sh"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"persistent "*" over, "* ]]
    [[ $output == *"per-chunk "*" over, "* ]]
    grep -q '"gpu0"' "$BATS_TEST_TMPDIR/kept/persistent.json"
    grep -q 'cpu.1' "$BATS_TEST_TMPDIR/kept/per-chunk.html"
}

@test "workers that may differ: the first test chunk can grow, and records stay complete" {
    prepare
    seq 200000 >numbers
    seq 90000 >more
    printf 'end' >>more
    # Each command is slow to start, so a second start of the first one would cost most of the run.
    printf '#!/bin/sh\nsleep 0.3\nexec sed s/1/one/\n' >slow
    chmod +x slow
    "$CLEAVE" run -q -j 'a,b:nice' -i numbers --joblog log -- ./slow >out
    sed s/1/one/ numbers | cmp - out
    # The other test is in the middle of the file, so that both chunks can grow.
    awk -F '[\t:-]' -v size="$(wc -c <numbers)" '/numbers:0-/ && $NF > size / 16 { long = 1 } END { exit !long }' log
    awk -F '[\t:-]' -v size="$(wc -c <numbers)" '$1 == 2 && $(NF - 1) > size / 3 && $(NF - 1) < size * 2 / 3 { middle = 1 } END { exit !middle }' log
    "$CLEAVE" run -q -j 'a,b:nice,c:env,d:nice' -i numbers -i more -- ./slow >out
    cat numbers more | sed s/1/one/ | cmp - out
    "$CLEAVE" run -q -j 'a,b:nice,c:env,d:nice' --header -i numbers -i more -- ./slow >out
    cat numbers <(tail -n +2 more) | sed s/1/one/ | cmp - out
}
