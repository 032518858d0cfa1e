# Completion of cleave for bash. Made by 'cleave completions bash': edit the option
# tables instead. SPDX-License-Identifier: MIT

# Words that begin as the present one does; no space behind KEY= and KIND:.
_cleave_words() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

# The same behind the last comma.
_cleave_list() {
    local before=
    [[ $cur == *,* ]] && before=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur##*,}")
    compopt -o nospace 2>/dev/null
}

_cleave_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

_cleave() {
    local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
    local options= operands= i
    COMPREPLY=()
    if [[ $cur == = ]]; then
        cur=
    elif [[ $option == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((COMP_CWORD == i + 1)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                _cleave_files -f
            fi
            return
        fi
    done
    if ((COMP_CWORD == 1)); then
        _cleave_words ' run check split join keygen worker batch-script slurm-script calibrate plan simulate compare report replay platform sample policies engines figures version completions help --help --version'
        return
    fi
    if ((COMP_CWORD == 2)); then
        case ${COMP_WORDS[1]} in
        plan) _cleave_words ' load reduce streams items loads'; return ;;
        simulate) _cleave_words ' load reduce streams items loads'; return ;;
        compare) _cleave_words ' load reduce items loads'; return ;;
        esac
    fi
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
    'run '*)
        options='--help -h --input --pipepart --recursive --split --header --no-header --records --together --pairs --max-record --decode --recend --recstart --fetch --size --each --arg-file --null --no-run-if-empty --eof --delimiter --link --colsep --replace --rpl --plus --quote --max-args --max-replace-args --max-lines --fill --fill-words --max-chars --many --tag --tagstring --results --files --limit --costs --ungroup --shuf --workers --pin --delay --load --memfree --nice --hosts --sshlogin --hosts-file --via --mpi --mpi-library --leaders --slurm --persistent --window --cat --literal --framed --as --policy --param --block --weight --weight-default --backups --ssh --remote --push --push-from --shared-input --workdir --transferfile --return --basefile --cleanup --env --connect-timeout --host-timeout --join-socket --listen --key --grace --output --shared-output --keep-order --unordered --line-buffer --group --header-out --reduce --commutative --memory --tmpdir --retries --ok --later --isolate --timeout --halt --failed --journal --resume --overwrite --joblog --show-commands --verbose --summary --dry-run --progress --serve --trace --json --quiet'
        case $option in
        --input | -i) _cleave_files -f; return ;;
        --split) _cleave_words 'auto lines nul csv jsonl json xml: fasta fastq paragraph warc tar bam pcap fixed: regex:'; return ;;
        --records) return ;;
        --together) return ;;
        --pairs) _cleave_files -f; return ;;
        --max-record) return ;;
        --decode) _cleave_words 'auto none gzip bgzf zstd xz bzip2 lz4'; return ;;
        --recend) return ;;
        --recstart) return ;;
        --fetch) return ;;
        --size) return ;;
        --arg-file | -a) _cleave_files -f; return ;;
        --eof | -E) return ;;
        --delimiter | -d) return ;;
        --colsep | -C) return ;;
        --replace | -I) return ;;
        --rpl) return ;;
        --max-args | -n) return ;;
        --max-replace-args | -N) return ;;
        --max-lines | -L) return ;;
        --max-chars | -s) return ;;
        --tagstring) return ;;
        --results) _cleave_files -d; return ;;
        --limit) return ;;
        --costs) return ;;
        --workers | -j) return ;;
        --delay) return ;;
        --load) return ;;
        --memfree) return ;;
        --nice) return ;;
        --hosts) return ;;
        --sshlogin | -S) return ;;
        --hosts-file) _cleave_files -f; return ;;
        --via) return ;;
        --mpi-library) return ;;
        --leaders) _cleave_words 'node'; return ;;
        --window) return ;;
        --as) return ;;
        --policy) _cleave_words 'auto one-round joint fifo lifo orders chunks small-results best-orders rounds rounds-tail mi xmi umr rumr self guided factoring weighted-factoring xmi-k umr-plus links leaders rx learn as4dr'; return ;;
        --param) _cleave_words 'trials= limit= transfer= compute= folders= tree= model= send-order= return-order= chunk-order= starts= kicks= exact= effort= tail= prefetch= rounds= max_rounds= level= select= alike= chunk= least= max_chunks= kappa= first= most= growth= parts= period= theta= rule= gain= post= service= start= trim= lambda= end= floor='; return ;;
        --block) return ;;
        --weight) return ;;
        --weight-default) return ;;
        --backups) return ;;
        --ssh) return ;;
        --remote) return ;;
        --push-from) return ;;
        --workdir) _cleave_files -d; return ;;
        --transferfile) return ;;
        --return) return ;;
        --basefile) _cleave_files -f; return ;;
        --env) return ;;
        --connect-timeout) return ;;
        --host-timeout) return ;;
        --join-socket) return ;;
        --listen) return ;;
        --key) _cleave_files -f; return ;;
        --grace) return ;;
        --output | -o) _cleave_files -f; return ;;
        --reduce) return ;;
        --memory) return ;;
        --tmpdir) _cleave_files -d; return ;;
        --retries) return ;;
        --ok) return ;;
        --later) return ;;
        --timeout) return ;;
        --halt) _cleave_words 'never soon,fail= now,fail='; return ;;
        --failed) _cleave_files -d; return ;;
        --journal) _cleave_files -f; return ;;
        --joblog) _cleave_files -f; return ;;
        --progress) _cleave_words 'bar live plain json none'; return ;;
        --serve) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'check '*)
        options='--help -h --input --pipepart --recursive --split --header --no-header --records --together --pairs --max-record --decode --recend --recstart --fetch --size --sample --timeout --json --quiet'
        case $option in
        --input | -i) _cleave_files -f; return ;;
        --split) _cleave_words 'auto lines nul csv jsonl json xml: fasta fastq paragraph warc tar bam pcap fixed: regex:'; return ;;
        --records) return ;;
        --together) return ;;
        --pairs) _cleave_files -f; return ;;
        --max-record) return ;;
        --decode) _cleave_words 'auto none gzip bgzf zstd xz bzip2 lz4'; return ;;
        --recend) return ;;
        --recstart) return ;;
        --fetch) return ;;
        --size) return ;;
        --sample) return ;;
        --timeout) return ;;
        esac
        ;;
    'split '*)
        options='--help -h --input --recursive --split --header --together --max-record --decode --number --size --records --output --index --force --json --quiet'
        case $option in
        --input | -i) _cleave_files -f; return ;;
        --split) _cleave_words 'auto lines nul csv jsonl json xml: fasta fastq paragraph warc tar bam pcap fixed: regex:'; return ;;
        --together) return ;;
        --max-record) return ;;
        --decode) _cleave_words 'auto none gzip bgzf zstd xz bzip2 lz4'; return ;;
        --number | -n) return ;;
        --size) return ;;
        --records) return ;;
        --output | -o) return ;;
        esac
        ;;
    'join '*)
        options='--help -h --workers --ssh --remote --key --connect-timeout --pump'
        case $option in
        --workers | -j) return ;;
        --ssh) return ;;
        --remote) return ;;
        --key) _cleave_files -f; return ;;
        --connect-timeout) return ;;
        esac
        ;;
    'keygen '*)
        options='--help -h'
        case $option in
        esac
        ;;
    'worker '*)
        options='--help -h --hash --gpus --pin --lead'
        case $option in
        --hash) return ;;
        --gpus) return ;;
        --pin) return ;;
        esac
        ;;
    'batch-script '*)
        options='--help -h --nodes --ntasks --cpus-per-task --time --partition --job-name --submit --sbatch --notice --remote'
        case $option in
        --nodes | -N) return ;;
        --ntasks | -n) return ;;
        --cpus-per-task | -c) return ;;
        --time | -t) return ;;
        --partition | -p) return ;;
        --job-name | -J) return ;;
        --submit) return ;;
        --sbatch) return ;;
        --notice) return ;;
        --remote) return ;;
        esac
        ;;
    'slurm-script '*)
        options='--help -h --nodes --ntasks --cpus-per-task --time --partition --job-name --submit --sbatch --notice --remote'
        case $option in
        --nodes | -N) return ;;
        --ntasks | -n) return ;;
        --cpus-per-task | -c) return ;;
        --time | -t) return ;;
        --partition | -p) return ;;
        --job-name | -J) return ;;
        --submit) return ;;
        --sbatch) return ;;
        --notice) return ;;
        --remote) return ;;
        esac
        ;;
    'calibrate '*)
        options='--help -h --input --split --header --max-record --decode --workers --hosts --ssh --remote --push --push-from --output --force --topology --master --worker-hosts --port --unit-bytes --unit-flops'
        case $option in
        --input | -i) _cleave_files -f; return ;;
        --split) _cleave_words 'auto lines nul csv jsonl json xml: fasta fastq paragraph warc tar bam pcap fixed: regex:'; return ;;
        --max-record) return ;;
        --decode) _cleave_words 'auto none gzip bgzf zstd xz bzip2 lz4'; return ;;
        --workers | -j) return ;;
        --hosts) _cleave_files -f; return ;;
        --ssh) return ;;
        --remote) return ;;
        --push-from) return ;;
        --output | -o) _cleave_files -f; return ;;
        --topology) _cleave_files -f; return ;;
        --master) return ;;
        --worker-hosts) return ;;
        --port) _cleave_words 'one duplex multi'; return ;;
        --unit-bytes) return ;;
        --unit-flops) return ;;
        esac
        ;;
    'plan load')
        options='--help -h --platform --via --load --lifespan --result-ratio --packaging --in-turn --before-round --reads --hold --then-reduce --error --seed --deadline --budget --policy --rounds --send-order --return-order --param --json --chunks --all-workers --gantt --no-gantt --width --trace'
        case $option in
        --platform | -p) _cleave_files -f; return ;;
        --via) return ;;
        --load | -l) return ;;
        --lifespan) return ;;
        --result-ratio) return ;;
        --packaging) return ;;
        --reads) return ;;
        --hold) return ;;
        --then-reduce) return ;;
        --error) return ;;
        --seed) return ;;
        --deadline) return ;;
        --budget) return ;;
        --policy) _cleave_words 'auto one-round joint fifo lifo orders chunks small-results best-orders rounds rounds-tail mi xmi umr rumr self guided factoring weighted-factoring xmi-k umr-plus links leaders rx learn as4dr'; return ;;
        --rounds) return ;;
        --send-order) return ;;
        --return-order) return ;;
        --param) _cleave_words 'trials= limit= transfer= compute= folders= tree= model= send-order= return-order= chunk-order= starts= kicks= exact= effort= tail= prefetch= rounds= max_rounds= level= select= alike= chunk= least= max_chunks= kappa= first= most= growth= parts= period= theta= rule= gain= post= service= start= trim= lambda= end= floor='; return ;;
        --width) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'plan reduce')
        options='--help -h --nodes --transfer --compute --costs --cluster-size --remote --ready --ready-model --policy --max-transfers --max-reducers --ordered --root --param --seed --length-only --explain --json --tree --no-tree --width --trace'
        case $option in
        --nodes | -N) return ;;
        --transfer | -d) return ;;
        --compute | -c) return ;;
        --costs) _cleave_files -f; return ;;
        --cluster-size) return ;;
        --remote) return ;;
        --ready) return ;;
        --ready-model) return ;;
        --policy) _cleave_words 'greedy binomial fibonacci tree-dyn ordered-tree-dyn tree-adapt ordered-adapt ready tree-replan'; return ;;
        --max-transfers) return ;;
        --max-reducers) return ;;
        --root) return ;;
        --param) _cleave_words 'max_transfers= max_reducers= ordered= strategy= buffer= cluster= prefer= overlap= speeds= ratio= spread= guard= near= wait= plans= root='; return ;;
        --seed) return ;;
        --width) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'plan streams')
        options='--help -h --platform --streams --period --margin --theta --result-ratio --demand --weights --effort --cip --all-workers --json'
        case $option in
        --platform | -p) _cleave_files -f; return ;;
        --streams | -M) return ;;
        --period | -t) _cleave_words 'auto'; return ;;
        --margin) return ;;
        --theta) return ;;
        --result-ratio) return ;;
        --demand) return ;;
        --weights) _cleave_words 'own ring'; return ;;
        --effort) return ;;
        esac
        ;;
    'plan items')
        options='--help -h --sizes --weight --costs --platform --error --seed --policy --param --json --items --explain --all-workers --gantt --no-gantt --width --trace'
        case $option in
        --sizes) _cleave_files -f; return ;;
        --weight) return ;;
        --costs) return ;;
        --platform | -p) _cleave_files -f; return ;;
        --error) return ;;
        --seed) return ;;
        --policy) _cleave_words 'items items-list'; return ;;
        --param) _cleave_words 'trust='; return ;;
        --width) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'plan loads')
        options='--help -h --platform --jobs --goal --seed --policy --param --json --explain --all-workers --gantt --no-gantt --width --trace'
        case $option in
        --platform | -p) _cleave_files -f; return ;;
        --jobs) _cleave_files -f; return ;;
        --goal) _cleave_words 'makespan weighted stretch'; return ;;
        --seed) return ;;
        --policy) _cleave_words 'plan online johnson smith one-by-one equal apart'; return ;;
        --param) _cleave_words 'chunk='; return ;;
        --width) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'simulate load')
        options='--help -h --platform --via --load --lifespan --result-ratio --packaging --in-turn --before-round --reads --hold --then-reduce --error --seed --policy --rounds --send-order --return-order --param --runs --noise --answers --stalls --hang --host-timeout --cost-law --copies --threads --engine --topology --master --workers --worker-hosts --port --unit-bytes --unit-flops --json --width --trace'
        case $option in
        --platform | -p) _cleave_files -f; return ;;
        --via) return ;;
        --load | -l) return ;;
        --lifespan) return ;;
        --result-ratio) return ;;
        --packaging) return ;;
        --reads) return ;;
        --hold) return ;;
        --then-reduce) return ;;
        --error) return ;;
        --seed) return ;;
        --policy) _cleave_words 'auto one-round joint fifo lifo orders chunks small-results best-orders rounds rounds-tail mi xmi umr rumr self guided factoring weighted-factoring xmi-k umr-plus links leaders rx learn as4dr'; return ;;
        --rounds) return ;;
        --send-order) return ;;
        --return-order) return ;;
        --param) _cleave_words 'trials= limit= transfer= compute= folders= tree= model= send-order= return-order= chunk-order= starts= kicks= exact= effort= tail= prefetch= rounds= max_rounds= level= select= alike= chunk= least= max_chunks= kappa= first= most= growth= parts= period= theta= rule= gain= post= service= start= trim= lambda= end= floor='; return ;;
        --runs | -n) return ;;
        --noise) _cleave_words 'none gamma: normal:'; return ;;
        --answers) return ;;
        --stalls) return ;;
        --hang) return ;;
        --host-timeout) return ;;
        --cost-law) return ;;
        --threads | -j) return ;;
        --engine) _cleave_words 'native simgrid'; return ;;
        --topology) _cleave_files -f; return ;;
        --master) return ;;
        --workers) return ;;
        --worker-hosts) return ;;
        --port) _cleave_words 'one duplex multi'; return ;;
        --unit-bytes) return ;;
        --unit-flops) return ;;
        --width) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'simulate reduce')
        options='--help -h --nodes --transfer --compute --costs --cluster-size --remote --ready --ready-model --policy --max-transfers --max-reducers --ordered --root --param --runs --seed --compute-model --threads --engine --topology --worker-hosts --partial --json --width --trace'
        case $option in
        --nodes | -N) return ;;
        --transfer | -d) return ;;
        --compute | -c) return ;;
        --costs) _cleave_files -f; return ;;
        --cluster-size) return ;;
        --remote) return ;;
        --ready) return ;;
        --ready-model) return ;;
        --policy) _cleave_words 'greedy binomial fibonacci tree-dyn ordered-tree-dyn tree-adapt ordered-adapt ready tree-replan'; return ;;
        --max-transfers) return ;;
        --max-reducers) return ;;
        --root) return ;;
        --param) _cleave_words 'max_transfers= max_reducers= ordered= strategy= buffer= cluster= prefer= overlap= speeds= ratio= spread= guard= near= wait= plans= root='; return ;;
        --runs | -n) return ;;
        --seed) return ;;
        --compute-model) _cleave_words 'fresh fixed'; return ;;
        --threads | -j) return ;;
        --engine) _cleave_words 'native simgrid'; return ;;
        --topology) _cleave_files -f; return ;;
        --worker-hosts) return ;;
        --partial) return ;;
        --width) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'simulate streams')
        options='--help -h --platform --streams --period --margin --theta --result-ratio --demand --weights --effort --horizon --rest --declared-error --param --window --threads --engine --topology --master --workers --worker-hosts --port --unit-bytes --unit-flops --all-workers --json --trace'
        case $option in
        --platform | -p) _cleave_files -f; return ;;
        --streams | -M) return ;;
        --period | -t) _cleave_words 'auto'; return ;;
        --margin) return ;;
        --theta) return ;;
        --result-ratio) return ;;
        --demand) return ;;
        --weights) _cleave_words 'own ring'; return ;;
        --effort) return ;;
        --horizon | -T) return ;;
        --rest) return ;;
        --declared-error) return ;;
        --param) _cleave_words 'trials= limit= transfer= compute= folders= tree= model= send-order= return-order= chunk-order= starts= kicks= exact= effort= tail= prefetch= rounds= max_rounds= level= select= alike= chunk= least= max_chunks= kappa= first= most= growth= parts= period= theta= rule= gain= post= service= start= trim= lambda= end= floor='; return ;;
        --window) return ;;
        --threads | -j) return ;;
        --engine) _cleave_words 'native simgrid'; return ;;
        --topology) _cleave_files -f; return ;;
        --master) return ;;
        --workers) return ;;
        --worker-hosts) return ;;
        --port) _cleave_words 'one duplex multi'; return ;;
        --unit-bytes) return ;;
        --unit-flops) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'simulate items')
        options='--help -h --sizes --weight --costs --platform --error --seed --policy --param --runs --noise --rates --answers --stalls --hang --host-timeout --cost-law --threads --engine --json --width --trace'
        case $option in
        --sizes) _cleave_files -f; return ;;
        --weight) return ;;
        --costs) return ;;
        --platform | -p) _cleave_files -f; return ;;
        --error) return ;;
        --seed) return ;;
        --policy) _cleave_words 'items items-list'; return ;;
        --param) _cleave_words 'trust='; return ;;
        --runs | -n) return ;;
        --noise) _cleave_words 'none gamma: normal:'; return ;;
        --rates) return ;;
        --answers) return ;;
        --stalls) return ;;
        --hang) return ;;
        --host-timeout) return ;;
        --cost-law) return ;;
        --threads | -j) return ;;
        --engine) _cleave_words 'native simgrid'; return ;;
        --width) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'simulate loads')
        options='--help -h --platform --jobs --goal --seed --policy --param --runs --noise --threads --json --width --trace'
        case $option in
        --platform | -p) _cleave_files -f; return ;;
        --jobs) _cleave_files -f; return ;;
        --goal) _cleave_words 'makespan weighted stretch'; return ;;
        --seed) return ;;
        --policy) _cleave_words 'plan online johnson smith one-by-one equal apart'; return ;;
        --param) _cleave_words 'chunk='; return ;;
        --runs | -n) return ;;
        --noise) _cleave_words 'none gamma: normal:'; return ;;
        --threads | -j) return ;;
        --width) return ;;
        --trace) _cleave_files -f; return ;;
        esac
        ;;
    'compare load')
        options='--help -h --platform --via --load --lifespan --result-ratio --packaging --in-turn --before-round --reads --hold --then-reduce --error --seed --policies --rounds --param --sweep --runs --noise --answers --stalls --hang --host-timeout --cost-law --copies --threads --engine --topology --master --workers --worker-hosts --port --unit-bytes --unit-flops --json --csv --output --force'
        case $option in
        --platform | -p) _cleave_files -f; return ;;
        --via) return ;;
        --load | -l) return ;;
        --lifespan) return ;;
        --result-ratio) return ;;
        --packaging) return ;;
        --reads) return ;;
        --hold) return ;;
        --then-reduce) return ;;
        --error) return ;;
        --seed) return ;;
        --policies) _cleave_list 'auto one-round joint fifo lifo orders chunks small-results best-orders rounds rounds-tail mi xmi umr rumr self guided factoring weighted-factoring xmi-k umr-plus links leaders rx learn as4dr'; return ;;
        --rounds) return ;;
        --param) _cleave_words 'trials= limit= transfer= compute= folders= tree= model= send-order= return-order= chunk-order= starts= kicks= exact= effort= tail= prefetch= rounds= max_rounds= level= select= alike= chunk= least= max_chunks= kappa= first= most= growth= parts= period= theta= rule= gain= post= service= start= trim= lambda= end= floor='; return ;;
        --sweep) _cleave_words 'latency= bandwidth= speed= compute-latency= latency-factor= bandwidth-factor= speed-factor= compute-latency-factor= workers= load= result-ratio= error= budget='; return ;;
        --runs | -n) return ;;
        --noise) _cleave_words 'none gamma: normal:'; return ;;
        --answers) return ;;
        --stalls) return ;;
        --hang) return ;;
        --host-timeout) return ;;
        --cost-law) return ;;
        --threads | -j) return ;;
        --engine) _cleave_words 'native simgrid'; return ;;
        --topology) _cleave_files -f; return ;;
        --master) return ;;
        --workers) return ;;
        --worker-hosts) return ;;
        --port) _cleave_words 'one duplex multi'; return ;;
        --unit-bytes) return ;;
        --unit-flops) return ;;
        --output | -o) _cleave_files -f; return ;;
        esac
        ;;
    'compare reduce')
        options='--help -h --nodes --transfer --compute --costs --cluster-size --remote --ready --ready-model --policies --max-transfers --max-reducers --param --sweep --runs --seed --compute-model --threads --engine --topology --worker-hosts --partial --json --csv --output --force'
        case $option in
        --nodes | -N) return ;;
        --transfer | -d) return ;;
        --compute | -c) return ;;
        --costs) _cleave_files -f; return ;;
        --cluster-size) return ;;
        --remote) return ;;
        --ready) return ;;
        --ready-model) return ;;
        --policies) _cleave_list 'greedy binomial fibonacci tree-dyn ordered-tree-dyn tree-adapt ordered-adapt ready tree-replan'; return ;;
        --max-transfers) return ;;
        --max-reducers) return ;;
        --param) _cleave_words 'max_transfers= max_reducers= ordered= strategy= buffer= cluster= prefer= overlap= speeds= ratio= spread= guard= near= wait= plans= root='; return ;;
        --sweep) _cleave_words 'cv= transfer= compute= nodes='; return ;;
        --runs | -n) return ;;
        --seed) return ;;
        --compute-model) _cleave_words 'fresh fixed'; return ;;
        --threads | -j) return ;;
        --engine) _cleave_words 'native simgrid'; return ;;
        --topology) _cleave_files -f; return ;;
        --worker-hosts) return ;;
        --partial) return ;;
        --output | -o) _cleave_files -f; return ;;
        esac
        ;;
    'compare items')
        options='--help -h --sizes --weight --costs --platform --error --seed --policies --param --runs --noise --rates --answers --stalls --hang --host-timeout --cost-law --threads --engine --json'
        case $option in
        --sizes) _cleave_files -f; return ;;
        --weight) return ;;
        --costs) return ;;
        --platform | -p) _cleave_files -f; return ;;
        --error) return ;;
        --seed) return ;;
        --policies) _cleave_list 'items items-list'; return ;;
        --param) _cleave_words 'trust='; return ;;
        --runs | -n) return ;;
        --noise) _cleave_words 'none gamma: normal:'; return ;;
        --rates) return ;;
        --answers) return ;;
        --stalls) return ;;
        --hang) return ;;
        --host-timeout) return ;;
        --cost-law) return ;;
        --threads | -j) return ;;
        --engine) _cleave_words 'native simgrid'; return ;;
        esac
        ;;
    'compare loads')
        options='--help -h --platform --jobs --goal --seed --policies --param --sweep --runs --noise --threads --json --csv --output --force'
        case $option in
        --platform | -p) _cleave_files -f; return ;;
        --jobs) _cleave_files -f; return ;;
        --goal) _cleave_words 'makespan weighted stretch'; return ;;
        --seed) return ;;
        --policies) _cleave_list 'plan online johnson smith one-by-one equal apart'; return ;;
        --param) _cleave_words 'chunk='; return ;;
        --sweep) _cleave_words 'latency= bandwidth= speed= compute-latency= latency-factor= bandwidth-factor= speed-factor= compute-latency-factor= workers='; return ;;
        --runs | -n) return ;;
        --noise) _cleave_words 'none gamma: normal:'; return ;;
        --threads | -j) return ;;
        --output | -o) _cleave_files -f; return ;;
        esac
        ;;
    'report '*)
        options='--help -h --predicted --output --force'
        operands=-f
        case $option in
        --predicted) _cleave_files -f; return ;;
        --output | -o) _cleave_files -f; return ;;
        esac
        ;;
    'replay '*)
        options='--help -h --json'
        operands=-f
        case $option in
        esac
        ;;
    'platform '*)
        options='--help -h --workers --heterogeneity --speed --compute-latency --bandwidth --latency --port --seed --population --drop --until --output --force'
        case $option in
        --workers | -w) return ;;
        --heterogeneity) return ;;
        --speed) return ;;
        --compute-latency) return ;;
        --bandwidth) return ;;
        --latency) return ;;
        --port) _cleave_words 'one duplex multi'; return ;;
        --seed) return ;;
        --population) return ;;
        --drop) return ;;
        --until) return ;;
        --output | -o) _cleave_files -f; return ;;
        esac
        ;;
    'sample '*)
        options='--help -h --list --records --seed --output --force --json'
        case $option in
        --records) return ;;
        --seed) return ;;
        --output | -o) _cleave_files -d; return ;;
        esac
        ;;
    'policies '*)
        options='--help -h --json'
        operands='auto one-round joint fifo lifo orders chunks small-results best-orders rounds rounds-tail mi xmi umr rumr self guided factoring weighted-factoring xmi-k umr-plus links leaders rx learn as4dr greedy binomial fibonacci tree-dyn ordered-tree-dyn tree-adapt ordered-adapt ready tree-replan items items-list plan online johnson smith one-by-one equal apart'
        case $option in
        esac
        ;;
    'engines '*)
        options='--help -h --json'
        case $option in
        esac
        ;;
    'figures '*)
        options='--help -h --quick --threads --list --out --csv-only --force --json'
        operands='umr-table1 umr-table3 umr-fig4 umr-fig5 umr-fig6 umr-fig7 associative-fig1 associative-fig2 nonclairvoyant-fig1 nonclairvoyant-fig2 nonclairvoyant-table1 nonclairvoyant-markov nonclairvoyant-fig3 nonclairvoyant-bernoulli nonclairvoyant-fig4a nonclairvoyant-fig4b returns-fig2 returns-fig3 returns-laws fifo-lifo-crossover returns-theorem4 returns-small-results returns-theorem5 returns-regions streams-table1 streams-fig1 streams-fig3 streams-fig4 streams-fig5 streams-fig6 streams-auto'
        case $option in
        --threads) return ;;
        --out) _cleave_files -d; return ;;
        esac
        ;;
    'version '*)
        options='--help -h --json'
        case $option in
        esac
        ;;
    'completions '*)
        options='--help -h'
        operands='bash zsh fish'
        case $option in
        esac
        ;;
    'help '*)
        options='--help -h --man --commands'
        operands='run check split join keygen worker batch-script slurm-script calibrate plan simulate compare report replay platform sample policies engines figures version completions help items csv hosts reduce formats failures all'
        case $option in
        esac
        ;;
    esac
    if [[ $cur == -* || -z $operands ]]; then
        _cleave_words "$options"
    elif [[ $operands == -f ]]; then
        _cleave_files -f
    else
        _cleave_words "$operands"
    fi
}
complete -F _cleave cleave
