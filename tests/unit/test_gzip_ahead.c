/* test_gzip_ahead.c -- gzip by several threads is as by one. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "deflate_sample.h"
#include "gzip_twice.h"
#include "run/decode/blocks.h"
#include "run/decode/decode_ahead.h"

enum { LENGTH = 250000, MOST = 4 << 20, MUCH = 64 << 20 };

static uint8_t bytes[LENGTH], file[MOST];
static uint64_t used_once;   /* pieces of the last that came as by a pipe */
static size_t nfile, nnoise; /* bytes; that are decoded before those of the last member */

/* A member behind what is there. */
static void add_member(enum sample_kind kind, int level)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(level);

    sample_fill(kind, bytes, LENGTH);
    nfile +=
        libdeflate_gzip_compress(compressor, bytes, LENGTH, file + nfile, MOST - nfile);
    libdeflate_free_compressor(compressor);
}

/* Both ways the same; how many pieces were of use. */
static uint64_t decode(size_t piece, unsigned cores, enum cleave_status wanted,
                       size_t *length)
{
    const int fd = memfd_create("gzip", MFD_CLOEXEC);
    struct gzip_made made;
    const char *differs;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, file, nfile), nfile);
    differs = gzip_differs(fd, nfile, piece, cores, MUCH, &made);
    if (differs != NULL)
        fail_msg("%s is not the same, pieces of %zu bytes by %u", differs, piece, cores);
    assert_int_equal(made.status, wanted);
    for (size_t i = nnoise; wanted == CLEAVE_OK && i < made.length; i += LENGTH)
        assert_memory_equal(made.bytes + i, bytes, LENGTH);
    *length = made.length;
    free(made.bytes);
    close(fd);
    used_once = made.used_once;
    return made.used;
}

/* ThreadSanitizer takes 60 times as long, and threads do the same at every level. */
#ifdef __SANITIZE_THREAD__
static const int levels[] = { 1 };
#else
static const int levels[] = { 0, 1, 6 };
#endif

static void all_is_as_by_one_thread(void **state)
{
    size_t length;

    (void)state;
    for (enum sample_kind kind = 0; kind < SAMPLE_KINDS; kind++)
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
            nfile = 0;
            add_member(kind, levels[i]);
            add_member(kind, levels[i]);
            for (unsigned cores = 2; cores < 6; cores += 3) {
                decode(3000, cores, CLEAVE_OK, &length);
                assert_int_equal(length, 2 * LENGTH);
                decode(30000, cores, CLEAVE_OK, &length);
                assert_int_equal(length, 2 * LENGTH);
            }
        }
}

/* Blocks that can be found are: not all is left to the thread in front. */
static void pieces_are_of_use(void **state)
{
    size_t length;

    (void)state;
    nfile = 0;
    add_member(SAMPLE_NUMBERS, 1);
    assert_true(decode(12000, 2, CLEAVE_OK, &length) >= 2);
    assert_true(decode(12000, 6, CLEAVE_OK, &length) >= 3);
    assert_true(used_once >= 1); /* as many as have come before they are reached */
}

/* Zeros between members move what comes behind them. */
static void members_may_be_apart(void **state)
{
    size_t length;

    (void)state;
    nfile = 0;
    add_member(SAMPLE_NUMBERS, 1);
    memset(file + nfile, 0, 1001);
    nfile += 1001;
    add_member(SAMPLE_NUMBERS, 1);
    assert_true(decode(12000, 3, CLEAVE_OK, &length) >= 4);
    assert_int_equal(length, 2 * LENGTH);
}

/* Behind much that nothing can be found in, they are of use again. */
static void pieces_are_tried_again(void **state)
{
    size_t length;

    (void)state;
    nfile = 0;
    for (nnoise = 0; nnoise < (size_t)4 * LENGTH; nnoise += LENGTH)
        add_member(SAMPLE_NOISE, 0);
    for (unsigned i = 0; i < 10; i++)
        add_member(SAMPLE_NUMBERS, 1);
    assert_true(decode(20000, 3, CLEAVE_OK, &length) >= 6);
    assert_int_equal(length, nnoise + (size_t)10 * LENGTH);
    nnoise = 0;
}

static void ends_before_the_end_are_the_same(void **state)
{
    size_t whole, length;

    (void)state;
    nfile = 0;
    add_member(SAMPLE_TEXT, 1);
    whole = nfile;
    for (size_t i = 1; i < 12; i++) {
        nfile = whole * i / 12 - i;
        decode(9000, 3, CLEAVE_EINPUT, &length);
        assert_true(length < LENGTH);
    }
    nfile = whole - 1;
    decode(9000, 3, CLEAVE_EINPUT, &length);
}

/* Damage is met by who comes to it, and all before it is there. */
static void damage_is_the_same(void **state)
{
    struct cv_random random;
    size_t length;

    (void)state;
    nfile = 0;
    add_member(SAMPLE_NUMBERS, 1);
    cv_random_at(&random, 11, 0, 0, 0);
    for (unsigned i = 0; i < 25; i++) {
        const size_t at = 20 + (size_t)(cv_random_bits(&random) % (nfile - 20));
        const uint8_t change = (uint8_t)(1u << cv_random_bits(&random) % 8);

        file[at] ^= change;
        decode(9000, 2 + i % 3, CLEAVE_EINPUT, &length);
        file[at] ^= change;
    }
}

/* All blocks before one that cannot be read are there, and nothing else. */
static void damage_ends_what_there_is(void **state)
{
    enum { BLOCKS = 64, HEAD = 10, HEAD_BITS = 8 * HEAD, TAIL = 8 };
    static uint8_t plain[LENGTH + 1];
    struct sample_block blocks[BLOCKS];
    size_t count, length;

    (void)state;
    nfile = 0;
    add_member(SAMPLE_NUMBERS, 1);
    count = sample_blocks(file + HEAD, nfile - HEAD - TAIL, plain, LENGTH + 1, blocks,
                          BLOCKS);
    assert_true(count > 4);
    for (size_t i = 0; i < count; i++) {
        const uint64_t bit = blocks[i].bit + HEAD_BITS + 1;

        file[bit / 8] ^= (uint8_t)(1u << bit % 8); /* a kind of block that there is not */
        for (size_t piece = 12000; piece < 50000; piece += 28000) {
            decode(piece, 3, CLEAVE_EINPUT, &length);
            assert_int_equal(length, blocks[i].made);
        }
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* Nobody has to take all of it. */
static void it_can_be_left_at_any_time(void **state)
{
    const int fd = memfd_create("gzip", MFD_CLOEXEC);
    struct cv_gzip_ahead_options options = { .fd = fd, .cores = 4, .piece = 9000 };
    struct gzip_made made;

    (void)state;
    nfile = 0;
    add_member(SAMPLE_TEXT, 1);
    options.size = nfile;
    assert_int_equal(write(fd, file, nfile), nfile);
    for (size_t max = 1; max < LENGTH; max += LENGTH / 7) {
        assert_true(gzip_decode(&made, &cv_codec_gzip_ahead, cv_gzip_ahead_open(&options),
                                fd, max));
        assert_int_equal(made.status, CLEAVE_OK);
        assert_memory_equal(made.bytes, bytes, made.length);
        free(made.bytes);
    }
    close(fd);
}

/* How many times what was made was in its place already, of a memory of which `step` bytes are lent at a time. */
static unsigned decode_into(struct gzip_made *made, int fd, size_t step)
{
    struct cv_gzip_ahead_options options = {
        .fd = fd, .size = nfile, .cores = 4, .piece = 12000
    };
    struct cv_decoder_input input = { .read = gzip_read_fd,
                                      .context = &fd,
                                      .name = "file" };
    struct cv_decoder *decoder;
    const void *got;
    size_t length, room;
    unsigned in_place = 0;

    lseek(fd, 0, SEEK_SET);
    made->length = 0;
    assert_int_equal(cv_handoff_buffer_new(1, &options.buffer, NULL), CLEAVE_OK);
    input.buffer = options.buffer;
    assert_int_equal(cv_decoder_open_with(&cv_codec_gzip_ahead,
                                          cv_gzip_ahead_open(&options), &input, &decoder,
                                          NULL),
                     CLEAVE_OK);
    do {
        cv_handoff_buffer_lend(options.buffer, made->bytes + made->length, step);
        assert_int_equal(cv_decoder_next(decoder, &got, &length, NULL), CLEAVE_OK);
        in_place +=
            length > 0 && got == cv_handoff_buffer_place(options.buffer, 0, 1) ? 1 : 0;
        for (size_t at = 0; at < length; at += room) {
            room = length - at < step ? length - at : step;
            cv_handoff_buffer_lend(options.buffer, made->bytes + made->length, step);
            assert_true(
                cv_handoff_buffer_write(options.buffer, (const uint8_t *)got + at, room));
            assert_int_equal(cv_handoff_buffer_take(options.buffer, room), room);
            made->length += room;
        }
    } while (length > 0);
    cv_decoder_free(decoder);
    cv_handoff_buffer_free(options.buffer);
    return in_place;
}

static void pieces_are_made_where_they_stay(void **state)
{
    enum { TIMES = 6 };
    const int fd = memfd_create("gzip", MFD_CLOEXEC);
    static const size_t steps[] = { 1000, 50000, LENGTH };
    struct gzip_made made = { .room = (size_t)(TIMES + 1) * LENGTH };
    unsigned in_place = 0;

    (void)state;
    nfile = 0;
    for (unsigned i = 0; i < TIMES; i++)
        add_member(SAMPLE_NUMBERS, 1);
    assert_int_equal(write(fd, file, nfile), nfile);
    made.bytes = malloc(made.room);
    assert_non_null(made.bytes);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        in_place = decode_into(&made, fd, steps[i]);
        assert_int_equal(made.length, TIMES * LENGTH);
        for (size_t at = 0; at < made.length; at += LENGTH)
            assert_memory_equal(made.bytes + at, bytes, LENGTH);
        assert_true(i > 0 || in_place == 0); /* no piece is as small */
    }
    assert_true(in_place > 0);
    free(made.bytes);
    close(fd);
}

/* As read, and waits; of `most` bytes of memory the first `all % most` are there. */
static ssize_t read_unpacked(struct cv_decode_thread *decoding, uint8_t *to, size_t max,
                             size_t all)
{
    const size_t at = all % max;
    struct pollfd fd = { .fd = cv_decode_thread_fd(decoding), .events = POLLIN };
    ssize_t got;

    do
        assert_int_equal(poll(&fd, 1, 60000), 1);
    while ((got = cv_decode_thread_read(decoding, to + at, max - at, max)) < 0 &&
           errno == EAGAIN);
    return got;
}

/* Where each begins, in the file and decoded. */
static void look_at_members(int fd, size_t times)
{
    struct cv_blocks blocks = { .items = NULL };

    assert_int_equal(cv_blocks_scan(&blocks, &cv_codec_gzip, fd, "file", NULL),
                     CLEAVE_OK);
    assert_int_equal(blocks.count, times);
    assert_int_equal(blocks.out_end, times * LENGTH);
    for (size_t i = 0; i < times; i++) {
        assert_int_equal(blocks.items[i].in, i * nfile);
        assert_int_equal(blocks.items[i].out, i * LENGTH);
    }
    cv_blocks_done(&blocks);
}

/* From the file to the pipe, the first bytes having been read by somebody else. */
static void a_large_file_comes_out_of_a_pipe(void **state)
{
    enum { TIMES = 45 };
    const int fd = memfd_create("gzip", MFD_CLOEXEC);
    struct cv_decode_thread_options options = {
        .codec = &cv_codec_gzip, .name = "file", .fd = fd, .nfirst = 18, .cores = 3
    };
    struct cv_decode_thread *decoding;
    static uint8_t some[TIMES * LENGTH / 3]; /* room for some pieces */
    size_t all = 0;
    ssize_t got;
    bool torn;

    (void)state;
    nfile = 0;
    add_member(SAMPLE_NUMBERS, 1);
    for (unsigned i = 0; i < TIMES; i++)
        assert_int_equal(write(fd, file, nfile), nfile);
    assert_true(cv_gzip_ahead_pays(TIMES * nfile, 2));
    assert_false(cv_gzip_ahead_pays(TIMES * nfile, 1));
    assert_false(cv_gzip_ahead_pays(nfile, 3));
    lseek(fd, 18, SEEK_SET);
    options.first = file;
    assert_int_equal(cv_decode_thread_start(&options, &decoding, NULL), CLEAVE_OK);
    while ((got = read_unpacked(decoding, some, sizeof some, all)) > 0) {
        for (const size_t end = all + (size_t)got; all < end; all++)
            assert_int_equal(some[all % sizeof some], bytes[all % LENGTH]);
    }
    assert_int_equal(all, (size_t)TIMES * LENGTH);
    assert_int_equal(cv_decode_thread_end(decoding, &torn, NULL), CLEAVE_OK);
    cv_decode_thread_free(decoding);
    look_at_members(fd, TIMES);
    close(fd);
}

/* From a pipe, through a thread that decodes; the first part is given out before the rest comes. */
static void a_pipe_is_not_held_back(void **state)
{
    enum { TIMES = 60 };
    struct cv_decode_thread_options options = { .codec = &cv_codec_gzip,
                                                .name = "pipe",
                                                .cores = 4 };
    struct cv_decode_thread *decoding;
    static uint8_t some[LENGTH];
    size_t all = 0, times = 1;
    int ends[2];
    ssize_t got;
    bool torn;

    (void)state;
    alarm(60);
    nfile = 0;
    add_member(SAMPLE_NUMBERS, 1);
    assert_int_equal(pipe(ends), 0);
    options.fd = ends[0];
    assert_int_equal(cv_decode_thread_start(&options, &decoding, NULL), CLEAVE_OK);
    while (all < (size_t)TIMES * LENGTH) {
        if (all == (times - 1) * LENGTH) { /* all that was written has been given out */
            const size_t more = times == 1 ? 1 : TIMES - 1;
            pid_t writer = fork();

            if (writer == 0) {
                for (size_t i = 0; i < more; i++)
                    for (size_t at = 0; at < nfile;) {
                        got = write(ends[1], file + at, nfile - at);
                        at += got > 0 ? (size_t)got : nfile;
                    }
                _exit(0);
            }
            times += times == 1 ? 1 : TIMES;
        }
        got = read_unpacked(decoding, some, sizeof some, all);
        assert_true(got > 0);
        assert_memory_equal(some + all % LENGTH, bytes + all % LENGTH, (size_t)got);
        all += (size_t)got;
    }
    close(ends[1]);
    while (wait(NULL) > 0)
        continue;
    assert_int_equal(read_unpacked(decoding, some, sizeof some, all), 0);
    assert_int_equal(cv_decode_thread_end(decoding, &torn, NULL), CLEAVE_OK);
    cv_decode_thread_free(decoding);
    close(ends[0]);
    alarm(0);
}

static void checks_can_be_joined(void **state)
{
    (void)state;
    sample_fill(SAMPLE_NOISE, bytes, 5000);
    for (size_t i = 0; i <= 5000; i += i < 20 ? 1 : 777)
        assert_int_equal(cv_crc32_join(libdeflate_crc32(0, bytes, i),
                                       libdeflate_crc32(0, bytes + i, 5000 - i),
                                       5000 - i),
                         libdeflate_crc32(0, bytes, 5000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_can_be_joined),
        cmocka_unit_test(all_is_as_by_one_thread),
        cmocka_unit_test(pieces_are_of_use),
        cmocka_unit_test(members_may_be_apart),
        cmocka_unit_test(pieces_are_tried_again),
        cmocka_unit_test(ends_before_the_end_are_the_same),
        cmocka_unit_test(damage_is_the_same),
        cmocka_unit_test(damage_ends_what_there_is),
        cmocka_unit_test(it_can_be_left_at_any_time),
        cmocka_unit_test(pieces_are_made_where_they_stay),
        cmocka_unit_test(a_large_file_comes_out_of_a_pipe),
        cmocka_unit_test(a_pipe_is_not_held_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
