/* item_window.h -- values of a list that come, and go when nobody asks for them any more.
 * SPDX-License-Identifier: MIT
 *
 * Values are kept in blocks of some 64 KiB, each of which goes when all of it is over: one
 * that is waited for long keeps its neighbours, not all that came behind it. */
#ifndef CV_ITEM_WINDOW_H
#define CV_ITEM_WINDOW_H
#include <stddef.h>
#include <cleave/error.h>

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

#endif
