/* load_case.h -- a job in the form of the simulator. SPDX-License-Identifier: MIT
 *
 * Packing is part of the workers' speed, and the policy was found. */
#ifndef CV_LOAD_CASE_H
#define CV_LOAD_CASE_H
#include <cleave/run.h>
#include "engine/driver.h"
#include "model/bounds/load_bounds.h"
#include "model/platform/platform_internal.h"

struct cv_load_case {
    const struct cleave_policy *policy;
    const struct cleave_platform *platform; /* the job's, or `packed`                */
    struct cleave_platform packed;          /* borrows all except its workers */
    struct cleave_worker *workers;          /* owned, when packing costs             */
    struct cv_arena arena;                  /* the tree of `packed` */
    struct cleave_view load;                /* as cv_planned_init takes it */
    struct cv_step_budget *budget;   /* borrowed: limits the search for a plan; or NULL */
    struct cv_command_model command; /* if chunks may be opened, or workers do more than
                                        is declared: computing is reading then */
    double units;                    /* units of a stream */
};

/* Checks the job. cv_load_case_close is safe after a failure. */
enum cleave_status cv_load_case_open(struct cv_load_case *out,
                                     const struct cleave_job *job,
                                     struct cleave_error *err);
void cv_load_case_close(struct cv_load_case *load_case);

/* A run, and its engine: native, or SimGrid if `simgrid` is not NULL. `conditions` may be
 * NULL. */
struct cv_run cv_load_case_run(const struct cv_load_case *load_case,
                               const struct cleave_conditions *conditions);
const struct cv_engine *cv_load_case_engine(const struct cv_run *run,
                                            const struct cleave_simgrid *simgrid);
/* Whether a run can have the conditions. */
enum cleave_status cv_load_case_check(const struct cv_load_case *load_case, double units,
                                      const struct cleave_conditions *conditions,
                                      struct cleave_error *err);
/* Units that are done; for a stream, units that arrived. */
double cv_load_case_units(const struct cv_load_case *load_case,
                          const struct cv_planned *planned);

/* The makespan of a run. */
enum cleave_status cv_planned_run_once(const struct cv_planned *planned,
                                       const struct cv_engine *engine,
                                       const struct cv_run *run, double *out_s,
                                       struct cleave_error *err);

/* All bounds of a plan, at most CV_MAX_BOUNDS, and the index of the tightest. Returns
 * their number; 0: no memory. */
size_t cv_load_case_bounds(const struct cv_load_case *load_case,
                           const struct cv_planned *planned, struct cv_arena *arena,
                           struct cleave_bound *out, size_t *out_tightest);

/* Plan and make the runs of a trial; `after` may be NULL (sim/many/monte_carlo.h). */
struct cv_after_run;
enum cleave_status
cv_load_case_simulate(const struct cv_load_case *load_case, const struct cleave_job *job,
                      const struct cleave_trial *trial, const struct cv_after_run *after,
                      struct cleave_stats *out, struct cleave_error *err);

#endif
