/* fold_plan_internal.h -- what a plan of folds consists of. SPDX-License-Identifier: MIT
 *
 * Partials are kept in the order of the input, in one array: there are few, since folding
 * makes them fewer, and a decision looks at all of them. */
#ifndef CV_FOLD_PLAN_INTERNAL_H
#define CV_FOLD_PLAN_INTERNAL_H
#include "engine/fold_plan.h"

struct cv_fold_span;

struct cv_fold_item {
    uint64_t id, begin, end, bytes;
    uint32_t holder; /* CV_FOLD_NOBODY: there is no result for the interval           */
    uint32_t ahead;  /* the worker that a copy went ahead to, or CV_FOLD_NOBODY       */
    uint64_t name;   /* of the copy                                                   */
    bool busy;
    struct cv_fold_span *spans; /* owned: only needed when they are lost              */
};

/* What a decision knows about a worker. */
struct cv_fold_hand {
    size_t count, free; /* partials that it holds; those of them that are not busy    */
    bool ready;         /* one of them could be folded                                */
    uint64_t bytes;     /* of those in the run that is looked at                      */
};

struct cv_fold_plan {
    bool commutative;
    uint32_t nworkers, max;
    struct cv_fold_item *items; /* owned: by begin                                    */
    size_t count, room;
    size_t without;             /* items that nobody holds                            */
    uint64_t skipped;           /* commutative: bytes of the input without a result   */
    struct cv_fold_hand *hands; /* owned: per worker                                  */
};

static inline bool cv_fold_item_free(const struct cv_fold_item *item)
{
    return !item->busy && item->holder != CV_FOLD_NOBODY;
}

static inline struct cv_fold_part cv_fold_part_of(const struct cv_fold_item *item)
{
    return (struct cv_fold_part){ item->id, item->bytes, item->holder, item->ahead,
                                  item->name };
}

/* Where it would be folded without having to move. */
static inline uint32_t cv_fold_seat(const struct cv_fold_item *item)
{
    return item->ahead != CV_FOLD_NOBODY ? item->ahead : item->holder;
}

/* Whether item `index` and the one after it can be folded. Order kept. */
static inline bool cv_fold_linked(const struct cv_fold_plan *plan, size_t index)
{
    const struct cv_fold_item *item = plan->items + index;

    return index + 1 < plan->count && cv_fold_item_free(item) &&
           cv_fold_item_free(item + 1) && item->end == item[1].begin;
}

#endif
