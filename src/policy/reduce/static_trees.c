/* static_trees.c -- the optimal tree for equal costs. SPDX-License-Identifier: MIT
 *
 * The tree is built backwards from its end: the next node is put below the one that can
 * receive from it latest (model/reduce/greedy_tree.h has the formulas and why this takes linear
 * time). `max_transfers` limits the transfers at the same time, `max_reducers` the nodes
 * that receive anything; the tree is optimal for its limit. With `ordered` the nodes are
 * numbered so that only neighbouring intervals are combined.
 *
 * When costs turn out otherwise than declared, the tree is kept: a node sends when it has
 * combined all it receives, first come first served; with `ordered` in the planned order
 * of each receiver, since only that keeps the inputs in order; under a limit on transfers
 * in the planned order of all, at the planned times while transfers take as long as
 * declared.
 *
 * When only the costs of combining differ from node to node, nodes are inserted by
 * increasing cost: a heuristic that is nearly always optimal (model/reduce/greedy_unequal.h).
 * Canon and Antoniu, Scheduling associative reductions, 2012. */
#include <math.h>
#include <string.h>
#include "model/reduce/greedy_tree.h"
#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_tree.h"
#include "policy/common/setup.h"

struct greedy {
    uint32_t max_transfers, max_reducers, ordered;
    const char *strategy;     /* a tree that ignores the costs; NULL: the best one */
    const uint32_t *parent;   /* shared by all runs                               */
    const uint32_t *senders;  /* per node: how many it receives from              */
    const uint32_t *planned;  /* nodes in the order in which they begin to send;
                                 NULL without a limit on transfers                */
    const uint32_t *received; /* with ordered: all senders, receiver by receiver  */
    const uint32_t *from;     /* per node: where its senders begin; n + 1         */
    uint32_t *next_sender;    /* with ordered, per node: place in `received`      */
    uint32_t *due;            /* per node: still to be combined                   */
    bool *port_busy;
    const double *begin_s; /* when the nodes of `planned` begin                */
    uint32_t next, active; /* of `planned`; transfers under way                */
    bool late;             /* some transfer took another time than declared    */
};

/* Number the nodes by the place of their element. */
static enum cleave_status put_in_order(struct cv_greedy_tree *tree,
                                       const struct cleave_view *view, uint32_t *planned,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct cv_tree_costs costs = { view->transfer_s, view->compute_s,
                                   view->compute_each_s };
    uint32_t *position, *renamed = cv_array(setup->arena, tree->n, sizeof *renamed);
    struct cv_tree_run run;

    if (renamed == NULL)
        return cv_fail_memory(err, "a tree");
    CV_TRY(cv_tree_run(tree->parent, tree->n, &costs, setup->arena, &run, err));
    CV_TRY(cv_tree_layout(&run, setup->arena, &position, err));
    cv_tree_rename(tree->parent, position, tree->n, renamed);
    tree->parent = renamed;
    for (uint32_t i = 0; i + 1 < tree->n; i++)
        planned[i] = position[planned[i]];
    return CLEAVE_OK;
}

/* The senders of every node by increasing index, which is the order of its inputs. */
static enum cleave_status list_senders(struct greedy *greedy, uint32_t n,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    uint32_t *from = cv_array(setup->arena, (size_t)n + 1, sizeof *from);
    uint32_t *received = cv_array(setup->arena, n, sizeof *received);
    uint32_t *place = cv_array(setup->arena, n, sizeof *place);

    if (from == NULL || received == NULL || place == NULL)
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < n; i++) {
        place[i] = from[i];
        from[i + 1] = from[i] + greedy->senders[i];
    }
    for (uint32_t i = 0; i < n; i++)
        if (greedy->parent[i] != CV_NO_NODE)
            received[place[greedy->parent[i]]++] = i;
    greedy->from = from;
    greedy->received = received;
    return CLEAVE_OK;
}

/* The tree for other costs than those there are. */
static bool find_strategy(const char *name, enum cv_strategy *out)
{
    const bool binomial = strcmp(name, "binomial") == 0;

    *out = binomial ? CV_STRATEGY_BINOMIAL : CV_STRATEGY_FIBONACCI;
    return binomial || strcmp(name, "fibonacci") == 0;
}

static enum cleave_status make_tree(const struct greedy *greedy,
                                    const struct cleave_view *view,
                                    struct cv_greedy_tree *tree, struct cleave_error *err)
{
    const struct cv_greedy_limit limit = { greedy->max_transfers, greedy->max_reducers };
    enum cv_strategy which;

    if (greedy->strategy != NULL) {
        if (!find_strategy(greedy->strategy, &which))
            return cv_fail(err, CLEAVE_EINPUT,
                           "policy 'greedy': parameter 'strategy': expected binomial or "
                           "fibonacci, got '%s'",
                           greedy->strategy);
        if (limit.transfers > 0 || limit.reducers > 0)
            return cv_fail(err, CLEAVE_EINPUT,
                           "policy 'greedy' takes a strategy or a limit, not both");
        cv_strategy_tree(which, CV_TIES_LOW, view->nworkers, tree->parent);
        return CLEAVE_OK;
    }
    if (view->compute_each_s != NULL && limit.transfers == 0 && limit.reducers == 0)
        return cv_greedy_unequal_plan(tree, view->transfer_s, view->compute_each_s, err);
    return cv_greedy_tree_plan(tree, view->transfer_s, view->compute_s, &limit, err);
}

static enum cleave_status greedy_plan(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct greedy *greedy = state;
    struct cv_greedy_limit limit = { greedy->max_transfers, greedy->max_reducers };
    uint32_t n = view->nworkers;
    uint32_t *senders = cv_array(setup->arena, n, sizeof *senders);
    uint32_t *planned = cv_array(setup->arena, n, sizeof *planned);
    double *begin_s = cv_array(setup->arena, n, sizeof *begin_s);
    struct cv_greedy_tree tree;

    if (limit.transfers > 0 && limit.reducers > 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'greedy' takes max_transfers or max_reducers, not both");
    if (senders == NULL || planned == NULL || begin_s == NULL ||
        !cv_greedy_tree_room(&tree, setup->arena, n))
        return cv_fail_memory(err, "a tree");
    CV_TRY(make_tree(greedy, view, &tree, err));
    /* Reversed times grow with the index, so the last node begins first. */
    for (uint32_t i = 0; i + 1 < n; i++) {
        planned[i] = n - 1 - i;
        begin_s[i] = greedy->strategy == NULL ? tree.start_s[n - 1 - i] : 0;
    }
    if (greedy->ordered)
        CV_TRY(put_in_order(&tree, view, planned, setup, err));
    for (uint32_t i = 0; i < n; i++)
        if (tree.parent[i] != CV_NO_NODE)
            senders[tree.parent[i]]++;
    greedy->parent = tree.parent;
    greedy->senders = senders;
    greedy->planned = limit.transfers > 0 ? planned : NULL;
    greedy->begin_s = begin_s;
    return greedy->ordered ? list_senders(greedy, n, setup, err) : CLEAVE_OK;
}

static enum cleave_status greedy_start(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct greedy *greedy = state;

    greedy->due = cv_array(setup->arena, view->nworkers, sizeof *greedy->due);
    greedy->port_busy = cv_array(setup->arena, view->nworkers, sizeof *greedy->port_busy);
    if (greedy->due == NULL || greedy->port_busy == NULL)
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < view->nworkers; i++)
        greedy->due[i] = greedy->senders[i] + (view->ready_s != NULL); /* its own */
    greedy->late = view->ready_s != NULL;
    if (greedy->received == NULL)
        return CLEAVE_OK;
    greedy->next_sender =
        cv_array(setup->arena, view->nworkers, sizeof *greedy->next_sender);
    if (greedy->next_sender == NULL)
        return cv_fail_memory(err, "a tree");
    for (uint32_t i = 0; i < view->nworkers; i++)
        greedy->next_sender[i] = greedy->from[i];
    return CLEAVE_OK;
}

/* Begin what may begin, in the planned order. */
static void go_on(struct greedy *greedy, uint32_t n, double now_s,
                  struct cleave_orders *orders)
{
    while (greedy->next + 1 < n && greedy->active < greedy->max_transfers) {
        uint32_t node = greedy->planned[greedy->next], to = greedy->parent[node];

        if (greedy->due[node] > 0 || greedy->port_busy[to])
            return;
        if (!greedy->late && now_s < greedy->begin_s[greedy->next]) {
            cleave_order_wake(orders, node, greedy->begin_s[greedy->next]);
            return;
        }
        greedy->port_busy[to] = true;
        greedy->active++;
        greedy->next++;
        cleave_order_combine(orders, to, node);
    }
}

/* With ordered: let the next sender of a node begin if both are ready. */
static void receive_next(struct greedy *greedy, uint32_t node,
                         struct cleave_orders *orders)
{
    uint32_t place = greedy->next_sender[node];

    if (greedy->port_busy[node] || place == greedy->from[node + 1] ||
        greedy->due[greedy->received[place]] > 0)
        return;
    greedy->port_busy[node] = true;
    greedy->next_sender[node]++;
    cleave_order_combine(orders, node, greedy->received[place]);
}

/* A node has combined all it receives. */
static void is_complete(struct greedy *greedy, uint32_t node,
                        struct cleave_orders *orders)
{
    uint32_t to = greedy->parent[node];

    if (to == CV_NO_NODE)
        return;
    if (greedy->received != NULL)
        receive_next(greedy, to, orders);
    else
        cleave_order_combine(orders, to, node);
}

static void greedy_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    struct greedy *greedy = state;

    if (event->kind == CLEAVE_ARRIVED) {
        double took_s = event->time_s - event->start_s;

        greedy->port_busy[event->worker] = false;
        greedy->active--;
        greedy->late |= fabs(took_s - view->transfer_s) > 1e-9 * view->transfer_s;
    } else if (event->kind == CLEAVE_COMBINED || event->kind == CLEAVE_READY) {
        greedy->due[event->worker]--;
    }
    if (greedy->planned != NULL) {
        go_on(greedy, view->nworkers, event->time_s, orders);
    } else if (event->kind == CLEAVE_COMBINED || event->kind == CLEAVE_READY) {
        if (greedy->due[event->worker] == 0)
            is_complete(greedy, event->worker, orders);
    } else if (event->kind == CLEAVE_ARRIVED) {
        if (greedy->received != NULL)
            receive_next(greedy, event->worker, orders);
    } else if (event->kind == CLEAVE_START) {
        for (uint32_t i = 0; i < view->nworkers; i++)
            if (greedy->due[i] == 0)
                is_complete(greedy, i, orders);
    }
}

/* A limit on transfers ties the nodes together. */
static bool greedy_fixed(const void *state, const struct cleave_view *view,
                         struct cv_tree_shape *out)
{
    const struct greedy *greedy = state;

    if (greedy->planned != NULL)
        return false;
    for (uint32_t i = 0; i < view->nworkers; i++)
        out->parent[i] = greedy->parent[i];
    out->in_turn = greedy->received != NULL;
    out->ahead = UINT32_MAX;
    return true;
}

/* For costs other than those the tree was made for nothing better is known. */
static double greedy_longest(const void *state, const struct cleave_view *view,
                             double transfer_s, double compute_s)
{
    const struct greedy *greedy = state;
    uint32_t limit = greedy->max_transfers + greedy->max_reducers; /* one of them is 0 */
    enum cv_strategy which;

    if (greedy->strategy != NULL && find_strategy(greedy->strategy, &which))
        return cv_strategy_full_length(which, cv_strategy_order(which, view->nworkers),
                                       transfer_s, compute_s);

    if (transfer_s != view->transfer_s || compute_s != view->compute_s ||
        view->compute_each_s != NULL)
        return (view->nworkers - 1.0) * (transfer_s + compute_s);
    if (limit > 0)
        return cv_reduce_upper_limited(view->nworkers, transfer_s, compute_s, limit);
    return cv_reduce_upper(view->nworkers, transfer_s, compute_s);
}

static const struct cleave_param greedy_params[] = {
    { "max_transfers", CLEAVE_PARAM_COUNT, offsetof(struct greedy, max_transfers), 0, 0,
      4294967295.0, "most transfers at the same time; 0: no limit" },
    { "max_reducers", CLEAVE_PARAM_COUNT, offsetof(struct greedy, max_reducers), 0, 0,
      4294967295.0, "most nodes that receive anything; 0: no limit" },
    { "ordered", CLEAVE_PARAM_COUNT, offsetof(struct greedy, ordered), 0, 0, 1,
      "1: number the nodes so that only neighbours are combined" },
    { "strategy", CLEAVE_PARAM_TEXT, offsetof(struct greedy, strategy), 0, 0, 0,
      "binomial or fibonacci: the best tree for c = 0 or c = d, whatever they are" },
    { 0 },
};

const struct cleave_policy cleave_policy_greedy = {
    .name = "greedy",
    .summary = "the optimal tree for equal costs, also with limits",
    .reference = "Canon and Antoniu 2012",
    .task = CLEAVE_TASK_REDUCE,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct greedy),
    .params = greedy_params,
    .plan = greedy_plan,
    .start = greedy_start,
    .decide = greedy_decide,
    .longest = greedy_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_OPTIMAL,
                                              .fixed = greedy_fixed },
};

/* --- the binomial tree, round by round --------------------------------------------- */

/* In round k = 1, 2, ... node i 2^k receives from i 2^k + 2^(k-1), if there is such a
 * node, once both are done with the rounds before. ceil(log2 n) rounds, no overlap of
 * transfer and computation; order is kept. Best known tree when one of the two costs
 * nothing; a tree of equal costs takes ceil(log2 n) (d + c).
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms. */

struct binomial {
    uint8_t *round; /* per node: rounds it is done with */
    bool *busy;
};

static enum cleave_status binomial_start(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct binomial *binomial = state;

    binomial->round = cv_array(setup->arena, view->nworkers, sizeof *binomial->round);
    binomial->busy = cv_array(setup->arena, view->nworkers, sizeof *binomial->busy);
    if (binomial->round == NULL || binomial->busy == NULL)
        return cv_fail_memory(err, "the rounds");
    return CLEAVE_OK;
}

/* The node that takes part in the next round of `node`, after rounds without a partner
 * have been passed over; the node itself when all is done. */
static uint32_t next_partner(struct binomial *binomial, uint32_t node, uint32_t n)
{
    for (;; binomial->round[node]++) {
        uint64_t bit = (uint64_t)1 << binomial->round[node];

        if (bit >= n)
            return node;
        if (node & bit)
            return node - (uint32_t)bit;
        if (node + bit < n)
            return node + (uint32_t)bit;
    }
}

static void becomes_idle(struct binomial *binomial, uint32_t node, uint32_t n,
                         struct cleave_orders *orders)
{
    uint32_t partner = next_partner(binomial, node, n);

    if (partner == node || binomial->busy[partner] ||
        binomial->round[partner] != binomial->round[node])
        return;
    binomial->busy[node] = binomial->busy[partner] = true;
    cleave_order_combine(orders, node < partner ? node : partner,
                         node < partner ? partner : node);
}

static void binomial_decide(void *state, const struct cleave_view *view,
                            const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    struct binomial *binomial = state;

    if (event->kind == CLEAVE_COMBINED) {
        binomial->busy[event->worker] = false;
        binomial->round[event->worker]++;
        becomes_idle(binomial, event->worker, view->nworkers, orders);
    } else if (event->kind == CLEAVE_READY) {
        binomial->busy[event->worker] = false;
        becomes_idle(binomial, event->worker, view->nworkers, orders);
    } else if (event->kind == CLEAVE_START) {
        for (uint32_t i = 0; i < view->nworkers; i++) {
            next_partner(binomial, i, view->nworkers);
            binomial->busy[i] = view->ready_s != NULL; /* until it is ready */
        }
        for (uint32_t i = 0; i < view->nworkers; i++)
            if (!binomial->busy[i])
                becomes_idle(binomial, i, view->nworkers, orders);
    }
}

static bool binomial_fixed(const void *state, const struct cleave_view *view,
                           struct cv_tree_shape *out)
{
    (void)state;
    out->parent[0] = CV_NO_NODE;
    for (uint32_t i = 1; i < view->nworkers; i++)
        out->parent[i] = i & (i - 1);
    out->in_turn = true;
    out->ahead = 0;
    return true;
}

static double binomial_longest(const void *state, const struct cleave_view *view,
                               double transfer_s, double compute_s)
{
    (void)state;
    return cv_reduce_upper(view->nworkers, transfer_s, compute_s);
}

const struct cleave_policy cleave_policy_binomial = {
    .name = "binomial",
    .summary = "the binomial tree, round by round; order is kept",
    .reference = "Benoit, Canon and Marchal 2013",
    .task = CLEAVE_TASK_REDUCE,
    .keeps_order = true,
    .hears_ready = true,
    .state_size = sizeof(struct binomial),
    .start = binomial_start,
    .decide = binomial_decide,
    .longest = binomial_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_BINOMIAL_STAT,
                                              .fixed = binomial_fixed },
};

/* --- the Fibonacci tree: receive while reducing ------------------------------------ */

/* The tree of order k is that of order k - 1 with the sink of one of order k - 2 as its
 * last sender, 2, 3, 5, 8, .. nodes; nodes are numbered in that order. So node i sends to
 * i less the smallest term of its Zeckendorf representation (the one sum of Fibonacci
 * numbers 1, 2, 3, 5, .. without neighbours that makes i). For n nodes the first n of the
 * smallest tree that has them take part. Senders are received in a fixed order; order of
 * the inputs is kept. Shortest when transfer and computation cost the same.
 * 
 * When may the next sender begin? `buffer` 0: when the port is free; 1: when what
 * arrived before is being reduced, so that at most one partial waits.
 * Canon and Antoniu 2012; Benoit, Canon and Marchal 2013. */

enum { MOST_NUMBERS = 48 };

struct fibonacci {
    uint32_t buffer;
    uint32_t number[MOST_NUMBERS]; /* 1, 2, 3, 5, ..                             */
    uint32_t nnumbers;             /* those below n, and one more                */
    uint8_t *term;                 /* per node: index of the smallest term in it;
                                      nnumbers for node 0. Shared by all runs    */
    uint8_t *next;                 /* per node: index of the next sender's term  */
    uint32_t *waiting;             /* per node: arrived, not combined            */
    bool *port_busy, *complete;
};

/* What node i receives from are i + number[0], i + number[1], .. below number[term - 1]:
 * its block ends where the next number but one would overlap. */
static bool has_sender(const struct fibonacci *fib, uint32_t node, uint32_t which,
                       uint32_t n)
{
    return which + 1 < fib->term[node] && fib->number[which] < n - node;
}

static enum cleave_status fibonacci_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct fibonacci *fib = state;
    uint32_t n = view->nworkers;
    uint64_t a = 1, b = 2;

    while (a < n && fib->nnumbers + 1 < MOST_NUMBERS) {
        uint64_t sum = a + b;

        fib->number[fib->nnumbers++] = (uint32_t)a;
        a = b;
        b = sum;
    }
    fib->term = cv_array(setup->arena, n, sizeof *fib->term);
    if (fib->term == NULL)
        return cv_fail_memory(err, "the tree");
    fib->term[0] = (uint8_t)(fib->nnumbers + 1);
    /* The representation of i is the largest number in it and that of the rest. */
    for (uint32_t which = 0; which < fib->nnumbers; which++) {
        uint32_t begin = fib->number[which];
        uint32_t end = which + 1 < fib->nnumbers ? fib->number[which + 1] : n;

        for (uint32_t i = begin; i < end && i < n; i++)
            fib->term[i] = i == begin ? (uint8_t)which : fib->term[i - begin];
    }
    return CLEAVE_OK;
}

static enum cleave_status fibonacci_start(void *state, const struct cleave_view *view,
                                          struct cleave_setup *setup,
                                          struct cleave_error *err)
{
    struct fibonacci *fib = state;
    uint32_t n = view->nworkers;

    fib->next = cv_array(setup->arena, n, sizeof *fib->next);
    fib->waiting = cv_array(setup->arena, n, sizeof *fib->waiting);
    fib->port_busy = cv_array(setup->arena, n, sizeof *fib->port_busy);
    fib->complete = cv_array(setup->arena, n, sizeof *fib->complete);
    if (fib->next == NULL || fib->waiting == NULL || fib->port_busy == NULL ||
        fib->complete == NULL)
        return cv_fail_memory(err, "the tree");
    for (uint32_t i = 0; i < n; i++)
        fib->complete[i] = view->ready_s == NULL && !has_sender(fib, i, 0, n);
    return CLEAVE_OK;
}

/* Let the next sender of a node begin if both are ready. */
static void try_receive(struct fibonacci *fib, uint32_t node, uint32_t n,
                        struct cleave_orders *orders)
{
    uint32_t sender;

    if (fib->port_busy[node] || !has_sender(fib, node, fib->next[node], n) ||
        (fib->buffer != 0 && fib->waiting[node] > 1))
        return;
    sender = node + fib->number[fib->next[node]];
    if (!fib->complete[sender])
        return;
    fib->port_busy[node] = true;
    fib->next[node]++;
    cleave_order_combine(orders, node, sender);
}

static void fibonacci_is_complete(struct fibonacci *fib, uint32_t node, uint32_t n,
                                  struct cleave_orders *orders)
{
    fib->complete[node] = true;
    if (node != 0)
        try_receive(fib, node - fib->number[fib->term[node]], n, orders);
}

static void combined(struct fibonacci *fib, uint32_t node, uint32_t n,
                     struct cleave_orders *orders)
{
    fib->waiting[node]--;
    if (fib->waiting[node] == 0 && !fib->port_busy[node] &&
        !has_sender(fib, node, fib->next[node], n)) {
        fibonacci_is_complete(fib, node, n, orders);
        return;
    }
    try_receive(fib, node, n, orders);
}

static void fibonacci_decide(void *state, const struct cleave_view *view,
                             const struct cleave_event *event,
                             struct cleave_orders *orders)
{
    struct fibonacci *fib = state;
    uint32_t n = view->nworkers;

    switch (event->kind) {
    case CLEAVE_START:
        for (uint32_t i = 0; i < n; i++)
            try_receive(fib, i, n, orders);
        break;
    case CLEAVE_READY:
        if (!has_sender(fib, event->worker, 0, n))
            fibonacci_is_complete(fib, event->worker, n, orders);
        break;
    case CLEAVE_ARRIVED:
        fib->port_busy[event->worker] = false;
        fib->waiting[event->worker]++;
        try_receive(fib, event->worker, n, orders);
        break;
    case CLEAVE_COMBINED:
        combined(fib, event->worker, n, orders);
        break;
    default:
        break;
    }
}

static bool fibonacci_fixed(const void *state, const struct cleave_view *view,
                            struct cv_tree_shape *out)
{
    const struct fibonacci *fib = state;

    out->parent[0] = CV_NO_NODE;
    for (uint32_t i = 1; i < view->nworkers; i++)
        out->parent[i] = i - fib->number[fib->term[i]];
    out->in_turn = true;
    out->ahead = fib->buffer != 0 ? 1 : UINT32_MAX;
    return true;
}

static double fibonacci_longest(const void *state, const struct cleave_view *view,
                                double transfer_s, double compute_s)
{
    int order = cv_strategy_order(CV_STRATEGY_FIBONACCI, view->nworkers);

    (void)state;
    return cv_strategy_full_length(CV_STRATEGY_FIBONACCI, order, transfer_s, compute_s);
}

static const struct cleave_param fibonacci_params[] = {
    { "buffer", CLEAVE_PARAM_COUNT, offsetof(struct fibonacci, buffer), 0, 0, 1,
      "0: receive whenever the port is free; 1: at most one partial waits" },
    { 0 },
};

const struct cleave_policy cleave_policy_fibonacci = {
    .name = "fibonacci",
    .summary = "the Fibonacci tree: receives while it reduces; order is kept",
    .reference = "Canon and Antoniu 2012",
    .task = CLEAVE_TASK_REDUCE,
    .keeps_order = true,
    .gets_arrivals = true,
    .hears_ready = true,
    .state_size = sizeof(struct fibonacci),
    .params = fibonacci_params,
    .plan = fibonacci_plan,
    .start = fibonacci_start,
    .decide = fibonacci_decide,
    .longest = fibonacci_longest,
    .inner = &(const struct cv_policy_inner){ .method = CV_METHOD_FIBONACCI_STAT,
                                              .fixed = fibonacci_fixed },
};
