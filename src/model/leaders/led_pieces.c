/* led_pieces.c -- how leaders cut pieces, and when the parts end.
 * SPDX-License-Identifier: MIT
 *
 * For an end tau the parts follow: the message of each child begins when the port is free,
 * and a part of y units takes
 *
 *     max(arrival + start, free) + y / rate = tau
 *
 * from the child, whose costs are exact if it leads no workers; otherwise they are the
 * costs of a worker that is never slower than the subtree. The sum of the parts grows
 * with tau except where a child begins to take part. Newton's method in a bracket finds
 * tau, and the parts are scaled to the piece. */
#include "model/leaders/led_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A smaller part of a piece is left out: it may be rounding. */
static const double LEAST_PART = 1e-9;
/* Accuracy of the end, relative to the time that a piece takes. */
static const double CLOSE = 1e-10;
enum { MOST_STEPS = 100 };

bool cv_led_run_init(struct cv_led_run *run, const struct cv_led_tree *tree,
                     uint32_t nworkers)
{
    *run = (struct cv_led_run){ .tree = tree };
    run->first = calloc(nworkers, sizeof *run->first);
    if (run->first == NULL)
        return false;
    for (uint32_t w = 0; w < nworkers; w++) {
        run->first[w] = run->nstates;
        run->nstates += tree->nodes[tree->top[w]].places;
    }
    run->states = calloc(run->nstates, sizeof *run->states);
    return run->states != NULL;
}

void cv_led_run_done(struct cv_led_run *run)
{
    free(run->first);
    free(run->states);
    free(run->units);
    *run = (struct cv_led_run){ 0 };
}

void cv_led_run_reset(struct cv_led_run *run)
{
    memset(run->states, 0, run->nstates * sizeof *run->states);
    if (run->units != NULL)
        memset(run->units, 0, run->tree->nnodes * sizeof *run->units);
    run->visits = 0;
}

/* A piece at a leader. */
struct piece {
    const struct cv_led_tree *tree;
    const struct cv_led_node *node;
    struct cv_led_state *state;
    double now_s, units;
    double *visits;
    cv_led_part *part; /* NULL: only add up */
    void *context;
    double scale;
};

/* First state of the children of a group: the states of the groups before it in
 * children[0] come first. */
static struct cv_led_state *states_of(const struct piece *piece, uint32_t group)
{
    struct cv_led_state *at = piece->state + 1;

    for (uint32_t i = 0; piece->node->children[0][i] != group; i++) {
        const struct cv_led_node *before =
            &piece->tree->nodes[piece->node->children[0][i]];

        at += before->count * before->places;
    }
    return at;
}

/* The sum of the parts that end by `end_s`; *out_slope is its derivative. */
static double fill(const struct piece *piece, int order, double end_s, double *out_slope)
{
    const struct cv_led_node *node = piece->node;
    const bool multi = piece->tree->port == CLEAVE_PORT_MULTI;
    const double least = LEAST_PART * piece->units;
    double begin_s = fmax(piece->now_s, piece->state->port_s), slope = 0;
    double later = 0; /* derivative of begin_s */
    double sum = (end_s - fmax(piece->now_s, piece->state->own_s) -
                  node->costs.compute_latency_s) *
                 node->costs.speed_ups;

    if (!(sum > least)) {
        sum = 0;
    } else {
        slope = node->costs.speed_ups;
        if (piece->part != NULL)
            piece->part(piece->context, (uint32_t)(node - piece->tree->nodes),
                        piece->state, sum * piece->scale);
    }
    for (uint32_t i = 0; i < node->nchildren; i++) {
        const uint32_t group = node->children[order][i];
        const struct cv_led_node *child = &piece->tree->nodes[group];
        const double link_s = 1 / child->costs.bandwidth_ups;
        const double share = 1 / (link_s + 1 / child->rate_ups);
        const double fixed_s = child->costs.latency_s + child->start_s;
        /* The start-up of a leader is hidden by its previous piece. */
        const double again_s = child->nchildren > 0 ? 0 : child->start_s;
        struct cv_led_state *state = states_of(piece, group);

        *piece->visits += child->count;
        for (uint32_t k = 0; k < child->count; k++, state += child->places) {
            const double from_s = multi ? fmax(piece->now_s, state->link_s) : begin_s;
            const double fresh = (end_s - from_s - fixed_s) * share;
            const double busy = (end_s - state->end_s - again_s) * child->rate_ups;
            const double units = fresh < busy ? fresh : busy;
            double change = child->rate_ups;

            if (!(units > least))
                continue;
            if (fresh < busy)
                change = multi ? share : (1 - later) * share;
            slope += change;
            later += change * link_s;
            begin_s += child->costs.latency_s + units * link_s;
            sum += units;
            if (piece->part != NULL)
                piece->part(piece->context, group, state, units * piece->scale);
        }
    }
    *out_slope = slope;
    return sum;
}

/* The end of a piece in an order, if it is before `high_s`; else INFINITY. */
static double end_of(const struct piece *piece, int order, double high_s)
{
    const double from_s = piece->now_s;
    double low_s = from_s, slope, at_s, at, step_s;

    if (isinf(high_s)) {
        step_s = piece->node->start_s + piece->units / piece->node->rate_ups;
        for (high_s = from_s + step_s;
             (at = fill(piece, order, high_s, &slope)) < piece->units; high_s += step_s) {
            if (isinf(high_s))
                return high_s;
            low_s = high_s;
            step_s *= 2;
        }
    } else {
        at = fill(piece, order, high_s, &slope);
        if (at < piece->units)
            return INFINITY;
    }
    at_s = high_s;
    for (int i = 0; i < MOST_STEPS && high_s - low_s > CLOSE * (high_s - from_s) &&
                    fabs(at - piece->units) > CLOSE * piece->units;
         i++) {
        at_s -= (at - piece->units) / slope;
        if (!(at_s > low_s && at_s < high_s) || i % 4 == 3)
            at_s = low_s + (high_s - low_s) / 2;
        at = fill(piece, order, at_s, &slope);
        if (at < piece->units)
            low_s = at_s;
        else
            high_s = at_s;
    }
    return fabs(at - piece->units) > CLOSE * piece->units ? high_s : at_s;
}

void cv_led_cut(struct cv_led_run *run, uint32_t node, struct cv_led_state *state,
                double now_s, double units, cv_led_part *part, void *context)
{
    struct piece piece = { .tree = run->tree,
                           .node = &run->tree->nodes[node],
                           .state = state,
                           .now_s = now_s,
                           .units = units,
                           .visits = &run->visits };
    const bool same =
        run->tree->port == CLEAVE_PORT_MULTI || run->tree->nodes[node].nchildren < 2;
    const int norders = same ? 1 : CV_LED_ORDERS;
    double end_s = INFINITY, slope;
    int order = 0;

    for (int o = 0; o < norders; o++) {
        const double at_s = end_of(&piece, o, end_s);

        if (at_s < end_s) {
            end_s = at_s;
            order = o;
        }
    }
    piece.scale = units / fill(&piece, order, end_s, &slope);
    piece.part = part;
    piece.context = context;
    fill(&piece, order, end_s, &slope);
}

/* A piece whose parts are sent. */
struct sending {
    struct cv_led_run *run;
    uint32_t node;
    struct cv_led_state *state;
    double now_s, port_s, factor, end_s;
};

static double take(struct cv_led_run *run, uint32_t node, struct cv_led_state *state,
                   double now_s, double units, double factor);

static double compute(struct cv_led_run *run, uint32_t node, struct cv_led_state *state,
                      double now_s, double units, double factor)
{
    const struct cleave_worker *costs = &run->tree->nodes[node].costs;

    if (run->units != NULL)
        run->units[node] += units;
    state->own_s = fmax(now_s, state->own_s) +
                   factor * (costs->compute_latency_s + units / costs->speed_ups);
    return state->own_s;
}

static void send_part(void *context, uint32_t node, struct cv_led_state *state,
                      double units)
{
    struct sending *sending = context;
    const struct cleave_worker *costs = &sending->run->tree->nodes[node].costs;
    double *busy_s =
        sending->run->tree->port == CLEAVE_PORT_MULTI ? &state->link_s : &sending->port_s;
    double end_s;

    if (sending->run->cut != NULL)
        sending->run->cut(sending->run->context, sending->state, state, units);
    if (state == sending->state) {
        end_s =
            compute(sending->run, node, state, sending->now_s, units, sending->factor);
    } else {
        *busy_s = fmax(sending->now_s, *busy_s) +
                  sending->factor * (costs->latency_s + units / costs->bandwidth_ups);
        end_s = take(sending->run, node, state, *busy_s, units, sending->factor);
    }
    sending->end_s = fmax(sending->end_s, end_s);
}

static double take(struct cv_led_run *run, uint32_t node, struct cv_led_state *state,
                   double now_s, double units, double factor)
{
    struct sending sending = { run, node, state, now_s, state->port_s, factor, now_s };

    if (run->tree->nodes[node].nchildren == 0) {
        state->end_s = compute(run, node, state, now_s, units, factor);
        return state->end_s;
    }
    if (units > 0)
        cv_led_cut(run, node, state, now_s, units, send_part, &sending);
    state->port_s = sending.port_s;
    state->end_s = fmax(state->end_s, sending.end_s);
    return state->end_s;
}

double cv_led_take(struct cv_led_run *run, uint32_t worker, double now_s, double units,
                   double factor)
{
    return take(run, run->tree->top[worker], &run->states[run->first[worker]], now_s,
                units, factor);
}
