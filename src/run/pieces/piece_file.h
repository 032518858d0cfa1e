/* piece_file.h -- one output file of cleave split, plain or compressed. SPDX-License-Identifier: MIT */
#ifndef CV_PIECE_FILE_H
#define CV_PIECE_FILE_H
#include <stdint.h>
#include <sys/types.h>
#include "run/input/source.h"

struct cv_piece_writer;

/* Whether a file could be opened. */
enum cleave_status cv_piece_check(const struct cv_source *source, const char *name,
                                  bool force, struct cleave_error *err);
/* Open a file under a temporary name; an existing one is an error unless `force`, and an input always
 * is. The ending of the name decides the format. */
enum cleave_status cv_piece_writer_open(const struct cv_source *source, const char *name,
                                        bool force, struct cv_piece_writer **out,
                                        struct cleave_error *err);
enum cleave_status cv_piece_writer_add(struct cv_piece_writer *writer,
                                       const struct cv_part *part,
                                       struct cleave_error *err);
/* Complete the file and give it its name. Frees the writer, even if it fails. */
enum cleave_status cv_piece_writer_place(struct cv_piece_writer *writer,
                                         struct cleave_error *err);
/* Remove the file and free the writer, which may be NULL. */
void cv_piece_writer_drop(struct cv_piece_writer *writer);

/* Append bytes [at, end) of one file to another. */
struct cv_copying {
    int from, to; /* borrowed */
    off_t at;     /* moves as they are copied */
    uint64_t end;
};

enum cv_copied {
    CV_COPY_DONE,
    CV_COPY_SHORT,   /* reading failed: errno, or 0 if the file has become shorter */
    CV_COPY_REFUSED, /* writing failed: errno                                      */
};

enum cv_copied cv_piece_copy(struct cv_copying *copying);

#endif
