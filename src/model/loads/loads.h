/* loads.h -- several loads on one platform: fluid programs and bounds.
 * SPDX-License-Identifier: MIT
 *
 * A unit of load k takes cost e seconds of a worker and c seconds of its link. In a fluid
 * program chunks have no latencies and may have any size; a program shares every
 * interval among the loads. Proofs: docs/theory/loads.md. */
#ifndef CV_LOADS_H
#define CV_LOADS_H
#include <cleave/policy.h>
#include <cleave/run.h>
#include "base/arena.h"

struct cv_loads {
    uint32_t n, count; /* workers, loads */
    bool multi;        /* a port per link */
    /* [worker * count + load]: seconds per unit; seconds that a chunk computes */
    double *e, *c, *chunk_s;
    const double *units;                  /* per load; 0: not part of the program */
    double *weight, *release_s, *alone_s; /* per load */
    double *latency_s, *start_s; /* per worker: latencies of its link and of computing */
};

/* In the arena; false: no memory. `units` is borrowed. */
bool cv_loads_init(struct cv_loads *out, const struct cleave_view *view,
                   const double *units, struct cv_arena *arena);
/* Costs per unit when every chunk computes for chunk_s seconds: latencies are spread over
 * the units. If a load waits for links, chunk_s are the seconds of all links for a chunk of
 * every worker. A chunk is not shorter than the latencies of its worker, unless chunk_s
 * is. */
void cv_loads_charge(struct cv_loads *loads, const struct cleave_view *view,
                     double chunk_s);

/* The least time after which load k alone can be done; no schedule beats it. NAN: no
 * memory. `quota`: what each worker does of it, [worker * count + k]; may be NULL. */
double cv_loads_alone(const struct cv_loads *loads, uint32_t k, double *quota);
/* The value of a goal for the times at which the loads end. */
double cv_loads_value(enum cleave_goal goal, const struct cleave_load *loads,
                      uint32_t count, const double *ends_s);

/* Memory of programs, allocated once. */
struct cv_fluid;
/* For at most `intervals` of them, with releases inside if `releases`. *out is NULL if the
 * program would be too large; false: no memory. */
bool cv_fluid_init(const struct cv_loads *loads, uint32_t intervals, bool releases,
                   struct cv_arena *arena, struct cv_fluid **out);

/* Interval j ends at until_s[j]; quota[(j * n + worker) * count + load] units. */
struct cv_phases {
    uint32_t count;
    double *until_s, *quota;
};
/* Room for the phases of a program. */
bool cv_phases_init(struct cv_phases *out, const struct cv_loads *loads,
                    uint32_t intervals, struct cv_arena *arena);

/* The least makespan if all units[] exist at 0; NAN, here and below: not found. `latencies`: less the
 * latencies that no schedule avoids, over the workers that compute. */
double cv_fluid_makespan(struct cv_fluid *fluid, const struct cv_loads *loads,
                         bool latencies, struct cv_phases *out);
/* The least weighted sum of ends if loads end in this order and all exist at 0.
 * `bounded`: none ends before release_s + alone_s. `out` may be NULL. */
double cv_fluid_order(struct cv_fluid *fluid, const struct cv_loads *loads,
                      const uint32_t *order, bool bounded, struct cv_phases *out);
/* Whether load k can be done by due_s[k], in doubt if `out` is NULL; nothing begins before from_s, and load k not
 * before its release if `releases`. */
bool cv_fluid_due(struct cv_fluid *fluid, const struct cv_loads *loads, double from_s,
                  bool releases, const double *due_s, struct cv_phases *out);
/* The least stretch of units[] from from_s, to one part in 2^turns; `out` is a plan
 * for it. */
double cv_fluid_stretch(struct cv_fluid *fluid, const struct cv_loads *loads,
                        double from_s, bool releases, int turns, struct cv_phases *out);

/* All bounds for a goal, at most CV_MAX_LOADS_BOUNDS; *out_tightest is the largest. The
 * alone_s of `loads` are set. Returns their number, 0 when memory is short:
 *
 * alone      every load as if it had the platform for itself
 * fluid      makespan: all loads in one fluid program, after every release
 * phases     weighted: the fluid program for every order of ends, without releases
 * intervals  weighted: by the mean time of units; stretch: by deadlines */
enum { CV_MAX_LOADS_BOUNDS = 3 };
size_t cv_loads_bounds(struct cv_loads *loads, enum cleave_goal goal,
                       struct cv_arena *scratch,
                       struct cleave_bound out[CV_MAX_LOADS_BOUNDS],
                       size_t *out_tightest);

#endif
