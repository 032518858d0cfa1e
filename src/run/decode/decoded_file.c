/* decoded_file.c -- a compressed file that is read as if it were not.
 * SPDX-License-Identifier: MIT */
#include "run/decode/decoded_file.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/decoder.h"
#include "run/common/pipe_writer.h"

enum { XZ_HEAD = CV_PACKED_HEAD, SMALL = 128 * 1024, NEAR = 16 * 1024 };

/* A decoder at some place of the file. */
struct tap {
    const struct cv_decoded_file *from;
    struct cv_decoded_file *decoded; /* the same: for notes about damage */
    struct cv_decoder *decoder; /* owned; NULL: none                                   */
    uint64_t head, in;          /* of the file: what is read next                      */
    unsigned head_left;
    const uint8_t *head_bytes; /* it, where it is not in the file; NULL                */
    const char *bytes; /* borrowed of the decoder                                      */
    size_t length;
    uint64_t out; /* offset of `bytes`                                                 */
    uint64_t end; /* how far this decoder goes                                         */
};

struct cv_decoded_file {
    struct cv_lazy_reader well;
    const struct cv_codec *codec;
    const char *name; /* borrowed */
    struct cv_blocks blocks;
    uint8_t (*heads)[XZ_HEAD]; /* owned: of each; NULL: they are in the file */
    int fd;                    /* borrowed; -1: closed */
    struct tap tap;
    /* What the taps of all threads found that cannot be decoded. */
    pthread_mutex_t lock;
    uint64_t good_end; /* before that, nothing was found */
    struct cleave_error damage;
};

struct decoding {
    struct cv_writer_thread threaded;
    struct tap tap;
    uint64_t begin, end;
};

/* --- decoders ------------------------------------------------------------------------------- */

/* Of a block of xz, the head of its stream comes first. */
static ssize_t read_tap(void *context, void *to, size_t max)
{
    struct tap *tap = context;
    ssize_t got;

    if (tap->head_left > 0 && tap->head_bytes != NULL) {
        got = tap->head_left < max ? (ssize_t)tap->head_left : (ssize_t)max;
        memcpy(to, tap->head_bytes + XZ_HEAD - tap->head_left, (size_t)got);
        tap->head_left -= (unsigned)got;
        return got;
    }
    if (tap->head_left > 0) {
        got = pread(tap->from->fd, to, tap->head_left < max ? tap->head_left : max,
                    (off_t)(tap->head + XZ_HEAD - tap->head_left));
        tap->head_left -= got > 0 ? (unsigned)got : 0;
        return got;
    }
    got = pread(tap->from->fd, to, max, (off_t)tap->in);
    tap->in += got > 0 ? (uint64_t)got : 0;
    return got;
}

static void close_tap(struct tap *tap)
{
    cv_decoder_free(tap->decoder);
    tap->decoder = NULL;
    tap->length = 0;
}

static enum cleave_status open_tap(struct tap *tap, size_t index,
                                   struct cleave_error *err)
{
    const struct cv_decoded_file *from = tap->from;
    const struct cv_block *block = &from->blocks.items[index];
    const bool xz = from->codec == &cv_codec_xz && block->head != block->in;
    const struct cv_decoder_input input = { .read = read_tap,
                                            .context = tap,
                                            .name = from->name,
                                            .offset = block->in - (xz ? XZ_HEAD : 0),
                                            .made = block->out };

    close_tap(tap);
    tap->head = block->head;
    tap->head_left = xz ? XZ_HEAD : 0;
    tap->head_bytes = from->heads != NULL ? from->heads[index] : NULL;
    tap->in = block->in;
    tap->out = block->out;
    tap->end = xz && index + 1 < from->blocks.count ? block[1].out : from->blocks.out_end;
    return cv_decoder_open(xz ? &cv_codec_xz_block : from->codec, &input, &tap->decoder,
                           err);
}

static uint64_t block_end(const struct cv_blocks *blocks, uint64_t offset)
{
    const size_t index = cv_blocks_at(blocks, offset);

    return index + 1 < blocks->count ? blocks->items[index + 1].out : blocks->out_end;
}

/* Whether a block has ended where the table of the file says, if it has one. */
static bool as_told(const struct tap *tap, uint64_t end)
{
    const struct cv_blocks *blocks = &tap->from->blocks;

    return blocks->told_end == 0 ||
           cv_decoder_at(tap->decoder) ==
               (end < blocks->out_end ? blocks->items[cv_blocks_at(blocks, end)].in
                                      : blocks->told_end);
}

static enum cleave_status next_bytes(struct tap *tap, struct cleave_error *err)
{
    const struct cv_place place = { tap->from->name, 0, 0, NULL };
    const void *bytes;
    size_t length;
    uint64_t end;

    tap->out += tap->length;
    tap->length = 0;
    if (tap->out == tap->end && tap->end < tap->from->blocks.out_end)
        CV_TRY(open_tap(tap, cv_blocks_at(&tap->from->blocks, tap->out), err));
    CV_TRY(cv_decoder_next(tap->decoder, &bytes, &length, err));
    if (length == 0)
        return cv_fail_at(err, &place,
                          "damaged: expected %" PRIu64 " decoded bytes, got %" PRIu64,
                          tap->from->blocks.out_end, tap->out);
    tap->bytes = bytes;
    tap->length = length;
    /* Nothing is given out of the end of a block before its check was seen to fit. */
    end = block_end(&tap->from->blocks, tap->out);
    if (tap->out + length == end) {
        CV_TRY(cv_decoder_finish(tap->decoder, err));
        if (!as_told(tap, end))
            return cv_fail_at(err, &place,
                              "damaged: the table of its frames does not fit them, at "
                              "%" PRIu64 " of the bytes that are decoded",
                              end);
    }
    return tap->out + length <= end ||
                   tap->from->blocks.grain > 0 /* not all of them are noted */
               ? CLEAVE_OK
               : cv_fail_at(err, &place,
                            "damaged: a block holds more bytes than it says, at %" PRIu64
                            " of those that are decoded",
                            end);
}

/* All before the block is good. */
static void note_damage(const struct tap *tap, enum cleave_status status,
                        const struct cleave_error *err)
{
    struct cv_decoded_file *decoded = tap->decoded;
    const uint64_t begin =
        decoded->blocks.items[cv_blocks_at(&decoded->blocks, tap->out)].out;

    if (status != CLEAVE_EINPUT || err == NULL)
        return;
    pthread_mutex_lock(&decoded->lock);
    if (begin < decoded->good_end) {
        decoded->good_end = begin;
        decoded->damage = *err;
    }
    pthread_mutex_unlock(&decoded->lock);
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

/* Let the byte at `offset`, which is before the end, be among those of the tap. */
static enum cleave_status seek(struct tap *tap, uint64_t offset, struct cleave_error *err)
{
    const size_t index = cv_blocks_at(&tap->from->blocks, offset);
    const uint64_t begin = tap->from->blocks.items[index].out;

    if (tap->decoder == NULL || offset < tap->out || begin > tap->out + tap->length)
        CV_TRY(open_tap(tap, index, err));
    while (offset >= tap->out + tap->length) {
        const enum cleave_status status = next_bytes(tap, err);

        if (status != CLEAVE_OK) {
            note_damage(tap, status, err);
            close_tap(tap);
            return status;
        }
    }
    return CLEAVE_OK;
}

static enum cleave_status read_well(struct cv_lazy_reader *well, uint64_t offset,
                                    void *out, size_t max, size_t *got,
                                    struct cleave_error *err)
{
    struct cv_decoded_file *decoded = (struct cv_decoded_file *)well;
    struct tap *tap = &decoded->tap;
    struct cleave_error ignored;
    size_t some;

    *got = 0;
    if (offset >= decoded->blocks.out_end || max == 0)
        return CLEAVE_OK;
    CV_TRY(seek(tap, offset, err != NULL ? err : &ignored));
    some = (size_t)(tap->out + tap->length - offset);
    some = some < max ? some : max;
    memcpy(out, tap->bytes + (offset - tap->out), some);
    *got = some;
    return CLEAVE_OK;
}

/* --- flows ---------------------------------------------------------------------------------- */

static enum cleave_status work(struct cv_writer_thread *threaded,
                               struct cleave_error *err)
{
    struct decoding *decoding = (struct decoding *)threaded;
    struct tap *tap = &decoding->tap;
    const uint64_t end = decoding->end;
    uint64_t at = decoding->begin;

    while (at < end) {
        size_t skipped, some;

        CV_TRY(seek(tap, at, err));
        skipped = (size_t)(at - tap->out);
        some = tap->length - skipped;
        some = end - at < some ? (size_t)(end - at) : some;
        if (!cv_writer_thread_write(threaded, tap->bytes + skipped, some))
            break;
        at += some;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_decoded_file_give(struct cv_writer_thread *threaded, uint64_t at,
                                        const char **bytes, size_t *length,
                                        struct cleave_error *err)
{
    struct tap *tap = &((struct decoding *)threaded)->tap;

    CV_TRY(seek(tap, at, err));
    *bytes = tap->bytes + (at - tap->out);
    *length = (size_t)(tap->out + tap->length - at);
    return CLEAVE_OK;
}

static void stop_flow(struct cv_writer_thread *threaded)
{
    struct decoding *decoding = (struct decoding *)threaded;

    cv_writer_thread_stop(threaded);
    close_tap(&decoding->tap);
    free(decoding);
}

/* It decodes on behind `end`, as what comes next is often asked for. */
static enum cleave_status start_flow(struct cv_lazy_reader *well, uint64_t begin,
                                     uint64_t end,
                                     const struct cv_writer_thread_into *into,
                                     struct cv_writer_thread **out,
                                     struct cleave_error *err)
{
    struct decoding *decoding = calloc(1, sizeof *decoding);
    enum cleave_status status;

    if (decoding == NULL)
        return cv_fail_memory(err, "a decoder");
    decoding->tap.from = decoding->tap.decoded = (struct cv_decoded_file *)well;
    decoding->begin = begin;
    decoding->end = well->bounded ? end : decoding->tap.from->blocks.out_end;
    status = cv_writer_thread_start(&decoding->threaded, work, "decodes", into, err);
    if (status == CLEAVE_OK)
        *out = &decoding->threaded;
    else
        free(decoding);
    return status;
}

enum cleave_status cv_decoded_file_flow_alone(struct cv_decoded_file *decoded,
                                              uint64_t begin, uint64_t end,
                                              const struct cv_writer_thread_into *into,
                                              struct cv_writer_thread **out,
                                              struct cleave_error *err)
{
    enum cleave_status status;

    decoded->well.bounded = true;
    status = start_flow(&decoded->well, begin, end, into, out, err);
    if (status != CLEAVE_OK)
        cv_decoded_file_free(decoded);
    return status;
}

void cv_decoded_file_stop_alone(struct cv_writer_thread *threaded)
{
    struct cv_decoded_file *decoded = ((struct decoding *)threaded)->tap.decoded;

    stop_flow(threaded);
    cv_decoded_file_free(decoded);
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
    decoded->well = (struct cv_lazy_reader){ .read = read_well,
                                             .threaded = start_flow,
                                             .give = cv_decoded_file_give,
                                             .stop = stop_flow,
                                             .direct = true };
    decoded->codec = codec;
    decoded->name = name;
    decoded->fd = -1;
    decoded->blocks = *blocks;
    decoded->tap.from = decoded->tap.decoded = decoded;
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
    close_tap(&decoded->tap);
    cv_blocks_done(&decoded->blocks);
    free(decoded->heads);
    pthread_mutex_destroy(&decoded->lock);
    free(decoded);
}

void cv_decoded_file_use(struct cv_decoded_file *decoded, int fd)
{
    close_tap(&decoded->tap);
    decoded->fd = fd;
}

void cv_decoded_file_behead(struct cv_decoded_file *decoded,
                            uint8_t (*heads)[CV_PACKED_HEAD])
{
    decoded->heads = heads;
}

enum cleave_status cv_decoded_file_look(struct cv_decoded_file *decoded, uint64_t offset,
                                        uint64_t *in)
{
    struct cleave_error ignored;

    CV_TRY(seek(&decoded->tap, offset, &ignored));
    *in = decoded->tap.in;
    return CLEAVE_OK;
}

const struct cv_blocks *cv_decoded_file_blocks(const struct cv_decoded_file *decoded)
{
    return &decoded->blocks;
}

const struct cv_codec *cv_decoded_file_codec(const struct cv_decoded_file *decoded)
{
    return decoded->codec;
}

int cv_decoded_file_fd(const struct cv_decoded_file *decoded)
{
    return decoded->fd;
}

struct cv_lazy_reader *cv_decoded_file_well(struct cv_decoded_file *decoded)
{
    return &decoded->well;
}

uint64_t cv_decoded_file_size(const struct cv_decoded_file *decoded)
{
    return decoded->blocks.out_end;
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
    end = block_end(blocks, offset);
    if (end - begin <= SMALL)
        return offset;
    near = (offset - begin <= NEAR ? begin : end) + NEAR;
    return near < blocks->out_end ? near : blocks->out_end;
}
