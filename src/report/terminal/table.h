/* table.h -- aligned tables in text. SPDX-License-Identifier: MIT
 *
 * Numbers of a column have the same number of decimals; the largest shows five
 * significant digits. */
#ifndef CV_TABLE_H
#define CV_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include "base/text.h"

enum cv_column_kind {
    CV_COLUMN_TEXT,    /* left                                              */
    CV_COLUMN_NUMBER,  /* right, five digits                                */
    CV_COLUMN_COUNT,   /* right; at most one decimal                        */
    CV_COLUMN_UNITS,   /* right; in M, G or T if a value reaches a million  */
    CV_COLUMN_PERCENT, /* right; 0.1234 is shown as 12.3%                   */
    CV_COLUMN_OVER,    /* right; 0.1234 is shown as 12.34%                  */
};

enum { CV_TABLE_COLUMNS = 24 }; /* most a table may have */

struct cv_column {
    const char *title;
    enum cv_column_kind kind;
};

struct cv_cell {
    char *text;   /* owned; NULL for numbers */
    double value; /* NAN is shown as "-"     */
};

struct cv_table {
    const struct cv_column *columns; /* borrowed */
    size_t ncolumns;
    struct cv_cell *cells; /* owned, row by row */
    size_t ncells, capacity;
    bool failed; /* memory ran out: nothing is written and the output fails too */
};

void cv_table_init(struct cv_table *table, const struct cv_column *columns,
                   size_t ncolumns);
void cv_table_done(struct cv_table *table);
/* Add the next cell; rows follow from the number of columns. Text is copied. */
void cv_table_text(struct cv_table *table, const char *text);
void cv_table_number(struct cv_table *table, double value);
/* Write the table with its heading, indented by two. `bold` marks the heading for a
 * terminal; a last column of text is wrapped at `width`. */
void cv_table_write(const struct cv_table *table, bool bold, size_t width,
                    struct cv_text *out);

/* A number alone: five significant digits, units of a million and more with a prefix.
 * Returns `buffer`. */
enum { CV_NUMBER_ROOM = 32 };
const char *cv_show_number(double value, char buffer[CV_NUMBER_ROOM]);
const char *cv_show_units(double value, char buffer[CV_NUMBER_ROOM]);

/* Add words starting at column `at`, broken at `width`, later lines indented. '\n'
 * starts a new paragraph. No newline at the end. */
void cv_wrap(struct cv_text *out, const char *words, size_t at, size_t indent,
             size_t width);

/* Columns that a UTF-8 text takes, counted as one per character. */
size_t cv_shown_width(const char *text);

#endif
