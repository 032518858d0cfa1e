/* source_packed.c -- compressed files of a source, and their blocks for hosts that decode them.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/fail.h"
#include "run/common/piece_part.h"
#include "run/decode/decoded_file.h"
#include "run/fetch/fetch.h"
#include "run/input/magic.h"
#include "run/input/source_kind.h"
#include "run/split/split_kind.h"

enum {
    LARGE = 4 << 20, /* bytes of a compressed file that take noticeable time to decode */
    STEP = 64 * 1024,
    MAX_WASTE = 128 * 1024, /* decoded bytes before a piece that a host may discard */
    MAX_LOOK = 1 << 20, /* bytes that are decoded here to send less of the last block   */
    SPARE = 64 * 1024,  /* bytes of the file that a decoder may read ahead              */
    APART = 64 * 1024,  /* bytes of the file between listed blocks of BGZF              */
};

/* --- opening -------------------------------------------------------------------------------- */

/* A BGZF file ends with an empty block. Without it, the writer was probably stopped between two
 * blocks, which no decoder can notice. */
static bool lacks_eof_block(const struct cv_codec *codec, int fd, uint64_t size)
{
    static const uint8_t end[28] =
        "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03";
    uint8_t bytes[sizeof end];

    return codec == &cv_codec_bgzf && size >= sizeof end &&
           pread(fd, bytes, sizeof bytes, (off_t)(size - sizeof end)) ==
               (ssize_t)sizeof bytes &&
           memcmp(bytes, end, sizeof end) != 0;
}

/* The format that the file is to be decoded from; NULL: none. */
static enum cleave_status find_codec(struct cv_source_file *file, int fd,
                                     const struct cv_source_options *options,
                                     const struct cv_codec **out,
                                     struct cleave_error *err)
{
    char bytes[CV_MAGIC_LOOK];
    const ssize_t got = pread(fd, bytes, sizeof bytes, 0);
    const struct cv_magic *magic;
    bool undecided;

    *out = NULL;
    if (got < 0)
        return cv_source_cannot_read(file->name, err);
    if (got > 0 && options->codec != NULL) {
        *out = options->codec;
        return cv_magic_check_codec(options->codec, bytes, (size_t)got, file->name, err);
    }
    magic = cv_magic_find(bytes, (size_t)got, &undecided);
    *out = magic != NULL ? cv_magic_codec(magic) : NULL;
    file->around = *out != NULL ? magic : NULL;
    return CLEAVE_OK;
}

static enum cleave_status unpack(struct cv_source_file *file, int fd,
                                 const struct cv_source_options *options, bool alone,
                                 bool *as_stream, struct cleave_error *err)
{
    /* A piece of a stream that is framed is held until it is complete. */
    const bool sized = options->sized && !cv_splitter_frames(options->splitter);
    struct cv_blocks blocks = { .items = NULL };
    const struct cv_codec *codec;
    enum cleave_status status;
    bool found;

    CV_TRY(find_codec(file, fd, options, &codec, err));
    if (codec == NULL)
        return CLEAVE_OK;
    if (options->splitter->record_bytes > 0 && options->codec == NULL)
        return cv_magic_refuse_fixed(codec, file->name, err);
    found = cv_blocks_find(&blocks, codec, fd, file->size);
    file->unended = found && lacks_eof_block(codec, fd, file->size);
    alone = alone && !(options->sized && file->size < LARGE);
    *as_stream = alone && (!found || blocks.count < 2);
    if (found && blocks.count == 1 && file->size >= LARGE)
        file->lone = codec;
    status = found || (alone && !sized)
                 ? CLEAVE_OK
                 : cv_blocks_scan(&blocks, codec, fd, file->name, err);
    file->foretold = *as_stream && sized;
    file->foretold_bytes = blocks.out_end;
    if (status == CLEAVE_OK && !*as_stream)
        status = cv_decoded_file_new(codec, file->name, &blocks, &file->decoded, err);
    cv_blocks_done(&blocks);
    if (status == CLEAVE_OK && !*as_stream) {
        file->packed_size = file->size;
        file->size = file->decoded->blocks.out_end;
    }
    return status;
}

enum cleave_status cv_source_file_unpack(struct cv_source_file *file,
                                         const struct cv_source_options *options,
                                         bool alone, bool *as_stream,
                                         struct cleave_error *err)
{
    enum cleave_status status;
    int fd;

    if (options->raw)
        return CLEAVE_OK;
    fd = file->borrowed ? STDIN_FILENO : open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cv_source_cannot_read(file->name, err);
    status = unpack(file, fd, options, alone, as_stream, err);
    if (!file->borrowed)
        close(fd);
    return status;
}

/* One decoder for all workers looks like a slow run: advise a better compression. Blocks within
 * a frame of lz4 are decoded in parallel. */
bool cv_source_lone(const struct cv_source *source, struct cleave_error *note)
{
    static const struct {
        const struct cv_codec *codec;
        const char *advice;
    } rows[] = {
        { &cv_codec_xz, "one block of xz, which one core decodes: 'xz -T0' writes blocks "
                        "that are decoded side by side" },
        { &cv_codec_zstd,
          "one frame of zstd, which one core decodes: 'pzstd' writes frames "
          "that are decoded side by side" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (source->stream != NULL && source->files->lone == rows[i].codec) {
            (void)cv_fail(note, CLEAVE_EINPUT, "%s: %s", source->files->name,
                          rows[i].advice);
            return true;
        }
    return false;
}

bool cv_source_unended(const struct cv_source *source, struct cleave_error *note)
{
    const char *name = NULL;
    size_t others = 0;
    char more[40] = "";

    for (size_t i = 0; i < source->nfiles; i++) {
        if (!source->files[i].unended)
            continue;
        others += name != NULL;
        name = name != NULL ? name : source->files[i].name;
    }
    if (name == NULL)
        return false;
    if (others > 0)
        snprintf(more, sizeof more, " (and of %zu other%s)", others,
                 others == 1 ? "" : "s");
    (void)cv_fail(note, CLEAVE_EINPUT,
                  "%s: its BGZF EOF block is missing%s: the file may be truncated", name,
                  more);
    return true;
}

/* --- damaged files ------------------------------------------------------------------------------ */

/* The end of the last complete record. */
static enum cleave_status find_last_record(struct cv_source_file *file, uint64_t *out,
                                           struct cleave_error *err)
{
    uint64_t step = STEP, found = 0, next = 0;
    enum cv_closing closing;

    CV_TRY(cv_cut_file_closing(&file->cut, &closing, err));
    if (file->cut.splitter->kind->ends_in_byte && closing == CV_CLOSING_NONE) {
        *out = file->size;
        return CLEAVE_OK;
    }
    /* Search back until a record begins before the end. */
    for (;;) {
        const uint64_t from = file->size > step ? file->size - step : 0;

        CV_TRY(cv_cut_file_at(&file->cut, from, &found, err));
        if (found < file->size || from == 0)
            break;
        step *= 4;
    }
    while (next < file->size) {
        *out = found;
        CV_TRY(cv_cut_file_at(&file->cut, found + 1, &next, err));
        found = next;
    }
    return CLEAVE_OK;
}

/* Let a file end before the damage. */
static enum cleave_status shorten(struct cv_source *source, struct cv_source_file *file,
                                  uint64_t good_end, struct cleave_error *err)
{
    const uint64_t record = source->splitter->record_bytes;
    uint64_t end = good_end;

    CV_TRY(cv_source_file_use(file, source->splitter, err));
    cv_cut_file_done(&file->cut);
    cv_source_file_cut(file, source->splitter, good_end);
    if (record > 0)
        end -= end % record;
    else if (end > 0)
        CV_TRY(find_last_record(file, &end, err));
    cv_cut_file_done(&file->cut);
    cv_source_file_cut(file, source->splitter, end);
    /* Outputs are in order: none after the damage could be written. */
    source->total_good = file->base + end;
    return CLEAVE_OK;
}

bool cv_source_shorten(struct cv_source *source, const struct cv_range_set *left)
{
    struct cv_range range;
    bool some = false;

    if (source->mate != NULL)
        return false;
    for (size_t i = 0; i < source->nfiles && !some; i++) {
        struct cv_source_file *file = &source->files[i];
        struct cleave_error damage;
        uint64_t good_end;

        file->in_use = 0;
        if (file->decoded == NULL ||
            !cv_decoded_file_damaged(file->decoded, &good_end, &damage) ||
            good_end >= file->size)
            continue;
        if (shorten(source, file, good_end, NULL) != CLEAVE_OK)
            return false;
        source->damage = damage;
        source->shortened = some = true;
    }
    if (!some ||
        cv_range_set_remove(&source->pending, 0, source->total, NULL) != CLEAVE_OK)
        return false;
    for (uint64_t at = 0; cv_range_set_find(left, at, &range); at = range.end) {
        const uint64_t end =
            range.end < source->total_good ? range.end : source->total_good;

        if (range.begin < end &&
            cv_range_set_put(&source->pending, range.begin, end, NULL) != CLEAVE_OK)
            return false;
    }
    cv_source_weights_recount(source);
    return true;
}

/* --- blocks of pieces ----------------------------------------------------------------------- */

static const struct cv_source_file *file_of(const struct cv_source *source,
                                            const struct cv_piece *piece)
{
    return &source->files[piece->file];
}

static const struct cv_blocks *blocks_of(const struct cv_source *source,
                                         const struct cv_piece *piece)
{
    return &file_of(source, piece)->decoded->blocks;
}

bool cv_source_unpacked(const struct cv_source *source, const struct cv_piece *piece)
{
    const struct cv_decoded_file *decoded;
    const struct cv_blocks *blocks;
    const struct cv_block *block;

    if (source->stream != NULL || piece->mate_fd >= 0 ||
        piece->closing == CV_CLOSING_TEXT || piece->body.begin >= piece->body.end)
        return false;
    decoded = file_of(source, piece)->decoded;
    if (decoded == NULL)
        return false;
    blocks = &decoded->blocks;
    if (piece->body.begin >= blocks->out_end)
        return false;
    block = &blocks->items[cv_blocks_at(blocks, piece->body.begin)];
    /* A member of xz that was found by decoding cannot be decoded as a block. */
    return (decoded->codec != &cv_codec_xz || block->head != block->in) &&
           /* The host would not notice that a table does not fit its frames. */
           cv_blocks_verify_table(blocks, decoded->fd, piece->body.begin,
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
    if (source->stream != NULL || piece->mate_fd >= 0 ||
        file_of(source, piece)->fetched == NULL || piece->closing == CV_CLOSING_TEXT)
        return NULL;
    *name = file_of(source, piece)->name;
    *size = file_of(source, piece)->size;
    return file_of(source, piece)->fetched->line;
}

const char *cv_source_form(const struct cv_source *source, const struct cv_piece *piece)
{
    return file_of(source, piece)->decoded->codec->name;
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
    const ssize_t got = pread(decoded->fd, to, CV_PACKED_HEAD, (off_t)at);

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
    const struct cv_codec *codec = decoded->codec;
    const struct cv_blocks *from = &decoded->blocks;
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
    struct cv_lazy_reader *reader = &file_of(source, piece)->decoded->reader;
    uint64_t at = piece->body.begin;
    char bytes[16 * 1024];
    size_t got = 1;

    while (at < piece->body.end && got > 0) {
        CV_TRY(reader->read(reader, at, bytes, sizeof bytes, &got, err));
        at += got;
    }
    return CLEAVE_OK;
}
