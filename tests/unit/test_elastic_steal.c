/* test_elastic_steal.c -- who takes over what another one is late with. SPDX-License-Identifier: MIT
 *
 * Of two workers the first one makes the test, and is not worth another start: the second one is given
 * all the rest, and is far slower than the first one was. */
#include "elastic_desk.h"

/* What a start takes; when the second one begins, is looked at, and when another start after that is over. */
static const double START_S = 25, BEGUN_S = 25.2, LATE_S = 27.2, READY_S = 52.3;
enum { FIRST = 0, SECOND = 1, THIRD = 2, SIP = 16, ALL = RECORDS * RECORD - 7 * RECORD };

static void seen(struct desk *desk, double units, double time_s)
{
    if (ordered(desk, CLEAVE_QUERY, SECOND) == NULL)
        tell(desk, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = time_s });
    assert_non_null(ordered(desk, CLEAVE_QUERY, SECOND));
    tell(desk, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                      .worker = SECOND,
                                      .units = units,
                                      .time_s = time_s });
}

/* Until the second one reads. */
static void begin(struct desk *desk)
{
    desk_begin(desk, 2, START_S);
    desk_read_first(desk, START_S + 0.0001);
    desk_read_rest(desk, START_S + 0.05);
    desk_end(desk, START_S + 0.05, BEGUN_S);
    assert_true(ordered(desk, CLEAVE_EXTEND, SECOND)->units >= ALL - 1);
    assert_null(ordered(desk, CLEAVE_OPEN, FIRST));
    tell(desk, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                      .worker = SECOND,
                                      .units = ALL,
                                      .time_s = BEGUN_S });
    desk->view.units_left = 0;
    tell(desk, (struct cleave_event){
                   .kind = CLEAVE_STARTED, .worker = SECOND, .time_s = BEGUN_S });
    seen(desk, SIP, BEGUN_S);
}

/* It is worth a start by then. Where it will begin is not decided yet. */
static void who_is_to_help_starts_on_nothing(void **state)
{
    struct desk *desk = test_malloc(sizeof *desk);
    const struct cleave_order *recall;
    double rest;

    (void)state;
    begin(desk);
    seen(desk, SIP + 70, LATE_S);
    assert_null(ordered(desk, CLEAVE_RECALL, SECOND));
    assert_non_null(ordered(desk, CLEAVE_OPEN, FIRST));
    assert_true(ordered(desk, CLEAVE_OPEN, FIRST)->units == 0);
    tell(desk,
         (struct cleave_event){ .kind = CLEAVE_SENT, .worker = FIRST, .time_s = LATE_S });
    assert_null(ordered(desk, CLEAVE_RECALL, SECOND));
    /* It reads: now a tail is taken, most of what is left, as it is far faster. */
    seen(desk, SIP + 970, READY_S);
    rest = ALL - SIP - 970;
    recall = ordered(desk, CLEAVE_RECALL, SECOND);
    assert_non_null(recall);
    assert_true(recall->units > 0.7 * rest && recall->units < rest);
    desk->view.units_left = 1400;
    tell(desk, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                      .worker = SECOND,
                                      .units = 1400,
                                      .time_s = READY_S });
    assert_true(ordered(desk, CLEAVE_EXTEND, FIRST)->units == 1400);
    cv_arena_done(&desk->arena);
    test_free(desk);
}

/* The slow one was held up only for a while, and has done nearly all of it meanwhile. */
static void who_is_late_no_more_keeps_its_tail(void **state)
{
    struct desk *desk = test_malloc(sizeof *desk);

    (void)state;
    begin(desk);
    seen(desk, SIP + 70, LATE_S);
    tell(desk,
         (struct cleave_event){ .kind = CLEAVE_SENT, .worker = FIRST, .time_s = LATE_S });
    seen(desk, ALL - SIP, READY_S);
    assert_null(ordered(desk, CLEAVE_RECALL, SECOND));
    assert_null(ordered(desk, CLEAVE_EXTEND, FIRST));
    tell(desk, (struct cleave_event){ .kind = CLEAVE_DRAINED,
                                      .worker = SECOND,
                                      .units = ALL,
                                      .time_s = READY_S + 0.1 });
    assert_non_null(ordered(desk, CLEAVE_CLOSE, SECOND));
    tell(desk, (struct cleave_event){ .kind = CLEAVE_DONE,
                                      .worker = SECOND,
                                      .units = ALL,
                                      .read_s = READY_S + 0.1,
                                      .time_s = READY_S + 0.2 });
    assert_non_null(ordered(desk, CLEAVE_CLOSE, FIRST)); /* it is not needed */
    cv_arena_done(&desk->arena);
    test_free(desk);
}

/* Two could help. If one does, it is not worth a start of the other one. */
static void those_who_start_count_as_help(void **state)
{
    struct desk *desk = test_malloc(sizeof *desk);

    (void)state;
    begin(desk);
    tell(desk,
         (struct cleave_event){ .kind = CLEAVE_WAKE, .worker = THIRD, .time_s = LATE_S });
    seen(desk, SIP + 170, LATE_S);
    assert_null(ordered(desk, CLEAVE_RECALL, SECOND));
    assert_non_null(ordered(desk, CLEAVE_OPEN, FIRST));
    assert_null(ordered(desk, CLEAVE_OPEN, THIRD));
    cv_arena_done(&desk->arena);
    test_free(desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_to_help_starts_on_nothing),
        cmocka_unit_test(who_is_late_no_more_keeps_its_tail),
        cmocka_unit_test(those_who_start_count_as_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
