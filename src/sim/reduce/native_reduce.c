/* native_reduce.c -- the built-in simulator of reductions, as an engine.
 * SPDX-License-Identifier: MIT */
#include "sim/reduce/native_reduce.h"

#include "base/fail.h"
#include "sim/reduce/reduce_core.h"

static void reduce_close(void *engine)
{
    struct cv_reduce_core *core = engine;

    if (core == NULL)
        return;
    cv_reduce_core_done(core);
    free(core);
}

static enum cleave_status open_as(bool plain, const void *source, void **out,
                                  struct cleave_error *err)
{
    struct cv_reduce_core *core = calloc(1, sizeof *core);

    if (core == NULL || !cv_reduce_core_init(core, source, plain)) {
        reduce_close(core);
        return cv_fail_memory(err, "the simulator");
    }
    *out = core;
    return CLEAVE_OK;
}

static enum cleave_status reduce_open(const struct cleave_platform *platform,
                                      const void *source, void **out,
                                      struct cleave_error *err)
{
    (void)platform;
    return open_as(false, source, out, err);
}

static enum cleave_status plain_open(const struct cleave_platform *platform,
                                     const void *source, void **out,
                                     struct cleave_error *err)
{
    (void)platform;
    return open_as(true, source, out, err);
}

static enum cleave_status reduce_begin(void *engine, const struct cv_run *run,
                                       struct cleave_error *err)
{
    (void)err;
    cv_reduce_core_begin(engine, run->number, run->ready_s, run->ready_model);
    return CLEAVE_OK;
}

static enum cleave_status reduce_submit(void *engine, const struct cleave_order *order,
                                        struct cleave_error *err)
{
    return cv_reduce_core_submit(engine, order)
               ? CLEAVE_OK
               : cv_fail_memory(err, "the times to wake at");
}

static enum cleave_status reduce_wait(void *engine, struct cleave_event *out,
                                      bool *out_any, struct cleave_error *err)
{
    (void)err;
    *out_any = cv_reduce_core_wait(engine, out);
    return CLEAVE_OK;
}

static const struct cv_engine overlapping = {
    .name = "native",
    .summary = "built-in simulator of reductions",
    .open = reduce_open,
    .begin = reduce_begin,
    .submit = reduce_submit,
    .wait = reduce_wait,
    .close = reduce_close,
};

/* For policies that do not hear of arrivals: there a node does one thing at a time, so that
 * a transfer and the combination after it are one event. */
static const struct cv_engine plain = {
    .name = "native",
    .summary = "built-in simulator of reductions without overlap",
    .open = plain_open,
    .begin = reduce_begin,
    .submit = reduce_submit,
    .wait = reduce_wait,
    .close = reduce_close,
};

const struct cv_engine *cv_native_reduce_for(const struct cleave_policy *policy)
{
    return policy->gets_arrivals ? &overlapping : &plain;
}
