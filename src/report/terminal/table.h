/* table.h -- aligned tables in text. SPDX-License-Identifier: MIT
 *
 * Numbers of a column have the same number of decimals; the largest shows five
 * significant digits. */
#ifndef CV_TABLE_H
#define CV_TABLE_H
#include <stdbool.h>
#include <stddef.h>
#include "base/text.h"

enum { CV_TABLE_COLUMNS = 24 }; /* most a table may have */

struct cv_cell {
    char *text;   /* owned; NULL for numbers */
    double value; /* NAN is shown as "-"     */
};

struct cv_table {
    char *titles; /* owned */
    struct cv_column {
        const char *title;
        char mark;
    } columns[CV_TABLE_COLUMNS];
    size_t ncolumns;
    struct cv_cell *cells; /* owned, row by row */
    size_t ncells, capacity;
    bool failed; /* memory ran out: nothing is written and the output fails too */
};

/* Titles of columns have '|' between, and a mark before them unless the column is text:
 *     #time s   right, five digits
 *     +chunks   right, at most one decimal
 *     ~units    right, in M, G or T if a value reaches a million
 *     %busy     right, 0.1234 is shown as 12.3%
 *     ^over     right, 0.1234 is shown as 12.34% */
void cv_table_init(struct cv_table *table, const char *columns);
void cv_table_done(struct cv_table *table);
/* Add cells, %s for a text, which is copied, %g for a number and %u for a count; rows follow
 * from the number of columns. */
void cv_table_add(struct cv_table *table, const char *format, ...) CV_PRINTF(2, 3);
/* Write the table with its heading, indented by two, and release it. `bold` marks the heading
 * for a terminal; a last column of text is wrapped at `width`. */
void cv_table_take(struct cv_table *table, bool bold, size_t width, struct cv_text *out);

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
