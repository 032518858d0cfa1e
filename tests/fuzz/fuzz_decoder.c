/* fuzz_decoder.c -- any bytes as a compressed file. SPDX-License-Identifier: MIT
 *
 * The first byte sets the format and the bytes per read. However they come, the same is
 * made of them; and where blocks are found, decoding fails or makes as many bytes as they
 * say, also when it begins at each of them. Several threads give the same bytes as one,
 * except for damaged blocks of bzip2, which they drop. One member of gzip that libdeflate
 * can decode is decoded to the same. */
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* for a state without allocated memory */
#include <xxhash.h>

#include "run/decode/decode_ahead.h"
#include "run/decode/blocks.h"
#include "run/decode/decoder.h"
#include "run/decode/decoded_file.h"
#include "run/decode/parallel_decode.h"
#include "fuzz_target.h"

enum { MOST = 8 << 20 }; /* decoded: a few bytes can be very many */

struct tape {
    const uint8_t *bytes;
    size_t left, step;
};

/* Decoded bytes of a tape. Much of the time goes into looking at it: by a library that is
 * not instrumented. */
struct made {
    enum cleave_status status;
    size_t length; /* up to MOST or somewhat more */
    XXH64_hash_t sum;
    struct cleave_error err;
};

static ssize_t read_tape(void *context, void *to, size_t max)
{
    struct tape *tape = context;
    size_t some = tape->left < max ? tape->left : max;

    some = some < tape->step ? some : tape->step;
    memcpy(to, tape->bytes, some);
    tape->bytes += some;
    tape->left -= some;
    return (ssize_t)some;
}

static XXH64_state_t adding;

static void begin(struct made *made)
{
    made->length = 0;
    XXH64_reset(&adding, 0);
}

/* Whether there is more to be made. */
static bool add(struct made *made, const void *bytes, size_t length)
{
    if (made->status == CLEAVE_OK && length > 0) {
        XXH64_update(&adding, bytes, length);
        made->length += length;
        if (made->length < MOST)
            return true;
    }
    made->sum = XXH64_digest(&adding);
    return false;
}

/* Let it be cut at all possible places: the real least size of a job exceeds inputs
 * here. */
static enum cleave_status open_ahead(const struct cv_codec *codec,
                                     const struct cv_decoder_input *input, bool small,
                                     struct cv_ahead **ahead, struct cleave_error *err)
{
    static struct cv_parallel_format form;

    if (small && (codec == &cv_codec_bgzf || codec == &cv_codec_zstd)) {
        form = cv_parallel_frames;
        form.batch = 40;
        return cv_parallel_open(&form, codec, input, 2, false, ahead, err);
    }
    return cv_ahead_open(codec, input, 2, false, ahead, err);
}

/* By several threads: as `decode`. */
static void decode_ahead(const struct cv_codec *codec, struct tape tape, bool small,
                         struct made *made)
{
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    struct cv_ahead *ahead;
    const void *bytes = NULL;
    size_t length = 0;

    begin(made);
    require(open_ahead(codec, &input, small, &ahead, &made->err) == CLEAVE_OK);
    do {
        made->status = ahead->next(ahead, &bytes, &length, &made->err);
    } while (add(made, bytes, length));
    ahead->free(ahead);
}

static void decode(const struct cv_codec *codec, struct tape tape, struct made *made)
{
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    struct cv_decoder *decoder;
    const void *bytes = NULL;
    size_t length = 0;

    begin(made);
    require(cv_decoder_open(codec, &input, &decoder, &made->err) == CLEAVE_OK);
    do {
        made->status = cv_decoder_next(decoder, &bytes, &length, &made->err);
    } while (add(made, bytes, length));
    cv_decoder_free(decoder);
}

/* Decode each block by itself, from the last to the first. False: one cannot be
 * decoded. */
static bool decode_blocks(const struct cv_codec *codec, int fd, struct cv_blocks *blocks,
                          XXH64_hash_t *sum)
{
    const size_t count = blocks->count, size = (size_t)blocks->out_end;
    uint64_t *begins = malloc((count + 1) * sizeof *begins);
    uint8_t *bytes = calloc(size + 1, 1);
    struct cv_decoded_file *decoded;
    bool good = true;

    require(bytes != NULL && begins != NULL);
    for (size_t i = 0; i < count; i++)
        begins[i] = blocks->items[i].out;
    begins[count] = size;
    require(cv_decoded_file_new(codec, "tape", blocks, &decoded, NULL) == CLEAVE_OK);
    cv_decoded_file_use(decoded, fd);
    for (size_t i = count; good && i > 0; i--) {
        struct cv_lazy_reader *lazy = &decoded->reader;
        size_t got = 0;

        for (uint64_t at = begins[i - 1]; good && at < begins[i]; at += got)
            good = lazy->read(lazy, at, bytes + at, (size_t)(begins[i] - at), &got,
                              NULL) == CLEAVE_OK &&
                   got > 0;
    }
    *sum = XXH64(bytes, size, 0);
    cv_decoded_file_free(decoded);
    free(begins);
    free(bytes);
    return good;
}

/* With the result of one thread. */
static void compare_ahead(const struct cv_codec *codec, struct tape tape, bool small,
                          const struct made *made)
{
    struct made ahead;

    decode_ahead(codec, tape, small, &ahead);
    if (made->length >= MOST || ahead.length >= MOST)
        return;
    require(made->status == ahead.status);
    if (made->status != CLEAVE_OK && codec == &cv_codec_bzip2)
        return;
    require(made->length == ahead.length && made->sum == ahead.sum);
    require(made->status == CLEAVE_OK || strcmp(made->err.text, ahead.err.text) == 0);
}

/* With what libdeflate makes of one member of gzip. */
static void compare_libdeflate(const uint8_t *bytes, size_t length,
                               const struct made *made)
{
    static struct libdeflate_decompressor *other; /* kept: to get megabytes takes long */
    static uint8_t out[MOST];
    size_t used, got;

    if (other == NULL)
        other = libdeflate_alloc_decompressor();
    require(other != NULL);
    if (libdeflate_gzip_decompress_ex(other, bytes, length, out, MOST, &used, &got) ==
            LIBDEFLATE_SUCCESS &&
        used == length && made->status == CLEAVE_OK)
        require(made->length == got && made->sum == XXH64(out, got, 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "gzip", "bgzf", "zstd", "xz", "bzip2", "lz4" };
    struct tape whole_tape = { data + 1, size - 1, size }, slow_tape = whole_tape;
    const struct cv_codec *codec;
    struct cv_blocks blocks = { .items = NULL };
    struct made made, again;
    XXH64_hash_t sum;
    bool whole;
    int fd;

    if (size < 2)
        return 0;
    codec = cv_codec_named(names[data[0] % 6]);
    slow_tape.step = 1 + data[0] / 6u;
    decode(codec, whole_tape, &made);
    decode(codec, slow_tape, &again);
    if (codec == &cv_codec_gzip)
        compare_libdeflate(data + 1, size - 1, &made);
    if (codec == &cv_codec_bgzf || codec == &cv_codec_zstd || codec == &cv_codec_bzip2) {
        compare_ahead(codec, slow_tape, false, &again);
        compare_ahead(codec, whole_tape, true, &made);
    }
    if (made.length < MOST && again.length < MOST && made.status == CLEAVE_OK)
        require(again.status == made.status && made.length == again.length &&
                made.sum == again.sum);
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    whole = cv_blocks_find(&blocks, codec, fd, size - 1);
    for (size_t i = 1; whole && i < blocks.count; i++)
        require(blocks.items[i].out > blocks.items[i - 1].out &&
                blocks.items[i].in > blocks.items[i - 1].in);
    if (whole && made.status == CLEAVE_OK && made.length < MOST) {
        const uint64_t all = blocks.out_end;

        require(made.length == all || blocks.table_end > 0); /* a table may be wrong */
        if (all < MOST && decode_blocks(codec, fd, &blocks, &sum))
            require(made.length == all && made.sum == sum);
    }
    cv_blocks_done(&blocks);
    close(fd);
    return 0;
}
