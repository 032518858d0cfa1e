/* shared_sum.c -- tree-dyn among ranks of one machine. SPDX-License-Identifier: MIT
 *
 * Partials are in shared memory. Ranks meet in pairs as in dynamic_algorithms.c, by
 * tickets and a word for each pair, but the word holds the index of the shared vector of
 * a partial. The first rank at a word has copied its partial to its vector and is done;
 * the second combines its own partial into it and continues with that. The last rank
 * combines segment by segment, and ranks that want the result copy segments that are
 * ready: the result is not sent.
 *
 * With n ranks there are at most n copies into vectors, n - 1 combinations, and a copy of
 * the result for each rank that wants it. After the last arrival there is one
 * combination, overlapped by the copies.
 *
 * Each rank has two vectors, for even and odd reductions. A vector is used again when all
 * ranks have taken the result of the reduction before the last, which they count. If all
 * ranks take it, that is true at once: a rank that starts a reduction has completed the
 * one before, to which all ranks have contributed after they had taken the result of the
 * one before that. */
#include "mpi/reduce/reduction.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include "mpi/memory/shared_memory.h"

/* --- shared vectors ----------------------------------------------------------------- */

static const size_t least_room = 16384;

/* Two cache lines: the second is fetched with the first. */
struct word {
    _Atomic uint64_t value;
    uint64_t unused[15];
};

/* Precedes the vectors; one for even and one for odd reductions. */
struct progress {
    struct word segments[2]; /* by speaker: reduction << 32 | segments that are ready   */
    struct word taken;       /* results that have been taken                            */
    struct word came;        /* last reduction in which a rank called came_second       */
};

static size_t room_for(size_t bytes)
{
    size_t room = least_room;

    while (room < bytes)
        room *= 2;
    return room;
}

static size_t size_of(int ranks, size_t room)
{
    return 2 * (sizeof(struct progress) + (size_t)ranks * room);
}

/* Vectors of at least `bytes` bytes: collective. A rank that still takes a result from
 * the old ones has mapped them. */
static int make_vectors(struct cv_shared_vectors *vectors,
                        const struct cv_comm_state *state, size_t bytes)
{
    cv_shared_vectors_free(vectors);
    vectors->room = room_for(bytes);
    vectors->bytes = size_of(state->size, vectors->room);
    CV_MPI_TRY(cv_shared_memory_make(state->comm, state->rank, vectors->bytes,
                                     &vectors->memory));
    vectors->refused = vectors->memory == NULL;
    return MPI_SUCCESS;
}

static struct progress *progress_of(const struct cv_shared_vectors *vectors)
{
    return &((struct progress *)vectors->memory)[vectors->number % 2];
}

/* While a rank looks at memory, the MPI library must make progress, and notice when a rank
 * dies. */
static int let_mpi_work(MPI_Comm comm)
{
    int there;

    CV_MPI_TRY(PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, MPI_STATUS_IGNORE));
    sched_yield();
    return MPI_SUCCESS;
}

/* Go to the next reduction, whose result `takers` ranks take: all ranks. Waits until the
 * result of the reduction before the last has been taken. */
static int next_reduction(struct cv_shared_vectors *vectors, MPI_Comm comm, int takers)
{
    uint64_t *takes;

    vectors->number++;
    takes = &vectors->takes[vectors->number % 2];
    while (atomic_load_explicit(&progress_of(vectors)->taken.value,
                                memory_order_acquire) < *takes)
        CV_MPI_TRY(let_mpi_work(comm));
    *takes += (uint64_t)takers;
    return MPI_SUCCESS;
}

static void report_taken(struct cv_shared_vectors *vectors)
{
    atomic_fetch_add_explicit(&progress_of(vectors)->taken.value, 1,
                              memory_order_release);
}

static char *vector_of(const struct cv_comm_state *state, int rank,
                       const struct cv_vector *vector)
{
    const struct cv_shared_vectors *vectors = &state->vectors;
    const size_t before = vectors->number % 2 * (size_t)state->size + (size_t)rank;

    return (char *)((struct progress *)vectors->memory + 2) + before * vectors->room -
           vector->lower;
}

/* For two ranks: whether the other rank has called this in this reduction. */
static bool came_second(struct cv_shared_vectors *vectors)
{
    return atomic_exchange_explicit(&progress_of(vectors)->came.value, vectors->number,
                                    memory_order_acq_rel) == vectors->number;
}

static void report_segments(struct cv_shared_vectors *vectors, int speaker, int segments)
{
    atomic_store_explicit(&progress_of(vectors)->segments[speaker].value,
                          (uint64_t)vectors->number << 32 | (uint32_t)segments,
                          memory_order_release);
}

static int reported_segments(const struct cv_shared_vectors *vectors, int speaker)
{
    const uint64_t word =
        atomic_load_explicit(&progress_of(vectors)->segments[speaker].value,
                             memory_order_acquire);

    return word >> 32 == vectors->number ? (int)(uint32_t)word : 0;
}

/* Combine a segment of `from` into `to`. */
static int combine_segment(const struct cv_vector *vector, int i, const char *from,
                           char *to)
{
    const MPI_Aint offset = cv_vector_offset(vector, i);

    return PMPI_Reduce_local(from + offset, to + offset, cv_vector_part(vector, i),
                             vector->type, vector->op);
}

/* --- two ranks ---------------------------------------------------------------------- */

/* A rank that does not want the result leaves its vector in shared memory, segment by
 * segment, and is done. If both ranks want the result of a short vector, both combine,
 * with rank 1's value as the first operand: so both have the same bits. The result of a
 * long vector is made once, by the second rank, in the vector of the first, and both copy
 * it: one copy and one combination less, but each rank waits once more. No message is
 * sent. */

/* A copied segment is still in the cache when it is combined. */
static const double usual_segment = 16384;
static const double least_made_once = 131072;
enum { LOOKS = 100 }; /* before others may have the processor */

struct shared_pair {
    struct cv_comm_state *state; /* borrowed */
    struct cv_vector vector;
    const char *own; /* borrowed: the values of this rank                  */
    char *recv;      /* borrowed; NULL: it does not want the result        */
    char *own_shared, *other_shared;
    bool gives;                 /* the other rank wants the result                    */
    bool first;                 /* the value is the first operand */
    int given, ready, combined; /* segments: in own_shared, copied to `recv`, combined */
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
    CV_MPI_TRY(copy(pair, pair->given, pair->own, pair->own_shared));
    report_segments(&pair->state->vectors, pair->state->rank, ++pair->given);
    return MPI_SUCCESS;
}

/* Copy the second operand to `recv`. */
static int make_ready(struct shared_pair *pair)
{
    const int segment = pair->ready++;

    if (pair->first)
        return copy(pair, segment, pair->other_shared, pair->recv);
    return pair->own == pair->recv ? MPI_SUCCESS
                                   : copy(pair, segment, pair->own, pair->recv);
}

static int combine(struct shared_pair *pair)
{
    const int segment = pair->combined++;

    if (pair->ready <= segment)
        CV_MPI_TRY(make_ready(pair));
    return combine_segment(&pair->vector, segment,
                           pair->first ? pair->own_shared : pair->other_shared,
                           pair->recv);
}

/* Nothing to do until the other rank has more segments. */
static int look_again(struct shared_pair *pair)
{
    if (++pair->looks % LOOKS != 0 && !pair->state->costs.crowded)
        return MPI_SUCCESS;
    return let_mpi_work(pair->state->comm);
}

static int others(const struct shared_pair *pair)
{
    return reported_segments(&pair->state->vectors, 1 - pair->state->rank);
}

/* Combine segments that are ready; meanwhile give or copy the own vector. */
static int combine_both(struct shared_pair *pair)
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

/* The first rank gives its vector, and takes the result from the same place. */
static int give_and_take(struct shared_pair *pair)
{
    const int segments = pair->vector.segments;

    while (pair->ready < segments) {
        if (pair->given < segments)
            CV_MPI_TRY(give(pair));
        else if (others(pair) > pair->ready)
            CV_MPI_TRY(copy(pair, pair->ready++, pair->own_shared, pair->recv));
        else
            CV_MPI_TRY(look_again(pair));
    }
    return MPI_SUCCESS;
}

/* The second rank makes the result in the vector of the first. */
static int make_there(struct shared_pair *pair)
{
    while (pair->combined < pair->vector.segments) {
        if (others(pair) <= pair->combined) {
            CV_MPI_TRY(look_again(pair));
            continue;
        }
        CV_MPI_TRY(combine_segment(&pair->vector, pair->combined, pair->own,
                                   pair->other_shared));
        report_segments(&pair->state->vectors, pair->state->rank, pair->combined + 1);
        CV_MPI_TRY(copy(pair, pair->combined++, pair->other_shared, pair->recv));
    }
    return MPI_SUCCESS;
}

static int exchange(struct shared_pair *pair)
{
    if (pair->vector.bytes < least_made_once)
        return combine_both(pair);
    return came_second(&pair->state->vectors) ? make_there(pair) : give_and_take(pair);
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
    CV_MPI_TRY(next_reduction(&state->vectors, state->comm, all ? 2 : 1));
    pair.own_shared = vector_of(state, state->rank, &pair.vector);
    pair.other_shared = vector_of(state, 1 - state->rank, &pair.vector);
    while (!wants && pair.given < pair.vector.segments)
        CV_MPI_TRY(give(&pair));
    if (!wants)
        return MPI_SUCCESS;
    CV_MPI_TRY(all ? exchange(&pair) : combine_both(&pair));
    report_taken(&state->vectors);
    return MPI_SUCCESS;
}

/* --- any number of ranks ------------------------------------------------------------ */

enum { WORD_TICKETS = 0, WORD_PAIRS = 1 };
enum { NOWHERE = -1, ALL = -1 };
enum { MOST_LOOKS = 1000 }; /* for segments of the result, before waiting for a message */
/* Bytes of all shared vectors; beyond that, partials and results are sent. */
static const double usual_share = 67108864;
/* Segments of the last combination. */
static const double least_segment = 32768, most_segments = 8;

struct shared_sum {
    struct cv_comm_state *state; /* borrowed */
    struct cv_vector vector;
    const char *own;  /* borrowed: the values of this rank                     */
    char *recv;       /* borrowed                                              */
    int first, count; /* elements of the result that it wants                  */
    int root;         /* the only rank that wants the result, or ALL           */
    int taken;        /* segments of the result that it has taken              */
    int at;           /* shared vector of its partial or of the result, or NOWHERE */
};

static int receive_place(struct shared_sum *sum)
{
    MPI_Request request;

    CV_MPI_TRY(PMPI_Irecv(&sum->at, 1, MPI_INT, MPI_ANY_SOURCE, CV_TAG_SHARED,
                          sum->state->comm, &request));
    return cv_mpi_wait(&request, false);
}

/* Tell ranks that want the result where it is. */
static int tell(const struct shared_sum *sum)
{
    const struct cv_comm_state *state = sum->state;

    if (sum->root != ALL)
        return PMPI_Send(&sum->at, 1, MPI_INT, sum->root, CV_TAG_SHARED, state->comm);
    for (int i = 1; i < state->size; i++)
        CV_MPI_TRY(PMPI_Send(&sum->at, 1, MPI_INT, (state->rank + i) % state->size,
                             CV_TAG_SHARED, state->comm));
    return MPI_SUCCESS;
}

/* Copy the wanted elements of the first `segments` segments. */
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
    return cv_vector_copy(vector,
                          vector_of(sum->state, sum->at, &sum->vector) +
                              from * vector->extent,
                          sum->recv + (from - sum->first) * vector->extent, to - from,
                          sum->state->comm, sum->state->rank);
}

/* Another rank makes the result. It sends a message when the first segment is ready and
 * another at the end; in between, progress is read from memory. */
static int follow(struct shared_sum *sum)
{
    const int segments = sum->vector.segments;
    int looks = 0;

    CV_MPI_TRY(receive_place(sum));
    while (segments > 1 && sum->taken < segments && looks++ < MOST_LOOKS) {
        const int said = reported_segments(&sum->state->vectors, 0);

        if (said == sum->taken) {
            sched_yield();
            continue;
        }
        CV_MPI_TRY(take(sum, said));
        looks = 0;
    }
    if (segments > 1)
        CV_MPI_TRY(receive_place(sum));
    return take(sum, segments);
}

/* The root makes the result in `recv`: no other rank wants it. */
static int combine_here(struct shared_sum *sum, const char *held, const char *other)
{
    const struct cv_vector *vector = &sum->vector;

    for (int i = 0; i < vector->segments; i++) {
        const MPI_Aint offset = cv_vector_offset(vector, i);

        if (held != sum->recv)
            CV_MPI_TRY(cv_vector_copy(vector, held + offset, sum->recv + offset,
                                      cv_vector_part(vector, i), sum->state->comm,
                                      sum->state->rank));
        CV_MPI_TRY(combine_segment(vector, i, other, sum->recv));
    }
    return MPI_SUCCESS;
}

/* Make the result in a shared vector, from which others take it. */
static int combine_for_others(struct shared_sum *sum, const char *held, char *other)
{
    const int segments = sum->vector.segments;

    for (int i = 0; i < segments; i++) {
        CV_MPI_TRY(combine_segment(&sum->vector, i, held, other));
        report_segments(&sum->state->vectors, 0, i + 1);
        if (i == 0 || i == segments - 1)
            CV_MPI_TRY(tell(sum));
        CV_MPI_TRY(take(sum, i + 1));
    }
    return MPI_SUCCESS;
}

/* Combine the own partial into the one of another shared vector, or at the end into
 * `recv` of the root. */
static int combine_with(struct shared_sum *sum, int at, bool last)
{
    const struct cv_vector *vector = &sum->vector;
    const char *held =
        sum->at == NOWHERE ? sum->own : vector_of(sum->state, sum->at, &sum->vector);
    char *other = vector_of(sum->state, at, &sum->vector);

    sum->at = at;
    if (!last)
        return PMPI_Reduce_local(held, other, vector->count, vector->type, vector->op);
    if (sum->root == sum->state->rank)
        return combine_here(sum, held, other);
    return combine_for_others(sum, held, other);
}

/* Go to the word of the next pair. *out_other: the shared vector of the first rank there,
 * or NOWHERE. */
static int meet(struct shared_sum *sum, uint64_t first_ticket, bool *out_last,
                int *out_other)
{
    struct cv_comm_state *state = sum->state;
    uint64_t ticket, found;
    int pair;

    CV_MPI_TRY(cv_atomic_words_add(&state->atomics, WORD_TICKETS, 1, &ticket));
    pair = (int)((ticket - first_ticket) / 2);
    *out_last = pair == state->size - 2;
    /* If another rank has already arrived, no copy is needed. */
    CV_MPI_TRY(cv_atomic_words_add(&state->atomics, WORD_PAIRS + pair, 0, &found));
    if (sum->at == NOWHERE && cv_atomic_words_rank(&state->atomics, found) < 0) {
        CV_MPI_TRY(cv_vector_copy(&sum->vector, sum->own,
                                  vector_of(sum->state, state->rank, &sum->vector),
                                  sum->vector.count, state->comm, state->rank));
        sum->at = state->rank;
    }
    CV_MPI_TRY(cv_atomic_words_swap(
        &state->atomics, WORD_PAIRS + pair,
        cv_atomic_words_name(&state->atomics, sum->at == NOWHERE ? state->rank : sum->at),
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
    if (!vector.commutes || 2.0 * state->size * (double)room_for(vector.span) > share)
        return MPI_SUCCESS;
    /* Other ranks may wait for this one in an earlier reduction. */
    CV_MPI_TRY(cv_reduction_drain(state));
    CV_MPI_TRY(cv_comm_state_make_words(state));
    if (!state->atomics.shared)
        return MPI_SUCCESS;
    if (state->vectors.room < vector.span)
        CV_MPI_TRY(make_vectors(&state->vectors, state, vector.span));
    *out = !state->vectors.refused;
    return MPI_SUCCESS;
}

static void set_buffers(struct shared_sum *sum, const struct cv_mpi_call *call)
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

/* Combine until another rank continues with the partial. *out_made: this rank has made
 * the result. */
static int combine_all(struct shared_sum *sum, uint64_t first_ticket, bool *out_made)
{
    bool last = false;
    int other;

    while (!last) {
        CV_MPI_TRY(meet(sum, first_ticket, &last, &other));
        *out_made = last && other != NOWHERE;
        if (other == NOWHERE)
            return MPI_SUCCESS;
        CV_MPI_TRY(combine_with(sum, other, last));
    }
    return MPI_SUCCESS;
}

int cv_shared_sum_run(const struct cv_mpi_call *call, struct cv_comm_state *state)
{
    struct shared_sum sum = { .state = state, .at = NOWHERE };
    MPI_Request *due = cv_atomic_words_due(&state->atomics);
    uint64_t first_ticket;
    bool made = false;

    if (state->size == 2 && call->reach != CV_TO_PARTS)
        return shared_pair_run(call, state);
    CV_MPI_TRY(cv_vector_init(&sum.vector, call->count, call->type, call->op));
    cv_vector_cut(&sum.vector, segment_bytes(state, sum.vector.bytes));
    set_buffers(&sum, call);
    if (due != NULL)
        CV_MPI_TRY(cv_mpi_wait(due, false));
    CV_MPI_TRY(cv_atomic_words_turn(&state->atomics, state->comm));
    first_ticket =
        cv_atomic_words_tickets(&state->atomics, 2 * ((uint64_t)state->size - 1));
    CV_MPI_TRY(
        next_reduction(&state->vectors, state->comm, sum.root == ALL ? state->size : 1));
    CV_MPI_TRY(combine_all(&sum, first_ticket, &made));
    if (sum.root != ALL && sum.root != state->rank)
        return MPI_SUCCESS;
    if (!made)
        CV_MPI_TRY(follow(&sum));
    report_taken(&state->vectors);
    return MPI_SUCCESS;
}
