/* costs_file.h -- costs and ready times of a reduction. SPDX-License-Identifier: MIT */
#ifndef CV_COSTS_FILE_H
#define CV_COSTS_FILE_H
#include <cleave/error.h>
#include <cleave/reduce.h>
#include <stdbool.h>
#include <stddef.h>

struct cv_doubles {
    double *at; /* owned */
    size_t count, capacity;
};

/* The content of a cost file; all members 0: empty. */
struct cv_costs_draft {
    size_t nodes;
    struct cv_doubles transfer; /* row by row, 0 on the diagonal */
    struct cv_doubles compute;
    bool has_compute;
};

void cv_costs_draft_clear(struct cv_costs_draft *draft);

/* Read plain JSON without units, 20 times as fast as YAML. Returns false for any other text;
 * the draft may then hold a part of it. */
bool cv_costs_read_quickly(const char *text, size_t length, struct cv_costs_draft *draft);

enum { CV_READY_MOST = 1 << 30 }; /* nodes */

/* *out is owned by the caller (free). "-" is standard input. */
enum cleave_status cv_ready_load(const char *path, double **out, size_t *out_count,
                                 struct cleave_error *err);

/* Most nodes that a file may describe. */
enum { CV_COSTS_NODES = 20000 };

/* cleave_costs_load from memory; messages call the text `name`. */
enum cleave_status cv_costs_parse(const char *name, const char *text, size_t length,
                                  struct cleave_costs **out, struct cleave_error *err);

#endif
