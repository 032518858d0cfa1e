/* input_names.h -- the files that patterns and folders stand for. SPDX-License-Identifier: MIT */
#ifndef CV_INPUT_NAMES_H
#define CV_INPUT_NAMES_H
#include "cli/common/verb.h"

/* Put names in the place of what stands for several of them, in every option whose files are
 * inputs: a pattern that is no file itself, as 'part-*.csv', and with --recursive a folder, for
 * all files below it. Names come in the order of their bytes. Returns an exit status; what is
 * wrong has been told. */
int cv_inputs_expand(const struct cv_verb *verb, struct cv_arena *arena, void *values);

#endif
