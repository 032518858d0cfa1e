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
        make-wheel make-cast fuzz lint room-maps mutants; do
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
