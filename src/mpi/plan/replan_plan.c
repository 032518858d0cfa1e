/* replan_plan.c -- who sends to whom, decided as ranks say that they have come.
 * SPDX-License-Identifier: MIT */
#include "mpi/plan/replan_plan.h"

#include <stdlib.h>

#include "base/compare.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_tree.h"

struct replan_rank {
    int directed, done; /* partials it was told to expect, and has combined     */
    bool there, gone;   /* has come; has been told whom to send to              */
    double until_s;     /* when it has combined all it expects, as far as known */
    int sends_to;       /* what was decided last, -1: nothing                   */
    int first, last;    /* of those it expects since then, linked by `next`     */
    int next;
    bool touched;
};

struct when {
    double done_s;
    uint32_t node;
};

/* An idle rank, and its place in the plan. */
struct seat {
    double pace;
    uint32_t node, senders;
    int rank;
};

struct cv_replan {
    int size, root, there, gone;
    double d, c;
    const double *pace; /* borrowed; NULL: all alike */
    struct replan_rank *ranks;
    int *touched, ntouched;
    struct cv_ready_planner *planner;
    double *ready_s; /* of those that are there, in a row  */
    int *present;    /* who they are                       */
    uint32_t *parent, *senders;
    struct when *order;
    struct seat *seats;
    bool *idle;
    bool *clean; /* all below it has been decided on   */
    struct cv_arena room, scratch;
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
    plan->ranks = cv_array(&plan->room, n, sizeof *plan->ranks);
    plan->touched = cv_array(&plan->room, n, sizeof *plan->touched);
    plan->planner = cv_ready_planner_new(&plan->room, (uint32_t)size, true);
    plan->ready_s = cv_array(&plan->room, n, sizeof *plan->ready_s);
    plan->present = cv_array(&plan->room, n, sizeof *plan->present);
    plan->parent = cv_array(&plan->room, n, sizeof *plan->parent);
    plan->senders = cv_array(&plan->room, n, sizeof *plan->senders);
    plan->order = cv_array(&plan->room, n, sizeof *plan->order);
    plan->seats = cv_array(&plan->room, n, sizeof *plan->seats);
    plan->idle = cv_array(&plan->room, n, sizeof *plan->idle);
    plan->clean = cv_array(&plan->room, n, sizeof *plan->clean);
    if (plan->ranks == NULL || plan->touched == NULL || plan->planner == NULL ||
        plan->ready_s == NULL || plan->present == NULL || plan->parent == NULL ||
        plan->senders == NULL || plan->order == NULL || plan->seats == NULL ||
        plan->idle == NULL || plan->clean == NULL) {
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
        plan->ranks[i] = (struct replan_rank){ .sends_to = -1, .first = -1, .next = -1 };
}

void cv_replan_hear(struct cv_replan *plan, int rank, int done, double now_s)
{
    struct replan_rank *one = &plan->ranks[rank];

    plan->there += !one->there;
    one->there = true;
    one->done = done;
    if (one->done == one->directed)
        one->until_s = now_s;
}

static bool is_idle(const struct replan_rank *one)
{
    return one->there && !one->gone && one->done == one->directed;
}

static void touch(struct cv_replan *plan, int rank)
{
    struct replan_rank *one = &plan->ranks[rank];

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

/* What a transfer takes by the mean one. */
static double pace_of(const struct cv_replan *plan, int from, int to)
{
    if (plan->pace == NULL)
        return 1;
    return plan->pace[from] > plan->pace[to] ? plan->pace[from] : plan->pace[to];
}

static void direct(struct cv_replan *plan, int from, int to, double start_s)
{
    struct replan_rank *sender = &plan->ranks[from], *receiver = &plan->ranks[to];
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

/* All that are there and not told to send: when they could begin to receive. Whether there
 * is somebody to decide on. */
static bool look_round(struct cv_replan *plan, double now_s, struct cv_ready_job *job,
                       uint32_t *out_root)
{
    bool some = false;

    *job =
        (struct cv_ready_job){ 0, plan->ready_s, plan->d, plan->c, CLEAVE_READY_ABSENT };
    for (int i = 0; i < plan->size; i++) {
        const struct replan_rank *one = &plan->ranks[i];
        const double near_s = one->until_s - plan->d;

        if (!one->there || one->gone)
            continue;
        if (i == plan->root)
            *out_root = job->n;
        else
            some = some || is_idle(one);
        /* From now on, because times are to be positive. */
        plan->ready_s[job->n] = is_idle(one) || near_s < now_s ? 0 : near_s - now_s;
        plan->present[job->n++] = i;
    }
    return some && job->n > 1;
}

CV_ORDER_BY_TWO(by_time, struct when, done_s, node)

/* Whether the transfer of `node`, which is planned to begin at start_s, is decided on. */
static bool may_go(const struct cv_replan *plan, uint32_t node, double start_s)
{
    const uint32_t above = plan->parent[node];
    const struct replan_rank *to = &plan->ranks[plan->present[above]];

    if (!plan->idle[node] || !plan->clean[node])
        return false;
    if (plan->idle[above] && plan->present[above] != plan->root)
        return true;
    return start_s <= plan->d * 1e-6 && to->directed - to->done <= 1;
}

CV_ORDER_BY_TWO(by_pace, struct seat, pace, rank)

CV_ORDER_DOWN_BY(by_senders, struct seat, senders, node)

/* To the plan all idle ranks are the same: so let the quickest be those that receive most. */
static void take_seats(struct cv_replan *plan, uint32_t n)
{
    struct seat *seats = plan->seats;
    uint32_t count = 0;

    if (plan->pace == NULL)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (plan->idle[i] && plan->present[i] != plan->root)
            seats[count++] =
                (struct seat){ plan->pace[plan->present[i]], i, 0, plan->present[i] };
    qsort(seats, count, sizeof *seats, by_pace);
    for (uint32_t k = 0; k < count; k++)
        plan->order[k].node = (uint32_t)seats[k].rank;
    for (uint32_t i = 0; i < n; i++)
        plan->senders[i] = 0;
    for (uint32_t i = 0; i < n; i++)
        if (plan->parent[i] != CV_NO_NODE)
            plan->senders[plan->parent[i]]++;
    for (uint32_t k = 0; k < count; k++)
        seats[k].senders = plan->senders[seats[k].node];
    qsort(seats, count, sizeof *seats, by_senders);
    for (uint32_t k = 0; k < count; k++)
        plan->present[seats[k].node] = (int)plan->order[k].node;
}

bool cv_replan_decide(struct cv_replan *plan, double now_s)
{
    struct cv_ready_job job;
    struct cv_ready_run run;
    uint32_t root = CV_NO_NODE;

    forget(plan);
    if (!look_round(plan, now_s, &job, &root))
        return true;
    cv_arena_reset(&plan->scratch);
    cv_ready_tree(plan->planner, &job, root, plan->parent);
    if (cv_ready_execute(&job, plan->parent, NULL, &plan->scratch, &run, NULL) !=
        CLEAVE_OK)
        return false;
    for (uint32_t i = 0; i < job.n; i++)
        plan->idle[i] = is_idle(&plan->ranks[plan->present[i]]);
    take_seats(plan, job.n);
    for (uint32_t i = 0; i < job.n; i++) {
        plan->clean[i] = true;
        plan->order[i] = (struct when){ run.done_s[i], i };
    }
    /* Who sends is done before its receiver is. */
    qsort(plan->order, job.n, sizeof *plan->order, by_time);
    for (uint32_t k = 0; k < job.n; k++) {
        const uint32_t node = plan->order[k].node, above = plan->parent[node];

        if (above == CV_NO_NODE)
            continue;
        if (may_go(plan, node, run.start_s[node]))
            direct(plan, plan->present[node], plan->present[above],
                   now_s + run.start_s[node]);
        else
            plan->clean[above] = false;
    }
    return true;
}

bool cv_replan_is_idle(const struct cv_replan *plan, int rank)
{
    return is_idle(&plan->ranks[rank]);
}

int cv_replan_rank(const struct cv_replan *plan, int i)
{
    return i < plan->ntouched ? plan->touched[i] : -1;
}

int cv_replan_expects(const struct cv_replan *plan, int rank, int after)
{
    return after < 0 ? plan->ranks[rank].first : plan->ranks[after].next;
}

int cv_replan_sends_to(const struct cv_replan *plan, int rank)
{
    return plan->ranks[rank].sends_to;
}

int cv_replan_there(const struct cv_replan *plan)
{
    return plan->there;
}

bool cv_replan_is_complete(const struct cv_replan *plan)
{
    return plan->gone == plan->size - 1;
}
