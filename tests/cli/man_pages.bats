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

@test "a page for each call and each struct of the library" {
    tools/make-man3 "$BATS_TEST_TMPDIR/man3"
    cd "$BATS_TEST_TMPDIR"
    while read -r name; do
        [ -s "man3/$name.3" ] || { echo "no page for $name"; return 1; }
    done <"$CLEAVE_SOURCE_DIR/cmake/libcleave.symbols"
    for name in $(cd "$CLEAVE_SOURCE_DIR" && sed -n 's/^struct \(cleave_[a-z_]*\) {.*/\1/p' include/cleave/{execute,run,policy}.h); do
        [ -s "man3/$name.3" ] || { echo "no page for struct $name"; return 1; }
    done
    # A page has the prototype, the comment, the types and the notes of its header.
    page=$(cat man3/cleave_execute.3)
    [[ $page == *"enum cleave_status cleave_execute(const struct cleave_execution *execution,"* ]]
    [[ $page == *"*out is set whenever the run began"*"struct cleave_failure_options {"*"Threads: several threads"* ]]
    [ "$(cat man3/cleave_execution_free.3)" = ".so man3/cleave_execute.3" ]
    [ "$(cat man3/cleave_output.3)" = ".so man3/cleave_execute.3" ]
    grep -qx '.BR cleave_plan_load (3)' man3/cleave.3
    man --version >/dev/null 2>&1 || skip "man is not there"
    for page in man3/cleave.3 man3/cleave_execute.3 man3/cleave_policy_find.3 man3/cleave_mpi_reduce.3; do
        run --separate-stderr man --warnings -E UTF-8 -l "$page"
        [ "$status" -eq 0 ]
        [ -z "$stderr" ]
        has "SEE ALSO"
    done
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
