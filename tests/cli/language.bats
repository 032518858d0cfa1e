#!/usr/bin/env bats
# tools/language finds the constructions that docs/inside/language.md bans. SPDX-License-Identifier: MIT
load helper

@test "language finds bad sentences in comments, strings, documents and names of tests" {
    cd "$BATS_TEST_TMPDIR"
    cat >bad.c <<'CODE'
/* Whoever is late
 * gets no more. plain is fine here. */
int f(void)
{
    int x; /* what is left behind the end */
    puts("a worker that is gone cannot be reached");
    return x;
}
CODE
    printf 'Of a file of FASTQ, records are cut.\n\n```\nnobody reads this\n```\n' >bad.md
    printf '@test "it is said by nobody" {\n' >bad.bats
    run "$CLEAVE_SOURCE_DIR"/tools/language bad.c bad.md bad.bats
    [ "$status" -eq 1 ]
    for expected in bad.c:1:\ who-subject bad.c:5:\ what-subject bad.c:5:\ behind bad.c:6:\ is-gone \
        bad.md:1:\ of-opening bad.bats:1:\ is-said bad.bats:1:\ nobody; do
        [[ $output == *"$expected:"* ]] || { echo "not found: $expected"; return 1; }
    done
    [ "${#lines[@]}" -eq 7 ]
}

@test "language accepts plain sentences, code, and text that is marked" {
    cd "$BATS_TEST_TMPDIR"
    cat >good.c <<'CODE'
/* Seconds this attempt kept its worker busy; NOBODY: none. Who reads this? plain: ok */
static const char *const text = "a worker exited before its output arrived";
CODE
    printf '`what is it` prints a table.\n\n<!-- plain: off -->\nWhoever asks.\n<!-- plain: on -->\nA line.\n' >good.md
    printf '@test "a leader reassigns the chunks of a lost host" {\n    nobody\n' >good.bats
    run "$CLEAVE_SOURCE_DIR"/tools/language good.c good.md good.bats
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "the tree stays below the limits of language" {
    "$CLEAVE_SOURCE_DIR"/tools/language
}
