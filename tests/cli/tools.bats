# tools.bats -- the tools that write do so only where they are told to.
# SPDX-License-Identifier: MIT
load helper

@test "an option that a tool does not know makes it write nothing" {
    local house=$BATS_TEST_TMPDIR/house tool option
    mkdir -p "$house"/build/lib "$house/empty"
    cp -r tools man completions docs include examples python ./*.md "$house"
    cp "$CLEAVE" "$house/build/cleave"
    cd "$house/empty"
    find "$house" -type f -exec cksum {} + | sort >"$BATS_TEST_TMPDIR/before"
    for tool in make-man make-completions make-page make-samples make-dist make-image make-release make-site \
        make-wheel make-man3 licenses make-cast fuzz lint room-maps mutants; do
        for option in --help -h --no-such-option; do
            run ! "$house/tools/$tool" "$option"
            [[ $output == *usage:* ]] || { echo "$tool $option: $output"; return 1; }
        done
    done
    find "$house" -type f -exec cksum {} + | sort | diff "$BATS_TEST_TMPDIR/before" -
}

@test "pages and completions stay as they are where the program cannot write them" {
    local tool file
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n[ "$2" = --commands ] && echo run && exit\necho half\n[ "$2 $3" != "--man run" ] && [ "$2" != fish ]\n' \
        >"$BATS_TEST_TMPDIR/cleave"
    chmod +x "$BATS_TEST_TMPDIR/cleave"
    for tool in make-man make-completions; do
        mkdir "$BATS_TEST_TMPDIR/$tool"
        for file in cleave.1 cleave-run.1 cleave.bash _cleave cleave.fish; do
            echo kept >"$BATS_TEST_TMPDIR/$tool/$file"
        done
        run ! "tools/$tool" "$BATS_TEST_TMPDIR/cleave" "$BATS_TEST_TMPDIR/$tool"
        [ "$(cat "$BATS_TEST_TMPDIR/$tool"/* | sort -u)" = kept ]
    done
}

@test "peer-suite: calls that do the same, are refused, or differ in silence" {
    command -v python3 >/dev/null || skip "python3 is not there"
    unshare --mount --pid --fork --net mount -t tmpfs tmpfs /mnt 2>/dev/null || skip "no sandbox"
    [[ $CLEAVE != /tmp/* ]] || skip "the sandbox hides /tmp"
    local made=$BATS_TEST_TMPDIR/suite
    mkdir -p "$made/src" "$made/testsuite/tests-to-run"
    echo 'print "a\n";' >"$made/src/parallel"
    cat >"$made/testsuite/tests-to-run/one.sh" <<'END'
par_one() {
    echo a >list
    cat list |
        parallel echo
    parallel --no-such-option echo ::: a
    parallel echo other ::: a
    parallel --sshlogin b echo ::: a
}
END
    run -1 tools/peer-suite "$made" -o "$BATS_TEST_TMPDIR/report"
    [ "$output" = "3 calls: 1 the same, 1 refused, 0 differ with a message, 1 differ in silence; 0 left out" ]
    grep -q '^=== 3 silent one.sh$' "$BATS_TEST_TMPDIR/report"
    run -1 tools/peer-suite "$BATS_TEST_TMPDIR"
    [[ $output == "peer-suite: expected "*"/src/parallel" ]]
}

@test "only tests of processes and clocks are repeated alone, and are named then" {
    local folder=$BATS_TEST_TMPDIR/tests
    mkdir "$folder"
    # A test that fails the first time, one that always fails, one whose result cannot depend on the load.
    tests_of() {
        rm -f "$folder/once"
        printf 'add_test(%s sh -c "%s")\n' "$@" >"$folder/CTestTestfile.cmake"
    }
    local once="[ -e $folder/once ] || ! touch $folder/once"
    tests_of cli/late "$once" cli/good true
    run -0 tools/run-tests "$folder" -j 2
    [ "${lines[-1]}" = 'run-tests: passed when repeated alone: cli/late ' ]
    tests_of cli/late "$once" cli/bad false
    run ! tools/run-tests "$folder" -j 2
    [[ $output == *'now repeated alone: cli/bad cli/late '* && $output != *'passed when'* ]]
    tests_of unit/late "$once" cli/good true
    run ! tools/run-tests "$folder" -j 2
    [[ $output != *repeated* ]]
}
