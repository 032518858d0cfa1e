/* test_seekable.c -- frames of zstd that a table at the end of the file tells.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/fail.h"
#include "run/decode/decoded_file.h"

enum { FRAMES = 5, ROOM = 4096 };

/* For each frame: bytes in the file and decoded. They are `text`. */
struct made {
    uint8_t bytes[ROOM];
    size_t n, table;
    uint32_t rows[FRAMES][2];
    char text[ROOM];
    size_t length;
};

static void put(struct made *made, uint64_t number, unsigned count)
{
    for (; count > 0; count--, number >>= 8)
        made->bytes[made->n++] = (uint8_t)number;
}

static void put_table(struct made *made, bool checks, unsigned count)
{
    const unsigned row = checks ? 12 : 8;

    made->table = made->n;
    put(made, 0x184D2A5E, 4);
    put(made, count * row + 9, 4);
    for (size_t i = 0; i < count; i++) {
        put(made, made->rows[i][0], 4);
        put(made, made->rows[i][1], 4);
        put(made, 0, checks ? 4 : 0);
    }
    put(made, count, 4);
    put(made, checks ? 0x80 : 0, 1);
    put(made, 0x8F92EAB1, 4);
}

/* Frames without their decoded size, as from a stream. */
static void make(struct made *made)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();

    memset(made, 0, sizeof *made);
    assert_non_null(context);
    for (size_t i = 0; i < FRAMES; i++) {
        const size_t length = 40 + 30 * i, before = made->n;
        ZSTD_outBuffer out = { made->bytes, ROOM, made->n };
        ZSTD_inBuffer in = { made->text + made->length, length, 0 };

        for (size_t k = 0; k < length; k++)
            made->text[made->length + k] = (char)('a' + (i + k * k) % 23);
        assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue), 0);
        assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0);
        made->n = out.pos;
        made->length += length;
        made->rows[i][0] = (uint32_t)(made->n - before);
        made->rows[i][1] = (uint32_t)length;
    }
    ZSTD_freeCCtx(context);
}

static int file_of(const struct made *made)
{
    const int fd = memfd_create("seekable", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, made->bytes, made->n), made->n);
    return fd;
}

/* Whether its blocks are known; if so, they are decoded one by one, from the last to the
 * first. *good: all of them decoded, and the result equals the compressed bytes. */
static bool decode(const struct made *made, bool *good, struct cleave_error *err)
{
    const int fd = file_of(made);
    struct cv_blocks blocks = { .items = NULL };
    struct cv_decoded_file *decoded = NULL;
    enum cleave_status status = CLEAVE_OK;
    uint64_t begins[FRAMES + 1];
    size_t count;
    bool whole, same = true;

    whole = cv_blocks_find(&blocks, &cv_codec_zstd, fd, made->n);
    count = blocks.count;
    *good = whole && count <= FRAMES && blocks.out_end == made->length;
    for (size_t i = 0; *good && i < count; i++)
        begins[i] = blocks.items[i].out;
    begins[*good ? count : 0] = made->length;
    if (*good)
        assert_int_equal(cv_decoded_file_new(&cv_codec_zstd, "x", &blocks, &decoded,
                                             NULL),
                         CLEAVE_OK);
    if (*good)
        cv_decoded_file_use(decoded, fd);
    for (size_t i = count; *good && i > 0 && status == CLEAVE_OK; i--)
        for (uint64_t at = begins[i - 1]; at < begins[i] && status == CLEAVE_OK;) {
            struct cv_lazy_reader *lazy = &decoded->reader;
            char got[ROOM];
            size_t length = 0;

            status = lazy->read(lazy, at, got, (size_t)(begins[i] - at), &length, err);
            same = same && memcmp(got, made->text + at, length) == 0;
            at += length;
        }
    *good = *good && status == CLEAVE_OK;
    assert_true(same || !*good); /* damage is an error at the latest at its end */
    cv_decoded_file_free(decoded);
    cv_blocks_done(&blocks);
    close(fd);
    return whole;
}

static void frames_without_their_sizes_are_found(void **state)
{
    struct made made;
    bool good;

    (void)state;
    make(&made);
    assert_false(decode(&made, &good, NULL)); /* without a table */
    for (int checks = 0; checks < 2; checks++) {
        make(&made);
        put_table(&made, checks, FRAMES);
        assert_true(decode(&made, &good, NULL));
        assert_true(good);
    }
}

/* Rows that add up, but are of other frames: nothing is left out or given twice. */
static void a_table_that_lies_is_an_error(void **state)
{
    static const struct {
        size_t row, column;
        int by;
        size_t other_row;
    } lies[] = {
        { 0, 1, 10, 1 },  /* more bytes than it holds, and the next one fewer   */
        { 0, 1, -10, 1 }, /* fewer                                              */
        { 1, 0, 3, 2 },   /* it ends after its end */
        { 3, 1, -5, 4 },
    };
    struct cleave_error err;
    struct made made;
    bool good;

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        make(&made);
        made.rows[lies[i].row][lies[i].column] += (uint32_t)lies[i].by;
        made.rows[lies[i].other_row][lies[i].column] -= (uint32_t)lies[i].by;
        put_table(&made, false, FRAMES);
        assert_true(decode(&made, &good, &err));
        assert_false(good);
        assert_int_equal(err.status, CLEAVE_EINPUT);
    }
    /* The last row hides a frame that would never be decoded. */
    make(&made);
    made.rows[3][0] += made.rows[4][0];
    made.length -= made.rows[4][1];
    put_table(&made, false, FRAMES - 1);
    assert_true(decode(&made, &good, &err));
    assert_false(good);
    assert_string_equal(err.text,
                        "damaged: the table of its frames does not fit them, at 340 of "
                        "the bytes that are decoded");
    /* A table without the last frame is not used. */
    make(&made);
    put_table(&made, false, FRAMES - 1);
    assert_false(decode(&made, &good, &err));
}

/* Decoding elsewhere needs frames that agree with the table. */
static void frames_prove_their_table(void **state)
{
    (void)state;
    for (int sized = 0; sized < 2; sized++)
        for (int lie = 0; lie < 2; lie++) {
            struct cv_blocks blocks = { .items = NULL };
            struct made made;
            bool whole;
            int fd;

            make(&made);
            for (size_t i = made.n = 0, at = 0; sized && i < FRAMES; i++) {
                made.rows[i][0] =
                    (uint32_t)ZSTD_compress(made.bytes + made.n, ROOM - made.n,
                                            made.text + at, made.rows[i][1], 3);
                made.n += made.rows[i][0];
                at += made.rows[i][1];
            }
            if (!sized)
                make(&made);
            made.rows[2][1] += (uint32_t)lie;
            put_table(&made, false, FRAMES);
            fd = file_of(&made);
            whole = cv_blocks_find(&blocks, &cv_codec_zstd, fd, made.n);
            assert_true(whole && blocks.table_end == made.table);
            assert_int_equal(cv_blocks_verify_table(&blocks, fd, 0, blocks.out_end),
                             sized && !lie);
            assert_int_equal(cv_blocks_verify_table(&blocks, fd, 0, 110),
                             sized); /* two of them */
            assert_int_equal(cv_blocks_verify_table(&blocks, fd, 0, 111), sized && !lie);
            blocks.table_end = 0; /* without a table */
            assert_true(cv_blocks_verify_table(&blocks, fd, 0, blocks.out_end));
            cv_blocks_done(&blocks);
            close(fd);
        }
}

/* For any byte of it: it is not used, or decoding fails, or the output is unchanged. */
static void any_damage_of_the_table(void **state)
{
    struct cleave_error err;
    struct made made;
    unsigned refused = 0;
    bool good;

    (void)state;
    make(&made);
    put_table(&made, true, FRAMES);
    for (size_t at = made.table; at < made.n; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            made.bytes[at] ^= (uint8_t)(1U << bit);
            refused += !decode(&made, &good, &err);
            made.bytes[at] ^= (uint8_t)(1U << bit);
        }
    assert_true(refused > 100);
}

/* Whether the bytes of a frame of many buffers can be read to its end. */
static bool reads_to_the_end(const uint8_t *bytes, size_t n, size_t length)
{
    const int fd = memfd_create("frame", MFD_CLOEXEC);
    struct cv_blocks blocks = { .items = NULL };
    struct cv_decoded_file *decoded = NULL;
    enum cleave_status status = CLEAVE_OK;
    struct cv_lazy_reader *lazy;
    uint64_t at = 0;
    bool whole;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    whole = cv_blocks_find(&blocks, &cv_codec_zstd, fd, n);
    assert_true(whole && blocks.out_end == length);
    assert_int_equal(cv_decoded_file_new(&cv_codec_zstd, "x", &blocks, &decoded, NULL),
                     CLEAVE_OK);
    cv_decoded_file_use(decoded, fd);
    lazy = &decoded->reader;
    while (at < length && status == CLEAVE_OK) {
        char got[5000];
        const size_t room = length - at < sizeof got ? (size_t)(length - at) : sizeof got;
        size_t count = 0;

        status = lazy->read(lazy, at, got, room, &count, NULL);
        at += count;
    }
    cv_decoded_file_free(decoded);
    cv_blocks_done(&blocks);
    close(fd);
    return status == CLEAVE_OK;
}

/* The check follows all bytes that it covers: the last bytes are not given out before it
 * was read, for any end of the buffer. */
static void the_end_of_a_frame_waits_for_its_check(void **state)
{
    enum { BUFFER = 128 * 1024, LENGTH = BUFFER + 40 };
    const size_t room = ZSTD_compressBound(LENGTH);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    uint32_t *noise = malloc(LENGTH);
    uint8_t *bytes = malloc(room);

    (void)state;
    assert_true(context != NULL && noise != NULL && bytes != NULL);
    noise[0] = 1;
    for (size_t i = 1; i < LENGTH / sizeof *noise; i++)
        noise[i] = noise[i - 1] * 1664525 + 1013904223;
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    for (size_t length = BUFFER - 40; length < LENGTH; length++) {
        const size_t n = ZSTD_compress2(context, bytes, room, noise, length);

        assert_false(ZSTD_isError(n));
        assert_true(reads_to_the_end(bytes, n, length));
        bytes[n - 1] ^= 1;
        assert_false(reads_to_the_end(bytes, n, length));
    }
    free(bytes);
    free(noise);
    ZSTD_freeCCtx(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_a_frame_waits_for_its_check),
        cmocka_unit_test(frames_without_their_sizes_are_found),
        cmocka_unit_test(a_table_that_lies_is_an_error),
        cmocka_unit_test(frames_prove_their_table),
        cmocka_unit_test(any_damage_of_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
