/* weight_index.c -- the weights of the records of an input, by address. SPDX-License-Identifier: MIT */
#include "run/input/weight_index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"

/* Part of an order from which a record counts as heavy: it starts before lighter ones. When orders have
 * shrunk from four times such a record to its size, three quarters of the rest were handed out. Lighter
 * ones stay in the order of the input, so that chunks are not torn into single records. */
static const double HEAVY = 0.25;

/* The grain is the power of two below a mean weight, divided by 2^FINE. */
enum { FINE = 20 };

void cv_weight_index_done(struct cv_weight_index *index)
{
    free(index->records);
    free(index->keys);
    free(index->by_weight);
    free(index->rank);
    free(index->pending);
}

enum cleave_status cv_weight_index_add(struct cv_weight_index *index, uint64_t end,
                                       double weight, const uint64_t *keys,
                                       struct cleave_error *err)
{
    const size_t first = index->count * index->nkeys;

    if (!CV_ROOM(index->records, &index->capacity, index->count + 1) ||
        !CV_ROOM(index->keys, &index->keys_capacity, first + index->nkeys))
        return cv_fail_memory(err, "the weights of records");
    for (unsigned i = 0; i < index->nkeys; i++)
        index->keys[first + i] = keys != NULL ? keys[i] : 0;
    index->records[index->count++] = (struct cv_weighed_record){ end, weight };
    return CLEAVE_OK;
}

void cv_weight_index_set(struct cv_weight_index *index, size_t record, double weight)
{
    index->records[record].sum = weight;
}

/* The grain for the new records. A finer one keeps the sums of older records exact. */
static double find_grain(const struct cv_weight_index *index)
{
    const double most = index->grain > 0 ? index->grain : 1;
    const size_t count = index->count - index->settled;
    double mean = 0;

    for (size_t i = index->settled; i < index->count; i++)
        mean += index->records[i].sum / (double)count;
    if (!(mean > 0))
        return most;
    mean = ldexp(1, ilogb(mean) - FINE);
    return index->grain > 0 ? fmin(mean, most) : mean;
}

static double sum_before(const struct cv_weight_index *index, size_t record)
{
    return record > 0 ? index->records[record - 1].sum : 0;
}

void cv_weight_index_settle(struct cv_weight_index *index)
{
    index->grain = find_grain(index);
    for (; index->settled < index->count; index->settled++) {
        double *sum = &index->records[index->settled].sum;

        index->heaviest = fmax(index->heaviest, *sum);
        *sum = sum_before(index, index->settled) +
               index->grain * fmax(1, round(*sum / index->grain));
    }
}

/* Records that end at or before an address. */
static size_t count_until(const struct cv_weight_index *index, uint64_t address)
{
    size_t count;

    CV_BISECT(count, index->settled, i, index->records[i].end <= address);
    return count;
}

static double sum_until(const struct cv_weight_index *index, uint64_t address)
{
    return sum_before(index, count_until(index, address));
}

double cv_weight_index_between(const struct cv_weight_index *index, uint64_t begin,
                               uint64_t end)
{
    return sum_until(index, end) - sum_until(index, begin);
}

uint64_t cv_weight_index_count(const struct cv_weight_index *index, uint64_t begin,
                               uint64_t end)
{
    return count_until(index, end) - count_until(index, begin);
}

uint64_t cv_weight_index_after(const struct cv_weight_index *index, uint64_t begin,
                               uint64_t records)
{
    const size_t first = count_until(index, begin);

    return records > 0 && records <= index->settled - first
               ? index->records[first + records - 1].end
               : UINT64_MAX;
}

double cv_weight_index_total(const struct cv_weight_index *index)
{
    return sum_before(index, index->settled);
}

uint64_t cv_weight_index_cut(const struct cv_weight_index *index, uint64_t begin,
                             double wanted)
{
    const size_t first = count_until(index, begin);
    const double most = sum_before(index, first) + wanted;
    size_t after;

    CV_BISECT(after, index->settled, i, index->records[i].sum <= most);
    if (after == index->settled &&
        (first == after || index->records[after - 1].sum < most))
        return UINT64_MAX;
    return index->records[after > first ? after - 1 : first].end;
}

uint64_t cv_weight_index_cut_last(const struct cv_weight_index *index, uint64_t begin,
                                  uint64_t end, double wanted)
{
    const double least = sum_until(index, end) - wanted;
    size_t before;

    if (least <= sum_until(index, begin))
        return begin;
    CV_BISECT(before, index->settled, i, index->records[i].sum < least);
    return before < index->settled && index->records[before].end < end
               ? index->records[before].end
               : end;
}

void cv_weight_index_forget(struct cv_weight_index *index, uint64_t begin, uint64_t end)
{
    const size_t first = count_until(index, begin);
    size_t last = count_until(index, end);

    last -= last > first; /* the sum up to `end` stays */
    memmove(index->records + first, index->records + last,
            (index->count - last) * sizeof *index->records);
    if (index->nkeys > 0)
        memmove(index->keys + first * index->nkeys, index->keys + last * index->nkeys,
                (index->count - last) * index->nkeys * sizeof *index->keys);
    index->count -= last - first;
    index->settled -= last - first;
}

/* --- keys ------------------------------------------------------------------------------------- */

const uint64_t *cv_weight_index_keys(const struct cv_weight_index *index, uint64_t begin,
                                     uint64_t end, uint64_t *count)
{
    const size_t first = count_until(index, begin);

    *count = count_until(index, end) - first;
    return index->keys + first * index->nkeys;
}

bool cv_weight_index_find_allowed(
    const struct cv_weight_index *index, uint64_t begin, uint64_t end,
    bool (*allows)(const void *context, const uint64_t *keys), const void *context,
    uint64_t *out_begin, uint64_t *out_end)
{
    size_t i = count_until(index, begin);
    const size_t last = count_until(index, end);

    for (; i < last && !allows(context, index->keys + i * index->nkeys); i++)
        begin = index->records[i].end;
    *out_begin = *out_end = begin;
    for (; i < last && allows(context, index->keys + i * index->nkeys); i++)
        *out_end = index->records[i].end;
    if (*out_begin == *out_end)
        return false;
    if (i == index->settled)
        *out_end = UINT64_MAX;
    return true;
}

/* --- heavy records first -------------------------------------------------------------------- */

static double weight_of(const struct cv_weight_index *index, size_t record)
{
    return index->records[record].sum - sum_before(index, record);
}

static int heavier(const void *left, const void *right, void *context)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const double first = weight_of(context, a), second = weight_of(context, b);

    return first > second ? -1 : first < second ? 1 : a < b ? -1 : 1;
}

enum cleave_status cv_weight_index_sort(struct cv_weight_index *index,
                                        struct cleave_error *err)
{
    const size_t words = index->count / 64 + 1;

    if (index->count >= UINT32_MAX)
        return CLEAVE_OK; /* in the order of the input */
    index->by_weight = malloc((index->count + 1) * sizeof *index->by_weight);
    index->rank = malloc((index->count + 1) * sizeof *index->rank);
    index->pending = calloc(words, sizeof *index->pending);
    if (index->by_weight == NULL || index->rank == NULL || index->pending == NULL)
        return cv_fail_memory(err, "the weights of records");
    for (size_t i = 0; i < index->count; i++)
        index->by_weight[i] = (uint32_t)i;
    qsort_r(index->by_weight, index->count, sizeof *index->by_weight, heavier, index);
    for (size_t i = 0; i < index->count; i++) {
        index->rank[index->by_weight[i]] = (uint32_t)i;
        index->pending[i / 64] |= UINT64_C(1) << i % 64;
    }
    return CLEAVE_OK;
}

void cv_weight_index_note(struct cv_weight_index *index, uint64_t begin, uint64_t end,
                          bool pending)
{
    const size_t last = index->pending != NULL ? count_until(index, end) : 0;

    for (size_t i = last > 0 ? count_until(index, begin) : 0; i < last; i++) {
        const size_t rank = index->rank[i];
        const uint64_t bit = UINT64_C(1) << rank % 64;

        index->pending[rank / 64] =
            pending ? index->pending[rank / 64] | bit : index->pending[rank / 64] & ~bit;
    }
}

/* The first pending rank from `from`, or `count`. */
static size_t next_pending(const struct cv_weight_index *index, size_t from)
{
    while (from < index->count) {
        const uint64_t bits = index->pending[from / 64] >> from % 64;

        if (bits != 0)
            return from + (size_t)__builtin_ctzll(bits);
        from = (from / 64 + 1) * 64;
    }
    return index->count;
}

/* The first of the last pending ranks with equal weights. */
static size_t lightest_pending(const struct cv_weight_index *index)
{
    size_t word = index->count / 64 + 1, rank, before;
    double weight;

    while (word > 0 && index->pending[word - 1] == 0)
        word--;
    if (word == 0)
        return index->count;
    rank = word * 64 - 1 - (size_t)__builtin_clzll(index->pending[word - 1]);
    weight = weight_of(index, index->by_weight[rank]);
    CV_BISECT(before, rank, i, weight_of(index, index->by_weight[i]) > weight);
    return next_pending(index, before);
}

bool cv_weight_index_pick(const struct cv_weight_index *index, double wanted, bool any,
                          uint64_t *out)
{
    const double most = any ? INFINITY : wanted;
    size_t from, rank, record;

    CV_BISECT(from, index->count, i, weight_of(index, index->by_weight[i]) > most);
    rank = next_pending(index, from);
    if (rank == index->count)
        rank = lightest_pending(index);
    if (rank == index->count)
        return false;
    record = index->by_weight[rank];
    if (weight_of(index, record) < HEAVY * wanted)
        return false;
    *out = record > 0 ? index->records[record - 1].end : 0;
    return true;
}
