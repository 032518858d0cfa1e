/* item_commands.c -- the commands that items make. SPDX-License-Identifier: MIT */
#include "run/items/item_commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/items/item_rows.h"
#include "run/items/item_shell.h"
#include "run/items/item_replacements.h"
#include "run/items/item_stream.h"
#include "run/common/command.h"

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
        CV_TRY(cv_item_signs_names(out, err));
        CV_TRY(cv_item_signs_check(out, options->words, err));
    }
    CV_TRY(cv_item_signs_rules(out, options, err));
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
        CV_TRY(cv_item_rows_shuffle(out, options->shuffle, err));
    out->per = options->many ? 0 : options->per > 0 ? options->per : 1;
    if (options->many)
        CV_TRY(cv_item_rows_cut(out, options, err));
    else
        cv_item_rows_count(out, out->stream == NULL);
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
