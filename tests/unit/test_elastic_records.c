/* test_elastic_records.c -- what learn makes of an input of few records. SPDX-License-Identifier: MIT
 *
 * A share is less than a pipe holds, and a first piece is one record. What tells whether a command
 * works as it reads is when it reads the second one, and no processor for a while looks alike. */
#include "elastic_desk.h"

enum { WORKERS = 16 };

/* 50 ms for each record: the others are read when the first one is done, and it takes 150 ms after it has
 * read the last. What the others are given stays open then. */
static void a_few_records_show_that_it_works_as_it_reads(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    uint32_t open = 0;

    (void)state;
    desk_begin(places, WORKERS, 0.01);
    desk_read_first(places, 0.0101);
    desk_read_rest(places, 0.06);
    /* That the test takes its time is no reason to give the others anything. */
    tell(places, (struct cleave_event){ .kind = CLEAVE_WAKE, .time_s = 0.09 });
    for (uint32_t w = 1; w < WORKERS; w++)
        assert_null(ordered(places, CLEAVE_EXTEND, w));
    desk_end(places, 0.06, 0.21);
    for (uint32_t w = 1; w < WORKERS; w++) {
        open += ordered(places, CLEAVE_EXTEND, w) != NULL;
        assert_null(ordered(places, CLEAVE_CLOSE, w));
    }
    assert_true(open > 0);
    cv_arena_done(&places->arena);
    test_free(places);
}

/* One that reads all first has read them at once, but for 10 ms without a processor: whoever is given
 * something is closed. */
static void a_moment_without_a_processor_does_not(void **state)
{
    struct places *places = test_malloc(sizeof *places);
    uint32_t given = 0;

    (void)state;
    desk_begin(places, WORKERS, 0.01);
    desk_read_first(places, 0.0101);
    desk_read_rest(places, 0.02);
    desk_end(places, 0.02, 0.21);
    for (uint32_t w = 1; w < WORKERS; w++) {
        const bool some = ordered(places, CLEAVE_EXTEND, w) != NULL;

        given += some;
        assert_int_equal(ordered(places, CLEAVE_CLOSE, w) != NULL, some);
    }
    assert_true(given > 0);
    cv_arena_done(&places->arena);
    test_free(places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_records_show_that_it_works_as_it_reads),
        cmocka_unit_test(a_moment_without_a_processor_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
