/* then_reduce.c -- a load whose results are reduced, planned as one.
 * SPDX-License-Identifier: MIT */
#include "cli/load/then_reduce.h"

#include <math.h>
#include <string.h>
#include "base/quantity.h"
#include "cli/common/output.h"
#include "cli/load/plan_show.h"
#include "io/json_out.h"
#include "model/reduce/reduce_tree.h"
#include "report/terminal/table.h"
#include "sim/reduce/joint_runs.h"
#include "sim/reduce/reduced_load.h"

/* --- reading ---------------------------------------------------------------------------- */

static const char *const models[] = {
    [CLEAVE_READY_ABSENT] = "absent",
    [CLEAVE_READY_EARLY] = "early",
    [CLEAVE_READY_MERGE] = "merge",
};

static int bad_part(const char *part)
{
    char shown[CV_ECHO_ROOM];

    return cv_refuse(
        "--then-reduce: expected "
        "transfer=TIME,compute=TIME[,at=master][,model=absent|early|merge], got '%s'",
        cv_echo(part, shown));
}

static int read_time(const char *value, double *out)
{
    const char *expected = cv_quantity_parse(value, CV_SECONDS, out);
    char shown[CV_ECHO_ROOM];

    if (expected == NULL && *out >= 0 && *out <= 1e100)
        return CV_EXIT_DONE;
    return cv_refuse("--then-reduce: %s, got '%s'",
                     expected != NULL ? expected : "expected a time from 0 to 1e100",
                     cv_echo(value, shown));
}

static int read_part(char *part, struct cv_joint_job *job)
{
    char *value = strchr(part, '=');

    if (value == NULL)
        return bad_part(part);
    *value++ = '\0';
    if (strcmp(part, "transfer") == 0)
        return read_time(value, &job->costs.d);
    if (strcmp(part, "compute") == 0)
        return read_time(value, &job->costs.c);
    if (strcmp(part, "at") == 0 && strcmp(value, "master") == 0) {
        job->at_master = true;
        return CV_EXIT_DONE;
    }
    for (int i = CLEAVE_READY_ABSENT; i <= CLEAVE_READY_MERGE; i++)
        if (strcmp(part, "model") == 0 && strcmp(value, models[i]) == 0) {
            job->costs.model = (enum cleave_ready_model)i;
            return CV_EXIT_DONE;
        }
    value[-1] = '=';
    return bad_part(part);
}

static int read_option(const char *text, struct cv_arena *arena, struct cv_joint_job *job)
{
    char *copy = cv_arena_text(arena, text), *next = copy;
    int status = CV_EXIT_DONE;

    if (copy == NULL)
        return cv_no_memory("the costs");
    job->costs.d = job->costs.c = NAN;
    while (next != NULL && status == CV_EXIT_DONE) {
        char *part = next;

        next = strchr(part, ',');
        if (next != NULL)
            *next++ = '\0';
        status = read_part(part, job);
    }
    if (status == CV_EXIT_DONE && (isnan(job->costs.d) || isnan(job->costs.c)))
        status = bad_part(text);
    return status;
}

/* What it does not go with. */
static const char *conflict(const struct cv_load_options *options)
{
    return options->lifespan_s > 0         ? "--lifespan"
           : options->result_ratio > 0     ? "--result-ratio"
           : options->packaging_s > 0      ? "--packaging"
           : options->reads != NULL        ? "--reads"
           : options->deadline_s > 0       ? "--deadline"
           : options->budget > 0           ? "--budget"
           : options->send_order != NULL   ? "--send-order"
           : options->return_order != NULL ? "--return-order"
           : options->where.file != NULL   ? "--topology"
           : options->engine != NULL       ? "--engine"
           : options->trace != NULL        ? "--trace"
                                           : NULL;
}

/* Sizes are planned unless a policy is named. */
static int check_policy(const struct cv_load_options *options,
                        enum cv_then_reduce_who who)
{
    const char *about = options->rounds > 0         ? "--rounds"
                        : options->params.count > 0 ? "--param"
                                                    : NULL;

    if (who == CV_THEN_PLAN && options->policy != NULL)
        return cv_refuse("--then-reduce: the plan is made for both; leave out --policy, "
                         "or let 'cleave simulate load' run it and then reduce");
    if (who != CV_THEN_POLICIES && options->policy == NULL && about != NULL)
        return cv_refuse("--then-reduce: %s is about a policy: %s", about,
                         who == CV_THEN_PLAN ? "leave it out" : "add --policy NAME");
    return CV_EXIT_DONE;
}

/* Its formulas are about workers that stay as they are and take a chunk of any size. */
static int check_workers(const struct cleave_platform *platform)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(platform); w++) {
        uint32_t nsteps;
        const bool changes = cleave_platform_profile(platform, w, &nsteps) != NULL;

        if (changes || isfinite(cleave_platform_memory(platform, w)))
            return cv_refuse("--then-reduce: expected workers that are always there, do "
                             "not change and take any chunk, but '%s' has a %s",
                             cleave_platform_worker_name(platform, w),
                             changes ? "profile" : "memory");
    }
    return CV_EXIT_DONE;
}

/* Widest links first. */
static uint32_t *make_order(const struct cleave_worker *workers, uint32_t n,
                            struct cv_arena *arena)
{
    uint32_t *order = cv_array(arena, n, sizeof *order);

    for (uint32_t i = 0; order != NULL && i < n; i++) {
        uint32_t at = i;

        for (; at > 0 && workers[order[at - 1]].bandwidth_ups < workers[i].bandwidth_ups;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

/* --- planning --------------------------------------------------------------------------- */

/* Of one round and any tree; at the master, and where that does not hold, of the load
 * alone, after which the last partial is still to be sent. */
static enum cleave_status find_bound(const struct cv_load_job *load, double *room,
                                     struct cv_then_reduce *out, struct cleave_error *err)
{
    struct cleave_job job = load->job;
    struct cleave_schedule *schedule;
    double load_s;

    job.policy = NULL;
    job.nsettings = 0;
    CV_TRY(cleave_plan_load(&job, &schedule, err));
    load_s = schedule->bound.value_s + (out->job.at_master ? out->job.costs.d : 0);
    cleave_schedule_free(schedule);
    out->bound_s = fmax(load_s, cv_joint_bound(&out->job, room)); /* NAN is the less */
    return CLEAVE_OK;
}

static enum cleave_status make_plans(const struct cv_load_job *load,
                                     struct cv_arena *arena, struct cv_then_reduce *out,
                                     struct cleave_error *err)
{
    struct cv_joint_job all = out->job;
    double *room = cv_array(arena, 3 * (size_t)out->job.nworkers, sizeof *room);

    if (room == NULL)
        return cleave_error_set(err, CLEAVE_ENOMEM, "out of memory for a plan");
    out->sent_s = room + out->job.nworkers;
    out->ready_s = room + 2 * (size_t)out->job.nworkers;
    all.all = true;
    CV_TRY(cv_joint_plan(&out->job, arena, &out->plan, err));
    CV_TRY(cv_joint_apart(&out->job, &out->apart_s, &out->apart_used, err));
    CV_TRY(cv_joint_apart(&all, &out->apart_all_s, &out->apart_all_used, err));
    cv_joint_ready(&out->job, &out->plan, NULL, out->sent_s, out->ready_s);
    return find_bound(load, room, out, err);
}

int cv_then_reduce_open(const struct cv_load_options *options,
                        const struct cv_load_job *load, enum cv_then_reduce_who who,
                        struct cv_arena *arena, struct cv_then_reduce *out)
{
    const enum cleave_port port = cleave_platform_port(load->platform);
    struct cv_joint_job *job = &out->job;
    struct cleave_error err;
    int status;

    memset(out, 0, sizeof *out);
    if (conflict(options) != NULL)
        return cv_refuse("--then-reduce does not go with %s", conflict(options));
    status = check_policy(options, who);
    if (status == CV_EXIT_DONE)
        status = read_option(options->then_reduce, arena, job);
    if (status == CV_EXIT_DONE)
        status = check_workers(load->platform);
    if (status != CV_EXIT_DONE)
        return status;
    job->nworkers = cleave_platform_nworkers(load->platform);
    job->load = (struct cv_joint_load){ cleave_platform_workers(load->platform),
                                        options->load.units, port == CLEAVE_PORT_MULTI };
    job->duplex = port == CLEAVE_PORT_DUPLEX;
    job->order = make_order(job->load.workers, job->nworkers, arena);
    if (job->order == NULL)
        return cv_no_memory("a plan");
    if (make_plans(load, arena, out, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

/* --- plans of a load whose results are reduced, as text and JSON ------------------- */

static const char *model_name(const struct cv_then_reduce *joint)
{
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

static void field_apart(struct cv_json *json, const struct cv_then_reduce *joint,
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
    field_apart(json, joint, joint->plan.end_s);
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

/* Parts of what is shown: the first line, and of it ", then reduced at the master, ..."; the
 * plan beside those that are made apart, as a table; what planning apart takes, and how much
 * longer than the plan that is; and members of JSON. */
static void then_reduce_head(const struct cv_then_reduce *joint,
                             const struct cv_load_options *options,
                             const struct cv_screen *screen, struct cv_text *out)
{
    cv_text_add(out, "%s", screen->colour ? "\033[1m" : "");
    cv_load_words(options->load.units, 0, 0, joint->job.nworkers, out);
    cv_then_reduce_words(joint, out);
    cv_text_add(out, "%s\n", screen->colour ? "\033[0m" : "");
}

static void then_reduce_apart(const struct cv_then_reduce *joint, struct cv_text *out)
{
    char best[CV_NUMBER_ROOM], all[CV_NUMBER_ROOM];
    char used[CV_COUNTED_ROOM], every[CV_COUNTED_ROOM];

    cv_text_add(out, "apart     %s s with %s, %s s with %s",
                cv_show_number(joint->apart_s, best),
                cv_counted(joint->apart_used, "worker", used),
                cv_show_number(joint->apart_all_s, all),
                cv_counted(joint->apart_all_used, "worker", every));
}

static void then_reduce_gain(const struct cv_then_reduce *joint, struct cv_text *out)
{
    char bound[CV_NUMBER_ROOM];

    cv_text_add(out, "bound     %s s (one round and its reduction), %.2f%% below\n",
                cv_show_number(joint->bound_s, bound),
                100 * (1 - joint->bound_s / joint->plan.end_s));
    then_reduce_apart(joint, out);
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
    then_reduce_head(joint, options, &screen, &text);
    cv_text_add(&text, "makespan  %s s with %s\n",
                cv_show_number(joint->plan.end_s, number),
                cv_counted(joint->plan.used, "worker", counted));
    then_reduce_gain(joint, &text);
    add_workers(joint, platform, &screen, &text);
    return cv_print_take(&text);
}

/* --- many runs of a load whose results are reduced, by the plan for both or by a policy that plans the load alone --- */

/* --- the plan --------------------------------------------------------------------------- */

static void json_runs(struct cv_json *json, const struct cleave_stats *stats,
                      const struct cv_load_options *options, const char *noise)
{
    cv_field_count(json, "runs", stats->runs);
    cv_field_count(json, "seed", options->seed);
    cv_field_text(json, "noise", noise);
    cv_field_times(json, "times", stats);
}

static int runs_of_plan(const struct cv_then_reduce *joint,
                        const struct cv_load_options *options,
                        const struct cleave_trial *trial, const char *noise)
{
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM];
    struct cleave_stats stats;
    struct cleave_error err;
    struct cv_json json;

    if (cv_joint_simulate(&joint->job, &joint->plan, options->seed, trial, &stats,
                          &err) != CLEAVE_OK)
        return cv_print_status(&err);
    if (options->json) {
        cv_then_reduce_json(&json, joint, options);
        json_runs(&json, &stats, options, noise);
        return cv_result_close(&json);
    }
    then_reduce_head(joint, options, &screen, &text);
    cv_text_add(&text, "makespan  %s s on average, noise %s\n",
                cv_show_number(stats.mean_s, number), noise);
    cv_text_add(&text, "planned   %s s\n", cv_show_number(joint->plan.end_s, number));
    then_reduce_gain(joint, &text);
    cv_times_text(&stats, &screen, &text);
    return cv_print_take(&text);
}

/* --- a policy --------------------------------------------------------------------------- */

/* What a policy came to: with costs as declared, and in many runs. */
struct policy_runs {
    const struct cv_load_options *options;
    const char *noise;
    struct cleave_stats exact, many;
};

static int policy_json(const struct cv_then_reduce *joint, const struct policy_runs *runs)
{
    const double makespan_s = runs->exact.mean_s;
    struct cv_json json;

    cv_result_open(&json);
    cv_field_text(&json, "policy", runs->options->policy);
    cv_field_text(&json, "picked", runs->exact.picked);
    cv_field_number(&json, "load", runs->options->load.units);
    cv_field_then_reduce(&json, joint);
    cv_field_number(&json, "makespan", makespan_s);
    cv_field_bound(&json, "bound", &runs->exact.bound);
    cv_field_number(&json, "over_bound", cv_over(makespan_s, runs->exact.bound.value_s));
    cv_field_number(&json, "joint", joint->plan.end_s);
    cv_field_number(&json, "over_joint", makespan_s / joint->plan.end_s - 1);
    field_apart(&json, joint, makespan_s);
    json_runs(&json, &runs->many, runs->options, runs->noise);
    cv_field_number(&json, "utilisation", runs->many.utilisation);
    cv_field_number(&json, "chunks", runs->many.chunks);
    return cv_result_close(&json);
}

static int policy_text(const struct cv_then_reduce *joint, const struct policy_runs *runs)
{
    const struct cv_screen screen = cv_screen_facts();
    const double over = runs->exact.mean_s / joint->plan.end_s - 1;
    struct cv_text text = { NULL, 0, 0, false };
    char number[CV_NUMBER_ROOM], joint_s[CV_NUMBER_ROOM];

    then_reduce_head(joint, runs->options, &screen, &text);
    cv_policy_line(runs->options->policy, runs->exact.picked, NULL, screen.width, &text);
    cv_text_add(&text, "makespan  %s s on average, noise %s\n",
                cv_show_number(runs->many.mean_s, number), runs->noise);
    cv_text_add(&text, "planned   %s s, %.2f%% %s than planned as one, %s s\n",
                cv_show_number(runs->exact.mean_s, number),
                100 * (over < 0 ? -over : over), over < 0 ? "shorter" : "longer",
                cv_show_number(joint->plan.end_s, joint_s));
    cv_text_add(&text, "bound     %s s (%s%s)\n",
                cv_show_number(runs->exact.bound.value_s, number), runs->exact.bound.name,
                joint->job.at_master ? ", and one transfer" : "");
    then_reduce_apart(joint, &text);
    cv_text_add(&text, "\nutilisation %.1f%%\n", 100 * runs->many.utilisation);
    cv_times_text(&runs->many, &screen, &text);
    return cv_print_take(&text);
}

static int runs_of_policy(const struct cv_then_reduce *joint,
                          const struct cv_load_options *options,
                          const struct cv_load_job *load,
                          const struct cleave_trial *wanted, const char *noise)
{
    static const struct cleave_trial once = { .runs = 1 };
    struct policy_runs runs = { .options = options, .noise = noise };
    struct cleave_trial trial = *wanted;
    struct cv_progress progress;
    struct cleave_error err;
    enum cleave_status done =
        cv_reduced_load(&load->job, &joint->job, &once, &runs.exact, &err);

    if (done == CLEAVE_OK) {
        cv_progress_init(&progress, "simulating", trial.runs);
        trial.progress = cv_progress_show;
        trial.context = &progress;
        done = cv_reduced_load(&load->job, &joint->job, &trial, &runs.many, &err);
        cv_progress_done(&progress);
    }
    if (done != CLEAVE_OK)
        return cv_print_status(&err);
    return options->json ? policy_json(joint, &runs) : policy_text(joint, &runs);
}

int cv_then_reduce_simulate(const struct cv_then_reduce *joint,
                            const struct cv_load_options *options,
                            const struct cv_load_job *load)
{
    char noise[CV_NOISE_ROOM];
    struct cleave_trial trial;
    const int status = cv_load_trial(options, &trial, noise);

    if (status != CV_EXIT_DONE)
        return status;
    return options->policy == NULL ? runs_of_plan(joint, options, &trial, noise)
                                   : runs_of_policy(joint, options, load, &trial, noise);
}

/* --- plans side by side ----------------------------------------------------------------- */

void cv_then_reduce_plans(const struct cv_then_reduce *joint,
                          const struct cv_screen *screen, struct cv_text *out)
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
    char number[CV_NUMBER_ROOM];
    struct cv_table table;

    cv_text_add(out, "bound     %s s (one round and its reduction)\n\n",
                cv_show_number(joint->bound_s, number));
    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cv_table_text(&table, rows[i].name);
        cv_table_number(&table, rows[i].end_s);
        cv_table_number(&table, rows[i].end_s / joint->bound_s - 1);
        cv_table_number(&table, rows[i].end_s / joint->plan.end_s - 1);
        cv_table_number(&table, rows[i].used);
    }
    cv_table_write(&table, screen->colour, screen->width, out);
    cv_table_done(&table);
}
