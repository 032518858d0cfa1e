/* returns_search_port.c -- what a pair of places for one more worker does on one port.
 * SPDX-License-Identifier: MIT
 *
 * When the tight solution with x overfills the port, one worker has to wait, x or another
 * (returns_inverse_score.c). The prices of all rows, and what they do to the port, follow
 * from those without x in O(m), so does the best one to wait. */
#include "model/returns/returns_search_places.h"

#include <math.h>
#include <string.h>

void cv_places_sum_rows(struct cv_position_search *places, const struct cv_inverse *rest)
{
    const uint32_t m = rest->m, n = rest->n;
    const size_t side = (size_t)n + 1;

    memset(places->row_sent, 0, m * sizeof(double));
    memset(places->row_back + m * side, 0, m * sizeof(double));
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = rest->send[k];
        const double *row = rest->inverse + (size_t)i * n,
                     cost = cv_inverse_trip(rest, i)->send_s;
        const double *from = places->row_sent + k * side;
        double *to = places->row_sent + (k + 1) * side;

        for (uint32_t j = 0; j < m; j++)
            to[j] = from[j] + cost * row[j];
    }
    for (uint32_t k = m; k-- > 0;) {
        const uint32_t i = rest->back[k];
        const double *row = rest->inverse + (size_t)i * n,
                     cost = cv_inverse_trip(rest, i)->back_s;
        const double *from = places->row_back + (k + 1) * side;
        double *to = places->row_back + k * side;

        for (uint32_t j = 0; j < m; j++)
            to[j] = from[j] + cost * row[j];
    }
}

/* Shares, prices of rows and what rows do to the port, with x as the last. */
static void set_lines(const struct cv_position_search *places,
                      const struct cv_inverse *rest, const struct cv_trip *trip,
                      const struct cv_position_value *look, uint32_t s, uint32_t f)
{
    const uint32_t m = rest->m;
    const size_t side = (size_t)rest->n + 1;
    const double sent = trip->send_fixed_s + look->share * trip->send_s;
    const double back = trip->back_fixed_s + look->share * trip->back_s;
    double *units = cv_places_line(places, CV_LINE_UNITS),
           *price = cv_places_line(places, CV_LINE_PRICES);
    double *port = cv_places_line(places, CV_LINE_PORT_PRICES);

    units[m] = look->share;
    price[m] = look->price / look->pivot;
    port[m] = look->port / look->pivot;
    for (uint32_t j = 0; j < m; j++) {
        const double row =
            places->row_sent[s * side + j] + places->row_back[f * side + j];

        units[j] = rest->tight[j] - sent * places->sent_later[s * side + j] -
                   back * places->back_sooner[j * side + f];
        price[j] = rest->price[j] - price[m] * row;
        port[j] = rest->port_price[j] - port[m] * row;
    }
}

/* With worker k waiting, nobody's share is below zero. */
static bool wait_positive(const struct cv_position_search *places,
                          const struct cv_inverse *rest, const struct cv_trip *trip,
                          const struct cv_position_value *look,
                          const struct cv_place_pair *at, uint32_t k)
{
    const uint32_t m = rest->m;
    const size_t side = (size_t)rest->n + 1;
    const double *units = cv_places_line(places, CV_LINE_UNITS);
    const double wait = look->overload_s / cv_places_line(places, CV_LINE_PORT_PRICES)[k];
    const double row =
        k == m ? -1
               : places->row_sent[at->s * side + k] + places->row_back[at->f * side + k];
    const double min = -CV_SHARE_NOISE * fabs(look->work), of_x = -row / look->pivot;

    if (!(units[m] - wait * of_x >= min))
        return false;
    for (uint32_t i = 0; i < m; i++) {
        const double column = trip->send_s * places->sent_later[at->s * side + i] +
                              trip->back_s * places->back_sooner[i * side + at->f];
        const double own = k == m ? 0 : rest->inverse[(size_t)i * rest->n + k];

        if (!(units[i] - wait * (own - of_x * column) >= min))
            return false;
    }
    return true;
}

double cv_places_single_work(const struct cv_position_search *places,
                             const struct cv_inverse *rest, const struct cv_trip *trip,
                             const struct cv_place_pair *at, double min)
{
    const struct cv_position_value look =
        cv_places_look(places, rest, trip, at->s, at->f);
    const double *price = cv_places_line(places, CV_LINE_PRICES),
                 *port = cv_places_line(places, CV_LINE_PORT_PRICES);
    uint32_t doubt = rest->m;
    double best = -1;

    if (look.overload_s <= 0)
        return cv_places_positive(places, rest, trip, &look, at->s, at->f, &doubt)
                   ? look.work
                   : -1;
    set_lines(places, rest, trip, &look, at->s, at->f);
    for (uint32_t k = 0; k <= rest->m; k++) {
        const double work = look.work - look.overload_s * price[k] / port[k];

        if (port[k] > 0 && work > min && work > best &&
            wait_positive(places, rest, trip, &look, at, k))
            best = work;
    }
    return best;
}
