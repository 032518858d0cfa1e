/* vector_case.c -- inputs and comparisons of one case. SPDX-License-Identifier: MIT */
#include "vector_case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void case_fail(struct vector_case *c, const char *format, ...)
{
    va_list args;

    if (c->result != CASE_PASSED)
        return;
    c->result = CASE_FAILED;
    va_start(args, format);
    vsnprintf(c->text, sizeof c->text, format, args);
    va_end(args);
}

void case_skip(struct vector_case *c, const char *format, ...)
{
    va_list args;

    c->result = CASE_SKIPPED;
    va_start(args, format);
    vsnprintf(c->text, sizeof c->text, format, args);
    va_end(args);
}

bool case_ok(struct vector_case *c, enum cleave_status status,
             const struct cleave_error *err)
{
    if (status != CLEAVE_OK)
        case_fail(c, "expected a result, got the error: %s", err->text);
    return status == CLEAVE_OK;
}

bool case_has(const struct vector_case *c, const char *name)
{
    return json_get(c->in, name) != NULL;
}

double case_number(struct vector_case *c, const char *name)
{
    const struct json *value = json_get(c->in, name);

    if (value == NULL || value->kind != JSON_NUMBER) {
        case_fail(c, "input %s: expected a number, got %s", name,
                  value == NULL ? "nothing" : "something else");
        return 0;
    }
    return value->number;
}

static bool is_count(double number)
{
    return number >= 0 && number <= UINT32_MAX && number == floor(number);
}

uint32_t case_count(struct vector_case *c, const char *name)
{
    const double number = case_number(c, name);

    if (!is_count(number)) {
        case_fail(c, "input %s: expected a whole number, got %g", name, number);
        return 0;
    }
    return (uint32_t)number;
}

double *case_numbers(struct vector_case *c, const char *name, size_t *out_count)
{
    const struct json *value = json_get(c->in, name);
    double *numbers = NULL;

    *out_count = 0;
    if (value == NULL || value->kind != JSON_LIST) {
        case_fail(c, "input %s: expected a list", name);
        return NULL;
    }
    numbers = cv_array(c->arena, value->count, sizeof *numbers);
    if (numbers == NULL) {
        case_fail(c, "input %s: out of memory", name);
        return NULL;
    }
    for (size_t i = 0; i < value->count; i++) {
        if (value->items[i].kind != JSON_NUMBER) {
            case_fail(c, "input %s[%zu]: expected a number", name, i);
            return NULL;
        }
        numbers[i] = value->items[i].number;
    }
    *out_count = value->count;
    return numbers;
}

uint32_t *case_counts(struct vector_case *c, const char *name, size_t *out_count)
{
    double *numbers = case_numbers(c, name, out_count);
    uint32_t *counts = cv_array(c->arena, *out_count, sizeof *counts);

    if (numbers == NULL || counts == NULL) {
        case_fail(c, "input %s: expected a list", name);
        *out_count = 0;
        return NULL;
    }
    for (size_t i = 0; i < *out_count; i++) {
        if (!is_count(numbers[i])) {
            case_fail(c, "input %s[%zu]: expected a whole number, got %g", name, i,
                      numbers[i]);
            *out_count = 0;
            return NULL;
        }
        counts[i] = (uint32_t)numbers[i];
    }
    return counts;
}

/* The listed value to compare with, marked as compared; NULL: nothing to compare. */
static const struct json *listed(struct vector_case *c, const char *name)
{
    if (c->out == NULL || c->out->kind != JSON_MAP)
        return NULL;
    for (size_t i = 0; i < c->out->count && i < CASE_MOST_FIELDS; i++)
        if (strcmp(c->out->keys[i], name) == 0) {
            c->compared[i] = true;
            return &c->out->items[i];
        }
    return NULL;
}

static bool same(const struct vector_case *c, const struct json *want, double got)
{
    if (want->kind == JSON_NULL)
        return !isfinite(got);
    return want->kind == JSON_NUMBER &&
           fabs(got - want->number) <= c->abs + c->rel * fabs(want->number);
}

static const char *shown(const struct json *value)
{
    return value->kind == JSON_LIST  ? "a list"
           : value->kind == JSON_MAP ? "a map"
                                     : value->text;
}

void expect_number(struct vector_case *c, const char *name, double got)
{
    const struct json *want = listed(c, name);

    if (want != NULL && !same(c, want, got))
        case_fail(c, "%s: expected %s, got %.17g", name, shown(want), got);
}

void expect_count(struct vector_case *c, const char *name, uint64_t got)
{
    const struct json *want = listed(c, name);

    if (want != NULL && (want->kind != JSON_NUMBER || want->number != (double)got))
        case_fail(c, "%s: expected %s, got %llu", name, shown(want),
                  (unsigned long long)got);
}

void expect_flag(struct vector_case *c, const char *name, bool got)
{
    const struct json *want = listed(c, name);

    if (want != NULL && (want->kind != JSON_FLAG || want->flag != got))
        case_fail(c, "%s: expected %s, got %s", name, shown(want),
                  got ? "true" : "false");
}

static bool same_length(struct vector_case *c, const char *name, const struct json *want,
                        size_t count)
{
    if (want->kind == JSON_LIST && want->count == count)
        return true;
    case_fail(c, "%s: expected %zu entries, got %zu", name, want->count, count);
    return false;
}

void expect_numbers(struct vector_case *c, const char *name, const double *got,
                    size_t count)
{
    const struct json *want = listed(c, name);

    if (want == NULL || !same_length(c, name, want, count))
        return;
    for (size_t i = 0; i < count; i++)
        if (!same(c, &want->items[i], got[i])) {
            case_fail(c, "%s[%zu]: expected %s, got %.17g", name, i,
                      shown(&want->items[i]), got[i]);
            return;
        }
}

void expect_counts(struct vector_case *c, const char *name, const uint32_t *got,
                   size_t count)
{
    const struct json *want = listed(c, name);

    if (want == NULL || !same_length(c, name, want, count))
        return;
    for (size_t i = 0; i < count; i++)
        if (want->items[i].kind != JSON_NUMBER || want->items[i].number != got[i]) {
            case_fail(c, "%s[%zu]: expected %s, got %u", name, i, shown(&want->items[i]),
                      got[i]);
            return;
        }
}

void expect_plan(struct vector_case *c, const struct cv_plan *plan)
{
    expect_counts(c, "workers", plan->worker, plan->nchunks);
    expect_numbers(c, "sizes", plan->units, plan->nchunks);
}

void expect_at_most(struct vector_case *c, const char *name, double got)
{
    const struct json *want = listed(c, name);

    if (want != NULL && (want->kind != JSON_NUMBER ||
                         !(got <= want->number + c->abs + c->rel * fabs(want->number))))
        case_fail(c, "%s: expected at most %s, got %.17g", name, shown(want), got);
}

void expect_at_least(struct vector_case *c, const char *name, double got)
{
    const struct json *want = listed(c, name);

    if (want != NULL && (want->kind != JSON_NUMBER ||
                         !(got >= want->number - c->abs - 1e-9 * fabs(want->number))))
        case_fail(c, "%s: expected at least %s, got %.17g", name, shown(want), got);
}

void expect_nothing(struct vector_case *c, const char *name)
{
    (void)listed(c, name);
}
