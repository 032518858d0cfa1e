/* source_packed.c -- pieces of compressed files, as they lie there. SPDX-License-Identifier: MIT */
#include "run/input/source_packed.h"

#include "run/decode/block_cover.h"
#include "run/fetch/fetched.h"
#include "run/input/source_internal.h"
#include "run/common/piece_part.h"
#include "base/fail.h"

static const struct cv_source_file *file_of(const struct cv_source *source,
                                            const struct cv_piece *piece)
{
    return &source->files[piece->file];
}

bool cv_source_packs(const struct cv_source *source, const struct cv_piece *piece)
{
    return cv_source_unpacked(source, piece) &&
           cv_cover_begins(file_of(source, piece)->decoded, piece->body.begin);
}

bool cv_source_unpacked(const struct cv_source *source, const struct cv_piece *piece)
{
    return source->stream == NULL && source->nfiles > 0 &&
           file_of(source, piece)->decoded != NULL && piece->mate_fd < 0 &&
           piece->closing != CV_CLOSING_TEXT && piece->body.begin < piece->body.end &&
           cv_cover_holds(file_of(source, piece)->decoded, piece->body.begin) &&
           /* Over there nobody sees whether a table fits its frames. */
           cv_blocks_proven(cv_decoded_file_blocks(file_of(source, piece)->decoded),
                            cv_decoded_file_fd(file_of(source, piece)->decoded),
                            piece->body.begin, piece->body.end);
}

const char *cv_source_fetches(const struct cv_source *source,
                              const struct cv_piece *piece, const char **name,
                              uint64_t *size)
{
    if (source->stream != NULL || source->nfiles == 0 || piece->mate_fd >= 0 ||
        file_of(source, piece)->fetched == NULL || piece->closing == CV_CLOSING_TEXT)
        return NULL;
    *name = file_of(source, piece)->name;
    *size = file_of(source, piece)->size;
    return cv_fetched_line(file_of(source, piece)->fetched);
}

const char *cv_source_form(const struct cv_source *source, const struct cv_piece *piece)
{
    return cv_decoded_file_codec(file_of(source, piece)->decoded)->name;
}

struct cv_range cv_source_span(const struct cv_source *source,
                               const struct cv_piece *piece)
{
    const struct cv_source_file *file = file_of(source, piece);

    return cv_cover_span(file->decoded, piece->body, file->packed_size);
}

struct cv_range cv_source_cover(struct cv_source *source, const struct cv_piece *piece)
{
    const struct cv_source_file *file = file_of(source, piece);

    return cv_cover_find(file->decoded, piece->body, file->packed_size);
}

uint64_t cv_source_unpacks(const struct cv_source *source, const struct cv_piece *piece,
                           uint64_t in)
{
    return cv_cover_whole(file_of(source, piece)->decoded, in);
}

uint64_t cv_source_touches(const struct cv_source *source, const struct cv_piece *piece,
                           uint64_t in)
{
    return cv_cover_touched(file_of(source, piece)->decoded, in);
}

size_t cv_source_first_block(const struct cv_source *source, const struct cv_piece *piece)
{
    return cv_cover_index(file_of(source, piece)->decoded, piece->body.begin);
}

enum cleave_status cv_source_blocks(const struct cv_source *source,
                                    const struct cv_piece *piece, uint64_t in,
                                    size_t *next, struct cv_packed_block *blocks,
                                    size_t max, size_t *count, uint64_t *out_end,
                                    struct cleave_error *err)
{
    return cv_cover_list(file_of(source, piece)->decoded, in, next, blocks, max, count,
                         out_end, err);
}

enum cleave_status cv_source_try(struct cv_source *source, const struct cv_piece *piece,
                                 struct cleave_error *err)
{
    struct cv_lazy_reader *well = cv_decoded_file_well(file_of(source, piece)->decoded);
    uint64_t at = piece->body.begin;
    char bytes[16 * 1024];
    size_t got = 1;

    while (at < piece->body.end && got > 0) {
        CV_TRY(well->read(well, at, bytes, sizeof bytes, &got, err));
        at += got;
    }
    return CLEAVE_OK;
}
