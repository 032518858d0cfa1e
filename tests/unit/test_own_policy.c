/* test_own_policy.c -- policies that callers bring along. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <cleave/cleave.h>

static struct cleave_platform *three_workers(void)
{
    const struct cleave_worker workers[] = { { 10, 0.1, 100, 0.01, 100, 0.01 },
                                             { 20, 0.1, 100, 0.01, 100, 0.01 },
                                             { 30, 0.1, 100, 0.01, 100, 0.01 } };
    struct cleave_platform *platform = NULL;

    assert_int_equal(cleave_platform_new(CLEAVE_PORT_ONE, workers, 3, &platform, NULL),
                     CLEAVE_OK);
    return platform;
}

/* --- policies that break the contract ---------------------------------------------------- */

static void nothing(void *state, const struct cleave_view *view,
                    const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view, (void)event, (void)orders;
}

static void to_nobody(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_send(orders, view->nworkers, view->units_left);
}

static void too_much(void *state, const struct cleave_view *view,
                     const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_send(orders, 0, 2 * view->units_total);
}

static void nan_units(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind == CLEAVE_START)
        cleave_order_send(orders, 0, NAN);
}

static void into_the_past(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_send(orders, 0, view->units_left);
    else
        cleave_order_wake(orders, 0, 0);
}

static void of_another_task(void *state, const struct cleave_view *view,
                            const struct cleave_event *event,
                            struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind == CLEAVE_START)
        cleave_order_combine(orders, 0, 1);
}

static void all_to_first(void *state, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_send(orders, 0, view->units_left);
}

static enum cleave_status leave_out_nobody(void *state, const struct cleave_view *view,
                                           struct cleave_setup *setup,
                                           struct cleave_error *err)
{
    (void)state, (void)err;
    cleave_setup_left_out(setup, view->nworkers, "it is not there");
    return CLEAVE_OK;
}

static enum cleave_status give_up(void *state, const struct cleave_view *view,
                                  struct cleave_setup *setup, struct cleave_error *err)
{
    (void)state, (void)view, (void)setup;
    return cleave_error_set(err, CLEAVE_EINPUT, "I would rather not");
}

static const struct cleave_param outside[] = {
    { "far", CLEAVE_PARAM_REAL, 4, 0, 0, 1, "does not fit" },
    { 0 },
};

static const struct {
    struct cleave_policy policy;
    enum cleave_status status;
    const char *text;
} bad[] = {
    { { .decide = nothing }, CLEAVE_EPOLICY, "a policy of the caller has no name" },
    { { .name = "", .decide = nothing },
      CLEAVE_EPOLICY,
      "a policy of the caller has no name" },
    { { .name = "mine" }, CLEAVE_EPOLICY, "policy 'mine' decides nothing" },
    { { .name = "mine", .decide = nothing, .task = CLEAVE_TASK_REDUCE },
      CLEAVE_EPOLICY,
      "policy 'mine' is not for a load" },
    { { .name = "umr", .decide = nothing },
      CLEAVE_EPOLICY,
      "policy 'umr' has the name of one that comes with the library" },
    { { .name = "mine", .decide = nothing, .state_size = 8, .params = outside },
      CLEAVE_EPOLICY,
      "policy 'mine': parameter 'far' lies outside its state of 8 bytes" },
    { { .name = "mine", .decide = nothing },
      CLEAVE_EPOLICY,
      "policy 'mine' stopped with 60 of 60 units left" },
    { { .name = "mine", .decide = to_nobody },
      CLEAVE_EPOLICY,
      "policy 'mine' named worker 3 of 3" },
    { { .name = "mine", .decide = too_much },
      CLEAVE_EPOLICY,
      "policy 'mine' handed out 60 units more than the load" },
    { { .name = "mine", .decide = nan_units },
      CLEAVE_EPOLICY,
      "policy 'mine' sent nan units to worker 0" },
    { { .name = "mine", .decide = into_the_past },
      CLEAVE_EPOLICY,
      "policy 'mine' asked to be woken at 0 s, but it is 0.61 s" },
    { { .name = "mine", .decide = of_another_task },
      CLEAVE_EPOLICY,
      "policy 'mine' gave an order of another task" },
    { { .name = "mine", .decide = all_to_first, .plan = leave_out_nobody },
      CLEAVE_EPOLICY,
      "policy 'mine' left out worker 3 of 3" },
    { { .name = "mine", .decide = all_to_first, .plan = give_up },
      CLEAVE_EINPUT,
      "I would rather not" },
};

static void bad_fields_are_named(void **state)
{
    struct cleave_platform *platform = three_workers();

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cleave_job job = { .platform = platform,
                                  .load = 60,
                                  .own_policy = &bad[i].policy };
        struct cleave_schedule *schedule = NULL;
        struct cleave_error err;

        assert_int_equal(cleave_plan_load(&job, &schedule, &err), bad[i].status);
        assert_string_equal(err.text, bad[i].text);
        assert_null(schedule);
    }
    cleave_platform_free(platform);
}

static void takes_a_name_or_a_policy(void **state)
{
    const struct cleave_policy mine = { .name = "mine", .decide = all_to_first };
    struct cleave_platform *platform = three_workers();
    struct cleave_job job = {
        .platform = platform, .load = 60, .policy = "umr", .own_policy = &mine
    };
    struct cleave_policy copy = *cleave_policy_at(0);
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;

    (void)state;
    assert_int_equal(cleave_plan_load(&job, &schedule, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text,
                        "expected the name of a policy or a policy, got 'umr' and one");
    /* Facts about the library's own policies do not hold for a changed copy. */
    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (cleave_policy_at(i)->inner != NULL)
            copy = *cleave_policy_at(i);
    assert_non_null(copy.inner);
    copy.name = "mine";
    assert_int_equal(cleave_plan_reduce(&(struct cleave_reduction){ .nodes = 4,
                                                                    .transfer = "1",
                                                                    .compute = "1",
                                                                    .own_policy = &copy },
                                        &(struct cleave_tree *){ NULL }, &err),
                     CLEAVE_EPOLICY);
    assert_string_equal(err.text,
                        "policy 'mine' has inner parts, which are the library's own");
    cleave_platform_free(platform);
}

/* --- one that hands over to another ------------------------------------------------------- */

struct wrapper {
    uint32_t trials; /* parameter */
    const struct cleave_policy *policy;
    void *planned, *run;
};

static const char *const candidates[] = { "self", "umr-plus", "factoring" };

static enum cleave_status wrapper_plan(void *state, const struct cleave_view *view,
                                       struct cleave_setup *setup,
                                       struct cleave_error *err)
{
    struct wrapper *wrapper = state;
    double best_s = INFINITY;

    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        const struct cleave_policy *policy = NULL;
        enum cleave_status status =
            cleave_policy_find(CLEAVE_TASK_LOAD, candidates[i], &policy, err);
        double mean_s = INFINITY;

        if (status == CLEAVE_OK)
            status =
                cleave_setup_forecast(setup, policy, view, wrapper->trials, &mean_s, err);
        if (status != CLEAVE_OK)
            return status;
        if (mean_s < best_s) {
            best_s = mean_s;
            wrapper->policy = policy;
        }
    }
    cleave_setup_picked(setup, wrapper->policy->name, "it is the quickest");
    if (cleave_setup_state(setup, wrapper->policy, NULL, 0, &wrapper->planned, err) !=
        CLEAVE_OK)
        return CLEAVE_ENOMEM;
    return wrapper->policy->plan == NULL
               ? CLEAVE_OK
               : wrapper->policy->plan(wrapper->planned, view, setup, err);
}

static enum cleave_status wrapper_start(void *state, const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    struct wrapper *wrapper = state;

    wrapper->run = cleave_setup_alloc(setup, 1, wrapper->policy->state_size);
    if (wrapper->run == NULL)
        return cleave_error_set(err, CLEAVE_ENOMEM, "out of memory");
    memcpy(wrapper->run, wrapper->planned, wrapper->policy->state_size);
    return wrapper->policy->start == NULL
               ? CLEAVE_OK
               : wrapper->policy->start(wrapper->run, view, setup, err);
}

static void wrapper_decide(void *state, const struct cleave_view *view,
                           const struct cleave_event *event, struct cleave_orders *orders)
{
    const struct wrapper *wrapper = state;

    wrapper->policy->decide(wrapper->run, view, event, orders);
}

static const struct cleave_param wrapper_params[] = {
    { "trials", CLEAVE_PARAM_COUNT, offsetof(struct wrapper, trials), 5, 1, 100,
      "simulations of each" },
    { 0 },
};

static void hands_over(void **state)
{
    static const struct cleave_policy wrapper = {
        .name = "wrapper",
        .needs = CLEAVE_NEEDS_FORECAST,
        .state_size = sizeof(struct wrapper),
        .params = wrapper_params,
        .plan = wrapper_plan,
        .start = wrapper_start,
        .decide = wrapper_decide,
    };
    const struct cleave_trial trial = { .runs = 20,
                                        .noise = { CLEAVE_NOISE_NORMAL, 0.2 } };
    const struct cleave_setting wrong = { "trials", "0" };
    struct cleave_platform *platform = three_workers();
    struct cleave_job job = { .platform = platform, .load = 600, .own_policy = &wrapper };
    struct cleave_schedule *mine = NULL, *theirs = NULL;
    struct cleave_stats my_stats, their_stats;
    struct cleave_error err;

    (void)state;
    assert_int_equal(cleave_plan_load(&job, &mine, NULL), CLEAVE_OK);
    assert_string_equal(mine->policy, "wrapper");
    assert_string_equal(mine->why, "it is the quickest");
    assert_int_equal(cleave_simulate_load(&job, &trial, &my_stats, NULL), CLEAVE_OK);
    job.own_policy = NULL;
    job.policy = mine->picked;
    assert_int_equal(cleave_plan_load(&job, &theirs, NULL), CLEAVE_OK);
    assert_int_equal(cleave_simulate_load(&job, &trial, &their_stats, NULL), CLEAVE_OK);
    assert_true(mine->makespan_s == theirs->makespan_s);
    assert_int_equal(mine->nchunks, theirs->nchunks);
    assert_true(my_stats.mean_s == their_stats.mean_s);
    job = (struct cleave_job){ .platform = platform,
                               .load = 600,
                               .own_policy = &wrapper,
                               .settings = &wrong,
                               .nsettings = 1 };
    cleave_schedule_free(theirs);
    theirs = NULL;
    assert_int_equal(cleave_plan_load(&job, &theirs, &err), CLEAVE_EINPUT);
    assert_non_null(strstr(err.text, "policy 'wrapper': parameter 'trials'"));
    cleave_schedule_free(mine);
    cleave_platform_free(platform);
}

static void all_to_last(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        cleave_order_send(orders, view->nworkers - 1, view->units_left);
}

static void is_replayed(void **state)
{
    static const struct cleave_policy mine = { .name = "mine", .decide = all_to_first };
    static const struct cleave_policy changed = { .name = "mine", .decide = all_to_last };
    struct cleave_platform *platform = three_workers();
    struct cleave_schedule *schedule = NULL;
    struct cleave_trace *trace = NULL;
    struct cleave_replayed found;
    struct cleave_error err;

    (void)state;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    assert_int_equal(cleave_replay(trace, &mine, &found, &err), CLEAVE_EINPUT);
    assert_int_equal(cleave_plan_load(&(struct cleave_job){ .platform = platform,
                                                            .load = 60,
                                                            .own_policy = &mine,
                                                            .trace = trace },
                                      &schedule, NULL),
                     CLEAVE_OK);
    cleave_schedule_free(schedule);
    assert_int_equal(cleave_replay(trace, &mine, &found, NULL), CLEAVE_OK);
    assert_true(found.same);
    assert_int_equal(found.orders, 1);
    assert_int_equal(cleave_replay(trace, &changed, &found, NULL), CLEAVE_OK);
    assert_false(found.same);
    assert_int_equal(found.orders, 0);
    assert_int_equal(found.entry, 1);
    assert_true(found.has_recorded && found.has_now && found.time_s == 0);
    assert_int_equal(found.recorded.worker, 0);
    assert_int_equal(found.now.worker, 2);
    assert_true(found.now.units == 60);
    /* Only files name the policy. */
    assert_int_equal(cleave_replay(trace, NULL, &found, &err), CLEAVE_EINPUT);
    assert_string_equal(err.text, "the trace does not name its policy");
    cleave_trace_free(trace);
    cleave_platform_free(platform);
}

/* --- a reduction ------------------------------------------------------------------------- */

/* All send to the first, one after the other. */
static void star_decide(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    for (uint32_t i = 1; event->kind == CLEAVE_START && i < view->nworkers; i++)
        cleave_order_combine(orders, 0, i);
}

static void to_itself(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state, (void)view;
    if (event->kind == CLEAVE_START)
        cleave_order_combine(orders, 1, 1);
}

static void reduces(void **state)
{
    static const struct cleave_policy star = { .name = "star",
                                               .task = CLEAVE_TASK_REDUCE,
                                               .gets_arrivals = true,
                                               .decide = star_decide };
    static const struct cleave_policy loop = { .name = "loop",
                                               .task = CLEAVE_TASK_REDUCE,
                                               .decide = to_itself };
    struct cleave_reduction job = {
        .nodes = 6, .transfer = "2", .compute = "3", .own_policy = &star
    };
    const struct cleave_trial trial = { .runs = 50 };
    struct cleave_tree *tree = NULL;
    struct cleave_stats stats;
    struct cleave_error err;

    (void)state;
    assert_int_equal(cleave_plan_reduce(&job, &tree, NULL), CLEAVE_OK);
    assert_string_equal(tree->policy, "star");
    assert_true(tree->length_s == 2 + 5 * 3); /* the next arrives while one is combined */
    assert_int_equal(tree->root, 0);
    cleave_tree_free(tree);
    assert_int_equal(cleave_simulate_reduce(&job, &trial, &stats, NULL), CLEAVE_OK);
    assert_int_equal(stats.runs, 50);
    assert_true(stats.mean_s == 17);
    job.own_policy = &loop;
    assert_int_equal(cleave_simulate_reduce(&job, &trial, &stats, &err), CLEAVE_EPOLICY);
    assert_non_null(strstr(err.text, "policy 'loop' let node 1 send to node 1"));
}

/* --- a real run -------------------------------------------------------------------------- */

/* A third of the rest to each free worker. */
static void thirds_decide(void *state, const struct cleave_view *view,
                          const struct cleave_event *event, struct cleave_orders *orders)
{
    (void)state;
    if (event->kind == CLEAVE_START)
        for (uint32_t w = 0; w < view->nworkers; w++)
            cleave_order_send(orders, w, ceil(view->units_left / 3));
    else if (event->kind == CLEAVE_DONE && view->units_left > 0)
        cleave_order_send(orders, event->worker, ceil(view->units_left / 3));
}

static void shares_out_a_file(void **state)
{
    static const struct cleave_policy thirds = { .name = "thirds",
                                                 .decide = thirds_decide };
    static const struct cleave_policy idle = { .name = "idle", .decide = nothing };
    static const char *const command[] = { "cat", NULL };
    char path[] = "/tmp/cleave-own-XXXXXX", line[32];
    const char *const files[] = { path };
    const int fd = mkstemp(path);
    FILE *in = fdopen(fd, "w"), *out = tmpfile();
    struct cleave_execution execution = { .command = command,
                                          .input = { .files = files, .count = 1 },
                                          .output = { .name = "out" },
                                          .workers.count = 2,
                                          .policy.own = &thirds };
    struct cleave_execution_result *result = NULL;
    struct cleave_replayed found;
    struct cleave_error err;

    (void)state;
    assert_non_null(in);
    assert_non_null(out);
    execution.output.descriptor = fileno(out);
    for (int i = 0; i < 1000; i++)
        fprintf(in, "%d\n", i);
    fclose(in);
    assert_int_equal(cleave_trace_new(&execution.listener.trace, NULL), CLEAVE_OK);
    assert_int_equal(cleave_execute(&execution, &result, &err), CLEAVE_OK);
    rewind(out);
    for (int i = 0; i < 1000; i++) {
        assert_non_null(fgets(line, sizeof line, out));
        assert_int_equal(strtol(line, NULL, 10), i);
    }
    assert_null(fgets(line, sizeof line, out));
    assert_true(result->chunks > 5);
    cleave_execution_free(result);
    assert_int_equal(cleave_replay(execution.listener.trace, &thirds, &found, NULL),
                     CLEAVE_OK);
    assert_true(found.same && found.orders > 5);
    cleave_trace_free(execution.listener.trace);
    execution.listener.trace = NULL;
    execution.policy.own = &idle;
    assert_int_equal(cleave_execute(&execution, &result, &err), CLEAVE_EPOLICY);
    assert_string_equal(err.text, "policy 'idle' stopped with 3890 of 3890 units left");
    cleave_execution_free(result);
    execution.policy.block = 100;
    assert_int_equal(cleave_execute(&execution, &result, &err), CLEAVE_EINPUT);
    cleave_execution_free(result);
    fclose(out);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_fields_are_named),
        cmocka_unit_test(takes_a_name_or_a_policy),
        cmocka_unit_test(hands_over),
        cmocka_unit_test(is_replayed),
        cmocka_unit_test(reduces),
        cmocka_unit_test(shares_out_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
