/* verb_call.c -- from the words behind a verb to its exit status.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>
#include "cli/common/file_roles.h"
#include "cli/common/help.h"
#include "cli/common/input_names.h"
#include "cli/common/usage_hints.h"
#include "cli/common/output.h"
#include "cli/common/verb.h"

static bool takes(const struct cv_verb *verb, const char *name)
{
    for (const struct cv_option_group *group = verb->groups;
         group != NULL && group->title != NULL; group++)
        for (const struct cv_option *o = group->options; o->name != NULL; o++)
            if (strcmp(o->name, name) == 0)
                return true;
    return false;
}

/* A word that nobody asked for. */
static int refuse_operand(const struct cv_verb *verb, const char *word, int count,
                          char *const *words)
{
    char shown[CV_ECHO_ROOM], one[CV_ECHO_ROOM];

    cv_echo(word, shown);
    if (cv_usage_hint_unit(count, words, word, one, sizeof one))
        return cv_print_error(CV_EXIT_USAGE,
                              "unexpected argument '%s'; a number and its unit are one "
                              "word: %s",
                              shown, one);
    if (takes(verb, "--load") && word[0] >= '0' && word[0] <= '9')
        return cv_print_error(CV_EXIT_USAGE,
                              "unexpected argument '%s'; if it is the load: --load %s",
                              shown, shown);
    if (takes(verb, "--input") && access(word, F_OK) == 0)
        return cv_print_error(CV_EXIT_USAGE,
                              "unexpected argument '%s'; if it is an input: -i %s", shown,
                              shown);
    return cv_print_error(CV_EXIT_USAGE,
                          "unexpected argument '%s'; see 'cleave %s --help'", shown,
                          verb->name);
}

int cv_verb_call(const struct cv_verb *verb, int count, char *const *words)
{
    struct cv_arena arena;
    struct cv_parsed parsed;
    struct cv_text help = { NULL, 0, 0, false };
    void *values;
    int status;

    cv_arena_init(&arena);
    values = cv_array(&arena, 1, verb->values_size);
    if (values == NULL) {
        cv_arena_done(&arena);
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the arguments");
    }
    if (verb->presets != NULL && verb->values_size > 0)
        memcpy(values, verb->presets, verb->values_size);
    status =
        cv_options_parse(verb->groups,
                         &(struct cv_typed){ count, words, verb->command, verb->foreign },
                         &arena, values, &parsed);
    if (status != CV_EXIT_DONE && verb->refused != NULL)
        verb->refused(count, words, status);
    if (status == CV_EXIT_DONE && parsed.help) {
        cv_help_verb(verb, &help);
        status = cv_print_take(&help);
    } else if (status == CV_EXIT_DONE && parsed.noperands > verb->max_operands) {
        status = refuse_operand(verb, parsed.operands[verb->max_operands], count, words);
    } else if (status == CV_EXIT_DONE) {
        const struct cv_call call = { .values = values,
                                      .operands = parsed.operands,
                                      .noperands = parsed.noperands,
                                      .marked = parsed.marked,
                                      .arena = &arena,
                                      .verb = verb,
                                      .nwords = count,
                                      .words = words };

        status = cv_inputs_expand(verb, &arena, values);
        if (status == CV_EXIT_DONE && !verb->checks_files)
            status = cv_files_check(&call);
        if (status == CV_EXIT_DONE)
            status = verb->run(&call);
    }
    cv_arena_done(&arena);
    return status;
}
