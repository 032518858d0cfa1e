/* verb.h -- what a verb is: a table row that parses, explains and runs.
 * SPDX-License-Identifier: MIT
 *
 * Parsing, --help, the man page and completion follow from its tables; verbs.h lists
 * them all. */
#ifndef CV_VERB_H
#define CV_VERB_H
#include <stddef.h>
#include "base/text.h"
#include "base/shell_word.h"
#include "cli/common/options.h"
#include "cli/common/output.h"

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

/* The first of `names`, separated by spaces, that the verb has and that was given: its value is
 * not the preset. NULL: none. */
const char *cv_option_given(const struct cv_call *call, const char *names);

/* Add the words that give the options of `names` that were given, in this order. */
void cv_options_add_words(const struct cv_call *call, const char *names,
                          struct cv_words *words);

enum cv_rule_kind { CV_NEEDS, CV_EXCLUDES };

/* Options that need one of others, or exclude all of them. */
struct cv_option_rule {
    unsigned only; /* bits of the situation in which the rule applies; 0: always */
    const char
        *options; /* the rule applies if one of these is given; NULL ends a table */
    enum cv_rule_kind kind;
    const char *others;
    const char *message; /* %1: the one that is given; %2: the one that is excluded */
};

/* Refuse a call that breaks a rule, the first one that is broken. Returns an exit status. */
int cv_options_check(const struct cv_call *call, const struct cv_option_rule *rules,
                     unsigned situation);

/* Call a verb with the words typed behind its name: they are checked, and --help is
 * answered here. Returns an exit status. */
int cv_verb_call(const struct cv_verb *verb, int count, char *const *words);

enum { CV_HELP_WIDTH = 80 }; /* columns */

/* What --help of a verb prints. */
void cv_help_verb(const struct cv_verb *verb, struct cv_text *out);
/* "cleave plan load --platform FILE --load AMOUNT [OPTION]..." */
void cv_help_usage(const struct cv_verb *verb, struct cv_text *out);

/* The first command line of `examples`, without its end, in lines of `room` columns at most: all but
 * the last end with a backslash, and others are indented. Returns where the next one begins. */
const char *cv_help_example(const char *examples, size_t room, struct cv_text *out);

/* Whether the page of a verb has to say it; NULL is the page of the program. */
bool cv_help_says(const struct cv_fact *fact, const struct cv_verb *verb);

/* Environment variables, for man pages; the table ends with a NULL name. */
extern const struct cv_fact cv_environment_facts[];
extern const char cv_program_summary[], cv_program_description[];
/* --help, which every verb has. */
extern const struct cv_option cv_help_option;

#endif
