/* stream_pack.h -- put workers into clusters by weights that do not depend on the order.
 * SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_PACK_H
#define CV_STREAM_PACK_H
#include <cleave/error.h>
#include "select/streams/stream_cluster.h"

/* Clusters of all streams. */
struct cv_stream_set {
    struct cv_stream_cluster *clusters; /* in the arena; their lists are owned */
    uint32_t n;
};

/* Done with cv_set_done even when this fails for want of memory. */
bool cv_set_init(struct cv_stream_set *set, uint32_t n, struct cv_arena *arena);
void cv_set_done(struct cv_stream_set *set);
void cv_set_clear(struct cv_stream_set *set);
double cv_set_throughput(const struct cv_stream_field *field,
                         const struct cv_stream_set *set);

struct cv_pack {
    const uint32_t *workers; /* borrowed: who may be packed */
    uint32_t n;
    const double *weight; /* borrowed: per worker of the field, > 0 */
    double capacity;      /* of each cluster                        */
    uint64_t work;        /* as in knapsack.h                       */
};

struct cv_pack_answer {
    double upper_bound; /* of the profit for these weights and this capacity */
    bool optimal;
};

/* Fill the (cleared) clusters with most profit so that none has more weight than the
 * capacity. Alike workers are packed as one class. */
enum cleave_status cv_stream_pack(struct cv_stream_field *field,
                                  const struct cv_pack *pack, struct cv_stream_set *set,
                                  struct cv_pack_answer *out, struct cleave_error *err);

/* An upper bound alone: all capacities as one, workers divisible. */
enum cleave_status cv_stream_pack_bound(struct cv_stream_field *field,
                                        const struct cv_pack *pack, uint32_t nclusters,
                                        double *out, struct cleave_error *err);

#endif
