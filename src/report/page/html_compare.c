/* html_compare.c -- policies side by side as one page. SPDX-License-Identifier: MIT */
#include "report/page/html_compare.h"

#include <math.h>
#include "report/page/html_page.h"
#include "report/page/html_chart.h"

enum { MOST_CURVES = 64 }; /* in a plot; the tables have all */

/* The best policy for a value; napplicable: none. */
static size_t best_at(const struct cv_compare_sheet *data, size_t i)
{
    size_t best = data->napplicable;

    for (size_t c = 0; c < data->napplicable; c++) {
        const double value = data->curves[c].value[i];

        if (isnan(value))
            continue;
        if (best == data->napplicable ||
            (data->more_is_better ? value > data->curves[best].value[i]
                                  : value < data->curves[best].value[i]))
            best = c;
    }
    return best;
}

static void put_head(const struct cv_compare_sheet *data, FILE *file)
{
    cv_page_element(file, "<header>\n<p class=\"eyebrow\">cleave comparison</p>\n<h1>",
                    data->title, "</h1>\n<p class=\"lead\">");
    fprintf(file, "%zu %s", data->napplicable,
            data->napplicable == 1 ? "policy" : "policies");
    if (data->what != NULL) {
        fprintf(file, " for %zu values of ", data->nvalues);
        cv_page_text(file, data->what);
    }
    cv_page_element(file, "; ", data->facts, ".</p>\n</header>\n<main>\n");
}

/* "latency, s" */
static const char *axis_label(const struct cv_compare_sheet *data, char *label,
                              size_t size)
{
    if (data->what == NULL)
        return "";
    snprintf(label, size, "%s%s%s", data->what, data->unit[0] != '\0' ? ", " : "",
             data->unit);
    return label;
}

/* --- plots -------------------------------------------------------------------------- */

static size_t curves_drawn(const struct cv_compare_sheet *data)
{
    return data->napplicable < MOST_CURVES ? data->napplicable : MOST_CURVES;
}

static void put_keys(const struct cv_compare_sheet *data, FILE *file)
{
    fputs("<ul class=\"keys\">\n", file);
    for (size_t c = 0; c < curves_drawn(data); c++) {
        fprintf(file,
                "<li><button type=\"button\" data-series=\"%zu\" aria-pressed=\"true\">",
                c);
        cv_plot_key(file, c);
        cv_page_element(file, " ", data->curves[c].name, "</button></li>\n");
    }
    fputs("</ul>\n", file);
}

static void put_figure(const struct cv_compare_sheet *data, const struct cv_plot *plot,
                       const char *caption, FILE *file)
{
    fputs("<figure class=\"figure\">\n", file);
    if (data->what != NULL)
        cv_plot_curves(file, plot);
    else
        cv_plot_bars(file, plot);
    cv_page_element(file, "<figcaption>", caption, "</figcaption>\n</figure>\n");
}

static void put_values_plot(const struct cv_compare_sheet *data, FILE *file)
{
    struct cv_plot_series series[MOST_CURVES];
    char label[64];
    struct cv_plot plot = { .x_label = axis_label(data, label, sizeof label),
                            .y_label = data->measure,
                            .x = data->at,
                            .nx = data->nvalues,
                            .log_x = data->by_factors,
                            .series = series,
                            .nseries = curves_drawn(data),
                            .bound = data->bound };
    bool bands = false;

    for (size_t c = 0; c < plot.nseries; c++) {
        const struct cv_compare_curve *curve = &data->curves[c];

        series[c] =
            (struct cv_plot_series){ curve->name, curve->value, curve->low, curve->high };
        bands = bands || curve->low != NULL;
    }
    fprintf(file, "<section aria-labelledby=\"values\">\n<h2 id=\"values\">%s</h2>\n",
            data->more_is_better ? "How much is done" : "How long it takes");
    put_figure(data, &plot,
               bands
                   ? data->what != NULL
                         ? "Dashed: the bound that no schedule can beat for the costs as "
                           "declared. Bands hold 80% of the runs. A line of several "
                           "colours is several curves."
                         : "Dashed: the bound that no schedule can beat for the costs as "
                           "declared. Whiskers hold 80% of the runs."
               : data->what != NULL
                   ? "Dashed: the bound that no schedule can beat. A line of several "
                     "colours is several curves."
                   : "Dashed: the bound that no schedule can beat.",
               file);
    if (data->what != NULL)
        put_keys(data, file);
    fputs("</section>\n", file);
}

static void put_over_plot(const struct cv_compare_sheet *data, FILE *file)
{
    struct cv_plot_series series[MOST_CURVES];
    char label[64];
    struct cv_plot plot = { .x_label = axis_label(data, label, sizeof label),
                            .y_label = data->more_is_better ? "bound above work, %"
                                                            : "over the bound, %",
                            .x = data->at,
                            .nx = data->nvalues,
                            .log_x = data->by_factors,
                            .series = series,
                            .nseries = curves_drawn(data) };

    if (data->what == NULL)
        return;
    for (size_t c = 0; c < plot.nseries; c++)
        series[c] = (struct cv_plot_series){ data->curves[c].name, data->curves[c].over,
                                             NULL, NULL };
    fputs("<section aria-labelledby=\"over\">\n<h2 id=\"over\">How far from the "
          "bound</h2>\n",
          file);
    put_figure(data, &plot, "The same, relative to the bound for each value.", file);
    fputs("</section>\n", file);
}

/* --- tables ------------------------------------------------------------------------- */

/* Runs of values with the same best policy. */
static void put_best(const struct cv_compare_sheet *data, FILE *file)
{
    if (data->what == NULL)
        return;
    fputs("<section aria-labelledby=\"best\">\n<h2 id=\"best\">Which is best where</h2>\n"
          "<div class=\"scroll\"><table>\n<thead><tr>",
          file);
    cv_page_element(
        file, "<th scope=\"col\">", data->what,
        "</th><th scope=\"col\">Best</th><th scope=\"col\" class=\"n\">Over the "
        "bound</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < data->nvalues;) {
        const size_t best = best_at(data, i), first = i;
        double max = 0;

        for (; i < data->nvalues && best_at(data, i) == best; i++)
            if (best < data->napplicable)
                max = fmax(max, data->curves[best].over[i]);
        fprintf(file, "<tr><td class=\"num\">%.6g", data->at[first]);
        if (i - first > 1)
            fprintf(file, " to %.6g", data->at[i - 1]);
        if (best == data->napplicable) {
            fputs("</td><td>none applies</td><td></td></tr>\n", file);
            continue;
        }
        cv_page_element(file, "</td><td>", data->curves[best].name, "</td>");
        fprintf(file, "<td class=\"n\">at most %.2f%%</td></tr>\n", max);
    }
    fputs("</tbody></table></div>\n</section>\n", file);
}

static int decimals_of(const struct cv_compare_sheet *data)
{
    double max = 0;

    for (size_t c = 0; c < data->napplicable; c++)
        for (size_t i = 0; i < data->nvalues; i++)
            max =
                fmax(max, isnan(data->curves[c].value[i]) ? 0 : data->curves[c].value[i]);
    return cv_page_decimals(max);
}

static const char open_numbers[] =
    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"all numbers\">"
    "<table class=\"sort\">\n<thead><tr>";
static const char number_head[] = "<th scope=\"col\" class=\"n\">";

static void put_sweep_table(const struct cv_compare_sheet *data, FILE *file)
{
    const int decimals = decimals_of(data);

    fputs(open_numbers, file);
    cv_page_element(file, number_head, data->what,
                    "</th><th scope=\"col\" class=\"n\">bound</th>");
    for (size_t c = 0; c < data->napplicable; c++)
        cv_page_element(file, number_head, data->curves[c].name, "</th>");
    fputs("</tr></thead>\n<tbody>\n", file);
    for (size_t i = 0; i < data->nvalues; i++) {
        const size_t best = best_at(data, i);

        fprintf(file, "<tr><td class=\"n\" data-v=\"%.17g\">%.6g</td>", data->at[i],
                data->at[i]);
        cv_page_number_cell(file, data->bound[i], decimals);
        for (size_t c = 0; c < data->napplicable; c++)
            cv_page_best_cell(file, data->curves[c].value[i], decimals, c == best);
        fputs("</tr>\n", file);
    }
    fputs("</tbody></table></div>\n", file);
}

static void put_rows_table(const struct cv_compare_sheet *data, FILE *file)
{
    const int decimals = decimals_of(data);
    const bool bands = data->napplicable > 0 && data->curves[0].low != NULL;

    fprintf(file, "%s<th scope=\"col\">Policy</th>", open_numbers);
    cv_page_element(file, number_head, data->measure,
                    "</th><th scope=\"col\" class=\"n\">Over the bound</th>");
    if (bands)
        fputs("<th scope=\"col\" class=\"n\">10% below</th>"
              "<th scope=\"col\" class=\"n\">90% below</th>",
              file);
    fputs("</tr></thead>\n<tbody>\n", file);
    for (size_t c = 0; c < data->napplicable; c++) {
        const struct cv_compare_curve *curve = &data->curves[c];

        cv_page_element(file, "<tr><th scope=\"row\">", curve->name, "</th>");
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

static void put_reasons(const struct cv_compare_sheet *data, FILE *file)
{
    if (data->napplicable == data->ncurves)
        return;
    fputs("<section aria-labelledby=\"not\">\n<h2 id=\"not\">Not compared</h2>\n"
          "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Policy</th>"
          "<th scope=\"col\">Why</th></tr></thead>\n<tbody>\n",
          file);
    for (size_t c = data->napplicable; c < data->ncurves; c++) {
        cv_page_element(file, "<tr><th scope=\"row\">", data->curves[c].name, "</th>");
        cv_page_element(file, "<td class=\"wrap\">", data->curves[c].reason,
                        "</td></tr>\n");
    }
    fputs("</tbody></table></div>\n</section>\n", file);
}

static void put_again(const struct cv_compare_sheet *data, FILE *file)
{
    cv_page_again(file, data->command);
    cv_page_element(file, "<dl class=\"facts\"><dt>Made with</dt><dd>", data->facts,
                    "</dd>");
    cv_page_element(file, "<dt>Bound</dt><dd>", data->bound_name,
                    "</dd></dl>\n</section>\n");
}

void cv_compare_write(const struct cv_compare_sheet *data, FILE *file)
{
    cv_page_open(file, data->title, false);
    put_head(data, file);
    put_values_plot(data, file);
    put_over_plot(data, file);
    put_best(data, file);
    fputs("<section aria-labelledby=\"numbers\">\n<h2 id=\"numbers\">Numbers</h2>\n",
          file);
    if (data->what != NULL)
        put_sweep_table(data, file);
    else
        put_rows_table(data, file);
    fputs("</section>\n", file);
    put_reasons(data, file);
    put_again(data, file);
    fputs("</main>\n", file);
    cv_page_close(file, false);
}
