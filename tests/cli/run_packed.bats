# cleave run -o FILE.gz and the like. SPDX-License-Identifier: MIT
load helper
load job

# unpack FILE -- what the usual program for its ending decodes.
unpack() {
    case $1 in
    *.gz | *.bgz) gzip -dc <"$1" ;;
    *.zst) zstd -dcq "$1" ;;
    *.xz) xz -dc "$1" ;;
    *.bz2) bzip2 -dc "$1" ;;
    *.lz4) lz4 -dcq "$1" ;;
    esac
}

# has_program FORM -- whether that program is installed.
has_program() {
    local name
    case $1 in gz | bgz) name=gzip ;; zst) name=zstd ;; bz2) name=bzip2 ;; *) name=$1 ;; esac
    command -v $name >/dev/null
}

@test "an output is compressed as its name says" {
    cd "$BATS_TEST_TMPDIR"
    seq 1 700000 >in
    for form in gz bgz zst xz bz2 lz4; do
        for more in "" "-j 1" "-u -j 1"; do
            rm -f out.$form
            # shellcheck disable=SC2086
            timeout $LONG "$CLEAVE" run -q -i in $more -o out.$form -- cat
            ! has_program $form || unpack out.$form | cmp - in
            # In parts that are decoded in parallel: by cleave itself.
            timeout $LONG "$CLEAVE" run -q -i out.$form -- cat | cmp - in
            [ "$(wc -c <out.$form)" -lt "$(wc -c <in)" ]
        done
    done
    # Items, reductions and headers.
    cleave 0 run -q -o items.gz echo ::: 1 2 3
    gzip -dc items.gz | cmp - <(seq 3)
    cleave 0 run -q -i in -o sum.gz --reduce sum -- cat
    [ "$(gzip -dc sum.gz)" = 245000350000 ]
}

@test "an empty output is an empty file of the form" {
    cd "$BATS_TEST_TMPDIR"
    seq 100 >in
    for form in gz bgz zst xz bz2 lz4; do
        cleave 0 run -q -i in -o out.$form -- sed d
        [ -s out.$form ]
        ! has_program $form || [ -z "$(unpack out.$form)" ]
    done
}

@test "an output that is compressed already is not compressed again" {
    cd "$BATS_TEST_TMPDIR"
    seq 1 100000 >in
    cleave 0 run -q -i in --block 100k -o out.gz -- gzip -c
    gzip -dc out.gz | cmp - in
    # One that is compressed in another way is.
    cleave 0 run -q -i in -o out.bz2 -- gzip -c
    ! has_program bz2 || unpack out.bz2 | gzip -dc | cmp - in
}

@test "a compressed file gets its name only if it is complete" {
    cd "$BATS_TEST_TMPDIR"
    seq 1 100000 >in
    cleave 1 run -q -i in --block 100k --retries 1 -o out.gz -- \
        sh -c 'cat; [ $CLEAVE_BEGIN -lt 100000 ] || exit 1'
    [ ! -e out.gz ]
    part=$(echo .out.gz.part-*)
    gzip -dc "$part" | cmp - <(head -c "$(gzip -dc "$part" | wc -c)" in)
    rm "$part"
    # Nothing is left if there was no output.
    cleave 1 run -q -i in --block 100k -o out.gz -- false
    [ -z "$(ls -A | grep out.gz)" ]
    echo older >out.gz
    cleave 1 run -q -i in -o out.gz -- false
    [ "$(cat out.gz)" = older ]
}

@test "the name of a format that is not written is refused, by run and by split" {
    cd "$BATS_TEST_TMPDIR"
    seq 10 >in
    for form in zip 7z Z lz lzma br tgz; do
        refuses "--output: cannot write 'out.$form': .$form is not written, but .gz, .bgz, .zst, .xz, .bz2 and .lz4; another program can read standard output" \
            run -i in -o out.$form -- touch ran
        cleave 2 split -i in -n 2 -o part-{}.$form
        [[ $stderr == *".$form is not written, but .gz"* ]]
    done
    [ -z "$(ls | grep 'out\|part\|ran')" ]
}

@test "a compressed output that a journal continues is the whole output" {
    cd "$BATS_TEST_TMPDIR"
    seq 1 100000 >in
    for form in gz zst xz bz2 lz4; do
        rm -rf journal done
        cleave 1 run -q -i in --block 50k --retries 1 --journal journal -o out.$form -- \
            sh -c 'cat; [ -e done ] || [ $CLEAVE_BEGIN -lt 200000 ]'
        [ ! -e out.$form ]
        rm -f .out.$form.part-*
        touch done
        cleave 0 run -q -i in --block 50k --retries 1 --journal journal --resume -o out.$form -- \
            sh -c 'cat; [ -e done ] || [ $CLEAVE_BEGIN -lt 200000 ]'
        ! has_program $form || unpack out.$form | cmp - in
    done
}

@test "a file that cannot be written is reported" {
    cd "$BATS_TEST_TMPDIR"
    seq 1 300000 >in
    ln -s /dev/full full.gz
    cleave 1 run -q -i in -o full.gz -- cat
    [[ $stderr == *"cleave: --output: cannot write 'full.gz': No space left on device"* ]]
    refuses "--ungroup: commands cannot write to 'out.gz' themselves, which is compressed; --line-buffer writes each line as it comes" \
        run -o out.gz --ungroup echo ::: 1
    [ -z "$(ls -A | grep out.gz)" ]
}
