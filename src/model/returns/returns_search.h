/* returns_search.h -- the best orders of sending and returning.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RETURNS_SEARCH_H
#define CV_RETURNS_SEARCH_H
#include "model/returns/returns.h"

struct cv_search_effort {
    uint32_t
        starts;     /* 1: insertion by increasing send_s; more: FIFO, LIFO, small results,
                        then random insertions; 0: as much as is reasonable for n       */
    uint32_t kicks; /* random changes, each followed by improvement                    */
    uint64_t seed;
    double budget_s; /* after it no new start or kick begins; counted in steps of about
                        1 ns, so results do not depend on the machine; 0: none          */
};

/* Above this many workers the search is the best of FIFO, LIFO and small results. */
enum { CV_SEARCH_MOST = 1000 };
/* Reinsertion search: never worse than the best of FIFO and LIFO. It chooses the
 * workers, too. `effort` may be NULL: all 0. `optimal` only for n = 1. */
enum cleave_status cv_returns_search(const struct cv_returns *returns, double lifespan_s,
                                     const struct cv_search_effort *effort,
                                     struct cv_arena *arena, struct cv_round_trip *out,
                                     struct cleave_error *err);

/* Most workers of the exact search. */
enum { CV_EXACT_MOST = 8 };
/* The optimum over all sets of workers and all pairs of orders, proved to about 1e-9
 * of the work. Takes a second for 7 workers, a minute or two for 8. */
enum cleave_status cv_returns_exact(const struct cv_returns *returns, double lifespan_s,
                                    struct cv_arena *arena, struct cv_round_trip *out,
                                    struct cleave_error *err);

#endif
