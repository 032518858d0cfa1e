/* knapsack_single.c -- one bin: depth-first search in the order of density.
 * SPDX-License-Identifier: MIT
 *
 * Items are taken greedily; then the last ones taken are given back, one at a time, and
 * what follows is tried again, unless filling the rest at the density of the next item
 * would not lead beyond the best so far (Horowitz and Sahni, J. ACM 21(2), 1974, with
 * counts). Exponential at worst, so work is limited; the open branches then give the
 * bound. */
#include "select/knapsack/knapsack_internal.h"

#include <stdlib.h>

/* Items taken, and what there was before. */
struct taken {
    cv_parallel_decoder rest;
    double profit;
    uint32_t item, count;
};

struct cv_single_workspace {
    struct taken *stack;
    cv_parallel_decoder *total,
        *lightest; /* of an item's copies; of it and all after it */
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

void cv_single_append(struct cv_single *single, cv_parallel_decoder weight, double profit,
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
    cv_parallel_decoder rest;
    double profit, best;
    uint32_t next; /* item */
    bool found;
};

/* The bound of what items from `next` on can add to `rest`. */
static double relaxed(const struct search *search, uint32_t next,
                      cv_parallel_decoder rest)
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

static void take(struct search *search, uint32_t item, uint32_t count,
                 cv_parallel_decoder weight)
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
    room->lightest[single->nitems] = ~(cv_parallel_decoder)0;
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
