/* shared_memory.c -- memory that all ranks of one machine see. SPDX-License-Identifier: MIT
 *
 * MPI has windows for that, but making one takes a dozen collective calls, and where ranks
 * share processors each of them may take as long as a reduction. Here it is two: rank 0
 * makes memory without a name and says where its file is, the others open that one, and
 * all agree that they have it. Nothing is left behind, whenever a rank dies. */
#include "mpi/memory/shared_memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/memory/mpi_try.h"
#include "mpi/memory/mpi_wait.h"

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

void cv_shared_memory_free(void *memory, size_t bytes)
{
    munmap((struct head *)memory - 1, sizeof(struct head) + bytes);
}
