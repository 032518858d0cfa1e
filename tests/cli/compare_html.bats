# cleave compare load|reduce -o, and sweeps of a load. SPDX-License-Identifier: MIT
load helper

in_tmp() {
    ln -s "$CLEAVE_SOURCE_DIR/examples" "$BATS_TEST_TMPDIR/examples"
    cd "$BATS_TEST_TMPDIR"
}

page_has() {
    grep -qF -e "$1" page.html || {
        echo "page.html lacks: $1"
        return 1
    }
}

@test "a sweep of latency as a page: curves, table, bound, which is best" {
    in_tmp
    cleave 0 compare load -p $LAB -l 2000 --sweep latency=0:2:0.5 --policies umr,umr-plus,self \
        -o page.html
    [ -z "$output" ] && [ -z "$stderr" ]
    page_has "3 policies for 5 values of latency"
    page_has "<h2 id=\"best\">Which is best where</h2>"
    page_has '<path class="series"'
    page_has '<path class="edge"'
    page_has "latency, s"
    page_has "<code>cleave compare load -p examples/unequal.yaml -l 2000 --sweep latency=0:2:0.5"
    # Five marks per policy in each of two plots.
    [ "$(grep -c '<title>umr: ' page.html)" -eq 10 ]
    # The table holds the numbers.
    cleave 0 compare load -p $LAB -l 2000 --sweep latency=0:2:0.5 --policies umr --csv
    page_has "$(printf '%.3f' "$(printf '%s\n' "${lines[2]}" | cut -d, -f3)")"
}

@test "a sweep agrees with single comparisons" {
    in_tmp
    cat >p.yaml <<'YAML'
port: one
workers:
  - {name: a, speed: 3, bandwidth: 20, latency: 0.1, compute_latency: 0.2}
  - {name: b, speed: 1, bandwidth: 30, latency: 0.3, compute_latency: 0.1}
YAML
    sed 's/ latency: 0.[13]/ latency: 0.7/' p.yaml >q.yaml
    cleave 0 compare load -p q.yaml -l 100 --policies umr --csv
    local single=${lines[1]#umr,}
    cleave 0 compare load -p p.yaml -l 100 --policies umr --csv --sweep latency=0.5:0.9:0.2
    [ "${lines[0]}" = "latency,lower_bound,umr,umr_stderr" ]
    [ "$(printf '%s\n' "${lines[2]}" | cut -d, -f1,3)" = "0.7,${single%%,*}" ]
    cleave 0 compare load -p p.yaml -l 100 --policies umr --csv --sweep load=50:200:log:3
    [ "${lines[0]}" = "load,lower_bound,umr,umr_stderr" ]
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[2]} == 100,* ]]
    cleave 0 compare load -p p.yaml -l 100 --policies umr --csv --sweep workers=1:2:1
    cleave 0 compare load -p p.yaml -l 100 --policies umr --json --sweep speed-factor=1:2:1
    valid_json
    [ "$(json_keys)" = "load runs seed noise sweep rows " ]
    cleave 0 compare load -p p.yaml -l 100 --policies umr --json --sweep error=0:0.2:0.1 --runs 20
    valid_json
    has '"sweep": "error"'
    has '"error": 0.10000000000000001'
}

@test "text: a sweep of a load" {
    cleave 0 compare load -p $LAB -l 2000 --sweep bandwidth-factor=0.25:4:log:5 \
        --policies umr,one-round,self
    golden compare-load-sweep.txt
}

@test "runs: bands; without a sweep: bars with whiskers" {
    in_tmp
    cleave 0 compare load -p $LAB -l 500 --sweep error=0:0.4:0.2 --runs 30 --policies umr,rumr \
        -o page.html
    page_has 'class="band'
    page_has "Bands hold 80% of the runs."
    cleave 0 compare load -p $LAB -l 500 --error 0.2 --runs 30 -o page.html --force
    page_has "Whiskers hold 80% of the runs."
    page_has "<h2 id=\"not\">Not compared</h2>"
    page_has "needs equal workers"
    cleave 0 compare load -p $LAB --lifespan 60 -o page.html --force
    page_has "How much is done"
}

@test "reductions" {
    in_tmp
    cleave 0 compare reduce -N 32 -d gamma:1,1 -c gamma:1,1 --sweep cv=0.1:10:log --runs 20 \
        -o page.html
    page_has "9 policies for 9 values of cv"
    page_has '<title>tree-dyn: '
    cleave 0 compare reduce --costs examples/costs.json -o page.html --force
    page_has "one exact run of each policy"
    cleave 0 compare reduce -d 1 -c 1 --sweep nodes=16:64:16 -o page.html --force
    page_has "Policies for a reduction, by nodes"
}

@test "compare --html refuses impossible options" {
    in_tmp
    echo mine >page.html
    refuses "--output: 'page.html' exists; use --force to replace it" \
        compare load -p $LAB -l 500 --policies umr -o page.html
    refuses "--output writes a page: leave out --json and --csv" \
        compare load -p $LAB -l 500 -o - --json
    refuses "--output writes a page: leave out --json and --csv" \
        compare reduce -N 5 -d 1 -c 1 -o - --csv
    refuses "--json and --csv cannot both be written" compare load -p $LAB -l 500 --csv --json
    for bad in latency nodes=1:2:1 latency=1:2 =1:2:1 cv=1:2:1; do
        cleave 2 compare load -p $LAB -l 500 --sweep $bad
        [[ $stderr == "cleave: --sweep: expected latency, bandwidth, speed or "*", got '$bad'" ]]
    done
    refuses "--sweep: expected a rate above 0, got '0'" \
        compare load -p $LAB -l 500 --sweep bandwidth=0:10:1
    refuses "--sweep: the platform has 9 workers, got 10" \
        compare load -p $LAB -l 500 --policies umr --sweep workers=9:10:1
    refuses "--sweep: with --lifespan there is no load" \
        compare load -p $LAB --lifespan 5 --sweep load=1:2:1
    refuses "--sweep: error and --noise cannot both set how costs vary" \
        compare load -p $LAB -l 5 --noise gamma:0.1 --sweep error=0:1:0.5
    cleave 0 compare load -p $LAB -l 500 --policies umr -o -
    has "</html>"
}

@test "curves that lie on each other can all be seen, and no colour is used twice" {
    in_tmp
    cleave 0 compare load -p $LAB -l 2000 --sweep load=100:10000:log:8 --policies umr-plus,rx,self -o page.html
    # The first two take turns in dashes and marks, in each of two plots.
    [ "$(grep -c '<path class="series" stroke-dasharray="9 9" stroke-dashoffset="-0" d=' page.html)" -eq 2 ]
    [ "$(grep -c '<path class="series" stroke-dasharray="9 9" stroke-dashoffset="-9" d=' page.html)" -eq 2 ]
    [ "$(grep -c '<title>umr-plus: ' page.html)" -eq 8 ]
    [ "$(grep -c '<title>rx: ' page.html)" -eq 8 ]
    [ "$(grep -c '<title>self: ' page.html)" -eq 16 ]
    page_has "A line of several colours is several curves."
    cleave 0 compare load -p $LAB -l 2000 --sweep load=100:10000:log:3 -o all.html
    [ "$(grep -o '<svg class="c[0-9]*"' all.html | sort | uniq -d | wc -l)" -eq 0 ]
    [ "$(grep -o '<svg class="c[0-9]*"' all.html | wc -l)" -gt 7 ]
    for colour in $(grep -o '<svg class="c[0-9]*"' all.html | grep -o 'c[0-9]*"' | tr -d '"'); do
        grep -qF ".$colour { --c: #" all.html
    done
}
