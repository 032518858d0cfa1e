/* returns_search.c -- reinsertion search for the orders of sending and returning.
 * SPDX-License-Identifier: MIT
 *
 * A worker that takes part is taken out, all pairs of places for it are priced at once
 * (returns_search.c), and it goes back to the best one or stays out; so in turn
 * for all workers until none can be moved with gain. It needs O(n^2) a worker, O(n^3) a
 * sweep and few sweeps. Swapping neighbours would not do: often a worker has to move in
 * both orders at once.
 *
 * Starts: workers put in one by one, fastest link first; FIFO, LIFO and the order for
 * small results; workers put in at random. Then kicks: a few workers of the best schedule
 * are thrown to random places and the search goes on from there. */
#include "model/returns/returns_search.h"

#include <math.h>
#include <string.h>
#include "base/fail.h"
#include "base/heap.h"
#include "base/random.h"
#include "model/returns/returns_internal.h"
#include "model/returns/returns_inverse.h"

/* Lines of n + 1 numbers, by place in the order of sending (s) or of returning (f). */
enum {
    CV_LINE_SENT_COST,    /* [s]: v B (sent later), part of those sent sooner         */
    CV_LINE_BACK_COST,    /* [f]: v B (returned sooner), part of those returned later */
    CV_LINE_ROW_SENT,     /* [s]: seconds of those sent sooner, with fixed costs      */
    CV_LINE_ROW_BACK,     /* [f]: seconds of those returned later                     */
    CV_LINE_PRICE_LATER,  /* [s]: sum of prices of those sent later                   */
    CV_LINE_PRICE_SOONER, /* [f]: sum of prices of those returned sooner              */
    CV_LINE_PORT_LATER,   /* as the two above, for the port                           */
    CV_LINE_PORT_SOONER,
    CV_LINE_TABLE_BACK,  /* [f], for one s: v B (returned sooner), the other part    */
    CV_LINE_TABLE_SENT,  /* [f], for one s: v B (sent later), the other part         */
    CV_LINE_UNITS,       /* of a candidate on a single port, x last: shares,         */
    CV_LINE_PRICES,      /* prices of rows,                                          */
    CV_LINE_PORT_PRICES, /* and what a second in a row adds to the port              */
    CV_LINES
};

/* What comes of worker x at a pair of places. */
struct cv_position_value {
    double pivot, share; /* of x                                     */
    double price, port;  /* what a unit more for x is worth, takes   */
    double work, overload_s;
};

/* A pair of places and the work it promises. */
struct cv_place_pair {
    double promise;
    uint32_t s, f;
};

struct cv_position_search {
    uint32_t n;
    double *sent_later;  /* [s][i]: B times the workers sent from place s on          */
    double *back_sooner; /* [i][f]: B times the workers returned before place f       */
    double *row_sent;    /* [s][j]: send_s of those sent before s, times B            */
    double *row_back;    /* [f][j]: back_s of those returned from f on, times B       */
    double *lines;       /* CV_LINES of them                                          */
    struct cv_place_pair *pairs;
    size_t npairs;
    double steps; /* work done so far, in inner steps */
};

/* --- returns_search.c: what pairs promise --------------------------------------- */

static inline double *cv_places_line(const struct cv_position_search *places,
                                     unsigned which)
{
    return places->lines + which * ((size_t)places->n + 1);
}

/* --- returns_search.c: a single port ----------------------------------------------- */

/* --- what each pair of places for one more worker promises ------------------------- */

/* Worker x comes in behind s others in the order of sending and behind f in that of
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

static bool places_init(struct cv_position_search *places, uint32_t n, bool single,
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

/* All pairs that promise more than `least` into places->pairs. */
static void places_collect(struct cv_position_search *places,
                           const struct cv_inverse *rest, const struct cv_trip *trip,
                           double min, double port_value)
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

/* One pair of places again, in O(m). */
static struct cv_position_value places_look(const struct cv_position_search *places,
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

/* Nobody's share is below zero when x is not made to wait. `doubt` is a slot to ask
 * first: the one that failed last. */
static bool places_positive(const struct cv_position_search *places,
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

/* --- what a pair of places for one more worker does on one port -------------------- */

/* When the tight solution with x overfills the port, one worker has to wait, x or another
 * (returns_inverse.c). The prices of all rows, and what they do to the port, follow
 * from those without x in O(m), so does the best one to wait. */

/* Prepare for places_single_work. */
static void places_sum_rows(struct cv_position_search *places,
                            const struct cv_inverse *rest)
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

/* The work at a pair of places if it is above `least`; if it is not, any number that is
 * not above it either. */
static double places_single_work(const struct cv_position_search *places,
                                 const struct cv_inverse *rest,
                                 const struct cv_trip *trip,
                                 const struct cv_place_pair *at, double min)
{
    const struct cv_position_value look = places_look(places, rest, trip, at->s, at->f);
    const double *price = cv_places_line(places, CV_LINE_PRICES),
                 *port = cv_places_line(places, CV_LINE_PORT_PRICES);
    uint32_t doubt = rest->m;
    double best = -1;

    if (look.overload_s <= 0)
        return places_positive(places, rest, trip, &look, at->s, at->f, &doubt)
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

/* --- the best pair of places for one more worker ----------------------------------- */

/* All pairs are priced (returns_search.c); then the most promising are looked at
 * first, until one holds that no other can beat (returns_search.c on a single port). */

/* Of pairs that promise more on a single port this many are looked at. */
enum { MOST_LOOKS = 4000 };

static bool before(const struct cv_place_pair *a, const struct cv_place_pair *b)
{
    return a->promise > b->promise;
}

CV_HEAP(pair, struct cv_place_pair, before)

static bool best_duplex(struct cv_position_search *places, const struct cv_inverse *rest,
                        const struct cv_trip *trip, struct cv_place_pair *out)
{
    uint32_t doubt = rest->m;

    while (places->npairs > 0) {
        const struct cv_place_pair at = pair_pop(places->pairs, places->npairs--);
        const struct cv_position_value look = places_look(places, rest, trip, at.s, at.f);

        places->steps += 2.0 * rest->m;
        if (places_positive(places, rest, trip, &look, at.s, at.f, &doubt)) {
            *out = at;
            return true;
        }
    }
    return false;
}

static bool best_single(struct cv_position_search *places, const struct cv_inverse *rest,
                        const struct cv_trip *trip, double min, struct cv_place_pair *out)
{
    bool found = false;

    for (unsigned looks = 0; places->npairs > 0 && looks < MOST_LOOKS; looks++) {
        const struct cv_place_pair at = pair_pop(places->pairs, places->npairs--);
        double work;

        if (at.promise <= min)
            break;
        work = places_single_work(places, rest, trip, &at, min);
        places->steps += 12.0 * rest->m;
        if (work > min) {
            *out = (struct cv_place_pair){ work, at.s, at.f };
            min = work;
            found = true;
        }
    }
    return found;
}

/* Where among the workers of `rest` worker x, which is not one of them, does most, if
 * that is more than `least`. `port_value` is a guess of what the port is worth. False:
 * nowhere. O(m^2) and for a single port O(m) for each pair that promises more. */
static bool places_best(struct cv_position_search *places, const struct cv_inverse *rest,
                        uint32_t x, double min, double port_value,
                        struct cv_place_pair *out)
{
    const struct cv_trip *trip = &rest->returns->trips[x];

    places_collect(places, rest, trip, min, port_value);
    if (places->npairs == 0)
        return false;
    for (size_t i = places->npairs / 2; i-- > 0;)
        pair_sink(places->pairs, places->npairs, i, places->pairs[i]);
    if (!rest->returns->single)
        return best_duplex(places, rest, trip, out);
    places_sum_rows(places, rest);
    return best_single(places, rest, trip, min, out);
}

/* --- reinsertion search for the orders of sending and returning -------------------- */

/* A move must gain this part of the work: less is rounding, and could go in circles. */
static const double least_gain = 1e-10;
/* Sweeps over all workers: more than this many are needed only by rounding errors. */
enum { MOST_SWEEPS = 50 };
/* Steps after which even a first start ends. */
static const double most_steps = 30e9;
/* The usual effort: so many starts and kicks, but no new ones after this time. */
static const struct cv_search_effort usual_effort = { 5, 30, 0, 1 };
/* Up to so many workers the shares for the best orders are checked by the solver for
 * given orders, which may leave others out. */
enum { MOST_CHECKED = 16 };

struct search {
    const struct cv_returns *returns;
    struct cv_search_effort effort;
    struct cv_inverse now, rest, best;
    struct cv_position_search places;
    uint32_t *order, *shuffled;    /* all workers: by send_s; scratch */
    struct cv_round_trip plain[3]; /* FIFO, LIFO, small results */
    struct cv_random random;
};

static void swap_now(struct search *search)
{
    const struct cv_inverse keep = search->now;

    search->now = search->rest;
    search->rest = keep;
}

static uint32_t draw(struct cv_random *random, uint32_t below)
{
    const uint32_t number = (uint32_t)(cv_random_uniform(random) * below);

    return number < below ? number : below - 1;
}

/* --- one worker --------------------------------------------------------------------- */

/* Worker x to where it does most, or out. True when that gains. */
static bool move_worker(struct search *search, uint32_t x)
{
    struct cv_inverse *now = &search->now, *rest = &search->rest;
    const double min = now->score + least_gain * fabs(now->score);
    const bool inside = now->slot[x] != CV_NOBODY;
    double stay_out = -1;
    struct cv_place_pair to;

    search->places.steps += 12.0 * now->m * now->m + 50.0 * (now->m + 1);
    if (inside) {
        if (!cv_inverse_without(now, (uint32_t)now->slot[x], rest))
            return false;
        stay_out = rest->score;
    }
    if (places_best(&search->places, inside ? rest : now, x, fmax(min, stay_out),
                    now->port_value, &to)) {
        if (!inside)
            cv_inverse_copy(rest, now);
        if (cv_inverse_insert(rest, x, to.s, to.f) && rest->score > min) {
            swap_now(search);
            return true;
        }
        /* What was promised was rounding: perhaps out is better still. */
        if (!(stay_out > min) || !cv_inverse_without(now, (uint32_t)now->slot[x], rest))
            return false;
    }
    if (!(stay_out > min))
        return false;
    swap_now(search);
    return true;
}

/* Until no worker can be moved with gain. */
static void improve(struct search *search)
{
    const uint32_t n = search->returns->n;
    uint32_t since = 0;

    for (unsigned sweep = 0; sweep < MOST_SWEEPS && since < n; sweep++) {
        /* Errors do not add up over more than a sweep. */
        if (!cv_inverse_renew(&search->now))
            break;
        for (uint32_t k = 0; k < n && since < n; k++) {
            if (search->places.steps > most_steps)
                return;
            since = move_worker(search, search->order[k]) ? 0 : since + 1;
        }
    }
}

static void keep_best(struct search *search)
{
    if (search->now.score > search->best.score * (1 + least_gain))
        cv_inverse_copy(&search->best, &search->now);
}

/* --- starts and kicks --------------------------------------------------------------- */

static void insert_all(struct search *search, const uint32_t *order)
{
    cv_inverse_clear(&search->now);
    for (uint32_t k = 0; k < search->returns->n; k++)
        move_worker(search, order[k]);
}

/* Take out who would get less than nothing, one by one. */
static bool make_feasible(struct search *search)
{
    while (search->now.score < 0 && search->now.m > 0) {
        uint32_t worst = search->now.send[search->now.m - 1];

        for (uint32_t i = 0; i < search->now.m; i++)
            if (search->now.tight[i] < 0 &&
                search->now.tight[i] < search->now.tight[worst])
                worst = i;
        if (!cv_inverse_without(&search->now, worst, &search->rest))
            return false;
        swap_now(search);
    }
    return true;
}

static void start_from(struct search *search, const struct cv_round_trip *trip)
{
    if (!cv_inverse_load(&search->now, trip->send, trip->back, trip->n) ||
        !make_feasible(search))
        insert_all(search, search->order);
}

static void shuffle(struct search *search)
{
    const uint32_t n = search->returns->n;

    for (uint32_t k = 0; k < n; k++)
        search->shuffled[k] = search->order[k];
    for (uint32_t k = n; k > 1; k--) {
        const uint32_t other = draw(&search->random, k);
        const uint32_t keep = search->shuffled[k - 1];

        search->shuffled[k - 1] = search->shuffled[other];
        search->shuffled[other] = keep;
    }
}

static void start(struct search *search, uint32_t number)
{
    cv_random_at(&search->random, search->effort.seed, 0, number, 0);
    if (number == 0) {
        insert_all(search, search->order);
    } else if (number <= 3) {
        start_from(search, &search->plain[number - 1]);
    } else {
        shuffle(search);
        insert_all(search, search->shuffled);
    }
}

/* A few workers of the best schedule out, and back to random places if that can be. */
static void kick(struct search *search, uint32_t number)
{
    uint32_t thrown;

    cv_random_at(&search->random, search->effort.seed, 1, number, 0);
    cv_inverse_copy(&search->now, &search->best);
    shuffle(search);
    thrown = 2 + draw(&search->random, 3);
    thrown = thrown < search->returns->n ? thrown : search->returns->n;
    for (uint32_t k = 0; k < thrown; k++) {
        const int32_t slot = search->now.slot[search->shuffled[k]];

        if (slot != CV_NOBODY &&
            cv_inverse_without(&search->now, (uint32_t)slot, &search->rest))
            swap_now(search);
    }
    for (uint32_t k = 0; k < thrown; k++)
        for (unsigned turn = 0; turn < 4; turn++) {
            const uint32_t x = search->shuffled[k], m = search->now.m;

            if (search->now.slot[x] != CV_NOBODY)
                break;
            cv_inverse_copy(&search->rest, &search->now);
            if (cv_inverse_insert(&search->rest, x, draw(&search->random, m + 1),
                                  draw(&search->random, m + 1)) &&
                search->rest.score >= 0)
                swap_now(search);
        }
    make_feasible(search);
}

/* Steps after which nothing new begins. */
static double step_limit(const struct search *search)
{
    const struct cv_step_budget *budget = search->returns->budget;
    const double limit = search->effort.budget_s > 0
                             ? search->effort.budget_s * CV_STEPS_A_SECOND
                             : INFINITY;

    return budget != NULL ? fmin(limit, budget->limit - budget->spent) : limit;
}

static void look_around(struct search *search)
{
    const double limit = step_limit(search);

    for (uint32_t k = 0; k < search->effort.starts; k++) {
        if (k > 0 && search->places.steps > limit)
            break;
        start(search, k);
        improve(search);
        keep_best(search);
    }
    for (uint32_t k = 0; k < search->effort.kicks && search->best.m > 0; k++) {
        if (search->places.steps > limit)
            break;
        kick(search, k);
        improve(search);
        keep_best(search);
    }
    cv_step_budget_spend(search->returns->budget, search->places.steps);
}

/* --- the result --------------------------------------------------------------------- */

/* A copy in another arena. */
static enum cleave_status copy_trip(const struct cv_returns *returns,
                                    const struct cv_round_trip *trip,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    struct cleave_error *err)
{
    double *units = cv_array(arena, returns->n, sizeof *units);

    if (units == NULL)
        return cv_fail_memory(err, "schedule");
    for (uint32_t x = 0; x < returns->n; x++)
        units[x] = trip->units[x];
    return cv_returns_make(returns, trip->send, trip->back, trip->n, units,
                           trip->lifespan_s, false, arena, out, err);
}

/* Keep the better one; of equal ones the first. */
static void keep_better(struct cv_round_trip *best, const struct cv_round_trip *other)
{
    if (other->work > best->work * (1 + 1e-12))
        *best = *other;
}

static enum cleave_status finish(struct search *search, struct cv_arena *scratch,
                                 struct cv_round_trip *best, struct cleave_error *err)
{
    struct cv_inverse *found = &search->now;
    struct cv_round_trip trip;

    cv_inverse_copy(found, &search->best);
    /* Solved once more, a share of nothing may turn out to be less than that. */
    if (!cv_inverse_renew(found) || !make_feasible(search) || found->m == 0 ||
        !cv_inverse_polish(found))
        return CLEAVE_OK;
    CV_TRY(cv_inverse_result(found, scratch, &trip, err));
    keep_better(best, &trip);
    if (trip.n == 0 || trip.n > MOST_CHECKED)
        return CLEAVE_OK;
    CV_TRY(cv_returns_given(search->returns, best->send, best->back, best->n,
                            best->lifespan_s, scratch, &trip, err));
    keep_better(best, &trip);
    return CLEAVE_OK;
}

/* --- all of it ---------------------------------------------------------------------- */

static enum cleave_status init(struct search *search, double lifespan_s,
                               struct cv_arena *scratch, struct cleave_error *err)
{
    const struct cv_returns *returns = search->returns;
    double *keys = cv_array(scratch, returns->n, sizeof *keys);

    if (keys == NULL || !CV_NEW(scratch, search->order, returns->n) ||
        !CV_NEW(scratch, search->shuffled, returns->n) ||
        !cv_inverse_init(&search->now, returns, lifespan_s, scratch) ||
        !cv_inverse_init(&search->rest, returns, lifespan_s, scratch) ||
        !cv_inverse_init(&search->best, returns, lifespan_s, scratch) ||
        !places_init(&search->places, returns->n, returns->single, scratch))
        return cv_fail_memory(err, "order search");
    for (uint32_t x = 0; x < returns->n; x++)
        keys[x] = returns->trips[x].send_s;
    if (!cv_returns_sort(keys, returns->n, scratch, search->order))
        return cv_fail_memory(err, "order search");
    return CLEAVE_OK;
}

static enum cleave_status search_in(struct search *search, double lifespan_s,
                                    struct cv_arena *scratch, struct cv_round_trip *best,
                                    struct cleave_error *err)
{
    const struct cv_returns *returns = search->returns;
    struct cv_round_trip *plain = search->plain;

    CV_TRY(cv_returns_fifo(returns, lifespan_s, scratch, &plain[0], err));
    CV_TRY(cv_returns_lifo(returns, lifespan_s, scratch, &plain[1], err));
    CV_TRY(cv_returns_small(returns, lifespan_s, scratch, &plain[2], NULL, err));
    *best = plain[0];
    keep_better(best, &plain[1]);
    keep_better(best, &plain[2]);
    if (returns->n > CV_SEARCH_MOST)
        return CLEAVE_OK;
    CV_TRY(init(search, lifespan_s, scratch, err));
    look_around(search);
    return finish(search, scratch, best, err);
}

enum cleave_status cv_returns_search(const struct cv_returns *returns, double lifespan_s,
                                     const struct cv_search_effort *effort,
                                     struct cv_arena *arena, struct cv_round_trip *out,
                                     struct cleave_error *err)
{
    struct search search = { .returns = returns };
    struct cv_round_trip best;
    struct cv_arena scratch;
    enum cleave_status status;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    if (cv_returns_hopeless(returns, lifespan_s))
        return cv_returns_nothing(returns, lifespan_s, arena, out, err);
    if (effort != NULL)
        search.effort = *effort;
    if (search.effort.starts == 0) {
        search.effort = usual_effort;
        search.effort.seed = effort != NULL ? effort->seed : 0;
    }
    cv_arena_init(&scratch);
    status = search_in(&search, lifespan_s, &scratch, &best, err);
    if (status == CLEAVE_OK)
        status = copy_trip(returns, &best, arena, out, err);
    if (status == CLEAVE_OK)
        out->optimal = returns->n == 1;
    cv_arena_done(&scratch);
    return status;
}
