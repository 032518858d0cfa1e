# run_leaders.bats -- hosts that lead others. SPDX-License-Identifier: MIT
#
# The hosts here are processes of this machine, reached through pipes, each by a script that
# notes its process.
load helper
load job

# prepare -- a folder for the files of a test: `in` has 3000 lines, `expected` is what comes out;
# l leads f and g, and w is led by nobody.
prepare() {
    T=$BATS_TEST_TMPDIR
    cd "$T" || return 1
    seq 1 3000 >in
    tr 0-9 a-j <in >expected
    printf '#!/bin/sh\nname=$1; shift\necho $$ >>"%s/$name.pids"\nexec "$@"\n' "$T" >note
    chmod +x note
    {
        printf 'port: multi\nworkers:\n'
        line l 1 ''
        line f 2 'via: l, '
        line g 1 'via: l, '
        line w 1 ''
    } >h.yaml
    sed '/name: w/d' h.yaml >led.yaml
}

# line NAME SLOTS MORE -- a host of the platform file.
line() {
    echo "  - {name: $1, slots: $2, ${3}speed: 1e7, bandwidth: 1e8, command: $T/note $1}"
}

# told ARGUMENT... -- a job whose summary is in words.
told() {
    timeout $LONG "$CLEAVE" run --json -o out "$@" >words 2>err
}

# gone NAME... -- all processes that were noted for these hosts have ended, or do now.
gone() {
    local pid
    for pid in $(for name in "$@"; do cat "$name.pids"; done); do
        while [ -e "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null; do
            sleep 0.02
        done
    done
}

# once TEST COMMAND -- `meddle`, which does this once, the first time that the test is true; all
# others wait for that.
once() {
    cat >meddle <<END
if $1 && mkdir "$T/done" 2>/dev/null; then $2; fi
while [ ! -d "$T/done" ]; do sleep 0.02; done
exec tr 0-9 a-j
END
}

@test "outputs of leaders are the same, and their links stay" {
    prepare
    job -i in --hosts h.yaml -- tr 0-9 a-j
    cmp expected out
    told -i in --hosts h.yaml -- tr 0-9 a-j
    grep -q '"host": "l", "leads": \["f", "g"\]' words
    rm ./*.pids
    # Three chunks for the one worker that the run has; all slots behind it work, over one link each.
    meeting_command l f.0 f.1 g
    job -i in --hosts led.yaml --block 5000 --joblog log -- "$T/meet"
    cmp expected out
    [ "$(tail -n +2 log | cut -f 2 | sort | uniq -c | tr -s ' ')" = " 3 l" ]
    [ "$(cat l.pids f.pids g.pids | wc -l)" -eq 3 ]
    gone l f g
}

@test "leaders have leaders, and read headers, reduce, and keep commands" {
    prepare
    { cat led.yaml && line x 1 'via: g, '; } >h.yaml
    sed -i '1i title' in
    { echo title && cat expected; } >new && mv new expected
    job -i in --hosts h.yaml --header --header-out --block 8000 -- \
        sh -c '>"$CLEAVE_WORKER"; while [ ! -e x ]; do sleep 0.02; done
            IFS= read -r head; echo "$head"; exec tr 0-9 a-j'
    cmp expected out
    # The sum of sums, at both levels.
    job -i <(seq 1 2000) --hosts led.yaml --block 3000 \
        --reduce 'echo $(($(cat {1}) + $(cat {2})))' -- awk '{ s += $1 } END { print s }'
    [ "$(cat out)" -eq 2001000 ]
    cat >stays.py <<'END'
import os, struct, sys
with open("starts", "a") as starts:
    starts.write(os.environ["CLEAVE_WORKER"] + "\n")
i, o = sys.stdin.buffer, sys.stdout.buffer
worked = False
while True:
    head = i.read(8)
    if len(head) < 8:
        break
    if not worked:
        with open("works", "a") as works:
            works.write(os.environ["CLEAVE_WORKER"] + "\n")
    worked = True
    body = i.read(struct.unpack(">Q", head)[0]).translate(bytes.maketrans(b"0123456789", b"abcdefghij"))
    o.write(struct.pack(">Q", len(body)) + body)
    o.flush()
END
    tail -n +2 in >bare
    tail -n +2 expected >bare-expected
    job -i bare --hosts led.yaml --block 1M --persistent -- python3 stays.py
    cmp bare-expected out
    # They stay for all chunks of the leaders, at both levels, and end well. One that has not begun to read
    # when the run ends may be killed.
    rm starts works
    cat >ends.py <<'END'
exec(open("stays.py").read())
if worked:
    with open("ends", "a") as ends:
        ends.write(os.environ["CLEAVE_WORKER"] + "\n")
END
    job -i bare --hosts h.yaml --block 2000 --backups off --persistent -- python3 ends.py
    cmp bare-expected out
    [ -z "$(sort starts | uniq -d)" ]
    cmp <(sort works) <(sort ends)
}

@test "a killed leader costs its unreturned work" {
    prepare
    once "[ \$CLEAVE_WORKER != w ]" 'kill -9 $(head -n 1 l.pids); sleep 2'
    told -i in --hosts h.yaml --block 1000 -- sh meddle
    cmp expected out
    [ -d done ]
    grep -q '"failed_chunks": 0' words
    grep -Eq '"lost": [1-9]' words
    gone l f g w
}

@test "a host that is lost is its leader's affair" {
    prepare
    once "[ \$CLEAVE_WORKER = g ]" 'kill -9 $(head -n 1 g.pids); sleep 2'
    told -i in --hosts led.yaml --block 8000 -- sh meddle
    cmp expected out
    [ -d done ]
    grep -q '"failed_chunks": 0' words
    grep -q '"lost": 0' words
    grep -q '^cleave: l: g: lost, its chunks go elsewhere' err
}

@test "commands that take too long behind a leader are stopped there" {
    prepare
    once true 'sleep 1000'
    job -i in --hosts led.yaml --block 8000 --timeout 3 --retries 3 -- sh meddle
    cmp expected out
    [ "$(wc -l <l.pids)" -eq 1 ]
}

@test "a failure below a leader is a failed chunk, and a killed run leaves nothing behind" {
    prepare
    fails_with 1 -i in --hosts led.yaml --block 8000 -- sh -c 'tr 0-9 a-j >&2; exit 1'
    says "the command said that it failed"
    gone l f g
    "$CLEAVE" run -q -i in --hosts led.yaml -- sh -c "touch $T/begun; sleep 1000" >none 2>&1 3>&- &
    pid=$!
    while [ ! -e begun ]; do sleep 0.02; done
    kill -9 $pid
    wait $pid || true
    gone l f g
}

@test "options that leaders do not support are refused" {
    prepare
    fails_with 2 --hosts h.yaml -- echo {} ::: a b
    says "host 'l' leads others (via:), which it cannot with items: leave via: out"
    fails_with 2 -i in --pairs expected --hosts h.yaml -- cat
    says "which it cannot with --pairs"
    fails_with 2 -i in --hosts h.yaml -- sh -c 'echo $CLEAVE_RECORD'
    says "which it cannot with a command that reads its chunk number"
    fails_with 2 -i in --framed -- cat
    says "--framed: pieces come on standard input and answers go to standard output"
    fails_with 2 -i in --hosts h.yaml --as nobody -- cat
    says "--as: h.yaml has no worker 'nobody'"
    fails_with 2 -i in --hosts a,b --as c -- cat
    says "--as: there is no host 'c' to be"
    # A frame that is cut short.
    printf '\0\0\0\0\0\0\0\5abc' >cut
    cleave 2 run --framed -j 1 -- cat <cut
    [ "$stderr" = "cleave: --framed: standard input ends inside of a frame" ]
}

# --- --via ---------------------------------------------------------------------------------

# by_words -- an ssh that reaches this machine and keeps whom it was asked for.
by_words() {
    cat >ssh <<'END'
#!/bin/sh
while [ "$1" != -- ]; do shift; done
echo "$2 $3" >>"${0%/*}/asked"
exec sh -c "$3"
END
    chmod +x ssh
    : >asked
    export PATH=$T:$PATH
}

@test "--via: hosts of a list lead hosts with their given slots" {
    prepare
    by_words
    # Who works does not go on before all have: a leads, its own slot and those behind it are all there.
    meeting_command a b.0 b.1 c here
    job -i in --hosts a:1,b:2,c:1,::1 --via a:b,c --block 5000 --connect-timeout 60 --remote "$CLEAVE" -- "$T/meet"
    cmp expected out
    [ "$(cut -d ' ' -f 1 asked | sort | tr '\n' ' ')" = "a b c " ]
    # However many slots it has itself, it is one worker to this run.
    told -i in --hosts a:2,b:2,c -j 1 --via a --remote "$CLEAVE" -- tr 0-9 a-j
    cmp expected out
    grep -q '"host": "a", "leads": \["b", "c"\]' words
    [ "$(grep -c '"name": "a' words)" -eq 1 ]
    # Hosts that are named nowhere else, leaders of leaders, words of ssh of one's own.
    rm here.* && : >asked
    meeting_command a n1 n2 x
    job -i in -S "1/a,1/$T/ssh -p 22 x" --via 'a:n[1-2]:1' --via n2:x --block 8000 --remote "$CLEAVE" -- "$T/meet"
    cmp expected out
    # A busy machine may reach one of them a second time.
    [ "$(cut -d ' ' -f 1 asked | sort -u | tr '\n' ' ')" = "a n1 n2 x " ]
    # What only they are told: that n2 leads x, and how x is reached.
    grep -q "^n2 .*--as n2 --sshlogin '1/n2,1/$T/ssh -p 22 x'" asked
}

@test "--via: workers of a platform file, in runs and in plans" {
    prepare
    sed -i 's/via: l, //' h.yaml
    meeting_command l f.0 f.1 g w
    job -i in --hosts h.yaml --via l:f,g --block 5000 -- "$T/meet"
    cmp expected out
    [ "$(cat l.pids f.pids g.pids w.pids | wc -l)" -eq 4 ]
    # As if the file said it.
    sed 's/name: [fg]/&, via: l/' h.yaml >led.yaml
    for verb in plan simulate compare; do
        "$CLEAVE" $verb load --platform h.yaml --via l:f,g --load 1e7 --json | grep -v '"command"' >by-option
        "$CLEAVE" $verb load --platform led.yaml --load 1e7 --json | grep -v '"command"' >by-file
        cmp by-option by-file
        "$CLEAVE" $verb load --platform h.yaml --load 1e7 --json | grep -v '"command"' >alone
        run ! cmp -s alone by-option
    done
    fails_with 2 -i in --hosts led.yaml --via w:f -- cat
    says "--via: 'f' is led by 'l' and by 'w': expected one leader"
    fails_with 2 -i in --hosts h.yaml --via l:f:2 -- cat
    says "--via: expected names of workers"
    fails_with 2 -i in --hosts a:2,b:2 --via a:b:3 -- cat
    says "--via: 'b' is named elsewhere too: expected its slots there"
    fails_with 2 -i in --hosts a,b --via a -- sh -c 'echo $CLEAVE_RECORD'
    says "leave --via out, so that all are reached from here"
}
