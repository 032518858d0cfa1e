/* verb.h -- verbs: table rows that parse, explain and run.
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

/* One call of a verb. */
struct cv_call {
    const void *values; /* the verb's own struct: presets, then options */
    const char *const *operands;
    size_t noperands;
    bool marked;            /* `--` was before the operands */
    struct cv_arena *arena; /* for what lives as long as the call */
    const struct cv_verb *verb;
    int nwords; /* the words after the verb */
    char *const *words;
};

struct cv_verb {
    const char *name;        /* words with one space between: "plan load" */
    const char *summary;     /* for lists: one line without a full stop */
    const char *description; /* a paragraph; '\n' starts another */
    const char *operands;    /* for usage: "[NAME]"; NULL: none */
    bool operand_files;      /* operands are files to read */
    size_t max_operands;
    bool command;  /* the operands are a command with its own options */
    bool is_first; /* 'cleave -h' shows it */
    const struct cv_option_group *groups;       /* NULL: only --help */
    const struct cv_option_rule *rules;         /* NULL: none, or `run` checks them */
    const struct cv_other_tool_option *foreign; /* NULL: none */
    /* Command lines that work in the source directory, one per line. */
    const char *examples;
    const void *presets; /* copied before parsing; NULL: zeroes */
    size_t values_size;
    bool checks_files; /* `run` calls cv_files_check itself */
    /* Returns an exit status. */
    int (*run)(const struct cv_call *call);
    /* Called when the words are refused; may be NULL. Other processes may wait for
     * this one. */
    void (*refused)(int count, char *const *words, int status);
};

/* The first of `names`, separated by spaces, that was given: its value is not the
 * preset. NULL: none. */
const char *cv_option_given(const struct cv_call *call, const char *names);

/* Add the words of those options of `names` that were given. */
void cv_options_add_words(const struct cv_call *call, const char *names,
                          struct cv_words *words);

enum cv_rule_kind {
    CV_NEEDS,    /* an option needs one of `others`   */
    CV_EXCLUDES, /* an option excludes all `others`   */
    CV_ONE_OF,   /* one of `options` has to be given  */
};

/* A rule about options of a verb. Names that the verb does not have count as not given. */
struct cv_option_rule {  /* NOLINT(clang-analyzer-optin.performance.Padding): as read */
    unsigned only;       /* bits of the situation in which the rule applies; 0: always */
    const char *options; /* separated by spaces; NULL ends a table */
    enum cv_rule_kind kind;
    const char *others;
    const char *message; /* %1: the given option, %v: its text; %2: the excluded one */
};

/* Refuse a call that breaks a rule. Returns an exit status. */
int cv_options_check(const struct cv_call *call, const struct cv_option_rule *rules,
                     unsigned situation);

/* A file that no option names. */
struct cv_other_file {
    const char *option, *path; /* for messages */
    bool written;
};

/* Check the files of a call, and `others`, before any is opened. A written file must
 * not be another one of them (by device and inode, including standard streams), and it
 * must be possible to make it. */
int cv_files_check(const struct cv_call *call, const struct cv_other_file *others,
                   size_t count);

/* Expand patterns and, with --recursive, directories in options for inputs; names are
 * sorted. */
int cv_inputs_expand(const struct cv_call *call, void *values);

/* The first `count` operands and a NULL, in the arena of the call. */
const char **cv_call_words(const struct cv_call *call, size_t count);

/* Check the words after the name of a verb and call it, or print its help. */
int cv_verb_call(const struct cv_verb *verb, int count, char *const *words);

enum { CV_HELP_WIDTH = 80 }; /* columns */

/* `kind` without CV_FIRST options: all of CV_HELP_USUAL instead of CV_HELP_SHORT. */
void cv_help_verb(const struct cv_verb *verb, enum cv_help_kind kind,
                  struct cv_text *out);
void cv_help_option_row(const struct cv_option *option, enum cv_help_kind kind,
                        struct cv_text *out);
void cv_help_examples(const char *examples, struct cv_text *out);
/* The name of a fact, and its meaning, wrapped. */
void cv_help_facts(const struct cv_fact *facts, const struct cv_verb *verb,
                   struct cv_text *out);
/* "cleave plan load --platform FILE --load AMOUNT [OPTION]..." */
void cv_help_usage(const struct cv_verb *verb, struct cv_text *out);

/* Add the first command line of `examples` in lines of `room` columns; returns the
 * next one. */
const char *cv_help_example(const char *examples, size_t room, struct cv_text *out);

/* Whether the page of a verb has this fact; NULL: the page of the program. */
bool cv_help_says(const struct cv_fact *fact, const struct cv_verb *verb);

/* Environment variables; ends with a NULL name. */
extern const struct cv_fact cv_environment_facts[];
extern const char cv_program_summary[], cv_program_description[];
extern const struct cv_option cv_help_option;

#endif
