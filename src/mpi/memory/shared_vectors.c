/* shared_vectors.c -- memory of one machine in which ranks leave vectors for each other.
 * SPDX-License-Identifier: MIT */
#include "mpi/memory/shared_vectors.h"

#include <sched.h>
#include <stdatomic.h>

#include "mpi/memory/mpi_try.h"
#include "mpi/memory/shared_memory.h"

static const size_t least_room = 16384;

/* A line of the cache, and the one that is fetched with it. */
struct word {
    _Atomic uint64_t value;
    uint64_t unused[15];
};

/* In front of the bays, for every second reduction. */
struct said {
    struct word
        segments[CV_SPEAKERS]; /* its number, and that of the segments that are there */
    struct word taken;
    struct word came; /* the number of the newest reduction in which somebody asked */
};

static size_t room_for(size_t bytes)
{
    size_t room = least_room;

    while (room < bytes)
        room *= 2;
    return room;
}

static size_t size_of(int ranks, size_t room)
{
    return 2 * (sizeof(struct said) + (size_t)ranks * room);
}

double cv_shared_vectors_bytes(int ranks, size_t bytes)
{
    return 2.0 * ranks * (double)room_for(bytes);
}

/* Whoever still takes a result from the old ones has them mapped. */
int cv_shared_vectors_make(struct cv_shared_vectors *vectors, MPI_Comm comm, size_t bytes)
{
    int rank;

    cv_shared_vectors_free(vectors);
    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    CV_MPI_TRY(PMPI_Comm_size(comm, &vectors->ranks));
    vectors->room = room_for(bytes);
    CV_MPI_TRY(cv_shared_memory_make(comm, rank, size_of(vectors->ranks, vectors->room),
                                     &vectors->memory));
    vectors->refused = vectors->memory == NULL;
    return MPI_SUCCESS;
}

void cv_shared_vectors_free(struct cv_shared_vectors *vectors)
{
    if (vectors->memory != NULL)
        cv_shared_memory_free(vectors->memory, size_of(vectors->ranks, vectors->room));
    vectors->memory = NULL;
    vectors->room = 0;
    vectors->takes[0] = vectors->takes[1] = 0;
}

static struct said *said(const struct cv_shared_vectors *vectors)
{
    return &((struct said *)vectors->memory)[vectors->number % 2];
}

int cv_shared_vectors_turn(struct cv_shared_vectors *vectors, MPI_Comm comm, int takers)
{
    uint64_t *takes;
    int there;

    vectors->number++;
    takes = &vectors->takes[vectors->number % 2];
    while (atomic_load_explicit(&said(vectors)->taken.value, memory_order_acquire) <
           *takes) {
        /* So that the MPI library goes on, and notices when a rank dies. */
        CV_MPI_TRY(
            PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, MPI_STATUS_IGNORE));
        sched_yield();
    }
    *takes += (uint64_t)takers;
    return MPI_SUCCESS;
}

void cv_shared_vectors_taken(struct cv_shared_vectors *vectors)
{
    atomic_fetch_add_explicit(&said(vectors)->taken.value, 1, memory_order_release);
}

char *cv_shared_vector_at(const struct cv_shared_vectors *vectors, int rank)
{
    const size_t before = vectors->number % 2 * (size_t)vectors->ranks + (size_t)rank;

    return (char *)((struct said *)vectors->memory + 2) + before * vectors->room;
}

bool cv_shared_vectors_second(struct cv_shared_vectors *vectors)
{
    return atomic_exchange_explicit(&said(vectors)->came.value, vectors->number,
                                    memory_order_acq_rel) == vectors->number;
}

void cv_shared_vectors_say(struct cv_shared_vectors *vectors, int speaker, int segments)
{
    atomic_store_explicit(&said(vectors)->segments[speaker].value,
                          (uint64_t)vectors->number << 32 | (uint32_t)segments,
                          memory_order_release);
}

int cv_shared_vectors_said(const struct cv_shared_vectors *vectors, int speaker)
{
    const uint64_t word = atomic_load_explicit(&said(vectors)->segments[speaker].value,
                                               memory_order_acquire);

    return word >> 32 == vectors->number ? (int)(uint32_t)word : 0;
}
