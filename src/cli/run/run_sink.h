/* run_sink.h -- where the outputs of cleave run go. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_SINK_H
#define CV_RUN_SINK_H
#include <stdbool.h>
#include "base/new_file.h"
#include "cli/run/run_options.h"

struct cv_run_sink {
    const char *option; /* borrowed: that asked for it                                 */
    const char *path; /* borrowed; NULL: standard output                               */
    struct cv_new_file file;
    bool kept; /* a journal has all of it: nothing stays beside that is not whole   */
    bool on_stdout; /* outputs come on standard output, by whatever name               */
};

/* `path` is what the option says, as --output: NULL and "-" are standard output. *out_descriptor
 * is where to write. Returns an exit status; what is wrong has been told. */
int cv_run_sink_open(struct cv_run_sink *sink, const char *option, const char *path,
                     int *out_descriptor);
/* All outputs are there, in order: the file gets its name. Otherwise what there is stays
 * beside, and it is told where, unless it is kept elsewhere or empty. Returns `status`, or that of a
 * result that could not be written. Does nothing the second time. */
int cv_run_sink_close(struct cv_run_sink *sink, bool whole, int status);

/* Whether --output names a file: without it, and with "-", outputs go to standard output. */
bool cv_run_output_is_file(const struct cv_run_options *values);
/* Whether lines of chunks can be written as they come, if that is asked for. Returns an exit
 * status. */
int cv_run_lines_check(const struct cv_run_options *values);
/* Whether outputs are asked for both as a whole and as they come. Returns an exit status. */
int cv_run_group_check(const struct cv_run_options *values);
/* Whether lines of the chunk in front are written before it is done, as nothing that was asked
 * for speaks against it. */
bool cv_run_shows_early(const struct cv_run_options *values);

#endif
