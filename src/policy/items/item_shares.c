/* item_shares.c -- which worker is to do which of the items that are left.
 * SPDX-License-Identifier: MIT */
#include "policy/items/item_shares.h"

#include <math.h>

#include "base/bisect.h"

/* An end that is earlier by less than this part of it is the same. */
static const double SAME = 1e-9;
/* Steps in which the end of ranges of sizes is looked for. */
enum { WIDENINGS = 60, HALVINGS = 24 };

enum { NOBODY = UINT32_MAX };

/* --- the order ---------------------------------------------------------------------------- */

/* Merge two sorted runs of `from` into `to`. */
static void merge(const double *sizes, const uint32_t *from, uint32_t *to, size_t begin,
                  size_t middle, size_t end)
{
    size_t a = begin, b = middle;

    for (size_t k = begin; k < end; k++)
        to[k] = a < middle && (b >= end || sizes[from[a]] >= sizes[from[b]]) ? from[a++]
                                                                             : from[b++];
}

uint32_t *cv_item_order(const double *sizes, uint32_t nitems, struct cv_arena *arena)
{
    uint32_t *order = cv_array(arena, nitems, sizeof *order);
    uint32_t *other = cv_array(arena, nitems, sizeof *other);

    if (order == NULL || other == NULL)
        return NULL;
    for (uint32_t i = 0; i < nitems; i++)
        order[i] = i;
    for (size_t width = 1; width < nitems; width *= 2) {
        uint32_t *merged = other;

        for (size_t begin = 0; begin < nitems; begin += 2 * width) {
            const size_t middle = begin + width < nitems ? begin + width : nitems;
            const size_t end = begin + 2 * width < nitems ? begin + 2 * width : nitems;

            merge(sizes, order, merged, begin, middle, end);
        }
        other = order;
        order = merged;
    }
    return order;
}

bool cv_item_shares_init(struct cv_item_shares *shares, struct cv_arena *arena)
{
    const uint32_t n = shares->nitems;

    shares->left = cv_array(arena, n, sizeof *shares->left);
    shares->owner = cv_array(arena, n, sizeof *shares->owner);
    shares->trial = cv_array(arena, n, sizeof *shares->trial);
    shares->workers = cv_array(arena, shares->nworkers, sizeof *shares->workers);
    shares->member = cv_array(arena, n, sizeof *shares->member);
    shares->begin = cv_array(arena, shares->nworkers + 1u, sizeof *shares->begin);
    shares->by_start = cv_array(arena, shares->nworkers, sizeof *shares->by_start);
    if (shares->member == NULL || shares->begin == NULL || shares->by_start == NULL ||
        shares->left == NULL || shares->owner == NULL || shares->trial == NULL ||
        shares->workers == NULL)
        return false;
    for (uint32_t rank = 0; rank < n; rank++)
        shares->left[rank] = rank;
    shares->nleft = n;
    return true;
}

/* --- when it ends ------------------------------------------------------------------------- */

static double size_of(const struct cv_item_shares *shares, uint32_t rank)
{
    return shares->sizes[shares->order[rank]];
}

/* Everybody has nothing but what is under way. */
static void clear(struct cv_item_shares *shares, double now_s)
{
    for (uint32_t w = 0; w < shares->nworkers; w++) {
        struct cv_item_worker *worker = &shares->workers[w];

        worker->end_s = fmax(worker->ready_s, now_s);
        worker->port_s = now_s;
    }
}

/* When the worker would end an item of so many units after its share. With a link in
 * between, an item is sent while the one before is computed; *port_s is when the link that
 * it needs is free. */
static double end_with(const struct cv_item_shares *shares,
                       const struct cv_item_worker *worker, double units, double port_s)
{
    const double cost_s = cv_item_cost(worker, units);
    double begin_s = worker->end_s;

    if (shares->linked)
        begin_s = fmax(begin_s, port_s + worker->link_s + units * worker->link_pace_s);
    return begin_s + cost_s;
}

static double port_of(const struct cv_item_shares *shares,
                      const struct cv_item_worker *worker, double shared_s)
{
    return shares->shares_port ? shared_s : worker->port_s;
}

/* Give one more item to a worker. */
static void add(const struct cv_item_shares *shares, struct cv_item_worker *worker,
                double units, double *shared_s)
{
    const double port_s = port_of(shares, worker, *shared_s);

    worker->end_s = end_with(shares, worker, units, port_s);
    worker->port_s = port_s + worker->link_s + units * worker->link_pace_s;
    *shared_s = worker->port_s;
}

static double latest(const struct cv_item_shares *shares, uint32_t *out)
{
    double end_s = -1;

    for (uint32_t w = 0; w < shares->nworkers; w++)
        if (!shares->workers[w].out && shares->workers[w].end_s > end_s) {
            end_s = shares->workers[w].end_s;
            *out = w;
        }
    return end_s;
}

/* When all ends as it is shared out; INFINITY when somebody who is out has a share. */
static double end_of(struct cv_item_shares *shares, const uint32_t *owner, double now_s)
{
    double shared_s = now_s;
    uint32_t last = 0;

    clear(shares, now_s);
    for (uint32_t k = 0; k < shares->nleft; k++) {
        struct cv_item_worker *worker = &shares->workers[owner[shares->left[k]]];

        if (worker->out)
            return INFINITY;
        add(shares, worker, size_of(shares, shares->left[k]), &shared_s);
    }
    return latest(shares, &last);
}

/* --- prices ------------------------------------------------------------------------------- */

/* Workers by what a start is worth in units: small items belong to those where it is little.
 * Between workers who differ only in speed it does not matter. False if that are all. */
static bool sort_by_start(struct cv_item_shares *shares)
{
    double min = INFINITY, max = 0;
    uint32_t n = 0;

    for (uint32_t w = 0; w < shares->nworkers; w++) {
        const struct cv_item_worker *worker = &shares->workers[w];
        const double key = worker->start_s / worker->pace_s;
        uint32_t at = n;

        if (worker->out)
            continue;
        for (; at > 0; at--) {
            const struct cv_item_worker *before =
                &shares->workers[shares->by_start[at - 1]];

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

/* From the smallest item on, fill one worker after the other until time `end_s`, and note
 * what the items cost where one worker follows the other. False if that is too early. */
static bool fill(struct cv_item_shares *shares, double now_s, double end_s)
{
    uint32_t k = shares->nleft;
    double price = 1;

    for (uint32_t i = 0; i < shares->npresent; i++) {
        struct cv_item_worker *worker = &shares->workers[shares->by_start[i]];
        double at_s = fmax(worker->ready_s, now_s), units = 0;

        if (i > 0) {
            const double edge = k < shares->nleft ? size_of(shares, shares->left[k]) : 0;
            const struct cv_item_worker *before =
                &shares->workers[shares->by_start[i - 1]];
            const double cost_s = cv_item_cost(worker, edge);

            if (cost_s > 0)
                price *= cv_item_cost(before, edge) / cost_s;
        }
        worker->price = price;
        while (k > 0) {
            units = size_of(shares, shares->left[k - 1]);
            at_s += cv_item_cost(worker, units);
            if (at_s > end_s)
                break;
            k--;
        }
    }
    return k == 0;
}

/* Prices of the workers' time at which items, if they could be divided, would go where they
 * cost least and all would end together: a range of sizes for each worker. */
static void find_prices(struct cv_item_shares *shares, double now_s)
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

/* --- sharing out -------------------------------------------------------------------------- */

/* Each item, the longest first, to the worker that would end it soonest; of several, to the
 * one that takes less time for it. Only to those where it costs at most `dear` times as much
 * as where it costs least; INFINITY: to anybody. */
static void spread(struct cv_item_shares *shares, double now_s, double dear)
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
                                    cv_item_cost(&shares->workers[w], units));
        for (uint32_t w = 0; w < shares->nworkers; w++) {
            const struct cv_item_worker *worker = &shares->workers[w];
            const double cost_s = cv_item_cost(worker, units);
            double end_s;

            if (worker->out || (isfinite(dear) && worker->price * cost_s > dear * min))
                continue;
            end_s = end_with(shares, worker, units, port_of(shares, worker, shared_s));
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

/* --- exchanges ---------------------------------------------------------------------------- */

/* An item that leaves the worker which is last, maybe for another one. */
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

/* Everybody's ranks, one worker after the other: those of w are from member[begin[w]] to
 * before member[begin[w + 1]]. */
static void gather_members(struct cv_item_shares *shares)
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
    /* Each begin[w + 1] has come down to where w begins. */
    for (uint32_t w = 0; w < shares->nworkers; w++)
        begin[w] = begin[w + 1];
    begin[shares->nworkers] = shares->nleft;
}

/* Which of the members of a worker is the first of at most so many units. */
static uint32_t first_below(const struct cv_item_shares *shares, uint32_t worker,
                            double units)
{
    const uint32_t begin = shares->begin[worker], end = shares->begin[worker + 1];
    uint32_t larger;

    CV_BISECT(larger, end - begin, i, size_of(shares, shares->member[begin + i]) > units);
    return begin + larger;
}

/* The best that can be done about one item of the last worker, with another one: it moves
 * there, or changes places with one that is smaller by what would let the two end together. */
static void look_at(const struct cv_item_shares *shares, uint32_t last, uint32_t rank,
                    uint32_t w, struct exchange *best)
{
    const struct cv_item_worker *from = &shares->workers[last], *to = &shares->workers[w];
    const double units = size_of(shares, rank), cost_s = cv_item_cost(from, units);
    const double less = (from->end_s - to->end_s) / (from->pace_s + to->pace_s);
    const uint32_t near = first_below(shares, w, units - less);

    consider(best, (struct exchange){
                       rank, NOBODY, w,
                       fmax(from->end_s - cost_s, to->end_s + cv_item_cost(to, units)) });
    for (uint32_t k = near > shares->begin[w] ? near - 1 : near;
         k <= near && k < shares->begin[w + 1]; k++) {
        const double others = size_of(shares, shares->member[k]);

        consider(best, (struct exchange){
                           rank, shares->member[k], w,
                           fmax(from->end_s - cost_s + cv_item_cost(from, others),
                                to->end_s - cv_item_cost(to, others) +
                                    cv_item_cost(to, units)) });
    }
}

static void carry_out(struct cv_item_shares *shares, uint32_t last,
                      const struct exchange *best)
{
    struct cv_item_worker *from = &shares->workers[last],
                          *to = &shares->workers[best->to];
    const double units = size_of(shares, best->rank);

    shares->trial[best->rank] = best->to;
    from->end_s -= cv_item_cost(from, units);
    to->end_s += cv_item_cost(to, units);
    if (best->other == NOBODY)
        return;
    shares->trial[best->other] = last;
    from->end_s += cv_item_cost(from, size_of(shares, best->other));
    to->end_s -= cv_item_cost(to, size_of(shares, best->other));
}

/* Let the last worker end earlier, again and again. Every step lowers the latest end of the
 * two, so that it comes to an end. Returns the looks that are left. */
static uint64_t improve(struct cv_item_shares *shares, uint64_t looks)
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

double cv_item_shares_make(struct cv_item_shares *shares, double now_s, bool fresh,
                           uint64_t looks)
{
    static const double dear[] = { INFINITY, 1.5, 1.1, 1.02, 1.002 };
    const bool starts = sort_by_start(shares);
    double end_s = fresh ? INFINITY : end_of(shares, shares->owner, now_s);

    for (size_t i = 0; i < (starts ? sizeof dear / sizeof *dear : 1); i++) {
        uint32_t last = 0, *better = shares->trial;
        double tried_s;

        if (i == 1)
            find_prices(shares, now_s);
        spread(shares, now_s, dear[i]);
        if (!shares->linked)
            looks = improve(shares, looks);
        tried_s = latest(shares, &last);
        if (!(tried_s < end_s * (1 - SAME)) && isfinite(end_s))
            continue;
        end_s = tried_s;
        shares->trial = shares->owner;
        shares->owner = better;
    }
    return end_s;
}
