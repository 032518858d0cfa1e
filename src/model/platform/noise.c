/* noise.c -- by how much one operation takes longer than modelled.
 * SPDX-License-Identifier: MIT */
#include "model/platform/noise.h"

#include <math.h>
#include <string.h>

#include "base/argument.h"
#include "base/fail.h"
#include "base/quantity.h"
#include "base/random.h"

static const struct {
    const char *prefix;
    enum cleave_noise_kind kind;
} kinds[] = {
    { "gamma:", CLEAVE_NOISE_GAMMA },
    { "normal:", CLEAVE_NOISE_NORMAL },
};

enum cleave_status cleave_noise_parse(const char *text, struct cleave_noise *out,
                                      struct cleave_error *err)
{
    CV_EXPECT_POINTER(text, err, "text");
    CV_EXPECT_POINTER(out, err, "out");
    if (strcmp(text, "none") == 0) {
        *out = (struct cleave_noise){ .kind = CLEAVE_NOISE_NONE };
        return CLEAVE_OK;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].prefix);
        double spread;

        if (strncmp(text, kinds[i].prefix, length) != 0)
            continue;
        if (cv_quantity_parse(text + length, CV_NUMBER, &spread) != NULL || spread < 0 ||
            spread > 100)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected a spread from 0 to 100 after '%s', got '%s'",
                           kinds[i].prefix, text + length);
        /* A spread of 0 means no noise; the samplers divide by it. */
        *out = (struct cleave_noise){ spread < 1e-12 ? CLEAVE_NOISE_NONE : kinds[i].kind,
                                      spread };
        return CLEAVE_OK;
    }
    return cv_fail(err, CLEAVE_EINPUT, "expected none, gamma:CV or normal:E, got '%s'",
                   text);
}

bool cv_noise_any(const struct cv_noise *noise)
{
    return noise != NULL && (noise->drawn.kind != CLEAVE_NOISE_NONE ||
                             noise->transfer.n > 0 || noise->compute.n > 0);
}

double cv_noise_factor(const struct cv_noise *noise, enum cv_activity activity,
                       uint32_t worker, uint32_t nth, uint64_t chunk)
{
    const struct cv_factors *recorded =
        activity == CV_COMPUTE ? &noise->compute : &noise->transfer;
    struct cv_random random;

    if (recorded->n > 0)
        return activity == CV_RETURN ? 1 : recorded->factor[chunk % recorded->n];
    if (noise->drawn.kind == CLEAVE_NOISE_NONE)
        return 1;
    /* Returns use separate random numbers and do not change the others. */
    cv_random_at(&random, noise->seed, noise->run, worker,
                 activity == CV_RETURN ? ~nth : 2 * nth + (activity == CV_COMPUTE));
    if (noise->drawn.kind == CLEAVE_NOISE_GAMMA)
        return cv_random_gamma(&random, noise->drawn.spread);
    return fmax(0.1, 1 + noise->drawn.spread * cv_random_normal(&random));
}

/* --- costs of records ----------------------------------------------------------------- */

/* Each kind of random numbers has a separate seed. */
enum { RECORD_PURPOSE = 8, STALL_PURPOSE };

static const struct {
    const char *prefix, *expected;
    enum cleave_cost_kind kind;
    double above, upto;
} cost_kinds[] = {
    { "gamma:", "a spread above 0 and up to 100", CLEAVE_COST_GAMMA, 0, 100 },
    { "lognormal:", "a spread above 0 and up to 100", CLEAVE_COST_LOGNORMAL, 0, 100 },
    { "pareto:", "an exponent above 1 and up to 100", CLEAVE_COST_PARETO, 1, 100 },
};

/* Two numbers with a comma between; the second may be missing if *second is above 0. */
static const char *parse_pair(const char *text, enum cv_quantity kind, double *first,
                              enum cv_quantity other, double *second)
{
    char part[64];
    const size_t length = strcspn(text, ",");
    const char *fault = NULL;

    if (length >= sizeof part || (text[length] == '\0' && !(*second > 0)))
        return "expected two numbers";
    memcpy(part, text, length);
    part[length] = '\0';
    fault = cv_quantity_parse(part, kind, first);
    if (fault == NULL && text[length] != '\0')
        fault = cv_quantity_parse(text + length + 1, other, second);
    return fault;
}

enum cleave_status cleave_cost_law_parse(const char *text, struct cleave_cost_law *out,
                                         struct cleave_error *err)
{
    CV_EXPECT_POINTER(text, err, "text");
    CV_EXPECT_POINTER(out, err, "out");
    for (size_t i = 0; i < sizeof cost_kinds / sizeof *cost_kinds; i++) {
        const size_t length = strlen(cost_kinds[i].prefix);
        struct cleave_cost_law law = { .kind = cost_kinds[i].kind, .record = 1 };

        if (strncmp(text, cost_kinds[i].prefix, length) != 0)
            continue;
        if (parse_pair(text + length, CV_NUMBER, &law.spread, CV_UNITS, &law.record) !=
                NULL ||
            !(law.spread > cost_kinds[i].above && law.spread <= cost_kinds[i].upto) ||
            !(law.record > 0))
            return cv_fail(
                err, CLEAVE_EINPUT,
                "expected %s after '%s', then perhaps a comma and the units of "
                "a record, got '%s'",
                cost_kinds[i].expected, cost_kinds[i].prefix, text + length);
        *out = law;
        return CLEAVE_OK;
    }
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected gamma:CV, lognormal:CV or pareto:ALPHA, got '%s'", text);
}

void cv_record_law_begin(struct cv_record_law *law,
                         const struct cleave_cost_law *declared, uint64_t seed,
                         uint32_t run)
{
    const double spread = declared->spread;

    *law = (struct cv_record_law){ .kind = declared->kind,
                                   .seed = cv_random_derive(seed, RECORD_PURPOSE),
                                   .run = run };
    if (law->kind == CLEAVE_COST_GAMMA) {
        cv_gamma_init(&law->gamma, 1, spread);
    } else if (law->kind == CLEAVE_COST_LOGNORMAL) {
        law->power = sqrt(log1p(spread * spread));
        law->scale = exp(-law->power * law->power / 2);
    } else if (law->kind == CLEAVE_COST_PARETO) {
        law->power = -1 / spread;
        law->scale = (spread - 1) / spread;
    }
}

double cv_record_factor(const struct cv_record_law *law, uint64_t record)
{
    const uint32_t i = (uint32_t)(record >> 32), j = (uint32_t)record;

    switch (law->kind) {
    case CLEAVE_COST_GAMMA:
        return cv_gamma_at(&law->gamma, law->seed, law->run, i, j);
    case CLEAVE_COST_LOGNORMAL:
        return law->scale * exp(law->power * cv_normal_at(law->seed, law->run, i, j));
    case CLEAVE_COST_PARETO:
        return law->scale *
               pow(cv_unit(cv_philox(law->seed, law->run, i, j, 0).word[0]), law->power);
    default:
        return 1;
    }
}

/* --- standstills ---------------------------------------------------------------------- */

enum cleave_status cleave_stalls_parse(const char *text, struct cleave_stalls *out,
                                       struct cleave_error *err)
{
    struct cleave_stalls law = { 0, 0 };

    CV_EXPECT_POINTER(text, err, "text");
    CV_EXPECT_POINTER(out, err, "out");
    if (parse_pair(text, CV_SECONDS, &law.every_s, CV_SECONDS, &law.length_s) != NULL ||
        !(law.every_s > 0) || !(law.length_s > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected two times above 0, as in 60s,2s: from stall to stall, "
                       "and of a stall, got '%s'",
                       text);
    *out = law;
    return CLEAVE_OK;
}

void cv_standstill_begin(struct cv_standstill *still, const struct cleave_stalls *law,
                         double hang_s, uint64_t seed, uint32_t run, uint32_t worker)
{
    *still = (struct cv_standstill){ .law = *law, .hang_s = hang_s };
    cv_random_at(&still->random, cv_random_derive(seed, STALL_PURPOSE), run, worker, 0);
    cv_standstill_next(still);
}

void cv_standstill_next(struct cv_standstill *still)
{
    const bool stalls = still->law.every_s > 0;

    if (stalls) {
        still->from_s =
            still->to_s - still->law.every_s * log(cv_random_uniform(&still->random));
        still->to_s =
            still->from_s - still->law.length_s * log(cv_random_uniform(&still->random));
    }
    if (!stalls || still->from_s > still->hang_s)
        still->from_s = still->hang_s;
    if (!stalls || still->to_s >= still->hang_s)
        still->to_s = INFINITY;
}
