/* fetch_command.h -- a command of the user's that gives a range of an input.
 * SPDX-License-Identifier: MIT
 *
 * A line for /bin/sh in which {begin} stands for the first byte that is wanted, from 0, {end} for
 * the last one, as in the ranges of HTTP, {length} for how many, and {} for the name of the
 * input, which is in CLEAVE_INPUT too. It writes these bytes and ends with status 0. */
#ifndef CV_FETCH_COMMAND_H
#define CV_FETCH_COMMAND_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

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
/* Start the command that is to give bytes [begin, end): ESCARCE if there is no room for it. */
enum cleave_status cv_fetch_start(const struct cv_fetch *fetch, struct cv_fetching *out,
                                  struct cleave_error *err);
/* Fetch bytes [begin, end), from where an attempt broke off if need be, the first of which may
 * have been started (`begun`, else NULL), and is over in any case. What a command that
 * gave too few of them had written at first, as a page about an error, is not passed on.
 * *stopped: nobody waits any more. */
enum cleave_status cv_fetch_range(const struct cv_fetch *fetch, struct cv_fetching *begun,
                                  bool *stopped, struct cleave_error *err);
/* How many bytes an input has: `text` is a number or a line for /bin/sh that writes one, or
 * the head of an answer of HTTP. */
enum cleave_status cv_fetch_size(const char *text, const char *name, uint64_t *out,
                                 struct cleave_error *err);
/* Whether `text` is a number: of one input. */
bool cv_fetch_is_number(const char *text);

#endif
