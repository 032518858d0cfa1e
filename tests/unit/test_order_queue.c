/* test_order_queue.c -- orders: every byte is left, wanted, in flight or done.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "engine/run_check.h"
#include "run/master/order_queue.h"

enum { WORKERS = 4, RECORDS = 300, RECORD = 10, HANDS = 6 };

struct world {
    char path[64];
    struct cv_splitter *splitter;
    struct cv_event_queue events;
    struct cv_order_queue queue;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    int fd;

    assert_non_null(world);
    strcpy(world->path, "/tmp/cleave-books-XXXXXX");
    fd = mkstemp(world->path);
    assert_true(fd >= 0);
    for (int i = 0; i < RECORDS; i++)
        assert_int_equal(dprintf(fd, "%09d\n", i), RECORD);
    close(fd);
    world->splitter = parse("lines");
    assert_ok(cv_source_open((const char *[]){ world->path }, 1,
                             &(struct cv_source_options){ .splitter = world->splitter },
                             &world->queue.source, &err));
    world->queue.events = &world->events;
    world->queue.gets_losses = true;
    assert_ok(cv_order_queue_open(&world->queue, WORKERS, &err));
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    cv_order_queue_close(&world->queue);
    cv_event_queue_done(&world->events);
    cv_source_free(world->queue.source);
    cv_splitter_free(world->splitter);
    unlink(world->path);
    free(world);
    return 0;
}

static void assert_event(struct cv_event_queue *events, enum cleave_event_kind kind,
                         uint32_t worker, uint64_t chunk, double units)
{
    struct cleave_event event;

    assert_true(cv_event_queue_pop(events, &event));
    assert_int_equal(event.kind, kind);
    assert_int_equal(event.worker, worker);
    assert_int_equal(event.chunk, chunk);
    assert_true(event.units == units);
}

static void assert_no_event(struct cv_event_queue *events)
{
    struct cleave_event event;

    assert_false(cv_event_queue_pop(events, &event));
}

/* The next order of a worker, begun. */
static struct cv_piece begin(struct cv_order_queue *queue, uint32_t worker)
{
    const struct cv_pending_order pending = cv_order_queue_take(queue, worker);
    struct cv_piece piece = { .begin = 0 };
    enum cv_take state;

    assert_ok(
        cv_source_take(queue->source, (uint64_t)pending.units, &state, &piece, &err));
    assert_int_equal(state, CV_TAKE_PIECE);
    queue->running++;
    return piece;
}

/* --- one by one --------------------------------------------------------------------------- */

static void ordered_units_are_not_left(void **state)
{
    struct cv_order_queue *queue = &((struct world *)*state)->queue;

    assert_true(cv_order_queue_unordered_bytes(queue) == RECORDS * RECORD);
    assert_ok(
        cv_order_queue_order(queue, 2, CV_ORDER_SEND, 99.6, 0, &err)); /* whole bytes */
    assert_ok(
        cv_order_queue_order(queue, 2, CV_ORDER_SEND, 0.1, 0, &err)); /* at least one */
    assert_ok(cv_order_queue_order(queue, 1, CV_ORDER_SEND, 50, 0, &err));
    assert_true(cv_order_queue_unordered_bytes(queue) == RECORDS * RECORD - 151);
    assert_int_equal(queue->pending, 3);
    assert_null(cv_order_queue_next(queue, 0));
    assert_true(cv_order_queue_next(queue, 2)->units == 100);
    assert_int_equal(cv_order_queue_take(queue, 2).chunk, 0);
    assert_int_equal(cv_order_queue_take(queue, 2).chunk, 1);
    assert_null(cv_order_queue_next(queue, 2));
    assert_int_equal(cv_order_queue_take(queue, 1).chunk, 2);
    assert_int_equal(queue->pending, 0);
    assert_true(queue->wanted == 0);
    /* An order without end leaves nothing, and does not lose bytes in sums. */
    assert_ok(cv_order_queue_order(queue, 0, CV_ORDER_SEND, 1e300, 0, &err));
    assert_true(cv_order_queue_unordered_bytes(queue) == 0);
    cv_order_queue_take(queue, 0);
    assert_true(cv_order_queue_unordered_bytes(queue) == RECORDS * RECORD);
}

static void orders_of_a_lost_worker_are_left_again(void **state)
{
    struct world *world = *state;
    struct cv_order_queue *queue = &world->queue;

    assert_ok(cv_order_queue_order(queue, 3, CV_ORDER_SEND, 400, 0, &err));
    assert_ok(cv_order_queue_order(queue, 0, CV_ORDER_SEND, 70, 0, &err));
    assert_ok(cv_order_queue_order(queue, 3, CV_ORDER_SEND, 600, 0, &err));
    cv_order_queue_cancel_worker(queue, 3);
    assert_true(cv_order_queue_unordered_bytes(queue) == RECORDS * RECORD - 70);
    assert_int_equal(queue->pending, 1);
    assert_null(cv_order_queue_next(queue, 3));
    assert_non_null(cv_order_queue_next(queue, 0));
    assert_event(&world->events, CLEAVE_LOST, 3, 0, 400);
    assert_event(&world->events, CLEAVE_LOST, 3, 2, 600);
    assert_no_event(&world->events);
}

static void a_too_large_order_is_not_repeated(void **state)
{
    const struct cv_pending_order pending = { .units = 900 };
    struct cv_order_queue queue = { .largest = 0 };

    (void)state;
    assert_true(cv_order_queue_size(&queue, &pending) == 900);
    cv_order_queue_lower_size_limit(&queue, 1000);
    assert_true(cv_order_queue_size(&queue, &pending) == 500);
    /* The smallest of several; but no less than a finished size. */
    cv_order_queue_lower_size_limit(&queue, 4000);
    assert_true(cv_order_queue_size(&queue, &pending) == 500);
    queue.largest = 400;
    cv_order_queue_lower_size_limit(&queue, 450);
    assert_true(cv_order_queue_size(&queue, &pending) == 400);
    /* As much has been done: it was not the size. */
    cv_order_queue_lower_size_limit(&queue, 399);
    assert_true(cv_order_queue_size(&queue, &pending) == 400);
    assert_true(cv_order_queue_size(&queue, &(struct cv_pending_order){ .units = 7 }) ==
                7);
    /* Nor does it become so gradually. */
    assert_true(cv_order_queue_fit_size(&queue, 0, 900) == 400);
    assert_true(cv_order_queue_fit_size(&queue, 390, 900) == 10);
    assert_true(cv_order_queue_fit_size(&queue, 390, 7) == 7);
    assert_true(cv_order_queue_fit_size(&queue, 500, 7) == 0);
    queue.max = 0;
    assert_true(cv_order_queue_fit_size(&queue, 500, 7) == 7);
}

static void a_lost_chunk_is_left_again(void **state)
{
    struct world *world = *state;
    struct cv_order_queue *queue = &world->queue;
    struct cv_piece piece;

    assert_ok(cv_order_queue_order(queue, 1, CV_ORDER_SEND, 400, 0, &err));
    piece = begin(queue, 1);
    assert_true(cv_order_queue_unordered_bytes(queue) == RECORDS * RECORD - 400);
    queue->running--;
    assert_ok(cv_order_queue_requeue(queue,
                                     &(struct cv_chunk){ .owner = 1,
                                                         .reported = CV_REPORTED_SENT },
                                     &piece, &err));
    assert_true(cv_order_queue_unordered_bytes(queue) == RECORDS * RECORD);
    assert_int_equal(queue->pending, 0);
    assert_event(&world->events, CLEAVE_LOST, 1, 0, 400);
    assert_no_event(&world->events);
}

/* A policy without loss events must not be asked to hand it out again, either. */
static void or_is_ordered_again_before_all_others(void **state)
{
    struct world *world = *state;
    struct cv_order_queue *queue = &world->queue;
    struct cv_piece piece;

    queue->gets_losses = false;
    assert_ok(cv_order_queue_order(queue, 1, CV_ORDER_SEND, 400, 0, &err));
    assert_ok(cv_order_queue_order(queue, 1, CV_ORDER_SEND, 200, 0, &err));
    piece = begin(queue, 1);
    queue->running--;
    assert_ok(cv_order_queue_requeue(queue,
                                     &(struct cv_chunk){ .owner = 1,
                                                         .reported = CV_REPORTED_SENT },
                                     &piece, &err));
    assert_true(cv_order_queue_unordered_bytes(queue) == RECORDS * RECORD - 600);
    assert_int_equal(queue->pending, 2);
    assert_int_equal(cv_order_queue_next(queue, 1)->chunk, 0);
    assert_int_equal(cv_order_queue_next(queue, 1)->reported, CV_REPORTED_SENT);
    cv_order_queue_take(queue, 1);
    assert_int_equal(cv_order_queue_next(queue, 1)->chunk, 1);
    assert_no_event(&world->events);
}

static void an_order_for_which_nothing_is_left_is_done(void **state)
{
    struct world *world = *state;

    cv_order_queue_complete_empty(&world->queue, 2, 7, CV_REPORTED_ORDER);
    assert_event(&world->events, CLEAVE_SENT, 2, 7, 0);
    assert_event(&world->events, CLEAVE_DONE, 2, 7, 0);
    cv_order_queue_complete_empty(&world->queue, 2, 8, CV_REPORTED_SENT);
    assert_event(&world->events, CLEAVE_DONE, 2, 8, 0);
    cv_order_queue_complete_empty(&world->queue, 2, 9, CV_UNREPORTED);
    assert_no_event(&world->events);
}

static void closed_books_have_no_orders(void **state)
{
    struct cv_order_queue *queue = &((struct world *)*state)->queue;

    assert_ok(cv_order_queue_order(queue, 1, CV_ORDER_SEND, 400, 0, &err));
    queue->done = 5;
    cv_order_queue_close(queue);
    assert_false(queue->open);
    assert_null(cv_order_queue_next(queue, 1));
    assert_true(queue->done == 5);
}

/* --- all of it ---------------------------------------------------------------------------- */

/* A chunk in flight in the run below. */
struct hand {
    uint32_t worker;
    struct cv_pending_order pending;
    struct cv_piece piece;
};

/* Begin the next order of a worker, if it has one and there is a hand for it. */
static void begin_one(struct cv_order_queue *queue, uint32_t worker, struct hand *hands,
                      size_t *nhands)
{
    struct hand *hand = &hands[*nhands];
    enum cv_take state;

    if (*nhands == HANDS || cv_order_queue_next(queue, worker) == NULL)
        return;
    hand->worker = worker;
    hand->pending = cv_order_queue_take(queue, worker);
    assert_ok(cv_source_take(queue->source, (uint64_t)hand->pending.units, &state,
                             &hand->piece, &err));
    if (state == CV_TAKE_END) {
        cv_order_queue_complete_empty(queue, worker, hand->pending.chunk,
                                      hand->pending.reported);
        return;
    }
    queue->running++;
    ++*nhands;
}

/* Workers with orders are known without a scan: compare with a scan. */
static void assert_wanting(const struct cv_order_queue *queue)
{
    uint32_t found = cv_order_queue_next_worker(queue, 0);

    for (uint32_t w = 0; w < queue->nworkers; w++)
        if (cv_order_queue_next(queue, w) != NULL) {
            assert_int_equal(found, w);
            found = cv_order_queue_next_worker(queue, w + 1);
        }
    assert_int_equal(found, queue->nworkers);
}

static void many_workers_are_not_all_asked(void **state)
{
    static const uint32_t with[] = { 0, 63, 64, 127, 130, 191 };
    struct cv_order_queue *queue = &((struct world *)*state)->queue;

    cv_order_queue_close(queue);
    assert_ok(cv_order_queue_open(queue, 192, &err));
    assert_wanting(queue);
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        assert_ok(cv_order_queue_order(queue, with[i], CV_ORDER_SEND, 10, 0, &err));
    assert_ok(cv_order_queue_order(queue, 64, CV_ORDER_SEND, 10, 0, &err));
    assert_wanting(queue);
    (void)cv_order_queue_take(queue, 64);
    (void)cv_order_queue_take(queue, 127);
    assert_wanting(queue);
    assert_int_equal(cv_order_queue_next_worker(queue, 65), 130);
    (void)cv_order_queue_take(queue, 64);
    cv_order_queue_cancel_worker(queue, 0);
    assert_int_equal(cv_order_queue_next_worker(queue, 0), 63);
    assert_wanting(queue);
}

static void end_one(struct cv_order_queue *queue, struct hand *hand, bool lost)
{
    if (lost) {
        queue->running--;
        queue->lost++;
        assert_ok(cv_order_queue_requeue(queue,
                                         &(struct cv_chunk){
                                             .number = hand->pending.chunk,
                                             .owner = hand->worker,
                                             .reported = hand->pending.reported },
                                         &hand->piece, &err));
    } else {
        assert_ok(cv_source_finish(queue->source, &hand->piece, &err));
        cv_order_queue_complete(queue, &hand->piece);
    }
}

/* Hand out all units left to workers that come and go: in the end, each byte was done
 * once. */
static void nothing_is_lost_by_losses(void **state)
{
    struct world *world = *state;
    struct cv_order_queue *queue = &world->queue;
    struct hand hands[HANDS];
    size_t nhands = 0;
    struct cv_random random;
    uint64_t turn = 0;

    cv_random_at(&random, 1, 0, 0, 0);
    while (cv_order_queue_unordered_bytes(queue) > 0 || queue->pending > 0 ||
           nhands > 0) {
        const uint64_t dice = cv_random_bits(&random);
        const uint32_t worker = (uint32_t)(dice >> 8) % WORKERS;
        const double left = cv_order_queue_unordered_bytes(queue);
        struct cleave_event event;

        assert_true(turn++ < 100000);
        assert_wanting(queue);
        if (dice % 8 < 2 && left > 0)
            assert_ok(cv_order_queue_order(queue, worker, CV_ORDER_SEND,
                                           (double)((dice >> 16) % 90), 0, &err));
        else if (dice % 8 < 5)
            begin_one(queue, worker, hands, &nhands);
        else if (dice % 8 == 5)
            cv_order_queue_cancel_worker(queue, worker);
        else if (nhands > 0) {
            end_one(queue, &hands[nhands - 1], dice % 8 == 6 && turn < 2000);
            nhands--;
        }
        assert_int_equal(queue->running, nhands);
        while (cv_event_queue_pop(&world->events, &event))
            continue;
    }
    assert_true(queue->done == RECORDS * RECORD);
    assert_true(queue->wanted == 0);
    assert_true(queue->lost > 10);
}

/* A kill for another reason does not make all chunks small for ever. */
static void larger_ones_are_tried_again(void **state)
{
    struct cv_order_queue queue = { .max = 0 };
    int probes = 0;

    (void)state;
    cv_order_queue_lower_size_limit(&queue, 100);
    assert_true(queue.max == 50);
    for (int i = 0; i < 1000; i++)
        cv_order_queue_raise_size_limit(&queue, 50, false); /* failures are not retried */
    for (int i = 0; i < 1000; i++)
        cv_order_queue_raise_size_limit(&queue, 20, true); /* and this says nothing */
    assert_true(queue.max == 50);
    for (int i = 0; i < 64; i++)
        cv_order_queue_raise_size_limit(&queue, 50, true);
    assert_true(queue.max == 100);
    cv_order_queue_raise_size_limit(&queue, 100, true); /* it takes as many again */
    assert_true(queue.max == 100);
    queue.largest = 50;
    /* If it is too large indeed, that is found less and less often. */
    for (int i = 0; i < 64 * 100; i++) {
        if (queue.max > 50) {
            probes++;
            cv_order_queue_lower_size_limit(&queue, queue.max);
            assert_true(queue.max == 50);
        }
        cv_order_queue_raise_size_limit(&queue, 50, true);
    }
    assert_in_range(probes, 4, 7);
    /* If not, it is as if nothing had been. */
    for (int i = 0; i < 64 * 200; i++)
        cv_order_queue_raise_size_limit(&queue, queue.max, true);
    assert_true(queue.max >= 100);
    /* A finished size is not too large. */
    queue = (struct cv_order_queue){ .max = 0 };
    cv_order_queue_raise_size_limit(&queue, 100, true);
    cv_order_queue_raise_size_limit(&queue, 10, true);
    cv_order_queue_lower_size_limit(&queue, 90);
    assert_true(queue.max == 0);
    cv_order_queue_lower_size_limit(&queue, 150);
    assert_true(queue.max == 100);
    cv_order_queue_raise_size_limit(&queue, 150, false); /* another worker has done it */
    assert_true(queue.max == 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ordered_units_are_not_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(orders_of_a_lost_worker_are_left_again, set_up,
                                        tear_down),
        cmocka_unit_test(a_too_large_order_is_not_repeated),
        cmocka_unit_test(larger_ones_are_tried_again),
        cmocka_unit_test_setup_teardown(a_lost_chunk_is_left_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(or_is_ordered_again_before_all_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_order_for_which_nothing_is_left_is_done,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(closed_books_have_no_orders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_workers_are_not_all_asked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_lost_by_losses, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
