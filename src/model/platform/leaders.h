/* leaders.h -- workers that pass on work to other workers. SPDX-License-Identifier: MIT
 *
 * A leader receives pieces, cuts them, computes a part and sends parts to the workers that
 * it leads, over a port of the same kind as the master's. Leaders may lead leaders. A unit
 * leaves a leader, or is computed by it, after its whole piece has arrived.
 *
 * For the master a leader is never faster than one worker with its link, the speed `rate`
 * and the compute latency `start_s`, which is paid once (docs/theory/trees.md):
 *
 *     rate    = own speed + the most that the port can pass on per second: the children
 *               by falling bandwidth, each at most min(bandwidth, rate) and all together
 *               one second of the port per second (port multi: no such limit)
 *     start_s = least of the own compute latency and latency + start_s of each child
 */
#ifndef CV_LEADERS_H
#define CV_LEADERS_H
#include <stdbool.h>
#include <stddef.h>
#include "base/fail.h"
#include "model/platform/platform_internal.h"

#define CV_NO_LEADER UINT32_MAX

enum { CV_LED_ORDERS = 2 }; /* by falling bandwidth; by latency + start_s */

/* A group of equal workers with the same leader. */
struct cv_led_node {
    struct cleave_worker costs;
    const char *name; /* owned by the tree; a group of several has it without numbers */
    uint32_t parent;  /* CV_NO_LEADER: the master */
    uint32_t count;   /* for each parent */
    uint32_t nchildren;
    const uint32_t *children[CV_LED_ORDERS]; /* owned by the tree */
    uint64_t places;                         /* workers of one subtree, with its head */
    double rate_ups, start_s;
};

/* Memory of a platform's arena. */
struct cv_led_tree {
    enum cleave_port port;
    uint32_t nnodes;
    struct cv_led_node *nodes; /* by group of the file */
    const uint32_t *deepest_first;
    const uint32_t *tops; /* nodes without a leader, by falling bandwidth */
    uint32_t ntops;
    uint32_t *top; /* worker of the platform -> node */
};

/* leader[g] is the group whose workers lead `count` workers of group g each, or
 * CV_NO_LEADER. Set `kinds` of leaders without a leader to rate and start_s, and cost and
 * `led` of all leaders to the sums over their subtrees. `top` of the tree is not set. Fails
 * if leaders go in circles, with one of them in *reterr_group. O(groups log groups). */
enum cleave_status cv_leaders_collapse(enum cleave_port port, const uint32_t *leader,
                                       struct cleave_worker *kinds,
                                       struct cv_group *groups, uint32_t ngroups,
                                       struct cv_arena *arena, struct cv_led_tree **out,
                                       uint32_t *reterr_group, struct cleave_error *err);

/* Set rate_ups and start_s of all nodes from the costs of the workers. */
void cv_led_set_rates(struct cv_led_tree *tree);
/* A copy in which each unit takes `extra_s` more of every worker; NULL: no memory. */
struct cv_led_tree *cv_led_packed(const struct cv_led_tree *tree, double extra_s,
                                  struct cv_arena *arena);
/* The tree of workers that lead no others; NULL: no memory. */
struct cv_led_tree *cv_led_of_star(enum cleave_port port,
                                   const struct cleave_worker *workers, uint32_t nworkers,
                                   struct cv_arena *arena);
/* The worker that is never slower than a subtree. */
struct cleave_worker cv_led_stand_in(const struct cv_led_node *node);

struct cv_lead_rule {
    const char *leader;
    const char *const *led; /* ended by NULL; NULL: all workers without another leader */
};

/* Names of workers, all different; NULL: a worker that is neither led nor leads. `others`:
 * whether a rule for all other workers includes it; NULL: it includes each one. */
struct cv_lead_names {
    const char *const *items;
    const bool *others;
    uint32_t count;
};

/* Add the leaders of the rules to leader[], which has an element per name: a leader that is
 * known already, or CV_NO_LEADER. CLEAVE_EINPUT: an unknown name, a worker with two leaders,
 * several rules for all others, a leader of no worker, or a circle. */
enum cleave_status cv_lead_rules_apply(const struct cv_lead_rule *rules, size_t count,
                                       const struct cv_lead_names *names,
                                       uint32_t *leader, struct cleave_error *err);

#endif
