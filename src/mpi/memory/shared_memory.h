/* shared_memory.h -- words that all ranks of a communicator change with atomic operations.
 * SPDX-License-Identifier: MIT
 *
 * The words lie on rank 0. Where all ranks share memory they are changed by the
 * processor; elsewhere by MPI_Fetch_and_op in a passive epoch that is never
 * closed. No rank serves them. Only addition and exchange are used: both end after one
 * round trip, whatever the others do.
 *
 * A reduction uses one row of CV_BOARD_ROWS in turn. What earlier reductions left in a
 * row is told from what is new by the number of the reduction, which is part of what is
 * stored, so a row is never cleared. A row must not be used again before all are done
 * with it: every CV_BOARD_ROWS / 2 reductions a barrier is begun, and ended half a board
 * later, so that no rank is ever a whole board ahead of another. */
#ifndef CV_SHARED_MEMORY_H
#define CV_SHARED_MEMORY_H
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CV_BOARD_ROWS = 64 };

struct cv_atomic_words {
    bool made, shared;
    int width;              /* words in a row                                   */
    MPI_Win window;         /* owned, unless shared                             */
    _Atomic uint64_t *here; /* the words, if shared                             */
    uint32_t number;        /* of the newest reduction that used the board      */
    MPI_Request barrier;    /* begun half a board ago                           */
    uint64_t tickets[CV_BOARD_ROWS]; /* handed out in a row by reductions past  */
};

/* Collective. `width` words in a row. */
int cv_atomic_words_make(struct cv_atomic_words *atomics, MPI_Comm comm, int width,
                         bool share);
void cv_atomic_words_free(struct cv_atomic_words *atomics);

/* What has to be complete before the next row is turned to, or NULL: it is not if another
 * rank is half a board behind. */
MPI_Request *cv_atomic_words_due(struct cv_atomic_words *atomics);
/* Turn to the next row. */
int cv_atomic_words_turn(struct cv_atomic_words *atomics, MPI_Comm comm);

/* The first of `count` tickets that ranks draw from one word of this row, by adding 1 to it:
 * it is not cleared between reductions, whose ranks draw as many each time. */
uint64_t cv_atomic_words_tickets(struct cv_atomic_words *atomics, uint64_t count);

/* On a word of the current row. Both give what was there before. */
int cv_atomic_words_add(struct cv_atomic_words *atomics, int word, uint64_t amount,
                        uint64_t *out_old);
int cv_atomic_words_swap(struct cv_atomic_words *atomics, int word, uint64_t value,
                         uint64_t *out_old);

/* What a rank writes under its name in this reduction, and what it writes to withdraw. */
uint64_t cv_atomic_words_name(const struct cv_atomic_words *atomics, int rank);
uint64_t cv_atomic_words_nobody(const struct cv_atomic_words *atomics);
/* The rank that wrote a word in this reduction, or -1. */
int cv_atomic_words_rank(const struct cv_atomic_words *atomics, uint64_t word);

enum { CV_SPEAKERS = 2 };

struct cv_shared_vectors {
    void *memory; /* owned */
    size_t room;  /* of a bay */
    int ranks;
    uint32_t number;   /* of the newest reduction */
    uint64_t takes[2]; /* results to be taken, of even and odd reductions up to now */
    bool refused;      /* not all ranks see it */
};

/* Bays for vectors of so many bytes, in place of those there are: collective. */
int cv_shared_vectors_make(struct cv_shared_vectors *vectors, MPI_Comm comm,
                           size_t bytes);
void cv_shared_vectors_free(struct cv_shared_vectors *vectors);
/* What they take together. */
double cv_shared_vectors_bytes(int ranks, size_t bytes);

/* Turn to the next reduction, whose result so many ranks will take; all others do so as well.
 * Waits for those that have not taken the result of the one before the last. */
int cv_shared_vectors_turn(struct cv_shared_vectors *vectors, MPI_Comm comm, int takers);
/* This rank has taken the result. */
void cv_shared_vectors_taken(struct cv_shared_vectors *vectors);
char *cv_shared_vector_at(const struct cv_shared_vectors *vectors, int rank);
/* Whether the other one of two ranks has asked that before, in this reduction. */
bool cv_shared_vectors_second(struct cv_shared_vectors *vectors);

/* So many segments are there, of the result or of what a rank has to give. One or two ranks say so,
 * by different numbers below CV_SPEAKERS, and all others see it. */
void cv_shared_vectors_say(struct cv_shared_vectors *vectors, int speaker, int segments);
int cv_shared_vectors_said(const struct cv_shared_vectors *vectors, int speaker);

/* MPI_Wait, but whoever waits goes to the end of the queue of its processor. Where ranks share
 * processors not every MPI library sees to that: one that only spins keeps those who have
 * something to do waiting until its time slice is over. */
int cv_mpi_wait(MPI_Request *request);
/* The same where it does not matter to be a moment late, with naps in the long run: for what is
 * set up once, and may have to wait for a rank that comes much later. */
int cv_mpi_wait_long(MPI_Request *request);

#endif
