/* items.c -- longest first to the worker that would end it soonest.
 * SPDX-License-Identifier: MIT
 *
 * Items cannot be divided. The items left are shared out as if costs were known: the
 * longest first, each to the worker that would end it soonest,
 *
 *     free(w) + start(w) + size / pace(w),
 *
 * and then improved. With links that matter, one worker gets its items by Johnson's rule, and
 * for few items all orders of sending are tried. Else a worker does its share from the
 * longest item. So a slow worker
 * gets the largest items that do not make it last, or none. If items take more or less
 * time than expected, the rest is shared out again: after every item at the end, less
 * often while many are left, and at once if a worker has nothing to do or another one is
 * late.
 *
 * Costs are those declared. Without declared costs (real runs), or with trust = 0, start
 * + size / pace is fitted while running; a worker that has done nothing gets the mean of
 * the others. Long items would go to unknown slow workers: each begins with one that it
 * ends in time even if it is eight times slower. Long items alone cannot separate start
 * and pace: with many items, a worker begins with some of mean size and some of the
 * smallest, in turn.
 *
 * O(workers) for a decision, and 64 times that on average for sharing out again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/bisect.h"
#include "base/compare.h"
#include "policy/common/setup.h"
#include "policy/pull/learn.h"

struct item_worker {
    bool out;                   /* gets nothing                                     */
    double ready_s;             /* when it can compute another item */
    double start_s, pace_s;     /* computing: per item, and per unit                 */
    double link_s, link_pace_s; /* sending: per item, and per unit */
    double price;  /* of its time, if items of some sizes belong to some workers */
    double end_s;  /* with its share                                    */
    double port_s; /* its own link is busy until then */
    double slot_s; /* another item may be sent, if the order is planned */
};

struct item_shares {
    const double *sizes;   /* borrowed: by item                                 */
    const uint32_t *order; /* borrowed: rank -> item, the longest first         */
    uint32_t nitems;
    uint32_t *left, nleft;      /* ranks that no worker has, in order */
    uint32_t *owner, *trial;    /* rank -> worker; a list for trials */
    uint32_t *sequence, *other; /* ranks left in the order of sending; one for trials */
    uint32_t *member, *begin; /* scratch: ranks by worker, and where each worker begins */
    uint32_t *by_start, npresent; /* scratch: workers that are not out */
    struct item_worker *workers;
    uint32_t nworkers;
    bool shares_port; /* links cannot be used at the same time             */
    bool linked;      /* sending takes time that matters                   */
    bool planned;     /* so is the order of sending */
};

static double cost_of(const struct item_worker *worker, double units)
{
    return worker->start_s + units * worker->pace_s;
}

/* Ends that differ by less than this part are equal. */
static const double SAME = 1e-9;
/* Steps of the search for the end of ranges of sizes. */
enum { WIDENINGS = 60, HALVINGS = 24 };

enum { NOBODY = UINT32_MAX };

struct sized {
    double size;
    uint32_t item;
};

CV_ORDER_DOWN_BY(longer_first, struct sized, size, item)

/* Ranks of items by size, the longest first, ties by index; NULL: no memory. */
static uint32_t *item_order(const double *sizes, uint32_t nitems, struct cv_arena *arena)
{
    struct sized *sorted = cv_array(arena, nitems, sizeof *sorted);
    uint32_t *order = cv_array(arena, nitems, sizeof *order);

    if (sorted == NULL || order == NULL)
        return NULL;
    for (uint32_t i = 0; i < nitems; i++)
        sorted[i] = (struct sized){ sizes[i], i };
    qsort(sorted, nitems, sizeof *sorted, longer_first);
    for (uint32_t i = 0; i < nitems; i++)
        order[i] = sorted[i].item;
    return order;
}

static bool item_shares_init(struct item_shares *shares, struct cv_arena *arena)
{
    const uint32_t n = shares->nitems;

    if (!CV_NEW(arena, shares->left, n) || !CV_NEW(arena, shares->owner, n) ||
        !CV_NEW(arena, shares->trial, n) || !CV_NEW(arena, shares->sequence, n) ||
        !CV_NEW(arena, shares->other, n) ||
        !CV_NEW(arena, shares->workers, shares->nworkers) ||
        !CV_NEW(arena, shares->member, n) ||
        !CV_NEW(arena, shares->begin, shares->nworkers + 1u) ||
        !CV_NEW(arena, shares->by_start, shares->nworkers))
        return false;
    for (uint32_t rank = 0; rank < n; rank++)
        shares->left[rank] = rank;
    shares->nleft = n;
    return true;
}

static double size_of(const struct item_shares *shares, uint32_t rank)
{
    return shares->sizes[shares->order[rank]];
}

static void clear(struct item_shares *shares, double now_s)
{
    for (uint32_t w = 0; w < shares->nworkers; w++) {
        struct item_worker *worker = &shares->workers[w];

        worker->end_s = fmax(worker->ready_s, now_s);
        worker->port_s = now_s;
        worker->slot_s = now_s;
    }
}

/* When an item of the worker has arrived that is sent after its share. */
static double arrival(const struct item_worker *worker, double units, double port_s)
{
    return fmax(port_s, worker->slot_s) + worker->link_s + units * worker->link_pace_s;
}

/* When the worker would end an item after its share. With a link in between, an item
 * is sent while the previous one is computed; the link is free at port_s. */
static double end_with(const struct item_shares *shares, const struct item_worker *worker,
                       double units, double port_s)
{
    const double cost_s = cost_of(worker, units);
    double begin_s = worker->end_s;

    if (shares->linked)
        begin_s = fmax(begin_s, arrival(worker, units, port_s));
    return begin_s + cost_s;
}

static void add(const struct item_shares *shares, struct item_worker *worker,
                double units, double *shared_s)
{
    const double port_s = shares->shares_port ? *shared_s : worker->port_s;
    const double end_s = end_with(shares, worker, units, port_s);

    worker->port_s = arrival(worker, units, port_s);
    if (shares->planned)
        worker->slot_s = worker->end_s; /* the item before is done */
    worker->end_s = end_s;
    *shared_s = worker->port_s;
}

static double latest(const struct item_shares *shares, uint32_t *out)
{
    double end_s = -1;

    for (uint32_t w = 0; w < shares->nworkers; w++)
        if (!shares->workers[w].out && shares->workers[w].end_s > end_s) {
            end_s = shares->workers[w].end_s;
            *out = w;
        }
    return end_s;
}

/* The end with these owners, sent in this order; INFINITY if a worker that is out has a
 * share. */
static double end_of(struct item_shares *shares, const uint32_t *owner,
                     const uint32_t *sequence, double now_s)
{
    double shared_s = now_s;
    uint32_t last = 0;

    clear(shares, now_s);
    for (uint32_t k = 0; k < shares->nleft; k++) {
        struct item_worker *worker = &shares->workers[owner[sequence[k]]];

        if (worker->out)
            return INFINITY;
        add(shares, worker, size_of(shares, sequence[k]), &shared_s);
    }
    return latest(shares, &last);
}

/* Sort workers by a start in units: small items belong to workers with short starts.
 * False: workers differ in speed only, and the order does not matter. */
static bool sort_by_start(struct item_shares *shares)
{
    double min = INFINITY, max = 0;
    uint32_t n = 0;

    for (uint32_t w = 0; w < shares->nworkers; w++) {
        const struct item_worker *worker = &shares->workers[w];
        const double key = worker->start_s / worker->pace_s;
        uint32_t at = n;

        if (worker->out)
            continue;
        for (; at > 0; at--) {
            const struct item_worker *before = &shares->workers[shares->by_start[at - 1]];

            if (before->start_s / before->pace_s <= key)
                break;
            shares->by_start[at] = shares->by_start[at - 1];
        }
        shares->by_start[at] = w;
        min = fmin(min, key);
        max = fmax(max, key);
        n++;
    }
    shares->npresent = n;
    return max > min * (1 + SAME);
}

/* From the smallest item, fill one worker after the other until `end_s`, and set
 * prices by the size at which one follows the other. False: that is too early. */
static bool fill(struct item_shares *shares, double now_s, double end_s)
{
    uint32_t k = shares->nleft;
    double price = 1;

    for (uint32_t i = 0; i < shares->npresent; i++) {
        struct item_worker *worker = &shares->workers[shares->by_start[i]];
        double at_s = fmax(worker->ready_s, now_s), units = 0;

        if (i > 0) {
            const double edge = k < shares->nleft ? size_of(shares, shares->left[k]) : 0;
            const struct item_worker *before = &shares->workers[shares->by_start[i - 1]];
            const double cost_s = cost_of(worker, edge);

            if (cost_s > 0)
                price *= cost_of(before, edge) / cost_s;
        }
        worker->price = price;
        while (k > 0) {
            units = size_of(shares, shares->left[k - 1]);
            at_s += cost_of(worker, units);
            if (at_s > end_s)
                break;
            k--;
        }
    }
    return k == 0;
}

/* Prices of the workers' time at which divisible items would go where they cost least
 * and all would end together: a range of sizes for each worker. */
static void find_prices(struct item_shares *shares, double now_s)
{
    double low_s = 0, high_s = INFINITY;

    for (uint32_t w = 0; w < shares->nworkers; w++)
        if (!shares->workers[w].out)
            high_s = fmin(high_s, shares->workers[w].end_s);
    low_s = now_s;
    high_s = fmax(high_s, now_s);
    for (int i = 0; i < WIDENINGS && !fill(shares, now_s, high_s); i++)
        high_s = now_s + 2 * (high_s - now_s) + SAME;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle_s = low_s + (high_s - low_s) / 2;

        if (fill(shares, now_s, middle_s))
            high_s = middle_s;
        else
            low_s = middle_s;
    }
    fill(shares, now_s, high_s);
}

/* Each item, the longest first, to the worker that would end it soonest; among several
 * to the fastest. Excludes workers where it costs more than `dear` times the least
 * cost. */
static void spread(struct item_shares *shares, double now_s, double dear)
{
    double shared_s = now_s;

    clear(shares, now_s);
    for (uint32_t k = 0; k < shares->nleft; k++) {
        const double units = size_of(shares, shares->left[k]);
        double best_s = INFINITY, best_cost_s = INFINITY, min = INFINITY;
        uint32_t best = NOBODY;

        for (uint32_t w = 0; w < shares->nworkers && isfinite(dear); w++)
            if (!shares->workers[w].out)
                min = fmin(min, shares->workers[w].price *
                                    cost_of(&shares->workers[w], units));
        for (uint32_t w = 0; w < shares->nworkers; w++) {
            const struct item_worker *worker = &shares->workers[w];
            const double cost_s = cost_of(worker, units);
            double end_s;

            if (worker->out || (isfinite(dear) && worker->price * cost_s > dear * min))
                continue;
            end_s = end_with(shares, worker, units,
                             shares->shares_port ? shared_s : worker->port_s);
            if (best == NOBODY || end_s < best_s ||
                (end_s == best_s && cost_s < best_cost_s)) {
                best = w;
                best_s = end_s;
                best_cost_s = cost_s;
            }
        }
        shares->trial[shares->left[k]] = best;
        add(shares, &shares->workers[best], units, &shared_s);
    }
}

/* An item that leaves the last worker, maybe in exchange for another one. */
struct exchange {
    uint32_t rank, other; /* other: NOBODY for none */
    uint32_t to;
    double end_s; /* the later end of the two workers */
};

static void consider(struct exchange *best, struct exchange other)
{
    if (other.end_s < best->end_s)
        *best = other;
}

/* Ranks by worker: those of w are member[begin[w]] to member[begin[w + 1] - 1]. */
static void gather_members(struct item_shares *shares)
{
    uint32_t *begin = shares->begin;

    for (uint32_t w = 0; w <= shares->nworkers; w++)
        begin[w] = 0;
    for (uint32_t k = 0; k < shares->nleft; k++)
        begin[shares->trial[shares->left[k]] + 1]++;
    for (uint32_t w = 0; w < shares->nworkers; w++)
        begin[w + 1] += begin[w];
    for (uint32_t k = shares->nleft; k-- > 0;) {
        const uint32_t w = shares->trial[shares->left[k]];

        shares->member[--begin[w + 1]] = shares->left[k];
    }
    /* begin[w + 1] was decreased to the beginning of w. */
    for (uint32_t w = 0; w < shares->nworkers; w++)
        begin[w] = begin[w + 1];
    begin[shares->nworkers] = shares->nleft;
}

/* The first member of a worker with at most `units` units. */
static uint32_t first_below(const struct item_shares *shares, uint32_t worker,
                            double units)
{
    const uint32_t begin = shares->begin[worker], end = shares->begin[worker + 1];
    uint32_t larger;

    CV_BISECT(larger, end - begin, i, size_of(shares, shares->member[begin + i]) > units);
    return begin + larger;
}

/* The best change for one item of the last worker and another worker: it moves there,
 * or changes places with one that is smaller by what lets the two end together. */
static void look_at(const struct item_shares *shares, uint32_t last, uint32_t rank,
                    uint32_t w, struct exchange *best)
{
    const struct item_worker *from = &shares->workers[last], *to = &shares->workers[w];
    const double units = size_of(shares, rank), cost_s = cost_of(from, units);
    const double less = (from->end_s - to->end_s) / (from->pace_s + to->pace_s);
    const uint32_t near = first_below(shares, w, units - less);

    consider(best, (struct exchange){
                       rank, NOBODY, w,
                       fmax(from->end_s - cost_s, to->end_s + cost_of(to, units)) });
    for (uint32_t k = near > shares->begin[w] ? near - 1 : near;
         k <= near && k < shares->begin[w + 1]; k++) {
        const double others = size_of(shares, shares->member[k]);

        consider(best, (struct exchange){
                           rank, shares->member[k], w,
                           fmax(from->end_s - cost_s + cost_of(from, others),
                                to->end_s - cost_of(to, others) + cost_of(to, units)) });
    }
}

static void carry_out(struct item_shares *shares, uint32_t last,
                      const struct exchange *best)
{
    struct item_worker *from = &shares->workers[last], *to = &shares->workers[best->to];
    const double units = size_of(shares, best->rank);

    shares->trial[best->rank] = best->to;
    from->end_s -= cost_of(from, units);
    to->end_s += cost_of(to, units);
    if (best->other == NOBODY)
        return;
    shares->trial[best->other] = last;
    from->end_s += cost_of(from, size_of(shares, best->other));
    to->end_s -= cost_of(to, size_of(shares, best->other));
}

/* Let the last worker end earlier while that is possible: every step lowers the later
 * end of two workers. Returns the looks left. */
static uint64_t improve(struct item_shares *shares, uint64_t looks)
{
    for (;;) {
        uint32_t last = 0;
        const double end_s = latest(shares, &last);
        struct exchange best = { .end_s = end_s * (1 - SAME), .to = NOBODY };
        uint64_t cost;

        gather_members(shares);
        cost = shares->nleft + (uint64_t)shares->nworkers *
                                   (shares->begin[last + 1] - shares->begin[last]);
        if (looks < cost)
            return 0;
        looks -= cost;
        for (uint32_t k = shares->begin[last]; k < shares->begin[last + 1]; k++)
            for (uint32_t w = 0; w < shares->nworkers; w++)
                if (w != last && !shares->workers[w].out)
                    look_at(shares, last, shares->member[k], w, &best);
        if (best.to == NOBODY)
            return looks;
        carry_out(shares, last, &best);
    }
}

/* Johnson's rule for a link and a processor: first the items that are sent faster than
 * computed, by growing time of sending; then the rest, by falling time of computing. */
static bool is_sent_before(const struct item_shares *shares, uint32_t rank,
                           uint32_t other)
{
    const struct item_worker *a = &shares->workers[shares->trial[rank]],
                             *b = &shares->workers[shares->trial[other]];
    const double x = size_of(shares, rank), y = size_of(shares, other);
    const double x_link_s = a->link_s + x * a->link_pace_s, x_s = cost_of(a, x),
                 y_link_s = b->link_s + y * b->link_pace_s, y_s = cost_of(b, y);

    return fmin(x_link_s, y_s) < fmin(y_link_s, x_s);
}

/* Insertion, at most `looks` steps; returns the rest. */
static uint64_t sort_for_links(const struct item_shares *shares, uint64_t looks)
{
    for (uint32_t k = 1; k < shares->nleft && looks > k; k++) {
        const uint32_t rank = shares->other[k];
        uint32_t at = k;

        for (; at > 0 && is_sent_before(shares, rank, shares->other[at - 1]); at--)
            shares->other[at] = shares->other[at - 1];
        shares->other[at] = rank;
        looks -= k - at;
    }
    return looks;
}

/* Move the item at place `from` to place `to`. */
static void move(uint32_t *sequence, uint32_t from, uint32_t to)
{
    const uint32_t rank = sequence[from];

    for (; from < to; from++)
        sequence[from] = sequence[from + 1];
    for (; from > to; from--)
        sequence[from] = sequence[from - 1];
    sequence[to] = rank;
}

/* As improve, with links: an item of the last worker goes to any worker and place. */
static uint64_t improve_sent(struct item_shares *shares, double now_s, uint64_t looks)
{
    uint32_t last = 0;
    double end_s = end_of(shares, shares->trial, shares->other, now_s);
    bool better = true;

    while (better) {
        better = false;
        (void)end_of(shares, shares->trial, shares->other, now_s);
        (void)latest(shares, &last);
        for (uint32_t k = 0; k < shares->nleft && !better; k++) {
            const uint32_t rank = shares->other[k];

            for (uint32_t i = 0; i < shares->nleft * shares->nworkers && !better &&
                                 shares->trial[rank] == last;
                 i++) {
                const uint32_t to = i / shares->nworkers;

                if (looks < shares->nleft)
                    return 0;
                looks -= shares->nleft;
                shares->trial[rank] = i % shares->nworkers;
                move(shares->other, k, to);
                if (end_of(shares, shares->trial, shares->other, now_s) <
                    end_s * (1 - SAME)) {
                    end_s = end_of(shares, shares->trial, shares->other, now_s);
                    better = true;
                    break;
                }
                move(shares->other, to, k);
                shares->trial[rank] = last;
            }
        }
    }
    return looks;
}

/* --- few items with links: all orders and owners ------------------------------------- */

enum { FEW_ITEMS = 8 };
/* With links a look takes this many times as long. */
enum { LINK_LOOK = 8 };

struct all_orders {
    struct item_shares *shares;
    uint32_t sequence[FEW_ITEMS], owner[FEW_ITEMS]; /* by place in the order */
    uint32_t count;
    uint64_t looks;       /* items and workers that may be tried */
    bool sent[FEW_ITEMS]; /* by place among the ranks left */
    double end_s;         /* of the best in shares->other, trial */
};

/* No end is sooner: each item left on its best worker, all on all workers. */
static double soonest(const struct all_orders *all, double shared_s)
{
    const struct item_shares *shares = all->shares;
    double end_s = 0, sum_s = 0, present = 0;

    for (uint32_t w = 0; w < shares->nworkers; w++)
        if (!shares->workers[w].out) {
            sum_s += shares->workers[w].end_s;
            present++;
        }
    for (uint32_t k = 0; k < shares->nleft; k++) {
        double item_s = INFINITY, cost_s = INFINITY;

        for (uint32_t w = 0; w < shares->nworkers && !all->sent[k]; w++) {
            const struct item_worker *worker = &shares->workers[w];
            const double units = size_of(shares, shares->left[k]);

            if (worker->out)
                continue;
            cost_s = fmin(cost_s, cost_of(worker, units));
            item_s =
                fmin(item_s, end_with(shares, worker, units,
                                      shares->shares_port ? shared_s : worker->port_s));
        }
        if (!all->sent[k]) {
            end_s = fmax(end_s, item_s);
            sum_s += cost_s;
        }
    }
    return fmax(end_s, sum_s / present);
}

/* An earlier worker is in the same state. */
static bool is_alike(const struct item_shares *shares, uint32_t worker)
{
    const struct item_worker *b = &shares->workers[worker];

    for (uint32_t w = 0; w < worker; w++) {
        const struct item_worker *a = &shares->workers[w];

        if (!a->out && a->start_s == b->start_s && a->pace_s == b->pace_s &&
            a->link_s == b->link_s && a->link_pace_s == b->link_pace_s &&
            a->end_s == b->end_s && a->port_s == b->port_s && a->slot_s == b->slot_s)
            return true;
    }
    return false;
}

/* Send each item left to each worker next. Without a shared port workers are served one
 * after the other. */
static void try_all(struct all_orders *all, double shared_s, double end_s)
{
    struct item_shares *shares = all->shares;
    const uint32_t first =
        shares->shares_port || all->count == 0 ? 0 : all->owner[all->count - 1];
    const uint64_t cost = (uint64_t)shares->nleft * shares->nworkers;

    if (all->count == shares->nleft) {
        all->end_s = end_s;
        for (uint32_t k = 0; k < all->count; k++) {
            shares->other[k] = all->sequence[k];
            shares->trial[all->sequence[k]] = all->owner[k];
        }
        return;
    }
    if (all->looks < cost ||
        !(fmax(end_s, soonest(all, shared_s)) < all->end_s * (1 - SAME)))
        return;
    all->looks -= cost;
    for (uint32_t k = 0; k < shares->nleft; k++)
        for (uint32_t w = first; w < shares->nworkers && !all->sent[k]; w++) {
            struct item_worker *worker = &shares->workers[w], before = *worker;
            double port_s = shared_s;

            if (worker->out || (shares->shares_port && is_alike(shares, w)))
                continue;
            add(shares, worker, size_of(shares, shares->left[k]), &port_s);
            all->sequence[all->count] = shares->left[k];
            all->owner[all->count++] = w;
            all->sent[k] = true;
            if (fmax(end_s, worker->end_s) < all->end_s * (1 - SAME))
                try_all(all, port_s, fmax(end_s, worker->end_s));
            all->sent[k] = false;
            all->count--;
            *worker = before;
        }
}

/* Keep the trial if it ends earlier. */
static bool keep_trial(struct item_shares *shares, double tried_s, double *end_s)
{
    uint32_t *owner = shares->owner, *sequence = shares->sequence;

    if (!(tried_s < *end_s * (1 - SAME)) && isfinite(*end_s))
        return false;
    *end_s = tried_s;
    shares->owner = shares->trial;
    shares->trial = owner;
    shares->sequence = shares->other;
    shares->other = sequence;
    return true;
}

/* Share out the rest again if that ends earlier, or if `fresh` is set. `looks`:
 * exchanges that may be tried. `sure`: declared costs are used; then the order of sending is
 * planned for one worker and for few items. With many items on several workers the longest
 * stay first: that order leaves short items for the end, when costs have turned out. */
static void item_shares_make(struct item_shares *shares, double now_s, bool fresh,
                             bool sure, uint64_t looks)
{
    static const double dear[] = { INFINITY, 1.5, 1.1, 1.02, 1.002 };
    const bool starts = sort_by_start(shares);
    const size_t left = shares->nleft * sizeof *shares->left;
    struct all_orders all = { .shares = shares, .looks = looks };
    double end_s;

    shares->planned =
        sure && shares->linked && (shares->nleft <= FEW_ITEMS || shares->npresent == 1);
    end_s = fresh ? INFINITY : end_of(shares, shares->owner, shares->sequence, now_s);
    if (shares->planned)
        looks /= LINK_LOOK;
    for (size_t i = 0; i < (starts ? sizeof dear / sizeof *dear : 1); i++) {
        uint32_t last = 0;

        if (i == 1)
            find_prices(shares, now_s);
        spread(shares, now_s, dear[i]);
        if (!shares->linked)
            looks = improve(shares, looks);
        memcpy(shares->other, shares->left, left);
        if (keep_trial(shares, latest(shares, &last), &end_s))
            memcpy(shares->trial, shares->owner, shares->nitems * sizeof *shares->trial);
        if (!shares->planned)
            continue;
        memcpy(shares->other, shares->left, left);
        looks = improve_sent(shares, now_s, sort_for_links(shares, looks));
        keep_trial(shares, end_of(shares, shares->trial, shares->other, now_s), &end_s);
    }
    if (!shares->planned || shares->nleft > FEW_ITEMS)
        return;
    all.end_s = end_s;
    clear(shares, now_s);
    try_all(&all, now_s, 0);
    if (all.end_s < end_s)
        keep_trial(shares, all.end_s, &end_s);
}

/* --- the policy --------------------------------------------------------------------- */

/* Shared out again after this part of the items left: 1/64. */
enum { SHARES = 64u };
/* Exchanges that are tried at first, and later. */
enum { FIRST_LOOKS = 4000000, LOOKS = 100000 };
/* With MANY items left per worker, a probe costs nothing; at most PROBES are needed. */
enum { MANY = 32, PROBES = 6 };
/* A worker of unknown speed may be this many times slower than the others. */
static const double SLOWER = 8;
/* Sending ahead begins if the link takes this part of the time. */
static const double LINK_MATTERS = 0.01;
/* Least weight of an item, as part of the mean: empty ones take time, too. */
static const double LEAST_SIZE = 1e-3;
/* Weight that older items keep at a new one: about fifty count, as their noise is
 * independent. */
static const double KEPT = 0.98;
/* An item whose time differs by more than this part is not as expected. */
static const double AS_EXPECTED = 1e-6;

struct items {
    double trust;
    uint32_t *order, *rank;        /* rank -> item, item -> rank */
    double min;                    /* units added to every item if costs are fitted */
    struct cv_learned_costs known; /* running items, and learnt costs */
    struct item_shares shares;
    bool *given;            /* by rank                                                 */
    uint32_t *next, *first; /* rank -> the next of its worker; worker -> its first */
    uint32_t *place;        /* rank -> in the order of sending */
    uint32_t shared;        /* ranks left when items were shared out */
    uint32_t *ndone;        /* by worker: items done                                   */
    uint32_t probes;        /* number of first items of a worker that are probes */
    uint32_t small, usual;  /* ranks: all after `small` are given; probes of mean size */
    uint32_t nleft;         /* items that no worker has */
    uint64_t since;         /* items done or lost since then                           */
    bool stale;             /* an item was not as expected since then */
    bool known_now;         /* a worker that was unknown is known */
    bool fresh;             /* shares cannot be kept: a worker came or was lost */
    bool told, learns;      /* declared costs are used at first; measured ones later */
    bool port_busy;
    uint64_t sending;
    double look_s; /* a CLEAVE_WAKE is ordered for this time; 0: none is */
};

static enum cleave_status items_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct items *items = state;

    if (view->nitems >= UINT32_MAX)
        return cv_fail(err, CLEAVE_EINPUT, "expected fewer than %u items", UINT32_MAX);
    items->order = item_order(view->sizes, (uint32_t)view->nitems, setup->arena);
    if (!CV_NEW(setup->arena, items->rank, view->nitems) || items->order == NULL)
        return cv_fail_memory(err, "the order of items");
    for (uint32_t k = 0; k < view->nitems; k++)
        items->rank[items->order[k]] = k;
    items->min =
        view->units_total > 0 ? LEAST_SIZE * view->units_total / (double)view->nitems : 1;
    return CLEAVE_OK;
}

static struct cv_fit declared(double latency_s, double rate_ups)
{
    return (struct cv_fit){ .latency_s = latency_s, .rate_ups = rate_ups, .sure = true };
}

static enum cleave_status items_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct items *items = state;
    const uint32_t n = (uint32_t)view->nitems;

    CV_TRY(cv_learned_costs_init(&items->known, view, setup, err));
    items->told = items->trust > 0 && (!view->real || view->measured);
    items->learns = view->real || !items->told;
    items->shares = (struct item_shares){ .sizes = view->sizes,
                                          .order = items->order,
                                          .nitems = n,
                                          .nworkers = view->nworkers,
                                          .shares_port = cv_shares_port(view) };
    if (!CV_NEW(setup->arena, items->ndone, view->nworkers) ||
        !CV_NEW(setup->arena, items->given, n) || !CV_NEW(setup->arena, items->next, n) ||
        !CV_NEW(setup->arena, items->place, n) ||
        !CV_NEW(setup->arena, items->first, view->nworkers) ||
        !item_shares_init(&items->shares, setup->arena))
        return cv_fail_memory(err, "the shares of workers");
    items->nleft = n;
    items->small = n - 1;
    while (items->usual + 1 < n &&
           view->sizes[items->order[items->usual]] * n > view->units_total)
        items->usual++;
    items->probes = (uint32_t)fmin(PROBES, n / ((double)MANY * view->nworkers));
    items->fresh = items->stale = true;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const struct cleave_worker *worker = &view->workers[w];

        items->first[w] = NOBODY;
        if (!items->told || cv_is_out(&items->known.workers[w]))
            continue;
        items->known.workers[w].compute =
            declared(worker->compute_latency_s, worker->speed_ups);
        items->known.workers[w].link = declared(worker->latency_s, worker->bandwidth_ups);
    }
    cv_learned_costs_pool(&items->known);
    return CLEAVE_OK;
}

/* Units that an item counts for: if costs are measured, empty ones have some. */
static double weight_of(const struct items *items, double units)
{
    return items->learns ? units + items->min : units;
}

static bool link_matters(const struct items *items,
                         const struct cv_worker_observation *seen, double units)
{
    return cv_speed_of(&items->known, seen) > 0 &&
           cv_link_time(seen, units) >
               LINK_MATTERS * cv_compute_time(&items->known, seen, units);
}

/* Fill in the costs of workers for sharing out. */
static void describe(struct items *items, const struct cleave_view *view, double now_s)
{
    const double usual = weight_of(items, view->units_total / (double)view->nitems);

    items->shares.linked = false;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const struct cv_worker_observation *seen = &items->known.workers[w];
        struct item_worker *worker = &items->shares.workers[w];
        const double speed_ups = cv_speed_of(&items->known, seen);

        worker->out = cv_is_out(seen);
        worker->ready_s = now_s + cv_rest_of(&items->known, seen, now_s);
        worker->pace_s = speed_ups > 0 ? 1 / speed_ups : 1;
        worker->start_s = cv_latency_of(&items->known, seen);
        if (items->learns)
            worker->start_s += items->min * worker->pace_s;
        worker->link_s = cv_link_time(seen, 0);
        worker->link_pace_s = seen->link.rate_ups > 0 ? 1 / seen->link.rate_ups : 0;
        if (!worker->out && link_matters(items, seen, usual))
            items->shares.linked = true;
    }
}

/* Lost ranks return to their place. */
static void gather_left(struct items *items)
{
    struct item_shares *shares = &items->shares;
    const uint32_t count = items->fresh ? shares->nitems : shares->nleft;
    uint32_t nsent = 0;

    for (uint32_t k = 0; k < shares->nleft; k++)
        if (!items->given[shares->sequence[k]])
            shares->sequence[nsent++] = shares->sequence[k];
    shares->nleft = 0;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t rank = items->fresh ? k : shares->left[k];

        if (!items->given[rank])
            shares->left[shares->nleft++] = rank;
    }
}

/* Lists of workers, in the order of sending. */
static void make_lists(struct items *items, uint32_t nworkers)
{
    const struct item_shares *shares = &items->shares;

    for (uint32_t w = 0; w < nworkers; w++)
        items->first[w] = NOBODY;
    for (uint32_t k = shares->nleft; k-- > 0;) {
        const uint32_t rank = shares->sequence[k], w = shares->owner[rank];

        items->place[rank] = k;
        items->next[rank] = items->first[w];
        items->first[w] = rank;
    }
}

static void share_out(struct items *items, const struct cleave_view *view, double now_s)
{
    const bool first = items->shared == 0;

    gather_left(items);
    describe(items, view, now_s);
    item_shares_make(&items->shares, now_s, items->fresh, first && !items->learns,
                     first ? FIRST_LOOKS : LOOKS);
    make_lists(items, view->nworkers);
    items->shared = items->shares.nleft;
    items->since = 0;
    items->stale = items->fresh = items->known_now = false;
}

/* The first worker that is idle and has no share, or NOBODY. */
static uint32_t find_idle(const struct items *items, uint32_t nworkers)
{
    for (uint32_t w = 0; w < nworkers; w++)
        if (items->known.workers[w].held == 0 && items->first[w] == NOBODY &&
            !cv_is_out(&items->known.workers[w]))
            return w;
    return NOBODY;
}

/* The more items are left, the more have to be done before they are shared out again. */
static bool is_due(const struct items *items, uint32_t nworkers)
{
    if (items->fresh)
        return true;
    if (!items->stale || items->since <= items->nleft / (SHARES * 16u))
        return false;
    return items->known_now || items->since > items->nleft / SHARES ||
           find_idle(items, nworkers) != NOBODY;
}

static bool asks(const struct items *items, uint32_t worker)
{
    const struct cv_worker_observation *seen = &items->known.workers[worker];

    if (cv_is_out(seen) || seen->held >= CV_AHEAD)
        return false;
    return seen->held == 0 ||
           (seen->there == seen->held && items->first[worker] != NOBODY &&
            link_matters(items, seen, cv_largest_of(seen)));
}

/* Remove items from lists that went to other workers. */
static void skip_given(struct items *items, uint32_t nworkers)
{
    for (uint32_t w = 0; w < nworkers; w++)
        while (items->first[w] != NOBODY && items->given[items->first[w]])
            items->first[w] = items->next[items->first[w]];
}

static void skip_small(struct items *items)
{
    while (items->given[items->small])
        items->small--;
}

/* The first item of a worker of unknown speed: the longest that it ends before the others
 * have done everything, although it is SLOWER, and that leaves time for the longest item
 * of all, or the smallest one. NOBODY: there are no others. */
static uint32_t first_of_unknown(struct items *items, const struct cleave_view *view)
{
    const struct item_shares *shares = &items->shares;
    const double longest = size_of(shares, shares->left[0]);
    uint32_t present = 0, rank;
    double end, units;

    for (uint32_t w = 0; w < view->nworkers; w++)
        present += !cv_is_out(&items->known.workers[w]);
    if (present == 1)
        return NOBODY;
    end = fmax(view->units_total / present, longest);
    skip_small(items);
    units = fmax(fmin(end / SLOWER, end - longest), size_of(shares, items->small));
    CV_BISECT(rank, shares->nitems, i, size_of(shares, i) > units);
    while (items->given[rank])
        rank++;
    return rank;
}

/* An item that shows more about a worker than the longest; NOBODY: it is known, or too
 * few are left. */
static uint32_t probe(struct items *items, const struct cleave_view *view,
                      uint32_t worker)
{
    if (items->learns && !(items->known.workers[worker].compute.rate_ups > 0) &&
        items->nleft < (uint64_t)MANY * view->nworkers)
        return first_of_unknown(items, view);
    if (!items->learns || items->ndone[worker] >= items->probes ||
        items->nleft < (uint64_t)MANY * view->nworkers)
        return NOBODY;
    if (items->ndone[worker] % 2 == 1) {
        skip_small(items);
        return items->small;
    }
    while (items->usual < items->shares.nitems && items->given[items->usual])
        items->usual++;
    return items->usual < items->shares.nitems ? items->usual : NOBODY;
}

/* The worker to serve: idle ones first, then by the order of sending. As long as all is as
 * planned a port waits for the worker that is next. */
static uint32_t next_served(const struct items *items, uint32_t nworkers)
{
    const bool planned =
        items->shares.planned && items->shares.shares_port && !items->stale;
    uint32_t best = NOBODY;

    for (uint32_t w = 0; w < nworkers; w++) {
        const uint32_t held = items->known.workers[w].held;

        if (items->first[w] == NOBODY || (!planned && !asks(items, w)))
            continue;
        if (best == NOBODY || (!planned && held < items->known.workers[best].held) ||
            ((planned || held == items->known.workers[best].held) &&
             items->place[items->first[w]] < items->place[items->first[best]]))
            best = w;
    }
    return best != NOBODY && asks(items, best) ? best : NOBODY;
}

static void give(struct items *items, const struct cleave_view *view, uint32_t worker,
                 double now_s, struct cleave_orders *orders)
{
    const uint32_t small = probe(items, view, worker);
    const uint32_t rank = small != NOBODY ? small : items->first[worker];
    const uint32_t item = items->order[rank];

    items->given[rank] = true;
    skip_given(items, view->nworkers);
    items->nleft--;
    items->sending = items->known.numbered;
    items->port_busy = cv_shares_port(view);
    cv_learned_costs_give(&items->known, worker, weight_of(items, view->sizes[item]),
                          now_s);
    cleave_order_item(orders, worker, item);
}

/* If all workers have lost their items, all are tried again. */
static void readmit(struct items *items, const struct cleave_view *view)
{
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (!cv_is_out(&items->known.workers[w]))
            return;
    for (uint32_t w = 0; w < view->nworkers; w++)
        items->known.workers[w].lost = 0;
    items->fresh = true;
}

/* A worker is idle because others would end the rest sooner. Look again when one of them
 * should have ended and the idle worker could have done another item: who is late may
 * hang. */
static void wait_for_late(struct items *items, const struct cleave_view *view,
                          double now_s, struct cleave_orders *orders)
{
    const uint32_t idle = find_idle(items, view->nworkers);
    double soonest_s = INFINITY;

    if (!items->learns || items->nleft == 0 || idle == NOBODY || items->look_s > now_s)
        return;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (items->known.workers[w].held > 0)
            soonest_s = fmin(soonest_s,
                             cv_rest_of(&items->known, &items->known.workers[w], now_s));
    skip_small(items);
    items->look_s =
        now_s + soonest_s +
        cv_compute_time(&items->known, &items->known.workers[idle],
                        weight_of(items, size_of(&items->shares, items->small)));
    /* Not later: nothing is known of their times, so the next event is waited for. */
    if (isfinite(items->look_s) && items->look_s > now_s)
        cleave_order_wake(orders, idle, items->look_s);
}

static void serve(struct items *items, const struct cleave_view *view, double now_s,
                  struct cleave_orders *orders)
{
    uint32_t worker;

    if (items->nleft == 0)
        return;
    readmit(items, view);
    if (is_due(items, view->nworkers))
        share_out(items, view, now_s);
    while (!items->port_busy && (worker = next_served(items, view->nworkers)) != NOBODY)
        give(items, view, worker, now_s, orders);
    wait_for_late(items, view, now_s, orders);
}

static void item_done(struct items *items, const struct cleave_view *view,
                      const struct cleave_event *event)
{
    struct cv_worker_observation *seen = &items->known.workers[event->worker];
    const double units = weight_of(items, view->sizes[event->item]);
    const double took_s = event->time_s - event->start_s;
    const double expected_s = cv_compute_time(&items->known, seen, units);

    if (!(fabs(took_s - expected_s) <= AS_EXPECTED * expected_s))
        items->stale = true;
    if (items->learns) {
        const bool sure = seen->compute.sure, known = seen->compute.rate_ups > 0;

        cv_fit_add_kept(&seen->compute, units, took_s, items->known.latency_s, KEPT);
        cv_learned_costs_pool(&items->known);
        items->known_now = items->known_now || sure != seen->compute.sure || !known;
    }
    cv_learned_costs_drop(&items->known, event);
    seen->lost = 0;
    items->ndone[event->worker]++;
    items->since++;
}

static void item_lost(struct items *items, const struct cleave_event *event)
{
    const uint32_t rank = items->rank[event->item];

    cv_learned_costs_drop(&items->known, event);
    items->known.workers[event->worker].lost++;
    items->nleft += items->given[rank];
    items->given[rank] = false;
    items->small = items->shares.nitems - 1; /* it may be among the small ones */
    items->fresh = items->stale = true;
}

static void item_arrived(struct items *items, const struct cleave_view *view,
                         const struct cleave_event *event)
{
    struct cleave_event weighed = *event;
    struct cv_worker_observation *seen = &items->known.workers[event->worker];
    const struct cv_fit link = seen->link;

    weighed.units = weight_of(items, view->sizes[event->item]);
    cv_learned_costs_arrived(&items->known, &weighed);
    if (!items->learns)
        seen->link = link;
    if (items->shares.linked && !items->shares.planned)
        items->stale = true;
}

static void items_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct items *items = state;

    /* An item that arrived or was lost leaves the port. */
    if (event->kind == CLEAVE_SENT || event->kind == CLEAVE_LOST)
        items->port_busy = items->port_busy && event->chunk != items->sending;
    switch (event->kind) {
    case CLEAVE_SENT:
        item_arrived(items, view, event);
        break;
    case CLEAVE_DONE:
        item_done(items, view, event);
        break;
    case CLEAVE_LOST:
        item_lost(items, event);
        break;
    case CLEAVE_WAKE:
        items->look_s = 0;
        items->fresh = items->fresh || find_idle(items, view->nworkers) != NOBODY;
        break;
    case CLEAVE_CAME:
        if (cv_is_out(&items->known.workers[event->worker]))
            items->fresh = true;
        items->known.workers[event->worker].lost = 0;
        cv_learned_costs_came(&items->known, event->worker);
        break;
    default:
        break;
    }
    if (!event->more)
        serve(items, view, event->time_s, orders);
}

static const struct cleave_param items_params[] = {
    { "trust", CLEAVE_PARAM_REAL, offsetof(struct items, trust), 1, 0, 1,
      "1: use declared costs; 0: measure costs during the run" },
    { 0 },
};

const struct cleave_policy cleave_policy_items = {
    .name = "items",
    .summary = "longest first to the worker that would end it soonest, shared out again "
               "as costs turn out",
    .reference = "Friesen, SIAM J. Comput. 16(3), 1987, for longest first; cleave",
    .task = CLEAVE_TASK_ITEMS,
    .gets_losses = true,
    .takes_joiners = true,
    .state_size = sizeof(struct items),
    .params = items_params,
    .plan = items_plan,
    .start = items_start,
    .decide = items_decide,
};
