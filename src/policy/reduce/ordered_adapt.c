/* ordered_adapt.c -- dynamic, order kept: overlap, speeds and waiting.
 * SPDX-License-Identifier: MIT
 *
 * ordered-tree-dyn with four rules more, all from durations already observed:
 *
 * - Overlap: an idle node without an idle neighbour sends to a neighbour that is
 *   combining and whose port is free, if that one's cost is known and not above its own
 *   expected cost by more than `guard` mean transfers; and, while combinations are steady,
 *   once it has at most `near` transfers to go, so that nobody waits there.
 * - Speeds: of two idle neighbours the one with the smaller expected cost receives.
 * - Waiting: while transfers and combinations cost very differently (ratio of the means
 *   below `ratio`), overlap gains little and the loss comes from nodes stranded between
 *   pairs; then a node whose binomial buddy block is whole but busy waits for it, at most
 *   `wait` times the duration of its own last operation, before it merges the other way.
 *   Who has just become ready may wait as long as a combination with its transfer takes.
 *
 * - Plans: when partials become ready one by one and costs are steady, the rules above are
 *   not asked; ordered_adapt.c has the plans that are followed instead.
 *
 * A node's expected cost is that of its last combination, else the mean of all seen. The
 * rules are looked at when a node becomes idle, when a neighbour becomes idle or begins
 * to combine, and when a wait is over. */
#include <math.h>
#include "policy/common/orders.h"
#include "policy/common/setup.h"
#include "policy/reduce/observed.h"

#define CV_NOBODY UINT32_MAX

/* Inputs first .. last of a node that holds a partial, and who stands at either end. */
struct cv_intervals {
    uint32_t n;
    uint32_t *first, *last;  /* per node                                    */
    uint32_t *begins, *ends; /* per input: the node whose interval begins
                                    or ends there, if it is an end              */
};

static inline uint32_t cv_left_of(const struct cv_intervals *in, uint32_t node)
{
    return in->first[node] == 0 ? CV_NOBODY : in->ends[in->first[node] - 1];
}

static inline uint32_t cv_right_of(const struct cv_intervals *in, uint32_t node)
{
    return in->last[node] + 1 == in->n ? CV_NOBODY : in->begins[in->last[node] + 1];
}

/* The receiver stands for the sender's inputs too; they must be neighbours. */
static inline void cv_intervals_join(struct cv_intervals *in, uint32_t receiver,
                                     uint32_t sender)
{
    /* From the lower first to the higher last, without a branch: no one can guess it. */
    const uint32_t first[] = { in->first[receiver], in->first[sender] };
    const uint32_t last[] = { in->last[receiver], in->last[sender] };
    const uint32_t begin = first[0] < first[1] ? first[0] : first[1];
    const uint32_t end = last[0] > last[1] ? last[0] : last[1];

    in->first[receiver] = begin;
    in->last[receiver] = end;
    in->begins[begin] = in->ends[end] = receiver;
}

struct adapt_node {
    double idle_since_s, began_s, lasted_s; /* began_s, lasted_s: of the last operation */
    double combines_since_s, receives_since_s, wait_until_s;
    uint32_t buffered; /* arrived, not being combined              */
    bool gone, receives, combines;
    bool listed; /* known to be idle                         */
    bool waits, waited;
};

/* Plans that are made anew as partials become ready: ordered_adapt.c. */
struct adapt_plans;

struct ordered_adapt {
    double guard, ratio, wait, near;
    uint32_t overlap, speeds, planned;
    struct adapt_plans *plans; /* NULL: the rules decide                               */
    struct cv_intervals intervals;
    struct cv_observed seen;
    struct adapt_node *nodes;
    double now_s;
    bool combining_takes_time;
    uint32_t sent;
};

static inline bool cv_adapt_is_idle(const struct adapt_node *node)
{
    return !node->gone && !node->receives && !node->combines && node->buffered == 0;
}

static inline void cv_adapt_send(struct ordered_adapt *adapt, uint32_t sender,
                                 uint32_t receiver, struct cleave_orders *orders)
{
    struct adapt_node *from = &adapt->nodes[sender], *to = &adapt->nodes[receiver];

    from->gone = true;
    from->listed = to->listed = false;
    from->waits = to->waits = to->waited = false;
    to->receives = true;
    to->receives_since_s = adapt->now_s;
    if (!to->combines)
        to->began_s = adapt->now_s;
    cv_intervals_join(&adapt->intervals, receiver, sender);
    adapt->sent++;
    cv_order_combine(orders, receiver, sender);
}

/* --- ordered_adapt.c --- */

/* --- neighbours are planned anew as partials become ready -------------------------- */

/* When partials become ready, all intervals that there are are planned as one reduction:
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

/* Room for plans; NULL if memory is short. */
static struct adapt_plans *adapt_plans_new(struct cv_arena *arena, uint32_t n)
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

/* What an event, whose state the nodes have already, makes of the plans. False: costs vary
 * too much to plan with, so that the rules are to decide from now on. */
static bool adapt_plans_decide(struct ordered_adapt *adapt,
                               const struct cleave_view *view,
                               const struct cleave_event *event,
                               struct cleave_orders *orders)
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

/* --- which node stands for which inputs, in their order ---------------------------- */

static bool intervals_init(struct cv_intervals *in, struct cv_arena *arena, uint32_t n)
{
    in->n = n;
    in->first = cv_array(arena, n, sizeof *in->first);
    in->last = cv_array(arena, n, sizeof *in->last);
    in->begins = cv_array(arena, n, sizeof *in->begins);
    in->ends = cv_array(arena, n, sizeof *in->ends);
    if (in->first == NULL || in->last == NULL || in->begins == NULL || in->ends == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        in->first[i] = in->last[i] = in->begins[i] = in->ends[i] = i;
    return true;
}

/* --- dynamic, order kept: overlap, speeds and waiting ------------------------------ */

/* When partials become ready one by one, more of them are stranded: then waiting pays from
 * such a ratio of the means on. */
static const double READY_RATIO = 0.5;

static enum cleave_status adapt_start(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct ordered_adapt *adapt = state;

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
    adapt->nodes = cv_array(setup->arena, view->nworkers, sizeof *adapt->nodes);
    if (adapt->nodes == NULL ||
        !intervals_init(&adapt->intervals, setup->arena, view->nworkers) ||
        !cv_observed_init(&adapt->seen, setup->arena, view->nworkers))
        return cv_fail_memory(err, "the intervals");
    for (uint32_t i = 0; i < view->nworkers; i++)
        adapt->nodes[i] = (struct adapt_node){ .receives = true, /* not there yet */
                                               .receives_since_s = NAN };
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

/* Whether somebody who sends now to a node that combines would wait there. */
static bool is_early(const struct ordered_adapt *adapt, uint32_t receiver)
{
    return adapt->near > 0 && cv_combinations_steady(&adapt->seen) &&
           adapt->now_s < near_from(adapt, receiver) * (1 - 1e-12);
}

static bool may_overlap(const struct ordered_adapt *adapt, uint32_t sender,
                        uint32_t receiver)
{
    double known_s;

    if (receiver == CV_NOBODY || !adapt->overlap ||
        !is_combining(&adapt->nodes[receiver]))
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

/* Which way the binomial tree would merge this block: the neighbour on that side if it is
 * exactly the buddy, CV_NOBODY if there is none or it is not whole. */
static uint32_t whole_buddy(const struct ordered_adapt *adapt, uint32_t node,
                            uint32_t left, uint32_t right)
{
    const struct cv_intervals *in = &adapt->intervals;
    uint64_t first = in->first[node], last = in->last[node], n = in->n;

    for (uint64_t width = 2;; width *= 2) {
        uint64_t begin = first & ~(width - 1), end = begin + width - 1;

        if (end > n - 1)
            end = n - 1;
        if (last > end)
            continue;
        if (begin == first && end == last) {
            if (begin == 0 && end == n - 1)
                return CV_NOBODY;
            continue;
        }
        if (first > begin && last < end)
            return CV_NOBODY;
        if (first == begin)
            return right != CV_NOBODY && in->last[right] == end ? right : CV_NOBODY;
        return left != CV_NOBODY && in->first[left] == begin ? left : CV_NOBODY;
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

/* Merge with an idle neighbour: who waits longer, the left one if equal. */
static void merge_idle(struct ordered_adapt *adapt, uint32_t node, uint32_t left,
                       uint32_t right, struct cleave_orders *orders)
{
    uint32_t other = left == CV_NOBODY ? right : left;

    if (left != CV_NOBODY && right != CV_NOBODY &&
        adapt->nodes[right].idle_since_s < adapt->nodes[left].idle_since_s)
        other = right;
    if (adapt->speeds &&
        cv_is_faster(expected_cost(adapt, node), expected_cost(adapt, other)))
        cv_adapt_send(adapt, other, node, orders);
    else
        cv_adapt_send(adapt, node, other, orders);
}

/* Send to a combining neighbour: who began first, the left one if equal. */
static void send_ahead(struct ordered_adapt *adapt, uint32_t node, uint32_t left,
                       uint32_t right, struct cleave_orders *orders)
{
    uint32_t other = left == CV_NOBODY ? right : left;

    if (left != CV_NOBODY && right != CV_NOBODY &&
        adapt->nodes[right].combines_since_s < adapt->nodes[left].combines_since_s)
        other = right;
    cv_adapt_send(adapt, node, other, orders);
}

static void consider(struct ordered_adapt *adapt, uint32_t node,
                     struct cleave_orders *orders)
{
    const uint32_t left = cv_left_of(&adapt->intervals, node);
    const uint32_t right = cv_right_of(&adapt->intervals, node);
    uint32_t idle[2] = { left, right }, busy[2] = { left, right };

    if (!cv_adapt_is_idle(&adapt->nodes[node]) ||
        (left == CV_NOBODY && right == CV_NOBODY))
        return;
    for (int side = 0; side < 2; side++) {
        if (idle[side] == CV_NOBODY || !cv_adapt_is_idle(&adapt->nodes[idle[side]]))
            idle[side] = CV_NOBODY;
        if (!may_overlap(adapt, node, busy[side]))
            busy[side] = CV_NOBODY;
    }
    if (adapt->now_s > 0 && !adapt->nodes[node].waited && waiting_pays(adapt) &&
        (idle[0] & idle[1] & busy[0] & busy[1]) != CV_NOBODY) {
        uint32_t buddy = whole_buddy(adapt, node, left, right);

        if (buddy != CV_NOBODY) {
            int side = buddy == right;

            if (idle[side] == CV_NOBODY && busy[side] == CV_NOBODY) {
                wait_for_buddy(adapt, node, orders);
                return;
            }
            idle[!side] = busy[!side] = CV_NOBODY;
        }
    }
    if (idle[0] != CV_NOBODY || idle[1] != CV_NOBODY)
        merge_idle(adapt, node, idle[0], idle[1], orders);
    else if (busy[0] != CV_NOBODY || busy[1] != CV_NOBODY)
        send_ahead(adapt, node, busy[0], busy[1], orders);
    else
        list_idle(adapt, node);
}

/* Something changed at a node: let its idle neighbours look again, the one that has been
 * idle longest first, until one of them acts. */
static void wake_neighbours(struct ordered_adapt *adapt, uint32_t node,
                            struct cleave_orders *orders)
{
    uint32_t around[2] = { cv_left_of(&adapt->intervals, node),
                           cv_right_of(&adapt->intervals, node) };
    uint32_t before = adapt->sent;

    if (around[0] != CV_NOBODY && around[1] != CV_NOBODY &&
        adapt->nodes[around[1]].idle_since_s < adapt->nodes[around[0]].idle_since_s) {
        uint32_t left = around[0];

        around[0] = around[1];
        around[1] = left;
    }
    for (int i = 0; i < 2 && adapt->sent == before; i++)
        if (around[i] != CV_NOBODY && adapt->nodes[around[i]].listed)
            consider(adapt, around[i], orders);
}

static void settle(struct ordered_adapt *adapt, uint32_t node,
                   struct cleave_orders *orders)
{
    struct adapt_node *self = &adapt->nodes[node];
    uint32_t before = adapt->sent;

    if (cv_adapt_is_idle(self)) {
        self->lasted_s = adapt->now_s - self->began_s;
        self->idle_since_s = adapt->now_s;
    }
    if (adapt->plans != NULL)
        return;
    if (cv_adapt_is_idle(self)) {
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
    if (self->waits && self->wait_until_s == adapt->now_s && cv_adapt_is_idle(self)) {
        self->waited = true;
        self->waits = false;
        consider(adapt, node, orders);
    } else if (adapt->overlap && is_combining(self) && !is_early(adapt, node)) {
        wake_neighbours(adapt, node, orders);
    }
}

/* What a combination with its transfer takes: as long as that somebody who has just become
 * ready may hope for a neighbour that comes soon. */
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
      "overlap towards nodes slower by up to so many mean transfers" },
    { "near", CLEAVE_PARAM_REAL, offsetof(struct ordered_adapt, near), 1, 0, 100,
      "overlap towards nodes that have at most so many mean transfers to go; 0: any" },
    { "plans", CLEAVE_PARAM_COUNT, offsetof(struct ordered_adapt, planned), 128, 0, 1024,
      "plan anew as partials become ready if there are at most so many nodes" },
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
