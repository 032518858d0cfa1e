/* shared_memory.h -- memory that all ranks of one machine see. SPDX-License-Identifier: MIT */
#ifndef CV_SHARED_MEMORY_H
#define CV_SHARED_MEMORY_H
#include <stddef.h>
#include <mpi.h>

/* Collective. *out is zeroed memory of so many bytes that all ranks see, or NULL on all of
 * them if some rank cannot: it is elsewhere, or may not open it. */
int cv_shared_memory_make(MPI_Comm comm, int rank, size_t bytes, void **out);
void cv_shared_memory_free(void *memory, size_t bytes);

#endif
