/* job_log.h -- a line for every end of a command, with the columns of GNU parallel.
 * SPDX-License-Identifier: MIT */
#ifndef CV_JOB_LOG_H
#define CV_JOB_LOG_H
#include <cleave/execute.h>
#include "cli/common/output.h"
#include "run/items/item_commands.h"

struct cv_job_log {
    struct cv_output_file out; /* its file is NULL: there is no log    */
    int failed;                /* exit status of what has been told    */
};

/* `path` is what --joblog says; NULL: there is none. `resumes`: lines are added to those of an
 * older log, if there is one. Returns an exit status; what is wrong
 * has been told. */
int cv_job_log_open(struct cv_job_log *log, const char *path, bool resumes);
/* `items`: their commands, by number; NULL: what was attempted is a part of an input. */
void cv_job_log_add(struct cv_job_log *log, const struct cleave_attempt *attempt,
                    const struct cv_item_commands *items);
/* Returns `status`, or that of a log that could not be written. Does nothing the second
 * time. */
int cv_job_log_close(struct cv_job_log *log, int status);

#endif
