/* fuzz_decoder.c -- any bytes as a compressed file. SPDX-License-Identifier: MIT
 *
 * The first byte says which form and how many bytes are read at a time. However they come,
 * the same is made of them; and where blocks are found, decoding fails or makes as
 * many bytes as they say, also when it begins at each of them. Several threads make the same
 * of them as one, but for blocks of bzip2 that are damaged, of which they give nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/decode/ahead.h"
#include "run/decode/blocks.h"
#include "run/decode/decoder.h"
#include "run/decode/unpacked.h"
#include "run/decode/wide.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 8 << 20 }; /* decoded: a few bytes can be very many */

struct tape {
    const uint8_t *bytes;
    size_t left, step;
};

static ssize_t read_tape(void *context, void *to, size_t most)
{
    struct tape *tape = context;
    size_t some = tape->left < most ? tape->left : most;

    some = some < tape->step ? some : tape->step;
    memcpy(to, tape->bytes, some);
    tape->bytes += some;
    tape->left -= some;
    return (ssize_t)some;
}

static void require(int truth)
{
    if (!truth)
        abort();
}

/* Let it be cut wherever it can be: what is worth a job is more than inputs have here. */
static enum cleave_status open_ahead(const struct cv_codec *codec,
                                     const struct cv_decoder_input *input, bool small,
                                     struct cv_ahead **ahead, struct cleave_error *err)
{
    static const struct cv_wide_form *const forms[] = { &cv_wide_bgzf, &cv_wide_zstd,
                                                        &cv_wide_lz4 };

    for (size_t i = 0; small && i < sizeof forms / sizeof *forms; i++)
        if (forms[i]->codec == codec) {
            static struct cv_wide_form form;

            form = *forms[i];
            form.batch = 40;
            return cv_wide_open(&form, input, 2, false, ahead, err);
        }
    return cv_ahead_open(codec, input, 2, ahead, err);
}

/* By several threads: as `decode`. */
static enum cleave_status decode_ahead(const struct cv_codec *codec, struct tape tape,
                                       bool small, size_t *made, uint32_t *sum,
                                       struct cleave_error *err)
{
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    struct cv_ahead *ahead;
    enum cleave_status status;
    const void *bytes;
    size_t length;

    *made = 0;
    *sum = 0;
    require(open_ahead(codec, &input, small, &ahead, err) == CLEAVE_OK);
    do {
        status = ahead->next(ahead, &bytes, &length, err);
        for (size_t i = 0; status == CLEAVE_OK && i < length; i++)
            *sum = *sum * 31 + ((const uint8_t *)bytes)[i];
        *made += status == CLEAVE_OK ? length : 0;
    } while (status == CLEAVE_OK && length > 0 && *made < MOST);
    ahead->free(ahead);
    return status;
}

/* How many bytes are made, up to MOST; *sum depends on all of them. */
static enum cleave_status decode(const struct cv_codec *codec, struct tape tape,
                                 size_t *made, uint32_t *sum, struct cleave_error *err)
{
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    struct cv_decoder *decoder;
    enum cleave_status status;
    const void *bytes;
    size_t length;

    *made = 0;
    *sum = 0;
    require(cv_decoder_open(codec, &input, &decoder, err) == CLEAVE_OK);
    do {
        status = cv_decoder_next(decoder, &bytes, &length, err);
        for (size_t i = 0; status == CLEAVE_OK && i < length; i++)
            *sum = *sum * 31 + ((const uint8_t *)bytes)[i];
        *made += status == CLEAVE_OK ? length : 0;
    } while (status == CLEAVE_OK && length > 0 && *made < MOST);
    cv_decoder_free(decoder);
    return status;
}

/* The same, each block by itself, from the last to the first. False: one cannot be decoded. */
static bool decode_blocks(const struct cv_codec *codec, int fd, struct cv_blocks *blocks,
                          uint32_t *sum)
{
    const size_t count = blocks->count, size = (size_t)blocks->out_end;
    uint64_t *begins = malloc((count + 1) * sizeof *begins);
    uint8_t *bytes = calloc(size + 1, 1);
    struct cv_unpacked *unpacked;
    bool good = true;

    require(bytes != NULL && begins != NULL);
    for (size_t i = 0; i < count; i++)
        begins[i] = blocks->items[i].out;
    begins[count] = size;
    require(cv_unpacked_new(codec, "tape", blocks, &unpacked, NULL) == CLEAVE_OK);
    cv_unpacked_use(unpacked, fd);
    for (size_t i = count; good && i > 0; i--) {
        struct cv_well *well = cv_unpacked_well(unpacked);
        size_t got = 0;

        for (uint64_t at = begins[i - 1]; good && at < begins[i]; at += got)
            good = well->read(well, at, bytes + at, (size_t)(begins[i] - at), &got,
                              NULL) == CLEAVE_OK &&
                   got > 0;
    }
    *sum = 0;
    for (size_t i = 0; good && i < size; i++)
        *sum = *sum * 31 + bytes[i];
    cv_unpacked_free(unpacked);
    free(begins);
    free(bytes);
    return good;
}

static void compare_ahead(const struct cv_codec *codec, struct tape tape, bool small)
{
    struct cleave_error err, err_ahead;
    size_t made, made_ahead;
    uint32_t sum, sum_ahead;
    const enum cleave_status status = decode(codec, tape, &made, &sum, &err);
    const enum cleave_status ahead =
        decode_ahead(codec, tape, small, &made_ahead, &sum_ahead, &err_ahead);

    if (made >= MOST || made_ahead >= MOST)
        return;
    require(status == ahead);
    if (status != CLEAVE_OK && codec == &cv_codec_bzip2)
        return;
    require(made == made_ahead && sum == sum_ahead);
    require(status == CLEAVE_OK || strcmp(err.text, err_ahead.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "gzip", "bgzf", "zstd", "xz", "bzip2", "lz4" };
    const struct cv_codec *codec;
    struct cv_blocks blocks = { .items = NULL };
    enum cleave_status status, again;
    struct cleave_error err;
    size_t made, made_again;
    uint32_t sum, sum_again;
    bool whole;
    int fd;

    if (size < 2)
        return 0;
    codec = cv_codec_named(names[data[0] % 6]);
    status = decode(codec, (struct tape){ data + 1, size - 1, size }, &made, &sum, &err);
    again = decode(codec, (struct tape){ data + 1, size - 1, 1 + data[0] / 6u },
                   &made_again, &sum_again, &err);
    if (codec != &cv_codec_gzip && codec != &cv_codec_xz) {
        compare_ahead(codec, (struct tape){ data + 1, size - 1, 1 + data[0] / 6u },
                      false);
        compare_ahead(codec, (struct tape){ data + 1, size - 1, size }, true);
    }
    if (made < MOST && made_again < MOST && status == CLEAVE_OK)
        require(again == status && made == made_again && sum == sum_again);
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    require(cv_blocks_find(&blocks, codec, fd, size - 1, &whole, NULL) == CLEAVE_OK);
    for (size_t i = 1; whole && i < blocks.count; i++)
        require(blocks.items[i].out > blocks.items[i - 1].out &&
                blocks.items[i].in > blocks.items[i - 1].in);
    if (whole && status == CLEAVE_OK && made < MOST) {
        const uint64_t all = blocks.out_end;

        require(made == all || blocks.told_end > 0); /* a table may be wrong */
        if (all < MOST && decode_blocks(codec, fd, &blocks, &sum_again))
            require(made == all && sum == sum_again);
    }
    cv_blocks_done(&blocks);
    close(fd);
    return 0;
}
