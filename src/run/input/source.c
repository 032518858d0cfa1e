/* source.c -- the input of a run, handed out in pieces. SPDX-License-Identifier: MIT */
#include "run/input/source.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/execute.h>
#include "base/arena.h"
#include "base/fail.h"
#include "run/common/lazy_reader.h"
#include "run/decode/decoded_file.h"
#include "run/fetch/fetch.h"
#include "run/input/source_internal.h"
#include "run/split/split_kind.h"

/* --- pieces made of ranges of a file ----------------------------------------------- */

enum cleave_status cv_source_use(struct cv_source *source, size_t index,
                                 struct cleave_error *err)
{
    if (source->current != index && source->current < source->nfiles &&
        source->files[source->current].at_work == 0)
        cv_source_file_close(&source->files[source->current]);
    source->current = index;
    CV_TRY(cv_source_file_use(&source->files[index], source->splitter, err));
    source->files[index].cut.longest = source->max_record;
    return CLEAVE_OK;
}

static enum cleave_status find_header(struct cv_source *source, size_t index,
                                      uint64_t *out, struct cleave_error *err)
{
    struct cv_source_file *file;

    *out = 0;
    if (!source->header)
        return CLEAVE_OK;
    if (source->stream != NULL) {
        *out = source->stream->header_end;
        return CLEAVE_OK;
    }
    file = &source->files[index];
    if (!file->headed)
        CV_TRY(cv_cut_file_header(&file->cut, &file->header_end, err));
    file->headed = true;
    *out = file->header_end;
    return CLEAVE_OK;
}

enum cleave_status cv_source_header_end(struct cv_source *source, size_t file,
                                        uint64_t *out, struct cleave_error *err)
{
    if (source->stream == NULL)
        CV_TRY(cv_source_use(source, file, err));
    return find_header(source, file, out, err);
}

enum cleave_status cv_source_cut(struct cv_source *source, size_t index, uint64_t begin,
                                 uint64_t end, uint64_t target, uint64_t *out,
                                 struct cleave_error *err)
{
    uint64_t header, cut;

    CV_TRY(find_header(source, index, &header, err));
    if (begin == 0 && target <= header)
        target = header + 1;
    if (source->stream == NULL && source->mate == NULL &&
        source->files[index].decoded != NULL)
        target = cv_decoded_file_round(source->files[index].decoded, target);
    if (target >= end) {
        *out = end;
        return CLEAVE_OK;
    }
    if (source->stream != NULL)
        return cv_stream_cut(source->stream, begin, end, target, out, err);
    if (source->mate != NULL) {
        CV_TRY(cv_cut_pairs_at(&source->pairs, target, &source->pair_cut, err));
        cut = source->pair_cut.first;
    } else {
        CV_TRY(cv_cut_file_at(&source->files[index].cut, target, &cut, err));
    }
    *out = cut < end ? cut : end;
    return CLEAVE_OK;
}

/* Where in the second file the record begins that does at `offset` in the first. */
static enum cleave_status find_mate(struct cv_source *source, uint64_t offset,
                                    uint64_t *out, struct cleave_error *err)
{
    if (source->pair_cut.first != offset)
        CV_TRY(cv_cut_pairs_at(&source->pairs, offset, &source->pair_cut, err));
    assert(source->pair_cut.first == offset);
    *out = source->pair_cut.second;
    return CLEAVE_OK;
}

struct cv_part cv_piece_header(const struct cv_piece *piece)
{
    return (struct cv_part){ .bytes = piece->header_bytes,
                             .fd = piece->fd,
                             .well = piece->header_bytes == NULL ? piece->well : NULL,
                             .begin = piece->header.begin,
                             .end = piece->header.end,
                             .name = piece->name };
}

struct cv_part cv_piece_body(const struct cv_piece *piece)
{
    return (struct cv_part){ .bytes = piece->body_bytes,
                             .lasting = true,
                             .fd = piece->fd,
                             .well = piece->well,
                             .begin = piece->body.begin,
                             .end = piece->body.end,
                             .name = piece->name };
}

struct cv_part cv_piece_closing(const struct cv_piece *piece)
{
    if (piece->closing == CV_CLOSING_TEXT)
        return (struct cv_part){ .bytes = piece->closing_text,
                                 .fd = -1,
                                 .end = strlen(piece->closing_text) };
    return cv_closing_part(piece->closing);
}

struct cv_part cv_piece_mate(const struct cv_piece *piece)
{
    return (struct cv_part){ .fd = piece->mate_fd,
                             .well = piece->mate_well,
                             .begin = piece->mate.begin,
                             .end = piece->mate.end,
                             .name = "the file of the mates" };
}

/* What closes the pieces of an input, made of its head once. */
static enum cleave_status find_tail(struct cv_source *source, size_t index,
                                    uint64_t header, const char **out,
                                    struct cleave_error *err)
{
    struct cv_source_file *file = source->stream == NULL ? &source->files[index] : NULL;
    char **tail = file != NULL ? &file->tail : &source->stream->tail;
    const char *bytes = source->stream != NULL ? source->stream->header : NULL;
    size_t length;

    if (*tail == NULL && file != NULL)
        CV_TRY(cv_cut_file_read(&file->cut, 0, (size_t)header, (size_t)header, &bytes,
                                &length, err));
    if (*tail == NULL)
        *tail = source->splitter->kind->tail(bytes, (size_t)header);
    *out = *tail;
    return *tail == NULL ? cv_fail_memory(err, "the end of a chunk") : CLEAVE_OK;
}

/* A piece of an array, to be an array itself; or of elements, to be a document. */
static enum cleave_status frame(struct cv_source *source, uint64_t header,
                                struct cv_piece *piece, struct cleave_error *err)
{
    const bool last =
        source->stream == NULL
            ? piece->body.end == source->files[piece->file].size
            : source->stream->ended && piece->body.end == source->stream->received;

    if (source->splitter->kind->bare)
        return CLEAVE_OK;
    if (cv_splitter_has_tail(source->splitter)) {
        CV_TRY(find_tail(source, piece->file, header, &piece->closing_text, err));
        if (!last)
            piece->closing = CV_CLOSING_TEXT;
        return CLEAVE_OK;
    }
    piece->skip = piece->body.begin > 0;
    piece->body.begin += piece->skip;
    if (piece->body_bytes != NULL)
        piece->body_bytes += piece->skip;
    if (!last)
        piece->closing = CV_CLOSING_ARRAY;
    return CLEAVE_OK;
}

/* A header that is fetched, or decoded, is so once: for each piece that would be another command, or another
 * first block. */
static enum cleave_status keep_header(struct cv_source_file *file, size_t length,
                                      struct cleave_error *err)
{
    const char *bytes;
    size_t got;

    if (file->cut.well == NULL || file->header != NULL || length == 0)
        return CLEAVE_OK;
    CV_TRY(cv_cut_file_read(&file->cut, 0, length, length, &bytes, &got, err));
    file->header = malloc(length);
    if (file->header == NULL)
        return cv_fail_memory(err, "a header");
    memcpy(file->header, bytes, length);
    return CLEAVE_OK;
}

enum cleave_status cv_source_make(struct cv_source *source, size_t index,
                                  struct cv_range body, struct cv_piece *out,
                                  struct cleave_error *err)
{
    struct cv_piece piece = { .file = index, .body = body, .fd = -1, .mate_fd = -1 };
    uint64_t header;

    CV_TRY(find_header(source, index, &header, err));
    if (body.begin > 0)
        piece.header.end = header;
    if (source->stream != NULL) {
        uint64_t stretch_end;

        piece.name = source->stream->name;
        piece.begin = body.begin;
        piece.header_bytes = source->stream->header;
        piece.body_bytes = cv_spool_at(&source->stream->spool, body.begin, &stretch_end);
        assert(body.end <= stretch_end);
        CV_TRY(cv_stream_number(source->stream, body.end, err));
    } else {
        struct cv_source_file *file = &source->files[index];

        if (body.begin > 0)
            CV_TRY(keep_header(file, (size_t)header, err));
        piece.name = file->name;
        piece.fd = file->fd;
        piece.well = file->cut.well;
        piece.header_bytes = file->header;
        piece.begin = file->base + body.begin;
        if (body.begin > file->edge)
            file->edge = body.begin;
        if (body.end == file->size && file->base + file->size < source->total)
            CV_TRY(cv_cut_file_closing(&file->cut, &piece.closing, err));
    }
    piece.end = piece.begin + (body.end - body.begin);
    if (header > 0 && cv_splitter_frames(source->splitter))
        CV_TRY(frame(source, header, &piece, err));
    if (source->mate != NULL) {
        piece.mate_fd = source->mate->fd;
        piece.mate_well = source->mate->cut.well;
        CV_TRY(find_mate(source, body.begin, &piece.mate.begin, err));
        CV_TRY(find_mate(source, body.end, &piece.mate.end, err));
        if (piece.mate.begin > source->mate->edge)
            source->mate->edge = piece.mate.begin;
    }
    *out = piece;
    return CLEAVE_OK;
}

void cv_source_at_work(struct cv_source *source, const struct cv_piece *piece,
                       bool begins)
{
    struct cv_source_file *file;

    if (source->stream != NULL)
        return;
    file = &source->files[piece->file];
    if (begins) {
        file->at_work += piece->end - piece->begin;
        return;
    }
    file->at_work -= piece->end - piece->begin;
    if (file->at_work == 0 && piece->file != source->current)
        cv_source_file_close(file);
}

enum cleave_status cv_source_lend(struct cv_source *source, size_t file,
                                  struct cv_part *out, struct cleave_error *err)
{
    const struct cv_source_file *lent = &source->files[file];

    CV_TRY(cv_source_use(source, file, err));
    cv_source_at_work(source, &(struct cv_piece){ .file = file, .end = 1 }, true);
    *out = (struct cv_part){
        .fd = lent->fd, .well = lent->cut.well, .end = lent->size, .name = lent->name
    };
    return CLEAVE_OK;
}

void cv_source_give_back(struct cv_source *source, size_t file)
{
    cv_source_at_work(source, &(struct cv_piece){ .file = file, .end = 1 }, false);
}

/* --- the input of a run, handed out in pieces -------------------------------------- */

/* --- opening ---------------------------------------------------------------------------- */

static enum cleave_status open_mate(struct cv_source *source,
                                    const struct cv_source_options *options,
                                    struct cleave_error *err)
{
    const char *path = options->pairs;
    struct cv_source_file *first = source->files;
    const struct cv_place place = { path, 0, 0, NULL };
    bool is_stream;

    if (source->stream != NULL || source->nfiles != 1)
        return cv_fail_at(err, &place,
                          "expected pairs of one regular file and another, got %s",
                          source->stream != NULL ? "a stream" : "several files");
    if (source->header)
        return cv_fail_at(err, &place, "expected pairs or a header, got both");
    if (cv_splitter_groups(source->splitter))
        return cv_fail_at(err, &place,
                          "expected pairs or records that stay together, got both");
    source->mate = calloc(1, sizeof *source->mate);
    if (source->mate == NULL)
        return cv_fail_memory(err, "an input");
    CV_TRY(cv_source_file_init(source->mate, path, &is_stream, err));
    if (is_stream)
        return cv_fail_at(err, &place, "expected a regular file for pairs, got a stream");
    CV_TRY(cv_source_file_unpack(source->mate, options, false, &is_stream, err));
    CV_TRY(cv_source_file_use(first, source->splitter, err));
    CV_TRY(cv_source_file_use(source->mate, source->splitter, err));
    source->current = 0;
    CV_TRY(cv_cut_pairs_init(&source->pairs, &first->cut, &source->mate->cut, err));
    /* Without this nobody would notice that only the second one has records. */
    return first->size > 0 ? CLEAVE_OK
                           : cv_cut_pairs_at(&source->pairs, 0, &source->pair_cut, err);
}

/* Inputs that a command gives by ranges. */
static enum cleave_status open_fetched(struct cv_source *source, const char *const *names,
                                       size_t nnames,
                                       const struct cv_source_options *options,
                                       struct cleave_error *err)
{
    CV_TRY(cv_fetch_check(options->fetch, err));
    if (options->size == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--fetch: expected --size BYTES, or --size with a command that "
                       "writes it, as 'curl -sI URL'");
    if (options->pairs != NULL || options->codec != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--fetch: expected neither --pairs nor --decode: what is fetched "
                       "is not decoded, and has no mates");
    if (nnames > 1 && cv_fetch_is_number(options->size))
        return cv_fail(err, CLEAVE_EINPUT,
                       "--size: expected a command that writes the size of each of "
                       "several inputs, as 'curl -sI {}', got '%s'",
                       options->size);
    source->files = calloc(nnames, sizeof *source->files);
    if (source->files == NULL)
        return cv_fail_memory(err, "a list of inputs");
    for (size_t i = 0; i < nnames; i++) {
        struct cv_source_file *file = &source->files[i];

        source->nfiles = i + 1;
        CV_TRY(cv_source_file_fetch(file, names[i], options, err));
        file->base = source->total;
        source->total += file->size;
    }
    source->current = nnames;
    return cv_range_set_put(&source->pending, 0, source->total, err);
}

static enum cleave_status open_files(struct cv_source *source, const char *const *paths,
                                     size_t npaths,
                                     const struct cv_source_options *options,
                                     struct cleave_error *err)
{
    source->files = calloc(npaths, sizeof *source->files);
    if (source->files == NULL)
        return cv_fail_memory(err, "a list of inputs");
    for (size_t i = 0; i < npaths; i++) {
        struct cv_source_file *file = &source->files[i];
        const struct cv_place place = { paths[i], 0, 0, NULL };
        bool is_stream = false;

        source->nfiles = i + 1;
        CV_TRY(cv_source_file_init(file, paths[i], &is_stream, err));
        file->ignores = options->no_index;
        if (!is_stream)
            CV_TRY(cv_source_file_unpack(file, options,
                                         npaths == 1 && options->pairs == NULL,
                                         &is_stream, err));
        if (is_stream && npaths > 1)
            return cv_fail_at(err, &place,
                              "expected regular files or one stream, got %zu inputs of "
                              "which this is no regular file: 'cat A B | cleave ...' "
                              "makes one stream of them",
                              npaths);
        if (is_stream) {
            source->lone = file->lone;
            source->unended = file->unended;
            source->foretold = file->foretold;
            source->foretold_bytes = file->foretold_bytes;
            cv_source_file_done(file);
            source->nfiles = 0;
            return cv_stream_new(paths[i], options, &source->stream, err);
        }
        file->base = source->total;
        source->total += file->size;
    }
    source->current = npaths;
    return cv_range_set_put(&source->pending, 0, source->total, err);
}

enum cleave_status cv_source_open(const char *const *paths, size_t npaths,
                                  const struct cv_source_options *options,
                                  struct cv_source **out, struct cleave_error *err)
{
    static const char *const standard[] = { "-" };
    struct cv_source *source = calloc(1, sizeof *source);
    enum cleave_status status;

    if (source == NULL)
        return cv_fail_memory(err, "an input");
    source->splitter = options->splitter;
    source->header = options->header || cv_splitter_frames(options->splitter);
    source->max_record = options->max_record;
    source->raw =
        options->raw || (options->splitter->record_bytes > 0 && options->codec == NULL);
    cv_range_set_init(&source->pending);
    if (options->fetch != NULL)
        status = open_fetched(source, npaths > 0 ? paths : &options->fetch,
                              npaths > 0 ? npaths : 1, options, err);
    else
        status = open_files(source, npaths > 0 ? paths : standard,
                            npaths > 0 ? npaths : 1, options, err);
    if (status == CLEAVE_OK && options->pairs != NULL)
        status = open_mate(source, options, err);
    if (status == CLEAVE_OK)
        *out = source;
    else
        cv_source_free(source);
    return status;
}

void cv_source_free(struct cv_source *source)
{
    if (source == NULL)
        return;
    cv_cut_pairs_done(&source->pairs);
    for (size_t i = 0; i < source->nfiles; i++)
        cv_source_file_done(&source->files[i]);
    if (source->mate != NULL)
        cv_source_file_done(source->mate);
    cv_stream_free(source->stream);
    cv_range_set_done(&source->pending);
    cv_content_hasher_free(source->hasher);
    free(source->files);
    free(source->mate);
    free(source->known);
    free(source);
}

/* --- taking ----------------------------------------------------------------------------- */

/* The range to take from, and how much of it; state is WAIT or END if there is none. */
static enum cleave_status choose(struct cv_source *source, uint64_t *wanted,
                                 enum cv_take *state, struct cv_range *range,
                                 struct cleave_error *err)
{
    struct cv_stream *stream = source->stream;
    const bool known = source->next_known < source->nknown;
    uint64_t stretch_end;
    bool more;

    if (*wanted == 0)
        *wanted = 1;
    if (stream != NULL && *wanted > stream->piece_most)
        *wanted = stream->piece_most;
    while ((stream != NULL || source->items_come) && cv_source_poll_fd(source) < 0 &&
           cv_source_wants(source) && cv_range_set_total(&source->pending) < *wanted)
        CV_TRY(cv_source_pump(source, err));
    more = stream != NULL && !stream->ended;
    *state = more || source->items_come || known ? CV_TAKE_WAIT : CV_TAKE_END;
    if ((stream == NULL && known) || !cv_range_set_find(&source->pending, 0, range))
        return CLEAVE_OK;
    if (stream != NULL) {
        cv_spool_at(&stream->spool, range->begin, &stretch_end);
        if (range->end > stretch_end)
            range->end = stretch_end;
    }
    if (more && range->end == stream->settled && !cv_stream_full(stream) &&
        (range->end - range->begin < *wanted || range->end <= stream->header_end))
        return CLEAVE_OK;
    *state = CV_TAKE_PIECE;
    return CLEAVE_OK;
}

enum cleave_status cv_source_take(struct cv_source *source, uint64_t wanted,
                                  enum cv_take *state, struct cv_piece *out,
                                  struct cleave_error *err)
{
    enum cv_take found;
    struct cv_range range, taken;
    struct cv_piece piece;
    uint64_t base = 0;
    size_t index = 0;

    CV_TRY(choose(source, &wanted, &found, &range, err));
    if (found != CV_TAKE_PIECE) {
        *state = found;
        return CLEAVE_OK;
    }
    if (source->stream == NULL) {
        const struct cv_source_file *file;

        index = cv_source_file_at(source, range.begin);
        CV_TRY(cv_source_use(source, index, err));
        file = &source->files[index];
        base = file->base;
        if (range.end > base + file->size)
            range.end = base + file->size;
    }
    if (wanted > range.end - range.begin)
        wanted = range.end - range.begin;
    if (source->items != NULL && source->items->fits != NULL && wanted > 1)
        CV_TRY(source->items->fits(source->items->context, range.begin, wanted, &wanted,
                                   err));
    range.begin -= base;
    range.end -= base;
    CV_TRY(cv_source_cut(source, index, range.begin, range.end, range.begin + wanted,
                         &range.end, err));
    CV_TRY(cv_source_make(source, index, range, &piece, err));
    CV_TRY(cv_source_limit(source, &piece, err));
    cv_range_set_take(&source->pending, piece.end - piece.begin, &taken);
    cv_source_at_work(source, &piece, true);
    *state = found;
    *out = piece;
    return CLEAVE_OK;
}

uint64_t cv_source_ready(const struct cv_source *source)
{
    struct cv_range first;

    return cv_range_set_find(&source->pending, 0, &first) ? first.end - first.begin : 0;
}

struct cv_piece cv_source_blank(const struct cv_source *source)
{
    const struct cv_source_file *mate = source->mate;

    return (struct cv_piece){ .fd = -1,
                              .mate_fd = mate != NULL ? mate->fd : -1,
                              .mate_well = mate != NULL ? mate->cut.well : NULL };
}

/* What waits directly behind a piece and could be one with it. */
static enum cv_take find_behind(const struct cv_source *source,
                                const struct cv_piece *piece, struct cv_range *out)
{
    const struct cv_stream *stream = source->stream;
    uint64_t max;

    if (stream != NULL)
        cv_spool_at(&stream->spool, piece->begin, &max);
    else
        max = source->files[piece->file].base + source->files[piece->file].size;
    if (stream != NULL && !stream->ended && piece->end == stream->settled &&
        piece->end < max && !cv_stream_full(stream))
        return CV_TAKE_WAIT;
    if (piece->end >= max || !cv_range_set_find(&source->pending, piece->end, out) ||
        out->begin != piece->end)
        return CV_TAKE_END;
    out->end = out->end < max ? out->end : max;
    return CV_TAKE_PIECE;
}

enum cleave_status cv_source_take_behind(struct cv_source *source,
                                         const struct cv_piece *piece, uint64_t wanted,
                                         enum cv_take *state, struct cv_piece *out,
                                         struct cleave_error *err)
{
    const uint64_t base = piece->begin + piece->skip - piece->body.begin;
    struct cv_piece longer = *piece, added;
    struct cv_range range;

    while (source->stream != NULL && !source->stream->polls && cv_source_wants(source) &&
           piece->end == source->stream->settled)
        CV_TRY(cv_source_pump(source, err));
    *state = find_behind(source, piece, &range);
    if (*state != CV_TAKE_PIECE)
        return CLEAVE_OK;
    if (source->stream == NULL)
        CV_TRY(cv_source_use(source, piece->file, err));
    range.begin -= base;
    range.end -= base;
    if (wanted < range.end - range.begin)
        CV_TRY(cv_source_cut(source, piece->file, range.begin, range.end,
                             range.begin + (wanted > 0 ? wanted : 1), &range.end, err));
    CV_TRY(cv_source_make(source, piece->file, range, &added, err));
    CV_TRY(cv_source_limit(source, &added, err));
    CV_TRY(cv_range_set_remove(&source->pending, added.begin, added.end, err));
    cv_source_at_work(source, &added, true);
    longer.end = added.end;
    longer.body.end = added.body.end;
    longer.mate.end = added.mate.end;
    longer.closing = added.closing;
    *out = longer;
    return CLEAVE_OK;
}

enum cleave_status cv_source_part(struct cv_source *source, const struct cv_piece *piece,
                                  uint64_t from, struct cv_piece *head,
                                  struct cv_piece *tail, struct cleave_error *err)
{
    struct cv_range first = piece->body, second = first;
    struct cv_piece one = *piece, two = *piece;

    first.begin -= piece->skip;
    if (from <= piece->body.begin)
        from = piece->body.begin + 1;
    if (from < first.end)
        CV_TRY(cv_source_cut(source, piece->file, first.begin, first.end, from,
                             &first.end, err));
    second.begin = first.end;
    if (second.begin < second.end) {
        CV_TRY(cv_source_make(source, piece->file, first, &one, err));
        CV_TRY(cv_source_make(source, piece->file, second, &two, err));
    } else {
        two.body = (struct cv_range){ piece->body.end, piece->body.end };
        two.begin = piece->end;
        two.skip = 0;
        two.header = (struct cv_range){ 0, 0 };
        two.closing = CV_CLOSING_NONE;
        two.mate.begin = two.mate.end;
    }
    *head = one;
    *tail = two;
    return CLEAVE_OK;
}

enum cleave_status cv_source_put_back(struct cv_source *source,
                                      const struct cv_piece *piece,
                                      struct cleave_error *err)
{
    CV_TRY(cv_range_set_put(&source->pending, piece->begin, piece->end, err));
    cv_source_at_work(source, piece, false);
    return CLEAVE_OK;
}

enum cleave_status cv_source_finish(struct cv_source *source,
                                    const struct cv_piece *piece,
                                    struct cleave_error *err)
{
    if (source->stream != NULL && piece->begin < piece->end)
        return cv_stream_finish(source->stream, piece->begin, piece->end, err);
    cv_source_at_work(source, piece, false);
    if (source->items != NULL && source->items->over != NULL)
        for (uint64_t item = piece->begin; item < piece->end; item++)
            source->items->over(source->items->context, item);
    return CLEAVE_OK;
}

/* --- streams ------------------------------------------------------------------------------ */

int cv_source_poll_fd(const struct cv_source *source)
{
    if (source->items_come)
        return source->items->comes(source->items->context);
    return source->stream != NULL && source->stream->polls ? source->stream->fd : -1;
}

bool cv_source_wants(const struct cv_source *source)
{
    if (source->items_come)
        return cv_range_set_total(&source->pending) < source->items_hold;
    return source->stream != NULL && !source->stream->ended &&
           !cv_stream_full(source->stream);
}

bool cv_source_flows(const struct cv_source *source)
{
    return source->stream != NULL && source->stream->polls && cv_source_wants(source);
}

enum cleave_status cv_source_pump(struct cv_source *source, struct cleave_error *err)
{
    if (!cv_source_wants(source))
        return CLEAVE_OK;
    if (source->items_come)
        return cv_source_items_pump(source, err);
    CV_TRY(cv_stream_read(source->stream, err));
    return cv_stream_settle(source, err);
}

/* --- what an earlier run has finished ---------------------------------------------- */

enum cleave_status cv_source_know(struct cv_source *source, size_t file, uint64_t begin,
                                  uint64_t end, uint64_t tag, struct cleave_error *err)
{
    const size_t nfiles = source->stream != NULL ? 1 : source->nfiles;
    const struct cv_source_known *last =
        source->nknown > 0 ? &source->known[source->nknown - 1] : NULL;

    if (file >= nfiles || begin >= end ||
        (last != NULL &&
         (file < last->file || (file == last->file && begin < last->end))))
        return cv_fail(err, CLEAVE_EENGINE,
                       "expected finished ranges of the %zu inputs in order, got one of "
                       "input %zu that is not",
                       nfiles, file + 1);
    if (!CV_ROOM(source->known, &source->known_capacity, source->nknown + 1))
        return cv_fail_memory(err, "a list of finished ranges");
    source->known[source->nknown++] =
        (struct cv_source_known){ .file = file, .begin = begin, .end = end, .tag = tag };
    return CLEAVE_OK;
}

static enum cleave_status is_boundary(struct cv_source *source, size_t index,
                                      uint64_t offset, bool *out,
                                      struct cleave_error *err)
{
    uint64_t cut = offset;

    if (offset > 0 && offset < source->files[index].size)
        CV_TRY(cv_source_cut(source, index, offset - 1, source->files[index].size, offset,
                             &cut, err));
    *out = cut == offset && offset <= source->files[index].size;
    return CLEAVE_OK;
}

/* Whether a known range of a regular file is whole records. If so, take it. */
static enum cleave_status judge_file(struct cv_source *source,
                                     const struct cv_source_known *known, bool *out,
                                     struct cv_piece *piece, struct cleave_error *err)
{
    bool begins, ends;

    CV_TRY(cv_source_use(source, known->file, err));
    CV_TRY(is_boundary(source, known->file, known->begin, &begins, err));
    CV_TRY(is_boundary(source, known->file, known->end, &ends, err));
    *out = begins && ends;
    if (!*out)
        return CLEAVE_OK;
    CV_TRY(cv_source_make(source, known->file,
                          (struct cv_range){ known->begin, known->end }, piece, err));
    CV_TRY(cv_range_set_remove(&source->pending, piece->begin, piece->end, err));
    cv_source_at_work(source, piece, true);
    return CLEAVE_OK;
}

enum cleave_status cv_source_known(struct cv_source *source, enum cv_known *state,
                                   struct cv_piece *piece, uint64_t *tag,
                                   struct cleave_error *err)
{
    const struct cv_source_known *known;
    struct cv_piece found = { .fd = -1, .mate_fd = -1 };
    bool whole;

    if (source->next_known == source->nknown) {
        *state = CV_KNOWN_END;
        return CLEAVE_OK;
    }
    known = &source->known[source->next_known];
    if (source->stream != NULL && !known->judged) {
        *state = CV_KNOWN_WAIT;
        return CLEAVE_OK;
    }
    whole = !known->broken;
    if (source->stream == NULL)
        CV_TRY(judge_file(source, known, &whole, &found, err));
    else if (whole)
        CV_TRY(cv_source_make(source, 0, (struct cv_range){ known->begin, known->end },
                              &found, err));
    if (!whole) {
        found.file = known->file;
        found.name = source->stream != NULL ? source->stream->name
                                            : source->files[known->file].name;
        found.body = (struct cv_range){ known->begin, known->end };
    }
    *state = whole ? CV_KNOWN_PIECE : CV_KNOWN_BROKEN;
    *piece = found;
    *tag = known->tag;
    source->next_known++;
    return CLEAVE_OK;
}

/* --- what there is to know of a source: sizes, records, identity ------------------- */

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
