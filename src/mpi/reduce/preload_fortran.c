/* preload_fortran.c -- the same for Fortran: mpif.h and `use mpi`, as gfortran names them.
 * SPDX-License-Identifier: MIT
 *
 * Fortran's MPI_IN_PLACE and MPI_BOTTOM are variables of which only the address counts. Open
 * MPI has them under the first names, MPICH keeps pointers to them under the second. */
#include "mpi/reduce/preload.h"

#include <dlfcn.h>
#include <stddef.h>

static bool is_constant(const void *address, const char *variable, const char *pointer)
{
    void *const *kept = dlsym(RTLD_DEFAULT, pointer);

    return address == dlsym(RTLD_DEFAULT, variable) || (kept != NULL && address == *kept);
}

/* An address as C knows it. */
static void *from_fortran(void *address)
{
    if (address == NULL)
        return NULL;
    if (is_constant(address, "mpi_fortran_in_place_", "MPIR_F_MPI_IN_PLACE"))
        return MPI_IN_PLACE;
    if (is_constant(address, "mpi_fortran_bottom_", "MPIR_F_MPI_BOTTOM"))
        return MPI_BOTTOM;
    return address;
}

void mpi_reduce_(void *sendbuf, void *recvbuf, const MPI_Fint *count,
                 const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *root,
                 const MPI_Fint *comm, MPI_Fint *ierr);
void mpi_allreduce_(void *sendbuf, void *recvbuf, const MPI_Fint *count,
                    const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,
                    MPI_Fint *ierr);
void mpi_init_(MPI_Fint *ierr);
void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr);
void mpi_finalize_(MPI_Fint *ierr);

void mpi_reduce_(void *sendbuf, void *recvbuf, const MPI_Fint *count,
                 const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *root,
                 const MPI_Fint *comm, MPI_Fint *ierr)
{
    const struct cv_call call = { from_fortran(sendbuf),
                                  from_fortran(recvbuf),
                                  (int)*count,
                                  PMPI_Type_f2c(*type),
                                  PMPI_Op_f2c(*op),
                                  (int)*root,
                                  false,
                                  PMPI_Comm_f2c(*comm) };

    *ierr = (MPI_Fint)cv_preload_call(&call);
}

void mpi_allreduce_(void *sendbuf, void *recvbuf, const MPI_Fint *count,
                    const MPI_Fint *type, const MPI_Fint *op, const MPI_Fint *comm,
                    MPI_Fint *ierr)
{
    const struct cv_call call = { from_fortran(sendbuf),
                                  from_fortran(recvbuf),
                                  (int)*count,
                                  PMPI_Type_f2c(*type),
                                  PMPI_Op_f2c(*op),
                                  0,
                                  true,
                                  PMPI_Comm_f2c(*comm) };

    *ierr = (MPI_Fint)cv_preload_call(&call);
}

/* What MPI does in Fortran's own initialisation is left to it. */
void mpi_init_(MPI_Fint *ierr)
{
    void (*theirs)(MPI_Fint *);

    *(void **)&theirs = dlsym(RTLD_NEXT, "mpi_init_");
    theirs(ierr);
    if (*ierr == MPI_SUCCESS)
        cv_preload_start();
}

void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)
{
    void (*theirs)(MPI_Fint *, MPI_Fint *, MPI_Fint *);

    *(void **)&theirs = dlsym(RTLD_NEXT, "mpi_init_thread_");
    theirs(required, provided, ierr);
    if (*ierr == MPI_SUCCESS)
        cv_preload_start();
}

/* So that there is a report in the end. */
void mpi_finalize_(MPI_Fint *ierr)
{
    *ierr = (MPI_Fint)MPI_Finalize();
}
