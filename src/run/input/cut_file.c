/* cut_file.c -- cut a file at record boundaries. SPDX-License-Identifier: MIT */
#include "run/input/cut_file.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/split/split_kind.h"

enum {
    BLOCK = 128 * 1024,    /* read at a time by a count  */
    BLOCK_MOST = 1 << 20,  /* read at a time by a search */
    FRAME_MOST = 64 << 20, /* in which a first record has to begin that is framed */
};

/* --- local splitters -------------------------------------------------------------------- */

/* It does not take all of a file without the ends that were expected to say so. */
static enum cleave_status give_up(const struct cv_cut_file *file, uint64_t inside,
                                  struct cleave_error *err)
{
    const struct cv_place place = { file->name, 0, 0, NULL };

    return cv_fail_at(err, &place,
                      "the record that byte %" PRIu64 " is in is longer than %" PRIu64
                      " bytes (is it split as it should be? --max-record allows more)",
                      inside, file->longest);
}

/* The first record start at or after `from`, or the end. */
static enum cleave_status search(struct cv_cut_file *file, uint64_t from, size_t block,
                                 uint64_t *out, struct cleave_error *err)
{
    const struct cv_splitter *splitter = file->splitter;
    const unsigned behind = splitter->kind->behind;
    const uint64_t inside = from;
    size_t min = behind + 1;

    for (;;) {
        struct cv_view view;
        size_t at, position;

        view.offset = from > behind ? from - behind : 0;
        CV_TRY(cv_cut_file_read(file, view.offset, min, block, &view.bytes, &view.length,
                                err));
        view.ends = view.offset + view.length == file->size;
        position = (size_t)(from - view.offset);
        if (splitter->kind->next(splitter, &view, position, &at)) {
            *out = view.offset + at;
            return CLEAVE_OK;
        }
        if (view.ends) {
            *out = file->size;
            return CLEAVE_OK;
        }
        /* To judge one position takes as much as it takes; to pass over many, blocks of
         * some size are enough. */
        if (block < BLOCK_MOST || at == position)
            block *= 4;
        min = at == position ? block : behind + 1;
        from = view.offset + at;
        if (file->longest > 0 && (from - inside) / 2 > file->longest)
            return give_up(file, inside, err);
    }
}

/* --- csv -------------------------------------------------------------------------------- */

/* The first boundary at or after `until`, given one before. */
static enum cleave_status walk_from(struct cv_cut_file *file, uint64_t boundary,
                                    uint64_t until, uint64_t *out,
                                    struct cleave_error *err)
{
    struct cv_walk walk;

    cv_walk_init(&walk, boundary > file->lead ? boundary : file->lead);
    if (walk.boundary >= until) {
        *out = walk.boundary;
        return CLEAVE_OK;
    }
    walk.until = until;
    CV_TRY(cv_cut_file_walk(file, &walk, file->size, err));
    *out = walk.boundary >= until ? walk.boundary : file->size;
    return CLEAVE_OK;
}

static enum cleave_status add_slot(struct cv_cut_file *file, uint64_t boundary,
                                   struct cleave_error *err)
{
    if (!CV_ROOM(file->slots, &file->slots_capacity, file->nslots + 1))
        return cv_fail_memory(err, "an index of the input");
    file->slots[file->nslots++] = boundary;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_file_indexed(struct cv_cut_file *file, uint64_t offset,
                                       cv_cut_find *find, uint64_t *out,
                                       struct cleave_error *err)
{
    const size_t slot = (size_t)(offset / file->grain);

    if (file->nslots == 0)
        CV_TRY(add_slot(file, 0, err));
    while (file->nslots <= slot) {
        const uint64_t last = file->slots[file->nslots - 1];
        const uint64_t start = file->nslots * file->grain;
        uint64_t boundary = last;

        /* A long record may be the answer for several slots. */
        if (last < start)
            CV_TRY(find(file, last, start, &boundary, err));
        CV_TRY(add_slot(file, boundary, err));
    }
    if (file->slots[slot] >= offset) {
        *out = file->slots[slot];
        return CLEAVE_OK;
    }
    return find(file, file->slots[slot], offset, out, err);
}

/* --- all of them ------------------------------------------------------------------------ */

/* What stands before the first record start is no record of its own. Done once. */
static enum cleave_status find_floor(struct cv_cut_file *file, struct cleave_error *err)
{
    uint64_t first = 0;

    if (file->splitter->kind->walk != NULL) {
        /* A file that is not FASTQ is told from its first bytes rather than after a
         * search of half of it. */
        struct cv_walk walk;
        const uint64_t near = file->lead + file->near;

        cv_walk_init(&walk, file->lead);
        CV_TRY(cv_cut_file_walk(file, &walk, near < file->size ? near : file->size, err));
    } else {
        CV_TRY(search(file, file->lead, file->near, &first, err));
    }
    file->floor = first + 1;
    return CLEAVE_OK;
}

static enum cleave_status no_frame(const struct cv_cut_file *file,
                                   struct cleave_error *err)
{
    const struct cv_place place = { file->name, 0, 0, NULL };

    return cv_fail_at(err, &place,
                      "expected a record of %s in the first %d bytes, got none",
                      cv_splitter_text(file->splitter), FRAME_MOST);
}

enum cleave_status cv_cut_file_header(struct cv_cut_file *file, uint64_t *out,
                                      struct cleave_error *err)
{
    bool found = false;

    *out = 0;
    for (size_t min = file->near; !found && file->size > 0; min *= 4) {
        const char *bytes;
        size_t length, end = 0;

        if (cv_splitter_frames(file->splitter) && min > FRAME_MOST)
            return no_frame(file, err);
        CV_TRY(cv_cut_file_read(file, 0, min, min, &bytes, &length, err));
        CV_TRY(cv_splitter_head(file->splitter, bytes, length, length >= file->size,
                                &found, &end, err));
        *out = end;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_cut_file_lead(struct cv_cut_file *file, struct cleave_error *err)
{
    if (!file->led && cv_splitter_leads(file->splitter))
        CV_TRY(cv_cut_file_header(file, &file->lead, err));
    file->led = true;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_record_at(struct cv_cut_file *file, uint64_t offset,
                                    uint64_t *out, struct cleave_error *err)
{
    const uint64_t record = file->splitter->record_bytes;

    if (offset == 0 || offset >= file->size) {
        *out = offset == 0 ? 0 : file->size;
        return CLEAVE_OK;
    }
    if (record > 0) {
        const uint64_t step = (record - offset % record) % record;

        *out = step < file->size - offset ? offset + step : file->size;
        return CLEAVE_OK;
    }
    CV_TRY(cv_cut_file_lead(file, err));
    if (offset <= file->lead) {
        *out = file->lead;
        return CLEAVE_OK;
    }
    if (file->splitter->kind->needs_pass)
        return cv_cut_file_indexed(file, offset, walk_from, out, err);
    if (file->floor == 0)
        CV_TRY(find_floor(file, err));
    if (file->splitter->kind->walk != NULL)
        return cv_cut_near(file, offset, out, err);
    if (offset < file->floor)
        offset = file->floor;
    if (offset < file->size)
        return search(file, offset, file->near, out, err);
    *out = file->size;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_file_closing(struct cv_cut_file *file, enum cv_closing *out,
                                       struct cleave_error *err)
{
    const size_t last =
        file->size < CV_CLOSING_LOOK ? (size_t)file->size : CV_CLOSING_LOOK;
    const char *bytes;
    size_t length;

    *out = CV_CLOSING_NONE;
    if (last == 0)
        return CLEAVE_OK;
    CV_TRY(cv_cut_file_read(file, file->size - last, last, last, &bytes, &length, err));
    *out = cv_splitter_closing(file->splitter, bytes, last);
    return CLEAVE_OK;
}

static enum cleave_status count_ends(struct cv_cut_file *file, uint64_t from, uint64_t to,
                                     uint64_t *out, struct cleave_error *err)
{
    const char end = file->splitter->kind->ends_in_byte ? file->splitter->byte : '\n';
    uint64_t count = 1;

    for (to--; from < to;) {
        const char *bytes;
        size_t length;

        CV_TRY(cv_cut_file_read(file, from, 1, BLOCK, &bytes, &length, err));
        if (length > to - from)
            length = (size_t)(to - from);
        count += cv_count_byte(bytes, length, end);
        from += length;
    }
    *out = count;
    return CLEAVE_OK;
}

static enum cleave_status count_starts(struct cv_cut_file *file, uint64_t from,
                                       uint64_t to, uint64_t *out,
                                       struct cleave_error *err)
{
    uint64_t count = 0;

    while (from < to) {
        uint64_t start;

        CV_TRY(search(file, from, BLOCK, &start, err));
        count += start < to;
        from = start + 1;
    }
    *out = count > 0 ? count : 1;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_file_count(struct cv_cut_file *file, uint64_t from, uint64_t to,
                                     uint64_t *out, struct cleave_error *err)
{
    const struct cv_splitter *splitter = file->splitter;
    uint64_t lines = 0;
    struct cv_walk walk;

    if (from >= to) {
        *out = 0;
        return CLEAVE_OK;
    }
    if (splitter->record_bytes > 0) {
        *out = (to - from - 1) / splitter->record_bytes + 1;
        return CLEAVE_OK;
    }
    if (splitter->kind->ends_in_byte)
        return count_ends(file, from, to, out, err);
    if (splitter->kind->walk == NULL)
        return count_starts(file, from, to, out, err);
    CV_TRY(cv_cut_file_lead(file, err));
    if (from < file->lead) {
        CV_TRY(count_ends(file, from, file->lead < to ? file->lead : to, &lines, err));
        from = file->lead;
    }
    cv_walk_init(&walk, from);
    if (from < to)
        CV_TRY(cv_cut_file_walk(file, &walk, to, err));
    *out = lines + cv_walk_records(&walk);
    return CLEAVE_OK;
}
