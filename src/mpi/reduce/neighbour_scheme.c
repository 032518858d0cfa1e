/* neighbour_scheme.c -- ordered-tree-dyn among MPI ranks. SPDX-License-Identifier: MIT
 *
 * A partial covers the values of the ranks lo .. hi. There is a word on the board for each
 * boundary between two ranks, and each boundary is crossed once. Whoever has a partial and
 * nothing to do exchanges its name with the word of its left boundary, then with that of
 * its right one. If nobody had been there it waits, at both. If the neighbour waits there
 * already the partial is promised to it; first the own name is withdrawn from the other
 * boundary, again by an exchange. If somebody was quicker and has promised a partial there,
 * that one is awaited and combined first, and passed on segment by segment. A chain of
 * such promises runs in one direction and ends with a rank that waits.
 *
 * Whoever has only the last segment of a partial left to combine, which takes no longer than a
 * transfer, goes to the boundary behind that partial before: the next one is on its way
 * while it combines. At its other boundary it waits anyhow, if it waited before.
 *
 * A rank that waits at both boundaries may be promised two partials; it takes both. The
 * root promises nothing: where it finds a neighbour it asks for the neighbour's partial.
 * If that one is promised already, to the neighbour on its far side, the promise is turned
 * round: the far neighbour is asked in its turn, and what comes of it goes to the root. So
 * the result is made at the root. */
#include "mpi/reduce/partial_transfer.h"
#include "mpi/memory/mpi_try.h"

enum { TURN, VISIT, LISTEN, RECEIVE, SEND, FORWARD };

static int neighbour_begin(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;

    r->at.among = (struct cv_among_neighbours){
        .step = TURN, .lo = state->rank, .hi = state->rank, .promised = -1
    };
    return cv_comm_state_board(state);
}

/* The word of a boundary, or 0 at the ends of the row of ranks. */
static int boundary(const struct cv_reduction *r, enum cv_side side)
{
    if (side == CV_LEFT)
        return r->at.among.lo;
    return r->at.among.hi + 1 < r->state->size ? r->at.among.hi + 1 : 0;
}

/* The partial goes to `other`, who is on side `side`. */
static int promise(struct cv_reduction *r, enum cv_side side, int other)
{
    struct cv_among_neighbours *among = &r->at.among;
    enum cv_side back = side == CV_LEFT ? CV_RIGHT : CV_LEFT;
    struct cv_atomic_words *atomics = &r->state->atomics;
    uint64_t found;

    among->promised = other;
    among->waits[side] = false;
    if (!among->waits[back])
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_atomic_words_swap(atomics, boundary(r, back),
                                    cv_atomic_words_nobody(atomics), &found));
    among->waits[back] = false;
    among->expects[back] = cv_atomic_words_rank(atomics, found) != r->state->rank;
    return MPI_SUCCESS;
}

static int visit_side(struct cv_reduction *r, enum cv_side side)
{
    struct cv_among_neighbours *among = &r->at.among;
    struct cv_comm_state *state = r->state;
    int word = boundary(r, side), other;
    uint64_t found;

    if (word == 0 || among->waits[side] || among->expects[side] || among->promised >= 0)
        return MPI_SUCCESS;
    CV_MPI_TRY(cv_atomic_words_swap(&state->atomics, word,
                                    cv_atomic_words_name(&state->atomics, state->rank),
                                    &found));
    other = cv_atomic_words_rank(&state->atomics, found);
    if (other < 0) {
        among->waits[side] = true;
        return MPI_SUCCESS;
    }
    if (state->rank != r->root)
        return promise(r, side, other);
    among->expects[side] = true;
    return cv_partial_transfer_tell(r, other, CV_HEADER_TAKE, among->lo, among->hi);
}

static int visit(struct cv_reduction *r)
{
    struct cv_among_neighbours *among = &r->at.among;

    CV_MPI_TRY(visit_side(r, CV_LEFT));
    CV_MPI_TRY(visit_side(r, CV_RIGHT));
    if (among->promised < 0 || among->expects[CV_LEFT] || among->expects[CV_RIGHT]) {
        among->step = LISTEN;
        return MPI_SUCCESS;
    }
    among->step = SEND;
    CV_MPI_TRY(cv_partial_transfer_tell(r, among->promised, CV_HEADER_DATA, among->lo,
                                        among->hi));
    cv_partial_transfer_send(r, among->promised);
    return MPI_SUCCESS;
}

/* `other` asks for a partial that is promised to the opposite side. */
static int turn_round(struct cv_reduction *r, enum cv_side side, int other)
{
    struct cv_among_neighbours *among = &r->at.among;
    int far = among->promised;

    among->promised = other;
    among->expects[side] = false;
    among->expects[side == CV_LEFT ? CV_RIGHT : CV_LEFT] = true;
    return cv_partial_transfer_tell(r, far, CV_HEADER_TAKE, among->lo, among->hi);
}

/* What arrives is the last that is to be combined with the promised partial. */
static int forward(struct cv_reduction *r)
{
    struct cv_among_neighbours *among = &r->at.among;

    among->step = FORWARD;
    cv_partial_transfer_send(r, among->promised);
    return cv_partial_transfer_tell(r, among->promised, CV_HEADER_DATA,
                                    among->side == CV_LEFT ? r->header.lo : among->lo,
                                    among->side == CV_LEFT ? among->hi : r->header.hi);
}

/* A header has arrived, from the left or the right neighbour. */
static int hear(struct cv_reduction *r)
{
    struct cv_among_neighbours *among = &r->at.among;
    int from = r->status.MPI_SOURCE;
    enum cv_side side = r->header.hi < among->lo ? CV_LEFT : CV_RIGHT;

    if (r->header.kind == CV_HEADER_TAKE) {
        among->step = VISIT;
        return among->promised < 0 ? promise(r, side, from) : turn_round(r, side, from);
    }
    among->waits[side] = among->expects[side] = false;
    among->side = (int)side;
    among->step = RECEIVE;
    CV_MPI_TRY(cv_partial_transfer_receive(r, from, side));
    return among->promised < 0 || among->expects[side == CV_LEFT ? CV_RIGHT : CV_LEFT]
               ? MPI_SUCCESS
               : forward(r);
}

static void extend(struct cv_reduction *r)
{
    struct cv_among_neighbours *among = &r->at.among;

    if (among->side == CV_LEFT)
        among->lo = r->header.lo;
    else
        among->hi = r->header.hi;
}

/* A promise that is made here is kept when the partial is complete. */
static int visit_ahead(struct cv_reduction *r)
{
    struct cv_among_neighbours *among = &r->at.among;

    if (among->promised >= 0 || among->extended || !cv_partial_transfer_may_overlap(r))
        return MPI_SUCCESS;
    among->extended = true;
    extend(r);
    if (boundary(r, (enum cv_side)among->side) == 0)
        return MPI_SUCCESS;
    r->state->ahead++;
    return visit_side(r, (enum cv_side)among->side);
}

static int neighbour_advance(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_among_neighbours *among = &r->at.among;

    if (among->step == TURN) {
        *out = cv_atomic_words_due(&r->state->atomics);
        if (*out != NULL)
            return MPI_SUCCESS;
        CV_MPI_TRY(cv_atomic_words_turn(&r->state->atomics, r->state->comm));
        among->step = VISIT;
    }
    if (among->step == LISTEN)
        CV_MPI_TRY(hear(r));
    for (;;) {
        *out = NULL;
        if (among->step == FORWARD)
            return cv_partial_transfer_forward_on(r, out);
        if (among->step == RECEIVE) {
            CV_MPI_TRY(visit_ahead(r));
            CV_MPI_TRY(cv_partial_transfer_receive_on(r, out));
            if (*out != NULL)
                return MPI_SUCCESS;
            if (!among->extended)
                extend(r);
            among->extended = false;
            among->step = VISIT;
        }
        if (among->lo == 0 && among->hi == r->state->size - 1)
            return MPI_SUCCESS;
        if (among->step == VISIT)
            CV_MPI_TRY(visit(r));
        if (among->step == SEND)
            return cv_partial_transfer_send_on(r, out);
        if (among->step == LISTEN)
            return cv_partial_transfer_listen(r, out);
    }
}

const struct cv_reduction_algorithm cv_scheme_ordered = { neighbour_begin,
                                                          neighbour_advance };
