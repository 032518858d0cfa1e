/* cut_group.c -- cut a file between groups of records. SPDX-License-Identifier: MIT
 *
 * Where neighbours with one key end can be told from the records around a cut. Groups of so
 * many records are counted from the start of the file, once for all cuts, as the boundaries
 * found on the way are remembered. */
#include <string.h>

#include "base/fail.h"
#include "run/input/cut_file.h"
#include "run/split/split_group.h"

enum {
    STEP = 64,          /* how far back a record is looked for at first      */
    BLOCK = 128 * 1024, /* read at a time where all records are looked at    */
    COUNTED = 4096,     /* bytes whose records are counted at a time         */
};

/* A row of records: where the last one begins, and how its end is found. */
struct row {
    struct cv_cut_file *file;
    struct cv_walk walk;
    uint64_t at;
};

static void begin_row(struct row *row, struct cv_cut_file *file, uint64_t at)
{
    row->file = file;
    row->at = at > file->lead ? at : file->lead;
    cv_walk_init(&row->walk, row->at);
}

/* The end of the record at row->at. */
static enum cleave_status end_of(struct row *row, uint64_t *out, struct cleave_error *err)
{
    struct cv_cut_file *file = row->file;

    if (file->splitter->kind->walk == NULL)
        return cv_cut_record_at(file, row->at + 1, out, err);
    row->walk.until = row->at + 1;
    CV_TRY(cv_cut_file_walk(file, &row->walk, file->size, err));
    *out = row->walk.boundary > row->at ? row->walk.boundary : file->size;
    return CLEAVE_OK;
}

/* Look at the record at row->at, and go on behind it. */
static enum cleave_status next_record(struct row *row, struct cv_group_state *state,
                                      bool *starts, struct cleave_error *err)
{
    struct cv_cut_file *file = row->file;
    const char *bytes = NULL;
    size_t length = 0;
    uint64_t end;

    CV_TRY(end_of(row, &end, err));
    if (cv_group_records(file->splitter) == 0) {
        const uint64_t record = end - row->at;
        const size_t look = record < CV_GROUP_LOOK ? (size_t)record : CV_GROUP_LOOK;

        CV_TRY(
            cv_cut_file_read(file, row->at, look, CV_GROUP_LOOK, &bytes, &length, err));
        length = look;
    }
    *starts = cv_group_add(file->splitter, state, bytes, length);
    row->at = end;
    return CLEAVE_OK;
}

/* Where so many records end that are told by their last byte: they need not be looked at
 * one after the other. */
static enum cleave_status skip_ended(struct cv_cut_file *file, uint64_t at,
                                     uint64_t records, uint64_t *out,
                                     struct cleave_error *err)
{
    const char ending = file->splitter->byte;

    while (records > 0 && at < file->size) {
        const char *bytes, *end;
        size_t length;
        uint64_t count;

        CV_TRY(cv_cut_file_read(file, at, 1, BLOCK, &bytes, &length, err));
        length = length < COUNTED ? length : COUNTED;
        count = cv_count_byte(bytes, length, ending);
        end = bytes + length;
        if (count >= records)
            for (end = bytes; records > 0; records--)
                end =
                    (const char *)memchr(end, ending, length - (size_t)(end - bytes)) + 1;
        else
            records -= count;
        at += (uint64_t)(end - bytes);
    }
    *out = at;
    return CLEAVE_OK;
}

static enum cleave_status find_counted(struct cv_cut_file *file, uint64_t at,
                                       uint64_t until, uint64_t *out,
                                       struct cleave_error *err)
{
    while (at < until)
        CV_TRY(skip_ended(file, at, cv_group_records(file->splitter), &at, err));
    *out = at;
    return CLEAVE_OK;
}

/* The first group that begins at or after `until`, given one that begins before. */
static enum cleave_status find_group(struct cv_cut_file *file, uint64_t begin,
                                     uint64_t until, uint64_t *out,
                                     struct cleave_error *err)
{
    struct cv_group_state state = { 0 };
    struct row row;

    begin_row(&row, file, begin);
    if (row.at >= until) {
        *out = row.at;
        return CLEAVE_OK;
    }
    if (cv_group_records(file->splitter) > 0 && file->splitter->kind->ends_in_byte)
        return find_counted(file, row.at, until, out, err);
    while (row.at < file->size) {
        const uint64_t record = row.at;
        bool starts;

        CV_TRY(next_record(&row, &state, &starts, err));
        if (starts && record >= until) {
            *out = record;
            return CLEAVE_OK;
        }
    }
    *out = file->size;
    return CLEAVE_OK;
}

/* The record before the one that begins at `boundary`. */
static enum cleave_status find_before(struct cv_cut_file *file, uint64_t boundary,
                                      uint64_t *out, struct cleave_error *err)
{
    uint64_t from = 0, record = boundary;
    struct row row;

    for (uint64_t back = STEP; record == boundary; back *= 4) {
        from = boundary > back ? boundary - back : 0;
        CV_TRY(cv_cut_record_at(file, from, &record, err));
        if (from == 0)
            break;
    }
    begin_row(&row, file, record);
    while (row.at < boundary) {
        *out = row.at;
        CV_TRY(end_of(&row, &row.at, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status group_at(struct cv_cut_file *file, uint64_t offset,
                                   uint64_t *out, struct cleave_error *err)
{
    uint64_t boundary, before = 0;

    if (cv_group_records(file->splitter) > 0 && file->near == CV_CUT_NEAR)
        file->near = BLOCK; /* all of the file is read */
    if (cv_group_records(file->splitter) > 0)
        return cv_cut_file_indexed(file, offset, find_group, out, err);
    CV_TRY(cv_cut_record_at(file, offset, &boundary, err));
    if (boundary == file->size || boundary <= file->lead) {
        *out = boundary;
        return CLEAVE_OK;
    }
    CV_TRY(find_before(file, boundary, &before, err));
    return find_group(file, before, boundary, out, err);
}

enum cleave_status cv_cut_file_at(struct cv_cut_file *file, uint64_t offset,
                                  uint64_t *out, struct cleave_error *err)
{
    if (!cv_splitter_groups(file->splitter) || offset == 0 || offset >= file->size)
        return cv_cut_record_at(file, offset, out, err);
    CV_TRY(cv_cut_file_lead(file, err));
    if (offset > file->lead)
        return group_at(file, offset, out, err);
    *out = file->lead;
    return CLEAVE_OK;
}
