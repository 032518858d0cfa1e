# run_fails.bats -- cleave run with workers and records that make commands fail.
# SPDX-License-Identifier: MIT
load helper
load job

prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 1 50000 >in
}

# --- workers that fail ------------------------------------------------------------------------

@test "a worker that only fails costs nothing, under any policy" {
    prepare
    local how names
    for how in '' '--block 20k' '--policy self' '--policy factoring' '--policy umr' '--policy one-round' '--retries 3'; do
        for names in 'good,bad:false' 'bad:false,good' 'bad:false,good,worse:false'; do
            # shellcheck disable=SC2086
            job -i in -j "$names" $how -- cat
            cmp in out
            says 'cleave: bad: was rested: '
            says ' succeeded elsewhere'
        done
    done
    # A stream, and by what the environment says.
    # shellcheck disable=SC2016
    job -j good,bad -- sh -c '[ "$CLEAVE_WORKER" != bad ] && cat' <in
    cmp in out
    # A command that stays.
    job -i in -j 'good,bad:false' --persistent -- cat
    cmp in out
}

@test "a host that lacks something costs nothing" {
    prepare
    hosts 'name: a, slots: 2, command: env HAS=1' 'name: b, slots: 3' >h.yaml
    local how
    for how in '' '--block 20k' '--policy umr'; do
        # shellcheck disable=SC2016,SC2086
        job -i in --hosts h.yaml $how -- sh -c '[ -n "$HAS" ] && cat'
        cmp in out
        # `learn` may have a do all of it.
        [ -z "$how" ] || says 'cleave: b: was rested: '
    done
    # shellcheck disable=SC2016
    cleave 0 run -i in -o out --hosts h.yaml --block 20k --json -- sh -c '[ -n "$HAS" ] && cat'
    [[ $output =~ '"name": "b.0", '[^}]*'"rests": '[1-9] ]]
}

@test "a failing command loses the input it was given, and no more" {
    prepare
    seq 1 2000000 | sed '1400000s/.*/BAD/' >in
    # shellcheck disable=SC2016
    cleave 1 run -i in -o out -j 2 -- awk '/BAD/ { exit 1 } { print }'
    [[ $stderr =~ 'in: bytes '([0-9]+)' to '([0-9]+)' ' ]]
    # Of the 4.8 MB behind the bad record the pipe holds 1 MiB at most.
    ((BASH_REMATCH[2] < 12500000))
}

@test "a chunk is tried again by another worker first" {
    prepare
    # shellcheck disable=SC2016
    job -i in -j a,b --block 1M --retries 2 --joblog log -- sh -c '[ -e tried ] || { touch tried; exit 1; }; cat'
    cmp in out
    [ "$(tail -n +2 log | cut -f 2 | sort | xargs)" = "a b" ]
    # Where there is no other, by the same.
    rm tried
    # shellcheck disable=SC2016
    job -i in -j 'a*1' --block 1M --retries 2 --joblog log -- sh -c '[ -e tried ] || { touch tried; exit 1; }; cat'
    cmp in out
    # Not even once, if one run is what was asked for.
    rm tried
    # shellcheck disable=SC2016
    fails_with 1 -i in -j a,b --block 1M --retries 1 --joblog log -- sh -c '[ -e tried ] || { touch tried; exit 1; }; cat'
    [ "$(wc -l <log)" -eq 2 ]
}

@test "a worker whose open chunk has failed is given other work, while another tries it again" {
    prepare
    seq 300000 >in
    # The other one waits until the first has come back, but not for ever.
    cat >say <<'END'
read x
if [ $CLEAVE_WORKER = w1 ]; then
    [ ! -d failed ] || touch again
    ! mkdir failed 2>/dev/null || exit 3
else
    for i in $(seq 400); do [ -e again ] || sleep 0.05; done
fi
echo $x
cat
END
    job -i in -j 2 --retries 3 -- sh say
    cmp in out
    [ -e again ]
}

@test "a command that always fails ends the run soon, with a note" {
    prepare
    fails_with 1 -i in -j 2 --block 1 --joblog log -- false
    says 'chunks failed and none succeeded: does the command read standard input? (--halt never: do not halt)'
    [ "$(wc -l <log)" -lt 200 ]
    head -n 300 in >few
    fails_with 1 -i few -j 2 --block 1 --halt never -- false
    says 'cleave: all chunks failed: does the command read standard input?'
    # One that has read nothing, sooner; not if it reads.
    fails_with 1 -i in -j 2 --joblog log -- sh -c 'exit 3'
    says 'chunks failed and none succeeded: '
    [ "$(wc -l <log)" -lt 40 ]
    seq 300000 >many
    fails_with 1 -i many -j 2 --policy learn --param most=5000 --joblog log -- sh -c 'cat >/dev/null; exit 3'
    [ "$(wc -l <log)" -ge 100 ]
    # One that succeeds now and then goes on.
    # shellcheck disable=SC2016
    fails_with 1 -i few -j 2 --block 1 -- sh -c 'read -r n; echo "$n"; [ "$n" -eq 2 ]'
    [ "$(cat out)" = 2 ]
    [[ $(cat err) != *halted* ]]
}

@test "a command that needs a header ends the run soon, with a note" {
    prepare
    { echo name && seq 1000; } >table
    # shellcheck disable=SC2016
    local wants='read -r n && [ "$n" = name ] && cat'
    fails_with 1 -i table -j 2 --block 20 --joblog log -- sh -c "$wants"
    says 'chunks failed, only first chunks of files succeeded: if the input has a header, use --header (--halt never: do not halt)'
    [ "$(wc -l <log)" -lt 150 ]
    # Several files, each of which has one.
    head -n 200 table >one && cp one two
    fails_with 1 -i one -i two -j 2 --block 5 --joblog log -- sh -c "$wants"
    says 'only first chunks of files succeeded'
    # Few chunks are done to the end.
    fails_with 1 -i table -j 2 --block 1k -- sh -c "$wants"
    says 'cleave: all chunks but the first failed: has the input a header? --header gives it to every command'
    # It is something else where a file fails from its beginning on, or a chunk within succeeds,
    { echo other && seq 30; } >two
    fails_with 1 -i two -i one -j 2 --block 5 -- sh -c "$wants"
    [[ $(cat err) != *header* ]]
    { head -n 20 one && cat one; } >two
    fails_with 1 -i two -j 2 --block 5 -- sh -c "$wants"
    [[ $(cat err) != *header* ]]
    # or there is a header; or if one wants all of it in any case.
    fails_with 1 -i table -j 2 --header --block 20 -- sh -c 'read -r n && read -r n && [ "$n" = 1 ]'
    [[ $(cat err) != *"has a header"* ]]
    fails_with 1 -i table -j 2 --block 20 --halt never -- sh -c "$wants"
    says 'cleave: all chunks but the first failed: has the input a header?'
    [[ $(cat err) != *halted* ]]
    job -i table -j 2 --header --block 20 -- sh -c "$wants"
    seq 1000 | cmp - out
}

# --- records that fail ------------------------------------------------------------------------

# picky -- a command that fails on what holds BAD, and writes all else as it is.
picky() {
    cat >picky <<'SH'
#!/bin/sh
cat >"given.$$"
grep -aq BAD "given.$$" && exit 3
cat "given.$$"
rm "given.$$"
SH
    chmod +x picky
}

@test "--isolate: one bad record costs one record" {
    prepare
    sed 's/^34567$/34567 BAD/' in >bad
    fails_with 1 -i bad -j 2 --isolate --failed kept --joblog log -- sed '/BAD/Q3'
    sed '/BAD/d' bad | cmp - out
    [ "$(ls kept)" = bad.196290-196300 ]
    [ "$(cat kept/*)" = "34567 BAD" ]
    says 'bad: bytes 196290 to 196300 (records 34567 to 34567): the command exited with status 3'
    # About 2 log2 n runs, besides those of the chunks.
    [ "$(grep -c . log)" -lt 90 ]
    cleave 1 run -i bad -j 2 --isolate --json -o out2 -- sed '/BAD/Q3'
    has '{"input": "bad", "begin": 196290, "end": 196300, "first": 34567, "records": 1}'
    has '"failed_chunks": 1,'
    # A stream, one worker, retries: the record is tried as often as was asked for.
    # shellcheck disable=SC2002
    cat bad | fails_with 1 -j 1 --block 100k --isolate --retries 2 --joblog log -- sed '/BAD/Q3'
    sed '/BAD/d' bad | cmp - out
    [ "$(grep -c 'standard input:196290-196300' log)" -eq 2 ]
}

@test "--isolate: several bad records, neighbours, the first and the last" {
    prepare
    sed -E 's/^(1|2|700|701|31000|49999|50000)$/& BAD/' in >bad
    fails_with 1 -i bad -j 3 --isolate --failed kept -- sed '/BAD/Q3'
    sed '/BAD/d' bad | cmp - out
    [ "$(cat kept/* | wc -l)" -eq 7 ]
    [ "$(cat kept/* | grep -c BAD)" -eq 7 ]
    # One long record, alone in the second half.
    { seq 100; head -c 100000 /dev/zero | tr '\0' x; echo; } >long
    fails_with 1 -i long -j 1 --block 1M --isolate --joblog log -- sh -c 'sed "/^50$/Q3"'
    grep -vx 50 long | cmp - out
    [ "$(grep -c . log)" -lt 30 ]
}

@test "--isolate: where all are bad it is given up, and what fails only together is done" {
    prepare
    fails_with 1 -i in -j 2 --block 1M --isolate --halt never --joblog log -- sh -c 'cat >/dev/null; exit 5'
    [ ! -s out ]
    [ "$(grep -c . log)" -lt 150 ]
    seq 100 >in
    job -i in -j 1 --block 1M --isolate --joblog log -- sh -c 'x=$(cat); echo "$x"; case $x in 1*100) exit 3 ;; esac'
    cmp in out
    [ "$(grep -c . log)" -eq 4 ]
}

@test "--isolate: records of every kind" {
    prepare
    picky
    local n
    isolates() { # SPLIT FILE EXPECTED ARGUMENT...
        local split=$1 file=$2 expected=$3
        shift 3
        fails_with 1 -i "$file" --split "$split" -j 2 --block 1M --isolate --failed kept "$@" -- ./picky
        cmp "$expected" out
        [ "$(cat kept/* | grep -ac BAD)" -ge 1 ]
        rm -r kept
    }
    for n in $(seq 40); do
        [ "$n" = 23 ] && echo "$n,\"BAD
quoted\"" || echo "$n,\"x
y\""
    done >t.csv
    sed '/BAD/,+1d' t.csv >expected
    isolates csv t.csv expected
    for n in $(seq 40); do printf '>r%d\nAC%s\nGT\n' "$n" "$([ "$n" = 9 ] && echo BAD)"; done >t.fa
    awk '/^>/ { skip = /^>r9$/ } !skip' t.fa >expected
    isolates fasta t.fa expected
    for n in $(seq 40); do printf '@r%d\nACG\n+\n%s\n' "$n" "$([ "$n" = 40 ] && echo BAD || echo III)"; done >t.fq
    head -n 156 t.fq >expected
    isolates fastq t.fq expected
    for n in $(seq 40); do printf 'p %d\n%s\n\n' "$n" "$([ "$n" = 1 ] && echo BAD)"; done | sed '/^$/N;/^\n$/D' >t.txt
    awk -v RS= -v ORS='\n\n' '!/BAD/' t.txt >expected
    isolates paragraph t.txt expected
    for n in $(seq 40); do printf 'n%d%s\0' "$n" "$([ "$n" = 30 ] && echo BAD)"; done >t.nul
    grep -zv BAD t.nul >expected
    isolates nul t.nul expected
    for n in $(seq 100 140); do echo "$n$([ "$n" = 121 ] && echo BAD || echo ...)"; done >t.fix
    grep -v BAD t.fix >expected
    isolates fixed:7 t.fix expected
    for n in $(seq 40); do printf '== %d\n%s\n' "$n" "$([ "$n" = 12 ] && echo BAD || echo x)"; done >t.re
    sed '/== 12/,+1d' t.re >expected
    isolates 'regex:^==' t.re expected
}

@test "--isolate: headers and mates go with their records" {
    prepare
    { echo head; seq 40; } | sed 's/^17$/17 BAD/' >t
    fails_with 1 -i t --header -j 2 --block 1M --isolate --failed kept -- sh -c 'sed 1d | sed "/BAD/Q3"'
    seq 40 | sed 17d | cmp - out
    [ "$(cat kept/*)" = "head
17 BAD" ]
    rm -r kept
    for n in $(seq 40); do printf '@r%d\nACG\n+\nIII\n' "$n"; done >one.fq
    for n in $(seq 40); do printf '@r%d\n%s\n+\nJJJ\n' "$n" "$([ "$n" = 6 ] && echo BAD || echo TTT)"; done >two.fq
    # shellcheck disable=SC2016
    fails_with 1 -i one.fq --pairs two.fq --split fastq -j 2 --block 1M --isolate --failed kept -- \
        sh -c 'cat >/dev/null; sed "/BAD/Q3" <&3'
    # What comes before a mate that is bad was done, in another piece.
    sed '21,24d' two.fq | cmp - out
    [ "$(grep -c BAD kept/*.mates)" -eq 1 ]
    [ "$(cat kept/*.mates | wc -l)" -eq 4 ]
}

@test "--isolate: a command that takes too long, and on hosts" {
    prepare
    printf '1\n2\n' >few
    # shellcheck disable=SC2016
    fails_with 1 -i few -j 1 --block 1M --isolate --timeout 3 -- sh -c 'x=$(cat); case $x in 1*) exec sleep 9875 ;; esac; echo "$x"'
    [ "$(cat out)" = 2 ]
    says '(records 1 to 1): the command took longer than 3 s'
    hosts 'name: a, slots: 2' 'name: b, slots: 1' >h.yaml
    sed -E 's/^(1|34567)$/& BAD/' in >bad
    for how in '' '--block 100k' '--policy umr'; do
        # shellcheck disable=SC2086
        fails_with 1 -i bad --hosts h.yaml --isolate $how -- sed '/BAD/Q3'
        sed '/BAD/d' bad | cmp - out
    done
}

@test "--isolate: finished parts of a bad chunk are in the journal" {
    prepare
    sed 's/^34567$/34567 BAD/' in >bad
    fails_with 1 -i bad -j 2 --isolate --journal j.db -- sh -c '[ -e mended ] && exec cat; exec sed "/BAD/Q3"'
    touch mended
    job -i bad -j 2 --isolate --journal j.db --resume --joblog log -- sh -c '[ -e mended ] && exec cat; exec sed "/BAD/Q3"'
    cmp bad out
    [ "$(wc -l <log)" -eq 2 ]
    grep -q 'bad:196290-196300' log
}

# --- commands killed for want of memory -------------------------------------------------------

@test "a command that is killed is tried on halves, and later chunks are smaller" {
    prepare
    # shellcheck disable=SC2016
    local hungry='cat >"given.$$"; [ "$(wc -c <"given.$$")" -le 30000 ] || '
    # shellcheck disable=SC2016
    local fine='; cat "given.$$"; rm "given.$$"'
    local end
    for end in 'kill -9 $$' 'exit 137'; do
        job -i in -j 1 --block 50k --retries 2 --joblog log -- sh -c "$hungry$end$fine"
        cmp in out
        # The first one failed; what came after it had half its size.
        [ "$(grep -c . log)" -ge 12 ]
        [ "$(awk -F '\t' 'NR > 1 && $5 > 30000' log | wc -l)" -eq 1 ]
        # As often as was asked for: a quarter is the third time.
        fails_with 1 -i in -j 1 --block 100k --retries 2 -- sh -c "$hungry$end$fine"
        job -i in -j 1 --block 100k --retries 3 -- sh -c "$hungry$end$fine"
        cmp in out
        # Without retries it has failed, but no other does.
        fails_with 1 -i in -j 1 --block 50k --joblog log -- sh -c "$hungry$end$fine"
        [ "$(awk -F '\t' 'NR > 1 && ($7 != 0 || $8 != 0)' log | wc -l)" -eq 1 ]
    done
    # Chunks that stay open do not grow beyond it, either.
    # shellcheck disable=SC2016
    job -i in -j 2 --retries 8 -- sh -c "${hungry}kill -9 \$\$$fine"
    cmp in out
    # Another failure says nothing about sizes.
    fails_with 1 -i in -j 1 --block 50k --retries 2 --joblog log -- sh -c "${hungry}exit 1$fine"
    [ "$(awk -F '\t' 'NR > 1 && $5 > 30000' log | wc -l)" -eq 12 ]
}
