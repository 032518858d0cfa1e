/* decoded_file.c -- a compressed file that is read as if it were not.
 * SPDX-License-Identifier: MIT */
#include "run/decode/decoded_file.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "run/common/writer_thread.h"
#include "run/decode/decoder.h"

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

static uint64_t out_end(const struct cv_blocks *blocks, size_t index);

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

/* What a flow without a thread has (lazy_reader.h). */
static enum cleave_status decoded_file_give(struct cv_writer_thread *threaded,
                                            uint64_t at, const char **bytes,
                                            size_t *length, struct cleave_error *err)
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

static enum cleave_status
decoded_file_flow_alone(struct cv_decoded_file *decoded, uint64_t begin, uint64_t end,
                        const struct cv_writer_thread_into *into,
                        struct cv_writer_thread **out, struct cleave_error *err)
{
    enum cleave_status status;

    decoded->well.bounded = true;
    status = start_flow(&decoded->well, begin, end, into, out, err);
    if (status != CLEAVE_OK)
        cv_decoded_file_free(decoded);
    return status;
}

static void decoded_file_stop_alone(struct cv_writer_thread *threaded)
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
                                             .give = decoded_file_give,
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

/* Of blocks that lie elsewhere than in their file (decoded_file.h): what stands before each of those of xz,
 * which it takes over. And a flow that ends with `end`; stopped, or not even begun, it takes the file with it. */
static void decoded_file_behead(struct cv_decoded_file *decoded,
                                uint8_t (*heads)[CV_PACKED_HEAD])
{
    decoded->heads = heads;
}

/* Let bytes up to the one at `offset` be decoded: *in is how far the file was read for that. */
static enum cleave_status decoded_file_look(struct cv_decoded_file *decoded,
                                            uint64_t offset, uint64_t *in)
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

/* --- which bytes of a compressed file hold some of its decoded bytes --------------- */

enum {
    BEFORE = 128 * 1024, /* bytes that are decoded in vain, at most                     */
    BEHIND = 1 << 20,    /* ... that are decoded here to send less of a block           */
    SPARE = 64 * 1024,   /* of the file, for decoders that want more at a time          */
    APART = 64 * 1024,   /* of the file, between blocks of BGZF that are worth a word   */
};

static uint64_t in_end(const struct cv_blocks *blocks, size_t index, uint64_t size)
{
    return index + 1 < blocks->count ? blocks->items[index + 1].in : size;
}

static uint64_t out_end(const struct cv_blocks *blocks, size_t index)
{
    return index + 1 < blocks->count ? blocks->items[index + 1].out : blocks->out_end;
}

/* The last one that begins at or before a place of the file; the first if none does. */
static size_t find(const struct cv_blocks *blocks, uint64_t in)
{
    size_t n;

    CV_BISECT(n, blocks->count, i, blocks->items[i].in <= in);
    return n > 0 ? n - 1 : 0;
}

bool cv_cover_holds(const struct cv_decoded_file *decoded, uint64_t offset)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);
    const struct cv_block *block;

    if (offset >= blocks->out_end)
        return false;
    block = &blocks->items[cv_blocks_at(blocks, offset)];
    return cv_decoded_file_codec(decoded) != &cv_codec_xz || block->head != block->in;
}

bool cv_cover_begins(const struct cv_decoded_file *decoded, uint64_t offset)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);

    return cv_cover_holds(decoded, offset) &&
           offset - blocks->items[cv_blocks_at(blocks, offset)].out <= BEFORE;
}

struct cv_range cv_cover_span(const struct cv_decoded_file *decoded, struct cv_range out,
                              uint64_t size)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);

    return (struct cv_range){ blocks->items[cv_blocks_at(blocks, out.begin)].in,
                              in_end(blocks, cv_blocks_at(blocks, out.end - 1), size) };
}

struct cv_range cv_cover_find(struct cv_decoded_file *decoded, struct cv_range out,
                              uint64_t size)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);
    const size_t last = cv_blocks_at(blocks, out.end - 1);
    const uint64_t begin = blocks->items[last].out;
    struct cv_range in = cv_cover_span(decoded, out, size);
    uint64_t read;

    if (out.end - begin < BEHIND &&
        out.end - begin < (out_end(blocks, last) - begin) / 2 &&
        in.end - blocks->items[last].in > (uint64_t)2 * SPARE &&
        decoded_file_look(decoded, out.end - 1, &read) == CLEAVE_OK &&
        read + SPARE < in.end)
        in.end = read + SPARE;
    return in;
}

uint64_t cv_cover_whole(const struct cv_decoded_file *decoded, uint64_t in)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);

    return blocks->items[find(blocks, in)].out;
}

uint64_t cv_cover_touched(const struct cv_decoded_file *decoded, uint64_t in)
{
    const struct cv_blocks *blocks = cv_decoded_file_blocks(decoded);

    return in > 0 ? out_end(blocks, find(blocks, in - 1)) : 0;
}

size_t cv_cover_index(const struct cv_decoded_file *decoded, uint64_t offset)
{
    return cv_blocks_at(cv_decoded_file_blocks(decoded), offset);
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

enum cleave_status cv_cover_list(const struct cv_decoded_file *decoded, uint64_t in,
                                 size_t *next, struct cv_packed_block *blocks, size_t max,
                                 size_t *count, uint64_t *out_end_of,
                                 struct cleave_error *err)
{
    const struct cv_blocks *from = cv_decoded_file_blocks(decoded);
    const bool checks = cv_decoded_file_codec(decoded) == &cv_codec_bgzf;
    uint64_t before = 0;

    *count = 0;
    for (; *count < max && *next < from->count && from->items[*next].in < in; ++*next) {
        const struct cv_block *block = &from->items[*next];

        if (checks && *count > 0 && block->in - before < APART)
            continue;
        blocks[*count] = (struct cv_packed_block){ .in = block->in, .out = block->out };
        if (cv_decoded_file_codec(decoded) == &cv_codec_xz)
            CV_TRY(read_head(decoded, block->head, blocks[*count].head, err));
        before = block->in;
        ++*count;
    }
    *out_end_of = *next > 0 ? out_end(from, *next - 1) : 0;
    return CLEAVE_OK;
}

/* --- compressed bytes that have come from elsewhere -------------------------------- */

/* Each flow has a list of its blocks for itself: more may be added while it decodes. */

struct cv_arriving_input {
    struct cv_lazy_reader well;
    const struct cv_codec *codec;
    struct cv_packed_block *blocks; /* owned */
    size_t count, room;
    uint64_t out_end;
    int fd; /* borrowed */
    uint64_t in, at;
    struct cv_decoded_file *read; /* owned: for `read` of the well; NULL: not yet */
    uint64_t read_end;
};

static size_t block_at(const struct cv_arriving_input *arriving, uint64_t where,
                       bool decoded)
{
    size_t n;

    CV_BISECT(n, arriving->count, i,
              (decoded ? arriving->blocks[i].out : arriving->blocks[i].in) <= where);
    return n > 0 ? n - 1 : 0;
}

/* A decoder of [begin, end). */
static enum cleave_status open_range(const struct cv_arriving_input *arriving,
                                     uint64_t begin, uint64_t end,
                                     struct cv_decoded_file **out,
                                     struct cleave_error *err)
{
    const size_t first = block_at(arriving, begin, true);
    const size_t last = end > begin ? block_at(arriving, end - 1, true) : first;
    uint8_t(*heads)[CV_PACKED_HEAD] = calloc(last - first + 1, sizeof *heads);
    struct cv_blocks blocks = { .grain = 1 }; /* not all of them may be noted */
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
    cv_decoded_file_use(*out, arriving->fd);
    decoded_file_behead(*out, heads);
    return CLEAVE_OK;
}

static enum cleave_status input_read_well(struct cv_lazy_reader *well, uint64_t offset,
                                          void *out, size_t max, size_t *got,
                                          struct cleave_error *err)
{
    struct cv_arriving_input *arriving = (struct cv_arriving_input *)well;

    if (arriving->read == NULL || arriving->read_end != arriving->out_end) {
        cv_decoded_file_free(arriving->read);
        arriving->read = NULL;
        CV_TRY(open_range(arriving, arriving->blocks[0].out, arriving->out_end,
                          &arriving->read, err));
        arriving->read_end = arriving->out_end;
    }
    well = cv_decoded_file_well(arriving->read);
    return well->read(well, offset, out, max, got, err);
}

static enum cleave_status input_start_flow(struct cv_lazy_reader *well, uint64_t begin,
                                           uint64_t end,
                                           const struct cv_writer_thread_into *into,
                                           struct cv_writer_thread **out,
                                           struct cleave_error *err)
{
    struct cv_decoded_file *decoded;

    CV_TRY(open_range((const struct cv_arriving_input *)well, begin, end, &decoded, err));
    return decoded_file_flow_alone(decoded, begin, end, into, out, err);
}

enum cleave_status cv_arriving_input_new(const struct cv_codec *codec,
                                         struct cv_arriving_input **out,
                                         struct cleave_error *err)
{
    struct cv_arriving_input *arriving = calloc(1, sizeof *arriving);

    if (arriving == NULL)
        return cv_fail_memory(err, "a piece");
    arriving->well = (struct cv_lazy_reader){ .read = input_read_well,
                                              .threaded = input_start_flow,
                                              .give = decoded_file_give,
                                              .stop = decoded_file_stop_alone,
                                              .bounded = true,
                                              .direct = true };
    arriving->codec = codec;
    arriving->fd = -1;
    *out = arriving;
    return CLEAVE_OK;
}

void cv_arriving_input_free(struct cv_arriving_input *arriving)
{
    if (arriving == NULL)
        return;
    cv_decoded_file_free(arriving->read);
    free(arriving->blocks);
    free(arriving);
}

enum cleave_status cv_arriving_input_add(struct cv_arriving_input *arriving,
                                         const struct cv_packed_block *blocks,
                                         size_t count, uint64_t out_end, bool *good,
                                         struct cleave_error *err)
{
    struct cv_packed_block *larger = arriving->blocks;
    uint64_t in = arriving->count > 0 ? arriving->blocks[arriving->count - 1].in : 0;
    uint64_t out = arriving->count > 0 ? arriving->blocks[arriving->count - 1].out : 0;

    *good = false;
    for (size_t i = 0; i < count; i++) {
        if (arriving->count + i > 0 && (blocks[i].in <= in || blocks[i].out <= out))
            return CLEAVE_OK;
        in = blocks[i].in;
        out = blocks[i].out;
    }
    if (arriving->count + count == 0 || out_end <= out)
        return CLEAVE_OK;
    if (arriving->count + count > arriving->room)
        larger = cv_grow(arriving->blocks, &arriving->room, arriving->count + count,
                         sizeof *larger);
    if (larger == NULL)
        return cv_fail_memory(err, "a piece");
    arriving->blocks = larger;
    if (count > 0)
        memcpy(larger + arriving->count, blocks, count * sizeof *larger);
    arriving->count += count;
    arriving->out_end = out_end;
    *good = true;
    return CLEAVE_OK;
}

void cv_arriving_input_place(struct cv_arriving_input *arriving, int fd, uint64_t in,
                             uint64_t at)
{
    arriving->fd = fd;
    arriving->in = in;
    arriving->at = at;
}

uint64_t cv_arriving_input_whole(const struct cv_arriving_input *arriving, uint64_t in)
{
    return arriving->blocks[block_at(arriving, in, false)].out;
}

uint64_t cv_arriving_input_needs(const struct cv_arriving_input *arriving, uint64_t out)
{
    return arriving->blocks[block_at(arriving, out, true)].in;
}

struct cv_lazy_reader *cv_arriving_input_well(struct cv_arriving_input *arriving)
{
    return &arriving->well;
}
