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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/items/item_window.h"

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
/* The same for one that was read from `name`, which may have held any bytes. */
enum cleave_status cv_item_lists_add_from(struct cv_item_lists *lists, const char *name,
                                          const char *bytes, size_t length,
                                          struct cleave_error *err);
/* Of a list that comes: this row will not be asked for any more. */
void cv_item_lists_over(struct cv_item_lists *lists, uint64_t row);
/* Count the rows when all lists are there, or more values of the one that comes. */
enum cleave_status cv_item_lists_close(struct cv_item_lists *lists,
                                       struct cleave_error *err);
/* The values of a row, one of each list. */
void cv_item_lists_row(const struct cv_item_lists *lists, uint64_t row, const char **out);

#endif
