/* input_coverage.h -- proof that every byte of the input was processed once.
 * SPDX-License-Identifier: MIT
 *
 * A byte is done, or failed and reported, or left. Entries are made where an output is
 * taken or given up, independently of the code that hands pieces out, so that a mistake
 * there is found: at the end the entries must be the whole input, and none may be made
 * twice. */
#ifndef CV_INPUT_COVERAGE_H
#define CV_INPUT_COVERAGE_H
#include "run/input/source.h"
#include "run/common/range_set.h"

/* All zero: no entries. */
struct cv_input_coverage {
    struct cv_range_set settled; /* addresses that were done or failed                 */
    struct cv_range_set failed;  /* the part of it that failed */
    const char *fault;           /* the first impossible entry; NULL: none */
    struct cv_range at;          /* its range */
};

void cv_input_coverage_done(struct cv_input_coverage *coverage);

/* The output of [begin, end) was taken; the range failed; or a taken output was lost
 * and will be made again. */
enum cleave_status cv_input_coverage_add(struct cv_input_coverage *coverage,
                                         uint64_t begin, uint64_t end,
                                         struct cleave_error *err);
enum cleave_status cv_input_coverage_fail(struct cv_input_coverage *coverage,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err);
enum cleave_status cv_input_coverage_lose(struct cv_input_coverage *coverage,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err);

/* Add what is left of the first `total` bytes to *out. */
enum cleave_status cv_input_coverage_left(const struct cv_input_coverage *coverage,
                                          uint64_t total, struct cv_range_set *out,
                                          struct cleave_error *err);

/* Fails with CLEAVE_EACCOUNT after an impossible entry, and after a successful run if
 * a part of the source was neither done nor failed. */
enum cleave_status cv_input_coverage_check(const struct cv_input_coverage *coverage,
                                           const struct cv_source *source,
                                           bool ended_well, struct cleave_error *err);

#endif
