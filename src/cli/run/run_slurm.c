/* run_slurm.c -- the nodes of a Slurm job as hosts. SPDX-License-Identifier: MIT */
#include "cli/run/run_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/helper_program.h"
#include "model/platform/generate.h"
#include "run/hosts/host_spec.h"
#include "run/hosts/joining.h"
#include "run/common/process.h"

enum { MOST_NODES = 4096, MOST_SLOTS = 65536 };

/* The nodes of the job; texts are in the arena. */
struct nodes {
    struct cleave_host *hosts;
    const char **workers; /* a name for each slot */
    size_t count;
    uint32_t slots;
    struct cv_arena *arena;
    const char *tls, *program; /* cleave-tls here, cleave on the nodes */
    bool again;                /* ask for the nodes that the job has now */
    bool binds;                /* tasks are bound to processors by default */
};

/* A variable of the job, or of a part of a heterogeneous job. */
static const char *job_variable(const char *name, int part)
{
    char whole[100];

    snprintf(whole, sizeof whole, part < 0 ? "%s" : "%s_HET_GROUP_%d", name, part);
    return getenv(whole);
}

static unsigned long number_of(const char *name, int part)
{
    const char *text = job_variable(name, part);

    return text != NULL ? strtoul(text, NULL, 10) : 0;
}

/* The next number of a list such as "4(x2),1"; 0: none. */
static uint32_t next_count(const char **list, uint32_t *left)
{
    char *end;
    unsigned long value = strtoul(*list, &end, 10), times = 1;

    if (end == *list || value == 0 || value > MOST_SLOTS)
        return 0;
    if (strncmp(end, "(x", 2) == 0) {
        times = strtoul(end + 2, &end, 10);
        end += *end == ')';
    }
    if (*left == 0)
        *left = times > 0 && times < MOST_NODES ? (uint32_t)times : 1;
    if (--*left == 0)
        *list = end + (*end == ',');
    return (uint32_t)value;
}

const char *cv_run_program(const char *given, struct cv_arena *arena)
{
    char self[4096];

    return given != NULL                       ? given
           : cv_own_program(self, sizeof self) ? cv_need_text(arena, self, "the program")
                                               : "cleave";
}

/* One job step on one node with all resources that the job has there. Unbuffered, in
 * case the worker cannot call back. */
static const char *const *srun_words(const struct nodes *nodes, const char *node,
                                     int part)
{
    struct cv_words words = { .arena = nodes->arena };

    cv_words_add(&words, nodes->tls);
    cv_words_split(&words, "relay srun --quiet --unbuffered --nodes=1 "
                           "--ntasks=1 --ntasks-per-node=1 --overlap --mpi=none --mem=0 "
                           "--job-name=cleave");
    if (nodes->binds)
        cv_words_add(&words, "--cpu-bind=none"); /* slots share the processors */
    if (part >= 0)
        cv_words_add(&words, cv_arena_print(nodes->arena, "--het-group=%d", part));
    cv_words_add(&words, "--nodelist");
    cv_words_add(&words, node);
    cv_words_add(&words, nodes->program);
    cv_words_add(&words, "worker");
    return cv_words_done(&words);
}

/* Add a node with workers NAME, or NAME.0, NAME.1, ... */
static bool add_node(struct nodes *nodes, const char *name, uint32_t slots, int part)
{
    struct cleave_host *host;

    if (nodes->count >= MOST_NODES || MOST_SLOTS - nodes->slots < slots)
        return false;
    host = &nodes->hosts[nodes->count++];
    *host = (struct cleave_host){ .name = cv_arena_text(nodes->arena, name),
                                  .link = -1,
                                  .first = nodes->slots,
                                  .slots = slots,
                                  .shared_input = true };
    host->connect = host->name != NULL ? srun_words(nodes, host->name, part) : NULL;
    for (uint32_t i = 0; i < slots; i++) {
        nodes->workers[nodes->slots] =
            slots > 1 ? cv_arena_print(nodes->arena, "%s.%u", name, i) : host->name;
        if (nodes->workers[nodes->slots++] == NULL)
            return false;
    }
    return host->connect != NULL;
}

/* The nodes that the job has now, as n[1-3]; false: Slurm does not say. */
static bool ask_nodes(struct cv_text *out)
{
    /* NOLINTNEXTLINE(cert-env33-c): the words are ours */
    FILE *answer = popen("exec squeue -h -j \"$SLURM_JOB_ID\" -o %N", "re");
    char some[4096];

    while (answer != NULL && fgets(some, sizeof some, answer) != NULL)
        cv_text_add(out, "%.*s", (int)strcspn(some, "\n"), some);
    return answer != NULL && pclose(answer) == 0 && !out->failed && out->length > 0;
}

static enum cleave_status name_nodes(const struct nodes *nodes, int part,
                                     struct cv_host_names *out, struct cleave_error *err)
{
    const char *list = job_variable("SLURM_JOB_NODELIST", part);
    struct cv_text now = { NULL, 0, 0, false };
    enum cleave_status status;

    if (nodes->again && part < 0)
        list = ask_nodes(&now) ? now.bytes : NULL;
    status = list != NULL
                 ? cv_host_list_expand(list, nodes->arena, out, err)
                 : cv_fail(err, CLEAVE_EENGINE, "%s",
                           nodes->again ? "squeue does not list the nodes of the job"
                                        : "SLURM_JOB_NODELIST is not set");
    cv_text_done(&now);
    return status;
}

/* Whether Slurm binds tasks; without a plugin that does, srun rejects --cpu-bind. */
static bool binds_tasks(void)
{
    /* NOLINTNEXTLINE(cert-env33-c): the words are ours */
    FILE *config = popen("exec scontrol show config 2>/dev/null", "re");
    char line[512];
    bool binds = false;

    while (config != NULL && fgets(line, sizeof line, config) != NULL)
        if (strncmp(line, "TaskPlugin ", 11) == 0)
            binds = strstr(line, "task/affinity") != NULL ||
                    strstr(line, "task/cgroup") != NULL;
    if (config != NULL)
        (void)pclose(config);
    return binds;
}

static int add_part(struct nodes *nodes, int part)
{
    const bool tasks = job_variable("SLURM_NTASKS", part) != NULL ||
                       job_variable("SLURM_NTASKS_PER_NODE", part) != NULL;
    const char *counts =
        job_variable(tasks ? "SLURM_TASKS_PER_NODE" : "SLURM_JOB_CPUS_PER_NODE", part);
    const unsigned long each = number_of("SLURM_CPUS_PER_TASK", part);
    struct cv_host_names names = { NULL, 0, 0 };
    uint32_t left = 0, slots = 0;
    struct cleave_error err;
    bool good = true;

    if (name_nodes(nodes, part, &names, &err) != CLEAVE_OK) {
        free(names.items);
        return cv_print_error(CV_EXIT_ENGINE, "--slurm: %s", err.text);
    }
    for (size_t i = 0; good && i < names.count; i++) {
        const uint32_t next = counts != NULL ? next_count(&counts, &left) : 0;

        if (next > 0) /* later nodes are like the last one */
            slots = !tasks && each > 1 ? (uint32_t)(next / each) : next;
        good = add_node(nodes, names.items[i], slots > 0 ? slots : 1, part);
    }
    free(names.items);
    return good ? CV_EXIT_DONE
                : cv_print_error(
                      CV_EXIT_FAILED,
                      "out of memory for the workers, or more than %d nodes or %d tasks",
                      MOST_NODES, MOST_SLOTS);
}

/* Remove variables of other job steps, which change the meaning of srun's options. */
static void forget_other_steps(void)
{
    static const char *const names[] = { "SRUN_CPUS_PER_TASK", "SLURM_EXACT",
                                         "SLURM_EXCLUSIVE",    "SLURM_NO_KILL",
                                         "SLURM_LABELIO",      "SLURM_DEBUG" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unsetenv(names[i]);
}

static int look_for_srun(void)
{
    static const char *const words[] = { "srun", NULL };
    struct cv_command command;
    struct cleave_error err;

    if (cv_command_init(&command, NULL, words, &err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_ENGINE, "--slurm: nodes are reached by srun: %s",
                              err.text);
    cv_command_done(&command);
    return CV_EXIT_DONE;
}

int cv_run_slurm_crew(const struct cv_reach *reach, bool again,
                      struct cv_worker_list *out)
{
    struct nodes nodes = { .again = again,
                           .arena = reach->arena,
                           .binds = binds_tasks() };
    const unsigned long parts = number_of("SLURM_HET_SIZE", -1);
    struct cleave_error err;
    char tls[4096];
    int status = CV_EXIT_DONE;

    *out = (struct cv_worker_list){ 0 };
    if (cv_tls_program(tls, sizeof tls, &err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_ENGINE, "--slurm: %s", err.text);
    nodes.program = cv_run_program(reach->program, reach->arena);
    nodes.tls = cv_arena_text(reach->arena, tls);
    nodes.hosts = cv_array(reach->arena, MOST_NODES, sizeof *nodes.hosts);
    nodes.workers = cv_array(reach->arena, MOST_SLOTS, sizeof *nodes.workers);
    if (nodes.hosts == NULL || nodes.workers == NULL || nodes.tls == NULL)
        return cv_no_memory("the workers");
    forget_other_steps();
    status = look_for_srun();
    if (status == CV_EXIT_DONE && parts <= 1)
        status = add_part(&nodes, -1);
    for (unsigned long i = 0; parts > 1 && i < parts && status == CV_EXIT_DONE; i++)
        status = add_part(&nodes, (int)i);
    if (status == CV_EXIT_DONE &&
        cv_nominal_platform(CV_NOMINAL_RANK, nodes.workers, nodes.slots, &out->platform,
                            &err) != CLEAVE_OK)
        status = cv_print_status(&err);
    out->hosts = nodes.hosts;
    out->nhosts = nodes.count;
    return status;
}

/* Processes that srun has started with these words; 1 for an interactive shell. */
static unsigned long started_together(void)
{
    const unsigned long tasks = number_of("SLURM_STEP_NUM_TASKS", -1);

    return getenv("SLURM_STEP_ID") != NULL && tasks > 1 && !isatty(STDIN_FILENO) ? tasks
                                                                                 : 1;
}

unsigned long cv_run_slurm_task(void)
{
    return getenv("SLURM_STEP_ID") != NULL ? number_of("SLURM_PROCID", -1) : 0;
}

/* Warn if nodes of the job are idle. */
static void note_idle_nodes(const struct cv_run_options *values)
{
    const unsigned long nodes = number_of("SLURM_JOB_NUM_NODES", -1);

    if (nodes > 1 && !values->slurm && !values->mpi && !cv_hosts_asked(values) &&
        values->workers == NULL && getenv("SLURM_STEP_ID") == NULL && !values->quiet &&
        !values->json)
        cv_print_note("this Slurm job has %lu nodes, and only this machine works: "
                      "--slurm lets all of them; -j N says that it is meant so",
                      nodes);
}

int cv_run_slurm_check(const struct cv_run_options *values)
{
    const unsigned long tasks = started_together();

    if (values->slurm && getenv("SLURM_JOB_ID") == NULL)
        return cv_refuse("--slurm: not inside a Slurm job; type 'salloc -N 2 cleave run "
                         "--slurm ...', or use 'cleave batch-script slurm'");
    if (tasks > 1 && !values->mpi && !cv_hosts_asked(values) && values->workers == NULL)
        return cv_run_slurm_task() > 0
                   ? CV_EXIT_USAGE
                   : cv_refuse("srun has started %lu copies, and each would do all of "
                               "the work: type 'cleave run --slurm' without srun, or "
                               "'srun --mpi=pmi2 cleave run --mpi' (MPICH; --mpi=pmix: "
                               "Open MPI), or --workers N if each copy has its own input",
                               tasks);
    note_idle_nodes(values);
    return CV_EXIT_DONE;
}
