/* execution_plan.c -- what the policy of a run is told, and its plan. SPDX-License-Identifier: MIT */
#include <math.h>
#include <unistd.h>

#include "model/platform/generate.h"
#include "run/request/open_rule.h"
#include "run/execute/execution.h"
#include "run/common/usable_cores.h"
#include "run/execute/resume.h"
#include "run/master/run_policy.h"

/* Of workers that nothing is known of: how many times faster one may be than another, here
 * and on several machines. */
static const double UNEQUAL_HERE = 4, UNEQUAL_AWAY = 30;
/* A pipe holds what its command reads in 10 ms (run/common/pipe_writer.h), and the command as much again:
 * for so long it reads nothing. Where cores are fewer than commands, all the longer. */
static const double BURST_S = 0.02;
/* A command that is slow has no more of its share at a time than such a part, so that the rest can be
 * taken back, and so that one that works as it reads shows that on little; but no less than this. */
static const double SIPS = 128;
enum { LEAST_SIP = 16 };
/* By such a part chunks take more or less time, on a machine that has nothing else to do. */
static const double VARIES = 0.05;

/* Whether chunks may stay open, with those who are there. To other machines all that is given is
 * sent, and what they make of it comes back. */
static bool may_open(const struct cv_execution *execution,
                     const struct cleave_policy *policy)
{
    const struct cleave_execution *request = execution->request;
    const struct cv_hosts *hosts = &execution->run.pool.hosts;

    if (hosts->count > 0 && (!policy->gets_losses || hosts->keeps || hosts->leads ||
                             request->input.pairs != NULL))
        return false;
    return cv_asked_may_open(request, cv_worker_setup_count(request),
                             cv_splitter_frames(execution->splitter));
}

/* What the policy is told of workers: as declared or, if nobody has and it is of use to it, as
 * the journal has it. */
static enum cleave_status declare(struct cv_execution *execution,
                                  const struct cleave_policy *policy,
                                  struct cleave_error *err)
{
    if (execution->declared != NULL)
        return CLEAVE_OK;
    execution->declared = cleave_platform_workers(execution->setup.platform);
    if (execution->run.queue.journal == NULL || !policy->opens_chunks ||
        !may_open(execution, policy))
        return CLEAVE_OK;
    return cv_resume_speeds(&execution->run, &execution->setup.arena,
                            &execution->declared, err);
}

/* Whether all that is told of workers was measured. */
static bool is_measured(const struct cv_execution *execution)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(execution->setup.platform); w++)
        if (cv_is_nominal(&execution->declared[w]))
            return false;
    return true;
}

/* So many commands have a core of this machine between them. */
static double crowd_of(const struct cv_worker_pool *pool)
{
    uint32_t here = 0;

    for (uint32_t w = 0; w < pool->nworkers; w++)
        here += pool->host_of[w] == NULL && !pool->absent[w];
    return fmax(1, (double)here / cv_usable_cores());
}

/* What is in the pipe of a command that has not shown how fast it reads: a page or, where a share is
 * less than many of these, a sip (run/common/pipe_writer.h). Other machines know nothing of sips. */
static size_t ahead_of(const struct cv_worker_pool *pool, double total)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const double small_write = total / (SIPS * fmax(1, pool->nworkers));

    if (pool->hosts.count > 0 || !(small_write < (double)page))
        return page;
    return small_write > LEAST_SIP ? (size_t)small_write : LEAST_SIP;
}

/* What the policy is told of the load, and of how chunks get to those who do them. */
static struct cv_load describe(const struct cv_execution *execution,
                               const struct cleave_policy *policy, double total)
{
    const struct cleave_items *items = &execution->request->items;
    struct cv_load load = { .units = total,
                            .real = true,
                            .folders = cv_result_sink_folders(&execution->run.pool,
                                                              execution->request),
                            .folds_apart = cv_result_sink_apart(execution->request) };

    if (items->sizes != NULL) {
        load.sizes = items->sizes;
        load.nitems = items->count;
        load.measured = is_measured(execution);
        load.units = 0;
        for (uint64_t i = 0; i < items->count; i++)
            load.units += items->sizes[i];
        return load;
    }
    if (!policy->opens_chunks)
        return load;
    load.measured = is_measured(execution);
    load.unequal = execution->run.pool.hosts.count > 0 ? UNEQUAL_AWAY : UNEQUAL_HERE;
    load.hold = cv_source_hold(execution->run.queue.source);
    load.opens = policy->gets_losses && may_open(execution, policy);
    load.ahead = load.opens ? (double)ahead_of(&execution->run.pool, total) : 0;
    load.burst_s = load.opens ? BURST_S * crowd_of(&execution->run.pool) : 0;
    load.varies = load.opens ? VARIES : 0;
    return load;
}

enum cleave_status cv_execution_plan(struct cv_execution *execution, double total,
                                     struct cleave_error *err)
{
    const struct cleave_policy_options *options = &execution->request->policy;
    const struct cleave_setting *settings;
    const struct cleave_policy *policy;
    struct cv_load load;
    size_t nsettings;

    CV_TRY(cv_run_policy_find(options, &policy, err));
    CV_TRY(cv_run_policy_settings(options, &execution->setup.arena, &settings, &nsettings,
                                  err));
    execution->run.queue.gets_losses = policy->gets_losses;
    execution->run.queue.gets_joins = policy->gets_losses || policy->takes_joiners;
    CV_TRY(declare(execution, policy, err));
    load = describe(execution, policy, total);
    execution->run.small_write = (size_t)load.ahead;
    CV_TRY(cv_planned_init(&execution->planned, policy, settings, nsettings,
                           execution->setup.platform, execution->declared, &load, NULL,
                           err));
    execution->is_planned = true;
    return CLEAVE_OK;
}
