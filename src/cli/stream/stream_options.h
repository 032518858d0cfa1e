/* stream_options.h -- options that the verbs about streams share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_OPTIONS_H
#define CV_STREAM_OPTIONS_H
#include <cleave/stream_plan.h>
#include <cleave/streams.h>
#include "cli/common/options.h"
#include "cli/common/job_options.h"
#include "cli/common/verb.h"

/* The values of plan streams and simulate streams; each uses what its option groups
 * name. */
struct cv_stream_options {
    const char *platform;
    uint64_t streams;
    const char *period; /* "auto" or a time                          */
    const char *margin; /* a number, and WORKER=NUMBER behind it; NULL: 0 */
    double result_ratio, theta;
    int cip;             /* the shortest round for all workers       */
    const char *demand;  /* NULL: all alike; "any"; or a list         */
    const char *weights; /* own or ring                               */
    double effort;       /* about so many seconds                     */
    double declared;     /* factor on the speeds that are told        */
    double horizon_s, rest_s;
    const char *window; /* NULL: all of the horizon                  */
    struct cv_strings params;
    uint64_t threads;
    const char *engine; /* NULL: native, or simgrid for a topology   */
    struct cv_topology_options where;
    const char *trace;
    int json, all_workers;
    uint64_t width; /* 0: as wide as the terminal                */
};

extern const struct cv_stream_options cv_stream_presets;
extern const struct cv_option cv_stream_job_options[]; /* platform, streams, period  */
extern const struct cv_option cv_simulated_stream_options[]; /* platform optional      */
extern const struct cv_option cv_stream_choice_options[]; /* demand, weights, effort    */

/* What is planned, made from options: the platform and the plan are owned. */
struct cv_stream_case {
    struct cleave_platform *platform;
    struct cleave_stream_task task;
    struct cleave_stream_plan *plan;
    const struct cleave_simgrid *simgrid; /* NULL: the native engine; in the arena */
};

/* Check and read everything, and plan. Returns an exit status; what is wrong has been
 * told. cv_stream_case_close is safe after a failure. */
int cv_stream_case_open(const struct cv_stream_options *options, struct cv_arena *arena,
                        struct cv_stream_case *out);
void cv_stream_case_close(struct cv_stream_case *streams);

/* Two numbers with a comma between them: from 0 on, the second the larger one. */
int cv_stream_window(const char *text, double *out_from_s, double *out_to_s);

#endif
