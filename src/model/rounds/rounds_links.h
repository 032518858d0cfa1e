/* rounds_links.h -- several rounds with results if links share no port.
 * SPDX-License-Identifier: MIT
 *
 * The links are independent: the makespan of a load is the least time by which the work of all
 * workers sums up to it. */
#ifndef CV_ROUNDS_LINKS_H
#define CV_ROUNDS_LINKS_H
#include "model/returns/returns.h"
#include "model/rounds/rounds.h"
#include "model/simplex/simplex.h"

/* The best plan found for the load or, with a lifespan above 0, for the most work in it;
 * *out_load is its load. Chunks are listed worker by worker; `single` is not read. */
enum cleave_status cv_rounds_links(const struct cv_rounds *rounds, double lifespan_s,
                                   struct cv_arena *arena, struct cv_rounds_plan *out,
                                   double *out_load, struct cleave_error *err);

/* A lower bound on the makespan or, with a lifespan, an upper bound on the units: equal to the
 * plan to nine digits if workers get up to 16 chunks. 0: too many kinds of workers;
 * negative: memory is short. */
double cv_rounds_links_bound(const struct cv_rounds *rounds, double lifespan_s,
                             struct cv_arena *scratch);

/* Most chunks for which the program is solved; for more there is a closed form. */
enum { CV_LINK_PROGRAM = 16 };

struct cv_rounds_link {
    struct cv_trip trip;
    double memory; /* units of the largest chunk; INFINITY: any */
};

struct cv_link_best {
    uint32_t chunks;
    double units;
    double *sizes; /* in the workspace, valid until its next use */
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

/* The most units found by a time. `hint`: a good number of chunks; 0: not known. */
struct cv_link_best cv_link_best(struct cv_link_workspace *room,
                                 const struct cv_rounds_link *link, double time_s,
                                 uint32_t hint);
/* An upper bound for one number of chunks, from multipliers of its program: value + slope *
 * (time - time_s) units by any time up to time_s. It is valid for any multipliers. */
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
/* An upper bound on the units by any time up to lines->time_s. */
double cv_link_most(const struct cv_rounds_link *link, const struct cv_link_lines *lines,
                    double time_s);

/* The time at which the last result is back. */
double cv_link_end(const struct cv_rounds_link *link, const double *sizes,
                   uint32_t chunks);

#endif
