/* source_pieces.c -- pieces made of ranges of a file. SPDX-License-Identifier: MIT */
#include "run/input/source_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/decode/decoded_file.h"
#include "run/split/split_kind.h"

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
