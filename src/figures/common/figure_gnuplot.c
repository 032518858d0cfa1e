/* figure_gnuplot.c -- figures drawn by gnuplot. SPDX-License-Identifier: MIT
 *
 * Curves differ in colour, dash and mark, and cells and bars carry their text, for
 * readers who cannot tell colours apart. Commands and messages go through temporary
 * files: a pipe could fill up, or break if gnuplot exits early. */
#include "figures/common/figure_gnuplot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fail.h"
#include "base/text.h"

enum { PANEL_WIDTH = 760, PANEL_HEIGHT = 520, COLOURS = 7 };

/* Most people can tell these apart; dark and light alternate. */
static const char *const colours[COLOURS] = { "#000000", "#d55e00", "#0072b2", "#56b4e9",
                                              "#009e73", "#e69f00", "#cc79a7" };
static const int marks[COLOURS] = { 7, 5, 9, 6, 4, 8, 13 };
static const int dashes[COLOURS] = { 1, 2, 4, 5, 1, 2, 3 };
/* Cells of letters and bars: from dark to light. */
static const unsigned shades[CV_BAR_KINDS] = { 0x3b6ea5, 0xf2b56b, 0xd9d9d9, 0xa8d5a2 };

static void quote(struct cv_text *out, const char *text)
{
    cv_text_add(out, "\"");
    for (; *text != '\0'; text++)
        cv_text_add(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    cv_text_add(out, "\"");
}

static void set_text(struct cv_text *out, const char *what, const char *text)
{
    if (text == NULL) {
        cv_text_add(out, "unset %s\n", what);
        return;
    }
    cv_text_add(out, "set %s ", what);
    quote(out, text);
    cv_text_add(out, "\n");
}

static void name_tics(struct cv_text *out, char axis, const char **names, size_t n)
{
    size_t length = 0;
    bool rotate;

    for (size_t i = 0; i < n; i++)
        length += strlen(names[i]) + 2;
    rotate = axis == 'x' && length > 90;
    if (rotate)
        cv_text_add(out, "set rmargin 12\n"); /* the last name extends beyond the axis */
    cv_text_add(out, "set %ctics%s (", axis, rotate ? " rotate by -25" : "");
    for (size_t i = 0; i < n; i++) {
        quote(out, names[i]);
        cv_text_add(out, " %zu%s", i, i + 1 < n ? ", " : ")\n");
    }
}

/* --- curves ------------------------------------------------------------------------- */

static void add_points(struct cv_text *out, const struct cv_figure_plot *plot, int panel)
{
    int k = 0;

    for (const struct cv_figure_series *s = plot->series; s != NULL; s = s->next, k++) {
        cv_text_add(out, "$p%d_%d << END\n", panel, k);
        for (size_t i = 0; i < s->n; i++) {
            if (!isfinite(s->y[i]))
                continue;
            cv_text_add(out, "%.9g %.9g", s->x[i], s->y[i]);
            if (s->low != NULL)
                cv_text_add(out, " %.9g %.9g", s->low[i], s->high[i]);
            cv_text_add(out, "\n");
        }
        cv_text_add(out, "END\n");
    }
}

static void set_range(struct cv_text *out, char axis, double from, double to, bool log)
{
    const char *comma = "";

    if (log)
        cv_text_add(out, "set logscale %c\nset format %c '%%g'\n", axis, axis);
    if (from == 0 && to == 0) {
        cv_text_add(out, "set %crange [*:*]%s\n", axis, log ? " noextend" : "");
        return;
    }
    cv_text_add(out, "set %crange [%.9g:%.9g]\n", axis, from, to);
    if (!log || to / from > 200)
        return;
    cv_text_add(out, "set %ctics (", axis); /* powers of ten alone would be too few */
    for (int power = (int)floor(log10(from)); power <= (int)log10(to); power++)
        for (int digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3) {
            const double value = digit * pow(10, power);

            if (value >= from && value <= to) {
                cv_text_add(out, "%s%g", comma, value);
                comma = ", ";
            }
        }
    cv_text_add(out, ")\n");
}

static void add_curves(struct cv_text *out, const struct cv_figure_plot *plot, int panel)
{
    static const char *const with[] = { "linespoints", "lines", "steps", "points" };
    const char *comma = "plot ";
    int k = 0;

    add_points(out, plot, panel);
    set_range(out, 'x', plot->x_from, plot->x_to, plot->log_x);
    set_range(out, 'y', plot->y_from, plot->y_to, plot->log_y);
    if (plot->labels) {
        name_tics(out, 'x', plot->x_names, plot->nrows);
        cv_text_add(out, "set xrange [-0.5:%zu.5]\n", plot->nrows - 1);
    }
    cv_text_add(out, "set grid back linecolor rgb '#d0d0d0' linetype 1 linewidth 0.5\n");
    for (const struct cv_figure_series *s = plot->series; s != NULL; s = s->next, k++)
        if (s->low != NULL) {
            cv_text_add(out,
                        "%s$p%d_%d using 1:3:4 with filledcurves notitle fillstyle "
                        "transparent solid 0.12 noborder linecolor rgb '%s'",
                        comma, panel, k, colours[k % COLOURS]);
            comma = ", ";
        }
    k = 0;
    for (const struct cv_figure_series *s = plot->series; s != NULL; s = s->next, k++) {
        cv_text_add(out, "%s$p%d_%d using 1:2 with %s linewidth 1.6 dashtype %d ", comma,
                    panel, k, with[s->line], dashes[k % COLOURS]);
        cv_text_add(out, "linecolor rgb '%s' ", colours[k % COLOURS]);
        if (s->line == CV_LINE_MARKED || s->line == CV_LINE_MARKS)
            cv_text_add(out, "pointtype %d pointsize 0.7 ", marks[k % COLOURS]);
        if (s->name == NULL)
            cv_text_add(out, "notitle");
        else {
            cv_text_add(out, "title ");
            quote(out, s->name);
        }
        comma = ", ";
    }
    cv_text_add(out, "\n");
}

/* --- maps --------------------------------------------------------------------------- */

/* Between white and blue, dark enough to tell and light enough for black text. */
static unsigned tint(double part)
{
    const unsigned from[3] = { 0xff, 0xff, 0xf2 }, to[3] = { 0x5b, 0x8f, 0xc7 };
    unsigned mixed = 0;

    for (int i = 0; i < 3; i++)
        mixed = mixed << 8 | (unsigned)lround((1 - part) * from[i] + part * to[i]);
    return mixed;
}

static double cell_value(const struct cv_figure_plot *plot, size_t row, size_t column)
{
    return plot->result->rows[plot->first_row + row].values[column];
}

static void find_range(const struct cv_figure_plot *plot, double *min, double *max)
{
    *min = INFINITY;
    *max = -INFINITY;
    for (size_t row = 0; row < plot->nrows; row++)
        for (size_t column = 0; column < plot->ncolumns; column++) {
            const double value = cell_value(plot, row, column);

            if (isfinite(value)) {
                *min = fmin(*min, value);
                *max = fmax(*max, value);
            }
        }
}

static void add_cell(struct cv_text *out, const struct cv_figure_plot *plot, size_t row,
                     size_t column, double min, double max)
{
    const double value = cell_value(plot, row, column);
    char text[64] = "-";
    unsigned shade = 0xffffff;

    if (plot->kinds != NULL && isfinite(value)) {
        shade = shades[(unsigned)value % CV_BAR_KINDS];
        snprintf(text, sizeof text, "%.1s", plot->kind_names[(unsigned)value]);
    } else if (isfinite(value)) {
        shade = tint(max > min ? (value - min) / (max - min) : 0);
        snprintf(text, sizeof text, "%.*f", plot->decimals, value);
    } else if (isinf(value))
        snprintf(text, sizeof text, "inf");
    cv_text_add(out, "%zu %zu %u ", column, row, shade);
    quote(out, text);
    cv_text_add(out, " %u\n", plot->kinds != NULL && shade == shades[0] ? 0xffffffu : 0u);
}

/* Squares in the legend for what letters and bars stand for. */
static void add_legend(struct cv_text *out, const struct cv_figure_plot *plot)
{
    for (size_t i = 0; i < plot->nkinds; i++) {
        cv_text_add(out,
                    ", keyentry with boxes fillstyle solid 1 border linecolor rgb "
                    "'black' fillcolor rgb %u title ",
                    shades[i % CV_BAR_KINDS]);
        quote(out, plot->kind_names[i]);
    }
    cv_text_add(out, "\n");
}

static void add_map(struct cv_text *out, const struct cv_figure_plot *plot, int panel)
{
    double min, max;

    find_range(plot, &min, &max);
    cv_text_add(out, "$p%d << END\n", panel);
    for (size_t row = 0; row < plot->nrows; row++)
        for (size_t column = 0; column < plot->ncolumns; column++)
            add_cell(out, plot, row, column, min, max);
    cv_text_add(out, "END\n");
    name_tics(out, 'x', plot->x_names, plot->ncolumns);
    name_tics(out, 'y', plot->y_names, plot->nrows);
    cv_text_add(out,
                "set xrange [-0.5:%zu.5]\nset yrange [-0.5:%zu.5]\nunset grid\n"
                "plot $p%d using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with "
                "boxxyerror fillstyle solid 1 noborder linecolor rgb variable notitle, "
                "$p%d using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5) with boxxyerror "
                "fillstyle empty linecolor rgb '#808080' notitle, "
                "$p%d using 1:2:(strcol(4)):5 with labels font ',%d' textcolor rgb "
                "variable notitle",
                plot->ncolumns - 1, plot->nrows - 1, panel, panel, panel,
                plot->ncolumns > 12 || plot->nrows > 20 ? 9 : 11);
    add_legend(out, plot);
}

/* --- bars --------------------------------------------------------------------------- */

static void add_bars(struct cv_text *out, const struct cv_figure_plot *plot, int panel)
{
    double last = 0;

    cv_text_add(out, "$p%d << END\n", panel);
    for (const struct cv_bar *bar = plot->bars; bar != NULL; bar = bar->next) {
        cv_text_add(out, "%.9g %u %.9g %.9g %u ", (bar->from + bar->to) / 2, bar->row,
                    bar->from, bar->to, shades[bar->kind % CV_BAR_KINDS]);
        quote(out, bar->text != NULL ? bar->text : " ");
        cv_text_add(out, " %u\n", bar->kind % CV_BAR_KINDS == 0 ? 0xffffffu : 0u);
        last = fmax(last, bar->to);
    }
    cv_text_add(out, "END\n");
    name_tics(out, 'y', plot->y_names, plot->nrows);
    cv_text_add(out, "set xtics auto\n");
    if (plot->x_to == 0)
        cv_text_add(out, "set xrange [0:%.9g]\n", 1.02 * last);
    else
        set_range(out, 'x', plot->x_from, plot->x_to, false);
    cv_text_add(out,
                "set yrange [%zu.5:-0.5]\nset grid xtics back linecolor rgb '#d0d0d0' "
                "linetype 1 linewidth 0.5\n"
                "plot $p%d using 1:2:3:4:($2-0.38):($2+0.38):5 with boxxyerror fillstyle "
                "solid 1 noborder linecolor rgb variable notitle, $p%d using "
                "1:2:3:4:($2-0.38):($2+0.38) with boxxyerror fillstyle empty "
                "linecolor rgb 'black' notitle, $p%d using 1:2:(strcol(6)):7 with "
                "labels font ',10' textcolor rgb variable notitle",
                plot->nrows - 1, panel, panel, panel);
    add_legend(out, plot);
}

/* --- the whole ---------------------------------------------------------------------- */

static void add_panel(struct cv_text *out, const struct cv_figure_plot *plot, int panel)
{
    cv_text_add(out,
                "reset\nset encoding utf8\nset key below center horizontal "
                "samplen 3 spacing 1.1 height 0.7\nset tics nomirror out\nset border 3\n"
                "set rmargin 5\n");
    set_text(out, "title", plot->title);
    set_text(out, "xlabel", plot->x_label);
    set_text(out, "ylabel", plot->y_label);
    if (plot->kind == CV_PLOT_CURVES)
        add_curves(out, plot, panel);
    else if (plot->kind == CV_PLOT_MAP)
        add_map(out, plot, panel);
    else
        add_bars(out, plot, panel);
}

/* Bars need no more height than their rows, maps of many rows more than a panel has. */
static int panel_height(const struct cv_figure_plot *plot)
{
    if (plot->kind == CV_PLOT_BARS)
        return 150 + 34 * (int)plot->nrows;
    if (plot->kind == CV_PLOT_MAP && plot->nrows > 16)
        return 160 + 22 * (int)plot->nrows;
    return PANEL_HEIGHT;
}

static void add_script(const char *name, const struct cv_figure_result *result,
                       struct cv_text *out)
{
    int panels = 0, columns, rows, height = 0, panel = 0;

    for (const struct cv_figure_plot *plot = result->plots; plot != NULL;
         plot = plot->next) {
        panels++;
        height = panel_height(plot) > height ? panel_height(plot) : height;
    }
    columns = panels > 1 ? 2 : 1;
    rows = (panels + columns - 1) / columns;
    cv_text_add(out, "set terminal svg noenhanced size %d,%d font 'sans-serif,13' name '",
                columns * PANEL_WIDTH, rows * height);
    for (; *name != '\0'; name++) /* an identifier */
        cv_text_add(out, "%c", *name == '-' ? '_' : *name);
    cv_text_add(out, "' background rgb 'white'\n");
    if (panels > 1)
        cv_text_add(out, "set multiplot layout %d,%d\n", rows, columns);
    for (const struct cv_figure_plot *plot = result->plots; plot != NULL;
         plot = plot->next)
        add_panel(out, plot, panel++);
    if (panels > 1)
        cv_text_add(out, "unset multiplot\n");
}

/* --- running gnuplot ---------------------------------------------------------------- */

/* The first line with text. */
static void first_line(FILE *file, char *line, size_t size)
{
    line[0] = '\0';
    rewind(file);
    while (fgets(line, (int)size, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strspn(line, " \t^") < strlen(line))
            return;
    }
    snprintf(line, size, "no message");
}

static int wait_for(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static enum cleave_status spawn(int in, int out, FILE *messages, struct cleave_error *err)
{
    static const char *const words[] = { "gnuplot", "-d", "-", NULL };
    char said[160];
    pid_t child;
    int failed, status;

    failed = cv_start_program(words[0], words, in, out, fileno(messages), &child);
    if (failed != 0)
        return cv_fail(err, CLEAVE_EENGINE, "cannot start gnuplot: %s", strerror(failed));
    status = wait_for(child);
    if (status == 127)
        return cv_fail(err, CLEAVE_EENGINE, "cannot start gnuplot");
    if (status == 0)
        return CLEAVE_OK;
    first_line(messages, said, sizeof said);
    return cv_fail(err, CLEAVE_EENGINE, "gnuplot failed: %s", said);
}

static enum cleave_status run(const char *commands, size_t length, int out,
                              struct cleave_error *err)
{
    FILE *input = tmpfile(), *messages = tmpfile();
    enum cleave_status status;

    if (input == NULL || messages == NULL ||
        fwrite(commands, 1, length, input) != length || fflush(input) != 0 ||
        lseek(fileno(input), 0, SEEK_SET) != 0)
        status = cv_fail(err, CLEAVE_EENGINE,
                         "cannot write the commands for gnuplot to a temporary file: %s",
                         strerror(errno));
    else
        status = spawn(fileno(input), out, messages, err);
    if (input != NULL)
        fclose(input);
    if (messages != NULL)
        fclose(messages);
    return status;
}

enum cleave_status cv_gnuplot_check(struct cleave_error *err)
{
    static const char commands[] = "set terminal svg\n";
    FILE *drawn = tmpfile();
    enum cleave_status status;

    if (drawn == NULL)
        return cv_fail(err, CLEAVE_EENGINE, "cannot make a temporary file: %s",
                       strerror(errno));
    status = run(commands, sizeof commands - 1, fileno(drawn), err);
    fclose(drawn);
    return status;
}

enum cleave_status cv_gnuplot_draw(const char *name,
                                   const struct cv_figure_result *result, int out,
                                   struct cleave_error *err)
{
    struct cv_text script = { NULL, 0, 0, false };
    enum cleave_status status;

    add_script(name, result, &script);
    status = script.failed ? cv_fail_memory(err, "a figure")
                           : run(script.bytes, script.length, out, err);
    cv_text_done(&script);
    return status;
}
