/* test_run_channel.c -- links over channels. SPDX-License-Identifier: MIT
 *
 * Two links whose channels are the two ends of a carrier that keeps a few messages, so that
 * frames are longer than messages, as long, and shorter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <sys/eventfd.h>

#include "run/wire/link.h"
#include "run/wire/protocol.h"
#include "plumbing_check.h"

enum { SLOTS = 2, FRAMES = 60 };

struct end {
    struct cleave_channel channel; /* first */
    struct end *other;
    unsigned char *slots[SLOTS]; /* on their way to the other end */
    size_t lengths[SLOTS], first, count;
    bool left, said, peer_closed, wanted;
    size_t messages;
};

static void ring(struct end *end)
{
    const uint64_t one = 1;

    assert_int_equal(write(end->channel.fd, &one, sizeof one), sizeof one);
}

static void heed(struct cleave_channel *channel)
{
    uint64_t count;

    (void)!read(channel->fd, &count, sizeof count);
}

static void remind(struct cleave_channel *channel)
{
    ring((struct end *)channel);
}

static const unsigned char *peek(struct cleave_channel *channel, size_t *out_length,
                                 bool *out_ended)
{
    const struct end *from = ((struct end *)channel)->other;

    *out_ended = from->count == 0 && from->said;
    *out_length = from->count > 0 ? from->lengths[from->first] : 0;
    return from->count > 0 ? from->slots[from->first] : NULL;
}

static void done(struct cleave_channel *channel)
{
    struct end *from = ((struct end *)channel)->other;

    assert_true(from->count > 0);
    from->first = (from->first + 1) % SLOTS;
    from->count--;
    if (from->wanted)
        ring(from);
}

static unsigned char *place(struct cleave_channel *channel, bool *out_deaf)
{
    struct end *end = (struct end *)channel;

    *out_deaf = end->peer_closed;
    end->wanted = end->count == SLOTS;
    return end->peer_closed || end->wanted
               ? NULL
               : end->slots[(end->first + end->count) % SLOTS];
}

static void send_message(struct cleave_channel *channel, size_t length)
{
    struct end *end = (struct end *)channel;

    assert_true(end->count < SLOTS && length > 0 && length <= channel->room);
    end->lengths[(end->first + end->count) % SLOTS] = length;
    end->count++;
    end->messages++;
    ring(end->other);
}

static void leave(struct cleave_channel *channel)
{
    ((struct end *)channel)->left = true;
}

static void say_end(struct cleave_channel *channel)
{
    struct end *end = (struct end *)channel;

    end->said = true;
    ring(end->other);
}

static const struct cv_channel_calls calls = { heed,  remind,       peek,  done,
                                               place, send_message, leave, say_end };

/* --- two links ---------------------------------------------------------------------------- */

struct side {
    struct end end;
    struct cv_link link;
    uint32_t given, sent, got; /* frames: to be sent, sent by `more`, come              */
    const char *text;
    bool closes; /* the link is closed by the first frame                               */
    struct cleave_error err;
    unsigned broken;
};

static size_t length_of(uint32_t number)
{
    static const size_t lengths[] = { 1, 2, 50, 4096, 65536 - CV_FRAME_HEAD, 100000 };

    return lengths[number % 6] + number / 6;
}

static void take(void *context, const struct cv_frame_head *head,
                 const unsigned char *payload)
{
    struct side *side = context;

    assert_int_equal(head->type, CV_FRAME_OUTPUT);
    assert_int_equal(head->chunk, side->got);
    assert_int_equal(head->length, length_of(side->got));
    if (head->length > 0)
        assert_memory_equal(payload, side->text + side->got, head->length);
    side->got++;
    if (side->closes)
        cv_link_close(&side->link);
}

static void send_next(struct side *side)
{
    const uint32_t number = side->sent++;

    cv_link_send(&side->link,
                 &(struct cv_frame_head){ .type = CV_FRAME_OUTPUT, .chunk = number },
                 side->text + number, length_of(number));
}

static bool more(void *context)
{
    struct side *side = context;

    if (side->sent == side->given)
        return false;
    send_next(side);
    return true;
}

static void broke(void *context, const struct cleave_error *err)
{
    struct side *side = context;

    side->err = *err;
    side->broken++;
}

static void open_apart(struct side sides[2], struct cv_poller *const pollers[2],
                       size_t room, const char *text)
{
    memset(sides, 0, 2 * sizeof *sides);
    for (int i = 0; i < 2; i++) {
        struct side *side = &sides[i];

        side->text = text;
        side->end.other = &sides[1 - i].end;
        side->end.channel.calls = &calls;
        side->end.channel.room = room;
        side->end.channel.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        for (int k = 0; k < SLOTS; k++)
            side->end.slots[k] = malloc(room);
        side->link.poller = pollers[i];
        side->link.frame = take;
        side->link.more = more;
        side->link.broke = broke;
        side->link.context = side;
        side->link.silence_s = 60;
        must(cv_link_open_channel(&side->link, &side->end.channel, &err));
    }
}

static void open_sides(struct side sides[2], struct cv_poller *poller, size_t room,
                       const char *text)
{
    open_apart(sides, (struct cv_poller *[]){ poller, poller }, room, text);
}

static void close_sides(struct side sides[2])
{
    for (int i = 0; i < 2; i++) {
        cv_link_close(&sides[i].link);
        assert_true(sides[i].end.left);
        close(sides[i].end.channel.fd);
        for (int k = 0; k < SLOTS; k++)
            free(sides[i].end.slots[k]);
    }
}

static void frames_of_all_sizes_arrive(void **state)
{
    static const size_t rooms[] = { 100, 5000, 65536, CV_FRAME_HEAD + CV_FRAME_MOST };
    char *text = make_text(1, 200000);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct cv_poller *poller;
        struct side sides[2];

        must(cv_poller_new(&poller, &err));
        open_sides(sides, poller, rooms[i], text);
        assert_int_equal(cv_link_fits(&sides[0].link), rooms[i] < CV_FRAME_MOST
                                                           ? rooms[i] - CV_FRAME_HEAD
                                                           : CV_FRAME_MOST);
        /* Some at once, which have to wait in part; others when there is room. */
        for (int k = 0; k < 2; k++) {
            sides[k].given = FRAMES;
            for (int n = 0; n < 12; n++)
                send_next(&sides[k]);
            cv_link_wake(&sides[k].link);
        }
        while (sides[0].got < FRAMES || sides[1].got < FRAMES) {
            must(cv_poller_wait(poller, 10, &err));
            if (sides[0].broken > 0)
                fail_msg("%s", sides[0].err.text);
        }
        if (rooms[i] > CV_FRAME_MOST) /* waiting frames may share one */
            assert_in_range(sides[0].end.messages, FRAMES - 12, FRAMES);
        assert_int_equal(cv_link_pending(&sides[0].link), 0);

        /* The end comes after all frames, and once. */
        sides[0].given++;
        send_next(&sides[0]);
        say_end(&sides[0].end.channel);
        while (sides[1].broken == 0)
            must(cv_poller_wait(poller, 10, &err));
        assert_int_equal(sides[1].got, FRAMES + 1);
        assert_int_equal(sides[1].err.status, CLEAVE_ECLOSED);
        assert_int_equal(sides[0].broken, 0);
        close_sides(sides);
        assert_int_equal(sides[1].broken, 1);
        cv_poller_free(poller);
    }
    free(text);
}

/* Even if there is a place for it, and none was there for the one before it. */
static void frames_wait_for_earlier_frames(void **state)
{
    char *text = make_text(6, 200000);
    struct cv_poller *pollers[2];
    struct side sides[2];

    (void)state;
    must(cv_poller_new(&pollers[0], &err));
    must(cv_poller_new(&pollers[1], &err));
    open_apart(sides, pollers, 1000, text);
    sides[0].sent = sides[1].got = 5; /* a long one, and then a short one */
    sides[0].given = 7;
    send_next(&sides[0]);
    must(cv_poller_wait(pollers[1], 10, &err));
    assert_int_equal(sides[0].end.count, 0);
    send_next(&sides[0]);
    while (sides[1].got < 7) {
        must(cv_poller_wait(pollers[0], 10, &err));
        must(cv_poller_wait(pollers[1], 10, &err));
        assert_int_equal(sides[1].broken, 0);
    }
    close_sides(sides);
    cv_poller_free(pollers[0]);
    cv_poller_free(pollers[1]);
    free(text);
}

static void a_frame_that_is_cut_is_an_error(void **state)
{
    char *text = make_text(2, 200000);
    struct cv_poller *poller;
    struct side sides[2];

    (void)state;
    must(cv_poller_new(&poller, &err));
    open_sides(sides, poller, 1000, text);
    sides[0].sent = 3;
    sides[1].got = 3;
    send_next(&sides[0]); /* two messages are in flight */
    assert_true(cv_link_pending(&sides[0].link) > 0);
    say_end(&sides[0].end.channel);
    while (sides[1].broken == 0)
        must(cv_poller_wait(poller, 10, &err));
    assert_int_equal(sides[1].err.status, CLEAVE_EINPUT);
    assert_int_equal(sides[1].got, 3);
    close_sides(sides);
    cv_poller_free(poller);
    free(text);
}

static void a_damaged_frame_is_found_out(void **state)
{
    char *text = make_text(3, 200000);
    struct cv_poller *poller;
    struct side sides[2];

    (void)state;
    must(cv_poller_new(&poller, &err));
    open_sides(sides, poller, 65536, text);
    sides[0].sent = sides[1].got = 2;
    send_next(&sides[0]);
    sides[0].end.slots[0][CV_FRAME_HEAD + 7] ^= 4;
    while (sides[1].broken == 0)
        must(cv_poller_wait(poller, 10, &err));
    assert_int_equal(sides[1].err.status, CLEAVE_EINPUT);
    close_sides(sides);
    cv_poller_free(poller);
    free(text);
}

/* Last frames of a worker that got an invalid frame. */
static void last_words_go_out_when_there_is_room(void **state)
{
    char *text = make_text(4, 200000);
    struct cv_poller *poller;
    struct side sides[2];

    (void)state;
    must(cv_poller_new(&poller, &err));
    open_sides(sides, poller, 5000, text);
    memset(sides[0].end.slots[0], 'x', 100);
    send_message(&sides[0].end.channel, 100);
    while (sides[1].broken == 0)
        must(cv_poller_wait(poller, 10, &err));
    assert_int_equal(sides[1].err.status, CLEAVE_EINPUT);
    sides[1].link.broken = false;
    sides[1].sent = sides[0].got = 4; /* longer than all slots */
    sides[1].given = 5;
    send_next(&sides[1]);
    assert_true(cv_link_pending(&sides[1].link) > 0);
    while (cv_link_pending(&sides[1].link) > 0 || sides[0].got == 4)
        must(cv_poller_wait(poller, 10, &err));
    assert_int_equal(sides[0].got, 5);
    assert_int_equal(sides[1].broken, 1);
    close_sides(sides);
    cv_poller_free(poller);
    free(text);
}

static void a_link_may_be_closed_by_a_frame(void **state)
{
    char *text = make_text(5, 200000);
    struct cv_poller *poller;
    struct side sides[2];

    (void)state;
    must(cv_poller_new(&poller, &err));
    open_sides(sides, poller, 65536, text);
    sides[1].closes = true;
    send_next(&sides[0]);
    send_next(&sides[0]);
    while (sides[1].got == 0)
        must(cv_poller_wait(poller, 10, &err));
    assert_true(sides[1].end.left);
    assert_int_equal(sides[0].end.count, 2); /* it no longer owned them */

    /* An end whose peer has exited drops its input. */
    sides[0].end.peer_closed = true;
    send_next(&sides[0]);
    assert_true(sides[0].link.peer_closed);
    assert_int_equal(cv_link_pending(&sides[0].link), 0);
    close_sides(sides);
    assert_int_equal(sides[1].got, 1);
    cv_poller_free(poller);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_all_sizes_arrive),
        cmocka_unit_test(frames_wait_for_earlier_frames),
        cmocka_unit_test(a_frame_that_is_cut_is_an_error),
        cmocka_unit_test(a_damaged_frame_is_found_out),
        cmocka_unit_test(last_words_go_out_when_there_is_room),
        cmocka_unit_test(a_link_may_be_closed_by_a_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
