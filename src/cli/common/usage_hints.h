/* usage_hints.h -- what somebody meant whose words cannot be taken as they are.
 * SPDX-License-Identifier: MIT */
#ifndef CV_USAGE_HINTS_H
#define CV_USAGE_HINTS_H
#include <stdbool.h>
#include <stddef.h>

/* Whether `word`, one of `words`, is a unit whose number is the word before: "4 MB" without
 * quotes. Then `buffer` gets both as one word. */
bool cv_usage_hint_unit(int count, char *const *words, const char *word, char *buffer,
                        size_t size);

/* What to say behind "cannot read" or "cannot write" of a name that was meant for a shell, for
 * another machine or for several files; "" if it is an ordinary one. Returns `buffer`. */
const char *cv_usage_hint_name(const char *name, char *buffer, size_t size);

/* An input is cut between lines, as nothing else was asked for: say it where its name tells of
 * other records. `header`: that there is one was said. */
void cv_usage_hint_form(const char *name, bool header);
/* The same of what the input, "-" for standard input, seems to be by its first bytes, if its name
 * tells nothing; `what` may be NULL. `done`: that was asked for. */
void cv_usage_hint_seeming(const char *name, const char *what, const char *advice,
                           bool done);
/* No line ends in its beginning, and so all of it was one worker's. */
void cv_usage_hint_endless(const char *name, const char *what, const char *advice);
/* It is read as csv: say it where another sign than a comma parts its fields. */
void cv_usage_hint_separator(const char *name);

enum cv_listed_files {
    CV_LISTS_NO_FILES,
    CV_LISTS_LINES, /* a name in each line                      */
    CV_LISTS_NULLS, /* names that end in NUL, as of find -print0 */
};

/* Look at the beginning of a pipe or file, of which nothing is taken: whether all of it is names of
 * files that are there. Bytes of a pipe are waited for so long. */
enum cv_listed_files cv_lists_files(int fd, int wait_ms);

/* Whether the words of a command ask for such a variable, as in out.$PARALLEL_SEQ, although
 * nobody has set it: CV_EXIT_USAGE with a message that says what it is called here, or
 * CV_EXIT_DONE. */
int cv_foreign_variables_check(const char *const *words, size_t count);

#endif
