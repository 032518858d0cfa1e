/* ready_file.h -- when the partials of a reduction become ready, from a file.
 * SPDX-License-Identifier: MIT
 *
 * One time per node in the order of the nodes, separated by white space or commas; a list
 * in JSON is such a file too, as brackets around all are passed over. Times may have units. */
#ifndef CV_READY_FILE_H
#define CV_READY_FILE_H
#include <stddef.h>
#include <cleave/error.h>

enum { CV_READY_MOST = 1 << 30 }; /* nodes */

/* *out is owned by the caller (free). "-" is standard input. */
enum cleave_status cv_ready_load(const char *path, double **out, size_t *out_count,
                                 struct cleave_error *err);

#endif
