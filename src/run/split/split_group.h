/* split_group.h -- records that stay together. SPDX-License-Identifier: MIT
 *
 * A splitter may be asked to cut only between groups of records: of so many, or of
 * neighbours with the same key. Whoever cuts looks at records one after the other. */
#ifndef CV_SPLIT_GROUP_H
#define CV_SPLIT_GROUP_H
#include "run/split/split_kind.h"

enum { CV_GROUP_LOOK = 65536 }; /* bytes of a record in which its key is */

bool cv_splitter_groups(const struct cv_splitter *splitter);
/* Records of a group; 0: they have the same key. */
uint64_t cv_group_records(const struct cv_splitter *splitter);

struct cv_key_text {
    const char *bytes; /* borrowed from the record */
    size_t length;
};
struct cv_key_text cv_group_key_text(const struct cv_splitter *splitter,
                                     const char *bytes, size_t length);

struct cv_group_key {
    uint64_t high, low; /* its hash */
};

/* Where one stands in a row of records; all zero before the first. */
struct cv_group_state {
    uint64_t count; /* records of the group so far */
    struct cv_group_key key;
};
/* The next record: whether it begins a new group. */
bool cv_group_add(const struct cv_splitter *splitter, struct cv_group_state *state,
                  const char *bytes, size_t length);

#endif
