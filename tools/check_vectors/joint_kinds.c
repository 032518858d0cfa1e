/* joint_kinds.c -- cases of a load and the reduction of its results as one plan.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "kinds.h"
#include "model/joint/joint.h"
#include "model/ready/ready_tree.h"

static void run_tails(struct vector_case *c)
{
    const uint32_t n = case_count(c, "n");
    struct cv_tail_costs costs = { .d = case_number(c, "d"), .c = case_number(c, "c") };
    struct cv_tail_tree tree;
    struct cv_tail_workspace *room;
    double max = 0, sum;

    if (c->result != CASE_PASSED || !case_ready_model(c, &costs.model))
        return;
    room = cv_tail_room_new(c->arena, n, &costs);
    tree.parent = cv_array(c->arena, n, sizeof *tree.parent);
    tree.turn = cv_array(c->arena, n, sizeof *tree.turn);
    tree.tails = cv_array(c->arena, n, sizeof *tree.tails);
    if (room == NULL || tree.parent == NULL || tree.turn == NULL || tree.tails == NULL) {
        case_fail(c, "out of memory");
        return;
    }
    sum = cv_varn_tree(room, n, &tree);
    for (uint32_t i = 0; i < n; i++)
        max = fmax(max, tree.tails[i]);
    expect_number(c, "sum", sum);
    expect_number(c, "largest", max);
    cv_tail_room_done(room);
}

static bool is_port(struct vector_case *c, const char *name)
{
    const struct json *port = json_get(c->in, "port");

    return port != NULL && port->text != NULL && strcmp(port->text, name) == 0;
}

static bool read_workers(struct vector_case *c, struct cv_joint_job *job)
{
    size_t n, same;
    const double *speed = case_numbers(c, "S", &n);
    const double *bandwidth = case_numbers(c, "bandwidth", &same);
    const double *alpha = case_numbers(c, "alpha", &same);
    const double *beta = case_numbers(c, "beta", &same);
    struct cleave_worker *workers = cv_array(c->arena, n, sizeof *workers);

    job->order = case_counts(c, "order", &same);
    if (c->result != CASE_PASSED || workers == NULL || n == 0 || same != n) {
        case_fail(c, "inputs: expected as many numbers of each kind");
        return false;
    }
    for (size_t i = 0; i < n; i++)
        workers[i] = (struct cleave_worker){ .speed_ups = speed[i],
                                             .bandwidth_ups = bandwidth[i],
                                             .compute_latency_s = alpha[i],
                                             .latency_s = beta[i] };
    job->nworkers = (uint32_t)n;
    job->load =
        (struct cv_joint_load){ workers, case_number(c, "W"), is_port(c, "multi") };
    job->costs.d = case_number(c, "d");
    job->costs.c = case_number(c, "c");
    return case_ready_model(c, &job->costs.model);
}

/* Sizes and tree executed: all partials ready at their tails, the reduction as planned. */
static void check_plan(struct vector_case *c, const struct cv_joint_job *job,
                       const struct cv_joint_plan *plan)
{
    double *ready_s = cv_array(c->arena, plan->used, sizeof *ready_s), free_s = 0,
           sum = 0;
    const struct cv_ready_job reduction = { plan->used, ready_s, job->costs.d,
                                            job->costs.c, job->costs.model };
    struct cv_tree_run run;
    struct cleave_error err;

    for (uint32_t k = 0; ready_s != NULL && k < plan->used; k++) {
        const struct cleave_worker *worker = &job->load.workers[plan->order[k]];

        if (job->load.multi)
            free_s = 0;
        free_s += worker->latency_s + plan->sizes[k] / worker->bandwidth_ups;
        ready_s[k] =
            free_s + worker->compute_latency_s + plan->sizes[k] / worker->speed_ups;
        sum += plan->sizes[k];
    }
    if (ready_s == NULL || !case_ok(c,
                                    cv_ready_execute(&reduction, plan->parent, plan->turn,
                                                     c->arena, &run, &err),
                                    &err))
        return;
    if (!(fabs(run.length_s - plan->end_s) <= 1e-9 * plan->end_s) ||
        !(fabs(sum - job->load.units) <= 1e-9 * sum))
        case_fail(c, "executed, the plan takes %.17g, not %.17g", run.length_s,
                  plan->end_s);
}

/* T_load + H(y) / s for all workers in their order and any tree, one round. */
static double entropy_bound(const struct cv_joint_job *job, double *room)
{
    const bool early = job->costs.model == CLEAVE_READY_EARLY;
    const struct cv_ready_job costs = { .d = early ? fmin(job->costs.d, job->costs.c)
                                                   : job->costs.d,
                                        .c = job->costs.c,
                                        .model = job->costs.model };
    const struct cv_ready_steps steps = cv_ready_steps(&costs);
    const double rate = cv_ready_rate(steps.a, steps.b);
    double end_s, sum = 0;

    for (uint32_t k = 0; k < job->nworkers; k++)
        room[k] = 0;
    end_s = cv_joint_sizes(&job->load, job->order, job->nworkers, room, NULL, room);
    for (uint32_t k = 0; k < job->nworkers; k++)
        if (room[k] > 0)
            sum -= room[k] * log(room[k]);
    return isinf(rate) ? end_s : end_s + sum / rate;
}

static void run_joint(struct vector_case *c)
{
    struct cv_joint_job job = { .all = true };
    struct cv_joint_plan plan;
    struct cleave_error err;
    double *room, apart_s, load_s, bound_s;
    uint32_t used;

    if (!read_workers(c, &job))
        return;
    room = cv_array(c->arena, 2 * (size_t)job.nworkers, sizeof *room);
    if (room == NULL || !case_ok(c, cv_joint_plan(&job, c->arena, &plan, &err), &err) ||
        !case_ok(c, cv_joint_apart(&job, &apart_s, &used, &err), &err))
        return;
    load_s = cv_joint_sizes(&job.load, job.order, job.nworkers, room, NULL,
                            room + job.nworkers);
    expect_number(c, "load_only", load_s);
    expect_numbers(c, "y", room + job.nworkers, job.nworkers);
    expect_number(c, "separate", apart_s);
    expect_at_least(c, "optimum_all_workers", plan.end_s);
    expect_at_most(c, "algorithm", plan.end_s);
    expect_nothing(c, "algorithm_sizes");
    expect_nothing(c, "algorithm_parent");
    expect_nothing(c, "algorithm_reception");
    expect_number(c, "bound_entropy", entropy_bound(&job, room));
    if (case_ok(c, cv_joint_bound(&job, &bound_s, &err), &err))
        expect_at_least(c, "bound_any", bound_s);
    check_plan(c, &job, &plan);
    job.all = false;
    if (case_ok(c, cv_joint_plan(&job, c->arena, &plan, &err), &err)) {
        expect_at_most(c, "best_number", plan.end_s);
        check_plan(c, &job, &plan);
    }
}

static void run_star(struct vector_case *c)
{
    const uint32_t n = case_count(c, "N");
    struct cleave_worker *workers = cv_array(c->arena, n, sizeof *workers);
    uint32_t *order = cv_array(c->arena, n, sizeof *order), used;
    struct cv_joint_job job = { .nworkers = n, .order = order, .at_master = true };
    struct cv_joint_plan plan;
    struct cleave_error err;
    double apart_s;

    if (workers == NULL || order == NULL || c->result != CASE_PASSED) {
        case_fail(c, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        workers[i] = (struct cleave_worker){ .speed_ups = case_number(c, "S"),
                                             .bandwidth_ups = case_number(c, "bandwidth"),
                                             .compute_latency_s = case_number(c, "alpha"),
                                             .latency_s = case_number(c, "beta") };
    }
    job.load =
        (struct cv_joint_load){ workers, case_number(c, "W"), is_port(c, "multi") };
    job.duplex = is_port(c, "duplex");
    job.costs.d = case_number(c, "d");
    job.costs.c = case_number(c, "c");
    if (!case_ok(c, cv_joint_plan(&job, c->arena, &plan, &err), &err) ||
        !case_ok(c, cv_joint_apart(&job, &apart_s, &used, &err), &err))
        return;
    expect_number(c, "joint", plan.end_s);
    expect_number(c, "together", apart_s);
}

const struct case_kind joint_kinds[] = {
    { "tails", run_tails },
    { "joint", run_joint },
    { "star", run_star },
    { NULL, NULL },
};
