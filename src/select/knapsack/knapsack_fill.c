/* knapsack_fill.c -- items in bins, and the answer made of them.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack_internal.h"

#include <stdlib.h>
#include <string.h>
#include "base/compare.h"

bool cv_fill_init(struct cv_fill *fill, const struct cv_instance *instance)
{
    *fill = (struct cv_fill){ .instance = instance };
    if (!CV_NEW(instance->arena, fill->bins, instance->nbins) ||
        !CV_NEW(instance->arena, fill->used, instance->nsizes)) {
        fill->instance = NULL;
        return false;
    }
    cv_fill_clear(fill);
    return true;
}

void cv_fill_done(struct cv_fill *fill)
{
    for (uint32_t b = 0; fill->instance != NULL && b < fill->instance->nbins; b++)
        free(fill->bins[b].parts);
    free(fill->spare.parts);
    *fill = (struct cv_fill){ .instance = NULL };
}

void cv_fill_clear(struct cv_fill *fill)
{
    const struct cv_instance *instance = fill->instance;

    for (uint32_t b = 0; b < instance->nbins; b++) {
        fill->bins[b].left = instance->capacity;
        fill->bins[b].nparts = 0;
    }
    memset(fill->used, 0, instance->nsizes * sizeof *fill->used);
    fill->profit = 0;
}

void cv_fill_copy(struct cv_fill *to, const struct cv_fill *from)
{
    const struct cv_instance *instance = from->instance;

    to->failed = to->failed || from->failed;
    for (uint32_t b = 0; b < instance->nbins; b++) {
        const struct cv_fill_bin *source = &from->bins[b];
        struct cv_fill_bin *bin = &to->bins[b];

        bin->nparts = 0;
        bin->left = source->left;
        if (!CV_ROOM(bin->parts, &bin->capacity, source->nparts)) {
            to->failed = true;
            continue;
        }
        if (source->nparts > 0)
            memcpy(bin->parts, source->parts, source->nparts * sizeof *bin->parts);
        bin->nparts = source->nparts;
    }
    memcpy(to->used, from->used, instance->nsizes * sizeof *to->used);
    to->profit = from->profit;
}

void cv_fill_put(struct cv_fill *fill, uint32_t bin, uint32_t size, uint32_t count)
{
    struct cv_fill_bin *to = &fill->bins[bin];

    if (count == 0)
        return;
    if (to->nparts > 0 && to->parts[to->nparts - 1].size == size)
        to->parts[to->nparts - 1].count += count;
    else if (CV_ROOM(to->parts, &to->capacity, to->nparts + 1))
        to->parts[to->nparts++] = (struct cv_fill_part){ size, count };
    else
        fill->failed = true;
    to->left -= fill->instance->sizes[size].weight * count;
    fill->used[size] += count;
}

void cv_fill_empty_bin(struct cv_fill *fill, uint32_t bin)
{
    struct cv_fill_bin *from = &fill->bins[bin];

    for (size_t i = 0; i < from->nparts; i++) {
        fill->used[from->parts[i].size] -= from->parts[i].count;
        from->left +=
            fill->instance->sizes[from->parts[i].size].weight * from->parts[i].count;
    }
    from->nparts = 0;
}

/* Profit of the best `count` items of a size. */
static double size_profit(const struct cv_instance *instance, uint32_t size,
                          uint32_t count)
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

double cv_fill_count(struct cv_fill *fill)
{
    fill->profit = 0;
    for (uint32_t s = 0; s < fill->instance->nsizes; s++)
        fill->profit += size_profit(fill->instance, s, fill->used[s]);
    return fill->profit;
}

/* The fullest bin with room for a weight, the first of equals; UINT32_MAX: none. */
static uint32_t fullest(const struct cv_fill *fill, cv_wide weight)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t b = 0; b < fill->instance->nbins; b++) {
        const cv_wide left = fill->bins[b].left;

        if (left >= weight && (best == UINT32_MAX || left < fill->bins[best].left))
            best = b;
    }
    return best;
}

void cv_fill_greedy(struct cv_fill *fill, struct cv_work *work)
{
    const struct cv_instance *instance = fill->instance;
    cv_wide roomiest = 0;

    for (uint32_t b = 0; b < instance->nbins; b++)
        roomiest = fill->bins[b].left > roomiest ? fill->bins[b].left : roomiest;
    for (uint32_t i = 0; i < instance->nsegments; i++) {
        const struct cv_segment *segment = &instance->segments[instance->by_density[i]];
        const uint32_t s = segment->size;
        const struct cv_size *size = &instance->sizes[s];
        uint32_t left = cv_segment_left(segment, fill->used[s]);

        while (left > 0 && size->weight <= roomiest) {
            const uint32_t b = fullest(fill, size->weight);
            uint32_t now;

            (void)cv_work_spend(work, instance->nbins);
            if (b == UINT32_MAX) {
                /* Only lighter items fit. */
                roomiest = size->weight - 1;
                break;
            }
            now = cv_wide_times(fill->bins[b].left, size->weight, left);
            cv_fill_put(fill, b, s, now);
            left -= now;
        }
    }
}

/* Which segment of a size is handed out next. */
struct hand_out {
    uint32_t segment, given;
};

CV_ORDER_BY(by_class, struct cv_knapsack_part, item_class)

/* Sort the parts of a bin and join parts of one class; returns their number. */
static size_t join_parts(struct cv_knapsack_part *parts, size_t n)
{
    size_t kept = 0;

    qsort(parts, n, sizeof *parts, by_class);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && parts[kept - 1].item_class == parts[i].item_class)
            parts[kept - 1].count += parts[i].count;
        else
            parts[kept++] = parts[i];
    }
    return kept;
}

/* Write the parts of a bin, the most profitable items of each size first. */
static size_t write_parts(const struct cv_fill *fill, uint32_t bin,
                          struct hand_out *hand_out, struct cv_knapsack_part *parts)
{
    const struct cv_instance *instance = fill->instance;
    size_t n = 0;

    for (size_t i = 0; i < fill->bins[bin].nparts; i++) {
        const struct cv_fill_part *part = &fill->bins[bin].parts[i];
        struct hand_out *next = &hand_out[part->size];
        uint32_t left = part->count;

        while (left > 0) {
            const struct cv_segment *segment =
                &instance->segments[instance->sizes[part->size].first + next->segment];
            const uint32_t rest = segment->count - next->given;
            const uint32_t now = left < rest ? left : rest;

            if (now > 0)
                parts[n++] = (struct cv_knapsack_part){ segment->item_class, now };
            left -= now;
            next->given += now;
            if (next->given == segment->count) {
                next->segment++;
                next->given = 0;
            }
        }
    }
    return join_parts(parts, n);
}

static bool add_up(const struct cv_knapsack *problem, struct cv_arena *arena,
                   struct cv_knapsack_answer *out)
{
    uint64_t *counts = cv_array(arena, problem->nclasses, sizeof *counts);

    if (counts == NULL)
        return false;
    out->selected = 0;
    for (size_t i = 0; i < out->first[problem->nbins]; i++) {
        counts[out->parts[i].item_class] += out->parts[i].count;
        out->selected += out->parts[i].count;
    }
    out->profit = 0;
    for (uint32_t i = 0; i < problem->nclasses; i++)
        out->profit += problem->classes[i].profit * (double)counts[i];
    return true;
}

bool cv_fill_answer(const struct cv_fill *fill, const struct cv_knapsack *problem,
                    struct cv_arena *arena, struct cv_knapsack_answer *out)
{
    const struct cv_instance *instance = fill->instance;
    struct hand_out *hand_out = cv_array(arena, instance->nsizes, sizeof *hand_out);
    size_t max = instance->nsegments, n = 0;

    for (uint32_t b = 0; b < instance->nbins; b++)
        max += fill->bins[b].nparts;
    if (fill->failed || hand_out == NULL ||
        !CV_NEW(arena, out->first, (size_t)problem->nbins + 1) ||
        !CV_NEW(arena, out->parts, max))
        return false;
    for (uint32_t b = 0; b < problem->nbins; b++) {
        out->first[b] = n;
        if (b < instance->nbins)
            n += write_parts(fill, b, hand_out, out->parts + n);
    }
    out->first[problem->nbins] = n;
    return add_up(problem, arena, out);
}

/* --- pairs of bins, refilled to make room for a better item ----------------------------- */

/* An item in no bin may be heavier than the free capacity of any bin, but not than that of two
 * together; or it may be worth more than an item in one of them. Whether the items of both
 * then fit is a subset sum: some of them must fill the first bin so far that the others fit
 * into the second. */

/* Items tried for a pair of bins, and work for one subset sum. */
enum { CANDIDATES = 6, PAIR_WORK = 2000 };

struct pair {
    struct cv_fill *fill;
    struct cv_single *single;
    struct cv_work *work;
    uint32_t one, two;          /* bins                                   */
    cv_wide full_one, full_two; /* full capacities                        */
    cv_wide weight;             /* sum over all items of both             */
    uint32_t *count;            /* per size: items in both together       */
    uint32_t *sizes, nsizes;    /* sizes with items, heaviest first       */
};

static int ascending_size(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* Add the items of a bin; returns their weight. */
static cv_wide collect(struct pair *pair, const struct cv_fill_bin *bin)
{
    cv_wide weight = 0;

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
    cv_wide weight_one, weight_two;

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

/* Empty both bins; put the items found into the first and the others into the second. */
static void refill_pair(struct pair *pair)
{
    const struct cv_single *single = pair->single;

    cv_fill_empty_bin(pair->fill, pair->one);
    cv_fill_empty_bin(pair->fill, pair->two);
    for (uint32_t i = 0; i < single->nitems; i++) {
        const struct cv_single_item *item = &single->items[i];

        cv_fill_put(pair->fill, pair->one, item->tag, single->best[i]);
        cv_fill_put(pair->fill, pair->two, item->tag, item->count - single->best[i]);
    }
}

/* Put one item of size `in` into the pair and remove one of size `out` (UINT32_MAX: none), if
 * the bins can hold the result. */
static bool exchange(struct pair *pair, uint32_t in, uint32_t out)
{
    const struct cv_size *sizes = pair->fill->instance->sizes;
    const cv_wide less = out == UINT32_MAX ? 0 : sizes[out].weight;
    const cv_wide all = pair->weight + sizes[in].weight - less;
    struct cv_single *single = pair->single;
    cv_wide first = 0;

    if (all > pair->full_one + pair->full_two)
        return false;
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
    if (cv_single_solve(single, pair->work).value < 0)
        return false;
    for (uint32_t i = 0; i < single->nitems; i++)
        first += single->items[i].weight * single->best[i];
    if (all - first > pair->full_two)
        return false;
    refill_pair(pair);
    return true;
}

/* The least profitable item of a size that is used. */
static double last_profit(const struct cv_fill *fill, uint32_t size)
{
    return size_profit(fill->instance, size, fill->used[size]) -
           size_profit(fill->instance, size, fill->used[size] - 1);
}

/* Try one item in no bin on the open pair. */
static bool try_item(struct pair *pair, const struct cv_segment *segment)
{
    if (exchange(pair, segment->size, UINT32_MAX))
        return true;
    for (uint32_t i = 0; i < pair->nsizes; i++)
        if (pair->sizes[i] != segment->size &&
            last_profit(pair->fill, pair->sizes[i]) * (1 + 1e-9) < segment->profit &&
            exchange(pair, segment->size, pair->sizes[i]))
            return true;
    return false;
}

static bool try_pair(struct pair *pair, uint32_t one, uint32_t two)
{
    const struct cv_instance *instance = pair->fill->instance;
    unsigned tried = 0;
    bool done = false;

    open_pair(pair, one, two);
    for (uint32_t i = 0; i < instance->nsegments && !done; i++) {
        const struct cv_segment *segment = &instance->segments[instance->by_density[i]];

        if (cv_segment_left(segment, pair->fill->used[segment->size]) == 0)
            continue;
        if (tried++ == CANDIDATES)
            break;
        done = try_item(pair, segment);
    }
    for (uint32_t i = 0; i < pair->nsizes; i++)
        pair->count[pair->sizes[i]] = 0;
    (void)cv_work_spend(pair->work, pair->nsizes);
    return done;
}

void cv_fill_pairs(struct cv_fill *fill, struct cv_single *single, struct cv_work *work)
{
    const uint32_t nbins = fill->instance->nbins;
    struct pair pair = { .fill = fill,
                         .single = single,
                         .work = work,
                         .count = single->count,
                         .sizes = single->sizes };
    bool gained = true;

    while (gained && work->left > 0) {
        gained = false;
        for (uint32_t one = 0; one < nbins; one++)
            for (uint32_t two = one + 1; two < nbins && work->left > 0; two++)
                gained = try_pair(&pair, one, two) || gained;
    }
    cv_fill_count(fill);
}

/* --- packing a whole selection ------------------------------------------------------------ */

/* The selection of the surrogate knapsack is optimal if it can be packed, and it leaves little
 * capacity unused. So bins are filled one after the other, each with the heaviest item that
 * is left (some bin must hold it) and every set of others that wastes no more than the
 * capacity that may still be wasted. Depth first, with limited work. */

/* Limit of bins times sizes, the depth of the search at worst. */
enum { MOST_DEPTH = 6000 };

/* Items put into a bin. */
struct step {
    uint32_t bin, size, count;
};

struct packing {
    const struct cv_instance *instance;
    struct cv_work *work;
    uint32_t *left;   /* per size                                    */
    uint32_t filled;  /* bins                                       */
    cv_wide *lighter; /* per bin and size: weight left from this size  */
    struct step *steps;
    size_t nsteps;
};

static bool next_bin(struct packing *packing, cv_wide waste);

/* Fill the rest of a bin with sizes from `size`. */
static bool fill_bin(struct packing *packing, uint32_t size, cv_wide rest, cv_wide waste)
{
    const struct cv_instance *instance = packing->instance;
    const uint32_t bin = packing->filled;
    const cv_wide *lighter = packing->lighter + (size_t)bin * instance->nsizes;
    uint32_t max;

    while (size < instance->nsizes &&
           (packing->left[size] == 0 || instance->sizes[size].weight > rest))
        size++;
    if (!cv_work_spend(packing->work, 8))
        return false;
    if (size == instance->nsizes || rest == 0) {
        bool found;

        if (rest > waste)
            return false;
        packing->filled++;
        found = next_bin(packing, waste - rest);
        if (!found)
            packing->filled--;
        return found;
    }
    if (rest > waste && lighter[size] < rest - waste)
        return false;
    max = cv_wide_times(rest, instance->sizes[size].weight, packing->left[size]);
    for (uint32_t count = max + 1; count-- > 0 && packing->work->left > 0;) {
        const size_t nsteps = packing->nsteps;

        if (count > 0)
            packing->steps[packing->nsteps++] = (struct step){ bin, size, count };
        packing->left[size] -= count;
        if (fill_bin(packing, size + 1, rest - instance->sizes[size].weight * count,
                     waste))
            return true;
        packing->left[size] += count;
        packing->nsteps = nsteps;
    }
    return false;
}

/* Fill one more bin with the heaviest item and others; true when nothing is left. */
static bool next_bin(struct packing *packing, cv_wide waste)
{
    const struct cv_instance *instance = packing->instance;
    const size_t bin = packing->filled;
    cv_wide *lighter = packing->lighter + bin * instance->nsizes, weight, sum = 0;
    uint32_t heaviest = 0;

    while (heaviest < instance->nsizes && packing->left[heaviest] == 0)
        heaviest++;
    if (heaviest == instance->nsizes)
        return true;
    weight = instance->sizes[heaviest].weight;
    if (bin == instance->nbins || instance->capacity < weight)
        return false;
    packing->left[heaviest]--;
    for (uint32_t s = instance->nsizes; s-- > 0;) {
        sum += instance->sizes[s].weight * packing->left[s];
        lighter[s] = sum;
    }
    (void)cv_work_spend(packing->work, instance->nsizes);
    packing->steps[packing->nsteps++] = (struct step){ (uint32_t)bin, heaviest, 1 };
    if (fill_bin(packing, heaviest, instance->capacity - weight, waste))
        return true;
    packing->left[heaviest]++;
    packing->nsteps--;
    return false;
}

bool cv_fill_pack(struct cv_fill *trial, const uint32_t *take, struct cv_work *work)
{
    const struct cv_instance *instance = trial->instance;
    const size_t cells = (size_t)instance->nbins * instance->nsizes;
    struct cv_arena *arena = instance->arena;
    struct packing packing = { .instance = instance, .work = work };
    const cv_wide capacity = cv_instance_capacity(instance);
    cv_wide weight = 0;

    if (cells == 0 || cells > MOST_DEPTH)
        return false;
    if (!CV_NEW(arena, packing.left, instance->nsizes) ||
        !CV_NEW(arena, packing.lighter, cells) ||
        !CV_NEW(arena, packing.steps, cells + instance->nbins)) {
        trial->failed = true;
        return false;
    }
    memcpy(packing.left, take, instance->nsizes * sizeof *take);
    for (uint32_t s = 0; s < instance->nsizes; s++)
        weight += instance->sizes[s].weight * take[s];
    if (weight > capacity || !next_bin(&packing, capacity - weight))
        return false;
    cv_fill_clear(trial);
    for (size_t i = 0; i < packing.nsteps; i++)
        cv_fill_put(trial, packing.steps[i].bin, packing.steps[i].size,
                    packing.steps[i].count);
    return true;
}

/* --- bins filled one by one ----------------------------------------------------------------- */

/* The selection of the surrogate knapsack goes into bin after bin, each filled as far as a
 * subset goes (Pisinger, EJOR 114, 1999, does so for integers); items that do not fit are
 * replaced. Then each bin in turn is emptied and filled again, at best profit, from its own
 * items and unused ones. */

/* Work for one bin. */
#define FILL_WORK UINT64_C(20000)

static void put_best(struct cv_fill *fill, uint32_t bin, const struct cv_single *single)
{
    for (uint32_t i = 0; i < single->nitems; i++)
        cv_fill_put(fill, bin, single->items[i].tag, single->best[i]);
}

/* Fill one bin as far as possible with items of left[size]. */
static void pack_bin(struct cv_fill *fill, uint32_t bin, uint32_t *left,
                     struct cv_single *single, struct cv_work *work)
{
    const struct cv_instance *instance = fill->instance;
    const double capacity = cv_wide_double(fill->bins[bin].left);

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
    if (!(cv_single_solve(single, work).value > 0))
        return;
    for (uint32_t i = 0; i < single->nitems; i++)
        left[single->items[i].tag] -= single->best[i];
    put_best(fill, bin, single);
}

/* Selected items without a bin: the heaviest first, fullest bins first. */
static void pack_rest(struct cv_fill *fill, const uint32_t *left, struct cv_work *work)
{
    const struct cv_instance *instance = fill->instance;

    for (uint32_t s = 0; s < instance->nsizes; s++) {
        const cv_wide weight = instance->sizes[s].weight;
        uint32_t wanted = left[s];

        for (uint32_t b = 0; b < instance->nbins && wanted > 0; b++) {
            const uint32_t now = cv_wide_times(fill->bins[b].left, weight, wanted);

            cv_fill_put(fill, b, s, now);
            wanted -= now;
        }
        (void)cv_work_spend(work, instance->nbins);
    }
}

void cv_fill_split(struct cv_fill *fill, const uint32_t *take, struct cv_single *single,
                   struct cv_work *work)
{
    const struct cv_instance *instance = fill->instance;
    uint32_t *left = single->sizes;

    cv_fill_clear(fill);
    memcpy(left, take, instance->nsizes * sizeof *left);
    for (uint32_t b = 0; b < instance->nbins; b++)
        pack_bin(fill, b, left, single, work);
    pack_rest(fill, left, work);
    cv_fill_greedy(fill, work);
    cv_fill_count(fill);
}

/* Profit of the former parts of a bin that is empty now. */
static double parts_profit(const struct cv_fill *fill, const struct cv_fill_part *parts,
                           size_t nparts)
{
    double profit = 0;

    for (size_t i = 0; i < nparts; i++) {
        const uint32_t s = parts[i].size;

        profit += size_profit(fill->instance, s, fill->used[s] + parts[i].count) -
                  size_profit(fill->instance, s, fill->used[s]);
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
        const cv_wide weight = instance->sizes[segment->size].weight;
        const uint32_t left = cv_segment_left(segment, fill->used[segment->size]);

        if (left > 0 && weight <= single->capacity)
            cv_single_append(single, weight,
                             random == NULL ? segment->profit
                                            : segment->profit *
                                                  (0.9 + 0.2 * cv_random_uniform(random)),
                             left, segment->size);
    }
}

/* Empty a bin and fill it again at best profit. Returns the gain. */
static double refill_bin(struct cv_fill *fill, uint32_t bin, struct cv_single *single,
                         struct cv_work *work)
{
    struct cv_fill_bin *now = &fill->bins[bin];
    const struct cv_fill_bin old = *now;
    double value;

    cv_fill_empty_bin(fill, bin);
    now->parts = fill->spare.parts;
    now->capacity = fill->spare.capacity;
    fill->spare = old;
    single->floor = parts_profit(fill, old.parts, old.nparts);
    single->tolerance = 1e-12 * fill->profit;
    take_left(fill, bin, NULL, single);
    single->max = FILL_WORK + 4 * (uint64_t)single->nitems;
    (void)cv_work_spend(work, fill->instance->nsegments);
    value = cv_single_solve(single, work).value;
    if (value > single->floor + single->tolerance) {
        put_best(fill, bin, single);
        return value - single->floor;
    }
    for (size_t i = 0; i < old.nparts; i++)
        cv_fill_put(fill, bin, old.parts[i].size, old.parts[i].count);
    return 0;
}

void cv_fill_noisily(struct cv_fill *fill, struct cv_random *random,
                     struct cv_single *single, struct cv_work *work)
{
    for (uint32_t b = 0; b < fill->instance->nbins; b++) {
        if (fill->bins[b].nparts > 0)
            continue;
        take_left(fill, b, random, single);
        cv_single_sort(single);
        single->floor = 0;
        single->tolerance = 1e-12;
        single->max = FILL_WORK / 4;
        (void)cv_work_spend(work, fill->instance->nsegments);
        if (cv_single_solve(single, work).value > 0)
            put_best(fill, b, single);
    }
}

void cv_fill_improve(struct cv_fill *fill, const bool *only, struct cv_single *single,
                     struct cv_work *work)
{
    double gained = 1;

    cv_fill_count(fill);
    while (gained > 0 && work->left > 0) {
        gained = 0;
        for (uint32_t b = 0; b < fill->instance->nbins; b++)
            if (only == NULL || only[b])
                gained += refill_bin(fill, b, single, work);
        cv_fill_count(fill);
    }
}
