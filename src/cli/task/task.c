/* task.c -- the flows of plan and simulate, and what the texts of tasks share.
 * SPDX-License-Identifier: MIT */
#include "cli/task/task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cli/task/load_task.h"
#include "io/platform_file.h"
#include "run/hosts/leader_spec.h"

enum { DEFAULT_RUNS = 1000 };

const struct cv_task_options cv_task_presets = {
    .seed = 1,
    .gantt = 1,
    .deadline_s = -1,
    .budget = -1,
    .remote = 1,
    .model = "fresh",
    .tree = 1,
    .streams = 1,
    .period = "auto",
    .theta = 0.5,
    .weights = "own",
    .effort = 2,
    .declared = 1,
};

int cv_task_platform(struct cv_task_call *task, const struct cleave_simgrid *simgrid,
                     struct cleave_platform **out)
{
    const struct cv_task_options *options = task->options;
    const char *path = options->platform;
    struct cv_platform_view how = { .as = NULL };
    struct cv_via via;

    if (path == NULL)
        return cv_topology_platform(&options->where, simgrid, out);
    CV_CALL(cv_via_read_names(options->via.items, options->via.count, task->arena, &via,
                              &err));
    how.rules = via.rules;
    how.nrules = via.count;
    CV_CALL(cv_platform_load_as(strcmp(path, "-") == 0 ? "/dev/stdin" : path, &how, out,
                                &err));
    return CV_EXIT_DONE;
}

int cv_task_trial(struct cv_task_call *task, const struct cv_task_options *options)
{
    struct cleave_trial *trial = &task->trial;
    struct cleave_error err;

    trial->runs = options->runs > 0 ? options->runs : DEFAULT_RUNS;
    trial->threads = (unsigned)options->threads;
    trial->noise = (struct cleave_noise){ CLEAVE_NOISE_NONE, 0 };
    snprintf(task->noise, sizeof task->noise, "none");
    if (options->noise != NULL) {
        if (cleave_noise_parse(options->noise, &trial->noise, &err) != CLEAVE_OK)
            return cv_refuse("--noise: %s", err.text);
        snprintf(task->noise, sizeof task->noise, "%.40s", CV_ECHO(options->noise));
    } else if (options->error > 0) {
        trial->noise = (struct cleave_noise){ CLEAVE_NOISE_NORMAL, options->error };
        snprintf(task->noise, sizeof task->noise, "normal:%g", options->error);
    }
    return CV_EXIT_DONE;
}

static int show(struct cv_task_call *task, const struct cv_task_part *part)
{
    struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_json json;

    if (task->options->json) {
        cv_result_open(&json);
        part->json(task, &json);
        return cv_result_close(&json);
    }
    part->text(task, &screen, &text);
    return cv_print_take(&text);
}

/* Make a result, show it and save the trace. */
static int carry_out(struct cv_task_call *task, const struct cv_task_part *part)
{
    struct cv_progress progress;
    int status;

    CV_DO(task->kind->open(task));
    CV_DO(cv_trace_call(task->trace, task->call));
    if (part == task->kind->simulated)
        CV_DO(cv_task_trial(task, task->options));
    if (task->instead != NULL)
        part = task->instead;
    cv_progress_init(&progress, "simulating", task->trial.runs);
    task->trial.progress = cv_progress_show;
    task->trial.context = &progress;
    status = part->make != NULL ? part->make(task) : CV_EXIT_DONE;
    cv_progress_done(&progress);
    if (status != CV_EXIT_DONE)
        return status;
    CV_DO(show(task, part));
    if (task->options->trace == NULL)
        return CV_EXIT_DONE;
    task->traced.trace = task->trace;
    CV_DO(cv_trace_add_facts(task->trace, &task->facts));
    return cv_trace_write(task->options->trace, &task->traced);
}

static int plan(struct cv_task_call *task)
{
    return carry_out(task, task->kind->planned);
}

static int simulate(struct cv_task_call *task)
{
    return carry_out(task, task->kind->simulated);
}

int cv_task_run(const struct cv_call *call, size_t offset,
                int (*flow)(struct cv_task_call *task))
{
    const void *kind = (const char *)call->verb - offset;
    struct cv_task_call task = {
        .call = call, .kind = kind, .options = call->values, .arena = call->arena
    };
    struct cleave_error err;
    int status;

    task.job = cv_need(call->arena, 1, task.kind->job_size, "the job");
    status =
        task.options->trace != NULL && cleave_trace_new(&task.trace, &err) != CLEAVE_OK
            ? cv_print_status(&err)
            : flow(&task);
    task.kind->close(&task);
    cleave_trace_free(task.trace);
    return status;
}

int cv_task_plan(const struct cv_call *call)
{
    return cv_task_run(call, offsetof(struct cv_task_kind, plan), plan);
}

int cv_task_simulate(const struct cv_call *call)
{
    return cv_task_run(call, offsetof(struct cv_task_kind, simulate), simulate);
}

double cv_over(double time_s, double bound_s)
{
    const double over = bound_s > 0 ? time_s / bound_s - 1 : 0;

    return fabs(over) < 1e-9 ? 0 : over;
}

void cv_add_hidden(uint64_t hidden, const char *noun, struct cv_text *out)
{
    if (hidden > 0)
        cv_text_add(out, "  and %s; --all-workers lists them\n",
                    CV_COUNTED(hidden, noun));
}

void cv_add_table(struct cv_table *table, const struct cv_screen *screen,
                  struct cv_text *out)
{
    cv_text_add(out, "\n");
    cv_table_take(table, screen->colour, screen->width, out);
}

void cv_policy_line(const char *policy, const char *picked, const char *why, size_t width,
                    struct cv_text *out)
{
    struct cv_text line = { NULL, 0, 0, false };

    cv_text_add(&line, "%s", picked != NULL ? picked : policy);
    if (picked != NULL)
        cv_text_add(&line, ", picked by %s", policy);
    if (why != NULL)
        cv_text_add(&line, ": %s", why);
    cv_text_add(out, "policy    ");
    if (line.failed)
        out->failed = true;
    else
        cv_wrap(out, line.bytes, 10, 10, width);
    cv_text_add(out, "\n");
    cv_text_done(&line);
}

/* A line from the shortest run to the longest, thick where eight of ten runs lie:
 *     |-----======#=====--------| */
static void add_spread(const struct cleave_stats *stats, const struct cv_screen *screen,
                       struct cv_text *out)
{
    static const char *const ascii[] = { "-", "=", "#" };
    static const char *const utf8[] = { "\u2500", "\u2501", "\u2588" };
    const char *const *marks = screen->utf8 ? utf8 : ascii;
    const unsigned width = (screen->width < 100 ? screen->width : 100) - 14;
    const double span = stats->most_s - stats->least_s;
    char min[CV_NUMBER_ROOM], max[CV_NUMBER_ROOM];
    int pad;

    if (!(span > 0))
        return;
    cv_text_add(out, "\n  ");
    for (unsigned c = 0; c < width; c++) {
        const double from = stats->least_s + span * c / width;
        const double to = stats->least_s + span * (c + 1) / width;
        const bool median =
            stats->median_s >= from && (stats->median_s < to || c + 1 == width);
        const bool usual = to > stats->q10_s && from < stats->q90_s;

        cv_text_add(out, "%s", marks[median ? 2 : usual ? 1 : 0]);
    }
    cv_show_number(stats->least_s, min);
    cv_show_number(stats->most_s, max);
    pad = (int)width - snprintf(NULL, 0, "%s s%s s", min, max);
    cv_text_add(out, "\n  %s s%*s%s s\n", min, pad > 1 ? pad : 1, "", max);
    cv_text_add(out, "  %s median   %s 8 runs of 10   %s all runs\n", marks[2], marks[1],
                marks[0]);
}

void cv_times_text(const struct cleave_stats *stats, const struct cv_screen *screen,
                   struct cv_text *out)
{
    struct cv_table table;

    cv_table_init(&table, "#mean s|#std dev|#std error|#10%|#median|#90%");
    cv_table_add(&table, "%g %g %g %g %g %g", stats->mean_s, stats->stddev_s,
                 stats->stderr_s, stats->q10_s, stats->median_s, stats->q90_s);
    cv_add_table(&table, screen, out);
    add_spread(stats, screen, out);
}

void cv_field_stats(struct cv_json *json, const struct cleave_stats *stats)
{
    cv_fields(json,
              "mean %g, stddev %g, stderr %g, q10 %g, median %g, q90 %g, min %g, max %g",
              stats->mean_s, stats->stddev_s, stats->stderr_s, stats->q10_s,
              stats->median_s, stats->q90_s, stats->least_s, stats->most_s);
}

void cv_field_times(struct cv_json *json, const char *key,
                    const struct cleave_stats *stats)
{
    cv_field_object(json, key);
    cv_field_stats(json, stats);
    cv_json_end(json);
}

void cv_field_bound(struct cv_json *json, const char *key,
                    const struct cleave_bound *bound)
{
    cv_field_line(json, key);
    cv_fields(json, "name %s, value %g}", bound->name, bound->value_s);
}

void cv_field_reason(struct cv_json *json, const char *key, const char *name,
                     const char *reason)
{
    cv_field_line(json, NULL);
    cv_field_text(json, key, name);
    cv_field_text(json, "reason", reason);
    cv_json_end(json);
}

void cv_load_words(const struct cv_load_job *load, double units, struct cv_text *out)
{
    const uint32_t nworkers = cleave_platform_nworkers(load->job.platform);

    if (load->items.count > 0)
        cv_text_add(out, "%s of ", CV_COUNTED(load->items.count, "item"));
    if (load->several.count > 0)
        cv_text_add(out, "%s of ", CV_COUNTED(load->several.count, "load"));
    if (load->job.lifespan_s > 0)
        cv_text_add(out, "as much as ends in %s s", CV_SHOW_NUMBER(load->job.lifespan_s));
    else
        cv_text_add(out, "%s unit%s", CV_SHOW_UNITS(units), units == 1 ? "" : "s");
    if (load->items.count + load->several.count > 0 && units != 1)
        cv_text_add(out, " in all");
    cv_text_add(out, " on %s", CV_COUNTED(nworkers, "worker"));
    if (load->job.result_ratio > 0)
        cv_text_add(out, ", %s of result per unit",
                    CV_SHOW_NUMBER(load->job.result_ratio));
    if (load->conditions != NULL)
        cv_text_add(out, ", %s", load->conditions);
}
