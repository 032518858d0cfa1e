/* rounds_links.h -- several rounds with results where every worker has a port of its own.
 * SPDX-License-Identifier: MIT
 *
 * Links that share no port are independent (rounds_links.h): the makespan of a load is the
 * least time by which what all can do sums up to it. */
#ifndef CV_ROUNDS_LINKS_H
#define CV_ROUNDS_LINKS_H
#include "model/returns/returns.h"
#include "model/rounds/rounds.h"
#include "model/simplex/simplex.h"

/* The best plan found for the load, or, with a lifespan above 0, of the most work in it;
 * *out_load is its load. Chunks are listed worker by worker; `single` does not matter. */
enum cleave_status cv_rounds_links(const struct cv_rounds *rounds, double lifespan_s,
                                   struct cv_arena *arena, struct cv_rounds_plan *out,
                                   double *out_load, struct cleave_error *err);

/* A makespan that no schedule beats, or with a lifespan the units that none exceeds: what the
 * plan takes, to nine digits, where workers get up to 16 chunks. 0 when there are too many
 * kinds of workers, negative when memory is short. */
double cv_rounds_links_bound(const struct cv_rounds *rounds, double lifespan_s,
                             struct cv_arena *scratch);

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

/* When the last result of such chunks is back. */
double cv_link_end(const struct cv_rounds_link *link, const double *sizes,
                   uint32_t chunks);

#endif
