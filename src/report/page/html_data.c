/* html_data.c -- the spans of a report for its script. SPDX-License-Identifier: MIT
 *
 * Columns of numbers in base64, little-endian as all machines with a browser are: 28 bytes
 * of page for a span. Starts are doubles, hence exact; lengths and units are floats. */
#include "report/page/html_data.h"

#include <math.h>
#include <string.h>
#include "report/page/html_page.h"

/* Bytes on their way to base64. */
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

static void put_double(struct column *column, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_bytes(column, bits, sizeof bits);
}

enum field { KIND, START, LENGTH, UNITS, REF, BUSY, FIELDS };

static void put_field(struct column *column, enum field field,
                      const struct cv_report_data_span *span)
{
    switch (field) {
    case KIND:
        put_bytes(column, span->kind, 1);
        break;
    case START:
        put_double(column, span->start_s);
        break;
    case LENGTH:
        put_float(column, span->end_s - span->start_s);
        break;
    case UNITS:
        put_float(column, span->units);
        break;
    case REF:
        put_bytes(column, span->ref, 4);
        break;
    case BUSY:
        put_float(column, span->busy_s);
        break;
    case FIELDS:
        break;
    }
}

static void close_column(struct column *column)
{
    if (column->count > 0)
        put_group(column);
    fputc('"', column->file);
}

/* Where the link and the processor of each row begin, and the end of all. */
static void put_places(FILE *file, const struct cv_report_data *data, uint32_t rows)
{
    struct column column = { .file = file };
    size_t at = 0;

    fputs(",\n\"at\":\"", file);
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

static void put_trace(FILE *file, const struct cv_report_data *data, const char *label,
                      uint32_t rows)
{
    static const char *const names[FIELDS] = { "kind",  "start", "length",
                                               "units", "ref",   "busy" };

    fprintf(file, "{\"label\":\"%s\",\"makespan\":", label);
    cv_page_json_number(file, data->makespan_s);
    fputs(",\"block\":", file);
    cv_page_json_number(file, data->block_s);
    put_places(file, data, rows);
    for (int field = 0; field < FIELDS; field++) {
        struct column column = { .file = file };

        if (field == BUSY && !(data->block_s > 0))
            continue;
        fprintf(file, ",\n\"%s\":\"", names[field]);
        for (size_t i = 0; i < data->nspans; i++)
            put_field(&column, (enum field)field, &data->spans[i]);
        close_column(&column);
    }
    fputc('}', file);
}

static void put_rows(FILE *file, const struct cv_report_data *data, uint32_t rows)
{
    char number[CV_SHEET_NAME_ROOM], other[CV_SHEET_NAME_ROOM], label[600];

    fputs(",\"rows\":[", file);
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
        fputs(row > 0 ? "," : "", file);
        cv_page_json_text(file, label);
    }
    fputc(']', file);
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

    fprintf(file,
            "<script type=\"application/json\" id=\"spans\">\n{\"task\":\"%s\","
            "\"port\":\"%s\",\"group\":%u,\"joined\":%s,\"end\":",
            header->task == CLEAVE_TASK_LOAD ? "load" : "reduce",
            header->task == CLEAVE_TASK_LOAD ? cleave_port_name(header->port) : "",
            measured->group, measured->joined ? "true" : "false");
    cv_page_json_number(file, end_s);
    fputs(",\"bound\":", file);
    if (facts->bound.name != NULL && !(facts->lifespan_s > 0)) {
        fputs("{\"name\":", file);
        cv_page_json_text(file, facts->bound.name);
        fputs(",\"value\":", file);
        cv_page_json_number(file, facts->bound.value_s);
        fputc('}', file);
    } else {
        fputs("null", file);
    }
    put_rows(file, measured, rows);
    fputs(",\n\"traces\":[", file);
    put_trace(file, measured, "measured", rows);
    if (predicted != NULL) {
        fputs(",\n", file);
        put_trace(file, predicted, "predicted", rows);
    }
    fputs("]}\n</script>\n", file);
}
