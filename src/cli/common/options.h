/* options.h -- one table per verb drives parsing, --help and the man page.
 * SPDX-License-Identifier: MIT
 *
 * `--name=value` and `--name value`, `-n value` and `-nvalue`, flags of one letter
 * together, `--` ends the options. A name must be typed in full. If operands are a
 * command, its first word also ends the options: all later words belong to the
 * command. */
#ifndef CV_OPTIONS_H
#define CV_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/text.h"

/* The kind of an option, and the type of its field in the values of the verb. */
enum cv_option_kind {
    CV_OPTION_FLAG, /* int: set to `value`; takes no argument        */
    /* const char *: text after `=`, or a next word that is a number, ':' or begins
     * like #; "" */
    CV_OPTION_MAYBE,
    CV_OPTION_TEXT,    /* const char *: any text but an empty one       */
    CV_OPTION_REPEAT,  /* struct cv_strings: all texts given, in order  */
    CV_OPTION_COUNT,   /* uint64_t: a whole number, least..most         */
    CV_OPTION_NUMBER,  /* double: a number without unit, least..most    */
    CV_OPTION_UNITS,   /* double: a positive amount, "3 GB"             */
    CV_OPTION_AMOUNT,  /* struct cv_amount: the same                    */
    CV_OPTION_RATE,    /* double: a positive rate, "10 MB/s"            */
    CV_OPTION_SECONDS, /* double: a time of 0 or more, "500ms"          */
};

/* Which help shows an option. */
enum cv_option_level {
    CV_USUAL, /* --help */
    CV_FIRST, /* -h as well: the first sentence of its help fits into one line */
    CV_RARE,  /* 'cleave help all', topics and the man page only */
};

enum cv_help_kind {
    CV_HELP_NONE,
    CV_HELP_SHORT, /* -h */
    CV_HELP_USUAL, /* --help */
    CV_HELP_ALL,
};

/* An amount, and whether it was typed in bytes ("3 GB"). */
struct cv_amount {
    double units;
    bool in_bytes;
};

/* The role of the file of an option. */
enum cv_file_role {
    CV_FILE_NONE, /* read if the argument is FILE or TRACE, else no file */
    CV_FILE_READ,
    CV_FILE_FOLDER,  /* a directory, made when needed */
    CV_FILE_INPUT,   /* read; default standard input */
    CV_FILE_JOURNAL, /* read, written and kept; all below are written */
    CV_FILE_WRITTEN, /* replaced when the new one is complete */
    CV_FILE_KEPT,    /* replaced only with --force */
    CV_FILE_RESULT,  /* default standard output */
};

struct cv_strings {
    const char **items; /* owned by the arena of the call */
    size_t count;
};

struct cv_option {
    const char *name; /* "--load"                                        */
    char letter;      /* 'o' for -o, 0 for none                          */
    bool required;
    enum cv_option_kind kind;
    enum cv_file_role file;
    enum cv_option_level level;
    int value;            /* FLAG: the value to store                            */
    const char *implied;  /* the argument of the long name if it has none; or NULL */
    const char *argument; /* "AMOUNT" as help shows it; NULL for flags       */
    const char *help;     /* one or more sentences; wrapped when shown       */
    size_t offset;        /* the field in the values of the verb               */
    double min, max;      /* COUNT, NUMBER: the range, both ends allowed     */
    /* Optional: the list for "%s" in `help`, and words that complete the argument. */
    void (*add_list)(struct cv_text *out);
    void (*add_words)(struct cv_text *out);
};

/* Rows of a table. CV_VALUES is the type of the verb's values and `field_` a member of it; the
 * help may be followed by other members, as in .min = 1. */
/* clang-format off */
#define CV_OPTION(letter_, name_, kind_, argument_, field_, ...) \
    { .name = name_, .letter = letter_, .kind = CV_OPTION_##kind_, .argument = argument_, \
      .offset = offsetof(CV_VALUES, field_), .help = __VA_ARGS__ }
#define CV_FLAG(letter_, name_, value_, field_, ...) \
    { .name = name_, .letter = letter_, .value = value_, \
      .offset = offsetof(CV_VALUES, field_), .help = __VA_ARGS__ }

/* Options under one heading; a list of groups ends with a NULL title. */
struct cv_option_group {
    const char *title; /* "Job" */
    const struct cv_option *options;
    size_t count;
};
#define CV_GROUP(title_, table) { title_, table, sizeof table / sizeof *table }
#define CV_GROUPS(...) (const struct cv_option_group[]){ __VA_ARGS__, { NULL, NULL, 0 } }
/* clang-format on */

/* Option number `index` of all groups, or NULL past the end. */
const struct cv_option *cv_option_at(const struct cv_option_group *groups, size_t index);
/* The option whose name is the first `length` bytes of `name`; NULL: there is none. */
const struct cv_option *cv_option_find(const struct cv_option_group *groups,
                                       const char *name, size_t length);

/* Operands and values of one call of a verb. */
struct cv_parsed {
    const char **operands; /* owned by the arena */
    size_t noperands;
    bool marked;            /* `--` was before the operands */
    enum cv_help_kind help; /* if one was asked for, nothing else was judged */
};

bool cv_option_takes(const struct cv_option *option);
void cv_option_help(const struct cv_option *option, struct cv_text *out);

/* Options of other tools, separated by spaces, and the advice for them. After '=': the
 * equivalent words; the last word takes the argument of the option, or '%' is replaced by
 * it. */
struct cv_other_tool_option {
    const char *names, *instead;
};

struct cv_typed {
    int count;
    char *const *words;
    bool command; /* the operands are a command with its own options */
    const struct cv_other_tool_option *foreign; /* ends with NULL names; NULL: none */
};

/* Parse the words into `values`, which holds the presets. Returns an exit status. */
int cv_options_parse(const struct cv_option_group *groups, const struct cv_typed *typed,
                     struct cv_arena *arena, void *values, struct cv_parsed *out);

#endif
