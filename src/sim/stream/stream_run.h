/* stream_run.h -- one stream on an engine. SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_RUN_H
#define CV_STREAM_RUN_H
#include <cleave/streams.h>
#include "base/arena.h"
#include "engine/driver.h"
#include "policy/stream/as4dr.h"

struct cv_stream_worker_stats {
    double units, useful_s, busy_s, idle_s;
    double window_units, window_useful_s, window_busy_s;
    double end_s, last_load;
    uint32_t rounds, measured;
};

struct cv_stream_stats {
    const struct cleave_platform *platform; /* borrowed: the true costs of the stream */
    double horizon_s, window_from_s, window_to_s;
    bool has_results;
    struct cv_stream_worker_stats *workers;
    double end_s, units_in_time;
    double wait_send_s, wait_return_s;
    uint64_t contentions;
    struct cleave_stream_round *rounds; /* owned; sums until cv_stream_stats_close */
    size_t nrounds, round_room;
    bool out_of_memory;
    struct cv_as4dr_watch watch; /* for the policy */
};

/* The arena owns all memory except the rounds. */
enum cleave_status cv_stream_stats_init(struct cv_stream_stats *stats,
                                        const struct cleave_platform *platform,
                                        double horizon_s, double result_ratio,
                                        double window_from_s, double window_to_s,
                                        struct cv_arena *arena, struct cleave_error *err);
/* After the run: turn sums into means. */
enum cleave_status cv_stream_stats_close(struct cv_stream_stats *stats,
                                         struct cleave_error *err);
void cv_stream_stats_done(struct cv_stream_stats *stats);

/* Sums over the workers, in the window or in all, as parts of the time of the members. */
struct cleave_stream_use cv_stream_use(const struct cv_stream_stats *stats, bool window);

struct cv_stream_run {
    const struct cleave_platform *platform; /* workers of the stream: true costs */
    const struct cleave_worker *declared;   /* costs that the policy sees */
    const struct cleave_setting *settings;
    size_t nsettings;
    double horizon_s, rest, result_ratio; /* rest: units left at the horizon          */
    const struct cv_as4dr_given *given;   /* NULL: the policy chooses                 */
    const struct cv_as4dr_watch *watch;
    const struct cleave_simgrid *simgrid; /* not NULL: use SimGrid */
};

/* Plan the stream. On failure nothing is left to free. */
enum cleave_status cv_stream_plan(const struct cv_stream_run *stream,
                                  struct cv_planned *planned, struct cleave_error *err);
/* Run the plan until its last result has returned. `trace` may be NULL. */
enum cleave_status cv_stream_drive(const struct cv_stream_run *stream,
                                   const struct cv_planned *planned,
                                   struct cleave_trace *trace, struct cv_outcome *out,
                                   struct cleave_error *err);

#endif
