/* setup.c -- notes, parameters, and policies that hand over to others.
 * SPDX-License-Identifier: MIT */
#include "policy/common/setup.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/run.h>
#include "base/compare.h"
#include "base/quantity.h"
#include "base/text.h"

enum { MAX_NOTE = 400 };

void *cleave_setup_alloc(struct cleave_setup *setup, size_t count, size_t size)
{
    return cv_array(setup->arena, count, size);
}

void cleave_setup_left_out(struct cleave_setup *setup, uint32_t worker,
                           const char *reason)
{
    struct cv_left_out *note;

    if (setup->notes == NULL)
        return;
    if (!CV_NEW(setup->notes->arena, note, 1))
        return;
    note->reason = cv_arena_text(setup->notes->arena, reason);
    if (note->reason == NULL)
        return;
    note->worker = worker;
    note->next = setup->notes->left_out;
    setup->notes->left_out = note;
}

void cv_note_left_out(struct cleave_setup *setup, uint32_t worker, const char *format,
                      ...)
{
    char text[MAX_NOTE];
    va_list arguments;

    if (setup->notes == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cleave_setup_left_out(setup, worker, text);
}

void cv_note_fact(struct cleave_setup *setup, const char *name, double value)
{
    struct cv_plan_fact *fact;

    if (setup->notes == NULL)
        return;
    if (!CV_NEW(setup->notes->arena, fact, 1))
        return;
    *fact = (struct cv_plan_fact){ name, value, setup->notes->facts };
    setup->notes->facts = fact;
}

void cleave_setup_picked(struct cleave_setup *setup, const char *picked, const char *why)
{
    if (setup->notes == NULL)
        return;
    setup->notes->picked = picked;
    setup->notes->why = why != NULL ? cv_arena_text(setup->notes->arena, why) : NULL;
}

void cv_note_picked(struct cleave_setup *setup, const char *picked, const char *format,
                    ...)
{
    char text[MAX_NOTE];
    va_list arguments;

    if (setup->notes == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cleave_setup_picked(setup, picked, text);
}

void cleave_setup_proved(struct cleave_setup *setup, const char *among, bool optimal)
{
    if (setup->notes == NULL)
        return;
    setup->notes->proved = among;
    setup->notes->optimal = optimal;
}

static enum cleave_status not_offered(const struct cleave_policy *policy,
                                      struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT,
                   "a forecast of policy '%s' was asked for, which is not offered here",
                   policy->name);
}

enum cleave_status cleave_setup_forecast(struct cleave_setup *setup,
                                         const struct cleave_policy *policy,
                                         const struct cleave_view *view, uint32_t runs,
                                         double *out_s, struct cleave_error *err)
{
    const struct cv_forecast *forecast = setup->forecast;
    struct cv_tried *tried = NULL;
    enum cleave_status status;
    double sum_s = 0, end_s = 0;

    if (forecast == NULL || runs == 0)
        return not_offered(policy, err);
    if (!(view->error > 0))
        runs = 1;
    status = forecast->open(forecast, policy, view, setup->budget, &tried, err);
    for (uint32_t i = 0; i < runs && status == CLEAVE_OK; i++) {
        status = forecast->run(tried, i, 1, setup->budget, &end_s, err);
        sum_s += end_s;
    }
    forecast->close(tried);
    if (status == CLEAVE_OK)
        *out_s = sum_s / runs;
    return status;
}

enum cleave_status cv_setup_work(struct cleave_setup *setup,
                                 const struct cleave_policy *policy,
                                 const struct cleave_view *view, double *out,
                                 struct cleave_error *err)
{
    if (setup->forecast == NULL)
        return not_offered(policy, err);
    return setup->forecast->work(setup->forecast, policy, view, setup->budget, out, err);
}

void cv_return_when_done(const struct cleave_view *view, const struct cleave_event *event,
                         struct cleave_orders *orders)
{
    if (event->kind == CLEAVE_DONE && view->result_ratio > 0)
        cleave_order_return(orders, event->worker, event->chunk);
}

void cv_inner_decide(void *state, const struct cleave_view *view,
                     const struct cleave_event *event, struct cleave_orders *orders)
{
    const struct cv_inner *inner = state;

    inner->policy->decide(inner->state, view, event, orders);
    if (!inner->policy->orders_returns)
        cv_return_when_done(view, event, orders);
}

static void store(const struct cleave_param *param, double value, void *state)
{
    unsigned char *target = (unsigned char *)state + param->offset;

    if (param->kind == CLEAVE_PARAM_COUNT) {
        uint32_t count = (uint32_t)value;
        memcpy(target, &count, sizeof count);
    } else {
        memcpy(target, &value, sizeof value);
    }
}

static const char *param_name(const void *context, size_t index)
{
    return ((const struct cleave_param *)context)[index].name;
}

static enum cleave_status find_param(const struct cleave_policy *policy, const char *key,
                                     const struct cleave_param **out,
                                     struct cleave_error *err)
{
    char near[160];
    size_t count = 0;

    for (const struct cleave_param *p = policy->params; p != NULL && p->name != NULL;
         p++, count++)
        if (strcmp(p->name, key) == 0) {
            *out = p;
            return CLEAVE_OK;
        }
    if (count == 0)
        return cv_fail(err, CLEAVE_EINPUT, "policy '%s' takes no parameters, got '%s'",
                       policy->name, key);
    cv_suggest(key, count, param_name, policy->params, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "policy '%s' has no parameter '%s'%s",
                   policy->name, key, near);
}

enum cleave_status cv_param_read(const struct cleave_policy *policy,
                                 const struct cleave_setting *setting, double *out,
                                 struct cleave_error *err)
{
    const struct cleave_param *param;
    double value;

    CV_TRY(find_param(policy, setting->key, &param, err));
    if (cv_quantity_parse(setting->value,
                          param->kind == CLEAVE_PARAM_UNITS ? CV_UNITS : CV_NUMBER,
                          &value) != NULL ||
        value < param->min || value > param->max ||
        (param->kind == CLEAVE_PARAM_COUNT && value != floor(value)))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "policy '%s': parameter '%s': expected a %s from %g to %g, got '%s'",
            policy->name, param->name,
            param->kind == CLEAVE_PARAM_COUNT ? "whole number" : "number", param->min,
            param->max, setting->value);
    *out = value;
    return CLEAVE_OK;
}

static enum cleave_status store_setting(const struct cleave_policy *policy,
                                        const struct cleave_setting *setting, void *state,
                                        struct cleave_error *err)
{
    const struct cleave_param *param;
    double value;

    CV_TRY(find_param(policy, setting->key, &param, err));
    if (param->kind == CLEAVE_PARAM_TEXT) {
        memcpy((unsigned char *)state + param->offset, &setting->value, sizeof(char *));
        return CLEAVE_OK;
    }
    CV_TRY(cv_param_read(policy, setting, &value, err));
    store(param, value, state);
    return CLEAVE_OK;
}

enum cleave_status cv_params_store(const struct cleave_policy *policy,
                                   const struct cleave_setting *settings,
                                   size_t nsettings, void *state,
                                   struct cleave_error *err)
{
    for (const struct cleave_param *p = policy->params; p != NULL && p->name != NULL; p++)
        if (p->kind != CLEAVE_PARAM_TEXT) /* the block is zeroed: not given */
            store(p, p->preset, state);
    for (size_t i = 0; i < nsettings; i++)
        CV_TRY(store_setting(policy, &settings[i], state, err));
    return CLEAVE_OK;
}

enum cleave_status cleave_setup_state(struct cleave_setup *setup,
                                      const struct cleave_policy *policy,
                                      const struct cleave_setting *settings,
                                      size_t nsettings, void **out,
                                      struct cleave_error *err)
{
    void *state = cv_array(setup->arena, 1, policy->state_size);

    if (state == NULL)
        return cv_fail_memory(err, "the state of a policy");
    CV_TRY(cv_params_store(policy, settings, nsettings, state, err));
    *out = state;
    return CLEAVE_OK;
}

enum cleave_status cv_inner_plan(struct cv_inner *inner,
                                 const struct cleave_policy *policy,
                                 const struct cleave_setting *settings, size_t nsettings,
                                 const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err)
{
    inner->policy = policy;
    CV_TRY(cleave_setup_state(setup, policy, settings, nsettings, &inner->planned, err));
    return policy->plan == NULL ? CLEAVE_OK
                                : policy->plan(inner->planned, view, setup, err);
}

enum cleave_status cv_inner_start(void *state, const struct cleave_view *view,
                                  struct cleave_setup *setup, struct cleave_error *err)
{
    struct cv_inner *inner = state;

    inner->state = cv_array(setup->arena, 1, inner->policy->state_size);
    if (inner->state == NULL)
        return cv_fail_memory(err, "the state of a policy");
    memcpy(inner->state, inner->planned, inner->policy->state_size);
    return inner->policy->start == NULL
               ? CLEAVE_OK
               : inner->policy->start(inner->state, view, setup, err);
}

/* --- workers by decreasing bandwidth ------------------------------------------------ */

struct keyed {
    double bandwidth;
    uint32_t worker;
};

CV_ORDER_DOWN_BY(faster_first, struct keyed, bandwidth, worker)

uint32_t *cv_bandwidth_order(const struct cleave_worker *workers, uint32_t nworkers,
                             struct cv_arena *arena)
{
    struct keyed *keyed = cv_array(arena, nworkers, sizeof *keyed);
    uint32_t *order = cv_array(arena, nworkers, sizeof *order);

    if (keyed == NULL || order == NULL)
        return NULL;
    for (uint32_t i = 0; i < nworkers; i++)
        keyed[i] = (struct keyed){ workers[i].bandwidth_ups, i };
    qsort(keyed, nworkers, sizeof *keyed, faster_first);
    for (uint32_t i = 0; i < nworkers; i++)
        order[i] = keyed[i].worker;
    return order;
}
