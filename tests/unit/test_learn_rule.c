/* test_learn_rule.c -- learn, told by hand what commands do. SPDX-License-Identifier: MIT
 *
 * The load is a file of 4 million bytes; pipes hold 4096. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>

#include "policy/common/orders.h"
#include "policy/common/setup.h"

enum { WORKERS = 4, ORDERS = 256 };
static const double LOAD = 4e6, SHARE = 1e6;

struct scene {
    struct cv_arena arena;
    struct cleave_worker workers[WORKERS];
    struct cleave_view view;
    struct cleave_order items[ORDERS];
    struct cleave_orders orders;
    const struct cleave_policy *policy;
    char state[8192];
};

static void tell(struct scene *scene, struct cleave_event event)
{
    scene->orders.count = 0;
    scene->policy->decide(scene->state, &scene->view, &event, &scene->orders);
}

static const struct cleave_order *ordered(const struct scene *scene,
                                          enum cleave_order_kind kind, uint32_t worker)
{
    for (size_t i = 0; i < scene->orders.count; i++)
        if (scene->items[i].kind == kind && scene->items[i].worker == worker)
            return &scene->items[i];
    return NULL;
}

static void prepare(struct scene *scene, double unequal, const uint32_t *groups)
{
    *scene = (struct scene){ .view = { .nworkers = WORKERS,
                                       .port = CLEAVE_PORT_MULTI,
                                       .units_total = LOAD,
                                       .units_left = LOAD,
                                       .real = true,
                                       .opens = true,
                                       .copies = true,
                                       .unequal = unequal,
                                       .groups = groups,
                                       .burst_s = 0.02,
                                       .ahead = 4096 } };
    for (uint32_t w = 0; w < WORKERS; w++)
        scene->workers[w] = (struct cleave_worker){ 1e8, 1e-3, 1e12, 0, 1e12, 0 };
    scene->view.workers = scene->workers;
    scene->orders = (struct cleave_orders){ .items = scene->items,
                                            .capacity = ORDERS,
                                            .units_left = &scene->view.units_left };
    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &scene->policy, NULL),
                     CLEAVE_OK);
    assert_true(scene->policy->state_size <= sizeof scene->state);
    assert_int_equal(cv_params_store(scene->policy, NULL, 0, scene->state, NULL),
                     CLEAVE_OK);
}

static void start(struct scene *scene)
{
    struct cleave_setup setup = { .arena = &scene->arena };

    assert_int_equal(scene->policy->start(scene->state, &scene->view, &setup, NULL),
                     CLEAVE_OK);
    tell(scene, (struct cleave_event){ .kind = CLEAVE_START });
}

static void begin(struct scene *scene, double unequal)
{
    prepare(scene, unequal, NULL);
    start(scene);
}

static void end(struct scene *scene)
{
    cv_arena_done(&scene->arena);
}

/* All have their shares, and read after start_s. */
static void all_start(struct scene *scene, double start_s)
{
    for (uint32_t w = 0; w < WORKERS; w++)
        tell(scene, (struct cleave_event){ .kind = CLEAVE_SENT,
                                           .worker = w,
                                           .chunk = w,
                                           .units = SHARE,
                                           .more = w + 1 < WORKERS });
    for (uint32_t w = 0; w < WORKERS; w++)
        tell(scene,
             (struct cleave_event){
                 .kind = CLEAVE_STARTED, .worker = w, .chunk = w, .time_s = start_s });
}

static void reads(struct scene *scene, uint32_t worker, double units, double output,
                  double time_s)
{
    tell(scene, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                       .worker = worker,
                                       .chunk = worker,
                                       .units = units,
                                       .output = output,
                                       .time_s = time_s });
}

static void equal_workers_start_on_equal_ranges(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, 4);
    assert_int_equal(scene.orders.count, WORKERS);
    for (uint32_t w = 0; w < WORKERS; w++) {
        assert_non_null(ordered(&scene, CLEAVE_OPEN, w));
        assert_true(fabs(ordered(&scene, CLEAVE_OPEN, w)->units - SHARE) < 1);
    }
    end(&scene);
}

static void workers_that_differ_wait_for_one_small_test(void **state)
{
    struct scene scene;
    double given = 0;

    (void)state;
    begin(&scene, 30);
    for (uint32_t w = 0; w < WORKERS; w++) {
        assert_non_null(ordered(&scene, CLEAVE_OPEN, w));
        given += ordered(&scene, CLEAVE_OPEN, w)->units;
    }
    assert_non_null(ordered(&scene, CLEAVE_EXTEND, 0));
    assert_null(ordered(&scene, CLEAVE_EXTEND, 1));
    given += ordered(&scene, CLEAVE_EXTEND, 0)->units;
    assert_true(given > 0 && given < SHARE / 16);
    end(&scene);
}

/* A test that takes longer than a start does not delay the other workers. */
static void a_slow_test_is_not_waited_for(void **state)
{
    struct scene scene;
    bool any = false;

    (void)state;
    begin(&scene, 30);
    for (uint32_t w = 0; w < WORKERS; w++)
        tell(&scene,
             (struct cleave_event){ .kind = CLEAVE_SENT, .worker = w, .chunk = w });
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_EXTENDED, .units = 16384 });
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = 0.5 });
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 1.01 });
    tell(&scene, (struct cleave_event){
                     .kind = CLEAVE_PROGRESS, .units = 8192, .time_s = 1.011 });
    for (uint32_t w = 1; w < WORKERS; w++)
        any = any || ordered(&scene, CLEAVE_EXTEND, w) != NULL;
    assert_true(any);
    end(&scene);
}

/* The first command of workers that may differ has started and read its test of 16384 bytes in
 * 0.1 s; `output` bytes came by then. */
static void read_a_test(struct scene *scene, double output)
{
    for (uint32_t w = 0; w < WORKERS; w++)
        tell(scene,
             (struct cleave_event){ .kind = CLEAVE_SENT, .worker = w, .chunk = w });
    tell(scene, (struct cleave_event){ .kind = CLEAVE_EXTENDED, .units = 16384 });
    tell(scene, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = 0.5 });
    tell(scene,
         (struct cleave_event){
             .kind = CLEAVE_DRAINED, .units = 16384, .output = output, .time_s = 0.6 });
}

/* What they have not read can be taken back, and commands that have started need no other start:
 * all get their share at once if their speeds are known within a factor of 4. */
static void started_commands_get_shares_after_a_test(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, 4.2);
    scene.view.units_left -= 16384;
    read_a_test(&scene, 8192);
    for (uint32_t w = 0; w < WORKERS; w++) {
        const struct cleave_order *order = ordered(&scene, CLEAVE_EXTEND, w);

        assert_non_null(order);
        assert_true(order->units > 0.9 * SHARE && order->units < 1.1 * SHARE);
    }
    end(&scene);
}

/* A worker that may be 30 times slower than the one that was tested gets what it does at the low end. */
static void uncertain_workers_get_what_they_surely_do(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, 30);
    scene.view.units_left -= 16384;
    read_a_test(&scene, 8192);
    assert_true(ordered(&scene, CLEAVE_EXTEND, 0)->units > 0.9 * SHARE);
    for (uint32_t w = 1; w < WORKERS; w++) {
        const double units = ordered(&scene, CLEAVE_EXTEND, w)->units;

        assert_true(units > SHARE / 30 && units < SHARE / 15);
    }
    end(&scene);
}

/* One of a group that was tested has a known speed. */
static void a_known_group_gets_shares(void **state)
{
    const uint32_t groups[WORKERS] = { 0, 0, 1, 1 };
    struct scene scene;

    (void)state;
    prepare(&scene, 30, groups);
    start(&scene);
    scene.view.units_left -= 2 * 16384;
    read_a_test(&scene, 8192);
    assert_true(ordered(&scene, CLEAVE_EXTEND, 1)->units > 0.5 * SHARE);
    end(&scene);
}

/* Each worker is a group and has a test, and commands write nothing: a wait is an eighth of a start. */
static void one_test_ends_and_the_others_wait_for_it(void **state)
{
    const uint32_t groups[WORKERS] = { 0, 1, 2, 3 };
    const struct cleave_order *wake;
    struct scene scene;

    (void)state;
    prepare(&scene, 30, groups);
    start(&scene);
    scene.view.units_left -= WORKERS * 16384;
    for (uint32_t w = 1; w < WORKERS; w++) {
        tell(&scene,
             (struct cleave_event){ .kind = CLEAVE_SENT, .worker = w, .chunk = w });
        tell(&scene,
             (struct cleave_event){
                 .kind = CLEAVE_EXTENDED, .worker = w, .chunk = w, .units = 16384 });
        tell(&scene,
             (struct cleave_event){
                 .kind = CLEAVE_STARTED, .worker = w, .chunk = w, .time_s = 0.5 });
    }
    read_a_test(&scene, 0);
    assert_non_null(ordered(&scene, CLEAVE_CLOSE, 0));
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_DRAINED,
                                        .worker = 1,
                                        .chunk = 1,
                                        .units = 16384,
                                        .time_s = 0.61 });
    assert_null(ordered(&scene, CLEAVE_CLOSE, 1));
    wake = ordered(&scene, CLEAVE_WAKE_AT, 0);
    assert_non_null(wake);
    assert_true(wake->time_s > 0.65 && wake->time_s < 0.67);
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 0.65 });
    assert_null(ordered(&scene, CLEAVE_CLOSE, 1));
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 0.67 });
    assert_non_null(ordered(&scene, CLEAVE_CLOSE, 1));
    end(&scene);
}

/* A worker of another kind, of which nothing is known, gets a test; the one that was tested is
 * not kept waiting. */
static void unknown_kinds_get_a_test(void **state)
{
    const uint32_t groups[WORKERS] = { 0, 1, 1, 1 };
    struct scene scene;

    (void)state;
    prepare(&scene, 30, groups);
    start(&scene);
    scene.view.units_left -= 2 * 16384;
    read_a_test(&scene, 8192);
    assert_true(ordered(&scene, CLEAVE_EXTEND, 0)->units > 0.5 * SHARE);
    assert_true(ordered(&scene, CLEAVE_EXTEND, 2)->units < SHARE / 16);
    end(&scene);
}

/* The chunk of the first test can be extended: it belongs to the smallest kind. */
static void the_smallest_kind_is_tested_first(void **state)
{
    const uint32_t groups[WORKERS] = { 0, 0, 1, 0 };
    struct scene scene;
    size_t first = 0;

    (void)state;
    prepare(&scene, 30, groups);
    start(&scene);
    while (first < scene.orders.count && scene.items[first].kind != CLEAVE_EXTEND)
        first++;
    assert_true(first < scene.orders.count);
    assert_int_equal(scene.items[first].worker, 2);
    end(&scene);
}

/* The first worker has read all; the others are asked for their progress, and answer. */
static void drains(struct scene *scene, double units, double time_s)
{
    tell(scene, (struct cleave_event){
                    .kind = CLEAVE_DRAINED, .units = units, .time_s = time_s });
    for (uint32_t w = 1; w < WORKERS; w++) {
        assert_null(ordered(scene, CLEAVE_EXTEND, 0));
        reads(scene, w, 0.9 * units, 0, time_s + 1e-4);
    }
}

/* Without output the work after the end of the input is unknown: a chunk is extended by
 * the worth of a start, 0.5 s here, and then ends. */
static void a_chunk_whose_rest_is_unknown_ends_soon(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, 4);
    all_start(&scene, 0.5);
    scene.view.units_left = 3 * SHARE;
    reads(&scene, 0, 0.9 * SHARE, 0, 0.9);
    drains(&scene, SHARE, 0.95);
    assert_non_null(ordered(&scene, CLEAVE_EXTEND, 0));
    assert_true(ordered(&scene, CLEAVE_EXTEND, 0)->units < 0.3 * SHARE);
    end(&scene);
    begin(&scene, 4);
    all_start(&scene, 0.5);
    scene.view.units_left = 3 * SHARE;
    reads(&scene, 0, 0.9 * SHARE, 0, 1.4);
    drains(&scene, SHARE, 1.45);
    assert_null(ordered(&scene, CLEAVE_EXTEND, 0));
    assert_non_null(ordered(&scene, CLEAVE_CLOSE, 0));
    end(&scene);
}

/* A command that has just read its first input may not have worked on it: reading in less than the
 * clock's inaccuracy shows no speed, and a decision a moment later asks again. */
static void a_first_gulp_shows_no_speed(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, 4);
    all_start(&scene, 0.5);
    scene.view.units_left = 3 * SHARE;
    for (uint32_t w = 1; w < WORKERS; w++)
        reads(&scene, w, 0.1 * SHARE, 100, 0.504);
    reads(&scene, 0, SHARE, 100, 1.5);
    tell(&scene,
         (struct cleave_event){ .kind = CLEAVE_DRAINED, .units = SHARE, .time_s = 1.5 });
    for (uint32_t w = 1; w < WORKERS; w++)
        assert_non_null(ordered(&scene, CLEAVE_QUERY, w));
    for (uint32_t w = 1; w < WORKERS; w++)
        reads(&scene, w, 0.11 * SHARE, 100, 1.5001);
    /* The others read a tenth in the same second: nearly all that is left is its own. */
    assert_non_null(ordered(&scene, CLEAVE_EXTEND, 0));
    assert_true(ordered(&scene, CLEAVE_EXTEND, 0)->units > 1.5 * SHARE);
    end(&scene);
}

/* Equal ranges end with whole records. The records left go to a chunk that was read and is open: a
 * command of their own would cost a start. */
static void records_left_extend_a_chunk(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, 4);
    all_start(&scene, 0.5);
    scene.view.units_left = 400;
    tell(&scene, (struct cleave_event){
                     .kind = CLEAVE_DRAINED, .units = SHARE, .time_s = 0.5013 });
    assert_non_null(ordered(&scene, CLEAVE_EXTEND, 0));
    assert_null(ordered(&scene, CLEAVE_CLOSE, 0));
    /* A chunk of the largest size ends. */
    end(&scene);
    prepare(&scene, 4, NULL);
    scene.view.memory = (const double[WORKERS]){ SHARE, SHARE, SHARE, SHARE };
    start(&scene);
    all_start(&scene, 0.5);
    scene.view.units_left = 400;
    tell(&scene, (struct cleave_event){
                     .kind = CLEAVE_DRAINED, .units = SHARE, .time_s = 0.5013 });
    assert_null(ordered(&scene, CLEAVE_EXTEND, 0));
    assert_non_null(ordered(&scene, CLEAVE_CLOSE, 0));
    end(&scene);
}

/* On a shared port, a worker with a narrow link gets the units of its part of the port's
 * time. */
static void a_slow_link_limits_a_share(void **state)
{
    struct scene scene;

    (void)state;
    prepare(&scene, 4.2, NULL);
    scene.view.port = CLEAVE_PORT_ONE;
    for (uint32_t w = 0; w < WORKERS; w++)
        scene.workers[w].bandwidth_ups = w == 3 ? 1e4 : 1e7;
    start(&scene);
    read_a_test(&scene, 8192);
    assert_true(ordered(&scene, CLEAVE_EXTEND, 1)->units > 0.9 * SHARE);
    assert_true(ordered(&scene, CLEAVE_EXTEND, 3)->units < 0.1 * SHARE);
    end(&scene);
}

static void a_chunk_read_at_once_is_closed(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, 4);
    all_start(&scene, 1);
    for (uint32_t w = 0; w < WORKERS; w++) {
        tell(&scene, (struct cleave_event){ .kind = CLEAVE_DRAINED,
                                            .worker = w,
                                            .chunk = w,
                                            .units = SHARE,
                                            .time_s = 1.001 + 1e-4 * w });
        assert_non_null(ordered(&scene, CLEAVE_CLOSE, w));
    }
    end(&scene);
}

/* Worker 0 has done its share, worker 2 is slow, and worker 1 does not answer. */
static void a_worker_that_does_not_answer_blocks_no_other(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene, 4);
    all_start(&scene, 0.01);
    for (uint32_t w = 0; w < WORKERS; w++)
        reads(&scene, w, w == 1 ? 0.1 * SHARE : 0.4 * SHARE, 1, 0.5);
    tell(&scene,
         (struct cleave_event){
             .kind = CLEAVE_DRAINED, .units = SHARE, .output = SHARE, .time_s = 1.2 });
    assert_non_null(ordered(&scene, CLEAVE_CLOSE, 0));
    tell(&scene, (struct cleave_event){
                     .kind = CLEAVE_DONE, .units = SHARE, .read_s = 1.2, .time_s = 1.2 });
    /* The last worker is asked for its progress, ... */
    assert_non_null(ordered(&scene, CLEAVE_QUERY, 1));
    /* ... and loses its tail without an answer. */
    for (int i = 1; i < 100 && ordered(&scene, CLEAVE_RECALL, 1) == NULL; i++)
        tell(&scene,
             (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 1.2 + 0.01 * i });
    assert_non_null(ordered(&scene, CLEAVE_RECALL, 1));
    assert_true(ordered(&scene, CLEAVE_RECALL, 1)->units > 0.5 * SHARE);
    scene.view.units_left = 0.7 * SHARE;
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                        .worker = 1,
                                        .chunk = 1,
                                        .units = 0.7 * SHARE,
                                        .time_s = 1.3 });
    assert_non_null(ordered(&scene, CLEAVE_OPEN, 0));
    end(&scene);
}

/* Three have swallowed their shares and are done; the fourth is not. */
static void all_but_one_are_done(struct scene *scene)
{
    begin(scene, 4);
    all_start(scene, 0.05);
    for (uint32_t w = 0; w < WORKERS; w++)
        tell(scene, (struct cleave_event){ .kind = CLEAVE_DRAINED,
                                           .worker = w,
                                           .chunk = w,
                                           .units = SHARE,
                                           .time_s = 0.051 + 1e-4 * w });
    for (uint32_t w = 0; w < WORKERS - 1; w++)
        tell(scene, (struct cleave_event){ .kind = CLEAVE_DONE,
                                           .worker = w,
                                           .chunk = w,
                                           .units = SHARE,
                                           .read_s = 0.052,
                                           .time_s = 1.05 });
}

static uint32_t copier(const struct scene *scene)
{
    for (uint32_t w = 0; w < WORKERS; w++)
        if (ordered(scene, CLEAVE_COPY, w) != NULL)
            return w;
    return WORKERS;
}

static double wait_for_copy(struct scene *scene, double from_s, double until_s)
{
    while (from_s < until_s && copier(scene) == WORKERS) {
        from_s += 0.05;
        tell(scene, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = from_s });
    }
    return from_s;
}

static void a_chunk_that_is_late_is_copied_once(void **state)
{
    struct scene scene;
    double time_s;
    uint32_t first;

    (void)state;
    all_but_one_are_done(&scene);
    assert_int_equal(copier(&scene), WORKERS); /* it is not late */
    time_s = wait_for_copy(&scene, 1.05, 4);
    first = copier(&scene);
    assert_true(first < WORKERS - 1);
    assert_int_equal(ordered(&scene, CLEAVE_COPY, first)->peer, WORKERS - 1);
    assert_true(time_s > 1.2 && time_s < 1.8); /* late by a quarter of a copy */
    for (size_t i = 0; i < scene.orders.count; i++)
        assert_true(scene.items[i].kind != CLEAVE_COPY || scene.items[i].worker == first);
    scene.orders.count = 0;
    wait_for_copy(&scene, time_s, time_s + 0.8);
    assert_int_equal(copier(&scene), WORKERS);
    /* The copy is first: the other one is being ended, and not copied again. */
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_DONE,
                                        .worker = first,
                                        .chunk = WORKERS - 1,
                                        .units = SHARE,
                                        .time_s = time_s + 1 });
    scene.orders.count = 0;
    wait_for_copy(&scene, time_s + 1, time_s + 8);
    assert_int_equal(copier(&scene), WORKERS);
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_DROPPED,
                                        .worker = WORKERS - 1,
                                        .chunk = WORKERS - 1,
                                        .time_s = time_s + 8 });
    /* All are idle: returned units go to one of them. */
    scene.view.units_left = 1000;
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = time_s + 9 });
    assert_true(scene.orders.count > 0);
    end(&scene);
}

static void a_copy_that_is_refused_is_not_asked_for_again(void **state)
{
    struct scene scene;
    double time_s;

    (void)state;
    all_but_one_are_done(&scene);
    time_s = wait_for_copy(&scene, 1.05, 4);
    tell(&scene, (struct cleave_event){ .kind = CLEAVE_DROPPED,
                                        .worker = copier(&scene),
                                        .chunk = WORKERS - 1,
                                        .time_s = time_s });
    scene.orders.count = 0;
    wait_for_copy(&scene, time_s, time_s + 8);
    assert_int_equal(copier(&scene), WORKERS);
    end(&scene);
}

static void nothing_is_copied_where_it_may_not(void **state)
{
    struct scene scene;

    (void)state;
    all_but_one_are_done(&scene);
    scene.view.copies = false;
    wait_for_copy(&scene, 1.05, 9);
    assert_int_equal(copier(&scene), WORKERS);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_workers_start_on_equal_ranges),
        cmocka_unit_test(workers_that_differ_wait_for_one_small_test),
        cmocka_unit_test(a_slow_test_is_not_waited_for),
        cmocka_unit_test(started_commands_get_shares_after_a_test),
        cmocka_unit_test(uncertain_workers_get_what_they_surely_do),
        cmocka_unit_test(a_known_group_gets_shares),
        cmocka_unit_test(one_test_ends_and_the_others_wait_for_it),
        cmocka_unit_test(unknown_kinds_get_a_test),
        cmocka_unit_test(the_smallest_kind_is_tested_first),
        cmocka_unit_test(a_chunk_whose_rest_is_unknown_ends_soon),
        cmocka_unit_test(a_first_gulp_shows_no_speed),
        cmocka_unit_test(records_left_extend_a_chunk),
        cmocka_unit_test(a_slow_link_limits_a_share),
        cmocka_unit_test(a_chunk_read_at_once_is_closed),
        cmocka_unit_test(a_worker_that_does_not_answer_blocks_no_other),
        cmocka_unit_test(a_chunk_that_is_late_is_copied_once),
        cmocka_unit_test(a_copy_that_is_refused_is_not_asked_for_again),
        cmocka_unit_test(nothing_is_copied_where_it_may_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
