/* rent_search.c -- sets of workers to pay for, and what comes of them.
 * SPDX-License-Identifier: MIT */
#include "sim/load/rent_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "model/platform/platform_internal.h"

/* Sets of workers that are tried; of many workers not every number. */
enum { SETS_MOST = 24 };
static const double SLACK = 1e-9;
static const double BETTER = 1 - 1e-7;

static bool keeps_to(const struct cleave_rental_terms *terms, double makespan_s,
                     double cost)
{
    return terms->deadline_s > 0 ? makespan_s <= terms->deadline_s * (1 + SLACK)
                                 : cost <= terms->budget * (1 + SLACK);
}

/* Of two that keep to the terms: the cheaper, or the faster. */
static bool is_better(const struct cleave_rental_terms *terms,
                      const struct cv_paid_set *a, const struct cv_paid_set *b)
{
    const bool deadline = terms->deadline_s > 0;
    const double first[2] = { deadline ? a->cost : a->makespan_s,
                              deadline ? b->cost : b->makespan_s };
    const double second[2] = { deadline ? a->makespan_s : a->cost,
                               deadline ? b->makespan_s : b->cost };

    if (first[0] != first[1] &&
        (first[0] < first[1] * BETTER || first[1] < first[0] * BETTER))
        return first[0] < first[1];
    return second[0] < second[1] * BETTER;
}

static void consider(struct cv_rent_search *search, const struct cv_paid_set *found)
{
    search->fastest_s = fmin(search->fastest_s, found->makespan_s);
    search->cheapest = fmin(search->cheapest, found->cost);
    if (!keeps_to(search->terms, found->makespan_s, found->cost) ||
        (search->any && !is_better(search->terms, found, &search->best)))
        return;
    search->best = *found;
    search->any = true;
}

enum cleave_status cv_rent_part(const struct cleave_platform *whole,
                                const uint32_t *members, uint32_t n,
                                struct cv_arena *arena, struct cleave_platform **out,
                                struct cleave_error *err)
{
    struct cleave_worker *workers = cv_array(arena, n, sizeof *workers);
    struct cv_group *groups = cv_array(arena, n, sizeof *groups);

    if (workers == NULL || groups == NULL)
        return cv_fail_memory(err, "a platform");
    for (uint32_t i = 0; i < n; i++) {
        const double memory = cleave_platform_memory(whole, members[i]);

        workers[i] = cleave_platform_workers(whole)[members[i]];
        groups[i] = (struct cv_group){
            .name = cleave_platform_worker_name(whole, members[i]),
            .count = 1,
            .memory = isinf(memory) ? 0 : memory,
            .cost = cleave_platform_cost(whole, members[i]),
        };
        groups[i].steps = cleave_platform_profile(whole, members[i], &groups[i].nsteps);
    }
    return cv_platform_build(cleave_platform_port(whole), workers, groups, n, out, NULL,
                             err);
}

static int by_number(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* Plan for a set of workers, and keep what comes of it. Sets that nobody plans for are left
 * aside. */
static enum cleave_status try_set(struct cv_rent_search *search, const uint32_t *members,
                                  uint32_t n, struct cleave_error *err)
{
    struct cleave_job job = *search->job;
    struct cv_paid_set found = { .n = n };
    struct cleave_schedule *schedule;
    struct cleave_platform *platform;
    enum cleave_status status;
    bool enough = true;

    found.members = cv_array(search->arena, n, sizeof *found.members);
    if (found.members == NULL)
        return cv_fail_memory(err, "a set of workers");
    memcpy(found.members, members, n * sizeof *members);
    qsort(found.members, n, sizeof *found.members, by_number);
    CV_TRY(cv_rent_part(job.platform, found.members, n, search->arena, &platform, err));
    job.platform = platform;
    job.trace = NULL;
    status = cleave_plan_load(&job, &schedule, err);
    cleave_platform_free(platform);
    if (status == CLEAVE_EINPUT || status == CLEAVE_EPOLICY) {
        if (!search->refused)
            search->first = *err;
        search->refused = true;
        return CLEAVE_OK;
    }
    CV_TRY(status);
    found.makespan_s = schedule->makespan_s;
    found.cost = schedule->cost;
    consider(search, &found);
    if (search->sizes)
        enough =
            cv_rent_words_keep(&search->words, schedule, found.members, search->arena) &&
            cv_rent_words_rounds(&search->words, members, n, search->arena);
    cleave_schedule_free(schedule);
    return enough ? CLEAVE_OK : cv_fail_memory(err, "the orders of chunks");
}

/* How many workers the next set has. */
static uint32_t next_count(uint32_t count, uint32_t nworkers)
{
    const double factor = pow(nworkers, 1.0 / SETS_MOST);
    const double next = nworkers <= SETS_MOST ? count + 1 : ceil(count * factor);

    return count == nworkers      ? nworkers + 1
           : next >= nworkers     ? nworkers
           : next > (double)count ? (uint32_t)next
                                  : count + 1;
}

/* Without one of its workers the best set may be better. */
static enum cleave_status leave_out(struct cv_rent_search *search,
                                    struct cleave_error *err)
{
    bool better = search->any && search->best.n <= SETS_MOST;

    while (better) {
        const struct cv_paid_set best = search->best;
        uint32_t *rest = cv_array(search->arena, best.n, sizeof *rest);

        if (rest == NULL)
            return cv_fail_memory(err, "a set of workers");
        for (uint32_t i = 0; i < best.n && best.n > 1; i++) {
            uint32_t n = 0;

            for (uint32_t j = 0; j < best.n; j++)
                if (j != i)
                    rest[n++] = best.members[j];
            CV_TRY(try_set(search, rest, n, err));
        }
        better = search->best.members != best.members && search->best.n > 1;
    }
    return CLEAVE_OK;
}

/* The workers that a plan names, and the plan with numbers among these. */
static bool renumber(struct cv_rent_search *search, struct cv_plan *plan,
                     struct cv_paid_set *out)
{
    uint32_t *number = cv_array(search->arena, search->nworkers, sizeof *number);

    out->members = cv_array(search->arena, search->nworkers, sizeof *out->members);
    if (number == NULL || out->members == NULL)
        return false;
    for (size_t k = 0; k < plan->nchunks; k++)
        number[plan->worker[k]] = 1;
    out->n = 0;
    for (uint32_t w = 0; w < search->nworkers; w++)
        if (number[w] == 1) {
            number[w] = out->n;
            out->members[out->n++] = w;
        }
    for (size_t k = 0; k < plan->nchunks; k++)
        plan->worker[k] = number[plan->worker[k]];
    out->chunks = plan;
    return true;
}

char *cv_rent_list(const struct cv_plan *plan, struct cv_arena *arena)
{
    struct cv_text text = { NULL, 0, 0, false };

    for (size_t k = 0; k < plan->nchunks; k++)
        cv_text_add(&text, "%s%u:%.17g", k > 0 ? "," : "", plan->worker[k],
                    plan->units[k]);
    return cv_text_take(&text, arena);
}

/* Time and cost of a list of chunks. */
static enum cleave_status measure(struct cv_rent_search *search,
                                  struct cv_paid_set *found, struct cleave_error *err)
{
    const struct cleave_setting setting = { "chunk-order",
                                            cv_rent_list(found->chunks, search->arena) };
    struct cleave_job job = *search->job;
    struct cleave_platform *platform;
    struct cleave_schedule *schedule;
    enum cleave_status status;

    if (setting.value == NULL)
        return cv_fail_memory(err, "the chunks");
    CV_TRY(cv_rent_part(job.platform, found->members, found->n, search->arena, &platform,
                        err));
    job.platform = platform;
    job.policy = "chunks";
    job.settings = &setting;
    job.nsettings = 1;
    job.trace = NULL;
    status = cleave_plan_load(&job, &schedule, err);
    cleave_platform_free(platform);
    CV_TRY(status);
    found->makespan_s = schedule->makespan_s;
    found->cost = schedule->cost;
    cleave_schedule_free(schedule);
    return CLEAVE_OK;
}

/* The same orders with sizes for the terms; also the cheapest of all, whenever it ends. */
static enum cleave_status choose_sizes(struct cv_rent_search *search,
                                       struct cleave_error *err)
{
    const struct cleave_rental_terms late = { .deadline_s = search->words.longest_s };
    const struct cleave_rental_terms *all[] = { search->terms, &late };

    for (int i = 0; i < 2; i++) {
        struct cv_plan *plan = cv_array(search->arena, 1, sizeof *plan);
        struct cv_paid_set found = { .n = 0 };
        double cost;

        if (i == 1 && search->any)
            break;
        if (plan == NULL ||
            !cv_rent_words_best(&search->words, all[i], search->arena, plan, &cost))
            return cv_fail_memory(err, "the sizes of chunks");
        if (isinf(cost))
            continue;
        if (!renumber(search, plan, &found))
            return cv_fail_memory(err, "a set of workers");
        CV_TRY(measure(search, &found, err));
        consider(search, &found);
    }
    return CLEAVE_OK;
}

struct priced {
    double money, speed;
    uint32_t worker;
};

static int by_money(const void *left, const void *right)
{
    const struct priced *a = left, *b = right;

    if (a->money != b->money)
        return a->money < b->money ? -1 : 1;
    if (a->speed != b->speed)
        return a->speed > b->speed ? -1 : 1;
    return a->worker < b->worker ? -1 : 1;
}

bool cv_rent_sort(struct cv_rent_search *search)
{
    const uint32_t n = search->nworkers;
    struct priced *priced = cv_array(search->arena, n, sizeof *priced);

    search->costs = cv_array(search->arena, n, sizeof *search->costs);
    search->order = cv_array(search->arena, n, sizeof *search->order);
    if (priced == NULL || search->costs == NULL || search->order == NULL)
        return false;
    for (uint32_t w = 0; w < n; w++) {
        search->costs[w] = cleave_platform_cost(search->job->platform, w);
        priced[w] = (struct priced){ search->costs[w] / search->workers[w].speed_ups,
                                     search->workers[w].speed_ups, w };
    }
    qsort(priced, n, sizeof *priced, by_money);
    for (uint32_t w = 0; w < n; w++)
        search->order[w] = priced[w].worker;
    return true;
}

enum cleave_status cv_rent_look(struct cv_rent_search *search, struct cleave_error *err)
{
    const struct cleave_job *job = search->job;
    const struct cv_min_cost_plan thrift = { search->workers, search->costs,
                                             search->nworkers,
                                             cleave_platform_port(job->platform),
                                             job->load };

    search->fastest_s = search->cheapest = INFINITY;
    if (search->sizes &&
        !cv_rent_words_open(&search->words, &thrift,
                            (size_t)(SETS_MOST + 2) * (CV_RENT_WORDS_EACH + 1),
                            search->arena))
        return cv_fail_memory(err, "the orders of chunks");
    for (uint32_t k = 1; k <= search->nworkers; k = next_count(k, search->nworkers))
        CV_TRY(try_set(search, search->order, k, err));
    if (!search->sizes)
        return leave_out(search, err);
    return choose_sizes(search, err);
}
