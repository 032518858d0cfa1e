/* named_reduction.h -- the reductions that cleave does itself. SPDX-License-Identifier: MIT
 *
 * A named reduction reads the outputs in the order of the input, as awk reads files: the end of
 * an output ends its line. Results do not depend on how the outputs are grouped: sums are exact,
 * and partials keep everything that the result needs.
 *
 *   sum            each column added up, any number of digits
 *   count          number of lines
 *   min, max       the line whose first field is the smallest or the largest number
 *   sort[:OPTIONS] sort(1) with these options: a command
 *   uniq           equal neighbours once, as uniq(1)
 *   counts         lines of `uniq -c` added up by key, in the order of sort(1)
 *   first, last    one line
 *   head:N, tail:N N lines; 10 without N */
#ifndef CV_NAMED_REDUCTION_H
#define CV_NAMED_REDUCTION_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

struct cv_text;

enum cv_named_kind {
    CV_NAMED_NONE, /* a command */
    CV_NAMED_SUM,
    CV_NAMED_COUNT,
    CV_NAMED_MIN,
    CV_NAMED_MAX,
    CV_NAMED_SORT,
    CV_NAMED_UNIQ,
    CV_NAMED_COUNTS,
    CV_NAMED_HEAD, /* first is head:1 */
    CV_NAMED_TAIL,
};

struct cv_named_reduction {
    enum cv_named_kind kind;
    uint64_t lines;      /* head, tail */
    const char *options; /* sort: borrowed from the text */
};

/* Parse a text of reduce.command. `kind` is CV_NAMED_NONE for a command. */
enum cleave_status cv_named_reduction_parse(const char *text,
                                            struct cv_named_reduction *out,
                                            struct cleave_error *err);

/* Whether the result does not depend on the order of the parts. */
bool cv_named_is_commutative(const struct cv_named_reduction *how);

/* Add a line for sh that sorts the files `{}`; if `sorted`, they are sorted already. */
void cv_named_sort_command(const struct cv_named_reduction *how, bool sorted,
                           struct cv_text *out);

/* An output, or the partial that an earlier call made. */
struct cv_named_part {
    const char *bytes; /* borrowed */
    size_t length;
    bool is_partial;
};

/* Reduce the parts, in this order, and write the result or, unless `last`, a partial to `fd`. All
 * kinds but sort. May run in a thread; ends early when *stop becomes true. */
enum cleave_status cv_named_reduce(const struct cv_named_reduction *how,
                                   const struct cv_named_part *parts, size_t count,
                                   bool last, int fd, const atomic_bool *stop,
                                   struct cleave_error *err);

#endif
