/* umr.c -- uniform multi-round: rounds that grow, and their number.
 * SPDX-License-Identifier: MIT
 *
 * Every worker computes for the same time t_j in round j, latency included, so worker i
 * gets S_i (t_j - alpha_i), and the master sends round j+1 in exactly that time:
 *
 *     t_j = rho t_(j+1) + kappa,    rho   = sum S_i / B_i,
 *
 *                                  kappa = sum beta_i - sum S_i alpha_i / B_i.
 *
 * With sigma = sum S_i and a = sum S_i alpha_i a round holds sigma t_j - a units; the
 * rounds sum to the load W. Expected time:
 *
 *     Ex = (W + M a) / sigma + (rho t_0 + kappa) / 2
 *
 * Its derivative in M has the opposite sign of, with theta = 1/rho and eta = sigma kappa
 * / (1 - rho) - a,
 *
 *     F = eta - (W - M eta) theta^M ln theta / (1 - theta^M)
 *
 *             - 2 a / rho (1 - theta^M) / (1 - theta),
 *
 * which is positive, then negative. If rounds grow towards infinity from eta > 0, a first
 * round below eta would let them shrink: M <= W / eta. The whole number below or above
 * the root with the smaller Ex is taken. Equal workers need no other formulas: chunk_j =
 * S (t_j - alpha), n S = B is rho = 1.
 *
 * The last round is levelled: worker i starts off_i late in round 0 and never waits
 * again, so it gets that much less, and all end at (W + M a + sum S_i off_i) / sigma. One
 * round is cv_level. Links are taken by decreasing bandwidth while rho <= 1. If a chunk
 * is negative, fewer rounds are tried (half as many, then between), and only if none of
 * these works the slowest link is excluded. Excluding links until the number of rounds
 * that seemed best works is tried as well, and so is a single round; the earliest end
 * wins. The search is repeated among the workers that have a chunk in one round
 * (one_round.c): a worker that starts late does so whatever its link. Sums over the first
 * n workers are kept for every n, so that excluding one costs O(M) and a plan O(N log N +
 * chunks).
 *
 * Y. Yang and H. Casanova, Multi-round algorithms for scheduling divisible loads; the
 * formulas for unequal workers, the limit on M and sums from the last round are ours. */
#include "policy/static/umr.h"

#include <math.h>
#include <stdbool.h>
#include "base/fail.h"
#include "policy/common/setup.h"
#include "policy/static/one_round.h"

struct umr_search {
    const uint32_t *order;              /* by decreasing bandwidth                 */
    const struct cleave_worker *sorted; /* the same workers, adjacent in memory */
    const struct cv_umr_sums *sums;     /* sums[n]: over the first n */
    double load;
    uint32_t round_cap;
    uint32_t witness; /* index of a worker whose last chunk was negative */
};

/* The rounds of one choice of n and M. */
struct shape {
    double first_s, second_last_s, last_s; /* t_0, t_(M-2), t_(M-1) */
    double expected_s;
};

/* --- sizes, expected time, number of rounds ----------------------------------------- */

/* This close to rho = 1 its formula has more digits than the general one. */
static const double near_one = 1e-8;

struct cv_umr_sums cv_umr_add(const struct cv_umr_sums *before,
                              const struct cleave_worker *worker,
                              struct cv_umr_line *line)
{
    const double use = worker->speed_ups / worker->bandwidth_ups;
    const double rate = worker->speed_ups / (1 + use),
                 link = rate / worker->bandwidth_ups;
    const double start_s = worker->latency_s + worker->compute_latency_s;
    const double least_s = (line->offset + start_s) / line->slope;
    struct cv_umr_sums p = *before;

    p.sigma += worker->speed_ups;
    p.a += worker->speed_ups * worker->compute_latency_s;
    p.rho += use;
    p.kappa += worker->latency_s - use * worker->compute_latency_s;
    p.wait_offset += worker->speed_ups * p.kappa;
    p.wait_slope += worker->speed_ups * p.rho;
    p.latency_s = fmax(p.latency_s, worker->compute_latency_s);
    p.level_rate += rate * line->slope;
    p.level_lost += rate * (line->offset + start_s);
    p.level_least_s = fmax(p.level_least_s, least_s);
    line->offset += worker->latency_s - link * (line->offset + start_s);
    line->slope -= link * line->slope;
    return p;
}

/* Growth of a round over the one before; exactly 1 if it is so close that the formulas
 * for 1 are more accurate. */
static double umr_theta(const struct cv_umr_sums *p)
{
    return fabs(p->rho - 1) < near_one ? 1 : 1 / p->rho;
}

/* Units of a round that would not grow; INFINITY if theta is 1. */
static double umr_eta(const struct cv_umr_sums *p)
{
    return umr_theta(p) == 1 ? INFINITY : p->sigma * p->kappa / (1 - p->rho) - p->a;
}

/* F above: positive while one more round is worth it. theta is not 1. */
static double worth(const struct cv_umr_sums *p, double load, double rounds)
{
    const double theta = umr_theta(p), eta = umr_eta(p), log_theta = log(theta);
    const double power = rounds * log_theta;
    double value = eta - (load - rounds * eta) * log_theta / expm1(-power);

    if (p->a > 0)
        value -= 2 * p->a / p->rho * expm1(power) / (theta - 1);
    return value;
}

double cv_umr_real_rounds(const struct cv_umr_sums *p, double load)
{
    double low = 0, high = 1;

    if (umr_theta(p) == 1) {
        const double cost = p->a / p->sigma + p->kappa / 4;

        return cost > 0 ? sqrt(load / (2 * p->sigma) / cost) : INFINITY;
    }
    while (worth(p, load, high) > 0) {
        low = high;
        high *= 2;
        if (high > 1e12)
            return INFINITY;
    }
    for (int i = 0; i < 200; i++) {
        const double middle = low + (high - low) / 2;

        if (middle <= low || middle >= high)
            break;
        if (worth(p, load, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

/* The whole number below, at most `max`. Needs no root: about 6 evaluations. */
static uint32_t umr_whole_rounds(const struct cv_umr_sums *p, double load, uint32_t max)
{
    uint32_t low = 0, high = 1; /* low: worth it or 0; high: not */

    if (umr_theta(p) == 1) {
        const double root = cv_umr_real_rounds(p, load);

        return root >= max ? max : (uint32_t)root;
    }
    while (high <= max && worth(p, load, high) > 0) {
        low = high;
        high = high > max / 2 ? max + 1 : 2 * high;
    }
    if (low == max)
        return max;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (worth(p, load, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Sums from the largest round, so that nothing cancels for any rho. With y the time of
 * the largest round and r <= 1 the others are r^j y + kappa (1 + r + .. ). */
static struct shape umr_shape_of(const struct cv_umr_sums *p, double load,
                                 uint32_t rounds)
{
    const bool grow = p->rho <= 1;
    const double r = grow ? p->rho : 1 / p->rho;
    double power = 1, sum = 0, powers = 0, sums = 0;
    double total, largest, smallest;
    struct shape shape;

    /* For rho > 1 the largest is the first, and t_j = r^j t_0 - kappa (r + .. + r^j). */
    for (uint32_t j = 0; j < rounds; j++) {
        powers += power;
        sums += grow ? sum : -r * sum;
        if (j + 1 == rounds)
            break;
        sum = 1 + r * sum;
        power *= r;
    }
    total = (load + rounds * p->a) / p->sigma;
    largest = (total - sums * p->kappa) / powers;
    smallest = power * largest + (grow ? sum : -r * sum) * p->kappa;
    shape.first_s = grow ? smallest : largest;
    shape.last_s = grow ? largest : smallest;
    shape.second_last_s = p->rho * shape.last_s + p->kappa;
    shape.expected_s = total + (p->rho * shape.first_s + p->kappa) / 2;
    return shape;
}

/* The common end, with the last round levelled. *out_last_s is the time, including
 * latency, of the last chunk of a worker that started at time 0. For two or more
 * rounds. */
static double umr_end(const struct cv_umr_sums *p, double load, uint32_t rounds,
                      const struct shape *shape, double *out_last_s)
{
    const double wait = p->wait_offset + p->wait_slope * shape->first_s;
    const double base = (load + rounds * p->a) / p->sigma;

    *out_last_s = wait / p->sigma + shape->last_s;
    return base + wait / p->sigma;
}

/* --- number of workers -------------------------------------------------------------- */

/* For rounding in sums that should not exceed a limit. */
static const double slack = 1e-12;

/* The number of rounds by the formula; uses only load and round_cap of the search. */
static uint32_t umr_choose_rounds(const struct umr_search *search,
                                  const struct cv_umr_sums *p)
{
    const double eta = umr_eta(p);
    uint32_t max = search->round_cap, rounds;

    if (umr_theta(p) > 1 && eta > 0) {
        const double limit = search->load / eta * (1 + slack);

        if (limit < 2)
            return 1;
        if (limit < max)
            max = (uint32_t)limit;
    }
    rounds = umr_whole_rounds(p, search->load, max);
    if (rounds < 1)
        return 1;
    if (rounds < max && umr_shape_of(p, search->load, rounds + 1).expected_s <
                            umr_shape_of(p, search->load, rounds).expected_s)
        rounds++;
    return rounds;
}

/* Whether no chunk is negative with the first n workers. */
static bool works(struct umr_search *search, uint32_t n, uint32_t rounds)
{
    const struct cv_umr_sums *p = &search->sums[n];
    struct shape shape;
    double last_s, tolerance_s;

    if (rounds == 1) {
        const double end_s = (search->load + p->level_lost) / p->level_rate;

        return p->level_least_s <= end_s * (1 + slack);
    }
    shape = umr_shape_of(p, search->load, rounds);
    if (!(fmin(shape.first_s, shape.second_last_s) >= p->latency_s))
        return false;
    tolerance_s = slack * umr_end(p, search->load, rounds, &shape, &last_s);
    /* Most often the last worker is too late, or the one found before: check these first. */
    for (uint32_t i = 0; i < n + 2; i++) {
        const uint32_t place = i == 0 ? n - 1 : i == 1 ? search->witness : i - 2;
        double late_s;

        if (place >= n)
            continue;
        late_s =
            search->sums[place + 1].kappa + search->sums[place + 1].rho * shape.first_s;
        if (search->sorted[place].compute_latency_s + late_s > last_s + tolerance_s) {
            search->witness = place;
            return false;
        }
    }
    return true;
}

/* Fill in the sums over the first n of the order while they use no more than the port, or
 * over all. */
static enum cleave_status sum_up(struct umr_search *search,
                                 const struct cleave_worker *workers, uint32_t nworkers,
                                 bool all, struct cv_arena *arena, struct cv_umr *out,
                                 struct cleave_error *err)
{
    struct cv_umr_sums *sums = cv_array(arena, (size_t)nworkers + 1, sizeof *sums);
    struct cleave_worker *sorted = cv_array(arena, nworkers, sizeof *sorted);
    struct cv_umr_line line = { 1, 0 };
    uint32_t n = 0;

    if (sums == NULL || sorted == NULL)
        return cv_fail_memory(err, "the sums over workers");
    while (n < nworkers) {
        sorted[n] = workers[search->order[n]];
        sums[n + 1] = cv_umr_add(&sums[n], &sorted[n], &line);
        out->usage = sums[n + 1].rho;
        if (!all && n > 0 && sums[n + 1].rho > 1 + slack)
            break;
        n++;
    }
    search->sums = sums;
    search->sorted = sorted;
    out->order = search->order;
    out->usable = n;
    out->prompt = nworkers;
    return CLEAVE_OK;
}

/* When all end with the first n workers, for which works() holds. */
static double end_of(const struct umr_search *search, uint32_t n, uint32_t rounds)
{
    const struct cv_umr_sums *p = &search->sums[n];
    struct shape shape;
    double last_s;

    if (rounds == 1)
        return (search->load + p->level_lost) / p->level_rate;
    shape = umr_shape_of(p, search->load, rounds);
    return umr_end(p, search->load, rounds, &shape, &last_s);
}

/* The most rounds below `rounds`, which do not work, that are found to work; 0: none. */
static uint32_t fewer_rounds(struct umr_search *search, uint32_t n, uint32_t rounds)
{
    uint32_t high = rounds, low = rounds / 2; /* high does not work */

    while (low > 0 && !works(search, n, low)) {
        high = low;
        low /= 2;
    }
    while (low > 0 && high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (works(search, n, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Take these numbers of workers and rounds if they end sooner. */
static void offer(const struct umr_search *search, uint32_t workers, uint32_t rounds,
                  struct cv_umr *out)
{
    if (workers > 0 &&
        end_of(search, workers, rounds) < end_of(search, out->workers, out->rounds)) {
        out->workers = workers;
        out->rounds = rounds;
    }
}

/* The most workers with the number of rounds that is best for them; if these are not all
 * workers, also the most with fewer rounds, and with one. The earliest end wins. */
static void choose_best(struct umr_search *search, struct cv_umr *out)
{
    uint32_t max = 0, fewer = 0, once = out->usable; /* with fewer rounds, with one */

    for (uint32_t n = out->usable; n > 0; n--) {
        out->workers = n;
        out->rounds = umr_choose_rounds(search, &search->sums[n]);
        if (works(search, n, out->rounds))
            break;
        if (max == 0 && (fewer = fewer_rounds(search, n, out->rounds)) > 0)
            max = n;
    }
    /* A single worker can always be sent everything at once. */
    while (out->rounds > 1 && !works(search, out->workers, out->rounds))
        out->rounds--;
    if (out->workers == out->usable && max == 0)
        return;
    while (once > 0 && !works(search, once, 1))
        once--;
    offer(search, max, fewer, out);
    offer(search, once, 1, out);
    out->rounds_only = out->workers < max || out->workers < once;
}

/* The most workers without a negative chunk; `rounds` 0: with the best number of rounds. */
static void choose(struct umr_search *search, uint32_t rounds, struct cv_umr *out)
{
    if (rounds == 0) {
        choose_best(search, out);
        return;
    }
    out->rounds = rounds;
    out->workers = out->usable;
    while (out->workers > 0 && !works(search, out->workers, rounds))
        out->workers--;
    out->rounds_only = true;
}

/* Search among the workers that have a chunk in one round: other workers start too
 * late. */
static enum cleave_status search_prompt(struct umr_search *search,
                                        const struct cleave_worker *workers,
                                        uint32_t nworkers, struct cv_arena *arena,
                                        struct cv_umr *out, struct cleave_error *err)
{
    uint32_t *order = cv_array(arena, nworkers, sizeof *order);
    struct cv_one_round once = { 0 };
    uint32_t n = 0, kept;

    if (order == NULL)
        return cv_fail_memory(err, "the order of the workers");
    CV_TRY(cv_one_round_plan(workers, nworkers, search->load, arena, &once, err));
    kept = (uint32_t)once.plan.nchunks;
    for (uint32_t i = 0; i < nworkers; i++) /* both are by decreasing bandwidth */
        if (n < kept && search->order[i] == once.plan.worker[n])
            order[n++] = search->order[i];
        else
            order[kept + i - n] = search->order[i];
    search->order = order;
    search->witness = UINT32_MAX;
    CV_TRY(sum_up(search, workers, n, false, arena, out, err));
    choose(search, 0, out);
    return CLEAVE_OK;
}

/* The workers, and for `rounds` 0 their rounds, that end first without a negative chunk;
 * 0 workers if none can have the given rounds. `load` and `round_cap` are set before. */
static enum cleave_status umr_choose(struct umr_search *search,
                                     const struct cleave_worker *workers,
                                     uint32_t nworkers, uint32_t rounds,
                                     struct cv_arena *arena, struct cv_umr *out,
                                     struct cleave_error *err)
{
    struct umr_search other = *search;
    struct cv_umr result = { 0 };

    search->witness = UINT32_MAX;
    search->order = cv_bandwidth_order(workers, nworkers, arena);
    if (search->order == NULL)
        return cv_fail_memory(err, "the order of the workers");
    CV_TRY(sum_up(search, workers, nworkers, false, arena, out, err));
    choose(search, rounds, out);
    if (rounds > 0 || out->workers == out->usable)
        return CLEAVE_OK;
    other.order = search->order;
    CV_TRY(search_prompt(&other, workers, nworkers, arena, &result, err));
    if (end_of(&other, result.workers, result.rounds) <
        end_of(search, out->workers, out->rounds)) {
        *search = other;
        *out = result;
    }
    return CLEAVE_OK;
}

/* --- the policy --------------------------------------------------------------------- */

static void fill_rounds(const struct cv_umr_sums *p, const struct shape *shape,
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
/* Workers are indices in the order. `all`: also chunks that are not positive. Returns the
 * sum. */
static double fill_plan(const struct umr_search *search, double first_s, double last_s,
                        bool all, struct cv_umr *out)
{
    double sent = 0;
    size_t k = 0;

    for (uint32_t j = 0; j < out->rounds; j++)
        for (uint32_t i = 0; i < out->workers; i++) {
            const struct cleave_worker *worker = &search->sorted[i];
            const struct cv_umr_sums *p = &search->sums[i + 1];
            const double time_s = j + 1 < out->rounds
                                      ? out->round_s[j]
                                      : last_s - p->kappa - p->rho * first_s;
            const double units = worker->speed_ups * (time_s - worker->compute_latency_s);

            if (!all && !(units > 0))
                continue;
            out->plan.worker[k] = i;
            out->plan.units[k++] = units;
            sent += units;
        }
    out->plan.nchunks = k;
    return sent;
}
/* `all`: no worker was excluded; chunks that are not positive are dropped, and the others
 * grow to the load. */
static enum cleave_status make_plan(const struct umr_search *search, bool all,
                                    struct cv_arena *arena, struct cv_umr *out,
                                    struct cleave_error *err)
{
    const struct cv_umr_sums *p = &search->sums[out->workers];
    const struct shape shape = umr_shape_of(p, search->load, out->rounds);
    double *ready = cv_array(arena, out->workers, sizeof *ready);
    double last_s;

    out->theta = 1 / p->rho;
    out->eta = umr_eta(p);
    out->real_rounds = cv_umr_real_rounds(p, search->load);
    out->expected_s = shape.expected_s;
    if (!CV_NEW(arena, out->round_s, out->rounds) || ready == NULL ||
        !cv_plan_init(&out->plan, arena, (size_t)out->workers * out->rounds))
        return cv_fail_memory(err, "the plan");
    fill_rounds(p, &shape, out->rounds, out->round_s);
    /* Indices in the order first: adjacent in memory. */
    if (out->rounds == 1 && !all) {
        for (uint32_t i = 0; i < out->workers; i++)
            out->plan.worker[i] = i;
        out->predicted_s = cv_level(search->sorted, out->plan.worker, out->workers,
                                    search->load, out->plan.units);
    } else {
        out->predicted_s = umr_end(p, search->load, out->rounds, &shape, &last_s);
        if (!all) {
            fill_plan(search, shape.first_s, last_s, true, out);
        } else {
            const double sent = fill_plan(search, out->round_s[0], last_s, false, out);

            if (!(sent > 0)) {
                out->workers = 0;
                return CLEAVE_OK;
            }
            for (size_t k = 0; k < out->plan.nchunks; k++)
                out->plan.units[k] *= search->load / sent;
        }
    }
    cv_plan_settle(&out->plan, search->load);
    out->makespan_s = cv_plan_makespan(search->sorted, out->workers, &out->plan, ready);
    for (size_t k = 0; k < out->plan.nchunks; k++)
        out->plan.worker[k] = search->order[out->plan.worker[k]];
    return CLEAVE_OK;
}

enum cleave_status cv_umr_unselected(const struct cleave_worker *workers,
                                     const uint32_t *order, uint32_t nworkers,
                                     double load, uint32_t round_cap, uint32_t rounds,
                                     struct cv_arena *arena, struct cv_umr *out,
                                     struct cleave_error *err)
{
    struct umr_search search = { .order = order, .load = load, .round_cap = round_cap };

    *out = (struct cv_umr){ .workers = nworkers };
    CV_TRY(sum_up(&search, workers, nworkers, true, arena, out, err));
    out->rounds =
        rounds > 0 ? rounds : umr_choose_rounds(&search, &search.sums[nworkers]);
    return make_plan(&search, true, arena, out, err);
}

enum cleave_status cv_umr_plan(const struct cleave_worker *workers, uint32_t nworkers,
                               double load, uint32_t round_cap, uint32_t rounds,
                               struct cv_arena *arena, struct cv_umr *out,
                               struct cleave_error *err)
{
    struct umr_search search = {
        .load = load,
        .round_cap = round_cap > 0 ? round_cap : 1,
    };
    struct cv_umr result = { 0 };

    CV_TRY(umr_choose(&search, workers, nworkers, rounds, arena, &result, err));
    if (result.workers > 0) {
        if ((size_t)result.workers * result.rounds > CV_MAX_CHUNKS)
            return cv_fail(err, CLEAVE_EINPUT,
                           "%u rounds of %u workers are more than %zu chunks",
                           result.rounds, result.workers, CV_MAX_CHUNKS);
        CV_TRY(make_plan(&search, false, arena, &result, err));
    }
    *out = result;
    return CLEAVE_OK;
}

/* Without latencies every further round is a gain, but an ever smaller one. If the first
 * round is below this part of the load, more rounds are not worth their chunks. */
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

/* Give the last round the sizes of its series: the tail of rumr levels the ends. A single
 * round has no series if a latency is longer than the round, nor has a plan that lost
 * chunks too small to be numbers. */
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

/* Numbers of the formulas. */
static void note_facts(struct cleave_setup *setup, const struct cv_umr *plan)
{
    cv_note_fact(setup, "real_rounds", plan->real_rounds);
    /* The formula does not apply if links cannot keep up with all workers. */
    cv_note_fact(setup, "expected", plan->expected_s > 0 ? plan->expected_s : NAN);
    cv_note_fact(setup, "first_chunk", plan->plan.units[0]);
}

/* Excludes only workers that would get nothing but negative chunks. */
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
      "1: leave out workers that do not help; 0: use all, as in the published "
      "comparison" },
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
