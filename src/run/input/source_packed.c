/* source_packed.c -- the compressed bytes that a piece of a source is decoded from.
 * SPDX-License-Identifier: MIT
 *
 * For hosts that decode their pieces themselves. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/fail.h"
#include "run/common/lazy_reader.h"
#include "run/decode/decoded_file.h"
#include "run/fetch/fetch.h"
#include "run/input/source_internal.h"

enum {
    MAX_WASTE =
        128 * 1024,     /* decoded bytes before a piece that a host may decode in vain  */
    MAX_LOOK = 1 << 20, /* bytes that are decoded here to send less of the last block   */
    SPARE = 64 * 1024,  /* bytes of the file that a decoder may read ahead              */
    APART = 64 * 1024,  /* bytes of the file between listed blocks of BGZF              */
};

static const struct cv_source_file *file_of(const struct cv_source *source,
                                            const struct cv_piece *piece)
{
    return &source->files[piece->file];
}

static const struct cv_blocks *blocks_of(const struct cv_source *source,
                                         const struct cv_piece *piece)
{
    return cv_decoded_file_blocks(file_of(source, piece)->decoded);
}

bool cv_source_unpacked(const struct cv_source *source, const struct cv_piece *piece)
{
    const struct cv_decoded_file *decoded;
    const struct cv_blocks *blocks;
    const struct cv_block *block;

    if (source->stream != NULL || source->nfiles == 0 || piece->mate_fd >= 0 ||
        piece->closing == CV_CLOSING_TEXT || piece->body.begin >= piece->body.end)
        return false;
    decoded = file_of(source, piece)->decoded;
    if (decoded == NULL)
        return false;
    blocks = cv_decoded_file_blocks(decoded);
    if (piece->body.begin >= blocks->out_end)
        return false;
    block = &blocks->items[cv_blocks_at(blocks, piece->body.begin)];
    /* A member of xz that was found by decoding cannot be decoded as a block. */
    return (cv_decoded_file_codec(decoded) != &cv_codec_xz || block->head != block->in) &&
           /* The host would not notice that a table does not fit its frames. */
           cv_blocks_verify_table(blocks, cv_decoded_file_fd(decoded), piece->body.begin,
                                  piece->body.end);
}

bool cv_source_packs(const struct cv_source *source, const struct cv_piece *piece)
{
    const struct cv_blocks *blocks;

    if (!cv_source_unpacked(source, piece))
        return false;
    blocks = blocks_of(source, piece);
    return piece->body.begin -
               blocks->items[cv_blocks_at(blocks, piece->body.begin)].out <=
           MAX_WASTE;
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
    const struct cv_blocks *blocks = blocks_of(source, piece);
    const size_t next = cv_blocks_at(blocks, piece->body.end - 1) + 1;

    return (struct cv_range){ blocks->items[cv_blocks_at(blocks, piece->body.begin)].in,
                              next < blocks->count
                                  ? blocks->items[next].in
                                  : file_of(source, piece)->packed_size };
}

struct cv_range cv_source_cover(struct cv_source *source, const struct cv_piece *piece)
{
    const struct cv_blocks *blocks = blocks_of(source, piece);
    const size_t last = cv_blocks_at(blocks, piece->body.end - 1);
    const uint64_t begin = blocks->items[last].out;
    struct cv_range in = cv_source_span(source, piece);
    uint64_t read;

    if (piece->body.end - begin < MAX_LOOK &&
        piece->body.end - begin < (cv_block_out_end(blocks, last) - begin) / 2 &&
        in.end - blocks->items[last].in > (uint64_t)2 * SPARE &&
        cv_decoded_file_look(file_of(source, piece)->decoded, piece->body.end - 1,
                             &read) == CLEAVE_OK &&
        read + SPARE < in.end)
        in.end = read + SPARE;
    return in;
}

/* The last block that begins at or before a byte of the file; the first if none does. */
static size_t block_at(const struct cv_blocks *blocks, uint64_t in)
{
    size_t n;

    CV_BISECT(n, blocks->count, i, blocks->items[i].in <= in);
    return n > 0 ? n - 1 : 0;
}

uint64_t cv_source_unpacks(const struct cv_source *source, const struct cv_piece *piece,
                           uint64_t in)
{
    const struct cv_blocks *blocks = blocks_of(source, piece);

    return blocks->items[block_at(blocks, in)].out;
}

uint64_t cv_source_touches(const struct cv_source *source, const struct cv_piece *piece,
                           uint64_t in)
{
    const struct cv_blocks *blocks = blocks_of(source, piece);

    return in > 0 ? cv_block_out_end(blocks, block_at(blocks, in - 1)) : 0;
}

size_t cv_source_first_block(const struct cv_source *source, const struct cv_piece *piece)
{
    return cv_blocks_at(blocks_of(source, piece), piece->body.begin);
}

static enum cleave_status read_head(const struct cv_decoded_file *decoded, uint64_t at,
                                    uint8_t to[CV_PACKED_HEAD], struct cleave_error *err)
{
    const ssize_t got = pread(cv_decoded_file_fd(decoded), to, CV_PACKED_HEAD, (off_t)at);

    return got == CV_PACKED_HEAD
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EENGINE, "cannot read the head of a stream: %s",
                         got < 0 ? strerror(errno) : "the file has become shorter");
}

enum cleave_status cv_source_blocks(const struct cv_source *source,
                                    const struct cv_piece *piece, uint64_t in,
                                    size_t *next, struct cv_packed_block *blocks,
                                    size_t max, size_t *count, uint64_t *out_end,
                                    struct cleave_error *err)
{
    const struct cv_decoded_file *decoded = file_of(source, piece)->decoded;
    const struct cv_codec *codec = cv_decoded_file_codec(decoded);
    const struct cv_blocks *from = cv_decoded_file_blocks(decoded);
    uint64_t before = 0;

    *count = 0;
    for (; *count < max && *next < from->count && from->items[*next].in < in; ++*next) {
        const struct cv_block *block = &from->items[*next];

        if (codec == &cv_codec_bgzf && *count > 0 && block->in - before < APART)
            continue;
        blocks[*count] = (struct cv_packed_block){ .in = block->in, .out = block->out };
        if (codec == &cv_codec_xz)
            CV_TRY(read_head(decoded, block->head, blocks[*count].head, err));
        before = block->in;
        ++*count;
    }
    *out_end = *next > 0 ? cv_block_out_end(from, *next - 1) : 0;
    return CLEAVE_OK;
}

enum cleave_status cv_source_try(struct cv_source *source, const struct cv_piece *piece,
                                 struct cleave_error *err)
{
    struct cv_lazy_reader *reader =
        cv_decoded_file_reader(file_of(source, piece)->decoded);
    uint64_t at = piece->body.begin;
    char bytes[16 * 1024];
    size_t got = 1;

    while (at < piece->body.end && got > 0) {
        CV_TRY(reader->read(reader, at, bytes, sizeof bytes, &got, err));
        at += got;
    }
    return CLEAVE_OK;
}
