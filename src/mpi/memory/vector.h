/* vector.h -- elements of a reduction in memory. SPDX-License-Identifier: MIT
 *
 * A datatype may have gaps, which must never be written, begin before its address, and
 * overlap with the next element. Addresses are those of MPI calls: `lower` bytes below
 * the first byte in use. */
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
    bool plain;           /* no gaps: can be copied as bytes           */
    MPI_Aint extent;      /* from one element to the next              */
    MPI_Aint lower;       /* offset of the first byte in use           */
    size_t span, element; /* bytes of all elements, of one             */
    double bytes;         /* sent for all elements                     */
    int segment;          /* elements sent at once                     */
    int segments;
};

/* One segment. */
int cv_vector_init(struct cv_vector *vector, int count, MPI_Datatype type, MPI_Op op);
/* Cut it into segments of about this many bytes. */
void cv_vector_cut(struct cv_vector *vector, double segment_bytes);
/* Cut it into `pieces` segments, or fewer if some would be empty. */
void cv_vector_slice(struct cv_vector *vector, int pieces);

/* Elements of segment i, and its offset from the address of the vector. */
int cv_vector_part(const struct cv_vector *vector, int i);
MPI_Aint cv_vector_offset(const struct cv_vector *vector, int i);
/* Bytes of a buffer for one segment. */
size_t cv_vector_segment_span(const struct cv_vector *vector);

/* Copy `count` elements; `rank` is the own rank in `comm`. */
int cv_vector_copy(const struct cv_vector *vector, const void *from, void *to, int count,
                   MPI_Comm comm, int rank);

/* Memory that is kept between reductions: new pages cost more than a copy. */
struct cv_scratch {
    char *bytes; /* owned */
    size_t size;
};

/* At least `size` bytes; NULL: out of memory. */
char *cv_scratch_get(struct cv_scratch *scratch, size_t size);
void cv_scratch_free(struct cv_scratch *scratch);
/* Room for a vector; *out is the address for MPI. */
int cv_scratch_vector(struct cv_scratch *scratch, const struct cv_vector *vector,
                      char **out);

#endif
