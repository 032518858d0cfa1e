/* knapsack_instance.c -- weights and capacities as wide integers.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack_instance.h"

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

/* Items are taken greedily; then the last ones taken are given back, one at a time, and
 * what follows is tried again, unless filling the rest at the density of the next item
 * would not lead beyond the best so far (Horowitz and Sahni, J. ACM 21(2), 1974, with
 * counts). Exponential at worst, so work is limited; the open branches then give the
 * bound. */

/* Items taken, and what there was before. */
struct taken {
    cv_wide rest;
    double profit;
    uint32_t item, count;
};

struct cv_single_workspace {
    struct taken *stack;
    cv_wide *total, *lightest; /* of an item's copies; of it and all after it */
    double *density;
    uint32_t *count;
    size_t stack_capacity, total_capacity, lightest_capacity, density_capacity,
        count_capacity;
};

struct cv_single_workspace *cv_single_room_new(void)
{
    return calloc(1, sizeof(struct cv_single_workspace));
}

void cv_single_room_free(struct cv_single_workspace *room)
{
    if (room == NULL)
        return;
    free(room->stack);
    free(room->total);
    free(room->lightest);
    free(room->density);
    free(room->count);
    free(room);
}

static bool room_for(struct cv_single_workspace *room, size_t n)
{
    return CV_ROOM(room->stack, &room->stack_capacity, n + 1) &&
           CV_ROOM(room->total, &room->total_capacity, n + 1) &&
           CV_ROOM(room->lightest, &room->lightest_capacity, n + 1) &&
           CV_ROOM(room->density, &room->density_capacity, n + 1) &&
           CV_ROOM(room->count, &room->count_capacity, n + 1);
}

struct sort_key {
    double density;
    struct cv_single_item item;
};

static int by_density(const void *left, const void *right)
{
    const struct sort_key *a = left, *b = right;

    if (a->density != b->density)
        return a->density > b->density ? -1 : 1;
    if (a->item.weight != b->item.weight)
        return a->item.weight < b->item.weight ? -1 : 1;
    return (a->item.tag > b->item.tag) - (a->item.tag < b->item.tag);
}

bool cv_single_sort(struct cv_single_item *items, uint32_t nitems)
{
    struct sort_key *keys = malloc((nitems > 0 ? nitems : 1) * sizeof *keys);

    if (keys == NULL)
        return false;
    for (uint32_t i = 0; i < nitems; i++)
        keys[i] = (struct sort_key){ items[i].profit / cv_wide_double(items[i].weight),
                                     items[i] };
    qsort(keys, nitems, sizeof *keys, by_density);
    for (uint32_t i = 0; i < nitems; i++)
        items[i] = keys[i].item;
    free(keys);
    return true;
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
    struct cv_single_workspace *room;
    size_t height; /* of the stack */
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

    for (; next < single->nitems && search->room->total[next] <= rest; next++) {
        rest -= search->room->total[next];
        profit += single->items[next].profit * search->room->count[next];
    }
    if (next < single->nitems)
        profit += cv_wide_double(rest) * search->room->density[next];
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

/* Take what is best by density, unless that cannot lead beyond the best so far. */
static void advance(struct search *search, struct cv_work *share)
{
    const struct cv_single *single = search->single;
    const struct cv_single_workspace *room = search->room;

    for (;;) {
        const size_t height = search->height;
        uint32_t i = search->next, count;

        while (i < single->nitems && room->total[i] <= search->rest) {
            if (room->count[i] > 0)
                take(search, i, room->count[i], room->total[i]);
            i++;
        }
        (void)cv_work_spend(share, i - search->next + 1);
        if (i == single->nitems)
            keep_best(search);
        if (i == single->nitems ||
            search->profit + cv_wide_double(search->rest) * room->density[i] <=
                search->best + single->tolerance) {
            search->height = height;
            /* Fewer of the item before would lead even less far. */
            if (height > 0 && room->stack[height - 1].item + 1 == search->next)
                search->height--;
            return;
        }
        if (search->rest < room->lightest[i])
            break;
        count = cv_wide_times(search->rest, single->items[i].weight, room->count[i]);
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

static void measure_items(const struct cv_single *single,
                          struct cv_single_workspace *room)
{
    room->lightest[single->nitems] = ~(cv_wide)0;
    for (uint32_t i = single->nitems; i-- > 0;) {
        const struct cv_single_item *item = &single->items[i];

        room->count[i] = cv_wide_times(single->capacity, item->weight, item->count);
        room->total[i] = item->weight * room->count[i];
        room->density[i] = item->profit / cv_wide_double(item->weight);
        room->lightest[i] =
            item->weight < room->lightest[i + 1] ? item->weight : room->lightest[i + 1];
    }
}

bool cv_single_solve(const struct cv_single *single, struct cv_single_workspace *room,
                     struct cv_work *work, struct cv_single_result *out)
{
    struct cv_work share = cv_work_share(work, single->max);
    struct search search = {
        .single = single, .room = room, .rest = single->capacity, .best = single->floor
    };

    if (!room_for(room, single->nitems))
        return false;
    measure_items(single, room);
    for (;;) {
        advance(&search, &share);
        if (search.height == 0 || share.left == 0)
            break;
        give_back(&search);
    }
    out->complete = search.height == 0;
    out->value = search.found ? search.best : -1;
    out->upper = search.best + single->tolerance;
    if (!out->complete) {
        const double open = open_bound(&search);

        out->upper = open > out->upper ? open : out->upper;
    }
    cv_work_return(work, &share);
    return true;
}

/* --- weights as integers, items by size, bins by capacity -------------------------- */

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
            const int bit = wide_lowest_bit(class->weight);

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
static bool make_groups(const struct cv_knapsack *problem, int unit, cv_wide lightest,
                        struct cv_arena *arena, struct cv_instance *out)
{
    struct bin_order *order = cv_array(arena, problem->nbins, sizeof *order);
    bool lost = false;

    if (order == NULL || !CV_NEW(arena, out->bin, problem->nbins) ||
        !CV_NEW(arena, out->groups, problem->nbins))
        return false;
    for (uint32_t b = 0; b < problem->nbins; b++)
        order[b] = (struct bin_order){ capacity_of(problem, b), b };
    qsort(order, problem->nbins, sizeof *order, by_capacity);
    for (uint32_t i = 0; i < problem->nbins; i++) {
        const cv_wide capacity = wide_of(order[i].capacity, unit, false, &lost);
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
    cv_wide weight;
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
static uint32_t most_of(const struct cv_instance *instance, cv_wide weight)
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

    if (items == NULL || !CV_NEW(arena, out->by_density, out->nsegments))
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
    cv_wide lightest = ~(cv_wide)0;
    uint32_t n = 0;

    *out = (struct cv_instance){ .nsizes = 0 };
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

/* --- bounds that see the bins as one, and capacities made tight -------------------- */

/* Surrogate relaxation: one bin of the total capacity, with items divisible or not.
 * Before that, a capacity may be lowered to the largest sum of weights that does not
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
    cv_wide max, near; /* largest capacity; intervals nearer than this are joined */
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

/* The end of what is reached up to `capacity`. */
static cv_wide reached(const struct sums *sums, cv_wide capacity)
{
    cv_wide best = 0;

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

static cv_wide total_capacity(const struct cv_instance *instance)
{
    cv_wide total = 0;

    for (uint32_t g = 0; g < instance->ngroups; g++)
        total += instance->groups[g].capacity * instance->groups[g].nbins;
    return total;
}

double cv_instance_surrogate_lp(const struct cv_instance *instance)
{
    cv_wide left = total_capacity(instance);
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
