/* as4dr_plan.c -- adaptive rounds for streams: their length, loads, and first posts.
 * SPDX-License-Identifier: MIT */
#include "policy/stream/as4dr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- length of rounds --------------------------------------------------------------- */

/* The least tau keeps a shared port below PORT_SHARE of the time: with g latencies and
 * S, B speeds and bandwidths, messages take (2 sum g) / tau + sum S / B of it. In a
 * stream, an automatic tau starts there. For a load of known size that takes T,
 * latencies take 2 f / tau of the time and the end costs about tau / 4: tau = sqrt(8 f
 * T). In a real run neither f nor T is known, so tau is found as for a stream. */

static const double PORT_SHARE = 0.9;
/* If messages alone take more than that, latencies may add this part of a round. */
static const double LATENCY_SHARE = 0.1;
/* A round if costs show no time. */
static const double ANY_TAU_S = 1;
/* Most rounds of a load of known size; the shortest round, as part of it. */
static const double MOST_ROUNDS = 200, LEAST_PART = 1e-5;
/* The shortest round of a tapered end, as part of tau. */
static const double LEAST_TAPER = 0.01;

/* The messages of a round: their latencies, and the least tau in which the port can
 * serve all workers. */
struct port_needs {
    double latencies_s, tau_s;
};
/* For messages that take `rate` of the time beyond their latencies. */
static struct port_needs needs_of(double latencies_s, double rate)
{
    const double part =
        rate < PORT_SHARE - LATENCY_SHARE ? PORT_SHARE - rate : LATENCY_SHARE;

    return (struct port_needs){ latencies_s, latencies_s / part };
}

static struct port_needs greater(struct port_needs a, struct port_needs b)
{
    return a.tau_s > b.tau_s ? a : b;
}

static struct port_needs port_needs(const struct cleave_worker *workers, uint32_t n,
                                    enum cleave_port port, double ratio)
{
    double out_s = 0, back_s = 0, out_rate = 0, back_rate = 0;
    struct port_needs max = { 0, 0 };

    for (uint32_t w = 0; w < n; w++) {
        const double out = workers[w].speed_ups / workers[w].bandwidth_ups;
        const double back =
            ratio * workers[w].speed_ups / workers[w].return_bandwidth_ups;

        max = greater(max, greater(needs_of(2 * workers[w].latency_s, out),
                                   needs_of(2 * workers[w].return_latency_s, back)));
        out_s += 2 * workers[w].latency_s;
        back_s += 2 * workers[w].return_latency_s;
        out_rate += out;
        back_rate += back;
    }
    if (port == CLEAVE_PORT_MULTI)
        return max;
    if (port == CLEAVE_PORT_ONE)
        return needs_of(out_s + back_s, out_rate + back_rate);
    return greater(needs_of(out_s, out_rate), needs_of(back_s, back_rate));
}

struct sums {
    double speed, latency, least_latency, most_latency;
};

static struct sums sum_up(const struct cleave_worker *workers, uint32_t n)
{
    struct sums sums = { 0, 0, INFINITY, 0 };

    for (uint32_t w = 0; w < n; w++) {
        sums.speed += workers[w].speed_ups;
        sums.latency += workers[w].compute_latency_s;
        sums.least_latency = fmin(sums.least_latency, workers[w].compute_latency_s);
        sums.most_latency = fmax(sums.most_latency, workers[w].compute_latency_s);
    }
    return sums;
}

/* `workers`: the workers of the view, without the latency of results if there are no
 * results. */
static void choose_tau(struct cv_as4dr *as4dr, const struct cleave_view *view,
                       const struct cleave_worker *workers)
{
    const struct sums sums = sum_up(workers, view->nworkers);
    const struct port_needs port =
        port_needs(workers, view->nworkers, view->port, view->result_ratio);
    const double mean_s = sums.latency / view->nworkers;
    double whole_s = INFINITY;

    as4dr->mean_latency_s = mean_s;
    as4dr->tau_s = as4dr->period_s;
    as4dr->least_tau_s = port.tau_s;
    if (as4dr->finite) {
        /* The time with the least latencies. */
        whole_s = view->units_total / sums.speed + 2 * sums.least_latency;
        as4dr->least_s = LEAST_PART * whole_s;
        if (!(as4dr->period_s > 0) && !view->real)
            as4dr->tau_s = fmax(fmax(port.tau_s, 4 * sums.least_latency),
                                fmax(sqrt(8 * mean_s * whole_s), whole_s / MOST_ROUNDS));
    }
    if (!(as4dr->period_s > 0) && (!as4dr->finite || view->real)) {
        as4dr->automatic = true;
        if (!(port.tau_s > 0) && !(mean_s > 0))
            as4dr->least_tau_s = ANY_TAU_S;
        /* Workers that are served in turn, or keep their phase, have the same rounds. */
        if (as4dr->service == CV_SERVE_RR || as4dr->rule == CV_RULE_PLL)
            as4dr->least_tau_s =
                fmax(as4dr->least_tau_s, CV_LATENCIES_PER_ROUND * sums.most_latency);
        as4dr->tau_s = fmax(as4dr->least_tau_s, CV_LATENCIES_PER_ROUND * mean_s);
    }
    /* Short rounds keep the port busy with latencies: in a time T, rounds of x take T
     * / x of them, and x more at the end. */
    as4dr->floor_s = as4dr->wanted_floor_s;
    if (!(as4dr->floor_s > 0))
        as4dr->floor_s = fmax(fmin(port.tau_s, sqrt(port.latencies_s * whole_s)),
                              LEAST_TAPER * as4dr->tau_s);
}

/* --- periodic speeds ---------------------------------------------------------------- */

/* The period is the lag of the highest autocorrelation of the cells, the shortest one
 * among nearly equal ones (multiples of a period), placed between cells by the
 * parabola through its neighbours. It is searched again after LOOK_EVERY cells: n^2 /
 * 2 multiplications for n cells. */

enum { LOOK_EVERY = 16, LEAST_CELLS = 24, LEAST_LAG = 2 };

/* Least correlation of a period; part of the highest that counts as equal. */
static const double LEAST_CORRELATION = 0.4, AS_GOOD = 0.9;

struct cv_as4dr_history *cv_as4dr_history_new(struct cv_arena *arena, uint32_t workers,
                                              double cell_s)
{
    struct cv_as4dr_history *history = cv_array(arena, workers, sizeof *history);

    for (uint32_t w = 0; history != NULL && w < workers; w++) {
        history[w].cell_s = cell_s;
        history[w].newest = history[w].looked_at = -1;
    }
    return history;
}
/* Deviations from the mean, the newest last; returns their number, 0 if speeds never
 * change. */
static int deviations(const struct cv_as4dr_history *history, float *out)
{
    const int n = (int)(history->newest + 1 < CV_HISTORY_CELLS ? history->newest + 1
                                                               : CV_HISTORY_CELLS);
    float last = 0;
    double sum = 0, squares = 0;

    for (int i = 0; i < n; i++) {
        const float speed =
            history->speed[(history->newest - n + 1 + i) % CV_HISTORY_CELLS];

        last = speed > 0 ? speed : last;
        out[i] = last;
        sum += last;
    }
    for (int i = 0; i < n; i++) {
        out[i] -= (float)(sum / n);
        squares += (double)out[i] * out[i];
    }
    return squares > 1e-6 * sum * sum / n ? n : 0;
}

static double product_at(const float *cells, int n, int lag)
{
    float sum = 0;

    for (int i = lag; i < n; i++)
        sum += cells[i] * cells[i - lag];
    return (double)sum / (n - lag);
}

static void look_for_period(struct cv_as4dr_history *history)
{
    double product[CV_HISTORY_CELLS];
    float cells[CV_HISTORY_CELLS];
    const int n = deviations(history, cells), max = n * 2 / 3;
    const double variance = n >= LEAST_CELLS ? product_at(cells, n, 0) : 0;
    double highest = 0;

    history->period_s = 0;
    if (n < LEAST_CELLS)
        return;
    for (int lag = LEAST_LAG - 1; lag <= max; lag++)
        product[lag] = product_at(cells, n, lag);
    for (int lag = LEAST_LAG; lag < max; lag++)
        if (product[lag] >= product[lag - 1] && product[lag] >= product[lag + 1])
            highest = fmax(highest, product[lag]);
    if (highest < LEAST_CORRELATION * variance)
        return;
    for (int lag = LEAST_LAG; lag < max; lag++) {
        const double before = product[lag - 1], at = product[lag],
                     after = product[lag + 1];
        const double bend = before - 2 * at + after;

        if (at < before || at < after || at < AS_GOOD * highest)
            continue;
        history->period_s =
            history->cell_s * (lag + (bend < 0 ? (before - after) / (2 * bend) : 0));
        return;
    }
}

void cv_as4dr_history_add(struct cv_as4dr_history *history, double begin_s, double end_s,
                          double speed_ups)
{
    /* Cells whose middle lies within; a long computation fills them all. */
    const int64_t last = (int64_t)floor(end_s / history->cell_s - 0.5);
    int64_t first = (int64_t)ceil(begin_s / history->cell_s - 0.5);

    if (last < 0 || last <= history->newest)
        return;
    if (first <= history->newest)
        first = history->newest + 1;
    if (last - history->newest > CV_HISTORY_CELLS)
        history->newest = last - CV_HISTORY_CELLS;
    while (history->newest < last) {
        history->newest++;
        history->speed[history->newest % CV_HISTORY_CELLS] =
            history->newest >= first ? (float)speed_ups : 0;
    }
    if (history->newest - history->looked_at >= LOOK_EVERY) {
        history->looked_at = history->newest;
        look_for_period(history);
    }
}

/* The speed a whole number of periods before `time_s`, in the past. */
static double speed_before(const struct cv_as4dr_history *history, double time_s,
                           double otherwise)
{
    const double known_s = ((double)history->newest + 1) * history->cell_s;
    const double periods = ceil((time_s - known_s) / history->period_s);
    const double past_s = time_s - fmax(periods, 1) * history->period_s;
    int64_t cell = (int64_t)floor(past_s / history->cell_s);
    double speed;

    if (cell > history->newest)
        cell = history->newest;
    if (cell < 0 || cell <= history->newest - CV_HISTORY_CELLS)
        return otherwise;
    speed = history->speed[cell % CV_HISTORY_CELLS];
    return speed > 0 ? speed : otherwise;
}

double cv_as4dr_history_work(const struct cv_as4dr_history *history, double begin_s,
                             double end_s, double speed_ups)
{
    const double cell_s = history->cell_s;
    double work = 0, from_s = begin_s;

    if (!(history->period_s > 0) || end_s - begin_s > CV_HISTORY_CELLS * cell_s)
        return speed_ups * (end_s - begin_s);
    while (from_s < end_s) {
        /* Half cells: the period need not be a whole number of cells. */
        const double to_s = fmin(end_s, from_s + cell_s / 2);

        work += speed_before(history, from_s + (to_s - from_s) / 2, speed_ups) *
                (to_s - from_s);
        from_s = to_s;
    }
    return work;
}

/* --- the load of the next round ----------------------------------------------------- */

/* With C the time the first part of a round took and f the declared latency, the round
 * takes sigma = (C - f) / theta + 2 f, and the worker computes theta load / (C - f) units
 * per second. From these
 *
 *   eq1       load tau / sigma: model/stream/stream_recurrence.h; with a gain below 1
 *             load (tau / sigma)^gain, stable for costs that grow faster than the load
 *   deadbeat  speed (tau - 2 f): exact after one round
 *   pll       deadbeat with a round shortened by `gain` times what the worker is late by
 *             its phase, so that the workers keep the places the first posts gave them
 *   periodic  deadbeat with the work that the speeds of one period before would do
 *
 * An automatic tau weighs the part of the time that latencies take, 2 f / tau, against
 * what grows with tau: idle time, c tau as measured, and the end, tau / (4 t) if the
 * stream ended now, t after its start: tau = sqrt(2 f / (c + 1 / (4 t))). */

/* Larger growth is limited to this at once. */
static const double MOST_GROWTH = 32;

/* Idle times fade with every part, so that about this many rounds count. */
enum { ROUNDS_KEPT = 16 };

double cv_as4dr_tau(const struct cv_as4dr *as4dr, uint32_t worker, double now_s)
{
    double tau_s, slope = 0;

    if (!as4dr->automatic)
        return as4dr->tau_s;
    if (!(now_s > 0)) /* nothing was measured */
        return fmax(as4dr->least_tau_s,
                    CV_LATENCIES_PER_ROUND * as4dr->places[worker].latency_s);
    tau_s = fmax(as4dr->least_tau_s,
                 CV_LATENCIES_PER_ROUND * as4dr->workers[worker].latency_s);
    if (as4dr->idle_base > 0)
        slope = as4dr->idle_s / as4dr->idle_base;
    return fmax(tau_s, sqrt(2 * as4dr->mean_latency_s / (slope + 1 / (4 * now_s))));
}

static void note_idle(struct cv_as4dr *as4dr, const struct cleave_event *event)
{
    struct cv_as4dr_worker *worker = &as4dr->workers[event->worker];
    const double keep = 1 - 1.0 / (2.0 * ROUNDS_KEPT * as4dr->nmembers);

    if (!as4dr->automatic || worker->done_s < 0)
        return;
    as4dr->idle_s = keep * as4dr->idle_s + (event->start_s - worker->done_s);
    as4dr->idle_base =
        keep * as4dr->idle_base + (event->time_s - worker->done_s) *
                                      cv_as4dr_tau(as4dr, event->worker, event->time_s);
}

/* Measure the time to start a command: sizes that differ show it. */
static void find_latency(struct cv_as4dr *as4dr, const struct cleave_event *event)
{
    struct cv_as4dr_worker *worker = &as4dr->workers[event->worker];
    const double before_s = worker->latency_s;

    cv_fit_add(&worker->fit, event->units, event->time_s - event->start_s, -1);
    if (!(worker->fit.rate_ups > 0))
        return;
    worker->latency_s = worker->fit.latency_s;
    as4dr->mean_latency_s += (worker->latency_s - before_s) / as4dr->nmembers;
}

void cv_as4dr_measure(struct cv_as4dr *as4dr, const struct cleave_event *event,
                      bool first)
{
    struct cv_as4dr_worker *worker = &as4dr->workers[event->worker];
    double latency_s, pure_s;

    if (as4dr->real)
        find_latency(as4dr, event);
    latency_s = worker->latency_s;
    pure_s = event->time_s - event->start_s - latency_s;
    note_idle(as4dr, event);
    if (pure_s > 0 && as4dr->history != NULL)
        cv_as4dr_history_add(&as4dr->history[event->worker], event->start_s,
                             event->time_s, event->units / pure_s);
    if (!first)
        return;
    /* A stream gives no more than it holds: the round was shorter. */
    if (as4dr->real && event->units > 0 && event->units < worker->first)
        worker->load *= event->units / worker->first;
    worker->sigma_s = pure_s * (worker->load / event->units) + 2 * latency_s;
    if (pure_s > 0 && event->units > 0) {
        const double speed = fmin(event->units / pure_s, MOST_GROWTH * worker->speed_ups);

        as4dr->speed_sum += speed - worker->speed_ups;
        worker->speed_ups = speed;
    }
}

double cv_as4dr_free_at(const struct cv_as4dr *as4dr, uint32_t worker, double now_s)
{
    const struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const double from_s = w->held_parts > 0 ? w->cpu_from_s : now_s;

    return fmax(now_s,
                from_s + w->due_parts * w->latency_s + w->due_units / w->speed_ups);
}

/* By how much the worker is late, to the nearest round. */
static double lateness(struct cv_as4dr_worker *worker, double tau_s)
{
    double late_s = worker->result_s - worker->target_s;

    if (fabs(late_s) > tau_s / 2) {
        worker->target_s += tau_s * nearbyint(late_s / tau_s);
        late_s = worker->result_s - worker->target_s;
    }
    worker->target_s += tau_s;
    return late_s;
}

double cv_as4dr_next(struct cv_as4dr *as4dr, uint32_t worker, double now_s)
{
    struct cv_as4dr_worker *w = &as4dr->workers[worker];
    const double tau_s = cv_as4dr_tau(as4dr, worker, now_s);
    const double latencies_s = 2 * w->latency_s;
    double load = w->speed_ups * (tau_s - latencies_s), begin_s;

    switch (as4dr->rule) {
    case CV_RULE_EQ1:
        load = cv_stream_next_load(w->load, tau_s, w->sigma_s);
        if (as4dr->gain != 1)
            load = w->load * pow(load / w->load, as4dr->gain);
        break;
    case CV_RULE_DEADBEAT:
        break;
    case CV_RULE_PLL:
        load -= w->speed_ups * as4dr->gain * lateness(w, tau_s);
        break;
    case CV_RULE_PERIODIC:
        begin_s = cv_as4dr_free_at(as4dr, worker, now_s);
        load = cv_as4dr_history_work(&as4dr->history[worker], begin_s,
                                     begin_s + tau_s - latencies_s, w->speed_ups);
        break;
    }
    load = fmin(load, MOST_GROWTH * w->load);
    /* At least a hundredth of the latencies, and enough for a load of known size to
     * end. */
    return fmax(load, fmax(0.01 * w->speed_ups * latencies_s,
                           as4dr->least_s * as4dr->places[worker].speed_ups));
}

/* --- the plan ----------------------------------------------------------------------- */

static const double PLL_GAIN = 0.6;

static const char *const rule_words[] = { "eq1", "deadbeat", "pll", "periodic", NULL };
static const char *const post_words[] = { "event", "spaced", NULL };
static const char *const service_words[] = { "fifo", "rr", "edf", NULL };
static const char *const end_words[] = { "taper", "spread", "none", NULL };
static const char *const start_words[] = { "close", "spread", "zero", NULL };

/* The index of a word in a list, 0 if none was given. */
static enum cleave_status read_word(const char *param, const char *word,
                                    const char *const *words, int *out,
                                    struct cleave_error *err)
{
    char list[80] = "";

    *out = 0;
    if (word == NULL)
        return CLEAVE_OK;
    for (int i = 0; words[i] != NULL; i++) {
        const size_t used = strlen(list);

        if (strcmp(words[i], word) == 0) {
            *out = i;
            return CLEAVE_OK;
        }
        snprintf(list + used, sizeof list - used, "%s%s",
                 i == 0                 ? ""
                 : words[i + 1] == NULL ? " or "
                                        : ", ",
                 words[i]);
    }
    return cv_fail(err, CLEAVE_EINPUT,
                   "policy 'as4dr': parameter '%s': expected %s, got '%s'", param, list,
                   word);
}

static enum cleave_status read_words(struct cv_as4dr *as4dr, struct cleave_error *err)
{
    CV_TRY(read_word("rule", as4dr->rule_word, rule_words, &as4dr->rule, err));
    CV_TRY(read_word("post", as4dr->post_word, post_words, &as4dr->post, err));
    CV_TRY(
        read_word("service", as4dr->service_word, service_words, &as4dr->service, err));
    CV_TRY(read_word("end", as4dr->end_word, end_words, &as4dr->end, err));
    CV_TRY(read_word("start", as4dr->start_word, start_words, &as4dr->start, err));
    if (as4dr->gain == 0)
        as4dr->gain = as4dr->rule == CV_RULE_PLL ? PLL_GAIN : 1;
    return CLEAVE_OK;
}

/* Per member. */
struct ring_arrays {
    struct cleave_worker *workers;
    double *theta, *margin, *starts, *first_loads;
};

static bool take_arrays(struct ring_arrays *out, uint32_t n, struct cv_arena *arena)
{
    out->workers = cv_array(arena, n, sizeof *out->workers);
    out->theta = cv_array(arena, n, sizeof(double));
    out->margin = cv_array(arena, n, sizeof(double));
    out->starts = cv_array(arena, n, sizeof(double));
    out->first_loads = cv_array(arena, n, sizeof(double));
    return out->workers != NULL && out->theta != NULL && out->margin != NULL &&
           out->starts != NULL && out->first_loads != NULL;
}

/* Times of first posts. A port for one message waits for results, too. Delays are
 * useless with separate links, if they do not fit into a round, or if they delay a
 * load of known size. */
static void place_starts(const struct cv_as4dr *as4dr, enum cleave_port port,
                         const struct cv_stream_ring *ring,
                         const struct cv_stream_times *times, double *starts)
{
    double end_s = 0;

    if (as4dr->start == CV_START_SPREAD) {
        for (uint32_t i = 0; i < ring->n; i++)
            starts[i] = as4dr->tau_s * i / ring->n;
        return;
    }
    if (as4dr->start == CV_START_CLOSE && port != CLEAVE_PORT_MULTI && !as4dr->finite) {
        cv_ring_delays(ring, times, starts);
        if (port == CLEAVE_PORT_ONE)
            for (uint32_t i = 0; i < ring->n; i++)
                starts[i] += (1 + as4dr->margin) *
                             cv_return_time(&times[i > 0 ? i - 1 : ring->n - 1]);
        end_s = cv_stream_sum(starts, ring->n);
        if (end_s <= as4dr->tau_s) {
            double at_s = 0;

            for (uint32_t i = 0; i < ring->n; i++)
                starts[i] = i == 0 ? 0 : (at_s += fmax(0, starts[i]));
            return;
        }
    }
    memset(starts, 0, ring->n * sizeof *starts);
}
static enum cleave_status place_members(struct cv_as4dr *as4dr,
                                        const struct cleave_view *view,
                                        const struct cleave_worker *workers,
                                        struct cv_as4dr_place *places,
                                        struct cv_arena *arena, struct cleave_error *err)
{
    const uint32_t n = as4dr->nmembers;
    struct cv_stream_times *times;
    struct ring_arrays arrays;
    struct cv_stream_ring ring;

    if (!take_arrays(&arrays, n, arena))
        return cv_fail_memory(err, "the places of the workers");
    ring = (struct cv_stream_ring){ arrays.workers, n,
                                    as4dr->tau_s,   view->result_ratio,
                                    arrays.theta,   arrays.margin };
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = as4dr->members[i];

        arrays.workers[i] = workers[w];
        arrays.margin[i] = as4dr->margin;
        arrays.theta[i] =
            cv_theta_moved(&workers[w], view->result_ratio,
                           cv_stream_load(&workers[w], cv_as4dr_tau(as4dr, w, 0)),
                           as4dr->wanted_theta);
    }
    times = cv_ring_times(&ring, arena);
    if (times == NULL)
        return cv_fail_memory(err, "the places of the workers");
    place_starts(as4dr, view->port, &ring, times, arrays.starts);
    as4dr->phase_s =
        times[0].send_first_s + times[0].compute_first_s + times[0].return_first_s;
    if (as4dr->trim && as4dr->start == CV_START_CLOSE && as4dr->first == 1 &&
        !as4dr->finite && !as4dr->automatic)
        cv_ring_first_loads(&ring, times, arrays.first_loads);
    else
        for (uint32_t i = 0; i < n; i++)
            arrays.first_loads[i] =
                as4dr->first * cv_stream_load(&arrays.workers[i],
                                              cv_as4dr_tau(as4dr, as4dr->members[i], 0));
    for (uint32_t i = 0; i < n; i++) {
        struct cv_as4dr_place *place = &places[as4dr->members[i]];

        place->theta = arrays.theta[i];
        place->start_s = arrays.starts[i];
        /* Nothing is known about a command before its first chunk. */
        place->first_load = view->real && as4dr->first == 1 ? 0 : arrays.first_loads[i];
    }
    return CLEAVE_OK;
}

/* Workers with time to compute in a round: tau > 2 f. */
static enum cleave_status choose_members(struct cv_as4dr *as4dr,
                                         const struct cleave_view *view,
                                         struct cv_as4dr_place *places, uint32_t *members,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    double least_s = INFINITY;

    for (uint32_t w = 0; w < view->nworkers; w++) {
        const double latencies_s = 2 * view->workers[w].compute_latency_s;

        least_s = fmin(least_s, latencies_s);
        places[w].latency_s = view->workers[w].compute_latency_s;
        places[w].speed_ups = view->workers[w].speed_ups;
        places[w].member = as4dr->automatic || as4dr->tau_s > latencies_s;
        if (places[w].member)
            members[as4dr->nmembers++] = w;
        else
            cv_note_left_out(setup, w,
                             "its two latencies of computing take %.6g s of a round of "
                             "%.6g s",
                             latencies_s, as4dr->tau_s);
    }
    if (as4dr->nmembers == 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'as4dr': parameter 'period': expected more than %g s, "
                       "which latencies alone take, got %g s",
                       least_s, as4dr->tau_s);
    return CLEAVE_OK;
}

enum cleave_status cv_as4dr_plan(void *state, const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err)
{
    struct cv_as4dr *as4dr = state;
    const uint32_t n = view->nworkers;
    struct cv_as4dr_place *places = cv_array(setup->arena, n, sizeof *places);
    struct cleave_worker *workers = cv_array(setup->arena, n, sizeof *workers);
    uint32_t *members = cv_array(setup->arena, n, sizeof *members);

    CV_TRY(read_words(as4dr, err));
    if (places == NULL || workers == NULL || members == NULL)
        return cv_fail_memory(err, "the places of the workers");
    memcpy(workers, view->workers, n * sizeof *workers);
    /* Without results there is no latency of results. */
    for (uint32_t w = 0; w < n && !(view->result_ratio > 0); w++)
        workers[w].return_latency_s = 0;
    as4dr->finite = !isinf(view->units_total);
    as4dr->real = view->real;
    as4dr->places = places;
    as4dr->members = members;
    choose_tau(as4dr, view, workers);
    CV_TRY(choose_members(as4dr, view, places, members, setup, err));
    return place_members(as4dr, view, workers, places, setup->arena, err);
}

enum cleave_status cv_as4dr_give(struct cv_as4dr *as4dr, const struct cleave_view *view,
                                 const struct cv_as4dr_given *given,
                                 struct cv_arena *arena, struct cleave_error *err)
{
    struct cv_as4dr_place *places = cv_array(arena, view->nworkers, sizeof *places);

    if (places == NULL)
        return cv_fail_memory(err, "the places of the workers");
    memcpy(places, as4dr->places, view->nworkers * sizeof *places);
    for (uint32_t w = 0; w < view->nworkers; w++) {
        places[w].theta = given->theta[w];
        places[w].first_load = given->first_load[w];
        places[w].start_s = given->start_s[w];
    }
    as4dr->places = places;
    as4dr->automatic = false;
    as4dr->tau_s = given->tau_s;
    if (given->floor_s > 0)
        as4dr->floor_s = given->floor_s;
    return CLEAVE_OK;
}
