# cleave report, and the formats of --trace. SPDX-License-Identifier: MIT
load helper

# in_tmp -- work in a folder of the test's own, with examples/ in reach.
in_tmp() {
    ln -s "$CLEAVE_SOURCE_DIR/examples" "$BATS_TEST_TMPDIR/examples"
    cd "$BATS_TEST_TMPDIR"
}

# bare FILE... -- scripts and styles as pages have them: without comments of whole lines,
# empty lines and blanks before a line.
bare() {
    cat "$@" | sed -e '/^[ \t]*\/\*.*\*\/[ \t]*$/d' -e '/^[ \t]*\/\*/,/\*\/[ \t]*$/d' \
        -e 's/^[ \t]*//' -e '/^$/d'
}

# page_has TEXT / page_lacks TEXT -- about the page page.html.
page_has() {
    grep -qF -e "$1" page.html || {
        echo "page.html lacks: $1"
        return 1
    }
}
page_lacks() {
    if grep -qF -e "$1" page.html; then
        echo "page.html has: $1"
        return 1
    fi
}

@test "a plan: chart, workers, bound, excluded workers with reasons, the command" {
    in_tmp
    cleave 0 plan load -p $LAB -l 2000 --trace plan.jsonl
    cleave 0 report plan.jsonl -o page.html
    [ -z "$output" ] && [ -z "$stderr" ]
    page_has "<title>2000 units on 9 workers</title>"
    grep -qE 'umr-plus</b>, picked by auto: of [0-9]+ policies simulated none ends sooner' page.html
    page_has '28.586 s</dd>'
    page_has "0.50% over the bound"
    page_has 'All end within</dt><dd class="big num">0 s</dd>'
    page_has '28.444 s</dd><dd class="sub">price</dd>'
    page_has '<th scope="row">annex</th>'
    page_has "no order was found in which it shortens the makespan"
    page_has "<code>cleave plan load -p examples/unequal.yaml -l 2000 --trace plan.jsonl</code>"
    page_has "<svg viewBox"
    page_has "</html>"
    page_lacks "http://"
    page_lacks "https://"
    page_lacks "<link"
    page_lacks " src="
}

@test "the page of a run says bytes, file and command, and which speeds are whose" {
    in_tmp
    seq 20000 >numbers
    cleave 0 run -q -i numbers -j 'a,b' -o out --trace run.jsonl -- cat
    cleave 0 report run.jsonl -o page.html
    page_has "<title>108894 bytes on 2 workers: cleave run -q -i numbers -j a,b -o out --trace run.jsonl -- cat</title>"
    page_has "<h1>108894 bytes on 2 workers</h1>"
    page_has '<p class="lead"><code>cleave run -q -i numbers -j a,b -o out'
    page_has "all workers busy to the end, at the speeds that were measured"
    # The prediction of a run knows other speeds than its bound.
    cleave 0 report run.jsonl --predicted run.jsonl -o page.html --force
    page_has ", at the speeds that were declared"
    cleave 0 run -q -j 2 --trace items.jsonl -- echo ::: a b c
    cleave 0 report items.jsonl -o page.html --force
    page_has "<h1>3 commands on 2 workers</h1>"
    # An option of the command is none of ours.
    cleave 0 run -q -i numbers --trace other.jsonl -- tee -a copy
    cleave 0 report other.jsonl -o page.html --force
    page_has "<h1>108894 bytes on "
}

@test "the page of a run shows failed and unread ranges" {
    in_tmp
    seq 20000 >numbers
    cleave 1 run -q -i numbers --block 20k --trace run.jsonl -- sh -c '! grep "^15001$"'
    [[ $(head -n 1 run.jsonl) == *'"failed":'[1-9]*'"bound"'* ]]
    cleave 0 report run.jsonl -o page.html
    page_has '<dt>Failed</dt><dd class="big num">'
    page_has '</dd><dd class="sub">of 108894 bytes begun</dd>'
    cleave 1 run -q -j 1 --halt soon,fail=1 --trace items.jsonl 'exit {}' ::: 0 1 0 0
    cleave 0 report items.jsonl -o page.html --force
    page_has '<dt>Failed</dt><dd class="big num">1</dd><dd class="sub">of 2 commands begun</dd>'
    page_has '<dt>Left undone</dt><dd class="big num">2</dd><dd class="sub">commands not begun</dd>'
    # Where all is well there is nothing to say of it.
    cleave 0 run -q --trace well.jsonl echo ::: a b
    cleave 0 report well.jsonl -o page.html --force
    run ! grep -q '<dt>Failed\|<dt>Left undone' page.html
}

@test "report shows the status, the bytes and the last lines of stderr of what failed" {
    in_tmp
    seq 20000 >numbers
    cat >check <<'END'
#!/bin/sh
# 200 lines, of which the trace holds the last.
if grep -q '^15001$'; then
    i=0
    while [ $((i += 1)) -le 200 ]; do echo "line $i of <what> failed" >&2; done
    exit 3
fi
END
    chmod +x check
    cleave 1 run -q -i numbers --block 20k -j 2 --trace run.jsonl -- ./check
    cleave 0 report run.jsonl -o page.html
    page_has 'What failed</h2>'
    page_has '<code>numbers: bytes 60006 to 80010</code>'
    page_has 'The command exited with status 3 <span class="note">(chunk 3 on w'
    page_has 'line 200 of &lt;what&gt; failed'
    page_lacks 'line 100 of'
    page_has '>MB/s<'
    page_has '<rect class="k-failed"'
    # Another program reads the trace: the header has it all.
    head -n 1 run.jsonl | grep -q '"failures":\[{"worker":"w[01]","chunk":3,"attempts":1,"what":"numbers: bytes 60006 to 80010","how":"exited with status 3","stderr":"'
    cleave 0 replay run.jsonl
    # An item is named by its command; what it wrote is the item's.
    cleave 1 run -q -j 2 --retries 2 --trace items.jsonl 'test {} != b || { echo "not {}" >&2; kill -9 $$; }' ::: a b c
    cleave 0 report items.jsonl -o page.html --force
    page_has '<code>test b != b || { echo &quot;not b&quot; &gt;&amp;2; kill -9 $$; }</code>'
    page_has 'The command was ended by SIGKILL (killed)'
    page_has ', tried 2 times)'
    page_has '<pre>not b'
    page_lacks '>MB/s<'
    # A command that starts long before it reads: starting time against working time.
    cleave 0 run -q -i numbers -j 2 --trace run.jsonl -- sh -c 'read first; cat'
    head -n 1 run.jsonl | grep -q '"starts":\[[0-9]'
    cleave 0 report run.jsonl -o page.html --force
    page_has '<dt>Starting</dt>'
    page_has '>Working s<'
    page_lacks 'What failed'
    # Fields that are not what they should be.
    printf '%s\n' '{"format":"cleave-trace-1","policy":"self","load":1,"port":"multi","workers":["w0"],"about":{"failures":[{"worker":"w1"}]}}' >bad.jsonl
    cleave 2 report bad.jsonl -o page.html --force
    [[ $stderr == "cleave: bad.jsonl:1:"*"failures: expected a worker of the header, got 'w1'" ]]
    printf '%s\n' '{"format":"cleave-trace-1","policy":"self","load":1,"port":"multi","workers":["w0"],"about":{"starts":[-1]}}' >bad.jsonl
    cleave 2 report bad.jsonl -o page.html --force
    [[ $stderr == "cleave: bad.jsonl:1:"*"starts: expected a number of at least 0, got "* ]]
}

@test "a page is never replaced unasked, and goes to stdout for -" {
    in_tmp
    cleave 0 plan load -p $LAB -l 200 --trace plan.jsonl
    echo mine >page.html
    refuses "--output: 'page.html' exists; use --force to replace it" \
        report plan.jsonl -o page.html
    [ "$(cat page.html)" = mine ]
    cleave 0 report plan.jsonl -o page.html --force
    page_has "</html>"
    # A page of cleave is replaced.
    cleave 0 report plan.jsonl -o page.html
    # By default it is next to the trace.
    mkdir sub
    cp plan.jsonl sub/run.trace
    for _ in 1 2; do
        cleave 0 report plan.jsonl
        [ "$output" = plan.html ]
        cmp plan.html page.html
    done
    cleave 0 report sub/run.trace
    grep -q '</html>' sub/run.trace.html
    echo mine >plan.html
    refuses "--output: 'plan.html' exists; use --force to replace it" report plan.jsonl
    [ "$(cat plan.html)" = mine ]
    refuses "--output FILE is required for a trace on standard input" report -
    cleave 0 report plan.jsonl -o -
    [ "$output" = "$(cat page.html)" ]
    run --separate-stderr "$CLEAVE" report - -o - <plan.jsonl
    [ "$status" -eq 0 ]
    has "&lt;stdin&gt;"
    cleave 1 report plan.jsonl -o /dev/full
    [ "$stderr" = "cleave: --output: cannot write '/dev/full': No space left on device" ]
}

@test "a simulation next to its plan: differences by worker" {
    in_tmp
    cleave 0 plan load -p $LAB -l 2000 --policy umr --trace plan.jsonl
    cleave 0 simulate load -p $LAB -l 2000 --policy umr --error 0.2 --runs 3 --trace run.jsonl
    cleave 0 report run.jsonl --predicted plan.jsonl -o page.html
    page_has "Predicted and measured"
    page_has '"label":"predicted"'
    page_has "over the prediction"
    page_has "Computing per unit"
    page_has "<dt>Noise</dt><dd>normal:0.2</dd>"
    page_has "<dt>Predicted</dt><dd>plan.jsonl</dd>"
}

@test "traces that do not belong together" {
    in_tmp
    cleave 0 plan load -p $LAB -l 2000 --trace a.jsonl
    cleave 0 plan load -p $LAB -l 3000 --trace b.jsonl
    cleave 0 plan load -p $RACK -l 2000 --trace c.jsonl
    cleave 0 plan reduce -N 9 -d 1 -c 1 --trace d.jsonl
    cleave 0 plan reduce -N 8 -d 1 -c 1 --trace e.jsonl
    refuses "b.jsonl: expected a load of 2000 units, as the other trace has, got 3000" \
        report a.jsonl --predicted b.jsonl -o page.html
    cleave 2 report a.jsonl --predicted c.jsonl -o page.html
    [[ $stderr == "cleave: c.jsonl: expected 9 workers, as the other trace has, got "* ]]
    refuses "d.jsonl: expected a trace of a load, as the other is, got one of a reduction" \
        report a.jsonl --predicted d.jsonl -o page.html
    refuses "e.jsonl: expected 9 nodes, as the other trace has, got 8" \
        report d.jsonl --predicted e.jsonl -o page.html
    [ ! -e page.html ]
}

@test "a reduction: root, tree and bound" {
    in_tmp
    cleave 0 simulate reduce -N 16 -d gamma:1,0.5 -c exp:1 --runs 5 --trace run.jsonl
    cleave 0 report run.jsonl -o page.html
    page_has "A reduction of 16 nodes"
    page_has "15 combinations"
    page_has '"task":"reduce"'
    page_has "root</td>"
    page_lacks "Left out"
    cleave 0 plan reduce -N 16 -d 1 -c 1 --policy binomial --trace plan.jsonl
    cleave 0 report run.jsonl --predicted plan.jsonl -o page.html --force
    page_has "Mean combination, s"
}

@test "streams and real runs" {
    in_tmp
    cleave 0 simulate streams -p examples/streams.yaml -T 20 --trace streams.jsonl
    cleave 0 report streams.jsonl -o page.html
    page_has "<b>as4dr</b>"
    page_has "port in"
    page_has "cleave simulate streams -p examples/streams.yaml -T 20"
    seq 20000 >numbers
    cleave 0 run -q -i numbers -j 2 -o sorted --trace run.jsonl -- sort -n
    cleave 0 report run.jsonl -o page.html --force
    page_has "cleave run -q -i numbers -j 2 -o sorted --trace run.jsonl -- sort -n"
    page_has "all workers busy"
    page_has "<dt>Engine</dt><dd>run</dd>"
}

@test "traces of before, without facts" {
    in_tmp
    cat >old.jsonl <<'TRACE'
{"format":"cleave-trace-1","policy":"self","load":3,"port":"multi","workers":["a","b"]}
{"event":"start","start":0,"end":0}
{"order":"send","worker":"a","units":3}
{"event":"sent","worker":"a","chunk":0,"units":3,"start":0,"end":1}
{"event":"done","worker":"a","chunk":0,"units":3,"start":1,"end":4}
TRACE
    cleave 0 report old.jsonl -o page.html
    page_has "The trace does not name its command."
    page_has "not in the trace"
    page_has "it computed no chunk; the trace gives no reason"
    page_has '"bound":null'
}

@test "bad traces: file, line and column" {
    in_tmp
    refuses "expected the file of a trace, as --trace writes it" report -o page.html
    cleave 2 report no-such -o page.html
    [[ $stderr == "cleave: no-such: "*"No such file or directory" ]]
    : >empty
    refuses "empty: expected a trace, got an empty file" report empty -o page.html
    cleave 0 plan load -p $LAB -l 20 --trace plan.jsonl
    sed '3s/"units":[0-9.]*/"units":-1/' plan.jsonl >bad.jsonl
    cleave 2 report bad.jsonl -o page.html
    [[ $stderr == "cleave: bad.jsonl:3:"*": units: expected a number of at least 0, got -1" ]]
    head -c 400 plan.jsonl >cut.jsonl
    cleave 2 report cut.jsonl -o page.html
    [[ $stderr == "cleave: cut.jsonl:"* ]]
    cleave 2 report examples/unequal.yaml -o page.html
    [[ $stderr == "cleave: examples/unequal.yaml:1:1: expected an object"* ]]
    refuses "--output: cannot write '/no/such/page.html': No such file or directory" \
        report plan.jsonl -o /no/such/page.html
    [ ! -e page.html ]
}

@test "the same trace gives the same page" {
    in_tmp
    cleave 0 simulate load -p $LAB -l 500 --error 0.1 --runs 2 --trace run.jsonl
    cleave 0 report run.jsonl -o one.html
    cleave 0 report run.jsonl -o two.html
    cmp one.html two.html
}

@test "100,000 chunks: every one is on a page below 10 MB" {
    in_tmp
    printf 'port: duplex\nworkers:\n  - {name: m, count: 100, speed: 10, bandwidth: 2000}\n' \
        >many.yaml
    cleave 0 simulate load -p many.yaml -l 1e6 --policy self --param chunk=10 \
        --result-ratio 0.3 --error 0.1 --runs 1 --trace run.jsonl
    cleave 0 report run.jsonl -o page.html
    [ "$(wc -c <page.html)" -lt 10000000 ]
    page_has '"block":0'
    page_has "100000</dd>"
    # Eight bytes of base64 for six of starts: 300,000 doubles.
    [ "$(sed -n 's/.*"start":"\([^"]*\)".*/\1/p' page.html | wc -c)" -eq 3200001 ]
}

@test "more than that is put together" {
    in_tmp
    printf 'port: multi\nworkers:\n  - {name: m, count: 50, speed: 10, bandwidth: 2000}\n' \
        >many.yaml
    cleave 0 simulate load -p many.yaml -l 2e6 --policy self --param chunk=10 --runs 1 \
        --trace run.jsonl
    cleave 0 report run.jsonl -o page.html
    [ "$(wc -c <page.html)" -lt 10000000 ]
    page_has "are merged with their neighbours"
    page_lacks '"block":0'
    cleave 0 plan reduce -N 6000 -d 1 -c 1 --no-tree --trace run.jsonl
    cleave 0 report run.jsonl -o page.html --force
    page_has "each row of the chart stands for 6 of them"
}

@test "--trace: the name asks for Chrome's format or for Paje" {
    in_tmp
    seq 3000 >numbers
    for name in run.chrome.json run.perfetto.json; do
        cleave 0 plan load -p $LAB -l 200 --trace $name
        output=$(cat $name)
        valid_json
        has '"traceEvents": ['
        has '"process_name"'
    done
    cleave 0 simulate load -p $LAB -l 200 --error 0.1 --runs 2 --trace a.chrome.json
    cleave 0 simulate reduce -N 8 -d 1 -c 1 --runs 2 --trace b.chrome.json
    cleave 0 simulate streams -p examples/streams.yaml -T 5 --trace c.chrome.json
    cleave 0 run -q -i numbers -o out --trace d.chrome.json -- cat
    cleave 0 plan reduce -N 8 -d 1 -c 1 --trace e.chrome.json
    for name in ?.chrome.json; do
        output=$(cat $name)
        valid_json
        [ "$(grep -c '"ph": "X"' $name)" -gt 1 ]
    done
    cleave 0 simulate load -p $LAB -l 200 --error 0.1 --runs 2 --trace run.paje
    [ "$(head -n 1 run.paje)" = "%EventDef PajeDefineContainerType 0" ]
    [ "$(grep -c '^5 ' run.paje)" -eq "$(grep -c '^6 ' run.paje)" ]
    [ "$(grep -c '^7 ' run.paje)" -eq "$(grep -c '^8 ' run.paje)" ]
    refuses "run.paje: a trace for other viewers cannot be read back; give --trace a name with \
another ending" report run.paje -o -
    cleave 1 plan load -p $LAB -l 200 --trace /dev/full
    ln -s /dev/full full.paje
    cleave 1 plan load -p $LAB -l 200 --trace full.paje
    [[ $stderr == "cleave: --trace: "*"No space left on device" ]]
}

@test "the embedded script and style agree with the sources" {
    local page=$CLEAVE_SOURCE_DIR/src/report/page
    in_tmp
    cleave 0 plan load -p $LAB -l 200 --trace page.trace
    cleave 0 report page.trace -o page.html
    sed '1,/^<style>$/d; /^<\/style>$/,$d' page.html >shown
    [ "$(wc -l <shown)" -ge 100 ]
    bare "$page/page.css" | diff - shown
    sed '1,/^<script>$/d; /^<\/script>$/,$d' page.html >shown
    [ "$(wc -l <shown)" -ge 500 ]
    bare "$page"/page_*.js "$page/page.js" | diff - shown
    if command -v node >/dev/null; then
        cat "$page"/page_*.js "$page/page.js" >all.js
        node --check all.js
    fi
}
