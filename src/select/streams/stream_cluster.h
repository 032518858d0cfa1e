/* stream_cluster.h -- workers of one stream while they are being chosen.
 * SPDX-License-Identifier: MIT
 *
 * Whether workers fit into a round is: is there an order of service in which the delays
 * sum up to tau at most? The best order is found in O(n log n) (model/stream/cycle_order.h), and
 * is looked for only where sums do not decide:
 *
 *     sum of all data > tau, or sum of all results > tau                no order
 *     sum of max(data, results) + spread of first results <= tau       sorted order
 *
 * A worker more, or a longer message, never makes the delays shorter; so who was refused
 * stays refused as long as the cluster only grows. Margins that differ from worker to
 * worker stretch the delays of the order that is best without them. */
#ifndef CV_STREAM_CLUSTER_H
#define CV_STREAM_CLUSTER_H
#include "model/stream/stream_costs.h"

/* All workers one may choose from. */
struct cv_stream_field {
    struct cv_stream_ring ring;          /* the order has no meaning                  */
    const struct cv_stream_times *times; /* per worker                                */
    const double *profit;                /* per worker: units per second              */
    double least_margin, greatest_margin;
    struct cv_arena scratch; /* of the calls below                                    */
    uint64_t work;           /* what may still be spent on tests of orders            */
    bool no_memory;          /* a test could not be made for want of memory           */
};

struct cv_stream_cluster {
    uint32_t *members; /* owned */
    uint32_t n;
    size_t room;
    double send_s, receive_s, both_s; /* sums of data, of results, of the greater     */
    double least_s, greatest_s;       /* first results                                */
};

/* Times and profits of the workers of a ring, from the arena; false when memory is short.
 * Done with cv_field_done in any case. */
bool cv_field_init(struct cv_stream_field *field, const struct cv_stream_ring *ring,
                   struct cv_arena *arena, uint64_t work);
void cv_field_done(struct cv_stream_field *field);

void cv_cluster_init(struct cv_stream_cluster *cluster);
void cv_cluster_done(struct cv_stream_cluster *cluster);
void cv_cluster_clear(struct cv_stream_cluster *cluster);
/* Add a worker without a test; false when memory is short. */
bool cv_cluster_add(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                    uint32_t worker);
/* Take the member at place `at` out; the last one takes its place. */
void cv_cluster_remove(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                       uint32_t at);
/* Put a worker in the place of the member at `at` without a test. */
void cv_cluster_put(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                    uint32_t at, uint32_t worker);
double cv_cluster_throughput(const struct cv_stream_field *field,
                             const struct cv_stream_cluster *cluster);

/* Whether the members fit; false too when work or memory is at its end. */
bool cv_cluster_fits(struct cv_stream_field *field,
                     const struct cv_stream_cluster *cluster);
/* Add a worker if all fit then; else leave the cluster as it was. */
bool cv_cluster_try_add(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                        uint32_t worker);
/* Put a worker in the place of the member at `at` if all fit then. */
bool cv_cluster_try_replace(struct cv_stream_field *field,
                            struct cv_stream_cluster *cluster, uint32_t at,
                            uint32_t worker);

/* Put the members into the order of service that costs least, and write their delays,
 * by place. Needs no work. false when memory is short. */
bool cv_cluster_order(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                      double *out_delays);

#endif
