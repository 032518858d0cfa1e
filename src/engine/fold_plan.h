/* fold_plan.h -- which partial results are folded where, when workers hold them.
 * SPDX-License-Identifier: MIT
 *
 * The rules of the dynamic reduction policies, for partials that come into being while
 * others are folded, and for workers that hold several. Order kept (ordered-tree-dyn): a
 * partial is folded with those of neighbouring intervals of the input. Commutative
 * (tree-dyn, a cluster per worker): a partial leaves its worker when it is the only one
 * there, for any others like that.
 *
 * A step takes as many as are ready, shared among the workers that could fold. Of several
 * such steps the one is first that takes the most partials, then one where nothing has to
 * move since one worker has them all, then the smallest. Of the workers that could take
 * it, the one does that has the most bytes of it.
 *
 * A partial that no step can take may go ahead to a worker that folds, so that it is there
 * when that one is done and is folded with what it has made (tree-adapt, ordered-adapt):
 * when the worker has at most one transfer to go, fold_plan.h. It only decides: nothing is
 * sent or computed here. */
#ifndef CV_FOLD_PLAN_H
#define CV_FOLD_PLAN_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "policy/common/fit.h"

struct cv_fold_plan;

enum { CV_FOLD_NOBODY = UINT32_MAX };
enum { CV_FOLD_STEP_MOST = 16 }; /* partials of a step */

struct cv_fold_part {
    uint64_t id, bytes;
    uint32_t holder;
    uint32_t ahead; /* the worker that it has been sent ahead to, or CV_FOLD_NOBODY    */
    uint64_t name;  /* what it is called there                                         */
};

/* Worker `at` folds the parts, in this order. Those that others hold have to come from
 * there first. */
struct cv_fold_step {
    uint32_t at;
    uint32_t count; /* 2 and more                                                     */
    struct cv_fold_part parts[CV_FOLD_STEP_MOST];
};

/* A step takes `most` partials at most: 2 .. CV_FOLD_STEP_MOST. */
enum cleave_status cv_fold_plan_new(uint32_t nworkers, bool commutative, uint32_t max,
                                    struct cv_fold_plan **out, struct cleave_error *err);
void cv_fold_plan_free(struct cv_fold_plan *plan);

/* Worker `holder` has the result of [begin, end) of the input, begin < end, by the name
 * `id`. If it is CV_FOLD_NOBODY there is none, nor will be: its neighbours are neighbours
 * of each other. */
enum cleave_status cv_fold_plan_add(struct cv_fold_plan *plan, uint64_t id,
                                    uint64_t begin, uint64_t end, uint32_t holder,
                                    uint64_t bytes, struct cleave_error *err);
/* The next step, if some worker with may[worker] has one. The partials are busy then
 * until the step is done or undone. `patient`: more are to come, so a few that are so
 * small that folding them costs no more than a start wait for those. */
bool cv_fold_plan_next(struct cv_fold_plan *plan, const bool *may, bool patient,
                       struct cv_fold_step *out);
/* A partial that could go ahead to the worker of a step under way, and only one of those at
 * a time; it is busy then until the step is over, one way or the other. Ask when there is
 * no next step for workers with may[worker]. The holder keeps it until a step that it is
 * in is done. */
bool cv_fold_plan_ahead(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                        const bool *may, uint64_t name, struct cv_fold_part *out);
/* One that went ahead from a worker that is lost, and is so no more; false: none is left. */
bool cv_fold_plan_lose_ahead(struct cv_fold_plan *plan, uint32_t worker,
                             struct cv_fold_part *out);
/* The step has made a partial called `id`. */
void cv_fold_plan_done(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                       uint64_t id, uint64_t bytes);
/* The step has come to nothing; all partials are where they were. */
void cv_fold_plan_undo(struct cv_fold_plan *plan, const struct cv_fold_step *step);
/* Whether the worker folds or holds something of the step. */
bool cv_fold_step_has(const struct cv_fold_step *step, uint32_t worker);
/* Nothing of the worker's is there any more. Steps that it took part in must have been
 * undone. `again` is told of every interval of the input whose result is gone. */
enum cleave_status
cv_fold_plan_lose(struct cv_fold_plan *plan, uint32_t worker,
                  enum cleave_status (*again)(void *context, uint64_t begin, uint64_t end,
                                              struct cleave_error *err),
                  void *context, struct cleave_error *err);

/* Partials that there are; those of them that could be folded with another one now. */
size_t cv_fold_plan_count(const struct cv_fold_plan *plan);
size_t cv_fold_plan_ready(const struct cv_fold_plan *plan);
/* Bytes of the input that went into partials, with those that have no result. */
uint64_t cv_fold_plan_covered(const struct cv_fold_plan *plan);
/* The only partial left, if it is free. */
bool cv_fold_plan_last(const struct cv_fold_plan *plan, uint64_t *out_id,
                       uint32_t *out_holder, uint64_t *out_bytes);

struct cv_fold_pace {
    struct cv_fit transfer, fold; /* seconds for the bytes that move; of a step        */
};

/* A step took whole_s, from the order to the end; of that fold_s to fold, below 0: it was
 * not said. Without it, steps whose parts need not move tell what folding takes, and the
 * others, with that, what it takes to move. */
void cv_fold_pace_saw(struct cv_fold_pace *pace, const struct cv_fold_step *step,
                      double whole_s, double fold_s);
/* When a step that was ordered at given_s has at most the transfer of so many bytes to go.
 * Infinite: as long as nothing is known. */
double cv_fold_pace_near_s(const struct cv_fold_pace *pace,
                           const struct cv_fold_step *step, double given_s,
                           uint64_t bytes);

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
