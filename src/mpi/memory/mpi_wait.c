/* mpi_wait.c -- to wait and let others have the processor. SPDX-License-Identifier: MIT */
#include "mpi/memory/mpi_wait.h"

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "mpi/memory/mpi_try.h"

enum { TRIES_BEFORE_NAPS = 1000, NAP_US = 20 };

static int wait_for(MPI_Request *request, bool naps)
{
    int complete = 0;

    for (int tries = 0;;) {
        CV_MPI_TRY(PMPI_Test(request, &complete, MPI_STATUS_IGNORE));
        if (complete)
            return MPI_SUCCESS;
        if (!naps || ++tries < TRIES_BEFORE_NAPS)
            sched_yield();
        else
            usleep(NAP_US);
    }
}

int cv_mpi_wait(MPI_Request *request)
{
    return wait_for(request, false);
}

int cv_mpi_wait_long(MPI_Request *request)
{
    return wait_for(request, true);
}
