/* fold_plan.c -- which partial results are folded where, when workers hold them.
 * SPDX-License-Identifier: MIT
 *
 * What there is and what becomes of it; fold_choice.c decides. */
#include "engine/fold_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "engine/fold_plan_internal.h"

static const size_t NONE = SIZE_MAX;

/* A piece of the input that went into a partial; `empty`: there was no result for it. */
struct cv_fold_span {
    uint64_t begin, end;
    bool empty;
    struct cv_fold_span *next;
};

enum cleave_status cv_fold_plan_new(uint32_t nworkers, bool commutative, uint32_t max,
                                    struct cv_fold_plan **out, struct cleave_error *err)
{
    struct cv_fold_plan *plan = calloc(1, sizeof *plan);

    assert(max >= 2 && max <= CV_FOLD_STEP_MOST);
    if (plan != NULL)
        plan->hands = calloc((size_t)nworkers + 1, sizeof *plan->hands);
    if (plan == NULL || plan->hands == NULL) {
        free(plan);
        return cv_fail_memory(err, "the reduction");
    }
    plan->commutative = commutative;
    plan->nworkers = nworkers;
    plan->max = max;
    *out = plan;
    return CLEAVE_OK;
}

static void free_spans(struct cv_fold_span *spans)
{
    while (spans != NULL) {
        struct cv_fold_span *next = spans->next;

        free(spans);
        spans = next;
    }
}

void cv_fold_plan_free(struct cv_fold_plan *plan)
{
    if (plan == NULL)
        return;
    for (size_t i = 0; i < plan->count; i++)
        free_spans(plan->items[i].spans);
    free(plan->items);
    free(plan->hands);
    free(plan);
}

static void remove_item(struct cv_fold_plan *plan, size_t index)
{
    plan->without -= plan->items[index].holder == CV_FOLD_NOBODY;
    memmove(plan->items + index, plan->items + index + 1,
            (plan->count - index - 1) * sizeof *plan->items);
    plan->count--;
}

static size_t find(const struct cv_fold_plan *plan, uint64_t id)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].id == id && plan->items[i].holder != CV_FOLD_NOBODY)
            return i;
    return NONE;
}

static void add_spans(struct cv_fold_item *item, struct cv_fold_span *spans)
{
    struct cv_fold_span **end = &item->spans;

    while (*end != NULL)
        end = &(*end)->next;
    *end = spans;
}

/* An interval without a result becomes part of the one beside it. */
static void join(struct cv_fold_plan *plan, size_t index)
{
    struct cv_fold_item *left = &plan->items[index], *right = left + 1;

    if (index + 1 >= plan->count || left->end != right->begin)
        return;
    if (left->holder == CV_FOLD_NOBODY) {
        right->begin = left->begin;
        add_spans(right, left->spans);
        remove_item(plan, index);
    } else if (right->holder == CV_FOLD_NOBODY) {
        left->end = right->end;
        add_spans(left, right->spans);
        remove_item(plan, index + 1);
    }
}

enum cleave_status cv_fold_plan_add(struct cv_fold_plan *plan, uint64_t id,
                                    uint64_t begin, uint64_t end, uint32_t holder,
                                    uint64_t bytes, struct cleave_error *err)
{
    struct cv_fold_span *span;
    size_t at = plan->count;

    assert(begin < end && (holder < plan->nworkers || holder == CV_FOLD_NOBODY));
    if (plan->commutative && holder == CV_FOLD_NOBODY) {
        plan->skipped += end - begin;
        return CLEAVE_OK;
    }
    if (!CV_ROOM(plan->items, &plan->room, plan->count + 1))
        return cv_fail_memory(err, "partial results");
    span = malloc(sizeof *span);
    if (span == NULL)
        return cv_fail_memory(err, "partial results");
    *span = (struct cv_fold_span){ begin, end, holder == CV_FOLD_NOBODY, NULL };
    while (at > 0 && plan->items[at - 1].begin > begin)
        at--;
    memmove(plan->items + at + 1, plan->items + at,
            (plan->count - at) * sizeof *plan->items);
    plan->items[at] = (struct cv_fold_item){ .id = id,
                                             .begin = begin,
                                             .end = end,
                                             .bytes = bytes,
                                             .holder = holder,
                                             .ahead = CV_FOLD_NOBODY,
                                             .spans = span };
    plan->count++;
    plan->without += holder == CV_FOLD_NOBODY;
    join(plan, at);
    if (at > 0)
        join(plan, at - 1);
    return CLEAVE_OK;
}

/* --- what came of them -------------------------------------------------------------------- */

/* What went ahead to the worker of a step that is over may be folded now. */
static void release_ahead(struct cv_fold_plan *plan, const struct cv_fold_step *step)
{
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].ahead == step->at)
            plan->items[i].busy = false;
}

void cv_fold_plan_done(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                       uint64_t id, uint64_t bytes)
{
    struct cv_fold_item *item;

    /* The first takes in the others. */
    for (uint32_t i = 1; i < step->count; i++) {
        const size_t from = find(plan, step->parts[i].id);
        const size_t to = find(plan, step->parts[0].id);

        assert(from != NONE && to != NONE);
        item = &plan->items[to];
        add_spans(item, plan->items[from].spans);
        if (!plan->commutative)
            item->end = plan->items[from].end;
        remove_item(plan, from);
    }
    item = &plan->items[find(plan, step->parts[0].id)];
    item->id = id;
    item->bytes = bytes;
    item->holder = step->at;
    item->ahead = CV_FOLD_NOBODY;
    item->busy = false;
    release_ahead(plan, step);
}

void cv_fold_plan_undo(struct cv_fold_plan *plan, const struct cv_fold_step *step)
{
    for (uint32_t i = 0; i < step->count; i++) {
        const size_t at = find(plan, step->parts[i].id);

        if (at == NONE)
            continue;
        plan->items[at].busy = false;
        plan->items[at].ahead = CV_FOLD_NOBODY;
    }
    release_ahead(plan, step);
}

bool cv_fold_step_has(const struct cv_fold_step *step, uint32_t worker)
{
    for (uint32_t i = 0; i < step->count; i++)
        if (step->parts[i].holder == worker)
            return true;
    return step->at == worker;
}

enum cleave_status
cv_fold_plan_lose(struct cv_fold_plan *plan, uint32_t worker,
                  enum cleave_status (*again)(void *context, uint64_t begin, uint64_t end,
                                              struct cleave_error *err),
                  void *context, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_fold_item lost = { 0 };

    for (size_t i = plan->count; i-- > 0;) {
        if (plan->items[i].ahead == worker) {
            plan->items[i].ahead = CV_FOLD_NOBODY;
            plan->items[i].busy = false;
        }
        if (plan->items[i].holder != worker)
            continue;
        assert(!plan->items[i].busy);
        add_spans(&lost, plan->items[i].spans);
        remove_item(plan, i);
    }
    for (const struct cv_fold_span *span = lost.spans;
         span != NULL && status == CLEAVE_OK; span = span->next)
        status = span->empty ? cv_fold_plan_add(plan, 0, span->begin, span->end,
                                                CV_FOLD_NOBODY, 0, err)
                             : again(context, span->begin, span->end, err);
    free_spans(lost.spans);
    return status;
}

size_t cv_fold_plan_count(const struct cv_fold_plan *plan)
{
    return plan->count - plan->without;
}

uint64_t cv_fold_plan_covered(const struct cv_fold_plan *plan)
{
    uint64_t covered = plan->skipped;

    for (size_t i = 0; i < plan->count; i++)
        for (const struct cv_fold_span *span = plan->items[i].spans; span != NULL;
             span = span->next)
            covered += span->end - span->begin;
    return covered;
}

bool cv_fold_plan_last(const struct cv_fold_plan *plan, uint64_t *out_id,
                       uint32_t *out_holder, uint64_t *out_bytes)
{
    if (cv_fold_plan_count(plan) != 1)
        return false;
    for (size_t i = 0; i < plan->count; i++) {
        const struct cv_fold_item *item = &plan->items[i];

        if (!cv_fold_item_free(item))
            continue;
        *out_id = item->id;
        *out_holder = item->holder;
        *out_bytes = item->bytes;
        return true;
    }
    return false;
}
