/* reduction_room.c -- where vectors and segments of a reduction lie, and the operator.
 * SPDX-License-Identifier: MIT */
#include "mpi/reduce/reduction.h"

int cv_reduction_combine(struct cv_reduction *r, const void *in, void *inout, int count)
{
    const struct cv_vector *vector = &r->vector;
    double since = PMPI_Wtime();
    int code = PMPI_Reduce_local(in, inout, count, vector->type, vector->op);

    r->combine_s += PMPI_Wtime() - since;
    r->combined_bytes += vector->bytes * count / vector->count;
    return code;
}

int cv_reduction_recv_buffers(struct cv_reduction *r)
{
    size_t span = cv_vector_segment_span(&r->vector);

    if (r->berths == NULL)
        r->berths =
            cv_scratch_get(&r->state->berths, (span + 63) / 64 * 64 * (CV_DEPTH + 1));
    return r->berths != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

char *cv_reduction_recv_buffer(const struct cv_reduction *r, long i)
{
    size_t span = (cv_vector_segment_span(&r->vector) + 63) / 64 * 64;

    return r->berths + (size_t)(i % (CV_DEPTH + 1)) * span - r->vector.lower;
}

int cv_reduction_whole(struct cv_reduction *r)
{
    char *bytes;

    if (r->whole != NULL)
        return MPI_SUCCESS;
    if (r->state->rank == r->root) {
        r->whole = r->recv;
        return MPI_SUCCESS;
    }
    bytes = cv_scratch_get(&r->state->whole, r->vector.span);
    if (bytes == NULL)
        return MPI_ERR_NO_MEM;
    r->whole = bytes - r->vector.lower;
    return MPI_SUCCESS;
}
