/* rent.c -- which workers to pay for: the cheapest plan for a deadline, the fastest for a
 * budget. SPDX-License-Identifier: MIT
 *
 * Workers are taken by what a unit costs on them: the first, the first two, and so on. For
 * each such set the policy plans as ever, which gives a time and a cost. Without results,
 * profiles and limits of memory, and unless somebody asked for a policy, the orders of these
 * plans and those of one round get other sizes, which cost least (rent_words.h): all then
 * end at the deadline, and the dear ones have less. Else workers leave the best set one by
 * one as long as that is better. Beside it stands what no schedule can beat
 * (model/bounds/cost_bound.h). docs/theory/money.md says how far apart they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/bounds/load_bounds.h"
#include "model/platform/profile.h"
#include "sim/load/load_case.h"
#include "sim/load/rent_search.h"

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
        owned->setting.value = cv_rent_list(best->chunks, &owned->arena);
        if (owned->setting.value == NULL)
            return cv_fail_memory(err, "the chunks");
        out->policy = "chunks";
        out->settings = &owned->setting;
        out->nsettings = 1;
    }
    return cv_rent_part(search->job->platform, best->members, best->n, &owned->arena,
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

    if (!cv_rent_sort(&search))
        return cv_fail_memory(err, "the costs of workers");
    search.sizes = (job->policy == NULL || strcmp(job->policy, "auto") == 0) &&
                   job->own_policy == NULL && !(job->result_ratio > 0) &&
                   !(job->error > 0) && !cv_is_changing(job->platform);
    for (uint32_t w = 0; w < search.nworkers; w++)
        if (!isinf(cleave_platform_memory(job->platform, w)))
            search.sizes = false;
    CV_TRY(set_bounds(&search, &owned->rental, err));
    CV_TRY(cv_rent_look(&search, err));
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
