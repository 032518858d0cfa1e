/* completion.h -- scripts that let shells complete the command line, made from the verbs'
 * tables. SPDX-License-Identifier: MIT */
#ifndef CV_COMPLETION_H
#define CV_COMPLETION_H
#include "base/text.h"

void cv_completion_bash(struct cv_text *out);
void cv_completion_zsh(struct cv_text *out);
void cv_completion_fish(struct cv_text *out);

#endif
