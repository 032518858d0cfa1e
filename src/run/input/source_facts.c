/* source_facts.c -- what there is to know of a source: sizes, records, identity.
 * SPDX-License-Identifier: MIT */
#include "run/input/source.h"

#include <inttypes.h>
#include <math.h>

#include "base/fail.h"
#include "run/input/source_internal.h"
#include "run/split/split_kind.h"

double cv_source_total(const struct cv_source *source)
{
    if (source->items_come)
        return INFINITY;
    if (source->stream == NULL)
        return (double)source->total;
    return source->stream->ended ? (double)source->stream->received : INFINITY;
}

double cv_source_ended_s(const struct cv_source *source)
{
    return source->stream != NULL && source->stream->ended ? source->stream->ended_s : 0;
}

double cv_source_first_s(const struct cv_source *source)
{
    return source->stream != NULL ? source->stream->first_s : 0;
}

double cv_source_left(const struct cv_source *source)
{
    if (source->items_come || (source->stream != NULL && !source->stream->ended))
        return INFINITY;
    return (double)cv_range_set_total(&source->pending);
}

double cv_source_hold(const struct cv_source *source)
{
    if (source->items_come)
        return (double)source->items_hold;
    return source->stream != NULL ? (double)source->stream->hold : 0;
}

uint64_t cv_source_extent(const struct cv_source *source)
{
    return source->stream != NULL ? source->stream->received : source->total;
}

struct cv_source_span cv_source_span_at(const struct cv_source *source, uint64_t address)
{
    const struct cv_source_file *file = source->files;
    size_t next = 1;

    if (source->stream != NULL)
        return (struct cv_source_span){ source->stream->name, 0,
                                        source->stream->received };
    for (; next < source->nfiles && source->files[next].base <= address; next++)
        if (source->files[next].size > 0)
            file = &source->files[next];
    /* Up to the next one, also of a file that was shortened. */
    return (struct cv_source_span){ file->name, file->base,
                                    next < source->nfiles ? source->files[next].base
                                                          : source->total };
}

enum cleave_status cv_source_check(struct cv_source *source, const struct cv_piece *piece,
                                   struct cleave_error *err)
{
    if (source->stream != NULL || source->items != NULL)
        return CLEAVE_OK;
    CV_TRY(cv_source_file_unchanged(&source->files[piece->file], err));
    return source->mate != NULL ? cv_source_file_unchanged(source->mate, err) : CLEAVE_OK;
}

static bool was_touched(struct cv_source_file *file)
{
    const bool now = file != NULL && file->touched && !file->told;

    if (now)
        file->told = true;
    return now;
}

const char *cv_source_was_modified(struct cv_source *source, const struct cv_piece *piece)
{
    if (source->stream != NULL || source->items != NULL)
        return NULL;
    if (was_touched(&source->files[piece->file]))
        return source->files[piece->file].name;
    return was_touched(source->mate) ? source->mate->name : NULL;
}

enum cleave_status cv_source_hash(struct cv_source *source, const struct cv_piece *piece,
                                  struct cv_content_hash *out, struct cleave_error *err)
{
    const struct cv_part parts[] = { cv_piece_header(piece), cv_piece_body(piece),
                                     cv_piece_closing(piece), cv_piece_mate(piece) };

    if (source->hasher == NULL)
        CV_TRY(cv_content_hasher_new(&source->hasher, err));
    cv_content_hasher_reset(source->hasher);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        CV_TRY(cv_content_hasher_add_part(source->hasher, &parts[i], err));
    *out = cv_content_hasher_finish(source->hasher);
    return CLEAVE_OK;
}

/* Count on from what was counted last, if that is not behind the piece. */
static enum cleave_status number_records(struct cv_source_file *file,
                                         struct cv_range body, uint64_t *first,
                                         uint64_t *count, struct cleave_error *err)
{
    uint64_t between, number;

    if (file->counted_to > body.begin)
        file->counted_to = file->counted = 0;
    CV_TRY(cv_cut_file_count(&file->cut, file->counted_to, body.begin, &between, err));
    CV_TRY(cv_cut_file_count(&file->cut, body.begin, body.end, &number, err));
    file->counted_to = body.begin;
    file->counted += between;
    *first = file->counted + 1;
    *count = number;
    return CLEAVE_OK;
}

enum cleave_status cv_source_records(struct cv_source *source,
                                     const struct cv_piece *piece, uint64_t *first,
                                     uint64_t *count, struct cleave_error *err)
{
    struct cv_source_file *file;
    enum cleave_status status;
    bool was_open;

    if (source->stream != NULL)
        return cv_stream_records(source->stream, piece->begin, piece->end, first, count,
                                 err);
    file = &source->files[piece->file];
    was_open = file->fd >= 0;
    CV_TRY(cv_source_file_use(file, source->splitter, err));
    status = number_records(file,
                            (struct cv_range){ piece->body.begin - piece->skip,
                                               piece->body.end },
                            first, count, err);
    if (!was_open)
        cv_source_file_close(file);
    return status;
}

/* --- a last record that is cut short ------------------------------------------------------ */

enum cleave_status cv_source_say_torn(const char *name, uint64_t offset,
                                      struct cleave_error *err)
{
    const struct cv_place place = { name, 0, 0, NULL };

    return cv_fail_at(err, &place,
                      "the last record, from byte %" PRIu64
                      " on, is cut short by the end",
                      offset);
}

static enum cleave_status torn_file(struct cv_source *source, struct cv_source_file *file,
                                    bool *out, struct cleave_error *note,
                                    struct cleave_error *err)
{
    const bool was_open = file->fd >= 0;
    enum cleave_status status;
    uint64_t count, torn;

    CV_TRY(cv_source_file_use(file, source->splitter, err));
    /* From the last boundary that is known: a walk to the end notices. */
    status = cv_cut_file_count(&file->cut, file->edge, file->size, &count, err);
    torn = cv_cut_file_incomplete_record(&file->cut);
    if (!was_open)
        cv_source_file_close(file);
    *out = status == CLEAVE_OK && torn != UINT64_MAX;
    if (*out)
        cv_source_say_torn(file->name, torn, note);
    return status;
}

/* Where such a record begins in the stream; UINT64_MAX: there is none. */
static uint64_t torn_stream(const struct cv_stream *stream,
                            const struct cv_splitter *splitter)
{
    const uint64_t record = splitter->record_bytes;

    if (record == 0)
        return cv_cut_window_torn(&stream->window);
    return stream->received % record == 0 ? UINT64_MAX
                                          : stream->received - stream->received % record;
}

enum cleave_status cv_source_ends_in_record(struct cv_source *source, bool *out,
                                            struct cleave_error *note,
                                            struct cleave_error *err)
{
    bool torn = source->shortened;

    if (torn) {
        *note = source->damage;
    } else if (source->stream != NULL) {
        const uint64_t offset = torn_stream(source->stream, source->splitter);

        torn = source->stream->damaged;
        if (torn)
            *note = source->stream->damage;
        else if ((torn = source->stream->ended && offset != UINT64_MAX))
            cv_source_say_torn(source->stream->name, offset, note);
    } else if (source->splitter->kind->walk != NULL) {
        for (size_t i = 0; i < source->nfiles && !torn; i++)
            CV_TRY(torn_file(source, &source->files[i], &torn, note, err));
        if (!torn && source->mate != NULL)
            CV_TRY(torn_file(source, source->mate, &torn, note, err));
    }
    *out = torn;
    return CLEAVE_OK;
}

/* --- identity ----------------------------------------------------------------------------- */

size_t cv_source_inputs(const struct cv_source *source)
{
    return source->stream != NULL ? 1 : source->nfiles + (source->mate != NULL);
}

struct cv_input cv_source_input(const struct cv_source *source, size_t index)
{
    const struct cv_stream *stream = source->stream;
    const struct cv_source_file *file;

    if (stream != NULL)
        return (struct cv_input){ .path = stream->path,
                                  .device = stream->device,
                                  .inode = stream->inode,
                                  .size = -1 };
    file = index < source->nfiles ? &source->files[index] : source->mate;
    return (struct cv_input){ .path = file->path,
                              .device = file->device,
                              .inode = file->inode,
                              .size = (int64_t)(file->decoded != NULL ? file->packed_size
                                                                      : file->size),
                              .mtime_ns = file->mtime_ns,
                              .packed = file->decoded != NULL };
}
