/* item_commands.c -- the commands that items make. SPDX-License-Identifier: MIT */
#include "run/items/item_commands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/random.h"
#include "base/shell_word.h"
#include "run/common/command.h"
#include "run/common/shell.h"

/* A line of this length is short enough for any system and environment. */
enum { MANY_BYTES = 128 * 1024 - 2048 };

/* --- arguments ---------------------------------------------------------------------------- */

void cv_item_arguments_done(struct cv_item_arguments *arguments)
{
    free(arguments->items);
    free(arguments->bytes);
    *arguments = (struct cv_item_arguments){ .items = NULL };
}

/* Split a value into columns without blanks around them, which are copied to *to. */
static enum cleave_status split_value(const struct cv_item_regex *separator,
                                      const char *value, char **to,
                                      struct cv_item_arguments *out,
                                      struct cleave_error *err)
{
    const size_t length = strlen(value);
    struct cv_item_match match = { .count = 1 };

    for (size_t at = 0, next; match.count > 0; at = next) {
        size_t end = length;

        CV_TRY(cv_item_regex_find(separator, value, at, &match, err));
        if (match.count > 0)
            end = (size_t)(match.groups[0].bytes - value);
        next = end + match.groups[0].length;
        while (at < end && isspace((unsigned char)value[at]))
            at++;
        while (end > at && isspace((unsigned char)value[end - 1]))
            end--;
        if (!CV_ROOM(out->items, &out->room, out->count + 1))
            return cv_fail_memory(err, "the arguments of a command");
        out->items[out->count++] = *to;
        memcpy(*to, value + at, end - at);
        *to += end - at;
        *(*to)++ = '\0';
    }
    return CLEAVE_OK;
}

/* Replace values by their columns. */
static enum cleave_status split_all(const struct cv_item_regex *separator,
                                    struct cv_item_arguments *out,
                                    struct cleave_error *err)
{
    const size_t nvalues = out->count;
    const char **values = out->items;
    enum cleave_status status = CLEAVE_OK;
    size_t length = 0;
    char *to;

    for (size_t i = 0; i < nvalues; i++) /* separators may be empty */
        length += 2 * strlen(values[i]) + 2;
    if (!CV_ROOM(out->bytes, &out->bytes_room, length))
        return cv_fail_memory(err, "the arguments of a command");
    out->items = NULL;
    out->count = out->room = 0;
    to = out->bytes;
    for (size_t i = 0; status == CLEAVE_OK && i < nvalues; i++)
        status = split_value(separator, values[i], &to, out, err);
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
    if (!CV_ROOM(out->items, &out->room, (size_t)(end - begin) * lists->count + 1))
        return cv_fail_memory(err, "the arguments of a command");
    for (uint64_t row = begin; row < end; row++) {
        cv_item_lists_row(lists, commands->order != NULL ? commands->order[row] : row,
                          out->items + out->count);
        out->count += lists->count;
    }
    return commands->separator != NULL ? split_all(commands->separator, out, err)
                                       : CLEAVE_OK;
}

/* --- lines and words ---------------------------------------------------------------------- */

/* Append command `index` to one of `line` and `words`; the other is NULL. */
static enum cleave_status fill(const struct cv_item_commands *commands, uint64_t index,
                               uint32_t slot, struct cv_text *line,
                               struct cv_item_words *words, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = cv_item_arguments_get(commands, index, &arguments, err);
    const struct cv_item_values values = { arguments.items,
                                           commands->no_arguments ? 0 : arguments.count,
                                           commands->base + index + 1, slot,
                                           commands->count };

    CV_THEN(status,
            line != NULL
                ? cv_item_template_line(&commands->template, &values, line, err)
                : cv_item_template_words(&commands->template, &values, words, err));
    cv_item_arguments_done(&arguments);
    return status;
}

enum cleave_status cv_item_commands_line(const struct cv_item_commands *commands,
                                         uint64_t index, uint32_t slot,
                                         struct cv_text *out, struct cleave_error *err)
{
    return fill(commands, index, slot, out, NULL, err);
}

enum cleave_status cv_item_commands_words(const struct cv_item_commands *commands,
                                          uint64_t index, uint32_t slot, char ***out,
                                          struct cleave_error *err)
{
    struct cv_item_words words = { .bytes = NULL };
    struct cv_text line = { NULL, 0, 0, false }, shown = { NULL, 0, 0, false };
    const bool shell = commands->shell != NULL;
    enum cleave_status status =
        fill(commands, index, slot, shell ? &line : NULL, &words, err);

    if (shell && status == CLEAVE_OK) {
        cv_item_words_add(&words, commands->shell, strlen(commands->shell));
        cv_item_words_add(&words, "-c", 2);
        if (commands->shows_line) {
            cv_text_add(&shown, "printf '%%s\\n' ");
            cv_shell_word_add(&shown, line.bytes);
            cv_text_add(&shown, "\n%s", line.bytes);
            status = shown.failed ? cv_fail_memory(err, "a command") : CLEAVE_OK;
            cv_text_done(&line);
            line = shown;
        }
        cv_item_words_add(&words, line.bytes, line.length);
    }
    cv_text_done(&line);
    return cv_item_words_take(&words, status, out, err);
}

/* --- rows of each command ----------------------------------------------------------------- */

static enum cleave_status shuffle(struct cv_item_commands *commands, uint64_t seed,
                                  struct cleave_error *err)
{
    const uint64_t rows = commands->lists.rows;
    struct cv_random random;

    commands->order = rows < SIZE_MAX / sizeof *commands->order
                          ? malloc((size_t)(rows + 1) * sizeof *commands->order)
                          : NULL;
    if (commands->order == NULL)
        return cv_fail_memory(err, "items.shuffle");
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
    const struct cv_item_commands some =
        cv_item_commands_some(commands, first, count, cuts);

    return count <= 1 ? cv_item_commands_line(commands, first, slot, out, err)
                      : cv_item_commands_line(&some, 0, slot, out, err);
}

/* Bytes of one command for rows [first, first + count), which has number `base` + 1. */
static enum cleave_status measure(const struct cv_item_commands *commands, uint64_t first,
                                  uint64_t count, uint64_t base, size_t *out,
                                  struct cleave_error *err)
{
    struct cv_text line = { NULL, 0, 0, false };
    uint64_t cuts[2];
    struct cv_item_commands some = cv_item_commands_some(commands, first, count, cuts);
    enum cleave_status status;

    some.base = base;
    status = cv_item_commands_line(&some, 0, 1, &line, err);
    *out = line.length;
    cv_text_done(&line);
    return status;
}

/* A row adds at most the bytes of a command of its own. */
enum cleave_status cv_item_commands_fit(const struct cv_item_commands *commands,
                                        uint64_t first, uint64_t count, uint64_t *out,
                                        struct cleave_error *err)
{
    size_t bytes = 0, length;
    uint64_t fit = 0;

    while (fit < count && bytes <= MANY_BYTES) {
        CV_TRY(measure(commands, first + fit, 1, first + fit, &length, err));
        bytes += length;
        fit += bytes <= MANY_BYTES;
    }
    *out = fit > 1 ? fit : 1;
    return CLEAVE_OK;
}

/* How many rows from `begin`, at most `max`, fit into a command: by doubling, then by halves. */
static enum cleave_status count_fitting(const struct cv_item_commands *commands,
                                        uint64_t begin, uint64_t max, size_t max_bytes,
                                        uint64_t *out, struct cleave_error *err)
{
    uint64_t low = 1, high = max;
    size_t bytes;

    for (bool grows = true; low < high;) {
        const uint64_t next =
            grows ? (2 * low < high ? 2 * low : high) : low + (high - low + 1) / 2;

        CV_TRY(measure(commands, begin, next, 0, &bytes, err));
        if (bytes <= max_bytes) {
            low = next;
        } else {
            high = next - 1;
            grows = false;
        }
    }
    *out = low;
    return CLEAVE_OK;
}

/* Put as many rows as fit into each command, and the same number into each of the last ones. */
static enum cleave_status cut_rows(struct cv_item_commands *commands,
                                   const struct cv_item_options *options,
                                   struct cleave_error *err)
{
    const uint64_t rows = commands->lists.rows;
    const size_t max_bytes = options->max_bytes > 0 && options->max_bytes <= MANY_BYTES
                                 ? options->max_bytes - 1
                                 : MANY_BYTES;
    uint64_t fitting = 0, max = options->per;
    size_t count = 0, room = 0, bytes;

    for (uint64_t at = 0; at < rows; at += fitting) {
        const uint64_t left = rows - at;

        if (!CV_ROOM(commands->cuts, &room, count + 2))
            return cv_fail_memory(err, "the commands");
        CV_TRY(count_fitting(commands, at, max > 0 && max < left ? max : left, max_bytes,
                             &fitting, err));
        if (fitting == 1 && options->max_bytes > 0) {
            CV_TRY(measure(commands, at, 1, 0, &bytes, err));
            if (bytes > max_bytes)
                return cv_fail(
                    err, CLEAVE_EINPUT,
                    "items.max_chars: expected at least %zu, which the command "
                    "of item %llu needs, got %zu",
                    bytes + 1, (unsigned long long)at + 1, max_bytes + 1);
        }
        if (fitting == left && options->spread > 1 && max == options->per)
            fitting = max = 1 + (left - 1) / options->spread;
        commands->cuts[count++] = at;
        commands->cuts[count] = at + fitting;
    }
    commands->count = count;
    return CLEAVE_OK;
}

/* While the list may grow, a last command that lacks rows does not count. */
static void count_commands(struct cv_item_commands *commands, bool ended)
{
    commands->count =
        (commands->lists.rows + (ended ? commands->per - 1 : 0)) / commands->per;
}

enum cleave_status cv_item_commands_more(struct cv_item_commands *commands, bool *ended,
                                         struct cleave_error *err)
{
    CV_TRY(cv_item_stream_read(commands->stream, &commands->lists, ended, err));
    CV_TRY(cv_item_lists_close(&commands->lists, err));
    count_commands(commands, *ended);
    return CLEAVE_OK;
}

void cv_item_commands_release(struct cv_item_commands *commands, uint64_t index)
{
    const uint64_t begin = index * commands->per, end = begin + commands->per;

    for (uint64_t row = begin; row < end && row < commands->lists.rows; row++)
        cv_item_lists_release(&commands->lists, row);
}

/* --- names of columns --------------------------------------------------------------------- */

/* Take the first row out of the lists: it has the names. */
static enum cleave_status read_names(struct cv_item_commands *commands,
                                     struct cleave_error *err)
{
    struct cv_item_lists *lists = &commands->lists;
    struct cv_item_arguments names = { .items = NULL };
    enum cleave_status status = CLEAVE_OK;

    if (lists->rows > 0)
        status = cv_item_arguments_get(commands, 0, &names, err);
    for (size_t i = 0; status == CLEAVE_OK && i < names.count; i++) {
        char *name = CV_ROOM(commands->names, &commands->names_room, i + 1)
                         ? strdup(names.items[i])
                         : NULL;

        if (name == NULL)
            status = cv_fail_memory(err, "the names of columns");
        else
            commands->names[commands->nnames++] = name;
    }
    cv_item_arguments_done(&names);
    return status == CLEAVE_OK ? cv_item_lists_skip_row(lists, err) : status;
}

static const char *name_at(const void *context, size_t index)
{
    return ((const struct cv_item_commands *)context)->names[index];
}

/* Refuse "{nmae}" if there is no such column, but one called "name". */
static enum cleave_status check_word(const struct cv_item_commands *commands,
                                     const char *word, struct cleave_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                  "0123456789";
    char name[64], near[128];

    for (const char *at = word; (at = strchr(at, '{')) != NULL; at++) {
        const size_t length = strspn(at + 1, letters);

        if (length < 2 || length >= sizeof name || at[1 + length] != '}' ||
            (at > word && at[-1] == '$') || strspn(at + 1, "0123456789") == length)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length, at + 1);
        cv_suggest(name, commands->nnames, name_at, commands, near, sizeof near);
        if (!cv_is_one_of(name, (const char *const *)commands->names, commands->nnames) &&
            strncmp(near, "; did", 5) == 0)
            return cv_fail(err, CLEAVE_EINPUT, "'{%s}': no column is called so%s", name,
                           near);
    }
    return CLEAVE_OK;
}

/* --- all of it ---------------------------------------------------------------------------- */

void cv_item_commands_done(struct cv_item_commands *commands)
{
    cv_item_lists_done(&commands->lists);
    cv_item_template_done(&commands->template);
    cv_item_regex_free(commands->separator);
    for (size_t i = 0; i < commands->nnames; i++)
        free(commands->names[i]);
    free(commands->names);
    free(commands->cuts);
    free(commands->order);
    free(commands->shell);
    cv_item_stream_free(commands->stream);
    *commands = (struct cv_item_commands){ .count = 0 };
}

/* Use a shell only if the text has something for it, or the command is its own or a function. */
static enum cleave_status choose_shell(struct cv_item_commands *commands,
                                       const char *first, bool remote,
                                       struct cleave_error *err)
{
    const struct cv_item_template *template = &commands->template;
    const bool plain =
        template->literal ? !template->has_signs : cv_item_template_is_plain(template);
    char *program = cv_item_template_program(template), name[256];
    /* A program in a directory of another machine may be sent there with the first item. */
    const bool sent = remote && program != NULL && strchr(program, '/') != NULL;
    const bool found = program != NULL && !sent && cv_is_program(program);
    enum cleave_status status = CLEAVE_OK;

    /* 'wc -l {}' x: a part of a line. */
    if (template->literal && program == NULL && first != NULL &&
        strpbrk(first, " \t") != NULL && strchr(first, '/') == NULL)
        return cv_cannot_find(first, err);
    if (!found || !plain || commands->shows_line) {
        commands->shell = cv_shell_find();
        if (commands->shell == NULL)
            status = cv_fail_memory(err, "the shell");
    }
    if (!found && !remote && program != NULL && status == CLEAVE_OK &&
        (plain ? !cv_shell_knows(commands->shell, program)
               : cv_line_lacks_program(commands->shell, program, name, sizeof name)))
        status = cv_cannot_find(program, err);
    free(program);
    return status;
}

static enum cleave_status make(struct cv_item_commands *out,
                               const struct cv_item_options *options,
                               struct cleave_error *err)
{
    struct cv_item_replacements replacements = options->replacements;

    out->per = 1;
    out->no_arguments = options->no_arguments;
    CV_TRY(cv_item_lists_close(&out->lists, err));
    if (options->separator != NULL)
        CV_TRY(cv_item_regex_new(options->separator, 0, "items.columns",
                                 options->separator, &out->separator, err));
    if (options->header)
        CV_TRY(read_names(out, err));
    for (size_t i = 0; options->header && options->words[i] != NULL; i++)
        CV_TRY(check_word(out, options->words[i], err));
    replacements.names = (const char *const *)out->names;
    replacements.nnames = out->nnames;
    out->replacements = replacements;
    replacements.optional = options->no_arguments;
    CV_TRY(cv_item_template_init(&out->template, options->words,
                                 options->literal ? CV_ITEM_WORDS : CV_ITEM_COMMAND,
                                 &replacements, err));
    if (!replacements.none && replacements.whole == NULL)
        CV_TRY(cv_item_template_check_text(&out->template, err));
    out->template.repeats = options->repeats;
    out->shows_line = options->shows_line;
    if (options->shuffle != 0)
        CV_TRY(shuffle(out, options->shuffle, err));
    out->per = options->many ? 0 : options->per > 0 ? options->per : 1;
    if (options->many)
        CV_TRY(cut_rows(out, options, err));
    else
        count_commands(out, out->stream == NULL);
    return options->shown_only
               ? CLEAVE_OK
               : choose_shell(out, options->words[0], options->remote, err);
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
