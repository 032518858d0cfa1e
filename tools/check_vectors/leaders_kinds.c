/* leaders_kinds.c -- cases of trees of leaders. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <cleave/run.h>

#include "kinds.h"
#include "model/leaders/led_tree.h"
#include "model/platform/platform_internal.h"

/* The platform of a case, which the caller frees; NULL: the case failed. */
static struct cleave_platform *read_platform(struct vector_case *c)
{
    const struct json *text = json_get(c->in, "platform");
    struct cleave_platform *platform = NULL;
    struct cleave_error err;

    if (text == NULL || text->text == NULL)
        case_fail(c, "inputs: expected the text of a platform file");
    else
        case_ok(c,
                cleave_platform_parse("platform", text->text, strlen(text->text),
                                      &platform, &err),
                &err);
    return platform;
}

/* NULL: the case failed. */
static struct cleave_schedule *plan_it(struct vector_case *c, struct cleave_job *job)
{
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;

    job->seed = 1;
    case_ok(c, cleave_plan_load(job, &schedule, &err), &err);
    return schedule;
}

static void run_tree(struct vector_case *c)
{
    struct cleave_platform *platform = read_platform(c);
    struct cleave_job job = { .platform = platform, .load = case_number(c, "load") };
    struct cleave_schedule *schedule = platform != NULL ? plan_it(c, &job) : NULL;

    if (schedule != NULL) {
        for (size_t i = 0; i < schedule->nbounds; i++)
            if (strcmp(schedule->bounds[i].name, "tree") == 0)
                expect_number(c, "port", schedule->bounds[i].value_s);
        expect_at_most(c, "no_bound_above", schedule->bound.value_s);
        expect_at_most(c, "makespan_at_most", schedule->makespan_s);
    }
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

static void run_lifespan(struct vector_case *c)
{
    struct cleave_platform *platform = read_platform(c);
    struct cleave_job job = { .platform = platform,
                              .lifespan_s = case_number(c, "lifespan") };
    struct cleave_schedule *schedule = platform != NULL ? plan_it(c, &job) : NULL;

    if (schedule != NULL) {
        expect_at_most(c, "no_plan_above", schedule->load);
        expect_at_least(c, "no_bound_below", schedule->bound.value_s);
    }
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

/* A piece that is at its leader at time 0. */
static void run_piece(struct vector_case *c)
{
    const struct json *leader = json_get(c->in, "leader");
    struct cleave_platform *platform = read_platform(c);
    const uint32_t n = platform != NULL ? cleave_platform_nworkers(platform) : 0;
    struct cv_led_run run;

    for (uint32_t w = 0; leader != NULL && leader->text != NULL && w < n; w++) {
        if (strcmp(cleave_platform_worker_name(platform, w), leader->text) != 0)
            continue;
        if (cv_led_run_init(&run, platform->tree, n))
            expect_number(c, "least",
                          cv_led_take(&run, w, 0, case_number(c, "piece"), 1));
        cv_led_run_done(&run);
    }
    cleave_platform_free(platform);
}

const struct case_kind leaders_kinds[] = {
    { "tree", run_tree },
    { "tree-lifespan", run_lifespan },
    { "tree-piece", run_piece },
    { NULL, NULL },
};
