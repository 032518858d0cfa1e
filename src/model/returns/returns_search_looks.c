/* returns_search_looks.c -- what each pair of places for one more worker promises.
 * SPDX-License-Identifier: MIT
 *
 * Worker x comes in behind s others in the order of sending and behind f in that of
 * returning. Its column is send_s of x for those sent later plus back_s of x for those
 * returned sooner; its row is send_s of those sent sooner plus back_s of those returned
 * later. So v B u has four parts, each a sum of B over a rectangle given by s or f at
 * either end, and all (m + 1)^2 pairs are priced from running sums: two of the parts
 * depend on s or f alone, the other two are tables. With them the share of x and the work
 * of all are known in O(1) a pair, fixed costs included, and whether nobody's share falls
 * below zero in O(m), asked only of pairs that promise more than the best so far.
 *
 * On a single port work(tight) - port_value * overload is what a pair promises: an upper
 * bound whenever the rows' prices at that port_value are not negative. */
#include "model/returns/returns_search_places.h"

#include <math.h>
#include <string.h>

bool cv_places_init(struct cv_position_search *places, uint32_t n, bool single,
                    struct cv_arena *arena)
{
    const size_t side = (size_t)n + 1, table = side * side;

    *places = (struct cv_position_search){ .n = n };
    places->sent_later = cv_array(arena, table, sizeof(double));
    places->back_sooner = cv_array(arena, table, sizeof(double));
    places->lines = cv_array(arena, CV_LINES * side, sizeof(double));
    places->pairs = cv_array(arena, table, sizeof *places->pairs);
    places->row_sent = cv_array(arena, single ? table : 0, sizeof(double));
    places->row_back = cv_array(arena, single ? table : 0, sizeof(double));
    return places->sent_later != NULL && places->back_sooner != NULL &&
           places->lines != NULL && places->pairs != NULL && places->row_sent != NULL &&
           places->row_back != NULL;
}

/* --- running sums ------------------------------------------------------------------- */

static void sum_columns(struct cv_position_search *places, const struct cv_inverse *rest)
{
    const uint32_t m = rest->m, n = rest->n;
    const size_t side = (size_t)n + 1;
    double *back_cost = cv_places_line(places, CV_LINE_BACK_COST);

    memset(places->sent_later + m * side, 0, m * sizeof(double));
    for (uint32_t s = m; s-- > 0;) {
        const double *next = places->sent_later + (s + 1) * side;
        double *now = places->sent_later + s * side;
        const double *column = rest->inverse + rest->send[s];

        for (uint32_t i = 0; i < m; i++)
            now[i] = next[i] + column[(size_t)i * n];
    }
    memset(back_cost, 0, (m + 1) * sizeof(double));
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t j = rest->back[k];
        const double *row = rest->inverse + (size_t)j * n,
                     cost = cv_inverse_trip(rest, j)->back_s;
        double *sums = places->back_sooner + j * side, sum = 0;

        sums[0] = 0;
        for (uint32_t f = 0; f < m; f++)
            sums[f + 1] = sum += row[rest->back[f]];
        for (uint32_t f = 0; f <= k; f++)
            back_cost[f] += cost * sums[f];
    }
}

static void sum_lines(struct cv_position_search *places, const struct cv_inverse *rest)
{
    const uint32_t m = rest->m;
    const size_t side = (size_t)rest->n + 1;
    double *row_sent = cv_places_line(places, CV_LINE_ROW_SENT),
           *row_back = cv_places_line(places, CV_LINE_ROW_BACK);
    double *later = cv_places_line(places, CV_LINE_PRICE_LATER),
           *sooner = cv_places_line(places, CV_LINE_PRICE_SOONER);
    double *port_later = cv_places_line(places, CV_LINE_PORT_LATER);
    double *port_sooner = cv_places_line(places, CV_LINE_PORT_SOONER);

    row_sent[0] = row_back[m] = later[m] = sooner[0] = 0;
    port_later[m] = port_sooner[0] = 0;
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = rest->send[k], j = rest->back[k];

        row_sent[k + 1] = row_sent[k] +
                          cv_inverse_trip(rest, i)->send_s * rest->tight[i] +
                          cv_inverse_trip(rest, i)->send_fixed_s;
        sooner[k + 1] = sooner[k] + rest->price[j];
        port_sooner[k + 1] = port_sooner[k] + rest->port_price[j];
    }
    for (uint32_t k = m; k-- > 0;) {
        const uint32_t i = rest->send[k], j = rest->back[k];

        row_back[k] = row_back[k + 1] +
                      cv_inverse_trip(rest, j)->back_s * rest->tight[j] +
                      cv_inverse_trip(rest, j)->back_fixed_s;
        later[k] = later[k + 1] + rest->price[i];
        port_later[k] = port_later[k + 1] + rest->port_price[i];
    }
    for (uint32_t s = 0; s <= m; s++) {
        const double *sums = places->sent_later + s * side;
        double sum = 0;

        for (uint32_t k = 0; k < s; k++)
            sum += cv_inverse_trip(rest, rest->send[k])->send_s * sums[rest->send[k]];
        cv_places_line(places, CV_LINE_SENT_COST)[s] = sum;
    }
}

/* --- what a pair of places promises ------------------------------------------------- */

/* Tables for place s, from those for s - 1. */
static void step_tables(struct cv_position_search *places, const struct cv_inverse *rest,
                        uint32_t s)
{
    const uint32_t m = rest->m;
    const size_t side = (size_t)rest->n + 1;
    const double *sums = places->sent_later + s * side;
    double *table_back = cv_places_line(places, CV_LINE_TABLE_BACK);
    double *table_sent = cv_places_line(places, CV_LINE_TABLE_SENT), sum = 0;

    if (s == 0) {
        memset(table_back, 0, (m + 1) * sizeof(double));
    } else {
        const uint32_t j = rest->send[s - 1];
        const double *row = places->back_sooner + j * side;
        const double cost = cv_inverse_trip(rest, j)->send_s;

        for (uint32_t f = 0; f <= m; f++)
            table_back[f] += cost * row[f];
    }
    table_sent[m] = 0;
    for (uint32_t f = m; f-- > 0;) {
        const uint32_t j = rest->back[f];

        table_sent[f] = sum += cv_inverse_trip(rest, j)->back_s * sums[j];
    }
}

static struct cv_position_value look_at(const struct cv_position_search *places,
                                        const struct cv_inverse *rest,
                                        const struct cv_trip *trip, uint32_t s,
                                        uint32_t f, double table_back, double table_sent)
{
    const double sent = cv_places_line(places, CV_LINE_SENT_COST)[s] + table_sent;
    const double back = table_back + cv_places_line(places, CV_LINE_BACK_COST)[f];
    const double later = cv_places_line(places, CV_LINE_PRICE_LATER)[s];
    const double sooner = cv_places_line(places, CV_LINE_PRICE_SOONER)[f];
    const double port_later = cv_places_line(places, CV_LINE_PORT_LATER)[s];
    const double port_sooner = cv_places_line(places, CV_LINE_PORT_SOONER)[f];
    const double fixed_s =
        trip->send_fixed_s + trip->compute_fixed_s + trip->back_fixed_s;
    const double row_s = rest->lifespan_s - fixed_s -
                         cv_places_line(places, CV_LINE_ROW_SENT)[s] -
                         cv_places_line(places, CV_LINE_ROW_BACK)[f] +
                         trip->send_fixed_s * sent + trip->back_fixed_s * back;
    struct cv_position_value look;

    look.pivot = trip->send_s + trip->compute_s + trip->back_s - trip->send_s * sent -
                 trip->back_s * back;
    look.share = row_s / look.pivot;
    look.price = 1 - trip->send_s * later - trip->back_s * sooner;
    look.port = trip->send_s + trip->back_s - trip->send_s * port_later -
                trip->back_s * port_sooner;
    look.work = rest->tight_work - trip->send_fixed_s * later -
                trip->back_fixed_s * sooner + look.share * look.price;
    look.overload_s = rest->overload_s + trip->send_fixed_s * (1 - port_later) +
                      trip->back_fixed_s * (1 - port_sooner) + look.share * look.port;
    return look;
}

void cv_places_collect(struct cv_position_search *places, const struct cv_inverse *rest,
                       const struct cv_trip *trip, double min, double port_value)
{
    const uint32_t m = rest->m;
    const bool single = rest->returns->single;
    const double *table_back = cv_places_line(places, CV_LINE_TABLE_BACK);
    const double *table_sent = cv_places_line(places, CV_LINE_TABLE_SENT);

    sum_columns(places, rest);
    sum_lines(places, rest);
    places->npairs = 0;
    for (uint32_t s = 0; s <= m; s++) {
        step_tables(places, rest, s);
        for (uint32_t f = 0; f <= m; f++) {
            const struct cv_position_value look =
                look_at(places, rest, trip, s, f, table_back[f], table_sent[f]);
            const bool over = single && look.overload_s > 0;
            const double promise =
                over ? look.work - port_value * look.overload_s : look.work;

            if (promise > min && (over || look.share > 0))
                places->pairs[places->npairs++] = (struct cv_place_pair){ promise, s, f };
        }
    }
    places->steps += 12 * (double)m * m;
}

/* --- is it a schedule? -------------------------------------------------------------- */

struct cv_position_value cv_places_look(const struct cv_position_search *places,
                                        const struct cv_inverse *rest,
                                        const struct cv_trip *trip, uint32_t s,
                                        uint32_t f)
{
    const size_t side = (size_t)rest->n + 1;
    double table_back = 0, table_sent = 0;

    for (uint32_t k = 0; k < s; k++) {
        const uint32_t j = rest->send[k];

        table_back +=
            cv_inverse_trip(rest, j)->send_s * places->back_sooner[j * side + f];
    }
    for (uint32_t k = f; k < rest->m; k++) {
        const uint32_t j = rest->back[k];

        table_sent += cv_inverse_trip(rest, j)->back_s * places->sent_later[s * side + j];
    }
    return look_at(places, rest, trip, s, f, table_back, table_sent);
}

bool cv_places_positive(const struct cv_position_search *places,
                        const struct cv_inverse *rest, const struct cv_trip *trip,
                        const struct cv_position_value *look, uint32_t s, uint32_t f,
                        uint32_t *doubt)
{
    const size_t side = (size_t)rest->n + 1;
    const double sent = trip->send_fixed_s + look->share * trip->send_s;
    const double back = trip->back_fixed_s + look->share * trip->back_s;
    const double min = -CV_SHARE_NOISE * fabs(look->work);
    const double *later = places->sent_later + s * side;

    for (uint32_t k = 0; k <= rest->m; k++) {
        const uint32_t i = k == 0 ? *doubt : k - 1;

        if (i < rest->m && !(rest->tight[i] - sent * later[i] -
                                 back * places->back_sooner[i * side + f] >=
                             min)) {
            *doubt = i;
            return false;
        }
    }
    return look->share > 0;
}
