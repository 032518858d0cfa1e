/* test_inflate.c -- deflate is undone, whatever its codes are and however it comes. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "deflate_made.h"
#include "run/decode/inflate.h"

enum { GUARD = 64, FILLED = 0xA5 };

static struct made_stream stream;
static struct cv_inflate inflate;

/* libdeflate agrees: the test itself makes no mistake. */
static void ask_another(void)
{
    struct libdeflate_decompressor *other = libdeflate_alloc_decompressor();
    uint8_t *out = malloc(stream.nbytes + 1);
    size_t used, made;

    assert_int_equal(libdeflate_deflate_decompress_ex(other, stream.packed,
                                                      stream.npacked, out,
                                                      stream.nbytes + 1, &used, &made),
                     LIBDEFLATE_SUCCESS);
    assert_int_equal(used, stream.npacked);
    assert_int_equal(made, stream.nbytes);
    assert_memory_equal(out, stream.bytes, made);
    free(out);
    libdeflate_free_decompressor(other);
}

/* `step` bytes of input and room for `some` more bytes at a time. No byte is read after
 * the input, which is at the end of its memory, nor written after the room. */
static void decode(size_t step, size_t some)
{
    uint8_t *packed = malloc(stream.npacked), *out = malloc(stream.nbytes + GUARD);
    const uint8_t *in = packed;
    size_t at = 0, room = 0;
    enum cv_inflate_state state;

    memcpy(packed, stream.packed, stream.npacked);
    memset(out, FILLED, stream.nbytes + GUARD);
    cv_inflate_init(&inflate);
    do {
        size_t left = stream.npacked - (size_t)(in - packed), before;

        left = left < step ? left : step;
        before = left;
        room = at + some <= stream.nbytes ? at + some : stream.nbytes + 1;
        state = cv_inflate_run(&inflate, &in, &left, out, &at, room);
        assert_true(at <= room);
        assert_int_equal(out[room], FILLED);
        if (state == CV_INFLATE_MORE)
            assert_true(before > 0 && left == 0);
    } while (state == CV_INFLATE_MORE || state == CV_INFLATE_FULL);
    assert_int_equal(state, CV_INFLATE_END);
    assert_int_equal(at, stream.nbytes);
    assert_memory_equal(out, stream.bytes, at);
    /* Whole bytes left of the bits belong to the next stream. */
    assert_int_equal(in - packed - inflate.nbits / 8, stream.npacked);
    for (unsigned i = 0; i < GUARD; i++)
        assert_int_equal(out[at + i], FILLED);
    free(packed);
    free(out);
}

static void any_codes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        made_draw(&stream, i);
        ask_another();
        decode(SIZE_MAX, SIZE_MAX / 2);
        decode(1 + i * 7, 1 + i * 13);
        decode(SIZE_MAX, 300 + i);
        decode(20 + i, SIZE_MAX / 2);
    }
}

/* Two literals are looked up at once; if there is room for one only, the other one waits. */
static void pairs_end_anywhere(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        made_begin(&stream, 1000 + i);
        made_drawn(&stream, true, 600 + i, 8);
        if (stream.nbytes == 0)
            continue;
        ask_another();
        for (size_t some = 1; some < 9; some++)
            decode(SIZE_MAX, some);
        for (size_t some = 288; some < 300; some++)
            decode(SIZE_MAX, some);
        for (size_t step = 1; step < 24; step++)
            decode(step, SIZE_MAX / 2);
    }
}

/* Copies of each length from each short distance, which repeat themselves, and from the furthest. */
static void copies_of_all_lengths(void **state)
{
    static const unsigned distances[] = {
        1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12,  13,   14,    15,
        16, 17, 18, 31, 32, 33, 39, 40, 41, 64, 255, 256, 4096, 32767, 32768
    };
    struct made_code lits, dists;

    (void)state;
    made_begin(&stream, 2000);
    made_stored(&stream, false, 40000);
    made_fixed_codes(&lits, &dists);
    made_put(&stream, 1, 1);
    made_put(&stream, 1, 2);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++)
        for (unsigned length = 3; length <= 258; length += length < 70 ? 1 : 47) {
            made_literal(&stream, &lits, length & 0xFF);
            made_copy(&stream, &lits, &dists, length, distances[i]);
        }
    made_symbol(&stream, &lits, 256);
    ask_another();
    decode(SIZE_MAX, SIZE_MAX / 2);
    decode(SIZE_MAX, 1000);
    decode(77, 555);
}

/* A changed stream, `step` bytes and room for `some` at a time, up to its end or a mistake. */
static enum cv_inflate_state try(uint8_t *out, size_t max, size_t step, size_t some,
                                 size_t *at, uint64_t *bit)
{
    const uint8_t *in = stream.packed, *const end = stream.packed + stream.npacked;
    enum cv_inflate_state state;

    *at = 0;
    cv_inflate_init(&inflate);
    do {
        size_t left = (size_t)(end - in) < step ? (size_t)(end - in) : step;

        state = cv_inflate_run(&inflate, &in, &left, out, at,
                               max - *at > some ? *at + some : max);
    } while ((state == CV_INFLATE_MORE && in < end) ||
             (state == CV_INFLATE_FULL && *at < max));
    *bit = 8 * (uint64_t)(in - stream.packed) - inflate.nbits;
    return state;
}

/* It ends at the same bit, with success or not, for any splits; and accepted streams are
 * accepted by libdeflate. */
static void changed_streams(void **state)
{
    enum { MOST = MADE_ROOM + 300000 };
    static uint8_t one[MOST], two[MOST];
    struct libdeflate_decompressor *other = libdeflate_alloc_decompressor();
    unsigned bad = 0;

    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        size_t at, at_two, used;
        uint64_t bit, bit_two;
        enum cv_inflate_state first;

        made_draw(&stream, i);
        stream.packed[made_below(&stream, (unsigned)stream.npacked)] ^=
            (uint8_t)(1u << made_below(&stream, 8));
        first = try(one, MOST, SIZE_MAX, SIZE_MAX, &at, &bit);
        assert_int_equal(try(two, MOST, 90 + i, 350, &at_two, &bit_two), first);
        assert_int_equal(at, at_two);
        assert_int_equal(bit, bit_two);
        if (at > 0)
            assert_memory_equal(one, two, at);
        bad += first == CV_INFLATE_BAD;
        if (first != CV_INFLATE_END)
            continue;
        assert_int_equal(libdeflate_deflate_decompress_ex(other, stream.packed,
                                                          stream.npacked, two, MOST,
                                                          &used, &at_two),
                         LIBDEFLATE_SUCCESS);
        assert_int_equal(at, at_two);
        if (at > 0)
            assert_memory_equal(one, two, at);
    }
    assert_true(bad > 30);
    libdeflate_free_decompressor(other);
}

/* There are four bytes before it, and it reaches back by five. */
static void copies_from_before_the_start(void **state)
{
    struct made_code lits, dists;
    uint8_t out[1000];
    uint64_t bit;
    size_t at;

    (void)state;
    made_begin(&stream, 3000);
    made_fixed_codes(&lits, &dists);
    made_put(&stream, 1, 1);
    made_put(&stream, 1, 2);
    for (unsigned i = 0; i < 4; i++)
        made_literal(&stream, &lits, 'a' + i);
    made_symbol(&stream, &lits, 257);
    made_symbol(&stream, &dists, 4);
    made_put(&stream, 0, 1);
    for (unsigned i = 0; i < 400; i++)
        made_literal(&stream, &lits, 'z');
    assert_int_equal(try(out, sizeof out, SIZE_MAX, SIZE_MAX, &at, &bit), CV_INFLATE_BAD);
    assert_int_equal(at, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_from_before_the_start),
        cmocka_unit_test(any_codes),
        cmocka_unit_test(pairs_end_anywhere),
        cmocka_unit_test(copies_of_all_lengths),
        cmocka_unit_test(changed_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
