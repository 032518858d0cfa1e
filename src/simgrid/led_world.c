/* led_world.c -- leaders in a simulated world. SPDX-License-Identifier: MIT */
#include "simgrid/led_world.h"

#include <stdlib.h>
#include <string.h>
#include "model/leaders/led_tree.h"

/* A part of a piece. It waits for the port of its leader, then for its worker. */
struct part {
    double units;
    uint32_t place;    /* place of the worker, by state of the tree */
    struct part *from; /* the part that it was cut from; NULL: the piece itself */
    struct part *first, *last, *sibling; /* parts cut from this one, in order */
    uint32_t left;                       /* pieces not yet computed */
    struct led_piece *piece;             /* owned by the piece itself */
    struct part *next;                   /* in a line */
};

struct part_line {
    struct part *first, *last;
};

struct led_world {
    struct cv_arena arena;
    struct cv_led_run run; /* decides how pieces are cut */
    uint32_t *node_of;     /* owned: by state */
    /* owned, by state: the port of a leader, or with port multi the port of its own
     * link */
    struct part_line *ports;
    struct part_line *processors; /* owned: by state */
    struct part **newest;         /* owned: by state: the part that came last */
};

static sg_host_t host_of(const struct world *world, const struct part *part)
{
    return world->hosts[world->told.nodes + part->place];
}

static const struct cleave_worker *costs_of(const struct world *world, uint32_t place)
{
    return &world->led->run.tree->nodes[world->led->node_of[place]].costs;
}

/* --- the workers -------------------------------------------------------------------- */

static void name_places(struct led_world *led, uint32_t node, uint64_t *at)
{
    const struct cv_led_node *head = &led->run.tree->nodes[node];

    led->node_of[(*at)++] = node;
    for (uint32_t i = 0; i < head->nchildren; i++) {
        const uint32_t child = head->children[0][i];

        for (uint32_t k = 0; k < led->run.tree->nodes[child].count; k++)
            name_places(led, child, at);
    }
}

static struct cv_led_tree *read_tree(struct world *world, struct cv_arena *arena)
{
    const uint32_t n = world->told.groups;
    struct cv_group *groups = cv_world_take(world, n, sizeof *groups);
    struct cleave_worker *kinds = cv_world_take(world, n, sizeof *kinds);
    struct cv_led_tree *tree = NULL;
    uint32_t circle = CV_NO_LEADER;

    for (uint32_t g = 0; g < n; g++)
        groups[g] = (struct cv_group){ .name = "", .count = world->leaders[n + g] };
    memcpy(kinds, world->groups, n * sizeof *kinds);
    if (cv_leaders_collapse((enum cleave_port)world->told.port, world->leaders, kinds,
                            groups, n, arena, &tree, &circle, NULL) != CLEAVE_OK ||
        !CV_NEW(arena, tree->top, world->told.nodes))
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for a tree of leaders");
    memcpy(tree->top, world->leaders + 2 * (size_t)n,
           world->told.nodes * sizeof *tree->top);
    free(groups);
    free(kinds);
    return tree;
}

void cv_led_hosts(struct world *world)
{
    const uint32_t n = world->told.nodes;
    struct led_world *led = cv_world_take(world, 1, sizeof *led);
    struct cleave_worker *all;
    uint64_t at = 0;

    world->led = led;
    cv_arena_init(&led->arena);
    if (!cv_led_run_init(&led->run, read_tree(world, &led->arena), n) ||
        led->run.nstates > UINT32_MAX - n)
        cv_world_fail(world, CLEAVE_ENOMEM, "out of memory for a tree of leaders");
    led->node_of = cv_world_take(world, led->run.nstates, sizeof *led->node_of);
    led->ports = cv_world_take(world, led->run.nstates, sizeof *led->ports);
    led->processors = cv_world_take(world, led->run.nstates, sizeof *led->processors);
    led->newest = cv_world_take(world, led->run.nstates, sizeof(struct part *));
    for (uint32_t w = 0; w < n; w++)
        name_places(led, led->run.tree->top[w], &at);
    world->nhosts = n + (uint32_t)led->run.nstates;
    all = cv_world_take(world, world->nhosts, sizeof *all);
    memcpy(all, world->workers, n * sizeof *all);
    for (uint32_t i = 0; i < led->run.nstates; i++)
        all[n + i] = *costs_of(world, i);
    world->workers = all;
}

void cv_led_begin(struct world *world)
{
    cv_led_run_reset(&world->led->run);
}

bool cv_led_is_leader(const struct world *world, uint32_t worker)
{
    return world->led != NULL && cv_led_leads(world->led->run.tree, worker);
}

/* --- parts -------------------------------------------------------------------------- */

/* True: the part is the first. */
static bool part_joins(struct part_line *line, struct part *part)
{
    const bool alone = line->first == NULL;

    part->next = NULL;
    if (alone)
        line->first = part;
    else
        line->last->next = part;
    line->last = part;
    return alone;
}

static struct activity *part_activity(struct world *world, struct part *part)
{
    struct activity *activity = cv_world_activity(world);

    activity->key = (*part->piece->sequence)++;
    activity->about = part;
    activity->to = host_of(world, part);
    return activity;
}

static void free_parts(struct part *part)
{
    struct part *child = part->first;

    while (child != NULL) {
        struct part *next = child->sibling;

        free_parts(child);
        child = next;
    }
    free(part);
}

/* A part is computed; so may be those that it was cut from. */
static void part_done(struct world *world, struct part *part, struct cleave_event *out)
{
    struct led_piece *piece = part->piece;

    while (part->from != NULL) {
        part = part->from;
        if (--part->left > 0)
            return;
    }
    free_parts(part);
    piece->computed(world, piece->about, out);
    free(piece);
}

static void begin_computation(struct world *world, struct part *part);

static void computation_ended(struct world *world, struct activity *activity,
                              struct cleave_event *out)
{
    struct part *part = activity->about;
    struct part_line *line = &world->led->processors[part->place];

    line->first = part->next;
    if (line->first != NULL)
        begin_computation(world, line->first);
    part_done(world, part, out);
}

static void begin_computation(struct world *world, struct part *part)
{
    struct activity *activity = part_activity(world, part);

    activity->delay_s =
        part->piece->factor * costs_of(world, part->place)->compute_latency_s;
    activity->flops = part->piece->factor * part->units * CV_STAR_UNIT;
    activity->ended = computation_ended;
    cv_world_begin(world, activity);
}

static struct part_line *port_of(struct world *world, const struct part *part)
{
    return &world->led->ports[world->told.port == CLEAVE_PORT_MULTI ? part->place
                                                                    : part->from->place];
}

/* The parts of a part that has arrived, or the part itself, are sent or computed. */
static void part_arrived(struct world *world, struct part *part);

static void begin_message(struct world *world, struct part *part);

static void message_ended(struct world *world, struct activity *activity,
                          struct cleave_event *out)
{
    struct part *part = activity->about;
    struct part_line *port = port_of(world, part);

    (void)out;
    port->first = part->next;
    if (port->first != NULL)
        begin_message(world, port->first);
    part_arrived(world, part);
}

/* Every link of the star begins at its master, whose own link is never a bottleneck. */
static void begin_message(struct world *world, struct part *part)
{
    const struct cleave_worker *costs = costs_of(world, part->place);
    struct activity *activity = part_activity(world, part);
    const double latency_s = part->piece->factor * costs->latency_s;

    activity->from = world->master;
    activity->link = &world->down[world->told.nodes + part->place];
    activity->bytes = part->piece->factor * part->units;
    activity->delay_s = world->latency_on_links ? 0 : latency_s;
    activity->usual_s = latency_s + activity->bytes / costs->bandwidth_ups;
    activity->ended = message_ended;
    cv_world_begin(world, activity);
}

static void part_arrived(struct world *world, struct part *part)
{
    if (part->first == NULL) {
        if (part_joins(&world->led->processors[part->place], part))
            begin_computation(world, part);
        return;
    }
    for (struct part *child = part->first; child != NULL; child = child->sibling) {
        if (child->place == part->place)
            part_arrived(world, child);
        else if (part_joins(port_of(world, child), child))
            begin_message(world, child);
    }
}

static struct part *new_part(struct world *world, uint32_t place, double units,
                             struct led_piece *piece)
{
    struct part *part = cv_world_take(world, 1, sizeof *part);

    part->units = units;
    part->place = place;
    part->piece = piece;
    return part;
}

static void note_part(void *context, const struct cv_led_state *from,
                      const struct cv_led_state *to, double units)
{
    struct world *world = context;
    struct led_world *led = world->led;
    struct part *whole = led->newest[from - led->run.states];
    struct part *part =
        new_part(world, (uint32_t)(to - led->run.states), units, whole->piece);

    part->from = whole;
    whole->left++;
    if (whole->first == NULL)
        whole->first = part;
    else
        whole->last->sibling = part;
    whole->last = part;
    if (from != to)
        led->newest[part->place] = part;
}

void cv_led_share(struct world *world, const struct led_piece *piece)
{
    struct led_world *led = world->led;
    struct led_piece *own = cv_world_take(world, 1, sizeof *own);
    struct part *whole;

    *own = *piece;
    whole = new_part(world, (uint32_t)led->run.first[piece->worker], piece->units, own);
    led->newest[whole->place] = whole;
    led->run.cut = note_part;
    led->run.context = world;
    cv_led_take(&led->run, piece->worker, cv_world_now(world), piece->units,
                piece->factor);
    part_arrived(world, whole);
}
