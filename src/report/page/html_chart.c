/* html_chart.c -- Gantt charts as SVG. SPDX-License-Identifier: MIT
 *
 * A strip is a few paths, one per colour, that are stroked as wide as the strip is high:
 * ten bytes for a span. Spans that are closer than can be seen are drawn as one. */
#include "report/page/report_data.h"

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
        [CV_SPAN_DROPPED] = "k-dropped", [CV_SPAN_FAILED] = "k-failed",
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

static void put_axis(struct drawing *drawing, double end_s, double height)
{
    const double step = cv_page_step(end_s / 8);

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
        { CV_SPAN_FAILED, "failed", "" },
        { CV_SPAN_LOST, "lost: done again elsewhere", "" },
        { CV_SPAN_RECALL, "taken back", "" },
        { CV_SPAN_DROPPED, "dropped: another worker ran the chunk as well", "" },
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
