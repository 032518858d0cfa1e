/* map_units.c -- computed units of a shared job. SPDX-License-Identifier: MIT */
#include "mpi/map/map_units.h"

#include "base/fail.h"

enum cleave_status cv_map_units_add(struct cv_range_set *units, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    struct cv_range next;

    if (cv_range_set_find(units, begin, &next) && next.begin < end)
        return cv_fail(err, CLEAVE_EACCOUNT,
                       "units %llu to %llu were computed twice: a defect of cleave",
                       (unsigned long long)(next.begin > begin ? next.begin : begin),
                       (unsigned long long)(next.end < end ? next.end : end));
    return cv_range_set_put(units, begin, end, err);
}

enum cleave_status cv_map_units_check(const struct cv_range_set *units, uint64_t all,
                                      struct cleave_error *err)
{
    struct cv_range range;
    uint64_t begin = 0, end = all; /* the first gap */

    if (cv_range_set_find(units, 0, &range) && range.begin == 0) {
        begin = range.end;
        end = cv_range_set_find(units, begin, &range) ? range.begin : all;
    } else if (units->total > 0) {
        end = range.begin;
    }
    if (begin > all)
        return cv_fail(err, CLEAVE_EACCOUNT,
                       "units %llu to %llu were computed, and there are only %llu: a "
                       "defect of cleave",
                       (unsigned long long)all, (unsigned long long)begin,
                       (unsigned long long)all);
    if (begin < all)
        return cv_fail(err, CLEAVE_EACCOUNT,
                       "units %llu to %llu of %llu were not computed: a defect of cleave",
                       (unsigned long long)begin,
                       (unsigned long long)(end < all ? end : all),
                       (unsigned long long)all);
    return CLEAVE_OK;
}
