/* ordered_adapt.c -- dynamic, order kept: overlap, speeds and waiting.
 * SPDX-License-Identifier: MIT
 *
 * ordered-tree-dyn with four more rules, all from durations already observed:
 *
 * - Overlap: an idle node without an idle neighbour sends to a combining neighbour whose
 *   port is free, if that one's cost is known and exceeds its own expected cost by at most
 *   `guard` mean transfers; and, while combinations are steady, once it has at most `near`
 *   transfers to go.
 * - Speeds: of two idle neighbours the one with the smaller expected cost receives.
 * - Waiting: if transfers and combinations cost very differently (ratio of the means
 *   below `ratio`), overlap gains little and nodes stranded between pairs cause the loss;
 *   then a node whose binomial buddy block is complete but busy waits for it, at most
 *   `wait` times the duration of its own last operation, before it merges the other way.
 *   A node that became ready may wait for a transfer and a combination.
 * - Plans: while partials become ready and costs are steady, plans replace these rules.
 *
 * A node's expected cost is the cost of its last combination, else the mean of all. Rules
 * apply when a node or a neighbour becomes idle, when a neighbour begins to combine, and
 * when a wait ends. */
#include <math.h>
#include "policy/common/orders.h"
#include "policy/common/setup.h"
#include "policy/reduce/observed.h"

enum { NOBODY = UINT32_MAX };

/* Inputs first .. last of a node that holds a partial. */
struct intervals {
    uint32_t n;
    uint32_t *first, *last;  /* per node                                    */
    uint32_t *begins, *ends; /* per input: the node whose interval begins or ends there */
};

static inline uint32_t left_of(const struct intervals *in, uint32_t node)
{
    return in->first[node] == 0 ? NOBODY : in->ends[in->first[node] - 1];
}

static inline uint32_t right_of(const struct intervals *in, uint32_t node)
{
    return in->last[node] + 1 == in->n ? NOBODY : in->begins[in->last[node] + 1];
}

/* The receiver takes the sender's inputs; they must be neighbours. */
static inline void intervals_join(struct intervals *in, uint32_t receiver,
                                  uint32_t sender)
{
    /* Lower first, higher last, without a branch, which would be mispredicted. */
    const uint32_t first[] = { in->first[receiver], in->first[sender] };
    const uint32_t last[] = { in->last[receiver], in->last[sender] };
    const uint32_t begin = first[0] < first[1] ? first[0] : first[1];
    const uint32_t end = last[0] > last[1] ? last[0] : last[1];

    in->first[receiver] = begin;
    in->last[receiver] = end;
    in->begins[begin] = in->ends[end] = receiver;
}

struct adapt_node {
    /* began_s, lasted_s: start and duration of the last operation */
    double idle_since_s, began_s, lasted_s;
    double combines_since_s, receives_since_s, wait_until_s;
    uint32_t buffered; /* arrived, not being combined */
    bool gone, receives, combines;
    bool listed; /* known to be idle                         */
    bool waits, waited;
};

struct adapt_plans;

struct ordered_adapt {
    double guard, ratio, wait, near;
    uint32_t overlap, speeds, planned;
    struct adapt_plans *plans; /* NULL: the rules decide                               */
    struct intervals intervals;
    struct cv_observed seen;
    struct adapt_node *nodes;
    double now_s;
    bool combining_takes_time;
    uint32_t sent;
};

static inline bool is_idle(const struct adapt_node *node)
{
    return !node->gone && !node->receives && !node->combines && node->buffered == 0;
}

static inline void send(struct ordered_adapt *adapt, uint32_t sender, uint32_t receiver,
                        struct cleave_orders *orders)
{
    struct adapt_node *from = &adapt->nodes[sender], *to = &adapt->nodes[receiver];

    from->gone = true;
    from->listed = to->listed = false;
    from->waits = to->waits = to->waited = false;
    to->receives = true;
    to->receives_since_s = adapt->now_s;
    if (!to->combines)
        to->began_s = adapt->now_s;
    intervals_join(&adapt->intervals, receiver, sender);
    adapt->sent++;
    cv_order_combine(orders, receiver, sender);
}

/* --- plans made while partials become ready ----------------------------------------- */

/* When a partial becomes ready, all intervals are planned as one reduction: G(i, j), the
 * least time for the result of i .. j, busy nodes from their expected end, with the costs
 * seen (recurrence in model/ready/ready_ordered.h). Absent partials are expected in SOON
 * of a transfer and a combination, or after as long as none has become ready: so their
 * neighbours wait, but the plan is made again after that time, and when combinations take
 * unexpected times, at most every PAUSE.
 *
 * A transfer begins when its sender has combined all it receives, when it is its turn at
 * the receiver, and when the receiver has at most one transfer to go.
 *
 * O(m^2) for a plan of m intervals: the best cut of an interval moves to the left with its
 * begin and to the right with its end. */

/* Expected delay of absent partials, and the shortest time between plans, in d + c. */
static const double SOON = 0.1, PAUSE = 0.05;
/* Above TOO_MUCH variation plans are useless; above A_LITTLE a plan follows every
 * combination. */
static const double TOO_MUCH = 0.5, A_LITTLE = 0.01;
enum { ENOUGH = 8 };

/* The best plan of an interval: its end, its cut, the side that receives. */
struct best {
    double done_s;
    uint32_t cut; /* last node of the left part */
    bool left_receives;
};

struct planned {
    uint32_t to;             /* node that gets its partial, or NOBODY */
    uint32_t turn;           /* index among the senders of that receiver */
    uint32_t receives, came; /* partials planned for it; partials sent */
    double wake_s;           /* the last time asked for */
};

struct adapt_plans {
    struct planned *planned;   /* per node                                              */
    double last_s;             /* when the last partial became ready           */
    double planned_s, again_s; /* times of the last plan and of the next plan */
    double squares_s2;         /* sum of squared transfers */
    /* The current plan, of m intervals: */
    uint32_t m;
    uint32_t *node;     /* holders of the partials */
    double *mu_s;       /* added if a single node receives */
    double a, b;        /* costs: the maximum of the two, and their sum */
    struct best *table; /* row i, column j                                             */
};

/* NULL: no memory. */
static struct adapt_plans *adapt_plans_new(struct cv_arena *arena, uint32_t n)
{
    struct adapt_plans *plans = cv_array(arena, 1, sizeof *plans);

    if (plans == NULL)
        return NULL;
    plans->planned_s = -INFINITY;
    plans->again_s = INFINITY;
    if (!CV_NEW(arena, plans->planned, n) || !CV_NEW(arena, plans->node, n) ||
        !CV_NEW(arena, plans->mu_s, n) || !CV_NEW(arena, plans->table, (size_t)n * n))
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        plans->planned[i] = (struct planned){ .to = NOBODY };
    return plans;
}
static double transfer_s(const struct ordered_adapt *adapt,
                         const struct cleave_view *view)
{
    return adapt->seen.ntransfers > 0 ? cv_mean_transfer_seen(&adapt->seen)
                                      : view->transfer_s;
}

static double combination_s(const struct ordered_adapt *adapt,
                            const struct cleave_view *view)
{
    return adapt->seen.ncombinations > 0 ? cv_mean_combination_seen(&adapt->seen)
                                         : view->compute_s;
}
static bool costs_vary(const struct ordered_adapt *adapt, double cv)
{
    const struct cv_observed *seen = &adapt->seen;
    const double mean_s = cv_mean_transfer_seen(seen);

    return (seen->ntransfers > 1 && adapt->plans->squares_s2 / seen->ntransfers >
                                        (1 + cv * cv) * mean_s * mean_s) ||
           cv_combinations_vary(seen, cv);
}
/* When a node will have combined everything sent to it. */
static double done_at(const struct ordered_adapt *adapt, const struct cleave_view *view,
                      const struct adapt_node *node)
{
    const double compute_s = combination_s(adapt, view);
    double done_s = adapt->now_s;

    if (node->combines)
        done_s = fmax(done_s, node->combines_since_s + compute_s);
    done_s += node->buffered * compute_s;
    if (node->receives)
        done_s =
            fmax(done_s, node->receives_since_s + transfer_s(adapt, view)) + compute_s;
    return done_s;
}

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

/* Whether i .. j waits for its left part, cut at k: monotonous in k. */
static bool left_is_later(const struct adapt_plans *plans, uint32_t i, uint32_t j,
                          uint32_t k, bool left_receives)
{
    return left_receives
               ? counts(plans, i, k) + plans->a >= at(plans, k + 1, j)->done_s + plans->b
               : at(plans, i, k)->done_s + plans->b >= counts(plans, k + 1, j) + plans->a;
}

/* The best cut is the first one at which the left part is later, or the previous one.
 * *from is the cut of the interval that begins one later. */
static void find_cut(const struct adapt_plans *plans, uint32_t i, uint32_t j,
                     bool left_receives, uint32_t *from, struct best *best)
{
    while (*from > i && left_is_later(plans, i, j, *from - 1, left_receives))
        --*from;
    try_cut(plans, i, j, *from, left_receives, best);
    if (*from > i)
        try_cut(plans, i, j, *from - 1, left_receives, best);
}

/* The node that holds i .. j in the end; sets senders and receivers. Recursion as deep as
 * the tree. */
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

static void plan_at(struct adapt_plans *plans, uint32_t node, double time_s,
                    struct cleave_orders *orders)
{
    if (plans->again_s <= time_s)
        return;
    plans->again_s = time_s;
    cleave_order_wake(orders, node, time_s);
}

static void gather(struct ordered_adapt *adapt, uint32_t n)
{
    struct adapt_plans *plans = adapt->plans;

    plans->m = 0;
    for (uint32_t x = 0; x < n;) {
        const uint32_t node = adapt->intervals.begins[x];

        plans->node[plans->m++] = node;
        plans->planned[node] = (struct planned){ .to = NOBODY };
        x = adapt->intervals.last[node] + 1;
    }
}

static void plan(struct ordered_adapt *adapt, const struct cleave_view *view,
                 uint32_t node, struct cleave_orders *orders)
{
    struct adapt_plans *plans = adapt->plans;
    const double d = transfer_s(adapt, view), c = combination_s(adapt, view);
    const bool merges = view->ready_model == CLEAVE_READY_MERGE;
    const double soon_s = fmax(SOON * (d + c), adapt->now_s - plans->last_s);
    bool waits = false;

    plans->a = merges ? d + c : fmax(d, c);
    plans->b = d + c;
    gather(adapt, view->nworkers);
    for (uint32_t k = 0; k < plans->m; k++) {
        const struct adapt_node *held = &adapt->nodes[plans->node[k]];
        const bool to_come = held->receives && isnan(held->receives_since_s);

        at(plans, k, k)->done_s =
            to_come ? adapt->now_s + soon_s : done_at(adapt, view, held);
        plans->mu_s[k] = merges || (!to_come && !is_idle(held)) ? 0 : fmin(d, c);
        waits |= to_come;
    }
    if (plans->m > 1)
        search(plans);
    plans->planned_s = adapt->now_s;
    plans->again_s = INFINITY;
    if (waits && soon_s > 0)
        plan_at(plans, node, adapt->now_s + soon_s, orders);
}

/* Send if it is time; ask for a wake-up if only time is missing. */
static void try_send(struct ordered_adapt *adapt, const struct cleave_view *view,
                     uint32_t sender, struct cleave_orders *orders)
{
    struct planned *from = &adapt->plans->planned[sender], *to;
    const struct adapt_node *receiver;
    double near_s;

    if (sender == NOBODY || from->to == NOBODY || from->came < from->receives ||
        !is_idle(&adapt->nodes[sender]))
        return;
    to = &adapt->plans->planned[from->to];
    receiver = &adapt->nodes[from->to];
    if (receiver->receives || from->turn != to->came)
        return;
    near_s = done_at(adapt, view, receiver);
    if (view->ready_model != CLEAVE_READY_MERGE)
        near_s -= adapt->near * transfer_s(adapt, view);
    if (!is_idle(receiver) && adapt->now_s < near_s * (1 - 1e-12)) {
        if (to->wake_s != near_s)
            cleave_order_wake(orders, from->to, near_s);
        to->wake_s = near_s;
        return;
    }
    to->came++;
    send(adapt, sender, from->to, orders);
    from->to = NOBODY;
}

static void go_on(struct ordered_adapt *adapt, const struct cleave_view *view,
                  uint32_t node, struct cleave_orders *orders)
{
    if (adapt->nodes[node].gone)
        return;
    try_send(adapt, view, left_of(&adapt->intervals, node), orders);
    try_send(adapt, view, right_of(&adapt->intervals, node), orders);
    try_send(adapt, view, node, orders);
}
/* Whether another plan may be better after this event. */
static bool is_news(const struct ordered_adapt *adapt, const struct cleave_event *event)
{
    return event->kind == CLEAVE_READY ||
           (event->kind == CLEAVE_COMBINED && costs_vary(adapt, A_LITTLE));
}

/* Follow the plans after the nodes were updated. False: costs vary too much for plans,
 * and the rules decide. */
static bool adapt_plans_decide(struct ordered_adapt *adapt,
                               const struct cleave_view *view,
                               const struct cleave_event *event,
                               struct cleave_orders *orders)
{
    struct adapt_plans *plans = adapt->plans;

    if (event->kind == CLEAVE_ARRIVED)
        plans->squares_s2 +=
            (event->time_s - event->start_s) * (event->time_s - event->start_s);
    else if (event->kind == CLEAVE_READY)
        plans->last_s = event->time_s;
    if (adapt->seen.ntransfers >= ENOUGH && costs_vary(adapt, TOO_MUCH))
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
/* --- the rules ---------------------------------------------------------------------- */

/* With ready times more nodes are stranded: waiting pays below this ratio of the
 * means. */
static const double READY_RATIO = 0.5;

static enum cleave_status adapt_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct ordered_adapt *adapt = state;
    struct intervals *in = &adapt->intervals;
    const uint32_t n = view->nworkers;

    adapt->combining_takes_time = view->compute_s > 0;
    if (view->ready_s != NULL && adapt->ratio < READY_RATIO)
        adapt->ratio = READY_RATIO;
    adapt->plans = NULL;
    if (view->ready_s != NULL && view->compute_s > 0 &&
        view->nworkers <= adapt->planned) {
        adapt->plans = adapt_plans_new(setup->arena, view->nworkers);
        if (adapt->plans == NULL)
            return cv_fail_memory(err, "the plans");
    }
    adapt->nodes = cv_array(setup->arena, n, sizeof *adapt->nodes);
    in->n = n;
    if (!CV_NEW(setup->arena, in->first, n) || !CV_NEW(setup->arena, in->last, n) ||
        !CV_NEW(setup->arena, in->begins, n) || !CV_NEW(setup->arena, in->ends, n) ||
        adapt->nodes == NULL || !cv_observed_init(&adapt->seen, setup->arena, n))
        return cv_fail_memory(err, "the intervals");
    for (uint32_t i = 0; i < n; i++) {
        in->first[i] = in->last[i] = in->begins[i] = in->ends[i] = i;
        adapt->nodes[i] = (struct adapt_node){ .receives = true, /* no partial yet */
                                               .receives_since_s = NAN };
    }
    return CLEAVE_OK;
}

static bool is_combining(const struct adapt_node *node)
{
    return !node->gone && !node->receives && node->combines && node->buffered == 0;
}

static double expected_cost(const struct ordered_adapt *adapt, uint32_t node)
{
    double mean_s = cv_mean_combination_seen(&adapt->seen);

    if (adapt->seen.known_s[node] >= 0)
        return adapt->seen.known_s[node];
    return adapt->nodes[node].combines
               ? adapt->now_s - adapt->nodes[node].combines_since_s + mean_s
               : mean_s;
}

/* When a node that combines will have at most `near` transfers to go. */
static double near_from(const struct ordered_adapt *adapt, uint32_t receiver)
{
    const double known_s = adapt->seen.known_s[receiver];

    return adapt->nodes[receiver].combines_since_s +
           (known_s >= 0 ? known_s : cv_mean_combination_seen(&adapt->seen)) -
           adapt->near * cv_mean_transfer_seen(&adapt->seen);
}

/* Whether a partial sent now would wait at a combining node. */
static bool is_early(const struct ordered_adapt *adapt, uint32_t receiver)
{
    return adapt->near > 0 && cv_combinations_steady(&adapt->seen) &&
           adapt->now_s < near_from(adapt, receiver) * (1 - 1e-12);
}

static bool may_overlap(const struct ordered_adapt *adapt, uint32_t sender,
                        uint32_t receiver)
{
    double known_s;

    if (receiver == NOBODY || !adapt->overlap || !is_combining(&adapt->nodes[receiver]))
        return false;
    if (is_early(adapt, receiver))
        return false;
    known_s = adapt->seen.known_s[receiver];
    if (!adapt->speeds || (known_s < 0 && cv_need_not_know(&adapt->seen, adapt->ratio)))
        return true;
    return known_s >= 0 &&
           known_s <= expected_cost(adapt, sender) +
                          adapt->guard * cv_mean_transfer_seen(&adapt->seen);
}

/* The neighbour with which the binomial tree would merge this block; NOBODY: there
 * is none, or it is not complete. */
static uint32_t whole_buddy(const struct ordered_adapt *adapt, uint32_t node,
                            uint32_t left, uint32_t right)
{
    const struct intervals *in = &adapt->intervals;
    uint64_t first = in->first[node], last = in->last[node], n = in->n;

    for (uint64_t width = 2;; width *= 2) {
        uint64_t begin = first & ~(width - 1), end = begin + width - 1;

        if (end > n - 1)
            end = n - 1;
        if (last > end)
            continue;
        if (begin == first && end == last) {
            if (begin == 0 && end == n - 1)
                return NOBODY;
            continue;
        }
        if (first > begin && last < end)
            return NOBODY;
        if (first == begin)
            return right != NOBODY && in->last[right] == end ? right : NOBODY;
        return left != NOBODY && in->first[left] == begin ? left : NOBODY;
    }
}

static bool waiting_pays(const struct ordered_adapt *adapt)
{
    return adapt->wait > 0 &&
           (adapt->seen.ntransfers == 0 || adapt->seen.ncombinations == 0 ||
            cv_ratio_seen(&adapt->seen) < adapt->ratio);
}

static void list_idle(struct ordered_adapt *adapt, uint32_t node)
{
    if (adapt->nodes[node].listed)
        return;
    adapt->nodes[node].listed = true;
    adapt->nodes[node].idle_since_s = adapt->now_s;
}

static void wait_for_buddy(struct ordered_adapt *adapt, uint32_t node,
                           struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[node];

    if (self->waits)
        return;
    list_idle(adapt, node);
    self->waits = true;
    self->wait_until_s = adapt->now_s + adapt->wait * self->lasted_s;
    cleave_order_wake(orders, node, self->wait_until_s);
}

/* Merge with the neighbour that is idle longest, the left one if equal. */
static void merge_idle(struct ordered_adapt *adapt, uint32_t node, uint32_t left,
                       uint32_t right, struct cleave_orders *orders)
{
    uint32_t other = left == NOBODY ? right : left;

    if (left != NOBODY && right != NOBODY &&
        adapt->nodes[right].idle_since_s < adapt->nodes[left].idle_since_s)
        other = right;
    if (adapt->speeds &&
        cv_is_faster(expected_cost(adapt, node), expected_cost(adapt, other)))
        send(adapt, other, node, orders);
    else
        send(adapt, node, other, orders);
}

/* Send to the neighbour that combines longest, the left one if equal. */
static void send_ahead(struct ordered_adapt *adapt, uint32_t node, uint32_t left,
                       uint32_t right, struct cleave_orders *orders)
{
    uint32_t other = left == NOBODY ? right : left;

    if (left != NOBODY && right != NOBODY &&
        adapt->nodes[right].combines_since_s < adapt->nodes[left].combines_since_s)
        other = right;
    send(adapt, node, other, orders);
}

static void consider(struct ordered_adapt *adapt, uint32_t node,
                     struct cleave_orders *orders)
{
    const uint32_t left = left_of(&adapt->intervals, node);
    const uint32_t right = right_of(&adapt->intervals, node);
    uint32_t idle[2] = { left, right }, busy[2] = { left, right };

    if (!is_idle(&adapt->nodes[node]) || (left == NOBODY && right == NOBODY))
        return;
    for (int side = 0; side < 2; side++) {
        if (idle[side] == NOBODY || !is_idle(&adapt->nodes[idle[side]]))
            idle[side] = NOBODY;
        if (!may_overlap(adapt, node, busy[side]))
            busy[side] = NOBODY;
    }
    if (adapt->now_s > 0 && !adapt->nodes[node].waited && waiting_pays(adapt) &&
        (idle[0] & idle[1] & busy[0] & busy[1]) != NOBODY) {
        uint32_t buddy = whole_buddy(adapt, node, left, right);

        if (buddy != NOBODY) {
            int side = buddy == right;

            if (idle[side] == NOBODY && busy[side] == NOBODY) {
                wait_for_buddy(adapt, node, orders);
                return;
            }
            idle[!side] = busy[!side] = NOBODY;
        }
    }
    if (idle[0] != NOBODY || idle[1] != NOBODY)
        merge_idle(adapt, node, idle[0], idle[1], orders);
    else if (busy[0] != NOBODY || busy[1] != NOBODY)
        send_ahead(adapt, node, busy[0], busy[1], orders);
    else
        list_idle(adapt, node);
}

/* A node changed: its idle neighbours decide again, the one idle longest first, until
 * one of them acts. */
static void wake_neighbours(struct ordered_adapt *adapt, uint32_t node,
                            struct cleave_orders *orders)
{
    uint32_t around[2] = { left_of(&adapt->intervals, node),
                           right_of(&adapt->intervals, node) };
    uint32_t before = adapt->sent;

    if (around[0] != NOBODY && around[1] != NOBODY &&
        adapt->nodes[around[1]].idle_since_s < adapt->nodes[around[0]].idle_since_s) {
        uint32_t left = around[0];

        around[0] = around[1];
        around[1] = left;
    }
    for (int i = 0; i < 2 && adapt->sent == before; i++)
        if (around[i] != NOBODY && adapt->nodes[around[i]].listed)
            consider(adapt, around[i], orders);
}

static void settle(struct ordered_adapt *adapt, uint32_t node,
                   struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[node];
    uint32_t before = adapt->sent;

    if (is_idle(self)) {
        self->lasted_s = adapt->now_s - self->began_s;
        self->idle_since_s = adapt->now_s;
    }
    if (adapt->plans != NULL)
        return;
    if (is_idle(self)) {
        consider(adapt, node, orders);
        if (adapt->sent == before)
            wake_neighbours(adapt, node, orders);
    } else if (adapt->overlap && is_combining(self)) {
        if (is_early(adapt, node))
            cleave_order_wake(orders, node, near_from(adapt, node));
        else
            wake_neighbours(adapt, node, orders);
    }
}

static void arrived(struct ordered_adapt *adapt, const struct cleave_event *event,
                    struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[event->worker];

    cv_saw_transfer(&adapt->seen, event->time_s - event->start_s);
    self->receives = false;
    if (self->combines) {
        self->buffered++;
    } else {
        self->combines = true;
        self->combines_since_s = event->time_s;
    }
    if (adapt->combining_takes_time)
        settle(adapt, event->worker, orders);
}

static void combined(struct ordered_adapt *adapt, const struct cleave_event *event,
                     struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[event->worker];

    if (adapt->combining_takes_time)
        cv_saw_combination(&adapt->seen, event->worker, event->time_s - event->start_s);
    self->combines = self->buffered > 0;
    if (self->combines) {
        self->buffered--;
        self->combines_since_s = event->time_s;
    }
    settle(adapt, event->worker, orders);
}

static void wait_is_over(struct ordered_adapt *adapt, uint32_t node,
                         struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[node];

    if (adapt->plans != NULL)
        return;
    if (self->waits && self->wait_until_s == adapt->now_s && is_idle(self)) {
        self->waited = true;
        self->waits = false;
        consider(adapt, node, orders);
    } else if (adapt->overlap && is_combining(self) && !is_early(adapt, node)) {
        wake_neighbours(adapt, node, orders);
    }
}

/* Duration of a transfer and a combination: how long a node that became ready waits
 * for a neighbour. */
static double one_more(const struct ordered_adapt *adapt, const struct cleave_view *view)
{
    if (adapt->seen.ncombinations == 0)
        return view->transfer_s + view->compute_s;
    return cv_mean_transfer_seen(&adapt->seen) + cv_mean_combination_seen(&adapt->seen);
}

static void adapt_decide(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    struct ordered_adapt *adapt = state;

    adapt->now_s = event->time_s;
    switch (event->kind) {
    case CLEAVE_READY:
        adapt->nodes[event->worker].receives = false;
        adapt->nodes[event->worker].began_s = adapt->now_s - one_more(adapt, view);
        settle(adapt, event->worker, orders);
        break;
    case CLEAVE_START:
        for (uint32_t i = 0; i < view->nworkers && view->ready_s == NULL; i++) {
            adapt->nodes[i].receives = false;
            consider(adapt, i, orders);
        }
        break;
    case CLEAVE_ARRIVED:
        arrived(adapt, event, orders);
        break;
    case CLEAVE_COMBINED:
        combined(adapt, event, orders);
        break;
    case CLEAVE_WAKE:
        wait_is_over(adapt, event->worker, orders);
        break;
    default:
        break;
    }
    if (adapt->plans == NULL || adapt_plans_decide(adapt, view, event, orders))
        return;
    adapt->plans = NULL;
    for (uint32_t i = 0; i < view->nworkers; i++)
        consider(adapt, i, orders);
}

static const struct cleave_param adapt_params[] = {
    { "overlap", CLEAVE_PARAM_COUNT, offsetof(struct ordered_adapt, overlap), 1, 0, 1,
      "1: send to neighbours that are combining" },
    { "speeds", CLEAVE_PARAM_COUNT, offsetof(struct ordered_adapt, speeds), 1, 0, 1,
      "1: the faster of two receives, and overlap only towards known speeds" },
    { "wait", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, wait), 0.5, 0, 100,
      "longest wait for the buddy, in durations of the last operation; 0: never" },
    { "ratio", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, ratio), 0.25, 0, 1,
      "wait while the smaller mean cost is below this part of the greater" },
    { "guard", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, guard), 0.5, 0, 100,
      "overlap towards nodes slower by up to this many mean transfers" },
    { "near", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, near), 1, 0, 100,
      "overlap towards nodes with at most this many mean transfers to go; 0: any" },
    { "plans", CLEAVE_PARAM_COUNT, offsetof(struct ordered_adapt, planned), 128, 0, 1024,
      "plan again as partials become ready if there are at most this many nodes" },
    { 0 },
};

const struct cleave_policy cleave_policy_ordered_adapt = {
    .name = "ordered-adapt",
    .summary = "dynamic, order kept: overlap, observed speeds, waiting for buddies",
    .reference = "cleave",
    .task = CLEAVE_TASK_REDUCE,
    .keeps_order = true,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct ordered_adapt),
    .params = adapt_params,
    .start = adapt_start,
    .decide = adapt_decide,
};
