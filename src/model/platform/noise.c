/* noise.c -- by how much one operation takes longer than modelled.
 * SPDX-License-Identifier: MIT */
#include "model/platform/noise.h"

#include <math.h>
#include <string.h>

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
