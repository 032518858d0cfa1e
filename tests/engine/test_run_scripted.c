/* test_run_scripted.c -- runs on hosts that fail as a script says, on virtual time.
 * SPDX-License-Identifier: MIT
 *
 * Driver, policies, master and hosts are the real ones (scripted_world.h). Whatever happens,
 * a run ends, every byte is done, failed or left, and what is put out is that of what was
 * done. CLEAVE_SCRIPTS=N makes N random scripts, CLEAVE_SCRIPT=N the one of that number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <cmocka.h>

#include <cleave/execute.h>
#include <cleave/policy.h>

#include "base/text.h"
#include "run_check.h"
#include "scripted_world.h"

enum { SCRIPTS = 300 };

static char input[] = "/tmp/cleave-scripted-XXXXXX";

/* A run, and what came of it. */
struct trial {
    uint32_t number;
    uint32_t nhosts, slots[WORLD_HOSTS];
    enum cleave_port port;
    const char *policy;
    const struct cleave_policy *own; /* instead of that                                */
    double block;
    bool steady; /* the first host never fails: so all must be done                    */
    bool honest; /* nobody says what is untrue                                         */
    char *bytes;
    size_t length;
    char said[4000]; /* notes                                                          */
};

static void note(void *context, const char *text)
{
    struct trial *trial = context;
    const size_t used = strlen(trial->said);

    snprintf(trial->said + used, sizeof trial->said - used, "  %.2f s: %s\n", world.now_s,
             text);
}

static void make_input(struct trial *trial, size_t lines, size_t poison)
{
    size_t room = lines * 24 + 64;
    FILE *file = fopen(input, "w");

    trial->bytes = malloc(room);
    assert_non_null(trial->bytes);
    assert_non_null(file);
    trial->length = 0;
    for (size_t i = 0; i < lines; i++)
        trial->length +=
            (size_t)snprintf(trial->bytes + trial->length, room - trial->length,
                             "%zu%s of the lines\n", i, i == poison ? " POISON" : "");
    assert_int_equal(fwrite(trial->bytes, 1, trial->length, file), trial->length);
    fclose(file);
}

/* --- the oracle --------------------------------------------------------------------------- */

#define complain(trial, ...)                                                           \
    do {                                                                               \
        fprintf(stderr, "script %u: %s, %u hosts, port %d, block %g:\n%s",             \
                (trial)->number, (trial)->policy, (trial)->nhosts, (int)(trial)->port, \
                (trial)->block, (trial)->said);                                        \
        fail_msg(__VA_ARGS__);                                                         \
    } while (0)

/* What is put out is what was done, up to the first byte that is left. */
static void check_output(const struct trial *trial,
                         const struct cleave_execution_result *result, int sink)
{
    const size_t length = (size_t)lseek(sink, 0, SEEK_END);
    const uint64_t stops =
        result->nleft_ranges > 0 ? result->left_ranges[0].begin : (uint64_t)trial->length;
    char *out = malloc(length + 1), *want = malloc(trial->length + 1);
    size_t nwant = 0;
    uint64_t at = 0;

    assert_non_null(out);
    assert_non_null(want);
    assert_int_equal(pread(sink, out, length, 0), length);
    for (size_t i = 0; i <= result->nfailed_ranges && at < stops; i++) {
        const bool last = i == result->nfailed_ranges;
        const uint64_t begin = last ? stops : result->failed_ranges[i].begin;
        const uint64_t end = begin < stops ? begin : stops;

        memcpy(want + nwant, trial->bytes + at, (size_t)(end - at));
        nwant += (size_t)(end - at);
        at = last ? stops : result->failed_ranges[i].end;
    }
    if (result->nleft_ranges == 0 ? length != nwant : length > nwant)
        complain(trial, "%zu bytes were put out, expected %zu", length, nwant);
    if (memcmp(out, want, length) != 0)
        complain(trial, "what was put out is not what was done");
    free(out);
    free(want);
}

static void check(const struct trial *trial, enum cleave_status status,
                  const struct cleave_execution_result *result,
                  const struct cleave_error *err, int sink)
{
    if (status != CLEAVE_OK && status != CLEAVE_ELOST && status != CLEAVE_EENGINE)
        complain(trial, "%s", err->text);
    if (result == NULL) { /* nobody was there in time */
        if (trial->steady)
            complain(trial, "%s", err->text);
        return;
    }
    if (trial->steady && status != CLEAVE_OK)
        complain(trial, "a host was there all the time, but %s", err->text);
    /* What three hosts lose by chance cannot be told from poison. */
    if (trial->steady && trial->honest && world_poison == NULL && trial->nhosts < 4 &&
        result->failed > 0)
        complain(trial, "%llu chunks failed", (unsigned long long)result->failed);
    if (status == CLEAVE_OK && result->left_bytes > 0)
        complain(trial, "%g bytes are left", result->left_bytes);
    if (result->input_bytes + result->left_bytes != (double)trial->length)
        complain(trial, "%g bytes were settled and %g are left of %zu",
                 result->input_bytes, result->left_bytes, trial->length);
    check_output(trial, result, sink);
}

/* --- a run -------------------------------------------------------------------------------- */

static void run(struct trial *trial, struct cleave_execution_result **out)
{
    static const char *const connect[] = { "connect", NULL };
    static const char *const command[] = { "command", NULL };
    static const char *const names[] = { "h0", "h1", "h2", "h3" };
    const char *const files[] = { input };
    const int sink = memfd_create("out", MFD_CLOEXEC);
    struct cleave_host hosts[WORLD_HOSTS];
    struct cleave_execution_result *result = NULL;
    struct cleave_platform *platform = NULL;
    struct cleave_error err = { .status = CLEAVE_OK };
    struct cv_text yaml = { NULL, 0, 0, false };
    uint32_t first = 0;
    enum cleave_status status;

    assert_true(sink >= 0);
    world.said = trial->said;
    cv_text_add(&yaml, "port: %s\nworkers:\n", cleave_port_name(trial->port));
    for (uint32_t h = 0; h < trial->nhosts; h++) {
        hosts[h] = (struct cleave_host){ .name = names[h],
                                         .connect = connect,
                                         .link = -1,
                                         .first = first,
                                         .slots = trial->slots[h] };
        cv_text_add(&yaml, "  - {name: %s, count: %u, speed: 1e4, bandwidth: 1e5}\n",
                    names[h], trial->slots[h]);
        first += trial->slots[h];
    }
    assert_int_equal(cleave_platform_parse("p", yaml.bytes, yaml.length, &platform, &err),
                     CLEAVE_OK);
    status = cleave_execute(
        &(struct cleave_execution){
            .command = command,
            .input = { .files = files, .count = 1 },
            .output = { .descriptor = sink, .name = "out" },
            .crew = { .platform = platform },
            .hosts = { .list = hosts, .count = trial->nhosts, .timeout_s = 3 },
            .sharing = { .policy = trial->block > 0 || trial->own != NULL ? NULL
                                                                          : trial->policy,
                         .own_policy = trial->own,
                         .block = trial->block },
            /* Who never says that a chunk has ended is found out by its time. */
            .failing = { .timeout_s = trial->honest ? 0 : 100 },
            .tell = { .note = note, .context = trial } },
        &result, &err);
    check(trial, status, result, &err, sink);
    if (out != NULL)
        *out = result;
    else
        cleave_execution_free(result);
    cleave_platform_free(platform);
    cv_text_done(&yaml);
    close(sink);
}

/* --- random scripts ----------------------------------------------------------------------- */

static double uniform(struct cv_random *random, double least, double most)
{
    return least + (most - least) * cv_random_uniform(random);
}

static double sometimes(struct cv_random *random, double chance, double least,
                        double most)
{
    const double value = uniform(random, least, most);

    return cv_random_uniform(random) < chance ? value : 0;
}

static struct script make_script(struct cv_random *random, bool steady, bool honest)
{
    struct script script = {
        .speed_Bps = exp(uniform(random, log(3e3), log(3e5))),
        .latency_s = sometimes(random, 0.7, 0, 0.2),
        .link_Bps = exp(uniform(random, log(1e4), log(1e7))),
        .link_s = uniform(random, 1e-4, 0.02),
    };

    if (steady)
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
    trial.steady = cv_random_uniform(&random) < 0.5;
    trial.honest = cv_random_uniform(&random) < 0.6;
    lines = 20 + below(&random, 2000);
    /* A poisonous line kills whoever does it: nobody is steady then. */
    poison = cv_random_uniform(&random) < 0.2 ? below(&random, lines) : SIZE_MAX;
    if (poison != SIZE_MAX)
        world_poison = "POISON";
    for (uint32_t h = 0; h < trial.nhosts; h++)
        machines[h].script = make_script(&random, h == 0 && trial.steady, trial.honest);
    trial.steady = trial.steady && poison == SIZE_MAX;
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

    (void)state;
    for (uint32_t i = first; i < first + scripts; i++) {
        struct trial trial = make_trial(i);

        run(&trial, NULL);
        if (one != NULL)
            fprintf(stderr, "%s", trial.said);
        free(trial.bytes);
    }
}

/* --- scripts by hand ---------------------------------------------------------------------- */

/* Hosts that never fail, of one slot each; the script of the last one is the caller's. */
static struct trial calm(uint32_t number, uint32_t nhosts, enum cleave_port port,
                         const char *policy, size_t poison)
{
    struct trial trial = {
        .number = number, .nhosts = nhosts, .port = port, .policy = policy, .honest = true
    };

    world_reset(3, number);
    if (poison != SIZE_MAX)
        world_poison = "POISON";
    for (uint32_t h = 0; h < nhosts; h++) {
        trial.slots[h] = 1;
        machines[h].script = (struct script){
            .speed_Bps = 1e4, .latency_s = 0.01, .link_Bps = 2e4, .link_s = 0.001
        };
    }
    make_input(&trial, 1000, poison);
    return trial;
}

static const enum cleave_port every_port[] = { CLEAVE_PORT_MULTI, CLEAVE_PORT_ONE,
                                               CLEAVE_PORT_DUPLEX };
static const char *const some_policies[] = { "learn", "factoring", "guided", "as4dr",
                                             "umr-plus" };
enum { PORTS = 3, POLICIES = 5 };

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

/* What kills whoever does it is a failed chunk, and nothing else is. */
static void poison_is_one_failed_chunk(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 4; i++) {
        const uint32_t nhosts = 1 + i % 4;
        struct trial trial =
            calm(i, nhosts, every_port[i % PORTS], some_policies[i / PORTS % POLICIES],
                 (size_t)37 * (i % 27));
        struct cleave_execution_result *result;
        const char *poison;

        run(&trial, &result);
        assert_non_null(result);
        poison = strstr(trial.bytes, "POISON");
        if (result->nfailed_ranges != 1 || result->failed != 1 || result->left_bytes > 0)
            complain(&trial, "%llu chunks failed, %g bytes are left",
                     (unsigned long long)result->failed, result->left_bytes);
        assert_true(result->failed_ranges[0].begin <= (uint64_t)(poison - trial.bytes) &&
                    result->failed_ranges[0].end > (uint64_t)(poison - trial.bytes));
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* One that dies of every chunk costs the others nothing but time; alone, it is given up. */
static void a_bad_host_is_given_up(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PORTS * POLICIES * 4; i++) {
        const uint32_t nhosts = 1 + i % 4;
        struct trial trial = calm(i, nhosts, every_port[i % PORTS],
                                  some_policies[i / PORTS % POLICIES], SIZE_MAX);
        struct cleave_execution_result *result;

        machines[nhosts - 1].script.lives_s = 0.05;
        trial.steady = nhosts > 1;
        run(&trial, &result);
        if (result == NULL) { /* it was not even there in time */
            assert_true(nhosts == 1);
            free(trial.bytes);
            continue;
        }
        assert_true(machines[nhosts - 1].made <= (nhosts > 1 ? 21 : 5) ||
                    result->workers[nhosts - 1].chunks > 0);
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

/* Several go and come back, with policies that do not hear of it: to be woken means to them
 * that a time has come. */
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
        trial.steady = true;
        run(&trial, NULL);
        free(trial.bytes);
    }
}

/* A host that is there only when the workers have been chosen is of no use to a policy with
 * fixed ones, and no hope when the others are gone. */
static void too_late_is_no_hope(void **state)
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
        /* Only learn takes it on. */
        assert_true(strcmp(trial.policy, "learn") != 0 || !(result->left_bytes > 0));
        cleave_execution_free(result);
        free(trial.bytes);
    }
}

static uint32_t wakes;

static void count_wakes(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    wakes += event->kind == CLEAVE_WAKE;
    for (int i = 0; event->kind == CLEAVE_START && i < 8; i++)
        cleave_order_send(orders, 0, view->units_total / 8);
}

/* Whoever does not know of hosts that come is not told of them. */
static void only_who_asked_is_woken(void **state)
{
    const struct cleave_policy plain = { .name = "plain",
                                         .decide = count_wakes,
                                         .state_size = 1 };
    struct trial trial = calm(0, 1, CLEAVE_PORT_MULTI, "plain", SIZE_MAX);
    struct cleave_execution_result *result;

    (void)state;
    trial.own = &plain;
    trial.steady = true;
    machines[0].script.lives_s = 0.2;
    machines[0].script.deaths = 2;
    run(&trial, &result);
    assert_true(result->lost > 0);
    assert_int_equal(wakes, 0);
    cleave_execution_free(result);
    free(trial.bytes);
}

static int set_up(void **state)
{
    (void)state;
    close(mkstemp(input));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_scripts),
        cmocka_unit_test(the_only_host_comes_back),
        cmocka_unit_test(poison_is_one_failed_chunk),
        cmocka_unit_test(a_bad_host_is_given_up),
        cmocka_unit_test(hosts_come_and_go),
        cmocka_unit_test(only_who_asked_is_woken),
        cmocka_unit_test(too_late_is_no_hope),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
