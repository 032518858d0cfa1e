/* link_compressor.c -- compress what goes over a slow link. SPDX-License-Identifier: MIT */
#include "run/common/link_compressor.h"

#include <zstd.h>

#include "run/common/poller.h"

enum {
    LEVEL = 1,
    LEAST = 512, /* bytes below which nothing is worth it                            */
    AGAIN = 64,  /* after so many frames it is tried again whether it pays            */
};

/* What is measured counts so much beside what was before. */
static const double NEW = 0.3;

void cv_link_compressor_init(struct cv_link_compressor *compressor)
{
    *compressor = (struct cv_link_compressor){ .saves_Bps = -1 };
}

void cv_link_compressor_done(struct cv_link_compressor *compressor)
{
    ZSTD_freeCCtx(compressor->out);
    ZSTD_freeDCtx(compressor->in);
    cv_link_compressor_init(compressor);
}

static void note(struct cv_link_compressor *compressor, double saved, double seconds)
{
    const double rate_Bps = saved / (seconds > 1e-7 ? seconds : 1e-7);

    compressor->saves_Bps = compressor->saves_Bps < 0
                                ? rate_Bps
                                : (1 - NEW) * compressor->saves_Bps + NEW * rate_Bps;
}

size_t cv_link_compressor_put(struct cv_link_compressor *compressor, double link_Bps,
                              const void *bytes, size_t length, void *out)
{
    double began_s;
    size_t became;

    if (length < LEAST || !(link_Bps > 0))
        return 0;
    if (compressor->saves_Bps >= 0 && compressor->saves_Bps <= link_Bps &&
        ++compressor->skipped < AGAIN)
        return 0;
    compressor->skipped = 0;
    if (compressor->out == NULL)
        compressor->out = ZSTD_createCCtx();
    if (compressor->out == NULL)
        return 0;
    began_s = cv_clock_s();
    became = ZSTD_compressCCtx(compressor->out, out, length, bytes, length, LEVEL);
    if (ZSTD_isError(became)) /* it would have become longer */
        became = length;
    note(compressor, (double)length - (double)became, cv_clock_s() - began_s);
    return became < length && compressor->saves_Bps > link_Bps ? became : 0;
}

bool cv_link_compressor_get(struct cv_link_compressor *compressor, const void *bytes,
                            size_t length, void *out, size_t max, size_t *out_length)
{
    size_t got;

    if (compressor->in == NULL)
        compressor->in = ZSTD_createDCtx();
    if (compressor->in == NULL)
        return false;
    got = ZSTD_decompressDCtx(compressor->in, out, max, bytes, length);
    if (ZSTD_isError(got))
        return false;
    *out_length = got;
    return true;
}
