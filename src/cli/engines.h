/* engines.h -- what can make a schedule happen, built in or not.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ENGINES_H
#define CV_ENGINES_H

/* CV_EXIT_DONE if the engine can be used. Otherwise complains and returns the status:
 * CV_EXIT_ENGINE for one that was not built, CV_EXIT_USAGE for an unknown name. */
int cv_engine_check(const char *name);

#endif
