/* returns_inverse.c -- the tight system of a pair of orders, kept solved.
 * SPDX-License-Identifier: MIT
 *
 * Let B be the inverse for some workers, and let x join with column u (cost of a unit
 * for x in the other rows), row v (cost of the other units in its row) and diagonal q.
 * With k = q - v B u the new inverse has the blocks
 *
 *     B + (B u)(v B)/k   -(B u)/k
 *        -(v B)/k           1/k
 *
 * and removing x is the reverse. */
#include "model/returns/returns_inverse.h"

#include <math.h>
#include <string.h>
#include "base/fail.h"
#include "model/returns/returns_internal.h"

/* On a single port that the tight solution overfills by o seconds one worker k waits
 * z: the port's row replaces its row. From w = B (d - z e_k) follows z = o / (g B)_k,
 * g being the port time of a unit, and the work lost is z times the price of row k.
 * The least loss per second, over k, is the worth of the port. */

/* A row error above this part of the lifespan requires a new inverse. */
static const double row_noise = 1e-11;
/* A port this close to its end counts as full. */
static const double full = 1e-14;

static void set_rows(struct cv_inverse *inverse)
{
    double before = 0, after = 0;

    for (uint32_t k = 0; k < inverse->m; k++) {
        const struct cv_trip *trip = cv_inverse_trip(inverse, inverse->send[k]);

        before += trip->send_fixed_s;
        inverse->row_s[inverse->send[k]] =
            inverse->lifespan_s - trip->compute_fixed_s - before;
    }
    for (uint32_t k = inverse->m; k-- > 0;) {
        after += cv_inverse_trip(inverse, inverse->back[k])->back_fixed_s;
        inverse->row_s[inverse->back[k]] -= after;
    }
}

/* The largest part of the lifespan by which rows with these units differ from `right`;
 * `rest` gets the differences. */
static double row_errors(const struct cv_inverse *inverse, const double *units,
                         const double *right, double *rest)
{
    double worst = 0, sum = 0;

    for (uint32_t k = 0; k < inverse->m; k++) {
        const uint32_t i = inverse->send[k];
        const struct cv_trip *trip = cv_inverse_trip(inverse, i);

        sum += trip->send_s * units[i];
        rest[i] = right[i] - sum - trip->compute_s * units[i];
    }
    sum = 0;
    for (uint32_t k = inverse->m; k-- > 0;) {
        const uint32_t i = inverse->back[k];

        sum += cv_inverse_trip(inverse, i)->back_s * units[i];
        rest[i] -= sum;
        worst = fabs(rest[i]) > worst ? fabs(rest[i]) : worst;
        if (isnan(rest[i]))
            return INFINITY;
    }
    return worst / inverse->lifespan_s;
}

/* out = inverse times right, or out += it. */
static void inverse_multiply(const struct cv_inverse *inverse, const double *right,
                             bool add, double *out)
{
    for (uint32_t i = 0; i < inverse->m; i++) {
        const double *row = inverse->inverse + (size_t)i * inverse->n;
        double sum = 0;

        for (uint32_t j = 0; j < inverse->m; j++)
            sum += row[j] * right[j];
        out[i] = add ? out[i] + sum : sum;
    }
}

static void set_prices(struct cv_inverse *inverse)
{
    const uint32_t m = inverse->m;
    const bool single = inverse->returns->single;

    for (uint32_t j = 0; j < m; j++)
        inverse->price[j] = inverse->port_price[j] = 0;
    for (uint32_t i = 0; i < m; i++) {
        const double *row = inverse->inverse + (size_t)i * inverse->n;
        const double port =
            cv_inverse_trip(inverse, i)->send_s + cv_inverse_trip(inverse, i)->back_s;

        for (uint32_t j = 0; j < m; j++)
            inverse->price[j] += row[j];
        for (uint32_t j = 0; single && j < m; j++)
            inverse->port_price[j] += port * row[j];
    }
}

static bool nonnegative(const struct cv_inverse *inverse, const double *units)
{
    const double min = -CV_SHARE_NOISE * fabs(inverse->tight_work);

    for (uint32_t i = 0; i < inverse->m; i++)
        if (!(units[i] >= min))
            return false;
    return true;
}

/* The units when the worker in slot k waits as long as the port needs. */
static void wait_units(const struct cv_inverse *inverse, uint32_t k, double wait,
                       double *units)
{
    for (uint32_t i = 0; i < inverse->m; i++)
        units[i] =
            inverse->tight[i] - wait * inverse->inverse[(size_t)i * inverse->n + k];
}

/* The best schedule in which one worker waits and the port is full, if that is better.
 * A worker may also wait to fill a port that has room: if its row has a negative
 * price. */
static void fill_port(struct cv_inverse *inverse)
{
    for (uint32_t k = 0; k < inverse->m; k++) {
        const double wait = inverse->overload_s / inverse->port_price[k];
        const double work = inverse->tight_work - wait * inverse->price[k];

        if (!(wait > 0) || !(work > inverse->score))
            continue;
        wait_units(inverse, k, wait, inverse->work_area);
        if (!nonnegative(inverse, inverse->work_area))
            continue;
        inverse->score = work;
        inverse->waits = (int32_t)k;
        inverse->port_value = inverse->price[k] / inverse->port_price[k];
        memcpy(inverse->units, inverse->work_area, inverse->m * sizeof(double));
    }
}

static void set_score(struct cv_inverse *inverse)
{
    inverse->tight_work = 0;
    inverse->overload_s = -inverse->lifespan_s;
    for (uint32_t i = 0; i < inverse->m; i++) {
        const struct cv_trip *trip = cv_inverse_trip(inverse, i);

        inverse->tight_work += inverse->tight[i];
        inverse->overload_s += (trip->send_s + trip->back_s) * inverse->tight[i] +
                               trip->send_fixed_s + trip->back_fixed_s;
    }
    inverse->waits = CV_NOBODY;
    inverse->port_value = 0;
    inverse->score = -1;
    /* A worker alone has an overload within the noise. */
    if ((!inverse->returns->single ||
         inverse->overload_s <= full * inverse->lifespan_s) &&
        nonnegative(inverse, inverse->tight)) {
        memcpy(inverse->units, inverse->tight, inverse->m * sizeof(double));
        inverse->score = fmax(inverse->tight_work, 0);
    }
    if (inverse->returns->single &&
        fabs(inverse->overload_s) > full * inverse->lifespan_s)
        fill_port(inverse);
}

/* Set the scores. False when the inverse is not accurate enough. */
static bool inverse_settle(struct cv_inverse *inverse)
{
    double error;

    set_rows(inverse);
    inverse_multiply(inverse, inverse->row_s, false, inverse->tight);
    error = row_errors(inverse, inverse->tight, inverse->row_s, inverse->work_area);
    if (error > row_noise) {
        inverse_multiply(inverse, inverse->work_area, true, inverse->tight);
        error = row_errors(inverse, inverse->tight, inverse->row_s, inverse->work_area);
    }
    set_prices(inverse);
    set_score(inverse);
    return error <= row_noise;
}

/* solution = inverse times right, refined three times; `rest` holds m. True when the rows
 * hold. */
static bool inverse_refine(const struct cv_inverse *inverse, const double *right,
                           double *solution, double *rest)
{
    double error = INFINITY;

    inverse_multiply(inverse, right, false, solution);
    for (unsigned turn = 0; turn < 3; turn++) {
        error = row_errors(inverse, solution, right, rest);
        inverse_multiply(inverse, rest, true, solution);
    }
    return error <= row_noise;
}

/* Smaller pivots, as a part of their diagonal, are noise. */
static const double least_pivot = 1e-11;

bool cv_inverse_init(struct cv_inverse *inverse, const struct cv_returns *returns,
                     double lifespan_s, struct cv_arena *arena)
{
    const uint32_t n = returns->n;

    *inverse =
        (struct cv_inverse){ .returns = returns, .lifespan_s = lifespan_s, .n = n };
    if (!CV_NEW(arena, inverse->row_s, n) || !CV_NEW(arena, inverse->tight, n) ||
        !CV_NEW(arena, inverse->price, n) || !CV_NEW(arena, inverse->port_price, n) ||
        !CV_NEW(arena, inverse->units, n) ||
        !CV_NEW(arena, inverse->work_area, 2 * (size_t)n) ||
        !CV_NEW(arena, inverse->inverse, (size_t)n * n) ||
        !CV_NEW(arena, inverse->who, n) || !CV_NEW(arena, inverse->slot, n) ||
        !CV_NEW(arena, inverse->send, n) || !CV_NEW(arena, inverse->back, n))
        return false;
    cv_inverse_clear(inverse);
    return true;
}

void cv_inverse_clear(struct cv_inverse *inverse)
{
    inverse->m = 0;
    inverse->tight_work = inverse->score = inverse->port_value = 0;
    inverse->overload_s = -inverse->lifespan_s;
    inverse->waits = CV_NOBODY;
    for (uint32_t x = 0; x < inverse->n; x++)
        inverse->slot[x] = CV_NOBODY;
}

void cv_inverse_copy(struct cv_inverse *to, const struct cv_inverse *from)
{
    const uint32_t n = from->n, m = from->m;
    const size_t vector = m * sizeof(double), order = m * sizeof(uint32_t);

    to->m = m;
    memcpy(to->who, from->who, order);
    memcpy(to->send, from->send, order);
    memcpy(to->back, from->back, order);
    memcpy(to->slot, from->slot, n * sizeof *to->slot);
    for (uint32_t i = 0; i < m; i++)
        memcpy(to->inverse + (size_t)i * n, from->inverse + (size_t)i * n, vector);
    memcpy(to->row_s, from->row_s, vector);
    memcpy(to->tight, from->tight, vector);
    memcpy(to->price, from->price, vector);
    memcpy(to->port_price, from->port_price, vector);
    memcpy(to->units, from->units, vector);
    to->tight_work = from->tight_work;
    to->overload_s = from->overload_s;
    to->score = from->score;
    to->port_value = from->port_value;
    to->waits = from->waits;
}

/* The matrix A, in the place of the inverse. */
static void set_matrix(struct cv_inverse *inverse)
{
    const uint32_t n = inverse->n, m = inverse->m;
    double *matrix = inverse->inverse;

    for (uint32_t i = 0; i < m; i++) {
        memset(matrix + (size_t)i * n, 0, m * sizeof(double));
        matrix[(size_t)i * n + i] = cv_inverse_trip(inverse, i)->compute_s;
    }
    for (uint32_t k = 0; k < m; k++)
        for (uint32_t l = k; l < m; l++) {
            const uint32_t j = inverse->send[k], i = inverse->send[l];
            const uint32_t later = inverse->back[l], sooner = inverse->back[k];

            matrix[(size_t)i * n + j] += cv_inverse_trip(inverse, j)->send_s;
            matrix[(size_t)sooner * n + later] += cv_inverse_trip(inverse, later)->back_s;
        }
}

static void swap_rows(double *matrix, uint32_t n, uint32_t m, uint32_t a, uint32_t b)
{
    for (uint32_t j = 0; a != b && j < m; j++) {
        const double keep = matrix[(size_t)a * n + j];

        matrix[(size_t)a * n + j] = matrix[(size_t)b * n + j];
        matrix[(size_t)b * n + j] = keep;
    }
}

static void swap_columns(double *matrix, uint32_t n, uint32_t m, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; a != b && i < m; i++) {
        const double keep = matrix[(size_t)i * n + a];

        matrix[(size_t)i * n + a] = matrix[(size_t)i * n + b];
        matrix[(size_t)i * n + b] = keep;
    }
}

static void eliminate(double *matrix, uint32_t n, uint32_t m, uint32_t c)
{
    double *pivot = matrix + (size_t)c * n;
    const double one = 1 / pivot[c];

    pivot[c] = 1;
    for (uint32_t j = 0; j < m; j++)
        pivot[j] *= one;
    for (uint32_t i = 0; i < m; i++) {
        double *row = matrix + (size_t)i * n;
        const double factor = row[c];

        if (i == c || factor == 0)
            continue;
        row[c] = 0;
        for (uint32_t j = 0; j < m; j++)
            row[j] -= factor * pivot[j];
    }
}

/* Gauss-Jordan in place, with row pivots; `swaps` holds m places. */
static bool invert(double *matrix, uint32_t n, uint32_t m, double *swaps)
{
    for (uint32_t c = 0; c < m; c++) {
        uint32_t best = c;

        for (uint32_t i = c + 1; i < m; i++)
            if (fabs(matrix[(size_t)i * n + c]) > fabs(matrix[(size_t)best * n + c]))
                best = i;
        if (!(fabs(matrix[(size_t)best * n + c]) > 0))
            return false;
        swap_rows(matrix, n, m, c, best);
        swaps[c] = best;
        eliminate(matrix, n, m, c);
    }
    for (uint32_t c = m; c-- > 0;)
        swap_columns(matrix, n, m, c, (uint32_t)swaps[c]);
    return true;
}

bool cv_inverse_renew(struct cv_inverse *inverse)
{
    set_matrix(inverse);
    if (!invert(inverse->inverse, inverse->n, inverse->m, inverse->work_area) ||
        !inverse_settle(inverse)) {
        inverse->score = -1;
        return false;
    }
    return true;
}

bool cv_inverse_load(struct cv_inverse *inverse, const uint32_t *send,
                     const uint32_t *back, uint32_t m)
{
    cv_inverse_clear(inverse);
    inverse->m = m;
    for (uint32_t k = 0; k < m; k++) {
        inverse->who[k] = send[k];
        inverse->slot[send[k]] = (int32_t)k;
        inverse->send[k] = k;
    }
    for (uint32_t k = 0; k < m; k++)
        inverse->back[k] = (uint32_t)inverse->slot[back[k]];
    return cv_inverse_renew(inverse);
}

/* The order without one slot; the last slot takes its number. */
static void drop_slot(const uint32_t *from, uint32_t m, uint32_t slot, uint32_t *to)
{
    uint32_t at = 0;

    for (uint32_t k = 0; k < m; k++)
        if (from[k] != slot)
            to[at++] = from[k] == m - 1 ? slot : from[k];
}

bool cv_inverse_without(const struct cv_inverse *from, uint32_t slot,
                        struct cv_inverse *to)
{
    const uint32_t n = from->n, m = from->m, last = m - 1;
    const double *gone = from->inverse + (size_t)slot * n;

    drop_slot(from->send, m, slot, to->send);
    drop_slot(from->back, m, slot, to->back);
    memcpy(to->who, from->who, last * sizeof *to->who);
    memcpy(to->slot, from->slot, n * sizeof *to->slot);
    to->slot[from->who[last]] = (int32_t)slot;
    to->slot[from->who[slot]] = CV_NOBODY;
    if (slot != last)
        to->who[slot] = from->who[last];
    to->m = last;
    if (!(fabs(gone[slot]) > 0))
        return cv_inverse_renew(to);
    for (uint32_t i = 0; i < last; i++) {
        const double *row = from->inverse + (size_t)(i == slot ? last : i) * n;
        const double factor = row[slot] / gone[slot];
        double *out = to->inverse + (size_t)i * n;

        for (uint32_t j = 0; j < last; j++)
            out[j] = row[j] - factor * gone[j];
        if (slot != last)
            out[slot] = row[last] - factor * gone[last];
    }
    return inverse_settle(to) || cv_inverse_renew(to);
}

static void put_slot(uint32_t *order, uint32_t m, uint32_t at)
{
    memmove(order + at + 1, order + at, (m - at) * sizeof *order);
    order[at] = m;
}

/* Border the inverse by slot m, not yet in the orders. False when the pivot is noise. */
static bool border(struct cv_inverse *inverse, const struct cv_trip *trip, uint32_t s,
                   uint32_t f)
{
    const uint32_t n = inverse->n, m = inverse->m;
    const double diagonal = trip->send_s + trip->compute_s + trip->back_s;
    double *column = inverse->work_area, *row = inverse->work_area + n;
    double *solved = inverse->tight, *prices = inverse->price, pivot = diagonal;

    memset(column, 0, m * sizeof *column);
    memset(row, 0, m * sizeof *row);
    memset(prices, 0, m * sizeof *prices);
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = inverse->send[k], j = inverse->back[k];

        column[i] += k >= s ? trip->send_s : 0;
        column[j] += k < f ? trip->back_s : 0;
        row[i] += k < s ? cv_inverse_trip(inverse, i)->send_s : 0;
        row[j] += k >= f ? cv_inverse_trip(inverse, j)->back_s : 0;
    }
    inverse_multiply(inverse, column, false, solved);
    for (uint32_t i = 0; i < m; i++) {
        const double *line = inverse->inverse + (size_t)i * n;

        pivot -= row[i] * solved[i];
        for (uint32_t j = 0; row[i] != 0 && j < m; j++)
            prices[j] += row[i] * line[j];
    }
    if (!(fabs(pivot) > least_pivot * diagonal))
        return false;
    for (uint32_t i = 0; i < m; i++) {
        double *line = inverse->inverse + (size_t)i * n;
        const double factor = solved[i] / pivot;

        for (uint32_t j = 0; j < m; j++)
            line[j] += factor * prices[j];
        line[m] = -factor;
        inverse->inverse[(size_t)m * n + i] = -prices[i] / pivot;
    }
    inverse->inverse[(size_t)m * n + m] = 1 / pivot;
    return true;
}

bool cv_inverse_insert(struct cv_inverse *inverse, uint32_t x, uint32_t s, uint32_t f)
{
    const uint32_t m = inverse->m;
    const bool bordered = border(inverse, &inverse->returns->trips[x], s, f);

    put_slot(inverse->send, m, s);
    put_slot(inverse->back, m, f);
    inverse->who[m] = x;
    inverse->slot[x] = (int32_t)m;
    inverse->m = m + 1;
    return (bordered && inverse_settle(inverse)) || cv_inverse_renew(inverse);
}

bool cv_inverse_polish(struct cv_inverse *inverse)
{
    double *rest = inverse->work_area, *one = inverse->price,
           *answer = inverse->port_price;
    double port = 0, wait;
    bool good;

    if (!cv_inverse_renew(inverse) || inverse->score < 0)
        return false;
    good = inverse_refine(inverse, inverse->row_s, inverse->tight, rest);
    if (inverse->waits != CV_NOBODY) {
        memset(one, 0, inverse->m * sizeof *one);
        one[inverse->waits] = 1;
        inverse_refine(inverse, one, answer, rest);
        inverse->overload_s = -inverse->lifespan_s;
        for (uint32_t i = 0; i < inverse->m; i++) {
            const struct cv_trip *trip = cv_inverse_trip(inverse, i);

            port += (trip->send_s + trip->back_s) * answer[i];
            inverse->overload_s += (trip->send_s + trip->back_s) * inverse->tight[i] +
                                   trip->send_fixed_s + trip->back_fixed_s;
        }
        wait = inverse->overload_s / port;
        for (uint32_t i = 0; i < inverse->m; i++)
            inverse->tight[i] -= wait * answer[i];
    }
    inverse->score = 0;
    for (uint32_t i = 0; i < inverse->m; i++) {
        inverse->units[i] = fmax(inverse->tight[i], 0);
        inverse->score += inverse->units[i];
    }
    return good;
}

enum cleave_status cv_inverse_result(const struct cv_inverse *inverse,
                                     struct cv_arena *arena, struct cv_round_trip *out,
                                     struct cleave_error *err)
{
    const uint32_t m = inverse->m;
    uint32_t *send, *back;
    double *units;

    if (!CV_NEW(arena, send, m) || !CV_NEW(arena, back, m) ||
        !CV_NEW(arena, units, inverse->n))
        return cv_fail_memory(err, "schedule");
    for (uint32_t k = 0; k < m; k++) {
        send[k] = inverse->who[inverse->send[k]];
        back[k] = inverse->who[inverse->back[k]];
        units[inverse->who[k]] = inverse->units[k];
    }
    return cv_returns_make(inverse->returns, send, back, m, units, inverse->lifespan_s,
                           false, arena, out, err);
}
