/* then_reduce.c -- a load whose results are reduced, planned as one.
 * SPDX-License-Identifier: MIT */
#include "cli/load/then_reduce.h"

#include <math.h>
#include <string.h>
#include "base/quantity.h"
#include "cli/common/output.h"
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

    return cv_print_error(CV_EXIT_USAGE,
                          "--then-reduce: expected transfer=TIME,compute=TIME[,at=master]"
                          "[,model=absent|early|merge], got '%s'",
                          cv_echo(part, shown));
}

static int read_time(const char *value, double *out)
{
    const char *expected = cv_quantity_parse(value, CV_SECONDS, out);
    char shown[CV_ECHO_ROOM];

    if (expected == NULL && *out >= 0 && *out <= 1e100)
        return CV_EXIT_DONE;
    return cv_print_error(CV_EXIT_USAGE, "--then-reduce: %s, got '%s'",
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
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the costs");
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
        return cv_print_error(
            CV_EXIT_USAGE,
            "--then-reduce: the plan is made for both; leave out --policy, "
            "or let 'cleave simulate load' run it and then reduce");
    if (who != CV_THEN_POLICIES && options->policy == NULL && about != NULL)
        return cv_print_error(CV_EXIT_USAGE, "--then-reduce: %s is about a policy: %s",
                              about,
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
            return cv_print_error(
                CV_EXIT_USAGE,
                "--then-reduce: expected workers that are always there, do "
                "not change and take any chunk, but '%s' has a %s",
                cleave_platform_worker_name(platform, w), changes ? "profile" : "memory");
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
        return cv_print_error(CV_EXIT_USAGE, "--then-reduce does not go with %s",
                              conflict(options));
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
        return cv_print_error(CV_EXIT_FAILED, "out of memory for a plan");
    if (make_plans(load, arena, out, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}
