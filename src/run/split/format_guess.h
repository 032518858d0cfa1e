/* format_guess.h -- what text seems to be that is cut between lines. SPDX-License-Identifier: MIT
 *
 * Lines are what is taken where nothing is said. Where records are longer, as reads of FASTQ,
 * a cut between lines is one within a record, and nothing fails: so what an input looks
 * like is worth a word. It is a guess, and never changes what is done. */
#ifndef CV_FORMAT_GUESS_H
#define CV_FORMAT_GUESS_H
#include <stdbool.h>
#include <stddef.h>

enum {
    CV_LIKENESS_LOOK = 4096,   /* bytes that are looked at                     */
    CV_ENDLESS_LOOK = 1 << 20, /* ... of what may be one line                  */
};

struct cv_format_guess {
    const char *what;   /* it seems to be                                  */
    const char *advice; /* what would be right then                        */
    bool header;        /* that is --header, and nothing if it was given   */
    bool endless;       /* no line ends in it, so that it is for one worker */
};

/* What an input seems to be that begins with these bytes; NULL: lines, or nothing known. */
const struct cv_format_guess *cv_format_guess_find(const char *bytes, size_t length);
/* The same of one that nothing is known of, if no line ends in its first CV_ENDLESS_LOOK bytes. */
const struct cv_format_guess *cv_format_guess_endless(const char *bytes, size_t length);

#endif
