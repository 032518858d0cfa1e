/* squeeze.h -- compress what goes over a slow link. SPDX-License-Identifier: MIT
 *
 * Compressing pays when a link moves fewer bytes in a second than the compressor saves in
 * one. Both are measured: what the compressor does on the bytes of this run, from time to
 * time again; what the link moves is told by whoever uses it. */
#ifndef CV_SQUEEZE_H
#define CV_SQUEEZE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cv_squeeze {
    void *in, *out; /* owned: contexts of zstd                                          */
    double saves_Bps; /* bytes saved in a second of compressing; below 0: not known */
    uint32_t skipped; /* times it has not been tried since                          */
};

void cv_squeeze_init(struct cv_squeeze *squeeze);
void cv_squeeze_done(struct cv_squeeze *squeeze);
/* Compress into `out`, which has room for `length` bytes, if that pays on a link of
 * `link_Bps` (0: not known). Returns how many bytes it became, 0: better as it is. */
size_t cv_squeeze_put(struct cv_squeeze *squeeze, double link_Bps, const void *bytes,
                      size_t length, void *out);
/* The bytes again, at most `most`; false when they are damaged or more. */
bool cv_squeeze_get(struct cv_squeeze *squeeze, const void *bytes, size_t length,
                    void *out, size_t most, size_t *out_length);

#endif
