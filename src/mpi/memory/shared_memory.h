/* shared_memory.h -- memory and atomic words that ranks share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SHARED_MEMORY_H
#define CV_SHARED_MEMORY_H
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return an error code of MPI as soon as there is one. */
#define CV_MPI_TRY(call)                \
    do {                                \
        int cv_mpi_code = (call);       \
        if (cv_mpi_code != MPI_SUCCESS) \
            return cv_mpi_code;         \
    } while (0)

/* MPI_Wait that yields the processor. If ranks share processors, not every MPI library
 * does: a spinning rank delays others until its time slice ends. `naps`, for set-up
 * calls that may wait long for other ranks: sleep after a while. */
int cv_mpi_wait(MPI_Request *request, bool naps);

/* Collective. *out is zeroed memory of all ranks, or NULL on all ranks if some rank is on
 * another machine or may not open it. */
int cv_shared_memory_make(MPI_Comm comm, int rank, size_t bytes, void **out);
void cv_shared_memory_free(void *memory, size_t bytes);

/* Words on rank 0 that all ranks change: by the processor if all ranks share memory, else
 * by MPI_Fetch_and_op in a passive epoch that is never closed. Only addition and exchange
 * are used: both take one round trip, whatever the other ranks do.
 *
 * Each reduction uses one of CV_WORD_ROWS rows in turn. Stored values contain the number
 * of the reduction, so old values are recognized and rows are never cleared. A row must
 * not be used again before all ranks are done with it: every CV_WORD_ROWS / 2 reductions
 * a barrier is started, and completed half a turn later, so no rank is a full turn ahead
 * of another. */
enum { CV_WORD_ROWS = 64 };

struct cv_atomic_words {
    bool made, shared;
    int width;                      /* words in a row                                   */
    MPI_Win window;                 /* owned, unless shared                             */
    _Atomic uint64_t *here;         /* the words, if shared                             */
    uint32_t number;                /* last reduction that used the words               */
    MPI_Request barrier;            /* started half a turn ago                          */
    uint64_t tickets[CV_WORD_ROWS]; /* drawn from a row by past reductions      */
};

/* Collective. `share`: use shared memory if possible. */
int cv_atomic_words_make(struct cv_atomic_words *atomics, MPI_Comm comm, int width,
                         bool share);
void cv_atomic_words_free(struct cv_atomic_words *atomics);

/* The request to wait for before cv_atomic_words_turn, or NULL. */
MPI_Request *cv_atomic_words_due(struct cv_atomic_words *atomics);
/* Go to the next row. */
int cv_atomic_words_turn(struct cv_atomic_words *atomics, MPI_Comm comm);

/* The first of `count` tickets that ranks draw from a word of this row by adding 1 to it.
 * The word is not cleared between reductions, which draw as many tickets each time. */
uint64_t cv_atomic_words_tickets(struct cv_atomic_words *atomics, uint64_t count);

/* Change a word of the current row. *out_old is its value before. */
int cv_atomic_words_add(struct cv_atomic_words *atomics, int word, uint64_t amount,
                        uint64_t *out_old);
int cv_atomic_words_swap(struct cv_atomic_words *atomics, int word, uint64_t value,
                         uint64_t *out_old);

/* The value by which a rank registers in this reduction; by which it withdraws (rank
 * -1). */
uint64_t cv_atomic_words_name(const struct cv_atomic_words *atomics, int rank);
/* The rank that registered in this reduction, or -1. */
int cv_atomic_words_rank(const struct cv_atomic_words *atomics, uint64_t word);

#endif
