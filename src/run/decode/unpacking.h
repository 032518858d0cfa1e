/* unpacking.h -- a thread that decodes an input into a pipe. SPDX-License-Identifier: MIT */
#ifndef CV_UNPACKING_H
#define CV_UNPACKING_H
#include <cleave/error.h>
#include "run/decode/codec.h"

struct cv_unpacking;

struct cv_unpacking_options {
    const struct cv_codec *codec;
    const char *name;  /* borrowed while it is at work: for messages         */
    int fd;            /* borrowed while it is at work: read from, to the end */
    const void *first; /* borrowed for the call: bytes that were read of it before */
    size_t nfirst;
    unsigned cores; /* that may be used; 0: all that this process may              */
};

/* Begin. *out is owned by the caller. */
enum cleave_status cv_unpacking_start(const struct cv_unpacking_options *options,
                                      struct cv_unpacking **out,
                                      struct cleave_error *err);
/* The end to read from, borrowed; its end is that of what could be decoded. */
int cv_unpacking_fd(const struct cv_unpacking *unpacking);
/* When that was met: whether all could be decoded; if not, *torn: not even all of what the
 * last bytes belong to. */
enum cleave_status cv_unpacking_end(struct cv_unpacking *unpacking, bool *torn,
                                    struct cleave_error *err);
/* Stop it, wherever it is. */
void cv_unpacking_free(struct cv_unpacking *unpacking);

#endif
