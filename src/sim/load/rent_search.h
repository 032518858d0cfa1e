/* rent_search.h -- sets of workers to pay for, and what comes of them.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RENT_SEARCH_H
#define CV_RENT_SEARCH_H
#include <cleave/run.h>
#include "sim/load/rent_words.h"

/* A set of workers, and what the policy makes of it. */
struct cv_paid_set {
    uint32_t *members; /* in the order of the platform */
    uint32_t n;
    double makespan_s, cost;
    const struct cv_plan *chunks; /* NULL: by the policy */
};

struct cv_rent_search {
    const struct cleave_job *job;
    const struct cleave_rental_terms *terms;
    struct cv_arena *arena;
    const struct cleave_worker *workers; /* packing included */
    double *costs;
    uint32_t nworkers;
    uint32_t *order; /* cheapest unit first */
    struct cv_rent_words words;
    bool sizes; /* chosen for the price */
    struct cv_paid_set best;
    bool any;
    double fastest_s, cheapest; /* of all that was tried */
    struct cleave_error first;  /* why nothing could be planned */
    bool refused;
};

/* Set costs and order; false: memory is short. */
bool cv_rent_sort(struct cv_rent_search *search);
/* Try sets and orders; the best that keeps to the terms is in `best` if there is `any`. */
enum cleave_status cv_rent_look(struct cv_rent_search *search, struct cleave_error *err);

/* The platform of some of the workers. */
enum cleave_status cv_rent_part(const struct cleave_platform *whole,
                                const uint32_t *members, uint32_t n,
                                struct cv_arena *arena, struct cleave_platform **out,
                                struct cleave_error *err);
/* The list of chunks as policy chunks reads it; NULL: memory is short. */
char *cv_rent_list(const struct cv_plan *plan, struct cv_arena *arena);

#endif
