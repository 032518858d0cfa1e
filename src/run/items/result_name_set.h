/* result_name_set.h -- result files of items: each belongs to one item and is not an item itself.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RESULT_NAME_SET_H
#define CV_RESULT_NAME_SET_H
#include "run/items/item_commands.h"

/* A hash table of items by hashes of names or files. */
struct cv_hashed_items {
    struct cv_hashed_item *slots; /* owned */
    size_t count, room;
};

/* Empty if all is zero. */
struct cv_result_names {
    struct cv_hashed_items names; /* names of results                  */
    struct cv_hashed_items files; /* that items name, by device and inode */
    bool files_complete;          /* all of them                       */
};

/* Note that `item` writes the file `path`, as it may have done before; an error if another item
 * does. `made`: the name is made of an item, so a file of an item is refused as well. */
enum cleave_status cv_result_names_claim(struct cv_result_names *results,
                                         const struct cv_item_commands *commands,
                                         uint64_t item, const char *path, bool made,
                                         struct cleave_error *err);
void cv_result_names_done(struct cv_result_names *results);

#endif
