/* replan_algorithm.c -- tree-replan. SPDX-License-Identifier: MIT
 *
 * No atomic operations. A rank that arrives reports to the root in a short message, and
 * gets the ranks from which it receives partials and the rank to which it sends; the root
 * decides as ranks arrive (replan_plan.h). A rank that only receives reports when it has
 * combined. So the last partial costs two short messages and one transfer, and no rank
 * waits for a rank that has not arrived.
 *
 * The root has received all reports of a rank before it tells that rank where to send,
 * which is the last message between them: messages of two reductions cannot be confused.
 * Receives are posted before messages can be sent.
 *
 * It pays if ranks arrive at different times. The root measures the time from the last
 * arrival to the result, with a plan and with MPI_Reduce. The first call of a size uses
 * MPI_Reduce; later ones do if plans do not pay or all ranks arrive together, and then
 * without asking the root in more and more calls (cv_replan_history). */
#include <math.h>
#include <stdlib.h>
#include "mpi/plan/replan_plan.h"
#include "mpi/reduce/reduction.h"

enum { SLICE_BUFFERS = 8 };
/* Requests of a rank: slices that arrive, slices that it sends, and results. */
enum { SLICE_REQUESTS = SLICE_BUFFERS + 2 * CV_MOST_SLICES };

struct slices {
    struct cv_reduction *r; /* borrowed                                             */
    struct cv_vector cut;   /* its vector; segment k is the slice of owner k        */
    const int *owners;      /* borrowed: ranks, the first is the root               */
    int own;                /* slice of this rank, or -1                            */
    int left;               /* messages that are still to arrive or to be sent      */
    int posted, arrived;    /* own slices of other ranks                            */
    int sending;            /* slices of other owners in flight                     */
    char *buffers;
    MPI_Request *requests; /* borrowed: SLICE_REQUESTS                             */
};

/* A message of a rank is the number of partials that it has combined. A message of the
 * root: the receiver, or that MPI_Reduce or slices are used; how many further calls use
 * MPI_Reduce without asking; and the ranks to expect before sending, or the owners of
 * slices. */
enum { TOLD_TO, TOLD_UNASKED, TOLD_FROM };
enum { TO_NOBODY = -1, TO_MPI = -2, TO_SLICES = -3 };

struct cv_replanning {
    struct cv_arena arena; /* owner of all arrays */
    int *told;             /* message of the root                               */
    int *expect;           /* ranks from which partials come, in order          */
    double *came_s;        /* root: arrival of each rank                        */
    bool *there;           /* root: ranks that can own slices                   */
    int *heard;            /* root: last message of each rank                   */
    int *which;            /* root: ranks whose message has arrived             */
    /* [0]: a segment, or on other ranks the root; [rank + 1]: at the root; then slices. */
    MPI_Request *listening;
    int said;
    MPI_Request saying;
    double combine_byte_s; /* measured; 0: unknown                              */
    double *pace;          /* root: cost of transfers of each rank, relative    */
    struct cv_replan_history habits[CV_HABITS];
    MPI_Status *statuses;
    struct cv_replan *plan; /* owned */
};

static struct cv_replan_history *history_of(const struct cv_reduction *r)
{
    return &r->state->replanning->habits[cv_replan_history_of(r->vector.bytes)];
}

static bool is_root(const struct cv_reduction *r)
{
    return r->state->rank == r->root;
}

static int reduce_by_mpi(struct cv_reduction *r)
{
    return PMPI_Reduce(r->in_place ? MPI_IN_PLACE : r->send, r->recv, r->vector.count,
                       r->vector.type, r->vector.op, r->root, r->state->comm);
}

/* --- slices ------------------------------------------------------------------------- */

/* A tree of whole vectors is too slow if many ranks arrive within the time of a transfer:
 * it grows by a level whenever their number doubles. Here a rank sends one slice of its
 * vector to each of some ranks, the owners, and is done. Owners send the combined slices
 * to the root, which is one of them: the last arrival costs two transfers. The operator
 * must commute. */

static bool is_first_owner(const struct slices *slices)
{
    return slices->own == 0;
}

static const char *place(const struct slices *slices, const void *of, int slice)
{
    return (const char *)of + cv_vector_offset(&slices->cut, slice);
}

static char *own_slice(const struct slices *slices)
{
    return slices->r->whole + cv_vector_offset(&slices->cut, slices->own);
}

static char *buffer_at(const struct slices *slices, int i)
{
    const size_t span = (cv_vector_segment_span(&slices->cut) + 63) / 64 * 64;

    return slices->buffers + (size_t)i * span - slices->cut.lower;
}

static int receive(struct slices *slices, int i)
{
    slices->posted++;
    return PMPI_Irecv(buffer_at(slices, i), cv_vector_part(&slices->cut, slices->own),
                      slices->cut.type, MPI_ANY_SOURCE, CV_TAG_SLICE,
                      slices->r->state->comm, &slices->requests[i]);
}

static int prepare_owner(struct slices *slices)
{
    struct cv_reduction *r = slices->r;
    const size_t span = (cv_vector_segment_span(&slices->cut) + 63) / 64 * 64;

    CV_MPI_TRY(cv_reduction_whole(r));
    slices->buffers = cv_scratch_get(&r->state->recv_buffers, span * SLICE_BUFFERS);
    if (slices->buffers == NULL)
        return MPI_ERR_NO_MEM;
    if (!r->in_place)
        CV_MPI_TRY(cv_vector_copy(&r->vector, place(slices, r->send, slices->own),
                                  own_slice(slices),
                                  cv_vector_part(&slices->cut, slices->own),
                                  r->state->comm, r->state->rank));
    slices->left += r->state->size - 1;
    for (int i = 0; i < SLICE_BUFFERS && slices->posted < r->state->size - 1; i++)
        CV_MPI_TRY(receive(slices, i));
    return MPI_SUCCESS;
}

/* Ranks start with different owners. */
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
                              slices->owners[slice], CV_TAG_SLICE, r->state->comm,
                              &slices->requests[SLICE_BUFFERS + slice]));
    }
    return MPI_SUCCESS;
}

/* All ranks have the same `count` owners; the vector is cut into as many slices. */
static int slices_begin(struct slices *slices, struct cv_reduction *r, const int *owners,
                        int count, MPI_Request *requests)
{
    *slices = (struct slices){
        .r = r, .cut = r->vector, .owners = owners, .own = -1, .requests = requests
    };
    cv_vector_slice(&slices->cut, count);
    for (int i = 0; i < SLICE_REQUESTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < count; i++)
        if (owners[i] == r->state->rank)
            slices->own = i;
    if (slices->own >= 0)
        CV_MPI_TRY(prepare_owner(slices));
    if (slices->own > 0)
        slices->left++; /* the result */
    if (is_first_owner(slices))
        slices->left += count - 1;
    return send_slices(slices);
}

/* Results may overwrite the own values of the root, so only after these have been
 * sent. */
static int await_results(struct slices *slices)
{
    for (int i = 1; i < slices->cut.segments; i++)
        CV_MPI_TRY(PMPI_Irecv((char *)slices->r->recv + cv_vector_offset(&slices->cut, i),
                              cv_vector_part(&slices->cut, i), slices->cut.type,
                              slices->owners[i], CV_TAG_RESULT, slices->r->state->comm,
                              &slices->requests[SLICE_BUFFERS + CV_MOST_SLICES + i]));
    return MPI_SUCCESS;
}

static int combine(struct slices *slices, int i)
{
    struct cv_reduction *r = slices->r;
    const int count = cv_vector_part(&slices->cut, slices->own);

    CV_MPI_TRY(cv_reduction_combine(r, buffer_at(slices, i), own_slice(slices), count));
    slices->arrived++;
    if (slices->posted < r->state->size - 1)
        return receive(slices, i);
    if (slices->arrived < r->state->size - 1 || is_first_owner(slices))
        return MPI_SUCCESS;
    return PMPI_Isend(own_slice(slices), count, slices->cut.type, r->root, CV_TAG_RESULT,
                      r->state->comm, &slices->requests[SLICE_BUFFERS + CV_MOST_SLICES]);
}

/* Request `which` is complete. */
static int slices_take(struct slices *slices, int which)
{
    slices->left--;
    if (which < SLICE_BUFFERS)
        return combine(slices, which);
    if (which < SLICE_BUFFERS + CV_MOST_SLICES && --slices->sending == 0 &&
        is_first_owner(slices))
        return await_results(slices);
    return MPI_SUCCESS;
}

/* --- the root ----------------------------------------------------------------------- */

static int listen_to(struct cv_reduction *r, int rank)
{
    struct cv_replanning *of = r->state->replanning;

    return PMPI_Irecv(&of->heard[rank], 1, MPI_INT, rank, CV_TAG_REPLAN, r->state->comm,
                      &of->listening[rank + 1]);
}

static int take_report(struct cv_reduction *r, int rank)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    const double now = PMPI_Wtime();

    cv_replan_hear(of->plan, rank, of->heard[rank], now);
    if (of->heard[rank] == 0)
        of->came_s[rank] = at->last_s = now;
    /* If orders for more partials arrived in the meantime, it will report again. */
    return cv_replan_is_idle(of->plan, rank) ? MPI_SUCCESS : listen_to(r, rank);
}

/* List the new senders to a rank. Returns their number. */
static int list_senders(const struct cv_replan *plan, int rank, int *out)
{
    int count = 0;

    for (int from = plan->ranks[rank].first; from >= 0; from = plan->ranks[from].next)
        out[count++] = from;
    return count;
}

static int tell(struct cv_reduction *r, int rank, int to)
{
    struct cv_replanning *of = r->state->replanning;
    int count = TOLD_FROM;

    of->told[TOLD_TO] = to;
    of->told[TOLD_UNASKED] = history_of(r)->unasked;
    if (to == TO_SLICES)
        for (int i = 0; i < r->at.replan.expected; i++)
            of->told[count++] = of->expect[i];
    else if (to != TO_MPI)
        count += list_senders(of->plan, rank, of->told + count);
    if (to == TO_NOBODY && of->listening[rank + 1] == MPI_REQUEST_NULL)
        CV_MPI_TRY(listen_to(r, rank));
    /* The rank has posted the receive, so this does not block long. */
    return PMPI_Send(of->told, count, MPI_INT, rank, CV_TAG_REPLAN, r->state->comm);
}

/* Decide, and tell the ranks concerned. */
static int direct_ranks(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;

    if (!cv_replan_decide(of->plan, PMPI_Wtime()))
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < of->plan->ntouched; i++) {
        const int rank = of->plan->touched[i];

        if (rank == r->root)
            at->expected += list_senders(of->plan, rank, of->expect + at->expected);
        else
            CV_MPI_TRY(tell(r, rank, of->plan->ranks[rank].sends_to));
    }
    return MPI_SUCCESS;
}

static int take_reports(struct cv_reduction *r, bool block, int *out)
{
    struct cv_replanning *of = r->state->replanning;

    CV_MPI_TRY(block ? PMPI_Waitsome(r->state->size, of->listening + 1, out, of->which,
                                     of->statuses)
                     : PMPI_Testsome(r->state->size, of->listening + 1, out, of->which,
                                     of->statuses));
    for (int i = 0; i < *out; i++)
        CV_MPI_TRY(take_report(r, of->which[i]));
    return MPI_SUCCESS;
}

/* Wait for `ranks` ranks until a time. */
static int wait_for(struct cv_reduction *r, int ranks, double until)
{
    struct cv_replanning *of = r->state->replanning;
    int complete;

    while (of->plan->there < ranks) {
        /* Without a limit, the MPI library waits, which may yield the processor. */
        CV_MPI_TRY(take_reports(r, until == HUGE_VAL, &complete));
        if (complete == 0 && PMPI_Wtime() >= until)
            break;
    }
    return MPI_SUCCESS;
}

/* If ranks share processors, slices only make more messages. */
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

/* Set costs, and relative costs of ranks. */
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

/* All ranks have arrived. */
static void look_back(struct cv_reduction *r)
{
    const struct cv_in_replan *at = &r->at.replan;

    cv_replan_history_see(history_of(r), &(struct cv_replan_history_call){
                                             r->state->replanning->came_s, at->since_s,
                                             at->last_s, at->job });
}

/* Tell all ranks that have arrived. */
static int tell_all(struct cv_reduction *r, int to)
{
    for (int i = 0; i < r->state->size; i++)
        if (i != r->root && cv_replan_is_idle(r->state->replanning->plan, i))
            CV_MPI_TRY(tell(r, i, to));
    return MPI_SUCCESS;
}

static int all_by_mpi(struct cv_reduction *r)
{
    struct cv_replan_history *history = history_of(r);
    const bool was_hopeless = history->hopeless;
    const bool declined = r->state->replanning->plan->there < r->state->size;
    double since;

    CV_MPI_TRY(wait_for(r, r->state->size, HUGE_VAL));
    look_back(r);
    cv_replan_history_rest(history, was_hopeless, declined);
    CV_MPI_TRY(tell_all(r, TO_MPI));
    since = PMPI_Wtime();
    CV_MPI_TRY(reduce_by_mpi(r));
    cv_replan_history_own(history, PMPI_Wtime() - since);
    return MPI_SUCCESS;
}

/* Choose owners of slices among ranks that have arrived. */
static int choose_owners(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    struct cv_vector cut = r->vector;
    int count = at->job.max;

    if (r->state->settings.slices == 0)
        count = cv_slice_count(&at->job, of->plan->there);
    CV_MPI_TRY(wait_for(r, count, HUGE_VAL));
    for (int i = 0; i < r->state->size; i++)
        of->there[i] = cv_replan_is_idle(of->plan, i);
    count = cv_slice_owners(r->state->size, r->root, of->there,
                            r->state->costs.rank_s != NULL ? of->pace : NULL, count,
                            of->expect);
    cv_vector_slice(&cut, count);
    at->expected = cut.segments;
    return MPI_SUCCESS;
}

/* Note costs and, at the root, how long a plan took. */
static void learn(struct cv_reduction *r)
{
    const double took_s = PMPI_Wtime() - r->at.replan.last_s;

    if (r->combined_bytes > 0)
        r->state->replanning->combine_byte_s = r->combine_s / r->combined_bytes;
    if (!is_root(r) || r->at.replan.to == TO_MPI)
        return;
    look_back(r);
    cv_replan_history_planned(history_of(r), took_s, r->at.replan.by_slices);
}

/* All ranks send slices; the root tells arriving ranks the owners. */
static int run_slices(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    const int size = r->state->size;
    struct slices slices;
    int which;

    CV_MPI_TRY(slices_begin(&slices, r, of->expect, r->at.replan.expected,
                            of->listening + 1 + size));
    while (slices.left > 0) {
        CV_MPI_TRY(PMPI_Waitany(size + SLICE_REQUESTS, of->listening + 1, &which,
                                MPI_STATUS_IGNORE));
        if (which >= size) {
            CV_MPI_TRY(slices_take(&slices, which - size));
            continue;
        }
        CV_MPI_TRY(take_report(r, which));
        CV_MPI_TRY(tell(r, which, TO_SLICES));
    }
    return MPI_SUCCESS;
}

static int all_by_slices(struct cv_reduction *r)
{
    CV_MPI_TRY(choose_owners(r));
    r->at.replan.by_slices = true;
    CV_MPI_TRY(tell_all(r, TO_SLICES));
    CV_MPI_TRY(run_slices(r));
    learn(r);
    return MPI_SUCCESS;
}

/* Reports of ranks that arrived before the root need the time of a message; for slices
 * their number matters. */
static int count_early_ranks(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    const double since = r->at.replan.since_s;

    if (r->at.replan.job.max < 2)
        return MPI_SUCCESS;
    CV_MPI_TRY(wait_for(r, r->state->size, since + r->state->costs.latency_s));
    for (int i = 0; i < r->state->size; i++)
        if (cv_replan_is_idle(of->plan, i))
            of->came_s[i] = since;
    return MPI_SUCCESS;
}

static enum cv_plan_kind choose(struct cv_reduction *r)
{
    const struct cv_comm_state *state = r->state;
    struct cv_slice_job *job = &r->at.replan.job;
    const int there = state->replanning->plan->there;

    if (!r->blocks)
        return CV_BY_TREE;
    if (state->settings.slices > 1 && job->max > 1)
        return CV_BY_SLICES;
    if (there == state->size)
        return CV_BY_MPI;
    if (job->max < 2)
        return CV_BY_TREE;
    job->spread_s = cv_replan_history_spread(history_of(r));
    return cv_replan_history_choose(history_of(r), job, there);
}

/* *out: MPI_Reduce or slices were used, and the reduction is complete. */
static int open_root(struct cv_reduction *r, bool *out)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    const struct cv_replan_history *history = history_of(r);
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
        CV_MPI_TRY(count_early_ranks(r));
    CV_MPI_TRY(wait_for(r, r->state->size, until));
    *out = r->blocks;
    switch (choose(r)) {
    case CV_BY_SLICES:
        return all_by_slices(r);
    case CV_BY_MPI:
        return all_by_mpi(r);
    default:
        *out = false;
        return direct_ranks(r);
    }
}

/* --- all ranks ---------------------------------------------------------------------- */

enum { BEGIN, AWAIT, RECEIVE, SEND };

void cv_replanning_free(struct cv_replanning *of)
{
    if (of == NULL)
        return;
    if (of->saying != MPI_REQUEST_NULL)
        PMPI_Wait(&of->saying, MPI_STATUS_IGNORE);
    cv_replan_free(of->plan);
    cv_arena_done(&of->arena);
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
    cv_arena_init(&of->arena);
    if (of->plan == NULL || !CV_NEW(&of->arena, of->told, 3 * n + TOLD_FROM) ||
        !CV_NEW(&of->arena, of->heard, n) ||
        !CV_NEW(&of->arena, of->listening, n + 1 + SLICE_REQUESTS) ||
        !CV_NEW(&of->arena, of->statuses, n) || !CV_NEW(&of->arena, of->pace, 2 * n) ||
        !CV_NEW(&of->arena, of->there, n)) {
        cv_replanning_free(of);
        return MPI_ERR_NO_MEM;
    }
    of->expect = of->told + n + TOLD_FROM;
    of->which = of->expect + n;
    of->came_s = of->pace + n;
    for (size_t i = 0; i <= n + SLICE_REQUESTS; i++)
        of->listening[i] = MPI_REQUEST_NULL;
    state->replanning = of;
    return MPI_SUCCESS;
}

/* Tell the root how many partials this rank has combined. */
static int say(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;

    CV_MPI_TRY(PMPI_Wait(&of->saying, MPI_STATUS_IGNORE));
    of->said = r->at.replan.said = r->at.replan.done;
    return PMPI_Isend(&of->said, 1, MPI_INT, r->root, CV_TAG_REPLAN, r->state->comm,
                      &of->saying);
}

static int listen_to_root(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;

    return PMPI_Irecv(of->told, r->state->size + TOLD_FROM, MPI_INT, r->root,
                      CV_TAG_REPLAN, r->state->comm, of->listening);
}

static int hear_root(struct cv_reduction *r)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;
    int count;

    CV_MPI_TRY(PMPI_Get_count(&r->status, MPI_INT, &count));
    at->to = of->told[TOLD_TO];
    history_of(r)->unasked = of->told[TOLD_UNASKED];
    for (int i = TOLD_FROM; i < count; i++)
        of->expect[at->expected++] = of->told[i];
    return MPI_SUCCESS;
}

static int replan_begin(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;

    if (state->replanning == NULL)
        CV_MPI_TRY(make_replanning(state));
    CV_MPI_TRY(cv_link_costs_measure(&state->costs, state->comm));
    r->at.replan = (struct cv_in_replan){ .step = BEGIN, .to = TO_NOBODY, .said = -1 };
    if (r->blocks && history_of(r)->unasked > 0) {
        history_of(r)->unasked--;
        r->at.replan.to = TO_MPI;
    }
    return MPI_SUCCESS;
}

/* The awaited request is complete. */
static int take(struct cv_reduction *r)
{
    struct cv_in_replan *at = &r->at.replan;

    if (at->step == AWAIT && !is_root(r))
        return hear_root(r);
    if (is_root(r) && r->which > 0) {
        CV_MPI_TRY(take_report(r, r->which - 1));
        return direct_ranks(r);
    }
    if (at->step == SEND)
        return cv_partial_transfer_send_on(r, &at->data);
    CV_MPI_TRY(cv_partial_transfer_receive_on(r, &at->data));
    if (at->data != NULL)
        return MPI_SUCCESS;
    at->done++;
    at->step = AWAIT;
    if (!is_root(r))
        return MPI_SUCCESS;
    cv_replan_hear(r->state->replanning->plan, r->root, at->done, PMPI_Wtime());
    return direct_ranks(r);
}

/* Wait for a segment, a message, or at the root for either. */
static int await_next(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_replanning *of = r->state->replanning;
    struct cv_in_replan *at = &r->at.replan;

    *out = at->step == AWAIT ? NULL : at->data;
    if (is_root(r)) {
        if (of->plan->gone == of->plan->size - 1)
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
        return run_slices(r);
    } else if (at->step == AWAIT && at->done < at->expected) {
        at->step = RECEIVE;
        CV_MPI_TRY(cv_partial_transfer_receive(r, of->expect[at->done], CV_RIGHT));
        CV_MPI_TRY(cv_partial_transfer_receive_on(r, &at->data));
    } else if (at->step == AWAIT && at->to >= 0) {
        at->step = SEND;
        cv_partial_transfer_send(r, at->to);
        CV_MPI_TRY(cv_partial_transfer_send_on(r, &at->data));
    } else if (at->step == AWAIT && at->to == TO_MPI) {
        return reduce_by_mpi(r);
    }
    return await_next(r, out);
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
        if (is_root(r) && at->to != TO_MPI)
            CV_MPI_TRY(open_root(r, &over));
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
