/* item_rule.h -- places that users define: --rpl '{name} s/from/to/', and {= s/from/to/ =}.
 * SPDX-License-Identifier: MIT
 *
 * GNU parallel takes any expression of Perl. Here it is one or more substitutions,
 * s/REGEX/TEXT/ with g and i behind, any punctuation in place of the slash and ';' between
 * them; REGEX is an extended one of POSIX that also knows \d, \s, \w and \t, and TEXT may
 * have $1 to $9 and $&. */
#ifndef CV_ITEM_RULE_H
#define CV_ITEM_RULE_H
#include <regex.h>
#include <stdbool.h>
#include "base/text.h"

enum cv_item_case { CV_ITEM_AS_IT_IS, CV_ITEM_CAPITAL, CV_ITEM_SMALL };

struct cv_item_change {
    regex_t regex;
    char *text; /* owned: what is put there */
    bool all;
    enum cv_item_case letters; /* of what is put there */
};

struct cv_item_rule {
    char *sign;   /* owned: what stands for it in a command */
    int position; /* of the value, from 1, or from -1 backwards; 0: all          */
    struct cv_item_change *changes; /* owned */
    size_t count, room;
};

/* Compile an expression as Perl writes it, as far as POSIX has the same. `option` is named in
 * errors. */
enum cleave_status cv_item_regex(regex_t *out, const char *expression, int flags,
                                 const char *option, struct cleave_error *err);
enum cleave_status cv_item_rule_init(struct cv_item_rule *out, const char *text,
                                     struct cleave_error *err);
/* One that stands in a command itself: {= s/from/to/ =}, or {=2 s/from/to/ =} of the second
 * value. `text` begins with it. */
enum cleave_status cv_item_rule_init_inline(struct cv_item_rule *out, const char *text,
                                            struct cleave_error *err);
/* Where such a place ends that `text` begins with; NULL: there is none. */
const char *cv_item_rule_inline_end(const char *text);
void cv_item_rule_done(struct cv_item_rule *rule);
/* Add a change of `from`, an expression, to `to`; `how` it is done otherwise. */
enum cleave_status cv_item_rule_put(struct cv_item_rule *rule, const char *from,
                                    const char *to, const struct cv_item_change *how,
                                    const char *option, struct cleave_error *err);
/* Add what becomes of a value. */
void cv_item_rule_add(struct cv_text *out, const struct cv_item_rule *rule,
                      const char *value);

#endif
