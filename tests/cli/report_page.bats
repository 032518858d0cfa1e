# Pages in a browser: headless Chromium, where it is there. SPDX-License-Identifier: MIT
#
# A test appends a script of its own to the page; what it finds it writes into the title,
# which is in the document that Chromium prints at the end.
load helper

setup_file() {
    for name in chromium chromium-browser google-chrome; do
        if command -v "$name" >/dev/null; then
            export BROWSER=$name
            return
        fi
    done
}

in_tmp() {
    [ -n "${BROWSER:-}" ] || skip "no Chromium is there"
    ln -s "$CLEAVE_SOURCE_DIR/examples" "$BATS_TEST_TMPDIR/examples"
    cd "$BATS_TEST_TMPDIR"
}

# browse PAGE SCRIPT [OPTION]... -- $output is the title that SCRIPT sets. Fails when the
# page writes to the console or breaks its own rule not to load anything.
browse() {
    local page=$1 script=$2 dom
    shift 2
    # The page is drawn a moment after what was done.
    sed "s|</body>|<script>const key = (k) => document.getElementById('plot').dispatchEvent(\
new KeyboardEvent('keydown', { key: k, bubbles: true }));\
const later = (f) => setTimeout(f, 400);\
later(() => { $script });</script></body>|" "$page" >"tested-$page"
    dom=$("$BROWSER" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$BATS_TEST_TMPDIR/profile" --window-size=1200,900 \
        --enable-logging=stderr --virtual-time-budget=10000 --dump-dom "$@" \
        "file://$PWD/tested-$page" 2>console) || {
        tail console
        return 1
    }
    if grep -q 'CONSOLE' console; then
        grep CONSOLE console
        return 1
    fi
    output=$(printf '%s\n' "$dom" | sed -n 's|.*<title>\(.*\)</title>.*|\1|p' | head -n 1)
    echo "title: $output"
}

# Script that counts the pixels of the chart which are not of the page's colour.
DRAWN="const c = document.querySelector('.plot canvas');\
const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;\
let n = 0;\
for (let i = 0; i < d.length; i += 4)\
  if (d[i] !== d[0] \\|\\| d[i + 1] !== d[1] \\|\\| d[i + 2] !== d[2]) n++;"

@test "a load: the chart is drawn, and the drawing for print is hidden" {
    in_tmp
    cleave 0 plan load -p $LAB -l 2000 --trace run.jsonl
    cleave 0 report run.jsonl -o page.html
    browse page.html "$DRAWN const s = getComputedStyle(document.querySelector('.static'));\
document.title = (n > 50000 ? 'drawn' : 'empty ' + n) + ' ' + s.display;"
    [ "$output" = "drawn none" ]
}

@test "keys zoom, move, choose and tell exact times" {
    in_tmp
    cat >run.jsonl <<'TRACE'
{"format":"cleave-trace-1","policy":"self","load":3,"port":"one","workers":["a","b"]}
{"event":"sent","worker":"a","chunk":0,"units":3,"start":0,"end":1.25}
{"event":"done","worker":"a","chunk":0,"units":3,"start":1.25,"end":100}
TRACE
    cleave 0 report run.jsonl -o page.html
    browse page.html "const p = document.getElementById('plot').dataset;\
const all = p.to - p.from; key('+'); key('+');\
later(() => { const zoomed = p.to - p.from, from = p.from; key('ArrowRight');\
later(() => { const moved = p.from > from; key('0');\
later(() => { const whole = p.to - p.from; key('ArrowDown'); key('ArrowDown'); key('n');\
const first = document.getElementById('picked').textContent; key('n');\
const second = document.getElementById('picked').textContent; key('Enter');\
later(() => { document.title = [Math.round(all / zoomed), moved, whole === all, first,\
second, p.to < 300 ].join('; '); }); }); }); });"
    [ "$output" = "4; true; true; a gets chunk 0, 3 units, 0 s to 1.25 s, takes 1.25 s; \
a computes chunk 0, 3 units, 1.25 s to 100 s, takes 98.75 s; true" ]
}

@test "hovering a span shows its worker, chunk and times" {
    in_tmp
    cat >run.jsonl <<'TRACE'
{"format":"cleave-trace-1","policy":"self","load":3,"port":"multi","workers":["a","b"]}
{"event":"done","worker":"b","chunk":7,"units":3,"start":0,"end":100}
TRACE
    cleave 0 report run.jsonl -o page.html
    browse page.html "const c = document.querySelector('.plot canvas');\
const b = c.getBoundingClientRect();\
c.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, pointerId: 1,\
clientX: b.left + b.width / 2, clientY: b.top + 44 + 48 }));\
const t = document.getElementById('tip');\
document.title = t.hidden + ' ' + t.textContent;"
    [ "$output" = "false b computes chunk 73 units0 s to 100 stakes 100 s" ]
}

@test "folds of partial results have their colour and their label" {
    in_tmp
    cat >run.jsonl <<'TRACE'
{"format":"cleave-trace-1","policy":"self","load":3,"port":"multi","workers":["a","b"]}
{"event":"done","worker":"a","chunk":0,"units":3,"start":0,"end":50}
{"event":"folded","worker":"b","units":3,"start":50,"end":100}
TRACE
    cleave 0 report run.jsonl -o page.html
    browse page.html "const c = document.querySelector('.plot canvas');\
const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;\
const seen = new Map();\
for (let i = 0; i < d.length; i += 4) { const k = d[i] + ',' + d[i + 1] + ',' + d[i + 2]; seen.set(k, (seen.get(k) \|\| 0) + 1); }\
const of = (name) => { const t = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();\
return seen.get([1, 3, 5].map((at) => parseInt(t.slice(at, at + 2), 16)).join(',')) \|\| 0; };\
key('ArrowDown'); key('ArrowDown'); key('n');\
document.title = (of('combine') > 2000) + ' ' + (of('compute') > 2000) + ' ' + document.getElementById('picked').textContent;"
    [ "$output" = "true true b folds 3 partial results, 50 s to 100 s, takes 50 s" ]
}

@test "a reduction, two traces, and a run without length" {
    in_tmp
    cleave 0 simulate reduce -N 16 -d exp:1 -c exp:1 --runs 2 --trace run.jsonl
    cleave 0 plan reduce -N 16 -d 1 -c 1 --trace plan.jsonl
    cleave 0 report run.jsonl -o page.html
    browse page.html "$DRAWN document.title = n > 5000 ? 'drawn' : 'empty';"
    [ "$output" = drawn ]
    cleave 0 report run.jsonl --predicted plan.jsonl -o page.html --force
    browse page.html "$DRAWN document.title = n > 5000 ? 'drawn' : 'empty';"
    [ "$output" = drawn ]
    echo '{"format":"cleave-trace-1","policy":"p","task":"reduce","nodes":1}' >run.jsonl
    cleave 0 report run.jsonl -o page.html --force
    browse page.html "document.title = 'ok';"
    [ "$output" = ok ]
}

@test "100,000 chunks are drawn, zoomed and found" {
    in_tmp
    printf 'port: duplex\nworkers:\n  - {name: m, count: 100, speed: 10, bandwidth: 2000}\n' \
        >many.yaml
    cleave 0 simulate load -p many.yaml -l 1e6 --policy self --param chunk=10 \
        --result-ratio 0.3 --runs 1 --trace run.jsonl
    cleave 0 report run.jsonl -o page.html
    browse page.html "for (let i = 0; i < 12; i++) key('+'); key('ArrowDown');\
key('ArrowDown'); key('ArrowDown'); key('n'); key('n');\
later(() => { $DRAWN document.title = (n > 20000 ? 'drawn ' : 'empty ') +\
document.getElementById('picked').textContent.split(',')[0]; });"
    [ "$output" = "drawn m.0 computes chunk 0" ]
    # Without many rows in sight, a million chunks in blocks are drawn as well.
    cleave 0 simulate load -p many.yaml -l 4e6 --policy self --param chunk=10 --runs 1 \
        --trace run.jsonl
    cleave 0 report run.jsonl -o page.html --force
    browse page.html "$DRAWN document.title = n > 20000 ? 'drawn' : 'empty';"
    [ "$output" = drawn ]
}

@test "no page is wider than a phone" {
    in_tmp
    cleave 0 plan load -p $LAB -l 2000 --trace run.jsonl
    cleave 0 report run.jsonl --predicted run.jsonl -o page.html
    cleave 0 compare load -p $LAB -l 2000 --sweep latency=0:1:0.5 -o compare.html
    for page in page.html compare.html; do
        browse $page "document.title = document.documentElement.scrollWidth <= innerWidth;" \
            --window-size=390,844
        [ "$output" = true ]
    done
}

@test "light and dark" {
    in_tmp
    cleave 0 plan load -p $LAB -l 2000 --trace run.jsonl
    cleave 0 report run.jsonl -o page.html
    local script="document.title = getComputedStyle(document.body).backgroundColor"
    browse page.html "$script" --blink-settings=preferredColorScheme=1
    [ "$output" = "rgb(255, 255, 255)" ]
    browse page.html "$script" --blink-settings=preferredColorScheme=0
    [ "$output" = "rgb(20, 23, 27)" ]
}

@test "tables sort, curves can be hidden" {
    in_tmp
    cleave 0 plan load -p $LAB -l 2000 --trace run.jsonl
    cleave 0 report run.jsonl -o page.html
    browse page.html "const t = document.querySelector('#nodes ~ .scroll table');\
t.tHead.rows[0].cells[3].querySelector('button').click();\
document.title = t.tBodies[0].rows[0].cells[0].textContent + ' ' +\
t.tBodies[0].rows[8].cells[0].textContent;"
    [ "$output" = "annex home" ]
    cleave 0 compare load -p $LAB -l 2000 --sweep latency=0:1:0.5 --policies umr,self -o c.html
    browse c.html "document.querySelector('.keys button').click();\
document.title = Array.from(document.querySelectorAll('.s0')).every((e) =>\
getComputedStyle(e).display === 'none') + ' ' +\
getComputedStyle(document.querySelector('.s1')).display;"
    [ "$output" = "true inline" ]
}
