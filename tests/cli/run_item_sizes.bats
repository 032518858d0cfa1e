# run_item_sizes.bats -- cleave run with items: the long ones first. SPDX-License-Identifier: MIT
load helper

# Six files whose names tell their sizes; nothing here depends on how long things last.
files() {
    cd "$BATS_TEST_TMPDIR" || return 1
    for i in 1 2 3 4 5 6; do
        head -c ${i}000 /dev/zero >f$i
    done
}

# begun N WORD... -- the first N commands to begin were these, in any order; then it is forgotten.
begun() {
    local n=$1
    shift
    [ "$(head -n "$n" order | sort | tr '\n' ' ')" = "$* " ]
    rm order
}

@test "files: the longest are begun first, outputs stay in order" {
    files
    # Nobody knows how fast the workers are: each begins with a short one. They wait for each other, as do those that follow.
    cleave 0 run -q -j 2 --joblog log -- \
        'echo {} >>order; case {} in f[12]) n=2 ;; *) n=4 ;; esac; until [ $(wc -l <order) -ge $n ]; do sleep 0.02; done; echo out {}' \
        ::: f3 f1 f6 f2 f5 f4
    [ "$output" = "$(printf 'out %s\n' f3 f1 f6 f2 f5 f4)" ]
    [ "$(wc -l <order)" -eq 6 ]
    [ "$(head -n 2 order | sort | tr '\n' ' ')" = "f1 f2 " ]
    sed -n 3,4p order | grep -q f6
    rm order
    # A job log has the same commands.
    [ "$(cut -f 9 log | grep -c '^echo f[1-6] >>order; case')" -eq 6 ]
}

@test "files: a long one at the end of 150,000 is begun soon" {
    files
    { yes f1 | head -n 150000; echo f6; } >list
    cleave 0 run -q -j 2 --halt soon,done=200 -- test {} != f6 '||' touch begun :::: list
    [ -e begun ]
}

@test "costs: the same commands in a job log, and the mean for other commands" {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\n' 'Seq	Host	Starttime	JobRuntime	Send	Receive	Exitval	Signal	Command' \
        '1	:	1	2.5	0	0	0	0	echo a >>order' '2	:	1	7.5	0	0	0	0	echo b >>order' \
        '3	:	1	0.1	0	0	0	0	echo c >>order' >log
    cleave 0 run -q -j 1 --costs log -- 'echo {} >>order' ::: c new a b
    [ "$(tr '\n' ' ' <order)" = "b new a c " ]
}

@test "weights: from a column, a list, or a command" {
    files
    cleave 0 run -q -j 1 -C , --weight 2 -- 'echo {1} >>order; echo {1}' ::: a,5 b,10k c,7
    [ "$output" = "$(printf '%s\n' a b c)" ]
    [ "$(tr '\n' ' ' <order)" = "b c a " ]
    rm order
    cleave 0 run -q -j 1 --link --weight 2 -- 'echo {1} >>order' ::: a b c ::: 1 3 2
    [ "$(tr '\n' ' ' <order)" = "b c a " ]
    rm order
    cleave 0 run -q -j 1 --weight 'xargs wc -c | sed "\$d" | awk "{print \$1}"' -- 'echo {} >>order' \
        ::: f3 f1 f6 f2 f5 f4
    [ "$(tr '\n' ' ' <order)" = "f6 f5 f4 f3 f2 f1 " ]
    rm order
    # Several files for a command: their sum.
    cleave 0 run -q -j 1 --policy items -n 2 -- 'echo {} >>order' ::: f3 f1 f2 f5 f6 f4
    [ "$(tr '\n' ',' <order)" = "f6 f4,f2 f5,f3 f1," ]
}

@test "the order of the list: on request, with one worker, and for items that are not files" {
    files
    cleave 0 run -q -j 1 --policy items-list -- 'echo {} >>order' ::: f3 f1 f6
    begun 3 f1 f3 f6
    cleave 0 run -q -j 1 -- 'echo {} >>order' ::: f3 f1 f6
    [ "$(tr '\n' ' ' <order)" = "f3 f1 f6 " ]
    rm order
    cleave 0 run -q -j 2 -- 'echo {}' ::: f3 none f6
    [ "$output" = "$(printf '%s\n' f3 none f6)" ]
}

@test "failures, halts and traces hold for items with sizes" {
    files
    cleave 0 run -q -j 2 --retries 2 -- 'echo x >>tries.{}; test $(wc -l <tries.{}) -ge 2 && echo {}' \
        ::: f3 f1 f6
    [ "$output" = "$(printf '%s\n' f3 f1 f6)" ]
    cleave 1 run -j 1 --weight 1 --halt soon,fail=1 -- 'echo {} >>order; test {} != 9' ::: 5 9 7
    [[ $stderr == *"left undone: 2 items (1 to 1, 3 to 3)"* ]]
    [ "$(cat order)" = 9 ]
    cleave 0 run -q -j 2 --trace t.jsonl -- true ::: f3 f1 f6 f2 f5 f4
    cleave 0 replay t.jsonl
    has "orders of policy items" # six items, and times to look again
}

@test "a journal: finished items stay done, and the rest starts longest first" {
    files
    cleave 1 run -q -j 1 --weight 'xargs stat -c %s' --journal j --halt soon,fail=1 -- \
        'echo {} >>order; test {} != f4 || test -e go' ::: f3 f1 f6 f2 f5 f4
    [ "$(tr '\n' ' ' <order)" = "f6 f5 f4 " ]
    touch go
    cleave 0 run -q -j 1 --weight 'xargs stat -c %s' --journal j --resume --halt soon,fail=1 -- \
        'echo {} >>order; test {} != f4 || test -e go' ::: f3 f1 f6 f2 f5 f4
    [ "$(tr '\n' ' ' <order)" = "f6 f5 f4 f4 f3 f2 f1 " ]
}

@test "bad sizes of items are refused" {
    files
    refuses "--weight: item 2: expected an amount such as 2000, 10k or 3GB, got 'b'" \
        run --weight 1 -- echo ::: 1 b
    refuses "--weight: item 1 has no column 2; --colsep sets the separator" \
        run --weight 2 -- echo ::: 1 b
    refuses "--weight: expected a number for each of 2 items from 'head -n 1', got fewer" \
        run --weight 'head -n 1' -- echo ::: 1 2
    refuses "--weight: 'cat; false' failed with status 1" run --weight 'cat; false' -- echo ::: 1 2
    refuses "expected --weight or --costs, got both" run --weight 1 --costs x -- echo ::: 1 2
    printf 'Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n1\t:\t1\t2\t0\t0\t0\t0\tls\n' >log
    refuses "--costs: 'log' has none of these commands" run --costs log -- echo ::: 1 2
    refuses "policy 'umr' is for a load, not for items" run --policy umr -- echo ::: 1 2
    refuses "--policy items: not all items are files, so their costs are unknown: give --weight or --costs" \
        run --policy items -- echo ::: 1 2
    refuses "--costs is for items, and there are no items: name them after the command, as in ... {} ::: *.txt, or --each for the records of the input" \
        run --costs x -i f1 -- cat
}
