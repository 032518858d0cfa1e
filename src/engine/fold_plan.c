/* fold_plan.c -- which partial results are folded where, when workers hold them.
 * SPDX-License-Identifier: MIT
 *
 * Partials are kept in the order of the input, in one array: there are few, since folding
 * makes them fewer, and a decision looks at all of them. */
#include "engine/fold_plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

static const size_t NONE = SIZE_MAX;

/* A piece of the input that went into a partial; `empty`: there was no result for it. */
struct span {
    uint64_t begin, end;
    bool empty;
    struct span *next;
};

struct item {
    uint64_t id, begin, end, bytes;
    uint32_t holder; /* CV_FOLD_NOBODY: there is no result for the interval           */
    bool busy;
    struct span *spans; /* owned: only needed when they are lost                      */
};

/* What a decision knows about a worker: its two smallest free partials. */
struct hand {
    size_t least, next;
    size_t count; /* all that it holds, busy or not                                   */
};

struct cv_fold_plan {
    bool commutative;
    uint32_t nworkers;
    struct item *items; /* owned: by begin                                            */
    size_t count, room;
    size_t without;     /* items that nobody holds                                    */
    struct hand *hands; /* owned: per worker                                          */
};

enum cleave_status cv_fold_plan_new(uint32_t nworkers, bool commutative,
                                    struct cv_fold_plan **out, struct cleave_error *err)
{
    struct cv_fold_plan *plan = calloc(1, sizeof *plan);

    if (plan != NULL)
        plan->hands = calloc((size_t)nworkers + 1, sizeof *plan->hands);
    if (plan == NULL || plan->hands == NULL) {
        free(plan);
        return cv_fail_memory(err, "the reduction");
    }
    plan->commutative = commutative;
    plan->nworkers = nworkers;
    *out = plan;
    return CLEAVE_OK;
}

static void free_spans(struct span *spans)
{
    while (spans != NULL) {
        struct span *next = spans->next;

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

static void add_spans(struct item *item, struct span *spans)
{
    struct span **end = &item->spans;

    while (*end != NULL)
        end = &(*end)->next;
    *end = spans;
}

/* An interval without a result becomes part of the one beside it. */
static void join(struct cv_fold_plan *plan, size_t index)
{
    struct item *left = &plan->items[index], *right = left + 1;

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
    struct span *span;
    size_t at = plan->count;

    assert(begin < end && (holder < plan->nworkers || holder == CV_FOLD_NOBODY));
    if (plan->commutative && holder == CV_FOLD_NOBODY)
        return CLEAVE_OK;
    if (plan->count == plan->room) {
        struct item *grown =
            cv_grow(plan->items, &plan->room, plan->count + 1, sizeof *grown);

        if (grown == NULL)
            return cv_fail_memory(err, "partial results");
        plan->items = grown;
    }
    span = malloc(sizeof *span);
    if (span == NULL)
        return cv_fail_memory(err, "partial results");
    *span = (struct span){ begin, end, holder == CV_FOLD_NOBODY, NULL };
    while (at > 0 && plan->items[at - 1].begin > begin)
        at--;
    memmove(plan->items + at + 1, plan->items + at,
            (plan->count - at) * sizeof *plan->items);
    plan->items[at] = (struct item){ .id = id,
                                     .begin = begin,
                                     .end = end,
                                     .bytes = bytes,
                                     .holder = holder,
                                     .spans = span };
    plan->count++;
    plan->without += holder == CV_FOLD_NOBODY;
    join(plan, at);
    if (at > 0)
        join(plan, at - 1);
    return CLEAVE_OK;
}

/* --- decisions
 * ----------------------------------------------------------------------------
 */

/* Where the two could be folded, moving the smaller one if there is a choice.
 *
 * */
static uint32_t place(const struct item *a, const struct item *b, const bool *may)
{
    const struct item *large = a->bytes >= b->bytes ? a : b;
    const struct item *small = large == a ? b : a;

    return may[large->holder]   ? large->holder
           : may[small->holder] ? small->holder
                                : CV_FOLD_NOBODY;
}

static bool is_free(const struct item *item)
{
    return !item->busy && item->holder != CV_FOLD_NOBODY;
}

/* The two neighbours to fold first: those of one worker, else the smallest. */
static bool choose_neighbours(const struct cv_fold_plan *plan, const bool *may,
                              size_t *out_left, size_t *out_right)
{
    bool found = false, best_moves = false;
    uint64_t best_bytes = 0;

    for (size_t i = 0; i + 1 < plan->count; i++) {
        const struct item *a = &plan->items[i], *b = &plan->items[i + 1];
        const bool moves = a->holder != b->holder;
        const uint64_t bytes = a->bytes + b->bytes;

        if (!is_free(a) || !is_free(b) || a->end != b->begin ||
            place(a, b, may) == CV_FOLD_NOBODY)
            continue;
        if (found && (moves != best_moves ? moves : bytes >= best_bytes))
            continue;
        found = true;
        best_moves = moves;
        best_bytes = bytes;
        *out_left = i;
        *out_right = i + 1;
    }
    return found;
}

/* What everybody holds: the two smallest of each. */
static void look_at_hands(struct cv_fold_plan *plan)
{
    for (uint32_t w = 0; w < plan->nworkers; w++)
        plan->hands[w] = (struct hand){ NONE, NONE, 0 };
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        struct hand *hand;

        if (item->holder == CV_FOLD_NOBODY)
            continue;
        hand = &plan->hands[item->holder];
        hand->count++;
        if (item->busy)
            continue;
        if (hand->least == NONE || item->bytes < plan->items[hand->least].bytes) {
            hand->next = hand->least;
            hand->least = i;
        } else if (hand->next == NONE || item->bytes < plan->items[hand->next].bytes) {
            hand->next = i;
        }
    }
}

static bool choose_any(struct cv_fold_plan *plan, const bool *may, size_t *out_left,
                       size_t *out_right)
{
    size_t first = NONE, second = NONE;

    look_at_hands(plan);
    for (uint32_t w = 0; w < plan->nworkers; w++) {
        const struct hand *hand = &plan->hands[w];

        if (!may[w] || hand->least == NONE)
            continue;
        if (hand->next != NONE) {
            *out_left = hand->least;
            *out_right = hand->next;
            return true;
        }
        if (hand->count > 1)
            continue; /* the others are busy; it may be folded with them later        */
        if (first == NONE || plan->items[hand->least].bytes < plan->items[first].bytes) {
            second = first;
            first = hand->least;
        } else if (second == NONE ||
                   plan->items[hand->least].bytes < plan->items[second].bytes) {
            second = hand->least;
        }
    }
    *out_left = first;
    *out_right = second;
    return second != NONE;
}

bool cv_fold_plan_next(struct cv_fold_plan *plan, const bool *may,
                       struct cv_fold_step *out)
{
    size_t at_left = 0, at_right = 0;
    struct item *left, *right;

    if (!(plan->commutative ? choose_any(plan, may, &at_left, &at_right)
                            : choose_neighbours(plan, may, &at_left, &at_right)))
        return false;
    left = &plan->items[at_left];
    right = &plan->items[at_right];
    left->busy = right->busy = true;
    *out = (struct cv_fold_step){
        .left = left->id,
        .right = right->id,
        .at = place(left, right, may),
        .giver = CV_FOLD_NOBODY,
    };
    if (left->holder != right->holder) {
        const struct item *moves = left->holder == out->at ? right : left;

        out->moves = moves->id;
        out->bytes = moves->bytes;
        out->giver = moves->holder;
    }
    return true;
}

/* --- what came of them -------------------------------------------------------------------- */

void cv_fold_plan_done(struct cv_fold_plan *plan, const struct cv_fold_step *step,
                       uint64_t id, uint64_t bytes)
{
    size_t left = find(plan, step->left), right = find(plan, step->right);
    struct item *item;

    assert(left != NONE && right != NONE);
    item = &plan->items[left];
    add_spans(item, plan->items[right].spans);
    item->id = id;
    item->bytes = bytes;
    item->holder = step->at;
    item->busy = false;
    if (!plan->commutative)
        item->end = plan->items[right].end;
    remove_item(plan, right);
}

void cv_fold_plan_undo(struct cv_fold_plan *plan, const struct cv_fold_step *step)
{
    const size_t left = find(plan, step->left), right = find(plan, step->right);

    if (left != NONE)
        plan->items[left].busy = false;
    if (right != NONE)
        plan->items[right].busy = false;
}

enum cleave_status
cv_fold_plan_lose(struct cv_fold_plan *plan, uint32_t worker,
                  enum cleave_status (*again)(void *context, uint64_t begin, uint64_t end,
                                              struct cleave_error *err),
                  void *context, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct item lost = { 0 };

    for (size_t i = plan->count; i-- > 0;) {
        if (plan->items[i].holder != worker)
            continue;
        assert(!plan->items[i].busy);
        add_spans(&lost, plan->items[i].spans);
        remove_item(plan, i);
    }
    for (const struct span *span = lost.spans; span != NULL && status == CLEAVE_OK;
         span = span->next)
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

size_t cv_fold_plan_held(const struct cv_fold_plan *plan, uint32_t worker)
{
    size_t held = 0;

    for (size_t i = 0; i < plan->count; i++)
        held += plan->items[i].holder == worker;
    return held;
}

bool cv_fold_plan_last(const struct cv_fold_plan *plan, uint64_t *out_id,
                       uint32_t *out_holder, uint64_t *out_bytes)
{
    if (cv_fold_plan_count(plan) != 1)
        return false;
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];

        if (!is_free(item))
            continue;
        *out_id = item->id;
        *out_holder = item->holder;
        *out_bytes = item->bytes;
        return true;
    }
    return false;
}
