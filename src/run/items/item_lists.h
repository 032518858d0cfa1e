/* item_lists.h -- lists of items, and the rows that they make. SPDX-License-Identifier: MIT
 *
 * A row has one value of each list. Each value of a list is combined with each value of other
 * lists, and the last list varies fastest. The first values of linked lists are a row, then
 * the second values, and so on. Rows are computed when they are needed: a million values of
 * 20 bytes take 30 MB, and their product with another list takes no more. */
#ifndef CV_ITEM_LISTS_H
#define CV_ITEM_LISTS_H
#include "base/text.h"
#include "run/input/source.h"

struct cv_item_list {
    struct cv_item_block *blocks; /* owned, in order; the last one grows               */
    size_t nblocks, room;
    size_t count; /* values that were added                                             */
    size_t first; /* values before it are names                                         */
    bool linked;  /* to the list before                                                 */
    bool ended;   /* its end word was added: later values are dropped                   */
    struct cv_text held; /* owned: the begin of a continued value */
};

struct cv_item_lists {
    struct cv_item_list *items; /* owned */
    size_t count, room;
    bool link;        /* all are linked, and the shorter ones start again */
    bool continues;   /* a value that ends in a blank continues in the next one */
    bool skips_blank; /* blank values are not added */
    const char *end;  /* borrowed: a value that ends its list; NULL: none */
    uint64_t rows;    /* set by cv_item_lists_close */
};

void cv_item_lists_done(struct cv_item_lists *lists);
/* Begin a list. `linked`: to the one before, and the shorter of both ends them. */
enum cleave_status cv_item_lists_begin(struct cv_item_lists *lists, bool linked,
                                       struct cleave_error *err);
/* Append a value without NUL bytes to the last list. */
enum cleave_status cv_item_lists_add(struct cv_item_lists *lists, const char *bytes,
                                     size_t length, struct cleave_error *err);
/* Append the lines of a file, or what ends in `mark` instead of '\n'. "-" is standard input. */
enum cleave_status cv_item_lists_add_file(struct cv_item_lists *lists, const char *path,
                                          char mark, struct cleave_error *err);
/* End the last list, and with it a value that was to be continued. */
enum cleave_status cv_item_lists_end(struct cv_item_lists *lists,
                                     struct cleave_error *err);
/* Count the rows. To be called again if values were added. */
enum cleave_status cv_item_lists_close(struct cv_item_lists *lists,
                                       struct cleave_error *err);
/* The values of a row, one of each list. Borrowed until a value is added or released. */
void cv_item_lists_row(const struct cv_item_lists *lists, uint64_t row, const char **out);
/* Take the first row out of the lists: it has names. */
enum cleave_status cv_item_lists_skip_row(struct cv_item_lists *lists,
                                          struct cleave_error *err);
/* Release a row of a single list, which must not be used again; once for each row. */
void cv_item_lists_release(struct cv_item_lists *lists, uint64_t row);

/* --- lists that are used while they are read ------------------------------------------------ */

struct cv_item_stream;

/* Whether a list is not kept in memory: the file is large or not regular. "-" is standard
 * input. */
bool cv_item_list_is_streamed(const char *path);
/* Open inputs whose records are values, without their ends. The splitter is taken over, also if
 * the call fails. Opening a FIFO waits for a writer. */
enum cleave_status cv_item_stream_new(const char *const *paths, size_t npaths,
                                      const struct cv_source_options *options,
                                      struct cv_splitter *splitter,
                                      struct cv_item_stream **out,
                                      struct cleave_error *err);
void cv_item_stream_free(struct cv_item_stream *stream);
/* A descriptor to poll before reading; below 0: no need to wait. */
int cv_item_stream_fd(const struct cv_item_stream *stream);
/* Append available values to the last list, or some of a file. Waits if there are none yet.
 * *ended: these were the last ones. */
enum cleave_status cv_item_stream_read(struct cv_item_stream *stream,
                                       struct cv_item_lists *lists, bool *ended,
                                       struct cleave_error *err);
/* Append all values to the last list. The stream is taken over, also if the call fails. */
enum cleave_status cv_item_stream_read_all(struct cv_item_stream *stream,
                                           struct cv_item_lists *lists,
                                           struct cleave_error *err);

#endif
