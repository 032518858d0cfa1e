/* nothing.h -- a file in which there is nothing. SPDX-License-Identifier: MIT */
#ifndef CV_NOTHING_H
#define CV_NOTHING_H

/* /dev/null, opened with these flags and closed on exec; where there is no /dev, an empty file
 * in memory, which is as good to read from. -1 and errno: neither is to be had. */
int cv_nothing_open(int flags);

#endif
