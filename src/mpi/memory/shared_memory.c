/* shared_memory.c -- memory and atomic words that ranks share.
 * SPDX-License-Identifier: MIT
 *
 * A shared window of MPI takes a dozen collective calls, each of which may take as long
 * as a reduction if ranks share processors. Here it takes two: rank 0 makes a file in
 * memory and sends its path in /proc, other ranks open it, and all agree that they have
 * it. The file has no name, so nothing remains if a rank dies. */
#include "mpi/memory/shared_memory.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TRIES_BEFORE_NAPS = 1000, NAP_US = 20 };

int cv_mpi_wait(MPI_Request *request, bool naps)
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

/* --- shared memory ------------------------------------------------------------------ */

/* Rank 0 sends the path of the file, and random words to recognize it: on another machine
 * the same path may be a file of another process. */
struct offer {
    char machine[MPI_MAX_PROCESSOR_NAME];
    int64_t process;
    int32_t file; /* -1: none */
    uint64_t word[2];
};

/* Precedes the memory; one cache line. */
struct head {
    uint64_t word[2];
    uint64_t unused[6];
};

/* With all pages: page faults would slow down the first reductions, which are
 * measured. */
static struct head *map_file(int file, size_t bytes)
{
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);

    return memory != MAP_FAILED ? memory : NULL;
}

/* Rank 0. Returns the file, or -1. */
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

/* Other ranks. NULL: the memory is on another machine, or may not be opened. */
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
    CV_MPI_TRY(cv_mpi_wait(&request, true));
    *out = all != 0;
    return MPI_SUCCESS;
}

/* Collective. *out is zeroed memory of so many bytes that all ranks see, or NULL on all
 * of them if some rank cannot: it is elsewhere, or may not open it. */
int cv_shared_memory_make(MPI_Comm comm, int rank, size_t bytes, void **out)
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
        code = cv_mpi_wait(&request, true);
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

void cv_shared_memory_free(void *memory, size_t bytes)
{
    munmap((struct head *)memory - 1, sizeof(struct head) + bytes);
}

/* --- atomic words ------------------------------------------------------------------- */

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
    const size_t bytes = sizeof(uint64_t) * CV_WORD_ROWS * (size_t)width;
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
                              sizeof(uint64_t) * CV_WORD_ROWS * (size_t)atomics->width);
    } else {
        PMPI_Win_unlock_all(atomics->window);
        PMPI_Win_free(&atomics->window);
    }
    atomics->made = false;
}

MPI_Request *cv_atomic_words_due(struct cv_atomic_words *atomics)
{
    bool half = (atomics->number + 1) % (CV_WORD_ROWS / 2) == 0;

    return half && atomics->barrier != MPI_REQUEST_NULL ? &atomics->barrier : NULL;
}

/* A rank that starts reduction k has completed all before it, so their rows are free when
 * the barrier of k is complete. */
int cv_atomic_words_turn(struct cv_atomic_words *atomics, MPI_Comm comm)
{
    atomics->number++;
    if (atomics->number % (CV_WORD_ROWS / 2) != 0)
        return MPI_SUCCESS;
    return PMPI_Ibarrier(comm, &atomics->barrier);
}

uint64_t cv_atomic_words_tickets(struct cv_atomic_words *atomics, uint64_t count)
{
    uint64_t *assigned = &atomics->tickets[atomics->number % CV_WORD_ROWS];
    const uint64_t first = *assigned;

    *assigned += count;
    return first;
}

static int place(const struct cv_atomic_words *atomics, int word)
{
    return (int)(atomics->number % CV_WORD_ROWS) * atomics->width + word;
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

int cv_atomic_words_rank(const struct cv_atomic_words *atomics, uint64_t word)
{
    return word >> 32 == atomics->number ? (int)(uint32_t)word - 1 : -1;
}
