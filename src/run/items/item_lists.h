/* item_lists.h -- the items of a run: lists of values, and what rows they make.
 * SPDX-License-Identifier: MIT
 *
 * A row is one value of each list. Lists are combined, each value of one with each of the
 * other, the last one fastest; of lists that are linked, the first values are a row, the
 * second ones the next. Values are kept one behind the other and rows are made when they
 * are asked for: a million values of 20 bytes take 30 MB, and their product with another
 * list takes nothing more. */
#ifndef CV_ITEM_LISTS_H
#define CV_ITEM_LISTS_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/input/source.h"

struct cv_item_block {
    size_t first, count; /* numbers of its values                                       */
    size_t left;         /* of them, those that are not over                            */
    char *bytes;         /* owned: each ended by a NUL                                  */
    size_t length, room;
    size_t *starts; /* owned: where they begin                                          */
    size_t starts_room;
};

struct cv_item_window {
    struct cv_item_block *blocks; /* owned, in order; the last one grows                */
    size_t nblocks, room;
    size_t count; /* of all values that came                                            */
};

void cv_item_window_done(struct cv_item_window *window);
enum cleave_status cv_item_window_add(struct cv_item_window *window, const char *bytes,
                                      size_t length, struct cleave_error *err);
/* A value that is not over; borrowed until the next one is added. */
const char *cv_item_window_at(const struct cv_item_window *window, size_t index);
/* To be said once of each. */
void cv_item_window_over(struct cv_item_window *window, size_t index);

struct cv_item_list {
    char *bytes; /* owned: values, each ended by a NUL */
    size_t length, room;
    size_t *starts; /* owned: where they begin */
    size_t count, starts_room;
    size_t first; /* values before it are no items */
    bool comes;   /* more may: values are kept in the window, as long as somebody asks */
    struct cv_item_window window; /* owned */
    bool linked;                  /* to the list before */
};

struct cv_item_lists {
    struct cv_item_list *items; /* owned */
    size_t count, room;
    bool link;     /* all are linked, and the shorter ones begin again */
    uint64_t rows; /* set by cv_item_lists_close */
};

void cv_item_lists_done(struct cv_item_lists *lists);
/* Begin a list; `linked`: to the one before, and the shorter one ends both. */
enum cleave_status cv_item_lists_begin(struct cv_item_lists *lists, bool linked,
                                       struct cleave_error *err);
/* The same for one that is read while its values are used already. */
enum cleave_status cv_item_lists_begin_stream(struct cv_item_lists *lists,
                                              struct cleave_error *err);
/* A value more in the last list. It must not hold a NUL. */
enum cleave_status cv_item_lists_add(struct cv_item_lists *lists, const char *bytes,
                                     size_t length, struct cleave_error *err);
/* Of a list that comes: this row will not be asked for any more. */
void cv_item_lists_over(struct cv_item_lists *lists, uint64_t row);
/* Count the rows when all lists are there, or more values of the one that comes. */
enum cleave_status cv_item_lists_close(struct cv_item_lists *lists,
                                       struct cleave_error *err);
/* The values of a row, one of each list. */
void cv_item_lists_row(const struct cv_item_lists *lists, uint64_t row, const char **out);

struct cv_item_stream;

/* The lines of a file are the values of the last list, or what ends in `mark` instead of the
 * end of a line. "-" is standard input. */
enum cleave_status cv_item_read_file(struct cv_item_lists *lists, const char *path,
                                     char mark, struct cleave_error *err);
/* All of a stream is; it is taken over, also when that fails. */
enum cleave_status cv_item_read_stream(struct cv_item_lists *lists,
                                       struct cv_item_stream *stream,
                                       struct cleave_error *err);

struct cv_item_stream;

/* Whether a list is to be read as it comes: it is no regular file, whose end may be far, or
 * one that is large. "-" is standard input. */
bool cv_item_stream_is(const char *path);
/* The records of inputs, without what ends them; the splitter of the options is taken over,
 * also when it fails. Opening a FIFO waits for a writer. */
enum cleave_status cv_item_stream_new(const char *const *paths, size_t npaths,
                                      const struct cv_source_options *options,
                                      struct cv_splitter *splitter,
                                      struct cv_item_stream **out,
                                      struct cleave_error *err);
void cv_item_stream_free(struct cv_item_stream *stream);

/* What to wait for until it can be read; below 0: nothing. */
int cv_item_stream_fd(const struct cv_item_stream *stream);
/* Add to the last list what is there, or some of it where there is nothing to wait for. Waits if
 * nothing has come. *ended: there is no more. */
enum cleave_status cv_item_stream_read(struct cv_item_stream *stream,
                                       struct cv_item_lists *lists, bool *ended,
                                       struct cleave_error *err);

#endif
