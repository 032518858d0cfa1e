/* rent.c -- which workers to pay for: the cheapest plan for a deadline, the fastest for a
 * budget. SPDX-License-Identifier: MIT
 *
 * Workers are taken by what a unit costs on them: the first, the first two, and so on. For
 * each such set the policy plans as ever, which gives a time and a cost. Without results,
 * profiles and limits of memory, and unless somebody asked for a policy, the orders of these
 * plans and those of one round get other sizes, which cost least (rent.c): all then
 * end at the deadline, and the dear ones have less. Else workers leave the best set one by
 * one as long as that is better. Beside it stands what no schedule can beat
 * (model/bounds/cost_bound.h). docs/theory/money.md says how far apart they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/run.h>
#include "base/fail.h"
#include "base/text.h"
#include "model/bounds/load_bounds.h"
#include "model/load/plan.h"
#include "model/platform/platform_internal.h"
#include "model/platform/profile.h"
#include "sim/load/load_case.h"

enum { CV_RENT_WORDS_EACH = 14 };

struct cv_rent_words {
    struct cv_min_cost_plan thrift;
    struct cv_plan *words;
    size_t nwords, capacity;
    double longest_s; /* nobody takes longer alone, whatever the sizes */
};

/* A set of workers, and what the policy makes of it. */
struct cv_paid_set {
    uint32_t *members; /* in the order of the platform */
    uint32_t n;
    double makespan_s, cost;
    const struct cv_plan *chunks; /* NULL: by the policy */
};

struct cv_rent_search {
    const struct cleave_job *job;
    const struct cleave_rental_terms *terms;
    struct cv_arena *arena;
    const struct cleave_worker *workers; /* packing included */
    double *costs;
    uint32_t nworkers;
    uint32_t *order; /* cheapest unit first */
    struct cv_rent_words words;
    bool sizes; /* chosen for the price */
    struct cv_paid_set best;
    bool any;
    double fastest_s, cheapest; /* of all that was tried */
    struct cleave_error first;  /* why nothing could be planned */
    bool refused;
};

/* --- orders of chunks whose sizes are chosen for a price --------------------------- */

/* For one order the cheapest sizes for a deadline come from a linear program
 * (model/load/min_cost_sizes.h), and their cost falls as the deadline is later, so that the earliest
 * deadline for a budget is found by halving. Of the orders the best is taken; then workers
 * leave it, one by one, as long as that is better: what each costs before it does anything
 * is no part of the program. */

enum { HALVINGS = 30, ROUNDS_MOST = 5, LATE_MOST = 3 };
_Static_assert(1 + 1 + (ROUNDS_MOST - 1) * LATE_MOST <= CV_RENT_WORDS_EACH,
               "room for all");
static const double BETTER = 1 - 1e-7;

/* Room for `most` orders. False: memory is short. */
static bool rent_words_open(struct cv_rent_words *words,
                            const struct cv_min_cost_plan *thrift, size_t max,
                            struct cv_arena *arena)
{
    *words = (struct cv_rent_words){ .thrift = *thrift, .capacity = max };
    words->words = cv_array(arena, max, sizeof *words->words);
    for (uint32_t w = 0; w < thrift->nworkers; w++) {
        const struct cleave_worker *worker = &thrift->workers[w];

        words->longest_s += worker->latency_s + worker->compute_latency_s;
        words->longest_s =
            fmax(words->longest_s,
                 thrift->load * (1 / worker->bandwidth_ups + 1 / worker->speed_ups));
    }
    words->longest_s *= 4;
    return words->words != NULL;
}

/* Room for one more order of so many chunks; NULL: there are enough, or memory is short,
 * which *enough says. */
static struct cv_plan *add_word(struct cv_rent_words *words, uint64_t nchunks,
                                struct cv_arena *arena, bool *enough)
{
    struct cv_plan *word = &words->words[words->nwords];

    if (words->nwords == words->capacity || nchunks > CV_THRIFT_MOST)
        return NULL;
    *enough = cv_plan_init(word, arena, nchunks);
    words->nwords += *enough;
    return *enough ? word : NULL;
}

/* Keep the order of a schedule's chunks; workers are numbered by members[]. */
static bool rent_words_keep(struct cv_rent_words *words,
                            const struct cleave_schedule *schedule,
                            const uint32_t *members, struct cv_arena *arena)
{
    bool enough = true;
    struct cv_plan *word = add_word(words, schedule->nchunks, arena, &enough);

    for (size_t k = 0; word != NULL && k < schedule->nchunks; k++)
        word->worker[k] = members[schedule->chunks[k].worker];
    return enough;
}

/* One chunk for each of the members, the widest link first. */
static bool one_round(struct cv_rent_words *words, const uint32_t *members, uint32_t n,
                      struct cv_arena *arena)
{
    bool enough = true;
    struct cv_plan *word = add_word(words, n, arena, &enough);

    for (uint32_t i = 0; word != NULL && i < n; i++) {
        const double width = words->thrift.workers[members[i]].bandwidth_ups;
        uint32_t at = i;

        for (;
             at > 0 && words->thrift.workers[word->worker[at - 1]].bandwidth_ups < width;
             at--)
            word->worker[at] = word->worker[at - 1];
        word->worker[at] = members[i];
    }
    return enough;
}

static bool rent_words_rounds(struct cv_rent_words *words, const uint32_t *members,
                              uint32_t n, struct cv_arena *arena)
{
    bool enough = one_round(words, members, n, arena);

    for (uint32_t rounds = 1; rounds <= ROUNDS_MOST && enough; rounds++)
        for (uint32_t late = 0; late < LATE_MOST && late < n && enough; late++) {
            const uint64_t nchunks = (uint64_t)(n - late) * rounds + late;
            struct cv_plan *word = NULL;

            if (rounds > 1 || late == 0)
                word = add_word(words, nchunks, arena, &enough);
            for (uint64_t k = 0; word != NULL && k < nchunks; k++)
                word->worker[k] =
                    members[k < nchunks - late ? k % (n - late)
                                               : k - (nchunks - late) + n - late];
        }
    return enough;
}

/* What is best so far: least cost for the deadline, or earliest deadline for the budget. */
struct best {
    struct cv_plan plan;
    double cost, deadline_s;
};

static double size_up(const struct cv_rent_words *words, const struct cv_plan *word,
                      double deadline_s, struct cv_arena *arena, struct cv_plan *out)
{
    struct cv_plan sized = *word;
    struct cv_arena scratch;
    double cost;

    cv_arena_init(&scratch);
    cost = cv_min_cost_sizes(&words->thrift, deadline_s, &sized, &scratch);
    if (isfinite(cost)) {
        if (cv_plan_init(out, arena, sized.nchunks)) {
            memcpy(out->worker, sized.worker, sized.nchunks * sizeof *out->worker);
            memcpy(out->units, sized.units, sized.nchunks * sizeof *out->units);
        } else {
            cost = NAN;
        }
    }
    cv_arena_done(&scratch);
    return cost;
}

/* The earliest deadline for which this order keeps to the budget. */
static bool hurry(const struct cv_rent_words *words, const struct cv_plan *word,
                  double budget, struct cv_arena *arena, struct best *best)
{
    double low = 0, high = best->deadline_s * BETTER;

    for (int i = 0; i <= HALVINGS; i++) {
        const double middle = i == 0 ? high : low + (high - low) / 2;
        struct cv_plan plan;
        const double cost = size_up(words, word, middle, arena, &plan);

        if (isnan(cost))
            return false;
        if (cost <= budget)
            *best = (struct best){ plan, cost, high = middle };
        else if (i == 0)
            return true;
        else
            low = middle;
    }
    return true;
}

static bool try_word(const struct cv_rent_words *words, const struct cv_plan *word,
                     const struct cleave_rental_terms *terms, struct cv_arena *arena,
                     struct best *best)
{
    struct cv_plan plan;
    double cost;

    if (!(terms->deadline_s > 0))
        return hurry(words, word, terms->budget, arena, best);
    cost = size_up(words, word, terms->deadline_s, arena, &plan);
    if (cost < best->cost * BETTER || (isinf(best->cost) && !isinf(cost)))
        *best = (struct best){ plan, cost, terms->deadline_s };
    return !isnan(cost);
}

/* The order without the chunks of a worker; false: memory is short. */
static bool without(const struct cv_plan *word, uint32_t worker, struct cv_arena *arena,
                    struct cv_plan *out)
{
    if (!cv_plan_init(out, arena, word->nchunks))
        return false;
    out->nchunks = 0;
    for (size_t k = 0; k < word->nchunks; k++)
        if (word->worker[k] != worker)
            out->worker[out->nchunks++] = word->worker[k];
    return true;
}

/* Workers leave as long as that is better. */
static bool prune(const struct cv_rent_words *words,
                  const struct cleave_rental_terms *terms, struct cv_arena *arena,
                  struct best *best)
{
    for (uint32_t w = 0; w < words->thrift.nworkers; w++) {
        struct cv_plan word;

        if (!without(&best->plan, w, arena, &word))
            return false;
        if (word.nchunks > 0 && word.nchunks < best->plan.nchunks &&
            !try_word(words, &word, terms, arena, best))
            return false;
    }
    return true;
}

/* The cheapest sizes for a deadline, or the fastest for a budget (the deadline 0), in any of
 * the orders; *out_cost is INFINITY when there are none. False: memory is short. */
static bool rent_words_best(const struct cv_rent_words *words,
                            const struct cleave_rental_terms *terms,
                            struct cv_arena *arena, struct cv_plan *out, double *out_cost)
{
    struct best best = { .cost = INFINITY, .deadline_s = words->longest_s };

    for (size_t i = words->nwords; i-- > 0;)
        if (!try_word(words, &words->words[i], terms, arena, &best))
            return false;
    if (!isinf(best.cost) && !prune(words, terms, arena, &best))
        return false;
    *out = best.plan;
    *out_cost = best.cost;
    return true;
}

/* --- sets of workers to pay for, and what comes of them ---------------------------- */

/* Sets of workers that are tried; of many workers not every number. */
enum { SETS_MOST = 24 };
static const double SLACK = 1e-9;
static const double SEARCH_BETTER = 1 - 1e-7;

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
        (first[0] < first[1] * SEARCH_BETTER || first[1] < first[0] * SEARCH_BETTER))
        return first[0] < first[1];
    return second[0] < second[1] * SEARCH_BETTER;
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

/* The platform of some of the workers. */
static enum cleave_status rent_part(const struct cleave_platform *whole,
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
    CV_TRY(rent_part(job.platform, found.members, n, search->arena, &platform, err));
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
            rent_words_keep(&search->words, schedule, found.members, search->arena) &&
            rent_words_rounds(&search->words, members, n, search->arena);
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

/* The list of chunks as policy chunks reads it; NULL: memory is short. */
static char *rent_list(const struct cv_plan *plan, struct cv_arena *arena)
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
                                            rent_list(found->chunks, search->arena) };
    struct cleave_job job = *search->job;
    struct cleave_platform *platform;
    struct cleave_schedule *schedule;
    enum cleave_status status;

    if (setting.value == NULL)
        return cv_fail_memory(err, "the chunks");
    CV_TRY(
        rent_part(job.platform, found->members, found->n, search->arena, &platform, err));
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
            !rent_words_best(&search->words, all[i], search->arena, plan, &cost))
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

/* Set costs and order; false: memory is short. */
static bool rent_sort(struct cv_rent_search *search)
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

/* Try sets and orders; the best that keeps to the terms is in `best` if there is `any`. */
static enum cleave_status rent_look(struct cv_rent_search *search,
                                    struct cleave_error *err)
{
    const struct cleave_job *job = search->job;
    const struct cv_min_cost_plan thrift = { search->workers, search->costs,
                                             search->nworkers,
                                             cleave_platform_port(job->platform),
                                             job->load };

    search->fastest_s = search->cheapest = INFINITY;
    if (search->sizes &&
        !rent_words_open(&search->words, &thrift,
                         (size_t)(SETS_MOST + 2) * (CV_RENT_WORDS_EACH + 1),
                         search->arena))
        return cv_fail_memory(err, "the orders of chunks");
    for (uint32_t k = 1; k <= search->nworkers; k = next_count(k, search->nworkers))
        CV_TRY(try_set(search, search->order, k, err));
    if (!search->sizes)
        return leave_out(search, err);
    return choose_sizes(search, err);
}

/* --- which workers to pay for: the cheapest plan for a deadline, the fastest for a budget --- */

struct owned_rental {
    struct cleave_rental rental; /* first: this is what callers hold */
    struct cleave_setting setting;
    struct cv_arena arena;
};

static enum cleave_status check_terms(const struct cleave_job *job,
                                      const struct cleave_rental_terms *terms,
                                      struct cleave_error *err)
{
    const char *other = job->lifespan_s > 0    ? "a lifespan"
                        : job->reads != NULL   ? "open chunks"
                        : job->sizes != NULL   ? "items"
                        : job->simgrid != NULL ? "SimGrid"
                                               : NULL;

    if ((terms->deadline_s > 0) == (terms->budget > 0))
        return cv_fail(err, CLEAVE_EINPUT, "expected a deadline or a budget, got %s",
                       terms->budget > 0 ? "both" : "neither");
    if (other != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "a deadline or a budget is for a load of known size: not with %s",
                       other);
    if (!cv_platform_costs(job->platform))
        return cv_fail(err, CLEAVE_EINPUT,
                       "no worker of the platform has a cost, such as 'cost: 0.5' per "
                       "second");
    return CLEAVE_OK;
}

/* The best that there is, in one line. */
static enum cleave_status cannot(const struct cv_rent_search *search,
                                 const struct cleave_rental *bounds,
                                 struct cleave_error *err)
{
    if (search->refused && isinf(search->fastest_s)) {
        if (err != NULL)
            *err = search->first;
        return search->first.status;
    }
    if (search->terms->deadline_s > 0)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "no plan was found that ends by %.6g s: the fastest takes %.6g s, and "
            "none can take less than %.6g s",
            search->terms->deadline_s, search->fastest_s, bounds->bound.value_s);
    return cv_fail(
        err, CLEAVE_EINPUT,
        "no plan was found that costs %.6g or less: the cheapest costs %.6g, and "
        "none can cost less than %.6g",
        search->terms->budget, search->cheapest, bounds->least_cost);
}

static enum cleave_status set_bounds(const struct cv_rent_search *search,
                                     struct cleave_rental *out, struct cleave_error *err)
{
    const struct cleave_job *job = search->job;
    const bool deadline = search->terms->deadline_s > 0;
    struct cv_bound_query query = { .workers = search->workers,
                                    .nworkers = search->nworkers,
                                    .port = cleave_platform_port(job->platform),
                                    .load = job->load,
                                    .result_ratio = job->result_ratio };
    struct cleave_bound bounds[CV_MAX_BOUNDS];
    size_t tightest;
    bool enough;
    double money_s;

    query.profiles = cv_profiles(job->platform, search->arena, &enough);
    if (!enough || cv_load_bounds(&query, search->arena, bounds, &tightest) == 0)
        return cv_fail_memory(err, "the bounds");
    out->bound = bounds[tightest];
    out->least_cost =
        cv_cost_bound(&query, search->costs,
                      deadline ? search->terms->deadline_s : INFINITY, search->arena);
    money_s = deadline ? 0
                       : cv_budget_bound(&query, search->costs, search->terms->budget,
                                         search->arena);
    if (isnan(out->least_cost) || isnan(money_s))
        return cv_fail_memory(err, "the bounds");
    if (!isinf(money_s) && money_s > out->bound.value_s)
        out->bound = (struct cleave_bound){ "budget", money_s };
    return CLEAVE_OK;
}

static enum cleave_status keep(const struct cv_rent_search *search,
                               struct owned_rental *owned, struct cleave_error *err)
{
    const struct cv_paid_set *best = &search->best;
    struct cleave_rental *out = &owned->rental;

    out->workers = best->members;
    out->makespan_s = best->makespan_s;
    out->cost = best->cost;
    out->policy = search->job->policy;
    out->settings = search->job->settings;
    out->nsettings = search->job->nsettings;
    if (best->chunks != NULL) {
        owned->setting.key = "chunk-order";
        owned->setting.value = rent_list(best->chunks, &owned->arena);
        if (owned->setting.value == NULL)
            return cv_fail_memory(err, "the chunks");
        out->policy = "chunks";
        out->settings = &owned->setting;
        out->nsettings = 1;
    }
    return rent_part(search->job->platform, best->members, best->n, &owned->arena,
                     &out->platform, err);
}

static enum cleave_status rent(const struct cleave_job *job,
                               const struct cleave_rental_terms *terms,
                               const struct cv_load_case *load_case,
                               struct owned_rental *owned, struct cleave_error *err)
{
    struct cv_rent_search search = { .job = job,
                                     .terms = terms,
                                     .arena = &owned->arena,
                                     .workers =
                                         cleave_platform_workers(load_case->platform),
                                     .nworkers =
                                         cleave_platform_nworkers(job->platform) };

    if (!rent_sort(&search))
        return cv_fail_memory(err, "the costs of workers");
    search.sizes = (job->policy == NULL || strcmp(job->policy, "auto") == 0) &&
                   job->own_policy == NULL && !(job->result_ratio > 0) &&
                   !(job->error > 0) && !cv_is_changing(job->platform);
    for (uint32_t w = 0; w < search.nworkers; w++)
        if (!isinf(cleave_platform_memory(job->platform, w)))
            search.sizes = false;
    CV_TRY(set_bounds(&search, &owned->rental, err));
    CV_TRY(rent_look(&search, err));
    return search.any ? keep(&search, owned, err) : cannot(&search, &owned->rental, err);
}

enum cleave_status cleave_rent(const struct cleave_job *job,
                               const struct cleave_rental_terms *terms,
                               struct cleave_rental **out, struct cleave_error *err)
{
    struct cv_load_case load_case;
    struct owned_rental *owned;
    struct cleave_error own;
    enum cleave_status status;

    CV_TRY(check_terms(job, terms, err));
    owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return cv_fail_memory(err, "a rental");
    cv_arena_init(&owned->arena);
    status = cv_load_case_open(&load_case, job, err);
    if (status == CLEAVE_OK)
        status = rent(job, terms, &load_case, owned, err != NULL ? err : &own);
    cv_load_case_close(&load_case);
    if (status != CLEAVE_OK) {
        cleave_rental_free(&owned->rental);
        return status;
    }
    *out = &owned->rental;
    return CLEAVE_OK;
}

void cleave_rental_free(struct cleave_rental *rental)
{
    struct owned_rental *owned = (struct owned_rental *)rental;

    if (owned == NULL)
        return;
    cleave_platform_free(owned->rental.platform);
    cv_arena_done(&owned->arena);
    free(owned);
}
