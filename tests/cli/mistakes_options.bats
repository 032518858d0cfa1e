# mistakes_options.bats -- options of other programs are answered with what to type here.
# SPDX-License-Identifier: MIT
load helper

setup() {
    unset NO_COLOR COLUMNS LC_CTYPE LANG
    export LC_ALL=C
    cd "$BATS_TEST_TMPDIR"
    table=$BATS_TEST_DIRNAME/../../src/cli/run/run_foreign.c
}

# answered TYPE OPTION... -- each of them is refused with this.
answered() {
    local type=$1 option
    shift
    for option; do
        run --separate-stderr "$CLEAVE" run "$option" 4 -i /dev/null -- wc
        [ "$status" -eq 2 ]
        [[ $stderr == *"$type"* ]] || {
            echo "$option: expected to be told: $type"
            echo "$stderr"
            return 1
        }
    done
}

@test "how many at a time, as others say it" {
    answered "; instead: -j N" --nworkers --n-workers --threads --nthreads --num-threads --processes --cores --n-jobs --max-workers
    answered "mpirun -np N cleave run --mpi; without MPI -j N" -np --np
    answered "cleave run --slurm inside of sbatch or salloc; on one machine -j N" --ntasks --nodes --cpus-per-task
    answered "-j 'gpu[0-1]:env CUDA_VISIBLE_DEVICES={i}'" --gpus --gres
}

@test "how much at a time" {
    answered "sizes follow from what chunks cost; --block SIZE fixes them" --chunk --chunksize --chunk-size --npartitions
    answered "--records N for chunks" --lines --nrecords
}

@test "machines, files and forms" {
    answered "--hosts HOSTS" -H --host
    answered "--hosts-file FILE" -hostfile -machinefile
    answered "-i FILE" --infile --file -f
    answered "-o FILE" --outfile --out --output-dir
    answered "--split csv" --csv
    answered "--split HOW" --format -F
    answered "find ... -print0 | cleave run -0 -a - COMMAND" -exec -name
    answered "cleave --version" --version -V
    answered "cleave report FILE -o PAGE.html" --report
    answered "-o replaces an older file" --force
    answered "without -i it is standard input" --stdin
}

@test "options for failures" {
    answered "--halt now,fail=1" --stop-on-error -e
    answered "--journal FILE, and --resume to continue" --continue --checkpoint
}

@test "every option of GNU parallel and xargs is known or answered" {
    answered "--together KEY" --group-by --shard
    answered "SIGTERM, and a second later SIGKILL" --termseq
    answered "nproc" --number-of-cores
    for program in parallel xargs; do
        man "$program" >"$program.man" 2>/dev/null || skip "there is no page of $program"
        grep -oE '^ {7}--?[A-Za-z0-9][a-z0-9-]*|, --[a-z-]+' "$program.man" | tr -d ' ,' | sort -u >options
        [ "$(wc -l <options)" -gt 20 ]
        while read -r option; do
            run "$CLEAVE" run "$option" 4 -i /dev/null -- wc
            [[ $output != *"unknown option"* ]] || {
                echo "$program: $output"
                return 1
            }
        done <options
    done
}

@test "a test in the command, where others filter, lets nothing fail" {
    run --separate-stderr "$CLEAVE" run --plus echo '{choose_k}' ::: A B C ::: A B C
    [ "$status" -eq 2 ]
    [[ $stderr == *"'if [[ {1} < {2} ]]; then ...; fi'"* ]]
    run -0 "$CLEAVE" run -q 'if [[ {1} < {2} ]]; then echo {1} {2}; fi' ::: A B C ::: A B C
    [ "$output" = $'A B\nA C\nB C' ]
}

@test "each row of the table is reached, and tells of options that there are" {
    "$CLEAVE" help all >help
    rows() { tr -d '\n' <"$table" | sed 's/" *"//g' | grep -oE '    \{ "[^"]+", *"=?' | grep $1 '=$' | cut -d '"' -f 2 | tr ' ' '\n'; }
    rows -v >names
    [ "$(wc -l <names)" -gt 150 ]
    [ -z "$(cat names <(rows -e) | sort | uniq -d)" ]
    # Those that are the same as one of ours are taken as that one.
    rows -e >taken
    [ "$(wc -l <taken)" -gt 40 ]
    while read -r name; do
        run "$CLEAVE" run "$name" 4 -i /dev/null --no-such-option
        [[ $output != *"option '$name"* ]] || {
            echo "$name is not taken: $output"
            return 1
        }
    done <taken
    while read -r name; do
        run "$CLEAVE" run "$name"
        [[ $output == *"there is no option '$name' here"* ]] || {
            echo "$name is an option of cleave run, too: $output"
            return 1
        }
        # Behind a program of others are options of theirs.
        grep -oE -- ' --[a-z][a-z-]+' <<<" ${output#*instead: }" | sort -u | while read -r option; do
            grep -qE -- "(^| )$option( |,|\$)" help || case $option in
            --version | --mca) ;;
            *)
                echo "$name: there is no $option"
                exit 1
                ;;
            esac
        done
    done <names
}
