/* returns_exact.c -- the best of all sets of workers and all pairs of orders.
 * SPDX-License-Identifier: MIT
 *
 * With two ports a best schedule is a vertex of the linear program of its workers and orders,
 * so all its rows are tight: the optimum is the largest work of a tight solution without
 * negative shares. With a single port all rows are tight, or all but one and the port is full.
 * So all sets and orders are enumerated. Workers are inserted one after the other, each at
 * every pair of places or not at all; the inverse of the tight system is bordered, and all
 * pairs of places of the last worker are priced at once: about (n - 1)!^2 small steps. A bound
 * cuts off branches that cannot beat the schedule of the search, on a single port for
 * several values of the port near its value in that schedule.
 *
 * Equal workers are inserted in one order only. Work is compared to about 1e-9 of it. If a pivot
 * is too small to trust (only if return and send costs have unequal ratios, or nodes are a
 * million times faster than links), the orders below it are solved one by one. */
#include <math.h>
#include <string.h>
#include "base/fail.h"
#include "model/returns/returns_bounds.h"
#include "model/returns/returns_internal.h"
#include "model/returns/returns_inverse.h"
#include "model/returns/returns_search.h"

enum { MOST = CV_EXACT_MOST, VALUES = 12 };
static const double trusted_pivot = 1e-7; /* part of its diagonal                   */
static const double full_port = 1e-9;     /* most overload of a full port, a part   */
static const double same_work = 1e-11;    /* work that differs by less is equal     */

/* Some workers in two orders, solved. Prices are for work - mu * port. */
struct level {
    uint32_t m;
    bool direct; /* without inverse: pivots were too small */
    uint8_t who[MOST], send[MOST], back[MOST];
    double inverse[MOST][MOST];
    double row_s[MOST], tight[MOST], price[MOST];
    double port[MOST]; /* port time of a second more in a row */
    double port_value; /* mu                                           */
    double worth;      /* work - mu * overload of tight                */
    double overload_s;
};

/* Running sums over the inverse, see returns_search.c. */
struct sums {
    double sent_later[MOST + 1][MOST];  /* [s][i] */
    double back_sooner[MOST + 1][MOST]; /* [f][i] */
    double row_sent[MOST + 1][MOST];    /* [s][j] */
    double row_back[MOST + 1][MOST];    /* [f][j] */
};

/* The search. */
struct exact {
    const struct cv_returns *returns;
    double lifespan_s;
    double values[VALUES]; /* values of the port, for bounds */
    uint32_t nvalues, n;
    struct cv_trip trips[MOST]; /* in the order in which workers come in */
    uint32_t worker[MOST];      /* numbers */
    bool twin[MOST];            /* equal to the one before               */
    /* Work - mu * (time on the port) that those from here on can reach alone. */
    double later_most[VALUES][MOST + 1];
    double max;        /* work to exceed                          */
    double noise;      /* shares this far below zero are looked at closely */
    bool keep;         /* schedules, not only the most that can be reached */
    uint32_t bounding; /* if not keep: the value that is worked for        */
    bool single;       /* a single port                                    */
    bool port_full;    /* that is full                                     */
    bool trusted;      /* no pivot was too small                           */
    bool improved;     /* best holds a schedule                            */
    bool stopped;      /* the budget ended: nothing is proved               */
    struct cv_inverse check, best;
};

/* --- some workers in two orders: solved, bounded, one more put in ------------------ */

/* The bound. For any value mu of a second on the port and any prices y >= 0 of the rows with
 * y A >= 1 - mu g, g being the port time of a unit, the work is at most
 * y d + mu (L - fixed costs on the port). The prices of the tight system with the negative
 * ones set to zero qualify, since A has no negative entries. With two ports mu = 0.
 *
 * With workers A in given orders and others still to insert, a schedule consists of a
 * schedule of A and a schedule of the workers still to insert: the bound for A plus the
 * most that the latter could do alone bounds both. */

/* Solve the orders of a level from scratch and keep the schedule if it is better. */
static void try_orders(struct exact *exact, const struct level *level)
{
    uint32_t send[MOST], back[MOST];

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
    exact->max = exact->check.score * (1 + same_work);
    exact->improved = true;
}

static void put_in(struct level *level, uint32_t x, uint32_t s, uint32_t f)
{
    const uint32_t m = level->m;

    memmove(level->send + s + 1, level->send + s, m - s);
    memmove(level->back + f + 1, level->back + f, m - f);
    level->send[s] = level->back[f] = (uint8_t)m;
    level->who[m] = (uint8_t)x;
    level->m = m + 1;
}

/* A bound of the work in these orders, with the port worth `by` more than in the prices. */
static double level_most(const struct level *level, double by)
{
    double max = level->worth - by * level->overload_s;

    for (uint32_t j = 0; j < level->m; j++) {
        const double price = level->price[j] - by * level->port[j];

        max += price < 0 ? -price * level->row_s[j] : 0;
    }
    return max;
}

static void price_port(struct level *level, double value)
{
    const double by = value - level->port_value;

    for (uint32_t j = 0; by != 0 && j < level->m; j++)
        level->price[j] -= by * level->port[j];
    level->worth -= by * level->overload_s;
    level->port_value = value;
}

/* Whether inserting the workers from x may improve the best. Sets the prices for the value
 * of the port with the least bound. */
static bool is_hopeful(const struct exact *exact, struct level *level, uint32_t x)
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
    price_port(level, best);
    return true;
}

/* Whether no share is negative when slot k waits, up to the noise of bordering. */
static bool shares_positive(const struct level *level, uint32_t k, double wait,
                            double noise)
{
    for (uint32_t i = 0; i < level->m; i++)
        if (level->tight[i] - wait * level->inverse[i][k] < -noise)
            return false;
    return true;
}

/* Whether a schedule of these orders may improve the best. */
static bool level_vertex(const struct exact *exact, const struct level *level)
{
    const double mu = level->port_value, work = level->worth + mu * level->overload_s;
    const double more = work - exact->max + exact->noise;

    if (more > 0 &&
        (!exact->single || level->overload_s < full_port * exact->lifespan_s) &&
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

static void try_level(struct exact *exact, const struct level *level)
{
    if (exact->keep && (level->direct || level_vertex(exact, level)))
        try_orders(exact, level);
    if (!exact->keep && !level->direct && level->worth > exact->max &&
        shares_positive(level, 0, 0, exact->noise))
        exact->max = level->worth;
}

static void sum_rows(const struct exact *exact, const struct level *level,
                     struct sums *sums)
{
    const uint32_t m = level->m;

    for (uint32_t j = 0; j < MOST; j++)
        sums->row_sent[0][j] = sums->row_back[m][j] = 0;
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = level->send[k];
        const double send_s = exact->trips[level->who[i]].send_s;

        for (uint32_t j = 0; j < MOST; j++)
            sums->row_sent[k + 1][j] =
                sums->row_sent[k][j] + send_s * level->inverse[i][j];
    }
    for (uint32_t k = m; k-- > 0;) {
        const uint32_t i = level->back[k];
        const double back_s = exact->trips[level->who[i]].back_s;

        for (uint32_t j = 0; j < MOST; j++)
            sums->row_back[k][j] =
                sums->row_back[k + 1][j] + back_s * level->inverse[i][j];
    }
}

static void sum_columns(const struct level *level, struct sums *sums)
{
    const uint32_t m = level->m;

    for (uint32_t i = 0; i < m; i++) {
        sums->sent_later[m][i] = sums->back_sooner[0][i] = 0;
        for (uint32_t k = 0; k < m; k++)
            sums->back_sooner[k + 1][i] =
                sums->back_sooner[k][i] + level->inverse[i][level->back[k]];
        for (uint32_t k = m; k-- > 0;)
            sums->sent_later[k][i] =
                sums->sent_later[k + 1][i] + level->inverse[i][level->send[k]];
    }
}

/* Rows, shares and prices of `to`, the level with x at s and f, computed from `from`. */
static void settle(const struct exact *exact, const struct level *from,
                   const struct sums *sums, const struct cv_trip *trip, uint32_t s,
                   uint32_t f, double pivot, struct level *to)
{
    const uint32_t m = from->m;
    const double mu = from->port_value;
    const double fixed_s = cv_trip_once_s(trip);
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

/* The level with x at s and f. Rows of the inverse end in zeros. */
static void insert(const struct exact *exact, const struct level *from,
                   const struct sums *sums, uint32_t x, uint32_t s, uint32_t f,
                   struct level *to)
{
    const uint32_t m = from->m;
    const struct cv_trip *trip = &exact->trips[x];
    const double diagonal = cv_trip_unit_s(trip);
    double row[MOST] = { 0 }, pivot = diagonal;

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
    to->direct = !(pivot > trusted_pivot * diagonal);
    if (to->direct)
        return;
    for (uint32_t i = 0; i < m; i++) {
        const double column = (trip->send_s * sums->sent_later[s][i] +
                               trip->back_s * sums->back_sooner[f][i]) /
                              pivot;

        for (uint32_t j = 0; j < MOST; j++)
            to->inverse[i][j] = from->inverse[i][j] + column * row[j];
        to->inverse[i][m] = -column;
    }
    for (uint32_t j = 0; j < MOST; j++)
        to->inverse[m][j] = -row[j] / pivot;
    to->inverse[m][m] = 1 / pivot;
    settle(exact, from, sums, trip, s, f, pivot, to);
}

/* try_orders of a level with x at places s and f. */
static void try_pair(struct exact *exact, const struct level *level, uint32_t x,
                     uint32_t s, uint32_t f)
{
    struct level with = *level;

    put_in(&with, x, s, f);
    try_orders(exact, &with);
}

/* --- the last worker at all pairs of places at once -------------------------------- */

/* The formulas are in returns_search.c. With two ports the tight work of a pair is known
 * in O(1), and its shares are checked if it beats the best. With a single port the
 * vertices are the tight solution, if the port has room for it, and the solutions in
 * which one worker waits and the port is full (returns_inverse.c): O(n) a pair. */

/* All pairs of places of the last worker. There are at most MOST - 1 others, so a line has at
 * most MOST places: loops of that fixed length become vector instructions. Numbers after the
 * last place are not used. */
struct last {
    struct exact *exact;
    const struct level *level; /* a single port: prices are for a free port */
    const struct cv_trip *trip;
    uint32_t x;
    double back_row[MOST][MOST]; /* sums.row_back, transposed              */
    double sent[MOST][MOST],
        back[MOST][MOST]; /* [s][f]: v B (sent later), (ret. sooner) */
    double row_sent_s[MOST],
        row_back_s[MOST];             /* seconds in the row of x                */
    double later[MOST], sooner[MOST]; /* prices of workers sent later, ...      */
    double port_later[MOST], port_sooner[MOST];
    bool summed; /* the columns of sums are set */
    struct sums sums;
};

/* The last worker at place s of the order of sending and all of the other. */
struct line {
    uint32_t s;
    double pivot[MOST], left[MOST], price[MOST]; /* of worker x; worth without x */
    double worth[MOST];
    /* On a single port, with x: price and port of its row, tight work above the most, the
     * overload, whether it is one (1) or room (-1), and who could wait, as bits. */
    double row_price[MOST], row_port[MOST], more[MOST], over_s[MOST], side[MOST];
    int64_t waits[MOST];
};

static void transpose(struct last *last)
{
    for (uint32_t f = 0; f <= last->level->m; f++)
        for (uint32_t k = 0; k < MOST; k++)
            last->back_row[k][f] = k < last->level->m ? last->sums.row_back[f][k] : 0;
}

static void set_sums(struct last *last)
{
    const struct level *level = last->level;
    const uint32_t m = level->m;

    last->row_sent_s[0] = last->row_back_s[m] = last->later[m] = last->sooner[0] = 0;
    last->port_later[m] = last->port_sooner[0] = 0;
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = level->send[k], j = level->back[k];
        const struct cv_trip *trip = &last->exact->trips[level->who[i]];

        last->row_sent_s[k + 1] =
            last->row_sent_s[k] + trip->send_s * level->tight[i] + trip->send_fixed_s;
        last->sooner[k + 1] = last->sooner[k] + level->price[j];
        last->port_sooner[k + 1] = last->port_sooner[k] + level->port[j];
    }
    for (uint32_t k = m; k-- > 0;) {
        const uint32_t i = level->send[k], j = level->back[k];
        const struct cv_trip *trip = &last->exact->trips[level->who[j]];

        last->row_back_s[k] =
            last->row_back_s[k + 1] + trip->back_s * level->tight[j] + trip->back_fixed_s;
        last->later[k] = last->later[k + 1] + level->price[i];
        last->port_later[k] = last->port_later[k + 1] + level->port[i];
    }
}

static void set_tables(struct last *last)
{
    const struct level *level = last->level;
    const uint32_t m = level->m;

    for (uint32_t s = 0; s <= m; s++) {
        double sum = 0, back = 0;

        for (uint32_t k = s; k < m; k++)
            sum += last->sums.row_sent[s][level->send[k]];
        for (uint32_t f = 0; f < m; f++) {
            last->sent[s][f] = sum;
            last->back[s][f] = back;
            back += last->sums.row_sent[s][level->back[f]];
        }
        last->sent[s][m] = sum;
        last->back[s][m] = back;
    }
    for (uint32_t f = 0; f <= m; f++) {
        double sum = 0, sent = 0;

        for (uint32_t k = 0; k < f; k++)
            sum += last->sums.row_back[f][level->back[k]];
        last->back[m][f] += sum;
        for (uint32_t s = m; s-- > 0;) {
            sent += last->sums.row_back[f][level->send[s]];
            last->sent[s][f] += sent;
            last->back[s][f] += sum;
        }
    }
}

/* Whether no share is negative when slot k waits; k = m is x. */
static bool wait_positive(struct last *last, const struct line *line, uint32_t f,
                          uint32_t k, double wait)
{
    const struct level *level = last->level;
    const struct cv_trip *trip = last->trip;
    const double row =
        k == level->m ? -1 : last->sums.row_sent[line->s][k] + last->sums.row_back[f][k];
    const double share = (line->left[f] + wait * row) / line->pivot[f];
    const double sent = trip->send_fixed_s + share * trip->send_s;
    const double back = trip->back_fixed_s + share * trip->back_s;
    const double noise = last->exact->noise;

    if (share < -noise)
        return false;
    if (!last->summed)
        sum_columns(level, &last->sums);
    last->summed = true;
    for (uint32_t i = 0; i < level->m; i++) {
        const double own = k == level->m ? 0 : wait * level->inverse[i][k];

        if (level->tight[i] - own - sent * last->sums.sent_later[line->s][i] -
                back * last->sums.back_sooner[f][i] <
            -noise)
            return false;
    }
    return true;
}

static void price_line(const struct last *last, uint32_t s, struct line *line)
{
    const struct cv_trip *trip = last->trip;
    const double mu = last->level->port_value;
    const double a = trip->send_fixed_s, b = trip->back_fixed_s, send_s = trip->send_s;
    const double back_s = trip->back_s, diagonal = send_s + trip->compute_s + back_s;
    const double own_s =
        last->exact->lifespan_s - a - trip->compute_fixed_s - b - last->row_sent_s[s];
    const double price = 1 - mu * (send_s + back_s) - send_s * last->later[s];
    const double worth = last->level->worth - a * (last->later[s] + mu) - mu * b;

    line->s = s;
    for (uint32_t f = 0; f < MOST; f++) {
        const double sent = last->sent[s][f], back = last->back[s][f];

        line->pivot[f] = diagonal - send_s * sent - back_s * back;
        line->left[f] = own_s - last->row_back_s[f] + a * sent + b * back;
        line->price[f] = price - back_s * last->sooner[f];
        line->worth[f] = worth - b * last->sooner[f];
    }
}

/* On a single port: who could wait so that there is more work. With a wait of overload /
 * port the work is less by the wait times the price; both sides of the comparison are
 * multiplied by the port's part. */
static void price_waits(const struct last *last, struct line *line)
{
    const struct exact *exact = last->exact;
    const struct cv_trip *trip = last->trip;
    const double min = exact->max - exact->noise, sent = 1 - last->port_later[line->s];

    for (uint32_t f = 0; f < MOST; f++) {
        const double one = 1 / line->pivot[f], share = line->left[f] * one;
        const double back = 1 - last->port_sooner[f];
        const double port = trip->send_s * sent + trip->back_s * back;
        const double over_s = last->level->overload_s + trip->send_fixed_s * sent +
                              trip->back_fixed_s * back + share * port;

        line->row_price[f] = line->price[f] * one;
        line->row_port[f] = port * one;
        line->more[f] = line->worth[f] + share * line->price[f] - min;
        line->over_s[f] = fabs(over_s);
        line->side[f] = over_s > 0 ? 1 : -1;
        line->waits[f] = 0;
    }
    for (uint32_t k = 0; k <= last->level->m; k++) {
        const bool own = k == last->level->m;
        const double row_sent = own ? -1 : last->sums.row_sent[line->s][k];
        const double port_k = own ? 0 : last->level->port[k],
                     price_k = own ? 0 : last->level->price[k];

        for (uint32_t f = 0; f < MOST; f++) {
            const double row = row_sent + last->back_row[k][f];
            const double port = line->side[f] * (port_k - line->row_port[f] * row);
            const double price = price_k - line->row_price[f] * row;
            const bool hit =
                (port > 0) & (line->more[f] * port > line->over_s[f] * price);

            line->waits[f] |= (int64_t)hit << k;
        }
    }
}

/* level_vertex for a pair of places. */
static bool some_vertex(struct last *last, const struct line *line, uint32_t f)
{
    const double side = line->side[f], over_s = line->over_s[f];

    if (line->more[f] > 0 && side * over_s < full_port * last->exact->lifespan_s &&
        wait_positive(last, line, f, 0, 0))
        return true;
    for (uint32_t k = 0; line->waits[f] >> k != 0; k++) {
        const bool own = k == last->level->m;
        const double row =
            own ? -1 : last->sums.row_sent[line->s][k] + last->sums.row_back[f][k];
        const double port = (own ? 0 : last->level->port[k]) - line->row_port[f] * row;

        if ((line->waits[f] >> k & 1) != 0 &&
            wait_positive(last, line, f, k, side * over_s / port))
            return true;
    }
    return false;
}

/* Places of the line that need a closer look, as bits. */
static int64_t doubtful(const struct last *last, const struct line *line)
{
    const struct cv_trip *trip = last->trip;
    const double min = trusted_pivot * (cv_trip_unit_s(trip));
    const double max = last->exact->max;
    int64_t hits = 0;

    for (uint32_t f = 0; f < MOST; f++) {
        const double gain = line->left[f] * line->price[f];
        const double needed = (max - line->worth[f]) * line->pivot[f];

        hits |= ((int64_t)(gain > needed) | (int64_t) !(line->pivot[f] > min)) << f;
    }
    return hits;
}

static void try_line(struct last *last, const struct line *line)
{
    struct exact *exact = last->exact;
    const struct cv_trip *trip = last->trip;
    const double min = trusted_pivot * (cv_trip_unit_s(trip));
    const int64_t hits = exact->single ? -1 : doubtful(last, line);

    for (uint32_t f = 0; hits != 0 && f <= last->level->m; f++) {
        if ((hits >> f & 1) == 0)
            continue;
        if (!(line->pivot[f] > min)) {
            exact->trusted = false;
            try_pair(exact, last->level, last->x, line->s, f);
        } else if (exact->single ? some_vertex(last, line, f)
                                 : wait_positive(last, line, f, 0, 0)) {
            try_pair(exact, last->level, last->x, line->s, f);
            if (!exact->keep)
                exact->max =
                    fmax(exact->max, line->worth[f] +
                                         line->left[f] * line->price[f] / line->pivot[f]);
        }
    }
}

/* The last worker at all pairs of places from `first_s`. Changes the prices of the level. */
static void try_last(struct exact *exact, struct level *level, uint32_t x,
                     uint32_t first_s)
{
    struct last last;
    struct line line;

    if (level->direct) {
        for (uint32_t s = first_s; s <= level->m; s++)
            for (uint32_t f = 0; f <= level->m; f++)
                try_pair(exact, level, x, s, f);
        return;
    }
    if (exact->single)
        price_port(level, 0);
    last.exact = exact;
    last.level = level;
    last.trip = &exact->trips[x];
    last.x = x;
    last.summed = false;
    sum_rows(exact, level, &last.sums);
    if (exact->single)
        transpose(&last);
    set_sums(&last);
    set_tables(&last);
    for (uint32_t s = first_s; s <= level->m; s++) {
        price_line(&last, s, &line);
        if (exact->single)
            price_waits(&last, &line);
        try_line(&last, &line);
    }
}

/* Steps that placing a worker counts as. */
static const double level_steps = 1000;

/* The first place of worker x in the order of sending: after its equal, or MOST + 1 (none) if
 * that stays out. */
static uint32_t first_place(const struct exact *exact, const struct level *level,
                            uint32_t x)
{
    if (!exact->twin[x])
        return 0;
    for (uint32_t k = 0; k < level->m; k++)
        if (level->who[level->send[k]] == x - 1)
            return k + 1;
    return MOST + 1;
}

/* Workers from x at all places of levels[0]. */
static void place_all(struct exact *exact, struct level *levels, uint32_t x)
{
    const uint32_t first = first_place(exact, levels, x), m = levels->m;
    struct sums sums;

    cv_step_budget_spend(exact->returns->budget, level_steps);
    exact->stopped = exact->stopped || cv_step_budget_over(exact->returns->budget);
    if (exact->stopped)
        return;
    if (x + 1 == exact->n) {
        try_last(exact, levels, x, first);
        return;
    }
    if (!levels->direct) {
        sum_rows(exact, levels, &sums);
        sum_columns(levels, &sums);
    }
    for (uint32_t s = first; s <= m; s++)
        for (uint32_t f = 0; f <= m; f++) {
            insert(exact, levels, &sums, x, s, f, levels + 1);
            exact->trusted = exact->trusted && !levels[1].direct;
            if (is_hopeful(exact, levels + 1, x + 1)) {
                try_level(exact, levels + 1);
                place_all(exact, levels + 1, x + 1);
            }
        }
    if (is_hopeful(exact, levels, x + 1)) {
        levels[1] = levels[0];
        place_all(exact, levels + 1, x + 1);
    }
}

static void enumerate(struct exact *exact, uint32_t first, double port_value)
{
    struct level levels[MOST + 1] = { 0 };
    struct level *root = &levels[0];

    root->port_value = port_value;
    root->worth = port_value * exact->lifespan_s;
    root->overload_s = -exact->lifespan_s;
    place_all(exact, levels, first);
}

/* later_most for one value of the port. Each is a separate optimum; the first two take too
 * long. */
static void bound_later(struct exact *exact, uint32_t value)
{
    double *later_most = exact->later_most[value];
    const double empty = exact->values[value] * exact->lifespan_s;

    exact->bounding = value;
    later_most[exact->n] = 0;
    for (uint32_t x = exact->n; x-- > 0;) {
        later_most[x] = INFINITY;
        if (x < 2)
            continue;
        exact->trusted = true;
        exact->max = empty * (1 + 1e-13);
        enumerate(exact, x, exact->values[value]);
        if (exact->trusted)
            later_most[x] = (exact->max - empty) * (1 + same_work);
    }
}

/* Order by the time of a unit, on the port or in all, then by all costs. */
static int by_cost(const struct cv_trip *a, const struct cv_trip *b, bool port)
{
    const double costs[][2] = { { a->send_s + a->back_s + (port ? 0 : a->compute_s),
                                  b->send_s + b->back_s + (port ? 0 : b->compute_s) },
                                { a->send_s, b->send_s },
                                { a->compute_s, b->compute_s },
                                { a->back_s, b->back_s },
                                { a->send_fixed_s, b->send_fixed_s },
                                { a->compute_fixed_s, b->compute_fixed_s },
                                { a->back_fixed_s, b->back_fixed_s } };

    for (unsigned k = 0; k < sizeof costs / sizeof *costs; k++)
        if (costs[k][0] != costs[k][1])
            return costs[k][0] < costs[k][1] ? -1 : 1;
    return 0;
}

/* Cheap workers first: then the bounds of the later ones are close. */
static void sort_workers(struct exact *exact)
{
    const struct cv_trip *trips = exact->returns->trips;
    const bool port = exact->port_full;

    for (uint32_t k = 0; k < exact->n; k++) {
        uint32_t at = k;

        for (; at > 0 && by_cost(&trips[exact->worker[at - 1]], &trips[k], port) > 0;
             at--)
            exact->worker[at] = exact->worker[at - 1];
        exact->worker[at] = k;
    }
    for (uint32_t k = 0; k < exact->n; k++) {
        exact->trips[k] = trips[exact->worker[k]];
        exact->twin[k] =
            k > 0 && by_cost(&exact->trips[k - 1], &exact->trips[k], port) == 0;
    }
}

/* Values of the port for bounds: around the value of the best schedule. */
static void set_values(struct exact *exact, const struct cv_round_trip *trip)
{
    static const double times[] = { 1, 0, 0.5, 0.75, 0.9, 0.97, 1.03, 1.1, 1.25, 1.5, 2 };
    double value = 0;

    exact->nvalues = 1;
    if (!exact->returns->single)
        return;
    if (cv_inverse_load(&exact->check, trip->send, trip->back, trip->n) &&
        exact->check.score > 0)
        value = exact->check.port_value;
    exact->port_full = value > 0;
    /* The port is not full in the best schedule, but may be in others. */
    if (!(value > 0))
        value = 0.3 * trip->work / trip->lifespan_s;
    exact->nvalues = sizeof times / sizeof *times;
    for (uint32_t v = 0; v < exact->nvalues; v++)
        exact->values[v] = times[v] * value;
}

static bool proved_already(const struct cv_returns *returns,
                           const struct cv_round_trip *trip, struct cv_arena *scratch)
{
    const double enough = trip->work * (1 + same_work);

    return returns->n == 1 ||
           cv_returns_bound_prefix(returns, trip->lifespan_s, scratch) <= enough ||
           (cv_returns_linear(returns) &&
            cv_returns_bound_convex(returns, trip->lifespan_s, scratch) <= enough);
}

static enum cleave_status search_all(struct exact *exact,
                                     const struct cv_round_trip *found,
                                     struct cv_arena *scratch, struct cv_arena *arena,
                                     struct cv_round_trip *out, struct cleave_error *err)
{
    if (!cv_inverse_init(&exact->check, exact->returns, exact->lifespan_s, scratch) ||
        !cv_inverse_init(&exact->best, exact->returns, exact->lifespan_s, scratch))
        return cv_fail_memory(err, "exact orders");
    set_values(exact, found);
    sort_workers(exact);
    exact->noise = 1e-9 * found->work;
    for (uint32_t v = exact->nvalues; v-- > 0;)
        bound_later(exact, v);
    exact->max = found->work * (1 + same_work);
    exact->keep = true;
    exact->single = exact->returns->single;
    enumerate(exact, 0, exact->values[0]);
    if (!exact->improved || !cv_inverse_polish(&exact->best))
        return CLEAVE_OK;
    return cv_inverse_result(&exact->best, arena, out, err);
}

enum cleave_status cv_returns_exact(const struct cv_returns *returns, double lifespan_s,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    struct cleave_error *err)
{
    struct exact exact = { .returns = returns, .lifespan_s = lifespan_s };
    struct cv_round_trip found;
    struct cv_arena scratch;
    enum cleave_status status = CLEAVE_OK;

    if (returns->n > MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "exact orders: expected at most %d workers, got %u", CV_EXACT_MOST,
                       returns->n);
    CV_TRY(cv_returns_search(returns, lifespan_s, NULL, arena, &found, err));
    exact.n = returns->n;
    cv_arena_init(&scratch);
    if (found.n > 0 && !proved_already(returns, &found, &scratch))
        status = search_all(&exact, &found, &scratch, arena, &found, err);
    cv_arena_done(&scratch);
    if (status != CLEAVE_OK)
        return status;
    found.optimal = !exact.stopped;
    *out = found;
    return CLEAVE_OK;
}
