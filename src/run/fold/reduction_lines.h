/* reduction_lines.h -- functions shared by named reductions: lines, numbers and the
 * result. SPDX-License-Identifier: MIT */
#ifndef CV_REDUCTION_LINES_H
#define CV_REDUCTION_LINES_H
#include "run/fold/named_reduction.h"

/* The result, which is written to a descriptor. */
struct cv_reduction_sink {
    int fd, error;  /* error: errno, or 0 */
    bool lacks_end; /* the last line has no newline yet */
    size_t used;
    char bytes[1 << 16];
};

void cv_reduction_flush(struct cv_reduction_sink *sink);
void cv_reduction_put(struct cv_reduction_sink *sink, const void *bytes, size_t length);
void cv_reduction_put_blanks(struct cv_reduction_sink *sink, size_t count);

struct cv_text_span {
    const char *at;
    size_t length;
};

struct cv_named_call {
    const struct cv_named_reduction *how;
    const struct cv_named_part *parts;
    size_t count;
    bool last;
    struct cv_reduction_sink *sink;
    const atomic_bool *stop;
    size_t part, offset; /* position of the next line */
    uint64_t taken;      /* lines */
};

bool cv_span_is_same(struct cv_text_span a, struct cv_text_span b);
/* The next line, without its end. False: there is none, or the reduction was stopped. */
bool cv_reduction_line(struct cv_named_call *reduction, struct cv_text_span *line,
                       bool *out_ended);
/* The next field of a line, after its gap. False: the rest is blank. */
bool cv_reduction_field(struct cv_text_span *line, struct cv_text_span *gap,
                        struct cv_text_span *field);

/* The digits before and after the point, times 10^shift. */
struct cv_number {
    bool negative;
    struct cv_text_span whole, fraction;
    int64_t shift;
};

bool cv_number_read(struct cv_text_span text, struct cv_number *out);
char cv_number_digit(const struct cv_number *number, size_t index);
/* The exponent of ten of digit `index`. */
int64_t cv_number_place(const struct cv_number *number, size_t index);
/* The first of `count` digits that is not 0. */
size_t cv_number_first(const struct cv_number *number, size_t count);
/* Below, equal to, or above 0, as a is below, equal to, or above b. */
int cv_number_compare(const struct cv_number *a, const struct cv_number *b);
enum cleave_status cv_number_expected(const char *name, size_t column,
                                      struct cv_text_span got, struct cleave_error *err);

enum cleave_status cv_reduce_sum(struct cv_named_call *reduction,
                                 struct cleave_error *err);
enum cleave_status cv_reduce_counts(struct cv_named_call *reduction,
                                    struct cleave_error *err);

#endif
