/* html_compare.c -- policies side by side as one page. SPDX-License-Identifier: MIT */
#include "report/page/html_compare.h"

#include <math.h>
#include "report/page/html_page.h"

enum { MOST_CURVES = 64 }; /* in a plot; the tables have all */

/* --- curves and bars ---------------------------------------------------------------- */

struct plot {
    const char *x_label, *y_label;
    const double *x; /* increasing */
    size_t nx;
    bool log_x;          /* if all are above 0                       */
    const double *bound; /* a dashed curve named "bound"; NULL: none */
    size_t nseries;
    struct cv_compare_curve series[MOST_CURVES]; /* those without low have no band */
};

enum { COLOURS = 18, SHAPES = 4 };
enum { PLOT_WIDTH = 960, HEIGHT = 420, LEFT = 68, RIGHT = 150, TOP = 14, BOTTOM = 50 };
enum { BAR = 26, BAR_LEFT = 170, BAR_RIGHT = 90 };
enum { NAME_GAP = 14 };
enum { DASH = 9 }; /* pixels, for curves with the same points */

/* An axis from `from` to `to`; a logarithmic one counts in powers of ten. */
struct axis {
    double from, to;
    double pixel_from, pixel_to;
    bool log;
};

static double place(const struct axis *axis, double value)
{
    const double v = axis->log ? log10(value) : value;
    const double a = axis->log ? log10(axis->from) : axis->from;
    const double b = axis->log ? log10(axis->to) : axis->to;

    return axis->pixel_from +
           (b > a ? (v - a) / (b - a) : 0.5) * (axis->pixel_to - axis->pixel_from);
}

static void put_tick(FILE *file, const struct axis *axis, bool vertical, double value,
                     const struct axis *other)
{
    const double at = place(axis, value);

    if (vertical)
        fprintf(file,
                "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
                "text-anchor=\"end\">%g</text>\n",
                other->pixel_from, at, other->pixel_to, other->pixel_from - 8, at + 4,
                value);
    else
        fprintf(file,
                "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
                "text-anchor=\"middle\">%g</text>\n",
                at, other->pixel_from, other->pixel_from + 5, at, other->pixel_from + 19,
                value);
}

/* 1, 2, 5, 10, 20, ..., or only powers of ten where those would be many. */
static void put_log_ticks(FILE *file, const struct axis *axis, bool vertical,
                          const struct axis *other)
{
    static const double parts[] = { 1, 2, 5 };
    const int first = (int)floor(log10(axis->from)), last = (int)ceil(log10(axis->to));
    const size_t count = axis->to / axis->from > 1e3 ? 1 : 3;

    for (int power = first; power <= last; power++) {
        for (size_t i = 0; i < count; i++) {
            const double value = parts[i] * pow(10, power);

            if (value >= axis->from * (1 - 1e-9) && value <= axis->to * (1 + 1e-9))
                put_tick(file, axis, vertical, value, other);
        }
    }
}

static void put_ticks(FILE *file, const struct axis *axis, bool vertical,
                      const struct axis *other)
{
    const double span = axis->to - axis->from, step = cv_page_step(span / 7 * (1 - 1e-9));

    if (axis->log && axis->to / axis->from > 8) {
        put_log_ticks(file, axis, vertical, other);
        return;
    }
    if (!(span > 0) || !(fabs(axis->from / step) < 1e9)) /* too close to tell apart */
        return;
    for (int k = (int)ceil(axis->from / step - 1e-9); k * step <= axis->to + 1e-9 * span;
         k++)
        put_tick(file, axis, vertical, k * step, other);
}

/* Marks differ in shape, too, for readers who cannot tell colours apart. */
static void put_mark(FILE *file, size_t index, double x, double y)
{
    const bool open = index / COLOURS % 2 == 1;
    const char *kind = open ? "spot open" : "spot";

    switch (index % SHAPES) {
    case 0:
        fprintf(file, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>", kind, x,
                y);
        break;
    case 1:
        fprintf(file,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"7.5\" height=\"7.5\"/>",
                kind, x - 3.75, y - 3.75);
        break;
    case 2:
        fprintf(file, "<path class=\"%s\" d=\"M%.1f %.1fl4.8 8.4h-9.6z\"/>", kind, x,
                y - 5.4);
        break;
    default:
        fprintf(file, "<path class=\"%s\" d=\"M%.1f %.1fl5 5-5 5-5-5z\"/>", kind, x,
                y - 5);
        break;
    }
}

/* The name of a curve with a small drawing of its line and mark. */
static void put_key(FILE *file, size_t index, const char *name)
{
    fprintf(file,
            "<li><button type=\"button\" data-series=\"%zu\" aria-pressed=\"true\"><svg "
            "class=\"c%zu\" width=\"26\" height=\"14\" aria-hidden=\"true\"><path "
            "class=\"series\" d=\"M1 7H25\"/>",
            index, index % COLOURS);
    put_mark(file, index, 13, 7);
    cv_page_element(file, "</svg> ", name, "</button></li>\n");
}

/* --- curves ------------------------------------------------------------------------- */

struct frame {
    FILE *file;
    const struct plot *plot;
    struct axis x, y;
};

static void widen(struct axis *axis, double value)
{
    if (!isfinite(value))
        return;
    axis->from = fmin(axis->from, value);
    axis->to = fmax(axis->to, value);
}

static void find_range(const struct plot *plot, struct axis *y)
{
    y->from = INFINITY;
    y->to = -INFINITY;
    for (size_t i = 0; i < plot->nx; i++) {
        if (plot->bound != NULL)
            widen(y, plot->bound[i]);
        for (size_t s = 0; s < plot->nseries; s++) {
            widen(y, plot->series[s].value[i]);
            if (plot->series[s].low != NULL) {
                widen(y, plot->series[s].low[i]);
                widen(y, plot->series[s].high[i]);
            }
        }
    }
    if (!isfinite(y->from))
        y->from = y->to = 0;
}

/* Far apart: by factors. Else a little air, and from 0 if that is not far. */
static void choose_range(struct axis *y)
{
    const double span = y->to - y->from;

    if (y->from > 0 && y->to / y->from > 20) {
        y->log = true;
        y->from /= 1.15;
        y->to *= 1.15;
        return;
    }
    if (y->from >= 0 && y->from < 0.35 * y->to)
        y->from = 0;
    else
        y->from -= span > 0 ? 0.06 * span : fabs(y->from) * 0.1 + 1e-9;
    y->to += span > 0 ? 0.06 * span : fabs(y->to) * 0.1 + 1e-9;
}

/* Whether two curves differ by less than a pixel. */
static bool look_alike(const struct frame *frame, const double *a, const double *b)
{
    for (size_t i = 0; i < frame->plot->nx; i++) {
        if (isfinite(a[i]) != isfinite(b[i]))
            return false;
        if (isfinite(a[i]) && fabs(place(&frame->y, a[i]) - place(&frame->y, b[i])) > 1)
            return false;
    }
    return true;
}

/* Curves that look like series `s`, with itself; *out_before of them come before it. */
static size_t count_alike(const struct frame *frame, size_t s, size_t *out_before)
{
    const struct plot *plot = frame->plot;
    size_t count = 1;

    *out_before = 0;
    for (size_t i = 0; i < plot->nseries; i++) {
        if (i == s || !look_alike(frame, plot->series[s].value, plot->series[i].value))
            continue;
        count++;
        *out_before += i < s;
    }
    return count;
}

/* One of `among` curves with the same points, `before` of them drawn before: they take
 * turns in dashes. */
static void put_curve(const struct frame *frame, const double *y, const char *class_name,
                      size_t among, size_t before)
{
    bool down = false;

    fprintf(frame->file, "<path class=\"%s\"", class_name);
    if (among > 1)
        fprintf(frame->file, " stroke-dasharray=\"%d %zu\" stroke-dashoffset=\"-%zu\"",
                DASH, DASH * (among - 1), DASH * before);
    fputs(" d=\"", frame->file);
    for (size_t i = 0; i < frame->plot->nx; i++) {
        const bool there = isfinite(y[i]) && (!frame->y.log || y[i] > 0);

        if (there)
            fprintf(frame->file, "%c%.1f %.1f", down ? 'L' : 'M',
                    place(&frame->x, frame->plot->x[i]), place(&frame->y, y[i]));
        down = there;
    }
    fputs("\"/>\n", frame->file);
}

static void put_band(const struct frame *frame, const struct cv_compare_curve *series)
{
    bool any = false;

    for (size_t i = 0; i < frame->plot->nx; i++)
        if (!isfinite(series->low[i]) || !isfinite(series->high[i]))
            return;
    fprintf(frame->file, "<path class=\"band%s\" d=\"",
            frame->plot->nseries > 4 ? " faint" : "");
    for (size_t i = 0; i < frame->plot->nx; i++, any = true)
        fprintf(frame->file, "%c%.1f %.1f", any ? 'L' : 'M',
                place(&frame->x, frame->plot->x[i]), place(&frame->y, series->high[i]));
    for (size_t i = frame->plot->nx; i-- > 0;)
        fprintf(frame->file, "L%.1f %.1f", place(&frame->x, frame->plot->x[i]),
                place(&frame->y, series->low[i]));
    fputs("Z\"/>\n", frame->file);
}

/* Curves with the same points take turns in marks. */
static void put_points(const struct frame *frame, size_t s, size_t among, size_t before)
{
    const struct cv_compare_curve *series = &frame->plot->series[s];

    for (size_t i = 0; i < frame->plot->nx; i++) {
        if (!isfinite(series->value[i]) || i % among != before)
            continue;
        fputs("<g>", frame->file);
        put_mark(frame->file, s, place(&frame->x, frame->plot->x[i]),
                 place(&frame->y, series->value[i]));
        cv_page_element(frame->file, "<title>", series->name, ": ");
        fprintf(frame->file, "%.6g at %.6g", series->value[i], frame->plot->x[i]);
        if (series->low != NULL && isfinite(series->low[i]))
            fprintf(frame->file, " (%.6g to %.6g)", series->low[i], series->high[i]);
        fputs("</title></g>\n", frame->file);
    }
}

/* Names at the ends of the curves, pushed apart where they would touch. */
static void put_names(const struct frame *frame)
{
    const struct plot *plot = frame->plot;
    double at[MOST_CURVES] = { 0 };
    size_t order[MOST_CURVES] = { 0 }, count = 0;

    for (size_t s = 0; s < plot->nseries; s++) {
        size_t last = plot->nx, k = count;

        while (last > 0 && !isfinite(plot->series[s].value[last - 1]))
            last--;
        if (last == 0)
            continue;
        at[s] = place(&frame->y, plot->series[s].value[last - 1]);
        for (; k > 0 && at[order[k - 1]] > at[s]; k--)
            order[k] = order[k - 1];
        order[k] = s;
        count++;
    }
    for (size_t k = 1; k < count; k++)
        at[order[k]] = fmax(at[order[k]], at[order[k - 1]] + NAME_GAP);
    for (size_t k = count; k-- > 0;)
        at[order[k]] = fmin(at[order[k]], k + 1 < count ? at[order[k + 1]] - NAME_GAP
                                                        : HEIGHT - BOTTOM + 6.0);
    for (size_t k = 0; k < count; k++) {
        fprintf(frame->file, "<text class=\"name s%zu c%zu\" x=\"%d\" y=\"%.1f\"",
                order[k], order[k] % COLOURS, PLOT_WIDTH - RIGHT + 10, at[order[k]] + 4);
        cv_page_element(frame->file, ">", plot->series[order[k]].name, "</text>\n");
    }
}

static void put_curves(FILE *file, const struct plot *plot)
{
    struct frame frame = { .file = file, .plot = plot };

    frame.x = (struct axis){ plot->x[0], plot->x[plot->nx - 1], LEFT, PLOT_WIDTH - RIGHT,
                             plot->log_x && plot->x[0] > 0 };
    find_range(plot, &frame.y);
    choose_range(&frame.y);
    frame.y.pixel_from = HEIGHT - BOTTOM;
    frame.y.pixel_to = TOP;
    fprintf(file, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", PLOT_WIDTH,
            HEIGHT);
    cv_page_text(file, plot->y_label);
    cv_page_element(file, " over ", plot->x_label,
                    "; the table below holds the numbers\">\n");
    put_ticks(file, &frame.y, true, &frame.x);
    put_ticks(file, &frame.x, false, &frame.y);
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" class=\"ink\"",
            (LEFT + PLOT_WIDTH - RIGHT) / 2, HEIGHT - 8);
    cv_page_element(file, ">", plot->x_label, "</text>\n");
    fprintf(file, "<text transform=\"translate(14 %d) rotate(-90)\" ",
            (TOP + HEIGHT - BOTTOM) / 2);
    cv_page_element(file, "text-anchor=\"middle\" class=\"ink\">", plot->y_label,
                    "</text>\n");
    if (plot->bound != NULL)
        put_curve(&frame, plot->bound, "edge", 1, 0);
    for (size_t s = 0; s < plot->nseries; s++) {
        size_t before;
        const size_t among = count_alike(&frame, s, &before);

        fprintf(file, "<g class=\"s%zu c%zu\">\n", s, s % COLOURS);
        if (plot->series[s].low != NULL)
            put_band(&frame, &plot->series[s]);
        put_curve(&frame, plot->series[s].value, "series", among, before);
        put_points(&frame, s, among, before);
        fputs("</g>\n", file);
    }
    put_names(&frame);
    fputs("</svg>\n", file);
}

/* --- bars --------------------------------------------------------------------------- */

static void put_bar(FILE *file, const struct cv_compare_curve *series,
                    const struct axis *axis, double y)
{
    const double to = place(axis, series->value[0]);
    const double end = series->high != NULL ? place(axis, series->high[0]) : to;

    fprintf(file, "<text class=\"ink\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\"",
            BAR_LEFT - 10, y + BAR / 2.0 + 4);
    cv_page_element(file, ">", series->name, "</text>");
    fprintf(file,
            "<rect fill=\"var(--compute)\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%d\" rx=\"2\"/>",
            BAR_LEFT, y + 4, fmax(0, to - BAR_LEFT), BAR - 8);
    if (series->low != NULL && series->high != NULL && series->high[0] > series->low[0])
        fprintf(file,
                "<path stroke=\"var(--ink)\" stroke-width=\"1.5\" fill=\"none\" "
                "d=\"M%.1f %.1fH%.1fm0 -4v8M%.1f %.1fv8\"/>",
                place(axis, series->low[0]), y + BAR / 2.0, place(axis, series->high[0]),
                place(axis, series->low[0]), y + BAR / 2.0 - 4);
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\">", fmax(to, end) + 8, y + BAR / 2.0 + 4);
    cv_page_number(file, series->value[0]);
    fputs("</text>\n", file);
}

static void put_bars(FILE *file, const struct plot *plot)
{
    const double height = (double)plot->nseries * BAR + 56;
    struct axis axis = { 0, 0, BAR_LEFT, PLOT_WIDTH - BAR_RIGHT, false };
    const struct axis base = { 0, 1, height - 46, 0, false };

    if (plot->bound != NULL)
        widen(&axis, plot->bound[0]);
    for (size_t s = 0; s < plot->nseries; s++) {
        widen(&axis, plot->series[s].value[0]);
        if (plot->series[s].high != NULL)
            widen(&axis, plot->series[s].high[0]);
    }
    fprintf(file, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" ", PLOT_WIDTH, height);
    cv_page_element(file, "aria-label=\"", plot->y_label,
                    " of every policy; the table below holds the numbers\">\n");
    put_ticks(file, &axis, false, &base);
    for (size_t s = 0; s < plot->nseries; s++)
        put_bar(file, &plot->series[s], &axis, (double)s * BAR);
    if (plot->bound != NULL)
        fprintf(file, "<path class=\"edge\" d=\"M%.1f 0V%.1f\"/>\n",
                place(&axis, plot->bound[0]), height - 46);
    fprintf(file, "<text class=\"ink\" x=\"%d\" y=\"%.1f\" text-anchor=\"middle\"",
            (BAR_LEFT + PLOT_WIDTH - BAR_RIGHT) / 2, height - 6);
    cv_page_element(file, ">", plot->y_label, "</text>\n</svg>\n");
}

/* --- the page ----------------------------------------------------------------------- */

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

static void put_caption(bool over, bool bands, bool sweep, FILE *file)
{
    fputs("<figcaption>", file);
    if (over)
        fputs("The same, relative to the bound for each value.", file);
    else
        fprintf(file, "Dashed: the bound that no schedule can beat%s.%s%s",
                bands ? " for the costs as declared" : "",
                !bands  ? ""
                : sweep ? " Bands hold 80% of the runs."
                        : " Whiskers hold 80% of the runs.",
                sweep ? " A line of several colours is several curves." : "");
    fputs("</figcaption>\n</figure>\n", file);
}

/* Curves over the swept value, or bars. `over`: how far they are from the bound. */
static void put_plot(const struct cv_compare_sheet *data, bool over, FILE *file)
{
    const bool sweep = data->what != NULL;
    char label[64] = "";
    struct plot plot = { .x_label = label,
                         .y_label = !over                  ? data->measure
                                    : data->more_is_better ? "bound above work, %"
                                                           : "over the bound, %",
                         .x = data->at,
                         .nx = data->nvalues,
                         .log_x = data->by_factors,
                         .bound = over ? NULL : data->bound,
                         .nseries = data->napplicable < MOST_CURVES ? data->napplicable
                                                                    : MOST_CURVES };
    bool bands = false;

    if (sweep)
        snprintf(label, sizeof label, "%s%s%s", data->what,
                 data->unit[0] != '\0' ? ", " : "", data->unit);
    for (size_t c = 0; c < plot.nseries; c++) {
        const struct cv_compare_curve *curve = &data->curves[c];

        plot.series[c] = *curve;
        if (over)
            plot.series[c] =
                (struct cv_compare_curve){ .name = curve->name, .value = curve->over };
        bands = bands || plot.series[c].low != NULL;
    }
    cv_page_section(file, over ? "over" : "values",
                    over                   ? "How far from the bound"
                    : data->more_is_better ? "How much is done"
                                           : "How long it takes");
    fputs("<figure class=\"figure\">\n", file);
    if (sweep)
        put_curves(file, &plot);
    else
        put_bars(file, &plot);
    put_caption(over, bands, sweep, file);
    if (sweep && !over) {
        fputs("<ul class=\"keys\">\n", file);
        for (size_t c = 0; c < plot.nseries; c++)
            put_key(file, c, plot.series[c].name);
        fputs("</ul>\n", file);
    }
    fputs("</section>\n", file);
}

/* --- tables ------------------------------------------------------------------------- */

/* Runs of values with the same best policy. */
static void put_best(const struct cv_compare_sheet *data, FILE *file)
{
    char heads[120];

    if (data->what == NULL)
        return;
    cv_page_section(file, "best", "Which is best where");
    snprintf(heads, sizeof heads, "%s|Best|#Over the bound", data->what);
    cv_page_table(file, NULL, heads);
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
    cv_page_table_end(file);
    fputs("</section>\n", file);
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

static void put_sweep_table(const struct cv_compare_sheet *data, FILE *file)
{
    static const char number_head[] = "<th scope=\"col\" class=\"n\">";
    const int decimals = decimals_of(data);

    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"all "
          "numbers\"><table class=\"sort\">\n<thead><tr>",
          file);
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
    cv_page_table_end(file);
}

static void put_rows_table(const struct cv_compare_sheet *data, FILE *file)
{
    const int decimals = decimals_of(data);
    const bool bands = data->napplicable > 0 && data->curves[0].low != NULL;
    char heads[160];

    snprintf(heads, sizeof heads, "Policy|#%s|#Over the bound%s", data->measure,
             bands ? "|#10% below|#90% below" : "");
    cv_page_table(file, "all numbers", heads);
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
    cv_page_table_end(file);
}

static void put_reasons(const struct cv_compare_sheet *data, FILE *file)
{
    if (data->napplicable == data->ncurves)
        return;
    cv_page_section(file, "not", "Not compared");
    cv_page_table(file, NULL, "Policy|Why");
    for (size_t c = data->napplicable; c < data->ncurves; c++) {
        cv_page_element(file, "<tr><th scope=\"row\">", data->curves[c].name, "</th>");
        cv_page_element(file, "<td class=\"wrap\">", data->curves[c].reason,
                        "</td></tr>\n");
    }
    cv_page_table_end(file);
    fputs("</section>\n", file);
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
    put_plot(data, false, file);
    if (data->what != NULL)
        put_plot(data, true, file);
    put_best(data, file);
    cv_page_section(file, "numbers", "Numbers");
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
