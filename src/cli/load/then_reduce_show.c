/* then_reduce_show.c -- plans of a load whose results are reduced, as text and JSON.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include "cli/kit/counted.h"
#include "cli/kit/json_fields.h"
#include "cli/kit/output.h"
#include "cli/kit/times_text.h"
#include "cli/load/load_json.h"
#include "cli/load/plan_text.h"
#include "cli/load/then_reduce.h"
#include "model/reduce/reduce_tree.h"
#include "report/terminal/table.h"
#include "sim/reduce/joint_runs.h"

static const char *model_name(const struct cv_then_reduce *joint)
{
    static const char *const models[] = { [CLEAVE_READY_ABSENT] = "absent",
                                          [CLEAVE_READY_EARLY] = "early",
                                          [CLEAVE_READY_MERGE] = "merge" };

    return models[joint->job.costs.model];
}

/* How much longer planning apart takes. */
static double gain(const struct cv_then_reduce *joint)
{
    return joint->apart_s / joint->plan.end_s - 1;
}

static void json_head(struct cv_json *json, const struct cv_then_reduce *joint,
                      const struct cv_load_options *options)
{
    const struct cleave_bound bound = { "one round and its reduction", joint->bound_s };

    cv_result_open(json);
    cv_field_text(json, "policy", "joint");
    cv_field_number(json, "load", options->load);
    cv_field_line(json, "then_reduce");
    cv_field_number(json, "transfer", joint->job.costs.d);
    cv_field_number(json, "compute", joint->job.costs.c);
    cv_field_text(json, "at", joint->job.at_master ? "master" : "workers");
    cv_field_text(json, "model", joint->job.at_master ? NULL : model_name(joint));
    cv_json_end(json);
    cv_field_number(json, "makespan", joint->plan.end_s);
    cv_field_count(json, "rounds", 1);
    cv_field_bound(json, "bound", &bound);
    cv_field_number(json, "over_bound", joint->plan.end_s / joint->bound_s - 1);
    cv_field_count(json, "workers_used", joint->plan.used);
    cv_field_number(json, "apart", joint->apart_s);
    cv_field_count(json, "apart_workers", joint->apart_used);
    cv_field_number(json, "apart_all", joint->apart_all_s);
    cv_field_number(json, "gain", gain(joint));
}

static void json_chunks(struct cv_json *json, const struct cv_then_reduce *joint,
                        const struct cleave_platform *platform)
{
    const struct cv_joint_plan *plan = &joint->plan;

    cv_field_list(json, "chunks");
    for (uint32_t k = 0; k < plan->used; k++) {
        const struct cleave_worker *worker = &joint->job.load.workers[plan->order[k]];
        const uint32_t to = plan->parent != NULL ? plan->parent[k] : CV_NO_NODE;
        const char *name = cleave_platform_worker_name(platform, plan->order[k]);

        cv_field_line(json, NULL);
        cv_field_text(json, "worker", name);
        cv_field_count(json, "round", 0);
        cv_field_number(json, "units", plan->sizes[k]);
        cv_field_number(json, "send_start",
                        joint->sent_s[k] - worker->latency_s -
                            plan->sizes[k] / worker->bandwidth_ups);
        cv_field_number(json, "send_end", joint->sent_s[k]);
        cv_field_number(json, "compute_start", joint->sent_s[k]);
        cv_field_number(json, "compute_end", joint->ready_s[k]);
        cv_field_number(json, "tail", plan->tails[k]);
        cv_field_text(json, "sends_to",
                      plan->parent == NULL ? "master"
                      : to == CV_NO_NODE
                          ? NULL
                          : cleave_platform_worker_name(platform, plan->order[to]));
        cv_json_end(json);
    }
    cv_json_end(json);
}

static bool is_used(const struct cv_joint_plan *plan, uint32_t worker)
{
    for (uint32_t k = 0; k < plan->used; k++)
        if (plan->order[k] == worker)
            return true;
    return false;
}

static const char reason[] = "the reduction would wait for it longer than it helps";

static int show_json(const struct cv_then_reduce *joint,
                     const struct cv_load_options *options,
                     const struct cleave_platform *platform)
{
    struct cv_json json;

    json_head(&json, joint, options);
    json_chunks(&json, joint, platform);
    cv_field_list(&json, "left_out");
    for (uint32_t i = 0; i < joint->job.nworkers; i++) {
        if (is_used(&joint->plan, i))
            continue;
        cv_field_line(&json, NULL);
        cv_field_text(&json, "worker", cleave_platform_worker_name(platform, i));
        cv_field_text(&json, "reason", reason);
        cv_json_end(&json);
    }
    cv_json_end(&json);
    return cv_result_close(&json);
}

static void add_head(const struct cv_then_reduce *joint,
                     const struct cv_load_options *options,
                     const struct cv_screen *screen, struct cv_text *out)
{
    char transfer[CV_NUMBER_ROOM], compute[CV_NUMBER_ROOM];

    cv_text_add(out, "%s", screen->colour ? "\033[1m" : "");
    cv_load_words(options->load, 0, 0, joint->job.nworkers, out);
    cv_text_add(out, ", then reduced %s, transfer %s s, compute %s s%s\n",
                joint->job.at_master ? "at the master" : "from worker to worker",
                cv_show_number(joint->job.costs.d, transfer),
                cv_show_number(joint->job.costs.c, compute),
                screen->colour ? "\033[0m" : "");
}

static void add_gain(const struct cv_then_reduce *joint, struct cv_text *out)
{
    char best[CV_NUMBER_ROOM], all[CV_NUMBER_ROOM], bound[CV_NUMBER_ROOM];
    char used[CV_COUNTED_ROOM], every[CV_COUNTED_ROOM];

    cv_text_add(out, "bound     %s s (one round and its reduction), %.2f%% below\n",
                cv_show_number(joint->bound_s, bound),
                100 * (1 - joint->bound_s / joint->plan.end_s));
    cv_text_add(out, "apart     %s s with %s, %s s with %s: %.2f%% longer\n",
                cv_show_number(joint->apart_s, best),
                cv_counted(joint->apart_used, "worker", used),
                cv_show_number(joint->apart_all_s, all),
                cv_counted(joint->apart_all_used, "worker", every), 100 * gain(joint));
}

static void add_workers(const struct cv_then_reduce *joint,
                        const struct cleave_platform *platform,
                        const struct cv_screen *screen, struct cv_text *out)
{
    static const struct cv_column columns[] = {
        { "worker", CV_COLUMN_TEXT },    { "units", CV_COLUMN_UNITS },
        { "ready s", CV_COLUMN_NUMBER }, { "before end s", CV_COLUMN_NUMBER },
        { "sends to", CV_COLUMN_TEXT },
    };
    const struct cv_joint_plan *plan = &joint->plan;
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t k = 0; k < plan->used; k++) {
        const uint32_t to = plan->parent != NULL ? plan->parent[k] : CV_NO_NODE;

        cv_table_text(&table, cleave_platform_worker_name(platform, plan->order[k]));
        cv_table_number(&table, plan->sizes[k]);
        cv_table_number(&table, joint->ready_s[k]);
        cv_table_number(&table, plan->tails[k]);
        cv_table_text(&table,
                      plan->parent == NULL ? "the master"
                      : to == CV_NO_NODE
                          ? "nobody: it has the result"
                          : cleave_platform_worker_name(platform, plan->order[to]));
    }
    cv_text_add(out, "\n");
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
    for (uint32_t i = 0; i < joint->job.nworkers; i++)
        if (!is_used(plan, i))
            cv_text_add(out, "  left out  %s: %s\n",
                        cleave_platform_worker_name(platform, i), reason);
}

int cv_then_reduce_show(const struct cv_then_reduce *joint,
                        const struct cv_load_options *options,
                        const struct cleave_platform *platform)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM];

    if (options->json)
        return show_json(joint, options, platform);
    add_head(joint, options, &screen, &text);
    cv_text_add(&text, "makespan  %s s with %s\n",
                cv_show_number(joint->plan.end_s, number),
                cv_counted(joint->plan.used, "worker", counted));
    add_gain(joint, &text);
    add_workers(joint, platform, &screen, &text);
    return cv_print_take(&text);
}

int cv_then_reduce_simulate(const struct cv_then_reduce *joint,
                            const struct cv_load_options *options)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char noise[CV_NOISE_ROOM], number[CV_NUMBER_ROOM];
    struct cleave_trial trial;
    struct cleave_stats stats;
    struct cleave_error err;
    struct cv_json json;
    int status = cv_load_trial(options, &trial, noise);

    if (status != CV_EXIT_DONE)
        return status;
    if (cv_joint_simulate(&joint->job, &joint->plan, options->seed, &trial, &stats,
                          &err) != CLEAVE_OK)
        return cv_complain_error(&err);
    if (options->json) {
        json_head(&json, joint, options);
        cv_field_count(&json, "runs", stats.runs);
        cv_field_count(&json, "seed", options->seed);
        cv_field_text(&json, "noise", noise);
        cv_field_times(&json, "times", &stats);
        return cv_result_close(&json);
    }
    add_head(joint, options, &screen, &text);
    cv_text_add(&text, "makespan  %s s on average, noise %s\n",
                cv_show_number(stats.mean_s, number), noise);
    cv_text_add(&text, "planned   %s s\n", cv_show_number(joint->plan.end_s, number));
    add_gain(joint, &text);
    cv_times_text(&stats, &screen, &text);
    return cv_print_take(&text);
}

int cv_then_reduce_compare(const struct cv_then_reduce *joint,
                           const struct cv_load_options *options)
{
    static const struct cv_column columns[] = {
        { "plan", CV_COLUMN_TEXT },       { "makespan s", CV_COLUMN_NUMBER },
        { "over bound", CV_COLUMN_OVER }, { "over joint", CV_COLUMN_OVER },
        { "workers", CV_COLUMN_COUNT },
    };
    const struct {
        const char *name;
        double end_s;
        uint32_t used;
    } rows[] = {
        { "joint", joint->plan.end_s, joint->plan.used },
        { "apart, best number of workers", joint->apart_s, joint->apart_used },
        { "apart, all workers", joint->apart_all_s, joint->apart_all_used },
    };
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM];
    struct cv_table table;
    struct cv_json json;

    if (options->json) {
        json_head(&json, joint, options);
        return cv_result_close(&json);
    }
    add_head(joint, options, &screen, &text);
    cv_text_add(&text, "bound     %s s (one round and its reduction)\n\n",
                cv_show_number(joint->bound_s, number));
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cv_table_text(&table, rows[i].name);
        cv_table_number(&table, rows[i].end_s);
        cv_table_number(&table, rows[i].end_s / joint->bound_s - 1);
        cv_table_number(&table, rows[i].end_s / joint->plan.end_s - 1);
        cv_table_number(&table, rows[i].used);
    }
    cv_table_write(&table, screen.colour, screen.width, &text);
    cv_table_done(&table);
    return cv_print_take(&text);
}
