/* returns_search.c -- reinsertion search for the orders of sending and returning.
 * SPDX-License-Identifier: MIT
 *
 * Each worker in turn is taken out, all pairs of places for it are priced at once, and it goes
 * to the best pair or stays out, until no move gains: O(n^2) a worker, O(n^3) a sweep, few
 * sweeps. Swapping neighbours is not enough: often a worker has to move in both orders at once.
 *
 * Starts: workers inserted one by one, fastest link first; FIFO, LIFO and the order for
 * small results; random insertions. Then kicks: a few workers of the best schedule move
 * to random places, and the search continues from there. */
#include "model/returns/returns_search.h"

#include <math.h>
#include <string.h>
#include "base/fail.h"
#include "base/heap.h"
#include "base/random.h"
#include "model/returns/returns_internal.h"
#include "model/returns/returns_inverse.h"

/* --- the best pair of places for one more worker -------------------------------------- */

/* Worker x comes after s others in the order of sending and after f in that of returning. Its
 * column u is send_s of x for workers sent later plus back_s of x for workers returned
 * sooner; its row v is send_s of workers sent sooner plus back_s of workers returned later.
 * So v B u, with B the inverse, has four parts, each a sum of B over a rectangle given by s or
 * f at either end, and all (m + 1)^2 pairs are priced from running sums: two parts depend
 * on s or f alone, the other two are tables. This gives the share of x and the total work in
 * O(1) a pair, fixed costs included. That no share is negative takes O(m), and is checked
 * for the most promising pairs first, until one holds that no other can beat.
 *
 * On a single port a pair promises work(tight) - port_value * overload: an upper bound if the
 * prices of the rows at that port_value are not negative. If the tight solution with x
 * overfills the port, one worker has to wait (returns_inverse.c); the prices of all rows,
 * and the effect of rows on the port, follow from those without x in O(m). */

/* Most pairs that are examined on a single port. */
enum { MOST_LOOKS = 4000 };

/* Worker x at a pair of places. */
struct look {
    double pivot, share; /* of x                                  */
    double price, port;  /* worth and port time of a unit of x    */
    double work, overload_s;
};

struct pair {
    double promise; /* work */
    uint32_t s, f;
};

struct places {
    const struct cv_inverse *rest; /* the workers without x */
    const struct cv_trip *trip;    /* of x                  */
    size_t side;                   /* n + 1                 */
    double *sent_later;            /* [s][i]: B times the workers sent from place s   */
    double *back_sooner;           /* [i][f]: B times the workers returned before f   */
    double *row_sent;              /* [s][j]: send_s of workers sent before s, times B */
    double *row_back; /* [f][j]: back_s of workers returned from f, times B */
    double *sent_cost, *table_sent;   /* the two parts of v B (sent later)      */
    double *back_cost, *table_back;   /* the two parts of v B (returned sooner) */
    double *row_sent_s, *row_back_s;  /* seconds of workers sent sooner, returned later */
    double *later, *sooner;           /* sums of prices: sent later, returned sooner */
    double *port_later, *port_sooner; /* sums of port prices */
    double *units, *prices, *ports;   /* per row with x, x last, on a single port */
    struct pair *pairs;
    size_t npairs;
    double steps; /* work done, in inner steps */
};

static bool places_init(struct places *places, uint32_t n, bool single,
                        struct cv_arena *arena)
{
    const size_t side = (size_t)n + 1, table = side * side;
    double **lines[] = { &places->sent_cost,   &places->table_sent, &places->back_cost,
                         &places->table_back,  &places->row_sent_s, &places->row_back_s,
                         &places->later,       &places->sooner,     &places->port_later,
                         &places->port_sooner, &places->units,      &places->prices,
                         &places->ports };

    *places = (struct places){ .side = side };
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        if (!CV_NEW(arena, *lines[k], side))
            return false;
    return CV_NEW(arena, places->sent_later, table) &&
           CV_NEW(arena, places->back_sooner, table) &&
           CV_NEW(arena, places->pairs, table) &&
           CV_NEW(arena, places->row_sent, single ? table : 0) &&
           CV_NEW(arena, places->row_back, single ? table : 0);
}

static void sum_columns(struct places *places)
{
    const struct cv_inverse *rest = places->rest;
    const uint32_t m = rest->m, n = rest->n;

    memset(places->sent_later + m * places->side, 0, m * sizeof(double));
    for (uint32_t s = m; s-- > 0;) {
        double *now = places->sent_later + s * places->side;
        const double *next = now + places->side, *column = rest->inverse + rest->send[s];

        for (uint32_t i = 0; i < m; i++)
            now[i] = next[i] + column[(size_t)i * n];
    }
    memset(places->back_cost, 0, (m + 1) * sizeof(double));
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t j = rest->back[k];
        const double *row = rest->inverse + (size_t)j * n,
                     cost = cv_inverse_trip(rest, j)->back_s;
        double *sums = places->back_sooner + j * places->side, sum = 0;

        sums[0] = 0;
        for (uint32_t f = 0; f < m; f++)
            sums[f + 1] = sum += row[rest->back[f]];
        for (uint32_t f = 0; f <= k; f++)
            places->back_cost[f] += cost * sums[f];
    }
}

static void sum_lines(struct places *places)
{
    const struct cv_inverse *rest = places->rest;
    const uint32_t m = rest->m;

    places->row_sent_s[0] = places->row_back_s[m] = 0;
    places->later[m] = places->sooner[0] = 0;
    places->port_later[m] = places->port_sooner[0] = 0;
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = rest->send[k], j = rest->back[k];

        places->row_sent_s[k + 1] = places->row_sent_s[k] +
                                    cv_inverse_trip(rest, i)->send_s * rest->tight[i] +
                                    cv_inverse_trip(rest, i)->send_fixed_s;
        places->sooner[k + 1] = places->sooner[k] + rest->price[j];
        places->port_sooner[k + 1] = places->port_sooner[k] + rest->port_price[j];
    }
    for (uint32_t k = m; k-- > 0;) {
        const uint32_t i = rest->send[k], j = rest->back[k];

        places->row_back_s[k] = places->row_back_s[k + 1] +
                                cv_inverse_trip(rest, j)->back_s * rest->tight[j] +
                                cv_inverse_trip(rest, j)->back_fixed_s;
        places->later[k] = places->later[k + 1] + rest->price[i];
        places->port_later[k] = places->port_later[k + 1] + rest->port_price[i];
    }
    for (uint32_t s = 0; s <= m; s++) {
        const double *sums = places->sent_later + s * places->side;
        double sum = 0;

        for (uint32_t k = 0; k < s; k++)
            sum += cv_inverse_trip(rest, rest->send[k])->send_s * sums[rest->send[k]];
        places->sent_cost[s] = sum;
    }
}

/* Tables for place s, from the tables for s - 1. */
static void step_tables(struct places *places, uint32_t s)
{
    const struct cv_inverse *rest = places->rest;
    const uint32_t m = rest->m;
    const double *sums = places->sent_later + s * places->side;
    double sum = 0;

    if (s == 0) {
        memset(places->table_back, 0, (m + 1) * sizeof(double));
    } else {
        const uint32_t j = rest->send[s - 1];
        const double *row = places->back_sooner + j * places->side;
        const double cost = cv_inverse_trip(rest, j)->send_s;

        for (uint32_t f = 0; f <= m; f++)
            places->table_back[f] += cost * row[f];
    }
    places->table_sent[m] = 0;
    for (uint32_t f = m; f-- > 0;) {
        const uint32_t j = rest->back[f];

        places->table_sent[f] = sum += cv_inverse_trip(rest, j)->back_s * sums[j];
    }
}

static struct look look_at(const struct places *places, uint32_t s, uint32_t f,
                           double table_back, double table_sent)
{
    const struct cv_inverse *rest = places->rest;
    const struct cv_trip *trip = places->trip;
    const double sent = places->sent_cost[s] + table_sent;
    const double back = table_back + places->back_cost[f];
    const double later = places->later[s], sooner = places->sooner[f];
    const double port_later = places->port_later[s], port_sooner = places->port_sooner[f];
    const double row_s = rest->lifespan_s - cv_trip_once_s(trip) - places->row_sent_s[s] -
                         places->row_back_s[f] + trip->send_fixed_s * sent +
                         trip->back_fixed_s * back;
    struct look look;

    look.pivot = cv_trip_unit_s(trip) - trip->send_s * sent - trip->back_s * back;
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

/* All pairs that promise more than `min`, into places->pairs. */
static void collect_pairs(struct places *places, double min, double port_value)
{
    const uint32_t m = places->rest->m;
    const bool single = places->rest->returns->single;

    sum_columns(places);
    sum_lines(places);
    places->npairs = 0;
    for (uint32_t s = 0; s <= m; s++) {
        step_tables(places, s);
        for (uint32_t f = 0; f <= m; f++) {
            const struct look look =
                look_at(places, s, f, places->table_back[f], places->table_sent[f]);
            const bool over = single && look.overload_s > 0;
            const double promise =
                over ? look.work - port_value * look.overload_s : look.work;

            if (promise > min && (over || look.share > 0))
                places->pairs[places->npairs++] = (struct pair){ promise, s, f };
        }
    }
    places->steps += 12 * (double)m * m;
}

/* One pair of places again, in O(m). */
static struct look look_again(const struct places *places, const struct pair *at)
{
    const struct cv_inverse *rest = places->rest;
    const size_t side = places->side;
    double table_back = 0, table_sent = 0;

    for (uint32_t k = 0; k < at->s; k++) {
        const uint32_t j = rest->send[k];

        table_back +=
            cv_inverse_trip(rest, j)->send_s * places->back_sooner[j * side + at->f];
    }
    for (uint32_t k = at->f; k < rest->m; k++) {
        const uint32_t j = rest->back[k];

        table_sent +=
            cv_inverse_trip(rest, j)->back_s * places->sent_later[at->s * side + j];
    }
    return look_at(places, at->s, at->f, table_back, table_sent);
}

/* The share of slot i when x is at these places and does not wait. */
static double share_of(const struct places *places, const struct look *look,
                       const struct pair *at, uint32_t i)
{
    const struct cv_trip *trip = places->trip;
    const double sent = trip->send_fixed_s + look->share * trip->send_s;
    const double back = trip->back_fixed_s + look->share * trip->back_s;

    return places->rest->tight[i] - sent * places->sent_later[at->s * places->side + i] -
           back * places->back_sooner[i * places->side + at->f];
}

/* Whether no share is negative when x does not wait. `doubt` is the slot that failed last: it
 * is checked first. */
static bool all_positive(const struct places *places, const struct look *look,
                         const struct pair *at, uint32_t *doubt)
{
    const double min = -CV_SHARE_NOISE * fabs(look->work);
    const uint32_t m = places->rest->m;

    for (uint32_t k = 0; k <= m; k++) {
        const uint32_t i = k == 0 ? *doubt : k - 1;

        if (i < m && !(share_of(places, look, at, i) >= min)) {
            *doubt = i;
            return false;
        }
    }
    return look->share > 0;
}

static void sum_rows(struct places *places)
{
    const struct cv_inverse *rest = places->rest;
    const uint32_t m = rest->m, n = rest->n;

    memset(places->row_sent, 0, m * sizeof(double));
    memset(places->row_back + m * places->side, 0, m * sizeof(double));
    for (uint32_t k = 0; k < m; k++) {
        const uint32_t i = rest->send[k];
        const double *row = rest->inverse + (size_t)i * n,
                     cost = cv_inverse_trip(rest, i)->send_s;
        const double *from = places->row_sent + k * places->side;
        double *to = places->row_sent + (k + 1) * places->side;

        for (uint32_t j = 0; j < m; j++)
            to[j] = from[j] + cost * row[j];
    }
    for (uint32_t k = m; k-- > 0;) {
        const uint32_t i = rest->back[k];
        const double *row = rest->inverse + (size_t)i * n,
                     cost = cv_inverse_trip(rest, i)->back_s;
        const double *from = places->row_back + (k + 1) * places->side;
        double *to = places->row_back + k * places->side;

        for (uint32_t j = 0; j < m; j++)
            to[j] = from[j] + cost * row[j];
    }
}

static double row_of(const struct places *places, const struct pair *at, uint32_t j)
{
    return places->row_sent[at->s * places->side + j] +
           places->row_back[at->f * places->side + j];
}

/* Shares, prices of rows and their effect on the port, with x as the last. */
static void set_lines(const struct places *places, const struct look *look,
                      const struct pair *at)
{
    const struct cv_inverse *rest = places->rest;
    const uint32_t m = rest->m;
    double *price = places->prices, *port = places->ports;

    places->units[m] = look->share;
    price[m] = look->price / look->pivot;
    port[m] = look->port / look->pivot;
    for (uint32_t j = 0; j < m; j++) {
        const double row = row_of(places, at, j);

        places->units[j] = share_of(places, look, at, j);
        price[j] = rest->price[j] - price[m] * row;
        port[j] = rest->port_price[j] - port[m] * row;
    }
}

/* Whether no share is negative when worker k waits. */
static bool wait_positive(const struct places *places, const struct look *look,
                          const struct pair *at, uint32_t k)
{
    const struct cv_inverse *rest = places->rest;
    const uint32_t m = rest->m;
    const size_t side = places->side;
    const double wait = look->overload_s / places->ports[k];
    const double row = k == m ? -1 : row_of(places, at, k);
    const double min = -CV_SHARE_NOISE * fabs(look->work), of_x = -row / look->pivot;

    if (!(places->units[m] - wait * of_x >= min))
        return false;
    for (uint32_t i = 0; i < m; i++) {
        const double column =
            places->trip->send_s * places->sent_later[at->s * side + i] +
            places->trip->back_s * places->back_sooner[i * side + at->f];
        const double own = k == m ? 0 : rest->inverse[(size_t)i * rest->n + k];

        if (!(places->units[i] - wait * (own - of_x * column) >= min))
            return false;
    }
    return true;
}

/* The work at a pair of places on a single port; at most `min` if it is not above it. */
static double single_work(const struct places *places, const struct pair *at, double min)
{
    const struct look look = look_again(places, at);
    uint32_t doubt = places->rest->m;
    double best = -1;

    if (look.overload_s <= 0)
        return all_positive(places, &look, at, &doubt) ? look.work : -1;
    set_lines(places, &look, at);
    for (uint32_t k = 0; k <= places->rest->m; k++) {
        const double port = places->ports[k];
        const double work = look.work - look.overload_s * places->prices[k] / port;

        if (port > 0 && work > min && work > best && wait_positive(places, &look, at, k))
            best = work;
    }
    return best;
}

static bool before(const struct pair *a, const struct pair *b)
{
    return a->promise > b->promise;
}

CV_HEAP(pair, struct pair, before)

static bool best_duplex(struct places *places, struct pair *out)
{
    uint32_t doubt = places->rest->m;

    while (places->npairs > 0) {
        struct look look;

        *out = pair_pop(places->pairs, places->npairs--);
        look = look_again(places, out);
        places->steps += 2.0 * places->rest->m;
        if (all_positive(places, &look, out, &doubt))
            return true;
    }
    return false;
}

static bool best_single(struct places *places, double min, struct pair *out)
{
    bool found = false;

    for (unsigned looks = 0; places->npairs > 0 && looks < MOST_LOOKS; looks++) {
        const struct pair at = pair_pop(places->pairs, places->npairs--);
        double work;

        if (at.promise <= min)
            break;
        work = single_work(places, &at, min);
        places->steps += 12.0 * places->rest->m;
        if (work > min) {
            *out = (struct pair){ work, at.s, at.f };
            min = work;
            found = true;
        }
    }
    return found;
}

/* The pair of places among the workers of `rest` at which worker x, not one of them, does
 * most; false if that is not more than `min`. `port_value` is a guess of the worth of the
 * port. O(m^2), and O(m) for each promising pair of a single port. */
static bool best_places(struct places *places, const struct cv_inverse *rest, uint32_t x,
                        double min, double port_value, struct pair *out)
{
    places->rest = rest;
    places->trip = &rest->returns->trips[x];
    collect_pairs(places, min, port_value);
    if (places->npairs == 0)
        return false;
    for (size_t i = places->npairs / 2; i-- > 0;)
        pair_sink(places->pairs, places->npairs, i, places->pairs[i]);
    if (!rest->returns->single)
        return best_duplex(places, out);
    sum_rows(places);
    return best_single(places, min, out);
}

/* A move must gain this part of the work: less is rounding and could cycle. */
static const double least_gain = 1e-10;
/* Sweeps over all workers: only rounding errors need more. */
enum { MOST_SWEEPS = 50 };
/* Steps after which even a first start ends. */
static const double most_steps = 30e9;
/* Starts, kicks, seed, and seconds after which neither begins. */
static const struct cv_search_effort usual_effort = { 5, 30, 0, 1 };
/* Most workers for which the solver for given orders improves the shares of the result: it may
 * leave out other workers. */
enum { MOST_CHECKED = 16 };

struct search {
    const struct cv_returns *returns;
    struct cv_search_effort effort;
    struct cv_inverse now, rest, best;
    struct places places;
    uint32_t *order, *shuffled;    /* all workers: by send_s; scratch */
    struct cv_round_trip plain[3]; /* FIFO, LIFO, small results */
    struct cv_random random;
};

/* Accept search->rest. */
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

/* Move worker x to its best places, or out. False if that gains nothing. */
static bool move_worker(struct search *search, uint32_t x)
{
    struct cv_inverse *now = &search->now, *rest = &search->rest;
    const double min = now->score + least_gain * fabs(now->score);
    const bool inside = now->slot[x] != CV_NOBODY;
    double stay_out = -1;
    struct pair to;

    search->places.steps += 12.0 * now->m * now->m + 50.0 * (now->m + 1);
    if (inside) {
        if (!cv_inverse_without(now, (uint32_t)now->slot[x], rest))
            return false;
        stay_out = rest->score;
    }
    if (best_places(&search->places, inside ? rest : now, x, fmax(min, stay_out),
                    now->port_value, &to)) {
        if (!inside)
            cv_inverse_copy(rest, now);
        if (cv_inverse_insert(rest, x, to.s, to.f) && rest->score > min) {
            swap_now(search);
            return true;
        }
        /* The promise was rounding: perhaps out is better. */
        if (!(stay_out > min) || !cv_inverse_without(now, (uint32_t)now->slot[x], rest))
            return false;
    }
    if (!(stay_out > min))
        return false;
    swap_now(search);
    return true;
}

static void improve(struct search *search)
{
    const uint32_t n = search->returns->n;
    uint32_t since = 0;

    for (unsigned sweep = 0; sweep < MOST_SWEEPS && since < n; sweep++) {
        /* Rounding errors of one sweep only. */
        if (!cv_inverse_renew(&search->now))
            break;
        for (uint32_t k = 0; k < n && since < n; k++) {
            if (search->places.steps > most_steps)
                return;
            since = move_worker(search, search->order[k]) ? 0 : since + 1;
        }
    }
}

static void insert_all(struct search *search, const uint32_t *order)
{
    cv_inverse_clear(&search->now);
    for (uint32_t k = 0; k < search->returns->n; k++)
        move_worker(search, order[k]);
}

/* Take out workers with negative shares, one by one. */
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

    memcpy(search->shuffled, search->order, n * sizeof *search->order);
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

/* Move a few workers of the best schedule to random places. */
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

/* Steps after which no start or kick begins. */
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
    const uint32_t starts = search->effort.starts;
    const double limit = step_limit(search);

    for (uint64_t k = 0; k < starts + (uint64_t)search->effort.kicks; k++) {
        if ((k > 0 && search->places.steps > limit) ||
            (k >= starts && search->best.m == 0))
            break;
        if (k < starts)
            start(search, (uint32_t)k);
        else
            kick(search, (uint32_t)(k - starts));
        improve(search);
        if (search->now.score > search->best.score * (1 + least_gain))
            cv_inverse_copy(&search->best, &search->now);
    }
    cv_step_budget_spend(search->returns->budget, search->places.steps);
}

static enum cleave_status copy_trip(const struct cv_returns *returns,
                                    const struct cv_round_trip *trip,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    struct cleave_error *err)
{
    double *units = cv_array(arena, returns->n, sizeof *units);

    if (units == NULL)
        return cv_fail_memory(err, "schedule");
    memcpy(units, trip->units, returns->n * sizeof *units);
    return cv_returns_make(returns, trip->send, trip->back, trip->n, units,
                           trip->lifespan_s, false, arena, out, err);
}

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
    /* Solved again, a share of 0 may become negative. */
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
