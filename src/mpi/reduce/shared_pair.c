/* shared_pair.c -- a vector from one rank to the only other, on one machine.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/shared_pair.h"

#include <sched.h>

#include "mpi/memory/mpi_try.h"

/* Segments are so short that what is copied is still at hand when it is combined, and so long
 * that saying that one is there takes little beside it. */
static const double usual_segment = 16384;
/* How often one looks for the next segment before others may have the processor. */
enum { LOOKS = 100 };

struct shared_pair {
    struct cv_team *team; /* borrowed */
    struct cv_vector vector;
    const char *own; /* borrowed: the rank's vector     */
    char *recv;      /* borrowed: the root's            */
    char *bay;       /* of the other one's vector       */
    int copied;      /* segments of `own` that are in `recv` */
};

static int copy(const struct shared_pair *pair, int segment, const char *from, char *to)
{
    const MPI_Aint offset = cv_vector_offset(&pair->vector, segment);

    return cv_vector_copy(&pair->vector, from + offset, to + offset,
                          cv_vector_part(&pair->vector, segment), pair->team->comm,
                          pair->team->rank);
}

static int give(struct shared_pair *pair)
{
    for (int i = 0; i < pair->vector.segments; i++) {
        CV_MPI_TRY(copy(pair, i, pair->own, pair->bay));
        cv_bays_say(&pair->team->bays, i + 1);
    }
    return MPI_SUCCESS;
}

/* The root's own vector goes where the result is to be. */
static int copy_own(struct shared_pair *pair)
{
    const int segment = pair->copied++;

    return pair->own == pair->recv ? MPI_SUCCESS
                                   : copy(pair, segment, pair->own, pair->recv);
}

/* Until the other's segment is there, the own ones are made ready. */
static int await(struct shared_pair *pair, int segment)
{
    struct cv_team *team = pair->team;
    int there;

    for (unsigned looks = 1; cv_bays_said(&team->bays) <= segment; looks++) {
        if (pair->copied < pair->vector.segments) {
            CV_MPI_TRY(copy_own(pair));
        } else if (looks % LOOKS == 0 || team->costs.crowded) {
            /* So that the MPI library goes on, and notices when a rank dies. */
            CV_MPI_TRY(PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &there,
                                   MPI_STATUS_IGNORE));
            sched_yield();
        }
    }
    return pair->copied <= segment ? copy_own(pair) : MPI_SUCCESS;
}

static int combine(struct shared_pair *pair)
{
    const struct cv_vector *vector = &pair->vector;

    for (int i = 0; i < vector->segments; i++) {
        const MPI_Aint offset = cv_vector_offset(vector, i);

        CV_MPI_TRY(await(pair, i));
        CV_MPI_TRY(PMPI_Reduce_local(pair->bay + offset, pair->recv + offset,
                                     cv_vector_part(vector, i), vector->type,
                                     vector->op));
    }
    return MPI_SUCCESS;
}

bool cv_shared_pair_fits(const struct cv_mpi_call *call, const struct cv_team *team)
{
    return team->size == 2 && call->reach == CV_TO_ROOT;
}

int cv_shared_pair_run(const struct cv_mpi_call *call, struct cv_team *team)
{
    struct shared_pair pair = { .team = team, .recv = call->recv };
    const double segment = team->settings.segment_bytes;

    pair.own = call->send == MPI_IN_PLACE ? call->recv : call->send;
    CV_MPI_TRY(cv_vector_init(&pair.vector, call->count, call->type, call->op));
    cv_vector_cut(&pair.vector, segment > 0 ? segment : usual_segment);
    CV_MPI_TRY(cv_bays_turn(&team->bays, team->comm, 1));
    pair.bay = cv_bay(&team->bays, 1 - call->root) - pair.vector.lower;
    if (team->rank != call->root)
        return give(&pair);
    CV_MPI_TRY(combine(&pair));
    cv_bays_taken(&team->bays);
    return MPI_SUCCESS;
}
