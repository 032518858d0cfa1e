/* link_compressor.h -- compress what goes over a slow link. SPDX-License-Identifier: MIT
 *
 * Compressing pays when a link moves fewer bytes in a second than the compressor saves in
 * one. Both are measured: what the compressor does on the bytes of this run, from time to
 * time again; what the link moves is told by whoever uses it. */
#ifndef CV_LINK_COMPRESSOR_H
#define CV_LINK_COMPRESSOR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cv_link_compressor {
    void *in, *out; /* owned: contexts of zstd                                          */
    double saves_Bps; /* bytes saved in a second of compressing; below 0: not known */
    uint32_t skipped; /* times it has not been tried since                          */
};

void cv_link_compressor_init(struct cv_link_compressor *compressor);
void cv_link_compressor_done(struct cv_link_compressor *compressor);
/* Compress into `out`, which has room for `length` bytes, if that pays on a link of
 * `link_Bps` (0: not known). Returns how many bytes it became, 0: better as it is. */
size_t cv_link_compressor_put(struct cv_link_compressor *compressor, double link_Bps,
                              const void *bytes, size_t length, void *out);
/* The bytes again, at most `most`; false when they are damaged or more. */
bool cv_link_compressor_get(struct cv_link_compressor *compressor, const void *bytes,
                            size_t length, void *out, size_t max, size_t *out_length);

#endif
