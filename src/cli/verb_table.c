/* verb_table.c -- the table of all verbs, and the two that read it: help and completions.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include "cli/completion.h"
#include "cli/common/verb.h"
#include "cli/common/output.h"
#include "cli/verbs.h"

/* --- cleave help --------------------------------------------------------------------- */

struct help_options {
    int man, verbs;
};

/* clang-format off */
static const struct cv_option help_options[] = {
    { .name = "--man", .value = 1, .offset = offsetof(struct help_options, man),
      .help = "Write the man page instead, in roff. Without a command: the page of the "
              "program itself." },
    { .name = "--commands", .value = 1, .offset = offsetof(struct help_options, verbs),
      .help = "List the names of the commands, one per line, for scripts." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group help_groups[] = { { "Output", help_options },
                                                      { NULL, NULL } };

static int run_help(const struct cv_call *call)
{
    const struct help_options *values = call->values;
    const int count = (int)call->noperands;
    struct cv_text text = { NULL, 0, 0, false };
    const struct cv_verb *verb = NULL;
    char shown[CV_ECHO_ROOM];
    int used = 0;

    if (values->verbs) {
        for (size_t i = 0; i < cv_verbs.count; i++)
            printf("%s\n", cv_verbs.items[i]->name);
        return CV_EXIT_DONE;
    }
    if (count > 0) {
        verb = cv_verb_find(&cv_verbs, count, call->operands, &used);
        if (verb != NULL && used < count)
            return cv_print_error(CV_EXIT_USAGE,
                                  "unexpected argument '%s'; expected 'cleave help %s'",
                                  cv_echo(call->operands[used], shown), verb->name);
        if (used < count)
            return cv_verb_unknown(&cv_verbs, count, call->operands);
        if (verb == NULL && values->man)
            return cv_print_error(CV_EXIT_USAGE, "no man page for '%s' alone",
                                  call->operands[0]);
    }
    if (values->man)
        cv_man_page(&cv_verbs, verb, &text);
    else if (verb != NULL)
        cv_help_verb(verb, &text);
    else
        cv_help_list(&cv_verbs, count, call->operands, &text);
    return cv_print_take(&text);
}

static const struct cv_verb cv_verb_help = {
    .name = "help",
    .summary = "explain a command",
    .description = "Explains a command, as COMMAND --help does, or lists the commands.",
    .operands = "[COMMAND...]",
    .max_operands = 8,
    .groups = help_groups,
    .examples = "cleave help plan load",
    .values_size = sizeof(struct help_options),
    .run = run_help,
};

/* --- cleave completions -------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*write)(const struct cv_verb_list *verbs, struct cv_text *out);
} shells[] = {
    { "bash", cv_completion_bash },
    { "zsh", cv_completion_zsh },
    { "fish", cv_completion_fish },
};

enum { SHELLS = sizeof shells / sizeof *shells };

static const char *shell_name(const void *context, size_t index)
{
    (void)context;
    return shells[index].name;
}

static int run_completions(const struct cv_call *call)
{
    struct cv_text text = { NULL, 0, 0, false };
    char shown[CV_ECHO_ROOM], near[160];

    if (call->noperands == 0)
        return cv_print_error(CV_EXIT_USAGE,
                              "expected the name of a shell: bash, zsh or fish");
    for (size_t i = 0; i < SHELLS; i++) {
        if (strcmp(call->operands[0], shells[i].name) == 0) {
            shells[i].write(&cv_verbs, &text);
            return cv_print_take(&text);
        }
    }
    cv_suggest(call->operands[0], SHELLS, shell_name, NULL, near, sizeof near);
    return cv_print_error(CV_EXIT_USAGE, "unknown shell '%s'%s",
                          cv_echo(call->operands[0], shown), near);
}

static const struct cv_verb cv_verb_completions = {
    .name = "completions",
    .summary = "a script that completes command lines: bash, zsh or fish",
    .description =
        "Writes a script that lets a shell complete commands, options and the names of "
        "policies. 'make install' puts these scripts where the shells look for them; "
        "without, source the one for bash in ~/.bashrc, the one for zsh behind "
        "compinit in ~/.zshrc, as in 'source <(cleave completions zsh)', and put the "
        "one for fish into ~/.config/fish/completions.",
    .operands = "bash|zsh|fish",
    .max_operands = 1,
    .examples = "cleave completions bash\ncleave completions fish",
    .run = run_completions,
};

/* --- the table ----------------------------------------------------------------------- */

/* In the order of the help. */
#define CV_VERBS(X)     \
    X(plan_load)        \
    X(plan_reduce)      \
    X(plan_streams)     \
    X(plan_items)       \
    X(simulate_load)    \
    X(simulate_reduce)  \
    X(simulate_streams) \
    X(simulate_items)   \
    X(compare_load)     \
    X(compare_reduce)   \
    X(compare_items)    \
    X(run)              \
    X(slurm_script)     \
    X(split)            \
    X(join)             \
    X(worker)           \
    X(calibrate)        \
    X(report)           \
    X(replay)           \
    X(platform)         \
    X(sample)           \
    X(policies)         \
    X(engines)          \
    X(figures)          \
    X(version)

#define X(name) extern const struct cv_verb cv_verb_##name;
CV_VERBS(X)
#undef X

static const struct cv_verb *const table[] = {
#define X(name) &cv_verb_##name,
    CV_VERBS(X)
#undef X
        & cv_verb_completions,
    &cv_verb_help,
};
_Static_assert(sizeof table / sizeof *table <= CV_VERBS_MAX, "raise CV_VERBS_MAX");

const struct cv_verb_list cv_verbs = { table, sizeof table / sizeof *table };
