/* rounds_workspace.c -- room for words, and the schedule that follows from sizes.
 * SPDX-License-Identifier: MIT */
#include "model/rounds/rounds_workspace.h"

#include <math.h>
#include <string.h>

#include "model/rounds/rounds_memory.h"

static bool set_costs(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const struct cv_returns *returns = &room->rounds->returns;

    room->costs = cv_array(arena, returns->n, sizeof *room->costs);
    for (uint32_t i = 0; room->costs != NULL && i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];

        room->costs[i] = (struct cv_rounds_cost){
            t->send_s, t->send_fixed_s, t->compute_s,     t->compute_fixed_s,
            t->back_s, t->back_fixed_s, 1 / t->compute_s,
        };
    }
    return room->costs != NULL;
}

static bool by_chunk(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const size_t chunks = 2 * (size_t)room->max;

    room->worker = cv_array(arena, chunks, sizeof *room->worker);
    room->send_order = cv_array(arena, chunks, sizeof *room->send_order);
    room->back_order = cv_array(arena, chunks, sizeof *room->back_order);
    room->units = cv_array(arena, chunks, sizeof *room->units);
    room->best_units = cv_array(arena, chunks, sizeof *room->best_units);
    room->best_send = cv_array(arena, chunks, sizeof *room->best_send);
    room->best_back = cv_array(arena, chunks, sizeof *room->best_back);
    room->need_s = cv_array(arena, chunks, sizeof *room->need_s);
    room->ends_s = cv_array(arena, chunks, sizeof *room->ends_s);
    room->pivot = cv_array(arena, room->max, sizeof *room->pivot);
    room->back_id = cv_array(arena, room->max, sizeof *room->back_id);
    room->before = cv_array(arena, room->max, sizeof *room->before);
    return room->worker != NULL && room->send_order != NULL && room->back_order != NULL &&
           room->units != NULL && room->best_units != NULL && room->need_s != NULL &&
           room->best_send != NULL && room->best_back != NULL && room->ends_s != NULL &&
           room->pivot != NULL && room->back_id != NULL && room->before != NULL;
}

static bool by_worker(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const uint32_t n = room->rounds->returns.n;

    room->index = cv_array(arena, n, sizeof *room->index);
    room->place = cv_array(arena, n, sizeof *room->place);
    room->back_place = cv_array(arena, n, sizeof *room->back_place);
    room->next = cv_array(arena, n, sizeof *room->next);
    room->ready_s = cv_array(arena, n, sizeof *room->ready_s);
    return room->index != NULL && room->place != NULL && room->back_place != NULL &&
           room->next != NULL && room->ready_s != NULL;
}

/* Rows of as many numbers as there can be unknowns, a constant, and one more that makes them
 * even. Chains use three. */
static bool by_unknown(struct cv_rounds_workspace *room, struct cv_arena *arena)
{
    const uint32_t m = room->most_workers + 3;
    const size_t max = (size_t)room->max + 1;

    room->z = cv_array(arena, max, m * sizeof *room->z);
    room->y = cv_array(arena, max, m * sizeof *room->y);
    room->xs = cv_array(arena, max, m * sizeof *room->xs);
    room->xr = cv_array(arena, max, m * sizeof *room->xr);
    room->sum = cv_array(arena, m, sizeof *room->sum);
    room->port = cv_array(arena, m, sizeof *room->port);
    room->solved = cv_array(arena, m, sizeof *room->solved);
    room->matrix = cv_array(arena, m, (m + 1) * sizeof *room->matrix);
    room->lu = cv_array(arena, m, (m + 1) * sizeof *room->lu);
    room->unknown = cv_array(arena, m, sizeof *room->unknown);
    return room->z != NULL && room->y != NULL && room->xs != NULL && room->xr != NULL &&
           room->sum != NULL && room->port != NULL && room->solved != NULL &&
           room->matrix != NULL && room->lu != NULL && room->unknown != NULL;
}

bool cv_rounds_room_init(struct cv_rounds_workspace *room, const struct cv_rounds *rounds,
                         uint32_t max, bool dense, struct cv_arena *arena)
{
    const uint32_t n = rounds->returns.n;

    *room = (struct cv_rounds_workspace){
        .rounds = rounds,
        .max = max,
        .limit_s = INFINITY,
        .most_workers = !dense              ? 0
                        : n < CV_DENSE_MOST ? n
                                            : CV_DENSE_MOST,
    };
    return set_costs(room, arena) && by_chunk(room, arena) && by_worker(room, arena) &&
           by_unknown(room, arena);
}

bool cv_words_init(struct cv_rounds_words *words, uint32_t max, struct cv_arena *arena)
{
    words->nsend = words->nback = 0;
    words->send = cv_array(arena, max, sizeof *words->send);
    words->back = cv_array(arena, max, sizeof *words->back);
    return words->send != NULL && words->back != NULL;
}

void cv_words_copy(struct cv_rounds_words *to, const struct cv_rounds_words *from)
{
    to->nsend = from->nsend;
    to->nback = from->nback;
    memcpy(to->send, from->send, from->nsend * sizeof *to->send);
    memcpy(to->back, from->back, from->nback * sizeof *to->back);
}

double cv_rounds_replay(const struct cv_returns *returns, const uint32_t *worker,
                        const double *units, const uint32_t *send_order,
                        const uint32_t *back_order, uint32_t nchunks, double *ends_s,
                        double *ready_s)
{
    double now_s = 0;

    for (uint32_t i = 0; i < returns->n; i++)
        ready_s[i] = 0;
    for (uint32_t i = 0; i < nchunks; i++) {
        const uint32_t k = send_order[i], w = worker[k];
        const struct cv_trip *t = &returns->trips[w];

        now_s += t->send_fixed_s + units[k] * t->send_s;
        ends_s[k] = ready_s[w] =
            fmax(now_s, ready_s[w]) + t->compute_fixed_s + units[k] * t->compute_s;
    }
    if (!returns->single)
        now_s = 0;
    for (uint32_t i = 0; i < nchunks; i++) {
        const uint32_t k = back_order[i];
        const struct cv_trip *t = &returns->trips[worker[k]];

        now_s = fmax(now_s, ends_s[k]) + t->back_fixed_s + units[k] * t->back_s;
    }
    return now_s;
}

/* Shrinking chunks are sent in the order in which they are needed. */
static void order_sends(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words)
{
    uint32_t *order = room->send_order;
    const uint32_t first = words->nsend;

    for (uint32_t k = 0; k < first; k++)
        order[k] = k;
    for (uint32_t k = first; k < room->nchunks; k++) {
        uint32_t at = k;

        for (; at > first && room->need_s[order[at - 1]] > room->need_s[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

/* Growing chunks return as they get ready, then comes the return word. */
static void order_returns(struct cv_rounds_workspace *room,
                          const struct cv_rounds_words *words)
{
    uint32_t *order = room->back_order, count = 0;

    for (uint32_t k = 0; k < words->nsend; k++) {
        uint32_t at = count;

        if (room->pivot[k])
            continue;
        for (; at > 0 && room->ends_s[order[at - 1]] > room->ends_s[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
        count++;
    }
    for (uint32_t k = 0; k < words->nback; k++)
        order[count++] = room->back_id[k];
}

/* Sends and computations of chunks of which some are sent in parts. */
static double send_in_parts(struct cv_rounds_workspace *room)
{
    double now_s = 0;

    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->send_order[i], w = room->worker[k];
        const struct cv_rounds_cost *c = &room->costs[w];
        const double parts = cv_parts_of(room->units[k], room->rounds->memory[w]);
        const double send_s = c->send_fixed_s + room->units[k] / parts * c->send_s;
        const double own_s = c->compute_fixed_s + room->units[k] / parts * c->compute_s;
        /* Either the first part or the last one, that has to come, is waited for. */
        const double start_s = fmax(now_s + send_s, room->ready_s[w]);

        now_s += parts * send_s;
        room->ends_s[k] = room->ready_s[w] = fmax(start_s + parts * own_s, now_s + own_s);
    }
    return now_s;
}

/* Returns likewise: parts are ready one after the other. */
static double return_in_parts(struct cv_rounds_workspace *room, double now_s)
{
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->back_order[i], w = room->worker[k];
        const struct cv_rounds_cost *c = &room->costs[w];
        const double parts = cv_parts_of(room->units[k], room->rounds->memory[w]);
        const double back_s = c->back_fixed_s + room->units[k] / parts * c->back_s;
        const double own_s = c->compute_fixed_s + room->units[k] / parts * c->compute_s;

        now_s = fmax(fmax(now_s, room->ends_s[k] - (parts - 1) * own_s) + parts * back_s,
                     room->ends_s[k] + back_s);
    }
    return now_s;
}

/* Inline versions of the costs: this is the inner loop of every search. */
double cv_rounds_orders(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words)
{
    const struct cv_rounds_cost *costs = room->costs;
    const double *units = room->units;
    double now_s = 0;

    for (uint32_t k = 0; k < words->nsend; k++) {
        room->worker[k] = words->send[k];
        room->ready_s[words->send[k]] = 0;
    }
    for (uint32_t k = 0; k < words->nback; k++)
        room->worker[room->back_id[k]] = words->back[k];
    order_sends(room, words);
    if (room->rounds->memory != NULL) {
        now_s = send_in_parts(room);
        order_returns(room, words);
        return return_in_parts(room, room->rounds->returns.single ? now_s : 0);
    }
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->send_order[i], w = room->worker[k];
        const struct cv_rounds_cost *c = &costs[w];
        double start_s;

        now_s += c->send_fixed_s + units[k] * c->send_s;
        start_s = now_s > room->ready_s[w] ? now_s : room->ready_s[w];
        room->ends_s[k] = room->ready_s[w] =
            start_s + c->compute_fixed_s + units[k] * c->compute_s;
    }
    order_returns(room, words);
    if (!room->rounds->returns.single)
        now_s = 0;
    for (uint32_t i = 0; i < room->nchunks; i++) {
        const uint32_t k = room->back_order[i];
        const struct cv_rounds_cost *c = &costs[room->worker[k]];

        if (room->ends_s[k] > now_s)
            now_s = room->ends_s[k];
        now_s += c->back_fixed_s + units[k] * c->back_s;
    }
    return now_s;
}

void cv_rounds_keep(struct cv_rounds_workspace *room)
{
    double *units = room->best_units;
    uint32_t *send = room->best_send, *back = room->best_back;

    room->best_units = room->units;
    room->units = units;
    room->best_send = room->send_order;
    room->send_order = send;
    room->best_back = room->back_order;
    room->back_order = back;
}

enum cleave_status cv_rounds_take(struct cv_rounds_workspace *room, double makespan_s,
                                  struct cv_arena *arena, struct cv_rounds_plan *out,
                                  struct cleave_error *err)
{
    const uint32_t n = room->nchunks;
    struct cv_rounds_plan plan = { .nchunks = n, .makespan_s = makespan_s };
    uint32_t *number = cv_array(arena, n, sizeof *number);
    double sum = 0;

    plan.worker = cv_array(arena, n, sizeof *plan.worker);
    plan.units = cv_array(arena, n, sizeof *plan.units);
    plan.back = cv_array(arena, n, sizeof *plan.back);
    if (number == NULL || plan.worker == NULL || plan.units == NULL || plan.back == NULL)
        return cv_fail_memory(err, "a plan");
    for (uint32_t k = 0; k < n; k++)
        sum += room->best_units[k];
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t id = room->best_send[k];

        number[id] = k;
        plan.worker[k] = room->worker[id];
        plan.units[k] = room->best_units[id] * (room->rounds->load / sum);
    }
    for (uint32_t k = 0; k < n; k++)
        plan.back[k] = number[room->best_back[k]];
    *out = plan;
    return CLEAVE_OK;
}
