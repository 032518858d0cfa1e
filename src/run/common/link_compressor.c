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

void cv_link_compressor_init(struct cv_link_compressor *squeeze)
{
    *squeeze = (struct cv_link_compressor){ .saves_Bps = -1 };
}

void cv_link_compressor_done(struct cv_link_compressor *squeeze)
{
    ZSTD_freeCCtx(squeeze->out);
    ZSTD_freeDCtx(squeeze->in);
    cv_link_compressor_init(squeeze);
}

static void note(struct cv_link_compressor *squeeze, double saved, double seconds)
{
    const double rate_Bps = saved / (seconds > 1e-7 ? seconds : 1e-7);

    squeeze->saves_Bps = squeeze->saves_Bps < 0
                             ? rate_Bps
                             : (1 - NEW) * squeeze->saves_Bps + NEW * rate_Bps;
}

size_t cv_link_compressor_put(struct cv_link_compressor *squeeze, double link_Bps,
                              const void *bytes, size_t length, void *out)
{
    double began_s;
    size_t became;

    if (length < LEAST || !(link_Bps > 0))
        return 0;
    if (squeeze->saves_Bps >= 0 && squeeze->saves_Bps <= link_Bps &&
        ++squeeze->skipped < AGAIN)
        return 0;
    squeeze->skipped = 0;
    if (squeeze->out == NULL)
        squeeze->out = ZSTD_createCCtx();
    if (squeeze->out == NULL)
        return 0;
    began_s = cv_clock_s();
    became = ZSTD_compressCCtx(squeeze->out, out, length, bytes, length, LEVEL);
    if (ZSTD_isError(became)) /* it would have become longer */
        became = length;
    note(squeeze, (double)length - (double)became, cv_clock_s() - began_s);
    return became < length && squeeze->saves_Bps > link_Bps ? became : 0;
}

bool cv_link_compressor_get(struct cv_link_compressor *squeeze, const void *bytes,
                            size_t length, void *out, size_t max, size_t *out_length)
{
    size_t got;

    if (squeeze->in == NULL)
        squeeze->in = ZSTD_createDCtx();
    if (squeeze->in == NULL)
        return false;
    got = ZSTD_decompressDCtx(squeeze->in, out, max, bytes, length);
    if (ZSTD_isError(got))
        return false;
    *out_length = got;
    return true;
}
