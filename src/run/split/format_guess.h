/* format_guess.h -- formats of text whose records are not lines. SPDX-License-Identifier: MIT
 *
 * Formats that format_choice.h does not choose. If records are longer than lines, such as mail, a cut
 * between lines is within a record, and nothing fails. So a run reports what an input looks like. It
 * is a guess, and never changes the run. */
#ifndef CV_FORMAT_GUESS_H
#define CV_FORMAT_GUESS_H
#include <stdbool.h>
#include <stddef.h>

enum {
    CV_GUESS_LOOK = 4096,    /* bytes for cv_format_guess_find    */
    CV_GUESS_LINE = 1 << 20, /* bytes for cv_format_guess_endless */
};

struct cv_format_guess {
    const char *what;   /* the format                                        */
    const char *advice; /* fields to set, or a command to put before         */
    bool endless;       /* there are no line ends, so one worker gets it all */
};

/* The format of an input that begins with these bytes; NULL: lines, or unknown. */
const struct cv_format_guess *cv_format_guess_find(const char *bytes, size_t length);
/* The format of an input without a newline in its first CV_GUESS_LINE bytes; NULL: it has one. */
const struct cv_format_guess *cv_format_guess_endless(const char *bytes, size_t length);

#endif
