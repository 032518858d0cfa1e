/* observed.h -- durations that a reduction policy has observed.
 * SPDX-License-Identifier: MIT
 *
 * A node's known cost is the cost of its last combination. */
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

/* Durations are differences of times: if they are equal, the last digits are noise. */
static inline bool cv_is_faster(double cost_s, double other_s)
{
    return cost_s < other_s * (1 - 1e-9);
}

/* Whether the standard deviation of combinations exceeds `cv` times their mean. */
static inline bool cv_combinations_vary(const struct cv_observed *seen, double cv)
{
    double mean_s = cv_mean_combination_seen(seen);

    return seen->ncombinations > 1 &&
           seen->squares_s2 / seen->ncombinations > (1 + cv * cv) * mean_s * mean_s;
}

/* Whether the rest of a combination can be predicted. */
static inline bool cv_combinations_steady(const struct cv_observed *seen)
{
    static const double STEADY = 0.5;

    return !cv_combinations_vary(seen, STEADY);
}

/* The smaller mean over the greater; 0 if one is unknown. */
static inline double cv_ratio_seen(const struct cv_observed *seen)
{
    double a = cv_mean_transfer_seen(seen), b = cv_mean_combination_seen(seen);

    return a > 0 && b > 0 ? fmin(a, b) / fmax(a, b) : 0;
}

/* Whether a partial may be sent to a combining node of unknown cost: enough
 * combinations were equal, and little can be lost, as the smaller mean is below
 * `ratio` of the greater. */
static inline bool cv_need_not_know(const struct cv_observed *seen, double ratio)
{
    enum { ENOUGH = 8 };
    static const double EQUAL = 0.1;

    return seen->ncombinations >= ENOUGH && cv_ratio_seen(seen) < ratio &&
           !cv_combinations_vary(seen, EQUAL);
}

#endif
