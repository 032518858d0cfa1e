/* stream_pack.h -- clusters of workers for streams, and ways to fill them.
 * SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_PACK_H
#define CV_STREAM_PACK_H
#include <cleave/error.h>
#include "model/stream/stream_costs.h"

/* All workers one may choose from. */
struct cv_stream_field {
    struct cv_stream_ring ring;          /* the order has no meaning                  */
    const struct cv_stream_times *times; /* per worker                                */
    const double *profit;                /* per worker: units per second              */
    double least_margin, greatest_margin;
    struct cv_arena scratch; /* scratch of the calls below */
    uint64_t work;           /* left for tests of orders            */
    bool no_memory;          /* memory was short for a test           */
};

struct cv_stream_cluster {
    uint32_t *members; /* owned */
    uint32_t n;
    size_t room;
    /* sums of the times of data, of results, and of the greater of both */
    double send_s, receive_s, both_s;
    double least_s, greatest_s; /* first results                                */
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
/* Add a worker if the result fits; else change nothing. */
bool cv_cluster_try_add(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                        uint32_t worker);
/* Replace the member at `at` by a worker if the result fits. */
bool cv_cluster_try_replace(struct cv_stream_field *field,
                            struct cv_stream_cluster *cluster, uint32_t at,
                            uint32_t worker);

/* Put the members into the order of service that costs least, and write their delays,
 * by place. Needs no work. false when memory is short. */
bool cv_cluster_order(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                      double *out_delays);

/* Clusters of all streams. */
struct cv_stream_set {
    struct cv_stream_cluster *clusters; /* in the arena; their lists are owned */
    uint32_t n;
};

/* False when memory is short; cv_set_done is needed then, too. */
bool cv_set_init(struct cv_stream_set *set, uint32_t n, struct cv_arena *arena);
void cv_set_done(struct cv_stream_set *set);
void cv_set_clear(struct cv_stream_set *set);

struct cv_pack {
    const uint32_t *workers; /* borrowed: workers to choose from */
    uint32_t n;
    const double *weight; /* borrowed: per worker of the field, > 0 */
    double capacity;      /* capacity of each cluster */
    uint64_t work;        /* as in knapsack.h                       */
};

/* Fill the (cleared) clusters with most profit so that none has more weight than the
 * capacity. Alike workers are packed as one class. *out_bound is an upper bound of the
 * profit for these weights and this capacity. */
enum cleave_status cv_stream_pack(struct cv_stream_field *field,
                                  const struct cv_pack *pack, struct cv_stream_set *set,
                                  double *out_bound, struct cleave_error *err);

/* An upper bound alone: all capacities as one, workers divisible. */
enum cleave_status cv_stream_pack_bound(struct cv_stream_field *field,
                                        const struct cv_pack *pack, uint32_t nclusters,
                                        double *out, struct cleave_error *err);

/* Fill the set with the best clusters that were found for these workers, all of which
 * fit alone, and set an upper bound of the throughput. `work` is spent on
 * packing and on tests of orders. */
enum cleave_status cv_stream_search(struct cv_stream_field *field,
                                    const uint32_t *workers, uint32_t n, uint64_t work,
                                    struct cv_stream_set *set, double *out_bound,
                                    struct cleave_error *err);

/* Sort workers by decreasing value / price, both per worker; a NULL price is 1. false
 * when memory is short. */
bool cv_sort_by_density(uint32_t *workers, uint32_t n, const double *value,
                        const double *price);

#endif
