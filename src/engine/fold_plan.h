/* fold_plan.h -- which worker folds which partial results. SPDX-License-Identifier: MIT
 *
 * The rules of the dynamic reduction policies, for partials that appear while others are
 * folded, and for workers that hold several. Order kept (ordered-tree-dyn): a partial is
 * folded with partials of neighbouring intervals of the input. Commutative (tree-dyn, a
 * cluster per worker): a partial leaves its worker only if the worker holds no other.
 *
 * A step takes the partials that are ready, shared among the workers that could fold. The
 * step with the most partials is first, then one without transfers, then the smallest.
 * The worker that holds most of its bytes folds.
 *
 * A partial that no step can take may go ahead to a worker that folds, to arrive when
 * that worker is done (tree-adapt, ordered-adapt), once the worker has at most one
 * transfer to go. This module only decides: it sends and computes nothing. */
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
/* Ids may have this bit, for results of folds. A copy that goes ahead gets it from the original. */
#define CV_FOLD_RESULT ((uint64_t)1 << 62)

struct cv_fold_part {
    uint64_t id, bytes;
    uint32_t holder;
    uint32_t ahead; /* the worker that a copy was sent ahead to, or CV_FOLD_NOBODY */
    uint64_t name;  /* the copy has */
};

/* Worker `at` folds the parts, in this order, after it has received the missing ones. */
struct cv_fold_step {
    uint32_t at;
    uint32_t count; /* at least 2 */
    struct cv_fold_part parts[CV_FOLD_STEP_MOST];
};

/* A step takes up to `max` partials, 2 .. CV_FOLD_STEP_MOST. `apart`: no partial can be sent to
 * another worker. */
enum cleave_status cv_fold_plan_new(uint32_t nworkers, bool commutative, bool apart,
                                    uint32_t max, struct cv_fold_plan **out,
                                    struct cleave_error *err);
void cv_fold_plan_free(struct cv_fold_plan *plan);

/* Worker `holder` has the result `id` of [begin, end) of the input, begin < end. */
enum cleave_status cv_fold_plan_add(struct cv_fold_plan *plan, uint64_t id,
                                    uint64_t begin, uint64_t end, uint32_t holder,
                                    uint64_t bytes, struct cleave_error *err);
/* The next step, if a worker with may[worker] has one. Its partials are busy until the
 * step is done or undone. `patient`: more will follow, so a few small ones, whose fold
 * costs no more than its start, wait for them. */
bool cv_fold_plan_next(struct cv_fold_plan *plan, const bool *may, bool patient,
                       struct cv_fold_step *out);
/* A partial that can go ahead to the worker of a running step, one at a time; it is busy
 * until the step ends. Call this if there is no next step for workers with may[worker].
 * The holder keeps the partial until a step that uses it is done. */
bool cv_fold_plan_ahead(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                        const bool *may, uint64_t name, struct cv_fold_part *out);
/* Cancel a copy that went ahead from a lost worker; false: none is left. */
bool cv_fold_plan_lose_ahead(struct cv_fold_plan *plan, uint32_t worker,
                             struct cv_fold_part *out);
/* The step has made partial `id`. */
void cv_fold_plan_done(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                       uint64_t id, uint64_t bytes);
/* The step failed; its partials did not change. */
void cv_fold_plan_undo(struct cv_fold_plan *plan, const struct cv_fold_step *step);
/* Whether the worker folds or holds something of the step. */
bool cv_fold_step_has(const struct cv_fold_step *step, uint32_t worker);
/* Remove all partials of a worker. Its steps must have been undone. `again` is called for
 * every interval of the input whose result is lost. */
enum cleave_status
cv_fold_plan_lose(struct cv_fold_plan *plan, uint32_t worker,
                  enum cleave_status (*again)(void *context, uint64_t begin, uint64_t end,
                                              struct cleave_error *err),
                  void *context, struct cleave_error *err);

/* Number of partials; number of partials that could be folded with another one now. */
size_t cv_fold_plan_count(const struct cv_fold_plan *plan);
size_t cv_fold_plan_ready(const struct cv_fold_plan *plan);
bool cv_fold_plan_holds(const struct cv_fold_plan *plan, uint32_t worker);
/* Bytes of the input that went into partials. */
uint64_t cv_fold_plan_covered(const struct cv_fold_plan *plan);
/* The only partial left, if it is free. */
bool cv_fold_plan_last(const struct cv_fold_plan *plan, uint64_t *out_id,
                       uint32_t *out_holder, uint64_t *out_bytes);

/* A partial that may leave the plan. `covers`: bytes of the input that went into it. `grows`: its
 * worker has a partial next to it in the input. */
struct cv_fold_leaver {
    uint64_t id, bytes, begin, end, covers;
    uint32_t holder;
    bool grows;
};
/* A free partial that `leaves` picks; it is busy from then on. */
bool cv_fold_plan_pick(struct cv_fold_plan *plan,
                       bool (*leaves)(void *context,
                                      const struct cv_fold_leaver *partial),
                       void *context, struct cv_fold_leaver *out);
/* The picked partial stays; or has left the plan. */
void cv_fold_plan_stay(struct cv_fold_plan *plan, uint64_t id);
void cv_fold_plan_leave(struct cv_fold_plan *plan, uint64_t id);

struct cv_fold_pace {
    struct cv_fit transfer, fold; /* seconds by bytes: to move parts; to fold a step */
};

/* A step took whole_s from order to end, fold_s of it to fold; below 0: not known.
 * Without it, steps whose parts need not move give the time to fold, and other steps,
 * with that, the time to move. */
void cv_fold_pace_saw(struct cv_fold_pace *pace, const struct cv_fold_step *step,
                      double whole_s, double fold_s);
/* When a step ordered at given_s has at most the transfer of `bytes` to go; INFINITY if
 * nothing is known. */
double cv_fold_pace_near_s(const struct cv_fold_pace *pace,
                           const struct cv_fold_step *step, double given_s,
                           uint64_t bytes);

#endif
