/* returns_search_places.c -- the best pair of places for one more worker.
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

/* Of pairs that promise more on a single port this many are looked at. */
enum { MOST_LOOKS = 4000 };

bool cv_places_init(struct cv_places *places, uint32_t n, bool single,
                    struct cv_arena *arena)
{
    const size_t side = (size_t)n + 1, table = side * side;

    *places = (struct cv_places){ .n = n };
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

static void sum_columns(struct cv_places *places, const struct cv_inverse *rest)
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

static void sum_lines(struct cv_places *places, const struct cv_inverse *rest)
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
static void step_tables(struct cv_places *places, const struct cv_inverse *rest,
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

static struct cv_look look_at(const struct cv_places *places,
                              const struct cv_inverse *rest, const struct cv_trip *trip,
                              uint32_t s, uint32_t f, double table_back,
                              double table_sent)
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
    struct cv_look look;

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

/* All pairs that promise more than `least` into places->pairs. */
static void collect(struct cv_places *places, const struct cv_inverse *rest,
                    const struct cv_trip *trip, double least, double port_value)
{
    const uint32_t m = rest->m;
    const bool single = rest->returns->single;
    const double *table_back = cv_places_line(places, CV_LINE_TABLE_BACK);
    const double *table_sent = cv_places_line(places, CV_LINE_TABLE_SENT);

    places->npairs = 0;
    for (uint32_t s = 0; s <= m; s++) {
        step_tables(places, rest, s);
        for (uint32_t f = 0; f <= m; f++) {
            const struct cv_look look =
                look_at(places, rest, trip, s, f, table_back[f], table_sent[f]);
            const bool over = single && look.overload_s > 0;
            const double promise =
                over ? look.work - port_value * look.overload_s : look.work;

            if (promise > least && (over || look.share > 0))
                places->pairs[places->npairs++] = (struct cv_place_pair){ promise, s, f };
        }
    }
    places->steps += 12 * (double)m * m;
}

/* --- is it a schedule? -------------------------------------------------------------- */

struct cv_look cv_places_look(const struct cv_places *places,
                              const struct cv_inverse *rest, const struct cv_trip *trip,
                              uint32_t s, uint32_t f)
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

bool cv_places_positive(const struct cv_places *places, const struct cv_inverse *rest,
                        const struct cv_trip *trip, const struct cv_look *look,
                        uint32_t s, uint32_t f, uint32_t *doubt)
{
    const size_t side = (size_t)rest->n + 1;
    const double sent = trip->send_fixed_s + look->share * trip->send_s;
    const double back = trip->back_fixed_s + look->share * trip->back_s;
    const double least = -CV_SHARE_NOISE * fabs(look->work);
    const double *later = places->sent_later + s * side;

    for (uint32_t k = 0; k <= rest->m; k++) {
        const uint32_t i = k == 0 ? *doubt : k - 1;

        if (i < rest->m && !(rest->tight[i] - sent * later[i] -
                                 back * places->back_sooner[i * side + f] >=
                             least)) {
            *doubt = i;
            return false;
        }
    }
    return look->share > 0;
}

/* --- the most promising first ------------------------------------------------------- */

static void sift_down(struct cv_place_pair *pairs, size_t n, size_t at)
{
    const struct cv_place_pair moved = pairs[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && pairs[child + 1].promise > pairs[child].promise)
            child++;
        if (pairs[child].promise <= moved.promise)
            break;
        pairs[at] = pairs[child];
    }
    pairs[at] = moved;
}

static struct cv_place_pair take_first(struct cv_places *places)
{
    const struct cv_place_pair first = places->pairs[0];

    places->pairs[0] = places->pairs[--places->npairs];
    if (places->npairs > 0)
        sift_down(places->pairs, places->npairs, 0);
    return first;
}

static bool best_duplex(struct cv_places *places, const struct cv_inverse *rest,
                        const struct cv_trip *trip, struct cv_place_pair *out)
{
    uint32_t doubt = rest->m;

    while (places->npairs > 0) {
        const struct cv_place_pair at = take_first(places);
        const struct cv_look look = cv_places_look(places, rest, trip, at.s, at.f);

        places->steps += 2.0 * rest->m;
        if (cv_places_positive(places, rest, trip, &look, at.s, at.f, &doubt)) {
            *out = at;
            return true;
        }
    }
    return false;
}

static bool best_single(struct cv_places *places, const struct cv_inverse *rest,
                        const struct cv_trip *trip, double least,
                        struct cv_place_pair *out)
{
    bool found = false;

    for (unsigned looks = 0; places->npairs > 0 && looks < MOST_LOOKS; looks++) {
        const struct cv_place_pair at = take_first(places);
        double work;

        if (at.promise <= least)
            break;
        work = cv_places_single_work(places, rest, trip, &at, least);
        places->steps += 12.0 * rest->m;
        if (work > least) {
            *out = (struct cv_place_pair){ work, at.s, at.f };
            least = work;
            found = true;
        }
    }
    return found;
}

bool cv_places_best(struct cv_places *places, const struct cv_inverse *rest, uint32_t x,
                    double least, double port_value, struct cv_place_pair *out)
{
    const struct cv_trip *trip = &rest->returns->trips[x];

    sum_columns(places, rest);
    sum_lines(places, rest);
    collect(places, rest, trip, least, port_value);
    if (places->npairs == 0)
        return false;
    for (size_t i = places->npairs / 2; i-- > 0;)
        sift_down(places->pairs, places->npairs, i);
    if (!rest->returns->single)
        return best_duplex(places, rest, trip, out);
    cv_places_sum_rows(places, rest);
    return best_single(places, rest, trip, least, out);
}
