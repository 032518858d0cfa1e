/* pair_scheme.c -- tree-dyn among MPI ranks. SPDX-License-Identifier: MIT
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
#include "mpi/reduce/partial_transfer.h"
#include "mpi/memory/mpi_try.h"

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

const struct cv_reduction_algorithm cv_scheme_tree_dyn = { pair_begin, pair_advance };
