/* umr.c -- uniform multi-round: rounds that grow, and how many of them.
 * SPDX-License-Identifier: MIT
 *
 * Every worker computes for the same time t_j in round j, latency included, so worker i
 * gets S_i (t_j - alpha_i), and the master sends round j+1 in exactly that time:
 *
 *     t_j = rho t_(j+1) + kappa,    rho   = sum S_i / B_i,
 *                                   kappa = sum beta_i - sum S_i alpha_i / B_i.
 *
 * With sigma = sum S_i and a = sum S_i alpha_i a round holds sigma t_j - a units; the
 * rounds sum to the load W. Expected time:
 *
 *     Ex = (W + M a) / sigma + (rho t_0 + kappa) / 2
 *
 * Its derivative in M has the opposite sign of, with theta = 1/rho and
 * eta = sigma kappa / (1 - rho) - a,
 *
 *     F = eta - (W - M eta) theta^M ln theta / (1 - theta^M)
 *             - 2 a / rho (1 - theta^M) / (1 - theta),
 *
 * which is positive, then negative. If rounds grow towards infinity from eta > 0, a first
 * round below eta would let them shrink: M <= W / eta. The whole number below or above
 * the root is taken, whichever has the smaller Ex. Equal workers need no other formulas:
 * chunk_j = S (t_j - alpha), n S = B is rho = 1.
 *
 * The last round is levelled: worker i starts off_i late in round 0 and never waits
 * again, so it gets that much less, and all end at (W + M a + sum S_i off_i) / sigma.
 * One round is cv_level. Links are taken by decreasing bandwidth while rho <= 1; where a
 * chunk is negative, fewer rounds are tried (half as many, then what lies between), and
 * only if none of these works the slowest link is left out. Leaving out links until the
 * number of rounds that seemed best works is tried as well, and so is a single round:
 * whichever ends first is taken. The same among those alone that have a chunk in one round
 * (one_round.c): who takes long to start does so whatever its link.
 * Sums over the first n workers are kept for every n, so that leaving out one costs O(M)
 * and a plan O(N log N + chunks).
 *
 * Y. Yang and H. Casanova, Multi-round algorithms for scheduling divisible loads; the
 * formulas for unequal workers, the limit on M and sums from the last round are ours. */
#include "policy/static/umr.h"

#include <math.h>

#include "policy/static/one_round.h"
#include "policy/common/setup.h"
#include "policy/common/bandwidth_order.h"
#include "policy/static/umr_choice.h"
#include "policy/static/umr_unselected.h"

static void fill_rounds(const struct cv_umr_sums *p, const struct cv_umr_shape *shape,
                        uint32_t rounds, double *round_s)
{
    if (p->rho <= 1) {
        round_s[rounds - 1] = shape->last_s;
        for (uint32_t j = rounds - 1; j-- > 0;)
            round_s[j] = p->rho * round_s[j + 1] + p->kappa;
    } else {
        round_s[0] = shape->first_s;
        for (uint32_t j = 1; j < rounds; j++)
            round_s[j] = (round_s[j - 1] - p->kappa) / p->rho;
    }
}

static void fill_plan(const struct cv_umr_search *search,
                      const struct cv_umr_shape *shape, double last_s, struct cv_umr *out)
{
    const uint32_t n = out->workers;
    size_t k = 0;

    for (uint32_t j = 0; j < out->rounds; j++)
        for (uint32_t i = 0; i < n; i++, k++) {
            const struct cleave_worker *worker = &search->sorted[i];
            const struct cv_umr_sums *p = &search->sums[i + 1];
            const double time_s = j + 1 < out->rounds
                                      ? out->round_s[j]
                                      : last_s - p->kappa - p->rho * shape->first_s;

            out->plan.worker[k] = i;
            out->plan.units[k] = worker->speed_ups * (time_s - worker->compute_latency_s);
        }
}

static enum cleave_status make_plan(const struct cv_umr_search *search,
                                    struct cv_arena *arena, struct cv_umr *out,
                                    struct cleave_error *err)
{
    const struct cv_umr_sums *p = &search->sums[out->workers];
    const struct cv_umr_shape shape = cv_umr_shape_of(p, search->load, out->rounds);
    double *ready = cv_array(arena, out->workers, sizeof *ready);
    double last_s;

    out->theta = 1 / p->rho;
    out->eta = cv_umr_eta(p);
    out->real_rounds = cv_umr_real_rounds(p, search->load);
    out->expected_s = shape.expected_s;
    out->round_s = cv_array(arena, out->rounds, sizeof *out->round_s);
    if (ready == NULL || out->round_s == NULL ||
        !cv_plan_init(&out->plan, arena, (size_t)out->workers * out->rounds))
        return cv_fail_memory(err, "the plan");
    fill_rounds(p, &shape, out->rounds, out->round_s);
    /* Places in the order first: they lie next to each other in memory. */
    if (out->rounds == 1) {
        for (uint32_t i = 0; i < out->workers; i++)
            out->plan.worker[i] = i;
        out->predicted_s = cv_level(search->sorted, out->plan.worker, out->workers,
                                    search->load, out->plan.units);
    } else {
        out->predicted_s = cv_umr_end(p, search->load, out->rounds, &shape, &last_s);
        fill_plan(search, &shape, last_s, out);
    }
    cv_plan_settle(&out->plan, search->load);
    out->makespan_s = cv_plan_makespan(search->sorted, out->workers, &out->plan, ready);
    for (size_t k = 0; k < out->plan.nchunks; k++)
        out->plan.worker[k] = search->order[out->plan.worker[k]];
    return CLEAVE_OK;
}

enum cleave_status cv_umr_plan(const struct cleave_worker *workers, uint32_t nworkers,
                               double load, uint32_t round_cap, uint32_t rounds,
                               struct cv_arena *arena, struct cv_umr *out,
                               struct cleave_error *err)
{
    struct cv_umr_search search = {
        .load = load,
        .round_cap = round_cap > 0 ? round_cap : 1,
    };
    struct cv_umr result = { 0 };

    CV_TRY(cv_umr_choose(&search, workers, nworkers, rounds, arena, &result, err));
    if (result.workers > 0) {
        if ((size_t)result.workers * result.rounds > CV_MAX_CHUNKS)
            return cv_fail(err, CLEAVE_EINPUT,
                           "%u rounds of %u workers are more than %zu chunks",
                           result.rounds, result.workers, CV_MAX_CHUNKS);
        CV_TRY(make_plan(&search, arena, &result, err));
    }
    *out = result;
    return CLEAVE_OK;
}

/* Without latencies every round more is a gain, if an ever smaller one. With the first
 * round below this part of the load, more rounds are not worth their chunks. */
static const double least_first_round = 1e-9;

enum cleave_status cv_umr_plan_enough(const struct cleave_worker *workers,
                                      uint32_t nworkers, double load, uint32_t round_cap,
                                      struct cv_arena *arena, struct cv_umr *out,
                                      struct cleave_error *err)
{
    uint32_t latencies = 0, rounds = 1;
    double part = 1, sum = 1;

    for (uint32_t i = 0; i < nworkers; i++)
        latencies += workers[i].latency_s > 0 || workers[i].compute_latency_s > 0;
    if (latencies == 0) {
        CV_TRY(cv_umr_plan(workers, nworkers, load, 1, 1, arena, out, err));
        for (; rounds < round_cap && part / sum > least_first_round; rounds++) {
            part /= out->theta;
            sum += part;
        }
        round_cap = rounds;
    }
    return cv_umr_plan(workers, nworkers, load, round_cap, 0, arena, out, err);
}

struct umr {
    struct cv_static fixed;
    uint32_t rounds, max_rounds, level, select;
};

/* Give the last round the sizes of its series: whoever comes after umr does the
 * levelling. A single round has no series to follow where a latency is longer than the
 * round, nor has a plan that lost chunks too small to be numbers. */
static void undo_levelling(const struct cleave_worker *workers, struct cv_umr *plan)
{
    const double round_s = plan->round_s[plan->rounds - 1];
    double *last = plan->plan.units + (size_t)plan->workers * (plan->rounds - 1);

    if (plan->plan.nchunks != (size_t)plan->workers * plan->rounds)
        return;
    for (uint32_t i = 0; i < plan->workers; i++)
        if (round_s < workers[plan->order[i]].compute_latency_s)
            return;
    for (uint32_t i = 0; i < plan->workers; i++)
        last[i] = workers[plan->order[i]].speed_ups *
                  (round_s - workers[plan->order[i]].compute_latency_s);
}

static void note_left_out(struct cleave_setup *setup, const struct cleave_view *view,
                          const struct cv_umr *plan, bool chosen)
{
    for (uint32_t i = plan->workers; i < plan->usable; i++)
        if (plan->rounds_only)
            cv_note_left_out(setup, plan->order[i],
                             "with more than %u workers a chunk would be negative in %u "
                             "rounds%s",
                             plan->workers, plan->rounds,
                             chosen ? ", and fewer rounds end later" : "");
        else
            cv_note_left_out(setup, plan->order[i],
                             "its chunk would be negative: the load is too small for "
                             "more than %u workers",
                             plan->workers);
    for (uint32_t i = plan->prompt; i < view->nworkers; i++)
        cv_note_left_out(setup, plan->order[i],
                         "its chunk would be negative: its latencies alone take so long "
                         "that the others end sooner without it");
    for (uint32_t i = plan->usable; i < plan->prompt; i++)
        cv_note_left_out(
            setup, plan->order[i],
            "its link (%g units/s) is not among the %u fastest, which use the "
            "master's port fully: with one more the sum of speed/bandwidth "
            "would be %.3g > 1",
            view->workers[plan->order[i]].bandwidth_ups, plan->usable, plan->usage);
}

/* What the formulas say beside the plan. */
static void note_facts(struct cleave_setup *setup, const struct cv_umr *plan)
{
    cv_note_fact(setup, "real_rounds", plan->real_rounds);
    /* Where links cannot keep up with all workers the formula says nothing. */
    cv_note_fact(setup, "expected", plan->expected_s > 0 ? plan->expected_s : NAN);
    cv_note_fact(setup, "first_chunk", plan->plan.units[0]);
}

/* Nobody is left out for its link; who would get nothing but negative chunks is. */
static enum cleave_status plan_all(struct umr *umr, const struct cleave_view *view,
                                   struct cleave_setup *setup, struct cleave_error *err)
{
    const uint32_t *order =
        cv_bandwidth_order(view->workers, view->nworkers, setup->arena);
    struct cv_umr plan = { 0 };

    if (order == NULL)
        return cv_fail_memory(err, "the order of the workers");
    CV_TRY(cv_umr_unselected(view->workers, order, view->nworkers, view->units_total,
                             umr->max_rounds, umr->rounds, setup->arena, &plan, err));
    if (plan.workers == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%g units are too few for all workers: every chunk would be "
                       "negative; expected select=1",
                       view->units_total);
    note_facts(setup, &plan);
    umr->fixed.plan = plan.plan;
    return cv_static_index(&umr->fixed, view, setup, err);
}

static enum cleave_status umr_plan(void *state, const struct cleave_view *view,
                                   struct cleave_setup *setup, struct cleave_error *err)
{
    struct umr *umr = state;
    struct cv_umr plan = { 0 };

    if (!umr->select)
        return plan_all(umr, view, setup, err);
    if (umr->rounds > 0)
        CV_TRY(cv_umr_plan(view->workers, view->nworkers, view->units_total,
                           umr->max_rounds, umr->rounds, setup->arena, &plan, err));
    else
        CV_TRY(cv_umr_plan_enough(view->workers, view->nworkers, view->units_total,
                                  umr->max_rounds, setup->arena, &plan, err));
    if (plan.workers == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%g units are too few for %u rounds: with any number of workers a "
                       "chunk would be negative; expected fewer rounds",
                       view->units_total, umr->rounds);
    if (!umr->level)
        undo_levelling(view->workers, &plan);
    note_left_out(setup, view, &plan, umr->rounds == 0);
    note_facts(setup, &plan);
    umr->fixed.plan = plan.plan;
    return cv_static_index(&umr->fixed, view, setup, err);
}

static const struct cleave_param umr_params[] = {
    { "rounds", CLEAVE_PARAM_COUNT, offsetof(struct umr, rounds), 0, 0, 100000,
      "number of rounds; 0: the near-optimal one" },
    { "max_rounds", CLEAVE_PARAM_COUNT, offsetof(struct umr, max_rounds), 60, 1, 100000,
      "most rounds that are chosen" },
    { "level", CLEAVE_PARAM_COUNT, offsetof(struct umr, level), 1, 0, 1,
      "1: size the last round so that all end together; 0: as the rounds before" },
    { "select", CLEAVE_PARAM_COUNT, offsetof(struct umr, select), 1, 0, 1,
      "1: leave out who does not help; 0: nobody, as in the published comparison" },
    { 0 },
};

const struct cleave_policy cleave_policy_umr = {
    .name = "umr",
    .summary = "uniform multi-round: growing rounds, their number near-optimal",
    .reference = "Yang and Casanova, multi-round algorithms, section 5",
    .sends_first = true,
    .state_size = sizeof(struct umr),
    .params = umr_params,
    .plan = umr_plan,
    .decide = cv_static_decide,
};
