/* lent.h -- outputs of a worker on the same machine, taken from where they are.
 * SPDX-License-Identifier: MIT
 *
 * Such a worker does not send the bytes of a large output over the link, but says which
 * of its descriptors has them. The master opens that by way of /proc and copies them, or
 * says that it cannot; then they are sent as any others. */
#ifndef CV_LENT_H
#define CV_LENT_H
#include "run/gather.h"
#include "run/remote.h"

enum {
    CV_FRAME_LENT = CV_FRAME_OTHERS + 32, /* from the worker: where the output of a piece
                                             is, instead of OUTPUT                     */
    CV_FRAME_TAKEN, /* the answer: value 1 if it was taken, 0 if it has to be sent     */
};

/* Outputs below this many bytes are sent: it takes less than an answer. */
enum { CV_LENT_LEAST = 64 * 1024 };

/* The payload that says where it is; false if that cannot be said. */
bool cv_lent_pack(struct cv_packer *packer, const struct cv_taken *taken);
/* Append those bytes to the store. *out_taken is false, and the store as it was, if they
 * cannot be reached from here. */
enum cleave_status cv_lent_take(const void *payload, size_t length,
                                struct cv_store *store, bool *out_taken,
                                struct cleave_error *err);

#endif
