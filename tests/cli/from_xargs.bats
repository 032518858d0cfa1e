# from_xargs.bats -- both sides of the table of docs/guide/coming-from.md do the same. SPDX-License-Identifier: MIT
load helper

fixture() {
    rm -rf "$BATS_TEST_TMPDIR/kitchen"
    mkdir -p "$BATS_TEST_TMPDIR/kitchen/copies"
    cd "$BATS_TEST_TMPDIR/kitchen" || return 1
    printf 'x 1\n>y 2\n' >a.log
    printf 'b  3\na 4\n' >b.log
    printf '1\n' >'c d.txt'
    printf 'p\nq\n' >e.txt
    printf '1\n2\n' >list
}

# recipes COLUMN -- the first command of that column, one a line.
recipes() {
    awk -F ' \\| ' -v column="$1" '/^## |^\| (xargs|case) / { inside = /^\| xargs/ } inside && /^\| `/ {
        text = $column
        gsub(/\\\|/, "|", text)
        sub(/^(\| )?`/, "", text)
        sub(/`(:|,| \||$).*/, "", text)
        print text
    }' "$CLEAVE_SOURCE_DIR/docs/guide/coming-from.md"
}

# cook COLUMN -- what each writes, sorted, and the files that it leaves.
cook() {
    local number=0 recipe
    while IFS= read -r recipe; do
        fixture
        number=$((number + 1))
        echo "== $number"
        timeout "$LONG" bash -c "$recipe" 2>err </dev/null 3>&- | sort || true
        [ "$1" -eq 1 ] || grep '^cleave: .*expected\|refused\|cannot' err || true
        find . -type f ! -name err | sort
    done < <(recipes "$1")
}

@test "xargs and cleave write the same, and leave the same files" {
    command -v python3 >/dev/null || skip "python3 is not installed"
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    ln -s "$(readlink -f "$CLEAVE")" "$BATS_TEST_TMPDIR/bin/cleave"
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH
    [ "$(recipes 1 | wc -l)" -eq 15 ]
    cook 1 >"$BATS_TEST_TMPDIR/theirs"
    cook 2 >"$BATS_TEST_TMPDIR/ours"
    diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
}
