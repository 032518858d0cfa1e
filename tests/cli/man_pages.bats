# Man pages say what --help says. SPDX-License-Identifier: MIT
load helper

@test "man/ holds what the program writes now" {
    tools/make-man "$CLEAVE" "$BATS_TEST_TMPDIR"
    diff -r -x '*.md' "$BATS_TEST_TMPDIR" man || {
        echo "run tools/make-man"
        false
    }
}

@test "a page for each command, with all its options" {
    "$CLEAVE" help --commands | while read -r verb; do
        page=man/cleave-${verb// /-}.1
        [ -f "$page" ]
        "$CLEAVE" help all $verb | sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p' |
            while read -r option; do
                grep -qF -e "\\fB${option//-/\\-}\\fR" "$page"
            done
    done
    grep -q 'cleave\\-plan\\-load' man/cleave.1
}

@test "man can show them" {
    man --version >/dev/null 2>&1 || skip "man is not there"
    for page in man/*.1; do
        run --separate-stderr man --warnings -E UTF-8 -l "$page"
        [ "$status" -eq 0 ]
        [ -z "$stderr" ]
        has "EXIT STATUS"
        [ -z "$(MANWIDTH=80 man -l "$page" | col -bx | awk 'length > 80')" ]
    done
}
