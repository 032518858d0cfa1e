/* shared_pair.c -- a reduction between two ranks of one machine. SPDX-License-Identifier: MIT
 *
 * Where both want the result both combine, rank 1's value being the first operand on either
 * side: so both have the same bits. */
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
    const char *own; /* borrowed: the rank's vector                        */
    char *recv;      /* borrowed; NULL: it does not want the result        */
    char *own_bay, *other_bay;
    bool gives; /* the other one wants the result                     */
    bool first; /* its value is the first operand: the other's is copied */
    int given, ready, combined; /* segments in the own bay; copied to `recv`; done */
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
    CV_MPI_TRY(copy(pair, pair->given, pair->own, pair->own_bay));
    cv_bays_say(&pair->team->bays, pair->team->rank, ++pair->given);
    return MPI_SUCCESS;
}

/* The second operand goes where the result is to be. */
static int make_ready(struct shared_pair *pair)
{
    const int segment = pair->ready++;

    if (pair->first)
        return copy(pair, segment, pair->other_bay, pair->recv);
    return pair->own == pair->recv ? MPI_SUCCESS
                                   : copy(pair, segment, pair->own, pair->recv);
}

/* The other's segment is there. */
static int combine(struct shared_pair *pair)
{
    const struct cv_vector *vector = &pair->vector;
    const int segment = pair->combined++;
    const MPI_Aint offset = cv_vector_offset(vector, segment);
    const char *operand = pair->first ? pair->own_bay : pair->other_bay;

    if (pair->ready <= segment)
        CV_MPI_TRY(make_ready(pair));
    return PMPI_Reduce_local(operand + offset, pair->recv + offset,
                             cv_vector_part(vector, segment), vector->type, vector->op);
}

/* What is there is combined at once; meanwhile the own vector is given, or made ready. */
static int go_on(struct shared_pair *pair)
{
    struct cv_team *team = pair->team;
    const int segments = pair->vector.segments;
    const int other = 1 - team->rank;
    int there;

    for (unsigned looks = 1; pair->combined < segments; looks++) {
        const int most = pair->gives ? pair->given : segments;

        if (pair->combined < most && cv_bays_said(&team->bays, other) > pair->combined) {
            CV_MPI_TRY(combine(pair));
        } else if (pair->gives && pair->given < segments) {
            CV_MPI_TRY(give(pair));
        } else if (!pair->first && pair->ready < segments) {
            CV_MPI_TRY(make_ready(pair));
        } else if (looks % LOOKS == 0 || team->costs.crowded) {
            /* So that the MPI library goes on, and notices when a rank dies. */
            CV_MPI_TRY(PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, team->comm, &there,
                                   MPI_STATUS_IGNORE));
            sched_yield();
        }
    }
    return MPI_SUCCESS;
}

bool cv_shared_pair_fits(const struct cv_mpi_call *call, const struct cv_team *team)
{
    return team->size == 2 && call->reach != CV_TO_PARTS;
}

int cv_shared_pair_run(const struct cv_mpi_call *call, struct cv_team *team)
{
    const bool all = call->reach == CV_TO_ALL, wants = all || team->rank == call->root;
    const double segment = team->settings.segment_bytes;
    struct shared_pair pair = { .team = team,
                                .recv = wants ? call->recv : NULL,
                                .gives = all || !wants,
                                .first = all && team->rank == 1 };

    pair.own = call->send == MPI_IN_PLACE ? call->recv : call->send;
    CV_MPI_TRY(cv_vector_init(&pair.vector, call->count, call->type, call->op));
    cv_vector_cut(&pair.vector, segment > 0 ? segment : usual_segment);
    CV_MPI_TRY(cv_bays_turn(&team->bays, team->comm, all ? 2 : 1));
    pair.own_bay = cv_bay(&team->bays, team->rank) - pair.vector.lower;
    pair.other_bay = cv_bay(&team->bays, 1 - team->rank) - pair.vector.lower;
    while (!wants && pair.given < pair.vector.segments)
        CV_MPI_TRY(give(&pair));
    if (!wants)
        return MPI_SUCCESS;
    CV_MPI_TRY(go_on(&pair));
    cv_bays_taken(&team->bays);
    return MPI_SUCCESS;
}
