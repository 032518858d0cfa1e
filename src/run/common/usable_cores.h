/* usable_cores.h -- how many cores this process may use. SPDX-License-Identifier: MIT */
#ifndef CV_USABLE_CORES_H
#define CV_USABLE_CORES_H

/* The cores that this process may run on (affinity), or fewer if a control group, version
 * 1 or 2, grants less time than they have; rounded up, at least 1. */
unsigned cv_usable_cores(void);

/* The share of time that control groups grant, in cores, read from the proc/self/cgroup,
 * proc/self/mountinfo and mounts below `root` ("" for the real ones). INFINITY: no limit. */
double cv_cgroup_cores(const char *root);

#endif
