/* test_arguments.c -- public calls refuse unusable arguments. SPDX-License-Identifier:
 * MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cleave/cleave.h>

static struct cleave_platform *platform;
static struct cleave_error err;

/* The call fails, and names the member. */
#define refuses(call, name)                                  \
    do {                                                     \
        memset(&err, 0, sizeof err);                         \
        assert_int_equal(call, CLEAVE_EINPUT);               \
        assert_string_equal(err.field, name);                \
        assert_true(strncmp(err.text, "expected ", 9) == 0); \
    } while (0)

/* --- plans and simulations ---------------------------------------------------------------- */

static const struct cleave_setting half[] = { { "rounds", NULL } };

static void loads_need_their_members(void **state)
{
    const struct cleave_job job = { .platform = platform, .load = 100 };
    struct cleave_schedule *schedule = NULL;
    struct cleave_trial trial = { .runs = 1 };
    struct cleave_stats stats;
    struct cleave_job bad = job;

    (void)state;
    refuses(cleave_plan_load(NULL, &schedule, &err), "job");
    refuses(cleave_plan_load(&job, NULL, &err), "out");
    bad.platform = NULL;
    refuses(cleave_plan_load(&bad, &schedule, &err), "platform");
    refuses(cleave_simulate_load(&bad, &trial, &stats, &err), "platform");
    bad = job;
    bad.nsettings = 1;
    refuses(cleave_plan_load(&bad, &schedule, &err), "settings");
    bad.settings = half;
    refuses(cleave_plan_load(&bad, &schedule, &err), "settings[0].value");
    refuses(cleave_simulate_load(&job, NULL, &stats, &err), "trial");
    refuses(cleave_simulate_load(&job, &trial, NULL, &err), "out");
    trial.noise = (struct cleave_noise){ CLEAVE_NOISE_GAMMA, -3 };
    refuses(cleave_simulate_load(&job, &trial, &stats, &err), "noise.spread");
    trial.noise.kind = 9;
    refuses(cleave_simulate_load(&job, &trial, &stats, &err), "noise.kind");
    trial.noise.kind = CLEAVE_NOISE_NONE;
    trial.conditions.nhangs = 1;
    refuses(cleave_simulate_load(&job, &trial, &stats, &err), "conditions.hangs");
    assert_null(schedule);
    assert_int_equal(cleave_plan_load(NULL, NULL, NULL), CLEAVE_EINPUT);
}

static void other_plans_need_their_members(void **state)
{
    const struct cleave_reduction costs = { .nodes = 3, .transfer = "1" };
    const struct cleave_stream_task task = { .platform = platform,
                                             .nstreams = 1,
                                             .weights = 9 };
    const double one[] = { 1 };
    struct cleave_costs *exact = NULL;
    struct cleave_tree *tree = NULL;
    struct cleave_stream_plan *plan = NULL;
    struct cleave_streams_result *result = NULL;
    struct cleave_rental *rental = NULL;

    (void)state;
    refuses(cleave_plan_reduce(NULL, &tree, &err), "job");
    refuses(cleave_plan_reduce(&costs, &tree, &err), "compute");
    refuses(cleave_costs_new(1, one, NULL, &exact, &err), "compute");
    refuses(cleave_costs_new(1, NULL, one, &exact, &err), "transfer");
    refuses(cleave_plan_streams(&task, &plan, &err), "weights");
    refuses(cleave_plan_streams(NULL, &plan, &err), "task");
    refuses(cleave_simulate_streams(NULL, &result, &err), "job");
    refuses(cleave_rent(&(struct cleave_job){ .platform = platform }, NULL, &rental,
                        &err),
            "terms");
}

static void platforms_and_texts_need_their_arguments(void **state)
{
    struct cleave_platform *made = NULL;
    struct cleave_noise noise;
    const struct cleave_policy *policy = NULL;

    (void)state;
    refuses(cleave_platform_new(9, cleave_platform_workers(platform), 1, &made, &err),
            "port");
    refuses(cleave_platform_new(CLEAVE_PORT_ONE, NULL, 1, &made, &err), "workers");
    refuses(cleave_platform_load(NULL, &made, &err), "path");
    refuses(cleave_platform_parse("a", NULL, 1, &made, &err), "text");
    refuses(cleave_noise_parse(NULL, &noise, &err), "text");
    refuses(cleave_policy_find(9, "umr", &policy, &err), "task");
    refuses(cleave_policy_find(CLEAVE_TASK_LOAD, NULL, &policy, &err), "name");
    refuses(cleave_replay(NULL, NULL, NULL, &err), "trace");
    refuses(cleave_trace_save(NULL, platform, "umr", 1, stdout, &err), "trace");
    assert_null(made);
}

/* --- runs --------------------------------------------------------------------------------- */

static void runs_need_their_members(void **state)
{
    static const char *const command[] = { "true", NULL }, *const none[] = { NULL };
    const int null = open("/dev/null", O_RDWR), reads = open("/dev/null", O_RDONLY);
    const struct cleave_execution good = { .command = command,
                                           .input = { .files = none, .count = 0 },
                                           .output.descriptor = null };
    struct cleave_execution_result *result = NULL;
    struct cleave_execution bad = good;

    (void)state;
    refuses(cleave_execute(NULL, &result, &err), "execution");
    refuses(cleave_execute(&good, NULL, &err), "out");
#define REFUSES(member, value, name) \
    bad = good;                      \
    bad.member = value;              \
    refuses(cleave_execute(&bad, &result, &err), name)
    REFUSES(command, NULL, "command");
    REFUSES(command, none, "command");
    REFUSES(output.descriptor, -1, "output.descriptor");
    REFUSES(output.descriptor, 12345, "output.descriptor");
    REFUSES(output.descriptor, reads, "output.descriptor");
    REFUSES(input.count, 1, "input.files[0]");
    REFUSES(workers.delay_s, -1, "workers.delay_s");
    REFUSES(workers.count, UINT32_MAX, "workers.count");
    REFUSES(workers.pin, 9, "workers.pin");
    REFUSES(policy.block, NAN, "policy.block");
    REFUSES(policy.backups, 9, "policy.backups");
    REFUSES(policy.nsettings, 1, "policy.settings");
    REFUSES(failures.halt, 9, "failures.halt");
    REFUSES(failures.timeout_s, INFINITY, "failures.timeout_s");
    REFUSES(hosts.count, 1, "hosts.list");
    bad.hosts.list = &(struct cleave_host){ .name = "a" };
    refuses(cleave_execute(&bad, &result, &err), "workers.platform");
    bad.workers.platform = platform;
    bad.hosts.list = &(struct cleave_host){ .name = "a", .first = 9, .link = null };
    refuses(cleave_execute(&bad, &result, &err), "hosts.list[0].first");
    bad.hosts.list = &(struct cleave_host){ .name = "a", .link = -1 };
    refuses(cleave_execute(&bad, &result, &err), "hosts.list[0].link");
    assert_null(result);
    close(null);
    close(reads);
}

/* --- random members ----------------------------------------------------------------------- */

static double some_number(void)
{
    static const double numbers[] = { 0,   0, 0,   0,         1, 2.5, 100, -1,
                                      -0., 3, NAN, -INFINITY, 7, -3,  9,   0.5 };

    return numbers[(size_t)random() % (sizeof numbers / sizeof *numbers)];
}

static unsigned some_value(unsigned count)
{
    return random() % 8 == 0 ? (unsigned)random() : (unsigned)random() % count;
}

static bool rarely(void)
{
    return random() % 12 == 0;
}

/* The call returns; a failure has a text. */
static void holds(enum cleave_status status)
{
    assert_true(status == CLEAVE_OK || err.text[0] != '\0');
    err.text[0] = '\0';
}

static const struct cleave_setting settings[] = { { "rounds", "2" }, { "x", NULL } };

static void any_plan_returns(void **state)
{
    const double sizes[] = { 3, some_number(), some_number() };

    (void)state;
    for (int i = 0; i < 300; i++) {
        const struct cleave_job job = {
            .platform = rarely() ? NULL : platform,
            .load = some_number(),
            .lifespan_s = rarely() ? some_number() : 0,
            .result_ratio = some_number(),
            .packaging_s = some_number(),
            .in_turn = rarely(),
            .before_round = rarely(),
            .policy = rarely()   ? "umr"
                      : rarely() ? "nonsense"
                                 : "one-round",
            .settings = rarely() ? settings : NULL,
            .nsettings = rarely() ? 2 : 0,
            .error = some_number(),
            .reads = rarely() ? "slurp" : NULL,
            .copies = rarely(),
            .hold = rarely() ? some_number() : 0,
            .sizes = rarely() ? sizes : NULL,
            .nitems = (uint64_t)random() % 4,
        };
        const struct cleave_trial trial = {
            .runs = (uint64_t)random() % 3,
            .threads = 1,
            .noise = { some_value(3), some_number() },
            .conditions = { .answers_s = some_number(),
                            .stalls = { some_number(), some_number() },
                            .costs = { some_value(4), some_number(), some_number() },
                            .nhangs = rarely(),
                            .timeout_s = some_number() },
        };
        const struct cleave_reduction reduction = {
            .nodes = (uint32_t)random() % 6,
            .transfer = rarely() ? NULL : "1",
            .compute = rarely() ? NULL : "gamma:1,0.3",
            .model = some_value(2),
            .cluster = (uint32_t)random() % 3,
            .remote = some_number(),
            .ready = rarely() ? "1" : NULL,
            .ready_model = some_value(3),
            .policy = rarely() ? NULL : "binomial",
            .settings = settings,
            .nsettings = rarely(),
        };
        const struct cleave_stream_task task = {
            .platform = rarely() ? NULL : platform,
            .nstreams = some_value(3),
            .period_s = some_number(),
            .margin = some_number(),
            .theta = some_number(),
            .result_ratio = some_number(),
            .declared_factor = some_number(),
            .weights = some_value(2),
            .shares = some_value(2),
            .work = 1000,
        };
        struct cleave_schedule *schedule = NULL;
        struct cleave_tree *tree = NULL;
        struct cleave_stream_plan *plan = NULL;
        struct cleave_stats stats;

        holds(cleave_plan_load(&job, &schedule, &err));
        cleave_schedule_free(schedule);
        holds(cleave_simulate_load(&job, &trial, &stats, &err));
        holds(cleave_plan_reduce(&reduction, &tree, &err));
        cleave_tree_free(tree);
        holds(cleave_simulate_reduce(&reduction, &trial, &stats, &err));
        if (i % 10 == 0 && task.nstreams < 4) {
            holds(cleave_plan_streams(&task, &plan, &err));
            cleave_stream_plan_free(plan);
        }
    }
}

static void any_run_returns(void **state)
{
    static const char *const command[] = { "true", NULL };
    static const char *const files[] = { "/dev/null", "/dev/null" };
    const int null = open("/dev/null", O_RDWR);

    (void)state;
    for (int i = 0; i < 100; i++) {
        const struct cleave_execution execution = {
            .command = rarely() ? NULL : command,
            .persistent = rarely(),
            .input = { .files = files,
                       .count = 1 + (size_t)random() % 2,
                       .split = rarely()   ? "nonsense"
                                : rarely() ? "csv"
                                           : NULL,
                       .header = rarely(),
                       .records = (uint64_t)random() % 2,
                       .max_record = rarely() ? UINT64_MAX : 0,
                       .decode = rarely() ? "nonsense" : NULL },
            .output = { .descriptor = rarely() ? (int)some_number() : null,
                        .unordered = rarely(),
                        .lines = rarely(),
                        .early = rarely(),
                        .header_once = rarely(),
                        .memory = rarely() ? UINT64_MAX : 0 },
            .workers = { .count = 1 + (uint32_t)random() % 3,
                         .delay_s = rarely() ? some_number() : 0,
                         .max_load = rarely() ? -some_number() : 0,
                         .pin = some_value(3),
                         .unguarded = true },
            .hosts = { .timeout_s = rarely() ? some_number() : 0,
                       .count = rarely(),
                       .notice_s = rarely() ? some_number() : 0 },
            .policy = { .name = rarely() ? "umr" : NULL,
                        .nsettings = rarely(),
                        .block = rarely() ? some_number() : 0,
                        .backups = some_value(3) },
            .reduce = { .command = rarely() ? "sum" : NULL, .commutative = rarely() },
            .failures = { .timeout_s = rarely() ? some_number() : 0,
                          .retries = rarely() ? UINT32_MAX : 0,
                          .strict = rarely(),
                          .isolate = rarely(),
                          .halt = some_value(4),
                          .halt_on = some_value(3),
                          .halt_fails = (uint64_t)random() % 2,
                          .halt_share = rarely() ? some_number() : 0 },
        };
        struct cleave_execution_result *result = NULL;

        holds(cleave_execute(&execution, &result, &err));
        cleave_execution_free(result);
    }
    close(null);
}

static int make_platform(void **state)
{
    static const char yaml[] =
        "workers:\n  - {name: w, count: 3, speed: 1, bandwidth: 8}\n";

    (void)state;
    srandom(1);
    return cleave_platform_parse("here", yaml, sizeof yaml - 1, &platform, NULL) !=
           CLEAVE_OK;
}

static int free_platform(void **state)
{
    (void)state;
    cleave_platform_free(platform);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_need_their_members),
        cmocka_unit_test(other_plans_need_their_members),
        cmocka_unit_test(platforms_and_texts_need_their_arguments),
        cmocka_unit_test(runs_need_their_members),
        cmocka_unit_test(any_plan_returns),
        cmocka_unit_test(any_run_returns),
    };

    return cmocka_run_group_tests(tests, make_platform, free_platform);
}
