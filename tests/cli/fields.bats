# fields.bats -- messages of the library name members of its structures, the command its options.
# SPDX-License-Identifier: MIT
bats_require_minimum_version 1.5.0

setup() {
    cd "${CLEAVE_SOURCE_DIR:-.}"
    FIELDS=src/cli/common/fields.c
}

# Members of the request (struct cleave_execution) as part.member, a line each.
members() {
    awk '
        { gsub(/\/\*[^*]*\*+([^\/*][^*]*\*+)*\//, " ") }
        /\/\*/ { sub(/\/\*.*/, ""); inside = 1 }
        inside && /\*\// { sub(/.*\*\//, ""); inside = 0 }
        inside { next }
        /^struct cleave_[a-z_]+ \{/ { struct = $2; text = ""; next }
        /^\};/ { all[struct] = text; struct = "" }
        struct != "" { text = text " " $0 }
        function print_members(part, text,    n, i, k, m, piece, name) {
            n = split(text, piece, ";")
            for (i = 1; i < n; i++) {
                if (match(piece[i], /\(\*[a-z_]+\)/)) {
                    print part "." substr(piece[i], RSTART + 2, RLENGTH - 3)
                    continue
                }
                m = split(piece[i], name, ",")
                for (k = 1; k <= m; k++) {
                    gsub(/\[[^]]*\]/, "", name[k])
                    sub(/[ \t]+$/, "", name[k])
                    sub(/.*[ *]/, "", name[k])
                    print part "." name[k]
                }
            }
        }
        END {
            n = split(all["cleave_execution"], piece, ";")
            for (i = 1; i < n; i++)
                if (split(piece[i], word, " ") == 3 && word[1] == "struct")
                    print_members(word[3], all[word[2]])
        }' include/cleave/execute.h
}

@test "every member of a request has an option, or is known to have none" {
    # Counts, callbacks, and what the command line sets by itself.
    cat >"$BATS_TEST_TMPDIR/none" <<'END'
hosts.count
hosts.more
input.count
items.comes
items.context
items.count
items.describe
items.files
items.fits
items.more
items.over
items.several
items.words
listener.attempted
listener.chose
listener.context
listener.errors
listener.note
listener.progress
output.before
output.context
output.find
output.keep_context
policy.nsettings
policy.own
workers.unguarded
END
    members >"$BATS_TEST_TMPDIR/all"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/all")" -gt 70 ]
    while read -r member; do
        grep -qF "{ \"$member\", " $FIELDS || grep -qxF "$member" "$BATS_TEST_TMPDIR/none" || {
            echo "$member is neither in $FIELDS nor in the list of this test"
            false
        }
    done <"$BATS_TEST_TMPDIR/all"
    # Nothing is listed that has a row, or does not exist.
    while read -r member; do
        grep -qxF "$member" "$BATS_TEST_TMPDIR/all"
        run ! grep -qF "{ \"$member\", " $FIELDS
    done <"$BATS_TEST_TMPDIR/none"
}

@test "every option that stands for a field exists" {
    "$CLEAVE" help all >"$BATS_TEST_TMPDIR/help"
    "$CLEAVE" split --help >>"$BATS_TEST_TMPDIR/help"
    sed -n 's/^    { "[a-z_.]*", "\(-[^"]*\)" },$/\1/p' $FIELDS | sort -u >"$BATS_TEST_TMPDIR/options"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/options")" -gt 40 ]
    while read -r option; do
        grep -qE -- "^  (    |-., )?$option( |,|$)" "$BATS_TEST_TMPDIR/help" || {
            echo "there is no option $option"
            false
        }
    done <"$BATS_TEST_TMPDIR/options"
}

@test "rows of fields are in alphabetical order, and none is there twice" {
    sed -n 's/^    { "\([a-z_.]*\)", .*/\1/p' $FIELDS >"$BATS_TEST_TMPDIR/rows"
    LC_ALL=C sort -cu "$BATS_TEST_TMPDIR/rows"
}

@test "the library names no option of the command" {
    run grep -rnE --include='*.[ch]' '"[^"]*--[a-z]' src/run src/policy src/model src/io src/engine
    echo "$output"
    [ "$status" -eq 1 ]
}
