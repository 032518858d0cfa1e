/* returns_exact_level.c -- some workers in two orders: solved, bounded, one more put in.
 * SPDX-License-Identifier: MIT
 *
 * The bound. For any value mu of a second on the port and any prices y >= 0 of the rows
 * with y A >= 1 - mu g, g being the time of a unit on the port, the work is at most
 * y d + mu (L - fixed costs on the port). The prices of the tight system, with the
 * negative ones put to zero, are such: A has no negative entries. With two ports mu = 0.
 *
 * For workers A in given orders and others still to come: what a schedule does with A
 * alone is a schedule of A, what it does with the others is one of theirs, so the bound
 * for A plus the most that the others could do alone bounds everything. */
#include "model/returns/returns_exact_internal.h"

#include <math.h>
#include <string.h>

/* --- candidates --------------------------------------------------------------------- */

/* As cv_exact_try_pair, with the workers of the level and no others. */
static void try_orders(struct cv_exact *exact, const struct cv_exact_level *level)
{
    uint32_t send[CV_EXACT_MOST], back[CV_EXACT_MOST];

    if (!exact->keep)
        return;
    for (uint32_t k = 0; k < level->m; k++) {
        send[k] = exact->worker[level->who[level->send[k]]];
        back[k] = exact->worker[level->who[level->back[k]]];
    }
    if (!cv_inverse_load(&exact->check, send, back, level->m) ||
        !(exact->check.score > exact->max))
        return;
    cv_inverse_copy(&exact->best, &exact->check);
    exact->max = exact->check.score * (1 + CV_EXACT_SAME);
    exact->improved = true;
}

static void put_in(struct cv_exact_level *level, uint32_t x, uint32_t s, uint32_t f)
{
    const uint32_t m = level->m;

    memmove(level->send + s + 1, level->send + s, m - s);
    memmove(level->back + f + 1, level->back + f, m - f);
    level->send[s] = level->back[f] = (uint8_t)m;
    level->who[m] = (uint8_t)x;
    level->m = m + 1;
}

/* Work of the schedules of these workers in these orders, with the port worth `by` more
 * than in the prices, at most. */
static double level_most(const struct cv_exact_level *level, double by)
{
    double max = level->worth - by * level->overload_s;

    for (uint32_t j = 0; j < level->m; j++) {
        const double price = level->price[j] - by * level->port[j];

        max += price < 0 ? -price * level->row_s[j] : 0;
    }
    return max;
}

void cv_exact_price_port(struct cv_exact_level *level, double value)
{
    const double by = value - level->port_value;

    for (uint32_t j = 0; by != 0 && j < level->m; j++)
        level->price[j] -= by * level->port[j];
    level->worth -= by * level->overload_s;
    level->port_value = value;
}

bool cv_exact_hopeful(const struct cv_exact *exact, struct cv_exact_level *level,
                      uint32_t x)
{
    double min = INFINITY, best = level->port_value;

    if (level->direct)
        return true;
    if (!exact->keep)
        return level_most(level, 0) + exact->later_most[exact->bounding][x] > exact->max;
    for (uint32_t v = 0; v < exact->nvalues; v++) {
        const double max = level_most(level, exact->values[v] - level->port_value) +
                           exact->later_most[v][x];

        if (max <= exact->max)
            return false;
        if (max < min) {
            min = max;
            best = exact->values[v];
        }
    }
    cv_exact_price_port(level, best);
    return true;
}

/* No share is below zero when slot k waits, up to what bordering may have spoilt. */
static bool shares_positive(const struct cv_exact_level *level, uint32_t k, double wait,
                            double noise)
{
    for (uint32_t i = 0; i < level->m; i++)
        if (level->tight[i] - wait * level->inverse[i][k] < -noise)
            return false;
    return true;
}

/* There may be a schedule with more work in these orders. */
static bool level_vertex(const struct cv_exact *exact, const struct cv_exact_level *level)
{
    const double mu = level->port_value, work = level->worth + mu * level->overload_s;
    const double more = work - exact->max + exact->noise;

    if (more > 0 &&
        (!exact->single || level->overload_s < CV_EXACT_FULL * exact->lifespan_s) &&
        shares_positive(level, 0, 0, exact->noise))
        return true;
    for (uint32_t k = 0; exact->single && k < level->m; k++) {
        const double price = level->price[k] + mu * level->port[k];
        const double wait = level->overload_s / level->port[k];

        if (wait > 0 && more > wait * price &&
            shares_positive(level, k, wait, exact->noise))
            return true;
    }
    return false;
}

void cv_exact_try_level(struct cv_exact *exact, const struct cv_exact_level *level)
{
    if (exact->keep && (level->direct || level_vertex(exact, level)))
        try_orders(exact, level);
    if (!exact->keep && !level->direct && level->worth > exact->max &&
        shares_positive(level, 0, 0, exact->noise))
        exact->max = level->worth;
}

/* --- one more worker ---------------------------------------------------------------- */

void cv_exact_sum(const struct cv_exact *exact, const struct cv_exact_level *level,
                  struct cv_exact_sums *sums)
{
    const uint32_t m = level->m;

    for (uint32_t j = 0; j < m; j++)
        sums->sent_later[m][j] = sums->back_sooner[0][j] = sums->row_sent[0][j] =
            sums->row_back[m][j] = 0;
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = level->send[k], f = level->back[k];
        const double send_s = exact->trips[level->who[i]].send_s;

        for (uint32_t j = 0; j < m; j++) {
            sums->row_sent[k + 1][j] =
                sums->row_sent[k][j] + send_s * level->inverse[i][j];
            sums->back_sooner[k + 1][j] = sums->back_sooner[k][j] + level->inverse[j][f];
        }
    }
    for (uint32_t k = m; k-- > 0;) {
        const uint32_t i = level->back[k], s = level->send[k];
        const double back_s = exact->trips[level->who[i]].back_s;

        for (uint32_t j = 0; j < m; j++) {
            sums->row_back[k][j] =
                sums->row_back[k + 1][j] + back_s * level->inverse[i][j];
            sums->sent_later[k][j] = sums->sent_later[k + 1][j] + level->inverse[j][s];
        }
    }
}

/* Rows, shares and prices of `to`, the level with x at s and f, from those of `from`. */
static void settle(const struct cv_exact *exact, const struct cv_exact_level *from,
                   const struct cv_exact_sums *sums, const struct cv_trip *trip,
                   uint32_t s, uint32_t f, double pivot, struct cv_exact_level *to)
{
    const uint32_t m = from->m;
    const double mu = from->port_value;
    const double fixed_s =
        trip->send_fixed_s + trip->compute_fixed_s + trip->back_fixed_s;
    double row_s = exact->lifespan_s - fixed_s, left, share;
    double port = trip->send_s + trip->back_s, price = 1 - mu * port;

    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = from->send[k], j = from->back[k];

        to->row_s[i] = from->row_s[i];
        port -= k >= s ? trip->send_s * from->port[i] : 0;
        port -= k < f ? trip->back_s * from->port[j] : 0;
        if (k < s)
            row_s -= exact->trips[from->who[i]].send_fixed_s;
        if (k >= f)
            row_s -= exact->trips[from->who[j]].back_fixed_s;
        price -= k >= s ? trip->send_s * from->price[i] : 0;
        price -= k < f ? trip->back_s * from->price[j] : 0;
    }
    for (uint32_t k = s; k < m; k++)
        to->row_s[from->send[k]] -= trip->send_fixed_s;
    for (uint32_t k = 0; k < f; k++)
        to->row_s[from->back[k]] -= trip->back_fixed_s;
    left = row_s;
    for (uint32_t j = 0; j < m; j++)
        left -= (sums->row_sent[s][j] + sums->row_back[f][j]) * to->row_s[j];
    share = left / pivot;
    to->port_value = mu;
    to->worth = mu * exact->lifespan_s;
    to->overload_s = -exact->lifespan_s;
    price /= pivot;
    port /= pivot;
    to->row_s[m] = row_s;
    to->port[m] = port;
    to->tight[m] = share;
    to->price[m] = price;
    for (uint32_t j = 0; j < m; j++) {
        const double row = sums->row_sent[s][j] + sums->row_back[f][j];

        to->tight[j] =
            from->tight[j] -
            (trip->send_fixed_s + share * trip->send_s) * sums->sent_later[s][j] -
            (trip->back_fixed_s + share * trip->back_s) * sums->back_sooner[f][j];
        to->price[j] = from->price[j] - price * row;
        to->port[j] = from->port[j] - port * row;
    }
    for (uint32_t j = 0; j <= m; j++) {
        const struct cv_trip *own = &exact->trips[to->who[j]];
        const double once_s = own->send_fixed_s + own->back_fixed_s;

        to->worth += to->price[j] * to->row_s[j] - mu * once_s;
        to->overload_s += to->port[j] * to->row_s[j] + once_s;
    }
}

void cv_exact_insert(const struct cv_exact *exact, const struct cv_exact_level *from,
                     const struct cv_exact_sums *sums, uint32_t x, uint32_t s, uint32_t f,
                     struct cv_exact_level *to)
{
    const uint32_t m = from->m;
    const struct cv_trip *trip = &exact->trips[x];
    const double diagonal = trip->send_s + trip->compute_s + trip->back_s;
    double row[CV_EXACT_MOST] = { 0 }, pivot = diagonal;

    to->m = m;
    to->direct = from->direct;
    memcpy(to->who, from->who, sizeof to->who);
    memcpy(to->send, from->send, sizeof to->send);
    memcpy(to->back, from->back, sizeof to->back);
    put_in(to, x, s, f);
    if (to->direct)
        return;
    for (uint32_t j = 0; j < m; j++)
        row[j] = sums->row_sent[s][j] + sums->row_back[f][j];
    for (uint32_t k = s; k < m; k++)
        pivot -= trip->send_s * row[from->send[k]];
    for (uint32_t k = 0; k < f; k++)
        pivot -= trip->back_s * row[from->back[k]];
    to->direct = !(pivot > CV_EXACT_PIVOT * diagonal);
    if (to->direct)
        return;
    for (uint32_t i = 0; i < m; i++) {
        const double column = (trip->send_s * sums->sent_later[s][i] +
                               trip->back_s * sums->back_sooner[f][i]) /
                              pivot;

        for (uint32_t j = 0; j < CV_EXACT_MOST; j++)
            to->inverse[i][j] = from->inverse[i][j] + column * row[j];
        to->inverse[i][m] = -column;
    }
    for (uint32_t j = 0; j < CV_EXACT_MOST; j++)
        to->inverse[m][j] = -row[j] / pivot;
    to->inverse[m][m] = 1 / pivot;
    settle(exact, from, sums, trip, s, f, pivot, to);
}

void cv_exact_try_pair(struct cv_exact *exact, const struct cv_exact_level *level,
                       uint32_t x, uint32_t s, uint32_t f)
{
    struct cv_exact_level with = *level;

    put_in(&with, x, s, f);
    try_orders(exact, &with);
}
