/* load_bounds.h -- bounds for schedules, results included.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LOAD_BOUNDS_H
#define CV_LOAD_BOUNDS_H
#include "model/load/bounds.h"
#include "model/leaders/led_tree.h"

struct cv_bound_query {
    const struct cleave_worker *workers;
    const struct cleave_profile
        *profiles; /* per worker; NULL: speeds do not change     */
    uint32_t nworkers;
    enum cleave_port port;
    double load;          /* units, when there is no lifespan                        */
    double lifespan_s;    /* above 0: bounds are the most units by then */
    double result_ratio;  /* units of result per unit of load                        */
    bool one_round;       /* only schedules with at most one chunk per worker        */
    const double *memory; /* per worker: units of the largest chunk; NULL: any      */
    const bool *leads;    /* per worker: its costs are cv_led_stand_in's; NULL: none */
    const struct cv_led_tree
        *tree; /* the tree of leaders, with exact costs; NULL: unknown */
};

/* With profiles there are two: "available", on the integrals of speeds and bandwidths,
 * and "steady", the tightest for workers that always have their highest speed. Without
 * profiles they are the bounds of cv_bounds, which hold with results, "results" (results
 * pass the port), for any number of rounds "rounds", for one round "prefix, one round"
 * and "convex, one round", and if workers have little memory "memory", the tightest for
 * workers whose units each bear a part of the latencies. Bounds on the time for a load,
 * or on the units for a lifespan; *out_tightest is the largest time or the fewest units.
 *
 * With leaders the first three bounds charge a leader its start once; "tree" counts every
 * port of the tree, and "relaxed" is the tightest of cv_bounds if leaders start at once. */
size_t cv_load_bounds(const struct cv_bound_query *query, struct cv_arena *scratch,
                      struct cleave_bound out[CV_MAX_BOUNDS], size_t *out_tightest);

/* No schedule that ends by `deadline_s`, which may be INFINITY, costs less; `costs` are
 * prices of the workers per second. INFINITY: no schedule ends by the deadline; NAN:
 * memory is short. */
double cv_cost_bound(const struct cv_bound_query *query, const double *costs,
                     double deadline_s, struct cv_arena *scratch);
/* No schedule that costs `budget` or less ends sooner; INFINITY: none costs that little;
 * NAN: memory is short. */
double cv_budget_bound(const struct cv_bound_query *query, const double *costs,
                       double budget, struct cv_arena *scratch);

#endif
