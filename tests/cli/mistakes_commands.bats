# mistakes_commands.bats -- commands and names that cannot be taken as they were typed, and results
# that are not what was meant: it is said what to type.
# SPDX-License-Identifier: MIT
load helper

setup() {
    unset NO_COLOR COLUMNS LC_CTYPE LANG
    export LC_ALL=C
    cd "$BATS_TEST_TMPDIR"
    seq 2000 >numbers
}

# told STATUS TYPE ARGUMENT... -- it ends so, and says what to type.
told() {
    local expected=$1 type=$2
    shift 2
    run --separate-stderr timeout 200 "$CLEAVE" "$@" </dev/null
    [[ $stderr == *"$type"* && $status -eq $expected ]] || {
        echo "cleave $*: exit status $status, expected $expected and: $type"
        echo "$stderr"
        return 1
    }
}

@test "a number and its unit in two words" {
    told 2 "a number and its unit are one word: 4MB" run --block 4 MB -i numbers -- wc -l
    told 2 "a number and its unit are one word: 5min" run --timeout 5 minutes -i numbers -- wc -l
    told 2 "a number and its unit are one word: 2GB" plan load -p x.yaml --load 2 GB
    # Not a mistake: with quotes, or the way of GNU parallel and sleep(1).
    run -0 "$CLEAVE" run -q --block '4 MB' --timeout 1h30m -i numbers -- wc -l
    run -0 "$CLEAVE" run -q --delay 0m --grace 1m30s --host-timeout 1h -i numbers -- wc -l
    told 1 "the command took longer than 0.05 s" run -q --timeout 0m0.05s -i numbers --block 1M -- sleep 5
    told 2 "2min or 1h30m" run --timeout 1h30 -i numbers -- wc -l
    told 2 "2min or 1h30m" run --timeout 5mm -i numbers -- wc -l
}

@test "quotes that were forgotten" {
    told 2 "bash -c takes its line as one word, and 'wc' is all of it: bash -c 'wc -l'" run -i numbers -- bash -c wc -l
    told 2 "--reduce takes its command as one word, in quotes: --reduce 'sort -m {1} {2}'" \
        run -i numbers --reduce sort -m {1} {2} -- sort
    told 2 "items begin after ':::'" run wc -l :: numbers
    told 2 "':::numbers' is an argument of the command; items begin after ':::' and a blank" run wc -l :::numbers
    told 0 "there are no items, so no command was started" run wc -l :::
    printf 'id,name\n1,x\n' >table
    told 2 "'{nmae}': no column is called so; did you mean 'name'?" run --header : --colsep , echo {nmae} :::: table
    told 2 "'{far}' is not a placeholder" run --header : --colsep , 'echo {name} {far}' :::: table
    # Not mistakes.
    run -0 "$CLEAVE" run -q -i numbers -- sh -c 'wc "$1"' name -l
    run -0 "$CLEAVE" run -q -i numbers --literal -- echo ::
}

@test "programs that cannot be run" {
    mkdir folder bin
    printf '#!/no/such/interpreter -x\n' >other
    printf '#!/bin/sh\r\nwc -l\r\n' >windows
    printf '\x7fELF of another processor' >elf
    printf '#!/bin/sh\ncat\n' >bin/sort-of
    chmod +x other windows elf bin/sort-of
    told 2 "; its first line asks for '/no/such/interpreter'" run -i numbers -- ./other
    told 2 "; its first line ends in a carriage return, as on Windows: sed -i 's/\\r\$//' ./windows" run -i numbers -- ./windows
    told 2 "it was made for another processor than $(uname -m)" run -i numbers -- ./elf
    told 2 "it was made for another processor than" run ./elf ::: one
    told 2 "it is a folder. If it is the input: -i folder --recursive" run folder wc
    told 2 "if it is an alias of your shell, type its expansion" run -i numbers -- ll
    PATH=$PWD/bin:$PATH told 2 "not found in PATH; did you mean 'sort-of'?" run -i numbers -- sotr-of
    told 2 "cannot run './nothing': No such file or directory" run ./nothing ::: one
    told 2 "a line for a shell is one word: quotes around all of it" run -i numbers -- 'wc -l' -w
    told 2 "a line for a shell is one word: quotes around all of it" run 'wc -l {}' -w ::: numbers
    seq 40000 >long
    told 2 "one argument has room for 128 KiB" run -d , -a long wc -l
}

@test "names of files that are something else" {
    cp numbers other
    told 2 "a shell knows ~ only outside of quotes" run -i '~/numbers' -- wc
    told 2 "a shell knows ~ only outside of quotes" run -i numbers -o '~/out' -- wc
    told 2 "repeat the option for each file: -i FILE -i FILE" run -i numbers,other -- wc
    told 2 "repeat the option for each file" run -i 'numbers other' -- wc
    told 2 "curl -sfL https://example.org/x | cleave ..." run -i https://example.org/x -- wc
    told 2 "ssh me@there cat /x | cleave ..." run -i me@there:/x -- wc
    told 2 "it ends in a carriage return" run -i $'numbers\r' -- wc
    mkdir examples
    printf 'workers:\n  - {name: a, speed: 1, bandwidth: 1}\n' >examples/unequal.yaml
    told 2 "examples/unequal.yml: cannot read: No such file or directory; did you mean 'unequal.yaml'?" \
        plan load -p examples/unequal.yml -l 5
    told 2 "examples/far.off: cannot open" plan load -p examples/far.off -l 5
    told 2 "see 'cleave split --help'" split -i numbers -n 4 part-
    told 2 "; instead: --records N" split -l 1000 numbers
    told 2 "; instead: --size SIZE" split -b 1M numbers
    # Each of them can be the name of a file.
    for name in 'a,b' 'a b' 'me@there:x' '~x'; do
        cp numbers "$name"
        run -0 "$CLEAVE" run -q -i "$name" -- wc -l
    done
}

@test "inputs without records of the format" {
    printf '\x89PNG\r\n\x1a\n\0\0' >a.png
    printf '!<arch>\ndebian-binary   1665' >a.deb
    told 2 "got PNG: a command for each of many files is 'cleave run COMMAND {} ::: FILE...'" run -i a.png -- wc
    told 2 "type 'dpkg-deb --fsys-tarfile a.deb | cleave run ...', or say --split tar after it" run -i a.deb -- wc
}

@test "a policy as others call it, also where there is nothing to share" {
    : >empty
    told 2 "unknown policy 'static'; the nearest name is 'one-round'" run -i empty --policy static -- wc
    told 2 "the nearest name is 'guided'" run -i numbers --policy gss -- wc
    told 2 "did you mean 'learn'?" run -i empty --policy lern -- wc
    told 0 "the input is empty, so no command was started" run -i empty -- wc
    told 0 "" run -q -i empty -- wc
    [ -z "$stderr" ]
}

@test "an output of each chunk where one of all was meant" {
    told 0 "one output for each of 9 chunks; for one of all: --reduce sort:-n" run -i numbers --block 1000 -- sort -n
    told 0 "for one of all: --reduce sum" run -i numbers --block 1000 -- wc -l
    told 0 "for one of all: --reduce max" run -i numbers --block 1000 -- wc -L
    told 0 "for one of all: --reduce last" run -i numbers --block 1000 -- tail -n 1
    told 0 "for one of all: --reduce head:3" run -i numbers --block 1000 -- head -3
    told 0 "for one of all: --reduce sort" run -i numbers --block 1000 -- sort
    told 0 "--reduce CMD makes one of them" run -i numbers --block 1000 -- sort -R
    told 0 "--reduce CMD makes one of them" run -i numbers --block 1000 -- tail -c 1
    # What it says can be pasted.
    [ "$("$CLEAVE" run -q -i numbers --block 1000 --reduce sum -- wc -l)" = 2000 ]
    "$CLEAVE" run -q -i numbers --block 1000 --reduce 'sort:-n' -- sort -n | cmp - <(sort -n numbers)
    told 2 "gets its partial results as one stream and does not change it: --reduce 'sort -m {1} {2}'" \
        run -i numbers --reduce 'sort -m' -- sort
    # Nothing is said of one chunk, of records that were asked for, or with -q.
    told 0 "" run -i numbers --block 1M -- sort
    [[ $stderr != *"one output"* ]]
    told 0 "" run -i numbers --records 500 -- wc -l
    [[ $stderr != *"one output"* ]]
    told 0 "" run -q -i numbers --block 1000 -- sort
    [ -z "$stderr" ]
    told 0 "" run -i numbers --block 1000 -- cat
    [[ $stderr != *"one output"* ]]
}

@test "the same few lines of each chunk, or the same first line, lead to cleave check" {
    told 0 "each of 9 chunks wrote 1 line; if one result is meant: cleave check -i numbers -- awk 'NR == 1'" \
        run -i numbers --block 1000 -- awk 'NR == 1'
    told 0 "each of 9 chunks wrote 3 lines; if one result is meant: cleave check -i numbers -- sh -c" \
        run -i numbers --block 1000 -- sh -c 'wc -l; echo 2; echo 3'
    told 0 "each of 9 outputs begins with the same line; if that is wrong: cleave check -i numbers -- sh -c 'echo x; cat'" \
        run -i numbers --block 1000 -- sh -c 'echo x; cat'
    # Not of outputs that differ, of lines for each record, or of one result.
    for words in "cat" "awk length>3" "--reduce=count cat" "--block=1M wc" "-q awk NR==1"; do
        # shellcheck disable=SC2086
        told 0 "" run -i numbers --block 1000 $words
        [[ $stderr != *"cleave check"* ]]
    done
}

# names_told STATUS EXPECTED WORD... -- what is said of names that a pipe holds, its end included.
names_told() {
    local status_expected=$1 expected=$2
    shift 2
    rm -f names.pipe
    mkfifo names.pipe
    exec 5<>names.pipe 6<names.pipe
    cat names >&5
    exec 5>&-
    run --separate-stderr timeout 30 "$CLEAVE" run "$@" <&6
    exec 6<&-
    [[ $status -eq $status_expected && -n $expected && $stderr == *"$expected"* ||
        $status -eq $status_expected && -z $expected && $stderr != *"names of files"* ]] || {
        echo "cleave run $*: exit status $status, expected $status_expected and: $expected"
        echo "$stderr"
        return 1
    }
}

# remedy PATTERN -- what $stderr says to type, from "cleave run" to the next sentence.
remedy() {
    sed -n "s/.*$1: \(cleave run .*\)/\1/p" <<<"$stderr" | sed 's/\. For the names as data:.*//'
}

@test "names of files for a program that takes files: nothing is done, both ways are printed" {
    mkdir bin 'lo gs'
    ln -s "$(readlink -f "$CLEAVE")" bin/cleave
    export PATH=$PWD/bin:$PATH
    touch 'lo gs/a.log' "lo gs/b'c.log"
    find 'lo gs' -type f >names
    names_told 2 "standard input is names of files, and gzip is for files" -q gzip
    [ ! -e 'lo gs/a.log.gz' ]
    [ -z "$output" ]
    # Both can be pasted.
    bash -c "$(remedy 'For the names as data')" <names >packed
    [ "$(gunzip <packed)" = "$(cat names)" ]
    bash -c "$(remedy 'For each of them')" <names
    [ -e 'lo gs/a.log.gz' ]
    [ -e "lo gs/b'c.log.gz" ]
    find 'lo gs' -type f >names
    names_told 2 "cleave run -a - -q -j 1 -- md5sum -b. For" -q -j 1 -- md5sum -b
    names_told 2 "For each of them: cleave run -a - -q -- cp -t 'lo gs'" -q -- cp -t 'lo gs'
    names_told 2 "names of files" -- rm
    find 'lo gs' -type f -print0 >names
    names_told 2 "cleave run -0 -a - md5sum" md5sum
    # A file that is not there, a text, a name without its end, a command that has use for names.
    printf 'lo gs/a.log.gz\nlo gs/none\n' >names
    names_told 0 "" md5sum
    printf 'some text\n' >names
    names_told 0 "" md5sum
    printf 'lo gs' >names
    names_told 0 "" md5sum
    printf 'lo gs\nlo gs/a.log.gz\n' >names
    names_told 0 "" sort
    names_told 0 "" -i - md5sum
    names_told 0 "" -- md5sum -
    printf "lo gs/a.log.gz\n" >names
    names_told 0 "" -a - -- md5sum -t
}

@test "programs that take arguments, and no chunks" {
    told 0 "echo does not read standard input, where chunks come; to run it for each record: cleave run --each -i numbers -- echo" \
        run -i numbers -- echo
    told 1 "mkdir does not read standard input, where chunks come; to run it for each record: cleave run --each -i numbers -- mkdir" \
        run -i numbers -- mkdir
    [[ $stderr != *"all chunks failed"* ]]
    told 0 "" run -q -i numbers -- echo
    [ -z "$stderr" ]
    head -n 5 numbers >few
    told 0 "" run -i few --each echo
    [[ $stderr != *"standard input"* ]]
    told 0 "" run -i few cp /dev/stdin copy
    [[ $stderr != *"standard input"* ]]
    told 0 "" run echo ::: a b
    [[ $stderr != *"standard input"* ]]
}

@test "csv with other separators" {
    "$CLEAVE" sample --force --records 300 >/dev/null
    sed 's/,/;/g' table.csv >other.csv
    told 0 "other.csv has no comma, but ';', and csv only finds quotes next to commas: --split 'csv:;'" \
        run -i other.csv --split csv --header --block 1k -- cat
    tr ';' '\t' <other.csv >tabs.csv
    told 0 "--split 'csv:tab'" run -i tabs.csv --split csv --header --block 1k -- cat
    for quiet in "other.csv --split csv:;" "table.csv --split csv"; do
        # shellcheck disable=SC2086
        told 0 "" run -i $quiet --header --block 1k -- cat
        [[ $stderr != *"finds quotes"* ]]
    done
    gzip -c other.csv >packed.csv.gz
    told 0 "" run -i packed.csv.gz --split csv --header --block 1k -- cat
    [[ $stderr != *"finds quotes"* ]]
}

@test "options without their argument, and after the command" {
    told 2 "--decode: needs an argument: HOW" run --decode -i numbers -- wc
    told 2 "--workers: needs an argument: N" run -j -i numbers -- wc
    told 2 "'-i numbers' was passed to the command; put cleave's options before the command" run echo -i numbers
    # The way of GNU parallel.
    told 1 "exited with status 1" run -q --halt 2 -j 1 exit ::: 1 0
    [[ $stderr != *"expected"* ]]
    told 0 "" run -q --halt 0 true ::: 1
}

@test "JSON that is one value" {
    { echo '{ "list": ['; seq -s , 40000; echo '] }'; } >one.json
    told 0 "all of it is one JSON value, which one command has read; to share out an array inside of it: jq -c '.KEY[]' FILE" \
        run -i one.json --split json -- cat
    told 0 "" run -i one.json --split json --block 1M -- cat
    [[ $stderr != *"one JSON value"* ]]
    { echo '['; seq -s , 40000; echo ']'; } >many.json
    told 0 "" run -i many.json --split json -- cat
    [[ $stderr != *"one JSON value"* ]]
}

@test "the input as an argument of the command, too" {
    told 0 "'numbers' is also an argument of the command, which has then read all of it for every chunk" \
        run -i numbers --block 1000 -- grep -c 1 numbers
    told 0 "" run -i numbers -- cat - numbers
    [[ $stderr != *"argument of the command"* ]]
}

@test "--ok: statuses that are not failures; a search that finds nothing somewhere" {
    printf 'a\n' >one
    # As grep: 0 if something was found, 1 if nothing was, and no word about it.
    for words in "grep ^1999\$" "LC_ALL=C grep ^1999\$" "cat | grep ^1999\$" "sh -c 'grep ^1999\$'"; do
        eval "run -0 --separate-stderr \"\$CLEAVE\" run -q -i numbers --block 1000 $([[ $words == *LC_ALL* || $words == *'|'* ]] && printf '%q' "$words" || printf '%s' "$words")"
        [ "$output" = 1999 ]
        [ -z "$stderr" ]
    done
    run -1 --separate-stderr "$CLEAVE" run -q -i numbers --block 1000 -o out grep none
    [ -z "$stderr" ]
    [ -e out ] # it is whole
    [ ! -s out ]
    run -0 "$CLEAVE" run -q grep a ::: one numbers
    [ "$output" = a ]
    run -1 --separate-stderr "$CLEAVE" run -q 'cat {} | grep none' ::: one numbers
    [ -z "$stderr" ]
    run -0 "$CLEAVE" run -q cmp numbers ::: one numbers
    run -0 "$CLEAVE" run -q --joblog log -j 1 grep a ::: one numbers
    [ "$(cut -f 7 log | tr '\n' ' ')" = "Exitval 0 1 " ]
    # The children of a search that found nothing are not stopped as those of a failure are.
    run -1 "$CLEAVE" run -q -i one --block 1M -- sh -c '(sleep 0.2; touch left) & exec grep none'
    [ -e left ]
    # Other statuses, programs and lines are not covered by it.
    told 1 "exited with status 2" run -q grep a ::: nothing
    told 1 "exited with status 1" run -q -i numbers 'grep none; false'
    told 1 "exited with status 1" run -q -i numbers 'grep none && true'
    told 1 "exited with status 1" run -q --ok 0 grep a ::: one numbers
    told 1 "exited with status 3" run -q --ok 0-2,4 'exit {}' ::: 1 3 4
    run -0 "$CLEAVE" run -q --ok 1-3,255 'exit {}' ::: 0 1 3 255
    run -1 "$CLEAVE" run -q --ok 7 -i numbers 'exit 7'
    for list in x 0,256 3-1 1, -1 '1 2'; do
        told 2 "--ok: expected exit statuses from 0 to 255, as '0,1' or '0-3', got '$list'" run "--ok=$list" true ::: 1
    done
    told 2 "--ok is for a command that ends after each chunk: expected no --persistent" run --ok 1 --persistent -i numbers cat
    # On other machines as here.
    printf 'port: multi\nworkers:\n  - {name: a, command: env, slots: 2, speed: 1M, bandwidth: 1M}\n' >far.yaml
    run -0 "$CLEAVE" run -q --hosts far.yaml -i numbers --block 1000 grep '^1999$'
    [ "$output" = 1999 ]
    run -1 --separate-stderr "$CLEAVE" run -q --hosts far.yaml grep none ::: "$PWD/one" "$PWD/numbers"
    [ -z "$stderr" ]
    run -1 --separate-stderr "$CLEAVE" run -q --hosts far.yaml -i numbers --block 1000 --ok 0,255 'exit 255'
    [ -z "$stderr" ]
}

@test "help of a command, asked for before it" {
    run -0 "$CLEAVE" --help split
    [ "$output" = "$("$CLEAVE" split --help)" ]
    run -0 "$CLEAVE" -h plan load
    [ "$output" = "$("$CLEAVE" plan load --help)" ]
    told 2 "unknown command or topic 'spilt'; did you mean 'split'?" --help spilt
}

@test "a list of Windows" {
    printf 'numbers\r\n' >list
    told 1 "lines of 'list' end in a carriage return, as on Windows, and so do the items: sed -i 's/\\r\$//' list" run -a list wc -l
    sed -i 's/\r$//' list
    run -0 "$CLEAVE" run -q -a list wc -l
}

@test "hosts that lack a file of this machine, and options after the command" {
    mkdir elsewhere
    printf 'a\n' >one
    printf '#!/bin/sh\ncat\n' >copy
    chmod +x copy
    printf 'port: multi\nworkers:\n  - {name: a, command: env -C %s, slots: 1, speed: 1M, bandwidth: 1M}\n' \
        "$PWD/elsewhere" >far.yaml
    told 3 "'./copy' is here; hosts look for it where ssh begins: copy it there, or say --workdir DIR where it is" \
        run --hosts far.yaml -i numbers -- ./copy
    told 1 "'one' is here, and was not sent: --transferfile {} sends files of items to hosts" \
        run --hosts far.yaml 'wc -l {}' ::: one
    # What it says helps.
    run -0 "$CLEAVE" run -q --hosts far.yaml --workdir "$PWD" -i numbers -- ./copy
    run -0 "$CLEAVE" run -q --hosts far.yaml --transferfile {} 'wc -l {}' ::: one
    told 1 "'--workers' was passed to the command; put cleave's options before the command" \
        run wc -l {} --workers 2 ::: one
    told 1 "'--reduce' was passed to the command" run -i numbers wc -l --reduce cat
}

@test "variables that others set for their commands" {
    told 2 "the number of the command is \$CLEAVE_CHUNK, or {#} of an item" run 'echo {} >out.$PARALLEL_SEQ' ::: a b
    [ ! -e out. ]
    told 2 "the place of the worker is \$CLEAVE_SLOT" run 'echo $PARALLEL_JOBSLOT=' ::: a
    told 2 "the place of the worker is \$CLEAVE_SLOT" run -i numbers -- sh -c 'sort >out.${PARALLEL_JOBSLOT}'
    told 2 "'... {} ...' ::: {1..100}" run 'echo $SLURM_ARRAY_TASK_ID' ::: 1 2
    # Others with a longer name, and those that somebody has set, are what they are.
    run -0 "$CLEAVE" run -q 'echo {}$PARALLEL_SEQUEL' ::: a
    [ "$output" = a ]
    run -0 "$CLEAVE" run -q 'PARALLEL_SEQ=7; echo {}$PARALLEL_SEQ' ::: a
    [ "$output" = a7 ]
    PARALLEL_SEQ=8 run -0 "$CLEAVE" run -q 'echo {}$PARALLEL_SEQ' ::: a
    [ "$output" = a8 ]
}

@test "lines of standard input that are commands, or items with another separator" {
    printf 'echo one\necho two | rev\n' >commands
    run --separate-stderr "$CLEAVE" run -j 4 <commands
    [ "$status" -eq 2 ]
    [[ $stderr == *"to run the lines of standard input: cleave run -a -" ]]
    run -0 --separate-stderr "$CLEAVE" run -q -a - <commands
    [ "$output" = $'one\nowt' ]
    told 2 "-a - for those of standard input" run -d , echo
    run -0 bash -c 'printf a,b | "$1" run -q -d , -a - echo' _ "$CLEAVE"
    [ "$output" = $'a\nb' ]
}
