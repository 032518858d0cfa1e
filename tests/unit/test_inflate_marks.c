/* test_inflate_marks.c -- deflate from any block on, the bytes before it unknown at first.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "deflate_sample.h"
#include "run/inflate/inflate_marks.h"

enum { LENGTH = 600000, BLOCKS = 4096 };

static uint8_t bytes[LENGTH], plain[LENGTH + 64], resolved[LENGTH];
static uint16_t cells[CV_INFLATE_WINDOW + LENGTH + 64];
static struct sample_block blocks[BLOCKS];

/* From `block` on to the end, `step` bytes of input and `room` cells at a time. */
static void decode_from(const uint8_t *packed, size_t length, struct sample_block block,
                        size_t step, size_t room)
{
    struct cv_inflate *inflate = malloc(sizeof *inflate);
    const uint8_t *in = packed + block.bit / 8, *const end = packed + length;
    size_t at = CV_INFLATE_WINDOW, some = (size_t)(end - in);
    const size_t all = LENGTH - block.made;
    enum cv_inflate_state state;

    cv_marks_fill(cells);
    cv_inflate_marks_begin(inflate);
    cv_inflate_skip_bits(inflate, &in, &some, block.bit % 8);
    do {
        size_t max = CV_INFLATE_WINDOW + LENGTH;

        max = at + room < max ? at + room : max;
        some = (size_t)(end - in) < step ? (size_t)(end - in) : step;
        state = cv_inflate_marks_run(inflate, &in, &some, cells, &at, max);
        assert_true(state != CV_INFLATE_BAD);
    } while (state != CV_INFLATE_END);
    assert_int_equal(at, CV_INFLATE_WINDOW + all);
    cv_marks_resolve(cells + CV_INFLATE_WINDOW, all,
                     bytes + block.made - CV_INFLATE_WINDOW, resolved);
    assert_memory_equal(resolved, bytes + block.made, all);
    /* The same, over the cells themselves. */
    cv_marks_resolve(cells + CV_INFLATE_WINDOW, all,
                     bytes + block.made - CV_INFLATE_WINDOW,
                     (uint8_t *)(cells + CV_INFLATE_WINDOW));
    assert_memory_equal(cells + CV_INFLATE_WINDOW, bytes + block.made, all);
    free(inflate);
}

static void marks_become_bytes(void **state)
{
    static const int levels[] = { 0, 1, 6, 9 };
    size_t tried = 0;

    (void)state;
    for (enum sample_kind kind = 0; kind < SAMPLE_KINDS; kind++)
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
            size_t length, count;
            uint8_t *packed;

            sample_fill(kind, bytes, LENGTH);
            packed = sample_deflate(bytes, LENGTH, levels[i], &length);
            count = sample_blocks(packed, length, plain, LENGTH + 1, blocks, BLOCKS);
            assert_memory_equal(plain, bytes, LENGTH);
            for (size_t b = 0; b < count; b += 1 + count / 3)
                if (blocks[b].made >= CV_INFLATE_WINDOW) {
                    decode_from(packed, length, blocks[b], length, LENGTH);
                    decode_from(packed, length, blocks[b], 1 + 7 * i, 1000 + i);
                    tried++;
                }
            free(packed);
        }
    assert_true(tried > 15);
}

/* A stop before a block changes nothing, and is told once. */
static void stops_are_where_blocks_begin(void **state)
{
    size_t length, count;
    uint8_t *packed;

    (void)state;
    sample_fill(SAMPLE_TEXT, bytes, LENGTH);
    packed = sample_deflate(bytes, LENGTH, 1, &length);
    count = sample_blocks(packed, length, plain, LENGTH + 1, blocks, BLOCKS);
    assert_true(count >= 3);
    assert_memory_equal(plain, bytes, LENGTH);
    for (size_t i = 1; i < count; i++) {
        assert_true(blocks[i].bit > blocks[i - 1].bit);
        assert_true(blocks[i].made > blocks[i - 1].made);
    }
    free(packed);
}

static void clean_cells_are_counted_from_the_end(void **state)
{
    uint16_t some[100];
    uint8_t out[100];

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        some[i] = (uint16_t)i;
    assert_int_equal(cv_marks_clean(some, 100), 100);
    assert_int_equal(cv_marks_clean(some, 0), 0);
    some[40] = CV_MARK;
    assert_int_equal(cv_marks_clean(some, 100), 59);
    some[99] = CV_MARK | 1;
    assert_int_equal(cv_marks_clean(some, 100), 0);
    cv_marks_narrow(some + 41, 58, out);
    for (unsigned i = 0; i < 58; i++)
        assert_int_equal(out[i], 41 + i);
}

/* Any number of them, and the first and the last byte of the window. */
static void marks_say_which_byte(void **state)
{
    static uint8_t window[CV_INFLATE_WINDOW];
    uint16_t some[20];
    uint8_t out[21];

    (void)state;
    for (unsigned i = 0; i < CV_INFLATE_WINDOW; i++)
        window[i] = (uint8_t)(i % 251);
    for (unsigned count = 0; count <= 20; count++) {
        for (unsigned i = 0; i < 20; i++)
            some[i] = (uint16_t)(i % 2 == 0 ? CV_MARK | (CV_INFLATE_WINDOW - 1 - i) : i);
        some[0] = CV_MARK;
        memset(out, 0xEE, sizeof out);
        cv_marks_resolve(some, count, window, out);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(out[i], i == 0       ? 0
                                     : i % 2 == 0 ? (CV_INFLATE_WINDOW - 1 - i) % 251
                                                  : i);
        assert_int_equal(out[count], 0xEE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_become_bytes),
        cmocka_unit_test(stops_are_where_blocks_begin),
        cmocka_unit_test(clean_cells_are_counted_from_the_end),
        cmocka_unit_test(marks_say_which_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
