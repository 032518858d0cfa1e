/* mpi_fortran.c -- the calls of cleave_mpi.f90, which know handles by number.
 * SPDX-License-Identifier: MIT
 *
 * They are declared there, and nowhere in C. */
#include <cleave/mpi.h>

#include "mpi/reduce/fortran_address.h"

int cleave_mpi_fortran_reduce(void *sendbuf, void *recvbuf, int count, MPI_Fint type,
                              MPI_Fint op, int root, MPI_Fint comm, const char *policy);
int cleave_mpi_fortran_allreduce(void *sendbuf, void *recvbuf, int count, MPI_Fint type,
                                 MPI_Fint op, MPI_Fint comm, const char *policy);
int cleave_mpi_fortran_prepare(MPI_Fint comm);
int cleave_mpi_fortran_tune(MPI_Fint comm, const char *settings);

int cleave_mpi_fortran_reduce(void *sendbuf, void *recvbuf, int count, MPI_Fint type,
                              MPI_Fint op, int root, MPI_Fint comm, const char *policy)
{
    return cleave_mpi_reduce(cv_fortran_address(sendbuf), cv_fortran_address(recvbuf),
                             count, PMPI_Type_f2c(type), PMPI_Op_f2c(op), root,
                             PMPI_Comm_f2c(comm), policy);
}

int cleave_mpi_fortran_allreduce(void *sendbuf, void *recvbuf, int count, MPI_Fint type,
                                 MPI_Fint op, MPI_Fint comm, const char *policy)
{
    return cleave_mpi_allreduce(cv_fortran_address(sendbuf), cv_fortran_address(recvbuf),
                                count, PMPI_Type_f2c(type), PMPI_Op_f2c(op),
                                PMPI_Comm_f2c(comm), policy);
}

int cleave_mpi_fortran_prepare(MPI_Fint comm)
{
    return cleave_mpi_prepare(PMPI_Comm_f2c(comm));
}

int cleave_mpi_fortran_tune(MPI_Fint comm, const char *settings)
{
    return cleave_mpi_tune(PMPI_Comm_f2c(comm), settings);
}
