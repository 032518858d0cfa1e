/* call_relay.h -- who waits for a worker to call back. SPDX-License-Identifier: MIT */
#ifndef CV_CALL_RELAY_H
#define CV_CALL_RELAY_H
#include <cleave/error.h>

/* Start `words` (ended by NULL), by which a worker starts elsewhere, and wait for its call
 * (reverse_connect.h), or for something on the command's standard output if it cannot call. Then
 * pass on what comes from `in` to it, and what it says to `out`, which is closed then, until
 * it ends, and wait for the command. *out_status is how that ended, as a shell says it. */
enum cleave_status cv_call_relay(const char *const *words, int in, int out,
                                 int *out_status, struct cleave_error *err);

#endif
