/* source_short.c -- files that cannot be decoded to their end. SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "run/decode/decoded_file.h"
#include "run/input/source_internal.h"
#include "run/split/split_kind.h"

enum { STEP = 64 * 1024 };

/* Where the last record that is whole ends. */
static enum cleave_status last_record(struct cv_source_file *file, uint64_t *out,
                                      struct cleave_error *err)
{
    uint64_t step = STEP, found = 0, next = 0;
    enum cv_closing closing;

    /* What ends in a byte of its own shows that it is whole. */
    CV_TRY(cv_cut_file_closing(&file->cut, &closing, err));
    if (file->cut.splitter->kind->ends_in_byte && closing == CV_CLOSING_NONE) {
        *out = file->size;
        return CLEAVE_OK;
    }
    /* Further and further back, until a record begins there before the end. */
    for (;;) {
        const uint64_t from = file->size > step ? file->size - step : 0;

        CV_TRY(cv_cut_file_at(&file->cut, from, &found, err));
        if (found < file->size || from == 0)
            break;
        step *= 4;
    }
    while (next < file->size) {
        *out = found;
        CV_TRY(cv_cut_file_at(&file->cut, found + 1, &next, err));
        found = next;
    }
    return CLEAVE_OK;
}

/* Let a file end before what cannot be decoded. */
static enum cleave_status shorten(struct cv_source *source, struct cv_source_file *file,
                                  uint64_t good_end, struct cleave_error *err)
{
    const uint64_t record = source->splitter->record_bytes;
    uint64_t end = good_end;

    CV_TRY(cv_source_file_use(file, source->splitter, err));
    cv_cut_file_done(&file->cut);
    cv_cut_file_init(&file->cut, source->splitter, file->name, file->fd, good_end);
    file->cut.well = cv_decoded_file_well(file->decoded);
    file->size = good_end;
    if (record > 0)
        end -= end % record;
    else if (end > 0)
        CV_TRY(last_record(file, &end, err));
    cv_cut_file_done(&file->cut);
    cv_cut_file_init(&file->cut, source->splitter, file->name, file->fd, end);
    file->cut.well = cv_decoded_file_well(file->decoded);
    file->size = end;
    source->total_good =
        file->base + end; /* outputs are in order: none behind could be written */
    return CLEAVE_OK;
}

/* What waits from now on. */
static enum cleave_status wait_for(struct cv_source *source,
                                   const struct cv_range_set *left,
                                   struct cleave_error *err)
{
    struct cv_range range;

    CV_TRY(cv_range_set_remove(&source->pending, 0, source->total, err));
    for (uint64_t at = 0; cv_range_set_find(left, at, &range); at = range.end) {
        const uint64_t end =
            range.end < source->total_good ? range.end : source->total_good;

        if (range.begin < end)
            CV_TRY(cv_range_set_put(&source->pending, range.begin, end, err));
    }
    return CLEAVE_OK;
}

bool cv_source_shorten(struct cv_source *source, const struct cv_range_set *left)
{
    bool some = false;

    if (source->stream != NULL || source->mate != NULL)
        return false;
    for (size_t i = 0; i < source->nfiles && !some; i++) {
        struct cv_source_file *file = &source->files[i];
        struct cleave_error damage;
        uint64_t good_end;

        file->at_work = 0;
        if (file->decoded == NULL ||
            !cv_decoded_file_damaged(file->decoded, &good_end, &damage) ||
            good_end >= file->size)
            continue;
        if (shorten(source, file, good_end, NULL) != CLEAVE_OK)
            return false;
        source->damage = damage;
        source->shortened = some = true;
    }
    return some && wait_for(source, left, NULL) == CLEAVE_OK;
}

bool cv_source_is_short(const struct cv_source *source)
{
    return source->shortened;
}
