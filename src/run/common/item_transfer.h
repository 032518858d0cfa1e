/* item_transfer.h -- files that travel with an item: their names, and how they are put where they
 * belong. SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_TRANSFER_H
#define CV_ITEM_TRANSFER_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/error.h>

/* What a name is over there: what is behind "/./", else the same. Fails if that is no name of
 * a file, or could lead out of the folder that it begins in. */
enum cleave_status cv_item_transfer_name(const char *name, const char **out,
                                         struct cleave_error *err);

struct cv_item_transfer_file {
    int fd; /* borrowed: it is these bytes of it                                  */
    uint64_t begin, end;
    unsigned mode;
    int64_t mtime_ns;
    bool
        overwrites; /* also one that is write-protected                                 */
};
/* Write it beside its place, folders included, and rename it when it is whole. */
enum cleave_status cv_item_transfer_put(const char *path,
                                        const struct cv_item_transfer_file *file,
                                        struct cleave_error *err);
/* Remove it and, of a name that is not absolute, the folders that are empty then. One that is
 * not there is no error. */
void cv_item_transfer_remove(const char *path);

#endif
