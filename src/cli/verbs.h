/* verbs.h -- the list of all verbs. SPDX-License-Identifier: MIT
 *
 * A new verb is a file verb_<name>.c that defines `const struct cv_verb
 * cv_verb_<name>`, and one row in CV_VERBS. Suggestions for a mistyped name follow from
 * this list. */
#ifndef CV_VERBS_H
#define CV_VERBS_H
#include <stddef.h>
#include "base/text.h"
#include "cli/kit/verb.h"

/* In the order they are listed to users. */
#define CV_VERBS(X)     \
    X(plan_load)        \
    X(plan_reduce)      \
    X(plan_streams)     \
    X(plan_items)       \
    X(simulate_load)    \
    X(simulate_reduce)  \
    X(simulate_streams) \
    X(simulate_items)   \
    X(compare_load)     \
    X(compare_reduce)   \
    X(compare_items)    \
    X(run)              \
    X(slurm_script)     \
    X(split)            \
    X(join)             \
    X(worker)           \
    X(calibrate)        \
    X(report)           \
    X(replay)           \
    X(platform)         \
    X(sample)           \
    X(policies)         \
    X(engines)          \
    X(figures)          \
    X(completions)      \
    X(version)          \
    X(help)

size_t cv_verb_count(void);
const struct cv_verb *cv_verb_at(size_t index);

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
/* What help says as roff, for man(1). verb NULL: the page of the program itself. */
void cv_man_page(const struct cv_verb *verb, struct cv_text *out);

#define X(name) extern const struct cv_verb cv_verb_##name;
CV_VERBS(X)
#undef X

#endif
