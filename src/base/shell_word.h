/* shell_word.h -- words as a shell would take them. SPDX-License-Identifier: MIT */
#ifndef CV_SHELL_WORD_H
#define CV_SHELL_WORD_H
#include "base/text.h"

/* Add a word so that a shell reads the same word: as it is if nothing in it is special,
 * else in '...', or in $'...' if it has bytes that do not show. Different lists of words
 * never make the same text. */
void cv_shell_word_add(struct cv_text *out, const char *word);
/* All words up to NULL, with a blank between. */
void cv_shell_words_add(struct cv_text *out, const char *const *words);
/* The same for any sh, also an old one: what does not show stands as it is. */
void cv_sh_words_add(struct cv_text *out, const char *const *words);
/* A line by which a login shell of any kind, such as csh or fish, which know neither `case` nor $'...' as sh
 * does, has a script done by sh. */
void cv_login_line_add(struct cv_text *out, const char *script);

#endif
