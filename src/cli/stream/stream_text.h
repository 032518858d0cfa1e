/* stream_text.h -- plans and simulations of streams as text for people.
 * SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_TEXT_H
#define CV_STREAM_TEXT_H
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/stream/stream_json.h"

/* Headline, bound, streams, workers in order of service, those left out. */
void cv_stream_plan_text(const struct cv_stream_case *streams, bool all_workers,
                         const struct cv_screen *screen, struct cv_text *out);
/* Headline, throughput, use of the workers, waiting, streams, rounds. */
void cv_stream_outcome_text(const struct cv_stream_outcome *outcome,
                            const struct cv_screen *screen, struct cv_text *out);

#endif
