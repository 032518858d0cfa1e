/* framed.h -- a run that reads its inputs in frames, as a persistent command does.
 * SPDX-License-Identifier: MIT
 *
 * A leader is such a run: it reads a frame (run/slot/persistent_slot.h), shares its bytes over its own
 * workers and hosts, and answers with their outputs, or with 8 bytes of all ones if a command
 * failed. */
#ifndef CV_FRAMED_H
#define CV_FRAMED_H
#include <cleave/execute.h>

/* Read frames from `in` and answer on `out` until the input ends between two frames. `request`
 * has neither input nor output. */
enum cleave_status cv_framed_serve(const struct cleave_execution *request, int in,
                                   int out, struct cleave_error *err);

#endif
