/* test_decoder.c -- every form, however its bytes come, and whatever happens to them.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libdeflate.h>

#include "base/random.h"
#include "run/decode/decoder.h"
#include "run/decode/inflate.h"
#include "run/decode/decoded_file.h"

static const struct {
    const char *codec, *file;
} forms[] = {
    { "gzip", "seq.gz" },          { "bgzf", "seq.bgz" },
    { "zstd", "seq.zst" },         { "xz", "seq.xz" },
    { "bzip2", "seq.bz2" },        { "lz4", "seq.lz4" },
    { "zstd", "seq-unsized.zst" },
};
enum { FORMS = sizeof forms / sizeof *forms, MOST = 64 * 1024 };

/* Bytes in memory that are read a few at a time. */
struct tape {
    uint8_t bytes[MOST];
    size_t length, at, step;
};

static ssize_t read_tape(void *context, void *to, size_t max)
{
    struct tape *tape = context;
    size_t some = tape->length - tape->at;

    some = some < max ? some : max;
    some = some < tape->step ? some : tape->step;
    memcpy(to, tape->bytes + tape->at, some);
    tape->at += some;
    return (ssize_t)some;
}

static void load(struct tape *tape, size_t form)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/tests/packed/%s", CLEAVE_SOURCE_DIR,
             forms[form].file);
    file = fopen(path, "rb");
    assert_non_null(file);
    tape->length = fread(tape->bytes, 1, sizeof tape->bytes, file);
    fclose(file);
    assert_true(tape->length > 100);
    tape->at = 0;
    tape->step = MOST;
}

static char truth[MOST];
static size_t ntruth;

static int make_truth(void **state)
{
    (void)state;
    for (int i = 1; i <= 3000; i++)
        ntruth += (size_t)sprintf(truth + ntruth, "%d\n", i);
    return 0;
}

/* Decode all; how many bytes came, which are the same as `times` times the truth. */
static enum cleave_status decode(struct tape *tape, size_t form, bool compare,
                                 size_t *out, struct cleave_error *err)
{
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = tape,
                                            .name = "tape" };
    struct cv_decoder *decoder;
    enum cleave_status status;
    size_t length, made = 0;
    const void *bytes;

    assert_int_equal(cv_decoder_open(cv_codec_named(forms[form].codec), &input, &decoder,
                                     err),
                     CLEAVE_OK);
    do {
        status = cv_decoder_next(decoder, &bytes, &length, err);
        for (size_t i = 0; status == CLEAVE_OK && compare && i < length; i++)
            assert_true(((const char *)bytes)[i] == truth[(made + i) % ntruth]);
        made += length;
    } while (status == CLEAVE_OK && length > 0);
    cv_decoder_free(decoder);
    *out = made;
    return status;
}

static void all_forms_however_they_come(void **state)
{
    static const size_t steps[] = { 1, 2, 7, 100, MOST };
    struct tape *tape = malloc(sizeof *tape);
    size_t made;

    (void)state;
    for (size_t form = 0; form < FORMS; form++)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            load(tape, form);
            memcpy(tape->bytes + tape->length, tape->bytes, tape->length);
            tape->length *= 2;
            tape->step = steps[i];
            assert_int_equal(decode(tape, form, true, &made, NULL), CLEAVE_OK);
            assert_int_equal(made, 2 * ntruth);
        }
    free(tape);
}

static void a_truncated_stream_is_reported(void **state)
{
    struct tape *tape = malloc(sizeof *tape);
    struct cleave_error err;
    char text[64];
    size_t made;

    (void)state;
    for (size_t form = 0; form < FORMS; form++) {
        size_t whole;

        load(tape, form);
        whole = tape->length;
        if (strcmp(forms[form].codec, "bgzf") == 0)
            whole -= 28; /* its last block is empty */
        for (size_t length = 1; length < whole; length += 1 + length / 7) {
            load(tape, form);
            tape->length = length;
            assert_int_equal(decode(tape, form, true, &made, &err), CLEAVE_EINPUT);
            assert_true(made <= ntruth);
            snprintf(text, sizeof text, "; %zu bytes were decoded before", made);
            assert_non_null(strstr(err.text, text));
            assert_string_equal(err.file, "tape");
        }
    }
    free(tape);
}

/* Nothing but an error may come of it; forms that check everything never let a change pass. */
static void changed_bytes_are_noticed(void **state)
{
    struct tape *tape = malloc(sizeof *tape);
    struct cv_random random;
    size_t made;

    (void)state;
    cv_random_at(&random, 5, 0, 0, 0);
    for (size_t form = 0; form < FORMS; form++)
        for (unsigned turn = 0; turn < 200; turn++) {
            size_t at;

            load(tape, form);
            at = 20 + cv_random_bits(&random) % (tape->length - 40);
            tape->bytes[at] ^= (uint8_t)(1 + cv_random_bits(&random) % 255);
            tape->step = turn % 2 == 0 ? MOST : 61;
            if (decode(tape, form, false, &made, NULL) == CLEAVE_OK)
                assert_true(strcmp(forms[form].codec, "lz4") == 0 ||
                            strcmp(forms[form].codec, "bgzf") == 0);
        }
    free(tape);
}

static void trailing_zeros_are_ignored_and_other_bytes_are_not(void **state)
{
    struct tape *tape = malloc(sizeof *tape);
    struct cleave_error err;
    size_t made;

    (void)state;
    for (size_t form = 0; form < FORMS; form++) {
        const unsigned pads = cv_codec_named(forms[form].codec)->pads;

        load(tape, form);
        memset(tape->bytes + tape->length, 0, 512);
        tape->length += 512;
        assert_int_equal(decode(tape, form, true, &made, &err),
                         pads > 0 ? CLEAVE_OK : CLEAVE_EINPUT);
        assert_int_equal(made, ntruth);
        /* Zeros after a stream of xz are a multiple of 4. */
        tape->at = 0;
        tape->length -= 2;
        assert_int_equal(decode(tape, form, true, &made, &err),
                         pads > 0 && strcmp(forms[form].codec, "xz") != 0
                             ? CLEAVE_OK
                             : CLEAVE_EINPUT);
        tape->at = 0;
        tape->bytes[tape->length - 1] = 'x';
        assert_int_equal(decode(tape, form, true, &made, &err), CLEAVE_EINPUT);
        assert_int_equal(made, ntruth);
        assert_non_null(strstr(err.text, "or the end at byte"));
    }
    free(tape);
}

/* A stored block, and then one of no known type. */
static void bytes_before_damage_are_given_out(void **state)
{
    static const char bytes[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff"
                                "\x00\x02\x00\xfd\xff"
                                "1\n"
                                "\x07";
    struct tape *tape = malloc(sizeof *tape);
    size_t made;

    (void)state;
    load(tape, 0);
    tape->length = sizeof bytes - 1;
    memcpy(tape->bytes, bytes, tape->length);
    assert_int_equal(decode(tape, 0, true, &made, NULL), CLEAVE_EINPUT);
    assert_int_equal(made, 2);
    free(tape);
}

/* Hand-made blocks, as in RFC 1951, and invalid ones. */
static void deflate_by_hand(void **state)
{
    static const struct {
        size_t length;
        const char *bytes, *text; /* NULL: an error */
    } cases[] = {
        { 5 + 3,
          "\x01\x03\x00\xfc\xff"
          "abc",
          "abc" },                         /* stored            */
        { 5, "\x01\x00\x00\xff\xff", "" }, /* stored, empty     */
        { 8,
          "\x01\x03\x00\xfc\xfe"
          "abc",
          NULL },                                /* ... not sure      */
        { 2, "\x03\x00", "" },                   /* fixed, empty      */
        { 5, "\x4b\x4c\x4a\x06\x00", "abc" },    /* fixed             */
        { 3, "\x4b\x4c\x4a", NULL },             /* ... cut short     */
        { 1, "\x07", NULL },                     /* unknown kind */
        { 4, "\x03\x02\x00\x00", NULL },         /* from before       */
        { 6, "\xfd\xff\xff\xff\xff\xff", NULL }, /* too many codes    */
    };
    struct cv_inflate *inflate = malloc(sizeof *inflate);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t *in = (const uint8_t *)cases[i].bytes;
        size_t length = cases[i].length, at = 0;
        uint8_t out[400];
        enum cv_inflate_state got;

        cv_inflate_init(inflate);
        got = cv_inflate_run(inflate, &in, &length, out, &at, sizeof out);
        assert_true((got == CV_INFLATE_END) == (cases[i].text != NULL));
        if (cases[i].text != NULL) {
            assert_int_equal(at, strlen(cases[i].text));
            assert_memory_equal(out, cases[i].text, at);
        }
    }
    free(inflate);
}

static void checksum_of_a_gzip_header_is_compared(void **state)
{
    static const uint8_t head[] = "\x1f\x8b\x08\x12\0\0\0\0\0\x03"
                                  "a comment";
    static const uint8_t body[] = "\x01\x03\x00\xfc\xff"
                                  "abc"
                                  "\xc2\x41\x24\x35\3\0\0\0";
    struct tape *tape = malloc(sizeof *tape);
    struct cleave_error err;
    size_t made;

    (void)state;
    for (unsigned wrong = 0; wrong < 2; wrong++)
        for (size_t step = 1; step <= MOST; step *= MOST) {
            const uint32_t crc = libdeflate_crc32(0, head, sizeof head) ^ wrong;

            tape->at = 0;
            tape->step = step;
            tape->length = sizeof head + 2 + sizeof body - 1;
            memcpy(tape->bytes, head, sizeof head);
            tape->bytes[sizeof head] = crc & 0xFF;
            tape->bytes[sizeof head + 1] = crc >> 8 & 0xFF;
            memcpy(tape->bytes + sizeof head + 2, body, sizeof body - 1);
            assert_int_equal(decode(tape, 0, false, &made, &err),
                             wrong ? CLEAVE_EINPUT : CLEAVE_OK);
            assert_int_equal(made, wrong ? 0 : 3);
            if (wrong)
                assert_non_null(strstr(err.text, "a head that does not fit its check"));
        }
    free(tape);
}

/* At the end of a large block, all of it would be decoded for the byte before a cut. */
static void cuts_are_searched_after_ends_of_large_blocks(void **state)
{
    enum { LARGE = 24 << 20, SMALL = 65280, NEAR = 16 * 1024 };
    const uint64_t sizes[] = { LARGE, LARGE, SMALL, LARGE, 100 };
    struct cv_blocks blocks = { .items = NULL };
    struct cv_decoded_file *decoded;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_true(cv_blocks_add(&blocks, (struct cv_block){ i, blocks.out_end, i }));
        blocks.out_end += sizes[i];
    }
    assert_int_equal(cv_decoded_file_new(&cv_codec_zstd, "x", &blocks, &decoded, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_decoded_file_round(decoded, 1000000), LARGE + NEAR);
    assert_int_equal(cv_decoded_file_round(decoded, LARGE), LARGE + NEAR);
    assert_int_equal(cv_decoded_file_round(decoded, LARGE + NEAR), LARGE + NEAR);
    assert_int_equal(cv_decoded_file_round(decoded, LARGE + NEAR + 1), 2 * LARGE + NEAR);
    /* A small one is soon decoded: cut where it is best. */
    assert_int_equal(cv_decoded_file_round(decoded, 2 * LARGE + 7), 2 * LARGE + 7);
    /* There is nothing after the end. */
    assert_int_equal(cv_decoded_file_round(decoded, (uint64_t)3 * LARGE),
                     3 * LARGE + SMALL + 100);
    cv_decoded_file_free(decoded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_however_they_come),
        cmocka_unit_test(a_truncated_stream_is_reported),
        cmocka_unit_test(changed_bytes_are_noticed),
        cmocka_unit_test(trailing_zeros_are_ignored_and_other_bytes_are_not),
        cmocka_unit_test(bytes_before_damage_are_given_out),
        cmocka_unit_test(deflate_by_hand),
        cmocka_unit_test(checksum_of_a_gzip_header_is_compared),
        cmocka_unit_test(cuts_are_searched_after_ends_of_large_blocks),
    };

    return cmocka_run_group_tests(tests, make_truth, NULL);
}
