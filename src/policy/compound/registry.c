/* registry.c -- every policy there is, by name. SPDX-License-Identifier: MIT */
#include "policy/compound/registry.h"

#include <string.h>

#include "base/fail.h"
#include "base/text.h"

static const struct cleave_policy *const policies[] = {
#define X(name) &cleave_policy_##name,
    CV_POLICY_MAP(X)
#undef X
};

size_t cleave_policy_count(void)
{
    return sizeof policies / sizeof *policies;
}

const struct cleave_policy *cleave_policy_at(size_t index)
{
    return index < cleave_policy_count() ? policies[index] : NULL;
}

/* The index-th policy for a task. */
static const char *policy_name(const void *context, size_t index)
{
    const enum cleave_task *task = context;

    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (policies[i]->task == *task && index-- == 0)
            return policies[i]->name;
    return "";
}

enum cleave_status cleave_policy_find(enum cleave_task task, const char *name,
                                      const struct cleave_policy **out,
                                      struct cleave_error *err)
{
    size_t count = 0;
    char near[256];

    for (size_t i = 0; i < cleave_policy_count(); i++) {
        count += policies[i]->task == task;
        if (strcmp(policies[i]->name, name) != 0)
            continue;
        if (policies[i]->task != task)
            return cv_fail(err, CLEAVE_EINPUT, "policy '%s' is for a %s, not for a %s",
                           name, task == CLEAVE_TASK_LOAD ? "reduction" : "load",
                           task == CLEAVE_TASK_LOAD ? "load" : "reduction");
        *out = policies[i];
        return CLEAVE_OK;
    }
    cv_suggest(name, count, policy_name, &task, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "unknown policy '%s'%s", name, near);
}
