/* preload_fortran.c -- the same for Fortran: mpif.h, `use mpi` and `use mpi_f08`, as gfortran
 * names them. SPDX-License-Identifier: MIT
 *
 * The handles of mpi_f08 are types with one integer in them, so that an address of one is
 * what the older faces pass; its last argument may be missing. MPICH's mpi_f08 passes
 * descriptors of arrays, and then calls MPI_Reduce of C, which is ours. */
#include "mpi/preload/preload.h"

#include <dlfcn.h>

#include "mpi/reduce/fortran_address.h"

#define REDUCE(name)                                                                     \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *root, const MPI_Fint *comm,            \
              MPI_Fint *ierr);                                                           \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *root, const MPI_Fint *comm,            \
              MPI_Fint *ierr)                                                            \
    {                                                                                    \
        tell(ierr, by_call(sendbuf, recvbuf, count, type, op, root, comm));              \
    }

#define ALLREDUCE(name)                                                                  \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *ierr);                 \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *count, const MPI_Fint *type, \
              const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *ierr)                  \
    {                                                                                    \
        tell(ierr, by_call(sendbuf, recvbuf, count, type, op, NULL, comm));              \
    }

#define PARTS(name, alike)                                                     \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *counts,            \
              const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,  \
              MPI_Fint *ierr);                                                 \
    void name(void *sendbuf, void *recvbuf, const MPI_Fint *counts,            \
              const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,  \
              MPI_Fint *ierr)                                                  \
    {                                                                          \
        tell(ierr, by_parts(sendbuf, recvbuf, counts, alike, type, op, comm)); \
    }

/* What MPI does in Fortran's own initialisation is left to it. */
#define INIT(name)                                   \
    void name(MPI_Fint *ierr);                       \
    void name(MPI_Fint *ierr)                        \
    {                                                \
        void (*theirs)(MPI_Fint *);                  \
        MPI_Fint code;                               \
                                                     \
        *(void **)&theirs = dlsym(RTLD_NEXT, #name); \
        theirs(&code);                               \
        begun(ierr, code);                           \
    }

#define INIT_THREAD(name)                                              \
    void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr); \
    void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)  \
    {                                                                  \
        void (*theirs)(MPI_Fint *, MPI_Fint *, MPI_Fint *);            \
        MPI_Fint code;                                                 \
                                                                       \
        *(void **)&theirs = dlsym(RTLD_NEXT, #name);                   \
        theirs(required, provided, &code);                             \
        begun(ierr, code);                                             \
    }

/* So that there is a report in the end. */
#define FINALIZE(name)              \
    void name(MPI_Fint *ierr);      \
    void name(MPI_Fint *ierr)       \
    {                               \
        tell(ierr, MPI_Finalize()); \
    }

static void tell(MPI_Fint *ierr, int code)
{
    if (ierr != NULL)
        *ierr = (MPI_Fint)code;
}

static void begun(MPI_Fint *ierr, MPI_Fint code)
{
    if (code == MPI_SUCCESS)
        cv_preload_start();
    tell(ierr, (int)code);
}

/* Without a root all want the result. */
static int by_call(void *sendbuf, void *recvbuf, const MPI_Fint *count,
                   const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *root,
                   const MPI_Fint *comm)
{
    return cv_preload_call(
        &(struct cv_mpi_call){ .send = cv_fortran_address(sendbuf),
                               .recv = cv_fortran_address(recvbuf),
                               .count = (int)*count,
                               .type = PMPI_Type_f2c(*type),
                               .op = PMPI_Op_f2c(*op),
                               .root = root != NULL ? (int)*root : 0,
                               .reach = root != NULL ? CV_TO_ROOT : CV_TO_ALL,
                               .comm = PMPI_Comm_f2c(*comm) });
}

/* An integer of Fortran is an int of C, which is how both MPI libraries are built here. */
static int by_parts(void *sendbuf, void *recvbuf, const MPI_Fint *counts, bool alike,
                    const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm)
{
    _Static_assert(_Generic((MPI_Fint){ 0 }, int
                            : true, default
                            : false),
                   "counts are passed on as they are");

    return cv_preload_parts(&(struct cv_mpi_call){ .send = cv_fortran_address(sendbuf),
                                                   .recv = cv_fortran_address(recvbuf),
                                                   .type = PMPI_Type_f2c(*type),
                                                   .op = PMPI_Op_f2c(*op),
                                                   .comm = PMPI_Comm_f2c(*comm) },
                            alike ? NULL : counts, alike ? (int)*counts : 0);
}

REDUCE(mpi_reduce_)
PARTS(mpi_reduce_scatter_, false)
PARTS(mpi_reduce_scatter_block_, true)
ALLREDUCE(mpi_allreduce_)
INIT(mpi_init_)
INIT_THREAD(mpi_init_thread_)
FINALIZE(mpi_finalize_)
INIT(mpi_init_f08_)
INIT_THREAD(mpi_init_thread_f08_)
FINALIZE(mpi_finalize_f08_)
#ifdef OMPI_MAJOR_VERSION
REDUCE(mpi_reduce_f08_)
PARTS(mpi_reduce_scatter_f08_, false)
PARTS(mpi_reduce_scatter_block_f08_, true)
ALLREDUCE(mpi_allreduce_f08_)
#endif
