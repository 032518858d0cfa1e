/* verbs.h -- verbs by name. SPDX-License-Identifier: MIT
 *
 * A new verb is a file verb_<name>.c that defines `const struct cv_verb cv_verb_<name>`, and a
 * row in verbs.c. */
#ifndef CV_VERBS_H
#define CV_VERBS_H
#include <stddef.h>
#include "base/text.h"
#include "cli/common/verb.h"

/* Verbs in the order of the help. */
struct cv_verb_list {
    const struct cv_verb *const *items;
    size_t count; /* at most CV_VERBS_MAX */
};
enum { CV_VERBS_MAX = 64 };

/* All verbs: verbs.c. */
extern const struct cv_verb_list cv_verbs;

/* Find the verb that the first words name. *out_used is the number of words it took.
 * Returns NULL with *out_used = n > 0 when the first n words start the names of several
 * verbs and no word follows (or an option does), and with *out_used = 0 when no verb is
 * named so. */
const struct cv_verb *cv_verb_find(int count, const char *const *words, int *out_used);

/* Complain that `words` name no verb, with the nearest names. Returns the exit status. */
int cv_verb_unknown(int count, const char *const *words);

/* Help: the verbs whose names start with `words`, each with its summary; all for
 * count 0. */
void cv_help_list(int count, const char *const *words, struct cv_text *out);

/* 'cleave -h': the main commands, in one screen. */
void cv_help_short(struct cv_text *out);

/* Topics of 'cleave help' (help_topics.c): their list, their names (NULL after the last), and one
 * of them; false: there is no such topic. */
void cv_help_topics(struct cv_text *out);
const char *cv_help_topic_name(size_t index);
bool cv_help_topic(const char *word, const struct cv_verb *run, struct cv_text *out);

/* Scripts that complete command lines, made from the tables of the verbs (completion.c). */
void cv_completion_bash(const struct cv_verb_list *verbs, struct cv_text *out);
void cv_completion_zsh(const struct cv_verb_list *verbs, struct cv_text *out);
void cv_completion_fish(const struct cv_verb_list *verbs, struct cv_text *out);

#endif
