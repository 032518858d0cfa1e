/* host_spec_internal.h -- what lists and files of hosts share. SPDX-License-Identifier: MIT */
#ifndef CV_HOST_SPEC_INTERNAL_H
#define CV_HOST_SPEC_INTERNAL_H
#include "run/hosts/host_spec.h"

/* Where words are read from and put. */
struct cv_host_reading {
    const char *where;
    unsigned line; /* from 1; 0: no file */
    struct cv_arena *arena;
    struct cv_host_spec *out;
    struct cleave_error *err;
};

/* Part of a text, without the end of a string. */
struct cv_text_part {
    const char *at;
    size_t length;
};

bool cv_is_blank(char c);
/* Without the blanks around it. */
struct cv_text_part cv_trim(struct cv_text_part text);
/* Without the first `length` bytes. */
struct cv_text_part cv_behind(struct cv_text_part text, size_t length);
/* All of it is a number of slots. */
bool cv_host_slots_read(struct cv_text_part text, uint32_t *out);
/* Whether words that are to come before a host look like a command for it. */
bool cv_is_shell(struct cv_text_part words);

enum cleave_status cv_host_word_refuse(const struct cv_host_reading *reading,
                                       struct cv_text_part got, const char *expected);
/* One word of a list in either spelling, all hosts that it stands for. */
enum cleave_status cv_host_word_add(struct cv_host_reading *reading,
                                    struct cv_text_part word,
                                    enum cv_host_spelling spelling);
/* A text of the arena; NULL when there is no memory, which is said. */
const char *cv_host_copy(const struct cv_host_reading *reading, struct cv_text_part text);
bool cv_is_ssh_url(struct cv_text_part text);
/* Where the '[' of an address of IPv6 is, and not of a range; `length` if there is none. */
size_t cv_find_address(struct cv_text_part login);
/* All hosts that a login stands for: ":", "me@n[1-4]", "[fe80::1]", "ssh://me@host:2222". */
enum cleave_status cv_host_login_add(struct cv_host_reading *reading,
                                     struct cv_text_part login, const char *ssh,
                                     uint32_t slots);

/* What to type in place of a word that is no name of a host, to follow "expected". */
const char *cv_host_hint(const char *word, bool in_file);

#endif
