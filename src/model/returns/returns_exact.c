/* returns_exact.c -- the best of all sets of workers and all pairs of orders.
 * SPDX-License-Identifier: MIT
 *
 * With two ports a best schedule is a vertex of the linear program of its workers and
 * orders, so all its rows are tight: the optimum is the largest work of a tight solution
 * without negative shares. With a single port all rows are tight, or all but one and the
 * port is full. So all sets and orders have to be gone through. Workers come in one after
 * the other, each at every pair of places or not at all; the inverse of the tight system
 * is bordered on the way, and for the last worker all pairs of places are priced at once.
 * That makes about (n - 1)!^2 small steps; a bound (returns_exact.c) cuts off what
 * cannot beat the schedule that the search has found. On a single port the bound is taken
 * for several values of the port: those near its value in that schedule.
 *
 * Equal workers are put in in one order only. Work is compared to about 1e-9 of it. Where
 * a pivot is too small to trust (possible only where return and send costs have unequal
 * ratios, or nodes are a million times faster than links) the orders below are solved one
 * by one. */
#include <math.h>
#include <string.h>
#include "base/fail.h"
#include "model/returns/returns_bounds.h"
#include "model/returns/returns_inverse.h"
#include "model/returns/returns_search.h"

/* Values of the port for which bounds are taken. */
enum { CV_EXACT_VALUES = 12 };
/* Below this part of its diagonal a pivot is too small to trust what comes of it. */
#define CV_EXACT_PIVOT 1e-7
/* A port that is over its end by less than this part may be just full. */
#define CV_EXACT_FULL 1e-9
/* Work that differs by less than this part is the same. */
#define CV_EXACT_SAME 1e-11

/* Some workers in two orders, solved. Prices are for work - mu * port. */
struct cv_exact_level {
    uint32_t m;
    bool direct; /* the inverse is not there */
    uint8_t who[CV_EXACT_MOST], send[CV_EXACT_MOST], back[CV_EXACT_MOST];
    double inverse[CV_EXACT_MOST][CV_EXACT_MOST];
    double row_s[CV_EXACT_MOST], tight[CV_EXACT_MOST], price[CV_EXACT_MOST];
    double port[CV_EXACT_MOST]; /* what a second more in a row adds to the port */
    double port_value;          /* mu                                           */
    double worth;               /* work - mu * overload of tight                */
    double overload_s;
};

/* Running sums over the inverse, see returns_search.c. */
struct cv_exact_sums {
    double sent_later[CV_EXACT_MOST + 1][CV_EXACT_MOST];  /* [s][i] */
    double back_sooner[CV_EXACT_MOST + 1][CV_EXACT_MOST]; /* [f][i] */
    double row_sent[CV_EXACT_MOST + 1][CV_EXACT_MOST];    /* [s][j] */
    double row_back[CV_EXACT_MOST + 1][CV_EXACT_MOST];    /* [f][j] */
};

/* The search. */
struct cv_exact {
    const struct cv_returns *returns;
    double lifespan_s;
    double values[CV_EXACT_VALUES]; /* of the port, for bounds */
    uint32_t nvalues, n;
    struct cv_trip trips[CV_EXACT_MOST]; /* in the order in which workers come in */
    uint32_t worker[CV_EXACT_MOST];      /* their numbers                         */
    bool twin[CV_EXACT_MOST];            /* equal to the one before               */
    /* Work - mu * (time on the port) that those from here on can reach alone. */
    double later_most[CV_EXACT_VALUES][CV_EXACT_MOST + 1];
    double max;        /* what has to be exceeded                          */
    double noise;      /* shares this far below zero are looked at closely */
    bool keep;         /* schedules, not only the most that can be reached */
    uint32_t bounding; /* if not keep: the value that is worked for        */
    bool single;       /* a single port                                    */
    bool port_full;    /* that is full                                     */
    bool trusted;      /* no pivot was too small                           */
    bool improved;     /* best holds a schedule                            */
    bool stopped;      /* its time was up: nothing is proved               */
    struct cv_inverse check, best;
};

/* --- some workers in two orders: solved, bounded, one more put in ------------------ */

/* The bound. For any value mu of a second on the port and any prices y >= 0 of the rows
 * with y A >= 1 - mu g, g being the time of a unit on the port, the work is at most
 * y d + mu (L - fixed costs on the port). The prices of the tight system, with the
 * negative ones put to zero, are such: A has no negative entries. With two ports mu = 0.
 * 
 * For workers A in given orders and others still to come: what a schedule does with A
 * alone is a schedule of A, what it does with the others is one of theirs, so the bound
 * for A plus the most that the others could do alone bounds everything. */

/* --- candidates --------------------------------------------------------------------- */

/* As exact_try_pair, with the workers of the level and no others. */
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

/* Prices for another value of the port. */
static void exact_price_port(struct cv_exact_level *level, double value)
{
    const double by = value - level->port_value;

    for (uint32_t j = 0; by != 0 && j < level->m; j++)
        level->price[j] -= by * level->port[j];
    level->worth -= by * level->overload_s;
    level->port_value = value;
}

/* Can workers from x on, put in where they do most, lead to something better? Prices are
 * left for the value of the port that says least. */
static bool exact_hopeful(const struct cv_exact *exact, struct cv_exact_level *level,
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
    exact_price_port(level, best);
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

/* The workers of the level and no others. */
static void exact_try_level(struct cv_exact *exact, const struct cv_exact_level *level)
{
    if (exact->keep && (level->direct || level_vertex(exact, level)))
        try_orders(exact, level);
    if (!exact->keep && !level->direct && level->worth > exact->max &&
        shares_positive(level, 0, 0, exact->noise))
        exact->max = level->worth;
}

/* --- one more worker ---------------------------------------------------------------- */

static void sum_level(const struct cv_exact *exact, const struct cv_exact_level *level,
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

/* The level with x at s and f. Rows of the inverse have zeros at their ends. */
static void exact_insert(const struct cv_exact *exact, const struct cv_exact_level *from,
                         const struct cv_exact_sums *sums, uint32_t x, uint32_t s,
                         uint32_t f, struct cv_exact_level *to)
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

/* Solve the orders of a level afresh, with x put in at places s and f, and keep them if they
 * are better. Does nothing while bounding. */
static void exact_try_pair(struct cv_exact *exact, const struct cv_exact_level *level,
                           uint32_t x, uint32_t s, uint32_t f)
{
    struct cv_exact_level with = *level;

    put_in(&with, x, s, f);
    try_orders(exact, &with);
}

/* --- the last worker at all pairs of places at once -------------------------------- */

/* The formulas are those of returns_search.c. With two ports the tight work of a
 * pair is known in O(1) and its shares are looked at if it is more than the best. With a
 * single port the vertices are the tight solution, if the port has room for it, and those
 * in which one worker waits and the port is full (returns_inverse.c): O(n) a pair. */

/* All pairs of places of the last worker. There are at most CV_EXACT_MOST - 1
 * others, so a line has at most CV_EXACT_MOST places: loops of that fixed length become
 * vector instructions. What stands behind the last place is not looked at. */
struct last {
    struct cv_exact *exact;
    const struct cv_exact_level
        *level; /* prices are for a free port if there is one port */
    const struct cv_trip *trip;
    uint32_t x;
    double row_sent[CV_EXACT_MOST][CV_EXACT_MOST],
        row_back[CV_EXACT_MOST][CV_EXACT_MOST];    /* as in sums               */
    double back_row[CV_EXACT_MOST][CV_EXACT_MOST]; /* the second, transposed   */
    double sent[CV_EXACT_MOST][CV_EXACT_MOST],
        back[CV_EXACT_MOST][CV_EXACT_MOST]; /* [s][f]: v B (sent later), (ret. sooner) */
    double row_sent_s[CV_EXACT_MOST],
        row_back_s[CV_EXACT_MOST]; /* seconds in the row of x          */
    double later[CV_EXACT_MOST],
        sooner[CV_EXACT_MOST]; /* prices of those sent later, ...  */
    double port_later[CV_EXACT_MOST], port_sooner[CV_EXACT_MOST];
    double price[CV_EXACT_MOST],
        port[CV_EXACT_MOST]; /* of the level, with zeros at the end */
    bool summed;             /* sums are there */
    struct cv_exact_sums sums;
};

/* The last worker at place s of the order of sending and all of the other. */
struct line {
    uint32_t s;
    double pivot[CV_EXACT_MOST], left[CV_EXACT_MOST],
        price[CV_EXACT_MOST]; /* of x; worth without it */
    double worth[CV_EXACT_MOST];
    /* On a single port, with x: price and port of its row, tight work above the most, the
     * overload, whether it is one (1) or room (-1), and who could wait, as bits. */
    double row_price[CV_EXACT_MOST], row_port[CV_EXACT_MOST], more[CV_EXACT_MOST],
        over_s[CV_EXACT_MOST], side[CV_EXACT_MOST];
    int64_t waits[CV_EXACT_MOST];
};

static void set_rows(struct last *last)
{
    /* cppcheck-suppress ctuuninitvar ; the caller has set it */
    const struct cv_exact_level *level = last->level;
    const uint32_t m = level->m;

    for (uint32_t j = 0; j < CV_EXACT_MOST; j++) {
        last->row_sent[0][j] = last->row_back[m][j] = 0;
        last->price[j] = j < m ? level->price[j] : 0;
        last->port[j] = j < m ? level->port[j] : 0;
    }
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = level->send[k];
        const double send_s = last->exact->trips[level->who[i]].send_s;

        for (uint32_t j = 0; j < CV_EXACT_MOST; j++)
            last->row_sent[k + 1][j] =
                last->row_sent[k][j] + send_s * level->inverse[i][j];
    }
    for (uint32_t k = m; k-- > 0;) {
        const uint32_t i = level->back[k];
        const double back_s = last->exact->trips[level->who[i]].back_s;

        for (uint32_t j = 0; j < CV_EXACT_MOST; j++)
            last->row_back[k][j] =
                last->row_back[k + 1][j] + back_s * level->inverse[i][j];
    }
}

static void transpose(struct last *last)
{
    for (uint32_t f = 0; f <= last->level->m; f++)
        for (uint32_t k = 0; k < CV_EXACT_MOST; k++)
            last->back_row[k][f] = k < last->level->m ? last->row_back[f][k] : 0;
}

static void set_sums(struct last *last)
{
    const struct cv_exact_level *level = last->level;
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
    const struct cv_exact_level *level = last->level;
    const uint32_t m = level->m;

    for (uint32_t s = 0; s <= m; s++) {
        double sum = 0, back = 0;

        for (uint32_t k = s; k < m; k++)
            sum += last->row_sent[s][level->send[k]];
        for (uint32_t f = 0; f < m; f++) {
            last->sent[s][f] = sum;
            last->back[s][f] = back;
            back += last->row_sent[s][level->back[f]];
        }
        last->sent[s][m] = sum;
        last->back[s][m] = back;
    }
    for (uint32_t f = 0; f <= m; f++) {
        double sum = 0, sent = 0;

        for (uint32_t k = 0; k < f; k++)
            sum += last->row_back[f][level->back[k]];
        last->back[m][f] += sum;
        for (uint32_t s = m; s-- > 0;) {
            sent += last->row_back[f][level->send[s]];
            last->sent[s][f] += sent;
            last->back[s][f] += sum;
        }
    }
}

/* All shares are at least zero when slot k waits; k = m is x itself. */
static bool wait_positive(struct last *last, const struct line *line, uint32_t f,
                          uint32_t k, double wait)
{
    const struct cv_exact_level *level = last->level;
    const struct cv_trip *trip = last->trip;
    const double row =
        k == level->m ? -1 : last->row_sent[line->s][k] + last->row_back[f][k];
    const double share = (line->left[f] + wait * row) / line->pivot[f];
    const double sent = trip->send_fixed_s + share * trip->send_s;
    const double back = trip->back_fixed_s + share * trip->back_s;
    const double noise = last->exact->noise;

    if (share < -noise)
        return false;
    if (!last->summed)
        sum_level(last->exact, level, &last->sums);
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
    for (uint32_t f = 0; f < CV_EXACT_MOST; f++) {
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
    const struct cv_exact *exact = last->exact;
    const struct cv_trip *trip = last->trip;
    const double min = exact->max - exact->noise, sent = 1 - last->port_later[line->s];

    for (uint32_t f = 0; f < CV_EXACT_MOST; f++) {
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
        const double row_sent = own ? -1 : last->row_sent[line->s][k];
        const double port_k = own ? 0 : last->port[k], price_k = own ? 0 : last->price[k];

        for (uint32_t f = 0; f < CV_EXACT_MOST; f++) {
            const double row = row_sent + last->back_row[k][f];
            const double port = line->side[f] * (port_k - line->row_port[f] * row);
            const double price = price_k - line->row_price[f] * row;
            const bool hit =
                (port > 0) & (line->more[f] * port > line->over_s[f] * price);

            line->waits[f] |= (int64_t)hit << k;
        }
    }
}

/* On a single port: there may be a schedule with more work in these orders. */
static bool some_vertex(struct last *last, const struct line *line, uint32_t f)
{
    const double side = line->side[f], over_s = line->over_s[f];

    if (line->more[f] > 0 && side * over_s < CV_EXACT_FULL * last->exact->lifespan_s &&
        wait_positive(last, line, f, 0, 0))
        return true;
    for (uint32_t k = 0; line->waits[f] >> k != 0; k++) {
        const bool own = k == last->level->m;
        const double row = own ? -1 : last->row_sent[line->s][k] + last->row_back[f][k];
        const double port = (own ? 0 : last->port[k]) - line->row_port[f] * row;

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
    const double min = CV_EXACT_PIVOT * (trip->send_s + trip->compute_s + trip->back_s);
    const double max = last->exact->max;
    int64_t hits = 0;

    for (uint32_t f = 0; f < CV_EXACT_MOST; f++) {
        const double gain = line->left[f] * line->price[f];
        const double needed = (max - line->worth[f]) * line->pivot[f];

        hits |= ((int64_t)(gain > needed) | (int64_t) !(line->pivot[f] > min)) << f;
    }
    return hits;
}

static void try_line(struct last *last, const struct line *line)
{
    struct cv_exact *exact = last->exact;
    const struct cv_trip *trip = last->trip;
    const double min = CV_EXACT_PIVOT * (trip->send_s + trip->compute_s + trip->back_s);
    const int64_t hits = exact->single ? -1 : doubtful(last, line);

    for (uint32_t f = 0; hits != 0 && f <= last->level->m; f++) {
        if ((hits >> f & 1) == 0)
            continue;
        if (!(line->pivot[f] > min)) {
            exact->trusted = false;
            exact_try_pair(exact, last->level, last->x, line->s, f);
        } else if (exact->single ? some_vertex(last, line, f)
                                 : wait_positive(last, line, f, 0, 0)) {
            exact_try_pair(exact, last->level, last->x, line->s, f);
            if (!exact->keep)
                exact->max =
                    fmax(exact->max, line->worth[f] +
                                         line->left[f] * line->price[f] / line->pivot[f]);
        }
    }
}

/* Worker x, the last one, at all pairs of places from `first_s` on. Prices of the level
 * are changed. */
static void exact_try_last(struct cv_exact *exact, struct cv_exact_level *level,
                           uint32_t x, uint32_t first_s)
{
    struct last last;
    struct line line;

    if (level->direct) {
        for (uint32_t s = first_s; s <= level->m; s++)
            for (uint32_t f = 0; f <= level->m; f++)
                exact_try_pair(exact, level, x, s, f);
        return;
    }
    if (exact->single)
        exact_price_port(level, 0);
    last.exact = exact;
    last.level = level;
    last.trip = &exact->trips[x];
    last.x = x;
    last.summed = false;
    set_rows(&last);
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

/* --- the best of all sets of workers and all pairs of orders ----------------------- */

/* What placing one worker is counted as. */
static const double level_steps = 1000;

/* --- all workers -------------------------------------------------------------------- */

/* The first place in the order of sending for worker x: behind its equal. No place at all
 * (CV_EXACT_MOST + 1) when that one stays out. */
static uint32_t first_place(const struct cv_exact *exact,
                            const struct cv_exact_level *level, uint32_t x)
{
    if (!exact->twin[x])
        return 0;
    for (uint32_t k = 0; k < level->m; k++)
        if (level->who[level->send[k]] == x - 1)
            return k + 1;
    return CV_EXACT_MOST + 1;
}

/* Worker x and all after it at all places. levels[0] is what there is so far. */
static void place_all(struct cv_exact *exact, struct cv_exact_level *levels, uint32_t x)
{
    const uint32_t first = first_place(exact, levels, x), m = levels->m;
    struct cv_exact_sums sums;

    cv_step_budget_spend(exact->returns->budget, level_steps);
    exact->stopped = exact->stopped || cv_step_budget_over(exact->returns->budget);
    if (exact->stopped)
        return;
    if (x + 1 == exact->n) {
        exact_try_last(exact, levels, x, first);
        return;
    }
    if (!levels->direct)
        sum_level(exact, levels, &sums);
    for (uint32_t s = first; s <= m; s++)
        for (uint32_t f = 0; f <= m; f++) {
            exact_insert(exact, levels, &sums, x, s, f, levels + 1);
            exact->trusted = exact->trusted && !levels[1].direct;
            if (exact_hopeful(exact, levels + 1, x + 1)) {
                exact_try_level(exact, levels + 1);
                place_all(exact, levels + 1, x + 1);
            }
        }
    if (exact_hopeful(exact, levels, x + 1)) {
        levels[1] = levels[0];
        place_all(exact, levels + 1, x + 1);
    }
}

static void enumerate(struct cv_exact *exact, uint32_t first, double port_value)
{
    struct cv_exact_level levels[CV_EXACT_MOST + 1] = { 0 };
    struct cv_exact_level *root = &levels[0];

    root->port_value = port_value;
    root->worth = port_value * exact->lifespan_s;
    root->overload_s = -exact->lifespan_s;
    place_all(exact, levels, first);
}

/* later_most for one value of the port, from the last worker on. Each is an optimum of
 * its own; those of nearly all workers would cost too much. */
static void bound_later(struct cv_exact *exact, uint32_t value)
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
            later_most[x] = (exact->max - empty) * (1 + CV_EXACT_SAME);
    }
}

/* --- set up ------------------------------------------------------------------------- */

/* `port` counts what a unit takes on the port, else what it takes in all. */
static int by_cost(const struct cv_trip *a, const struct cv_trip *b, bool port)
{
    const double left[] = { a->send_s + a->back_s + (port ? 0 : a->compute_s),
                            a->send_s,
                            a->compute_s,
                            a->back_s,
                            a->send_fixed_s,
                            a->compute_fixed_s,
                            a->back_fixed_s };
    const double right[] = { b->send_s + b->back_s + (port ? 0 : b->compute_s),
                             b->send_s,
                             b->compute_s,
                             b->back_s,
                             b->send_fixed_s,
                             b->compute_fixed_s,
                             b->back_fixed_s };

    for (unsigned k = 0; k < sizeof left / sizeof *left; k++)
        if (left[k] != right[k])
            return left[k] < right[k] ? -1 : 1;
    return 0;
}

/* Cheap workers first: then those left to place can do little, and bounds are close. */
static void sort_workers(struct cv_exact *exact)
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

/* Values of the port for which to take bounds: in the best schedule, and around it. */
static void set_values(struct cv_exact *exact, const struct cv_round_trip *trip)
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
    /* The port has room in the best schedule: still it may keep others from being it. */
    if (!(value > 0))
        value = 0.3 * trip->work / trip->lifespan_s;
    exact->nvalues = sizeof times / sizeof *times;
    for (uint32_t v = 0; v < exact->nvalues; v++)
        exact->values[v] = times[v] * value;
}

/* A bound says that nothing is better. */
static bool proved_already(const struct cv_returns *returns,
                           const struct cv_round_trip *trip, struct cv_arena *scratch)
{
    const double enough = trip->work * (1 + CV_EXACT_SAME);

    return returns->n == 1 ||
           cv_returns_bound_prefix(returns, trip->lifespan_s, scratch) <= enough ||
           (cv_returns_linear(returns) &&
            cv_returns_bound_convex(returns, trip->lifespan_s, scratch) <= enough);
}

static enum cleave_status search_all(struct cv_exact *exact,
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
    exact->max = found->work * (1 + CV_EXACT_SAME);
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
    struct cv_exact exact = { .returns = returns, .lifespan_s = lifespan_s };
    struct cv_round_trip found;
    struct cv_arena scratch;
    enum cleave_status status = CLEAVE_OK;

    if (returns->n > CV_EXACT_MOST)
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
