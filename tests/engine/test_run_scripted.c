/* test_run_scripted.c -- runs on hosts that fail as a script says, on virtual time.
 * SPDX-License-Identifier: MIT
 *
 * Driver, policies, master and hosts are the real ones (scripted_world.h). For every
 * script, a run ends, every byte is done, failed or left, and the output is exactly the
 * output of done bytes. CLEAVE_SCRIPTS=N makes N random scripts, CLEAVE_SCRIPT=N the one
 * of that number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scripted_trial.h"

enum { SCRIPTS = 300 };

/* --- random scripts ----------------------------------------------------------------------- */

static double uniform(struct cv_random *random, double min, double max)
{
    return min + (max - min) * cv_random_uniform(random);
}

static double sometimes(struct cv_random *random, double chance, double min, double max)
{
    const double value = uniform(random, min, max);

    return cv_random_uniform(random) < chance ? value : 0;
}

static struct script make_script(struct cv_random *random, bool persistent, bool honest)
{
    struct script script = {
        .speed_Bps = exp(uniform(random, log(3e3), log(3e5))),
        .latency_s = sometimes(random, 0.7, 0, 0.2),
        .link_Bps = exp(uniform(random, log(1e4), log(1e7))),
        .link_s = uniform(random, 1e-4, 0.02),
    };

    if (persistent)
        return script;
    script.lives_s = sometimes(random, 0.8, 0.05, 4);
    script.silent = sometimes(random, 0.3, 0, 1);
    script.lives = (uint32_t)sometimes(random, 0.3, 1, 6);
    script.early = sometimes(random, 0.3, 0, 0.6);
    if (honest)
        return script;
    script.twice = sometimes(random, 0.5, 0, 0.05);
    script.late = sometimes(random, 0.5, 0, 0.05);
    script.untrue = sometimes(random, 0.5, 0, 0.05);
    script.dropped = sometimes(random, 0.3, 0, 0.03);
    return script;
}

static struct trial make_trial(uint32_t number)
{
    static const char *const policies[] = { "learn",
                                            "learn",
                                            "learn",
                                            "learn",
                                            "self",
                                            "factoring",
                                            "guided",
                                            "umr",
                                            "as4dr",
                                            "one-round",
                                            "weighted-factoring",
                                            "umr-plus" };
    static const enum cleave_port ports[] = { CLEAVE_PORT_MULTI, CLEAVE_PORT_ONE,
                                              CLEAVE_PORT_DUPLEX };
    struct trial trial = { .number = number };
    struct cv_random random;
    size_t lines, poison;

    world_reset(2, number);
    cv_random_at(&random, 1, number, 0, 0);
    trial.nhosts = 1 + (uint32_t)below(&random, WORLD_HOSTS);
    for (uint32_t h = 0; h < WORLD_HOSTS; h++)
        trial.slots[h] = 1 + (uint32_t)below(&random, 2);
    trial.policy = policies[below(&random, sizeof policies / sizeof *policies)];
    trial.port = ports[below(&random, 3)];
    if (strcmp(trial.policy, "self") == 0)
        trial.block = uniform(&random, 100, 5000);
    trial.persistent = cv_random_uniform(&random) < 0.5;
    trial.honest = cv_random_uniform(&random) < 0.6;
    lines = 20 + below(&random, 2000);
    /* A poisonous line kills its worker: no host is steady in that case. */
    poison = cv_random_uniform(&random) < 0.2 ? below(&random, lines) : SIZE_MAX;
    if (poison != SIZE_MAX)
        world_poison = "POISON";
    for (uint32_t h = 0; h < trial.nhosts; h++)
        machines[h].script =
            make_script(&random, h == 0 && trial.persistent, trial.honest);
    trial.persistent = trial.persistent && poison == SIZE_MAX;
    make_input(&trial, lines, poison);
    return trial;
}

static void random_scripts(void **state)
{
    const char *count = getenv("CLEAVE_SCRIPTS"), *one = getenv("CLEAVE_SCRIPT");
    const uint32_t first = one != NULL ? (uint32_t)strtoul(one, NULL, 10) : 0;
    const uint32_t scripts = one != NULL     ? 1
                             : count != NULL ? (uint32_t)strtoul(count, NULL, 10)
                                             : SCRIPTS;

    /* Numbers that found a defect once. */
    static const uint32_t finders[] = { 517, 553, 1188 };
    const size_t nfinders = sizeof finders / sizeof *finders;

    (void)state;
    for (uint32_t i = 0; i < scripts + (one == NULL ? nfinders : 0); i++) {
        struct trial trial = make_trial(i < scripts ? first + i : finders[i - scripts]);

        run(&trial, NULL);
        if (one != NULL)
            fprintf(stderr, "%s", trial.said);
        free(trial.bytes);
    }
}

/* --- scripts by hand ---------------------------------------------------------------------- */

/* The only host goes, and comes back, at some time or other. */
static void the_only_host_comes_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 8; i++) {
        struct trial trial = calm(i, 1, every_port[i % PORTS],
                                  some_policies[i / PORTS % POLICIES], SIZE_MAX);
        struct cleave_execution_result *result;

        machines[0].script.lives_s = 1.5;
        machines[0].script.deaths = 1 + i % 2;
        run(&trial, &result);
        if (result == NULL || result->left_bytes > 0 || result->failed > 0)
            complain(&trial, "it was not waited for");
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* A line that kills its worker is a failed chunk, and no other chunk fails. */
static void check_poison(struct trial *trial)
{
    struct cleave_execution_result *result;
    uint64_t poison;

    run(trial, &result);
    assert_non_null(result);
    poison = (uint64_t)(strstr(trial->bytes, "POISON") - trial->bytes);
    if (result->nfailed_ranges != 1 || result->failed != 1 || result->left_bytes > 0)
        complain(trial, "%llu chunks failed, %g bytes are left",
                 (unsigned long long)result->failed, result->left_bytes);
    assert_true(result->failed_ranges[0].begin <= poison &&
                result->failed_ranges[0].end > poison);
    cleave_execution_free(result);
    free(trial->bytes);
}

static void poison_is_one_failed_chunk(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 4; i++) {
        struct trial trial =
            calm(i, 1 + i % 4, every_port[i % PORTS], some_policies[i / PORTS % POLICIES],
                 (size_t)37 * (i % 27));

        check_poison(&trial);
    }
}

/* Workers that ran next to it are not blamed, however often. */
static void neighbours_of_poison_are_not_blamed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 8; i++) {
        struct trial trial =
            calm(i, 1 + i % 4, every_port[i % PORTS], some_policies[i / PORTS % POLICIES],
                 (size_t)37 * (i % 27));

        for (uint32_t h = 0; h < trial.nhosts; h++)
            trial.slots[h] = 2 + i % 3;
        check_poison(&trial);
    }
}

/* A worker that dies of every chunk costs the others nothing but time; alone, or if it
 * gives a reason, it is given up soon. */
static void a_bad_host_is_given_up(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 8; i++) {
        const uint32_t nhosts = 1 + i % 4;
        const bool says_why = i / 4 % 2 == 1;
        struct trial trial = calm(i, nhosts, every_port[i % PORTS],
                                  some_policies[i / PORTS % POLICIES], SIZE_MAX);
        struct cleave_execution_result *result;

        machines[nhosts - 1].script.lives_s = 0.05;
        machines[nhosts - 1].script.says_why = says_why;
        for (uint32_t h = 0; says_why && h < nhosts; h++)
            machines[h].script.speed_Bps = 30; /* it takes longer than all the tries */
        trial.persistent = nhosts > 1;
        run(&trial, &result);
        if (result == NULL) { /* it was not even connected in time */
            assert_true(nhosts == 1);
            free(trial.bytes);
            continue;
        }
        assert_true(machines[nhosts - 1].made <= (nhosts > 1 && !says_why ? 21 : 5) ||
                    result->workers[nhosts - 1].chunks > 0);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* Several leave and return, with policies without loss events: for them, a wake-up is a
 * time. */
static void hosts_come_and_go(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 4; i++) {
        struct trial trial = calm(i, 2 + i % 2, every_port[i % PORTS],
                                  some_policies[i / PORTS % POLICIES], SIZE_MAX);

        for (uint32_t h = 1; h < trial.nhosts; h++) {
            machines[h].script.lives_s = 0.1 + 0.1 * (i % 7);
            machines[h].script.deaths = 1 + i % 5;
        }
        trial.persistent = true;
        run(&trial, NULL);
        free(trial.bytes);
    }
}

/* Hosts join and are taken away at some time or other, with little notice and with much, and
 * some of them go before they are told to. */
static void hosts_join_and_leave(void **state)
{
    struct cv_random random;
    uint32_t left = 0, joined = 0;

    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        struct trial trial = calm(i, 1 + i % 2, every_port[i % PORTS], "learn", SIZE_MAX);
        struct cleave_execution_result *result;

        cv_random_at(&random, 7, i, 0, 0);
        trial.block = i % 3 == 0 ? uniform(&random, 100, 3000) : 0;
        trial.asks = trial.persistent = true;
        trial.notice_s = i % 4 == 0 ? -1 : uniform(&random, 0.05, 2);
        world.nhangups = WORLD_HANGUPS;
        for (uint32_t k = 0; k < WORLD_HANGUPS; k++) {
            world.hangups_s[k] = uniform(&random, 1, 3);
            trial.members[k] = 1 | (uint32_t)below(&random, 16);
        }
        for (uint32_t h = 0; h < WORLD_HOSTS; h++) {
            machines[h].script = machines[0].script;
            trial.slots[h] = i % 5 == 0 && h > 1 ? 0 : 1 + (uint32_t)below(&random, 2);
        }
        if (i % 7 == 0) {
            machines[1].script.lives_s = uniform(&random, 0.1, 1);
            machines[1].script.deaths = 2; /* more frequent losses count as bad */
        }
        run(&trial, &result);
        if (result == NULL || result->left_bytes > 0 || result->failed > 0)
            complain(&trial, "not all was done");
        left += strstr(trial.said, ": has left") != NULL;
        joined +=
            result->nworkers > trial.slots[0] + (trial.nhosts > 1 ? trial.slots[1] : 0);
        cleave_execution_free(result);
        free(trial.bytes);
    }
    assert_true(left > 20 && joined > 100);
}

/* Hosts give notice at random times: their begun chunks are finished, all other work goes
 * to others, and one line is printed. */
static void hosts_give_notice(void **state)
{
    struct cv_random random;
    uint32_t calmly = 0, given_back = 0;

    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 8; i++) {
        struct trial trial = calm(i, 2 + i % 3, every_port[i % PORTS],
                                  some_policies[i / PORTS % POLICIES], SIZE_MAX);
        struct cleave_execution_result *result;
        const char *told;

        cv_random_at(&random, 8, i, 0, 0);
        trial.block = i % 4 == 0 ? uniform(&random, 100, 1000) : 0;
        trial.persistent = true;
        trial.notice_s = i % 5 == 0 ? 0.05 : 10;
        for (uint32_t h = 1; h < trial.nhosts; h++) {
            machines[h].script.noticed_s = uniform(&random, 0.02, 0.8);
            machines[h].script.all_end = i % 3 == 0;
        }
        run(&trial, &result);
        if (result->failed > 0 || result->left_bytes > 0)
            complain(&trial, "not all was done");
        told = strstr(trial.said, ": was told to end (SIGTERM): it gets nothing new, and "
                                  "leaves within");
        if (told != NULL && trial.notice_s > 1) {
            calmly++;
            if (strstr(trial.said, "lost") != NULL || strstr(trial.said, "left") != NULL)
                complain(&trial, "more was said than that it goes");
        }
        for (uint32_t h = 1; h < trial.nhosts; h++)
            given_back += machines[h].given_back;
        cleave_execution_free(result);
        free(trial.bytes);
    }
    assert_true(calmly > 50 && given_back > 50);
}

/* A host that connects after the workers were chosen cannot help a policy with fixed
 * workers, and does not prolong the run when the others are lost. */
static void a_hopelessly_late_chunk_gets_no_copy(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES; i++) {
        struct trial trial = calm(i, 2, every_port[i % PORTS],
                                  some_policies[i / PORTS % POLICIES], SIZE_MAX);
        struct cleave_execution_result *result;

        machines[0].script.lives_s = 0.5;
        machines[0].script.lives = 1;
        machines[1].script.earlies = 1;
        run(&trial, &result);
        assert_non_null(result);
        /* Only learn takes it on: others do not even connect to it again. */
        assert_true(strcmp(trial.policy, "learn") != 0 || !(result->left_bytes > 0));
        if (strcmp(trial.policy, "learn") != 0 &&
            (machines[1].made != 1 || strstr(trial.said, "h1: left out: ") == NULL))
            complain(&trial, "it was connected to in vain");
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* A host that only sends pings is subject to --timeout, also while a chunk is open;
 * sooner if it does not even acknowledge received bytes. */
static void idlers_are_held_to_the_timeout(void **state)
{
    static const char *const ends[] = {
        ": lost, its chunks go elsewhere: a chunk has not ended "
        "within 100 s (failures.timeout_s) and 5 s more\n",
        ": left out: no data arrived there in 5 s: its link is too slow\n",
    };

    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 2; i++) {
        struct trial trial = calm(i, 2 + i % 2, every_port[i % PORTS],
                                  some_policies[i / PORTS % POLICIES], SIZE_MAX);
        struct script *script = &machines[trial.nhosts - 1].script;

        trial.backups = CLEAVE_BACKUPS_OFF;
        script->dropped = i % 2;
        script->mute = i % 2 == 0;
        script->lives = 1;
        trial.persistent = true;
        trial.honest = false;
        run(&trial, NULL);
        /* With one port, learn may have had it do nothing at all. */
        if (strstr(trial.said, ends[i % 2]) == NULL && strcmp(trial.policy, "learn") != 0)
            complain(&trial, "it was waited for");
        free(trial.bytes);
    }
}

/* A link that moves next to nothing costs little time, also where something was sent over it
 * before that was known, and its host is named with the reason. 20 kB would take 200 s. */
static void links_that_crawl_are_left_out(void **state)
{
    /* All but umr-plus, whose first chunks are so small that they come. */
    (void)state;
    for (uint32_t i = 0; i < PORTS * (POLICIES - 1) * 2; i++) {
        struct trial trial = calm(i, 2 + i % 2, every_port[i % PORTS],
                                  some_policies[i / PORTS % (POLICIES - 1)], SIZE_MAX);
        const bool learns = strcmp(trial.policy, "learn") == 0;
        struct cleave_execution_result *result;

        machines[trial.nhosts - 1].script.link_Bps = learns ? 400 : 100;
        trial.persistent = true;
        run(&trial, &result);
        /* learn may have moved the sent chunks elsewhere. */
        if (!learns &&
            (result->nabsent != 1 ||
             strncmp(result->absent[0].reason, "no data arrived there in", 24) != 0 ||
             strstr(trial.said, ": left out: no data arrived there in") == NULL))
            complain(&trial, "it was not left out");
        /* Two seconds of work, five until all are ready, and the limit if the policy does
         * not enforce it. */
        if (world.now_s > (learns ? 10 : 20))
            complain(&trial, "it was waited for: %g s", world.now_s);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* A late arrival in a run that ends at once does not show a slow link. */
static void a_late_worker_in_a_short_run_is_not_blamed(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES; i++) {
        struct trial trial = calm(i, 3, every_port[i % PORTS],
                                  some_policies[i / PORTS % POLICIES], SIZE_MAX);
        struct cleave_execution_result *result;

        for (uint32_t h = 0; h < trial.nhosts; h++)
            machines[h].script.speed_Bps = machines[h].script.link_Bps = 1e6;
        machines[trial.nhosts - 1].script.link_Bps = 4e4;
        trial.persistent = true;
        run(&trial, &result);
        if (result->nabsent > 0 || strstr(trial.said, "its link") != NULL)
            complain(&trial, "it was accused after %g s", world.now_s);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* Alone, it is better than none. */
static void the_only_link_may_crawl(void **state)
{
    struct trial trial = calm(0, 1, CLEAVE_PORT_MULTI, "factoring", SIZE_MAX);

    (void)state;
    machines[0].script.link_Bps = 100;
    trial.persistent = true;
    run(&trial, NULL);
    assert_true(strstr(trial.said, "its link") == NULL);
    free(trial.bytes);
}

static uint32_t wakes, arrivals;

static void count_wakes(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    wakes += event->kind == CLEAVE_WAKE;
    arrivals += event->kind == CLEAVE_CAME;
    for (int i = 0; event->kind == CLEAVE_START && i < 8; i++)
        cleave_order_send(orders, 0, view->units_total / 8);
}

static void returning_host_sends_came_and_no_wake(void **state)
{
    const struct cleave_policy plain = { .name = "plain",
                                         .decide = count_wakes,
                                         .state_size = 1 };
    struct trial trial = calm(0, 1, CLEAVE_PORT_MULTI, "plain", SIZE_MAX);
    struct cleave_execution_result *result;

    (void)state;
    trial.own = &plain;
    trial.persistent = true;
    machines[0].script.lives_s = 0.2;
    machines[0].script.deaths = 2;
    run(&trial, &result);
    assert_true(result->lost > 0);
    assert_int_equal(wakes, 0);
    assert_true(arrivals > 0);
    cleave_execution_free(result);
    free(trial.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_scripts),
        cmocka_unit_test(the_only_host_comes_back),
        cmocka_unit_test(poison_is_one_failed_chunk),
        cmocka_unit_test(neighbours_of_poison_are_not_blamed),
        cmocka_unit_test(a_bad_host_is_given_up),
        cmocka_unit_test(hosts_come_and_go),
        cmocka_unit_test(hosts_join_and_leave),
        cmocka_unit_test(hosts_give_notice),
        cmocka_unit_test(idlers_are_held_to_the_timeout),
        cmocka_unit_test(links_that_crawl_are_left_out),
        cmocka_unit_test(a_late_worker_in_a_short_run_is_not_blamed),
        cmocka_unit_test(the_only_link_may_crawl),
        cmocka_unit_test(returning_host_sends_came_and_no_wake),
        cmocka_unit_test(a_hopelessly_late_chunk_gets_no_copy),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
