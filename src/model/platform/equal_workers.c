/* equal_workers.c -- whether all workers are alike. SPDX-License-Identifier: MIT */
#include "model/platform/equal_workers.h"

#include "model/platform/worker_fields.h"

/* Differences are told of in this order: rates, times, the way back. */
enum { RATES, TIMES, WAY_BACK, NTURNS };

static int turn_of(const struct cv_worker_field *field)
{
    return field->like != NULL ? WAY_BACK : field->quantity == CV_RATE ? RATES : TIMES;
}

static const char *first_difference(const struct cleave_worker *a,
                                    const struct cleave_worker *b, bool way_back)
{
    for (int turn = 0; turn < (way_back ? NTURNS : WAY_BACK); turn++)
        for (size_t i = 0; i < CV_WORKER_FIELDS; i++) {
            const struct cv_worker_field *field = &cv_worker_fields[i];

            if (turn_of(field) == turn &&
                cv_worker_cost_of(a, field) != cv_worker_cost_of(b, field))
                return field->name;
        }
    return NULL;
}

bool cv_workers_equal(const struct cleave_worker *workers, uint32_t nworkers,
                      bool way_back, uint32_t *out_other, const char **out_what)
{
    for (uint32_t i = 1; i < nworkers; i++) {
        const char *what = first_difference(&workers[0], &workers[i], way_back);

        if (what == NULL)
            continue;
        if (out_other != NULL)
            *out_other = i;
        if (out_what != NULL)
            *out_what = what;
        return false;
    }
    return true;
}
