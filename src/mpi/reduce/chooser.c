/* chooser.c -- what "auto" is. SPDX-License-Identifier: MIT */
#include "mpi/reduce/chooser.h"

#include <math.h>
#include <stdlib.h>

#include "mpi/memory/mpi_try.h"

enum { SETTLE_AFTER = 2, FORGET_AFTER = 64 };

/* Between machines the first trial of another policy measures links, with a few messages of
 * 64 KiB (link_costs.c): that takes up to so many reductions of vectors of that length, and longer
 * ones, which have to travel at least once, take longer than that. */
static const double set_up_calls = 8, set_up_bytes = 65536;

static int sort_of(const struct cv_kind *kind)
{
    int size = 0;

    for (double min = 4; size < CV_SIZES - 1 && kind->bytes >= min; min *= 4)
        size++;
    return (2 * (int)kind->reach + (kind->commutes ? 1 : 0)) * CV_SIZES + size;
}

/* Where ranks share memory they meet there, which costs next to nothing; elsewhere atomic
 * operations cost more than messages. */
enum cv_mpi_policy cv_chooser_policy(const struct cv_chooser *chooser, int sort, int arm)
{
    bool commutes = sort / CV_SIZES % 2 != 0;

    if (arm == CV_ARM_OWN)
        return CV_MPI_MPI;
    if (arm == CV_ARM_GREEDY)
        return CV_MPI_GREEDY;
    if (!commutes)
        return CV_MPI_ORDERED;
    return chooser->apart ? CV_MPI_TREE_REPLAN : CV_MPI_TREE_DYN;
}

double cv_chooser_bytes(int sort)
{
    return sort % CV_SIZES == 0 ? 0 : ldexp(1, 2 * (sort % CV_SIZES));
}

static int make_choices(struct cv_chooser *chooser, MPI_Comm comm)
{
    if (!chooser->clock_known) {
        CV_MPI_TRY(cv_clock_offset(comm, &chooser->clock_offset_s, &chooser->apart));
        chooser->clock_known = true;
    }
    chooser->choices = calloc(CV_SORTS, sizeof *chooser->choices);
    if (chooser->choices == NULL)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < CV_SORTS; i++)
        cv_choice_begin(&chooser->choices[i]);
    return MPI_SUCCESS;
}

/* Take over what was agreed on, when it is time to. */
static int settle(struct cv_chooser *chooser)
{
    struct cv_trial_batch *heat = &chooser->heat;

    if (chooser->wait_calls-- > 0)
        return MPI_SUCCESS;
    CV_MPI_TRY(PMPI_Wait(&chooser->agreeing, MPI_STATUS_IGNORE));
    for (int i = 0; i < heat->length; i++) {
        const double *of = &heat->all[3 * (size_t)i];
        double last = of[0], first = -of[1], there = of[2];

        cv_choice_learn(&chooser->choices[heat->sort],
                        &(struct cv_trial_time){ .arm = heat->calls[i].arm,
                                                 .came_s = last,
                                                 .spread_s = last - first,
                                                 .time_s =
                                                     there > last ? there - last : 0,
                                                 .counts = heat->calls[i].counts });
    }
    heat->length = heat->done = 0;
    return MPI_SUCCESS;
}

static double set_up_of(const struct cv_chooser *chooser, int sort)
{
    const double bytes = cv_chooser_bytes(sort);

    if (!chooser->apart || chooser->set_up)
        return 0;
    return set_up_calls * (bytes < set_up_bytes ? set_up_bytes / fmax(bytes, 1) : 1);
}

/* Whether this call is in a heat, which may begin here. */
static bool join_heat(struct cv_chooser *chooser, int sort)
{
    struct cv_choice *choice = &chooser->choices[sort];
    struct cv_trial_batch *heat = &chooser->heat;

    if (chooser->agreeing != MPI_REQUEST_NULL)
        return false;
    if (heat->length > 0 && heat->sort == sort) {
        heat->idle = 0;
        return true;
    }
    /* A sort that comes no more must not keep the others from being measured. */
    if (heat->length > 0 && ++heat->idle < FORGET_AFTER)
        return false;
    if (choice->calls < choice->next_heat)
        return false;
    heat->sort = sort;
    heat->idle = 0;
    choice->set_up = set_up_of(chooser, sort);
    cv_choice_plan(choice, heat);
    return true;
}

int cv_chooser_pick(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_kind *kind,
                    struct cv_pick *out)
{
    struct cv_choice *choice;
    int sort = sort_of(kind), arm;

    if (chooser->choices == NULL)
        CV_MPI_TRY(make_choices(chooser, comm));
    if (chooser->agreeing != MPI_REQUEST_NULL)
        CV_MPI_TRY(settle(chooser));
    choice = &chooser->choices[sort];
    out->measured = (choice->calls >= choice->next_heat || chooser->heat.length > 0) &&
                    join_heat(chooser, sort);
    arm = out->measured ? chooser->heat.calls[chooser->heat.done].arm : choice->best;
    choice->calls++;
    choice->used[arm]++;
    chooser->set_up = chooser->set_up || arm != CV_ARM_OWN;
    out->policy = cv_chooser_policy(chooser, sort, arm);
    if (out->measured)
        out->came_s = cv_clock_s();
    return MPI_SUCCESS;
}

struct cv_choice *cv_chooser_choice(const struct cv_chooser *chooser,
                                    const struct cv_kind *kind)
{
    return &chooser->choices[sort_of(kind)];
}

bool cv_chooser_passes(const struct cv_chooser *chooser, struct cv_choice *choice)
{
    if (choice->best != CV_ARM_OWN || choice->calls >= choice->next_heat ||
        chooser->heat.length > 0 || chooser->agreeing != MPI_REQUEST_NULL)
        return false;
    choice->calls++;
    choice->used[CV_ARM_OWN]++;
    return true;
}

enum cv_mpi_policy cv_chooser_best(const struct cv_chooser *chooser,
                                   const struct cv_kind *kind)
{
    int sort = sort_of(kind);

    return cv_chooser_policy(chooser, sort,
                             chooser->choices ? chooser->choices[sort].best : CV_ARM_OWN);
}

int cv_chooser_note(struct cv_chooser *chooser, MPI_Comm comm, const struct cv_pick *pick,
                    bool has_result)
{
    struct cv_trial_batch *heat = &chooser->heat;
    double came = pick->came_s + chooser->clock_offset_s;
    double *mine = &heat->mine[3 * (size_t)heat->done];

    mine[0] = came;
    mine[1] = -came;
    /* A rank without the result must not be the last one. */
    mine[2] = has_result ? cv_clock_s() + chooser->clock_offset_s : came;
    if (++heat->done < heat->length)
        return MPI_SUCCESS;
    chooser->wait_calls = SETTLE_AFTER - 1;
    return PMPI_Iallreduce(heat->mine, heat->all, 3 * heat->length, MPI_DOUBLE, MPI_MAX,
                           comm, &chooser->agreeing);
}

void cv_chooser_free(struct cv_chooser *chooser)
{
    if (chooser->agreeing != MPI_REQUEST_NULL)
        PMPI_Wait(&chooser->agreeing, MPI_STATUS_IGNORE);
    free(chooser->choices);
    chooser->choices = NULL;
}
