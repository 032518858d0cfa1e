# first_commands.bats -- what a newcomer types first, with mistakes, and what cleave answers.
# SPDX-License-Identifier: MIT
#
# golden/first_commands.txt is the transcript; CLEAVE_ACCEPT=1 writes it anew. Inputs are cut by
# --records, as other cuts depend on the machine; the line with the time of a run is left out.
load helper

@test "the first commands of a newcomer are answered as in the transcript" {
    local golden=$CLEAVE_SOURCE_DIR/tests/cli/golden/first_commands.txt line status
    mkdir "$BATS_TEST_TMPDIR/bin" "$BATS_TEST_TMPDIR/home"
    ln -s "$(readlink -f "$CLEAVE")" "$BATS_TEST_TMPDIR/bin/cleave"
    export PATH=$BATS_TEST_TMPDIR/bin:$PATH
    cd "$BATS_TEST_TMPDIR/home"
    while IFS= read -r line; do
        echo "\$ $line"
        status=0
        timeout $LONG bash -c "$line" 2>&1 </dev/null 3>&- || status=$?
        [ $status -eq 0 ] || echo "[status $status]"
    done < <(sed -n 's/^\$ //p' "$golden") | sed '/^cleave: [0-9.]* k*B in /d' >../transcript
    if [ "${CLEAVE_ACCEPT:-}" = 1 ]; then
        cp ../transcript "$golden"
    fi
    diff -u "$golden" ../transcript
    # It is what the same commands without cleave give.
    [ "$(grep -c ' 404 ' access.log)" = 49 ]
    cmp copy access.log
    awk '{ print $9 }' access.log | sort | uniq -c | cmp - by-status
}
