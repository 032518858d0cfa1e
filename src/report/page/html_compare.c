/* html_compare.c -- policies side by side as one page. SPDX-License-Identifier: MIT */
#include "report/page/html_compare.h"

#include <math.h>
#include "report/page/html_page.h"
#include "report/page/plot.h"

enum { MOST_CURVES = 64 }; /* in a plot; the tables have all */

/* Which is best for a value; napplicable when none is. */
static size_t best_at(const struct cv_compare_sheet *sheet, size_t i)
{
    size_t best = sheet->napplicable;

    for (size_t c = 0; c < sheet->napplicable; c++) {
        const double value = sheet->curves[c].value[i];

        if (isnan(value))
            continue;
        if (best == sheet->napplicable ||
            (sheet->more_is_better ? value > sheet->curves[best].value[i]
                                   : value < sheet->curves[best].value[i]))
            best = c;
    }
    return best;
}

static void put_head(const struct cv_compare_sheet *sheet, FILE *file)
{
    fputs("<header>\n<p class=\"eyebrow\">cleave comparison</p>\n<h1>", file);
    cv_page_text(file, sheet->title);
    fputs("</h1>\n<p class=\"lead\">", file);
    fprintf(file, "%zu %s", sheet->napplicable,
            sheet->napplicable == 1 ? "policy" : "policies");
    if (sheet->what != NULL) {
        fprintf(file, " for %zu values of ", sheet->nvalues);
        cv_page_text(file, sheet->what);
    }
    fputs("; ", file);
    cv_page_text(file, sheet->facts);
    fputs(".</p>\n</header>\n<main>\n", file);
}

/* "latency, s" */
static const char *axis_label(const struct cv_compare_sheet *sheet, char *label,
                              size_t size)
{
    if (sheet->what == NULL)
        return "";
    snprintf(label, size, "%s%s%s", sheet->what, sheet->unit[0] != '\0' ? ", " : "",
             sheet->unit);
    return label;
}

/* --- plots -------------------------------------------------------------------------- */

static size_t curves_drawn(const struct cv_compare_sheet *sheet)
{
    return sheet->napplicable < MOST_CURVES ? sheet->napplicable : MOST_CURVES;
}

static void put_keys(const struct cv_compare_sheet *sheet, FILE *file)
{
    fputs("<ul class=\"keys\">\n", file);
    for (size_t c = 0; c < curves_drawn(sheet); c++) {
        fprintf(file,
                "<li><button type=\"button\" data-series=\"%zu\" aria-pressed=\"true\">",
                c);
        cv_plot_key(file, c);
        fputc(' ', file);
        cv_page_text(file, sheet->curves[c].name);
        fputs("</button></li>\n", file);
    }
    fputs("</ul>\n", file);
}

static void put_figure(const struct cv_compare_sheet *sheet, const struct cv_plot *plot,
                       const char *caption, FILE *file)
{
    fputs("<figure class=\"figure\">\n", file);
    if (sheet->what != NULL)
        cv_plot_curves(file, plot);
    else
        cv_plot_bars(file, plot);
    fputs("<figcaption>", file);
    cv_page_text(file, caption);
    fputs("</figcaption>\n</figure>\n", file);
}

static void put_values_plot(const struct cv_compare_sheet *sheet, FILE *file)
{
    struct cv_plot_series series[MOST_CURVES];
    char label[64];
    struct cv_plot plot = { .x_label = axis_label(sheet, label, sizeof label),
                            .y_label = sheet->measure,
                            .x = sheet->at,
                            .nx = sheet->nvalues,
                            .log_x = sheet->by_factors,
                            .series = series,
                            .nseries = curves_drawn(sheet),
                            .bound = sheet->bound };
    bool bands = false;

    for (size_t c = 0; c < plot.nseries; c++) {
        const struct cv_compare_curve *curve = &sheet->curves[c];

        series[c] =
            (struct cv_plot_series){ curve->name, curve->value, curve->low, curve->high };
        bands = bands || curve->low != NULL;
    }
    fputs("<section aria-labelledby=\"values\">\n<h2 id=\"values\">", file);
    fputs(sheet->more_is_better ? "How much is done" : "How long it takes", file);
    fputs("</h2>\n", file);
    put_figure(sheet, &plot,
               bands
                   ? sheet->what != NULL
                         ? "Dashed: the bound that no schedule can beat for the costs as "
                           "declared. Bands hold 80% of the runs. A line of several "
                           "colours is several curves."
                         : "Dashed: the bound that no schedule can beat for the costs as "
                           "declared. Whiskers hold 80% of the runs."
               : sheet->what != NULL
                   ? "Dashed: the bound that no schedule can beat. A line of several "
                     "colours is several curves."
                   : "Dashed: the bound that no schedule can beat.",
               file);
    if (sheet->what != NULL)
        put_keys(sheet, file);
    fputs("</section>\n", file);
}

static void put_over_plot(const struct cv_compare_sheet *sheet, FILE *file)
{
    struct cv_plot_series series[MOST_CURVES];
    char label[64];
    struct cv_plot plot = { .x_label = axis_label(sheet, label, sizeof label),
                            .y_label = sheet->more_is_better ? "bound above work, %"
                                                             : "over the bound, %",
                            .x = sheet->at,
                            .nx = sheet->nvalues,
                            .log_x = sheet->by_factors,
                            .series = series,
                            .nseries = curves_drawn(sheet) };

    if (sheet->what == NULL)
        return;
    for (size_t c = 0; c < plot.nseries; c++)
        series[c] = (struct cv_plot_series){ sheet->curves[c].name, sheet->curves[c].over,
                                             NULL, NULL };
    fputs("<section aria-labelledby=\"over\">\n<h2 id=\"over\">How far from the "
          "bound</h2>\n",
          file);
    put_figure(sheet, &plot, "The same, relative to the bound for each value.", file);
    fputs("</section>\n", file);
}

/* --- tables ------------------------------------------------------------------------- */

/* Runs of values with the same best policy. */
static void put_best(const struct cv_compare_sheet *sheet, FILE *file)
{
    if (sheet->what == NULL)
        return;
    fputs("<section aria-labelledby=\"best\">\n<h2 id=\"best\">Which is best where</h2>\n"
          "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">",
          file);
    cv_page_text(file, sheet->what);
    fputs("</th><th scope=\"col\">Best</th><th scope=\"col\" class=\"n\">Over the "
          "bound</th>"
          "</tr></thead>\n<tbody>\n",
          file);
    for (size_t i = 0; i < sheet->nvalues;) {
        const size_t best = best_at(sheet, i), first = i;
        double max = 0;

        for (; i < sheet->nvalues && best_at(sheet, i) == best; i++)
            if (best < sheet->napplicable)
                max = fmax(max, sheet->curves[best].over[i]);
        fprintf(file, "<tr><td class=\"num\">%.6g", sheet->at[first]);
        if (i - first > 1)
            fprintf(file, " to %.6g", sheet->at[i - 1]);
        fputs("</td><td>", file);
        cv_page_text(file, best < sheet->napplicable ? sheet->curves[best].name
                                                     : "none applies");
        if (best < sheet->napplicable)
            fprintf(file, "</td><td class=\"n\">at most %.2f%%</td></tr>\n", max);
        else
            fputs("</td><td></td></tr>\n", file);
    }
    fputs("</tbody></table></div>\n</section>\n", file);
}

static int decimals_of(const struct cv_compare_sheet *sheet)
{
    double max = 0;

    for (size_t c = 0; c < sheet->napplicable; c++)
        for (size_t i = 0; i < sheet->nvalues; i++)
            max = fmax(max,
                       isnan(sheet->curves[c].value[i]) ? 0 : sheet->curves[c].value[i]);
    return cv_page_decimals(max);
}

static void put_sweep_table(const struct cv_compare_sheet *sheet, FILE *file)
{
    const int decimals = decimals_of(sheet);

    fputs(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"all numbers\">"
        "<table class=\"sort\">\n<thead><tr><th scope=\"col\" class=\"n\">",
        file);
    cv_page_text(file, sheet->what);
    fputs("</th><th scope=\"col\" class=\"n\">bound</th>", file);
    for (size_t c = 0; c < sheet->napplicable; c++) {
        fputs("<th scope=\"col\" class=\"n\">", file);
        cv_page_text(file, sheet->curves[c].name);
        fputs("</th>", file);
    }
    fputs("</tr></thead>\n<tbody>\n", file);
    for (size_t i = 0; i < sheet->nvalues; i++) {
        const size_t best = best_at(sheet, i);

        fprintf(file, "<tr><td class=\"n\" data-v=\"%.17g\">%.6g</td>", sheet->at[i],
                sheet->at[i]);
        cv_page_number_cell(file, sheet->bound[i], decimals);
        for (size_t c = 0; c < sheet->napplicable; c++) {
            cv_page_best_cell(file, sheet->curves[c].value[i], decimals, c == best);
        }
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
}

static void put_rows_table(const struct cv_compare_sheet *sheet, FILE *file)
{
    const int decimals = decimals_of(sheet);
    const bool bands = sheet->napplicable > 0 && sheet->curves[0].low != NULL;

    fputs(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"all numbers\">"
        "<table class=\"sort\">\n<thead><tr><th scope=\"col\">Policy</th>"
        "<th scope=\"col\" class=\"n\">",
        file);
    cv_page_text(file, sheet->measure);
    fputs("</th><th scope=\"col\" class=\"n\">Over the bound</th>", file);
    if (bands)
        fputs("<th scope=\"col\" class=\"n\">10% below</th>"
              "<th scope=\"col\" class=\"n\">90% below</th>",
              file);
    fputs("</tr></thead>\n<tbody>\n", file);
    for (size_t c = 0; c < sheet->napplicable; c++) {
        const struct cv_compare_curve *curve = &sheet->curves[c];

        fputs("<tr><th scope=\"row\">", file);
        cv_page_text(file, curve->name);
        fputs("</th>", file);
        cv_page_number_cell(file, curve->value[0], decimals);
        fprintf(file, "<td class=\"n\" data-v=\"%.9g\">%.2f%%</td>", curve->over[0],
                curve->over[0]);
        if (bands) {
            cv_page_number_cell(file, curve->low[0], decimals);
            cv_page_number_cell(file, curve->high[0], decimals);
        }
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
}

static void put_reasons(const struct cv_compare_sheet *sheet, FILE *file)
{
    if (sheet->napplicable == sheet->ncurves)
        return;
    fputs("<section aria-labelledby=\"not\">\n<h2 id=\"not\">Not compared</h2>\n"
          "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Policy</th>"
          "<th scope=\"col\">Why</th></tr></thead>\n<tbody>\n",
          file);
    for (size_t c = sheet->napplicable; c < sheet->ncurves; c++) {
        fputs("<tr><th scope=\"row\">", file);
        cv_page_text(file, sheet->curves[c].name);
        fputs("</th><td class=\"wrap\">", file);
        cv_page_text(file, sheet->curves[c].reason);
        fputs("</td></tr>\n", file);
    }
    fputs("</tbody></table></div>\n</section>\n", file);
}

static void put_again(const struct cv_compare_sheet *sheet, FILE *file)
{
    fputs("<section aria-labelledby=\"again\">\n<h2 id=\"again\">Do it again</h2>\n"
          "<div class=\"again\"><pre><code>",
          file);
    cv_page_text(file, sheet->command);
    fputs("</code></pre><button type=\"button\" class=\"copy live\">Copy</button></div>\n"
          "<dl class=\"facts\"><dt>Made with</dt><dd>",
          file);
    cv_page_text(file, sheet->facts);
    fputs("</dd><dt>Bound</dt><dd>", file);
    cv_page_text(file, sheet->bound_name);
    fputs("</dd></dl>\n</section>\n", file);
}

void cv_compare_write(const struct cv_compare_sheet *sheet, FILE *file)
{
    cv_page_open(file, sheet->title, false);
    put_head(sheet, file);
    put_values_plot(sheet, file);
    put_over_plot(sheet, file);
    put_best(sheet, file);
    fputs("<section aria-labelledby=\"numbers\">\n<h2 id=\"numbers\">Numbers</h2>\n",
          file);
    if (sheet->what != NULL)
        put_sweep_table(sheet, file);
    else
        put_rows_table(sheet, file);
    fputs("</section>\n", file);
    put_reasons(sheet, file);
    put_again(sheet, file);
    fputs("</main>\n", file);
    cv_page_close(file, false);
}
