/* atomic_words.c -- words that all ranks of a communicator change with atomic operations.
 * SPDX-License-Identifier: MIT */
#include "mpi/memory/atomic_words.h"

#include <stdatomic.h>
#include <string.h>

#include "mpi/memory/mpi_try.h"
#include "mpi/memory/shared_memory.h"

static int make_window(struct cv_atomic_words *atomics, MPI_Comm comm, MPI_Aint bytes)
{
    void *mine;

    CV_MPI_TRY(PMPI_Win_allocate(bytes, (int)sizeof(uint64_t), MPI_INFO_NULL, comm, &mine,
                                 &atomics->window));
    if (bytes > 0)
        memset(mine, 0, (size_t)bytes);
    CV_MPI_TRY(PMPI_Barrier(comm));
    return PMPI_Win_lock_all(MPI_MODE_NOCHECK, atomics->window);
}

int cv_atomic_words_make(struct cv_atomic_words *atomics, MPI_Comm comm, int width,
                         bool share)
{
    const size_t bytes = sizeof(uint64_t) * CV_BOARD_ROWS * (size_t)width;
    void *words = NULL;
    int rank;

    atomics->width = width;
    atomics->barrier = MPI_REQUEST_NULL;
    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    if (share)
        CV_MPI_TRY(cv_shared_memory_make(comm, rank, bytes, &words));
    atomics->here = words;
    atomics->shared = words != NULL;
    if (!atomics->shared)
        CV_MPI_TRY(make_window(atomics, comm, rank == 0 ? (MPI_Aint)bytes : 0));
    atomics->made = true;
    return MPI_SUCCESS;
}

void cv_atomic_words_free(struct cv_atomic_words *atomics)
{
    if (!atomics->made)
        return;
    if (atomics->barrier != MPI_REQUEST_NULL)
        PMPI_Wait(&atomics->barrier, MPI_STATUS_IGNORE);
    if (atomics->shared) {
        cv_shared_memory_free(atomics->here,
                              sizeof(uint64_t) * CV_BOARD_ROWS * (size_t)atomics->width);
    } else {
        PMPI_Win_unlock_all(atomics->window);
        PMPI_Win_free(&atomics->window);
    }
    atomics->made = false;
}

MPI_Request *cv_atomic_words_due(struct cv_atomic_words *atomics)
{
    bool half = (atomics->number + 1) % (CV_BOARD_ROWS / 2) == 0;

    return half && atomics->barrier != MPI_REQUEST_NULL ? &atomics->barrier : NULL;
}

/* A rank that begins reduction k has ended all before k; so once the barrier begun in
 * k is passed, the rows of those are free. */
int cv_atomic_words_turn(struct cv_atomic_words *atomics, MPI_Comm comm)
{
    atomics->number++;
    if (atomics->number % (CV_BOARD_ROWS / 2) != 0)
        return MPI_SUCCESS;
    return PMPI_Ibarrier(comm, &atomics->barrier);
}

uint64_t cv_atomic_words_tickets(struct cv_atomic_words *atomics, uint64_t count)
{
    uint64_t *assigned = &atomics->tickets[atomics->number % CV_BOARD_ROWS];
    const uint64_t first = *assigned;

    *assigned += count;
    return first;
}

static int place(const struct cv_atomic_words *atomics, int word)
{
    return (int)(atomics->number % CV_BOARD_ROWS) * atomics->width + word;
}

static int fetch(struct cv_atomic_words *atomics, int word, uint64_t value, MPI_Op op,
                 uint64_t *out_old)
{
    CV_MPI_TRY(PMPI_Fetch_and_op(&value, out_old, MPI_UINT64_T, 0, place(atomics, word),
                                 op, atomics->window));
    return PMPI_Win_flush(0, atomics->window);
}

int cv_atomic_words_add(struct cv_atomic_words *atomics, int word, uint64_t amount,
                        uint64_t *out_old)
{
    if (!atomics->shared)
        return fetch(atomics, word, amount, MPI_SUM, out_old);
    *out_old = atomic_fetch_add(&atomics->here[place(atomics, word)], amount);
    return MPI_SUCCESS;
}

int cv_atomic_words_swap(struct cv_atomic_words *atomics, int word, uint64_t value,
                         uint64_t *out_old)
{
    if (!atomics->shared)
        return fetch(atomics, word, value, MPI_REPLACE, out_old);
    *out_old = atomic_exchange(&atomics->here[place(atomics, word)], value);
    return MPI_SUCCESS;
}

uint64_t cv_atomic_words_name(const struct cv_atomic_words *atomics, int rank)
{
    return (uint64_t)atomics->number << 32 | (uint32_t)(rank + 1);
}

uint64_t cv_atomic_words_nobody(const struct cv_atomic_words *atomics)
{
    return (uint64_t)atomics->number << 32;
}

int cv_atomic_words_rank(const struct cv_atomic_words *atomics, uint64_t word)
{
    return word >> 32 == atomics->number ? (int)(uint32_t)word - 1 : -1;
}
