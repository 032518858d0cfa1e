/* quote_context.h -- in which quotes of a shell's line a place stands.
 * SPDX-License-Identifier: MIT
 *
 * '{}' and "{}" are typed by habit. A value that had quotes of its own in there would fall apart
 * at a blank, and what is behind a semicolon in it would be run. */
#ifndef CV_QUOTE_CONTEXT_H
#define CV_QUOTE_CONTEXT_H
#include <stdbool.h>
#include <stddef.h>

enum cv_item_quotes {
    CV_ITEM_UNQUOTED,
    CV_ITEM_SINGLE, /* '...'  */
    CV_ITEM_DOUBLE, /* "..."  */
    CV_ITEM_DOLLAR, /* $'...' */
};

enum { CV_ITEM_NESTED = 32 };

/* What is open where the line has been read to. */
struct cv_item_within {
    char open[CV_ITEM_NESTED]; /* each as it began: one of ' " $ ( `                    */
    size_t depth;
    char before;  /* the byte before, 'x' if it means nothing                     */
    int less;     /* so many < are before, outside of quotes                      */
    bool escaped; /* by a backslash                                               */
    bool comment;
    bool lost; /* there is something that takes a whole shell to read          */
};

/* The words, ended by NULL, are those of the line. */
struct cv_item_within cv_item_within_begin(const char *const *words);
/* Read on. A place counts as an 'x'. */
void cv_item_within_read(struct cv_item_within *within, const char *text, size_t length);
/* Unquoted, if it is not known. */
enum cv_item_quotes cv_item_within_now(const struct cv_item_within *within);

#endif
