/* run_values.h -- options whose text has a meaning of its own. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_VALUES_H
#define CV_RUN_VALUES_H
#include "cli/run/run_options.h"

/* What --header says, where ':' is one record as with GNU parallel. */
const char *cv_header_how(const char *text);
/* What --header-out says, which alone means what --header does; NULL: it was not given. */
const char *cv_header_out_how(const struct cv_run_options *values);
/* The bytes of --max-record; 0: it was not given. */
uint64_t cv_record_limit(double bytes);

/* Of these, `text` is NULL where the option was not given. They return an exit status; what is
 * wrong has been told. */

/* "2min" or, of items on this machine, "200%". */
int cv_timeout_read(const char *text, bool items_here,
                    struct cleave_failure_options *out);
/* "never", "now,fail=1", "soon,fail=10%". */
int cv_halt_read(const char *text, struct cleave_execution *out);
/* The number of --load; 0: none was given. */
int cv_load_read(const char *text, double *out);
/* "cores" or "nodes", of --pin. */
int cv_pin_read(const char *text, enum cleave_pin *out);

#endif
