/* fuzz_target.h -- what all fuzz targets have. SPDX-License-Identifier: MIT */
#ifndef CV_FUZZ_TARGET_H
#define CV_FUZZ_TARGET_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What does not hold is a finding. */
static inline void require(int truth)
{
    if (!truth)
        abort();
}

#endif
