# endpoints.bats -- every command of docs/guide/endpoints.md. SPDX-License-Identifier: MIT
load helper

@test "the commands of the page give the output of the serial command" {
    command -v python3 >/dev/null || skip "python3 is not there"
    command -v flock >/dev/null || skip "flock is not there"
    cd "$BATS_TEST_TMPDIR"
    mkdir bin
    ln -s "$CLEAVE" bin/cleave
    export PATH=$PWD/bin:$PATH PYTHONPATH=$CLEAVE_SOURCE_DIR/python
    awk '/^```bash$/ { on = 1; next } /^```$/ { on = 0 } on' \
        "$CLEAVE_SOURCE_DIR/docs/guide/endpoints.md" >commands
    # Endpoints of a page that fails end as well.
    bash -eu -o pipefail commands >said 2>&1 3>&- || {
        touch fast/stop slow/stop paid/stop
        cat said
        false
    }
    while read -r line; do
        echo "$line" | python3 -c \
            'import json; print(json.dumps({"answer": json.loads(input())["prompt"].upper()}))'
    done < <(head -3 prompts.jsonl) >first
    seq -f '{"answer": "WORD %.0f"}' 1 200 >serial
    head -3 serial | cmp - first
    for output in answers two mix again; do
        cmp serial $output.jsonl
    done
    tr a-z A-Z <prompts.jsonl >upper
    cmp upper sh.jsonl
    cmp upper py.jsonl
    # The bill: each record once.
    awk 'NF == 2 && ($1 == "own" || $1 == "paid") { sum += $2 } END { exit sum != 200 }' said
    grep -q 'cost      0.0600; none that ends by 10.000 s costs less than 0.0600' said
    grep -q 'cost      0.0200' said
    [ "$(wc -w <"$CLEAVE_SOURCE_DIR/docs/guide/endpoints.md")" -le 1500 ]
}
