# from_gnu_parallel.bats -- the recipes of docs/guide/coming-from.md do what they say.
# SPDX-License-Identifier: MIT
#
# golden/recipes.txt is what GNU parallel writes; CLEAVE_ACCEPT=1 asks it again. That both are
# asked beside each other is in run_items.bats.
load helper

# What recipes are about.
fixture() {
    rm -rf "$BATS_TEST_TMPDIR/kitchen"
    mkdir -p "$BATS_TEST_TMPDIR/kitchen/sub"
    cd "$BATS_TEST_TMPDIR/kitchen" || return 1
    export TMPDIR=$BATS_TEST_TMPDIR # what --files keeps stays there
    printf 'x\n' >a.txt
    printf 'y y\n' >b.txt
    printf 'z\n' >'c d.txt'
    printf '1\n2 3\n' >list
    printf 'echo first\necho second | tr a-z A-Z\n' >commands
    printf 'who\twhere\nada\tlondon\nkurt\tbrno\n' >table
    printf '>a\nAC\nGT\n>b\nA\n' >fasta
    seq 20000 >big
}

# recipes COLUMN -- the commands of that column, one a line.
recipes() {
    awk -F ' \\| ' -v column="$1" '/^## / { inside = /^## Recipes of/ } inside && /^\| `/ {
        text = $column
        sub(/^\| /, "", text)
        sub(/ \|$/, "", text)
        gsub(/^`|`$/, "", text)
        gsub(/\\\|/, "|", text)
        print text
    }' "$CLEAVE_SOURCE_DIR/docs/guide/coming-from.md"
}

# cook COLUMN -- what each of them writes, under its number.
cook() {
    local number=0 recipe
    while IFS= read -r recipe; do
        fixture
        number=$((number + 1))
        echo "== $number"
        timeout $LONG bash -c "$recipe" 2>err </dev/null 3>&- || true
        [ -z "${SHOW:-}" ] || cat err >&2
    done < <(recipes "$1")
}

@test "the recipes of GNU parallel, as they are typed here" {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    ln -s "$(readlink -f "$CLEAVE")" "$BATS_TEST_TMPDIR/bin/cleave"
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH PARALLEL='--will-cite -k'
    golden=$CLEAVE_SOURCE_DIR/tests/cli/golden/recipes.txt
    [ "$(recipes 1 | wc -l)" -eq 83 ]
    if [ "${CLEAVE_ACCEPT:-}" = 1 ]; then
        cook 1 >"$golden"
    fi
    cook 2 >"$BATS_TEST_TMPDIR/ours"
    diff "$golden" "$BATS_TEST_TMPDIR/ours"
}
