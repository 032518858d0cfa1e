/* fold_set.h -- partial results that wait to be folded. SPDX-License-Identifier: MIT
 *
 * A partial is the result for an interval of the input. Order kept: two can be folded when
 * one begins where the other ends, so those under way, which are not in the set, keep
 * their neighbours apart. Commutative: any can be folded with any. */
#ifndef CV_FOLD_SET_H
#define CV_FOLD_SET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

struct cv_chunk_output;

struct cv_partial {
    uint64_t begin, end; /* of the input, begin < end; commutative: of no meaning   */
    uint64_t bytes;      /* how large the result is                                 */
    struct cv_chunk_output
        *store;      /* borrowed; NULL: there is no result, nor will be         */
    uint64_t covers; /* bytes of the input that went in                         */
};

/* The fields are for the functions of this header, but for `ready`, which may be read. */
struct cv_fold_set {
    bool commutative;
    struct cv_partial *items; /* owned: by begin; commutative: by size                 */
    size_t count, capacity;
    size_t ready; /* how many could be folded with another one now: 0, or 2 and more   */
};

void cv_fold_set_init(struct cv_fold_set *set, bool commutative);
void cv_fold_set_done(struct cv_fold_set *set);

/* One without a result joins its neighbours and takes part in nothing else. */
enum cleave_status cv_fold_set_add(struct cv_fold_set *set,
                                   const struct cv_partial *partial,
                                   struct cleave_error *err);
/* Take 2 to `most` that can be folded, in order; 0 if there are none. Of all that are next
 * to each other, the smallest are taken: to fold what is large again and again would cost
 * far more. */
size_t cv_fold_set_take(struct cv_fold_set *set, size_t max, struct cv_partial *out);
/* Take the only partial with a result; false if there is none, or more than one. */
bool cv_fold_set_last(struct cv_fold_set *set, struct cv_partial *out);
/* Take any; false if the set is empty. */
bool cv_fold_set_pop(struct cv_fold_set *set, struct cv_partial *out);

#endif
