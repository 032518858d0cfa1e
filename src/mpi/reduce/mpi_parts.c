/* mpi_parts.c -- reductions whose result is shared out: MPI_Reduce_scatter.
 * SPDX-License-Identifier: MIT
 *
 * The vector is reduced to rank 0, which is where late ranks cost least, and its parts are
 * sent from there. MPI libraries reduce every part at its own place, which moves less; so it
 * pays where ranks come at different times. */
#include "mpi/reduce/mpi_parts.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

bool cv_parts_fill(struct cv_mpi_call *call, const int *counts, int block)
{
    int64_t total = 0;
    int ranks = 0, inter = 0;

    call->reach = CV_TO_PARTS;
    call->root = 0;
    call->parts = counts;
    call->block = block;
    if (call->comm == MPI_COMM_NULL ||
        PMPI_Comm_test_inter(call->comm, &inter) != MPI_SUCCESS || inter ||
        PMPI_Comm_size(call->comm, &ranks) != MPI_SUCCESS)
        return false;
    for (int i = 0; i < ranks && total >= 0 && total <= INT_MAX; i++) {
        const int count = counts != NULL ? counts[i] : block;

        total = count < 0 ? -1 : total + count;
    }
    call->count = total < 0 || total > INT_MAX ? 0 : (int)total;
    return call->count > 0;
}

int cv_parts_by_mpi(const struct cv_mpi_call *call)
{
    if (call->parts == NULL)
        return PMPI_Reduce_scatter_block(call->send, call->recv, call->block, call->type,
                                         call->op, call->comm);
    return PMPI_Reduce_scatter(call->send, call->recv, call->parts, call->type, call->op,
                               call->comm);
}

void *cv_parts_whole(const struct cv_mpi_call *call, struct cv_comm_state *state,
                     int *out_code)
{
    struct cv_vector vector;
    char *bytes;

    *out_code = MPI_SUCCESS;
    if (state->rank != call->root)
        return call->send == MPI_IN_PLACE ? call->recv : NULL;
    if (call->send == MPI_IN_PLACE)
        return call->recv;
    *out_code = cv_vector_init(&vector, call->count, call->type, call->op);
    if (*out_code != MPI_SUCCESS)
        return NULL;
    bytes = cv_scratch_get(&state->parted, vector.span);
    if (bytes == NULL)
        *out_code = MPI_ERR_NO_MEM;
    return bytes != NULL ? bytes - vector.lower : NULL;
}

int cv_parts_share(const struct cv_mpi_call *call, struct cv_comm_state *state,
                   const void *whole)
{
    /* The root's own part is the first, and so in its place. */
    void *recv = call->send == MPI_IN_PLACE && state->rank == call->root ? MPI_IN_PLACE
                                                                         : call->recv;
    int *displacements;
    int code;

    if (call->parts == NULL)
        return PMPI_Scatter(whole, call->block, call->type, recv, call->block, call->type,
                            call->root, state->comm);
    displacements = malloc((size_t)state->size * sizeof *displacements);
    if (displacements == NULL)
        return MPI_ERR_NO_MEM;
    displacements[0] = 0;
    for (int i = 1; i < state->size; i++)
        displacements[i] = displacements[i - 1] + call->parts[i - 1];
    code = PMPI_Scatterv(whole, call->parts, displacements, call->type, recv,
                         call->parts[state->rank], call->type, call->root, state->comm);
    free(displacements);
    return code;
}
