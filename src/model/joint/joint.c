/* joint.c -- a load and the reduction of its results as one plan. SPDX-License-Identifier: MIT */
#include "model/joint/joint.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "model/reduce/reduce_length.h"

/* What is being tried: places of an order that gets shorter. */
struct trial {
    const struct cv_joint_job *job;
    uint32_t *order;
    uint32_t n;
    double *none; /* tails of 0            */
    double *sizes, *weights;
    struct cv_tail_tree tree;
    struct cv_tail_workspace *room;
};

static bool trial_room(struct trial *trial, struct cv_arena *arena)
{
    const uint32_t n = trial->job->nworkers;

    trial->order = cv_array(arena, n, sizeof *trial->order);
    trial->none = cv_array(arena, n, sizeof *trial->none);
    trial->sizes = cv_array(arena, n, sizeof *trial->sizes);
    trial->weights = cv_array(arena, n, sizeof *trial->weights);
    trial->tree.parent = cv_array(arena, n, sizeof *trial->tree.parent);
    trial->tree.turn = cv_array(arena, n, sizeof *trial->tree.turn);
    trial->tree.tails = cv_array(arena, n, sizeof *trial->tree.tails);
    if (trial->order == NULL || trial->none == NULL || trial->sizes == NULL ||
        trial->weights == NULL || trial->tree.parent == NULL ||
        trial->tree.turn == NULL || trial->tree.tails == NULL)
        return false;
    memcpy(trial->order, trial->job->order, n * sizeof *trial->order);
    trial->n = n;
    return true;
}

static void leave_out(struct trial *trial, uint32_t place)
{
    memmove(trial->order + place, trial->order + place + 1,
            (--trial->n - place) * sizeof *trial->order);
}

static uint32_t least_of(const double *values, uint32_t n)
{
    uint32_t min = 0;

    for (uint32_t k = 1; k < n; k++)
        if (values[k] < values[min])
            min = k;
    return min;
}

static void leave_out_weakest(struct trial *trial)
{
    cv_joint_sizes(&trial->job->load, trial->order, trial->n, trial->none, NULL,
                   trial->weights);
    leave_out(trial, least_of(trial->weights, trial->n));
}

/* --- at the master -------------------------------------------------------------------------- */

/* Seen from the end, a combination makes two partials of one, and so do `folders` of them
 * at a time; those made last are divided first. So with one folder the last one received
 * must be there c before the end, and each one before it c more, but the first two
 * together. The port takes one after the other, d each. */
static void star_tails(const struct cv_joint_job *job, uint32_t n, double *tails)
{
    const uint32_t folders = job->folders > 1 ? job->folders : 1;
    uint32_t fresh = 1, total = 1, left = n;
    double received_s = -job->costs.d;

    for (uint32_t level = 0; left > 0; level++) {
        uint32_t divided = fresh < folders ? fresh : folders;

        if (divided > n - total)
            divided = n - total;
        for (uint32_t k = divided; k < fresh; k++) {
            received_s = fmax(level * job->costs.c, received_s + job->costs.d);
            tails[--left] = received_s + job->costs.d;
        }
        fresh = 2 * divided;
        total += divided;
    }
}

/* The end when partials come back in the order of sending; INFINITY if a size is negative.
 * A port that serves one at a time takes none before it has sent all. */
static double try_star(struct trial *trial)
{
    const struct cv_joint_job *job = trial->job;
    double end_s, sent_s = 0;

    star_tails(job, trial->n, trial->tree.tails);
    end_s = cv_joint_sizes(&job->load, trial->order, trial->n, trial->tree.tails,
                           trial->sizes, trial->weights);
    if (trial->sizes[least_of(trial->sizes, trial->n)] < 0)
        return INFINITY;
    for (uint32_t k = 0; k < trial->n; k++) {
        const struct cleave_worker *worker = &job->load.workers[trial->order[k]];

        sent_s += worker->latency_s + trial->sizes[k] / worker->bandwidth_ups;
    }
    if (!job->load.multi && !job->duplex)
        end_s = fmax(end_s, trial->tree.tails[0] + sent_s);
    return end_s;
}

static double apart_star(struct trial *trial)
{
    const double load_s = cv_joint_sizes(&trial->job->load, trial->order, trial->n,
                                         trial->none, trial->sizes, NULL);

    star_tails(trial->job, trial->n, trial->tree.tails);
    return trial->sizes[least_of(trial->sizes, trial->n)] < 0
               ? INFINITY
               : load_s + trial->tree.tails[0];
}

/* --- along a tree ----------------------------------------------------------------------------- */

/* Who would get less than nothing leaves. */
static double try_tree(struct trial *trial)
{
    const struct cv_joint_load *load = &trial->job->load;
    double end_s;

    for (;;) {
        uint32_t min;

        cv_joint_sizes(load, trial->order, trial->n, trial->none, NULL, trial->weights);
        min = least_of(trial->weights, trial->n);
        if (trial->weights[min] <= 0 && trial->n > 1) {
            leave_out(trial, min);
            continue;
        }
        cv_tail_tree(trial->room, trial->weights, trial->n, &trial->tree);
        end_s = cv_joint_sizes(load, trial->order, trial->n, trial->tree.tails,
                               trial->sizes, NULL);
        min = least_of(trial->sizes, trial->n);
        if (trial->sizes[min] >= 0 || trial->n == 1)
            return end_s;
        leave_out(trial, min);
    }
}

static double load_only(struct trial *trial)
{
    const struct cv_joint_load *load = &trial->job->load;

    for (;;) {
        const double end_s = cv_joint_sizes(load, trial->order, trial->n, trial->none,
                                            trial->sizes, trial->weights);
        const uint32_t small = least_of(trial->sizes, trial->n);
        const uint32_t weak = least_of(trial->weights, trial->n);

        if (trial->n == 1 || (trial->sizes[small] >= 0 && trial->weights[weak] > 0))
            return end_s;
        leave_out(trial, trial->sizes[small] < 0 ? small : weak);
    }
}

static double apart_tree(struct trial *trial)
{
    const struct cv_tail_costs *costs = &trial->job->costs;
    const double load_s = load_only(trial);

    return load_s + (costs->model == CLEAVE_READY_MERGE
                         ? cv_ceil_log2(trial->n) * (costs->d + costs->c)
                         : cv_reduce_length(trial->n, costs->d, costs->c));
}

/* --- the best number ---------------------------------------------------------------------------- */

static bool keep(const struct trial *trial, double end_s, struct cv_arena *arena,
                 struct cv_joint_plan *out)
{
    const uint32_t n = trial->job->nworkers;

    if (out->order == NULL) {
        out->order = cv_array(arena, n, sizeof *out->order);
        out->sizes = cv_array(arena, n, sizeof *out->sizes);
        out->tails = cv_array(arena, n, sizeof *out->tails);
        out->weights = cv_array(arena, n, sizeof *out->weights);
        out->turn = cv_array(arena, n, sizeof *out->turn);
        if (!trial->job->at_master)
            out->parent = cv_array(arena, n, sizeof *out->parent);
        if (out->order == NULL || out->sizes == NULL || out->tails == NULL ||
            out->weights == NULL || out->turn == NULL ||
            (!trial->job->at_master && out->parent == NULL))
            return false;
    }
    out->end_s = end_s;
    out->used = trial->n;
    memcpy(out->order, trial->order, trial->n * sizeof *out->order);
    memcpy(out->sizes, trial->sizes, trial->n * sizeof *out->sizes);
    memcpy(out->tails, trial->tree.tails, trial->n * sizeof *out->tails);
    memcpy(out->weights, trial->weights, trial->n * sizeof *out->weights);
    for (uint32_t k = 0; k < trial->n; k++)
        out->turn[k] = trial->job->at_master ? k : trial->tree.turn[k];
    if (!trial->job->at_master)
        memcpy(out->parent, trial->tree.parent, trial->n * sizeof *out->parent);
    return true;
}

enum cleave_status cv_joint_plan(const struct cv_joint_job *job, struct cv_arena *arena,
                                 struct cv_joint_plan *out, struct cleave_error *err)
{
    struct trial trial = { .job = job };
    struct cv_joint_plan plan = { .end_s = INFINITY };
    bool ok = trial_room(&trial, arena);

    trial.room = ok ? cv_tail_room_new(arena, job->nworkers, &job->costs) : NULL;
    ok = trial.room != NULL;
    while (ok && trial.n > 0) {
        const double end_s = job->at_master ? try_star(&trial) : try_tree(&trial);

        if (end_s < plan.end_s)
            ok = keep(&trial, end_s, arena, &plan);
        if (trial.n == 1 || (job->all && isfinite(plan.end_s)))
            break;
        if (job->at_master)
            trial.n--;
        else
            leave_out_weakest(&trial);
        /* Fewer only take longer from here on. */
        if (!job->at_master && cv_joint_sizes(&job->load, trial.order, trial.n,
                                              trial.none, NULL, NULL) > plan.end_s)
            break;
    }
    cv_tail_room_done(trial.room);
    if (!ok)
        return cv_fail_memory(err, "a plan");
    *out = plan;
    return CLEAVE_OK;
}

enum cleave_status cv_joint_apart(const struct cv_joint_job *job, double *out_s,
                                  uint32_t *out_used, struct cleave_error *err)
{
    struct trial trial = { .job = job };
    struct cv_arena arena;
    double best_s = INFINITY;
    bool ok;

    cv_arena_init(&arena);
    ok = trial_room(&trial, &arena);
    while (ok && trial.n > 0) {
        const double end_s = job->at_master ? apart_star(&trial) : apart_tree(&trial);

        if (end_s < best_s) {
            best_s = end_s;
            *out_used = trial.n;
        }
        if (trial.n == 1 || (job->all && isfinite(best_s)))
            break;
        if (job->at_master)
            trial.n--;
        else
            leave_out_weakest(&trial);
    }
    cv_arena_done(&arena);
    *out_s = best_s;
    return ok ? CLEAVE_OK : cv_fail_memory(err, "a plan");
}
