/* stream_costs.c -- times, delays and weights of workers that serve a stream in rounds.
 * SPDX-License-Identifier: MIT
 *
 * The window of theta. With part one of round i computed at time 0, the next round is
 * posted when its result is back, and nothing idles if
 *
 *     R'_i + D'_(i+1)              <= C"_i                (part one is there in time)
 *     R'_i + D'_(i+1) + D"_(i+1)   <= C"_i + C'_(i+1)     (part two is)
 *
 * with D, C, R for sending, computing, returning and ' and " for part one and two. The
 * first is an upper bound of theta. The second reads theta Q >= P: a lower bound when the
 * load grows enough, an upper one when it does not. */
#include "model/stream/stream_costs.h"

#include <math.h>
#include <stdlib.h>
#include "base/compare.h"
#include "base/fail.h"

struct cleave_worker cv_stream_as_duplex(struct cleave_worker worker,
                                         enum cleave_port port, double ratio)
{
    if (!(ratio > 0))
        worker.return_latency_s = 0; /* without results there is no latency of returns */
    if (port == CLEAVE_PORT_ONE) {
        worker.bandwidth_ups =
            1 / (1 / worker.bandwidth_ups + ratio / worker.return_bandwidth_ups);
        worker.latency_s += worker.return_latency_s;
        worker.return_latency_s = 0;
    }
    return worker;
}

static double theta_of(const struct cv_stream_ring *ring, uint32_t worker)
{
    return ring->theta != NULL ? ring->theta[worker] : 0.5;
}

double cv_ring_margin(const struct cv_stream_ring *ring, uint32_t worker)
{
    return ring->margin != NULL ? ring->margin[worker] : 0;
}

double cv_stream_load(const struct cleave_worker *worker, double tau_s)
{
    return worker->speed_ups * (tau_s - 2 * worker->compute_latency_s);
}

double cv_stream_profit(const struct cleave_worker *worker, double tau_s)
{
    return (1 - 2 * worker->compute_latency_s / tau_s) * worker->speed_ups;
}

struct cv_stream_times cv_stream_times(const struct cleave_worker *worker, double theta,
                                       double result_ratio, double load)
{
    const double first = theta * load, second = (1 - theta) * load;
    const double back = result_ratio / worker->return_bandwidth_ups;

    return (struct cv_stream_times){
        .send_first_s = worker->latency_s + first / worker->bandwidth_ups,
        .send_second_s = worker->latency_s + second / worker->bandwidth_ups,
        .compute_first_s = worker->compute_latency_s + first / worker->speed_ups,
        .compute_second_s = worker->compute_latency_s + second / worker->speed_ups,
        .return_first_s = worker->return_latency_s + first * back,
        .return_second_s = worker->return_latency_s + second * back,
    };
}

struct cv_stream_times *cv_ring_times(const struct cv_stream_ring *ring,
                                      struct cv_arena *arena)
{
    struct cv_stream_times *times = cv_array(arena, ring->n, sizeof *times);

    for (uint32_t w = 0; times != NULL && w < ring->n; w++)
        times[w] =
            cv_stream_times(&ring->workers[w], theta_of(ring, w), ring->result_ratio,
                            cv_stream_load(&ring->workers[w], ring->tau_s));
    return times;
}

double cv_send_time(const struct cv_stream_times *times)
{
    return times->send_first_s + times->send_second_s;
}

double cv_return_time(const struct cv_stream_times *times)
{
    return times->return_first_s + times->return_second_s;
}

struct cv_theta_window cv_theta_window(const struct cleave_worker *worker,
                                       double result_ratio, double before, double after)
{
    const double f = worker->compute_latency_s, speed = worker->speed_ups;
    const double out = worker->latency_s, back = worker->return_latency_s;
    const double data = after / worker->bandwidth_ups;
    const double result = result_ratio * before / worker->return_bandwidth_ups;
    const double work = before / speed;
    const double p = 2 * out + back - 2 * f + data - work;
    const double q = (after - before) / speed - result;
    struct cv_theta_window window = { 0, 1 };

    window.high = fmin(window.high, (work + f - out - back) / (work + result + data));
    if (q > 0)
        window.low = fmax(window.low, p / q);
    else if (q < 0)
        window.high = fmin(window.high, p / q);
    else if (p > 1e-12 * work)   /* by more than rounding */
        window.high = -INFINITY; /* part two is late whatever theta is */
    return window;
}

double cv_theta_first(const struct cleave_worker *worker, double load)
{
    const double data = load / worker->bandwidth_ups;

    return (data + worker->latency_s - worker->compute_latency_s) /
           (load / worker->speed_ups + data);
}

double cv_theta_moved(const struct cleave_worker *worker, double result_ratio,
                      double load, double wanted)
{
    struct cv_theta_window window = cv_theta_window(worker, result_ratio, load, load);

    /* A gap in the first round costs less than one in each round. */
    window.low = fmax(window.low, cv_theta_first(worker, load));
    return fmin(fmax(fmin(fmax(wanted, window.low), window.high), 0.05), 0.95);
}

double cv_stream_delay(double margin, const struct cv_stream_times *before,
                       const struct cv_stream_times *own)
{
    return (1 + margin) *
           fmax(cv_send_time(before), before->return_second_s + own->return_first_s);
}

void cv_ring_delays(const struct cv_stream_ring *ring,
                    const struct cv_stream_times *times, double *out)
{
    for (uint32_t w = 0; w < ring->n; w++)
        out[w] = cv_stream_delay(cv_ring_margin(ring, w),
                                 &times[w > 0 ? w - 1 : ring->n - 1], &times[w]);
}

void cv_ring_tight_delays(const struct cv_stream_ring *ring,
                          const struct cv_stream_times *times, double *out)
{
    struct cv_stream_times worst = { 0 };

    for (uint32_t w = 0; w < ring->n; w++) {
        worst.send_first_s = fmax(worst.send_first_s, cv_send_time(&times[w]));
        worst.return_first_s = fmax(worst.return_first_s, times[w].return_first_s);
        worst.return_second_s = fmax(worst.return_second_s, times[w].return_second_s);
    }
    for (uint32_t w = 0; w < ring->n; w++)
        out[w] = cv_stream_delay(cv_ring_margin(ring, w), &worst, &times[w]);
}

double cv_stream_sum(const double *values, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

void cv_ring_starts(const double *delays, uint32_t n, double *out)
{
    for (uint32_t w = 0; w < n; w++)
        out[w] = w > 0 ? out[w - 1] + delays[w] : 0;
}

double cv_ring_own_weights(const struct cv_stream_ring *ring,
                           const struct cv_stream_times *times, double *out_omega)
{
    double min = INFINITY, greatest = 0, margin = 0;

    for (uint32_t w = 0; w < ring->n; w++) {
        const double own = cv_ring_margin(ring, w);

        out_omega[w] =
            (1 + own) * fmax(cv_send_time(&times[w]), cv_return_time(&times[w]));
        min = fmin(min, times[w].return_first_s);
        greatest = fmax(greatest, times[w].return_first_s);
        margin = w == 0 || own == margin ? own : NAN;
    }
    return ring->n > 0 ? (1 + margin) * (greatest - min) : 0;
}

/* From a worker's post to its next first result, in a steady round. */
static double phase_of(const struct cv_stream_times *times)
{
    return times->send_first_s + times->compute_first_s + times->return_first_s;
}

/* By how many seconds a unit more in the first round moves all later posts. */
static double shift_per_unit(const struct cv_stream_ring *ring, uint32_t w)
{
    return 1 / ring->workers[w].speed_ups +
           theta_of(ring, w) / ring->workers[w].bandwidth_ups;
}

struct use {
    double begin_s, length_s;
};

CV_ORDER_BY(by_begin, struct use, begin_s)

static double into_period(double time, double period)
{
    const double rest = fmod(time, period);

    return rest < 0 ? rest + period : rest;
}

/* The least time between the end of a use and the begin of the next, period after
 * period. */
static double least_gap(struct use *uses, uint32_t n, double period)
{
    double min = INFINITY;

    qsort(uses, n, sizeof *uses, by_begin);
    for (uint32_t i = 0; i < n; i++) {
        const double next = i + 1 < n ? uses[i + 1].begin_s : uses[0].begin_s + period;

        min = fmin(min, next - uses[i].begin_s - uses[i].length_s);
    }
    return min;
}

bool cv_ring_gaps(const struct cv_stream_ring *ring, const struct cv_stream_times *times,
                  const double *starts, const double *first_loads, struct cv_arena *arena,
                  struct cv_port_gaps *out)
{
    struct use *sends, *returns;

    if (!CV_NEW(arena, sends, ring->n) || !CV_NEW(arena, returns, ring->n))
        return false;
    for (uint32_t w = 0; w < ring->n; w++) {
        double post = starts[w] + phase_of(&times[w]);

        if (first_loads != NULL)
            post += shift_per_unit(ring, w) *
                    (first_loads[w] - cv_stream_load(&ring->workers[w], ring->tau_s));
        sends[w].begin_s = into_period(post, ring->tau_s);
        sends[w].length_s = cv_send_time(&times[w]);
        returns[w].begin_s = into_period(post - times[w].return_first_s, ring->tau_s);
        returns[w].length_s = cv_return_time(&times[w]);
    }
    out->send_s = least_gap(sends, ring->n, ring->tau_s);
    out->receive_s = least_gap(returns, ring->n, ring->tau_s);
    return true;
}

uint32_t cv_ring_first_loads(const struct cv_stream_ring *ring,
                             const struct cv_stream_times *times, double *out)
{
    uint32_t untrimmed = 0;

    for (uint32_t w = 0; w < ring->n; w++) {
        const double steady = cv_stream_load(&ring->workers[w], ring->tau_s);
        const double late = phase_of(&times[w]) - phase_of(&times[0]);

        out[w] = steady - late / shift_per_unit(ring, w);
        if (!(out[w] > 0)) {
            out[w] = steady;
            untrimmed++;
        }
    }
    return untrimmed;
}

double cv_stream_next_load(double load, double tau_s, double sigma)
{
    const double next = load * tau_s / sigma;

    return sigma > 0 && isfinite(next) ? next : load;
}

/* --- the order of service that costs least ----------------------------------------- */

/* Matching the i-th least `leave` with the i-th least `enter` is the cheapest
 * assignment. Exchanging the followers of ranks i and i + 1 costs
 * 
 *     max(0, least(leave, enter) of rank i + 1 - greatest(leave, enter) of rank i)
 * 
 * more, and joins two cycles if they lie in different ones. A cheapest set of such
 * exchanges that joins all cycles is a spanning tree, and the sum of its costs is what
 * the cheapest cycle costs above the assignment, provided that the exchanges are made in
 * this order: those at ranks with enter >= leave from the greatest rank down, then the
 * others from the least up. */

static struct cv_ranked *rank(const double *values, uint32_t n, struct cv_arena *arena)
{
    struct cv_ranked *ranks = cv_array(arena, n, sizeof *ranks);

    for (uint32_t i = 0; ranks != NULL && i < n; i++)
        ranks[i] = (struct cv_ranked){ values[i], i };
    if (ranks != NULL)
        qsort(ranks, n, sizeof *ranks, cv_rank_up);
    return ranks;
}

double cv_cycle_cost(const struct cv_cycle *cycle, const uint32_t *order)
{
    double cost = 0;

    for (uint32_t i = 0; i < cycle->n; i++) {
        const uint32_t next = i + 1 < cycle->n ? i + 1 : 0;

        cost += fmax(cycle->leave[order != NULL ? order[i] : i],
                     cycle->enter[order != NULL ? order[next] : next]);
    }
    return cost;
}

/* The cycles of an assignment as sets that are joined. */
static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static bool join(uint32_t *parent, uint32_t i, uint32_t j)
{
    i = root_of(parent, i);
    j = root_of(parent, j);
    if (i < j)
        parent[j] = i;
    else
        parent[i] = j;
    return i != j;
}

struct matching {
    struct cv_ranked *leave, *enter; /* by rank                                         */
    uint32_t *next;                  /* rank of leave -> place that follows             */
    uint32_t *parent;                /* place -> set of joined cycles                   */
    struct cv_ranked *swaps;         /* by cost: exchange of ranks index and index + 1  */
    bool *taken;                     /* rank -> is the exchange with the next one made  */
    uint32_t *after;                 /* place -> place that follows                     */
};

static bool matching_init(struct matching *m, const struct cv_cycle *cycle,
                          struct cv_arena *arena)
{
    const uint32_t n = cycle->n;

    m->leave = rank(cycle->leave, n, arena);
    m->enter = rank(cycle->enter, n, arena);
    return m->leave != NULL && m->enter != NULL && CV_NEW(arena, m->next, n) &&
           CV_NEW(arena, m->parent, n) && CV_NEW(arena, m->swaps, n) &&
           CV_NEW(arena, m->taken, n) && CV_NEW(arena, m->after, n);
}

/* Choose the cheapest exchanges that make one cycle out of all. */
static void choose_swaps(struct matching *m, uint32_t n)
{
    uint32_t cycles = n;

    for (uint32_t i = 0; i < n; i++)
        m->parent[i] = i;
    for (uint32_t i = 0; i < n; i++) {
        m->next[i] = m->enter[i].index;
        cycles -= join(m->parent, m->leave[i].index, m->enter[i].index);
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        const double above = fmin(m->leave[i + 1].value, m->enter[i + 1].value);
        const double below = fmax(m->leave[i].value, m->enter[i].value);

        m->swaps[i] = (struct cv_ranked){ fmax(0, above - below), i };
    }
    if (cycles > 1)
        qsort(m->swaps, n - 1, sizeof *m->swaps, cv_rank_up);
    for (uint32_t i = 0; cycles > 1; i++) {
        const uint32_t at = m->swaps[i].index;

        m->taken[at] = join(m->parent, m->leave[at].index, m->leave[at + 1].index);
        cycles -= m->taken[at];
    }
}

static void swap_next(struct matching *m, uint32_t at)
{
    const uint32_t kept = m->next[at];

    m->next[at] = m->next[at + 1];
    m->next[at + 1] = kept;
}

static void make_swaps(struct matching *m, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;)
        if (m->taken[i] && m->enter[i].value >= m->leave[i].value)
            swap_next(m, i);
    for (uint32_t i = 0; i < n; i++)
        if (m->taken[i] && m->enter[i].value < m->leave[i].value)
            swap_next(m, i);
}

bool cv_cycle_best(const struct cv_cycle *cycle, struct cv_arena *arena, uint32_t *order,
                   double *out_cost, double *out_bound)
{
    const uint32_t n = cycle->n;
    struct matching m;
    double bound = 0;

    if (!matching_init(&m, cycle, arena))
        return false;
    for (uint32_t i = 0; i < n; i++)
        bound += fmax(m.leave[i].value, m.enter[i].value);
    choose_swaps(&m, n);
    make_swaps(&m, n);
    for (uint32_t i = 0; i < n; i++)
        m.after[m.leave[i].index] = m.next[i];
    for (uint32_t i = 0, at = 0; i < n; i++, at = m.after[at])
        order[i] = at;
    *out_cost = cv_cycle_cost(cycle, order);
    if (out_bound != NULL)
        *out_bound = bound;
    return true;
}

bool cv_cycle_of_times(const struct cv_stream_times *times, uint32_t n,
                       struct cv_arena *arena, struct cv_cycle *out, double *out_base)
{
    double *leave, *enter;
    double base = 0;

    if (!CV_NEW(arena, leave, n) || !CV_NEW(arena, enter, n))
        return false;
    for (uint32_t w = 0; w < n; w++) {
        leave[w] = cv_send_time(&times[w]) - times[w].return_second_s;
        enter[w] = times[w].return_first_s;
        base += times[w].return_second_s;
    }
    *out = (struct cv_cycle){ leave, enter, n };
    *out_base = base;
    return true;
}

/* --- the shortest round in which a master can serve all its workers ---------------- */

/* In steady rounds of load x the bounds of theta are, with S, B, b the speed and the
 * bandwidths out and back, g and h their latencies, r = ratio / b:
 * 
 *     (x/B + g - f) / (x (1/S + 1/B))        <= theta    first round
 *     (x/S + f - g - h) / (x (1/S + r + 1/B)) >= theta   part one in time
 *     (x (1/S - 1/B) + 2f - 2g - h) / (x r)   >= theta   part two in time
 * 
 * The denominators are multiples of x, so "the window is not empty" is a set of linear
 * inequalities in x, that is in tau = x/S + 2f. */

/* A time as a function of tau. */
struct line {
    double value, slope;
};

static struct line add(struct line a, struct line b)
{
    return (struct line){ a.value + b.value, a.slope + b.slope };
}

/* To the right of tau the steeper of two equal ones is the greater. */
static struct line greater(struct line a, struct line b)
{
    if (a.value != b.value)
        return a.value > b.value ? a : b;
    return a.slope > b.slope ? a : b;
}

struct lines {
    struct line send, first, second; /* all data; result of part one and of part two */
};

static struct lines lines_at(const struct cv_stream_ring *ring, uint32_t w, double tau_s)
{
    const struct cleave_worker *worker = &ring->workers[w];
    const double theta = theta_of(ring, w), ratio = ring->result_ratio;
    const struct cv_stream_times times =
        cv_stream_times(worker, theta, ratio, cv_stream_load(worker, tau_s));
    const double back = ratio * worker->speed_ups / worker->return_bandwidth_ups;

    return (struct lines){
        { cv_send_time(&times), worker->speed_ups / worker->bandwidth_ups },
        { times.return_first_s, theta * back },
        { times.return_second_s, (1 - theta) * back },
    };
}

/* The sum of the delays, less tau. */
static struct line excess(const struct cv_stream_ring *ring, double tau_s)
{
    struct line sum = { 0, 0 };
    struct lines before;

    if (ring->n == 0)
        return (struct line){ -tau_s, -1 };
    before = lines_at(ring, ring->n - 1, tau_s);
    for (uint32_t w = 0; w < ring->n; w++) {
        const struct lines own = lines_at(ring, w, tau_s);
        const struct line delay = greater(before.send, add(before.second, own.first));
        const double stretch = 1 + cv_ring_margin(ring, w);

        sum.value += stretch * delay.value;
        sum.slope += stretch * delay.slope;
        before = own;
    }
    return (struct line){ sum.value - tau_s, sum.slope - 1 };
}

double cv_ring_least_tau(const struct cv_stream_ring *ring, double from_s)
{
    double tau = from_s, nudge = 0x1p-52;
    struct line over;

    for (uint32_t w = 0; w < ring->n; w++)
        tau = fmax(tau, 2 * ring->workers[w].compute_latency_s);
    over = excess(ring, tau);
    while (over.value > 0) {
        double next;

        if (over.slope >= 0)
            return INFINITY;
        next = tau - over.value / over.slope;
        /* On the last piece only rounding is left: let the sum fit as it is added up. */
        if (next <= tau * (1 + nudge)) {
            next = tau * (1 + nudge);
            nudge *= 2;
        }
        if (!isfinite(next))
            return INFINITY;
        tau = next;
        over = excess(ring, tau);
    }
    return tau;
}

/* Keep the x with offset + slope x >= 0. */
static void restrict_to(struct cv_tau_range *loads, double offset, double slope)
{
    if (slope > 0)
        loads->low_s = fmax(loads->low_s, -offset / slope);
    else if (slope < 0)
        loads->high_s = fmin(loads->high_s, -offset / slope);
    else if (offset < 0)
        loads->high_s = -INFINITY;
}

/* Loads for which a worker has a window. */
static struct cv_tau_range loads_with_window(const struct cleave_worker *worker,
                                             double ratio)
{
    const double f = worker->compute_latency_s, out = worker->latency_s;
    const double back = worker->return_latency_s;
    const double work = 1 / worker->speed_ups, data = 1 / worker->bandwidth_ups;
    const double result = ratio / worker->return_bandwidth_ups;
    const double first = work + data, whole = work + result + data;
    struct cv_tau_range loads = { 0, INFINITY };

    restrict_to(&loads, f - out - back, work);
    restrict_to(&loads, 2 * f - 2 * out - back, work - data);
    restrict_to(&loads, first * (f - out - back) - whole * (out - f),
                first * work - whole * data);
    if (result > 0)
        restrict_to(&loads, first * (2 * f - 2 * out - back) - result * (out - f),
                    first * (work - data) - result * data);
    return loads;
}

struct cv_tau_range cv_ring_theta_range(const struct cv_stream_ring *ring)
{
    struct cv_tau_range all = { 0, INFINITY };

    for (uint32_t w = 0; w < ring->n; w++) {
        const struct cleave_worker *worker = &ring->workers[w];
        const struct cv_tau_range loads = loads_with_window(worker, ring->result_ratio);
        const double latencies = 2 * worker->compute_latency_s;

        all.low_s = fmax(all.low_s, loads.low_s / worker->speed_ups + latencies);
        all.high_s = fmin(all.high_s, loads.high_s / worker->speed_ups + latencies);
    }
    return all;
}

/* The wanted part, or the nearest one in the window at this tau. */
static double nearest_theta(const struct cv_stream_ring *ring, uint32_t w, double tau_s)
{
    const struct cleave_worker *worker = &ring->workers[w];
    const double load = cv_stream_load(worker, tau_s), wanted = theta_of(ring, w);
    struct cv_theta_window window;

    if (!(load > 0))
        return wanted;
    window = cv_theta_window(worker, ring->result_ratio, load, load);
    window.low = fmax(window.low, cv_theta_first(worker, load));
    return fmin(fmax(wanted, window.low), window.high);
}

/* Parts that were moved into their windows change the delays, and so tau. */
static double settle(const struct cv_stream_ring *ring, double from_s, double *theta)
{
    enum { MOST_TURNS = 64 };
    struct cv_stream_ring moved = *ring;
    double tau = cv_ring_least_tau(ring, from_s);

    moved.theta = theta;
    for (unsigned turn = 0; turn < MOST_TURNS && isfinite(tau); turn++) {
        double next;

        for (uint32_t w = 0; w < ring->n; w++)
            theta[w] = nearest_theta(ring, w, tau);
        next = cv_ring_least_tau(&moved, tau);
        if (next == tau)
            return tau;
        tau = next;
    }
    return INFINITY;
}

static enum cleave_status fill_in(const struct cv_stream_ring *ring,
                                  struct cv_arena *arena, struct cv_cip *cip,
                                  struct cleave_error *err)
{
    struct cv_stream_ring chosen = *ring;
    const struct cv_stream_times *times;

    chosen.theta = cip->theta;
    chosen.tau_s = cip->tau_s;
    times = cv_ring_times(&chosen, arena);
    if (times == NULL)
        return cv_fail_memory(err, "the times of a round");
    cv_ring_delays(&chosen, times, cip->delay);
    for (uint32_t w = 0; w < ring->n; w++)
        cip->first_load[w] = cv_stream_load(&ring->workers[w], cip->tau_s);
    return CLEAVE_OK;
}

enum cleave_status cv_stream_cip(const struct cv_stream_ring *ring,
                                 double max_latency_share, struct cv_arena *arena,
                                 struct cv_cip *out, struct cleave_error *err)
{
    const struct cv_tau_range range = cv_ring_theta_range(ring);
    double from = range.low_s;
    struct cv_cip cip;

    if (!CV_NEW(arena, cip.theta, ring->n) || !CV_NEW(arena, cip.first_load, ring->n) ||
        !CV_NEW(arena, cip.delay, ring->n))
        return cv_fail_memory(err, "the parts of a round");
    for (uint32_t w = 0; w < ring->n && max_latency_share > 0; w++)
        from = fmax(from, 2 * ring->workers[w].compute_latency_s / max_latency_share);
    cip.least_tau_s = cv_ring_least_tau(ring, 0);
    if (isinf(cip.least_tau_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected workers that one master can serve in a round of any "
                       "length, got messages that take longer than the round");
    if (!(range.low_s <= range.high_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected workers that can compute while they communicate, got "
                       "one whose messages are too long whatever part is sent first");
    from = fmax(from, cip.least_tau_s);
    cip.tau_s = settle(ring, from, cip.theta);
    if (!(cip.tau_s <= range.high_s) || isinf(cip.tau_s))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a round of %g s or more, got messages that then take "
                       "longer than the round",
                       from);
    CV_TRY(fill_in(ring, arena, &cip, err));
    *out = cip;
    return CLEAVE_OK;
}

/* The workers of a ring that start in less than `limit_s`. */
static bool faster_starts(const struct cv_stream_ring *ring, double limit_s,
                          struct cv_arena *arena, struct cv_stream_ring *out,
                          uint32_t *members)
{
    struct cleave_worker *workers = cv_array(arena, ring->n, sizeof *workers);
    double *theta = cv_array(arena, ring->n, sizeof *theta);
    double *margin = cv_array(arena, ring->n, sizeof *margin);

    *out = *ring;
    out->workers = workers;
    out->theta = theta;
    out->margin = margin;
    out->n = 0;
    if (workers == NULL || theta == NULL || margin == NULL)
        return false;
    for (uint32_t w = 0; w < ring->n; w++) {
        if (!(ring->workers[w].compute_latency_s < limit_s))
            continue;
        workers[out->n] = ring->workers[w];
        theta[out->n] = theta_of(ring, w);
        margin[out->n] = cv_ring_margin(ring, w);
        members[out->n++] = w;
    }
    return true;
}

enum cleave_status cv_stream_cip_served(const struct cv_stream_ring *ring,
                                        double max_latency_share, struct cv_arena *arena,
                                        struct cv_cip *out, uint32_t *served,
                                        uint32_t *out_count, struct cleave_error *err)
{
    double limit_s = INFINITY, slowest_s;
    struct cv_stream_ring kept, fewer;
    struct cleave_error aside;
    struct cv_cip cip;

    do {
        if (!faster_starts(ring, limit_s, arena, &kept, served))
            return cv_fail_memory(err, "the workers of a round");
        slowest_s = 0;
        for (uint32_t w = 0; w < kept.n; w++)
            slowest_s = fmax(slowest_s, kept.workers[w].compute_latency_s);
        limit_s = slowest_s;
        if (!faster_starts(ring, limit_s, arena, &fewer, served))
            return cv_fail_memory(err, "the workers of a round");
    } while (fewer.n > 0 &&
             cv_stream_cip(&fewer, max_latency_share, arena, &cip, &aside) == CLEAVE_OK &&
             cip.tau_s <= 2 * slowest_s);
    *out_count = 0;
    for (uint32_t w = 0; w < ring->n; w++)
        if (ring->workers[w].compute_latency_s <= slowest_s)
            served[(*out_count)++] = w;
    return cv_stream_cip(&kept, max_latency_share, arena, out, err);
}
