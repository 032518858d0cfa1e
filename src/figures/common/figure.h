/* figure.h -- figures and tables of the papers. SPDX-License-Identifier: MIT
 *
 * A figure is a table of numbers, claims of the paper about them, each judged, and one or
 * more panels: curves, a map of cells, or bars over time. A new figure is a struct
 * cv_figure in one of these directories and a row in CV_FIGURES, which gives it its name.
 *
 * All memory of a result is in its arena. If memory runs out, the program prints an error
 * and exits. Texts are borrowed unless noted otherwise. */
#ifndef CV_FIGURE_H
#define CV_FIGURE_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/figures/figure_names.h"

struct cv_figure_job {
    unsigned threads; /* 0: one per usable core                             */
    bool quick;       /* a rough version in seconds                         */
    struct cv_progress *progress;
};

struct cv_figure_row {
    const char *label;
    double *values; /* one per column; NAN: none */
    bool file_only; /* for files: there are too many to show */
};

struct cv_claim {
    const char *claim;   /* the paper's                */
    const char *numbers; /* this figure's              */
    bool holds;
    struct cv_claim *next;
};

struct cv_figure_result {
    struct cv_arena arena;           /* owns all below                    */
    const struct cv_figure_job *job; /* borrowed                     */
    const char *label;               /* heading of the first column       */
    const char **columns;
    size_t ncolumns;
    size_t nshown; /* columns in text, the rest is for files; 0: all */
    struct cv_figure_row *rows;
    size_t nrows, room; /* `room`: for how many rows there is memory */
    bool file_only;     /* rows that are added now are */
    struct cv_claim *claims, **last_claim;
    struct cv_figure_plot *plots, **last_plot; /* panels, see figure.h  */
    const char *note;                          /* static: how it was made; or NULL  */
};

struct cv_figure {
    const char *title;
    const char *source; /* "Yang and Casanova, Figure 4"                            */
    const char *says;   /* claims of the paper, in a sentence or two                */
    void (*make)(struct cv_figure_result *result);
};

#define X(id, name) extern const struct cv_figure cv_figure_##id;
CV_FIGURES(X)
#undef X

/* The arena of the result is the caller's. */
void cv_figure_make(const struct cv_figure *figure, const struct cv_figure_job *job,
                    struct cv_figure_result *result);

struct cv_turn {
    uint64_t number;
    unsigned thread;        /* a small number    */
    struct cv_arena *arena; /* empty in each turn */
};

typedef void cv_figure_body(void *context, const struct cv_turn *turn);
/* Execute `count` turns on the threads of the job, `block` at once. */
void cv_figure_parallel(const struct cv_figure_job *job, uint64_t count, uint64_t block,
                        cv_figure_body *body, void *context);
/* Execute a call that may use `err`; if it fails, print the error and end the program. */
#define CV_MUST(call)                                             \
    do {                                                          \
        struct cleave_error cv_must_error, *err = &cv_must_error; \
                                                                  \
        cv_figure_must((call), err);                              \
    } while (0)
_Noreturn void cv_figure_no_memory(const char *what);
void cv_figure_must(enum cleave_status status, const struct cleave_error *err);
/* Report that `done` of `total` steps are done. */
void cv_figure_progress(const struct cv_figure_job *job, uint64_t done, uint64_t total);
/* Zeroed memory. */
void *cv_figure_alloc(struct cv_figure_result *result, size_t count, size_t size);
/* Headings of the table, those of the columns with '|' between; the note is static. */
void cv_figure_table(struct cv_figure_result *result, const char *label,
                     const char *columns, const char *note);
/* A row of values, all NAN, to fill. */
double *cv_figure_row(struct cv_figure_result *result, const char *label, ...)
    CV_PRINTF(2, 3);
void cv_figure_claim(struct cv_figure_result *result, bool holds, const char *claim,
                     const char *numbers, ...) CV_PRINTF(4, 5);

enum cv_plot_kind {
    CV_PLOT_CURVES,
    CV_PLOT_MAP,  /* cells in rows and columns, each with its value          */
    CV_PLOT_BARS, /* rows of bars over time                                  */
};

enum cv_line {
    CV_LINE_MARKED, /* with a mark per point */
    CV_LINE_PLAIN,
    CV_LINE_STEPS,
    CV_LINE_MARKS, /* marks only            */
};

struct cv_figure_series {
    const char *name; /* in the legend; NULL: none */
    enum cv_line line;
    size_t n;
    double *x, *y;      /* points whose y is NAN are not drawn  */
    double *low, *high; /* a ribbon around the line, or NULL     */
    struct cv_figure_series *next;
};

/* A column of the table that is a curve. */
struct cv_curve {
    const char *name; /* in the legend; NULL: none */
    size_t column;
    enum cv_line line;
    double shift; /* added to x, so that marks do not cover each other */
};

struct cv_bar {
    uint32_t row;
    unsigned kind;    /* index into the panel's kinds          */
    double from, to;  /* seconds                                */
    const char *text; /* inside the bar, or NULL                */
    struct cv_bar *next;
};

enum { CV_BAR_KINDS = 4 };

struct cv_figure_plot {
    enum cv_plot_kind kind;
    const char *title; /* over the panel; NULL: none */
    const char *x_label, *y_label;
    size_t first_row, nrows; /* the rows of the table that are shown; nrows 0: all */
    /* Curves. x is the number at the start of a label; rows without one are skipped. */
    bool log_x, log_y;
    double y_from, y_to; /* both 0: the range of the curves            */
    double x_from, x_to;
    bool labels;     /* x is the number of a row, shown as its label */
    const double *x; /* x of the rows; NULL: see above */
    const struct cv_curve *curves;
    size_t ncurves;
    size_t first_curve; /* without `curves`: columns from here, with their headings */
    struct cv_figure_series *series, **last_series;
    /* A map of the first `ncolumns` columns. Names of rows are their labels without the
     * first `cut` characters, names of columns their headings without the first word. */
    size_t ncolumns, cut;
    int decimals; /* for the values of cells */
    /* The legend of bars or cells, with '|' between. A cell of value 0, 1, .. shows the first
     * letter of its kind instead of a number. */
    const char *kinds;
    const char *bar_rows; /* names of rows of bars from the top, with '|' between */
    struct cv_bar *bars, **last_bar;
    const char **x_names, **y_names; /* of tics; NULL: numbers */
    const char **kind_names;
    size_t nkinds;
    struct cv_figure_result *result; /* borrowed: its table and arena */
    struct cv_figure_plot *next;
};

/* Curves of columns for CV_PLOT_ADD. */
#define CV_CURVES(...)                                  \
    .curves = (const struct cv_curve[]){ __VA_ARGS__ }, \
    .ncurves =                                          \
        sizeof((const struct cv_curve[]){ __VA_ARGS__ }) / sizeof(struct cv_curve)
/* Add a panel with the given members, after the rows: CV_PLOT_ADD(result, .x_label = "R"). */
#define CV_PLOT_ADD(result, ...) \
    cv_plot_add(result, &(struct cv_figure_plot){ __VA_ARGS__ })
struct cv_figure_plot *cv_plot_add(struct cv_figure_result *result,
                                   const struct cv_figure_plot *plot);

/* A curve of n points to fill; with `ribbon` also low and high. */
struct cv_figure_series *cv_plot_series(struct cv_figure_plot *plot, const char *name,
                                        size_t n, bool ribbon);

/* One row of the table as a curve over the given x. The name is copied. */
void cv_plot_row(struct cv_figure_plot *plot, const char *name, const double *row,
                 size_t count, const double *x);

/* One more bar; `text` (may be NULL) is copied. */
void cv_plot_bar(struct cv_figure_plot *plot, const struct cv_bar *bar);

#endif
