/* item_commands.c -- the commands that items make. SPDX-License-Identifier: MIT */
#include "run/items/item_commands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/random.h"
#include "base/text.h"
#include "run/common/cannot_run.h"
#include "run/items/item_lists.h"
#include "run/items/item_plus.h"
#include "run/items/item_shell.h"

/* --- the arguments of a command: rows, parted into columns ------------------------- */

void cv_item_arguments_done(struct cv_item_arguments *arguments)
{
    free(arguments->items);
    free(arguments->bytes);
    *arguments = (struct cv_item_arguments){ .items = NULL };
}

static enum cleave_status grow_array(struct cv_item_arguments *out, size_t count,
                                     struct cleave_error *err)
{
    return CV_ROOM(out->items, &out->room, count)
               ? CLEAVE_OK
               : cv_fail_memory(err, "the arguments of a command");
}

/* A column, without blanks around it. */
static enum cleave_status add_column(struct cv_item_arguments *out, char *from, char *to,
                                     struct cleave_error *err)
{
    CV_TRY(grow_array(out, out->count + 1, err));
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    *to = '\0';
    out->items[out->count++] = from;
    return CLEAVE_OK;
}

/* The columns of the value that was copied to `bytes`. */
static enum cleave_status part_value(const regex_t *columns, char *bytes,
                                     struct cv_item_arguments *out,
                                     struct cleave_error *err)
{
    regmatch_t match;

    while (regexec(columns, bytes, 1, &match, 0) == 0 && match.rm_eo > match.rm_so) {
        char *next = bytes + match.rm_eo;

        CV_TRY(add_column(out, bytes, bytes + match.rm_so, err));
        bytes = next;
    }
    return add_column(out, bytes, bytes + strlen(bytes), err);
}

static enum cleave_status part_all(const struct cv_item_commands *commands,
                                   struct cv_item_arguments *out,
                                   struct cleave_error *err)
{
    const size_t nvalues = out->count;
    const char **values = out->items;
    size_t length = 0, at = 0;
    enum cleave_status status = CLEAVE_OK;

    for (size_t i = 0; i < nvalues; i++)
        length += strlen(values[i]) + 1;
    if (!CV_ROOM(out->bytes, &out->bytes_room, length))
        return cv_fail_memory(err, "the arguments of a command");
    out->items = NULL;
    out->count = out->room = 0;
    for (size_t i = 0; status == CLEAVE_OK && i < nvalues; i++) {
        const size_t size = strlen(values[i]) + 1;

        memcpy(out->bytes + at, values[i], size);
        status = part_value(&commands->columns, out->bytes + at, out, err);
        at += size;
    }
    free(values);
    return status;
}

enum cleave_status cv_item_arguments_get(const struct cv_item_commands *commands,
                                         uint64_t index, struct cv_item_arguments *out,
                                         struct cleave_error *err)
{
    const struct cv_item_lists *lists = &commands->lists;
    const uint64_t begin =
        commands->per > 0 ? index * commands->per : commands->cuts[index];
    uint64_t end = commands->per > 0 ? begin + commands->per : commands->cuts[index + 1];

    end = end < lists->rows ? end : lists->rows;
    out->count = 0;
    CV_TRY(grow_array(out, (size_t)(end - begin) * lists->count + 1, err));
    for (uint64_t row = begin; row < end; row++) {
        cv_item_lists_row(lists, commands->order != NULL ? commands->order[row] : row,
                          out->items + out->count);
        out->count += lists->count;
    }
    return commands->has_columns ? part_all(commands, out, err) : CLEAVE_OK;
}

/* --- a command of items as a line and as words ------------------------------------- */

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

/* --- which rows of the lists each command has -------------------------------------- */

/* A line of this length is short enough for any system, whatever its environment. */
enum { MANY_BYTES = 128 * 1024 - 2048 };

/* Let rows come in an order that follows from the seed. */
static enum cleave_status item_rows_shuffle(struct cv_item_commands *commands,
                                            uint64_t seed, struct cleave_error *err)
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

/* --- how many each command has -------------------------------------------------------------- */

/* The rows from `begin` on that fit into a command. */
static enum cleave_status count_fitting(struct cv_item_commands *commands, uint64_t begin,
                                        uint64_t max, struct cv_item_arguments *arguments,
                                        uint64_t *out, struct cleave_error *err)
{
    uint64_t low = 1, high = max, step = 1;
    struct cv_text line = { NULL, 0, 0, false };
    enum cleave_status status = CLEAVE_OK;

    /* Twice as many until they do not fit, then in halves between. */
    for (bool grows = true; status == CLEAVE_OK && low < high;) {
        const uint64_t request =
            grows ? (2 * step < high ? 2 * step : high) : low + (high - low + 1) / 2;

        commands->cuts[0] = begin;
        commands->cuts[1] = begin + request;
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
            low = step = request;
        } else {
            high = request - 1;
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

enum cleave_status cv_item_commands_run_line(const struct cv_item_commands *commands,
                                             uint64_t first, uint64_t count,
                                             uint32_t slot, struct cv_text *out,
                                             struct cleave_error *err)
{
    uint64_t cuts[2];
    struct cv_item_commands some;

    if (count <= 1)
        return cv_item_commands_line(commands, first, slot, out, err);
    some = cv_item_commands_some(commands, first, count, cuts);
    return cv_item_commands_line(&some, 0, slot, out, err);
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
static enum cleave_status item_rows_cut(struct cv_item_commands *commands,
                                        const struct cv_item_options *options,
                                        struct cleave_error *err)
{
    const uint64_t rows = commands->lists.rows;
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = CLEAVE_OK;
    uint64_t *cuts = NULL, fitting = 0, max = options->per;
    size_t count = 0, room = 0;
    uint64_t scratch[2];

    for (uint64_t at = 0; status == CLEAVE_OK && at < rows;) {
        const uint64_t left = rows - at;

        if (!CV_ROOM(cuts, &room, count + 2))
            status = cv_fail_memory(err, "the commands");
        commands->cuts = scratch;
        if (status == CLEAVE_OK)
            status = count_fitting(commands, at, max > 0 && max < left ? max : left,
                                   &arguments, &fitting, err);
        commands->cuts = NULL;
        if (status != CLEAVE_OK)
            break;
        if (fitting == left && options->spread > 1 && max == 0)
            fitting = max = 1 + (left - 1) / options->spread;
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

/* Count the commands. Of a last one that may get more rows nothing is known yet. */
static void item_rows_count(struct cv_item_commands *commands, bool ended)
{
    const uint64_t rows = commands->lists.rows;

    commands->count = (rows + (ended ? commands->per - 1 : 0)) / commands->per;
}

enum cleave_status cv_item_commands_more(struct cv_item_commands *commands, bool *ended,
                                         struct cleave_error *err)
{
    CV_TRY(cv_item_stream_read(commands->stream, &commands->lists, ended, err));
    CV_TRY(cv_item_lists_close(&commands->lists, err));
    item_rows_count(commands, *ended);
    return CLEAVE_OK;
}

void cv_item_commands_over(struct cv_item_commands *commands, uint64_t index)
{
    const uint64_t begin = index * commands->per, end = begin + commands->per;

    for (uint64_t row = begin; row < end && row < commands->lists.rows; row++)
        cv_item_lists_over(&commands->lists, row);
}

/* --- what may stand in a command for a value: names of columns, and rules ---------- */

static enum cleave_status add_name(struct cv_item_commands *commands, const char *name,
                                   struct cleave_error *err)
{
    if (!CV_ROOM(commands->names, &commands->names_room, commands->nnames + 1))
        return cv_fail_memory(err, "the names of columns");
    commands->names[commands->nnames] = strdup(name);
    if (commands->names[commands->nnames] == NULL)
        return cv_fail_memory(err, "the names of columns");
    commands->nnames++;
    return CLEAVE_OK;
}

/* The first values of all lists, which are a row, are the names of its columns. */
static enum cleave_status item_signs_names(struct cv_item_commands *commands,
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

static const char *name_at(const void *context, size_t index)
{
    return ((const struct cv_item_commands *)context)->names[index];
}

/* "{nmae}" of which there is no column, and "name" is one: it would be passed on as it is. */
static enum cleave_status check_word(const struct cv_item_commands *commands,
                                     const char *word, struct cleave_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                  "0123456789";
    char name[64], near[128];

    for (const char *at = word; (at = strchr(at, '{')) != NULL; at++) {
        const size_t length = strspn(at + 1, letters);
        bool known = false;

        if (length < 2 || length >= sizeof name || at[1 + length] != '}' ||
            (at > word && at[-1] == '$') || strspn(at + 1, "0123456789") == length)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, at + 1);
        for (size_t i = 0; i < commands->nnames; i++)
            known = known || strcmp(commands->names[i], name) == 0;
        cv_suggest(name, commands->nnames, name_at, commands, near, sizeof near);
        if (!known && strncmp(near, "; did", 5) == 0)
            return cv_fail(err, CLEAVE_EINPUT, "'{%s}': no column is called so%s", name,
                           near);
    }
    return CLEAVE_OK;
}

/* Places of the command that no column is called like, though one nearly is, are an error. */
static enum cleave_status item_signs_check(const struct cv_item_commands *commands,
                                           const char *const *words,
                                           struct cleave_error *err)
{
    for (; words != NULL && *words != NULL; words++)
        CV_TRY(check_word(commands, *words, err));
    return CLEAVE_OK;
}

static enum cleave_status add_rule(struct cv_item_commands *commands,
                                   struct cv_item_rule *rule, struct cleave_error *err)
{
    if (!CV_ROOM(commands->rules, &commands->rules_room, commands->nrules + 1)) {
        cv_item_rule_done(rule);
        return cv_fail_memory(err, "--rpl");
    }
    commands->rules[commands->nrules++] = *rule;
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

/* Those of --rpl, those that stand in words of the command itself, and those of --plus. */
static enum cleave_status item_signs_rules(struct cv_item_commands *commands,
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

/* --- the commands that items make -------------------------------------------------- */

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

    if (!found && (away || !(commands->template.as_words && program != NULL))) {
        commands->shell = cv_item_shell();
        if (commands->shell == NULL)
            status = cv_fail_memory(err, "the shell");
    }
    if (!found && !away && plain && program != NULL && status == CLEAVE_OK &&
        (commands->shell == NULL || !cv_item_shell_knows(commands->shell, program)))
        status = cv_cannot_find(program, err);
    free(program);
    return status;
}

static enum cleave_status make(struct cv_item_commands *out,
                               const struct cv_item_options *options,
                               struct cleave_error *err)
{
    struct cv_item_replacements signs;

    out->per = 1;
    out->none = options->none;
    CV_TRY(cv_item_lists_close(&out->lists, err));
    if (options->columns != NULL) {
        CV_TRY(cv_item_regex(&out->columns, options->columns, 0, "--colsep", err));
        out->has_columns = true;
    }
    if (options->header) {
        CV_TRY(item_signs_names(out, err));
        CV_TRY(item_signs_check(out, options->words, err));
    }
    CV_TRY(item_signs_rules(out, options, err));
    signs = (struct cv_item_replacements){ .optional = options->none,
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
        CV_TRY(item_rows_shuffle(out, options->shuffle, err));
    out->per = options->many ? 0 : options->per > 0 ? options->per : 1;
    if (options->many)
        CV_TRY(item_rows_cut(out, options, err));
    else
        item_rows_count(out, out->stream == NULL);
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
