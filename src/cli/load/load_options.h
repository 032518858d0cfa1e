/* load_options.h -- options that the verbs about a load share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LOAD_OPTIONS_H
#define CV_LOAD_OPTIONS_H
#include <cleave/run.h>
#include "cli/common/options.h"
#include "cli/common/job_options.h"
#include "cli/common/verb.h"

/* The values of plan load, simulate load and compare load; each uses what its option
 * groups name. */
struct cv_load_options {
    const char *platform;
    struct cv_strings via; /* who leads whom                         */
    struct cv_amount load; /* it or ...                              */
    double lifespan_s;     /* ... this                               */
    double result_ratio, packaging_s;
    int in_turn;               /* no send overtakes results                 */
    int before_round;          /* results come right before the next chunk  */
    const char *reads;         /* NULL: chunks cannot be opened             */
    double hold;               /* 0: not a stream                           */
    const char *then_reduce;   /* costs of a reduction that follows; NULL: none */
    double deadline_s, budget; /* plan: one of them; below 0: not given     */
    const char *send_order, *return_order;
    const char *policy;   /* NULL: auto                                */
    const char *policies; /* compare: NULL for all                     */
    uint64_t rounds;      /* 0: not given                              */
    struct cv_strings params;
    double error;
    uint64_t seed;
    uint64_t runs, threads;
    const char *noise;  /* NULL: normal:error when there is one      */
    const char *engine; /* NULL: native, or simgrid for a topology   */
    struct cv_topology_options where;
    const char *trace;
    int json, gantt, all_chunks, all_workers;
    uint64_t width; /* 0: as wide as the terminal                */
};

extern const struct cv_load_options cv_load_presets;
extern const struct cv_option cv_job_options[];           /* platform, load, ...     */
extern const struct cv_option cv_simulated_job_options[]; /* platform optional */
extern const struct cv_option cv_price_options[];         /* deadline, budget */
extern const struct cv_option cv_policy_options[];        /* policy, rounds, param   */
extern const struct cv_option cv_trial_options[];         /* runs, noise, engine ... */

/* A job made from options: its platform and, with --trace, its trace are owned. */
struct cv_load_job {
    struct cleave_platform *platform;
    struct cleave_job job;
};

/* Read the platform and the settings. Returns an exit status; what is wrong has been
 * told. cv_load_job_close is safe after a failure. */
int cv_load_job_open(const struct cv_load_options *options, struct cv_arena *arena,
                     struct cv_load_job *out);
void cv_load_job_close(struct cv_load_job *load);

/* Write the job's trace, about so many units, to the file that --trace named. Returns an
 * exit status. */
int cv_save_trace(const char *path, const struct cv_load_job *load, const char *policy,
                  double units);
/* The same for what the schedule says; does nothing without a trace. */
int cv_save_plan(const char *path, const struct cv_load_job *load,
                 const struct cleave_schedule *schedule);

/* Number of runs, threads, noise and engine as asked for. `out_noise` is how the noise is
 * spelt: "normal:0.2". */
enum { CV_NOISE_ROOM = 48 };
int cv_load_trial(const struct cv_load_options *options, struct cleave_trial *out,
                  char out_noise[CV_NOISE_ROOM]);

#endif
