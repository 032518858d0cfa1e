/* vector.c -- elements of a reduction in memory. SPDX-License-Identifier: MIT */
#include "mpi/memory/vector.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/memory/shared_memory.h"

enum { TAG_COPY = 9 }; /* messages of a rank to itself */

int cv_vector_init(struct cv_vector *vector, int count, MPI_Datatype type, MPI_Op op)
{
    MPI_Aint lower, extent, true_lower, true_extent, steps;
    MPI_Count size;
    int commutes;

    CV_MPI_TRY(PMPI_Type_get_extent(type, &lower, &extent));
    CV_MPI_TRY(PMPI_Type_get_true_extent(type, &true_lower, &true_extent));
    CV_MPI_TRY(PMPI_Type_size_x(type, &size));
    CV_MPI_TRY(PMPI_Op_commutative(op, &commutes));
    *vector = (struct cv_vector){ .type = type, .op = op, .count = count };
    steps = (count > 0 ? count - 1 : 0) * extent;
    vector->commutes = commutes != 0;
    vector->extent = extent;
    /* With a negative extent the last element is the lowest. */
    vector->lower = true_lower + (steps < 0 ? steps : 0);
    vector->element = (size_t)true_extent;
    vector->span = (size_t)(true_extent + (steps < 0 ? -steps : steps));
    vector->bytes = (double)size * count;
    vector->plain = true_lower == 0 && size == true_extent && size == extent;
    vector->segment = count;
    vector->segments = 1;
    return MPI_SUCCESS;
}

void cv_vector_cut(struct cv_vector *vector, double segment_bytes)
{
    double segments = vector->bytes / segment_bytes;

    /* With a negative extent a segment would not begin at its lowest byte. */
    if (vector->count < 2 || segments <= 1 || vector->extent <= 0)
        return;
    if (segments > vector->count)
        segments = vector->count;
    vector->segment = (int)((vector->count + segments - 1) / segments);
    if (vector->segment < 1)
        vector->segment = 1;
    vector->segments = (vector->count - 1) / vector->segment + 1;
}

void cv_vector_slice(struct cv_vector *vector, int pieces)
{
    if (pieces > vector->count || vector->extent <= 0)
        pieces = vector->extent <= 0 ? 1 : vector->count;
    vector->segment = (vector->count - 1) / pieces + 1;
    vector->segments = (vector->count - 1) / vector->segment + 1;
}

int cv_vector_part(const struct cv_vector *vector, int i)
{
    return i < vector->segments - 1 ? vector->segment
                                    : vector->count - i * vector->segment;
}

MPI_Aint cv_vector_offset(const struct cv_vector *vector, int i)
{
    return (MPI_Aint)i * vector->segment * vector->extent;
}

size_t cv_vector_segment_span(const struct cv_vector *vector)
{
    if (vector->segments == 1)
        return vector->span;
    return vector->element + (size_t)(vector->segment - 1) * (size_t)vector->extent;
}

int cv_vector_copy(const struct cv_vector *vector, const void *from, void *to, int count,
                   MPI_Comm comm, int rank)
{
    if (vector->plain) {
        memcpy(to, from, (size_t)count * (size_t)vector->extent);
        return MPI_SUCCESS;
    }
    return PMPI_Sendrecv(from, count, vector->type, rank, TAG_COPY, to, count,
                         vector->type, rank, TAG_COPY, comm, MPI_STATUS_IGNORE);
}

char *cv_scratch_get(struct cv_scratch *scratch, size_t size)
{
    size_t room = size < 64 ? 64 : size;
    void *bytes;

    if (size <= scratch->size)
        return scratch->bytes;
    if (posix_memalign(&bytes, 64, room) != 0)
        return NULL;
    free(scratch->bytes);
    scratch->bytes = bytes;
    scratch->size = room;
    return scratch->bytes;
}

void cv_scratch_free(struct cv_scratch *scratch)
{
    free(scratch->bytes);
    *scratch = (struct cv_scratch){ 0 };
}

int cv_scratch_vector(struct cv_scratch *scratch, const struct cv_vector *vector,
                      char **out)
{
    char *bytes = cv_scratch_get(scratch, vector->span);

    if (bytes == NULL)
        return MPI_ERR_NO_MEM;
    *out = bytes - vector->lower;
    return MPI_SUCCESS;
}
