/* items.c -- longest first to the worker that would end it soonest.
 * SPDX-License-Identifier: MIT
 *
 * Items cannot be divided. What is left is shared out as if costs were known
 * (items.c): the longest first, each to the worker that would end it soonest,
 *
 *     free(w) + start(w) + size / pace(w),
 *
 * and then improved. Everybody does his share from the longest on. So a slow worker gets
 * the largest items that it can end without being last, and at the end nothing where that
 * is better. As items turn out to take more or less than expected, what is left is shared
 * out again: after every item at the end, less often while many are left, and at once when
 * somebody has nothing more to do whom that could help.
 *
 * Costs are those declared. Where nobody has declared any (real runs), or with trust = 0,
 * they are fitted while running, start + size / pace for each worker; the mean of the
 * others stands for a worker that has not done anything yet. Who gives the longest items to
 * workers that he does not know gives some of them to the slowest, and long items alone cannot
 * tell a start from a pace: where there are many items, a worker begins with some that are not
 * long, of the mean size and of the smallest in turn.
 *
 * O(workers) for a decision, and 64 times that on average for sharing out again. */
#include <math.h>
#include "base/bisect.h"
#include "policy/common/setup.h"
#include "policy/pull/learn.h"

/* What a worker costs, and when it is free. */
struct cv_item_worker {
    bool out;                   /* gets nothing                                     */
    double ready_s;             /* from then on it can compute something else        */
    double start_s, pace_s;     /* computing: per item, and per unit                 */
    double link_s, link_pace_s; /* sending, likewise                                 */
    double price;  /* of its time, where items of some sizes belong to some workers */
    double end_s;  /* with its share                                    */
    double port_s; /* its link is busy until then, where it has its own */
};

struct cv_item_shares {
    const double *sizes;   /* borrowed: by item                                 */
    const uint32_t *order; /* borrowed: rank -> item, the longest first         */
    uint32_t nitems;
    uint32_t *left, nleft;    /* ranks that nobody has been given, in order        */
    uint32_t *owner, *trial;  /* rank -> worker; another such list to try in        */
    uint32_t *member, *begin; /* scratch: ranks by worker, and where each one begins   */
    uint32_t *by_start, npresent; /* scratch: workers that are not out                */
    struct cv_item_worker *workers;
    uint32_t nworkers;
    bool shares_port; /* links cannot be used at the same time             */
    bool linked;      /* sending takes time that matters                   */
};

static inline double cv_item_cost(const struct cv_item_worker *worker, double units)
{
    return worker->start_s + units * worker->pace_s;
}

/* --- which worker is to do which of the items that are left ------------------------ */

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

/* Ranks of items by size, the longest first, equal ones as they are listed; NULL when memory
 * is short. */
static uint32_t *item_order(const double *sizes, uint32_t nitems, struct cv_arena *arena)
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

/* Room for all of it, from the arena; nothing is given yet. */
static bool item_shares_init(struct cv_item_shares *shares, struct cv_arena *arena)
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

/* Share out what is left anew, at time `now_s`, if that ends earlier than as it was shared
 * out before or `fresh` says that it was not. `looks`: how many exchanges may be tried.
 * Returns when it would end. */
static double item_shares_make(struct cv_item_shares *shares, double now_s, bool fresh,
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

/* --- longest first to the worker that would end it soonest ------------------------- */

/* Shared out again when one in so many of the items left has been done. */
enum { SHARES = 64u };
/* Exchanges that are tried at first, and each time after. */
enum { FIRST_LOOKS = 4000000, LOOKS = 100000 };
/* With so many items left per worker, one that is not long costs nothing; at most so many are
 * needed. */
enum { MANY = 32, PROBES = 6 };
enum { ITEMS_NOBODY = UINT32_MAX };

/* Sending ahead begins when the link takes this part of the time. */
static const double LINK_MATTERS = 0.01;
/* An item has at least this part of the mean of all: empty ones take time, too. */
static const double LEAST_SIZE = 1e-3;
/* What an item leaves of the weight of those before it: some fifty are remembered, since each
 * of them is off by a factor of its own. */
static const double KEPT = 0.98;
/* By more than this part of its time an item is not as expected. */
static const double AS_EXPECTED = 1e-6;

struct items {
    double trust;
    uint32_t *order, *rank; /* of the plan: rank -> item, item -> rank                 */
    double min;             /* units that every item has on top, where costs are fitted */
    struct cv_learned_costs
        known; /* who holds what, and what is learnt                      */
    struct cv_item_shares shares;
    bool *given;            /* by rank                                                 */
    uint32_t *next, *first; /* rank -> the next of its worker; worker -> its first     */
    uint32_t shared;        /* ranks left when it was shared out                       */
    uint32_t *ndone;        /* by worker: items done                                   */
    uint32_t probes;        /* so many of a worker's first items are not long          */
    uint32_t small, usual;  /* ranks: all behind are given; those of mean size begin   */
    uint32_t nleft;         /* items that nobody has                                   */
    uint64_t since;         /* items done or lost since then                           */
    bool stale;             /* something was not as expected since then                */
    bool known_now;         /* a worker is, that was not before                        */
    bool fresh;             /* shares cannot be kept: somebody came or went            */
    bool told, learns; /* declared costs are believed at first; measured ones later */
    bool port_busy;
    uint64_t sending;
};

static enum cleave_status items_plan(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct items *items = state;

    if (view->nitems >= UINT32_MAX)
        return cv_fail(err, CLEAVE_EINPUT, "expected fewer than %u items", UINT32_MAX);
    items->order = item_order(view->sizes, (uint32_t)view->nitems, setup->arena);
    items->rank = cv_array(setup->arena, view->nitems, sizeof *items->rank);
    if (items->order == NULL || items->rank == NULL)
        return cv_fail_memory(err, "the order of items");
    for (uint32_t k = 0; k < view->nitems; k++)
        items->rank[items->order[k]] = k;
    items->min =
        view->units_total > 0 ? LEAST_SIZE * view->units_total / (double)view->nitems : 1;
    return CLEAVE_OK;
}

/* --- costs -------------------------------------------------------------------------------- */

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
    items->shares = (struct cv_item_shares){ .sizes = view->sizes,
                                             .order = items->order,
                                             .nitems = n,
                                             .nworkers = view->nworkers,
                                             .shares_port = cv_shares_port(view) };
    items->ndone = cv_array(setup->arena, view->nworkers, sizeof *items->ndone);
    items->given = cv_array(setup->arena, n, sizeof *items->given);
    items->next = cv_array(setup->arena, n, sizeof *items->next);
    items->first = cv_array(setup->arena, view->nworkers, sizeof *items->first);
    if (items->ndone == NULL || items->given == NULL || items->next == NULL ||
        items->first == NULL || !item_shares_init(&items->shares, setup->arena))
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

        items->first[w] = ITEMS_NOBODY;
        if (!items->told || cv_is_out(&items->known.workers[w]))
            continue;
        items->known.workers[w].compute =
            declared(worker->compute_latency_s, worker->speed_ups);
        items->known.workers[w].link = declared(worker->latency_s, worker->bandwidth_ups);
    }
    cv_learned_costs_pool(&items->known);
    return CLEAVE_OK;
}

/* What an item counts for where costs are measured: empty ones would say nothing. */
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

/* What is known of the workers, for sharing out. */
static void describe(struct items *items, const struct cleave_view *view, double now_s)
{
    const double usual = weight_of(items, view->units_total / (double)view->nitems);

    items->shares.linked = false;
    for (uint32_t w = 0; w < view->nworkers; w++) {
        const struct cv_worker_observation *seen = &items->known.workers[w];
        struct cv_item_worker *worker = &items->shares.workers[w];
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

/* --- shares ------------------------------------------------------------------------------- */

/* Ranks that were lost come back in their place. */
static void gather_left(struct items *items)
{
    struct cv_item_shares *shares = &items->shares;

    if (items->fresh) {
        shares->nleft = 0;
        for (uint32_t rank = 0; rank < shares->nitems; rank++)
            if (!items->given[rank])
                shares->left[shares->nleft++] = rank;
    } else {
        uint32_t kept = 0;

        for (uint32_t k = 0; k < shares->nleft; k++)
            if (!items->given[shares->left[k]])
                shares->left[kept++] = shares->left[k];
        shares->nleft = kept;
    }
}

/* Everybody's list, the longest first. */
static void make_lists(struct items *items, uint32_t nworkers)
{
    const struct cv_item_shares *shares = &items->shares;

    for (uint32_t w = 0; w < nworkers; w++)
        items->first[w] = ITEMS_NOBODY;
    for (uint32_t k = shares->nleft; k-- > 0;) {
        const uint32_t rank = shares->left[k], w = shares->owner[rank];

        items->next[rank] = items->first[w];
        items->first[w] = rank;
    }
}

static void share_out(struct items *items, const struct cleave_view *view, double now_s)
{
    const bool first = items->shared == 0;

    gather_left(items);
    describe(items, view, now_s);
    item_shares_make(&items->shares, now_s, items->fresh, first ? FIRST_LOOKS : LOOKS);
    make_lists(items, view->nworkers);
    items->shared = items->shares.nleft;
    items->since = 0;
    items->stale = items->fresh = items->known_now = false;
}

/* Is somebody idle whose share is done, while others have items that wait? */
static bool is_anybody_idle(const struct items *items, uint32_t nworkers)
{
    for (uint32_t w = 0; w < nworkers; w++)
        if (items->known.workers[w].held == 0 && items->first[w] == ITEMS_NOBODY &&
            !cv_is_out(&items->known.workers[w]))
            return true;
    return false;
}

/* Is it time to share out again? That is not for nothing: the more items are left, the more
 * of them have to be done in between. */
static bool is_due(const struct items *items, uint32_t nworkers)
{
    if (items->fresh)
        return true;
    if (!items->stale || items->since <= items->nleft / (SHARES * 16u))
        return false;
    return items->known_now || items->since > items->nleft / SHARES ||
           is_anybody_idle(items, nworkers);
}

/* --- orders ------------------------------------------------------------------------------- */

static bool asks(const struct items *items, uint32_t worker)
{
    const struct cv_worker_observation *seen = &items->known.workers[worker];

    if (cv_is_out(seen) || seen->held >= CV_AHEAD)
        return false;
    return seen->held == 0 ||
           (seen->there == seen->held && items->first[worker] != ITEMS_NOBODY &&
            link_matters(items, seen, cv_largest_of(seen)));
}

/* Others may have been given what was on somebody's list. */
static void skip_given(struct items *items, uint32_t nworkers)
{
    for (uint32_t w = 0; w < nworkers; w++)
        while (items->first[w] != ITEMS_NOBODY && items->given[items->first[w]])
            items->first[w] = items->next[items->first[w]];
}

/* The next item from the end of the list, or from that of mean size on, that nobody has. There
 * are many. */
static uint32_t find_probe(struct items *items, bool smallest)
{
    const struct cv_item_shares *shares = &items->shares;

    if (smallest) {
        while (items->given[items->small])
            items->small--;
        return items->small;
    }
    while (items->usual < shares->nitems && items->given[items->usual])
        items->usual++;
    return items->usual < shares->nitems ? items->usual : ITEMS_NOBODY;
}

/* An item that tells more about a worker than the longest; NOBODY: it is known, or there are
 * too few of them. */
static uint32_t probe(struct items *items, const struct cleave_view *view,
                      uint32_t worker)
{
    if (!items->learns || items->ndone[worker] >= items->probes ||
        items->nleft < (uint64_t)MANY * view->nworkers)
        return ITEMS_NOBODY;
    return find_probe(items, items->ndone[worker] % 2 == 1);
}

/* Who is to be served: the idle before the busy, then the longest item. */
static uint32_t next_served(const struct items *items, uint32_t nworkers)
{
    uint32_t best = ITEMS_NOBODY;

    for (uint32_t w = 0; w < nworkers; w++) {
        const uint32_t held = items->known.workers[w].held;

        if (items->first[w] == ITEMS_NOBODY || !asks(items, w))
            continue;
        if (best == ITEMS_NOBODY || held < items->known.workers[best].held ||
            (held == items->known.workers[best].held &&
             items->first[w] < items->first[best]))
            best = w;
    }
    return best;
}

static void give(struct items *items, const struct cleave_view *view, uint32_t worker,
                 double now_s, struct cleave_orders *orders)
{
    const uint32_t small = probe(items, view, worker);
    const uint32_t rank = small != ITEMS_NOBODY ? small : items->first[worker];
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

/* When nobody is left who did not lose his items, all are tried again. */
static void readmit(struct items *items, const struct cleave_view *view)
{
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (!cv_is_out(&items->known.workers[w]))
            return;
    for (uint32_t w = 0; w < view->nworkers; w++)
        items->known.workers[w].lost = 0;
    items->fresh = true;
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
    while (!items->port_busy &&
           (worker = next_served(items, view->nworkers)) != ITEMS_NOBODY)
        give(items, view, worker, now_s, orders);
}

/* --- events ------------------------------------------------------------------------------- */

/* The item has arrived, or is lost: if it was on its way, the port is free. */
static void port_over(struct items *items, const struct cleave_event *event)
{
    items->port_busy = items->port_busy && event->chunk != items->sending;
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
    items->small = items->shares.nitems - 1; /* it may be among those */
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
    if (items->shares.linked)
        items->stale = true;
}

static void items_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct items *items = state;

    switch (event->kind) {
    case CLEAVE_SENT:
        port_over(items, event);
        item_arrived(items, view, event);
        break;
    case CLEAVE_DONE:
        item_done(items, view, event);
        break;
    case CLEAVE_LOST:
        port_over(items, event);
        item_lost(items, event);
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
      "1: declared costs are believed; 0: they are measured on the way" },
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
