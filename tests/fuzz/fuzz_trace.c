/* fuzz_trace.c -- any bytes as a trace of a small platform, or of a reduction.
 * SPDX-License-Identifier: MIT
 *
 * An accepted trace must be written and read again to the same entries; a trace of any
 * kind must make a report. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cleave/trace.h>
#include "io/trace_file.h"
#include "report/page/html_report.h"
#include "fuzz_target.h"

static enum cleave_status read_bytes(const void *bytes, size_t length,
                                     const struct cleave_platform *platform,
                                     uint32_t *nodes, struct cleave_trace **out)
{
    struct cv_trace_file trace;
    struct cleave_error err;
    enum cleave_status status;
    /* Opened for reading only, so the bytes do not change. */
    union {
        const void *in;
        void *out;
    } same = { bytes };
    FILE *file = length > 0 ? fmemopen(same.out, length, "rb") : fopen("/dev/null", "rb");

    require(file != NULL);
    status = cv_trace_file_read(file, "fuzz",
                                &(struct cv_trace_wanted){ .platform = platform }, &trace,
                                &err);
    if (status == CLEAVE_OK) {
        *out = trace.trace;
        trace.trace = NULL;
        if (platform == NULL && nodes != NULL)
            *nodes = trace.header.nworkers;
    }
    cv_trace_file_done(&trace);
    fclose(file);
    require(status == CLEAVE_OK || (status == CLEAVE_EINPUT && err.text[0] != '\0'));
    return status;
}

static int is_same(const struct cleave_entry *a, const struct cleave_entry *b)
{
    const struct cleave_event *x = &a->as.event, *y = &b->as.event;
    const struct cleave_order *v = &a->as.order, *w = &b->as.order;

    if (a->is_order != b->is_order)
        return 0;
    if (a->is_order)
        return v->kind == w->kind && v->worker == w->worker && v->units == w->units &&
               v->time_s == w->time_s && v->peer == w->peer;
    return x->kind == y->kind && x->worker == y->worker && x->chunk == y->chunk &&
           x->units == y->units && x->start_s == y->start_s && x->time_s == y->time_s &&
           x->more == y->more && x->peer == y->peer;
}

static void check_written(const struct cleave_trace *trace,
                          const struct cleave_platform *platform, uint32_t nodes)
{
    struct cleave_trace *again = NULL;
    uint32_t nodes_again = nodes;
    size_t length = 0;
    char *text = NULL;
    FILE *file = open_memstream(&text, &length);

    require(file != NULL);
    if (platform != NULL)
        require(cleave_trace_save(trace, platform, "fuzz", 1, file, NULL) == CLEAVE_OK);
    else
        require(cleave_trace_save_reduce(trace, nodes, "fuzz", file, NULL) == CLEAVE_OK);
    fclose(file);
    require(read_bytes(text, length, platform, &nodes_again, &again) == CLEAVE_OK);
    require(nodes_again == nodes);
    require(cleave_trace_count(again) == cleave_trace_count(trace));
    for (size_t i = 0; i < cleave_trace_count(trace); i++)
        require(is_same(cleave_trace_at(trace, i), cleave_trace_at(again, i)));
    cleave_trace_free(again);
    free(text);
}

/* The page of an arbitrary trace. */
static void check_report(const uint8_t *data, size_t size)
{
    enum { MOST_NODES = 50000 }; /* more only takes long */
    struct cv_trace_file trace;
    struct cv_report_data sheet = { .file = NULL };
    struct cleave_error err;
    union {
        const uint8_t *in;
        void *out;
    } same = { data };
    FILE *file = size > 0 ? fmemopen(same.out, size, "rb") : fopen("/dev/null", "rb");
    FILE *page = fopen("/dev/null", "wb");

    require(file != NULL && page != NULL);
    if (cv_trace_file_read(file, "fuzz",
                           &(struct cv_trace_wanted){ .any = true, .events_only = true },
                           &trace, &err) == CLEAVE_OK &&
        trace.header.nworkers <= MOST_NODES) {
        require(cv_report_data_make(&trace, NULL, 0, &sheet, &err) == CLEAVE_OK);
        require(cv_report_data_reduce(&sheet, &err) == CLEAVE_OK);
        cv_report_write(&(struct cv_report){ .measured = &sheet,
                                             .predicted = &sheet,
                                             .measured_name = "fuzz",
                                             .predicted_name = "fuzz" },
                        page);
    }
    cv_report_data_done(&sheet);
    cv_trace_file_done(&trace);
    fclose(page);
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct cleave_worker workers[2] = { { 1, 0, 1, 0, 1, 0 },
                                                     { 2, 0, 1, 0, 1, 0 } };
    struct cleave_platform *platform = NULL;
    struct cleave_trace *trace = NULL;
    uint32_t nodes = 0;

    require(cleave_platform_new(CLEAVE_PORT_ONE, workers, 2, &platform, NULL) ==
            CLEAVE_OK);
    if (read_bytes(data, size, platform, NULL, &trace) == CLEAVE_OK)
        check_written(trace, platform, 0);
    cleave_trace_free(trace);
    trace = NULL;
    if (read_bytes(data, size, NULL, &nodes, &trace) == CLEAVE_OK)
        check_written(trace, NULL, nodes);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
    check_report(data, size);
    return 0;
}
