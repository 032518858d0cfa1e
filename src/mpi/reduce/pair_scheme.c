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
 * one reduction to the next without being cleared. */
#include "mpi/reduce/hop.h"
#include "mpi/reduce/mpi_try.h"

enum { WORD_TICKETS = 0, WORD_PAIRS = 1 };
enum { TURN, MEET, LISTEN, RECEIVE, SEND };

static int pair_begin(struct cv_reduction *r)
{
    r->at.pairs.step = TURN;
    return cv_team_board(r->team);
}

static int turn(struct cv_reduction *r)
{
    struct cv_team *team = r->team;
    uint64_t *row;

    CV_MPI_TRY(cv_board_turn(&team->board, team->comm));
    row = &team->board.tickets[team->board.number % CV_BOARD_ROWS];
    r->at.pairs.first_ticket = *row;
    *row += 2 * ((uint64_t)team->size - 1);
    r->at.pairs.step = MEET;
    return MPI_SUCCESS;
}

/* Find out who is met, and what to do then. */
static int meet(struct cv_reduction *r)
{
    struct cv_in_pairs *at = &r->at.pairs;
    struct cv_team *team = r->team;
    uint64_t ticket, found;
    int pair, other;

    CV_MPI_TRY(cv_board_add(&team->board, WORD_TICKETS, 1, &ticket));
    pair = (int)((ticket - at->first_ticket) / 2);
    at->last = pair == team->size - 2;
    CV_MPI_TRY(cv_board_swap(&team->board, WORD_PAIRS + pair,
                             cv_board_name(&team->board, team->rank), &found));
    other = cv_board_rank(&team->board, found);
    if (other < 0) {
        at->step = LISTEN;
        return MPI_SUCCESS;
    }
    at->step = team->rank == r->root ? RECEIVE : SEND;
    CV_MPI_TRY(
        cv_hop_tell(r, other, at->step == SEND ? CV_HEADER_DATA : CV_HEADER_TAKE, 0, 0));
    if (at->step == RECEIVE)
        return cv_hop_receive(r, other, CV_RIGHT);
    cv_hop_send(r, other);
    return MPI_SUCCESS;
}

/* A header has arrived. */
static int hear(struct cv_reduction *r)
{
    int from = r->status.MPI_SOURCE;

    if (r->header.kind == CV_HEADER_DATA) {
        r->at.pairs.step = RECEIVE;
        return cv_hop_receive(r, from, CV_RIGHT);
    }
    r->at.pairs.step = SEND;
    cv_hop_send(r, from);
    return MPI_SUCCESS;
}

static int pair_advance(struct cv_reduction *r, MPI_Request **out)
{
    struct cv_in_pairs *at = &r->at.pairs;

    if (at->step == TURN) {
        *out = cv_board_due(&r->team->board);
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
            return cv_hop_listen(r, out);
        if (at->step == SEND)
            return cv_hop_send_on(r, out);
        CV_MPI_TRY(cv_hop_receive_on(r, out));
        if (*out != NULL || at->last)
            return MPI_SUCCESS;
        at->step = MEET;
    }
}

const struct cv_scheme cv_scheme_tree_dyn = { pair_begin, pair_advance };
