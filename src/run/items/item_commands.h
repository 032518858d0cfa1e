/* item_commands.h -- the commands that items make. SPDX-License-Identifier: MIT
 *
 * Rows of the lists, one or several at a time, are the arguments of a command; the template
 * says where they stand in it. */
#ifndef CV_ITEM_COMMANDS_H
#define CV_ITEM_COMMANDS_H
#include <regex.h>
#include "run/items/item_lists.h"
#include "run/items/item_template.h"

struct cv_item_commands {
    struct cv_item_lists lists;       /* owned, as all here but what is named borrowed */
    struct cv_item_template template; /* its words are borrowed                        */
    struct cv_item_rule *rules;
    size_t nrules, rules_room;
    regex_t columns; /* between the columns of a value                                 */
    bool has_columns;
    char **names; /* of arguments, from the first values (--header :)                  */
    size_t nnames, names_room;
    uint64_t per;   /* rows of a command; 0: those of `cuts`                            */
    uint64_t *cuts; /* where each command begins, and the end                          */
    uint64_t base;  /* of its first row, what {#} counts from                          */
    bool none;      /* commands have no arguments                                      */
    uint64_t *order; /* of rows, if it is another; NULL: as they are                    */
    uint64_t count;  /* of commands                                                     */
    char *shell;     /* that reads them; NULL: none is needed                           */
    struct cv_item_stream
        *stream; /* from which more rows come; NULL: all are there     */
};

/* How items are read, and what is made of them. */
struct cv_item_options {
    const char *const
        *words;          /* of the command, ended by NULL; borrowed by the commands */
    const char *whole;   /* -I; NULL: {}                                          */
    const char *columns; /* --colsep; NULL: none                                  */
    const char *const *rules; /* --rpl                                                 */
    size_t nrules;
    bool header; /* the first values are names                                       */
    bool plus;   /* --plus                                                           */
    bool none;   /* no argument is put into commands: there is one for each row (-N 0) */
    bool as_words; /* --quote                                                          */
    uint64_t per;  /* rows of a command; 0: 1                                          */
    bool many, contexts; /* as many as fit: -m, and with words repeated: -X            */
    uint32_t spread;     /* over so many commands, if there are fewer: -m, -X; 0: not  */
    uint64_t shuffle;    /* seed; 0: as they are                                       */
    bool away;       /* other machines run them: what programs those have is not known */
    bool shown_only; /* nothing will be run: the program need not be there         */
};

/* Make commands of lists, which are taken over. Also when it fails. `stream`, if there is one,
 * is taken over as well: more values of the one list come from it, so neither `many` nor
 * `shuffle` can be asked for. */
enum cleave_status cv_item_commands_init(struct cv_item_commands *out,
                                         struct cv_item_lists *lists,
                                         struct cv_item_stream *stream,
                                         const struct cv_item_options *options,
                                         struct cleave_error *err);
void cv_item_commands_done(struct cv_item_commands *commands);

/* Read on: `count` grows by the commands for which all has come. *ended: it is final. */
enum cleave_status cv_item_commands_more(struct cv_item_commands *commands, bool *ended,
                                         struct cleave_error *err);
/* Of commands that come: nobody will ask for this one again. */
void cv_item_commands_over(struct cv_item_commands *commands, uint64_t index);

/* The arguments of command `index`. */
struct cv_item_arguments {
    const char **items; /* owned */
    size_t count, room;
    char *bytes; /* owned: of columns */
    size_t bytes_room;
};
enum cleave_status cv_item_arguments_get(const struct cv_item_commands *commands,
                                         uint64_t index, struct cv_item_arguments *out,
                                         struct cleave_error *err);
void cv_item_arguments_done(struct cv_item_arguments *arguments);

/* A command for rows [first, first + count), as if nothing else had been asked for: to be used
 * like others, with index 0, as long as `cuts` are there. Nothing of it is owned. */
struct cv_item_commands cv_item_commands_some(const struct cv_item_commands *commands,
                                              uint64_t first, uint64_t count,
                                              uint64_t cuts[2]);
/* How many of rows [first, first + count) fit into a command, at least 1. */
enum cleave_status cv_item_commands_fit(const struct cv_item_commands *commands,
                                        uint64_t first, uint64_t count, uint64_t *out,
                                        struct cleave_error *err);

/* The line of command `index`, as it would be typed. */
enum cleave_status cv_item_commands_line(const struct cv_item_commands *commands,
                                         uint64_t index, uint32_t slot,
                                         struct cv_text *out, struct cleave_error *err);
/* The line of what was run for `count` of them from `first` on: one by itself, or, where a command
 * takes as many items as fit, several. */
enum cleave_status cv_item_commands_run_line(const struct cv_item_commands *commands,
                                             uint64_t first, uint64_t count,
                                             uint32_t slot, struct cv_text *out,
                                             struct cleave_error *err);
/* The words of command `index`, with those of the shell if there is one: one block for free(). */
enum cleave_status cv_item_commands_words(const struct cv_item_commands *commands,
                                          uint64_t index, uint32_t slot, char ***out,
                                          struct cleave_error *err);

#endif
