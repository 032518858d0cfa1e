/* figure_streams_scene.h -- the published platform of the streams, and runs on it.
 * SPDX-License-Identifier: MIT
 *
 * Workers and profiles are from model/platform/literature_platforms.h. */
#ifndef CV_FIGURE_STREAMS_SCENE_H
#define CV_FIGURE_STREAMS_SCENE_H
#include <cleave/streams.h>
#include "figures/common/figure.h"

/* One run of one stream; results are as large as data. */
struct cv_scene_run {
    uint32_t workers; /* 0: the run is left out                                      */
    int kind;         /* all of this kind; -1: all kinds in turn                     */
    double latency_s; /* compute latency of all; negative: that of their kind        */
    double drop;      /* by which part speeds fall                                   */
    enum cleave_port port;
    double tau_s; /* 0: automatic                                                */
    /* Between first posts, in clusters that fit into a round, instead of `start`; 0: none */
    double spacing_s;
    double horizon_s, rest_s;
    const char *start, *end, *service; /* parameters of the policy; NULL: preset       */
    double first;                      /* factor on first loads; 0: 1                  */
    /* Results: the part of the time in which workers compute, without latencies, during
     * the stream and up to the last result. */
    double in_stream, to_end, end_s;
    uint32_t nrounds; /* up to CV_SCENE_ROUNDS of the first rounds                     */
    struct cleave_stream_round rounds[8];
};

enum { CV_SCENE_ROUNDS = 8 };

/* Do all runs, shared over threads. */
void cv_scene_runs(const struct cv_figure_job *job, struct cv_scene_run *runs,
                   size_t count);

#endif
