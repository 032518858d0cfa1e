/* mpi_wait.c -- to wait and let others have the processor. SPDX-License-Identifier: MIT */
#include "mpi/memory/mpi_wait.h"

#include <sched.h>

#include "mpi/memory/mpi_try.h"

int cv_mpi_wait(MPI_Request *request)
{
    int complete = 0;

    for (;;) {
        CV_MPI_TRY(PMPI_Test(request, &complete, MPI_STATUS_IGNORE));
        if (complete)
            return MPI_SUCCESS;
        sched_yield();
    }
}
