/* stream_demand.h -- clusters for streams that do not want the same throughput.
 * SPDX-License-Identifier: MIT
 *
 * The model. Every stream has its own master, so every round holds tau seconds of delays
 * whatever the stream wants. Stream m wants demand_m / (sum of demands) of what all
 * streams get. Its satisfaction is its throughput / demand_m; the streams are served
 * alike when all satisfactions are the same.
 *
 *     1. The throughput of all streams together is made as great as it can be found:
 *        cv_stream_select. Taking workers away from a stream would not help any other
 *        unless they go there, so no more is ever given up for the sake of shares.
 *     2. The cluster of most throughput goes to the stream of most demand, and so on.
 *     3. Workers move, and are exchanged, from the best satisfied streams to the least
 *        satisfied one, as long as both clusters still fit into a round and the lesser
 *        satisfaction of the two rises; the sum of throughputs is not touched. Each step
 *        is the one that brings the two nearest to each other. The end is reached when
 *        the least satisfied stream has its share up to the tolerance, or no step helps.
 *     4. Who was left out is added wherever there is room now, to the least satisfied
 *        stream first; so the sum may rise once more.
 *
 * This is max-min fairness by local steps: no promise of the greatest least satisfaction,
 * but the sum of throughputs is never below that of cv_stream_select. */
#ifndef CV_STREAM_DEMAND_H
#define CV_STREAM_DEMAND_H
#include "select/streams/stream_select.h"

struct cv_stream_shares {
    double least_share; /* least of (throughput / wanted throughput) over the streams; 1
                            when all have exactly their shares                         */
    uint32_t min;       /* the stream that has it                                     */
    uint32_t steps;     /* moves and exchanges that were made                         */
};

/* As cv_stream_select; demands[m] > 0 per stream, and `tolerance` in 0..1. */
enum cleave_status cv_stream_select_demand(const struct cv_stream_task *task,
                                           const double *demands, double tolerance,
                                           struct cv_arena *arena,
                                           struct cv_stream_choice *out,
                                           struct cv_stream_shares *out_shares,
                                           struct cleave_error *err);

#endif
