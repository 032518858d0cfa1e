/* stream_exact.h -- the best clusters, proved, where there are few workers.
 * SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_EXACT_H
#define CV_STREAM_EXACT_H
#include "select/streams/stream_pack.h"

/* More workers are not tried, nor more streams. */
enum { CV_EXACT_WORKERS = 64, CV_EXACT_STREAMS = 64 };

/* Look through all clusters of some of these workers, in their best orders, that give
 * more than *value; margins are the same for all. The best of them, if there is one, goes
 * to `best` and its throughput to *value. True when all have been looked through: then no
 * cluster gives more than *value. False when field->work or memory (field->no_memory) did
 * not last. */
bool cv_stream_exact(struct cv_stream_field *field, const uint32_t *workers, uint32_t n,
                     struct cv_stream_cluster *best, double *value);

/* The same for as many clusters as the set has. */
bool cv_stream_exact_set(struct cv_stream_field *field, const uint32_t *workers,
                         uint32_t n, struct cv_stream_set *best, double *value);

#endif
