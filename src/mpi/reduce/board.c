/* board.c -- words that all ranks of a communicator change with atomic operations.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/board.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/reduce/mpi_try.h"

/* --- memory of one machine ------------------------------------------------------------------
 *
 * MPI has windows for that, but making one takes a dozen collective calls, and where ranks
 * share processors each of them may take as long as a reduction. Here it is two: rank 0
 * makes memory without a name and says where its file is, the others open that one, and
 * all agree that they have it. Nothing is left behind, whenever a rank dies. */

/* Where the memory is, and how it is known again: a process of that number may be another
 * one elsewhere. */
struct offer {
    char machine[MPI_MAX_PROCESSOR_NAME];
    int64_t process;
    int32_t file; /* -1: none */
    uint64_t word[2];
};

/* In front of what the board uses. */
struct head {
    uint64_t word[2];
    uint64_t unused[6];
};

static struct head *map_file(int file, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

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

    CV_MPI_TRY(PMPI_Allreduce(&have, &all, 1, MPI_INT, MPI_MIN, comm));
    *out = all != 0;
    return MPI_SUCCESS;
}

/* Collective. *out is zeroed memory of so many bytes that all ranks see, or NULL on all of
 * them if some rank cannot: it is elsewhere, or may not open it. */
static int share_memory(MPI_Comm comm, int rank, size_t bytes, void **out)
{
    const size_t whole = sizeof(struct head) + bytes;
    struct offer offer = { .process = getpid(), .file = -1 };
    char machine[MPI_MAX_PROCESSOR_NAME] = "";
    struct head *head = NULL;
    bool all = false;
    int length, code;

    CV_MPI_TRY(PMPI_Get_processor_name(machine, &length));
    if (rank == 0) {
        memcpy(offer.machine, machine, sizeof machine);
        offer.file = make(whole, &offer, &head);
    }
    code = PMPI_Bcast(&offer, (int)sizeof offer, MPI_BYTE, 0, comm);
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

static void give_back(void *memory, size_t bytes)
{
    munmap((struct head *)memory - 1, sizeof(struct head) + bytes);
}

/* --- the board ------------------------------------------------------------------------------ */

static int make_window(struct cv_board *board, MPI_Comm comm, MPI_Aint bytes)
{
    void *mine;

    CV_MPI_TRY(PMPI_Win_allocate(bytes, (int)sizeof(uint64_t), MPI_INFO_NULL, comm, &mine,
                                 &board->window));
    if (bytes > 0)
        memset(mine, 0, (size_t)bytes);
    CV_MPI_TRY(PMPI_Barrier(comm));
    return PMPI_Win_lock_all(MPI_MODE_NOCHECK, board->window);
}

int cv_board_make(struct cv_board *board, MPI_Comm comm, int width, bool share)
{
    const size_t bytes = sizeof(uint64_t) * CV_BOARD_ROWS * (size_t)width;
    void *words = NULL;
    int rank;

    board->width = width;
    board->barrier = MPI_REQUEST_NULL;
    CV_MPI_TRY(PMPI_Comm_rank(comm, &rank));
    if (share)
        CV_MPI_TRY(share_memory(comm, rank, bytes, &words));
    board->here = words;
    board->shared = words != NULL;
    if (!board->shared)
        CV_MPI_TRY(make_window(board, comm, rank == 0 ? (MPI_Aint)bytes : 0));
    board->made = true;
    return MPI_SUCCESS;
}

void cv_board_free(struct cv_board *board)
{
    if (!board->made)
        return;
    if (board->barrier != MPI_REQUEST_NULL)
        PMPI_Wait(&board->barrier, MPI_STATUS_IGNORE);
    if (board->shared) {
        give_back(board->here, sizeof(uint64_t) * CV_BOARD_ROWS * (size_t)board->width);
    } else {
        PMPI_Win_unlock_all(board->window);
        PMPI_Win_free(&board->window);
    }
    board->made = false;
}

MPI_Request *cv_board_due(struct cv_board *board)
{
    bool half = (board->number + 1) % (CV_BOARD_ROWS / 2) == 0;

    return half && board->barrier != MPI_REQUEST_NULL ? &board->barrier : NULL;
}

/* A rank that begins reduction k has ended all before k; so once the barrier begun in
 * k is passed, the rows of those are free. */
int cv_board_turn(struct cv_board *board, MPI_Comm comm)
{
    board->number++;
    if (board->number % (CV_BOARD_ROWS / 2) != 0)
        return MPI_SUCCESS;
    return PMPI_Ibarrier(comm, &board->barrier);
}

static int place(const struct cv_board *board, int word)
{
    return (int)(board->number % CV_BOARD_ROWS) * board->width + word;
}

static int fetch(struct cv_board *board, int word, uint64_t value, MPI_Op op,
                 uint64_t *out_old)
{
    CV_MPI_TRY(PMPI_Fetch_and_op(&value, out_old, MPI_UINT64_T, 0, place(board, word), op,
                                 board->window));
    return PMPI_Win_flush(0, board->window);
}

int cv_board_add(struct cv_board *board, int word, uint64_t amount, uint64_t *out_old)
{
    if (!board->shared)
        return fetch(board, word, amount, MPI_SUM, out_old);
    *out_old = atomic_fetch_add(&board->here[place(board, word)], amount);
    return MPI_SUCCESS;
}

int cv_board_swap(struct cv_board *board, int word, uint64_t value, uint64_t *out_old)
{
    if (!board->shared)
        return fetch(board, word, value, MPI_REPLACE, out_old);
    *out_old = atomic_exchange(&board->here[place(board, word)], value);
    return MPI_SUCCESS;
}

uint64_t cv_board_name(const struct cv_board *board, int rank)
{
    return (uint64_t)board->number << 32 | (uint32_t)(rank + 1);
}

uint64_t cv_board_nobody(const struct cv_board *board)
{
    return (uint64_t)board->number << 32;
}

int cv_board_rank(const struct cv_board *board, uint64_t word)
{
    return word >> 32 == board->number ? (int)(uint32_t)word - 1 : -1;
}
