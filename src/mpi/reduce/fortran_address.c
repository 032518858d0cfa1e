/* fortran_address.c -- what Fortran passes for a buffer. SPDX-License-Identifier: MIT
 *
 * Fortran's MPI_IN_PLACE and MPI_BOTTOM are variables of which only the address counts. Open
 * MPI has them under the first names, MPICH keeps pointers to them under the second, and
 * has others for mpi_f08. */
#include "mpi/reduce/fortran_address.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <mpi.h>

static bool is_constant(const void *address, const char *const *variables,
                        const char *pointer)
{
    void *const *kept = dlsym(RTLD_DEFAULT, pointer);

    for (; *variables != NULL; variables++)
        if (address == dlsym(RTLD_DEFAULT, *variables))
            return true;
    return kept != NULL && address == *kept;
}

void *cv_fortran_address(void *address)
{
    static const char *const in_place[] = { "mpi_fortran_in_place_",
                                            "MPIR_F08_MPI_IN_PLACE", NULL };
    static const char *const bottom[] = { "mpi_fortran_bottom_", "MPIR_F08_MPI_BOTTOM",
                                          NULL };

    if (address == NULL)
        return NULL;
    if (is_constant(address, in_place, "MPIR_F_MPI_IN_PLACE"))
        return MPI_IN_PLACE;
    if (is_constant(address, bottom, "MPIR_F_MPI_BOTTOM"))
        return MPI_BOTTOM;
    return address;
}
