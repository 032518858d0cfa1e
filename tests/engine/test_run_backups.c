/* test_run_backups.c -- chunks that are late run on a second host as well, in a world of scripts.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scripted_trial.h"

/* The last two leave chunks open, and have their own ways with a host that is silent. */
static const char *const policies[] = {
    "self",      "factoring",          "guided", "umr-plus", "as4dr", "rumr",
    "one-round", "weighted-factoring", "learn",  "learn"
};
enum { ALL = sizeof policies / sizeof *policies, CLOSED = ALL - 2 };

/* The last host takes its chunks and never reports their end. With one port, the chunks that a
 * plan has for this host would hold up all other chunks. */
static struct trial stuck(uint32_t number, const char *policy)
{
    struct trial trial = calm(number, 3, CLEAVE_PORT_MULTI, policy, SIZE_MAX);

    if (strcmp(policy, "self") == 0)
        trial.block = 1500;
    machines[2].script.mute = true;
    return trial;
}

static void a_chunk_of_a_stuck_host_is_run_by_another_host(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CLOSED; i++) {
        struct trial trial = stuck(i, policies[i]);
        struct cleave_execution_result *result;

        run(&trial, &result);
        assert_non_null(result);
        if (result == NULL)
            return;
        if (result->left_bytes > 0 || result->failed > 0)
            complain(&trial, "it was not done");
        if (result->backups == 0 || trial.dropped != result->backups)
            complain(&trial, "%llu backups, %llu attempts were dropped",
                     (unsigned long long)result->backups,
                     (unsigned long long)trial.dropped);
        /* Two hosts do it in about a second; the longest chunk takes as long. */
        if (world.now_s > 8)
            complain(&trial, "it took %g s", world.now_s);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* When the chunks of one slot are done elsewhere, this slot is idle, but no help to the other. */
static void a_stuck_host_gets_no_copies(void **state)
{
    struct trial trial = calm(0, 2, CLEAVE_PORT_MULTI, "self", SIZE_MAX);
    struct cleave_execution_result *result;

    (void)state;
    trial.block = 500;
    trial.slots[1] = 2;
    trial.last_stops = 5;
    machines[1].script.speed_Bps = 1e5; /* it would be the first choice */
    run(&trial, &result);
    assert_non_null(result);
    assert_int_equal(result->left_bytes, 0);
    assert_true(result->backups >= 2 && world.now_s < 8);
    cleave_execution_free(result);
    free(trial.bytes);
}

static void healthy_hosts_get_no_backups(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ALL * PORTS; i++) {
        struct trial trial =
            calm(i, 3, every_port[i % PORTS], policies[i / PORTS], SIZE_MAX);
        struct cleave_execution_result *result;

        if (strcmp(trial.policy, "self") == 0)
            trial.block = 1500;
        run(&trial, &result);
        assert_non_null(result);
        if (result->backups > 0 || trial.dropped > 0)
            complain(&trial, "%llu backups", (unsigned long long)result->backups);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* The last host takes 100 s for a chunk, the other hosts 0.15 s. */
static void without_backups_a_slow_host_is_waited_for(void **state)
{
    const enum cleave_backups each[] = { CLEAVE_BACKUPS_AUTO, CLEAVE_BACKUPS_OFF };
    double took_s[2];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct trial trial = calm(0, 3, CLEAVE_PORT_MULTI, "self", SIZE_MAX);
        struct cleave_execution_result *result;

        trial.block = 1500;
        trial.backups = each[i];
        machines[2].script.speed_Bps = 15;
        run(&trial, &result);
        assert_non_null(result);
        assert_true((result->backups > 0) == (i == 0));
        took_s[i] = world.now_s;
        cleave_execution_free(result);
        free(trial.bytes);
    }
    assert_true(took_s[0] < 8 && took_s[1] > 100);
}

/* The fast host is lost at some time: with its own chunk, with a copy, or idle. The slow host does
 * the rest. */
static void a_lost_copy_leaves_the_original_alone(void **state)
{
    uint64_t lost_copies = 0;

    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        struct trial trial = calm(i, 2, CLEAVE_PORT_MULTI, policies[i % ALL], SIZE_MAX);
        struct cleave_execution_result *result;

        if (strcmp(trial.policy, "self") == 0)
            trial.block = (double)trial.length / 2;
        machines[1].script.speed_Bps = 700;
        machines[0].script.lives_s = 4;
        machines[0].script.lives = 1;
        run(&trial, &result);
        assert_non_null(result);
        if (result->left_bytes > 0 || result->failed > 0)
            complain(&trial, "%g bytes are left", result->left_bytes);
        lost_copies += result->backups > 0 && world.now_s > 10;
        cleave_execution_free(result);
        free(trial.bytes);
    }
    assert_true(lost_copies > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_of_a_stuck_host_is_run_by_another_host),
        cmocka_unit_test(a_stuck_host_gets_no_copies),
        cmocka_unit_test(healthy_hosts_get_no_backups),
        cmocka_unit_test(without_backups_a_slow_host_is_waited_for),
        cmocka_unit_test(a_lost_copy_leaves_the_original_alone),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
