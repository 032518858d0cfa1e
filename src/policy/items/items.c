/* items.c -- longest first to the worker that would end it soonest.
 * SPDX-License-Identifier: MIT
 *
 * Items cannot be divided. What is left is shared out as if costs were known
 * (item_shares.h): the longest first, each to the worker that would end it soonest,
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

#include "policy/items/item_shares.h"
#include "policy/pull/learn_costs.h"

/* Shared out again when one in so many of the items left has been done. */
enum { SHARES = 64u };
/* Exchanges that are tried at first, and each time after. */
enum { FIRST_LOOKS = 4000000, LOOKS = 100000 };
/* With so many items left per worker, one that is not long costs nothing; at most so many are
 * needed. */
enum { MANY = 32, PROBES = 6 };
enum { NOBODY = UINT32_MAX };

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
    items->order = cv_item_order(view->sizes, (uint32_t)view->nitems, setup->arena);
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
        items->first == NULL || !cv_item_shares_init(&items->shares, setup->arena))
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
        items->first[w] = NOBODY;
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
    cv_item_shares_make(&items->shares, now_s, items->fresh, first ? FIRST_LOOKS : LOOKS);
    make_lists(items, view->nworkers);
    items->shared = items->shares.nleft;
    items->since = 0;
    items->stale = items->fresh = items->known_now = false;
}

/* Is somebody idle whose share is done, while others have items that wait? */
static bool is_anybody_idle(const struct items *items, uint32_t nworkers)
{
    for (uint32_t w = 0; w < nworkers; w++)
        if (items->known.workers[w].held == 0 && items->first[w] == NOBODY &&
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
           (seen->there == seen->held && items->first[worker] != NOBODY &&
            link_matters(items, seen, cv_largest_of(seen)));
}

/* Others may have been given what was on somebody's list. */
static void skip_given(struct items *items, uint32_t nworkers)
{
    for (uint32_t w = 0; w < nworkers; w++)
        while (items->first[w] != NOBODY && items->given[items->first[w]])
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
    return items->usual < shares->nitems ? items->usual : NOBODY;
}

/* An item that tells more about a worker than the longest; NOBODY: it is known, or there are
 * too few of them. */
static uint32_t probe(struct items *items, const struct cleave_view *view,
                      uint32_t worker)
{
    if (!items->learns || items->ndone[worker] >= items->probes ||
        items->nleft < (uint64_t)MANY * view->nworkers)
        return NOBODY;
    return find_probe(items, items->ndone[worker] % 2 == 1);
}

/* Who is to be served: the idle before the busy, then the longest item. */
static uint32_t next_served(const struct items *items, uint32_t nworkers)
{
    uint32_t best = NOBODY;

    for (uint32_t w = 0; w < nworkers; w++) {
        const uint32_t held = items->known.workers[w].held;

        if (items->first[w] == NOBODY || !asks(items, w))
            continue;
        if (best == NOBODY || held < items->known.workers[best].held ||
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
    while (!items->port_busy && (worker = next_served(items, view->nworkers)) != NOBODY)
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
    case CLEAVE_WAKE:
        /* It was lost, or nobody had come to its place, and is there now. */
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
