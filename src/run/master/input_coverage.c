/* input_coverage.c -- proof that every byte of the input was processed once.
 * SPDX-License-Identifier: MIT */
#include "run/master/input_coverage.h"

#include <inttypes.h>

#include "base/fail.h"

void cv_input_coverage_done(struct cv_input_coverage *coverage)
{
    cv_range_set_done(&coverage->settled);
    cv_range_set_done(&coverage->failed);
    coverage->fault = NULL;
}

/* Keep the first fault; others may follow from it. */
static void find_fault(struct cv_input_coverage *coverage, const char *fault,
                       uint64_t begin, uint64_t end)
{
    if (coverage->fault != NULL)
        return;
    coverage->fault = fault;
    coverage->at = (struct cv_range){ begin, end };
}

/* The part of [begin, end) that is in the set, up to its first gap; false: nothing. */
static bool first_common(const struct cv_range_set *set, uint64_t begin, uint64_t end,
                         struct cv_range *out)
{
    struct cv_range range;

    if (begin >= end || !cv_range_set_find(set, begin, &range) || range.begin >= end)
        return false;
    *out = (struct cv_range){ range.begin > begin ? range.begin : begin,
                              range.end < end ? range.end : end };
    return true;
}

enum cleave_status cv_input_coverage_add(struct cv_input_coverage *coverage,
                                         uint64_t begin, uint64_t end,
                                         struct cleave_error *err)
{
    struct cv_range twice;

    if (first_common(&coverage->settled, begin, end, &twice))
        find_fault(coverage, "were settled twice", twice.begin, twice.end);
    return cv_range_set_put(&coverage->settled, begin, end, err);
}

enum cleave_status cv_input_coverage_fail(struct cv_input_coverage *coverage,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err)
{
    CV_TRY(cv_input_coverage_add(coverage, begin, end, err));
    return cv_range_set_put(&coverage->failed, begin, end, err);
}

enum cleave_status cv_input_coverage_lose(struct cv_input_coverage *coverage,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err)
{
    const uint64_t before = coverage->settled.total;
    struct cv_range failed;

    CV_TRY(cv_range_set_remove(&coverage->settled, begin, end, err));
    if (before - coverage->settled.total != end - begin ||
        first_common(&coverage->failed, begin, end, &failed))
        find_fault(coverage, "were lost without having been done", begin, end);
    return CLEAVE_OK;
}

enum cleave_status cv_input_coverage_left(const struct cv_input_coverage *coverage,
                                          uint64_t total, struct cv_range_set *out,
                                          struct cleave_error *err)
{
    struct cv_range range;
    uint64_t at = 0;

    for (; at < total && cv_range_set_find(&coverage->settled, at, &range);
         at = range.end)
        if (range.begin > at)
            CV_TRY(cv_range_set_put(out, at, range.begin < total ? range.begin : total,
                                    err));
    return at < total ? cv_range_set_put(out, at, total, err) : CLEAVE_OK;
}

/* Report the range relative to the file of its first byte. */
static enum cleave_status complain(const struct cv_source *source, struct cv_range range,
                                   const char *what, struct cleave_error *err)
{
    const struct cv_source_span file = cv_source_span_at(source, range.begin);
    const uint64_t end = range.end < file.end ? range.end : file.end;

    return cv_fail(err, CLEAVE_EACCOUNT,
                   "bytes %" PRIu64 " to %" PRIu64 " of '%s' %s: a defect of cleave",
                   range.begin - file.begin, end - file.begin, file.name, what);
}

enum cleave_status cv_input_coverage_check(const struct cv_input_coverage *coverage,
                                           const struct cv_source *source,
                                           bool ended_well, struct cleave_error *err)
{
    const uint64_t total = cv_source_extent(source);
    struct cv_range_set left;
    struct cv_range first;
    enum cleave_status status;

    if (coverage->fault != NULL)
        return complain(source, coverage->at, coverage->fault, err);
    if (!ended_well)
        return CLEAVE_OK;
    cv_range_set_init(&left);
    status = cv_input_coverage_left(coverage, total, &left, err);
    if (status == CLEAVE_OK && cv_range_set_find(&left, 0, &first))
        status = complain(source, first, "were neither done nor failed", err);
    else if (status == CLEAVE_OK && coverage->settled.total != total)
        status = cv_fail(err, CLEAVE_EACCOUNT,
                         "%" PRIu64 " bytes were done of an input that has %" PRIu64
                         ": a defect of cleave",
                         coverage->settled.total, total);
    cv_range_set_done(&left);
    return status;
}
