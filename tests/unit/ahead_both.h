/* ahead_both.h -- a compressed file decoded by one decoder, and by several threads.
 * SPDX-License-Identifier: MIT */
#ifndef CV_TEST_AHEAD_BOTH_H
#define CV_TEST_AHEAD_BOTH_H
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "run/decode/decode_ahead.h"
#include "run/decode/blocks.h"

enum { ROOM = 4 << 20, THREADS = 3 };

/* A compressed file, read a few bytes at a time. */
struct tape {
    uint8_t *bytes; /* owned */
    size_t length, at, step;
    size_t fails_at; /* reading does, there; ROOM: nowhere */
};

/* Decoded bytes of one input. */
struct made {
    uint8_t *bytes; /* owned */
    size_t length, room;
    enum cleave_status status;
    struct cleave_error err;
    bool inside;
};

static inline struct tape new_tape(void)
{
    return (struct tape){ .bytes = malloc(ROOM), .step = ROOM, .fails_at = ROOM };
}

static ssize_t read_tape(void *context, void *to, size_t max)
{
    struct tape *tape = context;
    size_t some = tape->length - tape->at;

    if (tape->at == tape->fails_at && some > 0) {
        errno = EIO;
        return -1;
    }
    if (tape->fails_at > tape->at && tape->fails_at - tape->at < some)
        some = tape->fails_at - tape->at;

    some = some < max ? some : max;
    some = some < tape->step ? some : tape->step;
    memcpy(to, tape->bytes + tape->at, some);
    tape->at += some;
    return (ssize_t)some;
}

static void keep(struct made *made, const void *bytes, size_t length)
{
    while (made->length + length > made->room) {
        made->room = made->room * 2 + ROOM;
        made->bytes = realloc(made->bytes, made->room);
        assert_non_null(made->bytes);
    }
    memcpy(made->bytes + made->length, bytes, length);
    made->length += length;
}

/* By several threads. */
static void decode_ahead(const struct cv_codec *codec, struct tape tape, unsigned threads,
                         struct made *made)
{
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    struct cv_ahead *ahead;
    const void *bytes;
    size_t length;

    memset(made, 0, sizeof *made);
    assert_int_equal(cv_ahead_open(codec, &input, threads, false, &ahead, NULL),
                     CLEAVE_OK);
    do {
        made->status = ahead->next(ahead, &bytes, &length, &made->err);
        if (made->status == CLEAVE_OK && length > 0)
            keep(made, bytes, length);
    } while (made->status == CLEAVE_OK && length > 0);
    made->inside = made->status != CLEAVE_OK && ahead->inside(ahead);
    ahead->free(ahead);
}

/* By one decoder. */
static void decode_alone(const struct cv_codec *codec, struct tape tape,
                         struct made *made)
{
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    struct cv_decoder *decoder;
    const void *bytes;
    size_t length;

    memset(made, 0, sizeof *made);
    assert_int_equal(cv_decoder_open(codec, &input, &decoder, NULL), CLEAVE_OK);
    do {
        made->status = cv_decoder_next(decoder, &bytes, &length, &made->err);
        if (made->status == CLEAVE_OK && length > 0)
            keep(made, bytes, length);
    } while (made->status == CLEAVE_OK && length > 0);
    made->inside = made->status != CLEAVE_OK && cv_decoder_inside(decoder);
    cv_decoder_free(decoder);
}

/* Both ways: the same bytes, or the same mistake at the same place. How much was made. */
static inline size_t compare_ways(const struct cv_codec *codec, const struct tape *tape,
                                  enum cleave_status *out)
{
    struct made one, several;

    decode_alone(codec, *tape, &one);
    decode_ahead(codec, *tape, THREADS, &several);
    assert_int_equal(one.status, several.status);
    assert_int_equal(one.length, several.length);
    if (one.length > 0)
        assert_memory_equal(one.bytes, several.bytes, one.length);
    if (one.status != CLEAVE_OK)
        assert_string_equal(one.err.text, several.err.text);
    assert_int_equal(one.inside, several.inside);
    free(one.bytes);
    free(several.bytes);
    *out = one.status;
    return one.length;
}

static size_t below(struct cv_random *rng, size_t max)
{
    return (size_t)(cv_random_bits(rng) % max);
}

/* Text, about half of it random. */
static void fill(uint8_t *bytes, size_t length, struct cv_random *rng)
{
    uint32_t chance = (uint32_t)cv_random_bits(rng);

    for (size_t i = 0; i < length; i++) {
        chance = chance * 1664525u + 1013904223u;
        bytes[i] = i % 64 < 32 ? (uint8_t)(chance >> 24) : (uint8_t)('a' + i % 7);
    }
}

static void add(struct tape *tape, const void *bytes, size_t length)
{
    assert_true(tape->length + length <= ROOM);
    memcpy(tape->bytes + tape->length, bytes, length);
    tape->length += length;
}

/* Starts of members, as blocks that are found by decoding: as one decoder finds them. */
static inline void compare_members(const struct cv_codec *codec, struct tape tape)
{
    const struct cv_decoder_input input = { .read = read_tape,
                                            .context = &tape,
                                            .name = "tape" };
    const int fd = memfd_create("members", MFD_CLOEXEC);
    struct cv_blocks blocks = { .items = NULL };
    uint64_t made = 0, member = UINT64_MAX;
    struct cv_decoder *decoder;
    const void *bytes;
    size_t length, count = 0;

    assert_int_equal(write(fd, tape.bytes, tape.length), tape.length);
    assert_int_equal(cv_blocks_scan(&blocks, codec, fd, "tape", NULL), CLEAVE_OK);
    assert_int_equal(cv_decoder_open(codec, &input, &decoder, NULL), CLEAVE_OK);
    do {
        assert_int_equal(cv_decoder_next(decoder, &bytes, &length, NULL), CLEAVE_OK);
        if (length > 0 && cv_decoder_member(decoder) != member) {
            member = cv_decoder_member(decoder);
            assert_true(count < blocks.count);
            assert_int_equal(blocks.items[count].in, member);
            assert_int_equal(blocks.items[count].head, member);
            assert_int_equal(blocks.items[count++].out, made);
        }
        made += length;
    } while (length > 0);
    assert_int_equal(blocks.count, count);
    assert_int_equal(blocks.out_end, made);
    cv_decoder_free(decoder);
    cv_blocks_done(&blocks);
    close(fd);
}

#endif
