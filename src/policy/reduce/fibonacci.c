/* fibonacci.c -- the Fibonacci tree: receive while reducing. SPDX-License-Identifier: MIT
 *
 * The tree of order k is that of order k - 1 with the sink of one of order k - 2 as its
 * last sender, 2, 3, 5, 8, .. nodes; nodes are numbered in that order. So node i sends to
 * i less the smallest term of its Zeckendorf representation (the one sum of Fibonacci
 * numbers 1, 2, 3, 5, .. without neighbours that makes i). For n nodes the first n of the
 * smallest tree that has them take part. Senders are received in a fixed order; order of
 * the inputs is kept. Shortest when transfer and computation cost the same.
 *
 * When may the next sender begin? `buffer` 0: when the port is free; 1: when what
 * arrived before is being reduced, so that at most one partial waits.
 * Canon and Antoniu 2012; Benoit, Canon and Marchal 2013. */
#include "model/reduce/reduce_tree.h"
#include "policy/common/setup.h"

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

static void is_complete(struct fibonacci *fib, uint32_t node, uint32_t n,
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
        is_complete(fib, node, n, orders);
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
            is_complete(fib, event->worker, n, orders);
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
