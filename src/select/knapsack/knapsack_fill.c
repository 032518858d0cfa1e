/* knapsack_fill.c -- items in bins, and the answer made of them.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack_fill.h"

#include <stdlib.h>
#include <string.h>
#include "base/compare.h"

bool cv_fill_init(struct cv_fill *fill, const struct cv_instance *instance)
{
    const size_t nbins = instance->nbins > 0 ? instance->nbins : 1;
    const size_t nsizes = instance->nsizes > 0 ? instance->nsizes : 1;

    *fill = (struct cv_fill){ .instance = instance };
    fill->bins = calloc(nbins, sizeof *fill->bins);
    fill->used = calloc(nsizes, sizeof *fill->used);
    if (fill->bins == NULL || fill->used == NULL) {
        free(fill->bins);
        free(fill->used);
        *fill = (struct cv_fill){ .instance = NULL };
        return false;
    }
    cv_fill_clear(fill);
    return true;
}

void cv_fill_done(struct cv_fill *fill)
{
    if (fill->instance == NULL)
        return;
    for (uint32_t b = 0; b < fill->instance->nbins; b++)
        free(fill->bins[b].parts);
    free(fill->bins);
    free(fill->used);
    fill->instance = NULL;
}

void cv_fill_clear(struct cv_fill *fill)
{
    const struct cv_instance *instance = fill->instance;

    for (uint32_t g = 0; g < instance->ngroups; g++)
        for (uint32_t i = 0; i < instance->groups[g].nbins; i++) {
            fill->bins[instance->groups[g].first + i].left = instance->groups[g].capacity;
            fill->bins[instance->groups[g].first + i].nparts = 0;
        }
    memset(fill->used, 0, instance->nsizes * sizeof *fill->used);
    fill->profit = 0;
}

bool cv_fill_copy(struct cv_fill *to, const struct cv_fill *from)
{
    const struct cv_instance *instance = from->instance;

    for (uint32_t b = 0; b < instance->nbins; b++) {
        const struct cv_fill_bin *source = &from->bins[b];
        struct cv_fill_bin *bin = &to->bins[b];

        if (!CV_ROOM(bin->parts, &bin->capacity, source->nparts))
            return false;
        if (source->nparts > 0)
            memcpy(bin->parts, source->parts, source->nparts * sizeof *bin->parts);
        bin->nparts = source->nparts;
        bin->left = source->left;
    }
    memcpy(to->used, from->used, instance->nsizes * sizeof *to->used);
    to->profit = from->profit;
    return true;
}

bool cv_fill_put(struct cv_fill *fill, uint32_t bin, uint32_t size, uint32_t count)
{
    struct cv_fill_bin *to = &fill->bins[bin];

    if (count == 0)
        return true;
    if (to->nparts > 0 && to->parts[to->nparts - 1].size == size) {
        to->parts[to->nparts - 1].count += count;
    } else {
        if (!CV_ROOM(to->parts, &to->capacity, to->nparts + 1))
            return false;
        to->parts[to->nparts++] = (struct cv_fill_part){ size, count };
    }
    to->left -= fill->instance->sizes[size].weight * count;
    fill->used[size] += count;
    return true;
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

double cv_fill_count(struct cv_fill *fill)
{
    fill->profit = 0;
    for (uint32_t s = 0; s < fill->instance->nsizes; s++)
        fill->profit += cv_size_profit(fill->instance, s, fill->used[s]);
    return fill->profit;
}

/* The fullest bin with room for a weight, the first of equals; UINT32_MAX: none. */
static uint32_t fullest(const struct cv_fill *fill, cv_wide weight)
{
    const uint32_t *real = fill->instance->bin;
    uint32_t best = UINT32_MAX;

    for (uint32_t b = 0; b < fill->instance->nbins; b++) {
        const cv_wide left = fill->bins[b].left;

        if (left < weight)
            continue;
        if (best == UINT32_MAX || left < fill->bins[best].left ||
            (left == fill->bins[best].left && real[b] < real[best]))
            best = b;
    }
    return best;
}

bool cv_fill_greedy(struct cv_fill *fill, struct cv_work *work)
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
                /* Nothing has room: lighter items only from here on. */
                roomiest = size->weight - 1;
                break;
            }
            now = cv_wide_times(fill->bins[b].left, size->weight, left);
            if (!cv_fill_put(fill, b, s, now))
                return false;
            left -= now;
        }
    }
    return true;
}

/* --- the answer ----------------------------------------------------------------------- */

/* Which segment of a size is handed out next. */
struct hand_out {
    uint32_t segment, given;
};

CV_ORDER_BY(by_class, struct cv_knapsack_part, item_class)

/* Sort the parts of a bin and join those of one class; returns how many are left. */
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
    uint32_t *place = cv_array(arena, problem->nbins, sizeof *place);
    size_t max = instance->nsegments, n = 0;

    for (uint32_t b = 0; b < instance->nbins; b++)
        max += fill->bins[b].nparts;
    if (hand_out == NULL || place == NULL ||
        !CV_NEW(arena, out->first, (size_t)problem->nbins + 1) ||
        !CV_NEW(arena, out->parts, max))
        return false;
    for (uint32_t b = 0; b < instance->nbins; b++)
        place[instance->bin[b]] = b + 1;
    for (uint32_t b = 0; b < problem->nbins; b++) {
        out->first[b] = n;
        if (place[b] > 0)
            n += write_parts(fill, place[b] - 1, hand_out, out->parts + n);
    }
    out->first[problem->nbins] = n;
    return add_up(problem, arena, out);
}

/* --- two bins packed anew to find room for a better item --------------------------- */

/* An item in no bin may be heavier than what is left in any bin, but not than what is left
 * in two of them together; or it may be worth more than an item in one of them. Whether
 * the items of both then fit is a subset sum: some of them must fill the first bin so far
 * that the others fit into the second. */

/* Items looked at for a pair of bins, and work for one subset sum. */
enum { CANDIDATES = 6, PAIR_WORK = 2000 };

struct pair {
    struct cv_fill *fill;
    struct cv_single_workspace *room;
    struct cv_work *work;
    struct cv_single single;
    uint32_t one, two;          /* bins                                   */
    cv_wide full_one, full_two; /* their capacities                       */
    cv_wide weight;             /* of all their items                     */
    uint32_t *count;            /* per size: items in both together       */
    uint32_t *sizes, nsizes;    /* those with any, the heaviest first     */
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
    const cv_wide less = out == UINT32_MAX ? 0 : sizes[out].weight;
    const cv_wide all = pair->weight + sizes[in].weight - less;
    struct cv_single *single = &pair->single;
    struct cv_single_result result;
    cv_wide first = 0;

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

/* --- find room for all of a selection, or none ------------------------------------- */

/* What the surrogate knapsack selects is the optimum if it can be packed, and it leaves
 * little capacity unused. So bins are filled one after the other, each with the heaviest
 * item that is left (in some bin it must be) and every set of others that wastes no more
 * than what may still be wasted in all. Depth first, with limited work. */

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
    uint32_t *filled; /* per group: bins                            */
    cv_wide *lighter; /* per bin and size: what is left from it on  */
    struct step *steps;
    size_t nsteps;
};

static bool next_bin(struct packing *packing, cv_wide waste);

/* Go on filling a bin of `group` with sizes from `size` on. */
static bool fill_bin(struct packing *packing, uint32_t group, uint32_t size, cv_wide rest,
                     cv_wide waste)
{
    const struct cv_instance *instance = packing->instance;
    const uint32_t bin = instance->groups[group].first + packing->filled[group];
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
        packing->filled[group]++;
        found = next_bin(packing, waste - rest);
        if (!found)
            packing->filled[group]--;
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
        if (fill_bin(packing, group, size + 1,
                     rest - instance->sizes[size].weight * count, waste))
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
    uint32_t heaviest = 0;

    while (heaviest < instance->nsizes && packing->left[heaviest] == 0)
        heaviest++;
    if (heaviest == instance->nsizes)
        return true;
    for (uint32_t g = 0; g < instance->ngroups; g++) {
        const struct cv_knapsack_group *group = &instance->groups[g];
        const cv_wide weight = instance->sizes[heaviest].weight;
        const size_t bin = group->first + packing->filled[g];
        cv_wide *lighter = packing->lighter + bin * instance->nsizes, sum = 0;

        if (packing->filled[g] == group->nbins || group->capacity < weight)
            continue;
        packing->left[heaviest]--;
        for (uint32_t s = instance->nsizes; s-- > 0;) {
            sum += instance->sizes[s].weight * packing->left[s];
            lighter[s] = sum;
        }
        (void)cv_work_spend(packing->work, instance->nsizes);
        packing->steps[packing->nsteps++] = (struct step){ (uint32_t)bin, heaviest, 1 };
        if (fill_bin(packing, g, heaviest, group->capacity - weight, waste))
            return true;
        packing->left[heaviest]++;
        packing->nsteps--;
    }
    return false;
}

static bool search(struct packing *packing, const uint32_t *take, struct cv_fill *trial,
                   bool *packed)
{
    const struct cv_instance *instance = packing->instance;
    cv_wide capacity = 0, weight = 0;

    *packed = false;
    memcpy(packing->left, take, instance->nsizes * sizeof *take);
    for (uint32_t g = 0; g < instance->ngroups; g++)
        capacity += instance->groups[g].capacity * instance->groups[g].nbins;
    for (uint32_t s = 0; s < instance->nsizes; s++)
        weight += instance->sizes[s].weight * take[s];
    if (weight > capacity || !next_bin(packing, capacity - weight))
        return true;
    cv_fill_clear(trial);
    for (size_t i = 0; i < packing->nsteps; i++)
        if (!cv_fill_put(trial, packing->steps[i].bin, packing->steps[i].size,
                         packing->steps[i].count))
            return false;
    *packed = true;
    return true;
}

bool cv_fill_pack(struct cv_fill *trial, const uint32_t *take, struct cv_work *work,
                  bool *packed)
{
    const struct cv_instance *instance = trial->instance;
    const size_t cells = (size_t)instance->nbins * instance->nsizes;
    struct packing packing = { .instance = instance, .work = work };
    bool made;

    *packed = false;
    if (cells == 0 || cells > MOST_DEPTH)
        return true;
    packing.left = calloc(instance->nsizes, sizeof *packing.left);
    packing.filled = calloc(instance->ngroups, sizeof *packing.filled);
    packing.lighter = calloc(cells, sizeof *packing.lighter);
    packing.steps = calloc(cells + instance->nbins, sizeof *packing.steps);
    made = packing.left != NULL && packing.filled != NULL && packing.lighter != NULL &&
           packing.steps != NULL && search(&packing, take, trial, packed);
    free(packing.left);
    free(packing.filled);
    free(packing.lighter);
    free(packing.steps);
    return made;
}

/* --- a selection made to fit, and bins filled anew --------------------------------- */

/* The items which the surrogate knapsack selects are put into bin after bin, each filled
 * as far as a subset of them goes (Pisinger, EJOR 114, 1999, does so for integers); what
 * does not fit is replaced. Then each bin in turn is emptied and filled again, at best
 * profit, from its own items and those in no bin. */

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
        const cv_wide weight = instance->sizes[s].weight;
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
