/* replan_root.c -- the root of tree-replan: hears who is there, and says who sends to whom.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/replan_inner.h"

#include <math.h>

#include "mpi/reduce/mpi_try.h"

static int listen_to(struct cv_reduction *r, int rank)
{
    struct cv_replanning *of = r->team->replanning;

    return PMPI_Irecv(&of->heard[rank], 1, MPI_INT, rank, CV_TAG_TOLD, r->team->comm,
                      &of->listening[rank + 1]);
}

int cv_replan_root_hear(struct cv_reduction *r, int rank)
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
    int count = CV_TOLD_FROM;

    of->told[CV_TOLD_TO] = to;
    of->told[CV_TOLD_UNASKED] = cv_replan_habit(r)->unasked;
    if (to != CV_TO_MPI)
        for (int from = cv_replan_expects(of->plan, rank, -1); from >= 0;
             from = cv_replan_expects(of->plan, rank, from))
            of->told[count++] = from;
    if (to == CV_TO_NOBODY && of->listening[rank + 1] == MPI_REQUEST_NULL)
        CV_MPI_TRY(listen_to(r, rank));
    /* Whoever is told listens, so that this does not wait long. */
    return PMPI_Send(of->told, count, MPI_INT, rank, CV_TAG_TOLD, r->team->comm);
}

int cv_replan_root_direct(struct cv_reduction *r)
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
            CV_MPI_TRY(cv_replan_root_hear(r, of->which[i]));
        if (complete == 0 && PMPI_Wtime() >= until)
            break;
    }
    return MPI_SUCCESS;
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

    cv_habit_see(cv_replan_habit(r),
                 &(struct cv_habit_call){ r->team->replanning->came_s, r->team->size,
                                          at->since_s, at->last_s, at->d, at->c });
}

/* All use MPI_Reduce, the root among them. */
static int all_by_mpi(struct cv_reduction *r)
{
    struct cv_habit *habit = cv_replan_habit(r);
    const bool was_hopeless = habit->hopeless;
    double since;

    look_back(r);
    cv_habit_rest(habit, was_hopeless);
    for (int i = 0; i < r->team->size; i++)
        if (i != r->root)
            CV_MPI_TRY(tell(r, i, CV_TO_MPI));
    since = PMPI_Wtime();
    CV_MPI_TRY(cv_replan_by_mpi(r));
    cv_habit_own(habit, PMPI_Wtime() - since);
    return MPI_SUCCESS;
}

int cv_replan_root_open(struct cv_reduction *r, bool *out)
{
    struct cv_replanning *of = r->team->replanning;
    struct cv_in_replan *at = &r->at.replan;
    const struct cv_habit *habit = cv_replan_habit(r);
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
    return cv_replan_root_direct(r);
}

void cv_replan_root_learn(struct cv_reduction *r)
{
    const double took_s = PMPI_Wtime() - r->at.replan.last_s;

    look_back(r);
    cv_habit_planned(cv_replan_habit(r), took_s);
}
