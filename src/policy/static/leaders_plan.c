/* leaders_plan.c -- pieces for workers that lead others: leaders.
 * SPDX-License-Identifier: MIT
 *
 * The plan is found by playing the tree (model/leaders/led_tree.h): k rounds of pieces
 * that grow or shrink from round to round, over the best of several sets of workers, then
 * random changes of sizes, order and workers that are kept if the end does not come
 * later. A play equals a simulation, so the makespan is exact. The number of plays is
 * limited by the number of children visited, and the same on every machine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/random.h"
#include "base/step_budget.h"
#include "model/leaders/led_tree.h"
#include "policy/common/setup.h"

enum { MOST_ROUNDS = 12, MOST_SETS = 24, CHANGES = 300, LAST_CHANGES = 1500 };
/* Pieces in all: few, as the best number is the number of rounds that latencies allow. */
enum { MOST_PIECES = 4096 };
/* States that are reset in the time of a visit. */
enum { STATES_A_VISIT = 8 };
/* Children and pieces looked at in all. */
static const double MOST_VISITS = 1e7;

struct leaders_search {
    const struct cleave_view *view;
    struct cv_led_run run;
    double *link_s;       /* per worker, for port multi */
    double visits, limit; /* visits of all plays, and their limit */
    struct cv_plan best, trial, kept;
    double best_s;
    struct cv_random random;
};

static void copy_plan(struct cv_plan *to, const struct cv_plan *from)
{
    to->nchunks = from->nchunks;
    memcpy(to->worker, from->worker, from->nchunks * sizeof *from->worker);
    memcpy(to->units, from->units, from->nchunks * sizeof *from->units);
}

/* The makespan of a plan. */
static double play(struct leaders_search *search, const struct cv_plan *plan)
{
    const struct cleave_view *view = search->view;
    const bool multi = view->port == CLEAVE_PORT_MULTI;
    double port_s = 0, end_s = 0;

    cv_led_run_reset(&search->run);
    memset(search->link_s, 0, view->nworkers * sizeof *search->link_s);
    for (size_t k = 0; k < plan->nchunks; k++) {
        const uint32_t w = plan->worker[k];
        double *busy_s = multi ? &search->link_s[w] : &port_s;

        if (!(plan->units[k] > 0))
            continue;
        *busy_s +=
            view->workers[w].latency_s + plan->units[k] / view->workers[w].bandwidth_ups;
        end_s = fmax(end_s, cv_led_take(&search->run, w, *busy_s, plan->units[k], 1));
    }
    search->visits += search->run.visits + (double)(plan->nchunks + view->nworkers) +
                      (double)search->run.nstates / STATES_A_VISIT;
    return end_s;
}

static bool is_over(const struct leaders_search *search)
{
    return search->visits >= search->limit;
}

/* Rounds of pieces for the first `n` workers of an order, each `growth` times as large as
 * the piece before. */
static void lay_rounds(struct leaders_search *search, const uint32_t *order, uint32_t n,
                       uint32_t rounds, double growth)
{
    struct cv_plan *plan = &search->trial;
    double sum = 0, size = 1;

    plan->nchunks = 0;
    for (uint32_t r = 0; r < rounds; r++, size *= growth)
        for (uint32_t i = 0; i < n; i++) {
            plan->worker[plan->nchunks] = order[i];
            plan->units[plan->nchunks] = size * search->view->workers[order[i]].speed_ups;
            sum += plan->units[plan->nchunks++];
        }
    for (size_t k = 0; k < plan->nchunks; k++)
        plan->units[k] *= search->view->units_total / sum;
}

/* Keep the trial in `plan` if it is no worse. */
static void judge(struct leaders_search *search, struct cv_plan *plan, double *end_s)
{
    const double at_s = play(search, &search->trial);

    if (at_s <= *end_s) {
        *end_s = at_s;
        copy_plan(plan, &search->trial);
    }
}

static size_t draw(struct leaders_search *search, size_t n)
{
    return (size_t)(cv_random_uniform(&search->random) * (double)n);
}

/* Change the trial at random. */
static void change(struct leaders_search *search)
{
    struct cv_plan *plan = &search->trial;
    const size_t i = draw(search, plan->nchunks), j = draw(search, plan->nchunks);
    const double kind = cv_random_uniform(&search->random);
    const double part = pow(10, -3 * cv_random_uniform(&search->random));
    const double units = plan->units[i];
    const uint32_t worker = plan->worker[i];

    if (kind < 0.15 && i != j) { /* exchange two pieces */
        plan->worker[i] = plan->worker[j];
        plan->units[i] = plan->units[j];
        plan->worker[j] = worker;
        plan->units[j] = units;
    } else if (kind < 0.25) {
        plan->worker[i] = (uint32_t)draw(search, search->view->nworkers);
    } else if (kind < 0.35 && plan->nchunks < MOST_PIECES) { /* one piece more, at j */
        memmove(&plan->worker[j + 1], &plan->worker[j],
                (plan->nchunks - j) * sizeof *plan->worker);
        memmove(&plan->units[j + 1], &plan->units[j],
                (plan->nchunks - j) * sizeof *plan->units);
        plan->nchunks++;
        plan->units[j <= i ? i + 1 : i] = units * (1 - part);
        plan->units[j] = units * part;
        plan->worker[j] = cv_random_uniform(&search->random) < 0.5
                              ? worker
                              : (uint32_t)draw(search, search->view->nworkers);
    } else if (kind < 0.45 && plan->nchunks > 1 && i != j) { /* one piece less */
        plan->units[j] += units;
        plan->nchunks--;
        memmove(&plan->worker[i], &plan->worker[i + 1],
                (plan->nchunks - i) * sizeof *plan->worker);
        memmove(&plan->units[i], &plan->units[i + 1],
                (plan->nchunks - i) * sizeof *plan->units);
    } else {
        plan->units[i] -= part * units;
        plan->units[j] += part * units;
    }
}

static void improve(struct leaders_search *search, struct cv_plan *plan, double *end_s,
                    int changes)
{
    for (int i = 0; i < changes && !is_over(search); i++) {
        copy_plan(&search->trial, plan);
        change(search);
        judge(search, plan, end_s);
    }
}

/* The best rounds over prefixes of an order; changes of each number of rounds. */
static void try_order(struct leaders_search *search, const uint32_t *order)
{
    static const uint32_t rounds[] = { 1, 2, 3, 4, 6, 8, MOST_ROUNDS };
    static const double growths[] = { 1, 1.4, 2, 0.7, 0.5 };
    const uint32_t n = search->view->nworkers;

    for (size_t r = 0; r < sizeof rounds / sizeof *rounds; r++) {
        double end_s = INFINITY;
        uint32_t used = n;

        for (uint32_t set = 0; set < MOST_SETS && used > 0; set++) {
            for (size_t g = 0; g < sizeof growths / sizeof *growths; g++) {
                if ((is_over(search) && !isinf(search->best_s)) ||
                    (rounds[r] == 1 && g > 0) ||
                    (rounds[r] > 1 && (size_t)rounds[r] * used > MOST_PIECES))
                    continue;
                lay_rounds(search, order, used, rounds[r], growths[g]);
                judge(search, &search->kept, &end_s);
            }
            used = used > MOST_SETS ? used * 2 / 3 : used - 1;
        }
        if (isinf(end_s))
            continue;
        improve(search, &search->kept, &end_s, CHANGES);
        if (end_s < search->best_s) {
            search->best_s = end_s;
            copy_plan(&search->best, &search->kept);
        }
    }
}

/* Workers by falling bandwidth, or by the time at which they can be done with a unit. */
static void sort_workers(const struct cleave_view *view, bool by_start,
                         struct cv_ranked *ranked, uint32_t *order)
{
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const struct cleave_worker *worker = &view->workers[w];

        ranked[w] =
            (struct cv_ranked){ by_start ? worker->latency_s + worker->compute_latency_s
                                         : -worker->bandwidth_ups,
                                w };
    }
    qsort(ranked, view->nworkers, sizeof *ranked, cv_rank_up);
    for (uint32_t w = 0; w < view->nworkers; w++)
        order[w] = ranked[w].index;
}

static enum cleave_status search_plan(struct leaders_search *search,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    const uint32_t n = search->view->nworkers;
    const size_t room = (n > MOST_PIECES ? n : MOST_PIECES) + 1;
    struct cv_ranked *ranked = cv_array(setup->arena, n, sizeof *ranked);
    uint32_t *order = cv_array(setup->arena, n, sizeof *order);

    if (ranked == NULL || order == NULL || !CV_NEW(setup->arena, search->link_s, n) ||
        !cv_plan_init(&search->best, setup->arena, room) ||
        !cv_plan_init(&search->trial, setup->arena, room) ||
        !cv_plan_init(&search->kept, setup->arena, room))
        return cv_fail_memory(err, "the plan");
    cv_random_at(&search->random, 1, 0, 0, 0);
    for (int by_start = 0; by_start < 2; by_start++) {
        sort_workers(search->view, by_start != 0, ranked, order);
        try_order(search, order);
    }
    if (isinf(search->best_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%g units take these workers longer than can be counted",
                       search->view->units_total);
    copy_plan(&search->kept, &search->best);
    improve(search, &search->kept, &search->best_s, LAST_CHANGES);
    copy_plan(&search->best, &search->kept);
    return CLEAVE_OK;
}

static enum cleave_status leaders_plan(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct cv_static *fixed = state;
    struct leaders_search search = { .view = view,
                                     .limit = MOST_VISITS,
                                     .best_s = INFINITY };
    const struct cv_led_tree *tree =
        setup->tree != NULL
            ? setup->tree
            : cv_led_of_star(view->port, view->workers, view->nworkers, setup->arena);
    bool *served = cv_array(setup->arena, view->nworkers, sizeof *served);
    enum cleave_status status;

    if (setup->budget != NULL)
        search.limit =
            fmin(search.limit, cv_step_budget_half(setup->budget).limit / CV_LED_STEPS);
    if (tree == NULL || served == NULL ||
        !cv_led_run_init(&search.run, tree, view->nworkers))
        status = cv_fail_memory(err, "the plan");
    else
        status = search_plan(&search, setup, err);
    cv_led_run_done(&search.run);
    cv_step_budget_spend(setup->budget, CV_LED_STEPS * search.visits);
    CV_TRY(status);
    cv_plan_settle(&search.best, view->units_total);
    for (size_t k = 0; k < search.best.nchunks; k++)
        served[search.best.worker[k]] = true;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (!served[w])
            cv_note_left_out(setup, w, "no plan that was found with it ends by %.6g s",
                             search.best_s);
    fixed->plan = search.best;
    return cv_static_index(fixed, view, setup, err);
}

const struct cleave_policy cleave_policy_leaders = {
    .name = "leaders",
    .summary = "few pieces for workers that lead others, found by playing the tree",
    .reference = "cleave",
    .sends_first = true,
    .state_size = sizeof(struct cv_static),
    .plan = leaders_plan,
    .decide = cv_static_decide,
};
