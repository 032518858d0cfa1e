/* test_elastic_records.c -- what learn makes of an input of few records. SPDX-License-Identifier: MIT
 *
 * A share is less than a pipe holds, and a first piece is one record. What tells whether a command
 * works as it reads is when it reads the second one, and no processor for a while looks alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "policy/kit/orders.h"
#include "policy/kit/setup.h"
#include <cleave/policy.h>

enum { WORKERS = 16, ORDERS = 256, RECORD = 7, RECORDS = 400 };

struct desk {
    struct cv_arena arena;
    struct cleave_worker workers[WORKERS];
    struct cleave_view view;
    struct cleave_order items[ORDERS];
    struct cleave_orders orders;
    const struct cleave_policy *learn;
    char state[4096];
    double given; /* to the first one */
};

static void tell(struct desk *desk, struct cleave_event event)
{
    desk->orders.count = 0;
    desk->learn->decide(desk->state, &desk->view, &event, &desk->orders);
}

/* The order to that worker of that kind, or NULL. */
static const struct cleave_order *ordered(const struct desk *desk,
                                          enum cleave_order_kind kind, uint32_t worker)
{
    for (size_t i = 0; i < desk->orders.count; i++)
        if (desk->items[i].kind == kind && desk->items[i].worker == worker)
            return &desk->items[i];
    return NULL;
}

/* All start, the first one on less than a record, of which it is given a whole one. It begins to read
 * after 10 ms. */
static void begin(struct desk *desk)
{
    struct cleave_setup setup = { .arena = &desk->arena };

    *desk = (struct desk){ .view = { .nworkers = WORKERS,
                                     .port = CLEAVE_PORT_MULTI,
                                     .units_total = RECORDS * RECORD,
                                     .units_left = RECORDS * RECORD,
                                     .real = true,
                                     .opens = true,
                                     .unequal = 4,
                                     .burst_s = 0.16,
                                     .varies = 0.05,
                                     .ahead = 16 } };
    for (int w = 0; w < WORKERS; w++)
        desk->workers[w] = (struct cleave_worker){ 1e8, 1e-3, 1e12, 0, 1e12, 0 };
    desk->view.workers = desk->workers;
    desk->orders = (struct cleave_orders){ .items = desk->items,
                                           .capacity = ORDERS,
                                           .units_left = &desk->view.units_left };
    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &desk->learn, NULL),
                     CLEAVE_OK);
    assert_true(desk->learn->state_size <= sizeof desk->state);
    assert_int_equal(cv_params_store(desk->learn, NULL, 0, desk->state, NULL), CLEAVE_OK);
    assert_int_equal(desk->learn->start(desk->state, &desk->view, &setup, NULL),
                     CLEAVE_OK);
    tell(desk, (struct cleave_event){ .kind = CLEAVE_START });
    assert_true(ordered(desk, CLEAVE_OPEN, 0)->units < RECORD);
    desk->given = RECORD;
    tell(desk, (struct cleave_event){ .kind = CLEAVE_SENT, .units = RECORD });
    for (uint32_t w = 1; w < WORKERS; w++)
        tell(desk, (struct cleave_event){ .kind = CLEAVE_SENT, .worker = w });
    tell(desk, (struct cleave_event){ .kind = CLEAVE_STARTED, .time_s = 0.01 });
    tell(desk,
         (struct cleave_event){ .kind = CLEAVE_SEEN, .units = RECORD, .time_s = 0.01 });
}

/* It has read the first record, which shows nothing, and is given two or more of them. */
static void read_first(struct desk *desk, double time_s)
{
    double more;

    tell(desk, (struct cleave_event){
                   .kind = CLEAVE_DRAINED, .units = RECORD, .time_s = time_s });
    assert_null(ordered(desk, CLEAVE_CLOSE, 0));
    assert_non_null(ordered(desk, CLEAVE_EXTEND, 0));
    more = ordered(desk, CLEAVE_EXTEND, 0)->units;
    assert_true(more > RECORD && more <= 3 * RECORD);
    desk->given += 3 * RECORD;
    tell(desk, (struct cleave_event){
                   .kind = CLEAVE_EXTENDED, .units = 3 * RECORD, .time_s = time_s });
}

/* It has read the others, and is closed as a test. */
static void read_rest(struct desk *desk, double time_s)
{
    tell(desk, (struct cleave_event){
                   .kind = CLEAVE_DRAINED, .units = desk->given, .time_s = time_s });
    if (ordered(desk, CLEAVE_LOOK, 0) != NULL)
        tell(desk, (struct cleave_event){
                       .kind = CLEAVE_SEEN, .units = desk->given, .time_s = time_s });
    assert_non_null(ordered(desk, CLEAVE_CLOSE, 0));
    for (uint32_t w = 1; w < WORKERS; w++)
        assert_null(ordered(desk, CLEAVE_EXTEND, w));
}

static void end(struct desk *desk, double read_s, double time_s)
{
    tell(desk, (struct cleave_event){ .kind = CLEAVE_DONE,
                                      .units = desk->given,
                                      .read_s = read_s,
                                      .time_s = time_s });
}

/* 50 ms for each record: the others are read when the first one is done, and it takes 150 ms after it has
 * read the last. What the others are given stays open then. */
static void a_few_records_show_that_it_works_as_it_reads(void **state)
{
    struct desk *desk = test_malloc(sizeof *desk);
    uint32_t open = 0;

    (void)state;
    begin(desk);
    read_first(desk, 0.0101);
    read_rest(desk, 0.06);
    /* That the test takes its time is no reason to give the others anything. */
    tell(desk, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 0.09 });
    for (uint32_t w = 1; w < WORKERS; w++)
        assert_null(ordered(desk, CLEAVE_EXTEND, w));
    end(desk, 0.06, 0.21);
    for (uint32_t w = 1; w < WORKERS; w++) {
        open += ordered(desk, CLEAVE_EXTEND, w) != NULL;
        assert_null(ordered(desk, CLEAVE_CLOSE, w));
    }
    assert_true(open > 0);
    cv_arena_done(&desk->arena);
    test_free(desk);
}

/* One that reads all first has read them at once, but for 10 ms without a processor: whoever is given
 * something is closed. */
static void a_moment_without_a_processor_does_not(void **state)
{
    struct desk *desk = test_malloc(sizeof *desk);
    uint32_t given = 0;

    (void)state;
    begin(desk);
    read_first(desk, 0.0101);
    read_rest(desk, 0.02);
    end(desk, 0.02, 0.21);
    for (uint32_t w = 1; w < WORKERS; w++) {
        const bool some = ordered(desk, CLEAVE_EXTEND, w) != NULL;

        given += some;
        assert_int_equal(ordered(desk, CLEAVE_CLOSE, w) != NULL, some);
    }
    assert_true(given > 0);
    cv_arena_done(&desk->arena);
    test_free(desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_records_show_that_it_works_as_it_reads),
        cmocka_unit_test(a_moment_without_a_processor_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
