/* atomic_words.c -- words that all ranks of a communicator change with atomic operations.
 * SPDX-License-Identifier: MIT */
#include "mpi/memory/atomic_words.h"

#include <stdatomic.h>
#include <string.h>

#include "mpi/memory/mpi_try.h"
#include "mpi/memory/shared_memory.h"

static int make_window(struct cv_atomic_words *board, MPI_Comm comm, MPI_Aint bytes)
{
    void *mine;

    CV_MPI_TRY(PMPI_Win_allocate(bytes, (int)sizeof(uint64_t), MPI_INFO_NULL, comm, &mine,
                                 &board->window));
    if (bytes > 0)
        memset(mine, 0, (size_t)bytes);
    CV_MPI_TRY(PMPI_Barrier(comm));
    return PMPI_Win_lock_all(MPI_MODE_NOCHECK, board->window);
}

int cv_atomic_words_make(struct cv_atomic_words *board, MPI_Comm comm, int width,
                         bool share)
{
    const size_t bytes = sizeof(uint64_t) * CV_BOARD_ROWS * (size_t)width;
    void *words = NULL;
    int rank;

    board->width = width;
    board->barrier = MPI_REQUEST_NULL;
    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    if (share)
        CV_MPI_TRY(cv_shared_memory_make(comm, rank, bytes, &words));
    board->here = words;
    board->shared = words != NULL;
    if (!board->shared)
        CV_MPI_TRY(make_window(board, comm, rank == 0 ? (MPI_Aint)bytes : 0));
    board->made = true;
    return MPI_SUCCESS;
}

void cv_atomic_words_free(struct cv_atomic_words *board)
{
    if (!board->made)
        return;
    if (board->barrier != MPI_REQUEST_NULL)
        PMPI_Wait(&board->barrier, MPI_STATUS_IGNORE);
    if (board->shared) {
        cv_shared_memory_free(board->here,
                              sizeof(uint64_t) * CV_BOARD_ROWS * (size_t)board->width);
    } else {
        PMPI_Win_unlock_all(board->window);
        PMPI_Win_free(&board->window);
    }
    board->made = false;
}

MPI_Request *cv_atomic_words_due(struct cv_atomic_words *board)
{
    bool half = (board->number + 1) % (CV_BOARD_ROWS / 2) == 0;

    return half && board->barrier != MPI_REQUEST_NULL ? &board->barrier : NULL;
}

/* A rank that begins reduction k has ended all before k; so once the barrier begun in
 * k is passed, the rows of those are free. */
int cv_atomic_words_turn(struct cv_atomic_words *board, MPI_Comm comm)
{
    board->number++;
    if (board->number % (CV_BOARD_ROWS / 2) != 0)
        return MPI_SUCCESS;
    return PMPI_Ibarrier(comm, &board->barrier);
}

uint64_t cv_atomic_words_tickets(struct cv_atomic_words *board, uint64_t count)
{
    uint64_t *handed_out = &board->tickets[board->number % CV_BOARD_ROWS];
    const uint64_t first = *handed_out;

    *handed_out += count;
    return first;
}

static int place(const struct cv_atomic_words *board, int word)
{
    return (int)(board->number % CV_BOARD_ROWS) * board->width + word;
}

static int fetch(struct cv_atomic_words *board, int word, uint64_t value, MPI_Op op,
                 uint64_t *out_old)
{
    CV_MPI_TRY(PMPI_Fetch_and_op(&value, out_old, MPI_UINT64_T, 0, place(board, word), op,
                                 board->window));
    return PMPI_Win_flush(0, board->window);
}

int cv_atomic_words_add(struct cv_atomic_words *board, int word, uint64_t amount,
                        uint64_t *out_old)
{
    if (!board->shared)
        return fetch(board, word, amount, MPI_SUM, out_old);
    *out_old = atomic_fetch_add(&board->here[place(board, word)], amount);
    return MPI_SUCCESS;
}

int cv_atomic_words_swap(struct cv_atomic_words *board, int word, uint64_t value,
                         uint64_t *out_old)
{
    if (!board->shared)
        return fetch(board, word, value, MPI_REPLACE, out_old);
    *out_old = atomic_exchange(&board->here[place(board, word)], value);
    return MPI_SUCCESS;
}

uint64_t cv_atomic_words_name(const struct cv_atomic_words *board, int rank)
{
    return (uint64_t)board->number << 32 | (uint32_t)(rank + 1);
}

uint64_t cv_atomic_words_nobody(const struct cv_atomic_words *board)
{
    return (uint64_t)board->number << 32;
}

int cv_atomic_words_rank(const struct cv_atomic_words *board, uint64_t word)
{
    return word >> 32 == board->number ? (int)(uint32_t)word - 1 : -1;
}
