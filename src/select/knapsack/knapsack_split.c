/* knapsack_split.c -- a selection made to fit, and bins filled anew.
 * SPDX-License-Identifier: MIT
 *
 * The items which the surrogate knapsack selects are put into bin after bin, each filled
 * as far as a subset of them goes (Pisinger, EJOR 114, 1999, does so for integers); what
 * does not fit is replaced. Then each bin in turn is emptied and filled again, at best
 * profit, from its own items and those in no bin. */
#include "select/knapsack/knapsack_fill.h"

#include <stdlib.h>
#include <string.h>

/* Work for one bin. */
#define FILL_WORK UINT64_C(20000)

static bool single_for(uint32_t n, struct cv_single *single)
{
    *single = (struct cv_single){ .floor = 0 };
    single->items = malloc((n > 0 ? n : 1) * sizeof *single->items);
    single->best = calloc(n > 0 ? n : 1, sizeof *single->best);
    return single->items != NULL && single->best != NULL;
}

static void single_done(struct cv_single *single)
{
    free(single->items);
    free(single->best);
}

/* Fill one bin as far as possible with items of left[size]. */
static bool pack_bin(struct cv_fill *fill, uint32_t bin, uint32_t *left,
                     struct cv_single *single, struct cv_single_workspace *room,
                     struct cv_work *work)
{
    const struct cv_instance *instance = fill->instance;
    const double capacity = cv_wide_double(fill->bins[bin].left);
    struct cv_single_result result;

    single->nitems = 0;
    for (uint32_t s = 0; s < instance->nsizes; s++)
        if (left[s] > 0 && instance->sizes[s].weight <= fill->bins[bin].left)
            single->items[single->nitems++] = (struct cv_single_item){
                instance->sizes[s].weight,
                cv_wide_double(instance->sizes[s].weight) / capacity, left[s], s
            };
    single->capacity = fill->bins[bin].left;
    single->floor = 0;
    single->tolerance = 1e-12;
    single->max = FILL_WORK + 4 * (uint64_t)single->nitems;
    if (!cv_single_solve(single, room, work, &result))
        return false;
    for (uint32_t i = 0; i < single->nitems && result.value > 0; i++) {
        left[single->items[i].tag] -= single->best[i];
        if (!cv_fill_put(fill, bin, single->items[i].tag, single->best[i]))
            return false;
    }
    return true;
}

/* Items that were selected and found no bin: the heaviest first, fullest bins first. */
static bool pack_rest(struct cv_fill *fill, const uint32_t *left, struct cv_work *work)
{
    const struct cv_instance *instance = fill->instance;

    for (uint32_t s = 0; s < instance->nsizes; s++) {
        const cv_parallel_decoder weight = instance->sizes[s].weight;
        uint32_t wanted = left[s];

        for (uint32_t b = 0; b < instance->nbins && wanted > 0; b++) {
            const uint32_t now = cv_wide_times(fill->bins[b].left, weight, wanted);

            if (!cv_fill_put(fill, b, s, now))
                return false;
            wanted -= now;
        }
        (void)cv_work_spend(work, instance->nbins);
    }
    return true;
}

bool cv_fill_split(struct cv_fill *fill, const uint32_t *take,
                   struct cv_single_workspace *room, struct cv_work *work)
{
    const struct cv_instance *instance = fill->instance;
    uint32_t *left = calloc(instance->nsizes > 0 ? instance->nsizes : 1, sizeof *left);
    struct cv_single single;
    bool made = single_for(instance->nsizes, &single) && left != NULL;

    if (made) {
        cv_fill_clear(fill);
        memcpy(left, take, instance->nsizes * sizeof *left);
    }
    for (uint32_t b = 0; made && b < instance->nbins; b++)
        made = pack_bin(fill, b, left, &single, room, work);
    made = made && pack_rest(fill, left, work) && cv_fill_greedy(fill, work);
    single_done(&single);
    free(left);
    if (made)
        cv_fill_count(fill);
    return made;
}

/* --- bins filled anew --------------------------------------------------------------- */

/* What the parts of a bin, which is empty now, add to the profit. */
static double parts_profit(const struct cv_fill *fill, const struct cv_fill_part *parts,
                           size_t nparts)
{
    double profit = 0;

    for (size_t i = 0; i < nparts; i++) {
        const uint32_t s = parts[i].size;

        profit += cv_size_profit(fill->instance, s, fill->used[s] + parts[i].count) -
                  cv_size_profit(fill->instance, s, fill->used[s]);
        /* A size may be there in several parts. */
        fill->used[s] += parts[i].count;
    }
    for (size_t i = 0; i < nparts; i++)
        fill->used[parts[i].size] -= parts[i].count;
    return profit;
}

/* The items that are left and fit into a bin; with `random`, profits are up to a tenth off. */
static void take_left(const struct cv_fill *fill, uint32_t bin, struct cv_random *random,
                      struct cv_single *single)
{
    const struct cv_instance *instance = fill->instance;

    single->capacity = fill->bins[bin].left;
    single->nitems = 0;
    for (uint32_t i = 0; i < instance->nsegments; i++) {
        const struct cv_segment *segment = &instance->segments[instance->by_density[i]];
        const cv_parallel_decoder weight = instance->sizes[segment->size].weight;
        const uint32_t left = cv_segment_left(segment, fill->used[segment->size]);

        if (left > 0 && weight <= single->capacity)
            cv_single_append(single, weight,
                             random == NULL ? segment->profit
                                            : segment->profit *
                                                  (0.9 + 0.2 * cv_random_uniform(random)),
                             left, segment->size);
    }
}

/* Empty a bin and fill it as well as possible; *gained tells whether that was better. */
static bool refill_bin(struct cv_fill *fill, uint32_t bin, struct cv_single *single,
                       struct cv_single_workspace *room, struct cv_work *work,
                       double *gained)
{
    const struct cv_instance *instance = fill->instance;
    const size_t nparts = fill->bins[bin].nparts;
    struct cv_fill_part *old = malloc((nparts > 0 ? nparts : 1) * sizeof *old);
    struct cv_single_result result = { .value = -1 };
    bool made = true;

    if (old == NULL)
        return false;
    if (nparts > 0)
        memcpy(old, fill->bins[bin].parts, nparts * sizeof *old);
    cv_fill_empty_bin(fill, bin);
    single->floor = parts_profit(fill, old, nparts);
    single->tolerance = 1e-12 * fill->profit;
    take_left(fill, bin, NULL, single);
    single->max = FILL_WORK + 4 * (uint64_t)single->nitems;
    (void)cv_work_spend(work, instance->nsegments);
    made = cv_single_solve(single, room, work, &result);
    if (made && result.value > single->floor + single->tolerance) {
        *gained += result.value - single->floor;
        for (uint32_t i = 0; made && i < single->nitems; i++)
            made = cv_fill_put(fill, bin, single->items[i].tag, single->best[i]);
    } else {
        for (size_t i = 0; made && i < nparts; i++)
            made = cv_fill_put(fill, bin, old[i].size, old[i].count);
    }
    free(old);
    return made;
}

static bool noisy_items(const struct cv_fill *fill, uint32_t bin,
                        struct cv_random *random, struct cv_single *single)
{
    take_left(fill, bin, random, single);
    return cv_single_sort(single->items, single->nitems);
}

bool cv_fill_noisily(struct cv_fill *fill, struct cv_random *random,
                     struct cv_single_workspace *room, struct cv_work *work)
{
    struct cv_single single;
    bool made = single_for(fill->instance->nsegments, &single);

    for (uint32_t b = 0; made && b < fill->instance->nbins; b++) {
        struct cv_single_result result;

        if (fill->bins[b].nparts > 0)
            continue;
        made = noisy_items(fill, b, random, &single);
        single.floor = 0;
        single.tolerance = 1e-12;
        single.max = FILL_WORK / 4;
        (void)cv_work_spend(work, fill->instance->nsegments);
        made = made && cv_single_solve(&single, room, work, &result);
        for (uint32_t i = 0; made && result.value > 0 && i < single.nitems; i++)
            made = cv_fill_put(fill, b, single.items[i].tag, single.best[i]);
    }
    single_done(&single);
    return made;
}

bool cv_fill_improve(struct cv_fill *fill, const bool *only,
                     struct cv_single_workspace *room, struct cv_work *work)
{
    struct cv_single single;
    bool made = single_for(fill->instance->nsegments, &single);
    double gained = 1;

    cv_fill_count(fill);
    while (made && gained > 0 && work->left > 0) {
        gained = 0;
        for (uint32_t b = 0; made && b < fill->instance->nbins; b++)
            made = (only != NULL && !only[b]) ||
                   refill_bin(fill, b, &single, room, work, &gained);
        cv_fill_count(fill);
    }
    single_done(&single);
    return made;
}
