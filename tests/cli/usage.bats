# Words, options and help. SPDX-License-Identifier: MIT
load helper

@test "no arguments: short help on stderr, status 2" {
    cleave 2
    [ -z "$output" ]
    [[ $stderr == "Usage: cleave COMMAND [OPTION]..."* ]]
    [[ $stderr == *"plan load"*"simulate load"*"compare load"* ]]
}

@test "--help and help list the commands on stdout" {
    cleave 0 --help
    golden help.txt
    [ -z "$stderr" ]
    local listed=$output
    cleave 0 help
    [ "$output" = "$listed" ]
}

# options -- how many options $output shows.
options() { grep -cE '^  (    |-., )--' <<<"$output"; }

@test "-h is one screen: 12 options or commands, 6 examples" {
    for verb in run ""; do
        cleave 0 $verb -h
        [ "$(wc -l <<<"$output")" -le 23 ]
        [ -z "$(awk 'length > 80' <<<"$output")" ]
        [ "$(sed -n '/^Examples:$/,$p' <<<"$output" | grep -c '^  cleave ')" -eq 6 ]
        [ "$(sed -n '/^$/,/^$/p' <<<"$output" | grep -c '^  ')" -eq 12 ]
    done
}

@test "run --help shows what most need, and help all every option" {
    cleave 0 run --help
    [ "$(options)" -le 75 ]
    lacks "--framed"
    lacks "--keep-order"
    has "More: 'cleave help' lists the topics"
    cleave 0 help all
    [ "$(options)" -gt 100 ]
    has "--framed"
    has "--keep-order"
    local all=$output
    cleave 0 help all run
    [ "$output" = "$all" ]
    cleave 0 help all split
    [ "$output" = "$("$CLEAVE" split --help)" ]
    refuses "unknown command 'spilt'; did you mean 'split'?" help all spilt
    # Each row is the text of the table: what -h shows is how --help begins.
    cleave 0 run -h
    has "Run N commands at a time"
    has "Run a failing command up to N times in all"
}

@test "help by topic: options of all levels, examples and tables" {
    for topic in items csv hosts reduce formats failures; do
        cleave 0 help $topic
        [[ $output == "$topic: "* ]]
        has "Examples:"
        has "Options of cleave run:"
        [ -z "$(awk 'length > 80' <<<"$output")" ]
        [ "$(options)" -ge 6 ] || [ $topic = reduce ]
        [ "$(grep -cE '^  (    |-., )--' <<<"$output")" -eq \
            "$(grep -oE '^  (    |-., )--[a-z-]+' <<<"$output" | sort -u | wc -l)" ]
        cleave 0 help
        has "  $topic"
        [[ $("$CLEAVE" completions bash) == *" $topic"* ]]
    done
    cleave 0 help items
    has "{:%6.2f}"
    has "--rpl RULE"
    cleave 0 help formats
    has "fasta, fastq"
    cleave 0 help hosts
    has "--grace TIME"
    has "--sshlogin HOSTS"
    refuses "unknown command or topic 'itmes'; did you mean 'items'?" help itmes
    refuses "unknown command or topic 'reduces'; did you mean 'reduce'?" help reduces
    refuses "unknown command or topic 'nosuch'; 'cleave help' lists them" help nosuch
    # A topic is one word; there is no man page for it.
    cleave 2 help csv items
    cleave 2 help --man csv
}

@test "options that a topic names exist" {
    grep -oE '"--[a-z -]+"' src/cli/help_topics.c | tr -d '"' | tr ' ' '\n' | sort -u >"$BATS_TEST_TMPDIR/named"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/named")" -gt 25 ]
    "$CLEAVE" help all >"$BATS_TEST_TMPDIR/all"
    while read -r option; do
        grep -qE -- "^  (    |-., )$option( |$)" "$BATS_TEST_TMPDIR/all" || {
            echo "there is no option $option"
            false
        }
    done <"$BATS_TEST_TMPDIR/named"
}

@test "names of other programs are answered with the command to type" {
    refuses "unknown command 'parallel'; instead: cleave run echo 'a b' ::: 1" parallel echo 'a b' ::: 1
    refuses "unknown command 'xargs'; instead: cleave run -a - wc -l" xargs wc -l
    refuses "unknown command 'man'; instead: cleave help run" man run
}

@test "the start of several names: help for them" {
    cleave 0 plan --help
    has "plan load"
    lacks "simulate load"
    cleave 0 help plan
    has "plan load"
    cleave 2 plan
    [ -z "$output" ]
    [[ $stderr == *"plan load"* ]]
    cleave 2 plan --platform x
    [ -z "$output" ]
}

@test "unknown commands are refused with the nearest names" {
    refuses "unknown command 'plna'; did you mean 'plan'?" plna
    refuses "unknown command 'plan lod'; did you mean 'plan load' or 'plan loads'?" plan lod
    refuses "unknown command 'plan reduction'; did you mean 'plan reduce'?" plan reduction
    refuses "unknown command 'simulte'; did you mean 'simulate'?" simulte load
    refuses "unknown command 'plan lod'; did you mean 'plan load' or 'plan loads'?" help plan lod
    refuses "unexpected argument 'extra'; expected 'cleave help plan load'" help plan load extra
    cleave 2 ''
    [[ $stderr == "cleave: unknown command ''; known: run, check, split,"* ]]
    cleave 2 plan load2
    cleave 2 load plan
}

@test "commands of later versions are unknown" {
    for verb in reduce streams; do
        cleave 2 $verb
        [[ $stderr == "cleave: unknown command '$verb';"* ]]
    done
    cleave 2 compare streams
    [[ $stderr == "cleave: unknown command 'compare streams';"* ]]
}

@test "options of the program itself" {
    cleave 0 --version
    [[ $output =~ ^cleave\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    refuses "unknown option '--versio' before the command; known: --help, --version; put the options of a command after it: cleave run -j 4 ..." --versio
    cleave 2 --json plan load
}

@test "unknown options are refused with the nearest; abbreviations too" {
    refuses "unknown option '--polcy'; did you mean '--policy'?" \
        plan load -p $LAB --load 5 --polcy umr
    refuses "unknown option '--polcy'; did you mean '--policy'?" \
        plan load -p $LAB --load 5 --polcy=umr
    refuses "unknown option '--platf'; did you mean '--platform'?" plan load --platf $LAB
    cleave 2 plan load -p $LAB -l 5 -x
    [[ $stderr == "cleave: unknown option '-x'; known: --platform,"* ]]
    cleave 2 version --load 5
}

@test "spellings of an option that mean the same" {
    cleave 0 plan load --platform $LAB --load 500 --policy umr
    local plan=$output
    for words in "--platform=$LAB --load=500 --policy=umr" "-p $LAB -l 500 --policy umr" \
        "-p$LAB -l500 --policy=umr --" "--load 7 -p $LAB --policy umr --load 500"; do
        cleave 0 plan load $words
        [ "$output" = "$plan" ]
    done
}

@test "arguments that are missing, empty or too many" {
    refuses "--input: expected FILE, got '': is a variable of the shell not set?" run -i '' -- cat
    refuses "--input: expected FILE, got '': is a variable of the shell not set?" run -i $LAB --input= -- cat
    refuses "--arg-file: expected FILE, got '': is a variable of the shell not set?" run -a '' -- echo {}
    refuses "--platform FILE is required" plan load --load 5
    refuses "--platform FILE is required; if '$LAB' is it: --platform $LAB" plan load $LAB --load 5
    refuses "unexpected argument '2000'; if it is the load: --load 2000" plan load -p $LAB 2000
    refuses "expected --load AMOUNT, or --lifespan TIME to do as much as ends by then" \
        plan load --platform $LAB
    refuses "expected --load or --lifespan, got both" \
        plan load --platform $LAB --load 5 --lifespan 5
    refuses "--load: needs an argument: AMOUNT" plan load -p $LAB --load
    refuses "--platform: needs an argument: FILE" plan load --platform --load 5
    refuses "--platform: needs an argument: FILE" plan load --platform --load=5
    refuses "--platform: expected FILE, got '': is a variable of the shell not set?" plan load --platform= --load 5
    refuses "--json: takes no argument" plan load -p $LAB -l 5 --json=yes
    refuses "unexpected argument 'more'; see 'cleave plan load --help'" \
        plan load -p $LAB -l 5 more
    refuses "unexpected argument '--json'; see 'cleave plan load --help'" \
        plan load -p $LAB -l 5 -- --json
}

@test "--load: only a positive amount will do" {
    for bad in 0 -5 nan inf 1e400 five 5x '5 s' 0x10 '' ' ' 1,5; do
        refuses "--load: expected a positive amount such as 2000, 10k or 3 GB, got '$bad'" \
            plan load -p $LAB --load "$bad"
        refuses "--load: expected a positive amount such as 2000, 10k or 3 GB, got '$bad'" \
            simulate load -p $LAB "--load=$bad"
    done
    for good in 10k 10000 '10 kB' 1e4; do
        cleave 0 plan load -p $LAB --load "$good" --json
        [ "$(number load)" = 10000 ]
    done
}

@test "whole numbers and their ranges" {
    for bad in -1 1.5 x 18446744073709551616 +1; do
        refuses "--seed: expected a whole number of 64 bits, got '$bad'" \
            plan load -p $LAB -l 5 --seed $bad
    done
    cleave 0 plan load -p $LAB -l 5 --seed 18446744073709551615 --json
    has '"seed": 18446744073709551615'
    refuses "--rounds: expected a whole number from 1 to 1000000000, got '0'" \
        plan load -p $LAB -l 5 --rounds 0
    refuses "--width: expected a whole number from 40 to 1000, got '39'" \
        plan load -p $LAB -l 5 --width 39
    refuses "--error: expected a number from 0 to 10, got '-0.1'" \
        plan load -p $LAB -l 5 --error -0.1
}

@test "long and strange arguments are cut and made visible" {
    local long
    long=$(head -c 20000 /dev/zero | tr '\0' 9)
    cleave 2 "$long"
    [ ${#stderr} -lt 340 ]
    cleave 2 plan load -p $LAB --load "$long"
    [ ${#stderr} -lt 300 ]
    cleave 2 plan load "--$long"
    [ ${#stderr} -lt 600 ]
    cleave 2 plan load -p "$long" --load 5
    [ ${#stderr} -lt 600 ]
    cleave 2 plan load -p $LAB -l 5 --policy "$long"
    [ ${#stderr} -lt 900 ]
    refuses "--load: expected a positive amount such as 2000, 10k or 3 GB, got '5\x1b[31m'" \
        plan load -p $LAB --load $'5\033[31m'
}

@test "every command has --help with usage, options, an example and exit statuses" {
    "$CLEAVE" help --commands | while read -r verb; do
        cleave 0 $verb --help
        [ -z "$stderr" ]
        [[ $output == "Usage: cleave $verb"* ]]
        has "--help"
        has "Example"
        has "Exit status:"
        [ -z "$(printf '%s\n' "$output" | awk 'length > 80')" ]
        local help=$output
        cleave 0 help $verb
        [ "$output" = "$help" ]
        cleave 0 $verb -h --no-such-option
        [ "$output" = "$help" ] || [[ $verb == @(run|check) ]]
    done
    cleave 0 --help
    [ -z "$(printf '%s\n' "$output" | awk 'length > 80')" ]
}

@test "the examples that help shows work" {
    ln -s "$CLEAVE_SOURCE_DIR/examples" "$BATS_TEST_TMPDIR/examples"
    cd "$BATS_TEST_TMPDIR"
    "$CLEAVE" help --commands | while read -r verb; do
        "$CLEAVE" $verb --help | sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' | sed -n '/^Example/,/^$/s/^  cleave //p'
    done >commands
    [ "$(wc -l <commands)" -ge 8 ]
    while read -r words; do
        if [[ $words == *--topology* && ! -x $(dirname "$CLEAVE")/cleave-simgrid ]]; then
            continue
        fi
        echo "cleave $words"
        eval "\"\$CLEAVE\" $words" >out 2>err
        [ -s out ] || [[ $words == *" -o "* ]]
        # That the machine is busy may be true.
        [ -z "$(grep -v -E 'was busy|machine busy' err)" ]
    done <commands
}

# statuses VERB... -- those that its help has, in a line.
statuses() {
    "$CLEAVE" "$@" --help | sed -n '/^Exit status:$/,$s/^  \([0-9N+]*\)  .*/\1/p' | tr '\n' ' '
}

@test "every command has the exit statuses that it can end with" {
    "$CLEAVE" help --commands | while read -r verb; do
        case $verb in
        run) expected="0 1 2 3 75 130 141 143 128+N " ;;
        worker) expected="0 1 2 3 113 141 " ;;
        *) expected="0 1 2 3 141 " ;;
        esac
        [ "$(statuses $verb)" = "$expected" ] || {
            echo "$verb: $(statuses $verb)"
            return 1
        }
    done
}
