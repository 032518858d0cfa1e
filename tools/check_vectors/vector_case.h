/* vector_case.h -- one case: its inputs, and its actual and expected results.
 * SPDX-License-Identifier: MIT
 *
 * A kind reads its inputs, calls the library, and hands every result to an expect_ call
 * under the name it has in the file. Names that the case does not list are not compared;
 * a listed name that was never handed over makes the case fail, so that no expectation
 * is passed by in silence. */
#ifndef VECTOR_CASE_H
#define VECTOR_CASE_H
#include <stdint.h>
#include <cleave/error.h>
#include <cleave/platform.h>
#include "base/arena.h"
#include "json_tree.h"
#include "model/load/plan.h"

enum case_result { CASE_PASSED, CASE_FAILED, CASE_SKIPPED };

enum { CASE_MOST_FIELDS = 64 };

struct vector_case {
    const char *id;
    const struct json *in, *out;
    const struct json *tol; /* as listed; NULL when it is not                   */
    double rel, abs;        /* |x - ref| <= abs + rel |ref|, from `tol`         */
    struct cv_arena *arena; /* for the case                                     */
    enum case_result result;
    char text[512]; /* the first difference, or why it was skipped      */
    bool compared[CASE_MOST_FIELDS]; /* per field of `out`                              */
};

/* Run one case: sets result and text by means of the calls below. */
typedef void case_run(struct vector_case *c);

struct case_kind {
    const char *alg;
    case_run *run;
};

/* Inputs. A missing or unfit one fails the case and gives 0, an empty list or NULL. */
double case_number(struct vector_case *c, const char *name);
uint32_t case_count(struct vector_case *c, const char *name);
bool case_has(const struct vector_case *c, const char *name);
double *case_numbers(struct vector_case *c, const char *name, size_t *out_count);
uint32_t *case_counts(struct vector_case *c, const char *name, size_t *out_count);

/* Results. NaN and infinities equal null. */
void expect_number(struct vector_case *c, const char *name, double got);
void expect_count(struct vector_case *c, const char *name, uint64_t got);
void expect_flag(struct vector_case *c, const char *name, bool got);
void expect_numbers(struct vector_case *c, const char *name, const double *got,
                    size_t count);
void expect_counts(struct vector_case *c, const char *name, const uint32_t *got,
                   size_t count);
/* `workers` and `sizes`. */
void expect_plan(struct vector_case *c, const struct cv_plan *plan);
/* Greater or less than the number listed, which is a bound. */
void expect_at_most(struct vector_case *c, const char *name, double got);
void expect_at_least(struct vector_case *c, const char *name, double got);
/* Listed for information only. */
void expect_nothing(struct vector_case *c, const char *name);

void case_fail(struct vector_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void case_skip(struct vector_case *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Fails the case with the library's error unless the status is CLEAVE_OK. */
bool case_ok(struct vector_case *c, enum cleave_status status,
             const struct cleave_error *err);

#endif
