/* pieces.h -- an input as files that begin and end where records do.
 * SPDX-License-Identifier: MIT
 *
 * Of regular files the cuts are found first, and then threads copy what is between them, in
 * the kernel where that can be. A stream is written as it comes. Every file gets its name
 * when it is whole; what was placed stays if another fails. */
#ifndef CV_PIECES_H
#define CV_PIECES_H
#include "run/input/source.h"

/* One file that was written. */
struct cv_piece_file {
    const char *name;    /* borrowed for the call                                     */
    uint64_t begin, end; /* of the input, through all files                           */
    uint64_t bytes;      /* that were given, header and all; before compression       */
};

struct cv_pieces_options {
    struct cv_source *source; /* borrowed: vetted, nothing taken                       */
    const char *pattern;      /* borrowed: with {} in the place of the number          */
    /* So many files of about as many bytes; or files of at least so many bytes; if both are
     * 0, a file for each record or group of them. */
    uint64_t count, size;
    bool header; /* every file begins with a header */
    bool force;  /* replace files that are there */
    unsigned threads;
    void (*written)(void *context, const struct cv_piece_file *file); /* in order */
    void *context;
};

enum cleave_status cv_pieces_write(const struct cv_pieces_options *options,
                                   struct cleave_error *err);

/* Whether a pattern can be used: it has one {}, and a form that can be written. */
enum cleave_status cv_pieces_check(const char *pattern, struct cleave_error *err);

#endif
