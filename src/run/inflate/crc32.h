/* crc32.h -- the check of gzip. SPDX-License-Identifier: MIT */
#ifndef CV_CRC32_H
#define CV_CRC32_H
#include <stddef.h>
#include <stdint.h>

/* That of bytes before, and these behind them; 0 is that of none. */
uint32_t cv_crc32(uint32_t before, const void *bytes, size_t length);
/* That of some bytes, and of `length` bytes behind them, by the checks of both. */
uint32_t cv_crc32_join(uint32_t before, uint32_t behind, uint64_t length);

#endif
