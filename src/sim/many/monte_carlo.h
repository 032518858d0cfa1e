/* monte_carlo.h -- many runs on several threads, with a result that does not depend on their
 * number. SPDX-License-Identifier: MIT */
#ifndef CV_MONTE_CARLO_H
#define CV_MONTE_CARLO_H
#include <cleave/run.h>
#include "engine/driver.h"

struct cv_run_result {
    double makespan_s, utilisation, chunks;
};

/* Kept by a thread between its runs, zeroed before the first; closed after the last. */
struct cv_run_thread {
    struct cv_driver *driver; /* owned */
    struct cv_arena arena;
    void *own; /* in arena */
};

typedef enum cleave_status cv_run_body(void *context, struct cv_run_thread *thread,
                                       uint32_t number, struct cv_run_result *result,
                                       struct cleave_error *err);

/* All runs of a trial by `body`; memory does not grow with their number. */
enum cleave_status cv_monte_carlo_by(const struct cleave_trial *trial, cv_run_body *body,
                                     void *context, struct cleave_stats *out,
                                     struct cleave_error *err);

/* Work that follows a run and ends later. */
struct cv_after_run {
    enum cleave_status (*end)(void *context, struct cv_run_thread *thread,
                              const struct cv_outcome *outcome, double *out_s,
                              struct cleave_error *err);
    void *context;
};

/* Runs of `first`, whose number and noise run are set for each, on an engine per thread.
 * `after` may be NULL. A trace that is not NULL gets run 0. */
enum cleave_status cv_monte_carlo(const struct cv_planned *planned,
                                  const struct cv_engine *engine, const void *source,
                                  const struct cv_run *first,
                                  const struct cleave_trial *trial,
                                  const struct cv_after_run *after,
                                  struct cleave_trace *trace, struct cleave_stats *out,
                                  struct cleave_error *err);

#endif
