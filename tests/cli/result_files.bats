# result_files.bats -- files that users name: what is there is whole, or as it was.
# SPDX-License-Identifier: MIT
load helper

prepare() {
    cp "$CLEAVE_SOURCE_DIR/$LAB" "$BATS_TEST_TMPDIR/lab.yaml"
    cd "$BATS_TEST_TMPDIR" || return 1
    "$CLEAVE" plan load -p lab.yaml -l 2000 --trace plan.jsonl >/dev/null
}

# Every way to a file, FILE standing for it; each writes more than 1 KiB.
WAYS=(
    "plan load -p lab.yaml -l 2000 --trace FILE"
    "plan reduce -N 50 -d 1 -c 1 --trace FILE"
    "simulate load -p lab.yaml -l 2000 --runs 2 --trace FILE"
    "simulate reduce -N 50 -d exp:1 -c 1 --runs 2 --trace FILE"
    "simulate streams -p $CLEAVE_SOURCE_DIR/examples/streams.yaml -T 20 --trace FILE"
    "report plan.jsonl --force -o FILE"
    "compare load -p lab.yaml -l 2000 --policies umr --force -o FILE"
    "compare reduce -N 8 -d 1 -c 1 --force -o FILE"
    "platform -w 2000 --heterogeneity 4 --force -o FILE"
)

# limited ARGUMENT... -- run it where no file may have more than 1 KiB.
limited() {
    run --separate-stderr bash -c 'ulimit -f 1; "$CLEAVE" "$@"' limited "$@"
}

# beside -- names that were written beside and left there.
beside() {
    find . -name '.*.part-*'
}

@test "a failed write to a file is reported, and the old file stays" {
    prepare
    for way in "${WAYS[@]}"; do
        echo "cleave $way"
        echo old >file
        limited ${way/FILE/file}
        [ "$status" -eq 1 ]
        [[ $stderr == "cleave: --"*": "*"File too large" ]]
        [ "$(cat file)" = old ]
        [ -z "$(beside)" ]
        rm file
        limited ${way/FILE/file}
        [ "$status" -eq 1 ]
        [ ! -e file ]
        [ -z "$(beside)" ]
    done
}

@test "a new file takes the place of the old one, permissions and links stay" {
    prepare
    mkdir far
    for way in "${WAYS[@]}"; do
        echo "cleave $way"
        rm -f file far/real hard
        echo old >far/real
        chmod 640 far/real
        ln far/real hard
        ln -s far/real file
        cleave 0 ${way/FILE/file}
        [ -z "$stderr" ]
        [ "$(readlink file)" = far/real ]
        [ "$(wc -c <far/real)" -gt 1024 ]
        [ "$(cat hard)" = old ]
        case $way in
        *--trace*) [ "$(stat -c %a far/real)" = 600 ] ;;
        *) [ "$(stat -c %a far/real)" = 640 ] ;;
        esac
        [ -z "$(beside)" ]
    done
}

@test "without an old file the umask decides; traces are for their owner" {
    prepare
    umask 027
    for way in "${WAYS[@]}"; do
        echo "cleave $way"
        rm -f file
        cleave 0 ${way/FILE/file}
        case $way in
        *--trace*) [ "$(stat -c %a file)" = 600 ] ;;
        *) [ "$(stat -c %a file)" = 640 ] ;;
        esac
    done
}

@test "- is standard output, and so are names of open descriptors" {
    prepare
    for way in "${WAYS[@]}"; do
        echo "cleave $way"
        cleave 0 ${way/FILE/file}
        for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1; do
            echo before >all
            "$CLEAVE" ${way/FILE/$name} >>all
            [ "$(head -n 1 all)" = before ]
            # A page and a trace say by what command they were made.
            [ "$(wc -l <all)" -gt "$(wc -l <file)" ]
        done
        [ ! -e - ]
        mkfifo pipe
        cat pipe >piped &
        cleave 0 ${way/FILE/pipe}
        wait $!
        [ -p pipe ]
        [ "$(wc -l <piped)" -eq "$(wc -l <file)" ]
        rm pipe file
    done
}

@test "calibrate takes the samples that run takes, and ends as it does" {
    cd "$BATS_TEST_TMPDIR"
    seq 1000 | gzip >sample.gz
    cleave 0 calibrate -i sample.gz -j 2 -- grep -c 1
    printf 'LZIP\001' >sample.lz
    cleave 2 calibrate -i sample.lz -j 2 -- cat
    [[ $stderr == *"--decode none"* ]]
    cleave 0 calibrate -i sample.gz -j 2 --decode none -- cat
    seq 1000 >sample
    cleave 2 calibrate -i sample -j 2 --max-record 2 -- cat
    [[ $stderr == *"--max-record"* ]]
    cleave 0 calibrate -i sample -j 2 --max-record 5 -- cat
    cleave 143 calibrate -i sample -j 2 -- sh -c 'kill -TERM $PPID; sleep 1'
}

@test "calibrate keeps an existing file, and refuses before it measures" {
    prepare
    umask 022
    echo "# by hand" >file
    refuses "--output: 'file' exists; use --force to replace it" \
        calibrate -i lab.yaml -o file -- sh -c 'touch measured; cat'
    [ ! -e measured ]
    refuses "--output: 'file' exists; use --force to replace it" \
        calibrate --topology "$CLEAVE_SOURCE_DIR/examples/two-sites.xml" -o file
    [ "$(cat file)" = "# by hand" ]
    cleave 1 calibrate -i lab.yaml -j 2 --force -o file -- false
    [ "$(cat file)" = "# by hand" ]
    [ -z "$(beside)" ]
    cleave 0 calibrate -i lab.yaml -j 2 --force -o file -- cat
    grep -q ^workers: file
    cleave 0 calibrate -i lab.yaml -j 2 -o new -- cat
    [ "$(stat -c %a new)" = 644 ]
}

@test "a directory without write permission is reported with the command to type" {
    prepare
    if [ "$(id -u)" -eq 0 ]; then
        # Root may write everywhere, unless this is taken from it.
        setpriv --bounding-set=-dac_override true 2>/dev/null || skip "root may write everywhere"
        printf '#!/bin/sh\nexec setpriv --bounding-set=-dac_override "%s" "$@"\n' "$CLEAVE" >bound
        chmod +x bound
        CLEAVE=$PWD/bound
    fi
    mkdir shut
    echo old >shut/file
    chmod 555 shut
    refuses "--trace: cannot write 'shut/file': Permission denied in its folder, where a new file is \
written first; '> FILE' writes into the old one" plan load -p lab.yaml -l 20 --trace shut/file
    refuses "--trace: cannot write 'shut/new': Permission denied" \
        plan load -p lab.yaml -l 20 --trace shut/new
    # The same of a run, before anything is done.
    refuses "--output: cannot write 'shut/file': Permission denied in its folder, where a new file is \
written first; '> FILE' writes into the old one" run -i lab.yaml -o shut/file -- touch ran
    refuses "--joblog: cannot write 'shut/new': Permission denied" run -i lab.yaml --joblog shut/new -- touch ran
    [ ! -e ran ]
    chmod 755 shut
    chmod 444 shut/file
    refuses "--trace: cannot write 'shut/file': Permission denied" \
        plan load -p lab.yaml -l 20 --trace shut/file
    [ "$(cat shut/file)" = old ]
}
