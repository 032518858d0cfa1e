/* verb.h -- what a verb is: a table row that parses, explains and runs.
 * SPDX-License-Identifier: MIT
 *
 * Parsing, --help, the man page and completion follow from its tables; verbs.h lists
 * them all. */
#ifndef CV_VERB_H
#define CV_VERB_H
#include <stddef.h>
#include "cli/common/options.h"

struct cv_verb;

/* One call of a verb: what was typed, checked. */
struct cv_call {
    const void *values; /* the verb's own struct: presets, then options */
    const char *const *operands;
    size_t noperands;
    bool marked;            /* `--` stood before the operands     */
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
    bool operand_files;      /* operands are files, which are read */
    size_t max_operands;
    bool command; /* the operands are a command: its options are not the verb's */
    const struct cv_option_group *groups; /* NULL: only --help */
    const struct cv_other_tool_option
        *foreign; /* options of other tools; NULL: none are known */
    /* Command lines that work in the source folder, one per line. */
    const char *examples;
    const void *presets; /* copied before parsing; NULL: zeroes */
    size_t values_size;
    bool checks_files; /* `run` calls cv_files_check itself; else it is done before */
    /* Returns an exit status; the caller flushes and checks stdout. */
    int (*run)(const struct cv_call *call);
    /* The words are wrong, which has been told: others may wait for this process. NULL: none do. */
    void (*refused)(int count, char *const *words, int status);
};

/* Call a verb with the words typed behind its name: they are checked, and --help is
 * answered here. Returns an exit status. */
int cv_verb_call(const struct cv_verb *verb, int count, char *const *words);

#endif
