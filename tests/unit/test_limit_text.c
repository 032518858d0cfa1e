/* test_limit_text.c -- whether the master held a run up. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "report/terminal/terminal_progress.h"

/* Ten seconds of four workers, after two of connecting. */
static const struct cleave_execution_result ten = { .seconds = 12,
                                                    .connect_s = 2,
                                                    .there = 4,
                                                    .chunks = 50000,
                                                    .input_bytes = 25e6,
                                                    .waiting_s = 20,
                                                    .port_s = NAN };

static void assert_says(const struct cleave_execution_result *result, const char *says)
{
    struct cv_text text = { NULL, 0, 0, false };

    cv_limit_text(result, &text);
    assert_string_equal(text.bytes != NULL ? text.bytes : "", says);
    cv_text_done(&text);
}

static void a_port_that_sends_all_the_time(void **state)
{
    struct cleave_execution_result result = ten;

    (void)state;
    result.port_s = 9.4;
    result.master_s = 9;
    assert_says(&result,
                "the port of the master was the limit: it was sending 94% of the "
                "time, 2.5 MB/s");
    result.port_s = 7.9;
    result.master_s = 1;
    assert_says(&result, "");
}

static void a_master_that_is_busy_all_the_time(void **state)
{
    struct cleave_execution_result result = ten;

    (void)state;
    result.master_s = 8.5;
    assert_says(&result,
                "the master was the limit: it was busy 85% of the time, with 5000 "
                "chunks a second; larger ones would take less of it");
    result.master_s = 7.9;
    assert_says(&result, "");
    /* To begin and to end a run is work, too, but not that of chunks. */
    result.master_s = 10;
    result.chunks = 39;
    assert_says(&result, "");
}

static void workers_that_do_not_wait(void **state)
{
    struct cleave_execution_result result = ten;

    (void)state;
    result.waiting_s = 3.9;
    result.master_s = result.port_s = 10;
    assert_says(&result, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_that_sends_all_the_time),
        cmocka_unit_test(a_master_that_is_busy_all_the_time),
        cmocka_unit_test(workers_that_do_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
