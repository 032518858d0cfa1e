/* fetched.h -- an input that a command gives by ranges, read as if it were a file.
 * SPDX-License-Identifier: MIT
 *
 * Whoever cuts it reads some bytes here and there, and more at a time the longer it reads on; a
 * chunk is fetched for its command by a thread of its own. */
#ifndef CV_FETCHED_H
#define CV_FETCHED_H
#include "run/fetch/fetch_command.h"
#include "run/common/piece_part.h"

struct cv_fetched;

/* `line` and `name` are borrowed. *out is owned by the caller. */
enum cleave_status cv_fetched_new(const char *line, const char *name, uint64_t size,
                                  struct cv_fetched **out, struct cleave_error *err);
void cv_fetched_free(struct cv_fetched *fetched);
struct cv_lazy_reader *cv_fetched_well(struct cv_fetched *fetched);
const char *cv_fetched_line(const struct cv_fetched *fetched);

#endif
