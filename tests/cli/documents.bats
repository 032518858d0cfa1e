# What README and docs show is what the command prints. SPDX-License-Identifier: MIT
load helper

# true_blocks FILE... -- their console blocks show what is printed now.
true_blocks() {
    if [ "${CLEAVE_ACCEPT:-}" = 1 ]; then
        tools/console-blocks accept "$@"
    fi
    tools/console-blocks check "$@"
}

# registered -- the names of all policies, one to a line, sorted.
registered() {
    cleave 0 policies
    printf '%s\n' "$output" | sed -n '/^  for a /!s/^  \([a-z0-9-]\{1,\}\) .*/\1/p' | sort
}

@test "console blocks of the documents are true" {
    true_blocks README.md docs/guide/*.md docs/theory/*.md docs/inside/*.md
}

@test "console blocks of the pages about policies are true" {
    true_blocks docs/guide/policies/*.md
}

@test "every policy has a page, and every page a policy" {
    registered >"$BATS_TEST_TMPDIR/registered"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/registered")" -ge 29 ]
    for page in docs/guide/policies/*.md; do
        basename "$page" .md
    done | grep -v '^README$' | sort >"$BATS_TEST_TMPDIR/pages"
    diff -u "$BATS_TEST_TMPDIR/registered" "$BATS_TEST_TMPDIR/pages"
}

@test "a page about a policy has its name, its parameters, figures and a source" {
    for name in $(registered); do
        page=docs/guide/policies/$name.md
        [ "$(head -n 1 "$page")" = "# $name" ] || {
            echo "$page does not begin with its name"
            return 1
        }
        for line in "^\$ cleave policies $name\$" "^## Cost\$" "^## When it wins" \
            "^\$ cleave .*compare\|^\$ cleave plan" "^Source: "; do
            grep -q "$line" "$page" || {
                echo "$page has no line '$line'"
                return 1
            }
        done
    done
}

@test "the index of the policies lists each of them once" {
    for name in $(registered); do
        [ "$(grep -c "^| \[$name\]($name.md) |" docs/guide/policies/README.md)" -eq 1 ] || {
            echo "docs/guide/policies/README.md: $name"
            return 1
        }
    done
}

@test "files that the documents point to are there" {
    find . -name '*.md' ! -path './build*' ! -path './.*' >"$BATS_TEST_TMPDIR/documents"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/documents")" -gt 60 ]
    while read -r file; do
        awk '/^```/ { inside = !inside } !inside' "$file" |
            grep -o '](\([^)# ]*\)[^) ]*)' | sed 's/^](\([^)#]*\).*/\1/' |
            while read -r target; do
                case $target in '' | *://*) continue ;; esac
                [ -e "$(dirname "$file")/$target" ] || echo "$file: $target"
            done
    done <"$BATS_TEST_TMPDIR/documents" >"$BATS_TEST_TMPDIR/missing"
    diff -u /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "what the walk through the source names is in the source" {
    grep -o '`[a-z_]*/[a-zA-Z0-9_/-]*\(\.[a-z0-9]*\)\?`' docs/inside/internals.md | tr -d '`' |
        sort -u | grep -v 'NAME' >"$BATS_TEST_TMPDIR/files"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/files")" -gt 50 ]
    while read -r name; do
        [ -e "src/$name" ] || [ -e "$name" ] || case $name in
        build/*) ;;
        *) echo "no file $name" ;;
        esac
    done <"$BATS_TEST_TMPDIR/files" >"$BATS_TEST_TMPDIR/missing"
    grep -o '`\(struct \)\?c\(v\|leave\)_[a-z0-9_]*' docs/inside/internals.md | sed 's/.*[` ]//' |
        sort -u >"$BATS_TEST_TMPDIR/names"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -gt 20 ]
    while read -r name; do
        grep -rqw "$name" src include || echo "no name $name"
    done <"$BATS_TEST_TMPDIR/names" >>"$BATS_TEST_TMPDIR/missing"
    diff -u /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "every room has a README that says what it may include" {
    tools/room-maps check
}

@test "a README that forgets a sub-room or its arrows is found out" {
    mkdir "$BATS_TEST_TMPDIR/tree"
    cp -r --parents src/*.md src/run src/io/README.md tools/layers tools/room-maps \
        "$BATS_TEST_TMPDIR/tree"
    cd "$BATS_TEST_TMPDIR/tree"
    grep -v '^| \[`[a-z]*`\]' src/README.md >x
    { cat x; echo '| `run` | x | engine |'; echo '| `io` | x | base, model |'; } >src/README.md
    tools/room-maps accept
    tools/room-maps check
    grep -v '^| `wire` ' src/run/README.md >x
    sed 's/^\(| `fold` .*| \).* |$/\1kit |/' x >src/run/README.md
    echo 'May include: run.' >src/io/README.md
    run tools/room-maps check
    [ "$status" -eq 1 ]
    [[ $output == *"src/run/README.md: expected one row for wire"* ]]
    [[ $output == *"| kit, output, slot |"* ]]
    [[ $output == *"-May include: run."* ]]
    mkdir src/new
    run tools/room-maps check
    [[ $output == *"src/new/README.md: missing"* ]]
}
