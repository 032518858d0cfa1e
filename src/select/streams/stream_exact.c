/* stream_exact.c -- the best clusters, proved, where there are few workers.
 * SPDX-License-Identifier: MIT
 *
 * Equal workers form a class; a cluster is a number of each. Classes are gone
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
#include "select/streams/stream_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"

enum { BOUNDS = 3 };

/* Part of each bound that a class uses. */
static const double data_part[BOUNDS] = { 1, 0, 0.5 };

struct kind {
    uint32_t first, count; /* of the workers, sorted */
    double profit, weight[BOUNDS];
};

struct search {
    struct cv_stream_field *field;
    uint32_t workers[CV_EXACT_WORKERS];
    struct kind kinds[CV_EXACT_WORKERS];
    uint32_t nkinds;
    uint32_t by_density[BOUNDS][CV_EXACT_WORKERS];
    struct cv_stream_cluster cluster;
    uint32_t best[CV_EXACT_WORKERS], nbest;
    double profit, value; /* of the cluster, and of the best one */
    bool found, gave_up;
    /* For several streams. */
    struct pattern *patterns; /* owned */
    size_t npatterns, room;
    uint32_t nstreams;
    uint16_t used[CV_EXACT_WORKERS]; /* per kind, as chosen: may exceed its count */
    uint32_t chosen[CV_EXACT_STREAMS], best_chosen[CV_EXACT_STREAMS];
};

/* How many of each kind are in a cluster. */
struct pattern {
    uint8_t of[CV_EXACT_WORKERS];
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
    bool taken[CV_EXACT_WORKERS] = { false };
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

    if (search->field->work < work + UINT64_C(100) * CV_EXACT_WORKERS ||
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

bool cv_stream_exact(struct cv_stream_field *field, const uint32_t *workers, uint32_t n,
                     struct cv_stream_cluster *best, double *value)
{
    struct search search = { .field = field, .value = *value };

    if (n > CV_EXACT_WORKERS)
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
    uint32_t next[CV_EXACT_WORKERS] = { 0 };

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

bool cv_stream_exact_set(struct cv_stream_field *field, const uint32_t *workers,
                         uint32_t n, struct cv_stream_set *best, double *value)
{
    struct search search = { .field = field, .value = *value, .nstreams = best->n };
    struct pattern none = { { 0 } };
    bool proved = false;

    if (n > CV_EXACT_WORKERS || best->n > CV_EXACT_STREAMS)
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
