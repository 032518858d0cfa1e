# What README and docs show is what the command prints. SPDX-License-Identifier: MIT
load helper

# Pages that answer a task; the others are references and reports.
TASKS=$(cd "$CLEAVE_SOURCE_DIR" && ls docs/guide/{first-run,inputs,formats,headers,compressed,split,commands,persistent,items,placeholders,items-on-hosts,output,failures,resume,reduce,progress,hosts,leaders,lost-hosts,slurm,batch,containers,mpi-run,planning,messages,coming-from,check}.md)

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
    printf '%s\n' "$output" | sed -n '/^  for /!s/^  \([a-z0-9-]\{1,\}\) .*/\1/p' | sort
}

@test "console blocks of the documents are true" {
    run true_blocks README.md docs/guide/*.md docs/theory/*.md docs/inside/*.md
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${CLEAVE_ACCEPT:-}" = 1 ] && return
    [[ ${lines[-1]} =~ ([0-9]+)\ commands\ run,\ ([0-9]+)\ compared\ with\ another,\ ([0-9]+)\ not\ run\ here ]]
    [ "${BASH_REMATCH[1]}" -ge 190 ]
    [ "${BASH_REMATCH[2]}" -ge 33 ]
    [ "${BASH_REMATCH[3]}" -le 45 ] # their list is above
}

@test "console-blocks reports a wrong output and a different serial output, and lists skipped commands" {
    printf '%s\n' '```console' '$ echo one' 'two' '```' '<!-- same: echo other -->' \
        '<!-- elsewhere: ssh -->' '```sh' 'cleave run --hosts a -- wc' '```' >"$BATS_TEST_TMPDIR/page.md"
    run tools/console-blocks check "$BATS_TEST_TMPDIR/page.md"
    [ "$status" -eq 1 ]
    [[ $output == *"page.md:5: not the same: echo other: other"* ]]
    [[ $output == *"page.md:8: ssh: cleave run --hosts a -- wc"* ]]
    [ "${lines[-1]}" = "1 commands run, 1 compared with another, 1 not run here" ]
    sed -i '/^<!-- same/d' "$BATS_TEST_TMPDIR/page.md"
    run tools/console-blocks check "$BATS_TEST_TMPDIR/page.md"
    [ "$status" -eq 1 ]
    [[ $output == *"-two"*"+one"* ]]
    tools/console-blocks accept "$BATS_TEST_TMPDIR/page.md"
    tools/console-blocks check "$BATS_TEST_TMPDIR/page.md"
    # The line that ends a slow run is not compared.
    printf '%s\n' '```console' '$ echo "cleave: 1.5 MB in 0.83 s on 2 workers, 1.9 times one worker"' \
        'cleave: 2.6 MB in 7 s on 2 workers, 1.2 times one worker' '```' >"$BATS_TEST_TMPDIR/page.md"
    tools/console-blocks check "$BATS_TEST_TMPDIR/page.md"
}

@test "every command of the README and of the pages by task is run, or names a reason" {
    for page in README.md $TASKS; do
        awk -v page="$page" '
            /^<!-- elsewhere: / { marked = 1; next }
            /^```/ { fenced = !fenced; shown = fenced && ($0 == "```console" || marked); if (fenced) marked = 0; next }
            (fenced && !shown || /^    /) && /^ *(\$ )?cleave [a-z]/ { print page ":" FNR ": " $0 }' "$page"
    done >"$BATS_TEST_TMPDIR/unmarked"
    diff -u /dev/null "$BATS_TEST_TMPDIR/unmarked"
}

@test "pages by task have at most 1500 words, and paragraphs at most 90" {
    for page in README.md $TASKS; do
        awk -v page="$page" '
            /^```/ { fenced = !fenced }
            fenced || /^(```|[|#]|    |$|<!--|[-0-9]+[.]? )/ { if (n > 90) print page ":" FNR ": " n " words"; n = 0 }
            !fenced && !/^(```|[|#]|    |<!--)/ { n += NF; all += NF }
            END { if (all > 1500) print page ": " all " words" }' "$page"
    done >"$BATS_TEST_TMPDIR/long"
    diff -u /dev/null "$BATS_TEST_TMPDIR/long"
    [ "$(wc -l <README.md)" -le 120 ]
}

@test "console blocks of the pages about policies are true" {
    true_blocks docs/guide/policies/*.md
}

@test "commands of the documents can be pasted into an empty folder" {
    run tools/try-documents README.md docs/guide/*.md
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output =~ ([0-9]+)\ commands\ of\ ([0-9]+)\ documents,\ ([0-9]+)\ left\ out ]]
    [ "${BASH_REMATCH[1]}" -ge 10 ]
    [ "${BASH_REMATCH[3]}" -le 60 ]
}

@test "rows of a table have as many cells as its head" {
    for page in README.md docs/*.md docs/*/*.md; do
        awk -v page="$page" '
            /^```/ { fenced = !fenced }
            fenced || !/^\|/ { cells = 0; next }
            { gsub(/\\\|/, ""); n = gsub(/\|/, ""); if (cells && n != cells) print page ":" FNR; cells = cells ? cells : n }' "$page"
    done >"$BATS_TEST_TMPDIR/uneven"
    diff -u /dev/null "$BATS_TEST_TMPDIR/uneven"
}

@test "a command that cannot be pasted is found out" {
    printf '%s\n' 'Well:' '' '    cleave run -q -i numbers -- \' '        wc -l >lines' '' '```' \
        '$ cat lines | cleave run -q -- cat' 'cleave run -q -i nothing -- cat' '```' \
        >"$BATS_TEST_TMPDIR/page.md"
    run tools/try-documents "$BATS_TEST_TMPDIR/page.md"
    [ "$status" -eq 1 ]
    [ "${lines[0]}" = "$BATS_TEST_TMPDIR/page.md:8: cleave run -q -i nothing -- cat" ]
    [ "${lines[1]}" = "    cleave: nothing: cannot read: No such file or directory" ]
    [ "${lines[2]}" = "3 commands of 1 documents, 0 left out" ]
}

@test "files of console blocks are among the samples" {
    cleave 0 sample --list
    printf '%s\n' "$output" | awk '{ print $1 }' | sort >"$BATS_TEST_TMPDIR/samples"
    awk '/^```console/ { inside = 1 } /^```$/ { inside = 0 } inside && /^\$ /' \
        README.md docs/guide/*.md | grep -o 'examples/[a-z./-]*' | sort -u >"$BATS_TEST_TMPDIR/named"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -ge 5 ]
    diff -u /dev/null <(comm -23 "$BATS_TEST_TMPDIR/named" "$BATS_TEST_TMPDIR/samples")
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

@test "links of the documents point to existing files" {
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

@test "names of the source that the documents for developers use are in the source" {
    grep -oh '`\(struct \)\?c\(v\|leave\)_[a-z0-9_]\{1,\}' docs/inside/*.md CONTRIBUTING.md \
        src/README.md src/*/README.md | sed 's/.*[` ]//' |
        grep -v '_$' | sort -u >"$BATS_TEST_TMPDIR/names"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -gt 45 ]
    while read -r name; do
        grep -rqw "$name" src include || echo "no name $name"
    done <"$BATS_TEST_TMPDIR/names" >"$BATS_TEST_TMPDIR/missing"
    diff -u /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "the documents name existing files, targets, commands and options" {
    run tools/document-names
    echo "$output"
    [ "$status" -eq 0 ]
    # It has looked: so many files, commands and options at least.
    [[ $output =~ ([0-9]+)\ documents,\ ([0-9]+)\ files,\ ([0-9]+)\ commands\ and\ ([0-9]+)\ options ]]
    [ "${BASH_REMATCH[1]}" -gt 60 ] && [ "${BASH_REMATCH[2]}" -gt 200 ]
    [ "${BASH_REMATCH[3]}" -gt 50 ] && [ "${BASH_REMATCH[4]}" -gt 100 ]
}

@test "a document that names a missing file is rejected" {
    cp -r --parents Makefile man tools/layers "$BATS_TEST_TMPDIR"
    mkdir -p "$BATS_TEST_TMPDIR/src/run/common" "$BATS_TEST_TMPDIR/docs"
    touch "$BATS_TEST_TMPDIR/src/run/common/poller.c"
    cat >"$BATS_TEST_TMPDIR/docs/page.md" <<'END'
Right: `run/common/poller.c`, `poller.c`, tools/layers, `run/common/*.c`, `src/run/ROOM`, `make check`.
Wrong: `run/poller.c`, `pollar.c`, see tools/lairs, `run/common/*.h`, `tests/NAME.c`, `make chekc`.
Right: `--trace FILE`, `-p FILE`, `cleave run -i x --reduce 'sort -m' -- ls --all`, `cleave plan load`.
Wrong: `--tarce FILE`, `-Q`, `cleave run --sweep x`, `cleave rnu`, `cleave plan load --reduce x`.

    make && make nothing     cleave version; cleave report x --nix -o F.html | cleave rum
END
    cat >"$BATS_TEST_TMPDIR/NEWS.md" <<'END'
## Unreleased
Not docs/here.md.
## 0.1.0
It was in docs/gone.md.
END
    run tools/document-names "$BATS_TEST_TMPDIR"
    [ "$status" -eq 1 ]
    diff -u - <(printf '%s\n' "$output") <<'END'
NEWS.md:2: no file docs/here.md
docs/page.md:2: no file tools/lairs
docs/page.md:2: no file tests/NAME.c
docs/page.md:2: no file src/run/poller.c
docs/page.md:2: no file pollar.c
docs/page.md:2: no file src/run/common/*.h
docs/page.md:2: no target: make chekc
docs/page.md:4: no option --tarce of any command
docs/page.md:4: no option -Q of any command
docs/page.md:4: no option --sweep of cleave run
docs/page.md:4: no command: cleave rnu
docs/page.md:4: no option --reduce of cleave plan load
docs/page.md:6: no target: make nothing
docs/page.md:6: no option --nix of cleave report
docs/page.md:6: no command: cleave rum
END
}

# missing_tests PAGE COUNT -- the tests that a page names and that do not exist; it names COUNT or more.
missing_tests() {
    grep -o '`tests/[a-z]*/[a-z_0-9.]*`: \*[^*]*\*' "$1" | sed 's/^`\(.*\)`: \*\(.*\)\*$/\1\t\2/' >"$BATS_TEST_TMPDIR/tests"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/tests")" -ge "$2" ] || echo "$1 names few tests"
    while IFS=$'\t' read -r file name; do
        if [ "${file%.bats}" != "$file" ]; then
            grep -qF "@test \"$name\" {" "$file" || echo "$file has no test '$name'"
        else
            grep -qE "(cmocka_unit_test[a-z_]*\($name[,)]|^int $name\()" "$file" || echo "$file has no test '$name'"
        fi
    done <"$BATS_TEST_TMPDIR/tests"
}

@test "every row of lost-once.md and ordinary-lines.md names existing tests and mutants" {
    page=docs/inside/lost-once.md
    {
        missing_tests $page 60
        missing_tests docs/inside/ordinary-lines.md 27
        [ "$(grep -c '^| [0-9]* | .*`tests/' docs/inside/ordinary-lines.md)" -eq 27 ] || echo "a row without a test"
    } >"$BATS_TEST_TMPDIR/missing"
    # The last column: "AREA: NAME, NAME, AREA: NAME".
    awk -F '|' 'NF == 5 && $4 !~ /^ *(-|mutant)/ { print $4 }' $page | tr -s ' ,' '\n' | grep . |
        awk '/:$/ { area = substr($0, 1, length($0) - 1); next } { print area, $0 }' >"$BATS_TEST_TMPDIR/mutants"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/mutants")" -gt 50 ]
    while read -r area name; do
        grep -qx "== $name" "tests/mutants/$area.txt" || echo "$area has no mutant $name"
    done <"$BATS_TEST_TMPDIR/mutants" >>"$BATS_TEST_TMPDIR/missing"
    diff -u /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "the sum that the guide teaches loses no digit" {
    command=$(sed -n "s/^\$ cleave \(run -q -i numbers --reduce 'awk .*\)/\1/p" docs/guide/reduce.md)
    [ "$(wc -l <<<"$command")" -eq 1 ]
    [ -n "$command" ]
    cd "$BATS_TEST_TMPDIR"
    # Halves of whole numbers: every sum of them is exact, in any order.
    seq 1234567 10 1334567 | sed 's/$/.5/' >numbers
    run bash -c "\"\$CLEAVE\" ${command/run /run -q --block 10k }"
    [ "$status" -eq 0 ]
    [ "$output" = "$(awk '{ s += $1 } END { printf "%.17g\n", s }' numbers)" ]
}

@test "every room has a README with its allowed includes" {
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
    sed 's/^\(| `fold` .*| \).* |$/\1common |/' x >src/run/README.md
    echo 'May include: run.' >src/io/README.md
    run tools/room-maps check
    [ "$status" -eq 1 ]
    [[ $output == *"src/run/README.md: expected one row for wire"* ]]
    [[ $output == *"| common, output, slot |"* ]]
    [[ $output == *"-May include: run."* ]]
    mkdir src/new
    run tools/room-maps check
    [[ $output == *"src/new/README.md: missing"* ]]
}

@test "every field of a worker is described" {
    printf 'workers:\n  - xxxxxxxxxxxxxxxx: 1\n' >"$BATS_TEST_TMPDIR/p.yaml"
    cleave 2 plan load -p "$BATS_TEST_TMPDIR/p.yaml" -l 5
    [[ $stderr == *"; known: name, "* ]]
    local field count=0
    for field in $(printf '%s' "${stderr##*known: }" | tr ',' ' '); do
        grep -q "^| .*\`$field\`.* |.*|.*|\$" docs/guide/platform.md || {
            echo "docs/guide/platform.md: $field"
            return 1
        }
        count=$((count + 1))
    done
    [ $count -ge 12 ]
}

@test "every splitter is named where splitters are listed" {
    echo a >"$BATS_TEST_TMPDIR/in"
    cleave 2 run -i "$BATS_TEST_TMPDIR/in" --split xxxxxxxxxxxxxxxx -- cat
    [[ $stderr == *"; known: lines, "* ]]
    local name count=0
    for name in $(printf '%s' "${stderr##*known: }" | tr ',' ' '); do
        for file in docs/guide/formats.md docs/guide/first-run.md; do
            grep -q "\`$name[\`:]" "$file" || {
                echo "$file: $name"
                return 1
            }
        done
        grep -q "^ \* \{3\}.*\<$name\>" src/run/split/split*.c || {
            echo "no head in src/run/split defines $name"
            return 1
        }
        count=$((count + 1))
    done
    [ $count -ge 9 ]
}

@test "cleave prints the messages that their page explains" {
    # Texts as they are printed: neighbouring literals are one, and fields are options.
    sed -n 's/^ *{ "\([a-z_.]*\)", "\([^"]*\)" },$/s|\1|\2|g/p' src/cli/common/fields.c | sort -r >"$BATS_TEST_TMPDIR/fields"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/fields")" -ge 50 ]
    cat src/*/*.c src/*/*/*.c | sed -z 's/"[ \t]*\n[ \t]*"//g; s/\\"/"/g' |
        sed -f "$BATS_TEST_TMPDIR/fields" >"$BATS_TEST_TMPDIR/source"
    sed -n 's/^| `\([^`]*\)` |.*/\1/p' docs/guide/messages.md >"$BATS_TEST_TMPDIR/messages"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/messages")" -ge 18 ]
    while read -r message; do
        grep -qF -- "$message" "$BATS_TEST_TMPDIR/source" || echo "nobody says: $message"
    done <"$BATS_TEST_TMPDIR/messages" >"$BATS_TEST_TMPDIR/missing"
    diff -u /dev/null "$BATS_TEST_TMPDIR/missing"
}

@test "the page for users of xargs agrees with xargs" {
    cd "$BATS_TEST_TMPDIR"
    "$CLEAVE" sample --records 50 >/dev/null
    ls logs/*.log >list
    # same XARGS CLEAVE -- both write the same lines.
    same() {
        diff -u <(sh -c "$1" | sort) <(PATH=$BATS_TEST_TMPDIR:$PATH sh -c "$2" | sort)
    }
    ln -s "$CLEAVE" cleave
    same 'ls logs/*.log | xargs -P 4 -n 1 wc -l' 'cleave run -q -j 4 wc -l ::: logs/*.log'
    same 'find logs -print0 | xargs -0 -P 4 -n 1 echo' 'find logs -print0 | cleave run -q -j 4 -0 -a - -- echo'
    same 'xargs -a list -n 1 echo' 'cleave run -q -a list echo'
    same 'xargs -n 3 echo <list' 'cleave run -q -n 3 -a - -- echo <list'
    same 'xargs -L 2 echo <list' 'cleave run -q -L 2 -a - -- echo <list'
    same 'xargs -I {} echo {} copies/{} <list' 'cleave run -q -a - -- echo {} copies/{} <list'
}

@test "figures of the README are on the page of comparisons" {
    sed -n '/^| job | cleave/,/^$/p' README.md | sed 1,2d | sed 's/^| [^|]*|//' | grep -oE '[0-9]+\.[0-9]+' >"$BATS_TEST_TMPDIR/numbers"
    sed -n 's/.*`sed .s\/1\/one\/.` takes \([0-9.]*\) s alone and \([0-9.]*\) s.*/\1\n\2/p' README.md >>"$BATS_TEST_TMPDIR/numbers"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/numbers")" -ge 15 ]
    while read -r number; do
        grep -qF -- "| $number |" docs/guide/comparison.md || {
            echo "README.md has $number; docs/guide/comparison.md does not"
            return 1
        }
    done <"$BATS_TEST_TMPDIR/numbers"
    grep -q '| 244 us |' docs/guide/speed.md
    grep -q 'a task costs 0.24 ms' docs/guide/coming-from.md
}

@test "the documents become pages whose links all lead somewhere" {
    python3 -c '' || skip "python3 is not there"
    run tools/make-site "$BATS_TEST_TMPDIR/site"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output =~ :\ ([0-9]+)\ pages,\ ([0-9]+)\ places ]]
    [ "${BASH_REMATCH[1]}" -ge 80 ]
    [ "${BASH_REMATCH[2]}" -ge 400 ]
    cd "$BATS_TEST_TMPDIR/site"
    grep -q '<h1 id="cleave">cleave</h1>' index.html
    grep -qF '<td>2000 times <code>echo</code></td><td>0.13</td>' index.html
    grep -qF '<a href="docs/guide/comparison.html">' index.html
    # Marks of Markdown that were not understood would be left, outside of code.
    grep -q '<b>Whole records.</b>' index.html
    run ! grep -rl '&lt;!--' --include=*.html .
    [ -f docs/guide/report.png ]
    # Sentences side by side do not fit on a phone; numbers do.
    grep -qF '<td data-of="remedy"><code><span>-i</span> FILE</code></td>' docs/guide/messages.html
    # Tags of a document are tags of its page.
    grep -qF '<code>wc <span>-l</span> &lt;in</code>' docs/guide/comparison.html
    run ! grep -rlE '&lt;(code|br)&gt;' --include=*.html docs/guide
    # On paper nothing moves: there the picture is its last frame.
    grep -qF '<img class="still" src="docs/guide/unequal.svg#still"' index.html
    grep -qF 'svg:target g { animation: none !important }' docs/guide/unequal.svg
    # On paper nothing can be scrolled to.
    grep -qF 'white-space: pre-wrap' index.html
    # Nothing is loaded from elsewhere.
    run ! grep -rlE '(src|href)="https?:' --include=index.html .
}

@test "the picture shows the recording, and the recording shows the current output" {
    python3 -c '' || skip "python3 is not there"
    tools/make-cast svg docs/guide/unequal.cast "$BATS_TEST_TMPDIR/made.svg"
    cmp "$BATS_TEST_TMPDIR/made.svg" docs/guide/unequal.svg
    # Programs that know no animations show the last frame.
    grep -qF 'g { visibility: hidden } g:last-of-type { visibility: visible }' docs/guide/unequal.svg
    # It ends sooner than xargs, and says when.
    grep -o 'all done after [0-9.]* s' docs/guide/unequal.cast | grep -o '[0-9.]* s' >"$BATS_TEST_TMPDIR/times"
    awk 'NR == 1 { ours = $1 } NR == 2 { exit !(ours < $1) }' "$BATS_TEST_TMPDIR/times"
    while read -r seconds; do
        grep -q "$seconds" README.md
    done <"$BATS_TEST_TMPDIR/times"
    # Options are there, and lines of workers look as they do now.
    for option in $(grep -o 'cleave run -i [^"]*-- ./work' docs/guide/unequal.cast | grep -o -- '--[a-z]\+'); do
        "$CLEAVE" help all | grep -q -- "$option"
    done
    command -v script >/dev/null || skip "script(1) is not there"
    seq 5000 >"$BATS_TEST_TMPDIR/in"
    TERM=xterm script -qec "stty cols 92 rows 18; $CLEAVE run -q -i $BATS_TEST_TMPDIR/in --workers fast,slow --live --block 1M -o /dev/null -- sleep 0.6" \
        "$BATS_TEST_TMPDIR/drawn" >/dev/null
    for text in '  worker  chunks      bytes      MB/s' '  slow         0'; do
        grep -qF -- "$text" "$BATS_TEST_TMPDIR/drawn"
        grep -qF -- "$text" docs/guide/unequal.cast
    done
}

@test "jobs of the cookbook write the same alone and by cleave" {
    python3 -c '' || skip "python3 is not there"
    run bench/cookbook check 200
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output =~ ^([0-9]+)\ jobs ]]
    [ "${BASH_REMATCH[1]}" -ge 35 ]
    # The page has them all, with the times that were kept.
    bench/cookbook page -n | diff docs/guide/cookbook.md -
    [ "$(grep -c '^| .* | `.* | `' docs/guide/cookbook.md)" -eq "$(grep -c '^== ' bench/cookbook.txt)" ]
}

@test "the page of comparisons is made of what tools that are here do" {
    python3 -c 1 2>/dev/null || skip "no python3"
    cd "$BATS_TEST_TMPDIR"
    "$CLEAVE_SOURCE_DIR/bench/compare-page" -n -m 1 faults >page 2>err
    grep -q '^| cleave | cleave [0-9]' page
    # What another tool does with it is its own affair; ours is known.
    grep '^| cleave .*status 1, 875000 of 1000000 lines done; says: cleave: small: bytes 6000000 to 7000000' page
    run "$CLEAVE_SOURCE_DIR/bench/compare-page" -n nothing
    [ "$status" -eq 1 ]
    [[ $output == "compare-page: expected parts of: file, compute, pipe, "*", got 'nothing'" ]]
    # What a second machine measured is on the page as it was kept.
    "$CLEAVE_SOURCE_DIR/bench/compare-page" -b -n nothing | diff "$CLEAVE_SOURCE_DIR/docs/guide/comparison.md" -
}

@test "words of documents, man pages and messages are in a dictionary" {
    echo "It recieves \`recieved\` things." >"$BATS_TEST_TMPDIR/page.md"
    run tools/spell "$BATS_TEST_TMPDIR/page.md"
    [ "$status" -ne 77 ] || skip "${output#spell: }"
    [ "$status" -eq 1 ]
    [ "$output" = "recieves: $BATS_TEST_TMPDIR/page.md" ]
    run tools/spell
    echo "$output"
    [ "$status" -eq 0 ]
}
