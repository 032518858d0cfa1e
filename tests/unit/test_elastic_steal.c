/* test_elastic_steal.c -- who takes over what another one is late with. SPDX-License-Identifier: MIT
 *
 * Of two workers the first one makes the test, and is not worth another start: the second one is given
 * all the rest, and is far slower than the first one was. */
#include "elastic_desk.h"

/* What a start takes; when the second one begins, is looked at, and when another start after that is over. */
static const double START_S = 25, BEGUN_S = 25.2, LATE_S = 27.2, READY_S = 52.3;
enum { FIRST = 0, SECOND = 1, THIRD = 2, SIP = 16, ALL = RECORDS * RECORD - 7 * RECORD };

static void seen(struct places *places, double units, double time_s)
{
    if (ordered(places, CLEAVE_QUERY, SECOND) == NULL)
        tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = time_s });
    assert_non_null(ordered(places, CLEAVE_QUERY, SECOND));
    tell(places, (struct cleave_event){ .kind = CLEAVE_PROGRESS,
                                        .worker = SECOND,
                                        .units = units,
                                        .time_s = time_s });
}

/* Until the second one reads. */
static void begin(struct places *places)
{
    desk_begin(places, 2, START_S);
    desk_read_first(places, START_S + 0.0001);
    desk_read_rest(places, START_S + 0.05);
    desk_end(places, START_S + 0.05, BEGUN_S);
    assert_true(ordered(places, CLEAVE_EXTEND, SECOND)->units >= ALL - 1);
    assert_null(ordered(places, CLEAVE_OPEN, FIRST));
    tell(places, (struct cleave_event){ .kind = CLEAVE_EXTENDED,
                                        .worker = SECOND,
                                        .units = ALL,
                                        .time_s = BEGUN_S });
    places->view.units_left = 0;
    tell(places, (struct cleave_event){
                     .kind = CLEAVE_STARTED, .worker = SECOND, .time_s = BEGUN_S });
    seen(places, SIP, BEGUN_S);
}

/* It is worth a start by then. Where it will begin is not decided yet. */
static void who_is_to_help_starts_on_nothing(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    const struct cleave_order *recall;
    double rest;

    (void)state;
    begin(places);
    seen(places, SIP + 70, LATE_S);
    assert_null(ordered(places, CLEAVE_RECALL, SECOND));
    assert_non_null(ordered(places, CLEAVE_OPEN, FIRST));
    assert_true(ordered(places, CLEAVE_OPEN, FIRST)->units == 0);
    tell(places,
         (struct cleave_event){ .kind = CLEAVE_SENT, .worker = FIRST, .time_s = LATE_S });
    assert_null(ordered(places, CLEAVE_RECALL, SECOND));
    /* It reads: now a tail is taken, most of what is left, as it is far faster. */
    seen(places, SIP + 970, READY_S);
    rest = ALL - SIP - 970;
    recall = ordered(places, CLEAVE_RECALL, SECOND);
    assert_non_null(recall);
    assert_true(recall->units > 0.7 * rest && recall->units < rest);
    places->view.units_left = 1400;
    tell(places, (struct cleave_event){ .kind = CLEAVE_RECALLED,
                                        .worker = SECOND,
                                        .units = 1400,
                                        .time_s = READY_S });
    assert_true(ordered(places, CLEAVE_EXTEND, FIRST)->units == 1400);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* The slow one was held up only for a while, and has done nearly all of it meanwhile. */
static void who_is_late_no_more_keeps_its_tail(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    begin(places);
    seen(places, SIP + 70, LATE_S);
    tell(places,
         (struct cleave_event){ .kind = CLEAVE_SENT, .worker = FIRST, .time_s = LATE_S });
    seen(places, ALL - SIP, READY_S);
    assert_null(ordered(places, CLEAVE_RECALL, SECOND));
    assert_null(ordered(places, CLEAVE_EXTEND, FIRST));
    tell(places, (struct cleave_event){ .kind = CLEAVE_DRAINED,
                                        .worker = SECOND,
                                        .units = ALL,
                                        .time_s = READY_S + 0.1 });
    assert_non_null(ordered(places, CLEAVE_CLOSE, SECOND));
    tell(places, (struct cleave_event){ .kind = CLEAVE_DONE,
                                        .worker = SECOND,
                                        .units = ALL,
                                        .read_s = READY_S + 0.1,
                                        .time_s = READY_S + 0.2 });
    assert_non_null(ordered(places, CLEAVE_CLOSE, FIRST)); /* it is not needed */
    cv_arena_done(&places->arena);
    test_free(places);
}

/* Two could help. If one does, it is not worth a start of the other one. */
static void those_who_start_count_as_help(void **state)
{
    struct places *places = test_malloc(sizeof *places);

    (void)state;
    begin(places);
    tell(places,
         (struct cleave_event){ .kind = CLEAVE_CAME, .worker = THIRD, .time_s = LATE_S });
    seen(places, SIP + 170, LATE_S);
    assert_null(ordered(places, CLEAVE_RECALL, SECOND));
    assert_non_null(ordered(places, CLEAVE_OPEN, FIRST));
    assert_null(ordered(places, CLEAVE_OPEN, THIRD));
    cv_arena_done(&places->arena);
    test_free(places);
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
