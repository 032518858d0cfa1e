/* item_bounds.c -- lower bounds for schedules of indivisible items.
 * SPDX-License-Identifier: MIT
 *
 * O(n log n) for n items, and for the linear program some hundred times the square of the
 * kinds of workers. */
#include "model/bounds/item_bounds.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/compare.h"

struct cv_worker_class {
    double start_s, pace_s;     /* busy time per item and per unit */
    double link_s, link_pace_s; /* costs of sending */
    double count;               /* workers                                             */
    double max;                 /* units of its largest item */
};

struct cv_item_prices {
    const struct cv_worker_class *classes;
    uint32_t nclasses;
    bool port;           /* sends share a port: one more row */
    const double *sizes; /* ascending                                                  */
    const double *sums;  /* sums[k] of the k smallest                                  */
    uint64_t nitems;
};

/* --- the linear program of items that are divided between workers ------------------ */

/* Rows are classes of workers and maybe the port; a column is an assignment, with its
 * time in each row. Most assignments per unit of time: sum q with L q <= 1. Its prices p
 * are the wanted ones up to their sum: the value is 1 / sum p. */

enum { STEPS = 400 };

static const double CLOSE = 1e-3;  /* near enough to the best                        */
static const double NOISE = 1e-12; /* smaller pivots are rounding errors */

/* The cost of an item at the prices of a class, as a function of its size. */
struct line {
    double start, slope;
    uint32_t of; /* class */
};

struct work {
    const struct cv_item_prices *in;
    uint32_t rows;
    double *inverse;        /* rows x rows: inverse of the basis */
    double *value, *gain;   /* by row: value and gain of its basic column */
    double *price;          /* by row                                                 */
    double *column, *moved; /* loads of an assignment; the same in terms of the basis */
    struct line *lines;     /* allowed lines; their lower envelope */
    struct line *lowest;
    double *ends; /* largest items of classes, ascending */
};

static uint64_t count_up_to(const struct cv_item_prices *in, double size)
{
    uint64_t count;

    CV_BISECT(count, in->nitems, i, in->sizes[i] <= size);
    return count;
}

/* Items [begin, end) go to class c: time of its workers and of the port. Returns their
 * cost at the prices y. */
static double charge(struct work *work, uint32_t c, uint64_t begin, uint64_t end,
                     const double *y)
{
    const struct cv_worker_class *class = &work->in->classes[c];
    const double count = (double)(end - begin);
    const double units = work->in->sums[end] - work->in->sums[begin];
    const double each_s = (count * class->start_s + units * class->pace_s) / class->count;
    const double port_s = count * class->link_s + units * class->link_pace_s;

    work->column[c] += each_s;
    if (!work->in->port)
        return y[c] * each_s;
    work->column[work->rows - 1] += port_s;
    return y[c] * each_s + y[work->rows - 1] * port_s;
}

/* The lower envelope of lines sorted by falling slope: each is the lowest from where it
 * meets the one before. Returns their number. */
static uint32_t envelope(const struct line *lines, uint32_t n, struct line *out)
{
    uint32_t m = 0;

    for (uint32_t i = 0; i < n; i++) {
        while (m > 0) {
            const struct line *a = &out[m - 1], *b = &lines[i];
            const bool never = b->start <= a->start; /* and no steeper */
            const bool hidden =
                m > 1 &&
                (b->start - out[m - 2].start) * (out[m - 2].slope - a->slope) <=
                    (a->start - out[m - 2].start) * (out[m - 2].slope - b->slope);

            if (!never && !hidden)
                break;
            m--;
        }
        if (m > 0 && lines[i].slope >= out[m - 1].slope)
            continue; /* parallel to a lower one */
        out[m++] = lines[i];
    }
    return m;
}

/* Lines of the classes that can do an item of more than `above` units, steepest first. */
static uint32_t gather(struct work *work, double above, const double *y)
{
    const struct cv_item_prices *in = work->in;
    const double port = in->port ? y[work->rows - 1] : 0;
    uint32_t n = 0;

    for (uint32_t c = 0; c < in->nclasses; c++) {
        const struct cv_worker_class *class = &in->classes[c];
        const double price = y[c] / class->count;
        const struct line line = { price * class->start_s + port * class->link_s,
                                   price * class->pace_s + port * class->link_pace_s, c };
        uint32_t at = n;

        if (!(class->max > above))
            continue;
        for (; at > 0 && (work->lines[at - 1].slope < line.slope ||
                          (work->lines[at - 1].slope == line.slope &&
                           work->lines[at - 1].start > line.start));
             at--)
            work->lines[at] = work->lines[at - 1];
        work->lines[at] = line;
        n++;
    }
    return n;
}

/* Items [begin, end), which the same classes can do, each where it costs least. */
static double answer_part(struct work *work, uint64_t begin, uint64_t end, uint32_t n,
                          const double *y)
{
    const uint32_t m = envelope(work->lines, n, work->lowest);
    double cost = 0;

    for (uint32_t k = 0; k < m && begin < end; k++) {
        const struct line *line = &work->lowest[k];
        uint64_t next = end;

        if (k + 1 < m) {
            const struct line *after = &work->lowest[k + 1];
            const double meet =
                (after->start - line->start) / (line->slope - after->slope);

            next = count_up_to(work->in, meet);
            next = next < begin ? begin : next > end ? end : next;
        }
        cost += charge(work, line->of, begin, next, y);
        begin = next;
    }
    return cost;
}

/* The cheapest assignment at prices y, its loads in `column`. Returns the cost; INFINITY
 * if an item fits no class. */
static double answer(struct work *work, const double *y)
{
    const struct cv_item_prices *in = work->in;
    uint64_t begin = 0;
    double cost = 0, above = -1;

    memset(work->column, 0, work->rows * sizeof *work->column);
    for (uint32_t k = 0; k < in->nclasses && begin < in->nitems; k++) {
        const uint64_t end = count_up_to(in, work->ends[k]);

        if (end > begin) {
            cost += answer_part(work, begin, end, gather(work, above, y), y);
            begin = end;
        }
        above = work->ends[k];
    }
    return begin < in->nitems ? INFINITY : cost;
}

static void find_prices(struct work *work)
{
    for (uint32_t j = 0; j < work->rows; j++) {
        work->price[j] = 0;
        for (uint32_t i = 0; i < work->rows; i++)
            work->price[j] += work->gain[i] * work->inverse[i * work->rows + j];
    }
}

/* Bring `column`, whose gain is given, into the basis. False: it cannot enter. */
static bool enter(struct work *work, double gain)
{
    const uint32_t n = work->rows;
    uint32_t out = n;
    double pivot;

    for (uint32_t i = 0; i < n; i++) {
        work->moved[i] = 0;
        for (uint32_t j = 0; j < n; j++)
            work->moved[i] += work->inverse[i * n + j] * work->column[j];
        if (work->moved[i] > NOISE && (out == n || work->value[i] * work->moved[out] <
                                                       work->value[out] * work->moved[i]))
            out = i;
    }
    if (out == n)
        return false;
    pivot = work->moved[out];
    work->value[out] /= pivot;
    work->gain[out] = gain;
    for (uint32_t j = 0; j < n; j++)
        work->inverse[out * n + j] /= pivot;
    for (uint32_t i = 0; i < n; i++) {
        if (i == out)
            continue;
        work->value[i] = fmax(0, work->value[i] - work->moved[i] * work->value[out]);
        for (uint32_t j = 0; j < n; j++)
            work->inverse[i * n + j] -= work->moved[i] * work->inverse[out * n + j];
    }
    return true;
}

/* A row with a negative price has spare time: its slack enters. */
static bool enter_slack(struct work *work)
{
    uint32_t worst = 0;

    for (uint32_t j = 1; j < work->rows; j++)
        if (work->price[j] < work->price[worst])
            worst = j;
    if (!(work->price[worst] < -NOISE))
        return false;
    memset(work->column, 0, work->rows * sizeof *work->column);
    work->column[worst] = 1;
    return enter(work, 0);
}

/* Prices by speed: exact if starts cost nothing. */
static void first_prices(const struct work *work, double *y)
{
    double sum = 0;

    for (uint32_t c = 0; c < work->in->nclasses; c++) {
        const struct cv_worker_class *class = &work->in->classes[c];

        y[c] = class->count / fmax(class->pace_s, 1e-300);
        sum += y[c];
    }
    for (uint32_t j = 0; j < work->rows; j++)
        y[j] = j < work->in->nclasses ? y[j] / sum : 0;
}

static double search(struct work *work, double enough_s, double *y)
{
    double best = 0, scale = 0;

    first_prices(work, y);
    for (int step = 0; step < STEPS; step++) {
        const double bound = answer(work, y);
        double sum = 0;

        best = fmax(best, bound);
        if (step == 0)
            scale = bound; /* so that loads are about 1 */
        if (best >= enough_s || !(scale > 0))
            break;
        for (uint32_t j = 0; j < work->rows; j++)
            work->column[j] /= scale;
        if (!enter(work, 1))
            break;
        find_prices(work);
        for (uint32_t k = 0; k < work->rows && enter_slack(work); k++)
            find_prices(work);
        for (uint32_t j = 0; j < work->rows; j++)
            sum += work->price[j] = fmax(0, work->price[j]);
        /* No prices can give more than 1 / sum. */
        if (!(sum > 0) || best * sum >= scale * (1 - CLOSE))
            break;
        for (uint32_t j = 0; j < work->rows; j++)
            y[j] = work->price[j] / sum;
    }
    return best;
}

/* A bound on T, at least `enough_s` if that can be shown, else within a thousandth of the
 * best. INFINITY if an item fits no class, negative when memory is short. */
static double item_prices_bound(const struct cv_item_prices *prices, double enough_s,
                                struct cv_arena *scratch)
{
    const uint32_t n = prices->nclasses + prices->port;
    struct work work = { .in = prices, .rows = n };
    double *y = cv_array(scratch, n, sizeof *y);

    if (y == NULL || !CV_NEW(scratch, work.inverse, (size_t)n * n) ||
        !CV_NEW(scratch, work.value, n) || !CV_NEW(scratch, work.gain, n) ||
        !CV_NEW(scratch, work.price, n) || !CV_NEW(scratch, work.column, n) ||
        !CV_NEW(scratch, work.moved, n) || !CV_NEW(scratch, work.lines, n) ||
        !CV_NEW(scratch, work.lowest, n) || !CV_NEW(scratch, work.ends, n))
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        work.inverse[i * n + i] = 1;
        work.value[i] = 1;
    }
    for (uint32_t c = 0; c < prices->nclasses; c++)
        work.ends[c] = prices->classes[c].max;
    qsort(work.ends, prices->nclasses, sizeof *work.ends, cv_compare_doubles);
    return search(&work, enough_s, y);
}

/* Most kinds of workers for the linear program. */
enum { MOST_CLASSES = 256 };
/* Precision of the time within which a class must be able to do an item. */
static const double BOUNDS_CLOSE = 1e-4;
enum { HALVINGS = 12 };

struct known {
    const struct cv_item_query *query;
    double *sizes, *sums; /* sizes: ascending; sums: of the k smallest sizes */
    double *speeds;       /* descending                                               */
    struct cv_worker_class *classes, *rows;
    uint32_t nclasses;
    double offset_s; /* the earliest start */
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

/* Classes of equal workers; none if there are too many kinds. */
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

static bool bounds_gather(struct known *known, struct cv_arena *scratch)
{
    const struct cv_item_query *query = known->query;
    const size_t n = (size_t)query->nitems;

    if (!CV_NEW(scratch, known->sizes, n) || !CV_NEW(scratch, known->sums, n + 1) ||
        !CV_NEW(scratch, known->speeds, query->nworkers) ||
        !CV_NEW(scratch, known->classes, MOST_CLASSES) ||
        !CV_NEW(scratch, known->rows, MOST_CLASSES))
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

/* If items could be interrupted: the k largest, which k workers do one at a time. A start
 * is worth at least the units that its worker would do meanwhile. */
static double preemptive(const struct known *known)
{
    const struct cv_item_query *query = known->query;
    const uint64_t n = query->nitems;
    double start_units = INFINITY, speed_ups = 0, bound_s = 0;

    for (uint32_t w = 0; w < query->nworkers; w++)
        start_units = fmin(start_units, query->workers[w].compute_latency_s *
                                            query->workers[w].speed_ups);
    for (uint32_t k = 1; k <= query->nworkers; k++) {
        /* The last speed: all items. */
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

/* Time of an item on the quickest worker, from the first unit sent. */
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

/* Time of sending an item over the link where it takes least. */
static double least_link(const struct cv_item_query *query, double units)
{
    double least_s = INFINITY;

    for (uint32_t w = 0; w < query->nworkers; w++)
        least_s = fmin(least_s, query->workers[w].latency_s +
                                    units / query->workers[w].bandwidth_ups);
    return least_s;
}

/* One worker: its link and then its processor, in the order of Johnson's rule. */
static double one_worker(const struct known *known)
{
    const struct cleave_worker *worker = &known->query->workers[0];
    const uint64_t n = known->query->nitems;
    const bool sends_fast = worker->latency_s <= worker->compute_latency_s &&
                            1 / worker->bandwidth_ups <= 1 / worker->speed_ups;
    const bool sends_slowly = worker->latency_s >= worker->compute_latency_s &&
                              1 / worker->bandwidth_ups >= 1 / worker->speed_ups;
    double arrival_s = 0, end_s = 0;

    if (!sends_fast && !sends_slowly)
        return 0;
    for (uint64_t k = 0; k < n; k++) {
        const double units = known->sizes[sends_fast ? k : n - 1 - k];

        arrival_s += worker->latency_s + units / worker->bandwidth_ups;
        end_s = fmax(end_s, arrival_s) + worker->compute_latency_s +
                units / worker->speed_ups;
    }
    return end_s;
}

/* Every item passes the port, each to the worker whose link takes least, and then the last
 * one is computed. One worker's own link is a port. */
static double port(const struct known *known)
{
    const struct cv_item_query *query = known->query;
    double sent_s = 0;

    if (query->nworkers == 1)
        return one_worker(known);
    if (query->port == CLEAVE_PORT_MULTI)
        return 0;
    for (uint64_t k = 0; k < query->nitems; k++)
        sent_s += least_link(query, known->sizes[k]);
    return sent_s + quickest(query, known->sizes[0], false);
}

/* The largest item that a worker of the class can do within the time. */
static double most_within(const struct cv_worker_class *class, double time_s)
{
    return (time_s - class->link_s - class->start_s) /
           (class->pace_s + class->link_pace_s) * (1 + 1e-12);
}

/* A worker's own link is busy as well, and may limit it. */
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

/* Whether all items cannot be done within the time; negative when memory is short. */
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
    /* Workers are idle before the first item arrives, port and links after the last. */
    if (links)
        idle_s = fmin(idle_s, quickest(known->query, known->sizes[0], false));
    bound_s = item_prices_bound(&prices, enough_s - idle_s, scratch);
    return bound_s < 0 ? bound_s : idle_s + bound_s;
}

/* From a bound: no schedule is shorter than a time within which the items cannot even be
 * divided between the workers that could do each as a whole in time. */
static double assignment(const struct known *known, double bound_s,
                         struct cv_arena *scratch)
{
    double low_s, high_s, step = BOUNDS_CLOSE;

    low_s = divided(known, INFINITY, INFINITY, scratch);
    if (low_s < 0)
        return low_s;
    low_s = fmax(low_s, bound_s);
    high_s = INFINITY;
    for (int i = 0; i < HALVINGS + 24 && high_s > low_s * (1 + BOUNDS_CLOSE); i++) {
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

    if (!bounds_gather(&known, scratch))
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
