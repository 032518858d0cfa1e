/* setup.h -- services for plan and start of policies: memory, notes, forecasts.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SETUP_H
#define CV_SETUP_H
#include <cleave/platform.h>
#include <cleave/policy.h>
#include <cleave/run.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/step_budget.h"
#include "model/load/plan.h"
#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_tree.h"

/* A reduction that does not depend on costs: every node sends to its parent when it has
 * combined all it receives. */
struct cv_tree_shape {
    uint32_t *parent; /* per node; CV_NO_NODE for the root                           */
    bool in_turn;     /* senders are received by number; else first come, first served */
    uint32_t *turn; /* per node, caller's memory: with by_turn the order at a receiver */
    bool by_turn;
    uint32_t ahead; /* most partials that wait when a transfer begins: 0, 1, UINT32_MAX */
};

struct cv_policy_inner {
    enum cv_reduce_method method; /* proved properties */
    /* Optional: describe the fixed tree that `decide` carries out, so that many runs need
     * no events; false: it is not fixed. `out->parent` has space for all nodes. */
    bool (*fixed)(const void *state, const struct cleave_view *view,
                  struct cv_tree_shape *out);
    bool knows_ready; /* uses the ready times of a run in `start` */
    /* Optional, with knows_ready: whether its tree is optimal. */
    bool (*is_best)(const void *state);
};

/* Notes of a policy about its plan. */
struct cv_notes {
    struct cv_arena *arena;   /* borrowed: owns the texts                         */
    const char *picked, *why; /* set by policies that pick another one */
    bool in_turn;             /* picked with messages that keep the order asked for */
    const char *proved; /* static: the plan is best among these schedules, or NULL */
    bool optimal;       /* among all schedules */
    struct cv_left_out *left_out;      /* newest first                                 */
    struct cv_plan_fact *facts;        /* newest first                                 */
    const struct cleave_phase *phases; /* several loads: nphases of them */
    size_t nphases;
};

/* A number that belongs to the plan. */
struct cv_plan_fact {
    const char *name; /* static */
    double value;
    struct cv_plan_fact *next;
};

struct cv_left_out {
    uint32_t worker;
    const char *reason;
    struct cv_left_out *next;
};

struct cv_command_model;

/* A policy with its plan, ready for simulated runs. */
struct cv_tried;

/* Simulations for policies, which do not know the simulator. */
struct cv_forecast {
    /* Plan a policy with preset parameters for the load of `view`. */
    enum cleave_status (*open)(const struct cv_forecast *forecast,
                               const struct cleave_policy *policy,
                               const struct cleave_view *view,
                               struct cv_step_budget *budget, struct cv_tried **out,
                               struct cleave_error *err);
    /* The ends of `count` runs from number `first` on, with the declared costs and the
     * expected error of the view: all policies meet the same factors in the same run. */
    enum cleave_status (*run)(struct cv_tried *tried, uint32_t first, uint32_t count,
                              struct cv_step_budget *budget, double *out_s,
                              struct cleave_error *err);
    void (*close)(struct cv_tried *tried); /* NULL is allowed */
    /* Units that the policy does within the view's lifespan, with the declared costs. */
    enum cleave_status (*work)(const struct cv_forecast *forecast,
                               const struct cleave_policy *policy,
                               const struct cleave_view *view,
                               struct cv_step_budget *budget, double *out,
                               struct cleave_error *err);
    const struct cleave_platform *platform; /* borrowed */
    /* Chunks may be opened: how commands read, or NULL; units of a stream. */
    const struct cv_command_model *command; /* borrowed */
    double units;
};

struct cv_led_tree;

struct cleave_setup {
    struct cv_arena *arena;
    struct cv_notes *notes;             /* NULL: notes are dropped */
    const struct cv_forecast *forecast; /* NULL: none           */
    const struct cv_led_tree *tree;     /* leaders of the platform; NULL: none */
    struct cv_step_budget *budget;      /* steps for searches; NULL: no limit */
};

/* Whether a policy computes its work within a lifespan: not if speeds change. */
static inline bool cv_knows_work(const struct cleave_policy *policy,
                                 const struct cleave_view *view)
{
    return policy->work != NULL && view->profiles == NULL;
}

/* Units that a policy does within the view's lifespan; fails if there is no forecast. */
enum cleave_status cv_setup_work(struct cleave_setup *setup,
                                 const struct cleave_policy *policy,
                                 const struct cleave_view *view, double *out,
                                 struct cleave_error *err);

/* cleave_setup_left_out with a format. The note is dropped if memory is short. */
void cv_note_left_out(struct cleave_setup *setup, uint32_t worker, const char *format,
                      ...) CV_PRINTF(3, 4);
/* cleave_setup_picked with a format. */
void cv_note_picked(struct cleave_setup *setup, const char *picked, const char *format,
                    ...) CV_PRINTF(3, 4);

/* Note a number with a static name. Dropped if memory is short. */
void cv_note_fact(struct cleave_setup *setup, const char *name, double value);

struct cleave_setting;
enum cleave_status cv_param_read(const struct cleave_policy *policy,
                                 const struct cleave_setting *setting, double *out,
                                 struct cleave_error *err);
/* Store presets, then the settings, in a state block. */
enum cleave_status cv_params_store(const struct cleave_policy *policy,
                                   const struct cleave_setting *settings,
                                   size_t nsettings, void *state,
                                   struct cleave_error *err);

/* A policy that another one hands over to; first in the state of the outer one, so that
 * cv_inner_start and cv_inner_decide can be its functions. */
struct cv_inner {
    const struct cleave_policy *policy;
    void *planned; /* state after plan: read-only */
    void *state;   /* this run's copy             */
};

enum cleave_status cv_inner_plan(struct cv_inner *inner,
                                 const struct cleave_policy *policy,
                                 const struct cleave_setting *settings, size_t nsettings,
                                 const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err);
enum cleave_status cv_inner_start(void *state, const struct cleave_view *view,
                                  struct cleave_setup *setup, struct cleave_error *err);

/* Let the inner policy decide. If it does not order returns, results are asked for when
 * they are ready, so that the outer policy can order returns. */
void cv_inner_decide(void *state, const struct cleave_view *view,
                     const struct cleave_event *event, struct cleave_orders *orders);
/* Ask for the result of a chunk that is done. */
void cv_return_when_done(const struct cleave_view *view, const struct cleave_event *event,
                         struct cleave_orders *orders);

/* A plan fixed in advance; must be first in the state of its policy. */
struct cv_static {
    struct cv_plan plan;       /* shared by all runs                                    */
    size_t next;               /* next chunk to hand out                                */
    const uint32_t *next_same; /* multi-port: chunk -> next chunk of that worker  */
    const uint32_t *first;     /* multi-port: worker -> its first chunk           */
};

/* Index a filled `plan` for the port rule of the view. */
enum cleave_status cv_static_index(struct cv_static *fixed,
                                   const struct cleave_view *view,
                                   struct cleave_setup *setup, struct cleave_error *err);
/* `decide` of such a policy. */
void cv_static_decide(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders);

/* Indices of the workers, fastest link first, ties by index; NULL: no memory. */
uint32_t *cv_bandwidth_order(const struct cleave_worker *workers, uint32_t nworkers,
                             struct cv_arena *arena);

#endif
