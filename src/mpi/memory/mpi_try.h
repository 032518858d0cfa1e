/* mpi_try.h -- return an MPI error code as soon as there is one.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MPI_TRY_H
#define CV_MPI_TRY_H
#include <mpi.h>

#define CV_MPI_TRY(call)                \
    do {                                \
        int cv_mpi_code = (call);       \
        if (cv_mpi_code != MPI_SUCCESS) \
            return cv_mpi_code;         \
    } while (0)

#endif
