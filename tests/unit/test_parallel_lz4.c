/* test_parallel_lz4.c -- blocks of one frame of lz4 are decoded apart, and all of the frame is checked.
 * SPDX-License-Identifier: MIT */
#include "lz4_sample.h"
#include "run/decode/parallel_decode.h"

enum { TEXT = 900000, KINDS = LZ4_APART + 1 };

static enum cleave_status compare(const struct tape *tape)
{
    enum cleave_status status;

    compare_ways(cv_codec_named("lz4"), tape, &status);
    return status;
}

static uint8_t *text;

static unsigned settled;

static enum cleave_status count_settled(void *state, struct cv_parallel_decoder *parallel,
                                        struct cv_decode_job *job,
                                        struct cleave_error *err)
{
    settled++;
    return cv_parallel_frames.settle(state, parallel, job, err);
}

/* How many jobs a file is cut into. */
static unsigned jobs_of(struct tape tape)
{
    struct cv_parallel_format counted = cv_parallel_frames;
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    struct cv_ahead *ahead;
    const void *bytes;
    size_t length;

    settled = 0;
    counted.settle = count_settled;
    assert_int_equal(cv_parallel_open(&counted, &cv_codec_lz4, &input, THREADS, false,
                                      &ahead, NULL),
                     CLEAVE_OK);
    do
        assert_int_equal(ahead->next(ahead, &bytes, &length, NULL), CLEAVE_OK);
    while (length > 0);
    ahead->free(ahead);
    return settled;
}

/* --- tests ---------------------------------------------------------------------------------- */

static void one_frame_is_cut_into_several_jobs(void **state)
{
    static const char skipped[] = "\x53\x2a\x4d\x18\x03\x00\x00\x00xyz";
    struct tape tape = new_tape();

    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        tape.length = 0;
        add_lz4(&tape, text, TEXT, kind);
        assert_in_range(jobs_of(tape), 3, 8);
        add_lz4(&tape, text, 100, kind);
        add(&tape, skipped, sizeof skipped - 1);
        add_lz4(&tape, text, TEXT, kind);
        add(&tape, skipped, sizeof skipped - 1);
        add_lz4(&tape, text, 70000, kind);
        assert_in_range(jobs_of(tape), 6, 18);
        compare_members(cv_codec_named("lz4"), tape);
        compare(&tape);
        tape.step = 777;
        compare(&tape);
        tape.step = ROOM;
    }
    tape.length = 0;
    add_lz4(&tape, text, TEXT, LZ4_CHECKED | LZ4_LINKED);
    assert_int_equal(jobs_of(tape), 1);
    compare(&tape);
    free(tape.bytes);
}

/* Many small frames are still decoded together. */
static void small_frames_share_a_job(void **state)
{
    struct tape tape = new_tape();

    (void)state;
    for (unsigned i = 0; i < 200; i++)
        add_lz4(&tape, text, 3000, i % KINDS);
    assert_in_range(jobs_of(tape), 2, 10);
    compare(&tape);
    free(tape.bytes);
}

static void it_may_end_at_any_byte(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 40, 0, 0, 0);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        size_t whole;

        tape.length = 0;
        add_lz4(&tape, text, 300000, kind);
        whole = tape.length;
        for (unsigned i = 0; i < 14; i++) {
            tape.length = i < 9 ? whole - i : 1 + below(&rng, whole);
            tape.step = i % 2 == 0 ? ROOM : 1 + below(&rng, 9000);
            compare(&tape);
            tape.fails_at = below(&rng, tape.length);
            compare(&tape);
            tape.fails_at = ROOM;
        }
    }
    free(tape.bytes);
}

static void any_change_is_noticed_at_the_same_place(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 41, 0, 0, 0);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        size_t whole;

        tape.length = 0;
        add_lz4(&tape, text, 300000, kind);
        whole = tape.length;
        add_lz4(&tape, text, 1000, kind);
        for (unsigned i = 0; i < 24; i++) {
            const size_t at = i < 12 ? whole - 8 + i : below(&rng, tape.length);
            const uint8_t change = (uint8_t)(1u << below(&rng, 8));

            tape.bytes[at] ^= change;
            if (compare(&tape) == CLEAVE_OK)
                assert_false(kind & (LZ4_CHECKS | LZ4_CHECKED));
            tape.bytes[at] ^= change;
        }
    }
    free(tape.bytes);
}

/* The check of each block fits, and that of each job would; that of the frame does not. */
static void blocks_in_another_order_are_noticed(void **state)
{
    const struct cv_codec *codec = cv_codec_named("lz4");
    struct tape tape = new_tape();
    struct made made;
    uint8_t *first, *last;
    uint8_t block[70000];

    (void)state;
    add_lz4(&tape, text, (size_t)65536 * 8, LZ4_CHECKS | LZ4_CHECKED);
    first = tape.bytes + 7;
    last = tape.bytes + tape.length - 8;
    for (uint8_t *at = first; at + 4 < last;) {
        const size_t length = 8 + (at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16);

        if (at + length == last) { /* the last one comes first */
            memcpy(block, at, length);
            memmove(first + length, first, (size_t)(at - first));
            memcpy(first, block, length);
        }
        at += length;
    }
    decode_ahead(codec, tape, THREADS, &made);
    assert_int_equal(made.status, CLEAVE_EINPUT);
    assert_non_null(strstr(made.err.text, "bytes that do not fit their check; 524288 "));
    assert_true(made.inside);
    free(made.bytes);
    compare(&tape);
    free(tape.bytes);
}

/* As the program lz4 makes them, and frames that are made by flushing: blocks of any length. */
static void blocks_need_not_be_full(void **state)
{
    LZ4F_preferences_t how = { .autoFlush = 1 };
    struct tape tape = new_tape();
    LZ4F_cctx *context;
    size_t at = 0;

    (void)state;
    how.frameInfo.blockMode = LZ4F_blockIndependent;
    how.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    assert_false(LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)));
    tape.length = LZ4F_compressBegin(context, tape.bytes, ROOM, &how);
    for (size_t some = 60000; at + some < TEXT; at += some, some = some * 3 % 65521)
        tape.length += LZ4F_compressUpdate(context, tape.bytes + tape.length,
                                           ROOM - tape.length, text + at, some, NULL);
    tape.length +=
        LZ4F_compressEnd(context, tape.bytes + tape.length, ROOM - tape.length, NULL);
    LZ4F_freeCompressionContext(context);
    assert_true(jobs_of(tape) > 2);
    compare(&tape);
    free(tape.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_frame_is_cut_into_several_jobs),
        cmocka_unit_test(small_frames_share_a_job),
        cmocka_unit_test(it_may_end_at_any_byte),
        cmocka_unit_test(any_change_is_noticed_at_the_same_place),
        cmocka_unit_test(blocks_in_another_order_are_noticed),
        cmocka_unit_test(blocks_need_not_be_full),
    };
    struct cv_random rng;
    int failed;

    text = malloc(TEXT);
    cv_random_at(&rng, 42, 0, 0, 0);
    fill(text, TEXT, &rng);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return failed;
}
