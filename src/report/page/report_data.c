/* report_data.c -- a trace summed up for a report. SPDX-License-Identifier: MIT */
#include "report/page/report_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "io/json_out.h"
#include "report/page/html_page.h"

bool cv_report_data_on_link(enum cv_span_kind kind)
{
    return kind == CV_SPAN_SEND || kind == CV_SPAN_RETURN || kind == CV_SPAN_TRANSFER;
}

const char *cv_report_data_name(const struct cv_report_data *data, uint32_t node,
                                char buffer[CV_SHEET_NAME_ROOM])
{
    if (data->file->header.task == CLEAVE_TASK_LOAD)
        return data->file->header.names[node];
    snprintf(buffer, CV_SHEET_NAME_ROOM, "%lu", (unsigned long)node);
    return buffer;
}

static void touch(struct cv_report_data_node *node, const struct cv_span *span)
{
    if (!(node->first_s <= span->start_s))
        node->first_s = span->start_s;
    if (!(node->last_s >= span->end_s))
        node->last_s = span->end_s;
}

/* A partial was sent from `peer` to `worker`. */
static void add_partial(struct cv_report_data *data, const struct cv_span *span)
{
    struct cv_report_data_node *sender = &data->nodes[span->peer];

    if (isnan(sender->parent_s)) {
        sender->parent = span->worker;
        sender->parent_s = span->start_s;
    }
    if (span->kind == CV_SPAN_TRANSFER) {
        sender->return_s += span->end_s - span->start_s;
        data->nodes[span->worker].receive_s += span->end_s - span->start_s;
        touch(sender, span);
    }
}

static void add_span(struct cv_report_data *data, const struct cv_span *span)
{
    struct cv_report_data_node *node = &data->nodes[span->worker];
    const double length_s = span->end_s - span->start_s;

    data->counts[span->kind]++;
    if (span->end_s > data->makespan_s)
        data->makespan_s = span->end_s;
    touch(node, span);
    switch (span->kind) {
    case CV_SPAN_SEND:
        node->receive_s += length_s;
        data->send_s += length_s;
        break;
    case CV_SPAN_RETURN:
        node->return_s += length_s;
        data->return_s += length_s;
        break;
    case CV_SPAN_COMPUTE:
    case CV_SPAN_FAILED:
        node->chunks++;
        node->units += span->units;
        node->busy_s += length_s;
        data->units += span->units;
        break;
    case CV_SPAN_COMBINE:
        node->chunks++;
        node->busy_s += length_s;
        add_partial(data, span);
        break;
    case CV_SPAN_TRANSFER:
        data->send_s += length_s;
        add_partial(data, span);
        break;
    case CV_SPAN_FOLD: /* does not count as computing the load */
    case CV_SPAN_LOST:
    case CV_SPAN_DROPPED:
    case CV_SPAN_RECALL:
    case CV_SPAN_KINDS:
        break;
    }
}

static void keep_span(struct cv_report_data *data, const struct cv_span *span)
{
    const bool load = data->file->header.task == CLEAVE_TASK_LOAD;

    data->spans[data->nspans++] =
        (struct cv_report_data_span){ .row = span->worker,
                                      .kind = (uint8_t)span->kind,
                                      .ref = load ? (uint32_t)span->chunk : span->peer,
                                      .start_s = span->start_s,
                                      .end_s = span->end_s,
                                      .units = span->units,
                                      .busy_s = span->end_s - span->start_s };
}

static int by_place(const void *a, const void *b)
{
    const struct cv_report_data_span *x = a, *y = b;
    const bool link = cv_report_data_on_link((enum cv_span_kind)x->kind);

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (link != cv_report_data_on_link((enum cv_span_kind)y->kind))
        return link ? -1 : 1;
    if (x->start_s != y->start_s)
        return x->start_s < y->start_s ? -1 : 1;
    return x->ref < y->ref ? -1 : x->ref > y->ref;
}

static void sum_up(struct cv_report_data *data)
{
    double busy_s = 0;

    data->first_end_s = NAN;
    for (uint32_t i = 0; i < data->nnodes; i++) {
        const struct cv_report_data_node *node = &data->nodes[i];

        busy_s += fmin(node->busy_s, data->makespan_s);
        data->used += isnan(node->last_s) ? 0u : 1u;
        if (node->chunks > 0 && !(data->first_end_s <= node->last_s))
            data->first_end_s = node->last_s;
        if (isnan(node->parent_s))
            data->root = i;
    }
    if (data->makespan_s > 0)
        data->utilisation = busy_s / (data->makespan_s * data->nnodes);
}

static enum cleave_status open_data(const struct cv_trace_file *file, size_t max,
                                    struct cv_report_data *out, struct cleave_error *err)
{
    const struct cleave_trace_facts *facts = cleave_trace_facts(file->trace);

    memset(out, 0, sizeof *out);
    cv_arena_init(&out->arena);
    out->file = file;
    out->nnodes = file->header.nworkers;
    out->group = 1;
    if (out->nnodes > CLEAVE_MAX_WORKERS)
        return cv_fail(err, CLEAVE_EINPUT, "expected at most %u nodes, got %u",
                       CLEAVE_MAX_WORKERS, out->nnodes);
    out->nodes = cv_array(&out->arena, out->nnodes, sizeof *out->nodes);
    out->spans = cv_array(&out->arena, max, sizeof *out->spans);
    if (out->nodes == NULL || out->spans == NULL)
        return cv_fail_memory(err, "the report");
    for (uint32_t i = 0; i < out->nnodes; i++)
        out->nodes[i].first_s = out->nodes[i].last_s = out->nodes[i].parent_s = NAN;
    for (size_t i = 0; i < facts->nleft_out; i++)
        out->nodes[facts->left_out[i].worker].reason = facts->left_out[i].reason;
    return CLEAVE_OK;
}

/* A trace names at most 1,000 failures. The worker may differ: a retry has no event. */
static bool has_failed(const struct cv_trace_file *file, const struct cv_span *span)
{
    const struct cleave_trace_facts *facts = cleave_trace_facts(file->trace);

    for (size_t i = 0; i < facts->nfailures; i++)
        if (facts->failures[i].chunk == span->chunk)
            return true;
    return false;
}

enum cleave_status cv_report_data_make(const struct cv_trace_file *file,
                                       const struct cv_span *running, size_t count,
                                       struct cv_report_data *out,
                                       struct cleave_error *err)
{
    const size_t entries = cleave_trace_count(file->trace);
    struct cv_span span;

    CV_TRY(open_data(file, entries + count, out, err));
    for (size_t i = 0; i < entries + count; i++) {
        if (i >= entries)
            span = running[i - entries];
        else if (!cv_span_at(file->trace, i, &span))
            continue;
        if (span.kind == CV_SPAN_COMPUTE && has_failed(file, &span))
            span.kind = CV_SPAN_FAILED;
        if (span.worker >= out->nnodes)
            continue; /* it joined after the header of a running trace was made */
        add_span(out, &span);
        keep_span(out, &span);
    }
    out->joined = out->counts[CV_SPAN_TRANSFER] == 0 && out->counts[CV_SPAN_COMBINE] > 0;
    if (out->nspans > 0)
        qsort(out->spans, out->nspans, sizeof *out->spans, by_place);
    sum_up(out);
    return CLEAVE_OK;
}

void cv_report_data_done(struct cv_report_data *data)
{
    cv_arena_done(&data->arena);
    memset(data, 0, sizeof *data);
}

/* --- merging spans ------------------------------------------------------------------ */

enum { MOST_SPANS = 300000, MOST_BLOCKS = 200000, MOST_ROWS = 4000 };
enum { GROUPS = 1000, BINS = 96 };

static bool same_strip(const struct cv_report_data_span *a,
                       const struct cv_report_data_span *b)
{
    return a->row == b->row && cv_report_data_on_link((enum cv_span_kind)a->kind) ==
                                   cv_report_data_on_link((enum cv_span_kind)b->kind);
}

/* Merge neighbours of a strip and kind into blocks of at most `block_s`, in place. */
static void merge(struct cv_report_data *data, double block_s)
{
    struct cv_report_data_span *spans = data->spans;
    const bool again = data->block_s > 0;
    size_t kept = 0;

    for (size_t i = 0; i < data->nspans; i++) {
        struct cv_report_data_span span = spans[i];
        struct cv_report_data_span *last = kept > 0 ? &spans[kept - 1] : NULL;

        if (!again)
            span.ref = 1;
        if (last != NULL && same_strip(last, &span) && last->kind == span.kind &&
            fmax(span.end_s, last->end_s) - last->start_s <= block_s) {
            last->end_s = fmax(span.end_s, last->end_s);
            last->ref += span.ref;
            last->units += span.units;
            last->busy_s += span.busy_s;
        } else {
            spans[kept++] = span;
        }
    }
    data->nspans = kept;
    data->block_s = block_s;
}

/* One row per group of nodes: the part of each bin in which they compute or transfer. */
static enum cleave_status group_rows(struct cv_report_data *data,
                                     struct cleave_error *err)
{
    const uint32_t group = (data->nnodes + GROUPS - 1) / GROUPS;
    const double bin_s = data->makespan_s / BINS;
    const size_t per_row = (size_t)CV_SPAN_KINDS * BINS;
    struct cv_report_data_span *bins =
        cv_array(&data->arena, GROUPS * per_row, sizeof *bins);
    size_t kept = 0;

    if (bins == NULL)
        return cv_fail_memory(err, "the report");
    for (size_t i = 0; i < data->nspans; i++) {
        const struct cv_report_data_span *span = &data->spans[i];
        struct cv_report_data_span *row =
            bins + span->row / group * per_row + (size_t)span->kind * BINS;
        size_t from = (size_t)(span->start_s / bin_s);

        from = from < BINS ? from : BINS - 1;
        row[from].ref++;
        row[from].units += span->units;
        for (size_t b = from; b < BINS && (double)b * bin_s < span->end_s; b++)
            row[b].busy_s += (fmin(span->end_s, (double)(b + 1) * bin_s) -
                              fmax(span->start_s, (double)b * bin_s)) /
                             group;
    }
    for (size_t i = 0; i < GROUPS * per_row; i++) {
        if (!(bins[i].busy_s > 0))
            continue;
        bins[kept] = bins[i];
        bins[kept].row = (uint32_t)(i / per_row);
        bins[kept].kind = (uint8_t)(i % per_row / BINS);
        bins[kept].start_s = (double)(i % BINS) * bin_s;
        bins[kept].end_s = (double)(i % BINS + 1) * bin_s;
        kept++;
    }
    qsort(bins, kept, sizeof *bins, by_place);
    data->spans = bins;
    data->nspans = kept;
    data->group = group;
    data->block_s = bin_s;
    return CLEAVE_OK;
}

enum cleave_status cv_report_data_reduce(struct cv_report_data *data,
                                         struct cleave_error *err)
{
    double block_s = data->makespan_s / 65536;

    if (data->nnodes > MOST_ROWS && data->makespan_s > 0)
        return group_rows(data, err);
    if (data->nspans <= MOST_SPANS)
        return CLEAVE_OK;
    do {
        merge(data, block_s);
        block_s *= 2;
    } while (data->nspans > MOST_BLOCKS && block_s <= data->makespan_s);
    return CLEAVE_OK;
}

enum cleave_status cv_report_data_match(const struct cv_report_data *measured,
                                        const struct cv_report_data *predicted,
                                        const char *predicted_name,
                                        struct cleave_error *err)
{
    const struct cv_trace_header *one = &measured->file->header,
                                 *two = &predicted->file->header;
    const struct cv_place place = { .file = predicted_name };
    char shown[64], other[64];

    if (one->task != two->task)
        return cv_fail_at(err, &place,
                          "expected a trace of a %s, as the other is, got one of a %s",
                          one->task == CLEAVE_TASK_LOAD ? "load" : "reduction",
                          two->task == CLEAVE_TASK_LOAD ? "load" : "reduction");
    if (one->nworkers != two->nworkers)
        return cv_fail_at(err, &place, "expected %u %s, as the other trace has, got %u",
                          one->nworkers,
                          one->task == CLEAVE_TASK_LOAD ? "workers" : "nodes",
                          two->nworkers);
    if (one->task == CLEAVE_TASK_REDUCE)
        return CLEAVE_OK;
    for (uint32_t i = 0; i < one->nworkers; i++)
        if (strcmp(one->names[i], two->names[i]) != 0)
            return cv_fail_at(
                err, &place,
                "expected the workers of the other trace: number %u is "
                "'%s' there, but '%s' here",
                i, cv_shown(one->names[i], strlen(one->names[i]), shown, sizeof shown),
                cv_shown(two->names[i], strlen(two->names[i]), other, sizeof other));
    if (fabs(one->load - two->load) > 0.01 * fmax(one->load, two->load))
        return cv_fail_at(err, &place,
                          "expected a load of %.6g units, as the other trace has, got "
                          "%.6g",
                          one->load, two->load);
    return CLEAVE_OK;
}

/* --- spans for the script ----------------------------------------------------------- */

/* A column of numbers in base64, little-endian: 28 bytes of page for a span. Starts are
 * doubles, hence exact; lengths and units are floats. */
struct column {
    FILE *file;
    unsigned char waiting[3];
    size_t count;
};

static void put_group(struct column *column)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *b = column->waiting;
    char out[4] = { digits[b[0] >> 2], digits[(b[0] & 3) << 4 | b[1] >> 4], '=', '=' };

    if (column->count > 1)
        out[2] = digits[(b[1] & 15) << 2 | b[2] >> 6];
    if (column->count > 2)
        out[3] = digits[b[2] & 63];
    fwrite(out, 1, sizeof out, column->file);
    memset(column->waiting, 0, sizeof column->waiting);
    column->count = 0;
}

static void put_bytes(struct column *column, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        column->waiting[column->count++] = (unsigned char)(value >> 8 * i);
        if (column->count == 3)
            put_group(column);
    }
}

static void put_float(struct column *column, double value)
{
    const float narrow = (float)value;
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof bits);
    put_bytes(column, bits, sizeof bits);
}

enum field { KIND, START, LENGTH, UNITS, REF, BUSY, FIELDS };

static void put_field(struct column *column, int field,
                      const struct cv_report_data_span *span)
{
    uint64_t start;

    memcpy(&start, &span->start_s, sizeof start);
    if (field == KIND)
        put_bytes(column, span->kind, 1);
    else if (field == START)
        put_bytes(column, start, sizeof start);
    else if (field == REF)
        put_bytes(column, span->ref, 4);
    else
        put_float(column, field == LENGTH  ? span->end_s - span->start_s
                          : field == UNITS ? span->units
                                           : span->busy_s);
}

static struct column open_column(struct cv_json *json, const char *key)
{
    cv_json_key(json, key);
    cv_json_raw(json, "\"");
    return (struct column){ .file = json->file };
}

static void close_column(struct column *column)
{
    if (column->count > 0)
        put_group(column);
    fputc('"', column->file);
}

/* Indices of the first spans of the link and the processor of each row, and of the
 * end. */
static void put_places(struct cv_json *json, const struct cv_report_data *data,
                       uint32_t rows)
{
    struct column column = open_column(json, "at");
    size_t at = 0;

    for (uint32_t row = 0; row < rows; row++) {
        put_bytes(&column, at, 4);
        while (at < data->nspans && data->spans[at].row == row &&
               cv_report_data_on_link((enum cv_span_kind)data->spans[at].kind))
            at++;
        put_bytes(&column, at, 4);
        while (at < data->nspans && data->spans[at].row == row)
            at++;
    }
    put_bytes(&column, at, 4);
    close_column(&column);
}

static void put_trace(struct cv_json *json, const struct cv_report_data *data,
                      const char *label, uint32_t rows)
{
    static const char *const names[FIELDS] = { "kind",  "start", "length",
                                               "units", "ref",   "busy" };

    cv_json_object(json);
    cv_fields(json, "label %s, makespan %g, block %g", label, data->makespan_s,
              data->block_s);
    put_places(json, data, rows);
    for (int field = 0; field < FIELDS; field++) {
        struct column column;

        if (field == BUSY && !(data->block_s > 0))
            continue;
        column = open_column(json, names[field]);
        for (size_t i = 0; i < data->nspans; i++)
            put_field(&column, field, &data->spans[i]);
        close_column(&column);
    }
    cv_json_end(json);
}

static void put_rows(struct cv_json *json, const struct cv_report_data *data,
                     uint32_t rows)
{
    char number[CV_SHEET_NAME_ROOM], other[CV_SHEET_NAME_ROOM], label[600];

    cv_field_list(json, "rows");
    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t first = row * data->group;
        const uint32_t last =
            first + data->group < data->nnodes ? first + data->group : data->nnodes;

        if (data->group == 1)
            snprintf(label, sizeof label, "%s", cv_report_data_name(data, row, number));
        else
            snprintf(label, sizeof label, "%.250s \xe2\x80\x93 %.250s",
                     cv_report_data_name(data, first, number),
                     cv_report_data_name(data, last - 1, other));
        cv_json_text(json, label);
    }
    cv_json_end(json);
}

void cv_page_spans(FILE *file, const struct cv_report_data *measured,
                   const struct cv_report_data *predicted)
{
    const struct cv_trace_header *header = &measured->file->header;
    const struct cleave_trace_facts *facts = cleave_trace_facts(measured->file->trace);
    const uint32_t rows = (measured->nnodes + measured->group - 1) / measured->group;
    const double end_s = predicted != NULL
                             ? fmax(measured->makespan_s, predicted->makespan_s)
                             : measured->makespan_s;
    struct cv_json json;

    fputs("<script type=\"application/json\" id=\"spans\">\n", file);
    cv_json_init(&json, file, false);
    json.in_page = true;
    cv_json_object(&json);
    cv_fields(&json, "task %s, port %s, group %u, joined %d, end %g",
              header->task == CLEAVE_TASK_LOAD ? "load" : "reduce",
              header->task == CLEAVE_TASK_LOAD ? cleave_port_name(header->port) : "",
              measured->group, measured->joined, end_s);
    if (facts->bound.name != NULL && !(facts->lifespan_s > 0))
        cv_fields(&json, "bound {name %s, value %g}", facts->bound.name,
                  facts->bound.value_s);
    else
        cv_field_text(&json, "bound", NULL);
    put_rows(&json, measured, rows);
    cv_field_list(&json, "traces");
    put_trace(&json, measured, "measured", rows);
    if (predicted != NULL)
        put_trace(&json, predicted, "predicted", rows);
    cv_json_end(&json);
    cv_json_end(&json);
    (void)cv_json_close(&json); /* the caller checks the file */
    fputs("</script>\n", file);
}
