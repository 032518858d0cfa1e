/* host_spec.h -- hosts as users write them, in lists and files. SPDX-License-Identifier: MIT
 *
 * A list is `a,b:4,me@c,node[01-16]`, with `:` for this machine, or in the syntax of GNU parallel
 * `4/b,me@c,8/:`, perhaps with a command for ssh. A line of a file is a word of such a list, or
 * `b slots=4` as for MPI. A rate may follow each, as in `me@b:4@60/min`. Nothing is read or connected here. */
#ifndef CV_HOST_SPEC_H
#define CV_HOST_SPEC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/fail.h"

enum {
    CV_HOST_NAMES_MOST = 65536, /* names in a list */
    CV_HOST_NAME_MOST = 255,    /* bytes in a name */
    CV_HOST_SLOTS_MOST = 4096,
};

struct cv_host_names {
    const char **items; /* owned: free() it; the names are in an arena */
    size_t count, room;
};

/* Append the names of a list such as "node[01-16],login"; an empty word is an error. As in Slurm,
 * node[01-03,07] is node01, node02, node03 and node07: numbers are as wide as the first one of a
 * range. In r[1-2]n[1-4] the last brackets count fastest. */
enum cleave_status cv_host_list_expand(const char *list, struct cv_arena *arena,
                                       struct cv_host_names *out,
                                       struct cleave_error *err);

struct cv_host_spec_item {
    const char *name;  /* without the user; NULL: this machine */
    const char *login; /* for ssh: me@c */
    const char *ssh;   /* words before the login; NULL: none */
    const char *rate;  /* that its slots share, as "60/min"; NULL: none */
    uint32_t slots;    /* 0: not given */
    uint32_t times;    /* how often it was named */
};

struct cv_host_spec {
    struct cv_host_spec_item *items; /* owned: free() it; the texts are in an arena */
    size_t count, room;
};

enum cv_host_spelling {
    CV_HOSTS_PLAIN,    /* host:SLOTS */
    CV_HOSTS_PARALLEL, /* SLOTS/host, words for ssh before it */
};

/* All words of the list that have a '/' are hosts: 4/a, ssh://a, ssh -i KEY a. */
bool cv_host_words_have_slash(const char *list);
/* Append the hosts of a list. `where` begins the message about a bad one. */
enum cleave_status cv_host_words_add(const char *list, enum cv_host_spelling spelling,
                                     const char *where, struct cv_arena *arena,
                                     struct cv_host_spec *out, struct cleave_error *err);
/* Append the hosts in the text of a file with the name `where`. */
enum cleave_status cv_host_lines_add(const char *text, const char *where,
                                     struct cv_arena *arena, struct cv_host_spec *out,
                                     struct cleave_error *err);
/* Merge hosts that were named several times, in the place of the first; their slots add up. If
 * `lines_count`, or if a host was named twice without slots, a name without slots is one slot
 * each time, as in the file of PBS. */
enum cleave_status cv_host_words_settle(struct cv_host_spec *words, bool lines_count,
                                        const char *where, struct cleave_error *err);

#endif
