/* observed.h -- what a reduction policy has seen of costs so far. SPDX-License-Identifier: MIT
 *
 * Adaptive policies are told no costs: they use durations that have already been
 * observed, on all nodes. A node's known cost is that of its last combination. */
#ifndef CV_OBSERVED_H
#define CV_OBSERVED_H
#include <math.h>
#include "policy/common/setup.h"

struct cv_observed {
    double transfers_s, combinations_s; /* sums                          */
    double squares_s2;                  /* sum of squared combinations   */
    uint32_t ntransfers, ncombinations;
    double *known_s; /* per node; negative: not known */
};

static inline bool cv_observed_init(struct cv_observed *seen, struct cv_arena *arena,
                                    uint32_t n)
{
    seen->transfers_s = seen->combinations_s = seen->squares_s2 = 0;
    seen->ntransfers = seen->ncombinations = 0;
    seen->known_s = cv_array(arena, n, sizeof *seen->known_s);
    if (seen->known_s == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        seen->known_s[i] = -1;
    return true;
}

static inline void cv_saw_transfer(struct cv_observed *seen, double duration_s)
{
    seen->transfers_s += duration_s;
    seen->ntransfers++;
}

static inline void cv_saw_combination(struct cv_observed *seen, uint32_t node,
                                      double duration_s)
{
    seen->known_s[node] = duration_s;
    seen->combinations_s += duration_s;
    seen->squares_s2 += duration_s * duration_s;
    seen->ncombinations++;
}

static inline double cv_mean_transfer_seen(const struct cv_observed *seen)
{
    return seen->ntransfers > 0 ? seen->transfers_s / seen->ntransfers : 0;
}

static inline double cv_mean_combination_seen(const struct cv_observed *seen)
{
    return seen->ncombinations > 0 ? seen->combinations_s / seen->ncombinations : 0;
}

/* Whether one of two nodes is expected to be faster. Durations are differences of times: of two
 * that take the same, the last digit says nothing. */
static inline bool cv_is_faster(double cost_s, double other_s)
{
    return cost_s < other_s * (1 - 1e-9);
}

/* Whether combinations vary by more than `cv`, their standard deviation over the mean. */
static inline bool cv_combinations_vary(const struct cv_observed *seen, double cv)
{
    double mean_s = cv_mean_combination_seen(seen);

    return seen->ncombinations > 1 &&
           seen->squares_s2 / seen->ncombinations > (1 + cv * cv) * mean_s * mean_s;
}

/* Combinations take about as long as expected: how much of one is to go can be told. */
static inline bool cv_combinations_steady(const struct cv_observed *seen)
{
    static const double STEADY = 0.5;

    return !cv_combinations_vary(seen, STEADY);
}

/* The smaller of the two means over the greater; 0 when one has not been seen. */
static inline double cv_ratio_seen(const struct cv_observed *seen)
{
    double a = cv_mean_transfer_seen(seen), b = cv_mean_combination_seen(seen);

    return a > 0 && b > 0 ? fmin(a, b) / fmax(a, b) : 0;
}

/* Whether a node's own cost need not be known before something is sent to it while it
 * combines: enough were seen, all were the same, and there is little to lose, as the
 * smaller mean is below `ratio` of the greater. */
static inline bool cv_need_not_know(const struct cv_observed *seen, double ratio)
{
    enum { ENOUGH = 8 };
    static const double EQUAL = 0.1;

    return seen->ncombinations >= ENOUGH && cv_ratio_seen(seen) < ratio &&
           !cv_combinations_vary(seen, EQUAL);
}

#endif
