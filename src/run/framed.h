/* framed.h -- inputs that come in frames, as a command that stays gets them.
 * SPDX-License-Identifier: MIT
 *
 * What a command of `cleave run --persistent` is (run/slot/persistent_slot.h), a whole run can be:
 * it reads frames, shares the bytes of each out over its own workers and hosts, and answers
 * with their outputs; or with 8 bytes of all ones, if a command failed for good. */
#ifndef CV_FRAMED_H
#define CV_FRAMED_H
#include <cleave/execute.h>

/* Read frames from `in` and answer on `out` until the input ends between two. `asked` has
 * neither input nor output. */
enum cleave_status cv_framed_serve(const struct cleave_execution *request, int in,
                                   int out, struct cleave_error *err);

#endif
