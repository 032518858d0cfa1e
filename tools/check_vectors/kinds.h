/* kinds.h -- which format and kind of case is run by which code.
 * SPDX-License-Identifier: MIT */
#ifndef KINDS_H
#define KINDS_H
#include <cleave/policy.h>
#include "vector_case.h"

/* Cases of a format in a separate file; `kinds` ends with a NULL alg. */
struct case_format {
    const char *format;
    const struct case_kind *kinds;
};

/* Ends with a NULL format. Several entries may share a format. */
extern const struct case_format case_formats[];

extern const struct case_kind load_kinds[], load_dynamic_kinds[], reduce_dynamic_kinds[];
extern const struct case_kind reduce_kinds[], returns_kinds[], rounds_kinds[];
extern const struct case_kind streams_kinds[], streams_select_kinds[];
extern const struct case_kind streams_sim_kinds[], ready_kinds[], joint_kinds[];
extern const struct case_kind leaders_kinds[], loads_kinds[];

/* The model of ready times that a case names; false and a failed case if it names none. */
bool case_ready_model(struct vector_case *c, enum cleave_ready_model *out);

/* The code for a kind, or NULL. *out_known: whether the format is known at all. */
case_run *find_kind(const char *format, const char *alg, bool *out_known);

#endif
