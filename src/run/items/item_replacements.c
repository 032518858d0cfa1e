/* item_replacements.c -- what may stand in a command for a value: names of columns, and rules.
 * SPDX-License-Identifier: MIT */
#include "run/items/item_replacements.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"
#include "run/items/item_plus.h"

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
enum cleave_status cv_item_signs_names(struct cv_item_commands *commands,
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

enum cleave_status cv_item_signs_check(const struct cv_item_commands *commands,
                                       const char *const *words, struct cleave_error *err)
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

enum cleave_status cv_item_signs_rules(struct cv_item_commands *commands,
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
