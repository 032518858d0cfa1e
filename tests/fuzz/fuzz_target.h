/* fuzz_target.h -- helpers of all fuzz targets. SPDX-License-Identifier: MIT */
#ifndef CV_FUZZ_TARGET_H
#define CV_FUZZ_TARGET_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A false condition is a finding. */
static inline void require(int truth)
{
    if (!truth)
        abort();
}

#endif
