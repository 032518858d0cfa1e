/* html_page.h -- the frame of a page that needs no other file. SPDX-License-Identifier: MIT
 *
 * Writing goes to a FILE; whoever opened it looks whether all was written. */
#ifndef CV_HTML_PAGE_H
#define CV_HTML_PAGE_H
#include <stdbool.h>
#include <stdio.h>

/* All up to the beginning of the body, with the style; the end, with the script. A page that
 * is `served` asks where it came from for what is new. */
void cv_page_open(FILE *file, const char *title, bool served);
void cv_page_close(FILE *file, bool served);

/* Text and values of attributes, with what HTML would take for its own replaced. */
void cv_page_text(FILE *file, const char *text);

/* Text between quotes for JSON inside a script: nothing in it can end the script. */
void cv_page_json_text(FILE *file, const char *text);

/* A number as people read it, and with all digits; JSON's null for what is not finite. */
void cv_page_number(FILE *file, double value);
void cv_page_json_number(FILE *file, double value);

/* How many decimals the numbers of a column need when the largest is `most`, so that it has
 * about five digits; -1 for columns that need exponents. */
int cv_page_decimals(double max);

/* A cell of a table: its number, by which the table sorts, and its text. */
void cv_page_number_cell(FILE *file, double value, int decimals);
/* The same, marked as the best of its row. */
void cv_page_best_cell(FILE *file, double value, int decimals, bool best);
void cv_page_percent_cell(FILE *file, double part);
void cv_page_count_cell(FILE *file, unsigned long long count);

#endif
