/* verbs.h -- the commands: a table row each. SPDX-License-Identifier: MIT
 *
 * A new verb is a file verb_<name>.c that defines `const struct cv_verb
 * cv_verb_<name>`, and one row in CV_VERBS. Parsing, --help, the man page and the
 * suggestions for a mistyped name follow from its tables. */
#ifndef CV_VERBS_H
#define CV_VERBS_H
#include <stddef.h>
#include "cli/options.h"

/* In the order they are listed to users. */
#define CV_VERBS(X)     \
    X(plan_load)        \
    X(plan_reduce)      \
    X(plan_streams)     \
    X(simulate_load)    \
    X(simulate_reduce)  \
    X(simulate_streams) \
    X(compare_load)     \
    X(compare_reduce)   \
    X(run)              \
    X(worker)           \
    X(calibrate)        \
    X(report)           \
    X(platform)         \
    X(policies)         \
    X(engines)          \
    X(figures)          \
    X(completions)      \
    X(version)          \
    X(help)

struct cv_verb;

/* One call of a verb: what was typed, checked. */
struct cv_call {
    const void *values; /* the verb's own struct: presets, then options */
    const char *const *operands;
    size_t noperands;
    struct cv_arena *arena; /* for what lives as long as the call */
    const struct cv_verb *verb;
    int nwords; /* all that was typed behind the verb */
    char *const *words;
};

struct cv_verb {
    const char *name;        /* its words, one space between: "plan load" */
    const char *summary;     /* for lists: one line without a full stop */
    const char *description; /* a paragraph; '\n' starts another */
    const char *operands;    /* as usage shows them: "[NAME]"; NULL when none */
    size_t max_operands;
    const struct cv_option_group *groups; /* NULL: only --help */
    /* Command lines that work in the source folder, one per line. */
    const char *examples;
    const void *presets; /* copied before parsing; NULL: zeroes */
    size_t values_size;
    /* Returns an exit status; the caller flushes and checks stdout. */
    int (*run)(const struct cv_call *call);
};

size_t cv_verb_count(void);
const struct cv_verb *cv_verb_at(size_t index);

/* Find the verb that the first words name. *out_used is the number of words it took.
 * Returns NULL with *out_used = n > 0 when the first n words start the names of several
 * verbs and no word follows (or an option does), and with *out_used = 0 when no verb is
 * named so. */
const struct cv_verb *cv_verb_find(int count, const char *const *words, int *out_used);

/* Complain that `words` name no verb, with the nearest names. Returns the exit status. */
int cv_verb_unknown(int count, const char *const *words);

/* Does the verb's name start with these words? */
bool cv_verb_starts(const struct cv_verb *verb, int count, const char *const *words);

#define X(name) extern const struct cv_verb cv_verb_##name;
CV_VERBS(X)
#undef X

#endif
