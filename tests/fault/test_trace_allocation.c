/* test_trace_allocation.c -- the n-th allocation fails while traces are described, written,
 * read and reported. SPDX-License-Identifier: MIT
 *
 * As test_allocation.c, with the parts of the library that are about traces. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/trace_export.h"
#include "io/trace_file.h"
#include "report/page/html_report.h"
#include "fault/failing_allocator.h"

#ifndef CV_NO_ALLOCATOR

static const struct cleave_worker workers[3] = { { 1, 0, 1, 0, 1, 0 },
                                                 { 2, 0, 1, 0, 1, 0 },
                                                 { 3, 0, 1, 0, 1, 0 } };

/* A trace with facts and a few chunks on two of three workers. */
static enum cleave_status make_trace(struct cleave_trace *trace, struct cleave_error *err)
{
    const struct cleave_left_out left = { 2, "too far away" };
    const struct cleave_setting setting = { "chunk", "5" };
    const struct cleave_policy_input told = { .settings = &setting,
                                              .nsettings = 1,
                                              .view = { .workers = workers,
                                                        .nworkers = 3 } };
    const struct cleave_trace_facts facts = { .command = "cleave plan load",
                                              .told = &told,
                                              .why = "because",
                                              .bound = { "price", 3 },
                                              .left_out = &left,
                                              .nleft_out = 1 };

    CV_TRY(cleave_trace_describe(trace, &facts, err));
    for (uint32_t i = 0; i < 40; i++) {
        const struct cleave_event event = { .kind = i % 2 ? CLEAVE_DONE : CLEAVE_SENT,
                                            .worker = i / 2 % 2,
                                            .chunk = i / 2,
                                            .units = 1,
                                            .start_s = i,
                                            .time_s = i + 1 };

        CV_TRY(cleave_trace_add(trace, &(struct cleave_entry){ .as.event = event }, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status write_all(const struct cv_trace_context *context, FILE *file,
                                    FILE *nowhere, struct cleave_error *err)
{
    CV_TRY(cv_trace_export(context, CV_TRACE_CHROME, nowhere, err));
    CV_TRY(cv_trace_export(context, CV_TRACE_PAJE, nowhere, err));
    return cv_trace_export(context, CV_TRACE_OWN, file, err);
}

static enum cleave_status report(FILE *file, FILE *nowhere, struct cleave_error *err)
{
    struct cv_trace_file trace;
    struct cv_report_data data = { .file = NULL };
    enum cleave_status status =
        cv_trace_file_read(file, "trace",
                           &(struct cv_trace_wanted){ .any = true, .events_only = true },
                           &trace, err);

    if (status == CLEAVE_OK)
        status = cv_report_data_make(&trace, NULL, 0, &data, err);
    if (status == CLEAVE_OK)
        status = cv_report_data_reduce(&data, err);
    if (status == CLEAVE_OK)
        cv_report_write(&(struct cv_report){ .measured = &data,
                                             .predicted = &data,
                                             .measured_name = "a",
                                             .predicted_name = "b" },
                        nowhere);
    cv_report_data_done(&data);
    cv_trace_file_done(&trace);
    return status;
}

static enum cleave_status scenario(FILE *file, FILE *nowhere, struct cleave_error *err)
{
    struct cleave_platform *platform = NULL;
    struct cleave_trace *trace = NULL;
    enum cleave_status status =
        cleave_platform_new(CLEAVE_PORT_ONE, workers, 3, &platform, err);

    rewind(file);
    if (status == CLEAVE_OK)
        status = cleave_trace_new(&trace, err);
    if (status == CLEAVE_OK)
        status = make_trace(trace, err);
    if (status == CLEAVE_OK)
        status = write_all(&(struct cv_trace_context){ .trace = trace,
                                                       .platform = platform,
                                                       .policy = "umr",
                                                       .load = 20 },
                           file, nowhere, err);
    rewind(file);
    if (status == CLEAVE_OK)
        status = report(file, nowhere, err);
    cleave_trace_free(trace);
    cleave_platform_free(platform);
    return status;
}

int main(void)
{
    /* Buffers are made before, so that only ours are made to fail. */
    static char buffers[2][BUFSIZ];
    FILE *file = tmpfile(), *nowhere = fopen("/dev/null", "w");
    struct cleave_error err = { 0 };
    long tried = 0, silent = 0;

    if (file == NULL || nowhere == NULL)
        return 1;
    setvbuf(file, buffers[0], _IOFBF, BUFSIZ);
    setvbuf(nowhere, buffers[1], _IOFBF, BUFSIZ);
    for (;; tried++) {
        enum cleave_status status;

        has_failed = false;
        countdown = tried;
        status = scenario(file, nowhere, &err);
        countdown = -1;
        if (!has_failed)
            break;
        if (status == CLEAVE_OK) {
            silent++; /* the C library's qsort, which then sorts in place */
        } else if (status != CLEAVE_ENOMEM || err.text[0] == '\0') {
            fprintf(stderr, "allocation %ld: %s: '%s'\n", tried,
                    cleave_status_text(status), err.text);
            return 1;
        }
    }
    fclose(file);
    fclose(nowhere);
    printf("%ld allocations failed in turn, %ld without effect\n", tried, silent);
    return tried > 20 && silent <= 2 ? 0 : 1;
}

#endif
