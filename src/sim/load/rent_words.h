/* rent_words.h -- orders of chunks whose sizes are chosen for a price.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RENT_WORDS_H
#define CV_RENT_WORDS_H
#include <cleave/run.h>
#include "model/load/plan.h"

struct cv_rent_words {
    struct cv_min_cost_plan thrift;
    struct cv_plan *words;
    size_t nwords, capacity;
    double longest_s; /* nobody takes longer alone, whatever the sizes */
};

/* Room for `most` orders. False: memory is short. */
bool cv_rent_words_open(struct cv_rent_words *words,
                        const struct cv_min_cost_plan *thrift, size_t max,
                        struct cv_arena *arena);
/* Keep the order of a schedule's chunks; workers are numbered by members[]. */
bool cv_rent_words_keep(struct cv_rent_words *words,
                        const struct cleave_schedule *schedule, const uint32_t *members,
                        struct cv_arena *arena);
/* Keep orders of one chunk for each of the members, the widest link first, and of several
 * rounds; members[] has the dearest last, who begin in the last round only. */
enum { CV_RENT_WORDS_EACH = 14 }; /* so many and the one above */
bool cv_rent_words_rounds(struct cv_rent_words *words, const uint32_t *members,
                          uint32_t n, struct cv_arena *arena);

/* The cheapest sizes for a deadline, or the fastest for a budget (the deadline 0), in any of
 * the orders; *out_cost is INFINITY when there are none. False: memory is short. */
bool cv_rent_words_best(const struct cv_rent_words *words,
                        const struct cleave_rental_terms *terms, struct cv_arena *arena,
                        struct cv_plan *out, double *out_cost);

#endif
