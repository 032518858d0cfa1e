/* stream_search.c -- clusters in any order of service, of most throughput.
 * SPDX-License-Identifier: MIT
 *
 * Trials: pack by the mixture of data and results whose bound is least, in rounds that
 * are made shorter while the clusters turn out not to fit; then by max(data, results)
 * among the workers whose first result is not above a limit, for several limits; then
 * take the densest workers and cut them, by their first result, into bands. After each,
 * clusters that do not fit lose their least dense members, whoever fits is added by
 * density, and exchanges are made. The best trial is kept. */
#include "select/streams/stream_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/fail.h"

/* --- add and exchange workers of clusters that fit --------------------------------- */

/* Workers that are remembered to spare tests of others like them. */
enum { REMEMBERED = 16 };

/* A throughput this near to the bound is the bound. */
static const double rounding = 1e-12;

struct density {
    double value;
    uint32_t worker;
};

CV_ORDER_DOWN_BY(by_density, struct density, value, worker)

bool cv_sort_by_density(uint32_t *workers, uint32_t n, const double *value,
                        const double *price)
{
    struct density *list = malloc((n > 0 ? n : 1) * sizeof *list);

    if (list == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = workers[i];

        list[i] = (struct density){ value[w] / (price != NULL ? price[w] : 1), w };
    }
    qsort(list, n, sizeof *list, by_density);
    for (uint32_t i = 0; i < n; i++)
        workers[i] = list[i].worker;
    free(list);
    return true;
}

struct refused {
    struct cv_stream_times times[REMEMBERED];
    unsigned n, next;
};

/* Whoever takes at least as long as one that fitted nowhere fits nowhere either. */
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

/* Add workers to clusters where they fit, in the order given. */
static void set_fill(struct cv_stream_field *field, struct cv_stream_set *set,
                     const uint32_t *workers, uint32_t n, bool *taken)
{
    const bool alike = field->least_margin == field->greatest_margin;
    struct refused refused = { .n = 0 };

    for (uint32_t i = 0; i < n && field->work > 0 && !field->no_memory; i++) {
        const uint32_t w = workers[i];

        if (taken[w] || (alike && is_hopeless(&refused, &field->times[w])))
            continue;
        for (uint32_t m = 0; m < set->n && !taken[w] && field->work > 0; m++) {
            field->work--;
            taken[w] = cv_cluster_try_add(field, &set->clusters[m], w);
        }
        if (!taken[w])
            refuse(&refused, &field->times[w]);
    }
}

/* --- exchanges ------------------------------------------------------------------ */

struct improving {
    struct cv_stream_field *field;
    struct cv_stream_set *set;
    bool *taken;
};

/* Put a worker in the place of the member that gives least of those for which it fits. */
static bool exchange_in(struct improving *s, struct cv_stream_cluster *cluster,
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

/* Put a worker in the place of a member that fits elsewhere. */
static bool move_on(struct improving *s, uint32_t from, uint32_t worker)
{
    struct cv_stream_cluster *cluster = &s->set->clusters[from];
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
        for (uint32_t to = 0; to < s->set->n; to++)
            if (to != from && cv_cluster_try_add(s->field, &s->set->clusters[to], out)) {
                s->taken[worker] = true;
                return true;
            }
        cv_cluster_put(s->field, cluster, at, out);
    }
    return false;
}

/* One worker after the other into any cluster by one kind of step. */
static bool sweep(struct improving *s, const uint32_t *workers, uint32_t n, bool moving)
{
    struct refused refused = { .n = 0 };
    bool any = false;

    for (uint32_t i = 0; i < n && s->field->work > 0 && !s->field->no_memory; i++) {
        const uint32_t w = workers[i];

        if (s->taken[w] || (moving && is_remembered(&refused, &s->field->times[w])))
            continue;
        for (uint32_t m = 0; m < s->set->n && !s->taken[w]; m++)
            any = (moving ? move_on(s, m, w) : exchange_in(s, &s->set->clusters[m], w)) ||
                  any;
        if (!s->taken[w])
            refuse(&refused, &s->field->times[w]);
    }
    return any;
}

/* Raise the throughput, until it reaches the bound or no step helps: a worker takes the
 * place of one that gives less, or of one that fits into another cluster. `dense` are all
 * workers that may be chosen, best first. false when memory is short. */
static bool set_improve(struct cv_stream_field *field, struct cv_stream_set *set,
                        const uint32_t *dense, uint32_t n, double bound, bool *taken)
{
    struct improving s = { field, set, taken };
    uint32_t *dear = malloc((n > 0 ? n : 1) * sizeof *dear);
    bool again = true;

    if (dear == NULL)
        return false;
    if (n > 0)
        memcpy(dear, dense, n * sizeof *dear);
    if (!cv_sort_by_density(dear, n, field->profit, NULL))
        field->no_memory = true;
    while (again && field->work > 0 && !field->no_memory &&
           cv_set_throughput(field, set) < bound * (1 - rounding)) {
        again = sweep(&s, dear, n, false);
        set_fill(field, set, dense, n, taken);
        again = sweep(&s, dense, n, true) || again;
    }
    free(dear);
    return !field->no_memory;
}

/* --- clusters in any order of service, of most throughput -------------------------- */

enum {
    MIXTURES = 8, /* mu = 0/8 .. 8/8 are tried for the bound */
    SHRINKS = 3,  /* packings in shorter and shorter rounds  */
    LIMITS = 8,   /* on the first results                    */
    MANY = 20000, /* workers: one trial of each kind then    */
    /* The work is divided: a share for each packing and each trial that is finished. */
    BAND_SHARES = 2,
    IMPROVE_SHARES = 4,
    PHASES = 2 * (SHRINKS + LIMITS + BAND_SHARES) + IMPROVE_SHARES,
};

/* A throughput this near to the bound is the bound. */
static const double search_rounding = 1e-12;

struct search {
    struct cv_stream_field *field;
    const uint32_t *workers; /* who may be chosen                       */
    uint32_t n;
    struct cv_stream_set *trial;
    struct cv_arena *arena;
    double *weight;  /* per worker of the field: of the pack    */
    double *price;   /* per worker: the best mixture            */
    uint32_t *dense; /* workers by decreasing profit per price  */
    bool *taken;     /* per worker: in a cluster of the trial   */
    uint32_t *best;  /* per worker: its cluster; UINT32_MAX     */
    double best_ups, bound;
    uint64_t share; /* of the work, for one phase */
};

/* --- one trial --------------------------------------------------------------------- */

/* Fill a cluster with the first of a list, as many as fit together, which are fewer than
 * `fails`. Returns how many. */
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
    uint32_t *all = malloc((n + (size_t)1) * sizeof *all);

    if (all == NULL) {
        s->field->no_memory = true;
        return;
    }
    if (n > 0)
        memcpy(all, cluster->members, n * sizeof *all);
    if (!cv_sort_by_density(all, n, s->field->profit, s->price))
        s->field->no_memory = true;
    (void)fill_with(s, cluster, all, n);
    free(all);
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
    const double ups = cv_set_throughput(s->field, s->trial);

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
    return s->best_ups >= s->bound * (1 - search_rounding);
}

/* Make the packed clusters fit, fill them up, keep them if they are better. */
static enum cleave_status finish_trial(struct search *s, struct cleave_error *err)
{
    s->field->work = s->share;
    for (uint32_t m = 0; m < s->trial->n; m++)
        if (!cv_cluster_fits(s->field, &s->trial->clusters[m]))
            repair(s, &s->trial->clusters[m]);
    mark_taken(s);
    set_fill(s->field, s->trial, s->dense, s->n, s->taken);
    if (s->n <= MANY)
        set_improve(s->field, s->trial, s->dense, s->n, s->bound, s->taken);
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
        double *delays = malloc((cluster->n + (size_t)1) * sizeof *delays);

        if (delays == NULL || !cv_cluster_order(s->field, cluster, delays))
            s->field->no_memory = true;
        else
            greatest = fmax(greatest, cv_stream_sum(delays, cluster->n));
        free(delays);
    }
    return greatest / s->field->ring.tau_s;
}

/* --- weights ----------------------------------------------------------------------- */

/* Delays are stretched by the margin of the worker that comes after: what is sent by the
 * least one at least, first results by the own one. */
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

/* The mixture with the least bound becomes the price: a grid, then nearer and nearer. */
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
        struct cv_pack_answer answer;
        double load;

        CV_TRY(cv_stream_pack(s->field, &pack, s->trial, &answer, err));
        /* No cluster may have more than tau of any mixture. */
        if (turn == 0)
            s->bound = fmin(s->bound, answer.upper_bound);
        load = greatest_load(s);
        CV_TRY(finish_trial(s, err));
        if (!(load > 1))
            break;
        capacity /= load;
    }
    return CLEAVE_OK;
}

/* --- own weights ------------------------------------------------------------------- */

static enum cleave_status try_limit(struct search *s, uint32_t *room, double min,
                                    double limit, struct cleave_error *err)
{
    const struct cv_stream_field *field = s->field;
    const double stretch = 1 + field->greatest_margin;
    struct cv_pack pack = { room, 0, s->weight,
                            field->ring.tau_s - stretch * (limit - min), s->share };
    struct cv_pack_answer answer;

    for (uint32_t i = 0; i < s->n; i++) {
        const struct cv_stream_times *times = &field->times[s->workers[i]];

        if (times->return_first_s > limit)
            continue;
        room[pack.n++] = s->workers[i];
        s->weight[s->workers[i]] =
            stretch * fmax(cv_send_time(times), cv_return_time(times));
    }
    CV_TRY(cv_stream_pack(s->field, &pack, s->trial, &answer, err));
    return finish_trial(s, err);
}

static enum cleave_status try_limits(struct search *s, struct cleave_error *err)
{
    static const double parts[LIMITS] = { 1, 0.95, 0.9, 0.8, 0.65, 0.5, 0.35, 0.2 };
    uint32_t *room = cv_array(s->arena, s->n, sizeof *room);
    double *first = cv_array(s->arena, s->n, sizeof *first);
    const int limits = s->n > MANY ? 1 : LIMITS;
    double last = INFINITY;

    if (room == NULL || first == NULL)
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

/* --- bands ------------------------------------------------------------------------- */

/* Cut a list of workers, by their first result, into clusters as long as they fit. Then
 * the spreads of all clusters together are that of one. true if all found a place. */
static bool cut_into_bands(struct search *s, const uint32_t *list, uint32_t n)
{
    uint32_t from = 0;

    cv_set_clear(s->trial);
    for (uint32_t m = 0; m < s->trial->n && from < n; m++)
        from += fill_with(s, &s->trial->clusters[m], list + from, n + 1 - from);
    return from == n && !s->field->no_memory;
}

/* As many of the densest workers as bands have room for. */
static enum cleave_status try_bands(struct search *s, struct cleave_error *err)
{
    uint32_t *list = cv_array(s->arena, s->n, sizeof *list);
    double *first = cv_array(s->arena, s->field->ring.n, sizeof *first);
    uint32_t fits = 0, fails = s->n + 1;

    if (list == NULL || first == NULL)
        return cv_fail_memory(err, "the bands of first results");
    for (uint32_t i = 0; i < s->n; i++)
        first[s->workers[i]] = s->field->times[s->workers[i]].return_first_s;
    s->field->work = s->share * BAND_SHARES;
    while (fails - fits > 1) {
        const uint32_t half = fits + (fails - fits) / 2;

        memcpy(list, s->dense, half * sizeof *list);
        if (!cv_sort_by_density(list, half, first, NULL))
            return cv_fail_memory(err, "the bands of first results");
        if (cut_into_bands(s, list, half)) {
            fits = half;
            keep_if_better(s);
        } else {
            fails = half;
        }
    }
    memcpy(list, s->dense, fits * sizeof *list);
    if (!cv_sort_by_density(list, fits, first, NULL))
        return cv_fail_memory(err, "the bands of first results");
    s->field->work = s->share * BAND_SHARES;
    cut_into_bands(s, list, fits);
    return finish_trial(s, err);
}

/* --- all together ------------------------------------------------------------------ */

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
    if (!set_improve(s->field, s->trial, s->dense, s->n, s->bound, s->taken))
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
    s.weight = cv_array(&arena, field->ring.n, sizeof *s.weight);
    s.price = cv_array(&arena, field->ring.n, sizeof *s.price);
    s.dense = cv_array(&arena, n, sizeof *s.dense);
    s.taken = cv_array(&arena, field->ring.n, sizeof *s.taken);
    s.best = cv_array(&arena, field->ring.n, sizeof *s.best);
    s.share = work / PHASES + 1;
    for (uint32_t i = 0; i < n; i++)
        s.bound += field->profit[workers[i]];
    for (uint32_t w = 0; s.best != NULL && w < field->ring.n; w++)
        s.best[w] = UINT32_MAX;
    if (s.weight == NULL || s.price == NULL || s.dense == NULL || s.taken == NULL ||
        s.best == NULL)
        status = cv_fail_memory(err, "the search for clusters");
    else
        status = run(&s, err);
    *out_bound = fmax(s.bound, s.best_ups);
    cv_arena_done(&arena);
    return status;
}
