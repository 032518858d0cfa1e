/* knapsack_instance.c -- weights and capacities as wide integers.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack_internal.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/fail.h"

/* The exponent of the lowest bit of a positive double. */
static int wide_lowest_bit(double value)
{
    int exponent, bit = 0;
    uint64_t mantissa = (uint64_t)ldexp(frexp(value, &exponent), 53);

    for (; (mantissa & 1) == 0; bit++)
        mantissa >>= 1;
    return exponent - 53 + bit;
}

/* value / 2^unit, rounded down or up where bits are lost. */
static cv_wide wide_of(double value, int unit, bool up, bool *lost)
{
    int exponent, shift;
    uint64_t mantissa;

    if (value == 0)
        return 0;
    mantissa = (uint64_t)ldexp(frexp(value, &exponent), 53);
    shift = exponent - 53 - unit;
    if (shift >= 0)
        return (cv_wide)mantissa << shift;
    if (shift <= -64 || ((mantissa >> -shift) << -shift) != mantissa) {
        *lost = true;
        return (shift <= -64 ? 0 : mantissa >> -shift) + (up ? 1 : 0);
    }
    return mantissa >> -shift;
}

uint32_t cv_wide_times(cv_wide capacity, cv_wide weight, uint32_t max)
{
    cv_wide times;

    assert(weight > 0);
    if (capacity < weight || max == 0)
        return 0;
    if (max == 1)
        return 1;
    if (capacity <= UINT64_MAX)
        times = (uint64_t)capacity / (uint64_t)weight;
    else
        times = capacity / weight;
    return times < max ? (uint32_t)times : max;
}

/* --- one bin: depth-first search in the order of density --------------------------- */

/* Items are taken greedily; then the last ones taken are given back, one at a time, and the next ones are tried again, unless filling the rest at the density of the next item
 * would not lead beyond the best so far (Horowitz and Sahni, J. ACM 21(2), 1974, with
 * counts). Exponential at worst, so work is limited; the open branches then give the
 * bound. */

/* Items taken, with the rest and the profit before. */
struct taken {
    cv_wide rest;
    double profit;
    uint32_t item, count;
};

/* An item whose copies may all fit. */
struct measured {
    cv_wide total, lightest; /* weight of all copies; least weight from here */
    double density;
    uint32_t count;
};

struct sort_key {
    double density;
    struct cv_single_item item;
};

struct cv_single_room {
    struct taken *stack;
    struct measured *items;
    struct sort_key *keys;
};

bool cv_single_init(struct cv_single *single, const struct cv_instance *instance)
{
    const uint32_t a = instance->nsizes, b = instance->nsegments;
    const size_t n = (size_t)(a > b ? a : b) + 1;
    struct cv_arena *arena = instance->arena;

    *single = (struct cv_single){ .nitems = 0 };
    return CV_NEW(arena, single->items, n) && CV_NEW(arena, single->best, n) &&
           CV_NEW(arena, single->count, n) && CV_NEW(arena, single->sizes, n) &&
           CV_NEW(arena, single->room, 1) && CV_NEW(arena, single->room->stack, n) &&
           CV_NEW(arena, single->room->items, n) && CV_NEW(arena, single->room->keys, n);
}

static int by_density(const void *left, const void *right)
{
    const struct sort_key *a = left, *b = right;

    return cv_order(CV_COMPARE(b->density, a->density),
                    CV_COMPARE(a->item.weight, b->item.weight),
                    CV_COMPARE(a->item.tag, b->item.tag));
}

static void sort_items(struct cv_single_item *items, uint32_t nitems,
                       struct sort_key *keys)
{
    for (uint32_t i = 0; i < nitems; i++)
        keys[i] = (struct sort_key){ items[i].profit / cv_wide_double(items[i].weight),
                                     items[i] };
    qsort(keys, nitems, sizeof *keys, by_density);
    for (uint32_t i = 0; i < nitems; i++)
        items[i] = keys[i].item;
}

void cv_single_sort(struct cv_single *single)
{
    sort_items(single->items, single->nitems, single->room->keys);
}

void cv_single_append(struct cv_single *single, cv_wide weight, double profit,
                      uint32_t count, uint32_t tag)
{
    struct cv_single_item *end = single->items + single->nitems;

    if (single->nitems > 0 && end[-1].tag == tag && end[-1].profit == profit) {
        end[-1].count += count;
        return;
    }
    *end = (struct cv_single_item){ weight, profit, count, tag };
    single->nitems++;
}

struct search {
    const struct cv_single *single;
    struct cv_single_room *room;
    size_t height; /* stack in use */
    cv_wide rest;
    double profit, best;
    uint32_t next; /* item */
    bool found;
};

/* The bound of what items from `next` on can add to `rest`. */
static double relaxed(const struct search *search, uint32_t next, cv_wide rest)
{
    const struct cv_single *single = search->single;
    double profit = 0;

    for (; next < single->nitems && search->room->items[next].total <= rest; next++) {
        rest -= search->room->items[next].total;
        profit += single->items[next].profit * search->room->items[next].count;
    }
    if (next < single->nitems)
        profit += cv_wide_double(rest) * search->room->items[next].density;
    return profit;
}

static void take(struct search *search, uint32_t item, uint32_t count, cv_wide weight)
{
    struct taken *top = &search->room->stack[search->height++];

    *top = (struct taken){ search->rest, search->profit, item, count };
    search->rest -= weight;
    search->profit += search->single->items[item].profit * count;
}

static void keep_best(struct search *search)
{
    if (search->profit <= search->best)
        return;
    search->best = search->profit;
    search->found = true;
    for (uint32_t i = 0; i < search->single->nitems; i++)
        search->single->best[i] = 0;
    for (size_t i = 0; i < search->height; i++)
        search->single->best[search->room->stack[i].item] = search->room->stack[i].count;
}

/* Take items by density, unless that cannot beat the best so far. */
static void advance(struct search *search, struct cv_work *share)
{
    const struct cv_single *single = search->single;
    const struct cv_single_room *room = search->room;

    for (;;) {
        const size_t height = search->height;
        uint32_t i = search->next, count;

        while (i < single->nitems && room->items[i].total <= search->rest) {
            if (room->items[i].count > 0)
                take(search, i, room->items[i].count, room->items[i].total);
            i++;
        }
        (void)cv_work_spend(share, i - search->next + 1);
        if (i == single->nitems)
            keep_best(search);
        if (i == single->nitems ||
            search->profit + cv_wide_double(search->rest) * room->items[i].density <=
                search->best + single->tolerance) {
            search->height = height;
            /* Fewer of the item before would lead even less far. */
            if (height > 0 && room->stack[height - 1].item + 1 == search->next)
                search->height--;
            return;
        }
        if (search->rest < room->items[i].lightest)
            break;
        count =
            cv_wide_times(search->rest, single->items[i].weight, room->items[i].count);
        if (count > 0)
            take(search, i, count, single->items[i].weight * count);
        search->next = i + 1;
    }
    keep_best(search);
}

/* Give back one item of the last ones taken. */
static void give_back(struct search *search)
{
    struct taken *top = &search->room->stack[search->height - 1];
    const struct cv_single_item *item = &search->single->items[top->item];

    top->count--;
    search->next = top->item + 1;
    search->rest = top->rest - item->weight * top->count;
    search->profit = top->profit + item->profit * top->count;
    if (top->count == 0)
        search->height--;
}

/* The largest bound of the branches not looked at. */
static double open_bound(struct search *search)
{
    double bound = search->best;

    if (search->height > 2000)
        return relaxed(search, 0, search->single->capacity);
    while (search->height > 0) {
        const struct taken *top = &search->room->stack[search->height - 1];
        const struct cv_single_item *item = &search->single->items[top->item];
        const uint32_t count = top->count - 1;
        const double reach =
            top->profit + item->profit * count +
            relaxed(search, top->item + 1, top->rest - item->weight * count);

        bound = reach > bound ? reach : bound;
        search->height--;
    }
    return bound;
}

static void measure_items(const struct cv_single *single)
{
    struct measured *out = single->room->items;

    out[single->nitems].lightest = ~(cv_wide)0;
    for (uint32_t i = single->nitems; i-- > 0;) {
        const struct cv_single_item *item = &single->items[i];

        out[i].count = cv_wide_times(single->capacity, item->weight, item->count);
        out[i].total = item->weight * out[i].count;
        out[i].density = item->profit / cv_wide_double(item->weight);
        out[i].lightest =
            item->weight < out[i + 1].lightest ? item->weight : out[i + 1].lightest;
    }
}

struct cv_single_result cv_single_solve(const struct cv_single *single,
                                        struct cv_work *work)
{
    struct cv_work share = cv_work_share(work, single->max);
    struct search search = { .single = single,
                             .room = single->room,
                             .rest = single->capacity,
                             .best = single->floor };
    struct cv_single_result result;

    measure_items(single);
    for (;;) {
        advance(&search, &share);
        if (search.height == 0 || share.left == 0)
            break;
        give_back(&search);
    }
    result.complete = search.height == 0;
    result.value = search.found ? search.best : -1;
    result.upper = search.best + single->tolerance;
    if (!result.complete)
        result.upper = fmax(result.upper, open_bound(&search));
    cv_work_return(work, &share);
    return result;
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
    if (!(problem->capacity >= 0) || !isfinite(problem->capacity))
        return cv_fail(err, CLEAVE_EINPUT, "expected a capacity of 0 or more, got %g",
                       problem->capacity);
    return CLEAVE_OK;
}

/* The power of 2 that all weights are multiples of; the capacity is then rounded down
 * without loss. Larger if the bins together would need more than 126 bits. */
static int choose_unit(const struct cv_knapsack *problem, double largest)
{
    int unit = INT32_MAX, top, spare = 0;

    for (uint32_t i = 0; i < problem->nclasses; i++) {
        const struct cv_item_class *class = &problem->classes[i];

        if (class->count > 0 && class->weight <= largest) {
            const int bit = wide_lowest_bit(class->weight);

            unit = bit < unit ? bit : unit;
        }
    }
    while ((UINT64_C(1) << spare) < problem->nbins)
        spare++;
    (void)frexp(largest, &top);
    return unit == INT32_MAX || top + spare - unit > 126 ? top + spare - 126 : unit;
}

struct item_order {
    cv_wide weight;
    double profit;
    uint32_t item_class;
};

static int by_weight(const void *left, const void *right)
{
    const struct item_order *a = left, *b = right;

    return cv_order(CV_COMPARE(b->weight, a->weight), CV_COMPARE(b->profit, a->profit),
                    CV_COMPARE(a->item_class, b->item_class));
}

/* The most items of a weight that the bins together hold, up to UINT32_MAX. */
static uint32_t most_of(const struct cv_instance *instance, cv_wide weight)
{
    const uint64_t max =
        (uint64_t)cv_wide_times(instance->capacity, weight, UINT32_MAX) * instance->nbins;

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
    struct cv_single_item *items;
    struct sort_key *keys;

    if (!CV_NEW(arena, items, out->nsegments) || !CV_NEW(arena, keys, out->nsegments) ||
        !CV_NEW(arena, out->by_density, out->nsegments))
        return false;
    for (uint32_t i = 0; i < out->nsegments; i++) {
        items[i].weight = out->sizes[out->segments[i].size].weight;
        items[i].profit = out->segments[i].profit;
        items[i].tag = i;
    }
    sort_items(items, out->nsegments, keys);
    for (uint32_t i = 0; i < out->nsegments; i++)
        out->by_density[i] = items[i].tag;
    return true;
}

cv_wide cv_instance_capacity(const struct cv_instance *instance)
{
    return instance->capacity * instance->nbins;
}

/* The most that an item may weigh to be of interest. */
static double largest_weight(const struct cv_knapsack *problem, enum cv_making making)
{
    const uint32_t bins = making == CV_AS_ONE_BIN ? problem->nbins : problem->nbins > 0;

    return fmin(problem->capacity * bins, DBL_MAX);
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
    cv_wide lightest = ~(cv_wide)0, capacity;
    uint32_t n = 0;
    bool lost;

    *out = (struct cv_instance){ .arena = arena };
    if (order == NULL || !CV_NEW(arena, out->sizes, problem->nclasses) ||
        !CV_NEW(arena, out->segments, problem->nclasses))
        return false;
    for (uint32_t i = 0; i < problem->nclasses; i++) {
        const struct cv_item_class *class = &problem->classes[i];
        cv_wide weight;

        if (class->count == 0 || class->weight > largest)
            continue;
        weight = wide_of(class->weight, unit, making == CV_FOR_ANSWERS, &out->rounded);
        if (weight == 0) {
            out->free_profit += class->profit * class->count;
            continue;
        }
        order[n++] = (struct item_order){ weight, class->profit, i };
        lightest = weight < lightest ? weight : lightest;
    }
    qsort(order, n, sizeof *order, by_weight);
    capacity = wide_of(problem->capacity, unit, false, &lost);
    if (making == CV_AS_ONE_BIN) {
        out->capacity = capacity * problem->nbins;
        out->nbins = problem->nbins > 0;
    } else if (capacity >= lightest) {
        out->capacity = capacity;
        out->nbins = problem->nbins;
    }
    make_sizes(problem, order, n, out);
    out->grain = find_grain(out);
    return sort_by_density(arena, out);
}

/* Whether a bin holds its items, rounded as cv_instance_make rounds them for answers. */
static bool bin_holds(const struct cv_knapsack *problem,
                      const struct cv_knapsack_answer *answer, uint32_t bin, int unit)
{
    bool lost;
    cv_wide left = wide_of(problem->capacity, unit, false, &lost);

    for (size_t i = answer->first[bin]; i < answer->first[bin + 1]; i++) {
        const struct cv_knapsack_part *part = &answer->parts[i];
        const double weight = problem->classes[part->item_class].weight;
        cv_wide each;

        if (weight > problem->capacity)
            return false;
        each = wide_of(weight, unit, true, &lost);
        if (cv_wide_times(left, each, UINT32_MAX) < part->count)
            return false;
        left -= each * part->count;
    }
    return answer->first[bin] <= answer->first[bin + 1];
}

bool cv_knapsack_holds(const struct cv_knapsack *problem,
                       const struct cv_knapsack_answer *answer, uint64_t *counts)
{
    const int unit = choose_unit(problem, largest_weight(problem, CV_FOR_ANSWERS));
    uint64_t selected = 0;
    double profit = 0;
    bool holds = answer->first[0] == 0;

    for (size_t i = 0; i < answer->first[problem->nbins] && holds; i++) {
        holds = answer->parts[i].item_class < problem->nclasses;
        if (holds)
            counts[answer->parts[i].item_class] += answer->parts[i].count;
        selected += answer->parts[i].count;
    }
    for (uint32_t b = 0; b < problem->nbins && holds; b++)
        holds = bin_holds(problem, answer, b, unit);
    for (uint32_t i = 0; i < problem->nclasses; i++) {
        holds = holds && counts[i] <= problem->classes[i].count;
        profit += problem->classes[i].profit * (double)counts[i];
    }
    return holds && selected == answer->selected && profit == answer->profit;
}

/* --- bounds that see the bins as one, and a capacity made tight --------------------- */

/* Surrogate relaxation: one bin of the total capacity, with items divisible or not.
 * Before that, the capacity may be lowered to the largest sum of weights that does not
 * exceed it. The sums that items can reach are kept as a sorted list of intervals, which
 * is exact while the list is short; when it becomes long, neighbours are joined, and the
 * end of an interval is still an upper bound. */

#define MOST_INTERVALS ((size_t)1 << 14)

struct interval {
    cv_wide from, to; /* both included */
};

struct sums {
    struct interval *now, *then;
    size_t count;
    cv_wide max, near; /* the capacity; intervals nearer than this are joined */
};

/* Add an interval that begins after all in the list. */
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
static void add_weight(struct sums *sums, cv_wide weight)
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

/* The largest sum up to the capacity. */
static cv_wide reached(const struct sums *sums)
{
    const cv_wide last = sums->now[sums->count - 1].to;

    return last < sums->max ? last : sums->max;
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
    struct interval *room;
    struct sums sums;
    bool done = true;

    /* A list of up to MOST_INTERVALS grows to twice that before it is cut. */
    if (!CV_NEW(instance->arena, room, 2 * (2 * MOST_INTERVALS + 2)))
        return false;
    sums = (struct sums){ room, room + 2 * MOST_INTERVALS + 2, 1, instance->capacity, 1 };
    room[0] = (struct interval){ 0, 0 };
    for (uint32_t s = 0; s < instance->nsizes && done; s++) {
        add_size(&sums, &instance->sizes[s]);
        done = cv_work_spend(work, 16 * sums.count + 64) &&
               !(sums.count < 1000 + s && reached(&sums) == instance->capacity);
    }
    if (done) /* else the capacity is reached already, or work ran out */
        instance->capacity = reached(&sums);
    return true;
}

double cv_instance_surrogate_lp(const struct cv_instance *instance)
{
    cv_wide left = cv_instance_capacity(instance);
    double bound = instance->free_profit;

    for (uint32_t i = 0; i < instance->nsegments; i++) {
        const struct cv_segment *segment = &instance->segments[instance->by_density[i]];
        const cv_wide weight = instance->sizes[segment->size].weight;
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

double cv_instance_surrogate_kp(const struct cv_instance *instance,
                                struct cv_single *single, struct cv_work *work,
                                uint64_t max, uint32_t *take, bool *out_exact)
{
    const double lp = cv_instance_surrogate_lp(instance);
    struct cv_single_result result;

    single->nitems = 0;
    for (uint32_t i = 0; i < instance->nsegments; i++) {
        const struct cv_segment *segment = &instance->segments[instance->by_density[i]];

        cv_single_append(single, instance->sizes[segment->size].weight, segment->profit,
                         segment->count, segment->size);
    }
    single->capacity = cv_instance_capacity(instance);
    single->floor = -1;
    single->tolerance = 1e-13 * lp;
    single->max = max;
    memset(single->best, 0, single->nitems * sizeof *single->best);
    result = cv_single_solve(single, work);
    *out_exact = result.complete;
    memset(take, 0, instance->nsizes * sizeof *take);
    for (uint32_t i = 0; i < single->nitems; i++)
        take[single->items[i].tag] += single->best[i];
    return fmin(lp,
                instance->free_profit +
                    (result.complete && result.value >= 0 ? result.value : result.upper));
}
