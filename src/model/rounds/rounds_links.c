/* rounds_links.c -- several rounds with results if links share no port.
 * SPDX-License-Identifier: MIT
 *
 * The work that all workers can do by a time T grows with T; the least T for the load is found
 * by a secant method. Equal workers are evaluated once.
 *
 * One worker: for K chunks and all i <= j
 *
 *     sends up to i + computations from i to j + returns from j <= T.
 *
 * The most units subject to these rows are a linear program, which is solved for few chunks.
 * For any number of chunks there is a closed form: one chunk is the pivot; the computation of
 * each chunk before it ends exactly when the next chunk arrives, that of each chunk after it
 * takes exactly as long as the previous return; sends up to the pivot, its computation and the
 * returns from it take all of T. All sizes are affine in that of the pivot, so that each pair
 * of numbers of chunks before and after it takes O(1). It is used if no time is exceeded in
 * a replay. If messages take longer than computing it may not be the best.
 *
 * Memory: sizes that are too large are cut into equal parts, and T is shortened until all parts
 * end in time; programs have a row for each size. docs/theory/rounds.md has the proofs. */
#include "model/rounds/rounds_links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fail.h"
#include "model/rounds/rounds_internal.h"

enum {
    SIDE_MOST = 128,     /* chunks of the closed form before, and after, the pivot */
    PARTS_MOST = 100000, /* chunks after cutting */
    HALVES = 40,
};
enum { ROWS_MOST = CV_LINK_PROGRAM * (CV_LINK_PROGRAM + 1) / 2 + CV_LINK_PROGRAM };
static const double STEEP = 1e4; /* most units of a chunk for a unit of the pivot */
/* Allowances for rounding of a time, and of a sum of prices. */
static const double IN_TIME = 1 + 1e-12, ROUNDED = 1 + 1e-12;

bool cv_link_room_init(struct cv_link_workspace *room, struct cv_arena *arena)
{
    *room = (struct cv_link_workspace){ .arena = arena };
    return CV_NEW(arena, room->sizes, PARTS_MOST) &&
           CV_NEW(arena, room->trial, PARTS_MOST) &&
           CV_NEW(arena, room->values, CV_LINK_PROGRAM) &&
           CV_NEW(arena, room->prices, ROWS_MOST);
}

double cv_link_end(const struct cv_rounds_link *link, const double *sizes,
                   uint32_t chunks)
{
    const struct cv_trip *t = &link->trip;
    double sent_s = 0, done_s = 0, back_s = 0;

    for (uint32_t k = 0; k < chunks; k++) {
        sent_s += t->send_fixed_s + sizes[k] * t->send_s;
        done_s = fmax(sent_s, done_s) + t->compute_fixed_s + sizes[k] * t->compute_s;
        back_s = fmax(done_s, back_s) + t->back_fixed_s + sizes[k] * t->back_s;
    }
    return back_s;
}

/* Units that fit into `free_s` at each_s per unit. */
static double units_in(double free_s, double each_s)
{
    if (!(free_s > 0))
        return 0;
    return each_s > 0 ? free_s / each_s : INFINITY;
}

/* A simple upper bound on the units of `chunks` or more chunks, from the times of the
 * link, the worker and the way back. */
static double link_cap(const struct cv_rounds_link *link, uint32_t chunks, double time_s)
{
    const struct cv_trip *t = &link->trip;
    const double free_s = time_s - t->send_fixed_s - t->compute_fixed_s - t->back_fixed_s;
    const double more = chunks - 1;
    const double port = units_in(free_s - more * t->send_fixed_s, t->send_s),
                 worker = units_in(free_s - more * t->compute_fixed_s, t->compute_s),
                 back = units_in(free_s - more * t->back_fixed_s, t->back_s);
    double max = fmin(port, fmin(worker, back));

    if (isinf(link->memory))
        return max;
    /* No chunk is larger than the memory: every unit has its part of the latencies. */
    max = fmin(max, units_in(free_s + t->send_fixed_s,
                             t->send_s + t->send_fixed_s / link->memory));
    max = fmin(max, units_in(free_s + t->compute_fixed_s,
                             t->compute_s + t->compute_fixed_s / link->memory));
    return fmin(max, units_in(free_s + t->back_fixed_s,
                              t->back_s + t->back_fixed_s / link->memory));
}

static uint32_t rows_of(const struct cv_rounds_link *link, uint32_t chunks)
{
    return chunks * (chunks + 1) / 2 + (isinf(link->memory) ? 0 : chunks);
}

/* The program of K chunks; NULL when memory is short. */
static struct cv_tableau *program_of(struct cv_link_workspace *room, uint32_t chunks)
{
    struct cv_tableau *program = &room->programs[chunks];

    if (program->matrix == NULL &&
        !cv_tableau_init(program, chunks, chunks * (chunks + 1) / 2 + chunks,
                         room->arena)) {
        room->out_of_memory = true;
        return NULL;
    }
    return program;
}

/* Sizes are multiples of `unit`, the largest chunk; times are multiples of time_s. */
static bool set_rows(struct cv_tableau *program, const struct cv_rounds_link *link,
                     uint32_t chunks, double time_s, double unit)
{
    const struct cv_trip *t = &link->trip;
    double *row = program->matrix;
    uint32_t at = 0;

    for (uint32_t i = 0; i < chunks; i++)
        for (uint32_t j = i; j < chunks; j++, at++, row += chunks) {
            const double fixed_s = (i + 1) * t->send_fixed_s +
                                   (j - i + 1) * t->compute_fixed_s +
                                   (chunks - j) * t->back_fixed_s;

            program->simplex.value[at] = 1 - fixed_s / time_s;
            if (program->simplex.value[at] < 0)
                return false;
            for (uint32_t k = 0; k < chunks; k++)
                row[k] =
                    ((k <= i ? t->send_s : 0) + (k >= i && k <= j ? t->compute_s : 0) +
                     (k >= j ? t->back_s : 0)) *
                    unit / time_s;
        }
    for (; at < rows_of(link, chunks); at++, row += chunks)
        for (uint32_t k = 0; k < chunks; k++) {
            row[k] = at == rows_of(link, chunks) - chunks + k ? 1 : 0;
            program->simplex.value[at] = link->memory / unit;
        }
    return true;
}

/* The most units of K chunks, with sizes in room->values; 0: the time is too short, NAN:
 * not found. */
static double solve(struct cv_link_workspace *room, const struct cv_rounds_link *link,
                    uint32_t chunks, double time_s)
{
    const struct cv_trip *t = &link->trip;
    const double unit = time_s / (t->send_s + t->compute_s + t->back_s);
    struct cv_tableau *program = program_of(room, chunks);
    double units = 0;

    if (program == NULL)
        return NAN;
    program->m = program->simplex.nrows = rows_of(link, chunks);
    room->spent += 1.0 * program->m * chunks * chunks;
    if (!set_rows(program, link, chunks, time_s, unit))
        return 0;
    for (uint32_t k = 0; k < chunks; k++)
        program->worth[k] = 1;
    if (!cv_tableau_run(program, room->values))
        return NAN;
    for (uint32_t k = 0; k < chunks; k++)
        units += room->values[k] *= unit;
    return units;
}

/* The multipliers of the rows of the program that was solved last, 0 or more. */
static void take_prices(struct cv_link_workspace *room, const struct cv_tableau *program)
{
    for (uint32_t i = 0; i < program->m; i++)
        room->prices[i] = 0;
    for (uint32_t j = 0; j < program->n; j++)
        if (program->outside[j] >= program->n)
            room->prices[program->outside[j] - program->n] = fmax(0, -program->worth[j]);
}

/* All units together are at most the worth of the rows, plus, for each chunk whose units the
 * prices do not pay in full, the unpaid part of its largest size `one`. */
static struct cv_link_line line_of(const struct cv_link_workspace *room,
                                   const struct cv_rounds_link *link, uint32_t chunks,
                                   double time_s, double one)
{
    const struct cv_trip *t = &link->trip;
    const double own_s = t->send_s + t->compute_s + t->back_s;
    double paid[CV_LINK_PROGRAM] = { 0 };
    struct cv_link_line line = { true, 0, 0 };
    uint32_t at = 0;

    for (uint32_t i = 0; i < chunks; i++)
        for (uint32_t j = i; j < chunks; j++, at++) {
            const double price = room->prices[at] / own_s; /* units per second */

            line.slope += price;
            line.value += price * (time_s - (i + 1) * t->send_fixed_s -
                                   (j - i + 1) * t->compute_fixed_s -
                                   (chunks - j) * t->back_fixed_s);
            for (uint32_t k = 0; k < chunks && price > 0; k++)
                paid[k] += price * ((k <= i ? t->send_s : 0) +
                                    (k >= i && k <= j ? t->compute_s : 0) +
                                    (k >= j ? t->back_s : 0));
        }
    for (uint32_t k = 0; k < chunks && isfinite(link->memory); k++, at++) {
        line.value += room->prices[at] * link->memory;
        paid[k] += room->prices[at];
    }
    for (uint32_t k = 0; k < chunks; k++)
        line.value += fmax(0, 1 - paid[k]) * one;
    line.value *= ROUNDED;
    return line;
}

/* The largest single chunk. */
static double largest(const struct cv_rounds_link *link, double time_s)
{
    const struct cv_trip *t = &link->trip;

    return fmin(link->memory,
                units_in(time_s - t->send_fixed_s - t->compute_fixed_s - t->back_fixed_s,
                         t->send_s + t->compute_s + t->back_s));
}

void cv_link_price(struct cv_link_workspace *room, const struct cv_rounds_link *link,
                   double time_s, struct cv_link_lines *out)
{
    const double one = largest(link, time_s);
    double max = link_cap(link, CV_LINK_PROGRAM + 1, time_s);

    out->time_s = time_s;
    for (uint32_t chunks = 1; chunks <= CV_LINK_PROGRAM; chunks++) {
        struct cv_link_line *line = &out->line[chunks];

        line->known = false;
        if (fmin(link_cap(link, chunks, time_s), chunks * one) <= max)
            continue;
        if (!(solve(room, link, chunks, time_s) > 0))
            continue;
        take_prices(room, &room->programs[chunks]);
        *line = line_of(room, link, chunks, time_s, one);
        max = fmax(max, line->value);
    }
}

double cv_link_most(const struct cv_rounds_link *link, const struct cv_link_lines *lines,
                    double time_s)
{
    const double one = largest(link, time_s);
    double max = link_cap(link, CV_LINK_PROGRAM + 1, time_s);

    for (uint32_t chunks = 1; chunks <= CV_LINK_PROGRAM; chunks++) {
        const struct cv_link_line *line = &lines->line[chunks];
        double units = fmin(link_cap(link, chunks, time_s), chunks * one);

        if (line->known)
            units = fmin(units, line->value + line->slope * (time_s - lines->time_s));
        max = fmax(max, units);
    }
    return max;
}

/* offset + slope * (units of the pivot) */
struct affine {
    double offset, slope;
};

/* Chunks on one side of the pivot, the nearest first. */
struct side {
    struct affine chunk[SIDE_MOST + 1], sum[SIDE_MOST + 1];
    double min[SIDE_MOST + 1]; /* least pivot for which no chunk is negative */
    uint32_t max;
};

/* Each computation takes as long as the message of the next chunk towards the pivot. */
static void set_side(const struct cv_trip *t, double fixed_s, double each_s,
                     struct side *out)
{
    const double ratio = each_s / t->compute_s,
                 gain = (fixed_s - t->compute_fixed_s) / t->compute_s;

    out->chunk[0] = (struct affine){ 0, 1 };
    out->sum[0] = (struct affine){ 0, 0 };
    out->min[0] = 0;
    out->max = 0;
    for (uint32_t k = 1; k <= SIDE_MOST; k++) {
        const struct affine before = out->chunk[k - 1];
        const struct affine chunk = { gain + ratio * before.offset,
                                      ratio * before.slope };

        /* Rounding errors of the pivot grow with the slope. */
        if (!(chunk.slope > 1e-200) || chunk.slope > STEEP)
            return;
        out->chunk[k] = chunk;
        out->sum[k].offset = out->sum[k - 1].offset + chunk.offset;
        out->sum[k].slope = out->sum[k - 1].slope + chunk.slope;
        out->min[k] = fmax(out->min[k - 1], -chunk.offset / chunk.slope);
        out->max = k;
    }
}

static uint32_t fill(const struct side *before, uint32_t nbefore,
                     const struct side *behind, uint32_t nbehind, double pivot,
                     double *sizes)
{
    for (uint32_t k = 0; k < nbefore; k++) {
        const struct affine chunk = before->chunk[nbefore - k];

        sizes[k] = fmax(0, chunk.offset + chunk.slope * pivot);
    }
    sizes[nbefore] = pivot;
    for (uint32_t k = 1; k <= nbehind; k++)
        sizes[nbefore + k] =
            fmax(0, behind->chunk[k].offset + behind->chunk[k].slope * pivot);
    return nbefore + 1 + nbehind;
}

/* The best pair of numbers of chunks before and after the pivot. */
static struct cv_link_best closed_form(const struct cv_rounds_link *link, double time_s,
                                       double *sizes, double *trial)
{
    const struct cv_trip *t = &link->trip;
    struct cv_link_best best = { 0, 0, sizes };
    struct side before, behind;

    set_side(t, t->send_fixed_s, t->send_s, &before);
    set_side(t, t->back_fixed_s, t->back_s, &behind);
    for (uint32_t g = 0; g <= before.max; g++) {
        double last = 0;

        for (uint32_t d = 0, falling = 0; d <= behind.max && falling < 3; d++) {
            const struct affine *sends = &before.sum[g], *backs = &behind.sum[d];
            const double fixed_s = (g + 1) * t->send_fixed_s + t->compute_fixed_s +
                                   (d + 1) * t->back_fixed_s + sends->offset * t->send_s +
                                   backs->offset * t->back_s;
            const double pivot =
                (time_s - fixed_s) / ((1 + sends->slope) * t->send_s + t->compute_s +
                                      (1 + backs->slope) * t->back_s);
            const double units =
                sends->offset + backs->offset + pivot * (1 + sends->slope + backs->slope);
            uint32_t chunks;

            if (!(pivot >= fmax(before.min[g], behind.min[d])))
                break; /* more chunks leave less time */
            falling = units > last ? 0 : falling + 1;
            last = units;
            if (!(units > best.units * IN_TIME))
                continue;
            chunks = fill(&before, g, &behind, d, pivot, trial);
            if (cv_link_end(link, trial, chunks) > time_s * IN_TIME)
                continue;
            best.units = units;
            best.chunks = chunks;
            memcpy(sizes, trial, chunks * sizeof *trial);
        }
    }
    return best;
}

/* Cut chunks that are too large into equal parts; 0: too many parts. */
static uint32_t cut(const struct cv_rounds_link *link, const struct cv_link_best *best,
                    double *parts)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < best->chunks; k++) {
        const double pieces = fmax(1, ceil(best->sizes[k] / link->memory * (1 - 1e-12)));

        if (count + pieces > PARTS_MOST)
            return 0;
        for (uint32_t i = 0; i < (uint32_t)pieces; i++)
            parts[count++] = best->sizes[k] / pieces;
    }
    return count;
}

/* The closed form for the longest time for which its parts end by time_s. */
static struct cv_link_best cut_form(struct cv_link_workspace *room,
                                    const struct cv_rounds_link *link, double time_s)
{
    struct cv_link_best best = { 0, 0, room->sizes };
    double low = 0, high = time_s, sizes[2 * SIDE_MOST + 1], spare[2 * SIDE_MOST + 1];

    for (int i = 0; i < HALVES && high - low > 1e-10 * time_s; i++) {
        const double middle = i == 0 ? high : low + (high - low) / 2;
        const struct cv_link_best form = closed_form(link, middle, sizes, spare);
        const uint32_t parts = cut(link, &form, room->trial);

        if (form.chunks > 0 &&
            (parts == 0 || cv_link_end(link, room->trial, parts) > time_s * IN_TIME)) {
            high = middle;
            continue;
        }
        low = middle;
        if (form.units > best.units) {
            best.chunks = parts;
            best.units = form.units;
            memcpy(room->sizes, room->trial, parts * sizeof *room->sizes);
        }
    }
    return best;
}

/* Take the solution of the program of K chunks if it is better. */
static bool improve(struct cv_link_workspace *room, const struct cv_rounds_link *link,
                    uint32_t chunks, double time_s, struct cv_link_best *best)
{
    double units = solve(room, link, chunks, time_s);

    if (!(units > best->units * IN_TIME) ||
        cv_link_end(link, room->values, chunks) > time_s * IN_TIME)
        return false;
    best->units = units;
    best->chunks = chunks;
    memcpy(best->sizes, room->values, chunks * sizeof *best->sizes);
    return true;
}

struct cv_link_best cv_link_best(struct cv_link_workspace *room,
                                 const struct cv_rounds_link *link, double time_s,
                                 uint32_t hint)
{
    struct cv_link_best best = { 0, 0, room->sizes };
    const uint32_t patience = hint > 0 ? 1 : 2;
    uint32_t from;

    if (!(link_cap(link, 1, time_s) > 0))
        return best;
    if (hint > 0 && hint < CV_LINK_PROGRAM)
        improve(room, link, hint, time_s, &best);
    if (best.chunks == 0) {
        room->spent += isinf(link->memory) ? 5e4 : 2e6;
        best = isinf(link->memory) ? closed_form(link, time_s, room->sizes, room->trial)
                                   : cut_form(room, link, time_s);
    }
    /* Programs of about as many chunks, and of more and fewer while they gain. */
    from = best.chunks < 1                 ? 1
           : best.chunks > CV_LINK_PROGRAM ? CV_LINK_PROGRAM
                                           : best.chunks;
    if (best.chunks != hint)
        improve(room, link, from, time_s, &best);
    for (uint32_t k = from + 1, idle = 0; k <= CV_LINK_PROGRAM && idle < patience; k++)
        idle = improve(room, link, k, time_s, &best) ? 0 : idle + 1;
    for (uint32_t k = from, idle = 0; k-- > 1 && idle < patience;)
        idle = improve(room, link, k, time_s, &best) ? 0 : idle + 1;
    return best;
}

enum { MOST_STEPS = 100 };
static const double NEAR = 1e-12;
static const double STEP_DOWN =
    1e-6; /* fraction of the time, for loads that need less than a second */
static const double SAFE = 1 - 4e-9; /* bound over makespan if the bound is tight */

struct links {
    struct cv_kinds kinds;
    uint32_t *hint; /* per kind: chunks that were best last time; 0: none yet */
    struct cv_link_workspace room;
    struct cv_link_lines *lines; /* per kind: lines of the bound */
};

static bool set_up(struct links *links, const struct cv_rounds *rounds,
                   struct cv_arena *arena)
{
    return CV_NEW(arena, links->hint, rounds->returns.n) &&
           cv_kinds_init(&links->kinds, &rounds->returns, rounds->memory, arena) &&
           cv_link_room_init(&links->room, arena);
}

/* Work of all workers by a time: found, or an upper bound. */
typedef double work_by(struct links *links, double time_s);

static double found_by(struct links *links, double time_s)
{
    double units = 0;

    for (uint32_t k = 0; k < links->kinds.n; k++) {
        const struct cv_link_best best =
            cv_link_best(&links->room, &links->kinds.kind[k], time_s, links->hint[k]);

        links->hint[k] = best.chunks;
        units += links->kinds.count[k] * best.units;
    }
    return units;
}

static double most_by(struct links *links, double time_s)
{
    double units = 0;

    for (uint32_t k = 0; k < links->kinds.n; k++)
        units += links->kinds.count[k] *
                 cv_link_most(&links->kinds.kind[k], &links->lines[k], time_s);
    return units;
}

static double cap_by(struct links *links, double time_s)
{
    double units = 0;

    for (uint32_t k = 0; k < links->kinds.n; k++)
        units += links->kinds.count[k] * link_cap(&links->kinds.kind[k], 1, time_s);
    return units;
}

/* Times between which the work reaches the load. */
struct between {
    double low_s, high_s, low, high; /* work at these times: low < load <= high */
};

/* Narrow the interval to the part `near` of its end. */
static void narrow(struct links *links, work_by *work, double load, double near,
                   struct between *b)
{
    for (int step = 0; step < MOST_STEPS && b->high_s - b->low_s > near * b->high_s;
         step++) {
        const double part = (load - b->low) / (b->high - b->low);
        double time_s = b->low_s + (b->high_s - b->low_s) * part, units;

        /* Secant steps would move one end only: overshoot a little, and take the middle in
         * every third step. */
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

/* An upper bound on the least time for the load, to a part of NEAR. */
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

static enum cleave_status make_plan(struct links *links, const struct cv_rounds *rounds,
                                    double time_s, double load, struct cv_arena *arena,
                                    struct cv_rounds_plan *out, struct cleave_error *err)
{
    const uint32_t n = rounds->returns.n;
    struct cv_link_best *best = cv_array(arena, links->kinds.n, sizeof *best);
    double units = 0, scale;
    size_t chunks = 0;

    if (best == NULL)
        return cv_fail_memory(err, "a plan");
    for (uint32_t k = 0; k < links->kinds.n; k++) {
        best[k] = cv_link_best(&links->room, &links->kinds.kind[k], time_s, 0);
        if (!CV_NEW(arena, best[k].sizes, best[k].chunks))
            return cv_fail_memory(err, "a plan");
        memcpy(best[k].sizes, links->room.sizes, best[k].chunks * sizeof *best[k].sizes);
        units += best[k].units * links->kinds.count[k];
        chunks += best[k].chunks * (size_t)links->kinds.count[k];
    }
    scale = load > 0 && units > 0 ? load / units : 1;
    if (!cv_rounds_plan_init(out, (uint32_t)chunks, arena) || links->room.out_of_memory)
        return cv_fail_memory(err, "a plan");
    out->nchunks = 0;
    out->makespan_s = 0;
    for (uint32_t w = 0; w < n; w++) {
        const struct cv_link_best *own = &best[links->kinds.of[w]];
        double *sizes = out->units + out->nchunks;

        for (uint32_t k = 0; k < own->chunks; k++) {
            out->worker[out->nchunks] = w;
            out->back[out->nchunks] = out->nchunks;
            out->units[out->nchunks++] = own->sizes[k] * scale;
        }
        out->makespan_s =
            fmax(out->makespan_s,
                 cv_link_end(&links->kinds.kind[links->kinds.of[w]], sizes, own->chunks));
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
    CV_TRY(make_plan(&links, rounds, time_s, lifespan_s > 0 ? 0 : rounds->load, arena,
                     out, err));
    cv_step_budget_spend(rounds->returns.budget, links.room.spent);
    *out_load = rounds->load;
    if (lifespan_s > 0) {
        *out_load = 0;
        for (uint32_t k = 0; k < out->nchunks; k++)
            *out_load += out->units[k];
    }
    return CLEAVE_OK;
}

/* Prices at a time, from which upper bounds for earlier times follow. */
static bool price_at(struct links *links, double time_s, struct cv_arena *arena)
{
    links->lines = cv_array(arena, links->kinds.n, sizeof *links->lines);
    for (uint32_t k = 0; links->lines != NULL && k < links->kinds.n; k++)
        cv_link_price(&links->room, &links->kinds.kind[k], time_s, &links->lines[k]);
    return links->lines != NULL && !links->room.out_of_memory;
}

double cv_rounds_links_bound(const struct cv_rounds *rounds, double lifespan_s,
                             struct cv_arena *scratch)
{
    struct links links;
    struct between b = { 0, lifespan_s, 0, 0 };

    if (!set_up(&links, rounds, scratch))
        return -1;
    if (links.kinds.n > CV_ROUNDS_BOUND_MOST)
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
    b.low_s = b.high_s * SAFE;
    b.low = most_by(&links, b.low_s);
    if (!(b.low < rounds->load)) {
        b.low_s = b.low = 0;
        narrow(&links, most_by, rounds->load, 1e-9, &b);
    }
    return b.low_s;
}
