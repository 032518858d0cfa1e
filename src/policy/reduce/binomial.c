/* binomial.c -- the binomial tree, round by round. SPDX-License-Identifier: MIT
 *
 * In round k = 1, 2, ... node i 2^k receives from i 2^k + 2^(k-1), if there is such a
 * node, once both are done with the rounds before. ceil(log2 n) rounds, no overlap of
 * transfer and computation; order is kept. Best known tree when one of the two costs
 * nothing; a tree of equal costs takes ceil(log2 n) (d + c).
 * Benoit, Canon and Marchal, Non-clairvoyant reduction algorithms. */
#include "model/reduce/reduce_bounds.h"
#include "policy/common/setup.h"

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
