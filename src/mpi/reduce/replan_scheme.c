/* replan_scheme.c -- tree-replan among MPI ranks. SPDX-License-Identifier: MIT
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
 * (replan_habit.h). */
#include <math.h>
#include <stdlib.h>

#include "mpi/reduce/hop.h"
#include "mpi/reduce/mpi_try.h"
#include "mpi/reduce/replan_habit.h"
#include "mpi/reduce/replan_plan.h"

/* What a rank says: how many partials it has combined. What it is told: whom to send to, or
 * that MPI_Reduce is to be used; how many calls after this one go there unasked; and whom
 * to expect before it sends. */
enum { TOLD_TO, TOLD_UNASKED, TOLD_FROM };
enum { TO_NOBODY = -1, TO_MPI = -2 };

enum { BEGIN, AWAIT, RECEIVE, SEND };

struct cv_replanning {
    int *told;              /* by the root or, there, what is told to one        */
    int *expect;            /* whom this rank is to expect, in turn              */
    double *came_s;         /* at the root: when each rank came                   */
    int *heard;             /* at the root: what each rank said                 */
    int *which;             /* at the root: who has said something               */
    MPI_Request *listening; /* at the root for each rank, behind a place for a
                                segment; at another for the root                  */
    int said;
    MPI_Request saying;
    double combine_byte_s; /* what the operator took in it, 0: unknown            */
    double *pace;          /* at the root, of each rank                          */
    struct cv_habit habits[CV_HABITS];
    MPI_Status *statuses;
    struct cv_replan *plan; /* owned */
};

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
    free(of);
}

static int make_replanning(struct cv_team *team)
{
    const size_t n = (size_t)team->size;
    struct cv_replanning *of = calloc(1, sizeof *of);

    if (of == NULL)
        return MPI_ERR_NO_MEM;
    of->saying = MPI_REQUEST_NULL;
    of->plan = cv_replan_new(team->size);
    of->told = calloc(3 * n + TOLD_FROM, sizeof *of->told);
    of->heard = calloc(n, sizeof *of->heard);
    of->listening = calloc(n + 1, sizeof(MPI_Request));
    of->statuses = calloc(n, sizeof(MPI_Status));
    of->pace = calloc(2 * n, sizeof *of->pace);
    if (of->plan == NULL || of->told == NULL || of->heard == NULL ||
        of->listening == NULL || of->statuses == NULL || of->pace == NULL) {
        free_replanning(of);
        return MPI_ERR_NO_MEM;
    }
    of->expect = of->told + n + TOLD_FROM;
    of->which = of->expect + n;
    of->came_s = of->pace + n;
    for (size_t i = 0; i <= n; i++)
        of->listening[i] = MPI_REQUEST_NULL;
    team->replanning = of;
    team->free_replanning = free_replanning;
    return MPI_SUCCESS;
}

static struct cv_habit *habit_of(const struct cv_reduction *r)
{
    return &r->team->replanning->habits[cv_habit_of(r->vector.bytes)];
}

static bool is_root(const struct cv_reduction *r)
{
    return r->team->rank == r->root;
}

/* --- the others ------------------------------------------------------------------------- */

/* To the root: this rank is there, and has combined so many. */
static int say(struct cv_reduction *r)
{
    struct cv_replanning *of = r->team->replanning;

    CV_MPI_TRY(PMPI_Wait(&of->saying, MPI_STATUS_IGNORE));
    of->said = r->at.replan.said = r->at.replan.done;
    return PMPI_Isend(&of->said, 1, MPI_INT, r->root, CV_TAG_TOLD, r->team->comm,
                      &of->saying);
}

static int listen_to_root(struct cv_reduction *r)
{
    struct cv_replanning *of = r->team->replanning;

    return PMPI_Irecv(of->told, r->team->size + TOLD_FROM, MPI_INT, r->root, CV_TAG_TOLD,
                      r->team->comm, of->listening);
}

static int hear_root(struct cv_reduction *r)
{
    struct cv_replanning *of = r->team->replanning;
    struct cv_in_replan *at = &r->at.replan;
    int count;

    CV_MPI_TRY(PMPI_Get_count(&r->status, MPI_INT, &count));
    at->to = of->told[TOLD_TO];
    habit_of(r)->unasked = of->told[TOLD_UNASKED];
    for (int i = TOLD_FROM; i < count; i++)
        of->expect[at->expected++] = of->told[i];
    return MPI_SUCCESS;
}

/* --- the root --------------------------------------------------------------------------- */

static int listen_to(struct cv_reduction *r, int rank)
{
    struct cv_replanning *of = r->team->replanning;

    return PMPI_Irecv(&of->heard[rank], 1, MPI_INT, rank, CV_TAG_TOLD, r->team->comm,
                      &of->listening[rank + 1]);
}

/* What a rank has said. */
static int hear(struct cv_reduction *r, int rank)
{
    struct cv_replanning *of = r->team->replanning;
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
    struct cv_replanning *of = r->team->replanning;
    int count = TOLD_FROM;

    of->told[TOLD_TO] = to;
    of->told[TOLD_UNASKED] = habit_of(r)->unasked;
    if (to != TO_MPI)
        for (int from = cv_replan_expects(of->plan, rank, -1); from >= 0;
             from = cv_replan_expects(of->plan, rank, from))
            of->told[count++] = from;
    if (to == TO_NOBODY && of->listening[rank + 1] == MPI_REQUEST_NULL)
        CV_MPI_TRY(listen_to(r, rank));
    /* Whoever is told listens, so that this does not wait long. */
    return PMPI_Send(of->told, count, MPI_INT, rank, CV_TAG_TOLD, r->team->comm);
}

/* Decide on what can be decided, and tell whom it concerns. */
static int direct(struct cv_reduction *r)
{
    struct cv_replanning *of = r->team->replanning;
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

/* Whether all come until some time. */
static int wait_for_all(struct cv_reduction *r, double until, bool *out)
{
    struct cv_replanning *of = r->team->replanning;
    int complete;

    while (!(*out = cv_replan_there(of->plan) == r->team->size)) {
        /* For ever is waited for by the MPI library, which may give the processor away. */
        CV_MPI_TRY(until < HUGE_VAL ? PMPI_Testsome(r->team->size, of->listening + 1,
                                                    &complete, of->which, of->statuses)
                                    : PMPI_Waitsome(r->team->size, of->listening + 1,
                                                    &complete, of->which, of->statuses));
        for (int i = 0; i < complete; i++)
            CV_MPI_TRY(hear(r, of->which[i]));
        if (complete == 0 && PMPI_Wtime() >= until)
            break;
    }
    return MPI_SUCCESS;
}

static int by_mpi(struct cv_reduction *r)
{
    return PMPI_Reduce(r->in_place ? MPI_IN_PLACE : r->send, r->recv, r->vector.count,
                       r->vector.type, r->vector.op, r->root, r->team->comm);
}

/* What a transfer and a combination take, and by how much ranks differ. */
static void open_plan(struct cv_reduction *r)
{
    struct cv_team *team = r->team;
    struct cv_replanning *of = team->replanning;
    const double *rank_s = team->costs.rank_s;
    double d, c, sum = 0, most = 0;

    cv_link_costs_hop(team, r->vector.bytes, &d, &c);
    if (of->combine_byte_s > 0 && team->settings.combine_s == 0)
        c = of->combine_byte_s * r->vector.bytes;
    for (int i = 0; rank_s != NULL && i < team->size; i++) {
        sum += rank_s[i];
        most = rank_s[i] > most ? rank_s[i] : most;
    }
    for (int i = 0; rank_s != NULL && most > 0 && i < team->size; i++)
        of->pace[i] = rank_s[i] > 0 ? rank_s[i] * team->size / sum : 1; /* no partner */
    if (most > 0 && team->settings.transfer_s == 0)
        d *= sum / team->size / most;
    r->at.replan.d = d;
    r->at.replan.c = c;
    cv_replan_begin(of->plan, r->root, d, c, most > 0 ? of->pace : NULL);
}

/* All have come. */
static void look_back(struct cv_reduction *r)
{
    const struct cv_in_replan *at = &r->at.replan;

    cv_habit_see(habit_of(r),
                 &(struct cv_habit_call){ r->team->replanning->came_s, r->team->size,
                                          at->since_s, at->last_s, at->d, at->c });
}

/* All use MPI_Reduce, the root among them. */
static int all_by_mpi(struct cv_reduction *r)
{
    struct cv_habit *habit = habit_of(r);
    const bool was_hopeless = habit->hopeless;
    double since;

    look_back(r);
    cv_habit_rest(habit, was_hopeless);
    for (int i = 0; i < r->team->size; i++)
        if (i != r->root)
            CV_MPI_TRY(tell(r, i, TO_MPI));
    since = PMPI_Wtime();
    CV_MPI_TRY(by_mpi(r));
    cv_habit_own(habit, PMPI_Wtime() - since);
    return MPI_SUCCESS;
}

/* The root has come. *out: all have used MPI_Reduce, and that is over. */
static int open_root(struct cv_reduction *r, bool *out)
{
    struct cv_replanning *of = r->team->replanning;
    struct cv_in_replan *at = &r->at.replan;
    const struct cv_habit *habit = habit_of(r);
    double until = 0;

    for (int i = 0; i < r->team->size; i++)
        if (i != r->root)
            CV_MPI_TRY(listen_to(r, i));
    open_plan(r);
    at->since_s = at->last_s = of->came_s[r->root] = PMPI_Wtime();
    cv_replan_hear(of->plan, r->root, 0, at->since_s);
    if (r->blocks && (habit->own_s == 0 || habit->hopeless))
        until = HUGE_VAL;
    else if (r->blocks && !habit->apart)
        until = at->since_s + at->d + at->c;
    CV_MPI_TRY(wait_for_all(r, until, out));
    *out = *out && r->blocks;
    if (*out)
        return all_by_mpi(r);
    return direct(r);
}

/* --- all -------------------------------------------------------------------------------- */

static int replan_begin(struct cv_reduction *r)
{
    struct cv_team *team = r->team;

    if (team->replanning == NULL)
        CV_MPI_TRY(make_replanning(team));
    CV_MPI_TRY(cv_link_costs_measure(&team->costs, team->comm));
    r->at.replan = (struct cv_in_replan){ .step = BEGIN, .to = TO_NOBODY, .said = -1 };
    if (r->blocks && habit_of(r)->unasked > 0) {
        habit_of(r)->unasked--;
        r->at.replan.to = TO_MPI;
    }
    return MPI_SUCCESS;
}

/* What has come is taken in. */
static int take(struct cv_reduction *r)
{
    struct cv_in_replan *at = &r->at.replan;

    if (at->step == AWAIT && !is_root(r))
        return hear_root(r);
    if (is_root(r) && r->which > 0) {
        CV_MPI_TRY(hear(r, r->which - 1));
        return direct(r);
    }
    if (at->step == SEND)
        return cv_hop_send_on(r, &at->data);
    CV_MPI_TRY(cv_hop_receive_on(r, &at->data));
    if (at->data != NULL)
        return MPI_SUCCESS;
    at->done++;
    at->step = AWAIT;
    if (!is_root(r))
        return MPI_SUCCESS;
    cv_replan_hear(r->team->replanning->plan, r->root, at->done, PMPI_Wtime());
    return direct(r);
}

/* What to wait for: a segment, what is said, or at the root either. */
static int await_next(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_replanning *of = r->team->replanning;
    struct cv_in_replan *at = &r->at.replan;

    *out = at->step == AWAIT ? NULL : at->data;
    if (is_root(r)) {
        if (cv_replan_is_complete(of->plan))
            return MPI_SUCCESS;
        r->any = of->listening;
        r->nany = r->team->size + 1;
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
    struct cv_replanning *of = r->team->replanning;
    struct cv_in_replan *at = &r->at.replan;

    if (at->step == AWAIT && at->done < at->expected) {
        at->step = RECEIVE;
        CV_MPI_TRY(cv_hop_receive(r, of->expect[at->done], CV_RIGHT));
        CV_MPI_TRY(cv_hop_receive_on(r, &at->data));
    } else if (at->step == AWAIT && at->to >= 0) {
        at->step = SEND;
        cv_hop_send(r, at->to);
        CV_MPI_TRY(cv_hop_send_on(r, &at->data));
    } else if (at->step == AWAIT && at->to == TO_MPI) {
        return by_mpi(r);
    }
    return await_next(r, out);
}

/* For the next time, when a plan has been carried out. */
static void learn(struct cv_reduction *r)
{
    struct cv_replanning *of = r->team->replanning;
    const struct cv_in_replan *at = &r->at.replan;
    const double took_s = PMPI_Wtime() - at->last_s;

    if (r->combined_bytes > 0)
        of->combine_byte_s = r->combine_s / r->combined_bytes;
    if (!is_root(r) || at->to == TO_MPI)
        return;
    look_back(r);
    cv_habit_planned(habit_of(r), took_s);
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

const struct cv_scheme cv_scheme_tree_replan = { replan_begin, replan_advance };
