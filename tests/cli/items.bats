# cleave plan items, simulate items and compare items. SPDX-License-Identifier: MIT
load helper

FILES=examples/files.txt
KINDS=examples/two-kinds.yaml

@test "plan, text: what every worker does, the bound, and the order of the list" {
    cleave 0 plan items --sizes $FILES --platform $KINDS --explain
    golden plan-items.txt
    [ -z "$stderr" ]
    cleave 0 plan items --sizes $FILES -p $KINDS --policy items-list --no-gantt
    has "policy    items-list"
    lacks "in order"
    cleave 0 plan items --sizes $FILES -p $KINDS --items --no-gantt
    has "smtp.log"
    [ "$(printf '%s\n' "$output" | grep -c '\.log$')" -eq 24 ]
}

@test "plan, json: the fields, and every item once" {
    cleave 0 plan items --sizes $FILES -p $KINDS --json
    valid_json
    [ "$(json_keys)" = "policy items load seed makespan utilisation bound over_bound optimal \
bounds list_order workers chunks " ]
    has '"items": 24,'
    has '"load": 2889,'
    has '"bound": {"name": "'
    [ "$(printf '%s\n' "$output" | grep -o '"item": [0-9]*' | sort -u | wc -l)" -eq 24 ]
    has '"name": "smtp.log", "worker": "fast.0", "units": 359,'
}

@test "sizes: with and without names, as du writes them, with units, any column" {
    cd "$BATS_TEST_TMPDIR"
    cp "$CLEAVE_SOURCE_DIR/$KINDS" kinds.yaml
    printf '64k\n2000\n0\n1.5 MB\n' >plain
    cleave 0 plan items --sizes plain -p kinds.yaml --json
    has '"load": 1566000,'
    lacks '"name": "plain'
    printf '100\ta b\n7k\t12\r\n' >du
    cleave 0 plan items --sizes - -p kinds.yaml --json <du
    has '"load": 7100,'
    has '"name": "12",'
    has '"name": "a b",'
    printf 'x\t5\t10\ny\t6\t11\n' >three
    cleave 0 plan items --sizes three -p kinds.yaml --json
    has '"load": 21,'
    cleave 0 plan items --sizes three --weight 2 -p kinds.yaml --json
    has '"load": 11,'
    has '"name": "x",'
}

@test "costs: --log takes the last success of each job" {
    cd "$BATS_TEST_TMPDIR"
    cp "$CLEAVE_SOURCE_DIR/$KINDS" kinds.yaml
    printf '%s\n' 'Seq	Host	Starttime	JobRuntime	Send	Receive	Exitval	Signal	Command' \
        '2	:	1.0	     7.500	0	0	0	0	gzip b' '1	:	1.0	3.000	0	0	1	0	gzip a' \
        '1	:	2.0	4.000	0	0	0	0	gzip a' '1	:	3.0	9.000	0	0	0	9	gzip a' \
        '3	fast.1	1.0	10.200	0	0	0	0	gzip c' >jobs
    cleave 0 plan items --costs jobs -p kinds.yaml --json
    has '"items": 3,'
    has '"load": 411.5,' # 4 and 7.5 s, and (10.2 - 0.2) s of a worker that does 40 a second
    has '"name": "gzip c",'
    echo 5 >plain
    refuses "plain: expected a job log, as --joblog writes it: its first line has no column 'Seq'" \
        plan items --costs plain -p kinds.yaml
}

@test "simulate and compare: longest first is nearer to the bound than the list" {
    cleave 0 simulate items --sizes $FILES -p $KINDS --noise gamma:0.3 --runs 20 --json
    valid_json
    [ "$(json_keys)" = "policy items load runs seed noise engine makespan utilisation bound \
over_bound " ]
    cleave 0 simulate items --sizes $FILES -p $KINDS --error 0.2 --runs 5
    has "5 runs of 24 items of 2889 units in all on 4 workers, noise normal:0.2"
    cleave 0 compare items --sizes $FILES -p $KINDS
    golden compare-items.txt
    cleave 0 compare items --sizes $FILES -p $KINDS --noise gamma:0.3 --runs 20 --json
    valid_json
    [ "$(json_keys)" = "items load runs seed noise bound rows not_applicable " ]
    [[ $output == *'"policy": "items",'*'"policy": "items-list",'* ]]
}

@test "a plan's trace can be replayed" {
    cleave 0 plan items --sizes $FILES -p $KINDS --trace "$BATS_TEST_TMPDIR/t.jsonl"
    grep -q '"order":"send","worker":"fast.0","item":20,"units":359' "$BATS_TEST_TMPDIR/t.jsonl"
    cleave 0 replay "$BATS_TEST_TMPDIR/t.jsonl"
    has "the same: 24 orders of policy items"
    sed 's/"item":20,/"item":19,/' "$BATS_TEST_TMPDIR/t.jsonl" >"$BATS_TEST_TMPDIR/u.jsonl"
    cleave 1 replay "$BATS_TEST_TMPDIR/u.jsonl"
    has "recorded: send item 19 of 359 units to fast.0"
    has "now:      send item 20 of 359 units to fast.0"
}

@test "items refuses bad input with its place" {
    cd "$BATS_TEST_TMPDIR"
    cp "$CLEAVE_SOURCE_DIR/$KINDS" kinds.yaml
    printf '5\nfive\n' >words
    : >empty
    printf -- '-5\n' >negative
    refuses "expected --sizes FILE, with a size on each line, or --costs JOBLOG" \
        plan items -p kinds.yaml
    refuses "expected --sizes or --costs, got both" \
        plan items --sizes words --costs words -p kinds.yaml
    refuses "words:2: expected an amount such as 2000, 10k or 3GB, got 'five'" \
        plan items --sizes words -p kinds.yaml
    refuses "empty: expected a size on each line, got an empty file" \
        plan items --sizes empty -p kinds.yaml
    refuses "negative:1: expected a size of 0 or more, got '-5'" \
        plan items --sizes negative -p kinds.yaml
    refuses "words:1: expected a line with that column, got '5'" \
        plan items --sizes words --weight 2 -p kinds.yaml
    echo 5 >one
    refuses "policy 'umr' is for a load, not for items" \
        plan items --sizes one -p kinds.yaml --policy umr
}
