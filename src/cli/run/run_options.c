/* run_options.c -- the options of cleave run, and their rules. SPDX-License-Identifier:
 * MIT */
#include "cli/run/run_parts.h"

#include <string.h>
#include "cli/common/job_options.h"
#include "run/decode/decoder.h"
#include "run/split/split.h"

#define CV_VALUES struct cv_run_options

const struct cv_run_options cv_check_presets = { .sample = 256e3 };
const struct cv_run_options cv_run_presets = { .memory = 256e6,
                                               .max_args = CV_ARGS_ONE,
                                               .max_replace_args = CV_ARGS_ONE,
                                               .grace_s = CLEAVE_HOST_NOTICE_S };

static void progress_words(struct cv_text *out)
{
    cv_text_add(out, "bar live plain json none");
}

/* clang-format off */
static const struct cv_option input_options[] = {
    CV_OPTION('i', "--input", REPEAT, "FILE", inputs,
        "Read this file instead of standard input. May be given several times: the files "
        "are read one after the other. A pattern such as 'part-*.csv' stands for the files "
        "that match.", .file = CV_FILE_INPUT, .level = CV_FIRST),
    CV_FLAG(0, "--pipepart", 1, pipepart,
        "Read the files of -a, or else standard input, as data for chunks, like files of -i.", .level = CV_RARE),
    CV_FLAG(0, "--recursive", 1, recursive,
        "An input that is a folder stands for all files below it, by name."),
    CV_OPTION(0, "--split", TEXT, "HOW", split,
        "Cut the input between records of this format. auto (default) recognizes fastq, "
        "fasta, csv, tsv, jsonl, json, vcf, sam, bam and warc by name and first bytes; "
        "others are lines. Formats: %s. Other separators than a comma: csv:; or csv:tab.", .add_list = cv_split_list, .add_words = cv_split_words, .level = CV_FIRST),
    CV_OPTION(0, "--header", MAYBE, "[N]", header,
        "Give the first record, or the first N, to every command. It comes before "
        "the chunk, and the header of the outputs is written once. '#': all lines at the "
        "start that begin so, as of VCF, '@' of SAM. Several files must have the same. "
        "':' is one record; with items, it has names for {NAME}. Default: csv, VCF and "
        "SAM have one.", .level = CV_FIRST),
    CV_FLAG(0, "--no-header", 1, no_header,
        "Treat the first record like all others, also of csv."),
    CV_OPTION(0, "--records", COUNT, "N", records,
        "Give every chunk N records, except the last of a file; with --block or --policy, a "
        "multiple of N. With --weight, slow workers leave heavy records to fast ones.", .min = 1, .max = 1e15),
    CV_OPTION(0, "--together", TEXT, "KEY", together,
        "Keep neighbouring records with the same key in one chunk. The key is a column, such "
        "as 2 (separated by tabs, with --split csv by its separator), or the match of an "
        "extended regular expression, or its first part in parentheses."),
    CV_OPTION(0, "--pairs", TEXT, "FILE", pairs,
        "Give each command the records of this file that belong to its chunk, on descriptor "
        "3. Needs --split fastq."),
    CV_OPTION(0, "--max-record", UNITS, "SIZE", max_record,
        "Refuse records of more bytes: for a stream, a record is in memory until its end "
        "arrives. Default 1 GiB.", .level = CV_RARE),
    CV_OPTION(0, "--decode", TEXT, "HOW", decode,
        "Decode inputs: auto (default) by their first bytes; gzip, bgzf, zstd, xz, bzip2, "
        "lz4: all inputs with this format; none: not at all. With auto, archives, programs "
        "and other inputs that are not text are refused, with the command to type. Records "
        "of fixed:BYTES may be any bytes except the first bytes of compressed files.", .add_words = cv_decode_words),
    CV_OPTION(0, "--recend", TEXT, "END", record_end,
        "As of GNU parallel: '\\n' is --split lines, '\\0' is --split nul.",
        .level = CV_RARE),
    CV_OPTION(0, "--recstart", TEXT, "TEXT", record_start,
        "With --recend '\\n': records begin with lines that begin so.", .level = CV_RARE),
    CV_OPTION(0, "--fetch", TEXT, "CMD", fetch,
        "Read the input from this shell line, which writes bytes {begin} to {end} "
        "(inclusive), {length} bytes of the input {}: 'curl -sfr {begin}-{end} URL'. It is "
        "repeated if it fails. Needs --size.", .level = CV_RARE),
    CV_OPTION(0, "--size", TEXT, "BYTES|CMD", fetch_size,
        "With --fetch: bytes of the input, or a command that writes them, or an answer "
        "of HTTP with Content-Length, as 'curl -sIL URL'.", .level = CV_RARE),
};

static const struct cv_option item_options[] = {
    CV_FLAG(0, "--each", 1, each,
        "Run a command for each record of the input, which replaces {} or follows the "
        "command. Standard input of commands is empty."),
    CV_OPTION('a', "--arg-file", REPEAT, "FILE", item_files,
        "Run a command for each line of this file (-: stdin). Given several times, or "
        "with lists after :::, for each combination.", .level = CV_FIRST),
    CV_FLAG('0', "--null", 1, null,
        "Read items that end in NUL, such as those of 'find -print0'."),
    CV_FLAG('r', "--no-run-if-empty", 1, skip_blank,
        "Skip items that are empty or blank.", .level = CV_RARE),
    CV_OPTION('E', "--eof", TEXT, "TEXT", eof,
        "An item that is TEXT ends its list, and is not done.", .level = CV_RARE),
    CV_OPTION('d', "--delimiter", TEXT, "BYTE", delimiter,
        "Items of lists that are read end in this instead of an end of line: a comma, "
        "'\\t', '\\0'."),
    CV_FLAG(0, "--link", 1, link,
        "Take lists together: the first item of each, the second of each. Shorter lists "
        "begin again. :::+ and ::::+ link a list to the one before and end with the shorter "
        "list.", .level = CV_RARE),
    CV_OPTION('C', "--colsep", TEXT, "REGEX", colsep,
        "Split each item at matches of REGEX: {1} is the first column. With --header : the "
        "first item of each list names the columns: {name}."),
    CV_OPTION('I', "--replace", TEXT, "SIGN", replace,
        "Use this placeholder for an item instead of {}. --replace alone is --replace {}.",
        .implied = "{}"),
    CV_OPTION(0, "--rpl", REPEAT, "RULE", rules,
        "Define another placeholder, {SIGN} s/REGEX/TEXT/ as one word: SIGN in the command "
        "is replaced by the item after this substitution.", .level = CV_RARE),
    CV_FLAG(0, "--plus", 1, plus,
        "Know {##}, {0#} and places like the expansions of bash, {%.txt}, {#pre}, "
        "{/a/b}, {:2:3}, {:-text}, {^^a}; {..}, {+/}, {+.} and their like are known "
        "anyway.", .level = CV_RARE),
    CV_FLAG(0, "--quote", 1, quote,
        "The words of the command are its arguments, '|' and '>' among them. Without it "
        "one word that is not a program is a line for a shell, and signs between several "
        "words (| || && ; > >> < 2> 2>&1) make a line of them."),
    CV_OPTION('n', "--max-args", COUNT, "N", max_args,
        "Pass up to N items to each command. 0: pass none, and run the command once for each item.",
        .min = 0, .max = 1e9),
    CV_OPTION('N', "--max-replace-args", COUNT, "N", max_replace_args,
        "Pass up to N items to each command, and repeat the word with {} for each. For "
        "chunks: N records.", .min = 0, .max = 1e9, .level = CV_RARE),
    CV_OPTION('L', "--max-lines", COUNT, "N", max_lines,
        "Give N lines to each command, and repeat the word with {} for each. A line that "
        "ends in a blank is continued by the next one. For chunks: a multiple of N lines.", .implied = "1", .min = 1, .max = 1e9, .level = CV_RARE),
    CV_FLAG('m', "--fill", 1, fill,
        "Give each command as many items as fit into a line, or an equal part of all of "
        "them if that is less."),
    CV_FLAG('X', "--fill-words", 1, fill_words,
        "The same, and repeat the word in which {} stands for each.", .level = CV_RARE),
    CV_OPTION('s', "--max-chars", UNITS, "N", max_chars,
        "With -m or -X: no command has more bytes than this, with the one at its end.",
        .level = CV_RARE),
    CV_FLAG(0, "--many", 1, many,
        "Give each command as many items as pay: decided while it runs, from what "
        "starting a command costs and how fast workers are, as for chunks, so that all "
        "end together; no more than fit into a line."),
    CV_FLAG(0, "--tag", 1, tag, "Put the item and a tab before each line of its output."),
    CV_OPTION(0, "--tagstring", TEXT, "TEXT", tagstring,
        "Put this text and a tab there; places in it are filled.", .level = CV_RARE),
    CV_OPTION(0, "--results", TEXT, "DIR", results,
        "Keep the output of each command, instead of writing it, in DIR/1/ITEM/stdout and "
        "stderr; with several lists in DIR/1/ITEM/2/ITEM. If DIR has placeholders, it is the "
        "name of the file. FILE.csv, FILE.tsv or FILE.json: as one row each of one file; "
        "'-.csv' is standard output."),
    CV_FLAG(0, "--files", 1, files,
        "Keep each output in its own file, in --tmpdir or --results, and write its name.", .level = CV_RARE),
    CV_OPTION(0, "--limit", REPEAT, "KEY=K", limits,
        "Run at most K items or chunks at a time that have the same KEY: .FIELD of JSON objects, "
        "or a column by its number (--colsep, or that of a list) or name (--header :, csv). A chunk "
        "has the keys of all its records. Later ones overtake those that wait; outputs keep "
        "their order. May be given for several keys."),
    CV_OPTION(0, "--costs", TEXT, "JOBLOG", costs,
        "Cost of each item from the run times of the same commands in a job log of an "
        "earlier run.", .level = CV_RARE),
    CV_FLAG(0, "--ungroup", 1, ungroup,
        "Let commands write to the output themselves, as they go: lines of several may "
        "be mixed, and nothing is kept.", .level = CV_RARE),
    CV_FLAG(0, "--shuf", 1, shuffle, "Take the items in a random order.", .level = CV_RARE),
};

static const struct cv_option worker_options[] = {
    CV_OPTION('j', "--workers", TEXT, "N", workers,
        "Run N commands at a time. +N, -N: more or fewer than the cores that this process "
        "may use; 50%: half of them; 0: as many as open files allow, at most 256. Or names "
        "with words to put before the command: 'fast,slow:nice -n 19', "
        "'\\,' for a comma in them; 'cpu*14' are fourteen, and 'gpu[0-1]:env "
        "CUDA_VISIBLE_DEVICES={i}' two with their numbers. '4@60/min' and 'a*4@60/min:WORDS': "
        "these workers together start at most 60 items or records in any minute; '@900w/h' "
        "counts the weights of --weight. Default: 100%.", .level = CV_FIRST),
    CV_OPTION(0, "--pin", MAYBE, "[=cores]", pin,
        "Pin the commands of each worker to one core: fast cores before slow ones, and NUMA "
        "nodes in turn; on hosts too. --pin=nodes: to the cores of one NUMA node. Commands "
        "of --reduce run anywhere. Default: the kernel places them, which is as good if no "
        "memory is far and nothing else runs.", .level = CV_RARE),
    CV_OPTION(0, "--delay", SECONDS, "TIME", delay_s,
        "Begin no command on this machine sooner than this after the one before."),
    CV_OPTION(0, "--load", TEXT, "N", load,
        "Begin none while the load of this machine is higher: the average of the last "
        "minute, as uptime says it; N% of the cores.", .level = CV_RARE),
    CV_OPTION(0, "--memfree", UNITS, "SIZE", memfree,
        "Begin none while it has less memory left."),
    CV_OPTION(0, "--nice", COUNT, "N", nice,
        "Commands here give way to others, as 'nice -n N' lets them.",
        .min = 1, .max = 19, .level = CV_RARE),
    CV_OPTION(0, "--hosts", TEXT, "HOSTS|FILE", hosts,
        "Use other machines, reached by ssh. In 'a,b:4,me@c,node[01-16]' b has 4 slots, the "
        "other hosts one per core that a command may use there; ':' is this machine. 'b:4@60/min': "
        "its slots together start at most 60 items or records in any minute (-j). -j N "
        "gives N slots to each host without a number. A word that has a slash, ends in "
        ".yaml, .yml or .json, or names a file is a platform file: its workers with their "
        "declared costs; workers with ssh: or slots: are other machines.",
        .file = CV_FILE_READ, .level = CV_FIRST),
    CV_OPTION('S', "--sshlogin", REPEAT, "HOSTS", logins,
        "The same, as GNU parallel spells it. 'a,4/b,me@c,8/:' or '4/ssh -p 2222 b'; may "
        "be given several times.", .level = CV_RARE),
    CV_OPTION(0, "--hosts-file", TEXT, "FILE", hosts_file,
        "Use the hosts in this file, one per line: as for --sshlogin, or in the form of MPI, "
        "'b slots=4' and 'b:4'. If a host has several lines without a number, as in "
        "$PBS_NODEFILE, each is a slot. '#' begins a comment."),
    CV_OPTION(0, "--via", REPEAT, "HOST[:HOSTS]", via,
        "Make this host a leader: it takes large chunks, and shares them over its hosts and "
        "its own slots. 'gate:node[01-16]' names the hosts, with ':4' for slots if --hosts "
        "does not name them; 'gate' alone leads all other hosts. Repeatable; a leader may "
        "lead leaders.", .level = CV_RARE),
    CV_FLAG(0, "--mpi", 1, mpi,
        "The other ranks are the workers: for 'mpirun -n 9 cleave run --mpi ...'. Rank 0 "
        "is the master, and its exit status counts. With --reduce, outputs are reduced "
        "from rank to rank."),
    CV_OPTION(0, "--mpi-library", TEXT, "NAME", mpi_library,
        "Which MPI has started the ranks: openmpi or mpich. Default: what mpirun says in "
        "the environment.", .level = CV_RARE),
    CV_OPTION(0, "--leaders", TEXT, "node|N", leaders,
        "With --mpi: one rank of each machine, or of every N ranks, leads. It takes large "
        "chunks and runs as many commands at a time as it leads ranks, which wait; rank 0 "
        "has fewer ranks to serve.", .level = CV_RARE),
    CV_FLAG(0, "--slurm", 1, slurm,
        "The tasks of this Slurm job are the workers, for 'cleave run --slurm' inside "
        "sbatch or salloc: one step of srun for each node, with as many commands at a "
        "time as the job has tasks there. Nodes that see the input files read them "
        "themselves."),
    CV_FLAG(0, "--persistent", 1, persistent,
        "Start the command once per worker and give it one chunk after the other: 8 "
        "bytes of length, the highest first, and the chunk; it answers each in the same "
        "form."),
    CV_OPTION(0, "--window", COUNT, "K", window,
        "With --persistent, a command may hold up to K chunks: it reads them without waiting "
        "and answers each by its number, in any order. CLEAVE_WINDOW tells it K. Give "
        "-N 1 for chunks of one record. Default: one chunk, answered without a number.",
        .min = 1, .max = CLEAVE_WINDOW_MOST),
    CV_FLAG(0, "--cat", 1, cat,
        "Put each chunk into a file, which can be read repeatedly, and run the command as a "
        "shell line with the file's name for {}, or after it. The file is removed when the "
        "command has ended."),
    CV_FLAG(0, "--literal", 1, literal,
        "Pass {} and ::: in the command on unchanged. Without it they are placeholders and "
        "begin items.",
        ),
    CV_FLAG(0, "--framed", 1, framed,
        "Be a command of --persistent: pieces come on standard input, each after its length, "
        "and every piece is shared out and answered with its output. Hosts stay connected. A "
        "run starts it to lead hosts: --via, or via: of a platform file.", .level = CV_RARE),
    CV_OPTION(0, "--as", TEXT, "NAME", as,
        "Be this worker of the platform file: the workers with via: NAME are the hosts, and "
        "its own slots are on this machine. In a list of hosts, this machine.", .level = CV_RARE),
    CV_OPTION(0, "--policy", TEXT, "NAME", policy,
        "Share out the work with one of 'cleave policies'. Default auto, which is learn "
        "here: it measures while it runs."),
    CV_OPTION(0, "--param", REPEAT, "KEY=VALUE", params,
        "Set a parameter of the policy. May be given several times.", .level = CV_RARE),
    CV_OPTION(0, "--block", UNITS, "SIZE", block,
        "Give every command about SIZE bytes (with --weight: weight, with a rate of --workers or "
        "--limit: records), instead of the sizes of a policy. For a pipe, one such block per worker and a "
        "few more are kept in memory."),
    CV_OPTION(0, "--weight", TEXT, "FIELD|COLUMN|COMMAND", weight,
        "Size chunks by the cost of their records, in any unit: .FIELD of JSON objects "
        "(.tokens, .usage.tokens), a column by number or, for csv, by name, or a command "
        "that reads all records of a file and writes one number per line. A single word is "
        "a column of csv, else a command. With --unordered, heavy records of files start "
        "first. Items: the number of a column (--colsep) or list; heavy items start first. "
        "Default: bytes of records, and of the files that items name."),
    CV_OPTION(0, "--weight-default", UNITS, "N", weight_default,
        "Give records and items without a weight this one. Default: they are an error."),
    CV_OPTION(0, "--backups", TEXT, "WHEN", backups,
        "When no input is left to start, let an idle worker run a late chunk a second "
        "time. The first result counts, the other command is stopped. auto (default): "
        "chunks, but not items; nothing with --line-buffer, --ungroup or --window. on: also items, "
        "if their commands may run twice at the same time. off: never.", .level = CV_RARE),
};

static const struct cv_option host_options[] = {
    CV_OPTION(0, "--ssh", TEXT, "WORDS", ssh,
        "How to reach hosts with ssh:, for instance 'ssh -F FILE'. Default: ssh, which "
        "never asks for a password here."),
    CV_OPTION(0, "--remote", TEXT, "PROGRAM", program,
        "Path of cleave on the hosts. Default: cleave, found in PATH there; for hosts "
        "without ssh: this program."),
    CV_FLAG(0, "--push", 1, push,
        "Copy cleave to hosts that lack it, into ~/.cache/cleave there: this program, or "
        "cleave-x86_64 or cleave-aarch64 next to it, whichever fits the host's processor "
        "(uname -m)."),
    CV_OPTION(0, "--push-from", REPEAT, "PATH", push_from,
        "Where --push finds copies for other processors: a program, linked statically, "
        "or a folder with some, such as 'make release' makes. May be given several times.", .level = CV_RARE),
    CV_FLAG(0, "--shared-input", 1, shared_input,
        "Hosts that see the input files under the same names read them themselves. To "
        "others they are sent."),
    CV_OPTION(0, "--workdir", TEXT, "DIR", work_directory,
        "Run commands on hosts in this directory. Default: where ssh begins. For items it is "
        "made if necessary; '.' is this directory, '...' a separate one."),
    CV_OPTION(0, "--transferfile", REPEAT, "NAME", transfers,
        "Send this file to the host before the command of an item begins. NAME has "
        "placeholders, such as '{}'; FOLDER/./NAME is NAME there. With --shared-input it is "
        "not sent if the same file already exists there. Repeatable."),
    CV_OPTION(0, "--return", REPEAT, "NAME", returns,
        "Bring this file back when the command has ended, as in '{.}.out'; from NAME to "
        "FOLDER/./NAME. May be given several times."),
    CV_OPTION(0, "--basefile", REPEAT, "FILE", basefiles,
        "Send this file to each host before its first item. May be given several times.", .level = CV_RARE),
    CV_FLAG(0, "--cleanup", 1, cleanup,
        "Remove files from the hosts that were sent and are no longer needed, or that were "
        "brought back."),
    CV_OPTION(0, "--env", REPEAT, "NAME", environment,
        "Give this variable to commands on hosts as it is here, or several as A,B, or "
        "NAME=VALUE. May be given several times."),
    CV_OPTION(0, "--connect-timeout", SECONDS, "TIME", connect_timeout_s,
        "Leave out a host that is not ready by then. Default 10 s, with --slurm 60 s.", .level = CV_RARE),
    CV_OPTION(0, "--host-timeout", SECONDS, "TIME", host_timeout_s,
        "Drop a host that sends nothing for TIME; its chunks move to other hosts. Default 10 "
        "s.", .level = CV_RARE),
    CV_OPTION(0, "--join-socket", TEXT, "PATH", join_socket,
        "Make a socket there that only you can open, by which more workers join while it "
        "runs: 'cleave join PATH', or 'cleave join THIS-MACHINE:PATH' elsewhere."),
    CV_OPTION(0, "--listen", TEXT, "ADDRESS", listen,
        "Let workers that have the key of --key join over TLS. They are started by "
        "'cleave join ADDRESS --key FILE'. ADDRESS is HOST:PORT, or PORT for processes of "
        "this machine alone. "
        "0.0.0.0:PORT listens on all addresses; port 0 is any free one, which is printed."),
    CV_OPTION(0, "--key", TEXT, "FILE", key,
        "The key for --listen, which 'cleave keygen FILE' makes. Only you may read FILE."),
    CV_OPTION(0, "--grace", SECONDS, "TIME", grace_s,
        "Give a host that leaves TIME to finish its chunks; the rest moves to other hosts. A "
        "host leaves when it is removed from the file of hosts or gets SIGTERM. Default 10 s.", .level = CV_RARE),
};

static const struct cv_option output_options[] = {
    CV_OPTION('o', "--output", TEXT, "FILE", output,
        "Write the outputs to this file when all succeeded. A name that ends in .gz or .bgz "
        "(both: BGZF), .zst, .xz, .bz2 or .lz4 compresses it, unless the outputs are "
        "compressed. If a run fails or is stopped, the partial output stays next to it, and "
        "cleave prints its name. 'DIR/part-{chunk}' is a file for each chunk, named after "
        "its first byte in the input. Default, and -: standard output.", .file = CV_FILE_RESULT, .level = CV_FIRST),
    CV_FLAG(0, "--shared-output", 1, shared_output,
        "With -o 'DIR/part-{chunk}', let hosts write these files themselves: DIR is on storage "
        "that all machines see under this name. Nothing is compressed, and a journal has "
        "sizes and hashes of outputs, not their bytes.", .level = CV_RARE),
    CV_FLAG('k', "--keep-order", 0, unordered,
        "Write outputs in the order of the input; this is the default.", .level = CV_RARE),
    CV_FLAG('u', "--unordered", 1, unordered,
        "Write each output as soon as its command has ended."),
    CV_FLAG(0, "--line-buffer", 1, line_buffer,
        "Write each line of an output as soon as it is complete. For chunks these are, in "
        "input order, the lines of the chunk whose turn it is; for items, and with -u, lines "
        "of several commands alternate, and lines are never mixed. A chunk with written "
        "lines cannot be taken back: it is not tried again."),
    CV_FLAG(0, "--group", 1, group,
        "Write nothing of an output before its command has succeeded. Without it, to a "
        "pipe or a terminal, the lines of the chunk whose turn it is are written while "
        "its command runs, unless --retries, --isolate, --journal, --reduce, "
        "--header-out, --persistent or -u is given; if it fails, they stay.", .level = CV_RARE),
    CV_OPTION(0, "--header-out", MAYBE, "[N]", header_out,
        "Take the header of outputs from the outputs: as --header says, else one line, "
        "or N, or all lines at the start that begin with '#' or the like; with --split "
        "csv, records. Write it once; it must be the same in every output that is not "
        "empty. 0: write outputs unchanged. Default: if the input has a header, what the "
        "command writes for the header alone."),
    CV_OPTION(0, "--reduce", TEXT, "NAME|CMD", reduce,
        "Write one result instead of all outputs. NAME: sum (each column), count (lines), "
        "min or max (the line with that first number), sort[:OPTIONS], uniq, counts (adds "
        "up 'uniq -c'), first, last, head[:N] or tail[:N]. CMD: a line for the shell, which "
        "makes one output of at most 16 neighbours. They are concatenated on its standard "
        "input, or files: two, {1} and {2}, or all of them, {}. CMD has to be associative; "
        "it is not run on a single output. --retries and --timeout apply to it. If it fails "
        "for good, so does the run.", .level = CV_FIRST),
    CV_FLAG(0, "--commutative", 1, commutative,
        "Let --reduce CMD take outputs in any order.", .level = CV_RARE),
    CV_OPTION(0, "--memory", UNITS, "SIZE", memory,
        "Keep at most N bytes of waiting output in memory, and the rest in files. Default 256 MB."),
    CV_OPTION(0, "--tmpdir", TEXT, "DIR", directory,
        "Where those files are. Default: TMPDIR, else /tmp.", .level = CV_RARE),
};

static const struct cv_option failure_options[] = {
    CV_OPTION(0, "--retries", COUNT, "N", retries,
        "Run a failing command up to N times in all. Another worker is tried first; as in "
        "GNU parallel, 3 is once and two times more. Default: once, and again only on "
        "other workers, if the worker may be at fault.", .min = 1, .max = 1e6, .level = CV_FIRST),
    CV_OPTION(0, "--ok", TEXT, "LIST", ok,
        "Exit statuses that are not failures, as '0,1' or '0-3'. If no command ends with 0, "
        "the run ends with 1. Default: 0,1 for grep, egrep, fgrep, zgrep, rg, ag, diff and "
        "cmp, else 0."),
    CV_OPTION(0, "--later", TEXT, "LIST", later,
        "Exit statuses by which a command asks to be run later, as in --ok, or none. This is "
        "neither a failure nor a retry: another worker runs the chunk or item, or it waits, and "
        "the worker rests. It rests for T seconds if the last line on standard error is "
        "'Retry-After: T', else for 1 s, and each time twice as long, up to 64 s, until it "
        "succeeds. --ok wins. Default: 75."),
    CV_FLAG(0, "--isolate", 1, isolate,
        "When a chunk fails for good, give its halves to separate commands, and so on, until "
        "the records are found that make the command fail: only these have no output. One "
        "bad record among n takes about 2 log2 n runs."),
    CV_OPTION(0, "--timeout", TEXT, "TIME", timeout,
        "Stop a command that takes longer than this (90, 5m, 1h30m) on its chunk, which "
        "then has failed. Of items here also N%, as in 200%: N% of the median of those "
        "that have succeeded. Default: none."),
    CV_OPTION(0, "--halt", TEXT, "WHEN", halt,
        "never: do the rest anyway. soon,fail=N or soon,fail=N%: start nothing new after N "
        "failed chunks. now,fail=N: also stop running commands. success=N and done=N count "
        "successes, and all; later=N: commands in a row that asked to be run later. Default: soon, when 100 chunks (10, if their commands had read "
        "nothing) have failed and none has succeeded (without --header: none except those "
        "that begin a file), else never."),
    CV_OPTION(0, "--failed", TEXT, "DIR", failed,
        "Keep the input of every chunk that failed for good in this directory, as "
        "NAME.BEGIN-END. Existing files are kept.",
        .file = CV_FILE_FOLDER),
    CV_OPTION(0, "--journal", TEXT, "FILE", journal,
        "Keep finished chunks in this file, for --resume. It is an SQLite database.",
        .file = CV_FILE_JOURNAL, .level = CV_FIRST),
    CV_FLAG(0, "--resume", 1, resume,
        "Do not do again what the journal holds, as long as its input has not changed."),
    CV_FLAG(0, "--overwrite", 1, overwrite, "Forget what the journal holds."),
};

static const struct cv_option report_options[] = {
    CV_OPTION(0, "--joblog", TEXT, "FILE", joblog,
        "Write a line for every end of a command, with the columns of GNU parallel. With "
        "--resume, or as +FILE, lines are added to those there are.", .file = CV_FILE_WRITTEN),
    CV_FLAG('v', "--show-commands", CV_SHOW_STDOUT, verbose,
        "Like -t, but write the line of an item to standard output, before its output."),
    CV_FLAG('t', "--verbose", CV_SHOW_STDERR, verbose,
        "Write each command line to standard error when it begins; for chunks, the command "
        "once. At the end, write the summary in full.", .level = CV_RARE),
    CV_FLAG(0, "--summary", 1, summary,
        "Write the summary in full: where the time went, and a row for each worker. "
        "Default: one line, if the run took 0.5 s or failed."),
    CV_FLAG(0, "--dry-run", 1, dry_run,
        "Show what would run, and run nothing. That is the command, the input and the workers; "
        "with a platform file (--hosts) also the plan for its costs: chunks, finish time and "
        "bound.", .level = CV_FIRST),
    CV_OPTION(0, "--progress", TEXT, "HOW", progress,
        "Show progress: bar, live, plain, json or none. bar: draw a bar on standard error, if that is "
        "a terminal: how much commands have "
        "read, and how long the rest will take. live: also a line for each worker; needs a "
        "terminal. plain: write a line every ten seconds, for logs. json: write a JSON object for programs, "
        "at most five a second. Default: a bar "
        "after 2 s, until outputs appear on the same terminal; none with -q. --bar and "
        "--live are short for the first two.", .implied = "bar", .add_words = progress_words, .level = CV_FIRST),
    CV_OPTION(0, "--serve", TEXT, "127.0.0.1:PORT", serve,
        "Show the page of cleave report while it runs, to browsers of this machine: it "
        "updates itself. Port 0 takes a free port. From another machine: ssh -L "
        "PORT:127.0.0.1:PORT HOST."),
    CV_OPTION(0, "--trace", TEXT, "FILE", trace,
        "Write every event and order to this file, as JSON lines. "
        CV_TRACE_FORMATS_HELP, .file = CV_FILE_WRITTEN),
    CV_FLAG(0, "--json", 1, json,
        "Write the summary as JSON: to standard output where --output sends the outputs "
        "elsewhere, else to standard error."),
    CV_FLAG('q', "--quiet", 1, quiet,
        "Write no summary, notes or bar. With --json or --summary: that, and nothing else."),
};

static const struct cv_option check_options[] = {
    CV_OPTION(0, "--sample", UNITS, "SIZE", sample,
        "Take the first records, about SIZE bytes. At most 4000 records are taken. Default "
        "256 kB.", .level = CV_FIRST),
    CV_OPTION(0, "--timeout", TEXT, "TIME", timeout,
        "End the check after this time. The verdict covers the cuts that were made. Default "
        "30s.", .level = CV_FIRST),
    CV_FLAG(0, "--json", 1, json, "Write the result as JSON."),
    CV_FLAG('q', "--quiet", 1, quiet, "Write no messages except errors and examples."),
};
/* clang-format on */

const struct cv_option_group cv_check_groups[] = { CV_GROUP("Input", input_options),
                                                   CV_GROUP("Check", check_options),
                                                   { NULL, NULL, 0 } };
const struct cv_option_group cv_run_groups[] = {
    CV_GROUP("Input", input_options),      CV_GROUP("Items", item_options),
    CV_GROUP("Workers", worker_options),   CV_GROUP("Other machines", host_options),
    CV_GROUP("Output", output_options),    CV_GROUP("Failures", failure_options),
    CV_GROUP("Reporting", report_options), { NULL, NULL, 0 },
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
    }
}

void cv_split_words(struct cv_text *out)
{
    cv_text_add(out, "auto");
    for (size_t i = 0; i < cv_splitter_kinds(); i++)
        cv_text_add(out, " %s%s", cv_splitter_name(i),
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

/* --- options whose text has a meaning of its own ----------------------------------- */

bool cv_run_has_header(const struct cv_run_options *values)
{
    return !values->no_header &&
           (values->header != NULL ||
            (values->split != NULL && strncmp(values->split, "csv", 3) == 0));
}

const char *cv_header_how(const char *text)
{
    return text != NULL && strcmp(text, ":") == 0 ? "" : text;
}

uint64_t cv_record_limit(double bytes)
{
    if (bytes <= 0)
        return 0;
    return bytes < 1 ? 1 : bytes < 0x1p62 ? (uint64_t)bytes : UINT64_C(1) << 62;
}

int cv_pin_read(const char *text, enum cleave_pin *out)
{
    *out = CLEAVE_PIN_NONE;
    if (text == NULL)
        return CV_EXIT_DONE;
    *out = strcmp(text, "nodes") == 0 ? CLEAVE_PIN_NODES : CLEAVE_PIN_CORES;
    if (*out == CLEAVE_PIN_CORES && text[0] != '\0' && strcmp(text, "cores") != 0)
        return cv_refuse("--pin: expected cores or nodes, got '%s'", CV_ECHO(text));
    return CV_EXIT_DONE;
}

int cv_backups_read(const char *text, enum cleave_backups *out)
{
    static const char *const words[] = { [CLEAVE_BACKUPS_AUTO] = "auto",
                                         [CLEAVE_BACKUPS_ON] = "on",
                                         [CLEAVE_BACKUPS_OFF] = "off" };

    *out = CLEAVE_BACKUPS_AUTO;
    for (; text != NULL && strcmp(text, words[*out]) != 0; ++*out)
        if (*out == CLEAVE_BACKUPS_OFF)
            return cv_refuse("--backups: expected auto, on or off, got '%s'",
                             CV_ECHO(text));
    return CV_EXIT_DONE;
}

/* --- options of cleave run that need or exclude others ----------------------------- */

/* The library checks the request as well (src/run/request), by its members. */

#define HOSTS "--hosts --sshlogin --hosts-file --via"
#define NEED_ITEMS                                                                     \
    "%1 is for items, and there are no items: name them after the command, as in ... " \
    "{} "                                                                              \
    "::: *.txt, or "
#define FRAMED                                                                           \
    "--framed: pieces come on standard input and answers go to standard output: "        \
    "expected "                                                                          \
    "no items, input, mates, output, journal, log, trace or folder of what failed, and " \
    "neither --json, --serve, --dry-run nor --mpi"
#define LINES \
    "with --line-buffer lines of a chunk are written before it is done: expected no "

/* A rule with CV_NEEDS and no others is broken by its options alone. */
static const struct cv_option_rule rules[] = {
    /* items are missing */
    { CV_RUN_CHUNKS, "--null", CV_NEEDS, "",
      NEED_ITEMS "--each for the records of the input" },
    { CV_RUN_CHUNKS, "--delimiter", CV_NEEDS, "",
      NEED_ITEMS "-a - for those of standard input" },
    { CV_RUN_CHUNKS,
      "--eof --no-run-if-empty --max-chars --link --colsep --replace --rpl --max-args "
      "--fill --fill-words --many --shuf --tag --tagstring --results --files --costs "
      "--ungroup --transferfile --return --basefile --cleanup",
      CV_NEEDS, "", NEED_ITEMS "--each for the records of the input" },

    /* a file for each chunk */
    { CV_RUN_ITEMS | CV_RUN_PARTS, "--output", CV_NEEDS, "",
      "--output with {chunk} is for chunks of an input; of items, --results 'DIR/{#}' "
      "writes "
      "a file for each" },
    { CV_RUN_PARTS, "--output", CV_EXCLUDES, "--reduce --line-buffer --header-out",
      "--output with {chunk} writes a file for each chunk: expected no %2" },

    { CV_RUN_ONE, "--shared-output", CV_NEEDS, "",
      "--shared-output needs a file for each chunk, as in -o 'DIR/part-{chunk}'" },

    /* complete outputs, and outputs as they come */
    { 0, "--group", CV_EXCLUDES, "--ungroup --line-buffer",
      "expected --group, for outputs as a whole, or %2, got both" },
    { CV_RUN_CHUNKS | CV_RUN_RETRIES, "--line-buffer", CV_NEEDS, "",
      LINES "--retries and --isolate" },
    { CV_RUN_CHUNKS, "--line-buffer", CV_EXCLUDES, "--isolate",
      LINES "--retries and --isolate" },
    { CV_RUN_CHUNKS, "--line-buffer", CV_EXCLUDES, "--journal --reduce --persistent",
      LINES "%2" },
    { 0, "--header", CV_EXCLUDES, "--no-header",
      "expected --header or --no-header, got both" },
    { CV_RUN_ITEMS, "--framed", CV_NEEDS, "", FRAMED },
    { 0, "--framed", CV_EXCLUDES,
      "--input --output --journal --trace --joblog --failed --pairs --fetch --dry-run "
      "--json --mpi --serve --window",
      FRAMED },

    /* other machines */
    { 0, "--slurm", CV_EXCLUDES, "--mpi --workers " HOSTS,
      "with --slurm the tasks of the job are the workers: expected none of --workers, "
      "--hosts and --mpi" },
    { 0, "--slurm", CV_EXCLUDES, "--ssh --push --push-from",
      "with --slurm nodes are reached by srun: expected neither --ssh nor --push, but "
      "--remote PROGRAM where cleave has another place on the nodes" },
    { 0, "--mpi", CV_EXCLUDES, "--workers " HOSTS,
      "with --mpi the ranks are the workers: expected neither --workers nor --hosts" },
    { 0, "--mpi", CV_EXCLUDES, "--pin",
      "--pin: with --mpi the launcher does it: mpirun --bind-to core" },
    { 0, "--leaders", CV_NEEDS, "--mpi",
      "--leaders needs --mpi; for hosts, name leaders with --via HOST" },
    { 0, "--mpi-library", CV_NEEDS, "--mpi", "--mpi-library needs --mpi" },
    { CV_RUN_LOCAL, "--push --push-from --ssh --remote", CV_NEEDS,
      "--hosts-file", /* it may name some later */
      "--ssh, --remote and --push need --hosts with other machines" },
    { CV_RUN_LOCAL, "--shared-input --workdir", CV_NEEDS,
      "--hosts-file --join-socket --listen",
      "--shared-input and --workdir need --hosts with other machines, --slurm or "
      "--listen: here, commands have your folder" },
    { CV_RUN_LOCAL, "--transferfile --return --basefile --cleanup", CV_NEEDS,
      "--hosts-file",
      "--transferfile, --return, --basefile and --cleanup need --hosts with "
      "other machines: here, commands see all files" },

    { CV_RUN_PLATFORM, "--hosts", CV_EXCLUDES, "--hosts-file --sshlogin",
      "--hosts %v is a platform file: expected neither --hosts-file nor --sshlogin" },
    { CV_RUN_PLATFORM, "--workers", CV_NEEDS, "",
      "expected --workers or --hosts, got both" },

    /* items: their source, how many a command gets, where outputs go */
    { CV_RUN_ITEMS, "--input --split", CV_NEEDS, "--each",
      "expected items or an input, got both: --each makes items of the records of the "
      "input" },
    { CV_RUN_ITEMS, "--delimiter", CV_EXCLUDES, "--each --null",
      "--delimiter is for lists of items: expected -a FILE, or -a - for standard input, "
      "and no %2" },
    { CV_RUN_CHUNKS, "--max-lines", CV_EXCLUDES, "--max-replace-args",
      "of chunks expected -L or -N, which both count records, got both" },
    { CV_RUN_ITEMS, "--max-chars", CV_NEEDS, "--fill --fill-words",
      "--max-chars needs -m or -X, which fill commands; else each has one item, or N "
      "with "
      "-n N" },
    { CV_RUN_ITEMS | CV_RUN_NO_ARGS, "--max-lines --fill --fill-words", CV_NEEDS, "",
      "expected -n 0, which gives no items to commands, or one of -L, -m and -X, got "
      "both" },
    { CV_RUN_ITEMS, "--many", CV_EXCLUDES,
      "--max-args --max-replace-args --max-lines --fill --fill-words",
      "expected --many or one of -n, -L, -m and -X, got both" },
    { CV_RUN_ITEMS, "--many", CV_EXCLUDES,
      "--tag --tagstring --results --files --journal --weight --limit --costs "
      "--transferfile --return --ungroup --line-buffer",
      "with --many items share commands: expected none of --tag, --results, --files, "
      "--journal, --weight, --limit, --costs, --transferfile, --return, --ungroup and "
      "--line-buffer" },
    { CV_RUN_CHUNKS, "--weight", CV_EXCLUDES, "--fetch",
      "--weight: expected files or a pipe, as --fetch does not know the records" },
    { CV_RUN_CHUNKS, "--limit", CV_EXCLUDES, "--fetch",
      "--limit: expected files or a pipe, as --fetch does not know the records" },
    { 0, "--weight-default", CV_NEEDS, "--weight", "--weight-default needs --weight" },
    { CV_RUN_ITEMS, "--weight", CV_EXCLUDES, "--costs",
      "expected --weight or --costs, got both" },
    { CV_RUN_ITEMS | CV_RUN_ROWS, "--results", CV_EXCLUDES,
      "--output --files --reduce --journal",
      "--results FILE.csv is all that is written: expected none of --output, --files, "
      "--reduce and --journal" },
    { CV_RUN_ITEMS, "--block", CV_NEEDS, "",
      "items are done one at a time: expected no --block; -n N gives N of them to a "
      "command" },
    { CV_RUN_ITEMS, "--ungroup", CV_EXCLUDES, "--tag --tagstring",
      "with --ungroup nothing is known of lines: expected neither --tag nor --tagstring, "
      "or --line-buffer instead" },
    { CV_RUN_ITEMS, "--ungroup --line-buffer", CV_EXCLUDES,
      "--results --files --reduce --journal",
      "with %1 nothing is known of outputs: expected none of --results, --files, "
      "--reduce and --journal" },
    { CV_RUN_ITEMS, "--ungroup", CV_EXCLUDES, "--mpi --slurm " HOSTS,
      "commands on hosts cannot write to the output themselves: expected no --ungroup; "
      "--line-buffer writes each line as it comes" },
    { CV_RUN_ITEMS, "--persistent --header-out --pairs --isolate --failed --cat",
      CV_NEEDS, "",
      "expected items or one of --persistent, --cat, --header-out, --pairs, --isolate "
      "and --failed, which are for chunks of an input" },

    /* single options */
    { 0, "--commutative", CV_NEEDS, "--reduce", "--commutative needs --reduce CMD" },
    { 0, "--resume --overwrite", CV_NEEDS, "--journal",
      "--resume and --overwrite need --journal FILE" },
    { 0, "--ok", CV_EXCLUDES, "--persistent",
      "--ok is for a command that ends after each chunk: expected no --persistent" },
    { 0, "--cat", CV_EXCLUDES, "--persistent",
      "expected --cat or --persistent, got both" },
    { 0, "--window", CV_NEEDS, "--persistent",
      "--window is for a command that stays: expected --persistent as well" },
    { .options = NULL },
};

int cv_run_rules_check(const struct cv_call *call, unsigned situation)
{
    const struct cv_run_options *values = call->values;

    if (values->retries > 1)
        situation |= CV_RUN_RETRIES;
    if (values->max_args == 0 || values->max_replace_args == 0)
        situation |= CV_RUN_NO_ARGS;
    if (values->results != NULL && cv_rows_kind(values->results) != CV_ROWS_NONE)
        situation |= CV_RUN_ROWS;
    situation |= cv_part_files_asked(values) ? CV_RUN_PARTS : CV_RUN_ONE;
    return cv_options_check(call, rules, situation);
}
