# cleave figures: every figure as text, JSON, CSV and SVG, and its claims.
# SPDX-License-Identifier: MIT
load helper

# All figures, rough, made once for the tests that look at them.
setup_file() {
    export FIGURES="$BATS_FILE_TMPDIR/figures"
    command -v gnuplot >/dev/null || return 0
    cd "$CLEAVE_SOURCE_DIR" || return 1
    env LC_ALL=C "$CLEAVE" figures --quick --json --out "$FIGURES" \
        >"$BATS_FILE_TMPDIR/json" 2>"$BATS_FILE_TMPDIR/complaints"
}

needs_gnuplot() {
    command -v gnuplot >/dev/null || skip "gnuplot is not there"
}

names() {
    "$CLEAVE" figures --list --json | sed -n 's/.*"name": "\([^"]*\)".*/\1/p'
}

# symbols FILE -- the names that a program or library defines, sorted.
symbols() {
    nm --defined-only "$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | LC_ALL=C sort -u
}

@test "the list names each figure with its source and its claim" {
    cleave 0 figures --list
    golden figures-list.txt
    [ "$(names | wc -l)" -eq 31 ]
    cleave 0 figures --list --json
    valid_json
    [ "$(printf '%s\n' "$output" | grep -c '"source": ".*"says": "')" -eq 31 ]
}

@test "all figures are made, and their claims come out as they should" {
    needs_gnuplot
    [ ! -s "$BATS_FILE_TMPDIR/complaints" ]
    output=$(cat "$BATS_FILE_TMPDIR/json")
    valid_json
    output=$(sed -n 's/.*"name": "\([^"]*\)".*/\1/p
        s/.*"claim": "\(.*\)", "holds": true.*/  holds    \1/p
        s/.*"claim": "\(.*\)", "holds": false.*/  differs  \1/p' "$BATS_FILE_TMPDIR/json")
    [ "$(printf '%s\n' "$output" | grep -v '^ ')" = "$(names)" ]
    golden figures-claims.txt
}

@test "every figure has a CSV file with its columns, all rows complete" {
    needs_gnuplot
    output=$(for name in $(names); do
        echo "$name: $(head -n 1 "$FIGURES/$name.csv")"
    done)
    golden figures-columns.txt
    for name in $(names); do
        awk -v name="$name" '
            # Commas inside quotes are not between fields.
            { line = $0; gsub(/"[^"]*"/, "text", line); n = split(line, field, ",") }
            NR == 1 { columns = n; next }
            n != columns { print name ": row " NR " has " n " fields, not " columns; bad = 1 }
            { for (i = 2; i <= n; i++)
                if (field[i] !~ /^(-?[0-9.]+(e[-+]?[0-9]+)?|-?inf)?$/) {
                    print name ": row " NR ": " field[i]; bad = 1 } }
            END { if (NR < 2) { print name ": no rows"; bad = 1 } exit bad }
        ' "$FIGURES/$name.csv"
    done
}

@test "every figure has an SVG file with labelled axes" {
    needs_gnuplot
    for name in $(names); do
        grep -q '</svg>' "$FIGURES/$name.svg"
        [ "$(grep -c '<text' "$FIGURES/$name.svg")" -ge 2 ]
        if python3 -c '' 2>/dev/null; then
            python3 - "$FIGURES/$name.svg" <<'END'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
assert root.tag.endswith('svg'), root.tag
assert float(root.get('width')) >= 700 and float(root.get('height')) >= 150
END
        fi
    done
    grep -q 'mean makespan over UMR' "$FIGURES/umr-fig4.svg"
    grep -q 'time (s)' "$FIGURES/returns-fig2.svg"
}

@test "numbers that are exact" {
    cleave 0 figures umr-fig5 umr-fig6 associative-fig1 nonclairvoyant-fig2 returns-fig2
    golden figures-exact.txt
}

@test "the number of threads changes nothing" {
    for name in umr-fig7 nonclairvoyant-table1 nonclairvoyant-markov; do
        cleave 0 figures $name --quick --threads 1
        local one=$output
        cleave 0 figures $name --quick --threads 3
        [ "$output" = "$one" ]
    done
}

@test "an unknown figure is refused" {
    refuses "unknown figure 'umr-fig44'; did you mean 'umr-fig4' or 'umr-fig5' or 'umr-fig6'?" \
        figures umr-fig44
    refuses "unknown figure 'return-regions'; did you mean 'returns-regions'?" \
        figures umr-fig5 return-regions
}

@test "figures reports obstacles before the work" {
    local out=$BATS_TEST_TMPDIR/out
    cleave 0 figures umr-fig5 --out "$out" --csv-only
    [ "$(ls "$out")" = umr-fig5.csv ]
    refuses "--out: '$out/umr-fig5.csv' exists; use --force to replace it" \
        figures nonclairvoyant-fig3 umr-fig5 --out "$out" --csv-only
    [ "$(ls "$out")" = umr-fig5.csv ]
    cleave 0 figures umr-fig5 umr-fig5 --out "$out" --csv-only --force
    [ "$(printf '%s\n' "$output" | grep -c '^umr-fig5: ')" -eq 1 ]
    cleave 1 figures umr-fig5 --csv-only --out "$out/umr-fig5.csv/more"
    [ "$stderr" = "cleave: --out: cannot make the folder '$out/umr-fig5.csv/more': Not a directory" ]
    refuses "--out: '$out/umr-fig5.csv' is not a folder" \
        figures umr-fig5 --csv-only --out "$out/umr-fig5.csv"
    refuses "--csv-only: needs --out" figures umr-fig5 --csv-only
    refuses "--force: needs --out" figures umr-fig5 --force
}

@test "without gnuplot" {
    local out=$BATS_TEST_TMPDIR/out
    mkdir "$BATS_TEST_TMPDIR/empty"
    run -3 --separate-stderr env PATH="$BATS_TEST_TMPDIR/empty" "$CLEAVE" figures --out "$out"
    [ -z "$output" ]
    [ "$stderr" = "cleave: --out: cannot start gnuplot: No such file or directory; install gnuplot, or use --csv-only for files without pictures" ]
    [ ! -e "$out" ]
    run -0 env PATH="$BATS_TEST_TMPDIR/empty" "$CLEAVE" figures umr-fig5 --out "$out" --csv-only
    [ -s "$out/umr-fig5.csv" ]
}

@test "a gnuplot that fails" {
    local bin=$BATS_TEST_TMPDIR/bin
    mkdir "$bin"
    printf '#!/bin/sh\necho "no svg in this one" >&2\nexit 1\n' >"$bin/gnuplot"
    chmod +x "$bin/gnuplot"
    run -3 --separate-stderr env PATH="$bin" "$CLEAVE" figures umr-fig5 --out "$BATS_TEST_TMPDIR/out"
    [ "$stderr" = "cleave: --out: gnuplot failed: no svg in this one; install gnuplot, or use --csv-only for files without pictures" ]
    # One that draws the first time and then does not.
    printf '#!/bin/sh\n[ -e "$0.used" ] && { echo broken >&2; exit 1; }\n: >"$0.used"\n' \
        >"$bin/gnuplot"
    run -3 --separate-stderr env PATH="$bin:/usr/bin:/bin" "$CLEAVE" figures umr-fig5 \
        --out "$BATS_TEST_TMPDIR/out"
    [ "$stderr" = "cleave: gnuplot failed: broken" ]
    [ -s "$BATS_TEST_TMPDIR/out/umr-fig5.csv" ]
}

@test "cleave passes the words for figures on unchanged" {
    local folder=$BATS_TEST_TMPDIR/libexec
    mkdir "$folder"
    printf '#!/bin/sh\nprintf "<%%s>\\n" "$@"\nexit 42\n' >"$folder/cleave-figures"
    chmod +x "$folder/cleave-figures"
    CLEAVE_LIBEXEC=$folder cleave 42 figures "a name" --threads=2 --quick -- --x
    [ "$output" = "<a name>
<--threads=2>
<--quick>
<-->
<--x>" ]
    # The program says the same by itself.
    "$CLEAVE" figures umr-fig5 umr-fig6 >"$BATS_TEST_TMPDIR/one"
    "$(dirname "$CLEAVE")/cleave-figures" umr-fig5 umr-fig6 >"$BATS_TEST_TMPDIR/two"
    cmp "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two"
    [ "$("$CLEAVE" figures --help)" = "$("$(dirname "$CLEAVE")/cleave-figures" --help)" ]
}

@test "without the figures program cleave names the package, and help works" {
    local folder=$BATS_TEST_TMPDIR/bin
    mkdir "$folder"
    cp "$CLEAVE" "$folder/cleave"
    CLEAVE="$folder/cleave" cleave 3 figures umr-fig5
    [ "$stderr" = "cleave: 'cleave figures' is missing: there is no program cleave-figures, \
which is in the Debian package cleave-figures" ]
    [ -z "$output" ]
    CLEAVE_LIBEXEC=/nowhere cleave 3 figures --list
    [ "$stderr" = "cleave: 'cleave figures' is missing: CLEAVE_LIBEXEC names the folder \
/nowhere, which has no cleave-figures" ]
    CLEAVE_LIBEXEC=/nowhere refuses "unknown option '--quik'; did you mean '--quick'?" \
        figures --quik
    CLEAVE_LIBEXEC=/nowhere cleave 0 figures --help
    [ "$output" = "$("$CLEAVE" figures --help)" ]
    CLEAVE_LIBEXEC=/nowhere cleave 0 completions fish
    has "from figures' -a '$(names | paste -s -d ' ')'"
}

@test "no figure is in the library, in cleave or in the copy for other machines" {
    local here=$CLEAVE_BUILD_DIR mine=$BATS_TEST_TMPDIR/mine
    nm --defined-only -g "$here/kit/libcleave-papers.a" | awk 'NF == 3 { print $3 }' |
        LC_ALL=C sort -u >"$mine"
    [ "$(grep -c '^cv_figure_' "$mine")" -ge 31 ]
    [ "$(LC_ALL=C join "$mine" <(symbols "$here/cleave-figures") | wc -l)" -ge 30 ]
    for file in "$here/cleave" "$here/lib/libcleave.so" "$here/lib/libcleave.a"; do
        symbols "$file" >"$BATS_TEST_TMPDIR/symbols"
        [ "$(wc -l <"$BATS_TEST_TMPDIR/symbols")" -ge 100 ]
        [ -z "$(LC_ALL=C join "$mine" "$BATS_TEST_TMPDIR/symbols")" ]
    done
    # Nor are their texts; the copy for other machines has no symbols.
    local title="Rounds of UMR against bandwidth over speed, for three pairs of latencies"
    "$CLEAVE" figures --list --json | grep -qF "$title"
    grep -qF "$title" "$here/cleave-figures"
    for file in "$here/cleave" "$here"/lib/libcleave.* "$here/cleave-portable"; do
        [ ! -f "$file" ] || run ! grep -qF "$title" "$file"
    done
}

@test "progress is for terminals" {
    cleave 0 figures streams-fig4 --quick
    [ -z "$stderr" ]
    on_terminal figures streams-fig4 umr-fig5 --quick
    [ "$status" -eq 0 ]
    has "1/2 streams-fig4 ["
    has "2/2 umr-fig5 ["
}
