/* costs_file.h -- the costs of one exact reduction, from a file.
 * SPDX-License-Identifier: MIT */
#ifndef CV_COSTS_FILE_H
#define CV_COSTS_FILE_H
#include <cleave/reduce.h>

/* Most nodes that a file may describe. */
enum { CV_COSTS_NODES = 20000 };

/* cleave_costs_load from memory; `name` stands for the file in messages. */
enum cleave_status cv_costs_parse(const char *name, const char *text, size_t length,
                                  struct cleave_costs **out, struct cleave_error *err);

#endif
