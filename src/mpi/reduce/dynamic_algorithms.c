/* dynamic_algorithms.c -- tree-dyn among MPI ranks. SPDX-License-Identifier: MIT
 *
 * Whoever has a partial and nothing to do draws a ticket; holders of tickets 2k and 2k + 1
 * meet. That is the slot of the policy: an even ticket enters it, an odd one empties it.
 * Both write their name into word k of the board with an exchange, so that the second one
 * finds the first. No word is ever read again and again: a ticket and an exchange are two
 * round trips, however many ranks come at the same time.
 *
 * The second one sends its partial to the first. Only the root never sends: if it comes
 * second it asks for the other's partial. So the last pair leaves the result at the root
 * and nothing has to be moved in the end. n - 1 pairs make the result; the pair n - 2 is
 * the last one, and the root is in it, because two partials are left then and one is
 * the root's. All draw 2(n - 1) tickets together, which is how the counter goes on from
 * one reduction to the next without being cleared.
 *
 * Whoever has only its last segment left to combine, which takes no longer than a transfer,
 * draws its next ticket before: the partial that it will meet is on its way while it
 * combines. If it comes second then, it asks for the other's partial as the root does,
 * because its own is not complete; but the root is never asked, and waits for it. */
#include "mpi/memory/mpi_try.h"
#include "mpi/reduce/reduction.h"

enum { WORD_TICKETS = 0, WORD_PAIRS = 1 };
enum { TURN, MEET, LISTEN, RECEIVE, SEND };

static int pair_begin(struct cv_reduction *r)
{
    r->at.pairs = (struct cv_in_pairs){ .step = TURN };
    return cv_comm_state_board(r->state);
}

static int turn(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;

    CV_MPI_TRY(cv_atomic_words_turn(&state->atomics, state->comm));
    r->at.pairs.first_ticket =
        cv_atomic_words_tickets(&state->atomics, 2 * ((uint64_t)state->size - 1));
    r->at.pairs.step = MEET;
    return MPI_SUCCESS;
}

/* Draw a ticket. *out_other: who was there before; -1: nobody, who comes will tell. */
static int draw(struct cv_reduction *r, bool *out_last, int *out_other)
{
    struct cv_comm_state *state = r->state;
    uint64_t ticket, found;
    int pair;

    CV_MPI_TRY(cv_atomic_words_add(&state->atomics, WORD_TICKETS, 1, &ticket));
    pair = (int)((ticket - r->at.pairs.first_ticket) / 2);
    *out_last = pair == state->size - 2;
    CV_MPI_TRY(cv_atomic_words_swap(&state->atomics, WORD_PAIRS + pair,
                                    cv_atomic_words_name(&state->atomics, state->rank),
                                    &found));
    *out_other = cv_atomic_words_rank(&state->atomics, found);
    return MPI_SUCCESS;
}

/* Begin with what follows from whom was met. */
static int enter(struct cv_reduction *r, int step, int peer)
{
    r->at.pairs.step = step;
    if (step == RECEIVE)
        return cv_partial_transfer_receive(r, peer, CV_RIGHT);
    if (step == SEND)
        cv_partial_transfer_send(r, peer);
    return MPI_SUCCESS;
}

/* Find out who is met, and what to do then; `busy`: the own partial is not complete. */
static int find(struct cv_reduction *r, bool busy, bool *out_last, int *out_step,
                int *out_peer)
{
    CV_MPI_TRY(draw(r, out_last, out_peer));
    if (*out_peer < 0) {
        *out_step = LISTEN;
        return MPI_SUCCESS;
    }
    *out_step =
        r->state->rank == r->root || (busy && *out_peer != r->root) ? RECEIVE : SEND;
    return cv_partial_transfer_tell(r, *out_peer,
                                    *out_step == SEND ? CV_HEADER_DATA : CV_HEADER_TAKE,
                                    0, 0);
}

static int meet(struct cv_reduction *r)
{
    int step, peer;

    CV_MPI_TRY(find(r, false, &r->at.pairs.last, &step, &peer));
    return enter(r, step, peer);
}

static int meet_ahead(struct cv_reduction *r)
{
    struct cv_in_pairs *at = &r->at.pairs;

    if (at->last || at->ahead || !cv_partial_transfer_may_overlap(r))
        return MPI_SUCCESS;
    at->ahead = true;
    r->state->ahead++;
    return find(r, true, &at->next_last, &at->next_step, &at->next_peer);
}

/* A header has arrived. */
static int hear(struct cv_reduction *r)
{
    int from = r->status.MPI_SOURCE;

    return enter(r, r->header.kind == CV_HEADER_DATA ? RECEIVE : SEND, from);
}

static int pair_advance(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_in_pairs *at = &r->at.pairs;

    if (at->step == TURN) {
        *out = cv_atomic_words_due(&r->state->atomics);
        if (*out != NULL)
            return MPI_SUCCESS;
        CV_MPI_TRY(turn(r));
    }
    if (at->step == LISTEN)
        CV_MPI_TRY(hear(r));
    for (;;) {
        *out = NULL;
        if (at->step == MEET)
            CV_MPI_TRY(meet(r));
        if (at->step == LISTEN)
            return cv_partial_transfer_listen(r, out);
        if (at->step == SEND)
            return cv_partial_transfer_send_on(r, out);
        CV_MPI_TRY(meet_ahead(r));
        CV_MPI_TRY(cv_partial_transfer_receive_on(r, out));
        if (*out != NULL || at->last)
            return MPI_SUCCESS;
        at->step = MEET;
        if (at->ahead) {
            at->ahead = false;
            at->last = at->next_last;
            CV_MPI_TRY(enter(r, at->next_step, at->next_peer));
        }
    }
}

const struct cv_reduction_algorithm cv_algorithm_tree_dyn = { pair_begin, pair_advance };

/* --- ordered-tree-dyn among MPI ranks ---------------------------------------------- */

/* A partial covers the values of the ranks lo .. hi. There is a word on the board for each
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

enum { SCHEME_TURN, VISIT, SCHEME_LISTEN, SCHEME_RECEIVE, SCHEME_SEND, FORWARD };

static int neighbour_begin(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;

    r->at.among = (struct cv_among_neighbours){
        .step = SCHEME_TURN, .lo = state->rank, .hi = state->rank, .promised = -1
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
        among->step = SCHEME_LISTEN;
        return MPI_SUCCESS;
    }
    among->step = SCHEME_SEND;
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
static int scheme_hear(struct cv_reduction *r)
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
    among->step = SCHEME_RECEIVE;
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

    if (among->step == SCHEME_TURN) {
        *out = cv_atomic_words_due(&r->state->atomics);
        if (*out != NULL)
            return MPI_SUCCESS;
        CV_MPI_TRY(cv_atomic_words_turn(&r->state->atomics, r->state->comm));
        among->step = VISIT;
    }
    if (among->step == SCHEME_LISTEN)
        CV_MPI_TRY(scheme_hear(r));
    for (;;) {
        *out = NULL;
        if (among->step == FORWARD)
            return cv_partial_transfer_forward_on(r, out);
        if (among->step == SCHEME_RECEIVE) {
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
        if (among->step == SCHEME_SEND)
            return cv_partial_transfer_send_on(r, out);
        if (among->step == SCHEME_LISTEN)
            return cv_partial_transfer_listen(r, out);
    }
}

const struct cv_reduction_algorithm cv_algorithm_ordered = { neighbour_begin,
                                                             neighbour_advance };
