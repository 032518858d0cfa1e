/* pieces.h -- an input as files that begin and end at record boundaries. SPDX-License-Identifier: MIT
 *
 * For regular files, the cuts are found first; then threads copy the bytes, in the kernel if possible.
 * A stream is written as it arrives. A file gets its name when it is complete, and keeps it if another
 * one fails. */
#ifndef CV_PIECES_H
#define CV_PIECES_H
#include "run/input/source.h"

/* A file that was written. */
struct cv_piece_file {
    const char *name;    /* borrowed for the call                             */
    uint64_t begin, end; /* addresses in the input                            */
    uint64_t bytes;      /* with headers and closings, before compression     */
};

struct cv_pieces_options {
    struct cv_source *source; /* borrowed: validated, nothing taken           */
    const char *name;         /* borrowed: with {} in the place of the number */
    /* A number of files of about the same size, or files of at least `size` bytes; both 0: a file for
     * each record or group of records. */
    uint64_t count, size;
    bool header;  /* every file begins with a header */
    bool replace; /* existing files                  */
    unsigned threads;
    void (*written)(void *context,
                    const struct cv_piece_file *file); /* in order; or NULL */
    void *context;
};

enum cleave_status cv_pieces_write(const struct cv_pieces_options *options,
                                   struct cleave_error *err);

/* Fails unless a name has one {} and a format that can be written. */
enum cleave_status cv_pieces_check(const char *name, struct cleave_error *err);

#endif
