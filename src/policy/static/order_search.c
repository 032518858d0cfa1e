/* order_search.c -- a good send order by local search. SPDX-License-Identifier: MIT
 *
 * The sizes follow from the last chunk to the first (model/load/vertex.c), so a change at
 * place p leaves everything behind p as it was. A sweep goes from the last place to the
 * first, keeps the state behind the current place, and tries there every change whose
 * last place it is: each costs p steps of a few nanoseconds. The first change that
 * shortens the makespan is taken.
 *
 * A local optimum reached, a few places of the best order are changed at random (from a
 * fixed seed: the result depends on the arguments alone) and the sweeps begin again. */
#include "policy/static/order_search.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

/* A change must shorten the makespan by this part, or rounding could go in circles. */
static const double least_gain = 1e-10;
/* See xmi.c: with less left than this the digits say nothing. */
static const double cancellation = 1e-6;
/* Chunks are exchanged with the few before them, and kicks change a few. Trials with a
 * larger reach gave no better orders for the same effort. */
enum { REACH = 8, MOST_KICKS = 4 };

/* What is known of the chunks behind a place. */
struct tail {
    struct cv_affine ahead; /* from the arrival of the chunk before them to the end */
    struct cv_affine sum;   /* of their sizes                                       */
    double min;             /* x must be at least this, or a size is negative       */
};

static const struct tail nothing = { { 0, 1 }, { 0, 0 }, 0 };

/* What has become of the place after its changes were tried. */
enum change { NO_CHANGE, CHANGED, INSERTED, DELETED };

static inline void put(const struct cv_order_cost *cost, struct cv_affine *lead,
                       struct tail *tail)
{
    const struct cv_affine ahead = tail->ahead;
    const double offset =
        cost->speed_ups * (ahead.offset - lead->offset - cost->latency_s);
    const double slope = cost->speed_ups * (ahead.slope - lead->slope);

    /* The next lead in one product and one sum: the only chain of dependent steps. */
    tail->ahead.offset =
        cost->growth * ahead.offset + (cost->constant_s - cost->use * lead->offset);
    tail->ahead.slope = cost->growth * ahead.slope - cost->use * lead->slope;
    *lead = ahead;
    if (offset + tail->min * slope < 0)
        tail->min = -offset / slope;
    tail->sum.offset += offset;
    tail->sum.slope += slope;
}

/* The makespan if no chunk comes before; INFINITY if that needs a negative one. */
static double end_of(const struct cv_order_search *search, const struct tail *tail)
{
    const double x = (search->load - tail->sum.offset) / tail->sum.slope;
    const double time_s = tail->ahead.offset + tail->ahead.slope * x;

    if (x >= tail->min && time_s > 0 &&
        fabs(tail->sum.offset) * cancellation <= search->load)
        return time_s;
    return INFINITY; /* also for NaN */
}

/* The makespan with seq[0..count-1] before the tail; leads as in search->lead. */
static double walk(struct cv_order_search *search, const uint32_t *seq, size_t count,
                   struct tail tail)
{
    for (size_t k = count; k-- > 0;)
        put(&search->cost[seq[k]], &search->lead[seq[k]], &tail);
    search->steps += count;
    return end_of(search, &tail);
}

static void copy_leads(struct cv_order_search *search)
{
    memcpy(search->lead, search->base, search->nworkers * sizeof *search->lead);
    search->steps += 1 + search->nworkers / 8;
}

static bool spent(const struct cv_order_search *search)
{
    return search->steps > search->effort;
}

static bool better(struct cv_order_search *search, double time_s)
{
    if (!(time_s < search->now.time_s * (1 - least_gain)))
        return false;
    search->now.time_s = time_s;
    return true;
}

static void remove_at(struct cv_order *order, size_t p)
{
    order->n--;
    memmove(order->seq + p, order->seq + p + 1, (order->n - p) * sizeof *order->seq);
}

static void insert_at(struct cv_order *order, size_t p, uint32_t worker)
{
    memmove(order->seq + p + 1, order->seq + p, (order->n - p) * sizeof *order->seq);
    order->seq[p] = worker;
    order->n++;
}

/* The makespan with a chunk for `worker` between seq[0..count-1] and the tail. */
static double time_with(struct cv_order_search *search, uint32_t worker, size_t count,
                        const struct tail *tail)
{
    struct tail more = *tail;

    copy_leads(search);
    put(&search->cost[worker], &search->lead[worker], &more);
    return walk(search, search->now.seq, count, more);
}

static bool exchange_at(struct cv_order_search *search, size_t p, const struct tail *tail)
{
    uint32_t *seq = search->now.seq;
    const size_t lowest = p > REACH ? p - REACH : 0;
    bool changed = false;

    for (size_t q = p; q-- > lowest && !spent(search);) {
        const uint32_t here = seq[p], there = seq[q];

        if (here == there)
            continue;
        seq[p] = there;
        seq[q] = here;
        copy_leads(search);
        if (better(search, walk(search, seq, p + 1, *tail))) {
            changed = true;
        } else {
            seq[p] = here;
            seq[q] = there;
        }
    }
    return changed;
}

/* Try all changes whose last place is p; `tail` and search->base are behind p. */
static enum change change_at(struct cv_order_search *search, size_t p,
                             const struct tail *tail)
{
    struct cv_order *now = &search->now;
    bool changed = false;

    if (now->n > 1) {
        copy_leads(search);
        if (better(search, walk(search, now->seq, p, *tail))) {
            remove_at(now, p);
            return DELETED;
        }
    }
    for (uint32_t w = 0; w < search->nworkers && !spent(search); w++)
        if (w != now->seq[p] && better(search, time_with(search, w, p, tail))) {
            now->seq[p] = w;
            changed = true;
        }
    for (uint32_t w = 0; w < search->nworkers && !spent(search); w++)
        if (now->n < search->max_chunks &&
            better(search, time_with(search, w, p + 1, tail))) {
            insert_at(now, p + 1, w);
            return INSERTED;
        }
    return exchange_at(search, p, tail) || changed ? CHANGED : NO_CHANGE;
}

/* Once from the last place to the first. Returns whether anything was changed. */
static bool sweep(struct cv_order_search *search)
{
    struct cv_order *now = &search->now;
    struct tail tail = nothing;
    size_t p = now->n;
    bool changed = false;

    memset(search->base, 0, search->nworkers * sizeof *search->base);
    while (p > 0 && !spent(search)) {
        const enum change change = change_at(search, p - 1, &tail);

        changed = changed || change != NO_CHANGE;
        if (change == DELETED)
            p--;
        else if (change == INSERTED)
            p++;
        if (change != NO_CHANGE)
            continue;
        p--;
        put(&search->cost[now->seq[p]], &search->base[now->seq[p]], &tail);
    }
    return changed;
}

static void keep_best(struct cv_order_search *search)
{
    if (!(search->now.time_s < search->best.time_s))
        return;
    memcpy(search->best.seq, search->now.seq, search->now.n * sizeof *search->now.seq);
    search->best.n = search->now.n;
    search->best.time_s = search->now.time_s;
}

static size_t random_below(struct cv_random *random, size_t limit)
{
    return (size_t)(cv_random_uniform(random) * (double)limit);
}

/* The best order with a few places changed. */
static void kick(struct cv_order_search *search, struct cv_random *random)
{
    struct cv_order *now = &search->now;
    const size_t kicks = 1 + random_below(random, MOST_KICKS);

    memcpy(now->seq, search->best.seq, search->best.n * sizeof *now->seq);
    now->n = search->best.n;
    for (size_t i = 0; i < kicks; i++) {
        const size_t p = random_below(random, now->n), q = random_below(random, now->n);
        const uint32_t worker = (uint32_t)random_below(random, search->nworkers);
        const uint32_t here = now->seq[p];

        switch (random_below(random, 4)) {
        case 0:
            now->seq[p] = worker;
            break;
        case 1:
            if (now->n > 1)
                remove_at(now, p);
            break;
        case 2:
            if (now->n < search->max_chunks)
                insert_at(now, p, worker);
            break;
        default:
            now->seq[p] = now->seq[q];
            now->seq[q] = here;
            break;
        }
    }
    memset(search->lead, 0, search->nworkers * sizeof *search->lead);
    now->time_s = walk(search, now->seq, now->n, nothing);
    search->steps += 1 + search->nworkers / 8;
}

void cv_order_improve(struct cv_order_search *search)
{
    struct cv_random random;

    cv_random_at(&random, 0, 0, 0, 0);
    while (!spent(search) && sweep(search))
        ;
    keep_best(search);
    if (search->nworkers < 2)
        return;
    while (!spent(search)) {
        kick(search, &random);
        if (!isfinite(search->now.time_s))
            continue;
        while (!spent(search) && sweep(search))
            ;
        keep_best(search);
    }
}

double cv_order_periodic(struct cv_order_search *search, const uint32_t *order,
                         uint32_t n, double limit_s, size_t *out_chunks)
{
    struct tail tail = nothing;
    double best_s = INFINITY, round_s = INFINITY;
    uint32_t place = n;

    memset(search->lead, 0, search->nworkers * sizeof *search->lead);
    for (size_t chunks = 1; chunks <= search->max_chunks; chunks++) {
        const uint32_t worker = order[--place];

        put(&search->cost[worker], &search->lead[worker], &tail);
        search->steps++;
        /* What the chunks so far need only grows with more of them, and so does the time
         * from the first of them to the end. */
        if (!(tail.min * tail.sum.slope + tail.sum.offset <= search->load) ||
            tail.ahead.offset + tail.ahead.slope * tail.min >= fmin(best_s, limit_s))
            break;
        if (chunks >= n) {
            const double time_s = end_of(search, &tail);

            if (time_s < best_s) {
                best_s = time_s;
                *out_chunks = chunks;
            }
        }
        if (place > 0)
            continue;
        place = n;
        if (round_s < INFINITY && round_s - best_s <= least_gain * best_s)
            break;
        round_s = best_s;
    }
    return best_s;
}

void cv_order_begin(struct cv_order_search *search, const uint32_t *order, uint32_t n,
                    size_t chunks, double time_s)
{
    for (size_t i = 0; i < chunks; i++)
        search->now.seq[chunks - 1 - i] = order[n - 1 - i % n];
    search->now.n = chunks;
    search->now.time_s = time_s;
    keep_best(search);
}

bool cv_order_search_init(struct cv_order_search *search,
                          const struct cleave_worker *workers, uint32_t nworkers,
                          double load, size_t max_chunks, uint64_t effort,
                          struct cv_arena *arena)
{
    struct cv_order_cost *cost = cv_array(arena, nworkers, sizeof *cost);

    *search = (struct cv_order_search){
        .cost = cost,
        .nworkers = nworkers,
        .load = load,
        .max_chunks = max_chunks,
        .effort = effort,
        .base = cv_array(arena, nworkers, sizeof *search->base),
        .lead = cv_array(arena, nworkers, sizeof *search->lead),
        .now = { cv_array(arena, max_chunks, sizeof(uint32_t)), 0, INFINITY },
        .best = { cv_array(arena, max_chunks, sizeof(uint32_t)), 0, INFINITY },
    };
    if (cost == NULL || search->base == NULL || search->lead == NULL ||
        search->now.seq == NULL || search->best.seq == NULL)
        return false;
    for (uint32_t i = 0; i < nworkers; i++) {
        const struct cleave_worker *worker = &workers[i];
        const double use = worker->speed_ups / worker->bandwidth_ups;

        cost[i] = (struct cv_order_cost){
            .speed_ups = worker->speed_ups,
            .latency_s = worker->compute_latency_s,
            .growth = 1 + use,
            .use = use,
            .constant_s = worker->latency_s - use * worker->compute_latency_s,
        };
    }
    return true;
}
