/* html_page.h -- the frame of a page that needs no other file.
 * SPDX-License-Identifier: MIT
 *
 * The caller opens the FILE and checks it for errors at the end. */
#ifndef CV_HTML_PAGE_H
#define CV_HTML_PAGE_H
#include <stdbool.h>
#include <stdio.h>

/* The page up to the start of the body, with the style; its end, with the script. A
 * `served` page asks its server for updates. */
void cv_page_open(FILE *file, const char *title, bool served);
void cv_page_close(FILE *file, bool served);

/* Text or the value of an attribute, with characters of HTML escaped. */
void cv_page_text(FILE *file, const char *text);
/* The same between two pieces of HTML. */
void cv_page_element(FILE *file, const char *before, const char *text, const char *after);

/* A number in five digits, and with all digits for JSON: null if it is not finite. */
void cv_page_number(FILE *file, double value);
void cv_page_json_number(FILE *file, double value);

/* Decimals for a column whose largest number is `max`, so that it has about five digits;
 * -1: the column needs exponents. */
int cv_page_decimals(double max);

/* A step of an axis: 1, 2 or 5 times a power of ten, not below `wish`. */
double cv_page_step(double wish);

/* Open a section with its heading. */
void cv_page_section(FILE *file, const char *id, const char *title);

/* Open and close a table in a box that scrolls sideways, which sorts if it has a name. Heads
 * have '|' between; '#' marks columns of numbers, '!' columns that do not sort. */
void cv_page_table(FILE *file, const char *name, const char *heads);
void cv_page_table_end(FILE *file);

/* Open the section with the command that makes the page; NULL: it is not known. */
void cv_page_again(FILE *file, const char *command);

/* Cells of a table, which sorts by their numbers. */
void cv_page_number_cell(FILE *file, double value, int decimals);
void cv_page_best_cell(FILE *file, double value, int decimals, bool best);
void cv_page_percent_cell(FILE *file, double part);
void cv_page_count_cell(FILE *file, unsigned long long count);

#endif
