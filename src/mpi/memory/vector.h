/* vector.h -- the elements of a reduction as bytes in memory: where they are, how many
 * travel at once, how to copy and combine them. SPDX-License-Identifier: MIT
 *
 * A datatype may have gaps, begin before its address and overlap with the next element;
 * its gaps must never be written. Addresses are those that MPI calls are given: `lower`
 * bytes below the first byte in use. */
#ifndef CV_VECTOR_H
#define CV_VECTOR_H
#include <stdbool.h>
#include <stddef.h>
#include <mpi.h>

struct cv_vector {
    MPI_Datatype type; /* borrowed */
    MPI_Op op;         /* borrowed */
    int count;
    bool commutes;
    bool plain;           /* no gaps: may be copied as bytes           */
    MPI_Aint extent;      /* from one element to the next              */
    MPI_Aint lower;       /* of the first byte in use; may be negative */
    size_t span, element; /* bytes in use by all, by one element       */
    double bytes;         /* that travel                               */
    int segment;          /* elements that travel at once              */
    int segments;
};

/* Describe count elements. segment_bytes: what travels at once, about. */
int cv_vector_init(struct cv_vector *vector, int count, MPI_Datatype type, MPI_Op op);
void cv_vector_cut(struct cv_vector *vector, double segment_bytes);
/* Cut it into so many pieces, or a few less if they would be empty; into one if it cannot be
 * cut. */
void cv_vector_slice(struct cv_vector *vector, int pieces);

/* Elements of segment i, and how far it is from the vector's address. */
int cv_vector_part(const struct cv_vector *vector, int i);
MPI_Aint cv_vector_offset(const struct cv_vector *vector, int i);
/* Bytes that one segment takes, and the address within them to give to MPI. */
size_t cv_vector_segment_span(const struct cv_vector *vector);

/* Copy count elements; `self` is a communicator of this process alone. */
int cv_vector_copy(const struct cv_vector *vector, const void *from, void *to, int count,
                   MPI_Comm comm, int rank);

/* Memory that is kept from one reduction to the next: fresh pages cost more than the
 * copy that goes into them. */
struct cv_scratch {
    char *bytes; /* owned */
    size_t size;
};

/* At least `size` bytes, or NULL. */
char *cv_scratch_get(struct cv_scratch *scratch, size_t size);
void cv_scratch_free(struct cv_scratch *scratch);

#endif
