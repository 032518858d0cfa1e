/* help.h -- help texts, made from the verbs' tables.
 * SPDX-License-Identifier: MIT */
#ifndef CV_HELP_H
#define CV_HELP_H
#include "base/text.h"
#include "cli/common/exit_status.h"
#include "cli/common/verb.h"

enum { CV_HELP_WIDTH = 80 }; /* columns */

/* What --help of a verb prints. */
void cv_help_verb(const struct cv_verb *verb, struct cv_text *out);
/* "cleave plan load --platform FILE --load AMOUNT [OPTION]..." */
void cv_help_usage(const struct cv_verb *verb, struct cv_text *out);

/* The first command line of `examples`, without its end, in lines of `room` columns at most: all but
 * the last end with a backslash, and others are indented. Returns where the next one begins. */
const char *cv_help_example(const char *examples, size_t room, struct cv_text *out);

/* Whether the page of a verb has to say it; NULL is the page of the program. */
bool cv_help_says(const struct cv_fact *fact, const struct cv_verb *verb);

/* Environment variables, for man pages; the table ends with a NULL name. */
extern const struct cv_fact cv_environment_facts[];
extern const char cv_program_summary[], cv_program_description[];
/* --help, which every verb has; the table ends as all do. */
extern const struct cv_option cv_help_option[];

#endif
