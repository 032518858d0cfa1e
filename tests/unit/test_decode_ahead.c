/* test_decode_ahead.c -- several threads decode every input as one decoder does.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "ahead_both.h"
#include "run/decode/parallel_decode.h"

/* How much was made. */
static size_t compare(const struct cv_codec *codec, const struct tape *tape)
{
    enum cleave_status status;

    return compare_ways(codec, tape, &status);
}

/* --- files ---------------------------------------------------------------------------------- */

static void add_zstd(struct tape *tape, const uint8_t *text, size_t length, bool checks)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_outBuffer out = { tape->bytes, ROOM, tape->length };
    ZSTD_inBuffer in = { text, length, 0 };

    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checks);
    assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue), 0);
    assert_int_equal(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end), 0);
    tape->length = out.pos;
    ZSTD_freeCCtx(context);
}

static void add_file(struct tape *tape, const char *name)
{
    static uint8_t file[64 * 1024];
    char path[512];
    FILE *from;

    snprintf(path, sizeof path, "%s/tests/packed/%s", CLEAVE_SOURCE_DIR, name);
    from = fopen(path, "rb");
    assert_non_null(from);
    add(tape, file, fread(file, 1, sizeof file, from));
    fclose(from);
}

static const char *const forms[] = { "zstd", "bgzf" };

/* Members of all lengths, and frames that are to be skipped between them. */
static void make(struct tape *tape, size_t form, struct cv_random *rng)
{
    static const char skipped[] = "\x53\x2a\x4d\x18\x03\x00\x00\x00xyz";
    uint8_t *text = malloc(ROOM);
    const size_t max = 1000 + below(rng, 400000);

    tape->length = tape->at = 0;
    tape->fails_at = ROOM;
    for (unsigned i = 0; tape->length < 400000; i++) {
        const size_t length = below(rng, max);

        fill(text, length, rng);
        if (form == 0)
            add_zstd(tape, text, length, i % 2 == 0);
        else
            add_file(tape, "seq.bgz");
        if (form == 0 && i % 5 == 0)
            add(tape, skipped, sizeof skipped - 1);
    }
    tape->step = below(rng, 3) == 0 ? 1000 + below(rng, 5000) : ROOM;
    free(text);
}

/* --- tests ---------------------------------------------------------------------------------- */

/* ThreadSanitizer takes 25 times as long. */
#ifdef __SANITIZE_THREAD__
enum { ROUNDS = 2 };
#else
enum { ROUNDS = 4 };
#endif

static void inputs_that_cannot_be_read(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 24, 0, 0, 0);
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        make(&tape, form, &rng);
        for (size_t i = 0; i < 3; i++) {
            tape.fails_at = i * (tape.length / 3);
            compare(cv_codec_named(forms[form]), &tape);
        }
    }
    free(tape.bytes);
}

static void whole_files(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 20, 0, 0, 0);
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++)
        for (int i = 0; i < ROUNDS; i++) {
            make(&tape, form, &rng);
            assert_true(compare(cv_codec_named(forms[form]), &tape) > 400000);
            compare_members(cv_codec_named(forms[form]), tape);
        }
    tape.length = 0;
    for (int i = 0; i < ROUNDS; i++)
        add_file(&tape, "seq.gz");
    compare_members(&cv_codec_gzip, tape);
    free(tape.bytes);
}

/* Reads that end anywhere in the head of a block or a frame, or in other decodable bytes:
 * plain gzip after BGZF. */
static void heads_that_come_in_parts(void **state)
{
    static const char gzip[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03"
                               "\x01\x06\0\xf9\xff"
                               "plain\n"
                               "\xd0\xf9\x15\x39\x06\0\0\0";
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 26, 0, 0, 0);
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++)
        for (size_t step = 1; step < 14; step += 3) {
            size_t made;

            make(&tape, form, &rng);
            tape.step = step;
            made = compare(cv_codec_named(forms[form]), &tape);
            assert_true(made > 400000);
            add(&tape, gzip, sizeof gzip - 1);
            assert_int_equal(compare(cv_codec_named(forms[form]), &tape),
                             form == 1 ? made + strlen("plain\n") : made);
        }
    free(tape.bytes);
}

static void files_that_are_cut_short_or_changed(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 21, 0, 0, 0);
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++)
        for (int i = 0; i < ROUNDS; i++) {
            make(&tape, form, &rng);
            if (i % 2 == 0)
                tape.length = below(&rng, tape.length);
            else
                tape.bytes[below(&rng, tape.length)] ^= (uint8_t)(1u << below(&rng, 8));
            compare(cv_codec_named(forms[form]), &tape);
        }
    free(tape.bytes);
}

static void files_with_trailing_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
    } behind[] = { { "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21 },
                   { "and this", 8 },
                   { "\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0", 20 },
                   { "\x04\x22\x4d\x18", 4 },
                   { "\x28\xb5\x2f\xfd", 4 },
                   { "\x50\x2a\x4d\x18\x01", 5 },
                   { "x", 1 } };
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 22, 0, 0, 0);
    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        size_t length;

        make(&tape, form, &rng);
        length = tape.length;
        for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
            tape.length = length;
            add(&tape, behind[i].bytes, behind[i].length);
            compare(cv_codec_named(forms[form]), &tape);
            tape.length = 0; /* and nothing before */
            add(&tape, behind[i].bytes, behind[i].length);
            compare(cv_codec_named(forms[form]), &tape);
            make(&tape, form, &rng);
            length = tape.length;
        }
    }
    tape.length = 0;
    compare(cv_codec_named("zstd"), &tape);
    free(tape.bytes);
}

/* One member much larger than a job may hold, so that it is handed out in parts. */
static void large_members(void **state)
{
    struct tape tape = { .bytes = malloc(ROOM), .step = ROOM, .fails_at = ROOM };
    const size_t length = 34 << 20;
    uint8_t *text = calloc(1, length);

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 2; i++)
        add_zstd(&tape, text, length, true);
    assert_int_equal(compare(cv_codec_named("zstd"), &tape), 2 * length);
    free(text);
    free(tape.bytes);
}

static ssize_t read_pipe(void *context, void *to, size_t max)
{
    return read(*(int *)context, to, max);
}

/* Bytes that a slow input has given are decoded and given out, though there may be more
 * of the member, and of the part that is decoded by one thread. If not, this would wait
 * for ever. */
static void nothing_is_held_back(void **state)
{
    struct tape tape = { .bytes = malloc(ROOM), .fails_at = ROOM };
    struct cv_decoder_input input = { .read = read_pipe, .name = "pipe" };
    uint8_t text[3000];
    struct cv_random rng;
    struct cv_ahead *ahead;
    size_t whole, length, got = 0;
    const void *bytes;
    int ends[2];

    (void)state;
    alarm(60);
    cv_random_at(&rng, 25, 0, 0, 0);
    fill(text, sizeof text, &rng);
    add_zstd(&tape, text, sizeof text, true);
    whole = tape.length;
    add(&tape, tape.bytes, whole);
    assert_int_equal(pipe(ends), 0);
    input.context = &ends[0];
    assert_int_equal(cv_ahead_open(cv_codec_named("zstd"), &input, THREADS, false, &ahead,
                                   NULL),
                     CLEAVE_OK);
    /* One member, and half of the next. */
    assert_int_equal(write(ends[1], tape.bytes, whole + whole / 2), whole + whole / 2);
    for (; got < sizeof text; got += length)
        assert_int_equal(ahead->next(ahead, &bytes, &length, NULL), CLEAVE_OK);
    assert_int_equal(write(ends[1], tape.bytes + whole + whole / 2, whole - whole / 2),
                     whole - whole / 2);
    close(ends[1]);
    for (length = 1; length > 0; got += length)
        assert_int_equal(ahead->next(ahead, &bytes, &length, NULL), CLEAVE_OK);
    assert_int_equal(got, 2 * sizeof text);
    ahead->free(ahead);
    close(ends[0]);
    alarm(0);
    free(tape.bytes);
}

static unsigned settled;

static enum cleave_status count_settled(void *state, struct cv_parallel_decoder *parallel,
                                        struct cv_decode_job *job,
                                        struct cleave_error *err)
{
    settled++;
    return cv_parallel_frames.settle(state, parallel, job, err);
}

static void small_frames_share_a_job(void **state)
{
    struct cv_parallel_format counted = cv_parallel_frames;
    struct tape tape = new_tape();
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    static uint8_t text[3000];
    struct cv_random rng;
    struct cv_ahead *ahead;
    const void *bytes;
    size_t length;

    (void)state;
    cv_random_at(&rng, 27, 0, 0, 0);
    for (unsigned i = 0; i < 300; i++) {
        fill(text, sizeof text, &rng);
        add_zstd(&tape, text, sizeof text, true);
    }
    counted.settle = count_settled;
    assert_int_equal(cv_parallel_open(&counted, &cv_codec_zstd, &input, THREADS, false,
                                      &ahead, NULL),
                     CLEAVE_OK);
    do
        assert_int_equal(ahead->next(ahead, &bytes, &length, NULL), CLEAVE_OK);
    while (length > 0);
    ahead->free(ahead);
    assert_in_range(settled, 2, 10);
    free(tape.bytes);
}

/* The rest is not read. */
static void it_can_be_left_at_any_time(void **state)
{
    struct tape tape = new_tape();
    struct cv_random rng;

    (void)state;
    cv_random_at(&rng, 23, 0, 0, 0);
    for (unsigned takes = 0; takes < 6; takes++) {
        const struct cv_decoder_input input = { .read = read_tape,
                                                .context = &tape,
                                                .name = "tape" };
        struct cv_ahead *ahead;
        const void *bytes;
        size_t length;

        make(&tape, takes % 2, &rng);
        assert_int_equal(cv_ahead_open(cv_codec_named(forms[takes % 2]), &input, THREADS,
                                       false, &ahead, NULL),
                         CLEAVE_OK);
        for (unsigned i = 0; i < takes; i++)
            assert_int_equal(ahead->next(ahead, &bytes, &length, NULL), CLEAVE_OK);
        ahead->free(ahead);
    }
    free(tape.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_files),
        cmocka_unit_test(heads_that_come_in_parts),
        cmocka_unit_test(files_that_are_cut_short_or_changed),
        cmocka_unit_test(files_with_trailing_bytes),
        cmocka_unit_test(inputs_that_cannot_be_read),
        cmocka_unit_test(large_members),
        cmocka_unit_test(nothing_is_held_back),
        cmocka_unit_test(small_frames_share_a_job),
        cmocka_unit_test(it_can_be_left_at_any_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
