/* knapsack_bounds.c -- bounds that see the bins as one, and capacities made tight.
 * SPDX-License-Identifier: MIT
 *
 * Surrogate relaxation: one bin of the total capacity, with items divisible or not.
 * Before that, a capacity may be lowered to the largest sum of weights that does not
 * exceed it. The sums that items can reach are kept as a sorted list of intervals, which
 * is exact while the list is short; when it becomes long, neighbours are joined, and the
 * end of an interval is still an upper bound. */
#include "select/knapsack/knapsack_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INTERVALS ((size_t)1 << 14)

struct interval {
    cv_parallel_decoder from, to; /* both included */
};

struct sums {
    struct interval *now, *then;
    size_t count;
    cv_parallel_decoder max,
        near; /* largest capacity; intervals nearer than this are joined */
};

/* Add an interval behind all others that begin before it. */
static void append(struct sums *sums, size_t *count, struct interval next)
{
    struct interval *last = sums->then + *count;

    if (next.from > sums->max)
        return;
    if (*count > 0 && next.from <= last[-1].to + sums->near) {
        if (next.to > last[-1].to)
            last[-1].to = next.to;
        return;
    }
    *last = next;
    (*count)++;
}

/* Join neighbours, more and more, until half the list is free. */
static void shorten(struct sums *sums)
{
    while (sums->count > MOST_INTERVALS / 2) {
        size_t count = 0;

        sums->near = sums->near < sums->max >> 20 ? sums->max >> 20 : 2 * sums->near;
        for (size_t i = 0; i < sums->count; i++)
            append(sums, &count, sums->now[i]);
        memcpy(sums->now, sums->then, count * sizeof *sums->now);
        sums->count = count;
    }
}

/* The sums with or without one more thing of weight `weight`. */
static void add_weight(struct sums *sums, cv_parallel_decoder weight)
{
    struct interval *swap = sums->now;
    size_t count = 0, i = 0, j = 0;

    /* A sum comes before the same one with the weight, so the latter end the list. */
    while (j < sums->count) {
        const struct interval moved = { sums->now[j].from + weight,
                                        sums->now[j].to + weight };

        if (i < sums->count && sums->now[i].from <= moved.from)
            append(sums, &count, sums->now[i++]);
        else
            append(sums, &count, moved), j++;
    }
    sums->now = sums->then;
    sums->then = swap;
    sums->count = count;
    if (count > MOST_INTERVALS)
        shorten(sums);
}

/* The end of what is reached up to `capacity`. */
static cv_parallel_decoder reached(const struct sums *sums, cv_parallel_decoder capacity)
{
    cv_parallel_decoder best = 0;

    for (size_t i = 0; i < sums->count && sums->now[i].from <= capacity; i++)
        best = sums->now[i].to < capacity ? sums->now[i].to : capacity;
    return best;
}

/* Whether more items cannot make any capacity look better filled. */
static bool all_reached(const struct sums *sums, const struct cv_instance *instance)
{
    for (uint32_t g = 0; g < instance->ngroups; g++)
        if (reached(sums, instance->groups[g].capacity) < instance->groups[g].capacity)
            return false;
    return true;
}

/* All sums of the items of a size: 1, 2, 4, ... of them at a time. */
static void add_size(struct sums *sums, const struct cv_size *size)
{
    uint32_t left = cv_wide_times(sums->max, size->weight, size->count), step = 1;

    while (left > 0) {
        const uint32_t now = step < left ? step : left;

        add_weight(sums, size->weight * now);
        left -= now;
        step *= 2;
    }
}

bool cv_instance_tighten(struct cv_instance *instance, struct cv_work *work)
{
    /* A list of up to MOST_INTERVALS grows to twice that before it is cut. */
    struct interval *room = malloc(2 * (2 * MOST_INTERVALS + 2) * sizeof *room);
    struct sums sums;
    bool done = true;

    if (room == NULL)
        return false;
    sums = (struct sums){ room, room + 2 * MOST_INTERVALS + 2, 1, 0, 1 };
    if (instance->ngroups > 0)
        sums.max = instance->groups[instance->ngroups - 1].capacity;
    room[0] = (struct interval){ 0, 0 };
    for (uint32_t s = 0; s < instance->nsizes && done; s++) {
        add_size(&sums, &instance->sizes[s]);
        done = cv_work_spend(work, 16 * sums.count + 64) &&
               !(sums.count < 1000 + s && all_reached(&sums, instance));
    }
    /* Not all sizes were added: only a capacity that is reached already is known. */
    for (uint32_t g = 0; g < instance->ngroups && done; g++)
        instance->groups[g].capacity = reached(&sums, instance->groups[g].capacity);
    free(room);
    return true;
}

static cv_parallel_decoder total_capacity(const struct cv_instance *instance)
{
    cv_parallel_decoder total = 0;

    for (uint32_t g = 0; g < instance->ngroups; g++)
        total += instance->groups[g].capacity * instance->groups[g].nbins;
    return total;
}

double cv_instance_surrogate_lp(const struct cv_instance *instance)
{
    cv_parallel_decoder left = total_capacity(instance);
    double bound = instance->free_profit;

    for (uint32_t i = 0; i < instance->nsegments; i++) {
        const struct cv_segment *segment = &instance->segments[instance->by_density[i]];
        const cv_parallel_decoder weight = instance->sizes[segment->size].weight;
        const uint32_t fit = cv_wide_times(left, weight, segment->count);

        bound += segment->profit * fit;
        left -= weight * fit;
        if (fit < segment->count)
            return bound +
                   segment->profit * (cv_wide_double(left) / cv_wide_double(weight));
    }
    return bound;
}

double cv_instance_round(const struct cv_instance *instance, double bound)
{
    if (instance->grain > 0)
        return fmin(bound, instance->grain * floor(bound / instance->grain + 1e-6));
    return bound;
}

bool cv_instance_surrogate_kp(const struct cv_instance *instance, struct cv_work *work,
                              uint64_t max, uint32_t *take, double *out_bound,
                              bool *out_exact)
{
    const uint32_t n = instance->nsegments;
    struct cv_single single = { .capacity = total_capacity(instance),
                                .floor = -1,
                                .max = max };
    struct cv_single_workspace *room = cv_single_room_new();
    struct cv_single_result result;
    bool made = false;

    single.items = malloc((n > 0 ? n : 1) * sizeof *single.items);
    single.best = calloc(n > 0 ? n : 1, sizeof *single.best);
    if (room != NULL && single.items != NULL && single.best != NULL) {
        for (uint32_t i = 0; i < n; i++) {
            const struct cv_segment *segment =
                &instance->segments[instance->by_density[i]];

            cv_single_append(&single, instance->sizes[segment->size].weight,
                             segment->profit, segment->count, segment->size);
        }
        single.tolerance = 1e-13 * cv_instance_surrogate_lp(instance);
        made = cv_single_solve(&single, room, work, &result);
    }
    if (made) {
        const double lp = cv_instance_surrogate_lp(instance);

        *out_exact = result.complete;
        *out_bound = instance->free_profit +
                     (result.complete && result.value >= 0 ? result.value : result.upper);
        *out_bound = *out_bound < lp ? *out_bound : lp;
        for (uint32_t s = 0; take != NULL && s < instance->nsizes; s++)
            take[s] = 0;
        for (uint32_t i = 0; take != NULL && i < single.nitems; i++)
            take[single.items[i].tag] += single.best[i];
    }
    free(single.items);
    free(single.best);
    cv_single_room_free(room);
    return made;
}
