/* decoded_file.c -- a compressed file, read at offsets of its decoded bytes.
 * SPDX-License-Identifier: MIT */
#include "run/decode/decoded_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "run/common/pipe_writer.h"
#include "run/decode/formats.h"

enum { XZ_HEAD = CV_PACKED_HEAD, SMALL = 128 * 1024, NEAR = 16 * 1024 };

struct flow {
    struct cv_writer_thread threaded; /* first */
    struct cv_decode_cursor cursor;
    uint64_t begin, end;
};

/* --- cursors -------------------------------------------------------------------------------- */

/* Read of the decoder: a block of xz is preceded by the header of its stream. */
static ssize_t read_input(void *context, void *to, size_t max)
{
    struct cv_decode_cursor *cursor = context;
    ssize_t got;

    if (cursor->head_left > 0) {
        const size_t some = cursor->head_left < max ? cursor->head_left : max;
        const unsigned done = XZ_HEAD - cursor->head_left;

        got = (ssize_t)some;
        if (cursor->head_bytes != NULL)
            memcpy(to, cursor->head_bytes + done, some);
        else
            got = pread(cursor->file->fd, to, some, (off_t)(cursor->head + done));
        cursor->head_left -= got > 0 ? (unsigned)got : 0;
        return got;
    }
    got = pread(cursor->file->fd, to, max, (off_t)cursor->in);
    cursor->in += got > 0 ? (uint64_t)got : 0;
    return got;
}

static void close_cursor(struct cv_decode_cursor *cursor)
{
    cv_decoder_free(cursor->decoder);
    cursor->decoder = NULL;
    cursor->length = 0;
}

static enum cleave_status open_cursor(struct cv_decode_cursor *cursor, size_t index,
                                      struct cleave_error *err)
{
    const struct cv_decoded_file *file = cursor->file;
    const struct cv_block *block = &file->blocks.items[index];
    const bool xz = file->codec == &cv_codec_xz && block->head != block->in;
    const struct cv_decoder_input input = { .read = read_input,
                                            .context = cursor,
                                            .name = file->name,
                                            .offset = block->in - (xz ? XZ_HEAD : 0),
                                            .made = block->out };

    close_cursor(cursor);
    cursor->head = block->head;
    cursor->head_left = xz ? XZ_HEAD : 0;
    cursor->head_bytes = file->heads != NULL ? file->heads[index] : NULL;
    cursor->in = block->in;
    cursor->out = block->out;
    cursor->end = xz ? cv_block_out_end(&file->blocks, index) : file->blocks.out_end;
    return cv_decoder_open(xz ? &cv_codec_xz_block : file->codec, &input,
                           &cursor->decoder, err);
}

/* Whether a block has ended where the table of the file says, if there is one. */
static bool agrees_with_table(const struct cv_decode_cursor *cursor, uint64_t end)
{
    const struct cv_blocks *blocks = &cursor->file->blocks;

    return blocks->table_end == 0 ||
           cv_decoder_at(cursor->decoder) ==
               (end < blocks->out_end ? blocks->items[cv_blocks_at(blocks, end)].in
                                      : blocks->table_end);
}

static enum cleave_status next_bytes(struct cv_decode_cursor *cursor,
                                     struct cleave_error *err)
{
    const struct cv_blocks *blocks = &cursor->file->blocks;
    const void *bytes;
    size_t length;
    uint64_t end;

    cursor->out += cursor->length;
    cursor->length = 0;
    if (cursor->out == cursor->end && cursor->end < blocks->out_end)
        CV_TRY(open_cursor(cursor, cv_blocks_at(blocks, cursor->out), err));
    CV_TRY(cv_decoder_next(cursor->decoder, &bytes, &length, err));
    if (length == 0)
        return cv_fail_at(err, CV_FILE(cursor->file->name),
                          "damaged: expected %" PRIu64 " decoded bytes, got %" PRIu64,
                          blocks->out_end, cursor->out);
    cursor->bytes = bytes;
    cursor->length = length;
    end = cv_block_out_end(blocks, cv_blocks_at(blocks, cursor->out));
    /* The end of a block is given out after its checksum was verified. */
    if (cursor->out + length == end) {
        CV_TRY(cv_decoder_finish(cursor->decoder, err));
        if (!agrees_with_table(cursor, end))
            return cv_fail_at(err, CV_FILE(cursor->file->name),
                              "damaged: the table of its frames does not fit them, at "
                              "%" PRIu64 " of the bytes that are decoded",
                              end);
    }
    return cursor->out + length <= end ||
                   blocks->grain > 0 /* not all blocks are listed */
               ? CLEAVE_OK
               : cv_fail_at(err, CV_FILE(cursor->file->name),
                            "damaged: a block holds more bytes than it says, at %" PRIu64
                            " of those that are decoded",
                            end);
}

/* All bytes before the block are good. */
static void note_damage(const struct cv_decode_cursor *cursor, enum cleave_status status,
                        const struct cleave_error *err)
{
    struct cv_decoded_file *file = cursor->file;
    const uint64_t begin =
        file->blocks.items[cv_blocks_at(&file->blocks, cursor->out)].out;

    if (status != CLEAVE_EINPUT)
        return;
    pthread_mutex_lock(&file->lock);
    if (begin < file->good_end) {
        file->good_end = begin;
        file->damage = *err;
    }
    pthread_mutex_unlock(&file->lock);
}

bool cv_decoded_file_damaged(struct cv_decoded_file *decoded, uint64_t *good_end,
                             struct cleave_error *err)
{
    bool damaged;

    pthread_mutex_lock(&decoded->lock);
    damaged = decoded->good_end < decoded->blocks.out_end;
    *good_end = decoded->good_end;
    if (damaged)
        *err = decoded->damage;
    pthread_mutex_unlock(&decoded->lock);
    return damaged;
}

/* Decode until `bytes` include the byte at `offset`, which is before the end. */
static enum cleave_status seek(struct cv_decode_cursor *cursor, uint64_t offset,
                               struct cleave_error *err)
{
    const size_t index = cv_blocks_at(&cursor->file->blocks, offset);
    const uint64_t begin = cursor->file->blocks.items[index].out;

    if (cursor->decoder == NULL || offset < cursor->out ||
        begin > cursor->out + cursor->length)
        CV_TRY(open_cursor(cursor, index, err));
    while (offset >= cursor->out + cursor->length) {
        struct cleave_error why;
        const enum cleave_status status = next_bytes(cursor, &why);

        if (status != CLEAVE_OK) {
            note_damage(cursor, status, &why);
            close_cursor(cursor);
            return cv_fail_again(err, &why);
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status read_at(struct cv_lazy_reader *reader, uint64_t offset,
                                  void *out, size_t max, size_t *got,
                                  struct cleave_error *err)
{
    struct cv_decoded_file *decoded = (struct cv_decoded_file *)reader;
    const struct cv_decode_cursor *cursor = &decoded->cursor;
    size_t some;

    *got = 0;
    if (offset >= decoded->blocks.out_end || max == 0)
        return CLEAVE_OK;
    CV_TRY(seek(&decoded->cursor, offset, err));
    some = (size_t)(cursor->out + cursor->length - offset);
    *got = some < max ? some : max;
    memcpy(out, cursor->bytes + (offset - cursor->out), *got);
    return CLEAVE_OK;
}

/* --- flows ---------------------------------------------------------------------------------- */

/* Bytes of a flow without a thread (lazy_reader.h). */
static enum cleave_status give(struct cv_writer_thread *threaded, uint64_t at,
                               const char **bytes, size_t *length,
                               struct cleave_error *err)
{
    struct cv_decode_cursor *cursor = &((struct flow *)threaded)->cursor;

    CV_TRY(seek(cursor, at, err));
    *bytes = cursor->bytes + (at - cursor->out);
    *length = (size_t)(cursor->out + cursor->length - at);
    return CLEAVE_OK;
}

static enum cleave_status work(struct cv_writer_thread *threaded,
                               struct cleave_error *err)
{
    const struct flow *flow = (const struct flow *)threaded;
    uint64_t at = flow->begin;

    while (at < flow->end) {
        const char *bytes;
        size_t some;

        CV_TRY(give(threaded, at, &bytes, &some, err));
        some = flow->end - at < some ? (size_t)(flow->end - at) : some;
        if (!cv_writer_thread_write(threaded, bytes, some))
            break;
        at += some;
    }
    return CLEAVE_OK;
}

static void stop_flow(struct cv_writer_thread *threaded)
{
    struct flow *flow = (struct flow *)threaded;

    cv_writer_thread_stop(threaded);
    close_cursor(&flow->cursor);
    free(flow);
}

/* Decodes beyond `end` unless it is a limit: the bytes after it are often asked for next. */
static enum cleave_status start_flow(struct cv_lazy_reader *reader, uint64_t begin,
                                     uint64_t end,
                                     const struct cv_writer_thread_into *into,
                                     struct cv_writer_thread **out,
                                     struct cleave_error *err)
{
    struct cv_decoded_file *decoded = (struct cv_decoded_file *)reader;
    struct flow *flow = calloc(1, sizeof *flow);
    enum cleave_status status;

    if (flow == NULL)
        return cv_fail_memory(err, "a decoder");
    flow->cursor.file = decoded;
    flow->begin = begin;
    flow->end = reader->bounded ? end : decoded->blocks.out_end;
    status = cv_writer_thread_start(&flow->threaded, work, "decodes", into, err);
    if (status == CLEAVE_OK)
        *out = &flow->threaded;
    else
        free(flow);
    return status;
}

/* --- the file --------------------------------------------------------------------------------- */

enum cleave_status cv_decoded_file_new(const struct cv_codec *codec, const char *name,
                                       struct cv_blocks *blocks,
                                       struct cv_decoded_file **out,
                                       struct cleave_error *err)
{
    struct cv_decoded_file *decoded = calloc(1, sizeof *decoded);

    if (decoded == NULL)
        return cv_fail_memory(err, "a decoder");
    decoded->reader = (struct cv_lazy_reader){
        .read = read_at, .threaded = start_flow, .give = give, .stop = stop_flow
    };
    decoded->codec = codec;
    decoded->name = name;
    decoded->fd = -1;
    decoded->blocks = *blocks;
    decoded->cursor.file = decoded;
    decoded->good_end = UINT64_MAX;
    pthread_mutex_init(&decoded->lock, NULL);
    *blocks = (struct cv_blocks){ .items = NULL };
    *out = decoded;
    return CLEAVE_OK;
}

void cv_decoded_file_free(struct cv_decoded_file *decoded)
{
    if (decoded == NULL)
        return;
    close_cursor(&decoded->cursor);
    cv_blocks_done(&decoded->blocks);
    free(decoded->heads);
    pthread_mutex_destroy(&decoded->lock);
    free(decoded);
}

void cv_decoded_file_use(struct cv_decoded_file *decoded, int fd)
{
    close_cursor(&decoded->cursor);
    decoded->fd = fd;
}

enum cleave_status cv_decoded_file_look(struct cv_decoded_file *decoded, uint64_t offset,
                                        uint64_t *in)
{
    CV_TRY(seek(&decoded->cursor, offset, NULL));
    *in = decoded->cursor.in;
    return CLEAVE_OK;
}

uint64_t cv_decoded_file_round(const struct cv_decoded_file *decoded, uint64_t offset)
{
    const struct cv_blocks *blocks = &decoded->blocks;
    size_t index;
    uint64_t begin, end, near;

    if (blocks->count == 0 || offset >= blocks->out_end)
        return offset;
    index = cv_blocks_at(blocks, offset);
    begin = blocks->items[index].out;
    end = cv_block_out_end(blocks, index);
    if (end - begin <= SMALL)
        return offset;
    near = (offset - begin <= NEAR ? begin : end) + NEAR;
    return near < blocks->out_end ? near : blocks->out_end;
}

/* --- blocks that arrive from another machine -------------------------------------------------- */

/* The last block that begins at or before a decoded byte. */
static size_t block_at(const struct cv_arriving_input *arriving, uint64_t out)
{
    size_t n;

    CV_BISECT(n, arriving->count, i, arriving->blocks[i].out <= out);
    return n > 0 ? n - 1 : 0;
}

/* The blocks that hold [begin, end). */
static enum cleave_status open_range(const struct cv_arriving_input *arriving,
                                     uint64_t begin, uint64_t end,
                                     struct cv_decoded_file **out,
                                     struct cleave_error *err)
{
    const size_t first = block_at(arriving, begin);
    const size_t last = end > begin ? block_at(arriving, end - 1) : first;
    uint8_t(*heads)[XZ_HEAD] = calloc(last - first + 1, sizeof *heads);
    struct cv_blocks blocks = { .grain = 1 }; /* not all blocks may be listed */
    enum cleave_status status;
    bool good = heads != NULL;

    for (size_t i = first; good && i <= last; i++) {
        const struct cv_packed_block *block = &arriving->blocks[i];
        const uint64_t in = arriving->at + (block->in - arriving->in);

        good = cv_blocks_add(&blocks, (struct cv_block){ in, block->out, UINT64_MAX });
        memcpy(heads[i - first], block->head, sizeof *heads);
    }
    blocks.out_end =
        last + 1 < arriving->count ? arriving->blocks[last + 1].out : arriving->out_end;
    status = good ? cv_decoded_file_new(arriving->codec, "the piece", &blocks, out, err)
                  : cv_fail_memory(err, "a decoder");
    cv_blocks_done(&blocks);
    if (status != CLEAVE_OK) {
        free(heads);
        return status;
    }
    (*out)->fd = arriving->fd;
    (*out)->heads = heads;
    (*out)->reader.bounded = true;
    return CLEAVE_OK;
}

static enum cleave_status read_arriving(struct cv_lazy_reader *reader, uint64_t offset,
                                        void *out, size_t max, size_t *got,
                                        struct cleave_error *err)
{
    struct cv_arriving_input *arriving = (struct cv_arriving_input *)reader;

    if (arriving->file == NULL || arriving->file_end != arriving->out_end) {
        cv_decoded_file_free(arriving->file);
        arriving->file = NULL;
        CV_TRY(open_range(arriving, arriving->blocks[0].out, arriving->out_end,
                          &arriving->file, err));
        assert(arriving->file != NULL);
        arriving->file_end = arriving->out_end;
    }
    return read_at(&arriving->file->reader, offset, out, max, got, err);
}

/* The flow owns its file. */
static enum cleave_status start_arriving(struct cv_lazy_reader *reader, uint64_t begin,
                                         uint64_t end,
                                         const struct cv_writer_thread_into *into,
                                         struct cv_writer_thread **out,
                                         struct cleave_error *err)
{
    struct cv_decoded_file *file;
    enum cleave_status status;

    CV_TRY(open_range((const struct cv_arriving_input *)reader, begin, end, &file, err));
    status = start_flow(&file->reader, begin, end, into, out, err);
    if (status != CLEAVE_OK)
        cv_decoded_file_free(file);
    return status;
}

static void stop_arriving(struct cv_writer_thread *threaded)
{
    struct cv_decoded_file *file = ((struct flow *)threaded)->cursor.file;

    stop_flow(threaded);
    cv_decoded_file_free(file);
}

enum cleave_status cv_arriving_input_new(const struct cv_codec *codec,
                                         struct cv_arriving_input **out,
                                         struct cleave_error *err)
{
    struct cv_arriving_input *arriving = calloc(1, sizeof *arriving);

    if (arriving == NULL)
        return cv_fail_memory(err, "a piece");
    arriving->reader = (struct cv_lazy_reader){ .read = read_arriving,
                                                .threaded = start_arriving,
                                                .give = give,
                                                .stop = stop_arriving,
                                                .bounded = true };
    arriving->codec = codec;
    arriving->fd = -1;
    *out = arriving;
    return CLEAVE_OK;
}

void cv_arriving_input_free(struct cv_arriving_input *arriving)
{
    if (arriving == NULL)
        return;
    cv_decoded_file_free(arriving->file);
    free(arriving->blocks);
    free(arriving);
}

enum cleave_status cv_arriving_input_add(struct cv_arriving_input *arriving,
                                         const struct cv_packed_block *blocks,
                                         size_t count, uint64_t out_end, bool *good,
                                         struct cleave_error *err)
{
    const struct cv_packed_block *last =
        arriving->count > 0 ? &arriving->blocks[arriving->count - 1] : NULL;

    *good = false;
    for (size_t i = 0; i < count; i++) {
        if (last != NULL && (blocks[i].in <= last->in || blocks[i].out <= last->out))
            return CLEAVE_OK;
        last = &blocks[i];
    }
    if (last == NULL || out_end <= last->out)
        return CLEAVE_OK;
    if (!CV_ROOM(arriving->blocks, &arriving->room, arriving->count + count))
        return cv_fail_memory(err, "a piece");
    if (count > 0)
        memcpy(arriving->blocks + arriving->count, blocks,
               count * sizeof *arriving->blocks);
    arriving->count += count;
    arriving->out_end = out_end;
    *good = true;
    return CLEAVE_OK;
}

uint64_t cv_arriving_input_whole(const struct cv_arriving_input *arriving, uint64_t in)
{
    size_t n;

    CV_BISECT(n, arriving->count, i, arriving->blocks[i].in <= in);
    return arriving->blocks[n > 0 ? n - 1 : 0].out;
}

uint64_t cv_arriving_input_needs(const struct cv_arriving_input *arriving, uint64_t out)
{
    return arriving->blocks[block_at(arriving, out)].in;
}
