/* knapsack_pairs.c -- two bins packed anew to find room for a better item.
 * SPDX-License-Identifier: MIT
 *
 * An item in no bin may be heavier than what is left in any bin, but not than what is left
 * in two of them together; or it may be worth more than an item in one of them. Whether
 * the items of both then fit is a subset sum: some of them must fill the first bin so far
 * that the others fit into the second. */
#include "select/knapsack/knapsack_fill.h"

#include <stdlib.h>
#include <string.h>

/* Items looked at for a pair of bins, and work for one subset sum. */
enum { CANDIDATES = 6, PAIR_WORK = 2000 };

struct pair {
    struct cv_fill *fill;
    struct cv_single_workspace *room;
    struct cv_work *work;
    struct cv_single single;
    uint32_t one, two;                      /* bins                                   */
    cv_parallel_decoder full_one, full_two; /* their capacities                       */
    cv_parallel_decoder weight;             /* of all their items                     */
    uint32_t *count;                        /* per size: items in both together       */
    uint32_t *sizes, nsizes;                /* those with any, the heaviest first     */
};

static int ascending_size(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Add the items of a bin; returns their weight. */
static cv_parallel_decoder collect(struct pair *pair, const struct cv_fill_bin *bin)
{
    cv_parallel_decoder weight = 0;

    for (size_t i = 0; i < bin->nparts; i++) {
        const struct cv_fill_part *part = &bin->parts[i];

        if (pair->count[part->size] == 0)
            pair->sizes[pair->nsizes++] = part->size;
        pair->count[part->size] += part->count;
        weight += pair->fill->instance->sizes[part->size].weight * part->count;
    }
    return weight;
}

static void open_pair(struct pair *pair, uint32_t one, uint32_t two)
{
    const struct cv_fill_bin *first = &pair->fill->bins[one];
    const struct cv_fill_bin *second = &pair->fill->bins[two];
    cv_parallel_decoder weight_one, weight_two;

    pair->one = one;
    pair->two = two;
    pair->nsizes = 0;
    weight_one = collect(pair, first);
    weight_two = collect(pair, second);
    pair->weight = weight_one + weight_two;
    pair->full_one = first->left + weight_one;
    pair->full_two = second->left + weight_two;
    qsort(pair->sizes, pair->nsizes, sizeof *pair->sizes, ascending_size);
}

static void close_pair(struct pair *pair)
{
    for (uint32_t i = 0; i < pair->nsizes; i++)
        pair->count[pair->sizes[i]] = 0;
}

/* Empty both bins; put the items found into the first and the others into the second. */
static bool refill_pair(struct pair *pair)
{
    const struct cv_single *single = &pair->single;

    cv_fill_empty_bin(pair->fill, pair->one);
    cv_fill_empty_bin(pair->fill, pair->two);
    for (uint32_t i = 0; i < single->nitems; i++) {
        const struct cv_single_item *item = &single->items[i];

        if (!cv_fill_put(pair->fill, pair->one, item->tag, single->best[i]) ||
            !cv_fill_put(pair->fill, pair->two, item->tag, item->count - single->best[i]))
            return false;
    }
    return true;
}

/* Put one item of size `in` into the pair and take one of size `out` (UINT32_MAX: none)
 * away, if the bins can hold what is there then. */
static bool exchange(struct pair *pair, uint32_t in, uint32_t out, bool *done)
{
    const struct cv_size *sizes = pair->fill->instance->sizes;
    const cv_parallel_decoder less = out == UINT32_MAX ? 0 : sizes[out].weight;
    const cv_parallel_decoder all = pair->weight + sizes[in].weight - less;
    struct cv_single *single = &pair->single;
    struct cv_single_result result;
    cv_parallel_decoder first = 0;

    *done = false;
    if (all > pair->full_one + pair->full_two)
        return true;
    single->nitems = 0;
    for (uint32_t i = 0; i < pair->nsizes; i++) {
        const uint32_t s = pair->sizes[i];
        const uint32_t count = pair->count[s] - (s == out) + (s == in);

        cv_single_append(single, sizes[s].weight, cv_wide_double(sizes[s].weight), count,
                         s);
    }
    if (pair->count[in] == 0)
        cv_single_append(single, sizes[in].weight, cv_wide_double(sizes[in].weight), 1,
                         in);
    single->capacity = pair->full_one;
    single->floor =
        all > pair->full_two ? (1 - 1e-15) * cv_wide_double(all - pair->full_two) : 0;
    single->tolerance = 0;
    single->max = PAIR_WORK;
    if (!cv_single_solve(single, pair->room, pair->work, &result))
        return false;
    for (uint32_t i = 0; i < single->nitems && result.value >= 0; i++)
        first += single->items[i].weight * single->best[i];
    if (result.value < 0 || all - first > pair->full_two)
        return true;
    *done = true;
    return refill_pair(pair);
}

/* The least profitable item of a size that is used. */
static double last_profit(const struct cv_fill *fill, uint32_t size)
{
    return cv_size_profit(fill->instance, size, fill->used[size]) -
           cv_size_profit(fill->instance, size, fill->used[size] - 1);
}

/* Try one item in no bin on the open pair. */
static bool try_item(struct pair *pair, const struct cv_segment *segment, bool *done)
{
    if (!exchange(pair, segment->size, UINT32_MAX, done))
        return false;
    for (uint32_t i = 0; i < pair->nsizes && !*done; i++)
        if (pair->sizes[i] != segment->size &&
            last_profit(pair->fill, pair->sizes[i]) * (1 + 1e-9) < segment->profit &&
            !exchange(pair, segment->size, pair->sizes[i], done))
            return false;
    return true;
}

static bool try_pair(struct pair *pair, uint32_t one, uint32_t two, bool *gained)
{
    const struct cv_instance *instance = pair->fill->instance;
    unsigned tried = 0;
    bool made = true, done = false;

    open_pair(pair, one, two);
    for (uint32_t i = 0; i < instance->nsegments && made && !done; i++) {
        const struct cv_segment *segment = &instance->segments[instance->by_density[i]];

        if (cv_segment_left(segment, pair->fill->used[segment->size]) == 0)
            continue;
        if (tried++ == CANDIDATES)
            break;
        made = try_item(pair, segment, &done);
    }
    close_pair(pair);
    (void)cv_work_spend(pair->work, pair->nsizes);
    *gained = *gained || done;
    return made;
}

static bool try_pairs(struct pair *pair)
{
    const uint32_t nbins = pair->fill->instance->nbins;
    bool gained = true;

    while (gained) {
        gained = false;
        for (uint32_t one = 0; one < nbins; one++)
            for (uint32_t two = one + 1; two < nbins; two++)
                if (pair->work->left == 0)
                    return true;
                else if (!try_pair(pair, one, two, &gained))
                    return false;
    }
    return true;
}

bool cv_fill_pairs(struct cv_fill *fill, struct cv_single_workspace *room,
                   struct cv_work *work)
{
    const size_t n = (size_t)fill->instance->nsizes + 1;
    struct pair pair = { .fill = fill, .room = room, .work = work };
    bool made;

    pair.count = calloc(n, sizeof *pair.count);
    pair.sizes = calloc(n, sizeof *pair.sizes);
    pair.single.items = malloc(n * sizeof *pair.single.items);
    pair.single.best = calloc(n, sizeof *pair.single.best);
    made = pair.count != NULL && pair.sizes != NULL && pair.single.items != NULL &&
           pair.single.best != NULL && try_pairs(&pair);
    free(pair.count);
    free(pair.sizes);
    free(pair.single.items);
    free(pair.single.best);
    if (made)
        cv_fill_count(fill);
    return made;
}
