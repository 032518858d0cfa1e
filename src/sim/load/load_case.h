/* load_case.h -- a job as the simulator takes it. SPDX-License-Identifier: MIT
 *
 * Packing costs are made part of the workers' speed, and the policy is looked up. */
#ifndef CV_LOAD_CASE_H
#define CV_LOAD_CASE_H
#include <cleave/run.h>
#include "engine/driver.h"
#include "model/bounds/load_bounds.h"
#include "model/platform/platform_internal.h"

struct cv_load_case {
    const struct cleave_policy *policy;
    const struct cleave_platform *platform; /* the job's, or `packed`                */
    struct cleave_platform packed;          /* borrows all but its workers           */
    struct cleave_worker *workers;          /* owned, when packing costs             */
    struct cv_load load;
    struct cv_command_model command; /* when chunks may be opened                    */
    double units;                    /* of a stream: so many come                    */
};

/* Checks the job. cv_load_case_close is safe after a failure. */
enum cleave_status cv_load_case_open(struct cv_load_case *out,
                                     const struct cleave_job *job,
                                     struct cleave_error *err);
void cv_load_case_close(struct cv_load_case *load_case);

/* A run of it, and the engine that makes such runs: native, or SimGrid if that is given. */
struct cv_run cv_load_case_run(const struct cv_load_case *load_case);
const struct cv_engine *cv_load_case_engine(const struct cv_load_case *load_case,
                                            const struct cleave_simgrid *simgrid);
/* What is done in the end: of a stream, what came. */
double cv_load_case_units(const struct cv_load_case *load_case,
                          const struct cv_planned *planned);

/* The makespan of one run. */
enum cleave_status cv_planned_run_once(const struct cv_planned *planned,
                                       const struct cv_engine *engine,
                                       const struct cv_run *run, double *out_s,
                                       struct cleave_error *err);
/* One run of what is planned on the native engine, with costs as declared. */
enum cleave_status cv_planned_makespan(const struct cv_planned *planned,
                                       const struct cleave_platform *platform,
                                       double *out_s, struct cleave_error *err);

/* All bounds for what was planned: at most CV_MAX_BOUNDS of them, and which is the
 * tightest. Returns how many; 0 when memory is short. */
size_t cv_load_case_bounds(const struct cv_load_case *load_case,
                           const struct cv_planned *planned, struct cv_arena *arena,
                           struct cleave_bound *out, size_t *out_tightest);

#endif
