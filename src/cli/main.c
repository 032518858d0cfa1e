/* main.c -- the command line: words to verb, verb to exit status.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include "cli/verbs.h"

static int call(const char *name, int count, char *const *words)
{
    int used;

    return cv_verb_call(cv_verb_find(1, &name, &used), count, words);
}

/* Words without a verb: options of the program, the start of several names, or a
 * mistake. */
static int run_other(int count, char *const *words, int started)
{
    struct cv_text text = { NULL, 0, 0, false };
    const bool help = count > started && (strcmp(words[started], "--help") == 0 ||
                                          strcmp(words[started], "-h") == 0);

    if (help && started == 0 && count > 1) /* --help run: of that one */
        return call("help", count - 1, words + 1);
    if (help) {
        if (started == 0 && words[0][1] == 'h')
            cv_help_short(&text);
        else
            cv_help_list(started, (const char *const *)words, &text);
        return cv_print_take(&text);
    }
    if (count > 0 && strcmp(words[0], "--version") == 0)
        return call("version", 0, words);
    if (count > 0 && words[0][0] == '-')
        return cv_refuse(
            "unknown option '%s' before the command; known: --help, --version; put the "
            "options of a command after it: cleave run -j 4 ...",
            CV_ECHO(words[0]));
    if (count > 0 && started == 0)
        return cv_verb_unknown(count, (const char *const *)words);
    cv_help_list(started, (const char *const *)words, &text);
    if (!text.failed)
        fputs(text.bytes, stderr);
    cv_text_done(&text);
    return CV_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    const int count = argc > 0 ? argc - 1 : 0;
    char *const *words = argv + (argc > 0 ? 1 : 0);
    const struct cv_verb *verb;
    int used, status;

    cv_guard_streams();
    verb = cv_verb_find(count, (const char *const *)words, &used);
    if (verb != NULL)
        status = cv_verb_call(verb, count - used, words + used);
    else
        status = run_other(count, words, used);
    return cv_finish_output(status);
}
