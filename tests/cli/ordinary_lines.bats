# Lines that people type first: the output is that of the command alone, or a message tells why not.
# SPDX-License-Identifier: MIT
load helper

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    seq 3000 | awk 'BEGIN { print "id,name,n" } { print $1 ",\"a, b\"," $1 % 7 }' >table.csv
    seq 3000 | awk '{ print "line", $1, $1 % 5 }' >text
    seq 9 | awk '{ print "line", $1 }' >few
}

# alone FILE COMMAND... -- what the command writes for the whole file.
alone() { "${@:2}" <"$1"; }

# same FILE COMMAND... -- chunks of the file, and of a pipe, give the output of the command alone.
same() {
    local size
    size=$(wc -c <"$1")
    alone "$@" >alone
    "$CLEAVE" run -q -j 2 --block $((size / 5)) -i "$1" -- "${@:2}" >chunks
    cmp alone chunks
    cat "$1" | "$CLEAVE" run -q -j 2 --block $((size / 5)) -- "${@:2}" >chunks
    cmp alone chunks
}

# notes TEXT ARGUMENT... -- the run succeeds, and one of its messages has the text.
notes() {
    run -0 --separate-stderr "$CLEAVE" run "${@:2}"
    [[ $stderr == *"$1"* ]] || {
        echo "expected: $1"
        echo "stderr: $stderr"
        return 1
    }
}

@test "a table: every command gets the header, and the output has it once" {
    prepare
    same table.csv awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print "twice"; next } { print 2 * $NF }'
    same table.csv cat
    # A header that the command drops is written by none.
    same table.csv tail -n +2
}

@test "a format is recognized by its name, and by its first bytes on a pipe" {
    prepare
    seq 400 | awk '{ printf "@r%d\nACGT%s\n+\n@@@@%s\n", $1, $1 % 2 ? "A" : "", $1 % 2 ? "I" : "" }' >r.fastq
    same r.fastq awk 'NR % 4 == 2'
    seq 400 | awk '{ printf ">s%d\nACGTACGTACGT\nTTTTTTTTTTTT\n", $1 }' >s.fasta
    same s.fasta awk '/^>/ { if (n) print n, l; n = $1; l = 0; next } { l += length($0) } END { print n, l }'
    { printf '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\n' && seq 900 | awk '{ print "1\t" $1 "\t." }'; } >c.vcf
    same c.vcf awk '/^#/ || $2 % 2'
}

@test "totals: --reduce sum, count, max, sort and sort -m {}" {
    prepare
    for words in "sum wc" "sum wc -l" "count cat" "sort sort" "max wc -L"; do
        set -- $words
        [ "$("$CLEAVE" run -q -i text --block 9k --reduce "$1" -- "${@:2}" | xargs)" = "$(
            case $1 in count) wc -l <text ;; *) "${@:2}" <text ;; esac | xargs
        )" ]
    done
    "$CLEAVE" run -q -i text --block 9k --reduce 'sort -m {}' -- sort | cmp - <(LC_ALL=C sort text)
}

@test "several words stay words, one word is a line for a shell" {
    prepare
    [ "$(seq 3 | "$CLEAVE" run -q -a - -I{} sh -c 'echo {}; true' | xargs)" = "1 2 3" ]
    [ "$("$CLEAVE" run -q awk '{ print $2 }' {} ::: text)" = "$(awk '{ print $2 }' text)" ]
    cleave 0 run -q -i text --block 9k "awk '{ print \$2 }' | sort -n"
    # The message of another line can be pasted.
    cleave 0 run --dry-run mlr --csv filter '$a > 1' ::: x
    [ -z "$stderr" ]
    notes "'\$(( {} + 1 ))' goes to echo as typed; for a shell, type the command as one word" echo '$(( {} + 1 ))' ::: 1
    [ "$("$CLEAVE" run -q 'echo $(( {} + 1 ))' ::: 1)" = 2 ]
    notes "goes to printf as typed" printf '{}\\\\n' ::: 1
    notes "'\"{}\"' goes to echo as typed" echo '"{}"' ::: 1
    notes "goes to echo as typed" echo 'a"$HOME"b' ::: 1
    for words in "--quote echo \$x" "sh -c 'echo \$x'" "awk '{ print \$x }' /dev/null" "echo costs\$"; do
        eval "run --separate-stderr \"\$CLEAVE\" run $words ::: 1"
        [[ $stderr != *"as typed"* ]]
    done
}

@test "commands that need the whole input are named, with cleave check" {
    prepare
    for words in "sed 1d" "sed '\$d'" "cat -n" "grep -n 5" "awk NR==1" "perl -ne 'print if \$. == 1'" "paste - -" \
        "column -t" "sed -n 'p;n'" "sed '/3/,/5/d'" "awk '!seen[\$3]++'" "grep -A1 00" "comm --nocheck-order -13 few -" "join --nocheck-order -v 1 few -" \
        "od -c" "'cut -d \" \" -f 2 | paste -sd+'" "mlr --inidx --oxtab sort -nr 2"; do
        eval "notes 'cleave check -i text' -i text --block 9k $words"
    done
    echo 'N; s/\n/ /' >two.sed
    echo 'NR % 2' >odd.awk
    for words in "env LC_ALL=C sort -u" "nice sed 1d" "'LC_ALL=C sort | cut -f 2'" "sed -f two.sed" "env awk -f odd.awk" "xargs -n 3" "basenc --base64url" \
        "openssl base64" "tr -s '\n'"; do
        eval "notes 'saw only its chunk, from line 1; to see whether that matters: cleave check -i text' -i text --block 9k $words"
    done
    # A script that can be read only once is left to the command.
    mkdir bin && printf '#!/bin/sh\nexec cat\n' >bin/sed && chmod +x bin/sed && mkfifo fifo
    (
        export PATH=$PWD/bin:$PATH
        timeout $LONG "$CLEAVE" run -i text --block 9k sed -f fifo >out
    )
    cmp text out
    notes "each command saw only its chunk, from line 1; to see" -i text --block 9k sed 1d
    notes "each command saw only its chunk, from line 1; to see" -i text --block 9k "cat -n | cut -f 2"
    notes "cleave check -i text" -i text --block 9k "awk '{ s += \$2 } END { print s }'"
    notes "for one of all: --reduce sum" -i text --block 9k wc -l
    for words in "sed s/1/2/" "grep 5" "cat -s" "awk {print}" "sed -n 's/ne 1\\(.*\\)/\\1/p;/x/d'" \
        "join --nocheck-order few -" "perl -pe 's/5$//'" "awk -v ORS=, 1" "grep -ce 5 -e 3"; do
        eval "run -0 --separate-stderr \"\$CLEAVE\" run -i text --block 9k $words"
        [[ $stderr != *"saw only its chunk"* ]] || {
            echo "$words: $stderr"
            return 1
        }
    done
}

@test "scripts that number their lines are named, with cleave check" {
    prepare
    for words in "bash -c 'n=0; while read -r line; do n=\$((n + 1)); echo \"\$n \$line\"; done'" "perl -ne 'print \$c++, \":\$_\"'"; do
        eval "notes 'outputs begins with the same number; if that is wrong: cleave check -i text' -i text --block 9k $words"
    done
    # A column of numbers after a header, as pandas writes its index.
    notes 'outputs begins with the same number; if that is wrong: cleave check -i table.csv' -i table.csv --block 9k \
        perl -pe 's/^/$n++ ? ($n - 2) . "," : ","/e'
    # Lines that begin with numbers are not counted ones.
    for words in "awk '{ print 1, \$0 }'" "cut -d ' ' -f 2-"; do
        eval "run -0 --separate-stderr \"\$CLEAVE\" run -i text --block 9k $words"
        [[ $stderr != *"same number"* ]]
    done
}

@test "tools that work record by record give the serial output at the first try" {
    prepare
    seq 3000 | awk 'BEGIN { print "id\tsize" } { print $1 "\t" $1 * 997 }' >sizes.tsv
    seq 400 | awk '{ printf "@r%d\nACGT%s\n+\n@@@@%s\n", $1, $1 % 2 ? "A" : "", $1 % 2 ? "I" : "" }' >r.fastq
    awk 'BEGIN { print "id,note" } { print $2 ",\"two\nlines\"" }' text >lines.csv
    printf '%s\n' {1..900} | sed 's/$/ caf\xe9/' >latin1
    base64 text >text.b64
    awk '{ print $2 "\t" $3 }' few | sort >keys
    sort -k 2 text >by-number
    same table.csv cut -d , -f 1
    same sizes.tsv cut -f 2
    same sizes.tsv numfmt --header --field 2 --to=iec
    same sizes.tsv expand -t 12
    same r.fastq paste - - - -
    same r.fastq fold -w 3
    same text.b64 base64 -d
    same text rev
    same text tr a-z A-Z
    same text tr '\n' ' '
    same text grep -v 7
    same text sed -n 's/line \(.*\) 0/\1/p'
    same text perl -ne 'print "$1\n" if / (5\d\d) /'
    same latin1 iconv -f latin1 -t utf-8
    same by-number join -1 2 - keys
    same text strings
    same lines.csv sed 's/two/2/'
    if command -v python3 >found; then
        same lines.csv python3 -c 'import csv, sys
for row in csv.DictReader(sys.stdin): print(row["id"], len(row["note"]))'
    fi
}

@test "commands that would write the same files for every chunk are refused" {
    prepare
    for words in "split -l 100" "csplit - 9" "tee copy" "awk '{ print \$2 > \$3 \".txt\" }'" "'cut -c 1-9 | tee copy | wc -l'"; do
        eval "refuses 'every command would overwrite the same files: put \$CLEAVE_CHUNK into their names; --literal if that is right' \
            run -i text --block 9k $words"
    done
    [ ! -e copy ] && [ ! -e xaa ] && [ ! -e xx00 ] && [ ! -e 1.txt ]
    "$CLEAVE" run -q -i text --block 9k tee -a copy /dev/stderr 2>/dev/null | cmp - text
    sort copy | cmp - <(sort text)
    "$CLEAVE" run -q -i text --block 9k "tee copy.\$CLEAVE_CHUNK" | cmp - text
    "$CLEAVE" run -q -i text --block 9k awk '{ print ($2 > 9), "a > b" > "/dev/stdout" }' |
        cmp - <(awk '{ print ($2 > 9), "a > b" }' text)
    # Each key is in one chunk.
    sort -k 3 text >by-key
    "$CLEAVE" run -q -i by-key --block 9k --together ' ([0-9])$' -- awk '{ print > "key." $3 }'
    cat key.* | cmp - by-key
}

@test "a list on standard input" {
    prepare
    mkdir d
    touch d/1 d/2 'd/a b'
    [ "$(ls d | "$CLEAVE" run -q -j 1 echo x{} | xargs)" = "x1 x2 xa b" ]
    [ "$(find d -type f -print0 | "$CLEAVE" run -q -0 ls | sort | xargs -d '\n')" = "d/1 d/2 d/a b" ]
    [ "$(seq 4 | "$CLEAVE" run -q -n 2 echo | paste -sd/)" = "1 2/3 4" ]
    [ "$(seq 4 | "$CLEAVE" run -q -j 1 -X echo a{}b)" = "a1b a2b a3b a4b" ]
    [ "$(echo 'a b' | "$CLEAVE" run -q --colsep ' ' echo {2} {1})" = "b a" ]
    [ "$(seq 2 | "$CLEAVE" run -q -I % echo x% | xargs)" = "x1 x2" ]
    # -r is that of GNU parallel: blank lines are no items.
    [ "$(printf 'a\n\n \t\nb\n' | "$CLEAVE" run -q -r echo {} | xargs)" = "a b" ]
    [ "$("$CLEAVE" run -q -r echo x{} ::: '' 1 ' ' | xargs)" = x1 ]
    [ "$("$CLEAVE" run -q echo x{} ::: '' 1 | xargs)" = "x x1" ]
    # -L is that of xargs: a line that ends in a blank goes on.
    [ "$(printf 'a \nb\nc\t\n' | "$CLEAVE" run -q -j 1 -L 1 echo {} | paste -sd/)" = $'a b/c\t' ]
    [ "$("$CLEAVE" run -q -j 1 -L 2 echo x{} ::: 'a ' b c d | paste -sd/)" = "xa b xc/xd" ]
    seq 2 | sed 's/$/ /' >goes_on
    [ "$("$CLEAVE" run -q -j 1 -L 1 echo {1}-{2} :::: goes_on ::: 'y ' | paste -sd/)" = "1 2 -y " ]
    # Files for a program that takes files would be data.
    run --separate-stderr "$CLEAVE" run -q gzip < <(find d -type f)
    [ "$status" -eq 2 ]
    [[ $stderr == *"standard input is names of files"*"cleave run -a - -q gzip"* ]]
    [ "$(ls d | wc -l)" = 3 ]
}

@test "no match, no input, and a name that ends in .gz" {
    prepare
    run --separate-stderr "$CLEAVE" run -q -i text --block 9k grep nothing
    [ "$status" -eq 1 ]
    [ -z "$output$stderr" ]
    "$CLEAVE" run -q -i text --block 9k grep 'line 2999 ' | cmp - <(grep 'line 2999 ' text)
    refuses "standard input was empty, and 'text' is an argument of the command; if it is the input: -i text" \
        run grep 500 text </dev/null
    "$CLEAVE" run -q -i text -o out.gz -- cat
    gzip -dc out.gz | cmp - text
}

@test "standard error of commands: whole lines, and one piece for an item" {
    prepare
    "$CLEAVE" run -q -j 4 'printf "a{} " >&2; printf "b{}\n" >&2; echo c{} >&2' ::: 1 2 3 4 5 6 2>err
    [ "$(wc -l <err)" = 12 ]
    [ -z "$(paste - - <err | awk '$1 != "a" substr($3, 2) || $2 != "b" substr($3, 2) || $3 !~ /^c/')" ]
}

@test "option names of GNU parallel and xargs" {
    prepare
    for words in --lb --xapply --eta -t -r --compress "--retry 2" "--er ," --will-cite -k "-P 2" "--jobs 2" \
        "--no-run-if-empty" "--halt-on-error 2" "--tempdir /tmp" "--verbose" "--plain"; do
        [ "$("$CLEAVE" run $words echo ::: a 2>err)" = a ] || {
            echo "$words: $(<err)"
            return 1
        }
    done
    [ "$("$CLEAVE" run -q --pipe -i text -j 1 -- wc -l)" = 3000 ]
    [ "$("$CLEAVE" run -q --pipepart -a text -j 1 -- wc -l)" = 3000 ]
}
