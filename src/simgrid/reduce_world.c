/* reduce_world.c -- nodes that send partials to each other. SPDX-License-Identifier: MIT
 *
 * A node receives one partial at a time, in the order asked for, and combines them in the
 * order of arrival; when plain, it receives the next only when it has combined the last.
 * Simultaneous events come in the order of nodes, an arrival before a combination. */
#include <simgrid/host.h>

#include "simgrid/world.h"

enum { ENDS_TRANSFER, ENDS_COMBINATION, ENDS_SLEEP, KINDS = 4 };

/* A node is a sender once. */
struct node {
    struct node *coming, *last_coming; /* senders to it, in turn */
    struct node *here, *last_here;     /* arrived partials, in turn */
    struct node *next;                 /* in such a queue */
    struct node *target;
    double transfer_s, compute_s; /* as a sender: costs of its partial */
};

static uint32_t number(const struct world *world, const struct node *node)
{
    const struct node *nodes = world->state;

    return (uint32_t)(node - nodes);
}

static uint64_t key_of(const struct world *world, const struct node *target,
                       unsigned kind, const struct node *sender)
{
    const uint64_t from = sender == NULL ? 0 : number(world, sender);

    return ((uint64_t)number(world, target) * KINDS + kind) << 32 | from;
}

static bool join(struct node **first, struct node **last, struct node *node)
{
    const bool alone = *first == NULL;

    node->next = NULL;
    if (alone)
        *first = node;
    else
        (*last)->next = node;
    *last = node;
    return alone;
}

static void transfer_ended(struct world *world, struct activity *activity,
                           struct cleave_event *out);
static void combination_ended(struct world *world, struct activity *activity,
                              struct cleave_event *out);

/* Flops that the host does in the time of a combination. */
static double flops_of(const struct world *world, const struct node *sender)
{
    sg_host_t host = world->hosts[number(world, sender->target)];

    return sender->compute_s *
           (cv_world_is_star(world) ? CV_STAR_UNIT : sg_host_get_speed(host));
}

static void begin_transfer(struct world *world, struct node *sender)
{
    struct activity *activity = cv_world_activity(world);
    const bool star = cv_world_is_star(world), plain = world->told.plain != 0;

    activity->key =
        key_of(world, sender->target, plain ? ENDS_COMBINATION : ENDS_TRANSFER, sender);
    activity->from = world->hosts[number(world, sender)];
    activity->to = world->hosts[number(world, sender->target)];
    activity->bytes = star ? sender->transfer_s : world->told.partial_bytes;
    activity->usual_s = star ? sender->transfer_s : 0;
    if (star)
        activity->link = &world->down[number(world, sender->target)];
    if (!(activity->bytes > 0))
        activity->from = NULL;
    if (plain)
        activity->flops = flops_of(world, sender);
    activity->ended = plain ? combination_ended : transfer_ended;
    activity->about = sender;
    cv_world_begin(world, activity);
}

static void begin_combination(struct world *world, struct node *sender)
{
    struct activity *activity = cv_world_activity(world);

    activity->key = key_of(world, sender->target, ENDS_COMBINATION, sender);
    activity->to = world->hosts[number(world, sender->target)];
    activity->flops = flops_of(world, sender);
    activity->usual_s = sender->compute_s;
    activity->ended = combination_ended;
    activity->about = sender;
    cv_world_begin(world, activity);
}

static void fill(const struct world *world, const struct node *sender,
                 enum cleave_event_kind kind, struct cleave_event *out)
{
    out->kind = kind;
    out->worker = number(world, sender->target);
    out->peer = number(world, sender);
}

static void transfer_ended(struct world *world, struct activity *activity,
                           struct cleave_event *out)
{
    struct node *sender = activity->about, *target = sender->target;

    fill(world, sender, CLEAVE_ARRIVED, out);
    target->coming = sender->next;
    if (join(&target->here, &target->last_here, sender))
        begin_combination(world, sender);
    if (target->coming != NULL)
        begin_transfer(world, target->coming);
}

static void combination_ended(struct world *world, struct activity *activity,
                              struct cleave_event *out)
{
    struct node *sender = activity->about, *target = sender->target;

    fill(world, sender, CLEAVE_COMBINED, out);
    if (world->told.plain) {
        target->coming = sender->next;
        if (target->coming != NULL)
            begin_transfer(world, target->coming);
        return;
    }
    target->here = sender->next;
    if (target->here != NULL)
        begin_combination(world, target->here);
}

static void submit(struct world *world, const struct cv_wire_message *message)
{
    struct node *nodes = world->state, *target = &nodes[message->order.worker];

    if (message->order.kind == CLEAVE_WAKE_AT) {
        cv_world_wake(world, key_of(world, target, ENDS_SLEEP, NULL), &message->order);
        return;
    }
    if (message->order.kind != CLEAVE_COMBINE)
        cv_world_fail(world, CLEAVE_EENGINE, "an order of another task");
    nodes[message->order.peer].target = target;
    nodes[message->order.peer].transfer_s = message->cost[0];
    nodes[message->order.peer].compute_s = message->cost[1];
    if (join(&target->coming, &target->last_coming, &nodes[message->order.peer]))
        begin_transfer(world, &nodes[message->order.peer]);
}

static void begin(struct world *world, const struct cv_wire_message *run)
{
    struct node *nodes = world->state;

    (void)run;
    for (uint32_t i = 0; i < world->told.nodes; i++)
        nodes[i] = (struct node){ .target = NULL };
}

static void open(struct world *world)
{
    world->state = cv_world_take(world, world->told.nodes, sizeof(struct node));
}

const struct world_task cv_reduce_task = { .open = open,
                                           .begin = begin,
                                           .submit = submit };
