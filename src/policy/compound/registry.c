/* registry.c -- every policy there is, by name. SPDX-License-Identifier: MIT */
#include "policy/compound/registry.h"

#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "policy/common/short_cuts.h"

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

static const char *task_name(enum cleave_task task)
{
    static const char *const names[] = { [CLEAVE_TASK_LOAD] = "a load",
                                         [CLEAVE_TASK_REDUCE] = "a reduction",
                                         [CLEAVE_TASK_ITEMS] = "items" };

    return names[task];
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

/* Names that OpenMP and papers have for policies of loads; NULL: none of them. */
static const char *name_here(enum cleave_task task, const char *name)
{
    static const char *const names[][2] = {
        { "static", "one-round" },      { "single-round", "one-round" },
        { "dynamic", "self" },          { "ss", "self" },
        { "self-scheduling", "self" },  { "gss", "guided" },
        { "fac", "factoring" },         { "fac2", "factoring" },
        { "wf", "weighted-factoring" }, { "adaptive", "learn" },
        { "work-stealing", "learn" },   { "multi-round", "umr" },
        { "multi-installment", "xmi" },
    };

    for (size_t i = 0; task == CLEAVE_TASK_LOAD && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return NULL;
}

enum cleave_status cleave_policy_find(enum cleave_task task, const char *name,
                                      const struct cleave_policy **out,
                                      struct cleave_error *err)
{
    const char *here = name_here(task, name);
    size_t count = 0;
    char near[256];

    for (size_t i = 0; i < cleave_policy_count(); i++) {
        count += policies[i]->task == task;
        if (strcmp(policies[i]->name, name) != 0)
            continue;
        if (policies[i]->task != task)
            return cv_fail(err, CLEAVE_EINPUT, "policy '%s' is for %s, not for %s", name,
                           task_name(policies[i]->task), task_name(task));
        *out = policies[i];
        return CLEAVE_OK;
    }
    if (here != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "unknown policy '%s'; what comes nearest is '%s'", name, here);
    cv_suggest(name, count, policy_name, &task, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "unknown policy '%s'%s", name, near);
}

enum cv_reduce_method cv_policy_proof(const char *name)
{
    const struct cleave_policy *policy;

    if (cleave_policy_find(CLEAVE_TASK_REDUCE, name, &policy, NULL) != CLEAVE_OK ||
        policy->inner == NULL)
        return CV_METHOD_UNPROVED;
    return policy->inner->method;
}

/* --- policies from outside ------------------------------------------------------------- */

static enum cleave_status check_params(const struct cleave_policy *own,
                                       struct cleave_error *err)
{
    static const size_t sizes[] = { [CLEAVE_PARAM_REAL] = sizeof(double),
                                    [CLEAVE_PARAM_COUNT] = sizeof(uint32_t),
                                    [CLEAVE_PARAM_TEXT] = sizeof(const char *),
                                    [CLEAVE_PARAM_UNITS] = sizeof(double) };

    for (const struct cleave_param *p = own->params; p != NULL && p->name != NULL; p++) {
        if ((size_t)p->kind >= sizeof sizes / sizeof *sizes)
            return cv_fail(err, CLEAVE_EPOLICY,
                           "policy '%s': parameter '%s' has no kind that is known",
                           own->name, p->name);
        if (own->state_size < sizes[p->kind] ||
            p->offset > own->state_size - sizes[p->kind])
            return cv_fail(err, CLEAVE_EPOLICY,
                           "policy '%s': parameter '%s' lies outside its state of %zu "
                           "bytes",
                           own->name, p->name, own->state_size);
    }
    return CLEAVE_OK;
}

static enum cleave_status check_own(enum cleave_task task,
                                    const struct cleave_policy *own,
                                    struct cleave_error *err)
{
    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (policies[i] == own && own->task == task)
            return CLEAVE_OK; /* it is one of ours */
    if (own->name == NULL || own->name[0] == '\0')
        return cv_fail(err, CLEAVE_EPOLICY, "a policy of the caller has no name");
    if (own->decide == NULL)
        return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' decides nothing", own->name);
    if (own->task != task)
        return cv_fail(err, CLEAVE_EPOLICY, "policy '%s' is not for %s", own->name,
                       task_name(task));
    if (own->inner != NULL)
        return cv_fail(err, CLEAVE_EPOLICY,
                       "policy '%s' has inner parts, which are the library's own",
                       own->name);
    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (strcmp(policies[i]->name, own->name) == 0)
            return cv_fail(err, CLEAVE_EPOLICY,
                           "policy '%s' has the name of one that comes with the library",
                           own->name);
    return check_params(own, err);
}

enum cleave_status cv_policy_choose(const struct cv_policy_request *request,
                                    const struct cleave_policy **out,
                                    struct cleave_error *err)
{
    if (request->own == NULL)
        return cleave_policy_find(request->task,
                                  request->name != NULL ? request->name : request->preset,
                                  out, err);
    if (request->name != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected the name of a policy or a policy, got '%s' and one",
                       request->name);
    CV_TRY(check_own(request->task, request->own, err));
    *out = request->own;
    return CLEAVE_OK;
}

const struct cleave_policy *cv_policy_of_runs(void)
{
    return &cleave_policy_learn;
}

const struct cleave_policy *cv_policy_of_items(void)
{
    return &cleave_policy_items;
}

const struct cleave_policy *cv_policy_of_one_size(void)
{
    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (policies[i]->one_size != NULL)
            return policies[i];
    return NULL;
}
