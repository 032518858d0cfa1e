/* rent.c -- which workers to pay for: the cheapest plan for a deadline, the fastest for a
 * budget. SPDX-License-Identifier: MIT
 *
 * Workers are sorted by the cost of a unit, and the first, the first two, and so on are
 * sets. The policy plans for each set, which gives a time and a cost. Without results,
 * profiles, memory limits and a given policy, the orders of these plans and of rounds get
 * the sizes that cost least: all workers end at the deadline, and expensive ones have
 * less. Else workers are removed from the best set while that is better. The bound for all
 * schedules is that of model/bounds/cost_bound.h; docs/theory/money.md compares both. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/run.h>
#include "base/argument.h"
#include "base/compare.h"
#include "base/fail.h"
#include "base/text.h"
#include "model/bounds/load_bounds.h"
#include "model/load/plan.h"
#include "model/platform/argument_check.h"
#include "model/platform/platform_internal.h"
#include "model/platform/profile.h"
#include "sim/load/load_case.h"

enum { WORDS_EACH = 14 };

struct rent_words {
    struct cv_min_cost_plan thrift;
    struct cv_arena *arena; /* borrowed */
    struct cv_plan *words;
    size_t nwords, capacity;
    bool failed;      /* there was no memory for an order */
    double longest_s; /* longer than any worker takes alone */
};

/* A set of workers and its plan. */
struct paid_set {
    uint32_t *members; /* in the order of the platform */
    uint32_t n;
    double makespan_s, cost;
    const struct cv_plan *chunks; /* NULL: made by the policy */
};

struct rent_search {
    const struct cleave_job *job;
    const struct cleave_rental_terms *terms;
    struct cv_arena *arena;
    const struct cleave_worker *workers; /* with packing */
    double *costs;
    uint32_t nworkers;
    uint32_t *order; /* cheapest unit first */
    struct rent_words words;
    bool sizes; /* chosen for the price */
    struct paid_set best;
    bool any;
    double fastest_s, cheapest; /* over all plans */
    struct cleave_error first;  /* the first refusal */
    bool refused;
};

/* --- orders of chunks with the best sizes for a price ------------------------------- */

/* A linear program gives the cheapest sizes of an order for a deadline
 * (model/load/min_cost_sizes.h). Their cost falls with the deadline, so bisection finds the
 * earliest deadline for a budget. Workers are removed from the best order while that is
 * better: the program does not contain the cost of a worker before its first unit. */

enum { HALVINGS = 30, ROUNDS_MOST = 5, LATE_MOST = 3 };
_Static_assert(1 + 1 + (ROUNDS_MOST - 1) * LATE_MOST <= WORDS_EACH, "room for all");
static const double BETTER = 1 - 1e-7;

/* False: no memory. */
static bool rent_words_open(struct rent_words *words,
                            const struct cv_min_cost_plan *thrift, size_t max,
                            struct cv_arena *arena)
{
    *words = (struct rent_words){ .thrift = *thrift, .arena = arena, .capacity = max };
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

/* Add an order; NULL: there are enough, or no memory. */
static struct cv_plan *add_word(struct rent_words *words, uint64_t nchunks)
{
    struct cv_plan *word = &words->words[words->nwords];

    if (words->failed || words->nwords == words->capacity || nchunks > CV_THRIFT_MOST)
        return NULL;
    words->failed = !cv_plan_init(word, words->arena, nchunks);
    words->nwords += !words->failed;
    return words->failed ? NULL : word;
}

static void rent_words_keep(struct rent_words *words,
                            const struct cleave_schedule *schedule,
                            const uint32_t *members)
{
    struct cv_plan *word = add_word(words, schedule->nchunks);

    for (size_t k = 0; word != NULL && k < schedule->nchunks; k++)
        word->worker[k] = members[schedule->chunks[k].worker];
}

/* One chunk for each member, the widest link first. */
static void one_round(struct rent_words *words, const uint32_t *members, uint32_t n)
{
    struct cv_plan *word = add_word(words, n);

    for (uint32_t i = 0; word != NULL && i < n; i++) {
        const double width = words->thrift.workers[members[i]].bandwidth_ups;
        uint32_t at = i;

        for (;
             at > 0 && words->thrift.workers[word->worker[at - 1]].bandwidth_ups < width;
             at--)
            word->worker[at] = word->worker[at - 1];
        word->worker[at] = members[i];
    }
}

static void rent_words_rounds(struct rent_words *words, const uint32_t *members,
                              uint32_t n)
{
    one_round(words, members, n);
    for (uint32_t rounds = 1; rounds <= ROUNDS_MOST; rounds++)
        for (uint32_t late = 0; late < LATE_MOST && late < n; late++) {
            const uint64_t nchunks = (uint64_t)(n - late) * rounds + late;
            struct cv_plan *word = NULL;

            if (rounds > 1 || late == 0)
                word = add_word(words, nchunks);
            for (uint64_t k = 0; word != NULL && k < nchunks; k++)
                word->worker[k] =
                    members[k < nchunks - late ? k % (n - late)
                                               : k - (nchunks - late) + n - late];
        }
}

/* Least cost for the deadline, or earliest deadline for the budget. */
struct best {
    struct cv_plan plan;
    double cost, deadline_s;
};

/* The cost of the cheapest sizes; NAN: no memory. */
static double size_up(const struct rent_words *words, const struct cv_plan *word,
                      double deadline_s, struct cv_plan *out)
{
    struct cv_plan sized = *word;
    struct cv_arena scratch;
    double cost;

    cv_arena_init(&scratch);
    cost = cv_min_cost_sizes(&words->thrift, deadline_s, &sized, &scratch);
    if (isfinite(cost)) {
        if (cv_plan_init(out, words->arena, sized.nchunks)) {
            memcpy(out->worker, sized.worker, sized.nchunks * sizeof *out->worker);
            memcpy(out->units, sized.units, sized.nchunks * sizeof *out->units);
        } else {
            cost = NAN;
        }
    }
    cv_arena_done(&scratch);
    return cost;
}

/* The earliest deadline for which this order keeps the budget. */
static bool hurry(const struct rent_words *words, const struct cv_plan *word,
                  double budget, struct best *best)
{
    double low = 0, high = best->deadline_s * BETTER;

    for (int i = 0; i <= HALVINGS; i++) {
        const double middle = i == 0 ? high : low + (high - low) / 2;
        struct cv_plan plan;
        const double cost = size_up(words, word, middle, &plan);

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

static bool try_word(const struct rent_words *words, const struct cv_plan *word,
                     const struct cleave_rental_terms *terms, struct best *best)
{
    struct cv_plan plan;
    double cost;

    if (!(terms->deadline_s > 0))
        return hurry(words, word, terms->budget, best);
    cost = size_up(words, word, terms->deadline_s, &plan);
    if (cost < best->cost * BETTER || (isinf(best->cost) && !isinf(cost)))
        *best = (struct best){ plan, cost, terms->deadline_s };
    return !isnan(cost);
}
/* Remove workers while that is better. */
static bool prune(const struct rent_words *words, const struct cleave_rental_terms *terms,
                  struct best *best)
{
    for (uint32_t w = 0; w < words->thrift.nworkers; w++) {
        struct cv_plan word;

        if (!cv_plan_init(&word, words->arena, best->plan.nchunks))
            return false;
        word.nchunks = 0;
        for (size_t k = 0; k < best->plan.nchunks; k++)
            if (best->plan.worker[k] != w)
                word.worker[word.nchunks++] = best->plan.worker[k];
        if (word.nchunks > 0 && word.nchunks < best->plan.nchunks &&
            !try_word(words, &word, terms, best))
            return false;
    }
    return true;
}

/* The cheapest sizes for a deadline, or the fastest for a budget (deadline 0), over
 * all orders; *out_cost is INFINITY if there are none. False: no memory. */
static bool rent_words_best(const struct rent_words *words,
                            const struct cleave_rental_terms *terms, struct cv_plan *out,
                            double *out_cost)
{
    struct best best = { .cost = INFINITY, .deadline_s = words->longest_s };

    for (size_t i = words->nwords; i-- > 0;)
        if (!try_word(words, &words->words[i], terms, &best))
            return false;
    if (!isinf(best.cost) && !prune(words, terms, &best))
        return false;
    *out = best.plan;
    *out_cost = best.cost;
    return true;
}

/* --- sets of workers ---------------------------------------------------------------- */

/* Most sets that are tried. */
enum { SETS_MOST = 24 };
static const double SLACK = 1e-9;

static bool keeps_to(const struct cleave_rental_terms *terms, double makespan_s,
                     double cost)
{
    return terms->deadline_s > 0 ? makespan_s <= terms->deadline_s * (1 + SLACK)
                                 : cost <= terms->budget * (1 + SLACK);
}

/* Among two that keep the terms: the cheaper, or the faster. */
static bool is_better(const struct cleave_rental_terms *terms, const struct paid_set *a,
                      const struct paid_set *b)
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

static void consider(struct rent_search *search, const struct paid_set *found)
{
    search->fastest_s = fmin(search->fastest_s, found->makespan_s);
    search->cheapest = fmin(search->cheapest, found->cost);
    if (!keeps_to(search->terms, found->makespan_s, found->cost) ||
        (search->any && !is_better(search->terms, found, &search->best)))
        return;
    search->best = *found;
    search->any = true;
}

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
static int by_number(const void *a, const void *b)
{
    return CV_COMPARE(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Plan a job for the workers of a set; sets its makespan and cost. */
static enum cleave_status plan_set(const struct rent_search *search,
                                   struct cleave_job job, struct paid_set *set,
                                   struct cleave_schedule **out, struct cleave_error *err)
{
    struct cleave_platform *platform;
    enum cleave_status status;

    CV_TRY(rent_part(job.platform, set->members, set->n, search->arena, &platform, err));
    job.platform = platform;
    job.trace = NULL;
    status = cleave_plan_load(&job, out, err);
    cleave_platform_free(platform);
    CV_TRY(status);
    set->makespan_s = (*out)->makespan_s;
    set->cost = (*out)->cost;
    return CLEAVE_OK;
}

/* Plan for a set of workers. Sets that the policy refuses are skipped. */
static enum cleave_status try_set(struct rent_search *search, const uint32_t *members,
                                  uint32_t n, struct cleave_error *err)
{
    struct paid_set found = { .n = n };
    struct cleave_schedule *schedule;
    enum cleave_status status;

    if (!CV_NEW(search->arena, found.members, n))
        return cv_fail_memory(err, "a set of workers");
    memcpy(found.members, members, n * sizeof *members);
    qsort(found.members, n, sizeof *found.members, by_number);
    status = plan_set(search, *search->job, &found, &schedule, err);
    if (status == CLEAVE_EINPUT || status == CLEAVE_EPOLICY) {
        if (!search->refused)
            search->first = *err;
        search->refused = true;
        return CLEAVE_OK;
    }
    CV_TRY(status);
    consider(search, &found);
    if (search->sizes) {
        rent_words_keep(&search->words, schedule, found.members);
        rent_words_rounds(&search->words, members, n);
    }
    cleave_schedule_free(schedule);
    return search->words.failed ? cv_fail_memory(err, "the orders of chunks") : CLEAVE_OK;
}

static uint32_t next_count(uint32_t count, uint32_t nworkers)
{
    const double factor = pow(nworkers, 1.0 / SETS_MOST);
    const double next = nworkers <= SETS_MOST ? count + 1 : ceil(count * factor);

    return count == nworkers      ? nworkers + 1
           : next >= nworkers     ? nworkers
           : next > (double)count ? (uint32_t)next
                                  : count + 1;
}

/* Remove one worker from the best set while that is better. */
static enum cleave_status leave_out(struct rent_search *search, struct cleave_error *err)
{
    bool better = search->any && search->best.n <= SETS_MOST;

    while (better) {
        const struct paid_set best = search->best;
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

/* The workers of a plan, and the plan with their indices. */
static bool renumber(struct rent_search *search, struct cv_plan *plan,
                     struct paid_set *out)
{
    uint32_t *number = cv_array(search->arena, search->nworkers, sizeof *number);

    if (!CV_NEW(search->arena, out->members, search->nworkers) || number == NULL)
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

/* The list of chunks for the policy chunks; NULL: no memory. */
static char *rent_list(const struct cv_plan *plan, struct cv_arena *arena)
{
    struct cv_text text = { NULL, 0, 0, false };

    for (size_t k = 0; k < plan->nchunks; k++)
        cv_text_add(&text, "%s%u:%.17g", k > 0 ? "," : "", plan->worker[k],
                    plan->units[k]);
    return cv_text_take(&text, arena);
}
static enum cleave_status measure(struct rent_search *search, struct paid_set *found,
                                  struct cleave_error *err)
{
    const struct cleave_setting setting = { "chunk-order",
                                            rent_list(found->chunks, search->arena) };
    struct cleave_job job = *search->job;
    struct cleave_schedule *schedule;

    if (setting.value == NULL)
        return cv_fail_memory(err, "the chunks");
    job.policy = "chunks";
    job.settings = &setting;
    job.nsettings = 1;
    CV_TRY(plan_set(search, job, found, &schedule, err));
    cleave_schedule_free(schedule);
    return CLEAVE_OK;
}

/* Sizes for the terms; if none keep them, the cheapest sizes without a deadline. */
static enum cleave_status choose_sizes(struct rent_search *search,
                                       struct cleave_error *err)
{
    const struct cleave_rental_terms late = { .deadline_s = search->words.longest_s };
    const struct cleave_rental_terms *all[] = { search->terms, &late };

    for (int i = 0; i < 2; i++) {
        struct cv_plan *plan = cv_array(search->arena, 1, sizeof *plan);
        struct paid_set found = { .n = 0 };
        double cost;

        if (i == 1 && search->any)
            break;
        if (plan == NULL || !rent_words_best(&search->words, all[i], plan, &cost))
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

    return a->money != b->money   ? CV_COMPARE(a->money, b->money)
           : a->speed != b->speed ? CV_COMPARE(b->speed, a->speed)
                                  : CV_COMPARE(a->worker, b->worker);
}

/* Set costs and order; false: no memory. */
static bool rent_sort(struct rent_search *search)
{
    const uint32_t n = search->nworkers;
    struct priced *priced = cv_array(search->arena, n, sizeof *priced);

    if (!CV_NEW(search->arena, search->costs, n) ||
        !CV_NEW(search->arena, search->order, n) || priced == NULL)
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

static enum cleave_status rent_look(struct rent_search *search, struct cleave_error *err)
{
    const struct cleave_job *job = search->job;
    const struct cv_min_cost_plan thrift = { search->workers, search->costs,
                                             search->nworkers,
                                             cleave_platform_port(job->platform),
                                             job->load };

    search->fastest_s = search->cheapest = INFINITY;
    if (search->sizes &&
        !rent_words_open(&search->words, &thrift,
                         (size_t)(SETS_MOST + 2) * (WORDS_EACH + 1), search->arena))
        return cv_fail_memory(err, "the orders of chunks");
    for (uint32_t k = 1; k <= search->nworkers; k = next_count(k, search->nworkers))
        CV_TRY(try_set(search, search->order, k, err));
    if (!search->sizes)
        return leave_out(search, err);
    return choose_sizes(search, err);
}

/* --- the public call ---------------------------------------------------------------- */

struct owned_rental {
    struct cleave_rental rental; /* first: this is what callers hold */
    struct cleave_setting setting;
    struct cv_arena arena;
};

static enum cleave_status check_terms(const struct cleave_job *job,
                                      const struct cleave_rental_terms *terms,
                                      struct cleave_error *err)
{
    const char *other = job->lifespan_s > 0           ? "a lifespan"
                        : job->reads != NULL          ? "open chunks"
                        : job->sizes != NULL          ? "items"
                        : job->simgrid != NULL        ? "SimGrid"
                        : job->platform->tree != NULL ? "leaders (via:)"
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

static enum cleave_status cannot(const struct rent_search *search,
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

static enum cleave_status set_bounds(const struct rent_search *search,
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

static enum cleave_status keep(const struct rent_search *search,
                               struct owned_rental *owned, struct cleave_error *err)
{
    const struct paid_set *best = &search->best;
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
    struct rent_search search = { .job = job,
                                  .terms = terms,
                                  .arena = &owned->arena,
                                  .workers = cleave_platform_workers(load_case->platform),
                                  .nworkers = cleave_platform_nworkers(job->platform) };

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

    CV_TRY(cv_check_job(job, err));
    CV_EXPECT_POINTER(terms, err, "terms");
    CV_EXPECT_POINTER(out, err, "out");
    CV_EXPECT_SIZE(terms->deadline_s, err, "terms.deadline_s");
    CV_EXPECT_SIZE(terms->budget, err, "terms.budget");
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
