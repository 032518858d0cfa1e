/* piece_list.h -- what files are made of. SPDX-License-Identifier: MIT */
#ifndef CV_PIECE_LIST_H
#define CV_PIECE_LIST_H
#include "run/pieces/pieces.h"

/* Bytes of an input file, with what stands before and behind them. */
struct cv_piece_part {
    size_t file; /* index of the input */
    struct cv_range header, body;
    struct cv_part closing; /* its bytes are borrowed from the source */
};

/* A file to be written: parts [first, first + count). */
struct cv_planned_file {
    size_t first, count;
    uint64_t begin, end, bytes;
};

struct cv_piece_list {
    struct cv_piece_part *parts; /* owned */
    size_t nparts, parts_capacity;
    struct cv_planned_file *files; /* owned */
    size_t nfiles, files_capacity;
};

/* Find all cuts of regular files; *out is to be released whatever happens. */
enum cleave_status cv_piece_list_find(const struct cv_pieces_options *options,
                                      struct cv_piece_list *out,
                                      struct cleave_error *err);
void cv_piece_list_done(struct cv_piece_list *list);

/* --- names (piece_name.c) ------------------------------------------------------------------- */

/* Digits that numbers up to `count` are padded to; UINT64_MAX: it is not known. */
unsigned cv_piece_digits(uint64_t count);
/* The name of file `number`, from 1 on: owned by the caller; NULL: no memory. */
char *cv_piece_name(const char *pattern, uint64_t number, unsigned digits);

/* --- one file (piece_file.c) ---------------------------------------------------------------- */

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
