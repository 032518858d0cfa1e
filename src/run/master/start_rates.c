/* start_rates.c -- rates of workers: how many commands they may start. SPDX-License-Identifier: MIT
 *
 * A worker whose rate is used up is told to the policy as busy: its CLEAVE_DONE is kept back until
 * it may start again. An order that was given anyway, as at the start of a run, waits or goes to
 * another worker, as for any worker that rests. */
#include "run/master/exec_run.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"

static struct cv_rate_member *member_of(const struct cv_exec_run *run, uint32_t worker)
{
    struct cv_rate_member *members = run->rates.members;

    return members != NULL && members[worker].group != NULL ? &members[worker] : NULL;
}

bool cv_start_rates_limit(const struct cv_exec_run *run, uint32_t worker)
{
    return member_of(run, worker) != NULL;
}

enum cleave_status cv_start_rates_open(struct cv_exec_run *run, struct cleave_error *err)
{
    const struct cleave_worker_list *workers = &run->request->workers;
    const struct cleave_items *items = &run->request->items;
    struct cv_start_rates *rates = &run->rates;

    if (workers->nrates == 0)
        return CLEAVE_OK;
    if (rates->members == NULL) {
        rates->groups = calloc(workers->nrates, sizeof *rates->groups);
        rates->members = calloc(run->pool.nworkers, sizeof *rates->members);
        if (rates->groups == NULL || rates->members == NULL)
            return cv_fail_memory(err, "the rates of workers");
    }
    rates->ngroups = workers->nrates;
    rates->held = 0;
    for (size_t i = 0; i < workers->nrates; i++) {
        const struct cleave_rate *from = &workers->rates[i];
        struct cv_rate_group *group = &rates->groups[i];

        group->rate.amount = from->amount;
        group->rate.period_s = from->period_s;
        group->first = from->first;
        group->count = from->count;
        group->by_weight = from->by_weight;
        group->least = 1;
        for (uint64_t k = 0; from->by_weight && k < items->count; k++)
            group->least = k == 0 ? items->sizes[0] : fmin(group->least, items->sizes[k]);
        for (uint32_t w = from->first; w < from->first + from->count; w++)
            rates->members[w] = (struct cv_rate_member){ .group = group };
    }
    return CLEAVE_OK;
}

void cv_start_rates_done(struct cv_exec_run *run)
{
    for (size_t i = 0; i < run->rates.ngroups; i++)
        cv_rate_done(&run->rates.groups[i].rate);
    free(run->rates.groups);
    free(run->rates.members);
    run->rates = (struct cv_start_rates){ .ngroups = 0 };
}

static double amount_of(const struct cv_exec_run *run, const struct cv_rate_group *group,
                        const struct cv_piece *piece)
{
    double amount = 0;

    if (piece == NULL)
        return group->least;
    for (uint64_t i = piece->begin; i < piece->end; i++)
        amount += group->by_weight ? run->request->items.sizes[i] : 1;
    return amount;
}

/* When the worker may start: after the members of its group that wait already. */
static double next_s(struct cv_exec_run *run, struct cv_rate_member *member,
                     const struct cv_piece *piece, double now_s)
{
    struct cv_rate_group *group = member->group;
    uint32_t before = 0;

    for (uint32_t w = group->first; w < group->first + group->count; w++)
        before += run->rates.members[w].waits && &run->rates.members[w] != member;
    return cv_rate_next_s(&group->rate, now_s, amount_of(run, group, piece),
                          before * group->least);
}

bool cv_start_rates_allow(struct cv_exec_run *run, uint32_t worker,
                          const struct cv_piece *piece)
{
    struct cv_rate_member *member = member_of(run, worker);
    const double now_s = cv_clock_s();

    if (member == NULL ||
        cv_rate_next_s(&member->group->rate, now_s, amount_of(run, member->group, piece),
                       0) <= now_s)
        return true;
    member->waits = true;
    cv_worker_health_rest(&run->pool.health, worker, next_s(run, member, piece, now_s));
    return false;
}

double cv_start_rates_left(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_rate_member *member = member_of(run, worker);

    return member != NULL && !member->group->by_weight
               ? floor(cv_rate_left(&member->group->rate, cv_clock_s()))
               : INFINITY;
}

enum cleave_status cv_start_rates_count(struct cv_exec_run *run, uint32_t worker,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err)
{
    struct cv_rate_member *member = member_of(run, worker);
    double amount;

    if (member == NULL)
        return CLEAVE_OK;
    amount = amount_of(run, member->group, piece);
    member->group->started += amount;
    member->group->starts += piece->end - piece->begin;
    return cv_rate_start(&member->group->rate, cv_clock_s(), amount, err);
}

void cv_start_rates_lower(struct cv_exec_run *run, uint32_t worker,
                          const struct cv_piece *piece)
{
    struct cv_rate_member *member = member_of(run, worker);

    if (member != NULL)
        cv_rate_lower(&member->group->rate, cv_clock_s(),
                      amount_of(run, member->group, piece));
}

static bool is_ending(const struct cv_exec_run *run)
{
    return run->halted || run->stopping ||
           !(cv_order_queue_unordered_bytes(&run->queue) > 0);
}

bool cv_start_rates_hold(struct cv_exec_run *run, const struct cleave_event *done)
{
    struct cv_rate_member *member = member_of(run, done->worker);
    const double now_s = cv_clock_s();
    double then_s;

    if (member == NULL || member->holds || is_ending(run) ||
        !cv_worker_pool_serves(&run->pool, done->worker))
        return false;
    then_s = next_s(run, member, NULL, now_s);
    if (then_s <= now_s)
        return false;
    member->waits = member->holds = true;
    member->done = *done;
    run->rates.held++;
    cv_worker_health_rest(&run->pool.health, done->worker, then_s);
    return true;
}

static void push_held(struct cv_exec_run *run, struct cv_rate_member *member)
{
    if (!member->holds)
        return;
    member->holds = false;
    run->rates.held--;
    cv_event_queue_push(&run->events, member->done);
}

void cv_start_rates_release(struct cv_exec_run *run)
{
    for (uint32_t w = 0; run->rates.held > 0 && is_ending(run) && w < run->pool.nworkers;
         w++)
        push_held(run, &run->rates.members[w]);
}

bool cv_start_rates_rested(struct cv_exec_run *run, uint32_t worker)
{
    struct cv_rate_member *member = member_of(run, worker);
    const double now_s = cv_clock_s();
    double then_s;

    if (member == NULL || !member->waits)
        return false;
    /* It is the first in line, whatever others wait for. */
    then_s = cv_rate_next_s(&member->group->rate, now_s, member->group->least, 0);
    member->waits = then_s > now_s;
    if (member->waits) {
        cv_worker_health_rest(&run->pool.health, worker, then_s);
        return true;
    }
    if (!member->holds)
        return false;
    push_held(run, member);
    return true;
}
