/* registry.c -- the list of policies, and the two policies that choose from it.
 * SPDX-License-Identifier: MIT */
#include "policy/compound/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <cleave/run.h>
#include "base/argument.h"
#include "base/fail.h"
#include "base/text.h"
#include "policy/common/setup.h"
#include "policy/compound/head_tail.h"
#include "policy/returns/round_trip.h"

static const struct cleave_policy *const policies[] = {
#define X(name) &cleave_policy_##name,
    CV_POLICY_MAP(X)
#undef X
};
enum { NPOLICIES = sizeof policies / sizeof *policies };

size_t cleave_policy_count(void)
{
    return NPOLICIES;
}

const struct cleave_policy *cleave_policy_at(size_t index)
{
    return index < NPOLICIES ? policies[index] : NULL;
}

static const char *task_name(enum cleave_task task)
{
    static const char *const names[] = { [CLEAVE_TASK_LOAD] = "a load",
                                         [CLEAVE_TASK_REDUCE] = "a reduction",
                                         [CLEAVE_TASK_ITEMS] = "items",
                                         [CLEAVE_TASK_LOADS] = "several loads" };

    return names[task];
}

static const char *policy_name(const void *context, size_t index)
{
    const enum cleave_task *task = context;

    for (size_t i = 0; i < NPOLICIES; i++)
        if (policies[i]->task == *task && index-- == 0)
            return policies[i]->name;
    return "";
}

/* Names of OpenMP and of papers for policies of loads; NULL: none. */
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
    const char *here;
    size_t count = 0;
    char near[256];

    CV_EXPECT_ENUM(task, CLEAVE_TASK_LOADS + 1, err, "task");
    CV_EXPECT_POINTER(name, err, "name");
    CV_EXPECT_POINTER(out, err, "out");
    here = name_here(task, name);
    for (size_t i = 0; i < NPOLICIES; i++) {
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
                       "unknown policy '%s'; the nearest name is '%s'", name, here);
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

/* --- policies of the caller --------------------------------------------------------- */

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
    for (size_t i = 0; i < NPOLICIES; i++)
        if (policies[i] == own && own->task == task)
            return CLEAVE_OK;
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
    for (size_t i = 0; i < NPOLICIES; i++)
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
    for (size_t i = 0; i < NPOLICIES; i++)
        if (policies[i]->one_size != NULL)
            return policies[i];
    return NULL;
}

/* --- trials: simulate every policy that takes the load ------------------------------ */

struct policy_trial {
    const struct cleave_policy *best, *second; /* NULL: none */
    double best_s, second_s;
    unsigned tried;
    unsigned late;  /* policies that the limit cut short */
    double allowed; /* steps that the best policy had for its plan */
};

#define CV_LIMIT_PARAM(state, member)                                                  \
    {                                                                                  \
        "limit", CLEAVE_PARAM_REAL, offsetof(state, member), 10, 1e-6, 1e9,            \
            "seconds for trying policies, counted in steps: the same on every machine" \
    }

/* The difference is more than rounding. */
static const double BETTER = 1 - 1e-9;

/* The last of several trials gets at least this fraction of the limit: 1/20. */
static const double LEAST_PART = 20;

/* With fewer workers umr-plus finds better plans than any policy of one round. */
enum { MANY_WORKERS = 128 };

/* Searches over orders of workers take quadratic time and more. Searches for orders of
 * results are useless without results, except that they find good plans of one round if
 * there are too many workers for umr-plus. */
static bool takes_part(const struct cleave_policy *policy, const struct cleave_view *view,
                       const struct cleave_setup *setup)
{
    if (policy == &cleave_policy_leaders && setup->tree == NULL)
        return false; /* other platforms are exact without leaders */
    if (policy->task != CLEAVE_TASK_LOAD || (policy->needs & CLEAVE_NEEDS_FORECAST) != 0)
        return false;
    if (policy->minds_folds) /* a forecast does not show its gain */
        return false;
    if (policy->orders_returns && policy->one_round && !(view->result_ratio > 0) &&
        view->nworkers <= MANY_WORKERS)
        return false;
    if (policy == &cleave_policy_best_orders || policy == &cleave_policy_small_results)
        return view->nworkers <= CV_SEARCH_QUICK;
    return true;
}

/* The end; with a lifespan the time of a unit. */
static enum cleave_status measure(const struct cleave_policy *policy,
                                  const struct cleave_view *view, uint32_t runs,
                                  struct cleave_setup *setup, double *out_s,
                                  struct cleave_error *err)
{
    double units;

    if (!(view->lifespan_s > 0))
        return cleave_setup_forecast(setup, policy, view, runs, out_s, err);
    CV_TRY(cv_setup_work(setup, policy, view, &units, err));
    if (!(units > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a longer lifespan: nothing ends within %g s",
                       view->lifespan_s);
    *out_s = view->lifespan_s / units;
    return CLEAVE_OK;
}

/* Simulate a policy; skip it if it does not take the load. */
static enum cleave_status enter(struct policy_trial *trial,
                                const struct cleave_policy *policy,
                                const struct cleave_view *view, uint32_t runs,
                                struct cleave_setup *setup, struct cleave_error *err)
{
    const struct cv_step_budget allowed = cv_step_budget_half(setup->budget);
    const double before = setup->budget->spent;
    enum cleave_status status;
    double end_s;

    if (cv_step_budget_over(setup->budget)) {
        trial->late++;
        return CLEAVE_OK;
    }
    status = measure(policy, view, runs, setup, &end_s, err);
    if (setup->budget->spent - before >= allowed.limit)
        trial->late++;
    if (status == CLEAVE_EINPUT || status == CLEAVE_EPOLICY)
        return CLEAVE_OK;
    CV_TRY(status);
    trial->tried++;
    if (trial->best == NULL || end_s < trial->best_s * BETTER) {
        trial->second = trial->best;
        trial->second_s = trial->best_s;
        trial->best = policy;
        trial->best_s = end_s;
        trial->allowed = allowed.limit;
    } else if (trial->second == NULL || end_s < trial->second_s * BETTER) {
        trial->second = policy;
        trial->second_s = end_s;
    }
    return CLEAVE_OK;
}

/* These take longest and are rarely the best. */
static bool searches_orders(const struct cleave_policy *policy)
{
    return policy->orders_returns && policy->one_round;
}

static enum cleave_status enter_however_long(struct policy_trial *trial,
                                             const struct cleave_policy *policy,
                                             const struct cleave_view *view,
                                             uint32_t runs, struct cleave_setup *setup,
                                             struct cleave_error *err)
{
    const double limit = setup->budget->limit;
    enum cleave_status status;

    setup->budget->limit = INFINITY;
    status = enter(trial, policy, view, runs, setup, err);
    setup->budget->limit = limit;
    return status;
}

/* The limit was reached without any result: take the first policy that accepts the load. */
static enum cleave_status enter_any(struct policy_trial *trial,
                                    const struct cleave_view *view, uint32_t runs,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    for (size_t i = 0; trial->best == NULL && i < NPOLICIES; i++)
        if (takes_part(policies[i], view, setup))
            CV_TRY(enter_however_long(trial, policies[i], view, runs, setup, err));
    return CLEAVE_OK;
}

static enum cleave_status enter_all(struct policy_trial *trial,
                                    const struct cleave_view *view, uint32_t runs,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    const struct cleave_policy *planner = cv_best_planner(view, NULL);
    struct cleave_error aside;

    /* The planner of the platform has no limit, except with a lifespan, for which it
     * plans many times. */
    if (view->lifespan_s > 0)
        CV_TRY(enter(trial, planner, view, runs, setup, &aside));
    else
        CV_TRY(enter_however_long(trial, planner, view, runs, setup, &aside));
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < NPOLICIES; i++) {
            /* Half of the remaining time is for one search: begin with the most thorough. */
            const struct cleave_policy *policy =
                policies[turn == 0 ? i : NPOLICIES - 1 - i];

            if (policy != planner && searches_orders(policy) == (turn == 1) &&
                takes_part(policy, view, setup))
                CV_TRY(enter(trial, policy, view, runs, setup, &aside));
        }
    if (trial->best == NULL && trial->late > 0)
        CV_TRY(enter_any(trial, view, runs, setup, &aside));
    if (trial->best == NULL) { /* report the planner's error */
        setup->budget->limit = INFINITY;
        return measure(planner, view, runs, setup, &trial->best_s, err);
    }
    return CLEAVE_OK;
}

/* Find the least mean makespan of `runs` simulated runs with the expected error of the
 * view. Policies with preset parameters take part, except policies that try other
 * policies themselves and, on large platforms, policies whose plans take long. Among
 * equals the planner of the platform wins, then the first in the list.
 *
 * A trial takes at most `limit_s` seconds, counted in steps (base/step_budget.h); half of
 * them are kept for planning with the best policy. Searches for orders of results come
 * last. The planner of the platform is always tried.
 *
 * With a lifespan the policy that does most in it is best, with costs as declared; times
 * are per unit. */
static enum cleave_status policy_trial(const struct cleave_view *view, uint32_t runs,
                                       double limit_s, struct cleave_setup *setup,
                                       struct policy_trial *out, struct cleave_error *err)
{
    struct cv_step_budget budget = { .limit = limit_s / 2 * CV_STEPS_A_SECOND };
    struct cv_step_budget *outer = setup->budget;
    enum cleave_status status;

    if (outer != NULL) { /* nested trials share the limit */
        outer->limit = fmin(outer->limit, budget.limit);
        budget.limit = fmax(budget.limit - outer->spent, budget.limit / LEAST_PART);
    }
    *out = (struct policy_trial){ .best = NULL };
    setup->budget = &budget;
    status = enter_all(out, view, runs, setup, err);
    setup->budget = outer;
    cv_step_budget_spend(outer, budget.spent);
    return status;
}
/* Plan with the best policy and the steps it had in the trial. */
static enum cleave_status policy_trial_plan(const struct policy_trial *trial,
                                            struct cv_inner *inner,
                                            const struct cleave_view *view,
                                            struct cleave_setup *setup,
                                            struct cleave_error *err)
{
    struct cv_step_budget budget = { .limit = trial->allowed };
    struct cv_step_budget *outer = setup->budget;
    struct cleave_view told = *view;
    enum cleave_status status;

    if (view->lifespan_s > 0 &&
        (setup->tree != NULL || !cv_knows_work(trial->best, view))) {
        told.lifespan_s = 0;
        told.units_total = told.units_left = view->lifespan_s / trial->best_s;
    }
    setup->budget = &budget;
    status = cv_inner_plan(inner, trial->best, NULL, 0, &told, setup, err);
    setup->budget = outer;
    cv_step_budget_spend(outer, budget.spent);
    return status;
}

/* "; limit=10 s cut 3 of all short", or nothing. */
static const char *policy_trial_late(const struct policy_trial *trial, double limit_s,
                                     char *text, size_t room)
{
    text[0] = '\0';
    if (trial->late > 0)
        snprintf(text, room, "; limit=%g s cut %u of all short", limit_s, trial->late);
    return text;
}
/* --- auto: picks a policy ----------------------------------------------------------- */

/* If a theorem names the best policy, auto takes it: without results, errors, changing
 * speeds and memory limits, xmi-k for equal workers on a shared port, and links if links
 * share no port (proofs in docs/theory/bounds.md). If costs may be off, auto takes
 * portfolio. Else, also for streams and open chunks, it simulates every policy that takes
 * the load with the declared costs and picks the policy that ends first; with a lifespan,
 * the policy that does most. That takes at most `limit` seconds, counted in steps and not
 * by a clock: the pick is the same on every machine. The pick and its reason are noted
 * with the plan. */

/* for streams with costs that may be off */
enum { STREAM_RUNS = 20 };

struct automatic {
    struct cv_inner inner; /* first */
    double limit_s;
    double units; /* done in the lifespan */
};

/* The planner that is proved to be best, or NULL. */
static const struct cleave_policy *proved_best(const struct cleave_view *view,
                                               const char **out_why)
{
    const struct cleave_policy *planner = cv_best_planner(view, out_why);

    if (view->result_ratio > 0 || view->profiles != NULL || view->memory != NULL ||
        planner == &cleave_policy_umr_plus)
        return NULL;
    return planner;
}

static enum cleave_status plan_by_trial(struct automatic *automatic,
                                        const struct cleave_view *view, uint32_t runs,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    struct policy_trial trial;
    char late[80];

    CV_TRY(policy_trial(view, runs, automatic->limit_s, setup, &trial, err));
    CV_TRY(policy_trial_plan(&trial, &automatic->inner, view, setup, err));
    policy_trial_late(&trial, automatic->limit_s, late, sizeof late);
    if (view->lifespan_s > 0) {
        automatic->units = view->lifespan_s / trial.best_s;
        cv_note_picked(setup, trial.best->name,
                       "of %u policies simulated none does more%s", trial.tried, late);
    } else if (trial.second == NULL)
        cv_note_picked(setup, trial.best->name, "no other policy takes this load%s",
                       late);
    else if (trial.second_s > trial.best_s * (1 + 1e-9))
        cv_note_picked(setup, trial.best->name,
                       "it ends first of %u policies simulated, %s %.3g%% later%s",
                       trial.tried, trial.second->name,
                       100 * (trial.second_s / trial.best_s - 1), late);
    else
        cv_note_picked(setup, trial.best->name,
                       "of %u policies simulated none ends sooner%s", trial.tried, late);
    return CLEAVE_OK;
}

static enum cleave_status auto_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct automatic *automatic = state;
    const struct cleave_policy *planner;
    const char *why;
    char limit[40];

    if (view->lifespan_s > 0)
        return plan_by_trial(automatic, view, 1, setup, err);
    if (isinf(view->units_total))
        return plan_by_trial(automatic, view, view->error > 0 ? STREAM_RUNS : 1, setup,
                             err);
    if (view->error > 0) {
        snprintf(limit, sizeof limit, "%.17g", automatic->limit_s);
        return cv_inner_plan(&automatic->inner, &cleave_policy_portfolio,
                             &(struct cleave_setting){ "limit", limit }, 1, view, setup,
                             err);
    }
    /* Proofs concern stars. */
    planner = view->opens || setup->tree != NULL ? NULL : proved_best(view, &why);
    if (planner == NULL)
        return plan_by_trial(automatic, view, 1, setup, err);
    CV_TRY(cv_inner_plan(&automatic->inner, planner, NULL, 0, view, setup, err));
    cv_note_picked(setup, planner->name, "%s", why);
    return CLEAVE_OK;
}

static double auto_work(const void *state)
{
    return ((const struct automatic *)state)->units;
}

static const struct cleave_param auto_params[] = {
    CV_LIMIT_PARAM(struct automatic, limit_s),
    { 0 },
};

const struct cleave_policy cleave_policy_auto = {
    .name = "auto",
    .summary = "picks a policy from the known costs, and prints its choice",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_FORECAST,
    .takes_streams = true,
    .orders_returns = true,
    .sends_first = true,
    .state_size = sizeof(struct automatic),
    .params = auto_params,
    .plan = auto_plan,
    .start = cv_inner_start,
    .decide = cv_inner_decide,
    .work = auto_work,
};

/* --- portfolio: the best in simulation ---------------------------------------------- */

/* Every policy that takes the load is simulated `trials` times with the expected error;
 * the one with the least mean makespan decides. Costs at most `limit` seconds, counted in
 * steps. */

struct portfolio {
    struct cv_inner inner; /* first */
    double limit_s;
    uint32_t trials;
};

static enum cleave_status portfolio_plan(void *state, const struct cleave_view *view,
                                         struct cleave_setup *setup,
                                         struct cleave_error *err)
{
    struct portfolio *portfolio = state;
    struct policy_trial trial;
    char late[80];

    CV_TRY(policy_trial(view, portfolio->trials, portfolio->limit_s, setup, &trial, err));
    CV_TRY(policy_trial_plan(&trial, &portfolio->inner, view, setup, err));
    cv_note_picked(setup, trial.best->name,
                   "least of %u policies simulated with error %g: %.5g s%s", trial.tried,
                   view->error, trial.best_s,
                   policy_trial_late(&trial, portfolio->limit_s, late, sizeof late));
    return CLEAVE_OK;
}

static const struct cleave_param portfolio_params[] = {
    { "trials", CLEAVE_PARAM_COUNT, offsetof(struct portfolio, trials), 10, 1, 100000,
      "simulated runs per candidate" },
    CV_LIMIT_PARAM(struct portfolio, limit_s),
    { 0 },
};

const struct cleave_policy cleave_policy_portfolio = {
    .name = "portfolio",
    .summary = "simulates several policies with the expected error, uses the best",
    .reference = "cleave",
    .needs = CLEAVE_NEEDS_FORECAST,
    .orders_returns = true,
    .sends_first = true,
    .state_size = sizeof(struct portfolio),
    .params = portfolio_params,
    .plan = portfolio_plan,
    .start = cv_inner_start,
    .decide = cv_inner_decide,
};
