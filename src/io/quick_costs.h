/* quick_costs.h -- cost files that hold nothing but plain JSON, read at once.
 * SPDX-License-Identifier: MIT
 *
 * A matrix of a thousand nodes has a million numbers, for which the YAML reader takes
 * 0.7 s, and json_in.c 0.05. Files made by programs are JSON with bare numbers; this reads those. Of
 * anything it does not expect it says no word but leaves the file to the full reader,
 * which either knows better or says what is wrong and where. */
#ifndef CV_QUICK_COSTS_H
#define CV_QUICK_COSTS_H
#include <stdbool.h>
#include <stddef.h>

struct cv_doubles {
    double *at; /* owned */
    size_t count, capacity;
};

/* What was read of a cost file. A zeroed one is empty. */
struct cv_costs_draft {
    size_t nodes;
    struct cv_doubles transfer; /* row by row, 0 on the diagonal */
    struct cv_doubles compute;
    bool has_compute;
};

bool cv_doubles_add(struct cv_doubles *list, double value);
void cv_costs_draft_clear(struct cv_costs_draft *draft);

/* Whether all of the text was understood and is right. The draft may hold a part if not. */
bool cv_costs_read_quickly(const char *text, size_t length, struct cv_costs_draft *draft);

#endif
