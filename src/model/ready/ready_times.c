/* ready_times.c -- partials that become ready at given times: what trees take, and bounds.
 * SPDX-License-Identifier: MIT */
#include "model/ready/ready_times.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"

struct cv_ready_steps cv_ready_steps(const struct cv_ready_job *job)
{
    const double max = fmax(job->d, job->c), min = fmin(job->d, job->c);
    struct cv_ready_steps steps = { max, job->d + job->c, 0 };

    if (job->model == CLEAVE_READY_MERGE)
        steps.a = steps.b;
    else if (job->model == CLEAVE_READY_ABSENT)
        steps.mu = min;
    return steps;
}

bool cv_ready_is_exact(const struct cv_ready_job *job)
{
    return job->model != CLEAVE_READY_EARLY || job->d <= job->c;
}

enum cleave_status cv_ready_execute(const struct cv_ready_job *job,
                                    const uint32_t *parent, const uint32_t *turn,
                                    struct cv_arena *arena, struct cv_tree_run *out,
                                    struct cleave_error *err)
{
    const struct cv_tree_costs costs = { .transfer_s = job->d,
                                         .compute_s = job->c,
                                         .ready_s = job->ready_s,
                                         .model = job->model,
                                         .turn = turn };

    return cv_tree_run(parent, job->n, &costs, arena, out, err);
}

double cv_ready_rate(double a, double b)
{
    double low, high;

    if (!(b > 0))
        return INFINITY;
    low = log(2) / b;
    high = log(2) / a;
    for (int i = 0; i < 200 && low < high; i++) {
        const double middle = low / 2 + high / 2;

        if (middle <= low || middle >= high)
            break;
        if (exp(-middle * a) + exp(-middle * b) > 1)
            low = middle;
        else
            high = middle;
    }
    return low; /* the smaller end: the bound stays one */
}

double cv_ready_kraft(const struct cv_ready_job *job)
{
    const struct cv_ready_steps steps = cv_ready_steps(job);
    const double rate = cv_ready_rate(steps.a, steps.b);
    double last_s = job->ready_s[0], sum = 0;

    if (!cv_ready_is_exact(job))
        return -INFINITY;
    for (uint32_t i = 1; i < job->n; i++)
        last_s = fmax(last_s, job->ready_s[i]);
    if (isinf(rate))
        return last_s;
    for (uint32_t i = 0; i < job->n; i++)
        sum += exp(rate * (job->ready_s[i] - last_s));
    return last_s + log(sum) / rate;
}

/* Births of the shortest tree for equal times, before its end, by two queues: the old
 * chains and the fresh ones are each in order of time. */
static void births(const struct cv_ready_steps *steps, uint32_t n, double *out)
{
    uint32_t fresh = 0, again = 0;

    out[0] = 0;
    for (uint32_t i = 1; i < n; i++) {
        /* The chain grown at the k-th step continues A after it began that step, that is,
         * B - A before the child that was born then. */
        const double young = fresh < i ? out[fresh] : INFINITY;
        const double old =
            again + 1 < i ? out[again + 1] - steps->b + steps->a : INFINITY;

        if (young <= old)
            fresh++;
        else
            again++;
        out[i] = fmin(young, old) + steps->b;
    }
}

double cv_ready_prefix(const struct cv_ready_job *job, const double *sorted, double *room)
{
    const struct cv_ready_steps steps = cv_ready_steps(job);
    double bound = sorted[0];

    births(&steps, job->n, room);
    for (uint32_t i = 0; i < job->n; i++)
        bound = fmax(bound, sorted[i] + room[i]);
    if (job->n > 1)
        bound = fmax(bound,
                     sorted[0] + (job->model == CLEAVE_READY_EARLY ? job->c : steps.b));
    return bound;
}

double cv_ready_bound(const struct cv_ready_job *job)
{
    double *room = malloc(2 * (size_t)job->n * sizeof *room), bound;

    if (room == NULL)
        return NAN;
    for (uint32_t i = 0; i < job->n; i++)
        room[i] = job->ready_s[i];
    qsort(room, job->n, sizeof *room, cv_compare_doubles_down);
    bound = fmax(cv_ready_kraft(job), cv_ready_prefix(job, room, room + job->n));
    free(room);
    return bound;
}
