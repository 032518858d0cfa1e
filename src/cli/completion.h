/* completion.h -- scripts that let shells complete the command line, made from the verbs'
 * tables. SPDX-License-Identifier: MIT */
#ifndef CV_COMPLETION_H
#define CV_COMPLETION_H
#include "base/text.h"
#include "cli/common/options.h"
#include "cli/verbs.h"

void cv_completion_bash(const struct cv_verb_list *verbs, struct cv_text *out);
void cv_completion_zsh(const struct cv_verb_list *verbs, struct cv_text *out);
void cv_completion_fish(const struct cv_verb_list *verbs, struct cv_text *out);

/* What may stand behind an option. */
enum cv_completes {
    CV_COMPLETES_NOTHING, /* a number or a text that nobody can guess */
    CV_COMPLETES_FILES,
    CV_COMPLETES_FOLDERS,
    CV_COMPLETES_WORDS, /* one of some words */
    CV_COMPLETES_LIST,  /* several of them, with commas between */
};

/* What completes the argument of an option, with the words separated by spaces if there
 * are any. `task` is "load", "reduce" or another second word of the verb, or "". The words
 * are added to `out_words`. */
enum cv_completes cv_completes(const struct cv_option *option, const char *task,
                               struct cv_text *out_words);

#endif
