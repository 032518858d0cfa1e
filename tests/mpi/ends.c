/* ends.c -- protocol between the user of a link and the bridge, without messages.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "mpi/bridge/bridge_internal.h"

enum { ROOM = 16 };

/* An end with its rings, as the bridge makes them. */
struct line {
    struct cv_bridge_end end;
    struct cv_ring out, in;
    unsigned char bytes[2][CV_BRIDGE_BUFFERS][ROOM];
    int bell;
};

static struct cleave_channel *open_line(struct line *line)
{
    struct cleave_error err;

    *line = (struct line){ .bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
    assert_true(line->bell >= 0);
    for (unsigned i = 0; i < CV_BRIDGE_BUFFERS; i++) {
        line->out.buffers[i].bytes = line->bytes[0][i];
        line->in.buffers[i].bytes = line->bytes[1][i];
    }
    assert_int_equal(cv_bridge_end_open(&line->end, &line->out, &line->in, ROOM,
                                        line->bell, &err),
                     CLEAVE_OK);
    return &line->end.channel;
}

static void close_line(struct line *line)
{
    cv_bridge_end_close(&line->end);
    close(line->bell);
}

/* Whether it has been rung since this was asked last. */
static bool rang(int fd)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    const bool is = poll(&wait, 1, 0) == 1;

    if (is)
        cv_bridge_clear_event(fd);
    return is;
}

/* The bridge has received `came` buffers, each with as many bytes as its number, starting
 * at 1. */
static void receive(struct line *line, unsigned came, bool ended)
{
    for (unsigned i = line->end.came; i < came; i++)
        cv_ring_buffer(&line->in, i)->length = i + 1;
    cv_bridge_end_tell(&line->end, line->end.freed, came, ended, false);
}

/* --- going out ---------------------------------------------------------------------------- */

static void a_waiting_rank_is_sent_a_slab(void **state)
{
    struct line line;
    struct cleave_channel *channel = open_line(&line);
    bool peer_closed;

    (void)state;
    for (unsigned i = 0; i < CV_BRIDGE_BUFFERS; i++) {
        assert_ptr_equal(channel->calls->place(channel, &peer_closed), line.bytes[0][i]);
        channel->calls->send(channel, i + 1);
        assert_true(rang(line.bell));
        assert_int_equal(cv_bridge_end_look(&line.end).filled, i + 1);
        assert_int_equal(line.out.buffers[i].length, i + 1);
    }
    /* No request for more has been made. */
    cv_bridge_end_tell(&line.end, 1, 0, false, false);
    assert_false(rang(channel->fd));
    assert_ptr_equal(channel->calls->place(channel, &peer_closed), line.bytes[0][0]);
    channel->calls->send(channel, 1);
    assert_null(channel->calls->place(channel, &peer_closed));
    assert_false(peer_closed);
    cv_bridge_end_tell(&line.end, 1, 0, false, false);
    assert_false(rang(channel->fd));
    cv_bridge_end_tell(&line.end, 2, 0, false, false);
    assert_true(rang(channel->fd));
    assert_ptr_equal(channel->calls->place(channel, &peer_closed), line.bytes[0][1]);
    close_line(&line);
}

static void an_unreachable_rank_gets_an_error(void **state)
{
    struct line line;
    struct cleave_channel *channel = open_line(&line);
    bool peer_closed = true;

    (void)state;
    assert_non_null(channel->calls->place(channel, &peer_closed));
    assert_false(peer_closed);
    cv_bridge_end_tell(&line.end, 0, 0, false, true);
    assert_true(rang(channel->fd));
    assert_null(channel->calls->place(channel, &peer_closed));
    assert_true(peer_closed);
    close_line(&line);
}

/* --- coming in ---------------------------------------------------------------------------- */

static void frames_are_read_in_order_and_then_the_end(void **state)
{
    struct line line;
    struct cleave_channel *channel = open_line(&line);
    size_t length;
    bool ended;

    (void)state;
    assert_null(channel->calls->peek(channel, &length, &ended));
    assert_false(ended);
    receive(&line, 2, true);
    assert_true(rang(channel->fd));
    for (unsigned i = 0; i < 2; i++) {
        assert_ptr_equal(channel->calls->peek(channel, &length, &ended),
                         line.bytes[1][i]);
        assert_int_equal(length, i + 1);
        assert_false(ended);
        assert_int_equal(cv_bridge_end_look(&line.end).taken, i);
        channel->calls->done(channel);
        assert_true(rang(line.bell));
        assert_int_equal(cv_bridge_end_look(&line.end).taken, i + 1);
    }
    assert_null(channel->calls->peek(channel, &length, &ended));
    assert_true(ended);
    receive(&line, 2, true); /* no news */
    assert_false(rang(channel->fd));
    close_line(&line);
}

/* The other rank must not wait for a reader that has left. */
static void frames_for_a_departed_rank_are_dropped(void **state)
{
    (void)state;
    for (int says_end = 0; says_end < 2; says_end++) {
        struct line line;
        struct cleave_channel *channel = open_line(&line);

        receive(&line, 1, false);
        assert_true(rang(channel->fd));
        (says_end ? channel->calls->end : channel->calls->leave)(channel);
        assert_true(rang(line.bell));
        assert_int_equal(cv_bridge_end_look(&line.end).taken, 1);
        assert_int_equal(cv_bridge_end_look(&line.end).said, says_end);
        receive(&line, 3, false);
        assert_int_equal(cv_bridge_end_look(&line.end).taken, 3);
        assert_false(rang(channel->fd));
        close_line(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiting_rank_is_sent_a_slab),
        cmocka_unit_test(an_unreachable_rank_gets_an_error),
        cmocka_unit_test(frames_are_read_in_order_and_then_the_end),
        cmocka_unit_test(frames_for_a_departed_rank_are_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
