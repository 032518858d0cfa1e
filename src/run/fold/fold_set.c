/* fold_set.c -- partial results that wait to be folded. SPDX-License-Identifier: MIT */
#include "run/fold/fold_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"

void cv_fold_set_done(struct cv_fold_set *set)
{
    free(set->items);
    *set = (struct cv_fold_set){ 0 };
}

/* Whether items `index` and `index` + 1 can be folded. An item without a result has joined its
 * neighbours, so it is not adjacent to any. */
static bool linked(const struct cv_fold_set *set, size_t index)
{
    return index + 1 < set->count &&
           (set->commutative || set->items[index].end == set->items[index + 1].begin);
}

static void count_ready(struct cv_fold_set *set)
{
    set->ready = 0;
    for (size_t i = 0; i < set->count; i++)
        set->ready += linked(set, i) || (i > 0 && linked(set, i - 1));
}

static void remove_items(struct cv_fold_set *set, size_t index, size_t count)
{
    memmove(set->items + index, set->items + index + count,
            (set->count - index - count) * sizeof *set->items);
    set->count -= count;
}

/* The index of the first item after the partial. */
static size_t place(const struct cv_fold_set *set, const struct cv_partial *partial)
{
    const struct cv_partial *items = set->items;
    size_t at;

    if (set->commutative)
        CV_BISECT(at, set->count, i, items[i].bytes <= partial->bytes);
    else
        CV_BISECT(at, set->count, i, items[i].begin <= partial->begin);
    return at;
}

/* Join two adjacent intervals if one has no result. */
static bool join(struct cv_partial *before, const struct cv_partial *after)
{
    if (before->end != after->begin || (before->store != NULL && after->store != NULL))
        return false;
    before->end = after->end;
    before->covers += after->covers;
    if (before->store == NULL) {
        before->store = after->store;
        before->bytes = after->bytes;
    }
    return true;
}

enum cleave_status cv_fold_set_add(struct cv_fold_set *set,
                                   const struct cv_partial *partial,
                                   struct cleave_error *err)
{
    struct cv_partial added = *partial;
    size_t at;

    if (set->commutative && partial->store == NULL)
        return CLEAVE_OK;
    assert(set->commutative || partial->begin < partial->end);
    if (!CV_ROOM(set->items, &set->capacity, set->count + 1))
        return cv_fail_memory(err, "partial results");
    at = place(set, &added);
    if (!set->commutative) {
        struct cv_partial before;

        if (at < set->count && join(&added, &set->items[at]))
            remove_items(set, at, 1);
        if (at > 0 && (before = set->items[at - 1], join(&before, &added))) {
            added = before;
            remove_items(set, --at, 1);
        }
    }
    memmove(set->items + at + 1, set->items + at, (set->count - at) * sizeof *set->items);
    set->items[at] = added;
    set->count++;
    count_ready(set);
    return CLEAVE_OK;
}

/* The first of the `count` adjacent items with the smallest sum, among `length` items from
 * `first` that can be folded. */
static size_t smallest(const struct cv_fold_set *set, size_t first, size_t length,
                       size_t count, double *out_mean)
{
    double sum = 0, min;
    size_t best = first;

    for (size_t i = first; i < first + count; i++)
        sum += (double)set->items[i].bytes;
    min = sum;
    for (size_t i = first + 1; i + count <= first + length; i++) {
        sum += (double)set->items[i + count - 1].bytes - (double)set->items[i - 1].bytes;
        if (sum < min) {
            min = sum;
            best = i;
        }
    }
    *out_mean = min / (double)count;
    return best;
}

size_t cv_fold_set_take(struct cv_fold_set *set, size_t max, struct cv_partial *out)
{
    size_t best = 0, taken = 0;
    double min = 0;

    assert(max >= 2);
    for (size_t first = 0, length; first < set->count; first += length) {
        size_t count, at;
        double mean;

        for (length = 1; linked(set, first + length - 1);)
            length++;
        if (length < 2)
            continue;
        count = length < max ? length : max;
        at = smallest(set, first, length, count, &mean);
        if (taken == 0 || mean < min || (mean <= min && count > taken)) {
            best = at;
            taken = count;
            min = mean;
        }
    }
    if (taken == 0)
        return 0;
    memcpy(out, set->items + best, taken * sizeof *out);
    remove_items(set, best, taken);
    count_ready(set);
    return taken;
}

bool cv_fold_set_last(struct cv_fold_set *set, struct cv_partial *out)
{
    if (set->count != 1 || set->items[0].store == NULL)
        return false;
    return cv_fold_set_pop(set, out);
}

bool cv_fold_set_pop(struct cv_fold_set *set, struct cv_partial *out)
{
    if (set->count == 0)
        return false;
    *out = set->items[--set->count];
    count_ready(set);
    return true;
}
