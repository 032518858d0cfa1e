/* dev_null.h -- a file in which there is nothing. SPDX-License-Identifier: MIT */
#ifndef CV_DEV_NULL_H
#define CV_DEV_NULL_H

/* /dev/null, opened with these flags and closed on exec; where there is no /dev, an empty file
 * in memory, which is as good to read from. -1 and errno: neither is to be had. */
int cv_dev_null_open(int flags);

#endif
