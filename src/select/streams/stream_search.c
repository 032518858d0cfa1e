/* stream_search.c -- clusters in any order of service, of most throughput.
 * SPDX-License-Identifier: MIT
 *
 * Trials: pack by the mixture of data and results with the least bound, in rounds that become
 * shorter while the clusters do not fit; then by max(data, results) among the workers whose
 * first result is not above a limit, for several limits; then cut the densest workers, by
 * their first result, into bands. After each, clusters that do not fit lose their least
 * dense members, workers that fit are added by density, and exchanges are made. The best trial
 * is kept. */
#include "select/streams/stream_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/fail.h"

/* A throughput this near to the bound is the bound. */
static const double rounding = 1e-12;

enum {
    REMEMBERED = 16, /* workers that spare tests of others like them */
    MIXTURES = 8,    /* mu = 0/8 .. 8/8 are tried for the bound */
    SHRINKS = 3,     /* packings in shorter and shorter rounds  */
    LIMITS = 8,      /* on the first results                    */
    MANY = 20000,    /* workers above which there is one trial of each kind */
    /* Shares of the work: one for each packing and each finished trial. */
    BAND_SHARES = 2,
    IMPROVE_SHARES = 4,
    PHASES = 2 * (SHRINKS + LIMITS + BAND_SHARES) + IMPROVE_SHARES,
};

struct search {
    struct cv_stream_field *field;
    const uint32_t *workers; /* to choose from                          */
    uint32_t n;
    struct cv_stream_set *trial;
    struct cv_arena *arena;
    double *weight;  /* per worker of the field: weight in the pack    */
    double *price;   /* per worker: the best mixture            */
    uint32_t *dense; /* workers by decreasing profit per price  */
    bool *taken;     /* per worker: in a cluster of the trial   */
    uint32_t *list;  /* scratch for n workers                   */
    double *delays;  /* delays of a cluster                     */
    uint32_t *best;  /* per worker: its cluster; UINT32_MAX     */
    double best_ups, bound;
    uint64_t share; /* work of one phase */
};

bool cv_sort_by_density(uint32_t *workers, uint32_t n, const double *value,
                        const double *price)
{
    struct cv_ranked *list = malloc((n > 0 ? n : 1) * sizeof *list);

    if (list == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = workers[i];

        list[i] = (struct cv_ranked){ value[w] / (price != NULL ? price[w] : 1), w };
    }
    qsort(list, n, sizeof *list, cv_rank_down);
    for (uint32_t i = 0; i < n; i++)
        workers[i] = list[i].index;
    free(list);
    return true;
}

struct refused {
    struct cv_stream_times times[REMEMBERED];
    unsigned n, next;
};

/* A worker that takes at least as long as a refused one fits nowhere either. */
static bool is_hopeless(const struct refused *refused, const struct cv_stream_times *own)
{
    for (unsigned i = 0; i < refused->n; i++) {
        const struct cv_stream_times *other = &refused->times[i];

        if (cv_send_time(own) >= cv_send_time(other) &&
            own->return_first_s >= other->return_first_s &&
            own->return_second_s >= other->return_second_s)
            return true;
    }
    return false;
}

static void refuse(struct refused *refused, const struct cv_stream_times *own)
{
    refused->times[refused->next] = *own;
    refused->next = (refused->next + 1) % REMEMBERED;
    if (refused->n < REMEMBERED)
        refused->n++;
}

/* Add workers to clusters where they fit, by density. */
static void fill(struct search *s)
{
    struct cv_stream_field *field = s->field;
    const bool alike = field->least_margin == field->greatest_margin;
    struct refused refused = { .n = 0 };

    for (uint32_t i = 0; i < s->n && field->work > 0 && !field->no_memory; i++) {
        const uint32_t w = s->dense[i];

        if (s->taken[w] || (alike && is_hopeless(&refused, &field->times[w])))
            continue;
        for (uint32_t m = 0; m < s->trial->n && !s->taken[w] && field->work > 0; m++) {
            field->work--;
            s->taken[w] = cv_cluster_try_add(field, &s->trial->clusters[m], w);
        }
        if (!s->taken[w])
            refuse(&refused, &field->times[w]);
    }
}

/* Replace the member with the least profit for which a worker fits. */
static bool exchange_in(struct search *s, struct cv_stream_cluster *cluster,
                        uint32_t worker)
{
    const double *profit = s->field->profit;
    double above = -INFINITY;

    while (s->field->work > cluster->n) {
        uint32_t next = UINT32_MAX, out;

        /* The next dearer member, without a list that has to be kept sorted. */
        for (uint32_t i = 0; i < cluster->n; i++) {
            const double own = profit[cluster->members[i]];

            if (own > above && own < profit[worker] &&
                (next == UINT32_MAX || own < profit[cluster->members[next]]))
                next = i;
        }
        s->field->work -= cluster->n;
        if (next == UINT32_MAX)
            return false;
        out = cluster->members[next];
        if (cv_cluster_try_replace(s->field, cluster, next, worker)) {
            s->taken[worker] = true;
            s->taken[out] = false;
            return true;
        }
        above = profit[out];
    }
    return false;
}

static bool same_times(const struct cv_stream_times *a, const struct cv_stream_times *b)
{
    return cv_send_time(a) == cv_send_time(b) && a->return_first_s == b->return_first_s &&
           a->return_second_s == b->return_second_s;
}

static bool is_remembered(const struct refused *seen, const struct cv_stream_times *own)
{
    for (unsigned i = 0; i < seen->n; i++)
        if (same_times(&seen->times[i], own))
            return true;
    return false;
}

/* Replace a member that fits elsewhere. */
static bool move_on(struct search *s, uint32_t from, uint32_t worker)
{
    struct cv_stream_cluster *cluster = &s->trial->clusters[from];
    struct refused seen = { .n = 0 };

    for (uint32_t at = 0; at < cluster->n && s->field->work > cluster->n; at++) {
        const uint32_t out = cluster->members[at];

        if (same_times(&s->field->times[out], &s->field->times[worker]) ||
            is_remembered(&seen, &s->field->times[out]))
            continue;
        refuse(&seen, &s->field->times[out]);
        s->field->work -= cluster->n;
        if (!cv_cluster_try_replace(s->field, cluster, at, worker))
            continue;
        for (uint32_t to = 0; to < s->trial->n; to++)
            if (to != from &&
                cv_cluster_try_add(s->field, &s->trial->clusters[to], out)) {
                s->taken[worker] = true;
                return true;
            }
        cv_cluster_put(s->field, cluster, at, out);
    }
    return false;
}

/* Move workers, one after the other, into any cluster by one kind of step. */
static bool sweep(struct search *s, const uint32_t *workers, bool moving)
{
    struct refused refused = { .n = 0 };
    bool any = false;

    for (uint32_t i = 0; i < s->n && s->field->work > 0 && !s->field->no_memory; i++) {
        const uint32_t w = workers[i];

        if (s->taken[w] || (moving && is_remembered(&refused, &s->field->times[w])))
            continue;
        for (uint32_t m = 0; m < s->trial->n && !s->taken[w]; m++)
            any =
                (moving ? move_on(s, m, w) : exchange_in(s, &s->trial->clusters[m], w)) ||
                any;
        if (!s->taken[w])
            refuse(&refused, &s->field->times[w]);
    }
    return any;
}

static bool sort_list(struct search *s, uint32_t n, const double *value,
                      const double *price)
{
    if (!cv_sort_by_density(s->list, n, value, price))
        s->field->no_memory = true;
    return !s->field->no_memory;
}

static double throughput(const struct search *s)
{
    double sum = 0;

    for (uint32_t m = 0; m < s->trial->n; m++)
        sum += cv_cluster_throughput(s->field, &s->trial->clusters[m]);
    return sum;
}

/* Raise the throughput until it reaches the bound or no step helps: a worker replaces one with
 * less profit, or one that fits into another cluster. */
static void exchange(struct search *s)
{
    bool again = true;

    memcpy(s->list, s->dense, s->n * sizeof *s->list);
    sort_list(s, s->n, s->field->profit, NULL);
    while (again && s->field->work > 0 && !s->field->no_memory &&
           throughput(s) < s->bound * (1 - rounding)) {
        again = sweep(s, s->list, false);
        fill(s);
        again = sweep(s, s->dense, true) || again;
    }
}

/* Fill a cluster with as many workers of a list as fit together, fewer than `fails`. Returns
 * how many. */
static uint32_t fill_with(struct search *s, struct cv_stream_cluster *cluster,
                          const uint32_t *list, uint32_t fails)
{
    uint32_t fits = 0;

    while (fails - fits > 1 && !s->field->no_memory) {
        const uint32_t half = fits + (fails - fits) / 2;

        cv_cluster_clear(cluster);
        for (uint32_t i = 0; i < half; i++)
            cv_cluster_add(s->field, cluster, list[i]);
        if (cv_cluster_fits(s->field, cluster))
            fits = half;
        else
            fails = half;
    }
    cv_cluster_clear(cluster);
    for (uint32_t i = 0; i < fits; i++)
        cv_cluster_add(s->field, cluster, list[i]);
    return fits;
}

/* Keep the densest members that fit together. */
static void repair(struct search *s, struct cv_stream_cluster *cluster)
{
    const uint32_t n = cluster->n;

    if (n > 0)
        memcpy(s->list, cluster->members, n * sizeof *s->list);
    sort_list(s, n, s->field->profit, s->price);
    (void)fill_with(s, cluster, s->list, n);
}

static void mark_taken(struct search *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        s->taken[s->workers[i]] = false;
    for (uint32_t m = 0; m < s->trial->n; m++)
        for (uint32_t i = 0; i < s->trial->clusters[m].n; i++)
            s->taken[s->trial->clusters[m].members[i]] = true;
}

static void keep_if_better(struct search *s)
{
    const double ups = throughput(s);

    if (ups <= s->best_ups)
        return;
    s->best_ups = ups;
    for (uint32_t i = 0; i < s->n; i++)
        s->best[s->workers[i]] = UINT32_MAX;
    for (uint32_t m = 0; m < s->trial->n; m++)
        for (uint32_t i = 0; i < s->trial->clusters[m].n; i++)
            s->best[s->trial->clusters[m].members[i]] = m;
}

static bool is_best(const struct search *s)
{
    return s->best_ups >= s->bound * (1 - rounding);
}

/* Make the packed clusters fit, fill them up, keep them if they are better. */
static enum cleave_status finish_trial(struct search *s, struct cleave_error *err)
{
    s->field->work = s->share;
    for (uint32_t m = 0; m < s->trial->n; m++)
        if (!cv_cluster_fits(s->field, &s->trial->clusters[m]))
            repair(s, &s->trial->clusters[m]);
    mark_taken(s);
    fill(s);
    if (s->n <= MANY)
        exchange(s);
    if (s->field->no_memory)
        return cv_fail_memory(err, "the orders of service");
    keep_if_better(s);
    return CLEAVE_OK;
}

/* The greatest sum of the delays of a packed cluster, in rounds. */
static double greatest_load(struct search *s)
{
    double greatest = 0;

    for (uint32_t m = 0; m < s->trial->n; m++) {
        struct cv_stream_cluster *cluster = &s->trial->clusters[m];

        if (!cv_cluster_order(s->field, cluster, s->delays))
            s->field->no_memory = true;
        else
            greatest = fmax(greatest, cv_stream_sum(s->delays, cluster->n));
    }
    return greatest / s->field->ring.tau_s;
}

/* Delays are stretched by the margin of the next worker: sends by at least the least margin,
 * first results by the own one. */
static bool mix(const struct search *s, double mu, double *out)
{
    const struct cv_stream_field *field = s->field;
    bool positive = true;

    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t w = s->workers[i];
        const struct cv_stream_times *times = &field->times[w];
        const double own = 1 + cv_ring_margin(&field->ring, w);
        const double min = 1 + field->least_margin;

        out[w] = mu * min * cv_send_time(times) +
                 (1 - mu) * (min * times->return_second_s + own * times->return_first_s);
        positive = positive && out[w] > 0;
    }
    return positive;
}

static enum cleave_status mixture_bound(struct search *s, double mu, double *out,
                                        struct cleave_error *err)
{
    const struct cv_pack pack = { s->workers, s->n, s->weight, s->field->ring.tau_s, 0 };

    *out = INFINITY;
    if (!mix(s, mu, s->weight))
        return CLEAVE_OK;
    return cv_stream_pack_bound(s->field, &pack, s->trial->n, out, err);
}

/* The mixture with the least bound becomes the price: a grid, then halved steps. */
static enum cleave_status find_price(struct search *s, struct cleave_error *err)
{
    double best = 1, min, step = 1.0 / MIXTURES;

    CV_TRY(mixture_bound(s, 1, &min, err));
    for (int i = 0; i < MIXTURES; i++) {
        double bound;

        CV_TRY(mixture_bound(s, i * step, &bound, err));
        if (bound < min) {
            min = bound;
            best = i * step;
        }
    }
    for (int turn = 0; turn < MIXTURES / 2; turn++) {
        const double center = best;

        step /= 2;
        for (int side = -1; side <= 1; side += 2) {
            const double mu = fmin(fmax(center + side * step, 0), 1);
            double bound;

            CV_TRY(mixture_bound(s, mu, &bound, err));
            if (bound < min) {
                min = bound;
                best = mu;
            }
        }
    }
    s->bound = fmin(s->bound, min);
    mix(s, best, s->price);
    return CLEAVE_OK;
}

static enum cleave_status try_price(struct search *s, struct cleave_error *err)
{
    double capacity = s->field->ring.tau_s;
    const int turns = s->n > MANY ? 1 : SHRINKS;

    for (int turn = 0; turn < turns && !is_best(s); turn++) {
        const struct cv_pack pack = { s->workers, s->n, s->price, capacity, s->share };
        double bound, load;

        CV_TRY(cv_stream_pack(s->field, &pack, s->trial, &bound, err));
        /* No cluster may have more than tau of any mixture. */
        if (turn == 0)
            s->bound = fmin(s->bound, bound);
        load = greatest_load(s);
        CV_TRY(finish_trial(s, err));
        if (!(load > 1))
            break;
        capacity /= load;
    }
    return CLEAVE_OK;
}

static enum cleave_status try_limit(struct search *s, uint32_t *room, double min,
                                    double limit, struct cleave_error *err)
{
    const struct cv_stream_field *field = s->field;
    const double stretch = 1 + field->greatest_margin;
    struct cv_pack pack = { room, 0, s->weight,
                            field->ring.tau_s - stretch * (limit - min), s->share };
    double bound;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct cv_stream_times *times = &field->times[s->workers[i]];

        if (times->return_first_s > limit)
            continue;
        room[pack.n++] = s->workers[i];
        s->weight[s->workers[i]] =
            stretch * fmax(cv_send_time(times), cv_return_time(times));
    }
    CV_TRY(cv_stream_pack(s->field, &pack, s->trial, &bound, err));
    return finish_trial(s, err);
}

static enum cleave_status try_limits(struct search *s, struct cleave_error *err)
{
    static const double parts[LIMITS] = { 1, 0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2 };
    uint32_t *room;
    double *first;
    const int limits = s->n > MANY ? 1 : LIMITS;
    double last = INFINITY;

    if (!CV_NEW(s->arena, room, s->n) || !CV_NEW(s->arena, first, s->n))
        return cv_fail_memory(err, "the limits of first results");
    for (uint32_t i = 0; i < s->n; i++)
        first[i] = s->field->times[s->workers[i]].return_first_s;
    qsort(first, s->n, sizeof *first, cv_compare_doubles);
    for (int i = 0; i < limits && !is_best(s); i++) {
        const double limit = first[(uint32_t)((s->n - 1) * parts[i])];

        if (limit < last)
            CV_TRY(try_limit(s, room, first[0], limit, err));
        last = limit;
    }
    return CLEAVE_OK;
}

/* Cut the n densest workers, sorted by their first result, into clusters as long as they
 * fit. The spreads of all clusters then add up to the spread of one cluster. True if all
 * found a place. */
static bool cut_into_bands(struct search *s, uint32_t n, const double *first)
{
    uint32_t from = 0;

    memcpy(s->list, s->dense, n * sizeof *s->list);
    if (!sort_list(s, n, first, NULL))
        return false;

    cv_set_clear(s->trial);
    for (uint32_t m = 0; m < s->trial->n && from < n; m++)
        from += fill_with(s, &s->trial->clusters[m], s->list + from, n + 1 - from);
    return from == n && !s->field->no_memory;
}

/* As many of the densest workers as fit into bands. */
static enum cleave_status try_bands(struct search *s, struct cleave_error *err)
{
    double *first = cv_array(s->arena, s->field->ring.n, sizeof *first);
    uint32_t fits = 0, fails = s->n + 1;

    if (first == NULL)
        return cv_fail_memory(err, "the bands of first results");
    for (uint32_t i = 0; i < s->n; i++)
        first[s->workers[i]] = s->field->times[s->workers[i]].return_first_s;
    s->field->work = s->share * BAND_SHARES;
    while (fails - fits > 1) {
        const uint32_t half = fits + (fails - fits) / 2;

        if (cut_into_bands(s, half, first)) {
            fits = half;
            keep_if_better(s);
        } else {
            fails = half;
        }
    }
    s->field->work = s->share * BAND_SHARES;
    cut_into_bands(s, fits, first);
    return finish_trial(s, err);
}

static enum cleave_status restore_best(struct search *s, struct cleave_error *err)
{
    cv_set_clear(s->trial);
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t w = s->workers[i], m = s->best[w];

        if (m != UINT32_MAX && !cv_cluster_add(s->field, &s->trial->clusters[m], w))
            return cv_fail_memory(err, "the clusters");
    }
    mark_taken(s);
    return CLEAVE_OK;
}

static enum cleave_status run(struct search *s, struct cleave_error *err)
{
    CV_TRY(find_price(s, err));
    memcpy(s->dense, s->workers, s->n * sizeof *s->dense);
    if (!cv_sort_by_density(s->dense, s->n, s->field->profit, s->price))
        return cv_fail_memory(err, "the densities");
    CV_TRY(try_price(s, err));
    CV_TRY(try_limits(s, err));
    if (!is_best(s))
        CV_TRY(try_bands(s, err));
    CV_TRY(restore_best(s, err));
    if (is_best(s))
        return CLEAVE_OK;
    s->field->work = s->share * IMPROVE_SHARES;
    exchange(s);
    if (s->field->no_memory)
        return cv_fail_memory(err, "the exchanges");
    keep_if_better(s);
    return restore_best(s, err);
}

enum cleave_status cv_stream_search(struct cv_stream_field *field,
                                    const uint32_t *workers, uint32_t n, uint64_t work,
                                    struct cv_stream_set *set, double *out_bound,
                                    struct cleave_error *err)
{
    enum cleave_status status;
    struct cv_arena arena;
    struct search s = {
        .field = field, .workers = workers, .n = n, .trial = set, .arena = &arena
    };

    cv_set_clear(set);
    *out_bound = 0;
    if (n == 0)
        return CLEAVE_OK;
    cv_arena_init(&arena);
    s.share = work / PHASES + 1;
    for (uint32_t i = 0; i < n; i++)
        s.bound += field->profit[workers[i]];
    if (CV_NEW(&arena, s.weight, field->ring.n) &&
        CV_NEW(&arena, s.price, field->ring.n) && CV_NEW(&arena, s.dense, n) &&
        CV_NEW(&arena, s.list, n) && CV_NEW(&arena, s.delays, n) &&
        CV_NEW(&arena, s.taken, field->ring.n) && CV_NEW(&arena, s.best, field->ring.n)) {
        memset(s.best, 0xff, field->ring.n * sizeof *s.best);
        status = run(&s, err);
    } else {
        status = cv_fail_memory(err, "the search for clusters");
    }
    *out_bound = fmax(s.bound, s.best_ups);
    cv_arena_done(&arena);
    return status;
}
