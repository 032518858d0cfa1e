/* stream_select.c -- which workers serve which of several streams, and who is left out.
 * SPDX-License-Identifier: MIT */
#include "select/streams/stream_select.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "select/knapsack/knapsack.h"
#include "select/streams/stream_search.h"

/* A throughput this near to the bound is the bound. */
static const double rounding = 1e-12;

static enum cleave_status check(const struct cv_stream_task *task,
                                struct cleave_error *err)
{
    const struct cv_stream_ring *ring = &task->ring;

    if (task->nstreams == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected one stream or more, got none");
    if (!(ring->tau_s > 0) || isinf(ring->tau_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected a positive period, got %g s",
                       ring->tau_s);
    if (!(ring->result_ratio >= 0) || isinf(ring->result_ratio))
        return cv_fail(err, CLEAVE_EINPUT, "expected a result ratio of 0 or more, got %g",
                       ring->result_ratio);
    for (uint32_t w = 0; w < ring->n; w++) {
        const double theta = cv_ring_theta(ring, w), margin = cv_ring_margin(ring, w);

        if (!(theta >= 0 && theta <= 1))
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected a first part between 0 and 1, got %g", theta);
        if (!(margin >= 0) || isinf(margin))
            return cv_fail(err, CLEAVE_EINPUT, "expected a margin of 0 or more, got %g",
                           margin);
    }
    return CLEAVE_OK;
}

static enum cleave_status choice_init(const struct cv_stream_task *task,
                                      struct cv_arena *arena,
                                      struct cv_stream_choice *out,
                                      struct cleave_error *err)
{
    const uint32_t n = task->ring.n, m = task->nstreams;

    *out = (struct cv_stream_choice){
        .nstreams = m,
        .first = cv_array(arena, (size_t)m + 1, sizeof *out->first),
        .members = cv_array(arena, n, sizeof *out->members),
        .delay = cv_array(arena, n, sizeof *out->delay),
        .delay_sum = cv_array(arena, m, sizeof *out->delay_sum),
        .stream_ups = cv_array(arena, m, sizeof *out->stream_ups),
        .stream_of = cv_array(arena, n, sizeof *out->stream_of),
        .reason = cv_array(arena, n, sizeof *out->reason),
    };
    if (out->first == NULL || out->members == NULL || out->delay == NULL ||
        out->delay_sum == NULL || out->stream_ups == NULL || out->stream_of == NULL ||
        out->reason == NULL)
        return cv_fail_memory(err, "the clusters");
    return CLEAVE_OK;
}

/* Who may be chosen at all: gives something, and fits into a round alone. */
static uint32_t sift(const struct cv_stream_field *field, uint32_t *out,
                     enum cv_left_why *reason)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w < field->ring.n; w++) {
        const double alone =
            cv_stream_delay(CV_DELAY_DERIVED, cv_ring_margin(&field->ring, w),
                            &field->times[w], &field->times[w]);

        reason[w] = !(field->profit[w] > 0)     ? CV_NO_GAIN
                    : alone > field->ring.tau_s ? CV_TOO_LONG
                                                : CV_LESS_VALUE;
        if (reason[w] == CV_LESS_VALUE)
            out[n++] = w;
    }
    return n;
}

/* The published weights: the delay behind the worst of those that may be chosen. */
static enum cleave_status pack_ring(struct cv_stream_field *field,
                                    const uint32_t *workers, uint32_t n, uint64_t work,
                                    struct cv_arena *arena, struct cv_stream_set *set,
                                    double *out_bound, struct cleave_error *err)
{
    struct cv_stream_times *times = cv_array(arena, n, sizeof *times);
    double *margin = cv_array(arena, n, sizeof *margin);
    double *tight = cv_array(arena, n, sizeof *tight);
    double *weight = cv_array(arena, field->ring.n, sizeof *weight);
    const struct cv_stream_ring some = { .n = n, .margin = margin };
    const struct cv_pack pack = { workers, n, weight, field->ring.tau_s, work };
    struct cv_pack_answer answer;

    if (times == NULL || margin == NULL || tight == NULL || weight == NULL)
        return cv_fail_memory(err, "the weights of workers");
    for (uint32_t i = 0; i < n; i++) {
        times[i] = field->times[workers[i]];
        margin[i] = cv_ring_margin(&field->ring, workers[i]);
    }
    cv_ring_tight_delays(&some, times, CV_DELAY_DERIVED, tight);
    for (uint32_t i = 0; i < n; i++)
        weight[workers[i]] = tight[i];
    CV_TRY(cv_stream_pack(field, &pack, set, &answer, err));
    *out_bound = answer.upper_bound;
    return CLEAVE_OK;
}

enum cleave_status cv_choice_replace(struct cv_stream_field *field,
                                     struct cv_stream_set *set, struct cv_arena *arena,
                                     struct cv_stream_choice *choice,
                                     struct cleave_error *err)
{
    double *delays = cv_array(arena, field->ring.n, sizeof *delays);

    if (delays == NULL)
        return cv_fail_memory(err, "the delays");
    choice->throughput = 0;
    choice->selected = 0;
    for (uint32_t w = 0; w < field->ring.n; w++) {
        choice->stream_of[w] = UINT32_MAX;
        choice->delay[w] = NAN;
        if (choice->reason[w] == CV_TAKEN)
            choice->reason[w] = CV_LESS_VALUE;
    }
    for (uint32_t m = 0; m < set->n; m++) {
        struct cv_stream_cluster *cluster = &set->clusters[m];

        if (!cv_cluster_order(field, cluster, delays))
            return cv_fail_memory(err, "the orders of service");
        for (uint32_t i = 0; i < cluster->n; i++) {
            const uint32_t w = cluster->members[i];

            choice->members[choice->first[m] + i] = w;
            choice->delay[w] = delays[i];
            choice->stream_of[w] = m;
            choice->reason[w] = CV_TAKEN;
        }
        choice->first[m + 1] = choice->first[m] + cluster->n;
        choice->delay_sum[m] = cv_stream_sum(delays, cluster->n);
        choice->stream_ups[m] = cv_cluster_throughput(field, cluster);
        choice->throughput += choice->stream_ups[m];
        choice->selected += cluster->n;
    }
    choice->optimal = choice->throughput >= choice->upper_bound * (1 - rounding);
    choice->upper_bound = fmax(choice->upper_bound, choice->throughput);
    return CLEAVE_OK;
}

static enum cleave_status choose(const struct cv_stream_task *task,
                                 struct cv_stream_field *field, struct cv_stream_set *set,
                                 struct cv_arena *arena, struct cv_stream_choice *out,
                                 struct cleave_error *err)
{
    const uint64_t work = task->work != 0 ? task->work : 2 * CV_KNAPSACK_SECOND;
    uint32_t *workers = cv_array(arena, field->ring.n, sizeof *workers);
    uint32_t n;

    if (workers == NULL || !cv_set_init(set, task->nstreams, arena))
        return cv_fail_memory(err, "the clusters");
    CV_TRY(choice_init(task, arena, out, err));
    n = sift(field, workers, out->reason);
    if (task->weights == CV_SELECT_RING)
        CV_TRY(pack_ring(field, workers, n, work, arena, set, &out->upper_bound, err));
    else
        CV_TRY(cv_stream_search(field, workers, n, work, set, &out->upper_bound, err));
    return cv_choice_replace(field, set, arena, out, err);
}

enum cleave_status cv_stream_select(const struct cv_stream_task *task,
                                    struct cv_arena *arena, struct cv_stream_choice *out,
                                    struct cleave_error *err)
{
    struct cv_stream_set set = { NULL, 0 };
    struct cv_stream_choice choice = { 0 };
    struct cv_stream_field field;
    enum cleave_status status;

    CV_TRY(check(task, err));
    if (cv_field_init(&field, &task->ring, arena, 0))
        status = choose(task, &field, &set, arena, &choice, err);
    else
        status = cv_fail_memory(err, "the times of workers");
    cv_set_done(&set);
    cv_field_done(&field);
    if (status == CLEAVE_OK)
        *out = choice;
    return status;
}
