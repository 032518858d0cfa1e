/* verb_help.c -- cleave help. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include "cli/kit/help.h"
#include "cli/kit/output.h"
#include "cli/verbs.h"

struct help_options {
    int man, verbs;
};

/* clang-format off */
static const struct cv_option options[] = {
    { .name = "--man", .value = 1, .offset = offsetof(struct help_options, man),
      .help = "Write the man page instead, in roff. Without a command: the page of the "
              "program itself." },
    { .name = "--commands", .value = 1, .offset = offsetof(struct help_options, verbs),
      .help = "List the names of the commands, one per line, for scripts." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = { { "Output", options }, { NULL, NULL } };

static int run(const struct cv_call *call)
{
    const struct help_options *values = call->values;
    const int count = (int)call->noperands;
    struct cv_text text = { NULL, 0, 0, false };
    const struct cv_verb *verb = NULL;
    char shown[CV_ECHO_ROOM];
    int used = 0;

    if (values->verbs) {
        for (size_t i = 0; i < cv_verb_count(); i++)
            printf("%s\n", cv_verb_at(i)->name);
        return CV_EXIT_DONE;
    }
    if (count > 0) {
        verb = cv_verb_find(count, call->operands, &used);
        if (verb != NULL && used < count)
            return cv_complain(CV_EXIT_USAGE,
                               "unexpected argument '%s'; expected 'cleave help %s'",
                               cv_echo(call->operands[used], shown), verb->name);
        if (used < count)
            return cv_verb_unknown(count, call->operands);
        if (verb == NULL && values->man)
            return cv_complain(CV_EXIT_USAGE, "no man page for '%s' alone",
                               call->operands[0]);
    }
    if (values->man)
        cv_man_page(verb, &text);
    else if (verb != NULL)
        cv_help_verb(verb, &text);
    else
        cv_help_list(count, call->operands, &text);
    return cv_print_take(&text);
}

const struct cv_verb cv_verb_help = {
    .name = "help",
    .summary = "explain a command",
    .description = "Explains a command, as COMMAND --help does, or lists the commands.",
    .operands = "[COMMAND...]",
    .max_operands = 8,
    .groups = groups,
    .examples = "cleave help plan load",
    .values_size = sizeof(struct help_options),
    .run = run,
};
