/* preload_fortran.c -- the same for Fortran: mpif.h, `use mpi` and `use mpi_f08`, as gfortran
 * names them. SPDX-License-Identifier: MIT
 *
 * The handles of mpi_f08 are types with one integer in them, so that an address of one is
 * what the older faces pass; its last argument may be missing. MPICH's mpi_f08 passes
 * descriptors of arrays, and then calls MPI_Reduce of C, which is ours. */
#include "mpi/reduce/preload.h"

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
    const struct cv_call call = { cv_fortran_address(sendbuf),
                                  cv_fortran_address(recvbuf),
                                  (int)*count,
                                  PMPI_Type_f2c(*type),
                                  PMPI_Op_f2c(*op),
                                  root != NULL ? (int)*root : 0,
                                  root == NULL,
                                  PMPI_Comm_f2c(*comm) };

    return cv_preload_call(&call);
}

REDUCE(mpi_reduce_)
ALLREDUCE(mpi_allreduce_)
INIT(mpi_init_)
INIT_THREAD(mpi_init_thread_)
FINALIZE(mpi_finalize_)
INIT(mpi_init_f08_)
INIT_THREAD(mpi_init_thread_f08_)
FINALIZE(mpi_finalize_f08_)
#ifdef OMPI_MAJOR_VERSION
REDUCE(mpi_reduce_f08_)
ALLREDUCE(mpi_allreduce_f08_)
#endif
