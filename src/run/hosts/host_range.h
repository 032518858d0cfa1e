/* host_range.h -- many names in one word. SPDX-License-Identifier: MIT
 *
 * As Slurm writes them: node[01-03,07] is node01, node02, node03 and node07, in that order and
 * as wide as the first number of each range; r[1-2]n[1-4] is eight names, the last brackets
 * counting fastest. A comma outside of brackets separates words. */
#ifndef CV_HOST_RANGE_H
#define CV_HOST_RANGE_H
#include <stddef.h>
#include "base/arena.h"
#include "base/fail.h"

enum {
    CV_HOST_NAMES_MOST = 65536, /* names that a list may have  */
    CV_HOST_NAME_MOST = 255,    /* bytes of each               */
};

/* Names in a heap array, each of the arena that they were made with. */
struct cv_host_names {
    const char **items; /* owned: free() it */
    size_t count, room;
};

/* The length of the first word of a list: up to a comma outside of brackets, or the end. */
size_t cv_host_word_length(const char *list);

/* Append the names that the first `length` bytes stand for, one word without a comma outside
 * of its brackets. CLEAVE_EINPUT: what is wrong, without saying where it stood. */
enum cleave_status cv_host_range_expand(const char *word, size_t length,
                                        struct cv_arena *arena, struct cv_host_names *out,
                                        struct cleave_error *err);

/* The same of a whole list, "node[01-16],login,x[1-2]y"; empty words are refused. */
enum cleave_status cv_host_list_expand(const char *list, struct cv_arena *arena,
                                       struct cv_host_names *out,
                                       struct cleave_error *err);

#endif
