/* registry.c -- every policy there is, by name. SPDX-License-Identifier: MIT */
#include "policy/registry.h"

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

static const char *policy_name(const void *context, size_t index)
{
    (void)context;
    return policies[index]->name;
}

enum cleave_status cleave_policy_find(const char *name, const struct cleave_policy **out,
                                      struct cleave_error *err)
{
    char near[256];

    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (strcmp(policies[i]->name, name) == 0) {
            *out = policies[i];
            return CLEAVE_OK;
        }
    cv_suggest(name, cleave_policy_count(), policy_name, NULL, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "unknown policy '%s'%s", name, near);
}
