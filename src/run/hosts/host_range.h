/* host_range.h -- many host names in one word. SPDX-License-Identifier: MIT
 *
 * As Slurm writes them: node[01-03,07] is node01, node02, node03 and node07. Numbers are as wide as
 * the first one of their range; in r[1-2]n[1-4] the last brackets count fastest. A comma outside
 * of brackets separates words. */
#ifndef CV_HOST_RANGE_H
#define CV_HOST_RANGE_H
#include <stddef.h>
#include "base/arena.h"
#include "base/fail.h"

enum {
    CV_HOST_NAMES_MOST = 65536, /* names in a list  */
    CV_HOST_NAME_MOST = 255,    /* bytes in a name  */
};

struct cv_host_names {
    const char **items; /* owned: free() it; the names are in an arena */
    size_t count, room;
};

/* The length of the first word of a list. */
size_t cv_host_word_length(const char *list);
/* Append the names of one word. EINPUT: the message does not say where the word is. */
enum cleave_status cv_host_range_expand(const char *word, size_t length,
                                        struct cv_arena *arena, struct cv_host_names *out,
                                        struct cleave_error *err);
/* Append the names of a list such as "node[01-16],login"; an empty word is an error. */
enum cleave_status cv_host_list_expand(const char *list, struct cv_arena *arena,
                                       struct cv_host_names *out,
                                       struct cleave_error *err);

#endif
