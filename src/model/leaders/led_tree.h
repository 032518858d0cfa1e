/* led_tree.h -- pieces in a tree of leaders, and a bound for all schedules of the tree.
 * SPDX-License-Identifier: MIT
 *
 * A leader cuts each piece when it has arrived: each part is computed by one child, or by
 * the leader itself, and all parts would end at the same time. It takes into account the
 * pending work of its port and its children, so that the parts of a piece are sent while
 * the piece before is computed. A child that cannot end by then gets nothing. The leader
 * uses the order of the tree that ends earliest. Pieces are reported in order. */
#ifndef CV_LED_TREE_H
#define CV_LED_TREE_H
#include "model/platform/leaders.h"

/* A worker or leader: times at which it and its links have nothing left to do. */
struct cv_led_state {
    double port_s; /* port for messages to its children */
    double link_s; /* link from its leader, for port multi */
    double own_s;  /* its own computations */
    double end_s;  /* end of its whole subtree */
};

/* Steps (base/step_budget.h) of a visit to a child. */
enum { CV_LED_STEPS = 8 };

/* The simulation of a tree. The subtree of a node has `places` states: its head, then the
 * states of its children by node in children[0] and, for each, by number. */
struct cv_led_run {
    const struct cv_led_tree *tree;
    struct cv_led_state *states; /* one per worker of the platform */
    uint64_t *first;             /* worker -> its first state */
    uint64_t nstates;
    double *units; /* owned: per node: units computed so far; NULL: not counted */
    /* Called for each part when it is cut, before the parts that are cut from it; NULL:
     * not called. `from` is the leader, and `to` too if the part is its own. */
    void (*cut)(void *context, const struct cv_led_state *from,
                const struct cv_led_state *to, double units);
    void *context;
    double visits; /* children looked at so far, for limits */
};

/* False: no memory. Freed by cv_led_run_done in any case. */
bool cv_led_run_init(struct cv_led_run *run, const struct cv_led_tree *tree,
                     uint32_t nworkers);
void cv_led_run_done(struct cv_led_run *run);
/* Back to time 0. */
void cv_led_run_reset(struct cv_led_run *run);

static inline bool cv_led_leads(const struct cv_led_tree *tree, uint32_t worker)
{
    return tree->nodes[tree->top[worker]].nchildren > 0;
}

/* `units` arrive at a worker of the platform at `now_s`, not before the units of its
 * previous piece. All durations are `factor` times as long as declared, which the leaders
 * do not know. Returns when all of them, and all before them, are computed. */
double cv_led_take(struct cv_led_run *run, uint32_t worker, double now_s, double units,
                   double factor);

/* Called for each part of a piece in the order in which parts are sent: `node` and
 * `state` belong to the child, or to the leader itself, which comes first. */
typedef void cv_led_part(void *context, uint32_t node, struct cv_led_state *state,
                         double units);
/* Cut a piece of more than 0 units that has arrived at a leader; states do not change. */
void cv_led_cut(struct cv_led_run *run, uint32_t node, struct cv_led_state *state,
                double now_s, double units, cv_led_part *part, void *context);

/* No schedule does more units by `end_s` (docs/theory/trees.md). */
double cv_led_most_units(const struct cv_led_tree *tree, double end_s);
/* No schedule does `units` units sooner. */
double cv_led_bound(const struct cv_led_tree *tree, double units);

#endif
