/* sharing.c -- who decides how much each worker gets. SPDX-License-Identifier: MIT */
#include "run/master/sharing.h"

#include <string.h>

#include "base/fail.h"
#include "base/quantity.h"
#include "policy/compound/registry.h"
#include "policy/kit/setup.h"

/* A policy for items is one by its name. */
static enum cleave_task task_of(const struct cleave_sharing *asked)
{
    const struct cleave_policy *policy;

    if (asked->own_policy != NULL && asked->own_policy->task == CLEAVE_TASK_ITEMS)
        return CLEAVE_TASK_ITEMS;
    return asked->policy != NULL && cleave_policy_find(CLEAVE_TASK_ITEMS, asked->policy,
                                                       &policy, NULL) == CLEAVE_OK
               ? CLEAVE_TASK_ITEMS
               : CLEAVE_TASK_LOAD;
}

enum cleave_status cv_sharing_policy(const struct cleave_sharing *asked,
                                     const struct cleave_policy **out,
                                     struct cleave_error *err)
{
    const struct cv_policy_request request = {
        .task = task_of(asked),
        .name = asked->policy,
        .preset = cv_sharing_name(asked),
        .own = asked->own_policy,
    };

    CV_TRY(cv_policy_choose(&request, out, err));
    if (asked->block > 0 && (*out)->one_size == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a block or a policy with its settings, got both");
    return CLEAVE_OK;
}

const char *cv_sharing_name(const struct cleave_sharing *asked)
{
    return asked->policy != NULL       ? asked->policy
           : asked->own_policy != NULL ? asked->own_policy->name
           : asked->block > 0          ? cv_policy_of_one_size()->name
                                       : cv_policy_of_runs()->name;
}

static size_t count_settings(const struct cleave_sharing *asked)
{
    return asked->settings != NULL ? asked->nsettings : 0;
}

/* The setting that says how many units every chunk of the policy has; NULL: none. */
static const struct cleave_setting *find_size(const struct cleave_sharing *asked,
                                              const struct cleave_policy *policy)
{
    const size_t count = policy->one_size != NULL ? count_settings(asked) : 0;

    for (size_t i = 0; i < count; i++)
        if (strcmp(asked->settings[i].key, policy->one_size) == 0)
            return &asked->settings[i];
    return NULL;
}

double cv_sharing_size(const struct cleave_sharing *asked)
{
    const struct cleave_policy *policy;
    const struct cleave_setting *setting;
    double units = 0;

    if (asked->block > 0)
        return asked->block;
    if (cv_sharing_policy(asked, &policy, NULL) != CLEAVE_OK)
        return 0;
    setting = find_size(asked, policy);
    return setting != NULL && cv_param_read(policy, setting, &units, NULL) == CLEAVE_OK
               ? units
               : 0;
}

enum cleave_status cv_sharing_settings(const struct cleave_sharing *asked,
                                       struct cv_arena *arena,
                                       const struct cleave_setting **out,
                                       size_t *out_count, struct cleave_error *err)
{
    static const struct cleave_setting none[1];
    const size_t count = count_settings(asked);
    const struct cleave_policy *policy;
    struct cleave_setting *settings;
    char size[CV_NUMBER_SIZE];

    *out = asked->settings != NULL ? asked->settings : none;
    *out_count = count;
    if (!(asked->block > 0))
        return CLEAVE_OK;
    CV_TRY(cv_sharing_policy(asked, &policy, err));
    if (find_size(asked, policy) != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "parameter '%s' is given twice",
                       policy->one_size);
    settings = cv_array(arena, count + 1, sizeof *settings);
    if (settings == NULL)
        return cv_fail_memory(err, "the parameters");
    if (count > 0)
        memcpy(settings, asked->settings, count * sizeof *settings);
    settings[count] = (struct cleave_setting){
        policy->one_size, cv_arena_text(arena, cv_number_full(asked->block, size))
    };
    if (settings[count].value == NULL)
        return cv_fail_memory(err, "the parameters");
    *out = settings;
    *out_count = count + 1;
    return CLEAVE_OK;
}
