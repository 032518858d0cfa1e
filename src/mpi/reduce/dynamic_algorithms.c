/* dynamic_algorithms.c -- tree-dyn and ordered-tree-dyn. SPDX-License-Identifier: MIT */
#include "mpi/reduce/reduction.h"

/* --- tree-dyn ----------------------------------------------------------------------- */

/* An idle rank with a partial draws a ticket; ranks with tickets 2k and 2k + 1 meet, by
 * exchanging their names with word k: the second finds the first. No word is polled: a
 * ticket and an exchange are two round trips, however many ranks arrive at the same time.
 *
 * The second rank sends its partial to the first. Only the root never sends: if it is
 * second, it asks for the other partial. n - 1 pairs make the result; the last one, n -
 * 2, contains the root, because one of the last two partials is the root's. Together
 * ranks draw 2(n - 1) tickets, so the counter need not be cleared between reductions.
 *
 * A rank that has only its last segment to combine, which takes no longer than a
 * transfer, draws its next ticket early: the next partial arrives while it combines. If
 * it is second, it asks for the other partial, because its own is not complete; it does
 * not ask the root. */

enum { WORD_TICKETS = 0, WORD_PAIRS = 1 };
enum { TURN, MEET, LISTEN, RECEIVE, SEND };

static int pair_begin(struct cv_reduction *r)
{
    r->at.pairs = (struct cv_in_pairs){ .step = TURN };
    return cv_comm_state_make_words(r->state);
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

/* Draw a ticket. *out_other: the first rank of the pair; -1: this one, which waits for a
 * header. */
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

static int enter(struct cv_reduction *r, int step, int peer)
{
    r->at.pairs.step = step;
    if (step == RECEIVE)
        return cv_partial_transfer_receive(r, peer, CV_RIGHT);
    if (step == SEND)
        cv_partial_transfer_send(r, peer);
    return MPI_SUCCESS;
}

/* Find the other rank of the pair, and the next step; `busy`: the own partial is not
 * complete. */
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

static int read_header(struct cv_reduction *r)
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
        CV_MPI_TRY(read_header(r));
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

/* --- ordered-tree-dyn --------------------------------------------------------------- */

/* A partial covers ranks lo .. hi. There is a word for each boundary between two ranks,
 * and each boundary is crossed once. An idle rank with a partial exchanges its name with
 * the words of its left and right boundaries. If no rank was there, it waits at both. If
 * the neighbour waits there, the partial is promised to it, after the own name was
 * withdrawn from the other boundary, by an exchange. If another rank was faster and has
 * promised a partial there, that partial is awaited and combined first, and passed on
 * segment by segment. Such a chain of promises runs in one direction and ends with a rank
 * that waits.
 *
 * A rank that has only the last segment of a partial to combine, which takes no longer
 * than a transfer, goes to the boundary beyond that partial early: the next partial
 * arrives while it combines.
 *
 * A rank that waits at both boundaries may be promised two partials. The root promises
 * nothing: it asks a neighbour for its partial. If that is promised to the far
 * neighbour, the promise is reversed: the far neighbour is asked, and the result goes to
 * the root. */

enum { NEXT_ROW, VISIT, AWAIT_HEADER, TAKE_IN, PASS, FORWARD };

static int neighbour_begin(struct cv_reduction *r)
{
    struct cv_comm_state *state = r->state;

    r->at.among = (struct cv_among_neighbours){
        .step = NEXT_ROW, .lo = state->rank, .hi = state->rank, .promised = -1
    };
    return cv_comm_state_make_words(state);
}

/* The word of a boundary; 0 at the first and the last rank. */
static int boundary(const struct cv_reduction *r, enum cv_side side)
{
    if (side == CV_LEFT)
        return r->at.among.lo;
    return r->at.among.hi + 1 < r->state->size ? r->at.among.hi + 1 : 0;
}

/* Promise the partial to `other`, on side `side`. */
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
                                    cv_atomic_words_name(atomics, -1), &found));
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
        among->step = AWAIT_HEADER;
        return MPI_SUCCESS;
    }
    among->step = PASS;
    CV_MPI_TRY(cv_partial_transfer_tell(r, among->promised, CV_HEADER_DATA, among->lo,
                                        among->hi));
    cv_partial_transfer_send(r, among->promised);
    return MPI_SUCCESS;
}

/* `other` asks for a partial that is promised to the opposite side. */
static int reverse_promise(struct cv_reduction *r, enum cv_side side, int other)
{
    struct cv_among_neighbours *among = &r->at.among;
    int far = among->promised;

    among->promised = other;
    among->expects[side] = false;
    among->expects[side == CV_LEFT ? CV_RIGHT : CV_LEFT] = true;
    return cv_partial_transfer_tell(r, far, CV_HEADER_TAKE, among->lo, among->hi);
}

/* The arriving partial is the last one to be combined with the promised partial. */
static int forward(struct cv_reduction *r)
{
    struct cv_among_neighbours *among = &r->at.among;

    among->step = FORWARD;
    cv_partial_transfer_send(r, among->promised);
    return cv_partial_transfer_tell(r, among->promised, CV_HEADER_DATA,
                                    among->side == CV_LEFT ? r->header.lo : among->lo,
                                    among->side == CV_LEFT ? among->hi : r->header.hi);
}

static int read_neighbour_header(struct cv_reduction *r)
{
    struct cv_among_neighbours *among = &r->at.among;
    int from = r->status.MPI_SOURCE;
    enum cv_side side = r->header.hi < among->lo ? CV_LEFT : CV_RIGHT;

    if (r->header.kind == CV_HEADER_TAKE) {
        among->step = VISIT;
        return among->promised < 0 ? promise(r, side, from)
                                   : reverse_promise(r, side, from);
    }
    among->waits[side] = among->expects[side] = false;
    among->side = (int)side;
    among->step = TAKE_IN;
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

/* A promise made here is kept when the partial is complete. */
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

    if (among->step == NEXT_ROW) {
        *out = cv_atomic_words_due(&r->state->atomics);
        if (*out != NULL)
            return MPI_SUCCESS;
        CV_MPI_TRY(cv_atomic_words_turn(&r->state->atomics, r->state->comm));
        among->step = VISIT;
    }
    if (among->step == AWAIT_HEADER)
        CV_MPI_TRY(read_neighbour_header(r));
    for (;;) {
        *out = NULL;
        if (among->step == FORWARD)
            return cv_partial_transfer_forward_on(r, out);
        if (among->step == TAKE_IN) {
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
        if (among->step == PASS)
            return cv_partial_transfer_send_on(r, out);
        if (among->step == AWAIT_HEADER)
            return cv_partial_transfer_listen(r, out);
    }
}

const struct cv_reduction_algorithm cv_algorithm_ordered = { neighbour_begin,
                                                             neighbour_advance };
