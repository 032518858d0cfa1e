/* html_tables.c -- the tables of a report. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include "report/page/html_chart.h"
#include "report/page/html_page.h"
#include "report/page/html_report.h"

/* What a page still shows well; the rest is summed up. */
enum { MOST_NODES = 400, MOST_CHUNKS = 1000 };

static bool is_load(const struct cv_report_data *data)
{
    return data->file->header.task == CLEAVE_TASK_LOAD;
}

static void put_heads(FILE *file, const char *const *heads)
{
    fputs("<thead><tr>", file);
    for (; *heads != NULL; heads++) {
        const bool number = (*heads)[0] == '#', plain = (*heads)[0] == '!';

        fprintf(file, "<th scope=\"col\"%s%s>%s</th>", number ? " class=\"n\"" : "",
                plain ? " data-plain" : "", *heads + (number || plain ? 1 : 0));
    }
    fputs("</tr></thead>\n<tbody>\n", file);
}

/* A table that sorts, in a box that scrolls sideways where it is narrow. */
static void open_table(FILE *file, const char *name, const char *const *heads)
{
    fprintf(file,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">"
            "<table class=\"sort\">\n",
            name);
    put_heads(file, heads);
}

static void close_table(FILE *file)
{
    fputs("</tbody></table></div>\n", file);
}

static void put_name_cell(FILE *file, const struct cv_report_data *data, uint32_t node)
{
    char number[CV_SHEET_NAME_ROOM];

    fputs("<tr><th scope=\"row\">", file);
    cv_page_text(file, cv_report_data_name(data, node, number));
    fputs("</th>", file);
}

/* Decimals of times, and of units per node. */
static int time_decimals(const struct cv_report_data *data)
{
    return cv_page_decimals(data->makespan_s);
}

static int unit_decimals(const struct cv_report_data *data)
{
    double max = 0;

    for (uint32_t i = 0; i < data->nnodes; i++)
        max = fmax(max, data->nodes[i].units);
    return cv_page_decimals(max);
}

static void put_load_row(FILE *file, const struct cv_report_data *data, uint32_t i,
                         int decimals)
{
    const struct cv_report_data_node *node = &data->nodes[i];
    const int places = time_decimals(data);

    put_name_cell(file, data, i);
    cv_page_meter(file, data, node);
    cv_page_percent_cell(file, data->makespan_s > 0
                                   ? fmin(1, node->busy_s / data->makespan_s)
                                   : 0);
    cv_page_number_cell(file, node->units, decimals);
    cv_page_percent_cell(file, data->units > 0 ? node->units / data->units : 0);
    cv_page_count_cell(file, node->chunks);
    cv_page_number_cell(file, node->first_s, places);
    cv_page_number_cell(file, node->last_s, places);
    fputs("</tr>\n", file);
}

static void put_reduce_row(FILE *file, const struct cv_report_data *data, uint32_t i)
{
    const struct cv_report_data_node *node = &data->nodes[i];

    put_name_cell(file, data, i);
    cv_page_meter(file, data, node);
    cv_page_percent_cell(file,
                         data->makespan_s > 0 ? node->busy_s / data->makespan_s : 0);
    cv_page_count_cell(file, node->chunks);
    if (isnan(node->parent_s))
        fputs("<td class=\"n\" data-v=\"-1\">root</td>", file);
    else
        cv_page_count_cell(file, node->parent);
    cv_page_number_cell(file, node->parent_s, time_decimals(data));
    cv_page_number_cell(file, node->last_s, time_decimals(data));
    fputs("</tr>\n", file);
}

void cv_report_nodes(const struct cv_report *report, FILE *file)
{
    static const char *const load_heads[] = {
        "Worker",  "!Link and processor", "#Busy",   "#Units", "#Share",
        "#Chunks", "#Starts s",           "#Ends s", NULL
    };
    static const char *const reduce_heads[] = { "Node",      "!Link and combining",
                                                "#Busy",     "#Combined",
                                                "#Sends to", "#Sends at s",
                                                "#Ends s",   NULL };
    const struct cv_report_data *data = report->measured;
    const uint32_t shown = data->nnodes < MOST_NODES ? data->nnodes : MOST_NODES;
    const bool load = is_load(data);
    const int decimals = unit_decimals(data);

    fprintf(file, "<section aria-labelledby=\"nodes\">\n<h2 id=\"nodes\">%s</h2>\n",
            load ? "Workers" : "Nodes");
    if (shown < data->nnodes)
        fprintf(file, "<p class=\"note\">The first %u of %u; the trace holds all.</p>\n",
                shown, data->nnodes);
    open_table(file, load ? "workers" : "nodes", load ? load_heads : reduce_heads);
    for (uint32_t i = 0; i < shown; i++) {
        if (load)
            put_load_row(file, data, i, decimals);
        else
            put_reduce_row(file, data, i);
    }
    close_table(file);
    fputs("</section>\n", file);
}

/* --- predicted and measured --------------------------------------------------------- */

/* A difference; for times, where less is better, also by colour. */
static void put_change_cell(FILE *file, double measured, double predicted, int decimals,
                            bool time)
{
    const double change = measured - predicted;
    const double part = predicted > 0 ? change / predicted : 0;

    if (isnan(change)) {
        fputs("<td class=\"n\" data-v=\"0\">\xe2\x80\x93</td>", file);
        return;
    }
    fprintf(file, "<td class=\"n%s\" data-v=\"%.9g\">",
            time && part > 0.0005    ? " up"
            : time && part < -0.0005 ? " down"
                                     : "",
            change);
    fputs(change >= 0 ? "+" : "\xe2\x88\x92", file);
    if (decimals < 0)
        cv_page_number(file, fabs(change));
    else
        fprintf(file, "%.*f", decimals, fabs(change));
    if (predicted > 0)
        fprintf(file, " (%s%.1f%%)", part >= 0 ? "+" : "\xe2\x88\x92", fabs(100 * part));
    fputs("</td>", file);
}

static void put_pair(FILE *file, double predicted, double measured, int decimals,
                     bool time)
{
    cv_page_number_cell(file, predicted, decimals);
    cv_page_number_cell(file, measured, decimals);
    put_change_cell(file, measured, predicted, decimals, time);
}

/* Seconds per unit, or per combination; NAN when there is nothing to divide by. */
static double rate(double seconds, double amount)
{
    return amount > 0 ? seconds / amount : NAN;
}

static void put_total(FILE *file, const char *name, double predicted, double measured,
                      bool time)
{
    const bool whole = predicted == floor(predicted) && measured == floor(measured);

    fprintf(file, "<tr><th scope=\"row\">%s</th>", name);
    put_pair(file, predicted, measured,
             whole ? 0 : cv_page_decimals(fmax(predicted, measured)), time);
    fputs("</tr>\n", file);
}

static double busy_sum(const struct cv_report_data *data)
{
    double sum = 0;

    for (uint32_t i = 0; i < data->nnodes; i++)
        sum += data->nodes[i].busy_s;
    return sum;
}

static void put_totals(const struct cv_report *report, FILE *file)
{
    static const char *const heads[] = { "!", "#Predicted", "#Measured", "#Difference",
                                         NULL };
    const struct cv_report_data *one = report->measured, *two = report->predicted;
    const bool load = is_load(one);
    const enum cv_span_kind work = load ? CV_SPAN_COMPUTE : CV_SPAN_COMBINE;
    const enum cv_span_kind way = load ? CV_SPAN_SEND : CV_SPAN_TRANSFER;

    open_table(file, "totals", heads);
    put_total(file, load ? "Makespan, s" : "Length, s", two->makespan_s, one->makespan_s,
              true);
    put_total(file, "Utilisation, %", 100 * two->utilisation, 100 * one->utilisation,
              false);
    if (load) {
        put_total(file, "Chunks", (double)two->counts[work], (double)one->counts[work],
                  false);
        put_total(file, "Computing, s per unit", rate(busy_sum(two), two->units),
                  rate(busy_sum(one), one->units), true);
        put_total(file, "Sending, s per unit", rate(two->send_s, two->units),
                  rate(one->send_s, one->units), true);
    } else {
        put_total(file, "Mean combination, s",
                  rate(busy_sum(two), (double)two->counts[work]),
                  rate(busy_sum(one), (double)one->counts[work]), true);
        put_total(file, "Mean transfer, s", rate(two->send_s, (double)two->counts[way]),
                  rate(one->send_s, (double)one->counts[way]), true);
    }
    close_table(file);
}

/* How much longer a unit took than predicted. */
static void put_rate_cell(FILE *file, double measured, double predicted)
{
    const double part = measured / predicted - 1;

    if (!isfinite(part))
        fputs("<td class=\"n\" data-v=\"0\">\xe2\x80\x93</td>", file);
    else
        fprintf(file, "<td class=\"n %s\" data-v=\"%.9g\">%s%.1f%%</td>",
                part > 0 ? "up" : "down", part, part >= 0 ? "+" : "\xe2\x88\x92",
                fabs(100 * part));
}

void cv_report_difference(const struct cv_report *report, FILE *file)
{
    static const char *const load_heads[] = {
        "Worker",      "#Ends, predicted s",  "#measured s",
        "#difference", "#Units, predicted",   "#measured",
        "#difference", "#Computing per unit", NULL
    };
    static const char *const reduce_heads[] = { "Node",
                                                "#Sends at, predicted s",
                                                "#measured s",
                                                "#difference",
                                                "#Busy, predicted s",
                                                "#measured s",
                                                "#difference",
                                                NULL };
    const struct cv_report_data *one = report->measured, *two = report->predicted;
    const uint32_t shown = one->nnodes < MOST_NODES ? one->nnodes : MOST_NODES;
    const bool load = is_load(one);
    const int decimals = unit_decimals(one);

    fputs("<section aria-labelledby=\"difference\">\n<h2 id=\"difference\">Predicted and "
          "measured</h2>\n",
          file);
    put_totals(report, file);
    fprintf(file, "<h3>By %s</h3>\n", load ? "worker" : "node");
    if (shown < one->nnodes)
        fprintf(file, "<p class=\"note\">The first %u of %u.</p>\n", shown, one->nnodes);
    open_table(file, "predicted and measured", load ? load_heads : reduce_heads);
    for (uint32_t i = 0; i < shown; i++) {
        const struct cv_report_data_node *a = &one->nodes[i], *b = &two->nodes[i];

        put_name_cell(file, one, i);
        put_pair(file, load ? b->last_s : b->parent_s, load ? a->last_s : a->parent_s,
                 time_decimals(one), true);
        if (load) {
            put_pair(file, b->units, a->units, decimals, false);
            put_rate_cell(file, rate(a->busy_s, a->units), rate(b->busy_s, b->units));
        } else {
            put_pair(file, b->busy_s, a->busy_s, time_decimals(one), true);
        }
        fputs("</tr>\n", file);
    }
    close_table(file);
    fputs("</section>\n", file);
}

/* --- left out ----------------------------------------------------------------------- */

void cv_report_left_out(const struct cv_report *report, FILE *file)
{
    static const char *const heads[] = { "Worker", "!Why", NULL };
    const struct cv_report_data *data = report->measured;
    uint32_t idle = 0, shown = 0;

    if (!is_load(data))
        return;
    for (uint32_t i = 0; i < data->nnodes; i++)
        idle += data->nodes[i].chunks == 0;
    fputs("<section aria-labelledby=\"left\">\n<h2 id=\"left\">Left out</h2>\n", file);
    if (idle == 0) {
        fputs("<p>Nobody: every worker computed something.</p>\n</section>\n", file);
        return;
    }
    if (idle > MOST_NODES)
        fprintf(file, "<p class=\"note\">The first %d of %u.</p>\n", MOST_NODES, idle);
    open_table(file, "left out", heads);
    for (uint32_t i = 0; i < data->nnodes && shown < MOST_NODES; i++) {
        const char *reason = data->nodes[i].reason;

        if (data->nodes[i].chunks > 0)
            continue;
        put_name_cell(file, data, i);
        fputs("<td class=\"wrap\">", file);
        cv_page_text(file, reason != NULL && reason[0] != '\0'
                               ? reason
                               : "it computed no chunk; the trace does not say why");
        fputs("</td></tr>\n", file);
        shown++;
    }
    close_table(file);
    fputs("</section>\n", file);
}

/* --- every span --------------------------------------------------------------------- */

void cv_report_chunks(const struct cv_report *report, FILE *file)
{
    static const char *const load_heads[] = { "#Start s", "#End s", "#Takes s", "Worker",
                                              "What",     "#Chunk", "#Units",   NULL };
    static const char *const reduce_heads[] = { "#Start s", "#End s", "#Takes s",
                                                "Node",     "What",   "#Partial of",
                                                NULL };
    const struct cv_report_data *data = report->measured;
    const struct cleave_trace *trace = data->file->trace;
    const bool load = is_load(data);
    const int decimals = time_decimals(data), units = unit_decimals(data);
    size_t shown = 0, all = 0;
    struct cv_span span;

    for (int kind = 0; kind < CV_SPAN_KINDS; kind++)
        all += data->counts[kind];
    fprintf(file, "<details>\n<summary>%s (%zu)</summary>\n",
            all > MOST_CHUNKS ? "The first things that happened, as a table"
                              : "All that happened, as a table",
            all < MOST_CHUNKS ? all : (size_t)MOST_CHUNKS);
    open_table(file, "what happened", load ? load_heads : reduce_heads);
    for (size_t i = 0; i < cleave_trace_count(trace) && shown < MOST_CHUNKS; i++) {
        char number[CV_SHEET_NAME_ROOM];

        if (!cv_span_at(trace, i, &span))
            continue;
        fputs("<tr>", file);
        cv_page_number_cell(file, span.start_s, decimals);
        cv_page_number_cell(file, span.end_s, decimals);
        cv_page_number_cell(file, span.end_s - span.start_s, decimals);
        fputs("<td>", file);
        cv_page_text(file, cv_report_data_name(data, span.worker, number));
        fprintf(file, "</td><td>%s</td>", cv_span_name(span.kind));
        cv_page_count_cell(file, load ? span.chunk : span.peer);
        if (load)
            cv_page_number_cell(file, span.units, units);
        fputs("</tr>\n", file);
        shown++;
    }
    close_table(file);
    fputs("</details>\n", file);
}
