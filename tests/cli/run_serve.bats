# run_serve.bats -- the page of cleave run --serve. SPDX-License-Identifier: MIT
load helper

# A file of 1 MB, and a command that waits for the file `go`.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    yes 123456789 | head -n 100000 >in
    cat >some <<END
#!/bin/sh
cat
i=0
while [ ! -e $T/go ] && [ \$i -lt 3000 ]; do # not for ever, if the test fails
    sleep 0.02
    i=\$((i + 1))
done
END
    chmod +x some
}

# serves ARGUMENT... -- a run in the background; it can be followed at $port, below $key.
serves() {
    "$CLEAVE" run --serve 127.0.0.1:0 "$@" 2>said 3>&- &
    job=$!
    for _ in $(seq 3000); do
        read -r port key < <(sed -En 's|^cleave: the run can be followed at http://127.0.0.1:([0-9]+)/([0-9a-f]{32})/$|\1 \2|p' said) && return 0
        sleep 0.02
    done
    cat said
    return 1
}

# ask LINE... -- send the lines as a request; what comes back is in the file answer.
ask() {
    exec 4<>"/dev/tcp/127.0.0.1/$port"
    printf '%s\r\n' "$@" '' >&4
    timeout 200 cat <&4 >answer
    exec 4>&-
}

@test "the page shows a run while it runs, and how it ended" {
    prepare
    serves -i in -o out -j 2 -- ./some
    # What is under way is on it, though it is in no trace yet: both workers, as soon as they have begun.
    for _ in $(seq 600); do
        ask "GET /$key/ HTTP/1.1" "Host: 127.0.0.1:$port"
        head -n 1 answer | grep -q '^HTTP/1.1 200 OK'
        if grep -q '2 of 2 workers used' answer; then break; fi
        sleep 0.1
    done
    grep -q '2 of 2 workers used' answer
    grep -q '^Cleave-Page: [1-9]' answer
    grep -q "^Content-Security-Policy: default-src 'none'; .*connect-src 'self'; .*frame-ancestors 'none'" answer
    grep -q 'id="now" role="status">It runs: ' answer
    grep -q '<h1>.* bytes on 2 workers</h1>' answer
    grep -q '<dt>So far</dt>' answer
    # One who follows waits for what is newer, and sees the end.
    (sleep 0.5 && touch go) 3>&- &
    page=1
    while ! grep -q '^Cleave-Last: 1' answer; do
        ask "GET /$key/next?after=$page HTTP/1.1" "host: localhost"
        next=$(sed -n 's/^Cleave-Page: \([0-9]*\).*/\1/p' answer)
        [ "$next" -gt "$page" ]
        page=$next
    done
    grep -q 'role="status">It has ended after .*s, and all is done</p>' answer
    grep -q '<dt>Makespan</dt>' answer
    wait $job
    cmp in out
}

@test "other requests are refused, and only this machine is answered" {
    prepare
    serves -q -i in -o out -j 2 -- ./some
    ask 'GET /etc/passwd HTTP/1.1' 'Host: localhost'
    head -n 1 answer | grep -q '^HTTP/1.1 404 '
    # Without its key there is no page.
    for target in / /next?after=0 "/${key:0:31}/" "/${key}0/" "/$(tr 0-9a-f 1-9a-f0 <<<"$key")/"; do
        ask "GET $target HTTP/1.1" 'Host: localhost'
        head -n 1 answer | grep -q '^HTTP/1.1 404 '
    done
    ask "POST /$key/ HTTP/1.1" 'Host: localhost'
    head -n 1 answer | grep -q '^HTTP/1.1 405 '
    ask "GET /$key/ HTTP/1.1" 'Host: evil.example'
    head -n 1 answer | grep -q '^HTTP/1.1 403 '
    ask 'hello'
    head -n 1 answer | grep -q '^HTTP/1.1 400 '
    run timeout 200 "$CLEAVE" run --serve "127.0.0.1:$port" -i in -o two -- cat
    [ "$status" -ne 0 ]
    has "--serve: cannot listen at '127.0.0.1:$port': Address already in use; 127.0.0.1:0 takes a port that is free"
    [ ! -e two ]
    touch go
    wait $job
    cmp in out
    for bad in 8000x 127.0.0.1 127.0.0.1:70000 localhost:; do
        refuses "--serve: expected 127.0.0.1:PORT, got '$bad'" run --serve "$bad" -i in -o two -- cat
    done
    refuses "--serve: only this machine is served: expected 127.0.0.1:8000, got '0.0.0.0:8000'; \
from another one: ssh -L 8000:127.0.0.1:8000 HOST" run --serve 0.0.0.0:8000 -i in -o two -- cat
}

@test "connections that ask for nothing take no place from others" {
    prepare
    serves -q -i in -o out -j 2 -- ./some
    for _ in $(seq 40); do
        exec {silent}<>"/dev/tcp/127.0.0.1/$port"
    done
    ask "GET /$key/ HTTP/1.1" "Host: 127.0.0.1:$port"
    head -n 1 answer | grep -q '^HTTP/1.1 200 OK'
    touch go
    wait $job
    cmp in out
}

@test "a browser that does not read blocks nothing" {
    prepare
    touch go
    serves -q -i in -o out -j 2 -- ./some
    exec 5<>"/dev/tcp/127.0.0.1/$port" || true
    printf 'GET /%s/next?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n' "$key" >&5 || true
    wait $job
    exec 5>&- || true
    cmp in out
}
