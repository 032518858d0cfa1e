/* ready_times.c -- partials that become ready at given times: what trees take, and bounds.
 * SPDX-License-Identifier: MIT */
#include "model/ready/ready_times.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fail.h"
#include "model/reduce/reduce_tree.h"

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

static bool grow_array(struct cv_ready_run *run, struct cv_arena *arena, uint32_t n)
{
    double *piece =
        cv_array(arena, (size_t)n + 1, 2 * sizeof(double) + 2 * sizeof(uint32_t));

    if (piece == NULL)
        return false;
    run->done_s = piece;
    run->start_s = piece + n;
    run->first = (uint32_t *)(void *)(piece + 2 * (size_t)n);
    run->sender = run->first + n + 1;
    return true;
}

/* Senders in a row by receiver, by number or by their turns. */
static void link_senders(const uint32_t *parent, const uint32_t *turn, uint32_t n,
                         struct cv_ready_run *run, uint32_t *place)
{
    for (uint32_t i = 0; i < n; i++)
        if (parent[i] != CV_NO_NODE)
            run->first[parent[i] + 1]++;
    for (uint32_t i = 0; i < n; i++) {
        run->first[i + 1] += run->first[i];
        place[i] = run->first[i];
    }
    for (uint32_t i = 0; i < n; i++)
        if (parent[i] != CV_NO_NODE)
            run->sender[turn != NULL ? run->first[parent[i]] + turn[i]
                                     : place[parent[i]]++] = i;
}

static void receive_all(const struct cv_ready_job *job, bool in_turn,
                        struct cv_ready_run *run, uint32_t node)
{
    const uint32_t begin = run->first[node], end = run->first[node + 1];
    const double own_s = job->ready_s[node];
    double port_s = job->model == CLEAVE_READY_EARLY ? 0 : own_s, done_s = own_s;

    if (!in_turn)
        cv_tree_sort_senders(run->done_s, run->sender + begin, end - begin);
    for (uint32_t k = begin; k < end; k++) {
        const uint32_t sender = run->sender[k];

        port_s = fmax(port_s, run->done_s[sender]);
        if (job->model == CLEAVE_READY_MERGE)
            port_s = fmax(port_s, done_s);
        run->start_s[sender] = port_s;
        port_s += job->d;
        done_s = fmax(port_s, done_s) + job->c;
    }
    run->done_s[node] = done_s;
}

enum cleave_status cv_ready_execute(const struct cv_ready_job *job,
                                    const uint32_t *parent, const uint32_t *turn,
                                    struct cv_arena *arena, struct cv_ready_run *out,
                                    struct cleave_error *err)
{
    const uint32_t n = job->n;
    struct cv_ready_run run = { 0 };
    uint32_t *order = malloc(n * sizeof *order), known = 1;

    if (order == NULL || !grow_array(&run, arena, n)) {
        free(order);
        return cv_fail_memory(err, "the execution of a tree");
    }
    if (cv_tree_check(parent, n, &run.root, err) != CLEAVE_OK) {
        free(order);
        return CLEAVE_EINPUT;
    }
    link_senders(parent, turn, n, &run, order);
    order[0] = run.root;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = run.first[order[i]]; k < run.first[order[i] + 1]; k++)
            order[known++] = run.sender[k];
    for (uint32_t i = n; i-- > 0;)
        receive_all(job, turn != NULL, &run, order[i]);
    free(order);
    run.start_s[run.root] = NAN;
    run.length_s = run.done_s[run.root];
    *out = run;
    return CLEAVE_OK;
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
