/* rounds_link.h -- one worker behind a link of its own, with results that come back.
 * SPDX-License-Identifier: MIT
 *
 * Its messages share nothing with those of others, so that the most units that it does by a
 * time T is a matter of its own: chunks pass the link, the worker and the link back, one after
 * the other. For K chunks and all i <= j
 *
 *     sends up to i + computations from i to j + returns from j on <= T,
 *
 * and the most units are a linear program. Results that overtake each other gain nothing. So
 * the best over all K is the best of all schedules: docs/theory/rounds.md. */
#ifndef CV_ROUNDS_LINK_H
#define CV_ROUNDS_LINK_H
#include "model/returns/returns.h"
#include "model/simplex/tableau.h"

/* Up to so many chunks the program is solved; more come from a closed form. */
enum { CV_LINK_PROGRAM = 16 };

struct cv_rounds_link {
    struct cv_trip trip;
    double memory; /* units of the largest chunk; INFINITY: any */
};

/* The best way found to be done by a given time. */
struct cv_link_best {
    uint32_t chunks;
    double units;
    double *sizes; /* in the room: until it is used again */
};

struct cv_link_workspace {
    struct cv_arena *arena;
    struct cv_tableau programs[CV_LINK_PROGRAM + 1]; /* by number of chunks, as needed */
    double *sizes, *trial, *values, *prices;
    bool out_of_memory;
    double spent; /* about nanoseconds of work */
};

/* False when memory is short. */
bool cv_link_room_init(struct cv_link_workspace *room, struct cv_arena *arena);

/* The most units found that are done by a time. `hint`: about so many chunks are best; 0: not
 * known. */
struct cv_link_best cv_link_best(struct cv_link_workspace *room,
                                 const struct cv_rounds_link *link, double time_s,
                                 uint32_t hint);
/* What no schedule of so many chunks exceeds, from the multipliers of its program: value +
 * slope * (time - time_s) units by a time of time_s or less. Whatever the multipliers are,
 * that holds; how near it is, they decide. */
struct cv_link_line {
    bool known;
    double value, slope;
};

struct cv_link_lines {
    double time_s;
    struct cv_link_line line[CV_LINK_PROGRAM + 1]; /* by number of chunks */
};

void cv_link_price(struct cv_link_workspace *room, const struct cv_rounds_link *link,
                   double time_s, struct cv_link_lines *out);
/* No schedule does more by a time of lines->time_s or less. */
double cv_link_most(const struct cv_rounds_link *link, const struct cv_link_lines *lines,
                    double time_s);
/* The same at once, and not as near: from the time of the port, the worker and the way back
 * for `chunks` or more of them. */
double cv_link_cap(const struct cv_rounds_link *link, uint32_t chunks, double time_s);

/* When the last result of such chunks is back. */
double cv_link_end(const struct cv_rounds_link *link, const double *sizes,
                   uint32_t chunks);

#endif
