/* test_inflate_find.c -- blocks of deflate are found where they are. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "deflate_sample.h"
#include "run/inflate/inflate_marks.h"

enum { LENGTH = 600000, BLOCKS = 1024, SLACK = 32 };

static uint8_t bytes[LENGTH], plain[LENGTH + 64];
static struct sample_block blocks[BLOCKS];
static struct cv_inflate scratch;

/* The three bits that a block begins with. */
static unsigned kind_at(const uint8_t *packed, uint64_t bit)
{
    return (packed[bit / 8] | (unsigned)packed[bit / 8 + 1] << 8) >> bit % 8 & 7;
}

/* All blocks with codes of their own, and nothing else. */
static void look_through(const uint8_t *packed, size_t length, size_t count,
                         size_t *found)
{
    uint64_t from = 1, bit;

    for (size_t i = 0; i < count; i++) {
        if (kind_at(packed, blocks[i].bit) != 4 || blocks[i].bit / 8 + SLACK >= length)
            continue;
        assert_true(cv_inflate_find(packed, length, from, 8 * length, &scratch, &bit));
        assert_int_equal(bit, blocks[i].bit);
        assert_false(cv_inflate_find(packed, length, from, bit, &scratch, &bit));
        assert_true(cv_inflate_find(packed, length, bit, bit + 1, &scratch, &bit));
        from = bit + 1;
        ++*found;
    }
    assert_false(cv_inflate_find(packed, length, from, 8 * length, &scratch, &bit));
}

static void blocks_are_found(void **state)
{
    static const int levels[] = { 0, 1, 6, 12 };
    size_t found = 0;

    (void)state;
    for (enum sample_kind kind = 0; kind < SAMPLE_KINDS; kind++)
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
            size_t length, count;
            uint8_t *packed;

            sample_fill(kind, bytes, LENGTH);
            packed = sample_deflate(bytes, LENGTH, levels[i], &length);
            count = sample_blocks(packed, length, plain, LENGTH + 1, blocks, BLOCKS);
            look_through(packed, length, count, &found);
            free(packed);
        }
    assert_true(found > 15);
}

/* Bits before a block move it: it is found at any of the eight places of a byte. */
static void blocks_are_found_at_any_bit(void **state)
{
    uint8_t *packed, *moved;
    size_t length, count;
    uint64_t bit;

    (void)state;
    sample_fill(SAMPLE_NUMBERS, bytes, LENGTH);
    packed = sample_deflate(bytes, LENGTH, 1, &length);
    count = sample_blocks(packed, length, plain, LENGTH + 1, blocks, BLOCKS);
    assert_true(count > 2);
    moved = calloc(length + 1, 1);
    for (unsigned by = 0; by < 8; by++) {
        for (size_t i = 0; i < length; i++)
            moved[i] = (uint8_t)((packed[i] << by) |
                                 (i > 0 && by > 0 ? packed[i - 1] >> (8 - by) : 0));
        assert_true(cv_inflate_find(moved, length, blocks[0].bit + by - 1, 8 * length,
                                    &scratch, &bit));
        assert_int_equal(bit, blocks[0].bit + by);
    }
    free(packed);
    free(moved);
}

static void nothing_is_found_in_little(void **state)
{
    uint64_t bit;

    (void)state;
    memset(plain, 0, sizeof plain);
    for (size_t length = 0; length < 100; length++)
        assert_false(cv_inflate_find(plain, length, 0, 8 * length, &scratch, &bit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_found),
        cmocka_unit_test(blocks_are_found_at_any_bit),
        cmocka_unit_test(nothing_is_found_in_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
