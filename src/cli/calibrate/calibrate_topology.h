/* calibrate_topology.h -- the star that a master on a topology sees.
 * SPDX-License-Identifier: MIT */
#ifndef CV_CALIBRATE_TOPOLOGY_H
#define CV_CALIBRATE_TOPOLOGY_H
#include "cli/common/job_options.h"

/* Measure and write the platform file of so many workers (0: all hosts) to `output`, NULL
 * for standard output; an older file is replaced only with `force`. Returns an exit status. */
int cv_calibrate_topology(const struct cv_topology_options *options, uint64_t workers,
                          const char *output, bool force, struct cv_arena *arena);

#endif
