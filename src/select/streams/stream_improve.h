/* stream_improve.h -- add and exchange workers of clusters that fit.
 * SPDX-License-Identifier: MIT
 *
 * All steps keep every cluster within its round and spend field->work. `taken` tells, and
 * is told, for each worker of the field whether it is in a cluster. */
#ifndef CV_STREAM_IMPROVE_H
#define CV_STREAM_IMPROVE_H
#include "select/streams/stream_pack.h"

/* Sort workers by decreasing value / price, both per worker; a NULL price is 1. false
 * when memory is short. */
bool cv_sort_by_density(uint32_t *workers, uint32_t n, const double *value,
                        const double *price);

/* Add workers to clusters where they fit, in the order given. */
void cv_set_fill(struct cv_stream_field *field, struct cv_stream_set *set,
                 const uint32_t *workers, uint32_t n, bool *taken);

/* Raise the throughput, until it reaches the bound or no step helps: a worker takes the
 * place of one that gives less, or of one that fits into another cluster. `dense` are all
 * workers that may be chosen, best first. false when memory is short. */
bool cv_set_improve(struct cv_stream_field *field, struct cv_stream_set *set,
                    const uint32_t *dense, uint32_t n, double bound, bool *taken);

#endif
