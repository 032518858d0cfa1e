/* run_rules.c -- options of cleave run that need or exclude others.
 * SPDX-License-Identifier: MIT
 *
 * The library checks the request again (src/run/request), in terms of its own members. */
#include "cli/run/run_options.h"

/* Options that name other machines. */
#define HOSTS "--hosts --sshlogin --hosts-file --via"
#define NEED_ITEMS                                                                     \
    "%1 is for items, and there are none: say which behind the command, as in ... {} " \
    "::: *.txt, or "
#define FRAMED                                                                           \
    "--framed: pieces come on standard input and answers go to standard output: "        \
    "expected "                                                                          \
    "no items, input, mates, output, journal, log, trace or folder of what failed, and " \
    "neither --json, --serve, --dry-run nor --mpi"
#define LINES \
    "with --line-buffer lines of a chunk are gone before it is done: expected no "

/* A rule that needs nothing ("") is broken by its options alone. */
static const struct cv_option_rule rules[] = {
    /* items are missing */
    { CV_RUN_CHUNKS, "--null", CV_NEEDS, "",
      NEED_ITEMS "--each for the records of the input" },
    { CV_RUN_CHUNKS, "--delimiter", CV_NEEDS, "",
      NEED_ITEMS "-a - for those of standard input" },
    { CV_RUN_CHUNKS,
      "--link --colsep --replace --rpl --quote --max-args --max-lines --fill "
      "--fill-words --many --shuf --tag --tagstring --results --files --weight --costs "
      "--ungroup --transferfile --transfer --return --basefile --cleanup",
      CV_NEEDS, "", NEED_ITEMS "--each for the records of the input" },

    /* outputs as a whole, and as they come */
    { 0, "--group", CV_EXCLUDES, "--ungroup --line-buffer",
      "expected --group, for outputs as a whole, or %2, got both" },
    { CV_RUN_CHUNKS | CV_RUN_RETRIES, "--line-buffer", CV_NEEDS, "",
      LINES "--retries and --isolate" },
    { CV_RUN_CHUNKS, "--line-buffer", CV_EXCLUDES, "--isolate",
      LINES "--retries and --isolate" },
    { CV_RUN_CHUNKS, "--line-buffer", CV_EXCLUDES,
      "--journal --reduce --header-out --persistent", LINES "%2" },
    { CV_RUN_ITEMS, "--framed", CV_NEEDS, "", FRAMED },
    { 0, "--framed", CV_EXCLUDES,
      "--input --output --journal --trace --joblog --failed --pairs --fetch --dry-run "
      "--json --mpi --serve",
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
      "--leaders needs --mpi; of hosts, --via HOST says who leads" },
    { 0, "--mpi-library", CV_NEEDS, "--mpi", "--mpi-library needs --mpi" },
    { CV_RUN_LOCAL, "--push --push-from --shared-input --ssh --remote --workdir --env",
      CV_NEEDS, "--hosts-file", /* it may name some later */
      "--ssh, --remote, --push, --shared-input, --workdir and --env need --hosts with "
      "other machines, or --slurm: here, commands have your folder and environment" },
    { CV_RUN_LOCAL, "--transferfile --transfer --return --basefile --cleanup", CV_NEEDS,
      "--hosts-file",
      "--transferfile, --transfer, --return, --basefile and --cleanup need --hosts with "
      "other machines: here, commands see all files" },

    /* items: where they come from, how many a command gets, where outputs go */
    { CV_RUN_ITEMS, "--input --split", CV_NEEDS, "--each",
      "expected items or an input, got both: --each makes items of the records of the "
      "input" },
    { CV_RUN_ITEMS, "--delimiter", CV_EXCLUDES, "--each --null",
      "--delimiter is for lists of items: expected -a FILE, or -a - for standard input, "
      "and no %2" },
    { CV_RUN_ITEMS, "--fill --fill-words", CV_EXCLUDES, "--max-lines",
      "expected -L or one of -m and -X, got both" },
    { CV_RUN_ITEMS | CV_RUN_NO_ARGS, "--max-lines --fill --fill-words", CV_NEEDS, "",
      "expected -n 0, which gives no items to commands, or one of -L, -m and -X, got "
      "both" },
    { CV_RUN_ITEMS, "--many", CV_EXCLUDES, "--max-args --max-lines --fill --fill-words",
      "expected --many or one of -n, -L, -m and -X, got both" },
    { CV_RUN_ITEMS, "--many", CV_EXCLUDES,
      "--tag --tagstring --results --files --journal --weight --costs --transferfile "
      "--transfer --return --ungroup --line-buffer",
      "with --many items have no command of their own: expected none of --tag, "
      "--results, --files, --journal, --weight, --costs, --transferfile, --return, "
      "--ungroup and --line-buffer" },
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
    { 0, "--cat", CV_EXCLUDES, "--persistent",
      "expected --cat or --persistent, got both" },
    { .options = NULL },
};

int cv_run_rules_check(const struct cv_call *call, unsigned situation)
{
    const struct cv_run_options *values = call->values;

    if (values->retries > 1)
        situation |= CV_RUN_RETRIES;
    if (values->max_args == 0)
        situation |= CV_RUN_NO_ARGS;
    return cv_options_check(call, rules, situation);
}
