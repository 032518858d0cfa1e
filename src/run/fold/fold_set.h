/* fold_set.h -- partial results that wait to be folded. SPDX-License-Identifier: MIT
 *
 * A partial is the result for an interval of the input. In order: two can be folded if one
 * begins where the other ends; partials that are being folded are not in the set, so their
 * neighbours stay apart. Commutative: any two can be folded. */
#ifndef CV_FOLD_SET_H
#define CV_FOLD_SET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

struct cv_chunk_output;

struct cv_partial {
    uint64_t begin, end; /* in the input, begin < end; commutative: without meaning */
    uint64_t bytes;      /* size of the result                                      */
    struct cv_chunk_output *store; /* borrowed; NULL: there is no result        */
    uint64_t covers; /* input bytes of the result                               */
};

/* Empty if all is zero but `commutative`. */
struct cv_fold_set {
    bool commutative;
    struct cv_partial *items; /* owned: by begin; commutative: by size                 */
    size_t count, capacity;
    size_t ready; /* partials that could be folded now: 0, or 2 and more              */
};

void cv_fold_set_done(struct cv_fold_set *set);

/* A partial without a result joins its neighbours. */
enum cleave_status cv_fold_set_add(struct cv_fold_set *set,
                                   const struct cv_partial *partial,
                                   struct cleave_error *err);
/* Take 2 to `max` partials that can be folded, in order; 0 if there are none. The smallest
 * adjacent ones are taken, so that large results are not folded again and again. */
size_t cv_fold_set_take(struct cv_fold_set *set, size_t max, struct cv_partial *out);
/* Take the only partial with a result; false if there is none, or more than one. */
bool cv_fold_set_last(struct cv_fold_set *set, struct cv_partial *out);
/* Take any partial; false if the set is empty. */
bool cv_fold_set_pop(struct cv_fold_set *set, struct cv_partial *out);

#endif
