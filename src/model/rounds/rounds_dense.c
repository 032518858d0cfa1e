/* rounds_dense.c -- the closed form of two words with one unknown per worker.
 * SPDX-License-Identifier: MIT
 *
 * Times are linear in the sizes of the pivots: each time is a row of coefficients and a
 * constant. Z is the time from the arrival of a letter of the send word to the arrival of the
 * last letter, Y the time from the first return to the return of a letter of the return word.
 * A growing chunk fills the time between two Z of its worker, a shrinking chunk the time
 * between two Y. Each pivot has an equation: its arrival, its computation and all returns from
 * its own to the last take T. With P workers and K letters O(K P + P^3).
 *
 * If a single port is full, the equation of one worker, which waits, is replaced by the
 * equation of the port. */
#include <math.h>
#include <string.h>

#include "model/rounds/rounds_internal.h"

enum { NONE = UINT32_MAX };

/* Find the pivots of all workers in the words; false: too many workers. */
static bool find_pivots(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words, uint32_t *out_n)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < words->nsend; k++)
        room->workers[words->send[k]].index = NONE;
    for (uint32_t k = 0; k < words->nback; k++)
        room->workers[words->back[k]].index = NONE;
    for (uint32_t k = words->nsend; k-- > 0;) {
        const uint32_t w = words->send[k];

        room->chunks[k].pivot = room->workers[w].index == NONE;
        if (!room->chunks[k].pivot)
            continue;
        if (n == room->most_workers)
            return false;
        room->unknown[n] = w;
        room->workers[w].index = n++;
        room->workers[w].place = k;
        room->workers[w].back_place = NONE;
    }
    *out_n = n;
    return n > 0;
}

/* Two numbers at a time: rows have an even length and are padded with 0. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

static inline uint32_t even(uint32_t n)
{
    return (n + 1) & ~(uint32_t)1;
}

static inline pair *pairs(double *row, uint32_t j)
{
    return (pair *)(void *)(row + j);
}

static inline const pair *pairs_in(const double *row, uint32_t j)
{
    return (const pair *)(const void *)(row + j);
}

/* A chunk that is not a pivot: x = speed (from - to - fixed). The time after it is out = from
 * + x step_s. Adds the chunk to sum and port. */
static void put_chunk(struct cv_rounds_workspace *room, uint32_t w, const double *from,
                      const double *to, double step_s, uint32_t n, double *x, double *out)
{
    const struct cv_trip *c = &room->trips[w];
    const double port_s = c->send_s + c->back_s, speed = room->speed[w];
    const double fixed = speed * c->compute_fixed_s;

    for (uint32_t j = 0; j <= n; j += 2) {
        const pair size = speed * (*pairs_in(from, j) - *pairs_in(to, j));

        *pairs(x, j) = size;
        *pairs(out, j) = *pairs_in(from, j) + size * step_s;
        *pairs(room->sum, j) += size;
        *pairs(room->port, j) += size * port_s;
    }
    x[n] -= fixed;
    out[n] -= fixed * step_s;
    room->sum[n] -= fixed;
    room->port[n] += c->send_fixed_s + c->back_fixed_s - fixed * port_s;
}

/* Rows of z: row 0 is the begin of the send word, row k + 1 the arrival of letter k. */
static void go_back(struct cv_rounds_workspace *room, const struct cv_rounds_words *words,
                    uint32_t n)
{
    const uint32_t m = even(n + 1);

    memset(room->z + (size_t)words->nsend * m, 0, m * sizeof *room->z);
    for (uint32_t k = words->nsend; k-- > 0;) {
        const uint32_t w = words->send[k], i = room->workers[w].index;
        const struct cv_trip *c = &room->trips[w];
        const double *z = room->z + (size_t)(k + 1) * m;
        double *before = room->z + (size_t)k * m;

        if (room->chunks[k].pivot) {
            memcpy(before, z, m * sizeof *z);
            before[i] += c->send_s;
            room->sum[i] += 1;
            room->port[i] += c->send_s + c->back_s;
            room->port[n] += c->send_fixed_s + c->back_fixed_s;
        } else {
            put_chunk(room, w, z, room->z + (size_t)(room->workers[w].next + 1) * m,
                      c->send_s, n, room->xs + (size_t)k * m, before);
        }
        before[n] += c->send_fixed_s;
        room->workers[w].next = k;
    }
}

/* Rows of y: row k is the start of the return of letter k. False: the words do not have the same
 * workers. */
static bool go_on(struct cv_rounds_workspace *room, const struct cv_rounds_words *words,
                  uint32_t n)
{
    const uint32_t m = even(n + 1);
    uint32_t seen = 0;

    memset(room->y, 0, m * sizeof *room->y);
    room->nchunks = words->nsend;
    for (uint32_t k = 0; k < words->nback; k++) {
        const uint32_t w = words->back[k];
        const struct cv_trip *c = &room->trips[w];
        const double *y = room->y + (size_t)k * m;
        double *behind = room->y + (size_t)(k + 1) * m;

        if (room->workers[w].index == NONE)
            return false;
        if (room->workers[w].back_place == NONE) {
            room->workers[w].back_place = k;
            room->back_id[k] = room->workers[w].place;
            memcpy(behind, y, m * sizeof *y);
            behind[room->workers[w].index] += c->back_s;
            seen++;
        } else {
            put_chunk(room, w, y, room->y + (size_t)room->workers[w].next * m, c->back_s,
                      n, room->xr + (size_t)k * m, behind);
            room->chunks[room->nchunks].before = room->workers[w].next;
            room->back_id[k] = room->nchunks++;
        }
        behind[n] += c->back_fixed_s;
        room->workers[w].next = k;
    }
    return seen == n;
}

/* Equations: coefficients of the pivots and of T, right side; padded to an even length. */
static void set_rows(struct cv_rounds_workspace *room,
                     const struct cv_rounds_words *words, uint32_t n)
{
    const uint32_t m = even(n + 1), width = even(n + 2);
    const double *u = room->z, *v = room->y + (size_t)words->nback * m;
    double *last = room->matrix + (size_t)n * width;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = room->unknown[i];
        const double *z = room->z + (size_t)(room->workers[w].place + 1) * m;
        const double *y = room->y + (size_t)room->workers[w].back_place * m;
        double *row = room->matrix + (size_t)i * width;

        for (uint32_t j = 0; j <= n; j += 2)
            *pairs(row, j) =
                *pairs_in(u, j) - *pairs_in(z, j) + *pairs_in(v, j) - *pairs_in(y, j);
        row[n + 1] = -(row[n] + room->trips[w].compute_fixed_s);
        row[n] = -1;
        row[i] += room->trips[w].compute_s;
    }
    memcpy(last, room->sum, n * sizeof *last);
    last[n] = 0;
    last[n + 1] = room->rounds->load - room->sum[n];
}

/* The row of the largest number of column k, from row k. */
static uint32_t pivot_row(double *const *rows, uint32_t m, uint32_t k)
{
    double max = fabs(rows[k][k]);
    uint32_t best = k;

    for (uint32_t i = k + 1; i < m; i++)
        if (fabs(rows[i][k]) > max) {
            max = fabs(rows[i][k]);
            best = i;
        }
    return best;
}

/* Solve room->lu by elimination with row pivots, into room->solved. */
static bool solve(struct cv_rounds_workspace *room, uint32_t n)
{
    const uint32_t m = n + 1, width = even(n + 2);
    double *rows[CV_DENSE_MOST + 1], *x = room->solved;

    for (uint32_t i = 0; i < m; i++)
        rows[i] = room->lu + (size_t)i * width;
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t best = pivot_row(rows, m, k);
        double *const top = rows[best];
        double inverse;

        rows[best] = rows[k];
        rows[k] = top;
        if (!(fabs(top[k]) > 1e-300))
            return false;
        inverse = 1 / top[k];
        for (uint32_t i = k + 1; i < m; i++) {
            double *const row = rows[i];
            const double factor = row[k] * inverse;

            if (factor == 0)
                continue;
            for (uint32_t j = (k + 1) & ~(uint32_t)1; j < width; j += 2)
                *pairs(row, j) -= factor * *pairs_in(top, j);
        }
    }
    for (uint32_t k = m; k-- > 0;) {
        double value = rows[k][m];

        for (uint32_t j = k + 1; j < m; j++)
            value -= rows[k][j] * x[j];
        x[k] = value / rows[k][k];
    }
    return true;
}

/* The value of a row, whose constant is at n. */
static double at(const double *row, const double *x, uint32_t n)
{
    pair sum = { 0, 0 };
    double value = row[n];

    for (uint32_t j = 0; j + 1 < n; j += 2)
        sum += *pairs_in(row, j) * *pairs_in(x, j);
    if (n % 2 == 1)
        value += row[n - 1] * x[n - 1];
    return value + sum[0] + sum[1];
}

/* Sizes from the solution; false at the first negative size, unless `all`. */
static bool set_units(struct cv_rounds_workspace *room,
                      const struct cv_rounds_words *words, uint32_t n, bool all)
{
    const uint32_t m = even(n + 1);
    const double *x = room->solved;
    bool fits = true;

    for (uint32_t i = 0; i < n && fits; i++)
        fits = x[i] >= 0 || all;
    for (uint32_t k = 0; k < words->nsend && fits; k++) {
        room->now.units[k] = room->chunks[k].pivot
                                 ? x[room->workers[words->send[k]].index]
                                 : at(room->xs + (size_t)k * m, x, n);
        fits = room->now.units[k] >= 0 || all;
    }
    for (uint32_t k = 0; k < words->nback && fits; k++) {
        const uint32_t id = room->back_id[k];

        if (id < words->nsend)
            continue;
        room->now.units[id] = at(room->xr + (size_t)k * m, x, n);
        fits = room->now.units[id] >= 0 || all;
        room->chunks[id].need_s = at(room->y + (size_t)room->chunks[id].before * m, x, n);
    }
    return fits;
}

static bool prepare(struct cv_rounds_workspace *room, const struct cv_rounds_words *words,
                    uint32_t *out_n)
{
    if (!find_pivots(room, words, out_n))
        return false;
    memset(room->sum, 0, even(*out_n + 1) * sizeof *room->sum);
    memset(room->port, 0, even(*out_n + 1) * sizeof *room->port);
    go_back(room, words, *out_n);
    if (!go_on(room, words, *out_n))
        return false;
    set_rows(room, words, *out_n);
    return true;
}

/* Solve with the equation of worker `waits` replaced by the equation of the port; NONE:
 * unchanged. */
static bool solve_variant(struct cv_rounds_workspace *room, uint32_t n, uint32_t waits)
{
    const uint32_t width = even(n + 2);

    memcpy(room->lu, room->matrix, (size_t)(n + 1) * width * sizeof *room->lu);
    if (waits != NONE) {
        double *row = room->lu + (size_t)waits * width;

        memcpy(row, room->port, n * sizeof *row);
        row[n] = -1;
        row[n + 1] = -room->port[n];
    }
    return solve(room, n);
}

static void keep_variant(struct cv_rounds_workspace *room, uint32_t n)
{
    cv_rounds_keep(room);
    room->closed_s = room->solved[n];
    room->port_s = at(room->port, room->solved, n);
}

/* Solve without a waiting worker; sizes may be negative. False: there is no solution. */
static bool solve_tight(struct cv_rounds_workspace *room,
                        const struct cv_rounds_words *words, double *out_s)
{
    uint32_t n;

    if (!prepare(room, words, &n) || !solve_variant(room, n, NONE))
        return false;
    (void)set_units(room, words, n, true);
    *out_s = cv_rounds_orders(room, words);
    keep_variant(room, n);
    return true;
}

double cv_rounds_dense(struct cv_rounds_workspace *room,
                       const struct cv_rounds_words *words)
{
    uint32_t n, waiting[CV_WAITING_MOST] = { 0 }, count = 0;
    double best_s = INFINITY;

    if (!prepare(room, words, &n))
        return INFINITY;
    room->steps += (words->nsend + words->nback) * (1 + 0.1 * n);
    for (uint32_t v = 0; v <= count; v++) {
        const uint32_t waits = v == 0 ? NONE : waiting[v - 1];
        double end_s;

        room->steps += 0.04 * n * n * n + words->nsend + words->nback;
        if (!solve_variant(room, n, waits))
            continue;
        if (v == 0 && room->rounds->returns.single && n > 1 && room->solved[n] > 0 &&
            at(room->port, room->solved, n) > room->solved[n] * (1 + 1e-12))
            count = cv_rounds_slowest(room, room->unknown, n, waiting);
        /* The equation of a pivot is a path through the schedule: T is a lower bound. */
        if (room->solved[n] >= room->limit_s)
            end_s = room->solved[n];
        else if (set_units(room, words, n, false))
            end_s = cv_rounds_orders(room, words);
        else
            continue;
        if (end_s < best_s) {
            best_s = end_s;
            keep_variant(room, n);
        }
    }
    return best_s;
}

enum cleave_status cv_rounds_evaluate(const struct cv_rounds *rounds,
                                      const struct cv_rounds_words *words, bool tight,
                                      struct cv_arena *arena, struct cv_closed_form *out,
                                      struct cleave_error *err)
{
    const uint32_t max = words->nsend > words->nback ? words->nsend : words->nback;
    struct cv_rounds_workspace *room = cv_array(arena, 1, sizeof *room);
    struct cv_closed_form form = { .makespan_s = INFINITY };

    if (room == NULL || !cv_rounds_room_init(room, rounds, max, true, arena))
        return cv_fail_memory(err, "the closed form");
    if (!tight)
        form.makespan_s = cv_rounds_dense(room, words);
    if (tight ? !solve_tight(room, words, &form.makespan_s) : isinf(form.makespan_s))
        return cv_fail(err, CLEAVE_EINPUT, "these words tell no sizes");
    if (!CV_NEW(arena, form.worker, room->nchunks))
        return cv_fail_memory(err, "the closed form");
    form.nonnegative = true;
    for (uint32_t k = 0; k < room->nchunks; k++) {
        form.nonnegative = form.nonnegative && room->best.units[k] >= 0;
        form.worker[k] = room->chunks[k].worker;
    }
    form.nchunks = room->nchunks;
    form.units = room->best.units;
    form.send_order = room->best.send;
    form.back_order = room->best.back;
    form.closed_s = room->closed_s;
    form.port_s = room->port_s;
    *out = form;
    return CLEAVE_OK;
}
