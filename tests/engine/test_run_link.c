/* test_run_link.c -- frames over a link that is damaged, silent or full.
 * SPDX-License-Identifier: MIT
 *
 * The test is the other side, byte by byte. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/hosts/hosts_internal.h"
#include "run/wire/link.h"

struct side {
    struct cv_poller *poller;
    struct cv_link link;
    int in, out; /* bytes read by the link are written here, and vice versa */
    unsigned frames, broke;
    struct cv_frame_head head; /* head of the last frame */
    struct cleave_error err;
};

static void take(void *context, const struct cv_frame_head *head,
                 const unsigned char *payload)
{
    struct side *side = context;

    (void)payload;
    side->frames++;
    side->head = *head;
}

static void broke(void *context, const struct cleave_error *err)
{
    struct side *side = context;

    side->broke++;
    side->err = *err;
}

static void open_side(struct side *side, double silence_s)
{
    int in[2], out[2];

    memset(side, 0, sizeof *side);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    side->in = in[1];
    side->out = out[0];
    assert_int_equal(cv_poller_new(&side->poller, NULL), CLEAVE_OK);
    side->link = (struct cv_link){ .poller = side->poller,
                                   .frame = take,
                                   .broke = broke,
                                   .context = side,
                                   .silence_s = silence_s };
    assert_int_equal(cv_link_open(&side->link, in[0], out[1], NULL), CLEAVE_OK);
}

static void close_side(struct side *side)
{
    cv_link_close(&side->link);
    cv_poller_free(side->poller);
    close(side->in);
    close(side->out);
}

static void put(const struct side *side, const void *bytes, size_t length)
{
    assert_int_equal(write(side->in, bytes, length), length);
}

/* A frame with the given payload; out has room for it. */
static size_t make(struct cv_frame_head head, const void *payload, size_t length,
                   unsigned char *out)
{
    head.length = (uint32_t)length;
    head.checksum = cv_frame_checksum(&head, payload);
    cv_frame_encode(&head, out);
    memcpy(out + CV_FRAME_HEAD, payload, length);
    return CV_FRAME_HEAD + length;
}

static void assert_broke(const struct side *side, const char *expected)
{
    assert_int_equal(side->broke, 1);
    assert_string_equal(side->err.text, expected);
}

/* A damaged length causes no wait for its bytes. */
static void a_damaged_length_is_noticed_at_once(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 32; bit++) {
        unsigned char bytes[CV_FRAME_HEAD + 5];
        struct side side;

        open_side(&side, 60);
        make((struct cv_frame_head){ .type = CV_FRAME_DATA }, "hello", 5, bytes);
        bytes[8 + bit / 8] ^= (unsigned char)(1u << bit % 8);
        put(&side, bytes, CV_FRAME_HEAD);
        assert_int_equal(cv_poller_wait(side.poller, 0, NULL), CLEAVE_OK);
        assert_broke(&side, "the head of a frame was damaged on its way");
        assert_int_equal(side.frames, 0);
        close_side(&side);
    }
}

static void a_damaged_payload_is_noticed(void **state)
{
    unsigned char bytes[CV_FRAME_HEAD + 5];
    struct side side;

    (void)state;
    open_side(&side, 60);
    make((struct cv_frame_head){ .type = CV_FRAME_DATA }, "hello", 5, bytes);
    put(&side, bytes, sizeof bytes);
    bytes[CV_FRAME_HEAD + 2] ^= 1;
    put(&side, bytes, sizeof bytes);
    assert_int_equal(cv_poller_wait(side.poller, 0, NULL), CLEAVE_OK);
    assert_int_equal(side.frames, 1);
    assert_broke(&side, "a frame was damaged on its way");
    close_side(&side);
}

/* A small packed frame may decode to more than the limit. */
static void compressed_data_has_limits_as_well(void **state)
{
    static unsigned char zeros[10000], small[10000], bytes[CV_FRAME_HEAD + sizeof small];
    struct cv_link_compressor compressor;
    struct side side;
    size_t became;

    (void)state;
    cv_link_compressor_init(&compressor);
    became = cv_link_compressor_put(&compressor, 1, zeros, sizeof zeros, small);
    cv_link_compressor_done(&compressor);
    assert_in_range(became, 1, 500);
    open_side(&side, 60);
    put(&side, bytes,
        make((struct cv_frame_head){ .type = CV_FRAME_DATA, .flags = CV_FRAME_ZSTD },
             small, became, bytes));
    put(&side, bytes,
        make((struct cv_frame_head){ .type = CV_FRAME_REFUSED, .flags = CV_FRAME_ZSTD },
             small, became, bytes));
    assert_int_equal(cv_poller_wait(side.poller, 0, NULL), CLEAVE_OK);
    assert_int_equal(side.frames, 1);
    assert_int_equal(side.head.length, sizeof zeros);
    assert_int_equal(side.broke, 1);
    assert_non_null(strstr(side.err.text, "expected REFUSED of at most"));
    close_side(&side);
}

/* Both sides compute the checksum before compression. */
static void the_checksum_of_a_frame_comes_as_it_was_given(void **state)
{
    static unsigned char zeros[10000], bytes[CV_FRAME_HEAD + sizeof zeros];
    struct cv_frame_head head = { .type = CV_FRAME_DATA, .length = sizeof zeros };

    (void)state;
    head.checksum = cv_frame_checksum(&head, zeros);
    for (int compressed = 0; compressed < 2; compressed++) {
        struct side side;
        ssize_t length;

        open_side(&side, 60);
        side.link.rate_Bps = compressed;
        cv_link_send_summed(&side.link, &head, zeros);
        length = read(side.out, bytes, sizeof bytes);
        assert_in_range(length, 1, compressed ? 1000 : sizeof bytes);
        put(&side, bytes, (size_t)length);
        assert_int_equal(cv_poller_wait(side.poller, 0, NULL), CLEAVE_OK);
        assert_int_equal(side.frames, 1);
        assert_int_equal(side.head.length, sizeof zeros);
        assert_true(side.head.checksum == head.checksum);
        close_side(&side);
    }
}

/* One more byte of an endless frame, whenever there is room for it: the peer counts as
 * silent. Pings count as signs of life. */
static void only_whole_frames_are_signs_of_life(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        static unsigned char zeros[10000], bytes[CV_FRAME_HEAD + sizeof zeros];
        const size_t length =
            make((struct cv_frame_head){ .type = whole ? CV_FRAME_PING : CV_FRAME_DATA },
                 zeros, whole ? 0 : sizeof zeros, bytes);
        struct side side;
        int turns = 0;

        open_side(&side, 0.2);
        if (!whole)
            put(&side, bytes, CV_FRAME_HEAD);
        /* A beat is a second; a link that lives has three of them. */
        for (; turns < 70 && side.broke == 0; turns++) {
            put(&side, bytes, whole ? length : 1);
            assert_int_equal(cv_poller_wait(side.poller, 0.05, NULL), CLEAVE_OK);
            usleep(50000);
        }
        if (whole)
            assert_int_equal(side.broke, 0);
        else
            assert_broke(&side, "it sent nothing for 0.2 s");
        close_side(&side);
    }
}

/* Without a reader: at most the limit is kept, and then the link fails. */
static void unread_data_is_bounded(void **state)
{
    static const unsigned char payload[100000];
    struct side side;

    (void)state;
    open_side(&side, 60);
    for (int i = 0; i < 1000; i++)
        cv_link_send(&side.link, &(struct cv_frame_head){ .type = CV_FRAME_OUTPUT },
                     payload, sizeof payload);
    assert_in_range(cv_link_pending(&side.link), 15 << 20, 17 << 20);
    assert_int_equal(side.broke, 0); /* not while something is being sent */
    for (int i = 0; i < 100 && side.broke == 0; i++)
        assert_int_equal(cv_poller_wait(side.poller, 1, NULL), CLEAVE_OK);
    assert_broke(&side, "it does not read its input");
    close_side(&side);
}

static void an_end_within_a_frame_differs_from_one_between_frames(void **state)
{
    static const struct {
        size_t length;
        const char *expected;
    } cases[] = {
        { CV_FRAME_HEAD + 5, "the connection was closed" },
        { CV_FRAME_HEAD + 4, "the connection ended within a frame" },
        { CV_FRAME_HEAD - 1, "the connection ended within a frame" },
        { 3, "the connection ended within a frame" },
        { 0, "the connection was closed" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[CV_FRAME_HEAD + 5];
        struct side side;

        open_side(&side, 60);
        make((struct cv_frame_head){ .type = CV_FRAME_DATA }, "hello", 5, bytes);
        put(&side, bytes, cases[i].length);
        close(side.in);
        while (side.broke == 0)
            assert_int_equal(cv_poller_wait(side.poller, 1, NULL), CLEAVE_OK);
        assert_broke(&side, cases[i].expected);
        side.in = -1;
        close_side(&side);
    }
}

static bool send_one_more(void *context)
{
    struct side *side = context;

    cv_link_send(&side->link, &(struct cv_frame_head){ .type = CV_FRAME_PING }, NULL, 0);
    return true;
}

/* The pipe has room for a part of the frame. */
static void finish_ends_between_frames(void **state)
{
    enum { LONG = 300000 };
    static unsigned char payload[LONG], bytes[CV_FRAME_HEAD + LONG + 1];
    struct cv_frame_head head;
    struct pollfd wait;
    size_t length = 0;
    struct side side;
    ssize_t got = 1;

    (void)state;
    open_side(&side, 60);
    side.link.more = send_one_more;
    cv_link_send(&side.link, &(struct cv_frame_head){ .type = CV_FRAME_DATA }, payload,
                 LONG);
    assert_in_range(cv_link_pending(&side.link), 1, LONG);
    while (got > 0) {
        assert_false(cv_link_finish(&side.link, &wait));
        assert_int_equal(wait.fd, side.link.out >= 0 ? side.link.out : side.link.in);
        got = read(side.out, bytes + length, sizeof bytes - length);
        assert_true(got >= 0);
        length += (size_t)got;
    }
    assert_int_equal(length, CV_FRAME_HEAD + LONG);
    assert_int_equal(cv_frame_decode(bytes, &head, NULL), CLEAVE_OK);
    assert_int_equal(head.length, LONG);
    /* The other side ends its stream as well; its earlier bytes are dropped. */
    put(&side, bytes, CV_FRAME_HEAD + 5);
    assert_false(cv_link_finish(&side.link, &wait));
    close(side.in);
    assert_true(cv_link_finish(&side.link, &wait));
    assert_int_equal(side.frames + side.broke, 0);
    side.in = -1;
    close_side(&side);
}

/* The other side has gone. */
static void finish_drops_bytes_without_a_reader(void **state)
{
    static unsigned char payload[300000];
    struct pollfd wait;
    struct side side;

    (void)state;
    open_side(&side, 60);
    cv_link_send(&side.link, &(struct cv_frame_head){ .type = CV_FRAME_DATA }, payload,
                 sizeof payload);
    assert_false(cv_link_finish(&side.link, &wait));
    close(side.out);
    close(side.in);
    assert_true(cv_link_finish(&side.link, &wait));
    assert_int_equal(side.broke, 0);
    side.in = side.out = -1;
    close_side(&side);
}

/* --- how much is under way ---------------------------------------------------------------- */

/* A host that is ready, with one slot and a long piece for it; the test is the worker. */
struct sender {
    struct side side; /* its link is unused: the host's link is used */
    struct cv_hosts hosts;
    struct cv_host host;
    struct cv_host_seat seat;
    struct cv_ordered_output *outputs;
    struct cv_slot slot;
    uint64_t came; /* bytes of the piece */
};

static void no_change(void *context, struct cv_host *host)
{
    (void)context;
    (void)host;
}

static void has_arrived(void *context, struct cv_slot *slot)
{
    (void)context;
    (void)slot;
}

static void open_sender(struct sender *sender, const char *bytes, size_t length)
{
    static const struct cv_slot_events events = { .arrived = has_arrived };
    struct cv_piece piece = { .name = "test", .fd = -1, .mate_fd = -1 };
    struct cv_link *link = &sender->host.link;
    int in[2], out[2];

    memset(sender, 0, sizeof *sender);
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe2(out, O_NONBLOCK), 0);
    sender->side.in = in[1];
    sender->side.out = out[0];
    assert_int_equal(cv_poller_new(&sender->hosts.poller, NULL), CLEAVE_OK);
    cv_hosts_init(&sender->hosts);
    sender->hosts.changed = no_change;
    sender->host = (struct cv_host){
        .hosts = &sender->hosts, .name = "far", .slots = 1, .seats = &sender->seat
    };
    cv_send_reset(&sender->host);
    sender->host.state = CV_HOST_READY;
    *link = (struct cv_link){ .poller = sender->hosts.poller,
                              .frame = take,
                              .more = cv_send_more,
                              .broke = broke,
                              .context = &sender->host,
                              .silence_s = 60 };
    assert_int_equal(cv_link_open(link, in[0], out[1], NULL), CLEAVE_OK);
    assert_int_equal(cv_ordered_output_new(
                         &(struct cv_ordered_output_options){ .sink = -1,
                                                              .sink_name = "nowhere" },
                         &sender->outputs, NULL),
                     CLEAVE_OK);
    cv_slot_init(&sender->slot);
    sender->slot.outputs = sender->outputs;
    sender->slot.events = &events;
    assert_int_equal(cv_remote_init(&sender->slot, &sender->host, 0, NULL), CLEAVE_OK);
    piece.body_bytes = bytes;
    piece.end = piece.body.end = length;
    assert_int_equal(cv_slot_start(&sender->slot, &piece, NULL), CLEAVE_OK);
}

static void close_sender(struct sender *sender)
{
    cv_link_close(&sender->host.link);
    cv_slot_free(&sender->slot);
    cv_ordered_output_free(sender->outputs);
    cv_hosts_done(&sender->hosts);
    cv_poller_free(sender->hosts.poller);
    free(sender->host.owed);
    close(sender->side.in);
    close(sender->side.out);
}

/* Bytes of the piece that are sent without acknowledgement. */
static uint64_t drain(struct sender *sender)
{
    static unsigned char bytes[1 << 22];
    static size_t length;
    uint64_t came = 0;

    for (int idle = 0; idle < 3; idle++) {
        ssize_t got;

        assert_int_equal(cv_poller_wait(sender->hosts.poller, 0, NULL), CLEAVE_OK);
        while ((got = read(sender->side.out, bytes + length, sizeof bytes - length)) >
               0) {
            length += (size_t)got;
            idle = 0;
        }
        for (size_t at = 0;;) {
            struct cv_frame_head head = { .length = 0 };

            if (length - at >= CV_FRAME_HEAD)
                assert_int_equal(cv_frame_decode(bytes + at, &head, NULL), CLEAVE_OK);
            if (length - at < CV_FRAME_HEAD + (size_t)head.length) {
                memmove(bytes, bytes + at, length - at);
                length -= at;
                break;
            }
            came += head.type == CV_FRAME_DATA ? head.length : 0;
            at += CV_FRAME_HEAD + head.length;
        }
    }
    assert_int_equal(length, 0);
    return came;
}

/* No more is on its way than the link moves in a quarter of a second, and a frame. */
static void only_a_moment_of_sending_is_in_flight(void **state)
{
    enum { LONG = 16 << 20, FRAME = 256 << 10 };
    static char zeros[LONG];
    static struct sender sender;

    (void)state;
    open_sender(&sender, zeros, sizeof zeros);
    /* Nothing is known of the link. */
    sender.came = drain(&sender);
    assert_in_range(sender.came, 64 << 10, (64 << 10) + (32 << 10));
    assert_int_equal(sender.came, sender.host.in_flight);
    assert_int_equal(drain(&sender), 0);
    /* Each time all bytes have arrived; 8 MB/s are 2 MB in a quarter of a second. */
    for (int i = 0; i < 4; i++) {
        const double rate_Bps = 1e6 * (1 << i);

        sender.host.since_s = 0; /* nothing is measured here */
        cv_send_got(&sender.slot, sender.came);
        sender.host.rate_Bps = rate_Bps;
        sender.host.link.rate_Bps = 0;
        sender.came += drain(&sender);
        assert_in_range(sender.host.in_flight, (uint64_t)(rate_Bps / 4),
                        (uint64_t)(rate_Bps / 4) + FRAME);
    }
    assert_int_equal(sender.slot.remote->sent, sender.came);
    close_sender(&sender);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_length_is_noticed_at_once),
        cmocka_unit_test(a_damaged_payload_is_noticed),
        cmocka_unit_test(compressed_data_has_limits_as_well),
        cmocka_unit_test(the_checksum_of_a_frame_comes_as_it_was_given),
        cmocka_unit_test(only_whole_frames_are_signs_of_life),
        cmocka_unit_test(unread_data_is_bounded),
        cmocka_unit_test(an_end_within_a_frame_differs_from_one_between_frames),
        cmocka_unit_test(finish_ends_between_frames),
        cmocka_unit_test(finish_drops_bytes_without_a_reader),
        cmocka_unit_test(only_a_moment_of_sending_is_in_flight),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
