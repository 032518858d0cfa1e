/* shared_sum.c -- tree-dyn among ranks of one machine. SPDX-License-Identifier: MIT
 *
 * Pairs are those of dynamic_algorithms.c: tickets, and a word for each pair. But what is left in the
 * word is the number of the bay in which a partial lies. Whoever comes first at a word has put
 * its partial into a bay before, and has no more to do; whoever comes second finds it there.
 * So nobody has to be the one who never sends, and the last combination is made by the last to
 * come, in general.
 *
 * With n ranks there are at most n copies into vectors, n - 1 combinations, and a copy of the
 * result for each that wants it. After the last arrival it is one combination, and the copies
 * while it goes on. */
#include "mpi/reduce/reduction.h"

#include <math.h>
#include <sched.h>
#include "mpi/memory/mpi_try.h"
#include "mpi/memory/shared_memory.h"
#include "mpi/reduce/mpi_call.h"

/* --- a reduction between two ranks of one machine ---------------------------------- */

/* Where both want the result of a short vector both combine, rank 1's value being the first operand
 * on either side: so both have the same bits. After the last one has come it copies its vector
 * twice, into its bay and to where the result is to be, and combines.
 * 
 * Of a long one the result is made once, by whoever comes second, in the bay of the first, and
 * both take it from there: after the last one has come it combines and copies once, and the
 * first one copies meanwhile. */

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

static double segment_bytes(const struct cv_comm_state *state, double bytes);

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

/* Whether a call for which shared_sum.h fits is one for this. */
static bool shared_pair_fits(const struct cv_mpi_call *call,
                             const struct cv_comm_state *state)
{
    return state->size == 2 && call->reach != CV_TO_PARTS;
}

static int shared_pair_run(const struct cv_mpi_call *call, struct cv_comm_state *state)
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

/* --- tree-dyn among ranks of one machine ------------------------------------------- */

enum { WORD_TICKETS = 0, WORD_PAIRS = 1 };
enum { NO_BAY = -1, ALL = -1 };
/* How often whoever follows the last combination looks for more before it waits. */
enum { MOST_LOOKS = 1000 };
/* Of all vectors together; beyond that partials and results are sent. */
static const double usual_share = 67108864;
/* The last combination goes by segments of at least that many bytes, about, and by so many of
 * them at most. */
static const double least_segment = 32768, most_segments = 8;

struct shared_sum {
    struct cv_comm_state *state; /* borrowed */
    struct cv_vector vector;
    const char *own;  /* borrowed: the rank's vector                           */
    char *recv;       /* borrowed                                              */
    int first, count; /* the elements of the result that it wants              */
    int root;         /* the only rank that wants it, or ALL                   */
    int taken;        /* segments of it that it has taken                      */
    int bay;          /* in which its partial, or the result, lies, or NO_BAY  */
};

static char *bay_at(const struct shared_sum *sum, int bay)
{
    return cv_shared_vector_at(&sum->state->vectors, bay) - sum->vector.lower;
}

static int receive_bay(struct shared_sum *sum)
{
    MPI_Request request;

    CV_MPI_TRY(PMPI_Irecv(&sum->bay, 1, MPI_INT, MPI_ANY_SOURCE, CV_TAG_BAY,
                          sum->state->comm, &request));
    return cv_mpi_wait(&request);
}

/* Those that want the result. */
static int tell(const struct shared_sum *sum)
{
    const struct cv_comm_state *state = sum->state;

    if (sum->root != ALL)
        return PMPI_Send(&sum->bay, 1, MPI_INT, sum->root, CV_TAG_BAY, state->comm);
    for (int i = 1; i < state->size; i++)
        CV_MPI_TRY(PMPI_Send(&sum->bay, 1, MPI_INT, (state->rank + i) % state->size,
                             CV_TAG_BAY, state->comm));
    return MPI_SUCCESS;
}

/* Copy what this rank wants of the segments before `segments`. */
static int take(struct shared_sum *sum, int segments)
{
    const struct cv_vector *vector = &sum->vector;
    int from = sum->taken * vector->segment, to = segments * vector->segment;

    if (segments >= vector->segments)
        to = vector->count;
    if (segments > sum->taken)
        sum->taken = segments;
    from = from > sum->first ? from : sum->first;
    to = to < sum->first + sum->count ? to : sum->first + sum->count;
    if (from >= to)
        return MPI_SUCCESS;
    return cv_vector_copy(vector, bay_at(sum, sum->bay) + from * vector->extent,
                          sum->recv + (from - sum->first) * vector->extent, to - from,
                          sum->state->comm, sum->state->rank);
}

/* Somebody else makes the result. It tells all when some of it is there, and again when all of
 * it is; in between one may look. */
static int follow(struct shared_sum *sum)
{
    const int segments = sum->vector.segments;
    int looks = 0;

    CV_MPI_TRY(receive_bay(sum));
    while (segments > 1 && sum->taken < segments && looks++ < MOST_LOOKS) {
        const int said = cv_shared_vectors_said(&sum->state->vectors, 0);

        if (said == sum->taken) {
            sched_yield();
            continue;
        }
        CV_MPI_TRY(take(sum, said));
        looks = 0;
    }
    if (segments > 1)
        CV_MPI_TRY(receive_bay(sum));
    return take(sum, segments);
}

/* The root makes the result, and nobody else wants it: it is made in its place. */
static int combine_here(struct shared_sum *sum, const char *held, const char *other)
{
    const struct cv_vector *vector = &sum->vector;

    for (int i = 0; i < vector->segments; i++) {
        const MPI_Aint offset = cv_vector_offset(vector, i);
        const int count = cv_vector_part(vector, i);

        if (held != sum->recv)
            CV_MPI_TRY(cv_vector_copy(vector, held + offset, sum->recv + offset, count,
                                      sum->state->comm, sum->state->rank));
        CV_MPI_TRY(PMPI_Reduce_local(other + offset, sum->recv + offset, count,
                                     vector->type, vector->op));
    }
    return MPI_SUCCESS;
}

/* The result is made in a bay, from which others take it. */
static int combine_for_others(struct shared_sum *sum, const char *held, char *other)
{
    const struct cv_vector *vector = &sum->vector;

    for (int i = 0; i < vector->segments; i++) {
        const MPI_Aint offset = cv_vector_offset(vector, i);

        CV_MPI_TRY(PMPI_Reduce_local(held + offset, other + offset,
                                     cv_vector_part(vector, i), vector->type,
                                     vector->op));
        cv_shared_vectors_say(&sum->state->vectors, 0, i + 1);
        if (i == 0 || i == vector->segments - 1)
            CV_MPI_TRY(tell(sum));
        CV_MPI_TRY(take(sum, i + 1));
    }
    return MPI_SUCCESS;
}

/* Combine the own partial with that of another bay, where it stays unless it is the root's
 * result. */
static int sum_combine(struct shared_sum *sum, int bay, bool last)
{
    const struct cv_vector *vector = &sum->vector;
    const char *held = sum->bay == NO_BAY ? sum->own : bay_at(sum, sum->bay);
    char *other = bay_at(sum, bay);

    sum->bay = bay;
    if (!last)
        return PMPI_Reduce_local(held, other, vector->count, vector->type, vector->op);
    if (sum->root == sum->state->rank)
        return combine_here(sum, held, other);
    return combine_for_others(sum, held, other);
}

/* Go to the word of the next pair. *out_other: the bay that was left there, or NO_BAY. */
static int meet(struct shared_sum *sum, uint64_t first_ticket, bool *out_last,
                int *out_other)
{
    struct cv_comm_state *state = sum->state;
    uint64_t ticket, found;
    int pair;

    CV_MPI_TRY(cv_atomic_words_add(&state->atomics, WORD_TICKETS, 1, &ticket));
    pair = (int)((ticket - first_ticket) / 2);
    *out_last = pair == state->size - 2;
    /* Where somebody is already nothing has to be put into a bay. */
    CV_MPI_TRY(cv_atomic_words_add(&state->atomics, WORD_PAIRS + pair, 0, &found));
    if (sum->bay == NO_BAY && cv_atomic_words_rank(&state->atomics, found) < 0) {
        CV_MPI_TRY(cv_vector_copy(&sum->vector, sum->own, bay_at(sum, state->rank),
                                  sum->vector.count, state->comm, state->rank));
        sum->bay = state->rank;
    }
    CV_MPI_TRY(cv_atomic_words_swap(&state->atomics, WORD_PAIRS + pair,
                                    cv_atomic_words_name(&state->atomics,
                                                         sum->bay == NO_BAY ? state->rank
                                                                            : sum->bay),
                                    &found));
    *out_other = cv_atomic_words_rank(&state->atomics, found);
    return MPI_SUCCESS;
}

int cv_shared_sum_fits(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct cv_comm_state *state, bool *out)
{
    const double share =
        state->settings.share_bytes > 0 ? state->settings.share_bytes : usual_share;
    struct cv_vector vector;

    *out = false;
    if (policy != CV_MPI_TREE_DYN || state->vectors.refused ||
        state->settings.machine_ranks > 1)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_vector_init(&vector, call->count, call->type, call->op));
    if (!vector.commutes || cv_shared_vectors_bytes(state->size, vector.span) > share)
        return MPI_SUCCESS;
    /* Others may be in a reduction that was begun before, and wait for this rank. */
    CV_MPI_TRY(cv_reduction_drain(state));
    CV_MPI_TRY(cv_comm_state_board(state));
    if (!state->atomics.shared)
        return MPI_SUCCESS;
    if (state->vectors.room < vector.span)
        CV_MPI_TRY(cv_shared_vectors_make(&state->vectors, state->comm, vector.span));
    *out = !state->vectors.refused;
    return MPI_SUCCESS;
}

static void want(struct shared_sum *sum, const struct cv_mpi_call *call)
{
    const bool wants = call->reach != CV_TO_ROOT || sum->state->rank == call->root;

    sum->root = call->reach == CV_TO_ROOT ? call->root : ALL;
    sum->count = wants ? call->count : 0;
    sum->recv = wants ? call->recv : NULL;
    sum->own = call->send == MPI_IN_PLACE ? call->recv : call->send;
    if (call->reach != CV_TO_PARTS)
        return;
    for (int i = 0; i <= sum->state->rank; i++) {
        sum->first += i > 0 ? sum->count : 0;
        sum->count = call->parts != NULL ? call->parts[i] : call->block;
    }
}

static double segment_bytes(const struct cv_comm_state *state, double bytes)
{
    if (state->settings.segment_bytes > 0)
        return state->settings.segment_bytes;
    return fmax(bytes / most_segments, least_segment);
}

/* To the pair after which this rank has nothing to combine any more. */
static int combine_all(struct shared_sum *sum, uint64_t first_ticket, bool *out_made)
{
    bool last = false;
    int other;

    while (!last) {
        CV_MPI_TRY(meet(sum, first_ticket, &last, &other));
        *out_made = last && other != NO_BAY;
        if (other == NO_BAY)
            return MPI_SUCCESS;
        CV_MPI_TRY(sum_combine(sum, other, last));
    }
    return MPI_SUCCESS;
}

int cv_shared_sum_run(const struct cv_mpi_call *call, struct cv_comm_state *state)
{
    struct shared_sum sum = { .state = state, .bay = NO_BAY };
    MPI_Request *due = cv_atomic_words_due(&state->atomics);
    uint64_t first_ticket;
    bool made = false;

    if (shared_pair_fits(call, state))
        return shared_pair_run(call, state);
    CV_MPI_TRY(cv_vector_init(&sum.vector, call->count, call->type, call->op));
    cv_vector_cut(&sum.vector, segment_bytes(state, sum.vector.bytes));
    want(&sum, call);
    if (due != NULL)
        CV_MPI_TRY(cv_mpi_wait(due));
    CV_MPI_TRY(cv_atomic_words_turn(&state->atomics, state->comm));
    first_ticket =
        cv_atomic_words_tickets(&state->atomics, 2 * ((uint64_t)state->size - 1));
    CV_MPI_TRY(cv_shared_vectors_turn(&state->vectors, state->comm,
                                      sum.root == ALL ? state->size : 1));
    CV_MPI_TRY(combine_all(&sum, first_ticket, &made));
    if (sum.root != ALL && sum.root != state->rank)
        return MPI_SUCCESS;
    if (!made)
        CV_MPI_TRY(follow(&sum));
    cv_shared_vectors_taken(&state->vectors);
    return MPI_SUCCESS;
}
