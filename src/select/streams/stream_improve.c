/* stream_improve.c -- add and exchange workers of clusters that fit.
 * SPDX-License-Identifier: MIT */
#include "select/streams/stream_improve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"

/* Workers that are remembered to spare tests of others like them. */
enum { REMEMBERED = 16 };

/* A throughput this near to the bound is the bound. */
static const double rounding = 1e-12;

struct density {
    double value;
    uint32_t worker;
};

CV_ORDER_DOWN_BY(by_density, struct density, value, worker)

bool cv_sort_by_density(uint32_t *workers, uint32_t n, const double *value,
                        const double *price)
{
    struct density *list = malloc((n > 0 ? n : 1) * sizeof *list);

    if (list == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = workers[i];

        list[i] = (struct density){ value[w] / (price != NULL ? price[w] : 1), w };
    }
    qsort(list, n, sizeof *list, by_density);
    for (uint32_t i = 0; i < n; i++)
        workers[i] = list[i].worker;
    free(list);
    return true;
}

struct refused {
    struct cv_stream_times times[REMEMBERED];
    unsigned n, next;
};

/* Whoever takes at least as long as one that fitted nowhere fits nowhere either. */
static bool is_hopeless(const struct refused *refused, const struct cv_stream_times *own)
{
    for (unsigned i = 0; i < refused->n; i++) {
        const struct cv_stream_times *other = &refused->times[i];

        if (cv_send_time(own) >= cv_send_time(other) &&
            own->return_first_s >= other->return_first_s &&
            own->return_second_s >= other->return_second_s)
            return true;
    }
    return false;
}

static void refuse(struct refused *refused, const struct cv_stream_times *own)
{
    refused->times[refused->next] = *own;
    refused->next = (refused->next + 1) % REMEMBERED;
    if (refused->n < REMEMBERED)
        refused->n++;
}

void cv_set_fill(struct cv_stream_field *field, struct cv_stream_set *set,
                 const uint32_t *workers, uint32_t n, bool *taken)
{
    const bool alike = field->least_margin == field->greatest_margin;
    struct refused refused = { .n = 0 };

    for (uint32_t i = 0; i < n && field->work > 0 && !field->no_memory; i++) {
        const uint32_t w = workers[i];

        if (taken[w] || (alike && is_hopeless(&refused, &field->times[w])))
            continue;
        for (uint32_t m = 0; m < set->n && !taken[w] && field->work > 0; m++) {
            field->work--;
            taken[w] = cv_cluster_try_add(field, &set->clusters[m], w);
        }
        if (!taken[w])
            refuse(&refused, &field->times[w]);
    }
}

/* --- exchanges ------------------------------------------------------------------ */

struct improving {
    struct cv_stream_field *field;
    struct cv_stream_set *set;
    bool *taken;
};

/* Put a worker in the place of the member that gives least of those for which it fits. */
static bool exchange_in(struct improving *s, struct cv_stream_cluster *cluster,
                        uint32_t worker)
{
    const double *profit = s->field->profit;
    double above = -INFINITY;

    while (s->field->work > cluster->n) {
        uint32_t next = UINT32_MAX, out;

        /* The next dearer member, without a list that has to be kept sorted. */
        for (uint32_t i = 0; i < cluster->n; i++) {
            const double own = profit[cluster->members[i]];

            if (own > above && own < profit[worker] &&
                (next == UINT32_MAX || own < profit[cluster->members[next]]))
                next = i;
        }
        s->field->work -= cluster->n;
        if (next == UINT32_MAX)
            return false;
        out = cluster->members[next];
        if (cv_cluster_try_replace(s->field, cluster, next, worker)) {
            s->taken[worker] = true;
            s->taken[out] = false;
            return true;
        }
        above = profit[out];
    }
    return false;
}

static bool same_times(const struct cv_stream_times *a, const struct cv_stream_times *b)
{
    return cv_send_time(a) == cv_send_time(b) && a->return_first_s == b->return_first_s &&
           a->return_second_s == b->return_second_s;
}

static bool is_remembered(const struct refused *seen, const struct cv_stream_times *own)
{
    for (unsigned i = 0; i < seen->n; i++)
        if (same_times(&seen->times[i], own))
            return true;
    return false;
}

/* Put a worker in the place of a member that fits elsewhere. */
static bool move_on(struct improving *s, uint32_t from, uint32_t worker)
{
    struct cv_stream_cluster *cluster = &s->set->clusters[from];
    struct refused seen = { .n = 0 };

    for (uint32_t at = 0; at < cluster->n && s->field->work > cluster->n; at++) {
        const uint32_t out = cluster->members[at];

        if (same_times(&s->field->times[out], &s->field->times[worker]) ||
            is_remembered(&seen, &s->field->times[out]))
            continue;
        refuse(&seen, &s->field->times[out]);
        s->field->work -= cluster->n;
        if (!cv_cluster_try_replace(s->field, cluster, at, worker))
            continue;
        for (uint32_t to = 0; to < s->set->n; to++)
            if (to != from && cv_cluster_try_add(s->field, &s->set->clusters[to], out)) {
                s->taken[worker] = true;
                return true;
            }
        cv_cluster_put(s->field, cluster, at, out);
    }
    return false;
}

/* One worker after the other into any cluster by one kind of step. */
static bool sweep(struct improving *s, const uint32_t *workers, uint32_t n, bool moving)
{
    struct refused refused = { .n = 0 };
    bool any = false;

    for (uint32_t i = 0; i < n && s->field->work > 0 && !s->field->no_memory; i++) {
        const uint32_t w = workers[i];

        if (s->taken[w] || (moving && is_remembered(&refused, &s->field->times[w])))
            continue;
        for (uint32_t m = 0; m < s->set->n && !s->taken[w]; m++)
            any = (moving ? move_on(s, m, w) : exchange_in(s, &s->set->clusters[m], w)) ||
                  any;
        if (!s->taken[w])
            refuse(&refused, &s->field->times[w]);
    }
    return any;
}

bool cv_set_improve(struct cv_stream_field *field, struct cv_stream_set *set,
                    const uint32_t *dense, uint32_t n, double bound, bool *taken)
{
    struct improving s = { field, set, taken };
    uint32_t *dear = malloc((n > 0 ? n : 1) * sizeof *dear);
    bool again = true;

    if (dear == NULL)
        return false;
    if (n > 0)
        memcpy(dear, dense, n * sizeof *dear);
    if (!cv_sort_by_density(dear, n, field->profit, NULL))
        field->no_memory = true;
    while (again && field->work > 0 && !field->no_memory &&
           cv_set_throughput(field, set) < bound * (1 - rounding)) {
        again = sweep(&s, dear, n, false);
        cv_set_fill(field, set, dense, n, taken);
        again = sweep(&s, dense, n, true) || again;
    }
    free(dear);
    return !field->no_memory;
}
