# quoted_names.bats -- names may hold anything, but messages and logs stay lines of text.
# SPDX-License-Identifier: MIT
load helper

# A line end, a tab, an escape that clears the screen, and a byte that is no UTF-8.
NAME=$'a\nb\tc\e[2Jd\xff'
SHOWN='a\x0ab\x09c\x1b[2Jd\xff'

prepare() {
    cd "$BATS_TEST_TMPDIR" || return 1
    printf '1\n2\n3\n' >"$NAME"
    printf 'workers: [' >"bad$NAME"
}

# tells STATUS ARGUMENT... -- cleave ends with it and one line that holds the name, shown.
tells() {
    local expected=$1 got=0
    shift
    "$CLEAVE" "$@" >out 2>err </dev/null || got=$?
    if [ "$got" -ne "$expected" ] || [ "$(wc -l <err)" -ne 1 ] ||
        ! grep -qF -- "$SHOWN" err || grep -q '[^ -~]' err; then
        echo "cleave $(printf '%q ' "$@"): exit status $got"
        cat -v err
        return 1
    fi
}

@test "run: every message about a name is a line of plain text" {
    prepare
    tells 1 run -q -i "$NAME" --block 100 -- false
    tells 1 run -q -i "$NAME" --block 100 --retries 2 --timeout 0.01 -- sleep 10
    tells 2 run -q -i "$NAME" -o "$NAME/out" -- cat
    tells 2 run -q -i "no$NAME" -- cat
    tells 2 run -q -i "$NAME" -o "$NAME" -- cat
    tells 2 run -q -i "$NAME" -o "no/$NAME" -- cat
    tells 2 run -q -i "$NAME" --joblog "no/$NAME" -- cat
    tells 2 run -q -i "$NAME" --trace "no/$NAME" -- cat
    tells 2 run -q -i "$NAME" --hosts "no$NAME" -- cat
    tells 2 run -q -i "$NAME" --hosts "bad$NAME" -- cat
    tells 2 run -q -i "$NAME" --quote -- "no$NAME"
    tells 2 run -q -i "$NAME" --split "$NAME" -- cat
    tells 2 run -q -i "$NAME" --policy "$NAME" -- cat
    tells 2 run -q -i "$NAME" --halt "$NAME" -- cat
    tells 2 run -q -i "$NAME" --progress "$NAME" -- cat
    tells 2 run -q -i "$NAME" --workers "$NAME" -- cat
    tells 2 run -q "--$NAME" -- cat
    tells 2 run -q -i "$NAME" --block 100 --failed "$NAME/bad" -- false
    # Names of others in the folder that are nearly the same.
    touch $'almost\e\n\xff it'
    for name in $'almost\e\n\xff' $'almots\e\n\xff it'; do
        "$CLEAVE" run -q -i "$name" -- cat 2>err || [ $? -eq 2 ]
        grep -F "did you mean 'almost\\x1b\\x0a\\xff it'?" err
        [ "$(wc -l <err)" -eq 1 ]
        run ! grep -q '[^ -~]' err
    done
}

@test "other verbs: the same" {
    prepare
    tells 2 plan load -p "no$NAME" -l 2
    tells 2 plan load -p "bad$NAME" -l 2
    tells 2 plan load -p "$CLEAVE_SOURCE_DIR/$LAB" -l 20 --trace "no/$NAME"
    tells 2 plan load -p "$CLEAVE_SOURCE_DIR/$LAB" -l 20 --policy "$NAME"
    tells 2 plan load -p "$CLEAVE_SOURCE_DIR/$LAB" -l "$NAME"
    tells 2 plan reduce --costs "no$NAME"
    tells 2 report "no$NAME" -o page
    tells 2 report "$NAME" -o page
    tells 2 replay "$NAME"
    tells 2 calibrate -i "no$NAME" -- cat
    tells 2 platform -w 2 -o "no/$NAME"
    tells 2 "$NAME"
    tells 2 figures "$NAME"
}

@test "a part that is left is named so that it can be read" {
    prepare
    "$CLEAVE" run -q -i "$NAME" -j 1 --block 2 -o "o$NAME" -- sh -c 'read -r x; echo "$x"; [ "$x" = 2 ]' 2>err || true
    [ "$(wc -l <err)" -eq 3 ]
    run ! grep -q '[^ -~]' err
    grep -qF "cleave: 'o$SHOWN' was not made; the incomplete file is: .o$SHOWN.part-" err
}

@test "the job log has nine columns and a line for each end, whatever the names" {
    prepare
    cp "$NAME" 'it is'
    cp "$NAME" plain
    cp "$NAME" "\$'x':0-6"
    "$CLEAVE" run -q -i "$NAME" -i 'it is' -i plain -i "\$'x':0-6" -j 1 --block 100 --joblog log -- cat >out
    [ "$(wc -l <log)" -eq 5 ]
    [ "$(awk -F '\t' '{ print NF }' log | sort -u)" = 9 ]
    run ! grep -q $'[^ -~\t]' log
    # As a shell would take it.
    [ "$(sed -n 4p log | cut -f 9)" = plain:0-6 ]
    [ "$(sed -n 3p log | cut -f 9)" = "it is:0-6" ]
    [ "$(sed -n 5p log | cut -f 9)" = "'\$'\\''x'\\'':0-6':0-6" ]
    local word
    eval "word=$(sed -n 2p log | cut -f 9)"
    [ "$word" = "$NAME:0-6" ]
}

@test "letters of other scripts are printed unchanged" {
    cd "$BATS_TEST_TMPDIR"
    cleave 2 run -i 'größe-Ω.txt' -- cat
    [[ $stderr == *"größe-Ω.txt"* ]]
    # But not what would turn the line around.
    cleave 2 run -i $'a\u202eb' -- cat
    [[ $stderr == *'a\xe2\x80\xaeb'* ]]
}
