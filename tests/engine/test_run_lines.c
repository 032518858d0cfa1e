/* test_run_lines.c -- lines of outputs that come from hosts while commands run, on virtual time.
 * SPDX-License-Identifier: MIT
 *
 * Driver, policies, master and hosts are the real ones (scripted_world.h). Hosts are lost while
 * lines of their chunks have been written: with `lines` such a chunk has failed and is reported, with
 * `early` it is done again; all others are done once, and no line is there twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scripted_trial.h"

enum { TRIALS = PORTS * POLICIES * 8 };

static struct trial make(uint32_t number, bool early)
{
    struct trial trial = calm(number, 1 + number % 3, every_port[number % PORTS],
                              some_policies[number / PORTS % POLICIES], SIZE_MAX);

    trial.lines = !early;
    trial.early = early;
    for (uint32_t h = 0; h < trial.nhosts; h++) {
        trial.slots[h] = 1 + number % 2;
        machines[h].script.speaks_s = 0.003 + 0.01 * (number % 7);
    }
    return trial;
}

/* Without failures, output equals output without lines. */
static void lines_are_the_output(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2 * TRIALS; i++) {
        struct trial trial = make(i / 2, i % 2 == 1);
        struct cleave_execution_result *result;

        trial.persistent = true;
        run(&trial, &result);
        if (result->failed > 0 || result->left_bytes > 0 ||
            (size_t)result->output_bytes != trial.length)
            complain(&trial, "not all was done: %g of %zu", result->output_bytes,
                     trial.length);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* Hosts, at least one of which returns or stays. */
static void let_them_go(const struct trial *trial, uint32_t number)
{
    for (uint32_t h = 0; h < trial->nhosts; h++) {
        machines[h].script.lives_s = h == 0 ? 0 : 0.3 + 0.1 * (number % 5);
        machines[h].script.deaths = 2;
        machines[h].script.silent = number % 3 == 0;
    }
    if (trial->nhosts == 1) {
        machines[0].script.lives_s = 1;
        machines[0].script.deaths = 1;
    }
}

/* Hosts go and come back. The first chunk, with written lines, has failed with its host;
 * a chunk without visible output is done elsewhere. */
static void nothing_is_done_twice(void **state)
{
    uint32_t torn = 0, whole = 0;

    (void)state;
    for (uint32_t i = 0; i < TRIALS; i++) {
        struct trial trial = make(i, false);
        struct cleave_execution_result *result;

        let_them_go(&trial, i);
        trial.persistent = trial.nhosts > 1;
        run(&trial, &result);
        assert_non_null(result);
        if (strstr(trial.said, "after lines of it had been written") != NULL) {
            torn++;
            if (result->failed == 0)
                complain(&trial, "a chunk was lost and not counted");
        } else if (result->lost > 0 && result->failed == 0) {
            whole++;
        }
        cleave_execution_free(result);
        free(trial.bytes);
    }
    assert_true(torn > 10 && whole > 10);
}

/* By default written lines are kept: the chunk is repeated until it succeeds, and no line
 * is duplicated. */
static void a_seen_chunk_is_done_again(void **state)
{
    uint32_t seen = 0;

    (void)state;
    for (uint32_t i = 0; i < TRIALS; i++) {
        struct trial trial = make(i, true);
        struct cleave_execution_result *result;

        let_them_go(&trial, i);
        trial.persistent = trial.nhosts > 1;
        run(&trial, &result);
        assert_non_null(result);
        if (result->failed > 0 || result->left_bytes > 0 ||
            (size_t)result->output_bytes != trial.length)
            complain(&trial, "not all was done: %g of %zu", result->output_bytes,
                     trial.length);
        for (uint32_t h = 0; h < trial.nhosts; h++)
            seen += result->lost > 0 && machines[h].heard[CV_FRAME_SHOW] > 0;
        cleave_execution_free(result);
        free(trial.bytes);
    }
    assert_true(seen > 10);
}

/* A frame of lines that comes twice, late or not at all is not taken for others. */
static void frames_that_are_missed_are_noticed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TRIALS; i++) {
        struct trial trial = make(i, i / 3 % 2 == 1);
        struct script *script = &machines[trial.nhosts - 1].script;

        script->twice = i % 3 == 0 ? 0.05 : 0;
        script->late = i % 3 == 1 ? 0.05 : 0;
        script->dropped = i % 3 == 2 ? 0.05 : 0;
        trial.honest = false;
        trial.persistent = trial.nhosts > 1;
        run(&trial, NULL);
        free(trial.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_output),
        cmocka_unit_test(nothing_is_done_twice),
        cmocka_unit_test(a_seen_chunk_is_done_again),
        cmocka_unit_test(frames_that_are_missed_are_noticed),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
