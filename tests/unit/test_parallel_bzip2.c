/* test_parallel_bzip2.c -- blocks of bzip2 are decoded apart, also where they only seem to begin.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <bzlib.h>

#include "ahead_both.h"

#define BLOCK_MARK UINT64_C(0x314159265359)
#define END_MARK UINT64_C(0x177245385090)

/* An error less how many bytes were made: whole blocks here, whole buffers there. */
static void strip(struct cleave_error *err)
{
    char *end = strrchr(err->text, ';');

    if (end != NULL)
        *end = '\0';
}

/* Both ways. A failed stream gives no byte of a damaged block. */
static size_t compare(const struct tape *tape, bool whole)
{
    const struct cv_codec *codec = &cv_codec_bzip2;
    struct made one, several;
    size_t length;

    decode_alone(codec, *tape, &one);
    decode_ahead(codec, *tape, 2, &several);
    assert_int_equal(one.status, several.status);
    length = one.length < several.length ? one.length : several.length;
    if (one.status == CLEAVE_OK || whole)
        assert_int_equal(one.length, several.length);
    if (length > 0)
        assert_memory_equal(one.bytes, several.bytes, length);
    strip(&one.err);
    strip(&several.err);
    if (one.status != CLEAVE_OK)
        assert_string_equal(one.err.text, several.err.text);
    assert_int_equal(one.inside, several.inside);
    length = several.length;
    free(one.bytes);
    free(several.bytes);
    return length;
}

/* --- streams of the library ----------------------------------------------------------------- */

static void add_stream(struct tape *tape, uint8_t *text, size_t length, int level)
{
    unsigned made = (unsigned)(ROOM - tape->length);

    assert_int_equal(BZ2_bzBuffToBuffCompress((char *)tape->bytes + tape->length, &made,
                                              (char *)text, (unsigned)length, level, 0,
                                              0),
                     BZ_OK);
    tape->length += made;
}

static void make(struct tape *tape, struct cv_random *rng, unsigned streams)
{
    uint8_t *text = malloc(ROOM);

    tape->length = tape->at = 0;
    tape->fails_at = ROOM;
    tape->step = below(rng, 2) == 0 ? 1 + below(rng, 5000) : ROOM;
    for (unsigned i = 0; i < streams; i++) {
        const size_t length = i % 3 == 2 ? 0 : below(rng, 400000);

        fill(text, length, rng);
        memset(text + length / 2, 'z', length / 3);
        add_stream(tape, text, length, 1 + (int)below(rng, 2));
    }
    free(text);
}

static void whole_files(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 30, 0, 0, 0);
    for (unsigned i = 0; i < 6; i++) {
        make(&tape, &rng, i);
        compare(&tape, true);
        compare_members(&cv_codec_bzip2, tape);
    }
    free(tape.bytes);
}

static void files_that_are_cut_short_or_changed(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 31, 0, 0, 0);
    for (unsigned i = 0; i < 12; i++) {
        make(&tape, &rng, 1 + i % 2);
        if (i % 3 == 0)
            tape.length = below(&rng, tape.length);
        else if (i % 3 == 1)
            tape.length -= 1 + below(&rng, 12);
        else
            tape.bytes[below(&rng, tape.length)] ^= (uint8_t)(1u << below(&rng, 8));
        compare(&tape, i % 3 < 2);
    }
    free(tape.bytes);
}

/* The end of a stream: its mark, the check over all blocks, and the bits after it. */
static void every_bit_of_an_end(void **state)
{
    struct tape tape = { .bytes = malloc(ROOM), .fails_at = ROOM, .step = ROOM };
    uint8_t text[200];
    size_t first;

    (void)state;
    memset(text, 'x', sizeof text);
    add_stream(&tape, text, sizeof text, 1);
    first = tape.length;
    add_stream(&tape, text, sizeof text, 9);
    for (size_t bit = (first - 11) * 8; bit < (first + 10) * 8; bit++) {
        tape.bytes[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
        compare(&tape, false);
        tape.bytes[bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
    }
    for (; tape.length > 0; tape.length--)
        compare(&tape, true);
    compare(&tape, true);
    free(tape.bytes);
}

static void trailing_bytes(void **state)
{
    static const char *const behind[] = { "x",          "BZ",
                                          "BZh",        "BZh9",
                                          "BZh91AY&SY", "BZh9and more of it",
                                          "BZh91AY&S",  "BZh9\x17rE8P",
                                          "1AY&SY",     "and this" };
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 32, 0, 0, 0);
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++)
        for (unsigned streams = 0; streams < 2; streams++) {
            make(&tape, &rng, streams);
            add(&tape, behind[i], strlen(behind[i]));
            compare(&tape, true);
        }
    make(&tape, &rng, 2);
    for (size_t i = 0; i < 3; i++) {
        tape.fails_at = i * (tape.length / 3);
        compare(&tape, false);
    }
    free(tape.bytes);
}

/* --- streams made by hand ------------------------------------------------------------------- */

static uint32_t check_of(const uint8_t *bytes, size_t length)
{
    uint32_t check = 0xFFFFFFFF;

    for (size_t i = 0; i < length; i++) {
        check ^= (uint32_t)bytes[i] << 24;
        for (int bit = 0; bit < 8; bit++)
            check = (check & 0x80000000) != 0 ? check << 1 ^ 0x04C11DB7 : check << 1;
    }
    return ~check;
}

/* Bits in the order of bzip2: the first one is the highest of its byte. */
struct bits {
    uint8_t *bytes; /* owned */
    uint64_t count;
};

/* The lowest `count` bits of a number. */
static void put_bits(struct bits *bits, uint64_t number, unsigned count)
{
    bits->bytes = realloc(bits->bytes, (size_t)(bits->count + count) / 8 + 1);
    assert_non_null(bits->bytes);
    for (; count > 0; bits->count++) {
        uint8_t *to = &bits->bytes[bits->count / 8];
        const unsigned bit = (unsigned)(number >> --count & 1);

        *to = (uint8_t)((bits->count % 8 > 0 ? *to : 0) | bit << (7 - bits->count % 8));
    }
}

/* A block whose symbols, of 8 bits each, are the bytes of `data`, all of 2 to 253: all bytes are in
 * use, so that there are 258 symbols; the last one, nine ones, ends it. */
static void put_block(struct bits *bits, const uint8_t *data, size_t length,
                      uint32_t check)
{
    const size_t selectors = (length + 1 + 49) / 50;

    put_bits(bits, BLOCK_MARK, 48);
    put_bits(bits, check, 32);
    put_bits(bits, 1, 1 + 24); /* not randomised; where the text begins */
    for (int i = 0; i < 17; i++)
        put_bits(bits, 0xFFFF, 16);
    put_bits(bits, 2, 3);
    put_bits(bits, selectors, 15);
    for (size_t i = 0; i < selectors; i++)
        put_bits(bits, 0, 1);
    for (int table = 0; table < 2; table++) {
        put_bits(bits, 8, 5);
        for (int i = 0; i < 258; i++) {
            if (i == 254)
                put_bits(bits, 2, 2);
            put_bits(bits, 0, 1);
        }
    }
    for (size_t i = 0; i < length; i++)
        put_bits(bits, data[i], 8);
    put_bits(bits, 0x1FF, 9);
}

/* The check that the block has to have: the library decodes it before it looks at that. */
static uint32_t find_check(const uint8_t *data, size_t length)
{
    struct bits bits = { .bytes = NULL };
    char *out = malloc(ROOM);
    bz_stream stream;
    uint32_t check;

    memset(&stream, 0, sizeof stream);
    put_bits(&bits, 0x425A6839, 32);
    put_block(&bits, data, length, 0);
    put_bits(&bits, 0, 64);
    assert_int_equal(BZ2_bzDecompressInit(&stream, 0, 0), BZ_OK);
    stream.next_in = (char *)bits.bytes;
    stream.avail_in = (unsigned)(bits.count / 8);
    stream.next_out = out;
    stream.avail_out = ROOM;
    assert_int_equal(BZ2_bzDecompress(&stream), BZ_DATA_ERROR);
    assert_true(ROOM - stream.avail_out >= length);
    check = check_of((uint8_t *)out, ROOM - stream.avail_out);
    BZ2_bzDecompressEnd(&stream);
    free(bits.bytes);
    free(out);
    return check;
}

/* Blocks with marks inside them; `damage`: a bit after the first one is changed. */
static void make_false(struct tape *tape, struct cv_random *rng, unsigned blocks,
                       bool damage)
{
    enum { LENGTH = 900 };
    static const char marks[2][7] = { "1AY&SY", "\x17rE8P\x90" };
    struct bits bits = { .bytes = NULL };
    uint32_t all = 0;

    put_bits(&bits, 0x425A6839, 32);
    for (unsigned i = 0; i < blocks; i++) {
        uint8_t data[LENGTH];
        uint32_t check;

        for (size_t k = 0; k < LENGTH; k++)
            data[k] = (uint8_t)(2 + below(rng, 252));
        for (size_t k = 0; k < i; k++)
            memcpy(data + 50 + 100 * k, marks[below(rng, 2)], 6);
        check = find_check(data, LENGTH);
        all = (all << 1 | all >> 31) ^ check;
        if (damage && i + 1 == blocks)
            data[LENGTH - 1] ^= 1;
        put_block(&bits, data, LENGTH, check);
    }
    put_bits(&bits, END_MARK, 48);
    put_bits(&bits, all, 32);
    tape->length = tape->at = 0;
    tape->fails_at = ROOM;
    tape->step = 1 + below(rng, 3000);
    add(tape, bits.bytes, (size_t)((bits.count + 7) / 8));
    free(bits.bytes);
}

static void marks_inside_blocks(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 33, 0, 0, 0);
    for (unsigned i = 1; i < 9; i++) {
        make_false(&tape, &rng, i, false);
        assert_true(compare(&tape, true) >= (size_t)900 * i);
        make_false(&tape, &rng, i, true);
        assert_true(compare(&tape, false) >= (size_t)900 * (i - 1));
        tape.length -= 300; /* the end of the last block is missing */
        compare(&tape, false);
    }
    free(tape.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files),
        cmocka_unit_test(files_that_are_cut_short_or_changed),
        cmocka_unit_test(every_bit_of_an_end),
        cmocka_unit_test(trailing_bytes),
        cmocka_unit_test(marks_inside_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
