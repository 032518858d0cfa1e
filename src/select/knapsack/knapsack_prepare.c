/* knapsack_prepare.c -- weights as integers, items by size, bins by capacity.
 * SPDX-License-Identifier: MIT */
#include "base/compare.h"
#include "select/knapsack/knapsack_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"

static double capacity_of(const struct cv_knapsack *problem, uint32_t bin)
{
    return problem->capacities != NULL ? problem->capacities[bin] : problem->capacity;
}

enum cleave_status cv_knapsack_check(const struct cv_knapsack *problem,
                                     struct cleave_error *err)
{
    uint64_t items = 0;

    for (uint32_t i = 0; i < problem->nclasses; i++) {
        const struct cv_item_class *class = &problem->classes[i];

        if (!(class->weight > 0) || !isfinite(class->weight))
            return cv_fail(err, CLEAVE_EINPUT,
                           "item class %u: expected a positive weight, got %g",
                           (unsigned)i, class->weight);
        if (!(class->profit > 0) || !isfinite(class->profit))
            return cv_fail(err, CLEAVE_EINPUT,
                           "item class %u: expected a positive profit, got %g",
                           (unsigned)i, class->profit);
        items += class->count;
    }
    if (items > UINT32_MAX)
        return cv_fail(err, CLEAVE_EINPUT, "expected at most %u items, got %llu",
                       (unsigned)UINT32_MAX, (unsigned long long)items);
    for (uint32_t b = 0; b < problem->nbins; b++)
        if (!(capacity_of(problem, b) >= 0) || !isfinite(capacity_of(problem, b)))
            return cv_fail(err, CLEAVE_EINPUT,
                           "bin %u: expected a capacity of 0 or more, got %g",
                           (unsigned)b, capacity_of(problem, b));
    return CLEAVE_OK;
}

/* --- numbers ------------------------------------------------------------------------ */

/* The power of 2 that all weights are multiples of; capacities are then rounded down
 * without loss. Larger if the bins together would need more than 126 bits. */
static int choose_unit(const struct cv_knapsack *problem, double largest)
{
    int unit = INT32_MAX, top, spare = 0;

    for (uint32_t i = 0; i < problem->nclasses; i++) {
        const struct cv_item_class *class = &problem->classes[i];

        if (class->count > 0 && class->weight <= largest) {
            const int bit = cv_wide_lowest_bit(class->weight);

            unit = bit < unit ? bit : unit;
        }
    }
    while ((UINT64_C(1) << spare) < problem->nbins)
        spare++;
    (void)frexp(largest, &top);
    return unit == INT32_MAX || top + spare - unit > 126 ? top + spare - 126 : unit;
}

/* --- bins --------------------------------------------------------------------------- */

struct bin_order {
    double capacity;
    uint32_t bin;
};

CV_ORDER_BY_TWO(by_capacity, struct bin_order, capacity, bin)

/* Groups of the bins which hold at least the lightest item. */
static bool make_groups(const struct cv_knapsack *problem, int unit,
                        cv_parallel_decoder lightest, struct cv_arena *arena,
                        struct cv_instance *out)
{
    struct bin_order *order = cv_array(arena, problem->nbins, sizeof *order);
    bool lost = false;

    out->bin = cv_array(arena, problem->nbins, sizeof *out->bin);
    out->groups = cv_array(arena, problem->nbins, sizeof *out->groups);
    if (order == NULL || out->bin == NULL || out->groups == NULL)
        return false;
    for (uint32_t b = 0; b < problem->nbins; b++)
        order[b] = (struct bin_order){ capacity_of(problem, b), b };
    qsort(order, problem->nbins, sizeof *order, by_capacity);
    for (uint32_t i = 0; i < problem->nbins; i++) {
        const cv_parallel_decoder capacity =
            cv_wide_of(order[i].capacity, unit, false, &lost);
        struct cv_knapsack_group *last = out->groups + out->ngroups;

        if (capacity < lightest)
            continue;
        if (out->ngroups == 0 || last[-1].capacity != capacity) {
            *last = (struct cv_knapsack_group){ capacity, out->nbins, 0 };
            out->ngroups++;
        }
        out->groups[out->ngroups - 1].nbins++;
        out->bin[out->nbins++] = order[i].bin;
    }
    return true;
}

/* --- items -------------------------------------------------------------------------- */

struct item_order {
    cv_parallel_decoder weight;
    double profit;
    uint32_t item_class;
};

static int by_weight(const void *left, const void *right)
{
    const struct item_order *a = left, *b = right;

    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    if (a->profit != b->profit)
        return a->profit > b->profit ? -1 : 1;
    return (a->item_class > b->item_class) - (a->item_class < b->item_class);
}

/* The most items of a weight that the bins together hold, up to UINT32_MAX. */
static uint32_t most_of(const struct cv_instance *instance, cv_parallel_decoder weight)
{
    uint64_t max = 0;

    for (uint32_t g = instance->ngroups; g-- > 0;) {
        const struct cv_knapsack_group *group = &instance->groups[g];
        const uint32_t each = cv_wide_times(group->capacity, weight, UINT32_MAX);

        max += (uint64_t)each * group->nbins;
        if (each == 0 || max >= UINT32_MAX)
            break;
    }
    return max < UINT32_MAX ? (uint32_t)max : UINT32_MAX;
}

static void make_sizes(const struct cv_knapsack *problem, const struct item_order *order,
                       uint32_t n, struct cv_instance *out)
{
    uint32_t room = 0;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t count = problem->classes[order[i].item_class].count;
        struct cv_size *size = out->sizes + out->nsizes;

        if (i == 0 || order[i].weight != order[i - 1].weight) {
            *size =
                (struct cv_size){ .weight = order[i].weight, .first = out->nsegments };
            out->nsizes++;
            room = most_of(out, order[i].weight);
        }
        size = &out->sizes[out->nsizes - 1];
        if (room == 0)
            continue;
        out->segments[out->nsegments++] =
            (struct cv_segment){ order[i].profit, count < room ? count : room,
                                 order[i].item_class, out->nsizes - 1, size->count };
        room -= count < room ? count : room;
        size->nsegments++;
        size->count += out->segments[out->nsegments - 1].count;
    }
}

static bool sort_by_density(struct cv_arena *arena, struct cv_instance *out)
{
    struct cv_single_item *items = cv_array(arena, out->nsegments, sizeof *items);

    out->by_density = cv_array(arena, out->nsegments, sizeof *out->by_density);
    if (items == NULL || out->by_density == NULL)
        return false;
    for (uint32_t i = 0; i < out->nsegments; i++) {
        items[i].weight = out->sizes[out->segments[i].size].weight;
        items[i].profit = out->segments[i].profit;
        items[i].tag = i;
    }
    if (!cv_single_sort(items, out->nsegments))
        return false;
    for (uint32_t i = 0; i < out->nsegments; i++)
        out->by_density[i] = items[i].tag;
    return true;
}

/* One group with one bin that holds as much as all. */
static void join_groups(struct cv_instance *instance)
{
    instance->groups[0].capacity *= instance->groups[0].nbins;
    for (uint32_t g = 1; g < instance->ngroups; g++)
        instance->groups[0].capacity +=
            instance->groups[g].capacity * instance->groups[g].nbins;
    instance->groups[0].nbins = instance->nbins = instance->ngroups = 1;
}

/* The most that an item may weigh to be of interest. */
static double largest_weight(const struct cv_knapsack *problem, enum cv_making making)
{
    double largest = 0;

    for (uint32_t b = 0; b < problem->nbins; b++) {
        const double capacity = capacity_of(problem, b);

        largest = making == CV_AS_ONE_BIN ? largest + capacity : fmax(largest, capacity);
    }
    return fmin(largest, DBL_MAX);
}

/* The greatest number of which all profits are multiples: Euclid, without rounding. */
static double find_grain(const struct cv_instance *instance)
{
    double grain = 0, all = 0;

    if (instance->rounded)
        return 0;
    for (uint32_t i = 0; i < instance->nsegments; i++) {
        double other = instance->segments[i].profit;

        all += other * instance->segments[i].count;
        while (other > 0) {
            const double rest = fmod(grain, other);

            grain = other;
            other = rest;
        }
    }
    return grain > 1e-9 * all ? grain : 0;
}

bool cv_instance_make(const struct cv_knapsack *problem, enum cv_making making,
                      struct cv_arena *arena, struct cv_instance *out)
{
    struct item_order *order = cv_array(arena, problem->nclasses, sizeof *order);
    const double largest = largest_weight(problem, making);
    const int unit = choose_unit(problem, largest);
    cv_parallel_decoder lightest = ~(cv_parallel_decoder)0;
    uint32_t n = 0;

    *out = (struct cv_instance){ .nsizes = 0 };
    out->sizes = cv_array(arena, problem->nclasses, sizeof *out->sizes);
    out->segments = cv_array(arena, problem->nclasses, sizeof *out->segments);
    if (order == NULL || out->sizes == NULL || out->segments == NULL)
        return false;
    for (uint32_t i = 0; i < problem->nclasses; i++) {
        const struct cv_item_class *class = &problem->classes[i];
        cv_parallel_decoder weight;

        if (class->count == 0 || class->weight > largest)
            continue;
        weight = cv_wide_of(class->weight, unit, making == CV_FOR_ANSWERS, &out->rounded);
        if (weight == 0) {
            out->free_profit += class->profit * class->count;
            continue;
        }
        order[n++] = (struct item_order){ weight, class->profit, i };
        lightest = weight < lightest ? weight : lightest;
    }
    qsort(order, n, sizeof *order, by_weight);
    if (!make_groups(problem, unit, making == CV_AS_ONE_BIN ? 0 : lightest, arena, out))
        return false;
    if (making == CV_AS_ONE_BIN && out->ngroups > 0)
        join_groups(out);
    make_sizes(problem, order, n, out);
    out->grain = find_grain(out);
    return sort_by_density(arena, out);
}

double cv_size_profit(const struct cv_instance *instance, uint32_t size, uint32_t count)
{
    const struct cv_segment *segment = &instance->segments[instance->sizes[size].first];
    double profit = 0;

    for (; count > 0; segment++) {
        const uint32_t taken = segment->count < count ? segment->count : count;

        profit += segment->profit * taken;
        count -= taken;
    }
    return profit;
}
