/* html_chart.c -- Gantt charts, curves and bars as SVG. SPDX-License-Identifier: MIT
 *
 * A strip is a few paths, one per colour, that are stroked as wide as the strip is high:
 * ten bytes for a span. Spans that are closer than can be seen are drawn as one. */
#include "report/page/html_chart.h"

#include <math.h>
#include <string.h>
#include "report/page/html_page.h"

enum { WIDTH = 1000, GUTTER = 104, AXIS = 26, ROW = 19, MOST_SHOWN = 48, NAME = 14 };
enum { FEW = 20000, CELLS = 600 };

struct drawing {
    FILE *file;
    const struct cv_report_data *data;
    double scale; /* pixels per second */
    double close; /* pixels: spans with a smaller gap are drawn as one */
};

/* Names are of page.css. */
static const char *class_of(enum cv_span_kind kind)
{
    static const char *const classes[CV_SPAN_KINDS] = {
        [CV_SPAN_SEND] = "k-send",       [CV_SPAN_COMPUTE] = "k-compute",
        [CV_SPAN_RETURN] = "k-return",   [CV_SPAN_LOST] = "k-lost",
        [CV_SPAN_RECALL] = "k-recall",   [CV_SPAN_TRANSFER] = "k-send",
        [CV_SPAN_COMBINE] = "k-combine", [CV_SPAN_FOLD] = "k-combine",
    };

    return classes[kind];
}

uint32_t cv_page_chart_rows(const struct cv_report_data *data)
{
    const uint32_t rows = (data->nnodes + data->group - 1) / data->group;

    return rows < MOST_SHOWN ? rows : MOST_SHOWN;
}

/* Pieces of one colour, put together where they touch. */
struct stroke {
    double from, to; /* to < from: none waits */
    double last;     /* end of the last piece written */
};

static void flush(struct drawing *drawing, struct stroke *stroke)
{
    if (stroke->to < stroke->from)
        return;
    fprintf(drawing->file, "m%.2f 0h%.2f", stroke->from - stroke->last,
            fmax(0.3, stroke->to - stroke->from));
    stroke->last = stroke->from + fmax(0.3, stroke->to - stroke->from);
    stroke->to = -1;
    stroke->from = 0;
}

/* Spans of `kind` in a strip: every second one for `shade` 0 or 1, all for -1. */
static void put_spans(struct drawing *drawing, const struct cv_report_data_span *spans,
                      size_t count, enum cv_span_kind kind, int shade, double y,
                      double thick)
{
    struct stroke stroke = { 0, -1, 0 };
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        const double from = GUTTER + spans[i].start_s * drawing->scale;
        const double to = GUTTER + spans[i].end_s * drawing->scale;

        if (spans[i].kind != kind || (shade >= 0 && (int)(i % 2) != shade))
            continue;
        if (!any) {
            fprintf(drawing->file,
                    "<path class=\"%s%s\" stroke-width=\"%.1f\" d=\"M0 %.1f",
                    class_of(kind), shade == 1 ? "2" : "", thick, y);
            any = true;
        }
        if (stroke.to >= stroke.from && from - stroke.to < drawing->close) {
            stroke.to = fmax(stroke.to, to);
            continue;
        }
        flush(drawing, &stroke);
        stroke.from = from;
        stroke.to = to;
    }
    flush(drawing, &stroke);
    if (any)
        fputs("\"/>\n", drawing->file);
}

static void put_strip(struct drawing *drawing, const struct cv_report_data_span *spans,
                      size_t count, double y, double thick)
{
    for (int kind = 0; kind < CV_SPAN_KINDS; kind++) {
        const bool shaded = kind == CV_SPAN_COMPUTE || kind == CV_SPAN_COMBINE;

        for (int shade = shaded ? 0 : -1; shade < (shaded ? 2 : 0); shade++)
            put_spans(drawing, spans, count, (enum cv_span_kind)kind, shade, y, thick);
    }
}

static void put_label(struct drawing *drawing, double y, const char *name)
{
    char cut[4 * NAME + 8];
    size_t n = 0, letters = 0;

    while (name[n] != '\0' && n + 4 < sizeof cut) {
        if (((unsigned char)name[n] & 0xc0) != 0x80 && letters++ == NAME)
            break;
        cut[n] = name[n];
        n++;
    }
    snprintf(cut + n, sizeof cut - n, "%s", name[n] != '\0' ? "\xe2\x80\xa6" : "");
    fprintf(drawing->file, "<text class=\"ink\" x=\"4\" y=\"%.1f\"", y + 4);
    cv_page_element(drawing->file, ">", cut, "</text>\n");
}

/* 1, 2 or 5 times a power of ten, not below `wish`. */
static double round_step(double wish)
{
    static const double factors[] = { 1, 2, 5, 10 };
    const double power = pow(10, floor(log10(wish)));

    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (factors[i] * power >= wish)
            return factors[i] * power;
    return 10 * power;
}

static void put_axis(struct drawing *drawing, double end_s, double height)
{
    const double step = round_step(end_s / 8);

    if (!(end_s > 0) || !(step > 0) || !isfinite(step))
        return;
    for (int k = 0; k * step <= end_s; k++) {
        const double x = GUTTER + k * step * drawing->scale;

        fprintf(drawing->file,
                "<path class=\"grid\" d=\"M%.1f 18V%.1f\"/><text x=\"%.1f\" y=\"14\">%g%s"
                "</text>\n",
                x, height, x + 2, k * step, k == 0 ? " s" : "");
    }
}

/* The port: sends or results of all nodes, in cells that are drawn if half full. */
static void put_port(struct drawing *drawing, enum cv_span_kind kind, double y)
{
    const struct cv_report_data *data = drawing->data;
    const double cell = (double)(WIDTH - GUTTER - 12) / CELLS;
    double cover[CELLS] = { 0 };
    struct stroke stroke = { 0, -1, 0 };

    for (size_t i = 0; i < data->nspans; i++) {
        const double from = data->spans[i].start_s * drawing->scale / cell;
        const double to = data->spans[i].end_s * drawing->scale / cell;

        if (data->spans[i].kind != kind)
            continue;
        for (size_t c = (size_t)fmax(0, from); c < CELLS && (double)c < to; c++)
            cover[c] += fmin(to, (double)c + 1) - fmax(from, (double)c);
    }
    fprintf(drawing->file, "<path class=\"%s\" stroke-width=\"12\" d=\"M0 %.1f",
            class_of(kind), y);
    for (size_t c = 0; c < CELLS; c++) {
        if (cover[c] < 0.5)
            continue;
        if (stroke.to < stroke.from || GUTTER + (double)c * cell > stroke.to + 0.01) {
            flush(drawing, &stroke);
            stroke.from = GUTTER + (double)c * cell;
        }
        stroke.to = GUTTER + (double)(c + 1) * cell;
    }
    flush(drawing, &stroke);
    fputs("\"/>\n", drawing->file);
}

static void put_rows(struct drawing *drawing, uint32_t rows, double y)
{
    const struct cv_report_data *data = drawing->data;
    char number[CV_SHEET_NAME_ROOM];
    size_t at = 0;

    for (uint32_t row = 0; row < rows; row++, y += ROW) {
        size_t link = at, cpu;

        while (link < data->nspans && data->spans[link].row == row &&
               cv_report_data_on_link((enum cv_span_kind)data->spans[link].kind))
            link++;
        cpu = link;
        while (cpu < data->nspans && data->spans[cpu].row == row)
            cpu++;
        put_label(drawing, y + ROW / 2.0,
                  cv_report_data_name(data, row * data->group, number));
        put_strip(drawing, data->spans + at, link - at, y + 3.5, 3.5);
        put_strip(drawing, data->spans + link, cpu - link, y + 11.5, 10);
        at = cpu;
    }
}

void cv_page_chart(FILE *file, const struct cv_report_data *data)
{
    const struct cv_trace_header *header = &data->file->header;
    const struct cleave_trace_facts *facts = cleave_trace_facts(data->file->trace);
    const uint32_t rows = cv_page_chart_rows(data);
    const bool load = header->task == CLEAVE_TASK_LOAD;
    const bool port = load && header->port != CLEAVE_PORT_MULTI && data->group == 1;
    const bool both = port && data->counts[CV_SPAN_RETURN] > 0;
    const bool two = both && header->port == CLEAVE_PORT_DUPLEX;
    const double height = AXIS + (rows + (port ? 1u : 0u) + (two ? 1u : 0u)) * ROW + 4.0;
    struct drawing drawing = { .file = file,
                               .data = data,
                               .close = data->nspans < FEW ? 0.35 : 1.5 };
    double y = AXIS;

    if (data->makespan_s > 0)
        drawing.scale = (WIDTH - GUTTER - 12) / data->makespan_s;
    fprintf(
        file,
        "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"Gantt chart of %u %s; "
        "the tables below hold the numbers\">\n",
        WIDTH, height, rows, load ? "workers" : "nodes");
    put_axis(&drawing, data->makespan_s, height);
    if (port) {
        put_label(&drawing, y + ROW / 2.0, two ? "port out" : "port");
        put_port(&drawing, CV_SPAN_SEND, y + ROW / 2.0);
        if (both)
            put_port(&drawing, CV_SPAN_RETURN, y + ROW / 2.0 + (two ? ROW : 0));
        y += ROW;
    }
    if (two) {
        put_label(&drawing, y + ROW / 2.0, "port in");
        y += ROW;
    }
    put_rows(&drawing, rows, y);
    if (facts->bound.name != NULL && !(facts->lifespan_s > 0) &&
        facts->bound.value_s <= data->makespan_s)
        fprintf(file, "<path class=\"edge\" d=\"M%.1f 18V%.1f\"/>\n",
                GUTTER + facts->bound.value_s * drawing.scale, height);
    fputs("</svg>\n", file);
}

void cv_page_legend(FILE *file, const struct cv_report_data *data)
{
    static const struct {
        enum cv_span_kind kind;
        const char *load, *reduce;
    } items[] = {
        { CV_SPAN_SEND, "sending to a worker (thin strip and port)", "" },
        { CV_SPAN_COMPUTE, "computing, shades alternate by chunk", "" },
        { CV_SPAN_RETURN, "sending a result back", "" },
        { CV_SPAN_TRANSFER, "", "sending and receiving a partial (thin strip)" },
        { CV_SPAN_COMBINE, "", "combining, shades alternate" },
        { CV_SPAN_FOLD, "folding partial results", "" },
        { CV_SPAN_LOST, "lost: done again elsewhere", "" },
        { CV_SPAN_RECALL, "taken back", "" },
    };
    const bool load = data->file->header.task == CLEAVE_TASK_LOAD;

    fputs("<ul class=\"legend\">\n", file);
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const enum cv_span_kind kind = items[i].kind;
        const bool link = cv_report_data_on_link(kind);

        if (data->counts[kind] == 0)
            continue;
        fprintf(file,
                "<li><svg width=\"22\" height=\"16\" aria-hidden=\"true\"><rect "
                "class=\"%s\" y=\"%d\" width=\"22\" height=\"%d\"/>",
                class_of(kind), link ? 5 : 1, link ? 6 : 14);
        if (kind == CV_SPAN_COMPUTE || kind == CV_SPAN_COMBINE)
            fprintf(file,
                    "<rect class=\"%s2\" x=\"11\" y=\"1\" width=\"11\" height=\"14\"/>",
                    class_of(kind));
        if (kind == CV_SPAN_RETURN || kind == CV_SPAN_LOST)
            fputs("<path stroke=\"var(--page)\" d=\"M1 11l6-6m0 6l6-6m0 6l6-6\"/>", file);
        fprintf(file, "</svg>%s</li>\n",
                kind == CV_SPAN_COMBINE && data->joined
                    ? "receiving and combining, shades alternate"
                : load ? items[i].load
                       : items[i].reduce);
    }
    if (cleave_trace_facts(data->file->trace)->bound.name != NULL)
        fputs("<li><svg width=\"22\" height=\"16\" aria-hidden=\"true\"><path "
              "class=\"edge\" "
              "d=\"M11 0V16\"/></svg>bound</li>\n",
              file);
    fputs("</ul>\n", file);
}

void cv_page_meter(FILE *file, const struct cv_report_data *data,
                   const struct cv_report_data_node *node)
{
    const bool load = data->file->header.task == CLEAVE_TASK_LOAD;
    const double scale = data->makespan_s > 0 ? 100 / data->makespan_s : 0;
    const double receive = fmin(100, node->receive_s * scale);
    const double back = fmin(100 - receive, node->return_s * scale);

    fprintf(
        file,
        "<td class=\"meter\"><svg viewBox=\"0 0 100 16\" preserveAspectRatio=\"none\" "
        "role=\"img\" aria-label=\"busy %.1f%%, link %.1f%%\">"
        "<rect fill=\"var(--faint)\" width=\"100\" height=\"16\"/>",
        fmin(100, node->busy_s * scale), receive + back);
    if (receive > 0)
        fprintf(file, "<rect class=\"k-send\" width=\"%.3f\" height=\"4\"/>", receive);
    if (back > 0)
        fprintf(file, "<rect class=\"%s\" x=\"%.3f\" width=\"%.3f\" height=\"4\"/>",
                load ? "k-return" : "k-send", receive, back);
    if (node->busy_s > 0)
        fprintf(file, "<rect class=\"%s\" y=\"5\" width=\"%.3f\" height=\"11\"/>",
                load ? "k-compute" : "k-combine", fmin(100, node->busy_s * scale));
    fputs("</svg></td>", file);
}

/* --- curves and bars ---------------------------------------------------------------- */

enum { COLOURS = 18, SHAPES = 4 };
enum { PLOT_WIDTH = 960, HEIGHT = 420, LEFT = 68, RIGHT = 150, TOP = 14, BOTTOM = 50 };
enum { BAR = 26, BAR_LEFT = 170, BAR_RIGHT = 90 };
enum { MOST_NAMES = 64, NAME_GAP = 14 };
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
    const double span = axis->to - axis->from, step = round_step(span / 7 * (1 - 1e-9));

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

void cv_plot_key(FILE *file, size_t index)
{
    fprintf(file,
            "<svg class=\"c%zu\" width=\"26\" height=\"14\" aria-hidden=\"true\"><path "
            "class=\"series\" d=\"M1 7H25\"/>",
            index % COLOURS);
    put_mark(file, index, 13, 7);
    fputs("</svg>", file);
}

/* --- curves ------------------------------------------------------------------------- */

struct frame {
    FILE *file;
    const struct cv_plot *plot;
    struct axis x, y;
};

static void widen(struct axis *axis, double value)
{
    if (!isfinite(value))
        return;
    axis->from = fmin(axis->from, value);
    axis->to = fmax(axis->to, value);
}

static void find_range(const struct cv_plot *plot, struct axis *y)
{
    y->from = INFINITY;
    y->to = -INFINITY;
    for (size_t i = 0; i < plot->nx; i++) {
        if (plot->bound != NULL)
            widen(y, plot->bound[i]);
        for (size_t s = 0; s < plot->nseries; s++) {
            widen(y, plot->series[s].y[i]);
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
    const struct cv_plot *plot = frame->plot;
    size_t count = 1;

    *out_before = 0;
    for (size_t i = 0; i < plot->nseries; i++) {
        if (i == s || !look_alike(frame, plot->series[s].y, plot->series[i].y))
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

static void put_band(const struct frame *frame, const struct cv_plot_series *series)
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
    const struct cv_plot_series *series = &frame->plot->series[s];

    for (size_t i = 0; i < frame->plot->nx; i++) {
        if (!isfinite(series->y[i]) || i % among != before)
            continue;
        fputs("<g>", frame->file);
        put_mark(frame->file, s, place(&frame->x, frame->plot->x[i]),
                 place(&frame->y, series->y[i]));
        cv_page_element(frame->file, "<title>", series->name, ": ");
        fprintf(frame->file, "%.6g at %.6g", series->y[i], frame->plot->x[i]);
        if (series->low != NULL && isfinite(series->low[i]))
            fprintf(frame->file, " (%.6g to %.6g)", series->low[i], series->high[i]);
        fputs("</title></g>\n", frame->file);
    }
}

/* Names at the ends of the curves, pushed apart where they would touch. */
static void put_names(const struct frame *frame)
{
    const struct cv_plot *plot = frame->plot;
    const size_t n = plot->nseries < MOST_NAMES ? plot->nseries : MOST_NAMES;
    double at[MOST_NAMES] = { 0 };
    size_t order[MOST_NAMES] = { 0 }, count = 0;

    for (size_t s = 0; s < n; s++) {
        size_t last = plot->nx, k = count;

        while (last > 0 && !isfinite(plot->series[s].y[last - 1]))
            last--;
        if (last == 0)
            continue;
        at[s] = place(&frame->y, plot->series[s].y[last - 1]);
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

void cv_plot_curves(FILE *file, const struct cv_plot *plot)
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
        put_curve(&frame, plot->series[s].y, "series", among, before);
        put_points(&frame, s, among, before);
        fputs("</g>\n", file);
    }
    put_names(&frame);
    fputs("</svg>\n", file);
}

/* --- bars --------------------------------------------------------------------------- */

static void put_bar(FILE *file, const struct cv_plot_series *series,
                    const struct axis *axis, double y)
{
    const double to = place(axis, series->y[0]);
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
    cv_page_number(file, series->y[0]);
    fputs("</text>\n", file);
}

void cv_plot_bars(FILE *file, const struct cv_plot *plot)
{
    const double height = (double)plot->nseries * BAR + 56;
    struct axis axis = { 0, 0, BAR_LEFT, PLOT_WIDTH - BAR_RIGHT, false };
    const struct axis base = { 0, 1, height - 46, 0, false };

    if (plot->bound != NULL)
        widen(&axis, plot->bound[0]);
    for (size_t s = 0; s < plot->nseries; s++) {
        widen(&axis, plot->series[s].y[0]);
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
