/* registry.c -- the list of policies, and auto, which picks one. SPDX-License-Identifier: MIT */
#include "policy/compound/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/argument.h"
#include "base/fail.h"
#include "base/text.h"
#include "model/load/bounds.h"
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
        { "multi-installment", "xmi" }, { "portfolio", "auto" },
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

/* --- auto: picks a policy in simulation --------------------------------------------- */

/* Every policy that takes the load is simulated with the declared costs; the one that
 * ends first decides, or with a lifespan the one that does most. All policies take part
 * with preset parameters. Exceptions are policies that try others themselves and, on large
 * platforms, policies whose plans take long. Among equals the planner of the platform wins,
 * then the first in the list. If the planner's plan meets the bound for all schedules, no
 * other policy is tried.
 *
 * With results and one port a policy that decides during the run is tried twice: sends
 * overtake waiting results, or messages keep the order asked for. A fixed plan never ends
 * later if sends overtake (docs/theory/model.md).
 *
 * With an expected error the mean of many runs counts, in which all candidates meet the
 * same factors. The number of runs doubles. A candidate is out as soon as it is not
 * better than the best one by more than TOLERANCE, with SURE standard errors of the
 * difference. The race ends with one candidate or with `trials` runs.
 *
 * All of it takes at most `limit` seconds, counted in steps (base/step_budget.h) and not
 * by a clock, so the pick is the same on every machine. Half of them are kept for
 * planning with the best policy. Searches for orders of results come last. The planner of
 * the platform is always tried. */

struct automatic {
    struct cv_inner inner; /* first */
    double limit_s;
    uint32_t trials;
    double units; /* done in the lifespan */
};

struct candidate {
    const struct cleave_policy *policy;
    bool in_turn;           /* messages keep the order asked for */
    double allowed;         /* steps that it had for its plan */
    struct cv_tried *tried; /* NULL: out of the race */
    double *ends_s;         /* ends of its runs */
    double mean_s;          /* with a lifespan the time of a unit */
};

struct contest {
    const struct cleave_view *view;
    struct cleave_setup *setup;
    struct cv_step_budget *budget;
    struct cv_arena arena;
    struct candidate *all; /* room for two per policy */
    size_t count;
    const struct candidate *best; /* NULL: none */
    uint32_t runs, max_runs;      /* so far; limit */
    unsigned policies;            /* that were simulated */
    unsigned late;                /* candidates that the limit cut short */
    bool proved;                  /* no schedule ends sooner than the best one */
};

/* The difference is more than rounding. */
static const double BETTER = 1 - 1e-9;

/* A plan that ends this close to the bound meets it. */
static const double MEETS = 1 + 1e-9;

/* The last of several contests gets at least this fraction of the limit: 1/20. */
static const double LEAST_PART = 20;

/* With an error: by how much a candidate may be better than the best one and be left
 * out, in how many standard errors, and the runs at first. */
static const double TOLERANCE = 0.01, SURE = 3;
enum { FIRST_RUNS = 10 };

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

static void leave(struct contest *contest, struct candidate *candidate)
{
    if (candidate->tried != NULL)
        contest->setup->forecast->close(candidate->tried);
    candidate->tried = NULL;
}

/* Simulate the next `count` runs. */
static enum cleave_status simulate(struct contest *contest, struct candidate *candidate,
                                   uint32_t count, struct cleave_error *err)
{
    return contest->setup->forecast->run(candidate->tried, contest->runs, count,
                                         contest->budget,
                                         candidate->ends_s + contest->runs, err);
}

static void set_mean(struct candidate *candidate, uint32_t runs)
{
    candidate->mean_s = 0;
    for (uint32_t i = 0; i < runs; i++)
        candidate->mean_s += candidate->ends_s[i] / runs;
}

/* The time of a unit within the lifespan. */
static enum cleave_status measure_work(struct contest *contest,
                                       struct candidate *candidate,
                                       const struct cleave_view *view,
                                       struct cleave_error *err)
{
    double units;

    CV_TRY(cv_setup_work(contest->setup, candidate->policy, view, &units, err));
    if (!(units > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a longer lifespan: nothing ends within %g s",
                       view->lifespan_s);
    candidate->mean_s = view->lifespan_s / units;
    return CLEAVE_OK;
}

static enum cleave_status measure(struct contest *contest, struct candidate *candidate,
                                  struct cleave_error *err)
{
    const uint32_t runs = contest->max_runs < FIRST_RUNS ? contest->max_runs : FIRST_RUNS;
    struct cleave_view view = *contest->view;

    view.sends_first = view.sends_first && !candidate->in_turn;
    if (view.lifespan_s > 0)
        return measure_work(contest, candidate, &view, err);
    candidate->ends_s = cv_array(&contest->arena, contest->max_runs, sizeof(double));
    if (candidate->ends_s == NULL)
        return cv_fail_memory(err, "the runs of policies");
    CV_TRY(contest->setup->forecast->open(contest->setup->forecast, candidate->policy,
                                          &view, contest->budget, &candidate->tried,
                                          err));
    CV_TRY(simulate(contest, candidate, runs, err));
    set_mean(candidate, runs);
    return CLEAVE_OK;
}

/* Simulate a policy; skip it if it does not take the load. */
static enum cleave_status enter(struct contest *contest,
                                const struct cleave_policy *policy, bool in_turn,
                                struct cleave_error *err)
{
    struct candidate *candidate = &contest->all[contest->count];
    const double before = contest->budget->spent;
    enum cleave_status status;

    *candidate =
        (struct candidate){ .policy = policy,
                            .in_turn = in_turn,
                            .allowed = cv_step_budget_half(contest->budget).limit };
    if (cv_step_budget_over(contest->budget)) {
        contest->late++;
        return CLEAVE_OK;
    }
    status = measure(contest, candidate, err);
    if (contest->budget->spent - before >= candidate->allowed)
        contest->late++;
    if (status != CLEAVE_OK)
        leave(contest, candidate);
    if (status == CLEAVE_EINPUT || status == CLEAVE_EPOLICY)
        return CLEAVE_OK;
    CV_TRY(status);
    contest->count++;
    contest->policies += !in_turn;
    if (contest->best == NULL || candidate->mean_s < contest->best->mean_s * BETTER)
        contest->best = candidate;
    return CLEAVE_OK;
}

/* Once, or with and without sends that overtake results. */
static enum cleave_status enter_both(struct contest *contest,
                                     const struct cleave_policy *policy,
                                     struct cleave_error *err)
{
    CV_TRY(enter(contest, policy, false, err));
    if (contest->view->sends_first && policy->sends_first &&
        policy->decide != cv_static_decide)
        CV_TRY(enter(contest, policy, true, err));
    return CLEAVE_OK;
}

static enum cleave_status enter_however_long(struct contest *contest,
                                             const struct cleave_policy *policy,
                                             struct cleave_error *err)
{
    const double limit = contest->budget->limit;
    enum cleave_status status;

    contest->budget->limit = INFINITY;
    status = enter_both(contest, policy, err);
    contest->budget->limit = limit;
    return status;
}

/* No schedule ends sooner than the planner's, which alone was simulated. Only equal
 * workers and links without a common port have a bound that is met. */
static bool is_proved(struct contest *contest, const struct cleave_policy *planner)
{
    const struct cleave_view *view = contest->view;
    struct cleave_bound bounds[CV_MAX_BOUNDS];
    size_t tightest;

    return contest->best != NULL && planner != &cleave_policy_umr_plus &&
           !(view->lifespan_s > 0) && isfinite(view->units_total) && !view->opens &&
           !(view->error > 0) && !(view->result_ratio > 0) && view->profiles == NULL &&
           contest->setup->tree == NULL &&
           cv_bounds(view->workers, view->nworkers, view->port, view->units_total,
                     &contest->arena, bounds, &tightest) > 0 &&
           contest->best->mean_s <= bounds[tightest].value_s * MEETS;
}

/* These take longest and are rarely the best. */
static bool searches_orders(const struct cleave_policy *policy)
{
    return policy->orders_returns && policy->one_round;
}

/* The limit was reached without any result: take the first policy that accepts the load. */
static enum cleave_status enter_any(struct contest *contest, struct cleave_error *err)
{
    for (size_t i = 0; contest->best == NULL && i < cleave_policy_count(); i++)
        if (takes_part(cleave_policy_at(i), contest->view, contest->setup))
            CV_TRY(enter_however_long(contest, cleave_policy_at(i), err));
    return CLEAVE_OK;
}

static enum cleave_status enter_all(struct contest *contest, struct cleave_error *err)
{
    const struct cleave_policy *planner = cv_best_planner(contest->view);
    const size_t count = cleave_policy_count();
    struct cleave_error aside;

    /* The planner of the platform has no limit, except with a lifespan, for which it
     * plans many times. */
    if (contest->view->lifespan_s > 0)
        CV_TRY(enter_both(contest, planner, &aside));
    else
        CV_TRY(enter_however_long(contest, planner, &aside));
    contest->proved = is_proved(contest, planner);
    if (contest->proved)
        return CLEAVE_OK;
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < count; i++) {
            /* Half of the remaining time is for one search: begin with the most thorough. */
            const struct cleave_policy *policy =
                cleave_policy_at(turn == 0 ? i : count - 1 - i);

            if (policy != planner && searches_orders(policy) == (turn == 1) &&
                takes_part(policy, contest->view, contest->setup))
                CV_TRY(enter_both(contest, policy, &aside));
        }
    if (contest->best == NULL && contest->late > 0)
        CV_TRY(enter_any(contest, &aside));
    if (contest->best == NULL) { /* report the planner's error */
        contest->budget->limit = INFINITY;
        contest->all[0] = (struct candidate){ .policy = planner, .allowed = INFINITY };
        contest->best = &contest->all[0];
        contest->count = 1;
        return measure(contest, &contest->all[0], err);
    }
    return CLEAVE_OK;
}

/* The standard error of the mean difference in the same runs. */
static double difference_error(const struct candidate *a, const struct candidate *b,
                               uint32_t runs)
{
    const double mean = a->mean_s - b->mean_s;
    double squares = 0;

    for (uint32_t i = 0; i < runs; i++)
        squares += pow(a->ends_s[i] - b->ends_s[i] - mean, 2);
    return sqrt(squares / ((double)runs * fmax(1, runs - 1)));
}

/* Returns how many are left. */
static size_t leave_worse(struct contest *contest)
{
    const struct candidate *best = contest->best;
    size_t left = 0;

    for (struct candidate *c = contest->all; c < contest->all + contest->count; c++) {
        if (c != best && c->tried != NULL &&
            SURE * difference_error(c, best, contest->runs) <=
                c->mean_s - best->mean_s + TOLERANCE * best->mean_s)
            leave(contest, c);
        left += c->tried != NULL;
    }
    return left;
}

/* Twice the runs for candidates that are left. A candidate that cannot end them is out. */
static enum cleave_status run_more(struct contest *contest, struct cleave_error *err)
{
    const uint32_t limit = contest->max_runs;
    const uint32_t runs = contest->runs < limit / 2 ? 2 * contest->runs : limit;
    const struct candidate *best = NULL;

    for (struct candidate *c = contest->all; c < contest->all + contest->count; c++) {
        enum cleave_status status = CLEAVE_OK;

        if (c->tried != NULL)
            status = simulate(contest, c, runs - contest->runs, err);
        if (cv_step_budget_over(contest->budget))
            return CLEAVE_OK;
        if (status == CLEAVE_EINPUT || status == CLEAVE_EPOLICY)
            leave(contest, c);
        else
            CV_TRY(status);
    }
    contest->runs = runs;
    for (struct candidate *c = contest->all; c < contest->all + contest->count; c++)
        if (c->tried != NULL) {
            set_mean(c, runs);
            if (best == NULL || c->mean_s < best->mean_s * BETTER)
                best = c;
        }
    if (best != NULL)
        contest->best = best;
    return CLEAVE_OK;
}

static enum cleave_status race(struct contest *contest, struct cleave_error *err)
{
    contest->runs = contest->max_runs < FIRST_RUNS ? contest->max_runs : FIRST_RUNS;
    while (leave_worse(contest) > 1 && contest->runs < contest->max_runs &&
           !cv_step_budget_over(contest->budget))
        CV_TRY(run_more(contest, err));
    return CLEAVE_OK;
}

static enum cleave_status hold_contest(struct contest *contest, double limit_s,
                                       struct cleave_error *err)
{
    struct cleave_setup *setup = contest->setup;
    struct cv_step_budget budget = { .limit = limit_s / 2 * CV_STEPS_A_SECOND };
    struct cv_step_budget *outer = setup->budget;
    enum cleave_status status;

    if (outer != NULL) { /* nested contests share the limit */
        outer->limit = fmin(outer->limit, budget.limit);
        budget.limit = fmax(budget.limit - outer->spent, budget.limit / LEAST_PART);
    }
    setup->budget = contest->budget = &budget;
    status = enter_all(contest, err);
    if (status == CLEAVE_OK && contest->max_runs > 1)
        status = race(contest, err);
    setup->budget = outer;
    cv_step_budget_spend(outer, budget.spent);
    for (size_t i = 0; i < contest->count; i++)
        leave(contest, &contest->all[i]);
    return status;
}

/* Plan with the best policy and the steps it had in the contest. */
static enum cleave_status plan_best(const struct contest *contest, struct cv_inner *inner,
                                    struct cleave_error *err)
{
    const struct candidate *best = contest->best;
    struct cleave_setup *setup = contest->setup;
    struct cv_step_budget budget = { .limit = best->allowed };
    struct cv_step_budget *outer = setup->budget;
    struct cleave_view told = *contest->view;
    enum cleave_status status;

    if (told.lifespan_s > 0 &&
        (setup->tree != NULL || !cv_knows_work(best->policy, &told))) {
        told.units_total = told.units_left = told.lifespan_s / best->mean_s;
        told.lifespan_s = 0;
    }
    told.sends_first = told.sends_first && !best->in_turn;
    setup->budget = &budget;
    status = cv_inner_plan(inner, best->policy, NULL, 0, &told, setup, err);
    setup->budget = outer;
    cv_step_budget_spend(outer, budget.spent);
    return status;
}

static const struct candidate *second_of(const struct contest *contest)
{
    const struct candidate *second = NULL;

    for (const struct candidate *c = contest->all; c < contest->all + contest->count; c++)
        if (c->policy != contest->best->policy &&
            (second == NULL || c->mean_s < second->mean_s))
            second = c;
    return second;
}

static void note_pick(const struct contest *contest, double limit_s)
{
    const struct candidate *best = contest->best, *second = second_of(contest);
    struct cleave_setup *setup = contest->setup;
    const char *name = best->policy->name;
    const char *turn = best->in_turn ? "; messages keep their order" : "";
    char late[80] = "";

    if (contest->late > 0)
        snprintf(late, sizeof late, "; limit=%g s cut %u of all short", limit_s,
                 contest->late);
    if (contest->view->lifespan_s > 0)
        cv_note_picked(setup, name, "of %u policies simulated none does more%s%s",
                       contest->policies, turn, late);
    else if (contest->max_runs > 1)
        cv_note_picked(setup, name,
                       "least mean of %u policies simulated with error %g in up to %u "
                       "runs each: %.5g s%s%s",
                       contest->policies, contest->view->error, contest->runs,
                       best->mean_s, turn, late);
    else if (contest->proved)
        cv_note_picked(setup, name, "no schedule ends sooner");
    else if (second == NULL)
        cv_note_picked(setup, name, "no other policy takes this load%s%s", turn, late);
    else if (second->mean_s > best->mean_s * MEETS)
        cv_note_picked(setup, name,
                       "it ends first of %u policies simulated, %s %.3g%% later%s%s",
                       contest->policies, second->policy->name,
                       100 * (second->mean_s / best->mean_s - 1), turn, late);
    else
        cv_note_picked(setup, name, "of %u policies simulated none ends sooner%s%s",
                       contest->policies, turn, late);
    if (setup->notes != NULL)
        setup->notes->in_turn = best->in_turn;
}

static enum cleave_status auto_plan(void *state, const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct automatic *automatic = state;
    struct contest contest = { .view = view, .setup = setup, .max_runs = 1 };
    enum cleave_status status;

    if (view->error > 0 && !(view->lifespan_s > 0))
        contest.max_runs = automatic->trials;
    cv_arena_init(&contest.arena);
    contest.all =
        cv_array(&contest.arena, 2 * cleave_policy_count(), sizeof *contest.all);
    status = contest.all == NULL ? cv_fail_memory(err, "the trials of policies")
                                 : hold_contest(&contest, automatic->limit_s, err);
    if (status == CLEAVE_OK)
        status = plan_best(&contest, &automatic->inner, err);
    if (status == CLEAVE_OK) {
        if (view->lifespan_s > 0)
            automatic->units = view->lifespan_s / contest.best->mean_s;
        note_pick(&contest, automatic->limit_s);
    }
    cv_arena_done(&contest.arena);
    return status;
}

static double auto_work(const void *state)
{
    return ((const struct automatic *)state)->units;
}

static const struct cleave_param auto_params[] = {
    { "trials", CLEAVE_PARAM_COUNT, offsetof(struct automatic, trials), 1000, 1, 100000,
      "most simulated runs per policy, if an error is expected" },
    { "limit", CLEAVE_PARAM_REAL, offsetof(struct automatic, limit_s), 10, 1e-6, 1e9,
      "seconds for trying policies, counted in steps: the same on every machine" },
    { 0 },
};

const struct cleave_policy cleave_policy_auto = {
    .name = "auto",
    .summary = "simulates the policies, uses the best, and prints its choice",
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
