/* xmi.c -- multi-installment with latencies on equal workers.
 * SPDX-License-Identifier: MIT
 *
 * A given number of rounds, round robin, no worker ever waits after its first chunk and
 * all end together. With g_i the computing time of the i-th chunk from the end (without
 * its latency), n workers, R = bandwidth / speed, latencies alpha (compute), beta (link):
 *
 *     g_i         = g_0 + i beta + (g_(i-1) + ... + g_0) / R          i < n
 *     alpha + g_i = n beta + (g_(i-1) + ... + g_(i-n)) / R            i >= n
 *
 * Every g_i is affine in g_0, and the sum fixes g_0: O(chunks). The makespan is
 * chunks beta + load / bandwidth + alpha + g_0. When no chunk is negative this is the
 * optimum of the round-robin order. Too small a load, or latencies too large, make the
 * first or the last chunks negative; then workers are left out. Where R < n slopes and
 * offsets may cancel to nothing; the recursion is run with twice the digits then.
 *
 * Y. Yang and H. Casanova, Multi-round algorithms for scheduling divisible loads. */
#include "policy/static/xmi.h"

#include <math.h>

#include "policy/common/setup.h"
#include "policy/static/wide_recursion.h"

/* When the offsets cancel the slopes to less than this part of the sum, the digits that
 * are left do not say whether a chunk is negative. */
static const double cancellation = 1e-6;
/* Up to here every number of workers is tried. */
enum { EXHAUSTIVE = 256, MOST_ROUNDS = 8 };

bool cv_recursion_init(struct cv_recursion *recursion, struct cv_arena *arena,
                       size_t chunks, uint32_t workers)
{
    *recursion = (struct cv_recursion){ 0 };
    recursion->time = cv_array(arena, chunks, sizeof *recursion->time);
    recursion->tail = cv_array(arena, workers, sizeof *recursion->tail);
    return recursion->time != NULL && recursion->tail != NULL;
}

void cv_recursion_start(struct cv_recursion *recursion,
                        const struct cleave_worker *worker, uint32_t n)
{
    recursion->workers = n;
    recursion->latency_s = worker->latency_s;
    recursion->drift_s = n * worker->latency_s - worker->compute_latency_s;
    recursion->ratio = worker->speed_ups / worker->bandwidth_ups;
    recursion->count = 0;
    recursion->place = 0;
    recursion->head = recursion->sum = (struct cv_affine){ 0, 0 };
    recursion->min = 0;
}

bool cv_recursion_feasible(const struct cv_recursion *r, double total_s)
{
    return r->min * r->sum.slope + r->sum.offset <= total_s &&
           !cv_recursion_doubtful(r, total_s) && isfinite(r->sum.slope);
}

bool cv_recursion_doubtful(const struct cv_recursion *r, double total_s)
{
    return fabs(r->sum.offset) * cancellation > total_s;
}

/* Both recursions of a plan: the second is made and run where the digits of the first are
 * too few. */
struct recursions {
    struct cv_recursion plain;
    struct cv_wide_recursion wide;
    bool widened; /* the last that was run        */
    bool short_of_memory;
    struct cv_arena *arena;
    size_t chunks; /* most of a plan, and workers */
    uint32_t workers;
};

static enum cleave_status init_both(struct recursions *both, struct cv_arena *arena,
                                    size_t chunks, uint32_t workers,
                                    struct cleave_error *err)
{
    *both = (struct recursions){ .arena = arena, .chunks = chunks, .workers = workers };
    if (!cv_recursion_init(&both->plain, arena, chunks, workers))
        return cv_fail_memory(err, "the chunk recursion");
    return CLEAVE_OK;
}

/* Up to so many chunks, or until a whole round is not feasible, which is false then. */
static bool works_wide(struct recursions *both, const struct cleave_worker *worker,
                       uint32_t n, double load, size_t chunks)
{
    struct cv_wide_recursion *wide = &both->wide;

    if (wide->time == NULL &&
        !cv_wide_init(wide, both->arena, both->chunks, both->workers)) {
        both->short_of_memory = true;
        return false;
    }
    both->widened = true;
    cv_wide_start(wide, worker, n);
    while (wide->count < chunks) {
        cv_wide_step(wide);
        if (wide->place == 0 && !cv_wide_feasible(wide, load, worker->speed_ups))
            return false;
    }
    return true;
}

/* Run the recursion to the end, or until it is certain that a chunk is negative: what
 * the chunks so far need at least only grows. */
static bool works(struct recursions *both, const struct cleave_worker *worker, uint32_t n,
                  double load, uint32_t rounds)
{
    struct cv_recursion *recursion = &both->plain;
    const size_t chunks = (size_t)n * rounds;
    const double total_s = load / worker->speed_ups;

    both->widened = false;
    cv_recursion_start(recursion, worker, n);
    while (recursion->count < chunks) {
        cv_recursion_step(recursion);
        /* What a round made infeasible stays so: once a round is often enough to look. */
        if (recursion->place == 0 && cv_recursion_doubtful(recursion, total_s))
            return works_wide(both, worker, n, load, chunks);
        if (recursion->place == 0 && !cv_recursion_feasible(recursion, total_s))
            return false;
    }
    return true;
}

/* The most workers that work. With n beta >= alpha the least load that works grows with
 * n, as every term of the recursion does. Below that it first grows and then falls (seen
 * in all of many trials, not proved), so that unless the last n works, those that do come
 * first. Either way bisection finds the largest. */
static uint32_t most_workers(struct recursions *recursion,
                             const struct cleave_worker *worker, uint32_t nworkers,
                             double load, uint32_t rounds)
{
    uint32_t low = 0, high = nworkers; /* low works or is 0; above high none works */
    uint32_t turn = nworkers;          /* the last n with n beta < alpha           */

    if (nworkers <= EXHAUSTIVE) {
        while (high > 0 && !works(recursion, worker, high, load, rounds))
            high--;
        return high;
    }
    if (worker->latency_s > 0 &&
        worker->compute_latency_s < worker->latency_s * (double)nworkers)
        turn = (uint32_t)(worker->compute_latency_s / worker->latency_s);
    if (turn < nworkers && works(recursion, worker, turn + 1, load, rounds))
        low = turn + 1;
    else if (turn > 0 && works(recursion, worker, turn, load, rounds))
        return turn;
    else
        high = turn > 0 ? turn - 1 : 0;
    while (low < high) {
        const uint32_t middle = high - (high - low) / 2;

        if (works(recursion, worker, middle, load, rounds))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Computing times of the chunks, the last one sent first. */
static void fill_times(const struct recursions *both, const struct cleave_worker *worker,
                       double load, double *time_s)
{
    const struct cv_recursion *plain = &both->plain;
    const double g = (load / worker->speed_ups - plain->sum.offset) / plain->sum.slope;

    if (both->widened) {
        const struct cv_wide_number last =
            cv_wide_last(&both->wide, load, worker->speed_ups);

        for (size_t i = 0; i < both->wide.count; i++)
            time_s[i] = cv_wide_time(&both->wide, i, last);
        return;
    }
    for (size_t i = 0; i < plain->count; i++)
        time_s[i] = plain->time[i].offset + plain->time[i].slope * g;
}

/* The plan of recursions of which one was run to its end. */
static enum cleave_status make_plan(const struct recursions *both,
                                    const struct cleave_worker *worker, double load,
                                    struct cv_arena *arena, struct cv_xmi *out,
                                    struct cleave_error *err)
{
    const size_t chunks = both->widened ? both->wide.count : both->plain.count;
    double *time_s = cv_array(arena, chunks, sizeof *time_s);

    if (time_s == NULL || !cv_plan_init(&out->plan, arena, chunks))
        return cv_fail_memory(err, "the plan");
    fill_times(both, worker, load, time_s);
    for (size_t k = 0; k < chunks; k++) {
        out->plan.worker[k] = (uint32_t)(k % out->workers);
        out->plan.units[k] = worker->speed_ups * time_s[chunks - 1 - k];
    }
    out->last_s = time_s[0];
    out->makespan_s = NAN;
    if (!out->feasible)
        return CLEAVE_OK;
    cv_plan_settle(&out->plan, load);
    out->makespan_s = (double)chunks * worker->latency_s + load / worker->bandwidth_ups +
                      worker->compute_latency_s + out->last_s;
    return CLEAVE_OK;
}

static enum cleave_status check_size(uint32_t nworkers, uint32_t rounds,
                                     struct cleave_error *err)
{
    const size_t chunks = (size_t)nworkers * rounds;

    if (chunks > CV_MAX_CHUNKS)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%u rounds of %u workers are %zu chunks, more than %zu", rounds,
                       nworkers, chunks, CV_MAX_CHUNKS);
    return CLEAVE_OK;
}

/* Without latencies all offsets are zero and the slopes mean nothing but proportions.
 * Where links are slow they grow beyond what a number can hold: make them smaller, the
 * smallest ones zero. */
static void scale_down(struct cv_recursion *r)
{
    const double factor = 1e-200;

    for (size_t i = 0; i < r->count; i++)
        r->time[i].slope *= factor;
    for (uint32_t i = 0; i < r->workers; i++)
        r->tail[i].slope *= factor;
    r->head.slope *= factor;
    r->sum.slope *= factor;
}

enum cleave_status cv_xmi_fixed(const struct cleave_worker *worker, uint32_t n,
                                double load, uint32_t rounds, struct cv_arena *arena,
                                struct cv_xmi *out, struct cleave_error *err)
{
    const size_t chunks = (size_t)n * rounds;
    const double total_s = load / worker->speed_ups;
    struct recursions both;
    struct cv_recursion *plain = &both.plain;
    bool prompt;

    CV_TRY(check_size(n, rounds, err));
    CV_TRY(init_both(&both, arena, chunks, n, err));
    *out = (struct cv_xmi){ .workers = n, .rounds = rounds };
    prompt = worker->latency_s == 0 && worker->compute_latency_s == 0;
    cv_recursion_start(plain, worker, n);
    while (plain->count < chunks) {
        cv_recursion_step(plain);
        if (prompt && plain->sum.slope > 1e200)
            scale_down(plain);
    }
    out->feasible = cv_recursion_feasible(plain, total_s);
    if (cv_recursion_doubtful(plain, total_s))
        out->feasible = works_wide(&both, worker, n, load, chunks);
    if (both.short_of_memory)
        return cv_fail_memory(err, "the chunk recursion");
    while (both.widened && both.wide.count < chunks) /* sizes may be negative */
        cv_wide_step(&both.wide);
    return make_plan(&both, worker, load, arena, out, err);
}

enum cleave_status cv_xmi_plan(const struct cleave_worker *worker, uint32_t nworkers,
                               double load, uint32_t rounds, struct cv_arena *arena,
                               struct cv_xmi *out, struct cleave_error *err)
{
    struct recursions both;
    uint32_t n;

    CV_TRY(check_size(nworkers, rounds, err));
    CV_TRY(init_both(&both, arena, (size_t)nworkers * rounds, nworkers, err));
    n = most_workers(&both, worker, nworkers, load, rounds);
    if (both.short_of_memory)
        return cv_fail_memory(err, "the chunk recursion");
    *out = (struct cv_xmi){ .workers = n, .rounds = rounds, .feasible = n > 0 };
    out->last_s = out->makespan_s = NAN;
    if (n == 0)
        return CLEAVE_OK;
    (void)works(&both, worker, n, load, rounds); /* the last one tried may not be n */
    return make_plan(&both, worker, load, arena, out, err);
}

struct xmi {
    struct cv_static fixed;
    uint32_t rounds;
};

static enum cleave_status xmi_plan(void *state, const struct cleave_view *view,
                                   struct cleave_setup *setup, struct cleave_error *err)
{
    struct xmi *xmi = state;
    const uint32_t min = xmi->rounds > 0 ? xmi->rounds : 1;
    const uint32_t max = xmi->rounds > 0 ? xmi->rounds : MOST_ROUNDS;
    struct cv_xmi best = { .feasible = false };

    for (uint32_t rounds = min; rounds <= max; rounds++) {
        struct cv_xmi tried = { 0 };

        CV_TRY(cv_xmi_plan(view->workers, view->nworkers, view->units_total, rounds,
                           setup->arena, &tried, err));
        if (tried.feasible && (!best.feasible || tried.makespan_s < best.makespan_s))
            best = tried;
    }
    if (!best.feasible)
        return cv_fail(err, CLEAVE_EINPUT,
                       "no number of workers can be given %u rounds: a chunk would be "
                       "negative, as %g units are too few for the latencies; expected "
                       "fewer rounds",
                       xmi->rounds, view->units_total);
    for (uint32_t i = best.workers; i < view->nworkers; i++)
        cv_note_left_out(setup, i,
                         "a chunk would be negative with more than %u workers in %u %s",
                         best.workers, best.rounds,
                         best.rounds == 1 ? "round" : "rounds");
    xmi->fixed.plan = best.plan;
    return cv_static_index(&xmi->fixed, view, setup, err);
}

static const struct cleave_param xmi_params[] = {
    { "rounds", CLEAVE_PARAM_COUNT, offsetof(struct xmi, rounds), 0, 0, 100000,
      "number of rounds; 0: the best of 1 to 8" },
    { 0 },
};

const struct cleave_policy cleave_policy_xmi = {
    .name = "xmi",
    .summary = "multi-installment with latencies: optimal sizes for a number of rounds",
    .reference = "Yang and Casanova, multi-round algorithms, section 4",
    .needs = CLEAVE_NEEDS_EQUAL_WORKERS,
    .sends_first = true,
    .state_size = sizeof(struct xmi),
    .params = xmi_params,
    .plan = xmi_plan,
    .decide = cv_static_decide,
};
