/* fuzz_distribution.c -- any text as a law. SPDX-License-Identifier: MIT
 *
 * An accepted law has the mean and spread of the text, and gives values that can be
 * times: finite, not negative, the same for the same name, between the ends of the law.
 * The mean of many values is near the law's. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/reduce/reduce_costs.h"
#include "fuzz_target.h"

enum { DRAWS = 300 };

#define require(truth) require_at(truth, #truth, __LINE__)

static void require_at(int truth, const char *text, int line)
{
    if (truth)
        return;
    fprintf(stderr, "fuzz_distribution.c:%d: %s\n", line, text);
    abort();
}

static void check_values(const struct cv_distribution *distribution)
{
    const double mean = cv_distribution_mean(distribution),
                 cv = cv_distribution_cv(distribution);
    double sum = 0;

    for (uint32_t i = 0; i < DRAWS; i++) {
        const double value = cv_distribution_draw(distribution, 7, 1, i, 3);

        require(isfinite(value) && value >= 0);
        require(value == cv_distribution_draw(distribution, 7, 1, i, 3));
        if (distribution->kind == CV_LAW_UNIFORM ||
            distribution->kind == CV_LAW_BERNOULLI)
            require(value >= distribution->low && value <= distribution->high);
        if (cv == 0)
            require(fabs(value - mean) <= 1e-12 * mean);
        /* So far from the mean is none of a law that is this narrow, if it is not one of
         * two values of which one is rare. */
        if (cv < 0.1 && distribution->kind != CV_LAW_BERNOULLI)
            require(fabs(value - mean) <= 12 * cv * mean + 1e-12 * mean);
        sum += value / DRAWS;
    }
    /* Eight standard deviations of a mean of this many values; wide laws have rare large
     * values. */
    if (cv <= 1 && mean > 1e-290) /* smaller ones are rounded when they are split */
        require(fabs(sum - mean) <= 8 * cv * mean / sqrt(DRAWS) + 1e-9 * mean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cv_distribution untouched = { .kind = CV_LAW_UNIFORM, .low = 3 };
    struct cv_distribution distribution = untouched;
    struct cleave_error err = { .text = "" };
    char *text = malloc(size + 1);

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (cv_distribution_parse(text, &distribution, &err) == CLEAVE_OK) {
        require(isfinite(cv_distribution_mean(&distribution)) &&
                cv_distribution_mean(&distribution) >= 0);
        require(isfinite(cv_distribution_cv(&distribution)) &&
                cv_distribution_cv(&distribution) >= 0);
        check_values(&distribution);
    } else {
        require(err.text[0] != '\0' && strlen(err.text) < sizeof err.text);
        require(distribution.kind == untouched.kind && distribution.low == untouched.low);
    }
    free(text);
    return 0;
}
