/* piece_list.c -- where an input is cut into files. SPDX-License-Identifier: MIT */
#include "run/pieces/piece_list.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"

void cv_piece_list_done(struct cv_piece_list *list)
{
    free(list->parts);
    free(list->files);
    *list = (struct cv_piece_list){ 0 };
}

static enum cleave_status add_file(struct cv_piece_list *list, uint64_t begin,
                                   struct cleave_error *err)
{
    if (!CV_ROOM(list->files, &list->files_capacity, list->nfiles + 1))
        return cv_fail_memory(err, "a list of pieces");
    list->files[list->nfiles++] =
        (struct cv_planned_file){ .first = list->nparts, .begin = begin, .end = begin };
    return CLEAVE_OK;
}

/* Put a piece behind what the last file has. */
static enum cleave_status add_part(struct cv_piece_list *list,
                                   const struct cv_pieces_options *options,
                                   const struct cv_piece *piece, struct cleave_error *err)
{
    struct cv_planned_file *file = &list->files[list->nfiles - 1];
    struct cv_piece_part part = { piece->file, piece->header, piece->body,
                                  cv_piece_closing(piece) };
    uint64_t header;

    /* A file has its header once, whatever it is made of. */
    if (file->count > 0 && options->header) {
        CV_TRY(cv_source_header_end(options->source, piece->file, &header, err));
        part.header = (struct cv_range){ 0, 0 };
        if (part.body.begin < header && header <= part.body.end)
            part.body.begin = header;
    }
    if (!CV_ROOM(list->parts, &list->parts_capacity, list->nparts + 1))
        return cv_fail_memory(err, "a list of pieces");
    list->parts[list->nparts++] = part;
    file->count++;
    file->end = piece->end;
    file->bytes += part.header.end - part.header.begin + part.body.end - part.body.begin +
                   part.closing.end;
    return CLEAVE_OK;
}

/* Where the file that begins at `begin` is to end, at the earliest. */
static uint64_t target(const struct cv_pieces_options *options, uint64_t total,
                       uint64_t number, uint64_t begin)
{
    if (options->count > 0)
        return (uint64_t)((unsigned __int128)total * number / options->count);
    return options->size > 0 && options->size < total - begin ? begin + options->size
           : options->size > 0                                ? total
                                                              : begin + 1;
}

enum cleave_status cv_piece_list_find(const struct cv_pieces_options *options,
                                      struct cv_piece_list *out, struct cleave_error *err)
{
    const uint64_t total = cv_source_extent(options->source);
    uint64_t at = 0;

    *out = (struct cv_piece_list){ 0 };
    while (at < total || out->nfiles < options->count) {
        uint64_t end;

        CV_TRY(add_file(out, at, err));
        end = target(options, total, out->nfiles, at);
        while (at < end) {
            enum cv_take state;
            struct cv_piece piece;

            CV_TRY(cv_source_take(options->source, end - at, &state, &piece, err));
            if (state != CV_TAKE_PIECE)
                return cv_fail(err, CLEAVE_EACCOUNT, "the input ended too soon");
            CV_TRY(add_part(out, options, &piece, err));
            CV_TRY(cv_source_finish(options->source, &piece, err));
            at = piece.end;
        }
    }
    return CLEAVE_OK;
}
