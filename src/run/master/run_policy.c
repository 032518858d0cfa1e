/* run_policy.c -- the policy of a run and its settings. SPDX-License-Identifier: MIT */
#include "run/master/run_policy.h"

#include <string.h>

#include "base/fail.h"
#include "base/quantity.h"
#include "policy/compound/registry.h"
#include "policy/common/setup.h"

/* A policy for items is known by its name. */
static enum cleave_task task_of(const struct cleave_policy_options *request)
{
    const struct cleave_policy *policy;

    if (request->own != NULL && request->own->task == CLEAVE_TASK_ITEMS)
        return CLEAVE_TASK_ITEMS;
    return request->name != NULL && cleave_policy_find(CLEAVE_TASK_ITEMS, request->name,
                                                       &policy, NULL) == CLEAVE_OK
               ? CLEAVE_TASK_ITEMS
               : CLEAVE_TASK_LOAD;
}

enum cleave_status cv_run_policy_find(const struct cleave_policy_options *request,
                                      const struct cleave_policy **out,
                                      struct cleave_error *err)
{
    const struct cv_policy_request wanted = {
        .task = task_of(request),
        .name = request->name,
        .preset = cv_run_policy_name(request),
        .own = request->own,
    };

    CV_TRY(cv_policy_choose(&wanted, out, err));
    if (request->block > 0 && (*out)->one_size == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a block or a policy with its settings, got both");
    return CLEAVE_OK;
}

const char *cv_run_policy_name(const struct cleave_policy_options *request)
{
    return request->name != NULL  ? request->name
           : request->own != NULL ? request->own->name
           : request->block > 0   ? cv_policy_of_one_size()->name
                                  : cv_policy_of_runs()->name;
}

static size_t count_settings(const struct cleave_policy_options *request)
{
    return request->settings != NULL ? request->nsettings : 0;
}

/* The setting of the policy for the size of all chunks; NULL: none. */
static const struct cleave_setting *find_size(const struct cleave_policy_options *request,
                                              const struct cleave_policy *policy)
{
    const size_t count = policy->one_size != NULL ? count_settings(request) : 0;

    for (size_t i = 0; i < count; i++)
        if (strcmp(request->settings[i].key, policy->one_size) == 0)
            return &request->settings[i];
    return NULL;
}

double cv_run_policy_size(const struct cleave_policy_options *request)
{
    const struct cleave_policy *policy;
    const struct cleave_setting *setting;
    double units = 0;

    if (request->block > 0)
        return request->block;
    if (cv_run_policy_find(request, &policy, NULL) != CLEAVE_OK)
        return 0;
    setting = find_size(request, policy);
    return setting != NULL && cv_param_read(policy, setting, &units, NULL) == CLEAVE_OK
               ? units
               : 0;
}

enum cleave_status cv_run_policy_settings(const struct cleave_policy_options *request,
                                          struct cv_arena *arena,
                                          const struct cleave_setting **out,
                                          size_t *out_count, struct cleave_error *err)
{
    static const struct cleave_setting none[1];
    const size_t count = count_settings(request);
    const struct cleave_policy *policy;
    struct cleave_setting *settings;
    char size[CV_NUMBER_SIZE];

    *out = request->settings != NULL ? request->settings : none;
    *out_count = count;
    if (!(request->block > 0))
        return CLEAVE_OK;
    CV_TRY(cv_run_policy_find(request, &policy, err));
    if (find_size(request, policy) != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "parameter '%s' is given twice",
                       policy->one_size);
    settings = cv_array(arena, count + 1, sizeof *settings);
    if (settings == NULL)
        return cv_fail_memory(err, "the parameters");
    if (count > 0)
        memcpy(settings, request->settings, count * sizeof *settings);
    settings[count] = (struct cleave_setting){
        policy->one_size, cv_arena_text(arena, cv_number_full(request->block, size))
    };
    if (settings[count].value == NULL)
        return cv_fail_memory(err, "the parameters");
    *out = settings;
    *out_count = count + 1;
    return CLEAVE_OK;
}
