# run_items.bats -- one command for each item, as GNU parallel would. SPDX-License-Identifier: MIT
load helper

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    command -v parallel >/dev/null || skip "GNU parallel is not installed"
    HERE=$CLEAVE
}

# same ARGUMENT... -- cleave run writes what GNU parallel writes, byte for byte.
same() {
    timeout $LONG parallel --will-cite -k "$@" >theirs 2>theirs.err </dev/null || true
    timeout $LONG "$CLEAVE" run -q "$@" >ours 2>ours.err </dev/null 3>&- || true
    cmp theirs ours || {
        printf 'arguments: %q\n' "$*"
        diff theirs ours
        cat ours.err
        return 1
    }
}

# --- who does what ----------------------------------------------------------------------

# The first command waits for what the last one makes: nothing may wait behind it while a worker is idle.
@test "nothing waits for a busy worker while another one is idle" {
    cd "$BATS_TEST_TMPDIR"
    wait_for='until [ -e last ]; do sleep 0.01; done'
    for workers in 2 3; do
        run_alone "case {} in 1) $wait_for ;; 9) touch last ;; esac" ::: 1 2 3 4 5 6 7 8 9
        run_alone -N 2 "case {1} in 1) $wait_for ;; 9) touch last ;; esac" ::: 1 2 3 4 5 6 7 8 9 10
        run_alone -X --max-args 2 "case ' '{}' ' in *' 1 '*) $wait_for ;; *' 9 '*) touch last ;; esac" \
            ::: 1 2 3 4 5 6 7 8 9
        seq 9 | run_alone --block 1 sh -c "read -r x; case \$x in 1) $wait_for ;; 9) touch last ;; esac"
        seq 9 >list
        run_alone -i list --block 1 sh -c "read -r x; case \$x in 1) $wait_for ;; 9) touch last ;; esac"
    done
}

run_alone() {
    rm -f last
    timeout $LONG "$CLEAVE" run -q -j "$workers" "$@" 3>&-
    [ -e last ]
}

# --- lists that come --------------------------------------------------------------------

@test "a list is used as it comes, and outputs do not wait for it" {
    cd "$BATS_TEST_TMPDIR"
    mkfifo list
    for how in "echo {} :::: list" "-a list echo {}" "-i list --each echo {}" "--line-buffer -a list echo {}" \
        "--dry-run -a list echo"; do
        exec 7< <(timeout $LONG "$CLEAVE" run -q -j 2 $how 3>&-)
        exec 8>list
        for item in a 'b c' d; do
            echo "$item" >&8
            read -r line <&7
            [ "${line#echo }" = "$item" ] || [ "$line" = "echo '$item'" ]
        done
        printf 'no end' >&8
        exec 8>&-
        read -r line <&7
        [ "$line" = "no end" ] || [ "$line" = "echo 'no end'" ]
        run ! read -r line <&7
        exec 7<&-
    done
    # Several for a command: the last ones are those that are left. Standard input is a list, too.
    exec 7< <(timeout $LONG "$CLEAVE" run -q -n 2 -a - echo <list 3>&-)
    exec 8>list
    printf '1\n2\n3\n' >&8
    read -r line <&7
    [ "$line" = "1 2" ]
    exec 8>&-
    read -r line <&7
    [ "$line" = 3 ]
    exec 7<&-
}

@test "a list without a writer yet is not empty" {
    cd "$BATS_TEST_TMPDIR"
    mkfifo list
    for how in "--dry-run -a list echo" "--header : -a list echo {n}" "-a list echo"; do
        timeout $LONG "$CLEAVE" run -q -j 1 $how >out 3>&- &
        until pgrep -P $! >pid && ls -l /proc/"$(cat pid)"/fd 2>/dev/null | grep -q list; do
            kill -0 $! || break # it ended: without a word
            sleep 0.02
        done
        sleep 0.1
        exec 8<>list
        printf 'n\nm\n' >&8
        exec 8>&-
        wait $!
        [ "$(tail -n 1 out)" = m ] || [ "$(tail -n 1 out)" = "echo m" ]
    done
}

@test "a run over an incoming list ends with its command, and lists unread items" {
    cd "$BATS_TEST_TMPDIR"
    mkfifo list
    # Held open: only the halt can end it.
    exec 8<>list
    printf '%s\n' 1 2 3 4 >&8
    run -1 timeout $LONG "$CLEAVE" run -j 1 --halt now,fail=1 -a list 'test {} -lt 2' 3>&- 8>&-
    [[ "$output" == *"left undone: 2 items (3 to 4), and the input that was not read"* ]]
    exec 8>&-
    # Nothing at all came.
    run -0 --separate-stderr timeout $LONG "$CLEAVE" run --summary -a - echo </dev/null 3>&-
    [ -z "$output" ]
    [[ "$stderr" == *"cleave: 0 commands"* ]]
    [[ "$stderr" != *limit* ]]
    # How long a list was waited for nobody knows.
    run -0 timeout $LONG "$CLEAVE" run --summary -j 2 -a - true < <(seq 4) 3>&-
    [[ "$output" == *"4 commands"* ]]
    [[ "$output" != *alone* ]]
    # What has to know all waits for the end.
    [ "$(seq 9 | timeout $LONG "$CLEAVE" run -q --shuf -a - echo 3>&- | sort -n | tr -d '\n')" = 123456789 ]
    [ "$(seq 3 | timeout $LONG "$CLEAVE" run -q --weight 1 -j 1 -u -a - echo 3>&- | tr -d '\n')" = 321 ]
    [ "$(seq 3 | timeout $LONG "$CLEAVE" run -q echo :::: - ::: a 3>&- | tr '\n' .)" = "1 a.2 a.3 a." ]
}

# --- command lines ------------------------------------------------------------------------

@test "a list that there is no memory for is an error, not a shorter list" {
    cd "$BATS_TEST_TMPDIR"
    bash -c 'ulimit -v 200000; "$CLEAVE" version' >/dev/null 2>&1 || skip "it cannot do with so little memory"
    echo a >list
    truncate -s 400M list
    printf '\nb\n' >>list
    run bash -c 'ulimit -v 200000; "$CLEAVE" run -q --shuf -a list -- echo {} 2>&1'
    [ "$output" = "cleave: list: cannot read: Cannot allocate memory" ]
    [ "$status" -eq 2 ]
}

@test "a large list of items that is rewritten in place while it is read is an error" {
    local long
    cd "$BATS_TEST_TMPDIR"
    cat >some <<'END'
#!/bin/sh
[ -e began ] || touch began
i=0
while [ ! -e go ] && [ $i -lt 3000 ]; do sleep 0.02; i=$((i + 1)); done
END
    chmod +x some
    long=$(head -c 100000 /dev/zero | tr '\0' x)
    yes "$long" | head -n 400 >list
    timeout $LONG "$CLEAVE" run -q -j 2 -a list ./some >out 2>err 3>&- &
    until [ -e began ]; do sleep 0.02; done
    yes "${long//x/y}" | head -n 400 | dd of=list conv=notrunc bs=1M status=none
    touch go
    status=0
    wait $! || status=$?
    [ "$status" -eq 2 ]
    grep -qx 'cleave: list: changed while it was in use: written to' err
}

@test "placeholders mean the same as with GNU parallel" {
    prepare
    same --dry-run 'x {} {.} {/} {//} {/.} {#} {1} {1/.} {-1//} {2} { x}' ::: \
        a/b.c.d /a a// / a b/.x .. a//b ./a.b/c 'sp ace/na me.tar.gz' '' -x 'dots...' a.
    same --plus --dry-run 'x {..} {...} {/..} {+/} {+.} {+..} {1..}' ::: \
        a/b.c.d /a a// / a b/.x .. a//b ./a.b/c a.b.c.d.e
    # Names may hold ends of lines; only with --null GNU parallel takes them as they are.
    same --null --dry-run 'x {} {.} {/} {//} {/.}' ::: $'p/q\nr/s.t' $'p\nr/s.t\n' $'p.x\nr/s' $'\n'
}

@test "values are quoted as GNU parallel quotes them, the command is not" {
    prepare
    same --dry-run echo ::: "a b" "'" "''" "a'b" "a''b" "'a" "a'" " '" "'x'" 'a"b' '$x' '`' '\' '*' '~' \
        '#' '!' ';' '-n' a=b a,b a:b @ % ^ '{}' é $'\001' $'\377'
    same --dry-run --quote echo 'a  b' '$x' x{}y '' ::: "a b" ''
    same --dry-run ::: 'echo a b' 'ls | wc'
    same --dry-run 'x={}; echo $x' ::: 'b c'
}

@test "quoted values stay verbatim, and no part of them is run" {
    cd "$BATS_TEST_TMPDIR"
    local names=('a  b' "it's" 'x;echo ran' '$(echo ran)' '`echo ran`' 'q"q' 'back\slash' $'end\nof line' "';echo ran;'")
    for line in "echo '{}'" 'echo "{}"' 'echo "$(printf %s "{}")"' "echo \"\$(printf %s '{}')\""; do
        "$CLEAVE" run -q "$line" ::: "${names[@]}" >got
        printf '%s\n' "${names[@]}" | diff -u - got
    done
    "$CLEAVE" run -q 'echo x >"{}.txt"; cat "{}.txt"' ::: 'two words'
    [ -f 'two words.txt' ]
}

@test "several lists: combined, linked, in columns, with names" {
    prepare
    printf '1\n2 3\n' >l1
    printf 'x\ty\nz\tw \n' >l2
    same --dry-run echo x{}y {.} ::: a.b c ::: d.e f
    same echo {2} {1} {3} ::: a b ::: d e
    same --dry-run echo {} ::: a b c :::+ d e ::: 1 2
    same --dry-run echo {} :::: l1 ::: a ::::+ l2
    same -a l1 -a l2 echo {1}-{2} {-1}
    same --dry-run --colsep '\t' -a l2 echo {2}{1} {}
    same --dry-run -C '[,;]' 'echo {3} {1}' ::: 'a,b;c' d ', ,'
    same --dry-run --header : 'echo {A}{B/.} {1}' ::: A x 'y z' ::: B p/1.x 2
    same --dry-run --rpl '{t} s:\.[^/.]*$::;s/a/o/g' --rpl '{u} s/(.)(.)/$2$1/' echo {t} {u} {1t} x ::: banana.tar xy
}

@test "substitutions of Perl give the results of GNU parallel" {
    prepare
    same --dry-run echo '{= s/\bfoo\b/x/; s/\d+/<$&>/g =}' '{= s/<.+?>/X/ || s/a(?!b)/y/ =}' '{= s/(.)\1/${1}-\1/gi =}' \
        '{= s{a{2}}(b) =}' '{= s|a\|b|Q| =}' '{= s/(\w+) (\w+)/\u$2 \U$1\E!/ =}' '{=-1 s,/,\t,g =}' \
        ::: 'a foo 12' '<a><b>' aab 'Bba' 'a|b' 'two words' a/b/c '' é
    same --dry-run --plus echo {#a*b} {%b+} {%%b+} {//[aeiou]/-} {^^[a-c]} '{,,A}' {/a./-} {:1:2} ::: aabb abab AAb xaxbb ''
    printf '%s\n' a.b c >list
    run -0 --separate-stderr timeout $LONG "$CLEAVE" run -q --tagstring '{= s/b/x/ =}' -a list -- echo {/.}
    [ "$output" = $'a.x\ta\nc\tc' ]
}

@test "many items for a command" {
    prepare
    same -n 2 'echo {} {2} {1}' ::: a b c d e
    [ "$("$CLEAVE" run -q -n 2 echo {} {2} {1} ::: a b c)" = $'a b b a\nc c' ]
    same --dry-run -n 2 echo ::: a b c ::: x y
    same --dry-run -j 2 -X echo x{}y {.} ::: a.b c.d e f g
    same --dry-run -j 3 -m echo x{}y ::: a b c d e f g
    seq 60000 >list
    timeout $LONG "$CLEAVE" run -q -j 1 -m -a list -- 'echo {} | tr " " "\n"' >ours
    cmp list ours
}

# --- what is run ----------------------------------------------------------------------------

@test "commands get every byte of a name" {
    prepare
    perl -e 'print map { chr } grep { $_ != 47 } 1 .. 255' >expected
    name=$(cat expected)
    timeout $LONG "$CLEAVE" run -q -- printf %s {} ::: "$name" >words
    timeout $LONG "$CLEAVE" run -q -- 'printf %s {} | cat' ::: "$name" >line
    cmp expected words
    cmp expected line
    # Each on its own, at the beginning and at the end.
    perl -e 'print map { my $c = chr; "$c\0a$c\0${c}b\0$c$c\0" } 1 .. 255' >each
    timeout $LONG "$CLEAVE" run -q --null -a each -m -- "printf '%s\\0'" >words
    timeout $LONG "$CLEAVE" run -q --each --split nul -i each -n 100 -- "printf '%s\\0' {} | cat" >line
    cmp each words
    cmp each line
    # Names of any bytes, as bash quotes them.
    perl -e 'srand 7; for (1 .. 300) { $_ = join "", map { chr(1 + int rand 255) } 0 .. rand 12; tr{/}{.}; print "$_\0" }' >names
    mapfile -d '' -t names <names
    eval "printf '%s\\0' $(printf '%q ' "${names[@]}")" >theirs
    timeout $LONG "$CLEAVE" run -q --null -a names -n 100 -- "printf '%s\\0' {} | cat" >ours
    [ "$(tr -dc '\0' <names | wc -c)" -eq 300 ]
    cmp names theirs
    cmp theirs ours
}

@test "a shell is started only where one is needed" {
    prepare
    export -f prepare
    hello() { echo "hello $1"; }
    export -f hello
    same hello ::: a 'b c'
    same 'echo {} | tr a-z A-Z >&2; echo {}' ::: a 'b c'
    same 'echo {}  x "a  b"' ::: 1
    same eval {} ::: 'echo a' 'echo b; echo c'
    # Nobody but the command itself is there.
    timeout $LONG "$CLEAVE" run -q -- readlink /proc/self/exe /proc/{}/exe ::: self >out
    [ "$(sort -u out)" = "$(readlink -f "$(command -v readlink)")" ]
    cleave 2 run -- no-such-program {} ::: a
    [[ $stderr == "cleave: cannot run 'no-such-program': not found in PATH" ]]
}

@test "outputs come in the order of items, also of those that failed" {
    prepare
    same -j 3 'sleep 0.{}; echo {}; exit {}' ::: 3 2 1 0
    timeout $LONG "$CLEAVE" run -j 2 --joblog log -- 'echo {}; exit {}' ::: 0 3 0 >out 2>err || [ $? -eq 1 ]
    [ "$(cat out)" = $'0\n3\n0' ]
    grep -qx "cleave: item 2 (echo 3; exit 3): the command exited with status 3" err
    grep -q "^cleave: 3 commands in .* 1 failed$" err
    # As with GNU parallel, but the name of the worker.
    parallel --will-cite -k --joblog theirs 'echo {}; exit {}' ::: 0 3 0 >/dev/null || true
    [ "$(sort -n log | cut -f 1,6,7,8,9)" = "$(sort -n theirs | cut -f 1,6,7,8,9)" ]
    # Once, whatever comes of it; with --retries again, and the last output counts.
    timeout $LONG "$CLEAVE" run -q --retries 3 -- ': {}; echo x >>tried; wc -l <tried; [ $(wc -l <tried) = 3 ]' ::: a >out 2>err
    [ "$(cat out)" = 3 ]
    # Nothing new after a failure.
    timeout $LONG "$CLEAVE" run -q -j 1 --halt soon,fail=1 -- 'echo {}; exit {}' ::: 0 1 2 3 >out 2>err || true
    [ "$(cat out)" = $'0\n1' ]
    timeout $LONG "$CLEAVE" run -j 1 --halt soon,fail=1 -- 'exit {}' ::: 0 1 2 3 2>err || true
    grep -q "^cleave: left undone: 2 items (3 to 4)$" err
    grep -q "^cleave: halted after 1 failed command$" err
}

# shape FOLDER -- names and contents of all files in it.
shape() {
    (cd "$1" && find . -type f -print0 | sort -z | xargs -0 tail -v -n +1)
}

@test "outputs are tagged, or kept in files as GNU parallel keeps them" {
    prepare
    same --tag 'printf "x\n\ny"' ::: 'a b' c ::: 1
    same -j 1 --tagstring 'T{1/.} {2}:' 'printf "{}\n"; exit {2}' ::: a/b.c ::: 0 1
    for results in kept 'at/{1}x{2}' 'in/{#}/'; do
        rm -rf kept at in
        parallel --will-cite --results "$results" 'echo out {}; echo err {1} >&2; exit 3' ::: a/b 'c d' '\' ::: 1 >/dev/null 2>&1 || true
        mkdir -p theirs.d
        mv kept at in theirs.d/ 2>/dev/null || true
        cleave 1 run -q --results "$results" -- 'echo out {}; echo err {1} >&2; exit 3' ::: a/b 'c d' '\' ::: 1
        [ -z "$output" ]
        mkdir -p ours.d
        mv kept at in ours.d/ 2>/dev/null || true
    done
    [ "$(shape ours.d)" = "$(shape theirs.d)" ]
    [ "$(find ours.d -type f | wc -l)" -eq 27 ]
    cleave 0 run -q --header : --results named -- echo {b} ::: b 1 ::: a 2
    [ "$(cat named/a/2/b/1/stdout)" = 1 ]
    cleave 0 run -q --files --tmpdir "$PWD" -- echo ::: x y
    [ "$(cat $output)" = $'x\ny' ]
    # None overwrites another's; its own it may, when it is tried again.
    mkdir p q
    echo first >p/x.txt
    echo second >q/x.txt
    cleave 2 run -q -j 1 --results 'one/{/.}' -- cat {} ::: p/x.txt q/x.txt
    [ "$stderr" = "cleave: --results: items 1 and 2 both have the name 'one/x.err': expected one that tells them apart, as with {#}" ]
    [ ! -e one/x ] || [ "$(cat one/x)" = first ]
    cleave 0 run -q --retries 2 --results again -- 'mkdir r{} 2>/dev/null && exit 1; echo {}' ::: 1 2
    [ "$(cat again/1/2/stdout)" = 2 ]
    # No item leads out of the folder, and none has a name that is too long.
    cleave 2 run -q -j 1 --results 'sub/dir/{}/' -- echo ::: a ../../b
    [ "$stderr" = "cleave: --results: item 2 leads out of the folder, to 'sub/dir/../../b/stderr': expected a name without '..', as with {/}" ]
    [ ! -e b ]
    cleave 0 run -q --results '{}.o' -- echo ::: sub/../x
    [ -e x.o ]
    cleave 0 run -q --results long -- echo ::: $(printf 'x%.0s' {1..300}) $(printf 'x%.0s' {1..301}) short
    [ "$(ls long/1 | wc -l)" -eq 3 ]
    [ "$(cat long/1/x*~*/stdout | awk '{ print length }' | sort | tr '\n' ' ')" = "300 301 " ]
    refuses "--results FILE.csv is all that is written: expected none of --output, --files, --reduce and --journal" run --results all.csv -o x -- echo ::: a
}

# same_rows FILE ARGUMENT... -- --results FILE holds the same rows, but for hosts and times.
same_rows() {
    local file=$1 mask='s/^([0-9]+)([,\t])[^,\t]*[,\t][0-9.]+[,\t][0-9.]+[,\t]/\1\2/
        s/"Host": "[^"]*", "Starttime": [0-9.]+, "JobRuntime": [0-9.]+/x/'
    shift
    timeout $LONG parallel --will-cite -k --results "theirs.$file" "$@" </dev/null >theirs 2>&1 || true
    timeout $LONG "$CLEAVE" run -q --results "ours.$file" "$@" </dev/null 3>&- >ours 2>ours.err || true
    [ ! -s ours ]
    cmp <(sed -E "$mask" "theirs.$file") <(sed -E "$mask" "ours.$file") || {
        diff <(sed -E "$mask" "theirs.$file") <(sed -E "$mask" "ours.$file")
        cat ours.err
        return 1
    }
}

@test "an output name made from an item does not overwrite that item" {
    cd "$BATS_TEST_TMPDIR"
    printf '2\n1\n' >a
    printf '4\n3\n' >b.err
    printf '6\n5\n' >b.txt
    cp b.txt b.csv
    ln b.txt hard
    cat a b.err b.txt b.csv >before
    # The item itself, before and behind what is put after its name.
    cleave 2 run -q -j 1 --results '{}' -- sort {} ::: a
    [ "$stderr" = "cleave: --results: 'a' would be overwritten, which is item 1: expected another name, as with '{}.out'" ]
    cleave 2 run -q -j 1 --results '{.}' -- sort {} ::: b.err
    [ "$stderr" = "cleave: --results: 'b.err' would be overwritten, which is item 1: expected another name, as with '{}.out'" ]
    # Another one, by another name, that has not had its turn; and of a list that comes.
    cleave 2 run -q -j 1 --results '{.}.txt' -- sort {} ::: b.csv hard
    [ "$stderr" = "cleave: --results: 'b.txt' would be overwritten, which is item 2: expected another name, as with '{}.out'" ]
    run --separate-stderr bash -c 'echo a | "$CLEAVE" run -q --results {} -a - -- sort {}'
    [ "$status" -eq 2 ]
    [[ $stderr == *"'a' would be overwritten, which is item 1"* ]]
    cat a b.err b.txt b.csv | cmp - before
    # What was made of it before is no item.
    cleave 0 run -q --results '{}.out' -- sort {} ::: a b.csv
    cleave 0 run -q --results '{}.out' -- sort -n {} ::: a b.csv
    [ "$(cat a.out b.csv.out | xargs)" = "1 2 5 6" ]
    # A result of before stays as it was until the new one is whole, and takes its name.
    ln a.out old
    cleave 0 run -q --results '{}.out' -- wc -l '<' {} ::: a
    [ "$(cat a.out)" = 2 ]
    [ "$(xargs <old)" = "1 2" ]
    [ -z "$(find . -name '.*.part-*')" ]
}

@test "items that lead nowhere do not take each other's results" {
    cd "$BATS_TEST_TMPDIR"
    for items in ". ''" "'' ."; do
        rm -rf r
        eval "cleave 2 run -q -j 1 --results r -- 'echo [{}]' ::: $items"
        [[ $stderr == "cleave: --results: items 1 and 2 both have the name "*": expected one that tells them apart, as with {#}" ]]
    done
    cleave 2 run -q -j 1 --results 'r/{}.txt' -- echo {} ::: a ./a
    cleave 2 run -q -j 1 --results 'r/{}.txt' -- echo {} ::: b/../a a
    cleave 0 run -q -j 1 --results r2 -- echo {} ::: . .. a /
    [ "$(cat r2/1/stdout r2/stdout r2/1/a/stdout 'r2/1/\_/stdout' | xargs)" = ". .. a /" ]
}

@test "an unread pipe as a result file is reported" {
    cd "$BATS_TEST_TMPDIR"
    local name
    for name in stdout stderr seq; do
        rm -rf r
        mkdir -p r/1/a
        mkfifo r/1/a/$name
        run --separate-stderr timeout -k 5 200 "$CLEAVE" run -q --results r -- echo ::: a
        [ "$status" -eq 1 ]
        [ "$stderr" = "cleave: --results: cannot write 'r/1/a/$name': No such device or address" ]
    done
}

@test "a full disk below results: the old files stay, without a partial new one" {
    cd "$BATS_TEST_TMPDIR"
    mkdir small
    mount -t tmpfs -o size=1m none small 2>/dev/null || skip "may not mount a small disk"
    echo old >small/a.out
    "$CLEAVE" run -q --results 'small/{}.out' -- 'head -c 3000000 /dev/zero; : {}' ::: a 2>err && failed=1
    cat small/a.out >kept
    "$CLEAVE" run -q --files --tmpdir small -- 'head -c 3000000 /dev/zero; : {}' ::: a 2>>err && failed=1
    ls -A small >left
    umount small
    [ -z "${failed:-}" ]
    [ "$(cat kept)" = old ]
    [ "$(sed -n 1p err)" = "cleave: --results: cannot write 'small/a.out': No space left on device" ]
    [[ $(sed -n 2p err) == "cleave: --files: cannot write 'small/cleave-"*"': No space left on device" ]]
    [ "$(xargs <left)" = "a.out a.out.err a.out.seq" ]
}

@test "results as rows of one file, as GNU parallel writes them" {
    prepare
    local kind
    for kind in csv tsv json; do
        same_rows all.$kind 'echo a,{}; printf "e\"\t%s\n\\ " {1} >&2; exit {2}' ::: 1 'b "c' '' :::+ 0 3 0
        same_rows names.$kind --header : 'echo {n}' ::: n '5 6' 7 ::: 'an m' x,y
        same_rows some.$kind -n 2 echo ::: a b c
    done
    # Zeros and what is no UTF-8; the rows in another order have their names first, too.
    timeout $LONG "$CLEAVE" run -q -u --results -.csv "printf 'a\\0b'" ::: x >out
    [ "$(head -c 4 out)" = Seq, ]
    tail -n 1 out | tr '\0' 0 | grep -q ',x,"a0b",$'
    timeout $LONG "$CLEAVE" run -q --results x.jsonl "printf 'a\\0\\377\\303\\251'" ::: x
    grep -qF '"Stdout": "a\u0000\u00ffé", "Stderr": "" }' x.jsonl
    # Nothing but a row each stays of those that failed.
    run -1 timeout $LONG "$CLEAVE" run -q --results y.csv false ::: x y
    [ "$(wc -l <y.csv)" -eq 3 ]
    [ -z "$(ls -A | grep part)" ]
}

@test "a limit that is a part of the median of all so far" {
    prepare
    # The first two set it; also for what runs already, as the last but one does.
    run -1 timeout $LONG "$CLEAVE" run -q -j 2 --timeout 3000% 'sleep {}; echo {}' ::: 0.1 50 0.1 0.2 50
    [ "${lines[0]}" = 0.1 ]
    [ "$(grep -c "took longer than" <<<"$output")" = 2 ]
    [ "$(grep -cx '0\.[12]' <<<"$output")" = 3 ]
    refuses "--timeout: expected more than 100% of the median, got '50%'" run --timeout 50% true ::: a
    refuses "--timeout 200% is for items on this machine, whose commands can be compared: expected a time such as 500ms or 2min" run --timeout 200% cat
    refuses "--timeout: expected a time of 0 or more such as 0.5, 500ms, 2min or 1h30m, or 200%, got 'x'" run --timeout x true ::: a
}

@test "lines are written when they are complete" {
    prepare
    same -j 1 --line-buffer 'echo {}; printf "x\ny"' ::: a b
    same -j 1 --line-buffer --tag 'echo {}; printf "x\n\ny"; exit 1' ::: a b
    same -j 1 --line-buffer --tagstring 't{}' 'seq 30000' ::: a
    # The first line comes while its command waits for us; the two halves of another do not
    # come apart, whoever writes in between.
    mkfifo go on
    exec 7< <(timeout $LONG "$CLEAVE" run -q -j 2 --line-buffer \
        'if [ {} = 1 ]; then echo first; printf half; read x <go; echo " line"; else read x <on; echo between; fi' ::: 1 2 3>&-)
    read -r line <&7
    [ "$line" = first ]
    echo >on
    read -r line <&7
    [ "$line" = between ]
    echo >go
    read -r line <&7
    [ "$line" = "half line" ]
    exec 7<&-
    # Nobody reads any more.
    timeout $LONG "$CLEAVE" run -q --line-buffer yes ::: 1 2>err 3>&- | head -n 1 >out
    [ "$(cat out)" = 1 ]
    [ ! -s err ]
    refuses "with --line-buffer nothing is known of outputs: expected none of --results, --files, --reduce and --journal" run --line-buffer --files -- echo ::: a
}

@test "as many items for a command as pay" {
    prepare
    # All of them, once, in order; and far fewer commands than items.
    seq 5000 >list
    timeout $LONG "$CLEAVE" run -q --many -j 2 -a list --joblog log -- echo >out 3>&-
    tr ' ' '\n' <out | cmp - list
    [ "$(wc -l <log)" -lt 1000 ]
    # The log has the lines, of which the longest has many.
    [ "$(cut -f 9 log | tail -n +2 | tr ' ' '\n' | grep -vcx echo)" -eq 5000 ]
    [ "$(cut -f 9 log | awk '{ if (NF > most) most = NF } END { print most }')" -gt 10 ]
    # No more than fit into a line: 12 of 10 kB each.
    printf '%010000d\n' {1..600} >long
    timeout $LONG "$CLEAVE" run -q --many --quote -j 2 -a long -- sh -c 'echo $#' sh {} >out 3>&-
    [ "$(awk '{ n += $1; if ($1 > 12) bad = 1 } END { print n, bad + 0 }' out)" = "600 0" ]
    # Places stand for all of them, {#} for the first; what fails is said with all of them.
    timeout $LONG "$CLEAVE" run -q --many -j 1 'echo {/.} -- {#}' ::: a/x.c b/y.c >out 3>&-
    [[ $(tr '\n' ' ' <out) == "x -- 1 y -- 2 " || $(cat out) == "x y -- 1" ]]
    run -1 timeout $LONG "$CLEAVE" run -q --many -j 1 -a list 'false'
    [[ $output == *": the command exited with status 1"* ]]
    # A failure shows the command that was run, not one for its first item.
    seq 25 >numbers
    run -1 timeout $LONG "$CLEAVE" run -q --many -j 1 --policy self --param chunk=10 -a numbers false
    [[ $output == *"items 11 to 20 (false $(seq -s ' ' 11 20)): the command exited"* ]]
    refuses "expected --many or one of -n, -L, -m and -X, got both" run --many -n 2 -- echo ::: a
    refuses "with --many items share commands: expected none of --tag, --results, --files, --journal, --weight, --limit, --costs, --transferfile, --return, --ungroup and --line-buffer" run --many --tag -- echo ::: a
    refuses "--many is for items, and there are no items: name them after the command, as in ... {} ::: *.txt, or --each for the records of the input" run --many cat
}

@test "many short commands that could take several items: a hint at --many, which can be pasted" {
    prepare
    mkdir bin
    ln -s "$(readlink -f "$CLEAVE")" bin/cleave
    seq 1000 >list
    hinted() { # WORDS -- of cleave run; the hint, or nothing
        timeout $LONG "$CLEAVE" run -j 2 "$@" 2>&1 >/dev/null 3>&- <list | sed -n 's/.*if one of them can take several items: //p'
    }
    for words in '-a list echo' '-a list echo {}' '-a list echo -n {}'; do
        [ "$(hinted $words)" = "cleave run --many -j 2 $words" ] || [ "$(hinted $words)" = "cleave run --many -j 2 ${words/\{\}/"'{}'"}" ]
    done
    PATH=$PWD/bin:$PATH bash -c "$(hinted -a list echo {})" 2>/dev/null | tr ' ' '\n' | cmp - list
    # Not of those that cannot, nor of few, slow or failed ones.
    for words in '-a list echo {} x' '-a list echo x{}' '-a list -n 2 echo' '-a list --tag echo' '-q -a list echo'; do
        [ -z "$(hinted $words)" ]
    done
    [ -z "$(hinted -a list 'echo {} | cat')" ]
    [ -z "$(hinted -a list false)" ]
    head -n 20 list >few
    [ -z "$(hinted -a few echo)" ]
}

@test "commands for an incoming list take as many items as pay off" {
    prepare
    # The second item is only there when the command of the first has been.
    { echo a; until [ -e a ]; do sleep 0.01; done; echo b; echo c; } |
        timeout $LONG "$CLEAVE" run -q --many -j 2 -a - -- touch 3>&-
    [ -e b ]
    [ -e c ]
    # Some short and some long: all of them, once, in order, and no more than fit into a line.
    { seq 3000; printf '%010000d\n' {1..40}; seq 3000; } >list
    cat list | timeout $LONG "$CLEAVE" run -q --many -j 2 -a - --joblog log -- echo >out 3>&-
    tr ' ' '\n' <out | cmp - list
    [ "$(wc -l <log)" -lt 1000 ]
    [ "$(awk '{ if (length($0) > most) most = length($0) } END { print (most <= 129024) }' out)" -eq 1 ]
    # A long one does not make all commands short: thousands of short ones are one line.
    [ "$(awk '{ if (NF > most) most = NF } END { print (most > 13) }' out)" -eq 1 ]
}

@test "a journal knows items by their command and their files, not by their place" {
    prepare
    for name in a b c d; do echo "one $name" >$name; done
    cat >once <<'END'
#!/bin/sh
echo "$1" >>done
cat "$1"
[ "$1" != c ] || [ -e mended ]
END
    chmod +x once
    cleave 1 run -q -j 1 --journal j -- ./once {} ::: a b c
    [ "$(cat done)" = $'a\nb\nc' ]
    # c failed, d is new, b has changed; a is what it was, wherever it stands, and twice is twice.
    : >done
    : >mended
    echo "two b" >b
    cleave 0 run --summary -j 1 --journal j --resume -- ./once {} ::: d c b a a
    [ "$output" = $'one d\none c\ntwo b\none a\none a' ]
    [ "$(sort done)" = $'a\nb\nc\nd' ]
    [[ $stderr == *"1 command from the journal"* ]]
    # A file that is gone was used up by its command.
    : >done
    rm a
    cleave 0 run -q -j 2 --journal j --resume --tag -- ./once {} ::: a b c d a
    [ "$output" = $'a\tone a\nb\ttwo b\nc\tone c\nd\tone d\na\tone a' ]
    [ ! -s done ]
    # Another command is another item.
    echo "one a" >a
    cleave 0 run -q -j 1 --journal j --resume -- ./once {} {#} ::: a
    [ "$(cat done)" = a ]
}

@test "a journal of items is resumed under another shell" {
    cd "$BATS_TEST_TMPDIR"
    # The shell is the one that has started cleave.
    bash -c '"$1" run -q -j 1 --journal j.db "echo {}; echo {} >>ran; [ {} != 2 ]" ::: 1 2 3; :' - "$CLEAVE" || true
    rm ran
    dash -c '"$1" run -q -j 1 --journal j.db --resume "echo {}; echo {} >>ran; [ {} != 2 ]" ::: 1 2 3 >out 2>err; :' - "$CLEAVE"
    [ "$(cat err)" = "cleave: item 2 (echo 2; echo 2 >>ran; [ 2 != 2 ]): the command exited with status 1" ]
    [ "$(cat ran)" = 2 ]
    [ "$(tr '\n' ' ' <out)" = "1 2 3 " ]
}

@test "enough successes or ends are enough" {
    prepare
    # What was done before is written, also behind what was not.
    cleave 0 run -q -j 2 --halt now,success=1 -- 'sleep {}; echo {}' ::: 30 0
    [ "$output" = 0 ]
    cleave 1 run -j 1 --halt now,success=2 -- 'exit {}' ::: 1 0 0 3 4
    [[ $stderr == *"left undone: 2 items (4 to 5)"* ]]
    cleave 0 run -q -j 1 --halt soon,done=2 -- echo ::: 1 2 3
    [ "$output" = $'1\n2' ]
}

@test "commands may write for themselves" {
    prepare
    # The first one reads what the second has written, which therefore has not waited for it.
    : >out
    timeout $LONG "$CLEAVE" run -q -j 2 --ungroup -- 'until [ {} = b ] || grep -q b out; do sleep 0.01; done; echo {}' ::: a b >>out
    [ "$(cat out)" = $'b\na' ]
    cleave 1 run -q -j 1 --ungroup -o file -- 'echo {}; exit {}' ::: 0 1
    refuses "with --ungroup nothing is known of lines: expected neither --tag nor --tagstring, or --line-buffer instead" run --ungroup --tag -- echo ::: a
    refuses "with --ungroup nothing is known of outputs: expected none of --results, --files, --reduce and --journal" run --ungroup --files -- echo ::: a
}

@test "the records of an input are items" {
    prepare
    printf 'a b\n\nc\n' >in
    printf '"x\ny",1\nz,2\n' >csv
    cleave 0 run -q --each -i in -- printf '<%s>' {}
    [ "$output" = '<a b><><c>' ]
    run bash -c "printf '1\n2' | timeout $LONG $HERE run -q --each echo x"
    [ "$output" = $'x 1\nx 2' ]
    cleave 0 run -q --each --split csv -i csv -- printf '<%s>' {}
    [ "$output" = $'<"x\ny",1><z,2>' ]
    cleave 0 run -q --each -i in --quote -- printf '<%s%s>' {} ::: 1 2
    [ "$output" = '<a b1><a b2><1><2><c1><c2>' ]
}

@test "commands wait for their time, for others and for memory" {
    prepare
    # In the order of their starts, whoever is free; a machine that is busy, or has no memory, starts nothing.
    cleave 0 run -q -j 3 --delay 200ms --joblog log -- true ::: 1 2 3 4
    [ "$(tail -n +2 log | sort -n | awk '{ if (NR > 1 && $3 - last < 0.1) print "too soon"; last = $3 }')" = "" ]
    run timeout --signal INT 1 "$CLEAVE" run -j 1 --memfree 1000TB -- touch ::: begun
    [ "$status" -eq 124 ]
    [ ! -e begun ]
    # When nothing was under way for a while, it says why.
    for option in '--memfree 1000TB' '--load 0.000001'; do
        "$CLEAVE" run -j 1 $option -- touch ::: begun 2>err 3>&- &
        until grep -qF "(${option% *}): commands wait until others have ended" err; do
            kill -0 $!
            sleep 0.2
        done
        kill $!
        wait $! || true
    done
    [ ! -e begun ]
    cleave 0 run -q -j 1 --memfree 1 --load 100000% -- touch ::: begun
    [ -e begun ]
    cleave 0 run -q -j 'a,b:env X=1' --nice 7 -- 'nice; echo $X' ::: 1
    [ "${lines[0]}" -ge 7 ]
    refuses "--load: expected a number above 0, or N% of the cores, got 'much'" run --load much -- true ::: 1
}

@test "-E ends a list, -s limits command lines, -l and --env work as with GNU parallel" {
    prepare
    cleave 0 run -q -E END echo ::: a b END c
    [ "$output" = $'a\nb' ]
    # Each list has its end, and a stream is not read further.
    cleave 0 run -q --eof END echo ::: a END b ::: c d END
    [ "$output" = $'a c\na d' ]
    printf 'a\nEND\nb\n' >ends
    cleave 0 run -q -E END -a ends echo
    [ "$output" = a ]
    (seq 3 && echo END && yes) | timeout $LONG "$CLEAVE" run -q -E END echo | cmp - <(seq 3)
    printf 'a,END,b' | timeout $LONG "$CLEAVE" run -q -E END -d , echo | cmp - <(echo a)
    # An end that is part of a word is none.
    cleave 0 run -q -E END echo ::: ENDS aEND
    [ "$output" = $'ENDS\naEND' ]

    # Bytes of a command with the one at its end, as xargs -s has it.
    for size in 7 9 10 11 30; do
        seq 9 | xargs -s $size echo >expected
        seq 9 | timeout $LONG "$CLEAVE" run -q -j 1 -m -s $size echo | cmp - expected
    done
    seq 3 | timeout $LONG "$CLEAVE" run -q -j 1 -X --max-chars 17 echo a{}b | cmp - <(printf 'a1b a2b a3b\n')
    seq 3 | timeout $LONG "$CLEAVE" run -q -j 1 -X --max-chars 16 echo a{}b | cmp - <(printf 'a1b a2b\na3b\n')

    seq 5 | timeout $LONG "$CLEAVE" run -q -l2 echo | cmp - <(printf '1 2\n3 4\n5\n')
    # Chunks have a multiple of N lines: the start of each is known.
    seq 5000 | timeout $LONG "$CLEAVE" run -q -j 3 --pipe -l 4 'awk "NR == 1 { first = \$1 } END { print first, NR }"' >starts
    awk '$1 % 4 != 1 || $2 % 4 { wrong = 1 } { n += $2 } END { exit wrong || n != 5000 }' starts
    seq 3 | timeout $LONG "$CLEAVE" run --pipe -L 2 cat 2>err >out
    grep -qx 'cleave: -L 2: a chunk has a multiple of this many lines; --block sets its size, -N its lines' err
    A=1 B=2 cleave 0 run -q --env A,B 'echo $A$B' ::: x
    [ "$output" = '12 x' ]
    refuses "--env: there is no variable 'NONE'" run --env HOME,NONE echo ::: a
    VALUE=seen cleave 0 run -q --env VALUE --env 'OTHER=a b' 'echo $VALUE "$OTHER"' ::: 1
    [ "$output" = 'seen a b 1' ]
    seq 3 | timeout $LONG "$CLEAVE" run -q --pipe --fifo 'cat {}' | cmp - <(seq 3)
    printf 'a\0b\0' | timeout $LONG "$CLEAVE" run -q --pipe --recend '\0' -N 1 "tr '\\0' '\\n'; echo end" |
        cmp - <(printf 'a\nend\nb\nend\n')
    printf '[1\nx[1\n[1\n11\n' | timeout $LONG "$CLEAVE" run -q --pipe --recend '\n' --recstart '[1' -N 1 'cat; echo end' |
        cmp - <(printf '[1\nx[1\nend\n[1\n11\nend\n')
    # Lines before the first start are a record, of a file and of a stream.
    seq 9 >nine
    printf '1\n2\nend\n3\n4\n5\n6\n7\n8\n9\nend\n' >wanted
    "$CLEAVE" run -q --pipepart -a nine --recend '\n' --recstart 3 -N 1 'cat; echo end' | cmp - wanted
    timeout $LONG "$CLEAVE" run -q --pipe --recend '\n' --recstart 3 -N 1 'cat; echo end' <nine | cmp - wanted
    refuses "of chunks expected -L or -N, which both count records, got both" run --pipe -l 3 -N 2 cat
    refuses "expected --recend '\\n' or '\\0', or --recend '\\n' with --recstart TEXT, got other ends: --split lists what records may be" \
        run --pipe --recstart '>' cat
    # A log that begins with '+' is continued.
    cleave 0 run -q --joblog +log echo ::: a
    cleave 0 run -q --joblog "+$PWD/log" echo ::: b
    [ "$(cut -f 9 log)" = $'Command\necho a\necho b' ]
    refuses "--tmpdir: cannot write to 'none': No such file or directory" run --tmpdir none echo ::: a
    # Blank records of data are not items.
    refuses "--no-run-if-empty is for items, and there are no items: name them after the command, as in ... {} ::: *.txt, or --each for the records of the input" \
        run -r --pipe cat
    printf 'a\n\nb\n' | timeout $LONG "$CLEAVE" run -q -r echo | cmp - <(printf 'a\nb\n')
    PARALLEL=' -v' run -0 --separate-stderr "$CLEAVE" run echo ::: a
    [[ $stderr == 'cleave: $PARALLEL is not read; if its options are meant, type them:  -v'* ]]
    # The first word is a line: the others are its words.
    seq 3 | timeout $LONG "$CLEAVE" run -q --records 2 cat\;echo 'a  b' | cmp - <(printf '1\n2\na  b\n3\na  b\n')
}

@test "options of GNU parallel and xargs are answered with ours" {
    prepare
    refuses "--max-chars needs -m or -X, which fill commands; else each has one item, or N with -n N" run -s 10 echo ::: a
    refuses "--max-chars: expected at least 13, which the command of item 2 needs, got 9" run -s 9 -X echo ::: a seventy b
    refuses "there is no option '--filter' here; instead: a test in the command: 'if [ {1} -lt {2} ]; then ...; fi'" run --filter '{1} < {2}' echo ::: 1
    refuses "--delimiter: expected one byte, or one of \\n, \\t and \\0, got 'xx'" run -d xx -a - echo
    refuses "--delimiter is for lists of items: expected -a FILE, or -a - for standard input, and no --each" run -d , --each echo
    cleave 2 run --kep-order echo
    [[ $stderr == "cleave: unknown option '--kep-order'; did you mean '--keep-order'"* ]]
    cleave 0 run --jobs 1 -q echo ::: a
    [ "$output" = a ]
    seq 3 >in
    cleave 0 run -q -P 2 -a in echo
    [ "$output" = $'1\n2\n3' ]
}

@test "options of GNU parallel and xargs by their own names" {
    prepare
    seq 20 >in
    same -P2 echo ::: a b
    same --max-procs 2 echo ::: a b
    same -rP 2 --no-run-if-empty --will-cite --compress --lb --eta echo ::: a
    same --xapply echo {1} {2} ::: a b ::: c d
    same --er ,, echo ,, {} ::: a.b/c.d
    same --bnr ,, --bner @ --dnr % echo ,, @ % ::: a.b/c.d e /f
    same --res kept echo {} ::: a
    same --halt-on-error 2 echo ::: a
    [ "$("$CLEAVE" run -q --retry 2 --keep-going echo ::: a)" = a ]
    same -N 2 echo a{}b c ::: 1 2 3 4 5
    same -L 2 echo a{}b ::: 1 2 3
    same -d ' ' echo 'x{}' ::: '1 done' a ' ' 'b '
    same -C ' ' --rpl '{b} s/.*\///' echo {3b} {b} ::: '1 2 a/b'
    same --replace % echo a% ::: 1
    same --replace=% echo a% ::: 1
    printf 'a\nEND\nb\n' >ends
    same -a ends -eEND echo
    same -a in -l echo
    same -a in -n 1k echo
    same -a in -j 2 -m -L 3 echo
    same --compress-program gzip --exit -x echo ::: a
    same --seqreplace ,, --slotreplace @ -j 1 echo ,, @ ::: a b
    same -j 1 echo '{= $_=$job->seq() =}-{=1 $_=slot(); =}' {= s/a/b/ =}{= s/b/c/=} ::: a b
    same -v echo {} '|' cat ::: 'a b' '|'
    same -v --tag 'echo {} | wc -w' ::: 'a b'
    same -j 1 -vX echo a{}b ::: 1 2 3
    same -j 1 -X --tagstring a{}b echo ::: 3 4
    for words in "echo {#}" "echo x{%}y{#}"; do
        [ "$(echo a | "$CLEAVE" run -q --pipe $words)" = "$(echo a | parallel --will-cite --pipe $words)" ]
    done
    # Groups of an expression; GNU parallel has them since 2026.
    [ "$("$CLEAVE" run -q --match '(.*),(.*)' echo {1.2} {1.1}-{1} ::: a,b c,d)" = $'b a-a,b\nd c-c,d' ]
    [ "$("$CLEAVE" run -q --header : --match +2 --match '([A-Z]+)/' echo {B.1} {A.1} ::: A xOK/ ::: B yALL/z)" = 'ALL OK' ]
    [ "$("$CLEAVE" run -q --match '' --match '(.)$' echo {2.1} {1} {.1} ::: a ::: bc)" = 'c a {.1}' ]
    refuses "'{2.1}': expected 2 expressions for matches, got 1" run --match '(.)' echo {2.1} ::: a ::: b
    run -2 --separate-stderr "$CLEAVE" run --match '([a-z])' echo {1.1} ::: a B
    [[ $stderr == *"expected a match in every item, got none in 'B'"* ]]
    # A sign that no other word has is the command.
    [ "$("$CLEAVE" run -q --replace echo {} ::: a)" = a ]
    # Data of chunks.
    for words in '--pipe -N 7' '--pipe --block 10' '--pipe -L 4'; do
        [ "$("$CLEAVE" run -q $words cat <in)" = "$(cat in)" ]
    done
    [ "$("$CLEAVE" run -q --spreadstdin -N 7 wc -l <in)" = "$(parallel --will-cite -k --pipe -N 7 wc -l <in)" ]
    [ "$("$CLEAVE" run -q --pipepart -a in -b 1M wc -l)" = 20 ]
    run -2 --separate-stderr "$CLEAVE" run --wd
    [[ $stderr == *"--workdir: needs an argument"* ]]
    refuses "--gnu=yes: takes no argument" run --gnu=yes echo ::: a
    refuses "--er: needs an argument" run --er
    # Command lines, as they begin.
    cleave 0 run -q -t -j 1 echo {} '|' cat ::: 'a b' c
    [ "$output" = $'a b\nc' ]
    [ "$stderr" = $'echo \'a b\' | cat\necho c | cat' ]
    cleave 0 run -q -v -i in -j 1 -- wc -l
    [ "$stderr" = "wc -l" ]
}

@test "a word in braces that is not a placeholder is refused" {
    prepare
    for word in {slot} {name} x/{far}.txt '{far:%03d}' '{#:03d}'; do
        shown=$(grep -o '{.*}' <<<"$word")
        refuses "'$shown' is not a placeholder: columns have names with --header :, --plus adds more; --literal passes braces on" \
            run echo "$word" ::: a
        refuses "'$shown' is not a placeholder: columns have names with --header :, --plus adds more; --literal passes braces on" \
            run "echo $word | cat" ::: a
        [ "$(echo a | "$CLEAVE" run -q --literal -a - echo "$word")" = "$word a" ]
    done
    # Code and signs of the shell.
    printf 'x y\n' >in
    cleave 0 run -q awk '{print}' {} ::: in
    [ "$output" = "x y" ]
    cleave 0 run -q "awk '{print}' {}" ::: in
    [ "$output" = "x y" ]
    cleave 0 run -q 'x={}; echo ${x} {a,b} {1..2}' ::: 1
    cleave 0 run -q sh -c 'f() { echo {x}; }; f' ::: 1
    [ "$output" = "{x}" ]
    cleave 0 run -q -I % echo % {x} ::: 1
    [ "$output" = "1 {x}" ]
    cleave 0 run -q --plus echo {slot} ::: 1
    cleave 0 run -q --header : echo {n} ::: n 1
    [ "$output" = 1 ]
}

@test "formats of printf: for items, parts of them, and numbers of commands" {
    cleave 0 run -q -j 1 echo '{1:%.3f}' '{#:%03d}' '{%:%02d}' '{2/:%4s}|' ::: 1.5 2 ::: a/b
    [ "$output" = $'1.500 001 01    b|\n2.000 002 01    b|' ]
    # A list on standard input; a column with a name; a definition; names of results.
    [ "$(seq 3 | "$CLEAVE" run -q echo '{:%02d}' | paste -sd' ')" = "01 02 03" ]
    cleave 0 run -q --header : echo '{n:%+d}' ::: n 7
    [ "$output" = +7 ]
    cleave 0 run -q --rpl '{half} s/$/.5/' 'echo {half:%.2f} | cat' ::: 7
    [ "$output" = 7.50 ]
    cleave 0 run -q --results "$BATS_TEST_TMPDIR/out-{#:%03d}" echo ::: a
    [ "$(<"$BATS_TEST_TMPDIR/out-001")" = a ]
    for bad in '{:%q}' '{:%d %d}' '{:%5000d}' '{#:%}' '{1:%n}' '{:%.*f}' '{:%ld}'; do
        refuses "'$bad': expected a format of printf for one value, such as {:%.3f}, {#:%03d} or {/:%12s}" \
            run -q echo "$bad" ::: 1
    done
    refuses "the format '%f' needs a number, got the item 'ten'" run -q echo '{:%.1f}' ::: ten
    refuses "the format '%d' needs a number, got the item '1e30'" run -q echo '{:%d}' ::: 1e30
}

@test "--plus: numbers from 0, for commands and workers" {
    cleave 0 run -q --plus -j 1 echo {seq} {seq-1} {slot-1} ::: a b
    [ "$output" = $'1 0 0\n2 1 0' ]
}

@test "contradictions are refused with the command to type" {
    prepare
    refuses "expected items or an input, got both: --each makes items of the records of the input" run -i /dev/null -- cat ::: a
    refuses "':::+' links its items to those of the list before it; no list precedes it" run -- cat :::+ a
    refuses "items are done one at a time: expected no --block; -n N gives N of them to a command" run --block 2 -- cat ::: a
    refuses "--rpl: '{x} \$_=uc': expected s/REGEX/TEXT/, or several separated by ';': cleave does not run Perl code" run --rpl '{x} $_=uc' -- echo {x} ::: a
    refuses "{= =}: '{= \$_++ =}': expected s/REGEX/TEXT/, or several separated by ';': cleave does not run Perl code" run -- echo '{= $_++ =}' ::: 1
    [ "$("$CLEAVE" run -q -- echo {= s/a/b/ =}{= s/a/c/ =}-{= {= s/a/d/ =} ::: a)" = 'bc-{= d' ]
    refuses "--rpl: '{x} s/e+++//': quantifier does not follow a repeatable item" run --rpl '{x} s/e+++//' -- echo {x} ::: a
    refuses "--rpl: '{x} s/(a|aa)+\$/b/e': flag e runs Perl code, which cleave cannot" run --rpl '{x} s/(a|aa)+$/b/e' -- echo {x} ::: a
    refuses "--colsep: '(?:x': missing closing parenthesis" run --colsep '(?:x' -- echo ::: a
    refuses "--plus: expected no placeholder '{uniq}'; instead: a test in the command: 'if [ {1} != {2} ]; then ...; fi'" run --plus -- echo '{uniq}' ::: a
    # A bad expression ends the run with its name, and soon.
    local long=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab
    cleave 2 run -q --rpl '{x} s/^(a|aa)+$//' -- echo {x} ::: "$long"
    [[ $stderr == "cleave: --rpl: '{x} s/^(a|aa)+\$//' failed on the item '$long': match limit exceeded"* ]]
    refuses "--tag is for items, and there are no items: name them after the command, as in ... {} ::: *.txt, or --each for the records of the input" run --tag -- cat
    cleave 2 run -- echo :::: no-such-file
    [[ $stderr == "cleave: no-such-file: cannot read: "* ]]
    # Nothing to do is no failure.
    cleave 0 run -q -- false :::
    [ -z "$output" ]
}
