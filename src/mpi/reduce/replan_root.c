/* replan_root.c -- the root of tree-replan: hears who is there, and says who sends to whom.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/replan_internal.h"

#include <math.h>

#include "mpi/memory/mpi_try.h"
#include "mpi/reduce/slices.h"

static int listen_to(struct cv_reduction *r, int rank)
{
    struct cv_replanning *of = r->state->replanning;

    return PMPI_Irecv(&of->heard[rank], 1, MPI_INT, rank, CV_TAG_TOLD, r->state->comm,
                      &of->listening[rank + 1]);
}

int cv_replan_root_hear(struct cv_reduction *r, int rank)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    const double now = PMPI_Wtime();

    cv_replan_hear(of->plan, rank, of->heard[rank], now);
    if (of->heard[rank] == 0)
        of->came_s[rank] = at->last_s = now;
    /* It has been told of more in the meantime, and will say when it has that. */
    return cv_replan_is_idle(of->plan, rank) ? MPI_SUCCESS : listen_to(r, rank);
}

static int tell(struct cv_reduction *r, int rank, int to)
{
    struct cv_replanning *of = r->state->replanning;
    int count = CV_TOLD_FROM;

    of->told[CV_TOLD_TO] = to;
    of->told[CV_TOLD_UNASKED] = cv_replan_habit(r)->unasked;
    if (to == CV_TO_SLICES)
        for (int i = 0; i < r->at.replan.expected; i++)
            of->told[count++] = of->expect[i];
    else if (to != CV_TO_MPI)
        for (int from = cv_replan_expects(of->plan, rank, -1); from >= 0;
             from = cv_replan_expects(of->plan, rank, from))
            of->told[count++] = from;
    if (to == CV_TO_NOBODY && of->listening[rank + 1] == MPI_REQUEST_NULL)
        CV_MPI_TRY(listen_to(r, rank));
    /* Whoever is told listens, so that this does not wait long. */
    return PMPI_Send(of->told, count, MPI_INT, rank, CV_TAG_TOLD, r->state->comm);
}

int cv_replan_root_direct(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    int rank;

    if (!cv_replan_decide(of->plan, PMPI_Wtime()))
        return MPI_ERR_NO_MEM;
    for (int i = 0; (rank = cv_replan_rank(of->plan, i)) >= 0; i++) {
        if (rank != r->root) {
            CV_MPI_TRY(tell(r, rank, cv_replan_sends_to(of->plan, rank)));
            continue;
        }
        for (int from = cv_replan_expects(of->plan, rank, -1); from >= 0;
             from = cv_replan_expects(of->plan, rank, from))
            of->expect[at->expected++] = from;
    }
    return MPI_SUCCESS;
}

/* What has been said is heard. */
static int hear_some(struct cv_reduction *r, bool block, int *out)
{
    struct cv_replanning *of = r->state->replanning;

    CV_MPI_TRY(block ? PMPI_Waitsome(r->state->size, of->listening + 1, out, of->which,
                                     of->statuses)
                     : PMPI_Testsome(r->state->size, of->listening + 1, out, of->which,
                                     of->statuses));
    for (int i = 0; i < *out; i++)
        CV_MPI_TRY(cv_replan_root_hear(r, of->which[i]));
    return MPI_SUCCESS;
}

/* Whether so many come until some time. */
static int wait_for(struct cv_reduction *r, int ranks, double until, bool *out)
{
    struct cv_replanning *of = r->state->replanning;
    int complete;

    while (!(*out = cv_replan_there(of->plan) >= ranks)) {
        /* For ever is waited for by the MPI library, which may give the processor away. */
        CV_MPI_TRY(hear_some(r, until == HUGE_VAL, &complete));
        if (complete == 0 && PMPI_Wtime() >= until)
            break;
    }
    return MPI_SUCCESS;
}

/* Where ranks share processors, slices would only make more messages. */
static int most_slices(const struct cv_reduction *r)
{
    const struct cv_comm_state *state = r->state;
    struct cv_vector cut = r->vector;
    int wish = state->settings.slices;

    cv_vector_slice(&cut, wish > 0 ? wish : CV_MOST_SLICES);
    if (!r->blocks || wish == 1 || cut.segments < 2)
        return 0;
    if (wish > 1)
        return wish < state->size ? wish : state->size;
    return state->costs.crowded
               ? 0
               : cv_slice_most(state->size, r->vector.count, r->vector.bytes);
}

/* What a transfer and a combination take, and by how much ranks differ. */
static void open_plan(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;
    struct cv_replanning *of = state->replanning;
    const double *rank_s = state->costs.rank_s;
    double d, c, sum = 0, max = 0;

    cv_link_costs_hop(state, r->vector.bytes, &d, &c);
    if (of->combine_byte_s > 0 && state->settings.combine_s == 0)
        c = of->combine_byte_s * r->vector.bytes;
    for (int i = 0; rank_s != NULL && i < state->size; i++) {
        sum += rank_s[i];
        max = rank_s[i] > max ? rank_s[i] : max;
    }
    for (int i = 0; rank_s != NULL && max > 0 && i < state->size; i++)
        of->pace[i] = rank_s[i] > 0 ? rank_s[i] * state->size / sum : 1; /* no partner */
    if (max > 0 && state->settings.transfer_s == 0)
        d *= sum / state->size / max;
    r->at.replan.job = (struct cv_slice_job){
        .n = state->size,
        .d = d,
        .c = c,
        .port_s = state->settings.transfer_s > 0 || state->costs.latency_s > d
                      ? d
                      : d - state->costs.latency_s,
        .max = most_slices(r),
    };
    cv_replan_begin(of->plan, r->root, d, c, max > 0 ? of->pace : NULL);
}

/* All have come. */
static void look_back(struct cv_reduction *r)
{
    const struct cv_in_replan *at = &r->at.replan;

    cv_replan_history_see(cv_replan_habit(r), &(struct cv_replan_history_call){
                                                  r->state->replanning->came_s,
                                                  at->since_s, at->last_s, at->job });
}

/* Those that are there are told the same. */
static int tell_all(struct cv_reduction *r, int to)
{
    for (int i = 0; i < r->state->size; i++)
        if (i != r->root && cv_replan_is_idle(r->state->replanning->plan, i))
            CV_MPI_TRY(tell(r, i, to));
    return MPI_SUCCESS;
}

/* All use MPI_Reduce, the root among them. */
static int all_by_mpi(struct cv_reduction *r)
{
    struct cv_replan_history *history = cv_replan_habit(r);
    const bool was_hopeless = history->hopeless;
    const bool declined = cv_replan_there(r->state->replanning->plan) < r->state->size;
    bool all;
    double since;

    CV_MPI_TRY(wait_for(r, r->state->size, HUGE_VAL, &all));
    look_back(r);
    cv_replan_history_rest(history, was_hopeless, declined);
    CV_MPI_TRY(tell_all(r, CV_TO_MPI));
    since = PMPI_Wtime();
    CV_MPI_TRY(cv_replan_by_mpi(r));
    cv_replan_history_own(history, PMPI_Wtime() - since);
    return MPI_SUCCESS;
}

/* Who keeps the slices, of those that are there. */
static int choose_keepers(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    struct cv_vector cut = r->vector;
    int count = at->job.max;
    bool enough;

    if (r->state->settings.slices == 0)
        count = cv_slice_count(&at->job, cv_replan_there(of->plan));
    CV_MPI_TRY(wait_for(r, count, HUGE_VAL, &enough));
    for (int i = 0; i < r->state->size; i++)
        of->there[i] = cv_replan_is_idle(of->plan, i);
    count = cv_slice_owners(r->state->size, r->root, of->there,
                            r->state->costs.rank_s != NULL ? of->pace : NULL, count,
                            of->expect);
    cv_vector_slice(&cut, count);
    at->expected = cut.segments;
    return MPI_SUCCESS;
}

/* All send slices, the root among them, which tells whoever comes who keeps them. */
static int all_by_slices(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;
    struct cv_replanning *of = state->replanning;
    struct cv_slices slices;
    int which;

    CV_MPI_TRY(choose_keepers(r));
    r->at.replan.by_slices = true;
    CV_MPI_TRY(tell_all(r, CV_TO_SLICES));
    CV_MPI_TRY(cv_slices_begin(&slices, r, of->expect, r->at.replan.expected,
                               cv_replan_requests(state)));
    while (!cv_slices_are_done(&slices)) {
        CV_MPI_TRY(PMPI_Waitany(state->size + CV_SLICE_REQUESTS, of->listening + 1,
                                &which, MPI_STATUS_IGNORE));
        if (which >= state->size) {
            CV_MPI_TRY(cv_slices_take(&slices, which - state->size));
            continue;
        }
        CV_MPI_TRY(cv_replan_root_hear(r, which));
        CV_MPI_TRY(tell(r, which, CV_TO_SLICES));
    }
    cv_replan_root_learn(r);
    return MPI_SUCCESS;
}

/* Who came before the root is heard of when a message has had its time; for slices it matters
 * how many these are. */
static int hear_who_waits(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    const double since = r->at.replan.since_s;
    bool all;

    if (r->at.replan.job.max < 2)
        return MPI_SUCCESS;
    CV_MPI_TRY(wait_for(r, r->state->size, since + r->state->costs.latency_s, &all));
    for (int i = 0; i < r->state->size; i++)
        if (cv_replan_is_idle(of->plan, i))
            of->came_s[i] = since;
    return MPI_SUCCESS;
}

/* Some may not have come yet. */
static enum cv_plan_kind choose(struct cv_reduction *r)
{
    const struct cv_comm_state *state = r->state;
    struct cv_slice_job *job = &r->at.replan.job;
    const int there = cv_replan_there(state->replanning->plan);

    if (!r->blocks)
        return CV_BY_TREE;
    if (state->settings.slices > 1 && job->max > 1)
        return CV_BY_SLICES;
    if (there == state->size)
        return CV_BY_MPI;
    if (job->max < 2)
        return CV_BY_TREE;
    job->spread_s = cv_replan_history_spread(cv_replan_habit(r));
    return cv_replan_history_choose(cv_replan_habit(r), job, there);
}

int cv_replan_root_open(struct cv_reduction *r, bool *out)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    const struct cv_replan_history *history = cv_replan_habit(r);
    double until = 0;

    for (int i = 0; i < r->state->size; i++)
        if (i != r->root)
            CV_MPI_TRY(listen_to(r, i));
    open_plan(r);
    at->since_s = at->last_s = of->came_s[r->root] = PMPI_Wtime();
    cv_replan_hear(of->plan, r->root, 0, at->since_s);
    if (r->blocks && (history->own_s == 0 || history->hopeless))
        until = HUGE_VAL;
    else if (r->blocks && !history->apart)
        until = at->since_s + at->job.d + at->job.c;
    if (r->state->settings.slices > 1 && at->job.max > 1)
        until = 0;
    if (r->blocks)
        CV_MPI_TRY(hear_who_waits(r));
    CV_MPI_TRY(wait_for(r, r->state->size, until, out));
    *out = r->blocks;
    switch (choose(r)) {
    case CV_BY_SLICES:
        return all_by_slices(r);
    case CV_BY_MPI:
        return all_by_mpi(r);
    default:
        *out = false;
        return cv_replan_root_direct(r);
    }
}

void cv_replan_root_learn(struct cv_reduction *r)
{
    const double took_s = PMPI_Wtime() - r->at.replan.last_s;

    if (r->combined_bytes > 0)
        r->state->replanning->combine_byte_s = r->combine_s / r->combined_bytes;
    look_back(r);
    cv_replan_history_planned(cv_replan_habit(r), took_s, r->at.replan.by_slices);
}
