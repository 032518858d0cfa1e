/* streams_task.h -- jobs of streams, and how they are shown. SPDX-License-Identifier: MIT */
#ifndef CV_STREAMS_TASK_H
#define CV_STREAMS_TASK_H
#include <cleave/stream_plan.h>
#include <cleave/streams.h>
#include "cli/task/task.h"
#include "model/stream/stream_costs.h"

/* The job of the task streams. */
struct cv_streams_job {
    struct cleave_platform *platform; /* owned */
    struct cleave_stream_task task;
    struct cleave_stream_plan *plan;      /* owned; NULL with --cip */
    struct cv_cip cip;                    /* with --cip: of cip_workers   */
    uint32_t *cip_workers, ncip;          /* the workers that are not left out */
    const struct cleave_simgrid *simgrid; /* NULL: the native engine; in the arena */

    /* simulate */
    struct cleave_stream_job job;
    struct cleave_streams_result *result; /* owned */
    /* per stream of the result: its number in the plan */
    const uint32_t *of;
    struct cleave_platform *served; /* owned: workers of a trace, as they are served */
    const struct cleave_stream_round *rounds; /* rounds of all streams together */
    size_t nrounds;
    double idle_s, wait_send_s, wait_return_s;
    uint64_t chunks, events;
    uint32_t members;
};

void cv_streams_plan_json(struct cv_task_call *task, struct cv_json *json);
void cv_streams_plan_text(struct cv_task_call *task, struct cv_screen *screen,
                          struct cv_text *out);
void cv_streams_result_json(struct cv_task_call *task, struct cv_json *json);
void cv_streams_result_text(struct cv_task_call *task, struct cv_screen *screen,
                            struct cv_text *out);

#endif
