/* leaders_kinds.c -- cases of trees of leaders. SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <cleave/run.h>

#include "kinds.h"

static void compare_plan(struct vector_case *c, const struct cleave_schedule *schedule)
{
    for (size_t i = 0; i < schedule->nbounds; i++)
        if (strcmp(schedule->bounds[i].name, "tree") == 0)
            expect_number(c, "port", schedule->bounds[i].value_s);
    expect_at_most(c, "no_bound_above", schedule->bound.value_s);
    expect_at_most(c, "makespan_at_most", schedule->makespan_s);
}

static void run_tree(struct vector_case *c)
{
    const struct json *text = json_get(c->in, "platform");
    struct cleave_job job = { .load = case_number(c, "load"), .seed = 1 };
    struct cleave_platform *platform = NULL;
    struct cleave_schedule *schedule = NULL;
    struct cleave_error err;

    if (text == NULL || text->text == NULL) {
        case_fail(c, "inputs: expected the text of a platform file");
        return;
    }
    if (!case_ok(c,
                 cleave_platform_parse("platform", text->text, strlen(text->text),
                                       &platform, &err),
                 &err))
        return;
    job.platform = platform;
    if (case_ok(c, cleave_plan_load(&job, &schedule, &err), &err))
        compare_plan(c, schedule);
    cleave_schedule_free(schedule);
    cleave_platform_free(platform);
}

const struct case_kind leaders_kinds[] = {
    { "tree", run_tree },
    { NULL, NULL },
};
