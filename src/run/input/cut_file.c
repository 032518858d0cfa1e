/* cut_file.c -- record boundaries of a file. SPDX-License-Identifier: MIT */
#include "run/input/cut_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "base/signal_name.h"
#include "base/text.h"
#include "run/split/split_kind.h"

enum {
    BLOCK = 128 * 1024,   /* read at a time by a walk or count */
    MAX_BLOCK = 1 << 20,  /* read at a time by a search        */
    MAX_FRAME = 64 << 20, /* bytes before the first record of a framed input */
    GRAIN = 64 * 1024,    /* least bytes between slots         */
    MAX_SLOTS = 1 << 16,
    PAIRS_GRAIN = 1 << 20,
    MAX_CUTS = 1 << 14,
};

/* The result of a search or a count. */
static enum cleave_status give(uint64_t value, uint64_t *out)
{
    *out = value;
    return CLEAVE_OK;
}

/* --- reading -------------------------------------------------------------------------------- */

void cv_cut_file_init(struct cv_cut_file *file, const struct cv_splitter *splitter,
                      const char *name, int fd, uint64_t size)
{
    *file = (struct cv_cut_file){
        .splitter = splitter,
        .name = name,
        .fd = fd,
        .size = size,
        .torn = UINT64_MAX,
        .near = CV_CUT_NEAR,
        .grain = size / MAX_SLOTS > GRAIN ? size / MAX_SLOTS : GRAIN,
    };
}

void cv_cut_file_done(struct cv_cut_file *file)
{
    if (file == NULL)
        return;
    free(file->block);
    free(file->slots);
    file->block = NULL;
    file->slots = NULL;
    file->held = file->capacity = file->nslots = file->slots_capacity = 0;
}

static enum cleave_status fill(struct cv_cut_file *file, uint64_t offset, size_t length,
                               struct cleave_error *err)
{
    const struct cv_part part = { .fd = file->fd,
                                  .lazy = file->reader,
                                  .name = file->name };
    size_t got;

    /* To read all of a large file may take minutes. */
    if (cv_signal_waits(false))
        return cv_fail_stopped(err);
    if (!CV_ROOM(file->block, &file->capacity, length))
        return cv_fail_memory(err, "a block of the input");
    file->block_at = offset;
    for (file->held = 0; file->held < length; file->held += got) {
        CV_TRY(cv_part_read_some(&part, offset + file->held, file->block + file->held,
                                 length - file->held, &got, err));
        if (got == 0)
            return cv_fail_at(err, CV_FILE(file->name),
                              "expected %" PRIu64 " bytes, got %" PRIu64, file->size,
                              offset + file->held);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_cut_file_read(struct cv_cut_file *file, uint64_t offset, size_t min,
                                    size_t block, const char **bytes, size_t *length,
                                    struct cleave_error *err)
{
    const uint64_t left = file->size - offset;

    if (min > left)
        min = (size_t)left;
    if (block < min)
        block = min;
    if (offset < file->block_at || offset - file->block_at > file->held ||
        file->held - (size_t)(offset - file->block_at) < min)
        CV_TRY(fill(file, offset, block < left ? block : (size_t)left, err));
    *bytes = file->block + (size_t)(offset - file->block_at);
    *length = file->held - (size_t)(offset - file->block_at);
    return CLEAVE_OK;
}

/* Set the form of a walk that begins after the start of the file. */
static enum cleave_status learn_form(struct cv_cut_file *file, struct cv_walk *walk,
                                     struct cleave_error *err)
{
    const char *bytes;
    size_t length;

    if (file->splitter->kind->form == NULL || walk->form != 0 || walk->at == 0)
        return CLEAVE_OK;
    if (file->form == 0) {
        CV_TRY(
            cv_cut_file_read(file, 0, CV_FORM_LOOK, CV_FORM_LOOK, &bytes, &length, err));
        file->form = file->splitter->kind->form(bytes, length);
    }
    walk->form = file->form;
    return CLEAVE_OK;
}

/* Walk up to `limit`, or as far as walk->until and walk->max allow. */
static enum cleave_status walk_file(struct cv_cut_file *file, struct cv_walk *walk,
                                    uint64_t limit, struct cleave_error *err)
{
    const struct cv_split_kind *kind = file->splitter->kind;

    CV_TRY(learn_form(file, walk, err));
    while (walk->at < limit && walk->boundary < walk->until && walk->found < walk->max) {
        const char *bytes;
        size_t length;
        enum cleave_status status;

        CV_TRY(cv_cut_file_read(file, walk->at, 1, kind->leaps ? CV_CUT_NEAR : BLOCK,
                                &bytes, &length, err));
        if (length > limit - walk->at)
            length = (size_t)(limit - walk->at);
        status = kind->walk(file->splitter, walk, bytes, length, err);
        if (status != CLEAVE_OK) {
            walk->bad = true;
            if (err != NULL && file->name != NULL)
                snprintf(err->file, sizeof err->file, "%s", file->name);
            return status;
        }
    }
    if (walk->at > file->size || (walk->at == file->size && !kind->whole(walk)))
        file->torn = walk->boundary;
    return CLEAVE_OK;
}

/* --- fastq ---------------------------------------------------------------------------------- */

/* A line that begins with @ may be a name or a quality. So the search goes back some bytes and
 * walks from each line there that begins with @ until a walk meets no contradiction. If every
 * quality is one line, a walk from a quality meets a name instead of a sequence at once. A quality
 * of several lines may look like records, but when it ends, the wrong walk is contradicted or has
 * become the right one. Hence a walk is trusted after ENOUGH records: a quality that misleads it
 * must have four times as many lines. With fewer records the search goes further back, in the end
 * to the start of the file. */

enum {
    ENOUGH = 8,        /* records after which a walk is trusted */
    PIECE = 32 * 1024, /* read at a time                        */
};

/* Walk from a line that may start a record to the first boundary at or after `offset`.
 * *contradicted: it does not start one; *trusted: it does. */
static enum cleave_status try_from(struct cv_cut_file *file, uint64_t start,
                                   uint64_t offset, uint64_t *out, bool *trusted,
                                   bool *contradicted, struct cleave_error *err)
{
    const uint64_t torn = file->torn;
    struct cv_walk walk;
    enum cleave_status status;

    cv_walk_init(&walk, start);
    walk.until = offset;
    status = walk_file(file, &walk, file->size, err);
    *trusted = start == file->lead || walk.found >= ENOUGH;
    *contradicted = walk.bad;
    if (!*trusted)
        file->torn = torn;
    if (status != CLEAVE_OK && (!walk.bad || *trusted))
        return status;
    return give(walk.boundary >= offset ? walk.boundary : file->size, out);
}

/* The next line at or after `from` that begins with @, or `limit`. */
static enum cleave_status next_at_sign(struct cv_cut_file *file, uint64_t from,
                                       uint64_t limit, uint64_t *out,
                                       struct cleave_error *err)
{
    /* One byte earlier, to see whether a line begins at `from`. */
    for (uint64_t at = from - 1; at + 1 < limit;) {
        const char *bytes, *newline;
        size_t length;

        CV_TRY(cv_cut_file_read(file, at, 2, PIECE, &bytes, &length, err));
        newline = memchr(bytes, '\n', length - 1);
        if (newline == NULL) {
            at += length - 1;
            continue;
        }
        at += (size_t)(newline - bytes) + 1;
        if (newline[1] == '@' && at < limit)
            return give(at, out);
    }
    return give(limit, out);
}

/* cv_cut_file_at for fastq; 0 < offset < size. */
static enum cleave_status find_fastq(struct cv_cut_file *file, uint64_t offset,
                                     uint64_t *out, struct cleave_error *err)
{
    uint64_t cut = 0;
    bool trusted = false, contradicted;

    for (uint64_t back = 2 * file->near; back + file->lead < offset && !trusted;
         back *= 4) {
        uint64_t start = offset - back;

        contradicted = true;
        for (; contradicted; start++) {
            CV_TRY(next_at_sign(file, start, offset, &start, err));
            if (start == offset)
                break;
            CV_TRY(try_from(file, start, offset, &cut, &trusted, &contradicted, err));
        }
    }
    if (!trusted)
        CV_TRY(try_from(file, file->lead, offset, &cut, &trusted, &contradicted, err));
    return give(cut, out);
}

/* --- local splitters -------------------------------------------------------------------- */

enum cleave_status cv_cut_fail_long(const char *name, bool inside, uint64_t offset,
                                    uint64_t max, struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(name),
                      "the record %s byte %" PRIu64 " %s is longer than %" PRIu64
                      " bytes (is it split as it should be? input.max_record allows "
                      "more)",
                      inside ? "that" : "from", offset, inside ? "is in" : "on", max);
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
        if (splitter->kind->next(splitter, &view, position, &at))
            return give(view.offset + at, out);
        if (view.ends)
            return give(file->size, out);
        /* A single position may need any number of bytes; to skip many positions, MAX_BLOCK is
         * enough. */
        if (block < MAX_BLOCK || at == position)
            block *= 4;
        min = at == position ? block : behind + 1;
        from = view.offset + at;
        if (file->longest > 0 && (from - inside) / 2 > file->longest)
            return cv_cut_fail_long(file->name, true, inside, file->longest, err);
    }
}

/* --- splitters that read the whole file ---------------------------------------------------- */

/* Finds the first boundary at or after `until`, given one before. */
typedef enum cleave_status find_after(struct cv_cut_file *file, uint64_t boundary,
                                      uint64_t until, uint64_t *out,
                                      struct cleave_error *err);

static enum cleave_status walk_from(struct cv_cut_file *file, uint64_t boundary,
                                    uint64_t until, uint64_t *out,
                                    struct cleave_error *err)
{
    struct cv_walk walk;

    cv_walk_init(&walk, boundary > file->lead ? boundary : file->lead);
    if (walk.boundary >= until)
        return give(walk.boundary, out);
    walk.until = until;
    CV_TRY(walk_file(file, &walk, file->size, err));
    return give(walk.boundary >= until ? walk.boundary : file->size, out);
}

static enum cleave_status add_slot(struct cv_cut_file *file, uint64_t boundary,
                                   struct cleave_error *err)
{
    if (!CV_ROOM(file->slots, &file->slots_capacity, file->nslots + 1))
        return cv_fail_memory(err, "an index of the input");
    file->slots[file->nslots++] = boundary;
    return CLEAVE_OK;
}

static enum cleave_status find_indexed(struct cv_cut_file *file, uint64_t offset,
                                       find_after *find, uint64_t *out,
                                       struct cleave_error *err)
{
    const size_t slot = (size_t)(offset / file->grain);
    uint64_t begin;

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
    if (file->slots[slot] >= offset)
        return give(file->slots[slot], out);
    begin = file->slots[slot];
    if (file->last > begin && file->last <= offset)
        begin = file->last;
    CV_TRY(find(file, begin, offset, &file->last, err));
    return give(file->last, out);
}

/* --- all splitters -------------------------------------------------------------------------- */

/* Bytes before the first record start belong to the first record. */
static enum cleave_status find_floor(struct cv_cut_file *file, struct cleave_error *err)
{
    uint64_t first = 0;

    if (file->splitter->kind->walk != NULL) {
        /* Refuse a file that is not FASTQ by its first bytes, not after a long search. */
        struct cv_walk walk;
        const uint64_t near = file->lead + file->near;

        cv_walk_init(&walk, file->lead);
        CV_TRY(walk_file(file, &walk, near < file->size ? near : file->size, err));
    } else {
        CV_TRY(search(file, file->lead, file->near, &first, err));
    }
    file->floor = first + 1;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_file_header(struct cv_cut_file *file, uint64_t *out,
                                      struct cleave_error *err)
{
    bool found = false;

    *out = 0;
    for (size_t min = file->near; !found && file->size > 0; min *= 4) {
        const char *bytes;
        size_t length, end = 0;

        if (cv_splitter_frames(file->splitter) && min > MAX_FRAME)
            return cv_fail_at(err, CV_FILE(file->name),
                              "expected a record of %s in the first %d bytes, got none",
                              cv_splitter_text(file->splitter), MAX_FRAME);
        CV_TRY(cv_cut_file_read(file, 0, min, min, &bytes, &length, err));
        CV_TRY(cv_splitter_head(file->splitter, bytes, length, length >= file->size,
                                &found, &end, err));
        *out = end;
    }
    return CLEAVE_OK;
}

/* Set the lead: the end of a header that is not records. */
static enum cleave_status learn_lead(struct cv_cut_file *file, struct cleave_error *err)
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

    if (offset == 0 || offset >= file->size)
        return give(offset == 0 ? 0 : file->size, out);
    if (record > 0) {
        const uint64_t step = (record - offset % record) % record;

        *out = step < file->size - offset ? offset + step : file->size;
        return CLEAVE_OK;
    }
    CV_TRY(learn_lead(file, err));
    if (offset <= file->lead)
        return give(file->lead, out);
    if (file->splitter->kind->needs_pass)
        return find_indexed(file, offset, walk_from, out, err);
    if (file->floor == 0)
        CV_TRY(find_floor(file, err));
    if (file->splitter->kind->walk != NULL)
        return find_fastq(file, offset, out, err);
    if (offset < file->floor)
        offset = file->floor;
    if (offset < file->size)
        return search(file, offset, file->near, out, err);
    return give(file->size, out);
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
    return give(count, out);
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
    return give(count > 0 ? count : 1, out);
}

enum cleave_status cv_cut_file_count(struct cv_cut_file *file, uint64_t from, uint64_t to,
                                     uint64_t *out, struct cleave_error *err)
{
    const struct cv_splitter *splitter = file->splitter;
    uint64_t lines = 0;
    struct cv_walk walk;

    if (from >= to)
        return give(0, out);
    if (splitter->record_bytes > 0)
        return give((to - from - 1) / splitter->record_bytes + 1, out);
    if (splitter->kind->ends_in_byte)
        return count_ends(file, from, to, out, err);
    if (splitter->kind->walk == NULL)
        return count_starts(file, from, to, out, err);
    CV_TRY(learn_lead(file, err));
    if (from < file->lead) {
        CV_TRY(count_ends(file, from, file->lead < to ? file->lead : to, &lines, err));
        from = file->lead;
    }
    cv_walk_init(&walk, from);
    if (from < to)
        CV_TRY(walk_file(file, &walk, to, err));
    return give(lines + cv_walk_records(&walk), out);
}

/* --- groups of records -------------------------------------------------------------------- */

/* Groups with the same key are found from the records around a cut. Groups of N records are counted
 * from the start of the file. */
enum {
    STEP = 64,           /* bytes that the first search for a record goes back */
    COUNTED = 4096,      /* bytes whose records are counted at a time, at most,  */
    LEAST_COUNTED = 256, /* ... and at least; one for each record in between */
};

/* A sequence of records. */
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

static enum cleave_status end_of(struct row *row, uint64_t *out, struct cleave_error *err)
{
    struct cv_cut_file *file = row->file;

    if (file->splitter->kind->walk == NULL)
        return cv_cut_record_at(file, row->at + 1, out, err);
    row->walk.until = row->at + 1;
    CV_TRY(walk_file(file, &row->walk, file->size, err));
    return give(row->walk.boundary > row->at ? row->walk.boundary : file->size, out);
}

/* Add the record at row->at to the group, and move to the next one. */
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

/* Skip a number of records that end in a byte. */
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
        if (length > COUNTED)
            length = COUNTED;
        if (length > LEAST_COUNTED && length > records)
            length = records > LEAST_COUNTED ? (size_t)records : LEAST_COUNTED;
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
    return give(at, out);
}

/* The first group at or after `until`, given the start of one before. */
static enum cleave_status find_group(struct cv_cut_file *file, uint64_t begin,
                                     uint64_t until, uint64_t *out,
                                     struct cleave_error *err)
{
    const uint64_t records = cv_group_records(file->splitter);
    struct cv_group_state state = { 0 };
    struct row row;

    begin_row(&row, file, begin);
    while (records > 0 && file->splitter->kind->ends_in_byte && row.at < until)
        CV_TRY(skip_ended(file, row.at, records, &row.at, err));
    if (row.at >= until)
        return give(row.at, out);
    while (row.at < file->size) {
        const uint64_t record = row.at;
        bool starts;

        CV_TRY(next_record(&row, &state, &starts, err));
        if (starts && record >= until)
            return give(record, out);
    }
    return give(file->size, out);
}

/* The start of the record that ends at `boundary`. */
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
        file->near = BLOCK; /* the whole file is read */
    if (cv_group_records(file->splitter) > 0)
        return find_indexed(file, offset, find_group, out, err);
    CV_TRY(cv_cut_record_at(file, offset, &boundary, err));
    if (boundary == file->size || boundary <= file->lead)
        return give(boundary, out);
    CV_TRY(find_before(file, boundary, &before, err));
    return find_group(file, before, boundary, out, err);
}

enum cleave_status cv_cut_file_at(struct cv_cut_file *file, uint64_t offset,
                                  uint64_t *out, struct cleave_error *err)
{
    if (file->splitter->group == NULL || offset == 0 || offset >= file->size)
        return cv_cut_record_at(file, offset, out, err);
    CV_TRY(learn_lead(file, err));
    if (offset > file->lead)
        return group_at(file, offset, out, err);
    return give(file->lead, out);
}

/* --- pairs ---------------------------------------------------------------------------------- */

static enum cleave_status add_cut(struct cv_cut_pairs *pairs, struct cv_pair_cut cut,
                                  struct cleave_error *err)
{
    if (!CV_ROOM(pairs->cuts, &pairs->capacity, pairs->ncuts + 1))
        return cv_fail_memory(err, "an index of the input");
    pairs->cuts[pairs->ncuts++] = cut;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_pairs_init(struct cv_cut_pairs *pairs,
                                     struct cv_cut_file *first,
                                     struct cv_cut_file *second, struct cleave_error *err)
{
    const uint64_t grain = first->size / MAX_CUTS;

    *pairs = (struct cv_cut_pairs){ .first = first, .second = second };
    pairs->grain = grain > PAIRS_GRAIN ? grain : PAIRS_GRAIN;
    if (!first->splitter->kind->pairs || !second->splitter->kind->pairs)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected the splitter 'fastq' for pairs, "
                       "got '%s'",
                       cv_splitter_text(first->splitter));
    return add_cut(pairs, (struct cv_pair_cut){ 0, 0, 0 }, err);
}

void cv_cut_pairs_done(struct cv_cut_pairs *pairs)
{
    if (pairs == NULL)
        return;
    free(pairs->cuts);
    pairs->cuts = NULL;
    pairs->ncuts = pairs->capacity = 0;
}

/* One file has fewer records: count both. */
static enum cleave_status fail_counts(struct cv_cut_pairs *pairs, struct cv_pair_cut from,
                                      struct cleave_error *err)
{
    struct cv_cut_file *first = pairs->first, *second = pairs->second;
    uint64_t n, m;

    CV_TRY(cv_cut_file_count(first, from.first, first->size, &n, err));
    CV_TRY(cv_cut_file_count(second, from.second, second->size, &m, err));
    return cv_fail_at(err, CV_FILE(second->name),
                      "expected %" PRIu64 " records, as many as %s has, got %" PRIu64,
                      from.records + n, CV_SHOWN(first->name, 100), from.records + m);
}

/* From a known cut to the first one at or after `offset` of the first file. */
static enum cleave_status step_pair(struct cv_cut_pairs *pairs, struct cv_pair_cut from,
                                    uint64_t offset, struct cv_pair_cut *out,
                                    struct cleave_error *err)
{
    struct cv_cut_file *first = pairs->first, *second = pairs->second;
    struct cv_walk one, two;
    uint64_t n, m;
    bool ends, fewer, more;

    cv_walk_init(&one, from.first);
    one.until = offset;
    CV_TRY(walk_file(first, &one, first->size, err));
    n = cv_walk_records(&one);
    ends = one.boundary < offset || first->size == 0;
    /* If the first file ends, the second must not have another record. */
    cv_walk_init(&two, from.second);
    two.max = n > 0 ? n : 1;
    CV_TRY(walk_file(second, &two, second->size, err));
    m = cv_walk_records(&two);
    fewer = ends ? m < n : two.found < n;
    more = ends && (two.found == two.max || m > n);
    if (fewer || more)
        return fail_counts(pairs, from, err);
    out->first = ends ? first->size : one.boundary;
    out->second = ends ? second->size : two.boundary;
    out->records = from.records + n;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_pairs_at(struct cv_cut_pairs *pairs, uint64_t offset,
                                   struct cv_pair_cut *out, struct cleave_error *err)
{
    struct cv_pair_cut cut = pairs->cuts[pairs->ncuts - 1];
    size_t known;

    if (offset > pairs->first->size)
        offset = pairs->first->size;
    while (offset - cut.first >= pairs->grain && cut.first < offset) {
        CV_TRY(step_pair(pairs, cut, cut.first + pairs->grain, &cut, err));
        CV_TRY(add_cut(pairs, cut, err));
    }
    /* The last known cut at or before `offset`. */
    CV_BISECT(known, pairs->ncuts, i, pairs->cuts[i].first <= offset);
    cut = pairs->cuts[known > 0 ? known - 1 : 0];
    if (cut.first < offset || pairs->first->size == 0)
        CV_TRY(step_pair(pairs, cut, offset, &cut, err));
    *out = cut;
    return CLEAVE_OK;
}
