/* report_data.h -- a trace summed up for a report. SPDX-License-Identifier: MIT */
#ifndef CV_REPORT_DATA_H
#define CV_REPORT_DATA_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/arena.h"
#include "io/trace_file.h"
#include "io/trace_spans.h"

/* What one worker, or node of a reduction, did. */
struct cv_report_data_node {
    uint64_t chunks;        /* computed, or partials combined                        */
    double units;           /* computed                                              */
    double busy_s;          /* computing or combining                                */
    double receive_s;       /* getting load, or partials                             */
    double return_s;        /* sending its results back, or its partial on           */
    double first_s, last_s; /* begin of the first and end of the last of all that;
                               NAN when it did nothing                              */
    double parent_s;        /* reductions: when it sent its partial; NAN: never      */
    uint32_t parent;        /* reductions: to whom                                   */
    const char *reason;     /* why it was left out, or NULL                          */
};

/* A span, its row and strip, for drawing. Blocks stand for several spans. */
struct cv_report_data_span {
    uint32_t row; /* worker or node                                      */
    uint8_t kind; /* enum cv_span_kind                                   */
    uint32_t ref; /* chunk, or sender of a partial; number of spans in a block */
    double start_s, end_s;
    double units;
    double busy_s; /* of a block; end - start for a span                 */
};

struct cv_report_data {
    const struct cv_trace_file *file; /* borrowed */
    struct cv_report_data_node *nodes;
    uint32_t nnodes;
    double makespan_s;
    double units;       /* computed in all                                      */
    double send_s;      /* the master's port, or all transfers of partials      */
    double return_s;    /* results on their way                                 */
    double utilisation; /* computing, over nodes x makespan                     */
    double first_end_s; /* when the first of those that did something was done  */
    uint64_t counts[CV_SPAN_KINDS];
    uint32_t used, root; /* nodes that did something; of a reduction, who is left */
    bool joined;         /* reductions: transfers are part of the combinations   */
    struct cv_report_data_span
        *spans; /* by row, strip, start: links before processors  */
    size_t nspans;
    uint32_t group; /* rows stand for so many nodes each                    */
    double block_s; /* above 0: spans are blocks of up to this length       */
    struct cv_arena arena;
};

/* Sum up the trace. cv_report_data_done releases it, also after a failure if it was zeroed. */
enum cleave_status cv_report_data_make(const struct cv_trace_file *file,
                                       struct cv_report_data *out,
                                       struct cleave_error *err);
/* The same, with what is under way and in no trace yet. */
enum cleave_status cv_report_data_make_now(const struct cv_trace_file *file,
                                           const struct cv_span *under_way, size_t count,
                                           struct cv_report_data *out,
                                           struct cleave_error *err);
void cv_report_data_done(struct cv_report_data *data);

/* Put spans together until there are few enough for a page: neighbours in a strip first, and
 * rows if there are very many. */
enum cleave_status cv_report_data_reduce(struct cv_report_data *data,
                                         struct cleave_error *err);

/* Whether a kind of span belongs to the link of a worker; else to its processor. */
bool cv_report_data_on_link(enum cv_span_kind kind);

/* The name of a node; a number is written into `buffer`. */
enum { CV_SHEET_NAME_ROOM = 24 };
const char *cv_report_data_name(const struct cv_report_data *data, uint32_t node,
                                char buffer[CV_SHEET_NAME_ROOM]);

/* Complain when the second is not a prediction of the first. Names stand for the files in
 * the message. */
enum cleave_status cv_report_data_match(const struct cv_report_data *measured,
                                        const struct cv_report_data *predicted,
                                        const char *predicted_name,
                                        struct cleave_error *err);

/* A script element with what page_chart.js draws; `predicted` may be NULL. */
void cv_page_spans(FILE *file, const struct cv_report_data *measured,
                   const struct cv_report_data *predicted);

#endif
