# run_items_hosts.bats -- items on other machines, with their files. SPDX-License-Identifier: MIT
#
# The hosts are processes of this machine that begin in folders of their own.
load helper
load job

# prepare -- folders a and b are what hosts a and b see, m is where the run begins.
prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir a b m m/in
    cd m || return 1
    hosts "name: a, slots: 2, command: env --chdir=$PWD/../a" \
        "name: b, slots: 1, command: env --chdir=$PWD/../b" >h.yaml
}

@test "outputs of items on hosts agree with local ones" {
    prepare
    job --hosts h.yaml --joblog log 'echo {} $CLEAVE_CHUNK; pwd >&2' ::: {1..20}
    cmp out <(for i in {1..20}; do echo $i $i; done)
    # They ran there, each in the place that {%} and the variable say.
    [ "$(sort -u err)" = "$(printf '%s\n' "${PWD%/m}"/{a,b} | sort | grep -xFf <(sort -u err))" ]
    run ! grep -q "/m$" err
    job --hosts h.yaml '[ $CLEAVE_SLOT = {%} ] && echo $CLEAVE_WORKER' ::: {1..5}
    run ! grep -qvxE 'a\.0|a\.1|b' out
    job --hosts h.yaml --tag echo x ::: 'a b' "c'd"
    cmp out <(printf 'a b\tx a b\n%s\tx %s\n' "c'd" "c'd")
    # What an item wrote before it failed is written, too; errors are kept with --results.
    fails_with 1 --hosts h.yaml --results R 'echo out {}; echo err {} >&2; exit {}' ::: 0 3
    says "item 2 (echo out 3; echo err 3 >&2; exit 3): the command exited with status 3"
    [ "$(cat R/1/0/stdout R/1/3/stdout R/1/0/stderr R/1/3/stderr)" = $'out 0\nout 3\nerr 0\nerr 3' ]
    job --hosts h.yaml --results R.csv 'echo {}; echo e >&2' ::: a
    [[ $(tail -n +2 R.csv) == 1,*,0,0,'"echo a; echo e >&2",a,"a'$'\n","e\n"' ]]
    # A program that is not here may be there; one that is nowhere is said.
    fails_with 1 --hosts h.yaml no-such-program ::: a
    says "no-such-program"
    job --hosts h.yaml --reduce 'awk "{ s += \$1 } END { print s }"' echo ::: {1..20}
    [ "$(cat out)" = 210 ]
    # Several for a command, as many as pay.
    job --hosts h.yaml --many echo ::: {1..500}
    [ "$(tr '\n' ' ' <out)" = "$(echo {1..500}) " ]
    # A journal knows what was done, wherever.
    job --hosts h.yaml --journal J echo ::: a b c
    job --journal J --resume --joblog again -j 1 echo ::: a b c d
    [ "$(cat out)" = $'a\nb\nc\nd' ]
    [ "$(wc -l <again)" -eq 2 ]
}

@test "files go there with items, and come back" {
    prepare
    local i names=('in/a b.txt' "in/it's.txt" $'in/new\nline.txt' in/-dash.txt plain.txt 'in/$x.txt')
    for i in "${!names[@]}"; do seq $((1000 * i)) >"${names[i]}"; done
    chmod 640 "${names[0]}"
    chmod 400 "${names[1]}"
    printf '#!/bin/sh\nwc -l <"$1" | tr -d " "\n' >tool.sh
    chmod 755 tool.sh
    job --hosts h.yaml --transferfile {} --basefile tool.sh --return {.}.out --return {.}.mode --cleanup \
        './tool.sh {} >{.}.out; stat -c %a {} >{.}.mode; chmod 600 {.}.out' ::: "${names[@]}"
    for i in "${!names[@]}"; do
        [ "$(cat "${names[i]%.txt}.out")" = $((1000 * i)) ]
        [ "$(stat -c %a "${names[i]%.txt}.out")" = 600 ]
        [ "$(cat "${names[i]%.txt}.mode")" = "$(stat -c %a "${names[i]}")" ]
    done
    # Nothing is left there, and nothing but what was asked for is here.
    [ -z "$(find ../a ../b -mindepth 1)" ]
    [ -z "$(find . -name '.*part*')" ]
    # Without --cleanup it is; a file that is there, write-protected, is sent all the same.
    job --hosts h.yaml --transfer cat ::: "${names[1]}" "${names[1]}" "${names[1]}"
    job --hosts h.yaml --transfer cat ::: "${names[1]}" "${names[1]}" "${names[1]}"
    [ "$(wc -l <out)" -eq 3000 ]
    cmp "${names[1]}" ../a/"${names[1]}"
    # A file that several need goes with the last of them.
    sed /b,/d h.yaml >one.yaml # 3 begins when 2 has ended, and 1 reads it then
    job --hosts one.yaml --transferfile plain.txt --cleanup \
        'case {} in 1) until [ -e ../third ]; do sleep 0.01; done ;; 3) touch ../third ;; esac; wc -l <plain.txt' ::: 1 2 3
    [ "$(cat out)" = $'4000\n4000\n4000' ]
    [ ! -e ../a/plain.txt ]
}

@test "--cleanup on a host in the same directory keeps existing files" {
    cd "$BATS_TEST_TMPDIR"
    printf 'workers:\n  - {name: here, slots: 2, speed: 1e6, bandwidth: 1e9}\n' >h.yaml
    mkdir sub
    seq 10 >a
    seq 20 >sub/b
    echo tool >base
    job --hosts h.yaml --transferfile {} --basefile base --return {}.out --cleanup 'cat base {} >{}.out' ::: a sub/b
    cmp a.out <(echo tool; seq 10)
    cmp sub/b.out <(echo tool; seq 20)
    rm a.out sub/b.out
    [ "$(cat a sub/b base)" = "$(seq 10; seq 20; echo tool)" ]
    # What is given back in the place of what was sent is there as well.
    job --hosts h.yaml --transferfile {} --return {} --cleanup 'echo more >>{}' ::: a
    [ "$(tail -n 1 a)" = more ]
}

@test "names are the same there, or the part after /./" {
    prepare
    mkdir deep res
    seq 10 >deep/x
    seq 20 >../absolute
    job --hosts h.yaml --transferfile deep/./{} --return res/./{}.n --cleanup 'wc -l <{} >{}.n' ::: x
    [ "$(cat res/x.n)" -eq 10 ]
    job --hosts h.yaml --workdir sub/folder --transferfile {} cat ::: deep/x
    cmp out deep/x
    cmp deep/x ../[ab]/sub/folder/deep/x
    # One that is absolute has the same place there.
    job --hosts h.yaml --transferfile {} cat ::: "$BATS_TEST_TMPDIR/absolute"
    cmp out ../absolute
    # A folder of its own is gone afterwards.
    HOME=$BATS_TEST_TMPDIR/home job --hosts h.yaml --workdir ... --cleanup --transfer 'pwd; wc -l <{}' ::: deep/x
    [[ $(head -n 1 out) == "$BATS_TEST_TMPDIR/home/.cache/cleave/work-"?????? ]]
    [ "$(tail -n 1 out)" -eq 10 ]
    [ -z "$(ls "$BATS_TEST_TMPDIR/home/.cache/cleave")" ]
    # This folder, seen from the home.
    HOME=$BATS_TEST_TMPDIR job --hosts h.yaml --workdir . pwd ::: ''
    [ "$(cat out)" = "$PWD" ]
}

@test "a bad file fails its item only" {
    prepare
    echo good >good
    mkdir folder
    fails_with 1 --hosts h.yaml --transfer cat ::: none good ../m/good folder
    [ "$(cat out)" = good ]
    says "item 1 (cat none): the command did not start: cannot send 'none': No such file or directory"
    says "item 3 (cat ../m/good): the command did not start: cannot send '../m/good': '..' leads out of the folder there"
    says "item 4 (cat folder): the command did not start: cannot send 'folder': it is not a regular file"
    [ ! -e ../a/good.part ] && [ ! -e ../m.none ]
    fails_with 1 --hosts h.yaml --return {}.out 'echo {} >{}; [ {} = a ] || mv {} {}.out' ::: a b
    says "item 1 (echo a >a; [ a = a ] || mv a a.out): the command did its work, but it left no 'a.out'"
    [ "$(cat b.out)" = b ]
    fails_with 1 --hosts h.yaml --return folder 'mkdir -p x; echo {} >folder' ::: a
    says "did its work, but cannot write 'folder': "
    fails_with 2 --hosts h.yaml --basefile nothing echo ::: a
    says "cannot send 'nothing': No such file or directory"
    refuses "--transferfile, --return, --basefile and --cleanup need --hosts with other machines: here, commands see all files" run --transfer cat ::: good
    refuses "commands on hosts cannot write to the output themselves: expected no --ungroup; --line-buffer writes each line as it comes" run --hosts h.yaml --ungroup cat ::: good
    refuses "--return is for items, and there are no items: name them after the command, as in ... {} ::: *.txt, or --each for the records of the input" run --return x cat
}

@test "a file that a host sees does not travel" {
    prepare
    seq 100000 >big
    cp -p big ../a
    cp big ../b # at another time
    touch -d 2001-01-01 ../b/big
    sed -i /b,/d h.yaml
    job --hosts h.yaml --shared-input --transfer --cleanup --joblog log 'wc -l <{}' ::: big big big
    [ "$(sort -u out)" = 100000 ]
    awk -F '\t' 'NR > 1 && $5 > 1000 { exit 1 }' log
    [ -e ../a/big ] # nobody sent it
    sed -i 's|/a}|/b}|' h.yaml
    job --hosts h.yaml --shared-input --transfer --backups off --joblog log 'wc -l <{}' ::: big big big
    [ "$(sort -u out)" = 100000 ]
    says "a: does not see the files of items, which are sent: big is not here, or another one"
    awk -F '\t' 'NR > 1 && $5 < 588895 { exit 1 }' log
}

@test "items of a host that is lost are done elsewhere, with their files" {
    prepare
    local i
    for i in {1..12}; do seq $((1000 * i)) >in/$i; done
    echo base >base
    # The first host ends with the worker that is killed; its command is started again.
    job --hosts h.yaml --transfer --basefile base --return {}.n --cleanup \
        'if mkdir ../gone; then kill -9 $PPID; sleep 2; fi 2>/dev/null; wc -l <{} >{}.n; cat base' ::: in/{1..12}
    [ "$(sort out | uniq -c | tr -d ' ')" = 12base ]
    for i in {1..12}; do [ "$(cat in/$i.n)" = $((1000 * i)) ]; done
    says "lost, its chunks go elsewhere"
}

@test "a host that cannot run a command, or not take its files, leaves its items to others" {
    prepare
    mkdir bin
    printf '#!/bin/sh\necho $1\n' >bin/program
    printf '#!/bin/sh\nexit 0\n' >../a/denied
    chmod +x bin/program
    hosts "name: a, slots: 4" "name: b, slots: 1, command: env PATH=$PWD/bin:$PATH" >h.yaml
    for retries in "" "--retries 3"; do
        # shellcheck disable=SC2086
        job --hosts h.yaml $retries program ::: {1..40}
        cmp out <(seq 40)
        job --hosts h.yaml $retries 'program {}; exit $?' ::: {1..40}
        cmp out <(seq 40)
    done
    # Such a failure is not one of --retries.
    fails_with 1 --hosts h.yaml --retries 2 --joblog log "mkdir $PWD/first 2>/dev/null && exit 127; exit 3 # {}" ::: 1
    [ "$(cut -f 7 log | tail -n +2 | tr '\n' ' ')" = "127 3 3 " ]
    # This machine is not fit, either; and a host that is, but comes late.
    hosts 'name: here, count: 2' "name: b, slots: 1, command: env PATH=$PWD/bin:$PATH" >h.yaml
    job --hosts h.yaml program ::: {1..20}
    cmp out <(seq 20)
    cat >late <<'END'
#!/bin/sh
until [ -s tries ]; do sleep 0.05; done
sleep 0.3
exec "$@"
END
    chmod +x late
    hosts "name: a, slots: 4" "name: b, slots: 1, command: $PWD/late env PATH=$PWD/bin:$PATH" >h.yaml
    job --hosts h.yaml --connect-timeout 60 "echo {} >>$PWD/tries; program {}" ::: {1..40}
    cmp out <(seq 40)
    # No permission, and files that cannot be written there.
    hosts "name: a, slots: 4, command: env --chdir=$PWD/../a" "name: b, slots: 1, command: env --chdir=$PWD/../b" >h.yaml
    printf '#!/bin/sh\necho $1\n' >../b/denied
    chmod +x ../b/denied
    job --hosts h.yaml ./denied ::: {1..40}
    cmp out <(seq 40)
    : >../a/in
    for i in {1..20}; do echo $i >in/$i; done
    job --hosts h.yaml --transferfile {} cat ::: in/{1..20}
    cmp out <(seq 20)
}

@test "an item that no host can run fails alone, and all of them end the run" {
    prepare
    fails_with 1 --hosts h.yaml --joblog log '{}' ::: 'echo 1' nothing-like-it 'echo 2'
    [ "$(cat out)" = $'1\n2' ]
    says "item 2 (nothing-like-it): the command exited with status 127"
    # Once on each.
    [ "$(grep -c nothing-like-it log)" -eq 2 ]
    fails_with 1 --hosts h.yaml --joblog log nothing-like-it ::: {1..1000}
    grep -q '^cleave: halted: no host can run the command: 1[0-9] items failed, none succeeded$' err
    [ "$(wc -l <log)" -lt 100 ]
    fails_with 1 --hosts h.yaml --joblog log --halt never nothing-like-it ::: {1..30}
    [ "$(tail -n +2 log | wc -l)" -eq 60 ]
    # What cannot be read here is not a matter of the hosts.
    fails_with 1 --hosts h.yaml --joblog log --transferfile {} cat ::: in/{1..20}
    [ "$(tail -n +2 log | wc -l)" -eq 20 ]
}
