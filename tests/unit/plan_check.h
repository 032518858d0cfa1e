/* plan_check.h -- platforms to plan for, and what every plan must satisfy.
 * SPDX-License-Identifier: MIT */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>

#include "base/fail.h"
#include "base/random.h"
#include "model/load/plan.h"

enum { MOST_WORKERS = 64 };

static inline struct cleave_worker worker_of(double speed, double alpha, double bandwidth,
                                             double beta)
{
    return (struct cleave_worker){ speed, alpha, bandwidth, beta, bandwidth, beta };
}

static inline double random_between(struct cv_random *random, double low, double high)
{
    return low + (high - low) * cv_random_uniform(random);
}

/* Between low and high, every order of magnitude as likely as another. */
static inline double random_scale(struct cv_random *random, double low, double high)
{
    return exp(random_between(random, log(low), log(high)));
}

static inline struct cleave_worker random_worker(struct cv_random *random)
{
    const double speed = random_between(random, 0.3, 2);
    const double alpha = random_between(random, 0, 1.5);
    const double bandwidth = random_between(random, 4, 30);

    return worker_of(speed, alpha, bandwidth, random_between(random, 0, 0.8));
}

static inline void assert_near(double got, double pending, double relative)
{
    if (!(fabs(got - pending) <= relative * fabs(pending) + 1e-12))
        fail_msg("expected %.17g within %g, got %.17g", pending, relative, got);
}

/* All units are sent once, in nonempty chunks to existing workers; the makespan agrees
 * with the plan. Returns it. */
static inline double check_plan(const struct cleave_worker *workers, uint32_t nworkers,
                                const struct cv_plan *plan, double load, double said_s)
{
    double *ready = calloc(nworkers, sizeof *ready);
    double sum = 0, makespan;

    assert_non_null(ready);
    assert_true(plan->nchunks > 0);
    for (size_t k = 0; k < plan->nchunks; k++) {
        assert_true(plan->worker[k] < nworkers);
        assert_true(plan->units[k] > 0 && isfinite(plan->units[k]));
        sum += plan->units[k];
    }
    assert_near(sum, load, 1e-9);
    makespan = cv_plan_makespan(workers, nworkers, plan, ready);
    assert_true(isfinite(makespan));
    if (!isnan(said_s))
        assert_near(makespan, said_s, 1e-7);
    free(ready);
    return makespan;
}

/* For calls that must not fail. */
#define MUST(call)                                      \
    do {                                                \
        if ((call) != CLEAVE_OK)                        \
            fail_msg("unexpected error: %s", err.text); \
    } while (0)

#endif
