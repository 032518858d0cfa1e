/* job_options.c -- parameters, engines, topologies and traces that verbs share.
 * SPDX-License-Identifier: MIT */
#include "cli/common/job_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cleave/simgrid.h>
#include "base/shell_word.h"
#include "io/platform_file.h"

int cv_settings_text(struct cv_settings *settings, const char *key, const char *value)
{
    if (value == NULL)
        return CV_EXIT_DONE;
    for (size_t i = 0; i < settings->count; i++)
        if (strcmp(settings->items[i].key, key) == 0)
            return cv_refuse("parameter '%s' is given twice", CV_ECHO(key));
    settings->items[settings->count++] = (struct cleave_setting){ key, value };
    return CV_EXIT_DONE;
}

int cv_settings_number(struct cv_settings *settings, const char *key, double value)
{
    const char *kept;

    if (value == 0)
        return CV_EXIT_DONE;
    kept = cv_arena_print(settings->arena, "%.17g", value);
    return kept != NULL ? cv_settings_text(settings, key, kept)
                        : cv_no_memory("the parameters");
}

int cv_settings_open(struct cv_settings *settings, const struct cv_strings *params,
                     size_t more, struct cv_arena *arena)
{
    *settings = (struct cv_settings){ cv_need(arena, params->count + more,
                                              sizeof *settings->items, "the parameters"),
                                      0, arena };
    for (size_t i = 0; i < params->count; i++) {
        char *key = cv_need_text(arena, params->items[i], "the parameters");
        char *equals = strchr(key, '=');

        if (equals == NULL || equals == key || equals[1] == '\0')
            return cv_refuse("--param: expected KEY=VALUE, got '%s'", CV_ECHO(key));
        *equals = '\0';
        CV_DO(cv_settings_text(settings, key, equals + 1));
    }
    return CV_EXIT_DONE;
}

static int add_named(enum cleave_task task, const char *name,
                     const struct cleave_policy **policies, size_t *count)
{
    const struct cleave_policy *policy;
    struct cleave_error err;

    if (cleave_policy_find(task, name, &policy, &err) != CLEAVE_OK)
        return cv_refuse("--policies: %s", err.text);
    for (size_t i = 0; i < *count; i++) {
        if (policies[i] == policy)
            return cv_refuse("--policies: '%s' is named twice", name);
    }
    policies[(*count)++] = policy;
    return CV_EXIT_DONE;
}

int cv_policies_choose(enum cleave_task task, const char *list, const char *example,
                       struct cv_arena *arena, const struct cleave_policy ***out,
                       size_t *out_count)
{
    const size_t all = cleave_policy_count();
    const struct cleave_policy **policies =
        cv_need(arena, all + 1, sizeof(void *), "the policies");
    char *copy = cv_need_text(arena, list != NULL ? list : "", "the policies");
    char *rest, *name;
    size_t count = 0;
    int status = CV_EXIT_DONE;

    for (size_t i = 0; list == NULL && i < all; i++) {
        if (cleave_policy_at(i)->task == task)
            policies[count++] = cleave_policy_at(i);
    }
    for (name = strtok_r(copy, ",", &rest); name != NULL && status == CV_EXIT_DONE;
         name = strtok_r(NULL, ",", &rest))
        status = add_named(task, name, policies, &count);
    if (status == CV_EXIT_DONE && count == 0)
        return cv_refuse("--policies: expected names such as %s", example);
    *out = policies;
    *out_count = count;
    return status;
}

int cv_platform_save(const struct cleave_platform *platform,
                     const struct cv_host_fields *hosts, const char *comment,
                     const char *output, bool force)
{
    struct cv_output_file out;
    struct cleave_error err;
    bool failed;

    CV_DO(cv_output_open(&out, "--output", output != NULL ? output : "-",
                         force ? 0 : CV_NEW_FILE_ONLY));
    failed = cv_platform_write(platform, hosts, comment, out.file, &err) != CLEAVE_OK;
    if (failed &&
        out.file != stdout) /* an error of stdout is printed when it is closed */
        cv_print_note("--output: %s", err.text);
    return cv_output_close(&out, failed);
}

const struct cv_engine_fact cv_engines[CV_ENGINES] = {
    { "native", "the built-in simulator: fast, seeded, the same on any number of threads",
      NULL },
    { "simgrid", "SimGrid, in a separate process: topologies whose links are shared",
      cleave_simgrid_find },
};

bool cv_engine_is_here(const struct cv_engine_fact *engine)
{
    return engine->find == NULL || engine->find(NULL, 0, NULL) == CLEAVE_OK;
}

static const char *engine_name(const void *context, size_t index)
{
    (void)context;
    return cv_engines[index].name;
}

int cv_engine_check(const char *name)
{
    size_t i = 0;

    if (name == NULL)
        return CV_EXIT_DONE;
    CV_DO(cv_name_find("--engine: unknown engine", name, CV_ENGINES, engine_name, NULL,
                       &i));
    if (cv_engines[i].find != NULL)
        CV_CALL(cv_engines[i].find(NULL, 0, &err));
    return CV_EXIT_DONE;
}

const char *cv_engine_used(const char *engine, const struct cv_topology_options *options)
{
    if (engine != NULL)
        return engine;
    return options->file != NULL ? "simgrid" : "native";
}

void cv_engine_line(const char *engine, const struct cv_topology_options *options,
                    struct cv_text *text)
{
    engine = cv_engine_used(engine, options);
    if (strcmp(engine, "native") == 0)
        return;
    cv_text_add(text, "engine    %s", engine);
    if (options->file != NULL)
        cv_text_add(text, " on %s", CV_ECHO(options->file));
    cv_text_add(text, "\n");
}

static int read_hosts(const char *text, struct cv_arena *arena,
                      struct cleave_simgrid *out)
{
    char *rest = cv_need_text(arena, text, "the hosts");
    const char **names =
        cv_need(arena, strlen(text) / 2 + 1, sizeof(const char *), "the hosts");
    uint32_t i = 0;

    for (; rest != NULL; i++) {
        names[i] = strsep(&rest, ",");
        if (names[i][0] == '\0')
            return cv_refuse("--worker-hosts: expected names such as a,b,c, got '%s'",
                             CV_ECHO(text));
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return cv_refuse("--worker-hosts: '%s' is there twice",
                                 CV_ECHO(names[i]));
    }
    out->workers = names;
    out->nworkers = i;
    return CV_EXIT_DONE;
}

static int fill(const struct cv_topology_options *options, struct cv_arena *arena,
                struct cleave_simgrid *out)
{
    if (access(options->file, R_OK) != 0)
        return cv_refuse("--topology: cannot read '%s': %s", CV_ECHO(options->file),
                         strerror(errno));
    out->topology = options->file;
    out->master = options->master;
    out->unit_bytes = options->unit_bytes;
    out->unit_flops = options->unit_flops;
    out->partial_bytes = options->partial_bytes;
    out->nworkers = (uint32_t)options->count;
    return options->workers == NULL ? CV_EXIT_DONE
                                    : read_hosts(options->workers, arena, out);
}

int cv_topology_open(const char *engine, const struct cv_topology_options *options,
                     struct cv_arena *arena, const struct cleave_simgrid **out)
{
    struct cleave_simgrid *simgrid;

    *out = NULL;
    engine = cv_engine_used(engine, options);
    if (options->file != NULL && strcmp(engine, "native") == 0)
        return cv_refuse("--engine: a topology is for simgrid; native has only the star "
                         "of the platform file");
    CV_DO(cv_engine_check(engine));
    if (strcmp(engine, "simgrid") != 0)
        return CV_EXIT_DONE;
    simgrid = cv_need(arena, 1, sizeof *simgrid, "the topology");
    *out = simgrid;
    return options->file == NULL ? CV_EXIT_DONE : fill(options, arena, simgrid);
}

int cv_topology_platform(const struct cv_topology_options *options,
                         const struct cleave_simgrid *simgrid,
                         struct cleave_platform **out)
{
    static const char *const ports[] = {
        [CLEAVE_PORT_ONE] = "one",
        [CLEAVE_PORT_DUPLEX] = "duplex",
        [CLEAVE_PORT_MULTI] = "multi",
    };
    char left_out[4096] = "";
    struct cleave_simgrid measured = *simgrid;
    char *lines = left_out, *line;
    int port = CLEAVE_PORT_ONE;

    if (options->port != NULL)
        CV_DO(cv_word_read("--port", options->port, ports, 3, &port));
    measured.left_out = left_out;
    measured.left_out_size = sizeof left_out;
    CV_CALL(cleave_simgrid_measure(&measured, (enum cleave_port)port, out, &err));
    while ((line = strsep(&lines, "\n")) != NULL && line[0] != '\0')
        cv_print_note("left out %s", line);
    return CV_EXIT_DONE;
}

void cv_command_line(const struct cv_call *call, struct cv_text *out)
{
    cv_text_add(out, "cleave %s", call->verb->name);
    cv_shell_words_append(out, (const char *const *)call->words, (size_t)call->nwords);
}

int cv_trace_add_facts(struct cleave_trace *trace, const struct cleave_trace_facts *facts)
{
    if (trace != NULL)
        CV_CALL(cleave_trace_describe(trace, facts, &err));
    return CV_EXIT_DONE;
}

int cv_trace_call(struct cleave_trace *trace, const struct cv_call *call)
{
    struct cv_text line = { NULL, 0, 0, false };
    int status;

    if (trace == NULL)
        return CV_EXIT_DONE;
    cv_command_line(call, &line);
    status = line.failed ? cv_no_memory("the trace")
                         : cv_trace_add_facts(trace, &(struct cleave_trace_facts){
                                                         .command = line.bytes });
    cv_text_done(&line);
    return status;
}

int cv_trace_plan_facts(struct cleave_trace *trace, const struct cleave_job *job)
{
    struct cleave_job plain = *job;
    struct cleave_schedule *schedule;
    int status;

    plain.trace = NULL;
    plain.simgrid = NULL; /* workers are left out by their declared costs */
    CV_CALL(cleave_plan_load(&plain, &schedule, &err));
    status = cv_trace_add_facts(trace, &(struct cleave_trace_facts){
                                           .picked = schedule->picked,
                                           .why = schedule->why,
                                           .left_out = schedule->left_out,
                                           .nleft_out = schedule->nleft_out });
    cleave_schedule_free(schedule);
    return status;
}

int cv_trace_write(const char *path, const struct cv_trace_context *context)
{
    struct cv_output_file out;
    struct cleave_error err;
    bool failed;
    /* A trace has the command line, which may be secret. */

    CV_DO(cv_output_open(&out, "--trace", path, CV_NEW_FILE_SECRET));
    failed =
        cv_trace_export(context, cv_trace_format_of(path), out.file, &err) != CLEAVE_OK;
    if (failed)
        cv_print_note("--trace: %s", err.text);
    return cv_output_close(&out, failed);
}
