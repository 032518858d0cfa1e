/* item_bounds.c -- what no schedule of indivisible items can beat.
 * SPDX-License-Identifier: MIT
 *
 * O(n log n) for n items, and for the linear program some hundred times the square of the
 * kinds of workers. */
#include "model/bounds/item_bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "model/bounds/item_prices.h"

/* More kinds of workers than this, and the linear program is left out. */
enum { MOST_CLASSES = 256 };
/* The time within which somebody must be able to do an item is found to this much. */
static const double CLOSE = 1e-4;
enum { HALVINGS = 12 };

struct known {
    const struct cv_item_query *query;
    double *sizes, *sums; /* ascending; of the k smallest                             */
    double *speeds;       /* descending                                               */
    struct cv_worker_class *classes, *rows;
    uint32_t nclasses;
    double offset_s; /* nobody begins earlier                                    */
};

static struct cv_worker_class class_of(const struct cleave_worker *worker)
{
    return (struct cv_worker_class){ .start_s = worker->compute_latency_s,
                                     .pace_s = 1 / worker->speed_ups,
                                     .link_s = worker->latency_s,
                                     .link_pace_s = 1 / worker->bandwidth_ups,
                                     .count = 1,
                                     .max = INFINITY };
}

/* Workers that are alike, together; none if there are too many kinds. */
static void find_classes(struct known *known)
{
    for (uint32_t w = 0; w < known->query->nworkers; w++) {
        const struct cv_worker_class class = class_of(&known->query->workers[w]);
        uint32_t c = 0;

        while (c < known->nclasses &&
               (known->classes[c].start_s != class.start_s ||
                known->classes[c].pace_s != class.pace_s ||
                known->classes[c].link_s != class.link_s ||
                known->classes[c].link_pace_s != class.link_pace_s))
            c++;
        if (c == MOST_CLASSES) {
            known->nclasses = 0;
            return;
        }
        if (c == known->nclasses)
            known->classes[known->nclasses++] = class;
        else
            known->classes[c].count++;
    }
}

static bool gather(struct known *known, struct cv_arena *scratch)
{
    const struct cv_item_query *query = known->query;
    const size_t n = (size_t)query->nitems;

    known->sizes = cv_array(scratch, n, sizeof *known->sizes);
    known->sums = cv_array(scratch, n + 1, sizeof *known->sums);
    known->speeds = cv_array(scratch, query->nworkers, sizeof *known->speeds);
    known->classes = cv_array(scratch, MOST_CLASSES, sizeof *known->classes);
    known->rows = cv_array(scratch, MOST_CLASSES, sizeof *known->rows);
    if (known->sizes == NULL || known->sums == NULL || known->speeds == NULL ||
        known->classes == NULL || known->rows == NULL)
        return false;
    memcpy(known->sizes, query->sizes, n * sizeof *known->sizes);
    qsort(known->sizes, n, sizeof *known->sizes, cv_compare_doubles);
    for (size_t k = 0; k < n; k++)
        known->sums[k + 1] = known->sums[k] + known->sizes[k];
    for (uint32_t w = 0; w < query->nworkers; w++)
        known->speeds[w] = query->workers[w].speed_ups;
    qsort(known->speeds, query->nworkers, sizeof *known->speeds, cv_compare_doubles);
    known->offset_s = INFINITY;
    for (uint32_t w = 0; w < query->nworkers; w++) {
        const struct cv_worker_class class = class_of(&query->workers[w]);

        known->offset_s =
            fmin(known->offset_s, class.link_s + known->sizes[0] * class.link_pace_s);
    }
    find_classes(known);
    return true;
}

/* If items could be interrupted: the k largest, of which k workers do no more than one each
 * at a time. A start is worth at least the units that its worker would do meanwhile. */
static double preemptive(const struct known *known)
{
    const struct cv_item_query *query = known->query;
    const uint64_t n = query->nitems;
    double start_units = INFINITY, speed_ups = 0, bound_s = 0;

    for (uint32_t w = 0; w < query->nworkers; w++)
        start_units = fmin(start_units, query->workers[w].compute_latency_s *
                                            query->workers[w].speed_ups);
    for (uint32_t k = 1; k <= query->nworkers; k++) {
        /* Of the last speed on: all items. */
        const uint64_t items = k < query->nworkers && k < n ? k : n;

        speed_ups += known->speeds[query->nworkers - k];
        bound_s = fmax(bound_s, (known->sums[n] - known->sums[n - items] +
                                 (double)items * start_units) /
                                    speed_ups);
        if (items == n)
            break;
    }
    return known->offset_s + bound_s;
}

/* What an item of so many units takes the quickest worker, from the first unit sent. */
static double quickest(const struct cv_item_query *query, double units, bool sent)
{
    double least_s = INFINITY;

    for (uint32_t w = 0; w < query->nworkers; w++) {
        const struct cv_worker_class class = class_of(&query->workers[w]);
        double time_s = class.start_s + units * class.pace_s;

        if (sent)
            time_s += class.link_s + units * class.link_pace_s;
        least_s = fmin(least_s, time_s);
    }
    return least_s;
}

/* Every item passes the port, and the last one is computed after that. */
static double port(const struct known *known)
{
    const struct cv_item_query *query = known->query;
    double link_s = INFINITY, pace_s = INFINITY;

    if (query->port == CLEAVE_PORT_MULTI)
        return 0;
    for (uint32_t w = 0; w < query->nworkers; w++) {
        link_s = fmin(link_s, query->workers[w].latency_s);
        pace_s = fmin(pace_s, 1 / query->workers[w].bandwidth_ups);
    }
    return (double)query->nitems * link_s + known->sums[query->nitems] * pace_s +
           quickest(query, known->sizes[0], false);
}

/* The largest item that a worker of the class can do within the time. */
static double most_within(const struct cv_worker_class *class, double time_s)
{
    return (time_s - class->link_s - class->start_s) /
           (class->pace_s + class->link_pace_s) * (1 + 1e-12);
}

/* A link of its own is busy as well, and may be what a worker waits for. */
static struct cv_worker_class narrowest(const struct known *known,
                                        const struct cv_worker_class *class)
{
    const double n = (double)known->query->nitems;
    const double units = known->sums[known->query->nitems];
    struct cv_worker_class out = *class;

    if (known->query->port == CLEAVE_PORT_MULTI &&
        n * class->link_s + units * class->link_pace_s >
            n * class->start_s + units * class->pace_s) {
        out.start_s = class->link_s;
        out.pace_s = class->link_pace_s;
    }
    return out;
}

/* Is it shown that all cannot be done within the time? Below 0: memory is short. */
static double divided(const struct known *known, double within_s, double enough_s,
                      struct cv_arena *scratch)
{
    const struct cv_item_prices prices = { .classes = known->rows,
                                           .nclasses = known->nclasses,
                                           .port =
                                               known->query->port != CLEAVE_PORT_MULTI,
                                           .sizes = known->sizes,
                                           .sums = known->sums,
                                           .nitems = known->query->nitems };
    double bound_s, idle_s = known->offset_s;
    bool links = prices.port;

    for (uint32_t c = 0; c < known->nclasses; c++) {
        const struct cv_worker_class *class = &known->classes[c];

        known->rows[c] = narrowest(known, class);
        known->rows[c].max = isfinite(within_s) ? most_within(class, within_s) : INFINITY;
        links = links || known->rows[c].pace_s != class->pace_s ||
                known->rows[c].start_s != class->start_s;
    }
    /* Workers are idle before the first item has come, port and links after the last. */
    if (links)
        idle_s = fmin(idle_s, quickest(known->query, known->sizes[0], false));
    bound_s = cv_item_prices_bound(&prices, enough_s - idle_s, scratch);
    return bound_s < 0 ? bound_s : idle_s + bound_s;
}

/* From a bound on: no schedule is shorter than a time within which the items cannot even be
 * divided between those who could do the whole of them in time. */
static double assignment(const struct known *known, double bound_s,
                         struct cv_arena *scratch)
{
    double low_s, high_s, step = CLOSE;

    low_s = divided(known, INFINITY, INFINITY, scratch);
    if (low_s < 0)
        return low_s;
    low_s = fmax(low_s, bound_s);
    high_s = INFINITY;
    for (int i = 0; i < HALVINGS + 24 && high_s > low_s * (1 + CLOSE); i++) {
        const double try_s =
            isinf(high_s) ? low_s * (1 + step) : low_s + (high_s - low_s) / 2;
        const double shown_s = divided(known, try_s, try_s, scratch);

        if (shown_s < 0)
            return shown_s;
        if (shown_s < try_s)
            high_s = try_s;
        else
            low_s = try_s;
        step *= 2;
    }
    return low_s;
}

static void put(struct cleave_bound *out, size_t *count, const char *name, double value_s,
                size_t *tightest)
{
    if (!(value_s > 0))
        return;
    out[*count] = (struct cleave_bound){ name, value_s };
    if (*count == 0 || value_s > out[*tightest].value_s)
        *tightest = *count;
    (*count)++;
}

size_t cv_item_bounds(const struct cv_item_query *query, struct cv_arena *scratch,
                      struct cleave_bound out[CV_MAX_ITEM_BOUNDS], size_t *out_tightest)
{
    struct known known = { .query = query };
    double longest_s, assigned_s;
    size_t count = 1;

    if (!gather(&known, scratch))
        return 0;
    *out_tightest = 0;
    out[0] = (struct cleave_bound){ "preemptive", preemptive(&known) };
    longest_s = quickest(query, known.sizes[query->nitems - 1], true);
    put(out, &count, "longest", longest_s, out_tightest);
    put(out, &count, "port", port(&known), out_tightest);
    if (known.nclasses == 0)
        return count;
    assigned_s = assignment(&known, out[*out_tightest].value_s, scratch);
    if (assigned_s < 0)
        return 0;
    put(out, &count, "assignment", assigned_s, out_tightest);
    return count;
}
