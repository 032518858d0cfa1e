/* returns_search_places.h -- the best pair of places for one more worker.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RETURNS_SEARCH_PLACES_H
#define CV_RETURNS_SEARCH_PLACES_H
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

/* Where among the workers of `rest` worker x, which is not one of them, does most, if
 * that is more than `least`. `port_value` is a guess of what the port is worth. False:
 * nowhere. O(m^2) and for a single port O(m) for each pair that promises more. */
bool cv_places_best(struct cv_position_search *places, const struct cv_inverse *rest,
                    uint32_t x, double min, double port_value, struct cv_place_pair *out);

/* --- returns_search_looks.c: what pairs promise --------------------------------------- */

bool cv_places_init(struct cv_position_search *places, uint32_t n, bool single,
                    struct cv_arena *arena);

static inline double *cv_places_line(const struct cv_position_search *places,
                                     unsigned which)
{
    return places->lines + which * ((size_t)places->n + 1);
}

/* All pairs that promise more than `least` into places->pairs. */
void cv_places_collect(struct cv_position_search *places, const struct cv_inverse *rest,
                       const struct cv_trip *trip, double min, double port_value);
/* One pair of places again, in O(m). */
struct cv_position_value cv_places_look(const struct cv_position_search *places,
                                        const struct cv_inverse *rest,
                                        const struct cv_trip *trip, uint32_t s,
                                        uint32_t f);
/* Nobody's share is below zero when x is not made to wait. `doubt` is a slot to ask
 * first: the one that failed last. */
bool cv_places_positive(const struct cv_position_search *places,
                        const struct cv_inverse *rest, const struct cv_trip *trip,
                        const struct cv_position_value *look, uint32_t s, uint32_t f,
                        uint32_t *doubt);

/* --- returns_search_port.c: a single port ----------------------------------------------- */

/* Prepare for cv_places_single_work. */
void cv_places_sum_rows(struct cv_position_search *places, const struct cv_inverse *rest);
/* The work at a pair of places if it is above `least`; if it is not, any number that is
 * not above it either. */
double cv_places_single_work(const struct cv_position_search *places,
                             const struct cv_inverse *rest, const struct cv_trip *trip,
                             const struct cv_place_pair *at, double min);

#endif
