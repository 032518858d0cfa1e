/* shell_word.h -- quoting for shells, and lists of arguments.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SHELL_WORD_H
#define CV_SHELL_WORD_H
#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/text.h"

/* Add a word for a shell: unchanged if nothing in it is special, else in '...', or in
 * $'...' if it has invisible bytes. Different lists of words never make the same text. */
void cv_shell_word_add(struct cv_text *out, const char *word);
/* Add all words up to NULL, separated by spaces. */
void cv_shell_words_add(struct cv_text *out, const char *const *words);
/* Add `count` words to a line that has begun: a space before each. */
void cv_shell_words_append(struct cv_text *out, const char *const *words, size_t count);
/* Add all words for any sh, which may not know $'...'. */
void cv_sh_words_add(struct cv_text *out, const char *const *words);
/* Add a line for a login shell of any kind, such as csh or fish, that passes the script
 * to sh. */
void cv_login_line_add(struct cv_text *out, const char *script);

/* Whether a shell is named so: sh, bash, dash, ... */
bool cv_is_bourne_shell(const char *path);
/* The name by which a program is noted: "sh" for a path of any Bourne shell, else unchanged. */
const char *cv_shell_noted(const char *program);

/* Arguments of a command. Starts as { .arena = ... }, which owns the words and the
 * list. */
struct cv_words {
    struct cv_arena *arena;
    const char **items; /* `count` words; NULL: none yet */
    size_t count, room;
    bool failed; /* out of memory */
};

/* Add a copy of a word. NULL sets `failed`. */
void cv_words_add(struct cv_words *words, const char *word);
/* Add words that are separated by spaces or tabs: "nice -n 19" is three. */
void cv_words_split(struct cv_words *words, const char *text);
/* Add a text as one word, and release it. */
void cv_words_take(struct cv_words *words, struct cv_text *text);
/* The words, terminated by NULL; NULL: out of memory. */
const char **cv_words_done(struct cv_words *words);

#endif
