/* lent.h -- outputs of a worker on the same machine, left where they are.
 * SPDX-License-Identifier: MIT
 *
 * Such a worker does not send the bytes of a large output over the link, but says which
 * of its descriptors have them. The master opens those by way of /proc and writes from
 * there when the turn of the output has come; or it says that it cannot, and then they are
 * sent as any others. Until the master says that it needs them no more, the worker leaves
 * the bytes as they are, even if it ends: then they last as long as the master holds them.
 *
 * So what waits for its turn is kept by the worker, in memory and past its limit on disk. */
#ifndef CV_LENT_H
#define CV_LENT_H
#include "run/output/gather.h"
#include "run/wire/remote.h"

enum {
    CV_FRAME_LENT = CV_FRAME_OTHERS + 32, /* from the worker, instead of OUTPUT and END:
                                             where the output of a piece is, and its end */
    CV_FRAME_TAKEN, /* the answer: value 1 once it is not needed any more, 0 if it has to
                       be sent                                                           */
};

/* Outputs below this many bytes are sent: it takes less than an answer. */
enum { CV_LENT_LEAST = 64 * 1024 };

enum cv_lent {
    CV_LENT_UNREACHED, /* they cannot be reached from here                               */
    CV_LENT_COPIED, /* they are here                                                  */
    CV_LENT_LEFT,   /* the store stands for them, until the loan is over              */
};

/* The first part of the payload, which says where they are; false if that cannot be
 * said. */
bool cv_lent_pack(struct cv_packer *packer, const struct cv_taken *parts, size_t nparts);
/* Read that part, and let the store have those bytes behind its own. It is as it was if
 * they cannot be reached. */
enum cleave_status cv_lent_take(struct cv_unpacker *unpacker, struct cv_store *store,
                                const struct cv_loan *loan, enum cv_lent *out,
                                struct cleave_error *err);

#endif
