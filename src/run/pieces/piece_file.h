/* piece_file.h -- bytes of one file into another, by the kernel. SPDX-License-Identifier: MIT */
#ifndef CV_PIECE_FILE_H
#define CV_PIECE_FILE_H
#include <stdint.h>
#include <sys/types.h>
#include "run/input/source.h"

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

struct cv_piece_writer;

/* Whether a file could be begun. */
enum cleave_status cv_piece_check(const struct cv_source *source, const char *name,
                                  bool force, struct cleave_error *err);
/* Begin a file; one that is there is an error unless `force`, and an input always is. */
enum cleave_status cv_piece_writer_open(const struct cv_source *source, const char *name,
                                        bool force, struct cv_piece_writer **out,
                                        struct cleave_error *err);
enum cleave_status cv_piece_writer_add(struct cv_piece_writer *writer,
                                       const struct cv_part *part,
                                       struct cleave_error *err);
/* Give it its name. The writer is released, as by cv_piece_writer_drop. */
enum cleave_status cv_piece_writer_place(struct cv_piece_writer *writer,
                                         struct cleave_error *err);
/* Release it; a file that was not placed is removed. May be NULL. */
void cv_piece_writer_drop(struct cv_piece_writer *writer);

#endif
