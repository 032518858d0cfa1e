/* ordered_adapt_lean.c -- ordered-adapt in simulation when combining takes no time.
 * SPDX-License-Identifier: MIT
 *
 * What is left of its rules then is: merge with the neighbour idle longest, and wait for
 * the whole binomial buddy block. The general rules in ordered_adapt.c are the reference;
 * tests compare the two run by run, to the bit. */
#include "policy/ordered_adapt.h"

/* What a node with an idle neighbour does: it waits, or sends to the left or right. */
struct lean_choice {
    bool waits, goes_left;
};

/* As consider and whole_buddy, with no branch that cannot be guessed. The node must have a
 * neighbour; if none is idle it has no choice, whatever this says. */
static inline struct lean_choice lean_choose(const struct lean_node *nodes, uint32_t n,
                                             const struct lean_node *self, bool may_wait)
{
    const struct lean_node *left = &nodes[self->left], *right = &nodes[self->right];
    const uint32_t first = self->first, last = self->last, limit = n - 1;
    const bool left_longer = left->since_s <= right->since_s;
    uint32_t spread = first ^ last, is_block, begin, end;
    bool left_is_buddy, right_is_buddy;

    spread |= spread >> 1;
    spread |= spread >> 2;
    spread |= spread >> 4; /* the width of the least block around it, less 1 */
    end = first | spread;
    end = end < limit ? end : limit;
    is_block = ((first & spread) == 0) & (end == last);
    spread = spread << is_block | is_block;
    do {
        begin = first & ~spread;
        end = begin + spread < limit ? begin + spread : limit;
        spread = 2 * spread + 1;
    } while ((begin == first) & (end == last));
    right_is_buddy = may_wait & (begin == first) & (right->last == end);
    left_is_buddy = may_wait & (begin != first) & (last == end) & (left->first == begin);
    return (struct lean_choice){
        .waits = (left_is_buddy & !left->idle) | (right_is_buddy & !right->idle),
        .goes_left =
            left_is_buddy | (!right_is_buddy & left->idle & (!right->idle | left_longer)),
    };
}

/* Send to a neighbour, or be idle: then what the receiver would become is for a node that
 * nobody looks at, and the neighbours stay what they are. */
static inline void lean_send_if(struct cleave_lane *lane, struct lean_node *nodes,
                                bool sends, uint32_t sender, bool goes_left)
{
    struct lean_node *from = &nodes[sender];
    const uint32_t left = from->left, right = from->right;
    const uint32_t receiver =
        cv_pick(sends, cv_pick(goes_left, left, right), lane->view.nworkers + 1);
    struct lean_node *to = &nodes[receiver];

    from->idle = !sends;
    to->idle = to->waits = to->waited = false;
    to->began_s = lane->now_s;
    to->first = from->first < to->first ? from->first : to->first;
    to->last = from->last > to->last ? from->last : to->last;
    nodes[left].right = (uint8_t)cv_pick(sends, right, sender);
    nodes[right].left = (uint8_t)cv_pick(sends, left, sender);
    cv_lane_send_if(lane, sends, receiver, sender, CV_LANE_TRANSFER);
}

static void lean_wait(struct cleave_lane *lane, struct lean_node *self, uint32_t node,
                      double wait)
{
    if (self->waits)
        return;
    self->waits = true;
    self->until_s = lane->now_s + wait * (self->since_s - self->began_s);
    cv_lane_sleep_until(lane, node, self->until_s);
}

/* A node waits for one neighbour; the other one, which is idle, may look again. */
CV_FLATTEN static void lean_wait_beside(struct cleave_lane *lane, struct lean_node *nodes,
                                        uint32_t node, double wait)
{
    struct lean_node *self = &nodes[node];
    const uint32_t other = nodes[self->left].idle ? self->left : self->right;
    struct lean_choice choice;

    self->idle = true;
    lean_wait(lane, self, node, wait);
    choice = lean_choose(nodes, lane->view.nworkers, &nodes[other], !nodes[other].waited);
    if (choice.waits)
        lean_wait(lane, &nodes[other], other, wait);
    else
        lean_send_if(lane, nodes, true, other, choice.goes_left);
    nodes[other].waits &= nodes[other].idle; /* sent: no more */
}

/* A transfer to a node has ended. */
static inline void lean_settle(struct cleave_lane *lane, struct lean_node *nodes,
                               uint32_t node, double wait)
{
    struct lean_node *self = &nodes[node];
    struct lean_choice choice;

    self->since_s = lane->now_s;
    if (!(nodes[self->left].idle | nodes[self->right].idle)) {
        self->idle = true;
        return;
    }
    choice =
        lean_choose(nodes, lane->view.nworkers, self, (lane->now_s > 0) & (wait > 0));
    if (choice.waits)
        lean_wait_beside(lane, nodes, node, wait);
    else
        lean_send_if(lane, nodes, true, node, choice.goes_left);
}

CV_FLATTEN static void lean_wake(struct cleave_lane *lane, struct lean_node *nodes,
                                 uint32_t node)
{
    struct lean_node *self = &nodes[node];

    if (!(self->waits & (self->until_s == lane->now_s)))
        return;
    self->waited = true;
    self->waits = false;
    lean_send_if(lane, nodes, nodes[self->left].idle | nodes[self->right].idle, node,
                 lean_choose(nodes, lane->view.nworkers, self, false).goes_left);
}

CV_FLATTEN void cv_ordered_adapt_lean(struct cleave_lane *lane)
{
    const struct ordered_adapt *adapt = lane->state;
    struct lean_node *nodes = adapt->lean;

    while (lane->nbegins == 0) {
        uint32_t kind, node;

        if (lane->row.head == lane->row.tail || lane->undecided) {
            lane->over = true;
            return;
        }
        node = cv_lane_next(lane, &kind);
        if (kind != CV_LANE_TRANSFER) {
            cv_lane_woken(lane, node, kind);
            lean_wake(lane, nodes, node);
        } else if (nodes[node].left == nodes[node].right) { /* both nobody */
            cv_lane_all_sent(lane);
            /* The general rules' memory is not used. */
            lane->fresh =
                (size_t)((char *)(nodes + lane->view.nworkers + 2) - lane->memory);
            return;
        } else {
            lean_settle(lane, nodes, node, adapt->wait);
        }
    }
}
