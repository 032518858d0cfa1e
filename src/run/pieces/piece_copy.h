/* piece_copy.h -- bytes of one file into another, by the kernel. SPDX-License-Identifier: MIT */
#ifndef CV_PIECE_COPY_H
#define CV_PIECE_COPY_H
#include <stdint.h>
#include <sys/types.h>

/* Bytes [at, end) of a file, behind what the other one has. */
struct cv_copying {
    int from, to; /* borrowed */
    off_t at;     /* moves on as they are copied */
    uint64_t end;
};

enum cv_copied {
    CV_COPY_DONE,
    CV_COPY_SHORT, /* they could not be read: errno, or 0 if the file has become shorter */
    CV_COPY_REFUSED, /* they could not be written: errno */
};

enum cv_copied cv_piece_copy(struct cv_copying *copying);

#endif
