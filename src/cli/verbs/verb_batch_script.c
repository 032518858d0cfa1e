/* verb_batch_script.c -- cleave batch-script and cleave slurm-script. SPDX-License-Identifier: MIT
 *
 * For Slurm, a script around `cleave run --slurm`: before the time limit, and when the
 * job is preempted, the run gets a signal to stop; its journal has the finished chunks,
 * the job returns to the queue and resumes from there. For other systems, a script around
 * `cleave run --listen` that starts `cleave join` on the other nodes of the job. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/helper_program.h"
#include "base/shell_word.h"
#include "cli/run/run_parts.h"
#include "run/hosts/joining.h"

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
        "Nodes of the job (slurm, pbs), or workers (htcondor).", .min = 1, .max = 1e6),
    CV_OPTION('n', "--ntasks", COUNT, "N", tasks,
        "Commands at a time (slurm, sge, lsf). Without it, slurm gives whole nodes.",
        .min = 1, .max = 1e6),
    CV_OPTION('c', "--cpus-per-task", COUNT, "N", cpus,
        "Processors for each command (slurm), node (pbs) or worker (htcondor).",
        .min = 1, .max = 1e6),
    CV_OPTION('t', "--time", TEXT, "TIME", time,
        "Time limit, as 30 (minutes) or 2:00:00. A slurm job is queued again."),
    CV_OPTION('p', "--partition", TEXT, "NAME", partition,
        "Partition or queue of the job."),
    CV_OPTION('J', "--job-name", TEXT, "NAME", name, "Name of the job. Default: cleave."),
    CV_OPTION(0, "--submit", REPEAT, "OPTION", more,
        "Add another option of the batch system. For sbatch '--mem=64G' is one, for qsub "
        "'-pe mpi 16'. May be given several times."),
    CV_OPTION(0, "--sbatch", REPEAT, "OPTION", more, "As --submit."),
};

static const struct cv_option run_options[] = {
    CV_OPTION(0, "--notice", SECONDS, "TIME", notice_s,
        "Stop a slurm job this long before its time limit. Default 60 s."),
    CV_OPTION(0, "--remote", TEXT, "PROGRAM", program,
        "Path of cleave on the nodes. Default: this program."),
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
    { "-o --output", "-o FILE after 'cleave run'; for the log: --sbatch=--output=FILE" },
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
      "--mpi after 'cleave run'" },
    { CV_RUN_CHUNKS, "--input", CV_ONE_OF, "",
      "expected --input FILE after 'cleave run': the standard input of a job is empty" },
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
        return cv_refuse("expected a command after 'cleave run'");
    inner.operands = parsed.operands;
    inner.noperands = parsed.noperands;
    CV_DO(cv_options_check(&inner, run_rules,
                           cv_run_items_asked(&inner) ? CV_RUN_ITEMS : CV_RUN_CHUNKS));
    return cv_run_output_is_file(&job->options)
               ? CV_EXIT_DONE
               : cv_refuse("expected --output FILE after 'cleave run': the standard "
                           "output of a job is its log");
}

/* Formats have one value each; NULL: the system has no such option. */
struct batch_system {
    const char *name, *prefix;
    const char *job_name, *nodes, *tasks, *cpus, *alone, *time, *queue;
    const char *more;   /* lines of every script */
    const char *begin;  /* words of the shell: set `id`, a number; NULL: Slurm */
    const char *list;   /* prints NODE SLOTS, a line for each node */
    const char *launch; /* before NODE and a command */
};

static const struct batch_system systems[] = {
    { "slurm", "#SBATCH ", "--job-name=%s", "--nodes=%s", "--ntasks=%s",
      "--cpus-per-task=%s", "--exclusive%s", "--time=%s", "--partition=%s",
      "#SBATCH --requeue\n#SBATCH --no-kill\n#SBATCH --open-mode=append\n", NULL, NULL,
      NULL },
    { "pbs", "#PBS ", "-N %s", "-l select=%s", NULL, ":ncpus=%s", NULL, "-l walltime=%s",
      "-q %s", "#PBS -r y\n", "cd \"$PBS_O_WORKDIR\" || exit\nid=${PBS_JOBID%%[!0-9]*}\n",
      "sort -u \"$PBS_NODEFILE\" | sed \"s/\\$/ ${NCPUS:-1}/\"", "pbs_tmrsh" },
    { "sge", "#$ ", "-N %s", NULL, "-pe mpi %s", NULL, NULL, "-l h_rt=%s", "-q %s",
      "#$ -cwd\n#$ -S /bin/bash\n#$ -r y\n", "id=$JOB_ID\n",
      "awk '{ print $1, $2 }' \"$PE_HOSTFILE\"", "qrsh -inherit -nostdin" },
    { "lsf", "#BSUB ", "-J %s", NULL, "-n %s", NULL, NULL, "-W %s", "-q %s", "#BSUB -r\n",
      "id=$LSB_JOBID\n", "echo \"$LSB_MCPU_HOSTS\" | xargs -n 2", "blaunch" },
    { "htcondor", NULL, "%s", "%s", NULL, "%s", NULL, NULL, NULL, NULL, "id=$$\n", NULL,
      NULL },
};

static const struct batch_system *find_system(const char *name)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (strcmp(systems[i].name, name) == 0)
            return &systems[i];
    return NULL;
}

static const char *number(uint64_t value, char out[24])
{
    snprintf(out, 24, "%" PRIu64, value);
    return value > 0 ? out : NULL;
}

static void add_directives(const struct values *values, const struct batch_system *system,
                           struct cv_text *out)
{
    const bool one = values->nodes == 0 && values->cpus > 0 && system->cpus[0] == ':';
    char nodes[24], tasks[24], cpus[24];
    const struct {
        const char *format, *value;
    } lines[] = {
        { system->job_name, values->name != NULL ? values->name : "cleave" },
        { system->nodes, number(one ? 1 : values->nodes, nodes) },
        { system->tasks, number(values->tasks, tasks) },
        { system->cpus, number(values->cpus, cpus) },
        { system->alone, values->tasks == 0 ? "" : NULL },
        { system->time, values->time },
        { system->queue, values->partition },
    };

    cv_text_add(out, "#!/bin/bash");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *format = lines[i].value != NULL ? lines[i].format : NULL;

        if (format != NULL && format[0] != ':')
            cv_text_add(out, "\n%s", system->prefix);
        if (format != NULL)
            cv_text_add(out, "%.*s%s", (int)(strstr(format, "%s") - format), format,
                        lines[i].value);
    }
    cv_text_add(out, "\n");
    for (size_t i = 0; i < values->more.count; i++)
        cv_text_add(out, "%s%s\n", system->prefix, values->more.items[i]);
    if (system->begin == NULL)
        cv_text_add(out, "#SBATCH --signal=B:USR1@%.0f\n", values->notice_s);
    cv_text_add(out, "%s\n", system->more);
}

static void add_run_words(const struct job *job, struct cv_text *out)
{
    const struct cv_run_options *options = &job->options;
    struct cv_text journal = { NULL, 0, 0, false };

    cv_text_add(out, "%s", options->resume ? "" : " --resume");
    if (options->journal == NULL) {
        cv_text_add(&journal, "%s.journal", options->output);
        cv_text_add(out, " --journal ");
        cv_shell_word_add(out, journal.failed ? "" : journal.bytes);
    }
    cv_shell_words_append(out, job->words, job->nwords);
    cv_text_end(&journal, out);
}

static void add_tail(bool requeue, struct cv_text *out)
{
    cv_text_add(out,
                " &\n"
                "run=$!\n\n"
                "# The batch system gives notice to this script, which hands it on.\n"
                "hand_on() { told=1; kill -s \"$1\" \"$run\" 2>/dev/null; }\n"
                "trap 'hand_on USR1' USR1\n"
                "trap 'hand_on TERM' TERM\n"
                "told=1 status=127\n"
                "while [ -n \"$told\" ]; do # a notice ends wait\n"
                "    told=\n"
                "    wait \"$run\"\n"
                "    ended=$?\n"
                "    [ \"$ended\" -eq 127 ] || status=$ended\n"
                "done\n\n");
    if (requeue)
        cv_text_add(
            out,
            "# %d: stopped in time; the next job does the rest.\nif [ \"$status\" -eq %d "
            "]; then\n    scontrol requeue \"$SLURM_JOB_ID\"\nfi\n",
            CV_EXIT_LATER, CV_EXIT_LATER);
    cv_text_add(out, "exit \"$status\"\n");
}

/* --- systems without --slurm ------------------------------------------------------------ */

/* The run works on the first node, and a worker on each other one. */
static void add_nodes(const struct batch_system *system, struct cv_text *out)
{
    cv_text_add(
        out,
        "slots=1\n"
        "while read -r node count; do\n"
        "    case $node in\n"
        "    \"$here\" | \"${here%%%%.*}\" | \"${here%%%%.*}\".*) slots=$count ;;\n"
        "    *) %s \"$node\" \"$cleave\" join \"$here:$port\" --key \"$key\" "
        "-j \"$count\" </dev/null & ;;\n"
        "    esac\n"
        "done < <(%s)\n\n",
        system->launch, system->list);
}

/* Each worker is a job that gets the program and the key. */
static void add_condor(const struct values *values, struct cv_text *out)
{
    cv_text_add(out,
                "jobs=$(condor_submit -terse <<END\n"
                "batch_name = %s\n"
                "executable = /bin/sh\n"
                "transfer_executable = false\n"
                "arguments = \"-c 'chmod 600 ${key##*/}; exec ./${cleave##*/} join "
                "$here:$port --key ${key##*/} -j %" PRIu64 "'\"\n"
                "transfer_input_files = $cleave, $tls, $key\n"
                "should_transfer_files = YES\n"
                "transfer_output_files = \"\"\n"
                "request_cpus = %" PRIu64 "\n",
                values->name != NULL ? values->name : "cleave",
                values->cpus > 0 ? values->cpus : 1, values->cpus > 0 ? values->cpus : 1);
    for (size_t i = 0; i < values->more.count; i++)
        cv_text_add(out, "%s\n", values->more.items[i]);
    cv_text_add(out,
                "queue %" PRIu64 "\n"
                "END\n"
                ") || exit\n"
                "trap 'rm -f \"$key\"; condor_rm \"${jobs%%%%.*}\" >/dev/null' EXIT\n"
                "slots=1\n\n",
                values->nodes > 0 ? values->nodes : 1);
}

static int add_joined(const struct cv_call *call, const struct batch_system *system,
                      const struct job *job, struct cv_text *out)
{
    const struct values *values = call->values;
    char tls[4096];
    struct cleave_error err;

    if (cv_tls_program(tls, sizeof tls, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    if (system->prefix != NULL)
        add_directives(values, system, out);
    else
        cv_text_add(out, "#!/bin/bash\n");
    cv_text_add(out, "%scleave=", system->begin);
    cv_shell_word_add(out, cv_run_program(values->program, call->arena));
    if (system->prefix == NULL) {
        cv_text_add(out, " tls=");
        cv_shell_word_add(out, tls);
    }
    cv_text_add(out, " here=$(hostname) port=$((20000 + id %% 20000)) "
                     "key=$PWD/.cleave-$id.key\n"
                     "rm -f \"$key\" # of a job that was killed and begins again\n"
                     "trap 'rm -f \"$key\"; kill $(jobs -p) 2>/dev/null' EXIT\n"
                     "\"$cleave\" keygen \"$key\" || exit\n\n");
    if (system->prefix != NULL)
        add_nodes(system, out);
    else
        add_condor(values, out);
    cv_text_add(out,
                "\"$cleave\" run -j \"$slots\" --listen \"$here:$port\" --key "
                "\"$key\"%s",
                system->prefix != NULL && job->options.work_directory == NULL
                    ? " --workdir \"$PWD\""
                    : "");
    add_run_words(job, out);
    add_tail(false, out);
    return CV_EXIT_DONE;
}

static int check_system(const struct values *values, const struct batch_system *system)
{
    const struct {
        const char *option, *format;
        bool given;
    } options[] = {
        { "--nodes", system->nodes, values->nodes > 0 },
        { "--ntasks", system->tasks, values->tasks > 0 },
        { "--cpus-per-task", system->cpus, values->cpus > 0 },
        { "--time", system->time, values->time != NULL },
        { "--partition", system->queue, values->partition != NULL },
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && options[i].format == NULL)
            return cv_refuse("%s: a script for %s has no such option; --submit takes the "
                             "system's own",
                             options[i].option, system->name);
    return CV_EXIT_DONE;
}

static bool is_time(const char *text)
{
    return strcasecmp(text, "unlimited") == 0 || strcasecmp(text, "infinite") == 0 ||
           (strpbrk(text, "0123456789") != NULL &&
            text[strspn(text, "0123456789:-")] == '\0');
}

static int check_lines(const struct values *values, bool options)
{
    const char *texts[] = { values->time, values->partition, values->name };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] != NULL && strpbrk(texts[i], " \t\n") != NULL)
            return cv_refuse(
                "expected a word without blanks for an option of the batch system");
    if (values->time != NULL && !is_time(values->time))
        return cv_refuse(
            "--time: expected minutes, 2:00:00 or 1-12:00:00 (days), got '%s'",
            values->time);
    for (size_t i = 0; i < values->more.count; i++)
        if ((options && values->more.items[i][0] != '-') ||
            strchr(values->more.items[i], '\n') != NULL)
            return cv_refuse("--submit: expected an option as '--mem=64G'");
    return CV_EXIT_DONE;
}

/* `words`: the call without the name of the system. */
static int print_script(const struct cv_call *words, const struct batch_system *system)
{
    const struct values *values = words->values;
    struct cv_text script = { NULL, 0, 0, false };
    struct job job = { .words = NULL };

    CV_DO(check_system(values, system));
    CV_DO(check_lines(values, system->prefix != NULL));
    CV_DO(read_words(words, &job));
    if (system->begin != NULL) {
        CV_DO(add_joined(words, system, &job, &script));
        return cv_print_take(&script);
    }
    add_directives(values, system, &script);
    cv_shell_word_add(&script, cv_run_program(values->program, words->arena));
    cv_text_add(&script, " run%s", job.options.slurm ? "" : " --slurm");
    add_run_words(&job, &script);
    add_tail(true, &script);
    return cv_print_take(&script);
}

static int run_slurm(const struct cv_call *call)
{
    return print_script(call, &systems[0]);
}

static int run(const struct cv_call *call)
{
    const char *name = call->noperands > 0 ? call->operands[0] : "";
    const struct batch_system *system = find_system(name);
    struct cv_call words = *call;

    words.operands++;
    words.noperands--;
    return system != NULL
               ? print_script(&words, system)
               : cv_refuse("expected slurm, pbs, sge, lsf or htcondor, got '%s'", name);
}

const struct cv_verb cv_verb_batch_script = {
    .name = "batch-script",
    .summary = "print a script that runs cleave under a batch system",
    .is_first = true,
    .description =
        "Prints a script for SYSTEM, one of slurm (sbatch), pbs, sge (qsub), lsf (bsub) "
        "and htcondor: a run with a journal on all nodes of the job. With slurm the "
        "nodes are reached by srun, and the job is queued again before its time limit "
        "until all is done. With the other systems the run listens with a new key, and "
        "the script starts 'cleave join' on the other nodes; they have to see the "
        "directory of the script. For htcondor it is a script for bash on the submitting "
        "machine, where the run is, and each worker is a job.",
    .operands = "SYSTEM [--] cleave run ARG...",
    .max_operands = 100000000,
    .command = true,
    .groups =
        CV_GROUPS(CV_GROUP("The job", job_options), CV_GROUP("The run", run_options)),
    .foreign = foreign,
    .examples =
        "cleave batch-script -N 4 -t 2:00:00 slurm cleave run -i examples/plan.c -o "
        "out -- wc -l\n"
        "cleave batch-script -n 64 sge cleave run -i examples/unequal.yaml -o out "
        "--split paragraph -- tr a-z A-Z",
    .presets = &presets,
    .values_size = sizeof(struct values),
    .run = run,
};

const struct cv_verb cv_verb_slurm_script = {
    .name = "slurm-script",
    .summary = "the same as 'cleave batch-script slurm'",
    .description = "Prints what 'cleave batch-script slurm' prints.",
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
    .run = run_slurm,
};
