/* engines.h -- what can make a schedule happen, here or missing.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ENGINES_H
#define CV_ENGINES_H

/* CV_EXIT_DONE if the engine can be used; NULL is the usual one. Otherwise complains and
 * returns the status: CV_EXIT_ENGINE for one that is missing, CV_EXIT_USAGE for an unknown
 * name. */
int cv_engine_check(const char *name);

#endif
