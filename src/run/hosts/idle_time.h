/* idle_time.h -- how long processors had nothing to do. SPDX-License-Identifier: MIT */
#ifndef CV_IDLE_TIME_H
#define CV_IDLE_TIME_H

/* Seconds since the machine was started, those of all its processors added up. NAN: it does not
 * say. */
double cv_idle_s(void);

#endif
