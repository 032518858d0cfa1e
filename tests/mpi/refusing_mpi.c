/* refusing_mpi.c -- a failing MPI call that precedes the library's.
 * SPDX-License-Identifier: MIT
 *
 * REFUSE=NAME:N lets the N-th call of that name fail on rank REFUSE_RANK; without it, it is
 * the first MPI_Iallgather of all ranks. For any MPI: arguments are passed on unchanged,
 * in registers, and an error is any number except 0. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int call(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

/* Whether it is the turn of this call; only one thread calls MPI. */
static bool refuses(const char *name)
{
    static long calls;
    const char *request = getenv("REFUSE"), *rank = getenv("REFUSE_RANK"),
               *own = getenv("OMPI_COMM_WORLD_RANK");
    const size_t length = strlen(name);

    if (own == NULL)
        own = getenv("PMI_RANK");
    if (request == NULL || rank == NULL || own == NULL || strcmp(rank, own) != 0 ||
        strncmp(request, name, length) != 0 || request[length] != ':')
        return false;
    return ++calls == strtol(request + length + 1, NULL, 10);
}

#define REFUSING(name)                                                               \
    call name;                                                                       \
    int name(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f, \
             intptr_t g)                                                             \
    {                                                                                \
        call *theirs;                                                                \
        *(void **)&theirs = dlsym(RTLD_DEFAULT, "P" #name);                          \
        return refuses(#name) ? 1 : theirs(a, b, c, d, e, f, g);                     \
    }

/* All that the bridge calls and that can fail; those that end MPI, or a rank, do that. */
REFUSING(MPI_Isend)
REFUSING(MPI_Irecv)
REFUSING(MPI_Test)
REFUSING(MPI_Testsome)
REFUSING(MPI_Wait)
REFUSING(MPI_Cancel)
REFUSING(MPI_Request_free)
REFUSING(MPI_Get_count)
REFUSING(MPI_Ibarrier)
REFUSING(MPI_Ireduce_scatter_block)
REFUSING(MPI_Init_thread)
REFUSING(MPI_Finalize)
REFUSING(MPI_Comm_rank)
REFUSING(MPI_Comm_size)
REFUSING(MPI_Comm_set_errhandler)
REFUSING(MPI_Get_processor_name)

int MPI_Iallgather(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f,
                   intptr_t g, void *h);

int MPI_Iallgather(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f,
                   intptr_t g, void *h)
{
    int (*theirs)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                  void *);

    *(void **)&theirs = dlsym(RTLD_DEFAULT, "PMPI_Iallgather");
    if (getenv("REFUSE") != NULL)
        return refuses("MPI_Iallgather") ? 1 : theirs(a, b, c, d, e, f, g, h);
    sleep(2); /* the rank is about to end, and others may still be starting */
    return 1;
}
