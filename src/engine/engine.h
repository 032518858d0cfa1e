/* engine.h -- the interface of engines, which carry out orders.
 * SPDX-License-Identifier: MIT
 *
 * An engine is opened once for a platform and then makes any number of runs. The driver
 * submits orders and waits for events; an engine never calls a policy. */
#ifndef CV_ENGINE_H
#define CV_ENGINE_H
#include <cleave/policy.h>
#include "base/step_budget.h"
#include "engine/simulated_command.h"
#include "model/platform/noise.h"

/* One run of a load on a platform. */
struct cv_run {
    const struct cleave_platform *platform; /* borrowed: the true costs            */
    uint32_t number;                        /* random numbers depend on it and the seed */
    struct cv_noise noise;
    double stream_end_s; /* when a stream ends, and the units left then */
    double stream_rest;
    double result_ratio; /* set by the driver: units of result per unit of load     */
    const struct cleave_load *loads; /* set by the driver: several loads, or NULL */
    bool items; /* set by the driver: chunks are items, and noise belongs to the item */
    /* Chunks may be opened: how commands read; NULL: they may not. */
    const struct cv_command_model *command; /* borrowed                            */
    double units; /* with a command: the load; set by the driver unless it is a stream */
    double hold;  /* with a command: above 0: a stream that holds up to this many units */
    const double *ready_s; /* borrowed: when nodes have their partials; NULL: at 0 */
    enum cleave_ready_model ready_model;
    struct cv_step_budget *budget; /* borrowed: the run fails when it is spent, or NULL */
    /* With a command: what happens besides. */
    struct cleave_conditions conditions;
    bool gets_losses; /* set by the driver: the policy gets CLEAVE_LOST */
    bool copies;      /* set by the driver: chunks may be run twice */
};

struct cv_driver;
struct cv_outcome;

struct cv_engine {
    const char *name, *summary;
    /* `source` is what the engine draws on beyond the platform: a recorded trace for
     * replay, NULL for the native engine. Both outlive the engine. */
    enum cleave_status (*open)(const struct cleave_platform *platform, const void *source,
                               void **out, struct cleave_error *err);
    /* Back to time 0, ready for `run`, which stays valid until the next call. */
    enum cleave_status (*begin)(void *engine, const struct cv_run *run,
                                struct cleave_error *err);
    enum cleave_status (*submit)(void *engine, const struct cleave_order *order,
                                 struct cleave_error *err);
    /* The next event; *out_any is false if nothing is running. */
    enum cleave_status (*wait)(void *engine, struct cleave_event *out, bool *out_any,
                               struct cleave_error *err);
    /* Optional: units not yet ordered, when only the engine can tell (records are not
     * divisible, streams have no known end). */
    double (*left)(const void *engine);
    /* Optional: the loop of engine/driver_loop.h compiled with this engine, for plain
     * runs. */
    enum cleave_status (*plain_loop)(struct cv_driver *driver, struct cv_outcome *outcome,
                                     struct cleave_error *err);
    void (*close)(void *engine);
};

#endif
