/* fold_ahead.c -- which partial goes ahead to a worker that folds.
 * SPDX-License-Identifier: MIT
 *
 * Order kept: one of the two neighbours of what the step makes, the smaller one. Else one
 * that its worker has no other beside, the smallest. Whoever holds it must have nothing
 * else to do unless order is kept, as in a step: else there may soon be more at its home. */
#include "engine/fold_plan.h"

#include "engine/fold_plan_internal.h"

static bool smaller(const struct cv_fold_item *one, const struct cv_fold_item *other)
{
    return other == NULL || one->bytes < other->bytes;
}

static bool may_go(const struct cv_fold_item *item, uint32_t to)
{
    return cv_fold_item_free(item) && item->holder != to && item->ahead == CV_FOLD_NOBODY;
}

/* Something is on its way there already. */
static bool is_expecting(const struct cv_fold_plan *plan, uint32_t worker)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].ahead == worker)
            return true;
    return false;
}

static struct cv_fold_item *neighbour(const struct cv_fold_plan *plan,
                                      const struct cv_fold_step *step)
{
    const uint64_t first = step->parts[0].id, last = step->parts[step->count - 1].id;
    struct cv_fold_item *items = plan->items, *found = NULL;

    for (size_t i = 0; i < plan->count; i++) {
        const bool before = i + 1 < plan->count && items[i + 1].id == first &&
                            items[i + 1].begin == items[i].end;
        const bool behind =
            i > 0 && items[i - 1].id == last && items[i - 1].end == items[i].begin;

        if ((before || behind) && may_go(&items[i], step->at) &&
            smaller(&items[i], found))
            found = &items[i];
    }
    return found;
}

static struct cv_fold_item *lone(const struct cv_fold_plan *plan, const bool *may,
                                 uint32_t to)
{
    struct cv_fold_item *found = NULL;

    for (uint32_t w = 0; w < plan->nworkers; w++)
        plan->hands[w] = (struct cv_fold_hand){ 0 };
    for (size_t i = 0; i < plan->count; i++)
        plan->hands[cv_fold_seat(&plan->items[i])].count++;
    for (size_t i = 0; i < plan->count; i++) {
        struct cv_fold_item *item = &plan->items[i];

        if (may_go(item, to) && may[item->holder] &&
            plan->hands[item->holder].count == 1 && smaller(item, found))
            found = item;
    }
    return found;
}

bool cv_fold_plan_ahead(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                        const bool *may, uint64_t name, struct cv_fold_part *out)
{
    struct cv_fold_item *item;

    if (is_expecting(plan, step->at))
        return false;
    item = plan->commutative ? lone(plan, may, step->at) : neighbour(plan, step);
    if (item == NULL)
        return false;
    item->busy = true;
    item->ahead = step->at;
    item->name = name;
    *out = cv_fold_part_of(item);
    return true;
}

bool cv_fold_plan_lose_ahead(struct cv_fold_plan *plan, uint32_t worker,
                             struct cv_fold_part *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct cv_fold_item *item = &plan->items[i];

        if (item->holder != worker || item->ahead == CV_FOLD_NOBODY)
            continue;
        *out = cv_fold_part_of(item);
        item->ahead = CV_FOLD_NOBODY;
        item->busy = false;
        return true;
    }
    return false;
}
