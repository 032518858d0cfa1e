/* rounds_full.h -- workers as fast as a full duplex port lets them be.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ROUNDS_FULL_H
#define CV_ROUNDS_FULL_H
#include "model/rounds/rounds.h"

struct cv_full_port {
    uint32_t n; /* 0: the port keeps everybody busy, or is a single one */
    struct cv_trip *trips;
    uint32_t *worker; /* whose trips they are */
};

/* False when memory is short. */
bool cv_full_port(const struct cv_returns *returns, struct cv_arena *arena,
                  struct cv_full_port *out);

#endif
