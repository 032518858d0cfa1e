/* figure.h -- figures and tables of the papers, made again. SPDX-License-Identifier: MIT
 *
 * A figure is a table of numbers and what the paper claims of them, each claim judged.
 * A new figure is a file in one of these folders and a row in figure_list.h, which gives
 * it its name. */
#ifndef CV_FIGURE_H
#define CV_FIGURE_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/error.h>
#include "base/arena.h"
#include "base/fail.h"

struct cv_figure_job {
    unsigned threads; /* 0: one per usable core                             */
    bool quick;       /* a rough version in seconds                         */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
};

struct cv_figure_row {
    const char *label;
    double *values; /* one per column; NAN: none */
    bool file_only; /* for files: there are too many to show */
    struct cv_figure_row *next;
};

struct cv_claim {
    const char *claim;   /* what the paper says        */
    const char *numbers; /* what came out              */
    bool holds;
    struct cv_claim *next;
};

struct cv_figure_result {
    struct cv_arena arena;      /* owns all below                    */
    const char *label;          /* heading of the first column       */
    const char *const *columns; /* static                            */
    size_t ncolumns;
    size_t nshown; /* columns to show in text, the rest is for files; 0: all */
    struct cv_figure_row *rows, **last_row;
    struct cv_claim *claims, **last_claim;
    struct cv_figure_plot *plots, **last_plot; /* panels, see figure_plot.h  */
    const char *note;                          /* static: how it was made; or NULL  */
};

struct cv_figure {
    const char *title;
    const char *source; /* where it is in print: "Yang and Casanova, Figure 4"      */
    const char *says;   /* what is claimed of it there, in a sentence or two        */
    enum cleave_status (*make)(const struct cv_figure_job *job,
                               struct cv_figure_result *result, struct cleave_error *err);
};

/* Make a figure; on success the result is to be released with cv_figure_done. */
enum cleave_status cv_figure_make(const struct cv_figure *figure,
                                  const struct cv_figure_job *job,
                                  struct cv_figure_result *result,
                                  struct cleave_error *err);
void cv_figure_done(struct cv_figure_result *result);

/* For those who make figures: a row of result->ncolumns values to fill, or NULL. */
double *cv_figure_row(struct cv_figure_result *result, const char *label, ...)
    CV_PRINTF(2, 3);
/* The same for a row that only files have. */
double *cv_figure_file_row(struct cv_figure_result *result, const char *label, ...)
    CV_PRINTF(2, 3);
enum cleave_status cv_figure_claim(struct cv_figure_result *result, bool holds,
                                   struct cleave_error *err, const char *claim,
                                   const char *numbers, ...) CV_PRINTF(5, 6);

#endif
