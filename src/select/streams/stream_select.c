/* stream_select.c -- the workers of several streams.
 * SPDX-License-Identifier: MIT */
#include "select/streams/stream_select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/bisect.h"
#include "base/compare.h"
#include "base/fail.h"
#include "select/knapsack/knapsack.h"
#include "select/streams/stream_pack.h"

/* A throughput this near to the bound is the bound. */
static const double rounding = 1e-12;

static enum cleave_status choice_init(const struct cv_stream_task *task,
                                      struct cv_arena *arena,
                                      struct cv_stream_choice *out,
                                      struct cleave_error *err)
{
    const uint32_t n = task->ring.n, m = task->nstreams;

    *out = (struct cv_stream_choice){ .nstreams = m };
    return CV_NEW(arena, out->first, (size_t)m + 1) && CV_NEW(arena, out->members, n) &&
                   CV_NEW(arena, out->delay, n) && CV_NEW(arena, out->delay_sum, m) &&
                   CV_NEW(arena, out->stream_ups, m) &&
                   CV_NEW(arena, out->stream_of, n) && CV_NEW(arena, out->reason, n)
               ? CLEAVE_OK
               : cv_fail_memory(err, "the clusters");
}

/* Workers with a gain that fit into a round alone. */
static uint32_t sift(const struct cv_stream_field *field, uint32_t *out,
                     enum cv_left_why *reason)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w < field->ring.n; w++) {
        const double alone = cv_stream_delay(cv_ring_margin(&field->ring, w),
                                             &field->times[w], &field->times[w]);

        reason[w] = !(field->profit[w] > 0)     ? CV_NO_GAIN
                    : alone > field->ring.tau_s ? CV_TOO_LONG
                                                : CV_LESS_VALUE;
        if (reason[w] == CV_LESS_VALUE)
            out[n++] = w;
    }
    return n;
}

/* The published weights: the delay after the worst worker that can be chosen. */
static enum cleave_status pack_ring(struct cv_stream_field *field,
                                    const uint32_t *workers, uint32_t n, uint64_t work,
                                    struct cv_arena *arena, struct cv_stream_set *set,
                                    double *out_bound, struct cleave_error *err)
{
    struct cv_stream_times *times;
    double *margin = cv_array(arena, n, sizeof *margin);
    double *tight;
    double *weight = cv_array(arena, field->ring.n, sizeof *weight);
    const struct cv_stream_ring some = { .n = n, .margin = margin };
    const struct cv_pack pack = { workers, n, weight, field->ring.tau_s, work };

    if (!CV_NEW(arena, times, n) || !CV_NEW(arena, tight, n) || margin == NULL ||
        weight == NULL)
        return cv_fail_memory(err, "the weights of workers");
    for (uint32_t i = 0; i < n; i++) {
        times[i] = field->times[workers[i]];
        margin[i] = cv_ring_margin(&field->ring, workers[i]);
    }
    cv_ring_tight_delays(&some, times, tight);
    for (uint32_t i = 0; i < n; i++)
        weight[workers[i]] = tight[i];
    return cv_stream_pack(field, &pack, set, out_bound, err);
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

/* --- the default length of rounds ------------------------------------ */

/* First with workers that may be divided. In rounds of tau a worker gives
 * p = S (1 - 2 f / tau) and takes w = (1 + margin) max(data, results) / tau of its
 * master's time. Both p and p / w grow with tau, so the best throughput of M masters, to take the
 * densest workers until their time is full, does too: a search by halving finds where it
 * reaches the wanted share. Then, since workers are not divisible, the period grows until a
 * selection reaches that share of the selection for rounds FAR times as long. */

/* A period where costs say nothing about time. */
static const double ANY_PERIOD_S = 1;
static const double FAR = 1000, STEP = 1.05;
/* Above this many workers parts of one do not matter, nor with a master for each worker. */
enum { WHOLE_MATTERS = 5000 };

struct divisible {
    double profit, weight; /* per second of the master's time */
};

/* In rounds without end for tau = INFINITY; a weight above 1 cannot be served. */
static struct divisible worth(const struct cv_stream_ring *ring, uint32_t w, double tau_s)
{
    const struct cleave_worker *worker = &ring->workers[w];
    const double part = 1 - 2 * worker->compute_latency_s / tau_s;
    const double ups = worker->speed_ups * part;
    const double data = 2 * worker->latency_s / tau_s + ups / worker->bandwidth_ups;
    const double back = 2 * worker->return_latency_s / tau_s +
                        ring->result_ratio * ups / worker->return_bandwidth_ups;

    return (struct divisible){ ups, (1 + cv_ring_margin(ring, w)) * fmax(data, back) };
}

static int by_density(const void *left, const void *right)
{
    const struct divisible *a = left, *b = right;
    const double x = a->profit * b->weight, y = b->profit * a->weight;

    return (x < y) - (x > y);
}

/* The most that the masters get out of rounds of tau_s. */
static double most_throughput(const struct cv_stream_task *task, double tau_s,
                              struct divisible *room)
{
    double left = task->nstreams, sum = 0;
    uint32_t n = 0;

    for (uint32_t w = 0; w < task->ring.n; w++) {
        const struct divisible one = worth(&task->ring, w, tau_s);

        if (one.profit > 0 && one.weight <= 1)
            room[n++] = one;
    }
    qsort(room, n, sizeof *room, by_density);
    for (uint32_t i = 0; i < n && left > 0; i++) {
        const double part = room[i].weight > left ? left / room[i].weight : 1;

        sum += part * room[i].profit;
        left -= part * room[i].weight;
    }
    return sum;
}

static bool any_latency(const struct cv_stream_ring *ring)
{
    for (uint32_t w = 0; w < ring->n; w++)
        if (ring->workers[w].compute_latency_s > 0 || ring->workers[w].latency_s > 0 ||
            ring->workers[w].return_latency_s > 0)
            return true;
    return false;
}

/* Where divisible workers reach the share. */
static double divisible_period(const struct cv_stream_task *task, double wanted_ups,
                               struct divisible *room)
{
    double high = 1, low;

    while (most_throughput(task, high, room) < wanted_ups)
        high *= 2;
    low = high / 2;
    while (most_throughput(task, low, room) >= wanted_ups && low > 1e-12) {
        high = low;
        low /= 2;
    }
    while (high > low * (1 + 1e-4)) {
        const double half = sqrt(low * high);

        if (most_throughput(task, half, room) >= wanted_ups)
            high = half;
        else
            low = half;
    }
    return high;
}

/* Two digits are enough, and easy to say. */
static double round_up(double period_s)
{
    const double unit = pow(10, floor(log10(period_s)) - 1);
    const double digits = ceil(period_s / unit * (1 - 1e-9));

    /* Divide where that is the nearest number to the digits. */
    return unit < 1 ? digits / round(1 / unit) : digits * unit;
}

static enum cleave_status selected_ups(const struct cv_stream_task *task, double tau_s,
                                       double *out, struct cleave_error *err)
{
    struct cv_stream_task probe = *task;
    struct cv_stream_choice choice;
    struct cv_arena arena;
    enum cleave_status status;

    probe.ring.tau_s = tau_s;
    probe.work = CV_KNAPSACK_SECOND / 50;
    cv_arena_init(&arena);
    status = cv_stream_select(&probe, &arena, &choice, err);
    if (status == CLEAVE_OK)
        *out = choice.throughput;
    cv_arena_done(&arena);
    return status;
}

enum cleave_status cv_stream_period(const struct cv_stream_task *task, double *out_s,
                                    struct cleave_error *err)
{
    struct divisible *room = malloc((task->ring.n + (size_t)1) * sizeof *room);
    double endless_ups, period_s, far_ups, ups = 0;

    if (room == NULL)
        return cv_fail_memory(err, "the choice of a period");
    endless_ups = most_throughput(task, INFINITY, room);
    period_s = !(endless_ups > 0) ? 0
               : !any_latency(&task->ring)
                   ? ANY_PERIOD_S
                   : divisible_period(task, CV_PERIOD_SHARE * endless_ups, room);
    free(room);
    if (!(period_s > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "no worker can be served in rounds of any length: messages take "
                       "longer than computing");
    *out_s = period_s = round_up(period_s);
    if (task->ring.n > WHOLE_MATTERS || task->nstreams >= task->ring.n)
        return CLEAVE_OK;
    CV_TRY(selected_ups(task, FAR * period_s, &far_ups, err));
    while (period_s < FAR * *out_s) {
        CV_TRY(selected_ups(task, period_s, &ups, err));
        if (ups >= CV_PERIOD_SHARE * far_ups) {
            *out_s = period_s;
            break;
        }
        period_s = round_up(STEP * period_s);
    }
    return CLEAVE_OK;
}

/* --- clusters for unequal demands --------------------- */

/* Giving stream l gain units per second of stream k makes them equally satisfied when
 * gain = (u_k d_l - u_l d_k) / (d_k + d_l), with u the throughputs and d the demands; the
 * lesser satisfaction rises for any gain between 0 and u_k - u_l d_k / d_l. For each
 * member of l, and for none, the members of k whose profit is nearest to the wanted one
 * are found in the sorted list of profits. */

enum {
    NEAR = 2,   /* members on either side of the wanted profit        */
    TRIES = 64, /* steps that are tried between two streams           */
};

struct levelling {
    struct cv_stream_field *field;
    struct cv_stream_set *set;
    const double *demands;
    double tolerance, total_demand;
    double *ups;          /* per stream                                   */
    struct place *places; /* room for the members of two clusters         */
    struct step *steps;   /* room for the steps of one pair               */
};

struct place {
    double profit;
    uint32_t at; /* in its cluster; UINT32_MAX: no member */
};

/* Exchange, or move when there is no `in_place_of`. */
struct step {
    double miss; /* how far the gain is from the best one */
    uint32_t in_place_of, from_place;
};

CV_ORDER_BY_TWO(by_profit, struct place, profit, at)

static int by_miss(const void *left, const void *right)
{
    const struct step *a = left, *b = right;

    return cv_order(CV_COMPARE(a->miss, b->miss),
                    CV_COMPARE(a->in_place_of, b->in_place_of),
                    CV_COMPARE(a->from_place, b->from_place));
}

/* Members by profit, one of each profit; with `none` at profit 0 on request. */
static uint32_t sort_members(const struct levelling *s, uint32_t m, bool with_none,
                             struct place *out)
{
    const struct cv_stream_cluster *cluster = &s->set->clusters[m];
    uint32_t n = 0, kept = 0;

    if (with_none)
        out[n++] = (struct place){ 0, UINT32_MAX };
    for (uint32_t i = 0; i < cluster->n; i++)
        out[n++] = (struct place){ s->field->profit[cluster->members[i]], i };
    qsort(out, n, sizeof *out, by_profit);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || out[i].profit != out[kept - 1].profit)
            out[kept++] = out[i];
    return kept;
}

static uint32_t first_not_below(const struct place *places, uint32_t n, double profit)
{
    uint32_t first;

    CV_BISECT(first, n, i, places[i].profit < profit);
    return first;
}

/* Steps from stream k to stream l, nearest to equal satisfaction first. */
static uint32_t list_steps(struct levelling *s, uint32_t l, uint32_t k)
{
    const double dl = s->demands[l], dk = s->demands[k];
    const double wanted = (s->ups[k] * dl - s->ups[l] * dk) / (dl + dk);
    const double max = s->ups[k] - s->ups[l] * dk / dl;
    struct place *mine = s->places;
    const uint32_t nmine = sort_members(s, l, true, mine);
    struct place *theirs = mine + nmine;
    const uint32_t ntheirs = sort_members(s, k, false, theirs);
    uint32_t n = 0;

    for (uint32_t i = 0; i < nmine; i++) {
        const uint32_t near = first_not_below(theirs, ntheirs, mine[i].profit + wanted);
        const uint32_t from = near > NEAR ? near - NEAR : 0;

        for (uint32_t j = from; j < ntheirs && j < near + NEAR; j++) {
            const double gain = theirs[j].profit - mine[i].profit;

            if (gain > 1e-9 * max && gain < max * (1 - 1e-9))
                s->steps[n++] =
                    (struct step){ fabs(gain - wanted), mine[i].at, theirs[j].at };
        }
    }
    qsort(s->steps, n, sizeof *s->steps, by_miss);
    return n;
}

static bool make_step(struct levelling *s, uint32_t l, uint32_t k,
                      const struct step *step)
{
    struct cv_stream_cluster *mine = &s->set->clusters[l];
    struct cv_stream_cluster *theirs = &s->set->clusters[k];
    const uint32_t in = theirs->members[step->from_place];
    uint32_t out;

    if (step->in_place_of == UINT32_MAX) {
        if (!cv_cluster_try_add(s->field, mine, in))
            return false;
        cv_cluster_remove(s->field, theirs, step->from_place);
        return true;
    }
    out = mine->members[step->in_place_of];
    if (!cv_cluster_try_replace(s->field, mine, step->in_place_of, in))
        return false;
    if (cv_cluster_try_replace(s->field, theirs, step->from_place, out))
        return true;
    cv_cluster_put(s->field, mine, step->in_place_of, out);
    return false;
}

/* Throughput / wanted throughput. */
static double share_of(const struct levelling *s, uint32_t m)
{
    double total = 0;

    for (uint32_t i = 0; i < s->set->n; i++)
        total += s->ups[i];
    return total > 0 ? s->ups[m] / total * s->total_demand / s->demands[m] : 0;
}

static uint32_t least_satisfied(const struct levelling *s)
{
    uint32_t min = 0;

    for (uint32_t m = 1; m < s->set->n; m++)
        if (s->ups[m] * s->demands[min] < s->ups[min] * s->demands[m])
            min = m;
    return min;
}

/* Count the work of sorting members. */
static void spend(struct levelling *s, uint64_t members)
{
    const uint64_t work = 10 * members;

    s->field->work -= work < s->field->work ? work : s->field->work;
}

/* One step in favour of stream l, from the best satisfied stream that has one. */
static bool raise_stream(struct levelling *s, uint32_t l)
{
    double below = INFINITY;

    for (;;) {
        uint32_t k = UINT32_MAX, n;
        double best = s->ups[l] / s->demands[l];

        for (uint32_t m = 0; m < s->set->n; m++)
            if (s->ups[m] / s->demands[m] > best && s->ups[m] / s->demands[m] < below) {
                best = s->ups[m] / s->demands[m];
                k = m;
            }
        if (k == UINT32_MAX || s->field->no_memory)
            return false;
        n = list_steps(s, l, k);
        spend(s, s->set->clusters[l].n + s->set->clusters[k].n);
        for (uint32_t i = 0; i < n && i < TRIES && s->field->work > 0; i++) {
            s->field->work--;
            if (make_step(s, l, k, &s->steps[i])) {
                s->ups[l] = cv_cluster_throughput(s->field, &s->set->clusters[l]);
                s->ups[k] = cv_cluster_throughput(s->field, &s->set->clusters[k]);
                return true;
            }
        }
        below = best;
    }
}

static void level(struct levelling *s)
{
    /* Each step makes the shares more even, but by how little is not bounded. */
    uint32_t turns = 100 + 4 * s->field->ring.n;

    while (turns-- > 0 && s->field->work > 0 && !s->field->no_memory) {
        const uint32_t min = least_satisfied(s);

        if (share_of(s, min) >= 1 - s->tolerance || !raise_stream(s, min))
            break;
    }
}

/* Add workers that were left out where they fit, to the least satisfied stream first. */
static void add_left_out(struct levelling *s, const uint32_t *workers, uint32_t n)
{
    for (uint32_t i = 0; i < n && s->field->work > 0; i++) {
        const uint32_t min = least_satisfied(s);
        bool added = false;

        for (uint32_t j = 0; j < s->set->n && !added && s->field->work > 0; j++) {
            const uint32_t m = (min + j) % s->set->n;

            s->field->work--;
            added = cv_cluster_try_add(s->field, &s->set->clusters[m], workers[i]);
            if (added)
                s->ups[m] += s->field->profit[workers[i]];
        }
    }
}

/* The cluster of most throughput to the stream of most demand. */
static bool match_demands(struct levelling *s, struct cv_arena *arena)
{
    struct cv_stream_cluster *moved;
    uint32_t *by_demand, *by_ups;

    if (!CV_NEW(arena, moved, s->set->n) || !CV_NEW(arena, by_demand, s->set->n) ||
        !CV_NEW(arena, by_ups, s->set->n))
        return false;
    for (uint32_t m = 0; m < s->set->n; m++) {
        by_demand[m] = by_ups[m] = m;
        s->ups[m] = cv_cluster_throughput(s->field, &s->set->clusters[m]);
    }
    if (!cv_sort_by_density(by_demand, s->set->n, s->demands, NULL) ||
        !cv_sort_by_density(by_ups, s->set->n, s->ups, NULL))
        return false;
    for (uint32_t i = 0; i < s->set->n; i++)
        moved[by_demand[i]] = s->set->clusters[by_ups[i]];
    for (uint32_t m = 0; m < s->set->n; m++) {
        s->set->clusters[m] = moved[m];
        s->ups[m] = cv_cluster_throughput(s->field, &moved[m]);
    }
    return true;
}

/* The clusters of a choice, and who could be added to them, densest first. */
static bool take_up(struct levelling *s, const struct cv_stream_choice *choice,
                    uint32_t *left_out, uint32_t *out_n, struct cv_arena *arena)
{
    const uint32_t workers = s->field->ring.n;
    double *price = cv_array(arena, workers, sizeof *price);

    if (price == NULL || !CV_NEW(arena, s->ups, s->set->n) ||
        !CV_NEW(arena, s->places, (size_t)workers + 1) ||
        !CV_NEW(arena, s->steps, ((size_t)workers + 1) * 2 * NEAR))
        return false;
    *out_n = 0;
    for (uint32_t w = 0; w < workers; w++) {
        price[w] =
            cv_send_time(&s->field->times[w]) + cv_return_time(&s->field->times[w]);
        if (choice->reason[w] == CV_LESS_VALUE)
            left_out[(*out_n)++] = w;
    }
    for (uint32_t m = 0; m < s->set->n; m++)
        for (uint32_t i = choice->first[m]; i < choice->first[m + 1]; i++)
            if (!cv_cluster_add(s->field, &s->set->clusters[m], choice->members[i]))
                return false;
    return cv_sort_by_density(left_out, *out_n, s->field->profit, price);
}

static enum cleave_status share_out(struct levelling *s, struct cv_arena *arena,
                                    struct cv_stream_choice *choice,
                                    struct cleave_error *err)
{
    uint32_t *left_out = cv_array(arena, s->field->ring.n, sizeof *left_out);
    uint32_t n;

    if (left_out == NULL || !take_up(s, choice, left_out, &n, arena) ||
        !match_demands(s, arena))
        return cv_fail_memory(err, "the shares of streams");
    level(s);
    add_left_out(s, left_out, n);
    level(s);
    if (s->field->no_memory)
        return cv_fail_memory(err, "the shares of streams");
    return cv_choice_replace(s->field, s->set, arena, choice, err);
}

enum cleave_status cv_stream_select_demand(const struct cv_stream_task *task,
                                           const double *demands, double tolerance,
                                           struct cv_arena *arena,
                                           struct cv_stream_choice *out,
                                           struct cleave_error *err)
{
    struct cv_stream_set set = { NULL, 0 };
    struct cv_stream_choice choice = { 0 };
    struct cv_stream_field field;
    enum cleave_status status;
    struct levelling s = {
        .field = &field, .set = &set, .demands = demands, .tolerance = tolerance
    };

    for (uint32_t m = 0; m < task->nstreams; m++) {
        if (!(demands[m] > 0) || isinf(demands[m]))
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected a positive demand of each stream, got %g",
                           demands[m]);
        s.total_demand += demands[m];
    }
    CV_TRY(cv_stream_select(task, arena, &choice, err));
    if (cv_field_init(&field, &task->ring, arena,
                      task->work != 0 ? task->work : CV_KNAPSACK_SECOND) &&
        cv_set_init(&set, task->nstreams, arena))
        status = share_out(&s, arena, &choice, err);
    else
        status = cv_fail_memory(err, "the shares of streams");
    cv_set_done(&set);
    cv_field_done(&field);
    if (status == CLEAVE_OK)
        *out = choice;
    return status;
}
