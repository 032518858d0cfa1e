/* ordered_adapt_plan.c -- neighbours are planned anew as partials become ready.
 * SPDX-License-Identifier: MIT
 *
 * When partials become ready, all intervals that there are are planned as one reduction:
 * G(i, j), the least time for the result of i .. j, with those at work from when they will
 * be done and the costs that were seen (model/ready/ready_ordered.h has the recurrence).
 * Those that have not come are thought to come soon, in SOON of a transfer with its
 * combination, or in as long as nobody has come: so their neighbours wait a little, but not
 * for ever, since the plan is made again when that time is over. It is also made again when
 * combinations do not take what was expected; but not more often than every PAUSE.
 *
 * A transfer begins when all that its sender is to receive has been combined, when it is
 * its turn at the receiver, and when that one has at most one transfer to go.
 *
 * O(m^2) for a plan of m intervals: where an interval is cut best moves to the left with its
 * begin and to the right with its end. */
#include <math.h>

#include "policy/common/orders.h"
#include "policy/reduce/ordered_adapt.h"

/* When those who have not come are thought to come, and how often is planned, in d + c. */
static const double SOON = 0.1, PAUSE = 0.05;
/* Costs that vary by more are not planned with, once enough were seen; by more than the
 * other, plans are made again whenever a combination is done. */
static const double TOO_MUCH = 0.5, A_LITTLE = 0.01;
enum { ENOUGH = 8 };

/* Of an interval of the plan: the least time, where it is cut, and which side receives. */
struct best {
    double done_s;
    uint32_t cut; /* the last one of the left part */
    bool left_receives;
};

/* What the plan has for a node. */
struct planned {
    uint32_t to;             /* whom it sends to; CV_NOBODY                            */
    uint32_t turn;           /* its place among those who send to that one             */
    uint32_t receives, came; /* how many it is to be sent; how many were               */
    double wake_s;           /* the last time that was asked for on its behalf         */
};

struct adapt_plans {
    struct planned *planned;   /* per node                                              */
    double last_s;             /* when the last partial became ready           */
    double planned_s, again_s; /* when was planned; when to plan again         */
    double transfers_s, squares_s2; /* seen: sums                                   */
    uint32_t ntransfers;
    /* The plan under way, of m intervals in a row: */
    uint32_t m;
    uint32_t *node;     /* who holds them                                              */
    double *mu_s;       /* what counts more when a single one receives                 */
    double a, b;        /* costs: the greater of the two, and their sum                */
    struct best *table; /* row i, column j                                             */
};

struct adapt_plans *cv_adapt_plans_new(struct cv_arena *arena, uint32_t n)
{
    struct adapt_plans *plans = cv_array(arena, 1, sizeof *plans);

    if (plans == NULL)
        return NULL;
    plans->planned_s = -INFINITY;
    plans->again_s = INFINITY;
    plans->planned = cv_array(arena, n, sizeof *plans->planned);
    plans->node = cv_array(arena, n, sizeof *plans->node);
    plans->mu_s = cv_array(arena, n, sizeof *plans->mu_s);
    plans->table = cv_array(arena, (size_t)n * n, sizeof *plans->table);
    if (plans->planned == NULL || plans->node == NULL || plans->mu_s == NULL ||
        plans->table == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        plans->planned[i] = (struct planned){ .to = CV_NOBODY };
    return plans;
}

/* --- costs -------------------------------------------------------------------------------- */

static double transfer_s(const struct adapt_plans *plans, const struct cleave_view *view)
{
    return plans->ntransfers > 0 ? plans->transfers_s / plans->ntransfers
                                 : view->transfer_s;
}

static double combination_s(const struct ordered_adapt *adapt,
                            const struct cleave_view *view)
{
    return adapt->seen.ncombinations > 0 ? cv_mean_combination_seen(&adapt->seen)
                                         : view->compute_s;
}

static bool transfers_vary(const struct adapt_plans *plans, double cv)
{
    const double mean_s = plans->transfers_s / plans->ntransfers;

    return plans->ntransfers > 1 &&
           plans->squares_s2 / plans->ntransfers > (1 + cv * cv) * mean_s * mean_s;
}

static bool costs_vary(const struct ordered_adapt *adapt, double cv)
{
    return transfers_vary(adapt->plans, cv) || cv_combinations_vary(&adapt->seen, cv);
}

/* Not there yet. */
static bool is_to_come(const struct adapt_node *node)
{
    return node->receives && isnan(node->receives_since_s);
}

/* When a node will have combined all that is on its way to it. */
static double done_at(const struct ordered_adapt *adapt, const struct cleave_view *view,
                      const struct adapt_node *node)
{
    const double compute_s = combination_s(adapt, view);
    double done_s = adapt->now_s;

    if (node->combines)
        done_s = fmax(done_s, node->combines_since_s + compute_s);
    done_s += node->buffered * compute_s;
    if (node->receives)
        done_s = fmax(done_s, node->receives_since_s + transfer_s(adapt->plans, view)) +
                 compute_s;
    return done_s;
}

/* --- the plan ------------------------------------------------------------------------------- */

static struct best *at(const struct adapt_plans *plans, uint32_t i, uint32_t j)
{
    return &plans->table[(size_t)i * plans->m + j];
}

static double counts(const struct adapt_plans *plans, uint32_t i, uint32_t j)
{
    return at(plans, i, j)->done_s + (i == j ? plans->mu_s[i] : 0);
}

static void try_cut(const struct adapt_plans *plans, uint32_t i, uint32_t j, uint32_t k,
                    bool left_receives, struct best *best)
{
    const double holds_s = left_receives ? counts(plans, i, k) : counts(plans, k + 1, j);
    const double sends_s =
        left_receives ? at(plans, k + 1, j)->done_s : at(plans, i, k)->done_s;
    const double done_s = fmax(holds_s + plans->a, sends_s + plans->b);

    if (done_s < best->done_s)
        *best = (struct best){ done_s, k, left_receives };
}

/* Whether the left part, cut at k, is what i .. j waits for: that grows with k. */
static bool left_is_later(const struct adapt_plans *plans, uint32_t i, uint32_t j,
                          uint32_t k, bool left_receives)
{
    return left_receives
               ? counts(plans, i, k) + plans->a >= at(plans, k + 1, j)->done_s + plans->b
               : at(plans, i, k)->done_s + plans->b >= counts(plans, k + 1, j) + plans->a;
}

/* The best cut is the first one at which the left part is later, or the one before. *from
 * is where it was for the interval that begins one later. */
static void find_cut(const struct adapt_plans *plans, uint32_t i, uint32_t j,
                     bool left_receives, uint32_t *from, struct best *best)
{
    while (*from > i && left_is_later(plans, i, j, *from - 1, left_receives))
        --*from;
    try_cut(plans, i, j, *from, left_receives, best);
    if (*from > i)
        try_cut(plans, i, j, *from - 1, left_receives, best);
}

/* Take i .. j apart from the top: who holds it in the end, and whom that one is sent to
 * by whom. Depth is at most that of the tree, which has m leaves. */
static uint32_t build(struct adapt_plans *plans, uint32_t i, uint32_t j)
{
    const struct best *best = at(plans, i, j);
    uint32_t left, right, to, from;

    if (i == j)
        return plans->node[i];
    left = build(plans, i, best->cut);
    right = build(plans, best->cut + 1, j);
    to = best->left_receives ? left : right;
    from = best->left_receives ? right : left;
    plans->planned[from].to = to;
    plans->planned[from].turn = plans->planned[to].receives++;
    return to;
}

static void search(struct adapt_plans *plans)
{
    for (uint32_t j = 1; j < plans->m; j++) {
        uint32_t from[2] = { j - 1, j - 1 };

        for (uint32_t i = j; i-- > 0;) {
            struct best best = { INFINITY, i, true };

            find_cut(plans, i, j, true, &from[0], &best);
            find_cut(plans, i, j, false, &from[1], &best);
            *at(plans, i, j) = best;
        }
    }
    build(plans, 0, plans->m - 1);
}

/* A plan is due then, if none is before. */
static void plan_at(struct adapt_plans *plans, uint32_t node, double time_s,
                    struct cleave_orders *orders)
{
    if (plans->again_s <= time_s)
        return;
    plans->again_s = time_s;
    cleave_order_wake(orders, node, time_s);
}

/* All intervals in a row. */
static void gather(struct ordered_adapt *adapt, uint32_t n)
{
    struct adapt_plans *plans = adapt->plans;

    plans->m = 0;
    for (uint32_t x = 0; x < n;) {
        const uint32_t node = adapt->intervals.begins[x];

        plans->node[plans->m++] = node;
        plans->planned[node] = (struct planned){ .to = CV_NOBODY };
        x = adapt->intervals.last[node] + 1;
    }
}

/* Plan all that there is. */
static void plan(struct ordered_adapt *adapt, const struct cleave_view *view,
                 uint32_t node, struct cleave_orders *orders)
{
    struct adapt_plans *plans = adapt->plans;
    const double d = transfer_s(plans, view), c = combination_s(adapt, view);
    const bool merges = view->ready_model == CLEAVE_READY_MERGE;
    const double soon_s = fmax(SOON * (d + c), adapt->now_s - plans->last_s);
    bool waits = false;

    plans->a = merges ? d + c : fmax(d, c);
    plans->b = d + c;
    gather(adapt, view->nworkers);
    for (uint32_t k = 0; k < plans->m; k++) {
        const struct adapt_node *held = &adapt->nodes[plans->node[k]];
        const bool to_come = is_to_come(held);

        at(plans, k, k)->done_s =
            to_come ? adapt->now_s + soon_s : done_at(adapt, view, held);
        plans->mu_s[k] = merges || (!to_come && !cv_adapt_is_idle(held)) ? 0 : fmin(d, c);
        waits |= to_come;
    }
    if (plans->m > 1)
        search(plans);
    plans->planned_s = adapt->now_s;
    plans->again_s = INFINITY;
    if (waits && soon_s > 0)
        plan_at(plans, node, adapt->now_s + soon_s, orders);
}

/* --- what is done ------------------------------------------------------------------------------ */

/* Send if it is time; ask to be woken if it will be by itself. */
static void try_send(struct ordered_adapt *adapt, const struct cleave_view *view,
                     uint32_t sender, struct cleave_orders *orders)
{
    struct planned *from = &adapt->plans->planned[sender], *to;
    const struct adapt_node *receiver;
    double near_s;

    if (sender == CV_NOBODY || from->to == CV_NOBODY || from->came < from->receives ||
        !cv_adapt_is_idle(&adapt->nodes[sender]))
        return;
    to = &adapt->plans->planned[from->to];
    receiver = &adapt->nodes[from->to];
    if (receiver->receives || from->turn != to->came)
        return;
    near_s = done_at(adapt, view, receiver);
    if (view->ready_model != CLEAVE_READY_MERGE)
        near_s -= adapt->near * transfer_s(adapt->plans, view);
    if (!cv_adapt_is_idle(receiver) && adapt->now_s < near_s * (1 - 1e-12)) {
        if (to->wake_s != near_s)
            cleave_order_wake(orders, from->to, near_s);
        to->wake_s = near_s;
        return;
    }
    to->came++;
    cv_adapt_send(adapt, sender, from->to, orders);
    from->to = CV_NOBODY;
}

/* Something has changed at a node. */
static void go_on(struct ordered_adapt *adapt, const struct cleave_view *view,
                  uint32_t node, struct cleave_orders *orders)
{
    if (adapt->nodes[node].gone)
        return;
    try_send(adapt, view, cv_left_of(&adapt->intervals, node), orders);
    try_send(adapt, view, cv_right_of(&adapt->intervals, node), orders);
    try_send(adapt, view, node, orders);
}

static void note(struct ordered_adapt *adapt, const struct cleave_event *event)
{
    struct adapt_plans *plans = adapt->plans;

    if (event->kind == CLEAVE_ARRIVED) {
        const double took_s = event->time_s - event->start_s;

        plans->transfers_s += took_s;
        plans->squares_s2 += took_s * took_s;
        plans->ntransfers++;
    } else if (event->kind == CLEAVE_READY) {
        plans->last_s = event->time_s;
    }
}

/* Whether the event is one after which another plan may be better. */
static bool is_news(const struct ordered_adapt *adapt, const struct cleave_event *event)
{
    return event->kind == CLEAVE_READY ||
           (event->kind == CLEAVE_COMBINED && costs_vary(adapt, A_LITTLE));
}

bool cv_adapt_plans_decide(struct ordered_adapt *adapt, const struct cleave_view *view,
                           const struct cleave_event *event, struct cleave_orders *orders)
{
    struct adapt_plans *plans = adapt->plans;

    note(adapt, event);
    if (plans->ntransfers >= ENOUGH && costs_vary(adapt, TOO_MUCH))
        return false;
    if (is_news(adapt, event))
        plan_at(plans, event->worker,
                fmax(adapt->now_s, plans->planned_s + PAUSE * plans->b), orders);
    if (adapt->now_s >= plans->again_s) {
        plan(adapt, view, event->worker, orders);
        for (uint32_t k = 0; k < plans->m; k++)
            try_send(adapt, view, plans->node[k], orders);
    } else {
        go_on(adapt, view, event->worker, orders);
    }
    return true;
}
