/* stream_search.h -- clusters in any order of service, of most throughput.
 * SPDX-License-Identifier: MIT */
#ifndef CV_STREAM_SEARCH_H
#define CV_STREAM_SEARCH_H
#include "select/streams/stream_pack.h"

/* Fill the set with the best clusters that were found for these workers, all of which
 * fit alone, and tell how much throughput no clusters can exceed. `work` is spent on
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
