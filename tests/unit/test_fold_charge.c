/* test_fold_charge.c -- learn where each result has to be folded: fewer chunks, which end
 * one after the other. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "engine/driver.h"
#include "policy/common/orders.h"
#include "policy/pull/fold_charge.h"
#include "sim/load/native.h"
#include "trace_check.h"

/* 2 s of work for each of 16 workers; two folds at a time, 0.4 s each. */
enum { WORKERS = 16, FOLDERS = 2, MOST = 4096 };
static const double FOLD_S = 0.4, WORK_S = 32;

static const struct cleave_policy *learn;
static double told_s; /* time of a fold in the events of the policy */

static void decide_told(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    struct cleave_event told = *event;

    if (event->kind == CLEAVE_DONE)
        told.fold_s = told_s;
    learn->decide(state, view, &told, orders);
}

/* A run, with chunks that stay open or without. */
static struct cleave_trace *play(const char *reads)
{
    const bool opens = reads != NULL;
    struct cleave_worker workers[WORKERS];
    struct cleave_platform *platform = NULL;
    struct cleave_trace *trace = NULL;
    struct cv_command_model command;
    struct cv_run run = { .units = WORK_S * 1e6 };
    struct cv_outcome outcome;
    struct cv_driver *driver = NULL;
    struct cv_planned planned;
    struct cleave_policy told;
    struct cleave_error err;

    assert_int_equal(cleave_policy_find(CLEAVE_TASK_LOAD, "learn", &learn, NULL),
                     CLEAVE_OK);
    told = *learn;
    told.decide = decide_told;
    for (uint32_t w = 0; w < WORKERS; w++)
        workers[w] = (struct cleave_worker){ 1e6, 1e-3, 1e12, 0, 1e12, 0 };
    assert_int_equal(cleave_platform_new(CLEAVE_PORT_MULTI, workers, WORKERS, &platform,
                                         NULL),
                     CLEAVE_OK);
    assert_int_equal(cv_command_find(opens ? reads : "slurp", &command, NULL), CLEAVE_OK);
    command.pipe_ups = 2e9;
    command.ahead = 4096;
    run.platform = platform;
    run.command = opens ? &command : NULL;
    assert_int_equal(cleave_trace_new(&trace, NULL), CLEAVE_OK);
    if (cv_planned_init(&planned, &told, NULL, 0, platform, workers,
                        &(struct cleave_view){ .units_total = run.units,
                                               .real = true,
                                               .opens = opens,
                                               .ahead = 4096,
                                               .folders = FOLDERS },
                        NULL, NULL, &err) != CLEAVE_OK ||
        cv_driver_open(&planned, opens ? &cv_engine_native_open : &cv_engine_native,
                       platform, NULL, &driver, &err) != CLEAVE_OK ||
        cv_driver_run(driver, &run, trace, &outcome, &err) != CLEAVE_OK)
        fail_msg("%s", err.text);
    cv_driver_close(driver);
    cv_planned_done(&planned);
    cleave_platform_free(platform);
    return trace;
}

/* When the results of chunks came, and how many there were. */
static size_t results_of(const struct cleave_trace *trace, double *times_s)
{
    size_t count = 0;

    for (size_t i = 0; i < cleave_trace_count(trace); i++) {
        const struct cleave_entry *entry = cleave_trace_at(trace, i);

        if (entry->is_order || entry->as.event.kind != CLEAVE_DONE ||
            !(entry->as.event.units > 0))
            continue;
        assert_true(count < MOST);
        times_s[count++] = entry->as.event.time_s;
    }
    return count;
}

/* When all are folded: two results that are there become one, FOLDERS times at a time. */
static double all_folded(const double *times_s, size_t count)
{
    double ends_s[FOLDERS] = { 0 }, there_s[2 * MOST] = { 0 };
    size_t n = 0, next = 0, made = 0;

    for (; n < count; n++) /* events are in order of time */
        there_s[n] = times_s[n];
    while (made + 1 < count) {
        size_t first = ends_s[0] <= ends_s[1] ? 0 : 1, at = n;
        double end_s;

        assert_true(next + 1 < n);
        end_s = (ends_s[first] > there_s[next + 1] ? ends_s[first] : there_s[next + 1]) +
                FOLD_S;
        ends_s[first] = end_s;
        next += 2;
        made++;
        for (; at > next && there_s[at - 1] > end_s; at--)
            there_s[at] = there_s[at - 1];
        there_s[at] = end_s;
        n++;
    }
    assert_true(n > 0);
    return there_s[n - 1];
}

static double play_all(const char *reads, double fold_s, size_t *out_chunks)
{
    static double times_s[MOST];
    struct cleave_trace *trace;

    told_s = fold_s;
    trace = play(reads);
    *out_chunks = results_of(trace, times_s);
    cleave_trace_free(trace);
    return all_folded(times_s, *out_chunks);
}

static void few_chunks_where_each_is_folded(void **state)
{
    static const char *const reads[] = { NULL, "slurp", "stream" };

    (void)state;
    for (int i = 0; i < 3; i++) {
        size_t chunks, before;
        const double unaware_s = play_all(reads[i], 0, &before);
        const double aware_s = play_all(reads[i], FOLD_S, &chunks);

        print_message("%s: %zu chunks %.2f s, %zu chunks %.2f s\n",
                      reads[i] != NULL ? reads[i] : "closed", before, unaware_s, chunks,
                      aware_s);
        assert_true(chunks <= (size_t)5 * WORKERS);
        /* Chunks that can be extended are few anyway. */
        assert_true(i == 2 || before > 5 * chunks / 4);
        assert_true(i == 2 || aware_s < 0.7 * unaware_s);
    }
}

static void charge_grows_with_folds(void **state)
{
    const struct cleave_view two = { .folders = 2 }, many = { .folders = 40 },
                             none = { 0 };
    double fold_s = 0;

    (void)state;
    assert_float_equal(cv_fold_charge(&two, 0.4, 16), 3.2, 1e-12);
    assert_float_equal(cv_fold_charge(&many, 0.4, 16), 0.4, 1e-12);
    assert_float_equal(cv_fold_tail(&two, 0.4, 15), 3, 1e-12);
    assert_float_equal(cv_fold_tail(&none, 0.4, 15), 0, 0);
    cv_fold_note(&(struct cleave_event){ .kind = CLEAVE_DONE, .fold_s = 2 }, &fold_s);
    cv_fold_note(&(struct cleave_event){ .kind = CLEAVE_DONE }, &fold_s);
    cv_fold_note(&(struct cleave_event){ .kind = CLEAVE_SENT, .fold_s = 3 }, &fold_s);
    assert_float_equal(fold_s, 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_chunks_where_each_is_folded),
        cmocka_unit_test(charge_grows_with_folds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
