/* returns_exact_internal.h -- what the exact search for orders is made of.
 * SPDX-License-Identifier: MIT
 *
 * Workers come in one after the other; a level is what there is after some of them. */
#ifndef CV_RETURNS_EXACT_INTERNAL_H
#define CV_RETURNS_EXACT_INTERNAL_H
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

/* Running sums over the inverse, see returns_search_places.c. */
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

/* Solve the orders of a level afresh, with x put in at places s and f, and keep them if they
 * are better. Does nothing while bounding. */
void cv_exact_try_pair(struct cv_exact *exact, const struct cv_exact_level *level,
                       uint32_t x, uint32_t s, uint32_t f);
/* The workers of the level and no others. */
void cv_exact_try_level(struct cv_exact *exact, const struct cv_exact_level *level);
/* Can workers from x on, put in where they do most, lead to something better? Prices are
 * left for the value of the port that says least. */
bool cv_exact_hopeful(const struct cv_exact *exact, struct cv_exact_level *level,
                      uint32_t x);
/* Prices for another value of the port. */
void cv_exact_price_port(struct cv_exact_level *level, double value);

void cv_exact_sum(const struct cv_exact *exact, const struct cv_exact_level *level,
                  struct cv_exact_sums *sums);
/* The level with x at s and f. Rows of the inverse have zeros at their ends. */
void cv_exact_insert(const struct cv_exact *exact, const struct cv_exact_level *from,
                     const struct cv_exact_sums *sums, uint32_t x, uint32_t s, uint32_t f,
                     struct cv_exact_level *to);
/* Worker x, the last one, at all pairs of places from `first_s` on. Prices of the level
 * are changed. */
void cv_exact_try_last(struct cv_exact *exact, struct cv_exact_level *level, uint32_t x,
                       uint32_t first_s);

#endif
