/* host_spec.h -- hosts as people write them. SPDX-License-Identifier: MIT
 *
 * In a list of the command line: `a,b:4,me@c,node[01-16]`, `:` for this machine; or as GNU
 * parallel spells it, `4/b,me@c,8/:`, with words of one's own for ssh. In a file a line each:
 * either of them, or `b slots=4`, as MPI has it. Nothing is read or reached here. */
#ifndef CV_HOST_SPEC_H
#define CV_HOST_SPEC_H
#include <stdbool.h>
#include <stdint.h>
#include "run/hosts/host_range.h"

enum { CV_HOST_SLOTS_MOST = 4096 };

struct cv_host_spec_item {
    const char *name;  /* without the user: the name of its workers; NULL: this machine */
    const char *login; /* as ssh is told it: me@c                                       */
    const char *ssh;   /* words of its own before that; NULL: none                      */
    uint32_t slots;    /* 0: not said                                                   */
    uint32_t times;    /* how often it was named                                        */
};

/* All of the arena, but the array. */
struct cv_host_spec {
    struct cv_host_spec_item *items; /* owned: free() it */
    size_t count, room;
};

enum cv_host_spelling {
    CV_HOSTS_PLAIN,    /* host:SLOTS                                                   */
    CV_HOSTS_PARALLEL, /* SLOTS/host, words of ssh before it                           */
};

/* Whether what has a '/' in a list are hosts all the same: 4/a, ssh://a, ssh -i KEY a. */
bool cv_host_words_have_slash(const char *list);
/* Append the hosts of a list. `where` begins what is said of a bad one: "--hosts". */
enum cleave_status cv_host_words_add(const char *list, enum cv_host_spelling spelling,
                                     const char *where, struct cv_arena *arena,
                                     struct cv_host_spec *out, struct cleave_error *err);
/* Append those of a file that is called `where`; `text` ends with a 0. */
enum cleave_status cv_host_lines_add(const char *text, const char *where,
                                     struct cv_arena *arena, struct cv_host_spec *out,
                                     struct cleave_error *err);
/* When all are there: hosts that were named several times become one, in its first place;
 * their slots add up. If `lines_count`, a name without a number is a slot each time, as in
 * the file of PBS; it is so as well if any was named twice without one. */
enum cleave_status cv_host_words_settle(struct cv_host_spec *words, bool lines_count,
                                        const char *where, struct cleave_error *err);

#endif
