/* returns_inverse_score.c -- what a pair of orders is worth.
 * SPDX-License-Identifier: MIT
 *
 * On a single port that the tight solution overfills by o seconds one worker k waits z:
 * its row is let go and the port's takes its place. From w = B (d - z e_k), B being the
 * inverse, follows z = o / (g B)_k, g being the time of a unit on the port, and the work
 * lost is z times the price of row k. The least loss per second, over k, is what the port
 * is worth. */
#include "model/returns/returns_inverse.h"

#include <math.h>
#include <string.h>

/* A row that misses the lifespan by more than this part of it calls for a new inverse. */
static const double row_noise = 1e-11;
/* So close to its end a port counts as full. */
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
 * the differences go to `rest`. */
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

void cv_inverse_multiply(const struct cv_inverse *inverse, const double *right, bool add,
                         double *out)
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

/* The units when the worker in slot k waits just as long as the port needs. */
static void wait_units(const struct cv_inverse *inverse, uint32_t k, double wait,
                       double *units)
{
    for (uint32_t i = 0; i < inverse->m; i++)
        units[i] =
            inverse->tight[i] - wait * inverse->inverse[(size_t)i * inverse->n + k];
}

/* The best schedule in which one worker waits and the port is full, if that is better. A
 * worker may wait to fill a port that has room as well: when its row has a price below
 * zero. */
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
    /* An overload within the noise is none: a worker alone between its two messages. */
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

bool cv_inverse_settle(struct cv_inverse *inverse)
{
    double error;

    set_rows(inverse);
    cv_inverse_multiply(inverse, inverse->row_s, false, inverse->tight);
    error = row_errors(inverse, inverse->tight, inverse->row_s, inverse->work_area);
    if (error > row_noise) {
        cv_inverse_multiply(inverse, inverse->work_area, true, inverse->tight);
        error = row_errors(inverse, inverse->tight, inverse->row_s, inverse->work_area);
    }
    set_prices(inverse);
    set_score(inverse);
    return error <= row_noise;
}

bool cv_inverse_refine(const struct cv_inverse *inverse, const double *right,
                       double *solution, double *rest)
{
    double error = INFINITY;

    cv_inverse_multiply(inverse, right, false, solution);
    for (unsigned turn = 0; turn < 3; turn++) {
        error = row_errors(inverse, solution, right, rest);
        cv_inverse_multiply(inverse, rest, true, solution);
    }
    return error <= row_noise;
}
