/* source.c -- the input of a run, handed out in pieces. SPDX-License-Identifier: MIT */
#include "run/input/source.h"

#include <stdlib.h>
#include <string.h>
#include <cleave/execute.h>

#include "base/fail.h"
#include "run/fetch/fetch_command.h"
#include "run/input/source_internal.h"
#include "run/split/split_group.h"

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
