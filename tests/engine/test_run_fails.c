/* test_run_fails.c -- hosts whose commands fail, on virtual time. SPDX-License-Identifier: MIT
 *
 * A worker that fails where others succeed costs nothing but time, under every policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "scripted_trial.h"

static const char *const policies[] = { "learn", "self",     "factoring", "guided",
                                        "as4dr", "umr-plus", "umr",       "one-round" };
enum { NPOLICIES = 8 };

/* Hosts that never fail but one; commands take a while, chunks are small. */
static struct trial slow(uint32_t number, const char *policy)
{
    struct trial trial =
        calm(number, 2 + number % 3, every_port[number % PORTS], policy, SIZE_MAX);

    for (uint32_t h = 0; h < trial.nhosts; h++) {
        machines[h].script.speed_Bps = 10;
        trial.slots[h] = 1 + (number + h) % 2;
    }
    trial.persistent = true;
    return trial;
}

static void bad_hosts_cost_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * NPOLICIES * 2; i++) {
        const uint32_t nhosts = 2 + i % 3;
        struct trial trial = calm(i, nhosts, every_port[i % PORTS],
                                  policies[i / PORTS % NPOLICIES], SIZE_MAX);
        struct cleave_execution_result *result;

        for (uint32_t h = 0; h < nhosts; h++)
            if (h != i / 2 % nhosts)
                machines[h].script.fails = UINT32_MAX;
        trial.persistent = true;
        run(&trial, &result);
        for (uint32_t h = 0; h < nhosts; h++)
            if (machines[h].failed > 8)
                complain(&trial, "host %u was given %u commands", h, machines[h].failed);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* It backs off, each time twice as long, and at last it is left out, with the reason. */
static void a_bad_host_is_left_out(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * 3; i++) {
        static const char *const names[] = { "h0", "h1", "h2", "h3" };
        struct trial trial = slow(i, "self");
        struct cleave_execution_result *result;
        const uint32_t bad = i / 3 % trial.nhosts;

        trial.block = 100;
        machines[bad].script.fails = UINT32_MAX;
        run(&trial, &result);
        if (result->nabsent != 1 || strstr(trial.said, ": left out: its last ") == NULL ||
            strstr(trial.said, "the same chunks succeeded elsewhere") == NULL)
            complain(&trial, "it was not left out");
        assert_string_equal(result->absent[0].name, names[bad]);
        assert_true(machines[bad].failed >= 5 && machines[bad].failed <= 5 * 6);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* A worker that is bad for a while gets work again after others have done its failed
 * chunk: at most that chunk, whatever the policy ordered for it. There is enough work:
 * units in pipes are not taken back. */
static void recovered_domain_counts_again(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * 2; i++) {
        struct trial trial = slow(i, i % 2 == 0 ? "learn" : "self");
        struct cleave_execution_result *result;

        free(trial.bytes);
        make_input(&trial, 100000, SIZE_MAX);
        trial.block = i % 2 == 0 ? 0 : 2000;
        machines[0].script.fails = 2;
        run(&trial, &result);
        if (result->nabsent > 0 || result->workers[0].chunks == 0)
            complain(&trial, "it had no part");
        if (trial.ungiven >= strlen("100000 of the lines\n"))
            complain(&trial, "%llu bytes that it was not given failed",
                     (unsigned long long)trial.ungiven);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* A chunk that fails everywhere is bad, and its workers are not blamed. */
static void a_bad_record_does_not_blame_its_host(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * NPOLICIES; i++) {
        struct trial trial = calm(i, 2 + i % 3, every_port[i % PORTS],
                                  policies[i / PORTS], (size_t)37 * (i % 27));
        struct cleave_execution_result *result;

        world_poison = NULL;
        world_bad = "POISON";
        trial.failures.retries = i % 2;
        run(&trial, &result);
        if (result->failed != 1 || result->left_bytes > 0 || result->nabsent > 0 ||
            strstr(trial.said, "rested") != NULL)
            complain(&trial, "%llu chunks failed", (unsigned long long)result->failed);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* Only the bad record of a bad chunk fails, also when hosts come and go. */
static void a_bad_record_is_isolated(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * NPOLICIES * 4; i++) {
        struct trial trial = calm(i, 2 + i % 3, every_port[i % PORTS],
                                  policies[i / PORTS % NPOLICIES], (size_t)37 * (i % 27));
        struct cleave_execution_result *result;
        uint64_t begin, end;

        world_poison = NULL;
        world_bad = "POISON";
        trial.failures.isolate = true;
        if (i % 2 == 1) {
            machines[1].script.lives_s = 0.3;
            machines[1].script.deaths = 2;
        }
        run(&trial, &result);
        begin = (uint64_t)(strstr(trial.bytes, "POISON") - trial.bytes);
        end = begin + strlen("POISON of the lines\n");
        while (begin > 0 && trial.bytes[begin - 1] != '\n')
            begin--;
        if (result->failed != 1 || result->nfailed_ranges != 1 ||
            result->nbad_records != 1 || result->left_bytes > 0 || result->parted == 0 ||
            result->failed_ranges[0].begin != begin ||
            result->failed_ranges[0].end != end ||
            result->bad_records[0].first != (uint64_t)37 * (i % 27) + 1)
            complain(&trial, "%llu chunks failed", (unsigned long long)result->failed);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* A chunk killed by the memory limit is done in halves, and later chunks are smaller. */
static void chunks_fit_into_memory(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * NPOLICIES * 2; i++) {
        struct trial trial = calm(i, 1 + i % 4, every_port[i % PORTS],
                                  policies[i / PORTS % NPOLICIES], SIZE_MAX);
        struct cleave_execution_result *result;

        for (uint32_t h = 0; h < trial.nhosts; h++)
            machines[h].script.memory = 1500;
        trial.failures.retries = 5;
        trial.failures.strict = true;
        run(&trial, &result);
        if (result->failed > 0 || result->left_bytes > 0)
            complain(&trial, "%llu chunks failed", (unsigned long long)result->failed);
        cleave_execution_free(result);
        free(trial.bytes);
    }
    for (uint32_t retries = 0; retries < 2; retries++) {
        struct trial trial = calm(0, 1, CLEAVE_PORT_MULTI, "self", SIZE_MAX);
        struct cleave_execution_result *result;

        machines[0].script.memory = 2000;
        trial.block = 3000;
        trial.failures.retries = retries;
        run(&trial, &result);
        /* The first one, and chunks in flight at that time. */
        if (machines[0].failed < 1 || machines[0].failed > 3 ||
            result->failed != (retries > 0 ? 0 : machines[0].failed))
            complain(&trial, "%u were killed", machines[0].failed);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* A command that always fails is not run a million times, unless that is asked for. */
static void hopeless_runs_end_soon(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        struct trial trial = calm(i, 1 + i % 4, CLEAVE_PORT_MULTI, "self", SIZE_MAX);
        struct cleave_execution_result *result;
        uint32_t runs = 0;

        trial.block = 1;
        trial.failures.halt = i < 4 ? CLEAVE_HALT_ALL_FAIL : CLEAVE_HALT_NEVER;
        for (uint32_t h = 0; h < WORLD_HOSTS; h++)
            machines[h].script.fails = UINT32_MAX;
        run(&trial, &result);
        for (uint32_t h = 0; h < WORLD_HOSTS; h++)
            runs += machines[h].failed;
        if (i < 4 ? !result->halted || result->failed > 112 || runs > 200
                  : result->halted || result->failed != 1000)
            complain(&trial, "%llu chunks failed, %u runs",
                     (unsigned long long)result->failed, runs);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_hosts_cost_nothing),
        cmocka_unit_test(a_bad_host_is_left_out),
        cmocka_unit_test(recovered_domain_counts_again),
        cmocka_unit_test(a_bad_record_does_not_blame_its_host),
        cmocka_unit_test(a_bad_record_is_isolated),
        cmocka_unit_test(chunks_fit_into_memory),
        cmocka_unit_test(hopeless_runs_end_soon),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
