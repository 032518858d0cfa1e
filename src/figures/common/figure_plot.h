/* figure_plot.h -- what a figure looks like, apart from who draws it.
 * SPDX-License-Identifier: MIT
 *
 * A figure has one or more panels. A panel holds curves, a map of cells, or bars over
 * time. All of it lives in the arena of the figure's result; texts are borrowed unless
 * said otherwise and must last as long. */
#ifndef CV_FIGURE_PLOT_H
#define CV_FIGURE_PLOT_H
#include <stdbool.h>
#include "base/text.h"
#include "figures/common/figure.h"

enum cv_plot_kind {
    CV_PLOT_CURVES,
    CV_PLOT_MAP,  /* cells in rows and columns, each with its value          */
    CV_PLOT_BARS, /* rows of bars over time: who is busy with what from when */
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
    double *x, *y;      /* points whose y is NAN are left out   */
    double *low, *high; /* a ribbon around the line, or NULL     */
    struct cv_figure_series *next;
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
    /* Curves. */
    bool log_x, log_y;
    double y_from, y_to;        /* both 0: as the curves ask for              */
    double x_from, x_to;        /* the same                                   */
    const char *const *x_names; /* names for x = 0, 1, ..; NULL: numbers      */
    size_t nx_names;
    struct cv_figure_series *series, **last_series;
    /* A map; its rows and columns have names. */
    const char *const *row_names; /* also of bars: row 0 is at the top          */
    size_t nrows;
    const char *const *column_names;
    size_t ncolumns;
    const double *cells;        /* row by row; NAN: an empty cell             */
    int decimals;               /* of a cell's value                          */
    const char *const *letters; /* instead: value 0, 1, .. is shown as these  */
    const char *const *kinds;   /* legend of letters or of bars; ends in NULL */
    /* Bars. */
    struct cv_bar *bars, **last_bar;
    struct cv_figure_plot *next;
};

/* Add a panel like `wanted`, which is copied. */
enum cleave_status cv_plot_add(struct cv_figure_result *result,
                               const struct cv_figure_plot *wanted,
                               struct cv_figure_plot **out, struct cleave_error *err);

/* A curve of n points to fill; with `ribbon` also low and high. */
enum cleave_status cv_plot_series(struct cv_figure_result *result,
                                  struct cv_figure_plot *plot, const char *name, size_t n,
                                  bool ribbon, struct cv_figure_series **out,
                                  struct cleave_error *err);

/* A curve per column of the table, `count` of them from `first` on. x is the number that
 * a row's label begins with; rows whose label begins with none are left out. */
enum cleave_status cv_plot_columns(struct cv_figure_result *result,
                                   struct cv_figure_plot *plot, size_t first,
                                   size_t count, struct cleave_error *err);

/* One row of the table as a curve over the given x. The name is copied. */
enum cleave_status cv_plot_row(struct cv_figure_result *result,
                               struct cv_figure_plot *plot, const char *name,
                               const double *row, size_t count, const double *x,
                               struct cleave_error *err);

/* The first `count` columns of all rows from row `skip` on, at most `nrows` of them, as the cells of a
 * map. Row names are the labels from `cut` characters on. */
enum cleave_status cv_plot_map(struct cv_figure_result *result,
                               struct cv_figure_plot *plot, size_t count, size_t skip,
                               size_t nrows, size_t cut, struct cleave_error *err);

/* One more bar; `text` (may be NULL) is copied. */
enum cleave_status cv_plot_bar(struct cv_figure_result *result,
                               struct cv_figure_plot *plot, const struct cv_bar *bar,
                               struct cleave_error *err);

/* The commands with which gnuplot draws all panels as SVG. */
void cv_plot_script(const char *name, const struct cv_figure_result *result,
                    struct cv_text *out);

#endif
