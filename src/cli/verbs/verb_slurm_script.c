/* verb_slurm_script.c -- cleave slurm-script. SPDX-License-Identifier: MIT
 *
 * A batch script around `cleave run --slurm`: before the time limit, and when the job is
 * preempted, the run is told to stop; what it has finished is in its journal, the job goes
 * back to the queue and goes on from there. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include "base/helper_program.h"
#include "base/shell_word.h"
#include "cli/run/run_parts.h"

struct values {
    uint64_t nodes, tasks, cpus;
    const char *time, *partition, *name, *program;
    double notice_s;
    struct cv_strings more;
};

static const struct values presets = { .notice_s = 60 };

#define CV_VALUES struct values

/* clang-format off */
static const struct cv_option job_options[] = {
    CV_OPTION('N', "--nodes", COUNT, "N", nodes,
        "Nodes of the job, as of sbatch; so are those below.", .min = 1, .max = 1e6),
    CV_OPTION('n', "--ntasks", COUNT, "N", tasks,
        "Tasks of the job: commands at a time. Without it, whole nodes are asked for.",
        .min = 1, .max = 1e6),
    CV_OPTION('c', "--cpus-per-task", COUNT, "N", cpus,
        "Processors for each command.", .min = 1, .max = 1e6),
    CV_OPTION('t', "--time", TEXT, "TIME", time,
        "Time limit, as 30 (minutes) or 2:00:00. The job goes on in another one."),
    CV_OPTION('p', "--partition", TEXT, "NAME", partition, "Partition of the job."),
    CV_OPTION('J', "--job-name", TEXT, "NAME", name, "Name of the job. Default: cleave."),
    CV_OPTION(0, "--sbatch", REPEAT, "OPTION", more,
        "Another option of sbatch, as '--mem=64G'. May be given several times."),
};

static const struct cv_option run_options[] = {
    CV_OPTION(0, "--notice", SECONDS, "TIME", notice_s,
        "Stop so long before the time limit. Default 60 s."),
    CV_OPTION(0, "--remote", TEXT, "PROGRAM", program,
        "Where cleave is on the nodes. Default: this very program."),
};
/* clang-format on */

/* Options of sbatch that most jobs have; any other is given in the same way. */
/* clang-format off */
static const struct cv_other_tool_option foreign[] = {
    { "-A --account", "--sbatch=--account=NAME" },
    { "-q --qos", "--sbatch=--qos=NAME" },
    { "-G --gpus", "--sbatch=--gpus=N" },
    { "--gres", "--sbatch=--gres=gpu:N" },
    { "--gpus-per-node", "--sbatch=--gpus-per-node=N" },
    { "--gpus-per-task", "--sbatch=--gpus-per-task=N" },
    { "--mem", "--sbatch=--mem=SIZE" },
    { "--mem-per-cpu", "--sbatch=--mem-per-cpu=SIZE" },
    { "--ntasks-per-node", "--sbatch=--ntasks-per-node=N" },
    { "-w --nodelist", "--sbatch=--nodelist=NODES" },
    { "-x --exclude", "--sbatch=--exclude=NODES" },
    { "-C --constraint", "--sbatch=--constraint=NAME" },
    { "-d --dependency", "--sbatch=--dependency=LIST" },
    { "-D --chdir", "--sbatch=--chdir=DIR" },
    { "-e --error", "--sbatch=--error=FILE" },
    { "-L --licenses", "--sbatch=--licenses=NAMES" },
    { "--reservation", "--sbatch=--reservation=NAME" },
    { "--mail-type", "--sbatch=--mail-type=END" },
    { "--mail-user", "--sbatch=--mail-user=NAME" },
    { "--exclusive", "nothing: whole nodes are asked for unless there is -n" },
    { "-o --output", "-o FILE behind 'cleave run'; of the log: --sbatch=--output=FILE" },
    { "-a --array", "nothing: one job shares its input over all its nodes" },
    { "-i --input", "-i FILE behind 'cleave run'" },
    { NULL, NULL },
};
/* clang-format on */

/* The words after `cleave run`, and their options. */
struct job {
    const char *const *words;
    size_t nwords;
    struct cv_run_options options;
};

/* Rules about the options of `cleave run`, which checks its own when the job begins. */
static const struct cv_option_rule run_rules[] = {
    { 0, "--mpi --workers --hosts --sshlogin --hosts-file --via", CV_NEEDS, "",
      "the tasks of the job are the workers: expected none of --workers, --hosts and "
      "--mpi behind 'cleave run'" },
    { CV_RUN_CHUNKS, "--input", CV_ONE_OF, "",
      "expected --input FILE behind 'cleave run': the standard input of a job is empty" },
    { 0, "--overwrite", CV_NEEDS, "",
      "--overwrite would forget what the job had done before it was interrupted" },
    { .options = NULL },
};

/* Mistakes are reported now, not when the job starts. */
static int read_words(const struct cv_call *call, struct job *job)
{
    static const struct cv_verb run = { .groups = cv_run_groups,
                                        .presets = &cv_run_presets };
    struct cv_call inner = { .verb = &run, .values = &job->options };
    struct cv_parsed parsed;
    size_t skip = 0;

    if (skip < call->noperands && strcmp(call->operands[skip], "cleave") == 0)
        skip++;
    if (skip >= call->noperands || strcmp(call->operands[skip], "run") != 0)
        return cv_refuse("expected 'cleave run', its options and a command, got %s%s%s",
                         call->noperands > 0 ? "'" : "nothing",
                         call->noperands > 0 ? call->operands[0] : "",
                         call->noperands > 0 ? "'" : "");
    job->words = call->operands + skip + 1;
    job->nwords = call->noperands - skip - 1;
    job->options = cv_run_presets;
    CV_DO(
        cv_options_parse(cv_run_groups,
                         &(struct cv_typed){ (int)job->nwords, (char *const *)job->words,
                                             true, cv_run_foreign },
                         call->arena, &job->options, &parsed));
    if (parsed.noperands == 0)
        return cv_refuse("expected a command behind 'cleave run'");
    inner.operands = parsed.operands;
    inner.noperands = parsed.noperands;
    CV_DO(cv_options_check(&inner, run_rules,
                           cv_run_items_asked(&inner) ? CV_RUN_ITEMS : CV_RUN_CHUNKS));
    return cv_run_output_is_file(&job->options)
               ? CV_EXIT_DONE
               : cv_refuse("expected --output FILE behind 'cleave run': the standard "
                           "output of a job is its log");
}

static void add_line(struct cv_text *out, const char *name, const char *value)
{
    if (value != NULL)
        cv_text_add(out, "#SBATCH --%s=%s\n", name, value);
}

static void add_count(struct cv_text *out, const char *name, uint64_t value)
{
    if (value > 0)
        cv_text_add(out, "#SBATCH --%s=%" PRIu64 "\n", name, value);
}

static void add_head(const struct values *values, struct cv_text *out)
{
    cv_text_add(out, "#!/bin/bash\n");
    add_line(out, "job-name", values->name != NULL ? values->name : "cleave");
    add_count(out, "nodes", values->nodes);
    add_count(out, "ntasks", values->tasks);
    add_count(out, "cpus-per-task", values->cpus);
    if (values->tasks == 0)
        cv_text_add(out, "#SBATCH --exclusive\n");
    add_line(out, "time", values->time);
    add_line(out, "partition", values->partition);
    for (size_t i = 0; i < values->more.count; i++)
        cv_text_add(out, "#SBATCH %s\n", values->more.items[i]);
    cv_text_add(out, "#SBATCH --signal=B:USR1@%.0f\n", values->notice_s);
    cv_text_add(out, "#SBATCH --requeue\n#SBATCH --no-kill\n"
                     "#SBATCH --open-mode=append\n\n");
}

static void add_run(const struct values *values, const struct job *job,
                    struct cv_text *out)
{
    const struct cv_run_options *options = &job->options;
    char self[4096] = "cleave";
    struct cv_text journal = { NULL, 0, 0, false };

    (void)cv_own_program(self, sizeof self);
    cv_shell_word_add(out, values->program != NULL ? values->program : self);
    cv_text_add(out, " run%s%s", options->slurm ? "" : " --slurm",
                options->resume ? "" : " --resume");
    if (options->journal == NULL) {
        cv_text_add(&journal, "%s.journal", options->output);
        cv_text_add(out, " --journal ");
        cv_shell_word_add(out, journal.failed ? "" : journal.bytes);
    }
    for (size_t i = 0; i < job->nwords; i++) {
        cv_text_add(out, " ");
        cv_shell_word_add(out, job->words[i]);
    }
    cv_text_end(&journal, out);
}

static void add_tail(struct cv_text *out)
{
    cv_text_add(out,
                " &\n"
                "run=$!\n\n"
                "# Slurm gives notice to this script, which hands it on.\n"
                "hand_on() { told=1; kill -s \"$1\" \"$run\" 2>/dev/null; }\n"
                "trap 'hand_on USR1' USR1\n"
                "trap 'hand_on TERM' TERM\n"
                "told=1 status=127\n"
                "while [ -n \"$told\" ]; do # a notice ends wait\n"
                "    told=\n"
                "    wait \"$run\"\n"
                "    ended=$?\n"
                "    [ \"$ended\" -eq 127 ] || status=$ended\n"
                "done\n\n"
                "# %d: stopped in time; the next one does what is left.\n"
                "if [ \"$status\" -eq %d ]; then\n"
                "    scontrol requeue \"$SLURM_JOB_ID\"\n"
                "fi\n"
                "exit \"$status\"\n",
                CV_EXIT_LATER, CV_EXIT_LATER);
}

static bool is_time(const char *text)
{
    return strcasecmp(text, "unlimited") == 0 || strcasecmp(text, "infinite") == 0 ||
           (strpbrk(text, "0123456789") != NULL &&
            text[strspn(text, "0123456789:-")] == '\0');
}

static int check_lines(const struct values *values)
{
    const char *texts[] = { values->time, values->partition, values->name };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] != NULL && strpbrk(texts[i], " \t\n") != NULL)
            return cv_refuse("expected a word without blanks for a line of sbatch");
    if (values->time != NULL && !is_time(values->time))
        return cv_refuse(
            "--time: expected minutes, 2:00:00 or 1-12:00:00 (days), got '%s'",
            values->time);
    for (size_t i = 0; i < values->more.count; i++)
        if (values->more.items[i][0] != '-' ||
            strchr(values->more.items[i], '\n') != NULL)
            return cv_refuse("--sbatch: expected an option as '--mem=64G'");
    return CV_EXIT_DONE;
}

static int run(const struct cv_call *call)
{
    const struct values *values = call->values;
    struct cv_text script = { NULL, 0, 0, false };
    struct job job = { .words = NULL };

    CV_DO(check_lines(values));
    CV_DO(read_words(call, &job));
    add_head(values, &script);
    add_run(values, &job, &script);
    add_tail(&script);
    return cv_print_take(&script);
}

const struct cv_verb cv_verb_slurm_script = {
    .name = "slurm-script",
    .summary = "print a batch script for Slurm that resumes itself",
    .is_first = true,
    .description =
        "Prints a script for sbatch that runs 'cleave run --slurm' with a journal. "
        "Before its time limit, or when it is preempted, the job stops, is queued again "
        "and goes on with what is left, as often as it takes; it ends when all is done, "
        "when the work has failed, and when it has not got any further.",
    .operands = "[--] cleave run ARG...",
    .max_operands = 100000000,
    .command = true,
    .groups =
        CV_GROUPS(CV_GROUP("The job", job_options), CV_GROUP("The run", run_options)),
    .foreign = foreign,
    .examples = "cleave slurm-script -N 4 -t 2:00:00 cleave run -i examples/plan.c -o "
                "out -- wc -l\n"
                "cleave slurm-script -n 64 -p low --sbatch=--mem-per-cpu=2G cleave run "
                "-i examples/unequal.yaml -o out --split paragraph -- tr a-z A-Z",
    .presets = &presets,
    .values_size = sizeof(struct values),
    .run = run,
};
