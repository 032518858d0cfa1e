/* rounds_links.c -- several rounds with results where every worker has a port of its own.
 * SPDX-License-Identifier: MIT
 *
 * What all can do by a time grows with it; the least time for the load lies between two and is
 * looked for on the line between them. Equal workers are looked at once. */
#include "model/rounds/rounds_links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "model/rounds/rounds_bound.h"
#include "model/rounds/rounds_link.h"

enum { MOST_STEPS = 100 };
static const double NEAR = 1e-12;
/* Loads that need less than a second: how the time is looked for downwards. */
static const double STEP_DOWN = 1e-6;
/* What a bound is below a plan that it says nothing against. */
static const double SAFE = 1 - 4e-9;

/* Kinds of workers. */
struct links {
    struct cv_rounds_link *kind;
    uint32_t *count; /* per kind   */
    uint32_t *hint;  /* per kind: chunks that were best last time; 0: none yet */
    uint32_t *of;    /* per worker */
    uint32_t nkinds;
    struct cv_link_workspace room;
    struct cv_link_lines *lines; /* per kind, of the bound */
};

static bool is_kind(const struct cv_rounds_link *a, const struct cv_rounds_link *b)
{
    const struct cv_trip *s = &a->trip, *t = &b->trip;

    return a->memory == b->memory && s->send_s == t->send_s &&
           s->compute_s == t->compute_s && s->back_s == t->back_s &&
           s->send_fixed_s == t->send_fixed_s &&
           s->compute_fixed_s == t->compute_fixed_s && s->back_fixed_s == t->back_fixed_s;
}

static bool set_up(struct links *links, const struct cv_rounds *rounds,
                   struct cv_arena *arena)
{
    const uint32_t n = rounds->returns.n;

    links->nkinds = 0;
    links->kind = cv_array(arena, n, sizeof *links->kind);
    links->count = cv_array(arena, n, sizeof *links->count);
    links->hint = cv_array(arena, n, sizeof *links->hint);
    links->of = cv_array(arena, n, sizeof *links->of);
    if (links->kind == NULL || links->count == NULL || links->of == NULL ||
        links->hint == NULL || !cv_link_room_init(&links->room, arena))
        return false;
    for (uint32_t w = 0; w < n; w++) {
        const struct cv_rounds_link link = { rounds->returns.trips[w],
                                             rounds->memory != NULL ? rounds->memory[w]
                                                                    : INFINITY };
        uint32_t k = 0;

        while (k < links->nkinds && !is_kind(&links->kind[k], &link))
            k++;
        if (k == links->nkinds)
            links->kind[links->nkinds++] = link;
        links->count[k]++;
        links->of[w] = k;
    }
    return true;
}

/* What all do by a time: found, or at most. */
typedef double work_by(struct links *links, double time_s);

static double found_by(struct links *links, double time_s)
{
    double units = 0;

    for (uint32_t k = 0; k < links->nkinds; k++) {
        const struct cv_link_best best =
            cv_link_best(&links->room, &links->kind[k], time_s, links->hint[k]);

        links->hint[k] = best.chunks;
        units += links->count[k] * best.units;
    }
    return units;
}

static double most_by(struct links *links, double time_s)
{
    double units = 0;

    for (uint32_t k = 0; k < links->nkinds; k++)
        units +=
            links->count[k] * cv_link_most(&links->kind[k], &links->lines[k], time_s);
    return units;
}

static double cap_by(struct links *links, double time_s)
{
    double units = 0;

    for (uint32_t k = 0; k < links->nkinds; k++)
        units += links->count[k] * cv_link_cap(&links->kind[k], 1, time_s);
    return units;
}

/* Times between which the work reaches the load. */
struct between {
    double low_s, high_s, low, high; /* and what is done by them: low < load <= high */
};

/* Make both ends meet, to a part of `near`. */
static void narrow(struct links *links, work_by *work, double load, double near,
                   struct between *b)
{
    for (int step = 0; step < MOST_STEPS && b->high_s - b->low_s > near * b->high_s;
         step++) {
        const double part = (load - b->low) / (b->high - b->low);
        double time_s = b->low_s + (b->high_s - b->low_s) * part, units;

        /* A line that is nearly right leaves one end where it is: go a little past the
         * other, and to the middle now and then. */
        if (step % 3 == 2)
            time_s = b->low_s + (b->high_s - b->low_s) / 2;
        else
            time_s += (step % 3 == 0 ? 1 : -1) * near / 3 * b->high_s;
        time_s = fmin(fmax(time_s, b->low_s + (b->high_s - b->low_s) * 1e-3),
                      b->high_s - (b->high_s - b->low_s) * 1e-3);
        if (!(time_s > b->low_s && time_s < b->high_s))
            return;
        units = work(links, time_s);
        if (units < load) {
            b->low_s = time_s;
            b->low = units;
        } else {
            b->high_s = time_s;
            b->high = units;
        }
    }
}

/* The least time for the load, from above. */
static double least_time(struct links *links, double load)
{
    struct between b = { 0, 1, 0, 0 };

    while (b.high_s > 1e-290 && cap_by(links, STEP_DOWN * b.high_s) >= load)
        b.high_s *= STEP_DOWN;
    while ((b.high = cap_by(links, b.high_s)) < load && b.high_s < 1e300) {
        b.low_s = b.high_s;
        b.low = b.high;
        b.high_s *= 2;
    }
    narrow(links, cap_by, load, 1e-6, &b);
    b.low_s *= 1 - 1e-6;
    b.low = 0;
    b.high_s = b.low_s * 1.25;
    while ((b.high = found_by(links, b.high_s)) < load && b.high_s < 1e300) {
        b.low_s = b.high_s;
        b.low = b.high;
        b.high_s *= 1.5;
    }
    narrow(links, found_by, load, NEAR, &b);
    return b.high_s;
}

static enum cleave_status fill(struct links *links, const struct cv_rounds *rounds,
                               double time_s, double load, struct cv_arena *arena,
                               struct cv_rounds_plan *out, struct cleave_error *err)
{
    const uint32_t n = rounds->returns.n;
    struct cv_link_best *best = cv_array(arena, links->nkinds, sizeof *best);
    double units = 0, scale;
    size_t chunks = 0;

    if (best == NULL)
        return cv_fail_memory(err, "a plan");
    for (uint32_t k = 0; k < links->nkinds; k++) {
        best[k] = cv_link_best(&links->room, &links->kind[k], time_s, 0);
        best[k].sizes = cv_array(arena, best[k].chunks, sizeof *best[k].sizes);
        if (best[k].sizes == NULL)
            return cv_fail_memory(err, "a plan");
        memcpy(best[k].sizes, links->room.sizes, best[k].chunks * sizeof *best[k].sizes);
        units += best[k].units * links->count[k];
        chunks += (size_t)best[k].chunks * links->count[k];
    }
    scale = load > 0 && units > 0 ? load / units : 1;
    out->worker = cv_array(arena, chunks, sizeof *out->worker);
    out->units = cv_array(arena, chunks, sizeof *out->units);
    out->back = cv_array(arena, chunks, sizeof *out->back);
    if (out->worker == NULL || out->units == NULL || out->back == NULL ||
        links->room.out_of_memory)
        return cv_fail_memory(err, "a plan");
    out->nchunks = 0;
    out->makespan_s = 0;
    for (uint32_t w = 0; w < n; w++) {
        const struct cv_link_best *own = &best[links->of[w]];
        double *sizes = out->units + out->nchunks;

        for (uint32_t k = 0; k < own->chunks; k++) {
            out->worker[out->nchunks] = w;
            out->back[out->nchunks] = out->nchunks;
            out->units[out->nchunks++] = own->sizes[k] * scale;
        }
        out->makespan_s = fmax(out->makespan_s, cv_link_end(&links->kind[links->of[w]],
                                                            sizes, own->chunks));
    }
    return CLEAVE_OK;
}

enum cleave_status cv_rounds_links(const struct cv_rounds *rounds, double lifespan_s,
                                   struct cv_arena *arena, struct cv_rounds_plan *out,
                                   double *out_load, struct cleave_error *err)
{
    struct links links;
    double time_s = lifespan_s;

    if (!set_up(&links, rounds, arena))
        return cv_fail_memory(err, "a plan");
    if (!(lifespan_s > 0)) {
        time_s = least_time(&links, rounds->load);
        if (!(time_s < 1e300))
            return cv_fail(err, CLEAVE_EINPUT,
                           "workers have so little memory that there would be too many "
                           "chunks");
    }
    CV_TRY(
        fill(&links, rounds, time_s, lifespan_s > 0 ? 0 : rounds->load, arena, out, err));
    cv_step_budget_spend(rounds->returns.budget, links.room.spent);
    *out_load = rounds->load;
    if (lifespan_s > 0) {
        *out_load = 0;
        for (uint32_t k = 0; k < out->nchunks; k++)
            *out_load += out->units[k];
    }
    return CLEAVE_OK;
}

/* Prices at a time; what holds before it follows from them. */
static bool price_at(struct links *links, double time_s, struct cv_arena *arena)
{
    links->lines = cv_array(arena, links->nkinds, sizeof *links->lines);
    for (uint32_t k = 0; links->lines != NULL && k < links->nkinds; k++)
        cv_link_price(&links->room, &links->kind[k], time_s, &links->lines[k]);
    return links->lines != NULL && !links->room.out_of_memory;
}

double cv_rounds_links_bound(const struct cv_rounds *rounds, double lifespan_s,
                             struct cv_arena *scratch)
{
    struct links links;
    struct between b = { 0, lifespan_s, 0, 0 };

    if (!set_up(&links, rounds, scratch))
        return -1;
    if (links.nkinds > CV_ROUNDS_BOUND_MOST)
        return 0;
    if (!(lifespan_s > 0))
        b.high_s = least_time(&links, rounds->load);
    if (!(b.high_s < 1e300))
        return 0;
    if (!price_at(&links, b.high_s, scratch))
        return -1;
    b.high = most_by(&links, b.high_s);
    if (lifespan_s > 0)
        return b.high;
    /* More may be done by then, and nothing by 0. */
    b.low_s = b.high_s * SAFE;
    b.low = most_by(&links, b.low_s);
    if (!(b.low < rounds->load)) {
        b.low_s = b.low = 0;
        narrow(&links, most_by, rounds->load, 1e-9, &b);
    }
    return b.low_s;
}
