/* returns_exact_last.c -- the last worker at all pairs of places at once.
 * SPDX-License-Identifier: MIT
 *
 * The formulas are those of returns_search_places.c. With two ports the tight work of a
 * pair is known in O(1) and its shares are looked at if it is more than the best. With a
 * single port the vertices are the tight solution, if the port has room for it, and those
 * in which one worker waits and the port is full (returns_inverse.c): O(n) a pair. */
#include "model/returns/returns_exact_internal.h"

#include <math.h>

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
        cv_exact_sum(last->exact, level, &last->sums);
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
            cv_exact_try_pair(exact, last->level, last->x, line->s, f);
        } else if (exact->single ? some_vertex(last, line, f)
                                 : wait_positive(last, line, f, 0, 0)) {
            cv_exact_try_pair(exact, last->level, last->x, line->s, f);
            if (!exact->keep)
                exact->max =
                    fmax(exact->max, line->worth[f] +
                                         line->left[f] * line->price[f] / line->pivot[f]);
        }
    }
}

void cv_exact_try_last(struct cv_exact *exact, struct cv_exact_level *level, uint32_t x,
                       uint32_t first_s)
{
    struct last last;
    struct line line;

    if (level->direct) {
        for (uint32_t s = first_s; s <= level->m; s++)
            for (uint32_t f = 0; f <= level->m; f++)
                cv_exact_try_pair(exact, level, x, s, f);
        return;
    }
    if (exact->single)
        cv_exact_price_port(level, 0);
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
