/* replan_algorithm.c -- tree-replan among MPI ranks. SPDX-License-Identifier: MIT
 *
 * Without atomic operations. Whoever comes tells the root in a short message, and is told
 * whom to expect partials from and whom to send to; the root decides as they come
 * (replan_plan.h). A rank that is told only whom to expect says when it has combined
 * them. So a partial that comes last costs two short messages and one transfer, and
 * nobody waits at a place of a tree whose owner has not come.
 *
 * The root has heard all that a rank has to say before it tells that rank where to send,
 * after which that one says no more, and the root listens to it no more: messages of two
 * reductions cannot be confused. Whoever listens does so before anything can be said, so
 * that a message need not wait for that.
 *
 * It pays as long as ranks come far apart, and the root sees whether it does: how long after
 * the last had come the result was there, with a plan and, when all were told to use
 * MPI_Reduce, without. The first call of a size goes there in any case, later ones where
 * plans do not pay or all come within a moment, and then more and more of them unasked
 * (replan_plan.h). */
#include <math.h>
#include <stdlib.h>
#include "mpi/memory/mpi_try.h"
#include "mpi/plan/replan_plan.h"
#include "mpi/reduce/reduction.h"

enum { SLICE_BERTHS = 8 };
/* Requests of a rank: slices that arrive, those it sends, and results. */
enum { SLICE_REQUESTS = SLICE_BERTHS + 2 * CV_MOST_SLICES };

struct slices {
    struct cv_reduction *r; /* borrowed                                             */
    struct cv_vector cut;   /* its vector; segment k is the slice of keeper k       */
    const int *keepers;     /* borrowed: ranks, of which the first is the root      */
    int own;                /* the slice that this rank keeps, or -1                */
    int left;               /* messages that are still to arrive or to be sent      */
    int posted, arrived;    /* slices of others, of the own one                     */
    int sending;            /* slices that are under way                            */
    char *berths;
    MPI_Request *requests; /* borrowed: SLICE_REQUESTS of them                  */
};

/* What a rank says: how many partials it has combined. What it is told: whom to send to, or
 * that MPI_Reduce or slices are to be used; how many calls after this one go to MPI_Reduce
 * unasked; and whom to expect before it sends, or who keeps the slices. */
enum { TOLD_TO, TOLD_UNASKED, TOLD_FROM };
enum { TO_NOBODY = -1, TO_MPI = -2, TO_SLICES = -3 };

struct cv_replanning {
    int *told;              /* by the root or, there, what is told to one        */
    int *expect;            /* whom this rank is to expect, in turn              */
    double *came_s;         /* at the root: when each rank came                   */
    bool *there;            /* at the root: who has come, when slices are given    */
    int *heard;             /* at the root: what each rank said                 */
    int *which;             /* at the root: who has said something               */
    MPI_Request *listening; /* at the root for each rank, behind a place for a
                                segment; at another for the root. Behind these,
                                those of slices                                   */
    int said;
    MPI_Request saying;
    double combine_byte_s; /* what the operator took in it, 0: unknown            */
    double *pace;          /* at the root, of each rank                          */
    struct cv_replan_history habits[CV_HABITS];
    MPI_Status *statuses;
    struct cv_replan *plan; /* owned */
};

/* Requests of slices (SLICE_REQUESTS). */
static inline MPI_Request *replan_requests(const struct cv_comm_state *state)
{
    return state->replanning->listening + state->size + 1;
}

static inline struct cv_replan_history *replan_habit(const struct cv_reduction *r)
{
    return &r->state->replanning->habits[cv_replan_history_of(r->vector.bytes)];
}

static inline int replan_by_mpi(struct cv_reduction *r)
{
    return PMPI_Reduce(r->in_place ? MPI_IN_PLACE : r->send, r->recv, r->vector.count,
                       r->vector.type, r->vector.op, r->root, r->state->comm);
}

/* --- each of some ranks combines one slice of all vectors -------------------------- */

static bool is_root(const struct slices *slices)
{
    return slices->own == 0;
}

static const char *place(const struct slices *slices, const void *of, int slice)
{
    return (const char *)of + cv_vector_offset(&slices->cut, slice);
}

/* Where the own slice is combined. */
static char *sum(const struct slices *slices)
{
    return slices->r->whole + cv_vector_offset(&slices->cut, slices->own);
}

static char *berth(const struct slices *slices, int i)
{
    const size_t span = (cv_vector_segment_span(&slices->cut) + 63) / 64 * 64;

    return slices->berths + (size_t)i * span - slices->cut.lower;
}

static int receive(struct slices *slices, int i)
{
    slices->posted++;
    return PMPI_Irecv(berth(slices, i), cv_vector_part(&slices->cut, slices->own),
                      slices->cut.type, MPI_ANY_SOURCE, CV_TAG_SLICE,
                      slices->r->state->comm, &slices->requests[i]);
}

static int keep(struct slices *slices)
{
    struct cv_reduction *r = slices->r;
    const size_t span = (cv_vector_segment_span(&slices->cut) + 63) / 64 * 64;

    CV_MPI_TRY(cv_reduction_whole(r));
    slices->berths = cv_scratch_get(&r->state->berths, span * SLICE_BERTHS);
    if (slices->berths == NULL)
        return MPI_ERR_NO_MEM;
    if (!r->in_place)
        CV_MPI_TRY(cv_vector_copy(&r->vector, place(slices, r->send, slices->own),
                                  sum(slices), cv_vector_part(&slices->cut, slices->own),
                                  r->state->comm, r->state->rank));
    slices->left += r->state->size - 1;
    for (int i = 0; i < SLICE_BERTHS && slices->posted < r->state->size - 1; i++)
        CV_MPI_TRY(receive(slices, i));
    return MPI_SUCCESS;
}

/* Not all begin with the same keeper. */
static int send_slices(struct slices *slices)
{
    struct cv_reduction *r = slices->r;
    const int count = slices->cut.segments;

    for (int k = 0; k < count; k++) {
        const int slice = (r->state->rank + k) % count;

        if (slice == slices->own)
            continue;
        slices->sending++;
        slices->left++;
        CV_MPI_TRY(PMPI_Isend(place(slices, r->send, slice),
                              cv_vector_part(&slices->cut, slice), slices->cut.type,
                              slices->keepers[slice], CV_TAG_SLICE, r->state->comm,
                              &slices->requests[SLICE_BERTHS + slice]));
    }
    return MPI_SUCCESS;
}

/* Begin; all ranks with the same keepers, as many as there are slices of the vector when it
 * is cut for so many (cv_vector_slice). */
static int slices_begin(struct slices *slices, struct cv_reduction *r, const int *keepers,
                        int count, MPI_Request *requests)
{
    *slices = (struct slices){
        .r = r, .cut = r->vector, .keepers = keepers, .own = -1, .requests = requests
    };
    cv_vector_slice(&slices->cut, count);
    for (int i = 0; i < SLICE_REQUESTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < count; i++)
        if (keepers[i] == r->state->rank)
            slices->own = i;
    if (slices->own >= 0)
        CV_MPI_TRY(keep(slices));
    if (slices->own > 0)
        slices->left++; /* the result */
    if (is_root(slices))
        slices->left += count - 1;
    return send_slices(slices);
}

/* Where the root's own values lie in place the result takes their room, so not before they
 * have been sent. */
static int await_results(struct slices *slices)
{
    for (int i = 1; i < slices->cut.segments; i++)
        CV_MPI_TRY(PMPI_Irecv((char *)slices->r->recv + cv_vector_offset(&slices->cut, i),
                              cv_vector_part(&slices->cut, i), slices->cut.type,
                              slices->keepers[i], CV_TAG_RESULT, slices->r->state->comm,
                              &slices->requests[SLICE_BERTHS + CV_MOST_SLICES + i]));
    return MPI_SUCCESS;
}

static int combine(struct slices *slices, int i)
{
    struct cv_reduction *r = slices->r;
    const int count = cv_vector_part(&slices->cut, slices->own);

    CV_MPI_TRY(cv_reduction_combine(r, berth(slices, i), sum(slices), count));
    slices->arrived++;
    if (slices->posted < r->state->size - 1)
        return receive(slices, i);
    if (slices->arrived < r->state->size - 1 || is_root(slices))
        return MPI_SUCCESS;
    return PMPI_Isend(sum(slices), count, slices->cut.type, r->root, CV_TAG_RESULT,
                      r->state->comm, &slices->requests[SLICE_BERTHS + CV_MOST_SLICES]);
}

/* Request `which` is complete. */
static int slices_take(struct slices *slices, int which)
{
    slices->left--;
    if (which < SLICE_BERTHS)
        return combine(slices, which);
    if (which < SLICE_BERTHS + CV_MOST_SLICES && --slices->sending == 0 &&
        is_root(slices))
        return await_results(slices);
    return MPI_SUCCESS;
}

static int slices_run(struct cv_reduction *r, const int *keepers, int count,
                      MPI_Request *requests)
{
    struct slices slices;
    int which;

    CV_MPI_TRY(slices_begin(&slices, r, keepers, count, requests));
    while (slices.left > 0) {
        CV_MPI_TRY(PMPI_Waitany(SLICE_REQUESTS, requests, &which, MPI_STATUS_IGNORE));
        CV_MPI_TRY(slices_take(&slices, which));
    }
    return MPI_SUCCESS;
}

/* --- the root of tree-replan: hears who is there, and says who sends to whom ------- */

static int listen_to(struct cv_reduction *r, int rank)
{
    struct cv_replanning *of = r->state->replanning;

    return PMPI_Irecv(&of->heard[rank], 1, MPI_INT, rank, CV_TAG_TOLD, r->state->comm,
                      &of->listening[rank + 1]);
}

/* What a rank has said is taken in. */
static int replan_root_hear(struct cv_reduction *r, int rank)
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
    int count = TOLD_FROM;

    of->told[TOLD_TO] = to;
    of->told[TOLD_UNASKED] = replan_habit(r)->unasked;
    if (to == TO_SLICES)
        for (int i = 0; i < r->at.replan.expected; i++)
            of->told[count++] = of->expect[i];
    else if (to != TO_MPI)
        for (int from = cv_replan_expects(of->plan, rank, -1); from >= 0;
             from = cv_replan_expects(of->plan, rank, from))
            of->told[count++] = from;
    if (to == TO_NOBODY && of->listening[rank + 1] == MPI_REQUEST_NULL)
        CV_MPI_TRY(listen_to(r, rank));
    /* Whoever is told listens, so that this does not wait long. */
    return PMPI_Send(of->told, count, MPI_INT, rank, CV_TAG_TOLD, r->state->comm);
}

/* Decide on what can be decided, and tell whom it concerns. */
static int replan_root_direct(struct cv_reduction *r)
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
        CV_MPI_TRY(replan_root_hear(r, of->which[i]));
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

    cv_replan_history_see(replan_habit(r), &(struct cv_replan_history_call){
                                               r->state->replanning->came_s, at->since_s,
                                               at->last_s, at->job });
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
    struct cv_replan_history *history = replan_habit(r);
    const bool was_hopeless = history->hopeless;
    const bool declined = cv_replan_there(r->state->replanning->plan) < r->state->size;
    bool all;
    double since;

    CV_MPI_TRY(wait_for(r, r->state->size, HUGE_VAL, &all));
    look_back(r);
    cv_replan_history_rest(history, was_hopeless, declined);
    CV_MPI_TRY(tell_all(r, TO_MPI));
    since = PMPI_Wtime();
    CV_MPI_TRY(replan_by_mpi(r));
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

/* A plan has been carried out. */
static void replan_root_learn(struct cv_reduction *r)
{
    const double took_s = PMPI_Wtime() - r->at.replan.last_s;

    if (r->combined_bytes > 0)
        r->state->replanning->combine_byte_s = r->combine_s / r->combined_bytes;
    look_back(r);
    cv_replan_history_planned(replan_habit(r), took_s, r->at.replan.by_slices);
}

/* All send slices, the root among them, which tells whoever comes who keeps them. */
static int all_by_slices(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;
    struct cv_replanning *of = state->replanning;
    struct slices slices;
    int which;

    CV_MPI_TRY(choose_keepers(r));
    r->at.replan.by_slices = true;
    CV_MPI_TRY(tell_all(r, TO_SLICES));
    CV_MPI_TRY(slices_begin(&slices, r, of->expect, r->at.replan.expected,
                            replan_requests(state)));
    while (slices.left > 0) {
        CV_MPI_TRY(PMPI_Waitany(state->size + SLICE_REQUESTS, of->listening + 1, &which,
                                MPI_STATUS_IGNORE));
        if (which >= state->size) {
            CV_MPI_TRY(slices_take(&slices, which - state->size));
            continue;
        }
        CV_MPI_TRY(replan_root_hear(r, which));
        CV_MPI_TRY(tell(r, which, TO_SLICES));
    }
    replan_root_learn(r);
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
    job->spread_s = cv_replan_history_spread(replan_habit(r));
    return cv_replan_history_choose(replan_habit(r), job, there);
}

/* The root has come. *out: all have used MPI_Reduce or slices, and that is over. */
static int replan_root_open(struct cv_reduction *r, bool *out)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    const struct cv_replan_history *history = replan_habit(r);
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
        return replan_root_direct(r);
    }
}

/* --- tree-replan among MPI ranks --------------------------------------------------- */

enum { BEGIN, AWAIT, RECEIVE, SEND };

static void free_replanning(struct cv_replanning *of)
{
    if (of->saying != MPI_REQUEST_NULL)
        PMPI_Wait(&of->saying, MPI_STATUS_IGNORE);
    cv_replan_free(of->plan);
    free(of->told);
    free(of->heard);
    free(of->listening);
    free(of->statuses);
    free(of->pace);
    free(of->there);
    free(of);
}

static int make_replanning(struct cv_comm_state *state)
{
    const size_t n = (size_t)state->size;
    struct cv_replanning *of = calloc(1, sizeof *of);

    if (of == NULL)
        return MPI_ERR_NO_MEM;
    of->saying = MPI_REQUEST_NULL;
    of->plan = cv_replan_new(state->size);
    of->told = calloc(3 * n + TOLD_FROM, sizeof *of->told);
    of->heard = calloc(n, sizeof *of->heard);
    of->listening = calloc(n + 1 + SLICE_REQUESTS, sizeof(MPI_Request));
    of->statuses = calloc(n, sizeof(MPI_Status));
    of->pace = calloc(2 * n, sizeof *of->pace);
    of->there = calloc(n, sizeof *of->there);
    if (of->plan == NULL || of->told == NULL || of->heard == NULL ||
        of->listening == NULL || of->statuses == NULL || of->pace == NULL ||
        of->there == NULL) {
        free_replanning(of);
        return MPI_ERR_NO_MEM;
    }
    of->expect = of->told + n + TOLD_FROM;
    of->which = of->expect + n;
    of->came_s = of->pace + n;
    for (size_t i = 0; i <= n + SLICE_REQUESTS; i++)
        of->listening[i] = MPI_REQUEST_NULL;
    state->replanning = of;
    state->free_replanning = free_replanning;
    return MPI_SUCCESS;
}

static bool scheme_is_root(const struct cv_reduction *r)
{
    return r->state->rank == r->root;
}

/* --- the others ------------------------------------------------------------------------- */

/* To the root: this rank is there, and has combined so many. */
static int say(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;

    CV_MPI_TRY(PMPI_Wait(&of->saying, MPI_STATUS_IGNORE));
    of->said = r->at.replan.said = r->at.replan.done;
    return PMPI_Isend(&of->said, 1, MPI_INT, r->root, CV_TAG_TOLD, r->state->comm,
                      &of->saying);
}

static int listen_to_root(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;

    return PMPI_Irecv(of->told, r->state->size + TOLD_FROM, MPI_INT, r->root, CV_TAG_TOLD,
                      r->state->comm, of->listening);
}

static int hear_root(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    int count;

    CV_MPI_TRY(PMPI_Get_count(&r->status, MPI_INT, &count));
    at->to = of->told[TOLD_TO];
    replan_habit(r)->unasked = of->told[TOLD_UNASKED];
    for (int i = TOLD_FROM; i < count; i++)
        of->expect[at->expected++] = of->told[i];
    return MPI_SUCCESS;
}

/* --- all -------------------------------------------------------------------------------- */

static int replan_begin(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;

    if (state->replanning == NULL)
        CV_MPI_TRY(make_replanning(state));
    CV_MPI_TRY(cv_link_costs_measure(&state->costs, state->comm));
    r->at.replan = (struct cv_in_replan){ .step = BEGIN, .to = TO_NOBODY, .said = -1 };
    if (r->blocks && replan_habit(r)->unasked > 0) {
        replan_habit(r)->unasked--;
        r->at.replan.to = TO_MPI;
    }
    return MPI_SUCCESS;
}

/* What has come is taken in. */
static int take(struct cv_reduction *r)
{
    struct cv_in_replan *at = &r->at.replan;

    if (at->step == AWAIT && !scheme_is_root(r))
        return hear_root(r);
    if (scheme_is_root(r) && r->which > 0) {
        CV_MPI_TRY(replan_root_hear(r, r->which - 1));
        return replan_root_direct(r);
    }
    if (at->step == SEND)
        return cv_partial_transfer_send_on(r, &at->data);
    CV_MPI_TRY(cv_partial_transfer_receive_on(r, &at->data));
    if (at->data != NULL)
        return MPI_SUCCESS;
    at->done++;
    at->step = AWAIT;
    if (!scheme_is_root(r))
        return MPI_SUCCESS;
    cv_replan_hear(r->state->replanning->plan, r->root, at->done, PMPI_Wtime());
    return replan_root_direct(r);
}

/* What to wait for: a segment, what is said, or at the root either. */
static int await_next(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;

    *out = at->step == AWAIT ? NULL : at->data;
    if (scheme_is_root(r)) {
        if (cv_replan_is_complete(of->plan))
            return MPI_SUCCESS;
        r->any = of->listening;
        r->nany = r->state->size + 1;
        if (*out == NULL)
            *out = of->listening;
        return MPI_SUCCESS;
    }
    if (at->step != AWAIT)
        return MPI_SUCCESS;
    *out = of->listening;
    CV_MPI_TRY(listen_to_root(r));
    return at->said != at->done ? say(r) : MPI_SUCCESS;
}

static int go_on(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;

    if (at->step == AWAIT && at->to == TO_SLICES) {
        return slices_run(r, of->expect, at->expected, replan_requests(r->state));
    } else if (at->step == AWAIT && at->done < at->expected) {
        at->step = RECEIVE;
        CV_MPI_TRY(cv_partial_transfer_receive(r, of->expect[at->done], CV_RIGHT));
        CV_MPI_TRY(cv_partial_transfer_receive_on(r, &at->data));
    } else if (at->step == AWAIT && at->to >= 0) {
        at->step = SEND;
        cv_partial_transfer_send(r, at->to);
        CV_MPI_TRY(cv_partial_transfer_send_on(r, &at->data));
    } else if (at->step == AWAIT && at->to == TO_MPI) {
        return replan_by_mpi(r);
    }
    return await_next(r, out);
}

/* For the next time, when a plan has been carried out. */
static void learn(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    const struct cv_in_replan *at = &r->at.replan;

    if (r->combined_bytes > 0)
        of->combine_byte_s = r->combine_s / r->combined_bytes;
    if (scheme_is_root(r) && at->to != TO_MPI)
        replan_root_learn(r);
}

static int replan_advance(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_in_replan *at = &r->at.replan;
    bool over = false;

    *out = NULL;
    if (at->step != BEGIN) {
        CV_MPI_TRY(take(r));
    } else {
        at->step = AWAIT;
        if (scheme_is_root(r) && at->to != TO_MPI)
            CV_MPI_TRY(replan_root_open(r, &over));
    }
    if (over)
        return MPI_SUCCESS;
    CV_MPI_TRY(go_on(r, out));
    if (*out == NULL)
        learn(r);
    return MPI_SUCCESS;
}

const struct cv_reduction_algorithm cv_algorithm_tree_replan = { replan_begin,
                                                                 replan_advance };
