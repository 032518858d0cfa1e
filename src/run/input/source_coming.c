/* source_coming.c -- items that come while others are done. SPDX-License-Identifier: MIT */
#include <cleave/execute.h>

#include "base/fail.h"
#include "run/input/source_internal.h"

enum cleave_status cv_source_items_pump(struct cv_source *source,
                                        struct cleave_error *err)
{
    const struct cleave_items *items = source->items;
    struct cv_source_file *file = source->files;
    uint64_t count = source->total;
    bool ended = false;

    CV_TRY(items->more(items->context, &count, &ended, err));
    if (count > source->total)
        CV_TRY(cv_range_set_put(&source->pending, source->total, count, err));
    source->total = file->size = file->cut.size = count;
    source->items_come = !ended;
    return CLEAVE_OK;
}
