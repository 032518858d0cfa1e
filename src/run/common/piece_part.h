/* piece_part.h -- bytes that a command is given. SPDX-License-Identifier: MIT */
#ifndef CV_PIECE_PART_H
#define CV_PIECE_PART_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cv_lazy_reader;

/* Bytes in memory, or [begin, end) of a file or of a well. */
struct cv_part {
    const void *bytes; /* borrowed, of end - begin bytes; NULL: a file               */
    bool lasting;      /* they stay as they are, wherever they are passed on to      */
    int fd;            /* borrowed                                                   */
    struct cv_lazy_reader
        *well; /* borrowed: in the place of `fd`; NULL: it is the file    */
    uint64_t begin, end;
    const char *name; /* borrowed, for messages; may be NULL                        */
};

/* What is put behind the last record of a file that lacks its end, so that the first record
 * of the next file is one of its own. */
enum cv_closing {
    CV_CLOSING_NONE,
    CV_CLOSING_LINE,  /* a newline                                */
    CV_CLOSING_EMPTY, /* a newline and an empty line              */
    CV_CLOSING_ZERO,  /* a zero byte                              */
    CV_CLOSING_ARRAY, /* a bracket and a newline: of every piece but the last one  */
    CV_CLOSING_TEXT,  /* a text that goes with the piece, on this machine only     */
    CV_CLOSINGS,
};
struct cv_part cv_closing_part(enum cv_closing closing);

/* As pread: bytes from `offset` on, which counts from 0 like `begin`. Fewer than `most` at
 * the end of the part or of the file. */
ssize_t cv_part_read(const struct cv_part *part, uint64_t offset, void *out, size_t max);

#endif
