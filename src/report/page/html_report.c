/* html_report.c -- the report of a trace as one page. SPDX-License-Identifier: MIT */
#include "report/page/html_report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "report/page/report_data.h"
#include "report/page/html_page.h"
#include "report/terminal/table.h"

/* Rows of tables. */
enum { MOST_NODES = 400, MOST_CHUNKS = 1000, MOST_FAILURES = 50 };

static bool is_load(const struct cv_report_data *data)
{
    return data->file->header.task == CLEAVE_TASK_LOAD;
}

static const struct cleave_trace_facts *facts_of(const struct cv_report *report)
{
    return cleave_trace_facts(report->measured->file->trace);
}

/* Executed, not simulated. */
static bool is_real(const struct cv_report *report)
{
    const char *engine = facts_of(report)->engine;

    return engine != NULL && strcmp(engine, "run") == 0;
}

static bool stands_before(const char *line, const char *option, const char *end)
{
    const char *at = strstr(line, option), *stop = strstr(line, end);

    return at != NULL && (stop == NULL || at < stop);
}

/* Whether a command line of cleave run has a list of items. After -- and -i, -a is an
 * option of the command that is run: mlr stats1 -a sum. */
static bool has_items(const char *line)
{
    static const char *const lists[] = { " -a ", " --arg-file" };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (stands_before(line, lists[i], " -- ") &&
            stands_before(line, lists[i], " -i "))
            return true;
    return strstr(line, " :::") != NULL || stands_before(line, " --each", " -- ");
}

static bool counts_bytes(const struct cv_report *report)
{
    const char *command = facts_of(report)->command;

    return is_real(report) && command != NULL && !has_items(command);
}

/* The unit of the load: a real run shares out bytes, or commands for items. */
static const char *unit_of(const struct cv_report *report)
{
    const char *command = facts_of(report)->command;

    if (!is_real(report) || command == NULL)
        return "unit";
    return has_items(command) ? "command" : "byte";
}

/* Seconds per unit, or per combination; NAN when there is nothing to divide by. */
static double rate(double seconds, double amount)
{
    return amount > 0 ? seconds / amount : NAN;
}

static void put_name_cell(FILE *file, const struct cv_report_data *data, uint32_t node)
{
    char number[CV_SHEET_NAME_ROOM];

    cv_page_element(file, "<tr><th scope=\"row\">",
                    cv_report_data_name(data, node, number), "</th>");
}

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

static void put_row(FILE *file, const struct cv_report *report, uint32_t i, int decimals)
{
    const struct cv_report_data *data = report->measured;
    const struct cleave_trace_facts *facts = facts_of(report);
    const struct cv_report_data_node *node = &data->nodes[i];
    const int places = time_decimals(data);
    const double busy = data->makespan_s > 0 ? node->busy_s / data->makespan_s : 0;

    put_name_cell(file, data, i);
    cv_page_meter(file, data, node);
    cv_page_percent_cell(file, is_load(data) ? fmin(1, busy) : busy);
    if (is_load(data)) {
        cv_page_number_cell(file, node->units, decimals);
        cv_page_percent_cell(file, data->units > 0 ? node->units / data->units : 0);
    }
    cv_page_count_cell(file, node->chunks);
    if (counts_bytes(report))
        cv_page_number_cell(file,
                            node->busy_s > 0 ? node->units / node->busy_s / 1e6 : NAN,
                            cv_page_decimals(data->units / data->makespan_s / 1e6));
    if (facts->nstarts > 0) {
        const double starts_s = i < facts->nstarts ? facts->starts_s[i] : NAN;

        cv_page_number_cell(file, starts_s, places);
        cv_page_number_cell(file, node->busy_s - starts_s, places);
    }
    if (is_load(data))
        cv_page_number_cell(file, node->first_s, places);
    else if (isnan(node->parent_s))
        fputs("<td class=\"n\" data-v=\"-1\">root</td>", file);
    else
        cv_page_count_cell(file, node->parent);
    if (!is_load(data))
        cv_page_number_cell(file, node->parent_s, places);
    cv_page_number_cell(file, node->last_s, places);
    fputs("</tr>\n", file);
}

static void put_nodes(const struct cv_report *report, FILE *file)
{
    const struct cv_report_data *data = report->measured;
    const uint32_t shown = data->nnodes < MOST_NODES ? data->nnodes : MOST_NODES;
    const bool load = is_load(data);
    const int decimals = unit_decimals(data);
    char heads[160];

    cv_page_section(file, "nodes", load ? "Workers" : "Nodes");
    if (shown < data->nnodes)
        fprintf(file, "<p class=\"note\">The first %u of %u; the trace holds all.</p>\n",
                shown, data->nnodes);
    snprintf(
        heads, sizeof heads,
        "Worker|!Link and processor|#Busy|#Units|#Share|#Chunks%s%s|#Begins s|#Ends s",
        counts_bytes(report) ? "|#MB/s" : "",
        facts_of(report)->nstarts > 0 ? "|#Starting s|#Working s" : "");
    cv_page_table(file, load ? "workers" : "nodes",
                  load ? heads
                       : "Node|!Link and combining|#Busy|#Combined|#Sends to|#Sends at s|"
                         "#Ends s");
    for (uint32_t i = 0; i < shown; i++)
        put_row(file, report, i, decimals);
    cv_page_table_end(file);
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
    const struct cv_report_data *one = report->measured, *two = report->predicted;
    const bool load = is_load(one);
    const enum cv_span_kind work = load ? CV_SPAN_COMPUTE : CV_SPAN_COMBINE;
    const enum cv_span_kind way = load ? CV_SPAN_SEND : CV_SPAN_TRANSFER;

    cv_page_table(file, "totals", "!|#Predicted|#Measured|#Difference");
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
    cv_page_table_end(file);
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

static void put_difference(const struct cv_report *report, FILE *file)
{
    const struct cv_report_data *one = report->measured, *two = report->predicted;
    const uint32_t shown = one->nnodes < MOST_NODES ? one->nnodes : MOST_NODES;
    const bool load = is_load(one);
    const int decimals = unit_decimals(one);

    cv_page_section(file, "difference", "Predicted and measured");
    put_totals(report, file);
    fprintf(file, "<h3>By %s</h3>\n", load ? "worker" : "node");
    if (shown < one->nnodes)
        fprintf(file, "<p class=\"note\">The first %u of %u.</p>\n", shown, one->nnodes);
    cv_page_table(file, "predicted and measured",
                  load ? "Worker|#Ends, predicted s|#measured s|#difference|"
                         "#Units, predicted|#measured|#difference|#Computing per unit"
                       : "Node|#Sends at, predicted s|#measured s|#difference|"
                         "#Busy, predicted s|#measured s|#difference");
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
    cv_page_table_end(file);
    fputs("</section>\n", file);
}

/* --- what failed -------------------------------------------------------------------- */

static void put_failures(const struct cv_report *report, FILE *file)
{
    const struct cv_report_data *data = report->measured;
    const struct cleave_trace_facts *facts = facts_of(report);
    const size_t shown =
        facts->nfailures < MOST_FAILURES ? facts->nfailures : MOST_FAILURES;

    if (facts->nfailures == 0)
        return;
    cv_page_section(file, "failed", "What failed");
    if (shown < facts->nfailures)
        fprintf(file, "<p class=\"note\">The first %zu; the trace holds %zu.</p>\n",
                shown, facts->nfailures);
    for (size_t i = 0; i < shown; i++) {
        const struct cleave_trace_failure *failure = &facts->failures[i];

        cv_page_element(file, "<div class=\"failure\"><h3><code>", failure->what,
                        "</code></h3>\n");
        cv_page_element(file, "<p>The command ", failure->how, "");
        fprintf(file, " <span class=\"note\">(chunk %llu",
                (unsigned long long)failure->chunk);
        cv_page_element(file, " on ", data->file->header.names[failure->worker], "");
        if (failure->attempts > 1)
            fprintf(file, ", tried %llu times", (unsigned long long)failure->attempts);
        fputs(")</span></p>\n", file);
        if (failure->errors != NULL)
            cv_page_element(file, "<pre>", failure->errors, "</pre>\n");
        fputs("</div>\n", file);
    }
    fputs("</section>\n", file);
}

/* --- left out ----------------------------------------------------------------------- */

static void put_left_out(const struct cv_report *report, FILE *file)
{
    const struct cv_report_data *data = report->measured;
    uint32_t idle = 0, shown = 0;

    if (!is_load(data))
        return;
    for (uint32_t i = 0; i < data->nnodes; i++)
        idle += data->nodes[i].chunks == 0;
    cv_page_section(file, "left", "Left out");
    if (idle == 0) {
        fputs("<p>None: every worker computed something.</p>\n</section>\n", file);
        return;
    }
    if (idle > MOST_NODES)
        fprintf(file, "<p class=\"note\">The first %d of %u.</p>\n", MOST_NODES, idle);
    cv_page_table(file, "left out", "Worker|!Why");
    for (uint32_t i = 0; i < data->nnodes && shown < MOST_NODES; i++) {
        const char *reason = data->nodes[i].reason;

        if (data->nodes[i].chunks > 0)
            continue;
        put_name_cell(file, data, i);
        cv_page_element(file, "<td class=\"wrap\">",
                        reason != NULL && reason[0] != '\0'
                            ? reason
                            : "it computed no chunk; the trace gives no reason",
                        "</td></tr>\n");
        shown++;
    }
    cv_page_table_end(file);
    fputs("</section>\n", file);
}

/* --- every span --------------------------------------------------------------------- */

static void put_spans(const struct cv_report *report, FILE *file)
{
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
    cv_page_table(file, "what happened",
                  load ? "#Start s|#End s|#Takes s|Worker|What|#Chunk|#Units"
                       : "#Start s|#End s|#Takes s|Node|What|#Partial of");
    for (size_t i = 0; i < cleave_trace_count(trace) && shown < MOST_CHUNKS; i++) {
        char number[CV_SHEET_NAME_ROOM];

        if (!cv_span_at(trace, i, &span))
            continue;
        fputs("<tr>", file);
        cv_page_number_cell(file, span.start_s, decimals);
        cv_page_number_cell(file, span.end_s, decimals);
        cv_page_number_cell(file, span.end_s - span.start_s, decimals);
        cv_page_element(file, "<td>", cv_report_data_name(data, span.worker, number),
                        "</td>");
        fprintf(file, "<td>%s</td>", cv_span_name(span.kind));
        cv_page_count_cell(file, load ? span.chunk : span.peer);
        if (load)
            cv_page_number_cell(file, span.units, units);
        fputs("</tr>\n", file);
        shown++;
    }
    cv_page_table_end(file);
    fputs("</details>\n", file);
}

/* --- the page ----------------------------------------------------------------------- */

static void put_title(const struct cv_report *report, char *title, size_t size)
{
    const struct cv_trace_header *header = &report->measured->file->header;
    char number[CV_NUMBER_ROOM];

    if (is_load(report->measured))
        snprintf(title, size, "%s %s%s on %u worker%s",
                 cv_show_units(header->load, number), unit_of(report),
                 header->load == 1 ? "" : "s", header->nworkers,
                 header->nworkers == 1 ? "" : "s");
    else
        snprintf(title, size, "A reduction of %u node%s", header->nworkers,
                 header->nworkers == 1 ? "" : "s");
}

static void put_head(const struct cv_report *report, const char *title, FILE *file)
{
    const struct cleave_trace_facts *facts = facts_of(report);
    const char *policy = report->measured->file->header.policy;

    cv_page_element(file, "<header>\n<p class=\"eyebrow\">cleave report</p>\n<h1>", title,
                    "</h1>\n");
    if (report->now != NULL)
        cv_page_element(file, "<p class=\"lead now num\" id=\"now\" role=\"status\">",
                        report->now, "</p>\n");
    if (is_real(report) && facts->command != NULL)
        cv_page_element(file, "<p class=\"lead\"><code>", facts->command,
                        "</code></p>\n");
    cv_page_element(file, "<p class=\"lead\">Policy <b>",
                    facts->picked != NULL ? facts->picked : policy, "</b>");
    if (facts->picked != NULL)
        cv_page_element(file, ", picked by ", policy, "");
    if (facts->why != NULL)
        cv_page_element(file, ": ", facts->why, "");
    fputs(".</p>\n</header>\n<main>\n", file);
}

/* A tile: its name, a number, and text below, which are formatted together with "\n" between. */
static void put_tile(FILE *file, const char *name, const char *format, ...)
    CV_PRINTF(3, 4);
static void put_tile(FILE *file, const char *name, const char *format, ...)
{
    char text[400], *below = text, *number;
    va_list values;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    number = strsep(&below, "\n");
    fprintf(file, "<div><dt>%s</dt><dd class=\"big num\">%s</dd><dd class=\"sub\">", name,
            number);
    cv_page_element(file, "", below != NULL ? below : "", "</dd></div>\n");
}

/* The makespan relative to another time. */
static void show_over(double value, double base, const char *than, char *out, size_t size)
{
    if (base > 0 && fabs(value / base - 1) < 1e-7)
        snprintf(out, size, "equal to %s", than);
    else if (base > 0)
        snprintf(out, size, "%.2f%% %s %s", fabs(100 * (value / base - 1)),
                 value >= base ? "over" : "below", than);
}

static void put_bound_tile(const struct cv_report *report, FILE *file)
{
    const struct cleave_bound *bound = &facts_of(report)->bound;
    const bool lives = facts_of(report)->lifespan_s > 0;
    const char *name = lives ? "Most units by then" : "Bound";
    char number[CV_NUMBER_ROOM];

    if (bound->name == NULL)
        put_tile(file, name, "\xe2\x80\x93\nnot in the trace");
    else /* a prediction may be shorter than the bound of another speed */
        put_tile(file, name, "%s%s\n%s%s", cv_show_number(bound->value_s, number),
                 lives ? "" : " s", bound->name,
                 is_real(report) ? " to the end, at the speeds that were measured" : "");
}

static void put_port_tile(const struct cv_report_data *data, FILE *file)
{
    const bool one = data->file->header.port == CLEAVE_PORT_ONE;
    const double busy_s = data->send_s + (one ? data->return_s : 0);

    if (data->file->header.port != CLEAVE_PORT_MULTI && data->makespan_s > 0)
        put_tile(file, "Port busy", "%.1f%%\n%s",
                 100 * fmin(1, busy_s / data->makespan_s),
                 one ? "one message at a time" : "sending");
}

/* Load that failed or was not reached. The load of a run is the part that was started. */
/* Busy seconds of commands before they read their input, and how many bytes they did. */
static void put_real_tiles(const struct cv_report *report, FILE *file)
{
    const struct cv_report_data *data = report->measured;
    const struct cleave_trace_facts *facts = facts_of(report);
    double busy_s = 0, starts_s = 0;
    char number[CV_NUMBER_ROOM], all[CV_NUMBER_ROOM];

    for (uint32_t i = 0; i < data->nnodes && i < facts->nstarts; i++) {
        busy_s += data->nodes[i].busy_s;
        starts_s += isnan(facts->starts_s[i]) ? 0 : facts->starts_s[i];
    }
    if (busy_s > 0)
        put_tile(file, "Starting", "%.1f%%\n%s of %s s busy, before commands read",
                 100 * fmin(1, starts_s / busy_s), cv_show_number(starts_s, number),
                 cv_show_number(busy_s, all));
    if (counts_bytes(report) && data->makespan_s > 0)
        put_tile(file, "Rate", "%s\nMB/s of input",
                 cv_show_number(data->units / data->makespan_s / 1e6, number));
}

static void put_undone_tiles(const struct cv_report *report, FILE *file)
{
    const struct cleave_trace_facts *facts = facts_of(report);
    const double load = report->measured->file->header.load;
    char number[CV_NUMBER_ROOM], all[CV_NUMBER_ROOM];

    if (facts->failed > 0)
        put_tile(file, "Failed", "%s\nof %s %s%s begun",
                 cv_show_units(facts->failed, number), cv_show_units(load, all),
                 unit_of(report), load == 1 ? "" : "s");
    if (facts->left > 0)
        put_tile(file, "Left undone", "%s\n%s%s not begun",
                 cv_show_units(facts->left, number), unit_of(report),
                 facts->left == 1 ? "" : "s");
}

static void put_load_tiles(const struct cv_report *report, FILE *file)
{
    const struct cv_report_data *data = report->measured;
    const unsigned long long chunks =
        data->counts[CV_SPAN_COMPUTE] + data->counts[CV_SPAN_FAILED];
    const unsigned long long lost = data->counts[CV_SPAN_LOST];
    const unsigned long long returned = data->counts[CV_SPAN_RETURN];
    const double spread_s = data->makespan_s - data->first_end_s;
    char number[CV_NUMBER_ROOM];

    if (lost > 0 || returned > 0)
        put_tile(file, "Chunks", "%llu\n%llu %s", chunks, lost > 0 ? lost : returned,
                 lost > 0 ? "lost" : "results back");
    else
        put_tile(file, "Chunks", "%llu\n%s", chunks,
                 report->running ? "begun" : "computed");
    put_undone_tiles(report, file);
    put_real_tiles(report, file);
    put_port_tile(data, file);
    if (!report->running) /* smaller values are rounding errors */
        put_tile(file, "All end within", "%s s\nfirst to last worker",
                 cv_show_number(spread_s > 1e-9 * data->makespan_s ? spread_s : 0,
                                number));
}

static void put_tiles(const struct cv_report *report, FILE *file)
{
    const struct cv_report_data *data = report->measured, *predicted = report->predicted;
    const struct cleave_bound *bound = &facts_of(report)->bound;
    const bool lives = facts_of(report)->lifespan_s > 0, load = is_load(data);
    char number[CV_NUMBER_ROOM], over[80] = "";

    if (predicted != NULL)
        show_over(data->makespan_s, predicted->makespan_s, "the prediction", over,
                  sizeof over);
    else if (bound->name != NULL && !lives)
        show_over(data->makespan_s, bound->value_s, "the bound", over, sizeof over);
    fputs("<dl class=\"tiles\">\n", file);
    put_tile(file,
             report->running ? "So far"
             : load          ? "Makespan"
                             : "Length",
             "%s s\n%s", cv_show_number(data->makespan_s, number), over);
    if (predicted != NULL)
        put_tile(file, "Predicted", "%s s\n%s%s",
                 cv_show_number(predicted->makespan_s, number),
                 predicted->file->header.policy,
                 is_real(report) ? ", at the speeds that were declared" : "");
    if (!report->running)
        put_bound_tile(report, file);
    put_tile(file, "Utilisation", "%.1f%%\n%u of %u %s used", 100 * data->utilisation,
             data->used, data->nnodes, load ? "workers" : "nodes");
    if (load)
        put_load_tiles(report, file);
    else
        put_tile(file, "Root", "%u\n%llu combinations", data->root,
                 (unsigned long long)data->counts[CV_SPAN_COMBINE]);
    fputs("</dl>\n", file);
}

/* Simplifications of the chart. */
static void put_chart_notes(const struct cv_report *report, FILE *file)
{
    const struct cv_report_data *data = report->measured;
    char number[CV_NUMBER_ROOM];

    if (data->group > 1)
        fprintf(
            file,
            "<p class=\"note\">There are %u %s: each row of the chart stands for %u of "
            "them, and shows what part of the time they are busy.</p>\n",
            data->nnodes, is_load(report->measured) ? "workers" : "nodes", data->group);
    else if (data->block_s > 0)
        fprintf(file,
                "<p class=\"note\">The page cannot hold all spans: those shorter than %s "
                "s are merged with their neighbours, and the chart counts them.</p>\n",
                cv_show_number(data->block_s, number));
    if (cv_page_chart_rows(data) < data->nnodes)
        fprintf(
            file,
            "<p class=\"note nojs\">Shown are the first %u of %u. With scripts the chart "
            "shows all and zooms.</p>\n",
            cv_page_chart_rows(data), data->nnodes);
}

static void put_gantt(const struct cv_report *report, FILE *file)
{
    const bool load = is_load(report->measured);

    cv_page_section(file, "when", load ? "Workers over time" : "Nodes over time");
    put_chart_notes(report, file);
    fputs(
        "<div class=\"frame live\">\n<div class=\"bar\">"
        "<button type=\"button\" id=\"zoomin\" aria-label=\"zoom in\">+</button>"
        "<button type=\"button\" id=\"zoomout\" aria-label=\"zoom out\">\xe2\x88\x92"
        "</button><button type=\"button\" id=\"left\" aria-label=\"earlier\">"
        "\xe2\x97\x82</button><button type=\"button\" id=\"right\" aria-label=\"later\">"
        "\xe2\x96\xb8</button><button type=\"button\" id=\"reset\">Whole</button>"
        "<span class=\"range num\" id=\"range\"></span></div>\n"
        "<div class=\"plot\" id=\"plot\" tabindex=\"0\" role=\"application\" "
        "aria-roledescription=\"Gantt chart\" aria-label=\"What every ",
        file);
    fprintf(file,
            "%s did over time. The tables below hold the same.\" "
            "aria-describedby=\"keys\">",
            load ? "worker" : "node");
    fputs("<div><canvas aria-hidden=\"true\"></canvas></div></div>\n"
          "<canvas class=\"whole\" id=\"whole\" aria-hidden=\"true\"></canvas>\n</div>\n"
          "<div class=\"tip\" id=\"tip\" hidden></div>\n<div class=\"frame static\">\n",
          file);
    cv_page_chart(file, report->measured);
    fputs(
        "</div>\n<p class=\"picked live num\" id=\"picked\" aria-live=\"polite\"></p>\n",
        file);
    cv_page_legend(file, report->measured);
    if (report->predicted != NULL)
        fputs("<p class=\"note live\">In each row the measured run is above, and the "
              "predicted one "
              "below it, paler.</p>\n",
              file);
    fputs(
        "<p class=\"note live keyhelp\" id=\"keys\">Drag to move, Ctrl and wheel or a "
        "double click to zoom, click a span to keep it. Keys: <kbd>+</kbd> "
        "<kbd>\xe2\x88\x92"
        "</kbd> <kbd>0</kbd> zoom, <kbd>\xe2\x86\x90</kbd> <kbd>\xe2\x86\x92</kbd> move, "
        "<kbd>\xe2\x86\x91</kbd> <kbd>\xe2\x86\x93</kbd> choose a row, <kbd>n</kbd> "
        "<kbd>p</kbd> its next and previous span, <kbd>Enter</kbd> zoom to it.</p>\n"
        "</section>\n",
        file);
}

static void put_fact(FILE *file, const char *name, const char *value)
{
    if (value == NULL)
        return;
    fprintf(file, "<dt>%s</dt>", name);
    cv_page_element(file, "<dd>", value, "</dd>\n");
}

static void put_again(const struct cv_report *report, FILE *file)
{
    const struct cleave_trace_facts *facts = facts_of(report);

    cv_page_again(file, facts->command);
    fputs("<dl class=\"facts\">\n", file);
    put_fact(file, "Policy", report->measured->file->header.policy);
    put_fact(file, "Picked", facts->picked);
    put_fact(file, "Engine", facts->engine);
    put_fact(file, "Noise", facts->noise);
    if (is_load(report->measured))
        put_fact(file, "Port", cleave_port_name(report->measured->file->header.port));
    put_fact(file, "Trace", report->measured_name);
    if (report->predicted != NULL) {
        put_fact(file, "Predicted", report->predicted_name);
        put_fact(file, "by", cleave_trace_facts(report->predicted->file->trace)->command);
    }
    put_fact(file, "Written by cleave", facts->version);
    fputs("</dl>\n</section>\n", file);
}

void cv_report_write(const struct cv_report *report, FILE *file)
{
    const char *command = facts_of(report)->command;
    char title[160], tab[320];

    put_title(report, title, sizeof title);
    snprintf(tab, sizeof tab, "%s%s%.150s", title, is_real(report) ? ": " : "",
             is_real(report) && command != NULL ? command : "");
    cv_page_open(file, tab, report->now != NULL);
    put_head(report, title, file);
    put_tiles(report, file);
    put_gantt(report, file);
    put_failures(report, file);
    if (report->predicted != NULL)
        put_difference(report, file);
    put_nodes(report, file);
    if (!report->running)
        put_left_out(report, file);
    put_again(report, file);
    put_spans(report, file);
    fputs("</main>\n", file);
    cv_page_spans(file, report->measured, report->predicted);
    cv_page_close(file, report->now != NULL);
}
