/* item_commands.c -- the commands that items make. SPDX-License-Identifier: MIT */
#include "run/items/item_commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/random.h"
#include "run/items/item_plus.h"
#include "run/items/item_shell.h"
#include "run/items/item_stream.h"

/* A line of this length is short enough for any system, whatever its environment. */
enum { MANY_BYTES = 128 * 1024 - 2048 };

void cv_item_commands_done(struct cv_item_commands *commands)
{
    cv_item_lists_done(&commands->lists);
    cv_item_template_done(&commands->template);
    for (size_t i = 0; i < commands->nrules; i++)
        cv_item_rule_done(&commands->rules[i]);
    free(commands->rules);
    if (commands->has_columns)
        regfree(&commands->columns);
    for (size_t i = 0; i < commands->nnames; i++)
        free(commands->names[i]);
    free(commands->names);
    free(commands->cuts);
    free(commands->order);
    free(commands->shell);
    cv_item_stream_free(commands->stream);
    *commands = (struct cv_item_commands){ .count = 0 };
}

/* --- names and rules ---------------------------------------------------------------------- */

static enum cleave_status add_name(struct cv_item_commands *commands, const char *name,
                                   struct cleave_error *err)
{
    char **grown = cv_grow(commands->names, &commands->names_room, commands->nnames + 1,
                           sizeof *grown);

    if (grown == NULL)
        return cv_fail_memory(err, "the names of columns");
    commands->names = grown;
    grown[commands->nnames] = strdup(name);
    if (grown[commands->nnames] == NULL)
        return cv_fail_memory(err, "the names of columns");
    commands->nnames++;
    return CLEAVE_OK;
}

/* The first values of all lists, which are a row, are the names of its columns. */
static enum cleave_status read_names(struct cv_item_commands *commands,
                                     struct cleave_error *err)
{
    struct cv_item_lists *lists = &commands->lists;
    struct cv_item_arguments names = { .items = NULL };
    enum cleave_status status = CLEAVE_OK;

    if (lists->rows > 0)
        status = cv_item_arguments_get(commands, 0, &names, err);
    for (size_t i = 0; status == CLEAVE_OK && i < names.count; i++)
        status = add_name(commands, names.items[i], err);
    cv_item_arguments_done(&names);
    for (size_t i = 0; i < lists->count; i++)
        lists->items[i].first = 1;
    if (commands->stream != NULL && lists->rows > 0)
        cv_item_window_over(&lists->items[0].window, 0);
    return status == CLEAVE_OK ? cv_item_lists_close(lists, err) : status;
}

static enum cleave_status add_rule(struct cv_item_commands *commands,
                                   struct cv_item_rule *rule, struct cleave_error *err)
{
    struct cv_item_rule *grown = cv_grow(commands->rules, &commands->rules_room,
                                         commands->nrules + 1, sizeof *grown);

    if (grown == NULL) {
        cv_item_rule_done(rule);
        return cv_fail_memory(err, "--rpl");
    }
    commands->rules = grown;
    grown[commands->nrules++] = *rule;
    return CLEAVE_OK;
}

/* Whether what one word begins ends in another. */
static bool ends_later(const char *const *words)
{
    while (*words != NULL && strstr(*words, "=}") == NULL)
        words++;
    return *words != NULL;
}

/* Those that stand in a word itself. */
static enum cleave_status read_inline_rules(struct cv_item_commands *commands,
                                            const char *const *words,
                                            struct cleave_error *err)
{
    struct cv_item_rule rule;
    const char *at = words[0];

    while ((at = strstr(at, "{=")) != NULL) {
        const char *end = cv_item_rule_inline_end(at);

        if (end == NULL && ends_later(words + 1))
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected '{= s/REGEX/TEXT/ =}' as one word, in quotes");
        if (end == NULL)
            return CLEAVE_OK;
        CV_TRY(cv_item_rule_init_inline(&rule, at, err));
        CV_TRY(add_rule(commands, &rule, err));
        at = end;
    }
    return CLEAVE_OK;
}

/* Those of --plus, each once however often it stands there. */
static enum cleave_status read_plus_rules(struct cv_item_commands *commands,
                                          const char *word, struct cleave_error *err)
{
    struct cv_item_rule rule;

    for (const char *at = strchr(word, '{'); at != NULL; at = strchr(at + 1, '{')) {
        const char *end = cv_item_plus_end(at);
        size_t known = 0;

        if (end == NULL || cv_item_place_at(at).length > 0)
            continue;
        while (known < commands->nrules &&
               strncmp(commands->rules[known].sign, at, (size_t)(end - at)) != 0)
            known++;
        if (known < commands->nrules)
            continue;
        CV_TRY(cv_item_plus_init(&rule, at, err));
        CV_TRY(add_rule(commands, &rule, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status read_rules(struct cv_item_commands *commands,
                                     const struct cv_item_options *options,
                                     struct cleave_error *err)
{
    struct cv_item_rule rule;

    for (size_t i = 0; i < options->nrules; i++) {
        CV_TRY(cv_item_rule_init(&rule, options->rules[i], err));
        CV_TRY(add_rule(commands, &rule, err));
    }
    for (size_t i = 0; options->words[i] != NULL; i++)
        CV_TRY(read_inline_rules(commands, options->words + i, err));
    for (size_t i = 0; options->plus && options->words[i] != NULL; i++)
        CV_TRY(read_plus_rules(commands, options->words[i], err));
    return CLEAVE_OK;
}

static enum cleave_status shuffle_rows(struct cv_item_commands *commands, uint64_t seed,
                                       struct cleave_error *err)
{
    const uint64_t rows = commands->lists.rows;
    struct cv_random random;

    commands->order = rows < SIZE_MAX / sizeof *commands->order
                          ? malloc((size_t)(rows + 1) * sizeof *commands->order)
                          : NULL;
    if (commands->order == NULL)
        return cv_fail_memory(err, "--shuf");
    cv_random_at(&random, seed, 0, 0, 0);
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t other = (uint64_t)(cv_random_uniform(&random) * (double)(i + 1));

        commands->order[i] = i;
        if (other < i) {
            commands->order[i] = commands->order[other];
            commands->order[other] = i;
        }
    }
    return CLEAVE_OK;
}

/* --- how many rows each command has ------------------------------------------------------- */

/* The rows from `begin` on that fit into a command. */
static enum cleave_status count_fitting(struct cv_item_commands *commands, uint64_t begin,
                                        uint64_t most,
                                        struct cv_item_arguments *arguments,
                                        uint64_t *out, struct cleave_error *err)
{
    uint64_t low = 1, high = most, step = 1;
    struct cv_text line = { NULL, 0, 0, false };
    enum cleave_status status = CLEAVE_OK;

    /* Twice as many until they do not fit, then in halves between. */
    for (bool grows = true; status == CLEAVE_OK && low < high;) {
        const uint64_t asked =
            grows ? (2 * step < high ? 2 * step : high) : low + (high - low + 1) / 2;

        commands->cuts[0] = begin;
        commands->cuts[1] = begin + asked;
        status = cv_item_arguments_get(commands, 0, arguments, err);
        line.length = 0;
        if (status == CLEAVE_OK)
            cv_item_template_line(&commands->template,
                                  &(struct cv_item_values){ arguments->items,
                                                            arguments->count, 1, 1, 0 },
                                  &line);
        if (line.failed)
            status = cv_fail_memory(err, "a command");
        if (line.length <= MANY_BYTES) {
            low = step = asked;
        } else {
            high = asked - 1;
            grows = false;
        }
    }
    cv_text_done(&line);
    *out = low;
    return status;
}

struct cv_item_commands cv_item_commands_some(const struct cv_item_commands *commands,
                                              uint64_t first, uint64_t count,
                                              uint64_t cuts[2])
{
    struct cv_item_commands some = *commands;

    cuts[0] = first;
    cuts[1] = first + count;
    some.per = 0;
    some.cuts = cuts;
    some.base = first;
    some.count = 1;
    return some;
}

/* Bytes of the command for one row. */
static enum cleave_status measure(const struct cv_item_commands *commands, uint64_t row,
                                  size_t *out, struct cleave_error *err)
{
    struct cv_text line = { NULL, 0, 0, false };
    uint64_t cuts[2];
    const struct cv_item_commands one = cv_item_commands_some(commands, row, 1, cuts);
    const enum cleave_status status = cv_item_commands_line(&one, 0, 1, &line, err);

    *out = line.length;
    cv_text_done(&line);
    return status;
}

/* A row adds no more to a line than all of the command that it alone would have. */
enum cleave_status cv_item_commands_fit(const struct cv_item_commands *commands,
                                        uint64_t first, uint64_t count, uint64_t *out,
                                        struct cleave_error *err)
{
    size_t bytes = 0, length;
    uint64_t fit = 0;

    while (fit < count && bytes <= MANY_BYTES) {
        CV_TRY(measure(commands, first + fit, &length, err));
        bytes += length;
        fit += bytes <= MANY_BYTES;
    }
    *out = fit > 1 ? fit : 1;
    return CLEAVE_OK;
}

/* As many rows as fit into each command; what is left for the last ones is spread. */
static enum cleave_status cut_rows(struct cv_item_commands *commands,
                                   const struct cv_item_options *options,
                                   struct cleave_error *err)
{
    const uint64_t rows = commands->lists.rows;
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = CLEAVE_OK;
    uint64_t *cuts = NULL, fitting = 0, most = options->per;
    size_t count = 0, room = 0;
    uint64_t scratch[2];

    for (uint64_t at = 0; status == CLEAVE_OK && at < rows;) {
        uint64_t *grown = cv_grow(cuts, &room, count + 2, sizeof *cuts);
        const uint64_t left = rows - at;

        if (grown == NULL)
            status = cv_fail_memory(err, "the commands");
        else
            cuts = grown;
        commands->cuts = scratch;
        if (status == CLEAVE_OK)
            status = count_fitting(commands, at, most > 0 && most < left ? most : left,
                                   &arguments, &fitting, err);
        commands->cuts = NULL;
        if (status != CLEAVE_OK)
            break;
        if (fitting == left && options->spread > 1 && most == 0)
            fitting = most = 1 + (left - 1) / options->spread;
        cuts[count++] = at;
        at += fitting;
        cuts[count] = at;
    }
    cv_item_arguments_done(&arguments);
    commands->cuts = cuts;
    commands->count = count;
    return status;
}

/* --- rows that come ----------------------------------------------------------------------- */

/* Of a last command that may get more rows nothing is known yet. */
static void count_commands(struct cv_item_commands *commands, bool ended)
{
    const uint64_t rows = commands->lists.rows;

    commands->count = (rows + (ended ? commands->per - 1 : 0)) / commands->per;
}

enum cleave_status cv_item_commands_more(struct cv_item_commands *commands, bool *ended,
                                         struct cleave_error *err)
{
    CV_TRY(cv_item_stream_read(commands->stream, &commands->lists, ended, err));
    CV_TRY(cv_item_lists_close(&commands->lists, err));
    count_commands(commands, *ended);
    return CLEAVE_OK;
}

void cv_item_commands_over(struct cv_item_commands *commands, uint64_t index)
{
    const uint64_t begin = index * commands->per, end = begin + commands->per;

    for (uint64_t row = begin; row < end && row < commands->lists.rows; row++)
        cv_item_lists_over(&commands->lists, row);
}

/* --- the whole ---------------------------------------------------------------------------- */

/* No shell, unless it would see something in the text, or the command is one of its own. */
static enum cleave_status choose_shell(struct cv_item_commands *commands, bool away,
                                       struct cleave_error *err)
{
    char *program = cv_item_template_program(&commands->template);
    const bool plain =
        commands->template.as_words || cv_item_template_is_plain(&commands->template);
    /* One in a folder there may come with the first item. */
    const bool there = away && program != NULL && strchr(program, '/') != NULL;
    const bool found = plain && program != NULL && !there && cv_item_is_program(program);
    enum cleave_status status = CLEAVE_OK;
    char shown[128];

    if (!found && (away || !(commands->template.as_words && program != NULL))) {
        commands->shell = cv_item_shell();
        if (commands->shell == NULL)
            status = cv_fail_memory(err, "the shell");
    }
    if (!found && !away && plain && program != NULL && status == CLEAVE_OK &&
        (commands->shell == NULL || !cv_item_shell_knows(commands->shell, program)))
        status = cv_fail(err, CLEAVE_EINPUT, "cannot run '%s': not found in PATH",
                         cv_shown(program, strlen(program), shown, sizeof shown));
    free(program);
    return status;
}

static enum cleave_status make(struct cv_item_commands *out,
                               const struct cv_item_options *options,
                               struct cleave_error *err)
{
    struct cv_item_signs signs;

    out->per = 1;
    out->none = options->none;
    CV_TRY(cv_item_lists_close(&out->lists, err));
    if (options->columns != NULL) {
        CV_TRY(cv_item_regex(&out->columns, options->columns, 0, "--colsep", err));
        out->has_columns = true;
    }
    if (options->header)
        CV_TRY(read_names(out, err));
    CV_TRY(read_rules(out, options, err));
    signs = (struct cv_item_signs){ .optional = options->none,
                                    .plus = options->plus,
                                    .whole = options->whole,
                                    .names = (const char *const *)out->names,
                                    .nnames = out->nnames,
                                    .rules = out->rules,
                                    .nrules = out->nrules };
    CV_TRY(cv_item_template_init(&out->template, options->words, &signs, err));
    out->template.as_words = options->as_words && !out->template.bare;
    out->template.contexts = options->contexts;
    if (options->shuffle != 0)
        CV_TRY(shuffle_rows(out, options->shuffle, err));
    out->per = options->many ? 0 : options->per > 0 ? options->per : 1;
    if (options->many)
        CV_TRY(cut_rows(out, options, err));
    else
        count_commands(out, out->stream == NULL);
    return options->shown_only ? CLEAVE_OK : choose_shell(out, options->away, err);
}

enum cleave_status cv_item_commands_init(struct cv_item_commands *out,
                                         struct cv_item_lists *lists,
                                         struct cv_item_stream *stream,
                                         const struct cv_item_options *options,
                                         struct cleave_error *err)
{
    enum cleave_status status;

    *out = (struct cv_item_commands){ .lists = *lists, .stream = stream };
    *lists = (struct cv_item_lists){ .items = NULL };
    status = make(out, options, err);
    if (status != CLEAVE_OK)
        cv_item_commands_done(out);
    return status;
}

enum cleave_status cv_item_commands_line(const struct cv_item_commands *commands,
                                         uint64_t index, uint32_t slot,
                                         struct cv_text *out, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = cv_item_arguments_get(commands, index, &arguments, err);

    if (status == CLEAVE_OK)
        cv_item_template_line(&commands->template,
                              &(struct cv_item_values){
                                  arguments.items, commands->none ? 0 : arguments.count,
                                  commands->base + index + 1, slot, commands->count },
                              out);
    cv_item_arguments_done(&arguments);
    return status == CLEAVE_OK && out->failed ? cv_fail_memory(err, "a command") : status;
}

/* The line, as one word for the shell. */
static enum cleave_status add_line(const struct cv_item_commands *commands,
                                   uint64_t index, uint32_t slot,
                                   struct cv_item_words *words, struct cleave_error *err)
{
    struct cv_text line = { NULL, 0, 0, false };
    enum cleave_status status = cv_item_commands_line(commands, index, slot, &line, err);

    if (status == CLEAVE_OK) {
        cv_item_words_put(words, commands->shell, strlen(commands->shell));
        cv_item_words_break(words);
        cv_item_words_put(words, "-c", 2);
        cv_item_words_break(words);
        cv_item_words_put(words, line.bytes != NULL ? line.bytes : "", line.length);
    }
    cv_text_done(&line);
    return status;
}

static enum cleave_status add_words(const struct cv_item_commands *commands,
                                    uint64_t index, uint32_t slot,
                                    struct cv_item_words *words, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = cv_item_arguments_get(commands, index, &arguments, err);

    if (status == CLEAVE_OK)
        cv_item_template_words(&commands->template,
                               &(struct cv_item_values){
                                   arguments.items, commands->none ? 0 : arguments.count,
                                   commands->base + index + 1, slot, commands->count },
                               words);
    cv_item_arguments_done(&arguments);
    return status;
}

enum cleave_status cv_item_commands_words(const struct cv_item_commands *commands,
                                          uint64_t index, uint32_t slot, char ***out,
                                          struct cleave_error *err)
{
    struct cv_item_words words = { .bytes = NULL };
    enum cleave_status status = commands->shell != NULL
                                    ? add_line(commands, index, slot, &words, err)
                                    : add_words(commands, index, slot, &words, err);
    char **taken = status == CLEAVE_OK ? cv_item_words_take(&words) : NULL;

    cv_item_words_done(&words);
    if (status == CLEAVE_OK && taken == NULL)
        return cv_fail_memory(err, "a command");
    if (status == CLEAVE_OK)
        *out = taken;
    return status;
}
