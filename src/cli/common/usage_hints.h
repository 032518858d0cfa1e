/* usage_hints.h -- hints for mistyped calls. SPDX-License-Identifier: MIT */
#ifndef CV_USAGE_HINTS_H
#define CV_USAGE_HINTS_H
#include <stdbool.h>
#include <stddef.h>

/* Whether `word` is a unit after its number: "4 MB" without quotes. Then `buffer` gets
 * both as one word. */
bool cv_usage_hint_unit(int count, char *const *words, const char *word, char *buffer,
                        size_t size);

/* A hint at a name that was meant for a shell, another machine or several files; ""
 * for an ordinary one. Returns `buffer`. */
const char *cv_usage_hint_name(const char *name, char *buffer, size_t size);

/* Chunks are cut between lines, and the first bytes are not lines; `what` may be NULL. */
void cv_usage_hint_seeming(const char *name, const char *what, const char *advice);
/* No line ends in the first bytes: one worker had all of it. */
void cv_usage_hint_endless(const char *name, const char *what, const char *advice);
/* csv: hint at another separator than a comma. */
void cv_usage_hint_separator(const char *name);

enum cv_listed_files {
    CV_LISTS_NO_FILES,
    CV_LISTS_LINES, /* a name in each line                      */
    CV_LISTS_NULLS, /* names end in NUL */
};

/* Whether a pipe or file begins with names of existing files; nothing is consumed. */
enum cv_listed_files cv_lists_files(int fd, int wait_ms);

/* Refuse a command that uses variables of other tools, such as $PARALLEL_SEQ, which
 * are not set. */
int cv_foreign_variables_check(const char *const *words, size_t count);

#endif
