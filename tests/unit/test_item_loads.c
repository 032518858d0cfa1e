/* test_item_loads.c -- items: books. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <cleave/cleave.h>

/* Links so wide that nobody waits for them. */
static struct cleave_platform *platform_of(const double *speeds, const double *starts,
                                           uint32_t n)
{
    struct cleave_worker workers[64];
    struct cleave_platform *platform = NULL;

    for (uint32_t w = 0; w < n; w++)
        workers[w] = (struct cleave_worker){ speeds[w], starts[w], 1e12, 0, 1e12, 0 };
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, n, &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

/* --- books -------------------------------------------------------------------------------- */

static void gives_twice(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind != CLEAVE_START)
        return;
    cleave_order_item(orders, 0, 0);
    cleave_order_item(orders, 1, 0);
}

static void gives_what_is_not(void *state, const struct cleave_view *view,
                              const struct cleave_event *event,
                              struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_item(orders, 0, view->nitems);
}

static void gives_one(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind == CLEAVE_START)
        cleave_order_item(orders, 0, 1);
}

static void takes_back(void *state, const struct cleave_view *view,
                       const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind == CLEAVE_START)
        cleave_order_item(orders, 0, 1);
    else
        cleave_order_recall(orders, 0, 1);
}

static void books_are_kept(void **state)
{
    static const double speeds[] = { 1, 1 }, starts[2], sizes[] = { 1, 0, 2 };
    static const struct {
        struct cleave_policy policy;
        const char *text;
    } bad[] = {
        { { .name = "twice", .task = CLEAVE_TASK_ITEMS, .decide = gives_twice },
          "policy 'twice' gave item 0 of 3 to worker 1: it was given before" },
        { { .name = "none", .task = CLEAVE_TASK_ITEMS, .decide = gives_what_is_not },
          "policy 'none' gave item 3 of 3 to worker 0: there is no such item" },
        { { .name = "one", .task = CLEAVE_TASK_ITEMS, .decide = gives_one },
          "policy 'one' stopped with 2 of 3 items left" },
        { { .name = "back", .task = CLEAVE_TASK_ITEMS, .decide = takes_back },
          "policy 'back' gave item 0 of 3 to worker 0: an item is sent as a whole" },
        { { .name = "load", .decide = gives_one }, "policy 'load' is not for items" },
    };
    struct cleave_platform *platform = platform_of(speeds, starts, 2);

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct cleave_job job = { .platform = platform,
                                        .sizes = sizes,
                                        .nitems = 3,
                                        .own_policy = &bad[i].policy };
        struct cleave_schedule *schedule = NULL;
        struct cleave_error err;

        assert_int_equal(cleave_plan_load(&job, &schedule, &err), CLEAVE_EPOLICY);
        assert_string_equal(err.text, bad[i].text);
    }
    cleave_platform_free(platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(books_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
