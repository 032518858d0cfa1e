/* driver.h -- policies with their plans, and the loop between policy and engine.
 * SPDX-License-Identifier: MIT
 *
 * The driver owns the view, calls the policy at every event, checks every order and
 * writes the trace. Engines do not count units, check orders or notice a policy that
 * stops too early. */
#ifndef CV_DRIVER_H
#define CV_DRIVER_H
#include <cleave/trace.h>
#include "base/arena.h"
#include "engine/engine.h"
#include "policy/common/setup.h"

/* A policy with its parameters stored and its plan made: read-only from then on, may be
 * shared by threads. */
struct cv_led_tree;

struct cv_planned {
    const struct cleave_policy *policy;
    void *state;                           /* owned by arena                       */
    struct cleave_view view;               /* at the beginning of a run */
    const struct cleave_setting *settings; /* borrowed, for the trace */
    size_t nsettings;
    const struct cv_led_tree *tree;  /* borrowed: leaders of the platform; NULL: none */
    const struct cleave_load *loads; /* borrowed: several loads, all released, or NULL */
    bool given;                      /* a list of chunks, not made by the policy's plan */
    struct cv_arena arena;
    struct cv_notes notes;
};

/* `declared` are the costs that the policy sees, usually the platform's own; they and the
 * platform must outlive the plan. `load` has the other members of the view, and
 * sends_first even if the policy does not allow it. `budget` may be NULL: the search for a plan
 * has no limit. On failure nothing is left to free. */
enum cleave_status
cv_planned_init(struct cv_planned *planned, const struct cleave_policy *policy,
                const struct cleave_setting *settings, size_t nsettings,
                const struct cleave_platform *platform,
                const struct cleave_worker *declared, const struct cleave_view *load,
                const struct cv_forecast *forecast, struct cv_step_budget *budget,
                struct cleave_error *err);
/* A reduction with the mean costs of `costs`, which must outlive the plan; with exact
 * costs the policy sees the cost of each node. */
struct cv_reduce_costs;
enum cleave_status cv_planned_reduce_costs(struct cv_planned *planned,
                                           const struct cleave_policy *policy,
                                           const struct cleave_setting *settings,
                                           size_t nsettings,
                                           const struct cv_reduce_costs *costs,
                                           uint64_t seed, struct cleave_error *err);
/* A reduction with this view. */
enum cleave_status
cv_planned_reduce_view(struct cv_planned *planned, const struct cleave_policy *policy,
                       const struct cleave_setting *settings, size_t nsettings,
                       const struct cleave_view *view, struct cleave_error *err);
/* A copy of a list of chunks. */
enum cleave_status cv_planned_fixed(struct cv_planned *planned,
                                    const struct cv_plan *plan,
                                    const struct cleave_platform *platform, double load,
                                    struct cleave_error *err);
void cv_planned_done(struct cv_planned *planned);

struct cv_outcome {
    double makespan_s; /* end of the last computation, return or combination */
    double busy_s;     /* computing, summed over workers             */
    double sent_s;     /* end of the last transfer to a worker       */
    double value;      /* of the goal of several loads; otherwise the makespan */
    uint64_t chunks, events;
};

struct cv_driver;

/* `platform` is NULL for a reduction, whose costs are the engine's source. */
enum cleave_status cv_driver_open(const struct cv_planned *planned,
                                  const struct cv_engine *engine,
                                  const struct cleave_platform *platform,
                                  const void *source, struct cv_driver **out,
                                  struct cleave_error *err);
/* One run; any number may follow each other. `trace` may be NULL and is appended to. */
enum cleave_status cv_driver_run(struct cv_driver *driver, const struct cv_run *run,
                                 struct cleave_trace *trace, struct cv_outcome *out,
                                 struct cleave_error *err);
/* Open a driver, make one run, close it. */
enum cleave_status cv_driver_run_once(const struct cv_planned *planned,
                                      const struct cv_engine *engine, const void *source,
                                      const struct cv_run *run,
                                      struct cleave_trace *trace, struct cv_outcome *out,
                                      struct cleave_error *err);
/* When each worker ended its last chunk of the last load, 0 if it had none; valid until
 * the next run. */
const double *cv_driver_done_s(const struct cv_driver *driver);
void cv_driver_close(struct cv_driver *driver);

#endif
