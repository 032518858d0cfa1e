/* split_walk.c -- walks over records, and records counted. SPDX-License-Identifier: MIT */
#include "run/split/split_kind.h"

void cv_walk_init(struct cv_walk *walk, uint64_t offset)
{
    *walk = (struct cv_walk){
        .at = offset,
        .boundary = offset,
        .until = UINT64_MAX,
        .max = UINT64_MAX,
    };
}

void cv_walk_again(struct cv_walk *walk, uint64_t offset)
{
    const int form = walk->form;

    cv_walk_init(walk, offset);
    walk->form = form;
}

uint64_t cv_walk_records(const struct cv_walk *walk)
{
    return walk->found + walk->begun;
}

enum cleave_status cv_splitter_count_from(const struct cv_splitter *splitter, int form,
                                          uint64_t offset, const char *bytes,
                                          size_t length, uint64_t *out,
                                          struct cleave_error *err)
{
    const struct cv_split_kind *kind = splitter->kind;
    const struct cv_view view = { bytes, length, 0, true };
    uint64_t count = 0;

    if (length == 0) {
        *out = 0;
    } else if (kind->walk != NULL) {
        struct cv_walk walk;
        enum cleave_status status;

        cv_walk_init(&walk, offset);
        walk.form = form;
        status = kind->walk(splitter, &walk, bytes, length, err);
        if (status != CLEAVE_OK)
            return status;
        *out = cv_walk_records(&walk);
    } else if (splitter->record_bytes > 0) {
        *out = (length - 1) / splitter->record_bytes + 1;
    } else if (kind->ends_in_byte) {
        *out = cv_count_byte(bytes, length - 1, splitter->byte) + 1;
    } else {
        for (size_t at = 0; kind->next(splitter, &view, at, &at); at++)
            count++;
        *out = count > 0 ? count : 1;
    }
    return CLEAVE_OK;
}
