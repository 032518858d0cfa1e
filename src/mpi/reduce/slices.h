/* slices.h -- each of some ranks combines one slice of all vectors.
 * SPDX-License-Identifier: MIT
 *
 * A tree of whole vectors cannot keep up when many ranks come in the time of a transfer:
 * it grows by a level, and a transfer, whenever their number doubles. Here a rank that comes
 * sends a slice of its vector to each of some ranks, the keepers of the slices, and has
 * done; in the time of one transfer as many ranks may come as there are keepers. These send
 * what they have combined to the root, which is one of them. So the last to come costs two
 * transfers: of its own vector, and of the result into the root.
 *
 * The operator must commute, and elements are treated alike. */
#ifndef CV_SLICES_H
#define CV_SLICES_H
#include "mpi/reduce/reduction.h"

enum { CV_SLICE_BERTHS = 8 };
/* Requests of a rank: slices that arrive, those it sends, and results. */
enum { CV_SLICE_REQUESTS = CV_SLICE_BERTHS + 2 * CV_MOST_SLICES };

struct cv_slices {
    struct cv_reduction *r; /* borrowed                                             */
    struct cv_vector cut;   /* its vector; segment k is the slice of keeper k       */
    const int *keepers;     /* borrowed: ranks, of which the first is the root      */
    int own;                /* the slice that this rank keeps, or -1                */
    int left;               /* messages that are still to arrive or to be sent      */
    int posted, arrived;    /* slices of others, of the own one                     */
    int sending;            /* slices that are under way                            */
    char *berths;
    MPI_Request *requests; /* borrowed: CV_SLICE_REQUESTS of them                  */
};

/* Begin; all ranks with the same keepers, as many as there are slices of the vector when it
 * is cut for so many (cv_vector_slice). */
int cv_slices_begin(struct cv_slices *slices, struct cv_reduction *r, const int *keepers,
                    int count, MPI_Request *requests);
/* Request `which` is complete. */
int cv_slices_take(struct cv_slices *slices, int which);
static inline bool cv_slices_are_done(const struct cv_slices *slices)
{
    return slices->left == 0;
}
/* From begin to end, on a rank that has nothing else to wait for. */
int cv_slices_run(struct cv_reduction *r, const int *keepers, int count,
                  MPI_Request *requests);

#endif
