/* simulated_command.c -- simulated commands: how they read, and the load they are given.
 * SPDX-License-Identifier: MIT */
#include "engine/simulated_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "model/platform/noise.h"

/* start-up of any process */
static const double LATE_BEFORE_S = 0.001;

static const struct {
    const char *name;
    struct cv_command_model model;
} kinds[] = {
    { "stream", { .phi = 1, .emits = true } },
    { "count", { .phi = 1 } },
    { "slurp", { .phi = 0 } },
    { "late", { .phi = 0, .late = true } },
    { "mix", { .phi = 0.3 } },
};

enum cleave_status cv_command_find(const char *name, struct cv_command_model *out,
                                   struct cleave_error *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *out = kinds[i].model;
            out->name = kinds[i].name;
            return CLEAVE_OK;
        }
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected commands that read as stream, count, slurp, late or mix do, "
                   "got '%s'",
                   name);
}

double cv_command_before_s(const struct cv_command_model *command, double latency_s)
{
    return command->late && latency_s > LATE_BEFORE_S ? LATE_BEFORE_S : latency_s;
}

/* --- free parts of a load ------------------------------------------------------------- */

static void free_ranges_clear(struct cv_free_ranges *ranges, double grain, double record)
{
    ranges->count = 0;
    ranges->grain = grain;
    ranges->record = record > grain ? record : grain;
}

void cv_free_ranges_done(struct cv_free_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct cv_free_ranges){ .count = 0 };
}

bool cv_free_ranges_reserve(struct cv_free_ranges *ranges)
{
    return CV_ROOM(ranges->items, &ranges->room, ranges->count + 1);
}

static void drop(struct cv_free_ranges *ranges, size_t i)
{
    ranges->count--;
    memmove(ranges->items + i, ranges->items + i + 1,
            (ranges->count - i) * sizeof *ranges->items);
}

void cv_free_ranges_add(struct cv_free_ranges *ranges, double begin, double end)
{
    size_t i = 0;

    while (i < ranges->count && ranges->items[i].end < begin - ranges->grain)
        i++;
    if (i == ranges->count || ranges->items[i].begin > end + ranges->grain) {
        memmove(ranges->items + i + 1, ranges->items + i,
                (ranges->count - i) * sizeof *ranges->items);
        ranges->items[i] = (struct cv_free_range){ begin, end };
        ranges->count++;
        return;
    }
    if (begin < ranges->items[i].begin)
        ranges->items[i].begin = begin;
    if (end > ranges->items[i].end)
        ranges->items[i].end = end;
    if (i + 1 < ranges->count &&
        ranges->items[i + 1].begin <= ranges->items[i].end + ranges->grain) {
        ranges->items[i].end = ranges->items[i + 1].end;
        drop(ranges, i + 1);
    }
}

static double take(struct cv_free_ranges *ranges, size_t i, double units)
{
    struct cv_free_range *range = &ranges->items[i];
    const double all = range->end - range->begin;

    if (units <= 0)
        return 0;
    if (units < ranges->record)
        units = ranges->record;
    if (all - units > ranges->record) {
        range->begin += units;
        return units;
    }
    drop(ranges, i);
    return all;
}

static double take_first(struct cv_free_ranges *ranges, double units, double *out_begin)
{
    if (ranges->count == 0)
        return 0;
    *out_begin = ranges->items[0].begin;
    return take(ranges, 0, units);
}

static size_t find_largest(const struct cv_free_ranges *ranges)
{
    const struct cv_free_range *items = ranges->items;
    size_t best = 0;

    for (size_t i = 1; i < ranges->count; i++)
        if (items[i].end - items[i].begin >
            items[best].end - items[best].begin + ranges->grain)
            best = i;
    return best;
}

double cv_free_ranges_largest(const struct cv_free_ranges *ranges)
{
    return ranges->count > 0 ? ranges->items[find_largest(ranges)].begin : INFINITY;
}

double cv_free_ranges_take_at(struct cv_free_ranges *ranges, double units, double begin)
{
    size_t i = 0;

    while (i < ranges->count && ranges->items[i].end <= begin + ranges->grain)
        i++;
    if (i == ranges->count || ranges->items[i].begin > begin + ranges->grain)
        return 0;
    if (units > 0 && ranges->items[i].begin < begin - ranges->grain) {
        const struct cv_free_range rest = { begin, ranges->items[i].end };

        memmove(ranges->items + i + 2, ranges->items + i + 1,
                (ranges->count - i - 1) * sizeof *ranges->items);
        ranges->items[i].end = begin;
        ranges->items[++i] = rest;
        ranges->count++;
    }
    return take(ranges, i, units);
}

static double free_ranges_sum(const struct cv_free_ranges *ranges)
{
    double sum = 0;

    for (size_t i = 0; i < ranges->count; i++)
        sum += ranges->items[i].end - ranges->items[i].begin;
    return sum;
}

/* --- the load of a simulated run ------------------------------------------------------ */

/* Smaller parts of the load do not count. */
static const double GRAIN = 1e-12;

void cv_simulated_input_begin(struct cv_simulated_input *input, double units, double hold,
                              uint32_t nworkers, double record)
{
    const uint32_t parts = nworkers + 1 + nworkers / 4; /* as in a real run */

    free_ranges_clear(&input->free, GRAIN * units, record);
    input->units = units;
    input->hold = hold;
    input->share = hold / parts;
    input->arrived = input->finished = input->wished = 0;
    input->ended = input->items = input->begun = false;
    input->equal_share = units / nworkers;
    input->nrecords = 0;
    input->given = 0;
}

static bool is_going_on(const struct cv_simulated_input *input)
{
    return input->hold > 0 && input->arrived < input->units;
}

bool cv_simulated_input_arrive(struct cv_simulated_input *input)
{
    const double upto = input->hold > 0
                            ? fmin(input->units, input->finished + input->hold)
                            : input->units;

    if (!(upto > input->arrived))
        return false;
    cv_free_ranges_add(&input->free, input->arrived, upto);
    input->arrived = upto;
    return input->hold > 0 && !is_going_on(input);
}

bool cv_simulated_input_take(struct cv_simulated_input *input, double *units,
                             double *out_begin)
{
    if (input->items) {
        input->given += *units;
        return true;
    }
    if (is_going_on(input)) {
        const struct cv_free_range *first = input->free.items;
        const double part = fmin(*units, input->share);

        if (input->free.count == 0 || first->end - first->begin < part)
            return false;
        *units = part;
    }
    *units = take_first(&input->free, *units, out_begin);
    return true;
}

double cv_simulated_input_place(struct cv_simulated_input *input, double units,
                                bool extends, double *out_begin)
{
    const double room = input->begun ? 0 : input->equal_share;
    struct cv_free_ranges *free = &input->free;
    struct cv_free_range largest;
    double size;

    if (input->hold > 0 || free->count == 0 || !(units > 0))
        return take_first(free, units, out_begin);
    largest = free->items[find_largest(free)];
    size = largest.end - largest.begin;
    units = fmax(units, free->record);
    *out_begin = largest.begin;
    if (extends && size - fmax(units, room) > free->record)
        *out_begin = largest.end - fmax(units, room);
    else if (extends && size - units > free->record)
        *out_begin = largest.end - units;
    return cv_free_ranges_take_at(free, units, *out_begin);
}

void cv_simulated_input_return(struct cv_simulated_input *input, double begin, double end)
{
    if (input->items)
        input->given -= end - begin;
    else if (end > begin)
        cv_free_ranges_add(&input->free, begin, end);
}

double cv_simulated_input_left(const struct cv_simulated_input *input)
{
    if (input->hold > 0 && !input->ended)
        return INFINITY;
    if (input->items)
        return fmax(0, input->units - input->given);
    return fmax(0, free_ranges_sum(&input->free) - input->wished);
}

/* --- what records cost ---------------------------------------------------------------- */

bool cv_simulated_input_draw(struct cv_simulated_input *input,
                             const struct cleave_cost_law *law, uint64_t seed,
                             uint32_t run)
{
    const size_t n = (size_t)ceil(input->units / law->record);
    struct cv_record_law drawn;

    if (law->kind == CLEAVE_COST_EVEN || input->items)
        return true;
    if (!CV_ROOM(input->costs, &input->cost_room, n + 1))
        return false;
    cv_record_law_begin(&drawn, law, seed, run);
    input->record = law->record;
    input->nrecords = n;
    input->costs[0] = 0;
    for (size_t i = 0; i < n; i++)
        input->costs[i + 1] = input->costs[i] + law->record * cv_record_factor(&drawn, i);
    return true;
}

static double cost_upto(const struct cv_simulated_input *input, double at)
{
    const size_t all = input->nrecords;
    const size_t i =
        at / input->record < (double)all ? (size_t)(at / input->record) : all - 1;
    const double part = at / input->record - (double)i;

    return input->costs[i] + part * (input->costs[i + 1] - input->costs[i]);
}

double cv_simulated_input_cost(const struct cv_simulated_input *input, double begin,
                               double end)
{
    if (input->nrecords == 0 || !(end > begin))
        return end - begin;
    return cost_upto(input, end) - cost_upto(input, begin);
}

double cv_simulated_input_reach(const struct cv_simulated_input *input, double begin,
                                double cost)
{
    double upto, all;
    size_t i;

    if (input->nrecords == 0 || !(cost > 0))
        return begin + cost;
    upto = cost_upto(input, begin) + cost;
    CV_BISECT(i, input->nrecords, k, input->costs[k + 1] <= upto);
    if (i == input->nrecords)
        return input->units;
    all = input->costs[i + 1] - input->costs[i];
    return input->record * ((double)i + (upto - input->costs[i]) / all);
}

void cv_simulated_input_done(struct cv_simulated_input *input)
{
    cv_free_ranges_done(&input->free);
    free(input->costs);
    input->costs = NULL;
}
