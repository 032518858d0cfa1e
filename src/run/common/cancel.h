/* cancel.h -- a request to stop runs, from any thread or signal handler.
 * SPDX-License-Identifier: MIT */
#ifndef CV_CANCEL_H
#define CV_CANCEL_H
#include <stdatomic.h>
#include <cleave/execute.h>

struct cleave_cancel {
    int fd; /* owned eventfd: readable once the request was made, and for ever */
    atomic_bool called; /* set by a call, for computations that do not poll */
};

#endif
