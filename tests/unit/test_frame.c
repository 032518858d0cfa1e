/* test_frame.c -- frames, and their packed payloads. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cleave/version.h>
#include "run/wire/protocol.h"
#include "run/wire/frame.h"
#include "run/common/transfer.h"

static void a_head_has_its_place(void **state)
{
    /* The last 8 bytes are the result of xxhsum -H3 over the bytes before. */
    static const unsigned char expected[CV_FRAME_HEAD] = {
        'C', 'L', 'V', 'E', 9,    5,    3,    0,    4,    3,    2,    0,
        8,   7,   6,   5,   16,   15,   14,   13,   12,   11,   10,   9,
        1,   0,   0,   0,   0,    0,    0,    0,    2,    0,    0,    0,
        0,   0,   0,   255, 0x77, 0xAC, 0x57, 0x97, 0xC1, 0x59, 0xF7, 0x4C
    };
    const struct cv_frame_head head = { .type = CV_FRAME_DATA,
                                        .flags = 3,
                                        .length = 0x20304,
                                        .peer = 0x05060708,
                                        .chunk = 0x090A0B0C0D0E0F10,
                                        .value = 1,
                                        .checksum = 0xFF00000000000002 };
    unsigned char bytes[CV_FRAME_HEAD];
    struct cv_frame_head again;

    (void)state;
    cv_frame_encode(&head, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
    assert_int_equal(cv_frame_decode(bytes, &again, NULL), CLEAVE_OK);
    assert_true(again.type == head.type && again.flags == head.flags &&
                again.length == head.length && again.peer == head.peer &&
                again.chunk == head.chunk && again.value == head.value &&
                again.checksum == head.checksum);
}

static void assert_refused(const unsigned char bytes[CV_FRAME_HEAD], const char *expected)
{
    struct cv_frame_head head = { .chunk = 12345 };
    struct cleave_error err;

    assert_int_equal(cv_frame_decode(bytes, &head, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, expected);
    assert_int_equal(head.chunk, 12345);
}

static void other_heads_are_refused(void **state)
{
    static const char ours[4] = { 'C', 'L', 'V', 'E' };
    unsigned char bytes[CV_FRAME_HEAD];

    (void)state;
    memcpy(bytes, "Last login: Monday\n\n............................", CV_FRAME_HEAD);
    assert_refused(bytes, "expected a frame of cleave, got 'Last login: Monday"
                          "\\x0a\\x0a............................'");
    memcpy(bytes, ours, sizeof ours);
    bytes[4] = 2;
    assert_refused(bytes, "expected frames of version 9, as cleave " CLEAVE_VERSION
                          " has them, got version 2: install the same cleave on both "
                          "sides, or use hosts.push");
    bytes[4] = CV_FRAME_VERSION;
    assert_refused(bytes, "the head of a frame was damaged on its way");
}

/* No field of a head is used before its checksum is right. */
static void every_damaged_bit_of_a_head_is_found(void **state)
{
    const struct cv_frame_head head = { .type = CV_FRAME_DATA, .length = 9, .chunk = 77 };
    unsigned char bytes[CV_FRAME_HEAD];

    (void)state;
    for (size_t bit = 0; bit < (size_t)8 * CV_FRAME_HEAD; bit++) {
        cv_frame_encode(&head, bytes);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (bit / 8 >= 4)
            assert_refused(bytes, "the head of a frame was damaged on its way");
        else
            assert_int_equal(cv_frame_decode(bytes, NULL, NULL), CLEAVE_EINPUT);
    }
}

static void every_damaged_bit_of_a_payload_is_found(void **state)
{
    unsigned char payload[] = "the payload of a frame";
    const struct cv_frame_head head = { .length = sizeof payload };
    const uint64_t sum = cv_frame_checksum(&head, payload);

    (void)state;
    for (size_t bit = 0; bit < 8 * sizeof payload; bit++) {
        payload[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_true(cv_frame_checksum(&head, payload) != sum);
        payload[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    assert_true(cv_frame_checksum(&head, payload) == sum);
}

/* A valid head, except for the given fields. */
static enum cleave_status decode(uint8_t type, uint16_t flags, uint32_t length,
                                 struct cleave_error *err)
{
    const struct cv_frame_head head = { .type = type, .flags = flags, .length = length };
    struct cv_frame_head got;
    unsigned char bytes[CV_FRAME_HEAD];

    cv_frame_encode(&head, bytes);
    return cv_frame_decode(bytes, &got, err);
}

static void lengths_and_flags_follow_the_kind(void **state)
{
    unsigned known = 0;
    struct cleave_error err;

    (void)state;
    for (unsigned type = 0; type < 256; type++) {
        const struct cv_frame_kind *kind = cv_frame_kind((uint8_t)type);

        if (kind == NULL) {
            assert_int_equal(decode((uint8_t)type, 0, 0, &err), CLEAVE_EINPUT);
            assert_non_null(strstr(err.text, "of unknown type"));
            continue;
        }
        known++;
        assert_true(kind->max <= CV_FRAME_MOST && kind->min <= kind->max);
        assert_int_equal(decode((uint8_t)type, 0, kind->min, &err), CLEAVE_OK);
        assert_int_equal(decode((uint8_t)type, kind->flags, kind->max > 0, &err),
                         kind->min <= 1 || (kind->flags & CV_FRAME_ZSTD) != 0
                             ? CLEAVE_OK
                             : CLEAVE_EINPUT);
        assert_int_equal(decode((uint8_t)type, 0, kind->max, &err), CLEAVE_OK);
        assert_int_equal(decode((uint8_t)type, 0, kind->max + 1, &err), CLEAVE_EINPUT);
        assert_non_null(strstr(err.text, kind->name));
        if (kind->min > 0)
            assert_int_equal(decode((uint8_t)type, 0, kind->min - 1, &err),
                             CLEAVE_EINPUT);
        for (unsigned flag = 1; flag < 1 << 16; flag <<= 1)
            if ((kind->flags & flag) == 0)
                assert_int_equal(decode((uint8_t)type, (uint16_t)flag, kind->min, &err),
                                 CLEAVE_EINPUT);
    }
    assert_int_equal(known, 42);
    assert_int_equal(decode(CV_FRAME_GOT, 0, 1, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "expected GOT of at most 0 bytes, got one of 1");
    assert_int_equal(decode(CV_FRAME_PING, CV_FRAME_LAST, 0, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "got PING with flags 0x2, which it cannot have");
}

static uint64_t add_frame(uint64_t sum, uint64_t value, const char *text)
{
    struct cv_frame_head head = { .value = value, .length = (uint32_t)strlen(text) };

    head.checksum = cv_frame_checksum(&head, text);
    return cv_frame_sum(sum, &head);
}

/* The sum tells order, parts, lengths and bytes. */
static void checksum_covers_all_frames(void **state)
{
    const uint64_t ab = add_frame(add_frame(0, 1, "a"), 1, "b");
    const struct cv_frame_head one = { .length = 1, .checksum = 7 },
                               two = { .length = 2, .checksum = 7 };

    (void)state;
    assert_true(ab == add_frame(add_frame(0, 1, "a"), 1, "b"));
    assert_true(ab != add_frame(add_frame(0, 1, "b"), 1, "a"));
    assert_true(ab != add_frame(add_frame(0, 0, "a"), 1, "b"));
    assert_true(ab != add_frame(add_frame(0, 1, "a"), 1, "c"));
    assert_true(ab != add_frame(0, 1, "ab"));
    assert_true(ab != add_frame(0, 1, "a"));
    assert_true(add_frame(0, 1, "") != 0);
    assert_true(cv_frame_sum(0, &one) != cv_frame_sum(0, &two));
}

static void a_job_comes_out_as_it_went_in(void **state)
{
    const char *command[] = { "sed", "s/a b/\"c\"/", "", NULL };
    const char *names[] = { "a.0", "a.1", NULL }, *environment[] = { "A=1", NULL };
    struct cv_remote_file file = { "/data/in", 12345, -7, { 1, 2 } };
    const struct cv_remote_job job = { .command = command,
                                       .names = names,
                                       .environment = environment,
                                       .directory = "/tmp",
                                       .store = "/data/.part-1",
                                       .persistent = true,
                                       .window = 3,
                                       .timeout_s = 2.5,
                                       .silence_s = 30,
                                       .memory = 1 << 20,
                                       .files = &file,
                                       .nfiles = 1 };
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_remote_job got;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    cv_pack_job(&packer, &job);
    assert_false(packer.failed);
    assert_true(cv_unpack_job(packer.bytes, packer.length, &arena, &got));
    assert_string_equal(got.command[1], command[1]);
    assert_string_equal(got.command[2], "");
    assert_null(got.command[3]);
    assert_string_equal(got.names[1], "a.1");
    assert_null(got.names[2]);
    assert_string_equal(got.environment[0], "A=1");
    assert_string_equal(got.store, "/data/.part-1");
    assert_true(got.persistent && got.window == 3 && !got.hashes);
    assert_true(got.timeout_s == 2.5 && got.silence_s == 30 && got.memory == 1 << 20);
    assert_true(got.nfiles == 1 && got.files[0].size == 12345 &&
                got.files[0].mtime_ns == -7 && got.files[0].ends.low == 2);
    /* Cut short anywhere, or with bytes after it, it is invalid. */
    for (size_t n = 0; n < packer.length; n++)
        assert_false(cv_unpack_job(packer.bytes, n, &arena, &got));
    cv_pack_number(&packer, 0);
    assert_false(cv_unpack_job(packer.bytes, packer.length, &arena, &got));
    cv_pack_done(&packer);
    cv_arena_done(&arena);
}

static void pieces_and_ends_come_out_as_they_went_in(void **state)
{
    const struct cv_remote_piece piece = { true,     true,           3,
                                           4,        { 0, 10 },      { 100, 200 },
                                           { 7, 9 }, CV_CLOSING_ZERO };
    const struct cv_remote_end end = { CV_END_TIMED_OUT,
                                       -1,
                                       9,
                                       1.5,
                                       101,
                                       102,
                                       103,
                                       200,
                                       201,
                                       0.5,
                                       0.25,
                                       0.125,
                                       30,
                                       { 5, 6 },
                                       77,
                                       { 7, 8 },
                                       "took a nap" };
    struct cv_packer packer = { NULL, 0, 0, false };
    struct cv_remote_piece got_piece;
    struct cv_remote_end got_end;
    struct cv_arena arena;

    (void)state;
    cv_arena_init(&arena);
    cv_pack_piece(&packer, &piece);
    assert_int_equal(packer.length, cv_frame_kind(CV_FRAME_PIECE)->min);
    assert_int_equal(packer.length, cv_frame_kind(CV_FRAME_PIECE)->max);
    assert_true(cv_unpack_piece(packer.bytes, packer.length, NULL, &got_piece));
    assert_true(got_piece.shared && got_piece.mates && got_piece.file == 3 &&
                got_piece.body.end == 200 && got_piece.mate.begin == 7);
    assert_int_equal(got_piece.closing, CV_CLOSING_ZERO);
    assert_false(cv_unpack_piece(packer.bytes, packer.length - 1, NULL, &got_piece));
    packer.bytes[packer.length - 1 - 7] = CV_CLOSINGS; /* whichever comes first */
    packer.bytes[packer.length - 1] = CV_CLOSINGS;
    assert_false(cv_unpack_piece(packer.bytes, packer.length, NULL, &got_piece));
    packer.bytes[packer.length - 1 - 7] = packer.bytes[packer.length - 1] = 0;
    assert_true(cv_unpack_piece(packer.bytes, packer.length, NULL, &got_piece));
    packer.bytes[4 * 8 + 7] = 1; /* the header begins after its end */
    assert_false(cv_unpack_piece(packer.bytes, packer.length, NULL, &got_piece));
    cv_pack_done(&packer);
    cv_pack_end(&packer, &end);
    assert_int_equal(packer.length, cv_frame_kind(CV_FRAME_END)->min + strlen(end.fault));
    assert_true(cv_unpack_end(packer.bytes, packer.length, &arena, &got_end));
    assert_true(
        got_end.flags == CV_END_TIMED_OUT && got_end.exit_code == -1 &&
        got_end.signal == 9 && got_end.compute_s == 1.5 && got_end.hash.high == 5 &&
        got_end.come == 101 && got_end.come_sum == 102 && got_end.given == 103 &&
        got_end.output == 200 && got_end.output_sum == 201 && got_end.system_s == 0.25 &&
        got_end.after_s == 0.125 && got_end.retry_s == 30 && got_end.file == 77 &&
        got_end.output_hash.high == 7 && got_end.output_hash.low == 8);
    assert_string_equal(got_end.fault, "took a nap");
    for (size_t n = 0; n < packer.length; n++)
        assert_false(cv_unpack_end(packer.bytes, n, &arena, &got_end));
    cv_pack_done(&packer);
    cv_arena_done(&arena);
}

static void compressing_is_tried_only_where_it_can_pay(void **state)
{
    static unsigned char bytes[100000], small[100000], again[100000];
    struct cv_link_compressor compressor;
    size_t became, length;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)('a' + i % 7);
    cv_link_compressor_init(&compressor);
    /* Nothing is known of the link; it is very fast; it is slow. */
    assert_int_equal(cv_link_compressor_put(&compressor, 0, bytes, sizeof bytes, small),
                     0);
    assert_int_equal(cv_link_compressor_put(&compressor, 1e18, bytes, sizeof bytes,
                                            small),
                     0);
    became = cv_link_compressor_put(&compressor, 1, bytes, sizeof bytes, small);
    assert_true(became > 0 && became < sizeof bytes / 10);
    assert_true(
        cv_link_compressor_get(&compressor, small, became, again, sizeof again, &length));
    assert_int_equal(length, sizeof bytes);
    assert_memory_equal(again, bytes, sizeof bytes);
    /* More than there is room for, or damaged. */
    assert_false(
        cv_link_compressor_get(&compressor, small, became, again, 99999, &length));
    assert_false(cv_link_compressor_get(&compressor, small, became - 1, again,
                                        sizeof again, &length));
    cv_link_compressor_done(&compressor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_has_its_place),
        cmocka_unit_test(other_heads_are_refused),
        cmocka_unit_test(every_damaged_bit_of_a_head_is_found),
        cmocka_unit_test(every_damaged_bit_of_a_payload_is_found),
        cmocka_unit_test(lengths_and_flags_follow_the_kind),
        cmocka_unit_test(checksum_covers_all_frames),
        cmocka_unit_test(a_job_comes_out_as_it_went_in),
        cmocka_unit_test(pieces_and_ends_come_out_as_they_went_in),
        cmocka_unit_test(compressing_is_tried_only_where_it_can_pay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
