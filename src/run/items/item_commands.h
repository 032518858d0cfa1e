/* item_commands.h -- the commands that items make. SPDX-License-Identifier: MIT
 *
 * Rows of the lists, one or several at a time, are the arguments of a command; the template
 * says where in the command they are. */
#ifndef CV_ITEM_COMMANDS_H
#define CV_ITEM_COMMANDS_H
#include "run/items/item_lists.h"
#include "run/items/item_template.h"

struct cv_item_commands { /* all is owned, except what is said to be borrowed */
    struct cv_item_lists lists;
    struct cv_item_template template;         /* its words are borrowed           */
    struct cv_item_replacements replacements; /* its definitions are borrowed     */
    struct cv_item_regex *separator;          /* of columns; NULL: no columns     */
    char **names;                             /* of arguments, from the first row */
    size_t nnames, names_room;
    uint64_t per;                  /* rows of a command; 0: those of `cuts`            */
    uint64_t *cuts;                /* first row of each command, and the number of rows */
    uint64_t base;                 /* number of the first command, from 0              */
    bool no_arguments;             /* the values of a row are not passed to its command */
    bool shows_line;               /* commands write their line first                  */
    uint64_t *order;               /* of rows; NULL: 0, 1, 2, ...                      */
    uint64_t count;                /* commands                                         */
    char *shell;                   /* that reads them; NULL: not needed                */
    struct cv_item_stream *stream; /* with more rows; NULL: all rows are known */
};

struct cv_item_options {
    const char *const *words;                 /* of the command, and NULL; borrowed  */
    struct cv_item_replacements replacements; /* without names */
    const char *separator; /* regular expression between columns; NULL: no columns */
    bool header;       /* the first row has names                                    */
    bool no_arguments; /* run a command for each row, without its values             */
    bool literal;      /* pass the words of the command unchanged, signs among them  */
    bool shows_line;   /* each command writes its line, as typed, before its output  */
    uint64_t per;      /* rows of a command; 0: 1                                    */
    bool many;         /* as many rows as fit                                        */
    size_t max_bytes; /* with `many`: of a command, and one at its end; 0: any system's */
    bool repeats;     /* repeat the words that have a placeholder for all values    */
    uint32_t spread;  /* with `many`: make at least this many commands; 0: 1        */
    uint64_t shuffle; /* seed of a random order; 0: in order                        */
    bool remote;      /* other machines run them: their programs are not known      */
    bool shown_only;  /* commands are printed only: their program may be missing    */
};

/* Make commands of lists, and of a stream that the last list comes from (or NULL). Both are
 * taken over, also if the call fails. With a stream neither `many` nor `shuffle` is possible. */
enum cleave_status cv_item_commands_init(struct cv_item_commands *out,
                                         struct cv_item_lists *lists,
                                         struct cv_item_stream *stream,
                                         const struct cv_item_options *options,
                                         struct cleave_error *err);
void cv_item_commands_done(struct cv_item_commands *commands);

/* Read more of the stream: `count` grows by the commands whose rows are complete. *ended: `count`
 * is final. */
enum cleave_status cv_item_commands_more(struct cv_item_commands *commands, bool *ended,
                                         struct cleave_error *err);
/* Release the rows of a command of a stream, which must not be used again. */
void cv_item_commands_release(struct cv_item_commands *commands, uint64_t index);

struct cv_item_arguments {
    const char **items; /* owned */
    size_t count, room;
    char *bytes; /* owned: of columns */
    size_t bytes_room;
};
/* The arguments of command `index`. */
enum cleave_status cv_item_arguments_get(const struct cv_item_commands *commands,
                                         uint64_t index, struct cv_item_arguments *out,
                                         struct cleave_error *err);
void cv_item_arguments_done(struct cv_item_arguments *arguments);

/* A command for rows [first, first + count), whatever `per` is: command 0 of the result, which
 * borrows from `commands` and uses `cuts` as memory. */
struct cv_item_commands cv_item_commands_some(const struct cv_item_commands *commands,
                                              uint64_t first, uint64_t count,
                                              uint64_t cuts[2]);
/* How many of rows [first, first + count) fit into one command, at least 1. */
enum cleave_status cv_item_commands_fit(const struct cv_item_commands *commands,
                                        uint64_t first, uint64_t count, uint64_t *out,
                                        struct cleave_error *err);

/* Append the line of command `index`, as it would be typed. */
enum cleave_status cv_item_commands_line(const struct cv_item_commands *commands,
                                         uint64_t index, uint32_t slot,
                                         struct cv_text *out, struct cleave_error *err);
/* Append the line of command `first` or, if `count` > 1, of a command for `count` rows. */
enum cleave_status cv_item_commands_run_line(const struct cv_item_commands *commands,
                                             uint64_t first, uint64_t count,
                                             uint32_t slot, struct cv_text *out,
                                             struct cleave_error *err);
/* The words of command `index`, with its shell before them: one block for free(). */
enum cleave_status cv_item_commands_words(const struct cv_item_commands *commands,
                                          uint64_t index, uint32_t slot, char ***out,
                                          struct cleave_error *err);

#endif
