/* report_data.h -- a trace summed up for a report. SPDX-License-Identifier: MIT */
#ifndef CV_REPORT_DATA_H
#define CV_REPORT_DATA_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/arena.h"
#include "io/trace_file.h"
#include "io/trace_export.h"

/* A worker, or a node of a reduction. */
struct cv_report_data_node {
    uint64_t chunks;        /* computed, or partials combined                        */
    double units;           /* computed                                              */
    double busy_s;          /* computing or combining                                */
    double receive_s;       /* receiving load or partials                            */
    double return_s;        /* sending results or its partial                        */
    double first_s, last_s; /* start of its first and end of its last span; NAN: none */
    double parent_s;        /* reductions: when it sent its partial; NAN: never      */
    uint32_t parent;        /* reductions: the receiver                              */
    const char *reason;     /* why it was excluded, or NULL                          */
};

/* A span to draw. A block stands for several spans. */
struct cv_report_data_span {
    uint32_t row; /* worker or node                                      */
    uint8_t kind; /* enum cv_span_kind                                   */
    uint32_t ref; /* chunk, or sender of a partial; number of spans in a block */
    double start_s, end_s;
    double units;
    double busy_s; /* end - start for a single span                      */
};

struct cv_report_data {
    const struct cv_trace_file *file; /* borrowed */
    struct cv_report_data_node *nodes;
    uint32_t nnodes;
    double makespan_s;
    double units;       /* computed in all                                      */
    double send_s;      /* the master's port, or all transfers of partials      */
    double return_s;    /* transfers of results                                 */
    double utilisation; /* computing, over nodes x makespan                     */
    double first_end_s; /* first end of a node that did something               */
    uint64_t counts[CV_SPAN_KINDS];
    uint32_t used, root; /* nodes that did something; root of a reduction        */
    bool joined;         /* reductions: transfers are part of the combinations   */
    struct cv_report_data_span *spans; /* by row, strip (link, processor), start */
    size_t nspans;
    uint32_t group; /* nodes per row                                        */
    double block_s; /* above 0: spans are blocks of up to this length       */
    struct cv_arena arena;
};

/* Sum up the trace and `count` spans that are still running. cv_report_data_done releases
 * it, also after a failure if it was zeroed. */
enum cleave_status cv_report_data_make(const struct cv_trace_file *file,
                                       const struct cv_span *running, size_t count,
                                       struct cv_report_data *out,
                                       struct cleave_error *err);
void cv_report_data_done(struct cv_report_data *data);

/* Merge spans until they fit into a page: neighbours in a strip, or rows if there are
 * very many. */
enum cleave_status cv_report_data_reduce(struct cv_report_data *data,
                                         struct cleave_error *err);

/* Spans of the link of a worker; other kinds are of its processor. */
bool cv_report_data_on_link(enum cv_span_kind kind);

/* `buffer` is for nodes without a name. */
enum { CV_SHEET_NAME_ROOM = 24 };
const char *cv_report_data_name(const struct cv_report_data *data, uint32_t node,
                                char buffer[CV_SHEET_NAME_ROOM]);

/* Fails if `predicted`, of the file predicted_name, is not a prediction of `measured`. */
enum cleave_status cv_report_data_match(const struct cv_report_data *measured,
                                        const struct cv_report_data *predicted,
                                        const char *predicted_name,
                                        struct cleave_error *err);

/* A script element with data for page_chart.js; `predicted` may be NULL. */
void cv_page_spans(FILE *file, const struct cv_report_data *measured,
                   const struct cv_report_data *predicted);

/* A Gantt chart without script, for print: the port, if it is shared, and the first
 * nodes. */
void cv_page_chart(FILE *file, const struct cv_report_data *data);

uint32_t cv_page_chart_rows(const struct cv_report_data *data);
void cv_page_legend(FILE *file, const struct cv_report_data *data);
/* A table cell: the parts of the time in which a node computes and transfers. */
void cv_page_meter(FILE *file, const struct cv_report_data *data,
                   const struct cv_report_data_node *node);

#endif
