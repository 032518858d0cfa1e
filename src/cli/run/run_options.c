/* run_options.c -- what cleave run is told. SPDX-License-Identifier: MIT */
#include "cli/run/run_options.h"

#include "cli/common/trace_output.h"
#include "run/decode/decoder.h"
#include "run/split/split.h"

#define FIELD(name) offsetof(struct cv_run_options, name)

const struct cv_run_options cv_run_presets = { .memory = 256e6,
                                               .max_args = CV_ARGS_ONE,
                                               .grace_s = CLEAVE_HOST_NOTICE_S };

/* clang-format off */
static const struct cv_option input_options[] = {
    { .name = "--input", .letter = 'i', .kind = CV_OPTION_REPEAT, .argument = "FILE",
      .offset = FIELD(inputs),
      .file = CV_FILE_INPUT,
      .help = "Read this file; may be given several times, the files are read one after "
              "the other. A pattern that is no file, as 'part-*.csv', stands for all that "
              "match. Default: standard input." },
    { .name = "--recursive", .value = 1, .offset = FIELD(recursive),
      .help = "An input that is a folder stands for all files below it, by name." },
    { .name = "--split", .kind = CV_OPTION_TEXT, .argument = "HOW",
      .offset = FIELD(split),
      .add_list = cv_split_list, .add_words = cv_split_words,
      .help = "Where the input may be cut: %s. Where no comma parts the fields of csv: csv:; or "
              "csv:tab." },
    { .name = "--header", .kind = CV_OPTION_MAYBE, .argument = "[N]", .offset = FIELD(header),
      .help = "Give the first record of the input, or the first N, to every command, before its "
              "chunk. '#': all lines at the start that begin so, as of VCF, '@' of SAM. "
              "Several files must have the same. ':' is one record; with items, it has names "
              "for {NAME}." },
    { .name = "--records", .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = FIELD(records), .min = 1, .max = 1e15,
      .help = "Every chunk has N records, but for the last of a file; with --block or --policy, "
              "a multiple of N." },
    { .name = "--together", .kind = CV_OPTION_TEXT, .argument = "KEY",
      .offset = FIELD(together),
      .help = "Neighbouring records with the same key stay in one chunk. The key is a column, "
              "as 2 (parted by tabs, with --split csv by its separator), or what an extended "
              "regular expression matches, or its first part in parentheses." },
    { .name = "--pairs", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(pairs),
      .help = "Give the records of this file that belong to those of a chunk to its "
              "command, on descriptor 3. Needs --split fastq." },
    { .name = "--max-record", .kind = CV_OPTION_UNITS, .argument = "SIZE",
      .offset = FIELD(max_record),
      .help = "A record of more bytes is an error, as a stream keeps one in memory until its "
              "end has come. Default 1 GiB." },
    { .name = "--decode", .kind = CV_OPTION_TEXT, .argument = "HOW",
      .offset = FIELD(decode), .add_words = cv_decode_words,
      .help = "How inputs are decoded: auto (default): by their first bytes; gzip, bgzf, zstd, "
              "xz, bzip2, lz4: all of them so; none: not at all. With auto, an archive, a "
              "program and other inputs that are no text are refused, with what to type, and "
              "records of fixed:BYTES may be any bytes." },
    { .name = "--fetch", .kind = CV_OPTION_TEXT, .argument = "CMD", .offset = FIELD(fetch),
      .help = "The input is what this line for a shell writes: bytes {begin} to {end}, the last "
              "one, or {length} of them, of the input {}, as 'curl -sfr {begin}-{end} URL'. Tried "
              "again if it fails. Needs --size." },
    { .name = "--size", .kind = CV_OPTION_TEXT, .argument = "BYTES|CMD",
      .offset = FIELD(fetch_size),
      .help = "With --fetch: bytes of the input, or a command that writes them, or an answer of "
              "HTTP with Content-Length, as 'curl -sIL URL'." },
    { .name = NULL },
};

static const struct cv_option item_options[] = {
    { .name = "--each", .value = 1, .offset = FIELD(each),
      .help = "Run a command for each record of the input, which is put in the place of {} or "
              "behind the command. Standard input of commands is empty." },
    { .name = "--arg-file", .letter = 'a', .kind = CV_OPTION_REPEAT, .argument = "FILE",
      .offset = FIELD(item_files),
      .help = "Run a command for each line of this file, - for standard input. Given several "
              "times, or with lists behind :::, for each combination." },
    { .name = "--null", .letter = '0', .value = 1, .offset = FIELD(null),
      .help = "Items that are read end in NUL, as those of 'find -print0' do." },
    { .name = "--delimiter", .letter = 'd', .kind = CV_OPTION_TEXT, .argument = "BYTE",
      .offset = FIELD(delimiter),
      .help = "Items of lists that are read end in this instead of an end of line: a comma, "
              "'\\t', '\\0'." },
    { .name = "--link", .value = 1, .offset = FIELD(link),
      .help = "Take lists together: the first of each, the second of each. Those that are "
              "shorter begin again. :::+ and ::::+ link a list to the one before and end with "
              "the shorter." },
    { .name = "--colsep", .letter = 'C', .kind = CV_OPTION_TEXT, .argument = "REGEX",
      .offset = FIELD(colsep),
      .help = "Part each item where REGEX matches: {1} is the first column. With --header : "
              "the first item of each list has names for them: {name}." },
    { .name = "--replace", .letter = 'I', .kind = CV_OPTION_TEXT, .argument = "SIGN",
      .offset = FIELD(replace),
      .help = "What stands for an item instead of {}." },
    { .name = "--rpl", .kind = CV_OPTION_REPEAT, .argument = "RULE", .offset = FIELD(rules),
      .help = "Another place, {SIGN} s/REGEX/TEXT/ as one word: where SIGN stands in the command "
              "there will be the item with this done to it." },
    { .name = "--plus", .value = 1, .offset = FIELD(plus),
      .help = "Know {##}, {0#} and places like the expansions of bash, {%.txt}, {#pre}, {/a/b}, "
              "{:2:3}, {:-text}, {^^a}; {..}, {+/}, {+.} and their like are known anyway." },
    { .name = "--quote", .value = 1, .offset = FIELD(quote),
      .help = "The words of the command are what they are, no shell reads them. Without it "
              "they are a line for a shell, which is started if there is something in it "
              "that only a shell can do." },
    { .name = "--max-args", .letter = 'n', .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = FIELD(max_args), .min = 0, .max = 1e9,
      .help = "Give so many items to each command. 0: none, and run it once for each." },
    { .name = "--max-replace-args", .letter = 'N', .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = FIELD(max_args), .min = 0, .max = 1e9,
      .help = "The same." },
    { .name = "--max-lines", .letter = 'L', .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = FIELD(max_lines), .min = 1, .max = 1e9,
      .help = "The same; items are lines." },
    { .name = "--fill", .letter = 'm', .value = 1, .offset = FIELD(fill),
      .help = "Give each command as many items as fit into a line, or an equal part of all of "
              "them if that is less." },
    { .name = "--fill-words", .letter = 'X', .value = 1, .offset = FIELD(fill_words),
      .help = "The same, and repeat the word in which {} stands for each." },
    { .name = "--many", .value = 1, .offset = FIELD(many),
      .help = "Give each command as many items as pay: decided while it runs, from what "
              "starting a command costs and how fast workers are, as for chunks, so that all "
              "end together; no more than fit into a line." },
    { .name = "--tag", .value = 1, .offset = FIELD(tag),
      .help = "Put the item and a tab before each line of its output." },
    { .name = "--tagstring", .kind = CV_OPTION_TEXT, .argument = "TEXT",
      .offset = FIELD(tagstring),
      .help = "Put this text and a tab there; places in it are filled." },
    { .name = "--results", .kind = CV_OPTION_TEXT, .argument = "DIR",
      .offset = FIELD(results),
      .help = "Keep what each command writes, instead of writing it, in DIR/1/ITEM/stdout and "
              "stderr; of several lists in DIR/1/ITEM/2/ITEM. If DIR has places, it is the name "
              "of the file. FILE.csv, FILE.tsv or FILE.json: as a row each of one file; '-.csv' "
              "is standard output." },
    { .name = "--files", .value = 1, .offset = FIELD(files),
      .help = "Keep each output in a file of its own, in --tmpdir or --results, and write its "
              "name." },
    { .name = "--weight", .kind = CV_OPTION_TEXT, .argument = "COLUMN|COMMAND",
      .offset = FIELD(weight),
      .help = "What each item takes, in any unit: the long ones are begun first. The number "
              "of a column (--colsep) or list that has it, or a command for the shell that "
              "reads the items, a line each, and writes a number for each. Default: the "
              "length of the files that items name." },
    { .name = "--costs", .kind = CV_OPTION_TEXT, .argument = "JOBLOG",
      .offset = FIELD(costs),
      .help = "What each item takes, from the run times of the same commands in a job log "
              "of an earlier run." },
    { .name = "--ungroup", .value = 1, .offset = FIELD(ungroup),
      .help = "Let commands write to the output themselves, as they go: lines of several may "
              "be mixed, and nothing is kept." },
    { .name = "--shuf", .value = 1, .offset = FIELD(shuffle),
      .help = "Take the items in a random order." },
    { .name = NULL },
};

static const struct cv_option worker_options[] = {
    { .name = "--workers", .letter = 'j', .kind = CV_OPTION_TEXT, .argument = "N",
      .offset = FIELD(workers),
      .help = "How many commands run at a time: N, +N and -N more or fewer than the cores "
              "that this process may use, 50% of them, 0 for as many as open files allow "
              "(at most 256). Or names with words to put before the command: "
              "'fast,slow:nice -n 19', '\\,' for a comma in them; 'cpu*14' are fourteen, and "
              "'gpu[0-1]:env CUDA_VISIBLE_DEVICES={i}' two with their numbers. "
              "Default: 100%." },
    { .name = "--jobs", .kind = CV_OPTION_TEXT, .argument = "N", .offset = FIELD(workers),
      .help = "The same." },
    { .name = "--max-procs", .letter = 'P', .kind = CV_OPTION_TEXT, .argument = "N",
      .offset = FIELD(workers),
      .help = "The same." },
    { .name = "--pin", .kind = CV_OPTION_MAYBE, .argument = "[=cores]",
      .offset = FIELD(pin),
      .help = "Keep the commands of each worker on a core of its own: fast cores before slow "
              "ones, and NUMA nodes in turn; on hosts too. --pin=nodes: on the cores of one "
              "NUMA node. Commands of --reduce run anywhere. Default: the kernel places "
              "them, which is as good where no memory is far and nothing else runs." },
    { .name = "--delay", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(delay_s),
      .help = "Begin no command on this machine sooner than this after the one before." },
    { .name = "--load", .kind = CV_OPTION_TEXT, .argument = "N", .offset = FIELD(load),
      .help = "Begin none while the load of this machine is higher: the average of the last "
              "minute, as uptime says it; N% of the cores." },
    { .name = "--memfree", .kind = CV_OPTION_UNITS, .argument = "SIZE",
      .offset = FIELD(memfree),
      .help = "Begin none while it has less memory left." },
    { .name = "--nice", .kind = CV_OPTION_COUNT, .argument = "N", .offset = FIELD(nice),
      .min = 1, .max = 19,
      .help = "Commands here give way to others, as 'nice -n N' lets them." },
    { .name = "--hosts", .kind = CV_OPTION_TEXT, .argument = "HOSTS|FILE",
      .offset = FIELD(hosts), .file = CV_FILE_READ,
      .help = "Other machines, reached by ssh: 'a,b:4,me@c,node[01-16]'. b has 4 slots, the "
              "others as many as cores that a command may use there; ':' is this machine. "
              "With -j N each has N unless it says otherwise. What has a slash, ends in "
              ".yaml, .yml or .json, or is the name of a file is a platform file: its "
              "workers, with what it knows of their costs; those with ssh: or slots: are "
              "other machines." },
    { .name = "--sshlogin", .letter = 'S', .kind = CV_OPTION_REPEAT, .argument = "HOSTS",
      .offset = FIELD(logins),
      .help = "The same, as GNU parallel spells it. 'a,4/b,me@c,8/:' or '4/ssh -p 2222 b'; may "
              "be given several times." },
    { .name = "--hosts-file", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(hosts_file),
      .help = "The same from a file, a line each: as --sshlogin has them, or as MPI does, "
              "'b slots=4' and 'b:4'. Where a host has several lines without a number, as "
              "in $PBS_NODEFILE, each is a slot. '#' begins a comment." },
    { .name = "--sshloginfile", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(hosts_file),
      .help = "The same." },
    { .name = "--slf", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(hosts_file),
      .help = "The same." },
    { .name = "--via", .kind = CV_OPTION_REPEAT, .argument = "HOST[:HOSTS]",
      .offset = FIELD(via),
      .help = "This host leads others: it takes large chunks, and shares them over the hosts "
              "behind it and its own slots. 'gate:node[01-16]' names these, with ':4' for slots "
              "if --hosts does not name them; 'gate' alone leads all other hosts. May be given "
              "several times, and for hosts behind others." },
    { .name = "--mpi", .value = 1, .offset = FIELD(mpi),
      .help = "The other ranks are the workers: for 'mpirun -n 9 cleave run --mpi ...'. "
              "Rank 0 is the master, and its exit status counts. With --reduce, outputs "
              "are reduced from rank to rank." },
    { .name = "--mpi-library", .kind = CV_OPTION_TEXT, .argument = "NAME",
      .offset = FIELD(mpi_library),
      .help = "Which MPI has started the ranks: openmpi or mpich. Default: what mpirun "
              "says in the environment." },
    { .name = "--leaders", .kind = CV_OPTION_TEXT, .argument = "node|N",
      .offset = FIELD(leaders),
      .help = "With --mpi: of the ranks of each machine, or of every N of them, one leads. It "
              "takes large chunks and shares them over as many commands at a time as it leads "
              "ranks, which wait; rank 0 has fewer to serve." },
    { .name = "--slurm", .value = 1, .offset = FIELD(slurm),
      .help = "The tasks of this Slurm job are the workers, for 'cleave run --slurm' inside "
              "sbatch or salloc: one step of srun for each node, with as many commands at a "
              "time as the job has tasks there. Nodes that see the input files read them "
              "themselves." },
    { .name = "--persistent", .value = 1, .offset = FIELD(persistent),
      .help = "Start the command once per worker and give it one chunk after the other: 8 "
              "bytes of length, the highest first, and the chunk; it answers each in the "
              "same form." },
    { .name = "--cat", .value = 1, .offset = FIELD(cat),
      .help = "Put each chunk into a file, which can be read as often as one likes, and run the "
              "command as a line for the shell with its name for {}, or behind it. It is removed "
              "when the command has ended." },
    { .name = "--literal", .value = 1, .offset = FIELD(literal),
      .help = "Pass {} and ::: in the command on as they are. Without it they stand for "
              "items." },
    { .name = "--framed", .value = 1, .offset = FIELD(framed),
      .help = "Be a command of --persistent: pieces come on standard input, each behind its "
              "length, and every one is shared out and answered with its output. Hosts stay "
              "connected. So a run leads others: --via, or via: of a platform file, starts it." },
    { .name = "--as", .kind = CV_OPTION_TEXT, .argument = "NAME", .offset = FIELD(as),
      .help = "Be this worker of the platform file: those behind it (via: NAME) are the hosts, "
              "and its own slots are on this machine. In a list of hosts, this machine." },
    { .name = "--policy", .kind = CV_OPTION_TEXT, .argument = "NAME",
      .offset = FIELD(policy),
      .help = "Who gets how much: one of 'cleave policies'. Default auto, which is learn "
              "here: it measures while it runs." },
    { .name = "--param", .kind = CV_OPTION_REPEAT, .argument = "KEY=VALUE",
      .offset = FIELD(params),
      .help = "Set a parameter of the policy. May be given several times." },
    { .name = "--block", .kind = CV_OPTION_UNITS, .argument = "SIZE",
      .offset = FIELD(block),
      .help = "Give every command about so many bytes, instead of what a policy says. Of a "
              "pipe, one such block per worker and some more are kept in memory." },
    { .name = NULL },
};

static const struct cv_option host_options[] = {
    { .name = "--ssh", .kind = CV_OPTION_TEXT, .argument = "WORDS", .offset = FIELD(ssh),
      .help = "How to reach hosts with ssh:, for instance 'ssh -F FILE'. Default: ssh, "
              "which never asks for a password here." },
    { .name = "--remote", .kind = CV_OPTION_TEXT, .argument = "PROGRAM",
      .offset = FIELD(program),
      .help = "Where cleave is on the hosts. Default: cleave, found in PATH there; for "
              "hosts without ssh: this very program." },
    { .name = "--push", .value = 1, .offset = FIELD(push),
      .help = "Take a copy of cleave to hosts that lack it, into ~/.cache/cleave there: this "
              "program, or cleave-x86_64, cleave-aarch64 beside it, as the host's processor "
              "asks for (uname -m)." },
    { .name = "--push-from", .kind = CV_OPTION_REPEAT, .argument = "PATH",
      .offset = FIELD(push_from),
      .help = "Where --push finds copies for other processors: a program, linked statically, "
              "or a folder with some, such as 'make release' makes. May be given several "
              "times." },
    { .name = "--shared-input", .value = 1, .offset = FIELD(shared_input),
      .help = "Hosts that see the input files under the same names read them themselves. "
              "To others they are sent." },
    { .name = "--workdir", .kind = CV_OPTION_TEXT, .argument = "DIR",
      .offset = FIELD(work_directory),
      .help = "The folder in which commands run on hosts. Default: where ssh begins. Of items: it "
              "is made if need be; '.' is this folder, '...' one of its own." },
    { .name = "--transferfile", .kind = CV_OPTION_REPEAT, .argument = "NAME",
      .offset = FIELD(transfers),
      .help = "Send this file to the host before the command of an item begins. NAME has places, "
              "as in '{}'; FOLDER/./NAME is NAME there. With --shared-input it is not sent where "
              "the same file is there already. May be given several times." },
    { .name = "--transfer", .value = 1, .offset = FIELD(transfer),
      .help = "The same as --transferfile {}." },
    { .name = "--return", .kind = CV_OPTION_REPEAT, .argument = "NAME",
      .offset = FIELD(returns),
      .help = "Bring this file back when the command has ended, as in '{.}.out'; from NAME to "
              "FOLDER/./NAME. May be given several times." },
    { .name = "--basefile", .kind = CV_OPTION_REPEAT, .argument = "FILE",
      .offset = FIELD(basefiles),
      .help = "Send this file to each host before its first item. May be given several times." },
    { .name = "--cleanup", .value = 1, .offset = FIELD(cleanup),
      .help = "Remove files that were sent from the hosts when they are not needed any more, and "
              "those that were brought back." },
    { .name = "--env", .kind = CV_OPTION_REPEAT, .argument = "NAME",
      .offset = FIELD(environment),
      .help = "Give this variable to commands on hosts as it is here, or NAME=VALUE. May "
              "be given several times." },
    { .name = "--connect-timeout", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(connect_timeout_s),
      .help = "Leave out a host that is not ready by then. Default 10 s, with --slurm 60 s." },
    { .name = "--host-timeout", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(host_timeout_s),
      .help = "A host of which nothing is heard for so long is gone; its chunks go "
              "elsewhere. Default 10 s." },
    { .name = "--join-socket", .kind = CV_OPTION_TEXT, .argument = "PATH",
      .offset = FIELD(join_socket),
      .help = "Make a socket there that only you can open, by which more workers join while it "
              "runs: 'cleave join PATH', or 'cleave join THIS-MACHINE:PATH' elsewhere." },
    { .name = "--grace", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(grace_s),
      .help = "So long a host that leaves, as it is not in the file of hosts any more or was told "
              "to end (SIGTERM), has to end what it has; the rest goes elsewhere. Default 10 s." },
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--output", .letter = 'o', .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(output),
      .file = CV_FILE_RESULT,
      .help = "Write the outputs to this file. An older one is replaced when all outputs "
              "are there; of a run that fails or is stopped, what was written is kept "
              "beside, and it is said where. Default, and -: standard output." },
    { .name = "--keep-order", .letter = 'k', .value = 0, .offset = FIELD(unordered),
      .help = "Write outputs in the order of the input; this is the default." },
    { .name = "--unordered", .letter = 'u', .value = 1, .offset = FIELD(unordered),
      .help = "Write each output as soon as its command has ended." },
    { .name = "--line-buffer", .value = 1, .offset = FIELD(line_buffer),
      .help = "Write each line of an output as soon as it is whole. Of chunks these are, in the "
              "order of the input, the lines of the one whose turn it is; of items, and with -u, "
              "lines of several commands alternate, and none is mixed with another. What was "
              "written of a chunk cannot be taken back: it is not tried again." },
    { .name = "--group", .value = 1, .offset = FIELD(group),
      .help = "Write nothing of an output before its command has succeeded. Without it, to a pipe or "
              "a terminal, the lines of the chunk whose turn it is are written while its command "
              "runs, unless --retries, --isolate, --journal, --reduce, --header-out, "
              "--persistent or -u is given; if it fails, they stay." },
    { .name = "--header-out", .kind = CV_OPTION_MAYBE, .argument = "[N]",
      .offset = FIELD(header_out),
      .help = "Outputs begin with a header, too: as --header says, else of one line, or of N, "
              "or of all lines at the start that begin with '#' or the like; with --split "
              "csv, of records. It is written once, and has to be the same in every output "
              "that is not empty." },
    { .name = "--reduce", .kind = CV_OPTION_TEXT, .argument = "CMD",
      .offset = FIELD(reduce),
      .help = "Write one result instead of all outputs. The shell runs CMD to make one of "
              "some that are neighbours in the input, as they come and by workers that "
              "have nothing else to do. They stand one behind the other on its standard "
              "input, at most 16, or, if CMD says {1} and {2}, are two files of these "
              "names. CMD has to be associative; a single output is written as it is. "
              "--retries and --timeout hold for it, too; when it fails for good, so does "
              "the run." },
    { .name = "--commutative", .value = 1, .offset = FIELD(commutative),
      .help = "Let --reduce take outputs in any order." },
    { .name = "--memory", .kind = CV_OPTION_UNITS, .argument = "SIZE",
      .offset = FIELD(memory),
      .help = "Keep at most so many bytes of output that waits for its turn in memory, and "
              "the rest in files. Default 256 MB." },
    { .name = "--tmpdir", .kind = CV_OPTION_TEXT, .argument = "DIR",
      .offset = FIELD(directory),
      .help = "Where those files are. Default: TMPDIR, else /tmp." },
    { .name = NULL },
};

static const struct cv_option failure_options[] = {
    { .name = "--retries", .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = FIELD(retries), .min = 1, .max = 1e6,
      .help = "Run the command at most so often on a chunk when it fails, on another "
              "worker first: as GNU parallel counts, 3 is once and two times more. Default: "
              "once, and by others where it may be the worker that is bad." },
    { .name = "--isolate", .value = 1, .offset = FIELD(isolate),
      .help = "When a chunk fails for good, give its halves to commands of their own, and so "
              "on, until the records are found that make the command fail: only these have "
              "no output. One of n takes about 2 log2 n runs." },
    { .name = "--timeout", .kind = CV_OPTION_TEXT, .argument = "TIME",
      .offset = FIELD(timeout),
      .help = "Stop a command that takes longer than this (90, 5m, 1h30m) on its chunk, which "
              "then has failed. Of items here also N%, as in 200%: N% of the median of those that have "
              "succeeded. Default: none." },
    { .name = "--halt", .kind = CV_OPTION_TEXT, .argument = "WHEN",
      .offset = FIELD(halt),
      .help = "never: do the rest all the same. soon,fail=N or soon,fail=N%: start "
              "nothing new after so many failed chunks. now,fail=N: stop what is running, "
              "too. success=N and done=N count those that did not fail, and all. Default: soon, when 100 chunks (10, if their commands had read nothing) have failed and none has succeeded "
              "(without --header: none but what begins a file), else never." },
    { .name = "--failed", .kind = CV_OPTION_TEXT, .argument = "DIR",
      .offset = FIELD(failed), .file = CV_FILE_FOLDER,
      .help = "Keep the input of every chunk that failed for good in this folder, as "
              "NAME.BEGIN-END. Files that are there already are not touched." },
    { .name = "--journal", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(journal),
      .file = CV_FILE_JOURNAL,
      .help = "Keep what is finished in this SQLite file, so that the run can be resumed." },
    { .name = "--resume", .value = 1, .offset = FIELD(resume),
      .help = "Do not do again what the journal holds, as long as its input has not "
              "changed." },
    { .name = "--overwrite", .value = 1, .offset = FIELD(overwrite),
      .help = "Forget what the journal holds." },
    { .name = NULL },
};

static const struct cv_option report_options[] = {
    { .name = "--joblog", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(joblog),
      .file = CV_FILE_WRITTEN,
      .help = "Write a line for every end of a command, with the columns of GNU "
              "parallel. With --resume, lines are added to those there are." },
    { .name = "--dry-run", .value = 1, .offset = FIELD(dry_run),
      .help = "Only show the command and the plan: chunks, finish time and bound, by what "
              "the platform file says of the workers (without --hosts a guess)." },
    { .name = "--bar", .value = 1, .offset = FIELD(bar),
      .help = "Draw a bar on standard error, if that is a terminal: how much commands have "
              "read, and how long the rest will take." },
    { .name = "--live", .value = 1, .offset = FIELD(live),
      .help = "Draw the bar and below it what every worker does: chunks, bytes and rate so far, "
              "and why it waits if it does. Needs a terminal on standard error." },
    { .name = "--serve", .kind = CV_OPTION_TEXT, .argument = "127.0.0.1:PORT",
      .offset = FIELD(serve),
      .help = "Show the page of cleave report while it runs, to browsers of this machine: it "
              "keeps itself new. Port 0 takes one that is free. From another machine: "
              "ssh -L PORT:127.0.0.1:PORT HOST." },
    { .name = "--progress", .kind = CV_OPTION_TEXT, .argument = "plain",
      .offset = FIELD(progress),
      .help = "Write a line about the progress now and then, for logs." },
    { .name = "--trace", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(trace),
      .file = CV_FILE_WRITTEN,
      .help = "Write every event and order to this file, as JSON lines. "
              CV_TRACE_FORMATS_HELP },
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write the summary as JSON: to standard output where --output sends the "
              "outputs elsewhere, else to standard error." },
    { .name = "--quiet", .letter = 'q', .value = 1, .offset = FIELD(quiet),
      .help = "Write no summary. With --json: that, and nothing else." },
    { .name = NULL },
};
/* clang-format on */

const struct cv_option_group cv_run_groups[] = {
    { "Input", input_options },      { "Items", item_options },
    { "Workers", worker_options },   { "Other machines", host_options },
    { "Output", output_options },    { "Failures", failure_options },
    { "Reporting", report_options }, { NULL, NULL },
};

void cv_split_list(struct cv_text *out)
{
    const size_t count = cv_splitter_kinds();

    for (size_t i = 0; i < count; i++) {
        const char *needs = cv_splitter_needs(i);

        cv_text_add(out, "%s%s%s%s",
                    i == 0          ? ""
                    : i + 1 < count ? ", "
                                    : " or ",
                    cv_splitter_name(i), needs != NULL ? ":" : "",
                    needs != NULL ? needs : "");
        if (i == 0)
            cv_text_add(out, " (default)");
    }
}

void cv_split_words(struct cv_text *out)
{
    for (size_t i = 0; i < cv_splitter_kinds(); i++)
        cv_text_add(out, "%s%s%s", i > 0 ? " " : "", cv_splitter_name(i),
                    cv_splitter_needs(i) != NULL ? ":" : "");
}

#define CODEC_WORD(name) " " #name

void cv_decode_words(struct cv_text *out)
{
    cv_text_add(out, "auto none" CV_CODEC_MAP(CODEC_WORD));
}

bool cv_hosts_asked(const struct cv_run_options *values)
{
    return values->hosts != NULL || values->hosts_file != NULL ||
           values->logins.count > 0 || values->via.count > 0;
}
