/* shared_pair.c -- a reduction between two ranks of one machine. SPDX-License-Identifier: MIT
 *
 * Where both want the result of a short vector both combine, rank 1's value being the first operand
 * on either side: so both have the same bits. After the last one has come it copies its vector
 * twice, into its bay and to where the result is to be, and combines.
 *
 * Of a long one the result is made once, by whoever comes second, in the bay of the first, and
 * both take it from there: after the last one has come it combines and copies once, and the
 * first one copies meanwhile. */
#include "mpi/reduce/shared_pair.h"

#include <sched.h>

#include "mpi/memory/mpi_try.h"

/* Segments are so short that what is copied is still at hand when it is combined, and so long
 * that saying that one is there takes little beside it. */
static const double usual_segment = 16384;
/* From so many bytes on the result is made once, for both: that is a copy and a combination less in
 * all, but one waits for the other twice. */
static const double least_made_once = 131072;
/* How often one looks for the next segment before others may have the processor. */
enum { LOOKS = 100 };

struct shared_pair {
    struct cv_comm_state *state; /* borrowed */
    struct cv_vector vector;
    const char *own; /* borrowed: the rank's vector                        */
    char *recv;      /* borrowed; NULL: it does not want the result        */
    char *own_bay, *other_bay;
    bool gives; /* the other one wants the result                     */
    bool first; /* its value is the first operand: the other's is copied */
    int given, ready, combined; /* segments in the own bay; copied to `recv`; done */
    unsigned looks;
};

static int copy(const struct shared_pair *pair, int segment, const char *from, char *to)
{
    const MPI_Aint offset = cv_vector_offset(&pair->vector, segment);

    return cv_vector_copy(&pair->vector, from + offset, to + offset,
                          cv_vector_part(&pair->vector, segment), pair->state->comm,
                          pair->state->rank);
}

static int give(struct shared_pair *pair)
{
    CV_MPI_TRY(copy(pair, pair->given, pair->own, pair->own_bay));
    cv_shared_vectors_say(&pair->state->vectors, pair->state->rank, ++pair->given);
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

/* There is nothing to do before the other one has come further. */
static int look_again(struct shared_pair *pair)
{
    struct cv_comm_state *state = pair->state;
    int there;

    if (++pair->looks % LOOKS != 0 && !state->costs.crowded)
        return MPI_SUCCESS;
    /* So that the MPI library goes on, and notices when a rank dies. */
    CV_MPI_TRY(
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, state->comm, &there, MPI_STATUS_IGNORE));
    sched_yield();
    return MPI_SUCCESS;
}

static int others(const struct shared_pair *pair)
{
    return cv_shared_vectors_said(&pair->state->vectors, 1 - pair->state->rank);
}

/* What is there is combined at once; meanwhile the own vector is given, or made ready. */
static int go_on(struct shared_pair *pair)
{
    const int segments = pair->vector.segments;

    while (pair->combined < segments) {
        const int max = pair->gives ? pair->given : segments;

        if (pair->combined < max && others(pair) > pair->combined)
            CV_MPI_TRY(combine(pair));
        else if (pair->gives && pair->given < segments)
            CV_MPI_TRY(give(pair));
        else if (!pair->first && pair->ready < segments)
            CV_MPI_TRY(make_ready(pair));
        else
            CV_MPI_TRY(look_again(pair));
    }
    return MPI_SUCCESS;
}

/* The first to come gives its vector, and takes the result from the same place. */
static int give_and_take(struct shared_pair *pair)
{
    const int segments = pair->vector.segments;

    while (pair->ready < segments) {
        if (pair->given < segments)
            CV_MPI_TRY(give(pair));
        else if (others(pair) > pair->ready)
            CV_MPI_TRY(copy(pair, pair->ready++, pair->own_bay, pair->recv));
        else
            CV_MPI_TRY(look_again(pair));
    }
    return MPI_SUCCESS;
}

/* The second one makes the result there. */
static int make_there(struct shared_pair *pair)
{
    const struct cv_vector *vector = &pair->vector;

    while (pair->combined < vector->segments) {
        const MPI_Aint offset = cv_vector_offset(vector, pair->combined);

        if (others(pair) <= pair->combined) {
            CV_MPI_TRY(look_again(pair));
            continue;
        }
        CV_MPI_TRY(PMPI_Reduce_local(pair->own + offset, pair->other_bay + offset,
                                     cv_vector_part(vector, pair->combined), vector->type,
                                     vector->op));
        cv_shared_vectors_say(&pair->state->vectors, pair->state->rank,
                              pair->combined + 1);
        CV_MPI_TRY(copy(pair, pair->combined++, pair->other_bay, pair->recv));
    }
    return MPI_SUCCESS;
}

/* For all. */
static int exchange(struct shared_pair *pair)
{
    if (pair->vector.bytes < least_made_once)
        return go_on(pair);
    return cv_shared_vectors_second(&pair->state->vectors) ? make_there(pair)
                                                           : give_and_take(pair);
}

bool cv_shared_pair_fits(const struct cv_mpi_call *call,
                         const struct cv_comm_state *state)
{
    return state->size == 2 && call->reach != CV_TO_PARTS;
}

int cv_shared_pair_run(const struct cv_mpi_call *call, struct cv_comm_state *state)
{
    const bool all = call->reach == CV_TO_ALL, wants = all || state->rank == call->root;
    const double segment = state->settings.segment_bytes;
    struct shared_pair pair = { .state = state,
                                .recv = wants ? call->recv : NULL,
                                .gives = all || !wants,
                                .first = all && state->rank == 1 };

    pair.own = call->send == MPI_IN_PLACE ? call->recv : call->send;
    CV_MPI_TRY(cv_vector_init(&pair.vector, call->count, call->type, call->op));
    cv_vector_cut(&pair.vector, segment > 0 ? segment : usual_segment);
    CV_MPI_TRY(cv_shared_vectors_turn(&state->vectors, state->comm, all ? 2 : 1));
    pair.own_bay = cv_shared_vector_at(&state->vectors, state->rank) - pair.vector.lower;
    pair.other_bay =
        cv_shared_vector_at(&state->vectors, 1 - state->rank) - pair.vector.lower;
    while (!wants && pair.given < pair.vector.segments)
        CV_MPI_TRY(give(&pair));
    if (!wants)
        return MPI_SUCCESS;
    CV_MPI_TRY(all ? exchange(&pair) : go_on(&pair));
    cv_shared_vectors_taken(&state->vectors);
    return MPI_SUCCESS;
}
