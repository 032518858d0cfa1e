/* input_coverage.h -- what became of every byte of the input. SPDX-License-Identifier: MIT
 *
 * A byte is done, or failed and reported, or left. It is entered where its output is taken
 * or given up, apart from whoever hands pieces out, so that a mistake there is found here:
 * at the end the entries must be the whole input, and none may be made twice. */
#ifndef CV_INPUT_COVERAGE_H
#define CV_INPUT_COVERAGE_H
#include "run/input/source.h"
#include "run/common/range_set.h"

/* All zero: nothing is entered. */
struct cv_input_coverage {
    struct cv_range_set settled; /* addresses that were done or failed                 */
    struct cv_range_set failed;  /* those of them that failed                          */
    const char *fault;           /* the first entry that made no sense; NULL: none     */
    struct cv_range at;          /* of it                                              */
};

void cv_input_coverage_done(struct cv_input_coverage *coverage);

/* The output of [begin, end) was taken; there is none, nor will be; or what was taken is
 * lost, and to be made again. */
enum cleave_status cv_input_coverage_add(struct cv_input_coverage *coverage,
                                         uint64_t begin, uint64_t end,
                                         struct cleave_error *err);
enum cleave_status cv_input_coverage_fail(struct cv_input_coverage *coverage,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err);
enum cleave_status cv_input_coverage_lose(struct cv_input_coverage *coverage,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err);

/* What is left of the first `total` bytes: added to *out. */
enum cleave_status cv_input_coverage_left(const struct cv_input_coverage *coverage,
                                          uint64_t total, struct cv_range_set *out,
                                          struct cleave_error *err);

/* Fails with CLEAVE_EACCOUNT if an entry made no sense; and, for a run that has ended
 * well, if some of the source was neither done nor failed. */
enum cleave_status cv_input_coverage_check(const struct cv_input_coverage *coverage,
                                           const struct cv_source *source,
                                           bool ended_well, struct cleave_error *err);

#endif
