/* stream_demand.c -- clusters for streams that do not want the same throughput.
 * SPDX-License-Identifier: MIT
 *
 * Giving stream l gain units per second of stream k makes them equally satisfied when
 * gain = (u_k d_l - u_l d_k) / (d_k + d_l), with u the throughputs and d the demands; the
 * lesser satisfaction rises for any gain between 0 and u_k - u_l d_k / d_l. For each
 * member of l, and for none, the members of k whose profit is nearest to the wanted one
 * are found in the sorted list of profits. */
#include "select/streams/stream_demand.h"

#include <math.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "base/compare.h"
#include "base/fail.h"
#include "select/knapsack/knapsack.h"
#include "select/streams/stream_improve.h"

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
    uint32_t made;
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

    if (a->miss != b->miss)
        return a->miss < b->miss ? -1 : 1;
    if (a->in_place_of != b->in_place_of)
        return a->in_place_of < b->in_place_of ? -1 : 1;
    return (a->from_place > b->from_place) - (a->from_place < b->from_place);
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

/* Work for sorting so many members. */
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
                s->made++;
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

/* Who was left out goes where there is room, the least satisfied stream first. */
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
    struct cv_stream_cluster *moved = cv_array(arena, s->set->n, sizeof *moved);
    uint32_t *by_demand = cv_array(arena, s->set->n, sizeof *by_demand);
    uint32_t *by_ups = cv_array(arena, s->set->n, sizeof *by_ups);

    if (moved == NULL || by_demand == NULL || by_ups == NULL)
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

    s->ups = cv_array(arena, s->set->n, sizeof *s->ups);
    s->places = cv_array(arena, (size_t)workers + 1, sizeof *s->places);
    s->steps = cv_array(arena, ((size_t)workers + 1) * 2 * NEAR, sizeof *s->steps);
    if (price == NULL || s->ups == NULL || s->places == NULL || s->steps == NULL)
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
                                    struct cv_stream_shares *out,
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
    CV_TRY(cv_choice_replace(s->field, s->set, arena, choice, err));
    out->min = least_satisfied(s);
    out->least_share = share_of(s, out->min);
    out->steps = s->made;
    return CLEAVE_OK;
}

enum cleave_status cv_stream_select_demand(const struct cv_stream_task *task,
                                           const double *demands, double tolerance,
                                           struct cv_arena *arena,
                                           struct cv_stream_choice *out,
                                           struct cv_stream_shares *out_shares,
                                           struct cleave_error *err)
{
    struct cv_stream_set set = { NULL, 0 };
    struct cv_stream_choice choice = { 0 };
    struct cv_stream_field field;
    enum cleave_status status;
    struct levelling s = {
        .field = &field, .set = &set, .demands = demands, .tolerance = tolerance
    };

    if (!(tolerance >= 0 && tolerance <= 1))
        return cv_fail(err, CLEAVE_EINPUT, "expected a tolerance between 0 and 1, got %g",
                       tolerance);
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
        status = share_out(&s, arena, &choice, out_shares, err);
    else
        status = cv_fail_memory(err, "the shares of streams");
    cv_set_done(&set);
    cv_field_done(&field);
    if (status == CLEAVE_OK)
        *out = choice;
    return status;
}
