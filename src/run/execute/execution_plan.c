/* execution_plan.c -- what the policy of a run is told, and its plan. SPDX-License-Identifier: MIT */
#include <math.h>
#include <unistd.h>

#include "model/platform/nominal.h"
#include "run/asked/open_rule.h"
#include "run/execute/execution.h"
#include "run/kit/usable_cores.h"
#include "run/execute/resume.h"
#include "run/master/sharing.h"

/* Of workers that nothing is known of: how many times faster one may be than another, here
 * and on several machines. */
static const double UNEQUAL_HERE = 4, UNEQUAL_AWAY = 30;
/* A pipe holds what its command reads in 10 ms (run/kit/feed.h), and the command as much again:
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
    const struct cleave_execution *asked = execution->asked;
    const struct cv_hosts *hosts = &execution->run.staff.hosts;

    if (hosts->count > 0 && (!policy->hears_losses || hosts->keeps || hosts->leads ||
                             asked->input.pairs != NULL))
        return false;
    return cv_asked_may_open(asked, cv_muster_count(asked),
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
    execution->declared = cleave_platform_workers(execution->muster.platform);
    if (execution->run.books.journal == NULL || !policy->opens_chunks ||
        !may_open(execution, policy))
        return CLEAVE_OK;
    return cv_resume_speeds(&execution->run, &execution->muster.arena,
                            &execution->declared, err);
}

/* Whether all that is told of workers was measured. */
static bool is_measured(const struct cv_execution *execution)
{
    for (uint32_t w = 0; w < cleave_platform_nworkers(execution->muster.platform); w++)
        if (cv_is_nominal(&execution->declared[w]))
            return false;
    return true;
}

/* So many commands have a core of this machine between them. */
static double crowd_of(const struct cv_staff *staff)
{
    uint32_t here = 0;

    for (uint32_t w = 0; w < staff->nworkers; w++)
        here += staff->host_of[w] == NULL && !staff->absent[w];
    return fmax(1, (double)here / cv_usable_cores());
}

/* What is in the pipe of a command that has not shown how fast it reads: a page or, where a share is
 * less than many of these, a sip (run/kit/feed.h). Other machines know nothing of sips. */
static size_t ahead_of(const struct cv_staff *staff, double total)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const double sip = total / (SIPS * fmax(1, staff->nworkers));

    if (staff->hosts.count > 0 || !(sip < (double)page))
        return page;
    return sip > LEAST_SIP ? (size_t)sip : LEAST_SIP;
}

/* What the policy is told of the load, and of how chunks get to those who do them. */
static struct cv_load describe(const struct cv_execution *execution,
                               const struct cleave_policy *policy, double total)
{
    const struct cleave_items *items = &execution->asked->items;
    struct cv_load load = { .units = total,
                            .real = true,
                            .folders = cv_outlet_folders(&execution->run.staff,
                                                         execution->asked),
                            .folds_apart = cv_outlet_apart(execution->asked) };

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
    load.unequal = execution->run.staff.hosts.count > 0 ? UNEQUAL_AWAY : UNEQUAL_HERE;
    load.hold = cv_source_hold(execution->run.books.source);
    load.opens = policy->hears_losses && may_open(execution, policy);
    load.ahead = load.opens ? (double)ahead_of(&execution->run.staff, total) : 0;
    load.burst_s = load.opens ? BURST_S * crowd_of(&execution->run.staff) : 0;
    load.varies = load.opens ? VARIES : 0;
    return load;
}

enum cleave_status cv_execution_plan(struct cv_execution *execution, double total,
                                     struct cleave_error *err)
{
    const struct cleave_sharing *sharing = &execution->asked->sharing;
    const struct cleave_setting *settings;
    const struct cleave_policy *policy;
    struct cv_load load;
    size_t nsettings;

    CV_TRY(cv_sharing_policy(sharing, &policy, err));
    CV_TRY(cv_sharing_settings(sharing, &execution->muster.arena, &settings, &nsettings,
                               err));
    execution->run.books.hears_losses = policy->hears_losses;
    execution->run.books.hears_comers = policy->hears_losses || policy->takes_joiners;
    CV_TRY(declare(execution, policy, err));
    load = describe(execution, policy, total);
    execution->run.sip = (size_t)load.ahead;
    CV_TRY(cv_planned_init(&execution->planned, policy, settings, nsettings,
                           execution->muster.platform, execution->declared, &load, NULL,
                           err));
    execution->is_planned = true;
    return CLEAVE_OK;
}
