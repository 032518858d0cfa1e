/* test_run_recall.c -- units taken back before they were sent: events and frames, to the
 * byte. SPDX-License-Identifier: MIT
 *
 * A policy gives three chunks, wakes while the first is in flight, takes one back and
 * gives the returned units to a worker. Driver, master and hosts are real; the other ends
 * of the links count received bytes (scripted_world.h). Records have ten bytes, so that
 * chunks are as large as was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scripted_trial.h"

enum { RECORD = 10, MOST_EVENTS = 64 };

/* Script of the policy. */
struct scene {
    double sizes[3]; /* sizes of the first chunks; 0: none */
    uint32_t to[3];
    double wake_s;
    uint32_t from; /* worker whose last chunk is taken back, */
    double units;  /* this many units, */
    uint32_t then; /* and the worker that gets them */
};

static struct scene scene;
static struct cleave_event events[MOST_EVENTS];
static size_t nevents;

static void act(void *state, const struct cleave_view *view,
                const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    (void)view;
    assert_true(nevents < MOST_EVENTS);
    events[nevents++] = *event;
    if (event->kind == CLEAVE_START) {
        for (int i = 0; i < 3; i++)
            if (scene.sizes[i] > 0)
                cleave_order_send(orders, scene.to[i], scene.sizes[i]);
        cleave_order_wake(orders, scene.from, scene.wake_s);
    } else if (event->kind == CLEAVE_WAKE) {
        cleave_order_recall(orders, scene.from, scene.units);
    } else if (event->kind == CLEAVE_RECALLED && event->units > 0) {
        cleave_order_send(orders, scene.then, event->units);
    }
}

/* The nth event of the kind about the worker; a missing event has no units. */
static struct cleave_event nth(enum cleave_event_kind kind, uint32_t worker, size_t n)
{
    for (size_t i = 0; i < nevents; i++)
        if (events[i].kind == kind && events[i].worker == worker && n-- == 0)
            return events[i];
    return (struct cleave_event){ .kind = kind, .units = NAN };
}

static void make_records(struct trial *trial, size_t count)
{
    FILE *file = fopen(input, "w");

    trial->length = count * RECORD;
    trial->bytes = realloc(trial->bytes, trial->length + 1);
    assert_non_null(trial->bytes);
    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        snprintf(trial->bytes + i * RECORD, RECORD + 1, "%09u\n", (unsigned)i % 1000000);
    assert_int_equal(fwrite(trial->bytes, 1, trial->length, file), trial->length);
    fclose(file);
}

/* All of it is done, the output equals the input, and no byte was sent twice. */
static void play(uint32_t nhosts, enum cleave_port port, struct scene request)
{
    const struct cleave_policy recalling = { .name = "recalling",
                                             .decide = act,
                                             .state_size = 1 };
    struct trial trial = calm(0, nhosts, port, "recalling", SIZE_MAX);
    struct cleave_execution_result *result;
    double all = 0;

    scene = request;
    nevents = 0;
    for (int i = 0; i < 3; i++)
        all += request.sizes[i];
    make_records(&trial, (size_t)all / RECORD);
    trial.own = &recalling;
    trial.persistent = true;
    trial.backups = CLEAVE_BACKUPS_OFF;
    run(&trial, &result);
    assert_true(result->lost == 0 && result->failed == 0 && result->retries == 0);
    cleave_execution_free(result);
    free(trial.bytes);
    /* It is back at the instant of the request. */
    assert_true(nth(CLEAVE_RECALLED, request.from, 0).time_s ==
                nth(CLEAVE_WAKE, request.from, 0).time_s);
    assert_true(isnan(nth(CLEAVE_RECALLED, request.from, 1).units));
    for (uint32_t h = 0; h < nhosts; h++)
        assert_int_equal(machines[h].heard[CV_FRAME_CUT], 0);
}

/* The policy gets the end of a chunk that came back completely, with zero units. */
static void expect_over(uint32_t worker, size_t n)
{
    assert_true(nth(CLEAVE_SENT, worker, n).units == 0);
    assert_true(nth(CLEAVE_DONE, worker, n).units == 0);
    assert_true(nth(CLEAVE_SENT, worker, n).chunk == nth(CLEAVE_DONE, worker, n).chunk);
}

static void expect_heard(uint32_t host, uint32_t pieces, uint64_t bytes, uint32_t stops)
{
    assert_int_equal(machines[host].heard[CV_FRAME_PIECE], pieces);
    assert_int_equal(machines[host].data, bytes);
    assert_int_equal(machines[host].heard[CV_FRAME_STOP], stops);
}

/* The port is busy with another chunk: the intended worker is never contacted, and the
 * next in line has the port next. */
static void chunks_waiting_for_the_port_are_recalled_completely(void **state)
{
    static const enum cleave_port ports[] = { CLEAVE_PORT_ONE, CLEAVE_PORT_DUPLEX };

    (void)state;
    for (int i = 0; i < 2; i++) {
        play(3, ports[i],
             (struct scene){ { 8000, 4000, 6000 }, { 0, 1, 2 }, 0.1, 1, 1e9, 0 });
        assert_true(nth(CLEAVE_RECALLED, 1, 0).units == 4000);
        expect_over(1, 0);
        expect_heard(0, 2, 12000, 0);
        expect_heard(1, 0, 0, 0);
        expect_heard(2, 1, 6000, 0);
        assert_true(nth(CLEAVE_SENT, 0, 1).units == 4000);
        assert_true(nth(CLEAVE_SENT, 2, 0).time_s < nth(CLEAVE_SENT, 0, 1).time_s);
    }
}

/* The last of the waiting chunks: later orders find the end of the line. */
static void the_end_of_the_line_is_where_it_was(void **state)
{
    (void)state;
    play(3, CLEAVE_PORT_ONE,
         (struct scene){ { 8000, 4000, 6000 }, { 0, 1, 2 }, 0.1, 2, 1e9, 2 });
    assert_true(nth(CLEAVE_RECALLED, 2, 0).units == 6000);
    expect_over(2, 0);
    expect_heard(0, 1, 8000, 0);
    expect_heard(1, 1, 4000, 0);
    expect_heard(2, 1, 6000, 0);
    assert_true(nth(CLEAVE_SENT, 1, 0).time_s < nth(CLEAVE_SENT, 2, 1).time_s);
}

/* Its end: the chunk is announced with its rest, and no more is sent. */
static void the_end_of_what_waits_comes_back(void **state)
{
    (void)state;
    play(3, CLEAVE_PORT_ONE,
         (struct scene){ { 8000, 4000, 6000 }, { 0, 1, 2 }, 0.1, 1, 1500, 0 });
    assert_true(nth(CLEAVE_RECALLED, 1, 0).units == 1500);
    assert_true(nth(CLEAVE_SENT, 1, 0).units == 2500);
    assert_true(nth(CLEAVE_DONE, 1, 0).units == 2500);
    expect_heard(0, 2, 9500, 0);
    expect_heard(1, 1, 2500, 0);
    expect_heard(2, 1, 6000, 0);
}

/* After another chunk of the same worker on a free link. */
static void chunks_waiting_for_their_link_are_recalled(void **state)
{
    (void)state;
    play(2, CLEAVE_PORT_MULTI,
         (struct scene){ { 150000, 40000, 20000 }, { 0, 0, 1 }, 1, 0, 1e9, 1 });
    assert_true(nth(CLEAVE_RECALLED, 0, 0).units == 40000);
    expect_over(0, 0);
    expect_heard(0, 1, 150000, 0);
    expect_heard(1, 2, 60000, 0);
}

/* Some of it is on its way: the rest is cut off here, and over there its end comes sooner. */
static void the_rest_of_a_chunk_in_flight_is_recalled(void **state)
{
    (void)state;
    play(2, CLEAVE_PORT_MULTI,
         (struct scene){ { 150000, 20000, 0 }, { 0, 1, 0 }, 1, 0, 30000, 1 });
    assert_true(nth(CLEAVE_RECALLED, 0, 0).units == 30000);
    assert_true(nth(CLEAVE_SENT, 0, 0).units == 120000);
    expect_heard(0, 1, 120000, 0);
    expect_heard(1, 2, 50000, 0);
}

/* All of it, though some is in flight: it is stopped there, once, and restarted. */
static void a_chunk_in_flight_is_recalled_completely(void **state)
{
    (void)state;
    play(2, CLEAVE_PORT_MULTI,
         (struct scene){ { 150000, 20000, 0 }, { 0, 1, 0 }, 1, 0, 1e9, 1 });
    assert_true(nth(CLEAVE_RECALLED, 0, 0).units == 150000);
    expect_over(0, 0);
    assert_int_equal(machines[0].heard[CV_FRAME_PIECE], 1);
    assert_int_equal(machines[0].heard[CV_FRAME_STOP], 1);
    assert_true(machines[0].data > 0 && machines[0].data < 150000);
    expect_heard(1, 2, 170000, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_waiting_for_the_port_are_recalled_completely),
        cmocka_unit_test(the_end_of_the_line_is_where_it_was),
        cmocka_unit_test(the_end_of_what_waits_comes_back),
        cmocka_unit_test(chunks_waiting_for_their_link_are_recalled),
        cmocka_unit_test(the_rest_of_a_chunk_in_flight_is_recalled),
        cmocka_unit_test(a_chunk_in_flight_is_recalled_completely),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
