/* setup.h -- what plan and start may use: memory, notes, forecasts.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SETUP_H
#define CV_SETUP_H
#include <cleave/platform.h>
#include <cleave/policy.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/step_budget.h"
#include "model/load/plan.h"
#include "model/reduce/reduce_bounds.h"
#include "model/reduce/reduce_tree.h"

/* A reduction that always does the same, whatever costs turn out to be: every node sends
 * to its parent when it has combined all it receives. */
struct cv_tree_shape {
    uint32_t *parent; /* per node; CV_NO_NODE for the root                           */
    bool in_turn;     /* senders are received in the order of their numbers; else
                         first come, first served                                   */
    uint32_t *turn;   /* per node, room of the caller: if in_turn, the order may be by
                         these instead, from 0 at every receiver                    */
    bool by_turn;
    uint32_t ahead; /* at most so many partials wait or are being combined when
                         the next transfer begins: 0, 1, or UINT32_MAX for any      */
};

struct cv_policy_inner {
    enum cv_reduce_method method; /* what is proved of it                            */
    /* Optional: if `decide` only carries out a fixed tree, describe it (`out->parent` has
     * room for all nodes), so that many runs need no events; false if not. */
    bool (*fixed)(const void *state, const struct cleave_view *view,
                  struct cv_tree_shape *out);
    bool knows_ready; /* looks at the ready times of a run when it starts            */
    /* Then, optional: whether its tree is the best of all where that is proved. */
    bool (*is_best)(const void *state);
};

/* What a policy has to say about its plan. */
struct cv_notes {
    struct cv_arena *arena;       /* borrowed: owns the texts                         */
    const char *picked, *why;     /* set by policies that hand over to another        */
    const char *proved;           /* best among these schedules: static; NULL: not     */
    bool optimal;                 /* these are all there are                          */
    struct cv_left_out *left_out; /* newest first                                 */
    struct cv_plan_fact *facts;   /* newest first                                 */
};

/* A number that the method gives beside the plan. */
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

/* Mean makespan of a policy with its preset parameters, simulated `runs` times with the
 * declared costs and the expected error in `view`. Offered by whoever opens the run. */
struct cv_forecast {
    enum cleave_status (*mean)(void *context, const struct cleave_policy *policy,
                               const struct cleave_view *view, uint32_t runs,
                               struct cv_step_budget *budget, double *out,
                               struct cleave_error *err);
    /* How many units the policy does within the view's lifespan, with the declared costs. */
    enum cleave_status (*work)(void *context, const struct cleave_policy *policy,
                               const struct cleave_view *view,
                               struct cv_step_budget *budget, double *out,
                               struct cleave_error *err);
    void *context;
};

struct cleave_setup {
    struct cv_arena *arena;
    struct cv_notes *notes;             /* NULL: nobody listens */
    const struct cv_forecast *forecast; /* NULL: none           */
    struct cv_step_budget *budget; /* how long plans may be searched for; NULL: any */
};

/* Whether a policy says by itself what it does in a lifespan: not if speeds change. */
static inline bool cv_knows_work(const struct cleave_policy *policy,
                                 const struct cleave_view *view)
{
    return policy->work != NULL && view->profiles == NULL;
}

/* How many units a policy does within the view's lifespan; as cleave_setup_forecast it fails
 * where that is not offered. */
enum cleave_status cv_setup_work(struct cleave_setup *setup,
                                 const struct cleave_policy *policy,
                                 const struct cleave_view *view, double *out,
                                 struct cleave_error *err);

/* cleave_setup_left_out with a format. Drops the note when memory is short or nobody
 * listens. */
void cv_note_left_out(struct cleave_setup *setup, uint32_t worker, const char *format,
                      ...) CV_PRINTF(3, 4);
/* cleave_setup_picked with a format. */
void cv_note_picked(struct cleave_setup *setup, const char *picked, const char *format,
                    ...) CV_PRINTF(3, 4);

/* A number that the method gives beside the plan; the name is static. Dropped when memory
 * is short or nobody listens. */
void cv_note_fact(struct cleave_setup *setup, const char *name, double value);

struct cleave_setting;
/* The value of a setting of the policy that is a number. */
enum cleave_status cv_param_read(const struct cleave_policy *policy,
                                 const struct cleave_setting *setting, double *out,
                                 struct cleave_error *err);
/* Store defaults and then the given settings in a state block. */
enum cleave_status cv_params_store(const struct cleave_policy *policy,
                                   const struct cleave_setting *settings,
                                   size_t nsettings, void *state,
                                   struct cleave_error *err);

/* Policies that hand over to another one embed this. */
struct cv_inner {
    const struct cleave_policy *policy;
    void *planned; /* state after plan: read-only */
    void *state;   /* this run's copy             */
};

/* Plan with the given settings of the inner policy, presets for the rest. */
enum cleave_status cv_inner_plan(struct cv_inner *inner,
                                 const struct cleave_policy *policy,
                                 const struct cleave_setting *settings, size_t nsettings,
                                 const struct cleave_view *view,
                                 struct cleave_setup *setup, struct cleave_error *err);
enum cleave_status cv_inner_start(struct cv_inner *inner, const struct cleave_view *view,
                                  struct cleave_setup *setup, struct cleave_error *err);

/* What the inner policy decides; results come back as they get ready if it leaves that
 * open, so that the outer one can say that it orders returns. */
void cv_inner_decide(const struct cv_inner *inner, const struct cleave_view *view,
                     const struct cleave_event *event, struct cleave_orders *orders);
/* Ask for a result as soon as it is ready. */
void cv_return_when_done(const struct cleave_view *view, const struct cleave_event *event,
                         struct cleave_orders *orders);

/* Policies that are a plan fixed in advance: put this first in the state. */
struct cv_static {
    struct cv_plan plan;       /* shared by all runs                                    */
    size_t next;               /* next chunk to hand out                                */
    const uint32_t *next_same; /* multi-port: chunk -> next chunk of that worker  */
    const uint32_t *first;     /* multi-port: worker -> its first chunk           */
};

/* After filling `plan`: index it for the port rule in the view. */
enum cleave_status cv_static_index(struct cv_static *fixed,
                                   const struct cleave_view *view,
                                   struct cleave_setup *setup, struct cleave_error *err);
/* `decide` of such a policy. The state must begin with a struct cv_static. */
void cv_static_decide(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders);

/* Indices of the workers, fastest link first, ties by index; NULL when memory is short. */
uint32_t *cv_bandwidth_order(const struct cleave_worker *workers, uint32_t nworkers,
                             struct cv_arena *arena);

#endif
