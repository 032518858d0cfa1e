/* lead_command.h -- the command of a worker that leads others. SPDX-License-Identifier: MIT */
#ifndef CV_LEAD_COMMAND_H
#define CV_LEAD_COMMAND_H
#include "run/worker/worker_serve.h"

/* Let the worker run `cleave run --framed` with these words, ended by NULL, and the terms of its
 * job. The words are borrowed. */
void cv_lead_by(struct cv_worker_options *options, const char *const *words);

#endif
