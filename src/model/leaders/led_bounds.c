/* led_bounds.c -- the most that a tree of leaders can do. SPDX-License-Identifier: MIT
 *
 * Within tau of its arrival a unit can reach any worker of a subtree. A leader does
 * itself at most speed (tau - compute latency)+. A child gets at most bandwidth (tau -
 * latency - start)+ and does at most the work that its subtree does in tau - latency; all
 * children together use the port for tau - min(latency + start) at most, so the widest
 * links are filled first. docs/theory/trees.md has the proof. O(nodes) for each tau. */
#include "model/leaders/led_tree.h"

#include <math.h>

/* Units of the subtree within tau of their arrival at its head. */
static double most(const struct cv_led_tree *tree, uint32_t v, double tau);

/* The most units of `count` equal children if the port has `room` seconds left. */
static double most_of_children(const struct cv_led_tree *tree, uint32_t v, double count,
                               double tau, double *room)
{
    const struct cv_led_node *child = &tree->nodes[v];
    const double link_ups = child->costs.bandwidth_ups;
    const double link_s = tau - child->costs.latency_s - child->start_s;
    double units;

    if (!(link_s > 0))
        return 0;
    units = count * fmin(most(tree, v, tau - child->costs.latency_s), link_ups * link_s);
    if (tree->port != CLEAVE_PORT_MULTI) {
        units = fmin(units, *room * link_ups);
        *room = fmax(0, *room - units / link_ups);
    }
    return units;
}

static double most(const struct cv_led_tree *tree, uint32_t v, double tau)
{
    const struct cv_led_node *node = &tree->nodes[v];
    double units = node->costs.speed_ups * fmax(0, tau - node->costs.compute_latency_s);
    double room = 0;

    for (uint32_t i = 0; i < node->nchildren; i++) {
        const struct cv_led_node *child = &tree->nodes[node->children[0][i]];

        room = fmax(room, tau - child->costs.latency_s - child->start_s);
    }
    for (uint32_t i = 0; i < node->nchildren; i++) {
        const uint32_t child = node->children[0][i];

        units += most_of_children(tree, child, tree->nodes[child].count, tau, &room);
    }
    return units;
}

double cv_led_most_units(const struct cv_led_tree *tree, double end_s)
{
    double units = 0, room = 0;

    for (uint32_t i = 0; i < tree->ntops; i++) {
        const struct cv_led_node *node = &tree->nodes[tree->tops[i]];

        room = fmax(room, end_s - node->costs.latency_s - node->start_s);
    }
    for (uint32_t i = 0; i < tree->ntops; i++)
        units += most_of_children(tree, tree->tops[i], tree->nodes[tree->tops[i]].count,
                                  end_s, &room);
    return units;
}

double cv_led_bound(const struct cv_led_tree *tree, double units)
{
    double low_s = 0, high_s = 1;

    while (cv_led_most_units(tree, high_s) < units) {
        low_s = high_s;
        high_s *= 2;
        if (isinf(high_s))
            return low_s;
    }
    for (;;) {
        const double middle_s = low_s + (high_s - low_s) / 2;

        if (!(middle_s > low_s && middle_s < high_s))
            return low_s;
        if (cv_led_most_units(tree, middle_s) < units)
            low_s = middle_s;
        else
            high_s = middle_s;
    }
}
