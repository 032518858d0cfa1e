/* then_reduce_show.c -- plans of a load whose results are reduced, as text and JSON.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "cli/common/output.h"
#include "cli/load/load_json.h"
#include "cli/load/plan_text.h"
#include "cli/load/then_reduce.h"
#include "io/json_out.h"
#include "model/reduce/reduce_tree.h"
#include "report/terminal/table.h"

static const char *model_name(const struct cv_then_reduce *joint)
{
    static const char *const models[] = { [CLEAVE_READY_ABSENT] = "absent",
                                          [CLEAVE_READY_EARLY] = "early",
                                          [CLEAVE_READY_MERGE] = "merge" };

    return models[joint->job.costs.model];
}

void cv_field_then_reduce(struct cv_json *json, const struct cv_then_reduce *joint)
{
    cv_field_line(json, "then_reduce");
    cv_field_number(json, "transfer", joint->job.costs.d);
    cv_field_number(json, "compute", joint->job.costs.c);
    cv_field_text(json, "at", joint->job.at_master ? "master" : "workers");
    cv_field_text(json, "model", joint->job.at_master ? NULL : model_name(joint));
    cv_json_end(json);
}

void cv_field_apart(struct cv_json *json, const struct cv_then_reduce *joint,
                    double makespan_s)
{
    cv_field_number(json, "apart", joint->apart_s);
    cv_field_count(json, "apart_workers", joint->apart_used);
    cv_field_number(json, "apart_all", joint->apart_all_s);
    cv_field_number(json, "gain", joint->apart_s / makespan_s - 1);
}

void cv_then_reduce_json(struct cv_json *json, const struct cv_then_reduce *joint,
                         const struct cv_load_options *options)
{
    const struct cleave_bound bound = { "one round and its reduction", joint->bound_s };

    cv_result_open(json);
    cv_field_text(json, "policy", "joint");
    cv_field_number(json, "load", options->load.units);
    cv_field_then_reduce(json, joint);
    cv_field_number(json, "makespan", joint->plan.end_s);
    cv_field_count(json, "rounds", 1);
    cv_field_bound(json, "bound", &bound);
    cv_field_number(json, "over_bound", joint->plan.end_s / joint->bound_s - 1);
    cv_field_count(json, "workers_used", joint->plan.used);
    cv_field_apart(json, joint, joint->plan.end_s);
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
                        fmax(0, joint->sent_s[k] - worker->latency_s -
                                    plan->sizes[k] / worker->bandwidth_ups));
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

    cv_then_reduce_json(&json, joint, options);
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

void cv_then_reduce_words(const struct cv_then_reduce *joint, struct cv_text *out)
{
    char transfer[CV_NUMBER_ROOM], compute[CV_NUMBER_ROOM];

    cv_text_add(out, ", then reduced %s, transfer %s s, compute %s s",
                joint->job.at_master ? "at the master" : "from worker to worker",
                cv_show_number(joint->job.costs.d, transfer),
                cv_show_number(joint->job.costs.c, compute));
}

void cv_then_reduce_head(const struct cv_then_reduce *joint,
                         const struct cv_load_options *options,
                         const struct cv_screen *screen, struct cv_text *out)
{
    cv_text_add(out, "%s", screen->colour ? "\033[1m" : "");
    cv_load_words(options->load.units, 0, 0, joint->job.nworkers, out);
    cv_then_reduce_words(joint, out);
    cv_text_add(out, "%s\n", screen->colour ? "\033[0m" : "");
}

void cv_then_reduce_apart(const struct cv_then_reduce *joint, struct cv_text *out)
{
    char best[CV_NUMBER_ROOM], all[CV_NUMBER_ROOM];
    char used[CV_COUNTED_ROOM], every[CV_COUNTED_ROOM];

    cv_text_add(out, "apart     %s s with %s, %s s with %s",
                cv_show_number(joint->apart_s, best),
                cv_counted(joint->apart_used, "worker", used),
                cv_show_number(joint->apart_all_s, all),
                cv_counted(joint->apart_all_used, "worker", every));
}

void cv_then_reduce_gain(const struct cv_then_reduce *joint, struct cv_text *out)
{
    char bound[CV_NUMBER_ROOM];

    cv_text_add(out, "bound     %s s (one round and its reduction), %.2f%% below\n",
                cv_show_number(joint->bound_s, bound),
                100 * (1 - joint->bound_s / joint->plan.end_s));
    cv_then_reduce_apart(joint, out);
    cv_text_add(out, ": %.2f%% longer\n", 100 * (joint->apart_s / joint->plan.end_s - 1));
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
    cv_then_reduce_head(joint, options, &screen, &text);
    cv_text_add(&text, "makespan  %s s with %s\n",
                cv_show_number(joint->plan.end_s, number),
                cv_counted(joint->plan.used, "worker", counted));
    cv_then_reduce_gain(joint, &text);
    add_workers(joint, platform, &screen, &text);
    return cv_print_take(&text);
}
