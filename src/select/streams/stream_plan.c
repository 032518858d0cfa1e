/* stream_plan.c -- plan data streams: the public call. SPDX-License-Identifier: MIT
 *
 * The selection reckons with a port that sends and receives at once. Other rules of the
 * port are put into costs: where messages both ways share it, results are data that takes
 * as long; links that share no port take next to none of the master's time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/stream_plan.h>
#include "base/arena.h"
#include "base/argument.h"
#include "base/compare.h"
#include "base/fail.h"
#include "model/platform/argument_check.h"
#include "select/knapsack/knapsack.h"
#include "select/streams/stream_pack.h"
#include "select/streams/stream_select.h"

/* --- the best clusters, proved, where there are few workers ------------------------ */

/* Equal workers form a class; a cluster is a number of each. Classes are gone
 * through by decreasing throughput for the time taken, the largest numbers first. Since a
 * worker more never makes the delays shorter, what does not fit need not be looked into,
 * nor what cannot exceed the best cluster so far: in any order the data, the results, and
 * so their mean, take a round at most, and a knapsack of divisible workers bounds what
 * the classes to come may add to each of the three.
 * 
 * For several streams all clusters to which no worker can be added are listed first. With
 * P(i, c) workers of class c in the i-th of those chosen, and n(c) in all, they give
 * sum over c of profit(c) min(n(c), sum over i of P(i, c)), for clusters that are taken
 * from may only get shorter delays. One cluster more never adds more than it would have
 * added before: that bounds what those to come may add. */

/* More workers are not tried, nor more streams. */
enum { EXACT_WORKERS = 64, EXACT_STREAMS = 64, BOUNDS = 3 };

/* Part of each bound that a class uses. */
static const double data_part[BOUNDS] = { 1, 0, 0.5 };

struct kind {
    uint32_t first, count; /* range of the sorted workers */
    double profit, weight[BOUNDS];
};

struct search {
    struct cv_stream_field *field;
    uint32_t workers[EXACT_WORKERS];
    struct kind kinds[EXACT_WORKERS];
    uint32_t nkinds;
    uint32_t by_density[BOUNDS][EXACT_WORKERS];
    struct cv_stream_cluster cluster;
    uint32_t best[EXACT_WORKERS], nbest;
    double profit, value; /* profit of the cluster, and of the best cluster */
    bool found, gave_up;
    /* For several streams. */
    struct pattern *patterns; /* owned */
    size_t npatterns, room;
    uint32_t nstreams;
    uint16_t used[EXACT_WORKERS]; /* per kind, as chosen: may exceed its count */
    uint32_t chosen[EXACT_STREAMS], best_chosen[EXACT_STREAMS];
};

/* How many of each kind are in a cluster. */
struct pattern {
    uint8_t of[EXACT_WORKERS];
};

static bool alike(const struct cv_stream_field *field, uint32_t a, uint32_t b)
{
    const struct cv_stream_times *x = &field->times[a], *y = &field->times[b];

    return field->profit[a] == field->profit[b] && x->send_first_s == y->send_first_s &&
           x->send_second_s == y->send_second_s &&
           x->return_first_s == y->return_first_s &&
           x->return_second_s == y->return_second_s;
}

/* Put equal workers next to each other; there are few. */
static void classify(struct search *search, const uint32_t *workers, uint32_t n)
{
    const struct cv_stream_field *field = search->field;
    bool taken[EXACT_WORKERS] = { false };
    uint32_t placed = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct kind *kind = &search->kinds[search->nkinds];
        const struct cv_stream_times *times = &field->times[workers[i]];

        if (taken[i])
            continue;
        *kind = (struct kind){ .first = placed, .profit = field->profit[workers[i]] };
        for (int b = 0; b < BOUNDS; b++)
            kind->weight[b] =
                (1 + field->least_margin) * (data_part[b] * cv_send_time(times) +
                                             (1 - data_part[b]) * cv_return_time(times));
        for (uint32_t k = i; k < n; k++)
            if (!taken[k] && alike(field, workers[i], workers[k])) {
                taken[k] = true;
                search->workers[placed++] = workers[k];
                kind->count++;
            }
        search->nkinds++;
    }
}

/* By throughput for the time of the last bound, the mean of data and results. */
static int by_worth(const void *left, const void *right)
{
    const struct kind *a = left, *b = right;
    const double x = a->profit * b->weight[BOUNDS - 1];
    const double y = b->profit * a->weight[BOUNDS - 1];

    return cv_order(CV_COMPARE(y, x), CV_COMPARE(a->first, b->first), 0);
}

static void sort_kinds(struct search *search)
{
    qsort(search->kinds, search->nkinds, sizeof *search->kinds, by_worth);
    for (int b = 0; b < BOUNDS; b++)
        for (uint32_t i = 0; i < search->nkinds; i++) {
            const struct kind *kind = &search->kinds[i];
            uint32_t at = i;

            for (; at > 0; at--) {
                const struct kind *other = &search->kinds[search->by_density[b][at - 1]];

                if (other->profit * kind->weight[b] >= kind->profit * other->weight[b])
                    break;
                search->by_density[b][at] = search->by_density[b][at - 1];
            }
            search->by_density[b][at] = i;
        }
}

/* The most that kinds from `next` on may add. */
static double most_added(const struct search *search, uint32_t next)
{
    const struct cv_stream_field *field = search->field;
    const double stretch = 1 + field->least_margin;
    double max = INFINITY;

    for (int b = 0; b < BOUNDS; b++) {
        double left = field->ring.tau_s * (1 + 1e-12) -
                      stretch * (data_part[b] * search->cluster.send_s +
                                 (1 - data_part[b]) * search->cluster.receive_s);
        double sum = 0;

        for (uint32_t i = 0; i < search->nkinds && left > 0; i++) {
            const uint32_t at = search->by_density[b][i];
            const struct kind *kind = &search->kinds[at];
            double taken = kind->count;

            if (at < next)
                continue;
            if (kind->weight[b] * taken > left)
                taken = left / kind->weight[b];
            sum += taken * kind->profit;
            left -= taken * kind->weight[b];
        }
        max = fmin(max, sum);
    }
    return max;
}

static void keep(struct search *search)
{
    if (!(search->profit > search->value * (1 + 1e-12)))
        return;
    search->value = search->profit;
    search->found = true;
    search->nbest = search->cluster.n;
    for (uint32_t i = 0; i < search->cluster.n; i++)
        search->best[i] = search->cluster.members[i];
}

/* Work is spent for `looks` at all kinds, and for a test of an order afterwards. */
static bool may_go_on(struct search *search, uint64_t looks)
{
    const uint64_t work = looks * search->nkinds;

    if (search->field->work < work + UINT64_C(100) * EXACT_WORKERS ||
        search->field->no_memory)
        search->gave_up = true;
    else
        search->field->work -= work;
    return !search->gave_up;
}

/* Add as many of a kind as fit. */
static uint32_t fill_up(struct search *search, const struct kind *kind)
{
    uint32_t added = 0;

    while (added < kind->count && may_go_on(search, BOUNDS) &&
           cv_cluster_try_add(search->field, &search->cluster,
                              search->workers[kind->first + added]))
        added++;
    return added;
}

/* All numbers of kind `at`, the largest first; earlier kinds are chosen. */
static void look_into(struct search *search, uint32_t at)
{
    const struct kind *kind = &search->kinds[at];
    const double profit = search->profit;
    uint32_t added;

    if (at == search->nkinds) {
        keep(search);
        return;
    }
    if (profit + most_added(search, at) <= search->value * (1 + 1e-12))
        return;
    for (added = fill_up(search, kind);; added--) {
        search->profit = profit + added * kind->profit;
        if (!search->gave_up)
            look_into(search, at + 1);
        if (added == 0)
            break;
        cv_cluster_remove(search->field, &search->cluster, search->cluster.n - 1);
    }
    search->profit = profit;
}

static void open_search(struct search *search, const uint32_t *workers, uint32_t n)
{
    cv_cluster_init(&search->cluster);
    classify(search, workers, n);
    sort_kinds(search);
}

/* Look through all clusters of some of these workers, in their best orders, that give
 * more than *value; margins are the same for all. The best of them, if there is one, goes
 * to `best` and its throughput to *value. True when all have been looked through: then no
 * cluster gives more than *value. False when field->work or memory (field->no_memory) did
 * not last. */
static bool exact_cluster(struct cv_stream_field *field, const uint32_t *workers,
                          uint32_t n, struct cv_stream_cluster *best, double *value)
{
    struct search search = { .field = field, .value = *value };

    if (n > EXACT_WORKERS)
        return false;
    open_search(&search, workers, n);
    look_into(&search, 0);
    cv_cluster_done(&search.cluster);
    if (search.found) {
        cv_cluster_clear(best);
        for (uint32_t i = 0; i < search.nbest; i++)
            if (!cv_cluster_add(field, best, search.best[i]))
                return false;
        *value = search.value;
    }
    return !search.gave_up && !field->no_memory;
}

/* Whether no worker can be added to the cluster. */
static bool is_full(struct search *search, const struct pattern *pattern)
{
    for (uint32_t k = 0; k < search->nkinds; k++) {
        const struct kind *kind = &search->kinds[k];

        if (pattern->of[k] == kind->count)
            continue;
        if (!may_go_on(search, 1))
            return false;
        if (cv_cluster_try_add(search->field, &search->cluster,
                               search->workers[kind->first + pattern->of[k]])) {
            cv_cluster_remove(search->field, &search->cluster, search->cluster.n - 1);
            return false;
        }
    }
    return true;
}

static void list_pattern(struct search *search, const struct pattern *pattern)
{
    if (!is_full(search, pattern))
        return;
    if (!CV_ROOM(search->patterns, &search->room, search->npatterns + 1)) {
        search->field->no_memory = search->gave_up = true;
        return;
    }
    search->patterns[search->npatterns++] = *pattern;
}

static void list_patterns(struct search *search, uint32_t at, struct pattern *pattern)
{
    uint32_t added;

    if (at == search->nkinds) {
        list_pattern(search, pattern);
        return;
    }
    for (added = fill_up(search, &search->kinds[at]);; added--) {
        pattern->of[at] = (uint8_t)added;
        if (!search->gave_up)
            list_patterns(search, at + 1, pattern);
        if (added == 0)
            break;
        cv_cluster_remove(search->field, &search->cluster, search->cluster.n - 1);
    }
    pattern->of[at] = 0;
}

/* Throughput that a cluster adds to the chosen ones. */
static double adds(const struct search *search, const struct pattern *pattern)
{
    double sum = 0;

    for (uint32_t k = 0; k < search->nkinds; k++) {
        const struct kind *kind = &search->kinds[k];
        const uint32_t left =
            kind->count > search->used[k] ? kind->count - search->used[k] : 0;

        sum += kind->profit * (pattern->of[k] < left ? pattern->of[k] : left);
    }
    return sum;
}

/* Choose clusters for streams from `stream` among patterns from `first`. */
static void cover(struct search *search, uint32_t stream, size_t first)
{
    const double profit = search->profit;
    double max = 0;

    if (profit > search->value * (1 + 1e-12)) {
        search->value = profit;
        search->found = true;
        search->nbest = stream;
        memcpy(search->best_chosen, search->chosen, sizeof search->chosen);
    }
    if (stream == search->nstreams || first == search->npatterns ||
        !may_go_on(search, search->npatterns - first))
        return;
    for (size_t p = first; p < search->npatterns; p++)
        max = fmax(max, adds(search, &search->patterns[p]));
    if (profit + (search->nstreams - stream) * max <= search->value * (1 + 1e-12))
        return;
    for (size_t p = first; p < search->npatterns && !search->gave_up; p++) {
        const struct pattern *pattern = &search->patterns[p];
        const double more = adds(search, pattern);

        if (!(more > 0))
            continue;
        for (uint32_t k = 0; k < search->nkinds; k++)
            search->used[k] = (uint16_t)(search->used[k] + pattern->of[k]);
        search->chosen[stream] = (uint32_t)p;
        search->profit = profit + more;
        cover(search, stream + 1, p);
        for (uint32_t k = 0; k < search->nkinds; k++)
            search->used[k] = (uint16_t)(search->used[k] - pattern->of[k]);
    }
    search->profit = profit;
}

/* Hand the workers out to the clusters chosen. */
static bool hand_out(struct search *search, struct cv_stream_set *best)
{
    uint32_t next[EXACT_WORKERS] = { 0 };

    cv_set_clear(best);
    for (uint32_t m = 0; m < search->nbest; m++) {
        const struct pattern *pattern = &search->patterns[search->best_chosen[m]];

        for (uint32_t k = 0; k < search->nkinds; k++)
            for (uint32_t i = 0; i < pattern->of[k]; i++) {
                const struct kind *kind = &search->kinds[k];

                if (next[k] < kind->count &&
                    !cv_cluster_add(search->field, &best->clusters[m],
                                    search->workers[kind->first + next[k]++]))
                    return false;
            }
    }
    return true;
}

/* exact_cluster for all clusters of a set. */
static bool exact_set(struct cv_stream_field *field, const uint32_t *workers, uint32_t n,
                      struct cv_stream_set *best, double *value)
{
    struct search search = { .field = field, .value = *value, .nstreams = best->n };
    struct pattern none = { { 0 } };
    bool proved = false;

    if (n > EXACT_WORKERS || best->n > EXACT_STREAMS)
        return false;
    open_search(&search, workers, n);
    list_patterns(&search, 0, &none);
    cv_cluster_done(&search.cluster);
    if (!search.gave_up) {
        cover(&search, 0, 0);
        proved = !search.gave_up;
    }
    if (search.found && hand_out(&search, best))
        *value = search.value;
    free(search.patterns);
    return proved && !field->no_memory;
}

/* --- plan data streams: the public call -------------------------------------------- */

/* Streams within this part of their shares are served alike. */
static const double TOLERANCE = 0.01;

struct owned_plan {
    struct cleave_stream_plan plan; /* first: this is what callers hold */
    struct cleave_stream *clusters;
    struct cleave_plan_stream *streams;
    struct cleave_plan_worker *workers;
    struct cv_arena arena;
};

static enum cleave_status check_task(const struct cleave_stream_task *task,
                                     struct cleave_error *err)
{
    if (task->nstreams == 0)
        return cv_fail(err, CLEAVE_EINPUT, "expected 1 or more streams, got 0");
    if (!(task->period_s >= 0) || isinf(task->period_s))
        return cv_fail(err, CLEAVE_EINPUT, "expected a positive period, got %g s",
                       task->period_s);
    if (!(task->theta >= 0 && task->theta < 1))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a first part between 0 and 1, got %g", task->theta);
    if (!(task->margin >= 0) || isinf(task->margin))
        return cv_fail(err, CLEAVE_EINPUT, "expected a margin of 0 or more, got %g",
                       task->margin);
    for (uint32_t w = 0;
         task->margins != NULL && w < cleave_platform_nworkers(task->platform); w++)
        if (!(task->margins[w] >= 0) || isinf(task->margins[w]))
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected margins of 0 or more, got %g for worker %u",
                           task->margins[w], w);
    if (!(task->result_ratio >= 0) || isinf(task->result_ratio))
        return cv_fail(err, CLEAVE_EINPUT, "expected a result ratio of 0 or more, got %g",
                       task->result_ratio);
    if (!(task->declared_factor >= 0) || isinf(task->declared_factor))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a positive factor of declared speeds, got %g",
                       task->declared_factor);
    return CLEAVE_OK;
}

/* The plan in the making. */
struct planning {
    const struct cleave_stream_task *request;
    enum cleave_port port;
    struct cv_stream_task task; /* for the selection                                    */
    struct cleave_worker *workers;
    double *theta; /* per worker                                                        */
    double *master_s; /* per worker: its time of a round, the best one before it */
    /* of chosen workers: units per second, per second of a master */
    double least_density;
    struct cv_stream_choice choice;
    struct cv_arena arena;
};

static enum cleave_status make_task(struct planning *planning, struct cleave_error *err)
{
    const struct cleave_stream_task *request = planning->request;
    const struct cleave_worker *all = cleave_platform_workers(request->platform);
    const uint32_t n = cleave_platform_nworkers(request->platform);
    const double factor = request->declared_factor > 0 ? request->declared_factor : 1;
    struct cleave_worker *workers;
    double *theta, *margin;

    if (!CV_NEW(&planning->arena, workers, n) || !CV_NEW(&planning->arena, theta, n) ||
        !CV_NEW(&planning->arena, margin, n) ||
        !CV_NEW(&planning->arena, planning->master_s, n))
        return cv_fail_memory(err, "the workers of the streams");
    planning->workers = workers;
    planning->theta = theta;
    for (uint32_t w = 0; w < n; w++) {
        workers[w] = cv_stream_as_duplex(all[w], planning->port, request->result_ratio);
        workers[w].speed_ups *= factor;
        theta[w] = request->theta > 0 ? request->theta : 0.5;
        margin[w] = request->margins != NULL ? request->margins[w] : request->margin;
    }
    planning->task = (struct cv_stream_task){
        .ring = { .workers = workers,
                  .n = n,
                  .tau_s = request->period_s,
                  /* On a port that is shared, results are in the data already. */
                  .result_ratio =
                      planning->port == CLEAVE_PORT_ONE ? 0 : request->result_ratio,
                  .theta = theta,
                  .margin = margin },
        .nstreams = request->nstreams,
        .weights =
            request->weights == CLEAVE_WEIGHTS_RING ? CV_SELECT_RING : CV_SELECT_OWN,
        .work = request->work,
    };
    return CLEAVE_OK;
}

static enum cleave_status choose_period(struct planning *planning,
                                        struct cleave_error *err)
{
    struct cv_stream_task probe = planning->task;

    /* Links that share no port: as if everyone had a master. */
    if (planning->port == CLEAVE_PORT_MULTI)
        probe.nstreams = probe.ring.n;
    return cv_stream_period(&probe, &planning->task.ring.tau_s, err);
}

/* With the period known: the parts sent first, as a run moves them. */
static void move_theta(struct planning *planning)
{
    const struct cleave_stream_task *request = planning->request;
    const struct cleave_worker *all = cleave_platform_workers(request->platform);
    const double tau_s = planning->task.ring.tau_s;

    for (uint32_t w = 0; w < planning->task.ring.n; w++) {
        struct cleave_worker worker = all[w];

        worker.speed_ups = planning->workers[w].speed_ups;
        if (!(request->result_ratio > 0))
            worker.return_latency_s =
                0; /* without results there is no latency of returns */
        if (cv_stream_load(&worker, tau_s) > 0)
            planning->theta[w] =
                cv_theta_moved(&worker, planning->port, request->result_ratio,
                               cv_stream_load(&worker, tau_s), planning->theta[w]);
    }
}

/* With the period known: what workers take of a master's time. */
static enum cleave_status weigh(struct planning *planning, struct cleave_error *err)
{
    const struct cv_stream_ring *ring = &planning->task.ring;
    const struct cv_stream_times *times = cv_ring_times(ring, &planning->arena);

    if (times == NULL)
        return cv_fail_memory(err, "the times of workers");
    for (uint32_t w = 0; w < ring->n; w++) {
        struct cleave_worker *worker = &planning->workers[w];
        const double time_s = (1 + cv_ring_margin(ring, w)) *
                              fmax(cv_send_time(&times[w]), cv_return_time(&times[w]));

        planning->master_s[w] = time_s;
        if (planning->port != CLEAVE_PORT_MULTI || time_s > ring->tau_s)
            continue;
        worker->bandwidth_ups *= ring->n;
        worker->return_bandwidth_ups *= ring->n;
        worker->latency_s /= ring->n;
        worker->return_latency_s /= ring->n;
    }
    return CLEAVE_OK;
}

static enum cleave_status choose(struct planning *planning, struct cleave_error *err)
{
    const uint32_t m = planning->request->nstreams;
    double *demands;

    /* The published weights ignore shares: levelling would add workers that they left out. */
    if (planning->request->shares == CLEAVE_SHARES_ANY || m == 1 ||
        (planning->task.weights == CV_SELECT_RING && planning->request->demands == NULL))
        return cv_stream_select(&planning->task, &planning->arena, &planning->choice,
                                err);
    if (!CV_NEW(&planning->arena, demands, m))
        return cv_fail_memory(err, "the demands of the streams");
    for (uint32_t i = 0; i < m; i++)
        demands[i] =
            planning->request->demands != NULL ? planning->request->demands[i] : 1;
    return cv_stream_select_demand(&planning->task, demands, TOLERANCE, &planning->arena,
                                   &planning->choice, err);
}

/* Few workers can be looked through. Clusters that are better than those found are rare,
 * and then matter more than shares. */
static enum cleave_status prove(struct planning *planning, struct cv_stream_field *field,
                                struct cv_stream_set *set, struct cleave_error *err)
{
    struct cv_stream_choice *choice = &planning->choice;
    uint32_t workers[EXACT_WORKERS], n = 0;
    double value = choice->throughput;
    bool proved;

    for (uint32_t w = 0; w < planning->task.ring.n; w++)
        if (choice->reason[w] == CV_TAKEN || choice->reason[w] == CV_LESS_VALUE)
            workers[n++] = w;
    proved = set->n == 1 ? exact_cluster(field, workers, n, &set->clusters[0], &value)
                         : exact_set(field, workers, n, set, &value);
    if (field->no_memory)
        return cv_fail_memory(err, "the clusters");
    if (value > choice->throughput)
        CV_TRY(cv_choice_replace(field, set, &planning->arena, choice, err));
    if (proved) {
        choice->upper_bound = choice->throughput;
        choice->optimal = true;
    }
    return CLEAVE_OK;
}

static enum cleave_status prove_small(struct planning *planning, struct cleave_error *err)
{
    const uint64_t work = planning->request->work;
    struct cv_stream_set set = { NULL, 0 };
    struct cv_stream_field field;
    enum cleave_status status;

    if (planning->choice.optimal || planning->task.weights == CV_SELECT_RING ||
        planning->task.ring.n > EXACT_WORKERS)
        return CLEAVE_OK;
    if (cv_field_init(&field, &planning->task.ring, &planning->arena,
                      work != 0 ? work / 4 : CV_KNAPSACK_SECOND / 2) &&
        cv_set_init(&set, planning->task.nstreams, &planning->arena))
        status = prove(planning, &field, &set, err);
    else
        status = cv_fail_memory(err, "the clusters");
    cv_set_done(&set);
    cv_field_done(&field);
    return status;
}

static double gives(const struct planning *planning, uint32_t w)
{
    return fmax(0, cv_stream_profit(&planning->workers[w], planning->task.ring.tau_s));
}

/* Why a worker is left out. */
static const char *say_why(const struct planning *planning, uint32_t w,
                           struct cv_arena *arena)
{
    const double tau_s = planning->task.ring.tau_s, time_s = planning->master_s[w];
    const enum cv_left_why reason = planning->choice.reason[w];
    char text[200];

    if (reason == CV_NO_GAIN)
        snprintf(text, sizeof text,
                 "its two latencies of computing take %.6g s of a round of %.6g s",
                 2 * planning->workers[w].compute_latency_s, tau_s);
    else if (reason == CV_TOO_LONG)
        snprintf(text, sizeof text,
                 "its messages of a round take %.6g s, the round lasts %.6g s", time_s,
                 tau_s);
    else if (planning->task.weights == CV_SELECT_RING)
        snprintf(text, sizeof text,
                 "%.4g units/s; those chosen give more, as the published weights reckon",
                 gives(planning, w));
    else
        snprintf(text, sizeof text,
                 "%.4g units/s for %.4g s of a master's time in each round: %s",
                 gives(planning, w), time_s,
                 gives(planning, w) < planning->least_density * time_s
                     ? "those chosen give more for it"
                     : "no master has that left");
    return cv_arena_text(arena, text);
}

/* A chosen worker has memory for its chunks. */
static enum cleave_status check_memory(const struct planning *planning, uint32_t w,
                                       struct cleave_error *err)
{
    const struct cleave_platform *platform = planning->request->platform;
    const double tau_s = planning->task.ring.tau_s, theta = planning->theta[w];
    const double memory = cleave_platform_memory(platform, w);
    const double part =
        fmax(theta, 1 - theta) * cv_stream_load(&planning->workers[w], tau_s);

    if (part <= memory * (1 + 1e-12))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EINPUT,
        "worker '%s' is to be sent %.6g units at once in rounds of %.6g s, and "
        "has memory for %.6g: expected a shorter period",
        cleave_platform_worker_name(platform, w), part, tau_s, memory);
}

static enum cleave_status fill_workers(struct planning *planning,
                                       struct owned_plan *owned, struct cleave_error *err)
{
    const struct cv_stream_choice *choice = &planning->choice;
    const bool own_links = planning->port == CLEAVE_PORT_MULTI;

    for (uint32_t w = 0; w < planning->task.ring.n; w++) {
        struct cleave_plan_worker *worker = &owned->workers[w];

        *worker = (struct cleave_plan_worker){
            .delay_s = own_links && !isnan(choice->delay[w]) ? 0 : choice->delay[w],
            .start_s = NAN,
            .throughput_ups = gives(planning, w),
            .theta = planning->theta[w],
            .stream = choice->stream_of[w],
        };
        if (choice->reason[w] == CV_TAKEN) {
            CV_TRY(check_memory(planning, w, err));
            continue;
        }
        worker->reason = say_why(planning, w, &owned->arena);
        if (worker->reason == NULL)
            return cv_fail_memory(err, "why workers are left out");
    }
    return CLEAVE_OK;
}

static void fill_stream(const struct planning *planning, struct owned_plan *owned,
                        uint32_t *members, uint32_t m, double total_demand)
{
    const double *demands = planning->request->demands;
    const struct cv_stream_choice *choice = &planning->choice;
    const uint32_t from = choice->first[m], to = choice->first[m + 1];
    double start_s = 0;

    owned->clusters[m] = (struct cleave_stream){ &members[from], to - from };
    for (uint32_t i = from; i < to; i++) {
        struct cleave_plan_worker *worker = &owned->workers[choice->members[i]];

        members[i] = choice->members[i];
        if (i > from)
            start_s += worker->delay_s;
        worker->start_s = start_s;
    }
    owned->streams[m] = (struct cleave_plan_stream){
        .throughput_ups = choice->stream_ups[m],
        .wanted_ups =
            choice->throughput * (demands != NULL ? demands[m] : 1) / total_demand,
        .delay_sum_s = to > from ? start_s + owned->workers[members[from]].delay_s : 0,
    };
}

static enum cleave_status fill_plan(struct planning *planning, struct owned_plan *owned,
                                    struct cleave_error *err)
{
    const struct cv_stream_choice *choice = &planning->choice;
    const uint32_t n = planning->task.ring.n, m = choice->nstreams;
    uint32_t *members = cv_array(&owned->arena, choice->selected, sizeof *members);
    double total_demand = m;

    if (members == NULL || !CV_NEW(&owned->arena, owned->clusters, m) ||
        !CV_NEW(&owned->arena, owned->streams, m) ||
        !CV_NEW(&owned->arena, owned->workers, n))
        return cv_fail_memory(err, "the plan of the streams");
    planning->least_density = INFINITY;
    for (uint32_t i = 0; i < choice->selected; i++) {
        const uint32_t w = choice->members[i];

        planning->least_density =
            fmin(planning->least_density, gives(planning, w) / planning->master_s[w]);
    }
    if (planning->request->demands != NULL)
        total_demand = cv_stream_sum(planning->request->demands, m);
    CV_TRY(fill_workers(planning, owned, err));
    owned->plan = (struct cleave_stream_plan){
        .period_s = planning->task.ring.tau_s,
        .period_chosen = !(planning->request->period_s > 0),
        .throughput_ups = choice->throughput,
        .upper_bound_ups = choice->upper_bound,
        .optimal = choice->optimal,
        .selected = choice->selected,
        .nworkers = n,
        .nstreams = m,
        .least_share = INFINITY,
        .clusters = owned->clusters,
        .streams = owned->streams,
        .workers = owned->workers,
    };
    for (uint32_t i = 0; i < m; i++) {
        const struct cleave_plan_stream *stream = &owned->streams[i];

        fill_stream(planning, owned, members, i, total_demand);
        owned->plan.least_share =
            fmin(owned->plan.least_share,
                 stream->wanted_ups > 0 ? stream->throughput_ups / stream->wanted_ups
                                        : 0);
    }
    return CLEAVE_OK;
}

static enum cleave_status plan_streams(struct planning *planning,
                                       struct owned_plan *owned, struct cleave_error *err)
{
    CV_TRY(check_task(planning->request, err));
    CV_TRY(make_task(planning, err));
    if (!(planning->request->period_s > 0))
        CV_TRY(choose_period(planning, err));
    move_theta(planning);
    CV_TRY(weigh(planning, err));
    CV_TRY(choose(planning, err));
    CV_TRY(prove_small(planning, err));
    return fill_plan(planning, owned, err);
}

enum cleave_status cleave_plan_streams(const struct cleave_stream_task *task,
                                       struct cleave_stream_plan **out,
                                       struct cleave_error *err)
{
    struct owned_plan *owned;
    struct planning planning = { .request = task };
    enum cleave_status status;

    CV_TRY(cv_check_stream_task(task, err));
    CV_EXPECT_POINTER(out, err, "out");
    planning.port = cleave_platform_port(task->platform);
    owned = calloc(1, sizeof *owned);
    if (owned == NULL)
        return cv_fail_memory(err, "the plan of the streams");
    cv_arena_init(&owned->arena);
    cv_arena_init(&planning.arena);
    status = plan_streams(&planning, owned, err);
    cv_arena_done(&planning.arena);
    if (status != CLEAVE_OK) {
        cleave_stream_plan_free(&owned->plan);
        return status;
    }
    *out = &owned->plan;
    return CLEAVE_OK;
}

void cleave_stream_plan_free(struct cleave_stream_plan *plan)
{
    struct owned_plan *owned = (struct owned_plan *)plan;

    if (owned == NULL)
        return;
    cv_arena_done(&owned->arena);
    free(owned);
}
