/* partial_transfer.h -- one partial from one rank to another, segment by segment.
 * SPDX-License-Identifier: MIT
 *
 * The receiver combines a segment while the next ones arrive; a segment that has just
 * arrived is still in the cache. Partials arrive where they can be combined without being
 * copied once more:
 *
 *     held is        operator commutes, or the        the partial comes from the
 *                    partial comes from the left      right and order matters
 *     own memory     berths, into held                berths, result copied back
 *     the user's     whole, with held (from the       whole, with held
 *                    left: held is copied first)                                    */
#ifndef CV_PARTIAL_TRANSFER_H
#define CV_PARTIAL_TRANSFER_H
#include "mpi/reduce/reduction.h"

enum cv_side { CV_LEFT, CV_RIGHT };

/* Tell `to` that data will follow, or that it is asked for its own. */
int cv_partial_transfer_tell(struct cv_reduction *r, int to, enum cv_header_kind kind,
                             int lo, int hi);
/* Begin to listen to the next header, from whomever. */
int cv_partial_transfer_listen(struct cv_reduction *r, MPI_Request **out);

/* Begin, then advance until *out is NULL. */
void cv_partial_transfer_send(struct cv_reduction *r, int to);
int cv_partial_transfer_send_on(struct cv_reduction *r, MPI_Request **out);
int cv_partial_transfer_receive(struct cv_reduction *r, int from, enum cv_side side);
int cv_partial_transfer_receive_on(struct cv_reduction *r, MPI_Request **out);
/* Whether the rule for overlap holds: the last segment has arrived and is to be combined next,
 * for no longer than a transfer takes, as far as costs are known. */
bool cv_partial_transfer_may_overlap(const struct cv_reduction *r);
/* After cv_partial_transfer_receive and cv_partial_transfer_send: each segment goes on as soon as it is combined. */
int cv_partial_transfer_forward_on(struct cv_reduction *r, MPI_Request **out);

#endif
