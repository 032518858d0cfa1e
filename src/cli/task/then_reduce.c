/* then_reduce.c -- a load whose results are reduced, planned as one.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/quantity.h"
#include "cli/task/load_task.h"
#include "cli/task/reduce_task.h"
#include "model/reduce/reduce_tree.h"
#include "policy/common/setup.h"
#include "sim/reduce/reduced_load.h"

static int bad_part(const char *part)
{
    return cv_refuse(
        "--then-reduce: expected "
        "transfer=TIME,compute=TIME[,at=master][,model=absent|early|merge], got '%s'",
        CV_ECHO(part));
}

static int read_time(const char *value, double *out)
{
    const char *expected = cv_quantity_parse(value, CV_SECONDS, out);

    if (expected == NULL && *out >= 0 && *out <= 1e100)
        return CV_EXIT_DONE;
    return cv_refuse("--then-reduce: %s, got '%s'",
                     expected != NULL ? expected : "expected a time from 0 to 1e100",
                     CV_ECHO(value));
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
        if (strcmp(part, "model") == 0 && strcmp(value, cv_ready_models[i]) == 0) {
            job->costs.model = (enum cleave_ready_model)i;
            return CV_EXIT_DONE;
        }
    value[-1] = '=';
    return bad_part(part);
}

static int read_option(const char *text, struct cv_arena *arena, struct cv_joint_job *job)
{
    char *next = cv_need_text(arena, text, "the costs");
    int status = CV_EXIT_DONE;

    job->costs.d = job->costs.c = NAN;
    while (next != NULL && status == CV_EXIT_DONE)
        status = read_part(strsep(&next, ","), job);
    if (status == CV_EXIT_DONE && (isnan(job->costs.d) || isnan(job->costs.c)))
        status = bad_part(text);
    return status;
}

/* Sizes are planned unless a policy is named. */
static int check_policy(const struct cv_call *call, bool compared)
{
    const struct cv_task_options *options = call->values;
    const char *about = cv_option_given(call, "--rounds --param");
    const bool plan = call->verb->run == cv_task_plan;

    if (plan && options->policy != NULL)
        return cv_refuse("--then-reduce: the plan is made for both; leave out --policy, "
                         "or let 'cleave simulate load' run it and then reduce");
    if (!compared && options->policy == NULL && about != NULL)
        return cv_refuse("--then-reduce: %s is about a policy: %s", about,
                         plan ? "leave it out" : "add --policy NAME");
    return CV_EXIT_DONE;
}

/* The formulas of this task require workers that do not change and take a chunk of any
 * size. */
static int check_workers(const struct cleave_platform *platform)
{
    if (cv_platform_led(platform) > 0)
        return cv_refuse("--then-reduce: expected workers that lead no others (via:)");
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

/* The bound of one round and any tree, or of the load alone if that is larger; at the
 * master the last partial has to be sent after the load. */
static enum cleave_status find_bound(struct cv_load_job *load, struct cleave_error *err)
{
    struct cv_then_reduce *joint = &load->joint;
    struct cleave_job job = load->job;
    struct cleave_schedule *schedule;
    double load_s;

    job.policy = NULL;
    job.nsettings = 0;
    CV_TRY(cleave_plan_load(&job, &schedule, err));
    load_s = schedule->bound.value_s + (joint->job.at_master ? joint->job.costs.d : 0);
    cleave_schedule_free(schedule);
    CV_TRY(cv_joint_bound(&joint->job, &joint->bound_s, err));
    joint->bound_s = fmax(load_s, joint->bound_s);
    return CLEAVE_OK;
}

static enum cleave_status make_plans(struct cv_load_job *load, struct cv_arena *arena,
                                     struct cleave_error *err)
{
    struct cv_then_reduce *joint = &load->joint;
    struct cv_joint_job all = joint->job;
    const size_t n = joint->job.nworkers;

    if (!CV_NEW(arena, joint->sent_s, n) || !CV_NEW(arena, joint->ready_s, n))
        return cleave_error_set(err, CLEAVE_ENOMEM, "out of memory for a plan");
    all.all = true;
    CV_TRY(cv_joint_plan(&joint->job, arena, &joint->plan, err));
    CV_TRY(cv_joint_apart(&joint->job, &joint->apart_s, &joint->apart_used, err));
    CV_TRY(cv_joint_apart(&all, &joint->apart_all_s, &joint->apart_all_used, err));
    cv_joint_ready(&joint->job, &joint->plan, NULL, joint->sent_s, joint->ready_s);
    return find_bound(load, err);
}

void cv_field_then_reduce(struct cv_json *json, const struct cv_then_reduce *joint)
{
    cv_fields(json, "then_reduce {transfer %g, compute %g, at %s, model %s}",
              joint->job.costs.d, joint->job.costs.c,
              joint->job.at_master ? "master" : "workers",
              joint->job.at_master ? NULL : cv_ready_models[joint->job.costs.model]);
}

static void field_apart(struct cv_json *json, const struct cv_then_reduce *joint,
                        double makespan_s)
{
    cv_fields(json, "apart %g, apart_workers %u, apart_all %g, gain %g", joint->apart_s,
              joint->apart_used, joint->apart_all_s, joint->apart_s / makespan_s - 1);
}

void cv_then_reduce_json(struct cv_json *json, const struct cv_then_reduce *joint,
                         const struct cv_task_options *options)
{
    cv_fields(json, "policy %s, load %g", "joint", options->load.units);
    cv_field_then_reduce(json, joint);
    cv_fields(json,
              "makespan %g, rounds %u, bound {name %s, value %g}, over_bound %g, "
              "workers_used %u",
              joint->plan.end_s, 1u, "one round and its reduction", joint->bound_s,
              joint->plan.end_s / joint->bound_s - 1, joint->plan.used);
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

        cv_fields(json,
                  "{worker %s, round %u, units %g, send_start %g, send_end %g, "
                  "compute_start %g, compute_end %g, tail %g, sends_to %s}",
                  cleave_platform_worker_name(platform, plan->order[k]), 0u,
                  plan->sizes[k],
                  fmax(0, joint->sent_s[k] - worker->latency_s -
                              plan->sizes[k] / worker->bandwidth_ups),
                  joint->sent_s[k], joint->sent_s[k], joint->ready_s[k], plan->tails[k],
                  plan->parent == NULL ? "master"
                  : to == CV_NO_NODE
                      ? NULL
                      : cleave_platform_worker_name(platform, plan->order[to]));
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

/* Why the plan does without this worker; `room` is for the words. */
static const char *why_left_out(const struct cv_joint_plan *plan, uint32_t worker,
                                char room[CV_NUMBER_ROOM + 40])
{
    if (isinf(plan->with_s[worker]))
        return "a chunk for it would end too late";
    (void)snprintf(room, CV_NUMBER_ROOM + 40, "with it the makespan would be %s s",
                   CV_SHOW_NUMBER(plan->with_s[worker]));
    return room;
}

static void plan_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_load_job *load = task->job;
    char room[CV_NUMBER_ROOM + 40];

    cv_then_reduce_json(json, &load->joint, task->options);
    json_chunks(json, &load->joint, load->platform);
    cv_field_list(json, "left_out");
    for (uint32_t i = 0; i < load->joint.job.nworkers; i++)
        if (!is_used(&load->joint.plan, i))
            cv_field_reason(json, "worker",
                            cleave_platform_worker_name(load->platform, i),
                            why_left_out(&load->joint.plan, i, room));
    cv_json_end(json);
}

void cv_then_reduce_words(const struct cv_then_reduce *joint, struct cv_text *out)
{
    cv_text_add(out, ", then reduced %s, transfer %s s, compute %s s",
                joint->job.at_master ? "at the master" : "from worker to worker",
                CV_SHOW_NUMBER(joint->job.costs.d), CV_SHOW_NUMBER(joint->job.costs.c));
}

/* Parts of the result: the first line, with ", then reduced at the master, ..."; a table
 * of the plan and the separately made plans; the time with separate plans, and how much
 * longer that is than the plan; members of JSON. */
static void add_head(const struct cv_load_job *load, const struct cv_screen *screen,
                     struct cv_text *out)
{
    cv_text_add(out, "%s", CV_BOLD(screen));
    cv_load_words(load, load->units, out);
    cv_then_reduce_words(&load->joint, out);
    cv_text_add(out, "%s\n", CV_PLAIN(screen));
}

static void add_apart(const struct cv_then_reduce *joint, struct cv_text *out)
{
    cv_text_add(out, "apart     %s s with %s, %s s with %s",
                CV_SHOW_NUMBER(joint->apart_s), CV_COUNTED(joint->apart_used, "worker"),
                CV_SHOW_NUMBER(joint->apart_all_s),
                CV_COUNTED(joint->apart_all_used, "worker"));
}

static void add_gain(const struct cv_then_reduce *joint, struct cv_text *out)
{
    cv_text_add(out, "bound     %s s (one round and its reduction), %.2f%% below\n",
                CV_SHOW_NUMBER(joint->bound_s),
                100 * (1 - joint->bound_s / joint->plan.end_s));
    add_apart(joint, out);
    cv_text_add(out, ": %.2f%% longer\n",
                100 * fmax(0, joint->apart_s / joint->plan.end_s - 1));
}

static void add_workers(const struct cv_then_reduce *joint,
                        const struct cleave_platform *platform,
                        const struct cv_screen *screen, struct cv_text *out)
{
    const struct cv_joint_plan *plan = &joint->plan;
    char room[CV_NUMBER_ROOM + 40];
    struct cv_table table;

    cv_table_init(&table, "worker|~units|#ready s|#before end s|sends to");
    for (uint32_t k = 0; k < plan->used; k++) {
        const uint32_t to = plan->parent != NULL ? plan->parent[k] : CV_NO_NODE;

        cv_table_add(&table, "%s %g %g %g %s",
                     cleave_platform_worker_name(platform, plan->order[k]),
                     plan->sizes[k], joint->ready_s[k], plan->tails[k],
                     plan->parent == NULL ? "the master"
                     : to == CV_NO_NODE
                         ? "no node: it has the result"
                         : cleave_platform_worker_name(platform, plan->order[to]));
    }
    cv_add_table(&table, screen, out);
    for (uint32_t i = 0; i < joint->job.nworkers; i++)
        if (!is_used(plan, i))
            cv_text_add(out, "  left out  %s: %s\n",
                        cleave_platform_worker_name(platform, i),
                        why_left_out(plan, i, room));
}

static void plan_text(struct cv_task_call *task, struct cv_screen *screen,
                      struct cv_text *out)
{
    const struct cv_load_job *load = task->job;
    const struct cv_then_reduce *joint = &load->joint;

    add_head(load, screen, out);
    cv_text_add(out, "makespan  %s s with %s\n", CV_SHOW_NUMBER(joint->plan.end_s),
                CV_COUNTED(joint->plan.used, "worker"));
    add_gain(joint, out);
    add_workers(joint, load->platform, screen, out);
}

static int simulate(struct cv_task_call *task)
{
    static const struct cleave_trial once = { .runs = 1 };
    struct cv_load_job *load = task->job;
    const struct cv_joint_job *job = &load->joint.job;

    if (task->options->policy == NULL) {
        CV_CALL(cv_joint_simulate(job, &load->joint.plan, task->options->seed,
                                  &task->trial, &task->stats, &err));
    } else {
        CV_CALL(cv_reduced_load(&load->job, job, &once, &load->exact, &err));
        CV_CALL(cv_reduced_load(&load->job, job, &task->trial, &task->stats, &err));
    }
    return CV_EXIT_DONE;
}

static void runs_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_task_options *options = task->options;
    const struct cv_load_job *load = task->job;
    const struct cv_then_reduce *joint = &load->joint;
    const double makespan_s = load->exact.mean_s;

    if (options->policy == NULL) {
        cv_then_reduce_json(json, joint, options);
    } else {
        cv_fields(json, "policy %s, picked %s, load %g", options->policy,
                  load->exact.picked, options->load.units);
        cv_field_then_reduce(json, joint);
        cv_fields(json,
                  "makespan %g, bound {name %s, value %g}, over_bound %g, joint %g, "
                  "over_joint %g",
                  makespan_s, load->exact.bound.name, load->exact.bound.value_s,
                  cv_over(makespan_s, load->exact.bound.value_s), joint->plan.end_s,
                  makespan_s / joint->plan.end_s - 1);
        field_apart(json, joint, makespan_s);
    }
    cv_fields(json, "runs %llu, seed %llu, noise %s",
              (unsigned long long)task->stats.runs, (unsigned long long)options->seed,
              task->noise);
    cv_field_times(json, "times", &task->stats);
    if (options->policy != NULL)
        cv_fields(json, "utilisation %g, chunks %g", task->stats.utilisation,
                  task->stats.chunks);
}

static void runs_text(struct cv_task_call *task, struct cv_screen *screen,
                      struct cv_text *out)
{
    const struct cv_task_options *options = task->options;
    const struct cv_load_job *load = task->job;
    const struct cv_then_reduce *joint = &load->joint;
    const struct cleave_stats *exact = &load->exact;
    const double over = exact->mean_s / joint->plan.end_s - 1;
    char joint_s[CV_NUMBER_ROOM];

    add_head(load, screen, out);
    if (options->policy != NULL)
        cv_policy_line(options->policy, exact->picked, NULL, screen->width, out);
    cv_text_add(out, "makespan  %s s on average, noise %s\n",
                CV_SHOW_NUMBER(task->stats.mean_s), task->noise);
    cv_show_number(joint->plan.end_s, joint_s);
    if (options->policy == NULL) {
        cv_text_add(out, "planned   %s s\n", joint_s);
        add_gain(joint, out);
    } else {
        cv_text_add(out, "planned   %s s, %.2f%% %s than planned as one, %s s\n",
                    CV_SHOW_NUMBER(exact->mean_s), 100 * fabs(over),
                    over < 0 ? "shorter" : "longer", joint_s);
        cv_text_add(out, "bound     %s s (%s%s)\n", CV_SHOW_NUMBER(exact->bound.value_s),
                    exact->bound.name, joint->job.at_master ? ", and one transfer" : "");
        add_apart(joint, out);
        cv_text_add(out, "\nutilisation %.1f%%\n", 100 * task->stats.utilisation);
    }
    cv_times_text(&task->stats, screen, out);
}

void cv_then_reduce_plans(const struct cv_then_reduce *joint,
                          const struct cv_screen *screen, struct cv_text *out)
{
    const struct {
        const char *name;
        double end_s;
        uint32_t used;
    } rows[] = {
        { "joint", joint->plan.end_s, joint->plan.used },
        { "apart, best number of workers", joint->apart_s, joint->apart_used },
        { "apart, all workers", joint->apart_all_s, joint->apart_all_used },
    };
    struct cv_table table;

    cv_text_add(out, "bound     %s s (one round and its reduction)\n",
                CV_SHOW_NUMBER(joint->bound_s));
    cv_table_init(&table, "plan|#makespan s|^over bound|^over joint|+workers");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cv_table_add(&table, "%s %g %g %g %u", rows[i].name, rows[i].end_s,
                     rows[i].end_s / joint->bound_s - 1,
                     rows[i].end_s / joint->plan.end_s - 1, rows[i].used);
    cv_add_table(&table, screen, out);
}

int cv_then_reduce_open(struct cv_task_call *task, const struct cv_task_options *options)
{
    static const struct cv_task_part planned = { NULL, plan_json, plan_text };
    static const struct cv_task_part simulated = { simulate, runs_json, runs_text };
    struct cv_load_job *load = task->job;
    const enum cleave_port port = cleave_platform_port(load->platform);
    struct cv_joint_job *job = &load->joint.job;

    load->reduced = true;
    task->instead = task->call->verb->run == cv_task_plan ? &planned : &simulated;
    CV_DO(check_policy(task->call, task->found.sweep.count > 0));
    CV_DO(read_option(options->then_reduce, task->arena, job));
    CV_DO(check_workers(load->platform));
    job->nworkers = cleave_platform_nworkers(load->platform);
    job->load = (struct cv_joint_load){ cleave_platform_workers(load->platform),
                                        options->load.units, port == CLEAVE_PORT_MULTI };
    job->duplex = port == CLEAVE_PORT_DUPLEX;
    job->order = cv_bandwidth_order(job->load.workers, job->nworkers, task->arena);
    if (job->order == NULL)
        return cv_no_memory("a plan");
    CV_CALL(make_plans(load, task->arena, &err));
    return CV_EXIT_DONE;
}
