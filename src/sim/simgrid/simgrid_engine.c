/* simgrid_engine.c -- SimGrid as an engine. SPDX-License-Identifier: MIT
 *
 * Orders go to the process that holds the world, events come back. What an operation costs
 * is drawn here, by the same functions as for the native engine, and goes with the order:
 * factors for chunks, seconds for partials. */
#include "sim/simgrid/simgrid_engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "sim/simgrid/simgrid_child.h"

struct grid {
    struct cv_simgrid_source source;
    const struct cleave_platform *platform; /* of a load */
    const struct cv_run *run;
    struct cv_simgrid_child *child; /* owned */
    bool noisy;
    bool under_way;    /* a run has begun and not come to its end */
    uint64_t numbered; /* chunks ordered                           */
    double now_s;      /* of the last event                        */
    uint32_t *nth;     /* owned: orders so far, per worker or receiver */
    uint32_t n;
};

static enum cleave_status start(struct grid *grid, struct cleave_error *err)
{
    const bool reduces = grid->source.costs != NULL;
    struct cv_simgrid_opening opening = { .where = grid->source.where,
                                          .platform = grid->platform };

    opening.told.task = reduces ? CV_WIRE_REDUCE : CV_WIRE_LOAD;
    opening.told.nodes = grid->n;
    opening.told.plain = grid->source.plain;
    opening.told.records = grid->source.repeats > 0;
    return cv_simgrid_start(&opening, &grid->child, err);
}

/* Profiles of a platform are about the star. */
static enum cleave_status check_profiles(const struct grid *grid,
                                         struct cleave_error *err)
{
    const bool star = grid->source.where == NULL || grid->source.where->topology == NULL;

    for (uint32_t w = 0; w < grid->n; w++) {
        uint32_t count;
        const struct cleave_step *steps =
            cleave_platform_profile(grid->platform, w, &count);

        if (steps != NULL && star && !(steps[count - 1].factor > 0))
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker '%s' leaves for good (until), which SimGrid does not "
                           "simulate: expected --engine native",
                           cleave_platform_worker_name(grid->platform, w));
        if (steps != NULL && !star)
            return cv_fail(err, CLEAVE_EINPUT,
                           "worker '%s' has a profile, but on a topology speeds are "
                           "those of the topology's file",
                           cleave_platform_worker_name(grid->platform, w));
    }
    return CLEAVE_OK;
}

static void grid_close(void *engine)
{
    struct grid *grid = engine;

    if (grid == NULL)
        return;
    if (grid->source.repeats > 0 && grid->child != NULL) {
        const struct cv_wire_message again = { .what = CV_WIRE_REPEAT,
                                               .repeats = grid->source.repeats };
        struct cv_wire_answer answer;

        if (cv_simgrid_say(grid->child, &again, NULL) == CLEAVE_OK &&
            cv_simgrid_hear(grid->child, 1u << CV_WIRE_READY, &answer, NULL) == CLEAVE_OK)
            *grid->source.out_repeat_s = answer.seconds[0];
    }
    cv_simgrid_stop(grid->child);
    free(grid->nth);
    free(grid);
}

static enum cleave_status grid_open(const struct cleave_platform *platform,
                                    const void *source, void **out,
                                    struct cleave_error *err)
{
    struct grid *grid = calloc(1, sizeof *grid);
    enum cleave_status status = CLEAVE_OK;

    if (grid == NULL)
        return cv_fail_memory(err, "an engine");
    if (source != NULL)
        grid->source = *(const struct cv_simgrid_source *)source;
    grid->platform = platform;
    grid->n = grid->source.costs != NULL ? grid->source.costs->nodes
                                         : cleave_platform_nworkers(platform);
    grid->nth = calloc(grid->n, sizeof *grid->nth);
    if (grid->nth == NULL)
        status = cv_fail_memory(err, "an engine");
    if (status == CLEAVE_OK && grid->source.costs == NULL)
        status = check_profiles(grid, err);
    if (status == CLEAVE_OK)
        status = start(grid, err);
    if (status != CLEAVE_OK)
        grid_close(grid);
    else
        *out = grid;
    return status;
}

/* A world that was left in the middle of a run is of no use any more. */
static enum cleave_status replace(struct grid *grid, struct cleave_error *err)
{
    cv_simgrid_stop(grid->child);
    grid->child = NULL;
    return start(grid, err);
}

static enum cleave_status grid_begin(void *engine, const struct cv_run *run,
                                     struct cleave_error *err)
{
    struct grid *grid = engine;
    struct cv_wire_message begin = { .what = CV_WIRE_BEGIN,
                                     .noisy = cv_noise_any(&run->noise),
                                     .stream_end_s = run->stream_end_s,
                                     .stream_rest = run->stream_rest,
                                     .result_ratio = run->result_ratio };
    struct cv_wire_answer answer;

    if (run->command != NULL &&
        (run->command->pipe_ups > 0 || run->command->start_spread > 0 ||
         run->command->gulp_s > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "SimGrid knows neither pipes nor start-ups that vary");
    if (run->command != NULL) {
        begin.opens = 1;
        begin.command = *run->command;
        begin.units = run->units;
        begin.hold = run->hold;
    }
    grid->run = run;
    grid->noisy = begin.noisy != 0;
    grid->numbered = 0;
    memset(grid->nth, 0, grid->n * sizeof *grid->nth);
    if (grid->child == NULL || grid->under_way)
        CV_TRY(replace(grid, err));
    grid->under_way = true;
    grid->now_s = 0;
    CV_TRY(cv_simgrid_say(grid->child, &begin, err));
    return cv_simgrid_hear(grid->child, 1u << CV_WIRE_READY, &answer, err);
}

/* What the chunk takes beyond its modelled times. */
static void draw_factors(struct grid *grid, struct cv_wire_message *message)
{
    const bool items = grid->run->items; /* factors are theirs, whoever gets them */
    const uint32_t worker = items ? 0 : message->order.worker;
    const uint32_t nth = items ? (uint32_t)message->order.item : grid->nth[worker]++;
    const uint64_t number = grid->numbered++;

    for (int i = 0; i < 3; i++)
        message->cost[i] = 1;
    if (!grid->noisy)
        return;
    message->cost[0] =
        cv_noise_factor(&grid->run->noise, CV_TRANSFER, worker, nth, number);
    message->cost[1] =
        cv_noise_factor(&grid->run->noise, CV_COMPUTE, worker, nth, number);
    message->cost[2] = cv_noise_factor(&grid->run->noise, CV_RETURN, worker, nth, number);
}

/* A node combines partials in the order in which they were asked for. */
static void draw_costs(struct grid *grid, struct cv_wire_message *message)
{
    const struct cv_reduce_costs *costs = grid->source.costs;
    const uint32_t to = message->order.worker, nth = grid->nth[to]++;

    message->cost[0] =
        cv_transfer_cost(costs, grid->run->number, message->order.peer, to);
    message->cost[1] = cv_compute_cost(costs, grid->run->number, to, nth);
}

static enum cleave_status grid_submit(void *engine, const struct cleave_order *order,
                                      struct cleave_error *err)
{
    struct grid *grid = engine;
    struct cv_wire_message message = { .what = CV_WIRE_ORDER, .order = *order };

    if (order->kind == CLEAVE_SEND || order->kind == CLEAVE_OPEN)
        draw_factors(grid, &message);
    else if (order->kind == CLEAVE_COMBINE)
        draw_costs(grid, &message);
    return cv_simgrid_say(grid->child, &message, err);
}

static enum cleave_status grid_wait(void *engine, struct cleave_event *out, bool *out_any,
                                    struct cleave_error *err)
{
    static const struct cv_wire_message wait = { .what = CV_WIRE_WAIT };
    struct grid *grid = engine;
    const struct cv_simgrid_bounds bounds = { grid->n, grid->numbered, grid->now_s };

    CV_TRY(cv_simgrid_say(grid->child, &wait, err));
    CV_TRY(cv_simgrid_hear_event(grid->child, &bounds, out, out_any, err));
    if (*out_any)
        grid->now_s = out->time_s;
    else
        grid->under_way = false;
    return CLEAVE_OK;
}

/* When it does not answer, whoever waits next hears why. */
static double grid_left(const void *engine)
{
    static const struct cv_wire_message left = { .what = CV_WIRE_LEFT };
    const struct grid *grid = engine;
    struct cv_wire_answer answer;

    if (cv_simgrid_say(grid->child, &left, NULL) != CLEAVE_OK ||
        cv_simgrid_hear(grid->child, 1u << CV_WIRE_READY, &answer, NULL) != CLEAVE_OK ||
        !(answer.seconds[0] >= 0))
        return INFINITY;
    return answer.seconds[0];
}

const struct cv_engine cv_engine_simgrid_open = {
    .name = "simgrid",
    .summary = "SimGrid, where commands read as they are fed",
    .open = grid_open,
    .begin = grid_begin,
    .submit = grid_submit,
    .wait = grid_wait,
    .left = grid_left,
    .close = grid_close,
};

const struct cv_engine cv_engine_simgrid = {
    .name = "simgrid",
    .summary = "SimGrid, in a process of its own: stars, and topologies with contention",
    .open = grid_open,
    .begin = grid_begin,
    .submit = grid_submit,
    .wait = grid_wait,
    .close = grid_close,
};

const struct cv_engine cv_engine_simgrid_reduce = {
    .name = "simgrid",
    .summary = "SimGrid, in a process of its own, for reductions",
    .open = grid_open,
    .begin = grid_begin,
    .submit = grid_submit,
    .wait = grid_wait,
    .close = grid_close,
};

/* --- what a topology costs, measured in simulation --------------------------------- */

static enum cleave_status check(const struct cleave_simgrid *where,
                                struct cleave_error *err)
{
    return where->topology != NULL
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT, "expected a topology to measure, got none");
}

enum cleave_status cleave_simgrid_measure(const struct cleave_simgrid *where,
                                          enum cleave_port port,
                                          struct cleave_platform **out,
                                          struct cleave_error *err)
{
    struct cv_simgrid_opening opening = { .where = where };
    struct cv_simgrid_child *child = NULL;
    enum cleave_status status;

    CV_TRY(check(where, err));
    opening.told.task = CV_WIRE_MEASURE_STAR;
    opening.told.nodes = where->workers == NULL ? where->nworkers : 0;
    CV_TRY(cv_simgrid_start(&opening, &child, err));
    status = cv_simgrid_hear_star(child, where, port, out, err);
    cv_simgrid_stop(child);
    return status;
}

enum cleave_status cleave_simgrid_measure_pairs(const struct cleave_simgrid *where,
                                                uint32_t nodes,
                                                struct cleave_pair_costs *out,
                                                struct cleave_error *err)
{
    struct cv_simgrid_opening opening = { .where = where };
    struct cv_simgrid_child *child = NULL;
    enum cleave_status status;

    CV_TRY(check(where, err));
    opening.told.task = CV_WIRE_MEASURE_PAIRS;
    opening.told.nodes = nodes;
    CV_TRY(cv_simgrid_start(&opening, &child, err));
    status = cv_simgrid_hear_pairs(child, out, err);
    cv_simgrid_stop(child);
    return status;
}
