/* test_told.c -- events of a policy about chunks that overlap. SPDX-License-Identifier:
 * MIT
 *
 * If outputs come back without a request, a chunk is done when its output is here, and
 * its worker runs the next one by then: to the policy, it was busy with a chunk from the
 * end of the one before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "engine/driver.h"
#include "policy/common/orders.h"
#include "engine_here.h"

enum { CHUNKS = 4 };

/* As the engine says it: worker, start, end. */
static const struct cleave_event said[CHUNKS] = {
    { .kind = CLEAVE_DONE,
      .worker = 0,
      .chunk = 0,
      .units = 1,
      .start_s = 1,
      .time_s = 10 },
    { .kind = CLEAVE_DONE,
      .worker = 1,
      .chunk = 2,
      .units = 1,
      .start_s = 2,
      .time_s = 12 },
    { .kind = CLEAVE_DONE,
      .worker = 0,
      .chunk = 1,
      .units = 1,
      .start_s = 3,
      .time_s = 15 },
    { .kind = CLEAVE_DONE,
      .worker = 1,
      .chunk = 3,
      .units = 1,
      .start_s = 14,
      .time_s = 20 },
};
/* In the view of the policy: start of each. */
static const double begins[CHUNKS] = { 1, 2, 10, 14 };

static double heard[CHUNKS];
static size_t nheard;

static void listen(void *state, const struct cleave_view *view,
                   const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    (void)view;
    if (event->kind == CLEAVE_START)
        for (uint32_t i = 0; i < CHUNKS; i++)
            cleave_order_send(orders, i / 2, 1);
    if (event->kind == CLEAVE_DONE)
        heard[nheard++] = event->start_s;
}

static enum cleave_status told_submit(void *engine, const struct cleave_order *order,
                                      struct cleave_error *err)
{
    (void)engine;
    (void)order;
    (void)err;
    return CLEAVE_OK;
}

static const struct cv_engine told_engine = {
    .name = "told",
    .open = engine_here_open,
    .begin = engine_here_begin,
    .submit = told_submit,
    .wait = engine_here_wait,
    .close = engine_here_close,
};

static void chunks_do_not_overlap(void **state)
{
    const struct cleave_policy policy = { .name = "listens",
                                          .decide = listen,
                                          .state_size = 1 };
    const struct cleave_worker worker = { 1, 0, 1, 0, 1, 0 };
    const struct cleave_worker workers[] = { worker, worker };
    const struct cleave_setting none[1] = { { NULL, NULL } };
    struct cleave_platform *platform = NULL;
    struct engine_here here = { .count = 0 };
    struct cv_driver *driver = NULL;
    struct cv_planned planned;
    struct cv_outcome outcome;

    (void)state;
    for (size_t i = 0; i < CHUNKS; i++)
        engine_here_add(&here, said[i]);
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, 2, &platform, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_planned_init(&planned, &policy, none, 0, platform, workers,
                                     &(struct cleave_view){ .units_total = CHUNKS }, NULL,
                                     NULL, NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_driver_open(&planned, &told_engine, platform, &here, &driver,
                                    NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_driver_run(driver, &(struct cv_run){ .platform = platform }, NULL,
                                   &outcome, NULL),
                     CLEAVE_OK);
    assert_int_equal(nheard, CHUNKS);
    for (size_t i = 0; i < CHUNKS; i++)
        assert_true(heard[i] == begins[i]);
    assert_true(outcome.makespan_s == 20);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_do_not_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
