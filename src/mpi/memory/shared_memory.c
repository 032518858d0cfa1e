/* shared_memory.c -- memory that all ranks of one machine see. SPDX-License-Identifier: MIT
 *
 * MPI has windows for that, but making one takes a dozen collective calls, and where ranks
 * share processors each of them may take as long as a reduction. Here it is two: rank 0
 * makes memory without a name and says where its file is, the others open that one, and
 * all agree that they have it. Nothing is left behind, whenever a rank dies. */
#include "mpi/memory/shared_memory.h"

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "mpi/memory/mpi_try.h"

/* --- to wait and let others have the processor ------------------------------------- */

enum { TRIES_BEFORE_NAPS = 1000, NAP_US = 20 };

static struct said *said(const struct cv_shared_vectors *vectors);

static int wait_for(MPI_Request *request, bool naps)
{
    int complete = 0;

    for (int tries = 0;;) {
        CV_MPI_TRY(PMPI_Test(request, &complete, MPI_STATUS_IGNORE));
        if (complete)
            return MPI_SUCCESS;
        if (!naps || ++tries < TRIES_BEFORE_NAPS)
            sched_yield();
        else
            usleep(NAP_US);
    }
}

int cv_mpi_wait(MPI_Request *request)
{
    return wait_for(request, false);
}

int cv_mpi_wait_long(MPI_Request *request)
{
    return wait_for(request, true);
}

/* --- memory that all ranks of one machine see -------------------------------------- */

/* Where the memory is, and how it is known again: a process of that number may be another
 * one elsewhere. */
struct offer {
    char machine[MPI_MAX_PROCESSOR_NAME];
    int64_t process;
    int32_t file; /* -1: none */
    uint64_t word[2];
};

/* In front of what is used. */
struct head {
    uint64_t word[2];
    uint64_t unused[6];
};

/* With all its pages: where they would be missing at the first touch, the first reductions would
 * take longer than they do ever after, and be judged by that. */
static struct head *map_file(int file, size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

/* Rank 0: the file, open until all have it; -1 if there is none. */
static int make(size_t bytes, struct offer *offer, struct head **out)
{
    const int file = memfd_create("cleave-mpi", MFD_CLOEXEC);
    struct head *head = NULL;

    *out = NULL;
    if (file < 0)
        return -1;
    if (getrandom(offer->word, sizeof offer->word, 0) == (ssize_t)sizeof offer->word &&
        ftruncate(file, (off_t)bytes) == 0)
        head = map_file(file, bytes);
    if (head == NULL) {
        close(file);
        return -1;
    }
    memcpy(head->word, offer->word, sizeof head->word);
    *out = head;
    return file;
}

/* The others: NULL if it is not theirs to open. */
static struct head *open_offer(const struct offer *offer, const char *machine,
                               size_t bytes)
{
    char path[64];
    struct stat facts;
    struct head *head = NULL;
    int file;

    if (offer->file < 0 || strcmp(offer->machine, machine) != 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)offer->process,
             (int)offer->file);
    file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
        facts.st_size == (off_t)bytes)
        head = map_file(file, bytes);
    close(file);
    if (head != NULL && memcmp(head->word, offer->word, sizeof head->word) != 0) {
        munmap(head, bytes);
        return NULL;
    }
    return head;
}

static int agree(MPI_Comm comm, bool mine, bool *out)
{
    int have = mine, all = 0;
    MPI_Request request;

    CV_MPI_TRY(PMPI_Iallreduce(&have, &all, 1, MPI_INT, MPI_MIN, comm, &request));
    CV_MPI_TRY(cv_mpi_wait_long(&request));
    *out = all != 0;
    return MPI_SUCCESS;
}

/* Collective. *out is zeroed memory of so many bytes that all ranks see, or NULL on all of
 * them if some rank cannot: it is elsewhere, or may not open it. */
static int shared_memory_make(MPI_Comm comm, int rank, size_t bytes, void **out)
{
    const size_t whole = sizeof(struct head) + bytes;
    struct offer offer = { .process = getpid(), .file = -1 };
    char machine[MPI_MAX_PROCESSOR_NAME] = "";
    struct head *head = NULL;
    MPI_Request request;
    bool all = false;
    int length, code;

    CV_MPI_TRY(PMPI_Get_processor_name(machine, &length));
    if (rank == 0) {
        memcpy(offer.machine, machine, sizeof machine);
        offer.file = make(whole, &offer, &head);
    }
    code = PMPI_Ibcast(&offer, (int)sizeof offer, MPI_BYTE, 0, comm, &request);
    if (code == MPI_SUCCESS)
        code = cv_mpi_wait_long(&request);
    if (code == MPI_SUCCESS && rank != 0)
        head = open_offer(&offer, machine, whole);
    if (code == MPI_SUCCESS)
        code = agree(comm, head != NULL, &all);
    if (rank == 0 && offer.file >= 0)
        close(offer.file);
    if (head != NULL && !all)
        munmap(head, whole);
    *out = all ? head + 1 : NULL;
    return code;
}

static void shared_memory_free(void *memory, size_t bytes)
{
    munmap((struct head *)memory - 1, sizeof(struct head) + bytes);
}

/* --- words that all ranks of a communicator change with atomic operations ---------- */

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
        CV_MPI_TRY(shared_memory_make(comm, rank, bytes, &words));
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
        shared_memory_free(atomics->here,
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

/* --- memory of one machine in which ranks leave vectors for each other ------------- */

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
    CV_MPI_TRY(shared_memory_make(comm, rank, size_of(vectors->ranks, vectors->room),
                                  &vectors->memory));
    vectors->refused = vectors->memory == NULL;
    return MPI_SUCCESS;
}

void cv_shared_vectors_free(struct cv_shared_vectors *vectors)
{
    if (vectors->memory != NULL)
        shared_memory_free(vectors->memory, size_of(vectors->ranks, vectors->room));
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
