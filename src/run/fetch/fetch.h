/* fetch.h -- an input whose ranges are written by a command. SPDX-License-Identifier: MIT
 *
 * The command is a line for /bin/sh in which {begin} is the first byte wanted, from 0, {end} the last
 * one, as in ranges of HTTP, {length} their number, and {} the name of the input, which is also in
 * CLEAVE_INPUT. It writes these bytes and exits with status 0. */
#ifndef CV_FETCH_H
#define CV_FETCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "run/common/piece_part.h"

/* Whether the line has the placeholders that it needs. */
enum cleave_status cv_fetch_check(const char *line, struct cleave_error *err);
/* The size of an input: `text` is a number, or a line for /bin/sh that writes a number or headers of
 * an HTTP response. */
enum cleave_status cv_fetch_size(const char *text, const char *name, uint64_t *out,
                                 struct cleave_error *err);
bool cv_fetch_is_number(const char *text);

/* Reads fetch some bytes ahead, more while they are consecutive. Each flow is a thread and a command. */
struct cv_fetched {
    struct cv_lazy_reader reader;
    const char *line, *name; /* borrowed */
    uint64_t size;
    /* Private: the bytes fetched last. */
    char *bytes; /* owned */
    uint64_t at;
    size_t length, room;
};

/* `line` and `name` are borrowed. *out is owned by the caller. */
enum cleave_status cv_fetched_new(const char *line, const char *name, uint64_t size,
                                  struct cv_fetched **out, struct cleave_error *err);
void cv_fetched_free(struct cv_fetched *fetched);

#endif
