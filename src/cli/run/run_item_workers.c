/* run_item_workers.c -- what workers did, of a run over items. SPDX-License-Identifier: MIT */
#include <math.h>

#include "cli/run/run_report.h"
#include "report/terminal/table.h"

double cv_run_makespan(const struct cleave_execution_result *result)
{
    return fmax(0, result->seconds - result->connect_s);
}

double cv_run_busy_part(const struct cleave_execution_result *result,
                        const struct cleave_worker_result *worker)
{
    const double makespan_s = cv_run_makespan(result);

    return makespan_s > 0 ? fmin(1, worker->busy_s / makespan_s) : 0;
}

void cv_run_item_workers(const struct cleave_execution_result *result, FILE *file)
{
    enum { MANY = 32 };
    static const struct cv_column columns[] = {
        { "worker", CV_COLUMN_TEXT },
        { "commands", CV_COLUMN_COUNT },
        { "failed", CV_COLUMN_COUNT },
        { "busy", CV_COLUMN_PERCENT },
    };
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_table table;

    cv_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (uint32_t w = 0; w < result->nworkers; w++) {
        const struct cleave_worker_result *worker = &result->workers[w];

        if (result->nworkers > MANY && worker->chunks == 0)
            continue;
        cv_table_text(&table, worker->name);
        cv_table_number(&table, (double)worker->chunks);
        cv_table_number(&table, (double)worker->failures);
        cv_table_number(&table, cv_run_busy_part(result, worker));
    }
    cv_table_write(&table, false, 80, &text);
    cv_table_done(&table);
    if (!text.failed && text.bytes != NULL)
        fputs(text.bytes, file);
    cv_text_done(&text);
}
