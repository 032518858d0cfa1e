/* verb_completions.c -- cleave completions. SPDX-License-Identifier: MIT */
#include <string.h>
#include "base/text.h"
#include "cli/completion.h"
#include "cli/kit/output.h"
#include "cli/kit/verb.h"

static const struct {
    const char *name;
    void (*write)(struct cv_text *out);
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

static int run(const struct cv_call *call)
{
    struct cv_text text = { NULL, 0, 0, false };
    char shown[CV_ECHO_ROOM], near[160];

    if (call->noperands == 0)
        return cv_complain(CV_EXIT_USAGE,
                           "expected the name of a shell: bash, zsh or fish");
    for (size_t i = 0; i < SHELLS; i++) {
        if (strcmp(call->operands[0], shells[i].name) == 0) {
            shells[i].write(&text);
            return cv_print_take(&text);
        }
    }
    cv_suggest(call->operands[0], SHELLS, shell_name, NULL, near, sizeof near);
    return cv_complain(CV_EXIT_USAGE, "unknown shell '%s'%s",
                       cv_echo(call->operands[0], shown), near);
}

const struct cv_verb cv_verb_completions = {
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
    .run = run,
};
