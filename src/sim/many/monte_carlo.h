/* monte_carlo.h -- many runs, on several threads, with the same result on any number.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MONTE_CARLO_H
#define CV_MONTE_CARLO_H
#include <cleave/run.h>
#include "engine/driver.h"

enum { CV_EXACT_RUNS = 1 << 20 };

/* What a run came to. */
struct cv_run_result {
    double makespan_s, utilisation, chunks;
};

struct cv_run_stats {
    uint64_t runs;
    double mean_s, squares, utilisation, chunks, least_s, most_s;
    double *exact;  /* owned: all makespans while they are few, then NULL */
    uint64_t *bins; /* owned: NULL while they are few                     */
};

/* Make runs begin .. end - 1, at most CV_RUNS_BLOCK of them, and put what each came to
 * into results[0], results[1], ... `thread` is below the number cv_monte_carlo_threads
 * gives. */
typedef enum cleave_status cv_runs_body(void *context, unsigned thread, uint64_t begin,
                                        uint64_t end, struct cv_run_result *results,
                                        struct cleave_error *err);

enum { CV_RUNS_BLOCK = 32 };
#define CV_MOST_RUNS 4000000000u /* run numbers have 32 bits */

unsigned cv_monte_carlo_threads(const struct cleave_trial *trial);
/* All runs of a trial by `body`; memory does not grow with their number. */
enum cleave_status cv_monte_carlo_by(const struct cleave_trial *trial, cv_runs_body *body,
                                     void *context, struct cleave_stats *out,
                                     struct cleave_error *err);

/* The same by a driver per thread: runs of `first` (whose number and noise run are set for
 * each) on engines of a kind. A trace given goes to run 0. */
enum cleave_status cv_monte_carlo(const struct cv_planned *planned,
                                  const struct cv_engine *engine, const void *source,
                                  const struct cv_run *first,
                                  const struct cleave_trial *trial,
                                  struct cleave_trace *trace, struct cleave_stats *out,
                                  struct cleave_error *err);

#endif
