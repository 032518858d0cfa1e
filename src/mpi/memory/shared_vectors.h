/* shared_vectors.h -- memory of one machine in which ranks leave vectors for each other.
 * SPDX-License-Identifier: MIT
 *
 * Each rank has a bay, and another one in every second reduction. They are used again when those
 * that wanted the result of the reduction before the last have taken it, which they count. Where
 * all want it that is so at once: a rank that begins one has ended the one before, to which all
 * have contributed after they had taken the result of the one before that. */
#ifndef CV_SHARED_VECTORS_H
#define CV_SHARED_VECTORS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <mpi.h>

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

#endif
