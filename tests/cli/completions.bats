# Completion scripts. SPDX-License-Identifier: MIT
load helper

# try WORD... -- what bash offers for the last word of this command line, on one line.
try() {
    output=$("$BASH" --norc -c '
        source "$1"
        shift
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _cleave 2>/dev/null
        echo "${COMPREPLY[*]}"' bash "$BATS_TEST_TMPDIR/cleave.bash" "$@")
}

@test "completions/ holds what the program writes now" {
    tools/make-completions "$CLEAVE" "$BATS_TEST_TMPDIR/made"
    diff -r "$BATS_TEST_TMPDIR/made" completions || {
        echo "run tools/make-completions"
        false
    }
}

@test "bash: commands, options, policies, files" {
    "$CLEAVE" completions bash >"$BATS_TEST_TMPDIR/cleave.bash"
    bash -n "$BATS_TEST_TMPDIR/cleave.bash"
    try cleave pl
    [ "$output" = "plan platform" ]
    try cleave plan ""
    [ "$output" = "load reduce streams items loads" ]
    try cleave plan load --pol
    [ "$output" = "--policy" ]
    try cleave plan load --policy um
    [ "$output" = "umr umr-plus" ]
    try cleave plan load --policy = um
    [ "$output" = "umr umr-plus" ]
    try cleave plan reduce --policy um
    [ "$output" = "" ]
    try cleave compare load --policies umr,guid
    [ "$output" = "umr,guided" ]
    try cleave compare reduce --sweep ""
    [ "$output" = "cv= transfer= compute= nodes=" ]
    try cleave compare load --sweep latency
    [ "$output" = "latency= latency-factor=" ]
    try cleave run --split f
    [ "$output" = "fasta fastq fixed:" ]
    for verb in "simulate load" platform; do
        try cleave $verb --port ""
        [ "$output" = "one duplex multi" ]
    done
    try cleave plan load --load ""
    [ "$output" = "" ]
    try cleave plan load -p examples/unequ
    [ "$output" = "examples/unequal.yaml" ]
    try cleave report examples/cos
    [ "$output" = "examples/costs.json" ]
    try cleave replay examples/cos
    [ "$output" = "examples/costs.json" ]
    try cleave policies gree
    [ "$output" = "greedy" ]
    try cleave policies item
    [ "$output" = "items items-list" ]
    try cleave completions ""
    [ "$output" = "bash zsh fish" ]
    try cleave run -- mkfif
    [[ $output == mkfifo* ]]
    try cleave run -- cat examples/cos
    [ "$output" = "examples/costs.json" ]
}

@test "bash: every option of every command is offered" {
    "$CLEAVE" completions bash >"$BATS_TEST_TMPDIR/cleave.bash"
    "$CLEAVE" help --commands | while read -r verb; do
        try cleave $verb --
        for option in $("$CLEAVE" help all $verb |
            sed -n 's/^  \(-., \|    \)\(--[a-z-]*\).*/\2/p'); do
            [[ " $output " == *" $option "* ]]
        done
    done
}

@test "zsh and fish: the scripts are well formed if the shells are installed" {
    "$CLEAVE" completions zsh >"$BATS_TEST_TMPDIR/_cleave"
    "$CLEAVE" completions fish >"$BATS_TEST_TMPDIR/cleave.fish"
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/_cleave")" = "#compdef cleave" ]
    # Quotes are balanced: an even number in each line.
    awk -F "'" 'NF && NF % 2 == 0 { print FILENAME ": " $0; bad = 1 } END { exit bad }' \
        <(sed "1,4d; s/\\\\'//g" "$BATS_TEST_TMPDIR/cleave.fish") \
        <(sed '1,4d' "$BATS_TEST_TMPDIR/_cleave")
    # Of zsh it may be in fpath, or sourced.
    grep -qx "    compdef _cleave cleave" "$BATS_TEST_TMPDIR/_cleave"
    if command -v zsh >/dev/null; then
        zsh -n "$BATS_TEST_TMPDIR/_cleave"
        run -0 zsh -fc 'compdef() { print -r -- "$@"; }; source "$1"' zsh "$BATS_TEST_TMPDIR/_cleave"
        [ "$output" = "_cleave cleave" ]
    fi
    # What a word is for is one text, whatever quotes it has.
    run ! grep -v -- "-d '\([^\\']\|\\\\.\)*'\$" <(grep -- "-d '" "$BATS_TEST_TMPDIR/cleave.fish")
    if command -v fish >/dev/null; then
        fish -n "$BATS_TEST_TMPDIR/cleave.fish"
        run fish -c "source '$BATS_TEST_TMPDIR/cleave.fish'; complete -C 'cleave wor'"
        [[ $output == "worker"*"the other end of 'cleave run --hosts', started by it" ]]
        run fish -c "source '$BATS_TEST_TMPDIR/cleave.fish'; complete -C 'cleave plan load --policy umr-'"
        [[ $output == umr-plus* ]]
        # Second words come behind the first one alone.
        for verb in $("$CLEAVE" help --commands | sed -n 's/ /:/p'); do
            run fish -c "source '$BATS_TEST_TMPDIR/cleave.fish'; complete -C 'cleave ${verb%:*} '"
            [[ $output == *"${verb#*:}"* ]]
            run fish -c "source '$BATS_TEST_TMPDIR/cleave.fish'; complete -C 'cleave ${verb/:/ } '"
            [ "$output" = "" ]
        done
    fi
    grep -q "__fish_seen_subcommand_from load' -l policy -x -a 'auto" \
        "$BATS_TEST_TMPDIR/cleave.fish"
}

@test "shells that are not known" {
    refuses "expected the name of a shell: bash, zsh or fish" completions
    refuses "unknown shell 'zhs'; did you mean 'zsh'?" completions zhs
}
