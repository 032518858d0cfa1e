# run_pairs.bats -- cleave run --pairs. SPDX-License-Identifier: MIT
load helper

# make_pairs COUNT -- $ONE and $TWO, mates of unequal lengths.
make_pairs() {
    ONE=$BATS_TEST_TMPDIR/one.fastq
    TWO=$BATS_TEST_TMPDIR/two.fastq
    awk -v n="$1" -v one="$ONE" -v two="$TWO" 'BEGIN {
        for (i = 1; i <= n; i++) {
            a = b = ""
            for (k = 0; k < i % 40 + 1; k++) a = a substr("ACGT", (i + k) % 4 + 1, 1)
            for (k = 0; k < i % 23 + 30; k++) b = b substr("TGCA", (i * k) % 4 + 1, 1)
            p = a; gsub(/./, "@", p); q = b; gsub(/./, "I", q)
            printf "@read%d/1\n%s\n+\n%s\n", i, a, p >one
            printf "@read%d/2\n%s\n+\n%s\n", i, b, q >two
        }
    }'
}

@test "every command gets the mates of its records on descriptor 3" {
    make_pairs 800
    mkdir "$BATS_TEST_TMPDIR/parts"
    export PARTS=$BATS_TEST_TMPDIR/parts
    for size in 1500 20000 10000000; do
        rm -f "$PARTS"/*
        cleave 0 run -q --split fastq --pairs "$TWO" -i "$ONE" --block $size -j 3 -- sh -c '
            cat <&3 >"$PARTS/$$.2"; cat >"$PARTS/$$.1"; echo $$'
        for part in $output; do
            cat "$PARTS/$part.1" >>"$BATS_TEST_TMPDIR/all.$size.1"
            cat "$PARTS/$part.2" >>"$BATS_TEST_TMPDIR/all.$size.2"
            # As many records, of the same reads.
            [ "$(awk 'NR % 4 == 1' "$PARTS/$part.1" | sed 's,/1$,,')" = \
                "$(awk 'NR % 4 == 1' "$PARTS/$part.2" | sed 's,/2$,,')" ]
        done
        cmp "$ONE" "$BATS_TEST_TMPDIR/all.$size.1"
        cmp "$TWO" "$BATS_TEST_TMPDIR/all.$size.2"
    done
}

@test "the default policy keeps mates together when it takes chunks back" {
    make_pairs 9000
    cleave 0 run -q --split fastq --pairs "$TWO" -i "$ONE" -j 'fast,slow' -- sh -c '
        if [ "$CLEAVE_WORKER" = slow ]; then sleep 0.3; fi
        paste - - - - <&3 | cut -f 1 >"$0.$$"; paste - - - - | cut -f 1 | paste - "$0.$$"
        rm "$0.$$"' "$BATS_TEST_TMPDIR/mates"
    printf '%s\n' "$output" | awk -F '\t' '
        { sub("/1$", "", $1); sub("/2$", "", $2); if ($1 != $2 || $1 != "@read" NR) exit 1 }
        END { if (NR != 9000) exit 1 }'
}

@test "a command that does not read the mates, or only them, is no problem" {
    make_pairs 6000
    cleave 0 run -q --split fastq --pairs "$TWO" -i "$ONE" -j 2 --block 200000 -- wc -l
    [ "$(printf '%s\n' "$output" | awk '{ n += $1 } END { print n }')" = 24000 ]
    cleave 0 run -q --split fastq --pairs "$TWO" -i "$ONE" -j 2 --block 200000 -- \
        sh -c 'wc -l <&3'
    [ "$(printf '%s\n' "$output" | awk '{ n += $1 } END { print n }')" = 24000 ]
}

@test "--failed keeps the mates of a chunk next to it" {
    make_pairs 10
    cleave 1 run -q --split fastq --pairs "$TWO" -i "$ONE" -j 1 --block 10000000 \
        --failed "$BATS_TEST_TMPDIR/failed" -- false
    cmp "$ONE" "$BATS_TEST_TMPDIR/failed/one.fastq.0-$(stat -c %s "$ONE")"
    cmp "$TWO" "$BATS_TEST_TMPDIR/failed/one.fastq.0-$(stat -c %s "$ONE").mates"
}

@test "persistent commands get frames of mates" {
    command -v python3 >/dev/null || skip "python3 is not there"
    make_pairs 600
    cat >"$BATS_TEST_TMPDIR/command.py" <<'PYTHON'
import os, sys
first, second = sys.stdin.buffer, os.fdopen(3, "rb")
def get(source):
    return source.read(int.from_bytes(source.read(8), "big"))
while first.peek(1):
    one, two = get(first), get(second)
    answer = b"%d %d\n" % (one.count(b"\n"), two.count(b"\n"))
    sys.stdout.buffer.write(len(answer).to_bytes(8, "big") + answer)
    sys.stdout.buffer.flush()
PYTHON
    cleave 0 run -q --persistent --split fastq --pairs "$TWO" -i "$ONE" -j 2 --block 5000 -- \
        python3 "$BATS_TEST_TMPDIR/command.py"
    printf '%s\n' "$output" | awk '$1 != $2 { exit 1 } { n += $1 } END { exit n != 2400 }'
}

@test "files that do not match are refused" {
    make_pairs 100
    head -n 396 "$TWO" >"$BATS_TEST_TMPDIR/short"
    cleave 2 run -q --split fastq --pairs "$BATS_TEST_TMPDIR/short" -i "$ONE" -- cat
    cleave 2 run -q --split lines --pairs "$TWO" -i "$ONE" -- cat
    [[ $stderr == *fastq* ]]
    "$CLEAVE" run -q --pairs "$TWO" -- cat <"$ONE" >/dev/null
}
