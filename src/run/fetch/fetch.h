/* fetch.h -- a command of the user's that gives a range of an input.
 * SPDX-License-Identifier: MIT
 *
 * A line for /bin/sh in which {begin} stands for the first byte that is wanted, from 0, {end} for
 * the last one, as in the ranges of HTTP, {length} for how many, and {} for the name of the
 * input, which is in CLEAVE_INPUT too. It writes these bytes and ends with status 0. */
#ifndef CV_FETCH_H
#define CV_FETCH_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/common/lazy_reader.h"

enum { CV_FETCH_TRIES = 4 }; /* without a byte in between */

struct cv_fetching;

/* What a fetch is to do, and to whom its bytes go. */
struct cv_fetch {
    const char *line; /* borrowed, as all of this            */
    const char *name; /* of the input                        */
    uint64_t begin, end;
    /* False: nobody wants more. */
    bool (*take)(void *context, const char *bytes, size_t length);
    void *context;
    /* A pipe to write to, whose reader is gone when nobody waits any more; -1: a signal says
     * so. */
    int results;
};

/* Whether the line has the places that it needs. */
enum cleave_status cv_fetch_check(const char *line, struct cleave_error *err);
/* How many bytes an input has: `text` is a number or a line for /bin/sh that writes one, or
 * the head of an answer of HTTP. */
enum cleave_status cv_fetch_size(const char *text, const char *name, uint64_t *out,
                                 struct cleave_error *err);
/* Whether `text` is a number: of one input. */
bool cv_fetch_is_number(const char *text);

struct cv_fetched;

/* `line` and `name` are borrowed. *out is owned by the caller. */
enum cleave_status cv_fetched_new(const char *line, const char *name, uint64_t size,
                                  struct cv_fetched **out, struct cleave_error *err);
void cv_fetched_free(struct cv_fetched *fetched);
struct cv_lazy_reader *cv_fetched_reader(struct cv_fetched *fetched);
const char *cv_fetched_line(const struct cv_fetched *fetched);

#endif
