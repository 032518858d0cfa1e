/* stream_pack.c -- put workers into clusters by weights that do not depend on the order.
 * SPDX-License-Identifier: MIT */
#include "select/streams/stream_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/fail.h"
#include "model/stream/stream_costs.h"
#include "select/knapsack/knapsack.h"

/* Work for one worker in the search of an order: sorting it three times. */
enum { WORK_PER_MEMBER = 60 };

bool cv_field_init(struct cv_stream_field *field, const struct cv_stream_ring *ring,
                   struct cv_arena *arena, uint64_t work)
{
    double *profit = cv_array(arena, ring->n, sizeof *profit);

    *field = (struct cv_stream_field){
        .ring = *ring,
        .times = cv_ring_times(ring, arena),
        .profit = profit,
        .least_margin = INFINITY,
        .work = work,
    };
    cv_arena_init(&field->scratch);
    if (profit == NULL || field->times == NULL)
        return false;
    for (uint32_t w = 0; w < ring->n; w++) {
        const double margin = cv_ring_margin(ring, w);

        profit[w] = cv_stream_profit(&ring->workers[w], ring->tau_s);
        field->least_margin = fmin(field->least_margin, margin);
        field->greatest_margin = fmax(field->greatest_margin, margin);
    }
    return true;
}

void cv_field_done(struct cv_stream_field *field)
{
    cv_arena_done(&field->scratch);
}

void cv_cluster_init(struct cv_stream_cluster *cluster)
{
    *cluster = (struct cv_stream_cluster){ .least_s = INFINITY };
}

void cv_cluster_done(struct cv_stream_cluster *cluster)
{
    free(cluster->members);
    cv_cluster_init(cluster);
}

void cv_cluster_clear(struct cv_stream_cluster *cluster)
{
    const struct cv_stream_cluster kept = *cluster;

    cv_cluster_init(cluster);
    cluster->members = kept.members;
    cluster->room = kept.room;
}

static void count_in(const struct cv_stream_field *field,
                     struct cv_stream_cluster *cluster, uint32_t worker)
{
    const struct cv_stream_times *times = &field->times[worker];
    const double send = cv_send_time(times), receive = cv_return_time(times);

    cluster->send_s += send;
    cluster->receive_s += receive;
    cluster->both_s += fmax(send, receive);
    cluster->least_s = fmin(cluster->least_s, times->return_first_s);
    cluster->greatest_s = fmax(cluster->greatest_s, times->return_first_s);
}

/* From scratch, so that sums do not drift when members come and go. */
static void recount(const struct cv_stream_field *field,
                    struct cv_stream_cluster *cluster)
{
    const struct cv_stream_cluster kept = *cluster;

    cv_cluster_clear(cluster);
    for (uint32_t i = 0; i < kept.n; i++)
        count_in(field, cluster, kept.members[i]);
    cluster->n = kept.n;
}

bool cv_cluster_add(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                    uint32_t worker)
{
    if (!CV_ROOM(cluster->members, &cluster->room, (size_t)cluster->n + 1)) {
        field->no_memory = true;
        return false;
    }
    cluster->members[cluster->n++] = worker;
    count_in(field, cluster, worker);
    return true;
}

void cv_cluster_remove(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                       uint32_t at)
{
    cluster->members[at] = cluster->members[--cluster->n];
    recount(field, cluster);
}

void cv_cluster_put(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                    uint32_t at, uint32_t worker)
{
    cluster->members[at] = worker;
    recount(field, cluster);
}

double cv_cluster_throughput(const struct cv_stream_field *field,
                             const struct cv_stream_cluster *cluster)
{
    double sum = 0;

    for (uint32_t i = 0; i < cluster->n; i++)
        sum += field->profit[cluster->members[i]];
    return sum;
}

/* The best order of the members as places, and their delays in that order, both in
 * field->scratch. */
static bool find_order(struct cv_stream_field *field,
                       const struct cv_stream_cluster *cluster, uint32_t **out_order,
                       double **out_delays)
{
    const uint32_t n = cluster->n;
    struct cv_stream_times *times;
    uint32_t *order;
    struct cv_cycle cycle;
    double base, cost, *delays;

    cv_arena_reset(&field->scratch);
    delays = cv_array(&field->scratch, n, sizeof *delays);
    times = cv_array(&field->scratch, n, sizeof *times);
    order = cv_array(&field->scratch, n, sizeof *order);
    for (uint32_t i = 0; times != NULL && i < n; i++)
        times[i] = field->times[cluster->members[i]];
    if (delays == NULL || times == NULL || order == NULL ||
        !cv_cycle_of_times(times, n, &field->scratch, &cycle, &base) ||
        !cv_cycle_best(&cycle, &field->scratch, order, &cost, NULL)) {
        field->no_memory = true;
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t own = order[i], before = order[i > 0 ? i - 1 : n - 1];
        const double margin = cv_ring_margin(&field->ring, cluster->members[own]);

        delays[i] = cv_stream_delay(margin, &times[before], &times[own]);
    }
    *out_order = order;
    *out_delays = delays;
    return true;
}

bool cv_cluster_order(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                      double *out_delays)
{
    uint32_t *order;
    double *delays;

    if (!find_order(field, cluster, &order, &delays))
        return false;
    for (uint32_t i = 0; i < cluster->n; i++) {
        order[i] = cluster->members[order[i]];
        out_delays[i] = delays[i];
    }
    if (cluster->n > 0)
        memcpy(cluster->members, order, cluster->n * sizeof *order);
    return true;
}

bool cv_cluster_fits(struct cv_stream_field *field,
                     const struct cv_stream_cluster *cluster)
{
    const double tau = field->ring.tau_s, slack = 1e-12 * tau;
    const double min = 1 + field->least_margin, max = 1 + field->greatest_margin;
    const uint64_t work = (uint64_t)cluster->n * WORK_PER_MEMBER;
    uint32_t *order;
    double *delays;

    if (cluster->n == 0)
        return true;
    if (min * fmax(cluster->send_s, cluster->receive_s) > tau + slack)
        return false;
    if (max * (cluster->both_s + cluster->greatest_s - cluster->least_s) <= tau - slack)
        return true;
    if (field->work < work || field->no_memory)
        return false;
    field->work -= work;
    return find_order(field, cluster, &order, &delays) &&
           cv_stream_sum(delays, cluster->n) <= tau;
}

bool cv_cluster_try_add(struct cv_stream_field *field, struct cv_stream_cluster *cluster,
                        uint32_t worker)
{
    const struct cv_stream_cluster kept = *cluster;

    if ((1 + field->least_margin) *
            fmax(kept.send_s + cv_send_time(&field->times[worker]),
                 kept.receive_s + cv_return_time(&field->times[worker])) >
        field->ring.tau_s * (1 + 1e-12))
        return false;
    if (!cv_cluster_add(field, cluster, worker))
        return false;
    if (cv_cluster_fits(field, cluster))
        return true;
    /* Adding may have moved the list; nothing else changed. */
    *cluster = (struct cv_stream_cluster){
        cluster->members, kept.n,      cluster->room, kept.send_s,
        kept.receive_s,   kept.both_s, kept.least_s,  kept.greatest_s,
    };
    return false;
}

bool cv_cluster_try_replace(struct cv_stream_field *field,
                            struct cv_stream_cluster *cluster, uint32_t at,
                            uint32_t worker)
{
    const struct cv_stream_cluster kept = *cluster;
    const uint32_t before = cluster->members[at];
    const struct cv_stream_times *in = &field->times[worker],
                                 *out = &field->times[before];

    if ((1 + field->least_margin) *
            fmax(kept.send_s + cv_send_time(in) - cv_send_time(out),
                 kept.receive_s + cv_return_time(in) - cv_return_time(out)) >
        field->ring.tau_s * (1 + 1e-12))
        return false;
    cv_cluster_put(field, cluster, at, worker);
    if (cv_cluster_fits(field, cluster))
        return true;
    *cluster = kept;
    cluster->members[at] = before;
    return false;
}

bool cv_set_init(struct cv_stream_set *set, uint32_t n, struct cv_arena *arena)
{
    set->clusters = cv_array(arena, n, sizeof *set->clusters);
    set->n = set->clusters != NULL ? n : 0;
    for (uint32_t m = 0; m < set->n; m++)
        cv_cluster_init(&set->clusters[m]);
    return set->clusters != NULL;
}

void cv_set_done(struct cv_stream_set *set)
{
    for (uint32_t m = 0; m < set->n; m++)
        cv_cluster_done(&set->clusters[m]);
}

void cv_set_clear(struct cv_stream_set *set)
{
    for (uint32_t m = 0; m < set->n; m++)
        cv_cluster_clear(&set->clusters[m]);
}

struct entry {
    double weight, profit;
    uint32_t worker;
};

static int by_kind(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    return cv_order(CV_COMPARE(a->weight, b->weight), CV_COMPARE(b->profit, a->profit),
                    CV_COMPARE(a->worker, b->worker));
}

/* Workers sorted by class. */
struct classes {
    struct entry *entries;
    struct cv_item_class *list;
    uint32_t *next; /* class -> its first entry that was not handed out */
    uint32_t n;
};

static bool classify(const struct cv_stream_field *field, const struct cv_pack *pack,
                     struct cv_arena *arena, struct classes *out)
{
    out->n = 0;
    if (!CV_NEW(arena, out->entries, pack->n) || !CV_NEW(arena, out->list, pack->n) ||
        !CV_NEW(arena, out->next, pack->n))
        return false;
    for (uint32_t i = 0; i < pack->n; i++) {
        const uint32_t w = pack->workers[i];

        out->entries[i] = (struct entry){ pack->weight[w], field->profit[w], w };
    }
    qsort(out->entries, pack->n, sizeof *out->entries, by_kind);
    for (uint32_t i = 0; i < pack->n; i++) {
        const struct entry *entry = &out->entries[i];
        struct cv_item_class *last = &out->list[out->n > 0 ? out->n - 1 : 0];

        if (out->n > 0 && last->weight == entry->weight &&
            last->profit == entry->profit) {
            last->count++;
            continue;
        }
        out->next[out->n] = i;
        out->list[out->n++] = (struct cv_item_class){ entry->weight, entry->profit, 1 };
    }
    return true;
}

static enum cleave_status hand_out(struct cv_stream_field *field, struct classes *classes,
                                   const struct cv_knapsack_answer *answer,
                                   struct cv_stream_set *set, struct cleave_error *err)
{
    for (uint32_t m = 0; m < set->n; m++)
        for (size_t p = answer->first[m]; p < answer->first[m + 1]; p++) {
            const struct cv_knapsack_part *part = &answer->parts[p];

            for (uint32_t i = 0; i < part->count; i++) {
                const uint32_t at = classes->next[part->item_class]++;

                if (!cv_cluster_add(field, &set->clusters[m],
                                    classes->entries[at].worker))
                    return cv_fail_memory(err, "the clusters");
            }
        }
    return CLEAVE_OK;
}

static enum cleave_status pack_in(struct cv_stream_field *field,
                                  const struct cv_pack *pack, struct cv_stream_set *set,
                                  struct cv_arena *arena, double *out_bound,
                                  struct cleave_error *err)
{
    struct cv_knapsack_answer answer;
    struct cv_knapsack problem;
    struct classes classes;

    if (!classify(field, pack, arena, &classes))
        return cv_fail_memory(err, "the classes of workers");
    problem = (struct cv_knapsack){
        .classes = classes.list,
        .nclasses = classes.n,
        .nbins = set->n,
        .capacity = pack->capacity,
    };
    CV_TRY(cv_knapsack_solve(&problem, pack->work, arena, &answer, err));
    CV_TRY(hand_out(field, &classes, &answer, set, err));
    *out_bound = answer.upper_bound;
    return CLEAVE_OK;
}

enum cleave_status cv_stream_pack(struct cv_stream_field *field,
                                  const struct cv_pack *pack, struct cv_stream_set *set,
                                  double *out_bound, struct cleave_error *err)
{
    enum cleave_status status;
    struct cv_arena arena;

    cv_set_clear(set);
    *out_bound = 0;
    if (pack->n == 0 || !(pack->capacity > 0))
        return CLEAVE_OK;
    cv_arena_init(&arena);
    status = pack_in(field, pack, set, &arena, out_bound, err);
    cv_arena_done(&arena);
    return status;
}

enum cleave_status cv_stream_pack_bound(struct cv_stream_field *field,
                                        const struct cv_pack *pack, uint32_t nclusters,
                                        double *out, struct cleave_error *err)
{
    enum cleave_status status;
    struct classes classes;
    struct cv_arena arena;

    cv_arena_init(&arena);
    if (classify(field, pack, &arena, &classes)) {
        const struct cv_knapsack problem = { .classes = classes.list,
                                             .nclasses = classes.n,
                                             .nbins = nclusters,
                                             .capacity = pack->capacity };

        status = cv_knapsack_surrogate_lp(&problem, out, err);
    } else {
        status = cv_fail_memory(err, "the classes of workers");
    }
    cv_arena_done(&arena);
    return status;
}
