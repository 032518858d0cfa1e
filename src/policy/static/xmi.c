/* xmi.c -- multi-installment on equal workers: xmi, xmi-k, mi.
 * SPDX-License-Identifier: MIT
 *
 * A given number of rounds, round robin; workers do not wait after their first chunk and
 * all end together. With g_i the computing time of the i-th chunk from the end (without
 * its latency), n workers, R = bandwidth / speed, latencies alpha (compute), beta (link):
 *
 *     g_i         = g_0 + i beta + (g_(i-1) + ... + g_0) / R          i < n
 *
 *     alpha + g_i = n beta + (g_(i-1) + ... + g_(i-n)) / R            i >= n
 *
 * Every g_i is affine in g_0, and the sum fixes g_0: O(chunks). The makespan is chunks
 * beta + load / bandwidth + alpha + g_0. If no chunk is negative this is the optimum of
 * the round-robin order. If the load is too small, or latencies are too large, the first
 * or the last chunks are negative; then workers are excluded. For R < n slopes and
 * offsets may cancel completely; then the recursion is run with twice the digits.
 *
 * Y. Yang and H. Casanova, Multi-round algorithms for scheduling divisible loads. */
#include "policy/static/xmi.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/platform.h>
#include "base/arena.h"
#include "policy/common/setup.h"
#include "policy/static/umr.h"

struct wide_number {
    double high, low;
};

struct cv_wide_affine {
    struct wide_number slope, offset;
};

/* Chunks are counted from the last one sent: chunk i computes for offset + slope g
 * seconds, g being the time of chunk 0. */
struct recursion {
    uint32_t workers;
    double latency_s;       /* link */
    double drift_s;         /* workers * latency - compute latency                */
    double ratio;           /* speed / bandwidth                                  */
    struct cv_affine *time; /* per chunk                                          */
    struct cv_affine *tail; /* per worker: sum of the previous round from there */
    size_t count;           /* chunks so far                                      */
    uint32_t place;         /* next chunk's index in its round */
    struct cv_affine head;  /* sum of this round so far                           */
    struct cv_affine sum;   /* sum of all chunks so far */
    double min;             /* least g for which no chunk is negative             */
};

/* One more chunk. Window sums are the end of one round plus the beginning of the next: a
 * difference would lose chunks that are smaller by many orders of magnitude. */
static void recursion_step(struct recursion *r)
{
    struct cv_affine *time = &r->time[r->count];

    if (r->count < r->workers) {
        time->slope = 1 + r->ratio * r->head.slope;
        time->offset = (double)r->count * r->latency_s + r->ratio * r->head.offset;
    } else {
        time->slope = r->ratio * (r->head.slope + r->tail[r->place].slope);
        time->offset =
            r->drift_s + r->ratio * (r->head.offset + r->tail[r->place].offset);
    }
    if (time->offset + r->min * time->slope < 0)
        r->min = -time->offset / time->slope;
    r->head.slope += time->slope;
    r->head.offset += time->offset;
    r->sum.slope += time->slope;
    r->sum.offset += time->offset;
    r->count++;
    if (++r->place < r->workers)
        return;
    r->tail[r->workers - 1] = *time;
    for (uint32_t i = r->workers - 1; i-- > 0;) {
        time--;
        r->tail[i].slope = r->tail[i + 1].slope + time->slope;
        r->tail[i].offset = r->tail[i + 1].offset + time->offset;
    }
    r->place = 0;
    r->head = (struct cv_affine){ 0, 0 };
}

/* Members as in struct recursion. */
struct wide_recursion {
    uint32_t workers;
    double latency_s;
    struct wide_number drift_s, ratio;
    struct cv_wide_affine *time, *tail;
    size_t count;
    uint32_t place;
    struct cv_wide_affine head, sum;
    struct wide_number min;
};

/* --- the recursion with twice the digits ---------------------------------------------- */

/* A sum and a product of two doubles are given exactly by two doubles (T. J. Dekker, A
 * floating-point technique for extending the available precision, 1971). */

/* Below this part of the sum even these digits do not show whether a chunk is negative. */
static const double WIDE_CANCELLATION = 1e-22;

static bool recursion_doubtful(const struct recursion *r, double total_s);

static struct wide_number sum_of(double a, double b)
{
    const double high = a + b, part = high - a;

    return (struct wide_number){ high, (a - (high - part)) + (b - part) };
}

static struct wide_number product_of(double a, double b)
{
    const double split = 134217729, high = a * b; /* 2^27 + 1 */
    const double a_high = split * a - (split * a - a), a_low = a - a_high;
    const double b_high = split * b - (split * b - b), b_low = b - b_high;

    return (struct wide_number){
        high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low
    };
}

static struct wide_number add(struct wide_number a, struct wide_number b)
{
    const struct wide_number high = sum_of(a.high, b.high), low = sum_of(a.low, b.low);
    const struct wide_number once = sum_of(high.high, high.low + low.high);

    return sum_of(once.high, once.low + low.low);
}

static struct wide_number minus(struct wide_number a)
{
    return (struct wide_number){ -a.high, -a.low };
}

static struct wide_number times(struct wide_number a, struct wide_number b)
{
    struct wide_number product = product_of(a.high, b.high);

    product.low += a.high * b.low + a.low * b.high;
    return sum_of(product.high, product.low);
}

static struct wide_number over(struct wide_number a, struct wide_number b)
{
    const double first = a.high / b.high;
    const struct wide_number rest =
        add(a, minus(times(b, (struct wide_number){ first, 0 })));

    return sum_of(first, rest.high / b.high);
}

static struct wide_number quotient(double a, double b)
{
    return over((struct wide_number){ a, 0 }, (struct wide_number){ b, 0 });
}

static bool wide_init(struct wide_recursion *recursion, struct cv_arena *arena,
                      size_t chunks, uint32_t workers)
{
    *recursion = (struct wide_recursion){ 0 };
    recursion->time = cv_array(arena, chunks, sizeof *recursion->time);
    recursion->tail = cv_array(arena, workers, sizeof *recursion->tail);
    return recursion->time != NULL && recursion->tail != NULL;
}

static void wide_start(struct wide_recursion *r, const struct cleave_worker *worker,
                       uint32_t n)
{
    const struct cv_wide_affine none = { { 0, 0 }, { 0, 0 } };

    r->workers = n;
    r->latency_s = worker->latency_s;
    r->drift_s = add(product_of(n, worker->latency_s),
                     (struct wide_number){ -worker->compute_latency_s, 0 });
    r->ratio = quotient(worker->speed_ups, worker->bandwidth_ups);
    r->count = 0;
    r->place = 0;
    r->head = r->sum = none;
    r->min = none.slope;
}

static struct cv_wide_affine both(struct cv_wide_affine a, struct cv_wide_affine b)
{
    return (struct cv_wide_affine){ add(a.slope, b.slope), add(a.offset, b.offset) };
}

static struct wide_number value(const struct cv_wide_affine *line, struct wide_number at)
{
    return add(line->offset, times(line->slope, at));
}

static void wide_step(struct wide_recursion *r)
{
    const struct wide_number one = { 1, 0 };
    struct cv_wide_affine *time = &r->time[r->count];
    struct cv_wide_affine window = r->head;

    if (r->count >= r->workers)
        window = both(window, r->tail[r->place]);
    time->slope = times(r->ratio, window.slope);
    time->offset = times(r->ratio, window.offset);
    if (r->count < r->workers) {
        time->slope = add(time->slope, one);
        time->offset = add(time->offset, product_of((double)r->count, r->latency_s));
    } else {
        time->offset = add(time->offset, r->drift_s);
    }
    if (value(time, r->min).high < 0)
        r->min = over(minus(time->offset), time->slope);
    r->head = both(r->head, *time);
    r->sum = both(r->sum, *time);
    r->count++;
    if (++r->place < r->workers)
        return;
    r->tail[r->workers - 1] = *time;
    for (uint32_t i = r->workers - 1; i-- > 0;)
        r->tail[i] = both(r->tail[i + 1], *--time);
    r->place = 0;
    r->head = (struct cv_wide_affine){ { 0, 0 }, { 0, 0 } };
}

static bool wide_feasible(const struct wide_recursion *r, double units, double speed_ups)
{
    const struct wide_number total_s = quotient(units, speed_ups);

    return add(value(&r->sum, r->min), minus(total_s)).high <= 0 &&
           fabs(r->sum.offset.high) * WIDE_CANCELLATION <= total_s.high &&
           isfinite(r->sum.slope.high) && isfinite(r->sum.offset.low);
}

/* The computing time of chunk 0 for `units` in total, and of chunk i with it. */
static struct wide_number wide_last(const struct wide_recursion *r, double units,
                                    double speed_ups)
{
    return over(add(quotient(units, speed_ups), minus(r->sum.offset)), r->sum.slope);
}

static double wide_time(const struct wide_recursion *r, size_t i, struct wide_number last)
{
    return value(&r->time[i], last).high;
}

/* --- xmi: optimal sizes for a number of rounds ---------------------------------------- */

/* If offsets and slopes cancel to less than this part of the sum, the remaining digits do
 * not show whether a chunk is negative. */
static const double CANCELLATION = 1e-6;
/* Up to EXHAUSTIVE, every number of workers is tried. */
enum { EXHAUSTIVE = 256, MOST_ROUNDS = 8 };

/* For `chunks` chunks on up to `workers` workers; false: no memory. */
static bool recursion_init(struct recursion *recursion, struct cv_arena *arena,
                           size_t chunks, uint32_t workers)
{
    *recursion = (struct recursion){ 0 };
    recursion->time = cv_array(arena, chunks, sizeof *recursion->time);
    recursion->tail = cv_array(arena, workers, sizeof *recursion->tail);
    return recursion->time != NULL && recursion->tail != NULL;
}

static void recursion_start(struct recursion *recursion,
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

/* Whether chunks that compute for total_s in total exist without a negative one. Once
 * false, it is false for every longer series. */
static bool recursion_feasible(const struct recursion *r, double total_s)
{
    return r->min * r->sum.slope + r->sum.offset <= total_s &&
           !recursion_doubtful(r, total_s) && isfinite(r->sum.slope);
}

/* The answer of recursion_feasible is not certain. */
static bool recursion_doubtful(const struct recursion *r, double total_s)
{
    return fabs(r->sum.offset) * CANCELLATION > total_s;
}

/* Both recursions of a plan: the second is run if the first has too few digits. */
struct recursions {
    struct recursion plain;
    struct wide_recursion wide;
    bool widened; /* the wide one was run last */
    bool short_of_memory;
    struct cv_arena *arena;
    size_t chunks; /* maxima */
    uint32_t workers;
};

static enum cleave_status init_both(struct recursions *both, struct cv_arena *arena,
                                    size_t chunks, uint32_t workers,
                                    struct cleave_error *err)
{
    *both = (struct recursions){ .arena = arena, .chunks = chunks, .workers = workers };
    if (!recursion_init(&both->plain, arena, chunks, workers))
        return cv_fail_memory(err, "the chunk recursion");
    return CLEAVE_OK;
}

/* Up to this many chunks, or until a whole round is not feasible: false. */
static bool works_wide(struct recursions *both, const struct cleave_worker *worker,
                       uint32_t n, double load, size_t chunks)
{
    struct wide_recursion *wide = &both->wide;

    if (wide->time == NULL &&
        !wide_init(wide, both->arena, both->chunks, both->workers)) {
        both->short_of_memory = true;
        return false;
    }
    both->widened = true;
    wide_start(wide, worker, n);
    while (wide->count < chunks) {
        wide_step(wide);
        if (wide->place == 0 && !wide_feasible(wide, load, worker->speed_ups))
            return false;
    }
    return true;
}

/* Run the recursion to the end, or until a chunk is certainly negative. */
static bool works(struct recursions *both, const struct cleave_worker *worker, uint32_t n,
                  double load, uint32_t rounds)
{
    struct recursion *recursion = &both->plain;
    const size_t chunks = (size_t)n * rounds;
    const double total_s = load / worker->speed_ups;

    both->widened = false;
    recursion_start(recursion, worker, n);
    while (recursion->count < chunks) {
        recursion_step(recursion);
        /* A round that is not feasible stays so: check once a round. */
        if (recursion->place == 0 && recursion_doubtful(recursion, total_s))
            return works_wide(both, worker, n, load, chunks);
        if (recursion->place == 0 && !recursion_feasible(recursion, total_s))
            return false;
    }
    return true;
}

/* The most workers that work. With n beta >= alpha the least load that works grows with
 * n, as every term of the recursion does. Below that it first grows and then falls (seen
 * in all of many trials, not proved), so that unless the last n works, those that do come
 * first. In both cases bisection finds the largest. */
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
    const struct recursion *plain = &both->plain;
    const double g = (load / worker->speed_ups - plain->sum.offset) / plain->sum.slope;

    if (both->widened) {
        const struct wide_number last = wide_last(&both->wide, load, worker->speed_ups);

        for (size_t i = 0; i < both->wide.count; i++)
            time_s[i] = wide_time(&both->wide, i, last);
        return;
    }
    for (size_t i = 0; i < plain->count; i++)
        time_s[i] = plain->time[i].offset + plain->time[i].slope * g;
}

/* The plan of the recursion that was run to its end. */
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

/* Without latencies all offsets are zero and only the proportions of slopes matter. On
 * slow links slopes overflow: scale them, the smallest ones to zero. */
static void scale_down(struct recursion *r)
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
    struct recursion *plain = &both.plain;
    bool prompt;

    CV_TRY(check_size(n, rounds, err));
    CV_TRY(init_both(&both, arena, chunks, n, err));
    *out = (struct cv_xmi){ .workers = n, .rounds = rounds };
    prompt = worker->latency_s == 0 && worker->compute_latency_s == 0;
    recursion_start(plain, worker, n);
    while (plain->count < chunks) {
        recursion_step(plain);
        if (prompt && plain->sum.slope > 1e200)
            scale_down(plain);
    }
    out->feasible = recursion_feasible(plain, total_s);
    if (recursion_doubtful(plain, total_s))
        out->feasible = works_wide(&both, worker, n, load, chunks);
    if (both.short_of_memory)
        return cv_fail_memory(err, "the chunk recursion");
    while (both.widened && both.wide.count < chunks) /* sizes may be negative */
        wide_step(&both.wide);
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
    (void)works(&both, worker, n, load, rounds); /* the last n tried may differ */
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

/* --- xmi-k: the best number of workers and chunks ------------------------------------- */

/* The recursion counts chunks from the end, so one pass gives the sizes of every number K
 * of chunks, whole rounds or not (the first round may be partial, and fewer chunks than
 * workers exclude workers). With T = load / speed, running sums A, B of slopes and
 * offsets and g the least time of the last chunk without a negative one:
 *
 *     g_0 = (T - B) / A,  feasible iff g_0 >= g,
 *
 *     makespan = K beta + load / bandwidth + alpha + g_0.
 *
 * Round robin over min(N, K) workers is optimal over all orders and numbers of chunks
 * (docs/theory/bounds.md), so that this is the optimum for equal workers: O(K). The pass
 * ends if the chunks need more than the load, as longer series need even more, or if no
 * schedule of that many chunks can beat the best so far; without latencies, if another
 * round changes nothing. Only a limit on the number of chunks can make it worse than
 * `umr`, whose plan is compared unless the user set the limit. */

/* A round that shortens the makespan by less than this part of it ends the pass. */
static const double negligible = 1e-13;

struct search {
    struct recursion recursion;
    struct wide_recursion wide;
    bool widened; /* the wide recursion found the best */
    bool short_of_memory;
    struct cv_arena *arena;
    const struct cleave_worker *worker;
    uint32_t nworkers;
    double load, total_s;
    size_t max_chunks;
    size_t best_chunks;
    double best_s;
};

/* No schedule of this many chunks or more ends earlier: they all pass the port and one of
 * them starts up. */
static double least_time(const struct search *search, double chunks)
{
    const struct cleave_worker *worker = search->worker;
    double port_s = chunks * worker->latency_s + search->load / worker->bandwidth_ups +
                    worker->compute_latency_s + search->recursion.min;
    double compute_s =
        (search->total_s + chunks * worker->compute_latency_s) / search->nworkers;

    return fmax(port_s, compute_s);
}

static bool is_best(struct search *search, size_t chunks, double last_s, double *round_s,
                    bool whole)
{
    const struct cleave_worker *worker = search->worker;
    const double time_s = (double)chunks * worker->latency_s +
                          search->load / worker->bandwidth_ups +
                          worker->compute_latency_s + last_s;

    if (time_s < search->best_s) {
        search->best_s = time_s;
        search->best_chunks = chunks;
    }
    if (!whole)
        return true;
    if (*round_s - search->best_s <= negligible * search->best_s &&
        time_s > search->best_s)
        return false; /* no chunk of a whole round was a gain */
    *round_s = search->best_s;
    return true;
}

/* With twice the digits, from the number of chunks that needs them. */
static void try_wide(struct search *search, size_t from)
{
    struct wide_recursion *wide = &search->wide;
    const double speed_ups = search->worker->speed_ups;
    double round_s = INFINITY;

    if (!wide_init(wide, search->arena, search->max_chunks, search->nworkers)) {
        search->short_of_memory = true;
        return;
    }
    wide_start(wide, search->worker, search->nworkers);
    while (wide->count < search->max_chunks) {
        const size_t best = search->best_chunks;

        wide_step(wide);
        if (!wide_feasible(wide, search->load, speed_ups) ||
            least_time(search, (double)wide->count) >= search->best_s)
            break;
        if (wide->count < from)
            continue;
        if (!is_best(search, wide->count, wide_last(wide, search->load, speed_ups).high,
                     &round_s, wide->place == 0))
            break;
        search->widened = search->widened || search->best_chunks != best;
    }
}

static void try_all(struct search *search)
{
    struct recursion *recursion = &search->recursion;
    double round_s = INFINITY;

    recursion_start(recursion, search->worker, search->nworkers);
    while (recursion->count < search->max_chunks) {
        recursion_step(recursion);
        if (recursion_doubtful(recursion, search->total_s)) {
            try_wide(search, recursion->count);
            break;
        }
        if (!recursion_feasible(recursion, search->total_s) ||
            least_time(search, (double)recursion->count) >= search->best_s)
            break;
        if (!is_best(search, recursion->count,
                     (search->total_s - recursion->sum.offset) / recursion->sum.slope,
                     &round_s, recursion->place == 0))
            break;
    }
}

/* Run the recursion again up to the best number of chunks. */
static void fill_best_times(struct search *search, double *time_s)
{
    struct recursion *recursion = &search->recursion;
    struct wide_recursion *wide = &search->wide;
    double last_s;

    if (search->widened) {
        struct wide_number last;

        wide_start(wide, search->worker, search->nworkers);
        while (wide->count < search->best_chunks)
            wide_step(wide);
        last = wide_last(wide, search->load, search->worker->speed_ups);
        for (size_t i = 0; i < search->best_chunks; i++)
            time_s[i] = wide_time(wide, i, last);
        return;
    }
    recursion_start(recursion, search->worker, search->nworkers);
    while (recursion->count < search->best_chunks)
        recursion_step(recursion);
    last_s = (search->total_s - recursion->sum.offset) / recursion->sum.slope;
    for (size_t i = 0; i < search->best_chunks; i++)
        time_s[i] = recursion->time[i].offset + recursion->time[i].slope * last_s;
}

static enum cleave_status make_best_plan(struct search *search, struct cv_arena *arena,
                                         struct cv_plan *plan, struct cleave_error *err)
{
    const size_t chunks = search->best_chunks;
    const size_t workers = chunks < search->nworkers ? chunks : search->nworkers;
    double *time_s = cv_array(arena, chunks, sizeof *time_s);

    if (time_s == NULL || !cv_plan_init(plan, arena, chunks))
        return cv_fail_memory(err, "the plan");
    fill_best_times(search, time_s);
    for (size_t i = 0; i < chunks; i++) {
        const size_t k = chunks - 1 - i;

        plan->worker[k] = (uint32_t)(workers - 1 - i % workers);
        plan->units[k] = search->worker->speed_ups * time_s[i];
    }
    cv_plan_settle(plan, search->load);
    return CLEAVE_OK;
}

enum cleave_status cv_xmi_k_plan(const struct cleave_worker *worker, uint32_t nworkers,
                                 double load, size_t max_chunks, struct cv_arena *arena,
                                 struct cv_xmi_k *out, struct cleave_error *err)
{
    struct search search = {
        .arena = arena,
        .worker = worker,
        .nworkers = nworkers,
        .load = load,
        .total_s = load / worker->speed_ups,
        .max_chunks = max_chunks,
        .best_s = INFINITY,
    };
    struct cv_xmi_k result = { 0 };

    if (!recursion_init(&search.recursion, arena, max_chunks, nworkers))
        return cv_fail_memory(err, "the chunk recursion");
    try_all(&search);
    if (search.short_of_memory)
        return cv_fail_memory(err, "the chunk recursion");
    if (search.best_chunks == 0) /* only if everything overflowed */
        search.best_chunks = 1;
    CV_TRY(make_best_plan(&search, arena, &result.plan, err));
    result.chunks = search.best_chunks;
    result.workers =
        search.best_chunks < nworkers ? (uint32_t)search.best_chunks : nworkers;
    result.makespan_s = search.best_s;
    *out = result;
    return CLEAVE_OK;
}

struct xmi_k {
    struct cv_static fixed;
    uint32_t max_chunks;
};

/* `umr` may win with more chunks than were tried. */
static enum cleave_status compare_umr(const struct cleave_view *view, double best_s,
                                      struct cleave_setup *setup, struct cv_plan *plan,
                                      uint32_t *out_workers, struct cleave_error *err)
{
    enum { ROUNDS = 60 };
    struct cv_umr umr = { 0 };

    CV_TRY(cv_umr_plan_enough(view->workers, view->nworkers, view->units_total, ROUNDS,
                              setup->arena, &umr, err));
    if (umr.makespan_s < best_s) {
        *plan = umr.plan;
        *out_workers = umr.workers;
    }
    return CLEAVE_OK;
}

static enum cleave_status xmi_k_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct xmi_k *xmi_k = state;
    const size_t max_chunks =
        xmi_k->max_chunks > 0 ? xmi_k->max_chunks : cv_chunk_cap(view->nworkers);
    struct cv_xmi_k best = { 0 };

    CV_TRY(cv_xmi_k_plan(view->workers, view->nworkers, view->units_total, max_chunks,
                         setup->arena, &best, err));
    xmi_k->fixed.plan = best.plan;
    if (xmi_k->max_chunks == 0)
        CV_TRY(compare_umr(view, best.makespan_s, setup, &xmi_k->fixed.plan,
                           &best.workers, err));
    for (uint32_t i = best.workers; i < view->nworkers; i++)
        cv_note_left_out(
            setup, i,
            "with more than %u workers the latencies of its chunks cost more "
            "time than it saves",
            best.workers);
    return cv_static_index(&xmi_k->fixed, view, setup, err);
}

static const struct cleave_param xmi_k_params[] = {
    { "max_chunks", CLEAVE_PARAM_COUNT, offsetof(struct xmi_k, max_chunks), 0, 0,
      (double)CV_MAX_CHUNKS,
      "most chunks in all; 0: 2000, or 64 per worker if that is more" },
    { 0 },
};

const struct cleave_policy cleave_policy_xmi_k = {
    .name = "xmi-k",
    .summary = "multi-installment with the best number of workers and chunks",
    .reference = "search over the recursion of Yang and Casanova, section 4",
    .needs = CLEAVE_NEEDS_EQUAL_WORKERS,
    .sends_first = true,
    .state_size = sizeof(struct xmi_k),
    .params = xmi_k_params,
    .plan = xmi_k_plan,
    .decide = cv_static_decide,
};

/* --- mi: sizes of a platform without latencies ---------------------------------------- */

/* The recursion with both latencies zero, so every worker gets a chunk in every round.
 * For comparison: `xmi` has the same rounds and knows latencies. O(chunks).
 *
 * V. Bharadwaj, D. Ghose and V. Mani, Multi-installment load distribution in tree
 * networks with delays, IEEE Trans. Aerospace and Electronic Systems 31(2), 1995. */

/* The time of round robin over equal workers, with latencies. */
static double round_robin_s(const struct cleave_worker *worker, uint32_t n,
                            const struct cv_plan *plan, double *ready)
{
    double port = 0, makespan = 0;

    for (uint32_t i = 0; i < n; i++)
        ready[i] = 0;
    for (size_t k = 0; k < plan->nchunks; k++) {
        double *at = &ready[plan->worker[k]];

        port += worker->latency_s + plan->units[k] / worker->bandwidth_ups;
        *at = (*at > port ? *at : port) + worker->compute_latency_s +
              plan->units[k] / worker->speed_ups;
        makespan = *at > makespan ? *at : makespan;
    }
    return makespan;
}

enum cleave_status cv_mi_plan(const struct cleave_worker *worker, uint32_t n, double load,
                              uint32_t rounds, struct cv_arena *arena, struct cv_xmi *out,
                              struct cleave_error *err)
{
    struct cleave_worker prompt = *worker;
    double *ready = cv_array(arena, n, sizeof *ready);

    if (ready == NULL)
        return cv_fail_memory(err, "the plan");
    prompt.latency_s = prompt.compute_latency_s = 0;
    CV_TRY(cv_xmi_fixed(&prompt, n, load, rounds, arena, out, err));
    out->makespan_s = round_robin_s(worker, n, &out->plan, ready);
    return CLEAVE_OK;
}

struct mi {
    struct cv_static fixed;
    uint32_t rounds;
};

static enum cleave_status mi_plan(void *state, const struct cleave_view *view,
                                  struct cleave_setup *setup, struct cleave_error *err)
{
    struct mi *mi = state;
    const uint32_t min = mi->rounds > 0 ? mi->rounds : 1;
    const uint32_t max = mi->rounds > 0 ? mi->rounds : MOST_ROUNDS;
    struct cv_xmi best = { .makespan_s = INFINITY };

    /* Without latencies no chunk is negative: a plan always exists. */
    for (uint32_t rounds = min; rounds <= max; rounds++) {
        struct cv_xmi tried = { 0 };

        CV_TRY(cv_mi_plan(view->workers, view->nworkers, view->units_total, rounds,
                          setup->arena, &tried, err));
        if (tried.makespan_s < best.makespan_s)
            best = tried;
    }
    mi->fixed.plan = best.plan;
    return cv_static_index(&mi->fixed, view, setup, err);
}

static const struct cleave_param mi_params[] = {
    { "rounds", CLEAVE_PARAM_COUNT, offsetof(struct mi, rounds), 0, 0, 100000,
      "number of rounds; 0: the best of 1 to 8" },
    { 0 },
};

const struct cleave_policy cleave_policy_mi = {
    .name = "mi",
    .summary = "multi-installment: sizes for a number of rounds, latencies ignored",
    .reference = "Bharadwaj, Ghose and Mani 1995",
    .needs = CLEAVE_NEEDS_EQUAL_WORKERS,
    .sends_first = true,
    .state_size = sizeof(struct mi),
    .params = mi_params,
    .plan = mi_plan,
    .decide = cv_static_decide,
};
