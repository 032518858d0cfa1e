/* result_name_set.h -- names of files that items write to: one item each, and none that an item is.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RESULT_NAME_SET_H
#define CV_RESULT_NAME_SET_H
#include "run/items/item_commands.h"

/* Whose a name or a file is, by its hash; 0: nobody's. */
struct cv_item_owner {
    uint64_t hash, item;
};

struct cv_item_owners {
    struct cv_item_owner *list; /* owned */
    size_t count, room;
};

/* All zero: none is taken. */
struct cv_item_taken {
    struct cv_item_owners names; /* of what was written                                 */
    struct cv_item_owners files; /* that items are, by device and number                */
    bool files_known;            /* ... all of them                                     */
};

/* The item is to write a file of that name. It may have done so before, but nobody else may.
 * `any`: names are made of items, and so could be those of files that items are: what is there
 * under that name is none of them. Texts of errors begin with "--results". */
enum cleave_status cv_item_taken_claim(struct cv_item_taken *taken,
                                       const struct cv_item_commands *commands,
                                       uint64_t item, const char *path, bool any,
                                       struct cleave_error *err);
void cv_item_taken_done(struct cv_item_taken *taken);

#endif
