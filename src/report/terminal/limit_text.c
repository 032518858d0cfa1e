/* limit_text.c -- whether the master held a run up. SPDX-License-Identifier: MIT */
#include "report/terminal/limit_text.h"

#include <math.h>

static const double BUSY = 0.8;    /* of the time: more than that is no chance */
static const double WAITING = 0.1; /* of the time of workers: less is no loss  */

/* Of fewer chunks for each worker, all that a master does is begin and end. */
static const uint64_t SOME = 10;

void cv_limit_text(const struct cleave_execution_result *result, struct cv_text *out)
{
    const double makespan_s = result->seconds - result->connect_s;

    if (result->chunks == 0)
        return;
    if (!(result->waiting_s > WAITING * makespan_s * result->there))
        return;
    if (result->port_s > BUSY * makespan_s)
        cv_text_add(out,
                    "the port of the master was the limit: it was sending %.0f%% of the "
                    "time, %.4g MB/s",
                    fmin(100, 100 * result->port_s / makespan_s),
                    result->input_bytes / makespan_s / 1e6);
    else if (result->master_s > BUSY * makespan_s &&
             result->chunks >= SOME * result->there)
        cv_text_add(out,
                    "the master was the limit: it was busy %.0f%% of the time, with %.0f "
                    "chunks a second; larger ones would take less of it",
                    fmin(100, 100 * result->master_s / makespan_s),
                    (double)result->chunks / makespan_s);
}
