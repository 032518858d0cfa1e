# run_outputs.bats -- cleave run -o: a result is whole, or the old one is there.
# SPDX-License-Identifier: MIT
load helper
load lines

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 1000 >in
    echo old >out
}

# beside -- names that were written beside and left there.
beside() {
    find . -name '.*.part-*'
}

# part -- what the one that was left beside holds.
part() {
    local names
    names=$(beside)
    [ "$(printf '%s\n' "$names" | wc -l)" -eq 1 ] || return 1
    cat "$names"
}

@test "the old result exists until the new one is complete" {
    prepare
    cleave 0 run -q -i in -j 1 --block 2k -o out -- sh -c 'cat >/dev/null; cat out'
    [ "$(sort -u out)" = old ]
    [ -z "$(beside)" ]
    cleave 0 run -q -i in -j 2 -o out -- cat
    cmp in out
    cleave 0 run -q -i in -j 2 -o new -- cat
    cmp in new
    [ -z "$stderr" ]
}

@test "a run that cannot begin leaves the old result and nothing else" {
    prepare
    ls -A >before
    ls -A >before # with itself
    for words in "-i none -o out -- cat" "-i in -o out -- no-such-command" "-i in -o out" \
        "-i in -o out --split what -- cat" "-i in -o out --policy what -- cat" \
        "-i in -o out --halt what -- cat" "-i in -o out --hosts none -- cat" \
        "-i in -o out --pairs none --split fastq -- cat" "-i in -o out --nix -- cat" \
        "-i in -o out --joblog no/such -- cat" "-i in -o out --resume -- cat" \
        "-i in -o out --joblog log -- no-such-command" "-i none -o new --joblog log -- cat"; do
        echo "cleave run $words"
        run "$CLEAVE" run -q $words
        [ "$status" -ne 0 ]
        [ "$(cat out)" = old ]
        ls -A | diff before -
    done
}

@test "nothing is left of a run that wrote nothing" {
    prepare
    cleave 1 run -q -i in -o out -- sh -c 'cat >/dev/null; false'
    [ "$(cat out)" = old ]
    [ -z "$(beside)" ]
    [[ $stderr != *"as it was"* ]]
    cleave 1 run -q -i in -o new -- sh -c 'cat >/dev/null; false'
    [ ! -e new ]
    [ -z "$(beside)" ]
}

@test "a chunk that failed: the old result stays, and the new one is named" {
    prepare
    local fussy='read -r first; echo "$first"; cat; [ "$first" = 1 ]'
    for halt in never soon,fail=1 now,fail=1; do
        cleave 1 run -q -i in -j 1 --block 1k --halt $halt -o out -- sh -c "$fussy"
        [ "$(cat out)" = old ]
        [ "$(part | head -n 2 | xargs)" = "1 2" ]
        part | cmp -n "$(part | wc -c)" - in
        [ "${stderr_lines[-1]}" = "cleave: 'out' is unchanged; the incomplete new file is: $(beside | sed 's|^./||')" ]
        [ "$(stat -c %a "$(beside)")" = 600 ]
        rm "$(beside)"
    done
    cleave 1 run -q -i in -j 1 --block 1k -o new -- sh -c "$fussy"
    [ ! -e new ]
    [ "${stderr_lines[-1]}" = "cleave: 'new' was not made; the incomplete file is: $(beside | sed 's|^./||')" ]
}

@test "a persistent command that fails after its last chunk: the result is complete" {
    prepare
    cleave 1 run -q -i in -j 1 --persistent -o out -- sh -c 'cat; exit 3'
    cmp in out
    [ -z "$(beside)" ]
}

@test "the job log of a resumed run has the lines of the run before" {
    prepare
    local fussy='read -r first; echo "$first"; cat; [ "$first" = 1 ] || [ -e mended ]'
    cleave 1 run -q -i in -j 1 --block 1k --journal j --joblog log -o out -- sh -c "$fussy"
    cp log first
    [ "$(wc -l <first)" -eq 5 ]
    printf 'cut sh' >>log
    touch mended
    cleave 0 run -q -i in -j 2 --block 1k --journal j --resume --joblog log -o out -- sh -c "$fussy"
    cmp <(head -n 5 log) first
    [ "$(sed -n 6p log)" = "cut sh" ]
    [ "$(wc -l <log)" -eq 9 ]
    [ "$(grep -c '^Seq' log)" -eq 1 ]
    # Nothing is left to be done: all lines stay. Without --resume, none does.
    cleave 0 run -q -i in -j 2 --block 1k --journal j --resume --joblog log -o out -- sh -c "$fussy"
    [ "$(wc -l <log)" -eq 9 ]
    cp in other
    cleave 2 run -q -i in -j 2 --block 1k --journal j --resume --joblog other -o out -- sh -c "$fussy"
    [ "$stderr" = "cleave: --joblog: --resume cannot continue 'other': its first line has no column 'Seq'" ]
    cmp in other
    cleave 0 run -q -i in -j 1 --block 1k --joblog log -o out -- cat
    [ "$(wc -l <log)" -eq 5 ]
    [ -z "$(beside | grep -v '/.out.part')" ]
}

# A job log with these titles and one row of values, continued by a run of one chunk.
continue_log() { # TITLES ROW
    printf '%s\n%s\n' "$1" "$2" >log
    rm -f j out
    cleave 0 run -q -i in -j 'only*1' --block 1M --journal j --joblog first -o out -- cat
    cleave "${3-0}" run -q -i in -j 'only*1' --block 1M --journal j2 --resume --joblog log -o out -- cat
    rm -f j2
}

@test "--joblog --resume continues a log of an older version, without some columns" {
    prepare
    continue_log 'Seq	Host	JobRuntime	Exitval	Signal	Command' '1	old	0.5	0	0	in:0-1'
    [ "$(sed -n 1,2p log)" = 'Seq	Host	JobRuntime	Exitval	Signal	Command
1	old	0.5	0	0	in:0-1' ]
    [ "$(wc -l <log)" -eq 3 ]
    [ "$(sed -n 3p log | cut -f 1,2,4-)" = "1	only	0	0	in:0-$(stat -c %s in)" ]
}

@test "--joblog --resume keeps columns of a newer version, and leaves them empty in new rows" {
    prepare
    continue_log 'Seq	Host	Starttime	JobRuntime	Send	Receive	Exitval	Signal	Energy	Command	Cost' \
        '1	old	5	0.5	1	1	0	0	12 J	in:0-1	3'
    [ "$(sed -n 2p log)" = '1	old	5	0.5	1	1	0	0	12 J	in:0-1	3' ]
    [ "$(sed -n 3p log | cut -f 1,2,5-)" = "1	only	$(stat -c '%s	%s' in)	0	0		in:0-$(stat -c %s in)	" ]
}

@test "--joblog --resume follows the order of columns in the log" {
    prepare
    continue_log 'Command	Signal	Exitval	Seq	JobRuntime	Host' 'in:0-1	0	0	1	0.5	old'
    [ "$(sed -n 3p log | cut -f 1-4,6)" = "in:0-$(stat -c %s in)	0	0	1	only" ]
}

@test "--joblog --resume names the column that a log lacks" {
    prepare
    continue_log 'Seq	Host	JobRuntime	Exitval	Command' '1	old	0.5	0	in:0-1' 2
    [ "$stderr" = "cleave: --joblog: --resume cannot continue 'log': its first line has no column 'Signal'" ]
    [ "$(wc -l <log)" -eq 2 ]
}

@test "a resumed run has the result of the chunks before" {
    prepare
    local fussy='read -r first; echo "$first"; cat; [ "$first" = 1 ] || [ -e mended ]'
    cleave 1 run -q -i in -j 1 --block 1k --journal j -o out -- sh -c "$fussy"
    [ "$(cat out)" = old ]
    touch mended
    cleave 0 run -q -i in -j 2 --block 1k --journal j --resume --joblog log -o out -- sh -c "$fussy"
    cmp in out
    [ "$(tail -n +2 log | wc -l)" -eq 3 ]
    rm log
    cleave 0 run -q -i in -j 2 --journal k -o out -- cat
    cleave 0 run -q -i in -j 2 --journal k --resume --joblog log -o out -- cat
    cmp in out
    [ "$(wc -l <log)" -eq 1 ]
}

@test "the summary has the status that files end with" {
    prepare
    [ -c /dev/full ] || skip "/dev/full is not there"
    cleave 1 run -i in --json -o new --joblog /dev/full -- cat
    has '"exit_status": 1'
    cmp in new
    cleave 1 run -i in --json -o new --trace /dev/full -- cat
    has '"exit_status": 1'
    # Somebody has made a folder of that name meanwhile.
    cleave 1 run -i in --json -o later -- sh -c 'mkdir -p later/full; cat'
    has '"exit_status": 1'
    [[ ${stderr_lines[0]} == "cleave: --output: cannot write 'later': "* ]]
    [[ ${stderr_lines[1]} == "cleave: 'later' was not made; the incomplete file is: .later.part-"* ]]
    cmp in "$(beside)"
    # Where the folder has gone, nothing is said to be in it.
    mkdir gone
    cleave 1 run -q -i in -o gone/x -- sh -c 'cat; rm -rf gone'
    [ "$stderr" = "cleave: --output: cannot write 'gone/x': No such file or directory" ]
}

@test "a link stays and its target is replaced, other hard links keep the old result" {
    prepare
    mkdir far
    echo old >far/real
    chmod 664 far/real
    ln far/real hard
    ln -s ../far/real far/link
    ln -s far/link first
    cleave 0 run -q -i in -o first -- cat
    [ "$(readlink first)" = far/link ]
    cmp in far/real
    [ "$(stat -c %a far/real)" = 664 ]
    [ "$(cat hard)" = old ]
    # One that leads to a file that is not there yet.
    ln -s far/later second
    cleave 0 run -q -i in -o second -- cat
    cmp in far/later
    ln -s round round
    refuses "--output: cannot write 'round': Too many levels of symbolic links" run -i in -o round -- cat
    refuses "--output: cannot write 'far': Is a directory" run -i in -o far -- cat
    refuses "--output: cannot write 'no/such': No such file or directory" run -i in -o no/such -- cat
}

@test "- and names of descriptors mean open files; devices and pipes are written in place" {
    prepare
    for name in - /dev/stdout /dev/fd/1 /proc/self/fd/1; do
        echo before >all
        "$CLEAVE" run -i in --json -o $name -- cat >>all 2>summary
        [ "$(head -n 1 all)" = before ]
        tail -n +2 all | cmp in
        grep -q '"input_bytes": 3893' summary
    done
    [ ! -e - ]
    cleave 0 run -i in --json -o /dev/null -- cat
    has '"input_bytes": 3893'
    [ -c /dev/null ]
    mkfifo pipe
    cat pipe >piped &
    cleave 0 run -q -i in -o pipe -- cat
    wait $!
    [ -p pipe ]
    cmp in piped
    "$CLEAVE" run -q -i in -o /dev/fd/5 -- cat 5>five
    cmp in five
    # Failed or not, what is written in place is what there is.
    run bash -c '"$CLEAVE" run -q -i in -j 1 --block 1k -o /dev/stdout -- sh -c "
        read -r first; echo \$first; cat; [ \$first = 1 ]" 2>err | head -n 2'
    [ "$output" = $'1\n2' ]
    run ! grep -q 'not whole\|was not made' err
    [ -z "$(beside)" ]
}

@test "a job log exists after its first line, and the old log until then" {
    prepare
    echo old >log
    chmod 644 log
    cleave 0 run -q -i in -j 1 --block 1k --joblog log -- sh -c 'cat >/dev/null; head -n 1 log'
    [ "${lines[0]}" = old ]
    [[ ${lines[1]} == Seq* ]]
    [ "$(stat -c %a log)" = 600 ]
    cleave 2 run -q -i none --joblog log -- cat
    [ "$(wc -l <log)" -gt 2 ]
    cleave 0 run -q -i /dev/null --joblog log -- cat
    [ "$(wc -l <log)" -eq 1 ]
    cleave 0 run --dry-run -i in --joblog other -- cat
    [ ! -e other ]
    [ -z "$(beside)" ]
}

# held ARGUMENT... -- a run of two chunks or items in the background whose second one waits for `go`.
held() {
    cat >hold <<'END'
#!/bin/sh
[ $# -eq 0 ] && cat || echo "$1"
mkdir first 2>/dev/null && exit
touch second
i=0
while [ ! -e go ] && [ $i -lt 3000 ]; do sleep 0.02; i=$((i + 1)); done
END
    chmod +x hold
    rm -rf first second go
    timeout $LONG "$CLEAVE" run -q -j 1 "$@" 3>&- &
    held=$!
    until [ -e second ]; do sleep 0.02; done
}

@test "leftovers of a killed run's output and job log are removed by the next run and named" {
    prepare
    held -i in --block 2k --joblog log -o out -- ./hold
    kill -9 "$(pgrep -P $held)"
    wait $held || true
    touch go
    [ "$(beside)" != "" ]
    cleave 0 run -q -i in --joblog log -o out -- cat
    [[ $stderr == "cleave: removed '.out.part-"*"', "*" bytes of a run that was killed" ]]
    [ "$(beside)" = "" ]
    cmp in out
    # What a run that failed has left and named stays.
    cleave 1 run -q -i in --block 1k -o out -- awk '{ print } /^500$/ { bad = 1 } END { exit bad }'
    [ "$(beside)" != "" ]
    cleave 0 run -q -i in -o out -- cat
    [ "$(beside)" != "" ]
}

@test "a second run with the same job log or results is refused while the first one runs" {
    prepare
    held --joblog log -- ./hold ::: 1 2
    cleave 2 run -q -i in --joblog log -- cat
    [ "$stderr" = "cleave: --joblog: another run writes 'log'" ]
    touch go
    wait $held
    [ "$(wc -l <log)" -eq 3 ]
    cleave 0 run -q -i in --joblog log -- cat
    for results in res res.csv; do
        held --results $results -- ./hold ::: 1 2
        timeout $LONG "$CLEAVE" run -q --results $results -- echo ::: 3 >said 2>&1 && exit 1
        grep -q "^cleave: --results: another run writes .*'$results'$" said
        touch go
        wait $held
    done
    [ "$(find res -name stdout | wc -l)" -eq 2 ]
    [ "$(grep -c 'hold [12]' res.csv)" -eq 2 ]
}

@test "stopped by a signal: the partial result is reported" {
    prepare
    for signal in INT TERM; do
        rm -f here
        env --default-signal=INT "$CLEAVE" run -q -i in -j 1 --block 500 -o out -- sh -c '
            read -r first; echo "$first"; cat
            [ "$first" = 1 ] && exit
            until [ -s .out.part-$PPID ]; do sleep 0.02; done
            touch here; exec sleep 60' 2>err 3>&- &
        local id=$!
        appears here
        kill -s $signal $id
        local got=0
        wait $id || got=$?
        [ $got -eq $((128 + $(kill -l $signal))) ]
        [ "$(cat out)" = old ]
        part | cmp -n "$(part | wc -c)" - in
        [ "$(part | head -n 1)" = 1 ]
        says "cleave: 'out' is unchanged; the incomplete new file is: $(beside | sed 's|^./||')"
        rm "$(beside)"
    done
}

@test "lines of the chunk in front are written as they come" {
    prepare
    mkfifo go
    front_lines -j 2
    failed_lines -j 2
    # Lines of any chunk, if the order does not matter.
    "$CLEAVE" run -q -i in -j 2 --block 1k --line-buffer -u -- cat 3>&- | sort -n | cmp - in
    for option in '--retries 2' --isolate; do
        refuses "with --line-buffer lines of a chunk are written before it is done: expected no --retries and --isolate" run -i in --line-buffer $option -- cat
    done
    refuses "with --line-buffer lines of a chunk are written before it is done: expected no --journal" run -i in --line-buffer --journal j -- cat
    refuses "with --line-buffer lines of a chunk are written before it is done: expected no --reduce" run -i in --line-buffer --reduce cat -- cat
}
