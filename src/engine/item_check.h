/* item_check.h -- which items were given to whom. SPDX-License-Identifier: MIT
 *
 * The driver's book about a load of items. Each is given once, and again only after it was
 * lost; a chunk is an item, and events are told which. */
#ifndef CV_ITEM_CHECK_H
#define CV_ITEM_CHECK_H
#include <cleave/policy.h>

struct cv_item_check {
    uint64_t nitems; /* 0: not a load of items                                     */
    uint64_t given;  /* items that somebody has                                    */
    bool *has;       /* owned, by item: somebody has it                            */
    uint64_t *of;    /* owned, by chunk: its item                                  */
    size_t has_room, of_room;
    uint64_t nchunks;
};

/* Begin again with so many items, none of which was given. False: no memory. */
bool cv_item_check_begin(struct cv_item_check *check, uint64_t nitems);
void cv_item_check_done(struct cv_item_check *check);

/* An order of the policy of that name about a chunk, which is the next one. If it may be
 * carried out it is noted. */
enum cleave_status cv_item_check_order(struct cv_item_check *check, const char *policy,
                                       const struct cleave_order *order,
                                       struct cleave_error *err);
/* The item of a chunk; 0 for one that was not ordered. */
uint64_t cv_item_check_of(const struct cv_item_check *check, uint64_t chunk);
/* Any event: what was lost may be given again. */
void cv_item_check_note(struct cv_item_check *check, const struct cleave_event *event);

#endif
