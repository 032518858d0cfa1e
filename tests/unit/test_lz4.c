/* test_lz4.c -- frames of lz4 of all kinds. SPDX-License-Identifier: MIT */
#include <lz4frame.h>

#include "ahead_both.h"

enum {
    TEXT = 900000,
    CHECKS = 1,  /* each block has one   */
    CHECKED = 2, /* the frame has one    */
    SIZED = 4,   /* the header has the length */
    LINKED = 8,  /* blocks copy from earlier blocks */
    KINDS = 16,
};

static uint8_t text[TEXT];

/* A frame, of blocks of 64 KiB, after the bytes of the tape. */
static void add_lz4(struct tape *tape, size_t length, unsigned kind)
{
    LZ4F_preferences_t how = { .compressionLevel = 1 };
    size_t made;

    how.frameInfo.blockSizeID = LZ4F_max64KB;
    how.frameInfo.blockMode =
        (kind & LINKED) != 0 ? LZ4F_blockLinked : LZ4F_blockIndependent;
    how.frameInfo.blockChecksumFlag =
        (kind & CHECKS) != 0 ? LZ4F_blockChecksumEnabled : 0;
    how.frameInfo.contentChecksumFlag =
        (kind & CHECKED) != 0 ? LZ4F_contentChecksumEnabled : 0;
    how.frameInfo.contentSize = (kind & SIZED) != 0 ? length : 0;
    made = LZ4F_compressFrame(tape->bytes + tape->length, ROOM - tape->length, text,
                              length, &how);
    assert_false(LZ4F_isError(made));
    tape->length += made;
}

/* Compare decoded bytes with the text, repeated. */
static struct made decode(const struct tape *tape, size_t length)
{
    struct made made;

    decode_alone(&cv_codec_lz4, *tape, &made);
    for (size_t at = 0; at < made.length; at += length)
        assert_memory_equal(made.bytes + at, text,
                            made.length - at < length ? made.length - at : length);
    free(made.bytes);
    made.bytes = NULL;
    return made;
}

static void all_kinds(void **state)
{
    static const char skipped[] = "\x53\x2a\x4d\x18\x03\x00\x00\x00xyz";
    struct tape tape = new_tape();

    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct made made;

        tape.length = 0;
        add_lz4(&tape, TEXT, kind);
        add(&tape, skipped, sizeof skipped - 1);
        add_lz4(&tape, TEXT, kind);
        for (tape.step = 7; tape.step <= ROOM; tape.step *= 199) {
            made = decode(&tape, TEXT);
            assert_int_equal(made.status, CLEAVE_OK);
            assert_int_equal(made.length, 2 * TEXT);
        }
        tape.step = ROOM;
        compare_members(&cv_codec_lz4, tape);
    }
    free(tape.bytes);
}

static void an_early_end(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 40, 0, 0, 0);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        size_t whole;

        tape.length = 0;
        add_lz4(&tape, 300000, kind);
        whole = tape.length;
        for (unsigned i = 1; i < 14; i++) {
            struct made made;

            tape.length = i < 9 ? whole - i : 1 + below(&rng, whole - 1);
            made = decode(&tape, 300000);
            assert_int_equal(made.status, CLEAVE_EINPUT);
            assert_true(made.inside);
        }
    }
    free(tape.bytes);
}

static void changed_bits(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 41, 0, 0, 0);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        tape.length = 0;
        add_lz4(&tape, 300000, kind);
        for (unsigned i = 0; i < 24; i++) {
            const size_t at =
                i < 12 ? tape.length - 1 - i : 4 + below(&rng, tape.length - 4);
            const uint8_t change = (uint8_t)(1u << below(&rng, 8));
            struct made made;

            tape.bytes[at] ^= change;
            decode_alone(&cv_codec_lz4, tape, &made);
            if (made.status == CLEAVE_OK)
                assert_false(kind & (CHECKS | CHECKED));
            else if ((kind & CHECKS) != 0) /* all before is right */
                assert_memory_equal(made.bytes != NULL ? made.bytes : text, text,
                                    made.length);
            free(made.bytes);
            tape.bytes[at] ^= change;
        }
    }
    free(tape.bytes);
}

/* The check of each block fits, the check of the frame does not. */
static void blocks_in_another_order(void **state)
{
    struct tape tape = new_tape();
    struct made made;
    uint8_t *first, *last;
    uint8_t block[70000];

    (void)state;
    add_lz4(&tape, (size_t)65536 * 8, CHECKS | CHECKED);
    first = tape.bytes + 7;
    last = tape.bytes + tape.length - 8;
    for (uint8_t *at = first; at + 4 < last;) {
        const size_t length = 8 + (at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16);

        if (at + length == last) { /* the last block becomes the first */
            memcpy(block, at, length);
            memmove(first + length, first, (size_t)(at - first));
            memcpy(first, block, length);
        }
        at += length;
    }
    decode_alone(&cv_codec_lz4, tape, &made);
    assert_int_equal(made.status, CLEAVE_EINPUT);
    assert_non_null(strstr(made.err.text, "bytes that do not fit their check; 524288 "));
    assert_true(made.inside);
    free(made.bytes);
    free(tape.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds),
        cmocka_unit_test(an_early_end),
        cmocka_unit_test(changed_bits),
        cmocka_unit_test(blocks_in_another_order),
    };
    struct cv_random rng;

    cv_random_at(&rng, 42, 0, 0, 0);
    fill(text, TEXT, &rng);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
