/* replan_plan.c -- decisions of the root of tree-replan. SPDX-License-Identifier: MIT */
#include "mpi/plan/replan_plan.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include "base/compare.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_tree.h"

struct cv_replan_node {
    int rank;
    uint32_t senders;
    bool idle;
    bool clean; /* all below it has been decided */
};

/* An idle rank, and its node of the plan. */
struct cv_replan_seat {
    double pace;
    uint32_t node, senders;
    int rank;
};

struct cv_replan *cv_replan_new(int size)
{
    const size_t n = (size_t)size;
    struct cv_replan *plan = calloc(1, sizeof *plan);

    if (plan == NULL)
        return NULL;
    plan->size = size;
    cv_arena_init(&plan->room);
    cv_arena_init(&plan->scratch);
    plan->planner = cv_ready_planner_new(&plan->room, (uint32_t)size, true);
    if (plan->planner == NULL || !CV_NEW(&plan->room, plan->ranks, n) ||
        !CV_NEW(&plan->room, plan->touched, n) ||
        !CV_NEW(&plan->room, plan->ready_s, n) || !CV_NEW(&plan->room, plan->parent, n) ||
        !CV_NEW(&plan->room, plan->nodes, n) || !CV_NEW(&plan->room, plan->order, n) ||
        !CV_NEW(&plan->room, plan->seats, n)) {
        cv_replan_free(plan);
        return NULL;
    }
    return plan;
}

void cv_replan_free(struct cv_replan *plan)
{
    if (plan == NULL)
        return;
    cv_arena_done(&plan->room);
    cv_arena_done(&plan->scratch);
    free(plan);
}

void cv_replan_begin(struct cv_replan *plan, int root, double transfer_s,
                     double combine_s, const double *pace)
{
    plan->pace = pace;
    plan->root = root;
    plan->d = transfer_s;
    plan->c = combine_s;
    plan->there = plan->gone = plan->ntouched = 0;
    for (int i = 0; i < plan->size; i++)
        plan->ranks[i] =
            (struct cv_replan_rank){ .sends_to = -1, .first = -1, .next = -1 };
}

void cv_replan_hear(struct cv_replan *plan, int rank, int done, double now_s)
{
    struct cv_replan_rank *one = &plan->ranks[rank];

    plan->there += !one->there;
    one->there = true;
    one->done = done;
    if (one->done == one->directed)
        one->until_s = now_s;
}

bool cv_replan_is_idle(const struct cv_replan *plan, int rank)
{
    const struct cv_replan_rank *one = &plan->ranks[rank];

    return one->there && !one->gone && one->done == one->directed;
}

static void touch(struct cv_replan *plan, int rank)
{
    struct cv_replan_rank *one = &plan->ranks[rank];

    if (one->touched)
        return;
    one->touched = true;
    one->sends_to = one->first = one->last = -1;
    plan->touched[plan->ntouched++] = rank;
}

static void forget(struct cv_replan *plan)
{
    for (int i = 0; i < plan->ntouched; i++)
        plan->ranks[plan->touched[i]].touched = false;
    plan->ntouched = 0;
}

/* Cost of a transfer, relative to the mean. */
static double pace_of(const struct cv_replan *plan, int from, int to)
{
    if (plan->pace == NULL)
        return 1;
    return plan->pace[from] > plan->pace[to] ? plan->pace[from] : plan->pace[to];
}

static void direct(struct cv_replan *plan, int from, int to, double start_s)
{
    struct cv_replan_rank *sender = &plan->ranks[from], *receiver = &plan->ranks[to];
    const double arrives_s = start_s + plan->d * pace_of(plan, from, to);

    touch(plan, from);
    touch(plan, to);
    sender->sends_to = to;
    sender->next = -1;
    sender->gone = true;
    plan->gone++;
    if (receiver->first < 0)
        receiver->first = from;
    else
        plan->ranks[receiver->last].next = from;
    receiver->last = from;
    receiver->directed++;
    receiver->until_s =
        (receiver->until_s > arrives_s ? receiver->until_s : arrives_s) + plan->c;
}

/* Ranks that have arrived and were not told to send, with the times at which they can
 * receive. False: nothing to decide. */
static bool collect_ranks(struct cv_replan *plan, double now_s, struct cv_ready_job *job,
                          uint32_t *out_root)
{
    bool some = false;

    *job =
        (struct cv_ready_job){ 0, plan->ready_s, plan->d, plan->c, CLEAVE_READY_ABSENT };
    for (int i = 0; i < plan->size; i++) {
        const struct cv_replan_rank *one = &plan->ranks[i];
        const double near_s = one->until_s - plan->d;

        if (!one->there || one->gone)
            continue;
        if (i == plan->root)
            *out_root = job->n;
        else
            some = some || cv_replan_is_idle(plan, i);
        /* Relative to now: times must not be negative. */
        plan->ready_s[job->n] =
            cv_replan_is_idle(plan, i) || near_s < now_s ? 0 : near_s - now_s;
        plan->nodes[job->n++].rank = i;
    }
    return some && job->n > 1;
}

/* Whether the transfer of `node`, planned for start_s, can be decided now. */
static bool may_go(const struct cv_replan *plan, uint32_t node, double start_s)
{
    const uint32_t above = plan->parent[node];
    const struct cv_replan_rank *to = &plan->ranks[plan->nodes[above].rank];

    if (!plan->nodes[node].idle || !plan->nodes[node].clean)
        return false;
    if (plan->nodes[above].idle && plan->nodes[above].rank != plan->root)
        return true;
    return start_s <= plan->d * 1e-6 && to->directed - to->done <= 1;
}

CV_ORDER_BY_TWO(by_pace, struct cv_replan_seat, pace, rank)

CV_ORDER_DOWN_BY(by_senders, struct cv_replan_seat, senders, node)

/* The plan does not distinguish idle ranks: let the fastest receive most. */
static void take_seats(struct cv_replan *plan, uint32_t n)
{
    struct cv_replan_seat *seats = plan->seats;
    uint32_t count = 0;

    if (plan->pace == NULL)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (plan->nodes[i].idle && plan->nodes[i].rank != plan->root)
            seats[count++] = (struct cv_replan_seat){ plan->pace[plan->nodes[i].rank], i,
                                                      0, plan->nodes[i].rank };
    qsort(seats, count, sizeof *seats, by_pace);
    for (uint32_t k = 0; k < count; k++)
        plan->order[k].index = (uint32_t)seats[k].rank;
    for (uint32_t i = 0; i < n; i++)
        plan->nodes[i].senders = 0;
    for (uint32_t i = 0; i < n; i++)
        if (plan->parent[i] != CV_NO_NODE)
            plan->nodes[plan->parent[i]].senders++;
    for (uint32_t k = 0; k < count; k++)
        seats[k].senders = plan->nodes[seats[k].node].senders;
    qsort(seats, count, sizeof *seats, by_senders);
    for (uint32_t k = 0; k < count; k++)
        plan->nodes[seats[k].node].rank = (int)plan->order[k].index;
}

bool cv_replan_decide(struct cv_replan *plan, double now_s)
{
    struct cv_ready_job job;
    struct cv_tree_run run;
    uint32_t root = CV_NO_NODE;

    forget(plan);
    if (!collect_ranks(plan, now_s, &job, &root))
        return true;
    cv_arena_reset(&plan->scratch);
    cv_ready_tree(plan->planner, &job, root, plan->parent);
    if (cv_ready_execute(&job, plan->parent, NULL, &plan->scratch, &run, NULL) !=
        CLEAVE_OK)
        return false;
    for (uint32_t i = 0; i < job.n; i++)
        plan->nodes[i].idle = cv_replan_is_idle(plan, plan->nodes[i].rank);
    take_seats(plan, job.n);
    for (uint32_t i = 0; i < job.n; i++) {
        plan->nodes[i].clean = true;
        plan->order[i] = (struct cv_ranked){ run.ready_s[i], i };
    }
    /* A sender is done before its receiver. */
    qsort(plan->order, job.n, sizeof *plan->order, cv_rank_up);
    for (uint32_t k = 0; k < job.n; k++) {
        const uint32_t node = plan->order[k].index, above = plan->parent[node];

        if (above == CV_NO_NODE)
            continue;
        if (may_go(plan, node, run.start_s[node]))
            direct(plan, plan->nodes[node].rank, plan->nodes[above].rank,
                   now_s + run.start_s[node]);
        else
            plan->nodes[above].clean = false;
    }
    return true;
}

/* --- slices ------------------------------------------------------------------------- */

/* Shorter messages are not faster, few ranks have a tree of few levels, and owners need
 * not be the fastest. */
static const double least_slice = 1024, about_as_quick = 1.05;
enum { LEAST_RANKS = 16, LEAST_SLICES = 4, RANKS_EACH = 4 };

int cv_slice_most(int n, int elements, double bytes)
{
    const int ranks = n / RANKS_EACH;
    const double max =
        fmin(fmin(CV_MOST_SLICES, ranks), fmin(elements, bytes / least_slice));

    return n < LEAST_RANKS || max < LEAST_SLICES ? 0 : (int)max;
}

/* The time in which the other ranks arrive. */
static double left_of(const struct cv_slice_job *job, int there)
{
    return job->spread_s * (job->n - there) / job->n;
}

/* The time that a single owner would be busy. */
static double busy_of(const struct cv_slice_job *job)
{
    return job->n * fmax(job->port_s, job->c);
}

int cv_slice_count(const struct cv_slice_job *job, int there)
{
    const double wish = 2 * busy_of(job), left_s = left_of(job, there);

    if (wish >= job->max * left_s)
        return job->max;
    return (int)fmin(fmax(ceil(wish / left_s), LEAST_SLICES), job->max);
}

double cv_slice_time(const struct cv_slice_job *job)
{
    return job->max < 2 ? HUGE_VAL : 2 * job->d + job->c;
}

double cv_slice_backlog(const struct cv_slice_job *job, int there)
{
    return fmax(0, busy_of(job) / job->max - left_of(job, there));
}

/* The pace of the count-th fastest rank. */
static double pace_of_most(int n, const bool *there, const double *pace, int count)
{
    double bound = HUGE_VAL;

    for (int i = 0; i < n; i++) {
        int quicker = 0;

        if (!there[i] || pace[i] >= bound)
            continue;
        for (int k = 0; k < n; k++)
            quicker += there[k] && pace[k] <= pace[i];
        if (quicker >= count)
            bound = pace[i];
    }
    return bound;
}

/* The k-th of `count` indices below `able`: one in each range of able / count, at an
 * offset by the golden ratio. */
static int place_of(int k, int able, int count)
{
    const int first = (int)((long)k * able / count);
    const int next = (int)((long)(k + 1) * able / count);
    double whole;

    return first + (int)(modf(k * 0.6180339887498949, &whole) * (next - first));
}

int cv_slice_owners(int n, int root, const bool *there, const double *pace, int count,
                    int *out)
{
    const double bound =
        pace == NULL ? HUGE_VAL : about_as_quick * pace_of_most(n, there, pace, count);
    int able = 0, kept = 1;

    for (int i = 0; i < n; i++)
        if (i != root && there[i] && (pace == NULL || pace[i] <= bound))
            out[1 + able++] = i;
    out[0] = root;
    if (able < count)
        return able + 1;
    for (; kept < count; kept++)
        out[kept] = out[1 + place_of(kept - 1, able, count - 1)];
    return kept;
}

/* --- whether plans pay -------------------------------------------------------------- */

enum { MOST_DOUBLINGS = 6, MANY_DOUBLINGS = 4, FEW = 4, OFTEN = 3 };

/* A plan pays if its time is below `quicker` of MPI_Reduce's. If it is above much_slower,
 * and no plan was ever quicker, plans are not tried again soon. */
static const double quicker = 0.97, much_slower = 1.3;

int cv_replan_history_of(double bytes)
{
    int size = 0;

    for (double min = 4; size < CV_HABITS - 1 && bytes >= min; min *= 4)
        size++;
    return size;
}

/* Two calls count: one call may be slow because the root came last. */
static void note(double *last, double now)
{
    last[1] = last[0];
    last[0] = now;
}

static double lesser(const double *last)
{
    return last[0] < last[1] ? last[0] : last[1];
}

/* last[1] is 0 after one call. */
static double known_lesser(const double *last)
{
    return last[1] == 0 ? last[0] : lesser(last);
}

/* An estimate, corrected by measured ratios. */
static double expected(const double *thought_s, const double *by)
{
    return known_lesser(thought_s) * (by[0] == 0 ? 1 : known_lesser(by));
}

static void judge(struct cv_replan_history *history)
{
    history->hopeless = history->own_s > 0 &&
                        known_lesser(history->least_s) > quicker * history->own_s &&
                        known_lesser(history->slices_s) > quicker * history->own_s;
}

/* Ranks that arrive before the root are seen when it arrives: extrapolate from the other
 * ranks, if there are enough. */
static double spread(const struct cv_replan_history_call *call)
{
    const double since = call->since_s + call->job.d / 4;
    int later = 0;

    for (int i = 0; i < call->job.n; i++)
        later += call->came_s[i] > since;
    if (later < call->job.n / FEW)
        later = call->job.n / FEW;
    return later == 0 ? 0 : (call->last_s - call->since_s) * call->job.n / later;
}

void cv_replan_history_see(struct cv_replan_history *history,
                           const struct cv_replan_history_call *call)
{
    const struct cv_ready_job job = { (uint32_t)call->job.n, call->came_s, call->job.d,
                                      call->job.c, CLEAVE_READY_ABSENT };
    struct cv_slice_job slices = call->job;
    double first = call->since_s;
    bool late;

    slices.spread_s = spread(call);
    note(history->spread_s, slices.spread_s);
    note(history->slices_s,
         cv_slice_time(&slices) + (slices.max > 0 ? cv_slice_backlog(&slices, 0) : 0));
    for (int i = 0; i < call->job.n; i++)
        first = call->came_s[i] < first ? call->came_s[i] : first;
    for (int i = 0; i < call->job.n; i++)
        call->came_s[i] -= first;
    note(history->least_s, cv_ready_bound(&job) - (call->last_s - first));
    late = call->last_s > call->since_s + call->job.d + call->job.c;
    /* If plans work, one call does not count: the root may have arrived last. */
    history->apart = late || (history->worked && !history->together);
    history->together = !late;
    judge(history);
}

double cv_replan_history_spread(const struct cv_replan_history *history)
{
    return history->spread_s[0] > history->spread_s[1] ? history->spread_s[0]
                                                       : history->spread_s[1];
}

enum cv_plan_kind cv_replan_history_choose(const struct cv_replan_history *history,
                                           const struct cv_slice_job *job, int there)
{
    const double usual_s = expected(history->slices_s, history->slices_by);
    const double tree_s = expected(history->least_s, history->tree_by);
    const double thought_s[2] = { cv_slice_time(job), 0 };

    if (!(usual_s < tree_s))
        return tree_s < history->own_s ? CV_BY_TREE : CV_BY_MPI;
    return expected(thought_s, history->slices_by) + cv_slice_backlog(job, there) <
                   history->own_s
               ? CV_BY_SLICES
               : CV_BY_MPI;
}

void cv_replan_history_own(struct cv_replan_history *history, double took_s)
{
    history->own_s = took_s;
    judge(history);
}

void cv_replan_history_planned(struct cv_replan_history *history, double took_s,
                               bool by_slices)
{
    const double thought_s = by_slices ? history->slices_s[0] : history->least_s[0];

    history->declined = 0;
    note(history->planned_s, took_s);
    if (thought_s > 0)
        note(by_slices ? history->slices_by : history->tree_by, took_s / thought_s);
    history->worked = history->worked || took_s < quicker * history->own_s;
    if (history->own_s > 0 && lesser(history->planned_s) > quicker * history->own_s)
        history->hopeless = true;
    else
        history->doublings = 0;
}

void cv_replan_history_rest(struct cv_replan_history *history, bool was_hopeless,
                            bool declined)
{
    history->declined = declined ? history->declined + 1 : 0;
    /* `hopeless` is set at once if no plan can be faster, but later if plans prove not to
     * be. */
    if (!(was_hopeless && history->planned_s[0] > 0) && !history->hopeless &&
        history->apart && history->declined < OFTEN)
        return;
    if (!history->worked && lesser(history->planned_s) > much_slower * history->own_s &&
        history->doublings < MANY_DOUBLINGS)
        history->doublings = MANY_DOUBLINGS;
    history->unasked = 1 << history->doublings;
    if (history->doublings < MOST_DOUBLINGS)
        history->doublings++;
}
