/* host_spec.h -- hosts as users write them, in lists and files. SPDX-License-Identifier: MIT
 *
 * A list is `a,b:4,me@c,node[01-16]`, with `:` for this machine, or in the syntax of GNU parallel
 * `4/b,me@c,8/:`, perhaps with a command for ssh. A line of a file is a word of such a list, or
 * `b slots=4` as for MPI. Nothing is read or connected here. */
#ifndef CV_HOST_SPEC_H
#define CV_HOST_SPEC_H
#include <stdbool.h>
#include <stdint.h>
#include "run/hosts/host_range.h"

enum { CV_HOST_SLOTS_MOST = 4096 };

struct cv_host_spec_item {
    const char *name;  /* without the user; NULL: this machine */
    const char *login; /* for ssh: me@c */
    const char *ssh;   /* words before the login; NULL: none */
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
