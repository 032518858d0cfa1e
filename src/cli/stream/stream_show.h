/* stream_show.h -- plans and simulations of streams as JSON on stdout.
 * SPDX-License-Identifier: MIT
 *
 * docs/guide/json.md documents every field. Both return an exit status. */
#ifndef CV_STREAM_SHOW_H
#define CV_STREAM_SHOW_H
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/stream/stream_options.h"

int cv_stream_plan_json(const struct cv_stream_case *streams);

/* What a simulation of `streams` came to; `of` says which stream of the plan each stream
 * of the result is. */
struct cv_stream_outcome {
    const struct cv_stream_case *streams;
    const struct cv_stream_options *options;
    const struct cleave_stream_job *job;
    const struct cleave_streams_result *result;
    const uint32_t *of;
    const struct cleave_stream_round *rounds; /* of all streams together */
    size_t nrounds;
    double idle_s, wait_send_s, wait_return_s;
    uint64_t chunks, events;
    uint32_t members;
};

int cv_stream_outcome_json(const struct cv_stream_outcome *outcome);

/* Headline, bound, streams, workers in order of service, those left out. */
void cv_stream_plan_text(const struct cv_stream_case *streams, bool all_workers,
                         const struct cv_screen *screen, struct cv_text *out);
/* Headline, throughput, use of the workers, waiting, streams, rounds. */
void cv_stream_outcome_text(const struct cv_stream_outcome *outcome,
                            const struct cv_screen *screen, struct cv_text *out);

#endif
