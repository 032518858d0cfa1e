/* start_rates.c -- rates of workers: how much they may start. SPDX-License-Identifier: MIT
 *
 * A rate counts items, records or their weights when a worker gets them. A worker whose rate is
 * used up rests: its orders wait or go to another worker. The policy is not told that an item is
 * done before its worker may start again, because a policy of items never takes an order back. */
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

/* The amount of the smallest item or chunk, as far as it is known. */
static double least_of(const struct cv_exec_run *run, bool by_weight)
{
    const struct cleave_items *items = &run->request->items;
    double least = by_weight && items->words == NULL ? 0 : 1;

    for (uint64_t k = 0; by_weight && k < items->count; k++)
        least = k == 0 ? items->sizes[0] : fmin(least, items->sizes[k]);
    return least;
}

static enum cleave_status fail_heavy(double amount, double period_s, double wanted,
                                     const char *what, struct cleave_error *err)
{
    return cv_fail_at(err, &(struct cv_place){ .field = "workers.rates" },
                      "expected at least %g in %g s, which %s takes, got %g", wanted,
                      period_s, what, amount);
}

enum cleave_status cv_start_rates_open(struct cv_exec_run *run, struct cleave_error *err)
{
    const struct cleave_worker_list *workers = &run->request->workers;
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
        group->by_weight = from->by_weight;
        group->least = least_of(run, from->by_weight);
        if (from->by_weight && cv_source_heaviest(run->queue.source) > from->amount)
            return fail_heavy(from->amount, from->period_s,
                              cv_source_heaviest(run->queue.source), "a record", err);
        for (uint32_t w = 0; w < run->pool.first_spare; w++)
            if (run->pool.asked_of[w] >= from->first &&
                run->pool.asked_of[w] - from->first < from->count)
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
    if (run->request->items.words == NULL)
        return group->by_weight ? piece->units
                                : (double)cv_source_count(run->queue.source, piece);
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

    for (uint32_t w = 0; w < run->pool.first_spare; w++) {
        const struct cv_rate_member *other = &run->rates.members[w];

        before += other->group == group && other->waits && other != member;
    }
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

enum cleave_status cv_start_rates_fit(const struct cv_exec_run *run, uint32_t worker,
                                      const struct cv_piece *piece,
                                      struct cleave_error *err)
{
    const struct cv_rate_member *member = member_of(run, worker);
    const struct cv_rate *rate = member != NULL ? &member->group->rate : NULL;
    const double amount = member != NULL ? amount_of(run, member->group, piece) : 0;

    return rate == NULL || cv_rate_can_hold(rate, amount)
               ? CLEAVE_OK
               : fail_heavy(rate->amount, rate->period_s, amount,
                            member->group->by_weight ? "a record" : "a chunk", err);
}

double cv_start_rates_share(struct cv_exec_run *run, uint32_t worker, bool by_weight)
{
    struct cv_rate_member *member = member_of(run, worker);
    uint32_t idle = 0;

    if (member == NULL || member->group->by_weight != by_weight)
        return INFINITY;
    for (uint32_t w = 0; w < run->pool.first_spare; w++)
        idle += run->rates.members[w].group == member->group &&
                !cv_attempt_table_is_busy(&run->table, w);
    return cv_rate_left(&member->group->rate, cv_clock_s()) / fmax(1, idle);
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
    member->group->units += piece->units;
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
        run->request->items.words == NULL ||
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
